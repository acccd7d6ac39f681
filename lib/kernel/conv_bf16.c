/* Convolutions of bfloat16 and their adjoints by the dot product instructions of conv_bf16.isa.c, which read the terms of positions at a constant distance
 * in memory.
 *
 *     slab     the lines of input that a task reads, channels last, with zero padding:  [plane of kernel][line mod stride][line / stride][pixel][channel]
 *     run      the positions of several output lines in sequence; AMX computes positions between two lines, too, and drops them
 *     step     up to 32 contiguous terms: the channels of a tap, or of all taps of a line of the kernel where those are contiguous
 *
 *     x  . . . . . .       3 x 3 kernel, 4 results a line:  run  0 1 2 3 - - 4 5 6 7    6 positions a line, the last two dropped
 *        . . . . . .                                        step 0 begins at the position's pixel, step 1 one line below, ...
 *
 * An image that needs no padding is read in place. In the adjoint of a strided convolution, output positions of one residue modulo the strides have only
 * every stride-th tap: each residue is a part of its own. A sum is one chain over the steps, in order. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_isa.h"
#include "kernel/conv_plan.h"
#include "kernel/transpose.h"

/* Bytes in an L2 of 1 MiB: a task's slabs, and the weights used at a time. */
enum { SLAB_BYTES = 512 << 10, WEIGHT_BYTES = 512 << 10 };
/* Lines of more than twice LONG_LINE positions are cut; a segment has at least MIN_POSITIONS. */
enum { LONG_LINE = 512, MIN_POSITIONS = 64 };

/* One dimension of a part: output position residue + q * out_step, q < count, reads input position from + q * in_step + i * tap_step for its i-th tap,
 * which is tap number tap + i * next, i < ntaps. */
typedef struct {
    int64_t residue, out_step, count;
    int64_t from, in_step, tap_step;
    int64_t tap, next, ntaps;
} side;
static side side_of(const tc_conv *c, int d, int64_t residue) {
    const int64_t s = c->stride[d];
    if (!c->adjoint) return (side){0, 1, c->out[d], -c->pad[d], s, c->dil[d], 0, 1, c->kernel[d]};
    side x = {.residue = residue,
              .out_step = s,
              .count = residue < c->out[d] ? tc_ceil_div(c->out[d] - residue, s) : 0,
              .in_step = 1,
              .tap_step = 1,
              .next = -1};
    int64_t at = 0; /* position that the previous tap reads */
    for (int64_t t = 0; t < c->kernel[d]; t++) {
        const int64_t v = (residue + c->pad[d]) % s - t * c->dil[d];
        if (v % s) continue;
        if (x.ntaps++) x.next = x.tap - t, x.tap_step = at - v / s;
        x.tap = t, at = v / s; /* in the adjoint higher taps read lower positions: the last tap comes first */
    }
    x.from = (residue + c->pad[d]) / s + at;
    return x;
}
static int64_t reach(const side *x) { return x->ntaps ? (x->ntaps - 1) * x->tap_step : 0; }

/* How the terms of a line of the kernel are cut into steps: `together` taps are one contiguous range, cut into `each` steps of `depth` terms. cin:
 * channels with zero padding. */
typedef struct {
    int64_t cin, together, each, depth;
} cut;
static cut cut_terms(int64_t cin, const side *x) {
    static const int64_t multiples[] = {1, 2, 4, 8, 16, 32};
    cut best = {0};
    int64_t fewest = 0;
    for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++)
        for (int all = 0; all < 2; all++) {
            cut t = {.cin = tc_ceil_div(cin, multiples[i]) * multiples[i], .together = all && x->tap_step == 1 ? x->ntaps : 1};
            const int64_t n = t.cin * t.together;
            if (n % 2 || !n) continue;
            t.each = tc_ceil_div(n, 32);
            while (n % t.each || n / t.each % 2) t.each++;
            t.depth = n / t.each;
            const int64_t steps = t.each * (x->ntaps / t.together);
            if (!fewest || 5 * steps < (t.cin > best.cin ? 4 : 5) * fewest) best = t, fewest = steps; /* padding must save a fifth: it costs copies */
        }
    return best;
}

