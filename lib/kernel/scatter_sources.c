/* Sorts sources by destination and reduces those of each destination: floats in leaves and their tree, integers and complex products in order. */
#include "kernel/scatter_sources.h"

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/tree.h"

#include <math.h>
#include <string.h>

/* ---- sorting pairs by the bits of dest from `low` on, stable. max: the greatest dest >> low ---- */
static void sort_pairs(tc_scatter_pair *a, tc_scatter_pair *scratch, int64_t n, int low, int64_t max) {
    enum { DIGIT = 11, ALL = 1 << DIGIT };
    int passes = 1;
    while (passes * DIGIT < 63 && max >> passes * DIGIT) passes++;
    for (int pass = 0; pass < passes; pass++) {
        const int shift = low + pass * DIGIT;
        int64_t count[ALL + 1] = {0};
        for (int64_t i = 0; i < n; i++) count[(a[i].dest >> shift & (ALL - 1)) + 1]++;
        for (int i = 0; i < ALL; i++) count[i + 1] += count[i];
        for (int64_t i = 0; i < n; i++) scratch[count[a[i].dest >> shift & (ALL - 1)]++] = a[i];
        tc_scatter_pair *t = a;
        a = scratch, scratch = t;
    }
    if (passes % 2) memcpy(scratch, a, (size_t)n * sizeof *a); /* an odd number of passes ends in scratch: back to the caller's array */
}

/* ---- arithmetic: floats as doubles, rounded to the type after each step; integers by themselves ---- */
double tc_scatter_load(const tc_tensor *t, int64_t at) {
    switch (t->dtype) {
    case TC_F32: return ((const float *)t->storage->data)[at];
    case TC_F64: return ((const double *)t->storage->data)[at];
    default: return tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, at));
    }
}
static double narrow(tc_dtype d, double v) { return d == TC_F64 ? v : (float)v; }
static double combine(tc_scatter_mode m, tc_dtype d, double a, double b) {
    switch (m) {
    case TC_SCATTER_SUM:
    case TC_SCATTER_MEAN: return narrow(d, a + b);
    case TC_SCATTER_PROD: return narrow(d, a * b);
    case TC_SCATTER_AMAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case TC_SCATTER_AMIN: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default: return b;
    }
}
static int64_t combine_int(tc_scatter_mode m, int64_t a, int64_t b) {
    switch (m) {
    case TC_SCATTER_SUM:
    case TC_SCATTER_MEAN: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TC_SCATTER_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TC_SCATTER_AMAX: return a > b ? a : b;
    case TC_SCATTER_AMIN: return a < b ? a : b;
    default: return b;
    }
}

/* ---- one destination: sources pairs[lo..hi) ---- */
static void reduce_int(const tc_scatter_sources *j, int64_t lo, int64_t hi) {
    tc_dtype d = j->out->dtype;
    for (int64_t f = 0; f < j->nfree; f++) {
        int64_t at = j->out->offset + j->pairs[lo].dest + j->out_at[f], v = 0, n = hi - lo;
        int64_t alpha = (int64_t)j->alpha;
        for (int64_t i = lo; i < hi; i++) {
            tc_scalar s = tc_scalar_load(j->value->dtype, j->value->storage->data, j->value->offset + j->from[j->pairs[i].source] + j->value_at[f]);
            int64_t x = (int64_t)((uint64_t)s.i * (uint64_t)(j->mode == TC_SCATTER_SUM ? alpha : 1));
            v = i == lo ? x : combine_int(j->mode, v, x);
        }
        if (j->include_self) v = combine_int(j->mode, tc_scalar_load(d, j->out->storage->data, at).i, v);
        if (j->mode == TC_SCATTER_MEAN) {
            tc_scalar_store(d, j->out->storage->data, at, tc_scalar_int(v)); /* the sum wraps in its type */
            v = tc_scalar_load(d, j->out->storage->data, at).i;
            int64_t k = n + (j->include_self ? 1 : 0), q = v / k;
            v = q - (v % k != 0 && (v < 0) != (k < 0));
        }
        tc_scalar_store(d, j->out->storage->data, at, d == TC_BOOL ? tc_scalar_bool(v != 0) : tc_scalar_int(v));
    }
}

