/* Pointwise functions of two tensors, broadcast against each other; numbers take the place of tensors.
 *
 * The operands are brought to their promoted type, then combined. Kinks follow PyTorch: equal operands of maximum share the
 * gradient, rounding divisions have none. */
#include "kernel/scalar.h"
#include "op/lower.h"
#include "op/pointwise.h"
#include "op/shape.h"

#include <stdio.h>

/* ---- lowering ---- */
/* The promoted type of the first n arguments. */
static tc_dtype meeting(const tc_lower *l, int n) {
    tc_promotion p = {TC_DTYPE_NONE, TC_DTYPE_NONE, TC_DTYPE_NONE};
    for (int i = 0; i < n; i++) tc_promotion_add(&p, &l->node->args[i]);
    return tc_promotion_type(&p);
}
static tc_dtype common(const tc_lower *l, int n) { return tc_dtype_compute(meeting(l, n)); } /* the type in which the loop computes */
/* An operand in the result's type, including numbers, as in PyTorch's kernels. */
static tc_lv operand(tc_lower *l, int arg) { return tc_l_in_rounded(l, arg, l->node->outs[0]->meta.dtype); }
/* Products and quotients do not convert numbers and tensors without dimensions. */
static tc_lv factor(tc_lower *l, int arg) {
    const tc_arg *a = &l->node->args[arg];
    return a->kind == TC_A_VALUE && a->value->kind == TC_V_TENSOR && a->value->meta.rank ? operand(l, arg) : tc_l_in(l, arg);
}
static tc_lv truth(tc_lower *l, int arg, tc_dtype d) {
    tc_lv x = tc_l_in_as(l, arg, d);
    return d == TC_BOOL ? x : tc_l_op2(l, TC_X_NE, x, tc_l_zero(l, d));
}

#define BINARY(name, OP) \
    static tc_status lower_##name(tc_lower *l) { return tc_l_out(l, 0, tc_l_op2(l, TC_X_##OP, operand(l, 0), operand(l, 1))); }
BINARY(remainder, REMAINDER)
BINARY(fmod, FMOD)
BINARY(maximum, MAX)
BINARY(minimum, MIN)
BINARY(atan2, ATAN2)
BINARY(hypot, HYPOT)
BINARY(copysign, COPYSIGN)
BINARY(and, AND)
BINARY(or, OR)
BINARY(xor, XOR) BINARY(shl, SHL) BINARY(shr, SHR) BINARY(gcd, GCD)
#undef BINARY
    static tc_status lower_mul(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_mul(l, factor(l, 0), factor(l, 1)));
}
/* nextafter in 16 bits by rounding: adding 0.6 units in the last place gives the neighbour, as does 0.3 below a power of two. */
static tc_status lower_nextafter(tc_lower *l) {
    const tc_dtype own = l->node->outs[0]->meta.dtype, d = tc_l_type(l, 0);
    tc_lv a = operand(l, 0), b = operand(l, 1);
    if (own == d) return tc_l_out(l, 0, tc_l_op2(l, TC_X_NEXTAFTER, a, b));
    const double unit = own == TC_F16 ? 0x1p-10 : 0x1p-7, least = own == TC_F16 ? 0x1p-24 : 0x1p-133;
    tc_lv size = tc_l_op1(l, TC_X_ABS, a), step = tc_l_op2(l, TC_X_MAX, tc_l_mul(l, size, tc_l_f(l, d, 0.6 * unit)), tc_l_f(l, d, 0.6 * least));
    tc_lv x = tc_l_add(l, a, tc_l_where(l, tc_l_op2(l, TC_X_GT, b, a), step, tc_l_op1(l, TC_X_NEG, step)));
    x = tc_l_where(l, tc_l_op1(l, TC_X_ISINF, a), tc_l_op2(l, TC_X_COPYSIGN, tc_l_f(l, d, tc_dtype_max(own)), a), x);
    x = tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, a), a, x);
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op2(l, TC_X_NE, a, b), tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, b), b, x), b));
}
static tc_status lower_floor_divide(tc_lower *l) { return tc_l_out(l, 0, tc_l_op2(l, TC_X_DIV_FLOOR, operand(l, 0), factor(l, 1))); }
static tc_status lower_div(tc_lower *l) { return tc_l_out(l, 0, tc_l_div(l, factor(l, 0), factor(l, 1))); }

/* Integers have no NaN. */
static tc_status lower_fmax(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_op2(l, tc_is_integral(tc_l_type(l, 0)) ? TC_X_MAX : TC_X_FMAX, tc_l_in(l, 0), tc_l_in(l, 1)));
}
static tc_status lower_fmin(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_op2(l, tc_is_integral(tc_l_type(l, 0)) ? TC_X_MIN : TC_X_FMIN, tc_l_in(l, 0), tc_l_in(l, 1)));
}

