/* Splits matrix products over threads. A task is a block of rows by some columns of one job; tasks are independent and write disjoint parts of c.
 * Where a job has several row blocks, its panels of b are packed once for all of them, in rounds:
 *
 *     for each round: as many columns as PANELS_MOST bytes of panels hold; small jobs share a round
 *       pack the panels of these columns, in parallel
 *       run the tasks of these columns, in parallel */
#include "kernel/gemm.h"

#include <string.h>

#include "base/ints.h"
#include "kernel/isa.h"

enum { PANELS_MOST = 16 << 20, PANELS_LEAST = 1 << 20 }; /* bytes of a round's panels */
enum { NC_LEAST = 512, NC_MOST = 1024 };                 /* columns of a task; NC_MOST holds where k is longer than a leaf */
enum { PACK_LEAST = 128, PACK_MOST = 512 };              /* columns that a thread packs at once: rows of b are then read in long runs */
enum { FEW = 8 };                                        /* a result of at most so many columns is computed transposed */

static const tc_gemm_ops *ops_of(const tc_isa_ops *isa, tc_dtype d) {
    return d == TC_F64 ? isa->gemm_f64 : d == TC_BF16 ? isa->gemm_bf16 : isa->gemm_f32;
}

/* How scratch is used; depends on the sizes of the jobs alone. */
typedef struct {
    int64_t window;        /* columns that are packed in a round; 0: tasks pack for themselves */
    int64_t cols;          /* of a task, at most */
    size_t panels, worker; /* bytes of a job's panels in a round; of one worker's private part */
} layout;
static layout make_layout(const tc_gemm_ops *o, int64_t m, int64_t n, int64_t k, bool packed) {
    layout l = {.cols = k > TC_LEAF ? tc_min(n, NC_MOST) : n};
    if (!packed && m > o->rows && k > 0) {
        int64_t fit = PANELS_MOST / (int64_t)o->pack_bytes(1, k) * o->nr;
        l.window = fit >= n ? n : fit / PACK_LEAST * PACK_LEAST;
    }
    l.panels = l.window ? tc_pad64(o->pack_bytes(l.window, k)) : 0;
    l.worker = tc_pad64(o->work_bytes(tc_min(m, TC_GEMM_MC), l.cols, k));
    return l;
}
static size_t round_bytes(const layout *l) { return l->window && l->panels < PANELS_LEAST ? PANELS_LEAST : l->panels; }

size_t tc_gemm_scratch(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, bool packed, int threads) {
    const tc_gemm_ops *o = ops_of(isa, dtype);
    layout l = make_layout(o, m, n, k, packed);
    size_t bytes = round_bytes(&l) + l.worker * (size_t)threads;
    if (n <= FEW && m > n) {
        l = make_layout(o, n, m, k, packed);
        size_t swapped = round_bytes(&l) + l.worker * (size_t)threads;
        bytes = swapped > bytes ? swapped : bytes;
    }
    return bytes + 64;
}

/* A worker's private part, at most. Jobs of at most one leaf are not cut into NC_MOST columns. */
static size_t worker_most(const tc_gemm_ops *o, int64_t m, int64_t n, int64_t k) {
    const size_t cut = o->work_bytes(tc_min(m, TC_GEMM_MC), tc_min(n, NC_MOST), k),
                 whole = o->work_bytes(tc_min(m, TC_GEMM_MC), n, tc_min(k, TC_LEAF));
    return tc_pad64(cut > whole ? cut : whole);
}
size_t tc_gemm_scratch_most(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, int threads) {
    const tc_gemm_ops *o = ops_of(isa, dtype);
    size_t panels = m > o->rows ? tc_pad64(o->pack_bytes(n, k)) : 0; /* a window of fewer columns has at most PANELS_MOST */
    if (panels) panels = panels < PANELS_LEAST ? PANELS_LEAST : panels > PANELS_MOST ? PANELS_MOST : panels;
    const size_t straight = worker_most(o, m, n, k), swapped = worker_most(o, tc_min(n, FEW), m, k);
    return panels + (straight > swapped ? straight : swapped) * (size_t)threads + 64;
}

