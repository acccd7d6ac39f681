/* Special functions: Bessel and Airy functions, polygamma, zeta, incomplete gamma, the normal distribution's, orthogonal polynomials.
 * Each is a scalar operation of kernel/scalar.def; derivatives are those that PyTorch has. */
#include "op/lower.h"
#include "op/shape.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    tc_scalar_op op;
} functions[] = {{"special_i0", TC_X_I0},
                 {"i0", TC_X_I0},
                 {"special_i0e", TC_X_I0E},
                 {"special_i1", TC_X_I1},
                 {"special_i1e", TC_X_I1E},
                 {"special_modified_bessel_i0", TC_X_I0},
                 {"special_modified_bessel_i1", TC_X_I1},
                 {"special_modified_bessel_k0", TC_X_K0},
                 {"special_modified_bessel_k1", TC_X_K1},
                 {"special_scaled_modified_bessel_k0", TC_X_K0E},
                 {"special_scaled_modified_bessel_k1", TC_X_K1E},
                 {"special_bessel_j0", TC_X_J0},
                 {"special_bessel_j1", TC_X_J1},
                 {"special_bessel_y0", TC_X_Y0},
                 {"special_bessel_y1", TC_X_Y1},
                 {"special_airy_ai", TC_X_AIRY_AI},
                 {"special_spherical_bessel_j0", TC_X_SPHERICAL_J0},
                 {"special_erfcx", TC_X_ERFCX},
                 {"special_ndtri", TC_X_NDTRI},
                 {"special_log_ndtr", TC_X_LOG_NDTR},
                 {"special_zeta", TC_X_ZETA},
                 {"igamma", TC_X_IGAMMA},
                 {"igammac", TC_X_IGAMMAC},
                 {"special_gammainc", TC_X_IGAMMA},
                 {"special_gammaincc", TC_X_IGAMMAC},
                 {"special_chebyshev_polynomial_t", TC_X_CHEBYSHEV_T},
                 {"special_chebyshev_polynomial_u", TC_X_CHEBYSHEV_U},
                 {"special_chebyshev_polynomial_v", TC_X_CHEBYSHEV_V},
                 {"special_chebyshev_polynomial_w", TC_X_CHEBYSHEV_W},
                 {"special_shifted_chebyshev_polynomial_t", TC_X_CHEBYSHEV_T},
                 {"special_shifted_chebyshev_polynomial_u", TC_X_CHEBYSHEV_U},
                 {"special_shifted_chebyshev_polynomial_v", TC_X_CHEBYSHEV_V},
                 {"special_shifted_chebyshev_polynomial_w", TC_X_CHEBYSHEV_W},
                 {"special_hermite_polynomial_h", TC_X_HERMITE_H},
                 {"special_hermite_polynomial_he", TC_X_HERMITE_HE},
                 {"special_laguerre_polynomial_l", TC_X_LAGUERRE_L},
                 {"special_legendre_polynomial_p", TC_X_LEGENDRE_P}};

static tc_scalar_op function_of(const tc_node *n) {
    const char *name = tc_op_schema(n->op)->name;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return functions[i].op;
    TC_BUG("%s is no special function", name);
}

/* ---- lowering ---- */
static tc_status lower_unary(tc_lower *l) { return tc_l_out(l, 0, tc_l_op1(l, function_of(l->node), tc_l_in(l, 0))); }
static tc_status lower_binary(tc_lower *l) { return tc_l_out(l, 0, tc_l_op2(l, function_of(l->node), tc_l_in(l, 0), tc_l_in(l, 1))); }
static tc_status lower_shifted(tc_lower *l) { /* at 2 x - 1 */
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_l_op2(l, function_of(l->node), tc_l_sub(l, tc_l_add(l, x, x), tc_l_f(l, tc_l_type(l, 0), 1)), tc_l_in(l, 1)));
}
static tc_status shape_polygamma(tc_shape_ctx *c) { /* n, self */
    TC_TRY(tc_sh_need_tensor(c, 1));
    if (tc_sh_const(c, 0) < 0) return tc_sh_fail(c, "polygamma(n, x) does not support negative n.");
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 1), tc_to_float(tc_sh_meta(c, 1)->dtype));
}
static tc_status lower_polygamma(tc_lower *l) { /* (-1)^(n + 1) n! zeta(n + 1, x) */
    int64_t n = tc_arg_int(l->node, 0);
    tc_lv x = tc_l_in(l, 1);
    if (n == 0) return tc_l_out(l, 0, tc_l_op1(l, TC_X_DIGAMMA, x));
    if (n == 1) return tc_l_out(l, 0, tc_l_op1(l, TC_X_TRIGAMMA, x));
    double f = tgamma((double)n + 1);
    tc_dtype d = tc_l_type(l, 0);
    return tc_l_out(l, 0, tc_l_mul(l, tc_l_f(l, d, n % 2 ? f : -f), tc_l_op2(l, TC_X_ZETA, tc_l_f(l, d, (double)n + 1), x)));
}

