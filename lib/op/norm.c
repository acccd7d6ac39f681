/* Layer norm and rms norm, and the formulas that all norms share (norm_batch.c has batch, group and instance norm).
 *
 *     y = (x - mean) / sqrt(var + eps) * weight + bias,   mean and biased var over
 *         layer: the last dimensions    batch: all but dimension 1 (or running statistics)    group: a sample's channels of a group
 *
 * Statistics come from one Welford reduction in float64 and are stored in the input's type. Backward, with xh = (x - mean) rstd and
 * g' = g weight:  dx = rstd (g' - mean(g') - xh mean(g' xh)). */
#include "op/norm.h"

#include <float.h>

bool tc_norm_wants(const tc_node *n, int arg, int i) { return n->args[arg].kind != TC_A_BOOLS || n->args[arg].bools[i]; }

tc_dtype tc_norm_stat_type(const tc_shape_ctx *c, int n, const int *args) {
    for (int i = 0; i < n; i++)
        if (args[i] >= 0 && tc_sh_meta(c, args[i])) return tc_sh_meta(c, args[i])->dtype;
    return tc_sh_meta(c, 0)->dtype;
}
tc_status tc_norm_check_types(tc_shape_ctx *c, int n, const int *args) {
    const tc_dtype x = tc_sh_meta(c, 0)->dtype, first = tc_norm_stat_type(c, n, args),
                   want = first == TC_F32 && (x == TC_F16 || x == TC_BF16) ? TC_F32 : x;
    for (int i = 0; i < n; i++) {
        const tc_meta *m = args[i] >= 0 ? tc_sh_meta(c, args[i]) : NULL;
        if (m && m->dtype != want)
            return tc_sh_fail(c, "mixed dtype (CPU): expected '%s' of type %s, got %s", tc_op_schema(c->op)->params[args[i]].name,
                              tc_dtypes[want].torch, tc_dtypes[m->dtype].torch);
    }
    return NULL;
}

