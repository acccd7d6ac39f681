/* Affine quantisation: q = clamp(round(x / scale) + zero_point), x = (q - zero_point) scale, one scale for each tensor or channel.
 *
 *     quantized_decomposed::*   the two halves, as torch.ao's graphs hold them
 *     fake_quantize_*           both in one; the gradient passes where nothing was clamped
 *     _weight_int*pack_mm       products with a weight of 8 or 4 bits; as compositions of these rows, for C and ONNX, they have the same bits */
#include "kernel/matmul.h"
#include "op/shape.h"

#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

typedef struct {
    tc_value *scale, *zero; /* tensors that broadcast against x; NULL: numbers */
    double scale_number;
    int64_t zero_number;
} affine;

/* scale and zero_point are arguments 1 and 2; axis < 0: one for the whole tensor. */
static tc_status read_affine(tc_emit *e, const tc_node *n, tc_value *x, int64_t axis, affine *out) {
    *out = (affine){0};
    if (!tc_arg_meta(n, 1)) {
        out->scale_number = tc_arg_float(n, 1);
        out->zero_number = tc_arg_int(n, 2);
        return NULL;
    }
    int64_t shape[TC_MAX_RANK];
    int rank = axis < 0 ? 0 : x->meta.rank;
    if (axis >= 0 && axis >= x->meta.rank) return tc_e_refuse(n, "axis must be less than the number of dimensions of input");
    for (int k = 0; k < rank; k++) shape[k] = k == axis ? -1 : 1;
    out->scale = ATEN("reshape", "vI", tc_arg_value(n, 1), shape, rank);
    if (tc_arg_meta(n, 2)) out->zero = ATEN("reshape", "vI", tc_arg_value(n, 2), shape, rank);
    return NULL;
}
/* round(x / scale) + zero_point, as a float */
static tc_value *levels(tc_emit *e, tc_value *x, const affine *a, bool whole) {
    tc_value *r;
    if (!a->scale) return ATEN("add.Tensor", "vi", tc_e1(e, "aten::round", tc_e_muls(e, x, 1 / a->scale_number)), a->zero_number);
    /* a number in PyTorch: its reciprocal is computed in double */
    tc_value *inverse = tc_e1(e, "aten::reciprocal", whole ? tc_e_cast(e, a->scale, TC_F64) : a->scale);
    r = tc_e1(e, "aten::round", tc_e_mul(e, x, inverse));
    return a->zero ? tc_e_add(e, r, a->zero) : r;
}
static tc_value *values(tc_emit *e, tc_value *q, const affine *a) {
    if (!a->scale) return tc_e_muls(e, ATEN("sub.Tensor", "vi", q, a->zero_number), a->scale_number);
    return tc_e_mul(e, a->zero ? tc_e_sub(e, q, a->zero) : q, a->scale);
}

/* ---- the two halves ---- */
static int64_t axis_of(const tc_node *n) { return strstr(tc_op_schema(n->op)->name, "per_channel") ? tc_arg_int(n, 3) : -1; }
static tc_status decompose_quantize(tc_emit *e, const tc_node *n) { /* input, scale, zero_point, [axis,] quant_min, quant_max, dtype */
    tc_value *x = tc_arg_value(n, 0);
    affine a;
    int at = axis_of(n) < 0 ? 3 : 4;
    if (x->meta.dtype == TC_F16 || x->meta.dtype == TC_BF16) x = tc_e_cast(e, x, TC_F32);
    if (x && x->meta.dtype != TC_F32) return tc_e_refuse(n, "AssertionError: Expecting input to have dtype torch.float32");
    TC_TRY(read_affine(e, n, x, axis_of(n), &a));
    tc_value *q = levels(e, x, &a, at == 3);
    if (tc_arg_meta(n, at)) {
        tc_value *lo = tc_arg_value(n, at), *hi = tc_arg_value(n, at + 1);
        q = ATEN("clamp.Tensor", "vvv", q, ATEN("reshape", "vI", lo, (int64_t[]){0}, 0), ATEN("reshape", "vI", hi, (int64_t[]){0}, 0));
    } else {
        q = ATEN("clamp", "vaa", q, &n->args[at], &n->args[at + 1]);
    }
    tc_emit_result(e, 0, tc_e_cast(e, q, tc_arg_dtype(n, at + 2, TC_I8)));
    return tc_e_done(e);
}
static tc_status decompose_dequantize(tc_emit *e, const tc_node *n) { /* input, scale, zero_point, [axis,] quant_min, quant_max, dtype, out_dtype */
    tc_value *q = tc_arg_value(n, 0);
    affine a;
    int at = axis_of(n) < 0 ? 3 : 4;
    tc_dtype out = tc_arg_dtype(n, at + 3, TC_F32);
    if (q->meta.dtype != tc_arg_dtype(n, at + 2, q->meta.dtype))
        return tc_error(TC_CONTENT, "AssertionError: %s: Expecting input to have dtype: %s, but got %s", tc_op_name(n->op),
                        tc_dtypes[tc_arg_dtype(n, at + 2, q->meta.dtype)].torch, tc_dtypes[q->meta.dtype].torch);
    TC_TRY(read_affine(e, n, q, axis_of(n), &a));
    tc_emit_result(e, 0, tc_e_cast(e, values(e, at == 3 || !a.zero ? tc_e_cast(e, q, out) : q, &a), out));
    return tc_e_done(e);
}

