/* ctc_loss: minus the logarithm of the probability of a target under all its alignments (kernel/ctc.h).
 *
 * log_probs [T, N, C] or [T, C]; targets [N, S], or those of all samples in a row; lengths a sample, numbers or tensors. The mean is that of
 * each loss divided by the length of its target. */
#include "kernel/ctc.h"
#include "op/shape.h"

#include <string.h>

/* log_probs, targets, lengths of both, blank: arguments from `first` on */
static tc_status check_ctc(tc_shape_ctx *c, int first, int blank) {
    for (int k = 0; k < 2; k++) TC_TRY(tc_sh_need_tensor(c, first + k));
    const tc_meta *p = tc_sh_meta(c, first), *t = tc_sh_meta(c, first + 1);
    int64_t classes, b = tc_sh_const(c, blank);
    if (p->dtype != TC_F32 && p->dtype != TC_F64)
        return tc_sh_fail_as(c, "NotImplementedError", "\"ctc_loss_cpu\" not implemented for '%s'", tc_dtypes[p->dtype].torch);
    if (t->dtype != TC_I64 && t->dtype != TC_I32) return tc_sh_fail(c, "Expected targets to be Long or Int, but got %s", tc_dtypes[t->dtype].torch);
    if (p->rank != 3) return tc_sh_fail(c, "Expected 3-dimensional tensor, but got %d-dimensional tensor for log_probs", p->rank);
    if (t->rank != 1 && t->rank != 2) return tc_sh_fail(c, "targets should have 1 or 2 dimensions, but has %d", t->rank);
    if (tc_sym_is_int(p->size[0], 0) || tc_sym_is_int(p->size[1], 0)) return tc_sh_fail(c, "log_probs tensor must not be empty");
    if (b < 0 || (tc_sym_const_int(p->size[2], &classes) && b >= classes)) return tc_sh_fail(c, "blank must be in label range");
    if (t->rank == 2 && !tc_sh_same(c, t->size[0], p->size[1])) return tc_sh_fail(c, "targets must have one row for each sample of the batch");
    for (int k = 2; k < 4; k++) {
        const tc_meta *l = tc_sh_meta(c, first + k);
        tc_sym size = l && l->rank == 1 ? l->size[0] : tc_sym_int(tc_sh_sym(c), l ? -1 : c->args[first + k].n);
        if (l && !tc_is_integral(l->dtype)) return tc_sh_fail(c, "%s must be integral", k == 2 ? "input_lengths" : "target_lengths");
        if (!tc_sh_same(c, size, p->size[1])) return tc_sh_fail(c, "%s must be of size batch_size", k == 2 ? "input_lengths" : "target_lengths");
    }
    return NULL;
}
static tc_status shape_ctc(tc_shape_ctx *c) {
    TC_TRY(check_ctc(c, 0, 4));
    const tc_meta *p = tc_sh_meta(c, 0), *t = tc_sh_meta(c, 1);
    tc_symctx *s = tc_sh_sym(c);
    tc_sym most = t->size[t->rank - 1];
    if (c->args[3].kind == TC_A_INTS) { /* known lengths: none may exceed the longest */
        most = tc_sym_int(s, 0);
        for (int k = 0; k < c->args[3].n; k++) most = tc_sym_max(s, most, c->args[3].syms[k]);
    }
    tc_dims n = {.rank = 1, .size = {p->size[1]}};
    tc_dims alpha = {.rank = 3, .size = {p->size[1], p->size[0], tc_sym_add(s, tc_sym_mul(s, most, tc_sym_int(s, 2)), tc_sym_int(s, 1))}};
    TC_TRY(tc_sh_out(c, 0, p->dtype, &n));
    return tc_sh_out(c, 1, p->dtype, &alpha);
}
static tc_status shape_ctc_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(check_ctc(c, 1, 7));
    TC_TRY(tc_sh_need_tensor(c, 6));
    const tc_meta *p = tc_sh_meta(c, 1), *alpha = tc_sh_meta(c, 6);
    tc_dims d = tc_dims_of(p), n = {.rank = 1, .size = {p->size[1]}};
    tc_dims table = {.rank = 3, .size = {p->size[1], p->size[0], alpha->rank == 3 ? alpha->size[2] : p->size[2]}};
    for (int i = 0; i < 6; i += 5) TC_TRY(tc_sh_sized(c, i, &n, p->dtype, "the batch of log_probs"));
    TC_TRY(tc_sh_sized(c, 6, &table, p->dtype, "log_probs by the targets"));
    return tc_sh_out(c, 0, tc_sh_meta(c, 1)->dtype, &d);
}
static tc_status grad_ctc(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool tensors = !strcmp(tc_op_schema(n->op)->overload, "Tensor");
    if (gs[0] && tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, tensors ? "aten::_ctc_loss_backward.Tensor" : "aten::_ctc_loss_backward", "vaaaavvaa", gs[0], &n->args[0],
                               &n->args[1], &n->args[2], &n->args[3], n->outs[0], n->outs[1], &n->args[4], &n->args[5]));
    return tc_e_done(e);
}
static tc_status decompose_ctc_loss(tc_emit *e, const tc_node *n) { /* log_probs, targets, lengths of both, blank, reduction, zero_infinity */
    tc_value *p = tc_arg_value(n, 0), *loss, *lengths = NULL;
    bool tensors = !strcmp(tc_op_schema(n->op)->overload, "Tensor"), batched = p->meta.rank == 3;
    int64_t reduction = tc_arg_int(n, 5);
    if (p->meta.rank != 2 && p->meta.rank != 3) return tc_e_refuse(n, "log_probs should have 2 or 3 dimensions");
    if (!batched) p = tc_emit_call(e, "aten::unsqueeze", "vi", p, (int64_t)1);
    tc_arg len[2] = {n->args[2], n->args[3]}, targets = n->args[1];
    if (targets.value->meta.dtype != TC_I32) targets.value = tc_e_cast(e, targets.value, TC_I64);
    for (int k = 0; k < 2 && tensors; k++)
        if (len[k].value->meta.rank == 0) len[k].value = tc_emit_call(e, "aten::unsqueeze", "vi", len[k].value, (int64_t)0);
    loss = tc_emit_call(e, tensors ? "aten::_ctc_loss.Tensor" : "aten::_ctc_loss", "vaaaaa", p, &targets, &len[0], &len[1], &n->args[4], &n->args[6]);
    if (tc_arg_bool(n, 6))
        loss = tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::eq.Scalar", "vf", loss, __builtin_inf()), (int64_t)0, loss);
    if (reduction == 1) {
        if (tensors) {
            lengths = tc_e_cast(e, len[1].value, p ? p->meta.dtype : TC_F32);
        } else {
            tc_value **each = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(len[1].n ? len[1].n : 1));
            for (int k = 0; k < len[1].n; k++) {
                tc_arg one = {.kind = TC_A_SCALAR, .is_sym = true, .sym = len[1].syms[k]};
                each[k] = tc_emit_call(e, "aten::full", "Iad", (int64_t[]){1}, 1, &one, (int)(p ? p->meta.dtype : TC_F32));
            }
            lengths = tc_emit_call(e, "aten::cat", "Vi", each, len[1].n, (int64_t)0);
        }
        loss = tc_e1(e, "aten::mean", tc_e_div(e, loss, tc_emit_call(e, "aten::clamp_min", "vi", lengths, (int64_t)1)));
    } else if (reduction == 2) {
        loss = tc_e1(e, "aten::sum", loss);
    } else if (!batched) {
        loss = tc_emit_call(e, "aten::squeeze.dim", "vi", loss, (int64_t)0);
    }
    tc_emit_result(e, 0, loss);
    return tc_e_done(e);
}

