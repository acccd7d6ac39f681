/* The calls of a group: where its results are stored (in place of a value that dies there, or in memory of their own), and what executes it: a kernel,
 * compiled code, or an interpreted block. */
#include "runtime/bind.h"

/* ---- views ---- */
static void add_copy(binder *x, const tc_node *n, int to, int from) {
    call c = {.kind = CALL_COPY, .id = tc_xcalloc(2, sizeof(int)), .nid = 2, .copy_for = n};
    c.id[0] = to;
    c.id[1] = from;
    tc_vec_push(&x->b->calls, c);
}

/* The view n of the tensor `from`; *possible: strides can express it. */
static tc_status alias(binder *x, const tc_node *n, tc_tensor *from, tc_tensor *out, bool *possible) {
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_tensor keep = x->b->t[n->args[0].value->id];
    x->b->t[n->args[0].value->id] = *from;
    tc_status s = kernel_args(n, x->b->t, x->e->vars, x->e->nvars, true, k);
    *possible = false;
    if (!s) s = n->op->view_alias(&k->k, out, possible);
    if (out->storage) tc_storage_release(out->storage); /* tensors of a bound borrow their storage */
    x->b->t[n->args[0].value->id] = keep;
    kernel_call_free(k);
    return s;
}

tc_status bind_view(binder *x, const tc_node *n) {
    const tc_value *in = n->args[0].value, *out = n->outs[0];
    tc_tensor t = {0};
    bool possible;
    if (!is_tensor(in)) return tc_error(TC_CONTENT, "%s: a view of something that is not a tensor", n->name);
    tc_tensor base = x->b->t[in->id];
    TC_TRY(alias(x, n, &base, &t, &possible), "%s", n->name);
    if (possible) {
        x->b->t[out->id] = t;
        x->b->root_of[out->id] = x->b->root_of[in->id];
        x->b->delta[out->id] = t.offset * (int64_t)tc_dtype_size(t.dtype);
        return NULL;
    }
    /* Else a view of a contiguous copy of the argument. The copy is in the memory of the result, which may have fewer elements (as_strided). */
    TC_TRY(bind_root(x, out, ROOT_ARENA));
    tc_tensor flat = base;
    flat.offset = 0;
    tc_contiguous_strides(flat.rank, flat.size, flat.stride);
    x->b->roots[out->id].bytes = tc_tensor_bytes(&flat);
    bind_use(x, in);
    add_copy(x, n, (int)out->id, (int)in->id);
    x->b->calls.data[x->b->calls.len - 1].copy[0] = flat; /* to: the argument's sizes, contiguous */
    x->b->calls.data[x->b->calls.len - 1].copy[1] = base;
    TC_TRY(alias(x, n, &flat, &t, &possible), "%s", n->name);
    if (!possible) return tc_error(TC_CONTENT, "%s: %s of a contiguous tensor is not a view", n->name, tc_op_name(n->op));
    x->b->t[out->id] = t;
    x->b->delta[out->id] = t.offset * (int64_t)tc_dtype_size(t.dtype);
    return NULL;
}

/* ---- loops ---- */
static bool same_strides(const tc_tensor *a, const tc_tensor *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->size[d] == b->size[d] && (a->size[d] == 1 || a->stride[d] == b->stride[d]);
    return same;
}

/* May the loop store value `out` in the memory of root old_root, which it may read too? Only if it reads each element, if at all, at the index where it
 * stores it, and not again after the store. With reductions, whose stages read again: only a single store of the elements that are reduced, which is
 * then in the last stage that reads anything. */
static bool may_overwrite(binder *x, const tc_loop *l, const tc_schedule *s, const tc_value *out, int old_root) {
    const tc_lstore *st = NULL;
    const uint64_t inner = s->n ? s->nests[0].inner : 0;
    if (s->n != 1 || s->own_loop || (inner && (l->stores.len != 1 || inner & ~l->stores.data[0].axes))) return false;
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
        if (in->gather || in->pred != TC_LV_NONE || !tc_loop_same_index(st, in) || x->b->delta[v->id]) return false;
        const tc_tensor *t = &x->b->t[v->id];
        if (!same_strides(t, &x->b->t[out->id]) || tc_dtype_size(t->dtype) != tc_dtype_size(out->meta.dtype)) return false;
    }
    return true;
}

/* Does the live range of the root end with this group? */
static bool dies_here(const binder *x, int r, const int *last, int index) { return last[r] <= index && x->b->roots[r].kind != ROOT_OUTPUT; }

/* The root of the input that value v mutates, if v can be stored there directly; -1: none. */
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

