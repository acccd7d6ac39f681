/* Convolution and its adjoint (input gradient, transposed convolution) in register tiles of output positions x output channels, over k = (tap, channel).
 *
 *     input    channels last (copied so where it is not), so that the channels of a tap are contiguous
 *     weights  panels of output channels, [panel][k][nr], packed here or ahead of time
 *     task     a block of positions x a block of channels (kernel/conv_block.h)
 *
 * In the adjoint of a strided convolution, output positions of one residue modulo the strides have only every stride-th tap: each residue is a part with
 * its own positions and taps. A 1x1 convolution of planes is a plain matrix product. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_isa.h"
#include "kernel/conv_plan.h"
#include "kernel/transpose.h"

/* Limits of a task: tiles of positions, where partial sums are kept and where there is one leaf; bytes of a position's channels; bytes of partial sums,
 * in an L2 of 1 MiB. */
enum { BLOCK_TILES = 16, LEAF_TILES = 64, BLOCK_BYTES = 1024, SUM_BYTES = 768 << 10 };
/* From MIN_ROWS rows on a tile hides the latency of its fma chains; positions with equal taps, but fewer of them, share tiles with others. With fewer
 * than SHORT_TAP channels every group of equal taps gets tiles of its own: saving and restoring sums for an absent tap costs more than its terms. */
enum { MIN_ROWS = 4, SHORT_TAP = 16 };

/* ---- one dimension ---- */
/* An output position in one dimension. */
typedef struct {
    int64_t start;       /* a tap reads input position start + its shift */
    int64_t same;        /* how many positions of its residue, from this one on, have the same taps */
    int32_t first, last; /* the taps that are present: [first, last) */
    bool inside;         /* all taps of its residue are */
} axis;
static int64_t step_of(const tc_conv *c, int d) { return c->adjoint ? c->stride[d] : 1; }
static int64_t positions(const tc_conv *c, int d, int64_t residue) {
    return residue < c->out[d] ? tc_ceil_div(c->out[d] - residue, step_of(c, d)) : 0;
}
/* Does tap t belong to output positions residue, residue + step, ...? Then *shift is its offset from their starts. */
static bool fits(const tc_conv *c, int d, int64_t residue, int64_t t, int64_t *shift) {
    int64_t s = c->stride[d], v = (residue + c->pad[d]) % s - t * c->dil[d];
    *shift = c->adjoint ? v / s : t * c->dil[d] - c->pad[d];
    return !c->adjoint || v % s == 0;
}
static bool reads(const tc_conv *c, int d, int64_t o, int64_t start, int64_t t) {
    int64_t shift;
    return fits(c, d, o % step_of(c, d), t, &shift) && start + shift >= 0 && start + shift < c->in[d];
}
/* The input position that a tap reads is monotonic in the tap's number, so absent taps are at the ends. */
static axis axis_at(const tc_conv *c, int d, int64_t o) {
    axis a = {.start = c->adjoint ? (o + c->pad[d]) / c->stride[d] : o * c->stride[d], .same = 1};
    int64_t first = 0, last = c->kernel[d], shift;
    while (first < last && !fits(c, d, o % step_of(c, d), first, &shift)) first++;
    while (first < last && !fits(c, d, o % step_of(c, d), last - 1, &shift)) last--;
    const int64_t all = last - first;
    while (first < last && !reads(c, d, o, a.start, first)) first++;
    while (first < last && !reads(c, d, o, a.start, last - 1)) last--;
    if (first < last) a.first = (int32_t)first, a.last = (int32_t)last, a.inside = last - first == all;
    return a;
}

/* ---- the plan, in scratch ---- */
typedef struct {
    int64_t residue[3], count[3];
    int64_t rows, unit, blocks, first_block; /* positions of all images; blocks, each a multiple of `unit` positions; number of the first block */
    const tc_conv_tap *tap;
    int64_t ntaps, least, most; /* as in tc_conv_block */
} part;
typedef struct {
    const tc_conv *c;
    const tc_conv_ops *o;
    const char *x, *w, *bias;
    char *out, *scratch;
    axis *axes[3];
    part *parts;
    int64_t nparts, k, area, channels, inside;
    int64_t rows, cols, nblocks, ncols; /* positions and channels of a task; number of blocks of either */
    size_t per_worker;
    int64_t margin[2]; /* elements before and after x that absent taps may read; 0 where they would be too many, or x is not a copy */
} plan;

