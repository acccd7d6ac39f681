/* Memory of the block executor: strided, gathered and predicated loads and stores of blocks, spreading, index values.
 *
 * A block of class c is walked as a slow side and a fast side (row mode: outer slow, inner fast). Along the fast side it is cut into
 * runs over the last merged axis, each one call of a strided primitive. */
#include "runtime/block_impl.h"

int64_t reach_offset(const side *s, const int64_t *stride, int64_t flat) {
    if (flat == 0) return 0; /* an extent may be 0 */
    if (s->n == 1) return stride[0] * flat;
    int64_t off = 0;
    for (int a = s->n - 1; a >= 0; a--) {
        off += stride[a] * (flat % s->ext[a]);
        flat /= s->ext[a];
    }
    return off;
}

/* The block's two sides for a class: those that the class lacks have one element. */
typedef struct {
    const side *slow, *fast;
    const int64_t *slow_stride, *fast_stride;
    int64_t slow0, fast0, slow_n, fast_n;
} view;
static const side one = {.n = 0, .total = 1};

static view view_of(const walk *w, const reach *at, int cls) {
    const side *o = cls & CLS_O ? &w->n->O : &one, *i = cls & CLS_I ? &w->n->I : &one;
    int64_t r = cls & CLS_O ? w->r : 1, c = cls & CLS_I ? w->c : 1;
    int64_t o0 = cls & CLS_O ? w->o0 : 0, i0 = cls & CLS_I ? w->i0 : 0;
    if (w->n->col) return (view){i, o, at->i, at->o, i0, o0, c, r};
    return (view){o, i, at->o, at->i, o0, i0, r, c};
}

typedef void (*run_fn)(void *ctx, int64_t offset, int64_t stride, int64_t done, int64_t n);

/* Calls fn for every run: offset of its first element from `base`, stride, elements of the block before it, length. */
static void each_run(const view *v, int64_t base, run_fn fn, void *ctx) {
    int64_t done = 0;
    for (int64_t s = 0; s < v->slow_n; s++) {
        int64_t off = base + (v->slow->n ? reach_offset(v->slow, v->slow_stride, v->slow0 + s) : 0);
        if (!v->fast->n) {
            fn(ctx, off, 0, done++, 1);
            continue;
        }
        int last = v->fast->n - 1;
        int64_t ext = v->fast->ext[last], stride = v->fast_stride[last];
        for (int64_t f = 0; f < v->fast_n;) {
            int64_t flat = v->fast0 + f, room = last ? ext - flat % ext : v->fast_n, n = v->fast_n - f < room ? v->fast_n - f : room;
            fn(ctx, off + reach_offset(v->fast, v->fast_stride, flat), stride, done, n);
            done += n;
            f += n;
        }
    }
}

typedef struct {
    const tc_isa_ops *isa;
    char *block, *memory;
    int shift;
    const uint8_t *pred;
} copy_ctx;

static void copy_in(void *p, int64_t offset, int64_t stride, int64_t done, int64_t n) {
    const copy_ctx *c = p;
    char *to = c->block + (done << c->shift);
    const char *from = c->memory + (offset << c->shift);
    if (stride == 1) memcpy(to, from, (size_t)n << c->shift);
    else if (stride == 0) c->isa->move->fill[c->shift](to, from, n);
    else c->isa->move->load[c->shift](to, from, stride, n);
}

static void copy_out(void *p, int64_t offset, int64_t stride, int64_t done, int64_t n) {
    const copy_ctx *c = p;
    char *to = c->memory + (offset << c->shift);
    const char *from = c->block + (done << c->shift);
    if (c->pred) c->isa->move->store_if[c->shift](to, stride, c->pred + done, from, n);
    else if (stride == 1) memcpy(to, from, (size_t)n << c->shift);
    else c->isa->move->store[c->shift](to, stride, from, n);
}

/* Memory runs along the slow side: move a tile by transposing it. */
static bool transposed(const view *v) {
    return v->slow->n == 1 && v->fast->n == 1 && v->slow_stride[0] == 1 && v->fast_stride[0] != 1 && v->fast_stride[0] != 0 && v->slow_n >= 4 &&
           v->fast_n >= 4;
}

static void load_block(walk *w, const access *a, void *to) {
    view v = view_of(w, &a->at, a->cls);
    copy_ctx c = {w->b->isa, to, w->data[a->buffer], a->shift, NULL};
    if (transposed(&v)) {
        int64_t off = a->at.base + v.slow0 + v.fast0 * v.fast_stride[0];
        c.isa->move->transpose[a->shift](to, v.fast_n, c.memory + (off << a->shift), v.fast_stride[0], v.fast_n, v.slow_n);
    } else each_run(&v, a->at.base, copy_in, &c);
}

