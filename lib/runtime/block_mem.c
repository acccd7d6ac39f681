/* Memory accesses of the block executor: strided, gathered and predicated loads and stores of blocks, broadcasts, index values.
 *
 * A block has a slow and a fast side (row mode: outer slow, inner fast). Along the fast side it is divided into runs along the last axis. Consecutive
 * runs form a tile, which takes one or a few calls of a strided primitive. */
#include "runtime/block_impl.h"

/* Divides a flat index into indices at[a] along each axis; returns the offset there. Uses 32-bit divisions where possible, which take a third of the
 * time of 64-bit ones. */
static int64_t digits(const side *s, const int64_t *stride, int64_t flat, int64_t *at) {
    int64_t off = 0;
    for (int a = s->n - 1; a >= 0; a--) {
        int64_t ext = s->ext[a], left;
        if (flat == 0) left = 0, at[a] = 0; /* does not divide by an extent of 0 */
        else if (a == 0) left = 0, at[a] = flat;
        else if (((flat | ext) >> 32) == 0) left = (uint32_t)flat / (uint32_t)ext, at[a] = flat - left * ext;
        else left = flat / ext, at[a] = flat - left * ext;
        off += stride[a] * at[a];
        flat = left;
    }
    return off;
}
int64_t affine_offset(const side *s, const int64_t *stride, int64_t flat) {
    int64_t at[MAX_AXES];
    if (flat == 0) return 0;
    return s->n == 1 ? stride[0] * flat : digits(s, stride, flat, at);
}
/* Advances the indices by `by` along axis a, which does not go beyond its end; at the end it carries into axis a - 1. Returns the new offset. */
static int64_t advance(const side *s, const int64_t *stride, int64_t *at, int a, int64_t by, int64_t off) {
    for (;; a--, by = 1) {
        at[a] += by;
        off += by * stride[a];
        if (at[a] < s->ext[a] || !a) return off;
        off -= at[a] * stride[a];
        at[a] = 0;
    }
}

/* The slow and fast side of the block for an access of some class; a side that the class lacks has one element. */
typedef struct {
    const side *slow, *fast;
    const int64_t *slow_stride, *fast_stride;
    int64_t slow0, fast0, slow_n, fast_n;
} view;
static const side one = {.n = 0, .total = 1};

static view view_of(const walk *w, const affine *at, int cls) {
    const side *o = cls & CLS_O ? &w->n->O : &one, *i = cls & CLS_I ? &w->n->I : &one;
    int64_t r = cls & CLS_O ? w->r : 1, c = cls & CLS_I ? w->c : 1;
    int64_t o0 = cls & CLS_O ? w->o0 : 0, i0 = cls & CLS_I ? w->i0 : 0;
    if (w->n->col) return (view){i, o, at->i, at->o, i0, o0, c, r};
    return (view){o, i, at->o, at->i, o0, i0, r, c};
}

/* m runs of n elements: in memory, run r begins at offset + r * next, with `stride` from one element to the next; in the block, its elements begin at
 * done + r * n. */
typedef struct {
    int64_t offset, done, n, stride, m, next;
} tile;
typedef void (*tile_fn)(void *ctx, const tile *t);

/* Calls fn for the tiles of the fast side from flat index v->fast0 on; complete runs form tiles of several. */
static void fast_tiles(const view *v, int64_t off, int64_t done, tile_fn fn, void *ctx) {
    const side *f = v->fast;
    const int64_t *stride = v->fast_stride;
    int last = f->n - 1;
    int64_t at[MAX_AXES], left = v->fast_n;
    off += digits(f, stride, v->fast0, at);
    while (left) {
        tile t = {.offset = off, .done = done, .n = f->ext[last] - at[last], .stride = stride[last], .m = 1, .next = stride[last - 1]};
        if (t.n > left) t.n = left;
        if (t.n == f->ext[last] && left / t.n > 1) {
            t.m = f->ext[last - 1] - at[last - 1];
            if (t.m > left / t.n) t.m = left / t.n;
        }
        fn(ctx, &t);
        done += t.n * t.m;
        left -= t.n * t.m;
        if (at[last] + t.n < f->ext[last]) {
            off = advance(f, stride, at, last, t.n, off);
            continue;
        }
        off -= at[last] * stride[last];
        at[last] = 0;
        off = advance(f, stride, at, last - 1, t.m, off);
    }
}

