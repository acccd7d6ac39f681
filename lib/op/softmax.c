/* Softmax along a dimension and its logarithm, with their backward operators.
 *
 *     softmax       exp(x - max) / sum exp(x - max)             backward  (g - sum(g y)) y
 *     log_softmax   x - max - log(sum exp(x - max))             backward  g - exp(y) sum(g) */
#include "op/lower.h"
#include "op/shape.h"

static tc_status shape_softmax(tc_shape_ctx *c) { /* self, dim, half_to_float */
    int d;
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    bool up = tc_sh_bool(c, 2);
    if (up && m->dtype != TC_F16 && m->dtype != TC_BF16) return tc_sh_fail(c, "conversion is supported for Half type only");
    tc_dims dims = tc_dims_of(m);
    return tc_sh_out(c, 0, up ? TC_F32 : m->dtype, &dims);
}
static tc_status shape_backward(tc_shape_ctx *c) { /* grad_output, output, dim, input_dtype */
    for (int i = 0; i < 2; i++) {
        TC_TRY(tc_sh_need_float(c, i));
        const tc_dtype d = tc_sh_meta(c, i)->dtype;
        if (tc_is_complex(d)) return tc_sh_fail_as(c, "NotImplementedError", "not implemented for %s", tc_dtypes[d].torch);
    }
    int at;
    tc_dims dims = tc_dims_of(tc_sh_meta(c, 1));
    TC_TRY(tc_sh_dim_arg(c, 2, dims.rank, &at));
    TC_TRY(tc_sh_sized(c, 0, &dims, TC_DTYPE_NONE, "output"));
    /* PyTorch's CPU ignores input_dtype, but where the softmax of 16-bit numbers was float32 (half_to_float) */
    const tc_dtype own = tc_sh_meta(c, 0)->dtype, given = tc_sh_dtype(c, 3, own);
    return tc_sh_out(c, 0, own == TC_F32 && tc_dtype_size(given) == 2 ? given : own, &dims);
}
static uint64_t axis_of(const tc_lower *l, int arg) { return l->result_axes ? (uint64_t)1 << tc_wrap(tc_arg_int(l->node, arg), l->result_axes) : 0; }
static tc_dtype grad_type(const tc_lower *l) { return tc_dtype_compute(tc_arg_meta(l->node, 1)->dtype); }

static tc_status lower_softmax(tc_lower *l) {
    uint64_t over = axis_of(l, 1);
    tc_lv x = tc_l_in(l, 0), e = tc_l_op1(l, TC_X_EXP, tc_l_sub(l, x, tc_l_reduce(l, TC_R_MAX, x, over)));
    tc_lv r = tc_l_div(l, tc_l_f(l, tc_l_type(l, 0), 1), tc_l_reduce(l, TC_R_SUM, e, over)); /* the sum is at least 1 */
    return tc_l_out(l, 0, tc_l_mul(l, e, r));
}
static tc_status lower_log_softmax(tc_lower *l) {
    uint64_t over = axis_of(l, 1);
    tc_lv x = tc_l_in(l, 0), d = tc_l_sub(l, x, tc_l_reduce(l, TC_R_MAX, x, over));
    tc_lv sum = tc_l_reduce(l, TC_R_SUM, tc_l_op1(l, TC_X_EXP, d), over);
    bool last = over && over >> (l->result_axes - 1); /* along the last dimension PyTorch keeps the sum and its logarithm in the result's type */
    tc_dtype kept = last ? l->node->outs[0]->meta.dtype : tc_l_type(l, 0);
    return tc_l_out(l, 0, tc_l_sub(l, d, tc_l_round(l, tc_l_op1(l, TC_X_LOG, tc_l_round(l, sum, kept)), kept)));
}
static tc_status lower_softmax_backward(tc_lower *l) {
    tc_lv g = tc_l_in_as(l, 0, grad_type(l)), y = tc_l_in_as(l, 1, grad_type(l));
    return tc_l_out(l, 0, tc_l_mul(l, tc_l_sub(l, g, tc_l_reduce(l, TC_R_SUM, tc_l_mul(l, g, y), axis_of(l, 2))), y));
}
static tc_status lower_log_softmax_backward(tc_lower *l) {
    tc_lv g = tc_l_in_as(l, 0, grad_type(l)), y = tc_l_in_as(l, 1, grad_type(l));
    return tc_l_out(l, 0, tc_l_sub(l, g, tc_l_mul(l, tc_l_op1(l, TC_X_EXP, y), tc_l_reduce(l, TC_R_SUM, g, axis_of(l, 2)))));
}

