/* Control flow as C: each subgraph is written inline, in the braces of an if, of a for (;;) or of a for over steps; it reads the node's operands and
 * writes its results directly. Carried values alternate between two buffers, the result and a reserved one:
 *
 *     char *now1[] = {in}, *next1[] = {result}, *const other1[] = {arena + 64};
 *     for (int pass1 = 0;; pass1++) { test on now1; if (!flag) break; body from now1 to next1; tc_c_turn(1, now1, next1, other1, pass1); }
 *     if a value is in other1 at the end, it is copied to the result */
#include "base/ints.h"
#include "runtime/to_c_write.h"

/* The control flow node that is written. */
typedef struct {
    writer *w;
    const tc_node *n;
    control_form c;
    int id; /* suffix of its C variables */
} control;

static const char *cast(writer *w, const char *at) { return TC_TEXT(w, "(char *)(%s)", at); }

/* Reserves memory after the arenas of the current graphs, until the end of the control flow node. */
static const char *reserve(writer *w, size_t bytes) {
    const char *at = TC_TEXT(w, "arena + %zu", w->end);
    w->end += tc_pad64(bytes);
    if (w->end > w->top) w->top = w->end;
    return at;
}

static tc_tensor dense_like(const tc_tensor *t) {
    tc_tensor d = *t;
    tc_contiguous_strides(d.rank, d.size, d.stride);
    return d;
}

/* The address of the value, or of a contiguous copy if it is not contiguous. */
static tc_status dense_at(writer *w, const tc_value *v, const char **out) {
    const tc_tensor *t = &w->b->t[v->id], dense = dense_like(t);
    TC_TRY(to_c_address(w, (int)v->id, out));
    if (!tc_tensor_is_contiguous(t)) {
        const char *copy = reserve(w, tc_tensor_bytes(&dense));
        TC_TRY(to_c_copy(w, &dense, copy, t, *out));
        *out = copy;
    }
    *out = cast(w, *out);
    return NULL;
}

/* Passes a number to a symbolic input. If it is known now and not carried, the symbol gets this value; else it becomes a variable. */
static tc_status give_number(writer *w, const tc_value *input, tc_sym s, bool carried) {
    const char *text;
    tc_symvalue v;
    if (!input || input->kind != TC_V_SYM || !input->sym || tc_sym_opcode(input->sym) != TC_S_VAR) return NULL;
    const int k = tc_sym_var_index(input->sym);
    TC_TRY(to_c_number(w, s, &text));
    w->e->vars[k].bound = false;
    if (!carried && to_c_known(w, s)) {
        TC_TRY(tc_sym_eval(s, w->e->vars, w->e->nvars, &v));
        w->e->vars[k] = v;
        w->e->vars[k].bound = true;
    } else tc_buf_printf(&w->calls, "    %s = %s;\n", to_c_variable(w, input->sym), text);
    return NULL;
}

/* Binds symbols in the type of a subgraph's input to the operand's sizes; then type and sizes must agree. */
static tc_status fit(writer *w, const tc_value *input, const tc_tensor *t, const char *what) {
    int64_t size;
    bool same = input->meta.rank == t->rank && input->meta.dtype == t->dtype;
    for (int d = 0; same && d < t->rank; d++) {
        const tc_sym s = input->meta.size[d];
        if (tc_sym_opcode(s) == TC_S_VAR && !to_c_known(w, s)) w->e->vars[tc_sym_var_index(s)] = (tc_symvalue){.i = t->size[d], .bound = true};
        tc_status unknown = tc_sym_eval_int(s, w->e->vars, w->e->nvars, &size);
        same = !unknown && size == t->size[d];
        tc_status_free(unknown);
    }
    return same ? NULL : tc_error(TC_UNSUPPORTED, "%s whose sizes change in the run, as C", what);
}

