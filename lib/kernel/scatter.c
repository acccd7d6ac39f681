/* Operators that write or accumulate by index: each lists its sources (scatter_sources.h), or, where rows are dense, writes them straight
 * (scatter_dense.h). */
#include "kernel/scatter.h"

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/scatter_dense.h"
#include "kernel/scatter_sources.h"

#include <string.h>

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
    const tc_scatter_sources *l;
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
static bool uses_dense_rows(const tc_tensor *out, int dim, tc_scatter_mode m, double alpha, int64_t sources) {
    return m == TC_SCATTER_SUM && alpha == 1 && out->rank && out->stride[dim] == 1 && tc_dense_pays(out->dtype, sources, out->size[dim]);
}
/* Which slices are read: one after the other, or those that `index` picks. */
typedef struct {
    const tc_tensor *index; /* NULL: all */
    bool from_end;          /* negative ones count from the end */
} picking;
/* Writes the offset of each source in src. */
static tc_status place_sources(tc_scatter_sources *l, const tc_tensor *src, int dim, picking pick) {
    const int64_t step = src->rank ? src->stride[dim] : 0, size = src->rank ? src->size[dim] : 1;
    for (int64_t s = 0; !pick.index && s < l->npairs; s++) l->from[s] = s * step;
    for (int64_t s = 0; pick.index && s < l->npairs; s++) {
        const int64_t v = get_index(pick.index, s * pick.index->stride[0]), at = v < 0 && pick.from_end ? v + size : v;
        if (at < 0 || at >= size)
            return tc_error(TC_CONTENT, "IndexError: index %lld is out of bounds for dimension %d of source with size %lld", (long long)v, dim,
                            (long long)size);
        l->from[s] = at * step;
    }
    return NULL;
}
static tc_status by_dim(tc_kcall *c, tc_scatter_mode m, bool include_self, double alpha, picking pick) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *index = tc_k_tensor(c, 2), *src = tc_k_tensor(c, 3);
    copy_self(c);
    int rank = out->rank, dim = rank ? tc_k_dim(c, 1, rank) : 0, others[TC_MAX_RANK], n = 0;
    int64_t sources = tc_tensor_numel(index), nfree = 1;
    for (int d = 0; d < rank; d++)
        if (d != dim) others[n++] = d, nfree *= out->size[d];
    tc_scatter_sources l = tc_scatter_init(c->scratch, sources, nfree);
    offsets(out, others, n, nfree, l.out_at);
    if (src->rank == rank) offsets(src, others, n, nfree, l.value_at);
    else memset(l.value_at, 0, (size_t)nfree * sizeof(int64_t));
    TC_TRY(place_sources(&l, src, dim, pick));
    for (int64_t s = 0; s < sources; s++) {
        int64_t v = get_index(index, index->rank ? s * index->stride[0] : 0), size = rank ? out->size[dim] : 1;
        if (v < 0 || v >= size) return bad_index(v, dim, size);
        l.pairs[s] = (tc_scatter_pair){rank ? v * out->stride[dim] : 0, s};
    }
    if (!nfree || !sources) return NULL;
    if (!pick.index && include_self && uses_dense_rows(out, dim, m, alpha, sources) && src->dtype == out->dtype && index->dtype == TC_I64) {
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
    l.mode = m, l.include_self = include_self, l.out = out, l.value = src, l.alpha = alpha;
    return tc_scatter_run(c->isa, c->pool, &l);
}
static size_t scratch_by_dim(const tc_kcall *c, int threads) {
    const tc_tensor *out = &c->outs[0];
    int64_t nfree = 1;
    int dim = out->rank ? tc_k_dim(c, 1, out->rank) : 0;
    for (int d = 0; d < out->rank; d++)
        if (d != dim) nfree *= out->size[d];
    int64_t sources = tc_tensor_numel(tc_k_tensor(c, 2));
    size_t dense = uses_dense_rows(out, dim, TC_SCATTER_SUM, 1, sources) ? (size_t)threads * tc_dense_bytes(sources, out->size[dim]) : 0;
    return tc_scatter_bytes(sources, nfree, threads) + dense;
}
static bool mode_of(const char *s, tc_scatter_mode *out) {
    static const struct {
        const char *name;
        tc_scatter_mode m;
    } names[] = {{"sum", TC_SCATTER_SUM},       {"add", TC_SCATTER_SUM},   {"prod", TC_SCATTER_PROD},
                 {"multiply", TC_SCATTER_PROD}, {"mean", TC_SCATTER_MEAN}, {"amax", TC_SCATTER_AMAX},
                 {"amin", TC_SCATTER_AMIN},     {"max", TC_SCATTER_AMAX},  {"min", TC_SCATTER_AMIN}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s, names[i].name)) {
            *out = names[i].m;
            return true;
        }
    return false;
}
static tc_status run_index_add(tc_kcall *c) { return by_dim(c, TC_SCATTER_SUM, true, tc_k_float(c, 4), (picking){0}); }
static tc_status run_index_add_picked(tc_kcall *c) { return by_dim(c, TC_SCATTER_SUM, true, 1, (picking){tc_k_tensor(c, 4), tc_k_bool(c, 5)}); }
static tc_status run_index_copy(tc_kcall *c) { return by_dim(c, TC_SCATTER_SET, false, 1, (picking){0}); }
static tc_status run_index_reduce(tc_kcall *c) {
    tc_scatter_mode m;
    if (!mode_of(c->args[4].string, &m)) return tc_error(TC_CONTENT, "index_reduce: unknown reduction '%s'", c->args[4].string);
    return by_dim(c, m, tc_k_bool(c, 5), 1, (picking){0});
}
const tc_kernel tc_k_index_add = {.name = "index_add", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_add, .scratch = scratch_by_dim};
const tc_kernel tc_k_index_add_picked = {
    .name = "index_add_picked", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_add_picked, .scratch = scratch_by_dim};
