/* The backward sweep (grad.h): marks values that need a gradient, decomposes operators without a rule, calls each node's gradient rule in reverse order
 * and accumulates; then the programs built on it (joint, vjp, jvp). */
#include "grad/grad.h"

#include "grad/internal.h"
#include "op/decompose.h"

#include <stdio.h>
#include <string.h>

/* ---- which values need a gradient ---- */
void grad_mark(sweep *s, const tc_value *v) {
    while (s->need.len <= v->id) {
        tc_vec_push(&s->need, false);
        tc_vec_push(&s->grad, NULL);
    }
    s->need.data[v->id] = true;
}

bool grad_needed(const sweep *s, const tc_value *v) { return v->id < s->need.len && s->need.data[v->id]; }

tc_value *grad_result(const sweep *s, const tc_value *v) { return v->id < s->grad.len ? s->grad.data[v->id] : NULL; }

static bool wants(void *ctx, const tc_value *v) { return grad_needed(ctx, v); }

static bool differentiable(const tc_value *v) { return v->kind == TC_V_TENSOR && (tc_is_float(v->meta.dtype) || tc_is_complex(v->meta.dtype)); }

typedef struct {
    const sweep *s;
    bool any;
} any_needed;
static void look(void *ctx, tc_value **place) {
    any_needed *a = ctx;
    a->any |= grad_needed(a->s, *place);
}

static bool passes_grad(const sweep *s, const tc_node *n) {
    any_needed a = {s, false};
    if (n->straight) return grad_needed(s, n->args[0].value);
    if (!n->no_grad && !(n->op->flags & TC_OP_NONDIFF)) tc_node_each_input(n, look, &a);
    return a.any;
}

/* ---- operators without a rule ---- */
static tc_status taken(tc_emit *e) {
    tc_status st = e->status;
    e->status = NULL;
    return st;
}

typedef struct {
    tc_value *from, *to;
} swap;
static void swap_place(void *ctx, tc_value **v) {
    const swap *w = ctx;
    if (*v == w->from) *v = w->to;
}

/* Makes v a result of the node that produces r, in place of r; false: r is not produced by a node in [first, end). */
static bool take_place(tc_value *v, tc_value *r, tc_node *first, const tc_node *end) {
    tc_node *m = first;
    while (m != end && m != r->producer) m = m->next;
    if (m == end) return false;
    for (int i = 0; i < m->nouts; i++) {
        tc_value *list = m->outs[i];
        if (list == r) m->outs[i] = v;
        else if (list->kind != TC_V_LIST) continue;
        for (int k = 0; list != r && k < list->nlist; k++)
            if (list->list[k] == r) list->list[k] = v;
    }
    v->producer = m;
    v->out_index = r->out_index;
    for (; m != end; m = m->next) tc_node_each_input(m, swap_place, &(swap){r, v});
    return true;
}

/* Replaces n by its decomposition at the same position; its results stay the same values, now produced by the emitted nodes. */
static tc_status expand_in_place(sweep *s, tc_node *n) {
    tc_graph *g = s->graph;
    tc_emit e = {.graph = g, .before = n, .wants = wants, .wants_ctx = s};
    tc_node *before = n->prev;
    tc_map taken_by = {0}; /* a value that is returned twice can be taken once only */
    const bool was = g->program->no_grad;
    g->program->no_grad = n->no_grad; /* the emitted nodes are in the same no_grad mode as n */
    tc_status st = tc_emit_decomposition(&e, n);
    for (int i = 0; i < n->nouts && i < e.nresults && !st; i++) {
        bool list = n->outs[i]->kind == TC_V_LIST;
        int count = list ? n->outs[i]->nlist : n->outs[i]->kind == TC_V_TENSOR;
        for (int k = 0; k < count && !st; k++) {
            tc_value *v = list ? n->outs[i]->list[k] : n->outs[i], *r = !e.results[i] ? NULL : list ? e.results[i]->list[k] : e.results[i];
            if (!r) continue;
            void **seen = tc_map_put(&taken_by, (const char *)&r, sizeof r);
            if (!*seen && take_place(v, r, before ? before->next : g->first, n)) {
                *seen = v;
                continue;
            }
            r = tc_emit_call(&e, "aten::alias", "v", *seen ? *seen : r); /* the result is an argument, or taken already */
            if (r) take_place(v, r, r->producer, n);
            st = taken(&e);
        }
    }
    g->program->no_grad = was;
    tc_map_free(&taken_by);
    if (!st) tc_node_remove(n);
    return st;
}