/* ---- both in one ---- */
static tc_status decompose_fake(tc_emit *e, const tc_node *n) { /* self, scale, zero_point, [axis,] quant_min, quant_max: output, mask */
    tc_value *x = tc_arg_value(n, 0), *level;
    affine a;
    int at = axis_of(n) < 0 ? 3 : 4;
    if (!tc_is_float(x->meta.dtype)) return tc_e_refuse(n, "input must be a floating-point tensor");
    int64_t lo = tc_arg_int(n, at), hi = tc_arg_int(n, at + 1);
    if (lo > hi) return tc_e_refuse(n, "`quant_min` should be less than or equal to `quant_max`.");
    TC_TRY(read_affine(e, n, x, axis_of(n), &a));
    level = levels(e, tc_e_cast(e, x, tc_dtype_compute(x->meta.dtype)), &a, false);
    tc_value *y = values(e, ATEN("clamp", "vii", level, lo, hi), &a);
    tc_value *in = tc_e2(e, "aten::logical_and", ATEN("ge.Scalar", "vi", level, lo), ATEN("le.Scalar", "vi", level, hi));
    tc_emit_result(e, 0, tc_e_cast(e, y, x->meta.dtype));
    tc_emit_result(e, 1, in);
    return tc_e_done(e);
}
static tc_status grad_fake(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (gs[0] && tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, ATEN("where.ScalarOther", "vvi", n->outs[1], gs[0], (int64_t)0));
    return tc_e_done(e);
}
static tc_status decompose_fake_plain(tc_emit *e, const tc_node *n) { /* the first result of the form with a mask */
    bool channel = axis_of(n) >= 0, tensors = !strcmp(tc_op_schema(n->op)->overload, "tensor_qparams");
    tc_value *y;
    if (channel)
        y = ATEN("fake_quantize_per_channel_affine_cachemask", "aaaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4],
                 &n->args[5]);
    else if (tensors)
        y = ATEN("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "aaavaa", &n->args[0], &n->args[1], &n->args[2],
                 ATEN("ones", "Id", (int64_t[]){1}, 1, (int)TC_I64), &n->args[3], &n->args[4]);
    else y = ATEN("fake_quantize_per_tensor_affine_cachemask", "aaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4]);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}
static tc_status decompose_fake_switched(tc_emit *e, const tc_node *n) { /* self, scale, zero_point, fake_quant_enabled, quant_min, quant_max */
    tc_value *x = tc_arg_value(n, 0), *on = ATEN("reshape", "vI", tc_arg_value(n, 3), (int64_t[]){0}, 0);
    affine a;
    int64_t lo = tc_arg_int(n, 4), hi = tc_arg_int(n, 5);
    if (!tc_is_float(x->meta.dtype)) return tc_e_refuse(n, "input must be a floating-point tensor");
    TC_TRY(read_affine(e, n, x, -1, &a));
    tc_value *level = levels(e, x, &a, false), *off = ATEN("eq.Scalar", "vi", on, (int64_t)0);
    tc_value *in = tc_e2(e, "aten::logical_and", ATEN("ge.Scalar", "vi", level, lo), ATEN("le.Scalar", "vi", level, hi));
    tc_value *y = values(e, ATEN("clamp", "vii", level, lo, hi), &a);
    tc_emit_result(e, 0, tc_e_cast(e, tc_e3(e, "aten::where.self", off, x, y), x->meta.dtype));
    tc_emit_result(e, 1, tc_e2(e, "aten::logical_or", off, in));
    return tc_e_done(e);
}

/* ---- products ---- */
/* self [M, K], mat2 [N, bytes] of the given type, and the scales, the last argument, of self's type; gives the result's sizes. */
static tc_status check_weight(tc_shape_ctx *c, tc_dtype type, const char *name, tc_dims *out) {
    for (int i = 0; i < c->nargs; i++)
        if (i != 2 || c->nargs == 3) TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1), *s = tc_sh_meta(c, c->nargs - 1);
    if (a->dtype != TC_F32 && a->dtype != TC_BF16 && a->dtype != TC_F16) return tc_sh_fail(c, "expect A to be either 32-bit or 16-bit float tensor.");
    if (a->rank != 2 || b->rank != 2) return tc_sh_fail(c, "expect A and B to be 2D tensors");
    if (b->dtype != type) return tc_sh_fail(c, "expect B to be %s tensor.", name);
    if (s->dtype != a->dtype) return tc_sh_fail(c, "expected scalar type %s but found %s", tc_dtypes[a->dtype].torch, tc_dtypes[s->dtype].torch);
    *out = (tc_dims){2, {a->size[0], b->size[0]}};
    return NULL;
}
static tc_status shape_int8pack_mm(tc_shape_ctx *c) { /* self [M, K], mat2 int8 [N, K], scales [N] */
    tc_dims d;
    TC_TRY(check_weight(c, TC_I8, "int8", &d));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1), *s = tc_sh_meta(c, 2);
    if (!tc_sh_same(c, a->size[1], b->size[1])) return tc_sh_fail(c, "expect B.size(1) to be A.size(1)");
    if (s->rank != 1 || !tc_sh_same(c, s->size[0], b->size[0])) return tc_sh_fail(c, "expect scales to be 1d tensor with one a row of B");
    return tc_sh_out(c, 0, a->dtype, &d);
}
static tc_status decompose_int8pack_mm(tc_emit *e, const tc_node *n) {
    const tc_dtype d = tc_arg_value(n, 0)->meta.dtype;
    tc_value *y = ATEN("mm", "vv", tc_e_cast(e, tc_arg_value(n, 0), TC_F32), ATEN("t", "v", tc_e_cast(e, tc_arg_value(n, 1), TC_F32)));
    tc_emit_result(e, 0, tc_e_cast(e, tc_e_mul(e, y, tc_e_cast(e, tc_arg_value(n, 2), TC_F32)), d));
    return tc_e_done(e);
}

