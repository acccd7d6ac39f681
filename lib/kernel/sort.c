/* sort, topk, kthvalue, median, mode, searchsorted: rows along one dimension, each by itself. */
#include "kernel/sort.h"

#include "kernel/order.h"

#include <math.h>
#include <string.h>

static int wrap(int64_t d, int rank) { return (int)(d < 0 ? d + rank : d); }

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
    int64_t k, out_n;
    bool descending;
    void (*emit)(const row_job *j, int64_t r, tc_order *a);
    char *scratch;
};

static void copy_element(tc_tensor *out, int64_t to, const tc_tensor *in, int64_t from) {
    size_t size = tc_dtype_size(in->dtype);
    memcpy((char *)out->storage->data + (size_t)(out->offset + to) * size, (const char *)in->storage->data + (size_t)(in->offset + from) * size,
           size);
}
static void put_index(tc_tensor *out, int64_t to, int64_t v) { ((int64_t *)out->storage->data)[out->offset + to] = v; }

static void row_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const row_job *j = ctx;
    tc_order *a = (tc_order *)(void *)(j->scratch + (size_t)worker * (size_t)j->l.n * 2 * sizeof(tc_order));
    for (int64_t r = begin; r < end; r++) {
        int bits = tc_order_keys(j->in, row_at(&j->l, r), j->l.stride, j->l.n, j->descending, a);
        tc_order_sort(a, a + j->l.n, j->l.n, bits);
        j->emit(j, r, a);
    }
}

static tc_status by_row(tc_kcall *c, int dim_arg, int64_t k, bool descending, void (*emit)(const row_job *, int64_t, tc_order *)) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    if (tc_is_complex(in->dtype)) return tc_error(TC_CONTENT, "sorting is not defined for complex numbers");
    row_job j = {.c = c,
                 .in = in,
                 .l = lines_of(in, in->rank ? wrap(tc_k_int(c, dim_arg), in->rank) : 0),
                 .k = k,
                 .descending = descending,
                 .emit = emit,
                 .scratch = c->scratch};
    if (j.l.n) tc_parallel_for(c->pool, j.l.rows, 1 + 16384 / j.l.n, row_range, &j);
    return NULL;
}
static size_t room(const tc_kcall *c, int dim_arg, int threads) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    return (size_t)threads * (size_t)lines_of(in, in->rank ? wrap(tc_k_int(c, dim_arg), in->rank) : 0).n * 2 * sizeof(tc_order);
}

/* The first k of each row. Result rows have k elements along the same dimension. */
static void emit_first(const row_job *j, int64_t r, tc_order *a) {
    lines o = {.n = j->k, .stride = j->l.stride};
    int64_t from = row_at(&j->l, r), to = r / o.stride * o.stride * o.n + r % o.stride;
    for (int64_t i = 0; i < j->k; i++) {
        copy_element(&j->c->outs[0], to + i * o.stride, j->in, from + a[i].index * j->l.stride);
        put_index(&j->c->outs[1], to + i * o.stride, a[i].index);
    }
}
static tc_status run_sort(tc_kcall *c) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    int64_t n = in->rank ? in->size[wrap(tc_k_int(c, 2), in->rank)] : 1;
    return by_row(c, 2, n, tc_k_bool(c, 3), emit_first);
}
static size_t scratch_sort(const tc_kcall *c, int threads) { return room(c, 2, threads); }
const tc_kernel tc_k_sort = {.name = "sort", .flags = TC_KF_CONTIGUOUS, .run = run_sort, .scratch = scratch_sort};

static tc_status run_topk(tc_kcall *c) { return by_row(c, 2, tc_k_int(c, 1), tc_k_bool(c, 3), emit_first); }
const tc_kernel tc_k_topk = {.name = "topk", .flags = TC_KF_CONTIGUOUS, .run = run_topk, .scratch = scratch_sort};

/* One element of each row, and its index: results have one element a row in row order. */
static void emit_one(const row_job *j, int64_t r, const tc_order *x) {
    copy_element(&j->c->outs[0], r, j->in, row_at(&j->l, r) + x->index * j->l.stride);
    put_index(&j->c->outs[1], r, x->index);
}
static void emit_kth(const row_job *j, int64_t r, tc_order *a) { emit_one(j, r, &a[j->k - 1]); }
static tc_status run_kthvalue(tc_kcall *c) { return by_row(c, 2, tc_k_int(c, 1), false, emit_kth); }
const tc_kernel tc_k_kthvalue = {.name = "kthvalue", .flags = TC_KF_CONTIGUOUS, .run = run_kthvalue, .scratch = scratch_sort};

