/* Runs a bound frame: sets the storages of inputs and results, then executes the calls in order. */
#include "base/ints.h"
#include "base/rng.h"
#include "pass/arena.h"
#include "runtime/slices.h"
#include "sym/bounds.h"

#include <time.h>

void bound_plan_memory(bound *b, size_t nvalues) {
    tc_lifetime *items = tc_xcalloc(nvalues + 1, sizeof *items);
    size_t *of = tc_xcalloc(nvalues + 1, sizeof *of), n = 0;
    b->naive_bytes = 0;
    for (size_t i = 0; i < nvalues; i++) {
        if (b->root_of[i] != (int)i || b->roots[i].kind != ROOT_ARENA || !b->roots[i].bytes) continue;
        of[n] = i;
        items[n++] = (tc_lifetime){.bytes = b->roots[i].bytes, .first = b->roots[i].first, .last = b->roots[i].last};
        b->naive_bytes += tc_pad64(b->roots[i].bytes);
    }
    b->arena_bytes = tc_arena_plan(items, n);
    b->live_bytes = tc_arena_live(items, n);
    for (size_t k = 0; k < n; k++) b->roots[of[k]].offset = items[k].offset;
    free(items);
    free(of);
}

static tc_status exec_scratch(tc_exec *e, size_t bytes, void **out) {
    if (bytes > e->scratch_bytes) {
        free(e->scratch);
        e->scratch_bytes = 0;
        e->scratch = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
        if (!e->scratch) return tc_error(TC_ENV, "no memory: %zu bytes of scratch", bytes);
        e->scratch_bytes = (bytes + 4095) & ~(size_t)4095;
    }
    *out = e->scratch;
    return NULL;
}

static tc_status fault_status(tc_exec *e, const tc_loop *l, const tc_abi_fault *fault) {
    if (!fault->set) return NULL;
    const char *name = "?";
    if (fault->inst >= 0 && (size_t)fault->inst < l->inst.len) e->fault_at = l->inst.data[fault->inst].node;
    if (fault->dim < 0) { /* from code compiled with --sanitize */
        const tc_linst *in = &l->inst.data[fault->inst];
        return tc_error(TC_CONTENT, "integer overflow in %s of %s", in->kind == TC_L_SCALAR ? tc_scalar_ops[in->op].name : tc_reduce_names[in->op],
                        tc_dtypes[in->dtype].name);
    }
    if (fault->inst >= 0 && (size_t)fault->inst < l->inst.len && l->inst.data[fault->inst].buffer >= 0) {
        const tc_value *v = l->buffers.data[l->inst.data[fault->inst].buffer].value;
        if (v && v->name) name = v->name;
    }
    return tc_error(TC_CONTENT, "IndexError: index %lld is out of bounds for dimension %d of %s with size %lld", (long long)fault->index, fault->dim,
                    name, (long long)fault->size);
}

tc_status run_loop_block(tc_exec *e, tc_block *b, void *const *data, const tc_loop *l) {
    size_t workers = (size_t)tc_pool_threads(e->pool), each = tc_block_scratch(b);
    void *scratch;
    tc_abi_fault fault = {0};
    TC_TRY(exec_scratch(e, workers * each + tc_block_temps(b), &scratch));
    const tc_block_args args = {data, e->vars, e->nvars, scratch, &fault};
    TC_TRY(tc_block_run(b, &args, (char *)scratch + workers * each, e->pool));
    return fault_status(e, l, &fault);
}

static void parallel(void *pool, int64_t count, int64_t grain, tc_abi_range_fn fn, void *ctx) { tc_parallel_for(pool, count, grain, fn, ctx); }

static tc_status run_compiled(tc_exec *e, call *c) {
    tc_abi_fault fault = {0};
    for (int i = 0; i < c->nid; i++) c->buffers[i].data = c->data[i];
    for (int i = 0; i < c->nnumbers; i++) {
        tc_symtype type = tc_sym_type(c->number_syms[i]);
        if (type == TC_SYM_INT) continue;
        tc_symvalue v;
        TC_TRY(tc_sym_eval(c->number_syms[i], e->vars, e->nvars, &v));
        if (type == TC_SYM_FLOAT) c->numbers[i].f = v.f;
        else c->numbers[i].i = v.i;
    }
    int64_t scratch = c->code->scratch ? c->code->scratch(&c->abi) : 0;
    TC_TRY(exec_scratch(e, (size_t)scratch, &c->abi.scratch));
    c->abi.parallel_for = tc_pool_threads(e->pool) > 1 ? parallel : NULL;
    c->abi.pool = e->pool;
    c->abi.fault = &fault;
    c->code->run(&c->abi);
    return fault_status(e, c->group->loop, &fault);
}

