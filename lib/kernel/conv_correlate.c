/* Convolution and its transpose as a matrix product: rows are output channels, columns output positions, k is (tap, channel).
 *
 *     +---+-------+---+   Positions whose taps fall into the padding lack terms (they are absent, not zero), so positions are
 *     | 0 |   1   | 2 |   put in classes by the taps that they have: corners, edges and the inside here. A class is one product:
 *     +---+-------+---+   its columns share the list of present k, and are addressed by an offset each.
 *     | 3 |   4   | 5 |
 *     +---+-------+---+   From 16 channels on the input is first written channels last: then k runs through memory. */
#include "kernel/conv_plan.h"

enum { CHANNELS_LAST_FROM = 16 };

static size_t elem(const tc_conv *c) { return tc_dtype_size(c->dtype); }

/* ---- classes of one dimension ---- */
typedef struct {
    int32_t *of;
    int64_t *first;
    int32_t count;
} axis; /* class of each o; an o of each class */
static int64_t class_bound(const tc_conv *c, int d) {
    int64_t b = (2 * c->kernel[d] + 1) * (c->adjoint ? c->stride[d] : 1);
    return b < c->out[d] ? b : c->out[d];
}
/* What tells classes apart: the residue modulo the stride (adjoint), the first and the last tap. */
static void taps_of(const tc_conv *c, int d, int64_t o, int64_t *key) {
    key[0] = c->adjoint ? (o + c->pad[d]) % c->stride[d] : 0, key[1] = c->kernel[d], key[2] = -1;
    for (int64_t t = 0; t < c->kernel[d]; t++)
        if (tc_conv_source(c, d, o, t) >= 0) key[1] = key[1] < t ? key[1] : t, key[2] = t;
}
static void classify(const tc_conv *c, int d, axis *a, int64_t (*keys)[3]) {
    a->count = 0;
    for (int64_t o = 0; o < c->out[d]; o++) {
        int64_t key[3];
        taps_of(c, d, o, key);
        int32_t k = o && keys[a->of[o - 1]][0] == key[0] && keys[a->of[o - 1]][1] == key[1] && keys[a->of[o - 1]][2] == key[2] ? a->of[o - 1] : 0;
        while (k < a->count && (keys[k][0] != key[0] || keys[k][1] != key[1] || keys[k][2] != key[2])) k++;
        if (k == a->count) {
            for (int i = 0; i < 3; i++) keys[k][i] = key[i];
            a->first[a->count++] = o;
        }
        a->of[o] = k;
    }
}

/* ---- the whole plan, in scratch ---- */
typedef struct {
    int64_t first, columns;
    int64_t at[3];
    int nseg;
    const tc_gemm_seg *seg;
    const int64_t *b_k;
} class;
typedef struct {
    const tc_conv *c;
    const char *w, *x;
    char *out;
    const void *bias;
    int64_t k, in_step, in_group, *b_col, *c_col;
    class *classes;
    int64_t nclasses;
} plan;

static int64_t residues(const tc_conv *c) { return c->adjoint ? c->stride[0] * c->stride[1] * c->stride[2] : 1; }
static int64_t most_classes(const tc_conv *c) { return class_bound(c, 0) * class_bound(c, 1) * class_bound(c, 2); }

size_t tc_conv_correlate_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    int64_t taps = tc_conv_volume(c->kernel), k = taps * c->cin, columns = c->n * tc_conv_volume(c->out), classes = most_classes(c);
    size_t s = tc_conv_room((size_t)(c->groups * c->cout * k) * elem(c)) + 2 * tc_conv_room((size_t)columns * 8);
    if (c->cin >= CHANNELS_LAST_FROM) s += tc_conv_room((size_t)(c->n * c->groups * c->cin * tc_conv_volume(c->in)) * elem(c));
    s += tc_conv_room((size_t)(residues(c) * k) * 8) + tc_conv_room((size_t)classes * sizeof(class)) +
         tc_conv_room((size_t)(classes * taps) * sizeof(tc_gemm_seg));
    for (int d = 0; d < 3; d++)
        s += tc_conv_room((size_t)c->out[d] * 4) + tc_conv_room((size_t)class_bound(c, d) * 8) + tc_conv_room((size_t)class_bound(c, d) * 24);
    return s + tc_gemm_scratch(isa, c->dtype, c->cout, columns, k, threads) + 256;
}

