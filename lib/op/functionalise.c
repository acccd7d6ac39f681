/* Functionalisation (functionalise.h).
 *
 *     tensor --> alias: view of parent alias (op, arguments) ... --> base: storage {current value, version}
 *
 * A tc_value of the source names a tensor; in-place views (unsqueeze_) give the tensor another alias. An alias remembers the value
 * it had at a version of the storage and is taken again when the version has moved on. */
#include "op/functionalise.h"

#include "op/decompose.h"
#include "op/shape.h"

typedef struct {
    tc_value *current;
    unsigned version; /* counts writes */
    int input;        /* index in program->inputs, or -1 */
} storage;

typedef struct alias {
    storage *base;
    struct alias *parent; /* NULL: the base itself */
    tc_view_step view;    /* of the parent */
    const tc_meta *meta;  /* as the program has it: a value that stands for it may lie otherwise in memory; NULL: not asked yet (meta_of) */
    tc_value *value;      /* at `version` */
    unsigned version;
    tc_value *own;        /* of detach(): what was written through it last, whose history is not the parent's; NULL: nothing with a gradient */
    struct alias **parts; /* of an element of a list (split, unbind): those of all its elements; else NULL */
} alias;

typedef struct {
    alias *a;
} tensor;

struct tc_functional {
    tc_graph *g;
    tc_arena arena;
    TC_VEC(tensor *) tensors;   /* by value id; NULL: never viewed nor written, the value itself */
    TC_VEC(tc_value *) inlined; /* by value id: what a result of an inlined region is */
    TC_VEC(int) inputs;         /* by value id: 1 + which input of the program the value is, or 0 */
    TC_VEC(int) tied;           /* by input: the next one that holds the same tensor, in a ring */
    tc_map places;              /* what inputs hold -> 1 + the first of them */
    tc_node *last;              /* of what was rewritten */
    const tc_node *failed;      /* which could not be, or NULL */
    tc_emit e;
};

tc_functional *tc_functional_create(tc_graph *g) {
    tc_functional *f = tc_xcalloc(1, sizeof *f);
    f->g = g;
    f->e.graph = g;
    return f;
}

void tc_functional_destroy(tc_functional *f) {
    if (!f) return;
    tc_vec_free(&f->tensors);
    tc_vec_free(&f->inlined);
    tc_vec_free(&f->inputs);
    tc_vec_free(&f->tied);
    tc_map_free(&f->places);
    tc_arena_free(&f->arena);
    tc_status_free(f->e.status);
    free(f);
}

static tensor **place(tc_functional *f, const tc_value *v) { /* valid until the next call */
    while (f->tensors.len <= v->id) tc_vec_push(&f->tensors, NULL);
    return &f->tensors.data[v->id];
}

/* Weights that are one tensor (tied) come next to each other in a ring. */
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

/* The input of the program that v is, or -1. Capture adds inputs while it goes on. */
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