/* Columns and rows of a task, and how many tasks that makes across and down. There are some 8 tasks a thread, so that none is idle for long.
 * Where row blocks share packed panels, tasks get fewer columns, down to NC_LEAST, then fewer rows, then still fewer columns. Elsewhere fewer columns
 * come first: each task packs its own columns, and b is read from memory once. */
typedef struct {
    int64_t cols, rows, ncols, nrows;
    int64_t ranges; /* of columns; each has all rows, and its tasks follow each other */
} plan;
/* n in so many parts of nearly equal size, each a multiple of step. */
static int64_t even(int64_t n, int64_t parts, int64_t step) { return tc_round_up(tc_ceil_div(n, parts), step); }
static plan make_plan(const tc_gemm_ops *o, const layout *l, int64_t jobs, int64_t m, int64_t n, int threads, bool packed) {
    const int64_t want = threads > 1 ? 8 * (int64_t)threads : 1, narrowest = m > 64 ? 4 * o->nr : o->nr;
    plan p = {.cols = tc_min(l->cols, n), .rows = tc_min(m, even(m, tc_ceil_div(m, o->rows), o->mr))};
    const bool shared = packed && m > o->rows;
    int64_t parts = tc_ceil_div(want, jobs * tc_ceil_div(m, p.rows));
    if (parts > tc_ceil_div(n, p.cols)) p.cols = tc_min(p.cols, tc_max(even(n, parts, o->nr), shared ? NC_LEAST : narrowest));
    parts = tc_ceil_div(shared ? want : threads, jobs * tc_ceil_div(n, p.cols));
    if (parts > tc_ceil_div(m, p.rows) && m > 2 * o->mr) p.rows = tc_min(p.rows, even(m, parts, o->mr));
    if (packed && p.rows < 4 * o->mr) {
        p.rows = tc_min(m, 4 * o->mr), parts = tc_ceil_div(want, jobs * tc_ceil_div(m, p.rows));
        if (parts > tc_ceil_div(n, p.cols)) p.cols = tc_min(p.cols, tc_max(even(n, parts, o->nr), narrowest));
    }
    return p;
}
int tc_gemm_knobs(int64_t m, int64_t n, tc_knob *out) {
    static const int64_t cols[] = {64, 128, 256, 512, NC_MOST, 0}, rows[] = {24, 48, 96, 192, 0};
    out[0] = tc_knob_below("columns", cols, n), out[1] = tc_knob_below("rows", rows, m);
    return 2;
}
/* With the sizes that tuning chose, where the job has them; no more than the scratch holds. */
static plan tuned_plan(plan p, const tc_gemm_ops *o, const layout *l, const tc_gemm *j, int64_t n) {
    if (j->task_cols && !j->swapped) p.cols = tc_min(tc_min(l->cols, n), tc_ceil_div(j->task_cols, o->nr) * o->nr);
    if (j->task_rows && !j->swapped) p.rows = tc_min(tc_min(j->m, TC_GEMM_MC / o->mr * o->mr), tc_ceil_div(j->task_rows, o->mr) * o->mr);
    p.ncols = tc_ceil_div(n, p.cols), p.nrows = tc_ceil_div(j->m, p.rows), p.ranges = 1;
    return p;
}
/* Do parts of this size reach more than 3 % beyond all? */
static bool uneven(int64_t all, int64_t part, int64_t parts) { return 100 * part * parts > 103 * all; }
/* Each thread gets a range of the columns, where these divide well: its part of packed b stays in its L2, and rows divide worse, as 256 by tiles of 14.
 * Ranges of few columns would copy all rows of a for little work. Where all rows are in one block, the columns are shared anyway: as evenly as possible. */
static plan by_ranges(plan p, const tc_gemm_ops *o, int64_t n, int64_t threads) {
    const int64_t parts = tc_round_up(p.ncols, threads), cols = even(n, parts, o->nr);
    if (threads == 1 || p.ncols == 1 || tc_ceil_div(n, cols) != parts) return p;
    if (p.nrows > 1 && (n < threads * 4 * o->nr || uneven(n, cols, parts))) return p;
    p.cols = cols, p.ncols = parts, p.ranges = threads;
    return p;
}

