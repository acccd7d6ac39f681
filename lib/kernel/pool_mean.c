/* Average pooling, a strip of results at a time: each tap of the strip's windows becomes a row of a table, and the columns of the table are summed by
 * the primitive for column sums. Where windows have long rows and results are few, or the table would be too large, the taps of one window become a
 * row, which is summed by the primitive for row sums.
 *
 *     taps     r0 r1 r2 ...      results of the strip
 *     0,0      x  x  x
 *     0,1      x  x  0           a tap outside of the input is 0 */

#include <string.h>

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

/* One dimension: input size, output size, taps of the largest window. */
typedef struct {
    int64_t in, to, span;
    int64_t kernel, stride, pad; /* of fixed windows; kernel 0: adaptive */
} dim;

/* A window along one dimension: it reads input positions [start, end), and its divisor is `count`. */
typedef struct {
    int64_t start, end, count;
} extent;
typedef struct {
    int64_t first, last;
} range;
typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype, work, sum; /* in memory; of the table; of the sums */
    dim d[3];
    int64_t planes, taps, strip; /* strip: results of one table */
    bool count_pad, by_rows;
    int64_t divisor; /* divisor_override; 0: each window's own */
    extent *win[3];  /* [output position], for each dimension */
    range *inside;   /* fixed windows: [tap along the last dimension], the results whose tap reads inside the input */
    bool uniform;    /* all windows have the same divisor */
    const char *x;
    char *out, *scratch;
    size_t per_worker;
} mean;

static extent window(const mean *m, const dim *d, int64_t o) {
    if (!d->kernel) {
        int64_t start = o * d->in / d->to, end = ((o + 1) * d->in + d->to - 1) / d->to;
        return (extent){start, end, end - start};
    }
    int64_t start = o * d->stride - d->pad, end = tc_min(start + d->kernel, d->in + d->pad);
    return (extent){start, tc_min(start + d->kernel, d->in), m->count_pad ? end - start : tc_min(end, d->in) - tc_max(start, 0)};
}

/* Elements of a table, about. By rows: windows of LONG columns and FEW results a row, or a table of more than HUGE_TABLE elements. */
enum { TABLE = 4096, LONG = 8, FEW = 16, HUGE_TABLE = 1 << 18 };

