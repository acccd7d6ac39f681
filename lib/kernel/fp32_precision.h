/* Operands of float32 products rounded as --fp32-precision allows (tc_fp32). The rounded copies are made before the product.
 *
 *     TF32     a rounded to 10 explicit bits of mantissa
 *     BF16     hi: a rounded to bfloat16
 *     BF16X3   hi, and lo: a - hi rounded to bfloat16. The parts are concatenated along k, so that one product of 3 k terms adds the small ones first:
 *
 *              [lo hi hi] [hi lo hi]^T = lo hi + hi lo + hi hi
 *
 * The copies are bfloat16 where the instruction set has products of bfloat16, otherwise float32, which holds the product of two bfloat16 exactly. */
#ifndef TC_KERNEL_FP32_PRECISION_H
#define TC_KERNEL_FP32_PRECISION_H

#include "kernel/isa.h"
#include "kernel/kernel.h"

extern const char *const tc_fp32_names[]; /* by tc_fp32; ended by NULL */
/* "strict", "fast", "strict, matmul tf32, conv bf16"; at most 63 characters. */
void tc_numerics_text(tc_numerics n, char out[64]);

/* Parts of each element (1 or 3), and their type. */
static inline int64_t tc_rounded_parts(tc_fp32 mode) { return mode == TC_FP32_BF16X3 ? 3 : 1; }
static inline tc_dtype tc_rounded_type(tc_fp32 mode, bool has_bf16) { return mode != TC_FP32_TF32 && has_bf16 ? TC_BF16 : TC_F32; }

/* An operand: element (b, i, j) is in[b * bs + i * rs + j * cs], strides in elements. */
typedef struct {
    const float *in;
    int64_t batch, rows, cols, bs, rs, cs;
    bool left;  /* the left operand: parts are lo hi hi; the right one: hi lo hi */
    bool along; /* k runs along rows: out is [batch][rows][parts][cols]; else [batch][parts][rows][cols] */
} tc_rounded_operand;
/* Writes the rounded operand, elements of `type`, contiguous. */
void tc_round_operand(const tc_isa_ops *isa, tc_pool *pool, tc_fp32 mode, tc_dtype type, const tc_rounded_operand *f, void *out);

#endif
