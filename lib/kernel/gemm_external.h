/* Products of float32 that the program around the library brings (tc_gemm_register of tc.h): candidates beside the own tiles, which
 * tuning may choose for a call. */
#ifndef TC_KERNEL_GEMM_EXTERNAL_H
#define TC_KERNEL_GEMM_EXTERNAL_H

#include "kernel/gemm.h"

/* As tc_gemm_fn in tc.h. */
typedef int (*tc_gemm_external_fn)(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col,
                                   const float *b, int64_t b_row, int64_t b_col, float *c, int64_t c_row);
enum { TC_GEMM_EXTERNALS = TC_KNOB_VALUES };
/* Before products run. False: there are as many as can be. */
bool tc_gemm_external_add(tc_gemm_external_fn fn, void *ctx);
/* "external": the candidates by number, from 1. */
tc_knob tc_gemm_external_knob(void);
/* The jobs of tc_gemm_run, of equal form, by candidate `which`, alpha, beta, addend and epilogue behind it. *out_done false: it does not compute
 * this form, and wrote nothing. */
tc_status tc_gemm_external_run(int64_t which, tc_pool *pool, int64_t count, void (*make)(void *ctx, int64_t i, tc_gemm *out_job), void *ctx,
                               bool *out_done);

#endif