static mean read_args(const tc_kcall *k, int dims, bool adaptive) {
    const tc_tensor *x = tc_k_tensor(k, 0);
    mean m = {.isa = k->isa, .dtype = x->dtype, .work = tc_dtype_compute(x->dtype), .planes = 1, .taps = 1};
    m.sum = tc_is_integral(m.work) ? TC_I64 : m.work;
    for (int i = 0; i + dims < x->rank; i++) m.planes *= x->size[i];
    for (int i = 0; i < 3; i++) {
        int a = i - (3 - dims), at = x->rank - 3 + i;
        dim *d = &m.d[i];
        *d = a < 0 ? (dim){1, 1, 1, 1, 1, 0} : (dim){.in = x->size[at], .to = k->outs[0].size[at]};
        if (a >= 0 && adaptive) d->span = d->to ? d->in % d->to ? (d->in + d->to - 1) / d->to + 1 : d->in / d->to : 0;
        if (a >= 0 && !adaptive) {
            int64_t v[3] = {0, 0, 0};
            for (int g = 0; g < 3; g++) {
                const tc_karg *list = &k->args[1 + g];
                if (list->kind == TC_K_INTS && list->n) v[g] = list->ints[list->n == 1 ? 0 : a];
                else if (g == 1) v[g] = v[0];
            }
            d->kernel = d->span = v[0], d->stride = v[1], d->pad = v[2];
        }
        m.taps *= d->span;
    }
    if (!adaptive) {
        m.count_pad = tc_k_bool(k, 5);
        if (k->nargs > 6 && tc_k_given(k, 6)) m.divisor = tc_k_int(k, 6);
    }
    m.by_rows = (m.d[2].span >= LONG && m.d[2].to < FEW) || m.taps > HUGE_TABLE / tc_max(m.d[2].to, 1);
    m.strip = m.by_rows ? 1 : tc_max(1, tc_min(256, TABLE / tc_max(m.taps, 1)) / tc_max(m.d[2].to, 1)) * m.d[2].to;
    return m;
}
static size_t worker_bytes(const mean *m) {
    size_t table = tc_pad64((size_t)(m->strip * m->taps) * tc_dtype_size(m->work)), results = tc_pad64((size_t)m->strip * 8);
    return table + 3 * results + tc_pad64((size_t)m->d[2].in * 8) + 64;
}
static size_t shared_bytes(const mean *m) {
    return tc_pad64((size_t)(m->d[0].to + m->d[1].to + m->d[2].to) * sizeof(extent)) + tc_pad64((size_t)m->d[2].span * sizeof(range));
}
static size_t scratch_of(const tc_kcall *k, int threads, int dims, bool adaptive) {
    mean m = read_args(k, dims, adaptive);
    return worker_bytes(&m) * (size_t)threads + shared_bytes(&m) + 64;
}
/* Fills win and inside, which all workers read, at `at`. */
static void find_windows(mean *m, char *at) {
    m->uniform = true;
    extent *e = (extent *)at;
    for (int i = 0; i < 3; i++) {
        m->win[i] = e;
        for (int64_t o = 0; o < m->d[i].to; o++) {
            *e++ = window(m, &m->d[i], o);
            m->uniform &= m->divisor || m->win[i][o].count == m->win[i][0].count;
        }
    }
    m->inside = (range *)(at + tc_pad64((size_t)(m->d[0].to + m->d[1].to + m->d[2].to) * sizeof(extent)));
    const dim *d = &m->d[2];
    for (int64_t t = 0; d->kernel && t < d->span; t++) {
        int64_t shift = t - d->pad, s = d->stride;
        int64_t first = tc_min(d->to, shift >= 0 ? 0 : (-shift + s - 1) / s), last = d->in > shift ? tc_min(d->to, (d->in - shift + s - 1) / s) : 0;
        m->inside[t] = (range){first, tc_max(first, last)};
    }
}

/* A row of the input in the work type: in place, or converted to `copy`. */
static const char *input_row(const mean *m, int64_t plane, int64_t i0, int64_t i1, char *copy) {
    const char *x = m->x + (size_t)(((plane * m->d[0].in + i0) * m->d[1].in + i1) * m->d[2].in) * tc_dtype_size(m->dtype);
    if (m->work == m->dtype) return x;
    m->isa->cast[m->dtype][m->work](copy, x, m->d[2].in);
    return copy;
}
/* All taps of adaptive windows along the last dimension, as rows of the table, `row` elements apart. */
static inline void taps_of_size(const mean *m, char *to, const char *x, int64_t row, size_t e) {
    const char none[8] = {0};
    const int64_t span = m->d[2].span;
    for (int64_t o = 0; o < m->d[2].to; o++) {
        const extent w = m->win[2][o];
        char *at = to + (size_t)o * e;
        for (int64_t i = w.start; i < w.end; i++, at += (size_t)row * e) memcpy(at, x + (size_t)i * e, e);
        for (int64_t t = w.end - w.start; t < span; t++, at += (size_t)row * e) memcpy(at, none, e);
    }
}
static void tap_rows(const mean *m, char *to, const char *x, int64_t row) {
    if (tc_dtype_size(m->work) == 4) taps_of_size(m, to, x, row, 4);
    else taps_of_size(m, to, x, row, 8);
}
/* Tap t of all fixed windows along the last dimension, as a row of the table. */
static void tap_row(const mean *m, char *to, const char *x, int64_t t) {
    const dim *d = &m->d[2];
    size_t e = tc_dtype_size(m->work);
    const int64_t first = m->inside[t].first, last = m->inside[t].last, shift = t - d->pad, s = d->stride;
    if (first) memset(to, 0, (size_t)first * e);
    const char *from = x + (first * s + shift) * (int64_t)e;
    if (s == 1) memcpy(to + (size_t)first * e, from, (size_t)(last - first) * e);
    else m->isa->move->load[__builtin_ctz((unsigned)e)](to + (size_t)first * e, from, s, last - first);
    if (last < d->to) memset(to + (size_t)last * e, 0, (size_t)(d->to - last) * e);
}
typedef struct {
    char *table, *sums, *counts, *wide, *raw;
} place;

