/* Executes control flow: cond, while_loop, scan, associative_scan, map_impl. Subgraphs are frames of their own. Tensor operands and results are passed as
 * tensors, numbers as values of symbols. */
#include "runtime/frame.h"

frame *frame_child(const frame *f, const tc_graph *g) {
    for (size_t i = 0; i < f->children.len; i++)
        if (f->children.data[i]->g == g) return f->children.data[i];
    return NULL;
}

static void set_number(tc_exec *e, const tc_value *v, tc_symvalue x) {
    if (!v || v->kind != TC_V_SYM || !v->sym || tc_sym_opcode(v->sym) != TC_S_VAR) return;
    x.bound = true;
    e->vars[tc_sym_var_index(v->sym)] = x;
}

static tc_status number_of(tc_exec *e, tc_sym s, tc_symvalue *out) { return tc_sym_eval(s, e->vars, e->nvars, out); }

/* Passes the operands in a list argument to the inputs of the subgraph from number *at on. */
static tc_status operands(frame *f, const tc_arg *a, frame *to, tc_tensor *in, int *at) {
    for (int i = 0; i < a->n; i++, ++*at) {
        const tc_value *input = *at < to->g->ninputs ? to->g->inputs[*at] : NULL;
        if (a->kind == TC_A_VALUES && a->values[i] && a->values[i]->kind == TC_V_TENSOR) in[*at] = tc_tensor_share(&f->b->t[a->values[i]->id]);
        else if (a->kind == TC_A_VALUES && a->values[i] && a->values[i]->kind == TC_V_SYM) {
            tc_symvalue v;
            TC_TRY(number_of(f->e, a->values[i]->sym, &v));
            set_number(f->e, input, v);
        } else if (a->kind == TC_A_INTS) {
            tc_symvalue v;
            TC_TRY(number_of(f->e, a->syms[i], &v));
            set_number(f->e, input, v);
        }
    }
    return NULL;
}

static tc_status copy_inputs(const frame *to, tc_tensor *in) {
    for (int i = 0; i < to->g->ninputs; i++) {
        tc_tensor c;
        if (!in[i].storage || frame_takes(to, i, &in[i])) continue;
        TC_TRY(tc_tensor_clone(&in[i], &c));
        tc_tensor_deinit(&in[i]);
        in[i] = c;
    }
    return NULL;
}

/* Binds symbols in the types of the subgraph's inputs, where unbound, to the operands' sizes. Other sizes must be what the types state. */
static tc_status bind_inputs(frame *to, const tc_tensor *in) {
    for (int i = 0; i < to->g->ninputs; i++) {
        const tc_value *v = to->g->inputs[i];
        if (!v || v->kind != TC_V_TENSOR || !in[i].storage) continue;
        for (int d = 0; d < v->meta.rank && d < in[i].rank; d++) {
            const tc_sym s = v->meta.size[d];
            tc_symvalue *x = tc_sym_opcode(s) == TC_S_VAR ? &to->e->vars[tc_sym_var_index(s)] : NULL, want;
            if (x && !x->bound) *x = (tc_symvalue){.i = in[i].size[d], .bound = true};
            TC_TRY(number_of(to->e, s, &want));
            if (want.i != in[i].size[d])
                return tc_error(TC_CONTENT, "%s: input %s has size %lld in dimension %d, expected %lld", to->g->name, v->name,
                                (long long)in[i].size[d], d, (long long)want.i);
        }
    }
    return NULL;
}

static tc_status call_graph(frame *to, tc_tensor *in, tc_tensor *out) {
    TC_TRY(copy_inputs(to, in));
    TC_TRY(bind_inputs(to, in));
    return frame_run(to, in, out);
}

static void drop(tc_tensor *t, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&t[i]);
    free(t);
}

