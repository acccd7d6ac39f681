/* What a backward would have to keep: the values of a call's arguments that its gradient rule reads. The rule is asked by emitting what it
 * makes, in a graph that nobody keeps. */
#include "grad/grad.h"
#include "grad/internal.h"

#include "op/decompose.h"
#include "op/functionalise.h"

typedef struct {
    TC_VEC(const tc_value *) values; /* those asked for, and views of them */
    bool read;
} question;

static bool asked(const question *q, const tc_value *v) {
    for (size_t i = 0; i < q->values.len; i++)
        if (q->values.data[i] == v) return true;
    return false;
}

/* zeros_like and its kind read a type, no values. */
static bool reads_values(const tc_node *n) {
    const char *name = tc_op_schema(n->op)->name;
    const size_t len = strlen(name);
    return len < 5 || strcmp(name + len - 5, "_like") != 0;
}

static void look(void *ctx, tc_value **place) {
    question *q = ctx;
    q->read |= asked(q, *place);
}

static tc_status rule_reads(question *q, const tc_node *n) {
    tc_program *p = n->graph->program;
    tc_emit e = {.graph = tc_graph_create(p, NULL, "reads"), .source = n->source};
    tc_value **gs = TC_NEWN(&p->arena, tc_value *, (size_t)n->nouts + 1);
    for (int i = 0; i < n->nouts; i++) {
        if (n->outs[i]->kind != TC_V_TENSOR || !n->outs[i]->meta.requires_grad) continue;
        gs[i] = tc_graph_value(e.graph, TC_V_TENSOR, "grad");
        gs[i]->meta = n->outs[i]->meta;
    }
    tc_status st = grad_rule(&e, n, gs);
    if (!st) st = e.status;
    else tc_status_free(e.status);
    for (const tc_node *m = e.graph->first; m && !q->read; m = m->next)
        if (reads_values(m)) tc_node_each_input(m, look, q);
    return st;
}

static tc_status node_reads(question *q, const tc_node *n);

static tc_status parts_read(question *q, const tc_node *n) {
    tc_emit e = {.graph = tc_graph_create(n->graph->program, NULL, "reads"), .source = n->source};
    TC_TRY(tc_emit_decomposition(&e, n));
    for (const tc_node *m = e.graph->first; m && !q->read; m = m->next) {
        tc_shown *shown;
        int count, k = 0;
        TC_TRY(node_reads(q, m));
        TC_TRY(tc_shown_by(m, &shown, &count));
        for (int i = 0; i < m->nouts && k < count; i++)
            for (int j = 0; j < (m->outs[i]->kind == TC_V_LIST ? m->outs[i]->nlist : 1); j++, k++)
                if (shown[k].of && asked(q, shown[k].of)) tc_vec_push(&q->values, m->outs[i]->kind == TC_V_LIST ? m->outs[i]->list[j] : m->outs[i]);
    }
    return NULL;
}

static tc_status node_reads(question *q, const tc_node *n) {
    bool any = false;
    for (int i = 0; i < n->nouts; i++) any |= n->outs[i]->kind == TC_V_TENSOR && n->outs[i]->meta.requires_grad;
    if (!any) return NULL;
    if (n->op->grad) return rule_reads(q, n);
    return n->op->decompose && !(n->op->flags & TC_OP_HIGHER_ORDER) ? parts_read(q, n) : NULL;
}

tc_status tc_grad_reads(const tc_node *n, tc_value *const *values, size_t nvalues, bool *out) {
    tc_node call = *n; /* an in-place form as the functional one */
    question q = {0};
    call.op = tc_op_functional(n->op);
    if (call.op != n->op) {
        call.nargs = tc_op_schema(call.op)->nparams;
        call.args = TC_NEWN(&n->graph->program->arena, tc_arg, (size_t)call.nargs + 1);
        tc_op_functional_args(n->graph->program, n->op, n->args, call.args);
    }
    for (size_t i = 0; i < nvalues; i++) tc_vec_push(&q.values, values[i]);
    tc_status st = node_reads(&q, &call);
    tc_vec_free(&q.values);
    *out = q.read;
    return st;
}
