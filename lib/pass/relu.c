/* tc-compile --relu-nan=zero (relu.h). */
#include "pass/relu.h"

#include "op/decompose.h"

static tc_status number_or_zero(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *y = tc_emit_call(e, "aten::relu", "v", x);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::isnan", "v", x), (int64_t)0, y));
    return NULL;
}
static tc_decompose_fn rule(const tc_node *n) {
    (void)n;
    return number_or_zero;
}

/* Matches the original relus, not those that the rewrite itself inserts. */
static bool is_relu(void *ctx, const tc_node *n) {
    (void)ctx;
    if (strcmp(tc_op_name(n->op), "aten.relu.default") || !tc_is_float(n->outs[0]->meta.dtype)) return false;
    return !n->origin || n->origin->op != n->op;
}

tc_status tc_relu_nan_zero(tc_program *p) { return tc_decompose_by(p, is_relu, rule, NULL, NULL); }