/* ---- gradients ---- */
static tc_value *mul(tc_emit *e, tc_value *a, tc_value *b) { return tc_e_mul(e, a, b); }
#define GRAD(name, arg, expr)                                                         \
    static tc_status grad_##name(tc_emit *e, const tc_node *n, tc_value *const *gs) { \
        tc_value *g = gs[0], *x = tc_arg_value(n, arg), *y = n->outs[0];              \
        (void)x, (void)y;                                                             \
        tc_e_give(e, n, arg, expr);                                                   \
        return tc_e_done(e);                                                          \
    }
GRAD(i0, 0, mul(e, g, tc_e1(e, "aten::special_i1", x)))
GRAD(i0e, 0, mul(e, g, tc_e_sub(e, tc_e1(e, "aten::special_i1e", x), mul(e, tc_e1(e, "aten::sgn", x), y))))
GRAD(ndtri, 0, mul(e, g, tc_e_muls(e, tc_e1(e, "aten::exp", tc_e_muls(e, mul(e, y, y), 0.5)), 2.50662827463100050242)))
GRAD(erfcx, 0, mul(e, g, tc_e_adds(e, tc_e_muls(e, mul(e, x, y), 2), -1.12837916709551257390)))
GRAD(log_ndtr, 0,
     mul(e, tc_e_muls(e, g, 0.79788456080286535588),
         tc_e1(e, "aten::reciprocal", tc_e1(e, "aten::special_erfcx", tc_e_muls(e, x, -0.70710678118654752440)))))
