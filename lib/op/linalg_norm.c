/* Norms of matrices and condition numbers, by vector norms and singular values.
 *
 *     fro   all elements as a vector       nuc   sum of singular values      2, -2     greatest, least singular value
 *     1, -1 greatest, least sum of a column's moduli                          inf, -inf  the same of rows */
#include "base/text.h"
#include "op/linalg.h"

#include <math.h>
#include <string.h>

static tc_value *vector_norm(tc_emit *e, tc_value *x, double p, const int64_t *dims, int n, bool keep) {
    return tc_emit_call(e, "aten::linalg_vector_norm", "vfIb", x, p, dims, n, (int)keep);
}
/* The largest or smallest along dim; the largest of an empty dimension is 0. */
static tc_value *reduced(tc_emit *e, tc_value *x, bool most, int64_t dim, bool keep) {
    if (most && x && tc_sym_is_int(x->meta.size[tc_wrap(dim, x->meta.rank)], 0))
        return tc_emit_call(e, "aten::sum.dim_IntList", "vIb", x, &dim, 1, (int)keep);
    return tc_emit_call(e, most ? "aten::amax" : "aten::amin", "vIb", x, &dim, 1, (int)keep);
}
/* Two different dimensions of x, counted from 0. */
static tc_status two_dims(const tc_node *n, const tc_value *x, const int64_t *dims, int k, int64_t out[2]) {
    int r = x->meta.rank;
    if (k != 2) return tc_e_refuse(n, "linalg.matrix_norm: dim must be a 2-tuple. Got %d dimensions", k);
    if (r < 2) return tc_e_refuse(n, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
    for (int i = 0; i < 2; i++) {
        if (dims[i] < -r || dims[i] >= r)
            return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                            tc_op_name(n->op), -r, r - 1, (long long)dims[i]);
        out[i] = tc_wrap(dims[i], r);
    }
    if (out[0] == out[1])
        return tc_e_refuse(n, "linalg.matrix_norm: dims must be different. Got (%lld, %lld)", (long long)dims[0], (long long)dims[1]);
    return NULL;
}
static tc_status need_numbers(const tc_node *n, tc_dtype d, const char *what) {
    if (tc_is_float(d) || tc_is_complex(d)) return NULL;
    return tc_e_refuse(n, "NotImplementedError: %s: Expected a floating point or complex tensor as input. Got %s", what, tc_dtypes[d].torch);
}
/* Singular values along dims, as one dimension at the end. */
static tc_value *singular(tc_emit *e, tc_value *x, const int64_t d[2]) {
    int64_t order[TC_MAX_RANK];
    int k = 0;
    for (int i = 0; i < x->meta.rank; i++)
        if (i != d[0] && i != d[1]) order[k++] = i;
    order[k++] = d[0], order[k++] = d[1];
    return tc_e1(e, "aten::linalg_svdvals", tc_emit_call(e, "aten::permute", "vI", x, order, k));
}
/* Restores the two reduced dimensions with size 1. */
static tc_value *kept(tc_emit *e, tc_value *x, const int64_t d[2], bool keep) {
    if (!keep) return x;
    int64_t a = d[0] < d[1] ? d[0] : d[1], b = d[0] < d[1] ? d[1] : d[0];
    return tc_emit_call(e, "aten::unsqueeze", "vi", tc_emit_call(e, "aten::unsqueeze", "vi", x, a), b);
}
static tc_status by_number(tc_emit *e, const tc_node *n, tc_value *x, double p, const int64_t *dims, int k, bool keep) {
    int64_t d[2];
    double size = fabs(p);
    TC_TRY(two_dims(n, x, dims, k, d));
    TC_TRY(need_numbers(n, x->meta.dtype, "linalg.matrix_norm"));
    if (size != 1 && size != 2 && !isinf(size)) return tc_e_refuse(n, "linalg.matrix_norm: Order %g not supported.", p);
    if (size == 2) {
        tc_emit_result(e, 0, kept(e, reduced(e, singular(e, x, d), p > 0, -1, false), d, keep));
        return tc_e_done(e);
    }
    int64_t sum = isinf(size) ? d[1] : d[0], pick = isinf(size) ? d[0] : d[1];
    tc_value *s = vector_norm(e, x, 1, &sum, 1, keep);
    if (!keep && sum < pick) pick--;
    tc_emit_result(e, 0, reduced(e, s, p > 0, pick, keep));
    return tc_e_done(e);
}
static tc_status by_name(tc_emit *e, const tc_node *n, tc_value *x, const char *p, const int64_t *dims, int k, bool keep) {
    int64_t d[2];
    TC_TRY(two_dims(n, x, dims, k, d));
    TC_TRY(need_numbers(n, x->meta.dtype, "linalg.matrix_norm"));
    if (!strcmp(p, "fro")) tc_emit_result(e, 0, vector_norm(e, x, 2, d, 2, keep));
    else if (!strcmp(p, "nuc"))
        tc_emit_result(e, 0, kept(e, tc_emit_call(e, "aten::sum.dim_IntList", "vI", singular(e, x, d), (int64_t[]){-1}, 1), d, keep));
    else return tc_e_refuse(n, "linalg.matrix_norm: Order %s not supported.", p);
    return tc_e_done(e);
}
/* Argument `self` cast to the dtype in argument i. */
static tc_value *in_type(tc_emit *e, const tc_node *n, int i) {
    tc_value *x = tc_arg_value(n, 0);
    return x ? tc_e_cast(e, x, tc_arg_dtype(n, i, x->meta.dtype)) : NULL;
}
static tc_status decompose_matrix_norm(tc_emit *e, const tc_node *n) { /* self, ord, dim, keepdim, dtype */
    int64_t dims[TC_MAX_RANK];
    int k = tc_arg_ints(n, 2, dims, TC_MAX_RANK);
    return by_number(e, n, in_type(e, n, 4), tc_arg_float(n, 1), dims, k, tc_arg_bool(n, 3));
}
static tc_status decompose_matrix_norm_name(tc_emit *e, const tc_node *n) {
    int64_t dims[TC_MAX_RANK];
    int k = tc_arg_ints(n, 2, dims, TC_MAX_RANK);
    return by_name(e, n, in_type(e, n, 4), tc_arg_string(n, 1), dims, k, tc_arg_bool(n, 3));
}
/* dim as given, or the two of a matrix; 0 with *out_vector set: a vector norm */
static tc_status norm_dims(const tc_node *n, bool has_ord, int64_t *dims, int *k, bool *out_vector) {
    int r = tc_arg_value(n, 0)->meta.rank;
    *k = tc_arg_is_none(n, 2) ? -1 : n->args[2].kind == TC_A_INTS ? tc_arg_ints(n, 2, dims, TC_MAX_RANK) : (dims[0] = tc_arg_int(n, 2), 1);
    if (has_ord && *k > 0 && *k != 1 && *k != 2)
        return tc_e_refuse(n, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got %d dimensions", *k);
    if (has_ord && *k < 0 && r != 1 && r != 2)
        return tc_e_refuse(n, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.", r);
    *out_vector = !has_ord || !(*k == 2 || (*k < 0 && r == 2));
    if (!*out_vector && *k < 0) dims[0] = 0, dims[1] = 1, *k = 2;
    return NULL;
}
static tc_status decompose_linalg_norm(tc_emit *e, const tc_node *n) { /* self, ord, dim, keepdim, dtype */
    int64_t dims[TC_MAX_RANK];
    int k;
    bool vector, has = !tc_arg_is_none(n, 1);
    TC_TRY(norm_dims(n, has, dims, &k, &vector));
    if (!vector) return by_number(e, n, in_type(e, n, 4), tc_arg_float(n, 1), dims, k, tc_arg_bool(n, 3));
    tc_arg two = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(2)};
    tc_emit_result(e, 0,
                   tc_emit_call(e, "aten::linalg_vector_norm", "vaaaa", tc_arg_value(n, 0), has ? tc_e_arg(n, 1) : &two, tc_e_arg(n, 2),
                                tc_e_arg(n, 3), tc_e_arg(n, 4)));
    return tc_e_done(e);
}
static tc_status decompose_linalg_norm_name(tc_emit *e, const tc_node *n) {
    int64_t dims[TC_MAX_RANK];
    int k;
    bool vector;
    TC_TRY(norm_dims(n, true, dims, &k, &vector));
    if (vector) return tc_e_refuse(n, "linalg.norm: Order %s is defined for matrices only", tc_arg_string(n, 1));
    return by_name(e, n, in_type(e, n, 4), tc_arg_string(n, 1), dims, k, tc_arg_bool(n, 3));
}
static tc_status decompose_frobenius(tc_emit *e, const tc_node *n) { /* self, dim, keepdim */
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_vector_norm", "viaa", tc_arg_value(n, 0), (int64_t)2, tc_e_arg(n, 1), tc_e_arg(n, 2)));
    return tc_e_done(e);
}
static tc_status decompose_nuclear(tc_emit *e, const tc_node *n) {
    return by_name(e, n, tc_arg_value(n, 0), "nuc", (int64_t[]){-2, -1}, 2, tc_arg_bool(n, 1));
}
static tc_status decompose_nuclear_dim(tc_emit *e, const tc_node *n) {
    int64_t dims[TC_MAX_RANK];
    int k = tc_arg_ints(n, 1, dims, TC_MAX_RANK);
    return by_name(e, n, tc_arg_value(n, 0), "nuc", dims, k, tc_arg_bool(n, 2));
}

/* ---- condition numbers: |A| |A^-1|, infinite where A is singular ---- */
static tc_value *empty_cond(tc_emit *e, tc_value *a) {
    return tc_emit_call(e, "aten::zeros", "Sd", a->meta.size, a->meta.rank - 2, (int)tc_dtype_real(a->meta.dtype));
}
static tc_value *inverse_or_inf(tc_emit *e, tc_value *a) {
    tc_value *x = tc_emit_call(e, "aten::linalg_inv_ex", "vb", a, 0), *info = tc_emit_out(x, 1);
    tc_value *singular_ = tc_la_col(e, tc_la_col(e, tc_emit_call(e, "aten::ne.Scalar", "vi", info, (int64_t)0)));
    return tc_emit_call(e, "aten::masked_fill.Scalar", "vvf", x, singular_, (double)INFINITY);
}
static tc_status decompose_cond(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0);
    bool has = !tc_arg_is_none(n, 1);
    double p = has ? tc_arg_float(n, 1) : 2;
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.cond"));
    if (fabs(p) != 2 && fabs(p) != 1 && !isinf(p))
        return tc_error(TC_CONTENT, "ValueError: %s: linalg.cond got an invalid norm type: %g", tc_op_name(n->op), p);
    if (fabs(p) != 2) TC_TRY(tc_la_square_arg(n, 0, "linalg.cond"));
    if (tc_sym_is_int(tc_la_rows(a), 0) || tc_sym_is_int(tc_la_cols(a), 0)) {
        tc_emit_result(e, 0, empty_cond(e, a));
        return tc_e_done(e);
    }
    if (fabs(p) == 2) {
        tc_value *s = tc_e1(e, "aten::linalg_svdvals", a), *first = tc_emit_call(e, "aten::select.int", "vii", s, (int64_t)-1, (int64_t)0),
                 *last = tc_emit_call(e, "aten::select.int", "vii", s, (int64_t)-1, (int64_t)-1);
        tc_emit_result(e, 0, p < 0 ? tc_e_div(e, last, first) : tc_e_div(e, first, last));
        return tc_e_done(e);
    }
    tc_value *x = tc_emit_call(e, "aten::linalg_matrix_norm", "va", a, tc_e_arg(n, 1));
    tc_emit_result(e, 0, tc_e_mul(e, x, tc_emit_call(e, "aten::linalg_matrix_norm", "va", inverse_or_inf(e, a), tc_e_arg(n, 1))));
    return tc_e_done(e);
}
static tc_status decompose_cond_name(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0);
    if (!tc_word_in(" fro nuc ", tc_arg_string(n, 1)))
        return tc_error(TC_CONTENT, "ValueError: %s: linalg.cond got an invalid norm type: %s", tc_op_name(n->op), tc_arg_string(n, 1));
    TC_TRY(tc_la_square_arg(n, 0, "linalg.cond"));
    if (tc_sym_is_int(tc_la_rows(a), 0)) {
        tc_emit_result(e, 0, empty_cond(e, a));
        return tc_e_done(e);
    }
    tc_value *x = tc_emit_call(e, "aten::linalg_matrix_norm.str_ord", "va", a, tc_e_arg(n, 1));
    tc_emit_result(e, 0, tc_e_mul(e, x, tc_emit_call(e, "aten::linalg_matrix_norm.str_ord", "va", inverse_or_inf(e, a), tc_e_arg(n, 1))));
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_linalg_norm[] = {
    COMPOSED("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)", matrix_norm,
             "linalg_matrix_norm(f32[2,3,5], 1); linalg_matrix_norm(f32[3,5], 2, [0,1], True)", "norm of matrices: 1, -1, 2, -2, inf or -inf"),
    COMPOSED("linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)",
             matrix_norm_name, "linalg_matrix_norm(f32[2,3,5], 'nuc'); linalg_matrix_norm(f32[3,5], 'fro')", "Frobenius or nuclear norm of matrices"),
    COMPOSED("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg_norm,
             "linalg_norm(f32[2,3,5]); linalg_norm(f32[3,5], 1); linalg_norm(f32[3,5], 3, [1])",
             "a matrix norm of two dimensions, else a vector norm"),
    COMPOSED("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg_norm_name,
             "linalg_norm(f32[3,5], 'nuc')", "Frobenius or nuclear norm"),
    COMPOSED("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False)", frobenius, "frobenius_norm(f32[3,5], [0,1])", "linalg_vector_norm"),
    COMPOSED("nuclear_norm(Tensor self, bool keepdim=False)", nuclear, "nuclear_norm(f32[3,5])", "sum of singular values"),
    COMPOSED("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False)", nuclear_dim, "nuclear_norm(f32[3,2,5], [0,2])",
             "sum of singular values"),
    COMPOSED("linalg_cond(Tensor self, Scalar? p=None)", cond, "linalg_cond(f32[2,3,5]); linalg_cond(f32[3,3], 1)", "condition number in a norm"),
    COMPOSED("linalg_cond.p_str(Tensor self, str p)", cond_name, "linalg_cond(f32[3,3], 'fro')", "condition number in a norm"),
    {0}};
