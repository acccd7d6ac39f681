/* Systems, inverses and determinants, all by lu_factor and lu_solve.
 *
 *     A X = B   gB = A^-H gX, gA = -gB X^H          inv   gA = -A^-H g A^-H
 *     det       gA = g conj(det) A^-H               slogdet   gA = g A^-H
 *
 * The gradient of det holds where A is singular too: a pivot that is exactly 0 becomes eps, in the determinant and in the solution alike,
 * and their product tends to the adjugate. */
#include "op/linalg.h"

#include <string.h>

/* ---- systems ---- */
static tc_status solve_shapes(const tc_node *n, bool left, bool vector) {
    TC_TRY(tc_la_square_arg(n, 0, "linalg.solve"));
    const tc_meta *a = tc_arg_meta(n, 0), *b = tc_arg_meta(n, 1);
    tc_symctx *s = n->graph->program->sym;
    if (!b || b->rank < 1) return tc_e_refuse(n, "linalg.solve: B must have at least 1 dimension");
    if (vector && !left)
        return tc_e_refuse(n, "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                              "linalg.solve is equivalent to B / A.squeeze(-1)");
    tc_sym rows = b->size[b->rank - (vector || !left ? 1 : 2)];
    if (!tc_sym_differ(s, a->size[a->rank - 1], rows)) return NULL;
    return tc_e_refuse(n, "linalg.solve: Incompatible shapes of A and B for the equation %s", left ? "AX = B" : "XA = B");
}
static tc_status decompose_solve_full(tc_emit *e, const tc_node *n) { /* _linalg_solve_ex: A, B, left, check_errors */
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    if (!a || !b) return tc_error(TC_CONTENT, "TypeError: %s: A and B must be tensors", tc_op_name(n->op));
    bool left = tc_arg_bool(n, 2), vector = tc_la_is_vector(tc_e_sym(e), &a->meta, &b->meta);
    TC_TRY(solve_shapes(n, left, vector));
    tc_value *lu = tc_emit_call(e, "aten::linalg_lu_factor_ex", "v", a), *pivots = tc_emit_out(lu, 1), *info = tc_emit_out(lu, 2);
    if (tc_arg_bool(n, 3)) tc_la_check_errors(e, info, "torch.linalg.solve", a->meta.rank == 2);
    if (vector) b = tc_emit_call(e, "aten::unsqueeze", "vi", b, (int64_t)-1);
    tc_value *x = tc_emit_call(e, "aten::linalg_lu_solve", "vvvb", lu, pivots, b, (int)left);
    if (vector) x = tc_emit_call(e, "aten::squeeze.dim", "vi", x, (int64_t)-1);
    tc_value *all[4] = {x, lu, pivots, info};
    for (int i = 0; i < 4; i++) tc_emit_result(e, i, all[i]);
    return tc_e_done(e);
}
static tc_status grad_solve_full(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *x = n->outs[0], *g = gs[0];
    bool left = tc_arg_bool(n, 2), vector = tc_la_is_vector(tc_e_sym(e), &a->meta, &b->meta);
    if (!g) return tc_e_done(e);
    if (vector) g = tc_la_col(e, g), x = tc_la_col(e, x);
    tc_value *gb = tc_la_solve(e, tc_la_mH(e, a), g, left);
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, vector ? tc_emit_call(e, "aten::squeeze.dim", "vi", gb, (int64_t)-1) : gb);
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_e_give(e, n, 0, tc_e_neg(e, left ? tc_la_mm(e, gb, tc_la_mH(e, x)) : tc_la_mm(e, tc_la_mH(e, x), gb)));
    return tc_e_done(e);
}
static tc_status decompose_solve_ex(tc_emit *e, const tc_node *n) {
    tc_value *r = tc_emit_call(e, "aten::_linalg_solve_ex", "aaaa", tc_e_arg(n, 0), tc_e_arg(n, 1), tc_e_arg(n, 2), tc_e_arg(n, 3));
    tc_emit_result(e, 0, r);
    tc_emit_result(e, 1, tc_emit_out(r, 3));
    return tc_e_done(e);
}
static tc_status decompose_solve(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_linalg_solve_ex", "aaab", tc_e_arg(n, 0), tc_e_arg(n, 1), tc_e_arg(n, 2), 1));
    return tc_e_done(e);
}

