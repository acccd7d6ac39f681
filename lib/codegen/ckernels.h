/* Kernels (matrix product, convolution, attention, copies, control flow) as portable C, for programs written as one C unit (--to c). Same bits as
 * lib/kernel: sums in the orders of tc-numerics(7). A normal header, so that tests can include it; codegen/paste.c pastes into each unit the
 * definitions that it uses. Included at the end of prelude.h, whose leaves it calls. */
#ifndef TC_CODEGEN_CKERNELS_H
#define TC_CODEGEN_CKERNELS_H

#include <stdint.h>

/* The caller's threads, as the emitted header's STEM_threads passes them; parallel_for NULL: serial. */
typedef void (*tc_c_range)(void *ctx, int64_t begin, int64_t end, int worker);
typedef struct {
    int workers;
    void (*parallel_for)(void *pool, int64_t count, int64_t grain, tc_c_range fn, void *ctx);
    void *pool;
} tc_c_threads;
/* Runs fn over `items` of about `each` operations, in parallel where that is enough work for two workers. */
static inline void tc_c_split(const tc_c_threads *t, int64_t items, int64_t each, tc_c_range fn, const void *ctx) {
    const int64_t grain = each >= 32768 ? 1 : 32768 / (each > 0 ? each : 1);
    if (t->parallel_for && items > grain) t->parallel_for(t->pool, items, grain, fn, (void *)(uintptr_t)ctx);
    else if (items > 0) fn((void *)(uintptr_t)ctx, 0, items, 0);
}

/* c[b, i, j] = alpha * sum over k of a[b, i, k] b[b, k, j] + beta * add[b, i, j]; strides in elements, c contiguous. Leaf l is an ascending
 * chain of fused multiply-adds over k in [256 l, 256 l + 256); leaves merge by the tree. */
typedef struct {
    int64_t batch, m, n, k, a_bs, a_rs, a_cs, b_bs, b_rs, b_cs, add_bs, add_rs, add_cs;
    double alpha, beta;
} tc_c_product;
static inline int64_t tc_c_tiles(const tc_c_product *p) { return p->batch * ((p->m + 7) / 8) * ((p->n + 31) / 32); }
#define ROW(S, T, F)                                                                                                                       \
    static inline void tc_c_tiles_##S(const tc_c_product *p, const T *a0, const T *b0, const T *add0, T *c0, int64_t begin, int64_t end) { \
        T level[8][24][32], panel[256][32], acc[32];                                                                                       \
        const T alpha = (T)p->alpha, beta = (T)p->beta;                                                                                    \
        const int64_t down = (p->m + 7) / 8, across = (p->n + 31) / 32;                                                                    \
        for (int64_t tile = begin; tile < end; tile++) {                                                                                   \
            const int64_t i0 = tile % down * 8, j0 = tile / down % across * 32, z = tile / down / across;                                  \
            const T *const a = a0 + z * p->a_bs, *const b = b0 + z * p->b_bs, *const add = add0 ? add0 + z * p->add_bs : add0;             \
            T *const c = c0 + z * p->m * p->n;                                                                                             \
            const int64_t w = p->n - j0 < 32 ? p->n - j0 : 32, h = p->m - i0 < 8 ? p->m - i0 : 8;                                          \
            int64_t leaves = 0;                                                                                                            \
            for (int64_t k0 = 0; k0 < p->k; k0 += 256, leaves++) {                                                                         \
                const int64_t d = p->k - k0 < 256 ? p->k - k0 : 256;                                                                       \
                for (int64_t k = 0; k < d; k++)                                                                                            \
                    for (int64_t j = 0; j < 32; j++) panel[k][j] = j < w ? b[(k0 + k) * p->b_rs + (j0 + j) * p->b_cs] : 0;                 \
                for (int64_t i = 0; i < h; i++) {                                                                                          \
                    for (int j = 0; j < 32; j++) acc[j] = 0;                                                                               \
                    for (int64_t k = 0; k < d; k++) {                                                                                      \
                        const T x = a[(i0 + i) * p->a_rs + (k0 + k) * p->a_cs];                                                            \
                        for (int j = 0; j < 32; j++) acc[j] = __builtin_fma##F(x, panel[k][j], acc[j]);                                    \
                    }                                                                                                                      \
                    int t = 0;                                                                                                             \
                    for (; leaves >> t & 1; t++)                                                                                           \
                        for (int j = 0; j < 32; j++) acc[j] = level[i][t][j] + acc[j];                                                     \
                    for (int j = 0; j < 32; j++) level[i][t][j] = acc[j];                                                                  \
                }                                                                                                                          \
            }                                                                                                                              \
            for (int64_t i = 0; i < h; i++) {                                                                                              \
                int first = 1;                                                                                                             \
                for (int j = 0; j < 32; j++) acc[j] = 0;                                                                                   \
                for (int t = 0; leaves >> t; t++) {                                                                                        \
                    if (!(leaves >> t & 1)) continue;                                                                                      \
                    for (int j = 0; j < 32; j++) acc[j] = first ? level[i][t][j] : level[i][t][j] + acc[j];                                \
                    first = 0;                                                                                                             \
                }                                                                                                                          \
                for (int64_t j = 0; j < w; j++) {                                                                                          \
                    T v = alpha == 1 ? acc[j] : acc[j] * alpha;                                                                            \
                    if (add) v = __builtin_fma##F(beta, add[(i0 + i) * p->add_rs + (j0 + j) * p->add_cs], v);                              \
                    c[(i0 + i) * p->n + j0 + j] = v;                                                                                       \
                }                                                                                                                          \
            }                                                                                                                              \
        }                                                                                                                                  \
    }                                                                                                                                      \
    static inline void tc_c_product_##S(const tc_c_product *p, const T *a, const T *b, const T *add, T *c) {                               \
        tc_c_tiles_##S(p, a, b, add, c, 0, tc_c_tiles(p));                                                                                 \
    }                                                                                                                                      \
    typedef struct {                                                                                                                       \
        const tc_c_product *p;                                                                                                             \
        const T *a, *b, *add;                                                                                                              \
        T *c;                                                                                                                              \
    } tc_c_product_call_##S;                                                                                                               \
    static inline void tc_c_product_range_##S(void *ctx, int64_t begin, int64_t end, int worker) {                                         \
        const tc_c_product_call_##S *k = (const tc_c_product_call_##S *)ctx;                                                               \
        (void)worker;                                                                                                                      \
        tc_c_tiles_##S(k->p, k->a, k->b, k->add, k->c, begin, end);                                                                        \
    }
