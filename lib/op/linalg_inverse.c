/* Generalised inverses, least squares and functions of matrices.
 *
 *     pinv   gA = -P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), P = A^+
 *            (G. Golub, V. Pereyra, The differentiation of pseudo-inverses, SIAM J. Numer. Anal. 10 (1973))
 *     exp    gA is the upper right block of exp([[A^H, g], [0, A^H]])  (N. Higham, Functions of Matrices, 2008, theorem 3.6)
 *     polar  A = U H = W S V^H: with M = W^H g V, gA = W ((M - M^H) / (s_i + s_j)) V^H + (I - W W^H) g V S^-1 V^H for U; H = U^H A
 *     sqrth  X X = A: with A = V L V^H, gA is the Hermitian part of V ((V^H g V) / (x_i + x_j)) V^H, x = sqrt(l) */
#include "op/linalg.h"

#include <string.h>

static double eps_of(tc_dtype d) { return tc_dtype_real(d) == TC_F32 ? 0x1p-23 : 0x1p-52; }
/* eps times the larger side, a run-time number if symbolic */
static tc_arg default_rtol(tc_emit *e, const tc_value *a) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym most = tc_sym_max(s, tc_la_rows(a), tc_la_cols(a));
    int64_t n;
    double eps = eps_of(a->meta.dtype);
    if (tc_sym_const_int(most, &n)) return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(eps * (double)n)};
    tc_sym f = tc_sym_op(s, TC_S_FMUL, tc_sym_op(s, TC_S_TOFLOAT, most, NULL, NULL), tc_sym_float(s, eps), NULL);
    return (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = f};
}
static tc_value *number(tc_emit *e, const tc_arg *v) { return tc_emit_call(e, "aten::full", "Iad", (int64_t[]){0}, 0, v, (int)TC_F64); }
static tc_value *constant(tc_emit *e, double v) { return number(e, &(tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(v)}); }
/* Tolerances given as tensors: rtol defaults to 0 where atol is positive. */
static void tolerances(tc_emit *e, const tc_value *a, tc_value **atol, tc_value **rtol) {
    tc_arg d = default_rtol(e, a);
    if (!*rtol)
        *rtol = *atol ? tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::gt.Scalar", "vi", *atol, (int64_t)0), (int64_t)0,
                                     number(e, &d))
                      : number(e, &d);
    if (!*atol) *atol = constant(e, 0);
}
/* Tolerances given as numbers, arguments i and i + 1 of n. */
static void number_tolerances(tc_emit *e, const tc_node *n, int i, tc_value **atol, tc_value **rtol) {
    bool has = !tc_arg_is_none(n, i), more = !tc_arg_is_none(n, i + 1);
    tc_arg d = default_rtol(e, tc_arg_value(n, 0)), zero = {.kind = TC_A_SCALAR, .scalar = tc_scalar_float(0)};
    bool positive = has && (n->args[i].is_sym || tc_arg_float(n, i) > 0);
    *atol = number(e, has ? tc_e_arg(n, i) : &zero);
    *rtol = number(e, more ? tc_e_arg(n, i + 1) : positive ? &zero : &d);
}
/* which of s [*, k] exceed max(atol, rtol * the largest) */
static tc_value *above(tc_emit *e, tc_value *s, tc_value *atol, tc_value *rtol) {
    tc_value *most = tc_emit_call(e, "aten::amax", "vIb", s, (int64_t[]){-1}, 1, 1);
    tc_value *tol = tc_e2(e, "aten::maximum", tc_la_col(e, atol), tc_e_mul(e, tc_la_col(e, rtol), most));
    return tc_e2(e, "aten::gt.Tensor", s, tol);
}
/* Are the matrices a, the argument of n, empty? A size that was 0 at capture is fixed. */
static bool is_empty(tc_emit *e, const tc_node *n, const tc_value *a) {
    const tc_sym size[] = {tc_la_rows(a), tc_la_cols(a)};
    int64_t v;
    for (int i = 0; i < 2; i++)
        if (tc_program_example(e->graph->program, size[i], &v) && v == 0) return tc_e_pin(e, n, size[i], &v);
    return false;
}

