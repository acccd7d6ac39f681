/* Decompositions (decompose.h): one forward sweep; what a rule emits stands before its node and is visited next. */
#include "op/decompose.h"

#include <string.h>

bool tc_op_executable(const tc_op *op) {
    return op->lower || op->kernel || op->view_alias || ((op->flags & TC_OP_DATA_SHAPE) && !op->decompose) || (op->flags & TC_OP_HIGHER_ORDER) || ((op->flags & TC_OP_IMPURE) && !op->decompose);
}

tc_status tc_emit_decomposition(tc_emit *e, const tc_node *n) {
    tc_program *p = n->graph->program;
    bool was = p->no_grad;
    if (!n->op->decompose) return tc_error(TC_UNSUPPORTED, "operator %s is not supported: it has no decomposition", tc_op_name(n->op));
    e->source = n->source;
    e->origin = n->origin ? n->origin : n;
    e->results = NULL;
    e->nresults = 0;
    p->no_grad = n->no_grad;
    tc_status st = n->op->decompose(e, n);
    p->no_grad = was;
    if (!st) {
        st = e->status;
        e->status = NULL;
    } else {
        tc_status_free(e->status);
        e->status = NULL;
    }
    for (int i = 0; i < n->nouts && !st; i++) {
        const tc_value *want = n->outs[i], *have = i < e->nresults ? e->results[i] : NULL;
        if (want->kind == TC_V_NONE || (want->kind == TC_V_SYM && !have)) continue;
        if (!have) TC_BUG("the decomposition of %s sets no result %d", tc_op_name(n->op), i);
        if (want->kind == TC_V_TENSOR && (have->kind != TC_V_TENSOR || have->meta.dtype != want->meta.dtype || have->meta.rank != want->meta.rank)) {
            tc_buf b = {0};
            tc_value_print_type(&b, want);
            tc_buf_puts(&b, " not ");
            tc_value_print_type(&b, have);
            TC_BUG("result %d of the decomposition of %s should be %s", i, tc_op_name(n->op), tc_buf_str(&b));
        }
    }
    /* a result whose size depends on the data keeps the symbols of the node it stands for */
    for (int i = 0; i < n->nouts && i < e->nresults && !st; i++) {
        tc_value *have = e->results[i];
        if (have && have->kind == TC_V_TENSOR && have->producer && (have->producer->op->flags & TC_OP_DATA_SHAPE)) have->meta.size = n->outs[i]->meta.size;
    }
    return st ? tc_annotate(st, "%s", n->name ? n->name : tc_op_name(n->op)) : NULL;
}

typedef struct {
    bool (*want)(void *ctx, const tc_node *n);
    void *ctx;
    bool strict;
} policy;

typedef struct { TC_VEC(tc_value *) to; } mapping; /* by value id */

static void map_value(mapping *m, const tc_value *from, tc_value *to) {
    while (m->to.len <= from->id) tc_vec_push(&m->to, NULL);
    m->to.data[from->id] = to;
}

static void remap(void *ctx, tc_value **place) {
    const mapping *m = ctx;
    while ((*place)->id < m->to.len && m->to.data[(*place)->id]) *place = m->to.data[(*place)->id];
}

static tc_status sweep(tc_graph *g, const policy *pol) {
    tc_program *p = g->program;
    mapping map = {{0}};
    tc_status st = NULL;
    size_t budget = 1000 * (g->nnodes + 100); /* a rule that leads back to itself */
    for (tc_node *n = g->first, *next; n && !st; n = next) {
        next = n->next;
        tc_node_each_input(n, remap, &map);
        for (int i = 0; i < n->nargs && !st; i++)
            if (n->args[i].kind == TC_A_GRAPH) st = sweep(n->args[i].graph, pol);
        if (st || !pol->want(pol->ctx, n)) continue;
        if (!n->op->decompose && !pol->strict) continue;
        if (budget-- == 0) TC_BUG("the decomposition of %s does not end", tc_op_name(n->op));
        tc_emit e = {.graph = g, .before = n};
        tc_node *prev = n->prev;
        st = tc_emit_decomposition(&e, n);
        if (st) break;
        for (int i = 0; i < n->nouts; i++) {
            tc_value *have = i < e.nresults ? e.results[i] : NULL;
            if (!have) continue;
            map_value(&map, n->outs[i], have);
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && have->kind == TC_V_LIST && k < n->outs[i]->nlist && k < have->nlist; k++)
                map_value(&map, n->outs[i]->list[k], have->list[k]);
        }
        next = prev ? prev->next : g->first; /* visit what was emitted */
        if (next == n) next = n->next;
        tc_node_remove(n);
    }
    for (int i = 0; i < g->noutputs && !st; i++)
        if (g->outputs[i]) remap(&map, &g->outputs[i]);
    for (int i = 0; g == p->graph && i < p->noutputs && !st; i++)
        if (p->outputs[i].value) remap(&map, &p->outputs[i].value);
    tc_vec_free(&map.to);
    return st;
}

static bool not_executable(void *ctx, const tc_node *n) {
    (void)ctx;
    return !tc_op_executable(n->op);
}

tc_status tc_decompose(tc_program *p) { return sweep(p->graph, &(policy){not_executable, NULL, true}); }

tc_status tc_decompose_some(tc_program *p, bool (*want)(void *ctx, const tc_node *n), void *ctx) {
    return sweep(p->graph, &(policy){want, ctx, false});
}
