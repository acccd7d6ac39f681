/* Higher-order functions: torch.cond, while_loop, map, autograd.Function and torch.autograd.grad. Each body is captured into its own subgraph (a
 * region); values of the enclosing graph that a body reads become operands. */
#include "capture/torch_data.h"
#include "capture/retain_graph.h"
#include "grad/grad.h"
#include "op/functionalise.h"

#include <stdio.h>

/* ---- regions ---- */
void tc_torch_enter(C *c, region *r, tc_graph *g) {
    r->outer = c->torch->region;
    r->graph = g;
    c->torch->region = r;
    c->torch->graph = g;
}

void tc_torch_leave(C *c) {
    region *r = c->torch->region;
    if (r->functional) {
        const tc_status st = tc_functional_finish(r->functional);
        if (st) tc_raise_status(c, "RuntimeError", st);
        tc_functional_destroy(r->functional);
        r->functional = NULL;
    }
    c->torch->region = r->outer;
    c->torch->graph = r->outer ? r->outer->graph : NULL;
}

void tc_torch_unwind(C *c, region *to) {
    for (region *r = c->torch->region; r && r != to; r = r->outer) {
        if (r->functional) tc_functional_destroy(r->functional);
        r->functional = NULL;
    }
    c->torch->region = to;
    c->torch->graph = to ? to->graph : NULL;
}

static tc_value *inner_input(tc_graph *g, const tc_value *like, const char *hint) {
    tc_value *v = tc_graph_value(g, like->kind, hint ? hint : like->name);
    tc_value_copy_type(v, like);
    return tc_graph_add_input(g, v);
}

static tc_value *lift_into(C *c, region *r, tc_value *v) {
    if (v->graph == r->graph) return v;
    if (!r->outer) tc_raise(c, "RuntimeError", "a tensor of a branch or body was used outside of it (%s)", v->name);
    v = lift_into(c, r->outer, v);
    for (size_t i = 0; i < r->from.len; i++)
        if (r->from.data[i] == v) return r->to.data[i];
    if (r->saves) tc_graph_add_output(r->outer->graph, v);
    tc_value *in = inner_input(r->graph, v, NULL);
    tc_avec_push(c, &r->from, v);
    tc_avec_push(c, &r->to, in);
    return in;
}

tc_value *tc_torch_lift_region(C *c, tc_value *outer) { return lift_into(c, c->torch->region, outer); }

static tc_graph *subgraph(C *c, const char *hint) {
    tc_graph *g = c->torch->graph;
    return tc_graph_create(g->program, g, tc_graph_unique(g, hint));
}

/* r->shared: the operands are the values themselves, each once even if it is passed several times. */
static V inner_tensor(C *c, region *r, V t) {
    tc_value *v = tc_torch_value(c, t); /* in the outer graph: called before the region is entered */
    for (size_t i = 0; r->shared && i < r->from.len; i++)
        if (r->from.data[i] == v) return tc_torch_wrap_value(c, r->to.data[i]);
    tc_value *in = inner_input(r->graph, v, NULL);
    tc_avec_push(c, &r->from, v);
    tc_avec_push(c, &r->to, in);
    return tc_torch_wrap_value(c, in);
}

/* Copies nested tuples, lists and dicts, with f applied to the tensors. */
typedef V (*leaf_fn)(C *c, void *ctx, V t);
static V mapped(C *c, V v, leaf_fn f, void *ctx) {
    tc_stack_check(c);
    kind k = tc_kind_of(v);
    if (k == K_TENSOR) return f(c, ctx, v);
    if (k == K_DICT) {
        dict *d = tc_dict(c);
        d->h.type = v->type;
        V key, x;
        for (size_t i = 0; tc_dict_next((dict *)v, &i, &key, &x);) tc_dict_set(c, d, key, mapped(c, x, f, ctx));
        return (V)d;
    }
    if (!tc_is_seq(v)) return v;
    size_t n;
    V *a = tc_items(v, &n);
    V r = k == K_LIST ? tc_list_of(c, n, a) : tc_tuple(c, n, a);
    r->type = v->type;
    V *b = tc_items(r, &n);
    for (size_t i = 0; i < n; i++) b[i] = mapped(c, a[i], f, ctx);
    return r;
}

static V leaf_inner(C *c, void *ctx, V t) { return inner_tensor(c, ctx, t); }

static V leaf_output(C *c, void *ctx, V t) {
    tc_graph *g = ctx;
    tc_graph_add_output(g, tc_torch_value(c, t));
    return t;
}

typedef struct {
    tc_node *node;
    int i;
} results;
static V leaf_result(C *c, void *ctx, V t) {
    (void)t;
    results *r = ctx;
    return tc_torch_wrap_value(c, r->node->outs[r->i++]);
}

static V call_with(C *c, V f, V operands) {
    size_t n;
    V *a = tc_items(operands, &n);
    args A = {.a = a, .n = (int)n};
    return tc_call(c, f, &A);
}