const tc_kernel tc_k_index_copy = {
    .name = "index_copy", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_copy, .scratch = scratch_by_dim};
const tc_kernel tc_k_index_reduce = {
    .name = "index_reduce", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_reduce, .scratch = scratch_by_dim};

/* ---- scatter: every column along dim is independent ---- */
typedef struct {
    tc_kcall *c;
    tc_scatter_mode m;
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
    if (k->m == TC_SCATTER_SET) return dense_set;
    if (k->m == TC_SCATTER_SUM && k->include_self && tc_is_integral(d)) return dense_int;
    return tc_dense_reduces(d, k->m, n, size) ? tc_dense_reduce : NULL;
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
                      .index_step = x->rank ? x->stride[dim] : 0,
                      .mode = k->m,
                      .include_self = k->include_self};
    bool inside = true;
    if (count > 1) inside = tc_dense_block(&r, count, k->src != NULL, run, scratch + tc_dense_block_bytes(r.n, r.size), scratch);
    else if (r.index_step == 1) inside = k->c->isa->move->in_range(r.index, 0, r.size, r.n);
    else
        for (int64_t s = 0; s < r.n; s++) inside &= (uint64_t)r.index[s * r.index_step] < (uint64_t)r.size;
    if (!inside) __atomic_store_n(&k->failed, 1, __ATOMIC_RELAXED);
    else if (count == 1) run(&r, scratch);
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
    tc_scatter_sources l = tc_scatter_init(scratch, n, 1);
    l.out_at[0] = oo, l.value_at[0] = vo;
    for (int64_t s = 0; s < n; s++) {
        int64_t i = get_index(x, xo + (x->rank ? s * x->stride[k->dim] : 0));
        if (i < 0 || i >= size) {
            __atomic_store_n(&k->failed, 1, __ATOMIC_RELAXED);
            return;
        }
        l.pairs[s] = (tc_scatter_pair){out->rank ? i * out->stride[k->dim] : 0, s};
        l.from[s] = k->src && v->rank ? s * v->stride[k->dim] : 0;
    }
    l.mode = k->m, l.include_self = k->include_self, l.out = out, l.value = v;
    tc_status_free(tc_scatter_run(k->c->isa, NULL, &l));
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
    size_t sorted = tc_scatter_bytes(n, 1, 1), dense = tc_dense_pays(out->dtype, n, size) ? tc_dense_bytes(n, size) : 0;
    if (transposes(x, out, dim)) dense += tc_dense_block_bytes(n, size);
    return tc_pad64(sorted > dense ? sorted : dense);
}

