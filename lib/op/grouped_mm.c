/* Products that models of experts and of float8 weights are made of:
 *
 *     _grouped_mm   2-D by 3-D: rows up to offs[g] by matrix g       3-D by 2-D: matrix g by columns up to offs[g]
 *                   2-D by 2-D: a matrix for each range of k         3-D by 3-D: bmm
 *     grouped_mm_fallback   the first of these as transformers has it, for every type and layout
 *     _scaled_mm    float8 matrices times their scales: one for each matrix, row and column, or block of 128 (by 128) elements */
#include "kernel/matmul.h"
#include "op/shape.h"

/* ---- _grouped_mm: self, mat2, offs, bias, out_dtype ---- */
/* The last two dimensions must be row-major or column-major with strides of multiples of 16 bytes. Symbolic values are not checked. */
static tc_status check_strides(tc_shape_ctx *c, int arg) {
    const tc_meta *m = tc_sh_meta(c, arg);
    const tc_sym *stride = tc_sh_strides(c, m);
    int64_t s[2], n[2];
    for (int i = 0; i < 2; i++)
        if (!tc_sym_const_int(stride[m->rank - 2 + i], &s[i]) || !tc_sym_const_int(m->size[m->rank - 2 + i], &n[i])) return NULL;
    const bool columns = s[0] == 1 && s[1] >= (n[0] > 1 ? n[0] : 1), rows = s[1] == 1 && s[0] >= (n[1] > 1 ? n[1] : 1);
    const char *name = tc_op_schema(c->op)->params[arg].name;
    if (!columns && !rows) return tc_sh_fail(c, "Invalid strides/sizes of %s", name);
    if ((columns ? s[1] : s[0]) * (int64_t)tc_dtype_size(m->dtype) % 16) return tc_sh_fail(c, "%s: strides should be multiple of 16 bytes", name);
    return NULL;
}
static tc_status check_offs(tc_shape_ctx *c, const tc_meta *a, const tc_meta *b) {
    const tc_meta *offs = tc_sh_meta(c, 2);
    if ((offs != NULL) != (a->rank == 2 || b->rank == 2))
        return tc_sh_fail(c, "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
    if (!offs) return NULL;
    if (offs->rank != 1) return tc_sh_fail(c, "offs has to be 1D");
    if (offs->dtype != TC_I32) return tc_sh_fail(c, "Offsets have to be int32");
    return NULL;
}
/* Checks the sizes for every grouped product and gives the result's. */
static tc_status shape_groups(tc_shape_ctx *c) {
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1), *offs = tc_sh_meta(c, 2);
    if (!tc_sh_same(c, a->size[a->rank - 1], b->size[b->rank - 2])) return tc_sh_fail(c, "contraction dimension of mat_a and mat_b must match");
    const tc_meta *three = a->rank == 3 ? a : b->rank == 3 ? b : NULL;
    tc_sym groups = offs ? offs->size[0] : a->size[0];
    if (three && !tc_sh_same(c, three->size[0], groups)) return tc_sh_fail(c, "matrix batch sizes have to match");
    if (a->rank == 3 && b->rank == 3 && !tc_sh_same(c, a->size[0], b->size[0])) return tc_sh_fail(c, "batched dimension has to match");
    tc_dims d = {.rank = 2, .size = {a->size[a->rank - 2], b->size[b->rank - 1]}};
    if (a->rank == b->rank) d = (tc_dims){.rank = 3, .size = {groups, a->size[a->rank - 2], b->size[b->rank - 1]}};
    return tc_sh_out(c, 0, a->dtype, &d);
}
static tc_status shape_grouped(tc_shape_ctx *c) {
    for (int i = 0; i < 2; i++) {
        TC_TRY(tc_sh_need_tensor(c, i));
        const tc_meta *m = tc_sh_meta(c, i);
        if (m->dtype != TC_F32 && m->dtype != TC_BF16 && m->dtype != TC_F16)
            return tc_sh_fail(c, "Expected %s to be Float32, BFloat16 or Float16 matrix, got %s", i ? "mat_b" : "mat_a", tc_dtypes[m->dtype].torch);
        if (m->rank != 2 && m->rank != 3) return tc_sh_fail(c, "%s has to be 2 or 3d", i ? "mat_b" : "mat_a");
    }
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1);
    if (a->dtype != b->dtype) return tc_sh_fail(c, "Expected mat_a and mat_b to have the same dtype");
    TC_TRY(check_strides(c, 0));
    TC_TRY(check_strides(c, 1));
    TC_TRY(check_offs(c, a, b));
    if (tc_sh_given(c, 3)) return tc_sh_fail(c, "Bias not supported yet");
    if (tc_sh_dtype(c, 4, a->dtype) != a->dtype) return tc_sh_fail(c, "Grouped gemm output dtype must match `mat_a` dtype");
    return shape_groups(c);
}
static tc_value *turned(tc_emit *e, tc_value *x) { return tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)-2, (int64_t)-1); }
static tc_status grad_grouped(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    if (!gs[0]) return NULL;
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_emit_call(e, "aten::_grouped_mm", "vva", gs[0], turned(e, b), &n->args[2]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_emit_call(e, "aten::_grouped_mm", "vva", turned(e, a), gs[0], &n->args[2]));
    return tc_e_done(e);
}

