/* Gradients of control flow. The backward of cond is a cond whose branches recompute their forward and sweep back through it.
 *
 *     y = cond(pred, f, g, x...)      dx = cond(pred, f', g', x..., dy...)      f'(x, dy) = f's nodes, then their gradients
 *
 * map: the same per element; gradients of operands shared by all steps are summed. scan: runs backward in time over the saved carries of each step.
 * while_loop: its iterations are counted; it is then differentiated as a scan of that length without per-step inputs and outputs. */
#include "grad/internal.h"

#include <string.h>

static tc_value *new_input(tc_graph *g, const tc_value *like, const char *hint) {
    tc_value *v = tc_graph_value(g, like->kind, hint ? hint : like->name);
    v->meta = like->meta;
    v->sym = like->sym;
    return tc_graph_add_input(g, v);
}

/* Builds a graph with the inputs of g, then one input per given result gradient (gs[i]); it returns the gradients of the inputs marked in wanted[],
 * zeros where there is none. */
static tc_status backward_graph(sweep *outer, const tc_graph *g, tc_value *const *gs, const bool *wanted, tc_graph **out) {
    tc_program *p = g->program;
    tc_graph *b = tc_graph_create(p, outer->graph, tc_graph_unique(outer->graph, tc_arena_printf(&p->arena, "%s_backward", g->name)));
    tc_value **map = tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *map);
    sweep s;
    tc_status st = NULL;
    grad_begin(&s, b);
    s.e.casts = outer->e.casts, s.e.autocast = outer->e.autocast;
    for (int i = 0; i < g->ninputs; i++) {
        map[g->inputs[i]->id] = new_input(b, g->inputs[i], NULL);
        if (wanted[i]) grad_mark(&s, b->inputs[i]);
    }
    tc_graph_copy_nodes(b, g, map, NULL);
    for (const tc_node *n = b->first; n && !st; n = n->next) /* random nodes cannot be recomputed */
        if (n->op->flags & TC_OP_RANDOM) st = tc_error(TC_UNSUPPORTED, "gradient of %s inside of %s is not supported", tc_op_name(n->op), g->name);
    if (b->last && !st) st = grad_spread(&s, b->first, b->last);
    tc_node *last = b->last;
    for (int i = 0; i < g->noutputs; i++) {
        if (!gs[i]) continue;
        tc_value *gi = new_input(b, gs[i], "grad");
        if (g->outputs[i]) grad_accumulate(&s, map[g->outputs[i]->id], gi);
    }
    if (last && !st) st = grad_sweep(&s, b->first, last);
    for (int i = 0; i < g->ninputs && !st; i++) {
        if (!wanted[i]) continue;
        tc_value *d = grad_result(&s, b->inputs[i]);
        if (!d) d = tc_e_zeros_like(&s.e, b->inputs[i]);
        if (d) tc_graph_add_output(b, d);
    }
    if (!st) {
        st = s.e.status;
        s.e.status = NULL;
    }
    grad_end(&s);
    free(map);
    *out = b;
    return st;
}

static tc_arg values_arg(tc_arena *a, tc_value *const *v, int n) {
    return (tc_arg){.kind = TC_A_VALUES, .n = n, .values = n ? tc_arena_dup(a, v, sizeof *v * (size_t)n) : NULL};
}

typedef struct {
    tc_value **v;
    int n;
} list;
static void push(tc_arena *a, list *l, tc_value *v) {
    if (!(l->n & (l->n - 1))) {
        tc_value **bigger = TC_NEWN(a, tc_value *, l->n ? 2 * (size_t)l->n : 1);
        if (l->n) memcpy(bigger, l->v, sizeof *bigger * (size_t)l->n);
        l->v = bigger;
    }
    l->v[l->n++] = v;
}

static void push_all(tc_arena *a, list *l, const tc_arg *from) {
    for (int i = 0; from->kind == TC_A_VALUES && i < from->n; i++) push(a, l, from->values[i]);
}

static bool *wanted_of(sweep *s, const list *operands) {
    bool *w = TC_NEWN(&s->graph->program->arena, bool, (size_t)(operands->n ? operands->n : 1));
    for (int i = 0; i < operands->n; i++) w[i] = operands->v[i] && grad_needed(s, operands->v[i]);
    return w;
}

