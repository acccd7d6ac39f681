/* Resampling of images with antialiasing: where the image shrinks, the filter widens with the step, so that every pixel counts.
 *
 *     result i = sum over pixels j of f((j + 1/2 - s (i + 1/2)) / max(s, 1)), divided by the sum of the weights; s = in / out
 *     f    bilinear 1 - |x| within 1; bicubic with A = -1/2 within 2; lanczos sinc(x) sinc(x / 3) within 3
 *
 * The weights of one dimension are a matrix [out, in], made in float64; the image is multiplied by it along the width, then along the
 * height. Bytes are weighted by 16-bit integers and rounded after each dimension, as in PyTorch. */
#include "op/upsample.h"
#include "op/shape.h"

#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

typedef enum { LINEAR, CUBIC, LANCZOS } filter;

static tc_sym number(tc_symctx *s, double v) { return tc_sym_float(s, v); }

static tc_value *only_below(tc_emit *e, tc_value *x, double bound, tc_value *v) { /* v where x < bound, else 0 */
    return ATEN("where.ScalarOther", "vvi", ATEN("lt.Scalar", "vf", x, bound), v, (int64_t)0);
}
/* f(|x|) */
static tc_value *weight(tc_emit *e, filter f, tc_value *x) {
    if (f == LINEAR) return only_below(e, x, 1, tc_e_adds(e, tc_e_neg(e, x), 1));
    if (f == LANCZOS) return only_below(e, x, 3, tc_e_mul(e, tc_e1(e, "aten::sinc", x), tc_e1(e, "aten::sinc", tc_e_muls(e, x, 1.0 / 3))));
    /* ((A + 2) x - (A + 3)) x x + 1 and (((x - 5) x + 8) x - 4) A */
    tc_value *near = tc_e_adds(e, tc_e_mul(e, tc_e_mul(e, tc_e_adds(e, tc_e_muls(e, x, 1.5), -2.5), x), x), 1);
    tc_value *far = tc_e_adds(e, tc_e_mul(e, tc_e_adds(e, tc_e_mul(e, tc_e_adds(e, x, -5), x), 8), x), -4);
    return tc_e3(e, "aten::where.self", ATEN("lt.Scalar", "vf", x, 1.0), near, only_below(e, x, 2, tc_e_muls(e, far, -0.5)));
}
static tc_sym step_of(tc_symctx *s, tc_sym in, tc_sym out, bool align, double factor) {
    tc_sym one = tc_sym_int(s, 1);
    if (align && tc_sym_is_int(out, 1)) return number(s, 0);
    if (align) return tc_sym_op(s, TC_S_FDIV, tc_sym_sub(s, in, one), tc_sym_sub(s, out, one), NULL);
    return factor > 0 ? number(s, 1 / factor) : tc_sym_op(s, TC_S_FDIV, in, out, NULL);
}
/* [out, in]; each row sums to 1 */
static tc_value *matrix(tc_emit *e, filter f, tc_sym in, tc_sym out, tc_sym step) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym wide = tc_sym_op(s, TC_S_FMAX, step, number(s, 1), NULL), reach = tc_sym_op(s, TC_S_FMUL, wide,
                                                                                       number(s, f == LINEAR  ? 1
                                                                                                 : f == CUBIC ? 2
                                                                                                              : 3),
                                                                                       NULL);
    tc_value *i = ATEN("arange", "sd", out, (int)TC_F64), *j = ATEN("arange", "sd", in, (int)TC_F64);
    tc_value *centre = ATEN("unsqueeze", "vi", ATEN("mul.Tensor", "vs", tc_e_adds(e, i, 0.5), step), (int64_t)1);
    /* pixels from floor(centre - reach + 1/2) up to but not including floor(centre + reach + 1/2) */
    tc_value *first = tc_e1(e, "aten::trunc", tc_e_adds(e, ATEN("sub.Tensor", "vs", centre, reach), 0.5));
    tc_value *end = tc_e1(e, "aten::trunc", tc_e_adds(e, ATEN("add.Tensor", "vs", centre, reach), 0.5));
    tc_value *in_reach = tc_e2(e, "aten::logical_and", tc_e2(e, "aten::ge.Tensor", j, first), tc_e2(e, "aten::lt.Tensor", j, end));
    tc_value *x = ATEN("div.Tensor", "vs", tc_e_adds(e, tc_e_sub(e, j, centre), 0.5), wide);
    tc_value *w = ATEN("where.ScalarOther", "vvi", in_reach, weight(e, f, tc_e1(e, "aten::abs", x)), (int64_t)0);
    tc_value *total = ATEN("sum.dim_IntList", "vIb", w, (int64_t[]){1}, 1, 1);
    /* a row whose weights are all 0 is unchanged */
    total = tc_e3(e, "aten::where.self", ATEN("eq.Scalar", "vi", total, (int64_t)0), ATEN("ones_like", "v", total), total);
    return tc_e_div(e, w, total);
}
/* Integer weights, scaled by the largest power of two that keeps them below 2^15. *out_scale: the power. */
static tc_value *integers(tc_emit *e, tc_value *w, tc_value **out_scale) {
    tc_value *bits = tc_e1(e, "aten::log2", tc_e1(e, "aten::reciprocal", tc_e_muls(e, tc_e1(e, "aten::max", w), 1 / 32767.5)));
    bits = ATEN("clamp", "vii", tc_e_adds(e, tc_e1(e, "aten::ceil", bits), -1), (int64_t)0, (int64_t)22);
    *out_scale = tc_e1(e, "aten::exp2", bits);
    w = tc_e_mul(e, w, *out_scale); /* rounds half away from zero */
    return tc_e_mul(e, tc_e1(e, "aten::sign", w), tc_e1(e, "aten::floor", tc_e_adds(e, tc_e1(e, "aten::abs", w), 0.5)));
}
static tc_value *product(tc_emit *e, tc_value *x, tc_value *w, bool height) {
    return height ? tc_e2(e, "aten::matmul", w, x) : tc_e2(e, "aten::matmul", x, ATEN("t", "v", w));
}
tc_value *tc_upsample_bytes(tc_emit *e, tc_value *x, tc_value *w, bool height) {
    tc_value *scale = NULL;
    w = integers(e, w, &scale);
    tc_value *y = product(e, x, w, height);
    return ATEN("clamp", "vii", tc_e1(e, "aten::floor", tc_e_adds(e, tc_e_div(e, y, scale), 0.5)), (int64_t)0, (int64_t)255);
}