/* ---- rank ---- */
static tc_status need_wide(const tc_node *n) {
    const tc_dtype d = tc_arg_meta(n, 0)->dtype;
    if (d == TC_F32 || d == TC_F64 || d == TC_C64 || d == TC_C128) return NULL;
    return tc_e_refuse(n, "expected float, double, cfloat or cdouble, got %s", tc_dtypes[d].torch);
}
static tc_status rank_of(tc_emit *e, const tc_node *n, tc_value *atol, tc_value *rtol, bool hermitian) {
    tc_value *a = tc_arg_value(n, 0), *s;
    TC_TRY(hermitian ? tc_la_square_arg(n, 0, "linalg.matrix_rank") : tc_la_matrix_arg(n, 0, "linalg.matrix_rank"));
    TC_TRY(need_wide(n));
    if (is_empty(e, n, a)) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::zeros", "Sd", a->meta.size, a->meta.rank - 2, (int)TC_I64));
        return tc_e_done(e);
    }
    if (hermitian) s = tc_e1(e, "aten::abs", tc_e1(e, "aten::linalg_eigvalsh", a));
    else s = tc_e1(e, "aten::linalg_svdvals", a);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::sum.dim_IntList", "vI", above(e, s, atol, rtol), (int64_t[]){-1}, 1));
    return tc_e_done(e);
}
static tc_status decompose_rank_tensor(tc_emit *e, const tc_node *n) { /* input, atol, rtol, hermitian */
    tc_value *atol = tc_arg_value(n, 1), *rtol = tc_arg_value(n, 2);
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.matrix_rank"));
    tolerances(e, tc_arg_value(n, 0), &atol, &rtol);
    return rank_of(e, n, atol, rtol, tc_arg_bool(n, 3));
}
static tc_status decompose_rank_float(tc_emit *e, const tc_node *n) {
    tc_value *atol, *rtol;
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.matrix_rank"));
    number_tolerances(e, n, 1, &atol, &rtol);
    return rank_of(e, n, atol, rtol, tc_arg_bool(n, 3));
}
static tc_status decompose_rank_tol(tc_emit *e, const tc_node *n) { /* input, tol (a number or a tensor), hermitian */
    tc_value *tol = tc_arg_value(n, 1);
    return rank_of(e, n, tol && tol->kind == TC_V_TENSOR ? tol : number(e, tc_e_arg(n, 1)), constant(e, 0), tc_arg_bool(n, 2));
}