#define LENGTHS_I "int[] input_lengths, int[] target_lengths"
#define LENGTHS_T "Tensor input_lengths, Tensor target_lengths"
#define FORWARD(name, LENGTHS)                                                                                                                \
    {                                                                                                                                         \
        .schema = "aten::" name "(Tensor log_probs, Tensor targets, " LENGTHS ", int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", \
        .flags = TC_OP_ONE_GRAD, .shape = shape_ctc, .kernel = &tc_k_ctc, .grad = grad_ctc,                                                   \
        .doc = "minus log of the probability of each target, and the recursion's state"                                                       \
    }
#define BACKWARD(name, LENGTHS)                                                                                                                   \
    {                                                                                                                                             \
        .schema =                                                                                                                                 \
            "aten::" name "(Tensor grad, Tensor log_probs, Tensor targets, " LENGTHS ", Tensor neg_log_likelihood, Tensor log_alpha, int blank, " \
            "bool zero_infinity=False) -> Tensor",                                                                                                \
        .flags = TC_OP_UNDERIVED, .shape = shape_ctc_backward, .kernel = &tc_k_ctc_backward, .doc = "gradient of _ctc_loss"                       \
    }
#define LOSS(name, LENGTHS, sample)                                                                                                               \
    {                                                                                                                                             \
        .schema =                                                                                                                                 \
            "aten::" name "(Tensor log_probs, Tensor targets, " LENGTHS ", int blank=0, int reduction=Mean, bool zero_infinity=False) -> Tensor", \
        .shape = tc_shape_decomposed, .decompose = decompose_ctc_loss, .samples = sample, .doc = "minus log of the probability of the targets"    \
    }
const tc_op tc_ops_ctc[] = {FORWARD("_ctc_loss", LENGTHS_I),
                            FORWARD("_ctc_loss.Tensor", LENGTHS_T),
                            BACKWARD("_ctc_loss_backward", LENGTHS_I),
                            BACKWARD("_ctc_loss_backward.Tensor", LENGTHS_T),
                            LOSS("ctc_loss.IntList", LENGTHS_I, "ctc_loss(f32[7,2,4]:-3..-0.1, i64[2,3]:1..4, [7, 6], [3, 2])"),
                            LOSS("ctc_loss.Tensor", LENGTHS_T, "ctc_loss(f64[7,2,4]:-3..-0.1, i64[2,3]:1..4, i64[2]:5..8, i64[2]:1..4)"),
                            {0}};