#define COMPARE(name, OP)                                                                                  \
    static tc_status lower_##name(tc_lower *l) {                                                           \
        tc_dtype d = meeting(l, 2);                                                                        \
        return tc_l_out(l, 0, tc_l_op2(l, TC_X_##OP, tc_l_in_rounded(l, 0, d), tc_l_in_rounded(l, 1, d))); \
    }
COMPARE(eq, EQ)
COMPARE(ne, NE)
COMPARE(lt, LT)
COMPARE(le, LE)
COMPARE(gt, GT)
COMPARE(ge, GE)
#undef COMPARE

/* a + alpha b, with one rounding if alpha is not 1 */
static tc_lv scaled_sum(tc_lower *l, tc_lv a, tc_lv b, tc_scalar_op plain, int alpha) {
    if (is_number(l->node, alpha, 1)) return tc_l_op2(l, plain, a, b);
    tc_lv s = operand(l, alpha);
    if (tc_is_integral(tc_l_type(l, 0))) return tc_l_op2(l, plain, a, tc_l_mul(l, s, b));
    if (plain == TC_X_SUB) s = tc_l_op1(l, TC_X_NEG, s);
    return tc_l_op3(l, TC_X_FMA, b, s, a);
}
static tc_status lower_add(tc_lower *l) { return tc_l_out(l, 0, scaled_sum(l, operand(l, 0), operand(l, 1), TC_X_ADD, 2)); }
static tc_status lower_sub(tc_lower *l) { return tc_l_out(l, 0, scaled_sum(l, operand(l, 0), operand(l, 1), TC_X_SUB, 2)); }
static tc_status lower_rsub(tc_lower *l) { return tc_l_out(l, 0, scaled_sum(l, operand(l, 1), operand(l, 0), TC_X_SUB, 2)); }

static tc_status lower_div_mode(tc_lower *l) {
    const char *mode = tc_arg_string(l->node, 2);
    tc_scalar_op op = !mode ? TC_X_DIV : !strcmp(mode, "floor") ? TC_X_DIV_FLOOR : TC_X_DIV_TRUNC;
    return tc_l_out(l, 0, tc_l_op2(l, op, mode ? operand(l, 0) : factor(l, 0), factor(l, 1)));
}

/* x^e for integers and a number e in 0..63, by squaring. */
static tc_lv int_power(tc_lower *l, tc_lv x, int64_t e, tc_dtype d) {
    tc_lv r = TC_LV_NONE;
    for (; e; e >>= 1, x = e ? tc_l_mul(l, x, x) : x)
        if (e & 1) r = r == TC_LV_NONE ? x : tc_l_mul(l, r, x);
    return r == TC_LV_NONE ? tc_l_cast(l, tc_l_int(l, 1), d) : r;
}
static tc_status lower_pow(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = operand(l, 0);
    if (d == TC_BOOL) return tc_l_out(l, 0, tc_l_op2(l, TC_X_OR, x, tc_l_op1(l, TC_X_NOT, tc_l_in(l, 1))));
    const tc_node *n = l->node;
    if (is_number(n, 0, 1)) return tc_l_out(l, 0, tc_l_cast(l, tc_l_int(l, 1), d));
    if (tc_is_integral(d)) {
        const tc_arg *a = &n->args[1];
        double e = a->kind == TC_A_SCALAR && !a->is_sym ? tc_scalar_to_double(a->scalar) : -1;
        if (e >= 0 && e < 64 && e == (double)(int64_t)e) return tc_l_out(l, 0, int_power(l, x, (int64_t)e, d));
        return tc_l_out(l, 0, tc_l_op2(l, TC_X_POW, x, tc_l_in(l, 1)));
    }
    tc_lv one = tc_l_f(l, d, 1);
    if (is_number(n, 1, 0)) return tc_l_out(l, 0, one);
    if (is_number(n, 1, 1)) return tc_l_out(l, 0, x);
    const bool roots = n->outs[0]->meta.dtype != TC_F16; /* in float16 PyTorch computes the power: 0 for -0, infinity for -infinity */
    if (roots && is_number(n, 1, 0.5)) return tc_l_out(l, 0, tc_l_op1(l, TC_X_SQRT, x));
    if (roots && is_number(n, 1, -0.5)) return tc_l_out(l, 0, tc_l_op1(l, TC_X_RSQRT, x));
    const tc_dtype kept = n->outs[0]->meta.dtype == TC_BF16 ? TC_BF16 : d; /* in bfloat16 PyTorch rounds the square, too */
    if (is_number(n, 1, 2)) return tc_l_out(l, 0, tc_l_mul(l, x, x));
    if (is_number(n, 1, 3)) return tc_l_out(l, 0, tc_l_mul(l, tc_l_round(l, tc_l_mul(l, x, x), kept), x));
    if (is_number(n, 1, -1)) return tc_l_out(l, 0, tc_l_div(l, one, x));
    if (is_number(n, 1, -2)) return tc_l_out(l, 0, tc_l_div(l, one, tc_l_round(l, tc_l_mul(l, x, x), kept)));
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_POW, x, operand(l, 1)));
}

/* |a / gcd b|, 0 where either is 0; types narrower than C's int wrap at the end, as in C */
static tc_status lower_lcm(tc_lower *l) {
    const tc_dtype d = tc_dtype_size(tc_l_type(l, 0)) < 4 ? TC_I32 : tc_l_type(l, 0);
    tc_lv a = tc_l_in(l, 0), b = tc_l_in(l, 1), zero = tc_l_zero(l, d), g = tc_l_cast(l, tc_l_op2(l, TC_X_GCD, a, b), d);
    a = tc_l_cast(l, a, d), b = tc_l_cast(l, b, d);
    tc_lv r = tc_l_op1(l, TC_X_ABS, tc_l_mul(l, tc_l_op2(l, TC_X_DIV_TRUNC, a, g), b));
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op2(l, TC_X_EQ, g, zero), zero, r));
}

