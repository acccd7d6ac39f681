/* Orthogonal factorisations and spectra: QR, Householder reflections, singular values, eigenvalues.
 *
 *     QR    A = Q R         gA = (gQ + Q S) R^-H, S(M) = the Hermitian matrix that has M's upper triangle, M = gR R^H - Q^H gQ
 *     SVD   A = U S V^H     gA = U ((K(U^H gU) S + S K(V^H gV)) / E + gS) V^H + ..., K(X) = X - X^H, E_ij = s_j^2 - s_i^2
 *     eigh  A = V L V^H     gA = V (skew(V^H gV) / E + gL) V^H,                     E_ij = l_j - l_i
 *     eig   A V = V L       gA = V^-H ((V^H gV - V^H V Re(diag(V^H gV))) / conj(E) + gL) V^H
 *
 * M. Giles, Collected matrix derivative results for forward and reverse mode (2008); S. Walter, L. Lehmann, Algorithmic differentiation of
 * linear algebra functions (2010), for QR; C. Boeddeker et al., On the computation of complex-valued gradients (2017). Householder
 * reflections are a product Q = I - V T V^H with T^-1 = diag(1 / tau) + triu(V^H V, 1), and are differentiated as that. */
#include "op/linalg.h"

#include <string.h>

static tc_sym least(tc_symctx *s, const tc_meta *m) { return tc_sym_min(s, m->size[m->rank - 2], m->size[m->rank - 1]); }
static tc_status empty_out(tc_shape_ctx *c, int i, tc_dtype d) {
    tc_dims none = {.rank = 1};
    none.size[0] = tc_sym_int(tc_sh_sym(c), 0);
    return tc_sh_out(c, i, d, &none);
}
/* x where row differs from column, 0 elsewhere */
static tc_value *off_diagonal(tc_emit *e, tc_value *x) {
    tc_value *d = x ? tc_e_cast(e, tc_la_eye(e, tc_la_cols(x), TC_BOOL), TC_BOOL) : NULL;
    return tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", x, d, (int64_t)0);
}
/* v_j - v_i, 1 on the diagonal */
static tc_value *differences(tc_emit *e, tc_value *v) {
    tc_value *d = tc_e_sub(e, tc_la_row(e, v), tc_la_col(e, v));
    return d ? tc_e_add(e, d, tc_la_eye(e, tc_la_cols(d), d->meta.dtype)) : NULL;
}
static tc_value *skew(tc_emit *e, tc_value *x) { return tc_e_sub(e, x, tc_la_mH(e, x)); }

