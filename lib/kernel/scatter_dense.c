/* Where destinations are few, each leaf of sources is summed into a row with one accumulator for each destination; the rows are merged by the tree:
 *
 *     leaf of 256 sources     acc = -0 ...;  acc[index[s]] += x[s], ascending
 *     tree                    level[k] holds the merged rows of 2^k leaves
 *
 * A destination without sources in a leaf keeps -0, and -0 + v is v: the same bits as leaving the leaf out.
 *
 * Where they are many, each destination has its own part of the tree (partial sums), which a source in a later leaf merges as far as the tree joins the
 * two leaves. */
#include "kernel/scatter_dense.h"

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/tree.h"

#include <math.h>
#include <string.h>

static int64_t leaves_of(int64_t n) { return (n + TC_LEAF - 1) / TC_LEAF; }

/* Do passes over rows of accumulators cost less than sorting the sources? */
static bool few_destinations(int64_t n, int64_t size) { return size <= (1 << 20) && leaves_of(n) * size <= 16 * n; }

/* The partial sums of one destination, followed by its values: acc, the sum of the sources in `leaf`, and for each bit k of `mask` the merged leaves whose
 * joint with `leaf` is of 2^(k + 1) leaves. */
typedef struct {
    int32_t leaf; /* -1: no source yet */
    uint32_t mask;
} partial_sums;
static int64_t partial_bytes(int64_t n, size_t e) {
    const int levels = leaves_of(n) > 1 ? 64 - __builtin_clzll((unsigned long long)leaves_of(n) - 1) : 0;
    return (int64_t)tc_round_up(sizeof(partial_sums) + (size_t)(1 + levels) * e, 16);
}
/* Is their memory no more than twice that of sorting? */
static bool many_destinations(int64_t n, int64_t size, size_t e) { return leaves_of(n) < INT32_MAX && size <= 64 * n / partial_bytes(n, e); }

bool tc_dense_pays(tc_dtype dtype, int64_t n, int64_t size) {
    return (dtype == TC_F32 || dtype == TC_F64) && (few_destinations(n, size) || many_destinations(n, size, tc_dtype_size(dtype)));
}
static int levels_of(int64_t n) {
    int k = 2;
    for (int64_t l = leaves_of(n); l; l >>= 1) k++;
    return k;
}
size_t tc_dense_bytes(int64_t n, int64_t size) {
    return few_destinations(n, size) ? (size_t)levels_of(n) * tc_pad64((size_t)size * 8) : tc_pad64((size_t)(size * partial_bytes(n, 8)));
}

enum { AHEAD = 16 }; /* sources from the one that is added to the one whose sums are prefetched */
#define ADD(T, S)                                                                                                       \
    static void leaf_##S(const tc_dense_row *r, T *acc, int64_t first, int64_t last) {                                  \
        const T *x = r->x, zero = (T)-0.0;                                                                              \
        const int64_t *index = r->index;                                                                                \
        r->isa->move->fill[sizeof(T) == 4 ? 2 : 3](acc, &zero, r->size);                                                \
        if (r->x_step == 1 && r->index_step == 1)                                                                       \
            for (int64_t s = first; s < last; s++) acc[index[s]] += x[s];                                               \
        else                                                                                                            \
            for (int64_t s = first; s < last; s++) acc[index[s * r->index_step]] += x[s * r->x_step];                   \
    }                                                                                                                   \
    static void finish_##S(const tc_dense_row *r, const T *sum) {                                                       \
        T *out = r->out;                                                                                                \
        for (int64_t i = 0; i < r->size; i++) out[i * r->out_step] += sum[i];                                           \
    }                                                                                                                   \
    /* v, merged with the leaves of `mask` below bit `end`. */                                                          \
    static T merged_##S(const T *level, uint32_t mask, int end, T v) {                                                  \
        for (uint32_t m = mask & (uint32_t)((UINT64_C(1) << end) - 1); m; m &= m - 1) v = level[__builtin_ctz(m)] + v;  \
        return v;                                                                                                       \
    }                                                                                                                   \
    static void each_##S(const tc_dense_row *r, char *sums) {                                                           \
        const T *x = r->x;                                                                                              \
        T *out = r->out;                                                                                                \
        const int64_t bytes = partial_bytes(r->n, sizeof(T));                                                           \
        for (int64_t i = 0; i < r->size; i++) *(partial_sums *)(void *)(sums + i * bytes) = (partial_sums){.leaf = -1}; \
        for (int64_t s = 0; s < r->n; s++) {                                                                            \
            __builtin_prefetch(sums + r->index[(s + AHEAD < r->n ? s + AHEAD : s) * r->index_step] * bytes, 1);         \
            partial_sums *p = (partial_sums *)(void *)(sums + r->index[s * r->index_step] * bytes);                     \
            T *acc = (T *)(void *)(p + 1), *level = acc + 1;                                                            \
            const int32_t leaf = (int32_t)(s / TC_LEAF);                                                                \
            const T v = x[s * r->x_step];                                                                               \
            if (p->leaf == leaf) {                                                                                      \
                *acc += v;                                                                                              \
                continue;                                                                                               \
            }                                                                                                           \
            if (p->leaf >= 0) {                                                                                         \
                const int joint = 31 - __builtin_clz((uint32_t)(p->leaf ^ leaf));                                       \
                level[joint] = merged_##S(level, p->mask, joint, *acc);                                                 \
                p->mask = (p->mask >> joint | 1) << joint;                                                              \
            }                                                                                                           \
            p->leaf = leaf;                                                                                             \
            *acc = v;                                                                                                   \
        }                                                                                                               \
        for (int64_t i = 0; i < r->size; i++) {                                                                         \
            const partial_sums *p = (const partial_sums *)(const void *)(sums + i * bytes);                             \
            const T *acc = (const T *)(const void *)(p + 1);                                                            \
            if (p->leaf >= 0) out[i * r->out_step] += merged_##S(acc + 1, p->mask, 32, *acc);                           \
        }                                                                                                               \
    }