/* The tensor that v names, made a base when nothing is known of it. */
static tensor *tensor_of(tc_functional *f, tc_value *v) {
    tensor *t = *place(f, v);
    if (t) return t;
    storage *s = TC_NEW(&f->arena, storage);
    alias *a = TC_NEW(&f->arena, alias);
    t = TC_NEW(&f->arena, tensor);
    s->current = v;
    s->input = input_of(f, v);
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
static tc_status value_of(tc_functional *f, alias *a, tc_value **out);

static tc_status call_view(tc_functional *f, const tc_view_step *view, tc_value *parent, tc_node **out) {
    tc_arg args[48];
    if (view->nargs > 48) TC_BUG("a view with %d arguments", view->nargs);
    memcpy(args, view->args, sizeof *args * (size_t)view->nargs);
    args[0] = (tc_arg){.kind = TC_A_VALUE, .value = parent};
    return tc_graph_call(f->g, view->op, args, view->nargs, f->e.source, f->e.before, out);
}

static tc_status meta_of(tc_functional *f, alias *a, const tc_meta **out) {
    if (!a->meta) {
        const tc_meta *parent;
        tc_value of = {.kind = TC_V_TENSOR}, *v = TC_NEW(&f->arena, tc_value);
        tc_arg *args = tc_arena_dup(&f->arena, a->view.args, sizeof *args * (size_t)a->view.nargs);
        TC_TRY(meta_of(f, a->parent, &parent));
        of.meta = *parent;
        args[0] = (tc_arg){.kind = TC_A_VALUE, .value = &of};
        TC_TRY(tc_op_infer(f->g->program, a->view.op, args, a->view.nargs, f->e.source, v, 1));
        a->meta = a->view.element < 0 ? &v->meta : &v->list[a->view.element]->meta;
    }
    *out = a->meta;
    return NULL;
}

static alias *new_alias(tc_functional *f, alias *parent, const tc_view_step *view, tc_value *v) {
    alias *a = TC_NEW(&f->arena, alias);
    *a = (alias){.base = parent->base, .parent = parent, .view = *view, .value = v, .version = parent->base->version};
    return a;
}

/* a becomes the last of a chain of these views. */
static tc_status take_steps(tc_functional *f, alias *a, const tc_shown *s, const tc_value *parent) {
    if (!s->nsteps || s->of != parent) return tc_error(TC_UNSUPPORTED, "writing through a view made by %s is not supported", tc_op_name(a->view.op));
    for (int i = 0; i < s->nsteps - 1; i++) a->parent = new_alias(f, a->parent, &s->steps[i], NULL);
    a->view = s->steps[s->nsteps - 1];
    if (s->nsteps > 1 || a->view.element < 0) a->parts = NULL;
    return NULL;
}

/* A view that consists of others (split, movedim, ...) becomes a chain of those, of which a is the last; all parts of a list at once. */
static tc_status in_steps(tc_functional *f, alias *a, tc_value *parent) {
    tc_node *n;
    const bool follow = f->g->names_follow;
    f->g->names_follow = true; /* the call goes again, and leaves no name taken */
    tc_status st = call_view(f, &a->view, parent, &n);
    f->g->names_follow = follow;
    TC_TRY(st);
    const int count = n->outs[0]->kind == TC_V_LIST ? n->outs[0]->nlist : 1;
    tc_shown *all = TC_NEWN(&f->arena, tc_shown, (size_t)count + 1);
    st = tc_shown_in_steps(f->g->program, n, all);
    tc_node_remove(n);
    TC_TRY(st);
    alias **parts = a->parts;
    if (!parts) return take_steps(f, a, &all[a->view.element < 0 ? 0 : a->view.element], parent);
    for (int i = 0; i < count; i++)
        if (parts[i]->parts == parts) TC_TRY(take_steps(f, parts[i], &all[i], parent));
    return NULL;
}

/* Does the gradient of v go to old and nowhere else, through writes of this kind and clones that are not themselves under no_grad? */
static bool has_history_of(const tc_value *v, const tc_value *old) {
    for (const tc_node *n; v != old; v = n->args[0].value) {
        n = v->producer;
        if (!n || !(n->straight || (!n->no_grad && !strcmp(tc_op_name(n->op), "aten.clone.default")))) return false;
    }
    return true;
}

/* In a no_grad region, and through detach(), a write changes the value only: gradients go on through what was there (a clamp of the
 * variance, say). */
static tc_value *with_history(tc_functional *f, tc_value *old, tc_value *v, bool detached) {
    if (!v || !(detached || f->g->program->no_grad) || !old->meta.requires_grad || has_history_of(v, old)) return v;
    v = tc_emit_call(&f->e, "aten::copy", "vv", old, v);
    if (v) v->producer->straight = v->meta.requires_grad = true;
    return v;
}

static tc_status value_of(tc_functional *f, alias *a, tc_value **out) {
    if (!a->parent) {
        *out = a->base->current;
        return NULL;
    }
    if (!a->value || a->version != a->base->version) {
        tc_value *parent;
        tc_node *n;
        TC_TRY(value_of(f, a->parent, &parent));
        while (a->view.element >= 0) { /* alone, not with all of its list */
            TC_TRY(in_steps(f, a, parent));
            TC_TRY(value_of(f, a->parent, &parent));
        }
        TC_TRY(call_view(f, &a->view, parent, &n));
        a->value = a->own = a->own ? with_history(f, a->own, n->outs[0], true) : NULL;
        if (!a->value) a->value = n->outs[0];
        a->version = a->base->version;
    }
    *out = a->value;
    return NULL;
}

/* Past the regions that were inlined. */
static tc_value *settled(const tc_functional *f, tc_value *v) {
    while (v->id < f->inlined.len && f->inlined.data[v->id]) v = f->inlined.data[v->id];
    return v;
}

tc_status tc_functional_current(tc_functional *f, tc_value *v, tc_value **out) {
    *out = v = settled(f, v);
    if (v->kind == TC_V_TENSOR && v->id < f->tensors.len && f->tensors.data[v->id]) return value_of(f, f->tensors.data[v->id]->a, out);
    return NULL;
}

static tc_status read_args(tc_functional *f, tc_node *n) {
    for (int i = 0; i < n->nargs; i++) {
        tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE && a->value) TC_TRY(tc_functional_current(f, a->value, &a->value));
        if (a->kind != TC_A_VALUES) continue;
        bool changed = false;
        for (int k = 0; k < a->n; k++) {
            tc_value *v = a->values[k];
            if (!v) continue;
            TC_TRY(tc_functional_current(f, v, &v));
            if (v != a->values[k] && !changed) { /* lists may be shared with a result of kind list */
                a->values = tc_arena_dup(&f->g->program->arena, a->values, sizeof *a->values * (size_t)a->n);
                changed = true;
            }
            a->values[k] = v;
        }
    }
    return NULL;
}

