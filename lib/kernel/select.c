/* Kernels whose result sizes depend on the data: unique, nonzero, masked_select. */
#include "kernel/sort_keys.h"
#include "kernel/sort.h"

#include <string.h>

#include "kernel/isa.h"
#include "kernel/isa_row.h"

static bool is_set(const tc_tensor *t, int64_t i) {
    tc_scalar s = tc_scalar_load(t->dtype, t->storage->data, t->offset + i);
    return s.kind == TC_KIND_FLOAT ? s.f != 0 : s.kind == TC_KIND_COMPLEX ? s.re != 0 || s.im != 0 : s.i != 0;
}

/* Elements [first, first + n) of a contiguous tensor as bools: in place, or converted to buffer. */
enum { CHUNK = 2048 };
static const uint8_t *as_bools(const tc_kcall *c, const tc_tensor *t, int64_t first, int64_t n, uint8_t *buffer) {
    const char *x = (const char *)tc_tensor_data(t) + (size_t)first * tc_dtype_size(t->dtype);
    if (t->dtype == TC_BOOL) return (const uint8_t *)x;
    c->isa->cast[t->dtype][TC_BOOL](buffer, x, n);
    return buffer;
}
static int64_t count_set(const tc_kcall *c, const tc_tensor *t) {
    uint8_t buffer[CHUNK];
    int64_t all = tc_tensor_numel(t), count = 0;
    for (int64_t i = 0; i < all; i += CHUNK) {
        int64_t n = all - i < CHUNK ? all - i : CHUNK;
        const uint8_t *set = as_bools(c, t, i, n, buffer);
        int32_t here = 0;
        TC_VECTOR_LOOP
        for (int64_t k = 0; k < n; k++) here += set[k] != 0; /* a file's bools may hold any byte */
        count += here;
    }
    return count;
}

static tc_status run_nonzero(tc_kcall *c) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    int64_t all = tc_tensor_numel(t), count = count_set(c, t), last = t->rank - 1, width = t->rank ? t->size[last] : 1;
    uint8_t buffer[CHUNK];
    TC_TRY(c->alloc(c, 0, TC_I64, 2, (int64_t[]){count, t->rank}));
    int64_t *out = tc_tensor_data(&c->outs[0]), index[TC_MAX_RANK] = {0};
    if (!t->rank) return NULL;
    for (int64_t row = 0; row < all; row += width) { /* rows of the last dimension, in pieces */
        for (int64_t i = 0; i < width; i += CHUNK) {
            int64_t n = width - i < CHUNK ? width - i : CHUNK;
            const uint8_t *set = as_bools(c, t, row + i, n, buffer);
            for (int64_t k = 0; k < n; k++) {
                if (!set[k]) continue;
                for (int d = 0; d < last; d++) *out++ = index[d];
                *out++ = i + k;
            }
        }
        for (int d = (int)last; d-- > 0;) {
            if (++index[d] < t->size[d]) break;
            index[d] = 0;
        }
    }
    return NULL;
}
const tc_kernel tc_k_nonzero = {.name = "nonzero", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_nonzero};

/* Walks two tensors broadcast against each other: at[] are their element offsets at each position of the joint shape, in row-major order. */
typedef struct {
    int rank;
    int64_t n, size[TC_MAX_RANK], step[2][TC_MAX_RANK], index[TC_MAX_RANK], at[2];
} pairwise;

static pairwise pair_up(const tc_tensor *a, const tc_tensor *b) {
    pairwise p = {.rank = a->rank > b->rank ? a->rank : b->rank, .n = 1};
    const tc_tensor *both[2] = {a, b};
    for (int d = 0; d < p.rank; d++) {
        p.size[d] = 1;
        for (int k = 0; k < 2; k++) {
            int own = d - (p.rank - both[k]->rank);
            if (own < 0 || both[k]->size[own] == 1) continue;
            p.size[d] = both[k]->size[own];
            p.step[k][d] = both[k]->stride[own];
        }
        p.n *= p.size[d];
    }
    return p;
}

static void advance(pairwise *p) {
    for (int d = p->rank; d-- > 0;) {
        p->at[0] += p->step[0][d], p->at[1] += p->step[1][d];
        if (++p->index[d] < p->size[d]) return;
        p->at[0] -= p->step[0][d] * p->size[d], p->at[1] -= p->step[1][d] * p->size[d];
        p->index[d] = 0;
    }
}

/* masked_select with a mask of the same shape. */
typedef struct {
    uint64_t a, b;
} wide;
#define SELECT(T)                                        \
    {                                                    \
        const T *x = (const T *)tc_tensor_data(t) + i;   \
        T *to = (T *)tc_tensor_data(&c->outs[0]) + done; \
        int64_t m = 0;                                   \
        for (int64_t k = 0; k < n; k++)                  \
            if (set[k]) to[m++] = x[k];                  \
        done += m;                                       \
        break;                                           \
    }
static tc_status select_flat(tc_kcall *c, const tc_tensor *t, const tc_tensor *mask) {
    int64_t all = tc_tensor_numel(t), count = count_set(c, mask), done = 0;
    uint8_t buffer[CHUNK];
    TC_TRY(c->alloc(c, 0, t->dtype, 1, &count));
    for (int64_t i = 0; i < all; i += CHUNK) {
        int64_t n = all - i < CHUNK ? all - i : CHUNK;
        const uint8_t *set = as_bools(c, mask, i, n, buffer);
        switch (tc_dtype_size(t->dtype)) {
        case 1: SELECT(uint8_t)
        case 2: SELECT(uint16_t)
        case 4: SELECT(uint32_t)
        case 8: SELECT(uint64_t)
        default: SELECT(wide)
        }
    }
    return NULL;
}
#undef SELECT

