/* Binding a frame to sizes: concrete tensors and roots for all values, memory, one call a group with everything filled in. */
#include "runtime/slices.h"

#include <sys/mman.h>

typedef struct {
    frame *f;
    tc_exec *e;
    bound *b;
    int now;                          /* the call being bound */
    bool *dynamic;                    /* by value id: its sizes depend on data */
    bool *channels_last, *takes_last; /* by value id; by group: argument 0 */
    size_t slots;                     /* values, and behind them contiguous copies of arguments (contiguous_arg) */
    int *mutation, *next_mutation;    /* by value id: the first output that stores it in an input, or -1; by output: the value's next one */
} binder;

static bool is_tensor(const tc_value *v) { return v && v->kind == TC_V_TENSOR; }
static root *root_at(binder *x, const tc_value *v) { return &x->b->roots[x->b->root_of[v->id]]; }

static void note_use(binder *x, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) note_use(x, v->list[i]);
    if (!is_tensor(v) || v->graph != x->f->g || x->b->root_of[v->id] < 0) return;
    root *r = root_at(x, v);
    if (x->now > r->last) r->last = x->now;
    if (x->dynamic[v->id] && v->producer && v->producer->op->view_alias) note_use(x, v->producer->args[0].value); /* it lies in that one's memory */
}
static void note_place(void *ctx, tc_value **place) { note_use(ctx, *place); }

/* A tensor of the value's sizes with memory of its own, dense. */
static tc_status make_root(binder *x, const tc_value *v, root_kind kind) {
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
    x->b->roots[v->id] = (root){.kind = kind, .bytes = bytes, .first = x->now, .last = x->now};
    return NULL;
}

static bool sizes_known(binder *x, const tc_value *v) {
    for (int d = 0; d < v->meta.rank; d++) {
        int64_t n;
        tc_status s = tc_sym_eval_int(v->meta.size[d], x->e->vars, x->e->nvars, &n);
        if (s) {
            tc_status_free(s);
            return false;
        }
    }
    return true;
}

typedef struct {
    binder *x;
    bool dynamic;
} dyn_ctx;
static void look(dyn_ctx *d, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) look(d, v->list[i]);
    if (v->kind == TC_V_TENSOR && v->graph == d->x->f->g) d->dynamic |= d->x->dynamic[v->id];
    if (v->kind == TC_V_SYM && v->sym) {
        tc_symvalue out;
        tc_status s = tc_sym_eval(v->sym, d->x->e->vars, d->x->e->nvars, &out);
        d->dynamic |= s && tc_sym_type(v->sym) == TC_SYM_INT;
        tc_status_free(s);
    }
}
static void look_place(void *ctx, tc_value **place) { look(ctx, *place); }

static bool number_known(binder *x, tc_sym s) {
    tc_symvalue out;
    tc_status st = tc_sym_eval(s, x->e->vars, x->e->nvars, &out);
    bool ok = !st || tc_sym_type(s) != TC_SYM_INT;
    tc_status_free(st);
    return ok;
}

/* A number that is read when the loop runs. */
static bool late_known(binder *x, tc_sym s) { return x->e->for_c || number_known(x, s); }

static bool affines_known(binder *x, const tc_affine *a, int rank) {
    for (int d = 0; a && d < rank; d++) {
        if (a[d].base && !late_known(x, a[d].base)) return false;
        for (int k = 0; k < a[d].n; k++)
            if (!late_known(x, a[d].term[k].coef)) return false;
    }
    return true;
}

/* Every number in the loop: extents, offsets and steps of what it reads and writes, integers that it computes with. */
static bool loop_known(binder *x, const tc_loop *l) {
    for (int a = 0; a < l->naxes; a++)
        if (!number_known(x, l->axes[a].extent)) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        bool indexed = in->kind == TC_L_LOAD || in->kind == TC_L_INDEX;
        if (in->kind == TC_L_HOST && !late_known(x, in->host)) return false;
        if (indexed && !affines_known(x, in->index, in->kind == TC_L_INDEX ? 1 : in->rank)) return false;
    }
    for (size_t i = 0; i < l->stores.len; i++)
        if (!affines_known(x, l->stores.data[i].index, l->stores.data[i].rank)) return false;
    return true;
}

