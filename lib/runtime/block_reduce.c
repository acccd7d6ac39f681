/* Reductions and scans of the block executor. If a block has all of the inner axes, a reduction is one call of a primitive. Otherwise state is carried
 * from block to block:
 *
 *     sums and products, row mode       a tree for each row, to which the leaves of each block are added (blocks are multiples of 256 elements)
 *     sums and products, column mode    lanes[16][R], which give a leaf every 256 elements; the levels[L][R] of the tree, with one count for all columns
 *     others (no order)                 a running value (and index) for each row */
#include "base/ints.h"
#include "kernel/scalar_complex.h"
#include "runtime/block_impl.h"

static bool ordered(int op) { return op == TC_R_SUM || op == TC_R_PROD; }
static bool is_arg(int op) { return op == TC_R_ARGMAX || op == TC_R_ARGMIN; }
static tc_dtype sum_type(int dtype) { return tc_is_integral((tc_dtype)dtype) ? TC_I64 : (tc_dtype)dtype; }

/* The reduction tree of a row (kernel/tree.h), of any type: level[k] is a sum of 2^k leaves if bit k of count is set. */
typedef struct {
    int64_t count;
    union {
        float f[56];
        double d[56];
        int64_t i[56];
        tc_welford w[56];
    } level;
} tree;
typedef struct {
    int64_t count, pos;
} cols_state; /* count: leaves merged; pos: elements added */

size_t reduction_state(const nest *n, reduction *r) {
    size_t R = (size_t)n->R, size = tc_dtype_size(sum_type(r->dtype));
    if (r->whole && (!n->col || ordered(r->op) || r->op == TC_R_WELFORD)) return 0;
    if (r->op == TC_R_WELFORD) return tc_pad64(sizeof(tree)) * R;
    if (!ordered(r->op)) return tc_pad64(R * 16) + tc_pad64(R * 8) + 64;
    if (!n->col) return tc_pad64(sizeof(tree)) * R;
    int64_t leaves = (n->I.total + TC_LEAF - 1) / TC_LEAF;
    for (r->levels = 1; leaves >> r->levels; r->levels++) {}
    r->leaf = 64; /* after the counters: a leaf, the levels, the lanes */
    return 64 + tc_pad64(R * size) + (size_t)r->levels * tc_pad64(R * size) + tc_pad64(16 * R * size);
}

static void *leaf_of(const walk *w, const reduction *r) { return w->scratch + r->state + r->leaf; }
static char *level_of(const walk *w, const reduction *r, int k) {
    return (char *)leaf_of(w, r) + tc_pad64((size_t)w->n->R * tc_dtype_size(sum_type(r->dtype))) * (size_t)(k + 1);
}
static void *lanes_of(const walk *w, const reduction *r) { return level_of(w, r, r->levels); }

void reduction_start(walk *w, const reduction *r) {
    char *state = w->scratch + r->state;
    if (r->whole && (!w->n->col || ordered(r->op) || r->op == TC_R_WELFORD)) return;
    if (!ordered(r->op) && r->op != TC_R_WELFORD) *(int64_t *)state = 0; /* elements seen */
    else if (w->n->col && ordered(r->op)) *(cols_state *)state = (cols_state){0};
    else
        for (int64_t k = 0; k < w->r; k++) ((tree *)(state + (size_t)k * tc_pad64(sizeof(tree))))->count = 0;
}

/* Sets the lanes to the neutral element: -0.0, 1 or 0. */
static void lanes_clear(walk *w, const reduction *r) {
    tc_dtype t = sum_type(r->dtype);
    char cell[8];
    tc_scalar_store(t, cell, 0, r->op == TC_R_PROD ? tc_scalar_int(1) : t == TC_I64 ? tc_scalar_int(0) : tc_scalar_float(-0.0));
    w->b->isa->move->fill[tc_dtype_size(t) == 4 ? 2 : 3](lanes_of(w, r), cell, 16 * w->r);
}

