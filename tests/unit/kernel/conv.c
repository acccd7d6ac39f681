/* Convolutions against tc-numerics(7) written out: order of terms, leaves, absent taps; bits for every instruction set and thread count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernel/conv.h"
#include "kcall.h"

/* A sum over k in order: add() takes every k, present or not. */
typedef struct {
    int64_t k;
    bool any, leaf_any;
    float leaf, level[40];
    uint64_t have;
} chain;
static void close_leaf(chain *c, int64_t index) {
    bool p = c->leaf_any;
    float v = c->leaf;
    int i = 0;
    for (; index >> i & 1; i++) {
        if (!(c->have >> i & 1)) continue;
        v = p ? c->level[i] + v : c->level[i], p = true;
        c->have &= ~(1ull << i);
    }
    if (p) c->level[i] = v, c->have |= 1ull << i;
    c->leaf = 0, c->leaf_any = false;
}
static void term(chain *c, bool present, float a, float b) {
    if (present) c->leaf = fmaf(a, b, c->leaf), c->leaf_any = true;
    if (++c->k % 256 == 0) close_leaf(c, c->k / 256 - 1);
}
static float finish(chain *c) {
    if (c->k % 256) close_leaf(c, c->k / 256);
    bool p = false;
    float v = 0;
    for (int i = 0; i < 40; i++)
        if (c->have >> i & 1) v = p ? c->level[i] + v : c->level[i], p = true;
    return v;
}

typedef struct {
    const char *what;
    int64_t n, c, o, h, w, kh, kw, s, p, d, g, op;
    bool transposed;
} geometry;
static int64_t result(int64_t i, int64_t k, const geometry *g) {
    return g->transposed ? (i - 1) * g->s - 2 * g->p + g->d * (k - 1) + g->op + 1 : (i + 2 * g->p - g->d * (k - 1) - 1) / g->s + 1;
}

/* source(o, t): the input position, or -1 */
static int64_t source(const geometry *g, bool adjoint, int64_t o, int64_t t, int64_t in) {
    int64_t i = adjoint ? o + g->p - t * g->d : o * g->s + t * g->d - g->p;
    if (adjoint && (i < 0 || i % g->s)) return -1;
    if (adjoint) i /= g->s;
    return i >= 0 && i < in ? i : -1;
}
/* out[n, co] += w(co, ci, tap) * in; W indexes the weight by (row, column) of its two channel dimensions as told */
static void correlate(const geometry *g, bool adjoint, const float *x, int64_t c, int64_t h, int64_t w, const float *wt, int64_t d1, bool rows_out,
                      const float *bias, float *out, int64_t co, int64_t oh, int64_t ow) {
    int64_t cg = c / g->g, og = co / g->g, taps = g->kh * g->kw;
    for (int64_t n = 0; n < g->n; n++)
        for (int64_t q = 0; q < co; q++)
            for (int64_t a = 0; a < oh; a++)
                for (int64_t b = 0; b < ow; b++) {
                    chain s = {0};
                    int64_t group = q / og;
                    for (int64_t i = 0; i < g->kh; i++)
                        for (int64_t j = 0; j < g->kw; j++)
                            for (int64_t ch = 0; ch < cg; ch++) {
                                int64_t y = source(g, adjoint, a, i, h), z = source(g, adjoint, b, j, w);
                                int64_t row = rows_out ? q : group * cg + ch, col = rows_out ? ch : q % og;
                                bool present = y >= 0 && z >= 0;
                                term(&s, present, wt[(row * d1 + col) * taps + i * g->kw + j],
                                     present ? x[((n * c + group * cg + ch) * h + y) * w + z] : 0);
                            }
                    float v = finish(&s);
                    out[((n * co + q) * oh + a) * ow + b] = bias ? v + bias[q] : v;
                }
}
/* dw of a plain convolution from (c, h, w) to (co, oh, ow), laid out [co][cg][taps] */
static void weight_grad(const geometry *g, const float *x, int64_t c, int64_t h, int64_t w, const float *dout, int64_t co, int64_t oh, int64_t ow,
                        float *dw) {
    int64_t cg = c / g->g, og = co / g->g;
    for (int64_t q = 0; q < co; q++)
        for (int64_t ch = 0; ch < cg; ch++)
            for (int64_t i = 0; i < g->kh; i++)
                for (int64_t j = 0; j < g->kw; j++) {
                    chain s = {0};
                    for (int64_t n = 0; n < g->n; n++)
                        for (int64_t a = 0; a < oh; a++)
                            for (int64_t b = 0; b < ow; b++) {
                                int64_t y = source(g, false, a, i, h), z = source(g, false, b, j, w);
                                bool present = y >= 0 && z >= 0;
                                term(&s, present, dout[((n * co + q) * oh + a) * ow + b],
                                     present ? x[((n * c + q / og * cg + ch) * h + y) * w + z] : 0);
                            }
                    dw[((q * cg + ch) * g->kh + i) * g->kw + j] = finish(&s);
                }
}

