/* Chains of calls that are executed on a few images at a time, so that what one call writes is still in L2 when the next call reads it:
 *
 *     h = convolution(x, w); p = max_pool(h)         for each 4 of 64 images:  h = convolution(x[i..i+4], w); p[i..i+4] = max_pool(h)
 *
 * A chain consists of copies, and of kernels (with their epilogues) of which each entry of the result along dimension 0 depends only on the same entry
 * of argument 0 (TC_KF_ENTRIES); so the result's bits do not change. Tensors that only the chain uses hold one slice. Memory must not grow: a chain
 * that would need more than its calls need one by one is not sliced. */
#include "runtime/slices.h"

#include <string.h>

/* A tensor that a call reads or writes. */
typedef struct {
    int id;
    bool moves;   /* a slice accesses its entries of it; else every slice reads all of it */
    bool written; /* by the call */
} access;
typedef TC_VEC(access) accesses;

typedef struct {
    const frame *f;
    bound *b;
    int64_t n;     /* size of dimension 0; 0: the chain has no call yet */
    accesses seen; /* of its calls */
} chain;

static bool add_access(const chain *s, accesses *to, int id, bool moves, bool written) {
    const bound *b = s->b;
    for (size_t i = 0; i < to->len; i++)
        if (to->data[i].id == id) {
            if (to->data[i].moves != moves) return false;
            to->data[i].written |= written;
            return true;
        }
    if (b->root_of[id] < 0 || (moves && (b->t[id].rank < 2 || b->t[id].size[0] != s->n))) return false;
    tc_vec_push(to, ((access){id, moves, written}));
    return true;
}

/* How does the index use axis `of`? *moves: it is the index of dimension 0. False: it is used in another way. */
static bool indexed_by(const tc_affine *index, int rank, int of, bool *moves) {
    int axis;
    *moves = rank > 0 && tc_affine_is_axis(&index[0], &axis) && axis == of;
    for (int d = *moves; d < rank; d++)
        if (tc_affine_axes(&index[d]) >> of & 1) return false;
    return true;
}

/* Adds the buffers of an epilogue. False: an entry of its results depends on other entries of its operands. */
static bool epilogue_accesses(const chain *s, accesses *to, const call *c) {
    const tc_loop *l = c->group->epilogue;
    int by;
    bool moves;
    if (!l->stores.len || !l->stores.data[0].rank || !tc_affine_is_axis(&l->stores.data[0].index[0], &by)) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if ((in->kind == TC_L_INDEX || in->kind == TC_L_RAND) && in->axes >> by & 1) return false;
        if (in->kind != TC_L_LOAD) continue;
        if (in->gather || !indexed_by(in->index, in->rank, by, &moves) || !add_access(s, to, c->id[in->buffer], moves, false)) return false;
    }
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *st = &l->stores.data[i];
        if (!indexed_by(st->index, st->rank, by, &moves) || !moves || !add_access(s, to, c->id[st->buffer], true, true)) return false;
    }
    return true;
}

static bool kernel_accesses(const chain *s, accesses *to, const call *c) {
    const kernel_call *k = c->kernel;
    const tc_tensor *t = s->b->t;
    if (!(c->group->node->op->kernel->flags & TC_KF_ENTRIES) || c->apart || c->code) return false;
    for (int i = 0; i < c->group->node->nargs; i++) {
        if (k->args[i].kind == TC_K_TENSORS) return false;
        if (k->args[i].kind == TC_K_TENSOR && !add_access(s, to, (int)(k->args[i].tensor - t), i == 0, false)) return false;
    }
    for (int i = 0; i < k->k.nouts; i++)
        if (k->out_id[i] >= 0 && !add_access(s, to, k->out_id[i], true, true)) return false;
    return !c->group->epilogue || epilogue_accesses(s, to, c);
}

static bool call_accesses(const chain *s, accesses *to, const call *c) {
    if (c->kind == CALL_KERNEL) return kernel_accesses(s, to, c);
    return c->kind == CALL_COPY && !c->copy[0].storage && add_access(s, to, c->id[1], true, false) && add_access(s, to, c->id[0], true, true);
}

static int64_t entry_bytes(const bound *b, int id) { return b->t[id].stride[0] * (int64_t)tc_dtype_size(b->t[id].dtype); }

