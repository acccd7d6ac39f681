/* Max pooling, a row of the result at a time. Without indices the maximum is separable: first over the rows of the windows, then over columns. With
 * indices the taps are taken one after another. For channels-last images and small windows, each result is one maximum over the vectors of its
 * taps. */
#include "kernel/pool.h"

#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "kernel/isa.h"

typedef struct {
    const tc_isa_ops *isa;
    const tc_reduce_ops *reduce;
    tc_dtype dtype, work; /* in memory; in which values are compared */
    const char *x;
    char *out;
    int64_t *index; /* or NULL */
    int64_t c;      /* channels of a position that are contiguous: 1 for planes, all for channels last */
    int64_t planes, in[3], to[3], kernel[3], stride[3], pad[3], dil[3];
    char *scratch;
    size_t per_worker;
    tc_scalar lowest;
} pool;

static pool read_args(const tc_kcall *k, int dims) {
    const tc_tensor *x = tc_k_tensor(k, 0);
    const bool indices = k->nouts > 1 && k->outs[1].storage;
    pool p = {
        .isa = k->isa, .dtype = x->dtype, .work = !indices && k->isa->reduce[x->dtype] ? x->dtype : tc_dtype_compute(x->dtype), .planes = 1, .c = 1};
    p.reduce = p.isa->reduce[p.work];
    if (tc_tensor_is_channels_last(x) && tc_tensor_is_channels_last(&k->outs[0]) && x->rank == dims + 2 && x->size[1] > 1 && !indices)
        p.c = x->size[1];
    for (int i = 0; i + dims < x->rank; i++) p.planes *= x->size[i];
    if (p.c) p.planes /= p.c;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - dims), at = x->rank - 3 + d;
        p.in[d] = i < 0 ? 1 : x->size[at], p.to[d] = i < 0 ? 1 : k->outs[0].size[at];
        int64_t *v[4] = {p.kernel, p.stride, p.pad, p.dil};
        for (int a = 0; a < 4; a++) {
            const tc_karg *g = &k->args[1 + a];
            if (i < 0) v[a][d] = a != 2;
            else v[a][d] = g->kind != TC_K_INTS || !g->n ? a == 1 ? p.kernel[d] : a == 3 : g->ints[g->n == 1 ? 0 : i];
        }
    }
    size_t bits = tc_dtype_size(p.work) * 8;
    p.lowest = tc_is_float(p.work)            ? tc_scalar_float(-__builtin_inf())
               : !tc_dtypes[p.work].is_signed ? tc_scalar_int(0)
                                              : tc_scalar_int(bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)));
    return p;
}
enum { STRIP = 2048, MAX_TAPS = 16 }; /* input columns of a strip of short rows; taps of a window that are taken at once */
/* How many output rows are computed together: short rows are joined to one long row where the windows tile the input's columns exactly. */
static int64_t rows_at_once(const pool *p) {
    bool exact = !p->index && p->c == 1 && p->work == p->dtype && p->in[2] == p->to[2] * p->stride[2] && !p->pad[2] &&
                 (p->kernel[2] - 1) * p->dil[2] < p->stride[2];
    return exact && p->in[2] < STRIP ? STRIP / p->in[2] : 1;
}
/* The arrays of `rows`, below. */
static size_t worker_bytes(const pool *p) {
    int64_t widest = p->in[2] > p->to[2] ? p->in[2] : p->to[2];
    if (widest < STRIP) widest = STRIP;
    return tc_pad64((size_t)(widest * p->c) * 8) * 4 + tc_pad64((size_t)p->to[2] * 8);
}
/* Are all taps of a window taken at once? Merging rows, then columns, would read each position about three times. */
static bool takes_whole_windows(const pool *p) { return p->c > 1 && p->work == p->dtype && p->kernel[0] * p->kernel[1] * p->kernel[2] <= MAX_TAPS; }
static size_t scratch_of(const tc_kcall *k, int threads, int dims) {
    pool p = read_args(k, dims);
    return worker_bytes(&p) * (size_t)threads + 64;
}

