/* sort(x)[:k] as one operator (first_few.h). Of equal elements the first come first, as ONNX's TopK and sort have it; topk itself takes PyTorch's. */
#include "op/first_few.h"

#include "kernel/sort.h"

/* ---- the rule ---- */
enum { SELF = 0, DIM = 2, DESCENDING = 3 }; /* arguments of sort.stable */
static bool is_number(const tc_node *n, int i, int64_t number) { return n->args[i].kind == TC_A_INT && tc_sym_is_int(n->args[i].sym, number); }
static bool is_begin(const tc_node *n) {
    return !strcmp(tc_op_name(n->op), "aten.slice.Tensor") && (tc_arg_is_none(n, 2) || is_number(n, 2, 0)) && is_number(n, 4, 1);
}
static bool is_sort(const tc_node *n) { return !strcmp(tc_op_name(n->op), "aten.sort.stable"); }
/* The sort of which n is the beginning. */
static tc_node *sort_of(const tc_node *n) {
    tc_node *sort = is_begin(n) ? tc_arg_value(n, 0)->producer : NULL;
    if (!sort || !is_sort(sort)) return NULL;
    const int rank = n->outs[0]->meta.rank;
    return rank && tc_wrap(tc_arg_int(n, 1), rank) == tc_wrap(tc_arg_int(sort, DIM), rank) ? sort : NULL;
}
static tc_status first_few(tc_emit *e, const tc_node *n) {
    const tc_node *sort = sort_of(n);
    const int dim = tc_wrap(tc_arg_int(sort, DIM), n->outs[0]->meta.rank);
    tc_value *v =
        tc_emit_call(e, "tc::first", "vsia", tc_arg_value(sort, SELF), n->outs[0]->meta.size[dim], (int64_t)dim, tc_e_arg(sort, DESCENDING));
    tc_emit_result(e, 0, tc_arg_value(n, 0) == sort->outs[0] ? v : tc_emit_out(v, 1));
    return tc_e_done(e);
}

/* ---- the sorts of which nothing but beginnings of one length is read: their aux is that length; of others that are read, the sort itself ---- */
static void note(void *ctx, tc_value **place) {
    const tc_node *n = ctx;
    tc_node *sort = (*place)->producer;
    if (!sort || !is_sort(sort)) return;
    void *length = sort_of(n) == sort ? (void *)(uintptr_t)n->outs[0]->meta.size[tc_wrap(tc_arg_int(sort, DIM), n->outs[0]->meta.rank)] : sort;
    sort->aux = !sort->aux || sort->aux == length ? length : sort;
}
static bool wanted(void *ctx, const tc_node *n) {
    (void)ctx;
    const tc_node *sort = sort_of(n);
    return sort && sort->aux && sort->aux != sort;
}
static tc_decompose_fn rule(const tc_node *n) { return wanted(NULL, n) ? first_few : NULL; }
static void returns(tc_node *sort) {
    if (is_sort(sort)) sort->aux = sort;
}
static const tc_readers_rule by_readers = {is_sort, note, returns, wanted, rule};
bool tc_first_few_any(tc_program *p) { return tc_readers_any(p, &by_readers); }
tc_status tc_first_few(tc_program *p) { return tc_decompose_by_readers(p, &by_readers); }

const tc_op tc_ops_first_few[] = {{.schema = "tc::first(Tensor self, SymInt k, int dim, bool descending) -> (Tensor values, Tensor indices)",
                                   .flags = TC_OP_NONDIFF,
                                   .shape = tc_shape_first,
                                   .kernel = &tc_k_first,
                                   .samples = "first(f32[3,7], 2, 1, True); first(i64[90,3]:0..9, 9, 0, False)",
                                   .doc = "the first k along dim, as sort has them"},
                                  {0}};