typedef struct {
    const tc_isa_ops *isa;
    void (*make)(void *, int64_t, tc_gemm *);
    void *ctx;
    layout layout;
    plan plan;
    char *panels, *workers;
    bool swapped;
    int64_t job0, c0, cols, step; /* the round: its first job, its columns [c0, c0 + cols), and how many of them a thread packs at once */
} run;

/* A result of few columns is computed transposed, c^T = b^T a^T, as one of few rows: the same products in the same order. */
static bool swaps(const tc_gemm *j) { return j->n <= FEW && j->m > j->n && !j->packed; }
static void swap_operands(tc_gemm *j) {
    tc_gemm s = *j;
    s.m = j->n, s.n = j->m, s.a = j->b, s.b = j->a, s.swapped = true;
    s.a_rs = j->b_cs, s.a_cs = j->b_rs, s.b_rs = j->a_cs, s.b_cs = j->a_rs;
    s.a_k = j->b_k, s.b_k = j->a_k;
    s.c_rs = j->c_cs, s.c_cs = j->c_rs, s.add_rs = j->add_cs, s.add_cs = j->add_rs;
    *j = s;
}
static const tc_gemm_ops *job_of(const run *r, int64_t i, tc_gemm *out) {
    r->make(r->ctx, i, out);
    out->l2_bytes = r->isa->l2_bytes;
    if (r->swapped) swap_operands(out);
    return ops_of(r->isa, out->dtype);
}

/* The panel of column c of a job: packed by the caller, or in this round; NULL: tasks pack for themselves. */
static const char *panels_at(const run *r, const tc_gemm *j, int64_t job, int64_t c) {
    const tc_gemm_ops *o = ops_of(r->isa, j->dtype);
    if (tc_gemm_widens(j)) return (const char *)j->packed + c / o->nr * tc_gemm_panel_bytes(j, o->nr, j->k);
    if (j->packed) return (const char *)j->packed + o->pack_bytes(c, j->k);
    return r->layout.window ? r->panels + (size_t)(job - r->job0) * r->layout.panels + o->pack_bytes(c - r->c0, j->k) : NULL;
}
static void pack_round(void *ctx, int64_t begin, int64_t end, int worker) {
    const run *r = ctx;
    const int64_t blocks = tc_ceil_div(r->cols, r->step);
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        tc_gemm j;
        int64_t job = r->job0 + t / blocks, c = r->c0 + t % blocks * r->step;
        const tc_gemm_ops *o = job_of(r, job, &j);
        o->pack(&j, c, tc_min(r->step, r->c0 + r->cols - c), (char *)panels_at(r, &j, job, c));
    }
}
static void pack_columns(run *r, tc_pool *pool, int64_t jobs, int64_t k) {
    r->step = tc_min(PACK_MOST, even(r->cols, 2 * tc_pool_threads(pool) - 1, PACK_LEAST));
    tc_parallel_for(pool, jobs * tc_ceil_div(r->cols, r->step), 1 + 32768 / (r->step * (k + 1)), pack_round, r);
}
/* Tasks [begin, end). Neighbouring tasks of the same rows run as one block, as wide as the worker's scratch allows: rows of a are copied once. */
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const run *r = ctx;
    const plan *p = &r->plan;
    for (int64_t t = begin, together; t < end; t += together) {
        tc_gemm j;
        const int64_t width = p->ncols / p->ranges, at = t % width, range = t / (width * p->nrows) % p->ranges;
        const int64_t job = r->job0 + t / (p->ncols * p->nrows), r0 = t / width % p->nrows * p->rows, c0 = (range * width + at) * p->cols;
        together = tc_min(tc_min(end - t, width - at), tc_max(1, r->layout.cols / p->cols));
        const tc_gemm_ops *o = job_of(r, job, &j);
        o->block(&j, r0, tc_min(p->rows, j.m - r0), r->c0 + c0, tc_min(together * p->cols, r->cols - c0),
                 r->workers + r->layout.worker * (size_t)worker, panels_at(r, &j, job, r->c0 + c0), worker);
    }
}