/* ---- transformers' grouped_mm_fallback: input [S, K], weight [G, K, N], offs [G] ---- */
static tc_status decompose_fallback(tc_emit *e, const tc_node *n) {
    const tc_meta *x = &tc_arg_value(n, 0)->meta, *w = &tc_arg_value(n, 1)->meta, *offs = &tc_arg_value(n, 2)->meta;
    if (x->rank != 2 || w->rank != 3 || offs->rank != 1)
        return tc_e_refuse(n, "input must be 2D, weight 3D and offs 1D, got %dD, %dD and %dD", x->rank, w->rank, offs->rank);
    if (offs->dtype != TC_I32 && offs->dtype != TC_I64) return tc_e_refuse(n, "offs must be an integer tensor, got %s", tc_dtypes[offs->dtype].torch);
    if (x->dtype != w->dtype)
        return tc_e_refuse(n, "expected input and weight to have the same dtype, got %s and %s", tc_dtypes[x->dtype].torch,
                           tc_dtypes[w->dtype].torch);
    tc_emit_result(e, 0, tc_emit_call(e, "tc::grouped_mm", "aaa", &n->args[0], &n->args[1], &n->args[2]));
    return tc_e_done(e);
}
static tc_status decompose_fallback_backward(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *g = tc_arg_value(n, 3);
    tc_emit_result(e, 0, tc_emit_call(e, "tc::grouped_mm", "vva", g, turned(e, w), &n->args[2]));
    tc_emit_result(e, 1, tc_emit_call(e, "tc::grouped_mm", "vva", turned(e, x), g, &n->args[2]));
    return tc_e_done(e);
}
static tc_status grad_fallback(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!gs[0]) return NULL;
    tc_value *both = tc_emit_call(e, "transformers::grouped_mm_fallback_backward", "aaav", &n->args[0], &n->args[1], &n->args[2], gs[0]);
    for (int i = 0; i < 2; i++)
        if (tc_emit_wants_grad(e, n, i)) tc_e_give(e, n, i, tc_emit_out(both, i));
    return tc_e_done(e);
}

/* ---- _scaled_mm: self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum ---- */
enum { BLOCK = 128 };
static bool is_f8(tc_dtype d) { return d == TC_F8E4M3 || d == TC_F8E5M2; }

