/* Losses of predictions and targets as compositions of other operators: mse, l1, huber, binary cross-entropy, kl_div, margins. Each has a value for
 * every element or sample; `reduction` 0 gives these values, 1 their mean, 2 their sum. loss_nll.c has nll_loss and cross_entropy. */
#include "op/lower.h"
#include "op/shape.h"

static tc_value *reduce(tc_emit *e, tc_value *v, int64_t reduction) {
    return reduction == 1 ? tc_e1(e, "aten::mean", v) : reduction == 2 ? tc_e1(e, "aten::sum", v) : v;
}
static tc_value *where_s(tc_emit *e, tc_value *c, tc_value *a, double b) { return tc_emit_call(e, "aten::where.ScalarOther", "vvf", c, a, b); }

/* a - b, where a bool operand becomes a number. Operands that do not broadcast are refused by the operators, as in PyTorch. */
static tc_value *difference(tc_emit *e, tc_value *a, tc_value *b) {
    if (!a || !b) return NULL;
    if (a->meta.dtype == TC_BOOL) a = tc_e_cast(e, a, b->meta.dtype);
    else if (b->meta.dtype == TC_BOOL) b = tc_e_cast(e, b, a->meta.dtype);
    return tc_e_sub(e, a, b);
}
static tc_status decompose_mse(tc_emit *e, const tc_node *n) {
    tc_value *d = difference(e, tc_arg_value(n, 0), tc_arg_value(n, 1));
    if (d && tc_is_complex(d->meta.dtype)) return tc_e_refuse(n, "NotImplementedError: not implemented for '%s'", tc_dtypes[d->meta.dtype].torch);
    tc_emit_result(e, 0, reduce(e, tc_e_mul(e, d, d), tc_arg_int(n, 2)));
    return tc_e_done(e);
}
static tc_value *mean_scaled(tc_emit *e, tc_value *v, const tc_value *like, int64_t reduction) {
    tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_meta_numel(tc_e_sym(e), &like->meta)};
    return v && reduction == 1 ? tc_emit_call(e, "aten::div.Tensor", "va", v, &by) : v;
}
static tc_status decompose_mse_backward(tc_emit *e, const tc_node *n) { /* grad_output, self, target, reduction */
    tc_value *d = difference(e, tc_arg_value(n, 1), tc_arg_value(n, 2));
    tc_emit_result(e, 0, mean_scaled(e, tc_e_mul(e, tc_e_muls(e, d, 2), tc_arg_value(n, 0)), tc_arg_value(n, 1), tc_arg_int(n, 3)));
    return tc_e_done(e);
}
static tc_status decompose_l1(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, reduce(e, tc_e1(e, "aten::abs", tc_e_sub(e, tc_arg_value(n, 0), tc_arg_value(n, 1))), tc_arg_int(n, 2)));
    return tc_e_done(e);
}
/* x^2 where it is taken, |x| <= limit: clamped, so that an infinite x, which takes the other branch, has no infinite gradient here. */
static tc_value *square_within(tc_emit *e, tc_value *x, double limit) {
    x = tc_emit_call(e, "aten::clamp", "vff", x, -limit, limit);
    return tc_e_mul(e, x, x);
}
static tc_status decompose_smooth_l1(tc_emit *e, const tc_node *n) { /* d < beta: d^2 / (2 beta), else d - beta / 2 */
    double beta = tc_arg_float(n, 3);
    if (beta < 0) return tc_e_refuse(n, "smooth_l1_loss does not support negative values for beta.");
    tc_value *x = difference(e, tc_arg_value(n, 0), tc_arg_value(n, 1)), *d = tc_e1(e, "aten::abs", x);
    if (beta > 0)
        d = tc_e3(e, "aten::where.self", tc_emit_call(e, "aten::lt.Scalar", "vf", d, beta), tc_e_muls(e, square_within(e, x, beta), 0.5 / beta),
                  tc_e_adds(e, d, -0.5 * beta));
    tc_emit_result(e, 0, reduce(e, d, tc_arg_int(n, 2)));
    return tc_e_done(e);
}
/* The result has self's type and, before the reduction, self's sizes. */
static tc_status shape_like_self(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *x = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &d));
    bool fits = d.rank == x->rank;
    for (int k = 0; fits && k < d.rank; k++) fits = tc_sh_same(c, d.size[k], x->size[k]);
    if (!fits) return tc_sh_fail(c, "output with the shape of 'self' doesn't match the broadcast shape");
    const tc_dtype t = tc_sh_result_type(c, 2, (int[]){0, 1});
    if (tc_dtype_kind(t) > tc_dtype_kind(x->dtype))
        return tc_sh_fail(c, "result type %s can't be cast to the desired output type %s", tc_dtypes[t].torch, tc_dtypes[x->dtype].torch);
    return tc_shape_decomposed(c);
}
static tc_status decompose_huber(tc_emit *e, const tc_node *n) { /* d <= delta: d^2 / 2, else delta (d - delta / 2) */
    double delta = tc_arg_float(n, 3);
    if (delta <= 0) return tc_e_refuse(n, "huber_loss does not support non-positive values for delta.");
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    tc_dtype type = a && b ? tc_dtype_promote(a->meta.dtype, b->meta.dtype) : TC_F32, wide = tc_dtype_compute(type); /* rounded once */
    tc_value *x = tc_e_sub(e, tc_e_cast(e, a, wide), tc_e_cast(e, b, wide)), *d = tc_e1(e, "aten::abs", x);
    d = tc_e3(e, "aten::where.self", tc_emit_call(e, "aten::le.Scalar", "vf", d, delta), tc_e_muls(e, square_within(e, x, delta), 0.5),
              tc_e_muls(e, tc_e_adds(e, d, -0.5 * delta), delta));
    tc_emit_result(e, 0, reduce(e, tc_e_cast(e, d, a->meta.dtype), tc_arg_int(n, 2)));
    return tc_e_done(e);
}
static tc_status same_size(const tc_node *n, int a, int b) {
    const tc_meta *x = tc_arg_meta(n, a), *y = tc_arg_meta(n, b);
    tc_symctx *s = n->graph->program->sym;
    bool ok = x && y && x->rank == y->rank;
    for (int k = 0; ok && k < x->rank; k++) ok = !tc_sym_differ(s, x->size[k], y->size[k]);
    return ok ? NULL
              : tc_error(
                    TC_CONTENT,
                    "ValueError: %s: Using a target size that is different to the input size is deprecated. Please ensure they have the same size.",
                    tc_op_name(n->op));
}
/* -w (t max(log x, -100) + (1 - t) max(log(1 - x), -100)) */
static tc_value *bce(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    tc_value *a = tc_emit_call(e, "aten::clamp_min", "vf", tc_e1(e, "aten::log1p", tc_e_neg(e, x)), -100.0),
             *b = tc_emit_call(e, "aten::clamp_min", "vf", tc_e1(e, "aten::log", x), -100.0);
    tc_value *v = tc_e_sub(e, tc_e_mul(e, tc_e_adds(e, t, -1), a), tc_e_mul(e, t, b));
    return w ? tc_e_mul(e, v, w) : v;
}
static tc_status decompose_bce(tc_emit *e, const tc_node *n) {
    TC_TRY(same_size(n, 0, 1));
    for (int k = 1; k < 3; k++) {
        const tc_meta *x = tc_arg_meta(n, 0), *m = tc_arg_meta(n, k);
        if (m && tc_dtype_promote(x->dtype, m->dtype) != x->dtype)
            return tc_e_refuse(n, "result type %s can't be cast to the desired output type %s", tc_dtypes[m->dtype].torch, tc_dtypes[x->dtype].torch);
    }
    tc_e_require_unit(e, tc_arg_value(n, 0), "all elements of input should be between 0 and 1");
    tc_e_require_unit(e, tc_arg_value(n, 1), "all elements of target should be between 0 and 1");
    tc_emit_result(e, 0, reduce(e, bce(e, n), tc_arg_int(n, 3)));
    return tc_e_done(e);
}
static tc_value *bce_backward(tc_emit *e, tc_value *g, tc_value *x, tc_value *t, tc_value *w,
                              int64_t reduction) { /* g (x - t) / max((1 - x) x, 1e-12) */
    tc_value *d = tc_emit_call(e, "aten::clamp_min", "vf", tc_e_mul(e, tc_e_adds(e, tc_e_neg(e, x), 1), x), 1e-12);
    tc_value *r = tc_e_div(e, tc_e_mul(e, g, tc_e_sub(e, x, t)), d);
    return mean_scaled(e, w ? tc_e_mul(e, r, w) : r, x, reduction);
}
static tc_status decompose_bce_backward(tc_emit *e, const tc_node *n) { /* grad_output, self, target, weight, reduction */
    tc_emit_result(e, 0, bce_backward(e, tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 3), tc_arg_int(n, 4)));
    return tc_e_done(e);
}
/* PyTorch has no formula for the weights of these losses. */
static tc_status refuse_weights(tc_emit *e, const tc_node *n, int last) {
    for (int i = 2; i <= last; i++)
        if (tc_emit_wants_grad(e, n, i))
            return tc_error(TC_CONTENT,
                            "The function '%s' is not differentiable with respect to argument '%s'. This input cannot have requires_grad True.",
                            tc_op_schema(n->op)->name, tc_op_schema(n->op)->params[i].name);
    return NULL;
}
static tc_status grad_bce(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    TC_TRY(refuse_weights(e, n, 2));
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 2);
    int64_t reduction = tc_arg_int(n, 3);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, "aten::binary_cross_entropy_backward", "vaaaa", gs[0], &n->args[0], &n->args[1], &n->args[2], &n->args[3]));
    if (tc_emit_wants_grad(e, n, 1)) {
        tc_value *d = tc_e_sub(e, tc_e1(e, "aten::log1p", tc_e_neg(e, x)), tc_e1(e, "aten::log", x)), *r = tc_e_mul(e, d, gs[0]);
        tc_e_give(e, n, 1, mean_scaled(e, w ? tc_e_mul(e, r, w) : r, x, reduction));
    }
    return tc_e_done(e);
}
/* PyTorch multiplies the weight into the losses in place, so it must not have more elements along a dimension, nor more dimensions, nor be complex. */
static tc_status need_no_wider(const tc_op *op, const tc_meta *w, const tc_meta *of) {
    if (tc_is_complex(w->dtype) && !tc_is_complex(of->dtype))
        return tc_error(TC_CONTENT, "%s: result type %s can't be cast to the desired output type %s", tc_op_name(op), tc_dtypes[w->dtype].torch,
                        tc_dtypes[of->dtype].torch);
    bool wider = w->rank > of->rank;
    for (int k = 1; !wider && k <= w->rank; k++) wider = tc_sym_is_int(of->size[of->rank - k], 1) && !tc_sym_is_int(w->size[w->rank - k], 1);
    if (!wider) return NULL;
    tc_buf b = {0};
    tc_sym_print_list(&b, w->size, w->rank);
    tc_buf_puts(&b, ", which does not broadcast to that of the target, ");
    tc_sym_print_list(&b, of->size, of->rank);
    tc_status s = tc_error(TC_CONTENT, "%s: the weight has shape %s", tc_op_name(op), tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}
static tc_status shape_bce(tc_shape_ctx *c) {
    tc_dims none = {0};
    TC_TRY(tc_sh_need_float(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *x = tc_sh_meta(c, 0), *t = tc_sh_meta(c, 1);
    if (t->dtype != x->dtype) return tc_sh_fail(c, "Found dtype %s of target but expected %s", tc_dtypes[t->dtype].torch, tc_dtypes[x->dtype].torch);
    bool ok = x->rank == t->rank;
    for (int k = 0; ok && k < x->rank; k++) ok = tc_sh_same(c, x->size[k], t->size[k]);
    if (!ok)
        return tc_sh_fail_as(c, "ValueError",
                             "Using a target size that is different to the input size is deprecated. Please ensure they have the same size.");
    if (tc_sh_meta(c, 2)) TC_TRY(need_no_wider(c->op, tc_sh_meta(c, 2), x));
    return tc_sh_const(c, 3) == 0 ? tc_sh_out_pointwise(c, 0, x->dtype, 2, (int[]){0, 1}) : tc_sh_out(c, 0, x->dtype, &none);
}
/* (1 - t) x - log_weight log_sigmoid(x), rounded in the target's type after each step, because PyTorch writes each into 1 - t; log_weight multiplies
 * log_sigmoid(x) in the type of x. */
static tc_status decompose_bce_logits(tc_emit *e, const tc_node *n) { /* self, target, weight, pos_weight, reduction */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2), *pw = tc_arg_value(n, 3), *v;
    const tc_dtype type = t->meta.dtype;
    if (type != TC_BOOL && tc_dtype_kind(type) < tc_dtype_kind(x->meta.dtype))
        return tc_e_refuse(n, "result type %s can't be cast to the desired output type %s", tc_dtypes[x->meta.dtype].torch, tc_dtypes[type].torch);
    if (w) TC_TRY(need_no_wider(n->op, &w->meta, &t->meta));
    if (pw) TC_TRY(need_no_wider(n->op, &pw->meta, &t->meta));
    tc_value *rest = type == TC_BOOL ? tc_emit_call(e, "aten::rsub.Scalar", "vi", t, (int64_t)1) : tc_e_adds(e, tc_e_neg(e, t), 1);
    tc_value *keep = tc_e_cast(e, tc_e_mul(e, rest, x), type), *ls = tc_e1(e, "aten::log_sigmoid", x);
    if (pw) ls = tc_e_cast(e, tc_e_mul(e, tc_e_adds(e, tc_e_mul(e, tc_e_adds(e, pw, -1), t), 1), ls), x->meta.dtype);
    v = tc_e_cast(e, tc_e_sub(e, keep, ls), type);
    if (w) v = tc_e_cast(e, tc_e_mul(e, v, w), type);
    tc_emit_result(e, 0, reduce(e, v, tc_arg_int(n, 4)));
    return tc_e_done(e);
}
/* With p the pos_weight: g weight ((p t + 1 - t) sigmoid(x) - p t), and for the target g weight (log_sigmoid(-x) - p log_sigmoid(x)), which is -x
 * without p. That of the composition would cancel in 16 bits. */
static tc_status grad_bce_logits(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    TC_TRY(refuse_weights(e, n, 3));
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2), *pw = tc_arg_value(n, 3), *d[2] = {NULL, NULL};
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *s = tc_e1(e, "aten::sigmoid", x), *pt = pw ? tc_e_mul(e, pw, t) : t;
        d[0] = tc_e_sub(e, pw ? tc_e_mul(e, tc_e_sub(e, tc_e_adds(e, pt, 1), t), s) : s, pt);
    }
    if (tc_emit_wants_grad(e, n, 1)) {
        d[1] = tc_e_neg(e, x);
        if (pw) d[1] = tc_e_sub(e, tc_e1(e, "aten::log_sigmoid", d[1]), tc_e_mul(e, tc_e1(e, "aten::log_sigmoid", x), pw));
    }
    for (int i = 0; i < 2; i++) {
        if (!d[i]) continue;
        tc_value *r = tc_e_mul(e, d[i], gs[0]);
        tc_e_give(e, n, i, mean_scaled(e, w ? tc_e_mul(e, r, w) : r, x, tc_arg_int(n, 4)));
    }
    return tc_e_done(e);
}
static tc_status decompose_kl_div(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1);
    if (tc_is_integral(x->meta.dtype) || tc_is_integral(t->meta.dtype)) return tc_e_refuse(n, "kl_div: Integral inputs not supported.");
    tc_value *v = tc_arg_bool(n, 3) ? tc_e_mul(e, tc_e1(e, "aten::exp", t), tc_e_sub(e, t, x))
                                    : tc_e_sub(e, tc_e2(e, "aten::xlogy.Tensor", t, t), tc_e_mul(e, t, x));
    tc_emit_result(e, 0, reduce(e, v, tc_arg_int(n, 2)));
    return tc_e_done(e);
}
static tc_status decompose_soft_margin(tc_emit *e, const tc_node *n) {
    tc_value *v = tc_e1(e, "aten::log1p", tc_e1(e, "aten::exp", tc_e_neg(e, tc_e_mul(e, tc_arg_value(n, 1), tc_arg_value(n, 0)))));
    tc_emit_result(e, 0, reduce(e, tc_e_cast(e, v, tc_arg_meta(n, 0)->dtype), tc_arg_int(n, 2)));
    return tc_e_done(e);
}
static tc_status decompose_hinge_embedding(tc_emit *e, const tc_node *n) { /* t = 1: x; t = -1: max(0, margin - x), margin in the type of x */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1);
    tc_value *margin = tc_emit_call(e, "aten::full_like", "vf", x, tc_arg_float(n, 2));
    tc_value *far = tc_emit_call(e, "aten::clamp_min", "vi", tc_e_sub(e, margin, x), (int64_t)0);
    tc_value *a = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_emit_call(e, "aten::ne.Scalar", "vi", t, (int64_t)1), far, (int64_t)0);
    tc_value *b = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_emit_call(e, "aten::ne.Scalar", "vi", t, (int64_t)-1), x, (int64_t)0);
    tc_emit_result(e, 0, reduce(e, tc_e_add(e, a, b), tc_arg_int(n, 3)));
    return tc_e_done(e);
}
static tc_status decompose_margin_ranking(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *t = tc_arg_value(n, 2);
    if (a->meta.rank != b->meta.rank || a->meta.rank != t->meta.rank)
        return tc_e_refuse(n,
                           "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %dD, input2: %dD, target: %dD ",
                           a->meta.rank, b->meta.rank, t->meta.rank);
    tc_value *v =
        tc_emit_call(e, "aten::clamp_min", "vi", tc_e_adds(e, tc_e_mul(e, tc_e_neg(e, t), tc_e_sub(e, a, b)), tc_arg_float(n, 3)), (int64_t)0);
    tc_emit_result(e, 0, reduce(e, v, tc_arg_int(n, 4)));
    return tc_e_done(e);
}
static tc_status decompose_poisson(tc_emit *e, const tc_node *n) { /* input, target, log_input, full, eps, reduction */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *v;
    double eps = tc_arg_float(n, 4);
    if (tc_arg_bool(n, 2)) v = tc_e_sub(e, tc_e1(e, "aten::exp", x), tc_e_mul(e, t, x));
    else v = tc_e_sub(e, x, tc_e_mul(e, t, tc_e1(e, "aten::log", tc_e_adds(e, x, eps))));
    if (tc_arg_bool(n, 3)) { /* Stirling's term where t > 1 */
        tc_value *s = tc_e_add(e, tc_e_sub(e, tc_e_mul(e, t, tc_e1(e, "aten::log", t)), t),
                               tc_e_muls(e, tc_e1(e, "aten::log", tc_e_muls(e, t, 2 * 3.14159265358979323846)), 0.5));
        v = tc_e_add(e, v, where_s(e, tc_emit_call(e, "aten::gt.Scalar", "vi", t, (int64_t)1), s, 0));
    }
    tc_emit_result(e, 0, reduce(e, v, tc_arg_int(n, 5)));
    return tc_e_done(e);
}
static tc_status decompose_cosine_similarity(tc_emit *e, const tc_node *n) { /* sum(a b) / (max(|a|, eps) max(|b|, eps)) */
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    if (!a || !b) return tc_e_refuse(n, "expected two tensors");
    tc_dtype d = tc_dtype_promote(a->meta.dtype, b->meta.dtype);
    if (!tc_is_float(d)) return tc_e_refuse(n, "expected common dtype to be floating point");
    if (!(tc_arg_float(n, 3) >= 0)) return tc_e_refuse(n, "eps must be non-negative");
    tc_value *both = tc_emit_call(e, "aten::broadcast_tensors", "V", (tc_value *[]){tc_e_cast(e, a, d), tc_e_cast(e, b, d)}, 2);
    if (!both) return tc_e_done(e);
    int64_t dim = tc_arg_int(n, 2);
    tc_value *u[2];
    for (int k = 0; k < 2; k++) {
        tc_value *norm = tc_emit_call(e, "aten::linalg_vector_norm", "viIb", both->list[k], (int64_t)2, &dim, 1, 1);
        u[k] = tc_e_div(e, both->list[k], tc_emit_call(e, "aten::clamp_min", "va", norm, &n->args[3]));
    }
    tc_emit_result(e, 0, tc_e_sum_dims(e, tc_e_mul(e, u[0], u[1]), &dim, 1, false));
    return tc_e_done(e);
}
static tc_status decompose_cosine_embedding(tc_emit *e, const tc_node *n) { /* t = 1: 1 - cos; t = -1: max(0, cos - margin) */
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *t = tc_arg_value(n, 2);
    if (t->meta.rank > 1) return tc_e_refuse(n, "0D or 1D target tensor expected, multi-target not supported");
    if (a->meta.rank != t->meta.rank + 1 || b->meta.rank != t->meta.rank + 1)
        return tc_e_refuse(n, "%s", t->meta.rank == 1 ? "1D target tensor expects 2D input tensors" : "0D target tensor expects 1D input tensors");
    const double eps = 1e-12;
    int64_t dim = t->meta.rank;
    tc_value *ab = tc_e_sum_dims(e, tc_e_mul(e, a, b), &dim, 1, false), *aa = tc_e_adds(e, tc_e_sum_dims(e, tc_e_mul(e, a, a), &dim, 1, false), eps),
             *bb = tc_e_adds(e, tc_e_sum_dims(e, tc_e_mul(e, b, b), &dim, 1, false), eps);
    tc_value *c = tc_e_div(e, ab, tc_e1(e, "aten::sqrt", tc_e_mul(e, aa, bb)));
    tc_value *pos = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_emit_call(e, "aten::eq.Scalar", "vi", t, (int64_t)1),
                                 tc_e_adds(e, tc_e_neg(e, c), 1), (int64_t)0);
    tc_value *neg = tc_emit_call(e, "aten::clamp_min", "vi", tc_e_adds(e, c, -tc_arg_float(n, 3)), (int64_t)0);
    neg = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_emit_call(e, "aten::eq.Scalar", "vi", t, (int64_t)-1), neg, (int64_t)0);
    tc_emit_result(e, 0, reduce(e, tc_e_add(e, pos, neg), tc_arg_int(n, 4)));
    return tc_e_done(e);
}
static tc_value *distance(tc_emit *e, tc_value *a, tc_value *b, double p, double eps, bool keep) {
    return tc_emit_call(e, "aten::linalg_vector_norm", "vfIb", tc_e_adds(e, tc_e_sub(e, a, b), eps), p, (int64_t[]){-1}, 1, (int)keep);
}
static tc_status decompose_pairwise(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, distance(e, tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_float(n, 2), tc_arg_float(n, 3), tc_arg_bool(n, 4)));
    return tc_e_done(e);
}
static tc_status decompose_triplet(tc_emit *e, const tc_node *n) { /* anchor, positive, negative, margin, p, eps, swap, reduction */
    tc_value *a = tc_arg_value(n, 0), *pos = tc_arg_value(n, 1), *neg = tc_arg_value(n, 2);
    double p = tc_arg_float(n, 4), eps = tc_arg_float(n, 5), margin = tc_arg_float(n, 3);
    if (margin <= 0) return tc_e_refuse(n, "triplet_margin_loss: margin must be greater than 0");
    if (a->meta.rank != pos->meta.rank || a->meta.rank != neg->meta.rank)
        return tc_e_refuse(n,
                           "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, "
                           "positive %dD, and negative %dD inputs",
                           a->meta.rank, pos->meta.rank, neg->meta.rank);
    tc_value *dp = distance(e, a, pos, p, eps, false), *dn = distance(e, a, neg, p, eps, false);
    if (tc_arg_bool(n, 6)) dn = tc_e2(e, "aten::minimum", dn, distance(e, pos, neg, p, eps, false));
    tc_emit_result(e, 0,
                   reduce(e, tc_emit_call(e, "aten::clamp_min", "vi", tc_e_adds(e, tc_e_sub(e, dp, dn), margin), (int64_t)0), tc_arg_int(n, 7)));
    return tc_e_done(e);
}
/* Labels up to the first -1. The loss is sum of max(0, 1 - x[label] + x[other]) / C over all labels and all others. */
static tc_status decompose_multilabel_margin_forward(tc_emit *e, const tc_node *n) { /* self, target, reduction */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1);
    tc_symctx *s = tc_e_sym(e);
    int rank = x->meta.rank;
    if (rank > 2 || (rank && tc_sym_is_int(x->meta.size[rank - 1], 0)))
        return tc_e_refuse(n, "Expected non-empty vector or matrix with optional 0-dim batch size");
    bool ok = rank < 2 ? t->meta.rank < 2 : t->meta.rank == 2; /* a single class and its target may be a number or a vector */
    if (ok && rank < 2) ok = !tc_sym_differ(s, tc_meta_numel(s, &x->meta), tc_meta_numel(s, &t->meta));
    for (int k = 0; ok && rank == 2 && k < rank; k++) ok = !tc_sym_differ(s, x->meta.size[k], t->meta.size[k]);
    if (!ok) return tc_e_refuse(n, "inconsistent target size for input");
    if (t->meta.dtype != TC_I64) return tc_e_refuse(n, "expected scalar type Long but found %s", tc_dtypes[t->meta.dtype].torch);
    tc_dtype d = x->meta.dtype;
    tc_sym classes = rank ? x->meta.size[rank - 1] : tc_sym_int(s, 1), rows[2] = {rank == 2 ? x->meta.size[0] : tc_sym_int(s, 1), classes};
    tc_value *tv = tc_emit_call(e, "aten::reshape", "vS", t, rows, 2);
    x = tc_emit_call(e, "aten::reshape", "vS", tc_e_cast(e, x, tc_dtype_compute(d)), rows, 2);
    tc_value *ended = tc_emit_call(e, "aten::cumsum", "vi", tc_emit_call(e, "aten::lt.Scalar", "vi", tv, (int64_t)0), (int64_t)1);
    tc_value *valid = tc_emit_call(e, "aten::eq.Scalar", "vi", ended, (int64_t)0), *at = tc_emit_call(e, "aten::clamp_min", "vi", tv, (int64_t)0);
    tc_value *marks = tc_emit_call(e, "aten::scatter_add", "vivv", tc_e_zeros_like(e, tv), (int64_t)1, at, tc_e_cast(e, valid, TC_I64));
    tc_value *label = tc_emit_call(e, "aten::gt.Scalar", "vi", marks, (int64_t)0);
    tc_value *own = tc_emit_call(e, "aten::unsqueeze", "vi", tc_emit_call(e, "aten::gather", "viv", x, (int64_t)1, at), (int64_t)2);
    tc_value *z = tc_e1(e, "aten::relu", tc_e_adds(e, tc_e_sub(e, tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)1), own), 1));
    tc_value *counts = tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::unsqueeze", "vi", valid, (int64_t)2),
                             tc_e1(e, "aten::logical_not", tc_emit_call(e, "aten::unsqueeze", "vi", label, (int64_t)1)));
    tc_value *loss = tc_emit_call(e, "aten::sum.dim_IntList", "vI", where_s(e, counts, z, 0), (int64_t[]){1, 2}, 2);
    loss = tc_emit_call(e, "aten::div.Tensor", "va", loss, &(tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = classes});
    loss = reduce(e, loss, tc_arg_int(n, 2));
    if (rank < 2 && loss && loss->meta.rank) loss = tc_emit_call(e, "aten::squeeze.dim", "vi", loss, (int64_t)0);
    tc_emit_result(e, 0, tc_e_cast(e, loss, d));
    tc_emit_result(e, 1, tc_emit_call(e, "aten::reshape", "vS", tc_e_cast(e, label, d), t->meta.size, t->meta.rank));
    return tc_e_done(e);
}
static tc_status decompose_multilabel_margin(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::multilabel_margin_loss_forward", "aaa", &n->args[0], &n->args[1], &n->args[2]));
    return tc_e_done(e);
}
static tc_status decompose_multi_margin(tc_emit *e, const tc_node *n) { /* self, target, p, margin, weight, reduction */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 4);
    int64_t classes;
    double p = tc_arg_float(n, 2);
    if (p != 1 && p != 2) return tc_e_refuse(n, "only p == 1 and p == 2 supported");
    if (t->meta.dtype != TC_I64) return tc_e_refuse(n, "expected scalar type Long but found %s", tc_dtypes[t->meta.dtype].torch);
    if (t->meta.rank > 1) return tc_e_refuse(n, "multi_margin_loss: target tensor should be 1-D");
    if (!tc_is_float(x->meta.dtype))
        return tc_error(TC_CONTENT, "NotImplementedError: %s: \"multi_margin_loss\" not implemented for '%s'", tc_op_name(n->op),
                        tc_dtypes[x->meta.dtype].torch);
    if (w && w->meta.dtype != x->meta.dtype)
        return tc_e_refuse(n, "expected scalar type %s but found %s", tc_dtypes[x->meta.dtype].torch, tc_dtypes[w->meta.dtype].torch);
    bool single = x->meta.rank < 2, scalar = single && t && t->meta.rank == 0;
    if (x->meta.rank == 0) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    if (single) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0), t = tc_emit_call(e, "aten::reshape", "vI", t, (int64_t[]){1}, 1);
    if (!x || !t) return tc_e_done(e);
    if (x->meta.rank != 2 || t->meta.rank != 1) return tc_e_refuse(n, "inconsistent target size");
    if (!tc_e_pin(e, n, x->meta.size[1], &classes)) return tc_error(TC_UNSUPPORTED, "%s: a symbolic number of classes", tc_op_name(n->op));
    const tc_sym same = tc_sym_op(tc_e_sym(e), TC_S_EQ, x->meta.size[0], t->meta.size[0], NULL);
    if (!tc_e_guard(e, n, same)) return tc_e_refuse(n, "inconsistent target size");
    if (w && (w->meta.rank != 1 || !tc_e_guard(e, n, tc_sym_op(tc_e_sym(e), TC_S_EQ, w->meta.size[0], x->meta.size[1], NULL))))
        return tc_e_refuse(n, "inconsistent weight size, expected as many weights as classes");
    tc_value *i = tc_emit_call(e, "aten::unsqueeze", "vi", t, (int64_t)1), *at = tc_emit_call(e, "aten::gather", "viv", x, (int64_t)1, i);
    tc_value *z = tc_emit_call(e, "aten::clamp_min", "vi", tc_e_adds(e, tc_e_sub(e, x, at), tc_arg_float(n, 3)), (int64_t)0);
    if (p == 2) z = tc_e_mul(e, z, z);
    if (w) z = tc_e_mul(e, z, tc_emit_call(e, "aten::unsqueeze", "vi", tc_emit_call(e, "aten::index_select", "viv", w, (int64_t)0, t), (int64_t)1));
    tc_value *other = tc_e2(e, "aten::ne.Tensor", tc_emit_call(e, "aten::arange", "i", classes), i);
    z = tc_emit_call(e, "aten::div.Tensor", "vf", tc_e_sum_dims(e, where_s(e, other, z, 0), (int64_t[]){1}, 1, false), (double)classes);
    int64_t r = tc_arg_int(n, 5);
    tc_emit_result(e, 0, r == 0 && scalar ? tc_emit_call(e, "aten::squeeze.dim", "vi", z, (int64_t)0) : reduce(e, z, r));
    return tc_e_done(e);
}