/* ---- writing ---- */
/* Are these sizes the same whatever the symbols are? */
static bool same_shape(tc_functional *f, const tc_meta *a, const tc_meta *b) {
    tc_symctx *c = f->g->program->sym;
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->size[i] != b->size[i] && tc_sym_known(c, tc_sym_op(c, TC_S_EQ, a->size[i], b->size[i], NULL)) != 1) return false;
    return true;
}

/* v as the new value of a, which is `old` now: views of what others see of a stay possible where they were. */
static tc_status in_order(tc_functional *f, alias *a, tc_value *old, tc_value **v) {
    const tc_meta *m;
    TC_TRY(meta_of(f, a, &m));
    if (*v && !tc_sh_lies_as(f->g->program, &(*v)->meta, m)) *v = tc_emit_call(&f->e, "aten::copy", "vv", old, *v);
    return NULL;
}

static bool is_detached(const alias *a) { return a->parent && !strcmp(tc_op_schema(a->view.op)->name, "detach"); }

/* detached: the write came through detach() or .data. */
static tc_status write_alias(tc_functional *f, alias *a, tc_value *v, bool detached) {
    detached |= is_detached(a);
    if (!a->parent) {
        v = with_history(f, a->base->current, v, detached);
        TC_TRY(in_order(f, a, a->base->current, &v));
        a->base->current = v;
    } else {
        tc_value *parent, *whole, *old;
        TC_TRY(value_of(f, a, &old));
        TC_TRY(in_order(f, a, old, &v));
        TC_TRY(value_of(f, a->parent, &parent));
        while (!tc_view_invertible(a->view.op)) {
            TC_TRY(in_steps(f, a, parent));
            TC_TRY(value_of(f, a->parent, &parent));
        }
        TC_TRY(tc_view_inverse(&f->e, a->view.op, a->view.args, a->view.nargs, parent, v, &whole));
        TC_TRY(write_alias(f, a->parent, whole, detached));
    }
    a->base->version++;
    const tc_node *by = a->base->current->producer;
    const bool own = is_detached(a) && v->meta.requires_grad; /* what was written is in the history of a, though not in the base's */
    if (own) a->own = v;
    a->value = !a->parent ? a->base->current : by && by->straight && !own ? NULL : v; /* NULL: taken again, since its history is the base's */
    a->version = a->base->version;
    return NULL;
}