static tc_status run_masked_select(tc_kcall *c) {
    const tc_tensor *t = tc_k_tensor(c, 0), *mask = tc_k_tensor(c, 1);
    int64_t count = 0;
    size_t size = tc_dtype_size(t->dtype);
    bool same = t->rank == mask->rank;
    for (int d = 0; d < t->rank && same; d++) same = t->size[d] == mask->size[d];
    if (same) return select_flat(c, t, mask);
    pairwise p = pair_up(t, mask);
    for (int64_t i = 0; i < p.n; i++, advance(&p)) count += is_set(mask, p.at[1]);
    TC_TRY(c->alloc(c, 0, t->dtype, 1, &count));
    char *out = tc_tensor_data(&c->outs[0]);
    const char *in = tc_tensor_data(t);
    p = pair_up(t, mask);
    for (int64_t i = 0; i < p.n; i++, advance(&p))
        if (is_set(mask, p.at[1])) memcpy(out, in + (size_t)p.at[0] * size, size), out += size;
    return NULL;
}
const tc_kernel tc_k_masked_select = {.name = "masked_select", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_masked_select};

/* ---- unique: groups of equal slices along dim, in sorted order or in the order given ---- */
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

/* Allocates and writes the results: values, inverse, counts. order: the slices, equal ones adjacent; group: n elements of scratch. */
static tc_status write_groups(tc_kcall *c, const tc_tensor *t, int dim, const slices *s, const int64_t *order, int64_t *group, bool want_inverse,
                              bool want_counts) {
    int64_t groups = 0, sorted = 0;
    /* each NaN is a group of its own, as it differs from itself; NaNs have the largest key of the type */
    if (dim < 0 && s->n) {
        uint64_t key, before = 0, nan;
        int bits = tc_order_plain(t, order[0], 1, 1, &key);
        nan = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
        for (; sorted < s->n; sorted++, before = key) {
            tc_order_plain(t, order[sorted], 1, 1, &key);
            group[sorted] = sorted == 0 ? 0 : group[sorted - 1] + (key != before || (key == nan && tc_is_float(t->dtype)));
        }
        groups = group[s->n - 1] + 1;
    }
    for (int64_t i = sorted; i < s->n; i++) {
        group[i] = i == 0 ? 0 : group[i - 1] + (compare(t, s, order[i - 1], order[i]) != 0);
        groups = group[i] + 1;
    }
    int64_t size[TC_MAX_RANK], rank = dim < 0 ? 1 : t->rank, none = 0;
    for (int d = 0; d < rank; d++) size[d] = dim < 0 || d == dim ? groups : t->size[d];
    TC_TRY(c->alloc(c, 0, t->dtype, (int)rank, size));
    size_t bytes = tc_dtype_size(t->dtype);
    for (int64_t i = 0; i < s->n; i++) {
        if (i && group[i] == group[i - 1]) continue;
        for (int64_t o = 0; o < s->outer; o++)
            memcpy((char *)tc_tensor_data(&c->outs[0]) + (size_t)((o * groups + group[i]) * s->inner) * bytes,
                   (char *)tc_tensor_data(t) + (size_t)((o * s->n + order[i]) * s->inner) * bytes, (size_t)s->inner * bytes);
    }
    if (want_inverse) {
        TC_TRY(c->alloc(c, 1, TC_I64, dim < 0 ? t->rank : 1, dim < 0 ? t->size : &s->n));
        for (int64_t i = 0; i < s->n; i++) ((int64_t *)tc_tensor_data(&c->outs[1]))[order[i]] = group[i];
    } else {
        TC_TRY(c->alloc(c, 1, TC_I64, 1, &none));
    }
    TC_TRY(c->alloc(c, 2, TC_I64, 1, want_counts ? &groups : &none));
    if (want_counts) {
        int64_t *n = tc_tensor_data(&c->outs[2]);
        memset(n, 0, (size_t)groups * sizeof *n);
        for (int64_t i = 0; i < s->n; i++) n[group[i]]++;
    }
    return NULL;
}

static tc_status unique(tc_kcall *c, int dim, bool sort, bool want_inverse, bool want_counts) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    if (tc_is_complex(t->dtype)) return tc_error(TC_CONTENT, "unique is not defined for complex numbers");
    slices s = slices_of(t, dim);
    int64_t *order = c->scratch, *group = order + s.n;
    if (sort && dim < 0 && tc_order_packs(t->dtype, s.n)) {
        uint64_t *a = (uint64_t *)(group + s.n);
        tc_order_sort_packed(a, a + s.n, s.n, 32, tc_order_pack(t, 0, 1, s.n, false, a));
        for (int64_t i = 0; i < s.n; i++) order[i] = (int64_t)(uint32_t)a[i];
    } else if (sort && dim < 0) {
        tc_order *a = (tc_order *)(void *)(group + s.n);
        int bits = tc_order_keys(t, 0, 1, s.n, false, a);
        tc_order_sort(a, a + s.n, s.n, bits);
        for (int64_t i = 0; i < s.n; i++) order[i] = a[i].index;
    } else {
        for (int64_t i = 0; i < s.n; i++) order[i] = i;
        if (sort) merge_sort(t, &s, order, group, s.n);
    }
    return write_groups(c, t, dim, &s, order, group, want_inverse, want_counts);
}
static size_t scratch_of(const tc_tensor *t, int dim) {
    slices s = slices_of(t, dim);
    return (size_t)s.n * (2 * sizeof(int64_t) + 2 * sizeof(tc_order));
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
