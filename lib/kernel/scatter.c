/* Writing and accumulating by index. Every operator here is reduced to one form:
 *
 *     out[ dest[s] + out_at[f] ]  (op)=  value[ from[s] + value_at[f] ]      for each source s, and each element f of a source's slice
 *
 * Sources are sorted by destination (stable), so that each destination is one run of them, which one worker reduces in the fixed order of
 * scatter.h. */
#include "kernel/scatter.h"

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/scatter_dense.h"
#include "kernel/tree.h"

#include <math.h>
#include <string.h>

typedef enum { SET, SUM, PROD, MEAN, AMAX, AMIN } mode;

typedef struct {
    int64_t dest, source;
} pair;

typedef struct {
    const tc_isa_ops *isa;
    mode m;
    bool include_self, rows; /* rows: sums of contiguous slices, by vector addition (reduce_rows) */
    tc_tensor *out;
    const tc_tensor *value;
    double alpha; /* SUM: value is multiplied by it and rounded to the type */
    pair *pairs;  /* sorted by dest */
    int64_t npairs;
    const int64_t *from; /* element offset of source s in value */
    const int64_t *out_at, *value_at;
    int64_t nfree; /* elements of a slice */
    double *acc;   /* for each worker: `levels` rows of nfree partial sums */
    int levels;
} job;

/* ---- sorting pairs by destination, stable ---- */
static void sort_pairs(pair *a, pair *scratch, int64_t n, int64_t max) {
    for (int shift = 0; shift == 0 || (shift < 63 && max >> shift); shift += 11) {
        int64_t count[2049] = {0};
        for (int64_t i = 0; i < n; i++) count[(a[i].dest >> shift & 2047) + 1]++;
        for (int i = 0; i < 2048; i++) count[i + 1] += count[i];
        for (int64_t i = 0; i < n; i++) scratch[count[a[i].dest >> shift & 2047]++] = a[i];
        pair *t = a;
        a = scratch, scratch = t;
        /* an odd number of passes ends in scratch: copy it back to the caller's array */
        if (!(shift + 11 < 63 && max >> (shift + 11))) {
            if (shift / 11 % 2 == 0) memcpy(scratch, a, (size_t)n * sizeof *a);
            break;
        }
    }
}

/* ---- arithmetic: floats as doubles, rounded to the type after each step; integers by themselves ---- */
static double load(const tc_tensor *t, int64_t at) {
    switch (t->dtype) {
    case TC_F32: return ((const float *)t->storage->data)[at];
    case TC_F64: return ((const double *)t->storage->data)[at];
    default: return tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, at));
    }
}
static double narrow(tc_dtype d, double v) { return d == TC_F64 ? v : (float)v; }
static double combine(mode m, tc_dtype d, double a, double b) {
    switch (m) {
    case SUM:
    case MEAN: return narrow(d, a + b);
    case PROD: return narrow(d, a * b);
    case AMAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case AMIN: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default: return b;
    }
}
static int64_t combine_int(mode m, int64_t a, int64_t b) {
    switch (m) {
    case SUM:
    case MEAN: return (int64_t)((uint64_t)a + (uint64_t)b);
    case PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case AMAX: return a > b ? a : b;
    case AMIN: return a < b ? a : b;
    default: return b;
    }
}

/* ---- one destination: sources pairs[lo..hi) ---- */
static void reduce_int(const job *j, int64_t lo, int64_t hi) {
    tc_dtype d = j->out->dtype;
    for (int64_t f = 0; f < j->nfree; f++) {
        int64_t at = j->out->offset + j->pairs[lo].dest + j->out_at[f], v = 0, n = hi - lo;
        int64_t alpha = (int64_t)j->alpha;
        for (int64_t i = lo; i < hi; i++) {
            tc_scalar s = tc_scalar_load(j->value->dtype, j->value->storage->data, j->value->offset + j->from[j->pairs[i].source] + j->value_at[f]);
            int64_t x = (int64_t)((uint64_t)s.i * (uint64_t)(j->m == SUM ? alpha : 1));
            v = i == lo ? x : combine_int(j->m, v, x);
        }
        if (j->include_self) v = combine_int(j->m, tc_scalar_load(d, j->out->storage->data, at).i, v);
        if (j->m == MEAN) {
            tc_scalar_store(d, j->out->storage->data, at, tc_scalar_int(v)); /* the sum wraps in its type */
            v = tc_scalar_load(d, j->out->storage->data, at).i;
            int64_t k = n + (j->include_self ? 1 : 0), q = v / k;
            v = q - (v % k != 0 && (v < 0) != (k < 0));
        }
        tc_scalar_store(d, j->out->storage->data, at, d == TC_BOOL ? tc_scalar_bool(v != 0) : tc_scalar_int(v));
    }
}