/* target takes the value v (cast and broadcast as a write does). */
static tc_status write_tensor(tc_functional *f, tc_value *target, tc_value *v, bool may_resize) {
    alias *a = tensor_of(f, target)->a;
    tc_value *old;
    TC_TRY(value_of(f, a, &old));
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

/* ---- nodes ---- */

static void name_alias(tc_functional *f, const tc_value *v, alias *a) {
    tensor *t = TC_NEW(&f->arena, tensor);
    if (!a->meta) a->meta = &v->meta;
    t->a = a;
    *place(f, v) = t;
}

/* Called after n's arguments were replaced by current values. `source` are those that were there: tensors that share a value now (after copy_)
 * are told apart by them. */
static tc_status note_views(tc_functional *f, const tc_node *n, const tc_arg *source) {
    tc_shown *shown;
    int count, k = 0;
    tc_node named = *n;
    const bool view = tc_op_schema(n->op)->is_view;
    named.args = tc_arena_dup(&f->arena, view ? n->args : source, sizeof *source * (size_t)n->nargs);
    if (view) named.args[0] = source[0];
    TC_TRY(tc_shown_by(&named, &shown, &count));
    for (int i = 0; i < n->nouts && k < count; i++) {
        tc_value *out = n->outs[i];
        const bool list = out->kind == TC_V_LIST;
        alias **parts = list && view ? TC_NEWN(&f->arena, alias *, (size_t)out->nlist + 1) : NULL;
        for (int j = 0; j < (list ? out->nlist : 1); j++, k++) {
            const tc_shown *s = &shown[k];
            if (!s->of) continue;
            alias *a = tensor_of(f, view ? source[0].value : s->of)->a;
            for (int t = 0; t < s->nsteps; t++) a = new_alias(f, a, &s->steps[t], NULL);
            a->value = list ? out->list[j] : out;
            if (parts) parts[j] = a, a->parts = parts;
            name_alias(f, a->value, a);
        }
    }
    return NULL;
}

/* ---- as_strided, which tells of memory and not of the tensor: it is taken of the base ---- */

/* Where the view a begins in its parent, a tensor of type m; in elements. */
static tc_sym begins(tc_symctx *c, const alias *a, const tc_meta *m, const tc_sym *stride) {
    const char *name = tc_op_schema(a->view.op)->name;
    const tc_arg *args = a->view.args;
    const bool select = !strcmp(name, "select"), slice = !strcmp(name, "slice"), diagonal = !strcmp(name, "diagonal");
    int64_t d, at;
    if (!(select || slice || diagonal) || (slice && args[2].kind == TC_A_NONE)) return tc_sym_int(c, 0);
    if (diagonal) {
        tc_sym_const_int(args[1].sym, &at);
        tc_sym_const_int(args[at < 0 ? 2 : 3].sym, &d);
        return tc_sym_mul(c, tc_sym_int(c, at < 0 ? -at : at), stride[d < 0 ? d + m->rank : d]);
    }
    tc_sym_const_int(args[1].sym, &d);
    if (d < 0) d += m->rank;
    tc_sym from = args[2].sym;
    if (tc_sym_const_int(from, &at) && at < 0) from = tc_sym_max(c, tc_sym_add(c, from, m->size[d]), tc_sym_int(c, 0));
    return tc_sym_mul(c, slice ? tc_sym_min(c, from, m->size[d]) : from, stride[d]);
}

/* Where a begins in memory. */
static tc_status begins_at(tc_functional *f, alias *a, tc_sym *out) {
    tc_program *p = f->g->program;
    *out = tc_sym_int(p->sym, 0);
    for (const tc_meta *m, *own; a->parent; a = a->parent) {
        while (!tc_view_invertible(a->view.op)) {
            tc_value *v;
            TC_TRY(value_of(f, a->parent, &v));
            TC_TRY(in_steps(f, a, v));
        }
        TC_TRY(meta_of(f, a->parent, &m));
        TC_TRY(meta_of(f, a, &own));
        if (own->dtype != m->dtype) return tc_error(TC_UNSUPPORTED, "as_strided of a view of another type is not supported");
        if (!strcmp(tc_op_schema(a->view.op)->name, "as_strided")) {
            *out = tc_sym_add(p->sym, *out, a->view.args[3].sym);
            return NULL;
        }
        const tc_sym *stride = m->stride ? m->stride : tc_contiguous_sym_strides(p->sym, &p->arena, m->rank, m->size);
        *out = tc_sym_add(p->sym, *out, begins(p->sym, a, m, stride));
    }
    return NULL;
}

/* Are there elements between those of m that are not its own? stride: of its dimensions, the outermost first. */
static bool has_gaps(const tc_meta *m, const tc_sym *order, const int64_t *stride) {
    int64_t within = 1, d = 0, size;
    for (int k = m->rank; k-- > 0; within *= size) {
        tc_sym_const_int(order[k], &d);
        if (!tc_sym_const_int(m->size[d], &size)) return k > 0 || stride[k] != within; /* the outermost alone has a size that is not known */
        if (size == 0) return false;
        if (size > 1 && stride[k] != within) return true;
    }
    return false;
}

/* The base with its dimensions in the order in which they lie in memory. */
static tc_status in_memory_order(tc_functional *f, alias *base, alias **out) {
    tc_program *p = f->g->program;
    const tc_meta *m = base->meta;
    int64_t stride[TC_MAX_RANK], at; /* that of order[i] */
    tc_sym *order = TC_NEWN(&p->arena, tc_sym, TC_MAX_RANK);
    tc_arg *args = TC_NEWN(&f->arena, tc_arg, 2);
    *out = base;
    if (!m->stride) return NULL;
    for (int i = 0; i < m->rank; i++) {
        if (!tc_sym_const_int(m->stride[i], &at)) return tc_error(TC_UNSUPPORTED, "as_strided where strides are symbols is not supported");
        int k = i;
        for (; k > 0 && stride[k - 1] < at; k--) order[k] = order[k - 1], stride[k] = stride[k - 1];
        order[k] = tc_sym_int(p->sym, i), stride[k] = at;
    }
    if (has_gaps(m, order, stride)) return tc_error(TC_UNSUPPORTED, "as_strided of a tensor with gaps in memory is not supported");
    args[1] = (tc_arg){.kind = TC_A_INTS, .syms = order, .n = m->rank};
    *out = new_alias(f, base, &(tc_view_step){tc_op_find("aten::permute"), args, 2, -1}, NULL);
    return NULL;
}

static tc_status note_strided(tc_functional *f, tc_node *n, tc_value *source) {
    alias *a = tensor_of(f, source)->a, *base = a;
    while (base->parent) base = base->parent;
    if (a->parent && n->args[3].kind == TC_A_NONE) {
        n->args[3].kind = TC_A_INT;
        TC_TRY(begins_at(f, a, &n->args[3].sym));
    }
    TC_TRY(in_memory_order(f, base, &base));
    TC_TRY(value_of(f, base, &n->args[0].value));
    if (n->args[3].kind == TC_A_NONE) n->args[3] = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(f->g->program->sym, 0)};
    name_alias(f, n->outs[0], new_alias(f, base, &(tc_view_step){n->op, n->args, n->nargs, -1}, n->outs[0]));
    return NULL;
}

