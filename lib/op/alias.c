/* Tensors and their views in functionalisation (alias.h): the tensor that a value names, its current value, mutation through an alias. */
#include "op/alias.h"

#include "op/decompose.h"
#include "op/shape.h"

static tc_alias_tensor **place(tc_functional *f, const tc_value *v) { /* valid until the next call */
    while (f->tensors.len <= v->id) tc_vec_push(&f->tensors, NULL);
    return &f->tensors.data[v->id];
}

/* Tied weights, which are one tensor, are linked in a ring. */
static void tie(tc_functional *f, int i, const tc_tensor *t) {
    int64_t key[4 + 2 * TC_MAX_RANK] = {(int64_t)(intptr_t)t->storage, t->offset, t->rank, t->dtype};
    const size_t n = (size_t)t->rank;
    memcpy(key + 4, t->size, n * sizeof *key);
    memcpy(key + 4 + n, t->stride, n * sizeof *key);
    void **first = tc_map_put(&f->places, (const char *)key, (4 + 2 * n) * sizeof *key);
    if (!*first) {
        *first = (void *)(intptr_t)(i + 1);
        return;
    }
    int *next = &f->tied.data[(intptr_t)*first - 1];
    f->tied.data[i] = *next;
    *next = i;
}

/* The index of the program input whose value is v, or -1. Capture may still add inputs. */
static int input_of(tc_functional *f, const tc_value *v) {
    const tc_program *p = f->g->program;
    if (f->g != p->graph || v->producer) return -1;
    for (int i = (int)f->tied.len; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        tc_vec_push(&f->tied, i);
        if (!in->value) continue;
        while (f->inputs.len <= in->value->id) tc_vec_push(&f->inputs, 0);
        if (!f->inputs.data[in->value->id]) f->inputs.data[in->value->id] = i + 1;
        if (in->kind <= TC_IN_CONSTANT && in->data.storage) tie(f, i, &in->data);
    }
    return v->id < f->inputs.len ? f->inputs.data[v->id] - 1 : -1;
}

tc_alias_tensor *tc_alias_of(tc_functional *f, tc_value *v) {
    tc_alias_tensor *t = *place(f, v);
    if (t) return t;
    tc_alias_base *s = TC_NEW(&f->arena, tc_alias_base);
    tc_alias *a = TC_NEW(&f->arena, tc_alias);
    t = TC_NEW(&f->arena, tc_alias_tensor);
    s->current = v;
    s->input = input_of(f, v);
    s->checkpoint = v->producer ? v->producer->source.checkpoint : 0;
    a->base = s;
    a->meta = &v->meta;
    t->a = a;
    *place(f, v) = t;
    const tc_input *inputs = f->g->program->inputs;
    if (s->input >= 0)
        for (int first = s->input, i = f->tied.data[first]; i != first; i = f->tied.data[i]) {
            *place(f, inputs[i].value) = t;
            if (i < s->input) s->input = i;
        }
    return t;
}

/* ---- reading ---- */

static tc_status call_view(tc_functional *f, const tc_view_step *view, tc_value *parent, tc_node **out) {
    tc_arg args[48];
    if (view->nargs > 48) TC_BUG("a view with %d arguments", view->nargs);
    memcpy(args, view->args, sizeof *args * (size_t)view->nargs);
    args[0] = (tc_arg){.kind = TC_A_VALUE, .value = parent};
    return tc_graph_call(f->g, view->op, args, view->nargs, f->e.source, f->e.before, out);
}

tc_status tc_alias_meta(tc_functional *f, tc_alias *a, const tc_meta **out) {
    if (!a->meta) {
        const tc_meta *parent;
        tc_value of = {.kind = TC_V_TENSOR}, *v = TC_NEW(&f->arena, tc_value);
        tc_arg *args = tc_arena_dup(&f->arena, a->view.args, sizeof *args * (size_t)a->view.nargs);
        TC_TRY(tc_alias_meta(f, a->parent, &parent));
        of.meta = *parent;
        args[0] = (tc_arg){.kind = TC_A_VALUE, .value = &of};
        TC_TRY(tc_op_infer(f->g->program, a->view.op, args, a->view.nargs, f->e.source, v, 1));
        a->meta = a->view.element < 0 ? &v->meta : &v->list[a->view.element]->meta;
    }
    *out = a->meta;
    return NULL;
}

