/* Weight gradient in register tiles: for one tap, rows are input channels, columns a panel of output channels, k the output positions of all images.
 *
 *     task: a panel of output channels x some units; a unit is a tile of input channels and a tap
 *       for each leaf of 256 positions:    dout transposed to [position][nr] (L1)
 *         for each unit:                   a tile (conv_grad_tile.h): x is read in place, in ranges of positions where the tap is present
 *
 * A leaf in which the tap is never present counts as -0, which changes no sum. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_isa.h"
#include "kernel/conv_plan.h"
#include "kernel/tree.h"

enum { TASK_ROWS = 288, MAX_LEVELS = 48, MAX_NR = 32 };

/* Few output channels leave a panel mostly empty; fewer than 512 positions do not repay transposing and storing (measured). */
bool tc_conv_grad_by_tiles(const tc_conv *c) { return (c->cout >= 8 || c->cout >= c->cin) && c->n * tc_conv_volume(c->out) >= 512; }

typedef struct {
    const tc_conv *c;
    const tc_conv_ops *o;
    const char *x, *dout;
    char *dw, *scratch;
    tc_conv_weight strides;
    int64_t area, inside, taps, k, leaves;
    int64_t tiles, units, per_task, panels,
        chunks;       /* tiles of input channels; units: taps * tiles; units of a task; panels of a group; tasks of a panel */
    int levels, most; /* levels of the tree; ranges of a tap in a leaf, at most */
    size_t per_worker, tile_bytes;
} plan;

static plan make_plan(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    plan p = {
        .c = c, .o = tc_conv_ops_of(c, isa), .area = tc_conv_volume(c->out), .inside = tc_conv_volume(c->in), .taps = tc_conv_volume(c->kernel)};
    p.k = c->n * p.area, p.leaves = tc_ceil_div(p.k, TC_LEAF);
    for (int64_t l = p.leaves; l > 1; l = (l + 1) / 2) p.levels++;
    p.tiles = tc_ceil_div(c->cin, p.o->mr), p.units = p.taps * p.tiles, p.panels = tc_ceil_div(c->cout, p.o->nr),
    p.most = (int)((TC_LEAF - 1) / (c->out[2] ? c->out[2] : 1) + 2);
    p.per_task = tc_min(p.units, 1 + TASK_ROWS / (tc_ceil_div(c->cin, p.tiles ? p.tiles : 1) + 1));
    int64_t want = threads > 1 ? 4 * (int64_t)threads : 1;
    if (c->groups * p.panels * tc_ceil_div(p.units, p.per_task) < want) p.per_task = tc_ceil_div(p.units, tc_ceil_div(want, c->groups * p.panels));
    p.chunks = p.per_task ? tc_ceil_div(p.units, p.per_task) : 0;
    p.tile_bytes = (size_t)(p.o->mr * p.o->nr) * tc_conv_elem(c);
    p.per_worker = tc_pad64((size_t)(TC_LEAF * p.o->nr) * tc_conv_elem(c)) + tc_pad64((size_t)(p.taps * p.most) * sizeof(tc_conv_grad_segment)) +
                   tc_pad64((size_t)p.taps * sizeof(int)) + tc_pad64(p.tile_bytes * (size_t)(p.per_task * (p.levels + 1))) +
                   tc_pad64((size_t)p.per_task);
    return p;
}