/* acc = acc (op) row; the row of source s is read through value_at. first: acc = row. */
static void take_row(const tc_scatter_sources *j, double *acc, int64_t s, bool first) {
    const tc_tensor *v = j->value;
    int64_t at = v->offset + j->from[s];
    tc_dtype d = j->out->dtype;
    double alpha = j->alpha;
    if (v->dtype == TC_F32 && j->mode == TC_SCATTER_SUM && alpha == 1) { /* the usual case, without a call for each element */
        const float *x = (const float *)v->storage->data + at;
        if (first)
            for (int64_t f = 0; f < j->nfree; f++) acc[f] = x[j->value_at[f]];
        else
            for (int64_t f = 0; f < j->nfree; f++) acc[f] = (float)(acc[f] + x[j->value_at[f]]);
        return;
    }
    for (int64_t f = 0; f < j->nfree; f++) {
        double x = tc_scatter_load(v, at + j->value_at[f]);
        if (j->mode == TC_SCATTER_SUM && alpha != 1) x = narrow(d, x * alpha);
        acc[f] = first ? x : combine(j->mode, d, acc[f], x);
    }
}

static void merge_rows(const tc_scatter_sources *j, double *a, const double *b) {
    for (int64_t f = 0; f < j->nfree; f++) a[f] = combine(j->mode, j->out->dtype, a[f], b[f]);
}

/* Stores the result v of n sources. */
static void store_float(const tc_scatter_sources *j, int64_t at, double v, int64_t n) {
    const tc_dtype d = j->out->dtype;
    if (j->include_self) v = combine(j->mode, d, tc_scatter_load(j->out, at), v);
    if (j->mode == TC_SCATTER_MEAN) v = narrow(d, v / (double)(n + (j->include_self ? 1 : 0)));
    if (d == TC_F32) ((float *)j->out->storage->data)[at] = (float)v;
    else if (d == TC_F64) ((double *)j->out->storage->data)[at] = v;
    else tc_scalar_store(d, j->out->storage->data, at, tc_scalar_float(v));
}

static int highest_bit(int64_t x) { return 63 - __builtin_clzll((uint64_t)x); }

/* Leaves without a source for this destination are absent from its tree. The stack holds partial sums by leaf index; the top two are merged when the
 * tree joins them lower than it joins the next leaf. */
static void reduce_float(const tc_scatter_sources *j, int64_t lo, int64_t hi, double *rows) {
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
    for (int64_t f = 0; f < j->nfree; f++) store_float(j, j->out->offset + j->pairs[lo].dest + j->out_at[f], rows[f], hi - lo);
}

/* Slices of one element of a float type: each pair becomes {dest << 32 | source, bits of the value}, so that after the sort a destination reads no other
 * memory than its run of pairs. */
static bool holds_single(const tc_scatter_sources *s, int64_t max) {
    const tc_dtype d = s->out->dtype;
    return s->nfree == 1 && !tc_is_integral(d) && !tc_is_complex(d) && max <= INT32_MAX &&
           (!s->npairs || s->pairs[s->npairs - 1].source <= INT32_MAX);
}
static void hold_single(const tc_scatter_sources *s) {
    for (int64_t i = 0; i < s->npairs; i++) {
        tc_scatter_pair *p = &s->pairs[i];
        double x = tc_scatter_load(s->value, s->value->offset + s->from[p->source] + s->value_at[0]);
        if (s->mode == TC_SCATTER_SUM && s->alpha != 1) x = narrow(s->out->dtype, x * s->alpha);
        p->dest = p->dest << 32 | p->source;
        memcpy(&p->source, &x, sizeof x);
    }
}
static void reduce_single(const tc_scatter_sources *j, int64_t lo, int64_t hi) {
    const tc_dtype d = j->out->dtype;
    const int64_t at = j->out->offset + (j->pairs[lo].dest >> 32) + j->out_at[0];
    int64_t index[64];
    double sum[64];
    int depth = 0;
    for (int64_t i = lo; i < hi; i++) {
        const int64_t leaf = (j->pairs[i].dest & UINT32_MAX) / TC_LEAF;
        double x;
        memcpy(&x, &j->pairs[i].source, sizeof x);
        if (depth && index[depth - 1] == leaf) {
            sum[depth - 1] = combine(j->mode, d, sum[depth - 1], x);
            continue;
        }
        for (; depth >= 2 && highest_bit(index[depth - 1] ^ index[depth - 2]) < highest_bit(index[depth - 1] ^ leaf); depth--)
            sum[depth - 2] = combine(j->mode, d, sum[depth - 2], sum[depth - 1]);
        index[depth] = leaf, sum[depth++] = x;
    }
    for (; depth > 1; depth--) sum[depth - 2] = combine(j->mode, d, sum[depth - 2], sum[depth - 1]);
    store_float(j, at, sum[0], hi - lo);
}

