/* Activation functions: relu, gelu, silu and their relatives, each with its backward operator, as PyTorch has them.
 *
 * A backward operator takes the gradient g of the result and the input x (some the result) and gives g f'(x):
 *     threshold_backward   g where x > threshold, else 0          silu_backward   g s (1 + x (1 - s)), s = sigmoid(x)
 *     gelu_backward        g (Phi(x) + x phi(x))                   elu_backward    g, or g times the slope of the exponential part */
#include "op/lower.h"
#include "op/activation.h"
#include "op/shape.h"

#include <math.h>

/* ---- small words ---- */
static tc_dtype rtype(const tc_lower *l) { return tc_l_type(l, 0); }
static tc_lv num(tc_lower *l, double v) { return tc_l_f(l, rtype(l), v); }
static tc_lv cmp(tc_lower *l, tc_scalar_op op, tc_lv a, tc_lv b) { return tc_l_op2(l, op, a, b); }
static tc_lv f1(tc_lower *l, tc_scalar_op op, tc_lv a) { return tc_l_op1(l, op, a); }
static tc_lv clampf(tc_lower *l, tc_lv x, tc_lv lo, tc_lv hi) { return tc_l_op2(l, TC_X_MIN, tc_l_op2(l, TC_X_MAX, x, lo), hi); }
static tc_lv zero(tc_lower *l) { return tc_l_cast(l, tc_l_int(l, 0), rtype(l)); }

/* ---- forward ---- */
static tc_status lower_relu(tc_lower *l) { return tc_l_out(l, 0, tc_l_op2(l, TC_X_MAX, tc_l_in(l, 0), zero(l))); }
static tc_status lower_relu6(tc_lower *l) { return tc_l_out(l, 0, clampf(l, tc_l_in(l, 0), zero(l), tc_l_cast(l, tc_l_int(l, 6), rtype(l)))); }
static tc_status lower_hardtanh(tc_lower *l) { /* a lower bound below the range of an unsigned type becomes 0 */
    tc_kind k;
    const tc_arg *low = &l->node->args[1];
    bool below = tc_is_integral(rtype(l)) && !tc_dtypes[rtype(l)].is_signed && tc_arg_number(low, &k) && low->kind == TC_A_SCALAR && !low->is_sym &&
                 tc_scalar_to_double(low->scalar) < 0;
    return tc_l_out(l, 0, clampf(l, tc_l_in(l, 0), below ? zero(l) : tc_l_in(l, 1), tc_l_in(l, 2)));
}
static tc_status lower_threshold(tc_lower *l) { /* x <= threshold ? value : x; NaN stays */
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_LE, x, tc_l_in(l, 1)), tc_l_in(l, 2), x));
}
static tc_status lower_threshold_backward(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_LE, tc_l_in(l, 1), tc_l_in(l, 2)), zero(l), tc_l_in(l, 0)));
}
static tc_status lower_leaky_relu(tc_lower *l) { /* and prelu: argument 1 is a number or a tensor */
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_GT, x, num(l, 0)), x, tc_l_mul(l, x, tc_l_in(l, 1))));
}
static tc_status lower_leaky_relu_backward(tc_lower *l) {
    tc_lv g = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_GT, tc_l_in(l, 1), num(l, 0)), g, tc_l_mul(l, g, tc_l_in(l, 2))));
}
static tc_lv elu(tc_lower *l, tc_lv x, tc_lv neg, tc_lv pos, tc_lv in_scale) {
    tc_lv e = tc_l_mul(l, f1(l, TC_X_EXPM1, tc_l_mul(l, x, in_scale)), neg);
    return tc_l_where(l, cmp(l, TC_X_LE, x, num(l, 0)), e, tc_l_mul(l, x, pos));
}
static tc_status lower_elu(tc_lower *l) {
    tc_lv scale = tc_l_in(l, 2);
    return tc_l_out(l, 0, elu(l, tc_l_in(l, 0), tc_l_mul(l, tc_l_in(l, 1), scale), scale, tc_l_in(l, 3)));
}
static tc_status lower_elu_backward(tc_lower *l) { /* grad_output, alpha, scale, input_scale, is_result, self_or_result */
    tc_lv g = tc_l_in(l, 0), alpha = tc_l_in(l, 1), scale = tc_l_in(l, 2), in = tc_l_in(l, 3), x = tc_l_in(l, 5), neg = tc_l_mul(l, alpha, scale);
    tc_lv below = tc_arg_bool(l->node, 4) ? tc_l_mul(l, tc_l_mul(l, g, in), tc_l_add(l, x, neg))
                                          : tc_l_mul(l, tc_l_mul(l, tc_l_mul(l, g, in), neg), f1(l, TC_X_EXP, tc_l_mul(l, x, in)));
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_LE, x, num(l, 0)), below, tc_l_mul(l, g, scale)));
}