/* Passes the operands in a list argument to the inputs of `to` from number *at on. */
static tc_status operands(control *x, const tc_arg *a, const frame *to, bool carried, const char **in, int *at) {
    writer *w = x->w;
    for (int i = 0; a && i < a->n; i++, ++*at) {
        const tc_value *v = a->kind == TC_A_VALUES ? a->values[i] : NULL, *input = *at < to->g->ninputs ? to->g->inputs[*at] : NULL;
        if (!input) return tc_error(TC_UNSUPPORTED, "operands that the subgraph does not take, as C");
        if (v && v->kind == TC_V_TENSOR) {
            TC_TRY(fit(w, input, &w->b->t[v->id], tc_op_name(x->n->op)));
            TC_TRY(dense_at(w, v, &in[*at]));
        } else if (v && v->kind == TC_V_SYM) TC_TRY(give_number(w, input, v->sym, carried));
        else if (a->kind == TC_A_INTS) TC_TRY(give_number(w, input, a->syms[i], carried));
    }
    return NULL;
}

static tc_status result_at(writer *w, const tc_value *v, const char **out) {
    TC_TRY(to_c_address(w, (int)v->id, out));
    *out = cast(w, *out);
    return NULL;
}

/* ---- cond ---- */
static tc_status condition(writer *w, const tc_value *v, const char *at, const char **out) {
    if (v->kind == TC_V_SYM) return to_c_number(w, v->sym, out);
    return to_c_element(w, v->meta.dtype, at, out);
}

static tc_status predicate(control *x, const char **out) {
    const tc_arg *p = &x->n->args[0];
    const char *at = NULL;
    if (p->kind == TC_A_VALUE) {
        if (p->value->kind == TC_V_TENSOR) TC_TRY(to_c_address(x->w, (int)p->value->id, &at));
        return condition(x->w, p->value, at, out);
    }
    if (p->kind != TC_A_SCALAR || p->is_sym) return to_c_number(x->w, p->sym, out);
    *out = tc_scalar_to_int(p->scalar) ? "1" : "0";
    return NULL;
}

static tc_status branch(control *x, frame *to) {
    writer *w = x->w;
    const char **in = TC_NEWN(&w->a, const char *, (size_t)to->g->ninputs + 1), **out = TC_NEWN(&w->a, const char *, (size_t)x->n->nouts + 1);
    int at = 0;
    TC_TRY(operands(x, x->c.more, to, false, in, &at));
    for (int i = 0; i < x->n->nouts; i++) {
        if (x->n->outs[i]->kind != TC_V_TENSOR) continue;
        TC_TRY(fit(w, to->g->outputs[i], &w->b->t[x->n->outs[i]->id], tc_op_name(x->n->op)));
        TC_TRY(result_at(w, x->n->outs[i], &out[i]));
    }
    TC_TRY(to_c_graph(w, to, in, out));
    for (int i = 0; i < x->n->nouts; i++) {
        const char *text;
        const tc_value *number = x->n->outs[i];
        if (number->kind != TC_V_SYM || !number->sym || tc_sym_opcode(number->sym) != TC_S_VAR) continue;
        TC_TRY(to_c_number(w, to->g->outputs[i]->sym, &text));
        tc_buf_printf(&w->calls, "    %s = %s;\n", to_c_variable(w, number->sym), text);
    }
    return NULL;
}

static tc_status write_cond(control *x) {
    const char *yes;
    tc_buf *b = &x->w->calls;
    TC_TRY(predicate(x, &yes));
    tc_buf_printf(b, "    if (%s) {\n", yes);
    for (int k = 0; k < 2; k++) {
        const size_t end = x->w->end;
        if (k) tc_buf_puts(b, "    } else {\n");
        const size_t from = b->len;
        TC_TRY(branch(x, frame_child(x->w->f, x->c.graph[k].graph)));
        to_c_indent(x->w, from);
        x->w->end = end;
    }
    tc_buf_puts(b, "    }\n");
    return NULL;
}

