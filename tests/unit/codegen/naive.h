/* A straightforward evaluation of loops, point by point and reduction by reduction, to test the emitter against. Everything is computed in
 * the order of tc-numerics(7), "Sums" from its definition: leaves of 256, 16 lanes, folds of 8, 4, 2, 1, the tree by recursion. */
#ifndef TC_TESTS_NAIVE_H
#define TC_TESTS_NAIVE_H

#include "kernel/scalar.h"
#include "kernel/tree.h"
#include "loop/loop.h"

#include <math.h>

typedef struct {
    bool known;
    tc_dtype dtype;
    union {
        double f64;
        float f32;
        int64_t i;
    };
    double part[3];
} nvalue;
typedef struct {
    void *data;
    int64_t size[8], stride[8];
} nbuffer;
typedef struct {
    const tc_loop *l;
    nbuffer *buffers;
    int64_t extent[64];
    int64_t at[64];
    nvalue *memo[256];
} naive; /* memo: reductions, by the point of their axes */

static tc_symvalue naive_vars[16]; /* values of the symbols, by index */
static inline int64_t naive_sym(tc_sym s) {
    int64_t v = 0;
    tc_status st = tc_sym_eval_int(s, naive_vars, 16, &v);
    TC_ASSERT(!st);
    return v;
}
static inline int64_t naive_affine(const naive *n, const tc_affine *a) {
    int64_t v = naive_sym(a->base);
    for (int i = 0; i < a->n; i++) v += naive_sym(a->term[i].coef) * n->at[a->term[i].axis];
    return v;
}

static inline nvalue naive_from(tc_dtype d, tc_scalar s) {
    nvalue v = {.dtype = d};
    if (d == TC_F32) v.f32 = (float)tc_scalar_to_double(s);
    else if (d == TC_F64) v.f64 = tc_scalar_to_double(s);
    else v.i = tc_scalar_to_int(s);
    return v;
}
static inline tc_scalar naive_scalar(nvalue v) {
    return v.dtype == TC_F32 ? tc_scalar_float((double)v.f32) : v.dtype == TC_F64 ? tc_scalar_float(v.f64) : tc_scalar_int(v.i);
}

static inline nvalue naive_apply(tc_scalar_op op, tc_dtype result, const nvalue *x) {
    nvalue r = {.dtype = result};
    tc_dtype d = x[op == TC_X_WHERE].dtype;
    switch (op) {
#define F32(NAME, e)       \
    case TC_X_##NAME:      \
        if (d == TC_F32) { \
            r.f32 = e;     \
            return r;      \
        }                  \
        break;
#define A(k) x[k].f32
        F32(EXP, tc_x_exp_f32(A(0)))
        F32(TANH, tc_x_tanh_f32(A(0)))
        F32(SIGMOID, tc_x_sigmoid_f32(A(0)))
        F32(RSQRT, tc_x_rsqrt_f32(A(0)))
        F32(SUB, A(0) - A(1)) F32(DIV, A(0) / A(1)) F32(NEG, -A(0)) F32(MAX, tc_x_max_f32(A(0), A(1))) F32(MIN, tc_x_min_f32(A(0), A(1)))
            F32(FMA, tc_x_fma_f32(A(0), A(1), A(2)))
#undef A
#undef F32
                case TC_X_ADD : if (d == TC_F32) r.f32 = x[0].f32 + x[1].f32;
        else if (d == TC_F64) r.f64 = x[0].f64 + x[1].f64; else r.i = x[0].i + x[1].i;
        return r;
    case TC_X_MUL:
        if (d == TC_F32) r.f32 = x[0].f32 * x[1].f32;
        else if (d == TC_F64) r.f64 = x[0].f64 * x[1].f64;
        else r.i = x[0].i * x[1].i;
        return r;
    case TC_X_GT: r.i = d == TC_F32 ? x[0].f32 > x[1].f32 : d == TC_F64 ? x[0].f64 > x[1].f64 : x[0].i > x[1].i; return r;
    case TC_X_GE: r.i = d == TC_F32 ? x[0].f32 >= x[1].f32 : d == TC_F64 ? x[0].f64 >= x[1].f64 : x[0].i >= x[1].i; return r;
    case TC_X_LT: r.i = d == TC_F32 ? x[0].f32 < x[1].f32 : d == TC_F64 ? x[0].f64 < x[1].f64 : x[0].i < x[1].i; return r;
    case TC_X_LE: r.i = d == TC_F32 ? x[0].f32 <= x[1].f32 : d == TC_F64 ? x[0].f64 <= x[1].f64 : x[0].i <= x[1].i; return r;
    case TC_X_EQ: r.i = d == TC_F32 ? x[0].f32 == x[1].f32 : d == TC_F64 ? x[0].f64 == x[1].f64 : x[0].i == x[1].i; return r;
    case TC_X_NE: r.i = d == TC_F32 ? x[0].f32 != x[1].f32 : d == TC_F64 ? x[0].f64 != x[1].f64 : x[0].i != x[1].i; return r;
    case TC_X_ISNAN: r.i = d == TC_F32 ? x[0].f32 != x[0].f32 : x[0].f64 != x[0].f64; return r;
    case TC_X_WHERE: r = x[0].i ? x[1] : x[2]; return r;
    default: break;
    }
    TC_BUG("the test's evaluator lacks an operation");
}

