/* Splits matrix products over threads: jobs first, then columns, then rows. A task is a block of at most MC x NC; a worker that
 * takes several row blocks of the same columns packs those columns once for all of them. */
#include "kernel/gemm.h"

#include "kernel/isa.h"

enum { PACK_LIMIT = 16 << 20, ROWS_LIMIT = 8 << 20 }; /* bytes of panels, and of rows of a, that a worker keeps for all k */
/* Columns of a block whose rows of a are kept: two leaves of b and the partial sums stay in the second cache. Packed panels are read in
 * one piece, rows of an unpacked b should not be short. */
enum { THIN = 2 };                   /* rows that are so few that b is read where it lies */
enum { FEW = 8 };                    /* columns that are better computed as rows */
enum { DEEP = 1024, DEEP_NC = 256 }; /* k of so many leaves that partial sums of wide blocks would leave the second cache */
enum { ROWS_NC = 256, ROWS_NC_PACKED = 128, ROWS_MOST = 2 * TC_GEMM_MC, ROWS_LEAST = 128 };

static const tc_gemm_ops *ops_of(const tc_isa_ops *isa, tc_dtype d) { return d == TC_F64 ? isa->gemm_f64 : isa->gemm_f32; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Columns and rows of a task. A task has all rows unless that leaves threads idle; then columns become fewer, then rows. */
typedef struct {
    int64_t cols, rows, ncols, nrows;
} plan;
static plan make_plan(const tc_gemm_ops *o, int64_t count, int64_t m, int64_t n, int threads, int64_t widest, bool wide) {
    plan p = {.cols = least(n, widest), .rows = m};
    int64_t want = threads > 1 ? 4 * (int64_t)threads : 1;
    if (m <= 16 && (m > THIN || !wide)) p.cols = least(p.cols, m > THIN ? 2 * o->nr : o->nr); /* little work a column: panels that stay in L1 */
    if (count * up(n, p.cols) < want) p.cols = up(up(n, up(want, count)), o->nr) * o->nr;
    if (p.cols < 4 * o->nr && m > 64) p.cols = 4 * o->nr;
    p.cols = least(p.cols, least(up(n, o->nr) * o->nr, TC_GEMM_NC));
    if (p.cols < 1) p.cols = 1;
    p.ncols = up(n, p.cols);
    if (count * p.ncols < want && m > 2 * o->mr) p.rows = up(up(m, up(want, count * p.ncols)), o->mr) * o->mr;
    p.nrows = p.rows ? up(m, p.rows) : 1;
    return p;
}

typedef struct {
    const tc_isa_ops *isa;
    int64_t count;
    void (*make)(void *, int64_t, tc_gemm *);
    void *ctx;
    plan plan;
    char *scratch;
    size_t per_worker, packed_bytes, rows_bytes;
    bool swapped;
} run;

/* What a worker has: what its rows of a are of (only where they are kept), those rows, panels of b, room for a block. */
typedef struct {
    int64_t job, r0; /* job -1: nothing yet */
} kept_rows;
enum { KEPT_BYTES = 64 };
static size_t worker_bytes(const tc_gemm_ops *o, int64_t m, int64_t n, int64_t k, size_t *out_packed, size_t *out_rows) {
    int64_t rows = least(m, TC_GEMM_MC), cols = least(n, TC_GEMM_NC);
    size_t packed = o->pack_bytes(cols, k), kept = o->rows_bytes(m, k);
    *out_packed = m > TC_GEMM_MC && packed <= PACK_LIMIT ? (packed + 63) / 64 * 64 : 0;
    *out_rows = n > ROWS_NC_PACKED && k >= ROWS_LEAST && m >= o->mr && m <= ROWS_MOST && kept <= ROWS_LIMIT ? (kept + 63) / 64 * 64 : 0;
    return KEPT_BYTES + *out_rows + *out_packed + (o->work_bytes(rows, cols, k) + 127) / 64 * 64;
}

size_t tc_gemm_scratch(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, int threads) {
    size_t packed, rows;
    if (n <= FEW && m > n) {
        size_t swapped = worker_bytes(ops_of(isa, dtype), n, m, k, &packed, &rows), as_is = worker_bytes(ops_of(isa, dtype), m, n, k, &packed, &rows);
        return (swapped > as_is ? swapped : as_is) * (size_t)threads + 64;
    }
    return worker_bytes(ops_of(isa, dtype), m, n, k, &packed, &rows) * (size_t)threads + 64;
}

/* The rows [r0, r0 + nr) of a, in row blocks; those of the last task often are the same. */
static void keep_rows(const tc_gemm_ops *o, kept_rows *kept, const tc_gemm *j, int64_t job, int64_t r0, int64_t nr) {
    if (kept->job == job && kept->r0 == r0) return;
    char *to = (char *)kept + KEPT_BYTES;
    for (int64_t i = 0; i < nr; i += TC_GEMM_MC) o->pack_rows(j, r0 + i, least(TC_GEMM_MC, nr - i), to + o->rows_bytes(i, j->k));
    *kept = (kept_rows){job, r0};
}

/* c' = b' a': a result of few columns is computed as one of few rows. The same products and sums. */
static bool swaps(const tc_gemm *j) { return j->n <= FEW && j->m > j->n && !j->packed && !j->b_col && !j->c_col; }
static void swap_operands(tc_gemm *j) {
    tc_gemm s = *j;
    s.m = j->n, s.n = j->m, s.a = j->b, s.b = j->a, s.swapped = true;
    s.a_rs = j->b_cs, s.a_cs = j->b_rs, s.b_rs = j->a_cs, s.b_cs = j->a_rs;
    s.a_k = j->b_k, s.b_k = j->a_k;
    s.c_rs = j->c_cs, s.c_cs = j->c_rs, s.add_rs = j->add_cs, s.add_cs = j->add_rs;
    *j = s;
}

static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const run *r = ctx;
    char *mine = r->scratch + r->per_worker * (size_t)worker;
    for (int64_t t = begin; t < end; t++) {
        tc_gemm j;
        int64_t rest = t % (r->plan.ncols * r->plan.nrows);
        r->make(r->ctx, t / (r->plan.ncols * r->plan.nrows), &j);
        if (r->swapped) swap_operands(&j);
        const tc_gemm_ops *o = ops_of(r->isa, j.dtype);
        int64_t c0 = rest / r->plan.nrows * r->plan.cols, r0 = rest % r->plan.nrows * r->plan.rows;
        int64_t nc = least(r->plan.cols, j.n - c0), nr = least(r->plan.rows, j.m - r0);
        if (nc <= 0 || nr <= 0) continue;
        char *panels = mine + KEPT_BYTES + r->rows_bytes;
        const void *packed = r->packed_bytes && nr > TC_GEMM_MC ? panels : NULL;
        if (j.packed) packed = (const char *)j.packed + (size_t)(c0 * j.k) * tc_dtype_size(j.dtype);
        else if (packed) o->pack(&j, c0, nc, panels);
        if (r->rows_bytes && !j.seg) keep_rows(o, (kept_rows *)mine, &j, t / (r->plan.ncols * r->plan.nrows), r0, nr);
        for (int64_t i = 0; i < nr; i += TC_GEMM_MC) {
            if (r->rows_bytes && !j.seg) j.rows = mine + KEPT_BYTES + o->rows_bytes(i, j.k);
            o->block(&j, r0 + i, least(TC_GEMM_MC, nr - i), c0, nc, panels + r->packed_bytes, packed, worker);
        }
    }
}