static tc_status call(sweep *s, const char *name, const tc_arg *args, int nargs, tc_node **out) {
    return tc_graph_call(s->graph, tc_op_find(name), args, nargs, s->e.source, NULL, out);
}

static tc_status grad_cond(sweep *s, tc_node *n, tc_value *const *gs) {
    tc_arena *a = &s->graph->program->arena;
    list operands = {0}, more;
    tc_graph *yes, *no;
    tc_node *b;
    push_all(a, &operands, &n->args[3]);
    bool *wanted = wanted_of(s, &operands);
    TC_TRY(backward_graph(s, n->args[1].graph, gs, wanted, &yes));
    TC_TRY(backward_graph(s, n->args[2].graph, gs, wanted, &no));
    more = (list){0};
    push_all(a, &more, &n->args[3]);
    for (int i = 0; i < n->nouts; i++)
        if (gs[i]) push(a, &more, gs[i]);
    tc_arg args[4] = {n->args[0], {.kind = TC_A_GRAPH, .graph = yes}, {.kind = TC_A_GRAPH, .graph = no}, values_arg(a, more.v, more.n)};
    TC_TRY(call(s, "higher_order::cond", args, 4, &b));
    for (int i = 0, k = 0; i < operands.n; i++)
        if (wanted[i]) grad_accumulate(s, operands.v[i], b->outs[k++]);
    return NULL;
}

/* map_impl(body, xs, additional): gradients of xs are per step, those of additional are summed over steps. */
static tc_status grad_map(sweep *s, tc_node *n, tc_value *const *gs) {
    tc_arena *a = &s->graph->program->arena;
    tc_graph *g = n->args[0].graph, *back;
    list operands = {0}, xs = {0};
    tc_node *b;
    push_all(a, &operands, &n->args[1]);
    push_all(a, &operands, &n->args[2]);
    bool *wanted = wanted_of(s, &operands);
    int nx = n->args[1].n, nmore = n->args[2].kind == TC_A_VALUES ? n->args[2].n : 0;
    tc_value **steps = TC_NEWN(a, tc_value *, (size_t)(g->noutputs ? g->noutputs : 1)); /* of one step: types of the body's results */
    for (int i = 0; i < g->noutputs; i++) steps[i] = gs[i] ? g->outputs[i] : NULL;
    TC_TRY(backward_graph(s, g, steps, wanted, &back));
    /* the graph's inputs are x..., additional..., grad...; map takes per-step operands first */
    list in = {0};
    for (int i = 0; i < nx; i++) push(a, &in, back->inputs[i]);
    for (int i = nx + nmore; i < back->ninputs; i++) push(a, &in, back->inputs[i]);
    for (int i = nx; i < nx + nmore; i++) push(a, &in, back->inputs[i]);
    back->inputs = in.v;
    push_all(a, &xs, &n->args[1]);
    for (int i = 0; i < n->nouts; i++)
        if (gs[i]) push(a, &xs, gs[i]);
    tc_arg args[3] = {{.kind = TC_A_GRAPH, .graph = back}, values_arg(a, xs.v, xs.n), n->args[2]};
    TC_TRY(call(s, "higher_order::map_impl", args, 3, &b));
    for (int i = 0, k = 0; i < operands.n; i++) {
        if (!wanted[i]) continue;
        tc_value *d = b->outs[k++];
        if (i >= nx) d = tc_emit_call(&s->e, "aten::sum.dim_IntList", "vI", d, (int64_t[]){0}, 1);
        grad_accumulate(s, operands.v[i], d);
    }
    return NULL;
}

/* A scan(combine, init, xs, additional) and the gradients of its results. */
typedef struct {
    sweep *s;
    tc_graph *combine;
    const tc_arg *init, *xs, *additional;
    tc_value *const *gs;         /* gradients of the final carries and of the stacked outputs; NULL: none */
    int ninit, nvary, nin, nout; /* inputs of combine that are carries, those and x, all; its results */
    list operands;               /* init, xs, additional */
    const bool *needed;          /* by operand: its gradient; that of every carry is */
} scan;