static void merge_columns(walk *w, const reduction *r, cols_state *st) {
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    tc_dtype t = sum_type(r->dtype);
    tc_block_fn merge = w->b->isa->scalar[t][r->op == TC_R_SUM ? TC_X_ADD : TC_X_MUL];
    (r->op == TC_R_SUM ? ops->sum_cols_fold : ops->prod_cols_fold)(leaf_of(w, r), lanes_of(w, r), w->r);
    int k = 0;
    for (; st->count >> k & 1; k++) merge(leaf_of(w, r), level_of(w, r, k), leaf_of(w, r), NULL, w->r);
    memcpy(level_of(w, r, k), leaf_of(w, r), (size_t)w->r * tc_dtype_size(t));
    st->count++;
}

static int64_t column_stride(const walk *w, const reduction *r) { return r->stride ? r->stride : w->r; }

static void add_columns(walk *w, const reduction *r, const char *x) {
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    cols_state *st = (cols_state *)(w->scratch + r->state);
    int64_t stride = column_stride(w, r), row = stride * (int64_t)tc_dtype_size((tc_dtype)r->dtype);
    for (int64_t done = 0; done < w->c;) {
        int64_t at = st->pos % TC_LEAF, n = w->c - done < TC_LEAF - at ? w->c - done : TC_LEAF - at;
        if (!at) lanes_clear(w, r);
        (r->op == TC_R_SUM ? ops->sum_cols_add : ops->prod_cols_add)(lanes_of(w, r), x + done * row, at, n, w->r, stride);
        st->pos += n;
        done += n;
        if (at + n == TC_LEAF) merge_columns(w, r, st);
    }
}

/* Adds the leaves of n elements to a tree, 64 leaves at a time. */
static void add_row(walk *w, const reduction *r, tree *t, const char *x, int64_t n) {
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    union {
        float f[64];
        double d[64];
        int64_t i[64];
        tc_welford w[64];
    } leaf;
    size_t size = tc_dtype_size((tc_dtype)r->dtype);
    for (int64_t done = 0; done < n; done += 64 * TC_LEAF) {
        int64_t m = n - done < 64 * TC_LEAF ? n - done : 64 * TC_LEAF, leaves = (m + TC_LEAF - 1) / TC_LEAF;
        const char *from = x + (size_t)done * size;
        if (r->op == TC_R_WELFORD) ops->welford_leaves(leaf.w, from, m);
        else (r->op == TC_R_SUM ? ops->sum_leaves : ops->prod_leaves)(&leaf, from, m);
        for (int64_t k = 0; k < leaves; k++) {
            bool sum = r->op == TC_R_SUM;
            int lv = 0;
            if (r->op == TC_R_WELFORD)
                for (; t->count >> lv & 1; lv++) leaf.w[k] = tc_welford_merge(t->level.w[lv], leaf.w[k]);
            else if (r->dtype == TC_F32)
                for (; t->count >> lv & 1; lv++) leaf.f[k] = sum ? t->level.f[lv] + leaf.f[k] : t->level.f[lv] * leaf.f[k];
            else if (r->dtype == TC_F64)
                for (; t->count >> lv & 1; lv++) leaf.d[k] = sum ? t->level.d[lv] + leaf.d[k] : t->level.d[lv] * leaf.d[k];
            else
                for (; t->count >> lv & 1; lv++)
                    leaf.i[k] = (int64_t)(sum ? (uint64_t)t->level.i[lv] + (uint64_t)leaf.i[k] : (uint64_t)t->level.i[lv] * (uint64_t)leaf.i[k]);
            if (r->op == TC_R_WELFORD) t->level.w[lv] = leaf.w[k];
            else if (r->dtype == TC_F32) t->level.f[lv] = leaf.f[k];
            else if (r->dtype == TC_F64) t->level.d[lv] = leaf.d[k];
            else t->level.i[lv] = leaf.i[k];
            t->count++;
        }
    }
}

