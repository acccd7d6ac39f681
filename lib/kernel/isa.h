/* Vector primitives and the products of each instruction set: one tc_isa_ops for each row of isa.tab. The block executor, emitted C and the kernels are
 * built on them.
 *
 *     const tc_isa_ops *isa;  tc_isa_ops_choose(&isa);
 *     isa->scalar[TC_F32][TC_X_ADD](out, a, b, NULL, n);      out[i] = a[i] + b[i]
 *     isa->cast[TC_BF16][TC_F32](out, in, n);
 *     isa->reduce[TC_F32]->sum_rows(out, x, rows, n, stride); row sums, in the fixed order of tc-numerics(7)
 *
 * Every instruction set gives the same bits for f32, f64, integers and bool. Arrays need only the alignment of their element; n may be 0. `out` may be
 * the same array as an operand of the same element size, but must not overlap it otherwise. Bools are bytes 0 and 1. A broadcast scalar operand is a
 * block filled with move->fill: it stays in L1 and is filled once a run. */
#ifndef TC_KERNEL_ISA_H
#define TC_KERNEL_ISA_H

#include "base/cpu.h"
#include "kernel/gemm_int.h"
#include "kernel/move.h"
#include "kernel/scalar_op.h"
#include "kernel/tree.h"
#include "tensor/dtype.h"

/* An operation of scalar.def on n elements. Operands beyond its arity are ignored; a of WHERE holds bools. */
typedef void (*tc_block_fn)(void *out, const void *a, const void *b, const void *c, int64_t n);
typedef void (*tc_cast_fn)(void *out, const void *in, int64_t n);
/* Two operations of float32 in one pass: out[i] = second(first(a[i], b[i]), c[i]), each rounded. one: bits 1 and 2 say that b and c
 * are single elements; bit 0: it is first(b, a[i]). */
typedef struct {
    tc_scalar_op first, second;
    int one;
    tc_block_fn fn;
} tc_block_pair;
/* A comparison of float32 with a number and a choice by it in one pass: out[i] = x[i] OP *y ? p[i] : q[i]. negate: -x[i] and -*y are compared. p or q
 * is one element in TC_CHOICE_OB, _BO. */
typedef void (*tc_block_select)(void *out, const void *x, const void *y, const void *p, const void *q, bool negate, int64_t n);
enum { TC_SELECT_EQ, TC_SELECT_LT, TC_SELECT_LE, TC_SELECT_NUMBER /* x is no NaN; y is ignored */, TC_SELECT_COUNT };
enum { TC_CHOICE_OB, TC_CHOICE_BO, TC_CHOICE_BB, TC_CHOICE_COUNT };

enum { TC_LOG_ROWS = 16 }; /* rows that logaddexp_scan takes at once, at most */

/* Reductions of one type, in the fixed order of tc-numerics(7): leaves of 256 positions, 16 lanes in a leaf, leaves merged by a tree. `acc` is the
 * accumulator type: f32 for f32, f64 for f64, i64 (wrapping) for every integer and bool. Whole-row functions do all of that; to reduce a row in pieces,
 * cut it at multiples of 256, reduce the leaves and merge them with tc_tree_* (kernel/tree.h). Strides are in elements. */
typedef struct {
    /* rows: out[r] = reduction of x[r * stride .. r * stride + n). n = 0 gives the identity. */
    void (*sum_rows)(void *acc_out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*prod_rows)(void *acc_out, const void *x, int64_t rows, int64_t n, int64_t stride);
    /* leaves: out[j] = reduction of leaf j of a contiguous row, ceil(n / 256) of them; the last one may be shorter */
    void (*sum_leaves)(void *acc_out, const void *x, int64_t n);
    void (*prod_leaves)(void *acc_out, const void *x, int64_t n);
    /* One leaf of each column: lanes is acc[16][cols]. _add accumulates rows x[r * stride + c], 0 <= r < rows, row r in lane (pos + r) mod 16, where pos is
     * the position of row 0; where pos is a multiple of 256 it first sets lanes to the identity. _fold reduces the lanes to out[c]. */
    void (*sum_cols_add)(void *lanes, const void *x, int64_t pos, int64_t rows, int64_t cols, int64_t stride);
    void (*prod_cols_add)(void *lanes, const void *x, int64_t pos, int64_t rows, int64_t cols, int64_t stride);
    void (*sum_cols_fold)(void *acc_out, const void *lanes, int64_t cols);
    void (*prod_cols_fold)(void *acc_out, const void *lanes, int64_t cols);
    /* whole columns: out[c] = reduction over r of x[r * stride + c] */
    void (*sum_cols)(void *acc_out, const void *x, int64_t n, int64_t cols, int64_t stride);
    void (*prod_cols)(void *acc_out, const void *x, int64_t n, int64_t cols, int64_t stride);
    /* Maximum and minimum, where order does not matter: NaN wins, +0 is greater than -0. Results have the type itself; n >= 1.
     * _add is for columns: acc[i] = max(acc[i], x[i]) */
    void (*max_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*min_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*max_add)(void *acc, const void *x, int64_t n);
    void (*max_of)(void *out, const void *const *x, int64_t m, int64_t n); /* out[i] = maximum of x[0][i] .. x[m - 1][i]; m >= 1 */
    void (*min_add)(void *acc, const void *x, int64_t n);
    /* Index of the maximum or minimum: the first of ties, the first NaN if there is one; n >= 1. _cols_add is for columns: updates each column's best
     * value and its index from row number `at`; row 0 initialises them */
    void (*argmax_rows)(int64_t *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*argmin_rows)(int64_t *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*argmax_cols_add)(void *best, int64_t *index, const void *x, int64_t at, int64_t cols);
    void (*argmin_cols_add)(void *best, int64_t *index, const void *x, int64_t at, int64_t cols);
    /* f32 and f64 only: mean and sum of squared deviations of each row, or of each leaf (kernel/tree.h merges those) */
    void (*welford_rows)(tc_welford *out, const void *x, int64_t rows, int64_t n, int64_t stride);
    void (*welford_leaves)(tc_welford *out, const void *x, int64_t n);
    /* running logaddexp of m <= TC_LOG_ROWS rows of n: for each i, carry[r] = logaddexp(carry[r], x[r][i]), out[r][i] = carry[r] */
    void (*logaddexp_scan)(void *out, const void *x, int64_t n, int m, double *carry);
} tc_reduce_ops;