tc_alias *tc_alias_new(tc_functional *f, tc_alias *parent, const tc_view_step *view, tc_value *v) {
    tc_alias *a = TC_NEW(&f->arena, tc_alias);
    *a = (tc_alias){.base = parent->base, .parent = parent, .view = *view, .value = v, .version = parent->base->version};
    return a;
}

/* Makes a the last of a chain of these views. */
static tc_status take_steps(tc_functional *f, tc_alias *a, const tc_result_alias *s, const tc_value *parent) {
    if (!s->nsteps || s->of != parent) return tc_error(TC_UNSUPPORTED, "writing through a view made by %s is not supported", tc_op_name(a->view.op));
    for (int i = 0; i < s->nsteps - 1; i++) a->parent = tc_alias_new(f, a->parent, &s->steps[i], NULL);
    a->view = s->steps[s->nsteps - 1];
    if (s->nsteps > 1 || a->view.element < 0) a->parts = NULL;
    return NULL;
}

/* A view composed of others (split, movedim, ...) becomes a chain of those that ends in a; all elements of a list result at once. */
tc_status tc_alias_in_steps(tc_functional *f, tc_alias *a, tc_value *parent) {
    tc_node *n;
    const bool follow = f->g->names_follow;
    f->g->names_follow = true; /* the call is emitted for its decomposition only and must not use up names */
    tc_status st = call_view(f, &a->view, parent, &n);
    f->g->names_follow = follow;
    TC_TRY(st);
    const int count = n->outs[0]->kind == TC_V_LIST ? n->outs[0]->nlist : 1;
    tc_result_alias *all = TC_NEWN(&f->arena, tc_result_alias, (size_t)count + 1);
    st = tc_result_aliases_in_decomposition(f->g->program, n, all);
    tc_node_remove(n);
    TC_TRY(st);
    tc_alias **parts = a->parts;
    if (!parts) return take_steps(f, a, &all[a->view.element < 0 ? 0 : a->view.element], parent);
    for (int i = 0; i < count; i++)
        if (parts[i]->parts == parts) TC_TRY(take_steps(f, parts[i], &all[i], parent));
    return NULL;
}

/* Does the gradient of v flow to old and nowhere else? Follows writes of this kind, and clones that are not under no_grad themselves. */
static bool has_history_of(const tc_value *v, const tc_value *old) {
    for (const tc_node *n; v != old; v = n->args[0].value) {
        n = v->producer;
        if (!n || !(n->straight || (!n->no_grad && !strcmp(tc_op_name(n->op), "aten.clone.default")))) return false;
    }
    return true;
}

/* In a no_grad region, and through detach(), a write changes the value only: gradients flow as if the old value were still there (as when a variance
 * is clamped). */
static tc_value *with_history(tc_functional *f, tc_value *old, tc_value *v, bool detached) {
    if (!v || !(detached || f->g->program->no_grad) || !old->meta.requires_grad || has_history_of(v, old)) return v;
    v = tc_emit_call(&f->e, "aten::copy", "vv", old, v);
    if (v) v->producer->straight = v->meta.requires_grad = true;
    return v;
}

tc_status tc_alias_value(tc_functional *f, tc_alias *a, tc_value **out) {
    if (!a->parent) {
        *out = a->base->current;
        return NULL;
    }
    if (!a->value || a->version != a->base->version) {
        tc_value *parent;
        tc_node *n;
        TC_TRY(tc_alias_value(f, a->parent, &parent));
        while (a->view.element >= 0) { /* this element only, not the whole list */
            TC_TRY(tc_alias_in_steps(f, a, parent));
            TC_TRY(tc_alias_value(f, a->parent, &parent));
        }
        TC_TRY(call_view(f, &a->view, parent, &n));
        a->value = a->own = a->own ? with_history(f, a->own, n->outs[0], true) : NULL;
        if (!a->value) a->value = n->outs[0];
        a->version = a->base->version;
    }
    *out = a->value;
    return NULL;
}