ROW(f32, float, f)
ROW(f64, double, )
#undef ROW

/* out[n, co, o] = bias[co] + sum over taps, then input channels, of w[co, ci, tap] * x[n, ci, i(o, tap)]; i as a convolution has it, or as
 * its transpose (adjoint). Taps that fall into the padding are absent from the chain, leaves without any from the tree. */
typedef struct {
    int64_t n, groups, cin, cout, in[3], out[3], kernel[3], stride[3], pad[3], dil[3], w_group, w_cout, w_cin;
    int32_t adjoint;
} tc_c_conv;
static inline int64_t tc_c_source(const tc_c_conv *c, int d, int64_t o, int64_t t) {
    int64_t i = c->adjoint ? o + c->pad[d] - t * c->dil[d] : o * c->stride[d] + t * c->dil[d] - c->pad[d];
    if (c->adjoint) {
        if (i < 0 || i % c->stride[d]) return -1;
        i /= c->stride[d];
    }
    return i >= 0 && i < c->in[d] ? i : -1;
}
/* Leaves by index, some absent; leaf[0] is the sum of all. */
#define ROW(S, T)                                                                                                        \
    static inline void tc_c_merge_##S(T(*leaf)[16], uint8_t *there, int64_t n) {                                         \
        for (int64_t step = 1; step < n; step *= 2)                                                                      \
            for (int64_t i = 0; i + step < n; i += 2 * step) {                                                           \
                if (!there[i + step]) continue;                                                                          \
                for (int j = 0; j < 16; j++) leaf[i][j] = there[i] ? leaf[i][j] + leaf[i + step][j] : leaf[i + step][j]; \
                there[i] = 1;                                                                                            \
            }                                                                                                            \
        for (int j = 0; j < 16 && !there[0]; j++) leaf[0][j] = 0;                                                        \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW
enum { TC_C_LEAVES = 512 };
#define ROW(S, T, F)                                                                                                                         \
    typedef struct {                                                                                                                         \
        const tc_c_conv *c;                                                                                                                  \
        const T *x, *w, *bias;                                                                                                               \
        T *out;                                                                                                                              \
    } tc_c_conv_call_##S;                                                                                                                    \
    static inline void tc_c_conv_range_##S(void *ctx, int64_t begin, int64_t end, int worker) {                                              \
        const tc_c_conv_call_##S *k = (const tc_c_conv_call_##S *)ctx;                                                                       \
        const tc_c_conv *const c = k->c;                                                                                                     \
        const T *const x = k->x, *const w = k->w, *const bias = k->bias;                                                                     \
        T *const out = k->out;                                                                                                               \
        (void)worker;                                                                                                                        \
        const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], area = c->in[0] * c->in[1] * c->in[2];                              \
        const int64_t outs = c->out[0] * c->out[1] * c->out[2], leaves = (taps * c->cin + 255) / 256;                                        \
        T leaf[TC_C_LEAVES][16];                                                                                                             \
        uint8_t there[TC_C_LEAVES];                                                                                                          \
        for (int64_t at = begin; at < end; at++) { /* one position of one image and group */                                                 \
            const int64_t ng = at / outs, o = at % outs;                                                                                     \
            for (int64_t c0 = 0; c0 < c->cout; c0 += 16) {                                                                                   \
                const int64_t g = ng % c->groups, m = c->cout - c0 < 16 ? c->cout - c0 : 16;                                                 \
                const int64_t o0 = o / (c->out[1] * c->out[2]), o1 = o / c->out[2] % c->out[1], o2 = o % c->out[2];                          \
                const T *const wg = w + g * c->w_group + c0 * c->w_cout;                                                                     \
                for (int64_t l = 0; l < leaves; l++) there[l] = 0;                                                                           \
                for (int64_t t = 0; t < taps; t++) {                                                                                         \
                    const int64_t i0 = tc_c_source(c, 0, o0, t / (c->kernel[1] * c->kernel[2]));                                             \
                    const int64_t i1 = tc_c_source(c, 1, o1, t / c->kernel[2] % c->kernel[1]), i2 = tc_c_source(c, 2, o2, t % c->kernel[2]); \
                    if (i0 < 0 || i1 < 0 || i2 < 0) continue;                                                                                \
                    const T *const xs = x + ng * c->cin * area + (i0 * c->in[1] + i1) * c->in[2] + i2;                                       \
                    for (int64_t ci = 0; ci < c->cin; ci++) {                                                                                \
                        const int64_t l = (t * c->cin + ci) >> 8;                                                                            \
                        for (int j = 0; j < 16 && !there[l]; j++) leaf[l][j] = 0;                                                            \
                        there[l] = 1;                                                                                                        \
                        for (int64_t j = 0; j < m; j++)                                                                                      \
                            leaf[l][j] = __builtin_fma##F(wg[j * c->w_cout + ci * c->w_cin + t], xs[ci * area], leaf[l][j]);                 \
                    }                                                                                                                        \
                }                                                                                                                            \
                tc_c_merge_##S(leaf, there, leaves);                                                                                         \
                for (int64_t j = 0; j < m; j++)                                                                                              \
                    out[(ng * c->cout + c0 + j) * outs + o] = leaves ? bias ? leaf[0][j] + bias[g * c->cout + c0 + j] : leaf[0][j]           \
                                                              : bias ? bias[g * c->cout + c0 + j]                                            \
                                                                     : 0;                                                                    \
            }                                                                                                                                \
        }                                                                                                                                    \
    }
ROW(f32, float, f)
ROW(f64, double, )
#undef ROW