/* Calls fn for the tiles of the block; base: offset of element 0. */
static void each_tile(const view *v, int64_t base, tile_fn fn, void *ctx) {
    const side *s = v->slow;
    int last = s->n - 1;
    int64_t done = 0, at[MAX_AXES], off = base;
    if (s->n) off += digits(s, v->slow_stride, v->slow0, at);
    for (int64_t k = 0, m; k < v->slow_n; k += m) { /* m rows along the last slow axis */
        int64_t next = 0;
        m = v->slow_n - k;
        if (s->n) {
            if (last && m > s->ext[last] - at[last]) m = s->ext[last] - at[last];
            next = v->slow_stride[last];
        }
        if (v->fast->n < 2) {
            int64_t stride = v->fast->n ? v->fast_stride[0] : 0;
            fn(ctx, &(tile){off + v->fast0 * stride, done, v->fast_n, stride, m, next});
        } else
            for (int64_t r = 0; r < m; r++) fast_tiles(v, off + r * next, done + r * v->fast_n, fn, ctx);
        done += m * v->fast_n;
        if (s->n) off = advance(s, v->slow_stride, at, last, m, off);
    }
}

typedef struct {
    const tc_isa_ops *isa;
    char *block, *memory;
    int shift;
    const uint8_t *pred;
} copy_ctx;

enum { SHORT = 8 }; /* if runs have fewer elements, copies go across the runs */

static void copy_in(void *p, const tile *t) {
    const copy_ctx *c = p;
    const tc_move_ops *move = c->isa->move;
    int s = c->shift;
    char *to = c->block + (t->done << s);
    const char *from = c->memory + t->offset * ((int64_t)1 << s);
    if (t->n == 1) {
        move->load[s](to, from, t->next, t->m);
        return;
    }
    if (t->stride == 0 && t->next == 0) {
        move->fill[s](to, from, t->n * t->m);
        return;
    }
    if (t->n < SHORT && t->m > t->n) {
        for (int64_t j = 0; j < t->n; j++) move->copy[s](to + (j << s), t->n, from + j * t->stride * ((int64_t)1 << s), t->next, t->m);
        return;
    }
    if (t->next == 1 && t->m >= 4 && t->stride != 1 && t->stride != 0) {
        move->transpose[s](to, t->n, from, t->stride, t->n, t->m);
        return;
    }
    if (t->stride == 1) {
        move->rows(to, t->n << s, from, t->next * ((int64_t)1 << s), t->n << s, t->m);
        return;
    }
    for (int64_t r = 0; r < t->m; r++, to += t->n << s, from += t->next * ((int64_t)1 << s)) {
        if (t->stride == 0) move->fill[s](to, from, t->n);
        else move->load[s](to, from, t->stride, t->n);
    }
}

/* At which distance in bytes rows are prefetched before they are written, since the hardware does not prefetch short rows that are not contiguous. 0: no
 * prefetch. */
static int64_t row_prefetch_distance(const tile *t, int64_t row, int64_t apart) {
    return t->stride == 1 && row && row <= PREFETCH_DISTANCE && row != apart ? PREFETCH_DISTANCE / row * apart : 0;
}

static void copy_out(void *p, const tile *t) {
    const copy_ctx *c = p;
    const tc_move_ops *move = c->isa->move;
    int s = c->shift;
    char *to = c->memory + t->offset * ((int64_t)1 << s);
    const char *from = c->block + (t->done << s);
    if (!c->pred && t->n < SHORT && t->m > t->n) {
        for (int64_t j = 0; j < t->n; j++) move->copy[s](to + j * t->stride * ((int64_t)1 << s), t->next, from + (j << s), t->n, t->m);
        return;
    }
    if (!c->pred && t->next == 1 && t->m >= 4 && t->stride != 1 && t->stride != 0) {
        move->transpose[s](to, t->stride, from, t->n, t->m, t->n);
        return;
    }
    const int64_t row = t->n << s, apart = t->next * ((int64_t)1 << s), ahead = row_prefetch_distance(t, row, apart);
    if (!c->pred && t->stride == 1 && !ahead) {
        move->rows(to, apart, from, row, row, t->m);
        return;
    }
    for (int64_t r = 0; r < t->m; r++, from += row, to += apart) {
        for (int64_t i = 0; ahead && i < row; i += LINE) __builtin_prefetch(to + ahead + i, 1);
        if (c->pred) move->store_if[s](to, t->stride, c->pred + t->done + r * t->n, from, t->n);
        else if (t->stride == 1) move->rows(to, row, from, row, row, 1);
        else move->store[s](to, t->stride, from, t->n);
    }
}