static nvalue naive_eval(naive *n, tc_lv i);

static int64_t naive_positions(naive *n, const tc_linst *in, nvalue **out) {
    int axes[64], k = 0;
    int64_t count = 1;
    for (int a = 0; a < n->l->naxes; a++)
        if (in->over >> a & 1) axes[k++] = a, count *= n->extent[a];
    nvalue *v = tc_xcalloc((size_t)count + 1, sizeof *v);
    int64_t saved[64];
    memcpy(saved, n->at, sizeof saved);
    for (int64_t p = 0; p < count; p++) {
        int64_t rest = p;
        for (int j = k - 1; j >= 0; j--) n->at[axes[j]] = rest % n->extent[axes[j]], rest /= n->extent[axes[j]];
        v[p] = naive_eval(n, in->a[0]);
    }
    memcpy(n->at, saved, sizeof saved);
    *out = v;
    return count;
}

/* Sum of f32 or f64 values as doubles that hold the type's values. */
static inline double naive_op(double a, double b, bool single, bool prod) {
    if (single) return (double)(prod ? (float)a * (float)b : (float)a + (float)b);
    return prod ? a * b : a + b;
}
static inline double naive_leaf(const double *x, int64_t n, bool single, bool prod) {
    double lane[16];
    for (int l = 0; l < 16; l++) lane[l] = prod ? 1.0 : -0.0;
    for (int64_t i = 0; i < n; i++) lane[i % 16] = naive_op(lane[i % 16], x[i], single, prod);
    for (int w = 8; w; w /= 2)
        for (int l = 0; l < w; l++) lane[l] = naive_op(lane[l], lane[l + w], single, prod);
    return lane[0];
}
static inline double naive_tree(const double *leaf, int64_t n, bool single, bool prod) {
    if (n == 1) return leaf[0];
    int64_t half = 1;
    while (half * 2 < n) half *= 2;
    double a = naive_tree(leaf, half, single, prod), b = naive_tree(leaf + half, n - half, single, prod);
    return naive_op(a, b, single, prod);
}

static nvalue naive_reduce(naive *n, const tc_linst *in) {
    nvalue *v, r = {.dtype = in->dtype};
    int64_t count = naive_positions(n, in, &v);
    tc_dtype d = n->l->inst.data[in->a[0]].dtype;
    bool single = d == TC_F32;
    if ((in->op == TC_R_SUM || in->op == TC_R_PROD) && tc_is_float(d)) {
        int64_t leaves = (count + 255) / 256;
        double *x = tc_xcalloc((size_t)count + 1, 8), *leaf = tc_xcalloc((size_t)leaves + 1, 8);
        for (int64_t i = 0; i < count; i++) x[i] = single ? (double)v[i].f32 : v[i].f64;
        for (int64_t j = 0; j < leaves; j++)
            leaf[j] = naive_leaf(x + 256 * j, count - 256 * j < 256 ? count - 256 * j : 256, single, in->op == TC_R_PROD);
        double s = leaves ? naive_tree(leaf, leaves, single, in->op == TC_R_PROD) : in->op == TC_R_PROD;
        if (single) r.f32 = (float)s;
        else r.f64 = s;
        free(x);
        free(leaf);
    } else if (in->op == TC_R_SUM) {
        for (int64_t i = 0; i < count; i++) r.i += v[i].i;
    } else if (in->op == TC_R_ANY) {
        for (int64_t i = 0; i < count; i++) r.i |= v[i].i;
    } else if (in->op == TC_R_MAX && single) {
        r.f32 = -__builtin_inff();
        for (int64_t i = 0; i < count; i++) r.f32 = r.f32 != r.f32 || (v[i].f32 == r.f32 && signbit(v[i].f32)) || v[i].f32 < r.f32 ? r.f32 : v[i].f32;
    } else if (in->op == TC_R_ARGMAX && single) {
        for (int64_t i = 1; i < count; i++)
            if (v[r.i].f32 == v[r.i].f32 && (v[i].f32 > v[r.i].f32 || v[i].f32 != v[i].f32)) r.i = i;
    } else if (in->op == TC_R_WELFORD && single) { /* leaves by their definition, merged by Chan's formula */
        tc_tree_welford t = {0};
        for (int64_t j = 0; j < count; j += 256) {
            int64_t m = count - j < 256 ? count - j : 256;
            double x[256], lane[16], mean;
            for (int64_t i = 0; i < m; i++) x[i] = (double)v[j + i].f32;
            mean = naive_leaf(x, m, false, false) / (double)m;
            for (int l = 0; l < 16; l++) lane[l] = 0;
            for (int64_t i = 0; i < m; i++) lane[i % 16] = __builtin_fma(x[i] - mean, x[i] - mean, lane[i % 16]);
            for (int w = 8; w; w /= 2)
                for (int l = 0; l < w; l++) lane[l] += lane[l + w];
            tc_tree_welford_push(&t, (tc_welford){mean, lane[0], (double)m});
        }
        tc_welford w = tc_tree_welford_sum(&t);
        r.part[0] = w.mean, r.part[1] = w.m2, r.part[2] = w.count;
    } else {
        TC_BUG("the test's evaluator lacks a reduction");
    }
    free(v);
    return r;
}

