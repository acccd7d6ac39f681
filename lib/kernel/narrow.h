/* Floats of 16 and 8 bits in kernels that compute in float32: operands are widened to float32 copies, results are rounded once, region by region,
 * as an epilogue. */
#ifndef TC_KERNEL_NARROW_H
#define TC_KERNEL_NARROW_H

#include "kernel/kernel.h"

static inline bool tc_is_narrow(tc_dtype d) { return tc_is_float(d) && d != TC_F32 && d != TC_F64; }

/* Copies a 4-D tensor of type d to contiguous float32; strides are in elements. pool NULL: in the calling thread. */
void tc_widen(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, const int64_t size[4], const int64_t stride[4], float *out);
/* n contiguous elements, to float32 and back. */
void tc_widen_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, int64_t n, float *out);
void tc_narrow_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const float *in, int64_t n, void *out);

/* As tc_epilogue.ctx of tc_narrow_region: a kernel writes float32 rows of n elements to `wide`; each finished region is rounded to `out` (type dtype)
 * while it is in the caches, and the next epilogue runs on it. */
typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype;
    const float *wide;
    void *out;
    int64_t n;
    const tc_epilogue *epilogue; /* or NULL */
} tc_narrowing;
void tc_narrow_region(void *narrowing, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker);

#endif