#define LOSS(SCHEMA, name, sample, text) CHECKED_LOSS(SCHEMA, tc_shape_decomposed, name, sample, text)
#define CHECKED_LOSS(SCHEMA, shape_, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .decompose = decompose_##name, .samples = sample, .doc = text }
#define KEEPING_LOSS(SCHEMA, shape_, keeps_, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .decompose = decompose_##name, .keeps = keeps_, .samples = sample, .doc = text }
#define PICKING_LOSS(SCHEMA, name, sample, text)                                                                                           \
    {                                                                                                                                      \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_INDEX_RUNTIME, .shape = tc_shape_decomposed, .decompose = decompose_##name, \
        .samples = sample, .doc = text                                                                                                     \
    }
const tc_op tc_ops_loss[] = {
    KEEPING_LOSS("mse_loss(Tensor self, Tensor target, int reduction=Mean)", tc_shape_decomposed, " self target ", mse,
                 "mse_loss(f32[3,5], f32[3,5])", "(x - t)^2"),
    LOSS("mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)", mse_backward, NULL, "gradient of mse_loss"),
    KEEPING_LOSS("l1_loss(Tensor self, Tensor target, int reduction=Mean)", tc_shape_decomposed, " ", l1, "l1_loss(f32[3,5], f32[3,5])", "|x - t|"),
    KEEPING_LOSS("smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0)", tc_shape_decomposed, " self target ", smooth_l1,
                 "smooth_l1_loss(f32[3,5], f32[3,5])", "quadratic below beta, linear above"),
    KEEPING_LOSS("huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0)", shape_like_self, " self target ", huber,
                 "huber_loss(f32[3,5], f32[3,5])", "quadratic below delta, linear above"),
    {.schema = "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
     .shape = shape_bce,
     .decompose = decompose_bce,
     .grad = grad_bce,
     .samples = "binary_cross_entropy(f32[5]:0.1..0.9, f32[5]:0..1)",
     .doc = "-t log x - (1 - t) log(1 - x)"},
    LOSS("binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean)", bce_backward, NULL,
         "gradient of binary_cross_entropy"),
    {.schema = "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
               "reduction=Mean) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_bce_logits,
     .keeps = " self target weight pos_weight ",
     .grad = grad_bce_logits,
     .samples = "binary_cross_entropy_with_logits(f32[5], f32[5]:0..1)",
     .doc = "binary_cross_entropy of sigmoid(x)"},
    LOSS("kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False)", kl_div, "kl_div(f32[3,5], f32[3,5]:0.1..0.9)",
         "t (log t - x)"),
    CHECKED_LOSS("soft_margin_loss(Tensor self, Tensor target, int reduction=Mean)", shape_like_self, soft_margin, "soft_margin_loss(f32[5], f32[5])",
                 "log(1 + exp(-t x))"),
    LOSS("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean)", hinge_embedding,
         "hinge_embedding_loss(f32[5], i64[5])", "x where t = 1, max(0, margin - x) where t = -1"),
    LOSS("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean)", margin_ranking,
         "margin_ranking_loss(f32[5], f32[5], f32[5])", "max(0, -t (a - b) + margin)"),
    LOSS("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)", poisson,
         "poisson_nll_loss(f32[5], f32[5]:0.5..2, True, True, 1e-8, 1)", "exp(x) - t x"),
    KEEPING_LOSS("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", tc_shape_decomposed, " ", cosine_similarity,
                 "cosine_similarity(f32[3,5], f32[3,5])", "sum(a b) / (|a| |b|)"),
    LOSS("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean)", cosine_embedding,
         "cosine_embedding_loss(f32[3,5], f32[3,5], i64[3])", "1 - cos, or max(0, cos - margin)"),
    LOSS("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)", pairwise, "pairwise_distance(f32[3,5], f32[3,5])",
         "|x1 - x2 + eps|"),
    LOSS("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int "
         "reduction=Mean)",
         triplet, "triplet_margin_loss(f32[3,5], f32[3,5], f32[3,5])", "max(0, d(a, p) - d(a, n) + margin)"),
    PICKING_LOSS("multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean)", multilabel_margin,
                 "multilabel_margin_loss(f32[3,5], i64[3,5]:-1..4)", "sum max(0, 1 - x[label] + x[other]) / C"),
    {.schema = "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
     .flags = TC_OP_ONE_GRAD,
     .shape = tc_shape_decomposed,
     .decompose = decompose_multilabel_margin_forward,
     .doc = "multilabel_margin_loss, and 1 at the labels"},
    PICKING_LOSS("multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean)", multi_margin,
                 "multi_margin_loss(f32[3,5], i64[3]:0..4)", "sum max(0, margin - x[t] + x[i])^p / C"),
    {0}};
