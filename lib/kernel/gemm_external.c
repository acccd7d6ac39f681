/* The registry of external products, and how their results get alpha, beta and the epilogue (gemm_external.h). */
#include "kernel/gemm_external.h"

#include <math.h>

static struct {
    tc_gemm_external_fn fn;
    void *ctx;
} candidates[TC_GEMM_EXTERNALS];
static int count; /* registration comes before products run; it is constant from then on */

bool tc_gemm_external_add(tc_gemm_external_fn fn, void *ctx) {
    const int at = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    if (at == TC_GEMM_EXTERNALS) return false;
    candidates[at].fn = fn, candidates[at].ctx = ctx;
    __atomic_store_n(&count, at + 1, __ATOMIC_RELEASE);
    return true;
}

tc_knob tc_gemm_external_knob(void) {
    tc_knob k = {.name = "external"};
    for (int i = 0; i < __atomic_load_n(&count, __ATOMIC_ACQUIRE); i++) k.values[i] = i + 1;
    return k;
}

/* alpha, beta, addend and epilogue on finished rows, with the roundings of gemm_finish.h. */
static void finish_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const tc_gemm *j = ctx;
    const float alpha = (float)j->alpha, beta = (float)j->beta;
    const float *add = beta != 0 ? j->add : NULL;
    for (int64_t r = begin; r < end; r++) {
        float *c = (float *)j->c + r * j->c_rs;
        for (int64_t i = 0; i < j->n && alpha != 1; i++) c[i] *= alpha;
        for (int64_t i = 0; i < j->n && add; i++) {
            const float x = add[r * j->add_rs + i * j->add_cs];
            c[i] = beta == 1 ? c[i] + x : fmaf(beta, x, c[i]);
        }
    }
    if (j->epilogue) j->epilogue->fn(j->epilogue->ctx, j->row0 + begin, end - begin, 0, j->n, worker);
}

tc_status tc_gemm_external_run(int64_t which, tc_pool *pool, int64_t jobs, void (*make)(void *, int64_t, tc_gemm *), void *ctx, bool *out_done) {
    *out_done = false;
    if (which < 1 || which > __atomic_load_n(&count, __ATOMIC_ACQUIRE)) return NULL;
    for (int64_t i = 0; i < jobs; i++) {
        tc_gemm j;
        make(ctx, i, &j);
        if (j.dtype != TC_F32 || j.m <= 0 || j.n <= 0 || j.k <= 0) return NULL;
        const int refused = candidates[which - 1].fn(candidates[which - 1].ctx, tc_pool_threads(pool), j.m, j.n, j.k, j.a, j.a_rs, j.a_cs, j.b,
                                                     j.b_rs, j.b_cs, j.c, j.c_rs);
        if (refused && i)
            return tc_error(TC_ENV, "the registered product %lld computes the first matrix of a batch and not matrix %lld", (long long)which,
                            (long long)i + 1);
        if (refused) return NULL;
        const bool more = j.alpha != 1 || (j.add && j.beta != 0) || j.epilogue;
        if (more) tc_parallel_for(pool, j.m, 1 + 16384 / j.n, finish_rows, &j);
    }
    *out_done = true;
    return NULL;
}
