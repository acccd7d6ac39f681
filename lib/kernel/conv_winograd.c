/* 3x3 convolutions by Winograd's minimal filtering, for --numerics=fast: a tile of m x m results costs (m + 2)^2 products per channel instead of 9 m^2
 * (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015).
 *
 *     input      tiles of (m + 2) x (m + 2) positions, m from one to the next, transformed: terms[p][tile][channel]
 *     products   for each p of (m + 2)^2 a matrix product: [tile][channel] by [channel][output channel], the weights transformed and packed before
 *     output     sums[p][tile][output channel], transformed back to m x m positions
 *
 * Sums over channels keep the fixed order of gemm.h, so results do not depend on threads or instruction set. They differ from strict numerics by
 * rounding (m = 4: some 1e-5 of the largest result), and an infinite element makes its whole tile NaN. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_isa.h"
#include "kernel/conv_plan.h"
#include "kernel/transpose.h"

/* LANES: float32 lanes of the widest vectors. A task's transformed tiles stay in L2: at most TASK_BYTES, but at least MIN_TILES tiles. */
enum { TAPS = 9, LANES = 16, TASK_BYTES = 768 << 10, MIN_TILES = 56 };
/* Costs in multiplications: reading a weight from memory; transforming an element of a tile. */
enum { WEIGHT_COST = 24, TRANSFORM_COST = 44 };

typedef struct {
    const tc_conv *c;
    const tc_isa_ops *isa;
    int m, points;            /* (m + 2)^2 */
    int64_t across[2], tiles; /* tiles down and across an image; tiles of all images */
    int64_t rows, cols;       /* tiles and output channels of a task */
    size_t panel_bytes;       /* of the packed weights of one point and group */
    const float *x, *bias, *zeros;
    const char *w;
    float *out;
    char *scratch;
    size_t per_worker;
} plan;

static int64_t images(const tc_conv *c) { return c->n * c->out[0]; }
static int64_t tiles_of(const tc_conv *c, int m) { return images(c) * tc_ceil_div(c->out[1], m) * tc_ceil_div(c->out[2], m); }
static double weight_cost(const tc_conv *c, int points) { return (double)points * (double)c->cin * (double)c->cout; }
static double cost_of(const tc_conv *c, int m) {
    const int points = (m + 2) * (m + 2);
    const double tiles = (double)tiles_of(c, m);
    return weight_cost(c, points) * (tiles + WEIGHT_COST) + TRANSFORM_COST * points * tiles * (double)(c->cin + c->cout);
}
/* The m of lowest estimated cost; 0: the direct algorithm is cheaper. */
static int choose_m(const tc_conv *c) {
    const double direct = weight_cost(c, TAPS) * ((double)images(c) * (double)(c->out[1] * c->out[2]) + WEIGHT_COST);
    const int m = cost_of(c, 2) < cost_of(c, 4) ? 2 : 4;
    return cost_of(c, m) < direct ? m : 0;
}
bool tc_conv_by_winograd(const tc_conv *c) {
    bool fits = c->fast && !tc_conv_by_lanes(c) && c->dtype == TC_F32 && c->kernel[0] == 1 && c->kernel[1] == 3 && c->kernel[2] == 3 && !c->pad[0] &&
                c->cin % LANES == 0 && c->cout % LANES == 0 && c->cin && c->cout && c->n && tc_conv_volume(c->out);
    for (int d = 0; d < 3; d++) fits = fits && c->stride[d] == 1 && c->dil[d] == 1;
    return fits && choose_m(c);
}

static plan start_plan(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    plan p = {.c = c, .isa = isa, .m = choose_m(c)};
    p.points = (p.m + 2) * (p.m + 2);
    for (int d = 0; d < 2; d++) p.across[d] = tc_ceil_div(c->out[1 + d], p.m);
    p.tiles = tiles_of(c, p.m);
    p.panel_bytes = tc_pad64(isa->gemm_f32->pack_bytes(c->cout, c->cin));
    p.rows = TASK_BYTES / (int64_t)(sizeof(float) * (size_t)(p.points * (c->cin + c->cout)));
    if (p.rows < MIN_TILES) p.rows = MIN_TILES;
    p.rows = tc_min(tc_min(p.rows, TC_GEMM_MC), p.tiles);
    p.rows = tc_ceil_div(p.tiles, tc_ceil_div(p.tiles, p.rows)); /* tasks of nearly equal height */
    const int64_t want = threads > 1 ? 2 * threads : 1, tasks = tc_ceil_div(p.tiles, p.rows) * c->groups;
    p.cols = tc_min(TC_GEMM_NC, c->cout);
    if (tasks * tc_ceil_div(c->cout, p.cols) < want)
        p.cols = tc_ceil_div(tc_ceil_div(c->cout, tc_ceil_div(want, tasks)), isa->gemm_f32->nr) * isa->gemm_f32->nr;
    p.per_worker =
        tc_pad64((size_t)(p.points * p.rows * (c->cin + p.cols)) * sizeof(float)) + tc_pad64(isa->gemm_f32->work_bytes(p.rows, p.cols, c->cin));
    return p;
}

