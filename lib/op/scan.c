/* Scans along one dimension: cumsum, cumprod, logcumsumexp, and cummax and cummin with indices.
 *
 *     %0 = load x[...]      %1 = scan sum %0 along a_dim      store y = %1
 *
 * Terms are accumulated in order, floats in float64 (tc-numerics(7), "Sums"). */
#include "op/lower.h"
#include "op/shape.h"

/* ---- shapes ---- */
static tc_status shape_scan(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    tc_dims dims = tc_dims_of(m);
    if (c->nouts == 2) {
        TC_TRY(tc_sh_out(c, 1, TC_I64, &dims));
        return tc_sh_out(c, 0, m->dtype, &dims);
    }
    const tc_dtype own = tc_is_integral(m->dtype) ? TC_I64 : m->dtype; /* integers are summed in int64 */
    return tc_sh_out(c, 0, c->nargs > 2 ? tc_sh_dtype(c, 2, own) : own, &dims);
}

static tc_status shape_float_scan(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (!tc_is_float(tc_sh_meta(c, 0)->dtype) && !tc_is_complex(tc_sh_meta(c, 0)->dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "logcumsumexp(): Expected floating point or complex dtype, got %s",
                             tc_dtypes[tc_sh_meta(c, 0)->dtype].torch);
    return shape_scan(c);
}

/* ---- lowering ---- */
static tc_status scan(tc_lower *l, tc_reduce_op op) {
    tc_lv x = tc_l_in(l, 0);
    if (l->result_axes == 0) return tc_l_out(l, 0, x); /* -0 stays */
    return tc_l_out(l, 0, tc_l_scan(l, op, x, tc_wrap(tc_arg_int(l->node, 1), l->result_axes)));
}
static tc_status lower_logcumsumexp(tc_lower *l) { return scan(l, TC_R_LOGADDEXP); }
static tc_status lower_cumsum(tc_lower *l) { return scan(l, TC_R_SUM); }
static tc_status lower_cumprod(tc_lower *l) { return scan(l, TC_R_PROD); }
/* The index: the last position so far that has the running value. */
static tc_status running(tc_lower *l, tc_reduce_op op) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = tc_l_in(l, 0), zero = tc_l_int(l, 0);
    if (l->result_axes == 0) {
        TC_TRY(tc_l_out(l, 0, x));
        return tc_l_out(l, 1, zero);
    }
    int axis = tc_wrap(tc_arg_int(l->node, 1), l->result_axes);
    tc_lv y = tc_l_scan(l, op, x, axis), hit = tc_l_op2(l, TC_X_EQ, x, y);
    if (tc_is_float(d)) hit = tc_l_op2(l, TC_X_OR, hit, tc_l_op1(l, TC_X_ISNAN, x));
    TC_TRY(tc_l_out(l, 0, y));
    return tc_l_out(l, 1, tc_l_scan(l, TC_R_MAX, tc_l_where(l, hit, tc_l_index(l, tc_l_axis(l, axis)), zero), axis));
}
static tc_status lower_cummax(tc_lower *l) { return running(l, TC_R_MAX); }
static tc_status lower_cummin(tc_lower *l) { return running(l, TC_R_MIN); }

