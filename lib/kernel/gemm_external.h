/* Float32 products that the calling program registers (tc_gemm_register in tc.h), such as another BLAS. Tuning (tc-compile --tune) may choose one
 * of them for a call instead of the library's own tiles. */
#ifndef TC_KERNEL_GEMM_EXTERNAL_H
#define TC_KERNEL_GEMM_EXTERNAL_H

#include "kernel/gemm.h"

/* As tc_gemm_fn in tc.h. */
typedef int (*tc_gemm_external_fn)(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col,
                                   const float *b, int64_t b_row, int64_t b_col, float *c, int64_t c_row);
enum { TC_GEMM_EXTERNALS = TC_KNOB_VALUES };
/* Registers fn; to be called before products run. Returns false when TC_GEMM_EXTERNALS are registered already. */
bool tc_gemm_external_add(tc_gemm_external_fn fn, void *ctx);
/* The tuning knob "external": its values are the registered products by number, from 1. */
tc_knob tc_gemm_external_knob(void);
/* Runs the jobs of tc_gemm_run by product `which`, then applies alpha, beta, addend and epilogue. *out_done is false where that product refuses this
 * form (not float32, strides it does not take); nothing was written then. An error: it refuses a later matrix of a batch whose first it computed. */
tc_status tc_gemm_external_run(int64_t which, tc_pool *pool, int64_t count, void (*make)(void *ctx, int64_t i, tc_gemm *out_job), void *ctx,
                               bool *out_done);

#endif