static tc_status alloc_out(tc_kcall *k, int out, tc_dtype dtype, int rank, const int64_t *size) {
    tc_tensor_deinit(&k->outs[out]);
    return tc_tensor_empty(dtype, rank, size, &k->outs[out]);
}

static void kernel_setup(tc_exec *e, kernel_call *k, const tc_kernel *kernel) {
    k->k.kernel = kernel;
    k->k.scratch = NULL;
    k->k.pool = e->pool;
    k->k.isa = e->isa;
    k->k.comm = e->o.comm;
    k->k.numerics = e->o.numerics;
    k->k.gen = e->gen;
    k->k.alloc = alloc_out;
}

static void loop_addresses(const bound *b, call *c) {
    for (int i = 0; i < c->nid; i++) c->data[i] = b->t[c->id[i]].storage ? tc_tensor_data(&b->t[c->id[i]]) : NULL;
}

static size_t tiles_scratch(const bound *b, const call *c, int workers) {
    size_t bytes = 0;
    for (int i = 0; i < c->ntiles; i++) bytes += tc_block_tiles_scratch(b->calls.data[c->tiles[i]].block, workers);
    return bytes;
}

size_t call_scratch(tc_exec *e, const bound *b, const call *c) {
    size_t workers = (size_t)tc_pool_threads(e->pool);
    if (c->kind == CALL_LOOP && c->code) return c->code->scratch ? (size_t)c->code->scratch(&c->abi) : 0;
    if (c->kind == CALL_LOOP) return workers * tc_block_scratch(c->block) + tc_block_temps(c->block);
    if (c->kind != CALL_KERNEL) return 0;
    size_t more = tiles_scratch(b, c, (int)workers) + (c->block && !c->apart ? tc_block_region_scratch(c->block, (int)workers) : 0), own = 0;
    size_t loop = c->apart ? workers * tc_block_scratch(c->block) + tc_block_temps(c->block) : 0;
    kernel_setup(e, c->kernel, c->group->node->op->kernel);
    if (c->group->node->op->kernel->scratch) own = tc_pad64(c->group->node->op->kernel->scratch(&c->kernel->k, (int)workers));
    return own + more > loop ? own + more : loop;
}

/* Cached, because it depends on sizes and strides, which are bound; unless there are numbers, which differ between runs. */
static size_t kernel_scratch(kernel_call *k, const tc_kernel *kn, int workers) {
    const int of = k->k.packed ? SCRATCH_PACKED : SCRATCH_PLAIN;
    if (!kn->scratch) return 0;
    if ((int)k->scratch_of != of || k->nlate) k->scratch = tc_pad64(kn->scratch(&k->k, workers)), k->scratch_of = of;
    return k->scratch;
}

/* Prepares the loops that make operands in tiles; scratch: tiles_scratch bytes. */
static tc_status start_tiles(frame *f, call *c, char *scratch, int workers, tc_abi_fault *faults) {
    for (int i = 0; i < c->ntiles; i++) {
        call *t = &f->b->calls.data[c->tiles[i]];
        loop_addresses(f->b, t);
        const tc_block_args args = {t->data, f->e->vars, f->e->nvars, scratch, &faults[i]};
        TC_TRY(tc_block_tiles(t->block, &args, workers, &c->kernel->tiles[i]));
        scratch += tc_block_tiles_scratch(t->block, workers);
    }
    return NULL;
}