/* x + log(1 + exp(y - x)), x being the operand with the larger real part. If both are infinite with equal real parts: x, or log(e^x + e^y) */
static tc_status complex_logaddexp(tc_lower *l) {
    tc_dtype real = tc_dtype_real(tc_l_type(l, 0));
    tc_lv a = tc_l_in(l, 0), b = tc_l_in(l, 1), ra = tc_l_op1(l, TC_X_REAL, a), rb = tc_l_op1(l, TC_X_REAL, b);
    tc_lv less = tc_l_op2(l, TC_X_LT, ra, rb), x = tc_l_where(l, less, b, a), y = tc_l_where(l, less, a, b);
    tc_lv r = tc_l_add(l, x, tc_l_op1(l, TC_X_LOG1P, tc_l_op1(l, TC_X_EXP, tc_l_sub(l, y, x))));
    tc_lv same = tc_l_op2(l, TC_X_AND, tc_l_op1(l, TC_X_ISINF, ra), tc_l_op2(l, TC_X_EQ, ra, rb));
    tc_lv low = tc_l_op2(l, TC_X_LT, ra, tc_l_f(l, real, 0));
    tc_lv sum = tc_l_op1(l, TC_X_LOG, tc_l_add(l, tc_l_op1(l, TC_X_EXP, x), tc_l_op1(l, TC_X_EXP, y)));
    return tc_l_out(l, 0, tc_l_where(l, same, tc_l_where(l, low, a, sum), r));
}
static tc_status lower_logaddexp(tc_lower *l) {
    bool two = tc_op_schema(l->node->op)->name[9] == '2';
    if (tc_is_complex(tc_l_type(l, 0))) return complex_logaddexp(l);
    tc_lv a = operand(l, 0), b = operand(l, 1), m = tc_l_op2(l, TC_X_MAX, a, b);
    tc_lv t = tc_l_op1(l, TC_X_NEG, tc_l_op1(l, TC_X_ABS, tc_l_sub(l, a, b)));
    tc_lv r = tc_l_op1(l, TC_X_LOG1P, tc_l_op1(l, two ? TC_X_EXP2 : TC_X_EXP, t));
    if (two) r = tc_l_mul(l, r, tc_l_f(l, tc_l_type(l, 0), 1.44269504088896340736));
    tc_lv same = tc_l_op2(l, TC_X_AND, tc_l_op1(l, TC_X_ISINF, a), tc_l_op2(l, TC_X_EQ, a, b));
    return tc_l_out(l, 0, tc_l_where(l, same, a, tc_l_add(l, m, r)));
}
static tc_status xlog(tc_lower *l, tc_scalar_op log) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = operand(l, 0), y = operand(l, 1), zero = tc_l_f(l, d, 0);
    tc_lv r = tc_l_where(l, tc_l_op2(l, TC_X_EQ, x, zero), zero, tc_l_mul(l, x, tc_l_round(l, tc_l_op1(l, log, y), l->node->outs[0]->meta.dtype)));
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, y), y, r));
}
static tc_status lower_xlogy(tc_lower *l) { return xlog(l, TC_X_LOG); }
static tc_status lower_xlog1py(tc_lower *l) { return xlog(l, TC_X_LOG1P); }
static tc_status lower_heaviside(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = tc_l_in(l, 0), zero = tc_l_zero(l, d);
    tc_lv step = tc_l_cast(l, tc_l_op2(l, TC_X_GT, x, zero), d);
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op2(l, TC_X_EQ, x, zero), tc_l_in(l, 1), step));
}
#define LOGICAL(name, OP)                                                              \
    static tc_status lower_logical_##name(tc_lower *l) {                               \
        tc_dtype d = common(l, 2);                                                     \
        return tc_l_out(l, 0, tc_l_op2(l, TC_X_##OP, truth(l, 0, d), truth(l, 1, d))); \
    }
LOGICAL(and, AND)
LOGICAL(or, OR)
LOGICAL(xor, XOR)
#undef LOGICAL

/* ---- shapes ---- */
static tc_status shape_add(tc_shape_ctx *c) {
    tc_kind k;
    TC_TRY(tc_shape_binary(c));
    tc_dtype d = c->outs[0].meta.dtype;
    if (tc_arg_number(&c->args[2], &k) && k == TC_KIND_BOOL && d != TC_BOOL)
        return tc_sh_fail(c, "Boolean alpha only supported for Boolean results.");
    if (tc_arg_number(&c->args[2], &k) && k >= TC_KIND_FLOAT && tc_is_integral(d))
        return tc_sh_fail(c, "For integral input tensors, argument alpha must not be a floating point number.");
    return NULL;
}
static bool has_dtype(const tc_shape_ctx *c, int i, tc_dtype d) {
    tc_kind k;
    if (tc_arg_number(&c->args[i], &k)) return d == TC_BOOL && k == TC_KIND_BOOL;
    return tc_sh_meta(c, i) && tc_sh_meta(c, i)->dtype == d;
}
static tc_status shape_sub(tc_shape_ctx *c) {
    TC_TRY(shape_add(c));
    if (has_dtype(c, 0, TC_BOOL) && has_dtype(c, 1, TC_BOOL))
        return tc_sh_fail_as(
            c, "NotImplementedError",
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
    if (has_dtype(c, 0, TC_BOOL) || has_dtype(c, 1, TC_BOOL))
        return tc_sh_fail_as(c, "NotImplementedError",
                             "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                             "`logical_not()` operator instead.");
    return NULL;
}
static tc_status shape_rsub(tc_shape_ctx *c) {
    TC_TRY(shape_sub(c));
    return tc_sh_out_pointwise(c, 0, c->outs[0].meta.dtype, 2, (int[]){1, 0});
}
static tc_status shape_div_mode(tc_shape_ctx *c) {
    const char *mode = tc_sh_string(c, 2);
    if (!mode) return tc_shape_binary_float(c);
    if (strcmp(mode, "trunc") && strcmp(mode, "floor"))
        return tc_sh_fail(c, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode);
    return tc_shape_binary(c);
}
static tc_status shape_pow_scalar(tc_shape_ctx *c) { /* PyTorch's has no iterator: the result is contiguous */
    TC_TRY(tc_shape_binary(c));
    c->outs[0].meta.stride = NULL;
    return NULL;
}
static tc_status shape_pow(tc_shape_ctx *c) {
    TC_TRY(tc_shape_binary(c));
    tc_sym s = tc_sh_int(c, 1);
    int64_t v;
    tc_kind k;
    if (tc_is_integral(c->outs[0].meta.dtype) && tc_arg_number(&c->args[1], &k) && tc_sym_const_int(s, &v) && v < 0)
        return tc_sh_fail(c, "Integers to negative integer powers are not allowed.");
    return NULL;
}
static tc_status shape_bits(tc_shape_ctx *c) {
    TC_TRY(tc_shape_binary(c));
    if (!tc_is_integral(c->outs[0].meta.dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "\"%s_cpu\" not implemented for '%s'", tc_op_schema(c->op)->name,
                             tc_dtypes[c->outs[0].meta.dtype].torch);
    return NULL;
}
static tc_status shape_integers(tc_shape_ctx *c) {
    TC_TRY(tc_shape_binary(c));
    if (c->outs[0].meta.dtype != TC_BOOL && tc_is_integral(c->outs[0].meta.dtype)) return NULL;
    return tc_sh_fail_as(c, "NotImplementedError", "\"%s_cpu\" not implemented for '%s'", tc_op_schema(c->op)->name,
                         tc_dtypes[c->outs[0].meta.dtype].torch);
}
static tc_status shape_floats(tc_shape_ctx *c) {
    TC_TRY(tc_shape_binary(c));
    if (tc_is_integral(c->outs[0].meta.dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "\"%s_cpu\" not implemented for '%s'", tc_op_schema(c->op)->name,
                             tc_dtypes[c->outs[0].meta.dtype].torch);
    return NULL;
}
/* Functions that PyTorch defines for real numbers only, although their loops could compute complex ones. */
static tc_status of_reals(tc_shape_ctx *c, tc_status (*rule)(tc_shape_ctx *c)) {
    TC_TRY(rule(c));
    const tc_dtype d = c->outs[0].meta.dtype;
    return tc_is_complex(d) ? tc_sh_fail_as(c, "NotImplementedError", "not implemented for %s", tc_dtypes[d].torch) : NULL;
}
static tc_status shape_logaddexp2(tc_shape_ctx *c) { return of_reals(c, shape_floats); }
static tc_status shape_xlog(tc_shape_ctx *c) { return of_reals(c, tc_shape_binary_float); }
static tc_status shape_heaviside(tc_shape_ctx *c) {
    TC_TRY(tc_shape_binary(c));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1);
    if (a && b && (tc_is_complex(a->dtype) || tc_is_complex(b->dtype)))
        return tc_sh_fail_as(c, "NotImplementedError", "heaviside is not yet implemented for complex tensors.");
    if (a && b && a->dtype != b->dtype) return tc_sh_fail(c, "heaviside is not yet implemented for tensors with different dtypes.");
    return NULL;
}
static tc_status shape_float_power(tc_shape_ctx *c) {
    tc_dtype type = tc_is_complex(tc_sh_inner_type(c, 2, (int[]){0, 1})) ? TC_C128 : TC_F64;
    TC_TRY(tc_sh_out_pointwise(c, 0, type, 2, (int[]){0, 1}));
    if (!tc_sh_meta(c, 0)) c->outs[0].meta.stride = NULL; /* pow.Scalar */
    return NULL;
}

/* ---- gradients ---- */
static tc_status grad_add(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, gs[0]);
    if (tc_emit_wants_grad(e, n, 1)) give(e, n, 1, scaled(e, conjugate(e, gs[0]), n, 2));
    return tc_e_done(e);
}
static tc_status grad_sub(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, gs[0]);
    if (tc_emit_wants_grad(e, n, 1)) give(e, n, 1, scaled(e, tc_e_neg(e, conjugate(e, gs[0])), n, 2));
    return tc_e_done(e);
}
static tc_status grad_rsub(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) give(e, n, 0, scaled(e, tc_e_neg(e, conjugate(e, gs[0])), n, 2));
    tc_e_give(e, n, 1, gs[0]);
    return tc_e_done(e);
}
static tc_status grad_mul(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) give(e, n, 0, times(e, conjugate(e, gs[0]), n, 1));
    if (tc_emit_wants_grad(e, n, 1)) give(e, n, 1, times(e, conjugate(e, gs[0]), n, 0));
    return tc_e_done(e);
}
static tc_status grad_div(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) give(e, n, 0, over(e, conjugate(e, gs[0]), n, 1));
    if (tc_emit_wants_grad(e, n, 1))
        give(e, n, 1, tc_e_mul(e, tc_e_neg(e, conjugate(e, gs[0])), over(e, args2(e, "aten::div.Tensor", n, 0, 1), n, 1)));
    return tc_e_done(e);
}
static tc_status grad_zero(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *z = tc_e_zeros_like(e, gs[0]);
    tc_e_give(e, n, 0, z);
    tc_e_give(e, n, 1, z);
    return tc_e_done(e);
}
static tc_status grad_div_mode(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    return tc_arg_string(n, 2) ? grad_zero(e, n, gs) : grad_div(e, n, gs);
}
static tc_status rounded_quotient(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *mode) {
    tc_e_give(e, n, 0, gs[0]);
    if (tc_emit_wants_grad(e, n, 1))
        tc_e_give(e, n, 1, tc_e_mul(e, tc_e_neg(e, gs[0]), tc_emit_call(e, "aten::div.Tensor_mode", "aat", &n->args[0], &n->args[1], mode)));
    return tc_e_done(e);
}
static tc_status grad_remainder(tc_emit *e, const tc_node *n, tc_value *const *gs) { return rounded_quotient(e, n, gs, "floor"); }
static tc_status grad_fmod(tc_emit *e, const tc_node *n, tc_value *const *gs) { return rounded_quotient(e, n, gs, "trunc"); }
static tc_value *not_negative(tc_emit *e, tc_value *y) { /* for complex numbers: of the real part */
    bool cplx = y && tc_is_complex(y->meta.dtype);
    tc_value *r = tc_emit_call(e, "aten::ge.Scalar", "vi", cplx ? tc_e1(e, "aten::real", y) : y, (int64_t)0);
    return cplx ? tc_e2(e, "aten::logical_and", r, tc_e1(e, "aten::isreal", y)) : r;
}
static tc_status grad_pow(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *g = conjugate(e, gs[0]);
    tc_kind k;
    if (tc_emit_wants_grad(e, n, 0)) {
        if (tc_arg_number(&n->args[1], &k)) {
            if (is_number(n, 1, 0)) give(e, n, 0, tc_e_zeros_like(e, g));
            else if (n->args[1].kind == TC_A_VALUE || (n->args[1].kind == TC_A_SCALAR && n->args[1].is_sym)) {
                return tc_error(TC_UNSUPPORTED, "aten.pow: gradient with a symbolic exponent");
            } else {
                tc_scalar p = tc_arg_scalar(n, 1), less = p;
                if (p.kind == TC_KIND_COMPLEX) less.re -= 1;
                else if (p.kind == TC_KIND_FLOAT) less.f -= 1;
                else less = tc_scalar_int(p.i - 1);
                tc_value *d = tc_emit_call(e, "aten::pow.Tensor_Scalar", "vz", x, less);
                give(e, n, 0, tc_e_mul(e, g, tc_emit_call(e, "aten::mul.Tensor", "vz", d, p)));
            }
        } else {
            tc_value *y = tc_arg_value(n, 1);
            tc_value *d = tc_e_mul(e, y, tc_e2(e, "aten::pow.Tensor_Tensor", x, tc_e_adds(e, y, -1)));
            give(e, n, 0, product_except(e, tc_emit_call(e, "aten::eq.Scalar", "vi", y, (int64_t)0), g, d));
        }
    }
    if (tc_emit_wants_grad(e, n, 1)) {
        tc_value *y = tc_arg_value(n, 1);
        tc_value *d = tc_e_mul(e, n->outs[0], tc_e1(e, "aten::log", tc_e_cast(e, x, n->outs[0]->meta.dtype)));
        tc_value *none = tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0), not_negative(e, y));
        give(e, n, 1, product_except(e, none, g, d));
    }
    return tc_e_done(e);
}
static tc_status grad_pow_scalar(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* base^x: g y log(base) */
    if (!tc_emit_wants_grad(e, n, 1)) return NULL;
    tc_scalar base = tc_arg_scalar(n, 0), log = {.kind = TC_KIND_FLOAT};
    if (base.kind == TC_KIND_COMPLEX) {
        tc_c128 l = tc_x_log_c128((tc_c128){base.re, base.im});
        log.kind = base.kind, log.re = l.re, log.im = l.im;
    } else if (tc_is_complex(n->outs[0]->meta.dtype)) {
        log.kind = TC_KIND_COMPLEX, log.re = tc_x_log_f64(__builtin_fabs(tc_scalar_to_double(base)));
        log.im = tc_scalar_to_double(base) < 0 ? 3.14159265358979323846 : 0;
    } else log.f = tc_x_log_f64(tc_scalar_to_double(base));
    tc_value *y = tc_arg_value(n, 1), *g = conjugate(e, gs[0]), *d = tc_emit_call(e, "aten::mul.Tensor", "vz", n->outs[0], log);
    give(e, n, 1, tc_scalar_is(base, 0) ? product_except(e, not_negative(e, y), g, d) : tc_e_mul(e, g, d));
    return tc_e_done(e);
}
/* g; half of it where both are equal; 0 where the argument is not the result. NaN is the result */
static tc_status extremum(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *loses) {
    tc_value *share = tc_e3(e, "aten::where.self", args2(e, "aten::eq.Tensor", n, 0, 1), tc_e_muls(e, gs[0], 0.5), gs[0]);
    tc_value *lost = args2(e, loses, n, 0, 1);
    if (e->graph->program->forward_mode) /* NaN takes the tangent of the second argument */
        lost = tc_e1(e, "aten::logical_not", tc_e2(e, "aten::logical_or", args2(e, "aten::eq.Tensor", n, 0, 1), args2(e, loses, n, 1, 0)));
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, except(e, lost, share));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, except(e, args2(e, loses, n, 1, 0), share));
    return tc_e_done(e);
}
/* nextafter moves as self does; where both are equal it is `other`, which PyTorch gives no gradient. */
static tc_status grad_nextafter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, only(e, args2(e, "aten::ne.Tensor", n, 0, 1), gs[0]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_zeros_like(e, tc_arg_value(n, 1)));
    return tc_e_done(e);
}
static tc_status grad_maximum(tc_emit *e, const tc_node *n, tc_value *const *gs) { return extremum(e, n, gs, "aten::lt.Tensor"); }
static tc_status grad_minimum(tc_emit *e, const tc_node *n, tc_value *const *gs) { return extremum(e, n, gs, "aten::gt.Tensor"); }
/* the same for fmax and fmin, where NaN is never the result, except for a NaN in the first argument and another NaN */
static tc_status fextremum(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *wins) {
    tc_value *share = tc_e3(e, "aten::where.self", args2(e, "aten::eq.Tensor", n, 0, 1), tc_e_muls(e, gs[0], 0.5), gs[0]);
    tc_value *first = tc_e2(e, "aten::logical_or", args2(e, wins, n, 0, 1), tc_e1(e, "aten::isnan", tc_arg_value(n, 1)));
    tc_value *tie = args2(e, "aten::eq.Tensor", n, 0, 1);
    tc_e_give(e, n, 0, only(e, first, share));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, only(e, tc_e2(e, "aten::logical_or", tie, tc_e1(e, "aten::logical_not", first)), share));
    return tc_e_done(e);
}
static tc_status grad_fmax(tc_emit *e, const tc_node *n, tc_value *const *gs) { return fextremum(e, n, gs, "aten::ge.Tensor"); }
static tc_status grad_fmin(tc_emit *e, const tc_node *n, tc_value *const *gs) { return fextremum(e, n, gs, "aten::le.Tensor"); }
static tc_status grad_atan2(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    tc_value *square = tc_e_add(e, tc_e_mul(e, a, a), tc_e_mul(e, b, b)); /* 0 at the origin, as in PyTorch; NaN in forward mode */
    tc_value *r = tc_e1(e, "aten::reciprocal", square);
    if (!e->graph->program->forward_mode) r = except(e, tc_emit_call(e, "aten::eq.Scalar", "vi", square, (int64_t)0), r);
    tc_e_give(e, n, 0, tc_e_mul(e, tc_e_mul(e, gs[0], b), r));
    tc_e_give(e, n, 1, tc_e_mul(e, tc_e_mul(e, gs[0], tc_e_neg(e, a)), r));
    return tc_e_done(e);
}
static tc_status grad_hypot(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    for (int i = 0; i < 2; i++) tc_e_give(e, n, i, tc_e_mul(e, gs[0], tc_e_div(e, tc_arg_value(n, i), n->outs[0])));
    return tc_e_done(e);
}
static tc_status grad_copysign(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *ratio = tc_e_div(e, n->outs[0], x);
    tc_e_give(e, n, 0, tc_e_mul(e, gs[0], except(e, tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0), ratio)));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_zeros_like(e, gs[0]));
    return tc_e_done(e);
}
static tc_status logaddexp_grad(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *pow) {
    for (int i = 0; i < 2; i++) { /* g / (1 + exp(other - self)) */
        if (!tc_emit_wants_grad(e, n, i)) continue;
        tc_value *d = tc_e_adds(e, tc_e1(e, pow, args2(e, "aten::sub.Tensor", n, 1 - i, i)), 1);
        give(e, n, i, tc_e_div(e, conjugate(e, gs[0]), d));
    }
    return tc_e_done(e);
}
static tc_status grad_logaddexp(tc_emit *e, const tc_node *n, tc_value *const *gs) { return logaddexp_grad(e, n, gs, "aten::exp"); }
static tc_status grad_logaddexp2(tc_emit *e, const tc_node *n, tc_value *const *gs) { return logaddexp_grad(e, n, gs, "aten::exp2"); }
static tc_status xlog_grad(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *log, double shift) {
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *x = tc_arg_value(n, 0), *one = tc_emit_call(e, "aten::mul.Tensor", "va", tc_e_adds(e, tc_e_zeros_like(e, x), 1), &n->args[1]);
        tc_value *none = tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0),
                               tc_emit_call(e, "aten::le.Scalar", "vf", one, -shift));
        tc_e_give(e, n, 0, product_except(e, none, gs[0], tc_e1(e, log, one)));
    }
    if (tc_emit_wants_grad(e, n, 1))
        tc_e_give(e, n, 1, tc_e_div(e, times(e, gs[0], n, 0), shift == 0 ? tc_arg_value(n, 1) : tc_e_adds(e, tc_arg_value(n, 1), shift)));
    return tc_e_done(e);
}
static tc_status grad_xlogy(tc_emit *e, const tc_node *n, tc_value *const *gs) { return xlog_grad(e, n, gs, "aten::log", 0); }
static tc_status grad_xlog1py(tc_emit *e, const tc_node *n, tc_value *const *gs) { return xlog_grad(e, n, gs, "aten::log1p", 1); }
/* ---- compositions ---- */
static tc_status decompose_float_power(tc_emit *e, const tc_node *n) {
    tc_arg a[2] = {n->args[0], n->args[1]};
    tc_kind k;
    for (int i = 0; i < 2; i++)
        if (!tc_arg_number(&a[i], &k)) a[i].value = tc_e_cast(e, a[i].value, tc_is_complex(a[i].value->meta.dtype) ? TC_C128 : TC_F64);
    bool base = tc_arg_number(&a[0], &k), exponent = tc_arg_number(&a[1], &k);
    if (!base && exponent && a[1].kind != TC_A_VALUE && k != TC_KIND_COMPLEX)
        a[1] = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_scalar_to_double(tc_arg_scalar(n, 1)))};
    tc_emit_result(e, 0,
                   tc_emit_call(e,
                                base       ? "aten::pow.Scalar"
                                : exponent ? "aten::pow.Tensor_Scalar"
                                           : "aten::pow.Tensor_Tensor",
                                "aa", &a[0], &a[1]));
    return tc_e_done(e);
}
/* self 2^other. For an integer exponent the power has the type of self: float32, unless that is wider or a 16-bit type. */
static tc_status decompose_ldexp(tc_emit *e, const tc_node *n) {
    tc_value *p = tc_emit_call(e, "aten::pow.Scalar", "fv", 2.0, tc_arg_value(n, 1));
    tc_dtype d = tc_arg_value(n, 0)->meta.dtype;
    if (p && tc_is_integral(tc_arg_value(n, 1)->meta.dtype) && (d == TC_F16 || d == TC_BF16)) {
        tc_value *wide = tc_e_mul(e, tc_e_cast(e, tc_arg_value(n, 0), TC_F32), p);
        tc_emit_result(e, 0, tc_e_cast(e, wide, d));
        return tc_e_done(e);
    }
    tc_emit_result(e, 0, tc_e_mul(e, tc_arg_value(n, 0), p));
    return tc_e_done(e);
}
static tc_status decompose_isclose(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    double rtol = tc_arg_float(n, 2), atol = tc_arg_float(n, 3);
    if (!a || !b) return tc_error(TC_CONTENT, "TypeError: %s: expected two tensors", tc_op_name(n->op));
    if (a->meta.dtype != b->meta.dtype) return tc_e_refuse(n, "%s did not match %s", tc_dtypes[a->meta.dtype].torch, tc_dtypes[b->meta.dtype].torch);
    if (!(rtol >= 0)) return tc_e_refuse(n, "rtol must be greater than or equal to zero, but got %g", rtol);
    if (!(atol >= 0)) return tc_e_refuse(n, "atol must be greater than or equal to zero, but got %g", atol);
    tc_value *close = tc_e2(e, "aten::eq.Tensor", a, b);
    if (tc_arg_bool(n, 4) && !tc_is_integral(a->meta.dtype))
        close = tc_e2(e, "aten::logical_or", close, tc_e2(e, "aten::logical_and", tc_e1(e, "aten::isnan", a), tc_e1(e, "aten::isnan", b)));
    if (rtol != 0 || atol != 0) {
        tc_value *bf = tc_is_integral(b->meta.dtype) ? tc_e_cast(e, b, TC_F64) : b, *af = tc_is_integral(a->meta.dtype) ? tc_e_cast(e, a, TC_F64) : a;
        tc_value *allowed = tc_e_adds(e, tc_e1(e, "aten::abs", tc_e_muls(e, bf, rtol)), atol);
        tc_value *err = tc_e1(e, "aten::abs", tc_e_sub(e, af, bf));
        tc_value *ok = tc_e2(e, "aten::logical_and", tc_e1(e, "aten::isfinite", err), tc_e2(e, "aten::le.Tensor", err, allowed));
        close = tc_e2(e, "aten::logical_or", close, ok);
    }
    tc_emit_result(e, 0, close);
    return tc_e_done(e);
}
static tc_status decompose_allclose(tc_emit *e, const tc_node *n) {
    tc_value *c = tc_emit_call(e, "aten::isclose", "aaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4]);
    tc_emit_result(e, 0, tc_e1(e, "aten::item", tc_e1(e, "aten::all", c)));
    return tc_e_done(e);
}

/* Aliases, and overloads that differ in name only. */
static const struct {
    const char *name, *is;
} aliases[] = {{"multiply", "mul"},
               {"subtract", "sub"},
               {"divide", "div"},
               {"true_divide", "div"},
               {"arctan2", "atan2"},
               {"clip", "clamp"},
               {"greater", "gt"},
               {"greater_equal", "ge"},
               {"less", "lt"},
               {"less_equal", "le"},
               {"not_equal", "ne"},
               {"__and__", "bitwise_and"},
               {"__or__", "bitwise_or"},
               {"__xor__", "bitwise_xor"},
               {"__lshift__", "bitwise_left_shift"},
               {"__rshift__", "bitwise_right_shift"},
               {"special_xlogy", "xlogy"}};

static tc_status decompose_alias(tc_emit *e, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(s->name, aliases[i].name)) continue;
        char name[64];
        const char *overload = s->overload;
        if (!strcmp(overload, "Scalar") && strstr(aliases[i].is, "_shift")) overload = "Tensor_Scalar";
        if (!strcmp(aliases[i].is, "xlogy")) overload = !*overload ? "Tensor" : *overload == 's' ? "Scalar_Self" : "Scalar_Other";
        else if (!strcmp(overload, "other_scalar")) overload = "OtherScalar";
        snprintf(name, sizeof name, "aten::%s%s%s", aliases[i].is, *overload ? "." : "", overload);
        return tc_e_forward(e, name, n);
    }
    if (!strcmp(s->name, "max")) return tc_e_forward(e, "aten::maximum", n);
    if (!strcmp(s->name, "min")) return tc_e_forward(e, "aten::minimum", n);
    TC_BUG("%s is no alias", tc_op_name(n->op));
}

