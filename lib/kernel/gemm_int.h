/* Products of integers, which wrap in their own width: c = alpha a b + beta add. Types with and without sign are the same bits. */
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
/* Rows [r0, r0 + nr) and columns [c0, c0 + nc) of a job, at most ROWS x COLS: one function for elements of 1, 2, 4 and 8 bytes. */
typedef void (*tc_gemm_int_fn)(const tc_gemm_int *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc);
#endif