static scan scan_of(sweep *s, const tc_node *n, tc_value *const *gs) {
    tc_arena *a = &s->graph->program->arena;
    scan c = {.s = s, .combine = n->args[0].graph, .init = &n->args[1], .xs = &n->args[2], .additional = &n->args[3], .gs = gs};
    c.ninit = n->args[1].n, c.nvary = c.ninit + n->args[2].n, c.nin = c.combine->ninputs, c.nout = c.combine->noutputs;
    for (int i = 1; i < 4; i++) push_all(a, &c.operands, &n->args[i]);
    bool *needed = wanted_of(s, &c.operands);
    for (int i = 0; i < c.nin; i++) {
        const tc_dtype d = c.combine->inputs[i]->meta.dtype;
        needed[i] = (i < c.ninit || needed[i]) && (tc_is_float(d) || tc_is_complex(d));
    }
    c.needed = needed;
    return c;
}

static tc_graph *part_of_scan(const scan *c, const char *name, const char *what) {
    tc_program *p = c->combine->program;
    return tc_graph_create(p, c->s->graph, tc_graph_unique(c->s->graph, tc_arena_printf(&p->arena, "%s_%s", name, what)));
}

/* The forward scan again, returning the final carries and the carry at the start of each step. */
static tc_status scan_of_carries(const scan *c, tc_node **out) {
    tc_graph *g = c->combine, *fwd = part_of_scan(c, g->name, "carries");
    tc_value **map = tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *map);
    for (int i = 0; i < c->nin; i++) map[g->inputs[i]->id] = new_input(fwd, g->inputs[i], NULL);
    tc_graph_copy_nodes(fwd, g, map, NULL);
    for (int i = 0; i < c->ninit; i++) tc_graph_add_output(fwd, map[g->outputs[i]->id]);
    for (int i = 0; i < c->ninit; i++) tc_graph_add_output(fwd, fwd->inputs[i]);
    free(map);
    tc_arg args[4] = {{.kind = TC_A_GRAPH, .graph = fwd}, *c->init, *c->xs, *c->additional};
    return call(c->s, "higher_order::scan", args, 4, out);
}

/* (carry, x, additional, gradients of carry and y) -> those of what is needed. */
static tc_status backward_of_step(const scan *c, tc_graph **out) {
    const tc_graph *g = c->combine;
    tc_value **types = TC_NEWN(&g->program->arena, tc_value *, (size_t)(c->nout ? c->nout : 1));
    for (int i = 0; i < c->nout; i++) types[i] = (i < c->ninit ? c->needed[i] : c->gs[i] != NULL) ? g->outputs[i] : NULL;
    return backward_graph(c->s, g, types, c->needed, out);
}

/* The same as a step of a scan: (gradient of the carry, sums of those of additional), (carry before, x, gradient of y), additional. */
static tc_status step_of_scan(const scan *c, const tc_graph *body, tc_graph **out) {
    tc_arena *a = &body->program->arena;
    tc_graph *g = c->combine, *step = *out = part_of_scan(c, body->name, "step");
    tc_emit e = {.graph = step, .source = c->s->e.source, .origin = c->s->e.origin};
    tc_value **map = tc_xcalloc(body->nvalues ? body->nvalues : 1, sizeof *map);
    list grads = {0}, sums = {0};
    for (int i = 0; i < c->ninit; i++)
        if (c->needed[i]) push(a, &grads, new_input(step, g->inputs[i], "grad_carry"));
    for (int i = c->nvary; i < c->nin; i++)
        if (c->needed[i]) push(a, &sums, new_input(step, g->inputs[i], "sum"));
    for (int i = 0; i < c->nvary; i++) map[body->inputs[i]->id] = new_input(step, g->inputs[i], NULL);
    for (int i = c->ninit; i < c->nout; i++)
        if (c->gs[i]) push(a, &grads, new_input(step, g->outputs[i], "grad"));
    for (int i = c->nvary; i < c->nin; i++) map[body->inputs[i]->id] = new_input(step, g->inputs[i], NULL);
    for (int i = 0; i < grads.n; i++) map[body->inputs[c->nin + i]->id] = grads.v[i];
    tc_graph_copy_nodes(step, body, map, NULL);
    int ncarry = 0, nx = 0, at;
    for (int i = 0; i < c->nvary; i++) *(i < c->ninit ? &ncarry : &nx) += c->needed[i];
    for (at = 0; at < ncarry; at++) tc_graph_add_output(step, map[body->outputs[at]->id]);
    for (int i = 0; i < sums.n; i++) tc_graph_add_output(step, tc_e_add(&e, sums.v[i], map[body->outputs[at + nx + i]->id]));
    for (; at < ncarry + nx; at++) tc_graph_add_output(step, map[body->outputs[at]->id]);
    free(map);
    return e.status;
}

