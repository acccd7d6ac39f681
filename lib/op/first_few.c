/* sort(x)[:k] as one operator (first_few.h). Of equal elements the first come first, as ONNX's TopK and sort have it; topk itself takes PyTorch's. */
#include "op/first_few.h"

#include "kernel/sort.h"

/* ---- the rule ---- */
enum { SELF = 0, DIM = 2, DESCENDING = 3 }; /* arguments of sort.stable */
static bool is_number(const tc_node *n, int i, int64_t number) { return n->args[i].kind == TC_A_INT && tc_sym_is_int(n->args[i].sym, number); }
static bool is_begin(const tc_node *n) {
    return !strcmp(tc_op_name(n->op), "aten.slice.Tensor") && (tc_arg_is_none(n, 2) || is_number(n, 2, 0)) && is_number(n, 4, 1);
}
/* The sort of which n is the beginning. */
static const tc_node *sort_of(const tc_node *n) {
    const tc_node *sort = is_begin(n) ? tc_arg_value(n, 0)->producer : NULL;
    if (!sort || strcmp(tc_op_name(sort->op), "aten.sort.stable")) return NULL;
    const int rank = n->outs[0]->meta.rank;
    return rank && tc_wrap(tc_arg_int(n, 1), rank) == tc_wrap(tc_arg_int(sort, DIM), rank) ? sort : NULL;
}
static void find(void *ctx, tc_value **place) {
    const tc_value **v = ctx;
    if (*place == *v) *v = NULL;
}
static bool reads(const tc_node *n, const tc_node *sort) {
    for (int i = 0; i < 2; i++) {
        const tc_value *v = sort->outs[i];
        tc_node_each_input(n, find, &v);
        if (!v) return true;
    }
    return false;
}
static tc_status first_few(tc_emit *e, const tc_node *n) {
    const tc_node *sort = sort_of(n);
    const int dim = tc_wrap(tc_arg_int(sort, DIM), n->outs[0]->meta.rank);
    tc_value *v =
        tc_emit_call(e, "tc::first", "vsia", tc_arg_value(sort, SELF), n->outs[0]->meta.size[dim], (int64_t)dim, tc_e_arg(sort, DESCENDING));
    tc_emit_result(e, 0, tc_arg_value(n, 0) == sort->outs[0] ? v : tc_emit_out(v, 1));
    return tc_e_done(e);
}
tc_decompose_fn tc_first_few_rule(const tc_node *n) {
    const tc_node *sort = sort_of(n);
    if (!sort) return NULL;
    const int dim = tc_wrap(tc_arg_int(sort, DIM), n->outs[0]->meta.rank);
    for (const tc_node *r = sort->next; r; r = r->next)
        if (reads(r, sort) && (sort_of(r) != sort || r->outs[0]->meta.size[dim] != n->outs[0]->meta.size[dim])) return NULL;
    for (int i = 0; i < sort->graph->noutputs; i++)
        if (sort->graph->outputs[i] && sort->graph->outputs[i]->producer == sort) return NULL;
    return first_few;
}

const tc_op tc_ops_first_few[] = {{.schema = "tc::first(Tensor self, SymInt k, int dim, bool descending) -> (Tensor values, Tensor indices)",
                                   .flags = TC_OP_NONDIFF,
                                   .shape = tc_shape_first,
                                   .kernel = &tc_k_first,
                                   .samples = "first(f32[3,7], 2, 1, True); first(i64[90,3]:0..9, 9, 0, False)",
                                   .doc = "the first k along dim, as sort has them"},
                                  {0}};
