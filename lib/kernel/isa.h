/* Vector primitives, compiled once for each row of isa.tab: what the block executor, emitted C and the kernels are made of.
 *
 *     const tc_isa_ops *isa;  tc_isa_ops_choose(&isa);
 *     isa->scalar[TC_F32][TC_X_ADD](out, a, b, NULL, n);      out[i] = a[i] + b[i]
 *     isa->cast[TC_BF16][TC_F32](out, in, n);
 *     isa->reduce[TC_F32]->sum_rows(out, x, rows, n, stride); in the order of NUMERICS 4
 *
 * Every row gives the same bits for f32, f64, integers and bool. Arrays need only the alignment of their element; n may be 0.
 * `out` may be exactly one of the operands (same address, same element size), never a shifted overlap. Bools are bytes 0 and 1.
 * Broadcast operands are blocks filled with fill(): a block stays in L1 and is filled once a run. */
#ifndef TC_KERNEL_ISA_H
#define TC_KERNEL_ISA_H

#include "base/cpu.h"
#include "kernel/gemm_int.h"
#include "kernel/move.h"
#include "kernel/scalar_op.h"
#include "kernel/tree.h"
#include "tensor/dtype.h"

/* Element-wise operation of the table on n elements; operands that the arity lacks are ignored. WHERE: a holds bools. */
typedef void (*tc_block_fn)(void *out, const void *a, const void *b, const void *c, int64_t n);
typedef void (*tc_cast_fn)(void *out, const void *in, int64_t n);
/* Two operations of float32 in one pass: out[i] = second(first(a[i], *b), *c). */
typedef struct {
    tc_scalar_op first, second;
    tc_block_fn fn;
} tc_block_pair;

enum { TC_LOG_ROWS = 16 }; /* that logaddexp_scan takes at once */

/* Reductions of one type. `acc` is the type of the sum: f32 for f32, f64 for f64, i64 for every integer and bool (wrapping).
 * Whole-row forms see the reduced positions 0..n-1 in order. Pieces of a row: feed leaves of 256 positions (NUMERICS 4) that
 * start at multiples of 256 and merge their results with tc_tree (kernel/tree.h). */
typedef struct {
    /* rows: out[r] = reduction of x[r * stride .. + n); stride in elements. n 0 gives the identity. */
    void (*sum_rows)(void *acc_out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*prod_rows)(void *acc_out, const void *x, int64_t rows, int64_t n, int64_t stride);
    /* leaves: out[j] = leaf j of a contiguous row, ceil(n / 256) of them, the last one of what remains */
    void (*sum_leaves)(void *acc_out, const void *x, int64_t n);
    void (*prod_leaves)(void *acc_out, const void *x, int64_t n);
    /* columns: lanes is acc[16][cols]; begin sets it to the identity, add puts row r (0..rows-1; x[r * stride + c]) of the leaf
     * whose first row here has position pos (mod 256) into lane (pos + r) mod 16; fold gives the leaf: out[c]. */
    void (*sum_cols_add)(void *lanes, const void *x, int64_t pos, int64_t rows, int64_t cols, int64_t stride);
    void (*prod_cols_add)(void *lanes, const void *x, int64_t pos, int64_t rows, int64_t cols, int64_t stride);
    void (*sum_cols_fold)(void *acc_out, const void *lanes, int64_t cols);
    void (*prod_cols_fold)(void *acc_out, const void *lanes, int64_t cols);
    /* whole columns: out[c] = reduction over r of x[r * stride + c] */
    void (*sum_cols)(void *acc_out, const void *x, int64_t n, int64_t cols, int64_t stride);
    void (*prod_cols)(void *acc_out, const void *x, int64_t n, int64_t cols, int64_t stride);
    /* no order: NaN wins, +0 is above -0; results in the type itself; n >= 1. _add for columns: acc[c] = max(acc[c], x[c]) */
    void (*max_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*min_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*max_add)(void *acc, const void *x, int64_t n);
    void (*max_of)(void *out, const void *const *x, int64_t m, int64_t n); /* out[i] = maximum of x[0][i] .. x[m - 1][i]; m >= 1 */
    void (*min_add)(void *acc, const void *x, int64_t n);
    /* first of ties, first NaN wins; n >= 1. _cols: running best value and its index for columns, row index `at` */
    void (*argmax_rows)(int64_t *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*argmin_rows)(int64_t *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*argmax_cols_add)(void *best, int64_t *index, const void *x, int64_t at, int64_t cols); /* at 0 sets them */
    void (*argmin_cols_add)(void *best, int64_t *index, const void *x, int64_t at, int64_t cols);
    /* f32 and f64 only: tc_welford of each row, leaves, as sum_* (kernel/tree.h merges them) */
    void (*welford_rows)(tc_welford *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*welford_leaves)(tc_welford *out, const void *x, int64_t n);
    /* m rows of n, at most TC_LOG_ROWS: out[r][i]: carry[r] after x[r][i] */
    void (*logaddexp_scan)(void *out, const void *x, int64_t n, int m, double *carry);
} tc_reduce_ops;