static int64_t part_count(const tc_conv *c) { return step_of(c, 0) * step_of(c, 1) * step_of(c, 2); }
static int64_t panels(const tc_conv *c, const tc_conv_ops *o) { return tc_ceil_div(c->cout, o->nr); }
static size_t panel_bytes(const tc_conv *c, const tc_conv_ops *o) { return (size_t)(tc_conv_volume(c->kernel) * c->cin * o->nr) * tc_conv_elem(c); }

/* Chooses the block sizes: as large as fits the caches; smaller where threads would be idle, first in channels, then in positions. An empty convolution
 * gets one block. */
static void choose_blocks(plan *p, int threads) {
    const tc_conv *c = p->c;
    const int64_t want = threads > 1 ? 4 * threads : 1, cout = c->cout ? c->cout : 1, mr = p->o->mr, nr = p->o->nr, across = tc_ceil_div(cout, nr),
                  all = part_count(c) * c->groups;
    int64_t rows = c->n * tc_ceil_div(c->out[0], step_of(c, 0)) * tc_ceil_div(c->out[1], step_of(c, 1)) * tc_ceil_div(c->out[2], step_of(c, 2));
    if (!rows) rows = 1;
    p->cols = tc_min(across * nr, BLOCK_BYTES / (int64_t)tc_conv_elem(c));
    const bool by_tile = tc_conv_by_tile(p->k, p->cols, tc_conv_elem(c));
    const int64_t sums = by_tile ? 0 : tc_conv_sums(p->k), most = (sums ? BLOCK_TILES : LEAF_TILES) * mr;
    p->rows = most;
    if (all * tc_ceil_div(rows, p->rows) * tc_ceil_div(cout, p->cols) < want)
        p->rows = tc_ceil_div(tc_ceil_div(rows, tc_ceil_div(want, all * tc_ceil_div(cout, p->cols))), mr) * mr;
    if (p->rows < 4 * mr) p->rows = 4 * mr;
    if (p->rows > most) p->rows = most;
    const int64_t blocks = tc_ceil_div(rows, p->rows);
    p->rows = tc_min(tc_ceil_div(rows, blocks) + mr, p->rows); /* blocks of nearly equal height */
    const int64_t kept = p->rows * sums * (int64_t)tc_conv_elem(c);
    if (p->cols * kept > SUM_BYTES) p->cols = SUM_BYTES / kept > 2 * nr ? SUM_BYTES / kept / nr * nr : tc_min(across * nr, 2 * nr);
    if (all * blocks * tc_ceil_div(cout, p->cols) < want) p->cols = tc_ceil_div(tc_ceil_div(cout, tc_ceil_div(want, all * blocks)), nr) * nr;
    if (c->task_rows) p->rows = tc_min(most, tc_ceil_div(c->task_rows, mr) * mr);
    if (c->task_cols) p->cols = tc_min(p->cols, tc_ceil_div(c->task_cols, nr) * nr);
    p->ncols = tc_ceil_div(cout, p->cols);
    for (;; p->ncols++) {
        p->cols = tc_ceil_div(across, p->ncols) * nr; /* of nearly equal width */
        const int64_t tasks = all * blocks * tc_ceil_div(cout, p->cols);
        if (c->task_cols || tasks >= 2 * want || tasks % threads == 0 || p->cols == nr) break; /* few tasks must divide evenly among threads */
    }
    p->ncols = tc_ceil_div(cout, p->cols);
}
static size_t block_bytes(const plan *p) { return tc_pad64(p->o->work_bytes(p->rows, p->cols, p->k, tc_conv_volume(p->c->kernel))); }
static size_t worker_bytes(const plan *p) { return block_bytes(p) + tc_pad64((size_t)(2 * p->rows) * sizeof(tc_conv_places)); }
static size_t tables_bytes(const tc_conv *c) {
    size_t s = tc_pad64((size_t)part_count(c) * sizeof(part)) + tc_pad64((size_t)tc_conv_volume(c->kernel) * sizeof(tc_conv_tap));
    for (int d = 0; d < 3; d++) s += tc_pad64((size_t)c->out[d] * sizeof(axis));
    return s;
}
static bool copies(const plan *p) { return p->inside > 1 && !p->c->in_last; } /* the input is in planes and has to be transposed */
/* How far the taps of border positions reach outside the image, in elements of the channels-last input. */
static void find_margins(plan *p) {
    const tc_conv *c = p->c;
    int64_t pitch = p->channels;
    for (int d = 3; d-- > 0; pitch *= c->in[d]) {
        const int64_t step = step_of(c, d);
        int64_t low = 0, high = 0, shift;
        for (int64_t o = 0; o < c->out[d]; o++) {
            if (o == step && c->out[d] > 2 * step) o = c->out[d] - step; /* the first and last position of each residue reach farthest */
            for (int64_t t = 0; t < c->kernel[d]; t++) {
                if (!fits(c, d, o % step, t, &shift)) continue;
                int64_t i = (c->adjoint ? (o + c->pad[d]) / c->stride[d] : o * c->stride[d]) + shift;
                low = i < low ? i : low, high = i - c->in[d] + 1 > high ? i - c->in[d] + 1 : high;
            }
        }
        p->margin[0] -= low * pitch, p->margin[1] += high * pitch;
    }
    if (!copies(p) || p->margin[0] + p->margin[1] > p->channels * p->inside) p->margin[0] = p->margin[1] = 0;
}
static size_t input_bytes(const plan *p) {
    return (size_t)(p->margin[0] + p->c->n * p->channels * p->inside + p->margin[1]) * tc_conv_elem(p->c) + 64;
}
static plan start_plan(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    plan p = {
        .c = c, .o = tc_conv_ops_of(c, isa), .k = tc_conv_volume(c->kernel) * c->cin, .area = tc_conv_volume(c->out), .channels = c->groups * c->cin};
    p.inside = tc_conv_volume(c->in);
    choose_blocks(&p, threads);
    p.per_worker = worker_bytes(&p);
    find_margins(&p);
    return p;
}
static tc_conv_tap *list_taps(const plan *p, part *q, tc_conv_tap *tap) {
    const tc_conv *c = p->c;
    int64_t s[3];
    q->tap = tap;
    for (int64_t t0 = 0; t0 < c->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < c->kernel[1]; t1++)
            for (int64_t t2 = 0; t2 < c->kernel[2]; t2++)
                if (fits(c, 0, q->residue[0], t0, &s[0]) && fits(c, 1, q->residue[1], t1, &s[1]) && fits(c, 2, q->residue[2], t2, &s[2]))
                    *tap++ = (tc_conv_tap){((s[0] * c->in[1] + s[1]) * c->in[2] + s[2]) * p->channels,
                                           (t0 * c->kernel[1] + t1) * c->kernel[2] + t2,
                                           {(int32_t)t0, (int32_t)t1, (int32_t)t2}};
    q->ntaps = tap - q->tap;
    int64_t low = 0, high = 0;
    for (const tc_conv_tap *t = q->tap; t < tap; t++) low = t->offset < low ? t->offset : low, high = t->offset > high ? t->offset : high;
    q->least = -p->margin[0] - low, q->most = (c->n * p->inside - 1) * p->channels + p->margin[1] - high;
    return tap;
}
static void make_tables(plan *p, char **scratch) {
    const tc_conv *c = p->c;
    for (int d = 0; d < 3; d++) {
        p->axes[d] = tc_conv_take(scratch, (size_t)c->out[d] * sizeof(axis));
        for (int64_t o = c->out[d]; o-- > 0;) {
            axis *a = &p->axes[d][o], *next = a + step_of(c, d);
            *a = axis_at(c, d, o);
            if (o + step_of(c, d) < c->out[d] && next->first == a->first && next->last == a->last) a->same += next->same;
        }
    }
    p->parts = tc_conv_take(scratch, (size_t)part_count(c) * sizeof(part));
    tc_conv_tap *tap = tc_conv_take(scratch, (size_t)tc_conv_volume(c->kernel) * sizeof(tc_conv_tap));
    for (int64_t i = 0; i < part_count(c); i++) {
        part q = {.residue = {i / step_of(c, 2) / step_of(c, 1), i / step_of(c, 2) % step_of(c, 1), i % step_of(c, 2)}, .first_block = p->nblocks};
        for (int d = 0; d < 3; d++) q.count[d] = positions(c, d, q.residue[d]);
        q.rows = c->n * q.count[0] * q.count[1] * q.count[2];
        if (!q.rows) continue;
        q.unit = q.count[2] * 4 <= p->rows ? q.count[2] : 1; /* whole lines where possible: a cut line has short tiles at both ends */
        q.blocks = tc_ceil_div(q.rows / q.unit, p->rows / q.unit);
        p->nblocks += q.blocks;
        tap = list_taps(p, &q, tap);
        p->parts[p->nparts++] = q;
    }
}