/* May both accesses be in the chain? If they share memory that is written, their entries must be at the same places. */
static bool may_share(const bound *b, const access *a, const access *c) {
    if (b->root_of[a->id] != b->root_of[c->id] || (!a->written && !c->written)) return true;
    return a->moves && c->moves && entry_bytes(b, a->id) == entry_bytes(b, c->id) && !b->delta[a->id] && !b->delta[c->id];
}

/* How many entries a slice may have so that the call's tensors fit `cache` bytes; 0: not even one, beside what every slice reads. */
static int64_t entries_in_cache(const chain *s, const accesses *t, int64_t cache) {
    int64_t each = 0, shared = 0;
    for (size_t i = 0; i < t->len; i++) {
        bool again = false; /* its memory has been counted */
        for (size_t k = 0; k < i; k++) again |= s->b->root_of[t->data[k].id] == s->b->root_of[t->data[i].id];
        if (again) continue;
        const int64_t bytes = (int64_t)tc_tensor_bytes(&s->b->t[t->data[i].id]);
        if (t->data[i].moves) each += bytes / s->n;
        else shared += bytes;
    }
    return shared >= cache ? 0 : (cache - shared) / (each + 1);
}

/* Adds the call to the chain if possible, and lowers *entries, the limit of a slice, to what the call allows. */
static bool add_call(chain *s, const call *c, int64_t cache, int64_t *entries) {
    accesses t = {0};
    const int64_t n = s->n;
    const int of = c->kind == CALL_COPY ? c->id[0] : c->kind == CALL_KERNEL && c->kernel->k.nouts ? c->kernel->out_id[0] : -1;
    if (!n && of >= 0 && s->b->t[of].rank) s->n = s->b->t[of].size[0];
    bool ok = s->n > 1 && call_accesses(s, &t, c);
    for (size_t i = 0; i < t.len && ok; i++) {
        for (size_t k = 0; k < s->seen.len && ok; k++) ok = may_share(s->b, &t.data[i], &s->seen.data[k]);
        for (size_t k = 0; k < i && ok; k++) ok = may_share(s->b, &t.data[i], &t.data[k]);
    }
    const int64_t fitting = ok ? entries_in_cache(s, &t, cache) : 0;
    ok = fitting > 0;
    if (ok && fitting < *entries) *entries = fitting;
    for (size_t i = 0; i < t.len && ok; i++) tc_vec_push(&s->seen, t.data[i]);
    if (!ok) s->n = n;
    tc_vec_free(&t);
    return ok;
}

/* Live ranges and sizes of the roots that a chain uses: each lives until the last slice; those that only the chain uses get memory for one slice, unless
 * the run is profiled (watched). */
static void plan_chain_memory(chain *s, slices *to, bool watched) {
    bound *b = s->b;
    const int first = to->first, last = to->first + to->ncalls - 1;
    to->nvalues = 0;
    for (size_t i = 0; i < s->seen.len; i++) {
        const access *t = &s->seen.data[i];
        root *r = &b->roots[b->root_of[t->id]];
        bool known = false;
        for (int k = 0; k < to->nvalues; k++) known |= to->values[k].id == t->id;
        if (t->moves && !known) to->values[to->nvalues++] = (slice_value){t->id, b->t[t->id].stride[0], 0};
        if (t->written && r->first >= first && r->kind == ROOT_ARENA) r->inside = r->last <= last && !watched;
    }
    for (int k = 0; k < to->nvalues; k++) {
        root *r = &b->roots[b->root_of[to->values[k].id]];
        r->inside = r->inside && !b->delta[to->values[k].id] && (int64_t)r->bytes == entry_bytes(b, to->values[k].id) * to->n;
    }
    for (int k = 0; k < to->nvalues; k++)
        if (b->roots[b->root_of[to->values[k].id]].inside) to->values[k].step = 0;
    for (size_t i = 0; i < s->seen.len; i++) {
        root *r = &b->roots[b->root_of[s->seen.data[i].id]];
        if (r->inside) r->bytes = r->bytes / (size_t)to->n * (size_t)to->entries, r->inside = false;
        if (s->seen.data[i].written && r->first > first) r->first = first; /* written again in each slice */
        if (r->last < last) r->last = last;
    }
}