/* out's tensor is target's from now on. */
static void same_tensor(tc_functional *f, const tc_value *out, tc_value *target) {
    tensor *t = tensor_of(f, target);
    *place(f, out) = t;
}

static tc_value *result(const tc_node *n, int i, int element) { return n->outs[i]->kind == TC_V_LIST ? n->outs[i]->list[element] : n->outs[i]; }

/* A node that writes: in-place, out and "functional" forms by their schema. source[]: arguments as the program named them. */
static tc_status write_node(tc_functional *f, tc_node *n, const tc_arg *source) {
    tc_program *p = f->g->program;
    const tc_schema *s = tc_op_schema(n->op);
    const tc_op *op = tc_op_functional(n->op);
    const tc_schema *fs = tc_op_schema(op);
    tc_arg args[64];
    tc_node *m = NULL;
    if (op == n->op)
        return tc_error(TC_UNSUPPORTED, "operator %s is not supported: it writes to an argument and has no functional form", tc_op_name(n->op));
    tc_op_functional_args(p, n->op, n->args, args);
    if (!strcmp(fs->name, "copy") && !strcmp(fs->ns, "aten") && n->args[1].kind == TC_A_VALUE) { /* the source, cast and broadcast */
        TC_TRY(write_tensor(f, source[0].value, n->args[1].value, false));
    } else {
        tc_value *composed = NULL;
        TC_TRY(tc_graph_call(f->g, op, args, fs->nparams, n->source, n, &m));
        m->origin = n->origin;
        m->annotations = n->annotations;
        if (!strcmp(fs->ns, "tc") && op->decompose) { /* archives hold operators of PyTorch only */
            f->e.results = NULL, f->e.nresults = 0;
            TC_TRY(tc_emit_decomposition(&f->e, m));
            f->e.origin = NULL;
            composed = f->e.results[0];
        }
        int r = s->inplace || s->has_out ? 0 : s->nrets;
        for (int i = 0; i < s->nparams; i++) {
            if (!s->params[i].mutated) continue;
            if (source[i].kind == TC_A_VALUE && fs->is_view && s->inplace) { /* unsqueeze_: the tensor becomes a view of what it was */
                tensor *t = tensor_of(f, source[i].value);
                t->a = new_alias(f, t->a, &(tc_view_step){op, m->args, m->nargs, -1}, m->outs[0]);
                t->a->meta = &n->outs[0]->meta;
            } else if (source[i].kind == TC_A_VALUE && source[i].value) {
                if (tc_op_resizes(n->op) && tensor_of(f, source[i].value)->a->base->input >= 0)
                    return tc_error(TC_UNSUPPORTED, "%s: resizing an input, parameter or buffer", tc_op_name(n->op));
                if (tc_op_resizes(n->op) && tensor_of(f, source[i].value)->a->parent)
                    return tc_error(TC_UNSUPPORTED, "%s: resizing a view", tc_op_name(n->op));
                TC_TRY(write_tensor(f, source[i].value, composed ? composed : result(m, r, 0), s->has_out || tc_op_resizes(n->op)));
            }
            for (int k = 0; source[i].kind == TC_A_VALUES && k < source[i].n; k++)
                TC_TRY(write_tensor(f, source[i].values[k], result(m, r, k), s->has_out));
            r++;
        }
        if (composed) tc_node_remove(m);
    }
    int r = 0;
    for (int i = 0; i < s->nparams && (s->inplace || s->has_out); i++) { /* results are the tensors written to */
        if (!s->params[i].mutated || r >= n->nouts) continue;
        if (source[i].kind == TC_A_VALUE) same_tensor(f, n->outs[r], source[i].value);
        for (int k = 0; source[i].kind == TC_A_VALUES && n->outs[r]->kind == TC_V_LIST && k < source[i].n; k++)
            same_tensor(f, n->outs[r]->list[k], source[i].values[k]);
        r++;
    }
    for (int i = 0; m && !s->inplace && !s->has_out && i < n->nouts; i++) { /* other results keep their names for later readers */
        same_tensor(f, n->outs[i], m->outs[i]);
    }
    tc_node_remove(n);
    return NULL;
}