/* Phi(x), or its tanh approximation 0.5 (1 + tanh(k (x + 0.044715 x^3))), k = sqrt(2 / pi) */
static const double sqrt_half = 0.70710678118654752440, sqrt_2_pi = 0.79788456080286535588, cubic = 0.044715;
static bool by_tanh(const tc_lower *l, int arg) {
    const char *s = tc_arg_string(l->node, arg);
    return s && !strcmp(s, "tanh");
}
static tc_status lower_gelu(tc_lower *l) { return tc_l_out(l, 0, f1(l, by_tanh(l, 1) ? TC_X_GELU_TANH : TC_X_GELU, tc_l_in(l, 0))); }
static tc_status lower_gelu_backward(tc_lower *l) {
    tc_lv g = tc_l_in(l, 0), x = tc_l_in(l, 1), half = num(l, 0.5), one = num(l, 1);
    if (!by_tanh(l, 2)) {
        tc_lv cdf = tc_l_mul(l, half, tc_l_add(l, one, f1(l, TC_X_ERF, tc_l_mul(l, x, num(l, sqrt_half)))));
        tc_lv pdf = tc_l_mul(l, num(l, 0.39894228040143267794), f1(l, TC_X_EXP, tc_l_mul(l, tc_l_mul(l, x, x), num(l, -0.5))));
        return tc_l_out(l, 0, tc_l_mul(l, g, tc_l_add(l, cdf, tc_l_mul(l, x, pdf))));
    }
    tc_lv sq = tc_l_mul(l, x, x), inner = tc_l_mul(l, num(l, sqrt_2_pi), tc_l_add(l, x, tc_l_mul(l, num(l, cubic), tc_l_mul(l, sq, x))));
    tc_lv t = f1(l, TC_X_TANH, inner), left = tc_l_mul(l, half, x), right = tc_l_add(l, one, t);
    tc_lv dt = tc_l_sub(l, one, tc_l_mul(l, t, t)), di = tc_l_mul(l, num(l, sqrt_2_pi), tc_l_add(l, one, tc_l_mul(l, num(l, 3 * cubic), sq)));
    tc_lv d = tc_l_add(l, tc_l_mul(l, half, right), tc_l_mul(l, tc_l_mul(l, left, dt), di));
    return tc_l_out(l, 0, tc_l_mul(l, g, d));
}
static tc_status lower_silu(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_is_complex(tc_l_type(l, 0)) ? tc_l_mul(l, x, f1(l, TC_X_SIGMOID, x)) : f1(l, TC_X_SILU, x));
}
static tc_status lower_silu_backward(tc_lower *l) {
    tc_lv g = tc_l_in(l, 0), x = tc_l_in(l, 1), s = f1(l, TC_X_SIGMOID, x), one = num(l, 1);
    return tc_l_out(l, 0, tc_l_mul(l, tc_l_mul(l, g, s), tc_l_add(l, one, tc_l_mul(l, x, tc_l_sub(l, one, s)))));
}
static tc_status lower_mish(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_mul(l, x, f1(l, TC_X_TANH, f1(l, TC_X_LOG1P, f1(l, TC_X_EXP, x)))));
}
static tc_status lower_mish_backward(tc_lower *l) {
    tc_lv g = tc_l_in(l, 0), x = tc_l_in(l, 1), s = f1(l, TC_X_SIGMOID, x), t = f1(l, TC_X_TANH, f1(l, TC_X_LOG1P, f1(l, TC_X_EXP, x)));
    tc_lv d = tc_l_mul(l, tc_l_mul(l, x, s), tc_l_sub(l, num(l, 1), tc_l_mul(l, t, t)));
    return tc_l_out(l, 0, tc_l_mul(l, g, tc_l_add(l, t, d)));
}
static tc_status lower_hardtanh_backward(tc_lower *l) { /* grad_output, self, min_val, max_val */
    tc_lv x = tc_l_in(l, 1), in = tc_l_op2(l, TC_X_AND, cmp(l, TC_X_GT, x, tc_l_in(l, 2)), cmp(l, TC_X_LT, x, tc_l_in(l, 3)));
    return tc_l_out(l, 0, tc_l_where(l, in, tc_l_in(l, 0), num(l, 0)));
}
static tc_status lower_hardsigmoid(tc_lower *l) {
    tc_lv x = clampf(l, tc_l_add(l, tc_l_in(l, 0), num(l, 3)), num(l, 0), num(l, 6));
    return tc_l_out(l, 0, tc_l_div(l, x, num(l, 6)));
}
static tc_status lower_hardsigmoid_backward(tc_lower *l) {
    tc_lv x = tc_l_in(l, 1), in = tc_l_op2(l, TC_X_AND, cmp(l, TC_X_GT, x, num(l, -3)), cmp(l, TC_X_LT, x, num(l, 3)));
    const float sixth = 1.0F / 6.0F; /* in float64 too, as in PyTorch */
    return tc_l_out(l, 0, tc_l_where(l, in, tc_l_mul(l, tc_l_in(l, 0), num(l, sixth)), num(l, 0)));
}
static tc_status lower_hardswish(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0), c = clampf(l, tc_l_add(l, x, num(l, 3)), num(l, 0), num(l, 6));
    return tc_l_out(l, 0, tc_l_div(l, tc_l_mul(l, x, c), num(l, 6)));
}
static tc_status lower_hardswish_backward(tc_lower *l) {
    tc_lv g = tc_l_in(l, 0), x = tc_l_in(l, 1);
    tc_lv mid = tc_l_mul(l, g, tc_l_add(l, tc_l_div(l, x, num(l, 3)), num(l, 0.5)));
    tc_lv r = tc_l_where(l, cmp(l, TC_X_LT, x, num(l, 3)), mid, g);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_LE, x, num(l, -3)), num(l, 0), r));
}
static tc_status lower_softplus(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0), beta = tc_l_in(l, 1), xb = tc_l_mul(l, x, beta);
    tc_lv r = tc_l_div(l, f1(l, TC_X_LOG1P, f1(l, TC_X_EXP, xb)), beta);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_GT, xb, tc_l_in(l, 2)), x, r));
}
static tc_status lower_softplus_backward(tc_lower *l) { /* grad_output, self, beta, threshold */
    tc_lv g = tc_l_in(l, 0), xb = tc_l_mul(l, tc_l_in(l, 1), tc_l_in(l, 2)), z = f1(l, TC_X_EXP, xb);
    tc_lv r = tc_l_div(l, tc_l_mul(l, g, z), tc_l_add(l, z, num(l, 1)));
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_GT, xb, tc_l_in(l, 3)), g, r));
}
/* The bound of a shrinking function, in the type of x. */
static tc_lv bound(tc_lower *l, int arg) { return tc_l_in_rounded(l, arg, l->node->outs[0]->meta.dtype); }
static tc_status lower_softshrink(tc_lower *l) { /* x - clamp(x, -k, k), which is +0 within the bounds, with the sign of x */
    tc_lv x = tc_l_in(l, 0), k = bound(l, 1), near = tc_l_op2(l, TC_X_MIN, tc_l_op2(l, TC_X_MAX, x, f1(l, TC_X_NEG, k)), k);
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_COPYSIGN, tc_l_sub(l, x, near), x));
}
static tc_status lower_hardshrink(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_LE, f1(l, TC_X_ABS, x), bound(l, 1)), num(l, 0), x));
}
static tc_status lower_shrink_backward(tc_lower *l) {
    tc_lv x = tc_l_in(l, 1);
    return tc_l_out(l, 0, tc_l_where(l, cmp(l, TC_X_GT, f1(l, TC_X_ABS, x), bound(l, 2)), tc_l_in(l, 0), num(l, 0))); /* NaN gets nothing */
}
static tc_status lower_log_sigmoid(tc_lower *l) { /* min(x, 0) - log1p(exp(-|x|)); the buffer of PyTorch's CPU kernel is exp(-|x|) */
    tc_lv x = tc_l_in(l, 0), z = f1(l, TC_X_EXP, f1(l, TC_X_NEG, f1(l, TC_X_ABS, x)));
    TC_TRY(tc_l_out(l, 0, tc_l_sub(l, tc_l_op2(l, TC_X_MIN, x, num(l, 0)), f1(l, TC_X_LOG1P, z))));
    return l->node->nouts > 1 ? tc_l_out(l, 1, z) : NULL;
}
static tc_status lower_log_sigmoid_backward(tc_lower *l) { /* grad_output, self, buffer */
    tc_lv g = tc_l_in(l, 0), x = tc_l_in(l, 1), z = f1(l, TC_X_EXP, f1(l, TC_X_NEG, f1(l, TC_X_ABS, x))), one = num(l, 1);
    tc_lv negative = cmp(l, TC_X_LT, x, num(l, 0)), max_deriv = tc_l_where(l, negative, one, num(l, 0)),
          sign = tc_l_where(l, negative, one, num(l, -1));
    return tc_l_out(l, 0, tc_l_mul(l, g, tc_l_sub(l, max_deriv, tc_l_mul(l, sign, tc_l_div(l, z, tc_l_add(l, one, z))))));
}

