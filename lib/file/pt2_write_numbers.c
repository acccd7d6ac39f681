/* Numbers that a branch or body uses from its enclosing graph. A subgraph of an archive sees only its operands, so they are passed as tensors.
 *
 *     while_loop(cond, body, [%i, %y], [])                         %n = scalar_tensor(u0)
 *         body: mul(%y, u0)                              ->        while_loop(cond, body, [%i, %y], [%n])
 *                                                                      body: u0 = item(%n); mul(%y, u0)
 */
#include "file/pt2_write.h"
#include "op/emit.h"
#include "pass/symbols.h"

/* The symbols that g uses from the enclosing graph. The caller frees the array. */
static bool *missing(const tc_graph *g) {
    bool *set = tc_xcalloc(tc_sym_var_count(g->program->sym) + 1, sizeof *set);
    tc_mark_graph(set, g);
    return set;
}

static tc_value *outer_tensor(tc_emit *e, tc_sym s) {
    static const tc_dtype types[] = {[TC_SYM_INT] = TC_I64, [TC_SYM_FLOAT] = TC_F64, [TC_SYM_BOOL] = TC_BOOL};
    const tc_arg number = {.kind = TC_A_SCALAR, .is_sym = true, .sym = s};
    return tc_emit_call(e, "aten::scalar_tensor", "ad", &number, (int)types[tc_sym_type(s)]);
}

/* Adds the number s as last input of g, like `outer`. */
static tc_status read_number(tc_graph *g, const tc_value *outer, tc_sym s) {
    tc_emit e = {.graph = g, .before = g->first};
    tc_value *in = tc_graph_value(g, TC_V_TENSOR, outer->name);
    tc_value_copy_type(in, outer);
    tc_graph_add_input(g, in);
    tc_value *number = tc_emit_call(&e, "aten::item", "v", in);
    if (number) number->sym = s;
    return e.status;
}

/* Passes to all subgraphs of n the numbers that any of them lacks, after the operands that n has. */
static tc_status give_numbers(tc_node *n) {
    tc_graph *g = n->graph;
    tc_program *p = g->program;
    tc_arg *more = &n->args[n->nargs - 1];
    tc_emit e = {.graph = g, .before = n, .source = n->source};
    size_t nsyms = tc_sym_var_count(p->sym);
    bool *wanted = tc_xcalloc(nsyms + 1, sizeof *wanted);
    for (int i = 0; i < n->nargs; i++) {
        bool *m = n->args[i].kind == TC_A_GRAPH ? missing(n->args[i].graph) : NULL;
        for (size_t k = 0; m && k < nsyms; k++) wanted[k] |= m[k];
        free(m);
    }
    for (size_t k = 0; k < nsyms && !e.status; k++) {
        tc_sym s = tc_sym_var_at(p->sym, k);
        tc_value *outer = wanted[k] ? outer_tensor(&e, s) : NULL;
        if (!outer) continue;
        tc_value **list = TC_NEWN(&p->arena, tc_value *, (size_t)more->n + 1);
        for (int i = 0; i < more->n; i++) list[i] = more->values[i];
        list[more->n] = outer;
        *more = (tc_arg){.kind = TC_A_VALUES, .n = more->n + 1, .values = list};
        for (int i = 0; i < n->nargs && !e.status; i++)
            if (n->args[i].kind == TC_A_GRAPH) e.status = read_number(n->args[i].graph, outer, s);
    }
    free(wanted);
    return e.status;
}

/* cond, while_loop, scan, associative_scan and map: their last argument lists the further values that their graphs read. */
static bool takes_more(const tc_node *n) {
    if (!(n->op->flags & TC_OP_HIGHER_ORDER) || !n->nargs) return false;
    const tc_arg *last = &n->args[n->nargs - 1];
    return last->kind == TC_A_VALUES || (last->kind == TC_A_INTS && last->n == 0);
}

tc_status tc_pt2_give_numbers(tc_graph *g) {
    for (tc_node *n = g->first; n; n = n->next) { /* innermost graphs first: numbers passed to them are needed by the enclosing bodies */
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) TC_TRY(tc_pt2_give_numbers(n->args[i].graph));
        if (takes_more(n)) TC_TRY(give_numbers(n));
    }
    return NULL;
}

bool tc_pt2_lacks_numbers(const tc_graph *g) {
    bool found = false;
    for (const tc_node *n = g->first; n && !found; n = n->next)
        for (int i = 0; i < n->nargs && !found; i++) {
            if (n->args[i].kind != TC_A_GRAPH) continue;
            bool *m = takes_more(n) ? missing(n->args[i].graph) : NULL;
            for (size_t k = 0; m && k < tc_sym_var_count(g->program->sym); k++) found |= m[k];
            free(m);
            found = found || tc_pt2_lacks_numbers(n->args[i].graph);
        }
    return found;
}