static void same(const geometry *g, const char *part, int row, int threads, const float *want, const tc_tensor *got) {
    const float *f = tc_tensor_data(got);
    int64_t n = 1;
    for (int i = 0; i < got->rank; i++) n *= got->size[i];
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&want[i], &f[i], 4))
            fail_msg("%s, %s, %s, %d threads: element %lld is %a, expected %a", g->what, part, tc_isa_name((tc_isa_row)row), threads, (long long)i,
                     (double)f[i], (double)want[i]);
}

/* The forward with images that lie channels last, on the sides that the kernel takes so. */
static void layouts(const geometry *g, tc_karg *f, const tc_tensor *x, const tc_tensor *y, const float *want, int row, int threads) {
    tc_tensor shape = *y;
    tc_kcall c = {.args = f, .nargs = 9, .outs = &shape, .nouts = 1, .isa = tc_isa_ops_of((tc_isa_row)row)};
    tc_layouts can = tc_k_convolution.layouts(&c);
    for (int l = 1; l < 4; l++) {
        if (can == TC_LAYOUT_PLANES || (can == TC_LAYOUT_SAME && l != 3)) continue;
        tc_tensor in = klayout(x, l & 1), out = klayout(y, l & 2);
        f[0] = karg_t(&in);
        assert_null(krun(&tc_k_convolution, f, 9, &out, 1, (tc_isa_row)row, threads, NULL));
        tc_tensor planes = klayout(&out, false);
        same(g, l == 1 ? "channels last to planes" : l == 2 ? "planes to channels last" : "channels last", row, threads, want, &planes);
        kfree(&in), kfree(&out), kfree(&planes);
    }
    f[0] = karg_t(x);
}