/* PyTorch's forward mode has formulas of its own, which some operators lack. */
static tc_status lacks_forward(const tc_node *n) {
    if (!(n->op->flags & TC_OP_UNDERIVED) && !tc_op_marked(n->op, TC_MARK_NO_FORWARD)) return NULL;
    const char *file = n->source.file ? n->source.file : "?";
    return tc_error(TC_CONTENT,
                    "NotImplementedError: Trying to use forward AD with %s that does not support it because it has not been implemented yet (%s:%d)",
                    tc_op_schema(n->op)->name, file, n->source.line);
}

/* Forward sweep over the nodes [from, to]: results of nodes that read a value needing a gradient need one, too. Operators without a rule are decomposed
 * first, in place, so that forward and backward share the values that dropout draws. */
tc_status grad_spread(sweep *s, tc_node *from, const tc_node *to) {
    bool last = false;
    for (tc_node *n = from, *next; n && !last; n = next) {
        next = n->next;
        last = n == to;
        if (!passes_grad(s, n)) continue;
        if (s->graph->program->forward_mode && !n->straight) TC_TRY(lacks_forward(n));
        if (!n->op->grad && !n->straight && n->op->decompose && !(n->op->flags & (TC_OP_HIGHER_ORDER | TC_OP_UNDERIVED))) {
            tc_node *before = n->prev, *after = n->next;
            TC_TRY(expand_in_place(s, n), "backward of %s", n->name ? n->name : tc_op_name(n->op));
            next = before ? before->next : s->graph->first;
            if (last && next != after) { /* the last node was decomposed: the end is now the last emitted one */
                to = after ? after->prev : s->graph->last;
                last = false;
            }
            continue;
        }
        for (int i = 0; i < n->nouts; i++) {
            tc_value *v = n->outs[i];
            if (differentiable(v)) grad_mark(s, v);
            for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++)
                if (differentiable(v->list[k])) grad_mark(s, v->list[k]);
        }
    }
    return NULL;
}

/* ---- accumulation ---- */
/* As PyTorch's validate_grad: brings a gradient to the size (sum), realness (real part) and dtype of its value. */
static tc_value *fit(sweep *s, tc_value *grad, const tc_value *v) {
    bool same = grad->meta.rank == v->meta.rank;
    for (int i = 0; same && i < v->meta.rank; i++) same = grad->meta.size[i] == v->meta.size[i];
    if (!same) grad = tc_e_sum_to(&s->e, grad, &v->meta);
    if (grad && tc_is_complex(grad->meta.dtype) && !tc_is_complex(v->meta.dtype)) grad = tc_emit_call(&s->e, "aten::real", "v", grad);
    return tc_e_cast(&s->e, grad, v->meta.dtype);
}

/* A result that carries no gradient, such as the statistics of a normalisation, gets one only from the backward of its own operator. */
static bool carries(const sweep *s, const tc_value *v) {
    const tc_node *n = v->producer;
    if (!n || n->straight || n->op->flags & TC_OP_NONDIFF || v->out_index < 0 || TC_OP_CARRIES(n->op, v->out_index)) return true;
    return s->e.origin == (n->origin ? n->origin : n);
}

void grad_accumulate(sweep *s, tc_value *v, tc_value *grad) {
    if (!grad || s->e.status || !grad_needed(s, v) || !carries(s, v)) return;
    grad = fit(s, grad, v);
    if (!grad) return;
    tc_value **sum = &s->grad.data[v->id];
    *sum = *sum ? tc_e_add(&s->e, *sum, grad) : grad;
}

/* ---- one node ---- */