bool tc_op_unmarked_writes(const tc_op *op, const tc_arg *args, int rank, tc_unmarked_writes *out) {
    const tc_schema *s = tc_op_schema(op);
    bool instance = !strcmp(s->name, "instance_norm"), batch = !strcmp(s->name, "batch_norm") || !strcmp(s->name, "native_batch_norm");
    if (strcmp(s->ns, "aten") || *s->overload || s->has_out || !(instance || batch)) return false;
    bool training = args[5].kind == TC_A_SCALAR && !args[5].is_sym && tc_scalar_to_double(args[5].scalar) != 0;
    if (!training || rank < 2 || args[3].kind != TC_A_VALUE || args[4].kind != TC_A_VALUE) return false;
    *out = (tc_unmarked_writes){.functional = tc_op_find(instance ? "tc::instance_norm_functional" : "aten::_native_batch_norm_legit_functional"),
                                .first = instance ? 1 : 3};
    for (int i = 0; i < 8; i++)
        if (!instance || i != 5) out->from[out->nfrom++] = i;
    return true;
}

static tc_status unmarked_writes(tc_functional *f, tc_node *n, const tc_arg *source, bool *out_done) {
    tc_unmarked_writes w;
    tc_arg args[8];
    tc_node *m;
    *out_done = false;
    int rank = n->nargs && n->args[0].kind == TC_A_VALUE && n->args[0].value ? n->args[0].value->meta.rank : 0;
    if (!tc_op_unmarked_writes(n->op, n->args, rank, &w)) return NULL;
    for (int i = 0; i < w.nfrom; i++) args[i] = n->args[w.from[i]];
    TC_TRY(tc_graph_call(f->g, w.functional, args, w.nfrom, n->source, n, &m));
    tc_value **results = m->outs;
    bool ours = !strcmp(tc_op_schema(w.functional)->ns, "tc"); /* archives hold operators of PyTorch only */
    if (ours) {
        f->e.results = NULL, f->e.nresults = 0;
        TC_TRY(tc_emit_decomposition(&f->e, m));
        f->e.origin = NULL;
        results = f->e.results;
    }
    for (int i = 0; i < 2; i++) TC_TRY(write_tensor(f, source[3 + i].value, results[w.first + i], false));
    for (int i = 0; i < n->nouts; i++) same_tensor(f, n->outs[i], results[i]);
    if (ours) tc_node_remove(m);
    tc_node_remove(n);
    *out_done = true;
    return NULL;
}

/* ---- regions ---- */
typedef struct {
    const char *name;
    int graph;
} region;
static const region regions[] = {{"wrap_with_set_grad_enabled", 1},
                                 {"wrap_with_autocast", 4},
                                 {"tag_activation_checkpoint", 0},
                                 {"wrap_activation_checkpoint", 0},
                                 {"wrap", 0},
                                 {"strict_mode", 0},
                                 {"invoke_subgraph", 0},
                                 {"hints_wrapper", 0}};

static const region *region_of(const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    if (strcmp(s->ns, "higher_order")) return NULL;
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (!strcmp(regions[i].name, s->name)) return &regions[i];
    return NULL;
}

/* Operands (aux) in the place of the region's inputs; its own values move into the outer graph as they are. */
static tc_value *renamed(const tc_graph *sub, tc_value *v) { return v->graph == sub ? v->aux : v; }
static void rename_place(void *ctx, tc_value **v) { *v = renamed(ctx, *v); }

static void move_value(tc_graph *g, tc_value *v) {
    v->id = g->nvalues++;
    v->graph = g;
    v->name = tc_graph_unique(g, v->name);
    for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) move_value(g, v->list[k]);
}