static bool loop_dynamic(binder *x, const tc_loop *l) {
    bool dynamic = false;
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_value *v = l->buffers.data[i].value;
        dynamic |= l->buffers.data[i].written ? !sizes_known(x, v) : x->dynamic[v->id];
    }
    return dynamic || !loop_known(x, l);
}

/* A group is dynamic when a tensor or an integer that it reads or makes is not known before the run. */
static bool group_dynamic(binder *x, const tc_group *g) {
    dyn_ctx d = {x, false};
    if (g->kind == TC_GROUP_LOOP) return loop_dynamic(x, g->loop);
    if (g->epilogue && loop_dynamic(x, g->epilogue)) return true;
    tc_node_each_input(g->node, look_place, &d);
    for (int i = 0; i < g->node->nargs && !d.dynamic; i++) {
        const tc_arg *a = &g->node->args[i];
        if (a->kind == TC_A_INT) d.dynamic |= !number_known(x, a->sym);
        for (int k = 0; a->kind == TC_A_INTS && k < a->n; k++) d.dynamic |= !number_known(x, a->syms[k]);
    }
    for (int i = 0; i < g->node->nouts && !d.dynamic; i++)
        if (is_tensor(g->node->outs[i])) d.dynamic |= !sizes_known(x, g->node->outs[i]);
    return d.dynamic || (g->kind == TC_GROUP_KERNEL && g->node->op->kernel->flags & TC_KF_DYNAMIC);
}

static void mark_dynamic(binder *x, const tc_value *v) {
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) mark_dynamic(x, v->list[i]);
    if (!is_tensor(v)) return;
    x->dynamic[v->id] = true;
    x->b->root_of[v->id] = (int)v->id;
    x->b->roots[v->id] = (root){.kind = ROOT_DYNAMIC, .first = x->now, .last = x->now};
    x->b->t[v->id] = (tc_tensor){0};
}

static void mark_loop_dynamic(binder *x, const tc_loop *l) {
    for (size_t i = 0; i < l->buffers.len; i++) {
        note_use(x, l->buffers.data[i].value);
        if (l->buffers.data[i].written) mark_dynamic(x, l->buffers.data[i].value);
    }
}

static tc_status bind_dynamic(binder *x, const tc_group *g, int index) {
    if (g->kind == TC_GROUP_LOOP) {
        mark_loop_dynamic(x, g->loop);
    } else {
        tc_node_each_input(g->node, note_place, x);
        for (int i = 0; i < g->node->nouts; i++) mark_dynamic(x, g->node->outs[i]);
        for (int i = 0; i < g->nviews; i++) mark_dynamic(x, g->views[i]->outs[0]);
        if (g->epilogue) mark_loop_dynamic(x, g->epilogue);
    }
    call c = {.kind = CALL_DYNAMIC, .group = g, .group_index = index};
    tc_vec_push(&x->b->calls, c);
    return NULL;
}

/* ---- views ---- */
static void add_copy(binder *x, const tc_node *n, int to, int from) {
    call c = {.kind = CALL_COPY, .id = tc_xcalloc(2, sizeof(int)), .nid = 2, .copy_for = n};
    c.id[0] = to;
    c.id[1] = from;
    tc_vec_push(&x->b->calls, c);
    x->now++;
}

static tc_status alias(binder *x, const tc_node *n, tc_tensor *from, tc_tensor *out, bool *possible) {
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_tensor keep = x->b->t[n->args[0].value->id];
    x->b->t[n->args[0].value->id] = *from;
    tc_status s = kernel_args(n, x->b->t, x->e->vars, x->e->nvars, true, k);
    *possible = false;
    if (!s) s = n->op->view_alias(&k->k, out, possible);
    if (out->storage) tc_storage_release(out->storage); /* values borrow from their roots */
    x->b->t[n->args[0].value->id] = keep;
    kernel_call_free(k);
    return s;
}

