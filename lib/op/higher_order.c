/* Higher-order operators: nodes whose arguments are subgraphs. They have no schema; arguments stand as PyTorch's archives write them:
 *
 *     cond(pred, true_graph, false_graph, operands)              while_loop(cond_graph, body_graph, carried, additional)
 *     scan(combine_graph, init, xs, additional)                  associative_scan(combine_graph, xs, additional)
 *     map_impl(body, xs, additional)                             wrap_with_*(..., graph, operands...): inlined by functionalise
 *     tc::autograd_function(backward_graph, forward_graph, operands, nresults): torch.autograd.Function. forward's outputs are the results,
 *         then what it saved; backward's inputs are the gradients of the results, then what was saved, its outputs those of the operands.
 *
 * Values of the outer graph enter a subgraph only as its inputs; results have the types of the subgraph's outputs. */
#include "op/decompose.h"
#include "op/emit.h"

#include <string.h>

static tc_graph *graph_arg(const tc_shape_ctx *c, int i) { return i < c->nargs && c->args[i].kind == TC_A_GRAPH ? c->args[i].graph : NULL; }

static tc_status need_graph(const tc_shape_ctx *c, int i, tc_graph **out) {
    *out = graph_arg(c, i);
    return *out ? NULL : tc_error(TC_CONTENT, "%s: argument %d is not a graph", tc_op_name(c->op), i);
}

static int list_len(const tc_shape_ctx *c, int i) {
    if (i >= c->nargs) return 0;
    const tc_arg *a = &c->args[i];
    return a->kind == TC_A_VALUES || a->kind == TC_A_INTS || a->kind == TC_A_FLOATS || a->kind == TC_A_BOOLS ? a->n : 0;
}

static tc_status check_inputs(const tc_shape_ctx *c, const tc_graph *g, int n) {
    if (g->ninputs == n) return NULL;
    return tc_error(TC_CONTENT, "%s: graph %s has %d inputs, %d operands given", tc_op_name(c->op), g->name, g->ninputs, n);
}

/* Type of result i from a subgraph's output. */
static void from_output(tc_shape_ctx *c, int i, const tc_value *v) {
    tc_value *o = &c->outs[i];
    if (!v) {
        o->kind = TC_V_NONE;
        return;
    }
    o->kind = v->kind;
    o->meta = v->meta;
    o->sym = v->sym;
    if (v->kind == TC_V_SYM && v->sym && tc_sym_opcode(v->sym) != TC_S_CONST)
        o->sym = tc_program_fresh(c->program, tc_sym_type(v->sym), TC_SYM_NO_LO, TC_SYM_NO_HI);
}

static tc_status differ(const tc_shape_ctx *c, int i, const tc_value *a, const tc_value *b) {
    tc_buf t = {0};
    tc_value_print_type(&t, a);
    tc_buf_puts(&t, " and ");
    tc_value_print_type(&t, b);
    tc_status st = tc_error(TC_CONTENT, "%s: result %d has the types %s", tc_op_name(c->op), i, tc_buf_str(&t));
    tc_buf_free(&t);
    return st;
}

/* A condition is a number or a tensor of one element. */
static tc_status check_condition(const tc_shape_ctx *c, const tc_value *v) {
    tc_symctx *s = c->program->sym;
    bool one = v && (v->kind == TC_V_TENSOR || v->kind == TC_V_SYM);
    for (int d = 0; one && v->kind == TC_V_TENSOR && d < v->meta.rank; d++) one = !tc_sym_differ(s, v->meta.size[d], tc_sym_int(s, 1));
    if (one) return NULL;
    tc_buf t = {0};
    if (v) tc_value_print_type(&t, v);
    else tc_buf_puts(&t, "None");
    tc_status st = tc_error(TC_CONTENT, "%s: the condition is %s, expected a bool or a tensor of one element", tc_op_name(c->op), tc_buf_str(&t));
    tc_buf_free(&t);
    return st;
}

