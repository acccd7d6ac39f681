/* quantile and nanquantile: the element of rank q (n - 1) in sorted order, between two of them interpolated.
 *
 *     below = floor(r), above = ceil(r), result x[below] + w (x[above] - x[below]), w = r - below (linear) or 1/2 (midpoint)
 *
 * NaN is sorted last: quantile goes there where there is one, nanquantile counts only what is before. */
#include "op/shape.h"

#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

/* The elements sorted along the last dimension, to which the quantile's dimension was moved. */
static tc_value *in_order(tc_emit *e, tc_value *x, bool all, int64_t d) {
    if (all) x = ATEN("reshape", "vI", x, (int64_t[]){-1}, 1);
    else if (x->meta.rank == 0) x = ATEN("unsqueeze", "vi", x, (int64_t)0);
    else x = ATEN("movedim.int", "vii", x, d, (int64_t)-1);
    return ATEN("sort", "vi", x, (int64_t)-1);
}
/* Ranks q (count - 1) of the quantiles, in the last dimension. q: a vector. */
static tc_value *ranks_of(tc_emit *e, tc_value *sorted, tc_value *q, bool nan) {
    tc_dtype d = sorted->meta.dtype;
    tc_value *none = tc_e1(e, "aten::isnan", sorted), *r;
    tc_symctx *s = tc_e_sym(e);
    tc_sym last = tc_sym_sub(s, sorted->meta.size[sorted->meta.rank - 1], tc_sym_int(s, 1));
    if (nan) {
        tc_value *count = ATEN("sum.dim_IntList", "vIb", tc_e1(e, "aten::logical_not", none), (int64_t[]){-1}, 1, 1);
        r = tc_e_mul(e, q, tc_e_cast(e, ATEN("sub.Scalar", "vi", count, (int64_t)1), d));
        return ATEN("clamp_min", "vi", r, (int64_t)0);
    }
    tc_arg top = {.kind = TC_A_SCALAR, .is_sym = true, .sym = last};
    r = ATEN("mul.Tensor", "va", q, &top);
    return ATEN("where.ScalarSelf", "vav", ATEN("any.dim", "vib", none, (int64_t)-1, 1), &top, r);
}
static tc_value *at(tc_emit *e, tc_value *sorted, tc_value *rank) { return ATEN("gather", "viv", sorted, (int64_t)-1, tc_e_cast(e, rank, TC_I64)); }
static tc_status check(const tc_node *n, const tc_value *x, const tc_value *q, const char *how) {
    int64_t v;
    if (x->meta.dtype != TC_F32 && x->meta.dtype != TC_F64) return tc_e_refuse(n, "quantile() input tensor must be either float or double dtype");
    for (int d = 0; d < x->meta.rank; d++)
        if (tc_sym_const_int(x->meta.size[d], &v) && v == 0) return tc_e_refuse(n, "quantile() input tensor must be non-empty");
    if (q && q->meta.rank > 1) return tc_e_refuse(n, "quantile() q must be a scalar or 1D tensor");
    if (q && q->meta.dtype != x->meta.dtype) return tc_e_refuse(n, "quantile() q tensor must be same dtype as the input tensor");
    static const char *const known[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    for (int k = 0; k < 5; k++)
        if (!strcmp(how, known[k])) return NULL;
    return tc_e_refuse(n, "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s", how);
}
static tc_status decompose_quantile(tc_emit *e, const tc_node *n) { /* self, q, dim, keepdim, interpolation */
    tc_value *x = tc_arg_value(n, 0), *q = tc_arg_meta(n, 1) ? tc_arg_value(n, 1) : NULL, *y, *r;
    bool nan = tc_op_schema(n->op)->name[0] == 'n', all = tc_arg_is_none(n, 2), keep = tc_arg_bool(n, 3);
    const char *how = tc_arg_string(n, 4);
    int rank = x->meta.rank;
    TC_TRY(check(n, x, q, how));
    int64_t d = all ? 0 : tc_arg_int(n, 2), r1 = rank ? rank : 1;
    if (d < -r1 || d >= r1)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                        tc_op_name(n->op), (long long)-r1, (long long)r1 - 1, (long long)d);
    d = tc_wrap(d, rank);
    bool many = q && q->meta.rank == 1;
    if (!q) {
        double v = tc_arg_float(n, 1);
        if (!(v >= 0 && v <= 1)) return tc_e_refuse(n, "quantile() q must be in the range [0, 1] but got %g", v);
        q = ATEN("full", "Ifd", (int64_t[]){1}, 1, v, (int)x->meta.dtype);
    } else {
        tc_e_require_unit(e, q, "quantile() q values must be in the range [0, 1]");
        if (!many) q = ATEN("reshape", "vI", q, (int64_t[]){1}, 1);
    }
    tc_value *sorted = in_order(e, x, all, d);
    if (e->status) return tc_e_done(e);
    r = ranks_of(e, sorted, q, nan);
    if (!strcmp(how, "lower")) r = tc_e1(e, "aten::floor", r);
    if (!strcmp(how, "higher")) r = tc_e1(e, "aten::ceil", r);
    if (!strcmp(how, "nearest")) r = tc_e1(e, "aten::round", r);
    if (r && r->meta.rank < sorted->meta.rank) /* ranks do not depend on the data: the same for every row */
        for (int k = r->meta.rank; r && k < sorted->meta.rank; k++) r = ATEN("unsqueeze", "vi", r, (int64_t)0);
    if (e->status) return tc_e_done(e);
    tc_sym size[TC_MAX_RANK];
    for (int k = 0; k < sorted->meta.rank; k++) size[k] = k == sorted->meta.rank - 1 ? r->meta.size[k] : sorted->meta.size[k];
    r = ATEN("expand", "vS", r, size, sorted->meta.rank);
    tc_value *below = ATEN("floor", "v", r);
    y = at(e, sorted, below);
    if (!strcmp(how, "linear")) y = ATEN("lerp.Tensor", "vvv", y, at(e, sorted, ATEN("ceil", "v", r)), tc_e_sub(e, r, below));
    if (!strcmp(how, "midpoint")) y = ATEN("lerp.Scalar", "vvf", y, at(e, sorted, ATEN("ceil", "v", r)), 0.5);
    /* the last dimension counts quantiles: moved to the front if q is a vector, else removed */
    if (all) {
        for (int k = 0; keep && k < rank; k++) y = ATEN("unsqueeze", "vi", y, (int64_t)0);
    } else if (keep && rank) {
        y = ATEN("unsqueeze", "vi", y, d); /* quantiles stay last */
    }
    if (many) y = ATEN("movedim.int", "vii", y, (int64_t)-1, (int64_t)0);
    else y = ATEN("squeeze.dim", "vi", y, (int64_t)-1);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}

#define RULE(SCHEMA, sample, text)                                                                                                               \
    {                                                                                                                                            \
        .schema = "aten::" SCHEMA ", int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor", .shape = tc_shape_decomposed, \
        .decompose = decompose_quantile, .samples = sample, .doc = text                                                                          \
    }
const tc_op tc_ops_quantile[] = {
    RULE("quantile(Tensor self, Tensor q", "quantile(f32[3,7], f32[2]:0..1, 1)", "the elements of rank q (n - 1), interpolated; NaN if there is one"),
    RULE("quantile.scalar(Tensor self, float q", "quantile(f32[3,7], 0.3); quantile(f64[3,7], 0.5, 0, True, interpolation='midpoint')",
         "the element of rank q (n - 1), interpolated; NaN if there is one"),
    RULE("nanquantile(Tensor self, Tensor q", "nanquantile(f32[3,7], f32[2]:0..1, 1)", "the elements of rank q (n - 1) of the numbers, interpolated"),
    RULE("nanquantile.scalar(Tensor self, float q", "nanquantile(f32[3,7], 0.3)", "the element of rank q (n - 1) of the numbers, interpolated"),
    {0}};
