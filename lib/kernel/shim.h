/* Libraries of ours that only some programs need and that are opened at first use: tc-lapack.so, tc-openblas.so, tc-image.so. */
#ifndef TC_KERNEL_SHIM_H
#define TC_KERNEL_SHIM_H

#include "base/status.h"

#include <pthread.h>

/* Such a library and the table of functions that it exports, a struct whose first member is its int version. Opened once, never closed. */
typedef struct {
    const char *file, *symbol, *purpose; /* "tc-lapack.so", "tc_lapack", "linear algebra needs" */
    int version;
    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER */
    bool tried;
    const void *table;
    char why[512];
} tc_shim;

/* The table. Searches the program's directory, ../lib and ../bin from there (an installation; the drivers and unit tests of a build), then the
 * loader's path. TC_ENV: it cannot be loaded, or has another version. Thread-safe. */
tc_status tc_shim_table(tc_shim *s, const void **out_table);

#endif