static void need_graph(C *c, const char *what) {
    if (!c->torch->graph) tc_raise(c, "RuntimeError", "%s of tensors runs only inside a capture", what);
}

/* Gives every region the union of their operands in the same order. */
static void unify(C *c, region **r, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (size_t k = 0; k < r[j]->from.len; k++) {
                bool has = false;
                for (size_t m = 0; m < r[i]->from.len; m++) has |= r[i]->from.data[m] == r[j]->from.data[k];
                if (has) continue;
                tc_value *in = inner_input(r[i]->graph, r[j]->from.data[k], NULL);
                tc_avec_push(c, &r[i]->from, r[j]->from.data[k]);
                tc_avec_push(c, &r[i]->to, in);
            }
    for (int i = 1; i < n; i++) { /* in the order of the first region */
        tc_value **inputs = TC_NEWN(&r[i]->graph->program->arena, tc_value *, r[0]->from.len + 1);
        for (size_t k = 0; k < r[0]->from.len; k++)
            for (size_t m = 0; m < r[i]->from.len; m++)
                if (r[i]->from.data[m] == r[0]->from.data[k]) inputs[k] = r[i]->to.data[m];
        r[i]->graph->inputs = inputs;
    }
}

static tc_arg graph_arg(tc_graph *g) { return (tc_arg){.kind = TC_A_GRAPH, .graph = g}; }
static tc_arg values_arg(tc_program *p, tc_value *const *v, size_t n) {
    return (tc_arg){.kind = TC_A_VALUES, .n = (int)n, .values = n ? tc_arena_dup(&p->arena, v, n * sizeof *v) : TC_NEWN(&p->arena, tc_value *, 1)};
}

static tc_node *emit(C *c, const char *name, const tc_arg *a, int n) {
    const tc_op *op = tc_op_find(name);
    if (!op) tc_raise_code(c, TC_UNSUPPORTED, "%s is not supported", name);
    tc_node *node;
    c->torch->graph->program->no_grad = c->torch->no_grad;
    tc_status st = tc_graph_call(c->torch->graph, op, a, n, tc_here(c), NULL, &node);
    if (st) tc_raise_status(c, "RuntimeError", st);
    return node;
}

static V h_cond(C *c, args *A) {
    V v[4];
    tc_take(c, A, "cond", "pred true_fn false_fn operands", v);
    if (tc_is_tensor(v[0]) && !c->torch->graph) return call_with(c, tc_truth(c, v[0]) ? v[1] : v[2], v[3]);
    need_graph(c, "torch.cond");
    tc_value *pred = tc_torch_value(c, v[0]);
    region *r[2];
    V out[2];
    for (int i = 0; i < 2; i++) {
        r[i] = tc_mem(c, sizeof(region));
        r[i]->graph = subgraph(c, i ? "false_graph" : "true_graph");
        r[i]->shared = true;
        r[i]->pure = "torch.cond";
        V in = mapped(c, v[3], leaf_inner, r[i]);
        tc_torch_enter(c, r[i], r[i]->graph);
        out[i] = call_with(c, v[1 + i], in);
        mapped(c, out[i], leaf_output, r[i]->graph);
        tc_torch_leave(c);
    }
    unify(c, r, 2);
    tc_program *p = c->torch->graph->program;
    tc_arg a[4] = {
        {.kind = TC_A_VALUE, .value = pred}, graph_arg(r[0]->graph), graph_arg(r[1]->graph), values_arg(p, r[0]->from.data, r[0]->from.len)};
    results res = {emit(c, "higher_order::cond", a, 4), 0};
    return mapped(c, out[0], leaf_result, &res);
}

/* Loops that grow: sizes of carried tensors that a body changes are symbols of its input, own[k][d]; 0 where the size is the operand's. */
typedef tc_sym own_sizes[TC_MAX_RANK];

static void own_inputs(const region *r, own_sizes *own, size_t n) {
    for (size_t k = 0; k < n; k++) {
        tc_meta *m = &r->to.data[k]->meta;
        tc_sym size[TC_MAX_RANK];
        bool any = false;
        for (int d = 0; d < m->rank; d++) size[d] = own[k][d] ? own[k][d] : m->size[d], any |= own[k][d] != NULL;
        if (any) *m = tc_meta_make(&r->graph->program->arena, m->dtype, m->rank, size, NULL);
    }
}

/* Adds the sizes that the body may change and that are not its own yet. Is there one? The body is then captured again. */
static bool find_own_sizes(const tc_graph *body, own_sizes *own, size_t n) {
    tc_program *p = body->program;
    bool any = false;
    for (size_t k = 0; k < n && k < (size_t)body->noutputs; k++) {
        const tc_value *in = body->inputs[k], *o = body->outputs[k];
        const bool tensors = in && o && in->kind == TC_V_TENSOR && o->kind == TC_V_TENSOR && in->meta.rank == o->meta.rank;
        for (int d = 0; tensors && d < in->meta.rank; d++) {
            const tc_sym a = in->meta.size[d], b = o->meta.size[d];
            if (own[k][d] || a == b || tc_sym_known(p->sym, tc_sym_op(p->sym, TC_S_EQ, a, b, NULL)) == 1) continue;
            own[k][d] = tc_program_fresh(p, TC_SYM_INT, 0, TC_SYM_NO_HI);
            any = true;
        }
    }
    return any;
}

