/* Pointwise functions of one tensor: y[i] = f(x[i]). Each is one scalar operation of kernel/scalar.def or a few of them.
 *
 * Functions on the reals take integers as float32. Derivatives are those of calculus; where a function has a kink (abs, sign,
 * floor) PyTorch's choice: sign(0) = 0, and 0 for the steps. */
#include "op/lower.h"
#include "op/shape.h"

#include <stdio.h>

/* ---- lowering ---- */
#define UNARY(name, OP) \
    static tc_status lower_##name(tc_lower *l) { return tc_l_out(l, 0, tc_l_op1(l, TC_X_##OP, tc_l_in(l, 0))); }
UNARY(neg, NEG)
UNARY(sign, SIGN)
UNARY(exp, EXP)
UNARY(exp2, EXP2)
UNARY(expm1, EXPM1)
UNARY(log, LOG)
UNARY(log2, LOG2)
UNARY(log10, LOG10)
UNARY(log1p, LOG1P)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(tan, TAN)
UNARY(asin, ASIN)
UNARY(acos, ACOS)
UNARY(atan, ATAN) UNARY(sinh, SINH) UNARY(cosh, COSH) UNARY(tanh, TANH) UNARY(asinh, ASINH) UNARY(acosh, ACOSH) UNARY(atanh, ATANH)
    UNARY(sigmoid, SIGMOID) UNARY(erf, ERF) UNARY(erfc, ERFC) UNARY(erfinv, ERFINV) UNARY(lgamma, LGAMMA) UNARY(digamma, DIGAMMA)
        UNARY(bitwise_not, NOT)
#undef UNARY

            static tc_status lower_abs(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_op1(l, TC_X_ABS, tc_l_in_as(l, 0, TC_DTYPE_NONE)));
}
/* Rounding is the identity on integers. */
static tc_status rounding(tc_lower *l, tc_scalar_op op) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_is_integral(tc_arg_meta(l->node, 0)->dtype) ? x : tc_l_op1(l, op, x));
}
static tc_status lower_floor(tc_lower *l) { return rounding(l, TC_X_FLOOR); }
static tc_status lower_ceil(tc_lower *l) { return rounding(l, TC_X_CEIL); }
static tc_status lower_trunc(tc_lower *l) { return rounding(l, TC_X_TRUNC); }
static tc_status lower_round(tc_lower *l) { return rounding(l, TC_X_RINT); }

static tc_dtype own_compute(const tc_lower *l) { return tc_dtype_compute(tc_arg_meta(l->node, 0)->dtype); }

static tc_status lower_frac(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_sub(l, x, tc_l_op1(l, TC_X_TRUNC, x)));
}
static tc_status lower_reciprocal(tc_lower *l) { return tc_l_out(l, 0, tc_l_div(l, tc_l_f(l, tc_l_type(l, 0), 1), tc_l_in(l, 0))); }
static tc_status lower_square(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_mul(l, x, x));
}
static tc_status lower_round_decimals(tc_lower *l) {
    int64_t decimals = tc_arg_int(l->node, 1);
    tc_lv x = tc_l_in(l, 0);
    double scale = 1;
    for (int64_t k = decimals < 0 ? -decimals : decimals; k > 0 && scale < 1e300; k--) scale *= 10;
    tc_lv s = tc_l_f(l, tc_l_type(l, 0), scale);
    if (decimals == 0) return tc_l_out(l, 0, tc_l_op1(l, TC_X_RINT, x));
    if (decimals > 0) return tc_l_out(l, 0, tc_l_div(l, tc_l_op1(l, TC_X_RINT, tc_l_mul(l, x, s)), s));
    return tc_l_out(l, 0, tc_l_mul(l, tc_l_op1(l, TC_X_RINT, tc_l_div(l, x, s)), s));
}

/* x = m 2^e with 1/2 <= |m| < 1, by exact scaling in float64: e from the logarithm, which may be off by one next to a power of two. */
static tc_status lower_frexp(tc_lower *l) {
    tc_dtype d = TC_F64;
    tc_lv own = tc_l_in(l, 0), x = tc_l_cast(l, own, d), zero = tc_l_f(l, d, 0), one = tc_l_f(l, d, 1), half = tc_l_f(l, d, 0.5);
    tc_lv a = tc_l_op1(l, TC_X_ABS, x);
    tc_lv plain = tc_l_op2(l, TC_X_OR, tc_l_op2(l, TC_X_OR, tc_l_op1(l, TC_X_ISINF, x), tc_l_op1(l, TC_X_ISNAN, x)), tc_l_op2(l, TC_X_EQ, x, zero));
    tc_lv e = tc_l_add(l, tc_l_op1(l, TC_X_FLOOR, tc_l_op1(l, TC_X_LOG2, tc_l_where(l, plain, one, a))), one);
    tc_lv first = tc_l_op1(l, TC_X_TRUNC, tc_l_mul(l, tc_l_op1(l, TC_X_NEG, e), half)), rest = tc_l_op1(l, TC_X_NEG, tc_l_add(l, e, first));
    tc_lv m = tc_l_mul(l, tc_l_mul(l, x, tc_l_op1(l, TC_X_EXP2, first)), tc_l_op1(l, TC_X_EXP2, rest)), size = tc_l_op1(l, TC_X_ABS, m);
    tc_lv big = tc_l_op2(l, TC_X_GE, size, one), small = tc_l_op2(l, TC_X_LT, size, half);
    m = tc_l_where(l, big, tc_l_mul(l, m, half), tc_l_where(l, small, tc_l_add(l, m, m), m));
    e = tc_l_where(l, big, tc_l_add(l, e, one), tc_l_where(l, small, tc_l_sub(l, e, one), e));
    TC_TRY(tc_l_out(l, 0, tc_l_where(l, plain, own, tc_l_cast(l, m, own_compute(l)))));
    return tc_l_out(l, 1, tc_l_cast(l, tc_l_where(l, plain, zero, e), TC_I32));
}

