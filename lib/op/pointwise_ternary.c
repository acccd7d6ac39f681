/* Pointwise functions of three tensors, broadcast against each other: where, clamp, lerp, addcmul, addcdiv. Kinks follow PyTorch: clamp
 * passes the gradient on the bounds. */
#include "op/lower.h"
#include "op/pointwise.h"
#include "op/shape.h"

/* ---- lowering ---- */

static tc_status lower_where(tc_lower *l) {
    const tc_dtype t = tc_arg_meta(l->node, 0)->dtype;
    tc_lv c = tc_l_in_as(l, 0, TC_DTYPE_NONE);
    if (t != TC_BOOL) c = tc_l_op2(l, TC_X_NE, c, tc_l_zero(l, tc_dtype_compute(t)));
    return tc_l_out(l, 0, tc_l_where(l, c, tc_l_in(l, 1), tc_l_in(l, 2)));
}
/* Is a bound of integers below (-1) or above (1) the range of their type? */
static int beyond(const tc_arg *a, tc_dtype d) {
    int64_t lo, hi;
    if (a->kind != TC_A_SCALAR || a->is_sym || a->scalar.kind != TC_KIND_INT || !tc_is_integral(d) || d == TC_BOOL) return 0;
    tc_dtype_int_range(d, &lo, &hi);
    return a->scalar.i < lo ? -1 : a->scalar.i > hi;
}
/* NaN stays: min(max(x, lo), hi) with the scalar's own order of NaN */
static tc_status clamp(tc_lower *l, int lo, int hi) {
    tc_lv x = tc_l_in(l, 0);
    const tc_dtype d = l->node->outs[0]->meta.dtype;
    if (lo > 0 && !tc_arg_is_none(l->node, lo) && !beyond(&l->node->args[lo], d)) x = tc_l_op2(l, TC_X_MAX, x, tc_l_in(l, lo));
    if (hi > 0 && !tc_arg_is_none(l->node, hi) && !beyond(&l->node->args[hi], d)) x = tc_l_op2(l, TC_X_MIN, x, tc_l_in(l, hi));
    return tc_l_out(l, 0, x);
}
static tc_status lower_clamp(tc_lower *l) { return clamp(l, 1, 2); }
static tc_status lower_clamp_min(tc_lower *l) { return clamp(l, 1, 0); }
static tc_status lower_clamp_max(tc_lower *l) { return clamp(l, 0, 1); }
/* from the nearer end: a + w (b - a), or b - (1 - w)(b - a) */
static tc_status lower_lerp(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv a = tc_l_in(l, 0), b = tc_l_in(l, 1), w = tc_l_in(l, 2), diff = tc_l_sub(l, b, a);
    tc_lv small = tc_l_op2(l, TC_X_LT, tc_l_op1(l, TC_X_ABS, w), tc_l_f(l, tc_dtype_real(d), 0.5));
    tc_lv coef = tc_l_where(l, small, w, tc_l_sub(l, w, tc_l_f(l, d, 1)));
    return tc_l_out(l, 0, tc_l_op3(l, TC_X_FMA, coef, diff, tc_l_where(l, small, a, b)));
}
static tc_status lower_addcmul(tc_lower *l) { /* self + (value t1) t2, with one rounding of the second product and the sum, as in PyTorch */
    tc_lv self = tc_l_in(l, 0), t1 = tc_l_in(l, 1), t2 = tc_l_in(l, 2);
    const tc_dtype d = tc_l_type(l, 0);
    if (!is_number(l->node, 3, 1)) t1 = tc_l_mul(l, tc_l_in(l, 3), t1);
    return tc_l_out(l, 0, tc_is_integral(d) || tc_is_complex(d) ? tc_l_add(l, self, tc_l_mul(l, t1, t2)) : tc_l_op3(l, TC_X_FMA, t1, t2, self));
}
static tc_status lower_addcdiv(tc_lower *l) {
    tc_lv t = tc_l_in(l, 1);
    if (!is_number(l->node, 3, 1)) t = tc_l_mul(l, tc_l_in(l, 3), t);
    return tc_l_out(l, 0, tc_l_add(l, tc_l_in(l, 0), tc_l_div(l, t, tc_l_in(l, 2))));
}