/* ---- QR ---- */
static tc_status shape_geqrf(tc_shape_ctx *c) {
    TC_TRY(tc_la_need(c, 0, "torch.geqrf", 2));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m), tau = tc_la_dims(m, 2);
    tc_la_push(&tau, least(tc_sh_sym(c), m));
    TC_TRY(tc_sh_out_columns(c, 0, m->dtype, &d));
    return tc_sh_out(c, 1, m->dtype, &tau);
}
static tc_status shape_qr(tc_shape_ctx *c) {
    TC_TRY(tc_la_need(c, 0, "linalg.qr", 2));
    const tc_meta *a = tc_sh_meta(c, 0);
    const char *mode = tc_sh_string(c, 1);
    bool complete = !strcmp(mode, "complete"), alone = !strcmp(mode, "r");
    if (!complete && !alone && strcmp(mode, "reduced"))
        return tc_sh_fail(c, "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or 'complete'", mode);
    tc_sym m = a->size[a->rank - 2], n = a->size[a->rank - 1], k = complete ? m : least(tc_sh_sym(c), a);
    tc_dims q = tc_la_dims(a, 2), r = q;
    tc_la_push(&q, m), tc_la_push(&q, k);
    tc_la_push(&r, k), tc_la_push(&r, n);
    TC_TRY(alone ? empty_out(c, 0, a->dtype) : tc_sh_out_columns(c, 0, a->dtype, &q));
    return tc_sh_out_columns(c, 1, a->dtype, &r);
}
/* For A = Q R with square R. */
static tc_value *grad_square_qr(tc_emit *e, tc_value *q, tc_value *r, tc_value *gq, tc_value *gr) {
    tc_value *m = gr ? tc_la_mm(e, gr, tc_la_mH(e, r)) : NULL;
    if (gq) m = tc_la_sum2(e, m, tc_e_neg(e, tc_la_mm(e, tc_la_mH(e, q), gq)));
    if (!m) return NULL;
    tc_value *up = tc_la_triu(e, m, 1), *d = tc_la_diagonal(e, m);
    if (tc_is_complex(m->meta.dtype)) d = tc_e_cast(e, tc_e1(e, "aten::real", d), m->meta.dtype);
    tc_value *s = tc_e_add(e, tc_e_add(e, up, tc_la_mH(e, up)), tc_la_diag(e, d));
    tc_value *g = tc_la_sum2(e, gq, tc_la_mm(e, q, s));
    return tc_la_triangular(e, tc_la_mH(e, r), g, false, false, false);
}
static tc_status grad_qr(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *q = n->outs[0], *r = n->outs[1], *gq = gs[0], *gr = gs[1];
    const char *mode = tc_arg_string(n, 1);
    tc_symctx *s = tc_e_sym(e);
    if (!tc_emit_wants_grad(e, n, 0) || (!gq && !gr)) return tc_e_done(e);
    tc_sym rows = tc_la_rows(a), cols = tc_la_cols(a);
    if (!strcmp(mode, "r"))
        return tc_error(TC_CONTENT, "aten.linalg_qr: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                                    "linalg.qr(A, mode='reduced') if you are going to require gradients");
    int wide = tc_sym_known(s, tc_sym_op(s, TC_S_LE, rows, cols, NULL));
    if (!strcmp(mode, "complete") && wide != 1)
        return tc_error(TC_CONTENT, "aten.linalg_qr: The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
    if (wide != 0 && rows != cols) { /* A = [X Y], R = [U V]: V = Q^H Y; Y has no columns if A is tall */
        tc_sym zero = tc_sym_int(s, 0), k = tc_la_cols(q);
        tc_value *u = tc_la_narrow(e, r, -1, zero, k), *y = tc_la_narrow(e, a, -1, k, cols);
        tc_value *gu = gr ? tc_la_narrow(e, gr, -1, zero, k) : NULL, *gv = gr ? tc_la_narrow(e, gr, -1, k, cols) : NULL;
        if (gv) gq = tc_la_sum2(e, gq, tc_la_mm(e, y, tc_la_mH(e, gv)));
        tc_value *gx = grad_square_qr(e, q, u, gq, gu), *gy = gv ? tc_la_mm(e, q, gv) : tc_e_zeros_like(e, y);
        tc_e_give(e, n, 0, tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){gx, gy}, 2, (int64_t)-1));
        return tc_e_done(e);
    }
    tc_e_give(e, n, 0, grad_square_qr(e, q, r, gq, gr));
    return tc_e_done(e);
}
static tc_status decompose_qr(tc_emit *e, const tc_node *n) { /* qr(self, some) */
    tc_value *q = tc_emit_call(e, "aten::linalg_qr", "vt", tc_arg_value(n, 0), tc_arg_bool(n, 1) ? "reduced" : "complete");
    for (int i = 0; i < 2; i++) tc_emit_result(e, i, tc_emit_out(q, i));
    return tc_e_done(e);
}

