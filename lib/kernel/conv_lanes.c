/* Depthwise and narrow grouped convolutions: a vector lane for each output channel, across the groups (kernel/conv_isa.h).
 *
 *     task: image, block of lanes, strip of output rows and columns
 *       input strip    [tap of dimension 0][ci][row][column][lanes]      turned from planes, L2
 *       output strip   [row][column][lanes]                              turned back into planes
 *
 * Padding is no zero anywhere: rows of the kernel that miss the image are left out of a row's lines, and positions of a row are cut
 * into runs that have the same taps. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_isa.h"
#include "kernel/conv_plan.h"

enum { STRIP_BYTES = 96 << 10, MAX_ROW_BYTES = 32 << 10, MAX_LANES = 16, MAX_LEVELS = 40, MAX_GROUP = 16 };

static size_t elem(const tc_conv *c) { return tc_dtype_size(tc_dtype_compute(c->dtype)); } /* of weights and sums */

bool tc_conv_by_lanes(const tc_conv *c) {
    return c->form ? c->form == TC_CONV_LANES : c->groups > 1 && c->cout < MAX_GROUP && c->cin <= 2 * MAX_GROUP;
}

bool tc_conv_depthwise(const tc_conv *c) {
    return tc_conv_by_lanes(c) && c->cin == 1 && c->cout == 1 && !c->adjoint && c->groups >= MAX_LANES && tc_conv_volume(c->kernel) <= TC_LEAF;
}

/* Input positions that outputs [a, b) of dimension d read: [*lo, *hi), empty when lo == hi. */
static void span(const tc_conv *c, int d, int64_t a, int64_t b, int64_t *lo, int64_t *hi) {
    int64_t reach = (c->kernel[d] - 1) * c->dil[d], l, h;
    if (!c->adjoint) l = a * c->stride[d] - c->pad[d], h = (b - 1) * c->stride[d] - c->pad[d] + reach + 1;
    else {
        l = a + c->pad[d] - reach, h = (b - 1 + c->pad[d]) / c->stride[d] + 1;
        l = l > 0 ? tc_ceil_div(l, c->stride[d]) : 0;
    }
    l = tc_max(l, 0), h = tc_min(h, c->in[d]);
    *lo = l < h ? l : 0, *hi = l < h ? h : 0;
}
static int64_t widest(const tc_conv *c, int d, int64_t n) { /* of span for n outputs */
    int64_t reach = (c->kernel[d] - 1) * c->dil[d];
    return tc_min(c->in[d], c->adjoint ? (n + reach) / c->stride[d] + 2 : (n - 1) * c->stride[d] + reach + 1);
}

/* ---- runs of the last dimension ---- */
static void first_taps(const tc_conv *c, int64_t o, tc_conv_run *r) {
    *r = (tc_conv_run){.o = o, .count = 1, .step = c->adjoint ? c->stride[2] : 1, .istep = c->adjoint ? 1 : c->stride[2], .tstep = 1};
    for (int64_t t = 0; t < c->kernel[2]; t++) {
        int64_t i = tc_conv_source(c, 2, o, t);
        if (i < 0) continue;
        if (!r->nt) r->t = t, r->i = i;
        else if (r->nt == 1) r->tstep = t - r->t, r->ioff = i - r->i;
        r->nt++;
    }
}
/* Positions of one residue modulo the step follow each other; a run ends where its taps do. */
static int make_runs(const tc_conv *c, tc_conv_run *out) {
    int n = 0;
    int64_t step = c->adjoint ? c->stride[2] : 1;
    for (int64_t r = 0; r < step; r++)
        for (int64_t o = r, begin = n; o < c->out[2]; o += step) {
            first_taps(c, o, &out[n]);
            tc_conv_run *u = n > begin ? &out[n - 1] : NULL;
            if (u && u->nt == out[n].nt && (!u->nt || u->t == out[n].t)) u->count++;
            else n++;
        }
    return n;
}
static int64_t max_runs(const tc_conv *c) { return tc_min(c->out[2], (2 * c->kernel[2] + 1) * (c->adjoint ? c->stride[2] : 1)) + 1; }