/* Is the body to be captured again, with sizes of its own? The guards of this capture, from the first-th on, that have data-dependent numbers of its
 * own, the symbols from `var` on, then go; what was learnt of other sizes stays true. */
static bool captured_anew(C *c, const tc_graph *body, own_sizes *own, size_t n, size_t first, size_t var) {
    tc_program *p = body->program;
    const size_t end = tc_sym_var_count(p->sym);
    if (!find_own_sizes(body, own, n)) return false;
    size_t kept = first;
    for (size_t i = first; i < p->guards.len; i++) {
        bool of_body = false;
        for (size_t k = var; k < end && !of_body; k++) of_body = tc_sym_contains(p->guards.data[i].cond, tc_sym_var_at(p->sym, k));
        if (!of_body) p->guards.data[kept++] = p->guards.data[i];
    }
    p->guards.len = kept, c->torch->simplified = SIZE_MAX;
    return true;
}

/* grows: carried tensors may have another size in each iteration, as in ONNX; torch.while_loop refuses this. */
static V h_while(C *c, args *A) {
    V v[4];
    tc_take(c, A, "while_loop", "cond_fn body_fn carried_inputs grows=", v);
    if (!c->torch->graph) {
        V state = v[2];
        while (tc_truth(c, call_with(c, v[0], state))) {
            tc_step(c);
            state = call_with(c, v[1], state);
        }
        return state;
    }
    size_t n;
    V *items = tc_items(v[2], &n);
    V carried = tc_tuple(c, n, items);
    for (size_t i = 0; i < n; i++)
        if (tc_is_int(items[i]) || tc_kind_of(items[i]) == K_SYM) ((tuple *)carried)->a[i] = tc_torch_full0(c, items[i], TC_I64);
    tc_program *p = c->torch->graph->program;
    region *r[2];
    V out[2];
    size_t ncarried = 0;
    TC_VEC(tc_value *) start = {0};
    own_sizes *own = NULL;
    size_t guards, symbols;
again:
    start.len = 0, guards = p->guards.len, symbols = tc_sym_var_count(p->sym);
    for (int i = 0; i < 2; i++) {
        r[i] = tc_mem(c, sizeof(region));
        r[i]->graph = subgraph(c, i ? "body_graph" : "cond_graph");
        r[i]->pure = "torch.while_loop";
        V in = mapped(c, carried, leaf_inner, r[i]);
        if (i == 0)
            for (size_t k = 0; k < r[0]->from.len; k++) tc_avec_push(c, &start, r[0]->from.data[k]);
        ncarried = start.len;
        if (!own) own = tc_mem(c, (ncarried + 1) * sizeof *own);
        own_inputs(r[i], own, ncarried);
        /* a carried value differs from the outer tensor that it is initialised with, which must not replace it in the body */
        for (size_t k = 0; k < ncarried; k++) r[i]->from.data[k] = tc_mem(c, sizeof(tc_value));
        tc_torch_enter(c, r[i], r[i]->graph);
        out[i] = call_with(c, v[i], in);
        r[i]->graph->single_tensor_return = i == 0;
        mapped(c, out[i], leaf_output, r[i]->graph);
        tc_torch_leave(c);
    }
    if (v[3] && tc_truth(c, v[3]) && captured_anew(c, r[1]->graph, own, ncarried, guards, symbols)) goto again;
    if (!tc_is_tensor(out[0])) tc_raise(c, "RuntimeError", "torch.while_loop: cond_fn must return a boolean tensor, not %s", tc_type_name(c, out[0]));
    for (size_t k = 0; k < ncarried; k++) r[1]->from.data[k] = r[0]->from.data[k];
    unify(c, r, 2);
    tc_arg a[4] = {graph_arg(r[0]->graph), graph_arg(r[1]->graph), values_arg(p, start.data, ncarried),
                   values_arg(p, r[0]->from.data + ncarried, r[0]->from.len - ncarried)};
    results res = {emit(c, "higher_order::while_loop", a, 4), 0};
    return mapped(c, carried, leaf_result, &res);
}