/* Weights of 4 bits in PyTorch's layout for AVX-512: blocks of 64 rows, [block][K][32], byte i holding rows i and 32 + i; the last rows, fewer than
 * 64, as [K][rows / 2], byte i holding rows 2 i and 2 i + 1. */
enum { ROWS = 64 };
static tc_value *both_halves(tc_emit *e, tc_value *low, tc_value *high) {
    return ATEN("bitwise_or.Tensor", "vv", low, ATEN("bitwise_left_shift.Tensor_Scalar", "vi", high, (int64_t)4));
}
static bool known_sizes(const tc_meta *m, int64_t size[2]) {
    return tc_sym_const_int(m->size[0], &size[0]) && tc_sym_const_int(m->size[1], &size[1]);
}
static tc_status decompose_to_int4pack(tc_emit *e, const tc_node *n) { /* self int32 [N, K], innerKTiles */
    tc_value *q = tc_arg_value(n, 0), *part[2];
    int64_t size[2], parts = 0;
    if (q->meta.dtype != TC_I32) return tc_e_refuse(n, "expect weight to be kInt.");
    if (q->meta.rank != 2) return tc_e_refuse(n, "expect weight to be 2D tensor.");
    if (!known_sizes(&q->meta, size)) return tc_error(TC_UNSUPPORTED, "%s of a weight whose sizes are not fixed", tc_op_name(n->op));
    if (size[0] % 16) return tc_e_refuse(n, "expect N to be dividable by 16");
    if (size[1] % 2) return tc_e_refuse(n, "expect K to be dividable by 2");
    const int64_t whole = size[0] / ROWS * ROWS, last = size[0] - whole, k = size[1];
    if (whole) {
        tc_value *b =
            ATEN("reshape", "vI", ATEN("narrow", "viii", q, (int64_t)0, (int64_t)(0), whole), ((int64_t[]){whole / ROWS, 2, ROWS / 2, k}), 4);
        b = both_halves(e, ATEN("select.int", "vii", b, (int64_t)1, (int64_t)0), ATEN("select.int", "vii", b, (int64_t)1, (int64_t)1));
        part[parts++] = ATEN("reshape", "vI", ATEN("transpose.int", "vii", b, (int64_t)1, (int64_t)2), ((int64_t[]){whole, k / 2}), 2);
    }
    if (last || !whole) {
        tc_value *b = ATEN("reshape", "vI", ATEN("narrow", "viii", q, (int64_t)0, (int64_t)(whole), last), ((int64_t[]){last / 2, 2, k}), 3);
        b = both_halves(e, ATEN("select.int", "vii", b, (int64_t)1, (int64_t)0), ATEN("select.int", "vii", b, (int64_t)1, (int64_t)1));
        part[parts++] = ATEN("reshape", "vI", ATEN("transpose.int", "vii", b, (int64_t)0, (int64_t)1), ((int64_t[]){last, k / 2}), 2);
    }
    tc_emit_result(e, 0, tc_e_cast(e, parts == 1 ? part[0] : ATEN("cat", "Vi", part, 2, (int64_t)0), TC_U8));
    return tc_e_done(e);
}
/* The inverse of both_halves and of the order: int32 [N, K]. */
static tc_value *from_int4pack(tc_emit *e, tc_value *w, int64_t n, int64_t k) {
    const int64_t whole = n / ROWS * ROWS, last = n - whole;
    tc_value *part[2];
    int parts = 0;
    w = tc_e_cast(e, w, TC_I32);
    for (int tail = 0; tail < 2; tail++) {
        const int64_t rows = tail ? last : whole, block = tail ? last : ROWS;
        if (!rows) continue;
        tc_value *b = ATEN("reshape", "vI", ATEN("narrow", "viii", w, (int64_t)0, (int64_t)(tail ? whole : 0), rows),
                           ((int64_t[]){rows / block, k, block / 2}), 3);
        b = ATEN("transpose.int", "vii", b, (int64_t)1, (int64_t)2);
        tc_value *half[2] = {ATEN("bitwise_and.Scalar", "vi", b, (int64_t)15), ATEN("bitwise_right_shift.Tensor_Scalar", "vi", b, (int64_t)4)};
        part[parts++] = ATEN("reshape", "vI", ATEN("stack", "Vi", half, 2, (int64_t)(tail ? 2 : 1)), ((int64_t[]){rows, k}), 2);
    }
    return parts == 1 ? part[0] : ATEN("cat", "Vi", part, 2, (int64_t)0);
}
static tc_status shape_int4pack_mm(tc_shape_ctx *c) { /* self [M, K], mat2 uint8 [N, K / 2], qGroupSize, qScaleAndZeros [K / group, N, 2] */
    tc_dims d;
    int64_t size[2], n;
    const int64_t group = tc_sh_const(c, 2);
    TC_TRY(check_weight(c, TC_U8, "uint8", &d));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1), *s = tc_sh_meta(c, 3);
    if (group != 32 && group != 64 && group != 128 && group != 256)
        return tc_sh_fail(c, "expect qGroupSize to be 32, 64, 128 or 256, got %lld", (long long)group);
    if (!known_sizes(b, size)) return tc_error(TC_UNSUPPORTED, "%s of a weight whose sizes are not fixed", tc_op_name(c->op));
    if (size[0] % 16) return tc_sh_fail(c, "Unsupported n block size: %lld", (long long)(size[0] % ROWS));
    tc_symctx *sym = tc_sh_sym(c);
    if (!tc_sh_same(c, a->size[1], tc_sym_int(sym, 2 * size[1]))) return tc_sh_fail(c, "expect B to have two columns of A a byte");
    if (2 * size[1] % group)
        return tc_sh_fail(c, "expect K to be divisible by qGroupSize, got K:%lld, qGroupSize:%lld", (long long)(2 * size[1]), (long long)group);
    if (s->rank != 3 || !tc_sh_same(c, s->size[1], b->size[0]) || !tc_sym_const_int(s->size[2], &n) || n != 2)
        return tc_sh_fail(c, "expect qScaleAndZeros to be 3d tensor with sizes [:, %lld, 2]", (long long)size[0]);
    if (!tc_sh_same(c, s->size[0], tc_sym_int(sym, 2 * size[1] / group)))
        return tc_sh_fail(c, "expect qScaleAndZeros to have one scale and zero for %lld columns of A", (long long)group);
    return tc_sh_out(c, 0, a->dtype, &d);
}
static tc_status decompose_int4pack_mm(tc_emit *e, const tc_node *node) {
    tc_value *x = tc_arg_value(node, 0), *s = tc_e_cast(e, tc_arg_value(node, 3), TC_F32), *each[2];
    int64_t size[2];
    if (!known_sizes(&tc_arg_value(node, 1)->meta, size)) return tc_e_refuse(node, "the sizes of the weight are not fixed");
    const int64_t n = size[0], k = 2 * size[1], group = tc_arg_int(node, 2), groups = k / group;
    tc_value *q = tc_e_cast(e, ATEN("sub.Scalar", "vi", from_int4pack(e, tc_arg_value(node, 1), n, k), (int64_t)8), TC_F32);
    q = ATEN("permute", "vI", ATEN("reshape", "vI", q, ((int64_t[]){n, groups, group}), 3), ((int64_t[]){2, 1, 0}), 3);
    for (int i = 0; i < 2; i++) each[i] = ATEN("reshape", "vI", ATEN("select.int", "vii", s, (int64_t)2, (int64_t)i), ((int64_t[]){groups * n}), 1);
    tc_value *w = tc_emit_call(e, "tc::scale_shift", "vvv", ATEN("reshape", "vI", q, ((int64_t[]){group, groups * n}), 2), each[0], each[1]);
    w = ATEN("transpose.int", "vii", ATEN("reshape", "vI", w, ((int64_t[]){group, groups, n}), 3), (int64_t)0, (int64_t)1);
    tc_value *y = ATEN("mm", "vv", tc_e_cast(e, x, TC_F32), ATEN("reshape", "vI", w, ((int64_t[]){k, n}), 2));
    tc_emit_result(e, 0, tc_e_cast(e, y, x->meta.dtype));
    return tc_e_done(e);
}