/* acc = acc (op) row; the row of source s is read through value_at. first: acc = row. */
static void take_row(const job *j, double *acc, int64_t s, bool first) {
    const tc_tensor *v = j->value;
    int64_t at = v->offset + j->from[s];
    tc_dtype d = j->out->dtype;
    double alpha = j->alpha;
    if (v->dtype == TC_F32 && j->m == SUM && alpha == 1) { /* the usual case, without a call for each element */
        const float *x = (const float *)v->storage->data + at;
        if (first)
            for (int64_t f = 0; f < j->nfree; f++) acc[f] = x[j->value_at[f]];
        else
            for (int64_t f = 0; f < j->nfree; f++) acc[f] = (float)(acc[f] + x[j->value_at[f]]);
        return;
    }
    for (int64_t f = 0; f < j->nfree; f++) {
        double x = load(v, at + j->value_at[f]);
        if (j->m == SUM && alpha != 1) x = narrow(d, x * alpha);
        acc[f] = first ? x : combine(j->m, d, acc[f], x);
    }
}

static void merge_rows(const job *j, double *a, const double *b) {
    for (int64_t f = 0; f < j->nfree; f++) a[f] = combine(j->m, j->out->dtype, a[f], b[f]);
}

static int highest_bit(int64_t x) { return 63 - __builtin_clzll((uint64_t)x); }

/* Leaves without a source for this destination are absent from its tree. The stack holds partial sums by leaf index; the top two are merged when the
 * tree joins them lower than it joins the next leaf. */
static void reduce_float(const job *j, int64_t lo, int64_t hi, double *rows) {
    int64_t index[64];
    int depth = 0;
    for (int64_t i = lo; i < hi;) {
        int64_t leaf = j->pairs[i].source / TC_LEAF;
        while (depth >= 2 && highest_bit(index[depth - 1] ^ index[depth - 2]) < highest_bit(index[depth - 1] ^ leaf)) {
            merge_rows(j, rows + (depth - 2) * j->nfree, rows + (depth - 1) * j->nfree);
            depth--;
        }
        double *acc = rows + depth * j->nfree;
        for (bool first = true; i < hi && j->pairs[i].source / TC_LEAF == leaf; i++, first = false) take_row(j, acc, j->pairs[i].source, first);
        index[depth++] = leaf;
    }
    for (; depth > 1; depth--) merge_rows(j, rows + (depth - 2) * j->nfree, rows + (depth - 1) * j->nfree);
    tc_dtype d = j->out->dtype;
    for (int64_t f = 0; f < j->nfree; f++) {
        int64_t at = j->out->offset + j->pairs[lo].dest + j->out_at[f];
        double v = rows[f];
        if (j->include_self) v = combine(j->m, d, load(j->out, at), v);
        if (j->m == MEAN) v = narrow(d, v / (double)(hi - lo + (j->include_self ? 1 : 0)));
        if (d == TC_F32) ((float *)j->out->storage->data)[at] = (float)v;
        else if (d == TC_F64) ((double *)j->out->storage->data)[at] = v;
        else tc_scalar_store(d, j->out->storage->data, at, tc_scalar_float(v));
    }
}

/* Products of complex numbers, in the order of the sources. */
static void multiply_complex(const job *j, int64_t lo, int64_t hi) {
    const tc_dtype d = j->out->dtype, part = tc_dtype_real(d);
    for (int64_t f = 0; f < j->nfree; f++) {
        const int64_t at = j->out->offset + j->pairs[lo].dest + j->out_at[f];
        tc_scalar v = {.kind = TC_KIND_COMPLEX, .re = 1};
        if (j->include_self) v = tc_scalar_load(d, j->out->storage->data, at);
        for (int64_t i = lo; i < hi; i++) {
            const tc_scalar x = tc_scalar_load(d, j->value->storage->data, j->value->offset + j->from[j->pairs[i].source] + j->value_at[f]);
            const double re = narrow(part, v.re * x.re - v.im * x.im);
            v.im = narrow(part, v.re * x.im + v.im * x.re), v.re = re;
        }
        tc_scalar_store(d, j->out->storage->data, at, v);
    }
}

/* The same for contiguous slices of f32 and f64, added in place: a leaf with one source is just a pointer to it. */
static void reduce_rows(const job *j, int64_t lo, int64_t hi, double *scratch) {
    int64_t index[64], n = j->nfree, e = (int64_t)tc_dtype_size(j->out->dtype);
    const char *row[64], *x = (const char *)j->value->storage->data + (j->value->offset + j->value_at[0]) * e;
    tc_block_fn add = j->isa->scalar[j->out->dtype][TC_X_ADD];
    int depth = 0;
#define MERGE() \
    (add((char *)(scratch + (depth - 2) * n), row[depth - 2], row[depth - 1], NULL, n), row[depth - 2] = (char *)(scratch + (depth - 2) * n), depth--)
    for (int64_t i = lo; i < hi;) {
        int64_t leaf = j->pairs[i].source / TC_LEAF;
        while (depth >= 2 && highest_bit(index[depth - 1] ^ index[depth - 2]) < highest_bit(index[depth - 1] ^ leaf)) MERGE();
        row[depth] = x + j->from[j->pairs[i++].source] * e;
        for (; i < hi && j->pairs[i].source / TC_LEAF == leaf; i++) {
            add((char *)(scratch + depth * n), row[depth], x + j->from[j->pairs[i].source] * e, NULL, n);
            row[depth] = (char *)(scratch + depth * n);
        }
        index[depth++] = leaf;
    }
    while (depth > 1) MERGE();
#undef MERGE
    char *to = (char *)j->out->storage->data + (j->out->offset + j->pairs[lo].dest + j->out_at[0]) * e;
    if (j->include_self) add(to, to, row[0], NULL, n);
    else memcpy(to, row[0], (size_t)(n * e));
}

