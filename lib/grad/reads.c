/* Which arguments and results of a call its gradient reads (PyTorch's saved tensors): found by emitting the rule's nodes into a temporary graph. */
#include "grad/grad.h"
#include "grad/internal.h"

#include "base/text.h"
#include "op/decompose.h"
#include "op/functionalise.h"

#include <stdio.h>

typedef struct {
    TC_VEC(const tc_value *) values; /* the values in question, and views of them */
    bool read;
} question;

static bool asked(const question *q, const tc_value *v) {
    for (size_t i = 0; i < q->values.len; i++)
        if (q->values.data[i] == v) return true;
    return false;
}

static void look(void *ctx, const tc_value *v) {
    question *q = ctx;
    q->read |= asked(q, v);
}

typedef TC_VEC(const tc_value *) value_list;
static void want(void *ctx, const tc_value *v) {
    value_list *l = ctx;
    tc_vec_push(l, v);
}

static bool makes_one(const tc_node *m, const value_list *wanted) {
    for (size_t k = 0; k < wanted->len; k++)
        if (wanted->data[k]->producer == m) return true;
    return false;
}

/* Follows the gradients of arguments that require one back through the emitted nodes, to the values that these read. */
static void gradients_read(question *q, const tc_emit *e, const tc_node *n) {
    value_list wanted = {0};
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE && a->value && a->value->meta.requires_grad && e->grads[i]) tc_vec_push(&wanted, e->grads[i]);
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++)
            if (a->values[k] && a->values[k]->meta.requires_grad && e->grad_lists[i][k]) tc_vec_push(&wanted, e->grad_lists[i][k]);
    }
    for (size_t k = 0; k < wanted.len; k++) look(q, wanted.data[k]);
    for (const tc_node *m = e->graph->last; m && !q->read; m = m->prev) {
        if (!makes_one(m, &wanted)) continue;
        tc_op_each_read(m, look, q);
        tc_op_each_read(m, want, &wanted);
    }
    tc_vec_free(&wanted);
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
    if (!st && !e.status) gradients_read(q, &e, n);
    if (!st) st = e.status;
    else tc_status_free(e.status);
    return st;
}

/* Is a value in question among the tensors that the row declares as saved (tc_op.keeps)? */
static void row_keeps(question *q, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    for (int i = 0; i < n->nargs && i < s->nparams; i++)
        if (n->args[i].kind == TC_A_VALUE && n->args[i].value && tc_word_in(n->op->keeps, s->params[i].name)) look(q, n->args[i].value);
    for (int i = 0; i < n->nouts; i++) {
        char name[24];
        snprintf(name, sizeof name, "result%d", i);
        if (tc_word_in(n->op->keeps, n->nouts > 1 ? name : "result")) look(q, n->outs[i]);
    }
}

static tc_status node_reads(question *q, const tc_node *n);

static tc_status parts_read(question *q, const tc_node *n) {
    tc_emit e = {.graph = tc_graph_create(n->graph->program, NULL, "reads"), .source = n->source};
    TC_TRY(tc_emit_decomposition(&e, n));
    for (int i = 0; i < n->nouts && i < e.nresults; i++)
        if (e.results[i] && asked(q, n->outs[i])) tc_vec_push(&q->values, e.results[i]);
    for (const tc_node *m = e.graph->first; m && !q->read; m = m->next) {
        tc_result_alias *aliases;
        int count, k = 0;
        TC_TRY(node_reads(q, m));
        TC_TRY(tc_result_aliases(m, &aliases, &count));
        for (int i = 0; i < m->nouts && k < count; i++)
            for (int j = 0; j < (m->outs[i]->kind == TC_V_LIST ? m->outs[i]->nlist : 1); j++, k++)
                if (aliases[k].of && asked(q, aliases[k].of))
                    tc_vec_push(&q->values, m->outs[i]->kind == TC_V_LIST ? m->outs[i]->list[j] : m->outs[i]);
    }
    return NULL;
}

/* Results of a node with subgraphs that are operands or other results (what torch.autograd.Function saved): asked for with those. */
static tc_status same_results(question *q, const tc_node *n) {
    tc_emit e = {.graph = tc_graph_create(n->graph->program, NULL, "reads"), .source = n->source};
    TC_TRY(tc_emit_decomposition(&e, n));
    for (int i = 0; i < n->nouts && i < e.nresults; i++)
        if (e.results[i] && asked(q, n->outs[i])) tc_vec_push(&q->values, e.results[i]);
    for (int i = 0; i < n->nouts && i < e.nresults; i++)
        if (e.results[i] && asked(q, e.results[i])) tc_vec_push(&q->values, n->outs[i]);
    return NULL;
}

static tc_status node_reads(question *q, const tc_node *n) {
    bool any = false;
    for (int i = 0; i < n->nouts; i++) any |= n->outs[i]->kind == TC_V_TENSOR && n->outs[i]->meta.requires_grad;
    if (!any) return NULL;
    if (n->op->keeps) {
        row_keeps(q, n);
        return NULL;
    }
    if (n->op->flags & TC_OP_HIGHER_ORDER) { /* control flow saves all its operands */
        tc_op_each_read(n, look, q);
        return NULL;
    }
    if (n->op->grad && n->op->decompose && n->nargs && n->args[0].kind == TC_A_GRAPH) TC_TRY(same_results(q, n));
    if (n->op->grad) return rule_reads(q, n);
    return n->op->decompose ? parts_read(q, n) : NULL;
}

tc_status tc_grad_reads(const tc_node *n, tc_value *const *values, size_t nvalues, bool *out) {
    tc_node call = *n; /* treat an in-place form as the functional one */
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

static tc_value *written(const tc_node *n, const tc_overwritten *w) {
    if (w->place < 0) return n->outs[~w->place];
    return w->element < 0 ? n->args[w->place].value : n->args[w->place].values[w->element];
}

tc_status grad_intact(const tc_node *n) {
    if (n->origin && !n->overwritten && !n->origin->op->grad) n = n->origin; /* part of a decomposed operator: use the original's rule */
    for (const tc_overwritten *w = n->overwritten; w; w = w->next) {
        tc_value *v = written(n, w);
        bool read = false;
        if (v) TC_TRY(tc_grad_reads(n, &v, 1, &read));
        if (!read) continue;
        const char *what = w->place < 0                              ? "its result"
                           : tc_op_schema(n->op)->nparams > w->place ? tc_op_schema(n->op)->params[w->place].name
                                                                     : "an operand";
        return tc_error(TC_CONTENT,
                        "one of the variables needed for gradient computation has been modified by an inplace operation: %s of %s was "
                        "written to at %s:%d",
                        what, tc_op_name(n->op), w->at.file ? w->at.file : "?", w->at.line);
    }
    return NULL;
}