/* Leaf number l of a sum whose leaves may be absent (any: it is there) among those that stand, by the bits of their numbers, in level. */
#define ROW(S, T)                                                                                             \
    static inline void tc_c_push_##S(T(*level)[16], uint64_t *have, int64_t l, T *acc, int any) {             \
        int t = 0;                                                                                            \
        for (; l >> t & 1; t++) {                                                                             \
            for (int j = 0; j < 16 && *have >> t & 1; j++) acc[j] = any ? level[t][j] + acc[j] : level[t][j]; \
            any |= *have >> t & 1;                                                                            \
        }                                                                                                     \
        for (int j = 0; j < 16; j++) level[t][j] = acc[j];                                                    \
        *have = (*have >> t & ~UINT64_C(1)) << t | (uint64_t)any << t;                                        \
    }                                                                                                         \
    static inline void tc_c_total_##S(T(*level)[16], uint64_t have, T *acc) {                                 \
        int any = 0;                                                                                          \
        for (int j = 0; j < 16; j++) acc[j] = 0;                                                              \
        for (int t = 0; have >> t; t++) {                                                                     \
            for (int j = 0; j < 16 && have >> t & 1; j++) acc[j] = any ? level[t][j] + acc[j] : level[t][j];  \
            any |= have >> t & 1;                                                                             \
        }                                                                                                     \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW

/* The gradient of a convolution's weight: dw[co, ci, tap] = sum over n, then output positions, of dout[n, co, o] * x[n, ci, i(o, tap)], in
 * leaves of 256 positions; that of its bias: the sum of dout over n, then positions. */
#define ROW(S, T, F)                                                                                                                      \
    typedef struct {                                                                                                                      \
        const tc_c_conv *c;                                                                                                               \
        const T *x, *dout;                                                                                                                \
        T *dw;                                                                                                                            \
    } tc_c_conv_weight_call_##S;                                                                                                          \
    static inline void tc_c_conv_weight_range_##S(void *ctx, int64_t begin, int64_t end, int worker) {                                    \
        const tc_c_conv_weight_call_##S *k = (const tc_c_conv_weight_call_##S *)ctx;                                                      \
        const tc_c_conv *const c = k->c;                                                                                                  \
        (void)worker;                                                                                                                     \
        const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], area = c->in[0] * c->in[1] * c->in[2];                           \
        const int64_t outs = c->out[0] * c->out[1] * c->out[2], all = c->n * outs, blocks = (c->cout + 15) / 16;                          \
        T level[56][16], acc[16];                                                                                                         \
        for (int64_t at = begin; at < end; at++) { /* 16 output channels of one tap, input channel and group */                           \
            const int64_t t = at % taps, ci = at / taps % c->cin, c0 = at / taps / c->cin % blocks * 16, g = at / taps / c->cin / blocks; \
            const int64_t m = c->cout - c0 < 16 ? c->cout - c0 : 16;                                                                      \
            const int64_t t0 = t / (c->kernel[1] * c->kernel[2]), t1 = t / c->kernel[2] % c->kernel[1], t2 = t % c->kernel[2];            \
            uint64_t have = 0;                                                                                                            \
            for (int64_t l = 0; l * 256 < all; l++) {                                                                                     \
                int any = 0;                                                                                                              \
                for (int j = 0; j < 16; j++) acc[j] = 0;                                                                                  \
                for (int64_t p = l * 256; p < all && p < l * 256 + 256; p++) {                                                            \
                    const int64_t ng = p / outs * c->groups + g, o = p % outs;                                                            \
                    const int64_t i0 = tc_c_source(c, 0, o / (c->out[1] * c->out[2]), t0);                                                \
                    const int64_t i1 = tc_c_source(c, 1, o / c->out[2] % c->out[1], t1), i2 = tc_c_source(c, 2, o % c->out[2], t2);       \
                    if (i0 < 0 || i1 < 0 || i2 < 0) continue;                                                                             \
                    const T x = k->x[(ng * c->cin + ci) * area + (i0 * c->in[1] + i1) * c->in[2] + i2];                                   \
                    const T *const d = k->dout + (ng * c->cout + c0) * outs + o;                                                          \
                    for (int64_t j = 0; j < m; j++) acc[j] = __builtin_fma##F(d[j * outs], x, acc[j]);                                    \
                    any = 1;                                                                                                              \
                }                                                                                                                         \
                tc_c_push_##S(level, &have, l, acc, any);                                                                                 \
            }                                                                                                                             \
            tc_c_total_##S(level, have, acc);                                                                                             \
            for (int64_t j = 0; j < m; j++) k->dw[g * c->w_group + (c0 + j) * c->w_cout + ci * c->w_cin + t] = acc[j];                    \
        }                                                                                                                                 \
    }                                                                                                                                     \
    static inline void tc_c_conv_bias_##S(int64_t n, int64_t channels, int64_t area, const T *dout, T *out) {                             \
        T level[56][16], part[16], leaf[256];                                                                                             \
        for (int64_t c = 0; c < channels; c++) {                                                                                          \
            uint64_t have = 0;                                                                                                            \
            for (int64_t l = 0; l * 256 < n * area; l++) {                                                                                \
                int64_t m = 0;                                                                                                            \
                for (int64_t p = l * 256; p < n * area && m < 256; p++) leaf[m++] = dout[(p / area * channels + c) * area + p % area];    \
                for (int j = 0; j < 16; j++) part[j] = 0;                                                                                 \
                part[0] = tc_leaf_##S(leaf, m, 0);                                                                                        \
                tc_c_push_##S(level, &have, l, part, 1);                                                                                  \
            }                                                                                                                             \
            tc_c_total_##S(level, have, part);                                                                                            \
            out[c] = part[0];                                                                                                             \
        }                                                                                                                                 \
    }