/* Output positions [*b, *e) of dimension d at which tap t reads inside the image. */
static void present(const tc_conv *c, int d, int64_t t, int64_t *b, int64_t *e) {
    int64_t shift = t * c->dil[d] - c->pad[d], s = c->stride[d];
    *b = shift >= 0 ? 0 : tc_ceil_div(-shift, s);
    *e = c->in[d] > shift ? tc_min(c->out[d], tc_ceil_div(c->in[d] - shift, s)) : 0;
    if (*e < *b) *e = *b;
}
/* The positions of leaf [k0, k1) where the tap is present, as ranges within rows. Returns how many ranges. */
static int ranges(const plan *p, int64_t tap, int64_t k0, int64_t k1, tc_conv_grad_segment *out) {
    const tc_conv *c = p->c;
    int64_t t[3] = {tap / c->kernel[2] / c->kernel[1], tap / c->kernel[2] % c->kernel[1], tap % c->kernel[2]}, b[3], e[3], shift[3];
    int n = 0;
    for (int d = 0; d < 3; d++) present(c, d, t[d], &b[d], &e[d]), shift[d] = t[d] * c->dil[d] - c->pad[d];
    for (int64_t k = k0; k < k1;) {
        int64_t row = k / c->out[2], o2 = k - row * c->out[2], end = tc_min(c->out[2], o2 + k1 - k);
        int64_t o1 = row % c->out[1], o0 = row / c->out[1] % c->out[0], image = row / c->out[1] / c->out[0];
        int64_t first = o2 > b[2] ? o2 : b[2], last = end < e[2] ? end : e[2];
        if (o0 >= b[0] && o0 < e[0] && o1 >= b[1] && o1 < e[1] && first < last) {
            int64_t i0 = o0 * c->stride[0] + shift[0], i1 = o1 * c->stride[1] + shift[1];
            tc_conv_grad_segment s = {image * c->groups * c->cin * p->inside + (i0 * c->in[1] + i1) * c->in[2] + first * c->stride[2] + shift[2],
                                      k - k0 + first - o2, last - first};
            tc_conv_grad_segment *l = n ? &out[n - 1] : NULL;
            if (l && l->k + l->n == s.k && l->at + l->n * c->stride[2] == s.at) l->n += s.n;
            else out[n++] = s;
        }
        k += end - o2;
    }
    return n;
}
/* Transposes dout of leaf [k0, k1) for the panel at channel c0 to out, [position][nr]; missing channels repeat the last one. */
static void transpose_leaf(const plan *p, int64_t g, int64_t c0, int64_t k0, int64_t k1, char *out) {
    const tc_conv *c = p->c;
    const void *planes[MAX_NR];
    for (int64_t k = k0; k < k1;) {
        int64_t image = k / p->area, at = k - image * p->area, n = tc_min(p->area - at, k1 - k);
        for (int i = 0; i < p->o->nr; i++)
            planes[i] = p->dout + (size_t)((image * c->groups * c->cout + g * c->cout + tc_min(c0 + i, c->cout - 1)) * p->area) * tc_conv_elem(c);
        p->o->grad_transpose(out + (size_t)((k - k0) * p->o->nr) * tc_conv_elem(c), planes, at, n);
        k += n;
    }
}
/* Stores column i of unit u's tile to dw; first: offset of that output channel. A tap that is never present (any is false) gives 0. */
static void store(const plan *p, int64_t first, int64_t u, const char *tile, int64_t i, bool any) {
    const tc_conv *c = p->c;
    int64_t t = u / p->taps, a = t * c->cin / p->tiles, z = (t + 1) * c->cin / p->tiles, step = p->strides.cin, nr = p->o->nr;
    first += a * step + u % p->taps;
    if (tc_conv_elem(c) == 4)
        for (int64_t r = 0; r < z - a; r++) ((float *)p->dw)[first + r * step] = any ? ((const float *)tile)[r * nr + i] : 0;
    else
        for (int64_t r = 0; r < z - a; r++) ((double *)p->dw)[first + r * step] = any ? ((const double *)tile)[r * nr + i] : 0;
}
typedef struct {
    char *dout, *tiles;             /* tiles: [level][unit] */
    tc_conv_grad_segment *segments; /* [tap][most], of the leaf */
    int *nsegments;
    uint8_t *any; /* [unit]: its tap was present at some position */
} buffers;
/* What a task computes: units [u0, u1) of group g for the panel of output channels at c0. */
typedef struct {
    int64_t g, c0, u0, u1;
} unit_range;
/* Sums one leaf, merges it with earlier partial sums, lower levels first, and stores to out. */
static void one_leaf(const plan *p, const buffers *m, const unit_range *of, int64_t leaf, char *const *earlier, int nearlier, char *out) {
    const tc_conv *c = p->c;
    int64_t k0 = leaf * TC_LEAF, k1 = tc_min(p->k, k0 + TC_LEAF), u0 = of->u0, u1 = of->u1;
    const void *with[MAX_LEVELS];
    for (int64_t u = u0; u < u1 && u < u0 + p->taps; u++)
        m->nsegments[u % p->taps] = ranges(p, u % p->taps, k0, k1, m->segments + u % p->taps * p->most);
    for (int64_t u = u0; u < u1; u++) {
        int64_t tap = u % p->taps, i = u / p->taps, a = i * c->cin / p->tiles, z = (i + 1) * c->cin / p->tiles;
        for (int l = 0; l < nearlier; l++) with[l] = earlier[l] + (size_t)(u - u0) * p->tile_bytes;
        m->any[u - u0] |= m->nsegments[tap] > 0;
        tc_conv_grad_tile t = {.x = p->x + (size_t)((of->g * c->cin + a) * p->inside) * tc_conv_elem(c),
                               .dout = m->dout,
                               .plane = p->inside,
                               .step = c->stride[2],
                               .segments = m->segments + tap * p->most,
                               .nsegments = m->nsegments[tap],
                               .rows = (int)(z - a),
                               .level = with,
                               .nlevels = nearlier,
                               .out = out + (size_t)(u - u0) * p->tile_bytes};
        p->o->grad_tile(&t);
    }
}
static void tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    char *at = p->scratch + (size_t)worker * p->per_worker;
    buffers m = {.dout = tc_conv_take(&at, (size_t)(TC_LEAF * p->o->nr) * tc_conv_elem(c)),
                 .segments = tc_conv_take(&at, (size_t)(p->taps * p->most) * sizeof(tc_conv_grad_segment))};
    m.nsegments = tc_conv_take(&at, (size_t)p->taps * sizeof(int));
    m.tiles = tc_conv_take(&at, p->tile_bytes * (size_t)(p->per_task * (p->levels + 1))), m.any = tc_conv_take(&at, (size_t)p->per_task);
    for (int64_t task = begin; task < end; task++) {
        const int64_t u0 = task % p->chunks * p->per_task, panel = task / p->chunks;
        const unit_range of = {panel / p->panels, panel % p->panels * p->o->nr, u0, tc_min(p->units, u0 + p->per_task)};
        char *level[MAX_LEVELS], *unused[MAX_LEVELS], *earlier[MAX_LEVELS], *out = NULL;
        int free_count = p->levels + 1;
        int64_t have = 0;
        for (int i = 0; i < free_count; i++) unused[i] = m.tiles + (size_t)i * (size_t)p->per_task * p->tile_bytes;
        memset(m.any, 0, (size_t)p->per_task);
        for (int64_t l = 0; l < p->leaves; l++) {
            int merged[MAX_LEVELS], nm = 0, top = 0;
            bool last = l == p->leaves - 1;
            if (last) {
                for (int i = 0; l >> i; i++)
                    if (l >> i & 1 && have >> i & 1) merged[nm++] = i;
            } else
                for (; l >> top & 1; top++) merged[nm++] = top;
            out = unused[--free_count];
            for (int i = 0; i < nm; i++) earlier[i] = level[merged[i]];
            transpose_leaf(p, of.g, of.c0, l * TC_LEAF, tc_min(p->k, (l + 1) * TC_LEAF), m.dout);
            one_leaf(p, &m, &of, l, earlier, nm, out);
            for (int i = 0; i < nm; i++) have &= ~((int64_t)1 << merged[i]), unused[free_count++] = earlier[i];
            level[top] = out, have |= (int64_t)1 << top;
        }
        for (int64_t i = 0; i < p->o->nr && of.c0 + i < c->cout; i++)
            for (int64_t u = u0; u < of.u1; u++)
                store(p, of.g * p->strides.group + (of.c0 + i) * p->strides.cout, u, out ? out + (size_t)(u - u0) * p->tile_bytes : NULL, i,
                      out && m.any[u - u0]);
    }
}

size_t tc_conv_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    return make_plan(c, isa, threads).per_worker * (size_t)threads + 64;
}
void tc_conv_grad(const tc_conv *c, const tc_conv_grad_arrays *v) {
    plan p = make_plan(c, v->isa, tc_pool_threads(v->pool));
    p.x = v->in, p.dout = v->dout, p.dw = v->dw, p.strides = v->strides;
    p.scratch = tc_align64(v->scratch);
    tc_parallel_for(v->pool, c->groups * p.panels * p.chunks, 1, tasks, &p);
}
