/* Finds and opens a library of ours (shim.h). */
#include "kernel/shim.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *open_file(const char *file, char *why, size_t n) {
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

static void open_shim(tc_shim *s) {
    void *so = open_file(s->file, s->why, sizeof s->why);
    const int *version = so ? dlsym(so, s->symbol) : NULL;
    if (so && !version) snprintf(s->why, sizeof s->why, "it has no %s", s->symbol);
    if (version && *version != s->version) snprintf(s->why, sizeof s->why, "it is of version %d, expected %d", *version, s->version);
    else s->table = version;
    s->tried = true;
}
tc_status tc_shim_table(tc_shim *s, const void **out_table) {
    pthread_mutex_lock(&s->lock);
    if (!s->tried) open_shim(s);
    pthread_mutex_unlock(&s->lock);
    *out_table = s->table;
    return s->table ? NULL : tc_error(TC_ENV, "%s %s, which cannot be loaded: %s", s->purpose, s->file, s->why);
}