/* Stores value v, so far its own root, in the memory of root `want`. */
static void store_in(binder *x, const tc_value *v, int want, int *last) {
    x->b->roots[v->id].kind = ROOT_NONE;
    x->b->root_of[v->id] = want;
    root *r = &x->b->roots[want];
    if (r->last < now(x)) r->last = now(x);
    if (last[want] < last[v->id]) last[want] = last[v->id];
}

/* The memory of what a loop stores: the input that it mutates, an operand that dies here, or memory of its own. */
static tc_status make_results(binder *x, const tc_loop *l, const tc_schedule *sched, int index, int *last, call *c, bool *in_place) {
    uint64_t taken = 0;
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_value *v = l->buffers.data[i].value;
        c->id[i] = (int)v->id;
        bind_use(x, v);
        if (!l->buffers.data[i].written) continue;
        TC_TRY(bind_root(x, v, ROOT_ARENA));
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
        store_in(x, v, want, last);
    }
    return NULL;
}

/* The arguments of a call of compiled code. */
static tc_status bind_compiled(binder *x, const tc_loop *l, const tc_abi_group *code, const tc_block_shape *shapes, int index, call *c) {
    const tc_group_desc *d = &x->f->descs[index];
    c->code = code;
    c->buffers = tc_xcalloc(l->buffers.len + 1, sizeof *c->buffers);
    c->extents = tc_xcalloc((size_t)l->naxes + 1, sizeof *c->extents);
    c->numbers = tc_xcalloc((size_t)d->nnumbers + 1, sizeof *c->numbers);
    c->number_syms = d->numbers;
    c->nnumbers = d->nnumbers;
    for (size_t i = 0; i < l->buffers.len; i++) c->buffers[i] = (tc_abi_buffer){.size = shapes[i].size, .stride = shapes[i].stride};
    for (int a = 0; a < l->naxes; a++) TC_TRY(tc_sym_eval_int(l->axes[a].extent, x->e->vars, x->e->nvars, &c->extents[a]));
    for (int i = 0; i < d->nnumbers; i++) {
        tc_symvalue v;
        if (tc_sym_type(d->numbers[i]) != TC_SYM_INT) continue; /* may differ between runs: set by run_compiled */
        TC_TRY(tc_sym_eval(d->numbers[i], x->e->vars, x->e->nvars, &v));
        c->numbers[i].i = v.i;
    }
    c->abi = (tc_abi_call){
        .bytes = sizeof c->abi, .workers = tc_pool_threads(x->e->pool), .buffers = c->buffers, .extents = c->extents, .numbers = c->numbers};
    const int64_t scratch = code->scratch ? code->scratch(&c->abi) : 0;
    if ((size_t)scratch > x->b->kernel_scratch) x->b->kernel_scratch = (size_t)scratch;
    return NULL;
}