/* ---- shapes ---- */
static bool number_fits(const tc_shape_ctx *c, int i, tc_dtype d) {
    const tc_arg *a = &c->args[i];
    return a->kind != TC_A_SCALAR || a->is_sym || tc_scalar_fits(a->scalar, d);
}
static tc_status shape_where(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype cond = tc_sh_meta(c, 0)->dtype;
    if (cond != TC_BOOL && cond != TC_U8)
        return tc_sh_fail(c, "where expected condition to be a boolean tensor, but got a tensor with dtype %s", tc_dtypes[cond].torch);
    const tc_dtype d = tc_sh_result_type(c, 2, (int[]){1, 2});
    for (int i = 1; i < 3; i++)
        if (tc_is_integral(d) && !number_fits(c, i, d))
            return tc_sh_fail(c, "value cannot be converted to type %s without overflow", tc_dtypes[d].torch);
    return tc_sh_out_pointwise(c, 0, d, 3, (int[]){0, 1, 2});
}
/* The result type of clamp includes the bounds that are given. */
static tc_status shape_clamp(tc_shape_ctx *c) {
    int a[3] = {0}, n = 1;
    for (int i = 1; i < c->nargs && i < 3; i++)
        if (tc_sh_given(c, i)) a[n++] = i;
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (n == 1) return tc_sh_fail(c, "At least one of 'min' or 'max' must not be None");
    const tc_dtype d = tc_sh_result_type(c, n, a);
    for (int i = 1; i < n; i++) {
        const char *name = tc_op_schema(c->op)->params[a[i]].name;
        if (beyond(&c->args[a[i]], d) == (strcmp(name, "min") ? -1 : 1))
            return tc_sh_fail(c, "Clamp %s value %lld is outside the representable range of %s", name, (long long)c->args[a[i]].scalar.i,
                              tc_dtypes[d].torch);
        if (!tc_is_integral(d) && !number_fits(c, a[i], d))
            return tc_sh_fail(c, "value cannot be converted to type %s without overflow", tc_dtypes[d].torch);
    }
    return tc_sh_out_pointwise(c, 0, d, n, a);
}
static tc_status shape_lerp(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    tc_dtype d = tc_sh_meta(c, 0)->dtype;
    for (int i = 1; i < 3; i++)
        if (tc_sh_meta(c, i) && tc_sh_meta(c, i)->dtype != d)
            return tc_sh_fail(c, "expected dtype %s for `%s` but got dtype %s", tc_dtypes[d].torch, i == 1 ? "end" : "weight",
                              tc_dtypes[tc_sh_meta(c, i)->dtype].torch);
    TC_TRY(tc_sh_need_float(c, 0));
    return tc_sh_out_pointwise(c, 0, d, 3, (int[]){0, 1, 2});
}
static tc_status shape_addcdiv(tc_shape_ctx *c) {
    TC_TRY(tc_shape_ternary(c));
    if (tc_is_integral(tc_sh_result_type(c, 2, (int[]){1, 2})))
        return tc_sh_fail(
            c, "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true division of tensor1 "
               "and tensor2.");
    return NULL;
}