/* ---- scale and zero point from the data: one of each for the tensor, or one a token (the elements of the last dimension) ---- */
static tc_value *scalar_like(tc_emit *e, tc_value *x, double v) { return ATEN("scalar_tensor", "fd", v, (int)x->meta.dtype); }
/* min(smallest, 0) and max(largest, 0) */
static void reach(tc_emit *e, tc_value *x, bool token, tc_value *out[2]) {
    int64_t last = -1;
    tc_value *zero = scalar_like(e, x, 0);
    out[0] = tc_e2(e, "aten::minimum", ATEN("amin", "vIb", x, &last, token ? 1 : 0, token), zero);
    out[1] = tc_e2(e, "aten::maximum", ATEN("amax", "vIb", x, &last, token ? 1 : 0, token), zero);
}
static bool short_float(const tc_value *x) { return x->meta.dtype == TC_F32 || x->meta.dtype == TC_F16 || x->meta.dtype == TC_BF16; }
/* Computed in float32, returned as float64 and int64, the types in PyTorch's graphs. */
static tc_status give_parameters(tc_emit *e, tc_value *scale, tc_value *zero) {
    tc_emit_result(e, 0, tc_e_cast(e, scale, TC_F64));
    tc_emit_result(e, 1, tc_e_cast(e, zero, TC_I64));
    return tc_e_done(e);
}
static tc_status decompose_choose(tc_emit *e, const tc_node *n) { /* input, quant_min, quant_max, eps, dtype */
    tc_value *x = tc_arg_value(n, 0), *r[2], *scale, *zero;
    int64_t lo = tc_arg_int(n, 1), hi = tc_arg_int(n, 2), one = 1;
    bool symmetric = strstr(tc_op_schema(n->op)->name, "symmetric") != NULL;
    if (!short_float(x)) return tc_e_refuse(n, "AssertionError: Expecting input to have dtype torch.float32/16/b16");
    if (lo >= hi) return tc_e_refuse(n, "AssertionError: Expecting quant_min to be smaller than quant_max");
    reach(e, x, false, r);
    tc_value *width = symmetric ? tc_e2(e, "aten::maximum", tc_e_neg(e, r[0]), r[1]) : tc_e_sub(e, r[1], r[0]);
    scale = ATEN("div.Scalar", "vf", width, symmetric ? (double)(hi - lo) / 2 : (double)(hi - lo));
    scale = tc_e2(e, "aten::maximum", tc_e_cast(e, scale, TC_F32), ATEN("full", "Ifd", &one, 1, tc_arg_float(n, 3), (int)TC_F32));
    if (symmetric) {
        zero = ATEN("full", "Iid", &one, 1, (int64_t)(tc_arg_dtype(n, 4, TC_I8) == TC_U8 ? 128 : 0), (int)TC_I64);
    } else {
        zero = tc_e_cast(e, tc_e1(e, "aten::round", tc_e_div(e, tc_e_cast(e, r[0], TC_F32), scale)), TC_I64);
        zero = ATEN("clamp", "vii", ATEN("rsub.Scalar", "vi", zero, lo), lo, hi);
    }
    return give_parameters(e, scale, zero);
}
static tc_status decompose_choose_token(tc_emit *e, const tc_node *n) { /* input, dtype: symmetric */
    tc_value *x = tc_arg_value(n, 0), *scale;
    int64_t last = -1;
    if (tc_arg_dtype(n, 1, TC_I8) != TC_I8) return tc_e_refuse(n, "unsupported dtype in choose_qparams_per_token");
    if (!tc_is_float(x->meta.dtype) || x->meta.rank == 0) return tc_e_refuse(n, "expected a floating-point tensor with a last dimension");
    scale = ATEN("amax", "vIb", tc_e1(e, "aten::abs", x), &last, 1, 1);
    if (x->meta.dtype == TC_F16) scale = tc_e_cast(e, scale, TC_F32);
    scale = ATEN("div.Scalar", "vf", ATEN("clamp", "vf", scale, 1e-5), 127.0);
    return give_parameters(e, scale, tc_e1(e, "aten::zeros_like", scale));
}
static tc_status decompose_choose_token_asymmetric(tc_emit *e, const tc_node *n) { /* input, dtype */
    tc_value *x = tc_arg_value(n, 0), *r[2], *zero;
    if (!tc_is_float(x->meta.dtype) || x->meta.rank == 0) return tc_e_refuse(n, "expected a floating-point tensor with a last dimension");
    reach(e, x, true, r);
    tc_value *scale = ATEN("clamp", "vf", ATEN("div.Scalar", "vf", tc_e_sub(e, r[1], r[0]), 255.0), 0x1p-23);
    tc_value *low = tc_e_div(e, r[0], scale), *high = tc_e_div(e, r[1], scale);
    tc_value *error = tc_e_add(e, tc_e_adds(e, low, -128), tc_e_adds(e, high, 127));
    zero = tc_e3(e, "aten::where.self", ATEN("gt.Scalar", "vi", error, (int64_t)0), ATEN("rsub.Scalar", "vi", low, (int64_t)-128),
                 ATEN("rsub.Scalar", "vi", high, (int64_t)127));
    return give_parameters(e, scale, tc_e1(e, "aten::round", ATEN("clamp", "vii", zero, (int64_t)-128, (int64_t)127)));
}