/* ---- pseudo-inverse ---- */
static tc_status decompose_pinv(tc_emit *e, const tc_node *n) { /* self, atol, rtol, hermitian */
    tc_value *a = tc_arg_value(n, 0), *atol = tc_arg_value(n, 1), *rtol = tc_arg_value(n, 2);
    bool hermitian = tc_arg_bool(n, 3);
    TC_TRY(hermitian ? tc_la_square_arg(n, 0, "linalg.pinv") : tc_la_matrix_arg(n, 0, "linalg.pinv"));
    TC_TRY(need_wide(n));
    if (is_empty(e, n, a)) {
        tc_emit_result(e, 0, tc_e1(e, "aten::clone", tc_la_mT(e, a)));
        return tc_e_done(e);
    }
    tolerances(e, a, &atol, &rtol);
    if (hermitian) {
        tc_value *l = tc_emit_call(e, "aten::_linalg_eigh", "vtb", a, "L", 1), *v = tc_emit_out(l, 1);
        tc_value *big = above(e, tc_e1(e, "aten::abs", l), atol, rtol);
        tc_value *r = tc_emit_call(e, "aten::where.ScalarOther", "vvi", big, tc_e1(e, "aten::reciprocal", l), (int64_t)0);
        tc_emit_result(e, 0, tc_la_mm(e, tc_e_mul(e, v, tc_la_row(e, r)), tc_la_mH(e, v)));
        return tc_e_done(e);
    }
    tc_value *u = tc_emit_call(e, "aten::_linalg_svd", "vbb", a, 0, 1), *s = tc_emit_out(u, 1), *vh = tc_emit_out(u, 2);
    tc_value *r = tc_emit_call(e, "aten::where.ScalarOther", "vvi", above(e, s, atol, rtol), tc_e1(e, "aten::reciprocal", s), (int64_t)0);
    tc_emit_result(e, 0, tc_la_mm(e, tc_e_mul(e, tc_la_mH(e, vh), tc_la_row(e, r)), tc_la_mH(e, u)));
    return tc_e_done(e);
}
/* In double precision, because its terms cancel. */
static tc_dtype wider(tc_dtype d) { return d == TC_F32 ? TC_F64 : d == TC_C64 ? TC_C128 : d; }
static tc_value *wide(tc_emit *e, tc_value *x) { return x ? tc_e_cast(e, x, wider(x->meta.dtype)) : NULL; }
static tc_value *pinv_gradient(tc_emit *e, tc_value *a, tc_value *p, tc_value *g) {
    tc_value *ph = tc_la_mH(e, p), *gh = tc_la_mH(e, g);
    tc_value *r = tc_e_neg(e, tc_la_mm(e, ph, tc_la_mm(e, g, ph)));
    tc_value *right = tc_la_mm(e, gh, tc_la_mm(e, p, ph)), *left = tc_la_mm(e, tc_la_mm(e, ph, p), gh);
    r = tc_e_add(e, r, tc_e_sub(e, right, tc_la_mm(e, a, tc_la_mm(e, p, right))));
    return tc_e_add(e, r, tc_e_sub(e, left, tc_la_mm(e, tc_la_mm(e, left, p), a)));
}
static tc_value *pinv(tc_emit *e, tc_value *a, tc_value *atol, tc_value *rtol, bool hermitian) {
    return tc_emit_call(e, "aten::linalg_pinv.atol_rtol_tensor", "vvvb", a, atol, rtol, (int)hermitian);
}
/* A^+ in the wider type, with the tolerances of a's own type. */
static tc_value *wide_pinv(tc_emit *e, tc_value *a, tc_value *atol, tc_value *rtol, bool hermitian) {
    tolerances(e, a, &atol, &rtol);
    return pinv(e, wide(e, a), atol, rtol, hermitian);
}
static tc_status grad_pinv(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *p = n->outs[0];
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    if (wider(a->meta.dtype) != a->meta.dtype) p = wide_pinv(e, a, tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_bool(n, 3));
    tc_e_give(e, n, 0, pinv_gradient(e, wide(e, a), p, wide(e, gs[0])));
    return tc_e_done(e);
}
static tc_status decompose_pinv_float(tc_emit *e, const tc_node *n) { /* self, atol, rtol, hermitian */
    tc_value *atol, *rtol;
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.pinv"));
    number_tolerances(e, n, 1, &atol, &rtol);
    tc_emit_result(e, 0, pinv(e, tc_arg_value(n, 0), atol, rtol, tc_arg_bool(n, 3)));
    return tc_e_done(e);
}
static tc_status decompose_pinv_rcond(tc_emit *e, const tc_node *n) { /* self, rcond (a number or a tensor), hermitian; pinverse has none */
    tc_value *rcond = tc_arg_value(n, 1);
    if (!rcond || rcond->kind != TC_V_TENSOR) rcond = number(e, tc_e_arg(n, 1));
    tc_emit_result(e, 0, pinv(e, tc_arg_value(n, 0), constant(e, 0), rcond, n->nargs > 2 && tc_arg_bool(n, 2)));
    return tc_e_done(e);
}

