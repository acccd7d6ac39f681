/* Factors of float32 products rounded as --fp32-precision allows (tc_fp32): copies, made before the product.
 *
 *     TF32     a -> a with 10 bits behind the first
 *     BF16     a -> hi, the nearest bfloat16
 *     BF16X3   a -> hi and lo = bfloat16(a - hi); of a matrix product with the parts one after another along k:
 *
 *              [lo hi hi] [hi lo hi]^T = lo hi + hi lo + hi hi        one product of 3 k terms, small ones first
 *
 * bfloat16 as such where the row has products of it, else as float32, which holds every product of two exactly. */
#ifndef TC_KERNEL_FACTORS_H
#define TC_KERNEL_FACTORS_H

#include "kernel/isa.h"
#include "kernel/kernel.h"

extern const char *const tc_fp32_names[]; /* by tc_fp32; ended by NULL */
/* "strict", "fast", "strict, matmul tf32, conv bf16"; at most 63 characters. */
void tc_numerics_text(tc_numerics n, char out[64]);

static inline int64_t tc_factor_parts(tc_fp32 how) { return how == TC_FP32_BF16X3 ? 3 : 1; }
static inline tc_dtype tc_factor_type(tc_fp32 how, bool has_bf16) { return how != TC_FP32_TF32 && has_bf16 ? TC_BF16 : TC_F32; }

/* Element (b, i, j) of a factor is in[b * bs + i * rs + j * cs]. */
typedef struct {
    const float *in;
    int64_t batch, rows, cols, bs, rs, cs;
    bool left;  /* its parts are lo hi hi, else hi lo hi */
    bool along; /* ... and follow each other in a row: out is [batch][rows][parts][cols]; else [batch][parts][rows][cols] */
} tc_factor;
void tc_factor_round(const tc_isa_ops *isa, tc_pool *pool, tc_fp32 how, tc_dtype type, const tc_factor *f, void *out);

#endif