ADD(float, f32)
ADD(double, f64)
#undef ADD

void tc_dense_add(const tc_dense_row *r, void *scratch) {
    if (!few_destinations(r->n, r->size)) {
        if (r->dtype == TC_F32) each_f32(r, scratch);
        else each_f64(r, scratch);
        return;
    }
    size_t row = tc_pad64((size_t)r->size * 8);
    char *level[64], *spare = scratch, *next = spare + row;
    tc_block_fn add = r->isa->scalar[r->dtype][TC_X_ADD];
    int64_t leaves = leaves_of(r->n);
    for (int k = 0; k < 64; k++) level[k] = NULL;
    for (int64_t leaf = 0; leaf < leaves; leaf++) {
        int64_t first = leaf * TC_LEAF, last = first + TC_LEAF < r->n ? first + TC_LEAF : r->n;
        if (r->dtype == TC_F32) leaf_f32(r, (float *)(void *)spare, first, last);
        else leaf_f64(r, (double *)(void *)spare, first, last);
        int k = 0;
        for (; leaf >> k & 1; k++) add(spare, level[k], spare, NULL, r->size);
        char *free_row = level[k] ? level[k] : next;
        if (!level[k]) next += row;
        level[k] = spare;
        spare = free_row;
    }
    char *sum = NULL;
    for (int k = 0; leaves >> k; k++) {
        if (!(leaves >> k & 1)) continue;
        if (sum) add(sum, level[k], sum, NULL, r->size);
        else sum = level[k];
    }
    if (!sum) return;
    if (r->out_step == 1) add(r->out, r->out, sum, NULL, r->size);
    else if (r->dtype == TC_F32) finish_f32(r, (const float *)(const void *)sum);
    else finish_f64(r, (const double *)(const void *)sum);
}

static int64_t dense_side(int64_t n) { return n + 16; }
size_t tc_dense_block_bytes(int64_t n, int64_t size) { return (size_t)(dense_side(n) * 16 + dense_side(size) * 8) * TC_DENSE_BLOCK + 64; }
/* Copies the columns of a block to rows, dense_side(n) elements apart. */
static void columns_to_rows(const tc_isa_ops *isa, void *to, const void *from, int64_t step, int64_t n, int64_t columns, size_t e) {
    isa->move->transpose[__builtin_ctz((unsigned)e)](to, dense_side(n), from, step, n, columns);
}
bool tc_dense_block(const tc_dense_row *r, int64_t columns, bool src, void (*run)(const tc_dense_row *, void *), void *run_scratch, void *rows) {
    size_t e = tc_dtype_size(r->dtype);
    int64_t *index = rows;
    char *x = (char *)(index + TC_DENSE_BLOCK * dense_side(r->n)), *out = x + TC_DENSE_BLOCK * dense_side(r->n) * 8;
    columns_to_rows(r->isa, index, r->index, r->index_step, r->n, columns, 8);
    if (src) columns_to_rows(r->isa, x, r->x, r->x_step, r->n, columns, e);
    columns_to_rows(r->isa, out, r->out, r->out_step, r->size, columns, e);
    for (int64_t c = 0; c < columns; c++) {
        tc_dense_row one = *r;
        one.index = index + c * dense_side(r->n), one.index_step = 1;
        if (!r->isa->move->in_range(one.index, 0, r->size, r->n)) return false;
        if (src) one.x = x + (size_t)(c * dense_side(r->n)) * e, one.x_step = 1;
        one.out = out + (size_t)(c * dense_side(r->size)) * e, one.out_step = 1;
        run(&one, run_scratch);
    }
    r->isa->move->transpose[__builtin_ctz((unsigned)e)](r->out, r->out_step, out, dense_side(r->size), columns, r->size);
    return true;
}

