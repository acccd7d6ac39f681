/* sort, topk, kthvalue, median, mode, searchsorted: independent rows along one dimension. */
#include "kernel/sort.h"

#include "kernel/sort_keys.h"

#include <string.h>

/* Rows along dim of a contiguous tensor: n elements `stride` apart; row r starts at row_at(r). */
typedef struct {
    int64_t rows, n, stride;
} lines;
static lines lines_of(const tc_tensor *t, int dim) {
    lines l = {.n = t->rank ? t->size[dim] : 1, .stride = t->rank ? t->stride[dim] : 1};
    int64_t numel = tc_tensor_numel(t);
    if (l.n == 1) l.stride = 1;
    if (t->rank) {
        l.stride = 1;
        for (int d = dim + 1; d < t->rank; d++) l.stride *= t->size[d];
    }
    l.rows = l.n ? numel / l.n : 0;
    return l;
}
static int64_t row_at(const lines *l, int64_t r) { return r / l->stride * l->stride * l->n + r % l->stride; }

typedef struct row_job row_job;
struct row_job {
    tc_kcall *c;
    const tc_tensor *in;
    lines l;
    int64_t k;
    bool descending;
    tc_order_inverse inverse;
    /* What is taken from a row: its first k in order, of equal ones those with the least index (FIRST) or PyTorch's (TOP: order.h), also in its
     * order of what is not sorted; one element; or the mode. which: position of the one element in the sorted row. */
    enum { FIRST, TOP, UNSORTED, ONE, KTH, MODE } take;
    int64_t (*which)(const row_job *j, int64_t nans);
    char *scratch;
    size_t share;
};

static inline void put_bits(void *to, int64_t at, int size, uint64_t bits) {
    switch (size) {
    case 1: ((uint8_t *)to)[at] = (uint8_t)bits; break;
    case 2: ((uint16_t *)to)[at] = (uint16_t)bits; break;
    case 4: ((uint32_t *)to)[at] = (uint32_t)bits; break;
    default: ((uint64_t *)to)[at] = bits;
    }
}
static inline uint64_t bits_at(const void *from, int64_t at, int size) {
    switch (size) {
    case 1: return ((const uint8_t *)from)[at];
    case 2: return ((const uint16_t *)from)[at];
    case 4: return ((const uint32_t *)from)[at];
    default: return ((const uint64_t *)from)[at];
    }
}
static char *elements(const tc_tensor *t) { return (char *)t->storage->data + (size_t)t->offset * tc_dtype_size(t->dtype); }

/* Stores element `index` of row r, and that index; results have one element for each row. */
static void emit_one(const row_job *j, int64_t r, int64_t index) {
    const int size = (int)tc_dtype_size(j->in->dtype);
    put_bits(elements(&j->c->outs[0]), r, size, bits_at(elements(j->in), row_at(&j->l, r) + index * j->l.stride, size));
    ((int64_t *)(void *)elements(&j->c->outs[1]))[r] = index;
}
/* Stores the first k of a row from its sorted keys and indices, packed in one word or in two words each. Results have k elements along dim. */
static inline void emit_sized(const row_job *j, int64_t r, const uint64_t *a, bool packed, int size) {
    const int64_t stride = j->l.stride;
    const char *row = elements(j->in) + row_at(&j->l, r) * size;
    const tc_order_inverse inverse = j->inverse;
    char *out = elements(&j->c->outs[0]);
    int64_t *indices = (int64_t *)(void *)elements(&j->c->outs[1]), to = r / stride * stride * j->k + r % stride;
    for (int64_t i = 0; i < j->k; i++, to += stride) {
        uint64_t key = packed ? a[i] >> 32 : a[2 * i], bits;
        int64_t index = packed ? (int64_t)(uint32_t)a[i] : (int64_t)a[2 * i + 1];
        if (!tc_order_element(&inverse, key, &bits)) bits = bits_at(row, index * stride, size);
        put_bits(out, to, size, bits);
        indices[to] = index;
    }
}
static void emit_first(const row_job *j, int64_t r, const uint64_t *a, bool packed) {
    switch (tc_dtype_size(j->in->dtype)) {
    case 1: emit_sized(j, r, a, packed, 1); break;
    case 2: emit_sized(j, r, a, packed, 2); break;
    case 4: emit_sized(j, r, a, packed, 4); break;
    default: emit_sized(j, r, a, false, 8);
    }
}
/* Counts NaNs: they alone have the largest key of the type. */
static int64_t count_nan(const row_job *j, const uint64_t *keys, int64_t step, int shift, int bits) {
    int64_t n = 0;
    uint64_t nan = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    if (!tc_is_float(j->in->dtype)) return 0;
    for (int64_t i = 0; i < j->l.n; i++) n += keys[i * step] >> shift == nan;
    return n;
}

