/* NumPy's .npy, versions 1 to 3; several files one after another are a stream of records. */
#ifndef TC_FILE_NPY_H
#define TC_FILE_NPY_H

#include "file/source.h"

/* Reads one array; Fortran order gives column-major strides, big-endian data are converted. TC_UNSUPPORTED: structured, string and object arrays.
 * TC_CONTENT: malformed. */
tc_status tc_npy_read(tc_source_bytes *s, tc_tensor *out);
/* The bytes that numpy.save writes. TC_USAGE for a type that .npy lacks (bf16, f8). */
tc_status tc_npy_write(tc_out *o, const tc_tensor *t);
/* Appends the header that precedes the elements. */
tc_status tc_npy_header(tc_buf *out, tc_dtype dtype, int rank, const int64_t *size);

#endif