/* Collects the gradients of n's results; for a list result one list value, with zeros for missing elements. False: none has a gradient. */
static bool result_grads(sweep *s, const tc_node *n, tc_value **gs) {
    tc_arena *a = &s->graph->program->arena;
    bool any = false;
    for (int i = 0; i < n->nouts; i++) {
        const tc_value *v = n->outs[i];
        bool some = false;
        gs[i] = v->kind == TC_V_TENSOR ? grad_result(s, v) : NULL;
        for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) some |= grad_result(s, v->list[k]) != NULL;
        if (some) {
            gs[i] = TC_NEW(a, tc_value);
            *gs[i] = (tc_value){.kind = TC_V_LIST, .nlist = v->nlist, .graph = s->graph, .list = TC_NEWN(a, tc_value *, (size_t)v->nlist)};
            for (int k = 0; k < v->nlist; k++) {
                tc_value *g = grad_result(s, v->list[k]);
                gs[i]->list[k] = g ? g : tc_e_zeros_like(&s->e, v->list[k]);
            }
        }
        any |= gs[i] != NULL;
    }
    return any;
}

tc_status grad_rule(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_arena *a = &e->graph->program->arena;
    e->ngrads = n->nargs;
    e->grads = TC_NEWN(a, tc_value *, (size_t)(n->nargs ? n->nargs : 1));
    e->grad_lists = TC_NEWN(a, tc_value **, (size_t)(n->nargs ? n->nargs : 1));
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_VALUES) e->grad_lists[i] = TC_NEWN(a, tc_value *, (size_t)(n->args[i].n ? n->args[i].n : 1));
    return tc_op_checked(e->graph->program, n->op->grad(e, n, gs));
}

static tc_status by_rule(sweep *s, tc_node *n, tc_value *const *gs) {
    tc_emit *e = &s->e;
    TC_TRY(grad_rule(e, n, gs));
    tc_value **grads = e->grads, ***lists = e->grad_lists;
    for (int i = 0; i < n->nargs && !e->status; i++) {
        const tc_arg *arg = &n->args[i];
        if (arg->kind == TC_A_VALUE && arg->value) grad_accumulate(s, arg->value, grads[i]);
        for (int k = 0; arg->kind == TC_A_VALUES && k < arg->n; k++)
            if (arg->values[k]) grad_accumulate(s, arg->values[k], lists[i][k]);
    }
    return NULL;
}

static tc_status one_node(sweep *s, tc_node *n) {
    tc_value *local[16], **gs = n->nouts <= 16 ? local : TC_NEWN(&s->graph->program->arena, tc_value *, (size_t)n->nouts);
    if (!passes_grad(s, n)) return NULL;
    s->e.source = n->source;
    s->e.origin = n->origin ? n->origin : n;
    if (!result_grads(s, n, gs)) return NULL;
    if (n->straight) {
        grad_accumulate(s, n->args[0].value, gs[0]);
        return NULL;
    }
    TC_TRY(grad_intact(n));
    if (s->request && s->request->passed) s->request->passed(s->request->passed_ctx, n);
    if (n->op->flags & TC_OP_HIGHER_ORDER) return grad_higher_order(s, n, gs);
    if (n->op->grad) return by_rule(s, n, gs);
    if (n->op->flags & TC_OP_UNDERIVED)
        return tc_error(TC_CONTENT, "RuntimeError: the derivative for '%s' is not implemented.", tc_op_schema(n->op)->name);
    return tc_error(TC_UNSUPPORTED, "gradient of %s is not supported", tc_op_name(n->op));
}

tc_status grad_sweep(sweep *s, tc_node *first, tc_node *last) {
    for (tc_node *n = last, *prev; n; n = prev) {
        prev = n == first ? NULL : n->prev;
        tc_status st = one_node(s, n);
        if (!st && s->e.status) {
            st = s->e.status;
            s->e.status = NULL;
        }
        if (!st) continue;
        if (n->source.line)
            return tc_annotate(st, "backward of %s (%s:%d)", n->name ? n->name : tc_op_name(n->op), n->source.file ? n->source.file : "?",
                               n->source.line);
        return tc_annotate(st, "backward of %s", n->name ? n->name : tc_op_name(n->op));
    }
    return NULL;
}