tc_status run_kernel(frame *f, kernel_call *k, const tc_node *n, call *c) {
    tc_exec *e = f->e;
    const tc_kernel *kn = n->op->kernel;
    for (int i = 0; i < k->nlate; i++) {
        tc_symvalue v;
        TC_TRY(tc_sym_eval(k->late[i].number, e->vars, e->nvars, &v));
        k->late[i].arg->num = tc_sym_type(k->late[i].number) == TC_SYM_FLOAT ? tc_scalar_float(v.f) : tc_scalar_bool(v.i);
    }
    kernel_setup(e, k, kn);
    k->k.packed = NULL;
    if (k->pack_bytes) TC_TRY(packed_data(e, k, n, &k->k.packed));
    if (n->op->flags & TC_OP_RANDOM && !e->gen) return tc_error(TC_USAGE, "%s draws random numbers and no generator was given", tc_op_name(n->op));
    const int workers = tc_pool_threads(e->pool);
    const size_t bytes = kernel_scratch(k, kn, workers), tiles = c ? tiles_scratch(f->b, c, workers) : 0;
    const size_t more = c && c->block && !c->apart ? tc_block_region_scratch(c->block, workers) : 0;
    if (bytes + tiles + more) TC_TRY(exec_scratch(e, bytes + tiles + more, &k->k.scratch));
    tc_abi_fault fault = {0}, faults[TC_TILES] = {{0}};
    tc_epilogue regions = {0};
    char *const behind = (char *)k->k.scratch + bytes;
    if (tiles) TC_TRY(start_tiles(f, c, behind, workers, faults));
    if (more) {
        const tc_block_args args = {c->data, e->vars, e->nvars, behind + tiles, &fault};
        TC_TRY(tc_block_regions(c->block, &args, tc_tensor_data(&k->k.outs[0]), workers, &regions));
    }
    k->k.epilogue = regions.fn ? &regions : NULL;
    TC_TRY(kn->run(&k->k));
    for (int i = 0; c && i < c->ntiles; i++) TC_TRY(fault_status(e, c->group->tiles[i], &faults[i]));
    if (more) return fault_status(e, c->group->epilogue, &fault);
    return c && c->apart ? run_loop_block(e, c->block, c->data, c->group->epilogue) : NULL;
}

static tc_status run_assert(frame *f, const tc_node *n) {
    const tc_arg *a = &n->args[0];
    tc_sym s = a->kind == TC_A_VALUE ? a->value->sym : a->kind == TC_A_INT || a->is_sym ? a->sym : NULL;
    tc_symvalue v = {.i = s ? 0 : tc_scalar_to_int(a->scalar)};
    if (s && f->e->o.skip_values && no_size(s)) return NULL;
    if (s) TC_TRY(tc_sym_eval(s, f->e->vars, f->e->nvars, &v));
    if (s && tc_sym_type(s) == TC_SYM_FLOAT ? v.f != 0 : v.i != 0) return NULL;
    const char *text = n->nargs > 1 && n->args[1].kind == TC_A_STRING && n->args[1].string ? n->args[1].string : "an assertion does not hold";
    return tc_error(TC_CONTENT, "%s", text);
}

/* item(): the element of a tensor becomes the value of a symbol. */
static tc_status run_item(frame *f, const tc_node *n) {
    if (!n->nouts) return run_assert(f, n);
    const tc_value *in = n->args[0].value, *out = n->outs[0];
    const tc_tensor *t = &f->b->t[in->id];
    if (tc_tensor_numel(t) != 1) return tc_error(TC_CONTENT, "a number was asked of a tensor with %lld elements", (long long)tc_tensor_numel(t));
    if (!out->sym) return NULL;
    tc_scalar v = tc_scalar_load(t->dtype, tc_tensor_data(t), 0);
    if (tc_sym_opcode(out->sym) != TC_S_VAR) { /* the program expects the value of an expression */
        tc_symvalue known;
        tc_status none = tc_sym_eval(out->sym, f->e->vars, f->e->nvars, &known);
        bool same = none || (tc_sym_type(out->sym) == TC_SYM_FLOAT ? known.f == tc_scalar_to_double(v) : known.i == tc_scalar_to_int(v));
        tc_status_free(none);
        return same ? NULL : tc_error(TC_CONTENT, "%s is not the number that the program expects there", out->name);
    }
    tc_symvalue *to = &f->e->vars[tc_sym_var_index(out->sym)];
    to->bound = true;
    if (tc_sym_type(out->sym) == TC_SYM_FLOAT) {
        to->f = tc_scalar_to_double(v);
        return check_guards_about(f->e, out->sym);
    }
    to->i = tc_scalar_to_int(v);
    int64_t lo, hi;
    tc_sym_range(f->e->program->sym, out->sym, &lo, &hi);
    if (to->i < lo || to->i > hi)
        return tc_error(TC_CONTENT, "%lld is too %s: the program needs %s", (long long)to->i, to->i < lo ? "small" : "large",
                        tc_sym_bounds_of(lo, hi).text);
    return check_guards_about(f->e, out->sym);
}