/* Runs of equal destinations that begin in [begin, end) of the pairs. */
static void reduce_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    double *rows = j->acc + (int64_t)worker * j->levels * j->nfree;
    bool ints = tc_is_integral(j->out->dtype);
    for (int64_t i = begin; i < end; i++) {
        if (i > 0 && j->pairs[i - 1].dest == j->pairs[i].dest) continue;
        int64_t hi = i + 1;
        while (hi < j->npairs && j->pairs[hi].dest == j->pairs[i].dest) hi++;
        if (j->rows) reduce_rows(j, i, hi, rows);
        else if (ints) reduce_int(j, i, hi);
        else if (tc_is_complex(j->out->dtype)) multiply_complex(j, i, hi);
        else reduce_float(j, i, hi, rows);
        i = hi - 1;
    }
}

/* Complex sums and means are computed for the real and the imaginary parts separately, on the tensor seen as one of twice the elements. */
static tc_tensor part_of(const tc_tensor *t, int64_t shift) {
    tc_tensor r = *t;
    r.dtype = tc_dtype_real(t->dtype);
    r.offset = t->offset * 2 + shift;
    return r;
}

/* ---- what all operators share: scratch, sorting and reducing ---- */
typedef struct {
    pair *pairs, *scratch;
    int64_t *from, *out_at, *value_at;
    double *acc;
} layout;

static int levels_of(int64_t sources) {
    int n = 3;
    for (int64_t leaves = sources / TC_LEAF + 1; leaves; leaves >>= 1) n++;
    return n;
}

static size_t scratch_bytes(int64_t sources, int64_t free_count, int threads) {
    return (size_t)sources * (2 * sizeof(pair) + sizeof(int64_t)) + (size_t)free_count * 2 * sizeof(int64_t) +
           (size_t)threads * (size_t)levels_of(sources) * (size_t)free_count * sizeof(double) + 64;
}

static layout lay_out(void *scratch, int64_t sources, int64_t free_count) {
    layout l;
    l.pairs = scratch;
    l.scratch = l.pairs + sources;
    l.from = (int64_t *)(l.scratch + sources);
    l.out_at = l.from + sources;
    l.value_at = l.out_at + free_count;
    l.acc = (double *)(l.value_at + free_count);
    return l;
}

static tc_status finish(tc_kcall *c, const layout *l, mode m, bool include_self, tc_tensor *out, const tc_tensor *value, int64_t sources,
                        int64_t nfree, double alpha) {
    size_t size = tc_dtype_size(out->dtype);
    int64_t max = 0;
    if (m == SET) { /* in order, so that the last source stays */
        for (int64_t s = 0; s < sources; s++)
            for (int64_t f = 0, n; f < nfree; f += n) {
                for (n = 1; f + n < nfree && l->out_at[f + n] == l->out_at[f] + n && l->value_at[f + n] == l->value_at[f] + n;) n++;
                memcpy((char *)out->storage->data + (size_t)(out->offset + l->pairs[s].dest + l->out_at[f]) * size,
                       (const char *)value->storage->data + (size_t)(value->offset + l->from[s] + l->value_at[f]) * size, (size_t)n * size);
            }
        return NULL;
    }
    for (int64_t s = 0; s < sources; s++) max = l->pairs[s].dest > max ? l->pairs[s].dest : max;
    sort_pairs(l->pairs, l->scratch, sources, max);
    job j = {.isa = c->isa,
             .m = m,
             .include_self = include_self,
             .out = out,
             .value = value,
             .alpha = alpha,
             .pairs = l->pairs,
             .npairs = sources,
             .from = l->from,
             .out_at = l->out_at,
             .value_at = l->value_at,
             .nfree = nfree,
             .acc = l->acc,
             .levels = levels_of(sources)};
    bool real = out->dtype == TC_F32 || out->dtype == TC_F64;
    j.rows = m == SUM && alpha == 1 && real && value->dtype == out->dtype && nfree >= 8;
    for (int64_t f = 1; j.rows && f < nfree; f++) j.rows = l->out_at[f] == l->out_at[0] + f && l->value_at[f] == l->value_at[0] + f;
    int64_t grain = 1 + 8192 / (nfree + 1);
    if (!tc_is_complex(out->dtype) || m == PROD) {
        tc_parallel_for(c->pool, sources, grain, reduce_range, &j);
        return NULL;
    }
    if (m > MEAN || alpha != 1) return tc_error(TC_UNSUPPORTED, "complex numbers have no order");
    for (int64_t s = 0; s < sources; s++) l->pairs[s].dest *= 2, l->from[s] *= 2;
    for (int64_t f = 0; f < nfree; f++) l->out_at[f] *= 2, l->value_at[f] *= 2;
    for (int64_t part = 0; part < 2; part++) {
        tc_tensor o = part_of(out, part), v = part_of(value, part);
        j.out = &o, j.value = &v;
        tc_parallel_for(c->pool, sources, grain, reduce_range, &j);
    }
    return NULL;
}