static tc_status backward(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *op) {
    tc_e_give(e, n, 0, tc_emit_call(e, op, "vvad", gs[0], n->outs[0], &n->args[1], (int)tc_arg_meta(n, 0)->dtype));
    return tc_e_done(e);
}
static tc_status grad_softmax(tc_emit *e, const tc_node *n, tc_value *const *gs) { return backward(e, n, gs, "aten::_softmax_backward_data"); }
static tc_status grad_log_softmax(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    return backward(e, n, gs, "aten::_log_softmax_backward_data");
}
/* second derivatives: with s = sum(g y), the result (g - s) y is bilinear in g and y */
static tc_status grad_softmax_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = tc_arg_value(n, 0), *y = tc_arg_value(n, 1), *u = gs[0];
    int64_t d = tc_wrap(tc_arg_int(n, 2), y->meta.rank);
    tc_value *uy = tc_e_mul(e, u, y), *s_uy = y->meta.rank ? tc_e_sum_dims(e, uy, &d, 1, true) : uy;
    tc_value *gy = tc_e_mul(e, g, y), *s_gy = y->meta.rank ? tc_e_sum_dims(e, gy, &d, 1, true) : gy;
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0, tc_emit_call(e, "aten::_softmax_backward_data", "vvad", u, y, &n->args[2], (int)g->meta.dtype));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_sub(e, tc_e_mul(e, u, tc_e_sub(e, g, s_gy)), tc_e_mul(e, g, s_uy)));
    return tc_e_done(e);
}
static tc_status grad_log_softmax_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = tc_arg_value(n, 0), *y = tc_arg_value(n, 1), *u = gs[0], *p = tc_e1(e, "aten::exp", y);
    int64_t d = tc_wrap(tc_arg_int(n, 2), y->meta.rank);
    tc_value *up = tc_e_mul(e, u, p);
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_e_sub(e, u, y->meta.rank ? tc_e_sum_dims(e, up, &d, 1, true) : up));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_neg(e, tc_e_mul(e, up, y->meta.rank ? tc_e_sum_dims(e, g, &d, 1, true) : g)));
    return tc_e_done(e);
}

/* softmax.int(self, dim, dtype): casts first; integers without a dtype become float32 */
static tc_status cast_then(tc_emit *e, const tc_node *n, const char *op) {
    tc_value *x = tc_arg_value(n, 0);
    tc_dtype d = tc_arg_dtype(n, 2, tc_to_float(x->meta.dtype));
    if (tc_is_integral(d)) return tc_e_refuse(n, "NotImplementedError: \"softmax_kernel_impl\" not implemented for '%s'", tc_dtypes[d].torch);
    tc_emit_result(e, 0, tc_emit_call(e, op, "vab", tc_e_cast(e, x, d), &n->args[1], 0));
    return tc_e_done(e);
}
static tc_status decompose_softmax(tc_emit *e, const tc_node *n) { return cast_then(e, n, "aten::_softmax"); }
static tc_status decompose_log_softmax(tc_emit *e, const tc_node *n) { return cast_then(e, n, "aten::_log_softmax"); }
static tc_status shape_safe_softmax(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_dim_arg(c, 1, tc_sh_meta(c, 0)->rank, &d));
    return tc_shape_decomposed(c);
}
/* rows of -inf give 0 instead of NaN */
static tc_status decompose_safe_softmax(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_dtype dt = tc_arg_dtype(n, 2, x->meta.dtype);
    x = tc_e_cast(e, x, dt);
    if (!x) return tc_e_done(e);
    int64_t d = tc_wrap(tc_arg_int(n, 1), x->meta.rank);
    tc_value *y = tc_emit_call(e, "aten::_softmax", "vib", x, d, 0);
    tc_value *masked = tc_emit_call(e, "aten::eq.Scalar", "vf", x, -__builtin_inf());
    tc_value *row = x->meta.rank ? tc_emit_call(e, "aten::all.dim", "vib", masked, d, 1) : masked;
    tc_emit_result(e, 0, tc_emit_call(e, "aten::where.ScalarSelf", "vfv", row, 0.0, y));
    return tc_e_done(e);
}
static tc_status grad_safe_softmax(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* for rows that are 0 the gradient is 0 */
    tc_value *y = n->outs[0];
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::_softmax_backward_data", "vvad", gs[0], y, &n->args[1], (int)y->meta.dtype));
    return tc_e_done(e);
}

const tc_op tc_ops_softmax[] = {
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .shape = shape_softmax,
     .lower = lower_softmax,
     .grad = grad_softmax,
     .samples = "_softmax(f32[3,5], 1, False); _softmax(f32[3,5], 0, False)",
     .doc = "exp(x) / sum exp(x)"},
    {.schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .shape = shape_softmax,
     .lower = lower_log_softmax,
     .grad = grad_log_softmax,
     .samples = "_log_softmax(f32[3,5], 1, False)",
     .doc = "x - log(sum exp(x))"},
    {.schema = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .shape = shape_backward,
     .lower = lower_softmax_backward,
     .grad = grad_softmax_backward,
     .samples = "_softmax_backward_data(f32[3,5], f32[3,5], 1, torch.float32)",
     .doc = "(g - sum(g y)) y"},
    {.schema = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .shape = shape_backward,
     .lower = lower_log_softmax_backward,
     .grad = grad_log_softmax_backward,
     .samples = "_log_softmax_backward_data(f32[3,5], f32[3,5], 1, torch.float32)",
     .doc = "g - exp(y) sum(g)"},
    {.schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_softmax,
     .samples = "softmax(f32[3,5], -1)",
     .doc = "exp(x) / sum exp(x)"},
    {.schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_log_softmax,
     .samples = "log_softmax(f32[3,5], -1)",
     .doc = "x - log(sum exp(x))"},
    {.schema = "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_softmax,
     .doc = "softmax"},
    {.schema = "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_log_softmax,
     .doc = "log_softmax"},
    {.schema = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .shape = shape_safe_softmax,
     .decompose = decompose_safe_softmax,
     .grad = grad_safe_softmax,
     .samples = "_safe_softmax(f32[3,5], -1)",
     .doc = "softmax, 0 where all are -inf"},
    {0}};
