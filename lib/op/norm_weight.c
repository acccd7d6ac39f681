/* Tensors scaled by the norms of their slices: weight norm, v g / |v|, and renorm, which scales down the slices whose norm is above a bound. */
#include "op/emit.h"
#include "op/shape.h"

#include <float.h>
#include <math.h>

/* The norm over all dimensions except dim, which are kept with size 1; over all dimensions for -1. Without other dimensions, the norms of the
 * elements. */
static tc_value *norm_except(tc_emit *e, tc_value *v, const tc_arg *p, int64_t dim) {
    int64_t dims[TC_MAX_RANK];
    int k = 0;
    for (int d = 0; d < v->meta.rank; d++)
        if (dim == -1 || d != tc_wrap(dim, v->meta.rank)) dims[k++] = d;
    if (k || !v->meta.rank) return tc_emit_call(e, "aten::linalg_vector_norm", "vaIb", v, p, dims, k, dim != -1);
    return tc_emit_call(e, "aten::linalg_vector_norm", "vaIb", tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)-1), p, (int64_t[]){-1}, 1, 0);
}
/* weight norm: v g / |v|, the norm over all dimensions except dim */
static tc_status decompose_weight_norm_interface(tc_emit *e, const tc_node *n) {
    const tc_arg two = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(2)};
    tc_value *v = tc_arg_value(n, 0), *g = tc_arg_value(n, 1), *norm = norm_except(e, v, &two, tc_arg_int(n, 2));
    tc_emit_result(e, 0, tc_e_mul(e, v, tc_e_div(e, g, norm)));
    if (tc_op_schema(n->op)->nrets > 1) tc_emit_result(e, 1, norm);
    return tc_e_done(e);
}
/* As in PyTorch: the fused operator, which has no forward mode, for the first and the last dimension. */
static tc_status decompose_weight_norm(tc_emit *e, const tc_node *n) {
    const int64_t dim = tc_arg_int(n, 2);
    if (dim != 0 && dim != tc_arg_meta(n, 0)->rank - 1) return decompose_weight_norm_interface(e, n);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_weight_norm_interface", "aaa", &n->args[0], &n->args[1], &n->args[2]));
    return tc_e_done(e);
}
static tc_status decompose_norm_except_dim(tc_emit *e, const tc_node *n) { /* v, pow, dim */
    tc_value *v = tc_arg_value(n, 0);
    int64_t dim = tc_arg_int(n, 2);
    if (dim < -1 || dim >= v->meta.rank) return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range", tc_op_name(n->op));
    tc_emit_result(e, 0, norm_except(e, v, &n->args[1], dim));
    return tc_e_done(e);
}
static tc_status decompose_renorm(tc_emit *e, const tc_node *n) { /* self, p, dim, maxnorm */
    tc_value *x = tc_arg_value(n, 0);
    double max = tc_arg_float(n, 3), p = tc_arg_float(n, 1);
    int64_t dims[TC_MAX_RANK];
    int k = 0, r = x->meta.rank;
    if (!(p > 0)) return tc_e_refuse(n, "non-positive-norm not supported");
    if (!(max >= 0)) return tc_e_refuse(n, "expected maxnorm to be >= 0 but got %g", max);
    if (r < 2) return tc_e_refuse(n, "input needs at least 2 dimensions, got %d dimensions", r);
    int64_t given = tc_arg_int(n, 2);
    if (given < -r || given >= r)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -r, r - 1, (long long)given);
    for (int d = 0; d < r; d++)
        if (d != tc_wrap(given, r)) dims[k++] = d;
    tc_dtype d = x->meta.dtype;
    tc_value *norm = tc_emit_call(e, "aten::linalg_vector_norm", "vfIb", tc_e_cast(e, x, tc_dtype_compute(d)), p, dims, k, 1);
    if (tc_dtype_real(norm ? norm->meta.dtype : TC_F64) == TC_F32 && max > FLT_MAX) max = INFINITY;
    tc_value *factor = tc_e_div(e, tc_emit_call(e, "aten::full_like", "vf", norm, max), tc_e_adds(e, norm, 1e-7));
    factor = tc_emit_call(e, "aten::where.ScalarOther", "vvf", tc_emit_call(e, "aten::gt.Scalar", "vf", norm, max), factor, 1.0);
    tc_emit_result(e, 0, tc_e_mul(e, x, tc_is_complex(d) ? factor : tc_e_cast(e, factor, d)));
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, shape_, decompose_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .decompose = decompose_, .samples = sample, .doc = text }
const tc_op tc_ops_norm_weight[] = {COMPOSED("_weight_norm(Tensor v, Tensor g, int dim=0)", tc_shape_decomposed, decompose_weight_norm,
                                             "_weight_norm(f32[3,4], f32[3,1])", "v g / |v|"),
                                    {.schema = "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
                                     .flags = TC_OP_ONE_GRAD,
                                     .shape = tc_shape_decomposed,
                                     .decompose = decompose_weight_norm_interface,
                                     .samples = "_weight_norm_interface(f32[3,4], f32[3,1])",
                                     .doc = "v g / |v|, |v|"},
                                    COMPOSED("norm_except_dim(Tensor v, int pow=2, int dim=0)", tc_shape_decomposed, decompose_norm_except_dim,
                                             "norm_except_dim(f32[3,4], 2, 1)", "norm over the other dimensions"),
                                    COMPOSED("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm)", tc_shape_decomposed_rows, decompose_renorm,
                                             "renorm(f32[3,4], 2, 0, 1)", "slices with a norm above maxnorm scaled down to it"),
                                    {0}};