typedef struct {
    side d[3];
    cut terms;
    int64_t nsteps, words; /* words: offset of its packed weights in those of a group */
    int64_t *step;
    bool in_place;
    int64_t planes, phases, rows;   /* a slab is [planes][phases][rows]; phases: lines modulo the stride */
    int64_t thinning, pixels, line; /* input pixels for one of the slab; pixels of a row; positions of a line (tc_conv_pairs.line) */
    int64_t x_step, slab;           /* elements from position to position; elements of a slab */
    int64_t segments, wide;         /* a line of results is cut into `segments` of `wide` positions */
    int64_t lines;                  /* lines of a task: of one image, or whole images */
    int64_t blocks, first_block;    /* tasks; number of the first */
} part;
typedef struct {
    tc_conv c;
    const tc_conv_pairs_ops *o;
    part *parts;
    int64_t nparts, panels, words; /* panels and words of packed weights of a group, all parts */
    int64_t channels, nblocks, cols, ncols;
    const uint16_t *x;
    const uint32_t *w;
    const char *bias;
    char *out;
    char *scratch;
    size_t per_worker;
} plan;

static int64_t part_count(const tc_conv *c) { return c->adjoint ? tc_conv_volume(c->stride) : 1; }
static part part_at(const tc_conv *c, int64_t i) {
    const int64_t *s = c->stride, residue[] = {i / s[2] / s[1], i / s[2] % s[1], i % s[2]};
    part q = {0};
    for (int d = 0; d < 3; d++) q.d[d] = side_of(c, d, residue[d]);
    if (!q.d[0].ntaps || !q.d[1].ntaps || !q.d[2].ntaps || !c->cin) return q;
    q.terms = cut_terms(c->cin, &q.d[2]);
    q.nsteps = q.d[0].ntaps * q.d[1].ntaps * (q.d[2].ntaps / q.terms.together) * q.terms.each;
    return q;
}
static int64_t part_words(const plan *p, const part *q) { return p->panels * q->nsteps * q->terms.depth / 2 * p->o->cols; }

/* ---- weights ---- */
typedef struct {
    const plan *p;
    tc_conv_weight w;
    uint32_t *out;
} packing;
static void pack_part(const packing *j, const part *q, const uint16_t *from, int64_t cols, uint16_t *out) {
    const tc_conv *c = &j->p->c;
    const cut *t = &q->terms;
    const int64_t nr = j->p->o->cols, run = t->each * t->depth;
    for (int64_t i0 = 0; i0 < q->d[0].ntaps; i0++)
        for (int64_t i1 = 0; i1 < q->d[1].ntaps; i1++)
            for (int64_t i2 = 0; i2 < q->d[2].ntaps; i2 += t->together)
                for (int64_t k = 0; k < run; k++, out += k % 2 ? 1 : 2 * nr - 1) {
                    const int64_t ci = k % t->cin,
                                  tap = ((q->d[0].tap + i0 * q->d[0].next) * c->kernel[1] + q->d[1].tap + i1 * q->d[1].next) * c->kernel[2] +
                                        q->d[2].tap + (i2 + k / t->cin) * q->d[2].next;
                    for (int64_t i = 0; i < nr; i++) out[2 * i] = i < cols && ci < c->cin ? from[i * j->w.cout + ci * j->w.cin + tap] : 0;
                }
}
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *j = ctx;
    const plan *p = j->p;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / p->panels, panel = i % p->panels, c0 = panel * p->o->cols;
        int64_t words = g * p->words;
        for (int64_t k = 0; k < part_count(&p->c); k++) {
            const part q = part_at(&p->c, k);
            pack_part(j, &q, (const uint16_t *)j->w.data + g * j->w.group + c0 * j->w.cout, tc_min(p->o->cols, p->c.cout - c0),
                      (uint16_t *)(j->out + words + panel * (part_words(p, &q) / p->panels)));
            words += part_words(p, &q);
        }
    }
}