static tc_status bind_view(binder *x, const tc_node *n) {
    const tc_value *in = n->args[0].value, *out = n->outs[0];
    tc_tensor t = {0};
    bool possible;
    if (!is_tensor(in)) return tc_error(TC_CONTENT, "%s: a view of what is no tensor", n->name);
    tc_tensor base = x->b->t[in->id];
    TC_TRY(alias(x, n, &base, &t, &possible), "%s", n->name);
    if (possible) {
        x->b->t[out->id] = t;
        x->b->root_of[out->id] = x->b->root_of[in->id];
        x->b->delta[out->id] = t.offset * (int64_t)tc_dtype_size(t.dtype);
        return NULL;
    }
    /* the elements in order, then a view of those: the copy has the memory of the result, which may show fewer (as_strided) */
    TC_TRY(make_root(x, out, ROOT_ARENA));
    tc_tensor flat = base;
    flat.offset = 0;
    tc_contiguous_strides(flat.rank, flat.size, flat.stride);
    x->b->roots[out->id].bytes = tc_tensor_bytes(&flat);
    note_use(x, in);
    add_copy(x, n, (int)out->id, (int)in->id);
    x->b->calls.data[x->b->calls.len - 1].copy[0] = flat; /* to: the argument's sizes, contiguous */
    x->b->calls.data[x->b->calls.len - 1].copy[1] = base;
    TC_TRY(alias(x, n, &flat, &t, &possible), "%s", n->name);
    if (!possible) return tc_error(TC_CONTENT, "%s: %s of a contiguous tensor is no view", n->name, tc_op_name(n->op));
    x->b->t[out->id] = t;
    x->b->delta[out->id] = t.offset * (int64_t)tc_dtype_size(t.dtype);
    return NULL;
}

/* ---- loops ---- */
static bool same_index(const tc_lstore *st, const tc_linst *ld) {
    if (st->rank != ld->rank) return false;
    for (int d = 0; d < st->rank; d++)
        if (!tc_affine_equal(&st->index[d], &ld->index[d])) return false;
    return true;
}

static bool same_strides(const tc_tensor *a, const tc_tensor *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->size[d] == b->size[d] && (a->size[d] == 1 || a->stride[d] == b->stride[d]);
    return same;
}

/* May the loop write value `out` where `old` is? Each element must be read, if at all, where it is written, and nothing later. */
static bool may_overwrite(binder *x, const tc_loop *l, const tc_schedule *s, const tc_value *out, int old_root) {
    const tc_lstore *st = NULL;
    if (s->n != 1 || s->nests[0].inner || s->own_loop) return false;
    for (size_t i = 0; i < l->stores.len; i++)
        if (l->buffers.data[l->stores.data[i].buffer].value == out) {
            if (st) return false;
            st = &l->stores.data[i];
        }
    if (!st || st->pred != TC_LV_NONE || l->inst.data[st->value].kind == TC_L_LOAD) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (in->kind != TC_L_LOAD) continue;
        const tc_value *v = l->buffers.data[in->buffer].value;
        if (x->b->root_of[v->id] != old_root) continue;
        if (in->gather || in->pred != TC_LV_NONE || !same_index(st, in) || x->b->delta[v->id]) return false;
        const tc_tensor *t = &x->b->t[v->id];
        if (!same_strides(t, &x->b->t[out->id]) || tc_dtype_size(t->dtype) != tc_dtype_size(out->meta.dtype)) return false;
    }
    return true;
}

/* Nothing reads the root after this group. */
static bool dies_here(const binder *x, int r, const int *last, int index) { return last[r] <= index && x->b->roots[r].kind != ROOT_OUTPUT; }

/* The input that value v is to be written over, because it is what mutates it, or -1. */
static int mutated_root(binder *x, const tc_loop *l, const tc_schedule *sched, const tc_value *v, int index, const int *last) {
    for (int o = x->mutation[v->id]; o >= 0; o = x->next_mutation[o]) {
        int r = x->b->root_of[x->f->g->inputs[x->f->target[o]]->id];
        if (x->b->in_place[o] || !dies_here(x, r, last, index) || x->b->roots[r].bytes != x->b->roots[v->id].bytes ||
            !may_overwrite(x, l, sched, v, r))
            continue;
        x->b->in_place[o] = true;
        return r;
    }
    return -1;
}

/* Value v, a root of its own so far, lies where root `want` does from now on. */
static void lie_in(binder *x, const tc_value *v, int want, int *last) {
    x->b->roots[v->id].kind = ROOT_NONE;
    x->b->root_of[v->id] = want;
    root *r = &x->b->roots[want];
    if (r->last < x->now) r->last = x->now;
    if (last[want] < last[v->id]) last[want] = last[v->id];
}