static int order_keys(const row_job *j, int64_t r, tc_order *a) {
    return tc_order_keys(j->in, row_at(&j->l, r), j->l.stride, j->l.n, j->descending, a);
}
static int pack_keys(const row_job *j, int64_t r, uint64_t *a) {
    return tc_order_pack(j->in, row_at(&j->l, r), j->l.stride, j->l.n, j->descending, a);
}
static bool packs(const row_job *j) { return tc_order_packs(j->in->dtype, j->l.n); }
/* The m smallest packed keys (sort_keys.h), in order; a: 2 n words. */
static void first_packed(const row_job *j, int64_t r, int64_t m, uint64_t *a) {
    const int64_t n = j->l.n;
    uint64_t *scratch = a + n;
    const int bits = pack_keys(j, r, a);
    if (m < n && m) { /* keeps those up to the m-th smallest, in index order */
        memcpy(scratch, a, (size_t)n * sizeof *a);
        const uint64_t last = tc_order_select(scratch, n, m - 1, bits);
        for (int64_t i = 0, kept = 0; kept < m; i++) {
            a[kept] = a[i];
            kept += a[i] <= last;
        }
    }
    tc_order_sort_packed(a, scratch, m, 32, bits);
}
/* The next three take a row by packed keys where no equal elements leave a choice, which is tried for types that have many values; else as PyTorch does
 * (order.h). a: 2 n words. */
static bool few_equal(const row_job *j) { return j->in->dtype == TC_F32 && packs(j); }
/* The first k <= n / FEW along a heap. */
enum { FEW = 64, SOME = 8, MANY = 4096 };
static void first_heap(const row_job *j, int64_t r, bool by_index, int64_t k, uint64_t *a) {
    tc_order_first(j->in, row_at(&j->l, r), j->l.stride, j->l.n, j->descending, by_index, k, (tc_order *)(void *)a);
}
static bool top_packed(const row_job *j, int64_t r, uint64_t *a) {
    const int64_t n = j->l.n, m = j->k < n ? j->k + 1 : n; /* with the one behind: it may equal the last */
    const bool heap = m <= n / SOME;
    bool differ = true;
    if (heap) first_heap(j, r, true, m, a);
    else first_packed(j, r, m, a);
    for (int64_t i = 1; i < m; i++) differ &= heap ? a[2 * i] != a[2 * i - 2] : a[i] >> 32 != a[i - 1] >> 32;
    if (differ) emit_first(j, r, a, !heap);
    return differ;
}
static void top_row(const row_job *j, int64_t r, uint64_t *a) {
    const int64_t n = j->l.n, k = j->k;
    tc_order *o = (tc_order *)(void *)a;
    if (k && k <= n / FEW) first_heap(j, r, false, k, a);
    else if (!k || (j->take == TOP && k < MANY && few_equal(j) && top_packed(j, r, a))) return;
    else {
        order_keys(j, r, o);
        tc_order_top(o, n, k, j->take == TOP);
    }
    emit_first(j, r, a, false);
}
static void kth_row(const row_job *j, int64_t r, uint64_t *a) {
    const int64_t n = j->l.n;
    tc_order *o = (tc_order *)(void *)a;
    if (few_equal(j)) {
        int64_t same = 0;
        const int bits = pack_keys(j, r, a);
        memcpy(a + n, a, (size_t)n * sizeof *a);
        const uint64_t kth = tc_order_select(a + n, n, j->k - 1, bits);
        for (int64_t i = 0; i < n; i++) same += a[i] >> 32 == kth >> 32;
        if (same == 1) {
            emit_one(j, r, (int64_t)(uint32_t)kth);
            return;
        }
    }
    order_keys(j, r, o);
    emit_one(j, r, tc_order_kth(o, n, j->k - 1).index);
}
static void mode_row(const row_job *j, int64_t r, uint64_t *a) {
    const int64_t n = j->l.n;
    const uint64_t nan = tc_is_float(j->in->dtype) ? j->inverse.all : 0;
    tc_order *o = (tc_order *)(void *)a;
    if (few_equal(j)) {
        const int bits = pack_keys(j, r, a);
        bool differ = true;
        tc_order_sort_packed(a, a + n, n, 32, bits);
        for (int64_t i = 1; i < n; i++) differ &= a[i] >> 32 != a[i - 1] >> 32;
        if (differ && a[n - 1] >> 32 != nan) {
            emit_one(j, r, (int64_t)(uint32_t)a[0]);
            return;
        }
    }
    order_keys(j, r, o);
    tc_order_intro_sort(o, n, nan);
    emit_one(j, r, o[tc_order_mode(o, n, nan)].index);
}
static void packed_row(const row_job *j, int64_t r, uint64_t *a) {
    const int64_t n = j->l.n, k = j->k;
    if (j->take == ONE) {
        const int bits = pack_keys(j, r, a);
        const int64_t which = j->which(j, count_nan(j, a, 1, 32, bits));
        emit_one(j, r, (int64_t)(uint32_t)tc_order_select(a, n, which, bits));
    } else if (k && k <= n / SOME) {
        first_heap(j, r, true, k, a);
        emit_first(j, r, a, false);
    } else {
        first_packed(j, r, k, a);
        emit_first(j, r, a, true);
    }
}
static void wide_row(const row_job *j, int64_t r, tc_order *a) {
    const int bits = order_keys(j, r, a);
    tc_order_sort(a, a + j->l.n, j->l.n, bits);
    if (j->take == ONE) emit_one(j, r, a[j->which(j, count_nan(j, &a[0].key, 2, 0, bits))].index);
    else emit_first(j, r, &a[0].key, false);
}