/* ---- the plan ---- */
/* A 1x1 convolution without padding or strides: all positions are treated as one line. */
static tc_conv flattened(const tc_conv *c) {
    tc_conv f = *c;
    const int64_t area = tc_conv_volume(c->out);
    bool flat = tc_conv_volume(c->kernel) == 1 && tc_conv_volume(c->stride) == 1 && (c->out_last || c->n == 1);
    for (int d = 0; d < 3; d++) flat &= !c->pad[d] && c->in[d] == c->out[d];
    if (!flat) return f;
    f.n = f.in[0] = f.in[1] = f.out[0] = f.out[1] = 1, f.in[2] = f.out[2] = c->n * area;
    return f;
}
static bool inside(const tc_conv *c, const part *q, int d) {
    const side *x = &q->d[d];
    return x->from >= 0 && (!x->count || x->from + (x->count - 1) * x->in_step + reach(x) < c->in[d]);
}
/* Can terms be read in place? The image needs no padding, and the positions of consecutive lines are at a constant distance with few between lines. */
static bool reads_in_place(const plan *p, part *q) {
    const tc_conv *c = &p->c;
    const side *x = q->d;
    if (q->terms.cin != c->cin || (q->terms.together > 1 && p->channels != c->cin) || !inside(c, q, 0) || !inside(c, q, 1) || !inside(c, q, 2))
        return false;
    const int64_t next = x[1].in_step * c->in[2];
    q->line = next % x[2].in_step == 0 && next / x[2].in_step >= x[2].count ? next / x[2].in_step : 0;
    if (x[1].count == 1) q->line = x[2].count;
    return q->line && 4 * q->line <= 5 * x[2].count;
}
/* Chooses how a part is cut into tasks, of which there should be `want`, and how its slab is laid out. */
static void lay_out(const plan *p, part *q, int64_t want) {
    const tc_conv *c = &p->c;
    const side *x = q->d;
    const int64_t lines = c->n * x[0].count * x[1].count, wide = x[2].count;
    int64_t pitch = p->channels, per_line;
    q->in_place = reads_in_place(p, q);
    q->segments = tc_ceil_div(wide, wide > 2 * LONG_LINE ? LONG_LINE : wide);
    if (lines * q->segments < want) q->segments = tc_min(tc_ceil_div(want, lines), tc_ceil_div(wide, MIN_POSITIONS));
    q->wide = tc_ceil_div(wide, q->segments), q->segments = tc_ceil_div(wide, q->wide);
    if (q->in_place) {
        q->x_step = x[2].in_step * pitch, per_line = q->wide * pitch * x[2].in_step;
        if (q->segments > 1) q->line = q->wide;
    } else {
        pitch = q->terms.cin;
        q->thinning = x[2].ntaps == 1 ? x[2].in_step : 1;
        const int64_t in_step = x[2].in_step / q->thinning;
        q->line = tc_ceil_div((q->wide - 1) * in_step + reach(&x[2]) + 1, in_step), q->pixels = q->line * in_step;
        q->planes = x[0].ntaps, q->phases = tc_min(x[1].in_step, reach(&x[1]) + 1);
        q->x_step = in_step * pitch, per_line = q->planes * q->phases * q->pixels * pitch;
    }
    q->lines = SLAB_BYTES / 2 / (per_line ? per_line : 1);
    if (lines / want < q->lines) q->lines = lines / want;
    if (q->lines > x[1].count) q->lines = q->lines / x[1].count * x[1].count;
    if (q->lines < 1 || q->segments > 1) q->lines = 1;
    if (q->lines >= x[1].count) q->blocks = tc_ceil_div(lines, q->lines) * q->segments;
    else q->blocks = c->n * x[0].count * tc_ceil_div(x[1].count, q->lines) * q->segments;
    q->rows = tc_min(q->lines, x[1].count) + reach(&x[1]) / x[1].in_step;
    q->slab = q->in_place ? 0 : q->planes * q->phases * q->rows * q->pixels * pitch;
}
static size_t sums_bytes(const plan *p) { return tc_pad64((size_t)(2 * p->o->rows * p->o->cols) * 4); }
static int64_t slabs_of(const part *q) { return tc_ceil_div(q->lines, q->d[1].count); }
/* The offset of each step from a position's first term. */
static void list_steps(const plan *p, const part *q) {
    const side *x = q->d;
    const int64_t pixel = q->in_place ? p->channels : q->terms.cin;
    int64_t *out = q->step;
    for (int64_t i0 = 0; i0 < x[0].ntaps; i0++)
        for (int64_t i1 = 0; i1 < x[1].ntaps; i1++)
            for (int64_t i2 = 0; i2 < x[2].ntaps; i2 += q->terms.together) {
                const int64_t y = i1 * x[1].tap_step, row = q->in_place
                                                                ? (i0 * x[0].tap_step * p->c.in[1] + y) * p->c.in[2]
                                                                : ((i0 * q->phases + y % x[1].in_step) * q->rows + y / x[1].in_step) * q->pixels;
                for (int64_t e = 0; e < q->terms.each; e++) *out++ = (row + i2 * x[2].tap_step) * pixel + e * q->terms.depth;
            }
}
/* parts: takes the parts that have results, at most part_count of them; or NULL. */
static plan start_plan(const tc_conv *given, const tc_isa_ops *isa, int threads, part *parts) {
    plan p = {.c = flattened(given), .o = isa->conv_bf16, .parts = parts, .channels = given->groups * given->cin};
    const int64_t count = part_count(&p.c), want = threads > 1 ? 4 * threads : 1;
    int64_t most = 0;
    p.panels = tc_ceil_div(p.c.cout, p.o->cols);
    for (int64_t i = 0; i < count; i++) {
        part q = part_at(&p.c, i);
        q.words = p.words, p.words += part_words(&p, &q);
        if (!p.c.n || !q.d[0].count || !q.d[1].count || !q.d[2].count) continue;
        if (q.nsteps) lay_out(&p, &q, tc_ceil_div(want, p.c.groups * count));
        else q.in_place = true, q.lines = q.d[1].count, q.segments = 1, q.wide = q.line = q.d[2].count, q.blocks = p.c.n * q.d[0].count;
        q.first_block = p.nblocks, p.nblocks += q.blocks;
        if (slabs_of(&q) * q.slab > most) most = slabs_of(&q) * q.slab;
        if (parts) parts[p.nparts++] = q;
    }
    const int64_t all = p.nblocks * p.c.groups;
    p.cols = (all && all < want ? tc_ceil_div(p.panels, tc_ceil_div(want, all)) : p.panels) * p.o->cols;
    p.ncols = p.cols ? tc_ceil_div(p.c.cout, p.cols) : 0;
    p.per_worker = tc_pad64((size_t)most * 2) + sums_bytes(&p);
    return p;
}