static tc_value *reversed(const scan *c, tc_value *v) { return tc_emit_call(&c->s->e, "aten::flip", "vI", v, (int64_t[]){0}, 1); }

/* Scans that step over reversed time, starting with the gradients of the final carries and zero sums. carries: scan_of_carries. */
static tc_status scan_back(const scan *c, const tc_node *carries, tc_graph *step, tc_node **out) {
    tc_arena *a = &step->program->arena;
    list init = {0}, xs = {0};
    for (int i = 0; i < c->nin; i++) {
        if (!c->needed[i] || (i >= c->ninit && i < c->nvary)) continue;
        push(a, &init, i < c->ninit && c->gs[i] ? c->gs[i] : tc_e_zeros_like(&c->s->e, c->operands.v[i]));
    }
    for (int i = 0; i < c->ninit; i++) push(a, &xs, carries->outs[c->ninit + i]);
    push_all(a, &xs, c->xs);
    for (int i = c->ninit; i < c->nout; i++)
        if (c->gs[i]) push(a, &xs, c->gs[i]);
    for (int i = 0; i < xs.n; i++) xs.v[i] = reversed(c, xs.v[i]);
    *out = NULL;
    if (c->s->e.status) return NULL;
    const tc_arg none = values_arg(a, NULL, 0);
    tc_arg args[4] = {{.kind = TC_A_GRAPH, .graph = step},
                      values_arg(a, init.v, init.n),
                      values_arg(a, xs.v, xs.n),
                      c->additional->kind == TC_A_VALUES && c->additional->n ? *c->additional : none};
    return call(c->s, "higher_order::scan", args, 4, out);
}

/* Runs a scan that saves each step's initial carry, then a scan over reversed time whose carry holds the gradient of the carry and the summed gradients
 * of additional. */
static tc_status grad_scan(sweep *s, tc_node *n, tc_value *const *gs) {
    const scan c = scan_of(s, n, gs);
    tc_graph *body, *step;
    tc_node *carries, *back;
    TC_TRY(scan_of_carries(&c, &carries));
    TC_TRY(backward_of_step(&c, &body));
    TC_TRY(step_of_scan(&c, body, &step));
    TC_TRY(scan_back(&c, carries, step, &back));
    if (!back) return NULL;
    int at = 0;
    for (int i = 0; i < c.nin; i++)
        if (c.needed[i] && (i < c.ninit || i >= c.nvary)) grad_accumulate(s, c.operands.v[i], back->outs[at++]);
    for (int i = c.ninit; i < c.nvary; i++)
        if (c.needed[i]) grad_accumulate(s, c.operands.v[i], reversed(&c, back->outs[at++]));
    return NULL;
}

/* Graph g of a while_loop with an additional carried int64, the number of iterations done, which the body increments. */
static tc_graph *counting(sweep *s, const tc_graph *g, int ncarried, bool body) {
    tc_program *p = g->program;
    tc_graph *r = tc_graph_create(p, s->graph, tc_graph_unique(s->graph, tc_arena_printf(&p->arena, "%s_count", g->name)));
    r->single_tensor_return = !body && g->single_tensor_return;
    tc_value **map = tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *map), *count = tc_graph_value(r, TC_V_TENSOR, "count");
    count->meta = tc_meta_make(&p->arena, TC_I64, 0, NULL, NULL);
    for (int i = 0; i < ncarried; i++) map[g->inputs[i]->id] = new_input(r, g->inputs[i], NULL);
    tc_graph_add_input(r, count);
    for (int i = ncarried; i < g->ninputs; i++) map[g->inputs[i]->id] = new_input(r, g->inputs[i], NULL);
    tc_graph_copy_nodes(r, g, map, NULL);
    for (int i = 0; i < g->noutputs; i++) tc_graph_add_output(r, map[g->outputs[i]->id]);
    free(map);
    tc_emit e = {.graph = r, .source = s->e.source, .origin = s->e.origin};
    if (body) tc_graph_add_output(r, tc_emit_call(&e, "aten::add.Scalar", "vi", count, (int64_t)1));
    if (e.status) tc_emit_fail(&s->e, e.status);
    return r;
}

