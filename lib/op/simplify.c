/* Simplifies the sizes of a program by all its guards: a later guard (T >= 2) simplifies expressions built before it (max(0, T - 2)), and every
 * reader of the program would compute the simplified ones. */
#include "op/op.h"

#include <string.h>

static tc_sym refold(tc_symctx *x, tc_sym s) {
    s = tc_sym_simplify(x, s); /* equalities from guards: the length of x[-1:3:3] is 1 if a guard says so */
    int n = tc_sym_arity(s);
    if (n == 0) return s;
    tc_symop op = tc_sym_opcode(s);
    tc_sym r = refold(x, tc_sym_arg(s, 0));
    if (op == TC_S_ADD) {
        tc_sym *parts = tc_xmalloc(sizeof *parts * (size_t)n);
        parts[0] = r;
        for (int i = 1; i < n; i++) parts[i] = refold(x, tc_sym_arg(s, i));
        r = tc_sym_sum(x, parts, n);
        free(parts);
        return r;
    }
    if (op == TC_S_MUL) {
        for (int i = 1; i < n; i++) r = tc_sym_mul(x, r, refold(x, tc_sym_arg(s, i)));
        return r;
    }
    if (n > 3) return s;
    return tc_sym_op(x, op, r, n > 1 ? refold(x, tc_sym_arg(s, 1)) : NULL, n > 2 ? refold(x, tc_sym_arg(s, 2)) : NULL);
}

/* s, of which `part` is a part, without the symbols of that part that guards have replaced: no input has such a size any more. */
static tc_sym without_replaced(tc_symctx *x, tc_sym s, tc_sym part) {
    const tc_sym now = tc_sym_opcode(part) == TC_S_VAR ? tc_sym_simplify(x, part) : part;
    if (now != part) return tc_sym_substitute(x, s, &part, &now, 1);
    for (int i = 0; i < tc_sym_arity(part); i++) s = without_replaced(x, s, tc_sym_arg(part, i));
    return s;
}

static const tc_sym *list_of(tc_program *p, const tc_sym *old, int n) {
    if (!old) return NULL;
    bool same = true;
    tc_sym *s = TC_NEWN(&p->arena, tc_sym, (size_t)(n ? n : 1));
    for (int i = 0; i < n; i++) {
        s[i] = tc_sym_arity(old[i]) || tc_sym_opcode(old[i]) == TC_S_VAR ? refold(p->sym, old[i]) : old[i];
        same = same && s[i] == old[i];
    }
    return same ? old : s;
}

static void value(tc_program *p, tc_value *v) {
    if (!v) return;
    if (v->kind == TC_V_TENSOR) {
        v->meta.size = list_of(p, v->meta.size, v->meta.rank);
        v->meta.stride = list_of(p, v->meta.stride, v->meta.rank);
    }
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) value(p, v->list[i]);
}

static void graph(tc_program *p, tc_graph *g) {
    for (int i = 0; i < g->ninputs; i++) value(p, g->inputs[i]);
    for (tc_node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->nouts; i++) value(p, n->outs[i]);
        bool asks = n->op && !strncmp(tc_op_name(n->op), "aten._assert_scalar", 19); /* these assertions are what the other simplifications rely on */
        for (int i = 0; i < n->nargs; i++) {
            tc_arg *a = &n->args[i];
            if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym))
                a->sym = asks ? without_replaced(p->sym, a->sym, a->sym) : refold(p->sym, a->sym);
            else if (a->kind == TC_A_INTS) a->syms = list_of(p, a->syms, a->n);
        }
    }
}

void tc_program_simplify(tc_program *p) {
    graph(p, p->graph);
    for (tc_graph *g = p->graph->first_sub; g; g = g->next_sub) graph(p, g);
    for (size_t i = 0; i < p->guards.len; i++) { /* but for those that say which size is replaced, which become true */
        tc_guard *g = &p->guards.data[i];
        bool holds;
        const tc_sym now = without_replaced(p->sym, g->cond, g->cond);
        if (!tc_sym_const_bool(now, &holds)) g->cond = now;
    }
}
