/* unique, unique_dim and unique_consecutive: groups of equal slices along a dimension, in sorted order or in the order given. */
#include "kernel/sort_keys.h"
#include "kernel/sort.h"

#include <string.h>

typedef struct {
    int64_t n, outer, inner;
} slices; /* slice i: element (o, i, k) at (o * n + i) * inner + k */

static slices slices_of(const tc_tensor *t, int dim) { /* dim -1: every element is a slice */
    slices s = {.n = 1, .outer = 1, .inner = 1};
    if (dim < 0) {
        s.n = tc_tensor_numel(t);
        return s;
    }
    s.n = t->size[dim];
    for (int d = 0; d < dim; d++) s.outer *= t->size[d];
    for (int d = dim + 1; d < t->rank; d++) s.inner *= t->size[d];
    return s;
}

static int compare(const tc_tensor *t, const slices *s, int64_t a, int64_t b) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->inner; k++) {
            tc_order x, y;
            tc_order_keys(t, (o * s->n + a) * s->inner + k, 1, 1, false, &x);
            tc_order_keys(t, (o * s->n + b) * s->inner + k, 1, 1, false, &y);
            if (x.key != y.key) return x.key < y.key ? -1 : 1;
        }
    return 0;
}

static void merge_sort(const tc_tensor *t, const slices *s, int64_t *a, int64_t *buffer, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n, i = lo, j = mid, k = lo;
            while (i < mid && j < hi) buffer[k++] = compare(t, s, a[j], a[i]) < 0 ? a[j++] : a[i++];
            while (i < mid) buffer[k++] = a[i++];
            while (j < hi) buffer[k++] = a[j++];
        }
        memcpy(a, buffer, (size_t)n * sizeof *a);
    }
}

/* The slices sorted or in the order given, and the groups of equal ones in it. */
typedef struct {
    const tc_tensor *t;
    int dim; /* -1: of the flattened tensor */
    slices s;
    const int64_t *order; /* the slices, equal ones adjacent; NULL: as they are */
    const uint64_t *keys; /* of the flattened tensor where it is sorted: the ordering key of each slice, in this order */
    int64_t *start;       /* of each group, and one more, s.n: where in this order it begins */
    int64_t groups;
} grouping;

static int64_t slice_at(const grouping *g, int64_t i) { return g->order ? g->order[i] : i; }

/* Adds places [at, at + n) of the flattened tensor. key[0] is that of place at - 1. Each NaN is a group of its own, as it differs from itself; nan: its
 * key, the largest of the type, if it has one. */
static int64_t add_starts(const uint64_t *key, int64_t at, int64_t n, const uint64_t *nan, int64_t *start, int64_t groups) {
    const bool has_nan = nan != NULL;
    const uint64_t last = has_nan ? *nan : 0;
    for (int64_t i = 0; i < n; i++) { /* without a branch: a place that begins no group is overwritten */
        start[groups] = at + i;
        groups += (key[i + 1] != key[i]) | (has_nan & (key[i + 1] == last));
    }
    return groups;
}
enum { CHUNK = 512 };
/* Finds the groups of the flattened tensor. */
static void group_elements(grouping *g) {
    const int bits = (int)tc_dtypes[g->t->dtype].size * 8;
    const uint64_t nan = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    uint64_t key[CHUNK + 1];
    g->groups = 0;
    for (int64_t at = 0; at < g->s.n; at += CHUNK) {
        const int64_t n = g->s.n - at < CHUNK ? g->s.n - at : CHUNK;
        if (g->keys) memcpy(key + 1, g->keys + at, (size_t)n * sizeof *key);
        else tc_order_plain(g->t, at, 1, n, key + 1);
        if (!at) key[0] = ~key[1];
        g->groups = add_starts(key, at, n, tc_is_float(g->t->dtype) ? &nan : NULL, g->start, g->groups);
        key[0] = key[n];
    }
}
/* Finds the groups of slices along a dimension. */
static void group_slices(grouping *g) {
    g->groups = 0;
    for (int64_t i = 0; i < g->s.n; i++)
        if (!i || compare(g->t, &g->s, slice_at(g, i - 1), slice_at(g, i)) != 0) g->start[g->groups++] = i;
}
/* Writes the first slice of each group to result 0. */
static tc_status write_values(tc_kcall *c, const grouping *g) {
    const tc_tensor *t = g->t;
    const slices *s = &g->s;
    int64_t size[TC_MAX_RANK], rank = g->dim < 0 ? 1 : t->rank;
    for (int d = 0; d < rank; d++) size[d] = g->dim < 0 || d == g->dim ? g->groups : t->size[d];
    TC_TRY(c->alloc(c, 0, t->dtype, (int)rank, size));
    const size_t slice = (size_t)s->inner * tc_dtype_size(t->dtype);
    const char *from = tc_tensor_data(t);
    char *to = tc_tensor_data(&c->outs[0]);
    const int64_t alone = s->outer == 1 ? g->groups : 0; /* slices that are read and written one after the other */
    for (int64_t k = 0; slice == 8 && k < alone; k++) memcpy(to + k * 8, from + slice_at(g, g->start[k]) * 8, 8);
    for (int64_t k = 0; slice == 4 && k < alone; k++) memcpy(to + k * 4, from + slice_at(g, g->start[k]) * 4, 4);
    if (alone && (slice == 8 || slice == 4)) return NULL;
    for (int64_t k = 0; k < g->groups; k++)
        for (int64_t o = 0; o < s->outer; o++)
            memcpy(to + (size_t)(o * g->groups + k) * slice, from + (size_t)(o * s->n + slice_at(g, g->start[k])) * slice, slice);
    return NULL;
}
/* Writes the group of each slice to result 1, which is empty if it is not wanted. */
static tc_status write_inverse(tc_kcall *c, const grouping *g, bool wanted) {
    const int64_t none = 0;
    if (!wanted) return c->alloc(c, 1, TC_I64, 1, &none);
    TC_TRY(c->alloc(c, 1, TC_I64, g->dim < 0 ? g->t->rank : 1, g->dim < 0 ? g->t->size : &g->s.n));
    int64_t *to = tc_tensor_data(&c->outs[1]);
    for (int64_t i = 0, k = 0; i < g->s.n; i++) {
        k += i == g->start[k + 1];
        to[slice_at(g, i)] = k;
    }
    return NULL;
}
/* Writes the size of each group to result 2, which is empty if it is not wanted. */
static tc_status write_counts(tc_kcall *c, const grouping *g, bool wanted) {
    const int64_t none = 0;
    if (!wanted) return c->alloc(c, 2, TC_I64, 1, &none);
    TC_TRY(c->alloc(c, 2, TC_I64, 1, &g->groups));
    int64_t *n = tc_tensor_data(&c->outs[2]);
    for (int64_t k = 0; k < g->groups; k++) n[k] = g->start[k + 1] - g->start[k];
    return NULL;
}