/* ---- tasks ---- */
/* Fills a row of a slab from input pixel x0 of line `in` on; pixels outside the line are zeros. in NULL: all are. */
static void fill_row(const plan *p, const part *q, const uint16_t *in, int64_t x0, uint16_t *out) {
    const int64_t cin = p->c.cin, to = q->terms.cin, thinning = q->thinning;
    int64_t from = x0 < 0 ? tc_ceil_div(-x0, thinning) : 0, end = p->c.in[2] > x0 ? tc_ceil_div(p->c.in[2] - x0, thinning) : 0;
    end = in ? tc_min(end, q->pixels) : 0;
    if (from >= end) {
        memset(out, 0, (size_t)(q->pixels * to) * 2);
        return;
    }
    memset(out, 0, (size_t)(from * to) * 2);
    memset(out + end * to, 0, (size_t)((q->pixels - end) * to) * 2);
    out += from * to, in += (x0 + from * thinning) * p->channels;
    if (cin == to && p->channels == cin && thinning == 1) {
        memcpy(out, in, (size_t)((end - from) * cin) * 2);
        return;
    }
    for (; from < end; from++, out += to, in += p->channels * thinning) {
        if (cin >= 16) memcpy(out, in, (size_t)cin * 2);
        else
            for (int64_t i = 0; i < cin; i++) out[i] = in[i];
        for (int64_t i = cin; i < to; i++) out[i] = 0;
    }
}
/* A block of output channels [c0, c0 + count) of a group. */
typedef struct {
    int64_t group, c0, count;
} channel_block;
/* Some output lines of one image, [y, y + lines) of plane z; of each, positions [x, x + wide). */
typedef struct {
    int64_t image, z, y, lines, x, wide;
} line_block;
static float *sums_of(const plan *p, int worker) { return (float *)(p->scratch + (size_t)worker * p->per_worker); }
static void fill_slab(const plan *p, const part *q, const line_block *at, int64_t group, uint16_t *out) {
    const side *x = q->d;
    const int64_t *in = p->c.in, rows = at->lines + reach(&x[1]) / x[1].in_step, row = q->pixels * q->terms.cin;
    for (int64_t i0 = 0; i0 < q->planes; i0++)
        for (int64_t phase = 0; phase < q->phases; phase++, out += (q->rows - rows) * row)
            for (int64_t r = 0; r < rows; r++, out += row) {
                const int64_t z = x[0].from + at->z * x[0].in_step + i0 * x[0].tap_step, y = x[1].from + (at->y + r) * x[1].in_step + phase;
                const bool there = z >= 0 && z < in[0] && y >= 0 && y < in[1];
                fill_row(p, q, there ? p->x + (((at->image * in[0] + z) * in[1] + y) * in[2]) * p->channels + group * p->c.cin : NULL,
                         x[2].from + at->x * x[2].in_step, out);
            }
}
static const uint16_t *in_place(const plan *p, const part *q, const line_block *at, int64_t group) {
    const side *x = q->d;
    const int64_t *in = p->c.in, z = x[0].from + at->z * x[0].in_step, y = x[1].from + at->y * x[1].in_step;
    return p->x + (((at->image * in[0] + z) * in[1] + y) * in[2] + x[2].from + at->x * x[2].in_step) * p->channels + group * p->c.cin;
}
/* Computes lines `at` of part q for the channels `to`, from the slab x (fill_slab, or in_place). */
static void run_lines(const plan *p, const part *q, const line_block *at, const uint16_t *x, const channel_block *to, int worker) {
    const tc_conv *c = &p->c;
    const side *d = q->d;
    const int64_t channels = c->groups * c->cout, pixel = c->out_last ? channels : 1, col = to->group * c->cout + to->c0,
                  panel = part_words(p, q) / p->panels;
    const int64_t o[] = {d[0].residue + at->z * d[0].out_step, d[1].residue + at->y * d[1].out_step, d[2].residue + at->x * d[2].out_step};
    const int64_t position = at->image * channels * tc_conv_volume(c->out) + ((o[0] * c->out[1] + o[1]) * c->out[2] + o[2]) * pixel;
    const int64_t first = position + col * (c->out_last ? 1 : tc_conv_volume(c->out));
    tc_epilogue_plain parts;
    const tc_epilogue_plain *plain = c->f32_results ? NULL : tc_conv_plain(c, col, (size_t)first * 2, &parts);
    const int64_t e = c->f32_results ? 4 : 2;
    p->o->run(&(tc_conv_pairs){.x = x,
                               .x_step = q->x_step,
                               .count = (at->lines - 1) * q->line + at->wide,
                               .line = q->line,
                               .wide = at->wide,
                               .step = q->step,
                               .nsteps = q->nsteps,
                               .depth = q->terms.depth,
                               .w = p->w + to->group * p->words + q->words + to->c0 / p->o->cols * panel,
                               .panel = panel,
                               .cols = to->count,
                               .f32_results = c->f32_results,
                               .bias = p->bias ? p->bias + col * e : NULL,
                               .out = p->out + first * e,
                               .out_step = d[2].out_step * pixel,
                               .next = d[1].out_step * c->out[2] * pixel,
                               .ld = c->out_last ? 1 : tc_conv_volume(c->out),
                               .plain = plain,
                               .epilogue = plain ? c->epilogue->rest : c->epilogue,
                               .row0 = ((at->image * c->out[0] + o[0]) * c->out[1] + o[1]) * c->out[2] + o[2],
                               .col0 = col,
                               .worker = worker,
                               .sums = sums_of(p, worker)});
}
static void run_block(const plan *p, const part *q, int64_t block, const channel_block *all, int worker) {
    const side *d = q->d;
    uint16_t *slabs = (uint16_t *)((char *)sums_of(p, worker) + sums_bytes(p));
    const int64_t segment = block % q->segments, lines = d[1].count, nr = p->o->cols, panel = part_words(p, q) / p->panels * 4;
    int64_t first, end, at_once = all->count; /* lines; channels */
    block /= q->segments;
    if (q->lines >= lines) first = block * q->lines, end = tc_min(first + q->lines, p->c.n * d[0].count * lines);
    else {
        const int64_t cuts = tc_ceil_div(lines, q->lines), image = block / cuts, i = block % cuts;
        first = image * lines + i * lines / cuts, end = image * lines + (i + 1) * lines / cuts;
    }
    if (panel) at_once = tc_min(at_once, (WEIGHT_BYTES / panel > 2 ? WEIGHT_BYTES / panel : 2) * nr);
    for (int64_t c = 0; c < all->count; c += at_once) {
        const channel_block some = {all->group, all->c0 + c, tc_min(at_once, all->count - c)};
        for (int64_t l = first, slab = 0; l < end; slab++) {
            line_block at = {l / lines / d[0].count, l / lines % d[0].count, l % lines, 0, segment * q->wide, 0};
            at.lines = tc_min(lines - at.y, end - l), at.wide = tc_min(q->wide, d[2].count - at.x);
            uint16_t *x = slabs + slab * q->slab;
            if (!q->in_place && c == 0) fill_slab(p, q, &at, all->group, x);
            run_lines(p, q, &at, q->in_place ? in_place(p, q, &at, all->group) : x, &some, worker);
            l += at.lines;
        }
    }
}
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % p->nblocks, c0 = i / p->nblocks % p->ncols * p->cols, g = i / p->nblocks / p->ncols;
        const part *q = p->parts;
        while (block >= q->first_block + q->blocks) q++;
        run_block(p, q, block - q->first_block, &(channel_block){g, c0, tc_min(p->cols, p->c.cout - c0)}, worker);
    }
}