static void copy_self(tc_kcall *c) {
    const tc_tensor *self = tc_k_tensor(c, 0);
    if (tc_tensor_data(&c->outs[0]) != tc_tensor_data(self)) memcpy(tc_tensor_data(&c->outs[0]), tc_tensor_data(self), tc_tensor_bytes(self));
}

static tc_status bad_index(int64_t v, int64_t dim, int64_t size) {
    return tc_error(TC_CONTENT, "IndexError: index %lld is out of bounds for dimension %lld with size %lld", (long long)v, (long long)dim,
                    (long long)size);
}

/* Offsets of all elements of the dimensions in `dims`, row-major, through the strides of a tensor. */
static void offsets(const tc_tensor *t, const int *dims, int n, int64_t count, int64_t *out) {
    int64_t index[TC_MAX_RANK] = {0}, at = 0;
    for (int64_t k = 0; k < count; k++) {
        out[k] = at;
        for (int d = n; d-- > 0;) {
            at += t->stride[dims[d]];
            if (++index[d] < t->size[dims[d]]) break;
            at -= t->stride[dims[d]] * t->size[dims[d]];
            index[d] = 0;
        }
    }
}

static int64_t get_index(const tc_tensor *t, int64_t at) {
    const void *p = t->storage->data;
    return t->dtype == TC_I64 ? ((const int64_t *)p)[t->offset + at] : tc_scalar_load(t->dtype, p, t->offset + at).i;
}

/* ---- index_add, index_copy, index_reduce: one dimension, whole slices ---- */
/* Along the last dimension rows of the result are independent: each is one tc_dense_row. */
typedef struct {
    tc_dense_row row;
    const layout *l;
    char *out;
    const char *x;
    size_t share;
} dense_rows;
static void dense_row_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const dense_rows *k = ctx;
    int64_t e = (int64_t)tc_dtype_size(k->row.dtype);
    for (int64_t f = begin; f < end; f++) {
        tc_dense_row r = k->row;
        r.out = k->out + k->l->out_at[f] * e;
        r.x = k->x + k->l->value_at[f] * e;
        tc_dense_add(&r, (char *)k->l->acc + (size_t)worker * k->share);
    }
}
static bool uses_dense_rows(const tc_tensor *out, int dim, mode m, double alpha, int64_t sources) {
    return m == SUM && alpha == 1 && out->rank && out->stride[dim] == 1 && tc_dense_pays(out->dtype, sources, out->size[dim]);
}
static tc_status by_dim(tc_kcall *c, mode m, bool include_self, double alpha) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *index = tc_k_tensor(c, 2), *src = tc_k_tensor(c, 3);
    copy_self(c);
    int rank = out->rank, dim = rank ? tc_k_dim(c, 1, rank) : 0, others[TC_MAX_RANK], n = 0;
    int64_t sources = tc_tensor_numel(index), nfree = 1;
    for (int d = 0; d < rank; d++)
        if (d != dim) others[n++] = d, nfree *= out->size[d];
    layout l = lay_out(c->scratch, sources, nfree);
    offsets(out, others, n, nfree, l.out_at);
    if (src->rank == rank) offsets(src, others, n, nfree, l.value_at);
    else memset(l.value_at, 0, (size_t)nfree * sizeof(int64_t));
    for (int64_t s = 0; s < sources; s++) {
        int64_t v = get_index(index, index->rank ? s * index->stride[0] : 0), size = rank ? out->size[dim] : 1;
        if (v < 0 || v >= size) return bad_index(v, dim, size);
        l.pairs[s] = (pair){rank ? v * out->stride[dim] : 0, s};
        l.from[s] = src->rank ? s * src->stride[dim] : 0;
    }
    if (!nfree || !sources) return NULL;
    if (include_self && uses_dense_rows(out, dim, m, alpha, sources) && src->dtype == out->dtype && index->dtype == TC_I64) {
        int64_t e = (int64_t)tc_dtype_size(out->dtype);
        dense_rows k = {.row = {c->isa, out->dtype, NULL, NULL, (const int64_t *)index->storage->data + index->offset, sources, out->size[dim],
                                src->rank ? src->stride[dim] : 0, 1, index->rank ? index->stride[0] : 0},
                        .l = &l,
                        .out = (char *)out->storage->data + out->offset * e,
                        .x = (const char *)src->storage->data + src->offset * e,
                        .share = tc_dense_bytes(sources, out->size[dim])};
        tc_parallel_for(c->pool, nfree, 1 + 8192 / sources, dense_row_range, &k);
        return NULL;
    }
    return finish(c, &l, m, include_self, out, src, sources, nfree, alpha);
}
static size_t scratch_by_dim(const tc_kcall *c, int threads) {
    const tc_tensor *out = &c->outs[0];
    int64_t nfree = 1;
    int dim = out->rank ? tc_k_dim(c, 1, out->rank) : 0;
    for (int d = 0; d < out->rank; d++)
        if (d != dim) nfree *= out->size[d];
    int64_t sources = tc_tensor_numel(tc_k_tensor(c, 2));
    size_t dense = uses_dense_rows(out, dim, SUM, 1, sources) ? (size_t)threads * tc_dense_bytes(sources, out->size[dim]) : 0;
    return scratch_bytes(sources, nfree, threads) + dense;
}
static bool mode_of(const char *s, mode *out) {
    static const struct {
        const char *name;
        mode m;
    } names[] = {{"sum", SUM}, {"add", SUM}, {"prod", PROD}, {"multiply", PROD}, {"mean", MEAN}, {"amax", AMAX}, {"amin", AMIN}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s, names[i].name)) {
            *out = names[i].m;
            return true;
        }
    return false;
}
static tc_status run_index_add(tc_kcall *c) { return by_dim(c, SUM, true, tc_k_float(c, 4)); }
static tc_status run_index_copy(tc_kcall *c) { return by_dim(c, SET, false, 1); }
static tc_status run_index_reduce(tc_kcall *c) {
    mode m;
    if (!mode_of(c->args[4].string, &m)) return tc_error(TC_CONTENT, "index_reduce: unknown reduction '%s'", c->args[4].string);
    return by_dim(c, m, tc_k_bool(c, 5), 1);
}
const tc_kernel tc_k_index_add = {.name = "index_add", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_add, .scratch = scratch_by_dim};
const tc_kernel tc_k_index_copy = {
    .name = "index_copy", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_copy, .scratch = scratch_by_dim};
