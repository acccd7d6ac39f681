/* Rules to core operators: elementwise functions and choices (core_rule.h; formulas as in PyTorch's decompositions). */
#include "op/core_rule.h"

static tc_value *shift6(tc_emit *e, tc_value *x) { return ATEN("clamp", "vff", tc_e_adds(e, x, 3), 0.0, 6.0); }
static tc_value *number(tc_emit *e, const tc_node *n, int i, tc_value *x) { return like(e, tc_arg_float(n, i), x); }

RULE(silu, tc_e_mul(e, x, F1("sigmoid", x)))
RULE(square, tc_e_mul(e, x, x))
RULE(isfinite, F1("logical_not", F2("logical_or", F1("isinf", x), F1("isnan", x))))
RULE(frac, tc_e_sub(e, x, F1("trunc", x)))
RULE(relu6, ATEN("hardtanh", "vff", x, 0.0, 6.0))
RULE(hardsigmoid, ATEN("div.Scalar", "vf", shift6(e, x), 6.0))
RULE(hardswish, tc_e_mul(e, x, ATEN("div.Scalar", "vf", shift6(e, x), 6.0)))
RULE(softplus, soft(e, x, tc_arg_float(n, 1), tc_arg_float(n, 2)))
RULE(mish, tc_e_mul(e, x, F1("tanh", soft(e, x, 1, 20))))
RULE(hardshrink, WHERE(CMP("le", abs_of(e, x), tc_arg_float(n, 1)), like(e, 0, x), x))
RULE(softshrink,
     WHERE(CMP("gt", abs_of(e, x), tc_arg_float(n, 1)), tc_e_sub(e, x, tc_e_muls(e, F1("sign", x), tc_arg_float(n, 1))), tc_e_muls(e, x, 0)))
RULE(threshold, WHERE(ATEN("le.Scalar", "va", x, &n->args[1]), full(e, n, &n->args[2]), x))
RULE(sinc, WHERE(CMP("eq", x, 0), like(e, 1, x), tc_e_div(e, F1("sin", tc_e_muls(e, x, M_PI)), tc_e_muls(e, x, M_PI))))
RULE2(prelu, WHERE(CMP("gt", x, 0), x, tc_e_mul(e, x, y)))
RULE2(hypot, F1("sqrt", tc_e_add(e, tc_e_mul(e, x, x), tc_e_mul(e, y, y))))
RULE2(logaddexp, WHERE(F2("logical_and", F1("isinf", x), F2("eq.Tensor", x, y)), x,
                       tc_e_add(e, F2("maximum", x, y), F1("log1p", F1("exp", tc_e_neg(e, abs_of(e, tc_e_sub(e, x, y))))))))
RULE2(logaddexp2,
      WHERE(F2("logical_and", F1("isinf", x), F2("eq.Tensor", x, y)), x,
            tc_e_add(e, F2("maximum", x, y), tc_e_muls(e, F1("log1p", F1("exp", tc_e_muls(e, abs_of(e, tc_e_sub(e, x, y)), -M_LN2))), M_LOG2E))))
RULE(isposinf, CMP("eq", x, INFINITY))
RULE(isneginf, CMP("eq", x, -INFINITY))
RULE2(heaviside, WHERE(CMP("eq", x, 0), y, WHERE(F1("isnan", x), like(e, 0, x), tc_e_cast(e, CMP("gt", x, 0), dtype_of(n)))))
static tc_value *signed_as(tc_emit *e, tc_value *x, tc_value *y) {
    return WHERE(CMP("lt", WHERE(CMP("eq", y, 0), F1("reciprocal", y), y), 0), tc_e_neg(e, abs_of(e, x)), abs_of(e, x));
}
static tc_value *in_type(tc_emit *e, const tc_node *n, tc_value *x) { return tc_e_cast(e, x, tc_dtype_compute(dtype_of(n))); }
RULE2(copysign, signed_as(e, in_type(e, n, x), in_type(e, n, y)))
RULE2(floor_divide, ATEN("div.Tensor_mode", "vvt", x, y, "floor"))
static tc_value *times_value(tc_emit *e, const tc_node *n, tc_value *x) { /* argument 3, cut to an integer where the result is one */
    return tc_is_float(dtype_of(n)) || tc_is_complex(dtype_of(n)) ? ATEN("mul.Scalar", "va", x, &n->args[3])
                                                                  : tc_e_mul(e, x, full(e, n, &n->args[3]));
}
RULE3(addcmul, tc_e_add(e, x, times_value(e, n, tc_e_mul(e, y, w))))
RULE3(addcdiv, tc_e_add(e, x, ATEN("mul.Scalar", "va", tc_e_div(e, y, w), &n->args[3])))