/* ---- Householder reflections ---- */
/* V: the unit lower trapezium of a, [m, k]; T: [k, k] with H_1 ... H_k = I - V T V^H */
static void reflections(tc_emit *e, tc_value *a, tc_value *tau, tc_value **v, tc_value **t) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym k = tau->meta.size[tau->meta.rank - 1], m = tc_la_rows(a);
    tc_value *low = tc_la_tril(e, tc_la_narrow(e, a, -1, tc_sym_int(s, 0), k), -1);
    tc_dtype d = a->meta.dtype;
    *v = tc_e_add(e, low, tc_emit_call(e, "aten::eye.m", "ssd", m, k, (int)d));
    tc_value *inner = tc_la_triu(e, tc_la_mm(e, tc_la_mH(e, *v), *v), 1);
    *t = tc_la_triangular(e, tc_e_mul(e, tc_la_col(e, tau), inner), tc_la_diag(e, tau), true, true, true);
}
static tc_status reflection_shapes(const tc_node *n, const char *what) {
    TC_TRY(tc_la_matrix_arg(n, 0, what));
    const tc_meta *a = tc_arg_meta(n, 0), *tau = tc_arg_meta(n, 1);
    tc_symctx *s = n->graph->program->sym;
    bool same = tau && tau->rank == a->rank - 1 && tau->dtype == a->dtype;
    for (int i = 0; same && i + 1 < tau->rank; i++) same = !tc_sym_differ(s, tau->size[i], a->size[i]);
    if (!same) return tc_e_refuse(n, "%s: tau must have the type of input, one dimension less, and its batch", what);
    return NULL;
}
static tc_status decompose_householder(tc_emit *e, const tc_node *n) { /* linalg_householder_product, orgqr */
    tc_symctx *s = tc_e_sym(e);
    TC_TRY(reflection_shapes(n, "torch.linalg.householder_product"));
    tc_value *a = tc_arg_value(n, 0), *tau = tc_arg_value(n, 1), *v, *t;
    tc_sym m = tc_la_rows(a), cols = tc_la_cols(a), k = tau->meta.size[tau->meta.rank - 1];
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LE, cols, m, NULL)) == 0)
        return tc_e_refuse(n, "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LE, k, cols, NULL)) == 0)
        return tc_e_refuse(n, "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
    reflections(e, a, tau, &v, &t);
    tc_value *top = tc_la_narrow(e, v, -2, tc_sym_int(s, 0), cols);
    tc_value *q = tc_la_mm(e, tc_la_mm(e, v, t), tc_la_mH(e, top));
    tc_emit_result(e, 0, tc_e_sub(e, tc_emit_call(e, "aten::eye.m", "ssd", m, cols, (int)a->meta.dtype), q));
    return tc_e_done(e);
}
static tc_status decompose_ormqr(tc_emit *e, const tc_node *n) { /* self, tau, other, left, transpose: Q C, Q^H C, C Q, C Q^H */
    tc_symctx *s = tc_e_sym(e);
    const char *what = "torch.ormqr";
    TC_TRY(tc_la_matrix_arg(n, 0, what));
    TC_TRY(tc_la_matrix_arg(n, 2, what));
    tc_value *a = tc_arg_value(n, 0), *tau = tc_arg_value(n, 1), *c = tc_arg_value(n, 2), *v, *t;
    bool left = tc_arg_bool(n, 3), transpose = tc_arg_bool(n, 4);
    tc_sym side = left ? tc_la_rows(c) : tc_la_cols(c);
    const char *end = left ? "-2" : "-1";
    if (!tau || tau->meta.rank < 1) return tc_e_refuse(n, "%s: tau must have at least 1 dimension", what);
    tc_sym k = tau->meta.size[tau->meta.rank - 1];
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LE, k, side, NULL)) == 0)
        return tc_e_refuse(n, "%s: other.shape[%s] must be greater than or equal to tau.shape[-1]", what, end);
    if (tc_sym_differ(s, k, tc_sym_min(s, side, tc_la_cols(a))))
        return tc_e_refuse(n, "%s: tau.shape[-1] must be equal to min(other.shape[%s], input.shape[-1])", what, end);
    if (tc_sym_differ(s, side, tc_la_rows(a))) return tc_e_refuse(n, "%s: other.shape[%s] must be equal to input.shape[-2]", what, end);
    TC_TRY(reflection_shapes(n, what));
    reflections(e, a, tau, &v, &t);
    if (transpose) t = tc_la_mH(e, t);
    tc_value *h = tc_la_mH(e, v), *q = left ? tc_la_mm(e, v, tc_la_mm(e, t, tc_la_mm(e, h, c))) : tc_la_mm(e, tc_la_mm(e, tc_la_mm(e, c, v), t), h);
    tc_emit_result(e, 0, tc_e_sub(e, c, q));
    return tc_e_done(e);
}