/* ---- layer norm ---- */
/* Checks that the input ends in normalized_shape and that weight and bias (-1: none) have its sizes; *out_n: its length. */
static tc_status check_normalized(tc_shape_ctx *c, int shape_arg, int weight, int bias, int *out_n) {
    tc_sym norm[TC_MAX_RANK];
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *x = tc_sh_meta(c, 0);
    int n = tc_sh_ints(c, shape_arg, norm, TC_MAX_RANK);
    if (n < 1)
        return tc_sh_fail(
            c, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []");
    bool ok = n <= x->rank;
    for (int k = 0; ok && k < n; k++) ok = tc_sh_same(c, norm[k], x->size[x->rank - n + k]);
    if (!ok) {
        tc_buf t = {0};
        for (int k = 0; k < n; k++) {
            if (k) tc_buf_puts(&t, ", ");
            tc_sym_print(&t, norm[k]);
        }
        tc_status s = tc_sh_fail(c, "Given normalized_shape=[%s], expected input with shape [*, %s]", tc_buf_str(&t), tc_buf_str(&t));
        tc_buf_free(&t);
        return s;
    }
    for (int a = 0; a < 2; a++) {
        int arg = a ? bias : weight;
        const tc_meta *w = arg >= 0 ? tc_sh_meta(c, arg) : NULL;
        bool same = !w || w->rank == n;
        for (int k = 0; w && same && k < n; k++) same = tc_sh_same(c, w->size[k], norm[k]);
        if (!same) return tc_sh_fail(c, "Expected %s to be of same shape as normalized_shape", a ? "bias" : "weight");
    }
    *out_n = n;
    return NULL;
}
static tc_status shape_native_layer_norm(tc_shape_ctx *c) {
    int n;
    TC_TRY(check_normalized(c, 1, 2, 3, &n));
    TC_TRY(tc_norm_check_types(c, 2, (int[]){2, 3}));
    const tc_meta *x = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(x), stat = d;
    for (int k = x->rank - n; k < x->rank; k++) stat.size[k] = tc_sym_int(tc_sh_sym(c), 1);
    const tc_dtype kept = tc_norm_stat_type(c, 2, (int[]){2, 3});
    TC_TRY(tc_sh_out(c, 0, x->dtype, &d));
    TC_TRY(tc_sh_out(c, 1, kept, &stat));
    return tc_sh_out(c, 2, kept, &stat);
}
static tc_status shape_layer_norm(tc_shape_ctx *c) {
    int n;
    TC_TRY(check_normalized(c, 1, 2, 3, &n));
    TC_TRY(tc_norm_check_types(c, 2, (int[]){2, 3}));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
/* weight or bias at the result's last axes */
static tc_lv affine_at(tc_lower *l, int arg) { return tc_arg_meta(l->node, arg) ? tc_l_in(l, arg) : TC_LV_NONE; }
tc_lv tc_norm_rstd(tc_lower *l, tc_lv var, double eps) {
    return tc_l_div(l, tc_l_f(l, TC_F64, 1), tc_l_op1(l, TC_X_SQRT, tc_l_add(l, var, tc_l_f(l, TC_F64, eps))));
}
static tc_status lower_layer_norm(tc_lower *l) {
    const tc_node *n = l->node;
    int norm = n->args[1].n, r = l->result_axes;
    tc_dtype d = tc_l_type(l, 0);
    uint64_t over = 0;
    for (int k = r - norm; k < r; k++) over |= (uint64_t)1 << k;
    tc_lv x = tc_l_in(l, 0), w = tc_l_reduce(l, TC_R_WELFORD, x, over);
    tc_lv mean = tc_l_cast(l, tc_l_part(l, w, 0), d),
          rstd = tc_l_cast(l, tc_norm_rstd(l, tc_l_div(l, tc_l_part(l, w, 1), tc_l_part(l, w, 2)), tc_arg_float(n, 4)), d);
    tc_lv y = tc_l_mul(l, tc_l_sub(l, x, mean), rstd), weight = affine_at(l, 2), bias = affine_at(l, 3);
    if (weight != TC_LV_NONE && bias != TC_LV_NONE) y = tc_l_op3(l, TC_X_FMA, y, weight, bias);
    else if (weight != TC_LV_NONE) y = tc_l_mul(l, y, weight);
    else if (bias != TC_LV_NONE) y = tc_l_add(l, y, bias);
    TC_TRY(tc_l_out(l, 0, y));
    TC_TRY(tc_l_out(l, 1, mean));
    return tc_l_out(l, 2, rstd);
}
tc_value *tc_norm_grad_through(tc_emit *e, tc_value *x, const tc_norm_stats *s) {
    tc_value *gm = s->grad_mean, *r = NULL;
    if (s->grad_rstd) {
        tc_value *cube = tc_e_mul(e, tc_e_mul(e, s->rstd, s->rstd), s->rstd);
        r = tc_e_mul(e, tc_e_sub(e, x, s->mean), tc_e_neg(e, tc_emit_call(e, "aten::div.Tensor", "vs", tc_e_mul(e, s->grad_rstd, cube), s->count)));
    }
    if (gm) gm = tc_emit_call(e, "aten::div.Tensor", "vs", gm, s->count);
    if (gm) r = r ? tc_e_add(e, r, gm) : tc_emit_call(e, "aten::expand", "vS", gm, x->meta.size, x->meta.rank);
    return tc_e_cast(e, r, x->meta.dtype);
}
static tc_status grad_layer_norm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool mask[3] = {tc_emit_wants_grad(e, n, 0), tc_emit_wants_grad(e, n, 2), tc_emit_wants_grad(e, n, 3)};
    tc_arg m = {.kind = TC_A_BOOLS, .n = 3, .bools = tc_arena_dup(&e->graph->program->arena, mask, sizeof mask)};
    tc_value *x = tc_arg_value(n, 0), *r = NULL, *dx = NULL;
    if (mask[0] && (gs[1] || gs[2])) {
        tc_sym count = tc_sym_int(e->graph->program->sym, 1);
        for (int d = x->meta.rank - n->args[1].n; d < x->meta.rank; d++) count = tc_sym_mul(e->graph->program->sym, count, x->meta.size[d]);
        dx = tc_norm_grad_through(e, x, &(tc_norm_stats){n->outs[1], n->outs[2], gs[1], gs[2], count});
    }
    if (gs[0])
        r = tc_emit_call(e, "aten::native_layer_norm_backward", "vvavvaaa", gs[0], x, &n->args[1], n->outs[1], n->outs[2], &n->args[2], &n->args[3],
                         &m);
    if (r && dx) dx = tc_e_add(e, tc_emit_out(r, 0), dx);
    for (int k = 0; k < 3; k++)
        if (mask[k] && (r || (k == 0 && dx))) tc_e_give(e, n, k == 0 ? 0 : k + 1, k == 0 && dx ? dx : tc_emit_out(r, k));
    return tc_e_done(e);
}
tc_value *tc_norm_wide(tc_emit *e, tc_value *v) { return v ? tc_e_cast(e, v, tc_dtype_compute(v->meta.dtype)) : NULL; }
void tc_norm_result_as(tc_emit *e, const tc_node *n, int i, tc_value *v, int like) {
    const tc_meta *m = tc_arg_meta(n, like);
    tc_emit_result(e, i, m ? tc_e_cast(e, v, m->dtype) : v);
}
static tc_status shape_layer_norm_backward(tc_shape_ctx *c) {
    for (int i = 3; i < 5; i++) TC_TRY(tc_sh_need_tensor(c, i));
    TC_TRY(tc_sh_of_forward(c, NULL, 3, (int[]){0, 0, 3, 1, 4, 2}));
    return tc_shape_decomposed(c);
}
static tc_status decompose_layer_norm_backward(tc_emit *e, const tc_node *n) { /* grad_out, input, shape, mean, rstd, weight, bias, mask */
    tc_value *g = tc_norm_wide(e, tc_arg_value(n, 0)), *x = tc_norm_wide(e, tc_arg_value(n, 1)), *w = tc_norm_wide(e, tc_arg_value(n, 5));
    tc_value *mean = tc_norm_wide(e, tc_arg_value(n, 3)), *rstd = tc_norm_wide(e, tc_arg_value(n, 4));
    if (!x) return tc_e_done(e);
    int norm = n->args[2].n, r = x->meta.rank, k = 0, o = 0;
    int64_t inner[TC_MAX_RANK], outer[TC_MAX_RANK];
    for (int d = 0; d < r; d++) {
        if (d < r - norm) outer[o++] = d;
        else inner[k++] = d;
    }
    tc_value *xh = tc_e_mul(e, tc_e_sub(e, x, mean), rstd);
    if (tc_norm_wants(n, 7, 0)) {
        tc_value *gw = w ? tc_e_mul(e, g, w) : g;
        tc_value *a = tc_emit_call(e, "aten::mean.dim", "vIb", gw, inner, k, 1),
                 *b = tc_emit_call(e, "aten::mean.dim", "vIb", tc_e_mul(e, gw, xh), inner, k, 1);
        /* (gw - a - xh b) rstd, with what a row shares multiplied out */
        tc_value *rest = tc_e_sub(e, tc_e_mul(e, xh, tc_e_neg(e, tc_e_mul(e, b, rstd))), tc_e_mul(e, a, rstd));
        tc_norm_result_as(e, n, 0, tc_e_add(e, tc_e_mul(e, gw, rstd), rest), 1);
    }
    if (tc_norm_wants(n, 7, 1) && w) tc_norm_result_as(e, n, 1, tc_e_sum_dims(e, tc_e_mul(e, g, xh), outer, o, false), 5);
    if (tc_norm_wants(n, 7, 2) && !tc_arg_is_none(n, 6))
        tc_norm_result_as(e, n, 2, o ? tc_e_sum_dims(e, g, outer, o, false) : tc_e1(e, "aten::clone", g), 6);
    return tc_e_done(e);
}
static tc_status decompose_layer_norm(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::native_layer_norm", "aaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4]));
    return tc_e_done(e);
}

