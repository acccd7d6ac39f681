/* Expresses no_grad regions by detach nodes, since an archive stores nodes without their regions.
 *
 *     with torch.no_grad():            %y = linear(%x, %w)         # no_grad
 *         y = self.l(x)         ->     %d = detach(%y)
 *     return y * self.w                %m = mul(%d, %p)
 */
#include "op/functionalise.h"

#include "op/emit.h"

#include <stdlib.h>

typedef struct {
    bool *history;    /* by value id: would a gradient flow through the value if the region were not there? */
    tc_value **alone; /* by value id: the detached value, once it is needed */
    size_t n;
    bool any;
    tc_emit e;
} detaching;

static void look(void *ctx, tc_value **place) {
    detaching *d = ctx;
    if (*place && (*place)->id < d->n) d->any |= d->history[(*place)->id];
}

static void take_alone(void *ctx, tc_value **place) {
    detaching *d = ctx;
    tc_value *v = *place;
    if (!v || v->id >= d->n || v->kind != TC_V_TENSOR || !v->producer || !v->producer->no_grad || v->producer->straight || !d->history[v->id]) return;
    if (!d->alone[v->id]) {
        d->e.before = v->producer->next;
        d->e.source = v->producer->source;
        d->alone[v->id] = tc_emit_call(&d->e, "aten::detach", "v", v);
    }
    if (d->alone[v->id]) *place = d->alone[v->id];
}

static void note(detaching *d, const tc_value *v, bool flows) {
    if (v->id < d->n) d->history[v->id] = flows && v->kind == TC_V_TENSOR && (tc_is_float(v->meta.dtype) || tc_is_complex(v->meta.dtype));
}

/* Inputs of a subgraph and of the user may have a gradient history; parameters and buffers have one if they require a gradient. */
static void note_inputs(detaching *d, const tc_graph *g) {
    const tc_program *p = g->program;
    for (int i = 0; i < g->ninputs; i++) note(d, g->inputs[i], true);
    for (int i = 0; g == p->graph && i < p->ninputs; i++)
        if (p->inputs[i].value && p->inputs[i].kind != TC_IN_USER) note(d, p->inputs[i].value, p->inputs[i].value->meta.requires_grad);
}

static void detach_nodes(detaching *d) {
    for (tc_node *n = d->e.graph->first, *next; n && !d->e.status; n = next) {
        next = n->next;
        if (!n->no_grad && !n->straight) tc_node_each_input(n, take_alone, d);
        d->any = false;
        tc_node_each_input(n, look, d);
        for (int i = 0; i < n->nouts; i++) {
            const bool flows = n->straight || n->leaf || (d->any && TC_OP_CARRIES(n->op, i));
            note(d, n->outs[i], flows);
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++) note(d, n->outs[i]->list[k], flows);
        }
    }
}

/* Values written to inputs, parameters and buffers (an optimiser's step) need no detach: no gradient flows through them. */
static bool is_written(const tc_output *o) { return o->kind == TC_OUT_USER_INPUT || o->kind == TC_OUT_PARAMETER || o->kind == TC_OUT_BUFFER; }

/* The graph's outputs are the signature's outputs that have values. */
static void detach_outputs(detaching *d) {
    tc_graph *g = d->e.graph;
    tc_program *p = g->program;
    if (g != p->graph)
        for (int i = 0; i < g->noutputs && !d->e.status; i++) take_alone(d, &g->outputs[i]);
    for (int i = 0, at = 0; g == p->graph && i < p->noutputs && !d->e.status; i++) {
        if (!p->outputs[i].value) continue;
        if (!is_written(&p->outputs[i])) take_alone(d, &p->outputs[i].value);
        g->outputs[at++] = p->outputs[i].value;
    }
}

/* torch.autograd.Function: no gradient flows through its forward, whose nodes are all under no_grad. */
static bool own_backward(const tc_node *n) { return !strcmp(tc_op_name(n->op), "tc.autograd_function.default"); }

static tc_status detach_inner(const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->nargs && !n->no_grad; i++)
            if (n->args[i].kind == TC_A_GRAPH && !(i == 1 && own_backward(n))) TC_TRY(tc_detach_no_grad(n->args[i].graph));
    return NULL;
}

tc_status tc_detach_no_grad(tc_graph *g) {
    TC_TRY(detach_inner(g));
    detaching d = {.n = g->nvalues, .e = {.graph = g}};
    d.history = tc_xcalloc(d.n + 1, sizeof *d.history);
    d.alone = tc_xcalloc(d.n + 1, sizeof(tc_value *));
    note_inputs(&d, g);
    detach_nodes(&d);
    detach_outputs(&d);
    free(d.history);
    free(d.alone);
    return d.e.status;
}