ROW(f32, float, f)
ROW(f64, double, )
#undef ROW

/* out[n, h, i] = softmax(scale * q k + mask) v over leaves of 128 keys (tc-numerics(7)): each gives maximum, sum of exponentials and weighted
 * values from scratch, and they merge by the tree. d and dv at most 256. Strides: batch, head, position, element. changed: read instead of
 * scale * q k, or NULL; lse: the logarithm of the sums of exponentials, or NULL. */
typedef struct {
    int64_t n, h, group, l, s, d, dv, q[4], k[4], v[4], mask[4], changed[4];
    int32_t causal, bool_mask;
    double scale, fill, empty; /* fill: the score where a bool mask allows none; empty: results of rows without a score above -inf */
} tc_c_attention;
#define ROW(S, T, F, I)                                                                                                                           \
    typedef struct {                                                                                                                              \
        T max, sum, acc[256];                                                                                                                     \
    } tc_c_part_##S;                                                                                                                              \
    static inline void tc_c_join_##S(const tc_c_part_##S *a, tc_c_part_##S *b, int64_t dv) {                                                      \
        T m = a->max > b->max ? a->max : b->max;                                                                                                  \
        m = a->max != a->max ? a->max : m;                                                                                                        \
        const T wa = a->max == -I ? 0 : tc_x_exp_##S(a->max - m), wb = b->max == -I ? 0 : tc_x_exp_##S(b->max - m);                               \
        b->max = m;                                                                                                                               \
        b->sum = __builtin_fma##F(a->sum, wa, b->sum * wb);                                                                                       \
        for (int64_t i = 0; i < dv; i++) b->acc[i] = __builtin_fma##F(a->acc[i], wa, b->acc[i] * wb);                                             \
    }                                                                                                                                             \
    typedef struct {                                                                                                                              \
        const tc_c_attention *c;                                                                                                                  \
        const T *q, *k, *v, *changed;                                                                                                             \
        const void *mask;                                                                                                                         \
        T *out, *lse;                                                                                                                             \
    } tc_c_attention_call_##S;                                                                                                                    \
    static inline void tc_c_attention_range_##S(void *ctx, int64_t begin, int64_t end, int worker) {                                              \
        const tc_c_attention_call_##S *call = (const tc_c_attention_call_##S *)ctx;                                                               \
        const tc_c_attention *const c = call->c;                                                                                                  \
        const T *const q = call->q, *const k = call->k, *const v = call->v;                                                                       \
        const void *const mask = call->mask;                                                                                                      \
        T *const out = call->out;                                                                                                                 \
        (void)worker;                                                                                                                             \
        tc_c_part_##S level[32], p;                                                                                                               \
        T score[128];                                                                                                                             \
        for (int64_t row = begin; row < end; row++) {                                                                                             \
            const int64_t i = row % c->l, h = row / c->l % c->h, z = row / c->l / c->h, g = h / c->group,                                         \
                          tile = i / 64 * 64 + 64 < c->l ? i / 64 * 64 + 64 : c->l;                                                               \
            const int64_t keys = c->causal && tile < c->s ? tile : c->s, leaves = (keys + 127) / 128;                                             \
            const T *const qi = q + z * c->q[0] + h * c->q[1] + i * c->q[2], *const x = call->changed ? call->changed + z * c->changed[0] +       \
                                                                                                            h * c->changed[1] + i * c->changed[2] \
                                                                                                      : 0;                                        \
            for (int64_t l = 0; l < leaves; l++) {                                                                                                \
                const int64_t k0 = l * 128, m = c->s - k0 < 128 ? c->s - k0 : 128;                                                                \
                for (int64_t j = 0; j < m; j++) {                                                                                                 \
                    const T *const kj = k + z * c->k[0] + g * c->k[1] + (k0 + j) * c->k[2];                                                       \
                    const int64_t at = z * c->mask[0] + h * c->mask[1] + i * c->mask[2] + (k0 + j) * c->mask[3];                                  \
                    T s = 0;                                                                                                                      \
                    for (int64_t e = 0; e < c->d && !x; e++) s = __builtin_fma##F(qi[e * c->q[3]], kj[e * c->k[3]], s);                           \
                    s = x ? x[(k0 + j) * c->changed[3]] : (T)c->scale == 1 ? s : s * (T)c->scale;                                                 \
                    if (mask && c->bool_mask) s = ((const uint8_t *)mask)[at] ? s : (T)c->fill;                                                   \
                    else if (mask) s += ((const T *)mask)[at];                                                                                    \
                    score[j] = c->causal && k0 + j > i ? -I : s;                                                                                  \
                }                                                                                                                                 \
                p.max = tc_row_above_##S(-I, score, m);                                                                                           \
                for (int64_t j = 0; j < m; j++) score[j] = tc_x_exp_##S(score[j] - (p.max == -I ? 0 : p.max));                                    \
                p.sum = tc_leaf_##S(score, m, 0);                                                                                                 \
                for (int64_t e = 0; e < c->dv; e++) p.acc[e] = 0;                                                                                 \
                for (int64_t j = 0; j < m; j++)                                                                                                   \
                    for (int64_t e = 0; e < c->dv; e++)                                                                                           \
                        p.acc[e] = __builtin_fma##F(score[j], v[z * c->v[0] + g * c->v[1] + (k0 + j) * c->v[2] + e * c->v[3]], p.acc[e]);         \
                int t = 0;                                                                                                                        \
                for (; l >> t & 1; t++) tc_c_join_##S(&level[t], &p, c->dv);                                                                      \
                level[t] = p;                                                                                                                     \
            }                                                                                                                                     \
            int t = 0, none = 1;                                                                                                                  \
            for (; leaves >> t; t++) {                                                                                                            \
                if (!(leaves >> t & 1)) continue;                                                                                                 \
                if (none) p = level[t];                                                                                                           \
                else tc_c_join_##S(&level[t], &p, c->dv);                                                                                         \
                none = 0;                                                                                                                         \
            }                                                                                                                                     \
            none = none || p.max == -I;                                                                                                           \
            for (int64_t e = 0; e < c->dv; e++) out[row * c->dv + e] = none ? (T)c->empty : p.acc[e] / p.sum;                                     \
            if (call->lse) call->lse[row] = none ? -I : p.max + tc_x_log_##S(p.sum);                                                              \
        }                                                                                                                                         \
    }