/* Predicates on floats; integers are finite. */
static tc_status question(tc_lower *l, tc_scalar_op op) {
    if (tc_is_integral(tc_arg_meta(l->node, 0)->dtype)) return tc_l_out(l, 0, tc_l_const(l, TC_BOOL, tc_scalar_bool(false)));
    return tc_l_out(l, 0, tc_l_op1(l, op, tc_l_in_as(l, 0, TC_DTYPE_NONE)));
}
static tc_status lower_isnan(tc_lower *l) { return question(l, TC_X_ISNAN); }
static tc_status lower_isinf(tc_lower *l) { return question(l, TC_X_ISINF); }
static tc_status lower_isfinite(tc_lower *l) {
    if (tc_is_integral(tc_arg_meta(l->node, 0)->dtype)) return tc_l_out(l, 0, tc_l_const(l, TC_BOOL, tc_scalar_bool(true)));
    tc_lv x = tc_l_in_as(l, 0, TC_DTYPE_NONE);
    tc_lv bad = tc_l_op2(l, TC_X_OR, tc_l_op1(l, TC_X_ISNAN, x), tc_l_op1(l, TC_X_ISINF, x));
    return tc_l_out(l, 0, tc_l_op1(l, TC_X_NOT, bad));
}
static tc_status signed_inf(tc_lower *l, double inf) {
    if (tc_is_integral(tc_arg_meta(l->node, 0)->dtype)) return tc_l_out(l, 0, tc_l_const(l, TC_BOOL, tc_scalar_bool(false)));
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_EQ, tc_l_in_as(l, 0, TC_DTYPE_NONE), tc_l_f(l, own_compute(l), inf)));
}
static tc_status lower_isposinf(tc_lower *l) { return signed_inf(l, __builtin_inf()); }
static tc_status lower_isneginf(tc_lower *l) { return signed_inf(l, -__builtin_inf()); }
static tc_status lower_signbit(tc_lower *l) {
    tc_lv x = tc_l_in_as(l, 0, TC_DTYPE_NONE);
    if (!tc_is_integral(tc_arg_meta(l->node, 0)->dtype)) return tc_l_out(l, 0, tc_l_op1(l, TC_X_SIGNBIT, x));
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_LT, x, tc_l_const(l, own_compute(l), tc_scalar_int(0))));
}
static tc_status lower_logical_not(tc_lower *l) {
    tc_dtype d = own_compute(l);
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_EQ, tc_l_in_as(l, 0, TC_DTYPE_NONE), tc_l_zero(l, d)));
}