/* input, output_size, align_corners, then scale_factors (.vec) or one factor for each dimension */
static tc_status decompose_upsample_aa(tc_emit *e, const tc_node *n) {
    const tc_schema *sc = tc_op_schema(n->op);
    filter f = strstr(sc->name, "bilinear") ? LINEAR : strstr(sc->name, "bicubic") ? CUBIC : LANCZOS;
    bool vec = !strcmp(sc->overload, "vec"), sized = !tc_arg_is_none(n, 1), align = tc_arg_bool(n, 2);
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_dtype d = x->meta.dtype;
    if (x->meta.rank != 4) return tc_e_refuse(n, "It is expected input to have 4 dimensions, but got %d", x->meta.rank);
    if (vec && sized == !tc_arg_is_none(n, 3)) return tc_e_refuse(n, "Must specify exactly one of output_size and scale_factors");
    if (sized && n->args[1].n != 2) return tc_e_refuse(n, "It is expected output_size equals to 2, but got size %d", n->args[1].n);
    if (!tc_is_float(d) && d != TC_U8)
        return tc_e_refuse(n, "NotImplementedError: \"compute_indices_weights_aa\" not implemented for '%s'", tc_dtypes[d].torch);
    tc_value *y = tc_e_cast(e, x, d == TC_U8 ? TC_F64 : tc_dtype_compute(d));
    for (int k = 1; k >= 0; k--) { /* the width first */
        tc_sym in = x->meta.size[2 + k], out;
        double factor = 0;
        int64_t v;
        if (vec && !tc_arg_is_none(n, 3)) factor = n->args[3].floats[k < n->args[3].n ? k : 0];
        else if (!vec && !tc_arg_is_none(n, 3 + k)) factor = tc_arg_float(n, 3 + k);
        if (sized) out = n->args[1].syms[k];
        else if (tc_sym_const_int(in, &v)) out = tc_sym_int(s, (int64_t)__builtin_floor((double)v * factor));
        else out = tc_sym_op(s, TC_S_FLOOR, tc_sym_op(s, TC_S_FMUL, tc_sym_op(s, TC_S_TOFLOAT, in, NULL, NULL), number(s, factor), NULL), NULL, NULL);
        if (!tc_e_guard(e, n, tc_sym_op(s, TC_S_LT, tc_sym_int(s, 0), out, NULL)) || tc_sym_is_int(in, 0) || tc_sym_is_int(x->meta.size[1], 0))
            return tc_e_refuse(n, "Input and output sizes should be greater than 0");
        if (d == TC_U8 && tc_sym_known(s, tc_sym_op(s, TC_S_EQ, in, out, NULL)) == 1) continue; /* bytes are unchanged where the size is */
        tc_value *w = matrix(e, f, in, out, step_of(s, in, out, align, factor));
        y = d == TC_U8 ? tc_upsample_bytes(e, y, w, k == 0) : product(e, y, tc_e_cast(e, w, y ? y->meta.dtype : TC_F32), k == 0);
    }
    tc_emit_result(e, 0, y ? tc_e_cast(e, y, d) : NULL);
    return tc_e_done(e);
}

#define BOTH(name, text)                                                                                                                       \
    {.schema = "aten::_upsample_" name "2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", \
     .shape = tc_shape_decomposed_format,                                                                                                      \
     .decompose = decompose_upsample_aa,                                                                                                       \
     .keeps = "",                                                                                                                              \
     .doc = text},                                                                                                                             \
    {                                                                                                                                          \
        .schema = "aten::_upsample_" name "2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "               \
                  "float? scales_w=None) -> Tensor",                                                                                           \
        .shape = tc_shape_decomposed_format, .decompose = decompose_upsample_aa, .keeps = "",                                                  \
        .samples = "_upsample_" name "2d_aa(f32[2,3,9,8], [4,5], False); _upsample_" name "2d_aa(f64[1,2,5,4], [7,3], False)", .doc = text     \
    }
const tc_op tc_ops_upsample_aa[] = {
    BOTH("bilinear", "linear, antialiased"), BOTH("bicubic", "cubic, antialiased"), BOTH("lanczos", "three lobes of sinc, antialiased"), {0}};