/* ---- the plan ---- */
typedef struct {
    const tc_conv *c;
    const tc_conv_ops *o;
    void (*row_half)(const tc_conv_row *row);
    const char *x, *dout; /* x: what taps read; dout: weight gradient */
    char *out;
    const char *bias;
    tc_conv_weight w;
    int64_t channels, blocks, taps, k; /* output channels; blocks of lanes; terms of a sum */
    int64_t *source;                   /* input row of [output row][tap of dimension 1], -1: none */
    int64_t rows, cols, nrows, ncols;
    const tc_conv_run *runs;
    int nruns;
    char *weights, *scratch; /* [block][channel * tap, + 1][lanes]: the last row is the bias */
    size_t per_worker, strip, result;
    int parts; /* weight gradient: tasks of a block */
} plan;

static void make_plan(const tc_conv *c, const tc_isa_ops *isa, plan *p) {
    *p = (plan){
        .c = c, .o = tc_conv_ops_of(c, isa), .row_half = isa->conv_row_half, .channels = c->groups * c->cout, .taps = tc_conv_volume(c->kernel)};
    p->k = p->taps * c->cin;
    size_t lane = (size_t)p->o->lanes * elem(c), each;
    p->blocks = tc_ceil_div(p->channels, p->o->lanes);
    p->cols = tc_min(c->out[2], tc_max(64, MAX_ROW_BYTES / (int64_t)lane / (c->adjoint ? 1 : c->stride[2])));
    each = (size_t)(widest(c, 2, p->cols) * c->kernel[0] * c->cin) * lane; /* bytes of an input row */
    p->rows = tc_max(1, (STRIP_BYTES / (int64_t)(each + 1) - (c->kernel[1] - 1) * c->dil[1]));
    p->rows = tc_min(c->out[1], tc_max(1, c->adjoint ? p->rows * c->stride[1] : p->rows / c->stride[1]));
    p->nrows = tc_ceil_div(c->out[1], p->rows), p->ncols = tc_ceil_div(c->out[2], p->cols);
    p->rows = tc_ceil_div(c->out[1], p->nrows);
    p->strip = tc_pad64(each * (size_t)widest(c, 1, p->rows));
    p->result = tc_pad64((size_t)(p->rows * p->cols) * lane);
    size_t lines = tc_pad64((size_t)(c->kernel[0] * c->kernel[1]) * sizeof(tc_conv_line));
    p->per_worker = p->strip + p->result + lines;
}