void grad_begin(sweep *s, tc_graph *g) {
    *s = (sweep){.graph = g};
    s->e.graph = g;
    s->e.wants = wants;
    s->e.wants_ctx = s;
}

void grad_end(sweep *s) {
    tc_vec_free(&s->need);
    tc_vec_free(&s->grad);
    tc_status_free(s->e.status);
}

static tc_status seed(sweep *s, const tc_grad_request *r) {
    tc_symctx *c = s->graph->program->sym;
    for (int i = 0; i < r->noutputs; i++) {
        tc_value *y = r->outputs[i], *g = r->cotangents ? r->cotangents[i] : NULL;
        if (!y || !grad_needed(s, y)) continue;
        if (!g) {
            if (tc_sym_known(c, tc_sym_op(c, TC_S_EQ, tc_meta_numel(c, &y->meta), tc_sym_int(c, 1), NULL)) != 1)
                return tc_error(TC_CONTENT, "RuntimeError: grad can be implicitly created only for scalar outputs");
            if (y->producer) s->e.source = y->producer->source;
            g = tc_emit_call(&s->e, "aten::ones_like", "v", y);
        }
        grad_accumulate(s, y, g);
    }
    return taken(&s->e);
}

/* *end: the last node of the forward. */
static tc_status build(const tc_grad_request *r, tc_value **out_grads, tc_node **end) {
    sweep s;
    grad_begin(&s, r->graph);
    s.request = r;
    s.e.casts = r->casts, s.e.autocast = r->autocast;
    for (int i = 0; i < r->nwrt; i++) grad_mark(&s, r->wrt[i]);
    tc_status st = r->graph->last ? grad_spread(&s, r->graph->first, r->graph->last) : NULL;
    tc_node *last = *end = r->graph->last;
    if (!st) st = seed(&s, r);
    if (!st && last) st = grad_sweep(&s, r->graph->first, last);
    for (int i = 0; i < r->nwrt && !st; i++) {
        out_grads[i] = grad_result(&s, r->wrt[i]);
        if (!out_grads[i] && r->zeros) out_grads[i] = tc_e_zeros_like(&s.e, r->wrt[i]);
    }
    if (!st) st = taken(&s.e);
    grad_end(&s);
    return st;
}

tc_status tc_grad_build(const tc_grad_request *r, tc_value **out_grads) {
    tc_node *end;
    return build(r, out_grads, &end);
}

/* ---- programs ---- */
typedef struct {
    tc_program *p;
    tc_value **wrt, **grads; /* grads: NULL where the outputs do not depend on it */
    const char **name;
    int *input, n; /* index of the input; -1: an intermediate value */
} gradients;

static gradients no_gradients(tc_program *p, int most) {
    size_t room = (size_t)most + 1;
    return (gradients){p,
                       TC_NEWN(&p->arena, tc_value *, room),
                       TC_NEWN(&p->arena, tc_value *, room),
                       TC_NEWN(&p->arena, const char *, room),
                       TC_NEWN(&p->arena, int, room),
                       0};
}

static void add_gradient(gradients *g, tc_value *v, const char *name, int input) {
    g->wrt[g->n] = v;
    g->name[g->n] = name;
    g->input[g->n++] = input;
}

static gradients of_inputs(tc_program *p, bool floats) {
    gradients g = no_gradients(p, p->ninputs);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind == TC_IN_USER ? !in->value || !differentiable(in->value) || !(floats || in->value->meta.requires_grad)
                                   : in->kind != TC_IN_PARAMETER || !in->value->meta.requires_grad)
            continue;
        add_gradient(&g, in->value, in->name, i);
    }
    return g;
}

static gradients of_named(tc_program *p, const tc_grad_named *of, int nof) {
    gradients g = no_gradients(p, nof);
    for (int i = 0; i < nof; i++) {
        int input = p->ninputs - 1;
        while (input >= 0 && p->inputs[input].value != of[i].value) input--;
        add_gradient(&g, of[i].value, of[i].name, input);
    }
    return g;
}

