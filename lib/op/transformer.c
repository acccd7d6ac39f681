/* A whole encoder layer as one operator, as nn.TransformerEncoderLayer calls it in eval without gradients:
 *
 *     x = x + attention(x), x = norm(x, 1), x = x + W2 act(W1 x), x = norm(x, 2)      norm_first: each norm before its sum
 *
 * src is [B, T, E]. A mask says where attention is not allowed, of any type; mask_type says what it spans: 0 [T, T], 1 [B, T],
 * 2 [B, H, T, T]. A row without any allowed key gives NaN, other than in scaled_dot_product_attention. */
#include "op/shape.h"

/* arguments; a weight's bias is the next one */
enum { SRC, EMBED, HEADS, QKV, PROJ = 5, GELU = 7, NORM_FIRST, EPS, NORM_1, NORM_2 = 12, FFN_1 = 14, FFN_2 = 16, MASK = 18, MASK_TYPE };

/* the mask, broadcastable to the scores [B, H, T, T] */
static tc_status mask_of(tc_emit *e, const tc_node *n, tc_value *scores, tc_value **out) {
    static const struct {
        int rank, dim[4]; /* the dimensions of the scores that the mask has */
        const char *text;
    } kinds[] = {{2, {2, 3}, "For mask_type == 0 mask shape should be (L, L)"},
                 {2, {0, 3}, "For mask_type == 1 mask shape should be (B, L)"},
                 {4, {0, 1, 2, 3}, "For mask_type == 2 mask shape should match input shape"}};
    tc_value *mask = *out = tc_arg_value(n, MASK);
    if (!mask) return NULL;
    int64_t type = mask->meta.rank == 4 ? 2 : tc_arg_is_none(n, MASK_TYPE) ? -1 : tc_arg_int(n, MASK_TYPE);
    if (type < 0 || type > 2) return tc_e_refuse(n, "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)");
    bool fits = mask->meta.rank == kinds[type].rank;
    for (int i = 0; fits && i < kinds[type].rank; i++) fits = mask->meta.size[i] == scores->meta.size[kinds[type].dim[i]];
    if (!fits) return tc_e_refuse(n, "%s", kinds[type].text);
    if (type == 1) mask = tc_emit_call(e, "aten::unsqueeze", "vi", tc_emit_call(e, "aten::unsqueeze", "vi", mask, (int64_t)1), (int64_t)1);
    *out = mask && mask->meta.dtype != TC_BOOL ? tc_e_cast(e, mask, TC_BOOL) : mask;
    return NULL;
}
static tc_status attend(tc_emit *e, const tc_node *n, tc_value *x, tc_value **out) {
    int64_t embed = tc_arg_int(n, EMBED), heads = tc_arg_int(n, HEADS);
    tc_value *part[3], *mask;
    tc_symctx *s = tc_e_sym(e);
    if (x->meta.rank != 3 || !tc_sym_is_int(x->meta.size[2], embed)) return tc_e_refuse(n, "expected a 3-D source of width embed_dim");
    if (heads < 1 || embed % heads) return tc_e_refuse(n, "D must divide evenly by num_head");
    const tc_sym split[5] = {x->meta.size[0], x->meta.size[1], tc_sym_int(s, 3), tc_sym_int(s, heads), tc_sym_int(s, embed / heads)};
    tc_value *qkv = tc_emit_call(e, "aten::view", "vS", tc_emit_call(e, "aten::linear", "vaa", x, &n->args[QKV], &n->args[QKV + 1]), split, 5);
    for (int i = 0; i < 3; i++)
        part[i] = tc_emit_call(e, "aten::transpose.int", "vii", tc_emit_call(e, "aten::select.int", "vii", qkv, (int64_t)2, (int64_t)i), (int64_t)1,
                               (int64_t)2);
    tc_value *q = tc_e_muls(e, part[0], 1 / __builtin_sqrt((double)(embed / heads)));
    tc_value *p = tc_e2(e, "aten::matmul", q, tc_emit_call(e, "aten::transpose.int", "vii", part[1], (int64_t)2, (int64_t)3));
    if (!p) return tc_e_done(e);
    TC_TRY(mask_of(e, n, p, &mask));
    if (mask) p = tc_emit_call(e, "aten::masked_fill.Scalar", "vvf", p, mask, -__builtin_inf());
    p = tc_e2(e, "aten::matmul", tc_emit_call(e, "aten::_softmax", "vib", p, (int64_t)3, 0), part[2]);
    tc_value *y = tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::transpose.int", "vii", p, (int64_t)1, (int64_t)2), x->meta.size, 3);
    *out = tc_emit_call(e, "aten::linear", "vaa", y, &n->args[PROJ], &n->args[PROJ + 1]);
    return tc_e_done(e);
}
static tc_value *norm(tc_emit *e, const tc_node *n, tc_value *x, int weight) {
    return tc_emit_call(e, "aten::layer_norm", "vIaaa", x, (int64_t[]){tc_arg_int(n, EMBED)}, 1, &n->args[weight], &n->args[weight + 1],
                        &n->args[EPS]);
}
static tc_status decompose_encoder_layer(tc_emit *e, const tc_node *n) {
    bool first = tc_arg_bool(n, NORM_FIRST);
    tc_value *x = tc_arg_value(n, SRC), *y = NULL, *a = first ? norm(e, n, x, NORM_1) : x;
    if (!a) return tc_e_done(e);
    TC_TRY(attend(e, n, a, &y));
    x = tc_e_add(e, y, x);
    x = first ? x : norm(e, n, x, NORM_1);
    y = tc_emit_call(e, "aten::linear", "vaa", first ? norm(e, n, x, NORM_2) : x, &n->args[FFN_1], &n->args[FFN_1 + 1]);
    y = tc_e1(e, tc_arg_bool(n, GELU) ? "aten::gelu" : "aten::relu", y);
    x = tc_e_add(e, tc_emit_call(e, "aten::linear", "vaa", y, &n->args[FFN_2], &n->args[FFN_2 + 1]), x);
    tc_emit_result(e, 0, first ? x : norm(e, n, x, NORM_2));
    return tc_e_done(e);
}

const tc_op tc_ops_transformer[] = {
    {.schema = "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor "
               "proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor "
               "norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? "
               "mask=None, int? mask_type=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_encoder_layer,
     .samples = "_transformer_encoder_layer_fwd(f32[2,3,4], 4, 2, f32[12,4], f32[12], f32[4,4], f32[4], False, False, 1e-5, f32[4], f32[4], f32[4], "
                "f32[4], f32[8,4], f32[8], f32[4,8], f32[4])",
     .doc = "an encoder layer of a transformer: attention and two linear maps, each added and normalised"},
    {0}};