/* Memory for what a loop writes: the input that it mutates, what dies here, or new. */
static tc_status make_results(binder *x, const tc_loop *l, const tc_schedule *sched, int index, int *last, call *c, bool *in_place) {
    uint64_t taken = 0;
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_value *v = l->buffers.data[i].value;
        c->id[i] = (int)v->id;
        note_use(x, v);
        if (!l->buffers.data[i].written) continue;
        TC_TRY(make_root(x, v, ROOT_ARENA));
        int want = mutated_root(x, l, sched, v, index, last);
        bool result = last[v->id] == INT32_MAX;
        for (size_t k = 0; k < l->buffers.len && want < 0 && !result && k < 64; k++) {
            const tc_value *u = l->buffers.data[k].value;
            if (l->buffers.data[k].written || taken >> k & 1) continue;
            int r = x->b->root_of[u->id];
            if (x->b->roots[r].kind != ROOT_ARENA || !dies_here(x, r, last, index) || x->b->roots[r].bytes != x->b->roots[v->id].bytes ||
                !may_overwrite(x, l, sched, v, r))
                continue;
            want = r;
            taken |= UINT64_C(1) << k;
        }
        if (want < 0) continue;
        *in_place = true;
        lie_in(x, v, want, last);
    }
    return NULL;
}

/* The compiled group or the block that runs a loop, whose buffers are bound. */
static tc_status bind_code(binder *x, const tc_loop *l, const tc_schedule *sched, int index, bool in_place, call *c) {
    if (x->e->for_c) return NULL;
    tc_block_shape *shapes = tc_xcalloc(sched->loop->buffers.len + 1, sizeof *shapes);
    for (size_t i = 0; i < l->buffers.len; i++) shapes[i] = (tc_block_shape){x->b->t[c->id[i]].size, x->b->t[c->id[i]].stride};
    const tc_abi_group *code = x->f->code ? x->f->code[index] : NULL;
    for (size_t i = 0; code && i < l->buffers.len; i++)
        if (code->dense[i] && !tc_tensor_is_contiguous(&x->b->t[c->id[i]])) code = NULL;
    tc_status s = NULL;
    if (code) {
        const tc_group_desc *d = &x->f->descs[index];
        c->code = code;
        c->buffers = tc_xcalloc(l->buffers.len + 1, sizeof *c->buffers);
        c->extents = tc_xcalloc((size_t)l->naxes + 1, sizeof *c->extents);
        c->numbers = tc_xcalloc((size_t)d->nnumbers + 1, sizeof *c->numbers);
        c->number_syms = d->numbers;
        c->nnumbers = d->nnumbers;
        for (size_t i = 0; i < l->buffers.len; i++) c->buffers[i] = (tc_abi_buffer){.size = shapes[i].size, .stride = shapes[i].stride};
        for (int a = 0; a < l->naxes && !s; a++) s = tc_sym_eval_int(l->axes[a].extent, x->e->vars, x->e->nvars, &c->extents[a]);
        for (int i = 0; i < d->nnumbers && !s; i++) {
            tc_symvalue v;
            if (tc_sym_type(d->numbers[i]) != TC_SYM_INT) continue; /* data may decide it: run_compiled */
            s = tc_sym_eval(d->numbers[i], x->e->vars, x->e->nvars, &v);
            if (!s) c->numbers[i].i = v.i;
        }
        c->abi = (tc_abi_call){
            .bytes = sizeof c->abi, .workers = tc_pool_threads(x->e->pool), .buffers = c->buffers, .extents = c->extents, .numbers = c->numbers};
        int64_t scratch = !s && code->scratch ? code->scratch(&c->abi) : 0;
        if ((size_t)scratch > x->b->kernel_scratch) x->b->kernel_scratch = (size_t)scratch;
    } else {
        s = tc_block_bind(sched,
                          &(tc_block_env){.isa = x->e->isa,
                                          .threads = tc_pool_threads(x->e->pool),
                                          .vars = x->e->vars,
                                          .nvars = x->e->nvars,
                                          .shapes = shapes,
                                          .costs = tuning_costs(x->e),
                                          .tables = x->e->tables,
                                          .block = tuning_block(x->e, l),
                                          .in_place = in_place},
                          &c->block);
        if (!s && tc_block_scratch(c->block) > x->b->scratch) x->b->scratch = tc_block_scratch(c->block);
        if (!s && tc_block_temps(c->block) > x->b->temps) x->b->temps = tc_block_temps(c->block);
    }
    free(shapes);
    return s;
}