static size_t row_bytes(const tc_tensor *t, const lines *l) {
    size_t words = tc_order_packs(t->dtype, l->n) ? 2 * sizeof(uint64_t) : 2 * sizeof(tc_order);
    return ((size_t)l->n * words + 127) / 64 * 64;
}
static void row_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const row_job *j = ctx;
    void *worker_scratch = j->scratch + (size_t)worker * j->share;
    for (int64_t r = begin; r < end; r++) switch (j->take) {
        case TOP:
        case UNSORTED: top_row(j, r, worker_scratch); break;
        case KTH: kth_row(j, r, worker_scratch); break;
        case MODE: mode_row(j, r, worker_scratch); break;
        default:
            if (packs(j)) packed_row(j, r, worker_scratch);
            else wide_row(j, r, worker_scratch);
        }
}

static tc_status by_row(tc_kcall *c, int dim_arg, row_job j) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    if (tc_is_complex(in->dtype)) return tc_error(TC_CONTENT, "sorting is not defined for complex numbers");
    j.c = c, j.in = in, j.scratch = c->scratch, j.inverse = tc_order_inverse_of(in->dtype, j.descending);
    j.l = lines_of(in, in->rank ? tc_k_dim(c, dim_arg, in->rank) : 0);
    j.share = row_bytes(in, &j.l);
    if (j.l.n) tc_parallel_for(c->pool, j.l.rows, 1 + 16384 / j.l.n, row_range, &j);
    return NULL;
}
static size_t scratch_bytes(const tc_kcall *c, int dim_arg, int threads) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    lines l = lines_of(in, in->rank ? tc_k_dim(c, dim_arg, in->rank) : 0);
    return (size_t)threads * row_bytes(in, &l);
}

static tc_status run_sort(tc_kcall *c) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    return by_row(c, 2, (row_job){.k = in->rank ? in->size[tc_k_dim(c, 2, in->rank)] : 1, .descending = tc_k_bool(c, 3)});
}
static size_t scratch_sort(const tc_kcall *c, int threads) { return scratch_bytes(c, 2, threads); }
const tc_kernel tc_k_sort = {.name = "sort", .flags = TC_KF_CONTIGUOUS, .run = run_sort, .scratch = scratch_sort};