/* ---- integers, which no zero divides ---- */
static bool divides(const tc_node *n) {
    const tc_value *by = tc_arg_value(n, 1);
    if (!tc_is_integral(n->outs[0]->meta.dtype)) return true;
    if (by && by->kind == TC_V_TENSOR) return by->producer && !strcmp(tc_op_name(by->producer->op), "tc.checked.default");
    const tc_arg *a = &n->args[1];
    if (a->kind == TC_A_SCALAR && !a->is_sym) return !tc_scalar_is(a->scalar, 0);
    tc_symctx *s = n->graph->program->sym;
    return tc_sym_known(s, tc_sym_op(s, TC_S_NE, tc_arg_sym(n, 1), tc_sym_int(s, 0), NULL)) == 1;
}
/* The same of a divisor that is looked at first, as far as the result has elements. */
static tc_status divide_checked(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    const tc_schema *s = tc_op_schema(n->op);
    tc_value *by = tc_arg_value(n, 1);
    const bool tensor = by && by->kind == TC_V_TENSOR;
    tc_value *each = tensor ? tc_emit_call(e, "aten::expand", "vS", by, m->size, m->rank)
                            : tc_emit_call(e, "aten::full", "Sad", m->size, m->rank, &n->args[1], (int)m->dtype);
    tc_e_require(e, tc_emit_call(e, "aten::ne.Scalar", "vi", each, (int64_t)0), "ZeroDivisionError");
    tc_arg args[3];
    memcpy(args, n->args, sizeof *args * (size_t)n->nargs);
    args[1] = (tc_arg){.kind = TC_A_VALUE, .value = tc_e1(e, "tc::checked", tensor ? by : each)};
    const char *overload = n->nargs > 2 ? "Tensor_mode" : !strcmp(s->name, "floor_divide") ? "default" : tensor ? s->overload : "Tensor";
    char name[64];
    snprintf(name, sizeof name, "aten::%s.%s", s->name, overload);
    tc_node *quotient = e->status ? NULL : tc_e_args(e, name, args, n->nargs);
    tc_emit_result(e, 0, quotient ? quotient->outs[0] : NULL);
    return tc_e_done(e);
}
static const struct tc_otherwise division_otherwise = {divides, divide_checked};

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define DIVISION(SCHEMA, shape_, lower_, grad_, sample, text)                                                                      \
    {                                                                                                                              \
        .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .otherwise = &division_otherwise, .grad = grad_, \
        .samples = sample, .doc = text                                                                                             \
    }