/* ---- shapes ---- */
static tc_status shape_float_only(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_float(c, 0));
    return tc_shape_same(c);
}
static tc_status shape_no_bool(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    if (tc_sh_meta(c, 0)->dtype == TC_BOOL)
        return tc_sh_fail_as(c, "NotImplementedError", "Boolean inputs not supported for %s", tc_op_schema(c->op)->name);
    return NULL;
}
static tc_status shape_gelu(tc_shape_ctx *c) {
    const char *a = tc_sh_string(c, 1);
    TC_TRY(shape_float_only(c));
    if (a && strcmp(a, "none") && strcmp(a, "tanh")) return tc_sh_fail(c, "approximate argument must be either none or tanh.");
    return NULL;
}
static tc_status shape_log_sigmoid(tc_shape_ctx *c) {
    TC_TRY(shape_float_only(c));
    c->outs[0].meta.stride = NULL; /* contiguous for any strides of the input */
    return c->nouts > 1 ? tc_sh_out_like(c, 1, tc_sh_meta(c, 0), tc_sh_meta(c, 0)->dtype) : NULL;
}
static tc_status shape_shrink(tc_shape_ctx *c) {
    double v;
    TC_TRY(shape_float_only(c));
    if (tc_sym_const_float(tc_sh_int(c, 1), &v) && !(v >= 0 && v < HUGE_VAL) && !strcmp(tc_op_schema(c->op)->name, "softshrink"))
        return tc_sh_fail(c, "lambda must be greater or equal to 0, but found to be %g.", v);
    return NULL;
}
static tc_status shape_elu_backward(tc_shape_ctx *c) {
    double a;
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (tc_sh_bool(c, 4) && tc_sym_const_float(tc_sh_int(c, 1), &a) && a < 0)
        return tc_sh_fail(c, "In-place elu backward calculation is triggered with a negative slope which is not supported. "
                             "This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead.");
    return tc_sh_out_pointwise(c, 0, tc_sh_result_type(c, 2, (int[]){0, 5}), 2, (int[]){0, 5});
}
static tc_status shape_prelu_kernel(tc_shape_ctx *c) { return tc_shape_binary(c); }
static tc_status shape_glu(tc_shape_ctx *c) {
    int d;
    int64_t n;
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank == 0) return tc_sh_fail(c, "glu does not support 0-dimensional tensors");
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    tc_symctx *s = tc_sh_sym(c);
    if (tc_sym_const_int(m->size[d], &n) && n % 2)
        return tc_sh_fail(c, "Halving dimension must be even, but dimension %d is size %lld", d, (long long)n);
    if (!tc_sh_same(c, tc_sym_mod(s, m->size[d], tc_sym_int(s, 2)), tc_sym_int(s, 0))) return tc_sh_fail(c, "Halving dimension must be even");
    tc_dims dims = tc_dims_of(m);
    dims.size[d] = tc_sym_floordiv(s, m->size[d], tc_sym_int(s, 2));
    tc_meta half = *m;
    half.size = dims.size;
    return tc_sh_out_like(c, 0, &half, m->dtype);
}
static tc_status shape_glu_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_of_forward(c, NULL, 1, (int[]){0, 0}));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 1));
    return tc_sh_out(c, 0, tc_sh_meta(c, 1)->dtype, &d);
}