/* The nodes of the region before n, inside inner regions too; its results replace those of n. */
static tc_status inline_region(tc_functional *f, tc_node *n, const region *r, tc_dtype outer_cast, bool outer_no_grad) {
    tc_graph *g = f->g, *sub = NULL;
    tc_value *operands[1024];
    int gi = -1, nops = 0;
    for (int i = r->graph; i < n->nargs && gi < 0; i++)
        if (n->args[i].kind == TC_A_GRAPH) gi = i;
    if (gi < 0) return tc_error(TC_CONTENT, "%s: a graph expected", tc_op_name(n->op));
    sub = n->args[gi].graph;
    for (int i = gi + 1; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (nops + (a->kind == TC_A_VALUES ? a->n : 1) > 1024) return tc_error(TC_UNSUPPORTED, "%s: more than 1024 operands", tc_op_name(n->op));
        if (a->kind == TC_A_VALUE) operands[nops++] = a->value;
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++) operands[nops++] = a->values[k];
    }
    if (nops != sub->ninputs) return tc_error(TC_CONTENT, "%s: %d operands for a graph of %d inputs", tc_op_name(n->op), nops, sub->ninputs);
    bool set_grad = !strcmp(r->name, "wrap_with_set_grad_enabled"), autocast = !strcmp(r->name, "wrap_with_autocast");
    bool no_grad = set_grad ? !tc_arg_bool(n, 0) : outer_no_grad || n->no_grad;
    tc_dtype cast = outer_cast;
    if (autocast) {
        bool enabled = tc_arg_bool(n, 2);
        cast = !enabled ? TC_DTYPE_NONE : n->args[1].kind == TC_A_DTYPE ? n->args[1].dtype : TC_BF16;
    }
    tc_status st = NULL;
    for (int i = 0; i < nops; i++) sub->inputs[i]->aux = operands[i];
    for (tc_node *m = sub->first, *next; m && !st; m = next) {
        next = m->next;
        tc_node_each_input(m, rename_place, sub);
        tc_node *copy = tc_graph_node(g, m->op, 0, m->nouts, n);
        copy->args = m->args;
        copy->nargs = m->nargs;
        copy->source = m->source;
        copy->origin = m->origin;
        copy->no_grad = m->no_grad || no_grad;
        copy->annotations = m->annotations ? m->annotations : n->annotations;
        copy->name = tc_graph_unique(g, m->name ? m->name : "node");
        for (int i = 0; i < m->nouts; i++) {
            move_value(g, m->outs[i]);
            tc_node_set_output(copy, i, m->outs[i]);
        }
        const region *inner = region_of(copy);
        if (inner) {
            st = inline_region(f, copy, inner, cast, no_grad);
        } else if (cast != TC_DTYPE_NONE) {
            f->e.before = copy;
            f->e.source = copy->source;
            st = tc_autocast(&f->e, copy->op, copy->args, copy->nargs, cast);
            if (!st && !tc_op_schema(copy->op)->variadic) { /* the results' types follow */
                tc_value types[16] = {{0}};
                if (copy->nouts <= 16) st = tc_op_infer(g->program, copy->op, copy->args, copy->nargs, copy->source, types, copy->nouts);
                for (int i = 0; !st && i < copy->nouts; i++)
                    if (types[i].kind == TC_V_TENSOR) copy->outs[i]->meta = types[i].meta;
            }
        }
    }
    for (int i = 0; !st && i < n->nouts && i < sub->noutputs; i++) { /* later readers of the region's results */
        tc_value *v = sub->outputs[i] ? renamed(sub, sub->outputs[i]) : NULL;
        while (f->inlined.len <= n->outs[i]->id) tc_vec_push(&f->inlined, NULL);
        f->inlined.data[n->outs[i]->id] = v;
    }
    if (!st) tc_node_remove(n);
    return st;
}

static tc_status functionalise_graph(tc_graph *g);

static tc_status rewrite(tc_functional *f, tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    tc_arg *source = tc_arena_dup(&f->arena, n->args, sizeof *n->args * (size_t)n->nargs);
    bool writes = false, done = false;
    f->e.before = n;
    f->e.source = n->source;
    for (int i = 0; i < n->nargs; i++) {
        if (n->args[i].kind == TC_A_GRAPH) TC_TRY(functionalise_graph(n->args[i].graph));
        if (i < s->nparams && s->params[i].mutated) writes = true;
        if (source[i].kind == TC_A_VALUE && source[i].value) source[i].value = settled(f, source[i].value);
        if (source[i].kind != TC_A_VALUES || !source[i].n) continue;
        source[i].values = tc_arena_dup(&f->arena, source[i].values, sizeof *source[i].values * (size_t)source[i].n);
        for (int k = 0; k < source[i].n; k++)
            if (source[i].values[k]) source[i].values[k] = settled(f, source[i].values[k]);
    }
    TC_TRY(read_args(f, n));
    tc_program *p = f->g->program;
    bool was = p->no_grad;
    p->no_grad = n->no_grad; /* what replaces a node of a no_grad region stays outside of autograd */
    tc_op_propagate_grad(n); /* archives do not say which results require a gradient */
    tc_status st = writes ? write_node(f, n, source) : unmarked_writes(f, n, source, &done);
    p->no_grad = was;
    if (st || writes) return st;
    if (done) return NULL;
    return strcmp(s->name, "as_strided") ? note_views(f, n, source) : note_strided(f, n, source[0].value);
}