static tc_status truth(frame *f, const tc_value *v, const tc_tensor *t, bool *out) {
    if (v && v->kind == TC_V_SYM) {
        tc_symvalue x;
        TC_TRY(number_of(f->e, v->sym, &x));
        *out = x.i != 0;
        return NULL;
    }
    if (!t->storage || tc_tensor_numel(t) != 1) return tc_error(TC_CONTENT, "a condition is not one bool");
    *out = tc_scalar_to_double(tc_scalar_load(t->dtype, tc_tensor_data(t), 0)) != 0;
    return NULL;
}

/* Numbers that a subgraph returns become the values of the node's results. */
static tc_status give_numbers(frame *f, const tc_node *n, int i, const tc_value *from) {
    if (!from || from->kind != TC_V_SYM || n->outs[i]->kind != TC_V_SYM) return NULL;
    tc_symvalue v;
    TC_TRY(number_of(f->e, from->sym, &v));
    set_number(f->e, n->outs[i], v);
    return NULL;
}

/* Moves *t to result i of n. If it is an operand that was passed through, it is copied, because its memory will be reused. */
static tc_status give_tensor(frame *f, const tc_node *n, int i, tc_tensor *t) {
    tc_tensor *to = &f->b->t[n->outs[i]->id];
    if (n->outs[i]->kind != TC_V_TENSOR) return NULL;
    if (t->storage && __atomic_load_n(&t->storage->refs, __ATOMIC_ACQUIRE) != 1) return tc_tensor_clone(t, to);
    *to = *t;
    *t = (tc_tensor){0};
    return NULL;
}

static tc_status run_cond(frame *f, const tc_node *n) {
    bool yes;
    const tc_arg *p = &n->args[0];
    if (p->kind == TC_A_VALUE) TC_TRY(truth(f, p->value, p->value->kind == TC_V_TENSOR ? &f->b->t[p->value->id] : NULL, &yes));
    else if (p->kind == TC_A_SCALAR && !p->is_sym) yes = tc_scalar_to_int(p->scalar) != 0;
    else {
        tc_symvalue v;
        TC_TRY(number_of(f->e, p->sym, &v));
        yes = v.i != 0;
    }
    frame *to = frame_child(f, n->args[yes ? 1 : 2].graph);
    tc_tensor *in = tc_xcalloc((size_t)to->g->ninputs + 1, sizeof *in), *out = tc_xcalloc((size_t)n->nouts + 1, sizeof *out);
    int at = 0;
    tc_status s = n->nargs > 3 ? operands(f, &n->args[3], to, in, &at) : NULL;
    if (!s) s = call_graph(to, in, out);
    for (int i = 0; i < n->nouts && !s; i++) {
        s = give_numbers(f, n, i, to->g->outputs[i]);
        if (!s) s = give_tensor(f, n, i, &out[i]);
    }
    drop(in, to->g->ninputs);
    drop(out, n->nouts);
    return s;
}

/* Loops note which symbols have values before them. Those that a body gives, such as sizes that depend on data, are found anew in each iteration. */
static bool *note_symbols(const tc_exec *e) {
    bool *had = tc_xcalloc(e->nvars + 1, sizeof *had);
    for (size_t i = 0; i < e->nvars; i++) had[i] = e->vars[i].bound;
    return had;
}
static void forget_symbols(tc_exec *e, const bool *had) {
    for (size_t i = 0; i < e->nvars; i++) e->vars[i].bound &= had[i];
}

