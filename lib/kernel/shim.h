/* Libraries that only some programs need, opened at the first use: tc-lapack.so, tc-image.so. */
#ifndef TC_KERNEL_SHIM_H
#define TC_KERNEL_SHIM_H

#include <stddef.h>

/* Opens `file` beside the program, in ../lib or ../bin of it (installed; a build's drivers and unit tests), or wherever the loader looks,
 * for ever. NULL: why[n] tells. Thread-safe. */
void *tc_shim_open(const char *file, char *why, size_t n);

#endif