/* map(f, xs, more): f of every slice of the tensors in xs along dimension 0, results stacked. */
typedef struct {
    region *r;
    TC_VEC(tc_value *) outer;
} slices;
static V leaf_slice(C *c, void *ctx, V t) {
    slices *s = ctx;
    tc_value *v = tc_torch_value(c, t);
    if (v->meta.rank == 0) tc_raise(c, "ValueError", "vmap or map: an input has no dimension to map over");
    tc_value *in = tc_graph_value(s->r->graph, TC_V_TENSOR, v->name);
    in->meta = tc_meta_make(&s->r->graph->program->arena, v->meta.dtype, v->meta.rank - 1, v->meta.size + 1, NULL);
    in->meta.requires_grad = v->meta.requires_grad;
    tc_graph_add_input(s->r->graph, in);
    tc_avec_push(c, &s->outer, v);
    return tc_torch_wrap_value(c, in);
}
/* Does the call have data-dependent sizes, where its arguments allow a choice? */
static bool has_data_shape(const tc_node *n) {
    bool found = false;
    for (int i = 0; n->op->flags & TC_OP_DATA_SHAPE && i < n->nouts; i++)
        for (int d = 0; n->outs[i] && d < n->outs[i]->meta.rank; d++) found |= tc_sym_holds_data(n->outs[i]->meta.size[d]);
    return found;
}
/* Does it draw random numbers? Dropout with p of 0 or 1 does not. */
static bool draws(const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    for (int i = 0; strstr(s->name, "dropout") && i < s->nparams && i < n->nargs; i++)
        if (!strcmp(s->params[i].name, "p") && (tc_arg_float(n, i) == 0 || tc_arg_float(n, i) == 1)) return false;
    return n->op->flags & TC_OP_RANDOM;
}
/* What vmap refuses in its body: data-dependent sizes, and random numbers depending on `randomness`. Each call of a body draws anew, which is
 * randomness="different". */
static void check_batched(C *c, const tc_graph *g, V mode) {
    for (const tc_node *n = g->first; n; n = n->next)
        if (has_data_shape(n))
            tc_raise(c, "RuntimeError", "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over %s",
                     tc_op_name(n->op));
    if (tc_kind_of(mode) != K_STR || !strcmp(tc_as_str(mode)->s, "different")) return;
    for (const tc_node *n = g->first; n; n = n->next) {
        if (!draws(n)) continue;
        if (!strcmp(tc_as_str(mode)->s, "same"))
            tc_raise(c, "NotImplementedError", "vmap with randomness='same' is not part of the model language: draw before vmap");
        tc_raise(c, "RuntimeError",
                 "vmap: called random operation while in randomness error mode. Please either use the 'different' randomness flag on vmap or "
                 "perform the randomness operation out of vmap");
    }
}

/* The inputs of a body that it wrote to, in ascending order; what they hold then becomes results of its own, behind those so far. */
typedef struct {
    TC_VEC(size_t) which;
} input_writes;
static void find_writes(C *c, region *r, size_t ninputs, input_writes *w) {
    if (!r->functional) r->functional = tc_functional_create(r->graph);
    for (size_t i = 0; i < ninputs; i++) {
        tc_value *now = NULL;
        const tc_status st = tc_functional_written(r->functional, r->graph->inputs[i], &now);
        if (st) tc_raise_status(c, "RuntimeError", st);
        if (!now) continue;
        tc_graph_add_output(r->graph, now);
        tc_avec_push(c, &w->which, i);
    }
}

/* map(f, xs) gives f's results; with a mode, vmap's, also pairs of a number i and the values, stacked, that the ith slice has after f wrote to it. */
static V h_map(C *c, args *A) {
    V v[3] = {0};
    tc_take(c, A, "map", "f xs mode=", v);
    need_graph(c, "torch.vmap");
    region *r = tc_mem(c, sizeof *r);
    r->graph = subgraph(c, "body_graph");
    slices s = {.r = r};
    V in = mapped(c, v[1], leaf_slice, &s);
    tc_torch_enter(c, r, r->graph);
    V out = call_with(c, v[0], in);
    mapped(c, out, leaf_output, r->graph);
    input_writes w = {0};
    if (v[2]) check_batched(c, r->graph, v[2]);
    if (v[2]) find_writes(c, r, s.outer.len, &w);
    tc_torch_leave(c);
    tc_program *p = c->torch->graph->program;
    tc_arg a[3] = {graph_arg(r->graph), values_arg(p, s.outer.data, s.outer.len), values_arg(p, r->from.data, r->from.len)};
    results res = {emit(c, "higher_order::map_impl", a, 3), 0};
    out = mapped(c, out, leaf_result, &res);
    if (!v[2]) return out;
    V written = tc_tuple(c, w.which.len, NULL);
    for (size_t i = 0; i < w.which.len; i++)
        ((tuple *)written)->a[i] = tc_tuple_of(c, 2, tc_int(c, (int64_t)w.which.data[i]), leaf_result(c, &res, NULL));
    return tc_tuple_of(c, 2, out, written);
}