static tc_status log_times(tc_emit *e, const tc_node *n, const char *log) {
    tc_value *x = in_type(e, n, given(e, n, 0)), *y = in_type(e, n, given(e, n, 1));
    tc_value *r = WHERE(CMP("eq", x, 0), like(e, 0, x), tc_e_mul(e, x, tc_e1(e, log, y)));
    return give(e, n, 0, WHERE(F1("isnan", y), like(e, NAN, x), r));
}
static tc_status core_xlogy(tc_emit *e, const tc_node *n) { return log_times(e, n, "aten::log"); }
static tc_status core_xlog1py(tc_emit *e, const tc_node *n) { return log_times(e, n, "aten::log1p"); }
static tc_value *mix(tc_emit *e, tc_value *a, tc_value *b, tc_value *w) { /* exact at both ends */
    tc_value *d = tc_e_sub(e, b, a), *near = tc_e_add(e, a, tc_e_mul(e, w, d));
    return WHERE(CMP("lt", abs_of(e, w), 0.5), near, tc_e_sub(e, b, tc_e_mul(e, d, ATEN("rsub.Scalar", "vi", w, (int64_t)1))));
}
RULE2(lerp_scalar, mix(e, x, y, number(e, n, 2, x)))
RULE3(lerp_tensor, mix(e, x, y, w))

static tc_status core_log_sigmoid(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0)), *z = F1("exp", tc_e_neg(e, abs_of(e, x)));
    TC_TRY(give(e, n, 0, tc_e_sub(e, F2("minimum", x, like(e, 0, x)), F1("log1p", z))));
    return give(e, n, 1, z);
}
static tc_status core_logit(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0));
    double eps = tc_arg_is_none(n, 1) ? -1 : tc_arg_float(n, 1);
    if (eps >= 0) x = ATEN("clamp", "vff", x, eps, 1 - eps);
    return give(e, n, 0, F1("log", tc_e_div(e, x, tc_e_adds(e, tc_e_neg(e, x), 1))));
}
static tc_status core_round_decimals(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0));
    int64_t k = tc_arg_int(n, 1);
    double scale = pow(10, (double)(k < 0 ? -k : k));
    if (k < 0) return give(e, n, 0, tc_e_muls(e, F1("round", ATEN("div.Scalar", "vf", x, scale)), scale));
    return give(e, n, 0, ATEN("div.Scalar", "vf", F1("round", tc_e_muls(e, x, scale)), scale));
}
static tc_status core_nan_to_num(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_dtype d = x->meta.dtype;
    if (!tc_is_float(d)) {
        tc_emit_result(e, 0, F1("clone", x));
        return tc_e_done(e);
    }
    double with[3] = {0, tc_dtype_max(d), -tc_dtype_max(d)};
    for (int i = 0; i < 3; i++)
        if (!tc_arg_is_none(n, 1 + i)) with[i] = tc_arg_float(n, 1 + i);
    tc_value *r = WHERE(F1("isnan", x), like(e, with[0], x), x);
    r = WHERE(CMP("eq", x, INFINITY), like(e, with[1], x), r);
    return give(e, n, 0, WHERE(CMP("eq", x, -INFINITY), like(e, with[2], x), r));
}
static tc_status core_log_ndtr(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0)), *t;
    if (x && !tc_is_float(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    t = tc_e_muls(e, x, M_SQRT1_2);
    tc_value *low = tc_e_sub(e, F1("log", tc_e_muls(e, F1("special_erfcx", tc_e_neg(e, t)), 0.5)), tc_e_mul(e, t, t));
    return give(e, n, 0, WHERE(CMP("lt", x, 1), low, F1("log1p", tc_e_muls(e, F1("erfc", t), -0.5))));
}
/* Functions that ATen has under two names. */
static tc_status core_i0(tc_emit *e, const tc_node *n) { return give(e, n, 0, F1("i0", tc_arg_value(n, 0))); }
static tc_status core_gammainc(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("igamma", tc_arg_value(n, 0), tc_arg_value(n, 1))); }
static tc_status core_gammaincc(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("igammac", tc_arg_value(n, 0), tc_arg_value(n, 1))); }