static void check(const geometry *g) {
    int64_t oh = result(g->h, g->kh, g), ow = result(g->w, g->kw, g);
    tc_tensor x = ktensor(TC_F32, 4, (int64_t[]){g->n, g->c, g->h, g->w}), b = ktensor(TC_F32, 1, (int64_t[]){g->o});
    tc_tensor w = ktensor(TC_F32, 4, g->transposed ? (int64_t[]){g->c, g->o / g->g, g->kh, g->kw} : (int64_t[]){g->o, g->c / g->g, g->kh, g->kw});
    tc_tensor y = ktensor(TC_F32, 4, (int64_t[]){g->n, g->o, oh, ow}), dy = ktensor(TC_F32, 4, y.size);
    tc_tensor grads[3] = {ktensor(TC_F32, 4, x.size), ktensor(TC_F32, 4, w.size), ktensor(TC_F32, 1, b.size)};
    float *wy = malloc(y.storage->bytes), *wx = malloc(x.storage->bytes), *ww = malloc(w.storage->bytes);
    int64_t s[2] = {g->s, g->s}, p[2] = {g->p, g->p}, d[2] = {g->d, g->d}, op[2] = {g->op, g->op}, mask[3] = {1, 1, 1};
    const float *xf = x.storage->data, *wf = w.storage->data, *df = dy.storage->data;
    correlate(g, g->transposed, xf, g->c, g->h, g->w, wf, w.size[1], !g->transposed, b.storage->data, wy, g->o, oh, ow);
    correlate(g, !g->transposed, df, g->o, oh, ow, wf, w.size[1], g->transposed, NULL, wx, g->c, g->h, g->w);
    if (g->transposed) weight_grad(g, df, g->o, oh, ow, xf, g->c, g->h, g->w, ww);
    else weight_grad(g, xf, g->c, g->h, g->w, df, g->o, oh, ow, ww);
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (int threads = r == TC_ROW_portable ? 7 : 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_karg f[] = {karg_t(&x),     karg_t(&w),  karg_t(&b), karg_is(s, 2), karg_is(p, 2), karg_is(d, 2), karg_i(g->transposed),
                           karg_is(op, 2), karg_i(g->g)};
            assert_null(krun(&tc_k_convolution, f, 9, &y, 1, (tc_isa_row)r, threads, NULL));
            same(g, "forward", r, threads, wy, &y);
            layouts(g, f, &x, &y, wy, r, threads);
            tc_karg a[] = {karg_t(&dy),           karg_t(&x),     karg_t(&w),   karg_is(b.size, 1), karg_is(s, 2), karg_is(p, 2), karg_is(d, 2),
                           karg_i(g->transposed), karg_is(op, 2), karg_i(g->g), karg_is(mask, 3)};
            assert_null(krun(&tc_k_convolution_backward, a, 11, grads, 3, (tc_isa_row)r, threads, NULL));
            same(g, "input gradient", r, threads, wx, &grads[0]);
            same(g, "weight gradient", r, threads, ww, &grads[1]);
            double sum = 0, got = ((float *)grads[2].storage->data)[g->o - 1];
            for (int64_t n = 0; n < g->n; n++)
                for (int64_t i = 0; i < oh * ow; i++) sum += df[(n * g->o + g->o - 1) * oh * ow + i];
            assert_true(fabs(sum - got) < 1e-3);
        }
    kfree(&x), kfree(&b), kfree(&w), kfree(&y), kfree(&dy), kfree(&grads[0]), kfree(&grads[1]), kfree(&grads[2]);
    free(wy), free(wx), free(ww);
}