#define FLOOR(SCHEMA, sample)                                                                                                    \
    {                                                                                                                            \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_UNDERIVED, .shape = tc_shape_binary, .lower = lower_floor_divide, \
        .otherwise = &division_otherwise, .samples = sample, .doc = "floor(self / other)"                                        \
    }
#define TRUTH(SCHEMA, shape_, lower_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_NONDIFF, .shape = shape_, .lower = lower_, .samples = sample, .doc = text }
#define ALIAS(SCHEMA) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_alias, .doc = "another name" }
#define BOTH(name, shape_, lower_, text)                                                                 \
    TRUTH(#name ".Tensor(Tensor self, Tensor other)", shape_, lower_, #name "(f32[3,5], f32[5])", text), \
        TRUTH(#name ".Scalar(Tensor self, Scalar other)", shape_, lower_, #name "(f32[3,5], 0)", text)
#define BITS(name, lower_, text)                                                                                                       \
    TRUTH("bitwise_" #name ".Tensor(Tensor self, Tensor other)", shape_bits, lower_, "bitwise_" #name "(i64[5], i64[5])", text),       \
        TRUTH("bitwise_" #name ".Scalar(Tensor self, Scalar other)", shape_bits, lower_, "bitwise_" #name "(i64[5], 5)", text),        \
        TRUTH("bitwise_" #name ".Scalar_Tensor(Scalar self, Tensor other)", shape_bits, lower_, "bitwise_" #name "(5, i64[5])", text), \
        ALIAS("__" #name "__.Tensor(Tensor self, Tensor other)"), ALIAS("__" #name "__.Scalar(Tensor self, Scalar other)")
#define SHIFT(name, short, lower_, text)                                                                                               \
    TRUTH("bitwise_" #name ".Tensor(Tensor self, Tensor other)", shape_bits, lower_, "bitwise_" #name "(i64[5], i64[5])", text),       \
        TRUTH("bitwise_" #name ".Tensor_Scalar(Tensor self, Scalar other)", shape_bits, lower_, "bitwise_" #name "(i64[5], 2)", text), \
        TRUTH("bitwise_" #name ".Scalar_Tensor(Scalar self, Tensor other)", shape_bits, lower_, "bitwise_" #name "(5, i64[5])", text), \
        ALIAS("__" #short "__.Tensor(Tensor self, Tensor other)"), ALIAS("__" #short "__.Scalar(Tensor self, Scalar other)")
const tc_op tc_ops_pointwise_binary[] = {
    ROW("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", shape_add, lower_add, grad_add,
        "add(f32[3,5], f32[5]); add(f32[3], i64[2,3], alpha=2); add(c64[3], f32[3], alpha=2)", "self + alpha other"),
    ROW("add.Scalar(Tensor self, Scalar other, Scalar alpha=1)", shape_add, lower_add, grad_add, "add(f32[3], 2)", "self + alpha other"),
    ROW("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", shape_sub, lower_sub, grad_sub,
        "sub(f32[3,5], f32[5]); sub(f32[3], f32[3], alpha=0.5); sub(c64[3], c64[3])", "self - alpha other"),
    ROW("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", shape_sub, lower_sub, grad_sub, "sub(f32[3], 2)", "self - alpha other"),
    ROW("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", shape_rsub, lower_rsub, grad_rsub, "rsub(f32[3,5], f32[5])",
        "other - alpha self"),
    ROW("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", shape_sub, lower_rsub, grad_rsub, "rsub(f32[3], 2)", "other - alpha self"),
    ROW("mul.Tensor(Tensor self, Tensor other)", tc_shape_binary, lower_mul, grad_mul,
        "mul(f32[3,5], f32[5]); mul(i64[3], 2.5); mul(c64[3,5], c64[5]); mul(c128[3], f32[3])", "self other"),
    ROW("mul.Scalar(Tensor self, Scalar other)", tc_shape_binary, lower_mul, grad_mul, "mul(f32[3], 2)", "self other"),
    ROW("div.Tensor(Tensor self, Tensor other)", tc_shape_binary_float, lower_div, grad_div,
        "div(f32[3,5], f32[5]:0.5..2); div(c64[3,5], c64[5]); div(c128[3], c128[3])", "self / other"),
    ROW("div.Scalar(Tensor self, Scalar other)", tc_shape_binary_float, lower_div, grad_div, "div(i64[3], 2)", "self / other"),
    DIVISION("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)", shape_div_mode, lower_div_mode, grad_div_mode,
             "div(f32[3,5], f32[5]:0.5..2, rounding_mode='floor')", "self / other, rounded"),
    DIVISION("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)", shape_div_mode, lower_div_mode, grad_div_mode,
             "div(i64[3], 2, rounding_mode='trunc')", "self / other, rounded"),
    FLOOR("floor_divide(Tensor self, Tensor other)", "floor_divide(f32[5], f32[5]:0.5..2)"),
    FLOOR("floor_divide.Scalar(Tensor self, Scalar other)", "floor_divide(i64[5], 3)"),
    DIVISION("remainder.Tensor(Tensor self, Tensor other)", tc_shape_binary, lower_remainder, grad_remainder, "remainder(f32[5], f32[5]:0.5..2)",
             "self - other floor(self / other)"),
    DIVISION("remainder.Scalar(Tensor self, Scalar other)", tc_shape_binary, lower_remainder, grad_remainder, "remainder(i64[5], 3)",
             "self - other floor(self / other)"),
    DIVISION("remainder.Scalar_Tensor(Scalar self, Tensor other)", tc_shape_binary, lower_remainder, grad_remainder, "remainder(7, f32[5]:0.5..2)",
             "self - other floor(self / other)"),
    DIVISION("fmod.Tensor(Tensor self, Tensor other)", tc_shape_binary, lower_fmod, grad_fmod, "fmod(f32[5], f32[5]:0.5..2)",
             "self - other trunc(self / other)"),
    DIVISION("fmod.Scalar(Tensor self, Scalar other)", tc_shape_binary, lower_fmod, grad_fmod, "fmod(i64[5], 3)", "self - other trunc(self / other)"),
    ROW("pow.Tensor_Tensor(Tensor self, Tensor exponent)", shape_pow, lower_pow, grad_pow, "pow(f32[5]:0.5..2, f32[5]); pow(c64[5], c64[5])",
        "self ^ exponent"),
    ROW("pow.Tensor_Scalar(Tensor self, Scalar exponent)", shape_pow, lower_pow, grad_pow, "pow(f32[5], 2); pow(f32[5]:0.5..2, 1.5)",
        "self ^ exponent"),
    ROW("pow.Scalar(Scalar self, Tensor exponent)", shape_pow_scalar, lower_pow, grad_pow_scalar, "pow(2.0, f32[5])", "self ^ exponent"),
    ROW("maximum(Tensor self, Tensor other)", tc_shape_binary, lower_maximum, grad_maximum, "maximum(f32[3,5], f32[5])", "the larger; NaN wins"),
    ROW("minimum(Tensor self, Tensor other)", tc_shape_binary, lower_minimum, grad_minimum, "minimum(f32[3,5], f32[5])", "the smaller; NaN wins"),
    ROW("fmax(Tensor self, Tensor other)", tc_shape_binary, lower_fmax, grad_fmax, "fmax(f32[3,5], f32[5])", "the larger; NaN loses"),
    ROW("fmin(Tensor self, Tensor other)", tc_shape_binary, lower_fmin, grad_fmin, "fmin(f32[3,5], f32[5])", "the smaller; NaN loses"),
    ROW("atan2(Tensor self, Tensor other)", tc_shape_binary_float, lower_atan2, grad_atan2, "atan2(f32[5], f32[5])", "angle of (other, self)"),
    ROW("hypot(Tensor self, Tensor other)", shape_floats, lower_hypot, grad_hypot, "hypot(f32[5], f32[5])", "sqrt(self^2 + other^2)"),
    ROW("copysign.Tensor(Tensor self, Tensor other)", tc_shape_binary_float, lower_copysign, grad_copysign, "copysign(f32[5], f32[5])",
        "|self| with the sign of other"),
    ROW("copysign.Scalar(Tensor self, Scalar other)", tc_shape_binary_float, lower_copysign, grad_copysign, "copysign(f32[5], -1)",
        "|self| with the sign of other"),
    ROW("nextafter(Tensor self, Tensor other)", shape_floats, lower_nextafter, grad_nextafter, "nextafter(f32[5], f32[5])",
        "the next number towards other"),
    TRUTH("gcd(Tensor self, Tensor other)", shape_integers, lower_gcd, "gcd(i64[5], i64[5]); gcd(i32[3,5], i32[5])", "greatest common divisor"),
    TRUTH("lcm(Tensor self, Tensor other)", shape_integers, lower_lcm, "lcm(i64[5], i64[5]); lcm(u8[3,5], u8[5])", "least common multiple"),
    ROW("logaddexp(Tensor self, Tensor other)", shape_floats, lower_logaddexp, grad_logaddexp, "logaddexp(f32[5], f32[5])", "log(e^self + e^other)"),
    ROW("logaddexp2(Tensor self, Tensor other)", shape_logaddexp2, lower_logaddexp, grad_logaddexp2, "logaddexp2(f32[5], f32[5])",
        "log2(2^self + 2^other)"),
    ROW("xlogy.Tensor(Tensor self, Tensor other)", shape_xlog, lower_xlogy, grad_xlogy, "xlogy(f32[5], f32[5]:0.5..2)",
        "self log(other), 0 where self is 0"),
    ROW("xlogy.Scalar_Self(Scalar self, Tensor other)", shape_xlog, lower_xlogy, grad_xlogy, "xlogy(2, f32[5]:0.5..2)",
        "self log(other), 0 where self is 0"),
    ROW("xlogy.Scalar_Other(Tensor self, Scalar other)", shape_xlog, lower_xlogy, grad_xlogy, "xlogy(f32[5], 2)",
        "self log(other), 0 where self is 0"),
    ROW("special_xlog1py(Tensor self, Tensor other)", shape_xlog, lower_xlog1py, grad_xlog1py, "special_xlog1py(f32[5], f32[5]:0.5..2)",
        "self log(1 + other), 0 where self is 0"),
    ROW("special_xlog1py.self_scalar(Scalar self, Tensor other)", shape_xlog, lower_xlog1py, grad_xlog1py, "special_xlog1py(2, f32[5]:0.5..2)",
        "self log(1 + other)"),
    ROW("special_xlog1py.other_scalar(Tensor self, Scalar other)", shape_xlog, lower_xlog1py, grad_xlog1py, "special_xlog1py(f32[5], 2)",
        "self log(1 + other)"),
    {.schema = "aten::heaviside(Tensor self, Tensor values) -> Tensor",
     .flags = TC_OP_UNDERIVED,
     .shape = shape_heaviside,
     .lower = lower_heaviside,
     .samples = "heaviside(f32[5], f32[5])",
     .doc = "0, values, 1 for self below, at, above 0"},
    BOTH(eq, tc_shape_compare, lower_eq, "self == other"),
    BOTH(ne, tc_shape_compare, lower_ne, "self != other"),
    BOTH(lt, tc_shape_compare, lower_lt, "self < other"),
    BOTH(le, tc_shape_compare, lower_le, "self <= other"),
    BOTH(gt, tc_shape_compare, lower_gt, "self > other"),
    BOTH(ge, tc_shape_compare, lower_ge, "self >= other"),
    TRUTH("logical_and(Tensor self, Tensor other)", tc_shape_compare, lower_logical_and, "logical_and(f32[5], bool[5])", "both are not 0"),
    TRUTH("logical_or(Tensor self, Tensor other)", tc_shape_compare, lower_logical_or, "logical_or(f32[5], bool[5])", "either is not 0"),
    TRUTH("logical_xor(Tensor self, Tensor other)", tc_shape_compare, lower_logical_xor, "logical_xor(f32[5], bool[5])", "just one is not 0"),
    BITS(and, lower_and, "self & other"),
    BITS(or, lower_or, "self | other"),
    BITS(xor, lower_xor, "self ^ other"),
    SHIFT(left_shift, lshift, lower_shl, "self << other"),
    SHIFT(right_shift, rshift, lower_shr, "self >> other"),
    {.schema = "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .shape = shape_float_power,
     .decompose = decompose_float_power,
     .samples = "float_power(f32[5]:0.5..2, f32[5])",
     .doc = "self ^ exponent in float64"},
    {.schema = "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .shape = shape_float_power,
     .decompose = decompose_float_power,
     .samples = "float_power(i64[5], 2)",
     .doc = "self ^ exponent in float64"},
    {.schema = "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .shape = shape_float_power,
     .decompose = decompose_float_power,
     .samples = "float_power(2, f32[5])",
     .doc = "self ^ exponent in float64"},
    {.schema = "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_ldexp,
     .keeps = " other result ",
     .samples = "ldexp(f32[5], i64[5])",
     .doc = "self 2^other"},
    {.schema = "aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = tc_shape_decomposed,
     .decompose = decompose_isclose,
     .samples = "isclose(f32[5], f32[5])",
     .doc = "|self - other| <= atol + rtol |other|"},
    {.schema = "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
     .flags = TC_OP_NONDIFF,
     .shape = tc_shape_decomposed,
     .decompose = decompose_allclose,
     .doc = "all of isclose, as a number"},
    ALIAS("max.other(Tensor self, Tensor other)"),
    ALIAS("min.other(Tensor self, Tensor other)"),
    ALIAS("multiply.Tensor(Tensor self, Tensor other)"),
    ALIAS("multiply.Scalar(Tensor self, Scalar other)"),
    ALIAS("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)"),
    ALIAS("subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1)"),
    ALIAS("divide.Tensor(Tensor self, Tensor other)"),
    ALIAS("divide.Scalar(Tensor self, Scalar other)"),
    ALIAS("divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)"),
    ALIAS("divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)"),
    ALIAS("true_divide.Tensor(Tensor self, Tensor other)"),
    ALIAS("true_divide.Scalar(Tensor self, Scalar other)"),
    ALIAS("arctan2(Tensor self, Tensor other)"),
    ALIAS("clip(Tensor self, Scalar? min=None, Scalar? max=None)"),
    ALIAS("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)"),
    ALIAS("greater.Tensor(Tensor self, Tensor other)"),
    ALIAS("greater.Scalar(Tensor self, Scalar other)"),
    ALIAS("greater_equal.Tensor(Tensor self, Tensor other)"),
    ALIAS("greater_equal.Scalar(Tensor self, Scalar other)"),
    ALIAS("less.Tensor(Tensor self, Tensor other)"),
    ALIAS("less.Scalar(Tensor self, Scalar other)"),
    ALIAS("less_equal.Tensor(Tensor self, Tensor other)"),
    ALIAS("less_equal.Scalar(Tensor self, Scalar other)"),
    ALIAS("not_equal.Tensor(Tensor self, Tensor other)"),
    ALIAS("not_equal.Scalar(Tensor self, Scalar other)"),
    ALIAS("special_xlogy(Tensor self, Tensor other)"),
    ALIAS("special_xlogy.self_scalar(Scalar self, Tensor other)"),
    ALIAS("special_xlogy.other_scalar(Tensor self, Scalar other)"),
    {0}};