/* ---- inverses ---- */
static tc_status decompose_inv_ex(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0);
    TC_TRY(tc_la_square_arg(n, 0, "linalg.inv"));
    tc_value *lu = tc_emit_call(e, "aten::linalg_lu_factor_ex", "v", a), *info = tc_emit_out(lu, 2);
    if (tc_arg_bool(n, 1)) tc_la_check_errors(e, info, "linalg.inv", a->meta.rank == 2);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_lu_solve", "vvv", lu, tc_emit_out(lu, 1), tc_la_eye(e, tc_la_rows(a), a->meta.dtype)));
    tc_emit_result(e, 1, info);
    return tc_e_done(e);
}
static tc_status grad_inv_ex(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *h = tc_la_mH(e, n->outs[0]);
    tc_e_give(e, n, 0, tc_e_neg(e, tc_la_mm(e, h, tc_la_mm(e, gs[0], h))));
    return tc_e_done(e);
}
static tc_status decompose_inv(tc_emit *e, const tc_node *n) { /* linalg_inv, inverse */
    tc_emit_result(e, 0, tc_emit_call(e, "aten::linalg_inv_ex", "vb", tc_arg_value(n, 0), 1));
    return tc_e_done(e);
}

/* ---- determinants ---- */
/* 1 or -1 for an even or odd permutation, in the real type of d */
static tc_value *parity(tc_emit *e, tc_value *pivots, tc_dtype d) {
    if (!pivots) return NULL;
    tc_symctx *s = tc_e_sym(e);
    tc_sym n = pivots->meta.size[pivots->meta.rank - 1];
    tc_value *own = tc_emit_call(e, "aten::arange.start", "ssd", tc_sym_int(s, 1), tc_sym_add(s, n, tc_sym_int(s, 1)), (int)TC_I32);
    tc_value *moved = tc_e_cast(e, tc_e2(e, "aten::ne.Tensor", pivots, own), tc_dtype_real(d));
    tc_value *sign = tc_e_adds(e, tc_e_muls(e, moved, -2), 1); /* 1 - 2 moved */
    return tc_emit_call(e, "aten::prod.dim_int", "vi", sign, (int64_t)-1);
}
static tc_value *factor(tc_emit *e, tc_value *a, tc_value **pivots) {
    tc_value *lu = tc_emit_call(e, "aten::linalg_lu_factor_ex", "v", a);
    *pivots = tc_emit_out(lu, 1);
    return lu;
}
static tc_status decompose_det_full(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *pivots;
    TC_TRY(tc_la_square_arg(n, 0, "linalg.det"));
    tc_value *lu = factor(e, a, &pivots), *d = tc_emit_call(e, "aten::prod.dim_int", "vi", tc_la_diagonal(e, lu), (int64_t)-1);
    tc_emit_result(e, 0, tc_e_mul(e, d, parity(e, pivots, a->meta.dtype)));
    tc_emit_result(e, 1, lu);
    tc_emit_result(e, 2, pivots);
    return tc_e_done(e);
}
static tc_status grad_det_full(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *pivots;
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *lu = factor(e, a, &pivots), *diagonal = tc_la_diagonal(e, lu);
    double eps = tc_dtype_real(a->meta.dtype) == TC_F32 ? 0x1p-23 : 0x1p-52;
    tc_value *zero = tc_e_cast(e, tc_emit_call(e, "aten::eq.Scalar", "vi", diagonal, (int64_t)0), a->meta.dtype);
    lu = tc_e_add(e, lu, tc_la_diag(e, tc_e_muls(e, zero, eps)));
    tc_value *det = tc_e_mul(e, tc_emit_call(e, "aten::prod.dim_int", "vi", tc_la_diagonal(e, lu), (int64_t)-1), parity(e, pivots, a->meta.dtype));
    tc_value *g = tc_la_col(e, tc_la_col(e, tc_e_mul(e, gs[0], tc_e_conj(e, det))));
    g = tc_e_mul(e, g, tc_la_eye(e, tc_la_rows(a), a->meta.dtype));
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::linalg_lu_solve", "vvvbb", lu, pivots, g, 1, 1));
    return tc_e_done(e);
}
static tc_status decompose_slogdet_full(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *pivots;
    TC_TRY(tc_la_square_arg(n, 0, "linalg.slogdet"));
    tc_value *lu = factor(e, a, &pivots), *d = tc_la_diagonal(e, lu);
    tc_value *sign = tc_emit_call(e, "aten::prod.dim_int", "vi", tc_e1(e, "aten::sgn", d), (int64_t)-1);
    tc_value *log = tc_emit_call(e, "aten::sum.dim_IntList", "vI", tc_e1(e, "aten::log", tc_e1(e, "aten::abs", d)), (int64_t[]){-1}, 1);
    tc_value *all[4] = {tc_e_mul(e, sign, parity(e, pivots, a->meta.dtype)), log, lu, pivots};
    for (int i = 0; i < 4; i++) tc_emit_result(e, i, all[i]);
    return tc_e_done(e);
}
/* d log det = tr(A^-1 dA) = z; logabsdet follows Re z, the sign (of complex ones) i sign Im z: gA = (gl - i Im(conj(gs) sign)) A^-H */
static tc_status grad_slogdet_full(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 0), *g = gs[1];
    bool complex = tc_is_complex(a->meta.dtype);
    if ((!g && !(complex && gs[0])) || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    if (complex && gs[0]) {
        tc_value *turn = tc_e_neg(e, tc_e1(e, "aten::imag", tc_e_mul(e, tc_e_conj(e, gs[0]), n->outs[0])));
        g = tc_e2(e, "aten::complex", g ? g : tc_e_zeros_like(e, turn), turn);
    }
    g = tc_e_mul(e, tc_la_col(e, tc_la_col(e, g)), tc_la_eye(e, tc_la_rows(a), a->meta.dtype));
    tc_e_give(e, n, 0, tc_la_solve(e, tc_la_mH(e, a), g, true));
    return tc_e_done(e);
}
static tc_status decompose_det(tc_emit *e, const tc_node *n) { /* linalg_det, det */
    tc_emit_result(e, 0, tc_e1(e, "aten::_linalg_det", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status decompose_slogdet(tc_emit *e, const tc_node *n) { /* linalg_slogdet, slogdet */
    tc_value *r = tc_e1(e, "aten::_linalg_slogdet", tc_arg_value(n, 0));
    for (int i = 0; i < 2; i++) tc_emit_result(e, i, tc_emit_out(r, i));
    return tc_e_done(e);
}
static tc_status decompose_logdet(tc_emit *e, const tc_node *n) {
    tc_value *sign = tc_e1(e, "aten::_linalg_slogdet", tc_arg_value(n, 0)), *log = tc_emit_out(sign, 1);
    if (!sign) return tc_e_done(e);
    if (tc_is_complex(sign->meta.dtype)) {
        tc_emit_result(e, 0, tc_e_add(e, tc_e1(e, "aten::log", sign), log));
    } else {
        tc_value *negative = tc_emit_call(e, "aten::eq.Scalar", "vi", sign, (int64_t)-1);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::where.ScalarSelf", "vfv", negative, __builtin_nan(""), log));
    }
    return tc_e_done(e);
}

/* ---- tensors taken for matrices ---- */
static tc_status decompose_tensorinv(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int64_t ind = tc_arg_int(n, 1);
    int r = a->meta.rank;
    if (ind <= 0) return tc_e_refuse(n, "Expected a strictly positive integer for 'ind', but got %lld", (long long)ind);
    if (ind > r) ind = r;
    tc_sym rows = tc_sym_product(s, a->meta.size, (int)ind), cols = tc_sym_product(s, a->meta.size + ind, r - (int)ind), size[TC_MAX_RANK];
    if (tc_sym_differ(s, rows, cols))
        return tc_e_refuse(n, "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind])");
    for (int i = 0; i < r; i++) size[i] = a->meta.size[(i + ind) % r];
    tc_value *x = tc_emit_call(e, "aten::linalg_inv_ex", "vb", tc_emit_call(e, "aten::reshape", "vS", a, (tc_sym[]){rows, cols}, 2), 1);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", x, size, r));
    return tc_e_done(e);
}
static tc_status decompose_tensorsolve(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    tc_symctx *s = tc_e_sym(e);
    int64_t dims[TC_MAX_RANK], order[TC_MAX_RANK];
    int k = tc_arg_ints(n, 2, dims, TC_MAX_RANK), r = a->meta.rank, at = 0;
    if (k > 0) { /* those dimensions are moved to the end */
        uint64_t mask = 0;
        for (int i = 0; i < k; i++) {
            if (dims[i] < -r || dims[i] >= r) return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range", tc_op_name(n->op));
            mask |= UINT64_C(1) << tc_wrap(dims[i], r);
        }
        for (int i = 0; i < r; i++)
            if (!(mask >> i & 1)) order[at++] = i;
        for (int i = 0; i < k && at < r; i++) order[at++] = tc_wrap(dims[i], r);
        if (at != r) return tc_e_refuse(n, "dims must not repeat");
        a = tc_emit_call(e, "aten::permute", "vI", a, order, r);
        if (!a) return tc_e_done(e);
    }
    if (b->meta.rank > r) return tc_e_refuse(n, "other has more dimensions than self");
    int free = r - b->meta.rank;
    tc_sym cols = tc_sym_product(s, a->meta.size + b->meta.rank, free), rows = tc_sym_product(s, a->meta.size, b->meta.rank);
    if (tc_sym_differ(s, rows, cols))
        return tc_e_refuse(n, "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])");
    tc_value *x = tc_emit_call(e, "aten::_linalg_solve_ex", "vvbb", tc_emit_call(e, "aten::reshape", "vS", a, (tc_sym[]){rows, cols}, 2),
                               tc_emit_call(e, "aten::reshape", "vS", b, (tc_sym[]){rows}, 1), 1, 1);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", x, a->meta.size + b->meta.rank, free));
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define RULED(SCHEMA, name, flags_, sample, text)                                                                                     \
    {                                                                                                                                 \
        .schema = "aten::" SCHEMA, .flags = flags_, .shape = tc_shape_decomposed, .decompose = decompose_##name, .grad = grad_##name, \
        .samples = sample, .doc = text                                                                                                \
    }
const tc_op tc_ops_linalg_solve[] = {
    RULED(
        "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
        solve_full, TC_OP_ONE_GRAD, "_linalg_solve_ex(f32[3,3], f32[2,3,4])", "linalg_solve, the factors of A, and where U has a zero"),
    COMPOSED("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", solve_ex,
             "linalg_solve_ex(f32[3,3], f32[4,3], left=False)", "linalg_solve, and where U has a zero"),
    COMPOSED("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", solve,
             "linalg_solve(f32[2,3,3], f32[2,3]); linalg_solve(f64[3,3], f64[3])", "X: A X = B, or X A = B"),
    RULED("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", inv_ex, 0, "linalg_inv_ex(f32[2,3,3])",
          "A^-1, and where U has a zero"),
    COMPOSED("linalg_inv(Tensor A) -> Tensor", inv, "linalg_inv(f32[3,3])", "A^-1"),
    COMPOSED("inverse(Tensor self) -> Tensor", inv, "inverse(f32[3,3])", "self^-1"),
    RULED("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", det_full, TC_OP_ONE_GRAD, "_linalg_det(f32[2,3,3])",
          "det(A) and the factors of A"),
    COMPOSED("linalg_det(Tensor A) -> Tensor", det, "linalg_det(f32[3,3]); linalg_det(f64[2,0,0])", "determinant"),
    COMPOSED("det(Tensor self) -> Tensor", det, "det(f32[3,3])", "determinant"),
    RULED("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", slogdet_full, TC_OP_PLAIN << 2,
          "_linalg_slogdet(f32[2,3,3])", "sign and log |det(A)|, and the factors of A"),
    COMPOSED("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", slogdet, "linalg_slogdet(f32[3,3])", "sign and log |det(A)|"),
    COMPOSED("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", slogdet, "slogdet(f32[3,3])", "sign and log |det(self)|"),
    COMPOSED("logdet(Tensor self) -> Tensor", logdet, "logdet(f32[3,3])", "log det(self); NaN where it is negative"),
    COMPOSED("linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv, "linalg_tensorinv(f32[2,3,6], 2)",
             "the inverse of self taken for a matrix of its first ind dimensions by the others"),
    COMPOSED("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve, "linalg_tensorsolve(f32[2,3,6], f32[2,3])",
             "X: tensordot(self, X) = other"),
    {0}};
