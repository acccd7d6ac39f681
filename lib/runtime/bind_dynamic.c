/* Finds the groups whose sizes or integers depend on data; the run binds them when it reaches them (dynamic.c). */
#include "runtime/bind.h"

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
static void check_value(dyn_ctx *d, const tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) check_value(d, v->list[i]);
    if (v->kind == TC_V_TENSOR && v->graph == d->x->f->g) d->dynamic |= d->x->dynamic[v->id];
    if (v->kind == TC_V_SYM && v->sym) {
        tc_symvalue out;
        tc_status s = tc_sym_eval(v->sym, d->x->e->vars, d->x->e->nvars, &out);
        d->dynamic |= s && tc_sym_type(v->sym) == TC_SYM_INT;
        tc_status_free(s);
    }
}
static void check_place(void *ctx, tc_value **place) { check_value(ctx, *place); }

static bool number_known(binder *x, tc_sym s) {
    tc_symvalue out;
    tc_status st = tc_sym_eval(s, x->e->vars, x->e->nvars, &out);
    bool ok = !st || tc_sym_type(s) != TC_SYM_INT;
    tc_status_free(st);
    return ok;
}

/* The same for numbers that written C evaluates only when the loop runs. */
static bool late_known(binder *x, tc_sym s) { return x->e->for_c || number_known(x, s); }

static bool affines_known(binder *x, const tc_affine *a, int rank) {
    for (int d = 0; a && d < rank; d++) {
        if (a[d].base && !late_known(x, a[d].base)) return false;
        for (int k = 0; k < a[d].n; k++)
            if (!late_known(x, a[d].term[k].coef)) return false;
    }
    return true;
}

/* Are all numbers of the loop known: extents, indices and host values? */
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

bool bind_unknown(binder *x, const tc_group *g) {
    dyn_ctx d = {x, false};
    if (g->kind == TC_GROUP_LOOP) return loop_dynamic(x, g->loop);
    if (g->epilogue && loop_dynamic(x, g->epilogue)) return true;
    tc_node_each_input(g->node, check_place, &d);
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
    x->b->roots[v->id] = (root){.kind = ROOT_DYNAMIC, .first = now(x), .last = now(x)};
    x->b->t[v->id] = (tc_tensor){0};
}

static void mark_loop_dynamic(binder *x, const tc_loop *l) {
    for (size_t i = 0; i < l->buffers.len; i++) {
        bind_use(x, l->buffers.data[i].value);
        if (l->buffers.data[i].written) mark_dynamic(x, l->buffers.data[i].value);
    }
}

tc_status bind_dynamic(binder *x, const tc_group *g, int index) {
    if (g->kind == TC_GROUP_LOOP) {
        mark_loop_dynamic(x, g->loop);
    } else {
        tc_node_each_input(g->node, bind_use_place, x);
        for (int i = 0; i < g->node->nouts; i++) mark_dynamic(x, g->node->outs[i]);
        for (int i = 0; i < g->nviews; i++) mark_dynamic(x, g->views[i]->outs[0]);
        if (g->epilogue) mark_loop_dynamic(x, g->epilogue);
    }
    call c = {.kind = CALL_DYNAMIC, .group = g, .group_index = index};
    tc_vec_push(&x->b->calls, c);
    return NULL;
}
