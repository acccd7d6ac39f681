/* Distances, covariance, and matrices of powers.
 *
 *     cdist  |x1_i - x2_j|_p of all pairs of rows      pdist  of the pairs i < j of one matrix      dist  of two tensors as vectors
 *     cov    sum_k w_k (x_k - avg) (x_k - avg)^H / (sum w - correction ...)       corrcoef  cov over the standard deviations */
#include "op/linalg.h"

#include <string.h>

static tc_value *norm(tc_emit *e, tc_value *x, double p) { return tc_emit_call(e, "aten::linalg_vector_norm", "vfI", x, p, (int64_t[]){-1}, 1); }

/* ---- distances ---- */
static tc_status decompose_dist(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_vector_norm", "va", tc_e_sub(e, tc_arg_value(n, 0), tc_arg_value(n, 1)), tc_e_arg(n, 2)));
    return tc_e_done(e);
}
/* v, 1 in place of 0: what is divided by it is left out by where(). */
static tc_value *divisor(tc_emit *e, tc_value *v) {
    return tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::eq.Scalar", "vi", v, (int64_t)0), (int64_t)1, v);
}
/* The gradient of the differences d, whose norms are r; g is that of r, both with a last dimension of 1. As PyTorch's distances, and
 * unlike its norms, every greatest difference has the whole gradient (p = inf), and what is 0 has second derivatives of 0. */
static tc_value *of_differences(tc_emit *e, tc_value *d, tc_value *r, tc_value *g, double p) {
    if (!d || !r || !g) return NULL;
    if (p == 0) return tc_e_zeros_like(e, d);
    if (p == 2) return tc_e_unless_zero(e, r, tc_e_mul(e, g, tc_e_div(e, d, divisor(e, r))));
    tc_value *sign = tc_e1(e, "aten::sgn", d), *size = tc_e1(e, "aten::abs", d);
    if (p == 1) return tc_e_mul(e, sign, g);
    if (__builtin_isinf(p))
        return tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_e2(e, "aten::eq.Tensor", size, r), tc_e_mul(e, sign, g), (int64_t)0);
    tc_value *up = tc_e_mul(e, sign, tc_emit_call(e, "aten::pow.Tensor_Scalar", "vf", divisor(e, size), p - 1));
    tc_value *down = tc_emit_call(e, "aten::pow.Tensor_Scalar", "vf", divisor(e, r), p - 1);
    return tc_e_unless_zero(e, d, tc_e_mul(e, up, tc_e_div(e, g, down)));
}
static tc_status grad_cdist(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_emit_call(e, "aten::unsqueeze", "vi", tc_arg_value(n, 0), (int64_t)-2),
             *b = tc_emit_call(e, "aten::unsqueeze", "vi", tc_arg_value(n, 1), (int64_t)-3);
    tc_value *d = of_differences(e, tc_e_sub(e, a, b), tc_la_col(e, n->outs[0]), tc_la_col(e, gs[0]), tc_arg_float(n, 2));
    if (!d) return tc_e_done(e);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::sum.dim_IntList", "vI", d, (int64_t[]){-2}, 1));
    tc_e_give(e, n, 1, tc_e1(e, "aten::neg", tc_emit_call(e, "aten::sum.dim_IntList", "vI", d, (int64_t[]){-3}, 1)));
    return tc_e_done(e);
}
/* PyTorch takes Euclidean distances from a product of matrices if asked to, or by default where there are many rows. Of sizes that only the run knows:
 * where their ranges say so. */