/* What a task reads of one image: rows [lo1, hi1), columns [lo2, hi2) of each plane of dimension 0 that is present. */
typedef struct {
    int64_t n, block, o0, a1, b1, a2, b2, lo1, hi1, lo2, hi2;
    char *strip, *result;
    tc_conv_line *line;
} task;
/* The output channel of a lane of the task's block. Lanes past the end repeat the last. */
static int64_t lane_channel(const plan *p, const task *t, int lane) { return tc_min(t->block * p->o->lanes + lane, p->channels - 1); }
/* The plane that each lane reads: input channel ci of its group, or its output gradient. */
static void input_planes(const plan *p, const task *t, int64_t ci, const void **out) {
    const tc_conv *c = p->c;
    for (int l = 0; l < p->o->lanes; l++) {
        int64_t channel = t->n * c->groups * c->cin + lane_channel(p, t, l) / c->cout * c->cin + ci;
        out[l] = p->x + (size_t)(channel * tc_conv_volume(c->in)) * elem(c);
    }
}
static void gradient_planes(const plan *p, const task *t, const void **out) {
    for (int l = 0; l < p->o->lanes; l++)
        out[l] = p->dout + (size_t)((t->n * p->channels + lane_channel(p, t, l)) * tc_conv_volume(p->c->out)) * elem(p->c);
}
static void load_strip(const plan *p, const task *t) {
    const tc_conv *c = p->c;
    const void *planes[MAX_LANES];
    int64_t w = t->hi2 - t->lo2, h = t->hi1 - t->lo1, lane = p->o->lanes * (int64_t)elem(c);
    for (int64_t t0 = 0; t0 < c->kernel[0]; t0++) {
        int64_t i0 = tc_conv_source(c, 0, t->o0, t0);
        for (int64_t ci = 0; i0 >= 0 && ci < c->cin && w > 0 && h > 0; ci++) {
            char *to = t->strip + (t0 * c->cin + ci) * w * h * lane;
            input_planes(p, t, ci, planes);
            int64_t from = (i0 * c->in[1] + t->lo1) * c->in[2] + t->lo2;
            if (w == c->in[2]) p->o->to_lanes(to, planes, from, w * h);
            else
                for (int64_t y = 0; y < h; y++) p->o->to_lanes(to + y * w * lane, planes, from + y * c->in[2], w);
        }
    }
}
/* The kernel's rows that are present in output row o1, rows `part` of `parts` only. */
static int lines_of(const plan *p, const task *t, int64_t o1, int part, int parts) {
    const tc_conv *c = p->c;
    int64_t w = t->hi2 - t->lo2, h = t->hi1 - t->lo1, lane = p->o->lanes * (int64_t)elem(c);
    int n = 0;
    for (int64_t t0 = 0; t0 < c->kernel[0]; t0++) {
        if (tc_conv_source(c, 0, t->o0, t0) < 0) continue;
        for (int64_t t1 = 0; t1 < c->kernel[1]; t1++) {
            int64_t i1 = p->source[o1 * c->kernel[1] + t1], at = t0 * c->kernel[1] + t1;
            if (i1 < 0 || (parts > 1 && at % parts != part)) continue;
            t->line[n++] = (tc_conv_line){t->strip + ((t0 * c->cin * h + i1 - t->lo1) * w - t->lo2) * lane, at * c->kernel[2]};
        }
    }
    return n;
}
static task place_task(const plan *p, int64_t n, int64_t block, int64_t o0, int64_t r, int64_t col, char *worker_scratch) {
    const tc_conv *c = p->c;
    task t = {.n = n, .block = block, .o0 = o0, .a1 = r * p->rows, .a2 = col * p->cols};
    t.b1 = tc_min(t.a1 + p->rows, c->out[1]), t.b2 = tc_min(t.a2 + p->cols, c->out[2]);
    span(c, 1, t.a1, t.b1, &t.lo1, &t.hi1), span(c, 2, t.a2, t.b2, &t.lo2, &t.hi2);
    t.strip = worker_scratch, t.result = worker_scratch + p->strip, t.line = (tc_conv_line *)(worker_scratch + p->strip + p->result);
    return t;
}

