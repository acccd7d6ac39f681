/* Chains of calls that are run on a few images at a time, so that what one call writes lies in the second cache when the next reads it:
 *
 *     h = convolution(x, w); p = max_pool(h)         for each 4 of 64 images:  h = convolution(x[i..i+4], w); p[i..i+4] = max_pool(h)
 *
 * Calls whose results' entries along dimension 0 come of argument 0's alone (TC_KF_ENTRIES) with their epilogues, and copies. What lives within
 * a chain alone has room for one slice. Bits do not change: they depend on no other entry. Nor does memory grow: a chain for which it
 * would is run whole. */
#include "runtime/slices.h"

#include <string.h>

/* A tensor that a call reads or writes. */
typedef struct {
    int id;
    bool moves;   /* by entries; else every slice reads all of it */
    bool written; /* by the call */
} touch;
typedef TC_VEC(touch) touches;

typedef struct {
    const frame *f;
    bound *b;
    int64_t n;    /* entries of the chain; 0: it has no call yet */
    touches seen; /* of its calls */
} chain;

static bool touch_tensor(const chain *s, touches *to, int id, bool moves, bool written) {
    const bound *b = s->b;
    for (size_t i = 0; i < to->len; i++)
        if (to->data[i].id == id) {
            if (to->data[i].moves != moves) return false;
            to->data[i].written |= written;
            return true;
        }
    if (b->root_of[id] < 0 || (moves && (b->t[id].rank < 2 || b->t[id].size[0] != s->n))) return false;
    tc_vec_push(to, ((touch){id, moves, written}));
    return true;
}

/* Does dimension d of a buffer go with axis `of`: by itself, as dimension 0 may, or not at all? False: in another way. */
static bool goes_by(const tc_affine *index, int rank, int of, bool *moves) {
    int axis;
    *moves = rank > 0 && tc_affine_is_axis(&index[0], &axis) && axis == of;
    for (int d = *moves; d < rank; d++)
        if (tc_affine_axes(&index[d]) >> of & 1) return false;
    return true;
}

/* The buffers of an epilogue whose entries along dimension 0 are each computed of the same entries. */
static bool touch_epilogue(const chain *s, touches *to, const call *c) {
    const tc_loop *l = c->group->epilogue;
    int by;
    bool moves;
    if (!l->stores.len || !l->stores.data[0].rank || !tc_affine_is_axis(&l->stores.data[0].index[0], &by)) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if ((in->kind == TC_L_INDEX || in->kind == TC_L_RAND) && in->axes >> by & 1) return false;
        if (in->kind != TC_L_LOAD) continue;
        if (in->gather || !goes_by(in->index, in->rank, by, &moves) || !touch_tensor(s, to, c->id[in->buffer], moves, false)) return false;
    }
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *st = &l->stores.data[i];
        if (!goes_by(st->index, st->rank, by, &moves) || !moves || !touch_tensor(s, to, c->id[st->buffer], true, true)) return false;
    }
    return true;
}

static bool touch_kernel(const chain *s, touches *to, const call *c) {
    const kernel_call *k = c->kernel;
    const tc_tensor *t = s->b->t;
    if (!(c->group->node->op->kernel->flags & TC_KF_ENTRIES) || c->apart || c->code) return false;
    for (int i = 0; i < c->group->node->nargs; i++) {
        if (k->args[i].kind == TC_K_TENSORS) return false;
        if (k->args[i].kind == TC_K_TENSOR && !touch_tensor(s, to, (int)(k->args[i].tensor - t), i == 0, false)) return false;
    }
    for (int i = 0; i < k->k.nouts; i++)
        if (k->out_id[i] >= 0 && !touch_tensor(s, to, k->out_id[i], true, true)) return false;
    return !c->group->epilogue || touch_epilogue(s, to, c);
}

static bool touch_call(const chain *s, touches *to, const call *c) {
    if (c->kind == CALL_KERNEL) return touch_kernel(s, to, c);
    return c->kind == CALL_COPY && !c->copy[0].storage && touch_tensor(s, to, c->id[1], true, false) && touch_tensor(s, to, c->id[0], true, true);
}

static int64_t entry_bytes(const bound *b, int id) { return b->t[id].stride[0] * (int64_t)tc_dtype_size(b->t[id].dtype); }

/* What is written has the same entries for all that lies in its memory. */
static bool agree(const bound *b, const touch *a, const touch *c) {
    if (b->root_of[a->id] != b->root_of[c->id] || (!a->written && !c->written)) return true;
    return a->moves && c->moves && entry_bytes(b, a->id) == entry_bytes(b, c->id) && !b->delta[a->id] && !b->delta[c->id];
}

/* Entries of a slice for which a call's tensors lie in the caches; 0: what it reads in every slice leaves no room for one. */
static int64_t entries_near(const chain *s, const touches *t, int64_t near) {
    int64_t each = 0, still = 0;
    for (size_t i = 0; i < t->len; i++) {
        bool again = false; /* in the memory of one that was counted */
        for (size_t k = 0; k < i; k++) again |= s->b->root_of[t->data[k].id] == s->b->root_of[t->data[i].id];
        if (again) continue;
        const int64_t bytes = (int64_t)tc_tensor_bytes(&s->b->t[t->data[i].id]);
        if (t->data[i].moves) each += bytes / s->n;
        else still += bytes;
    }
    return still >= near ? 0 : (near - still) / (each + 1);
}

