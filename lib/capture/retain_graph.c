/* Tensors freed by torch.autograd.grad (retain_graph.h). PyTorch frees a node's saved tensors once a gradient without retain_graph has passed it, and refuses a
 * second gradient through it; nodes without saved tensors (a sum, a view) may be passed again. A node's saved tensors are those that its gradient reads,
 * and those that its row declares (tc_grad_reads). */
#include "capture/torch.h"

#include "capture/retain_graph.h"
#include "grad/grad.h"

typedef TC_VEC(tc_value *) values;
static void add(values *all, tc_value *v) {
    if (v->kind == TC_V_TENSOR) tc_vec_push(all, v);
    for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) tc_vec_push(all, v->list[k]);
}
static void add_operand(void *ctx, tc_value **place) { add(ctx, *place); }

void tc_torch_add_backward_node(void *passed, const tc_node *n) {
    tc_backward_nodes *p = passed;
    tc_avec_push(p->c, p, n);
}

static bool kept(C *c, const tc_node *n) {
    values all = {0};
    bool any = false;
    const char *row = tc_op_functional(n->origin ? n->origin->op : n->op)->keeps;
    if (row) return *row;
    tc_node_each_input(n, add_operand, &all);
    for (int i = 0; i < n->nouts; i++) add(&all, n->outs[i]);
    tc_status st = tc_grad_reads(n, all.data, all.len, &any);
    tc_vec_free(&all);
    if (st) tc_raise_status(c, "RuntimeError", st);
    return any;
}

void tc_torch_check_backward(C *c, const tc_backward_nodes *nodes, bool retain) {
    struct tc_torch *T = c->torch;
    for (size_t i = 0; i < nodes->len; i++) {
        const tc_node *n = nodes->data[i];
        const tc_source *at = &n->source;
        if (!tc_map_get(&T->freed, (const char *)&n, sizeof n) || !kept(c, n)) continue;
        tc_raise(c, "RuntimeError",
                 "Trying to backward through the graph a second time: the tensors that %s:%d kept for its gradient were freed by the first; specify "
                 "retain_graph=True there",
                 at->file ? at->file : "?", at->line);
    }
    for (size_t i = 0; i < nodes->len && !retain; i++) *tc_map_put(&T->freed, (const char *)&nodes->data[i], sizeof nodes->data[i]) = T;
}
