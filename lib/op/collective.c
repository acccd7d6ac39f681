/* Functional collectives over all ranks of a run, as PyTorch writes them into exported programs (_c10d_functional). A call is done when it returns, so
 * wait_tensor is the tensor itself. A program may name one group, which is all of its ranks. */
#include "op/collective.h"

#include "kernel/collective.h"
#include "op/shape.h"

enum { FLAGS = TC_OP_IMPURE | TC_OP_COLLECTIVE };

/* Can argument 1 reduce argument 0? */
static tc_status need_reduction(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_dtype d = tc_sh_meta(c, 0)->dtype;
    const char *op = tc_sh_string(c, 1);
    if (tc_collective_has(d, op)) return NULL;
    return tc_error(TC_UNSUPPORTED, "%s: %s of %s is not supported", tc_op_name(c->op), op, tc_dtypes[d].torch);
}

/* Argument 0 with dimension 0 `size` times as long, or, with `part`, a part of it. */
static tc_status along_ranks(tc_shape_ctx *c, int size_arg, bool part) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    const int64_t ranks = tc_sh_const(c, size_arg);
    tc_symctx *s = tc_sh_sym(c);
    const tc_sym n = tc_sym_int(s, ranks);
    tc_dims d = tc_dims_of(m);
    if (!m->rank) return tc_sh_fail(c, "input must have a dimension");
    if (ranks < 1) return tc_sh_fail(c, "group_size must be positive, got %lld", (long long)ranks);
    if (part && !tc_sh_guard(c, tc_sym_op(s, TC_S_EQ, tc_sym_mod(s, d.size[0], n), tc_sym_int(s, 0), NULL)))
        return tc_sh_fail(c, "input.size(0) is not divisible by the %lld ranks", (long long)ranks);
    d.size[0] = part ? tc_sym_floordiv(s, d.size[0], n) : tc_sym_mul(s, d.size[0], n);
    return tc_sh_out(c, 0, m->dtype, &d);
}

static tc_status shape_all_reduce(tc_shape_ctx *c) {
    TC_TRY(need_reduction(c));
    return tc_shape_same(c);
}
static tc_status shape_all_gather(tc_shape_ctx *c) { return along_ranks(c, 1, false); }
static tc_status shape_reduce_scatter(tc_shape_ctx *c) {
    TC_TRY(need_reduction(c));
    return along_ranks(c, 2, true);
}
static tc_status decompose_wait(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, n->args[0].value);
    return NULL;
}

tc_status tc_collective_group(const tc_program *p, const char **out_group) {
    *out_group = NULL;
    for (const tc_graph *g = p->graph; g; g = g == p->graph ? g->first_sub : g->next_sub)
        for (const tc_node *n = g->first; n; n = n->next) {
            if (!(n->op->flags & TC_OP_COLLECTIVE)) continue;
            const char *group = n->args[tc_op_param(n->op, "group_name")].string;
            if (*out_group && strcmp(*out_group, group))
                return tc_error(TC_UNSUPPORTED, "%s: collectives of several groups (\"%s\" and \"%s\") in one program are not supported", n->name,
                                *out_group, group);
            *out_group = group;
        }
    return NULL;
}

const tc_op tc_ops_collective[] = {
    {.schema = "_c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor",
     .flags = FLAGS,
     .shape = shape_all_reduce,
     .kernel = &tc_k_all_reduce,
     .doc = "the ranks' tensors merged by sum, product, min, max, avg, band, bor or bxor"},
    {.schema = "_c10d_functional::all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
     .flags = FLAGS,
     .shape = shape_all_gather,
     .kernel = &tc_k_all_gather,
     .doc = "the ranks' tensors, one after the other along dimension 0"},
    {.schema = "_c10d_functional::reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
     .flags = FLAGS,
     .shape = shape_reduce_scatter,
     .kernel = &tc_k_reduce_scatter,
     .doc = "this rank's part, along dimension 0, of the ranks' tensors merged"},
    {.schema = "_c10d_functional::broadcast(Tensor input, int src, str group_name) -> Tensor",
     .flags = FLAGS,
     .shape = tc_shape_same,
     .kernel = &tc_k_broadcast,
     .doc = "the tensor of rank src"},
    {.schema = "_c10d_functional::wait_tensor(Tensor tensor) -> Tensor",
     .shape = tc_shape_same_strides,
     .decompose = decompose_wait,
     .doc = "the tensor, when the collective that makes it is done"},
    {0}};