/* The taps of output row `row` from column `at` of the table on. */
static void fill_table(const mean *m, const place *p, int64_t row, int64_t at) {
    size_t e = tc_dtype_size(m->work);
    int64_t o1 = row % m->d[1].to, o0 = row / m->d[1].to % m->d[0].to, plane = row / m->d[1].to / m->d[0].to, width = m->d[2].to;
    extent w0 = m->win[0][o0], w1 = m->win[1][o1];
    char *to = p->table + (size_t)at * e;
    for (int64_t t0 = 0; t0 < m->d[0].span; t0++)
        for (int64_t t1 = 0; t1 < m->d[1].span; t1++) {
            int64_t i0 = w0.start + t0, i1 = w1.start + t1;
            bool inside = i0 >= 0 && i0 < w0.end && i1 >= 0 && i1 < w1.end;
            const char *x = inside ? input_row(m, plane, i0, i1, p->raw) : NULL;
            if (inside && !m->d[2].kernel) {
                tap_rows(m, to, x, m->strip);
                to += (size_t)(m->d[2].span * m->strip) * e;
                continue;
            }
            for (int64_t t = 0; t < m->d[2].span; t++, to += (size_t)m->strip * e) {
                if (inside) tap_row(m, to, x, t);
                else memset(to, 0, (size_t)width * e);
            }
        }
}
/* The taps of one result as a row. */
static void fill_row(const mean *m, const place *p, int64_t row, int64_t o2) {
    size_t e = tc_dtype_size(m->work);
    int64_t o1 = row % m->d[1].to, o0 = row / m->d[1].to % m->d[0].to, plane = row / m->d[1].to / m->d[0].to, span = m->d[2].span;
    extent w0 = m->win[0][o0], w1 = m->win[1][o1], w = m->win[2][o2];
    int64_t first = tc_max(0, -w.start), last = tc_max(first, tc_min(span, w.end - w.start));
    char *to = p->table;
    for (int64_t t0 = 0; t0 < m->d[0].span; t0++)
        for (int64_t t1 = 0; t1 < m->d[1].span; t1++, to += (size_t)span * e) {
            int64_t i0 = w0.start + t0, i1 = w1.start + t1;
            if (i0 < 0 || i0 >= w0.end || i1 < 0 || i1 >= w1.end) {
                memset(to, 0, (size_t)span * e);
                continue;
            }
            int64_t from = ((plane * m->d[0].in + i0) * m->d[1].in + i1) * m->d[2].in + w.start + first;
            memset(to, 0, (size_t)first * e);
            m->isa->cast[m->dtype][m->work](to + (size_t)first * e, m->x + (size_t)from * tc_dtype_size(m->dtype), last - first);
            memset(to + (size_t)last * e, 0, (size_t)(span - last) * e);
        }
}
/* The divisors of results [o2, o2 + n) of output row `row`. */
static void fill_counts(const mean *m, char *to, int64_t row, int64_t o2, int64_t n) {
    int64_t rows = m->divisor ? m->divisor : m->win[1][row % m->d[1].to].count * m->win[0][row / m->d[1].to % m->d[0].to].count;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = m->divisor ? rows : rows * m->win[2][o2 + i].count;
        if (m->sum == TC_F32) ((float *)to)[i] = (float)v;
        else if (m->sum == TC_F64) ((double *)to)[i] = (double)v;
        else ((int64_t *)to)[i] = v;
    }
}
/* Divides n sums and stores them from result `at` on. */
static void put(const mean *m, const place *p, int64_t at, int64_t n) {
    char *out = m->out + (size_t)at * tc_dtype_size(m->dtype);
    bool same = m->sum == m->dtype;
    m->isa->scalar[m->sum][tc_is_integral(m->sum) ? TC_X_DIV_TRUNC : TC_X_DIV](same ? out : p->sums, p->sums, p->counts, NULL, n);
    if (!same) m->isa->cast[m->sum][m->dtype](out, p->sums, n);
}

