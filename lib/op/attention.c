/* Scaled dot-product attention, softmax(q k^T scale + mask) v: one kernel (kernel/attention.h) for the usual case, else written with
 * matrix products and softmax, as PyTorch's math form.
 *
 * A boolean mask says where attention is allowed; is_causal allows key j to query i where j <= i (aligned at the top left); a row
 * without any allowed key gives 0. enable_gqa repeats the heads of key and value. */
#include "kernel/attention.h"
#include "op/attention_choice.h"
#include "op/shape.h"

/* heads of k or v repeated to those of q */
static tc_value *repeat_heads(tc_emit *e, tc_value *v, tc_sym heads) {
    tc_symctx *s = tc_e_sym(e);
    int r = v->meta.rank, at = r - 3;
    tc_sym times = tc_sym_floordiv(s, heads, v->meta.size[at]), wide[TC_MAX_RANK], size[TC_MAX_RANK];
    if (tc_sym_is_int(times, 1)) return v;
    for (int k = 0, j = 0; k < r; k++) {
        wide[j++] = v->meta.size[k];
        size[k] = k == at ? heads : v->meta.size[k];
        if (k == at) wide[j++] = times;
    }
    tc_value *x = tc_emit_call(e, "aten::expand", "vS", tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)at + 1), wide, r + 1);
    return tc_emit_call(e, "aten::reshape", "vS", x, size, r);
}

typedef struct {
    tc_value *q, *k, *v, *mask;
    double dropout;
    bool causal, gqa;
    const tc_arg *scale;
    tc_program *program; /* of the call: an eager operand belongs to no graph */
} attention;

