/* Splits int8 products over threads. b is packed once; a task is a block of rows and columns of c. A task goes through k in steps of 4 QUADS, so
 * that its copied rows of a stay in L1; partial sums lie in c between steps. */
#include "kernel/gemm_i8.h"

#include "base/ints.h"
#include "kernel/isa.h"

enum { QUADS = TC_GEMM_I8_QUADS, MC = TC_GEMM_I8_MC, NC = TC_GEMM_I8_NC, NR_MOST = 32, LDA = TC_GEMM_I8_LDA };

static int64_t quads_of(const tc_gemm_i8_ops *o, int64_t k) { return tc_ceil_div(k, 4 * o->unit) * o->unit; }
static size_t worker_bytes(void) { return (size_t)MC * (LDA + NR_MOST) * 4; }

size_t tc_gemm_i8_packed_bytes(const tc_isa_ops *isa, int64_t n, int64_t k) {
    int64_t nr = isa->gemm_i8->nr;
    return (size_t)(tc_ceil_div(n, nr) * nr * (1 + quads_of(isa->gemm_i8, k))) * 4;
}
size_t tc_gemm_i8_scratch(const tc_isa_ops *isa, int64_t n, int64_t k, bool packed, int threads) {
    return (packed ? 0 : tc_pad64(tc_gemm_i8_packed_bytes(isa, n, k))) + worker_bytes() * (size_t)threads + 64;
}

typedef struct {
    const tc_gemm_i8 *job;
    const tc_gemm_i8_ops *ops;
    int32_t *out;
    int64_t rows, cols; /* of a task */
    char *work;
} run;
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const run *r = ctx;
    (void)worker;
    for (int64_t p = begin; p < end; p++) r->ops->pack(r->job, p, r->out + p * r->ops->nr * (1 + quads_of(r->ops, r->job->k)));
}
void tc_gemm_i8_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm_i8 *job, void *out) {
    run r = {.job = job, .ops = isa->gemm_i8, .out = out};
    tc_parallel_for(pool, tc_ceil_div(job->n, r.ops->nr), 1 + 65536 / (r.ops->nr * (job->k + 1)), pack_panels, &r);
}

/* Rows [r0, r0 + nr) by the panel at column c0, over `quads` quads from q0 on. part: a tile, for the last panel, which has fewer columns than nr. */
static void panel(const run *r, int64_t r0, int64_t nr, int64_t c0, int64_t q0, int64_t quads, const int32_t *a, int32_t *part) {
    const tc_gemm_i8 *j = r->job;
    int64_t w = tc_min(r->ops->nr, j->n - c0), all = quads_of(r->ops, j->k);
    const int32_t *b = (const int32_t *)j->packed + c0 * (1 + all);
    int32_t *c = j->c + r0 * j->n + c0;
    if (w == r->ops->nr) {
        r->ops->tiles(nr, quads, a, b + (1 + q0) * r->ops->nr, q0 ? c : b, q0 ? j->n : 0, c, j->n);
        return;
    }
    for (int64_t i = 0; q0 && i < nr; i++) memcpy(part + i * NR_MOST, c + i * j->n, (size_t)w * 4);
    r->ops->tiles(nr, quads, a, b + (1 + q0) * r->ops->nr, q0 ? part : b, q0 ? NR_MOST : 0, part, NR_MOST);
    for (int64_t i = 0; i < nr; i++) memcpy(c + i * j->n, part + i * NR_MOST, (size_t)w * 4);
}
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const run *r = ctx;
    const tc_gemm_i8 *j = r->job;
    int32_t *a = (int32_t *)(r->work + worker_bytes() * (size_t)worker), *part = a + MC * LDA;
    int64_t across = tc_ceil_div(j->n, r->cols), quads = quads_of(r->ops, j->k), copied = -1; /* the first of the rows that lie in a whole */
    for (int64_t t = begin; t < end; t++) {
        int64_t r0 = t / across * r->rows, c0 = t % across * r->cols, nr = tc_min(r->rows, j->m - r0), nc = tc_min(r->cols, j->n - c0);
        for (int64_t q = 0; q < quads || q == 0; q += QUADS) { /* once even for k = 0: c is set to the sums' initial values */
            int64_t n = tc_min(QUADS, quads - q);
            if (r0 != copied) r->ops->copy(j, r0, nr, q, n, a);
            for (int64_t c = c0; c < c0 + nc; c += r->ops->nr) panel(r, r0, nr, c, q, n, a, part);
        }
        copied = quads <= QUADS ? r0 : -1;
        if (j->epilogue) j->epilogue->fn(j->epilogue->ctx, r0, nr, c0, nc, worker);
    }
}

void tc_gemm_i8_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, const tc_gemm_i8 *job) {
    tc_gemm_i8 j = *job;
    if (j.m <= 0 || j.n <= 0) return;
    run r = {.job = &j, .ops = isa->gemm_i8, .rows = tc_min(j.m, MC), .cols = NC, .work = scratch};
    if (!j.packed) {
        size_t bytes = tc_pad64(tc_gemm_i8_packed_bytes(isa, j.n, j.k));
        tc_gemm_i8_pack(isa, pool, job, scratch);
        j.packed = scratch, r.work += bytes;
    }
    int64_t want = tc_pool_threads(pool) > 1 ? 4 * tc_pool_threads(pool) : 1;
    while (r.cols > r.ops->nr && tc_ceil_div(j.m, r.rows) * tc_ceil_div(j.n, r.cols) < want) r.cols /= 2;
    double work = (double)j.m * (double)j.n * (double)(j.k + 1);
    int64_t all = tc_ceil_div(j.m, r.rows) * tc_ceil_div(j.n, r.cols);
    tc_parallel_for(pool, all, work < 4e5 ? all : 1, tasks, &r);
}