static void loop_buffers(const tc_loop *l, const tc_schedule *sched, call *c) {
    c->nid = (int)l->buffers.len;
    c->id = tc_xcalloc(l->buffers.len + 1, sizeof *c->id);
    c->data = tc_xcalloc(sched->loop->buffers.len + 1, sizeof *c->data);
}

static tc_status bind_loop(binder *x, const tc_group *g, int index, int *last) {
    const tc_schedule *sched = &x->f->schedules[index];
    call c = {.kind = CALL_LOOP, .group = g, .group_index = index};
    loop_buffers(g->loop, sched, &c);
    bool in_place = false;
    tc_status s = make_results(x, g->loop, sched, index, last, &c, &in_place);
    if (!s) s = bind_code(x, g->loop, sched, index, in_place, &c);
    tc_vec_push(&x->b->calls, c);
    x->now++;
    return tc_annotate(s, "%s", g->node->name ? g->node->name : tc_op_name(g->node->op));
}

/* ---- kernels ---- */
static int count_outs(const tc_node *n) {
    int k = 0;
    for (int i = 0; i < n->nouts; i++) k += n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1;
    return k;
}

/* A contiguous copy of an argument, in the arena: an anonymous root, numbered behind the values. */
static void contiguous_arg(binder *x, const tc_node *n, tc_karg *a) {
    if (a->kind != TC_K_TENSOR || !a->tensor->storage || tc_tensor_is_contiguous(a->tensor)) return;
    int id = (int)(a->tensor - x->b->t), copy = (int)x->f->g->nvalues + (int)x->b->calls.len;
    tc_tensor t = x->b->t[id];
    t.storage = x->e->dummy;
    t.offset = 0;
    tc_contiguous_strides(t.rank, t.size, t.stride);
    x->b->t[copy] = t;
    x->b->root_of[copy] = copy;
    x->b->roots[copy] = (root){.kind = ROOT_ARENA, .bytes = tc_tensor_bytes(&t), .first = x->now, .last = x->now};
    root *r = &x->b->roots[x->b->root_of[id]];
    if (r->last < x->now) r->last = x->now;
    add_copy(x, n, copy, id);
    a->tensor = &x->b->t[copy];
}

static bool stays(const binder *x, const tc_karg *a) {
    if (a->kind != TC_K_TENSOR) return false;
    const int r = x->b->root_of[a->tensor - x->b->t];
    return r >= 0 && x->b->roots[r].kind == ROOT_INPUT && packed_argument(x->e, x->f->g->inputs[x->b->roots[r].index]);
}
/* Which arguments of the call are kept in their packed form, if any. */
static void pack_kernel(binder *x, const tc_node *n, kernel_call *k) {
    const tc_kernel *kn = n->op->kernel;
    if (!kn->pack_bytes || !x->e->o.keep_packed || x->f != x->e->main) return;
    k->pack_bytes = kn->pack_bytes(&k->k, &k->pack_arg);
    for (int i = 0; i <= kn->pack_more && k->pack_bytes; i++)
        if (!stays(x, &k->args[k->pack_arg + i])) k->pack_bytes = 0;
    k->may_pack = k->pack_bytes > 0;
}
/* Unless a tuning file, which knows calls by all their entries, says otherwise. */
static void choose_packed(const binder *x, const tc_node *n, kernel_call *k) {
    if (k->may_pack && tuning_unpacked(x->e, n, k)) k->pack_bytes = 0;
}

typedef struct {
    binder *x;
    int root, count;
} root_uses;
static void count_value(root_uses *u, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) count_value(u, v->list[i]);
    if (is_tensor(v) && v->graph == u->x->f->g) u->count += u->x->b->root_of[v->id] == u->root;
}
static void count_place(void *ctx, tc_value **place) { count_value(ctx, *place); }

/* Result 0 of a kernel that may write where argument 0 lies: the input that it mutates, or the argument itself, which dies here. No
 * other argument may lie there. The kernel copies what argument 0 holds where the two are not one. */