const tc_kernel tc_k_index_reduce = {
    .name = "index_reduce", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_reduce, .scratch = scratch_by_dim};

/* ---- scatter: every column along dim is independent ---- */
typedef struct {
    tc_kcall *c;
    mode m;
    bool include_self;
    int dim;
    const tc_tensor *index, *src;
    tc_tensor value; /* scatter.value: 0-d */
    char *scratch;
    size_t share;
    int failed; /* atomic flag: an index was out of range; the caller finds the first one */
} columns;

typedef void (*dense_fn)(const tc_dense_row *, void *);
static void dense_set(const tc_dense_row *r, void *scratch) {
    (void)scratch;
    tc_dense_set(r);
}
static void dense_int(const tc_dense_row *r, void *scratch) {
    (void)scratch;
    tc_dense_add_int(r);
}
/* The function that does rows without sorting; NULL: there is none for this case. */
static dense_fn dense_function(const columns *k, int64_t n, int64_t size) {
    tc_dtype d = k->c->outs[0].dtype;
    if (k->index->dtype != TC_I64 || (k->src ? k->src : &k->value)->dtype != d) return NULL;
    if (k->m == SET) return dense_set;
    if (k->m != SUM || !k->include_self) return NULL;
    return tc_is_integral(d) ? dense_int : tc_dense_pays(d, n, size) ? tc_dense_add : NULL;
}
/* `count` columns from the one at `at` on, adjacent along the last dimension. */
static void dense_columns(columns *k, const int64_t *at, int64_t count, dense_fn run, char *scratch) {
    tc_tensor *out = &k->c->outs[0];
    const tc_tensor *x = k->index, *v = k->src ? k->src : &k->value;
    int64_t xo = x->offset, oo = out->offset, vo = v->offset, e = (int64_t)tc_dtype_size(out->dtype), dim = k->dim;
    for (int d = 0; d < x->rank; d++) {
        xo += at[d] * x->stride[d], oo += at[d] * out->stride[d];
        if (k->src) vo += at[d] * v->stride[d];
    }
    tc_dense_row r = {.isa = k->c->isa,
                      .dtype = out->dtype,
                      .x = (const char *)v->storage->data + vo * e,
                      .out = (char *)out->storage->data + oo * e,
                      .index = (const int64_t *)x->storage->data + xo,
                      .n = x->rank ? x->size[dim] : 1,
                      .size = out->rank ? out->size[dim] : 1,
                      .x_step = k->src && v->rank ? v->stride[dim] : 0,
                      .out_step = out->rank ? out->stride[dim] : 0,
                      .index_step = x->rank ? x->stride[dim] : 0};
    const bool line = count == 1 && r.index_step == 1;
    bool inside = !line || k->c->isa->move->in_range(r.index, 0, r.size, r.n);
    for (int64_t s = 0; s < r.n && !line; s++)
        for (int64_t c = 0; c < count; c++) inside &= (uint64_t)r.index[s * r.index_step + c] < (uint64_t)r.size;
    if (!inside) {
        __atomic_store_n(&k->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    if (count == 1) run(&r, scratch);
    else tc_dense_block(&r, count, k->src != NULL, run, scratch + tc_dense_block_bytes(r.n, r.size), scratch);
}

static void sort_column(columns *k, const int64_t *at, char *scratch) {
    tc_tensor *out = &k->c->outs[0];
    const tc_tensor *x = k->index, *v = k->src ? k->src : &k->value;
    int64_t n = x->rank ? x->size[k->dim] : 1, xo = 0, oo = 0, vo = 0;
    for (int d = 0; d < x->rank; d++) {
        if (d == k->dim) continue;
        xo += at[d] * x->stride[d], oo += at[d] * out->stride[d];
        if (k->src) vo += at[d] * v->stride[d];
    }
    int64_t size = out->rank ? out->size[k->dim] : 1;
    layout l = lay_out(scratch, n, 1);
    l.out_at[0] = oo, l.value_at[0] = vo;
    for (int64_t s = 0; s < n; s++) {
        int64_t i = get_index(x, xo + (x->rank ? s * x->stride[k->dim] : 0));
        if (i < 0 || i >= size) {
            __atomic_store_n(&k->failed, 1, __ATOMIC_RELAXED);
            return;
        }
        l.pairs[s] = (pair){out->rank ? i * out->stride[k->dim] : 0, s};
        l.from[s] = k->src && v->rank ? s * v->stride[k->dim] : 0;
    }
    tc_kcall serial = *k->c;
    serial.pool = NULL;
    finish(&serial, &l, k->m, k->include_self, out, v, n, 1, 1);
}

/* Are blocks of columns transposed to rows? Where a column's elements are far apart in memory, and it is not much longer in the result. */
static bool transposes(const tc_tensor *x, const tc_tensor *out, int dim) {
    return x->rank && dim < x->rank - 1 && x->size[x->rank - 1] >= 4 && x->size[dim] >= 16 && out->size[dim] <= 8 * x->size[dim];
}

static void column_range(void *ctx, int64_t begin, int64_t end, int worker) {
    columns *k = ctx;
    const tc_tensor *out = &k->c->outs[0];
    int last = k->index->rank - 1;
    int64_t n = k->index->rank ? k->index->size[k->dim] : 1, size = out->rank ? out->size[k->dim] : 1;
    dense_fn run = dense_function(k, n, size);
    bool blocks = transposes(k->index, out, k->dim);
    for (int64_t i = begin; i < end; i++) {
        int64_t at[TC_MAX_RANK] = {0}, rest = i;
        for (int d = k->index->rank; d-- > 0;) {
            if (d == k->dim) continue;
            at[d] = rest % k->index->size[d];
            rest /= k->index->size[d];
        }
        char *scratch = k->scratch + (size_t)worker * k->share;
        if (!run) {
            sort_column(k, at, scratch);
            continue;
        }
        int64_t count = 1;
        if (k->dim < last && blocks) {
            count = k->index->size[last] - at[last];
            if (count > end - i) count = end - i;
            if (count > TC_DENSE_BLOCK) count = TC_DENSE_BLOCK;
        }
        dense_columns(k, at, count, run, scratch);
        i += count - 1;
    }
}

static tc_status first_bad(const tc_tensor *x, int dim, int64_t size) {
    for (int64_t i = 0, n = tc_tensor_numel(x); i < n; i++) {
        int64_t v = get_index(x, i);
        if (v < 0 || v >= size) return bad_index(v, dim, size);
    }
    return NULL;
}

static size_t column_share(const tc_tensor *x, const tc_tensor *out, int dim) {
    int64_t n = x->rank ? x->size[dim] : 1, size = out->rank ? out->size[dim] : 1;
    size_t sorted = scratch_bytes(n, 1, 1), dense = tc_dense_pays(out->dtype, n, size) ? tc_dense_bytes(n, size) : 0;
    if (transposes(x, out, dim)) dense += tc_dense_block_bytes(n, size);
    return tc_pad64(sorted > dense ? sorted : dense);
}

static tc_status scatter(tc_kcall *c, mode m, bool include_self) {
    tc_tensor *out = &c->outs[0];
    columns k = {.c = c, .m = m, .include_self = include_self, .index = tc_k_tensor(c, 2), .src = tc_k_tensor(c, 3), .scratch = c->scratch};
    copy_self(c);
    k.dim = out->rank ? tc_k_dim(c, 1, out->rank) : 0;
    int64_t n = tc_tensor_numel(k.index), along = k.index->rank ? k.index->size[k.dim] : 1;
    if (n == 0) return NULL;
    tc_storage one = {0};
    char bytes[16];
    if (!k.src) { /* scatter.value */
        tc_scalar_store(out->dtype, bytes, 0, c->args[3].num);
        one.data = bytes;
        k.value = (tc_tensor){.storage = &one, .dtype = out->dtype};
    }
    k.share = column_share(k.index, out, k.dim);
    tc_parallel_for(c->pool, n / along, 1 + 2048 / along, column_range, &k);
    return k.failed ? first_bad(k.index, k.dim, out->rank ? out->size[k.dim] : 1) : NULL;
}
static size_t scratch_scatter(const tc_kcall *c, int threads) {
    const tc_tensor *x = tc_k_tensor(c, 2), *out = &c->outs[0];
    return (size_t)threads * column_share(x, out, x->rank ? tc_k_dim(c, 1, x->rank) : 0);
}
static tc_status run_scatter(tc_kcall *c) { return scatter(c, SET, false); }
static tc_status run_scatter_add(tc_kcall *c) { return scatter(c, SUM, true); }
static tc_status run_scatter_reduce(tc_kcall *c) {
    mode m;
    if (!mode_of(c->args[4].string, &m)) return tc_error(TC_CONTENT, "scatter: unknown reduction '%s'", c->args[4].string);
    return scatter(c, m, c->nargs > 5 ? tc_k_bool(c, 5) : true);
}
const tc_kernel tc_k_scatter = {.name = "scatter", .flags = TC_KF_CONTIGUOUS, .run = run_scatter, .scratch = scratch_scatter};
const tc_kernel tc_k_scatter_add = {.name = "scatter_add", .flags = TC_KF_CONTIGUOUS, .run = run_scatter_add, .scratch = scratch_scatter};
const tc_kernel tc_k_scatter_reduce = {.name = "scatter_reduce", .flags = TC_KF_CONTIGUOUS, .run = run_scatter_reduce, .scratch = scratch_scatter};

/* ---- put: positions in the flattened tensor ---- */
static tc_status run_put(tc_kcall *c) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *index = tc_k_tensor(c, 1), *src = tc_k_tensor(c, 2);
    copy_self(c);
    int64_t n = tc_tensor_numel(index), size = tc_tensor_numel(out);
    layout l = lay_out(c->scratch, n, 1);
    l.out_at[0] = l.value_at[0] = 0;
    for (int64_t s = 0; s < n; s++) {
        int64_t v = get_index(index, s);
        if (v < -size || v >= size) return bad_index(v, 0, size);
        l.pairs[s] = (pair){v < 0 ? v + size : v, s};
        l.from[s] = s;
    }
    return n ? finish(c, &l, tc_k_bool(c, 3) ? SUM : SET, true, out, src, n, 1, 1) : NULL;
}
static size_t scratch_put(const tc_kcall *c, int threads) { return scratch_bytes(tc_tensor_numel(tc_k_tensor(c, 1)), 1, threads); }
const tc_kernel tc_k_put = {.name = "put", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_put, .scratch = scratch_put};

/* ---- index_put: the index tensors, broadcast together, select along some dimensions; the other dimensions form the slices ---- */
typedef struct {
    int rank, nindexed, indexed[TC_MAX_RANK], others[TC_MAX_RANK], nothers;
    int brank;
    int64_t bsize[TC_MAX_RANK]; /* broadcast shape of the indices */
    int64_t sources, nfree;
    int at; /* position of the broadcast dimensions in the indexed result */
} puts;

static puts plan_puts(const tc_kcall *c) {
    puts p = {0};
    const tc_tensor *out = &c->outs[0];
    const tc_karg *x = &c->args[1];
    p.rank = out->rank;
    for (int d = 0; d < p.rank; d++) {
        const tc_tensor *t = d < x->n ? x->tensors[d] : NULL;
        if (!t) {
            p.others[p.nothers++] = d;
            continue;
        }
        p.indexed[p.nindexed++] = d;
        if (t->rank > p.brank) {
            memmove(p.bsize + (t->rank - p.brank), p.bsize, (size_t)p.brank * sizeof *p.bsize);
            for (int k = 0; k < t->rank - p.brank; k++) p.bsize[k] = 1;
            p.brank = t->rank;
        }
        for (int k = 0; k < t->rank; k++)
            if (t->size[k] != 1) p.bsize[k + p.brank - t->rank] = t->size[k];
    }
    p.sources = p.nfree = 1;
    for (int k = 0; k < p.brank; k++) p.sources *= p.bsize[k];
    for (int k = 0; k < p.nothers; k++) p.nfree *= out->size[p.others[k]];
    bool adjacent = p.nindexed > 0 && p.indexed[p.nindexed - 1] - p.indexed[0] == p.nindexed - 1;
    p.at = adjacent ? p.indexed[0] : 0;
    return p;
}

static tc_status run_index_put(tc_kcall *c) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *v = tc_k_tensor(c, 2);
    copy_self(c);
    puts p = plan_puts(c);
    if (!p.sources || !p.nfree) return NULL;
    layout l = lay_out(c->scratch, p.sources, p.nfree);
    /* strides of values over the indexed result: [others before at][broadcast][others after]; 0 where values has size 1 */
    int total = p.nothers + p.brank;
    int64_t vstride[2 * TC_MAX_RANK] = {0};
    for (int k = 0; k < v->rank && k < total; k++) vstride[total - 1 - k] = v->size[v->rank - 1 - k] == 1 ? 0 : v->stride[v->rank - 1 - k];
    for (int k = 0; k < v->rank; k++) { /* sizes that depend on the data are known only here */
        int t = total - v->rank + k, f = t < p.at ? t : t - p.brank;
        int64_t want = t < 0 ? 1 : t >= p.at && t < p.at + p.brank ? p.bsize[t - p.at] : out->size[p.others[f]];
        if (v->size[k] != 1 && v->size[k] != want)
            return tc_error(TC_CONTENT,
                            "shape mismatch: value tensor of size %lld at dimension %d cannot be broadcast to indexing result of size %lld",
                            (long long)v->size[k], k, (long long)want);
    }
    offsets(out, p.others, p.nothers, p.nfree, l.out_at);
    int64_t index[2 * TC_MAX_RANK] = {0};
    for (int64_t f = 0, at = 0; f < p.nfree; f++) {
        l.value_at[f] = at;
        for (int d = p.nothers; d-- > 0;) {
            int64_t st = vstride[d < p.at ? d : d + p.brank], size = out->size[p.others[d]];
            at += st;
            if (++index[d] < size) break;
            at -= st * size;
            index[d] = 0;
        }
    }
    memset(index, 0, sizeof index);
    for (int64_t s = 0; s < p.sources; s++) {
        int64_t dest = 0, from = 0;
        for (int k = 0; k < p.brank; k++) from += index[k] * vstride[p.at + k];
        for (int i = 0; i < p.nindexed; i++) {
            const tc_tensor *t = c->args[1].tensors[p.indexed[i]];
            int64_t at = 0, size = out->size[p.indexed[i]];
            for (int k = 0; k < t->rank; k++)
                if (t->size[k] != 1) at += index[k + p.brank - t->rank] * t->stride[k];
            int64_t x = get_index(t, at);
            if (x < -size || x >= size) return bad_index(x, p.indexed[i], size);
            dest += (x < 0 ? x + size : x) * out->stride[p.indexed[i]];
        }
        l.pairs[s] = (pair){dest, s};
        l.from[s] = from;
        for (int k = p.brank; k-- > 0;) {
            if (++index[k] < p.bsize[k]) break;
            index[k] = 0;
        }
    }
    return finish(c, &l, tc_k_bool(c, 3) ? SUM : SET, true, out, v, p.sources, p.nfree, 1);
}
static size_t scratch_index_put(const tc_kcall *c, int threads) {
    puts p = plan_puts(c);
    return scratch_bytes(p.sources, p.nfree, threads);
}
const tc_kernel tc_k_index_put = {
    .name = "index_put", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_put, .scratch = scratch_index_put};