/* Binds the compiled code or the block that executes a loop whose buffers are bound. */
static tc_status bind_code(binder *x, const tc_loop *l, const tc_schedule *sched, int index, bool in_place, call *c) {
    if (x->e->for_c) return NULL;
    tc_block_shape *shapes = tc_xcalloc(sched->loop->buffers.len + 1, sizeof *shapes);
    for (size_t i = 0; i < l->buffers.len; i++) shapes[i] = (tc_block_shape){x->b->t[c->id[i]].size, x->b->t[c->id[i]].stride};
    const tc_block_env env = {.isa = x->e->isa,
                              .threads = tc_pool_threads(x->e->pool),
                              .vars = x->e->vars,
                              .nvars = x->e->nvars,
                              .shapes = shapes,
                              .costs = tuning_costs(x->e),
                              .tables = x->e->tables,
                              .block = tuning_block(x->e, l),
                              .in_place = in_place};
    const tc_abi_group *code = x->f->code ? x->f->code[index] : NULL;
    bool interpret = !code;
    for (size_t i = 0; code && i < l->buffers.len; i++) interpret |= !strides_fit(code->dense[i], &x->b->t[c->id[i]]);
    tc_status s = interpret ? NULL : tc_block_is_faster(sched, &env, &interpret);
    if (!s && !interpret) s = bind_compiled(x, l, code, shapes, index, c);
    else if (!s) {
        s = tc_block_bind(sched, &env, &c->block);
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

tc_status bind_loop(binder *x, const tc_group *g, int index, int *last) {
    const tc_schedule *sched = &x->f->schedules[index];
    call c = {.kind = CALL_LOOP, .group = g, .group_index = index};
    loop_buffers(g->loop, sched, &c);
    bool in_place = false;
    tc_status s = make_results(x, g->loop, sched, index, last, &c, &in_place);
    if (!s) s = bind_code(x, g->loop, sched, index, in_place, &c);
    tc_vec_push(&x->b->calls, c);
    return tc_annotate(s, "%s", g->node->name ? g->node->name : tc_op_name(g->node->op));
}

/* ---- tiles ---- */
static int tile_group(const frame *f, int index, const tc_loop *l) {
    while (index > 0 && f->plan->groups.data[index].loop != l) index--;
    return index;
}
/* An operand that has no memory. Its strides are those of a tile, whose rows are numbered through all leading dimensions; 0 where its elements repeat. */
static tc_status bind_in_tile(binder *x, const tc_loop *l, const tc_value *v) {
    const tc_lstore *st = &l->stores.data[0];
    tc_tensor *t = &x->b->t[v->id];
    *t = (tc_tensor){.dtype = v->meta.dtype, .rank = v->meta.rank};
    TC_TRY(meta_sizes(x->e, v, t->size));
    int64_t step = TC_TILE_COLUMNS;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == t->rank - 1) t->stride[d] = 1;
        else t->stride[d] = step, step *= t->size[d];
    }
    for (int d = 0, a; d < t->rank - 2 && l->buffers.data[st->buffer].value == v; d++)
        if (tc_affine_is_axis(&st->index[d], &a) && !(l->inst.data[st->value].axes >> a & 1)) t->stride[d] = 0;
    return NULL;
}
static tc_status bind_tile(binder *x, const tc_group *g, int index) {
    const tc_loop *l = g->loop;
    call c = {.kind = CALL_TILE, .group = g, .group_index = index};
    loop_buffers(l, &x->f->schedules[index], &c);
    tc_status s = NULL;
    for (size_t i = 0; i < l->buffers.len && !s; i++) {
        c.id[i] = (int)l->buffers.data[i].value->id;
        if (l->buffers.data[i].written || l->buffers.data[i].replaced) s = bind_in_tile(x, l, l->buffers.data[i].value);
        else bind_use(x, l->buffers.data[i].value);
    }
    if (!s) s = bind_code(x, l, &x->f->schedules[index], index, true, &c);
    tc_vec_push(&x->b->calls, c);
    return s;
}
tc_status bind_tiles(binder *x, const tc_group *g, int index, int *last) {
    bool stored = bind_unknown(x, g);
    for (int k = 0; k < TC_TILES && g->tiles[k]; k++) stored |= bind_unknown(x, &x->f->plan->groups.data[tile_group(x->f, index, g->tiles[k])]);
    for (int k = 0; k < TC_TILES && g->tiles[k]; k++) {
        const int at = tile_group(x->f, index, g->tiles[k]);
        const tc_group *by = &x->f->plan->groups.data[at];
        if (!stored) TC_TRY(bind_tile(x, by, at));
        else if (bind_unknown(x, by)) TC_TRY(bind_dynamic(x, by, at));
        else TC_TRY(bind_loop(x, by, at, last));
    }
    return NULL;
}
static void use_buffers(binder *x, const tc_loop *l) {
    for (size_t i = 0; i < l->buffers.len; i++) bind_use(x, l->buffers.data[i].value);
}
/* The operands of a kernel that the calls before it make in tiles: the kernel reads what those read. */
static void bind_kernel_tiles(binder *x, const tc_group *g, call *c) {
    kernel_call *k = c->kernel;
    const int end = (int)x->b->calls.len;
    for (int i = 0; i < g->node->nargs && g->tiles[0]; i++)
        for (int at = end - 1; at >= 0 && x->b->calls.data[at].kind == CALL_TILE; at--)
            if (tc_arg_value(g->node, i) &&
                x->b->calls.data[at].group->loop->buffers.data[x->b->calls.data[at].group->loop->stores.data[0].buffer].value ==
                    tc_arg_value(g->node, i)) {
                k->tiles[c->ntiles].arg = i;
                c->tiles[c->ntiles++] = at;
                use_buffers(x, x->b->calls.data[at].group->loop);
                break;
            }
    k->k.tiles = k->tiles, k->k.ntiles = c->ntiles;
}

/* ---- kernels ---- */
static int count_outs(const tc_node *n) {
    int k = 0;
    for (int i = 0; i < n->nouts; i++) k += n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1;
    return k;
}