/* ---- forward and input gradient ---- */
static void pack_blocks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    size_t e = elem(p->c);
    const void *rows[MAX_LANES];
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        char *to = p->weights + (size_t)(b * (p->k + 1) * p->o->lanes) * e;
        for (int l = 0; l < p->o->lanes; l++) {
            int64_t oc = p->c->out_last ? tc_min(b * p->o->lanes, p->channels - p->o->lanes) + l : tc_min(b * p->o->lanes + l, p->channels - 1);
            rows[l] = (const char *)p->w.data + (size_t)(oc / p->c->cout * p->w.group + oc % p->c->cout * p->w.cout) * e;
            if (p->bias) memcpy(to + (size_t)(p->k * p->o->lanes + l) * e, p->bias + (size_t)oc * e, e);
        }
        for (int64_t ci = 0; ci < p->c->cin; ci++) p->o->to_lanes(to + (size_t)(ci * p->taps * p->o->lanes) * e, rows, ci * p->w.cin, p->taps);
    }
}
static void strips(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    int64_t lanes = p->o->lanes, area = tc_conv_volume(c->out);
    size_t e = elem(c);
    char *worker_scratch = p->scratch + (size_t)worker * p->per_worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t col = i % p->ncols, r = i / p->ncols % p->nrows, o0 = i / p->ncols / p->nrows % c->out[0],
                block = i / p->ncols / p->nrows / c->out[0] % p->blocks, n = i / p->ncols / p->nrows / c->out[0] / p->blocks;
        task t = place_task(p, n, block, o0, r, col, worker_scratch);
        load_strip(p, &t);
        const char *w = p->weights + (size_t)(block * (p->k + 1) * lanes) * e;
        tc_conv_row job = {.line = t.line, .run = p->runs, .nruns = p->nruns, .first = t.a2, .last = t.b2, .cin = c->cin, .taps = p->taps, .w = w};
        job.plane = (t.hi1 - t.lo1) * (t.hi2 - t.lo2) * lanes, job.bias = p->bias ? w + (size_t)(p->k * lanes) * e : NULL;
        for (int64_t o1 = t.a1; o1 < t.b1; o1++) {
            job.nlines = lines_of(p, &t, o1, 0, 1);
            job.out = t.result + (size_t)((o1 - t.a1) * (t.b2 - t.a2) * lanes) * e;
            p->o->row(&job);
        }
        int m = (int)tc_min(lanes, p->channels - block * lanes);
        char *out = p->out + (size_t)((n * p->channels + block * lanes) * area + (o0 * c->out[1] + t.a1) * c->out[2] + t.a2) * e;
        int64_t width = t.b2 - t.a2;
        if (width == c->out[2]) p->o->from_lanes(out, area, m, t.result, width * (t.b1 - t.a1));
        else
            for (int64_t y = 0; y < t.b1 - t.a1; y++)
                p->o->from_lanes(out + (size_t)(y * c->out[2]) * e, area, m, t.result + (size_t)(y * width * lanes) * e, width);
    }
}

/* Rows of the result of a depthwise convolution, images channels last. */
static void rows_last(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    const size_t e = tc_dtype_size(c->dtype);
    tc_conv_line *line = (tc_conv_line *)(p->scratch + (size_t)worker * p->per_worker);
    for (int64_t i = begin; i < end; i++) {
        int64_t o1 = i % c->out[1], o0 = i / c->out[1] % c->out[0], n = i / c->out[1] / c->out[0];
        tc_conv_row job = {
            .line = line, .run = p->runs, .nruns = p->nruns, .taps = p->taps, .w = p->weights, .bias = p->bias, .channels = p->channels};
        for (int64_t t0 = 0; t0 < c->kernel[0]; t0++) {
            int64_t i0 = tc_conv_source(c, 0, o0, t0);
            for (int64_t t1 = 0; i0 >= 0 && t1 < c->kernel[1]; t1++) {
                int64_t i1 = p->source[o1 * c->kernel[1] + t1];
                if (i1 < 0) continue;
                line[job.nlines++] = (tc_conv_line){p->x + (size_t)(((n * c->in[0] + i0) * c->in[1] + i1) * c->in[2] * p->channels) * e,
                                                    (t0 * c->kernel[1] + t1) * c->kernel[2]};
            }
        }
        const size_t at = (size_t)(i * c->out[2] * p->channels) * e;
        tc_epilogue_plain plain;
        job.out = p->out + at;
        job.plain = tc_conv_plain(c, 0, at, &plain);
        (c->dtype == TC_BF16 ? p->row_half : p->o->row_last)(&job);
        const tc_epilogue *then = job.plain ? c->epilogue->rest : c->epilogue;
        if (then) then->fn(then->ctx, i * c->out[2], c->out[2], 0, p->channels, worker);
    }
}