/* out = table[min(max(x * scale[c] + shift[c] + more, low), high)] of bf16 as tc_epilogue_plain says it (kernel/kernel.h), of rows x columns, cols
 * from row to row. */
typedef struct {
    void *out;
    const void *x, *more;
    const float *scale, *shift;
    const uint16_t *table;
    int64_t cols;
    float low, high;
} tc_half_rows;
/* The first `live` of `keys` scores become weights of bfloat16: kernel/attention_rounded.h. out_max: scale times the greatest score; out_sum: of the
 * weights before rounding. */
typedef void (*tc_attention_weights_fn)(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum, uint16_t *out);
typedef void (*tc_half_rows_fn)(const tc_half_rows *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc);

struct tc_gemm_ops;      /* kernel/gemm.h */
struct tc_gemm_i8_ops;   /* kernel/gemm_i8.h */
struct tc_attention_ops; /* kernel/attention_impl.h */
struct tc_conv_ops;      /* kernel/conv_isa.h */
struct tc_conv_row;      /* kernel/conv_isa.h */
struct tc_winograd_ops;  /* kernel/conv_isa.h */

struct tc_isa_ops {
    const char *name;                            /* row of isa.tab */
    int64_t second_cache;                        /* bytes that every processor with these instructions has at least; 0: see the kernels */
    const tc_block_fn *scalar[TC_DTYPE_COUNT];   /* [type of the operands][tc_scalar_op]; NULL where the table has no such type */
    const tc_block_fn (*scalar_one)[TC_X_COUNT]; /* [0: f32, 1: f64; + 2: it is a][op]: one operand, b or a, is a single element. Arithmetic only */
    const tc_block_pair *scalar_pair;            /* those that there are; fn NULL ends them */
    const tc_cast_fn (*cast)[TC_DTYPE_COUNT];    /* [from][to], PyTorch's conversions. Same type: a copy */
    const tc_cast_fn *round;                     /* f32 -> f32 by way of f16, bf16, f8 (c64 by way of c32): cast there and back */
    const tc_reduce_ops *reduce[TC_DTYPE_COUNT]; /* f32 f64, integers and bool; of bf16 and f16 max_add and max_of alone */
    const tc_move_ops *move;
    tc_half_rows_fn half_rows;
    void (*conv_row_half)(const struct tc_conv_row *row); /* tc_conv_ops.row_last of bf16 images and a plain epilogue of bf16; weights, bias f32 */
    const struct tc_gemm_ops *gemm_f32, *gemm_f64;
    const struct tc_gemm_ops *gemm_bf16; /* by instructions for bfloat16; NULL: products go through float32 */
    const struct tc_gemm_i8_ops *gemm_i8;
    const tc_gemm_int_fn *gemm_int; /* [log2 of the bytes of an element] */
    const struct tc_attention_ops *attention_f32, *attention_f64;
    tc_attention_weights_fn attention_weights;
    const struct tc_conv_ops *conv_f32, *conv_f64;
    const struct tc_conv_pairs_ops *conv_bf16;                                                /* where there is gemm_bf16 */
    const struct tc_winograd_ops *winograd;                                                   /* f32 */
    void (*philox)(uint32_t *out, uint64_t key, uint64_t first, uint64_t hi, int64_t blocks); /* random.isa.c: 4 words for each counter */
    void (*normal_f32)(float *x, int64_t blocks, float mean, float std);                      /* random.isa.c: blocks of 16 uniforms become normals */
};
typedef struct tc_isa_ops tc_isa_ops;

/* The primitives of a row; base/cpu.h says which rows this machine can run. */
const tc_isa_ops *tc_isa_ops_of(tc_isa_row row);
const tc_isa_ops *tc_isa_ops_of_tiles(tc_isa_row row, tc_isa_tiles tiles); /* with the products of a line of isa.tab that has this row */
/* Those of tc_isa_choose_tiles(NULL): the best supported row, at most the one that TC_ISA in the environment names. */
tc_status tc_isa_ops_choose(const tc_isa_ops **out_isa);

#endif