/* ---- tasks ---- */
/* Does entry b continue a: in the input, in the result, and with the same taps? */
static bool continues(const tc_conv_places *a, const tc_conv_places *b) {
    return a->inside && b->inside && a->step == b->step && a->out_step == b->out_step && a->base + a->count * a->step == b->base &&
           a->to + a->count * a->out_step == b->to;
}
/* Lists positions [first, first + n) of the part as entries with equal taps. Returns the number of entries, at most n. */
static int64_t fill_places(const plan *p, const part *q, int64_t first, int64_t n, tc_conv_places *out) {
    const tc_conv *c = p->c;
    const int64_t channels = c->groups * c->cout, each = c->out_last ? channels : 1;
    int64_t q2 = first % q->count[2], q1 = first / q->count[2] % q->count[1], q0 = first / q->count[2] / q->count[1] % q->count[0],
            image = first / q->count[2] / q->count[1] / q->count[0], used = 0;
    for (int64_t left = n; left > 0;) {
        int64_t o0 = q->residue[0] + q0 * step_of(c, 0), o1 = q->residue[1] + q1 * step_of(c, 1);
        const axis *a0 = &p->axes[0][o0], *a1 = &p->axes[1][o1];
        int64_t base = image * p->inside + (a0->start * c->in[1] + a1->start) * c->in[2];
        int64_t to = image * channels * p->area + (o0 * c->out[1] + o1) * c->out[2] * each;
        while (q2 < q->count[2] && left > 0) {
            int64_t o2 = q->residue[2] + q2 * step_of(c, 2);
            const axis *a2 = &p->axes[2][o2];
            tc_conv_places *l = &out[used];
            *l = (tc_conv_places){.base = (base + a2->start) * p->channels,
                                  .to = to + o2 * each,
                                  .step = (c->adjoint ? 1 : c->stride[2]) * p->channels,
                                  .out_step = step_of(c, 2) * each,
                                  .count = tc_min(a2->same, left),
                                  .first = {a0->first, a1->first, a2->first},
                                  .last = {a0->last, a1->last, a2->last},
                                  .inside = a0->inside && a1->inside && a2->inside,
                                  .mixed = true};
            q2 += l->count, left -= l->count;
            if (used && continues(l - 1, l)) l[-1].count += l->count;
            else used++;
        }
        q2 = 0;
        if (++q1 == q->count[1]) q1 = 0, q0++;
        if (q0 == q->count[0]) q0 = 0, image++;
    }
    return used;
}
/* Sorts the entries so that those with the same taps are neighbours, and tiles compute no absent term. Kinds of fewer than `few` positions come last, as
 * `mixed`. Where there are more than KINDS kinds, the order stays. scratch: n entries. */