/* x in the float type d, with the limits of type `own` */
static tc_lv to_num(tc_lower *l, tc_lv x, tc_dtype own, tc_dtype d) {
    const tc_node *n = l->node;
    tc_lv nan = tc_l_f(l, d, tc_arg_is_none(n, 1) ? 0 : tc_arg_float(n, 1));
    tc_lv pos = tc_l_f(l, d, tc_arg_is_none(n, 2) ? tc_dtype_max(own) : tc_arg_float(n, 2));
    tc_lv neg = tc_l_f(l, d, tc_arg_is_none(n, 3) ? -tc_dtype_max(own) : tc_arg_float(n, 3)), r;
    if (tc_arg_is_none(n, 2) && tc_arg_is_none(n, 3))
        r = tc_l_op2(l, TC_X_MIN, tc_l_op2(l, TC_X_MAX, x, neg), pos); /* the bounds change infinities only */
    else {
        r = tc_l_where(l, tc_l_op2(l, TC_X_EQ, x, tc_l_f(l, d, __builtin_inf())), pos, x);
        r = tc_l_where(l, tc_l_op2(l, TC_X_EQ, x, tc_l_f(l, d, -__builtin_inf())), neg, r);
    }
    return tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, x), nan, r);
}
static tc_status lower_nan_to_num(tc_lower *l) {
    tc_dtype own = tc_arg_meta(l->node, 0)->dtype, part = tc_dtype_real(own), d = tc_dtype_compute(part);
    tc_lv x = tc_l_in(l, 0);
    if (tc_is_integral(own)) return tc_l_out(l, 0, x);
    if (!tc_is_complex(own)) return tc_l_out(l, 0, to_num(l, x, own, d));
    tc_lv re = to_num(l, tc_l_op1(l, TC_X_REAL, x), part, d), im = to_num(l, tc_l_op1(l, TC_X_IMAG, x), part, d);
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_COMPLEX, re, im));
}
static tc_status lower_logit(tc_lower *l) {
    const tc_node *n = l->node;
    tc_dtype own = n->outs[0]->meta.dtype; /* each step is rounded to this type */
    tc_lv x = tc_l_in(l, 0), one = tc_l_f(l, tc_l_type(l, 0), 1);
    if (!tc_arg_is_none(n, 1)) {
        tc_lv lo = tc_l_in_rounded(l, 1, own), hi = tc_l_round(l, tc_l_sub(l, one, lo), own);
        x = tc_l_where(l, tc_l_op2(l, TC_X_LT, x, lo), lo, tc_l_where(l, tc_l_op2(l, TC_X_GT, x, hi), hi, x));
    }
    tc_lv odds = tc_l_round(l, tc_l_div(l, x, tc_l_round(l, tc_l_sub(l, one, x), own)), own);
    return tc_l_out(l, 0, tc_l_op1(l, TC_X_LOG, odds));
}
static tc_status lower_sinc(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = tc_l_in(l, 0), p = tc_l_mul(l, x, tc_l_f(l, d, 3.14159265358979323846));
    tc_lv zero = tc_l_op2(l, TC_X_EQ, x, tc_l_f(l, d, 0));
    return tc_l_out(l, 0, tc_l_where(l, zero, tc_l_f(l, d, 1), tc_l_div(l, tc_l_op1(l, TC_X_SIN, p), p)));
}
static tc_status lower_angle(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    if (tc_is_complex(own_compute(l))) {
        tc_lv z = tc_l_in_as(l, 0, TC_DTYPE_NONE);
        return tc_l_out(l, 0, tc_l_op2(l, TC_X_ATAN2, tc_l_op1(l, TC_X_IMAG, z), tc_l_op1(l, TC_X_REAL, z)));
    }
    tc_lv x = tc_l_in(l, 0), zero = tc_l_f(l, d, 0);
    tc_lv r = tc_l_where(l, tc_l_op2(l, TC_X_LT, x, zero), tc_l_f(l, d, 3.14159265358979323846), zero);
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, x), x, r));
}

/* ---- shapes with conditions of their own ---- */
static tc_status shape_neg(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    if (tc_sh_meta(c, 0)->dtype == TC_BOOL)
        return tc_sh_fail_as(c, "NotImplementedError",
                             "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                             "`logical_not()` operator instead.");
    return NULL;
}
static tc_status shape_no_bool(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    if (tc_sh_meta(c, 0)->dtype == TC_BOOL) return tc_sh_fail_as(c, "NotImplementedError", "not implemented for 'Bool'");
    return NULL;
}
static tc_status shape_floating(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_float(c, 0));
    return tc_shape_same(c);
}
static tc_status shape_frexp(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (!tc_is_float(tc_sh_meta(c, 0)->dtype)) return tc_sh_fail(c, "torch.frexp() only supports floating-point dtypes");
    TC_TRY(tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_sh_meta(c, 0)->dtype));
    return tc_sh_out_like(c, 1, tc_sh_meta(c, 0), TC_I32);
}
static tc_status shape_bits(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    if (!tc_is_integral(tc_sh_meta(c, 0)->dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "\"bitwise_not_cpu\" not implemented for '%s'", tc_dtypes[tc_sh_meta(c, 0)->dtype].torch);
    return NULL;
}
/* Functions that are not defined for complex numbers. */
static tc_status shape_ordered(tc_shape_ctx *c) {
    TC_TRY(shape_no_bool(c));
    const char *name = tc_op_schema(c->op)->name;
    if (tc_is_complex(tc_sh_meta(c, 0)->dtype)) return tc_sh_fail_as(c, "NotImplementedError", "%s is not supported for complex inputs", name);
    return NULL;
}
static tc_status shape_ordered_question(tc_shape_ctx *c) {
    TC_TRY(tc_shape_bool_unary(c));
    const char *name = tc_op_schema(c->op)->name;
    if (tc_is_complex(tc_sh_meta(c, 0)->dtype))
        return tc_sh_fail_as(c, strcmp(name, "signbit") ? "TypeError" : "NotImplementedError", "%s does not support complex inputs.", name);
    return NULL;
}
static tc_status shape_sign(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    if (tc_is_complex(tc_sh_meta(c, 0)->dtype))
        return tc_sh_fail_as(c, "NotImplementedError",
                             "Unlike NumPy, torch.sign doesn't allow complex tensors as input. Please use torch.sgn instead.");
    return NULL;
}
/* The result for complex numbers is real. */
static tc_status shape_abs(tc_shape_ctx *c) {
    TC_TRY(shape_no_bool(c));
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_dtype_real(tc_sh_meta(c, 0)->dtype));
}
static tc_status shape_angle(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_dtype_real(tc_to_float(tc_sh_meta(c, 0)->dtype)));
}
static tc_status shape_square(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype d = tc_sh_meta(c, 0)->dtype;
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), d == TC_BOOL ? TC_I64 : d);
}