/* ---- one scale for each token, or each group of a row ---- */
static tc_value *quantised(tc_emit *e, tc_value *x, tc_value *scale, tc_value *zero, const tc_arg *lo, const tc_arg *hi, tc_dtype d) {
    tc_value *r = tc_e_add(e, tc_e_mul(e, x, tc_e1(e, "aten::reciprocal", scale)), zero);
    return tc_e_cast(e, ATEN("clamp", "vaa", tc_e1(e, "aten::round", r), lo, hi), d);
}
static tc_status decompose_quantize_token(tc_emit *e, const tc_node *n) { /* input, scales, zero_points, quant_min, quant_max, dtype */
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, quantised(e, x, tc_arg_value(n, 1), tc_arg_value(n, 2), &n->args[3], &n->args[4], tc_arg_dtype(n, 5, TC_I8)));
    return tc_e_done(e);
}
static tc_status decompose_dequantize_token(tc_emit *e,
                                            const tc_node *n) { /* input, scales, zero_points, quant_min, quant_max, dtype, output_dtype */
    tc_value *x = tc_e_mul(e, tc_e_sub(e, tc_arg_value(n, 0), tc_arg_value(n, 2)), tc_arg_value(n, 1));
    tc_emit_result(e, 0, tc_e_cast(e, x, tc_arg_dtype(n, 6, TC_F32)));
    return tc_e_done(e);
}
/* The input as rows of one group each; scales and zero points as columns. */
static tc_status grouped(tc_emit *e, const tc_node *n, tc_value *out[3]) { /* args: input, scales, zero_points, ..., group_size as 6 */
    tc_value *x = tc_arg_value(n, 0), *s = tc_arg_value(n, 1), *z = tc_arg_value(n, 2);
    int64_t size = tc_arg_int(n, 6), row, per;
    if (x->meta.rank != 2) return tc_e_refuse(n, "AssertionError: input must be 2-dimensional");
    if (size <= 1) return tc_e_refuse(n, "AssertionError: group_size must be > 1");
    if (!tc_e_pin(e, n, x->meta.size[1], &row)) return tc_error(TC_UNSUPPORTED, "%s of rows of symbolic length", tc_op_name(n->op));
    if (size > row && s->meta.rank && tc_sym_const_int(s->meta.size[s->meta.rank - 1], &per) && per == 1) size = row;
    if (row % size) return tc_e_refuse(n, "AssertionError: input.shape[-1] must be divisible by group_size");
    out[0] = ATEN("reshape", "vI", x, ((int64_t[]){-1, size}), 2);
    out[1] = ATEN("reshape", "vI", s, ((int64_t[]){-1, 1}), 2);
    out[2] = z ? ATEN("reshape", "vI", z, ((int64_t[]){-1, 1}), 2) : NULL;
    return NULL;
}
static tc_status decompose_quantize_group(tc_emit *e, const tc_node *n) { /* ..., quant_min, quant_max, dtype, group_size */
    tc_value *g[3], *x = tc_arg_value(n, 0);
    TC_TRY(grouped(e, n, g));
    tc_value *q = quantised(e, g[0], g[1], g[2], &n->args[3], &n->args[4], tc_arg_dtype(n, 5, TC_I8));
    tc_emit_result(e, 0, ATEN("reshape", "vS", q, x->meta.size, 2));
    return tc_e_done(e);
}
static tc_status decompose_dequantize_group(tc_emit *e, const tc_node *n) { /* ..., quant_min, quant_max, dtype, group_size, output_dtype */
    tc_value *g[3], *x = tc_arg_value(n, 0);
    TC_TRY(grouped(e, n, g));
    tc_value *y = tc_e_mul(e, g[2] ? tc_e_sub(e, g[0], g[2]) : g[0], g[1]);
    tc_emit_result(e, 0, tc_e_cast(e, ATEN("reshape", "vS", y, x->meta.size, 2), tc_arg_dtype(n, 7, TC_F32)));
    return tc_e_done(e);
}
static tc_status decompose_convert(tc_emit *e, const tc_node *n) { /* input, dtype */
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, tc_e_cast(e, x, tc_arg_dtype(n, 1, x->meta.dtype)));
    return tc_e_done(e);
}