static void sort_by_taps(tc_conv_places *place, int64_t n, int64_t few, tc_conv_places *scratch) {
    enum { KINDS = 32 };
    const tc_conv_places *kind[KINDS];
    int64_t rows[KINDS] = {0}, used = 0;
    int kinds = 0;
    for (int64_t i = 0, k; i < n; i++) {
        for (k = 0; k < kinds && !tc_conv_same_taps(kind[k], &place[i]);) k++;
        if (k == KINDS) return;
        if (k == kinds) kind[kinds++] = &place[i];
        rows[k] += place[i].count;
    }
    for (int mixed = 0; mixed < 2; mixed++)
        for (int k = 0; k < kinds; k++)
            for (const tc_conv_places *p = kind[k]; (rows[k] < few) == mixed && p < place + n; p++)
                if (tc_conv_same_taps(kind[k], p)) scratch[used] = *p, scratch[used++].mixed = mixed;
    memcpy(place, scratch, (size_t)n * sizeof *place);
}
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    const size_t e = tc_conv_elem(c);
    char *worker_scratch = p->scratch + (size_t)worker * p->per_worker;
    tc_conv_places *place = (tc_conv_places *)(worker_scratch + block_bytes(p));
    for (int64_t i = begin; i < end; i++) {
        const int64_t across = p->ncols * c->groups, col = c->out_last ? i % across : i / p->nblocks, g = col / p->ncols,
                      c0 = col % p->ncols * p->cols;
        int64_t block = c->out_last ? i / across : i % p->nblocks;
        const part *q = p->parts;
        while (block >= q->first_block + q->blocks) q++;
        block -= q->first_block;
        const int64_t units = q->rows / q->unit, r0 = block * units / q->blocks * q->unit, r1 = (block + 1) * units / q->blocks * q->unit;
        const size_t at = (size_t)((g * c->cout + c0) * (c->out_last ? 1 : p->area)) * e;
        tc_epilogue_plain plain;
        tc_conv_block b = {.x = p->x + (size_t)(g * c->cin) * e,
                           .w = p->w + (size_t)(g * panels(c, p->o) + c0 / p->o->nr) * panel_bytes(c, p->o),
                           .place = place,
                           .nplaces = fill_places(p, q, r0, r1 - r0, place),
                           .tap = q->tap,
                           .ntaps = q->ntaps,
                           .rows = r1 - r0,
                           .cols = tc_min(p->cols, c->cout - c0),
                           .cin = c->cin,
                           .k = p->k,
                           .least = q->least,
                           .most = q->most,
                           .out = p->out + at,
                           .ld = c->out_last ? 1 : p->area,
                           .bias = p->bias ? p->bias + (size_t)(g * c->cout + c0) * e : NULL,
                           .plain = tc_conv_plain(c, g * c->cout + c0, at, &plain),
                           .epilogue = c->epilogue,
                           .row0 = r0,
                           .col0 = g * c->cout + c0,
                           .worker = worker,
                           .work = worker_scratch};
        if (b.plain) b.epilogue = c->epilogue->rest;
        if (!b.epilogue && b.nplaces > 1) sort_by_taps(place, b.nplaces, c->cin < SHORT_TAP ? 1 : MIN_ROWS, place + p->rows);
        p->o->block(&b);
    }
}