static size_t packed_bytes(const plan *p) { return tc_pad64((size_t)(p->blocks * (p->k + 1) * p->o->lanes) * elem(p->c)); }
static size_t runs_bytes(const tc_conv *c) {
    return tc_pad64((size_t)max_runs(c) * sizeof(tc_conv_run)) + tc_pad64((size_t)(c->out[1] * c->kernel[1]) * 8);
}
static void take_runs(plan *p, char **scratch) {
    const tc_conv *c = p->c;
    tc_conv_run *runs = tc_conv_take(scratch, (size_t)max_runs(c) * sizeof(tc_conv_run));
    p->nruns = make_runs(c, runs), p->runs = runs;
    p->source = tc_conv_take(scratch, (size_t)(c->out[1] * c->kernel[1]) * 8);
    for (int64_t o = 0; o < c->out[1]; o++)
        for (int64_t t = 0; t < c->kernel[1]; t++) p->source[o * c->kernel[1] + t] = tc_conv_source(c, 1, o, t);
}

size_t tc_conv_lanes_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    plan p;
    make_plan(c, isa, &p);
    return packed_bytes(&p) + runs_bytes(c) + p.per_worker * (size_t)threads + 64;
}
void tc_conv_lanes(const tc_conv *c, const tc_conv_arrays *v) {
    plan p;
    make_plan(c, v->isa, &p);
    int64_t tasks = c->n * p.blocks * c->out[0] * p.nrows * p.ncols;
    if (tasks <= 0) return;
    char *scratch = tc_align64(v->scratch);
    p.x = v->in, p.out = v->out, p.w = v->w, p.bias = v->bias;
    p.weights = tc_conv_take(&scratch, packed_bytes(&p));
    take_runs(&p, &scratch);
    p.scratch = scratch;
    tc_parallel_for(v->pool, p.blocks, 1 + 16384 / (p.k * p.o->lanes + 1), pack_blocks, &p);
    if (c->out_last) tc_parallel_for(v->pool, c->n * c->out[0] * c->out[1], 1 + 16384 / (c->out[2] * p.channels * p.taps + 1), rows_last, &p);
    else tc_parallel_for(v->pool, tasks, 1, strips, &p);
}