static tc_status run_call(frame *f, call *c) {
    tc_exec *e = f->e;
    bound *b = f->b;
    switch (c->kind) {
    case CALL_LOOP: loop_addresses(b, c); return c->code ? run_compiled(e, c) : run_loop_block(e, c->block, c->data, c->group->loop);
    case CALL_KERNEL:
        for (int i = 0; i < c->kernel->k.nouts; i++)
            if (c->kernel->out_id[i] >= 0) {
                c->kernel->outs[i].storage = b->t[c->kernel->out_id[i]].storage;
                c->kernel->outs[i].offset = b->t[c->kernel->out_id[i]].offset;
            }
        loop_addresses(b, c);
        return run_kernel(f, c->kernel, c->group->node, c);
    case CALL_COPY: {
        const tc_tensor *to = &b->t[c->id[0]], *from = &b->t[c->id[1]];
        if (c->copy[0].storage) { /* bind_view: the argument's sizes, in the result's memory */
            c->copy[0].storage = to->storage;
            const int64_t at = to->offset * (int64_t)tc_dtype_size(to->dtype) - b->delta[c->id[0]]; /* in bytes: the result may be of another type */
            c->copy[0].offset = at / (int64_t)tc_dtype_size(c->copy[0].dtype);
            to = &c->copy[0];
        }
        copy_tensor(e->isa, e->pool, to, from);
        return NULL;
    }
    case CALL_ITEM: return run_item(f, c->group->node);
    case CALL_DYNAMIC: return run_dynamic(f, c->group, c->group_index);
    case CALL_TILE:
    case CALL_CONTROL: break;
    }
    return NULL;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static tc_status run_timed(frame *f, call *c) {
    const uint64_t start = now_ns();
    tc_status s = run_call(f, c);
    if (!s) tuning_report(f, c, now_ns() - start);
    return s;
}

typedef TC_VEC(const tc_value *) values_vec;
typedef TC_VEC(const tc_tensor *) tensors_vec;

/* ---- reports to tc_exec_profile ---- */
/* The tensors that a group wrote: what its loop stores, and the node's results unless its epilogue overwrites them. */
static void collect_value(frame *f, const tc_value *v, values_vec *values, tensors_vec *tensors) {
    if (!v || v->kind != TC_V_TENSOR || v->graph != f->g || f->b->root_of[v->id] < 0 || !f->b->t[v->id].storage) return;
    tc_vec_push(values, v);
    tc_vec_push(tensors, &f->b->t[v->id]);
}
static void collect_results(frame *f, const tc_group *g, values_vec *values, tensors_vec *tensors) {
    const tc_loop *l = !g ? NULL : g->loop ? g->loop : g->epilogue;
    for (size_t i = 0; l && i < l->buffers.len; i++)
        if (l->buffers.data[i].written) collect_value(f, l->buffers.data[i].value, values, tensors);
    for (int i = 0; g && !g->loop && i < g->node->nouts; i++) {
        const tc_value *v = g->node->outs[i];
        if (!g->epilogue || f->b->root_of[v->id] == (int)v->id) collect_value(f, v, values, tensors);
    }
}

/* With no_fuse, every node is reported, also views, which no call makes: a view is reported together with the first group after which its base holds
 * its final content. frame.reported: */
enum { UNREPORTED, REPORTED, PENDING /* the result of a call to come */ };

static void mark(frame *f, const tc_group *g, unsigned char how) {
    const tc_loop *l = g->loop ? g->loop : g->epilogue;
    for (int i = 0; i < g->node->nouts; i++)
        if (g->node->outs[i]) f->reported[g->node->outs[i]->id] = how;
    for (int k = 0; l && k < l->nnodes; k++)
        for (int i = 0; i < l->nodes[k]->nouts; i++)
            if (l->nodes[k]->outs[i] && l->nodes[k]->outs[i]->graph == f->g) f->reported[l->nodes[k]->outs[i]->id] = how;
}

static void begin_reports(frame *f) {
    f->reported = f->e->profile && f->e->o.no_fuse ? tc_xcalloc(f->g->nvalues + 1, 1) : NULL;
    if (!f->reported) return;
    for (int i = 0; i < f->g->ninputs; i++)
        if (f->g->inputs[i]) f->reported[f->g->inputs[i]->id] = REPORTED;
    for (size_t i = 0; i < f->b->calls.len; i++)
        if (f->b->calls.data[i].group) mark(f, f->b->calls.data[i].group, PENDING);
}

static bool is_reported(const frame *f, const tc_value *v) {
    return !v || v->kind != TC_V_TENSOR || v->graph != f->g || f->reported[v->id] == REPORTED;
}

static void collect_views(frame *f, values_vec *values, tensors_vec *tensors) {
    for (const tc_node *n = f->reported ? f->g->first : NULL; n; n = n->next) {
        bool ready = n->nouts > 0 && n->outs[0] && f->reported[n->outs[0]->id] == UNREPORTED;
        for (int k = 0; k < n->nargs && ready; k++) {
            const tc_arg *a = &n->args[k];
            if (a->kind == TC_A_VALUE) ready = is_reported(f, a->value);
            for (int i = 0; a->kind == TC_A_VALUES && i < a->n && ready; i++) ready = is_reported(f, a->values[i]);
        }
        for (int i = 0; i < n->nouts && ready; i++) {
            if (!n->outs[i]) continue;
            collect_value(f, n->outs[i], values, tensors);
            f->reported[n->outs[i]->id] = REPORTED;
        }
    }
}

/* Reports a call that took `whole` ns, `inner` of them in subgraphs. */
static tc_status report_call(frame *f, call *c, uint64_t start, uint64_t whole, uint64_t inner) {
    tc_exec *e = f->e;
    const tc_node *const *nodes = c->group ? &c->group->node : NULL;
    int n = c->group ? 1 : 0;
    const tc_loop *l = !c->group ? NULL : c->group->loop ? c->group->loop : c->group->epilogue;
    if (l) nodes = (const tc_node *const *)l->nodes, n = l->nnodes;
    values_vec values = {0};
    tensors_vec tensors = {0};
    collect_views(f, &values, &tensors);
    collect_results(f, c->group, &values, &tensors);
    if (f->reported && c->group) mark(f, c->group, REPORTED), collect_views(f, &values, &tensors);
    const call_cost cost = cost_of(f, c);
    tc_status s = e->profile(e->profile_ctx, &(tc_exec_event){.name = n ? tc_op_name(nodes[n - 1]->op) : "copy",
                                                              .nodes = nodes,
                                                              .nnodes = n,
                                                              .copy_for = c->copy_for,
                                                              .start = start,
                                                              .ns = inner < whole ? whole - inner : 0,
                                                              .whole = whole,
                                                              .compiled = c->code != NULL,
                                                              .bytes = cost.bytes,
                                                              .flops = cost.flops,
                                                              .values = values.data,
                                                              .tensors = tensors.data,
                                                              .nvalues = (int)values.len});
    tc_vec_free(&values);
    tc_vec_free(&tensors);
    return s;
}

/* Reports the views that follow the last call. */
static tc_status end_reports(frame *f, tc_status s) {
    values_vec values = {0};
    tensors_vec tensors = {0};
    tc_exec *e = f->e;
    if (!s) collect_views(f, &values, &tensors);
    if (values.len)
        s = e->profile(
            e->profile_ctx,
            &(tc_exec_event){.name = "view", .start = now_ns(), .values = values.data, .tensors = tensors.data, .nvalues = (int)values.len});
    tc_vec_free(&values);
    tc_vec_free(&tensors);
    free(f->reported);
    f->reported = NULL;
    return s;
}

/* Adds the place in the model: of the node that failed, in a fused loop too. */
static tc_status place_error(tc_exec *e, tc_status s, const call *c) {
    if (!s) return NULL;
    const tc_node *n = e->fault_at;
    e->fault_at = NULL;
    if (!c->group) return s;
    if (!n) n = c->group->node;
    s = tc_annotate(s, "%s", n->name ? n->name : tc_op_name(n->op));
    if (n->source.calls) s = tc_annotate(s, "%s", tc_source_module(&n->source));
    if (n->source.file) s = tc_annotate(s, "%s:%d", n->source.file, n->source.line);
    return s;
}

static tc_status run_profiled(frame *f, call *c) {
    tc_exec *e = f->e;
    bound *b = f->b;
    const uint64_t start = now_ns(), before = e->profiled;
    tc_status s = run_call(f, c);
    f->b = b; /* a subgraph of another frame may have run */
    if (s) return place_error(e, s, c);
    const uint64_t whole = now_ns() - start, inner = e->profiled - before;
    e->profiled = before + whole;
    return report_call(f, c, start, whole, inner);
}

static tc_status run_one(frame *f, call *c) {
    if (f->e->profile) return run_profiled(f, c); /* what looks at the results says itself where they are from */
    return place_error(f->e, f->e->timed ? run_timed(f, c) : run_call(f, c), c);
}

/* The times of a call are added up over the slices. Calls are reported at the end, when their tensors show all entries, as if they had been executed
 * one after the other. */
static tc_status run_slices(frame *f, slices *s) {
    const bool timed = f->e->profile || f->e->timed;
    call *c = f->b->calls.data + s->first;
    uint64_t start = timed ? now_ns() : 0, before = start, now;
    tc_status st = NULL;
    memset(s->ns, 0, (size_t)s->ncalls * sizeof *s->ns);
    slices_begin(f->b, s);
    for (int64_t at = 0; at < s->n && !st;) {
        at += slices_select(f->b, s, at);
        for (int i = 0; i < s->ncalls && !st; i++) {
            if ((st = run_call(f, c + i))) st = place_error(f->e, st, c + i);
            if (timed) now = now_ns(), s->ns[i] += now - before, before = now;
        }
    }
    slices_end(f->b, s);
    for (int i = 0; i < s->ncalls && timed && !st; i++) {
        if (f->e->profile) f->e->profiled += s->ns[i], st = report_call(f, c + i, start, s->ns[i], 0);
        else tuning_report(f, c + i, s->ns[i]);
        start += s->ns[i];
    }
    return st;
}

static bool same_key(const frame *f, const bound *b) {
    const tc_exec *e = f->e;
    if (b->watched != (e->profile != NULL)) return false;
    for (size_t i = 0; i < e->nvars; i++)
        if (b->key[i] != (e->vars[i].bound && tc_sym_type(tc_sym_var_at(e->program->sym, i)) != TC_SYM_FLOAT ? e->vars[i].i : INT64_MIN))
            return false;
    return true;
}

static tc_status find_bound(frame *f) {
    tc_exec *e = f->e;
    bound *old = NULL;
    for (size_t i = 0; i < f->cache.len; i++) {
        bound *b = f->cache.data[i];
        if (same_key(f, b)) {
            if (f == e->main && e->guards_number) TC_TRY(check_guards(e));
            b->stamp = ++e->clock;
            f->b = b;
            return NULL;
        }
        if (!old || b->stamp < old->stamp) old = b;
    }
    if (f == e->main) TC_TRY(check_guards(e));
    bound *b;
    TC_TRY(frame_bind(f, &b));
    b->watched = f->e->profile != NULL;
    b->key = tc_xcalloc(e->nvars + 1, sizeof *b->key);
    for (size_t i = 0; i < e->nvars; i++)
        b->key[i] = e->vars[i].bound && tc_sym_type(tc_sym_var_at(e->program->sym, i)) != TC_SYM_FLOAT ? e->vars[i].i : INT64_MIN;
    b->stamp = ++e->clock;
    if (f->cache.len < MAX_BOUND) tc_vec_push(&f->cache, b);
    else
        for (size_t i = 0; i < f->cache.len; i++)
            if (f->cache.data[i] == old) {
                if (f->kept == old) f->kept = NULL;
                bound_destroy(old);
                f->cache.data[i] = b;
            }
    f->b = b;
    return NULL;
}

/* Sets the storage of every tensor that is not in the arena: inputs, results (allocated if the caller gave none), and views of them. */
static tc_status set_storages(frame *f, const tc_tensor *in, tc_tensor *out) {
    bound *b = f->b;
    for (size_t i = 0; i < b->moved.len; i++) {
        int id = b->moved.data[i], r = b->root_of[id];
        tc_tensor *t = &b->t[id];
        const root *ro = &b->roots[r];
        if (id != r) {
            int64_t bytes = b->t[r].offset * (int64_t)tc_dtype_size(b->t[r].dtype) + b->delta[id];
            t->storage = b->t[r].storage;
            t->offset = bytes / (int64_t)tc_dtype_size(t->dtype);
        } else if (ro->kind == ROOT_INPUT) {
            t->storage = in[ro->index].storage;
            t->offset = in[ro->index].offset;
        } else {
            tc_tensor *o = &out[ro->index];
            const tc_tensor *like = &b->t[f->g->outputs[ro->index]->id];
            if (!o->storage) TC_TRY(recycler_tensor(f->e->memory, like->dtype, like->rank, like->size, o));
            t->storage = o->storage;
            t->offset = o->offset;
        }
    }
    return NULL;
}

static tc_status check_given_output(const tc_value *v, const tc_tensor *t, const tc_tensor *o) {
    bool same = o->dtype == t->dtype && o->rank == t->rank;
    for (int d = 0; same && d < t->rank; d++) same = o->size[d] == t->size[d];
    return same ? NULL : tc_error(TC_USAGE, "%s: the tensor given for it has another type or size", v->name ? v->name : "output");
}

static tc_status copy_out(frame *f, tc_tensor *out) {
    bound *b = f->b;
    for (size_t i = 0; i < b->end_copies.len; i++) {
        int o = b->end_copies.data[i];
        if (f->target[o] >= 0) continue;
        const tc_tensor *t = &b->t[f->g->outputs[o]->id];
        if (out[o].storage) TC_TRY(check_given_output(f->g->outputs[o], t, &out[o]));
        else TC_TRY(recycler_tensor(f->e->memory, t->dtype, t->rank, t->size, &out[o]));
        copy_tensor(f->e->isa, f->e->pool, &out[o], t);
    }
    return NULL;
}

/* Mutations that could not be computed in place. A value that is (a view of) an input is cloned first, because another copy may overwrite the input. */
static tc_status copy_mutations(frame *f, const tc_tensor *in) {
    bound *b = f->b;
    tc_tensor *clones = b->clones;
    tc_status s = NULL;
    for (size_t i = 0; i < b->end_copies.len && !s; i++) {
        int o = b->end_copies.data[i];
        const tc_value *v = f->g->outputs[o];
        if (f->target[o] >= 0 && b->roots[b->root_of[v->id]].kind == ROOT_INPUT) s = tc_tensor_clone(&b->t[v->id], &clones[i]);
    }
    for (size_t i = 0; i < b->end_copies.len && !s; i++) {
        int o = b->end_copies.data[i];
        if (f->target[o] < 0) continue;
        const tc_tensor *t = clones[i].storage ? &clones[i] : &b->t[f->g->outputs[o]->id];
        s = check_given_output(f->g->outputs[o], t, &in[f->target[o]]);
        if (!s) copy_tensor(f->e->isa, f->e->pool, &in[f->target[o]], t);
    }
    for (size_t i = 0; i < b->end_copies.len; i++) tc_tensor_deinit(&clones[i]);
    return s;
}

static void drop_dynamic(frame *f) {
    bound *b = f->b;
    for (size_t i = 0; i < f->g->nvalues; i++)
        if (b->root_of[i] == (int)i && b->roots[i].kind == ROOT_DYNAMIC) tc_tensor_deinit(&b->t[i]);
}

tc_status frame_run(frame *f, const tc_tensor *in, tc_tensor *out) {
    TC_TRY(find_bound(f));
    bound *b = f->b;
    for (int o = 0; o < f->g->noutputs; o++) /* results that are written directly into the caller's memory */
        if (out[o].storage && f->g->outputs[o] && f->g->outputs[o]->kind == TC_V_TENSOR &&
            b->roots[b->root_of[f->g->outputs[o]->id]].kind == ROOT_OUTPUT && b->roots[b->root_of[f->g->outputs[o]->id]].index == o) {
            TC_TRY(check_given_output(f->g->outputs[o], &b->t[f->g->outputs[o]->id], &out[o]));
            if (!tc_tensor_is_contiguous(&out[o])) return tc_error(TC_USAGE, "%s: the tensor given for it is not contiguous", f->g->outputs[o]->name);
        }
    TC_TRY(set_storages(f, in, out));
    tc_status s = NULL;
    const bool kept = f->kept == b && f->kept_version == f->e->version;
    f->kept = NULL; /* until all calls have succeeded */
    begin_reports(f);
    for (size_t i = 0, chain = 0; i < b->calls.len && !s; i++) {
        slices *together = chain < b->slices.len ? &b->slices.data[chain] : NULL;
        call *c = &b->calls.data[i];
        if (together && together->first == (int)i) {
            s = run_slices(f, together);
            i += (size_t)together->ncalls - 1, chain++;
        } else if (!kept || !c->keeps) s = run_one(f, c);
        f->b = b; /* a subgraph of another frame may have run */
    }
    s = end_reports(f, s);
    if (!s) f->kept = b, f->kept_version = f->e->version;
    if (!s) s = copy_out(f, out);
    if (!s) s = copy_mutations(f, in);
    drop_dynamic(f);
    return s;
}
