/* Reductions over dimensions: sum, mean, max, min, prod, any, all, var, norm, logsumexp. Scans are in scan.c.
 *
 *     axes   0..r-1: the dimensions of the result      r..: the reduced dimensions, in their order
 *     %0 = load x[...]      %1 = reduce sum %0 over {r..}      store y = %1
 *
 * Sums follow the leaves and the tree of tc-numerics(7), "Sums"; var and mean of it come from one Welford reduction in float64. */
#include "base/text.h"
#include "op/complex_parts.h"
#include "op/lower.h"
#include "op/shape.h"

#include <float.h>
#include <math.h>

/* ---- shapes ---- */
typedef struct {
    uint64_t mask;
    bool keepdim;
} reduced;

static tc_status reduced_dims(tc_shape_ctx *c, reduced *out) {
    int d = tc_op_param(c->op, "dim"), k = tc_op_param(c->op, "keepdim");
    TC_TRY(tc_sh_need_tensor(c, 0));
    int rank = tc_sh_meta(c, 0)->rank;
    out->keepdim = k >= 0 && tc_sh_bool(c, k);
    out->mask = ((uint64_t)1 << rank) - 1;
    if (d >= 0 && tc_sh_given(c, d)) TC_TRY(tc_sh_dim_mask(c, d, rank, &out->mask));
    if (rank == 0) out->mask = 0;
    return NULL;
}
static tc_status reduce_to(tc_shape_ctx *c, int i, tc_dtype dtype) {
    reduced r;
    TC_TRY(reduced_dims(c, &r));
    tc_dims d = tc_dims_reduced(c, tc_sh_meta(c, 0), r.mask, r.keepdim);
    return tc_sh_out(c, i, dtype, &d);
}
static tc_dtype asked(const tc_shape_ctx *c, tc_dtype otherwise) {
    int t = tc_op_param(c->op, "dtype");
    return t >= 0 ? tc_sh_dtype(c, t, otherwise) : otherwise;
}
static tc_status shape_sum(tc_shape_ctx *c) { /* integers are summed in int64 */
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype d = tc_sh_meta(c, 0)->dtype;
    return reduce_to(c, 0, asked(c, tc_is_integral(d) ? TC_I64 : d));
}
static tc_status shape_nansum(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (tc_is_complex(tc_sh_meta(c, 0)->dtype)) return tc_sh_fail_as(c, "NotImplementedError", "nansum on CPU does not support complex inputs");
    return shape_sum(c);
}
static tc_status shape_mean(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype d = asked(c, tc_sh_meta(c, 0)->dtype);
    if (tc_is_integral(d))
        return tc_sh_fail_as(c, "NotImplementedError",
                             "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
                             tc_is_integral(tc_sh_meta(c, 0)->dtype) ? "Input" : "Optional", tc_dtypes[d].torch);
    return reduce_to(c, 0, d);
}
/* Refuses an empty reduction: max and the like have no identity. */
static tc_status nonempty(tc_shape_ctx *c, uint64_t mask, bool by_dim) {
    const tc_meta *m = tc_sh_meta(c, 0);
    const char *name = tc_op_schema(c->op)->name;
    for (int k = 0; k < m->rank; k++)
        if (!by_dim && !tc_sh_not_zero(c, m->size[k]))
            return tc_sh_fail_as(
                c, tc_word_in(" argmax argmin ", name) ? "IndexError" : "RuntimeError",
                "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.", name);
    for (int k = 0; by_dim && k < m->rank; k++)
        if (mask >> k & 1 && !tc_sh_not_zero(c, m->size[k]))
            return tc_sh_fail_as(c, "IndexError", "%s(): Expected reduction dim %d to have non-zero size.", name, k);
    return NULL;
}
static bool dims_given(const tc_shape_ctx *c) {
    int d = tc_op_param(c->op, "dim");
    int64_t v[64];
    return d >= 0 && tc_sh_given(c, d) && tc_sh_const_ints(c, d, v, 64) > 0;
}
static tc_status need_order(const tc_shape_ctx *c) {
    const tc_meta *m = tc_sh_meta(c, 0);
    const bool early = tc_word_in(" argmax argmin aminmax ", tc_op_schema(c->op)->name); /* its own check, before PyTorch looks for a kernel */
    if (m && tc_is_complex(m->dtype))
        return tc_sh_fail_as(c, early ? "TypeError" : "NotImplementedError", "not implemented for %s", tc_dtypes[m->dtype].torch);
    return NULL;
}
static tc_status shape_extreme(tc_shape_ctx *c) { /* amax, max, max.dim, aminmax: all results have the same sizes; indices are int64 */
    reduced r;
    TC_TRY(need_order(c));
    TC_TRY(reduced_dims(c, &r));
    TC_TRY(nonempty(c, r.mask, dims_given(c)));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(reduce_to(c, 0, m->dtype));
    if (c->nouts == 1) return NULL;
    return reduce_to(c, 1, !strcmp(tc_op_schema(c->op)->name, "aminmax") ? m->dtype : TC_I64);
}
static tc_status shape_arg(tc_shape_ctx *c) {
    reduced r;
    TC_TRY(need_order(c));
    TC_TRY(reduced_dims(c, &r));
    TC_TRY(nonempty(c, r.mask, dims_given(c)));
    if (!dims_given(c) && r.keepdim) {
        tc_dims d = tc_dims_reduced(c, tc_sh_meta(c, 0), r.mask, true);
        return tc_sh_out(c, 0, TC_I64, &d);
    }
    return reduce_to(c, 0, TC_I64);
}
static tc_status shape_truth(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    int d = tc_op_param(c->op, "dim");
    int64_t v[64];
    if (d >= 0 && c->args[d].kind == TC_A_INTS && tc_sh_const_ints(c, d, v, 64) == 0) { /* any.dims with []: no dimension */
        tc_dims same = tc_dims_of(tc_sh_meta(c, 0));
        return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype == TC_U8 ? TC_U8 : TC_BOOL, &same);
    }
    return reduce_to(c, 0, tc_sh_meta(c, 0)->dtype == TC_U8 ? TC_U8 : TC_BOOL);
}
static tc_status shape_count(tc_shape_ctx *c) { return reduce_to(c, 0, TC_I64); }
static tc_status shape_var(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype d = tc_sh_meta(c, 0)->dtype;
    if (tc_is_integral(d)) return tc_sh_fail_as(c, "NotImplementedError", "std and var only support floating point and complex dtypes");
    TC_TRY(reduce_to(c, 0, tc_dtype_real(d)));
    return c->nouts > 1 ? reduce_to(c, 1, d) : NULL;
}
/* Checks dtype= of a norm of a tensor of type d: complex if d is, and not narrower. */
static tc_status norm_type(const tc_shape_ctx *c, tc_dtype d) {
    const tc_arg *a = &c->args[4];
    if (a->kind != TC_A_DTYPE) return NULL;
    if (tc_is_integral(a->dtype))
        return tc_sh_fail(c, "linalg.vector_norm: dtype should be floating point or complex, but got %s", tc_dtypes[a->dtype].torch);
    if (tc_is_complex(a->dtype) != tc_is_complex(d))
        return tc_sh_fail(c, "linalg.vector_norm: dtype should be %s inputs, but got %s", tc_is_complex(d) ? "complex for complex" : "real for real",
                          tc_dtypes[a->dtype].torch);
    if (tc_dtype_promote(d, a->dtype) != a->dtype)
        return tc_sh_fail(c, "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the specified dtype (%s)",
                          tc_dtypes[d].torch, tc_dtypes[a->dtype].torch);
    return NULL;
}
static tc_status shape_norm(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dtype d = tc_sh_meta(c, 0)->dtype;
    double p;
    reduced r;
    if (tc_is_integral(d))
        return tc_sh_fail_as(c, "NotImplementedError", "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                             tc_dtypes[d].torch);
    TC_TRY(norm_type(c, d));
    TC_TRY(reduced_dims(c, &r));
    if (tc_sym_const_float(tc_sh_int(c, 1), &p) && (p < 0 || __builtin_isinf(p))) {
        const tc_meta *m = tc_sh_meta(c, 0);
        for (int k = 0; k < m->rank; k++)
            if (r.mask >> k & 1 && tc_sym_is_int(m->size[k], 0))
                return tc_sh_fail(
                    c, "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an identity", p);
    }
    tc_dtype as = asked(c, d);
    if (tc_is_complex(d) != tc_is_complex(as))
        return tc_sh_fail(c, "linalg.vector_norm: dtype should be %s, but got %s", tc_is_complex(d) ? "complex" : "real", tc_dtypes[as].torch);
    return reduce_to(c, 0, tc_dtype_real(as));
}
static tc_status shape_logsumexp(tc_shape_ctx *c) { return reduce_to(c, 0, tc_to_float(tc_sh_meta(c, 0) ? tc_sh_meta(c, 0)->dtype : TC_F32)); }
/* ---- lowering ---- */
static reduced of_node(const tc_node *n) {
    int d = tc_op_param(n->op, "dim"), k = tc_op_param(n->op, "keepdim"), rank = tc_arg_meta(n, 0)->rank;
    reduced r = {.keepdim = k >= 0 && tc_arg_bool(n, k)};
    r.mask = d >= 0 && !tc_arg_is_none(n, d) ? tc_arg_dim_mask(n, d, rank) : ((uint64_t)1 << rank) - 1;
    if (rank == 0) r.mask = 0;
    return r;
}
/* Argument 0 at the result's axes and at new axes `over` for the reduced dimensions. */
static tc_lv load_reduced(tc_lower *l, reduced r, tc_dtype as, uint64_t *over) {
    tc_value *x = tc_arg_value(l->node, 0);
    tc_affine index[TC_MAX_RANK] = {{0}};
    *over = 0;
    for (int d = 0, at = 0; d < x->meta.rank; d++) {
        if (r.mask >> d & 1) {
            int a = tc_l_new_axis(l, x->meta.size[d]);
            index[d] = tc_l_axis(l, a);
            *over |= (uint64_t)1 << a;
            at += r.keepdim;
        } else {
            index[d] = tc_sym_is_int(x->meta.size[d], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, at);
            at++;
        }
    }
    tc_lv v = tc_l_load(l, x, index, NULL, TC_LV_NONE);
    return as == TC_DTYPE_NONE ? v : tc_l_cast(l, v, as);
}
static tc_dtype own(const tc_lower *l) { return tc_dtype_compute(tc_arg_meta(l->node, 0)->dtype); }
/* The number of reduced elements, at run time. */
static tc_sym count_of(tc_lower *l, uint64_t mask) {
    tc_symctx *s = l->loop->sym;
    const tc_meta *m = tc_arg_meta(l->node, 0);
    tc_sym n = tc_sym_int(s, 1);
    for (int d = 0; d < m->rank; d++)
        if (mask >> d & 1) n = tc_sym_mul(s, n, m->size[d]);
    return n;
}

/* PyTorch adds to +0, so an empty sum and a sum of -0 are +0. */
static tc_lv to_zero(tc_lower *l, tc_lv sum) {
    const tc_dtype d = tc_l_type(l, 0);
    return tc_is_integral(d) ? sum : tc_l_add(l, sum, tc_l_zero(l, d));
}
static tc_status lower_sum(tc_lower *l) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), tc_l_type(l, 0), &over);
    return tc_l_out(l, 0, to_zero(l, tc_l_reduce(l, TC_R_SUM, x, over)));
}
static tc_status lower_nansum(tc_lower *l) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), tc_l_type(l, 0), &over);
    if (!tc_is_integral(tc_l_type(l, 0))) x = tc_l_where(l, tc_l_op1(l, TC_X_ISNAN, x), tc_l_f(l, tc_l_type(l, 0), 0), x);
    return tc_l_out(l, 0, to_zero(l, tc_l_reduce(l, TC_R_SUM, x, over)));
}
static tc_status lower_mean(tc_lower *l) {
    uint64_t over;
    reduced r = of_node(l->node);
    tc_lv x = load_reduced(l, r, tc_l_type(l, 0), &over);
    return tc_l_out(l, 0, tc_l_div(l, to_zero(l, tc_l_reduce(l, TC_R_SUM, x, over)), tc_l_host(l, tc_l_type(l, 0), count_of(l, r.mask))));
}
static tc_status lower_prod(tc_lower *l) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), tc_l_type(l, 0), &over);
    return tc_l_out(l, 0, tc_l_reduce(l, TC_R_PROD, x, over));
}
static tc_status extreme(tc_lower *l, tc_reduce_op value, tc_reduce_op second) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), own(l), &over);
    TC_TRY(tc_l_out(l, 0, tc_l_reduce(l, value, x, over)));
    return l->node->nouts > 1 ? tc_l_out(l, 1, tc_l_reduce(l, second, x, over)) : NULL;
}
static tc_status lower_max(tc_lower *l) { return extreme(l, TC_R_MAX, TC_R_ARGMAX); }
static tc_status lower_min(tc_lower *l) { return extreme(l, TC_R_MIN, TC_R_ARGMIN); }
static tc_status lower_aminmax(tc_lower *l) { return extreme(l, TC_R_MIN, TC_R_MAX); }
static tc_status lower_argmax(tc_lower *l) { return extreme(l, TC_R_ARGMAX, TC_R_ARGMAX); }
static tc_status lower_argmin(tc_lower *l) { return extreme(l, TC_R_ARGMIN, TC_R_ARGMIN); }
static tc_status truth(tc_lower *l, tc_reduce_op op) {
    uint64_t over;
    int d = tc_op_param(l->node->op, "dim");
    reduced r = of_node(l->node);
    if (d >= 0 && l->node->args[d].kind == TC_A_INTS && l->node->args[d].n == 0) r.mask = 0;
    tc_lv x = load_reduced(l, r, own(l), &over);
    if (own(l) != TC_BOOL) x = tc_l_op2(l, TC_X_NE, x, tc_l_zero(l, own(l)));
    return tc_l_out(l, 0, tc_l_reduce(l, op, x, over));
}
static tc_status lower_any(tc_lower *l) { return truth(l, TC_R_ANY); }
static tc_status lower_all(tc_lower *l) { return truth(l, TC_R_ALL); }
static tc_status lower_count_nonzero(tc_lower *l) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), own(l), &over);
    return tc_l_out(l, 0, tc_l_reduce(l, TC_R_SUM, tc_l_cast(l, tc_l_op2(l, TC_X_NE, x, tc_l_zero(l, own(l))), TC_I64), over));
}
/* n - correction, at least 0 */
static double correction_of(const tc_node *n) {
    int c = tc_op_param(n->op, "correction"), u = tc_op_param(n->op, "unbiased");
    if (u >= 0) return tc_arg_bool(n, u) ? 1 : 0;
    return c >= 0 && !tc_arg_is_none(n, c) ? tc_arg_float(n, c) : 1;
}
static tc_status variance(tc_lower *l, bool root) {
    uint64_t over;
    tc_lv x = load_reduced(l, of_node(l->node), own(l), &over), mean, squares, count;
    if (over) {
        tc_lv w = tc_l_reduce(l, TC_R_WELFORD, x, over);
        mean = tc_l_part(l, w, 0), squares = tc_l_part(l, w, 1), count = tc_l_part(l, w, 2);
    } else /* without dimensions: one element */
        mean = tc_l_cast(l, x, TC_F64), squares = tc_l_sub(l, mean, mean), count = tc_l_f(l, TC_F64, 1);
    tc_lv n = tc_l_sub(l, count, tc_l_f(l, TC_F64, correction_of(l->node)));
    tc_lv zero = tc_l_f(l, TC_F64, 0), some = tc_l_op2(l, TC_X_GT, count, zero);
    tc_lv v = tc_l_div(l, squares, tc_l_where(l, some, tc_l_op2(l, TC_X_FMAX, n, zero), zero)); /* NaN if there are no elements */
    TC_TRY(tc_l_out(l, 0, root ? tc_l_op1(l, TC_X_SQRT, v) : v));
    if (l->node->nouts == 1) return NULL;
    return tc_l_out(l, 1, tc_l_where(l, some, mean, tc_l_f(l, TC_F64, __builtin_nan(""))));
}
static tc_status lower_var(tc_lower *l) { return variance(l, false); }
static tc_status lower_std(tc_lower *l) { return variance(l, true); }
/* Does each result have a single element? */
static bool of_one(const tc_lower *l, uint64_t over) {
    const tc_meta *x = tc_arg_meta(l->node, 0);
    for (int k = 0; over && k < x->rank; k++)
        if (of_node(l->node).mask >> k & 1 && !tc_sym_is_int(x->size[k], 1)) return false;
    return true;
}
static tc_status lower_norm(tc_lower *l) {
    uint64_t over;
    double p = tc_arg_float(l->node, 1);
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = load_reduced(l, of_node(l->node), d, &over), a = tc_l_op1(l, TC_X_ABS, x);
    if (p != 0 && of_one(l, over))
        return tc_l_out(l, 0, over ? tc_l_reduce(l, TC_R_SUM, a, over) : a); /* |a| itself, because its power may overflow */
    if (p == 2) return tc_l_out(l, 0, over ? tc_l_op1(l, TC_X_SQRT, tc_l_reduce(l, TC_R_SUM, tc_l_mul(l, x, x), over)) : a);
    if (p == 1) return tc_l_out(l, 0, tc_l_reduce(l, TC_R_SUM, a, over));
    if (p == 0) return tc_l_out(l, 0, tc_l_reduce(l, TC_R_SUM, tc_l_cast(l, tc_l_op2(l, TC_X_NE, x, tc_l_f(l, d, 0)), d), over));
    if (__builtin_isinf(p)) return tc_l_out(l, 0, tc_l_reduce(l, p > 0 ? TC_R_MAX : TC_R_MIN, a, over));
    tc_lv sum = tc_l_reduce(l, TC_R_SUM, tc_l_op2(l, TC_X_POW, a, tc_l_f(l, d, p)), over);
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_POW, sum, tc_l_f(l, d, 1 / p)));
}
static tc_status lower_logsumexp(tc_lower *l) {
    uint64_t over;
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = load_reduced(l, of_node(l->node), d, &over), m = tc_l_reduce(l, TC_R_MAX, x, over);
    m = tc_l_where(l, tc_l_op1(l, TC_X_ISINF, m), tc_l_f(l, d, 0), m);
    tc_lv s = tc_l_reduce(l, TC_R_SUM, tc_l_op1(l, TC_X_EXP, tc_l_sub(l, x, m)), over);
    return tc_l_out(l, 0, tc_l_add(l, tc_l_op1(l, TC_X_LOG, s), m));
}
/* ---- gradients ---- */
/* A result (or its gradient) with the reduced dimensions restored as size 1. */
static tc_value *restore(tc_emit *e, const tc_node *n, tc_value *g) {
    reduced r = of_node(n);
    if (r.keepdim || !g) return g;
    int d = tc_op_param(n->op, "dim");
    if (d >= 0 && n->args[d].kind == TC_A_INTS && n->args[d].n == 0 && strstr(tc_op_schema(n->op)->overload, "dims")) return g;
    for (int k = 0; k < tc_arg_meta(n, 0)->rank; k++)
        if (r.mask >> k & 1) g = tc_emit_call(e, "aten::unsqueeze", "vi", g, (int64_t)k);
    return g;
}
/* fn over the reduced dimensions, which are kept as size 1; v itself where there are none */
static tc_value *over_reduced(tc_emit *e, const tc_node *n, const char *fn, tc_value *v) {
    int64_t dims[TC_MAX_RANK];
    int k = 0;
    for (int d = 0; d < tc_arg_meta(n, 0)->rank; d++)
        if (of_node(n).mask >> d & 1) dims[k++] = d;
    return k ? tc_emit_call(e, fn, "vIb", v, dims, k, 1) : v;
}
static tc_value *spread(tc_emit *e, const tc_node *n, tc_value *g) {
    const tc_meta *m = tc_arg_meta(n, 0);
    return tc_emit_call(e, "aten::expand", "vS", restore(e, n, g), m->size, m->rank);
}
/* scale g / (the number of reduced elements - less), symbolic if sizes are */
static tc_value *over_count(tc_emit *e, const tc_node *n, tc_value *g, double scale, double less) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_symctx *s = tc_e_sym(e);
    reduced r = of_node(n);
    tc_sym count = tc_sym_int(s, 1);
    int64_t v;
    for (int k = 0; k < m->rank; k++)
        if (r.mask >> k & 1) count = tc_sym_mul(s, count, m->size[k]);
    if (scale == 1 && tc_sym_const_int(count, &v)) return tc_emit_call(e, "aten::div.Tensor", "vf", g, (double)v - less);
    if (tc_sym_const_int(count, &v)) return tc_e_muls(e, g, scale / ((double)v - less));
    tc_arg a = {.kind = TC_A_SCALAR,
                .is_sym = true,
                .sym = less == 0 ? count : tc_sym_op(s, TC_S_FSUB, tc_sym_op(s, TC_S_TOFLOAT, count, NULL, NULL), tc_sym_float(s, less), NULL)};
    if (scale == 1) return tc_emit_call(e, "aten::div.Tensor", "va", g, &a);
    if (less == 0) a.sym = tc_sym_op(s, TC_S_TOFLOAT, a.sym, NULL, NULL);
    if (less == rint(less)) { /* a division of symbols by 0 is an error: by the least number it is the infinity that numbers give */
        const tc_sym none = tc_sym_op(s, TC_S_EQ, count, tc_sym_int(s, (int64_t)less), NULL);
        if (tc_sym_known(s, none)) a.sym = tc_sym_op(s, TC_S_WHERE, none, tc_sym_float(s, DBL_TRUE_MIN), a.sym);
    }
    a.sym = tc_sym_op(s, TC_S_FDIV, tc_sym_float(s, scale), a.sym, NULL);
    return tc_emit_call(e, "aten::mul.Tensor", "va", g, &a);
}
static tc_status grad_sum(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, spread(e, n, gs[0]));
    return tc_e_done(e);
}
static tc_status grad_nansum(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *keep = tc_e1(e, "aten::logical_not", tc_e1(e, "aten::isnan", tc_arg_value(n, 0)));
    tc_e_give(e, n, 0, tc_e_mul(e, spread(e, n, gs[0]), keep));
    return tc_e_done(e);
}
static tc_status grad_mean(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, over_count(e, n, spread(e, n, gs[0]), 1, 0));
    return tc_e_done(e);
}
/* equal extremes share the gradient */
static tc_value *share(tc_emit *e, const tc_node *n, tc_value *g, tc_value *mask) {
    return tc_e_mul(e, tc_e_div(e, restore(e, n, g), over_reduced(e, n, "aten::sum.dim_IntList", mask)), mask);
}
static tc_status grad_amax(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0);
    tc_value *mask = tc_e2(e, "aten::eq.Tensor", x, restore(e, n, n->outs[0]));
    tc_e_give(e, n, 0, share(e, n, gs[0], mask));
    return tc_e_done(e);
}
/* max, min, median: all elements equal to the result, or all NaN, share the gradient; in forward mode NaN has no share. */
tc_status tc_grad_whole(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *y = n->outs[0], *mask = tc_e2(e, "aten::eq.Tensor", x, y);
    if (!e->graph->program->forward_mode)
        mask = tc_e2(e, "aten::logical_or", mask, tc_e2(e, "aten::logical_and", tc_e1(e, "aten::isnan", x), tc_e1(e, "aten::isnan", y)));
    tc_e_give(e, n, 0, tc_e_mul(e, tc_e_div(e, gs[0], tc_e1(e, "aten::sum", mask)), mask));
    return tc_e_done(e);
}
static tc_status grad_aminmax(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *sum = NULL;
    for (int i = 0; i < 2; i++) {
        if (!gs[i]) continue;
        tc_value *mask = tc_e2(e, "aten::eq.Tensor", x, restore(e, n, n->outs[i]));
        tc_value *g = share(e, n, gs[i], mask);
        sum = sum ? tc_e_add(e, sum, g) : g;
    }
    tc_e_give(e, n, 0, sum);
    return tc_e_done(e);
}
/* max.dim, min.dim: the gradient goes to the element that the index names. */
static tc_status grad_pick(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0);
    if (!gs[0]) return NULL;
    if (x->meta.rank == 0) {
        tc_e_give(e, n, 0, gs[0]);
        return tc_e_done(e);
    }
    tc_value *zero = tc_e_zeros(e, &x->meta, gs[0]->meta.dtype);
    tc_value *g = restore(e, n, gs[0]), *i = restore(e, n, n->outs[1]);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::scatter.src", "vavv", zero, &n->args[tc_op_param(n->op, "dim")], i, g));
    return tc_e_done(e);
}
/* The gradient of an element is the product of the others: those before it times those after it. */
static tc_status grad_prod(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *g = gs[0];
    int at = tc_op_param(n->op, "dim");
    if (!tc_emit_wants_grad(e, n, 0)) return NULL;
    if (x->meta.dtype != g->meta.dtype) x = tc_e_cast(e, x, g->meta.dtype);
    if (x->meta.rank == 0) {
        tc_e_give(e, n, 0, g);
        return tc_e_done(e);
    }
    tc_value *flat = at < 0 ? tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1) : x;
    int64_t d = at < 0 ? 0 : tc_wrap(tc_arg_int(n, at), x->meta.rank);
    if (at >= 0) g = restore(e, n, g);
    if (!flat) return tc_e_done(e);
    tc_sym len = flat->meta.size[d];
    tc_value *one = tc_emit_call(e, "aten::ones_like", "v", tc_emit_call(e, "aten::slice.Tensor", "viii", flat, d, (int64_t)0, (int64_t)1));
    tc_sym last = tc_sym_sub(tc_e_sym(e), len, tc_sym_int(tc_e_sym(e), 1));
    tc_value *before[2] = {one, tc_emit_call(e, "aten::slice.Tensor", "viis", flat, d, (int64_t)0, last)};
    tc_value *after[2] = {tc_emit_call(e, "aten::slice.Tensor", "viis", flat, d, (int64_t)1, len), one};
    tc_value *b = tc_emit_call(e, "aten::cumprod", "vi", tc_emit_call(e, "aten::cat", "Vi", before, 2, d), d);
    tc_value *a = tc_emit_call(e, "aten::flip", "vI", tc_emit_call(e, "aten::cat", "Vi", after, 2, d), &d, 1);
    a = tc_emit_call(e, "aten::flip", "vI", tc_emit_call(e, "aten::cumprod", "vi", a, d), &d, 1);
    tc_value *r = tc_e_mul(e, g, tc_e_conj(e, tc_e_mul(e, b, a)));
    if (at < 0) r = tc_emit_call(e, "aten::reshape", "vS", r, x->meta.size, x->meta.rank);
    tc_e_give(e, n, 0, r);
    return tc_e_done(e);
}
/* Is the variance of all elements divided by 0 or less? Then PyTorch has a rule of its own: infinity times g, NaN at the mean. */
static bool none_left(const tc_node *n) {
    const tc_meta *x = tc_arg_meta(n, 0);
    int d = tc_op_param(n->op, "dim");
    int64_t count = 1, size;
    if (x->rank && d >= 0 && !tc_arg_is_none(n, d)) return false;
    for (int k = 0; k < x->rank; k++) {
        if (!tc_sym_const_int(x->size[k], &size)) return false;
        count *= size;
    }
    return (double)count <= correction_of(n);
}
/* var: 2 / (n - c) g (x - mean); std: the same with g / (2 std), 0 where std is 0; plus the part of the mean */
static tc_status var_grad(tc_emit *e, const tc_node *n, tc_value *const *gs, bool root) {
    tc_value *x = tc_arg_value(n, 0), *g = gs[0], *sum = NULL;
    if (g) {
        if (root) {
            tc_value *s = n->outs[0];
            g = tc_e_over_unless_zero(e, s, g, tc_e_muls(e, s, 2));
        }
        tc_value *mean = over_reduced(e, n, "aten::mean.dim", x);
        if (none_left(n)) {
            tc_value *at_mean = tc_emit_call(e, "aten::eq.Tensor", "vv", x, mean);
            tc_value *steep = tc_emit_call(e, "aten::where.Scalar", "vff", at_mean, __builtin_nan(""), HUGE_VAL);
            sum = tc_e_cast(e, tc_e_mul(e, restore(e, n, g), steep), x->meta.dtype);
        } else {
            sum = tc_e_mul(e, over_count(e, n, restore(e, n, g), 2, correction_of(n)), tc_e_sub(e, x, mean));
        }
    }
    if (n->nouts > 1 && gs[1]) {
        tc_value *m = over_count(e, n, spread(e, n, gs[1]), 1, 0);
        sum = sum ? tc_e_add(e, sum, m) : m;
    }
    tc_e_give(e, n, 0, sum);
    return tc_e_done(e);
}
static tc_status grad_var(tc_emit *e, const tc_node *n, tc_value *const *gs) { return var_grad(e, n, gs, false); }
static tc_status grad_std(tc_emit *e, const tc_node *n, tc_value *const *gs) { return var_grad(e, n, gs, true); }
static tc_status grad_norm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    double p = tc_arg_float(n, 1);
    tc_value *x = tc_arg_value(n, 0), *g = restore(e, n, gs[0]), *y = restore(e, n, n->outs[0]), *r;
    if (!g) return tc_e_done(e);
    x = tc_e_cast(e, x, tc_is_complex(x->meta.dtype) ? tc_dtype_to_complex(g->meta.dtype) : g->meta.dtype);
    if (!x) return tc_e_done(e);
    tc_value *sign = tc_e1(e, "aten::sgn", x);
    if (p == 0) {
        r = tc_e_zeros_like(e, x);
    } else if (p == 1) {
        r = tc_e_mul(e, sign, g);
    } else if (p == 2) {
        r = tc_e_mul(e, g, tc_e_unless_zero(e, y, tc_e_div(e, x, y)));
    } else if (__builtin_isinf(p)) {
        tc_value *a = tc_e1(e, "aten::abs", x), *mask = tc_e2(e, "aten::eq.Tensor", a, y);
        tc_value *count = over_reduced(e, n, "aten::sum.dim_IntList", mask);
        r = tc_emit_call(e, "aten::where.ScalarOther", "vvi", mask, tc_e_mul(e, sign, tc_e_div(e, g, count)), (int64_t)0); /* nowhere: 0 */
    } else {
        tc_value *a = tc_e1(e, "aten::abs", x);
        tc_value *up = tc_e_mul(e, sign, tc_emit_call(e, "aten::pow.Tensor_Scalar", "vf", a, p - 1));
        if (p < 2) up = tc_e_unless_zero(e, x, up);
        tc_value *down = tc_emit_call(e, "aten::pow.Tensor_Scalar", "vf", y, p - 1);
        r = tc_e_mul(e, up, tc_e_over_unless_zero(e, y, g, down));
    }
    tc_e_give(e, n, 0, r);
    return tc_e_done(e);
}
/* PyTorch's forward mode: the mean of the tangents weighted by exp(x - max x), where there is a maximum. */
static tc_status logsumexp_jvp(tc_emit *e, const tc_node *n, tc_value *g) {
    tc_value *x = tc_arg_value(n, 0), *real = tc_is_complex(x->meta.dtype) ? tc_e1(e, "aten::real", x) : x;
    bool empty = false;
    for (int d = 0; d < x->meta.rank; d++) empty |= of_node(n).mask >> d & 1 && tc_sym_is_int(x->meta.size[d], 0);
    if (!empty) x = tc_e_sub(e, x, over_reduced(e, n, "aten::amax", real));
    x = tc_e_conj(e, tc_e1(e, "aten::exp", x));
    tc_e_give(e, n, 0, tc_e_mul(e, tc_e_div(e, restore(e, n, g), over_reduced(e, n, "aten::sum.dim_IntList", x)), x));
    return tc_e_done(e);
}
static tc_status grad_logsumexp(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (e->graph->program->forward_mode) return logsumexp_jvp(e, n, gs[0]);
    tc_value *p = tc_e_conj(e, tc_e1(e, "aten::exp", tc_e_sub(e, tc_arg_value(n, 0), restore(e, n, n->outs[0]))));
    tc_e_give(e, n, 0, tc_e_mul(e, restore(e, n, gs[0]), p));
    return tc_e_done(e);
}
/* ---- complex numbers ---- */
/* The product of all elements before each, 1 for the first. */
static tc_status complex_prod(tc_emit *e, const tc_node *n) {
    int at = tc_op_param(n->op, "dim");
    tc_value *x = tc_e_cast(e, tc_arg_value(n, 0), n->outs[0]->meta.dtype);
    if (at < 0 || x->meta.rank == 0) x = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    int64_t d = at < 0 ? 0 : tc_wrap(tc_arg_int(n, at), x->meta.rank);
    tc_sym size[TC_MAX_RANK];
    memcpy(size, x->meta.size, sizeof *size * (size_t)x->meta.rank);
    size[d] = tc_sym_int(tc_e_sym(e), 1);
    tc_value *list[2] = {tc_emit_call(e, "aten::ones", "Sd", size, x->meta.rank, (int)x->meta.dtype), x};
    tc_value *all = tc_emit_call(e, "aten::cumprod", "vi", tc_emit_call(e, "aten::cat", "Vi", list, 2, d), d);
    tc_value *last = tc_e_cast(e, tc_emit_call(e, "aten::select.int", "vii", all, d, (int64_t)-1), x->meta.dtype);
    tc_emit_result(e, 0, of_node(n).keepdim && tc_arg_meta(n, 0)->rank ? tc_emit_call(e, "aten::unsqueeze", "vi", last, d) : last);
    return tc_e_done(e);
}
/* var and std: the sum of the parts' variances; means are complex */
static tc_status complex_var(tc_emit *e, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    bool root = !strncmp(s->name, "std", 3);
    const char *op = tc_arena_printf(&e->graph->program->arena, "aten::var%s.%s", s->name + 3, *s->overload ? s->overload : "default");
    tc_arg args[8];
    tc_node *part[2];
    memcpy(args, n->args, sizeof *args * (size_t)n->nargs);
    for (int k = 0; k < 2; k++) {
        args[0].value = tc_e1(e, k ? "aten::imag" : "aten::real", tc_arg_value(n, 0));
        if (!args[0].value || !(part[k] = tc_e_args(e, op, args, n->nargs))) return tc_e_done(e);
    }
    tc_value *v = tc_e_add(e, part[0]->outs[0], part[1]->outs[0]);
    tc_emit_result(e, 0, root ? tc_e1(e, "aten::sqrt", v) : v);
    if (n->nouts > 1) tc_emit_result(e, 1, tc_by_parts_pair(e, part[0]->outs[1], part[1]->outs[1]));
    return tc_e_done(e);
}
/* of the absolute values */
static tc_status complex_norm(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_e_cast(e, tc_arg_value(n, 0), tc_dtype_to_complex(n->outs[0]->meta.dtype));
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_vector_norm", "vaaa", tc_e1(e, "aten::abs", x), &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status decompose_special_logsumexp(tc_emit *e, const tc_node *n) { return tc_e_forward(e, "aten::logsumexp", n); }
/* m + log(sum(exp(x - m))), m the largest real part */
static tc_status complex_logsumexp(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *re = tc_e1(e, "aten::real", x);
    reduced over = of_node(n);
    for (int d = 0; d < x->meta.rank; d++)
        if ((over.mask >> d & 1) && tc_sym_is_int(x->meta.size[d], 0)) { /* empty: log(0) */
            tc_value *none = tc_emit_call(e, "aten::sum.dim_IntList", "vaa", x, &n->args[1], &n->args[2]);
            tc_emit_result(e, 0, tc_e1(e, "aten::log", none));
            return tc_e_done(e);
        }
    tc_value *m = tc_emit_call(e, "aten::amax", "vab", re, &n->args[1], 1), *zero = tc_e_zeros_like(e, m);
    m = tc_e3(e, "aten::where.self", tc_e1(e, "aten::isinf", m), zero, m);
    tc_value *s = tc_emit_call(e, "aten::sum.dim_IntList", "vaa", tc_e1(e, "aten::exp", tc_e_sub(e, x, m)), &n->args[1], &n->args[2]);
    if (!tc_arg_bool(n, 2)) m = tc_emit_call(e, "aten::reshape", "vS", m, n->outs[0]->meta.size, n->outs[0]->meta.rank);
    tc_emit_result(e, 0, tc_e_add(e, tc_e1(e, "aten::log", s), m));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status decompose_nanmean(tc_emit *e, const tc_node *n) { /* nansum / count of numbers */
    tc_value *x = tc_arg_value(n, 0), *ok = tc_e1(e, "aten::logical_not", tc_e1(e, "aten::isnan", x));
    if (tc_is_integral(x->meta.dtype))
        return tc_error(TC_CONTENT, "aten.nanmean: NotImplementedError: nanmean(): expected input to have floating point or complex dtype but got %s",
                        tc_dtypes[x->meta.dtype].torch);
    tc_value *s = tc_emit_call(e, "aten::nansum", "vaaa", x, &n->args[1], &n->args[2], &n->args[3]);
    tc_value *c = tc_emit_call(e, "aten::sum.dim_IntList", "vaa", ok, &n->args[1], &n->args[2]);
    tc_emit_result(e, 0, tc_e_div(e, s, c));
    return tc_e_done(e);
}
static tc_status decompose_norm(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int p = 1, d = tc_op_param(n->op, "dim"), k = tc_op_param(n->op, "keepdim"), t = tc_op_param(n->op, "dtype");
    tc_arg a[5] = {n->args[0], n->args[p], {0}, {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}, {0}};
    if (tc_arg_is_none(n, p)) a[1] = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(2)};
    if (d >= 0) a[2] = n->args[d];
    if (k >= 0) a[3] = n->args[k];
    if (t >= 0) a[4] = n->args[t];
    if (x && tc_is_integral(x->meta.dtype))
        return tc_e_refuse(n, "norm(): input dtype should be either floating point or complex. Got %s instead.", tc_dtypes[x->meta.dtype].torch);
    tc_node *r = tc_e_args(e, "aten::linalg_vector_norm", a, 5);
    tc_emit_result(e, 0, r ? r->outs[0] : NULL);
    return tc_e_done(e);
}
static tc_status is_true(tc_emit *e, const tc_node *n, const char *reduction) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.dtype != TC_BOOL) return tc_e_refuse(n, "expected a tensor of bool, found %s", tc_dtypes[x->meta.dtype].torch);
    return tc_e_forward(e, reduction, n);
}
static tc_status decompose_is_all_true(tc_emit *e, const tc_node *n) { return is_true(e, n, "aten::all"); }
static tc_status decompose_is_any_true(tc_emit *e, const tc_node *n) { return is_true(e, n, "aten::any"); }
static tc_status decompose_trace(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 2) return tc_error(TC_CONTENT, "aten.trace: trace: expected a matrix, but got tensor with dim %d", x->meta.rank);
    tc_emit_result(e, 0, tc_e1(e, "aten::sum", tc_e1(e, "aten::diagonal", x)));
    return tc_e_done(e);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define PARTS(SCHEMA, shape_, lower_, complex_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_, .lower = lower_, .complex = complex_, .grad = grad_, .samples = sample, .doc = text }
