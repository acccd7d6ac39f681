/* Executes groups whose sizes depend on data: binds sizes and memory of the group immediately before it runs. */
#include "runtime/frame.h"
#include "sym/bounds.h"

/* The error that a size from data is outside the range that the program states (torch._check). */
static tc_status broken_promise(const tc_value *v, int d, int64_t size, int64_t lo, int64_t hi) {
    tc_source at = v->producer ? v->producer->source : (tc_source){0};
    tc_status s = tc_error(TC_CONTENT, "%s.size(%d)=%lld, expected %s", v->name, d, (long long)size, tc_sym_bounds_of(lo, hi).text);
    return at.file ? tc_status_add(s, "this size depends on data: %s:%d", at.file, at.line) : s;
}

/* Binds the symbols of a result's data-dependent sizes, and checks their ranges and guards. */
static tc_status bind_sizes(frame *f, const tc_value *v, const tc_tensor *t) {
    if (v->kind != TC_V_TENSOR || !t->storage) return NULL;
    for (int d = 0; d < v->meta.rank && d < t->rank; d++) {
        tc_sym s = v->meta.size[d];
        int64_t lo, hi;
        tc_symvalue *x = tc_sym_opcode(s) == TC_S_VAR ? &f->e->vars[tc_sym_var_index(s)] : NULL;
        if (x && !x->bound) {
            *x = (tc_symvalue){.i = t->size[d], .bound = true};
            tc_sym_range(f->e->program->sym, s, &lo, &hi);
            if (x->i < lo || x->i > hi) return broken_promise(v, d, x->i, lo, hi);
            TC_TRY(check_guards_about(f->e, s));
        }
        tc_status none = tc_sym_eval_int(s, f->e->vars, f->e->nvars, &lo);
        if (!none && lo != t->size[d]) return broken_promise(v, d, t->size[d], lo, lo);
        tc_status_free(none);
    }
    return NULL;
}

static tc_status allocate(frame *f, const tc_value *v) {
    tc_tensor *t = &f->b->t[v->id];
    int64_t size[TC_MAX_RANK];
    TC_TRY(meta_sizes(f->e, v, size), "%s", v->name);
    TC_TRY(tc_tensor_empty(v->meta.dtype, v->meta.rank, size, t));
    f->e->dynamic_bytes += tc_tensor_bytes(t);
    return NULL;
}

static tc_status dynamic_loop(frame *f, const tc_loop *l, int index) {
    const tc_schedule *sched = &f->schedules[index];
    tc_block_shape *shapes = tc_xcalloc(sched->loop->buffers.len + 1, sizeof *shapes);
    void **data = tc_xcalloc(sched->loop->buffers.len + 1, sizeof *data);
    tc_status s = NULL;
    for (size_t i = 0; i < l->buffers.len && !s; i++) {
        const tc_value *v = l->buffers.data[i].value;
        if (l->buffers.data[i].written) s = allocate(f, v);
        const tc_tensor *t = &f->b->t[v->id];
        shapes[i] = (tc_block_shape){t->size, t->stride};
        data[i] = t->storage ? tc_tensor_data(t) : NULL;
    }
    tc_block *b = NULL;
    if (!s)
        s = tc_block_bind(sched,
                          &(tc_block_env){.isa = f->e->isa,
                                          .threads = tc_pool_threads(f->e->pool),
                                          .vars = f->e->vars,
                                          .nvars = f->e->nvars,
                                          .shapes = shapes,
                                          .costs = tuning_costs(f->e),
                                          .tables = f->e->tables},
                          &b);
    if (!s) s = run_loop_block(f->e, b, data, l);
    tc_block_destroy(b);
    free(shapes);
    free(data);
    return s;
}

static tc_status dynamic_view(frame *f, const tc_node *n) {
    const tc_value *in = n->args[0].value, *out = n->outs[0];
    tc_tensor flat = {0};
    bool possible = false;
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_status s = kernel_args(n, f->b->t, f->e->vars, f->e->nvars, true, k);
    if (!s) s = n->op->view_alias(&k->k, &f->b->t[out->id], &possible);
    if (!s && !possible) s = tc_tensor_clone(&f->b->t[in->id], &flat);
    if (!s && !possible) {
        k->args[0].tensor = &flat;
        s = n->op->view_alias(&k->k, &f->b->t[out->id], &possible);
        if (!s && !possible) s = tc_error(TC_CONTENT, "%s of a contiguous tensor is not a view", tc_op_name(n->op));
    }
    tc_tensor_deinit(&flat);
    kernel_call_free(k);
    return s;
}

static tc_status dynamic_kernel(frame *f, const tc_node *n) {
    const tc_kernel *kn = n->op->kernel;
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_tensor *copies = tc_xcalloc((size_t)n->nargs + 1, sizeof *copies);
    const tc_value **of = NULL;
    k->f = f;
    for (int i = 0; i < n->nouts; i++) k->k.nouts += n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1;
    k->outs = tc_xcalloc((size_t)k->k.nouts + 1, sizeof *k->outs);
    of = tc_xcalloc((size_t)k->k.nouts + 1, sizeof *of);
    k->k.outs = k->outs;
    tc_status s = kernel_args(n, f->b->t, f->e->vars, f->e->nvars, true, k);
    for (int i = 0; i < n->nargs && !s && kn->flags & TC_KF_CONTIGUOUS; i++)
        if (k->args[i].kind == TC_K_TENSOR && k->args[i].tensor->storage) {
            s = tc_tensor_contiguous(k->args[i].tensor, &copies[i]);
            k->args[i].tensor = &copies[i];
        }
    for (int i = 0, at = 0; i < n->nouts && !s; i++) {
        const tc_value *v = n->outs[i];
        int m = v->kind == TC_V_LIST ? v->nlist : 1;
        for (int j = 0; j < m && !s; j++, at++) {
            of[at] = v->kind == TC_V_LIST ? v->list[j] : v;
            if (of[at]->kind != TC_V_TENSOR || kn->flags & TC_KF_DYNAMIC) continue;
            s = allocate(f, of[at]);
            k->outs[at] = f->b->t[of[at]->id];
        }
    }
    if (!s) s = run_kernel(f, k, n, NULL);
    for (int i = 0; i < k->k.nouts; i++) {
        if (!of[i] || of[i]->kind != TC_V_TENSOR) continue;
        if (kn->flags & TC_KF_DYNAMIC) f->b->t[of[i]->id] = k->outs[i];
        if (!s) s = bind_sizes(f, of[i], &f->b->t[of[i]->id]);
    }
    for (int i = 0; i < n->nargs; i++) tc_tensor_deinit(&copies[i]);
    free(copies);
    free(of);
    kernel_call_free(k);
    return s;
}

tc_status run_dynamic(frame *f, const tc_group *g, int index) {
    switch (g->kind) {
    case TC_GROUP_LOOP: return dynamic_loop(f, g->loop, index);
    case TC_GROUP_VIEW: return dynamic_view(f, g->node);
    case TC_GROUP_KERNEL:
        TC_TRY(dynamic_kernel(f, g->node));
        for (int i = 0; i < g->nviews; i++) TC_TRY(dynamic_view(f, g->views[i]));
        return g->epilogue ? dynamic_loop(f, g->epilogue, index) : NULL;
    case TC_GROUP_CONTROL: break;
    }
    TC_TRY(run_control(f, g->node));
    for (int i = 0; i < g->node->nouts; i++) TC_TRY(bind_sizes(f, g->node->outs[i], &f->b->t[g->node->outs[i]->id]));
    return NULL;
}
