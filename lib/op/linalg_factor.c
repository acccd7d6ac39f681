/* Factorisations by elimination, and solves with them: Cholesky, LU, Bunch-Kaufman, triangular systems.
 *
 * Gradients follow from the differential of the product, projected onto the structure of each factor (tril, triu):
 *     Cholesky  A = L L^H     gA = L^-H S(tril(L^H gL)) L^-1, S(X) = (X + X^H) / 2 of a lower triangle with its diagonal halved
 *               (I. Murray, Differentiation of the Cholesky decomposition, 2016)
 *     LU        A = P L U     gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H
 *     triangle  A X = B       gB = A^-H gX, gA = -gB X^H on the triangle */
#include "op/linalg.h"

#include <string.h>

/* ---- Cholesky ---- */
static tc_status shape_cholesky_ex(tc_shape_ctx *c) {
    TC_TRY(tc_la_need_square(c, 0, "linalg.cholesky"));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0)), b = tc_la_dims(tc_sh_meta(c, 0), 2);
    TC_TRY(tc_sh_out_columns(c, 0, tc_sh_meta(c, 0)->dtype, &d));
    return tc_sh_out(c, 1, TC_I32, &b);
}
static tc_status grad_cholesky_ex(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool upper = tc_arg_bool(n, 1);
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *l = upper ? tc_la_mH(e, n->outs[0]) : n->outs[0], *g = upper ? tc_la_mH(e, gs[0]) : gs[0], *lh = tc_la_mH(e, l);
    tc_value *phi = tc_la_tril(e, tc_la_mm(e, lh, g), 0);
    if (e->graph->program->forward_mode) phi = tc_e_sub(e, phi, tc_e_muls(e, tc_la_diag(e, tc_la_diagonal(e, phi)), 0.5)); /* reads all of dA */
    else phi = tc_e_muls(e, tc_e_add(e, phi, tc_la_mH(e, tc_la_tril(e, phi, -1))), 0.5);
    phi = tc_la_triangular(e, lh, phi, true, true, false);
    tc_e_give(e, n, 0, tc_la_triangular(e, l, phi, false, false, false));
    return tc_e_done(e);
}
static tc_status decompose_cholesky(tc_emit *e, const tc_node *n) { /* cholesky, linalg_cholesky */
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_cholesky_ex", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 1));
    return tc_e_done(e);
}
/* A^-1 B for A = L L^H (or U^H U) */
static tc_value *by_cholesky(tc_emit *e, tc_value *b, tc_value *l, bool upper) {
    tc_value *h = tc_la_mH(e, l), *first = upper ? h : l, *second = upper ? l : h;
    return tc_la_triangular(e, second, tc_la_triangular(e, first, b, false, true, false), true, true, false);
}
static tc_status decompose_cholesky_solve(tc_emit *e, const tc_node *n) {
    TC_TRY(tc_la_square_arg(n, 1, "cholesky_solve"));
    TC_TRY(tc_la_matrix_arg(n, 0, "cholesky_solve"));
    const tc_dtype b = tc_arg_meta(n, 0)->dtype, a = tc_arg_meta(n, 1)->dtype;
    if (a != b)
        return tc_e_refuse(n, "Expected b and A to have the same dtype, but found b of type %s and A of type %s", tc_dtypes[b].torch,
                           tc_dtypes[a].torch);
    tc_emit_result(e, 0, by_cholesky(e, tc_arg_value(n, 0), tc_arg_value(n, 1), tc_arg_bool(n, 2)));
    return tc_e_done(e);
}
static tc_status decompose_cholesky_inverse(tc_emit *e, const tc_node *n) {
    TC_TRY(tc_la_square_arg(n, 0, "cholesky_inverse"));
    tc_value *l = tc_arg_value(n, 0);
    bool upper = tc_arg_bool(n, 1);
    l = upper ? tc_la_triu(e, l, 0) : tc_la_tril(e, l, 0);
    if (l) tc_emit_result(e, 0, by_cholesky(e, tc_la_eye(e, tc_la_rows(l), l->meta.dtype), l, upper));
    return tc_e_done(e);
}
/* A = L L^H: the gradient of L for gB, both triangles, as in PyTorch */
static tc_value *to_factor(tc_emit *e, tc_value *l, tc_value *ga, bool upper) {
    ga = tc_e_neg(e, tc_e_add(e, ga, tc_la_mH(e, ga)));
    return upper ? tc_la_mm(e, l, ga) : tc_la_mm(e, ga, l);
}
static tc_status grad_cholesky_solve(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool upper = tc_arg_bool(n, 2);
    tc_value *l = tc_arg_value(n, 1), *gb = tc_emit_call(e, "aten::cholesky_solve", "vvb", gs[0], l, (int)upper);
    tc_e_give(e, n, 0, gb);
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, to_factor(e, l, tc_la_mm(e, gb, tc_la_mH(e, n->outs[0])), upper));
    return tc_e_done(e);
}
static tc_status grad_cholesky_inverse(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *inverse = n->outs[0];
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *ga = tc_la_mm(e, inverse, tc_la_mm(e, gs[0], inverse));
    tc_e_give(e, n, 0, to_factor(e, tc_arg_value(n, 0), ga, tc_arg_bool(n, 1)));
    return tc_e_done(e);
}