static tc_status run_first(tc_kcall *c) {
    return by_row(c, 2, (row_job){.k = tc_k_tensor(c, 0)->rank ? tc_k_int(c, 1) : 1, .descending = tc_k_bool(c, 3)});
}
const tc_kernel tc_k_first = {.name = "first", .flags = TC_KF_CONTIGUOUS, .run = run_first, .scratch = scratch_sort};
/* Of a 0-d tensor the result is 0-d too, even where k is 0. */
static tc_status run_topk(tc_kcall *c) {
    return by_row(
        c, 2, (row_job){.k = tc_k_tensor(c, 0)->rank ? tc_k_int(c, 1) : 1, .descending = tc_k_bool(c, 3), .take = tc_k_bool(c, 4) ? TOP : UNSORTED});
}
const tc_kernel tc_k_topk = {.name = "topk", .flags = TC_KF_CONTIGUOUS, .run = run_topk, .scratch = scratch_sort};

static int64_t which_median(const row_job *j, int64_t nans) {
    return nans ? j->l.n - nans : (j->l.n - 1) / 2;
} /* the first NaN follows the numbers */
static int64_t which_nanmedian(const row_job *j, int64_t nans) { return j->l.n > nans ? (j->l.n - nans - 1) / 2 : 0; }
static tc_status run_kthvalue(tc_kcall *c) { return by_row(c, 2, (row_job){.k = tc_k_int(c, 1), .take = KTH}); }
const tc_kernel tc_k_kthvalue = {.name = "kthvalue", .flags = TC_KF_CONTIGUOUS, .run = run_kthvalue, .scratch = scratch_sort};

static tc_status run_median(tc_kcall *c) { return by_row(c, 1, (row_job){.take = ONE, .which = which_median}); }
static tc_status run_nanmedian(tc_kcall *c) { return by_row(c, 1, (row_job){.take = ONE, .which = which_nanmedian}); }
static tc_status run_mode(tc_kcall *c) { return by_row(c, 1, (row_job){.take = MODE}); }
static size_t scratch_dim1(const tc_kcall *c, int threads) { return scratch_bytes(c, 1, threads); }
const tc_kernel tc_k_median = {.name = "median", .flags = TC_KF_CONTIGUOUS, .run = run_median, .scratch = scratch_dim1};
const tc_kernel tc_k_nanmedian = {.name = "nanmedian", .flags = TC_KF_CONTIGUOUS, .run = run_nanmedian, .scratch = scratch_dim1};
const tc_kernel tc_k_mode = {.name = "mode", .flags = TC_KF_CONTIGUOUS, .run = run_mode, .scratch = scratch_dim1};