/* Does x replace best as the maximum or minimum? Not if it is equal; the first NaN stays. */
static bool better(tc_scalar x, tc_scalar best, bool max) {
    if (x.kind == TC_KIND_FLOAT) return best.f == best.f && (x.f != x.f || (max ? x.f > best.f : x.f < best.f));
    return max ? x.i > best.i : x.i < best.i;
}

static void add_running(walk *w, const reduction *r, const char *x) {
    char *state = w->scratch + r->state, *best = state + 64;
    int64_t *seen = (int64_t *)state, *index = (int64_t *)(best + tc_pad64((size_t)w->n->R * 16));
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    size_t size = tc_dtype_size((tc_dtype)r->dtype);
    bool max = r->op == TC_R_MAX || r->op == TC_R_ANY || r->op == TC_R_ARGMAX;
    void (*merge)(void *acc, const void *x, int64_t n) = max ? ops->max_add : ops->min_add;
    if (w->n->col) {
        for (int64_t k = 0; k < w->c; k++, ++*seen) {
            const char *row = x + k * column_stride(w, r) * (int64_t)size;
            if (is_arg(r->op)) (max ? ops->argmax_cols_add : ops->argmin_cols_add)(best, index, row, *seen, w->r);
            else if (!*seen) memcpy(best, row, (size_t)w->r * size);
            else merge(best, row, w->r);
        }
        return;
    }
    if (!w->c) return;
    for (int64_t k = 0; k < w->r; k++) {
        const char *row = x + (size_t)(k * w->c) * size;
        char found[16];
        if (is_arg(r->op)) {
            int64_t at;
            (max ? ops->argmax_rows : ops->argmin_rows)(&at, row, 1, w->c, w->c);
            tc_scalar v = tc_scalar_load((tc_dtype)r->dtype, row, at);
            if (*seen && !better(v, tc_scalar_load((tc_dtype)r->dtype, best, k), max)) continue;
            memcpy(best + (size_t)k * size, row + (size_t)at * size, size);
            index[k] = at + *seen;
        } else {
            (max ? ops->max_rows : ops->min_rows)(found, row, 1, w->c, w->c);
            if (*seen) merge(best + (size_t)k * size, found, 1);
            else memcpy(best + (size_t)k * size, found, size);
        }
    }
    *seen += w->c;
}

/* The result of a reduction over no elements. */
static void identity(walk *w, const reduction *r, void *out) {
    tc_dtype t = is_arg(r->op) ? TC_I64 : (tc_dtype)r->dtype;
    bool is_float = tc_is_float(t), is_max = r->op == TC_R_MAX;
    tc_scalar v = tc_scalar_int(0);
    if (r->op == TC_R_ALL) v = tc_scalar_int(1);
    if (r->op == TC_R_MAX || r->op == TC_R_MIN) {
        int bits = (int)tc_dtype_size(t) * 8;
        bool sign = tc_dtypes[t].is_signed;
        uint64_t high = sign ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        if (is_float) v = tc_scalar_float(is_max ? -__builtin_inf() : __builtin_inf());
        else if (t == TC_BOOL) v = tc_scalar_int(!is_max);
        else v = tc_scalar_int(is_max ? (sign ? -(int64_t)high - 1 : 0) : (int64_t)high);
    }
    for (int64_t k = 0; k < w->r; k++) tc_scalar_store(t, out, k, v);
}

/* Converts sums to the type of the result. */
static void store_sums(walk *w, const reduction *r, const step *s, const void *sums) {
    tc_dtype t = sum_type(r->dtype);
    if (t == (tc_dtype)s->dtype) memcpy(w->ptr[s->out], sums, (size_t)w->r * tc_dtype_size(t));
    else w->b->isa->cast[t][s->dtype](w->ptr[s->out], sums, w->r);
}

