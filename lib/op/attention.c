/* Scaled dot-product attention, softmax(q k^T scale + mask) v: written with matrix products and softmax, as PyTorch's math form.
 *
 * A boolean mask says where attention is allowed; is_causal allows key j to query i where j <= i (aligned at the top left); a row
 * without any allowed key gives 0. enable_gqa repeats the heads of key and value. */
#include "op/shape.h"

static tc_status refuse(const tc_node *n, const char *text) { return tc_error(TC_CONTENT, "%s: %s", tc_op_name(n->op), text); }

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

typedef struct { tc_value *q, *k, *v, *mask; double dropout; bool causal, gqa; const tc_arg *scale; } attention;

/* Returns the result; *out_weights: what multiplies v. */
static tc_status attend(tc_emit *e, const tc_node *n, attention a, tc_value **out, tc_value **out_weights) {
    tc_symctx *s = tc_e_sym(e);
    if (!a.q || !a.k || !a.v) return tc_error(TC_CONTENT, "TypeError: %s: query, key and value must be tensors", tc_op_name(n->op));
    int r = a.q->meta.rank;
    if (a.q->meta.dtype != a.k->meta.dtype || a.q->meta.dtype != a.v->meta.dtype)
        return tc_error(TC_CONTENT, "%s: Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and value.dtype: %s instead.", tc_op_name(n->op), tc_dtypes[a.q->meta.dtype].torch,
                        tc_dtypes[a.k->meta.dtype].torch, tc_dtypes[a.v->meta.dtype].torch);
    if (r < 2 || a.k->meta.rank < 2 || a.v->meta.rank < 2)
        return tc_error(TC_CONTENT, "%s: Expected query, key, and value to all be at least 2 dimensional, but got query.dim(): %d, key.dim(): %d and value.dim(): %d instead.", tc_op_name(n->op), r, a.k->meta.rank, a.v->meta.rank);
    if (a.mask && a.causal) return refuse(n, "Explicit attn_mask should not be set when is_causal=True");
    if (a.mask && a.mask->meta.dtype != TC_BOOL && a.mask->meta.dtype != a.q->meta.dtype && a.mask->meta.dtype != TC_F32)
        return tc_error(TC_CONTENT, "%s: Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: %s and  query.dtype: %s instead.", tc_op_name(n->op), tc_dtypes[a.mask->meta.dtype].torch, tc_dtypes[a.q->meta.dtype].torch);
    if (a.gqa && r >= 3) a.k = repeat_heads(e, a.k, a.q->meta.size[r - 3]), a.v = repeat_heads(e, a.v, a.q->meta.size[r - 3]);
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
        tc_sym f = tc_sym_op(s, TC_S_FDIV, tc_sym_float(s, 1), tc_sym_op(s, TC_S_SQRT, tc_sym_op(s, TC_S_TOFLOAT, width, NULL, NULL), NULL, NULL), NULL);
        tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = a.scale && a.scale->kind == TC_A_SCALAR ? a.scale->sym : f};
        q = tc_emit_call(e, "aten::mul.Tensor", "va", q, &by);
    }
    tc_value *mask = a.mask, *p = tc_e2(e, "aten::matmul", q, tc_emit_call(e, "aten::transpose.int", "vii", k, (int64_t)-2, (int64_t)-1));
    if (a.causal) {
        tc_sym size[2] = {a.q->meta.size[r - 2], a.k->meta.size[a.k->meta.rank - 2]};
        mask = tc_e1(e, "aten::tril", tc_emit_call(e, "aten::ones", "Sd", size, 2, (int)TC_BOOL));
    }
    if (mask && mask->meta.dtype == TC_BOOL) p = tc_emit_call(e, "aten::where.ScalarOther", "vvf", mask, p, -__builtin_inf());
    else if (mask) p = tc_e_add(e, p, mask->meta.dtype == p->meta.dtype ? mask : tc_e_cast(e, mask, p->meta.dtype));
    p = tc_emit_call(e, a.mask ? "aten::_safe_softmax" : "aten::softmax.int", "vi", p, (int64_t)-1);
    if (a.dropout > 0) p = tc_emit_call(e, "aten::dropout", "vfb", p, a.dropout, 1);
    if (out_weights) *out_weights = p;
    *out = tc_e2(e, "aten::matmul", p, a.v);
    return tc_e_done(e);
}
static tc_status decompose_attention(tc_emit *e, const tc_node *n) { /* query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa */
    tc_value *y = NULL;
    attention a = {tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 3), tc_arg_float(n, 4), tc_arg_bool(n, 5), tc_arg_bool(n, 7), &n->args[6]};
    TC_TRY(attend(e, n, a, &y, NULL));
    tc_emit_result(e, 0, y);
    return NULL;
}
static tc_status decompose_attention_math(tc_emit *e, const tc_node *n) { /* ..., is_causal, dropout_mask, scale, enable_gqa */
    tc_value *y = NULL, *w = NULL;
    if (!tc_arg_is_none(n, 6)) return tc_error(TC_UNSUPPORTED, "%s: dropout_mask", tc_op_name(n->op));
    attention a = {tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 3), tc_arg_float(n, 4), tc_arg_bool(n, 5), tc_arg_bool(n, 8), &n->args[7]};
    TC_TRY(attend(e, n, a, &y, &w));
    tc_emit_result(e, 0, y);
    tc_emit_result(e, 1, w);
    return NULL;
}
/* The same with the logarithm of the softmax's denominator, which PyTorch's kernel saves. */
static tc_status decompose_flash(tc_emit *e, const tc_node *n) { /* query, key, value, dropout_p, is_causal, attn_mask, scale */
    tc_value *y = NULL, *q = tc_arg_value(n, 0), *k = tc_arg_value(n, 1);
    attention a = {q, k, tc_arg_value(n, 2), tc_arg_value(n, 5), tc_arg_float(n, 3), tc_arg_bool(n, 4), false, &n->args[6]};
    int64_t w;
    TC_TRY(attend(e, n, a, &y, NULL));
    tc_emit_result(e, 0, y);
    if (!tc_sym_const_int(q->meta.size[q->meta.rank - 1], &w)) return tc_error(TC_UNSUPPORTED, "%s: a symbolic head width", tc_op_name(n->op));
    double scale = tc_arg_is_none(n, 6) ? 1 / __builtin_sqrt((double)w) : tc_arg_float(n, 6);
    tc_value *p = tc_e_muls(e, tc_e2(e, "aten::matmul", q, tc_emit_call(e, "aten::transpose.int", "vii", k, (int64_t)-2, (int64_t)-1)), scale), *mask = a.mask;
    if (a.causal) mask = tc_e1(e, "aten::tril", tc_emit_call(e, "aten::ones", "Sd", (tc_sym[]){q->meta.size[q->meta.rank - 2], k->meta.size[k->meta.rank - 2]}, 2, (int)TC_BOOL));
    if (mask && mask->meta.dtype == TC_BOOL) p = tc_emit_call(e, "aten::where.ScalarOther", "vvf", mask, p, -__builtin_inf());
    else if (mask) p = tc_e_add(e, p, mask);
    p = tc_emit_call(e, "aten::logsumexp", "vI", p, (int64_t[]){-1}, 1);
    tc_emit_result(e, 1, p ? tc_e_cast(e, p, tc_dtype_compute(q->meta.dtype)) : NULL);
    return tc_e_done(e);
}

#define QKV "Tensor query, Tensor key, Tensor value, "
const tc_op tc_ops_attention[] = {
    {.schema = "aten::scaled_dot_product_attention(" QKV "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_attention,
     .samples = "scaled_dot_product_attention(f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,5]); scaled_dot_product_attention(f32[2,4,5], f32[2,4,5], f32[2,4,5], is_causal=True)", .doc = "softmax(q k^T scale + mask) v"},
    {.schema = "aten::_scaled_dot_product_attention_math(" QKV "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)", .shape = tc_shape_decomposed,
     .decompose = decompose_attention_math, .doc = "attention and its weights"},
    {.schema = "aten::_scaled_dot_product_flash_attention_for_cpu(" QKV "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)", .shape = tc_shape_decomposed, .decompose = decompose_flash,
     .samples = "_scaled_dot_product_flash_attention_for_cpu(f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,5])", .doc = "attention and the logsumexp of its weights"},
    {0}};