static tc_status scatter(tc_kcall *c, tc_scatter_mode m, bool include_self) {
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
static tc_status run_scatter(tc_kcall *c) { return scatter(c, TC_SCATTER_SET, false); }
static tc_status run_scatter_add(tc_kcall *c) { return scatter(c, TC_SCATTER_SUM, true); }
static tc_status run_scatter_reduce(tc_kcall *c) {
    tc_scatter_mode m;
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
    tc_scatter_sources l = tc_scatter_init(c->scratch, n, 1);
    l.out_at[0] = l.value_at[0] = 0;
    for (int64_t s = 0; s < n; s++) {
        int64_t v = get_index(index, s);
        if (v < -size || v >= size) return bad_index(v, 0, size);
        l.pairs[s] = (tc_scatter_pair){v < 0 ? v + size : v, s};
        l.from[s] = s;
    }
    l.mode = tc_k_bool(c, 3) ? TC_SCATTER_SUM : TC_SCATTER_SET, l.include_self = true, l.out = out, l.value = src;
    return n ? tc_scatter_run(c->isa, c->pool, &l) : NULL;
}
static size_t scratch_put(const tc_kcall *c, int threads) { return tc_scatter_bytes(tc_tensor_numel(tc_k_tensor(c, 1)), 1, threads); }
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
    tc_scatter_sources l = tc_scatter_init(c->scratch, p.sources, p.nfree);
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
        l.pairs[s] = (tc_scatter_pair){dest, s};
        l.from[s] = from;
        for (int k = p.brank; k-- > 0;) {
            if (++index[k] < p.bsize[k]) break;
            index[k] = 0;
        }
    }
    l.mode = tc_k_bool(c, 3) ? TC_SCATTER_SUM : TC_SCATTER_SET, l.include_self = true, l.out = out, l.value = v;
    return tc_scatter_run(c->isa, c->pool, &l);
}
static size_t scratch_index_put(const tc_kcall *c, int threads) {
    puts p = plan_puts(c);
    return tc_scatter_bytes(p.sources, p.nfree, threads);
}
const tc_kernel tc_k_index_put = {
    .name = "index_put", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_index_put, .scratch = scratch_index_put};

/* ---- embedding: rows of the gradient to the rows of the table ---- */
static tc_status run_embedding_dense_backward(tc_kcall *c) {
    tc_tensor *out = &c->outs[0];
    const tc_tensor *grad = tc_k_tensor(c, 0), *index = tc_k_tensor(c, 1);
    int64_t padding = tc_k_int(c, 3), all = tc_tensor_numel(index), width = out->size[1], n = 0;
    memset(tc_tensor_data(out), 0, tc_tensor_bytes(out));
    tc_scatter_sources l = tc_scatter_init(c->scratch, all, width);
    for (int64_t f = 0; f < width; f++) l.out_at[f] = l.value_at[f] = f;
    for (int64_t s = 0; s < all; s++) {
        int64_t v = get_index(index, s);
        l.from[s] = s * width;
        if (v == padding) continue;
        if (v < 0 || v >= out->size[0]) return bad_index(v, 0, out->size[0]);
        l.pairs[n++] = (tc_scatter_pair){v * width, s};
    }
    if (!n || !width) return NULL;
    l.mode = TC_SCATTER_SUM, l.out = out, l.value = grad, l.npairs = n;
    TC_TRY(tc_scatter_run(c->isa, c->pool, &l));
    if (!tc_k_bool(c, 4)) return NULL;
    for (int64_t i = 0; i < n;) { /* scale_grad_by_freq: pairs are sorted now; each row is divided by the number of its sources */
        int64_t j = i + 1;
        while (j < n && l.pairs[j].dest == l.pairs[i].dest) j++;
        for (int64_t f = 0; f < width; f++) {
            int64_t at = out->offset + l.pairs[i].dest + f;
            tc_scalar_store(out->dtype, out->storage->data, at, tc_scalar_float(tc_scatter_load(out, at) / (double)(j - i)));
        }
        i = j;
    }
    return NULL;
}
static size_t scratch_embedding(const tc_kcall *c, int threads) {
    return tc_scatter_bytes(tc_tensor_numel(tc_k_tensor(c, 1)), c->outs[0].size[1], threads);
}
const tc_kernel tc_k_embedding_dense_backward = {
    .name = "embedding_dense_backward", .flags = TC_KF_CONTIGUOUS, .run = run_embedding_dense_backward, .scratch = scratch_embedding};