/* ---- carried values ---- */
/* Declares the arrays now, next and other for the first n inputs, whose results are at `result`; entries of numbers are unused. */
static void declare_carried(control *x, int n, const char **in, const tc_tensor *like, const char *const *result, const char **out) {
    writer *w = x->w;
    const char *const names[] = {"now", "next", "*const other"};
    const char **text[] = {TC_NEWN(&w->a, const char *, (size_t)n + 1), TC_NEWN(&w->a, const char *, (size_t)n + 1),
                           TC_NEWN(&w->a, const char *, (size_t)n + 1)};
    for (int i = 0; i < n; i++) {
        text[0][i] = text[1][i] = text[2][i] = "NULL";
        if (!in[i]) continue;
        text[0][i] = in[i], text[1][i] = result[i], text[2][i] = reserve(w, tc_tensor_bytes(&like[i]));
        in[i] = TC_TEXT(w, "now%d[%d]", x->id, i);
        out[i] = TC_TEXT(w, "next%d[%d]", x->id, i);
    }
    tc_buf_puts(&w->calls, "    char ");
    for (int k = 0; k < 3; k++) {
        tc_buf_printf(&w->calls, "%s%s%d[] = {", k == 0 ? "*" : k == 1 ? ", *" : ", ", names[k], x->id);
        for (int i = 0; i < n; i++) tc_buf_printf(&w->calls, "%s%s", i ? ", " : "", text[k][i]);
        tc_buf_puts(&w->calls, n ? "}" : "NULL}");
    }
    tc_buf_puts(&w->calls, ";\n");
}

/* Copies carried values that did not end in the result. */
static void copy_carried(control *x, int n, const tc_tensor *like, const char *const *result) {
    for (int i = 0; i < n; i++)
        if (result[i])
            tc_buf_printf(&x->w->calls, "    if (now%d[%d] != %s) tc_c_bytes(%s, now%d[%d], %zu);\n", x->id, i, result[i], result[i], x->id, i,
                          tc_tensor_bytes(&like[i]));
}

/* The types of carried values (like) and the addresses of their results, by input. NULL: a number. */
static tc_status describe_carried(control *x, const frame *to, int n, tc_tensor *like, const char **result) {
    writer *w = x->w;
    for (int i = 0; i < n; i++) {
        const tc_value *in = to->g->inputs[i], *out = to->g->outputs[i], *produced = x->n->outs[i];
        if (in->kind != TC_V_TENSOR) continue;
        like[i] = (tc_tensor){.dtype = in->meta.dtype, .rank = in->meta.rank};
        TC_TRY(meta_sizes(w->e, in, like[i].size));
        tc_contiguous_strides(like[i].rank, like[i].size, like[i].stride);
        TC_TRY(fit(w, out, &like[i], tc_op_name(x->n->op)));
        TC_TRY(result_at(w, produced, &result[i]));
    }
    return NULL;
}

/* ---- while_loop ---- */
/* Assigns the numbers of `from` to those of `to`, all at once, by temporaries, as they may depend on each other. */
static tc_status pass_numbers(control *x, int n, tc_value *const *from, tc_value *const *to) {
    writer *w = x->w;
    const char *text;
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < n; i++) {
            if (!from[i] || from[i]->kind != TC_V_SYM || !to[i] || to[i]->kind != TC_V_SYM) continue;
            if (!to[i]->sym || tc_sym_opcode(to[i]->sym) != TC_S_VAR) continue;
            TC_TRY(to_c_number(w, from[i]->sym, &text));
            if (step == 0)
                tc_buf_printf(&w->calls, "    const %s t%d_%d = %s;\n", tc_sym_type(to[i]->sym) == TC_SYM_FLOAT ? "double" : "int64_t", x->id, i,
                              text);
            else tc_buf_printf(&w->calls, "    %s = t%d_%d;\n", to_c_variable(w, to[i]->sym), x->id, i);
        }
    return NULL;
}