/* ---- singular values ---- */
static tc_status shape_svd_full(tc_shape_ctx *c) {
    TC_TRY(tc_la_need(c, 0, "linalg.svd", 2));
    const tc_meta *a = tc_sh_meta(c, 0);
    if (tc_sh_given(c, 3))
        return tc_sh_fail(c, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    bool full = tc_sh_bool(c, 1), vectors = tc_sh_bool(c, 2);
    tc_sym m = a->size[a->rank - 2], n = a->size[a->rank - 1], k = least(tc_sh_sym(c), a);
    tc_dims u = tc_la_dims(a, 2), s = u, v = u;
    tc_la_push(&u, m), tc_la_push(&u, full ? m : k), tc_la_push(&s, k), tc_la_push(&v, full ? n : k), tc_la_push(&v, n);
    TC_TRY(vectors ? tc_sh_out_columns(c, 0, a->dtype, &u) : empty_out(c, 0, a->dtype));
    TC_TRY(tc_sh_out(c, 1, tc_dtype_real(a->dtype), &s));
    return vectors ? tc_sh_out_columns(c, 2, a->dtype, &v) : empty_out(c, 2, a->dtype);
}
static tc_status grad_svd_full(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *u = n->outs[0], *s = n->outs[1], *vh = n->outs[2], *gu = gs[0], *gvh = gs[2], *mid = NULL;
    tc_symctx *y = tc_e_sym(e);
    if (!tc_emit_wants_grad(e, n, 0) || (!gu && !gs[1] && !gvh)) return tc_e_done(e);
    if (!tc_arg_bool(n, 2)) { /* values only: the gradient needs the vectors, computed now */
        u = tc_emit_call(e, "aten::_linalg_svd", "vbb", a, 0, 1), s = tc_emit_out(u, 1), vh = tc_emit_out(u, 2), gu = gvh = NULL;
        if (!u) return tc_e_done(e);
    }
    tc_sym m = tc_la_rows(a), cols = tc_la_cols(a), k = s->meta.size[s->meta.rank - 1], zero = tc_sym_int(y, 0);
    if (tc_arg_bool(n, 1)) { /* vectors beyond k are not unique and not differentiated */
        if (m != k) u = tc_la_narrow(e, u, -1, zero, k), gu = gu ? tc_la_narrow(e, gu, -1, zero, k) : NULL;
        if (cols != k) vh = tc_la_narrow(e, vh, -2, zero, k), gvh = gvh ? tc_la_narrow(e, gvh, -2, zero, k) : NULL;
    }
    tc_value *uu = gu ? skew(e, tc_la_mm(e, tc_la_mH(e, u), gu)) : NULL, *vv = gvh ? skew(e, tc_la_mm(e, vh, tc_la_mH(e, gvh))) : NULL;
    if (uu) mid = tc_e_mul(e, uu, tc_la_row(e, s));
    if (vv) mid = tc_la_sum2(e, mid, tc_e_mul(e, tc_la_col(e, s), vv));
    if (mid) mid = off_diagonal(e, tc_e_div(e, mid, differences(e, tc_e_mul(e, s, s))));
    if (uu && tc_is_complex(a->meta.dtype)) /* the phase that U and V share */
        mid = tc_e_add(e, mid, tc_la_diag(e, tc_e_div(e, tc_la_diagonal(e, uu), tc_e_muls(e, s, 2))));
    if (gs[1]) mid = tc_la_sum2(e, mid, tc_e_cast(e, tc_la_diag(e, gs[1]), a->meta.dtype));
    tc_value *g = tc_la_mm(e, u, mid);
    if (gu && m != k) { /* (I - U U^H) gU S^-1 V^H */
        tc_value *x = tc_e_div(e, gu, tc_la_row(e, s));
        g = tc_e_add(e, g, tc_e_sub(e, x, tc_la_mm(e, u, tc_la_mm(e, tc_la_mH(e, u), x))));
    }
    g = tc_la_mm(e, g, vh);
    if (gvh && cols != k) { /* U S^-1 gV^H (I - V V^H) */
        tc_value *x = tc_e_div(e, gvh, tc_la_col(e, s));
        g = tc_e_add(e, g, tc_la_mm(e, u, tc_e_sub(e, x, tc_la_mm(e, tc_la_mm(e, x, tc_la_mH(e, vh)), vh))));
    }
    tc_e_give(e, n, 0, g);
    return tc_e_done(e);
}
static tc_status decompose_linalg_svd(tc_emit *e, const tc_node *n) {
    tc_value *u = tc_emit_call(e, "aten::_linalg_svd", "vaba", tc_arg_value(n, 0), tc_e_arg(n, 1), 1, tc_e_arg(n, 2));
    for (int i = 0; i < 3; i++) tc_emit_result(e, i, tc_emit_out(u, i));
    return tc_e_done(e);
}
static tc_status decompose_svdvals(tc_emit *e, const tc_node *n) {
    tc_value *u = tc_emit_call(e, "aten::_linalg_svd", "vbba", tc_arg_value(n, 0), 0, 0, tc_e_arg(n, 1));
    tc_emit_result(e, 0, tc_emit_out(u, 1));
    return tc_e_done(e);
}
static tc_status decompose_svd(tc_emit *e, const tc_node *n) { /* self, some, compute_uv -> U, S, V; zeros without compute_uv */
    tc_value *a = tc_arg_value(n, 0);
    TC_TRY(tc_la_matrix_arg(n, 0, "linalg.svd"));
    if (tc_arg_bool(n, 2)) {
        tc_value *u = tc_emit_call(e, "aten::_linalg_svd", "vbb", a, (int)!tc_arg_bool(n, 1), 1);
        tc_emit_result(e, 0, u);
        tc_emit_result(e, 1, tc_emit_out(u, 1));
        if (u) tc_emit_result(e, 2, tc_la_mH(e, tc_emit_out(u, 2)));
        return tc_e_done(e);
    }
    tc_emit_result(e, 1, tc_emit_out(tc_emit_call(e, "aten::_linalg_svd", "vbb", a, 0, 0), 1));
    for (int i = 0; i < 2; i++) {
        tc_sym size[TC_MAX_RANK], side = i ? tc_la_cols(a) : tc_la_rows(a);
        memcpy(size, a->meta.size, sizeof *size * (size_t)a->meta.rank);
        size[a->meta.rank - 1] = size[a->meta.rank - 2] = side;
        tc_emit_result(e, 2 * i, tc_emit_call(e, "aten::zeros", "Sd", size, a->meta.rank, (int)a->meta.dtype));
    }
    return tc_e_done(e);
}

/* ---- eigenvalues ---- */
static tc_status shape_eigh_full(tc_shape_ctx *c) {
    TC_TRY(tc_la_need_square(c, 0, "linalg.eigh"));
    const tc_meta *a = tc_sh_meta(c, 0);
    const char *u = tc_sh_string(c, 1);
    if (!strchr("LlUu", u[0]) || u[0] == 0 || u[1] != 0) return tc_sh_fail(c, "Expected UPLO argument to be 'L' or 'U', but got %s", u);
    tc_dims l = tc_la_dims(a, 1), v = tc_dims_of(a);
    TC_TRY(tc_sh_out(c, 0, tc_dtype_real(a->dtype), &l));
    return tc_sh_bool(c, 2) ? tc_sh_out_columns(c, 1, a->dtype, &v) : empty_out(c, 1, a->dtype);
}
static tc_status grad_eigh_full(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *l = n->outs[0], *v = n->outs[1], *gv = gs[1], *mid = NULL;
    if (!tc_emit_wants_grad(e, n, 0) || (!gs[0] && !gv)) return tc_e_done(e);
    if (!tc_arg_bool(n, 2)) {
        l = tc_emit_call(e, "aten::_linalg_eigh", "vab", a, tc_e_arg(n, 1), 1), v = tc_emit_out(l, 1), gv = NULL;
        if (!l) return tc_e_done(e);
    }
    tc_value *vh = tc_la_mH(e, v);
    if (gv) {
        tc_value *m = tc_la_mm(e, vh, gv); /* V stays unitary: only the skew-Hermitian part counts */
        mid = off_diagonal(e, tc_e_div(e, tc_e_muls(e, tc_e_sub(e, m, tc_la_mH(e, m)), 0.5), differences(e, l)));
    }
    if (gs[0]) mid = tc_la_sum2(e, mid, tc_e_cast(e, tc_la_diag(e, gs[0]), a->meta.dtype));
    tc_e_give(e, n, 0, tc_la_mm(e, v, tc_la_mm(e, mid, vh)));
    return tc_e_done(e);
}
static tc_status decompose_eigh(tc_emit *e, const tc_node *n) {
    tc_value *l = tc_emit_call(e, "aten::_linalg_eigh", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 1);
    for (int i = 0; i < 2; i++) tc_emit_result(e, i, tc_emit_out(l, i));
    return tc_e_done(e);
}
static tc_status decompose_eigvalsh(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_linalg_eigh", "vab", tc_arg_value(n, 0), tc_e_arg(n, 1), 0));
    return tc_e_done(e);
}
static tc_status shape_eig(tc_shape_ctx *c) {
    TC_TRY(tc_la_need_square(c, 0, "linalg.eig"));
    const tc_meta *a = tc_sh_meta(c, 0);
    tc_dims l = tc_la_dims(a, 1), v = tc_dims_of(a);
    TC_TRY(tc_sh_out(c, 0, tc_dtype_to_complex(a->dtype), &l));
    return c->nouts > 1 ? tc_sh_out_columns(c, 1, tc_dtype_to_complex(a->dtype), &v) : NULL;
}
static tc_status shape_eigvals(tc_shape_ctx *c) { return shape_eig(c); }
static tc_status give_eig(tc_emit *e, const tc_node *n, tc_value *l, tc_value *v, tc_value *gl, tc_value *gv) {
    tc_value *vh = tc_la_mH(e, v), *mid = NULL;
    if (gv) {
        tc_value *x = tc_la_mm(e, vh, gv);
        mid = tc_e_sub(e, x, tc_e_mul(e, tc_la_mm(e, vh, v), tc_la_row(e, tc_e1(e, "aten::real", tc_la_diagonal(e, x)))));
        mid = off_diagonal(e, tc_e_div(e, mid, differences(e, tc_e_conj(e, l))));
    }
    if (gl) mid = tc_la_sum2(e, mid, tc_la_diag(e, gl));
    if (mid) tc_e_give(e, n, 0, tc_la_solve(e, vh, tc_la_mm(e, mid, vh), true));
    return tc_e_done(e);
}
static tc_status grad_eig(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    return give_eig(e, n, n->outs[0], n->outs[1], gs[0], gs[1]);
}
static tc_status grad_eigvals(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *l = tc_e1(e, "aten::linalg_eig", tc_arg_value(n, 0));
    return l ? give_eig(e, n, l, tc_emit_out(l, 1), gs[0], NULL) : tc_e_done(e);
}
static tc_status decompose_eigvals(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::_linalg_eigvals", tc_arg_value(n, 0)));
    return tc_e_done(e);
}

#define KERNEL(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_##name, .kernel = &tc_k_##name, .grad = grad_##name, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define COLUMNS(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed_columns, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_linalg_spectral[] = {
    {.schema = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
     .flags = TC_OP_UNDERIVED,
     .shape = shape_geqrf,
     .kernel = &tc_k_geqrf,
     .samples = "geqrf(f32[2,5,3])",
     .doc = "Householder vectors of the QR factorisation below R, and their scales"},
    {.schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
     .shape = shape_qr,
     .kernel = &tc_k_qr,
     .keeps = " result0 result1 ",
     .grad = grad_qr,
     .samples = "linalg_qr(f32[2,5,3]); linalg_qr(f64[3,5]); linalg_qr(f32[3,3], 'complete')",
     .doc = "A = Q R, Q with orthonormal columns, R upper triangular"},
    COMPOSED("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", qr, "qr(f32[5,3])", "linalg_qr"),
    COLUMNS("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", householder, "linalg_householder_product(f32[2,5,3], f32[2,3])",
            "the first columns of H_1 H_2 ..., H_i = I - tau_i v_i v_i^H"),
    COLUMNS("orgqr(Tensor self, Tensor input2) -> Tensor", householder, "orgqr(f32[5,3], f32[3])", "linalg_householder_product"),
    COLUMNS("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", ormqr,
            "ormqr(f32[5,3], f32[3], f32[5,2])", "Q input3, Q the product of the Householder reflections of self and input2"),
    {.schema = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     .shape = shape_svd_full,
     .kernel = &tc_k_svd,
     .keeps = " result0 result1 result2 ",
     .grad = grad_svd_full,
     .samples = "_linalg_svd(f32[2,3,5]); _linalg_svd(f64[4,2], False, False)",
     .doc = "linalg_svd, with or without U and Vh"},
    COMPOSED("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", linalg_svd,
             "linalg_svd(f32[3,5], False)", "A = U diag(S) Vh, S descending"),
    COMPOSED("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", svdvals, "linalg_svdvals(f32[2,3,5])", "singular values, descending"),
    COMPOSED("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", svd, "svd(f32[5,3])",
             "self = U diag(S) V^H"),
    {.schema = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
     .shape = shape_eigh_full,
     .kernel = &tc_k_eigh,
     .keeps = " result0 result1 ",
     .grad = grad_eigh_full,
     .samples = "_linalg_eigh(f32[2,3,3]); _linalg_eigh(f64[3,3], 'U', False)",
     .doc = "linalg_eigh, with or without vectors"},
    COMPOSED("linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", eigh, "linalg_eigh(f32[3,3])",
             "eigenvalues, ascending, and vectors of the Hermitian matrix that has self's lower (upper) triangle"),
    COMPOSED("linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", eigvalsh, "linalg_eigvalsh(f32[2,3,3])",
             "eigenvalues of a Hermitian matrix, ascending"),
    KERNEL("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", eig, "linalg_eig(f32[2,3,3])",
           "eigenvalues and vectors of length 1, complex"),
    KERNEL("_linalg_eigvals(Tensor self) -> Tensor", eigvals, "_linalg_eigvals(f32[3,3])", "linalg_eigvals"),
    COMPOSED("linalg_eigvals(Tensor self) -> Tensor", eigvals, "linalg_eigvals(f32[2,3,3])", "eigenvalues, complex"),
    {0}};