/* ---- rms norm: x / sqrt(mean(x^2) + eps) * weight ---- */
static tc_status shape_rms_norm(tc_shape_ctx *c) {
    int n;
    TC_TRY(check_normalized(c, 1, 2, -1, &n));
    const tc_meta *x = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(x), stat = d;
    TC_TRY(tc_sh_out_format(c, 0, x->dtype, &d, x));
    for (int k = x->rank - n; k < x->rank; k++) stat.size[k] = tc_sym_int(tc_sh_sym(c), 1);
    return c->nouts > 1 ? tc_sh_out(c, 1, tc_dtype_compute(x->dtype), &stat) : NULL;
}
static tc_status decompose_rms_norm(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 2);
    tc_dtype d = x->meta.dtype, up = tc_dtype_compute(d);
    double eps = !tc_arg_is_none(n, 3) ? tc_arg_float(n, 3) : up == TC_F64 ? DBL_EPSILON : FLT_EPSILON;
    int64_t dims[TC_MAX_RANK];
    int k = 0;
    for (int i = x->meta.rank - n->args[1].n; i < x->meta.rank; i++) dims[k++] = i;
    tc_value *f = tc_e_cast(e, x, up), *ms = tc_emit_call(e, "aten::mean.dim", "vIb", tc_e_mul(e, f, f), dims, k, 1);
    tc_value *r = tc_e1(e, "aten::rsqrt", tc_e_adds(e, ms, eps)), *y = tc_e_mul(e, f, r);
    if (w) y = tc_e_mul(e, y, w);
    tc_emit_result(e, 0, tc_e_cast(e, y, d)); /* the result has the input's type for any type of weight */
    if (tc_op_schema(n->op)->nrets > 1) tc_emit_result(e, 1, r);
    return tc_e_done(e);
}