GRAD(entr, 0, mul(e, g, tc_e_neg(e, tc_e_adds(e, tc_e1(e, "aten::log", x), 1))))
GRAD(polygamma, 1, mul(e, g, tc_emit_call(e, "aten::polygamma", "iv", tc_arg_int(n, 0) + 1, x)))
/* x = 0 takes the limit: i1'(0) = 1/2 */
static tc_value *bessel_ratio(tc_emit *e, tc_value *x, tc_value *y, tc_value *whole, double limit) {
    tc_value *zero = tc_emit_call(e, "aten::eq.Scalar", "vf", x, 0.0), *one = tc_e_adds(e, tc_e_zeros_like(e, x), 1);
    tc_value *safe = tc_e3(e, "aten::where.self", zero, one, x);
    return tc_e3(e, "aten::where.self", zero, tc_e_muls(e, one, limit), tc_e_sub(e, whole, tc_e_div(e, y, safe)));
}
GRAD(i1, 0, mul(e, g, bessel_ratio(e, x, y, tc_e1(e, "aten::special_i0", x), 0.5)))
GRAD(j0, 0, tc_e_neg(e, mul(e, g, tc_e1(e, "aten::special_bessel_j1", x))))
GRAD(j1, 0, mul(e, g, bessel_ratio(e, x, y, tc_e1(e, "aten::special_bessel_j0", x), 0.5)))
GRAD(y0, 0, tc_e_neg(e, mul(e, g, tc_e1(e, "aten::special_bessel_y1", x))))
GRAD(y1, 0, mul(e, g, bessel_ratio(e, x, y, tc_e1(e, "aten::special_bessel_y0", x), INFINITY)))
GRAD(k0, 0, tc_e_neg(e, mul(e, g, tc_e1(e, "aten::special_modified_bessel_k1", x))))
GRAD(k1, 0, tc_e_neg(e, mul(e, g, tc_e_add(e, tc_e1(e, "aten::special_modified_bessel_k0", x), mul(e, y, tc_e1(e, "aten::reciprocal", x))))))
GRAD(i1e, 0, mul(e, g, bessel_ratio(e, x, y, tc_e_sub(e, tc_e1(e, "aten::special_i0e", x), mul(e, tc_e1(e, "aten::sgn", x), y)), 0.5)))
/* by the second argument only, as in PyTorch: -s zeta(s + 1, q) */
static tc_status grad_zeta(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) return tc_error(TC_UNSUPPORTED, "%s: the derivative by the first argument is not supported", tc_op_name(n->op));
    tc_value *q = tc_arg_value(n, 1), *s = tc_arg_value(n, 0);
    if (!s) s = tc_emit_call(e, "aten::full_like", "va", q, tc_e_arg(n, 0));
    tc_e_give(e, n, 1, mul(e, gs[0], mul(e, tc_e_neg(e, s), tc_e2(e, "aten::special_zeta", tc_e_adds(e, s, 1), q))));
    return tc_e_done(e);
}
/* d/dx igamma(a, x) = exp(-x + (a - 1) log x - lgamma(a)) */
static tc_status igamma_grad(tc_emit *e, const tc_node *n, tc_value *g) {
    tc_value *a = tc_arg_value(n, 0), *x = tc_arg_value(n, 1);
    if (tc_emit_wants_grad(e, n, 0)) return tc_error(TC_UNSUPPORTED, "%s: the derivative by the first argument is not supported", tc_op_name(n->op));
    tc_value *w = tc_e_sub(e, tc_e_sub(e, mul(e, tc_e_adds(e, a, -1), tc_e1(e, "aten::log", x)), x), tc_e1(e, "aten::lgamma", a));
    tc_e_give(e, n, 1, mul(e, g, tc_e1(e, "aten::exp", w)));
    return tc_e_done(e);
}
static tc_status grad_igamma(tc_emit *e, const tc_node *n, tc_value *const *gs) { return igamma_grad(e, n, gs[0]); }
static tc_status grad_igammac(tc_emit *e, const tc_node *n, tc_value *const *gs) { return igamma_grad(e, n, tc_e_neg(e, gs[0])); }