ROW(f32, float, f, __builtin_inff())
ROW(f64, double, , __builtin_inf())
#undef ROW

/* to and from have the same sizes; strides in elements of `bytes` bytes each. */
typedef struct {
    int32_t rank, bytes;
    int64_t size[16], to[16], from[16];
} tc_c_copies;
static inline void tc_c_copy(const tc_c_copies *c, void *to, const void *from) {
    int64_t at[16] = {0}, n = 1;
    for (int d = 0; d < c->rank; d++) n *= c->size[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t ot = 0, of = 0;
        for (int d = 0; d < c->rank; d++) {
            ot += at[d] * c->to[d];
            of += at[d] * c->from[d];
        }
        for (int k = 0; k < c->bytes; k++) ((unsigned char *)to)[ot * c->bytes + k] = ((const unsigned char *)from)[of * c->bytes + k];
        for (int d = c->rank - 1; d >= 0; d--) {
            if (++at[d] < c->size[d]) break;
            at[d] = 0;
        }
    }
}

/* ---- control flow and the numbers that it makes ---- */
/* What a pass wrote is read by the next one, which writes where this one read, but never over the operands of the first. */
static inline void tc_c_turn(int n, char **now, char **next, char *const *other, int pass) {
    for (int i = 0; i < n; i++) {
        char *old = now[i];
        now[i] = next[i], next[i] = pass ? old : other[i];
    }
}
static inline int64_t tc_c_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_c_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tc_c_floordiv(int64_t a, int64_t b, int *broken) {
    if (!b) *broken = 1;
    if (b == 0 || b == -1) return b ? (int64_t)(0 - (uint64_t)a) : 0;
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t tc_c_mod(int64_t a, int64_t b, int *broken) {
    if (!b) *broken = 1;
    if (b == 0 || b == -1) return 0;
    return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}
static inline double tc_c_quotient(double a, double b, int *broken) {
    if (b == 0) *broken = 1;
    return b == 0 ? 0 : a / b;
}
static inline int64_t tc_c_whole(double v, int *broken) {
    if (v > -9.2e18 && v < 9.2e18) return (int64_t)v;
    *broken = 1;
    return 0;
}

/* ---- 16- and 8-bit floats: computed in float32, every result rounded once ---- */
#define ROW(S, T)                                                                       \
    static inline void tc_c_widen_##S(const tc_c_copies *c, float *to, const T *from) { \
        int64_t at[16] = {0}, n = 1;                                                    \
        for (int d = 0; d < c->rank; d++) n *= c->size[d];                              \
        for (int64_t i = 0; i < n; i++) {                                               \
            int64_t of = 0;                                                             \
            for (int d = 0; d < c->rank; d++) of += at[d] * c->from[d];                 \
            to[i] = tc_x_cast_##S##_f32(from[of]);                                      \
            for (int d = c->rank - 1; d >= 0; d--) {                                    \
                if (++at[d] < c->size[d]) break;                                        \
                at[d] = 0;                                                              \
            }                                                                           \
        }                                                                               \
    }                                                                                   \
    static inline void tc_c_narrow_##S(int64_t n, T *to, const float *from) {           \
        for (int64_t i = 0; i < n; i++) to[i] = tc_x_cast_f32_##S(from[i]);             \
    }