/* Where an output position starts reading, for taps whose offset is relative to that: o * stride, or o / stride adjoint. */
static int64_t start_of(const tc_conv *c, int d, int64_t o) { return c->adjoint ? (o + c->pad[d]) / c->stride[d] : o * c->stride[d]; }
/* The offset of tap t for positions of the residue of (o + pad): exact wherever the tap is present. */
static int64_t tap_shift(const tc_conv *c, int d, int64_t t, int64_t residue) {
    if (!c->adjoint) return t * c->dil[d] - c->pad[d];
    int64_t v = residue - t * c->dil[d], s = c->stride[d];
    return v >= 0 ? v / s : -((-v + s - 1) / s);
}

static void make_job(void *ctx, int64_t i, tc_gemm *j) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    int64_t g = i % c->groups, size = (int64_t)elem(c), area = tc_conv_volume(c->out);
    const class *k = &p->classes[i / c->groups];
    *j = (tc_gemm){.dtype = c->dtype,
                   .m = c->cout,
                   .n = k->columns,
                   .k = p->k,
                   .a = p->w + g * c->cout * p->k * size,
                   .a_rs = p->k,
                   .a_cs = 1,
                   .b = p->x + g * p->in_group * size,
                   .b_k = k->b_k,
                   .b_col = p->b_col + k->first,
                   .seg = k->seg,
                   .nseg = k->nseg,
                   .c = p->out + g * c->cout * area * size,
                   .c_rs = area,
                   .c_col = p->c_col + k->first,
                   .alpha = 1,
                   .beta = 1};
    if (p->bias) j->add = (const char *)p->bias + g * c->cout * size, j->add_rs = 1;
}

/* Weights of output channels [begin, end), all groups counted, as [co][tap][ci]. */
typedef struct {
    const tc_conv *c;
    const tc_isa_ops *isa;
    tc_conv_weight w;
    char *out;
} reorder;
static void reorder_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const reorder *r = ctx;
    const tc_conv *c = r->c;
    int64_t taps = tc_conv_volume(c->kernel);
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        r->isa->move->transpose[elem(c) == 8 ? 3 : 2](
            r->out + (size_t)(i * taps * c->cin) * elem(c), c->cin,
            (const char *)r->w.data + (size_t)(i / c->cout * r->w.group + i % c->cout * r->w.cout) * elem(c), r->w.cin, c->cin, taps);
}