static nvalue naive_eval(naive *n, tc_lv i) {
    const tc_linst *in = &n->l->inst.data[i];
    nvalue x[3], r = {.dtype = in->dtype};
    switch (in->kind) {
    case TC_L_CONST: return naive_from(in->dtype, in->imm);
    case TC_L_HOST: return naive_from(in->dtype, tc_scalar_int(naive_sym(in->host)));
    case TC_L_INDEX: r.i = naive_affine(n, &in->index[0]); return r;
    case TC_L_LOAD: {
        if (in->pred != TC_LV_NONE && !naive_eval(n, in->pred).i) return naive_from(in->dtype, tc_scalar_int(0));
        const nbuffer *b = &n->buffers[in->buffer];
        int64_t at = 0;
        for (int d = 0; d < in->rank; d++) {
            int64_t k = naive_affine(n, &in->index[d]);
            if (in->gather && in->gather[d] != TC_LV_NONE) k += naive_eval(n, in->gather[d]).i;
            at += k * b->stride[d];
        }
        return naive_from(in->dtype, tc_scalar_load(n->l->buffers.data[in->buffer].dtype, b->data, at));
    }
    case TC_L_CAST: return naive_from(in->dtype, naive_scalar(naive_eval(n, in->a[0])));
    case TC_L_ROUND: {
        uint16_t half[1];
        tc_scalar_store(in->narrow, half, 0, naive_scalar(naive_eval(n, in->a[0])));
        return naive_from(in->dtype, tc_scalar_load(in->narrow, half, 0));
    }
    case TC_L_SCALAR:
        for (int k = 0; k < 3 && in->a[k] != TC_LV_NONE; k++) x[k] = naive_eval(n, in->a[k]);
        return naive_apply((tc_scalar_op)in->op, in->dtype, x);
    case TC_L_REDUCE: {
        int64_t at = 0, count = 1;
        for (int a = 0; a < n->l->naxes; a++)
            if (in->axes >> a & 1) at = at * n->extent[a] + n->at[a], count *= n->extent[a];
        if (!n->memo[i]) n->memo[i] = tc_xcalloc((size_t)count, sizeof(nvalue));
        if (!n->memo[i][at].known) n->memo[i][at] = naive_reduce(n, in), n->memo[i][at].known = true;
        return n->memo[i][at];
    }
    case TC_L_SCAN: {
        int axis = __builtin_ctzll(in->over);
        int64_t last = n->at[axis];
        double s = 0;
        for (n->at[axis] = 0; n->at[axis] <= last; n->at[axis]++) s += tc_scalar_to_double(naive_scalar(naive_eval(n, in->a[0])));
        n->at[axis] = last;
        return naive_from(in->dtype, tc_scalar_float(s));
    }
    case TC_L_PART: r.f64 = naive_eval(n, in->a[0]).part[in->part]; return r;
    default: TC_BUG("the test's evaluator lacks an instruction");
    }
}

/* Runs every store over its axes; the memo is freed at the end. */
static inline void naive_run(naive *n) {
    for (int a = 0; a < n->l->naxes; a++) n->extent[a] = naive_sym(n->l->axes[a].extent);
    for (size_t s = 0; s < n->l->stores.len; s++) {
        const tc_lstore *st = &n->l->stores.data[s];
        int axes[64], k = 0;
        int64_t count = 1;
        for (int a = 0; a < n->l->naxes; a++)
            if (st->axes >> a & 1) axes[k++] = a, count *= n->extent[a];
        for (int64_t p = 0; p < count; p++) {
            int64_t rest = p, at = 0;
            memset(n->at, 0, sizeof n->at);
            for (int j = k - 1; j >= 0; j--) n->at[axes[j]] = rest % n->extent[axes[j]], rest /= n->extent[axes[j]];
            if (st->pred != TC_LV_NONE && !naive_eval(n, st->pred).i) continue;
            for (int d = 0; d < st->rank; d++) at += naive_affine(n, &st->index[d]) * n->buffers[st->buffer].stride[d];
            tc_scalar_store(n->l->buffers.data[st->buffer].dtype, n->buffers[st->buffer].data, at, naive_scalar(naive_eval(n, st->value)));
        }
    }
    for (int i = 0; i < 256; i++) free(n->memo[i]);
}

#endif
