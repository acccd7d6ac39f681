/* NumPy's .npy, versions 1 to 3; several files one after another are a stream of records. */
#ifndef TC_FILE_NPY_H
#define TC_FILE_NPY_H

#include "file/source.h"

/* One array from the source. Fortran order gives a tensor with such strides; big-endian data are turned. Structured, string and
 * object arrays are TC_UNSUPPORTED. */
tc_status tc_npy_read(tc_source_bytes *s, tc_tensor *out);
/* The bytes that numpy.save writes. TC_USAGE for a type that .npy lacks (bf16, f8). */
tc_status tc_npy_write(tc_out *o, const tc_tensor *t);
/* What stands in front of the elements, appended to out. */
tc_status tc_npy_header(tc_buf *out, tc_dtype dtype, int rank, const int64_t *size);

#endif
