/* Rows that are picked by an index and added to others as one operator (picked.h): sums of messages along edges, bags of embeddings. */
#include "op/picked.h"

#include "kernel/scatter.h"
#include "op/lower.h"
#include "op/shape.h"

/* ---- the rule ---- */
enum { SOURCE = 3, ALPHA = 4 }; /* arguments of index_add */
static bool is_named(const tc_node *n, const char *name) { return n && n->op && !strcmp(tc_op_name(n->op), name); }
static bool is_whole(const tc_value *index) {
    return index && index->kind == TC_V_TENSOR && index->meta.rank == 1 && (index->meta.dtype == TC_I64 || index->meta.dtype == TC_I32);
}
/* The index by which n picks rows of its argument 0; NULL: it does something else. *from_end: negative ones count from the end. */
static tc_value *index_of(const tc_node *n, bool *from_end) {
    const tc_meta *x = n && n->nargs ? tc_arg_meta(n, 0) : NULL;
    tc_value *index = NULL;
    if (!x || x->rank < 2) return NULL;
    if (is_named(n, "aten.embedding.default")) index = tc_arg_value(n, 1);
    if (is_named(n, "aten.index_select.default") && tc_wrap(tc_arg_int(n, 1), x->rank) == 0) index = tc_arg_value(n, 2);
    *from_end = !index;
    if ((is_named(n, "aten._unsafe_index.Tensor") || is_named(n, "aten.index.Tensor")) && n->args[1].n == 1) index = n->args[1].values[0];
    return is_whole(index) ? index : NULL;
}
static bool is_pick(const tc_node *n) {
    bool from_end;
    return index_of(n, &from_end) != NULL;
}
/* Does n add slices along dimension 0, as they are? */
static bool is_sum(const tc_node *n) {
    return is_named(n, "aten.index_add.default") && n->outs[0]->meta.rank > 1 && tc_wrap(tc_arg_int(n, 1), n->outs[0]->meta.rank) == 0 &&
           tc_scalar_is(tc_arg_scalar(n, ALPHA), 1) && is_whole(tc_arg_value(n, 2));
}
static tc_status add_picked(tc_emit *e, const tc_node *n) {
    const tc_node *pick = tc_arg_value(n, SOURCE)->producer;
    bool from_end;
    tc_value *index = index_of(pick, &from_end);
    tc_emit_result(e, 0,
                   tc_emit_call(e, "tc::index_add_picked", "vivvvb", tc_arg_value(n, 0), (int64_t)0, tc_arg_value(n, 2), tc_arg_value(pick, 0), index,
                                (int)from_end));
    return tc_e_done(e);
}

/* ---- the picks that nothing but sums read: others are marked by their aux ---- */
static void note(void *ctx, tc_value **place) {
    const tc_node *n = ctx;
    tc_node *pick = (*place)->producer;
    if (is_pick(pick) && !(is_sum(n) && place == &n->args[SOURCE].value)) pick->aux = pick;
}
static bool wanted(void *ctx, const tc_node *n) {
    (void)ctx;
    const tc_node *pick = is_sum(n) ? tc_arg_value(n, SOURCE)->producer : NULL;
    return is_pick(pick) && !pick->aux;
}
static tc_decompose_fn rule(const tc_node *n) { return wanted(NULL, n) ? add_picked : NULL; }
static void returns(tc_node *pick) {
    if (is_pick(pick)) pick->aux = pick;
}
static const tc_readers_rule by_readers = {is_sum, note, returns, wanted, rule};
bool tc_picked_any(tc_program *p) { return tc_readers_any(p, &by_readers); }
tc_status tc_picked(tc_program *p) { return tc_decompose_by_readers(p, &by_readers); }

static tc_status shape_picked(tc_shape_ctx *c) {
    for (int i = 0; i < 5; i++)
        if (i != 1) TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *x = tc_sh_meta(c, 0), *index = tc_sh_meta(c, 2), *s = tc_sh_meta(c, 3), *picked = tc_sh_meta(c, 4);
    if (tc_sh_const(c, 1) != 0 || x->rank < 1 || s->rank != x->rank || index->rank != 1 || picked->rank != 1 || s->dtype != x->dtype)
        return tc_sh_fail(c, "rows of a tensor like self are added along dimension 0");
    if (!tc_sh_same(c, index->size[0], picked->size[0])) return tc_sh_fail(c, "Number of indices should be equal to the number of picked rows");
    for (int k = 1; k < x->rank; k++)
        if (!tc_sh_same(c, s->size[k], x->size[k])) return tc_sh_fail(c, "Source and destination tensor must have same slice shapes");
    tc_dims d = tc_dims_of(x);
    return tc_sh_out(c, 0, x->dtype, &d);
}
const tc_op tc_ops_picked[] = {
    {.schema = "tc::index_add_picked(Tensor self, int dim, Tensor index, Tensor source, Tensor picked, bool from_end) -> Tensor",
     .flags = TC_OP_NONDIFF | TC_OP_INDEX_RUNTIME,
     .shape = shape_picked,
     .kernel = &tc_k_index_add_picked,
     .samples = "index_add_picked(f32[4,5], 0, i64[7]:0..4, f32[3,5], i64[7]:0..3, False); "
                "index_add_picked(f64[4,20], 0, i64[600]:0..4, f64[9,20], i64[600]:-9..9, True)",
     .doc = "slices of source that are picked, added to slices at index"},
    {0}};