static tc_status shape_cond(tc_shape_ctx *c) {
    tc_graph *yes, *no;
    tc_program *p = c->program;
    if (c->nargs > 0 && c->args[0].kind == TC_A_VALUE) TC_TRY(check_condition(c, c->args[0].value));
    TC_TRY(need_graph(c, 1, &yes));
    TC_TRY(need_graph(c, 2, &no));
    TC_TRY(check_inputs(c, yes, list_len(c, 3)));
    TC_TRY(check_inputs(c, no, list_len(c, 3)));
    if (yes->noutputs != no->noutputs)
        return tc_error(TC_CONTENT, "%s: the branches return %d and %d results", tc_op_name(c->op), yes->noutputs, no->noutputs);
    for (int i = 0; i < c->nouts; i++) {
        const tc_value *a = yes->outputs[i], *b = no->outputs[i];
        from_output(c, i, a);
        if (!a || !b || a->kind != b->kind) {
            if (a || b) return a && b ? differ(c, i, a, b) : tc_error(TC_CONTENT, "%s: result %d is None in one branch", tc_op_name(c->op), i);
            continue;
        }
        if (a->kind != TC_V_TENSOR) continue;
        if (a->meta.dtype != b->meta.dtype || a->meta.rank != b->meta.rank) return differ(c, i, a, b);
        tc_sym *size = TC_NEWN(&p->arena, tc_sym, (size_t)(a->meta.rank ? a->meta.rank : 1));
        bool same = true;
        for (int d = 0; d < a->meta.rank; d++) { /* a size that differs between branches is data-dependent */
            size[d] = a->meta.size[d];
            if (size[d] == b->meta.size[d] || tc_sym_known(p->sym, tc_sym_op(p->sym, TC_S_EQ, size[d], b->meta.size[d], NULL)) == 1) continue;
            int64_t l1, h1, l2, h2;
            tc_sym_range(p->sym, size[d], &l1, &h1);
            tc_sym_range(p->sym, b->meta.size[d], &l2, &h2);
            size[d] = tc_program_fresh(p, TC_SYM_INT, l1 < l2 ? l1 : l2, h1 > h2 ? h1 : h2);
            same = false;
        }
        if (!same) c->outs[i].meta = tc_meta_make(&p->arena, a->meta.dtype, a->meta.rank, size, NULL);
    }
    return NULL;
}

/* The input and output of a loop body must have the same kind, dtype and rank. */
static bool same_type(const tc_value *in, const tc_value *o) {
    if (!in || !o) return true;
    return o->kind == in->kind && (o->kind != TC_V_TENSOR || (o->meta.dtype == in->meta.dtype && o->meta.rank == in->meta.rank));
}
static bool known_size(tc_symctx *s, tc_sym a, tc_sym b, int value) {
    return a == b ? value : tc_sym_known(s, tc_sym_op(s, TC_S_EQ, a, b, NULL)) == value;
}

/* Type of carried result i, whose body's input is `in` and output is o. A size differs between iterations where the input states a symbol of its own for
 * it, not the size of the operand x; the result's is then a new one. Other sizes may not differ for all values of the symbols,
 * nor depend on data. */
static tc_status carried_result(tc_shape_ctx *c, int i, const tc_value *x, const tc_value *in, const tc_value *o) {
    tc_symctx *s = c->program->sym;
    if (!same_type(in, o)) return differ(c, i, in, o);
    from_output(c, i, o);
    if (!in || !o || o->kind != TC_V_TENSOR) return NULL;
    tc_sym size[TC_MAX_RANK];
    bool changes = false;
    for (int d = 0; d < o->meta.rank; d++) {
        const tc_sym was = in->meta.size[d];
        const bool own = tc_sym_opcode(was) == TC_S_VAR && x && x->kind == TC_V_TENSOR && x->meta.rank == o->meta.rank && x->meta.size[d] != was;
        const tc_sym is = o->meta.size[d];
        if (!own && (known_size(s, was, is, 0) || (tc_sym_holds_data(is) && !known_size(s, was, is, 1)))) return differ(c, i, in, o);
        size[d] = own ? tc_program_fresh(c->program, TC_SYM_INT, 0, TC_SYM_NO_HI) : is;
        changes |= own;
    }
    if (changes) c->outs[i].meta = tc_meta_make(&c->program->arena, o->meta.dtype, o->meta.rank, size, NULL);
    return NULL;
}