/* ---- compositions ---- */
static tc_status decompose_celu(tc_emit *e, const tc_node *n) { /* elu with alpha, 1, 1 / alpha */
    double a = tc_arg_float(n, 1);
    if (a == 0) return tc_error(TC_CONTENT, "ZeroDivisionError: aten.celu: alpha cannot be 0 for CELU");
    tc_emit_result(e, 0, tc_emit_call(e, "aten::elu", "vfff", tc_arg_value(n, 0), a, 1.0, 1 / a));
    return tc_e_done(e);
}
static tc_status decompose_selu(tc_emit *e, const tc_node *n) {
    tc_emit_result(
        e, 0, tc_emit_call(e, "aten::elu", "vfff", tc_arg_value(n, 0), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0));
    return tc_e_done(e);
}
static tc_status decompose_log_sigmoid(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::log_sigmoid_forward", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
/* One weight, or one for each channel (dimension 1). */
static tc_status decompose_prelu(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1);
    if (!x || !w) return tc_error(TC_CONTENT, "TypeError: aten.prelu: arguments must be tensors");
    if (w->meta.rank > 1) return tc_error(TC_CONTENT, "aten.prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", w->meta.rank);
    if (x->meta.dtype != w->meta.dtype)
        return tc_error(TC_CONTENT, "aten.prelu: Type promoting not supported. Got %s and %s", tc_dtypes[x->meta.dtype].torch,
                        tc_dtypes[w->meta.dtype].torch);
    tc_symctx *c = tc_e_sym(e);
    tc_sym size[TC_MAX_RANK];
    bool single = w->meta.rank == 0 || tc_sym_is_int(w->meta.size[0], 1);
    if (!single) {
        if (x->meta.rank == 0) return tc_error(TC_CONTENT, "aten.prelu: Not allow zero-dim input tensor.");
        tc_sym channels = x->meta.rank > 1 ? x->meta.size[1] : tc_sym_int(c, 1);
        if (tc_sym_differ(c, channels, w->meta.size[0])) {
            int64_t a = 0, b = 0;
            tc_sym_const_int(w->meta.size[0], &a);
            tc_sym_const_int(channels, &b);
            return tc_error(
                TC_CONTENT,
                "aten.prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld and channel size = %lld.",
                (long long)a, (long long)b);
        }
    }
    if (x->meta.rank >= 1) {
        for (int k = 0; k < x->meta.rank; k++) size[k] = k == 1 && !single ? w->meta.size[0] : tc_sym_int(c, 1);
        w = tc_emit_call(e, "aten::reshape", "vS", w, size, x->meta.rank);
    } else if (w->meta.rank == 1) {
        w = tc_emit_call(e, "aten::reshape", "vS", w, size, 0);
    }
    tc_emit_result(e, 0, tc_e2(e, "aten::_prelu_kernel", x, w));
    return tc_e_done(e);
}
static tc_status decompose_glu(tc_emit *e, const tc_node *n) { /* a sigmoid(b), with a and b the halves along dim */
    tc_value *x = tc_arg_value(n, 0);
    int d = tc_wrap(tc_arg_int(n, 1), x->meta.rank);
    tc_symctx *c = tc_e_sym(e);
    tc_sym half = tc_sym_floordiv(c, x->meta.size[d], tc_sym_int(c, 2));
    tc_value *a = tc_emit_call(e, "aten::slice.Tensor", "viis", x, (int64_t)d, (int64_t)0, half);
    tc_value *b = tc_emit_call(e, "aten::slice.Tensor", "viss", x, (int64_t)d, half, x->meta.size[d]);
    tc_emit_result(e, 0, tc_e_mul(e, a, tc_e1(e, "aten::sigmoid", b)));
    return tc_e_done(e);
}
static tc_status decompose_glu_backward(tc_emit *e, const tc_node *n) {
    tc_value *g = tc_arg_value(n, 0), *x = tc_arg_value(n, 1);
    int d = tc_wrap(tc_arg_int(n, 2), x->meta.rank);
    tc_symctx *c = tc_e_sym(e);
    tc_sym half = tc_sym_floordiv(c, x->meta.size[d], tc_sym_int(c, 2));
    tc_value *a = tc_emit_call(e, "aten::slice.Tensor", "viis", x, (int64_t)d, (int64_t)0, half);
    tc_value *s = tc_e1(e, "aten::sigmoid", tc_emit_call(e, "aten::slice.Tensor", "viss", x, (int64_t)d, half, x->meta.size[d]));
    tc_value *parts[2] = {tc_e_mul(e, g, s), tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, g, a), s)};
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", parts, 2, (int64_t)d));
    return tc_e_done(e);
}
static tc_status check_slopes(const tc_node *n, double lo, double hi) {
    if (lo > hi) return tc_e_refuse(n, "Lower bound should be less than or equal to the upper bound");
    if (isfinite(lo) && isfinite(hi)) return NULL;
    return tc_e_refuse(n, "bounds must be finite, got %g and %g", lo, hi);
}
/* In training the slope is random, else it is the mean of its bounds. */
static tc_status decompose_rrelu(tc_emit *e, const tc_node *n) {
    double lo = tc_arg_float(n, 1), hi = tc_arg_float(n, 2);
    tc_value *x = tc_arg_value(n, 0);
    TC_TRY(check_slopes(n, lo, hi));
    if (!tc_arg_bool(n, 3)) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::leaky_relu", "vf", x, (lo + hi) / 2));
        return tc_e_done(e);
    }
    tc_value *noise = tc_emit_call(e, "tc::rrelu_noise", "vff", x, lo, hi);
    tc_emit_result(e, 0, tc_e_cast(e, tc_e_mul(e, x, noise), x ? x->meta.dtype : TC_F32));
    return tc_e_done(e);
}