static tc_status run_while(frame *f, const tc_node *n) {
    frame *test = frame_child(f, n->args[0].graph), *body = frame_child(f, n->args[1].graph);
    int nin = body->g->ninputs, carried = n->args[2].n, at = 0;
    tc_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in), *out = tc_xcalloc((size_t)carried + 1, sizeof *out);
    tc_symvalue *numbers = tc_xcalloc((size_t)carried + 1, sizeof *numbers);
    tc_status s = operands(f, &n->args[2], body, in, &at);
    if (!s && n->nargs > 3) s = operands(f, &n->args[3], body, in, &at);
    bool *had = note_symbols(f->e);
    while (!s) {
        tc_tensor flag = {0};
        bool go = false;
        forget_symbols(f->e, had);
        for (int i = 0; i < carried && i < test->g->ninputs; i++) /* the test has its own symbols for the same numbers */
            if (body->g->inputs[i] && body->g->inputs[i]->kind == TC_V_SYM) {
                s = number_of(f->e, body->g->inputs[i]->sym, &numbers[i]);
                if (!s) set_number(f->e, test->g->inputs[i], numbers[i]);
            }
        if (!s) s = call_graph(test, in, &flag);
        if (!s) s = truth(test, test->g->outputs[0], &flag, &go);
        tc_tensor_deinit(&flag);
        if (s || !go) break;
        s = call_graph(body, in, out);
        for (int i = 0; i < carried && !s; i++)
            if (body->g->outputs[i] && body->g->outputs[i]->kind == TC_V_SYM) s = number_of(f->e, body->g->outputs[i]->sym, &numbers[i]);
        for (int i = 0; i < carried && !s; i++) {
            if (body->g->outputs[i] && body->g->outputs[i]->kind == TC_V_SYM) set_number(f->e, body->g->inputs[i], numbers[i]);
            tc_tensor old = in[i];
            in[i] = out[i];
            out[i] = (tc_tensor){0};
            /* the result of an earlier iteration is used again as the memory of a next one */
            bool reuse = old.storage && __atomic_load_n(&old.storage->refs, __ATOMIC_ACQUIRE) == 1 && old.offset == 0 && !old.storage->read_only &&
                         tc_tensor_is_contiguous(&old);
            if (reuse) out[i] = old;
            else tc_tensor_deinit(&old);
        }
        for (int i = 0; i < carried && !s; i++) { /* only if sizes do not change */
            const tc_value *from = body->g->inputs[i], *to = body->g->outputs[i];
            bool same = from && to && out[i].storage && out[i].rank == in[i].rank && out[i].dtype == in[i].dtype;
            for (int d = 0; same && d < out[i].rank; d++) same = out[i].size[d] == in[i].size[d] && from->meta.size[d] == to->meta.size[d];
            if (out[i].storage && !same) tc_tensor_deinit(&out[i]);
        }
    }
    for (int i = 0; i < n->nouts && !s; i++) {
        s = give_numbers(f, n, i, body->g->inputs[i]);
        if (!s) s = give_tensor(f, n, i, &in[i]);
    }
    drop(in, nin);
    drop(out, carried);
    free(numbers);
    free(had);
    return s;
}

/* x[t] */
static tc_tensor slice(const tc_tensor *x, int64_t t) {
    tc_tensor s = tc_tensor_share(x);
    s.offset += t * x->stride[0];
    s.rank--;
    for (int d = 0; d < s.rank; d++) {
        s.size[d] = x->size[d + 1];
        s.stride[d] = x->stride[d + 1];
    }
    return s;
}

static tc_status stack_into(frame *f, const tc_value *out, int64_t t, int64_t length, const tc_tensor *y) {
    tc_tensor *to = &f->b->t[out->id];
    if (!to->storage) {
        int64_t size[TC_MAX_RANK] = {length};
        for (int d = 0; d < y->rank; d++) size[d + 1] = y->size[d];
        TC_TRY(tc_tensor_empty(y->dtype, y->rank + 1, size, to));
    }
    tc_tensor place = slice(to, t);
    copy_tensor(f->e->isa, f->e->pool, &place, y);
    tc_tensor_deinit(&place);
    return NULL;
}

/* The stacked result of no iterations, whose sizes come from the value's type. */
static tc_status empty_stack(frame *f, const tc_value *out) {
    int64_t size[TC_MAX_RANK];
    TC_TRY(meta_sizes(f->e, out, size));
    return tc_tensor_empty(out->meta.dtype, out->meta.rank, size, &f->b->t[out->id]);
}

