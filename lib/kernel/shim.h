/* Libraries that only some programs need, opened at the first use: tc-lapack.so, tc-image.so. */
#ifndef TC_KERNEL_SHIM_H
#define TC_KERNEL_SHIM_H

#include "base/status.h"

#include <pthread.h>

/* A library of ours and the table that it exports, a struct that begins with its int version. Opened once, never closed. */
typedef struct {
    const char *file, *symbol, *purpose; /* "tc-lapack.so", "tc_lapack", "linear algebra needs" */
    int version;
    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER */
    bool tried;
    const void *table;
    char why[512];
} tc_shim;

/* The table. Looks beside the program, in ../lib or ../bin of it (installed; a build's drivers and unit tests), then wherever the loader does.
 * TC_ENV: it cannot be loaded, or has another version. Thread-safe. */
tc_status tc_shim_table(tc_shim *s, const void **out_table);

#endif
