/* Binds a frame to sizes: concrete tensors and roots for all values, a call for each group, and a memory plan for the roots' live ranges. */
#include "runtime/bind.h"

#include <sys/mman.h>

static root *root_at(binder *x, const tc_value *v) { return &x->b->roots[x->b->root_of[v->id]]; }

void bind_use(binder *x, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) bind_use(x, v->list[i]);
    if (!is_tensor(v) || v->graph != x->f->g || x->b->root_of[v->id] < 0) return;
    root *r = root_at(x, v);
    if (now(x) > r->last) r->last = now(x);
    if (x->dynamic[v->id] && v->producer && v->producer->op->view_alias) bind_use(x, v->producer->args[0].value); /* a view uses its base's memory */
}
void bind_use_place(void *ctx, tc_value **place) { bind_use(ctx, *place); }

tc_status bind_root(binder *x, const tc_value *v, root_kind kind) {
    tc_tensor *t = &x->b->t[v->id];
    *t = (tc_tensor){.storage = x->e->dummy, .dtype = v->meta.dtype, .rank = v->meta.rank};
    TC_TRY(meta_sizes(x->e, v, t->size));
    size_t bytes = tc_dtype_size(t->dtype);
    for (int d = 0; d < t->rank; d++)
        if (t->size[d] < 0 || !tc_mul_size(bytes, (size_t)t->size[d], &bytes) || bytes > (size_t)1 << 46)
            return tc_error(TC_CONTENT, "%s: a tensor of impossible size", v->name);
    (x->channels_last[v->id] ? tc_channels_last_strides : tc_contiguous_strides)(t->rank, t->size, t->stride);
    x->b->root_of[v->id] = (int)v->id;
    x->b->delta[v->id] = 0;
    x->b->roots[v->id] = (root){.kind = kind, .bytes = bytes, .first = now(x), .last = now(x)};
    return NULL;
}

typedef struct {
    const frame *f;
    int *last;
    int group;
} last_ctx;
static void last_use(last_ctx *c, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) last_use(c, v->list[i]);
    if (v->kind == TC_V_TENSOR && v->graph == c->f->g && c->last[v->id] < c->group) c->last[v->id] = c->group;
}
static void last_place(void *ctx, tc_value **place) { last_use(ctx, *place); }

/* A view is last read with its base. Views are followed by nodes, not by roots, because a view may become a copy with memory of its own. */
static void reads_base(int *last, const tc_value *view, const tc_value *base) {
    if (is_tensor(view) && is_tensor(base) && last[base->id] < last[view->id]) last[base->id] = last[view->id];
}

/* By value id: the last group that reads the value or a view of it; INT32_MAX for results of the graph; -1: none. A result that is computed in place
 * extends the live range of the value it replaces; that is entered later, when the result is bound. */
static int *last_groups(const frame *f) {
    int *last = tc_xcalloc(f->g->nvalues + 1, sizeof *last);
    for (size_t i = 0; i < f->g->nvalues; i++) last[i] = -1;
    last_ctx c = {.f = f, .last = last};
    for (size_t i = 0; i < f->plan->groups.len; i++) {
        const tc_group *g = &f->plan->groups.data[i];
        c.group = (int)i;
        const tc_loop *l = g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue;
        if (g->kind != TC_GROUP_LOOP) tc_node_each_input(g->node, last_place, &c);
        for (size_t k = 0; l && k < l->buffers.len; k++) last_use(&c, l->buffers.data[k].value);
        for (int t = 0; t < TC_TILES && g->tiles[t]; t++)
            for (size_t k = 0; k < g->tiles[t]->buffers.len; k++) last_use(&c, g->tiles[t]->buffers.data[k].value);
    }
    c.group = INT32_MAX;
    for (int i = 0; i < f->g->noutputs; i++) last_use(&c, f->g->outputs[i]);
    for (size_t i = f->plan->groups.len; i-- > 0;) { /* backwards, because a view follows its base, which may be a view too */
        const tc_group *g = &f->plan->groups.data[i];
        for (int k = g->nviews; k-- > 0;) reads_base(last, g->views[k]->outs[0], g->views[k]->args[0].value);
        if (g->kind == TC_GROUP_VIEW) reads_base(last, g->node->outs[0], g->node->args[0].value);
    }
    for (int i = 0; f->tied && i < f->g->ninputs; i++)
        if (f->tied[i] >= 0) reads_base(last, f->g->inputs[i], f->g->inputs[f->tied[i]]);
    return last;
}