static tc_status all_reached(const gradients *g) {
    for (int i = 0; i < g->n; i++)
        if (!g->grads[i]) return tc_error(TC_CONTENT, "what is differentiated does not depend on %s", g->name[i]);
    return NULL;
}

/* Adds up the gradients of tied parameters; the first one gets the sum. */
static tc_status join_tied(gradients *g) {
    tc_emit e = {.graph = g->p->graph};
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->n && g->grads[i] && g->p->inputs[g->input[i]].alias_of >= 0; k++) {
            if (g->input[k] != g->p->inputs[g->input[i]].alias_of || k == i) continue;
            g->grads[k] = g->grads[k] ? tc_e_add(&e, g->grads[k], g->grads[i]) : g->grads[i];
            g->grads[i] = NULL;
        }
    return e.status;
}

static void add_outputs(const gradients *g) {
    tc_program *p = g->p;
    for (int i = 0; i < g->n; i++) {
        int in = g->input[i];
        tc_output_kind kind = in < 0 ? TC_OUT_USER : p->inputs[in].kind == TC_IN_PARAMETER ? TC_OUT_GRAD_PARAMETER : TC_OUT_GRAD_USER;
        if (!g->grads[i]) continue;
        tc_program_add_output(
            p, (tc_output){.kind = kind, .value = g->grads[i], .name = tc_arena_printf(&p->arena, "grad.%s", g->name[i]), .target = in});
    }
}

static tc_status differentiate(gradients *g, bool named, tc_value *const *outputs, tc_value *const *cotangents, int n, tc_dtype autocast,
                               tc_node **out_end) {
    tc_node *end;
    if (!g->p->functional) TC_BUG("differentiating a program that is not functional");
    tc_grad_request r = {.graph = g->p->graph, .outputs = outputs, .cotangents = cotangents, .noutputs = n, .wrt = g->wrt, .nwrt = g->n};
    r.casts = autocast != TC_DTYPE_NONE, r.autocast = autocast;
    TC_TRY(build(&r, g->grads, &end));
    if (end) grad_recompute(g->p->graph, end);
    if (out_end) *out_end = end;
    TC_TRY(named ? all_reached(g) : join_tied(g));
    add_outputs(g);
    return NULL;
}

tc_status tc_grad_program(tc_program *p, int loss, tc_dtype autocast, const tc_grad_named *of, int nof, tc_node **out_end) {
    if (loss < 0 || loss >= p->noutputs || !p->outputs[loss].value) return tc_error(TC_USAGE, "the program has no output %d to differentiate", loss);
    gradients g = nof ? of_named(p, of, nof) : of_inputs(p, false);
    if (!g.n) g = of_inputs(p, true);
    p->outputs[loss].kind = TC_OUT_LOSS;
    return differentiate(&g, nof, &p->outputs[loss].value, NULL, 1, autocast, out_end);
}

/* A data-dependent size, used as the size of an input, becomes a new symbol with a guard that both are equal. */
static tc_sym size_of_input(tc_program *p, tc_sym size, const tc_value *v) {
    if (!tc_sym_holds_data(size)) return size;
    char name[32];
    int i = 0;
    do snprintf(name, sizeof name, "T%d", i++);
    while (tc_sym_find(p->sym, name));
    tc_sym own = tc_sym_var(p->sym, name, TC_SYM_INT, 0, TC_SYM_NO_HI);
    const char *op = v->producer ? tc_op_name(v->producer->op) : NULL;
    tc_program_guard(
        p, (tc_guard){.cond = tc_sym_op(p->sym, TC_S_EQ, own, size, NULL), .op = op, .source = v->producer ? v->producer->source : (tc_source){0}});
    return own;
}