/* ---- triangular systems ---- */
static tc_status shape_solve_triangular(tc_shape_ctx *c) {
    const char *what = "linalg.solve_triangular";
    tc_dims d;
    TC_TRY(tc_la_need_square(c, 0, what));
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *a = tc_sh_meta(c, 0), *b = tc_sh_meta(c, 1);
    if (b->rank < 2) return tc_sh_fail(c, "%s: The input tensor B must have at least 2 dimensions.", what);
    bool left = tc_sh_bool(c, 3);
    if (!tc_sh_same(c, a->size[a->rank - 1], b->size[b->rank - (left ? 2 : 1)]))
        return tc_sh_fail(c, "%s: Incompatible shapes of A and B for the equation %s", what, left ? "AX = B" : "XA = B");
    TC_TRY(tc_la_batch(c, 0, 2, 1, 2, &d));
    tc_la_push(&d, b->size[b->rank - 2]);
    tc_la_push(&d, b->size[b->rank - 1]);
    return tc_sh_out_columns(c, 0, a->dtype, &d);
}
/* B of any type is cast to self's. */
static bool same_types(const tc_node *n) { return tc_arg_value(n, 0)->meta.dtype == tc_arg_value(n, 1)->meta.dtype; }
static tc_status cast_then_solve(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_e_cast(e, tc_arg_value(n, 1), a->meta.dtype);
    tc_emit_result(e, 0, tc_la_triangular(e, a, b, tc_arg_bool(n, 2), tc_arg_bool(n, 3), tc_arg_bool(n, 4)));
    return tc_e_done(e);
}
static const struct tc_otherwise cast_b = {same_types, cast_then_solve};
static tc_status grad_solve_triangular(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool upper = tc_arg_bool(n, 2), left = tc_arg_bool(n, 3), unit = tc_arg_bool(n, 4);
    tc_value *x = n->outs[0], *gb = tc_la_triangular(e, tc_la_mH(e, tc_arg_value(n, 0)), gs[0], !upper, left, unit);
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_cast(e, gb, tc_arg_value(n, 1)->meta.dtype));
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *ga = tc_e_neg(e, left ? tc_la_mm(e, gb, tc_la_mH(e, x)) : tc_la_mm(e, tc_la_mH(e, x), gb));
    tc_e_give(e, n, 0, upper ? tc_la_triu(e, ga, unit) : tc_la_tril(e, ga, -(int64_t)unit));
    return tc_e_done(e);
}
static tc_status decompose_triangular_solve(tc_emit *e, const tc_node *n) { /* self = B, A, upper, transpose, unitriangular */
    TC_TRY(tc_la_square_arg(n, 1, "triangular_solve"));
    tc_value *a = tc_arg_value(n, 1);
    const tc_dtype of_b = tc_arg_meta(n, 0)->dtype, of_a = a->meta.dtype;
    if (of_a != of_b)
        return tc_e_refuse(n, "Expected b and A to have the same dtype, but found b of type %s and A of type %s instead.", tc_dtypes[of_b].torch,
                           tc_dtypes[of_a].torch);
    bool upper = tc_arg_bool(n, 2), transpose = tc_arg_bool(n, 3);
    tc_value *x = tc_la_triangular(e, transpose ? tc_la_mT(e, a) : a, tc_arg_value(n, 0), upper != transpose, true, tc_arg_bool(n, 4));
    tc_emit_result(e, 0, x);
    if (!x) return tc_e_done(e);
    tc_sym size[TC_MAX_RANK];
    memcpy(size, x->meta.size, sizeof *size * (size_t)x->meta.rank);
    size[x->meta.rank - 1] = tc_la_cols(a), size[x->meta.rank - 2] = tc_la_rows(a);
    const tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    tc_value *rows = tc_la_mT(e, tc_emit_call(e, "aten::expand", "vS", a, size, x->meta.rank)); /* column-major, as LAPACK takes it */
    tc_emit_result(e, 1, tc_la_mT(e, tc_emit_call(e, "aten::clone", "va", rows, &contiguous)));
    return tc_e_done(e);
}