static bool by_product(tc_emit *e, const tc_node *n) {
    enum { MANY = 25 };
    const int64_t mode = tc_arg_is_none(n, 3) ? 0 : tc_arg_int(n, 3);
    if (tc_arg_float(n, 2) != 2 || mode == 2) return false;
    bool many = mode == 1;
    for (int i = 0; i < 2; i++) {
        int64_t least, most;
        tc_sym_range(tc_e_sym(e), tc_la_rows(tc_arg_value(n, i)), &least, &most);
        many |= least > MANY;
    }
    return many;
}
/* sqrt(max(|a|^2 + |b|^2 - 2 a b, 0)) */
static tc_value *euclidean(tc_emit *e, tc_value *a, tc_value *b) {
    tc_value *square[2];
    for (int i = 0; i < 2; i++) {
        tc_value *x = i ? b : a;
        square[i] = tc_emit_call(e, "aten::sum.dim_IntList", "vIb", tc_e_mul(e, x, x), (int64_t[]){-1}, 1, 1);
    }
    tc_value *product = tc_e2(e, "aten::matmul", a, tc_e1(e, "aten::mT", b));
    tc_value *sum = tc_e_add(e, tc_e_add(e, tc_e_muls(e, product, -2), square[0]), tc_e1(e, "aten::mT", square[1]));
    return tc_e1(e, "aten::sqrt", tc_emit_call(e, "aten::clamp_min", "vi", sum, (int64_t)0));
}
static tc_status decompose_cdist(tc_emit *e, const tc_node *n) { /* x1 [*, P, M], x2 [*, R, M], p, compute_mode */
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    double p = tc_arg_float(n, 2);
    for (int i = 0; i < 2; i++) {
        tc_value *x = i ? b : a;
        if (!tc_is_float(x->meta.dtype))
            return tc_e_refuse(n, "cdist only supports floating-point dtypes, X%d got: %s", i + 1, tc_dtypes[x->meta.dtype].torch);
        if (x->meta.rank < 2) return tc_e_refuse(n, "cdist only supports at least 2D tensors, X%d got: %dD", i + 1, x->meta.rank);
    }
    if (a->meta.dtype != b->meta.dtype)
        return tc_e_refuse(n, "expected scalar type %s but found %s", tc_dtypes[a->meta.dtype].torch, tc_dtypes[b->meta.dtype].torch);
    if (tc_sym_differ(tc_e_sym(e), tc_la_cols(a), tc_la_cols(b))) return tc_e_refuse(n, "X1 and X2 must have the same number of columns.");
    if (!(p >= 0)) return tc_e_refuse(n, "cdist only supports non-negative p values");
    if (!tc_arg_is_none(n, 3) && (tc_arg_int(n, 3) < 0 || tc_arg_int(n, 3) > 2)) return tc_e_refuse(n, "possible modes: 0, 1, 2");
    const tc_dtype d = a->meta.dtype, wide = tc_dtype_compute(d);
    if (by_product(e, n)) {
        tc_emit_result(e, 0, tc_e_cast(e, euclidean(e, tc_e_cast(e, a, wide), tc_e_cast(e, b, wide)), d));
        return tc_e_done(e);
    }
    if (d != wide) return tc_e_refuse(n, "NotImplementedError: \"cdist\" not implemented for '%s'", tc_dtypes[d].torch);
    a = tc_emit_call(e, "aten::unsqueeze", "vi", a, (int64_t)-2), b = tc_emit_call(e, "aten::unsqueeze", "vi", b, (int64_t)-3);
    tc_emit_result(e, 0, norm(e, tc_e_sub(e, a, b), p));
    return tc_e_done(e);
}
/* The numbers of the rows of x of each pair i < j: all i, all j. */
static tc_status pairs_of(tc_emit *e, const tc_node *n, tc_value *x, tc_value *out[2]) {
    int64_t rows;
    if (!tc_e_pin(e, n, tc_la_rows(x), &rows)) return tc_error(TC_UNSUPPORTED, "%s of a symbolic number of rows is not supported", tc_op_name(n->op));
    tc_value *pairs = tc_emit_call(e, "aten::triu_indices", "iii", rows, rows, (int64_t)1);
    for (int i = 0; i < 2; i++) out[i] = tc_emit_call(e, "aten::select.int", "vii", pairs, (int64_t)0, (int64_t)i);
    return NULL;
}
static tc_value *between_pairs(tc_emit *e, tc_value *x, tc_value *const at[2]) {
    return tc_e_sub(e, tc_emit_call(e, "aten::index_select", "viv", x, (int64_t)0, at[0]),
                    tc_emit_call(e, "aten::index_select", "viv", x, (int64_t)0, at[1]));
}
static tc_status grad_pdist(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *at[2];
    TC_TRY(pairs_of(e, n, x, at));
    tc_value *d = of_differences(e, between_pairs(e, x, at), tc_la_col(e, n->outs[0]), tc_la_col(e, gs[0]), tc_arg_float(n, 1));
    if (!d) return tc_e_done(e);
    tc_value *sum = tc_emit_call(e, "aten::index_add", "vivv", tc_e_zeros_like(e, x), (int64_t)0, at[0], d);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::index_add", "vivv", sum, (int64_t)0, at[1], tc_e1(e, "aten::neg", d)));
    return tc_e_done(e);
}
static tc_status decompose_pdist(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *at[2];
    double p = tc_arg_float(n, 1);
    if (x->meta.rank != 2) return tc_e_refuse(n, "pdist only supports 2D tensors, got: %dD", x->meta.rank);
    if (!tc_is_float(x->meta.dtype)) return tc_e_refuse(n, "pdist only supports floating-point dtypes");
    if (!(p >= 0)) return tc_e_refuse(n, "pdist only supports non-negative p values");
    TC_TRY(pairs_of(e, n, x, at));
    tc_emit_result(e, 0, norm(e, between_pairs(e, x, at), p));
    return tc_e_done(e);
}