static void geometries(void **state) {
    (void)state;
    static const geometry all[] = {{"3x3", 2, 3, 5, 9, 11, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"wide", 2, 40, 20, 7, 6, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"stride", 1, 4, 6, 12, 9, 3, 2, 2, 1, 1, 1, 0, false},
                                   {"dilation", 1, 17, 3, 9, 9, 3, 3, 2, 2, 2, 1, 0, false},
                                   {"groups", 2, 8, 12, 6, 5, 3, 3, 1, 1, 1, 4, 0, false},
                                   {"1x1", 2, 300, 33, 5, 5, 1, 1, 1, 0, 1, 1, 0, false},
                                   {"transposed", 2, 6, 4, 5, 4, 3, 3, 2, 1, 1, 1, 1, true},
                                   {"transposed groups", 1, 36, 4, 5, 4, 4, 3, 3, 1, 2, 2, 0, true},
                                   {"depthwise", 1, 9, 9, 8, 8, 5, 5, 1, 2, 1, 9, 0, false},
                                   {"large taps", 1, 2, 3, 4, 4, 7, 7, 1, 3, 1, 1, 0, false},
                                   {"depthwise stride", 2, 19, 19, 13, 12, 3, 3, 2, 1, 1, 19, 0, false},
                                   {"depthwise dilation", 1, 18, 18, 11, 10, 3, 3, 3, 4, 2, 18, 0, false},
                                   {"depthwise, last pieces of rows that overlap", 1, 17, 17, 9, 17, 3, 3, 1, 1, 1, 17, 0, false},
                                   {"depthwise, pieces of channels", 1, 203, 203, 7, 6, 5, 5, 1, 2, 1, 203, 0, false},
                                   {"depthwise multiplier", 2, 5, 15, 6, 9, 3, 2, 1, 1, 1, 5, 0, false},
                                   {"depthwise transposed", 1, 17, 17, 6, 5, 3, 3, 2, 1, 1, 17, 1, true},
                                   {"depthwise long row", 1, 3, 3, 1, 1400, 1, 9, 1, 4, 1, 3, 0, false},
                                   {"depthwise of many taps", 1, 4, 4, 1, 320, 1, 300, 1, 150, 1, 4, 0, false},
                                   {"groups of many terms", 1, 64, 8, 5, 6, 3, 3, 1, 1, 1, 2, 0, false},
                                   {"gradient in tiles", 2, 18, 35, 20, 17, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"gradient in tiles, stride and dilation", 3, 3, 9, 37, 29, 5, 2, 2, 3, 2, 1, 0, false},
                                   {"gradient in tiles, groups", 1, 34, 40, 24, 23, 1, 1, 1, 0, 1, 2, 0, false},
                                   {"gradient in tiles, transposed", 2, 9, 8, 18, 17, 3, 3, 2, 1, 1, 1, 1, true},
                                   {"tiles and a part of one", 2, 64, 70, 13, 12, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"grouped tiles", 2, 64, 96, 9, 8, 3, 3, 2, 1, 1, 2, 0, false},
                                   {"1x1 of many", 1, 512, 40, 6, 7, 1, 1, 1, 0, 1, 1, 0, false},
                                   {"to one element", 3, 24, 24, 3, 3, 3, 3, 1, 0, 1, 24, 0, false},
                                   {"of one element", 2, 20, 40, 1, 1, 3, 3, 1, 2, 1, 1, 0, false},
                                   {"transposed, leaves without terms", 2, 300, 20, 4, 5, 2, 2, 2, 0, 1, 1, 0, true},
                                   {"transposed, sums of several leaves that meet none", 1, 280, 9, 5, 4, 4, 4, 2, 1, 1, 1, 0, true},
                                   {"transposed, positions without terms", 1, 270, 10, 3, 4, 2, 2, 3, 0, 1, 1, 1, true},
                                   {"tiles of each tap", 2, 256, 40, 7, 6, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"tiles of each tap, their gradient", 1, 20, 256, 7, 9, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"tiles of each tap, groups and strides", 1, 512, 24, 9, 8, 3, 3, 2, 1, 1, 2, 0, false},
                                   {"tiles of each half of a tap, columns of half a tile", 1, 512, 16, 5, 5, 5, 3, 1, 2, 1, 1, 0, false},
                                   {"tiles of each tap, transposed", 1, 256, 20, 5, 4, 4, 4, 2, 1, 1, 1, 0, true},
                                   {"a tap of one leaf, with padding", 1, 256, 20, 4, 4, 1, 1, 1, 1, 1, 1, 0, false},
                                   {"tiles of each tap, positions without terms", 1, 256, 10, 3, 4, 2, 2, 3, 1, 1, 1, 1, true},
                                   {"depthwise, two leaves of gradient", 1, 20, 20, 20, 21, 3, 3, 1, 2, 2, 20, 0, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(&all[i]);
}

static void no_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    (void)ctx, (void)r0, (void)nr, (void)c0, (void)nc, (void)worker;
}
/* What follows a plain epilogue: twice its values, channels last. */
static void doubled(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const tc_tensor *t = ctx;
    float *p = t->storage->data;
    (void)worker;
    for (int64_t r = r0; r < r0 + nr; r++)
        for (int64_t c = c0; c < c0 + nc; c++) p[r * t->size[1] + c] *= 2;
}
/* A plain epilogue is what it says of the results without one, and the rest is done once to each: for tiles of all columns, of half of
 * them and of less, and channel by channel. */
static void plain_epilogue(int64_t channels, int64_t kernel, bool depthwise, int parts, tc_isa_row row, int threads) {
    int64_t s[2] = {1, 1}, p[2] = {kernel / 2, kernel / 2}, none[2] = {0, 0}, size[4] = {2, channels, 9, 13};
    const int64_t cin = depthwise ? channels : channels == 48 ? 256 : 37; /* 256: tiles of each tap */
    tc_tensor planes = ktensor(TC_F32, 4, (int64_t[]){2, cin, 9, 13}),
              w = ktensor(TC_F32, 4, (int64_t[]){channels, depthwise ? 1 : cin, kernel, kernel}), b = ktensor(TC_F32, 1, &channels),
              scale = ktensor(TC_F32, 1, &channels), shift = ktensor(TC_F32, 1, &channels), shape = ktensor(TC_F32, 4, size),
              more = ktensor(TC_F32, 4, size), x = klayout(&planes, true), want = klayout(&shape, true), got = klayout(&shape, true);
    tc_karg f[] = {karg_t(&x),    karg_t(&w),       karg_t(&b),
                   karg_is(s, 2), karg_is(p, 2),    karg_is(s, 2),
                   karg_i(0),     karg_is(none, 2), karg_i(depthwise ? channels : 1)};
    assert_null(krun(&tc_k_convolution, f, 9, &want, 1, row, threads, NULL));
    tc_epilogue_plain plain = {.low = -0.25, .high = parts & 4 ? INFINITY : 0.5};
    if (parts & 1) plain.scale = scale.storage->data, plain.shift = shift.storage->data;
    if (parts & 2) plain.more = more.storage->data;
    const tc_epilogue rest = {doubled, &got, NULL, NULL}, then = {no_region, NULL, &plain, parts & 8 ? &rest : NULL};
    tc_kcall c = {.args = f, .nargs = 9, .outs = &got, .nouts = 1, .epilogue = &then};
    assert_null(krun_call(&tc_k_convolution, c, row, threads));
    const float *y = want.storage->data, *z = got.storage->data, *m = more.storage->data, *sc = scale.storage->data, *sh = shift.storage->data;
    for (int64_t i = 0; i < 2 * channels * 9 * 13; i++) {
        float v = parts & 1 ? fmaf(y[i], sc[i % channels], sh[i % channels]) : y[i];
        v = fminf(fmaxf(parts & 2 ? v + m[i] : v, (float)plain.low), (float)plain.high) * (parts & 8 ? 2 : 1);
        if (v != z[i])
            fail_msg("%d channels, parts %d, %s: element %d is %g, expected %g", (int)channels, parts, tc_isa_name(row), (int)i, (double)z[i],
                     (double)v);
    }
    tc_tensor *all[] = {&planes, &w, &b, &scale, &shift, &shape, &more, &x, &want, &got};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kfree(all[i]);
}
static void epilogues(void **state) {
    (void)state;
    static const int64_t channels[] = {5, 16, 21, 32, 48, 55};
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (size_t i = 0; tc_isa_supported((tc_isa_row)r) && i < sizeof channels / sizeof *channels; i++)
            for (int parts = 0; parts < 16; parts += r == TC_ROW_portable ? 3 : 1) { /* which is slow: fma() is a call there */
                plain_epilogue(channels[i], 1 + 2 * (parts & 1), false, parts, (tc_isa_row)r, 1 + parts % 3);
                if (channels[i] >= 16) plain_epilogue(channels[i], 3, true, parts, (tc_isa_row)r, 1 + parts % 3); /* fewer report no regions */
            }
}
/* The largest difference of strict results from fast ones, by the largest strict one. Fast ones are the same bits for every instruction set,
 * thread count and layout. */
static double fast_error(const tc_kernel *k, tc_karg *args, int nargs, const tc_tensor *out, const tc_epilogue *then) {
    tc_tensor strict = ktensor(TC_F32, out->rank, out->size), first = ktensor(TC_F32, out->rank, out->size);
    const tc_tensor *planes = args[0].tensor;
    double most = 0, size = 0;
    bool any = false;
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    assert_null(krun(k, args, nargs, &strict, 1, best, 1, NULL));
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (int last = 0; last < (k->layouts ? 4 : 1); last += r == TC_ROW_portable ? 3 : 1) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_tensor x = klayout(planes, last & 1), got = klayout(out, last & 2);
            args[0].tensor = &x;
            tc_kcall c = {.args = args, .nargs = nargs, .outs = &got, .nouts = 1, .numerics.fast = true, .epilogue = last & 2 ? then : NULL};
            assert_null(krun_call(k, c, (tc_isa_row)r, 1 + 2 * last));
            args[0].tensor = planes;
            tc_tensor y = klayout(&got, false);
            const float *f = y.storage->data, *s = strict.storage->data;
            for (size_t e = 0; e < y.storage->bytes / 4; e++)
                most = fmax(most, fabs((double)f[e] - (double)s[e])), size = fmax(size, fabs((double)s[e]));
            if (any && memcmp(f, first.storage->data, y.storage->bytes))
                fail_msg("%s, %s, layout %d: other bits", k->name, tc_isa_name((tc_isa_row)r), last);
            memcpy(first.storage->data, f, y.storage->bytes);
            any = true;
            kfree(&x), kfree(&got), kfree(&y);
        }
    kfree(&strict), kfree(&first);
    return most / size;
}
static void fast(void **state) {
    (void)state;
    static const geometry all[] = {{"tiles of 4", 1, 64, 96, 24, 27, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"tiles of 2", 1, 128, 160, 14, 13, 3, 3, 1, 1, 1, 1, 0, false},
                                   {"no padding, several images", 3, 128, 64, 22, 19, 3, 3, 1, 0, 1, 1, 0, false},
                                   {"wide padding", 2, 64, 64, 15, 14, 3, 3, 1, 3, 1, 1, 0, false},
                                   {"groups", 2, 128, 192, 20, 21, 3, 3, 1, 1, 1, 2, 0, false},
                                   {"transposed", 2, 96, 64, 19, 20, 3, 3, 1, 1, 1, 1, 0, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const geometry *g = &all[i];
        const tc_epilogue_plain plain = {.low = -INFINITY, .high = INFINITY};
        const tc_epilogue then = {no_region, NULL, &plain};
        int64_t s[2] = {g->s, g->s}, p[2] = {g->p, g->p}, d[2] = {g->d, g->d}, op[2] = {0, 0}, mask[3] = {1, 0, 0};
        tc_tensor x = ktensor(TC_F32, 4, (int64_t[]){g->n, g->c, g->h, g->w}), b = ktensor(TC_F32, 1, (int64_t[]){g->o});
        tc_tensor w = ktensor(TC_F32, 4, g->transposed ? (int64_t[]){g->c, g->o / g->g, 3, 3} : (int64_t[]){g->o, g->c / g->g, 3, 3});
        tc_tensor y = ktensor(TC_F32, 4, (int64_t[]){g->n, g->o, result(g->h, 3, g), result(g->w, 3, g)});
        tc_karg f[] = {karg_t(&x),     karg_t(&w),  karg_t(&b), karg_is(s, 2), karg_is(p, 2), karg_is(d, 2), karg_i(g->transposed),
                       karg_is(op, 2), karg_i(g->g)};
        double e = fast_error(&tc_k_convolution, f, 9, &y, &then);
        if (!(e > 0 && e < 2e-5)) fail_msg("%s: off by %g", g->what, e);
        tc_karg a[] = {karg_t(&y),     karg_t(&x),    karg_t(&w),      karg_is(b.size, 1),
                       karg_is(s, 2),  karg_is(p, 2), karg_is(d, 2),   karg_i(g->transposed),
                       karg_is(op, 2), karg_i(g->g),  karg_is(mask, 3)};
        e = fast_error(&tc_k_convolution_backward, a, 11, &x, NULL);
        if (!(e > 0 && e < 2e-5)) fail_msg("%s, gradient: off by %g", g->what, e);
        kfree(&x), kfree(&b), kfree(&w), kfree(&y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(geometries), cmocka_unit_test(epilogues), cmocka_unit_test(fast)};
    return cmocka_run_group_tests_name("conv", tests, NULL, NULL);
}
