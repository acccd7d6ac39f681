/* Batch norm in inference mode for execution: scale and shift per channel are computed once, then one fused multiply-add per element. Same bits as the
 * operator's own loop (norm.c), which computes the same for every element. */
#include "op/norm_eval.h"

#include <string.h>

#include "op/lower.h"
#include "op/shape.h"

static tc_status shape_batch_norm_scale(tc_shape_ctx *c) {
    tc_dims d = tc_dims_of(tc_sh_meta(c, 2));
    tc_dtype t = tc_sh_dtype(c, 5, TC_F32);
    TC_TRY(tc_sh_out(c, 0, t, &d));
    return tc_sh_out(c, 1, t, &d);
}
/* scale = weight / sqrt(var + eps), shift = bias - mean scale */
static tc_status lower_batch_norm_scale(tc_lower *l) {
    tc_dtype d = tc_l_type(l, 0);
    tc_lv eps = tc_l_f(l, TC_F64, tc_arg_float(l->node, 4)), root = tc_l_op1(l, TC_X_SQRT, tc_l_add(l, tc_l_in_as(l, 3, TC_F64), eps));
    tc_lv mean = tc_l_cast(l, tc_l_in_as(l, 2, TC_F64), d), scale = tc_l_cast(l, tc_l_div(l, tc_l_f(l, TC_F64, 1), root), d);
    if (tc_arg_meta(l->node, 0)) scale = tc_l_mul(l, scale, tc_l_in_as(l, 0, d));
    tc_lv moved = tc_l_mul(l, mean, scale);
    TC_TRY(tc_l_out(l, 0, scale));
    return tc_l_out(l, 1, tc_arg_meta(l->node, 1) ? tc_l_sub(l, tc_l_in_as(l, 1, d), moved) : tc_l_op1(l, TC_X_NEG, moved));
}

static tc_status shape_scale_shift(tc_shape_ctx *c) {
    const tc_meta *x = tc_sh_meta(c, 0);
    for (int i = 1; i < 3; i++) {
        const tc_meta *m = tc_sh_meta(c, i);
        if (x->rank < 2 || m->rank != 1 || !tc_sh_same(c, m->size[0], x->size[1]))
            return tc_sh_fail(c, "expected one element a channel, dimension 1 of self");
    }
    return tc_sh_out_like(c, 0, x, x->dtype);
}
static tc_lv channel(tc_lower *l, int arg) {
    tc_affine i = tc_l_axis(l, 1);
    return tc_l_cast(l, tc_l_load(l, tc_arg_value(l->node, arg), &i, NULL, TC_LV_NONE), tc_l_type(l, 0));
}
static tc_status lower_scale_shift(tc_lower *l) { return tc_l_out(l, 0, tc_l_op3(l, TC_X_FMA, tc_l_in(l, 0), channel(l, 1), channel(l, 2))); }

/* ---- the rule ---- */
/* Scale and shift that depend on graph inputs only are computed first, so that x and its readers can be fused. */
static bool of_inputs(const tc_node *n, int rm) {
    const int args[4] = {1, 2, rm, rm + 1};
    for (int i = 0; i < 4; i++)
        if (tc_arg_meta(n, args[i]) && tc_arg_value(n, args[i])->producer) return false;
    return n->args[tc_op_param(n->op, "eps")].kind == TC_A_SCALAR && !n->args[tc_op_param(n->op, "eps")].is_sym;
}
static tc_status by_scale_and_shift(tc_emit *e, const tc_node *n) {
    const int rm = tc_op_param(n->op, "running_mean"), eps = tc_op_param(n->op, "eps");
    tc_value *x = tc_arg_value(n, 0);
    tc_node *here = e->before;
    if (of_inputs(n, rm)) e->before = e->graph->first;
    tc_value *s = tc_emit_call(e, "tc::batch_norm_scale", "aaaaad", &n->args[1], &n->args[2], &n->args[rm], &n->args[rm + 1], &n->args[eps],
                               (int)tc_dtype_compute(x->meta.dtype));
    e->before = here;
    tc_emit_result(e, 0, tc_emit_call(e, "tc::scale_shift", "vvv", x, tc_emit_out(s, 0), tc_emit_out(s, 1)));
    for (int i = 1; i < 3; i++) /* batch statistics: not in inference mode */
        tc_emit_result(e, i, tc_emit_call(e, "aten::zeros", "Id___", (int64_t[]){0}, 1, (int)n->outs[i]->meta.dtype));
    return tc_e_done(e);
}
tc_decompose_fn tc_batch_norm_eval_rule(const tc_node *n) {
    const char *name = tc_op_schema(n->op)->name;
    if (strncmp(tc_op_name(n->op), "aten", 4) || n->nouts != 3) return NULL;
    const int training = tc_op_param(n->op, "training");
    const bool eval = !strcmp(name, "_native_batch_norm_legit_no_training") ||
                      (!strcmp(name, "native_batch_norm") && !tc_arg_bool(n, training) && !tc_arg_is_none(n, 3) && !tc_arg_is_none(n, 4));
    const tc_meta *x = eval ? &tc_arg_value(n, 0)->meta : NULL;
    return eval && tc_is_float(x->dtype) && x->rank >= 2 ? by_scale_and_shift : NULL;
}

const tc_op tc_ops_norm_eval[] = {{.schema = "tc::batch_norm_scale(Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float eps, "
                                             "ScalarType dtype) -> (Tensor scale, Tensor shift)",
                                   .flags = TC_OP_NONDIFF,
                                   .shape = shape_batch_norm_scale,
                                   .lower = lower_batch_norm_scale,
                                   .samples = "batch_norm_scale(f32[3], f32[3], f32[3], f32[3]:0.5..2, 1e-5, torch.float32); "
                                              "batch_norm_scale(None, None, f32[3], f32[3]:0.5..2, 1e-5, torch.float32)",
                                   .doc = "scale and shift of batch norm by running statistics"},
                                  {.schema = "tc::scale_shift(Tensor self, Tensor scale, Tensor shift) -> Tensor",
                                   .flags = TC_OP_NONDIFF,
                                   .shape = shape_scale_shift,
                                   .lower = lower_scale_shift,
                                   .samples = "scale_shift(f32[2,3,4], f32[3], f32[3]); scale_shift(bf16[2,3], f32[3], f32[3])",
                                   .doc = "self scale + shift, by channel, rounded once"},
                                  {0}};