/* Returns the result; *out_weights: the weights that multiply v. */
static tc_status attend(tc_emit *e, const tc_node *n, attention a, tc_value **out, tc_value **out_weights) {
    tc_symctx *s = tc_e_sym(e);
    if (!a.q || !a.k || !a.v) return tc_error(TC_CONTENT, "TypeError: %s: query, key and value must be tensors", tc_op_name(n->op));
    int r = a.q->meta.rank;
    if (a.q->meta.dtype != a.k->meta.dtype || a.q->meta.dtype != a.v->meta.dtype)
        return tc_e_refuse(
            n, "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and value.dtype: %s instead.",
            tc_dtypes[a.q->meta.dtype].torch, tc_dtypes[a.k->meta.dtype].torch, tc_dtypes[a.v->meta.dtype].torch);
    if (r < 2 || a.k->meta.rank < 2 || a.v->meta.rank < 2)
        return tc_e_refuse(n,
                           "Expected query, key, and value to all be at least 2 dimensional, but got query.dim(): %d, key.dim(): %d and "
                           "value.dim(): %d instead.",
                           r, a.k->meta.rank, a.v->meta.rank);
    if (a.mask && a.causal) return tc_e_refuse(n, "Explicit attn_mask should not be set when is_causal=True");
    if (a.mask && a.mask->meta.dtype != TC_BOOL && a.mask->meta.dtype != a.q->meta.dtype && a.mask->meta.dtype != TC_F32)
        return tc_e_refuse(
            n, "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: %s and  query.dtype: %s instead.",
            tc_dtypes[a.mask->meta.dtype].torch, tc_dtypes[a.q->meta.dtype].torch);
    if (a.gqa && (r < 3 || a.k->meta.rank < 3 || a.v->meta.rank < 3))
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [-2, 1], but got -3)", tc_op_name(n->op));
    if (a.gqa) a.k = repeat_heads(e, a.k, a.q->meta.size[r - 3]), a.v = repeat_heads(e, a.v, a.q->meta.size[r - 3]);
    tc_dtype given = a.q->meta.dtype, wide = tc_dtype_compute(given); /* 16-bit types are computed in float32 and rounded at the end */
    a.q = tc_e_cast(e, a.q, wide), a.k = tc_e_cast(e, a.k, wide), a.v = tc_e_cast(e, a.v, wide);
    if (!a.q || !a.k || !a.v) return tc_e_done(e);
    tc_sym width = a.q->meta.size[r - 1];
    int64_t w;
    double scale;
    tc_value *q = a.q, *k = a.k;
    if (a.scale && a.scale->kind != TC_A_NONE && !a.scale->is_sym) {
        scale = tc_scalar_to_double(a.scale->scalar);
        double root = __builtin_sqrt(scale < 0 ? -scale : scale);
        q = tc_e_muls(e, q, scale < 0 ? -root : root), k = tc_e_muls(e, k, root);
    } else if (tc_sym_const_int(width, &w)) {
        scale = 1 / __builtin_sqrt((double)w);
        q = tc_e_muls(e, q, __builtin_sqrt(scale)), k = tc_e_muls(e, k, __builtin_sqrt(scale));
    } else {
        tc_sym f =
            tc_sym_op(s, TC_S_FDIV, tc_sym_float(s, 1), tc_sym_op(s, TC_S_SQRT, tc_sym_op(s, TC_S_TOFLOAT, width, NULL, NULL), NULL, NULL), NULL);
        tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = a.scale && a.scale->kind == TC_A_SCALAR ? a.scale->sym : f};
        q = tc_emit_call(e, "aten::mul.Tensor", "va", q, &by);
    }
    tc_value *mask = a.mask, *p = tc_e2(e, "aten::matmul", q, tc_emit_call(e, "aten::transpose.int", "vii", k, (int64_t)-2, (int64_t)-1));
    if (a.causal) {
        tc_sym size[2] = {a.q->meta.size[r - 2], a.k->meta.size[a.k->meta.rank - 2]};
        mask = tc_e1(e, "aten::tril", tc_emit_call(e, "aten::ones", "Sd", size, 2, (int)TC_BOOL));
    }
    if (mask && mask->meta.dtype == TC_BOOL) p = tc_emit_call(e, "aten::where.ScalarOther", "vvf", mask, p, -__builtin_inf());
    else if (mask && p) p = tc_e_add(e, p, mask->meta.dtype == p->meta.dtype ? mask : tc_e_cast(e, mask, p->meta.dtype));
    p = tc_emit_call(e, a.mask ? "aten::_safe_softmax" : "aten::softmax.int", "vi", p, (int64_t)-1);
    if (a.dropout > 0) p = tc_emit_call(e, "aten::dropout", "vfb", p, a.dropout, 1);
    if (out_weights) *out_weights = tc_e_cast(e, p, given);
    *out = tc_e_cast(e, tc_e2(e, "aten::matmul", p, a.v), given);
    return tc_e_done(e);
}
/* query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa */
static attention attention_of(const tc_node *n) {
    return (attention){tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 3), tc_arg_float(n, 4),
                       tc_arg_bool(n, 5),  tc_arg_bool(n, 7),  &n->args[6],        n->graph->program};
}
/* Does one of these sizes have to be broadcast to the other? By what is known of them, and by the example sizes as in tc_sh_repeats. */
static bool repeats(const attention *a, tc_sym x, tc_sym y) {
    tc_program *p = a->program;
    if (x == y) return false;
    int64_t lo, most[2], seen[2];
    tc_sym_range(p->sym, x, &lo, &most[0]), tc_sym_range(p->sym, y, &lo, &most[1]);
    if (most[0] == 1 || most[1] == 1 || tc_sym_differ(p->sym, x, y)) return true;
    return tc_program_example(p, x, &seen[0]) && tc_program_example(p, y, &seen[1]) && seen[0] != seen[1];
}
/* Why the kernel cannot compute it; NULL: it can. Other cases are decomposed. */
static const char *misses_kernel(const tc_emit *e, attention a) {
    if (!a.q || !a.k || !a.v) return "query, key and value must be tensors";
    if (a.q->meta.rank != 4 || a.k->meta.rank != 4 || a.v->meta.rank != 4) return "query, key and value have other than four dimensions";
    if (a.dropout != 0) return "dropout";
    if (a.q->meta.dtype != a.k->meta.dtype || a.q->meta.dtype != a.v->meta.dtype || !tc_is_float(a.q->meta.dtype))
        return "query, key and value are not of one floating type";
    if (a.q->meta.size[3] != a.k->meta.size[3] || a.q->meta.size[3] != a.v->meta.size[3]) return "query, key and value have different head sizes";
    for (int d = 0; d < 2; d++)
        if ((d == 0 || !a.gqa) && (repeats(&a, a.q->meta.size[d], a.k->meta.size[d]) || repeats(&a, a.q->meta.size[d], a.v->meta.size[d])))
            return d ? "query, key and value have different numbers of heads" : "query, key and value are not of one batch";
    if (!a.mask) return NULL;
    if (a.causal) return "a mask beside is_causal";
    if (a.mask->meta.dtype != TC_BOOL && a.mask->meta.dtype != a.q->meta.dtype) return "the mask is neither bool nor of the query's type";
    if (e && e->wants ? e->wants(e->wants_ctx, a.mask) : a.mask->meta.requires_grad) return "the mask needs a gradient";
    return NULL;
}
const char *tc_attention_misses_kernel(const tc_node *n) { return misses_kernel(NULL, attention_of(n)); }
tc_status tc_attention_written_out(tc_emit *e, const tc_node *n) {
    tc_value *y = NULL;
    TC_TRY(attend(e, n, attention_of(n), &y, NULL));
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}
static tc_status decompose_attention(tc_emit *e, const tc_node *n) {
    attention a = attention_of(n);
    if (misses_kernel(e, a) || e->graph->program->forward_mode) return tc_attention_written_out(e, n); /* the kernel's gradient has none */
    if (a.gqa) {
        int64_t h, hk;
        if (tc_sym_const_int(a.q->meta.size[1], &h) && tc_sym_const_int(a.k->meta.size[1], &hk) && (hk == 0 || h % hk))
            return tc_e_refuse(n, "Number of heads in key and value must divide the number of heads in query");
        if (a.k->meta.size[1] != a.v->meta.size[1]) /* the kernel reads a head of k and v for the same queries */
            a.k = repeat_heads(e, a.k, a.q->meta.size[1]), a.v = repeat_heads(e, a.v, a.q->meta.size[1]);
    }
    tc_emit_result(
        e, 0, tc_emit_call(e, "aten::_scaled_dot_product_flash_attention_for_cpu", "vvvfbva", a.q, a.k, a.v, 0.0, (int)a.causal, a.mask, a.scale));
    return tc_e_done(e);
}
static tc_status decompose_attention_math(tc_emit *e, const tc_node *n) { /* ..., is_causal, dropout_mask, scale, enable_gqa */
    tc_value *y = NULL, *w = NULL;
    if (!tc_arg_is_none(n, 6)) return tc_error(TC_UNSUPPORTED, "%s: dropout_mask", tc_op_name(n->op));
    attention a = {tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 3),
                   tc_arg_float(n, 4), tc_arg_bool(n, 5),  tc_arg_bool(n, 8),  &n->args[7]};
    TC_TRY(attend(e, n, a, &y, &w));
    tc_emit_result(e, 0, y);
    tc_emit_result(e, 1, w);
    return NULL;
}
/* ---- the kernel: query, key, value, dropout_p, is_causal, attn_mask, scale -> output, logsumexp ---- */
static tc_status check_operands(tc_shape_ctx *c) {
    for (int i = 0; i < 3; i++) TC_TRY(tc_sh_need_float(c, i));
    const tc_meta *q = tc_sh_meta(c, 0), *k = tc_sh_meta(c, 1), *v = tc_sh_meta(c, 2), *m = tc_sh_meta(c, 5);
    double p;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4) return tc_sh_fail(c, "Accept only 4 dims inputs shape of {B, H, T, K}");
    if (q->dtype != k->dtype || q->dtype != v->dtype) return tc_sh_fail(c, "Expected query, key and value to have one dtype");
    if (!tc_sh_same(c, q->size[3], k->size[3])) return tc_sh_fail(c, "Q/K should have the same head size");
    if (!tc_sh_same(c, k->size[2], v->size[2])) return tc_sh_fail(c, "key and value must have the same length");
    if (!tc_sh_same(c, q->size[0], k->size[0]) || !tc_sh_same(c, q->size[0], v->size[0]) || !tc_sh_same(c, k->size[1], v->size[1]))
        return tc_sh_fail(c, "Expected query, key and value of one batch");
    if (tc_sym_const_float(tc_sh_int(c, 3), &p) && p != 0) return tc_sh_fail(c, "Currently do not support dropout > 0");
    if (m) {
        tc_dims d = {.rank = 4, .size = {q->size[0], q->size[1], q->size[2], k->size[2]}}, b = d;
        TC_TRY(tc_sh_broadcast_dims(c, &b, m));
        for (int i = 0; i < 4; i++)
            if (b.rank != 4 || !(b.size[i] == d.size[i] || tc_sh_same(c, b.size[i], d.size[i])))
                return tc_sh_fail(c, "attn_mask does not broadcast to the scores");
    }
    return NULL;
}
static tc_status shape_flash(tc_shape_ctx *c) {
    TC_TRY(check_operands(c));
    const tc_meta *q = tc_sh_meta(c, 0), *v = tc_sh_meta(c, 2);
    tc_symctx *s = tc_sh_sym(c); /* the result has the query's layout, the sums are by position */
    tc_dims y = {.rank = 4, .size = {q->size[0], q->size[1], q->size[2], v->size[3]}}, l = {.rank = 3, .size = {q->size[0], q->size[1], q->size[2]}};
    TC_TRY(tc_sh_out_strided(c, 0, q->dtype, &y, tc_sh_iterated(c, &y, &q, 1)));
    return tc_sh_out_strided(c, 1, tc_dtype_compute(q->dtype), &l, (tc_sym[]){tc_sym_mul(s, q->size[1], q->size[2]), tc_sym_int(s, 1), q->size[1]});
}
static tc_status shape_attention(tc_shape_ctx *c) {
    TC_TRY(check_operands(c));
    const tc_meta *q = tc_sh_meta(c, 0), *x = tc_sh_meta(c, 10);
    if (x && x->dtype != tc_dtype_compute(q->dtype)) return tc_sh_fail(c, "Expected changed to have the type of the scores");
    TC_TRY(tc_sh_out(c, 0, q->dtype, &(tc_dims){.rank = 4, .size = {q->size[0], q->size[1], q->size[2], tc_sh_meta(c, 2)->size[3]}}));
    return tc_sh_out(c, 1, tc_dtype_compute(q->dtype), &(tc_dims){.rank = 3, .size = {q->size[0], q->size[1], q->size[2]}});
}
static tc_status shape_flash_backward(tc_shape_ctx *c) { /* grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale */
    for (int i = 0; i < 6; i++) TC_TRY(tc_sh_need_float(c, i));
    TC_TRY(tc_sh_of_forward(c, NULL, 3, (int[]){0, 0, 4, 0, 5, 1}));
    for (int i = 0; i < 3; i++) {
        tc_dims d = tc_dims_of(tc_sh_meta(c, i + 1)); /* [B, T, H, E] in memory */
        const tc_sym row = tc_sym_mul(tc_sh_sym(c), d.size[1], d.size[3]);
        const tc_sym stride[4] = {tc_sym_mul(tc_sh_sym(c), d.size[2], row), d.size[3], row, tc_sym_int(tc_sh_sym(c), 1)};
        TC_TRY(tc_sh_out_strided(c, i, tc_sh_meta(c, i + 1)->dtype, &d, stride));
    }
    return NULL;
}
static tc_status grad_flash(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!gs[0]) return NULL;
    tc_value *r = tc_emit_call(e, "aten::_scaled_dot_product_flash_attention_for_cpu_backward", "vaaavvaaaa", gs[0], &n->args[0], &n->args[1],
                               &n->args[2], n->outs[0], n->outs[1], &n->args[3], &n->args[4], &n->args[5], &n->args[6]);
    for (int i = 0; i < 3; i++) tc_e_give(e, n, i, tc_emit_out(r, i));
    return tc_e_done(e);
}