static void load_block(walk *w, const access *a, void *to) {
    view v = view_of(w, &a->at, a->cls);
    each_tile(&v, a->at.base, copy_in, &(copy_ctx){w->b->isa, to, w->data[a->buffer], a->shift, NULL});
}

/* Loads one element for each run along the last inner axis (step.thin). If the block has several rows, its runs are complete. */
static void load_thin(walk *w, const access *a, void *to) {
    const int64_t part = run_length(w->n);
    view v = view_of(w, &a->at, CLS_OI);
    side parts = w->n->I;
    parts.n--, parts.total /= part;
    v.fast = &parts, v.fast0 = w->i0 / part, v.fast_n = (w->i0 + w->c - 1) / part - v.fast0 + 1;
    each_tile(&v, a->at.base, copy_in, &(copy_ctx){w->b->isa, to, w->data[a->buffer], a->shift, NULL});
}

void run_load(walk *w, const step *s) {
    const access *a = &w->n->acc[s->aux];
    if (s->thin) {
        load_thin(w, a, w->ptr[s->out]);
        return;
    }
    if (a->dtype == s->dtype) {
        load_block(w, a, w->ptr[s->out]);
        return;
    }
    const void *from =
        (char *)w->data[a->buffer] +
        ((a->at.base + (a->cls & CLS_O ? w->row[s->aux] : 0) + (a->cls & CLS_I ? affine_offset(&w->n->I, a->at.i, w->i0) : 0)) << a->shift);
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
            int64_t off = a->at.base + (a->cls & CLS_O ? w->row[s->aux] : 0) + (a->cls & CLS_I ? affine_offset(&w->n->I, a->at.i, w->i0) : 0);
            w->b->isa->cast[s->dtype][a->dtype]((char *)w->data[a->buffer] + (off << a->shift), from, n);
            return;
        }
        w->b->isa->cast[s->dtype][a->dtype](w->scratch + w->n->tmp, from, n);
        from = w->scratch + w->n->tmp;
    }
    copy_ctx c = {w->b->isa, (char *)from, w->data[a->buffer], a->shift, a->pred < 0 ? NULL : w->ptr[a->pred]};
    each_tile(&v, a->at.base, copy_out, &c);
}

typedef struct {
    const tc_isa_ops *isa;
    int64_t *out;
} iota_ctx;
static void iota_tile(void *p, const tile *t) {
    const iota_ctx *c = p;
    for (int64_t r = 0; r < t->m; r++) c->isa->move->iota(c->out + t->done + r * t->n, t->offset + r * t->next, t->stride, t->n);
}

static void index_block(walk *w, const affine *at, int cls, int64_t *out) {
    view v = view_of(w, at, cls);
    each_tile(&v, at->base, iota_tile, &(iota_ctx){w->b->isa, out});
}

void run_index(walk *w, const step *s) { index_block(w, &w->n->acc[s->aux].at, s->cls, w->ptr[s->out]); }

static void report(const walk *w, const access *a, int dim, int64_t index, int64_t size) {
    if (__atomic_exchange_n(&w->fault->set, 1, __ATOMIC_ACQ_REL)) return;
    w->fault->inst = a->inst;
    w->fault->dim = dim;
    w->fault->index = index;
    w->fault->size = size;
}