/* ---- least squares ---- */
static tc_status shape_lstsq(tc_shape_ctx *c) {
    const char *what = "torch.linalg.lstsq";
    TC_TRY(tc_la_need(c, 0, what, 2));
    TC_TRY(tc_la_need(c, 1, what, 1));
    TC_TRY(tc_la_need_same(c, 0, 1, what));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1);
    const char *driver = tc_sh_given(c, 3) ? tc_sh_string(c, 3) : "gelsy";
    if (strcmp(driver, "gels") && strcmp(driver, "gelsy") && strcmp(driver, "gelsd") && strcmp(driver, "gelss"))
        return tc_sh_fail(c, "%s: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)", what);
    bool vector = b->rank == a->rank - 1, by_svd = !strcmp(driver, "gelsd") || !strcmp(driver, "gelss"), same = vector || a->rank == b->rank;
    for (int i = 0; same && i < a->rank - 1; i++) same = tc_sh_same(c, a->size[i], b->size[i]);
    if (!same) return tc_sh_fail(c, "%s: input.size(-2) should match other.size(%d), and their batches must be equal", what, vector ? -1 : -2);
    tc_symctx *y = tc_sh_sym(c);
    tc_sym m = a->size[a->rank - 2], n = a->size[a->rank - 1], rhs = vector ? tc_sym_int(y, 1) : b->size[b->rank - 1], k = tc_sym_min(y, m, n);
    tc_dims x = tc_la_dims(a, 2), res = x, rank = x, s = x, none = {.rank = 1};
    none.size[0] = tc_sym_int(y, 0);
    tc_la_push(&x, n), tc_la_push(&res, rhs), tc_la_push(&s, k);
    if (!vector) tc_la_push(&x, rhs);
    bool over = tc_sym_known(y, tc_sym_op(y, TC_S_LT, n, m, NULL)) == 1 && strcmp(driver, "gelsy");
    tc_dims room = tc_la_dims(a, 2); /* LAPACK overwrites B: the solution is in its first rows */
    tc_la_push(&room, tc_sym_max(y, m, n)), tc_la_push(&room, rhs);
    TC_TRY(tc_sh_out_columns(c, 0, a->dtype, &room));
    TC_TRY(tc_sh_out_strided(c, 0, a->dtype, &x, c->outs[0].meta.stride));
    TC_TRY(tc_sh_out(c, 1, tc_dtype_real(a->dtype), over ? &res : &none));
    TC_TRY(tc_sh_out(c, 2, TC_I64, strcmp(driver, "gels") ? &rank : &none));
    return tc_sh_out(c, 3, tc_dtype_real(a->dtype), by_svd ? &s : &none);
}
/* X = P B with P = A^+; residuals |A X - B|^2, column by column */
static tc_status grad_lstsq(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *x = n->outs[0], *gx = gs[0], *gr = gs[1], *ga = NULL, *gb = NULL;
    tc_value *p = gx ? wide_pinv(e, a, NULL, NULL, false) : NULL;
    a = wide(e, a), b = wide(e, b), x = wide(e, x), gx = wide(e, gx), gr = wide(e, gr);
    if (!a || !b || !x) return tc_e_done(e);
    bool vector = b->meta.rank == a->meta.rank - 1;
    if (gr && tc_sym_is_int(gr->meta.size[gr->meta.rank - 1], 0)) gr = NULL;
    if (vector) b = tc_la_col(e, b), x = tc_la_col(e, x), gx = gx ? tc_la_col(e, gx) : NULL;
    if (gx) {
        gb = tc_la_mm(e, tc_la_mH(e, p), gx);
        if (tc_emit_wants_grad(e, n, 0)) ga = pinv_gradient(e, a, p, tc_la_mm(e, gx, tc_la_mH(e, b)));
    }
    if (gr) {
        tc_value *r = tc_e_mul(e, tc_e_muls(e, tc_e_sub(e, tc_la_mm(e, a, x), b), 2), tc_la_row(e, gr));
        gb = tc_la_sum2(e, gb, tc_e_neg(e, r));
        ga = tc_la_sum2(e, ga, tc_la_mm(e, r, tc_la_mH(e, x)));
    }
    if (gb && vector) gb = tc_emit_call(e, "aten::squeeze.dim", "vi", gb, (int64_t)-1);
    tc_e_give(e, n, 0, ga);
    tc_e_give(e, n, 1, gb);
    return tc_e_done(e);
}