/* scan(f, init, xs): new, y = f(carry, x) for every slice x of xs along dimension 0; the last carry and the stacked y. */
static V h_scan(C *c, args *A) {
    V v[4];
    tc_take(c, A, "scan", "f init xs grows=", v);
    need_graph(c, "torch.scan");
    own_sizes *own = NULL;
    tc_program *p = c->torch->graph->program;
again:;
    const size_t guards = p->guards.len, symbols = tc_sym_var_count(p->sym);
    region *r = tc_mem(c, sizeof *r);
    r->graph = subgraph(c, "combine_graph");
    r->pure = "scan";
    TC_VEC(tc_value *) start = {0};
    V carry = mapped(c, v[1], leaf_inner, r);
    for (size_t k = 0; k < r->from.len; k++) {
        tc_avec_push(c, &start, r->from.data[k]);
        r->from.data[k] = tc_mem(c, sizeof(tc_value)); /* a carried value differs from the outer tensor that it is initialised with */
    }
    size_t ninit = start.len, n;
    if (!own) own = tc_mem(c, (ninit + 1) * sizeof *own);
    own_inputs(r, own, ninit);
    slices s = {.r = r};
    V in = mapped(c, v[2], leaf_slice, &s);
    tc_torch_enter(c, r, r->graph);
    V out = tc_call2(c, v[0], carry, in);
    V *pair = tc_is_seq(out) ? tc_items(out, &n) : NULL;
    if (!pair || n != 2) tc_raise(c, "TypeError", "scan: the function must return a pair: the new carry and what is stacked");
    mapped(c, pair[0], leaf_output, r->graph);
    mapped(c, pair[1], leaf_output, r->graph);
    tc_torch_leave(c);
    if (v[3] && tc_truth(c, v[3]) && captured_anew(c, r->graph, own, ninit, guards, symbols)) goto again;
    tc_arg a[4] = {graph_arg(r->graph), values_arg(p, start.data, ninit), values_arg(p, s.outer.data, s.outer.len),
                   values_arg(p, r->from.data + ninit, r->from.len - ninit)};
    results res = {emit(c, "higher_order::scan", a, 4), 0};
    V last = mapped(c, pair[0], leaf_result, &res);
    return tc_tuple_of(c, 2, last, mapped(c, pair[1], leaf_result, &res));
}

/* ---- torch.autograd ---- */
static bool wants_grad(V t) {
    tensor *x = (tensor *)t;
    return x->requires_grad || (x->v && x->v->meta.requires_grad);
}

static V run_forward(C *c, V cls, V ctx, V operands) {
    V fwd = tc_getattr(c, cls, c->n_forward);
    V setup = tc_type_lookup(c, (type *)cls, tc_intern(c, "setup_context", 13));
    size_t n;
    V *a = tc_items(operands, &n);
    if (setup) {
        V out = call_with(c, fwd, operands);
        tc_call3(c, tc_getattr(c, cls, tc_intern(c, "setup_context", 13)), ctx, operands, out);
        return out;
    }
    V *b = tc_mem(c, sizeof(V) * (n + 1));
    b[0] = ctx;
    if (n) memcpy(b + 1, a, n * sizeof(V));
    return tc_call(c, fwd, &(args){.a = b, .n = (int)n + 1});
}

/* Inside the call no backward is recorded. */
static V run_forward_alone(C *c, V cls, V ctx, V operands) {
    V volatile out = NULL;
    const bool was = c->torch->no_grad;
    trap t;
    c->torch->no_grad = true;
    if (TC_TRAP_PASSING(c, t)) {
        out = run_forward(c, cls, ctx, operands);
        tc_untrap(c, &t);
    }
    c->torch->no_grad = was;
    if (!out) tc_raise_again(c, c->exc);
    return out;
}

/* leaves([tensors]): the tensors that torch.autograd.backward gives gradients: those made in this backward that require one, and its operands
 * from around it, each one object, whose .grad is the sum. With tensors: these, of its operands their objects. */
static V h_leaves(C *c, args *A) {
    list *asked = A->n ? tc_to_list(c, A->a[0]) : NULL;
    region *r = c->torch->region;
    if (!r || !r->saves)
        tc_raise(c, "RuntimeError", "backward() is what tc-train does: inside forward use torch.autograd.grad%s",
                 r ? "" : ", which runs only inside a capture");
    for (size_t k = 0; asked && k < asked->n; k++) {
        if (!tc_is_tensor(asked->a[k])) tc_raise(c, "TypeError", "inputs of backward must be tensors, not %s", tc_type_name(c, asked->a[k]));
        (void)tc_torch_value(c, asked->a[k]); /* an operand from here on */
    }
    for (size_t k = 0; k < r->to.len; k++) {
        bool has = !r->to.data[k]->meta.requires_grad;
        for (size_t i = 0; i < r->leaves.len && !has; i++) has = r->leaves.data[i]->v == r->to.data[k];
        if (!has) tc_avec_push(c, &r->leaves, (tensor *)tc_torch_wrap_value(c, r->to.data[k]));
    }
    for (size_t k = 0; asked && k < asked->n; k++)
        for (size_t i = 0; i < r->leaves.len; i++)
            if (r->leaves.data[i]->v == tc_torch_value(c, asked->a[k])) asked->a[k] = (V)r->leaves.data[i];
    return asked ? (V)asked : tc_tuple(c, r->leaves.len, (V *)r->leaves.data);
}