tc_value *tc_alias_settled(const tc_functional *f, tc_value *v) {
    while (v->id < f->inlined.len && f->inlined.data[v->id]) v = f->inlined.data[v->id];
    return v;
}

tc_status tc_functional_current(tc_functional *f, tc_value *v, tc_value **out) {
    *out = v = tc_alias_settled(f, v);
    if (v->kind == TC_V_TENSOR && v->id < f->tensors.len && f->tensors.data[v->id]) return tc_alias_value(f, f->tensors.data[v->id]->a, out);
    return NULL;
}

/* ---- naming ---- */
void tc_alias_name(tc_functional *f, const tc_value *v, tc_alias *a) {
    tc_alias_tensor *t = TC_NEW(&f->arena, tc_alias_tensor);
    if (!a->meta) a->meta = &v->meta;
    t->a = a;
    *place(f, v) = t;
}

void tc_alias_same(tc_functional *f, const tc_value *out, tc_value *target) {
    tc_alias_tensor *t = tc_alias_of(f, target);
    *place(f, out) = t;
}

/* ---- writing ---- */
/* Are these sizes equal for all values of the symbols? */
static bool same_shape(tc_functional *f, const tc_meta *a, const tc_meta *b) {
    tc_symctx *c = f->g->program->sym;
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->size[i] != b->size[i] && tc_sym_known(c, tc_sym_op(c, TC_S_EQ, a->size[i], b->size[i], NULL)) != 1) return false;
    return true;
}

/* Sets v as the new value of a, whose value is `old`, so that views of a that were legal remain legal. */
static tc_status in_order(tc_functional *f, tc_alias *a, tc_value *old, tc_value **v) {
    const tc_meta *m;
    TC_TRY(tc_alias_meta(f, a, &m));
    if (*v && !tc_sh_lies_as(f->g->program, &(*v)->meta, m)) *v = tc_emit_call(&f->e, "aten::copy", "vv", old, *v);
    return NULL;
}

static bool is_detached(const tc_alias *a) { return a->parent && !strcmp(tc_op_schema(a->view.op)->name, "detach"); }

/* detached: the write was through detach() or .data. */
static tc_status write_alias(tc_functional *f, tc_alias *a, tc_value *v, bool detached) {
    detached |= is_detached(a);
    if (!a->parent) {
        v = with_history(f, a->base->current, v, detached);
        TC_TRY(in_order(f, a, a->base->current, &v));
        a->base->current = v;
    } else {
        tc_value *parent, *whole, *old;
        TC_TRY(tc_alias_value(f, a, &old));
        TC_TRY(in_order(f, a, old, &v));
        TC_TRY(tc_alias_value(f, a->parent, &parent));
        while (!tc_view_invertible(a->view.op)) {
            TC_TRY(tc_alias_in_steps(f, a, parent));
            TC_TRY(tc_alias_value(f, a->parent, &parent));
        }
        TC_TRY(tc_view_inverse(&f->e, a->view.op, a->view.args, a->view.nargs, parent, v, &whole));
        TC_TRY(write_alias(f, a->parent, whole, detached));
    }
    a->base->version++;
    const tc_node *by = a->base->current->producer;
    const bool own = is_detached(a) && v->meta.requires_grad; /* the written value is in the gradient history of a, but not in the base's */
    if (own) a->own = v;
    a->value = !a->parent ? a->base->current : by && by->straight && !own ? NULL : v; /* NULL: recomputed from the base, whose history it shares */
    a->version = a->base->version;
    return NULL;
}

tc_status tc_alias_write(tc_functional *f, tc_value *target, tc_value *v, bool may_resize) {
    tc_alias *a = tc_alias_of(f, target)->a;
    tc_value *old;
    TC_TRY(tc_alias_value(f, a, &old));
    const bool same = same_shape(f, &v->meta, &old->meta), resized = !same && may_resize && !a->parent;
    v = same || resized ? tc_e_cast(&f->e, v, old->meta.dtype) : tc_emit_call(&f->e, "aten::copy", "vv", old, v);
    if (v && resized) a->meta = &v->meta;
    if (!v) {
        tc_status s = f->e.status;
        f->e.status = NULL;
        return s;
    }
    return write_alias(f, a, v, false);
}