static void kernel_in_place(binder *x, const tc_node *n, int index, int *last) {
    const tc_value *out = n->outs[0], *self = n->args[0].value;
    int mine = x->b->root_of[self->id], want = -1;
    size_t bytes = x->b->roots[out->id].bytes;
    for (int o = x->mutation[out->id]; o >= 0 && want < 0; o = x->next_mutation[o]) {
        if (x->b->in_place[o]) continue;
        int r = x->b->root_of[x->f->g->inputs[x->f->target[o]]->id];
        root_uses u = {x, r, 0};
        tc_node_each_input(n, count_place, &u);
        if (dies_here(x, r, last, index) && x->b->roots[r].bytes == bytes && u.count == (r == mine)) want = r, x->b->in_place[o] = true;
    }
    if (want < 0 && last[out->id] != INT32_MAX && x->b->roots[mine].kind == ROOT_ARENA && x->b->roots[mine].bytes == bytes) {
        root_uses u = {x, mine, 0};
        tc_node_each_input(n, count_place, &u);
        if (dies_here(x, mine, last, index) && u.count == 1) want = mine;
    }
    if (want < 0) return;
    x->b->roots[out->id].kind = ROOT_NONE;
    x->b->root_of[out->id] = want;
    if (x->b->roots[want].last < x->now) x->b->roots[want].last = x->now;
    if (last[want] < last[out->id]) last[want] = last[out->id];
}

static int uses_of_root(binder *x, const tc_node *n, int id) {
    root_uses u = {x, id, 0};
    tc_node_each_input(n, count_place, &u);
    return u.count;
}

/* The result of the group's kernel, and the group's views of it, lie where value v does, a root of its own. */
static void lie_under(binder *x, const tc_group *g, const tc_value *v) {
    int result = (int)g->node->outs[0]->id;
    x->b->root_of[result] = (int)v->id;
    for (int i = 0; i < g->nviews; i++)
        if (x->b->root_of[g->views[i]->outs[0]->id] == result) x->b->root_of[g->views[i]->outs[0]->id] = (int)v->id;
    x->b->roots[result].kind = ROOT_NONE;
}

/* The schedule of an epilogue that is run when the kernel is done, as any loop. */
static const tc_schedule *whole_schedule(binder *x, const tc_schedule *s) {
    tc_schedule *out = tc_arena_dup(&x->f->arena, s, sizeof *s);
    out->loop = tc_arena_dup(&x->f->arena, s->loop, sizeof *s->loop);
    out->loop->region = false;
    out->loop->columns = 0;
    return out;
}

/* The loop behind the kernel. What it writes over must not be what the kernel reads: the kernel is not done when the first region is.
 * Nothing else dies here in good time, but the kernel's own result. */
static tc_status bind_epilogue(binder *x, const tc_group *g, int index, int *last, call *c) {
    const tc_loop *l = g->epilogue;
    const tc_schedule *sched = &x->f->schedules[index];
    int result = x->b->root_of[g->node->outs[0]->id];
    bool in_place = false;
    for (int i = 0; i < g->nviews; i++) TC_TRY(bind_view(x, g->views[i]));
    loop_buffers(l, sched, c);
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_value *v = l->buffers.data[i].value;
        c->id[i] = (int)v->id;
        note_use(x, v);
        if (!l->buffers.data[i].written) continue;
        TC_TRY(make_root(x, v, ROOT_ARENA));
        int want = mutated_root(x, l, sched, v, index, last);
        if (want >= 0 && uses_of_root(x, g->node, want)) {
            for (int o = x->mutation[v->id]; o >= 0; o = x->next_mutation[o]) x->b->in_place[o] = false;
        } else if (want >= 0) {
            in_place = true;
            lie_in(x, v, want, last);
        } else if (result == (int)g->node->outs[0]->id && x->b->roots[result].kind == ROOT_ARENA && dies_here(x, result, last, index) &&
                   x->b->roots[result].bytes == x->b->roots[v->id].bytes && may_overwrite(x, l, sched, v, result)) {
            in_place = true;
            lie_under(x, g, v);
        }
    }
    const bool positions = g->node->op->kernel->row_dims == TC_ROWS_POSITIONS;
    c->apart = positions && !tc_tensor_is_channels_last(&x->b->t[g->node->outs[0]->id]);
    return bind_code(x, l, c->apart ? whole_schedule(x, sched) : sched, index, in_place, c);
}