/* The sum of the gradients that backward gave x, a value of the region around b. NULL: none. */
static tc_value *given(C *c, const region *b, const tc_value *x) {
    for (size_t k = 0; k < b->from.len; k++)
        for (size_t i = 0; b->from.data[k] == x && i < b->leaves.len; i++)
            if (b->leaves.data[i]->v == b->to.data[k] && b->leaves.data[i]->grad) return tc_torch_value(c, b->leaves.data[i]->grad);
    return NULL;
}

/* A recomputation that drew other numbers than the forward would give wrong gradients. */
static void check_redraws(C *c, const region *b) {
    for (const tc_node *n = b->graph->first; b->redraws && n; n = n->next)
        if (draws(n))
            tc_raise_code(c, TC_UNSUPPORTED,
                          "%s (%s:%d) in a backward that sets the generator's state does not draw what its forward drew: keep that "
                          "with ctx.save_for_backward",
                          tc_op_name(n->op), n->source.file ? n->source.file : "?", n->source.line);
}

/* Calls backward and leaves its region. direct: how many operands are tensors. One that fails matters only to who asks for gradients: its message
 * takes the place of its graph. */
static const char *record_backward(C *c, region *b, V cls, V grads, const V *operands, size_t n, size_t direct) {
    const char *volatile failed = NULL;
    region *outer = b->outer;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        V back = call_with(c, tc_getattr(c, cls, tc_intern(c, "backward", 8)), grads);
        if (!tc_is_seq(back)) back = tc_tuple(c, 1, &back);
        size_t nb;
        V *gb = tc_items(back, &nb);
        bool fits = nb >= n;
        for (size_t i = n; i < nb; i++) fits &= gb[i] == c->none;
        if (!fits)
            tc_raise(c, "RuntimeError", "function %s returned an incorrect number of gradients (expected %zu, got %zu)", ((type *)cls)->name->s, n,
                     nb);
        for (size_t i = 0; i < n; i++) {
            if (!tc_is_tensor(operands[i])) continue;
            tc_graph_add_output(b->graph, tc_is_tensor(gb[i]) ? tc_torch_value(c, gb[i]) : NULL);
        }
        check_redraws(c, b);
        for (size_t i = direct; i < b->outer->from.len; i++) tc_graph_add_output(b->graph, given(c, b, b->outer->to.data[i]));
        tc_torch_leave(c);
        tc_untrap(c, &t);
    } else {
        if (tc_exc_is(c, c->exc, "LimitError")) tc_raise_again(c, c->exc);
        tc_status s = tc_exc_status(c, c->exc);
        failed = tc_arena_strdup(&c->torch->graph->program->arena, tc_status_message(s));
        tc_status_free(s);
        tc_torch_unwind(c, outer);
    }
    return failed;
}

/* Does any node of g write to a tensor? */
static bool writes(const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next)
        if (tc_op_functional(n->op) != n->op) return true;
    return false;
}

/* A call of apply(): inner[i] stands for the operand outer[i] in forward, dirty what forward marked so. */
typedef struct {
    V *inner, *outer, *dirty;
    size_t n, ndirty, given;
    results res;
} applied;
static bool is_dirty(const applied *f, V t) {
    for (size_t i = 0; i < f->ndirty; i++)
        if (f->dirty[i] == t) return true;
    return false;
}

/* A result of forward; what it marked dirty is the operand itself, which becomes it. */
static V leaf_applied(C *c, void *ctx, V t) {
    applied *f = ctx;
    V r = leaf_result(c, &f->res, t);
    if (!is_dirty(f, t)) return r;
    f->given++;
    for (size_t i = 0; i < f->n; i++)
        if (f->inner[i] == t) return tc_call1(c, tc_getattr(c, f->outer[i], tc_intern(c, "copy_", 5)), r);
    return r;
}