/* ---- choices between tensors and numbers ---- */
static tc_value *operand(tc_emit *e, const tc_node *n, int i) {
    tc_value *v = tc_arg_meta(n, i) ? tc_arg_value(n, i) : NULL;
    return v ? tc_e_cast(e, v, dtype_of(n)) : full(e, n, &n->args[i]);
}
static tc_status core_where(tc_emit *e, const tc_node *n) { return give(e, n, 0, WHERE(tc_arg_value(n, 0), operand(e, n, 1), operand(e, n, 2))); }
static tc_status core_masked_fill(tc_emit *e, const tc_node *n) {
    return give(e, n, 0, WHERE(tc_arg_value(n, 1), operand(e, n, 2), tc_arg_value(n, 0)));
}
static tc_status core_rsub(tc_emit *e, const tc_node *n) { /* self, other, alpha: other - alpha self */
    tc_value *x = tc_e_cast(e, tc_arg_value(n, 0), dtype_of(n));
    tc_value *scaled = tc_scalar_is(tc_arg_scalar(n, 2), 1) ? x : ATEN("mul.Scalar", "va", x, &n->args[2]);
    return give(e, n, 0, tc_e_sub(e, operand(e, n, 1), scaled));
}
static tc_status core_clamp_min(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("clamp", "va", tc_arg_value(n, 0), &n->args[1])); }
static tc_status core_clamp_max(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("clamp", "v_a", tc_arg_value(n, 0), &n->args[1])); }
static tc_status core_maximum(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("maximum", tc_arg_value(n, 0), tc_arg_value(n, 1))); }
static tc_status core_minimum(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("minimum", tc_arg_value(n, 0), tc_arg_value(n, 1))); }

static tc_status core_sign(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, F1("sign", tc_arg_value(n, 0)));
    return tc_e_done(e);
}

const tc_core_row tc_core_pointwise[] = {
    {"where.ScalarOther", core_where},
    {"where.ScalarSelf", core_where},
    {"where.Scalar", core_where},
    {"masked_fill.Scalar", core_masked_fill},
    {"masked_fill.Tensor", core_masked_fill},
    {"rsub.Scalar", core_rsub},
    {"rsub.Tensor", core_rsub},
    {"clamp_min", core_clamp_min},
    {"clamp_max", core_clamp_max},
    {"clamp_min.Tensor", core_maximum},
    {"clamp_max.Tensor", core_minimum},
    {"silu", core_silu, TC_CORE_REAL},
    {"square", core_square},
    {"frac", core_frac},
    {"relu6", core_relu6},
    {"hardsigmoid", core_hardsigmoid},
    {"hardswish", core_hardswish},
    {"softplus", core_softplus},
    {"mish", core_mish},
    {"hardshrink", core_hardshrink},
    {"softshrink", core_softshrink},
    {"threshold", core_threshold},
    {"_prelu_kernel", core_prelu},
    {"sinc", core_sinc, TC_CORE_REAL},
    {"hypot", core_hypot},
    {"logaddexp", core_logaddexp, TC_CORE_REAL},
    {"logaddexp2", core_logaddexp2},
    {"isposinf", core_isposinf},
    {"isneginf", core_isneginf},
    {"heaviside", core_heaviside},
    {"copysign.Tensor", core_copysign},
    {"floor_divide", core_floor_divide},
    {"floor_divide.Scalar", core_floor_divide},
    {"addcmul", core_addcmul},
    {"addcdiv", core_addcdiv},
    {"lerp.Scalar", core_lerp_scalar, TC_CORE_REAL},
    {"lerp.Tensor", core_lerp_tensor, TC_CORE_REAL},
    {"xlogy.Tensor", core_xlogy},
    {"xlogy.Scalar_Self", core_xlogy},
    {"xlogy.Scalar_Other", core_xlogy},
    {"special_xlog1py", core_xlog1py},
    {"special_xlog1py.self_scalar", core_xlog1py},
    {"special_xlog1py.other_scalar", core_xlog1py},
    {"log_sigmoid_forward", core_log_sigmoid},
    {"logit", core_logit},
    {"round.decimals", core_round_decimals},
    {"nan_to_num", core_nan_to_num, TC_CORE_REAL},
    {"sgn", core_sign, TC_CORE_REAL},
    {"isfinite", core_isfinite, TC_CORE_REAL},
    {"special_log_ndtr", core_log_ndtr},
    {"special_i0", core_i0},
    {"special_gammainc", core_gammainc},
    {"special_gammaincc", core_gammaincc},
    {NULL},
};