static void whole_sums(walk *w, const reduction *r, const step *s, const void *x) {
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    bool sum = r->op == TC_R_SUM, same = sum_type(r->dtype) == (tc_dtype)s->dtype;
    void *out = same ? w->ptr[s->out] : w->scratch + w->n->tmp;
    if (w->n->col) (sum ? ops->sum_cols : ops->prod_cols)(out, x, w->c, w->r, column_stride(w, r));
    else (sum ? ops->sum_rows : ops->prod_rows)(out, x, w->r, w->c, w->c);
    if (!same) store_sums(w, r, s, out);
}

void run_reduce(walk *w, const step *s) {
    const reduction *r = &w->n->red[s->aux];
    const void *x = w->ptr[s->a];
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    bool max = r->op == TC_R_MAX || r->op == TC_R_ANY || r->op == TC_R_ARGMAX;
    if (!r->whole) {
        if (ordered(r->op) && w->n->col) add_columns(w, r, x);
        else if (ordered(r->op) || r->op == TC_R_WELFORD) {
            size_t row = (size_t)w->c * tc_dtype_size((tc_dtype)r->dtype);
            for (int64_t k = 0; k < w->r; k++)
                add_row(w, r, (tree *)(w->scratch + r->state + (size_t)k * tc_pad64(sizeof(tree))), (const char *)x + (size_t)k * row, w->c);
        } else add_running(w, r, x);
        return;
    }
    if (ordered(r->op)) whole_sums(w, r, s, x);
    else if (r->op == TC_R_WELFORD) ops->welford_rows(w->ptr[s->out], x, w->r, w->c, w->c);
    else if (w->n->col) add_running(w, r, x);
    else if (is_arg(r->op)) (max ? ops->argmax_rows : ops->argmin_rows)(w->ptr[s->out], x, w->r, w->c, w->c);
    else (max ? ops->max_rows : ops->min_rows)(w->ptr[s->out], x, w->r, w->c, w->c);
}

static void finish_columns(walk *w, const reduction *r, const step *s) {
    cols_state *st = (cols_state *)(w->scratch + r->state);
    tc_dtype t = sum_type(r->dtype);
    if (st->pos % TC_LEAF) merge_columns(w, r, st);
    tc_block_fn merge = w->b->isa->scalar[t][r->op == TC_R_SUM ? TC_X_ADD : TC_X_MUL];
    void *sum = NULL;
    for (int k = 0; st->count >> k; k++) {
        if (!(st->count >> k & 1)) continue;
        if (sum) merge(sum, level_of(w, r, k), sum, NULL, w->r);
        else sum = level_of(w, r, k);
    }
    store_sums(w, r, s, sum);
}

static void finish_trees(walk *w, const reduction *r, const step *s) {
    char *out = w->scratch + w->n->tmp;
    for (int64_t k = 0; k < w->r; k++) {
        const tree *t = (const tree *)(w->scratch + r->state + (size_t)k * tc_pad64(sizeof(tree)));
        int lv = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
        tc_welford sw = t->level.w[lv];
        float sf = r->dtype == TC_F32 && r->op != TC_R_WELFORD ? t->level.f[lv] : 0;
        double sd = r->dtype == TC_F64 && r->op != TC_R_WELFORD ? t->level.d[lv] : 0;
        int64_t si = t->level.i[lv];
        bool sum = r->op == TC_R_SUM;
        for (lv++; t->count >> lv; lv++) {
            if (!(t->count >> lv & 1)) continue;
            if (r->op == TC_R_WELFORD) sw = tc_welford_merge(t->level.w[lv], sw);
            else if (r->dtype == TC_F32) sf = sum ? t->level.f[lv] + sf : t->level.f[lv] * sf;
            else if (r->dtype == TC_F64) sd = sum ? t->level.d[lv] + sd : t->level.d[lv] * sd;
            else si = (int64_t)(sum ? (uint64_t)t->level.i[lv] + (uint64_t)si : (uint64_t)t->level.i[lv] * (uint64_t)si);
        }
        if (r->op == TC_R_WELFORD) ((tc_welford *)w->ptr[s->out])[k] = sw;
        else if (r->dtype == TC_F32) ((float *)out)[k] = sf;
        else if (r->dtype == TC_F64) ((double *)out)[k] = sd;
        else ((int64_t *)out)[k] = si;
    }
    if (r->op != TC_R_WELFORD) store_sums(w, r, s, out);
}

