/* Rules to core operators: gradients (core_rule.h; formulas as in PyTorch's decompositions).
 *
 * The first argument is the gradient of the result. In rules of one expression it is x, and y is what the function was applied to. */
#include "op/core_rule.h"

/* Zeros of the sizes that the second argument gives. */
static tc_value *zeros(tc_emit *e, const tc_node *n) { return ATEN("full", "afd", &n->args[1], 0.0, (int)dtype_of(n)); }
static tc_status core_select_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, dim, index */
    return give(e, n, 0, ATEN("select_scatter", "vvaa", zeros(e, n), tc_arg_value(n, 0), &n->args[2], &n->args[3]));
}
static tc_status core_slice_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, dim, start, end, step */
    return give(e, n, 0, ATEN("slice_scatter", "vvaaaa", zeros(e, n), tc_arg_value(n, 0), &n->args[2], &n->args[3], &n->args[4], &n->args[5]));
}
static tc_status core_diagonal_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, offset, dim1, dim2 */
    tc_value *g = tc_arg_value(n, 0);
    const tc_meta *m = &n->outs[0]->meta;
    const int64_t offset = tc_arg_int(n, 2);
    const int a = tc_wrap(tc_arg_int(n, 3), m->rank), b = tc_wrap(tc_arg_int(n, 4), m->rank);
    tc_sym before = tc_sym_int(tc_e_sym(e), offset < 0 ? -offset : 0), ends = tc_sym_add(tc_e_sym(e), before, g->meta.size[g->meta.rank - 1]);
    tc_value *rows = ATEN("constant_pad_nd", "vSf", g, ((tc_sym[]){before, tc_sym_sub(tc_e_sym(e), m->size[a], ends)}), 2, 0.0);
    tc_value *rise = tc_e_sub(e, positions(e, m->size[b], false), positions(e, m->size[a], true));
    tc_value *y = WHERE(ATEN("eq.Scalar", "vi", rise, offset), ATEN("unsqueeze", "vi", rows, (int64_t)-1), like(e, 0, g));
    int64_t order[TC_MAX_RANK];
    for (int d = 0, other = 0; d < m->rank; d++) order[d] = d == a ? m->rank - 2 : d == b ? m->rank - 1 : other++;
    return give(e, n, 0, ATEN("permute", "vI", y, order, m->rank));
}
static tc_value *logistic_slope(tc_emit *e, tc_value *y) { /* of y * sigmoid(y) */
    tc_value *s = F1("sigmoid", y);
    return tc_e_mul(e, s, tc_e_adds(e, tc_e_mul(e, y, tc_e_adds(e, tc_e_neg(e, s), 1)), 1));
}
static tc_value *mish_slope(tc_emit *e, tc_value *y) {
    tc_value *t = F1("tanh", soft(e, y, 1, 20));
    return tc_e_add(e, t, tc_e_mul(e, tc_e_mul(e, y, F1("sigmoid", y)), tc_e_adds(e, tc_e_neg(e, tc_e_mul(e, t, t)), 1)));
}
static tc_value *soft_slope(tc_emit *e, tc_value *y, double beta, double threshold) {
    tc_value *b = tc_e_muls(e, y, beta);
    return WHERE(CMP("gt", b, threshold), like(e, 1, y), F1("sigmoid", b));
}
static tc_value *between(tc_emit *e, tc_value *y, double lo, double hi) { return F2("logical_and", CMP("gt", y, lo), CMP("lt", y, hi)); }
RULE2(silu_backward, tc_e_mul(e, x, logistic_slope(e, y)))
RULE2(mish_backward, tc_e_mul(e, x, mish_slope(e, y)))
RULE2(softplus_backward, tc_e_mul(e, x, soft_slope(e, y, tc_arg_float(n, 2), tc_arg_float(n, 3))))
RULE2(leaky_relu_backward, WHERE(CMP("gt", y, 0), x, tc_e_muls(e, x, tc_arg_float(n, 2))))
RULE2(hardtanh_backward, WHERE(between(e, y, tc_arg_float(n, 2), tc_arg_float(n, 3)), x, like(e, 0, x)))
RULE2(hardsigmoid_backward, WHERE(between(e, y, -3, 3), ATEN("div.Scalar", "vf", x, 6.0), like(e, 0, x)))
RULE2(hardswish_backward,
      WHERE(CMP("le", y, -3), like(e, 0, x), WHERE(CMP("lt", y, 3), tc_e_mul(e, x, tc_e_adds(e, ATEN("div.Scalar", "vf", y, 3.0), 0.5)), x)))