static const tc_value *operand(const tc_shape_ctx *c, int list, int i) {
    const tc_arg *a = &c->args[list];
    return a->kind == TC_A_VALUES && i < a->n ? a->values[i] : NULL;
}

static tc_status shape_while(tc_shape_ctx *c) {
    tc_graph *test, *body;
    TC_TRY(need_graph(c, 0, &test));
    TC_TRY(need_graph(c, 1, &body));
    int n = list_len(c, 2), more = list_len(c, 3);
    TC_TRY(check_inputs(c, test, n + more));
    TC_TRY(check_inputs(c, body, n + more));
    if (test->noutputs != 1) return tc_error(TC_CONTENT, "%s: the condition returns %d results, expected one", tc_op_name(c->op), test->noutputs);
    TC_TRY(check_condition(c, test->outputs[0]));
    if (body->noutputs != n)
        return tc_error(TC_CONTENT, "%s: the body returns %d results for %d carried values", tc_op_name(c->op), body->noutputs, n);
    for (int i = 0; i < c->nouts; i++) TC_TRY(carried_result(c, i, operand(c, 2, i), body->inputs[i], body->outputs[i]));
    return NULL;
}

/* What a body gives in each step must be a tensor, or None in all of them. */
static tc_status check_tensor(const tc_shape_ctx *c, int i, const tc_value *v) {
    if (!v || v->kind == TC_V_TENSOR) return NULL;
    return tc_error(TC_CONTENT, "%s: result %d of the body is a number, expected a tensor", tc_op_name(c->op), i);
}

/* v with a leading dimension. */
static tc_status stacked(tc_shape_ctx *c, int i, const tc_value *v, tc_sym length) {
    tc_sym size[TC_MAX_RANK + 1];
    TC_TRY(check_tensor(c, i, v));
    from_output(c, i, v);
    if (!v || v->meta.rank >= TC_MAX_RANK) return NULL;
    size[0] = length;
    for (int d = 0; d < v->meta.rank; d++) size[d + 1] = v->meta.size[d];
    c->outs[i].meta = tc_meta_make(&c->program->arena, v->meta.dtype, v->meta.rank + 1, size, NULL);
    return NULL;
}

static tc_status length_of(const tc_shape_ctx *c, int i, tc_sym *out) {
    const tc_arg *a = i < c->nargs ? &c->args[i] : NULL;
    if (!a || a->kind != TC_A_VALUES || a->n == 0 || !a->values[0] || a->values[0]->kind != TC_V_TENSOR || a->values[0]->meta.rank == 0)
        return tc_error(TC_CONTENT, "%s: argument %d: a list of tensors with a leading dimension expected", tc_op_name(c->op), i);
    *out = a->values[0]->meta.size[0];
    return NULL;
}

static tc_status shape_scan(tc_shape_ctx *c) {
    tc_graph *g;
    tc_sym length;
    TC_TRY(need_graph(c, 0, &g));
    TC_TRY(length_of(c, 2, &length));
    TC_TRY(check_inputs(c, g, list_len(c, 1) + list_len(c, 2) + list_len(c, 3)));
    int ninit = list_len(c, 1);
    if (g->noutputs < ninit)
        return tc_error(TC_CONTENT, "%s: the graph returns %d results for %d carried values", tc_op_name(c->op), g->noutputs, ninit);
    for (int i = 0; i < c->nouts; i++) {
        if (i < ninit) TC_TRY(carried_result(c, i, operand(c, 1, i), g->inputs[i], g->outputs[i]));
        else TC_TRY(stacked(c, i, g->outputs[i], length));
    }
    return NULL;
}

