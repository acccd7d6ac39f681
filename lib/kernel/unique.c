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

/* The slices sorted or in the order given, and what of them is asked for. */
typedef struct {
    const tc_tensor *t;
    int dim; /* -1: of the flattened tensor */
    slices s;
    int64_t *order, *group; /* the slices, equal ones adjacent; the number of the group of each, in this order */
    uint64_t *keys;         /* of the flattened tensor: the ordering key of each slice, in this order */
    int64_t groups;
} grouping;

/* Numbers the groups of equal slices. */
static void number_groups(grouping *g) {
    const tc_tensor *t = g->t;
    const int64_t n = g->s.n, *order = g->order;
    int64_t sorted = 0, *group = g->group;
    /* each NaN is a group of its own, as it differs from itself; NaNs have the largest key of the type */
    if (g->dim < 0 && n) {
        const int bits = (int)tc_dtypes[t->dtype].size * 8;
        const uint64_t nan = tc_is_float(t->dtype) ? (bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1) : 0, *key = g->keys;
        group[0] = 0;
        for (sorted = 1; sorted < n; sorted++) group[sorted] = group[sorted - 1] + (key[sorted] != key[sorted - 1] || (nan && key[sorted] == nan));
    }
    for (int64_t i = sorted; i < n; i++) group[i] = i == 0 ? 0 : group[i - 1] + (compare(t, &g->s, order[i - 1], order[i]) != 0);
    g->groups = n ? group[n - 1] + 1 : 0;
}
/* Writes the first slice of each group to result 0. */
static tc_status write_values(tc_kcall *c, const grouping *g) {
    const tc_tensor *t = g->t;
    const slices *s = &g->s;
    int64_t size[TC_MAX_RANK], rank = g->dim < 0 ? 1 : t->rank;
    for (int d = 0; d < rank; d++) size[d] = g->dim < 0 || d == g->dim ? g->groups : t->size[d];
    TC_TRY(c->alloc(c, 0, t->dtype, (int)rank, size));
    const size_t bytes = tc_dtype_size(t->dtype), slice = (size_t)s->inner * bytes;
    const char *from = tc_tensor_data(t);
    char *to = tc_tensor_data(&c->outs[0]);
    /* single elements without a branch: the first of each group comes last */
    for (int64_t i = s->n; slice == 8 && s->outer == 1 && i-- > 0;) memcpy(to + g->group[i] * 8, from + g->order[i] * 8, 8);
    for (int64_t i = s->n; slice == 4 && s->outer == 1 && i-- > 0;) memcpy(to + g->group[i] * 4, from + g->order[i] * 4, 4);
    if ((slice == 8 || slice == 4) && s->outer == 1) return NULL;
    for (int64_t i = 0; i < s->n; i++) {
        if (i && g->group[i] == g->group[i - 1]) continue;
        for (int64_t o = 0; o < s->outer; o++)
            memcpy(to + (size_t)(o * g->groups + g->group[i]) * slice, from + (size_t)(o * s->n + g->order[i]) * slice, slice);
    }
    return NULL;
}
/* Writes the group of each slice to result 1, which is empty if it is not wanted. */
static tc_status write_inverse(tc_kcall *c, const grouping *g, bool wanted) {
    const int64_t none = 0;
    if (!wanted) return c->alloc(c, 1, TC_I64, 1, &none);
    TC_TRY(c->alloc(c, 1, TC_I64, g->dim < 0 ? g->t->rank : 1, g->dim < 0 ? g->t->size : &g->s.n));
    for (int64_t i = 0; i < g->s.n; i++) ((int64_t *)tc_tensor_data(&c->outs[1]))[g->order[i]] = g->group[i];
    return NULL;
}
/* Writes the size of each group to result 2, which is empty if it is not wanted. */
static tc_status write_counts(tc_kcall *c, const grouping *g, bool wanted) {
    const int64_t none = 0;
    if (!wanted) return c->alloc(c, 2, TC_I64, 1, &none);
    TC_TRY(c->alloc(c, 2, TC_I64, 1, &g->groups));
    int64_t *n = tc_tensor_data(&c->outs[2]);
    memset(n, 0, (size_t)g->groups * sizeof *n);
    for (int64_t i = 0; i < g->s.n; i++) n[g->group[i]]++;
    return NULL;
}

static tc_status unique(tc_kcall *c, int dim, bool sort, bool want_inverse, bool want_counts) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    if (tc_is_complex(t->dtype)) return tc_error(TC_CONTENT, "unique is not defined for complex numbers");
    slices s = slices_of(t, dim);
    int64_t *order = c->scratch, *group = order + s.n;
    uint64_t *keys = (uint64_t *)(group + s.n), *a = keys + s.n;
    if (dim < 0 && !sort) {
        for (int64_t i = 0; i < s.n; i++) order[i] = i;
        tc_order_plain(t, 0, 1, s.n, keys);
    } else if (dim < 0 && tc_order_packs(t->dtype, s.n)) {
        tc_order_sort_packed(a, a + s.n, s.n, 32, tc_order_pack(t, 0, 1, s.n, false, a));
        for (int64_t i = 0; i < s.n; i++) order[i] = (int64_t)(uint32_t)a[i], keys[i] = a[i] >> 32;
    } else if (dim < 0) {
        tc_order *pairs = (tc_order *)(void *)a;
        int bits = tc_order_keys(t, 0, 1, s.n, false, pairs);
        tc_order_sort(pairs, pairs + s.n, s.n, bits);
        for (int64_t i = 0; i < s.n; i++) order[i] = pairs[i].index, keys[i] = pairs[i].key;
    } else {
        for (int64_t i = 0; i < s.n; i++) order[i] = i;
        if (sort) merge_sort(t, &s, order, group, s.n);
    }
    grouping g = {.t = t, .dim = dim, .s = s, .order = order, .group = group, .keys = keys};
    number_groups(&g);
    TC_TRY(write_values(c, &g));
    TC_TRY(write_inverse(c, &g, want_inverse));
    return write_counts(c, &g, want_counts);
}
static size_t scratch_of(const tc_tensor *t, int dim) {
    slices s = slices_of(t, dim);
    return (size_t)s.n * (3 * sizeof(int64_t) + 2 * sizeof(tc_order));
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
    return scratch_of(tc_k_tensor(c, 0), dim_of(c, 3));
}
const tc_kernel tc_k_unique_consecutive = {
    .name = "unique_consecutive", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_unique_consecutive, .scratch = scratch_consecutive};