/* The output columns whose tap t reads inside the input: [*first, *last). */
static void columns(const pool *p, int64_t t, int64_t *first, int64_t *last) {
    int64_t shift = t * p->dil[2] - p->pad[2], s = p->stride[2];
    *first = shift >= 0 ? 0 : (-shift + s - 1) / s;
    *last = p->in[2] - shift > 0 ? (p->in[2] - shift + s - 1) / s : 0;
    if (*last > p->to[2]) *last = p->to[2];
}
typedef struct {
    char *merged, *best, *tap, *raw;
    int64_t *index;
} rows;
/* Row (i0, i1) of a plane in the work type: in place, or converted to `copy`. */
static const char *input_row(const pool *p, int64_t plane, int64_t i0, int64_t i1, char *copy) {
    const char *x = p->x + (size_t)(((plane * p->in[0] + i0) * p->in[1] + i1) * p->in[2] * p->c) * tc_dtype_size(p->dtype);
    if (p->work == p->dtype) return x;
    p->isa->cast[p->dtype][p->work](copy, x, p->in[2] * p->c);
    return copy;
}
static void one_tap(const pool *p, const rows *r, const char *x, int64_t t, int64_t at) {
    int64_t first, last;
    size_t e = tc_dtype_size(p->work);
    columns(p, t, &first, &last);
    if (first >= last) return;
    if (p->c > 1) {
        const int64_t n = p->stride[2] == 1 ? last - first : 1; /* positions at once */
        for (int64_t o = first; o < last; o += n)
            p->reduce->max_add(r->best + (size_t)(o * p->c) * e, x + (o * p->stride[2] + t * p->dil[2] - p->pad[2]) * p->c * (int64_t)e, n * p->c);
        return;
    }
    const char *from = x + (first * p->stride[2] + t * p->dil[2] - p->pad[2]) * (int64_t)e;
    if (p->stride[2] != 1) {
        p->isa->move->load[__builtin_ctz((unsigned)e)](r->tap, from, p->stride[2], last - first);
        from = r->tap;
    }
    if (p->index) p->reduce->argmax_cols_add(r->best + (size_t)first * e, r->index + first, from, at, last - first);
    else p->reduce->max_add(r->best + (size_t)first * e, from, last - first);
}
/* The maximum of each input column over the rows of the windows of output row `row`; false: all of those rows are padding. */
static bool merge_rows(const pool *p, int64_t row, char *out, char *raw) {
    int64_t o1 = row % p->to[1], o0 = row / p->to[1] % p->to[0], plane = row / p->to[1] / p->to[0];
    bool any = false;
    for (int64_t t0 = 0; t0 < p->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < p->kernel[1]; t1++) {
            int64_t i0 = o0 * p->stride[0] + t0 * p->dil[0] - p->pad[0], i1 = o1 * p->stride[1] + t1 * p->dil[1] - p->pad[1];
            if (i0 < 0 || i0 >= p->in[0] || i1 < 0 || i1 >= p->in[1]) continue;
            const char *x = input_row(p, plane, i0, i1, raw);
            if (any) p->reduce->max_add(out, x, p->in[2] * p->c);
            else memcpy(out, x, (size_t)(p->in[2] * p->c) * tc_dtype_size(p->work));
            any = true;
        }
    return any;
}
static void fill_lowest(const pool *p, char *out, int64_t n) {
    char lowest[16];
    tc_scalar_store(p->work, lowest, 0, p->lowest);
    p->isa->move->fill[__builtin_ctz((unsigned)tc_dtype_size(p->work))](out, lowest, n);
}
/* `count` output rows from `row` on, joined to one long row. */
static void strip(const pool *p, const rows *r, int64_t row, int64_t count) {
    size_t e = tc_dtype_size(p->work);
    for (int64_t i = 0; i < count; i++) {
        char *to = r->merged + (size_t)(i * p->in[2]) * e;
        if (!merge_rows(p, row + i, to, r->raw)) fill_lowest(p, to, p->in[2]);
    }
    char *out = p->out + (size_t)(row * p->to[2]) * e;
    fill_lowest(p, out, count * p->to[2]);
    for (int64_t t = 0; t < p->kernel[2]; t++) {
        p->isa->move->load[__builtin_ctz((unsigned)e)](r->tap, r->merged + (size_t)(t * p->dil[2]) * e, p->stride[2], count * p->to[2]);
        p->reduce->max_add(out, r->tap, count * p->to[2]);
    }
}
/* An output row of a channels-last image, all taps of a window at once. */
static void whole_windows(const pool *p, int64_t row) {
    const int64_t o1 = row % p->to[1], o0 = row / p->to[1] % p->to[0], plane = row / p->to[1] / p->to[0];
    const size_t each = (size_t)p->c * tc_dtype_size(p->dtype);
    const void *tap[MAX_TAPS], *line[MAX_TAPS];
    char *out = p->out + (size_t)(row * p->to[2]) * each;
    int lines = 0;
    for (int64_t t0 = 0; t0 < p->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < p->kernel[1]; t1++) {
            const int64_t i0 = o0 * p->stride[0] + t0 * p->dil[0] - p->pad[0], i1 = o1 * p->stride[1] + t1 * p->dil[1] - p->pad[1];
            if (i0 >= 0 && i0 < p->in[0] && i1 >= 0 && i1 < p->in[1]) line[lines++] = input_row(p, plane, i0, i1, NULL);
        }
    for (int64_t o2 = 0; o2 < p->to[2]; o2++, out += each) {
        int m = 0;
        for (int l = 0; l < lines; l++)
            for (int64_t t = 0; t < p->kernel[2]; t++) {
                const int64_t i2 = o2 * p->stride[2] + t * p->dil[2] - p->pad[2];
                if (i2 >= 0 && i2 < p->in[2]) tap[m++] = (const char *)line[l] + (size_t)i2 * each;
            }
        if (m) p->reduce->max_of(out, tap, m, p->c);
        else fill_lowest(p, out, p->c);
    }
}
/* Where tap t of window o reads. If all elements of a window are the lowest value, its tap 0 was never replaced: then the first one inside. */
static int64_t position(const pool *p, int d, int64_t o, int64_t t) {
    const int64_t i = o * p->stride[d] + t * p->dil[d] - p->pad[d];
    return i < 0 ? (i % p->dil[d] + p->dil[d]) % p->dil[d] : i;
}
static bool is_nan(const pool *p, const char *x, int64_t i) {
    return p->work == TC_F32 ? ((const float *)x)[i] != ((const float *)x)[i] : p->work == TC_F64 && ((const double *)x)[i] != ((const double *)x)[i];
}
/* The tap of a window of NaN where PyTorch finds it: the last one. */
static int64_t last_nan(const pool *p, int64_t plane, const int64_t *o) {
    int64_t t = p->kernel[0] * p->kernel[1] * p->kernel[2];
    while (t-- > 0) {
        const int64_t tap[3] = {t / p->kernel[2] / p->kernel[1], t / p->kernel[2] % p->kernel[1], t % p->kernel[2]};
        int64_t at = plane;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            const int64_t i = o[d] * p->stride[d] + tap[d] * p->dil[d] - p->pad[d];
            inside = inside && i >= 0 && i < p->in[d];
            at = at * p->in[d] + i;
        }
        if (inside && isnan(tc_scalar_load(p->dtype, p->x, at).f)) break;
    }
    return t;
}
static void one_row(const pool *p, const rows *r, int64_t row) {
    int64_t o1 = row % p->to[1], o0 = row / p->to[1] % p->to[0], plane = row / p->to[1] / p->to[0];
    size_t e = tc_dtype_size(p->work);
    fill_lowest(p, r->best, p->to[2] * p->c);
    if (p->index) memset(r->index, 0, (size_t)p->to[2] * 8);
    for (int64_t t0 = 0; p->index && t0 < p->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < p->kernel[1]; t1++) {
            int64_t i0 = o0 * p->stride[0] + t0 * p->dil[0] - p->pad[0], i1 = o1 * p->stride[1] + t1 * p->dil[1] - p->pad[1];
            if (i0 < 0 || i0 >= p->in[0] || i1 < 0 || i1 >= p->in[1]) continue;
            const char *x = input_row(p, plane, i0, i1, r->raw);
            for (int64_t t = 0; t < p->kernel[2]; t++) one_tap(p, r, x, t, (t0 * p->kernel[1] + t1) * p->kernel[2] + t);
        }
    bool any = !p->index && merge_rows(p, row, r->merged, r->raw);
    for (int64_t t = 0; any && t < p->kernel[2]; t++) one_tap(p, r, r->merged, t, 0);
    char *out = p->out + (size_t)(row * p->to[2] * p->c) * tc_dtype_size(p->dtype);
    if (p->work == p->dtype) memcpy(out, r->best, (size_t)(p->to[2] * p->c) * e);
    else p->isa->cast[p->work][p->dtype](out, r->best, p->to[2] * p->c);
    for (int64_t o2 = 0; p->index && o2 < p->to[2]; o2++) {
        const int64_t t = is_nan(p, r->best, o2) ? last_nan(p, plane, (int64_t[]){o0, o1, o2}) : r->index[o2],
                      i2 = position(p, 2, o2, t % p->kernel[2]), i1 = position(p, 1, o1, t / p->kernel[2] % p->kernel[1]);
        p->index[row * p->to[2] + o2] = (position(p, 0, o0, t / p->kernel[2] / p->kernel[1]) * p->in[1] + i1) * p->in[2] + i2;
    }
}
static void some_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const pool *p = ctx;
    int64_t widest = p->in[2] > p->to[2] ? p->in[2] : p->to[2];
    char *worker_scratch = p->scratch + (size_t)worker * p->per_worker;
    if (widest < STRIP) widest = STRIP;
    size_t each = tc_pad64((size_t)(widest * p->c) * 8);
    int64_t step = rows_at_once(p);
    rows r = {worker_scratch, worker_scratch + each, worker_scratch + 2 * each, worker_scratch + 3 * each, (int64_t *)(worker_scratch + 4 * each)};
    for (int64_t i = begin; i < end; i += step) {
        if (takes_whole_windows(p)) whole_windows(p, i);
        else if (step == 1) one_row(p, &r, i);
        else strip(p, &r, i, end - i < step ? end - i : step);
    }
}
static tc_status run(tc_kcall *k, int dims) {
    pool p = read_args(k, dims);
    p.x = tc_tensor_data(tc_k_tensor(k, 0)), p.out = tc_tensor_data(&k->outs[0]);
    if (k->nouts > 1 && k->outs[1].storage) p.index = tc_tensor_data(&k->outs[1]);
    p.scratch = tc_align64(k->scratch), p.per_worker = worker_bytes(&p);
    int64_t count = p.planes * p.to[0] * p.to[1];
    if (p.to[2]) tc_parallel_for(k->pool, count, 1 + 4096 / (p.to[2] * p.c * p.kernel[1] + 1), some_rows, &p);
    return NULL;
}

static tc_layouts layouts_of(const tc_kcall *k, int dims) {
    return k->nouts == 1 && tc_k_tensor(k, 0)->rank == dims + 2 ? TC_LAYOUT_SAME : TC_LAYOUT_PLANES;
}
#define KERNEL(n)                                                                                                                                \
    static tc_status run_##n(tc_kcall *k) { return run(k, n); }                                                                                  \
    static size_t scratch_##n(const tc_kcall *k, int threads) { return scratch_of(k, threads, n); }                                              \
    static tc_layouts layouts_##n(const tc_kcall *k) { return layouts_of(k, n); }                                                                \
    const tc_kernel tc_k_max_pool##n##d = {"max_pool", TC_KF_CONTIGUOUS | TC_KF_SPARE_RESULTS | TC_KF_ENTRIES, run_##n, scratch_##n, NULL, NULL, \
                                           layouts_##n};
KERNEL(2)
KERNEL(3)