static tc_status shape_associative_scan(tc_shape_ctx *c) {
    tc_graph *g;
    tc_sym length;
    TC_TRY(need_graph(c, 0, &g));
    TC_TRY(length_of(c, 1, &length));
    TC_TRY(check_inputs(c, g, 2 * list_len(c, 1) + list_len(c, 2)));
    if (g->noutputs != list_len(c, 1))
        return tc_error(TC_CONTENT, "%s: the graph returns %d results for %d inputs", tc_op_name(c->op), g->noutputs, list_len(c, 1));
    for (int i = 0; i < c->nouts; i++) {
        const tc_value *x = c->args[1].values[i];
        if (!g->outputs[i]) return tc_error(TC_CONTENT, "%s: result %d of the body is None, expected a tensor", tc_op_name(c->op), i);
        TC_TRY(check_tensor(c, i, g->outputs[i]));
        c->outs[i].kind = TC_V_TENSOR;
        c->outs[i].meta = tc_meta_make(&c->program->arena, g->outputs[i]->meta.dtype, x->meta.rank, x->meta.size, NULL);
    }
    return NULL;
}

static tc_status shape_map(tc_shape_ctx *c) {
    tc_graph *g;
    tc_sym length;
    TC_TRY(need_graph(c, 0, &g));
    TC_TRY(length_of(c, 1, &length));
    TC_TRY(check_inputs(c, g, list_len(c, 1) + list_len(c, 2)));
    for (int i = 0; i < c->nouts; i++) TC_TRY(stacked(c, i, g->outputs[i], length));
    return NULL;
}

static tc_status shape_wrap(tc_shape_ctx *c) {
    tc_graph *g = NULL;
    for (int i = 0; i < c->nargs && !g; i++) g = graph_arg(c, i);
    if (!g) return tc_error(TC_CONTENT, "%s: a graph expected", tc_op_name(c->op));
    for (int i = 0; i < c->nouts; i++) {
        from_output(c, i, g->outputs[i]);
        if (c->outs[i].kind == TC_V_SYM) c->outs[i].sym = g->outputs[i]->sym; /* the body runs once, here */
    }
    return NULL;
}

/* ---- torch.autograd.Function ---- */
static tc_status shape_function(tc_shape_ctx *c) {
    tc_graph *back = NULL, *fwd;
    if (c->nargs < 1 || c->args[0].kind != TC_A_STRING) TC_TRY(need_graph(c, 0, &back));
    TC_TRY(need_graph(c, 1, &fwd));
    TC_TRY(check_inputs(c, fwd, list_len(c, 2)));
    int64_t n = -1;
    if (c->nargs != 4 || c->args[3].kind != TC_A_INT || !tc_sym_const_int(c->args[3].sym, &n) || n < 0 || n > fwd->noutputs)
        return tc_error(TC_CONTENT, "%s: the number of results expected", tc_op_name(c->op));
    if (back) TC_TRY(check_inputs(c, back, fwd->noutputs));
    if (back && back->noutputs != list_len(c, 2))
        return tc_error(TC_CONTENT, "%s: backward returns %d gradients for %d operands", tc_op_name(c->op), back->noutputs, list_len(c, 2));
    for (int i = 0; i < c->nouts; i++) from_output(c, i, fwd->outputs[i]);
    return NULL;
}

/* Copies the nodes of g to where e emits; gives the values of its outputs. */
static tc_value **inlined(tc_emit *e, const tc_graph *g, tc_value *const *inputs) {
    tc_value **map = tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *map);
    tc_value **outs = TC_NEWN(&g->program->arena, tc_value *, (size_t)(g->noutputs ? g->noutputs : 1));
    for (int i = 0; i < g->ninputs; i++) map[g->inputs[i]->id] = inputs[i];
    tc_graph_copy_nodes(e->graph, g, map, e->before);
    for (int i = 0; i < g->noutputs; i++) outs[i] = g->outputs[i] ? map[g->outputs[i]->id] : NULL;
    free(map);
    return outs;
}