/* ---- gradients: g is dL/dy ---- */
static tc_value *mul(tc_emit *e, tc_value *a, tc_value *b) { return tc_e_mul(e, a, b); }
static tc_value *dvd(tc_emit *e, tc_value *a, tc_value *b) { return tc_e_div(e, a, b); }
static tc_value *neg(tc_emit *e, tc_value *a) { return tc_e_neg(e, a); }
static tc_value *sq(tc_emit *e, tc_value *a) { return mul(e, a, a); }
static tc_value *one_minus(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::rsub.Scalar", "vi", a, (int64_t)1); }
static tc_value *plus(tc_emit *e, tc_value *a, double s) { return tc_e_adds(e, a, s); }
static tc_value *times(tc_emit *e, tc_value *a, double s) { return tc_e_muls(e, a, s); }

#define PLAIN(name, expr)                                                             \
    static tc_status grad_##name(tc_emit *e, const tc_node *n, tc_value *const *gs) { \
        tc_value *g = gs[0], *x = tc_arg_value(n, 0), *y = n->outs[0];                \
        (void)x, (void)y;                                                             \
        tc_e_give(e, n, 0, expr);                                                     \
        return tc_e_done(e);                                                          \
    }
/* A holomorphic function's gradient is g conj(f'(x)): the real formula with conj(g) for g, then conjugated. */
#define GRAD(name, expr)                                                              \
    static tc_status grad_##name(tc_emit *e, const tc_node *n, tc_value *const *gs) { \
        tc_value *g = tc_e_conj(e, gs[0]), *x = tc_arg_value(n, 0), *y = n->outs[0];  \
        (void)x, (void)y;                                                             \
        tc_e_give(e, n, 0, tc_e_conj(e, expr));                                       \
        return tc_e_done(e);                                                          \
    }
PLAIN(identity, g)
PLAIN(neg, neg(e, g))
PLAIN(abs, mul(e, g, tc_e1(e, "aten::sgn", x)))
PLAIN(zero, tc_e_zeros_like(e, g))
PLAIN(tanh, tc_e2(e, "aten::tanh_backward", g, y))
PLAIN(sigmoid, tc_e2(e, "aten::sigmoid_backward", g, y))
PLAIN(nan_to_num, mul(e, g, tc_e1(e, "aten::isfinite", x)))
GRAD(exp, mul(e, g, y))
GRAD(exp2, times(e, mul(e, g, y), 0.69314718055994530942))
GRAD(expm1, mul(e, g, plus(e, y, 1)))
GRAD(log, dvd(e, g, x))
GRAD(log2, dvd(e, g, times(e, x, 0.69314718055994530942)))
GRAD(log10, dvd(e, g, times(e, x, 2.30258509299404568402)))
GRAD(log1p, dvd(e, g, plus(e, x, 1)))
GRAD(sqrt, dvd(e, g, times(e, y, 2)))
GRAD(rsqrt, mul(e, times(e, g, -0.5), tc_emit_call(e, "aten::pow.Tensor_Scalar", "vi", y, (int64_t)3)))
GRAD(reciprocal, neg(e, mul(e, g, sq(e, y))))
GRAD(square, mul(e, g, times(e, x, 2)))
GRAD(sin, mul(e, g, tc_e1(e, "aten::cos", x)))
GRAD(cos, neg(e, mul(e, g, tc_e1(e, "aten::sin", x))))
GRAD(tan, mul(e, g, plus(e, sq(e, y), 1)))
GRAD(asin, mul(e, g, tc_e1(e, "aten::rsqrt", plus(e, neg(e, sq(e, x)), 1))))
GRAD(acos, neg(e, mul(e, g, tc_e1(e, "aten::rsqrt", plus(e, neg(e, sq(e, x)), 1)))))
GRAD(atan, dvd(e, g, plus(e, sq(e, x), 1)))
GRAD(sinh, mul(e, g, tc_e1(e, "aten::cosh", x)))
GRAD(cosh, mul(e, g, tc_e1(e, "aten::sinh", x)))
GRAD(asinh, mul(e, g, tc_e1(e, "aten::rsqrt", plus(e, sq(e, x), 1))))
/* sqrt(x - 1) sqrt(x + 1): the root of the product differs for reals below -1 */
static tc_value *acosh_slope(tc_emit *e, tc_value *x) {
    if (!tc_is_complex(x->meta.dtype)) return tc_e1(e, "aten::rsqrt", plus(e, sq(e, x), -1));
    return mul(e, tc_e1(e, "aten::rsqrt", plus(e, x, 1)), tc_e1(e, "aten::rsqrt", plus(e, x, -1)));
}
GRAD(acosh, mul(e, g, acosh_slope(e, x)))
GRAD(atanh, dvd(e, g, plus(e, neg(e, sq(e, x)), 1)))
GRAD(erf, mul(e, times(e, tc_e1(e, "aten::exp", neg(e, sq(e, x))), 1.12837916709551257390), g))
GRAD(erfc, mul(e, times(e, tc_e1(e, "aten::exp", neg(e, sq(e, x))), -1.12837916709551257390), g))
GRAD(erfinv, mul(e, times(e, tc_e1(e, "aten::exp", sq(e, y)), 0.88622692545275801365), g))
GRAD(lgamma, mul(e, g, tc_e1(e, "aten::digamma", x)))
GRAD(digamma, mul(e, g, tc_emit_call(e, "aten::polygamma", "iv", (int64_t)1, x)))
#undef GRAD
#undef PLAIN