size_t tc_gemm_packed_bytes(const tc_isa_ops *isa, tc_dtype dtype, int64_t n, int64_t k) { return ops_of(isa, dtype)->pack_bytes(n, k); }
static void one_job(void *ctx, int64_t i, tc_gemm *out) { (void)i, *out = *(const tc_gemm *)ctx; }
void tc_gemm_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out) {
    run r = {.isa = isa, .make = one_job, .ctx = (void *)job, .layout.window = job->n, .panels = out, .cols = job->n};
    pack_columns(&r, pool, 1, job->k);
}

typedef struct {
    const tc_isa_ops *isa;
    const tc_gemm *job;
    char *out;
} packing;
static void pack_as(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *w = ctx;
    const tc_gemm *j = w->job;
    const int64_t nr = w->isa->gemm_f32->nr, e = (int64_t)tc_dtype_size(j->packed_type);
    (void)worker;
    for (int64_t c0 = begin * nr; c0 < j->n && c0 < end * nr; c0 += nr) {
        const int64_t n = tc_min(nr, j->n - c0);
        const char *from = (const char *)j->b + c0 * j->b_cs * e;
        char *out = w->out + c0 * j->k * e;
        if (n < nr) memset(out, 0, (size_t)(nr * j->k * e));
        if (j->b_rs == 1) w->isa->move->transpose[e - 1](out, nr, from, j->b_cs, n, j->k);
        else
            for (int64_t k = 0; k < j->k; k++, out += nr * e) w->isa->move->load[e - 1](out, from + k * j->b_rs * e, j->b_cs, n);
    }
}
void tc_gemm_pack_as(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out) {
    const int64_t nr = isa->gemm_f32->nr;
    tc_parallel_for(pool, tc_ceil_div(job->n, nr), 1 + 32768 / (nr * (job->k + 1)), pack_as, &(packing){isa, job, out});
}

void tc_gemm_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, int64_t count, void (*make)(void *, int64_t, tc_gemm *), void *ctx) {
    if (count <= 0) return;
    tc_gemm j;
    make(ctx, 0, &j);
    if (j.m <= 0 || j.n <= 0) return;
    run r = {.isa = isa, .make = make, .ctx = ctx};
    if ((r.swapped = swaps(&j))) swap_operands(&j);
    const tc_gemm_ops *o = ops_of(isa, j.dtype);
    const layout *l = &r.layout;
    r.layout = make_layout(o, j.m, j.n, j.k, j.packed != NULL);
    r.panels = tc_align64(scratch), r.workers = r.panels + round_bytes(l);
    const int64_t window = l->window ? l->window : j.n, together = l->window ? (int64_t)(round_bytes(l) / l->panels) : count;
    const double flops = 2.0 * (double)j.m * (double)j.n * (double)(j.k ? j.k : 1); /* of a job */
    for (r.job0 = 0; r.job0 < count; r.job0 += together)
        for (r.c0 = 0; r.c0 < j.n; r.c0 += window) {
            const int64_t jobs = tc_min(together, count - r.job0);
            r.cols = tc_min(window, j.n - r.c0);
            r.plan = tuned_plan(make_plan(o, l, jobs, j.m, r.cols, tc_pool_threads(pool), j.packed || l->window), o, l, &j, r.cols);
            if (jobs == 1) r.plan = by_ranges(r.plan, o, r.cols, tc_pool_threads(pool));
            const int64_t all = jobs * r.plan.ncols * r.plan.nrows, grain = flops * (double)jobs < 2e5 ? all : 1;
            if (l->window) pack_columns(&r, pool, jobs, j.k);
            tc_parallel_for(pool, all, grain, tasks, &r);
        }
}
void tc_gemm_run_one(const tc_isa_ops *isa, tc_pool *pool, void *scratch, const tc_gemm *job) {
    tc_gemm_run(isa, pool, scratch, 1, one_job, (void *)job);
}