static tc_status decompose_function(tc_emit *e, const tc_node *n) {
    tc_value **outs = inlined(e, n->args[1].graph, n->args[2].values);
    for (int i = 0; i < n->nouts; i++) tc_emit_result(e, i, outs[i]);
    return NULL;
}

static tc_status grad_function(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (n->args[0].kind == TC_A_STRING) return tc_error(TC_CONTENT, "the backward of an autograd.Function cannot be captured: %s", n->args[0].string);
    int nresults = (int)tc_arg_int(n, 3);
    tc_value **in = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(n->nouts ? n->nouts : 1));
    for (int i = 0; i < n->nouts; i++) in[i] = i >= nresults ? n->outs[i] : gs[i] ? gs[i] : tc_e_zeros_like(e, n->outs[i]);
    for (int i = 0; i < n->nouts && !e->status; i++) in[i] = tc_e_in_order_of(e, in[i], n->args[0].graph->inputs[i]);
    if (e->status) return NULL;
    tc_value **outs = inlined(e, n->args[0].graph, in);
    for (int i = 0; i < n->args[2].n; i++) tc_emit_grad_list(e, 2, i, outs[i]);
    return NULL;
}

const tc_op tc_ops_higher_order[] = {
    {.schema = "tc::autograd_function(...)",
     .shape = shape_function,
     .decompose = decompose_function,
     .grad = grad_function,
     .doc = "results of forward, whose gradients backward gives"},
    {.schema = "higher_order::cond",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_cond,
     .doc = "true_graph(*operands) if pred else false_graph(*operands)"},
    {.schema = "higher_order::while_loop",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_while,
     .doc = "while cond(*carried, *more): carried = body(*carried, *more)"},
    {.schema = "higher_order::scan",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_scan,
     .doc = "carry, y[t] = combine(*carry, *x[t], *more) for every t"},
    {.schema = "higher_order::associative_scan",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_associative_scan,
     .doc = "y[t] = combine(*y[t-1], *x[t], *more)"},
    {.schema = "higher_order::map_impl", .flags = TC_OP_HIGHER_ORDER, .shape = shape_map, .doc = "y[t] = body(*x[t], *more)"},
    {.schema = "higher_order::wrap_with_set_grad_enabled",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_wrap,
     .doc = "a region with gradients on or off; inlined"},
    {.schema = "higher_order::wrap_with_autocast", .flags = TC_OP_HIGHER_ORDER, .shape = shape_wrap, .doc = "a region with autocast; inlined"},
    {.schema = "higher_order::tag_activation_checkpoint",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_wrap,
     .doc = "a region that is computed again in the backward; inlined"},
    {.schema = "higher_order::wrap_activation_checkpoint",
     .flags = TC_OP_HIGHER_ORDER,
     .shape = shape_wrap,
     .doc = "a region that is computed again in the backward; inlined"},
    {.schema = "higher_order::wrap", .flags = TC_OP_HIGHER_ORDER, .shape = shape_wrap, .doc = "a call of its graph; inlined"},
    {.schema = "higher_order::strict_mode", .flags = TC_OP_HIGHER_ORDER, .shape = shape_wrap, .doc = "a call of its graph; inlined"},
    {.schema = "higher_order::invoke_subgraph", .flags = TC_OP_HIGHER_ORDER, .shape = shape_wrap, .doc = "a call of its graph; inlined"},
    {.schema = "higher_order::hints_wrapper", .flags = TC_OP_HIGHER_ORDER, .shape = shape_wrap, .doc = "a call of its graph; inlined"},
    {0}};