/* ---- embedding: rows of the gradient to the rows of the table ---- */
static tc_status run_embedding_dense_backward(tc_kcall *c) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *grad = tc_k_tensor(c, 0), *index = tc_k_tensor(c, 1);
    int64_t padding = tc_k_int(c, 3), all = tc_tensor_numel(index), width = out->size[1], n = 0;
    memset(tc_tensor_data(out), 0, tc_tensor_bytes(out));
    layout l = lay_out(c->scratch, all, width);
    for (int64_t f = 0; f < width; f++) l.out_at[f] = l.value_at[f] = f;
    for (int64_t s = 0; s < all; s++) {
        int64_t v = get_index(index, s);
        l.from[s] = s * width;
        if (v == padding) continue;
        if (v < 0 || v >= out->size[0]) return bad_index(v, 0, out->size[0]);
        l.pairs[n++] = (pair){v * width, s};
    }
    if (!n || !width) return NULL;
    TC_TRY(finish(c, &l, SUM, false, out, grad, n, width, 1));
    if (!tc_k_bool(c, 4)) return NULL;
    for (int64_t i = 0; i < n;) { /* scale_grad_by_freq: pairs are sorted now; each row is divided by the number of its sources */
        int64_t j = i + 1;
        while (j < n && l.pairs[j].dest == l.pairs[i].dest) j++;
        for (int64_t f = 0; f < width; f++) {
            int64_t at = out->offset + l.pairs[i].dest + f;
            tc_scalar_store(out->dtype, out->storage->data, at, tc_scalar_float(load(out, at) / (double)(j - i)));
        }
        i = j;
    }
    return NULL;
}
static size_t scratch_embedding(const tc_kcall *c, int threads) {
    return scratch_bytes(tc_tensor_numel(tc_k_tensor(c, 1)), c->outs[0].size[1], threads);
}
const tc_kernel tc_k_embedding_dense_backward = {
    .name = "embedding_dense_backward", .flags = TC_KF_CONTIGUOUS, .run = run_embedding_dense_backward, .scratch = scratch_embedding};
