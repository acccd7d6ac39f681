/* Products of int8 matrices in int32, exact but for wrapping: c[i, j] = sum over k of a[i, k] b[k, j]. The order of the sum is free, so k
 * goes by quads of neighbours, which is what instructions for bytes take.
 *
 *     b packed   [panel][1 + quads][nr] int32: of each column first where its sum begins, then four k of it a word, padded with zeros
 *                (quads here and below: k / 4, rounded up to a multiple of `unit`)
 *     a copied   [row][LDA] int32, padded with anything, `flip` applied to each byte */
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

enum { TC_GEMM_I8_QUADS = 256, TC_GEMM_I8_MC = 112, TC_GEMM_I8_NC = 256 }; /* of a block: k / 4, rows, columns */
enum { TC_GEMM_I8_LDA = TC_GEMM_I8_QUADS + 16 };                           /* words from row to row of the copy */
/* ---- per instruction set ---- */
typedef struct tc_gemm_i8_ops {
    int nr;       /* columns of a panel */
    int unit;     /* quads that a step takes; divides TC_GEMM_I8_QUADS */
    uint8_t flip; /* 0x80 where the instruction takes bytes of a as unsigned: a + 128; the sums then begin at -128 times those of b */
    void (*pack)(const tc_gemm_i8 *job, int64_t panel, int32_t *out);
    /* rows [r0, r0 + nr), all quads of a block from q0 on */
    void (*copy)(const tc_gemm_i8 *job, int64_t r0, int64_t nr, int64_t q0, int64_t quads, int32_t *out);
    /* rows x nr sums over `quads` of the rows a and the panel's words b go to c; they begin at init[row * ldi + column] */
    void (*tiles)(int64_t rows, int64_t quads, const int32_t *a, const int32_t *b, const int32_t *init, int64_t ldi, int32_t *c, int64_t ldc);
} tc_gemm_i8_ops;

size_t tc_gemm_i8_scratch(const tc_isa_ops *isa, int64_t n, int64_t k, bool packed, int threads);
size_t tc_gemm_i8_packed_bytes(const tc_isa_ops *isa, int64_t n, int64_t k);
void tc_gemm_i8_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm_i8 *job, void *out);
void tc_gemm_i8_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, const tc_gemm_i8 *job);
#endif