/* ---- powers ---- */
/* x^0, x^1 ... x^(N-1) in a new last dimension */
static tc_value *powers(tc_emit *e, tc_value *x, tc_sym count) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym size[TC_MAX_RANK];
    int r = x->meta.rank;
    if (tc_is_integral(x->meta.dtype)) x = tc_e_cast(e, x, TC_I64);
    if (!x) return NULL;
    for (int i = 0; i < r; i++) size[i] = x->meta.size[i];
    size[r] = tc_sym_sub(s, count, tc_sym_int(s, 1));
    tc_value *col = tc_la_col(e, x),
             *rest = tc_emit_call(e, "aten::cumprod", "vi", tc_emit_call(e, "aten::expand", "vS", col, size, r + 1), (int64_t)-1);
    return tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){tc_e1(e, "aten::ones_like", col), rest}, 2, (int64_t)-1);
}
static tc_status decompose_linalg_vander(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    if (x->meta.dtype == TC_BOOL) return tc_e_refuse(n, "linalg.vander supports floating point, complex, and integer tensors, but got Bool");
    if (x->meta.rank + 1 > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
    if (x->meta.rank == 0) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    if (!x) return tc_e_done(e);
    tc_sym one = tc_sym_int(s, 1), count = !tc_arg_is_none(n, 1) ? tc_arg_sym(n, 1) : x->meta.size[x->meta.rank - 1];
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LT, one, count, NULL)) == 0) return tc_e_refuse(n, "N must be greater than 1.");
    tc_emit_result(e, 0, powers(e, x, count));
    return tc_e_done(e);
}
static tc_status decompose_vander(tc_emit *e, const tc_node *n) { /* x, N, increasing */
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 1) return tc_e_refuse(n, "x must be a one-dimensional tensor.");
    tc_sym count = tc_arg_is_none(n, 1) ? x->meta.size[0] : tc_arg_sym(n, 1);
    int64_t c;
    if (tc_sym_const_int(count, &c) && c < 0) return tc_e_refuse(n, "N must be non-negative.");
    tc_value *v = tc_sym_is_int(count, 0) ? tc_emit_call(e, "aten::new_empty", "vS", x, (tc_sym[]){x->meta.size[0], count}, 2) : powers(e, x, count);
    if (!tc_arg_bool(n, 2)) v = tc_emit_call(e, "aten::flip", "vI", v, (int64_t[]){1}, 1);
    tc_emit_result(e, 0, v);
    return tc_e_done(e);
}

