/* Integer matrix products, c = alpha a b + beta add, wrapping in the width of the element; signed and unsigned types give the same bits.
 * Strides are in elements. */
#ifndef TC_KERNEL_GEMM_INT_H
#define TC_KERNEL_GEMM_INT_H

#include "kernel/kernel.h"

typedef struct {
    int64_t m, n, k;
    const void *a, *b, *add; /* add NULL: none */
    int64_t a_rs, a_cs, b_rs, b_cs, add_rs, add_cs;
    void *c; /* m x n, contiguous */
    uint64_t alpha, beta;
} tc_gemm_int;

enum { TC_GEMM_INT_ROWS = 16, TC_GEMM_INT_COLS = 64 };
/* Computes rows [r0, r0 + nr) and columns [c0, c0 + nc), at most ROWS x COLS of them. There is one such function for each element width. */
typedef void (*tc_gemm_int_fn)(const tc_gemm_int *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc);
#endif