/* ---- weights ---- */
typedef struct {
    const tc_conv *c;
    const tc_isa_ops *isa;
    const tc_conv_ops *o;
    tc_conv_weight w;
    char *out;
} packing;
/* Packs a float32 panel of `cols` channels, the first at `from`, from weights of a narrow type. */
static void pack_widened(const packing *j, const char *from, int64_t cols, float *out) {
    enum { CHUNK = 512 };
    const int64_t taps = tc_conv_volume(j->c->kernel), cin = j->c->cin, run = j->w.cin == taps ? cin * taps : taps, nr = j->o->nr;
    float line[CHUNK];
    memset(out, 0, panel_bytes(j->c, j->o));
    for (int64_t i = 0; i < cols; i++)
        for (int64_t at = 0, n; at < cin * taps; at += n) { /* at: channel at / taps, tap at % taps */
            n = tc_min(CHUNK, run - at % run);
            j->isa->cast[j->w.dtype][TC_F32](
                line, from + (size_t)(i * j->w.cout + at / run * (run / taps) * j->w.cin + at % run) * tc_dtype_size(j->w.dtype), n);
            for (int64_t k = 0; k < n; k++) out[((at + k) % taps * cin + (at + k) / taps) * nr + i] = line[k];
        }
}
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *j = ctx;
    const tc_conv *c = j->c;
    int64_t taps = tc_conv_volume(c->kernel), n = panels(c, j->o);
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / n, c0 = i % n * j->o->nr, cols = tc_min(j->o->nr, c->cout - c0);
        const char *from = (const char *)j->w.data + (size_t)(g * j->w.group + c0 * j->w.cout) * tc_dtype_size(j->w.dtype);
        char *out = j->out + (size_t)i * panel_bytes(c, j->o);
        if (j->w.dtype != c->dtype) pack_widened(j, from, cols, (float *)out);
        else j->o->pack(out, from, j->w.cout, j->w.cin, c->cin, taps, cols);
    }
}
size_t tc_conv_packed_bytes(const tc_conv *c, const tc_isa_ops *isa) {
    const tc_conv_ops *o = tc_conv_ops_of(c, isa);
    return tc_pad64((size_t)(c->groups * panels(c, o)) * panel_bytes(c, o));
}
void tc_conv_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out) {
    packing j = {c, isa, tc_conv_ops_of(c, isa), w, out};
    tc_parallel_for(pool, c->groups * panels(c, j.o), 1, pack_panels, &j);
}