#define PRODUCT(SCHEMA, sample, text)                                                                                                             \
    {                                                                                                                                             \
        .schema = "aten::prod" SCHEMA ", *, ScalarType? dtype=None) -> Tensor", .shape = shape_sum, .lower = lower_prod, .complex = complex_prod, \
        .keeps = " self result ", .grad = grad_prod, .samples = sample, .doc = text                                                               \
    }
#define TRUTH(SCHEMA, shape_, lower_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_NONDIFF, .shape = shape_, .lower = lower_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, decompose_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_, .samples = sample, .doc = text }
#define VARIANCE(name, pair, ret, lower_, grad_, text)                                                                                              \
    PARTS(#name "(Tensor self, bool unbiased=True) -> " ret, shape_var, lower_, complex_var, grad_, #name "(f32[3,5]); " #name "(c64[3,5])", text), \
        PARTS(#name ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> " ret, shape_var, lower_, complex_var, grad_,        \
              #name "(f32[3,5], [1])", text),                                                                                                       \
        PARTS(#name ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> " ret, shape_var, lower_,        \
              complex_var, grad_, #name "(f32[3,5], [0], correction=0, keepdim=True)", text)
const tc_op tc_ops_reduce[] = {
    ROW("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape_sum, lower_sum, grad_sum, "sum(f32[3,5]); sum(bool[7]); sum(c64[3,5])",
        "the sum of all"),
    ROW("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", shape_sum, lower_sum, grad_sum,
        "sum(f32[3,5], [1]); sum(f32[3,5], [0], True); sum(c128[300,5], [0])", "the sums over dim"),
    ROW("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", shape_nansum, lower_nansum, grad_nansum,
        "nansum(f32[3,5])", "the sum of all that are numbers"),
    ROW("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape_mean, lower_mean, grad_mean, "mean(f32[3,5])", "sum / count"),
    ROW("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", shape_mean, lower_mean, grad_mean,
        "mean(f32[3,5], [1]); mean(c64[3,5], [1])", "sum / count over dim"),
    COMPOSED("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", decompose_nanmean, "nanmean(f32[3,5])",
             "the mean of all that are numbers"),
    PRODUCT("(Tensor self", "prod(f32[3,4])", "the product of all"),
    PRODUCT(".dim_int(Tensor self, int dim, bool keepdim=False", "prod(f32[3,4], 1); prod(c64[3,4], 1)", "the products over dim"),
    ROW("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", shape_extreme, lower_max, grad_amax, "amax(f32[3,5], [1])", "the largest"),
    ROW("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", shape_extreme, lower_min, grad_amax, "amin(f32[3,5], [1])", "the smallest"),
    ROW("max(Tensor self) -> Tensor", shape_extreme, lower_max, tc_grad_whole, "max(f32[3,5])", "the largest of all"),
    ROW("min(Tensor self) -> Tensor", shape_extreme, lower_min, tc_grad_whole, "min(f32[3,5])", "the smallest of all"),
    ROW("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", shape_extreme, lower_max, grad_pick,
        "max(f32[3,5], 1)", "the largest and where it first is"),
    ROW("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", shape_extreme, lower_min, grad_pick,
        "min(f32[3,5], 1)", "the smallest and where it first is"),
    ROW("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", shape_extreme, lower_aminmax, grad_aminmax,
        "aminmax(f32[3,5])", "the smallest and the largest"),
    TRUTH("argmax(Tensor self, int? dim=None, bool keepdim=False)", shape_arg, lower_argmax, "argmax(f32[3,5], 1); argmax(f32[3,5])",
          "where the largest first is"),
    TRUTH("argmin(Tensor self, int? dim=None, bool keepdim=False)", shape_arg, lower_argmin, "argmin(f32[3,5], 1)", "where the smallest first is"),
    TRUTH("any(Tensor self)", shape_truth, lower_any, "any(bool[3,5])", "one is not 0"),
    TRUTH("any.dim(Tensor self, int dim, bool keepdim=False)", shape_truth, lower_any, "any(bool[3,5], 1)", "one along dim is not 0"),
    TRUTH("any.dims(Tensor self, int[]? dim=None, bool keepdim=False)", shape_truth, lower_any, "any(bool[3,5], [0,1])", "one along dim is not 0"),
    TRUTH("all(Tensor self)", shape_truth, lower_all, "all(bool[3,5])", "none is 0"),
    TRUTH("all.dim(Tensor self, int dim, bool keepdim=False)", shape_truth, lower_all, "all(bool[3,5], 1)", "none along dim is 0"),
    TRUTH("all.dims(Tensor self, int[]? dim=None, bool keepdim=False)", shape_truth, lower_all, "all(bool[3,5], [0,1])", "none along dim is 0"),
    COMPOSED("_is_all_true(Tensor self)", decompose_is_all_true, "_is_all_true(bool[3,5])", "none is False"),
    COMPOSED("_is_any_true(Tensor self)", decompose_is_any_true, "_is_any_true(bool[3,5])", "one is True"),
    TRUTH("count_nonzero(Tensor self, int? dim=None)", shape_count, lower_count_nonzero, "count_nonzero(f32[3,5])", "how many are not 0"),
    TRUTH("count_nonzero.dim_IntList(Tensor self, int[] dim)", shape_count, lower_count_nonzero, "count_nonzero(f32[3,5], [1])",
          "how many along dim are not 0"),
    VARIANCE(var, 0, "Tensor", lower_var, grad_var, "sum (x - mean)^2 / (n - correction)"),
    VARIANCE(std, 0, "Tensor", lower_std, grad_std, "square root of var"),
    VARIANCE(var_mean, 1, "(Tensor, Tensor)", lower_var, grad_var, "var and mean"),
    VARIANCE(std_mean, 1, "(Tensor, Tensor)", lower_std, grad_std, "std and mean"),
    PARTS("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", shape_norm,
          lower_norm, complex_norm, grad_norm, "linalg_vector_norm(f32[3,5], 2, [1]); linalg_vector_norm(f32[3,5], 3); linalg_vector_norm(c64[3,5])",
          "(sum |x|^ord)^(1/ord)"),
    COMPOSED("norm.Scalar(Tensor self, Scalar p=2)", decompose_norm, "norm(f32[3,5])", "linalg_vector_norm"),
    COMPOSED("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)", decompose_norm, "norm(f32[3,5], 2, [1])",
             "linalg_vector_norm"),
    COMPOSED("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype)", decompose_norm, "norm(f32[3,5], 2, dtype=torch.float64)",
             "linalg_vector_norm"),
    COMPOSED("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)", decompose_norm,
             "norm(f32[3,5], 2, [1], False, dtype=torch.float64)", "linalg_vector_norm"),
    PARTS("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", shape_logsumexp, lower_logsumexp, complex_logsumexp, grad_logsumexp,
          "logsumexp(f32[3,5], [1]); logsumexp(c64[3,5], [1])", "log of the sum of exp"),
    COMPOSED("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False)", decompose_special_logsumexp, NULL, "another name"),
    COMPOSED("trace(Tensor self)", decompose_trace, "trace(f32[3,4])", "the sum of the diagonal"),
    {0}};