/* ---- weight gradient ---- */
static size_t sums_bytes(const plan *p) { /* leaf and levels of every k, and which are there */
    return tc_pad64((size_t)(p->k * p->o->lanes * (1 + MAX_LEVELS)) * elem(p->c)) + tc_pad64((size_t)p->k * 8) + tc_pad64((size_t)p->k);
}
typedef struct {
    char *acc, *level;
    uint64_t *have;
    uint8_t *any;
} sums;
static void close_leaf(const plan *p, sums *s, int64_t leaf) {
    size_t lane = (size_t)p->o->lanes * elem(p->c);
    for (int64_t k = 0; k < p->k; k++) {
        p->o->push(s->level + (size_t)k * MAX_LEVELS * lane, &s->have[k], leaf, s->acc + (size_t)k * lane, s->any[k]);
        s->any[k] = 0;
    }
}
/* The gradient's strip, and then its positions in order; leaves end where they do. */
static void grad_strip(const plan *p, const task *t, int part, sums *s) {
    const tc_conv *c = p->c;
    int64_t lanes = p->o->lanes, area = tc_conv_volume(c->out), at = (t->o0 * c->out[1] + t->a1) * c->out[2];
    const void *planes[MAX_LANES];
    load_strip(p, t);
    gradient_planes(p, t, planes);
    p->o->to_lanes(t->result, planes, at, (t->b1 - t->a1) * c->out[2]);
    tc_conv_row job = {.line = t->line, .run = p->runs, .nruns = p->nruns, .cin = c->cin, .taps = p->taps, .acc = s->acc, .any = s->any};
    job.plane = (t->hi1 - t->lo1) * (t->hi2 - t->lo2) * lanes;
    for (int64_t o1 = t->a1; o1 < t->b1; o1++) {
        int64_t k = t->n * area + (t->o0 * c->out[1] + o1) * c->out[2];
        job.nlines = lines_of(p, t, o1, part, p->parts);
        for (int64_t o2 = 0; o2 < c->out[2]; o2 = job.last) {
            job.first = o2, job.last = tc_min(c->out[2], o2 + TC_LEAF - (k + o2) % TC_LEAF);
            job.out = t->result + (size_t)(((o1 - t->a1) * c->out[2] + o2) * lanes) * elem(c);
            p->o->grad_row(&job);
            if ((k + job.last) % TC_LEAF == 0) close_leaf(p, s, (k + job.last) / TC_LEAF - 1);
        }
    }
}
static void grad_blocks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    int64_t lanes = p->o->lanes, total = c->n * tc_conv_volume(c->out);
    size_t lane = (size_t)lanes * elem(c), e = elem(c);
    char *worker_scratch = p->scratch + (size_t)worker * p->per_worker, *after = worker_scratch + p->per_worker - sums_bytes(p), v[MAX_LANES * 8];
    sums s;
    s.acc = tc_conv_take(&after, (size_t)p->k * lane * (1 + MAX_LEVELS)), s.level = s.acc + (size_t)p->k * lane;
    s.have = tc_conv_take(&after, (size_t)p->k * 8), s.any = tc_conv_take(&after, (size_t)p->k);
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / p->parts;
        int part = (int)(i % p->parts);
        memset(s.acc, 0, (size_t)p->k * lane), memset(s.have, 0, (size_t)p->k * 8), memset(s.any, 0, (size_t)p->k);
        for (int64_t n = 0; n < c->n; n++)
            for (int64_t o0 = 0; o0 < c->out[0]; o0++)
                for (int64_t r = 0; r < p->nrows; r++) {
                    task t = place_task(p, n, block, o0, r, 0, worker_scratch);
                    grad_strip(p, &t, part, &s);
                }
        if (total % TC_LEAF) close_leaf(p, &s, total / TC_LEAF);
        for (int64_t k = 0; k < p->k; k++) {
            int64_t t = k / c->cin, ci = k % c->cin;
            if (t / c->kernel[2] % p->parts != part) continue;
            p->o->sum(v, s.level + (size_t)k * MAX_LEVELS * lane, s.have[k]);
            for (int64_t l = 0; l < lanes && block * lanes + l < p->channels; l++) {
                int64_t oc = block * lanes + l;
                memcpy(p->out + (size_t)(oc / c->cout * p->w.group + oc % c->cout * p->w.cout + ci * p->w.cin + t) * e, v + (size_t)l * e, e);
            }
        }
    }
}
/* Whole rows only: positions follow each other. */
static void make_grad_plan(const tc_conv *c, const tc_isa_ops *isa, plan *p) {
    make_plan(c, isa, p);
    size_t lane = (size_t)p->o->lanes * elem(c), each = (size_t)(c->in[2] * c->kernel[0] * c->cin) * lane;
    if (p->cols < c->out[2]) p->rows = 1;
    p->cols = c->out[2], p->ncols = 1, p->nrows = tc_ceil_div(c->out[1], p->rows);
    p->strip = tc_pad64(each * (size_t)widest(c, 1, p->rows)), p->result = tc_pad64((size_t)(p->rows * p->cols) * lane);
    p->per_worker = p->strip + p->result + tc_pad64((size_t)(c->kernel[0] * c->kernel[1]) * sizeof(tc_conv_line)) + sums_bytes(p);
}
size_t tc_conv_lanes_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    plan p;
    make_grad_plan(c, isa, &p);
    return runs_bytes(c) + p.per_worker * (size_t)threads + 64;
}
void tc_conv_lanes_grad(const tc_conv *c, const tc_conv_grad_arrays *v) {
    plan p;
    make_grad_plan(c, v->isa, &p);
    char *scratch = tc_align64(v->scratch);
    p.x = v->in, p.dout = v->dout, p.out = v->dw, p.w = v->strides;
    take_runs(&p, &scratch);
    p.scratch = scratch;
    int threads = tc_pool_threads(v->pool);
    p.parts = p.blocks >= 4 * threads || threads == 1 ? 1 : (int)tc_min(c->kernel[0] * c->kernel[1], tc_ceil_div(4 * threads, p.blocks));
    tc_parallel_for(v->pool, p.blocks * p.parts, 1, grad_blocks, &p);
}