/* ---- gradients ---- */
/* cummax, cummin: each result is an element of x; the gradient of an element is the sum over the results that it gives. */
static tc_status grad_running(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0);
    if (!gs[0]) return NULL;
    if (x->meta.rank == 0) {
        tc_e_give(e, n, 0, gs[0]);
        return tc_e_done(e);
    }
    tc_value *zero = tc_e_zeros(e, &x->meta, gs[0]->meta.dtype);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::scatter_add", "vavv", zero, &n->args[1], n->outs[1], gs[0]));
    return tc_e_done(e);
}
/* In the operand's type, since the result's may have fewer bits. */
static tc_value *reverse_cumsum(tc_emit *e, tc_value *g, int64_t d, tc_dtype type) {
    if (!g || g->meta.rank == 0) return g;
    g = tc_e_cast(e, g, type);
    tc_value *f = tc_emit_call(e, "aten::flip", "vI", g, &d, 1);
    return tc_emit_call(e, "aten::flip", "vI", tc_emit_call(e, "aten::cumsum", "vi", f, d), &d, 1);
}
static tc_status grad_cumsum(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, reverse_cumsum(e, gs[0], tc_wrap(tc_arg_int(n, 1), gs[0]->meta.rank), tc_arg_meta(n, 0)->dtype));
    return tc_e_done(e);
}
static tc_value *reversed(tc_emit *e, tc_value *v, int64_t d) { return tc_emit_call(e, "aten::flip", "vI", v, &d, 1); }
/* exp(x + the reverse logcumsumexp of (log(g) - y)): sums of g e^(x - y) without overflow; g >= 0 or complex */
static tc_value *weighted_sums(tc_emit *e, tc_value *log_g, tc_value *x, tc_value *y, int64_t d) {
    tc_value *s = reversed(e, tc_emit_call(e, "aten::logcumsumexp", "vi", reversed(e, tc_e_sub(e, log_g, y), d), d), d);
    return tc_e1(e, "aten::exp", tc_e_add(e, s, x));
}
/* PyTorch's forward mode: running means of the tangents weighted by exp(x - max x), for complex numbers by exp(x). */
static tc_status logcumsumexp_jvp(tc_emit *e, const tc_node *n, tc_value *g, int64_t d) {
    tc_value *x = tc_arg_value(n, 0);
    if (!tc_is_complex(x->meta.dtype)) x = tc_e_sub(e, x, tc_emit_call(e, "aten::amax", "vIb", x, &d, 1, 1));
    x = tc_e_conj(e, tc_e1(e, "aten::exp", x));
    tc_value *weight = tc_e_adds(e, tc_emit_call(e, "aten::cumsum", "vi", x, d), 1e-13);
    tc_e_give(e, n, 0, tc_e_mul(e, x, reverse_cumsum(e, tc_e_div(e, g, weight), d, x ? x->meta.dtype : TC_F32)));
    return tc_e_done(e);
}
static tc_status grad_logcumsumexp(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *y = n->outs[0], *g = gs[0], *part[2];
    if (x->meta.rank == 0) {
        tc_e_give(e, n, 0, g);
        return tc_e_done(e);
    }
    int64_t d = tc_wrap(tc_arg_int(n, 1), x->meta.rank);
    if (e->graph->program->forward_mode) return logcumsumexp_jvp(e, n, g, d);
    if (tc_is_complex(x->meta.dtype)) {
        tc_e_give(e, n, 0, tc_e_conj(e, weighted_sums(e, tc_e1(e, "aten::log", tc_e_conj(e, g)), x, y, d)));
        return tc_e_done(e);
    }
    tc_dtype t = x->meta.dtype;
    double lowest = -tc_dtype_max(t); /* used as log(0) */
    for (int i = 0; i < 2; i++) {
        tc_value *v = i ? tc_e_neg(e, g) : g, *positive = tc_emit_call(e, "aten::gt.Scalar", "vi", v, (int64_t)0);
        tc_value *log = tc_e1(e, "aten::log", tc_emit_call(e, "aten::where.ScalarOther", "vvi", positive, v, (int64_t)1));
        part[i] = weighted_sums(e, tc_emit_call(e, "aten::where.ScalarOther", "vvf", positive, log, lowest), x, y, d);
    }
    tc_e_give(e, n, 0, tc_e_sub(e, part[0], part[1]));
    return tc_e_done(e);
}
static tc_status grad_cumprod(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::cumprod_backward", "vvav", gs[0], tc_arg_value(n, 0), tc_e_arg(n, 1), n->outs[0]));
    return tc_e_done(e);
}
/* grad, input, dim, output */
static tc_status shape_cumprod_backward(tc_shape_ctx *c) {
    int at;
    TC_TRY(tc_sh_need_tensor(c, 1));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 1));
    TC_TRY(tc_sh_dim_arg(c, 2, d.rank, &at));
    for (int i = 0; i < 4; i += 3) TC_TRY(tc_sh_sized(c, i, &d, TC_DTYPE_NONE, "input"));
    return tc_shape_decomposed(c);
}
static tc_status decompose_cumprod_backward(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 1), *y = tc_arg_value(n, 3), *g = tc_e_conj(e, tc_arg_value(n, 0)); /* the formula for reals gives the conjugate */
    int64_t d = tc_wrap(tc_arg_int(n, 2), x->meta.rank);
    if (x->meta.rank == 0) {
        tc_emit_result(e, 0, tc_e1(e, "aten::alias", tc_arg_value(n, 0)));
        return tc_e_done(e);
    }
    /* Before and at the first zero of a line: the sum of g y over later positions, divided by x; at the zero, y without that factor. */
    tc_value *is0 = tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0);
    tc_value *safe = tc_emit_call(e, "aten::where.ScalarSelf", "viv", is0, (int64_t)1, x);
    tc_value *plain = tc_e_div(e, reverse_cumsum(e, tc_e_mul(e, g, y), d, x->meta.dtype), safe);
    tc_value *zeros = tc_emit_call(e, "aten::cumsum", "vi", is0, d);
    tc_value *first = tc_e2(e, "aten::logical_and", is0, tc_emit_call(e, "aten::eq.Scalar", "vi", zeros, (int64_t)1));
    tc_value *with1 = tc_emit_call(e, "aten::where.ScalarSelf", "viv", first, (int64_t)1, x);
    tc_value *y1 = tc_emit_call(e, "aten::cumprod", "vi", with1, d);
    tc_value *from = tc_emit_call(e, "aten::ge.Scalar", "vi", zeros, (int64_t)1);
    tc_value *tail = tc_emit_call(e, "aten::where.ScalarOther", "vvi", from, tc_e_mul(e, g, y1), (int64_t)0);
    tc_value *at_zero = reverse_cumsum(e, tail, d, x->meta.dtype);
    tc_value *r = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_e1(e, "aten::logical_not", from), plain, (int64_t)0);
    tc_emit_result(e, 0, tc_e_conj(e, tc_e3(e, "aten::where.self", first, at_zero, r)));
    return tc_e_done(e);
}
static tc_value *last_axis(tc_emit *e, tc_value *v, int64_t d) { return tc_emit_call(e, "aten::transpose.int", "vii", v, d, (int64_t)-1); }
static tc_value *cumprod_pull(tc_emit *e, tc_value *g, tc_value *x, tc_value *y) { /* along the last axis, no conjugates */
    return tc_emit_call(e, "aten::cumprod_backward", "vviv", g, tc_e_conj(e, x), (int64_t)-1, tc_e_conj(e, y));
}
/* With z = conj x: the result is b_i sum over k >= i of g_k W_ik, with b_i the product of z before i and W_ik that of z_i+1 .. z_k. Nothing is
 * divided by z, so zeros are allowed. The matrix W is formed in second derivatives only. */
