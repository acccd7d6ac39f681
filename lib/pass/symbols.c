/* Marks the symbols used in types, arguments and nodes (symbols.h). */
#include "pass/symbols.h"

static void mark(bool *set, tc_sym s) {
    if (!s) return;
    if (tc_sym_opcode(s) == TC_S_VAR) set[tc_sym_var_index(s)] = true;
    for (int i = 0; i < tc_sym_arity(s); i++) mark(set, tc_sym_arg(s, i));
}

void tc_mark_type(bool *set, const tc_value *v) {
    if (v->kind == TC_V_SYM) mark(set, v->sym);
    for (int i = 0; v->kind == TC_V_TENSOR && i < v->meta.rank; i++) {
        mark(set, v->meta.size[i]);
        if (v->meta.stride) mark(set, v->meta.stride[i]);
    }
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) tc_mark_type(set, v->list[i]);
}

static void mark_place(void *ctx, tc_value **place) { tc_mark_type(ctx, *place); }

void tc_mark_node(bool *set, const tc_node *n) {
    for (int i = 0; i < n->nargs; i++) tc_mark_arg(set, &n->args[i]);
    tc_node_each_input(n, mark_place, set);
    for (int i = 0; i < n->nouts; i++) tc_mark_type(set, n->outs[i]);
}

void tc_mark_arg(bool *set, const tc_arg *a) {
    if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) mark(set, a->sym);
    for (int i = 0; a->kind == TC_A_INTS && i < a->n; i++) mark(set, a->syms[i]);
    if (a->kind == TC_A_GRAPH) tc_mark_graph(set, a->graph);
}

void tc_mark_defined(bool *set, const tc_value *v, bool all) {
    if (v->kind == TC_V_SYM && (all || tc_sym_opcode(v->sym) == TC_S_VAR)) mark(set, v->sym);
    for (int i = 0; v->kind == TC_V_TENSOR && i < v->meta.rank; i++)
        if (all || tc_sym_opcode(v->meta.size[i]) == TC_S_VAR) mark(set, v->meta.size[i]);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) tc_mark_defined(set, v->list[i], all);
}

void tc_mark_graph(bool *set, const tc_graph *g) {
    size_t n = tc_sym_var_count(g->program->sym);
    bool *used = tc_xcalloc(n + 1, sizeof *used), *known = tc_xcalloc(n + 1, sizeof *known);
    for (const tc_node *m = g->first; m; m = m->next) {
        tc_mark_node(used, m);
        if (tc_node_brings_symbols(m))
            for (int i = 0; i < m->nouts; i++) tc_mark_defined(known, m->outs[i], true);
    }
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) tc_mark_type(used, g->outputs[i]);
    for (int i = 0; i < g->ninputs; i++) tc_mark_defined(known, g->inputs[i], false);
    for (size_t i = 0; i < n; i++) set[i] |= used[i] && !known[i];
    free(used);
    free(known);
}