/* ---- covariance ---- */
static tc_status weights(tc_emit *e, const tc_node *n, int i, const char *name, bool integral, tc_sym count) {
    tc_value *w = tc_arg_value(n, i);
    if (!w) return NULL;
    if (w->meta.rank > 1)
        return tc_e_refuse(n, "cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions", name, name, w->meta.rank);
    bool is_integer = tc_is_integral(w->meta.dtype) && w->meta.dtype != TC_BOOL;
    if (integral ? !is_integer : !tc_is_float(w->meta.dtype))
        return tc_e_refuse(n, "cov(): expected %s to have %s dtype but got %s with %s dtype", name, integral ? "integral" : "floating point", name,
                           tc_dtypes[w->meta.dtype].torch);
    tc_sym have = w->meta.rank ? w->meta.size[0] : tc_sym_int(tc_e_sym(e), 1);
    if (tc_sym_differ(tc_e_sym(e), have, count))
        return tc_e_refuse(n, "cov(): expected %s to have the same numel as there are observations in the input", name);
    tc_e_require(e, tc_emit_call(e, "aten::ge.Scalar", "vi", w, (int64_t)0),
                 integral ? "cov(): fweights cannot be negative" : "cov(): aweights cannot be negative");
    return NULL;
}
static tc_status decompose_cov(tc_emit *e, const tc_node *n) { /* self [variables, observations], correction, fweights, aweights */
    tc_value *x = tc_arg_value(n, 0), *f = tc_arg_value(n, 2), *a = tc_arg_value(n, 3), *w = f, *norm_;
    tc_symctx *s = tc_e_sym(e);
    int64_t correction = tc_arg_int(n, 1);
    if (x->meta.rank > 2)
        return tc_e_refuse(n, "cov(): expected input to have two or fewer dimensions but got an input with %d dimensions", x->meta.rank);
    if (x->meta.dtype == TC_BOOL) return tc_error(TC_CONTENT, "NotImplementedError: cov(): bool dtype is not supported for input");
    if (x->meta.rank < 2)
        x = tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){tc_sym_int(s, 1), x->meta.rank ? x->meta.size[0] : tc_sym_int(s, 1)}, 2);
    tc_sym count = tc_la_cols(x);
    TC_TRY(weights(e, n, 2, "fweights", true, count));
    TC_TRY(weights(e, n, 3, "aweights", false, count));
    if (a) w = w ? tc_e_mul(e, w, a) : a;
    tc_value *total = w ? tc_e1(e, "aten::sum", w) : NULL, *weighted = w ? tc_e_mul(e, x, w) : x;
    if (w) tc_e_require(e, tc_emit_call(e, "aten::ne.Scalar", "vi", total, (int64_t)0), "cov(): weights sum to zero, can't be normalized");
    tc_arg number = {.kind = TC_A_SCALAR, .is_sym = true, .sym = count};
    tc_value *sum = tc_emit_call(e, "aten::sum.dim_IntList", "vIb", weighted, (int64_t[]){1}, 1, 1);
    tc_value *avg = total ? tc_e_div(e, sum, total) : tc_emit_call(e, "aten::div.Tensor", "va", sum, &number);
    if (w && a && correction != 0) {
        tc_value *share = tc_e_div(e, tc_e1(e, "aten::sum", tc_e_mul(e, w, a)), total);
        norm_ = tc_e_sub(e, total, tc_e_muls(e, share, (double)correction));
    } else if (w) {
        norm_ = tc_emit_call(e, "aten::sub.Tensor", "vi", total, correction);
    } else {
        tc_sym left = tc_sym_max(s, tc_sym_sub(s, count, tc_sym_int(s, correction)), tc_sym_int(s, 0));
        number.sym = left, norm_ = NULL;
    }
    if (norm_) norm_ = tc_emit_call(e, "aten::clamp", "vi", norm_, (int64_t)0);
    x = tc_e_sub(e, x, avg);
    tc_value *c = tc_la_mm(e, x, tc_la_mH(e, w ? tc_e_mul(e, x, w) : x));
    c = norm_ ? tc_e_div(e, c, norm_) : tc_emit_call(e, "aten::div.Tensor", "va", c, &number);
    tc_emit_result(e, 0, tc_e1(e, "aten::squeeze", c));
    return tc_e_done(e);
}
static tc_status decompose_corrcoef(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank > 2)
        return tc_e_refuse(n, "corrcoef(): expected input to have two or fewer dimensions but got an input with %d dimensions", x->meta.rank);
    tc_value *c = tc_e1(e, "aten::cov", x);
    if (!c) return tc_e_done(e);
    bool complex = tc_is_complex(c->meta.dtype);
    if (c->meta.rank == 0) {
        tc_emit_result(e, 0, tc_e_div(e, c, c));
        return tc_e_done(e);
    }
    tc_value *d = tc_e1(e, "aten::diagonal", c), *dev = tc_e1(e, "aten::sqrt", complex ? tc_e1(e, "aten::real", d) : d);
    c = tc_e_div(e, tc_e_div(e, c, tc_la_col(e, dev)), tc_emit_call(e, "aten::unsqueeze", "vi", dev, (int64_t)0));
    if (!complex) c = tc_emit_call(e, "aten::clamp", "vii", c, (int64_t)-1, (int64_t)1);
    else
        c = tc_e2(e, "aten::complex", tc_emit_call(e, "aten::clamp", "vii", tc_e1(e, "aten::real", c), (int64_t)-1, (int64_t)1),
                  tc_emit_call(e, "aten::clamp", "vii", tc_e1(e, "aten::imag", c), (int64_t)-1, (int64_t)1));
    tc_emit_result(e, 0, c);
    return tc_e_done(e);
}