/* Does the value consist of all bytes of its root, in order? */
static bool covers_root(const binder *x, const tc_value *v) {
    const bound *b = x->b;
    const int r = b->root_of[v->id];
    if (x->dynamic[v->id]) return r == (int)v->id;
    return !b->delta[v->id] && b->t[v->id].dtype == b->t[r].dtype && tc_tensor_bytes(&b->t[v->id]) == b->roots[r].bytes &&
           tc_tensor_is_contiguous(&b->t[v->id]);
}

/* A result is computed in the caller's memory if its value is all of its root, possibly with other sizes; else it is copied at the end. */
static void bind_outputs(binder *x) {
    frame *f = x->f;
    bound *b = x->b;
    for (int o = 0; o < f->g->noutputs; o++) {
        const tc_value *v = f->g->outputs[o];
        if (!is_tensor(v) || b->in_place[o]) continue;
        bind_use(x, v);
        root *r = &b->roots[b->root_of[v->id]];
        if (covers_root(x, v) && r->kind == ROOT_ARENA && f->target[o] < 0) {
            r->kind = ROOT_OUTPUT;
            r->index = o;
        } else tc_vec_push(&b->end_copies, o);
    }
    b->clones = tc_xcalloc(b->end_copies.len + 1, sizeof *b->clones);
    for (size_t i = 0; i < f->g->nvalues; i++) {
        int r = b->root_of[i];
        if (r == (int)i && (b->roots[i].kind == ROOT_OUTPUT || b->roots[i].kind == ROOT_INPUT)) tc_vec_push(&b->moved, (int)i);
    }
    for (size_t i = 0; i < f->g->nvalues; i++) {
        int r = b->root_of[i];
        if (r >= 0 && r != (int)i && (b->roots[r].kind == ROOT_OUTPUT || b->roots[r].kind == ROOT_INPUT)) tc_vec_push(&b->moved, (int)i);
    }
}

/* Replaces the memory by larger memory. Tensors refer to the storage, so they stay valid; kept results are lost, and will be computed again. */
static tc_status grow_memory(frame *f, size_t bytes) {
    if (!f->memory) f->memory = tc_storage_wrap(NULL, 0, NULL, NULL);
    if (bytes <= f->memory->bytes || f->e->plan_only) return NULL;
    size_t unit = memory_page(bytes), n = memory_pages(bytes);
    free(f->memory->data);
    f->memory->bytes = 0, f->kept = NULL;
    f->memory->data = aligned_alloc(unit, n);
    if (!f->memory->data) return tc_error(TC_ENV, "no memory: %zu bytes for intermediate results", bytes);
    if (unit > 4096) madvise(f->memory->data, n, MADV_HUGEPAGE);
    f->memory->bytes = n;
    return NULL;
}

static tc_status bind_memory(binder *x) {
    bound *b = x->b;
    size_t n = x->slots;
    bound_plan_memory(b, n);
    TC_TRY(grow_memory(x->f, b->arena_bytes ? b->arena_bytes : 1)); /* at least 1, because empty tensors need an address too */
    for (size_t i = 0; i < n; i++) {
        int r = b->root_of[i];
        if (r < 0 || b->roots[r].kind != ROOT_ARENA) continue;
        b->t[i].storage = x->f->memory;
        b->t[i].offset = (int64_t)(b->roots[r].offset / tc_dtype_size(b->t[i].dtype)) + b->delta[i] / (int64_t)tc_dtype_size(b->t[i].dtype);
    }
    return NULL;
}

static void find_mutations(binder *x) {
    const frame *f = x->f;
    for (size_t i = 0; i < f->g->nvalues; i++) x->mutation[i] = -1;
    for (int o = f->g->noutputs - 1; o >= 0; o--) {
        if (f->target[o] < 0) continue;
        x->next_mutation[o] = x->mutation[f->g->outputs[o]->id];
        x->mutation[f->g->outputs[o]->id] = o;
    }
}

/* Finds the chains of slices, and decides on packed weights again for the sizes that kernels get within a slice. */
static void bind_slices(binder *x) {
    slices_find(x->f, x->b, x->slots);
    for (size_t i = 0; i < x->b->slices.len; i++) {
        slices *s = &x->b->slices.data[i];
        slices_begin(x->b, s);
        slices_select(x->b, s, 0);
        for (int c = s->first; c < s->first + s->ncalls; c++) {
            const call *at = &x->b->calls.data[c];
            if (at->kind == CALL_KERNEL) bind_packed(x, at->group->node, at->kernel);
        }
        slices_end(x->b, s);
        for (int c = s->first; c < s->first + s->ncalls; c++) {
            const call *at = &x->b->calls.data[c];
            if (at->kind == CALL_KERNEL) bind_packed_choice(x, at->group->node, at->kernel);
        }
    }
}