/* ---- LU ---- */
static tc_sym least(const tc_shape_ctx *c, const tc_meta *m) { return tc_sym_min(tc_sh_sym(c), m->size[m->rank - 2], m->size[m->rank - 1]); }
static tc_status shape_lu_factor_ex(tc_shape_ctx *c) {
    TC_TRY(tc_la_need(c, 0, "torch.lu_factor", 2));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (!tc_sh_bool(c, 1)) return tc_sh_fail(c, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    tc_dims d = tc_dims_of(m), p = tc_la_dims(m, 2), b = p;
    tc_la_push(&p, least(c, m));
    TC_TRY(tc_sh_out_columns(c, 0, m->dtype, &d));
    TC_TRY(tc_sh_out(c, 1, TC_I32, &p));
    return tc_sh_out(c, 2, TC_I32, &b);
}
/* The gradients of L and U, A being m by n and k = min(m, n): columns from k on are L^-1 times those of A, rows from k on those of A times U^-1. If
 * it is unknown which of m and n is less, both parts are emitted and one is empty. */
static tc_value *grad_plu(tc_emit *e, tc_value *p, tc_value *l, tc_value *u, tc_value *gl, tc_value *gu) {
    tc_symctx *s = tc_e_sym(e);
    if (!p || !l || !u) return NULL;
    tc_sym m = tc_la_rows(l), k = tc_la_cols(l), n = tc_la_cols(u), zero = tc_sym_int(s, 0);
    bool wide = k != n, tall = m != k;
    tc_value *l1 = tall ? tc_la_narrow(e, l, -2, zero, k) : l, *l2 = tall ? tc_la_narrow(e, l, -2, k, m) : NULL;
    tc_value *u1 = wide ? tc_la_narrow(e, u, -1, zero, k) : u, *u2 = wide ? tc_la_narrow(e, u, -1, k, n) : NULL;
    tc_value *l1h = tc_la_mH(e, l1), *u1h = tc_la_mH(e, u1), *lower = NULL, *upper = NULL, *right = NULL, *below = NULL;
    if (gl) lower = tc_la_mm(e, l1h, tall ? tc_la_narrow(e, gl, -2, zero, k) : gl);
    if (gu) upper = tc_la_mm(e, wide ? tc_la_narrow(e, gu, -1, zero, k) : gu, u1h);
    if (wide && gu) {
        tc_value *g2 = tc_la_narrow(e, gu, -1, k, n);
        lower = tc_la_sum2(e, lower, tc_e_neg(e, tc_la_mm(e, g2, tc_la_mH(e, u2))));
        right = tc_la_triangular(e, l1h, g2, true, true, true);
    }
    if (tall && gl) {
        tc_value *g2 = tc_la_narrow(e, gl, -2, k, m);
        upper = tc_la_sum2(e, upper, tc_e_neg(e, tc_la_mm(e, tc_la_mH(e, l2), g2)));
        below = tc_la_triangular(e, u1h, g2, false, false, false);
    }
    tc_value *g = tc_la_sum2(e, lower ? tc_la_tril(e, lower, -1) : NULL, upper ? tc_la_triu(e, upper, 0) : NULL);
    if (!g) return NULL;
    g = tc_la_triangular(e, l1h, g, true, true, true);
    g = tc_la_triangular(e, u1h, g, false, false, false);
    if (wide && !right) right = tc_e_zeros_like(e, u2);
    if (tall && !below) below = tc_e_zeros_like(e, l2);
    if (wide && tall) below = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){below, tc_e_zeros_like(e, tc_la_mm(e, l2, u2))}, 2, (int64_t)-1);
    if (wide) g = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){g, right}, 2, (int64_t)-1);
    if (tall) g = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){g, below}, 2, (int64_t)-2);
    return tc_la_mm(e, p, g);
}
static tc_status grad_lu_factor_ex(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_symctx *s = tc_e_sym(e);
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *p = tc_emit_call(e, "aten::lu_unpack", "vvbb", n->outs[0], n->outs[1], 1, 1), *l = tc_emit_out(p, 1), *u = tc_emit_out(p, 2);
    if (!p) return tc_e_done(e);
    tc_sym zero = tc_sym_int(s, 0), k = tc_la_cols(l);
    tc_value *gl = tc_la_narrow(e, tc_la_tril(e, gs[0], -1), -1, zero, k), *gu = tc_la_narrow(e, tc_la_triu(e, gs[0], 0), -2, zero, k);
    tc_e_give(e, n, 0, grad_plu(e, p, l, u, gl, gu));
    return tc_e_done(e);
}
static tc_status decompose_lu_factor(tc_emit *e, const tc_node *n) {
    tc_value *r = tc_emit_call(e, "aten::linalg_lu_factor_ex", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 0);
    if (!r) return tc_e_done(e);
    tc_la_check_errors(e, tc_emit_out(r, 2), "torch.linalg.lu_factor", r->meta.rank == 2);
    for (int i = 0; i < 2; i++) tc_emit_result(e, i, tc_emit_out(r, i));
    return tc_e_done(e);
}
static tc_status decompose_lu_with_info(tc_emit *e, const tc_node *n) { return tc_e_forward(e, "aten::linalg_lu_factor_ex", n); }
static tc_status decompose_lu(tc_emit *e, const tc_node *n) {
    tc_value *r = tc_emit_call(e, "aten::linalg_lu_factor_ex", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 0);
    tc_value *p = tc_emit_call(e, "aten::lu_unpack", "vvbb", r, tc_emit_out(r, 1), 1, 1);
    for (int i = 0; i < 3; i++) tc_emit_result(e, i, tc_emit_out(p, i));
    return tc_e_done(e);
}
static tc_status shape_lu_unpack(tc_shape_ctx *c) {
    TC_TRY(tc_la_need(c, 0, "torch.lu_unpack", 2));
    if (tc_sh_bool(c, 3)) TC_TRY(tc_la_need_pivots(c, 1, "torch.lu_unpack"));
    const tc_meta *m = tc_sh_meta(c, 0), *pivots = tc_sh_bool(c, 3) ? tc_sh_meta(c, 1) : NULL;
    bool fit = !pivots || pivots->rank == m->rank - 1;
    for (int k = 0; pivots && fit && k < pivots->rank; k++) fit = tc_sh_same(c, pivots->size[k], k + 1 < pivots->rank ? m->size[k] : least(c, m));
    if (!fit) return tc_sh_fail_as(c, "ValueError", "torch.lu_unpack: LU_pivots should have one element for each diagonal element of LU_data");
    tc_dims none = {.rank = 1}, p = tc_la_dims(m, 2), l = p, u = p;
    tc_sym rows = m->size[m->rank - 2], cols = m->size[m->rank - 1], k = least(c, m);
    none.size[0] = tc_sym_int(tc_sh_sym(c), 0);
    tc_la_push(&p, rows), tc_la_push(&p, rows);
    tc_la_push(&l, rows), tc_la_push(&l, k);
    tc_la_push(&u, k), tc_la_push(&u, cols);
    TC_TRY(tc_sh_out(c, 0, m->dtype, tc_sh_bool(c, 3) ? &p : &none));
    TC_TRY(tc_sh_out(c, 1, m->dtype, tc_sh_bool(c, 2) ? &l : &none));
    return tc_sh_out(c, 2, m->dtype, tc_sh_bool(c, 2) ? &u : &none);
}
static tc_status grad_lu_unpack(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* the triangles, padded to LU's sizes */
    tc_symctx *s = tc_e_sym(e);
    tc_value *lu = tc_arg_value(n, 0), *gl = gs[1], *gu = gs[2];
    tc_sym m = tc_la_rows(lu), cols = tc_la_cols(lu), k = tc_sym_min(s, m, cols), zero = tc_sym_int(s, 0);
    if (!tc_emit_wants_grad(e, n, 0) || (!gl && !gu)) return tc_e_done(e);
    if (gl) gl = tc_la_tril(e, gl, -1);
    if (gu) gu = tc_la_triu(e, gu, 0);
    if (gl && k != cols) gl = tc_emit_call(e, "aten::constant_pad_nd", "vS", gl, (tc_sym[]){zero, tc_sym_sub(s, cols, k)}, 2);
    if (gu && k != m) gu = tc_emit_call(e, "aten::constant_pad_nd", "vS", gu, (tc_sym[]){zero, zero, zero, tc_sym_sub(s, m, k)}, 4);
    tc_e_give(e, n, 0, tc_la_sum2(e, gl, gu));
    return tc_e_done(e);
}
static tc_status shape_lu_solve(tc_shape_ctx *c) {
    const char *what = "torch.linalg.lu_solve";
    tc_dims d;
    TC_TRY(tc_la_need_square(c, 0, what));
    TC_TRY(tc_la_need_pivots(c, 1, what));
    TC_TRY(tc_la_need(c, 2, what, 2));
    TC_TRY(tc_la_need_same(c, 0, 2, what));
    const tc_meta *lu = tc_sh_meta(c, 0), *p = tc_sh_meta(c, 1), *b = tc_sh_meta(c, 2);
    bool left = tc_sh_bool(c, 3), same = p->rank == lu->rank - 1;
    for (int i = 0; same && i < p->rank; i++) same = tc_sh_same(c, p->size[i], lu->size[i]);
    if (!same) return tc_sh_fail(c, "%s: Number of pivots per batch should be same as the dimension of the matrix", what);
    if (!tc_sh_same(c, lu->size[lu->rank - 1], b->size[b->rank - (left ? 2 : 1)]))
        return tc_sh_fail(c, "%s: Incompatible shapes of A and B for the equation %s", what, left ? "AX = B" : "XA = B");
    TC_TRY(tc_la_batch(c, 0, 2, 2, 2, &d));
    tc_la_push(&d, b->size[b->rank - 2]);
    tc_la_push(&d, b->size[b->rank - 1]);
    return left ? tc_sh_out_columns(c, 0, lu->dtype, &d) : tc_sh_out(c, 0, lu->dtype, &d);
}
/* From the right, X A = B is A^H X^H = B^H. From the left, with R = U^-H gX:    A X = B     gU = -R X^H,       gL = -L^-H R X^H U^H
 * and, with Z = P^T X, W = L^H Z, gW = L^-1 P^T gX:                     A^H X = B   gL = -Z gW^H,      gU = -W (U^-1 gW)^H */