static tc_status write_test(control *x, frame *test, int n, tc_value *const *body_inputs, const char **in) {
    writer *w = x->w;
    const tc_value *flag = test->g->outputs[0];
    const char *go, *out[1] = {flag->kind == TC_V_TENSOR ? reserve(w, tc_dtype_size(flag->meta.dtype)) : NULL};
    tc_buf_puts(&w->calls, "    {\n");
    const size_t from = w->calls.len;
    TC_TRY(pass_numbers(x, n, body_inputs, test->g->inputs));
    TC_TRY(to_c_graph(w, test, in, out));
    TC_TRY(condition(w, flag, out[0], &go));
    tc_buf_printf(&w->calls, "    if (fault.set) return %s;\n    if (!%s) break;\n", to_c_fault(w), go);
    to_c_indent(w, from);
    tc_buf_puts(&w->calls, "    }\n");
    return NULL;
}

static tc_status write_while(control *x) {
    writer *w = x->w;
    frame *test = frame_child(w->f, x->c.graph[0].graph), *body = frame_child(w->f, x->c.graph[1].graph);
    const int nin = body->g->ninputs, n = x->c.init->n;
    const char **in = TC_NEWN(&w->a, const char *, (size_t)nin + 1), **out = TC_NEWN(&w->a, const char *, (size_t)nin + 1);
    const char **result = TC_NEWN(&w->a, const char *, (size_t)n + 1);
    tc_tensor *like = TC_NEWN(&w->a, tc_tensor, (size_t)n + 1);
    int at = 0;
    TC_TRY(operands(x, x->c.init, body, true, in, &at));
    TC_TRY(operands(x, x->c.more, body, false, in, &at));
    for (int i = 0; i < nin && i < test->g->ninputs; i++) {
        const tc_value *own = body->g->inputs[i], *its = test->g->inputs[i];
        tc_tensor t = {.dtype = own->meta.dtype, .rank = own->meta.rank};
        if (own->kind != TC_V_TENSOR) {
            if (i >= n) TC_TRY(give_number(w, its, own->sym, false));
            continue;
        }
        TC_TRY(meta_sizes(w->e, own, t.size));
        TC_TRY(fit(w, its, &t, tc_op_name(x->n->op)));
    }
    TC_TRY(describe_carried(x, body, n, like, result));
    declare_carried(x, n, in, like, result, out);
    tc_buf_printf(&w->calls, "    for (int pass%d = 0;; pass%d = 1) {\n", x->id, x->id);
    const size_t from = w->calls.len;
    TC_TRY(write_test(x, test, n, body->g->inputs, in));
    TC_TRY(to_c_graph(w, body, in, out));
    TC_TRY(pass_numbers(x, n, body->g->outputs, body->g->inputs));
    tc_buf_printf(&w->calls, "    tc_c_turn(%d, now%d, next%d, other%d, pass%d);\n", n, x->id, x->id, x->id, x->id);
    to_c_indent(w, from);
    tc_buf_puts(&w->calls, "    }\n");
    copy_carried(x, n, like, result);
    return pass_numbers(x, x->n->nouts < n ? x->n->nouts : n, body->g->inputs, x->n->outs);
}

/* ---- scan, associative_scan, map ---- */
static size_t step_bytes(const tc_tensor *t) {
    size_t bytes = tc_dtype_size(t->dtype);
    for (int d = 1; d < t->rank; d++) bytes *= (size_t)t->size[d];
    return bytes;
}

static const char *at_step(writer *w, const char *at, size_t bytes, int id, const char *shift) {
    return TC_TEXT(w, "%s + (step%d%s) * %zu", at, id, shift, bytes);
}