static tc_status core_elu_backward(tc_emit *e, const tc_node *n) { /* grad, alpha, scale, input_scale, is_result, self or result */
    tc_value *g = up(e, tc_arg_value(n, 0)), *y = up(e, tc_arg_value(n, 5));
    const double scale = tc_arg_float(n, 2), below = tc_arg_float(n, 1) * scale, in = tc_arg_float(n, 3);
    tc_value *slope = tc_arg_bool(n, 4) ? tc_e_adds(e, y, below) : tc_e_muls(e, F1("exp", tc_e_muls(e, y, in)), below);
    return give(e, n, 0, tc_e_mul(e, g, WHERE(CMP("le", y, 0), tc_e_muls(e, slope, in), like(e, scale, g))));
}
static tc_status core_threshold_backward(tc_emit *e, const tc_node *n) { /* grad, self, threshold */
    tc_value *g = tc_arg_value(n, 0);
    return give(e, n, 0, WHERE(ATEN("le.Scalar", "va", tc_arg_value(n, 1), &n->args[2]), like(e, 0, g), g));
}
static tc_status core_softmax_backward(tc_emit *e, const tc_node *n) { /* grad, output, dim, input_dtype */
    tc_value *g = up(e, tc_arg_value(n, 0)), *y = up(e, tc_arg_value(n, 1));
    const int64_t dim = tc_arg_int(n, 2);
    const bool log = strstr(tc_op_schema(n->op)->name, "log") != NULL;
    if (!log) g = tc_e_mul(e, g, y);
    tc_value *sum = ATEN("sum.dim_IntList", "vIb", g, &dim, 1, true);
    return give(e, n, 0, tc_e_sub(e, g, tc_e_mul(e, log ? F1("exp", y) : y, sum)));
}
static tc_status core_gelu_backward(tc_emit *e, const tc_node *n) { /* grad, self, approximate */
    tc_value *g = up(e, tc_arg_value(n, 0)), *x = up(e, tc_arg_value(n, 1)), *square = tc_e_mul(e, x, x), *d;
    if (!strcmp(n->args[2].string, "tanh")) {
        const double beta = M_SQRT2 * M_2_SQRTPI * 0.5, kappa = 0.044715;
        tc_value *t = F1("tanh", tc_e_muls(e, tc_e_add(e, x, tc_e_muls(e, tc_e_mul(e, square, x), kappa)), beta));
        tc_value *inner = tc_e_muls(e, tc_e_adds(e, tc_e_muls(e, square, 3 * kappa), 1), beta); /* the derivative of what tanh is of */
        tc_value *slope = tc_e_mul(e, tc_e_adds(e, tc_e_neg(e, tc_e_mul(e, t, t)), 1), inner);
        d = tc_e_muls(e, tc_e_add(e, tc_e_adds(e, t, 1), tc_e_mul(e, x, slope)), 0.5);
    } else {
        tc_value *below = tc_e_muls(e, tc_e_adds(e, F1("erf", tc_e_muls(e, x, M_SQRT1_2)), 1), 0.5);
        tc_value *density = tc_e_muls(e, F1("exp", tc_e_muls(e, square, -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
        d = tc_e_add(e, below, tc_e_mul(e, x, density));
    }
    return give(e, n, 0, tc_e_mul(e, g, d));
}
static tc_status core_log_sigmoid_backward(tc_emit *e, const tc_node *n) { /* grad, self, buffer */
    tc_value *g = up(e, tc_arg_value(n, 0)), *x = up(e, tc_arg_value(n, 1)), *z = F1("exp", tc_e_neg(e, abs_of(e, x)));
    tc_value *ratio = tc_e_div(e, z, tc_e_adds(e, z, 1));
    return give(e, n, 0, tc_e_mul(e, g, WHERE(CMP("lt", x, 0), tc_e_adds(e, tc_e_neg(e, ratio), 1), ratio)));
}
static tc_status core_nll_backward(tc_emit *e, const tc_node *n) { /* grad, self as above, target, weight, reduction, ignore_index, total */
    tc_value *g = tc_e_neg(e, tc_arg_value(n, 0)), *x = tc_arg_value(n, 1), *t = tc_arg_value(n, 2), *w = tc_arg_value(n, 3);
    const int64_t class = x->meta.rank > 1, image[] = {-1, 1, 1};
    tc_value *valid = ATEN("ne.Scalar", "va", t, &n->args[5]), *safe = WHERE(valid, t, like(e, 0, t));
    if (tc_arg_int(n, 4) == 1) g = tc_e_div(e, g, tc_arg_value(n, 6));
    if (w) {
        tc_value *flat = ATEN("index_select", "viv", w, (int64_t)0, ATEN("reshape", "vI", safe, (int64_t[]){-1}, 1));
        g = tc_e_mul(e, g, ATEN("reshape", "vS", flat, t->meta.size, t->meta.rank));
    }
    tc_value *classes = positions(e, x->meta.size[class], false);
    if (x->meta.rank == 4) classes = ATEN("view", "vI", classes, image, 3);
    tc_value *at = F2("eq.Tensor", classes, ATEN("unsqueeze", "vi", safe, class));
    return give(e, n, 0, WHERE(at, ATEN("unsqueeze", "vi", WHERE(valid, g, like(e, 0, x)), class), like(e, 0, x)));
}

const tc_core_row tc_core_backward[] = {
    {"select_backward", core_select_backward},
    {"slice_backward", core_slice_backward},
    {"diagonal_backward", core_diagonal_backward},
    {"threshold_backward", core_threshold_backward},
    {"_softmax_backward_data", core_softmax_backward},
    {"_log_softmax_backward_data", core_softmax_backward},
    {"gelu_backward", core_gelu_backward},
    {"log_sigmoid_backward", core_log_sigmoid_backward},
    {"nll_loss_backward", core_nll_backward},
    {"nll_loss2d_backward", core_nll_backward},
    {"silu_backward", core_silu_backward, TC_CORE_REAL},
    {"mish_backward", core_mish_backward},
    {"softplus_backward", core_softplus_backward},
    {"leaky_relu_backward", core_leaky_relu_backward},
    {"hardtanh_backward", core_hardtanh_backward},
    {"hardsigmoid_backward", core_hardsigmoid_backward},
    {"hardswish_backward", core_hardswish_backward},
    {"elu_backward", core_elu_backward},
    {NULL},
};