static int64_t count_nan(const row_job *j, int64_t r) {
    int64_t n = 0;
    if (!tc_is_float(j->in->dtype)) return 0;
    for (int64_t i = 0; i < j->l.n; i++)
        n += isnan(tc_scalar_to_double(tc_scalar_load(j->in->dtype, j->in->storage->data, j->in->offset + row_at(&j->l, r) + i * j->l.stride)));
    return n;
}
static void emit_median(const row_job *j, int64_t r, tc_order *a) {
    int64_t nans = count_nan(j, r);
    emit_one(j, r, &a[nans ? j->l.n - nans : (j->l.n - 1) / 2]); /* the first NaN, which sorts behind the numbers */
}
static void emit_nanmedian(const row_job *j, int64_t r, tc_order *a) {
    int64_t n = j->l.n - count_nan(j, r);
    emit_one(j, r, &a[n ? (n - 1) / 2 : 0]);
}
static void emit_mode(const row_job *j, int64_t r, tc_order *a) {
    int64_t best = 0, best_n = 0;
    for (int64_t i = 0; i < j->l.n;) {
        int64_t k = i + 1;
        while (k < j->l.n && a[k].key == a[i].key) k++;
        if (k - i > best_n) best_n = k - i, best = k - 1;
        i = k;
    }
    emit_one(j, r, &a[best]);
}
static tc_status run_median(tc_kcall *c) { return by_row(c, 1, 0, false, emit_median); }
static tc_status run_nanmedian(tc_kcall *c) { return by_row(c, 1, 0, false, emit_nanmedian); }
static tc_status run_mode(tc_kcall *c) { return by_row(c, 1, 0, false, emit_mode); }
static size_t scratch_dim1(const tc_kcall *c, int threads) { return room(c, 1, threads); }
const tc_kernel tc_k_median = {.name = "median", .flags = TC_KF_CONTIGUOUS, .run = run_median, .scratch = scratch_dim1};
const tc_kernel tc_k_nanmedian = {.name = "nanmedian", .flags = TC_KF_CONTIGUOUS, .run = run_nanmedian, .scratch = scratch_dim1};
const tc_kernel tc_k_mode = {.name = "mode", .flags = TC_KF_CONTIGUOUS, .run = run_mode, .scratch = scratch_dim1};

/* ---- searchsorted: in each row of the sequence, the first place whose element is not below (right: is above) the value ---- */
static tc_status run_searchsorted(tc_kcall *c) {
    const tc_tensor *seq = tc_k_tensor(c, 0), *v = tc_k_tensor(c, 1), *sorter = c->nargs > 5 ? tc_k_tensor(c, 5) : NULL;
    tc_tensor *out = &c->outs[0];
    bool right = tc_k_bool(c, 3);
    if (c->nargs > 4 && tc_k_given(c, 4)) right = right || !strcmp(c->args[4].string, "right");
    int64_t n = seq->size[seq->rank - 1], per = seq->rank == 1 ? tc_tensor_numel(v) : v->size[v->rank - 1], total = tc_tensor_numel(v);
    for (int64_t i = 0; i < total; i++) {
        int64_t base = seq->rank == 1 ? 0 : i / per * n, lo = 0, hi = n;
        tc_order x, y;
        tc_order_keys(v, i, 1, 1, false, &x);
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2, at = sorter ? tc_scalar_load(sorter->dtype, sorter->storage->data, sorter->offset + base + mid).i : mid;
            if (at < 0 || at >= n)
                return tc_error(TC_CONTENT, "searchsorted: sorter index %lld is out of range for %lld", (long long)at, (long long)n);
            tc_order_keys(seq, base + at, 1, 1, false, &y);
            if (right ? y.key <= x.key : y.key < x.key) lo = mid + 1;
            else hi = mid;
        }
        tc_scalar_store(out->dtype, out->storage->data, out->offset + i, tc_scalar_int(lo));
    }
    return NULL;
}
const tc_kernel tc_k_searchsorted = {.name = "searchsorted", .flags = TC_KF_CONTIGUOUS, .run = run_searchsorted};