static tc_status bind_kernel(binder *x, const tc_group *g, int index, int *last) {
    const tc_node *n = g->node;
    const tc_kernel *kn = n->op->kernel;
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_node_each_input(n, note_place, x);
    call c = {.kind = CALL_KERNEL, .group = g, .group_index = index, .kernel = k};
    k->f = x->f;
    k->k.nouts = count_outs(n);
    k->outs = tc_xcalloc((size_t)k->k.nouts + 1, sizeof *k->outs);
    k->out_id = tc_xcalloc((size_t)k->k.nouts + 1, sizeof *k->out_id);
    k->k.outs = k->outs;
    tc_status s = kernel_args(n, x->b->t, x->e->vars, x->e->nvars, false, k);
    for (int i = 0; i < n->nargs && !s && kn->flags & TC_KF_CONTIGUOUS; i++)
        if (i || !x->takes_last[index] || k->args[0].kind != TC_K_TENSOR || !tc_tensor_is_channels_last(k->args[0].tensor))
            contiguous_arg(x, n, &k->args[i]);
    tc_node_each_input(n, note_place, x);
    for (int i = 0; i < n->nargs; i++) /* copies live until here */
        if (k->args[i].kind == TC_K_TENSOR && k->args[i].tensor >= x->b->t + x->f->g->nvalues) x->b->roots[k->args[i].tensor - x->b->t].last = x->now;
    for (int i = 0, at = 0; i < n->nouts && !s; i++) {
        const tc_value *v = n->outs[i];
        int m = v->kind == TC_V_LIST ? v->nlist : 1;
        for (int j = 0; j < m && !s; j++, at++) {
            const tc_value *o = v->kind == TC_V_LIST ? v->list[j] : v;
            k->out_id[at] = -1;
            if (!is_tensor(o) || (at && kn->flags & TC_KF_SPARE_RESULTS && last[o->id] < 0)) continue;
            s = make_root(x, o, ROOT_ARENA);
            if (!s && !at && kn->flags & TC_KF_INPLACE0) kernel_in_place(x, n, index, last);
            k->out_id[at] = (int)o->id;
            k->outs[at] = x->b->t[o->id];
        }
    }
    k->k.pool = x->e->pool;
    k->k.isa = x->e->isa;
    k->k.numerics = x->e->o.numerics;
    if (!s) tuning_kernel(x->e, n, k), pack_kernel(x, n, k), choose_packed(x, n, k);
    if (!s && g->epilogue) s = bind_epilogue(x, g, index, last, &c);
    if (!s && kn->scratch) {
        size_t bytes = kn->scratch(&k->k, tc_pool_threads(x->e->pool));
        if (bytes > x->b->kernel_scratch) x->b->kernel_scratch = bytes;
    }
    tc_vec_push(&x->b->calls, c);
    x->now++;
    return tc_annotate(s, "%s", n->name ? n->name : tc_op_name(n->op));
}

/* Results of control flow whose subgraphs are written as C into the same unit. */
static tc_status control_results(binder *x, const tc_node *n) {
    for (int i = 0; i < n->nouts; i++)
        if (is_tensor(n->outs[i])) TC_TRY(make_root(x, n->outs[i], ROOT_ARENA), "%s", n->name);
    return NULL;
}

static tc_status bind_control(binder *x, const tc_group *g, int index) {
    bool item = !(g->node->op->flags & TC_OP_HIGHER_ORDER);
    if (!item && !x->e->for_c) return bind_dynamic(x, g, index); /* subgraphs make their results themselves */
    tc_node_each_input(g->node, note_place, x);
    if (!item) TC_TRY(control_results(x, g->node));
    call c = {.kind = item ? CALL_ITEM : CALL_CONTROL, .group = g, .group_index = index};
    tc_vec_push(&x->b->calls, c);
    x->now++;
    return NULL;
}

/* ---- the whole frame ---- */
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

/* What reads a value reads what it is a view of; a view may turn out to be a copy, with memory of its own. */
static void reads_base(int *last, const tc_value *view, const tc_value *base) {
    if (is_tensor(view) && is_tensor(base) && last[base->id] < last[view->id]) last[base->id] = last[view->id];
}

