/* Sums and multiples of arrays in memory, for what is added outside of programs: gradients of micro-batches and of ranks. */
#ifndef TC_TENSOR_ARITH_H
#define TC_TENSOR_ARITH_H

#include "tensor/dtype.h"

/* to += other, data *= by: n elements of a floating or complex type, each result rounded to it. */
void tc_add_into(tc_dtype d, void *to, const void *other, int64_t n);
void tc_scale_by(tc_dtype d, void *data, double by, int64_t n);

#endif