/* Sorts the elements of the flattened tensor. pairs: scratch for two of each. */
static void sort_elements(const tc_tensor *t, int64_t n, int64_t *order, uint64_t *keys, tc_order *pairs) {
    uint64_t *a = (uint64_t *)(void *)pairs;
    if (tc_order_packs(t->dtype, n)) {
        tc_order_sort_packed(a, a + n, n, 32, tc_order_pack(t, 0, 1, n, false, a));
        for (int64_t i = 0; i < n; i++) order[i] = (int64_t)(uint32_t)a[i], keys[i] = a[i] >> 32;
        return;
    }
    const int bits = tc_order_keys(t, 0, 1, n, false, pairs);
    tc_order_sort(pairs, pairs + n, n, bits);
    for (int64_t i = 0; i < n; i++) order[i] = pairs[i].index, keys[i] = pairs[i].key;
}
static tc_status unique(tc_kcall *c, int dim, bool sort, bool want_inverse, bool want_counts) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    if (tc_is_complex(t->dtype)) return tc_error(TC_CONTENT, "unique is not defined for complex numbers");
    slices s = slices_of(t, dim);
    int64_t *start = c->scratch, *order = start + s.n + 1;
    uint64_t *keys = (uint64_t *)(order + s.n);
    grouping g = {.t = t, .dim = dim, .s = s, .start = start, .order = sort ? order : NULL, .keys = sort && dim < 0 ? keys : NULL};
    if (sort && dim < 0) {
        sort_elements(t, s.n, order, keys, (tc_order *)(void *)(keys + s.n));
    } else if (sort) {
        for (int64_t i = 0; i < s.n; i++) order[i] = i;
        merge_sort(t, &s, order, start, s.n);
    }
    if (dim < 0) group_elements(&g);
    else group_slices(&g);
    start[g.groups] = s.n;
    TC_TRY(write_values(c, &g));
    TC_TRY(write_inverse(c, &g, want_inverse));
    return write_counts(c, &g, want_counts);
}
static size_t scratch_of(const tc_tensor *t, int dim) {
    slices s = slices_of(t, dim);
    return (size_t)s.n * (3 * sizeof(int64_t) + 2 * sizeof(tc_order)) + sizeof(int64_t);
}
static int dim_of(const tc_kcall *c, int arg) { return tc_k_given(c, arg) ? tc_k_dim(c, arg, tc_k_tensor(c, 0)->rank) : -1; }

static tc_status run_unique(tc_kcall *c) { return unique(c, -1, true, tc_k_bool(c, 2), tc_k_bool(c, 3)); }
static size_t scratch_unique(const tc_kcall *c, int threads) {
    (void)threads;
    return scratch_of(tc_k_tensor(c, 0), -1);
}
const tc_kernel tc_k_unique = {.name = "unique", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_unique, .scratch = scratch_unique};

static tc_status run_unique_dim(tc_kcall *c) { return unique(c, dim_of(c, 1), true, tc_k_bool(c, 3), tc_k_bool(c, 4)); }
static size_t scratch_unique_dim(const tc_kcall *c, int threads) {
    (void)threads;
    return scratch_of(tc_k_tensor(c, 0), dim_of(c, 1));
}
const tc_kernel tc_k_unique_dim = {
    .name = "unique_dim", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_unique_dim, .scratch = scratch_unique_dim};

static tc_status run_unique_consecutive(tc_kcall *c) { return unique(c, dim_of(c, 3), false, tc_k_bool(c, 1), tc_k_bool(c, 2)); }
static size_t scratch_consecutive(const tc_kcall *c, int threads) {
    (void)threads;
    slices s = slices_of(tc_k_tensor(c, 0), dim_of(c, 3));
    return (size_t)(s.n + 1) * sizeof(int64_t);
}
const tc_kernel tc_k_unique_consecutive = {
    .name = "unique_consecutive", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_unique_consecutive, .scratch = scratch_consecutive};