/* Adds a call that makes a contiguous copy of an argument in the arena. The copy is a root without a value, numbered after the values. */
static void contiguous_arg(binder *x, const tc_node *n, tc_karg *a) {
    if (a->kind != TC_K_TENSOR || !a->tensor->storage || tc_tensor_is_contiguous(a->tensor)) return;
    int id = (int)(a->tensor - x->b->t), copy = (int)x->f->g->nvalues + (int)x->b->calls.len;
    tc_tensor t = x->b->t[id];
    t.storage = x->e->dummy;
    t.offset = 0;
    tc_contiguous_strides(t.rank, t.size, t.stride);
    x->b->t[copy] = t;
    x->b->root_of[copy] = copy;
    x->b->roots[copy] = (root){.kind = ROOT_ARENA, .bytes = tc_tensor_bytes(&t), .first = now(x), .last = now(x)};
    root *r = &x->b->roots[x->b->root_of[id]];
    if (r->last < now(x)) r->last = now(x);
    add_copy(x, n, copy, id);
    a->tensor = &x->b->t[copy];
}

/* Is the argument state that runs do not change? */
static bool is_constant(const binder *x, const tc_karg *a) {
    if (a->kind != TC_K_TENSOR) return false;
    const int r = x->b->root_of[a->tensor - x->b->t];
    return r >= 0 && x->b->roots[r].kind == ROOT_INPUT && packed_argument(x->e, x->f->g->inputs[x->b->roots[r].index]);
}
void bind_packed(binder *x, const tc_node *n, kernel_call *k) {
    const tc_kernel *kn = n->op->kernel;
    if (!kn->pack_bytes || !x->e->o.keep_packed || x->f != x->e->main) return;
    k->pack_bytes = kn->pack_bytes(&k->k, &k->pack_arg);
    for (int i = 0; i <= kn->pack_more && k->pack_bytes; i++)
        if (!is_constant(x, &k->args[k->pack_arg + i])) k->pack_bytes = 0;
    k->may_pack = k->pack_bytes > 0;
}
void bind_packed_choice(const binder *x, const tc_node *n, kernel_call *k) {
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

/* Result 0 of a kernel that can work in place on argument 0 (TC_KF_INPLACE0) is stored in the input that it mutates, or in argument 0 if that dies
 * here; no other argument may be there. If result and argument 0 are different tensors, the kernel copies the argument first. */
static void kernel_in_place(binder *x, const tc_node *n, int index, int *last) {
    const tc_value *out = n->outs[0], *self = n->args[0].value;
    int own_root = x->b->root_of[self->id], want = -1;
    size_t bytes = x->b->roots[out->id].bytes;
    for (int o = x->mutation[out->id]; o >= 0 && want < 0; o = x->next_mutation[o]) {
        if (x->b->in_place[o]) continue;
        int r = x->b->root_of[x->f->g->inputs[x->f->target[o]]->id];
        root_uses u = {x, r, 0};
        tc_node_each_input(n, count_place, &u);
        if (dies_here(x, r, last, index) && x->b->roots[r].bytes == bytes && u.count == (r == own_root)) want = r, x->b->in_place[o] = true;
    }
    if (want < 0 && last[out->id] != INT32_MAX && x->b->roots[own_root].kind == ROOT_ARENA && x->b->roots[own_root].bytes == bytes) {
        root_uses u = {x, own_root, 0};
        tc_node_each_input(n, count_place, &u);
        if (dies_here(x, own_root, last, index) && u.count == 1) want = own_root;
    }
    if (want < 0) return;
    x->b->roots[out->id].kind = ROOT_NONE;
    x->b->root_of[out->id] = want;
    if (x->b->roots[want].last < now(x)) x->b->roots[want].last = now(x);
    if (last[want] < last[out->id]) last[want] = last[out->id];
}

static int uses_of_root(binder *x, const tc_node *n, int id) {
    root_uses u = {x, id, 0};
    tc_node_each_input(n, count_place, &u);
    return u.count;
}

/* Stores the result of the group's kernel, and so the group's views of it, in the memory of v, which is its own root. */
static void store_result_in(binder *x, const tc_group *g, const tc_value *v) {
    int result = (int)g->node->outs[0]->id;
    x->b->root_of[result] = (int)v->id;
    for (int i = 0; i < g->nviews; i++)
        if (x->b->root_of[g->views[i]->outs[0]->id] == result) x->b->root_of[g->views[i]->outs[0]->id] = (int)v->id;
    x->b->roots[result].kind = ROOT_NONE;
}

/* The schedule of an epilogue that runs as a loop after the kernel, not on regions. */
static const tc_schedule *whole_schedule(binder *x, const tc_schedule *s) {
    tc_schedule *out = tc_arena_dup(&x->f->arena, s, sizeof *s);
    out->loop = tc_arena_dup(&x->f->arena, s->loop, sizeof *s->loop);
    out->loop->region = false;
    out->loop->columns = 0;
    return out;
}

/* The epilogue of a kernel. It must not overwrite what the kernel reads, because it runs on the first region before the kernel has computed the last.
 * So its results are stored in an input that it mutates and the kernel does not read, in the memory of the kernel's result, or in their own. */
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
        bind_use(x, v);
        if (!l->buffers.data[i].written) continue;
        TC_TRY(bind_root(x, v, ROOT_ARENA));
        int want = mutated_root(x, l, sched, v, index, last);
        if (want >= 0 && uses_of_root(x, g->node, want)) {
            for (int o = x->mutation[v->id]; o >= 0; o = x->next_mutation[o]) x->b->in_place[o] = false;
        } else if (want >= 0) {
            in_place = true;
            store_in(x, v, want, last);
        } else if (result == (int)g->node->outs[0]->id && x->b->roots[result].kind == ROOT_ARENA && dies_here(x, result, last, index) &&
                   x->b->roots[result].bytes == x->b->roots[v->id].bytes && may_overwrite(x, l, sched, v, result)) {
            in_place = true;
            store_result_in(x, g, v);
        }
    }
    const bool positions = g->node->op->kernel->row_dims == TC_ROWS_POSITIONS;
    c->apart = positions && !tc_tensor_is_channels_last(&x->b->t[g->node->outs[0]->id]);
    return bind_code(x, l, c->apart ? whole_schedule(x, sched) : sched, index, in_place, c);
}

