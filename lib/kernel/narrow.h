/* Floats of 16 and 8 bits by way of float32: copies of operands, and results that are rounded once, region by region. */
#ifndef TC_KERNEL_NARROW_H
#define TC_KERNEL_NARROW_H

#include "kernel/kernel.h"

static inline bool tc_is_narrow(tc_dtype d) { return tc_is_float(d) && d != TC_F32 && d != TC_F64; }

/* out, contiguous, becomes the elements of type d at in, strides counted in elements. pool NULL: in the caller. */
void tc_widen(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, const int64_t size[4], const int64_t stride[4], float *out);
/* n elements that follow each other; there and back. */
void tc_widen_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, int64_t n, float *out);
void tc_narrow_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const float *in, int64_t n, void *out);

/* The epilogue of a kernel that writes float32 rows of n elements to `wide`: `out` gets them rounded while they are in a cache, and what
 * follows is run on them. */
typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype;
    const float *wide;
    void *out;
    int64_t n;
    const tc_epilogue *then; /* or NULL */
} tc_narrowing;
void tc_narrow_region(void *narrowing, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker);

#endif