/* After the last block: writes the result, a vector with an element for each row of the block. */
void run_finish(walk *w, const step *s) {
    const reduction *r = &w->n->red[s->aux];
    if (!w->n->I.total) {
        if (r->op == TC_R_WELFORD) memset(w->ptr[s->out], 0, (size_t)w->r * sizeof(tc_welford));
        else if (!ordered(r->op)) identity(w, r, w->ptr[s->out]);
        else
            for (int64_t k = 0; k < w->r; k++) tc_scalar_store((tc_dtype)s->dtype, w->ptr[s->out], k, tc_scalar_int(r->op == TC_R_PROD));
        return;
    }
    if (r->whole && (!w->n->col || ordered(r->op) || r->op == TC_R_WELFORD)) return;
    if (ordered(r->op) && w->n->col) finish_columns(w, r, s);
    else if (ordered(r->op) || r->op == TC_R_WELFORD) finish_trees(w, r, s);
    else {
        const char *best = w->scratch + r->state + 64;
        size_t size = tc_dtype_size((tc_dtype)r->dtype);
        if (is_arg(r->op)) memcpy(w->ptr[s->out], best + tc_pad64((size_t)w->n->R * 16), (size_t)w->r * 8);
        else memcpy(w->ptr[s->out], best, (size_t)w->r * size);
    }
}

/* ---- chunks of long rows ---- */
size_t reduced_bytes(const walk *w, const step *finish) {
    const size_t each = w->n->red[finish->aux].op == TC_R_WELFORD ? sizeof(tc_welford) : tc_dtype_size((tc_dtype)finish->dtype);
    return (size_t)w->r * each;
}
static char *found_of(const walk *w, char *part) { return part + (size_t)w->n->R * VALUE_BYTES; }

void export_part(walk *w, const step *finish, char *part) {
    const reduction *r = &w->n->red[finish->aux];
    run_finish(w, finish);
    memcpy(part, w->ptr[finish->out], reduced_bytes(w, finish));
    if (!is_arg(r->op)) return;
    for (int64_t k = 0; k < w->r; k++) ((int64_t *)part)[k] += w->i0;
    memcpy(found_of(w, part), w->scratch + r->state + 64, (size_t)w->r * tc_dtype_size((tc_dtype)r->dtype));
}

/* argmax, argmin: a becomes the better of a and b in each row. */
static void merge_found(const walk *w, const reduction *r, char *a, char *b) {
    const tc_dtype t = (tc_dtype)r->dtype;
    for (int64_t k = 0; k < w->r; k++) {
        const tc_scalar x = tc_scalar_load(t, found_of(w, b), k);
        if (!better(x, tc_scalar_load(t, found_of(w, a), k), r->op == TC_R_ARGMAX)) continue;
        tc_scalar_store(t, found_of(w, a), k, x);
        ((int64_t *)a)[k] = ((const int64_t *)b)[k];
    }
}
static void merge_two(const walk *w, const reduction *r, tc_dtype t, char *a, char *b) {
    bool max = r->op == TC_R_MAX || r->op == TC_R_ANY;
    const tc_reduce_ops *ops = w->b->isa->reduce[r->dtype];
    if (is_arg(r->op)) merge_found(w, r, a, b);
    else if (ordered(r->op)) w->b->isa->scalar[t][r->op == TC_R_SUM ? TC_X_ADD : TC_X_MUL](a, a, b, NULL, w->r);
    else if (r->op != TC_R_WELFORD) (max ? ops->max_add : ops->min_add)(a, b, w->r);
    else
        for (int64_t k = 0; k < w->r; k++) ((tc_welford *)a)[k] = tc_welford_merge(((tc_welford *)a)[k], ((const tc_welford *)b)[k]);
}