/* *carry, y[t] = graph(*carry, *xs[t], *more), with ninit carried tensors. For an associative scan, the carry is y[t-1], starting with xs[0]. */
static tc_status run_scan_like(frame *f, const tc_node *n, const control_form *c) {
    const tc_arg *init = c->init, *xs = c->xs, *more = c->more;
    const bool associative = c->associative;
    frame *to = frame_child(f, c->graph->graph);
    int nin = to->g->ninputs, ninit = associative ? xs->n : init ? init->n : 0, nout = to->g->noutputs;
    int64_t length = xs->n && xs->values[0]->kind == TC_V_TENSOR ? f->b->t[xs->values[0]->id].size[0] : 0;
    tc_tensor *carry = tc_xcalloc((size_t)ninit + 1, sizeof *carry);
    tc_status s = NULL;
    for (int i = 0; i < ninit && !s; i++) {
        if (associative && length) carry[i] = slice(&f->b->t[xs->values[i]->id], 0);
        else if (!associative) carry[i] = tc_tensor_share(&f->b->t[init->values[i]->id]);
        if (associative && length) s = stack_into(f, n->outs[i], 0, length, &carry[i]);
    }
    bool *had = note_symbols(f->e);
    for (int64_t t = associative; t < length && !s; t++) {
        forget_symbols(f->e, had);
        tc_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in), *out = tc_xcalloc((size_t)nout + 1, sizeof *out);
        int at = 0;
        for (int i = 0; i < ninit; i++) in[at++] = tc_tensor_share(&carry[i]);
        for (int i = 0; i < xs->n; i++) in[at++] = slice(&f->b->t[xs->values[i]->id], t);
        if (more) s = operands(f, more, to, in, &at);
        if (!s) s = call_graph(to, in, out);
        for (int i = 0; i < nout && !s; i++) {
            bool stacked = associative || i >= ninit;
            if (stacked) s = stack_into(f, n->outs[i], t, length, &out[i]);
            if (i >= ninit) continue;
            tc_tensor_deinit(&carry[i]);
            carry[i] = out[i];
            out[i] = (tc_tensor){0};
        }
        drop(in, nin);
        drop(out, nout);
    }
    free(had);
    for (int i = 0; i < n->nouts && !s; i++) {
        if (!associative && i < ninit) {
            tc_tensor own;
            s = tc_tensor_clone(&carry[i], &own);
            if (!s) f->b->t[n->outs[i]->id] = own;
        } else if (!length) s = empty_stack(f, n->outs[i]);
    }
    drop(carry, ninit);
    return s;
}

tc_status control_read(const tc_node *n, control_form *out) {
    static const struct {
        const char *name;
        control_kind kind;
        signed char graph, init, xs, more; /* numbers of the arguments; -1: none */
        bool associative;
    } forms[] = {{"cond", CONTROL_COND, 1, -1, -1, 3, false},
                 {"while_loop", CONTROL_WHILE, 0, 2, -1, 3, false},
                 {"scan", CONTROL_SCAN, 0, 1, 2, 3, false},
                 {"associative_scan", CONTROL_SCAN, 0, -1, 1, 2, true},
                 {"map_impl", CONTROL_SCAN, 0, -1, 1, 2, false}};
    const char *name = tc_op_name(n->op), *whole = strstr(name, "higher_order."), *dot = strrchr(name, '.');
    name = whole ? whole + strlen("higher_order.") : dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strncmp(name, forms[i].name, strlen(forms[i].name))) continue;
        const int at[] = {forms[i].graph, forms[i].init, forms[i].xs, forms[i].more};
        const tc_arg *a[4];
        for (int k = 0; k < 4; k++) a[k] = at[k] >= 0 && at[k] < n->nargs ? &n->args[at[k]] : NULL;
        *out = (control_form){forms[i].kind, a[0], a[1], a[2], a[3], forms[i].associative};
        return NULL;
    }
    return tc_error(TC_UNSUPPORTED, "%s is not executed", tc_op_name(n->op));
}

tc_status run_control(frame *f, const tc_node *n) {
    control_form c;
    TC_TRY(control_read(n, &c));
    switch (c.kind) {
    case CONTROL_COND: return run_cond(f, n);
    case CONTROL_WHILE: return run_while(f, n);
    case CONTROL_SCAN: break;
    }
    return run_scan_like(f, n, &c);
}