static tc_value *real(tc_emit *e, tc_value *a) { return tc_e1(e, "aten::real", a); }
/* v, or 0 where x is 0 */
static tc_value *but_at_0(tc_emit *e, tc_value *x, tc_value *v) {
    return tc_e3(e, "aten::where.self", tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0), tc_e_zeros_like(e, v), v);
}
static tc_status grad_sgn(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* (g - re(g / y) y) / |x| */
    tc_value *x = tc_arg_value(n, 0), *y = n->outs[0], *g = gs[0];
    if (!tc_is_complex(x->meta.dtype)) return grad_zero(e, n, gs);
    tc_value *along = mul(e, real(e, dvd(e, g, y)), y);
    tc_e_give(e, n, 0, but_at_0(e, x, dvd(e, tc_e_sub(e, g, along), tc_e1(e, "aten::abs", x))));
    return tc_e_done(e);
}
static tc_status grad_angle(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* i g x / |x|^2 */
    tc_value *x = tc_arg_value(n, 0);
    if (!tc_is_complex(x->meta.dtype)) return grad_zero(e, n, gs);
    tc_scalar i = {.kind = TC_KIND_COMPLEX, .re = 0, .im = 1};
    tc_value *turned = dvd(e, mul(e, gs[0], x), sq(e, tc_e1(e, "aten::abs", x)));
    tc_e_give(e, n, 0, but_at_0(e, x, tc_emit_call(e, "aten::mul.Tensor", "vz", turned, i)));
    return tc_e_done(e);
}

static tc_status grad_logit(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0);
    const bool clamped = !tc_arg_is_none(n, 1);
    const double eps = clamped ? tc_arg_float(n, 1) : 0;
    tc_value *in =
        tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::ge.Scalar", "vf", x, eps), tc_emit_call(e, "aten::le.Scalar", "vf", x, 1 - eps));
    tc_value *d = mul(e, x, plus(e, neg(e, x), 1)), *g;
    if (clamped) {
        g = dvd(e, gs[0], d);
        g = tc_e3(e, "aten::where.self", in, g, tc_e_zeros_like(e, g));
    } else { /* no logit outside [0, 1] */
        g = dvd(e, gs[0], tc_emit_call(e, "aten::where.ScalarOther", "vvf", in, d, __builtin_nan("")));
    }
    tc_e_give(e, n, 0, g);
    return tc_e_done(e);
}
static tc_status grad_frexp(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* g / 2^exponent */
    if (gs[0]) tc_e_give(e, n, 0, tc_e_div(e, gs[0], tc_e_cast(e, tc_e1(e, "aten::exp2", n->outs[1]), n->outs[0]->meta.dtype)));
    return tc_e_done(e);
}
static tc_status grad_sinc(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const double pi = 3.14159265358979323846;
    tc_value *x = tc_arg_value(n, 0), *p = times(e, x, pi), *cg = tc_e_conj(e, gs[0]);
    tc_value *down = times(e, sq(e, x), pi); /* 0: so small that the slope is 0 */
    tc_value *d = dvd(e, tc_e_sub(e, mul(e, p, tc_e1(e, "aten::cos", p)), tc_e1(e, "aten::sin", p)), down);
    if (e->graph->program->forward_mode) d = tc_e_unless_zero(e, down, d);
    tc_e_give(e, n, 0, tc_e_conj(e, tc_e_unless_zero(e, down, mul(e, cg, d))));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status shape_of_slopes(tc_shape_ctx *c) {
    TC_TRY(tc_shape_like_arg1(c));
    if (tc_is_integral(tc_sh_meta(c, 0)->dtype) && tc_is_integral(tc_sh_meta(c, 1)->dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "not implemented for '%s'", tc_dtypes[tc_sh_meta(c, 1)->dtype].torch);
    return NULL;
}
static tc_status decompose_deg2rad(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::mul.Tensor", "vz", tc_arg_value(n, 0), tc_scalar_float(0.017453292519943295769)));
    return tc_e_done(e);
}
static tc_status decompose_rad2deg(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::mul.Tensor", "vz", tc_arg_value(n, 0), tc_scalar_float(57.295779513082320877)));
    return tc_e_done(e);
}
static tc_status decompose_sigmoid_backward(tc_emit *e, const tc_node *n) { /* g (1 - y) y */
    tc_value *g = tc_arg_value(n, 0), *y = tc_e_conj(e, tc_e_cast(e, tc_arg_value(n, 1), n->outs[0]->meta.dtype));
    tc_emit_result(e, 0, mul(e, mul(e, g, one_minus(e, y)), y));
    return tc_e_done(e);
}
static tc_status decompose_tanh_backward(tc_emit *e, const tc_node *n) { /* g (1 - y^2) */
    tc_value *g = tc_arg_value(n, 0), *y = tc_e_conj(e, tc_e_cast(e, tc_arg_value(n, 1), n->outs[0]->meta.dtype));
    tc_emit_result(e, 0, mul(e, g, one_minus(e, sq(e, y))));
    return tc_e_done(e);
}

/* Aliases of the same functions. */
static const struct {
    const char *name, *is;
} aliases[] = {{"absolute", "abs"},
               {"arccos", "acos"},
               {"arcsin", "asin"},
               {"arctan", "atan"},
               {"arccosh", "acosh"},
               {"arcsinh", "asinh"},
               {"arctanh", "atanh"},
               {"fix", "trunc"},
               {"negative", "neg"},
               {"special_expit", "sigmoid"},
               {"special_expm1", "expm1"},
               {"special_exp2", "exp2"},
               {"special_log1p", "log1p"},
               {"special_erf", "erf"},
               {"special_erfc", "erfc"},
               {"special_erfinv", "erfinv"},
               {"special_gammaln", "lgamma"},
               {"special_psi", "digamma"},
               {"special_digamma", "digamma"},
               {"special_round", "round.decimals"},
               {"special_logit", "logit"},
               {"special_sinc", "sinc"}};

static tc_status decompose_alias(tc_emit *e, const tc_node *n) {
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(tc_op_schema(n->op)->name, aliases[i].name)) continue;
        char name[64];
        snprintf(name, sizeof name, "aten::%s", aliases[i].is);
        return tc_e_forward(e, name, n);
    }
    TC_BUG("%s is no alias", tc_op_name(n->op));
}