/* while_loop(cond, body, carried, more) */
static tc_status grad_while(sweep *s, tc_node *n, tc_value *const *gs) {
    tc_program *p = s->graph->program;
    tc_arena *a = &p->arena;
    const tc_graph *body = n->args[1].graph;
    const int ncarried = n->args[2].n;
    const tc_arg none = values_arg(a, NULL, 0), more = n->args[3].kind == TC_A_VALUES ? n->args[3] : none;
    list carried = {0};
    tc_node *c;
    push_all(a, &carried, &n->args[2]);
    for (int i = 0; i < ncarried; i++)
        if (carried.v[i]->kind != TC_V_TENSOR) return tc_error(TC_UNSUPPORTED, "gradient of while_loop that carries a number is not supported");
    push(a, &carried, tc_emit_call(&s->e, "aten::full", "Szd", (const tc_sym *)NULL, 0, tc_scalar_int(0), (int)TC_I64));
    tc_arg args[4] = {{.kind = TC_A_GRAPH, .graph = counting(s, n->args[0].graph, ncarried, false)},
                      {.kind = TC_A_GRAPH, .graph = counting(s, body, ncarried, true)},
                      values_arg(a, carried.v, carried.n),
                      more};
    if (s->e.status) return NULL;
    TC_TRY(call(s, "higher_order::while_loop", args, 4, &c));
    /* a dummy per-step input that sets the number of steps */
    tc_value *steps = tc_emit_call(&s->e, "aten::reshape", "vI", c->outs[ncarried], (int64_t[]){1}, 1);
    steps = tc_emit_call(&s->e, "aten::repeat_interleave.Tensor", "v", steps);
    if (!steps) return NULL;
    tc_graph *step = tc_graph_create(p, s->graph, tc_graph_unique(s->graph, tc_arena_printf(a, "%s_scan", body->name)));
    tc_value **map = tc_xcalloc(body->nvalues ? body->nvalues : 1, sizeof *map);
    for (int i = 0; i < ncarried; i++) map[body->inputs[i]->id] = new_input(step, body->inputs[i], NULL);
    tc_graph_add_input(step, tc_graph_value(step, TC_V_TENSOR, "step"))->meta = tc_meta_make(a, TC_I64, 0, NULL, NULL);
    for (int i = ncarried; i < body->ninputs; i++) map[body->inputs[i]->id] = new_input(step, body->inputs[i], NULL);
    tc_graph_copy_nodes(step, body, map, NULL);
    for (int i = 0; i < ncarried; i++) tc_graph_add_output(step, map[body->outputs[i]->id]);
    free(map);
    tc_arg as[4] = {{.kind = TC_A_GRAPH, .graph = step}, n->args[2], values_arg(a, &steps, 1), more};
    return grad_scan(s, &(tc_node){.op = tc_op_find("higher_order::scan"), .args = as, .nargs = 4, .source = n->source, .graph = n->graph}, gs);
}

static const struct {
    const char *name;
    tc_status (*fn)(sweep *s, tc_node *n, tc_value *const *gs);
} rules[] = {{"cond", grad_cond}, {"map_impl", grad_map}, {"scan", grad_scan}, {"while_loop", grad_while}};

tc_status grad_higher_order(sweep *s, tc_node *n, tc_value *const *gs) {
    const char *name = tc_op_schema(n->op)->name;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].name, name)) return rules[i].fn(s, n, gs);
    return tc_error(TC_UNSUPPORTED, "gradient of %s is not supported", tc_op_name(n->op));
}
