/* Convolution by lanes: a vector of sums for each output position, one lane for each output channel; included by conv_type.h after vec_*.h. A sum is,
 * as everywhere, an fma chain over the present k of each leaf of 256, leaves merged by the tree. */
#include "kernel/conv_isa.h"
#include "kernel/tree.h"

#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)
#define INLINE static inline __attribute__((always_inline))

enum { VL = ROW_BYTES / (int)sizeof(T), MAX_POSITIONS = 8, MAX_LEVELS = 40, MAX_GRAD_SUMS = 9 };

static inline VF vload(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vstore(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

/* ---- planes to lanes and back ---- */
static void to_lanes(void *out, const void *const *in, int64_t from, int64_t n) {
    T *o = out;
    const T *const *p = (const T *const *)in;
    int64_t i = 0;
    for (; i + VL <= n; i += VL) transpose_square(o + i * VL, VL, p, from + i);
    if (i < n && n >= VL) transpose_square(o + (n - VL) * VL, VL, p, from + n - VL);
    else
        for (; i < n; i++)
            for (int l = 0; l < VL; l++) o[i * VL + l] = p[l][from + i];
}
static void from_lanes(void *out, int64_t ld, int m, const void *in, int64_t n) {
    T *o = out;
    const T *x = in;
    int64_t i = 0;
    for (; n >= VL && i < n; i = i + VL <= n - VL || i + VL >= n ? i + VL : n - VL) {
        const T *row[VL];
        for (int k = 0; k < VL; k++) row[k] = x + (i + k) * VL;
        if (m == VL) {
            transpose_square(o + i, ld, row, 0);
            continue;
        }
        T t[VL * VL];
        transpose_square(t, VL, row, 0);
        for (int l = 0; l < m; l++) vstore(o + l * ld + i, vload(t + l * VL));
    }
    for (; i < n; i++)
        for (int l = 0; l < m; l++) o[l * ld + i] = x[i * VL + l];
}

/* ---- the reduction tree of np vectors of sums; level i is level[i * ld ..] ---- */
INLINE void push_leaf(VF *level, int64_t ld, uint64_t *have, int64_t leaf, VF *acc, bool present, const int np) {
    int i = 0;
    for (; leaf >> i & 1; i++) {
        if (!(*have >> i & 1)) continue;
        for (int p = 0; p < np; p++) acc[p] = present ? level[i * ld + p] + acc[p] : level[i * ld + p];
        present = true;
        *have &= ~(UINT64_C(1) << i);
    }
    if (!present) return;
    for (int p = 0; p < np; p++) level[i * ld + p] = acc[p];
    *have |= UINT64_C(1) << i;
}
INLINE void sum_leaves(VF *acc, const VF *level, int64_t ld, uint64_t have, const int np) {
    bool first = true;
    for (int p = 0; p < np; p++) acc[p] = (VF){0};
    for (int i = 0; have >> i; i++) {
        if (!(have >> i & 1)) continue;
        for (int p = 0; p < np; p++) acc[p] = first ? level[i * ld + p] : level[i * ld + p] + acc[p];
        first = false;
    }
}
static void push(void *level, uint64_t *have, int64_t leaf, void *acc, bool present) {
    VF a = vload(acc), l[MAX_LEVELS];
    int top = 0;
    for (; leaf >> top & 1; top++)
        if (*have >> top & 1) l[top] = vload((T *)level + top * VL);
    push_leaf(l, 1, have, leaf, &a, present, 1);
    if (*have >> top & 1) vstore((T *)level + top * VL, l[top]);
    vstore(acc, (VF){0});
}
static void sum(void *out, const void *level, uint64_t have) {
    VF a, l[MAX_LEVELS];
    for (int i = 0; have >> i; i++)
        if (have >> i & 1) l[i] = vload((const T *)level + i * VL);
    sum_leaves(&a, l, 1, have, 1);
    vstore(out, a);
}

/* ---- forward ---- */
/* Computes np positions of a run, from number p0 on, where k is one leaf; out is the first one's, `step` elements from one to the next. */
INLINE void one_leaf(const tc_conv_row *r, const tc_conv_run *u, int64_t p0, T *out, int64_t step, const int np, const int64_t istep,
                     const int64_t cin) {
    VF acc[MAX_POSITIONS];
    const int64_t taps = r->taps * VL, plane = r->plane, ioff = u->ioff * VL, tstep = u->tstep * VL, nt = u->nt;
    for (int p = 0; p < np; p++) acc[p] = (VF){0};
    for (const tc_conv_line *l = r->line, *last = l + r->nlines; l < last; l++) {
        const T *x = (const T *)l->x + (u->i + p0 * istep) * VL, *w = (const T *)r->w + (l->tap + u->t) * VL;
        for (int64_t j = 0; j < nt; j++, x += ioff, w += tstep) {
            const T *xc = x, *wc = w;
            for (int64_t c = 0; c < cin; c++, xc += plane, wc += taps) {
                VF v = vload(wc);
                for (int p = 0; p < np; p++) acc[p] = vfma(v, vload(xc + p * istep * VL), acc[p]);
            }
        }
    }
    for (int p = 0; p < np; p++) vstore(out + p * step, r->bias ? acc[p] + vload(r->bias) : acc[p]);
}
/* The same where k has several leaves. */
INLINE void many_leaves(const tc_conv_row *r, const tc_conv_run *u, int64_t p0, T *out, int64_t step, const int np) {
    VF acc[MAX_POSITIONS], level[MAX_LEVELS * MAX_POSITIONS];
    uint64_t have = 0;
    int64_t leaf = 0, leaves = (r->taps * r->cin + TC_LEAF - 1) / TC_LEAF;
    bool present = false;
    for (int p = 0; p < np; p++) acc[p] = (VF){0};
    for (int l = 0; l < r->nlines; l++) {
        const T *x = (const T *)r->line[l].x + (u->i + p0 * u->istep) * VL;
        int64_t k = (r->line[l].tap + u->t) * r->cin;
        for (int64_t j = 0; j < u->nt; j++, x += u->ioff * VL, k += u->tstep * r->cin)
            for (int64_t c = 0; c < r->cin;) {
                for (; leaf < (k + c) / TC_LEAF; leaf++) {
                    push_leaf(level, MAX_POSITIONS, &have, leaf, acc, present, np);
                    present = false;
                    for (int p = 0; p < np; p++) acc[p] = (VF){0};
                }
                int64_t end = (leaf + 1) * TC_LEAF - k < r->cin ? (leaf + 1) * TC_LEAF - k : r->cin;
                present = true;
                for (; c < end; c++) {
                    VF v = vload((const T *)r->w + (c * r->taps + k / r->cin) * VL);
                    const T *xc = x + c * r->plane;
                    for (int p = 0; p < np; p++) acc[p] = vfma(v, vload(xc + p * u->istep * VL), acc[p]);
                }
            }
    }
    for (; leaf < leaves; leaf++) {
        push_leaf(level, MAX_POSITIONS, &have, leaf, acc, present, np);
        present = false;
    }
    sum_leaves(acc, level, MAX_POSITIONS, have, np);
    for (int p = 0; p < np; p++) vstore(out + p * step, r->bias ? acc[p] + vload(r->bias) : acc[p]);
}
/* Constant strides and channel counts let the compiler unroll the usual cases. */
INLINE void block(const tc_conv_row *r, const tc_conv_run *u, int64_t p, T *out, int64_t step, const int np) {
    if (r->taps * r->cin > TC_LEAF) many_leaves(r, u, p, out, step, np);
    else if (u->istep == 1 && r->cin == 1) one_leaf(r, u, p, out, step, np, 1, 1);
    else if (u->istep == 1) one_leaf(r, u, p, out, step, np, 1, r->cin);
    else if (u->istep == 2 && r->cin == 1) one_leaf(r, u, p, out, step, np, 2, 1);
    else one_leaf(r, u, p, out, step, np, u->istep, r->cin);
}
/* The positions of the run that lie in [first, last): numbers [*p0, *p1). */
static inline void part_of(const tc_conv_run *u, int64_t first, int64_t last, int64_t *p0, int64_t *p1) {
    *p0 = u->o >= first ? 0 : (first - u->o + u->step - 1) / u->step;
    *p1 = u->o >= last ? 0 : (last - u->o + u->step - 1) / u->step;
    if (*p1 > u->count) *p1 = u->count;
}
static void row(const tc_conv_row *r) {
    for (int i = 0; i < r->nruns; i++) {
        const tc_conv_run *u = &r->run[i];
        int64_t p, end, step = u->step * VL;
        part_of(u, r->first, r->last, &p, &end);
        T *out = (T *)r->out + (u->o + p * u->step - r->first) * VL;
        for (; p + 8 <= end; p += 8, out += 8 * step) block(r, u, p, out, step, 8);
        if (p + 4 <= end) block(r, u, p, out, step, 4), p += 4, out += 4 * step;
        if (p + 2 <= end) block(r, u, p, out, step, 2), p += 2, out += 2 * step;
        if (p < end) block(r, u, p, out, step, 1);
    }
}

/* The plain epilogue's arguments for n <= VL channels from c on. */
typedef struct {
    VF scale, shift, low, high;
} column_plain;
INLINE column_plain load_column_plain(const tc_epilogue_plain *e, int64_t c, int n) {
    column_plain p = {.low = vset1((T)e->low), .high = vset1((T)e->high)};
    if (e->scale) p.scale = vload_some((const T *)e->scale + c, n), p.shift = vload_some((const T *)e->shift + c, n);
    return p;
}
/* The plain epilogue on a vector of results; more: their residual, or NULL. */
INLINE VF finish(const column_plain *p, VF x, bool scaled, const VF *more) {
    if (scaled) x = vfma(x, p->scale, p->shift);
    if (more) x = x + *more;
    return vmin(vmax(x, p->low), p->high);
}

/* The first channel of vector number q of nc, which begin with vector v0 of the image and end before channel `end`. */
INLINE int64_t channel_of(int64_t v0, int q, int nc, int64_t end) { return q == nc - 1 ? end - VL : (v0 + q) * VL; }
/* Depthwise over channels-last images: np positions from p0 on, vectors [v0, v1) of channels, nc of them at once, so that short runs have as many
 * independent sums as long ones. There are at least nc vectors in all; the last one ends with the last channel, and some may be computed twice. */
INLINE void some_channels(const tc_conv_row *r, const tc_conv_run *u, int64_t p0, int64_t v0, int64_t v1, const int np, const int nc) {
    const int64_t c = r->channels, s = u->istep * c, ioff = u->ioff * c, tstep = u->tstep * VL, nt = u->nt, out_step = u->step * c;
    const int64_t block = (r->taps + 1) * VL, from = (u->i + p0 * u->istep) * c, to = (u->o + p0 * u->step) * c, vectors = (c + VL - 1) / VL;
    const tc_conv_line *const line = r->line, *const last = line + r->nlines;
    const tc_epilogue_plain *const plain = r->plain;
    const T *const more = plain && plain->more ? (const T *)plain->more + to : NULL;
    T *const out = (T *)r->out + to;
    const bool bias = r->bias, scaled = plain && plain->scale;
    for (; v0 < v1; v0 += nc) {
        if (v0 + nc > v1) v0 = v1 > nc ? v1 - nc : 0;
        const int64_t end = v0 + nc == vectors ? c : (v0 + nc) * VL; /* of the channels of these vectors */
        const T *const first = (const T *)r->w + v0 * block;
        VF acc[MAX_POSITIONS];
        for (int i = 0; i < np * nc; i++) acc[i] = (VF){0};
        for (const tc_conv_line *l = line; l < last; l++) {
            const T *x = (const T *)l->x + from, *w = first + (l->tap + u->t) * VL;
            for (int64_t j = 0; j < nt; j++, x += ioff, w += tstep)
                for (int q = 0; q < nc; q++) {
                    const VF v = vload(w + q * block);
                    const T *at = x + channel_of(v0, q, nc, end), *at4 = at + 4 * s;
                    for (int p = 0; p < np; p++) acc[q * np + p] = vfma(v, vload((p < 4 ? at : at4) + p % 4 * s), acc[q * np + p]);
                }
        }
        for (int q = 0; q < nc; q++) {
            const int64_t c0 = channel_of(v0, q, nc, end);
            VF *const sums = acc + q * np;
            if (bias) {
                const VF v = vload(first + (q + 1) * block - VL);
                for (int p = 0; p < np; p++) sums[p] = sums[p] + v;
            }
            if (plain) {
                const column_plain e = load_column_plain(plain, c0, VL);
                for (int p = 0; p < np; p++) {
                    const VF m = more ? vload(more + p * out_step + c0) : (VF){0};
                    sums[p] = finish(&e, sums[p], scaled, more ? &m : NULL);
                }
            }
            T *o = out + c0, *o4 = o + 4 * out_step;
            for (int p = 0; p < np; p++) vstore((p < 4 ? o : o4) + p % 4 * out_step, sums[p]);
        }
    }
}
/* All positions of a row for as many channels as have their weights in L1: all of them, and each input line is read as one contiguous range, where
 * images are wide and have few channels. */
static void row_last(const tc_conv_row *r) {
    enum { WEIGHT_BYTES = 16 << 10, ALONG = 4 };
    const int64_t vectors = (r->channels + VL - 1) / VL, fit = WEIGHT_BYTES / ((r->taps + 1) * ROW_BYTES) / ALONG * ALONG, most = fit ? fit : ALONG;
    const bool wide = sizeof(T) == 4 && vectors >= ALONG;
    for (int64_t v0 = 0; v0 < vectors; v0 += most)
        for (const tc_conv_run *u = r->run, *end = u + r->nruns; u < end; u++)
            for (int64_t n = u->count, p = 0, left, np; (left = n - p) > 0;
                 p += np) { /* groups may overlap: computing a position twice is cheaper than another group */
                const int64_t v1 = v0 + most < vectors ? v0 + most : vectors;
                np = left >= 8 || (left > 4 && n >= 8) ? 8 : left > 2 && n >= 4 ? 4 : left > 1 ? 2 : 1;
                if (p > n - np) p = n - np;
                if (np == 8) some_channels(r, u, p, v0, v1, 8, 1);
                else if (np == 4) some_channels(r, u, p, v0, v1, 4, 1);
                else if (np == 2 && wide) some_channels(r, u, p, v0, v1, 2, ALONG);
                else if (np == 2) some_channels(r, u, p, v0, v1, 2, 1);
                else if (wide) some_channels(r, u, p, v0, v1, 1, ALONG);
                else some_channels(r, u, p, v0, v1, 1, 1);
            }
}

/* ---- weight gradient ---- */
/* acc[m] += dout[p] * x[m][p * istep] over n positions, for na sums at once */
INLINE void grad_sums(T *const *acc, const T *const *x, const T *dout, int64_t n, int64_t istep, const int na) {
    VF s[MAX_GRAD_SUMS];
    const T *at[MAX_GRAD_SUMS];
    for (int m = 0; m < na; m++) s[m] = vload(acc[m]), at[m] = x[m];
    for (int64_t p = 0; p < n; p++, dout += VL) {
        VF d = vload(dout);
        for (int m = 0; m < na; m++) s[m] = vfma(d, vload(at[m] + p * istep * VL), s[m]);
    }
    for (int m = 0; m < na; m++) vstore(acc[m], s[m]);
}
static void grad_some(T *const *acc, const T *const *x, const T *dout, int64_t n, int64_t istep, int na) {
    switch (na) {
    case 1: grad_sums(acc, x, dout, n, istep, 1); break;
    case 2: grad_sums(acc, x, dout, n, istep, 2); break;
    case 3: grad_sums(acc, x, dout, n, istep, 3); break;
    case 4: grad_sums(acc, x, dout, n, istep, 4); break;
    case 5: grad_sums(acc, x, dout, n, istep, 5); break;
    case 6: grad_sums(acc, x, dout, n, istep, 6); break;
    case 7: grad_sums(acc, x, dout, n, istep, 7); break;
    case 8: grad_sums(acc, x, dout, n, istep, 8); break;
    case 9: grad_sums(acc, x, dout, n, istep, 9); break;
    }
}
static void grad_row(const tc_conv_row *r) {
    for (int i = 0; i < r->nruns; i++) {
        const tc_conv_run *u = &r->run[i];
        int64_t p, end;
        part_of(u, r->first, r->last, &p, &end);
        if (p >= end) continue;
        const T *dout = (const T *)r->out + (u->o + p - r->first) * VL, *x[MAX_GRAD_SUMS];
        T *acc[MAX_GRAD_SUMS];
        int na = 0;
        for (int l = 0; l < r->nlines; l++)
            for (int64_t j = 0; j < u->nt; j++)
                for (int64_t c = 0; c < r->cin; c++) {
                    int64_t k = (r->line[l].tap + u->t + j * u->tstep) * r->cin + c;
                    r->any[k] = 1;
                    acc[na] = (T *)r->acc + k * VL;
                    x[na++] = (const T *)r->line[l].x + (u->i + p * u->istep + j * u->ioff) * VL + c * r->plane;
                    if (na == MAX_GRAD_SUMS) grad_some(acc, x, dout, end - p, u->istep, na), na = 0;
                }
        grad_some(acc, x, dout, end - p, u->istep, na);
    }
}