#define EACH(T, op)                                         \
    {                                                       \
        T *out = r->out;                                    \
        const T *x = r->x;                                  \
        for (int64_t s = 0; s < n; s++) {                   \
            T *to = out + index[s * index_step] * out_step; \
            *to = (T)(op);                                  \
        }                                                   \
        break;                                              \
    }
void tc_dense_add_int(const tc_dense_row *r) {
    const int64_t *index = r->index, n = r->n, index_step = r->index_step, out_step = r->out_step, x_step = r->x_step;
    switch (tc_dtype_size(r->dtype)) {
    case 1:
        if (r->dtype == TC_BOOL) EACH(uint8_t, *to | x[s * x_step])
        else EACH(uint8_t, *to + x[s * x_step])
    case 2: EACH(uint16_t, *to + x[s * x_step])
    case 4: EACH(uint32_t, *to + x[s * x_step])
    default: EACH(uint64_t, *to + x[s * x_step])
    }
}
typedef struct {
    uint64_t a, b;
} u128;
void tc_dense_set(const tc_dense_row *r) {
    const int64_t *index = r->index, n = r->n, index_step = r->index_step, out_step = r->out_step, x_step = r->x_step;
    switch (tc_dtype_size(r->dtype)) {
    case 1: EACH(uint8_t, x[s * x_step])
    case 2: EACH(uint16_t, x[s * x_step])
    case 4: EACH(uint32_t, x[s * x_step])
    case 8: EACH(uint64_t, x[s * x_step])
    default: {
        u128 *out = r->out;
        const u128 *x = r->x;
        for (int64_t s = 0; s < n; s++) out[index[s * index_step] * out_step] = x[s * x_step];
    }
    }
}
#undef EACH

bool tc_dense_reduces(tc_dtype dtype, tc_scatter_mode mode, int64_t n, int64_t size) {
    if (mode == TC_SCATTER_SUM || mode == TC_SCATTER_MEAN) return tc_dense_pays(dtype, n, size);
    return (mode == TC_SCATTER_AMAX || mode == TC_SCATTER_AMIN) && (dtype == TC_F32 || dtype == TC_F64 || dtype == TC_I64);
}
/* Writes `empty` to all destinations that have a source. */
#define BEGIN(T, empty) \
    for (int64_t s = 0; s < r->n; s++) ((T *)r->out)[r->index[s * r->index_step] * r->out_step] = empty;
/* Extremes of equal numbers (-0 and +0) are the last one, as in scatter_sources.c, and NaN stays. No branch depends on the numbers. */
#define REDUCE(T, S, least, most, is_nan)                                                \
    static void extreme_##S(const tc_dense_row *r) {                                     \
        const bool max = r->mode == TC_SCATTER_AMAX;                                     \
        const T *x = r->x;                                                               \
        T *out = r->out;                                                                 \
        if (!r->include_self) BEGIN(T, max ? least : most)                               \
        for (int64_t s = 0; s < r->n; s++) {                                             \
            T *to = out + r->index[s * r->index_step] * r->out_step;                     \
            const T from[2] = {x[s * r->x_step], *to};                                   \
            *to = from[(max ? from[1] > from[0] : from[1] < from[0]) | is_nan(from[1])]; \
        }                                                                                \
    }
#define NEVER(x) false
REDUCE(float, f32, -INFINITY, INFINITY, isnan)
REDUCE(double, f64, -INFINITY, INFINITY, isnan)
REDUCE(int64_t, i64, INT64_MIN, INT64_MAX, NEVER)
#define DIVIDE(T)                                                            \
    for (int64_t i = 0; i < r->size; i++) {                                  \
        T *to = (T *)r->out + i * r->out_step;                               \
        if (count[i]) *to = (T)(*to / (double)(count[i] + r->include_self)); \
    }
void tc_dense_reduce(const tc_dense_row *r, void *scratch) {
    const bool single = r->dtype == TC_F32;
    if (r->mode == TC_SCATTER_AMAX || r->mode == TC_SCATTER_AMIN) {
        if (single) extreme_f32(r);
        else if (r->dtype == TC_F64) extreme_f64(r);
        else extreme_i64(r);
        return;
    }
    if (!r->include_self) {
        if (single) BEGIN(float, -0.0F)
        else BEGIN(double, -0.0)
    }
    tc_dense_add(r, scratch);
    if (r->mode == TC_SCATTER_SUM) return;
    int64_t *count = scratch; /* the sums are written */
    memset(count, 0, (size_t)r->size * sizeof *count);
    for (int64_t s = 0; s < r->n; s++) count[r->index[s * r->index_step]]++;
    if (single) DIVIDE(float)
    else DIVIDE(double)
}