/* self, noise, lower, upper, training. Results: y and the slopes. Where self is positive the slope is 1; noise keeps its old value elsewhere. */
static tc_status decompose_rrelu_noise(tc_emit *e, const tc_node *n) {
    double lo = tc_arg_float(n, 2), hi = tc_arg_float(n, 3);
    tc_value *x = tc_arg_value(n, 0), *old = tc_arg_value(n, 1);
    TC_TRY(check_slopes(n, lo, hi));
    tc_value *noise = tc_arg_bool(n, 4) ? tc_emit_call(e, "tc::rrelu_noise", "vff", x, lo, hi) : NULL;
    tc_value *y = noise ? tc_e_mul(e, x, noise) : tc_emit_call(e, "aten::leaky_relu", "vf", x, (lo + hi) / 2);
    tc_emit_result(e, 0, tc_e_cast(e, y, x ? x->meta.dtype : TC_F32));
    tc_emit_result(e, 1, noise ? tc_e_cast(e, noise, old->meta.dtype) : tc_emit_call(e, "aten::clone", "v", old));
    return tc_e_done(e);
}

/* ---- gradients ---- */
#define GRAD(name, call)                                                              \
    static tc_status grad_##name(tc_emit *e, const tc_node *n, tc_value *const *gs) { \
        tc_value *g = gs[0], *x = tc_arg_value(n, 0), *y = n->outs[0];                \
        (void)x, (void)y;                                                             \
        tc_e_give(e, n, 0, call);                                                     \
        return tc_e_done(e);                                                          \
    }