/* The plain epilogue (tc_epilogue_plain, kernel/kernel.h) of a bf16 matrix whose rows are cols elements apart. */
typedef struct {
    void *out;
    const void *x, *more;
    const float *scale, *shift;
    const uint16_t *table;
    int64_t cols;
    float low, high;
} tc_half_rows;
/* Softmax numerators of one row of attention scores as bfloat16 weights (kernel/attention_rounded.h): of `keys` scores the first `live` count, the other
 * weights are 0. out_max: scale times the greatest score; out_sum: sum of the weights before rounding. */
typedef void (*tc_attention_weights_fn)(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum, uint16_t *out);
typedef void (*tc_half_rows_fn)(const tc_half_rows *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc);

struct tc_gemm_ops;      /* kernel/gemm.h */
struct tc_gemm_i8_ops;   /* kernel/gemm_i8.h */
struct tc_attention_ops; /* kernel/attention_impl.h */
struct tc_conv_ops;      /* kernel/conv_isa.h */
struct tc_conv_row;      /* kernel/conv_isa.h */
struct tc_winograd_ops;  /* kernel/conv_isa.h */

struct tc_isa_ops {
    const char *name; /* row of isa.tab */
    int64_t l2_bytes; /* size of L2 that every processor with these instructions has at least; 0: unknown, kernels assume less */
    const tc_block_fn *scalar[TC_DTYPE_COUNT];        /* [type of the operands][tc_scalar_op]; NULL where the table has no such type */
    const tc_block_fn (*scalar_one)[TC_X_COUNT];      /* b is a single element (f32: [0], f64: [1]), or a is ([2], [3]); arithmetic only, else NULL */
    const tc_block_fn *fma_one;                       /* f32; [1]: b is a single element, [2]: c, [3]: both */
    const tc_block_pair *scalar_pair;                 /* fused pairs of operations; ended by fn NULL */
    const tc_block_select (*select)[TC_CHOICE_COUNT]; /* [TC_SELECT_EQ, ...][TC_CHOICE_OB, ...]; NULL where there is none */
    const tc_cast_fn (*cast)[TC_DTYPE_COUNT];         /* [from][to], PyTorch's conversions. Same type: a copy */
    const tc_cast_fn *round;                          /* [narrow type]: f32 rounded to f16, bf16 or f8 and back (c64: to c32 and back) */
    const tc_reduce_ops *reduce[TC_DTYPE_COUNT];      /* f32, f64, integers and bool; for bf16 and f16 only max_add and max_of */
    const tc_move_ops *move;
    tc_half_rows_fn half_rows;
    void (*conv_row_half)(const struct tc_conv_row *row); /* tc_conv_ops.row_last for bf16 images with a plain epilogue; weights and bias are f32 */
    const struct tc_gemm_ops *gemm_f32, *gemm_f64;
    const struct tc_gemm_ops *gemm_bf16; /* by bfloat16 instructions; NULL: the CPU has none, products are computed in float32 */
    const struct tc_gemm_i8_ops *gemm_i8;
    const tc_gemm_int_fn *gemm_int; /* [log2 of the element size] */
    const struct tc_attention_ops *attention_f32, *attention_f64;
    tc_attention_weights_fn attention_weights;
    const struct tc_conv_ops *conv_f32, *conv_f64;
    const struct tc_conv_pairs_ops *conv_bf16; /* NULL where gemm_bf16 is */
    const struct tc_winograd_ops *winograd;    /* f32 */
    void (*philox)(uint32_t *out, uint64_t key, uint64_t first, uint64_t hi,
                   int64_t blocks);                                      /* random.isa.c: 4 words for each of `blocks` counters */
    void (*normal_f32)(float *x, int64_t blocks, float mean, float std); /* random.isa.c: blocks of 16 uniforms to normals */
    void (*uniform_f32)(float *out, const uint32_t *w, int64_t n, float lo,
                        float width); /* random.isa.c: words of the generator to [lo, lo + width) */
};
typedef struct tc_isa_ops tc_isa_ops;

/* The primitives of a row of isa.tab; base/cpu.h tells which rows this machine can run. _tiles: with the products of one of the row's extensions
 * (a line of isa.tab with three fields, such as amx). */
const tc_isa_ops *tc_isa_ops_of(tc_isa_row row);
const tc_isa_ops *tc_isa_ops_of_tiles(tc_isa_row row, tc_isa_tiles tiles);
/* The best row and extension that the machine supports, capped by TC_ISA in the environment. An error: TC_ISA names none. */
tc_status tc_isa_ops_choose(const tc_isa_ops **out_isa);

#endif