tc_status bind_kernel(binder *x, const tc_group *g, int index, int *last) {
    const tc_node *n = g->node;
    const tc_kernel *kn = n->op->kernel;
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_node_each_input(n, bind_use_place, x);
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
    tc_node_each_input(n, bind_use_place, x);
    for (int i = 0; i < n->nargs; i++) /* contiguous copies of arguments live until this call */
        if (k->args[i].kind == TC_K_TENSOR && k->args[i].tensor >= x->b->t + x->f->g->nvalues) x->b->roots[k->args[i].tensor - x->b->t].last = now(x);
    for (int i = 0, at = 0; i < n->nouts && !s; i++) {
        const tc_value *v = n->outs[i];
        int m = v->kind == TC_V_LIST ? v->nlist : 1;
        for (int j = 0; j < m && !s; j++, at++) {
            const tc_value *o = v->kind == TC_V_LIST ? v->list[j] : v;
            k->out_id[at] = -1;
            if (!is_tensor(o) || (at && kn->flags & TC_KF_SPARE_RESULTS && last[o->id] < 0)) continue;
            s = bind_root(x, o, ROOT_ARENA);
            if (!s && !at && kn->flags & TC_KF_INPLACE0) kernel_in_place(x, n, index, last);
            k->out_id[at] = (int)o->id;
            k->outs[at] = x->b->t[o->id];
        }
    }
    k->k.pool = x->e->pool;
    k->k.isa = x->e->isa;
    k->k.comm = x->e->o.comm;
    k->k.numerics = x->e->o.numerics;
    bind_kernel_tiles(x, g, &c);
    if (!s) tuning_kernel(x->e, n, k), bind_packed(x, n, k), bind_packed_choice(x, n, k);
    if (!s && g->epilogue) s = bind_epilogue(x, g, index, last, &c);
    if (!s && kn->scratch) {
        size_t bytes = kn->scratch(&k->k, tc_pool_threads(x->e->pool));
        if (bytes > x->b->kernel_scratch) x->b->kernel_scratch = bytes;
    }
    tc_vec_push(&x->b->calls, c);
    return tc_annotate(s, "%s", n->name ? n->name : tc_op_name(n->op));
}

/* The results of control flow when C is written: the arena, as the subgraphs are functions of the same unit, which write there. */
static tc_status control_results(binder *x, const tc_node *n) {
    for (int i = 0; i < n->nouts; i++)
        if (is_tensor(n->outs[i])) TC_TRY(bind_root(x, n->outs[i], ROOT_ARENA), "%s", n->name);
    return NULL;
}

tc_status bind_control(binder *x, const tc_group *g, int index) {
    bool item = !(g->node->op->flags & TC_OP_HIGHER_ORDER);
    if (!item && !x->e->for_c) return bind_dynamic(x, g, index); /* subgraphs allocate their results */
    tc_node_each_input(g->node, bind_use_place, x);
    if (!item) TC_TRY(control_results(x, g->node));
    call c = {.kind = item ? CALL_ITEM : CALL_CONTROL, .group = g, .group_index = index};
    tc_vec_push(&x->b->calls, c);
    return NULL;
}