/* The inputs from `at` on: element t of each xs. In an associative scan, y[t - 1] comes before them; y[0] = xs[0]. */
static tc_status step_inputs(control *x, const tc_graph *g, int at, const char **in) {
    writer *w = x->w;
    for (int i = 0; i < x->c.xs->n; i++) {
        const tc_value *v = x->c.xs->values[i];
        const tc_tensor *all = &w->b->t[v->id];
        const size_t bytes = step_bytes(all);
        tc_tensor slice = {.dtype = all->dtype, .rank = all->rank - 1};
        const char *from;
        memcpy(slice.size, all->size + 1, sizeof *slice.size * (size_t)slice.rank);
        TC_TRY(fit(w, g->inputs[at + i], &slice, tc_op_name(x->n->op)));
        TC_TRY(dense_at(w, v, &from));
        in[at + i] = at_step(w, from, bytes, x->id, "");
        if (!x->c.associative) continue;
        TC_TRY(fit(w, g->inputs[i], &slice, tc_op_name(x->n->op)));
        TC_TRY(result_at(w, x->n->outs[i], &in[i]));
        if (all->size[0]) tc_buf_printf(&w->calls, "    tc_c_bytes(%s, %s, %zu);\n", in[i], from, bytes);
        in[i] = at_step(w, in[i], bytes, x->id, " - 1");
    }
    return NULL;
}

/* carry, y[t] = body(carry, xs[t], more) */
static tc_status write_scan(control *x) {
    writer *w = x->w;
    frame *body = frame_child(w->f, x->c.graph->graph);
    const tc_graph *g = body->g;
    const int n = x->c.init ? x->c.init->n : 0, nxs = x->c.xs->n;
    const char **in = TC_NEWN(&w->a, const char *, (size_t)g->ninputs + 1), **out = TC_NEWN(&w->a, const char *, (size_t)g->noutputs + 1);
    const char **result = TC_NEWN(&w->a, const char *, (size_t)n + 1);
    tc_tensor *like = TC_NEWN(&w->a, tc_tensor, (size_t)n + 1);
    if (!nxs || x->c.xs->values[0]->kind != TC_V_TENSOR) return tc_error(TC_UNSUPPORTED, "%s over no tensor as C", tc_op_name(x->n->op));
    const int64_t length = w->b->t[x->c.xs->values[0]->id].size[0];
    int at = 0;
    TC_TRY(operands(x, x->c.init, body, false, in, &at));
    if (x->c.associative) at += nxs;
    TC_TRY(step_inputs(x, g, at, in));
    at += nxs;
    TC_TRY(operands(x, x->c.more, body, false, in, &at));
    TC_TRY(describe_carried(x, body, n, like, result));
    if (n) declare_carried(x, n, in, like, result, out);
    for (int i = n; i < g->noutputs; i++) {
        const tc_value *y = x->n->outs[i];
        TC_TRY(result_at(w, y, &out[i]));
        out[i] = at_step(w, out[i], step_bytes(&w->b->t[y->id]), x->id, "");
    }
    tc_buf_printf(&w->calls, "    for (int64_t step%d = %d; step%d < %lld; step%d++) {\n", x->id, x->c.associative, x->id, (long long)length, x->id);
    const size_t from = w->calls.len;
    TC_TRY(to_c_graph(w, body, in, out));
    if (n) tc_buf_printf(&w->calls, "    tc_c_turn(%d, now%d, next%d, other%d, step%d > 0);\n", n, x->id, x->id, x->id, x->id);
    to_c_indent(w, from);
    tc_buf_puts(&w->calls, "    }\n");
    copy_carried(x, n, like, result);
    return NULL;
}

tc_status to_c_control(writer *w, const tc_node *n) {
    control x = {.w = w, .n = n, .id = w->ncontrol++};
    const size_t end = w->end;
    TC_TRY(control_read(n, &x.c));
    tc_buf_puts(&w->calls, "    {\n");
    const size_t from = w->calls.len;
    switch (x.c.kind) {
    case CONTROL_COND: TC_TRY(write_cond(&x)); break;
    case CONTROL_WHILE: TC_TRY(write_while(&x)); break;
    case CONTROL_SCAN: TC_TRY(write_scan(&x)); break;
    }
    to_c_indent(w, from);
    tc_buf_puts(&w->calls, "    }\n");
    w->end = end;
    return NULL;
}