size_t tc_gemm_packed_bytes(const tc_isa_ops *isa, tc_dtype dtype, int64_t n, int64_t k) { return ops_of(isa, dtype)->pack_bytes(n, k); }
typedef struct {
    const tc_gemm *job;
    const tc_gemm_ops *ops;
    char *out;
} packing;
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *p = ctx;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t c0 = i * p->ops->nr;
        p->ops->pack(p->job, c0, least(p->ops->nr, p->job->n - c0), p->out + (size_t)(c0 * p->job->k) * tc_dtype_size(p->job->dtype));
    }
}
void tc_gemm_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out) {
    packing p = {job, ops_of(isa, job->dtype), out};
    tc_parallel_for(pool, up(job->n, p.ops->nr), 1 + 32768 / (p.ops->nr * (job->k + 1)), pack_panels, &p);
}

void tc_gemm_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, int64_t count, void (*make)(void *, int64_t, tc_gemm *), void *ctx) {
    if (count <= 0) return;
    tc_gemm j;
    make(ctx, 0, &j);
    if (j.m <= 0 || j.n <= 0) return;
    const tc_gemm_ops *o = ops_of(isa, j.dtype);
    run r = {.isa = isa, .count = count, .make = make, .ctx = ctx};
    if ((r.swapped = swaps(&j))) swap_operands(&j);
    r.per_worker = worker_bytes(o, j.m, j.n, j.k, &r.packed_bytes, &r.rows_bytes);
    int64_t cols = j.packed ? ROWS_NC_PACKED : ROWS_NC;
    if (j.n <= cols || (j.m > TC_GEMM_MC && !j.packed)) r.rows_bytes = 0;
    r.plan = make_plan(o, count, j.m, j.n, tc_pool_threads(pool), r.rows_bytes ? cols : j.k > DEEP ? DEEP_NC : TC_GEMM_NC, !j.packed && j.b_cs == 1);
    r.scratch = (char *)(((uintptr_t)scratch + 63) / 64 * 64);
    for (int w = 0; w < tc_pool_threads(pool); w++) ((kept_rows *)(r.scratch + r.per_worker * (size_t)w))->job = -1;
    double flops = 2.0 * (double)j.m * (double)j.n * (double)(j.k ? j.k : 1) * (double)count;
    int64_t all = count * r.plan.ncols * r.plan.nrows, grain = flops < 2e5 ? all : 1;
    tc_parallel_for(pool, all, grain, tasks, &r);
}