static tc_status grad_lu_solve(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool left = tc_arg_bool(n, 3), adjoint = tc_arg_bool(n, 4);
    tc_value *lu = tc_arg_value(n, 0), *pivots = tc_arg_value(n, 1), *x = n->outs[0], *g = gs[0], *gl, *gu;
    if (tc_emit_wants_grad(e, n, 2)) tc_e_give(e, n, 2, tc_emit_call(e, "aten::linalg_lu_solve", "vvvbb", lu, pivots, g, (int)left, (int)!adjoint));
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    if (!left) x = tc_la_mH(e, x), g = tc_la_mH(e, g), adjoint = !adjoint;
    tc_value *p = tc_emit_call(e, "aten::lu_unpack", "vvbb", lu, pivots, 1, 1), *l = tc_emit_out(p, 1), *u = tc_emit_out(p, 2);
    if (!adjoint) {
        tc_value *r = tc_la_triangular(e, tc_la_mH(e, u), g, false, true, false);
        gu = tc_la_mm(e, r, tc_la_mH(e, x));
        gl = tc_la_triangular(e, tc_la_mH(e, l), tc_la_mm(e, gu, tc_la_mH(e, u)), true, true, true);
    } else {
        tc_value *pt = tc_la_mT(e, p), *z = tc_la_mm(e, pt, x), *w = tc_la_mm(e, tc_la_mH(e, l), z);
        tc_value *gw = tc_la_triangular(e, l, tc_la_mm(e, pt, g), false, true, true);
        gl = tc_la_mm(e, z, tc_la_mH(e, gw));
        gu = tc_la_mm(e, w, tc_la_mH(e, tc_la_triangular(e, u, gw, true, true, false)));
    }
    tc_e_give(e, n, 0, tc_e_neg(e, tc_e_add(e, tc_la_tril(e, gl, -1), tc_la_triu(e, gu, 0))));
    return tc_e_done(e);
}
static tc_status decompose_lu_solve(tc_emit *e, const tc_node *n) { /* self = B, LU_data, LU_pivots */
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_lu_solve", "vvv", tc_arg_value(n, 1), tc_arg_value(n, 2), tc_arg_value(n, 0)));
    return tc_e_done(e);
}

