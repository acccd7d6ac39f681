/* Finding and opening a library of ours. */
#include "kernel/shim.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *tc_shim_open(const char *file, char *why, size_t n) {
    static const char *const places[] = {"%s/%s", "%s/../lib/%s", "%s/../bin/%s", "%s/../../bin/%s"};
    char exe[PATH_MAX], path[PATH_MAX + 64];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[len > 0 ? len : 0] = 0;
    char *slash = strrchr(exe, '/');
    if (slash) *slash = 0;
    void *so = NULL;
    for (int i = 0; i < 5 && !so; i++) {
        if (i < 4) snprintf(path, sizeof path, places[i], exe, file);
        else snprintf(path, sizeof path, "%s", file);
        so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!so && i == 0) snprintf(why, n, "%s", dlerror());
    }
    return so;
}