static tc_status inline_all(tc_functional *f, tc_node *from) {
    for (tc_node *n = from, *next; n; n = next) {
        next = n->next;
        const region *r = region_of(n);
        if (!r) continue;
        TC_TRY(inline_region(f, n, r, TC_DTYPE_NONE, false), "%s", n->name ? n->name : tc_op_name(n->op));
    }
    return NULL;
}

tc_status tc_functional_step(tc_functional *f) {
    TC_TRY(inline_all(f, f->last ? f->last->next : f->g->first));
    for (tc_node *n = f->last ? f->last->next : f->g->first, *next; n; n = next) {
        next = n->next;
        const char *name = n->name;
        f->failed = n;
        TC_TRY(rewrite(f, n), "%s", name ? name : "node");
        f->failed = NULL;
    }
    f->last = f->g->last;
    f->e.before = NULL;
    return NULL;
}

const tc_source *tc_functional_failed(const tc_functional *f) { return f->failed ? &f->failed->source : NULL; }

void tc_functional_skip(tc_functional *f) { f->last = f->g->last; }

static const tc_output_kind mutation_of[] = {[TC_IN_PARAMETER] = TC_OUT_PARAMETER, [TC_IN_BUFFER] = TC_OUT_BUFFER, [TC_IN_USER] = TC_OUT_USER_INPUT};

/* Mutations stand before the results, in the order of the inputs. */
static tc_status add_mutations(tc_functional *f) {
    tc_program *p = f->g->program;
    TC_VEC(tc_output) outs = {0};
    tc_status st = NULL;
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind >= TC_OUT_BUFFER && p->outputs[i].kind <= TC_OUT_USER_INPUT) tc_vec_push(&outs, p->outputs[i]);
    size_t old = outs.len;
    for (int i = 0; i < p->ninputs && !st; i++) {
        tc_value *in = p->inputs[i].value;
        tensor *t = in && in->id < f->tensors.len ? f->tensors.data[in->id] : NULL;
        if (!t || !t->a->base->version || t->a->base->input != i) continue;
        if (p->inputs[i].kind == TC_IN_CONSTANT) {
            st = tc_error(TC_UNSUPPORTED, "the program writes to its constant %s", p->inputs[i].name);
        } else if (p->inputs[i].kind <= TC_IN_USER) {
            tc_output o = {.kind = mutation_of[p->inputs[i].kind], .value = t->a->base->current, .name = p->inputs[i].name, .target = i};
            tc_vec_push(&outs, o);
        }
    }
    if (!st && outs.len > old) {
        for (int i = 0; i < p->noutputs; i++)
            if (p->outputs[i].kind < TC_OUT_BUFFER || p->outputs[i].kind > TC_OUT_USER_INPUT) tc_vec_push(&outs, p->outputs[i]);
        p->noutputs = p->graph->noutputs = 0;
        for (size_t i = 0; i < outs.len; i++) tc_program_add_output(p, outs.data[i]);
    }
    tc_vec_free(&outs);
    return st;
}

tc_status tc_functional_finish(tc_functional *f) {
    tc_graph *g = f->g;
    tc_program *p = g->program;
    TC_TRY(tc_functional_step(f));
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) TC_TRY(tc_functional_current(f, g->outputs[i], &g->outputs[i]));
    for (int i = 0; g == p->graph && i < p->noutputs; i++)
        if (p->outputs[i].value) TC_TRY(tc_functional_current(f, p->outputs[i].value, &p->outputs[i].value));
    if (g == p->graph) return add_mutations(f);
    for (int i = 0; i < g->ninputs; i++) {
        tensor *t = g->inputs[i]->id < f->tensors.len ? f->tensors.data[g->inputs[i]->id] : NULL;
        if (t && t->a->base->version)
            return tc_error(TC_UNSUPPORTED, "%s: a branch or body that writes to its operand %s is not supported", g->name, g->inputs[i]->name);
    }
    return NULL;
}

static tc_status functionalise_graph(tc_graph *g) {
    tc_functional *f = tc_functional_create(g);
    tc_status st = tc_functional_finish(f);
    tc_functional_destroy(f);
    return st;
}

tc_status tc_functionalise(tc_program *p) {
    TC_TRY(functionalise_graph(p->graph));
    TC_TRY(tc_detach_no_grad(p->graph));
    p->functional = true;
    return NULL;
}