ROW(f16, uint16_t)
ROW(bf16, uint16_t)
ROW(f8e5m2, uint8_t)
ROW(f8e4m3, uint8_t)
ROW(f8e5m2fnuz, uint8_t)
ROW(f8e4m3fnuz, uint8_t)
ROW(f8e8m0, uint8_t)
#undef ROW

/* ---- products of integers: exact, wrapping; T by T in R ---- */
#define ROW(S, T, R, STORE)                                                                                                               \
    static inline void tc_c_product_##S(const tc_c_product *p, int64_t alpha, int64_t beta, const T *a, const T *b, const R *add, R *c) { \
        for (int64_t z = 0; z < p->batch; z++)                                                                                            \
            for (int64_t i = 0; i < p->m; i++)                                                                                            \
                for (int64_t j = 0; j < p->n; j++) {                                                                                      \
                    uint64_t s = 0;                                                                                                       \
                    for (int64_t k = 0; k < p->k; k++)                                                                                    \
                        s += (uint64_t)a[z * p->a_bs + i * p->a_rs + k * p->a_cs] * (uint64_t)b[z * p->b_bs + k * p->b_rs + j * p->b_cs]; \
                    s *= (uint64_t)alpha;                                                                                                 \
                    if (add) s += (uint64_t)beta * (uint64_t)add[z * p->add_bs + i * p->add_rs + j * p->add_cs];                          \
                    c[(z * p->m + i) * p->n + j] = (R)STORE;                                                                              \
                }                                                                                                                         \
    }
ROW(u8, uint8_t, uint8_t, s)
ROW(u16, uint16_t, uint16_t, s)
ROW(u32, uint32_t, uint32_t, s)
ROW(u64, uint64_t, uint64_t, s)
ROW(i8, int8_t, int8_t, s)
ROW(i16, int16_t, int16_t, s)
ROW(i32, int32_t, int32_t, s)
ROW(i64, int64_t, int64_t, s)
ROW(bool, uint8_t, uint8_t, (s != 0))
ROW(i8_i32, int8_t, int32_t, s)
#undef ROW

#include "codegen/ckernels_index.h"
#include "codegen/ckernels_rnn.h"

#endif