/* ---- Bunch-Kaufman; PyTorch gives it no gradient ---- */
static tc_status shape_ldl_factor_ex(tc_shape_ctx *c) {
    TC_TRY(tc_la_need_square(c, 0, "torch.linalg.ldl_factor_ex"));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m), p = tc_la_dims(m, 1), b = tc_la_dims(m, 2);
    TC_TRY(tc_sh_out_columns(c, 0, m->dtype, &d));
    TC_TRY(tc_sh_out(c, 1, TC_I32, &p));
    return tc_sh_out(c, 2, TC_I32, &b);
}
static tc_status decompose_ldl_factor(tc_emit *e, const tc_node *n) {
    tc_value *r = tc_emit_call(e, "aten::linalg_ldl_factor_ex", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 0);
    if (!r) return tc_e_done(e);
    tc_la_check_errors(e, tc_emit_out(r, 2), "torch.linalg.ldl_factor", r->meta.rank == 2);
    for (int i = 0; i < 2; i++) tc_emit_result(e, i, tc_emit_out(r, i));
    return tc_e_done(e);
}
static tc_status shape_ldl_solve(tc_shape_ctx *c) {
    const char *what = "torch.linalg.ldl_solve";
    tc_dims d;
    TC_TRY(tc_la_need_square(c, 0, what));
    TC_TRY(tc_la_need_pivots(c, 1, what));
    TC_TRY(tc_la_need(c, 2, what, 2));
    TC_TRY(tc_la_need_same(c, 0, 2, what));
    const tc_meta *a = tc_sh_meta(c, 0), *p = tc_sh_meta(c, 1), *b = tc_sh_meta(c, 2);
    bool same = p->rank == a->rank - 1;
    for (int i = 0; same && i < p->rank; i++) same = tc_sh_same(c, p->size[i], a->size[i]);
    if (!same) return tc_sh_fail(c, "%s: Expected LD.shape[:-1] and pivots.shape to be the same", what);
    if (!tc_sh_same(c, a->size[a->rank - 1], b->size[b->rank - 2]))
        return tc_sh_fail(c, "%s: Incompatible shapes of A and B for the equation AX = B", what);
    TC_TRY(tc_la_batch(c, 0, 2, 2, 2, &d));
    tc_la_push(&d, b->size[b->rank - 2]);
    tc_la_push(&d, b->size[b->rank - 1]);
    return tc_sh_out_columns(c, 0, a->dtype, &d);
}