/* Packing reads a weight once, from memory; the product reads it for every position, from the caches. Packing costs as much as some 100 positions
 * (measured: 128 x 128 channels, 3 x 3, 784 positions take 2.08 ms with packing, 1.79 ms without). */
bool tc_conv_packs(const tc_conv *c) { return !tc_conv_pointwise(c) && c->n * tc_conv_volume(c->out) <= 4096; }

/* Finished positions must be consecutive in the result. */
bool tc_conv_reports(const tc_conv *c) {
    return c->out_last && !c->adjoint && !tc_conv_pointwise(c) && (!tc_conv_by_lanes(c) || tc_conv_depthwise(c));
}

/* ---- 1x1 ---- */
bool tc_conv_pointwise_fits(const tc_conv *c) {
    bool one = c->dtype != TC_BF16 && tc_conv_volume(c->kernel) == 1 && !c->in_last && !c->out_last;
    for (int d = 0; d < 3; d++) one = one && !c->pad[d] && (c->stride[d] == 1 || !c->adjoint);
    return one;
}
bool tc_conv_pointwise(const tc_conv *c) { return c->form ? c->form == TC_CONV_PRODUCT : tc_conv_pointwise_fits(c) && tc_conv_volume(c->out) >= 16; }
static bool strided(const tc_conv *c) { return tc_conv_volume(c->stride) != 1; }
typedef struct {
    const tc_conv *c;
    const tc_isa_ops *isa;
    const char *x;
    char *out;
    tc_conv_weight w;
    const char *bias;
} pointwise;
static void make_job(void *ctx, int64_t i, tc_gemm *j) {
    const pointwise *p = ctx;
    const tc_conv *c = p->c;
    int64_t area = tc_conv_volume(c->out), g = i % c->groups;
    *j = (tc_gemm){.dtype = c->dtype,
                   .m = c->cout,
                   .n = area,
                   .k = c->cin,
                   .a = (const char *)p->w.data + (size_t)(g * p->w.group) * tc_conv_elem(c),
                   .a_rs = p->w.cout,
                   .a_cs = p->w.cin,
                   .b = p->x + (size_t)(i * c->cin * area) * tc_conv_elem(c),
                   .b_rs = area,
                   .b_cs = 1,
                   .c = p->out + (size_t)(i * c->cout * area) * tc_conv_elem(c),
                   .c_rs = area,
                   .c_cs = 1,
                   .alpha = 1,
                   .beta = 1,
                   .add = p->bias ? p->bias + (size_t)(g * c->cout) * tc_conv_elem(c) : NULL,
                   .add_rs = 1};
}
/* Copies the positions that a strided 1x1 convolution reads, plane by plane. p->w.data is the input, p->x the copy. */
static void gather_strided(void *ctx, int64_t begin, int64_t end, int worker) {
    const pointwise *p = ctx;
    const tc_conv *c = p->c;
    const size_t e = tc_conv_elem(c);
    char *to = (char *)p->x + (size_t)(begin * tc_conv_volume(c->out)) * e;
    const char *in = (const char *)p->w.data;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        for (int64_t o0 = 0; o0 < c->out[0]; o0++)
            for (int64_t o1 = 0; o1 < c->out[1]; o1++, to += (size_t)c->out[2] * e)
                p->isa->move->load[e == 8 ? 3 : 2](
                    to, in + (size_t)(((i * c->in[0] + o0 * c->stride[0]) * c->in[1] + o1 * c->stride[1]) * c->in[2]) * e, c->stride[2], c->out[2]);
}
static void run_pointwise(const tc_conv *c, const tc_conv_arrays *v, char *scratch) {
    pointwise p = {c, v->isa, v->in, v->out, v->w, v->bias};
    if (strided(c)) {
        pointwise thin = {
            .c = c, .isa = v->isa, .x = tc_conv_take(&scratch, (size_t)(c->n * c->groups * c->cin * tc_conv_volume(c->out)) * tc_conv_elem(c))};
        thin.w.data = v->in;
        tc_parallel_for(v->pool, c->n * c->groups * c->cin, 1 + 8192 / (tc_conv_volume(c->out) + 1), gather_strided, &thin);
        p.x = thin.x;
    }
    tc_gemm_run(v->isa, v->pool, scratch, c->n * c->groups, make_job, &p);
}