/* The results of forward; operands that it wrote to without marking them hold the rest, and keep their gradient history. */
static V take_results(C *c, applied *f, V ctx, V out, const input_writes *w) {
    out = mapped(c, out, leaf_applied, f);
    if (f->given < f->ndirty)
        tc_raise(c, "RuntimeError",
                 "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                 "modified inplace must all be outputs of the Function.");
    for (size_t i = 0, input = 0, k = 0; i < f->n && k < w->which.len; i++) {
        if (!tc_is_tensor(f->outer[i]) || input++ != w->which.data[k]) continue;
        V now = leaf_result(c, &f->res, NULL);
        if (!is_dirty(f, f->inner[i])) tc_call2(c, tc_getattr(c, ctx, tc_intern(c, "wrote", 5)), f->outer[i], now);
        k++;
    }
    return out;
}

static V h_function(C *c, args *A) {
    V v[3];
    tc_take(c, A, "apply", "cls ctx operands", v);
    size_t n;
    V *a = tc_items(v[2], &n);
    bool any = false;
    V needs = tc_tuple(c, n, NULL);
    for (size_t i = 0; i < n; i++) {
        bool w = tc_is_tensor(a[i]) && wants_grad(a[i]);
        ((tuple *)needs)->a[i] = tc_bool(c, w);
        any |= w;
    }
    V ctx = tc_call1(c, v[1], needs);
    if (!any || c->torch->no_grad) return run_forward_alone(c, v[0], ctx, v[2]);
    if (!c->torch->graph) return run_forward(c, v[0], ctx, v[2]);
    tc_program *p = c->torch->graph->program;
    region *f = tc_mem(c, sizeof *f), *b = tc_mem(c, sizeof *b);
    f->graph = subgraph(c, "forward_graph"), b->graph = subgraph(c, "backward_graph");
    V in = tc_tuple(c, n, a);
    for (size_t i = 0; i < n; i++)
        if (tc_is_tensor(a[i])) ((tuple *)in)->a[i] = inner_tensor(c, f, a[i]);
    const size_t direct = f->from.len;
    tc_torch_enter(c, f, f->graph);
    V out = run_forward_alone(c, v[0], ctx, in);
    f->graph->single_tensor_return = tc_is_tensor(out);
    mapped(c, out, leaf_output, f->graph);
    const int nreturned = f->graph->noutputs;
    input_writes w = {0};
    if (writes(f->graph)) find_writes(c, f, direct, &w);
    int nresults = f->graph->noutputs;
    /* backward: gradients of the results, then the values of the forward that it reads */
    V grads = tc_tuple(c, (size_t)nreturned + 1, NULL);
    ((tuple *)grads)->a[0] = ctx;
    for (int i = 0; i < nresults; i++) {
        tc_value *g = tc_graph_value(b->graph, TC_V_TENSOR, "grad");
        const tc_meta *m = &f->graph->outputs[i]->meta;
        g->meta = tc_meta_make(&p->arena, m->dtype, m->rank, m->size, NULL);
        tc_graph_add_input(b->graph, g);
        if (i < nreturned) ((tuple *)grads)->a[i + 1] = tc_torch_wrap_value(c, g);
    }
    b->saves = true;
    tc_torch_enter(c, b, b->graph);
    const char *failed = record_backward(c, b, v[0], grads, a, n, direct);
    tc_torch_leave(c);
    const tc_arg backward = failed ? (tc_arg){.kind = TC_A_STRING, .string = failed} : graph_arg(b->graph);
    tc_arg arg[4] = {
        backward, graph_arg(f->graph), values_arg(p, f->from.data, f->from.len), {.kind = TC_A_INT, .sym = tc_sym_int(p->sym, nresults)}};
    applied call = {.inner = tc_items(in, &n), .outer = a, .n = n, .res = {emit(c, "tc::autograd_function", arg, 4), 0}};
    call.dirty = tc_items(tc_getattr(c, ctx, tc_intern(c, "dirty", 5)), &call.ndirty);
    return take_results(c, &call, ctx, out, &w);
}

/* t.v = s.v: the object becomes another value (after a hook was inserted). */
static V h_rebind(C *c, args *A) {
    V v[2];
    tc_take(c, A, "rebind", "t s", v);
    ((tensor *)v[0])->v = ((tensor *)v[1])->v;
    return v[0];
}

/* Replaces the operands of the nodes that made `marks` by the results of one node, which must precede them. */
static V h_pass_through(C *c, args *A) {
    V v[2];
    tc_take(c, A, "pass_through", "marks results", v);
    size_t n, nresults;
    V *mark = tc_items(v[0], &n), *result = tc_items(v[1], &nresults);
    for (size_t i = 0; i < n && i < nresults; i++) {
        tc_value *m = ((tensor *)mark[i])->v, *r = ((tensor *)result[i])->v;
        if (!m || !r || !m->producer || !r->producer || m->graph != r->graph)
            tc_raise(c, "RuntimeError", "backward hooks of a module belong to its capture");
        if (i == 0) tc_node_move(r->producer, m->producer);
        m->producer->args[0].value = r;
    }
    return c->none;
}

static tc_value *current(C *c, struct tc_functional *f, tc_value *v) {
    tc_value *now = v;
    tc_status st = tc_functional_current(f, v, &now);
    if (st) tc_raise_status(c, "RuntimeError", st);
    return now;
}

/* The value of v before writes that kept its gradient history (no_grad, .data): values computed from it before them count too. */
static tc_value *unwritten(tc_value *v) {
    while (v->producer && v->producer->straight) v = v->producer->args[0].value;
    return v;
}

/* If no rule gives a gradient of x, is it 0 or absent? It is 0 if x is reachable in PyTorch's autograd graph, in which a backward node refers to
 * its operands (the backward of a pool to its indices) even if no number flows. The walk goes from the outputs to values that require a
 * gradient, and through all operands and results of nodes that have an origin (those of gradients and decompositions). */
typedef struct {
    TC_VEC(tc_value *) todo;
    uint8_t *seen; /* by value id */
    bool all;
} reader;
static void read_operand(void *ctx, tc_value **place) {
    reader *r = ctx;
    tc_value *v = *place;
    if (!v || r->seen[v->id] || !(r->all || v->meta.requires_grad || (v->producer && v->producer->origin))) return;
    r->seen[v->id] = 1;
    tc_vec_push(&r->todo, v);
}
static bool reads(C *c, const tc_graph *g, tc_value *const *outputs, size_t n, const tc_value *x) {
    reader r = {.seen = tc_mem(c, g->nvalues + 1), .all = true};
    memset(r.seen, 0, g->nvalues + 1);
    for (size_t i = 0; i < n; i++) read_operand(&r, (tc_value *[]){outputs[i]});
    while (r.todo.len && !r.seen[x->id]) {
        const tc_node *p = r.todo.data[--r.todo.len]->producer;
        if (!p || p->no_grad || (!p->origin && p->op->flags & TC_OP_NONDIFF)) continue;
        r.all = p->origin != NULL;
        tc_node_each_input(p, read_operand, &r);
    }
    tc_vec_free(&r.todo);
    return r.seen[x->id];
}

/* Before gradient rules, which compare sizes: a guard may have fixed min(T, 1) to the 1 as which it was expanded. */
static void simplify(C *c, tc_program *p) {
    if (c->torch->simplified == p->guards.len) return;
    tc_program_simplify(p);
    c->torch->simplified = p->guards.len;
}

static V h_grad(C *c, args *A) {
    V v[6] = {0};
    tc_take(c, A, "grad", "outputs inputs grad_outputs create_graph retain_graph forward=", v);
    need_graph(c, "torch.autograd.grad");
    region *r = c->torch->region;
    size_t no, ni, ng;
    V *out = tc_items(v[0], &no), *in = tc_items(v[1], &ni), *cot = tc_items(v[2], &ng);
    tc_value **o = tc_mem(c, sizeof *o * (no + 1)), **g = tc_mem(c, sizeof *g * (no + 1)), **w = tc_mem(c, sizeof *w * (ni + 1)),
             **d = tc_mem(c, sizeof *d * (ni + 1));
    for (size_t i = 0; i < no; i++) o[i] = tc_torch_value(c, out[i]), g[i] = i < ng && cot[i] != c->none ? tc_torch_value(c, cot[i]) : NULL;
    for (size_t i = 0; i < ni; i++) {
        w[i] = tc_torch_value(c, in[i]);
        tc_dtype element = w[i]->meta.dtype;
        if (!tc_is_float(element) && !tc_is_complex(element))
            tc_raise(c, "RuntimeError", "torch.autograd.grad: %s is %s: only tensors of floating point or complex numbers have gradients", w[i]->name,
                     tc_dtypes[element].torch);
    }
    if (!r->functional) r->functional = tc_functional_create(r->graph);
    tc_status st = tc_functional_step(r->functional);
    if (st) tc_raise_status(c, "RuntimeError", st);
    for (size_t i = 0; i < no; i++) o[i] = current(c, r->functional, o[i]), g[i] = g[i] ? current(c, r->functional, g[i]) : NULL;
    for (size_t i = 0; i < ni; i++) w[i] = unwritten(current(c, r->functional, w[i]));
    tc_grad_request q = {.graph = r->graph, .outputs = o, .cotangents = g, .noutputs = (int)no, .wrt = w, .nwrt = (int)ni};
    simplify(c, r->graph->program);
    bool keep = r->graph->program->no_grad;
    r->graph->program->no_grad = !tc_truth(c, v[3]);
    r->graph->program->forward_mode = v[5] && tc_truth(c, v[5]);
    tc_backward_nodes passed = {.c = c};
    q.passed = tc_torch_add_backward_node, q.passed_ctx = &passed;
    st = tc_grad_build(&q, d);
    tc_functional_skip(r->functional); /* rules refer to values before they were overwritten */
    r->graph->program->no_grad = keep, r->graph->program->forward_mode = false;
    if (st) tc_raise_status(c, "RuntimeError", st);
    tc_torch_check_backward(c, &passed, tc_truth(c, v[4]));
    V all = tc_tuple(c, ni, NULL);
    for (size_t i = 0; i < ni; i++) {
        if (d[i]) ((tuple *)all)->a[i] = tc_torch_wrap_value(c, d[i]);
        else if (w[i]->graph == r->graph && reads(c, r->graph, o, no, w[i])) ((tuple *)all)->a[i] = tc_bool(c, false); /* 0 */
    }
    return all;
}

void tc_torch_hop_init(C *c, module *priv) {
    static const native_def fns[] = {{"cond", h_cond},
                                     {"while_loop", h_while},
                                     {"map", h_map},
                                     {"scan", h_scan},
                                     {"autograd_function", h_function},
                                     {"grad", h_grad},
                                     {"leaves", h_leaves},
                                     {"rebind", h_rebind},
                                     {"pass_through", h_pass_through},
                                     {NULL, NULL}};
    tc_define(c, priv->d, fns);
}
