/* Dead code elimination: one backward sweep over each graph that marks live values and the symbols of live expressions. */
#include "pass/dce.h"

#include "op/op.h"

typedef struct {
    bool *value;  /* by id */
    bool *symbol; /* by index, shared by all graphs */
    tc_map *seen; /* expressions visited */
} live;

static void mark_sym(live *l, tc_sym s) {
    if (!s || tc_sym_opcode(s) == TC_S_CONST) return;
    if (tc_sym_opcode(s) == TC_S_VAR) {
        l->symbol[tc_sym_var_index(s)] = true;
        return;
    }
    void **slot = tc_map_put(l->seen, (const char *)&s, sizeof s);
    if (*slot) return;
    *slot = l;
    for (int i = 0; i < tc_sym_arity(s); i++) mark_sym(l, tc_sym_arg(s, i));
}

static void mark_value(void *ctx, tc_value **place) {
    live *l = ctx;
    tc_value *v = *place;
    l->value[v->id] = true;
    if (v->kind == TC_V_SYM) mark_sym(l, v->sym);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) l->value[v->list[i]->id] = true;
}

static void mark_type(live *l, const tc_value *v) {
    for (int i = 0; v->kind == TC_V_TENSOR && i < v->meta.rank; i++) mark_sym(l, v->meta.size[i]);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) mark_type(l, v->list[i]);
}

static bool is_live_symbol(const live *l, tc_sym s) { return s && tc_sym_opcode(s) == TC_S_VAR && l->symbol[tc_sym_var_index(s)]; }

/* Does n define, in its result v, a symbol that is live? */
static bool decides_live(const live *l, const tc_node *n, const tc_value *v) {
    if (v->kind == TC_V_SYM) return is_live_symbol(l, v->sym) && tc_node_decides(n, v->sym);
    for (int i = 0; v->kind == TC_V_TENSOR && i < v->meta.rank; i++)
        if (is_live_symbol(l, v->meta.size[i]) && tc_node_decides(n, v->meta.size[i])) return true;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++)
        if (decides_live(l, n, v->list[i])) return true;
    return false;
}

/* A data-dependent number or size with bounds: the node also checks them at run time. */
static bool bounded(const tc_node *n, const tc_value *v) {
    const tc_meta *m = v->kind == TC_V_TENSOR && n->op->flags & TC_OP_DATA_SHAPE ? &v->meta : NULL;
    int64_t lo, hi;
    for (int i = 0; i < (m ? m->rank : v->kind == TC_V_SYM); i++) {
        tc_sym s = m ? m->size[i] : v->sym;
        if (!s || tc_sym_opcode(s) != TC_S_VAR || tc_sym_type(s) != TC_SYM_INT) continue;
        tc_sym_range(n->graph->program->sym, s, &lo, &hi);
        if ((m ? lo > 0 : lo != TC_SYM_NO_LO) || hi != TC_SYM_NO_HI) return true;
    }
    return false;
}

static bool is_live(const live *l, const tc_node *n, bool drop_random) {
    unsigned f = n->op->flags;
    if ((f & TC_OP_IMPURE) || ((f & TC_OP_RANDOM) && !drop_random) || tc_op_mutates(n->op)) return true;
    for (int i = 0; i < n->nouts; i++) {
        const tc_value *v = n->outs[i];
        if (l->value[v->id] || bounded(n, v)) return true;
        for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++)
            if (l->value[v->list[k]->id]) return true;
        if (decides_live(l, n, v)) return true;
    }
    for (int i = 0; i < n->nargs; i++) /* a subgraph that asserts or draws random numbers */
        if (n->args[i].kind == TC_A_GRAPH)
            for (const tc_node *m = n->args[i].graph->first; m; m = m->next)
                if (m->op->flags & (TC_OP_IMPURE | TC_OP_RANDOM)) return true;
    return false;
}