/* ---- calls ---- */
static size_t tables_bytes(const tc_conv *c) {
    size_t s = tc_pad64((size_t)part_count(c) * sizeof(part));
    for (int64_t i = 0; i < part_count(c); i++) s += tc_pad64((size_t)part_at(c, i).nsteps * sizeof(int64_t));
    return s;
}
static bool copies(const tc_conv *c) { return tc_conv_volume(c->in) > 1 && !c->in_last; }
static size_t input_bytes(const tc_conv *c) { return copies(c) ? tc_pad64((size_t)(c->n * c->groups * c->cin * tc_conv_volume(c->in)) * 2) : 0; }
size_t tc_conv_bf16_packed_bytes(const tc_conv *c, const tc_isa_ops *isa) {
    return tc_pad64((size_t)(c->groups * start_plan(c, isa, 1, NULL).words) * 4);
}
void tc_conv_bf16_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out) {
    const plan p = start_plan(c, isa, 1, NULL);
    packing j = {&p, w, out};
    tc_parallel_for(pool, c->groups * p.panels, 1, pack_panels, &j);
}
size_t tc_conv_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed) {
    return (packed ? 0 : tc_conv_bf16_packed_bytes(c, isa)) + tables_bytes(c) + input_bytes(c) +
           start_plan(c, isa, threads, NULL).per_worker * (size_t)threads + 64;
}
void tc_conv_bf16(const tc_conv *c, const tc_conv_arrays *v) {
    char *scratch = tc_align64(v->scratch);
    plan p = start_plan(c, v->isa, tc_pool_threads(v->pool), tc_conv_take(&scratch, (size_t)part_count(c) * sizeof(part)));
    if (!p.nblocks || !c->cout) return;
    for (int64_t i = 0; i < p.nparts; i++) {
        p.parts[i].step = tc_conv_take(&scratch, (size_t)p.parts[i].nsteps * sizeof(int64_t));
        list_steps(&p, &p.parts[i]);
    }
    p.w = v->packed, p.bias = v->bias, p.out = v->out, p.x = v->in;
    if (!v->packed) {
        char *here = tc_conv_take(&scratch, tc_conv_bf16_packed_bytes(c, v->isa));
        tc_conv_bf16_pack(c, v->isa, v->pool, v->w, here);
        p.w = (const void *)here;
    }
    if (copies(c)) {
        void *x = tc_conv_take(&scratch, input_bytes(c));
        tc_transpose_batch(v->isa, v->pool, 2, c->n, p.channels, tc_conv_volume(c->in), v->in, x);
        p.x = x;
    }
    p.scratch = scratch;
    tc_parallel_for(v->pool, p.nblocks * p.ncols * c->groups, 1, tasks, &p);
}