size_t tc_conv_correlate_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed) {
    if (tc_conv_pointwise(c))
        return tc_gemm_scratch(isa, c->dtype, c->cout, tc_conv_volume(c->out), c->cin, false, threads) + 256 +
               (strided(c) ? tc_pad64((size_t)(c->n * c->groups * c->cin * tc_conv_volume(c->out)) * tc_conv_elem(c)) : 0);
    plan p = start_plan(c, isa, threads);
    return (packed ? 0 : tc_conv_packed_bytes(c, isa)) + tables_bytes(c) + (copies(&p) ? tc_pad64(input_bytes(&p)) : 0) +
           p.per_worker * (size_t)threads + 64;
}
void tc_conv_correlate(const tc_conv *c, const tc_conv_arrays *v) {
    char *scratch = tc_align64(v->scratch);
    if (tc_conv_pointwise(c)) {
        run_pointwise(c, v, scratch);
        return;
    }
    plan p = start_plan(c, v->isa, tc_pool_threads(v->pool));
    if (!p.area || !c->n || !c->cout) return;
    p.w = v->packed, p.bias = v->bias, p.out = v->out, p.x = v->in;
    if (!v->packed) {
        char *here = tc_conv_take(&scratch, tc_conv_packed_bytes(c, v->isa));
        tc_conv_pack(c, v->isa, v->pool, v->w, here);
        p.w = here;
    }
    if (copies(&p)) {
        char *x = tc_conv_take(&scratch, input_bytes(&p));
        memset(x, 0, (size_t)p.margin[0] * tc_conv_elem(c));
        x += (size_t)p.margin[0] * tc_conv_elem(c);
        memset(x + (size_t)(c->n * p.channels * p.inside) * tc_conv_elem(c), 0, (size_t)p.margin[1] * tc_conv_elem(c));
        tc_transpose_batch(v->isa, v->pool, tc_conv_elem(c), c->n, p.channels, p.inside, v->in, x);
        p.x = x;
    }
    make_tables(&p, &scratch);
    p.scratch = scratch;
    tc_parallel_for(v->pool, p.nblocks * p.ncols * c->groups, 1, tasks, &p);
}