static size_t sweep(tc_graph *g, live *outer, bool drop_random) {
    live l = *outer;
    size_t removed = 0;
    l.value = tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *l.value);
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) mark_value(&l, &g->outputs[i]);
    if (!g->parent) tc_program_each_call_value(g->program, mark_value, &l);
    for (tc_node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!is_live(&l, n, drop_random)) {
            tc_node_remove(n);
            removed++;
            continue;
        }
        tc_node_each_input(n, mark_value, &l);
        for (int i = 0; i < n->nouts; i++) mark_type(&l, n->outs[i]);
        for (int i = 0; i < n->nargs; i++) {
            const tc_arg *a = &n->args[i];
            if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) mark_sym(&l, a->sym);
            for (int k = 0; a->kind == TC_A_INTS && k < a->n; k++) mark_sym(&l, a->syms[k]);
            if (a->kind == TC_A_GRAPH) removed += sweep(a->graph, &l, drop_random);
        }
    }
    free(l.value);
    return removed;
}

size_t tc_dce(tc_program *p, bool drop_random) {
    tc_map seen = {0};
    size_t nsyms = tc_sym_var_count(p->sym);
    live l = {NULL, tc_xcalloc(nsyms ? nsyms : 1, sizeof(bool)), &seen};
    for (size_t i = 0; i < p->guards.len; i++) mark_sym(&l, p->guards.data[i].cond);
    for (int i = 0; i < p->noutputs; i++) /* numbers among the results */
        if (p->outputs[i].kind == TC_OUT_LEAF && (p->outputs[i].leaf.kind == TC_A_INT || p->outputs[i].leaf.is_sym))
            mark_sym(&l, p->outputs[i].leaf.sym);
    size_t removed = sweep(p->graph, &l, drop_random);
    free(l.symbol);
    tc_map_free(&seen);
    return removed;
}

/* ---- checks ---- */
static void drop_asserts(tc_graph *g) {
    for (tc_node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) drop_asserts(n->args[i].graph);
        if (!strncmp(tc_op_name(n->op), "aten._assert_async", 18)) tc_node_remove(n);
    }
}

void tc_drop_checks(tc_program *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->guards.len; i++)
        if (!p->guards.data[i].apart) p->guards.data[kept++] = p->guards.data[i];
    p->guards.len = kept;
    drop_asserts(p->graph);
    tc_dce(p, false);
}

/* ---- weights ---- */
static void mark_read(void *ctx, tc_value **place) { ((bool *)ctx)[(*place)->id] = true; }

void tc_drop_weights(tc_program *p) {
    tc_graph *g = p->graph;
    bool *read = tc_xcalloc((size_t)g->nvalues + 1, sizeof *read), *keep = tc_xcalloc((size_t)p->ninputs + 1, sizeof *keep);
    int *to = tc_xcalloc((size_t)p->ninputs + 1, sizeof *to), kept = 0, at = 0;
    for (tc_node *n = g->first; n; n = n->next) tc_node_each_input(n, mark_read, read);
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) read[g->outputs[i]->id] = true;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        keep[i] |= !in->value || read[in->value->id] || (in->kind != TC_IN_PARAMETER && in->kind != TC_IN_BUFFER && in->kind != TC_IN_CONSTANT);
    }
    for (int o = 0; o < p->noutputs; o++)
        if (p->outputs[o].target >= 0) keep[p->outputs[o].target] = true;
    for (int i = 0; i < p->ninputs; i++)
        for (int k = p->inputs[i].alias_of; keep[i] && k >= 0 && !keep[k]; k = p->inputs[k].alias_of) keep[k] = true;
    for (int i = 0; i < p->ninputs; i++) {
        to[i] = keep[i] ? kept++ : -1;
        if (!keep[i]) read[p->inputs[i].value->id] = false, tc_tensor_deinit(&p->inputs[i].data);
        else if (p->inputs[i].value) read[p->inputs[i].value->id] = true;
    }
    for (int i = 0; i < g->ninputs; i++)
        if (read[g->inputs[i]->id]) g->inputs[at++] = g->inputs[i];
    g->ninputs = at;
    for (int i = 0; i < p->ninputs; i++) {
        tc_input in = p->inputs[i];
        if (!keep[i]) continue;
        if (in.alias_of >= 0) in.alias_of = to[in.alias_of];
        p->inputs[to[i]] = in;
    }
    p->ninputs = kept;
    for (int o = 0; o < p->noutputs; o++)
        if (p->outputs[o].target >= 0) p->outputs[o].target = to[p->outputs[o].target];
    free(read);
    free(keep);
    free(to);
}