void merge_parts(const walk *w, const step *finish, char *parts, int64_t n, size_t stride, char *out) {
    const reduction *r = &w->n->red[finish->aux];
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t k = 0; k + apart < n; k += 2 * apart)
            merge_two(w, r, (tc_dtype)finish->dtype, parts + (size_t)k * stride, parts + (size_t)(k + apart) * stride);
    memcpy(out, parts, reduced_bytes(w, finish));
}

/* ---- scans, in row mode, with a carry for each row ---- */
typedef union {
    double c[2], f; /* c first: {0} clears the first member of a union only */
    int64_t i;
} scan_carry;

/* m rows of n elements, m = SCAN_ROWS or 1. C: type of the carry, with suffix S and field F of scan_carry. */
#define EACH(T, C, next)                                                                  \
    for (int64_t i = 0; i < n; i++) _Pragma("GCC unroll 4") for (int r = 0; r < m; r++) { \
            C a = s[r], v = (C)x[r * n + i];                                              \
            s[r] = next;                                                                  \
            out[r * n + i] = (T)s[r];                                                     \
        }
/* max and min keep a NaN, and take the last of equal values. */
#define SCAN(T, C, F, S)                                                                                             \
    static inline __attribute__((always_inline)) void T##_rows(T *out, const T *x, int64_t n, int m, C *s, int op) { \
        if (op == TC_R_SUM) EACH(T, C, tc_x_add_##S(a, v))                                                           \
        else if (op == TC_R_PROD) EACH(T, C, tc_x_mul_##S(a, v))                                                     \
        else if (op == TC_R_MAX) EACH(T, C, a != a || a > v ? a : v)                                                 \
        else EACH(T, C, a != a || a < v ? a : v)                                                                     \
    }                                                                                                                \
    static void scan_##T(void *out, const void *x, int64_t n, int m, scan_carry *carry, int op) {                    \
        C s[SCAN_ROWS];                                                                                              \
        for (int r = 0; r < m; r++) s[r] = carry[r].F;                                                               \
        if (m == SCAN_ROWS) T##_rows(out, x, n, SCAN_ROWS, s, op);                                                   \
        else T##_rows(out, x, n, 1, s, op);                                                                          \
        for (int r = 0; r < m; r++) carry[r].F = s[r];                                                               \
    }
SCAN(float, double, f, f64)
SCAN(double, double, f, f64)
SCAN(int64_t, int64_t, i, i64)
#undef SCAN
#undef EACH

/* Products and logaddexp of c64 and c128, with a carry in c128. */
static void scan_complex(tc_dtype t, void *out, const void *x, int64_t n, double carry[2], int op) {
    tc_c128 s = {carry[0], carry[1]};
    for (int64_t i = 0; i < n; i++) {
        tc_c128 v = t == TC_C64 ? tc_x_cast_c64_c128(((const tc_c64 *)x)[i]) : ((const tc_c128 *)x)[i];
        s = op == TC_R_PROD ? tc_x_mul_c128(s, v) : tc_x_logaddexp_c128(v, s);
        if (t == TC_C64) ((tc_c64 *)out)[i] = tc_x_cast_c128_c64(s);
        else ((tc_c128 *)out)[i] = s;
    }
    carry[0] = s.re, carry[1] = s.im;
}
#define SCAN_INT(T)                                                               \
    static void scan_##T(T *out, const T *x, int64_t n, int64_t *carry, int op) { \
        int64_t s = *carry;                                                       \
        for (int64_t i = 0; i < n; i++) {                                         \
            int64_t v = (int64_t)x[i];                                            \
            if (op == TC_R_SUM) s = (int64_t)((uint64_t)s + (uint64_t)v);         \
            else if (op == TC_R_PROD) s = (int64_t)((uint64_t)s * (uint64_t)v);   \
            else if (op == TC_R_MAX || op == TC_R_ANY) s = s > v ? s : v;         \
            else s = s < v ? s : v;                                               \
            out[i] = (T)s;                                                        \
        }                                                                         \
        *carry = s;                                                               \
    }