/* Expands s so that each element along dim applies to `block` elements of x: repeated, then cut to x's size. */
static tc_value *spread(tc_emit *e, tc_value *s, int dim, tc_sym size) {
    if (!s) return NULL;
    tc_value *all = tc_emit_call(e, "aten::repeat_interleave.self_int", "vii", s, (int64_t)BLOCK, (int64_t)dim);
    return tc_emit_call(e, "aten::slice.Tensor", "viiss", all, (int64_t)dim, (int64_t)0, size, tc_sym_int(tc_e_sym(e), 1));
}
static tc_sym blocks_of(tc_emit *e, tc_sym n) {
    tc_symctx *s = tc_e_sym(e);
    return tc_sym_floordiv(s, tc_sym_add(s, n, tc_sym_int(s, BLOCK - 1)), tc_sym_int(s, BLOCK));
}
typedef enum { SCALE_ONE, SCALE_LINE, SCALE_BLOCK, SCALE_NONE } scaling;
/* outer: the dimension of x that is not k. A scale may match several forms: if x has one row, a scalar is also a row. */
static bool scales_as(tc_emit *e, scaling how, const tc_meta *s, const tc_meta *x, int outer) {
    const int k = 1 - outer;
    bool one = true;
    for (int i = 0; i < s->rank; i++) one &= tc_sym_is_int(s->size[i], 1);
    if (s->dtype != TC_F32) return false;
    if (how == SCALE_ONE) return one;
    if (s->rank != 2) return false;
    if (how == SCALE_LINE) return s->size[outer] == x->size[outer] && tc_sym_is_int(s->size[k], 1);
    const bool lines = s->size[outer] == x->size[outer] || s->size[outer] == blocks_of(e, x->size[outer]);
    return lines && s->size[k] == blocks_of(e, x->size[k]);
}
static void put(tc_buf *t, const char *before, tc_sym size) {
    tc_buf_puts(t, before);
    tc_sym_print(t, size);
}
static tc_status wrong_scales(tc_emit *e, const tc_node *n, const tc_meta *a, const tc_meta *b) {
    tc_buf t = {0};
    const tc_sym rows = a->size[0], columns = b->size[1], k = blocks_of(e, a->size[1]);
    put(&t, "(", rows);
    put(&t, ", 1) and (1, ", columns);
    put(&t, "); or a number for each 128 elements of k, (", rows);
    put(&t, " or ", blocks_of(e, rows));
    put(&t, ", ", k);
    put(&t, ") and (", k);
    put(&t, ", ", columns);
    put(&t, " or ", blocks_of(e, columns));
    tc_status s = tc_e_refuse(n, "scales should be float32: one number each; %s)", tc_buf_str(&t));
    tc_buf_free(&t);
    return s;
}
/* x in float32, multiplied by the scales of its blocks; *out_after: the factor of the product, NULL: none. */
static tc_value *unscaled(tc_emit *e, tc_value *x, tc_value *s, scaling how, int outer, tc_value **out_after) {
    tc_value *wide = tc_e_cast(e, x, TC_F32);
    *out_after = how == SCALE_BLOCK ? NULL : how == SCALE_LINE ? s : tc_emit_call(e, "aten::reshape", "vI", s, (const int64_t[]){1, 1}, 2);
    if (how != SCALE_BLOCK) return wide;
    s = spread(e, s, 1 - outer, x->meta.size[1 - outer]);
    if (s && s->meta.size[outer] != x->meta.size[outer]) s = spread(e, s, outer, x->meta.size[outer]);
    return tc_e_mul(e, wide, s);
}
static tc_status decompose_scaled(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *sa = tc_arg_value(n, 2), *sb = tc_arg_value(n, 3), *bias = tc_arg_value(n, 4);
    if (a->meta.rank != 2 || b->meta.rank != 2) return tc_e_refuse(n, "mat1 and mat2 must be matrices");
    if (!is_f8(a->meta.dtype) || !is_f8(b->meta.dtype))
        return tc_e_refuse(n, "Expected both matrices to be float8, got %s and %s", tc_dtypes[a->meta.dtype].torch, tc_dtypes[b->meta.dtype].torch);
    scaling how = SCALE_ONE; /* the first form that fits both */
    while (how != SCALE_NONE && !(scales_as(e, how, &sa->meta, &a->meta, 0) && scales_as(e, how, &sb->meta, &b->meta, 1))) how++;
    if (how == SCALE_NONE) return wrong_scales(e, n, &a->meta, &b->meta);
    tc_value *after_a, *after_b, *x = unscaled(e, a, sa, how, 0, &after_a), *w = unscaled(e, b, sb, how, 1, &after_b);
    tc_value *y = tc_emit_call(e, "aten::mm", "vv", x, w);
    if (after_a) y = tc_e_mul(e, tc_e_mul(e, y, after_a), after_b);
    if (bias) y = tc_e_add(e, y, tc_e_cast(e, bias, TC_F32));
    if (tc_arg_value(n, 5) && is_f8(tc_arg_dtype(n, 6, TC_F32))) /* as in PyTorch: only if the result is float8 */
        y = tc_e_div(e, y, tc_arg_value(n, 5));
    tc_emit_result(e, 0, tc_e_cast(e, y, tc_arg_dtype(n, 6, a->meta.dtype)));
    return tc_e_done(e);
}

const tc_op tc_ops_grouped_mm[] = {
    {.schema = "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
     .shape = shape_grouped,
     .kernel = &tc_k_grouped_mm,
     .grad = grad_grouped,
     .samples = "_grouped_mm(f32[3,5,8], f32[3,8,4])",
     .doc = "products of groups of rows, columns or of k, each with a matrix of its own"},
    {.schema = "tc::grouped_mm(Tensor self, Tensor mat2, Tensor offs) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = shape_groups,
     .kernel = &tc_k_grouped_mm,
     .doc = "_grouped_mm of every floating-point type and layout"},
    {.schema = "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_fallback,
     .grad = grad_fallback,
     .doc = "products of groups of rows, each with a matrix of its own; rows up to offs[g] belong to group g"},
    {.schema = "transformers::grouped_mm_fallback_backward(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)",
     .flags = TC_OP_NONDIFF,
     .shape = tc_shape_decomposed,
     .decompose = decompose_fallback_backward,
     .doc = "gradients of grouped_mm_fallback by input and weight"},
    {.schema = "aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? "
               "out_dtype=None, bool use_fast_accum=False) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = tc_shape_decomposed,
     .decompose = decompose_scaled,
     .doc = "product of float8 matrices and of their scales"},
    {0}};