/* PyTorch's flash kernel needs rows without gaps, all of one width; otherwise the result is that of a product, contiguous. */
static tc_status shape_composite(tc_shape_ctx *c) {
    bool rows = true;
    for (int i = 0; i < 3; i++) {
        const tc_meta *m = tc_sh_meta(c, i), *q = tc_sh_meta(c, 0);
        rows &= m && m->rank && q->rank && tc_sym_is_int(tc_sh_strides(c, m)[m->rank - 1], 1) && m->size[m->rank - 1] == q->size[q->rank - 1];
    }
    return rows ? tc_shape_decomposed(c) : tc_shape_decomposed_rows(c);
}

#define QKV "Tensor query, Tensor key, Tensor value, "
const tc_op tc_ops_attention[] = {
    {.schema = "aten::scaled_dot_product_attention(" QKV
               "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     .shape = shape_composite,
     .decompose = decompose_attention,
     .samples = "scaled_dot_product_attention(f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,5]); scaled_dot_product_attention(f32[2,4,5], f32[2,4,5], "
                "f32[2,4,5], is_causal=True)",
     .doc = "softmax(q k^T scale + mask) v"},
    {.schema = "aten::_scaled_dot_product_attention_math(" QKV "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? "
               "dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_attention_math,
     .doc = "attention and its weights"},
    {.schema = "aten::_scaled_dot_product_flash_attention_for_cpu(" QKV
               "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     .flags = TC_OP_ONE_GRAD,
     .shape = shape_flash,
     .kernel = &tc_k_flash_attention,
     .grad = grad_flash,
     .samples = "_scaled_dot_product_flash_attention_for_cpu(f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,5])",
     .doc = "attention and the logsumexp of its weights"},
    {.schema = "tc::attention(" QKV "float dropout_p, bool is_causal, Tensor? attn_mask, float? scale, float fill, bool safe=False, Tensor? "
               "scores=None, Tensor? changed=None) -> (Tensor output, Tensor logsumexp)",
     .flags = TC_OP_NONDIFF,
     .shape = shape_attention,
     .kernel = &tc_k_flash_attention,
     .samples = "attention(f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,7], 0.0, False, None, 0.5, -inf); attention(f32[2,3,4,5], f32[2,3,6,5], "
                "f32[2,3,6,5], 0.0, False, bool[4,6], None, -1.5); attention(f32[2,4,4,5], f32[2,2,6,5], f32[2,2,6,7], 0.0, False, "
                "bool[4,6], 1.0, -inf, True, f32[2,4,4,6], f32[4,4,6])",
     .doc = "attention written by hand: scores that a bool mask does not allow are fill, rows whose scores are all -inf give NaN, or 0 if safe; "
            "changed, computed from scores = query key', replaces them before the mask"},
    {.schema = "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, " QKV
               "Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, "
               "Tensor grad_key, Tensor grad_value)",
     .shape = shape_flash_backward,
     .kernel = &tc_k_flash_attention_backward,
     .doc = "gradients of attention"},
    {0}};