/* ---- info: the error of the first matrix that has one ---- */
static tc_status shape_check_errors(tc_shape_ctx *c) { return tc_sh_need_tensor(c, 0); }
static void describe(tc_buf *b, const char *api, int info) {
    if (strstr(api, "inv"))
        tc_buf_printf(b, "The diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.", info);
    else if (strstr(api, "solve")) tc_buf_puts(b, "The solver failed because the input matrix is singular.");
    else if (strstr(api, "ldl")) tc_buf_printf(b, "D[%d,%d] is zero and using it on ldl_solve would result in a division by zero.", info, info);
    else
        tc_buf_printf(b,
                      "U[%d,%d] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, "
                      "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
                      info, info);
}
static tc_status run_check_errors(tc_kcall *k) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    for (int64_t i = 0, n = tc_tensor_numel(t); i < n; i++) {
        int info = ((const int32_t *)tc_tensor_data(t))[i];
        if (!info) continue;
        tc_buf b = {0};
        if (!tc_k_bool(k, 2)) tc_buf_printf(&b, "(Batch element %lld): ", (long long)i);
        describe(&b, k->args[1].string, info);
        tc_status s = tc_error(TC_CONTENT, "LinAlgError: %s: %s", k->args[1].string, tc_buf_str(&b));
        tc_buf_free(&b);
        return s;
    }
    return NULL;
}
static const tc_kernel check_errors = {.name = "_linalg_check_errors", .flags = TC_KF_CONTIGUOUS, .run = run_check_errors};