SCAN_INT(int8_t)
SCAN_INT(int16_t)
SCAN_INT(int32_t)
SCAN_INT(uint8_t)
SCAN_INT(uint16_t)
SCAN_INT(uint32_t)
SCAN_INT(uint64_t)
#undef SCAN_INT
static void scan_int(tc_dtype t, void *out, const void *x, int64_t n, int64_t *carry, int op) {
    switch (t) {
    case TC_I8: scan_int8_t(out, x, n, carry, op); break;
    case TC_I16: scan_int16_t(out, x, n, carry, op); break;
    case TC_I32: scan_int32_t(out, x, n, carry, op); break;
    case TC_BOOL:
    case TC_U8: scan_uint8_t(out, x, n, carry, op); break;
    case TC_U16: scan_uint16_t(out, x, n, carry, op); break;
    case TC_U32: scan_uint32_t(out, x, n, carry, op); break;
    case TC_U64: scan_uint64_t(out, x, n, carry, op); break;
    default: TC_BUG("a scan of %s", tc_dtypes[t].name);
    }
}

static void scan_logs(const tc_reduce_ops *ops, void *out, const void *x, int64_t n, int m, scan_carry *carry) {
    double s[TC_LOG_ROWS];
    for (int r = 0; r < m; r++) s[r] = carry[r].f;
    ops->logaddexp_scan(out, x, n, m, s);
    for (int r = 0; r < m; r++) carry[r].f = s[r];
}

static scan_carry first_carry(tc_dtype t, int op) {
    bool prod = op == TC_R_PROD, max = op == TC_R_MAX || op == TC_R_ANY || op == TC_R_LOGADDEXP;
    scan_carry c = {0};
    if (tc_is_float(t)) c.f = op == TC_R_SUM ? 0 : prod ? 1 : max ? -__builtin_inf() : __builtin_inf();
    else if (tc_is_complex(t)) c.c[0] = prod ? 1 : -__builtin_inf();
    else c.i = op == TC_R_SUM ? 0 : prod ? 1 : max ? INT64_MIN : INT64_MAX;
    return c;
}

void run_scan(walk *w, const step *s) {
    const reduction *r = &w->n->red[s->aux];
    tc_dtype t = (tc_dtype)s->dtype;
    scan_carry *carry = (void *)(w->scratch + r->state);
    size_t row = (size_t)w->c * tc_dtype_size(t);
    bool logs = r->op == TC_R_LOGADDEXP && tc_is_float(t), abreast = t == TC_F32 || t == TC_F64 || t == TC_I64;
    for (int64_t k = 0; k < w->r && !w->i0; k++) carry[k] = first_carry(t, r->op);
    for (int64_t k = 0, m; k < w->r; k += m) {
        const char *x = (const char *)w->ptr[s->a] + (size_t)k * row;
        char *out = (char *)w->ptr[s->out] + (size_t)k * row;
        m = logs ? w->r - k < TC_LOG_ROWS ? w->r - k : TC_LOG_ROWS : abreast && w->r - k >= SCAN_ROWS ? SCAN_ROWS : 1;
        if (logs) scan_logs(w->b->isa->reduce[t], out, x, w->c, (int)m, carry + k);
        else if (t == TC_F32) scan_float(out, x, w->c, (int)m, carry + k, r->op);
        else if (t == TC_F64) scan_double(out, x, w->c, (int)m, carry + k, r->op);
        else if (t == TC_I64) scan_int64_t(out, x, w->c, (int)m, carry + k, r->op);
        else if (tc_is_complex(t)) scan_complex(t, out, x, w->c, carry[k].c, r->op);
        else scan_int(t, out, x, w->c, &carry[k].i, r->op);
    }
}