static tc_status bind_all(binder *x) {
    frame *f = x->f;
    bound *b = x->b;
    size_t n = x->slots;
    b->t = tc_xcalloc(n, sizeof *b->t);
    b->root_of = tc_xcalloc(n, sizeof *b->root_of);
    b->delta = tc_xcalloc(n, sizeof *b->delta);
    b->roots = tc_xcalloc(n, sizeof *b->roots);
    b->in_place = tc_xcalloc((size_t)f->g->noutputs + 1, sizeof *b->in_place);
    for (size_t i = 0; i < n; i++) b->root_of[i] = -1;
    find_mutations(x);
    for (int i = 0; i < f->g->ninputs; i++) {
        const tc_value *v = f->g->inputs[i];
        if (!is_tensor(v)) continue;
        TC_TRY(bind_root(x, v, ROOT_INPUT), "%s", v->name);
        b->roots[v->id].index = i;
    }
    for (int i = 0; f->tied && i < f->g->ninputs; i++)
        if (f->tied[i] >= 0) {
            b->roots[f->g->inputs[i]->id].kind = ROOT_NONE;
            b->root_of[f->g->inputs[i]->id] = (int)f->g->inputs[f->tied[i]]->id;
        }
    int *last = last_groups(f);
    if (x->e->layouts) frame_layouts(f, last, x->channels_last, x->takes_last);
    tc_status s = NULL;
    for (size_t i = 0; i < f->plan->groups.len && !s; i++) {
        const tc_group *g = &f->plan->groups.data[i];
        bool number = g->kind == TC_GROUP_CONTROL && !(g->node->op->flags & TC_OP_HIGHER_ORDER);
        if (g->kind == TC_GROUP_LOOP && g->loop->tile) continue; /* bound with its kernel */
        if (g->tiles[0]) s = bind_tiles(x, g, (int)i, last);
        if (s) break;
        if (!number && bind_unknown(x, g)) {
            s = bind_dynamic(x, g, (int)i);
            continue;
        }
        switch (g->kind) {
        case TC_GROUP_LOOP: s = bind_loop(x, g, (int)i, last); break;
        case TC_GROUP_VIEW: s = bind_view(x, g->node); break;
        case TC_GROUP_KERNEL: s = bind_kernel(x, g, (int)i, last); break;
        case TC_GROUP_CONTROL: s = bind_control(x, g, (int)i); break;
        }
    }
    free(last);
    if (s) return s;
    for (int o = 0; o < f->g->noutputs; o++) { /* empty results, which no loop stores (save_mean of batch norm in eval) */
        const tc_value *v = f->g->outputs[o];
        if (is_tensor(v) && b->root_of[v->id] < 0) TC_TRY(bind_root(x, v, ROOT_ARENA), "%s", v->name);
    }
    bind_outputs(x);
    keep_values(f, b, x->slots, now(x));
    bind_slices(x);
    return bind_memory(x);
}

tc_status frame_bind(frame *f, bound **out) {
    binder x = {.f = f, .e = f->e, .b = tc_xcalloc(1, sizeof(bound))};
    x.dynamic = tc_xcalloc(f->g->nvalues + 1, sizeof *x.dynamic);
    x.channels_last = tc_xcalloc(f->g->nvalues + 1, sizeof *x.channels_last);
    x.takes_last = tc_xcalloc(f->plan->groups.len + 1, sizeof *x.takes_last);
    x.slots = f->g->nvalues + 32 * f->plan->groups.len + 16; /* a group has at most 32 calls: itself, and a copy of each tensor argument */
    x.mutation = tc_xcalloc(f->g->nvalues + 1, sizeof *x.mutation);
    x.next_mutation = tc_xcalloc((size_t)f->g->noutputs + 1, sizeof *x.next_mutation);
    tc_status s = bind_all(&x);
    free(x.dynamic);
    free(x.channels_last);
    free(x.takes_last);
    free(x.mutation);
    free(x.next_mutation);
    if (s) bound_destroy(x.b);
    else *out = x.b;
    return s;
}

void bound_destroy(bound *b) {
    if (!b) return;
    for (size_t i = 0; i < b->calls.len; i++) {
        call *c = &b->calls.data[i];
        tc_block_destroy(c->block);
        kernel_call_free(c->kernel);
        free(c->data);
        free(c->id);
        free(c->buffers);
        free(c->extents);
        free(c->numbers);
    }
    tc_vec_free(&b->calls);
    slices_free(b);
    tc_vec_free(&b->moved);
    tc_vec_free(&b->end_copies);
    free(b->clones);
    free(b->key);
    free(b->t);
    free(b->root_of);
    free(b->delta);
    free(b->roots);
    free(b->in_place);
    free(b);
}