/* ---- compositions ---- */
static tc_status decompose_ndtr(tc_emit *e, const tc_node *n) { /* erfc(-x / sqrt 2) / 2 */
    tc_value *x = tc_arg_value(n, 0);
    if (x && tc_is_integral(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    tc_emit_result(e, 0, tc_e_muls(e, tc_e1(e, "aten::erfc", tc_e_muls(e, x, -0.70710678118654752440)), 0.5));
    return tc_e_done(e);
}
static tc_status decompose_entr(tc_emit *e, const tc_node *n) { /* -x log x for x > 0, 0 at 0, -inf below */
    tc_value *x = tc_arg_value(n, 0);
    if (x && tc_is_integral(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    tc_value *below = tc_emit_call(e, "aten::lt.Scalar", "vf", x, 0.0), *inf = tc_e_adds(e, tc_e_zeros_like(e, x), -INFINITY);
    tc_emit_result(e, 0, tc_e3(e, "aten::where.self", below, inf, tc_e2(e, "aten::xlogy.Tensor", tc_e_neg(e, x), x)));
    return tc_e_done(e);
}
static tc_status decompose_mvlgamma(tc_emit *e, const tc_node *n) { /* sum of lgamma(x - j / 2) for j < p, and p (p - 1) / 4 log pi */
    tc_value *x = tc_arg_value(n, 0), *sum = NULL;
    int64_t p = tc_arg_int(n, 1);
    if (p < 1 || p > 1000) return tc_e_refuse(n, "p has to be greater than or equal to 1");
    if (x && tc_is_integral(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    tc_dtype d = x ? x->meta.dtype : TC_F32; /* 16 bits: rounded before and after lgamma, and once after the sum */
    for (int64_t j = 0; j < p; j++) {
        tc_value *t = tc_e_cast(e, tc_e1(e, "aten::lgamma", tc_e_adds(e, x, -0.5 * (double)j)), tc_dtype_compute(d));
        sum = sum ? tc_e_add(e, sum, t) : t;
    }
    tc_emit_result(e, 0, tc_e_adds(e, tc_e_cast(e, sum, d), (double)(p * (p - 1)) * 0.28618247146235004353));
    return tc_e_done(e);
}
static tc_status decompose_special_polygamma(tc_emit *e, const tc_node *n) { return tc_e_forward(e, "aten::polygamma", n); }

#define F1(name, arg, grad_, sample, text)                                                                                        \
    {                                                                                                                             \
        .schema = "aten::" name "(Tensor " arg ") -> Tensor", .shape = tc_shape_float_unary, .lower = lower_unary, .grad = grad_, \
        .samples = name "(" sample ")", .doc = text                                                                               \
    }
#define PLAIN(name, arg, text)                                                                                                             \
    {                                                                                                                                      \
        .schema = "aten::" name "(Tensor " arg ") -> Tensor", .flags = TC_OP_NONDIFF, .shape = tc_shape_float_unary, .lower = lower_unary, \
        .samples = name "(f32[3,5]:0.1..9)", .doc = text                                                                                   \
    }
#define POLYNOMIAL(name, lower_, text)                                                                                                     \
    {.schema = "aten::special_" name "(Tensor x, Tensor n) -> Tensor",                                                                     \
     .flags = TC_OP_NONDIFF,                                                                                                               \
     .shape = tc_shape_binary_float,                                                                                                       \
     .lower = lower_,                                                                                                                      \
     .samples = "special_" name "(f32[4,5], i64[5]:0..6)",                                                                                 \
     .doc = text},                                                                                                                         \
        {.schema = "aten::special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor",                                                        \
         .flags = TC_OP_NONDIFF,                                                                                                           \
         .shape = tc_shape_binary_float,                                                                                                   \
         .lower = lower_,                                                                                                                  \
         .doc = text},                                                                                                                     \
    {                                                                                                                                      \
        .schema = "aten::special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor", .flags = TC_OP_NONDIFF, .shape = tc_shape_binary_float, \
        .lower = lower_, .doc = text                                                                                                       \
    }
const tc_op tc_ops_special[] = {
    F1("i0", "self", grad_i0, "f32[3,5]", "modified Bessel function of the first kind, order 0"),
    F1("special_i0", "self", grad_i0, "f32[3,5]", "modified Bessel function of the first kind, order 0"),
    F1("special_i0e", "self", grad_i0e, "f32[3,5]", "exp(-|x|) i0(x)"),
    F1("special_i1", "self", grad_i1, "f32[3,5]", "modified Bessel function of the first kind, order 1"),
    F1("special_i1e", "self", grad_i1e, "f32[3,5]", "exp(-|x|) i1(x)"),
    F1("special_ndtri", "self", grad_ndtri, "f32[3,5]:0.1..0.9", "where the normal distribution function takes the value"),
    F1("special_erfcx", "self", grad_erfcx, "f32[3,5]", "exp(x^2) erfc(x)"),
    F1("special_log_ndtr", "self", grad_log_ndtr, "f32[3,5]", "log of the normal distribution function"),
    F1("special_modified_bessel_i0", "self", grad_i0, "f32[3,5]:0.1..9", "modified Bessel function of the first kind, order 0"),
    F1("special_modified_bessel_i1", "self", grad_i1, "f32[3,5]:0.1..9", "modified Bessel function of the first kind, order 1"),
    F1("special_modified_bessel_k0", "self", grad_k0, "f32[3,5]:0.1..9", "modified Bessel function of the second kind, order 0"),
    F1("special_modified_bessel_k1", "self", grad_k1, "f32[3,5]:0.1..9", "modified Bessel function of the second kind, order 1"),
    PLAIN("special_scaled_modified_bessel_k0", "x", "exp(x) k0(x)"),
    PLAIN("special_scaled_modified_bessel_k1", "x", "exp(x) k1(x)"),
    F1("special_bessel_j0", "self", grad_j0, "f32[3,5]:0.1..9", "Bessel function of the first kind, order 0"),
    F1("special_bessel_j1", "self", grad_j1, "f32[3,5]:0.1..9", "Bessel function of the first kind, order 1"),
    F1("special_bessel_y0", "self", grad_y0, "f32[3,5]:0.1..9", "Bessel function of the second kind, order 0"),
    F1("special_bessel_y1", "self", grad_y1, "f32[3,5]:0.1..9", "Bessel function of the second kind, order 1"),
    PLAIN("special_airy_ai", "x", "Airy function"),
    PLAIN("special_spherical_bessel_j0", "x", "sin(x) / x"),
    {.schema = "aten::polygamma(int n, Tensor self) -> Tensor",
     .shape = shape_polygamma,
     .lower = lower_polygamma,
     .grad = grad_polygamma,
     .samples = "polygamma(2, f32[3,5]:0.5..9)",
     .doc = "derivative n + 1 of lgamma"},
    {.schema = "aten::special_polygamma(int n, Tensor self) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_special_polygamma,
     .doc = "another name"},
    {.schema = "aten::special_zeta(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_zeta,
     .samples = "special_zeta(f32[4]:1.5..5, f32[4]:0.5..5)",
     .doc = "Hurwitz zeta function: sum of (other + k)^-self"},
    {.schema = "aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_zeta,
     .doc = "Hurwitz zeta function"},
    {.schema = "aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_zeta,
     .doc = "Hurwitz zeta function"},
    {.schema = "aten::igamma(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_igamma,
     .doc = "regularised lower incomplete gamma function"},
    {.schema = "aten::igammac(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_igammac,
     .doc = "regularised upper incomplete gamma function"},
    {.schema = "aten::special_gammainc(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_igamma,
     .doc = "another name of igamma"},
    {.schema = "aten::special_gammaincc(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_binary_float,
     .lower = lower_binary,
     .grad = grad_igammac,
     .doc = "another name of igammac"},
    {.schema = "aten::special_ndtr(Tensor self) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_ndtr,
     .samples = "special_ndtr(f32[3,5])",
     .doc = "normal distribution function"},
    {.schema = "aten::special_entr(Tensor self) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_entr,
     .grad = grad_entr,
     .samples = "special_entr(f32[3,5]:0.1..2)",
     .doc = "-x log x"},
    {.schema = "aten::mvlgamma(Tensor self, int p) -> Tensor",
     .shape = tc_shape_decomposed_rows,
     .decompose = decompose_mvlgamma,
     .samples = "mvlgamma(f32[3]:3..9, 2)",
     .doc = "multivariate log gamma function"},
    {.schema = "aten::special_multigammaln(Tensor self, int p) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_mvlgamma,
     .doc = "another name of mvlgamma"},
    POLYNOMIAL("chebyshev_polynomial_t", lower_binary, "Chebyshev polynomial of the first kind"),
    POLYNOMIAL("chebyshev_polynomial_u", lower_binary, "Chebyshev polynomial of the second kind"),
    POLYNOMIAL("chebyshev_polynomial_v", lower_binary, "Chebyshev polynomial of the third kind"),
    POLYNOMIAL("chebyshev_polynomial_w", lower_binary, "Chebyshev polynomial of the fourth kind"),
    POLYNOMIAL("shifted_chebyshev_polynomial_t", lower_shifted, "Chebyshev polynomial at 2 x - 1"),
    POLYNOMIAL("shifted_chebyshev_polynomial_u", lower_shifted, "Chebyshev polynomial at 2 x - 1"),
    POLYNOMIAL("shifted_chebyshev_polynomial_v", lower_shifted, "Chebyshev polynomial at 2 x - 1"),
    POLYNOMIAL("shifted_chebyshev_polynomial_w", lower_shifted, "Chebyshev polynomial at 2 x - 1"),
    POLYNOMIAL("hermite_polynomial_h", lower_binary, "Hermite polynomial, physicist's"),
    POLYNOMIAL("hermite_polynomial_he", lower_binary, "Hermite polynomial, probabilist's"),
    POLYNOMIAL("laguerre_polynomial_l", lower_binary, "Laguerre polynomial"),
    POLYNOMIAL("legendre_polynomial_p", lower_binary, "Legendre polynomial"),
    {0}};