GRAD(relu, tc_emit_call(e, "aten::threshold_backward", "vvi", g, y, (int64_t)0))
GRAD(relu6, tc_emit_call(e, "aten::hardtanh_backward", "vvii", g, x, (int64_t)0, (int64_t)6))
GRAD(hardtanh, tc_emit_call(e, "aten::hardtanh_backward", "vvaa", g, x, &n->args[1], &n->args[2]))
GRAD(threshold, tc_emit_call(e, "aten::threshold_backward", "vva", g, x, &n->args[1]))
GRAD(leaky_relu, tc_emit_call(e, "aten::leaky_relu_backward", "vvab", g, x, &n->args[1], 0))
GRAD(elu, tc_emit_call(e, "aten::elu_backward", "vaaabv", g, &n->args[1], &n->args[2], &n->args[3], 0, x))
GRAD(celu, tc_emit_call(e, "aten::elu_backward", "vaffbv", g, &n->args[1], 1.0, 1 / (double)(float)tc_arg_float(n, 1), 0,
                        x)) /* PyTorch's alpha.toFloat() */
GRAD(gelu, tc_emit_call(e, "aten::gelu_backward", "vva", g, x, &n->args[1]))
GRAD(silu, tc_emit_call(e, "aten::silu_backward", "vv", g, x))
GRAD(mish, tc_emit_call(e, "aten::mish_backward", "vv", g, x))
GRAD(hardsigmoid, tc_emit_call(e, "aten::hardsigmoid_backward", "vv", g, x))
GRAD(hardswish, tc_emit_call(e, "aten::hardswish_backward", "vv", g, x))
GRAD(softplus, tc_emit_call(e, "aten::softplus_backward", "vvaa", g, x, &n->args[1], &n->args[2]))
GRAD(softshrink, tc_emit_call(e, "aten::softshrink_backward", "vva", g, x, &n->args[1]))
GRAD(hardshrink, tc_emit_call(e, "aten::hardshrink_backward", "vva", g, x, &n->args[1]))
GRAD(log_sigmoid, tc_emit_call(e, "aten::log_sigmoid_backward", "vvv", g, x, tc_emit_out(y, 1)))
/* backward operators are linear in the gradient */
GRAD(threshold_backward, tc_emit_call(e, "aten::threshold_backward", "vva", g, tc_arg_value(n, 1), &n->args[2]))
GRAD(leaky_relu_backward, tc_emit_call(e, "aten::leaky_relu_backward", "vvaa", g, tc_arg_value(n, 1), &n->args[2], &n->args[3]))
GRAD(hardtanh_backward, tc_emit_call(e, "aten::hardtanh_backward", "vvaa", g, tc_arg_value(n, 1), &n->args[2], &n->args[3]))
#undef GRAD
static tc_status grad_prelu(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *r = tc_e3(e, "aten::_prelu_kernel_backward", gs[0], tc_arg_value(n, 0), tc_arg_value(n, 1));
    for (int i = 0; i < 2; i++) tc_e_give(e, n, i, tc_emit_out(r, i));
    return tc_e_done(e);
}
/* grad_output, self, weight. Results: the gradients of self and of weight, the latter not yet summed */
static tc_status decompose_prelu_backward(tc_emit *e, const tc_node *n) {
    tc_value *g = tc_arg_value(n, 0), *x = tc_arg_value(n, 1), *pos = tc_emit_call(e, "aten::gt.Scalar", "vi", x, (int64_t)0);
    tc_emit_result(e, 0, tc_e3(e, "aten::where.self", pos, g, tc_e_mul(e, g, tc_arg_value(n, 2))));
    tc_emit_result(e, 1, tc_emit_call(e, "aten::where.ScalarSelf", "viv", pos, (int64_t)0, tc_e_mul(e, g, x)));
    return tc_e_done(e);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, shape_, decompose_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .decompose = decompose_, .grad = grad_, .samples = sample, .doc = text }