/* ---- gradients ---- */
static tc_status grad_where(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *c = tc_arg_value(n, 0);
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, only(e, c, gs[0]));
    if (tc_emit_wants_grad(e, n, 2)) tc_e_give(e, n, 2, except(e, c, gs[0]));
    return tc_e_done(e);
}
/* Bounds that are numbers: g strictly between them. */
static tc_status clamp_grad_numbers(tc_emit *e, const tc_node *n, tc_value *const *gs, int lo, int hi) {
    tc_value *above = lo ? args2(e, "aten::gt.Scalar", n, 0, lo) : NULL, *below = hi ? args2(e, "aten::lt.Scalar", n, 0, hi) : NULL;
    tc_value *in = above && below ? tc_e2(e, "aten::logical_and", above, below) : above ? above : below;
    tc_e_give(e, n, 0, in ? only(e, in, gs[0]) : gs[0]);
    return tc_e_done(e);
}
/* One bound: as for maximum and minimum. */
static tc_status clamp_grad_one(tc_emit *e, const tc_node *n, tc_value *const *gs, int bound, bool low) {
    tc_value *share = tc_e3(e, "aten::where.self", args2(e, "aten::eq.Tensor", n, 0, bound), tc_e_muls(e, gs[0], 0.5), gs[0]);
    tc_value *under = args2(e, "aten::lt.Tensor", n, 0, bound), *over = args2(e, "aten::gt.Tensor", n, 0, bound);
    tc_e_give(e, n, 0, except(e, low ? under : over, share));
    if (tc_emit_wants_grad(e, n, bound)) tc_e_give(e, n, bound, except(e, low ? over : under, share));
    return tc_e_done(e);
}
/* Bounds that are tensors: the operand that gives the result gets g; self and a bound equal to it share g, unless the bounds are equal too. */
static tc_status clamp_grad(tc_emit *e, const tc_node *n, tc_value *const *gs, int lo, int hi) {
    lo = lo > 0 && !tc_arg_is_none(n, lo) ? lo : 0, hi = hi > 0 && !tc_arg_is_none(n, hi) ? hi : 0;
    if (!(lo && tc_arg_value(n, lo)) && !(hi && tc_arg_value(n, hi))) return clamp_grad_numbers(e, n, gs, lo, hi);
    if (!lo || !hi) return clamp_grad_one(e, n, gs, lo ? lo : hi, lo != 0);
    tc_value *apart = args2(e, "aten::lt.Tensor", n, lo, hi), *crossed = args2(e, "aten::gt.Tensor", n, lo, hi);
    tc_value *half = tc_e_muls(e, gs[0], 0.5), *share = gs[0];
    int bound[2] = {lo, hi};
    const char *const beyond[2] = {"aten::lt.Tensor", "aten::gt.Tensor"};
    for (int i = 0; i < 2; i++) {
        tc_value *over = args2(e, beyond[i], n, 0, bound[i]);
        tc_value *tie = tc_e2(e, "aten::logical_and", args2(e, "aten::eq.Tensor", n, 0, bound[i]), apart);
        share = except(e, over, tc_e3(e, "aten::where.self", tie, half, share));
        if (!tc_emit_wants_grad(e, n, bound[i])) continue;
        tc_value *its = i ? tc_e2(e, "aten::logical_or", tc_e2(e, "aten::logical_and", over, args2(e, "aten::le.Tensor", n, lo, hi)), crossed)
                          : tc_e2(e, "aten::logical_and", over, args2(e, "aten::le.Tensor", n, lo, hi));
        tc_e_give(e, n, bound[i], tc_e_add(e, only(e, its, gs[0]), only(e, tie, half)));
    }
    tc_value *number = tc_e1(e, "aten::logical_not", tc_e1(e, "aten::isnan", tc_arg_value(n, 0))); /* NaN in self gives NaN for any bounds */
    tc_e_give(e, n, 0, except(e, tc_e2(e, "aten::logical_and", crossed, number), share));
    return tc_e_done(e);
}
static tc_status grad_clamp(tc_emit *e, const tc_node *n, tc_value *const *gs) { return clamp_grad(e, n, gs, 1, 2); }
static tc_status grad_clamp_min(tc_emit *e, const tc_node *n, tc_value *const *gs) { return clamp_grad(e, n, gs, 1, 0); }
static tc_status grad_clamp_max(tc_emit *e, const tc_node *n, tc_value *const *gs) { return clamp_grad(e, n, gs, 0, 1); }
/* g (1 - weight), in PyTorch's order of operations: visible in 16 bits */
static tc_value *times_rest(tc_emit *e, tc_value *g, const tc_node *n) {
    tc_value *w = tc_arg_value(n, 2);
    if (w && w->kind == TC_V_TENSOR) return tc_e_mul(e, g, tc_emit_call(e, "aten::rsub.Scalar", "vi", w, (int64_t)1));
    if (w || n->args[2].is_sym) return tc_e_sub(e, g, times(e, g, n, 2));
    tc_scalar s = tc_arg_scalar(n, 2);
    if (s.kind == TC_KIND_COMPLEX) s.re = 1 - s.re, s.im = -s.im;
    else s = tc_scalar_float(1 - tc_scalar_to_double(s));
    return tc_emit_call(e, "aten::mul.Tensor", "vz", g, s);
}
static tc_status grad_lerp(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) give(e, n, 0, times_rest(e, conjugate(e, gs[0]), n));
    if (tc_emit_wants_grad(e, n, 1)) give(e, n, 1, times(e, conjugate(e, gs[0]), n, 2));
    if (tc_emit_wants_grad(e, n, 2)) give(e, n, 2, tc_e_mul(e, conjugate(e, gs[0]), args2(e, "aten::sub.Tensor", n, 1, 0)));
    return tc_e_done(e);
}
static tc_status grad_addcmul(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = conjugate(e, gs[0]);
    give(e, n, 0, g);
    for (int i = 1; i < 3; i++)
        if (tc_emit_wants_grad(e, n, i)) give(e, n, i, tc_e_mul(e, g, scaled(e, tc_arg_value(n, 3 - i), n, 3)));
    return tc_e_done(e);
}
static tc_status grad_addcdiv(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = conjugate(e, gs[0]), *d = tc_arg_value(n, 2); /* the factors of g first, as in PyTorch: visible in 16 bits */
    give(e, n, 0, g);
    if (tc_emit_wants_grad(e, n, 1)) give(e, n, 1, tc_e_mul(e, g, scaled(e, tc_e1(e, "aten::reciprocal", d), n, 3)));
    if (tc_emit_wants_grad(e, n, 2)) give(e, n, 2, tc_e_neg(e, tc_e_mul(e, g, tc_e_div(e, scaled(e, tc_arg_value(n, 1), n, 3), tc_e_mul(e, d, d)))));
    return tc_e_done(e);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
const tc_op tc_ops_pointwise_ternary[] = {
    ROW("where.self(Tensor condition, Tensor self, Tensor other)", shape_where, lower_where, grad_where,
        "where(bool[5], f32[3,5], f32[5]); where(bool[5], c64[3,5], f32[5])", "self where condition, else other"),
    ROW("where.ScalarSelf(Tensor condition, Scalar self, Tensor other)", shape_where, lower_where, grad_where, "where(bool[5], 0, f32[5])",
        "self where condition, else other"),
    ROW("where.ScalarOther(Tensor condition, Tensor self, Scalar other)", shape_where, lower_where, grad_where, "where(bool[5], f32[5], 0)",
        "self where condition, else other"),
    ROW("where.Scalar(Tensor condition, Scalar self, Scalar other)", shape_where, lower_where, grad_where, "where(bool[5], 1.5, 0)",
        "self where condition, else other"),
    ROW("clamp(Tensor self, Scalar? min=None, Scalar? max=None)", shape_clamp, lower_clamp, grad_clamp,
        "clamp(f32[5], -0.5, 0.5); clamp(i64[5], max=3)", "min(max(self, min), max)"),
    ROW("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)", shape_clamp, lower_clamp, grad_clamp, "clamp(f32[3,5], f32[5])",
        "min(max(self, min), max)"),
    ROW("clamp_min(Tensor self, Scalar min)", shape_clamp, lower_clamp_min, grad_clamp_min, "clamp_min(f32[5], 0)", "max(self, min)"),
    ROW("clamp_min.Tensor(Tensor self, Tensor min)", shape_clamp, lower_clamp_min, grad_clamp_min, "clamp_min(f32[5], f32[5])", "max(self, min)"),
    ROW("clamp_max(Tensor self, Scalar max)", shape_clamp, lower_clamp_max, grad_clamp_max, "clamp_max(f32[5], 0)", "min(self, max)"),
    ROW("clamp_max.Tensor(Tensor self, Tensor max)", shape_clamp, lower_clamp_max, grad_clamp_max, "clamp_max(f32[5], f32[5])", "min(self, max)"),
    ROW("lerp.Scalar(Tensor self, Tensor end, Scalar weight)", shape_lerp, lower_lerp, grad_lerp, "lerp(f32[5], f32[5], 0.25)",
        "self + weight (end - self)"),
    ROW("lerp.Tensor(Tensor self, Tensor end, Tensor weight)", shape_lerp, lower_lerp, grad_lerp,
        "lerp(f32[5], f32[5], f32[5]); lerp(c64[5], c64[5], c64[5])", "self + weight (end - self)"),
    ROW("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", tc_shape_ternary, lower_addcmul, grad_addcmul,
        "addcmul(f32[5], f32[3,5], f32[5], value=0.5); addcmul(c64[5], c64[3,5], c64[5])", "self + value tensor1 tensor2"),
    ROW("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", shape_addcdiv, lower_addcdiv, grad_addcdiv,
        "addcdiv(f32[5], f32[3,5], f32[5]:0.5..2, value=0.5)", "self + value tensor1 / tensor2"),
    {0}};
