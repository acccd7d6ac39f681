/* Fresh places for a test's files, under $TMPDIR (else the system's folder for such). The caller removes them. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scratch_name(char *path, size_t size, const char *name) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, size, "%s/%s-XXXXXX", dir && *dir ? dir : P_tmpdir, name);
}

/* Makes a folder; its name is in path, and false means that it cannot be made. */
__attribute__((unused)) static bool scratch_folder(char *path, size_t size, const char *name) {
    scratch_name(path, size, name);
    return mkdtemp(path) != NULL;
}

/* Makes an empty file; the descriptor, or -1. */
__attribute__((unused)) static int scratch_file(char *path, size_t size, const char *name) {
    scratch_name(path, size, name);
    return mkstemp(path);
}

/* Makes a folder for what compiled programs leave behind, where XDG_CACHE_HOME and XDG_DATA_HOME look; NULL means that it cannot be made. */
__attribute__((unused)) static const char *scratch_home(const char *name) {
    static char path[256];
    if (!scratch_folder(path, sizeof path, name)) return NULL;
    setenv("XDG_CACHE_HOME", path, 1);
    setenv("XDG_DATA_HOME", path, 1);
    return path;
}

#endif