#define BACKWARD(SCHEMA, name, text) \
    { .schema = "aten::native_" SCHEMA " -> (Tensor, Tensor, Tensor)", .shape = shape_##name, .decompose = decompose_##name, .doc = text }
const tc_op tc_ops_norm[] = {
    {.schema =
         "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     .flags = TC_OP_ONE_GRAD,
     .shape = shape_native_layer_norm,
     .lower = lower_layer_norm,
     .grad = grad_layer_norm,
     .samples = "native_layer_norm(f32[3,5], [5], f32[5], f32[5], 1e-5)",
     .doc = "normalised over the last dimensions; mean and 1 / std"},
    {.schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
               "cudnn_enable=True) -> Tensor",
     .shape = shape_layer_norm,
     .decompose = decompose_layer_norm,
     .samples = "layer_norm(f32[3,5], [5], f32[5], f32[5]); layer_norm(f32[2,3,4], [3,4])",
     .doc = "normalised over the last dimensions"},
    BACKWARD("layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? "
             "bias, bool[3] output_mask)",
             layer_norm_backward, "gradients of layer norm"),
    {.schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
     .shape = shape_rms_norm,
     .decompose = decompose_rms_norm,
     .samples = "rms_norm(f32[3,5], [5], f32[5])",
     .doc = "x / sqrt(mean(x^2) + eps) weight"},
    {.schema = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
     .shape = shape_rms_norm,
     .decompose = decompose_rms_norm,
     .samples = "_fused_rms_norm(f32[3,5], [5], f32[5], 1e-5)",
     .doc = "rms norm and 1 / rms"},
    {0}};