/* Products of complex numbers, in the order of the sources. */
static void multiply_complex(const tc_scatter_sources *j, int64_t lo, int64_t hi) {
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

/* Fetches the bytes at p, the first KiB of them, ahead of their use. */
static void fetch(const char *p, int64_t bytes) {
    for (int64_t i = 0; i < bytes && i < 1024; i += 64) __builtin_prefetch(p + i);
}
enum { AHEAD = 4 /* rows */ };
/* The same for n elements of f32 and f64 from element f of the slices on, which are contiguous, added in place: a leaf with one source is just a
 * pointer to it. */
static void reduce_rows(const tc_scatter_sources *j, tc_block_fn add, int64_t f, int64_t n, int64_t lo, int64_t hi, double *scratch) {
    int64_t index[64], e = (int64_t)tc_dtype_size(j->out->dtype);
    const char *row[64], *x = (const char *)j->value->storage->data + (j->value->offset + j->value_at[f]) * e;
    int depth = 0;
#define MERGE() \
    (add((char *)(scratch + (depth - 2) * n), row[depth - 2], row[depth - 1], NULL, n), row[depth - 2] = (char *)(scratch + (depth - 2) * n), depth--)
    for (int64_t i = lo; i < hi;) {
        int64_t leaf = j->pairs[i].source / TC_LEAF;
        while (depth >= 2 && highest_bit(index[depth - 1] ^ index[depth - 2]) < highest_bit(index[depth - 1] ^ leaf)) MERGE();
        row[depth] = x + j->from[j->pairs[i++].source] * e;
        for (; i < hi && j->pairs[i].source / TC_LEAF == leaf; i++) {
            if (i + AHEAD < j->npairs) fetch(x + j->from[j->pairs[i + AHEAD].source] * e, n * e);
            add((char *)(scratch + depth * n), row[depth], x + j->from[j->pairs[i].source] * e, NULL, n);
            row[depth] = (char *)(scratch + depth * n);
        }
        index[depth++] = leaf;
    }
    while (depth > 1) MERGE();
#undef MERGE
    char *to = (char *)j->out->storage->data + (j->out->offset + j->pairs[lo].dest + j->out_at[f]) * e;
    if (j->include_self) add(to, to, row[0], NULL, n);
    else memcpy(to, row[0], (size_t)(n * e));
}

typedef struct {
    const tc_scatter_sources *sources;
    tc_block_fn add; /* of the contiguous rows of slices (reduce_rows) */
    int64_t row;     /* elements of these; 0: there are none */
    int low;         /* the lowest bit of the destination in a pair's dest: 32 for single elements (hold_single), else 0 */
} job;
/* Runs of equal destinations that begin in [begin, end) of the pairs. */
static void reduce_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *all = ctx;
    const tc_scatter_sources *j = all->sources;
    double *rows = j->acc + (int64_t)worker * j->levels * j->nfree;
    bool ints = tc_is_integral(j->out->dtype);
    for (int64_t i = begin; i < end; i++) {
        const int64_t dest = j->pairs[i].dest >> all->low;
        if (i > 0 && j->pairs[i - 1].dest >> all->low == dest) continue;
        int64_t hi = i + 1;
        while (hi < j->npairs && j->pairs[hi].dest >> all->low == dest) hi++;
        if (all->low) reduce_single(j, i, hi);
        else if (all->row)
            for (int64_t f = 0; f < j->nfree; f += all->row) reduce_rows(j, all->add, f, all->row, i, hi, rows);
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

/* ---- the whole ---- */
static int levels_of(int64_t sources) {
    int n = 3;
    for (int64_t leaves = sources / TC_LEAF + 1; leaves; leaves >>= 1) n++;
    return n;
}

size_t tc_scatter_bytes(int64_t sources, int64_t nfree, int threads) {
    return (size_t)sources * (2 * sizeof(tc_scatter_pair) + sizeof(int64_t)) + (size_t)nfree * 2 * sizeof(int64_t) +
           (size_t)threads * (size_t)levels_of(sources) * (size_t)nfree * sizeof(double) + 64;
}

tc_scatter_sources tc_scatter_init(void *scratch, int64_t sources, int64_t nfree) {
    tc_scatter_sources s = {.alpha = 1, .pairs = scratch, .npairs = sources, .nfree = nfree, .levels = levels_of(sources)};
    s.more_pairs = s.pairs + sources;
    s.from = (int64_t *)(s.more_pairs + sources);
    s.out_at = s.from + sources;
    s.value_at = s.out_at + nfree;
    s.acc = (double *)(s.value_at + nfree);
    return s;
}

/* Copies slices, in order of source, so that the last one stays. */
static void copy_slices(const tc_scatter_sources *s) {
    const size_t size = tc_dtype_size(s->out->dtype);
    for (int64_t i = 0; i < s->npairs; i++)
        for (int64_t f = 0, n; f < s->nfree; f += n) {
            for (n = 1; f + n < s->nfree && s->out_at[f + n] == s->out_at[f] + n && s->value_at[f + n] == s->value_at[f] + n;) n++;
            memcpy((char *)s->out->storage->data + (size_t)(s->out->offset + s->pairs[i].dest + s->out_at[f]) * size,
                   (const char *)s->value->storage->data + (size_t)(s->value->offset + s->from[i] + s->value_at[f]) * size, (size_t)n * size);
        }
}

/* The elements of the rows, contiguous in both tensors, that slices consist of; 0: they are short, or not simply added. */
static int64_t rows_to_add(const tc_scatter_sources *s) {
    const bool real = s->out->dtype == TC_F32 || s->out->dtype == TC_F64;
    if (s->mode != TC_SCATTER_SUM || s->alpha != 1 || !real || s->value->dtype != s->out->dtype) return 0;
    int64_t row = s->nfree;
    for (int64_t f = 1; f < s->nfree; f++)
        if (f % row && (s->out_at[f] != s->out_at[f - 1] + 1 || s->value_at[f] != s->value_at[f - 1] + 1)) {
            if (row < s->nfree) return 0;
            row = f;
        }
    return row >= 8 && s->nfree % row == 0 ? row : 0;
}

tc_status tc_scatter_run(const tc_isa_ops *isa, tc_pool *pool, tc_scatter_sources *s) {
    if (s->mode == TC_SCATTER_SET) {
        copy_slices(s);
        return NULL;
    }
    const tc_dtype d = s->out->dtype;
    const int64_t grain = 1 + 8192 / (s->nfree + 1), row = rows_to_add(s);
    int64_t max = 0;
    bool sorted = true; /* as the numbers of segments are, and bags */
    for (int64_t i = 0; i < s->npairs; i++) {
        sorted &= s->pairs[i].dest >= max;
        max = s->pairs[i].dest > max ? s->pairs[i].dest : max;
    }
    const int low = holds_single(s, max) ? 32 : 0;
    if (low) hold_single(s);
    if (!sorted) sort_pairs(s->pairs, s->more_pairs, s->npairs, low, max);
    if (!tc_is_complex(d) || s->mode == TC_SCATTER_PROD) {
        tc_parallel_for(pool, s->npairs, grain, reduce_range, &(job){s, row ? isa->scalar[d][TC_X_ADD] : NULL, row, low});
        return NULL;
    }
    if (s->mode > TC_SCATTER_MEAN || s->alpha != 1) return tc_error(TC_UNSUPPORTED, "complex numbers have no order");
    for (int64_t i = 0; i < s->npairs; i++) s->pairs[i].dest *= 2, s->from[i] *= 2;
    for (int64_t f = 0; f < s->nfree; f++) s->out_at[f] *= 2, s->value_at[f] *= 2;
    for (int64_t part = 0; part < 2; part++) {
        tc_tensor out = part_of(s->out, part), value = part_of(s->value, part);
        tc_scatter_sources half = *s;
        half.out = &out, half.value = &value;
        tc_parallel_for(pool, s->npairs, grain, reduce_range, &(job){&half, NULL, 0, 0});
    }
    return NULL;
}