/* Adds an input of v's type. */
static tc_value *add_tangent(tc_program *p, const tc_value *v, const char *name) {
    tc_value *t = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, "tangents"));
    tc_sym size[TC_MAX_RANK];
    for (int d = 0; d < v->meta.rank; d++) size[d] = size_of_input(p, v->meta.size[d], v);
    t->meta = tc_meta_make(&p->arena, v->meta.dtype, v->meta.rank, size, NULL);
    tc_program_add_input(p,
                         (tc_input){.kind = TC_IN_USER, .value = t, .name = tc_arena_printf(&p->arena, "%s%s", TC_TANGENTS, name), .alias_of = -1});
    return t;
}

/* The floating-point results. out, which: the caller's arrays of p->noutputs entries; which[i]: output index. */
static tc_status smooth_results(const tc_program *p, tc_value **out, int *which, int *n) {
    *n = 0;
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        if (o->kind != TC_OUT_USER || !o->value || !differentiable(o->value)) continue;
        which[*n] = i;
        out[(*n)++] = o->value;
    }
    return *n ? NULL : tc_error(TC_CONTENT, "program %s has no result of floating point to differentiate", p->name);
}

tc_status tc_grad_program_vjp(tc_program *p, const tc_grad_named *of, int nof, tc_node **out_end) {
    gradients g = nof ? of_named(p, of, nof) : of_inputs(p, true);
    size_t room = (size_t)p->noutputs + 1;
    tc_value **outputs = TC_NEWN(&p->arena, tc_value *, room), **cotangents = TC_NEWN(&p->arena, tc_value *, room);
    int n, *which = TC_NEWN(&p->arena, int, room);
    TC_TRY(smooth_results(p, outputs, which, &n));
    for (int i = 0; i < n; i++) cotangents[i] = add_tangent(p, outputs[i], p->outputs[which[i]].name);
    p->in_tree = p->out_tree = NULL;
    return differentiate(&g, nof, outputs, cotangents, n, TC_DTYPE_NONE, out_end);
}

/* Builds the vector-Jacobian product of the floating-point user inputs, for cotangents `dummy`. */
static tc_status vjp_at(tc_program *p, tc_value *const *results, int n, tc_value **dummy, gradients *g) {
    tc_emit e = {.graph = p->graph};
    /* any value will do: the vjp is linear in its cotangents */
    for (int i = 0; i < n; i++) dummy[i] = tc_emit_call(&e, "aten::ones_like", "v", results[i]);
    TC_TRY(taken(&e));
    *g = no_gradients(p, p->ninputs);
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER && p->inputs[i].value && differentiable(p->inputs[i].value))
            add_gradient(g, p->inputs[i].value, p->inputs[i].name, i);
    if (!g->n) return tc_error(TC_CONTENT, "program %s has no input of floating point to differentiate by", p->name);
    return tc_grad_build(&(tc_grad_request){p->graph, results, dummy, n, g->wrt, g->n, .zeros = true}, g->grads);
}

tc_status tc_grad_program_jvp(tc_program *p) {
    size_t room = (size_t)p->noutputs + 1;
    tc_value **results = TC_NEWN(&p->arena, tc_value *, room), **dummy = TC_NEWN(&p->arena, tc_value *, room),
             **rates = TC_NEWN(&p->arena, tc_value *, room);
    int n, *which = TC_NEWN(&p->arena, int, room);
    gradients g;
    if (!p->functional) TC_BUG("differentiating a program that is not functional");
    TC_TRY(smooth_results(p, results, which, &n));
    p->forward_mode = true;
    tc_status st = vjp_at(p, results, n, dummy, &g);
    p->forward_mode = false;
    TC_TRY(st);
    tc_value **along = TC_NEWN(&p->arena, tc_value *, (size_t)g.n);
    for (int i = 0; i < g.n; i++) along[i] = add_tangent(p, g.wrt[i], g.name[i]);
    TC_TRY(tc_grad_build(&(tc_grad_request){p->graph, g.grads, along, g.n, dummy, n, .zeros = true}, rates));
    for (int i = 0; i < n; i++)
        tc_program_add_output(
            p, (tc_output){.kind = TC_OUT_USER, .value = rates[i], .name = tc_arena_printf(&p->arena, "jvp.%s", p->outputs[which[i]].name)});
    p->in_tree = p->out_tree = NULL;
    return NULL;
}