/* Strips [begin, end): output rows, several at a time, or one result. */
static void some(void *ctx, int64_t begin, int64_t end, int worker) {
    const mean *m = ctx;
    const tc_reduce_ops *ops = m->isa->reduce[m->work];
    char *worker_scratch = m->scratch + (size_t)worker * m->per_worker;
    size_t table = tc_pad64((size_t)(m->strip * m->taps) * tc_dtype_size(m->work)), results = tc_pad64((size_t)m->strip * 8);
    place p = {worker_scratch, worker_scratch + table, worker_scratch + table + results, NULL, worker_scratch + table + 2 * results};
    int64_t width = m->d[2].to, all = m->planes * m->d[0].to * m->d[1].to, each = m->by_rows ? 1 : m->strip / width;
    for (int64_t r = 0; m->uniform && r < m->strip; r += m->by_rows ? 1 : width)
        fill_counts(m, p.counts + (size_t)r * tc_dtype_size(m->sum), 0, 0, m->by_rows ? 1 : width);
    for (int64_t i = begin; i < end; i++) {
        if (m->by_rows) {
            fill_row(m, &p, i / width, i % width);
            if (!m->uniform) fill_counts(m, p.counts, i / width, i % width, 1);
            ops->sum_rows(p.sums, p.table, 1, m->taps, m->taps);
            put(m, &p, i, 1);
            continue;
        }
        int64_t rows = tc_min(each, all - i * each), n = rows * width;
        for (int64_t r = 0; r < rows; r++) {
            fill_table(m, &p, i * each + r, r * width);
            if (!m->uniform) fill_counts(m, p.counts + (size_t)(r * width) * tc_dtype_size(m->sum), i * each + r, 0, width);
        }
        ops->sum_cols(p.sums, p.table, m->taps, n, m->strip);
        put(m, &p, i * m->strip, n);
    }
}
static tc_status run(tc_kcall *k, int dims, bool adaptive) {
    mean m = read_args(k, dims, adaptive);
    m.x = tc_tensor_data(tc_k_tensor(k, 0)), m.out = tc_tensor_data(&k->outs[0]);
    m.scratch = tc_align64(k->scratch), m.per_worker = worker_bytes(&m);
    int64_t results = tc_tensor_numel(&k->outs[0]);
    if (results) {
        find_windows(&m, m.scratch);
        m.scratch += shared_bytes(&m);
        tc_parallel_for(k->pool, (results + m.strip - 1) / m.strip, 1 + 16384 / (m.strip * tc_max(m.taps, 1)), some, &m);
    }
    return NULL;
}

#define KERNEL(op, n, adaptive)                                                                                   \
    static tc_status run_##op##n(tc_kcall *k) { return run(k, n, adaptive); }                                     \
    static size_t scratch_##op##n(const tc_kcall *k, int threads) { return scratch_of(k, threads, n, adaptive); } \
    const tc_kernel tc_k_##op##n##d = {.name = #op, .flags = TC_KF_CONTIGUOUS | TC_KF_ENTRIES, .run = run_##op##n, .scratch = scratch_##op##n};
KERNEL(avg_pool, 2, false)
KERNEL(avg_pool, 3, false)
KERNEL(adaptive_avg_pool, 2, true)
KERNEL(adaptive_avg_pool, 3, true)