#define RULE(SCHEMA, name, sample, text) \
    { .schema = SCHEMA, .flags = TC_OP_NONDIFF, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define PRODUCT(SCHEMA, name, sample, text)                                                                                                        \
    {                                                                                                                                              \
        .schema = SCHEMA, .flags = TC_OP_NONDIFF, .shape = shape_##name, .kernel = &tc_k_##name, .decompose = decompose_##name, .samples = sample, \
        .doc = text                                                                                                                                \
    }
#define FAKE(SCHEMA, name, grad_, sample)                                                                                \
    {                                                                                                                    \
        .schema = SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .grad = grad_, .samples = sample, \
        .doc = "x to its quantised value"                                                                                \
    }
#define MASKED " -> (Tensor output, Tensor mask)"
#define RANGE "int quant_min, int quant_max"
#define Q "quantized_decomposed::"
const tc_op tc_ops_quantize[] = {
    RULE(Q "quantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE ", ScalarType dtype) -> Tensor", quantize, NULL,
         "clamp(round(x / scale) + zero_point)"),
    RULE(Q "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE ", ScalarType dtype) -> Tensor", quantize, NULL,
         "clamp(round(x / scale) + zero_point)"),
    RULE(Q "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " RANGE ", ScalarType dtype) -> Tensor", quantize, NULL,
         "clamp(round(x / scale) + zero_point) a channel"),
    RULE(Q "dequantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE ", ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
         dequantize, NULL, "(x - zero_point) scale"),
    RULE(Q "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE
           ", ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
         dequantize, NULL, "(x - zero_point) scale"),
    RULE(Q "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " RANGE
           ", ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
         dequantize, NULL, "(x - zero_point) scale, by channel"),
    RULE(Q "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> "
           "Tensor",
         quantize, NULL, "clamp(round(x / scale) + zero_point)"),
    RULE(Q "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, "
           "ScalarType? out_dtype=None) -> Tensor",
         dequantize, NULL, "(x - zero_point) scale"),
    RULE(Q "choose_qparams.tensor(Tensor input, " RANGE ", float eps, ScalarType dtype) -> (Tensor, Tensor)", choose, NULL,
         "scale and zero point that cover x and 0"),
    RULE(Q "choose_qparams_symmetric.tensor(Tensor input, " RANGE ", float eps, ScalarType dtype) -> (Tensor, Tensor)", choose, NULL,
         "scale that covers the largest magnitude, its zero point"),
    RULE(Q "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_token, NULL,
         "scale of the largest magnitude a token, zeros"),
    RULE(Q "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_token_asymmetric, NULL,
         "scale and zero point a token"),
    RULE(Q "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_token_asymmetric, NULL,
         "scale and zero point a token"),
    RULE(Q "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " RANGE ", ScalarType dtype) -> Tensor", quantize_token, NULL,
         "clamp(round(x / scale + zero_point)) a token"),
    RULE(Q "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " RANGE ", ScalarType dtype, ScalarType output_dtype) -> Tensor",
         dequantize_token, NULL, "(x - zero_point) scale a token"),
    RULE(Q "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " RANGE ", ScalarType dtype, int group_size) -> Tensor",
         quantize_group, NULL, "clamp(round(x / scale + zero_point)) a group of a row"),
    RULE(Q "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " RANGE
           ", ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
         dequantize_group, NULL, "(x - zero_point) scale, by group of a row"),
    RULE(Q "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", convert, NULL, "x in another type"),
    FAKE(Q "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " RANGE ") -> Tensor", fake_plain, NULL, NULL),
    FAKE("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, " RANGE ") -> Tensor", fake_plain, NULL,
         "fake_quantize_per_tensor_affine(f32[3,5], 0.1, 0, -4, 3)"),
    FAKE("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, " RANGE ") -> Tensor", fake_plain, NULL,
         NULL),
    FAKE("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, " RANGE ") -> Tensor", fake_plain, NULL,
         NULL),
    FAKE("aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, " RANGE ")" MASKED, fake, grad_fake, NULL),
    FAKE("aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, " RANGE ")" MASKED, fake,
         grad_fake, NULL),
    FAKE("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor "
         "fake_quant_enabled, " RANGE ")" MASKED,
         fake_switched, grad_fake, NULL),
    PRODUCT("aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", int8pack_mm,
            "_weight_int8pack_mm(f32[3,4], i8[5,4], f32[5]); _weight_int8pack_mm(bf16[1,600], i8[70,600], bf16[70]); "
            "_weight_int8pack_mm(f16[2,0], i8[3,0], f16[3])",
            "self mat2' with a scale for each row of mat2"),
    PRODUCT("aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor", int4pack_mm,
            "_weight_int4pack_mm_for_cpu(f32[3,64], u8[80,32], 32, f32[2,80,2]); _weight_int4pack_mm_for_cpu(bf16[1,384], u8[64,192], 128, "
            "bf16[3,64,2])",
            "self w', w = (q - 8) scale + zero of four bits q, a scale and a zero a group of a row"),
    RULE("aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor", to_int4pack,
         "_convert_weight_to_int4pack_for_cpu(i32[80,6], 1)", "numbers of four bits, two a byte, in the order of the product"),
    {0}};