void run_load(walk *w, const step *s) {
    const access *a = &w->n->acc[s->aux];
    if (a->dtype == s->dtype) {
        load_block(w, a, w->ptr[s->out]);
        return;
    }
    const void *from =
        (char *)w->data[a->buffer] +
        ((a->at.base + (a->cls & CLS_O ? w->row[s->aux] : 0) + (a->cls & CLS_I ? reach_offset(&w->n->I, a->at.i, w->i0) : 0)) << a->shift);
    if (!a->dense) {
        load_block(w, a, w->scratch + w->n->tmp);
        from = w->scratch + w->n->tmp;
    }
    w->b->isa->cast[a->dtype][s->dtype](w->ptr[s->out], from, w->count[a->cls]);
}

void run_store(walk *w, const step *s) {
    const access *a = &w->n->acc[s->aux];
    const char *from = w->ptr[s->a];
    int64_t n = w->count[a->cls];
    view v = view_of(w, &a->at, a->cls);
    if (a->dtype != s->dtype) {
        if (a->dense && a->pred < 0) {
            int64_t off = a->at.base + (a->cls & CLS_O ? w->row[s->aux] : 0) + (a->cls & CLS_I ? reach_offset(&w->n->I, a->at.i, w->i0) : 0);
            w->b->isa->cast[s->dtype][a->dtype]((char *)w->data[a->buffer] + (off << a->shift), from, n);
            return;
        }
        w->b->isa->cast[s->dtype][a->dtype](w->scratch + w->n->tmp, from, n);
        from = w->scratch + w->n->tmp;
    }
    copy_ctx c = {w->b->isa, (char *)from, w->data[a->buffer], a->shift, a->pred < 0 ? NULL : w->ptr[a->pred]};
    if (!c.pred && transposed(&v)) {
        int64_t off = a->at.base + v.slow0 + v.fast0 * v.fast_stride[0];
        c.isa->move->transpose[a->shift](c.memory + (off << a->shift), v.fast_stride[0], from, v.fast_n, v.slow_n, v.fast_n);
    } else each_run(&v, a->at.base, copy_out, &c);
}

typedef struct {
    const tc_isa_ops *isa;
    int64_t *out;
} iota_ctx;
static void iota_run(void *p, int64_t offset, int64_t stride, int64_t done, int64_t n) {
    const iota_ctx *c = p;
    c->isa->move->iota(c->out + done, offset, stride, n);
}

void index_block(walk *w, const reach *at, int cls, int64_t *out) {
    view v = view_of(w, at, cls);
    each_run(&v, at->base, iota_run, &(iota_ctx){w->b->isa, out});
}

void run_index(walk *w, const step *s) { index_block(w, &w->n->acc[s->aux].at, s->cls, w->ptr[s->out]); }

static void report(const walk *w, const access *a, int dim, int64_t index, int64_t size) {
    if (__atomic_exchange_n(&w->fault->set, 1, __ATOMIC_ACQ_REL)) return;
    w->fault->inst = a->inst;
    w->fault->dim = dim;
    w->fault->index = index;
    w->fault->size = size;
}

/* Adds the gathered indices to the addresses; an index outside its dimension is reported and replaced by the first element. */
static void add_gathered(walk *w, const access *a, int64_t n, int64_t *index, int64_t *tmp) {
    const uint8_t *pred = a->pred < 0 ? NULL : w->ptr[a->pred];
    for (int k = 0; k < a->ngather; k++) {
        const int64_t *g = w->ptr[a->gather[k].value];
        int64_t stride = a->gather[k].stride, size = a->gather[k].size;
        index_block(w, &a->gather[k].at, a->cls, tmp); /* the affine part of this dimension */
        for (int64_t i = 0; i < n; i++) {
            int64_t at = tmp[i] + g[i];
            if (at < 0 || at >= size) {
                if (!pred || pred[i]) report(w, a, a->gather[k].dim, at, size);
                at = 0;
            }
            index[i] += at * stride;
        }
    }
}