void tc_conv_correlate(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, tc_conv_weight w, const void *bias,
                       void *out) {
    int64_t taps = tc_conv_volume(c->kernel), area = tc_conv_volume(c->out), inside = tc_conv_volume(c->in), channels = c->groups * c->cin;
    plan p = {.c = c, .out = out, .bias = bias, .k = taps * c->cin, .x = in};
    if (!area || !c->n || !c->cout) return;
    /* weights as [co][tap][ci] */
    char *wt = tc_conv_take(&scratch, (size_t)(c->groups * c->cout * p.k) * elem(c));
    reorder ro = {c, isa, w, wt};
    tc_parallel_for(pool, c->groups * c->cout, 1 + 65536 / (p.k + 1), reorder_rows, &ro);
    p.w = wt;
    bool last = c->cin >= CHANNELS_LAST_FROM;
    if (last) {
        char *x = tc_conv_take(&scratch, (size_t)(c->n * channels * inside) * elem(c));
        tc_conv_channels_last(isa, pool, elem(c), c->n, channels, inside, in, x);
        p.x = x;
    }
    p.in_step = last ? channels : 1, p.in_group = last ? c->cin : c->cin * inside;

    /* classes, and their columns */
    axis ax[3];
    for (int d = 0; d < 3; d++) {
        ax[d].of = tc_conv_take(&scratch, (size_t)c->out[d] * 4), ax[d].first = tc_conv_take(&scratch, (size_t)class_bound(c, d) * 8);
        classify(c, d, &ax[d], tc_conv_take(&scratch, (size_t)class_bound(c, d) * 24));
    }
    p.b_col = tc_conv_take(&scratch, (size_t)(c->n * area) * 8), p.c_col = tc_conv_take(&scratch, (size_t)(c->n * area) * 8);
    p.classes = tc_conv_take(&scratch, (size_t)most_classes(c) * sizeof(class));
    tc_gemm_seg *seg = tc_conv_take(&scratch, (size_t)(most_classes(c) * taps) * sizeof(tc_gemm_seg));
    int64_t *b_k = tc_conv_take(&scratch, (size_t)(residues(c) * p.k) * 8);
    for (int64_t r = 0; r < residues(c); r++) {
        int64_t r2 = c->adjoint ? r % c->stride[2] : 0, r1 = c->adjoint ? r / c->stride[2] % c->stride[1] : 0,
                r0 = c->adjoint ? r / c->stride[2] / c->stride[1] : 0;
        for (int64_t t = 0; t < taps; t++) {
            int64_t t2 = t % c->kernel[2], t1 = t / c->kernel[2] % c->kernel[1], t0 = t / c->kernel[2] / c->kernel[1];
            int64_t shift = ((tap_shift(c, 0, t0, r0) * c->in[1] + tap_shift(c, 1, t1, r1)) * c->in[2] + tap_shift(c, 2, t2, r2)) * p.in_step;
            for (int64_t i = 0; i < c->cin; i++) b_k[(r * taps + t) * c->cin + i] = shift + i * (last ? 1 : inside);
        }
    }
    int64_t column = 0;
    for (int32_t k0 = 0; k0 < ax[0].count; k0++)
        for (int32_t k1 = 0; k1 < ax[1].count; k1++)
            for (int32_t k2 = 0; k2 < ax[2].count; k2++) {
                class *k = &p.classes[p.nclasses++];
                int64_t o[3] = {ax[0].first[k0], ax[1].first[k1], ax[2].first[k2]};
                *k = (class){.first = column, .seg = seg};
                for (int64_t t = 0; t < taps; t++) {
                    int64_t t2 = t % c->kernel[2], t1 = t / c->kernel[2] % c->kernel[1], t0 = t / c->kernel[2] / c->kernel[1];
                    if (tc_conv_source(c, 0, o[0], t0) < 0 || tc_conv_source(c, 1, o[1], t1) < 0 || tc_conv_source(c, 2, o[2], t2) < 0) continue;
                    if (k->nseg && seg[k->nseg - 1].k + seg[k->nseg - 1].n == t * c->cin) seg[k->nseg - 1].n += c->cin;
                    else seg[k->nseg++] = (tc_gemm_seg){t * c->cin, c->cin};
                }
                seg += k->nseg;
                int64_t r = !c->adjoint ? 0
                                        : (((o[0] + c->pad[0]) % c->stride[0]) * c->stride[1] + (o[1] + c->pad[1]) % c->stride[1]) * c->stride[2] +
                                              (o[2] + c->pad[2]) % c->stride[2];
                k->b_k = b_k + r * p.k;
                for (int64_t n = 0; n < c->n; n++)
                    for (int64_t o0 = o[0]; o0 < c->out[0]; o0++)
                        for (int64_t o1 = o[1]; ax[0].of[o0] == k0 && o1 < c->out[1]; o1++)
                            for (int64_t o2 = o[2]; ax[1].of[o1] == k1 && o2 < c->out[2]; o2++) {
                                if (ax[2].of[o2] != k2) continue;
                                p.b_col[column] = n * channels * inside +
                                                  ((start_of(c, 0, o0) * c->in[1] + start_of(c, 1, o1)) * c->in[2] + start_of(c, 2, o2)) * p.in_step;
                                p.c_col[column++] = n * c->groups * c->cout * area + (o0 * c->out[1] + o1) * c->out[2] + o2;
                            }
                k->columns = column - k->first;
                if (k->columns > p.classes[0].columns) {
                    class t = *k;
                    *k = p.classes[0], p.classes[0] = t;
                }
            }
    tc_gemm_run(isa, pool, scratch, p.nclasses * c->groups, make_job, &p);
}

/* ---- layout ---- */
typedef struct {
    const tc_isa_ops *isa;
    size_t elem;
    int64_t c, s;
    const char *in;
    char *out;
} relayout;
static void relayout_images(void *ctx, int64_t begin, int64_t end, int worker) {
    const relayout *r = ctx;
    (void)worker;
    int64_t strips = (r->s + 63) / 64;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i / strips, s0 = i % strips * 64, w = r->s - s0 < 64 ? r->s - s0 : 64;
        r->isa->move->transpose[r->elem == 8 ? 3 : 2](r->out + (size_t)((n * r->s + s0) * r->c) * r->elem, r->c,
                                                      r->in + (size_t)(n * r->c * r->s + s0) * r->elem, r->s, r->c, w);
    }
}
void tc_conv_channels_last(const tc_isa_ops *isa, tc_pool *pool, size_t size, int64_t n, int64_t c, int64_t s, const void *in, void *out) {
    relayout r = {isa, size, c, s, in, out};
    tc_parallel_for(pool, n * ((s + 63) / 64), 4, relayout_images, &r);
}