/* Adds the call where it goes with the chain; *entries: the most of a slice. */
static bool add_call(chain *s, const call *c, int64_t near, int64_t *entries) {
    touches t = {0};
    const int64_t n = s->n;
    const int of = c->kind == CALL_COPY ? c->id[0] : c->kind == CALL_KERNEL && c->kernel->k.nouts ? c->kernel->out_id[0] : -1;
    if (!n && of >= 0 && s->b->t[of].rank) s->n = s->b->t[of].size[0];
    bool ok = s->n > 1 && touch_call(s, &t, c);
    for (size_t i = 0; i < t.len && ok; i++) {
        for (size_t k = 0; k < s->seen.len && ok; k++) ok = agree(s->b, &t.data[i], &s->seen.data[k]);
        for (size_t k = 0; k < i && ok; k++) ok = agree(s->b, &t.data[i], &t.data[k]);
    }
    const int64_t most = ok ? entries_near(s, &t, near) : 0;
    ok = most > 0;
    if (ok && most < *entries) *entries = most;
    for (size_t i = 0; i < t.len && ok; i++) tc_vec_push(&s->seen, t.data[i]);
    if (!ok) s->n = n;
    tc_vec_free(&t);
    return ok;
}

/* Memory of a chain's calls: all that they touch lives until the last slice; what only they touch has room for one, unless it is watched. */
static void keep_chain(chain *s, slices *to, bool watched) {
    bound *b = s->b;
    const int first = to->first, last = to->first + to->ncalls - 1;
    to->nvalues = 0;
    for (size_t i = 0; i < s->seen.len; i++) {
        const touch *t = &s->seen.data[i];
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

static void results_follow(const bound *b, const slices *s) {
    for (int i = s->first; i < s->first + s->ncalls; i++) {
        kernel_call *k = b->calls.data[i].kernel;
        for (int o = 0; k && o < k->k.nouts; o++)
            if (k->out_id[o] >= 0) k->outs[o].size[0] = b->t[k->out_id[o]].size[0], k->scratch_of = SCRATCH_UNKNOWN;
    }
}
void slices_begin(bound *b, slices *s) {
    for (int i = 0; i < s->nvalues; i++) s->values[i].offset = b->t[s->values[i].id].offset;
}
int64_t slices_show(bound *b, const slices *s, int64_t at) {
    const int64_t n = s->n - at < s->entries ? s->n - at : s->entries;
    for (int i = 0; i < s->nvalues; i++) {
        tc_tensor *t = &b->t[s->values[i].id];
        t->size[0] = n;
        t->offset = s->values[i].offset + at * s->values[i].step;
    }
    results_follow(b, s);
    return n;
}
void slices_end(bound *b, const slices *s) {
    for (int i = 0; i < s->nvalues; i++) {
        b->t[s->values[i].id].size[0] = s->n;
        b->t[s->values[i].id].offset = s->values[i].offset;
    }
    results_follow(b, s);
}
static void free_slices(slices *c) { free(c->values), free(c->ns); }
void slices_free(bound *b) {
    for (size_t i = 0; i < b->slices.len; i++) free_slices(&b->slices.data[i]);
    tc_vec_free(&b->slices);
}

/* Bytes of intermediate results and of the call that needs the most scratch. */
static size_t memory_of(const frame *f, bound *b, size_t slots) {
    size_t scratch = 0;
    bound_plan_memory(b, slots);
    for (size_t i = 0; i < b->slices.len; i++) slices_begin(b, &b->slices.data[i]), slices_show(b, &b->slices.data[i], 0);
    for (size_t i = 0; i < b->calls.len; i++) {
        const size_t n = call_scratch(f->e, &b->calls.data[i]);
        if (n > scratch) scratch = n;
    }
    for (size_t i = 0; i < b->slices.len; i++) slices_end(b, &b->slices.data[i]);
    return b->arena_bytes + scratch;
}
/* Adds a chain, unless memory grows by it: what it reads first and what it writes last live at once. */
static void add_chain(chain *s, slices c, size_t slots) {
    const frame *f = s->f;
    bound *b = s->b;
    root *before = tc_xcalloc(slots, sizeof *before);
    const size_t bytes = memory_of(f, b, slots);
    memcpy(before, b->roots, slots * sizeof *before);
    c.values = tc_xcalloc(s->seen.len, sizeof *c.values);
    c.ns = tc_xcalloc((size_t)c.ncalls, sizeof *c.ns);
    keep_chain(s, &c, false);
    tc_vec_push(&b->slices, c);
    const bool grows = memory_of(f, b, slots) > bytes, watched = f->e->profile != NULL;
    if (grows || watched) memcpy(b->roots, before, slots * sizeof *before);
    if (grows) free_slices(&b->slices.data[--b->slices.len]);
    else if (watched) keep_chain(s, &b->slices.data[b->slices.len - 1], true);
    free(before);
}

void slices_find(const frame *f, bound *b, size_t slots) {
    const int64_t near = tc_costs_cache(tuning_costs(f->e)) * tc_pool_threads(f->e->pool); /* what one call of a slice touches */
    if (f->e->for_c || f->e->o.no_fuse) return;
    for (int i = 0; i < (int)b->calls.len;) {
        chain s = {.f = f, .b = b};
        int64_t entries = INT64_MAX;
        int end = i;
        while (end < (int)b->calls.len && add_call(&s, &b->calls.data[end], near, &entries)) end++;
        if (end - i > 1 && entries > 1 && entries < s.n) { /* weights are read again for one image: it gains nothing */
            const int64_t parts = (s.n + entries - 1) / entries;
            add_chain(&s, (slices){.first = i, .ncalls = end - i, .n = s.n, .entries = (s.n + parts - 1) / parts}, slots);
        }
        tc_vec_free(&s.seen);
        i = end > i ? end : i + 1;
    }
}