static void update_results(const bound *b, const slices *s) {
    for (int i = s->first; i < s->first + s->ncalls; i++) {
        kernel_call *k = b->calls.data[i].kernel;
        for (int o = 0; k && o < k->k.nouts; o++)
            if (k->out_id[o] >= 0) k->outs[o].size[0] = b->t[k->out_id[o]].size[0], k->scratch_of = SCRATCH_UNKNOWN;
    }
}
void slices_begin(bound *b, slices *s) {
    for (int i = 0; i < s->nvalues; i++) s->values[i].offset = b->t[s->values[i].id].offset;
}
int64_t slices_select(bound *b, const slices *s, int64_t at) {
    const int64_t n = s->n - at < s->entries ? s->n - at : s->entries;
    for (int i = 0; i < s->nvalues; i++) {
        tc_tensor *t = &b->t[s->values[i].id];
        t->size[0] = n;
        t->offset = s->values[i].offset + at * s->values[i].step;
    }
    update_results(b, s);
    return n;
}
void slices_end(bound *b, const slices *s) {
    for (int i = 0; i < s->nvalues; i++) {
        b->t[s->values[i].id].size[0] = s->n;
        b->t[s->values[i].id].offset = s->values[i].offset;
    }
    update_results(b, s);
}
static void free_slices(slices *c) { free(c->values), free(c->ns); }
void slices_free(bound *b) {
    for (size_t i = 0; i < b->slices.len; i++) free_slices(&b->slices.data[i]);
    tc_vec_free(&b->slices);
}

/* Bytes of the arena and of the largest scratch of a call. */
static size_t memory_of(const frame *f, bound *b, size_t slots) {
    size_t scratch = 0;
    bound_plan_memory(b, slots);
    for (size_t i = 0; i < b->slices.len; i++) slices_begin(b, &b->slices.data[i]), slices_select(b, &b->slices.data[i], 0);
    for (size_t i = 0; i < b->calls.len; i++) {
        const size_t n = call_scratch(f->e, b, &b->calls.data[i]);
        if (n > scratch) scratch = n;
    }
    for (size_t i = 0; i < b->slices.len; i++) slices_end(b, &b->slices.data[i]);
    return b->arena_bytes + scratch;
}
/* Adds a chain, unless that needs more memory, because what its first call reads and what its last call writes are now live together. */
static void add_chain(chain *s, slices c, size_t slots) {
    const frame *f = s->f;
    bound *b = s->b;
    root *before = tc_xcalloc(slots, sizeof *before);
    const size_t bytes = memory_of(f, b, slots);
    memcpy(before, b->roots, slots * sizeof *before);
    c.values = tc_xcalloc(s->seen.len, sizeof *c.values);
    c.ns = tc_xcalloc((size_t)c.ncalls, sizeof *c.ns);
    plan_chain_memory(s, &c, false);
    tc_vec_push(&b->slices, c);
    const bool grows = memory_of(f, b, slots) > bytes, watched = f->e->profile != NULL;
    if (grows || watched) memcpy(b->roots, before, slots * sizeof *before);
    if (grows) free_slices(&b->slices.data[--b->slices.len]);
    else if (watched) plan_chain_memory(s, &b->slices.data[b->slices.len - 1], true);
    free(before);
}

void slices_find(const frame *f, bound *b, size_t slots) {
    const int64_t cache = tc_costs_cache(tuning_costs(f->e)) * tc_pool_threads(f->e->pool); /* bytes that a call may access in a slice */
    if (f->e->for_c || f->e->o.no_fuse) return;
    for (int i = 0; i < (int)b->calls.len;) {
        chain s = {.f = f, .b = b};
        int64_t entries = INT64_MAX;
        int end = i;
        while (end < (int)b->calls.len && add_call(&s, &b->calls.data[end], cache, &entries)) end++;
        if (end - i > 1 && entries > 1 && entries < s.n) { /* slices of one image gain nothing, because each reads the weights again */
            const int64_t parts = (s.n + entries - 1) / entries;
            add_chain(&s, (slices){.first = i, .ncalls = end - i, .n = s.n, .entries = (s.n + parts - 1) / parts}, slots);
        }
        tc_vec_free(&s.seen);
        i = end > i ? end : i + 1;
    }
}