/* By value id: the last group that reads it or a view of it; INT32_MAX for results of the graph. In-place results extend the
 * life of the value they replace, so they are entered as they are made. */
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
    }
    c.group = INT32_MAX;
    for (int i = 0; i < f->g->noutputs; i++) last_use(&c, f->g->outputs[i]);
    for (size_t i = f->plan->groups.len; i-- > 0;) { /* views of views come later than what they view */
        const tc_group *g = &f->plan->groups.data[i];
        for (int k = g->nviews; k-- > 0;) reads_base(last, g->views[k]->outs[0], g->views[k]->args[0].value);
        if (g->kind == TC_GROUP_VIEW) reads_base(last, g->node->outs[0], g->node->args[0].value);
    }
    for (int i = 0; f->tied && i < f->g->ninputs; i++)
        if (f->tied[i] >= 0) reads_base(last, f->g->inputs[i], f->g->inputs[f->tied[i]]);
    return last;
}

/* Does a value have the bytes of its root, all of them and in their order? */
static bool covers_root(const binder *x, const tc_value *v) {
    const bound *b = x->b;
    const int r = b->root_of[v->id];
    if (x->dynamic[v->id]) return r == (int)v->id;
    return !b->delta[v->id] && b->t[v->id].dtype == b->t[r].dtype && tc_tensor_bytes(&b->t[v->id]) == b->roots[r].bytes &&
           tc_tensor_is_contiguous(&b->t[v->id]);
}

/* Results: written in the caller's memory where a value is its own root or all of it (a view with other sizes), else copied at the end. */
static void bind_outputs(binder *x) {
    frame *f = x->f;
    bound *b = x->b;
    for (int o = 0; o < f->g->noutputs; o++) {
        const tc_value *v = f->g->outputs[o];
        if (!is_tensor(v) || b->in_place[o]) continue;
        note_use(x, v);
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

/* The bytes move to a larger place; tensors name the storage, not the address. What was kept in it is made again. */
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
    TC_TRY(grow_memory(x->f, b->arena_bytes ? b->arena_bytes : 1)); /* empty tensors have an address too */
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

/* Weights are packed for the sizes that kernels see. */
static void bind_slices(binder *x) {
    slices_find(x->f, x->b, x->slots);
    for (size_t i = 0; i < x->b->slices.len; i++) {
        slices *s = &x->b->slices.data[i];
        slices_begin(x->b, s);
        slices_show(x->b, s, 0);
        for (int c = s->first; c < s->first + s->ncalls; c++) {
            const call *at = &x->b->calls.data[c];
            if (at->kind == CALL_KERNEL) pack_kernel(x, at->group->node, at->kernel);
        }
        slices_end(x->b, s);
        for (int c = s->first; c < s->first + s->ncalls; c++) {
            const call *at = &x->b->calls.data[c];
            if (at->kind == CALL_KERNEL) choose_packed(x, at->group->node, at->kernel);
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
        TC_TRY(make_root(x, v, ROOT_INPUT), "%s", v->name);
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
        if (!number && group_dynamic(x, g)) {
            s = bind_dynamic(x, g, (int)i);
            x->now++;
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
    x->now++;
    for (int o = 0; o < f->g->noutputs; o++) { /* results without elements, which no loop stores (save_mean of batch norm in eval) */
        const tc_value *v = f->g->outputs[o];
        if (is_tensor(v) && b->root_of[v->id] < 0) TC_TRY(make_root(x, v, ROOT_ARENA), "%s", v->name);
    }
    bind_outputs(x);
    keep_values(f, b, x->slots, x->now);
    bind_slices(x);
    return bind_memory(x);
}

tc_status frame_bind(frame *f, bound **out) {
    binder x = {.f = f, .e = f->e, .b = tc_xcalloc(1, sizeof(bound))};
    x.dynamic = tc_xcalloc(f->g->nvalues + 1, sizeof *x.dynamic);
    x.channels_last = tc_xcalloc(f->g->nvalues + 1, sizeof *x.channels_last);
    x.takes_last = tc_xcalloc(f->plan->groups.len + 1, sizeof *x.takes_last);
    x.slots = f->g->nvalues + 32 * f->plan->groups.len + 16; /* a group has fewer calls than that: one, and one for each tensor argument */
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