/* ---- functions of matrices ---- */
static tc_status shape_matrix_exp(tc_shape_ctx *c) {
    const tc_meta *m = tc_sh_meta(c, 0);
    if (!m || (m->dtype != TC_F16 && m->dtype != TC_BF16) || m->rank < 2 || !tc_sh_same(c, m->size[m->rank - 2], m->size[m->rank - 1]))
        TC_TRY(tc_la_need_square(c, 0, "linalg.matrix_exp"));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status grad_matrix_exp(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *h = tc_la_mH(e, a), *g = gs[0];
    if (!tc_emit_wants_grad(e, n, 0) || !h) return tc_e_done(e);
    tc_symctx *s = tc_e_sym(e);
    tc_sym size = tc_la_rows(a);
    tc_value *up = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){h, g}, 2, (int64_t)-1);
    tc_value *low = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){tc_e_zeros_like(e, h), h}, 2, (int64_t)-1);
    tc_value *all = tc_e1(e, "aten::linalg_matrix_exp", tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){up, low}, 2, (int64_t)-2));
    all = tc_la_narrow(e, tc_la_narrow(e, all, -2, tc_sym_int(s, 0), size), -1, size, tc_sym_add(s, size, size));
    tc_e_give(e, n, 0, all);
    return tc_e_done(e);
}
static tc_status decompose_matrix_exp(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::linalg_matrix_exp", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status decompose_matrix_power(tc_emit *e, const tc_node *n) { /* by squaring */
    tc_value *a = tc_arg_value(n, 0), *r = NULL;
    TC_TRY(tc_la_square_arg(n, 0, "linalg.matrix_power"));
    int64_t p = tc_arg_int(n, 1);
    if (p == 0) {
        tc_value *all = tc_emit_call(e, "aten::full", "Ibd", (int64_t[]){0}, 0, 1, (int)TC_BOOL); /* nothing depends on a, whose gradient is 0 */
        tc_value *none = tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", a, all, (int64_t)0);
        tc_emit_result(e, 0, tc_e_add(e, none, tc_la_eye(e, tc_la_rows(a), a->meta.dtype)));
        return tc_e_done(e);
    }
    if (p < 0) a = tc_e1(e, "aten::linalg_inv", a);
    for (uint64_t k = p < 0 ? -(uint64_t)p : (uint64_t)p; k && !e->status; k >>= 1) {
        if (k & 1) r = r ? tc_la_mm(e, r, a) : a;
        if (k > 1) a = tc_la_mm(e, a, a);
    }
    tc_emit_result(e, 0, p == 1 ? tc_e1(e, "aten::clone", r) : r);
    return tc_e_done(e);
}
static tc_status decompose_polar(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.polar"));
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LE, tc_la_cols(a), tc_la_rows(a), NULL)) == 0)
        return tc_e_refuse(n, "linalg.polar: input must have at least as many rows as columns");
    tc_value *w = tc_emit_call(e, "aten::_linalg_svd", "vbb", a, 0, 1), *vh = tc_emit_out(w, 2);
    tc_emit_result(e, 0, tc_la_mm(e, w, vh));
    tc_emit_result(e, 1, tc_la_mm(e, tc_e_mul(e, tc_la_mH(e, vh), tc_la_row(e, tc_emit_out(w, 1))), vh));
    return tc_e_done(e);
}
/* x / (s_i + s_j), 0 where the sum is 0 */
static tc_value *over_sums(tc_emit *e, tc_value *x, tc_value *s) {
    tc_value *sums = tc_e_add(e, tc_la_col(e, s), tc_la_row(e, s)), *zero = tc_emit_call(e, "aten::eq.Scalar", "vi", sums, (int64_t)0);
    return tc_emit_call(e, "aten::masked_fill.Scalar", "vvi",
                        tc_e_div(e, x, tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", sums, zero, (int64_t)1)), zero, (int64_t)0);
}
static tc_status grad_polar(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *u = n->outs[0], *g = gs[0], *r = NULL;
    if (!tc_emit_wants_grad(e, n, 0) || (!gs[0] && !gs[1])) return tc_e_done(e);
    if (gs[1]) g = tc_la_sum2(e, g, tc_la_mm(e, a, tc_la_mH(e, gs[1]))), r = tc_la_mm(e, u, gs[1]);
    tc_value *w = tc_emit_call(e, "aten::_linalg_svd", "vbb", a, 0, 1), *s = tc_emit_out(w, 1), *vh = tc_emit_out(w, 2);
    if (!w) return tc_e_done(e);
    tc_value *gv = tc_la_mm(e, g, tc_la_mH(e, vh)), *m = tc_la_mm(e, tc_la_mH(e, w), gv);
    tc_value *mid = tc_la_mm(e, w, over_sums(e, tc_e_sub(e, m, tc_la_mH(e, m)), s));
    if (tc_la_rows(a) != tc_la_cols(a)) mid = tc_e_add(e, mid, tc_e_div(e, tc_e_sub(e, gv, tc_la_mm(e, w, m)), tc_la_row(e, s)));
    tc_e_give(e, n, 0, tc_la_sum2(e, tc_la_mm(e, mid, vh), r));
    return tc_e_done(e);
}
static tc_value *roots(tc_emit *e, tc_value *a, tc_value **v) {
    tc_value *l = tc_emit_call(e, "aten::_linalg_eigh", "vtb", a, "L", 1);
    *v = tc_emit_out(l, 1);
    return tc_e1(e, "aten::sqrt", tc_emit_call(e, "aten::clamp", "vi", l, (int64_t)0));
}
static tc_status decompose_sqrth(tc_emit *e, const tc_node *n) {
    tc_value *v;
    TC_TRY(tc_la_square_arg(n, 0, "linalg.matrix_sqrth"));
    tc_value *x = roots(e, tc_arg_value(n, 0), &v);
    tc_emit_result(e, 0, tc_la_mm(e, tc_e_mul(e, v, tc_la_row(e, x)), tc_la_mH(e, v)));
    return tc_e_done(e);
}
static tc_status grad_sqrth(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *v;
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *x = roots(e, tc_arg_value(n, 0), &v), *vh = tc_la_mH(e, v);
    tc_value *g = tc_la_mm(e, v, tc_la_mm(e, over_sums(e, tc_la_mm(e, vh, tc_la_mm(e, gs[0], v)), x), vh));
    tc_e_give(e, n, 0, tc_e_muls(e, tc_e_add(e, g, tc_la_mH(e, g)), 0.5));
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, name, flags_, sample, text) \
    { .schema = "aten::" SCHEMA, .flags = flags_, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define RULED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .grad = grad_##name, .samples = sample, .doc = text }
const tc_op tc_ops_linalg_inverse[] = {
    COMPOSED("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
             rank_tensor, TC_OP_NONDIFF, "linalg_matrix_rank(f32[2,3,5])", "singular values above max(atol, rtol times the greatest), counted"),
    COMPOSED("linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", rank_float,
             TC_OP_NONDIFF, "linalg_matrix_rank(f32[3,5], atol=0.5)", "singular values above max(atol, rtol times the greatest), counted"),
    COMPOSED("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", rank_tol, TC_OP_NONDIFF,
             "linalg_matrix_rank(f32[3,3], 0.5, True)", "singular values above tol, counted"),
    COMPOSED("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", rank_tol, TC_OP_NONDIFF, NULL,
             "singular values above tol, counted"),
    RULED("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", pinv,
          "linalg_pinv(f32[2,3,5]); linalg_pinv(f64[4,2])",
          "pseudo-inverse; singular values up to max(atol, rtol times the greatest) are taken for 0"),
    COMPOSED("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", pinv_float, 0,
             "linalg_pinv(f32[3,5], rtol=0.01)", "pseudo-inverse"),
    COMPOSED("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", pinv_rcond, 0, "linalg_pinv(f32[5,3], 0.01)",
             "pseudo-inverse; singular values up to rcond times the greatest are taken for 0"),
    COMPOSED("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", pinv_rcond, 0, NULL, "pseudo-inverse"),
    COMPOSED("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", pinv_rcond, 0, "pinverse(f32[5,3])", "pseudo-inverse"),
    {.schema =
         "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, "
         "Tensor singular_values)",
     .flags = TC_OP_PLAIN << 2 | TC_OP_PLAIN << 3,
     .shape = shape_lstsq,
     .kernel = &tc_k_lstsq,
     .keeps = " self b result0 ",
     .grad = grad_lstsq,
     .samples = "linalg_lstsq(f32[2,5,3], f32[2,5,2]); linalg_lstsq(f64[3,5], f64[3,2]); linalg_lstsq(f64[5,3], f64[5], driver='gels')",
     .doc = "X of least norm that makes |self X - b| least; residuals of systems with more rows, whatever their rank"},
    {.schema = "aten::linalg_matrix_exp(Tensor self) -> Tensor",
     .shape = shape_matrix_exp,
     .kernel = &tc_k_matrix_exp,
     .grad = grad_matrix_exp,
     .samples = "linalg_matrix_exp(f32[2,3,3])",
     .doc = "matrix exponential"},
    COMPOSED("matrix_exp(Tensor self) -> Tensor", matrix_exp, 0, "matrix_exp(f32[3,3])", "matrix exponential"),
    COMPOSED("linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power, 0,
             "linalg_matrix_power(f32[2,3,3], 5); linalg_matrix_power(f32[3,3], -1)", "self multiplied n times with itself"),
    COMPOSED("matrix_power(Tensor self, int n) -> Tensor", matrix_power, 0, "matrix_power(f32[3,3], 3)", "linalg_matrix_power"),
    RULED("linalg_polar(Tensor A) -> (Tensor U, Tensor H)", polar, "linalg_polar(f32[2,5,3])", "A = U H, U with orthonormal columns, H Hermitian"),
    RULED("linalg_matrix_sqrth(Tensor self) -> Tensor", sqrth, NULL, "X: X X = self, Hermitian, by the lower triangle of self"),
    {0}};