#define KERNEL(SCHEMA, name, kernel_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_##name, .kernel = &kernel_, .grad = grad_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define RULED(SCHEMA, name, sample, text)                                                                                                       \
    {                                                                                                                                           \
        .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed_columns, .decompose = decompose_##name, .grad = grad_##name, .samples = sample, \
        .doc = text                                                                                                                             \
    }
const tc_op tc_ops_linalg_factor[] = {
    KERNEL("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", cholesky_ex, tc_k_cholesky_ex,
           grad_cholesky_ex, "linalg_cholesky_ex(f32[2,1,1]:1..2); linalg_cholesky_ex(f64[0,3,3])",
           "lower (upper) triangular L: self = L L^H (L^H L)"),
    COMPOSED("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", cholesky, "linalg_cholesky(f32[1,1]:1..2)",
             "linalg_cholesky_ex; an error where self is not positive definite"),
    COMPOSED("cholesky(Tensor self, bool upper=False) -> Tensor", cholesky, "cholesky(f32[1,1]:1..2, True)", "linalg_cholesky"),
    RULED("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", cholesky_solve, "cholesky_solve(f32[3,2], f32[3,3]:1..2)",
          "(input2 input2^H)^-1 self"),
    RULED("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", cholesky_inverse, "cholesky_inverse(f32[3,3]:1..2)", "(self self^H)^-1"),
    {.schema = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
     .shape = shape_solve_triangular,
     .kernel = &tc_k_solve_triangular,
     .otherwise = &cast_b,
     .grad = grad_solve_triangular,
     .samples = "linalg_solve_triangular(f32[3,3]:1..2, f32[2,3,4], upper=True); linalg_solve_triangular(f32[3,3]:1..2, f32[4,3], upper=False, "
                "left=False); linalg_solve_triangular(f64[3,3]:1..2, f32[3,2], upper=True)",
     .doc = "X: self X = B, or X self = B; B is cast to the type of self"},
    COMPOSED("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor "
             "cloned_coefficient)",
             triangular_solve, "triangular_solve(f32[3,2], f32[3,3]:1..2)", "X: A X = self"),
    KERNEL("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", lu_factor_ex,
           tc_k_lu_factor_ex, grad_lu_factor_ex, "linalg_lu_factor_ex(f32[2,3,3]); linalg_lu_factor_ex(f64[3,5]); linalg_lu_factor_ex(f64[4,2])",
           "L and U in one matrix, row interchanges, where U has a zero"),
    COMPOSED("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", lu_factor, "linalg_lu_factor(f32[3,3])",
             "linalg_lu_factor_ex; an error where U has a zero on its diagonal"),
    COMPOSED("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", lu_with_info,
             "_lu_with_info(f32[3,3])", "linalg_lu_factor_ex"),
    {.schema = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
     .flags = TC_OP_PLAIN,
     .shape = tc_shape_decomposed,
     .decompose = decompose_lu,
     .samples = "linalg_lu(f32[3,5])",
     .doc = "A = P L U"},
    {.schema = "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
     .flags = TC_OP_PLAIN,
     .shape = shape_lu_unpack,
     .kernel = &tc_k_lu_unpack,
     .grad = grad_lu_unpack,
     .samples = "lu_unpack(f32[2,3,4], i32[2,3]:1..4)",
     .doc = "the factors of lu_factor as matrices"},
    KERNEL("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", lu_solve, tc_k_lu_solve,
           grad_lu_solve, "linalg_lu_solve(f32[3,3]:1..2, i32[3]:3..4, f32[2,3,4])", "X: A X = B, or X A = B, or with A^H, by the factors of A"),
    COMPOSED("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", lu_solve, "lu_solve(f32[3,2], f32[3,3]:1..2, i32[3]:3..4)",
             "linalg_lu_solve"),
    {.schema = "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
     .flags = TC_OP_UNDERIVED,
     .shape = shape_ldl_factor_ex,
     .kernel = &tc_k_ldl_factor_ex,
     .samples = "linalg_ldl_factor_ex(f32[2,3,3])",
     .doc = "L and D in one matrix: self = L D L^T (L D L^H), and the blocks of D"},
    {.schema = "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
     .flags = TC_OP_UNDERIVED,
     .shape = tc_shape_decomposed,
     .decompose = decompose_ldl_factor,
     .samples = "linalg_ldl_factor(f32[3,3])",
     .doc = "linalg_ldl_factor_ex; an error where D is singular"},
    {.schema = "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
     .flags = TC_OP_UNDERIVED,
     .shape = shape_ldl_solve,
     .kernel = &tc_k_ldl_solve,
     .samples = "linalg_ldl_solve(f32[3,3]:1..2, i32[3]:1..2, f32[3,2])",
     .doc = "X: A X = B by the factors of ldl_factor"},
    {.schema = "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     .flags = TC_OP_IMPURE | TC_OP_NONDIFF,
     .shape = shape_check_errors,
     .kernel = &check_errors,
     .doc = "an error naming the first matrix with info"},
    {0}};