/* Adds the offsets of gathered dimensions to index[n]. An index out of range is reported, and replaced by 0. tmp: scratch [n]. */
static void add_gathered(walk *w, const access *a, int64_t n, int64_t *index, int64_t *tmp) {
    const uint8_t *pred = a->pred < 0 ? NULL : w->ptr[a->pred];
    for (int k = 0; k < a->ngather; k++) {
        const int64_t *g = w->ptr[a->gather[k].value];
        int64_t stride = a->gather[k].stride, size = a->gather[k].size;
        index_block(w, &a->gather[k].at, a->cls, tmp); /* the affine part of the dimension's index */
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

/* Adds the offsets of those gathered dimensions whose index has this class to out (add false: sets out). Checks indices. False: there are none. */
static bool gathered_part(walk *w, const access *a, int cls, bool add, int64_t *out) {
    int64_t n = w->count[cls];
    bool any = false;
    for (int k = 0; k < a->ngather; k++) {
        if (a->gather[k].cls != cls) continue;
        const int64_t *g = w->ptr[a->gather[k].value];
        int64_t stride = a->gather[k].stride, size = a->gather[k].size, base = a->gather[k].at.base;
        bool good = w->b->isa->move->in_range(g, base, size, n);
        if (!add && !any) memset(out, 0, (size_t)n * sizeof *out);
        any = true;
        if (good) w->b->isa->move->add_scaled(out, g, base, stride, n);
        else
            for (int64_t i = 0; i < n; i++) {
                int64_t at = base + g[i];
                if (at < 0 || at >= size) {
                    report(w, a, a->gather[k].dim, at, size);
                    at = 0;
                }
                out[i] += at * stride;
            }
    }
    return any;
}

/* The gathered index itself, if it can serve as offsets in elements along the rows: in range, stride 1, nothing else to add. Else NULL. */
static const int64_t *plain_indices(const walk *w, const access *a, const view *v) {
    for (int d = 0; d < v->fast->n; d++)
        if (v->fast_stride[d]) return NULL;
    const int64_t *found = NULL;
    for (int k = 0; k < a->ngather; k++) {
        const int64_t *g = w->ptr[a->gather[k].value], base = a->gather[k].at.base;
        const int cls = a->gather[k].cls;
        if (cls == CLS_0 || cls == (w->n->col ? CLS_I : CLS_O)) continue; /* offset of a row */
        if (found || cls != CLS_OI || a->gather[k].stride != 1 || base || !w->b->isa->move->in_range(g, base, a->gather[k].size, w->count[cls]))
            return NULL;
        found = g;
    }
    return found;
}

static index_list *list_of(const walk *w, const access *a) { return (index_list *)(void *)(w->scratch + a->list); }
void forget_lists(walk *w) {
    for (int k = 0; k < w->n->nacc; k++)
        if (w->n->acc[k].list) list_of(w, &w->n->acc[k])->n = 0;
}
/* The offsets along the fast side: the affine part and that of indices which vary along this side only. */
static const index_list *offsets_of(walk *w, const access *a, const view *v, int fast_bit) {
    index_list *l = list_of(w, a);
    if (l->n == v->fast_n && l->at == v->fast0) return l;
    view f = *v;
    f.slow = &one, f.slow_n = 1;
    each_tile(&f, 0, iota_tile, &(iota_ctx){w->b->isa, l->offset});
    gathered_part(w, a, fast_bit, true, l->offset);
    l->at = v->fast0, l->n = v->fast_n, l->nruns = 0;
    const int64_t most = index_list_runs(l->n);
    for (int64_t i = 0; i < l->n; i++) {
        if (i && l->offset[i] == l->offset[i - 1] + 1) continue;
        if (l->nruns == most) {
            l->nruns = 0;
            break;
        }
        l->offset[l->n + l->nruns++] = i;
    }
    return l;
}
static void copy_runs(const walk *w, const index_list *l, char *to, const char *from, int shift) {
    const int64_t *begin = l->offset + l->n;
    for (int64_t k = 0; k < l->nruns; k++) {
        const int64_t i = begin[k], end = k + 1 < l->nruns ? begin[k + 1] : l->n;
        w->b->isa->move->load[shift](to + (i << shift), from + l->offset[i] * ((int64_t)1 << shift), 1, end - i);
    }
}

/* Gathers from dimensions whose index has no affine part. Indices that vary along the rows only are added to the row's address; those that vary along the
 * columns only are computed once for all rows. */
static void gather_split(walk *w, const access *a, char *to) {
    int slow_bit = w->n->col ? CLS_I : CLS_O, fast_bit = CLS_OI & ~slow_bit, s = a->shift;
    view v = view_of(w, &a->at, a->cls);
    int64_t elements = w->n->R * w->n->C, *full = (int64_t *)(w->scratch + w->n->index), *slow = full + elements, one_offset = 0;
    const char *memory = w->data[a->buffer];
    for (int k = 0; k < a->ngather; k++)
        if (!a->gather[k].size) {
            int64_t at[1];
            gathered_part(w, a, a->gather[k].cls, false, a->gather[k].cls ? full : at); /* reports the fault */
            memset(to, 0, (size_t)w->count[a->cls] << s);
            return;
        }
    gathered_part(w, a, CLS_0, false, &one_offset);
    const int64_t *plain = plain_indices(w, a, &v);
    const bool by_row = gathered_part(w, a, slow_bit, false, slow), all = !plain && gathered_part(w, a, CLS_OI, false, full);
    const index_list *by_col = all || a->along[fast_bit >> 1] ? offsets_of(w, a, &v, fast_bit) : NULL;
    bool moves = false; /* has the row's address an affine part? */
    for (int d = 0; d < v.slow->n; d++) moves |= v.slow_stride[d] != 0;
    const bool whole = !plain && !all && !by_col && v.fast->n == 1 && v.fast_stride[0] == 1; /* each row is contiguous in memory */
    for (int64_t k = 0; k < v.slow_n; k++) {
        int64_t off = a->at.base + one_offset + (by_row ? slow[k] : 0) + (moves ? affine_offset(v.slow, v.slow_stride, v.slow0 + k) : 0);
        char *row = to + ((k * v.fast_n) << s);
        if (whole) full[k] = (off + v.fast0) * ((int64_t)1 << s);
        else if (plain) w->b->isa->move->gather[s](row, memory + off * ((int64_t)1 << s), plain + k * v.fast_n, v.fast_n);
        else if (all) w->b->isa->move->gather_two[s](row, memory + off * ((int64_t)1 << s), by_col->offset, full + k * v.fast_n, v.fast_n);
        else if (by_col && by_col->nruns) copy_runs(w, by_col, row, memory + off * ((int64_t)1 << s), s);
        else if (by_col) w->b->isa->move->gather[s](row, memory + off * ((int64_t)1 << s), by_col->offset, v.fast_n);
        else {
            view f = v;
            f.slow = &one, f.slow_n = 1;
            each_tile(&f, off, copy_in, &(copy_ctx){w->b->isa, row, (char *)w->data[a->buffer], s, NULL});
        }
    }
    if (whole) w->b->isa->move->gather_rows(to, memory, full, v.fast_n << s, v.slow_n);
}

/* Loads affine addresses with a predicate: each run where it is true by a strided load; other elements are 0. False: there are several fast axes. */
static bool load_runs(walk *w, const access *a, const uint8_t *pred, void *to, int64_t n) {
    view v = view_of(w, &a->at, a->cls);
    if (v.fast->n != 1) return false;
    copy_ctx c = {w->b->isa, to, w->data[a->buffer], a->shift, NULL};
    int64_t stride = v.fast_stride[0];
    if (memchr(pred, 0, (size_t)n)) memset(to, 0, (size_t)n << a->shift);
    for (int64_t k = 0; k < v.slow_n; k++) {
        int64_t off = a->at.base + v.fast0 * stride + (v.slow->n ? affine_offset(v.slow, v.slow_stride, v.slow0 + k) : 0), row = k * v.fast_n;
        for (int64_t i = 0; i < v.fast_n;) {
            const uint8_t *first = memchr(pred + row + i, 1, (size_t)(v.fast_n - i));
            if (!first) break;
            i = first - (pred + row);
            const uint8_t *end = memchr(first, 0, (size_t)(v.fast_n - i));
            int64_t len = end ? end - first : v.fast_n - i;
            copy_in(&c, &(tile){off + i * stride, row + i, len, stride, 1, 0});
            i += len;
        }
    }
    return true;
}

void run_gather(walk *w, const step *s) {
    const access *a = &w->n->acc[s->aux];
    int64_t n = w->count[s->cls], *index = (int64_t *)(w->scratch + w->n->index), *tmp = index + w->n->R * w->n->C;
    const uint8_t *pred = a->pred < 0 ? NULL : w->ptr[a->pred];
    void *to = a->dtype == s->dtype ? w->ptr[s->out] : w->scratch + w->n->tmp;
    if (s->part) { /* node.split */
        gather_split(w, a, to);
        if (a->dtype != s->dtype) w->b->isa->cast[a->dtype][s->dtype](w->ptr[s->out], to, n);
        return;
    }
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

/* Broadcasts a value to a wider class. */
void run_broadcast(walk *w, const step *s) {
    int shift = s->op;
    const char *from = w->ptr[s->a];
    char *to = w->ptr[s->out];
    size_t size = (size_t)1 << shift;
    int64_t n = w->count[s->cls], fast = w->n->col ? w->r : w->c, slow = w->n->col ? w->c : w->r;
    int fast_bit = w->n->col ? CLS_O : CLS_I;
    if (w->count[s->from_cls] == 1) w->b->isa->move->fill[shift](to, from, n);
    else if (s->from_cls == fast_bit) w->b->isa->move->rows(to, fast << shift, from, 0, fast << shift, slow);
    else
        for (int64_t k = 0; k < slow; k++) w->b->isa->move->fill[shift](to + (size_t)(k * fast) * size, from + (size_t)k * size, fast);
}