/* One row: the gathered index is one number, what follows is a strided load. */
static bool gather_row(walk *w, const step *s, const access *a) {
    if (w->r != 1 || a->pred >= 0 || a->dtype != s->dtype || w->n->col) return false;
    int64_t off = a->at.base + (a->cls & CLS_O ? w->row[s->aux] : 0);
    for (int k = 0; k < a->ngather; k++) {
        for (int d = 0; d < w->n->I.n; d++)
            if (a->gather[k].at.i[d]) return false;
        int64_t at = a->gather[k].at.base + reach_offset(&w->n->O, a->gather[k].at.o, w->o0) + *(const int64_t *)w->ptr[a->gather[k].value];
        if (at < 0 || at >= a->gather[k].size) {
            report(w, a, a->gather[k].dim, at, a->gather[k].size);
            at = 0;
            if (!a->gather[k].size) return true;
        }
        off += at * a->gather[k].stride;
    }
    view v = view_of(w, &a->at, a->cls & CLS_I);
    each_run(&v, off, copy_in, &(copy_ctx){w->b->isa, w->ptr[s->out], w->data[a->buffer], a->shift, NULL});
    return true;
}

/* Affine addresses under a predicate: runs of true are strided loads, the rest is 0. */
static bool load_runs(walk *w, const access *a, const uint8_t *pred, void *to, int64_t n) {
    view v = view_of(w, &a->at, a->cls);
    if (v.fast->n != 1) return false;
    copy_ctx c = {w->b->isa, to, w->data[a->buffer], a->shift, NULL};
    int64_t stride = v.fast_stride[0];
    if (memchr(pred, 0, (size_t)n)) memset(to, 0, (size_t)n << a->shift);
    for (int64_t k = 0; k < v.slow_n; k++) {
        int64_t off = a->at.base + v.fast0 * stride + (v.slow->n ? reach_offset(v.slow, v.slow_stride, v.slow0 + k) : 0), row = k * v.fast_n;
        for (int64_t i = 0; i < v.fast_n;) {
            const uint8_t *first = memchr(pred + row + i, 1, (size_t)(v.fast_n - i));
            if (!first) break;
            i = first - (pred + row);
            const uint8_t *end = memchr(first, 0, (size_t)(v.fast_n - i));
            int64_t len = end ? end - first : v.fast_n - i;
            copy_in(&c, off + i * stride, stride, row + i, len);
            i += len;
        }
    }
    return true;
}

void run_gather(walk *w, const step *s) {
    const access *a = &w->n->acc[s->aux];
    if (s->part && gather_row(w, s, a)) return; /* part: the gathered values vary along the rows only */
    int64_t n = w->count[s->cls], *index = (int64_t *)(w->scratch + w->n->index), *tmp = index + w->n->R * w->n->C;
    const uint8_t *pred = a->pred < 0 ? NULL : w->ptr[a->pred];
    void *to = a->dtype == s->dtype ? w->ptr[s->out] : w->scratch + w->n->tmp;
    if (!a->ngather && load_runs(w, a, pred, to, n)) {
        if (a->dtype != s->dtype) w->b->isa->cast[a->dtype][s->dtype](w->ptr[s->out], to, n);
        return;
    }
    index_block(w, &a->at, s->cls, index);
    add_gathered(w, a, n, index, tmp);
    bool empty = false;
    for (int k = 0; k < a->ngather; k++) empty |= a->gather[k].size == 0;
    if (empty) memset(to, 0, (size_t)n << a->shift);
    else if (pred) w->b->isa->move->gather_if[a->shift](to, w->data[a->buffer], index, pred, n);
    else w->b->isa->move->gather[a->shift](to, w->data[a->buffer], index, n);
    if (a->dtype != s->dtype) w->b->isa->cast[a->dtype][s->dtype](w->ptr[s->out], to, n);
}

/* From a class to a wider one. once: as large as blocks get. */
void run_spread(walk *w, const step *s) {
    int shift = s->op;
    const char *from = w->ptr[s->a];
    char *to = w->ptr[s->out];
    size_t size = (size_t)1 << shift;
    int64_t n = w->count[s->cls], fast = w->n->col ? w->r : w->c, slow = w->n->col ? w->c : w->r;
    int fast_bit = w->n->col ? CLS_O : CLS_I;
    if (w->count[s->from_cls] == 1) w->b->isa->move->fill[shift](to, from, n);
    else if (s->from_cls == fast_bit)
        for (int64_t k = 0; k < slow; k++) memcpy(to + (size_t)(k * fast) * size, from, (size_t)fast * size);
    else
        for (int64_t k = 0; k < slow; k++) w->b->isa->move->fill[shift](to + (size_t)(k * fast) * size, from + (size_t)k * size, fast);
}
