/* Products of int8 matrices with int32 sums, exact modulo 2^32: c[i, j] = sum over k of a[i, k] b[k, j]. Any order of summation gives the same
 * result, so k is taken in quads, four consecutive k in a 32-bit word, as the dot product instructions want them.
 *
 *     packed b   [panel][1 + quads][nr] int32: first the initial value of each column's sum, then four k of the column in each word, padded
 *                with zeros; quads is k / 4, rounded up to a multiple of `unit`
 *     copied a   [row][LDA] int32: four k in each word, each byte xor `flip`
 *
 * Strides are in elements. */
#ifndef TC_KERNEL_GEMM_I8_H
#define TC_KERNEL_GEMM_I8_H

#include "kernel/kernel.h"

typedef struct {
    int64_t m, n, k;
    const int8_t *a, *b;
    int64_t a_rs, a_cs, b_rs, b_cs;
    int32_t *c; /* m x n, contiguous */
    const tc_epilogue *epilogue;
    const void *packed; /* b as tc_gemm_i8_pack wrote it, or NULL */
} tc_gemm_i8;

enum { TC_GEMM_I8_QUADS = 256, TC_GEMM_I8_MC = 112, TC_GEMM_I8_NC = 256 }; /* a block: quads, rows, columns */
enum { TC_GEMM_I8_LDA = TC_GEMM_I8_QUADS + 16 };                           /* words from row to row of the copied a */
/* ---- per instruction set ---- */
typedef struct tc_gemm_i8_ops {
    int nr;   /* columns of a panel */
    int unit; /* quads that a step takes; divides TC_GEMM_I8_QUADS */
    uint8_t
        flip; /* 0x80 where the instruction reads bytes of a as unsigned, so that they hold a + 128; sums then begin at -128 times the column's sum */
    void (*pack)(const tc_gemm_i8 *job, int64_t panel, int32_t *out);
    /* copies rows [r0, r0 + nr) of a, `quads` quads from q0 on */
    void (*copy)(const tc_gemm_i8 *job, int64_t r0, int64_t nr, int64_t q0, int64_t quads, int32_t *out);
    /* c[row * ldc + column] = init[row * ldi + column] + the products over `quads` quads, for `rows` rows and the nr columns of a panel. a: copied rows;
     * b: the panel's words from the first of these quads on. init may be c. */
    void (*tiles)(int64_t rows, int64_t quads, const int32_t *a, const int32_t *b, const int32_t *init, int64_t ldi, int32_t *c, int64_t ldc);
} tc_gemm_i8_ops;

/* Bytes of scratch that tc_gemm_i8_run needs; packed: the job's `packed` will be set. Bytes of a packed b; packing it; c = a b. */
size_t tc_gemm_i8_scratch(const tc_isa_ops *isa, int64_t n, int64_t k, bool packed, int threads);
size_t tc_gemm_i8_packed_bytes(const tc_isa_ops *isa, int64_t n, int64_t k);
void tc_gemm_i8_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm_i8 *job, void *out);
void tc_gemm_i8_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, const tc_gemm_i8 *job);
#endif