/* ---- weights ---- */
typedef struct {
    const plan *p;
    tc_conv_weight w;
    char *out;
} packing;
/* Writes panels in the layout of tc_gemm_ops.pack: [group][point][panel][cin][nr]. */
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *j = ctx;
    const plan *p = j->p;
    const tc_conv *c = p->c;
    const int nr = p->isa->gemm_f32->nr, lanes = p->isa->winograd->lanes;
    const int64_t panels = tc_ceil_div(c->cout, nr);
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / panels, c0 = i % panels * nr;
        const float *w = (const float *)j->w.data + g * j->w.group;
        float *to = (float *)(j->out + (size_t)(g * p->points) * p->panel_bytes) + c0 * c->cin;
        for (int l = 0; l < nr; l += lanes) {
            const int64_t n = tc_min(lanes, c->cout - c0 - l);
            tc_winograd_weights t = {
                .pitch = j->w.cout, .n = n > 0 ? (int)n : 0, .backwards = c->adjoint, .plane = (int64_t)(p->panel_bytes / sizeof(float))};
            for (int64_t k = 0; k < c->cin; k++) {
                t.taps = w + (c0 + l) * j->w.cout + k * j->w.cin, t.out = to + k * nr + l;
                p->isa->winograd->weights(p->m, &t);
            }
        }
    }
}
static size_t packed_bytes(const plan *p) { return p->panel_bytes * (size_t)(p->points * p->c->groups); }
size_t tc_conv_winograd_packed_bytes(const tc_conv *c, const tc_isa_ops *isa) {
    plan p = start_plan(c, isa, 1);
    return packed_bytes(&p);
}
void tc_conv_winograd_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out) {
    plan p = start_plan(c, isa, 1);
    tc_parallel_for(pool, c->groups * tc_ceil_div(c->cout, isa->gemm_f32->nr), 1, pack_panels, &(packing){&p, w, out});
}