static tc_status grad_cumprod_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = tc_arg_value(n, 0), *z = tc_e_conj(e, tc_arg_value(n, 1)), *u = tc_e_conj(e, gs[0]), *list[2];
    int64_t d = tc_wrap(tc_arg_int(n, 2), z->meta.rank), last = -1, rows = -2;
    if (z->meta.rank == 0) {
        tc_e_give(e, n, 0, gs[0]);
        return tc_e_done(e);
    }
    g = last_axis(e, g, d), z = last_axis(e, z, d), u = last_axis(e, u, d);
    tc_value *one = tc_emit_call(e, "aten::ones_like", "v", tc_emit_call(e, "aten::slice.Tensor", "viii", z, last, (int64_t)0, (int64_t)1));
    list[0] = one, list[1] = tc_emit_call(e, "aten::slice.Tensor", "viii", z, last, (int64_t)0, (int64_t)-1);
    tc_value *before = tc_emit_call(e, "aten::cat", "Vi", list, 2, last), *b = tc_emit_call(e, "aten::cumprod", "vi", before, last);
    tc_value *all = tc_e_mul(e, tc_emit_call(e, "aten::unsqueeze", "vi", tc_emit_call(e, "aten::ones_like", "v", z), last),
                             tc_emit_call(e, "aten::unsqueeze", "vi", z, rows));
    tc_value *m =
        tc_e_add(e, tc_emit_call(e, "aten::triu", "vi", all, (int64_t)1), tc_e1(e, "aten::tril", tc_emit_call(e, "aten::ones_like", "v", all)));
    tc_value *w = tc_emit_call(e, "aten::cumprod", "vi", m, last), *from = tc_e1(e, "aten::triu", w), *ub = tc_e_mul(e, u, b);
    tc_value *ub_column = tc_emit_call(e, "aten::unsqueeze", "vi", ub, last), *g_row = tc_emit_call(e, "aten::unsqueeze", "vi", g, rows);
    tc_value *gg = tc_emit_call(e, "aten::sum.dim_IntList", "vI", tc_e_mul(e, from, ub_column), &rows, 1);
    tc_value *s = tc_emit_call(e, "aten::sum.dim_IntList", "vI", tc_e_mul(e, from, g_row), &last, 1);
    list[0] = tc_emit_call(e, "aten::slice.Tensor", "vii", cumprod_pull(e, tc_e_mul(e, u, s), before, b), last, (int64_t)1);
    list[1] = tc_e_zeros_like(e, one);
    tc_value *gz = tc_emit_call(e, "aten::cat", "Vi", list, 2, last);
    tc_value *gm = tc_emit_call(e, "aten::triu", "vi", cumprod_pull(e, tc_e1(e, "aten::triu", tc_e_mul(e, ub_column, g_row)), m, w), (int64_t)1);
    gz = tc_e_add(e, gz, tc_emit_call(e, "aten::sum.dim_IntList", "vI", gm, &rows, 1));
    tc_e_give(e, n, 0, tc_e_conj(e, last_axis(e, gg, d)));
    tc_e_give(e, n, 1, last_axis(e, gz, d));
    return tc_e_done(e);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define RUNNING(name, text)                                                                                                               \
    {                                                                                                                                     \
        .schema = "aten::" #name "(Tensor self, int dim) -> (Tensor values, Tensor indices)", .shape = shape_scan, .lower = lower_##name, \
        .keeps = " self result1 ", .grad = grad_running, .samples = #name "(f32[3,5], 1); " #name "(f64[9,70], 1)", .doc = text           \
    }
const tc_op tc_ops_scan[] = {ROW("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", shape_scan, lower_cumsum, grad_cumsum,
                                 "cumsum(f32[3,5], 1); cumsum(f32[9,70], 1); cumsum(i64[9,33], 1); cumsum(i64[7], 0); cumsum(c64[3,5], 1)",
                                 "running sums"),
                             ROW("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", shape_scan, lower_cumprod, grad_cumprod,
                                 "cumprod(f32[3,5], 1); cumprod(f64[9,70], 1); cumprod(c64[3,5], 1); cumprod(c128[3,5], 0)", "running products"),
                             {.schema = "aten::cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor",
                              .shape = shape_cumprod_backward,
                              .decompose = decompose_cumprod_backward,
                              .grad = grad_cumprod_backward,
                              .doc = "gradient of the running products"},
                             RUNNING(cummax, "running maxima and where they are"),
                             RUNNING(cummin, "running minima and where they are"),
                             ROW("logcumsumexp(Tensor self, int dim) -> Tensor", shape_float_scan, lower_logcumsumexp, grad_logcumsumexp,
                                 "logcumsumexp(f32[3,5], 1); logcumsumexp(c64[3,5], 0)", "running logsumexp"),
                             {0}};