/* ---- searchsorted: in each row of the sequence, the first position whose element is >= the value (right: > the value) ---- */
/* TOGETHER branch-free binary searches are interleaved, which hides their latency. */
enum { TOGETHER = 8, VALUES = 256 };
static inline void search(const uint64_t *keys, int64_t n, const uint64_t *value, bool right, int64_t *out) {
    int64_t lo[TOGETHER] = {0};
    for (int64_t left = n; left > 0;) {
        int64_t half = left / 2, step = left - half;
        for (int i = 0; i < TOGETHER; i++) {
            uint64_t key = keys[lo[i] + half];
            lo[i] += step & -(int64_t)(right ? key <= value[i] : key < value[i]);
        }
        left = half;
    }
    for (int i = 0; i < TOGETHER; i++) out[i] = lo[i];
}
/* count is rounded up to a multiple of TOGETHER: value and out have room for that. Values in order, with few keys between them, are merged. */
static void search_all(const uint64_t *keys, int64_t n, const uint64_t *value, int64_t count, bool right, int64_t *out) {
    const uint64_t ends[TOGETHER] = {value[0], value[count - 1]};
    int64_t at[TOGETHER], sorted = 1;
    while (sorted < count && value[sorted - 1] <= value[sorted]) sorted++;
    if (sorted == count) search(keys, n, ends, right, at);
    if (sorted == count && at[1] - at[0] <= 4 * count) {
        int64_t k = at[0];
        for (int64_t i = 0; i < count; out[i++] = k)
            while (k < at[1] && (right ? keys[k] <= value[i] : keys[k] < value[i])) k++;
    } else if (right) {
        for (int64_t i = 0; i < count; i += TOGETHER) search(keys, n, value + i, true, out + i);
    } else {
        for (int64_t i = 0; i < count; i += TOGETHER) search(keys, n, value + i, false, out + i);
    }
}
/* PyTorch's own search, for a sequence with NaN, which is below everything wherever it stands: which elements are looked at decides. */
static void search_unordered(const uint64_t *keys, int64_t n, const uint64_t *value, int64_t count, bool right, int64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t lo = 0, hi = n;
        while (lo < hi) {
            const int64_t mid = lo + (hi - lo) / 2;
            if (right ? keys[mid] <= value[i] : keys[mid] < value[i]) lo = mid + 1;
            else hi = mid;
        }
        out[i] = lo;
    }
}
/* Sequence and values are compared in their promoted type; a 0-d value takes part only where its category is higher. */
static tc_dtype compared(const tc_tensor *seq, const tc_tensor *v) {
    return !v->rank && tc_dtype_kind(v->dtype) <= tc_dtype_kind(seq->dtype) ? seq->dtype : tc_dtype_promote(seq->dtype, v->dtype);
}
static void keys_as(tc_dtype d, const tc_tensor *t, int64_t at, int64_t n, uint64_t *out) {
    if (t->dtype == d) {
        tc_order_plain(t, at, 1, n, out);
        return;
    }
    uint64_t values[VALUES];
    for (int64_t i = 0; i < n; i += VALUES) {
        const int64_t count = n - i < VALUES ? n - i : VALUES;
        tc_storage s = {.data = values};
        for (int64_t k = 0; k < count; k++) tc_scalar_store(d, values, k, tc_scalar_load(t->dtype, t->storage->data, t->offset + at + i + k));
        tc_order_plain(&(tc_tensor){.dtype = d, .storage = &s}, 0, 1, count, out + i);
    }
}
static tc_status sequence_keys(tc_dtype d, const tc_tensor *seq, const tc_tensor *sorter, int64_t base, int64_t n, uint64_t *out) {
    if (!sorter) {
        keys_as(d, seq, base, n, out);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tc_scalar_load(sorter->dtype, sorter->storage->data, sorter->offset + base + i).i;
        if (at < 0 || at >= n) return tc_error(TC_CONTENT, "searchsorted: sorter index %lld is out of range for %lld", (long long)at, (long long)n);
        keys_as(d, seq, base + at, 1, &out[i]);
    }
    return NULL;
}
static tc_status run_searchsorted(tc_kcall *c) {
    const tc_tensor *seq = tc_k_tensor(c, 0), *v = tc_k_tensor(c, 1), *sorter = c->nargs > 5 ? tc_k_tensor(c, 5) : NULL;
    tc_tensor *out = &c->outs[0];
    const tc_dtype d = compared(seq, v);
    bool right = tc_k_bool(c, 3);
    if (c->nargs > 4 && tc_k_given(c, 4)) right = right || !strcmp(c->args[4].string, "right");
    int64_t n = seq->size[seq->rank - 1], per = seq->rank == 1 ? tc_tensor_numel(v) : v->size[v->rank - 1], total = tc_tensor_numel(v);
    const uint64_t nan = ~UINT64_C(0) >> (64 - 8 * tc_dtypes[d].size);
    uint64_t *keys = c->scratch;
    for (int64_t row = 0; row * per < total; row++) {
        TC_TRY(sequence_keys(d, seq, sorter, seq->rank == 1 ? 0 : row * n, n, keys));
        bool ordered = true;
        for (int64_t i = 0; i < n && tc_is_float(d); i++)
            if (keys[i] == nan) keys[i] = 0, ordered = false;
        for (int64_t i = 0; i < per; i += VALUES) {
            uint64_t value[VALUES] = {0};
            int64_t found[VALUES], count = per - i < VALUES ? per - i : VALUES, at = out->offset + row * per + i;
            keys_as(d, v, row * per + i, count, value);
            (ordered ? search_all : search_unordered)(keys, n, value, count, right, found);
            for (int64_t k = 0; k < count && tc_is_float(d); k++) found[k] = value[k] == nan ? n : found[k]; /* as PyTorch: NaN goes to the end */
            if (out->dtype == TC_I64) memcpy((int64_t *)out->storage->data + at, found, (size_t)count * sizeof *found);
            else
                for (int64_t k = 0; k < count; k++) tc_scalar_store(out->dtype, out->storage->data, at + k, tc_scalar_int(found[k]));
        }
    }
    return NULL;
}
static size_t scratch_searchsorted(const tc_kcall *c, int threads) {
    const tc_tensor *seq = tc_k_tensor(c, 0);
    (void)threads;
    return (size_t)seq->size[seq->rank - 1] * sizeof(uint64_t);
}
const tc_kernel tc_k_searchsorted = {.name = "searchsorted", .flags = TC_KF_CONTIGUOUS, .run = run_searchsorted, .scratch = scratch_searchsorted};