#define KEEPING(SCHEMA, name, keeps_, grad_, sample, text)                                                                                   \
    {                                                                                                                                        \
        .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .grad = grad_, .keeps = keeps_, \
        .samples = sample, .doc = text                                                                                                       \
    }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_linalg_distance[] = {
    KEEPING("dist(Tensor self, Tensor other, Scalar p=2)", dist, " self other ", NULL, "dist(f32[3,4], f32[4])", "p-norm of self - other"),
    KEEPING("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None)", cdist, " x1 x2 ", grad_cdist,
            "cdist(f32[2,3,4], f32[2,5,4]); cdist(f32[3,4], f32[5,4], 1.5); cdist(f32[30,4]:0..9, f32[3,4]:-9..0)",
            "p-norms of all differences of rows; Euclidean ones of more than 25 rows from a product"),
    KEEPING("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode)", cdist, " x1 x2 ", grad_cdist, NULL, "cdist"),
    KEEPING("pdist(Tensor self, float p=2.)", pdist, NULL, grad_pdist, "pdist(f32[4,3])", "p-norms of the differences of rows i < j"),
    KEEPING("_pdist_forward(Tensor self, float p=2.)", pdist, NULL, grad_pdist, NULL, "pdist"),
    COMPOSED("linalg_vander(Tensor x, *, SymInt? N=None)", linalg_vander, "linalg_vander(f32[2,3]); linalg_vander(i64[3], N=4)", "powers 0 to N - 1"),
    COMPOSED("vander(Tensor x, int? N=None, bool increasing=False)", vander, "vander(f32[3])", "powers N - 1 to 0, or 0 to N - 1"),
    COMPOSED("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)", cov,
             "cov(f32[3,5]); cov(f32[2,4], fweights=i64[4]:1..4)", "covariance of the rows"),
    COMPOSED("corrcoef(Tensor self)", corrcoef, "corrcoef(f32[3,5])", "correlation coefficients of the rows"),
    {0}};