const tc_op tc_ops_activation[] = {
    ROW("relu(Tensor self)", shape_no_bool, lower_relu, grad_relu, "relu(f32[3,5])", "max(x, 0)"),
    ROW("relu6(Tensor self)", shape_no_bool, lower_relu6, grad_relu6, "relu6(f32[3,5])", "min(max(x, 0), 6)"),
    ROW("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)", shape_no_bool, lower_hardtanh, grad_hardtanh, "hardtanh(f32[3,5])",
        "x clamped to [min_val, max_val]"),
    ROW("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)", tc_shape_like_arg1, lower_hardtanh_backward,
        grad_hardtanh_backward, "hardtanh_backward(f32[5], f32[5], -1, 1)", "gradient of hardtanh"),
    ROW("threshold(Tensor self, Scalar threshold, Scalar value)", shape_no_bool, lower_threshold, grad_threshold, "threshold(f32[5], 0.1, 2)",
        "x where x > threshold, else value"),
    ROW("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold)", tc_shape_like_arg1, lower_threshold_backward,
        grad_threshold_backward, "threshold_backward(f32[5], f32[5], 0)", "g where x > threshold, else 0"),
    ROW("leaky_relu(Tensor self, Scalar negative_slope=0.01)", shape_float_only, lower_leaky_relu, grad_leaky_relu, "leaky_relu(f32[5], 0.1)",
        "x, or negative_slope x where x <= 0"),
    ROW("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result)", tc_shape_like_arg1,
        lower_leaky_relu_backward, grad_leaky_relu_backward, "leaky_relu_backward(f32[5], f32[5], 0.1, False)", "gradient of leaky_relu"),
    ROW("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", shape_float_only, lower_elu, grad_elu,
        "elu(f32[5]); elu(f32[5], 0.5, 2, 3)", "scale x, or scale alpha (exp(input_scale x) - 1) where x <= 0"),
    ROW("elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result)", shape_elu_backward,
        lower_elu_backward, tc_grad_elu_backward, "elu_backward(f32[5], 1, 1, 1, False, f32[5])", "gradient of elu"),
    COMPOSED("celu(Tensor self, Scalar alpha=1.)", shape_float_only, decompose_celu, grad_celu, "celu(f32[5], 0.5)", "elu(x, alpha, 1, 1 / alpha)"),
    COMPOSED("selu(Tensor self)", shape_float_only, decompose_selu, NULL, "selu(f32[5])", "elu with the self-normalising constants"),
    ROW("gelu(Tensor self, *, str approximate=\"none\")", shape_gelu, lower_gelu, grad_gelu, "gelu(f32[3,5]); gelu(f32[5], approximate='tanh')",
        "x Phi(x)"),
    ROW("gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\")", tc_shape_like_arg1, lower_gelu_backward, tc_grad_gelu_backward,
        "gelu_backward(f32[5], f32[5])", "gradient of gelu"),
    ROW("silu(Tensor self)", shape_float_only, lower_silu, grad_silu, "silu(f32[3,5]); silu(f64[0,2])", "x / (1 + exp(-x))"),
    ROW("silu_backward(Tensor grad_output, Tensor self)", tc_shape_like_arg1, lower_silu_backward, tc_grad_silu_backward,
        "silu_backward(f32[5], f32[5])", "gradient of silu"),
    ROW("mish(Tensor self)", shape_float_only, lower_mish, grad_mish, "mish(f32[5])", "x tanh(log(1 + exp(x)))"),
    ROW("mish_backward(Tensor grad_output, Tensor self)", tc_shape_like_arg1, lower_mish_backward, tc_grad_mish_backward,
        "mish_backward(f32[5], f32[5])", "gradient of mish"),
    ROW("hardsigmoid(Tensor self)", shape_float_only, lower_hardsigmoid, grad_hardsigmoid, "hardsigmoid(f32[5])", "min(max(x + 3, 0), 6) / 6"),
    ROW("hardsigmoid_backward(Tensor grad_output, Tensor self)", tc_shape_like_arg1, lower_hardsigmoid_backward, tc_grad_flat_backward,
        "hardsigmoid_backward(f32[5], f32[5])", "gradient of hardsigmoid"),
    ROW("hardswish(Tensor self)", shape_float_only, lower_hardswish, grad_hardswish, "hardswish(f32[5])", "x min(max(x + 3, 0), 6) / 6"),
    ROW("hardswish_backward(Tensor grad_output, Tensor self)", tc_shape_like_arg1, lower_hardswish_backward, tc_grad_hardswish_backward,
        "hardswish_backward(f32[5], f32[5])", "gradient of hardswish"),
    ROW("softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", shape_float_only, lower_softplus, grad_softplus, "softplus(f32[5])",
        "log(1 + exp(beta x)) / beta; x above the threshold"),
    ROW("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)", tc_shape_like_arg1, lower_softplus_backward,
        tc_grad_softplus_backward, "softplus_backward(f32[5], f32[5], 1, 20)", "gradient of softplus"),
    ROW("softshrink(Tensor self, Scalar lambd=0.5)", shape_shrink, lower_softshrink, grad_softshrink, "softshrink(f32[5])",
        "x moved towards 0 by lambd"),
    ROW("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd)", tc_shape_like_arg1, lower_shrink_backward, tc_grad_flat_backward,
        "softshrink_backward(f32[5], f32[5], 0.5)", "gradient of softshrink"),
    ROW("hardshrink(Tensor self, Scalar lambd=0.5)", shape_shrink, lower_hardshrink, grad_hardshrink, "hardshrink(f32[5])", "0 where |x| <= lambd"),
    ROW("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd)", tc_shape_like_arg1, lower_shrink_backward, tc_grad_flat_backward,
        "hardshrink_backward(f32[5], f32[5], 0.5)", "gradient of hardshrink"),
    COMPOSED("log_sigmoid(Tensor self)", shape_log_sigmoid, decompose_log_sigmoid, NULL, "log_sigmoid(f32[5])", "log(sigmoid(x))"),
    {.schema = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     .flags = TC_OP_ONE_GRAD,
     .shape = shape_log_sigmoid,
     .lower = lower_log_sigmoid,
     .grad = grad_log_sigmoid,
     .samples = "log_sigmoid_forward(f32[5])",
     .doc = "log(sigmoid(x)) and exp(-|x|)"},
    ROW("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer)", tc_shape_like_arg1, lower_log_sigmoid_backward,
        tc_grad_log_sigmoid_backward, "log_sigmoid_backward(f32[5], f32[5], f32[5])", "gradient of log_sigmoid"),
    COMPOSED("prelu(Tensor self, Tensor weight)", tc_shape_decomposed, decompose_prelu, NULL, "prelu(f32[2,3,4], f32[3])",
             "x, or weight x where x <= 0"),
    ROW("_prelu_kernel(Tensor self, Tensor weight)", shape_prelu_kernel, lower_leaky_relu, grad_prelu, "_prelu_kernel(f32[2,3], f32[1,3])",
        "x, or weight x where x <= 0"),
    {.schema = "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_prelu_backward,
     .samples = "_prelu_kernel_backward(f32[2,3], f32[2,3], f32[1,3])",
     .doc = "gradients of _prelu_kernel"},
    COMPOSED("glu(Tensor self, int dim=-1)", shape_glu, decompose_glu, NULL, "glu(f32[3,6])", "a sigmoid(b), the halves of x"),
    COMPOSED("glu_backward(Tensor grad_output, Tensor self, int dim)", shape_glu_backward, decompose_glu_backward, NULL,
             "glu_backward(f32[3,3], f32[3,6], -1)", "gradient of glu"),
    {.schema = "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
               "training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
     .flags = TC_OP_RANDOM,
     .shape = tc_shape_decomposed,
     .decompose = decompose_rrelu_noise,
     .samples = "rrelu_with_noise_functional(f32[5], f32[5])",
     .doc = "rrelu and its slopes"},
    {.schema =
         "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor",
     .flags = TC_OP_RANDOM,
     .shape = tc_shape_decomposed_rows,
     .decompose = decompose_rrelu,
     .samples = "rrelu(f32[5])",
     .doc = "leaky_relu with a random slope in training"},
    {0}};