#define REAL(name, text, sample)                                                                                                       \
    {                                                                                                                                  \
        .schema = "aten::" #name "(Tensor self) -> Tensor", .shape = tc_shape_float_unary, .lower = lower_##name, .grad = grad_##name, \
        .samples = sample, .doc = text                                                                                                 \
    }
#define ALIAS(name) \
    { .schema = "aten::" #name "(Tensor self) -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_alias, .doc = "another name" }
static tc_status decompose_positive(tc_emit *e, const tc_node *n) {
    if (tc_arg_meta(n, 0)->dtype == TC_BOOL) return tc_e_refuse(n, "NotImplementedError: The `+` operator, on a bool tensor is not supported.");
    tc_emit_result(e, 0, tc_e1(e, "aten::alias", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
const tc_op tc_ops_pointwise_unary[] = {{.schema = "aten::neg(Tensor self) -> Tensor",
                                         .shape = shape_neg,
                                         .lower = lower_neg,
                                         .grad = grad_neg,
                                         .samples = "neg(f32[3,5]); neg(i64[4]); neg(c64[4])",
                                         .doc = "-x"},
                                        {.schema = "aten::abs(Tensor self) -> Tensor",
                                         .shape = shape_abs,
                                         .lower = lower_abs,
                                         .grad = grad_abs,
                                         .samples = "abs(f32[3,5]); abs(i32[4]); abs(c64[4])",
                                         .doc = "|x|"},
                                        {.schema = "aten::sign(Tensor self) -> Tensor",
                                         .shape = shape_sign,
                                         .lower = lower_sign,
                                         .grad = grad_zero,
                                         .samples = "sign(f32[3,5])",
                                         .doc = "-1, 0 or 1"},
                                        {.schema = "aten::sgn(Tensor self) -> Tensor",
                                         .shape = tc_shape_same,
                                         .lower = lower_sign,
                                         .grad = grad_sgn,
                                         .keeps = " self result ",
                                         .samples = "sgn(f32[3,5]); sgn(c64[3])",
                                         .doc = "-1, 0 or 1; x / |x|"},
                                        {.schema = "aten::positive(Tensor(a) self) -> Tensor(a)",
                                         .shape = tc_shape_decomposed,
                                         .decompose = decompose_positive,
                                         .samples = "positive(f32[3])",
                                         .doc = "x"},
                                        REAL(exp, "e^x", "exp(f32[3,5]); exp(f64[7]); exp(c64[5])"),
                                        REAL(exp2, "2^x", "exp2(f32[3,5]); exp2(c64[5])"),
                                        REAL(expm1, "e^x - 1", "expm1(f32[3,5]); expm1(c64[5])"),
                                        REAL(log, "natural logarithm", "log(f32[3,5]:0.1..9); log(c64[5])"),
                                        REAL(log2, "logarithm to base 2", "log2(f32[3,5]:0.1..9); log2(c64[5])"),
                                        REAL(log10, "logarithm to base 10", "log10(f32[3,5]:0.1..9); log10(c64[5])"),
                                        REAL(log1p, "log(1 + x)", "log1p(f32[3,5]:0..9); log1p(c64[5])"),
                                        REAL(sqrt, "square root", "sqrt(f32[3,5]:0.1..9); sqrt(c64[5])"),
                                        REAL(rsqrt, "1 / sqrt(x)", "rsqrt(f32[3,5]:0.1..9); rsqrt(c64[5])"),
                                        REAL(reciprocal, "1 / x", "reciprocal(f32[3,5]:0.5..2); reciprocal(c64[5])"),
                                        REAL(sin, "sine", "sin(f32[3,5]); sin(c64[5])"),
                                        REAL(cos, "cosine", "cos(f32[3,5]); cos(c64[5])"),
                                        REAL(tan, "tangent", "tan(f32[3,5]:-1..1); tan(c64[5])"),
                                        REAL(asin, "arc sine", "asin(f32[3,5]:-0.9..0.9); asin(c64[5])"),
                                        REAL(acos, "arc cosine", "acos(f32[3,5]:-0.9..0.9); acos(c64[5])"),
                                        REAL(atan, "arc tangent", "atan(f32[3,5]); atan(c64[5])"),
                                        REAL(sinh, "hyperbolic sine", "sinh(f32[3,5]); sinh(c64[5])"),
                                        REAL(cosh, "hyperbolic cosine", "cosh(f32[3,5]); cosh(c64[5])"),
                                        REAL(tanh, "hyperbolic tangent", "tanh(f32[3,5]); tanh(c64[5])"),
                                        REAL(asinh, "inverse hyperbolic sine", "asinh(f32[3,5]); asinh(c64[5])"),
                                        REAL(acosh, "inverse hyperbolic cosine", "acosh(f32[3,5]:1.1..4); acosh(c64[5])"),
                                        REAL(atanh, "inverse hyperbolic tangent", "atanh(f32[3,5]:-0.9..0.9); atanh(c64[5])"),
                                        REAL(sigmoid, "1 / (1 + exp(-x))", "sigmoid(f32[3,5]); sigmoid(c64[5])"),
                                        REAL(erf, "error function", "erf(f32[3,5])"),
                                        REAL(erfc, "1 - erf(x)", "erfc(f32[3,5])"),
                                        {.schema = "aten::erfinv(Tensor self) -> Tensor",
                                         .shape = tc_shape_float_unary,
                                         .lower = lower_erfinv,
                                         .keeps = " self ",
                                         .grad = grad_erfinv,
                                         .samples = "erfinv(f32[3,5]:-0.9..0.9)",
                                         .doc = "inverse of erf"},
                                        REAL(lgamma, "log |gamma(x)|", "lgamma(f32[3,5]:0.5..9)"),
                                        REAL(digamma, "derivative of lgamma", "digamma(f32[3,5]:0.5..9)"),
                                        REAL(sinc, "sin(pi x) / (pi x), 1 at 0", "sinc(f32[3,5]); sinc(c64[5])"),
                                        {.schema = "aten::square(Tensor self) -> Tensor",
                                         .shape = shape_square,
                                         .lower = lower_square,
                                         .grad = grad_square,
                                         .samples = "square(f32[3,5]); square(c64[3])",
                                         .doc = "x x"},
                                        {.schema = "aten::floor(Tensor self) -> Tensor",
                                         .shape = shape_ordered,
                                         .lower = lower_floor,
                                         .grad = grad_zero,
                                         .samples = "floor(f32[3,5])",
                                         .doc = "largest integer <= x"},
                                        {.schema = "aten::ceil(Tensor self) -> Tensor",
                                         .shape = shape_ordered,
                                         .lower = lower_ceil,
                                         .grad = grad_zero,
                                         .samples = "ceil(f32[3,5])",
                                         .doc = "least integer >= x"},
                                        {.schema = "aten::trunc(Tensor self) -> Tensor",
                                         .shape = shape_ordered,
                                         .lower = lower_trunc,
                                         .grad = grad_zero,
                                         .samples = "trunc(f32[3,5])",
                                         .doc = "towards 0"},
                                        {.schema = "aten::round(Tensor self) -> Tensor",
                                         .shape = shape_ordered,
                                         .lower = lower_round,
                                         .grad = grad_zero,
                                         .samples = "round(f32[3,5])",
                                         .doc = "to nearest, ties to even"},
                                        {.schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
                                         .shape = shape_ordered,
                                         .lower = lower_round_decimals,
                                         .grad = grad_zero,
                                         .samples = "round(f32[3,5], decimals=2)",
                                         .doc = "to that many decimals"},
                                        {.schema = "aten::frac(Tensor self) -> Tensor",
                                         .shape = shape_floating,
                                         .lower = lower_frac,
                                         .grad = grad_identity,
                                         .samples = "frac(f32[3,5])",
                                         .doc = "x - trunc(x)"},
                                        {.schema = "aten::bitwise_not(Tensor self) -> Tensor",
                                         .shape = shape_bits,
                                         .lower = lower_bitwise_not,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "bitwise_not(i64[5]); bitwise_not(bool[3])",
                                         .doc = "~x"},
                                        {.schema = "aten::logical_not(Tensor self) -> Tensor",
                                         .shape = tc_shape_bool_unary,
                                         .lower = lower_logical_not,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "logical_not(f32[5]); logical_not(c64[3])",
                                         .doc = "x == 0"},
                                        {.schema = "aten::isnan(Tensor self) -> Tensor",
                                         .shape = tc_shape_bool_unary,
                                         .lower = lower_isnan,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "isnan(f32[5]); isnan(c64[3])",
                                         .doc = "x != x"},
                                        {.schema = "aten::isinf(Tensor self) -> Tensor",
                                         .shape = tc_shape_bool_unary,
                                         .lower = lower_isinf,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "isinf(f32[5]); isinf(c64[3])",
                                         .doc = "|x| == inf"},
                                        {.schema = "aten::isfinite(Tensor self) -> Tensor",
                                         .shape = tc_shape_bool_unary,
                                         .lower = lower_isfinite,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "isfinite(f32[5]); isfinite(c64[3])",
                                         .doc = "neither infinite nor NaN"},
                                        {.schema = "aten::isposinf(Tensor self) -> Tensor",
                                         .shape = shape_ordered_question,
                                         .lower = lower_isposinf,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "isposinf(f32[5])",
                                         .doc = "x == inf"},
                                        {.schema = "aten::isneginf(Tensor self) -> Tensor",
                                         .shape = shape_ordered_question,
                                         .lower = lower_isneginf,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "isneginf(f32[5])",
                                         .doc = "x == -inf"},
                                        {.schema = "aten::signbit(Tensor self) -> Tensor",
                                         .shape = shape_ordered_question,
                                         .lower = lower_signbit,
                                         .flags = TC_OP_NONDIFF,
                                         .samples = "signbit(f32[5]); signbit(i64[3])",
                                         .doc = "the sign bit is set"},
                                        {.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
                                         .shape = tc_shape_same,
                                         .lower = lower_nan_to_num,
                                         .grad = grad_nan_to_num,
                                         .samples = "nan_to_num(f32[5]); nan_to_num(c64[3]); nan_to_num(f32[5], 1.0, 2.0)",
                                         .doc = "NaN and infinities replaced by numbers"},
                                        {.schema = "aten::logit(Tensor self, float? eps=None) -> Tensor",
                                         .shape = tc_shape_float_unary,
                                         .lower = lower_logit,
                                         .grad = grad_logit,
                                         .samples = "logit(f32[5]:0.1..0.9); logit(f32[5]:0.1..0.9, 0.2)",
                                         .doc = "log(x / (1 - x)), x clamped to [eps, 1 - eps]"},
                                        {.schema = "aten::angle(Tensor self) -> Tensor",
                                         .shape = shape_angle,
                                         .lower = lower_angle,
                                         .keeps = " self ",
                                         .grad = grad_angle,
                                         .samples = "angle(f32[5]); angle(c64[5])",
                                         .doc = "atan2(im x, re x)"},
                                        {.schema = "aten::deg2rad(Tensor self) -> Tensor",
                                         .shape = tc_shape_float_unary,
                                         .decompose = decompose_deg2rad,
                                         .samples = "deg2rad(f32[5])",
                                         .doc = "x pi / 180"},
                                        {.schema = "aten::rad2deg(Tensor self) -> Tensor",
                                         .shape = tc_shape_float_unary,
                                         .decompose = decompose_rad2deg,
                                         .samples = "rad2deg(f32[5])",
                                         .doc = "x 180 / pi"},
                                        {.schema = "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
                                         .shape = shape_of_slopes,
                                         .decompose = decompose_sigmoid_backward,
                                         .samples = "sigmoid_backward(f32[5], f32[5])",
                                         .doc = "g (1 - y) y"},
                                        {.schema = "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
                                         .shape = shape_of_slopes,
                                         .decompose = decompose_tanh_backward,
                                         .samples = "tanh_backward(f32[5], f32[5])",
                                         .doc = "g (1 - y^2)"},
                                        {.schema = "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
                                         .shape = shape_frexp,
                                         .lower = lower_frexp,
                                         .grad = grad_frexp,
                                         .samples = "frexp(f32[5]); frexp(f64[3,4])",
                                         .doc = "m and e: x = m 2^e, 1/2 <= |m| < 1"},
                                        ALIAS(absolute),
                                        ALIAS(arccos),
                                        ALIAS(arcsin),
                                        ALIAS(arctan),
                                        ALIAS(arccosh),
                                        ALIAS(arcsinh),
                                        ALIAS(arctanh),
                                        ALIAS(fix),
                                        ALIAS(negative),
                                        ALIAS(special_expit),
                                        ALIAS(special_expm1),
                                        ALIAS(special_exp2),
                                        ALIAS(special_log1p),
                                        ALIAS(special_erf),
                                        ALIAS(special_erfc),
                                        ALIAS(special_erfinv),
                                        ALIAS(special_gammaln),
                                        ALIAS(special_psi),
                                        ALIAS(special_digamma),
                                        ALIAS(special_sinc),
                                        {.schema = "aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
                                         .shape = tc_shape_decomposed,
                                         .decompose = decompose_alias,
                                         .doc = "another name"},
                                        {.schema = "aten::special_logit(Tensor self, float? eps=None) -> Tensor",
                                         .shape = tc_shape_decomposed,
                                         .decompose = decompose_alias,
                                         .doc = "another name"},
                                        {0}};