/* ---- tasks ---- */
typedef struct {
    int64_t image, y, x; /* position of its first result */
} tile_place;
static tile_place place_of(const plan *p, int64_t tile) {
    const int64_t i = tile / p->across[1];
    return (tile_place){i / p->across[0], i % p->across[0] * p->m, tile % p->across[1] * p->m};
}
static int64_t shift_of(const tc_conv *c, int d) { return c->adjoint ? 2 - c->pad[d] : c->pad[d]; }
static void input_tiles(const plan *p, int64_t group, int64_t first, int64_t n, float *terms) {
    const tc_conv *c = p->c;
    const int64_t channels = c->groups * c->cin, side = p->m + 2;
    const float *at[36];
    tc_winograd_tile t = {.in = at, .channels = c->cin, .plane = n * c->cin};
    for (int64_t i = 0; i < n; i++) {
        const tile_place f = place_of(p, first + i);
        for (int64_t q = 0; q < p->points; q++) {
            const int64_t y = f.y + q / side - shift_of(c, 1), x = f.x + q % side - shift_of(c, 2);
            const bool inside = y >= 0 && y < c->in[1] && x >= 0 && x < c->in[2];
            at[q] = inside ? p->x + ((f.image * c->in[1] + y) * c->in[2] + x) * channels + group * c->cin : p->zeros;
        }
        t.terms = terms + i * c->cin;
        p->isa->winograd->input(p->m, &t);
    }
}
static void output_tiles(const plan *p, int64_t col, int64_t cols, int64_t first, int64_t n, float *sums) {
    const tc_conv *c = p->c;
    const int64_t channels = c->groups * c->cout;
    int64_t to[16];
    tc_epilogue_plain plain;
    tc_winograd_tile t = {.to = to, .channels = cols, .plane = n * cols, .out = p->out + col, .bias = p->bias ? p->bias + col : NULL};
    t.plain = tc_conv_plain(c, col, (size_t)col * sizeof(float), &plain);
    for (int64_t i = 0; i < n; i++) {
        const tile_place f = place_of(p, first + i);
        for (int q = 0; q < p->m * p->m; q++) {
            const int64_t y = f.y + q / p->m, x = f.x + q % p->m;
            to[q] = y < c->out[1] && x < c->out[2] ? ((f.image * c->out[1] + y) * c->out[2] + x) * channels : -1;
        }
        t.terms = sums + i * cols;
        p->isa->winograd->output(p->m, &t);
    }
}
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    float *terms = (float *)(p->scratch + (size_t)worker * p->per_worker), *sums = terms + p->points * p->rows * c->cin;
    char *work = (char *)terms + tc_pad64((size_t)(p->points * p->rows * (c->cin + p->cols)) * sizeof(float));
    const int64_t ncols = tc_ceil_div(c->cout, p->cols), nrows = tc_ceil_div(p->tiles, p->rows);
    int64_t have = -1; /* rows and group of what is in terms */
    for (int64_t i = begin; i < end; i++) {
        const int64_t c0 = i % ncols * p->cols, nc = tc_min(p->cols, c->cout - c0), row = i / ncols % nrows, g = i / ncols / nrows,
                      r0 = row * p->rows, nr = tc_min(p->rows, p->tiles - r0);
        if (have != i / ncols) input_tiles(p, g, r0, nr, terms);
        have = i / ncols;
        for (int q = 0; q < p->points; q++) {
            const char *panels = p->w + (size_t)(g * p->points + q) * p->panel_bytes;
            tc_gemm j = {.dtype = TC_F32,
                         .m = nr,
                         .n = nc,
                         .k = c->cin,
                         .a = terms + q * nr * c->cin,
                         .a_rs = c->cin,
                         .a_cs = 1,
                         .c = sums + q * nr * nc,
                         .c_rs = nc,
                         .c_cs = 1,
                         .alpha = 1};
            p->isa->gemm_f32->block(&j, 0, nr, 0, nc, work, panels + (size_t)(c0 * c->cin) * sizeof(float), worker);
        }
        output_tiles(p, g * c->cout + c0, nc, r0, nr, sums);
    }
}

/* Elements of an image tensor with `channels` channels a group. */
static int64_t elements(const tc_conv *c, int64_t channels, const int64_t *size) { return c->n * c->groups * channels * tc_conv_volume(size); }
static size_t copy_bytes(int64_t n, bool is_last) { return is_last ? 0 : tc_pad64((size_t)n * sizeof(float)); }
size_t tc_conv_winograd_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed) {
    plan p = start_plan(c, isa, threads);
    return (packed ? 0 : packed_bytes(&p)) + copy_bytes(elements(c, c->cin, c->in), c->in_last) +
           copy_bytes(elements(c, c->cout, c->out), c->out_last) + tc_pad64((size_t)c->cin * sizeof(float)) + p.per_worker * (size_t)threads + 64;
}
void tc_conv_winograd(const tc_conv *c, const tc_conv_arrays *v) {
    char *scratch = tc_align64(v->scratch);
    plan p = start_plan(c, v->isa, tc_pool_threads(v->pool));
    p.w = v->packed, p.bias = v->bias, p.x = v->in, p.out = v->out;
    if (!v->packed) {
        char *here = tc_conv_take(&scratch, packed_bytes(&p));
        tc_conv_winograd_pack(c, v->isa, v->pool, v->w, here);
        p.w = here;
    }
    if (!c->in_last) {
        float *x = tc_conv_take(&scratch, copy_bytes(elements(c, c->cin, c->in), false));
        tc_transpose_batch(v->isa, v->pool, sizeof(float), c->n, c->groups * c->cin, tc_conv_volume(c->in), v->in, x);
        p.x = x;
    }
    if (!c->out_last) p.out = tc_conv_take(&scratch, copy_bytes(elements(c, c->cout, c->out), false));
    p.zeros = memset(tc_conv_take(&scratch, (size_t)c->cin * sizeof(float)), 0, (size_t)c->cin * sizeof(float));
    p.scratch = scratch;
    tc_parallel_for(v->pool, tc_ceil_div(p.tiles, p.rows) * tc_ceil_div(c->cout, p.cols) * c->groups, 1, tasks, &p);
    if (!c->out_last) tc_transpose_batch(v->isa, v->pool, sizeof(float), c->n, tc_conv_volume(c->out), c->groups * c->cout, p.out, v->out);
}
