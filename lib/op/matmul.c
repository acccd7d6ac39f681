/* Matrix products: mm, bmm and their sums with a third term are kernels (kernel/gemm); linear, matmul and the rest are
 * written with them.
 *
 *     matmul   1-D by 1-D: dot      2-D by 2-D: mm      more: the batches broadcast, folded into one bmm (or into the rows of mm) */
#include "kernel/matmul.h"
#include "op/complex_parts.h"
#include "op/shape.h"

/* ---- shapes ---- */
/* Bools are multiplied where there is nothing to add up: a product (not a sum with a third term) of no elements. */
static tc_status one_type(tc_shape_ctx *c, int n, const int *args) {
    const tc_meta *a = tc_sh_meta(c, args[0]);
    for (int k = 0; k < n; k++) {
        TC_TRY(tc_sh_need_tensor(c, args[k]));
        const tc_meta *b = tc_sh_meta(c, args[k]);
        if (b->dtype != a->dtype)
            return tc_sh_fail(c, "expected m1 and m2 to have the same dtype, but got: %s != %s", tc_dtypes[a->dtype].torch,
                              tc_dtypes[b->dtype].torch);
    }
    if (a->dtype == TC_BOOL && !(args[0] == 0 && (tc_sh_is_empty(a) || tc_sh_is_empty(tc_sh_meta(c, args[1])))))
        return tc_sh_fail_as(c, "NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    return NULL;
}
static tc_status mismatch(tc_shape_ctx *c, const tc_meta *a, const tc_meta *b) {
    const tc_sym *p = a->size + a->rank - 2, *q = b->size + b->rank - 2;
    return tc_sh_fail_sizes(c, "mat1 and mat2 shapes cannot be multiplied (#x# and #x#)", (tc_sym[]){p[0], p[1], q[0], q[1]});
}
static tc_status product(tc_shape_ctx *c, int i, int rank, tc_dims *d) { /* arguments i and i + 1 */
    TC_TRY(one_type(c, 2, (int[]){i, i + 1}));
    const tc_meta *a = tc_sh_meta(c, i), *b = tc_sh_meta(c, i + 1);
    const char *what = rank == 2 ? "a matrix" : "a 3D tensor";
    if (a->rank != rank) return tc_sh_fail(c, "%s must be %s, got %d-D tensor", tc_op_schema(c->op)->params[i].name, what, a->rank);
    if (b->rank != rank) return tc_sh_fail(c, "%s must be %s, got %d-D tensor", tc_op_schema(c->op)->params[i + 1].name, what, b->rank);
    if (!tc_sh_same(c, a->size[rank - 1], b->size[rank - 2])) return mismatch(c, a, b);
    if (rank == 3 && !tc_sh_same(c, a->size[0], b->size[0]))
        return tc_sh_fail(c, "Expected size for first two dimensions of batch2 tensor to be equal to those of batch1");
    *d = tc_dims_of(a);
    d->size[rank - 1] = b->size[rank - 1];
    return NULL;
}
static tc_status shape_mm(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(product(c, 0, 2, &d));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status shape_bmm(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(product(c, 0, 3, &d));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status shape_int_mm(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    for (int i = 0; i < 2; i++) {
        const tc_meta *t = tc_sh_meta(c, i);
        const char *name = tc_op_schema(c->op)->params[i].name;
        if (t->rank != 2) return tc_sh_fail(c, "Expected %s to be of dimension 2 but got %d", name, t->rank);
        if (t->dtype != TC_I8) return tc_sh_fail(c, "Expected %s dtype to be of type int8 but got %s", name, tc_dtypes[t->dtype].torch);
    }
    TC_TRY(product(c, 0, 2, &d));
    return tc_sh_out(c, 0, TC_I32, &d);
}
static tc_status added(tc_shape_ctx *c, int rank) { /* self must broadcast to the product */
    tc_dims d, r;
    TC_TRY(product(c, 1, rank, &d));
    TC_TRY(one_type(c, 2, (int[]){0, 1}));
    r = d;
    TC_TRY(tc_sh_broadcast_dims(c, &r, tc_sh_meta(c, 0)));
    bool ok = r.rank == d.rank;
    for (int k = 0; ok && k < d.rank; k++) ok = r.size[k] == d.size[k] || tc_sh_same(c, r.size[k], d.size[k]);
    if (!ok) return tc_sh_fail(c, "The expanded size of the tensor must match the existing size: self does not broadcast to the product");
    return tc_sh_out(c, 0, tc_sh_meta(c, 1)->dtype, &d);
}
static tc_status shape_addmm(tc_shape_ctx *c) { return added(c, 2); }
static tc_status shape_baddbmm(tc_shape_ctx *c) { return added(c, 3); }
/* Whether linear's bias is added to the matrix of all rows, [rows, n]; else to the result's own sizes. PyTorch does so for a matrix x, and where it
 * need not copy x if the bias varies along one dimension. */
static bool adds_to_rows(tc_program *p, const tc_meta *x, const tc_meta *b) {
    const tc_shape_ctx c = {.program = p};
    int varies = 0;
    for (int k = 0; k < b->rank; k++) varies += b->rank == 1 || !tc_sh_is_one(&c, b->size[k]);
    return x->rank == 2 || (varies == 1 && tc_sh_is_contiguous(&c, x) == 1);
}
static tc_status shape_linear(tc_shape_ctx *c) {
    TC_TRY(one_type(c, 2, (int[]){0, 1}));
    const tc_meta *x = tc_sh_meta(c, 0), *w = tc_sh_meta(c, 1), *b = tc_sh_meta(c, 2);
    if (w->rank != 2 && w->rank != 1) return tc_sh_fail(c, "weight must be 1-D or 2-D, got %d-D", w->rank);
    if (x->rank == 0) return tc_sh_fail(c, "both arguments to linear need to be at least 1D, but they are 0D and %dD", w->rank);
    if (!tc_sh_same(c, x->size[x->rank - 1], w->size[w->rank - 1])) {
        tc_sym rows = tc_sym_int(tc_sh_sym(c), 1);
        for (int k = 0; k + 1 < x->rank; k++) rows = tc_sym_mul(tc_sh_sym(c), rows, x->size[k]);
        return tc_sh_fail_sizes(c, "mat1 and mat2 shapes cannot be multiplied (#x# and #x#)",
                                (tc_sym[]){rows, x->size[x->rank - 1], w->size[w->rank - 1], w->size[0]});
    }
    tc_dims d = tc_dims_of(x);
    if (w->rank == 2) d.size[x->rank - 1] = w->size[0];
    else d.rank--;
    if (b) {
        tc_dims to = d;
        TC_TRY(one_type(c, 2, (int[]){0, 2}));
        if (w->rank == 2 && adds_to_rows(c->program, x, b)) {
            const tc_sym rows = tc_sym_product(tc_sh_sym(c), x->size, x->rank - 1);
            to = (tc_dims){.rank = 2, .size = {rows, w->size[0]}};
        }
        tc_dims r = to;
        TC_TRY(tc_sh_broadcast_dims(c, &r, b));
        bool same = r.rank == to.rank;
        for (int k = 0; same && k < to.rank; k++) same = tc_sh_same(c, r.size[k], to.size[k]);
        if (!same) return tc_sh_fail(c, "bias does not broadcast to the result");
        if (w->rank == 1 && (b->rank || x->rank == 2)) return tc_sh_fail(c, "addmm: mat2 must be a matrix, got 1-D tensor");
    }
    return tc_sh_out(c, 0, x->dtype, &d);
}

/* ---- gradients ---- */
/* The conjugate transpose, by which gradients multiply. */
static tc_value *mH(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::transpose.int", "vii", tc_e_conj(e, a), (int64_t)-2, (int64_t)-1); }
static tc_value *mT(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::transpose.int", "vii", a, (int64_t)-2, (int64_t)-1); }
static bool is_one(const tc_arg *a) { return a->kind == TC_A_SCALAR && !a->is_sym && tc_scalar_is(a->scalar, 1); }
static tc_value *scaled(tc_emit *e, tc_value *g, const tc_arg *by) { return is_one(by) ? g : tc_emit_call(e, "aten::mul.Tensor", "va", g, by); }
static bool is_transpose(const tc_value *v) {
    static const char *const names[] = {"aten.transpose.int", "aten.t.default", "aten.numpy_T.default", "aten.mT.default"};
    for (size_t i = 0; v->producer && i < sizeof names / sizeof *names; i++)
        if (!strcmp(tc_op_name(v->producer->op), names[i])) return true;
    return false;
}
/* v times the conjugate of a number */
static tc_value *by_conj(tc_emit *e, tc_value *v, const tc_arg *number) {
    return is_one(number) ? v : tc_e_conj(e, scaled(e, tc_e_conj(e, v), number));
}
static const tc_arg unit = {.kind = TC_A_SCALAR, .scalar = {.kind = TC_KIND_INT, .i = 1}};
/* alpha multiplies the products, not g before them, which would round twice in 16 bits. */
static void grad_product(tc_emit *e, const tc_node *n, int i, tc_value *g, const char *op, const tc_arg *alpha) {
    if (tc_emit_wants_grad(e, n, i)) tc_e_give(e, n, i, by_conj(e, tc_e2(e, op, g, mH(e, tc_arg_value(n, i + 1))), alpha));
    if (!tc_emit_wants_grad(e, n, i + 1)) return;
    /* The gradient of a transposed operand (linear's weight) is computed transposed, so that the weight's own gradient is contiguous. The same
     * products in the same order. */
    tc_value *r = is_transpose(tc_arg_value(n, i + 1)) ? mT(e, tc_e2(e, op, mT(e, g), tc_e_conj(e, tc_arg_value(n, i))))
                                                       : tc_e2(e, op, mH(e, tc_arg_value(n, i)), g);
    tc_e_give(e, n, i + 1, by_conj(e, r, alpha));
}
static tc_status grad_mm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    grad_product(e, n, 0, gs[0], "aten::mm", &unit);
    return tc_e_done(e);
}
static tc_status grad_bmm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    grad_product(e, n, 0, gs[0], "aten::bmm", &unit);
    return tc_e_done(e);
}
static tc_status grad_added(tc_emit *e, const tc_node *n, tc_value *const *gs, const char *op) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, by_conj(e, gs[0], &n->args[3]));
    grad_product(e, n, 1, gs[0], op, &n->args[4]);
    return tc_e_done(e);
}
static tc_status grad_addmm(tc_emit *e, const tc_node *n, tc_value *const *gs) { return grad_added(e, n, gs, "aten::mm"); }
static tc_status grad_baddbmm(tc_emit *e, const tc_node *n, tc_value *const *gs) { return grad_added(e, n, gs, "aten::bmm"); }

/* ---- compositions ---- */
/* x[..., k] as a matrix of rows */
static tc_value *rows_of(tc_emit *e, tc_value *x) {
    int r = x->meta.rank;
    if (r == 2) return x;
    return tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){tc_sym_product(tc_e_sym(e), x->meta.size, r - 1), x->meta.size[r - 1]}, 2);
}
static tc_status decompose_linear(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *b = tc_arg_value(n, 2);
    int r = x->meta.rank;
    if (w->meta.rank == 1) {
        tc_value *y = tc_e2(e, "aten::matmul", x, w);
        tc_emit_result(e, 0, b ? tc_e_add(e, y, b) : y);
        return tc_e_done(e);
    }
    tc_value *m = rows_of(e, x), *wt = mT(e, w);
    bool early = b && (b->meta.rank == 1 || (b->meta.rank == 2 && adds_to_rows(n->graph->program, &x->meta, &b->meta)));
    tc_value *y = early ? tc_e3(e, "aten::addmm", b, m, wt) : tc_e2(e, "aten::mm", m, wt);
    if (r != 2) {
        tc_sym size[TC_MAX_RANK];
        for (int k = 0; k + 1 < r; k++) size[k] = x->meta.size[k];
        size[r - 1] = w->meta.size[0];
        y = tc_emit_call(e, "aten::view", "vS", y, size, r);
    }
    tc_emit_result(e, 0, b && !early ? tc_e_add(e, y, b) : y);
    return tc_e_done(e);
}
static tc_value *dot(tc_emit *e, tc_value *a, tc_value *b) { /* [1, k] by [k, 1] */
    tc_value *m =
        tc_e2(e, "aten::mm", tc_emit_call(e, "aten::unsqueeze", "vi", a, (int64_t)0), tc_emit_call(e, "aten::unsqueeze", "vi", b, (int64_t)1));
    return tc_emit_call(e, "aten::view", "vS", m, (tc_sym[]){NULL}, 0);
}
static tc_value *mv(tc_emit *e, tc_value *a, tc_value *v) {
    return tc_emit_call(e, "aten::squeeze.dim", "vi", tc_e2(e, "aten::mm", a, tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)1)), (int64_t)1);
}
static tc_status same_kind(const tc_node *n, const tc_value *a, const tc_value *b) {
    if (!a || !b) return tc_error(TC_CONTENT, "TypeError: %s: arguments must be tensors", tc_op_name(n->op));
    if (a->meta.dtype != b->meta.dtype)
        return tc_e_refuse(n, "expected m1 and m2 to have the same dtype, but got: %s != %s", tc_dtypes[a->meta.dtype].torch,
                           tc_dtypes[b->meta.dtype].torch);
    return NULL;
}
static tc_status decompose_dot(tc_emit *e, const tc_node *n) { /* dot, vdot */
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    TC_TRY(same_kind(n, a, b));
    if (a->meta.dtype == TC_BOOL) return tc_error(TC_CONTENT, "NotImplementedError: %s: not implemented for 'Bool'", tc_op_name(n->op));
    if (a->meta.rank != 1 || b->meta.rank != 1) return tc_e_refuse(n, "1D tensors expected, but got %dD and %dD tensors", a->meta.rank, b->meta.rank);
    tc_symctx *s = tc_e_sym(e);
    if (tc_sym_differ(s, a->meta.size[0], b->meta.size[0]))
        return tc_e_refuse(n, "inconsistent tensor size, expected tensor [a] and src [b] to have the same number of elements");
    if (!strcmp(tc_op_schema(n->op)->name, "vdot")) a = tc_e_conj(e, a);
    tc_emit_result(e, 0, dot(e, a, b));
    return tc_e_done(e);
}
static tc_status decompose_mv(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *v = tc_arg_value(n, 1);
    TC_TRY(same_kind(n, a, v));
    if (a->meta.rank != 2 || v->meta.rank != 1) return tc_e_refuse(n, "vector + matrix @ vector expected, got 1, %d, %d", a->meta.rank, v->meta.rank);
    tc_emit_result(e, 0, mv(e, a, v));
    return tc_e_done(e);
}
/* alpha and beta are truncated for integer results */
static tc_arg factor(const tc_node *n, int i, tc_dtype d) {
    tc_arg a = n->args[i];
    if (tc_is_integral(d) && a.kind == TC_A_SCALAR && !a.is_sym && a.scalar.kind == TC_KIND_FLOAT)
        a.scalar = tc_scalar_int((int64_t)tc_scalar_to_double(a.scalar));
    return a;
}
static bool is_zero(const tc_arg *a) {
    return a->kind == TC_A_SCALAR && !a->is_sym && a->scalar.kind != TC_KIND_COMPLEX && tc_scalar_to_double(a->scalar) == 0;
}
/* alpha or beta as an element of type d. */
static tc_arg rounded(tc_arg a, tc_dtype d) {
    double room[2];
    if (a.kind != TC_A_SCALAR || a.is_sym || !tc_is_float(d) || a.scalar.kind == TC_KIND_COMPLEX) return a;
    tc_scalar_store(d, room, 0, a.scalar);
    a.scalar = tc_scalar_load(d, room, 0);
    return a;
}
/* p + beta self in type d; self is ignored if beta is 0 */
static bool broadcasts_to(tc_emit *e, const tc_value *self, const tc_value *p) {
    if (!p) return true; /* an earlier failure is reported elsewhere */
    int more = p->meta.rank - self->meta.rank;
    bool fits = more >= 0;
    for (int k = 0; fits && k < self->meta.rank; k++)
        fits = tc_sym_is_int(self->meta.size[k], 1) || !tc_sym_differ(tc_e_sym(e), self->meta.size[k], p->meta.size[more + k]);
    return fits;
}
static tc_value *plus_self(tc_emit *e, const tc_node *n, tc_value *p, tc_arg beta, tc_dtype d) {
    tc_value *self = tc_arg_value(n, 0);
    if (!p || !self) return NULL;
    if (!broadcasts_to(e, self, p)) {
        if (!e->status) e->status = tc_e_refuse(n, "self does not broadcast to the product");
        return NULL;
    }
    if (is_zero(&beta)) {
        tc_value *both = tc_emit_call(e, "aten::broadcast_tensors", "V", (tc_value *[]){p, self}, 2);
        return both ? tc_e_cast(e, tc_e1(e, "aten::clone", both->list[0]), d) : NULL;
    }
    return tc_e_add(e, scaled(e, tc_e_cast(e, self, d), &beta), p);
}
/* alpha product + beta self */
static tc_value *combine(tc_emit *e, const tc_node *n, tc_value *p) {
    tc_value *self = tc_arg_value(n, 0);
    if (!p || !self) return NULL;
    tc_dtype d = tc_dtype_promote(self->meta.dtype, p->meta.dtype);
    tc_arg alpha = factor(n, 4, d);
    return plus_self(e, n, scaled(e, p, &alpha), factor(n, 3, d), d);
}
static tc_status decompose_addmv(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 1), *v = tc_arg_value(n, 2);
    TC_TRY(same_kind(n, a, v));
    TC_TRY(same_kind(n, tc_arg_value(n, 0), a));
    if (a->meta.rank != 2 || v->meta.rank != 1 || tc_arg_meta(n, 0)->rank > 1)
        return tc_e_refuse(n, "vector + matrix @ vector expected, got %d, %d, %d", tc_arg_meta(n, 0)->rank, a->meta.rank, v->meta.rank);
    if (a->meta.dtype == TC_F16 || a->meta.dtype == TC_BF16) { /* rounded once, as addmm is */
        tc_value *self = tc_arg_value(n, 0), *y;
        if (self->meta.rank) self = tc_emit_call(e, "aten::unsqueeze", "vi", self, (int64_t)1);
        y = tc_emit_call(e, "aten::addmm", "vvvaa", self, a, tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)1), &n->args[3], &n->args[4]);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)1));
    } else tc_emit_result(e, 0, combine(e, n, mv(e, a, v)));
    return tc_e_done(e);
}
static tc_status grad_addmv(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 1), *v = tc_arg_value(n, 2), *g = gs[0];
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, by_conj(e, g, &n->args[3]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, by_conj(e, tc_e2(e, "aten::outer", g, tc_e_conj(e, v)), &n->args[4]));
    if (tc_emit_wants_grad(e, n, 2)) tc_e_give(e, n, 2, by_conj(e, mv(e, mH(e, a), g), &n->args[4]));
    return tc_e_done(e);
}
static tc_value *outer(tc_emit *e, tc_value *a, tc_value *b) { return tc_e_mul(e, tc_emit_call(e, "aten::unsqueeze", "vi", a, (int64_t)1), b); }
static tc_status decompose_outer(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    if (a->meta.rank != 1 || b->meta.rank != 1)
        return tc_e_refuse(n, "outer: Expected 1-D argument %s, but got %d-D", a->meta.rank != 1 ? "self" : "vec2",
                           a->meta.rank != 1 ? a->meta.rank : b->meta.rank);
    tc_emit_result(e, 0, outer(e, a, b));
    return tc_e_done(e);
}
/* PyTorch's check_addr_scalar */
static tc_status check_addr(const tc_node *n, int i, tc_dtype d) {
    const tc_arg *a = &n->args[i];
    tc_kind k;
    const char *name = i == 3 ? "beta" : "alpha";
    if (!tc_arg_number(a, &k)) return NULL;
    if (k == TC_KIND_BOOL && d != TC_BOOL) return tc_e_refuse(n, "Boolean %s only supported for Boolean results.", name);
    if (k >= TC_KIND_FLOAT && tc_is_integral(d))
        return tc_e_refuse(n, "For integral input tensors, argument %s must not be a floating point number.", name);
    return NULL;
}
static tc_status decompose_addr(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *a = tc_arg_value(n, 1), *b = tc_arg_value(n, 2);
    if (a->meta.rank != 1 || b->meta.rank != 1)
        return tc_e_refuse(n, "addr: Expected 1-D argument %s, but got %d-D", a->meta.rank != 1 ? "vec1" : "vec2",
                           a->meta.rank != 1 ? a->meta.rank : b->meta.rank);
    tc_dtype d = tc_dtype_promote(x->meta.dtype, tc_dtype_promote(a->meta.dtype, b->meta.dtype));
    for (int i = 3; i < 5; i++) TC_TRY(check_addr(n, i, d));
    if (d != TC_BOOL) { /* beta self + (alpha vec1) vec2, every intermediate in type d: visible in 16 bits */
        tc_arg alpha = rounded(factor(n, 4, d), d), beta = rounded(factor(n, 3, d), d);
        tc_emit_result(e, 0, plus_self(e, n, outer(e, scaled(e, tc_e_cast(e, a, d), &alpha), b), beta, d));
        return tc_e_done(e);
    }
    tc_value *p = outer(e, a, b);
    if (!broadcasts_to(e, x, p)) return tc_e_refuse(n, "self does not broadcast to the product");
    if (is_zero(&n->args[4])) p = tc_e_zeros_like(e, p);
    if (!is_zero(&n->args[3])) p = tc_e2(e, "aten::logical_or", p, x);
    tc_emit_result(e, 0, p);
    return tc_e_done(e);
}
static tc_status grad_addr(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *a = tc_arg_value(n, 1), *b = tc_arg_value(n, 2), *g = gs[0];
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, by_conj(e, g, &n->args[3]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, by_conj(e, mv(e, g, tc_e_conj(e, b)), &n->args[4]));
    if (tc_emit_wants_grad(e, n, 2)) tc_e_give(e, n, 2, by_conj(e, mv(e, mT(e, g), tc_e_conj(e, a)), &n->args[4]));
    return tc_e_done(e);
}
/* Products are added one after the other with each sum rounded, as in PyTorch: visible in narrow types. */
static tc_value *added_in_turn(tc_emit *e, const tc_node *n, int64_t count) {
    tc_value *r = tc_arg_value(n, 0);
    for (int64_t k = 0; k < count; k++)
        r = tc_emit_call(e, "aten::addmm", "vvvaa", r, tc_emit_call(e, "aten::select.int", "vii", tc_arg_value(n, 1), (int64_t)0, k),
                         tc_emit_call(e, "aten::select.int", "vii", tc_arg_value(n, 2), (int64_t)0, k), k ? &unit : &n->args[3], &n->args[4]);
    return r;
}
static tc_status decompose_addbmm(tc_emit *e, const tc_node *n) {
    enum { IN_TURN = 64 }; /* longer lists of products are one sum */
    const tc_meta *batch = tc_arg_meta(n, 1), *other = tc_arg_meta(n, 2);
    int64_t count;
    TC_TRY(same_kind(n, tc_arg_value(n, 0), tc_arg_value(n, 1)));
    if (batch->rank == 3 && other->rank == 3 && batch->size[0] == other->size[0] && (batch->dtype == TC_F16 || batch->dtype == TC_BF16) &&
        batch->dtype == tc_arg_meta(n, 0)->dtype && tc_sym_const_int(batch->size[0], &count) && count > 0 && count <= IN_TURN) {
        tc_emit_result(e, 0, added_in_turn(e, n, count));
        return tc_e_done(e);
    }
    tc_value *p = tc_e2(e, "aten::bmm", tc_arg_value(n, 1), tc_arg_value(n, 2));
    tc_arg dtype = {.kind = TC_A_DTYPE, .dtype = p ? p->meta.dtype : TC_F32};
    tc_emit_result(e, 0, combine(e, n, tc_emit_call(e, "aten::sum.dim_IntList", "vIba", p, (int64_t[]){0}, 1, 0, &dtype)));
    return tc_e_done(e);
}
static tc_status grad_addbmm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = gs[0];
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, by_conj(e, g, &n->args[3]));
    g = tc_emit_call(e, "aten::expand", "vS", g, (tc_sym[]){tc_arg_meta(n, 1)->size[0], g->meta.size[0], g->meta.size[1]}, 3);
    if (g) grad_product(e, n, 1, g, "aten::bmm", &n->args[4]);
    return tc_e_done(e);
}
static tc_status decompose_matmul(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    TC_TRY(same_kind(n, a, b));
    int ra = a->meta.rank, rb = b->meta.rank;
    tc_symctx *s = tc_e_sym(e);
    if (ra == 0 || rb == 0) return tc_e_refuse(n, "both arguments to matmul need to be at least 1D, but they are %dD and %dD", ra, rb);
    if (ra == 1 && rb == 1) {
        TC_TRY(decompose_dot(e, n));
        return NULL;
    }
    tc_value *x = ra == 1 ? tc_emit_call(e, "aten::unsqueeze", "vi", a, (int64_t)0) : a,
             *y = rb == 1 ? tc_emit_call(e, "aten::unsqueeze", "vi", b, (int64_t)1) : b, *r;
    if (!x || !y) return tc_e_done(e);
    int rx = x->meta.rank, ry = y->meta.rank, batch = (rx > ry ? rx : ry) - 2;
    tc_sym size[TC_MAX_RANK];
    if (rx == 2 && ry == 2) {
        r = tc_e2(e, "aten::mm", x, y);
    } else if (ry == 2) { /* one matrix for the rows of all batches */
        r = tc_e2(e, "aten::mm", rows_of(e, x), y);
        for (int k = 0; k + 1 < rx; k++) size[k] = x->meta.size[k];
        size[rx - 1] = y->meta.size[1];
        r = tc_emit_call(e, "aten::view", "vS", r, size, rx);
    } else {
        tc_shape_ctx c = {.program = e->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs, .source = n->source};
        tc_dims d = {0};
        tc_meta mx = x->meta, my = y->meta;
        mx.rank -= 2, my.rank -= 2;
        TC_TRY(tc_sh_broadcast_dims(&c, &d, &mx));
        TC_TRY(tc_sh_broadcast_dims(&c, &d, &my));
        tc_sym all = tc_sym_product(s, d.size, batch), m = x->meta.size[rx - 2], k = x->meta.size[rx - 1], k2 = y->meta.size[ry - 2],
               q = y->meta.size[ry - 1];
        for (int j = 0; j < batch; j++) size[j] = d.size[j];
        size[batch] = m, size[batch + 1] = k;
        x = tc_emit_call(e, "aten::expand", "vS", x, size, batch + 2);
        if (batch != 1) x = tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){all, m, k}, 3);
        size[batch] = k2, size[batch + 1] = q;
        y = tc_emit_call(e, "aten::expand", "vS", y, size, batch + 2);
        if (batch != 1) y = tc_emit_call(e, "aten::reshape", "vS", y, (tc_sym[]){all, k2, q}, 3);
        r = tc_e2(e, "aten::bmm", x, y);
        size[batch] = m;
        if (batch != 1) r = tc_emit_call(e, "aten::view", "vS", r, size, batch + 2);
    }
    if (ra == 1) r = tc_emit_call(e, "aten::squeeze.dim", "vi", r, (int64_t)-2);
    if (rb == 1) r = tc_emit_call(e, "aten::squeeze.dim", "vi", r, (int64_t)-1);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}
static tc_status decompose_linalg_matmul(tc_emit *e, const tc_node *n) { return tc_e_forward(e, "aten::matmul", n); }
static tc_status decompose_inner(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    if (a->meta.rank == 0 || b->meta.rank == 0) {
        tc_emit_result(e, 0, tc_e_mul(e, a, b));
        return tc_e_done(e);
    }
    tc_symctx *s = tc_e_sym(e);
    if (tc_sym_differ(s, a->meta.size[a->meta.rank - 1], b->meta.size[b->meta.rank - 1]))
        return tc_e_refuse(n, "inner() the last dimension must match on both input tensors");
    tc_emit_result(e, 0, tc_emit_call(e, "aten::tensordot", "vvII", a, b, (int64_t[]){-1}, 1, (int64_t[]){-1}, 1));
    return tc_e_done(e);
}
static tc_status decompose_tensordot(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    tc_symctx *s = tc_e_sym(e);
    int64_t da[64], db[64], pa[TC_MAX_RANK], pb[TC_MAX_RANK];
    int k = tc_arg_ints(n, 2, da, 64), k2 = tc_arg_ints(n, 3, db, 64), ra = a->meta.rank, rb = b->meta.rank, fa = 0, fb = 0, o = 0;
    uint64_t ma = 0, mb = 0;
    tc_sym inner = tc_sym_int(s, 1), left = inner, right = inner, out[2 * TC_MAX_RANK];
    if (k != k2) return tc_e_refuse(n, "both dimension lists should have same length");
    TC_TRY(same_kind(n, a, b));
    for (int i = 0; i < k; i++) {
        if (da[i] < -ra || da[i] >= ra || db[i] < -rb || db[i] >= rb)
            return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range", tc_op_name(n->op));
        int x = tc_wrap(da[i], ra), y = tc_wrap(db[i], rb);
        if (ma >> x & 1 || mb >> y & 1) return tc_e_refuse(n, "dim appears multiple times in the list of dims");
        int64_t here[] = {x}, there[] = {y};
        if (tc_sym_is_int(a->meta.size[x], 1) && !tc_sym_is_int(b->meta.size[y], 1)) { /* size 1 broadcasts */
            b = tc_emit_call(e, "aten::sum.dim_IntList", "vIba", b, there, 1, 1, &(tc_arg){.kind = TC_A_DTYPE, .dtype = b->meta.dtype});
        } else if (tc_sym_is_int(b->meta.size[y], 1) && !tc_sym_is_int(a->meta.size[x], 1)) {
            a = tc_emit_call(e, "aten::sum.dim_IntList", "vIba", a, here, 1, 1, &(tc_arg){.kind = TC_A_DTYPE, .dtype = a->meta.dtype});
        }
        if (!a || !b) return tc_e_done(e);
        if (tc_sym_differ(s, a->meta.size[x], b->meta.size[y]))
            return tc_e_refuse(n, "contracted dimensions need to match, but first has size different from second in dim %d and %d", x, y);
        ma |= (uint64_t)1 << x, mb |= (uint64_t)1 << y;
        inner = tc_sym_mul(s, inner, a->meta.size[x]);
    }
    for (int d = 0; d < ra; d++)
        if (!(ma >> d & 1)) pa[fa++] = d, left = tc_sym_mul(s, left, a->meta.size[d]), out[o++] = a->meta.size[d];
    for (int i = 0; i < k; i++) pa[fa++] = tc_wrap(da[i], ra), pb[fb++] = tc_wrap(db[i], rb);
    for (int d = 0; d < rb; d++)
        if (!(mb >> d & 1)) pb[fb++] = d, right = tc_sym_mul(s, right, b->meta.size[d]), out[o++] = b->meta.size[d];
    if (o > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
    tc_value *x = tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::permute", "vI", a, pa, ra), (tc_sym[]){left, inner}, 2);
    tc_value *y = tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::permute", "vI", b, pb, rb), (tc_sym[]){inner, right}, 2);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", tc_e2(e, "aten::mm", x, y), out, o));
    return tc_e_done(e);
}
static tc_status decompose_kron(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    int r = a->meta.rank > b->meta.rank ? a->meta.rank : b->meta.rank;
    tc_symctx *s = tc_e_sym(e);
    tc_sym sa[2 * TC_MAX_RANK], sb[2 * TC_MAX_RANK], out[TC_MAX_RANK], one = tc_sym_int(s, 1);
    if (2 * r > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
    for (int k = 0; k < r; k++) {
        int ia = k - (r - a->meta.rank), ib = k - (r - b->meta.rank);
        sa[2 * k] = ia >= 0 ? a->meta.size[ia] : one, sa[2 * k + 1] = one;
        sb[2 * k] = one, sb[2 * k + 1] = ib >= 0 ? b->meta.size[ib] : one;
        out[k] = tc_sym_mul(s, sa[2 * k], sb[2 * k + 1]);
    }
    tc_value *p = tc_e_mul(e, tc_emit_call(e, "aten::reshape", "vS", a, sa, 2 * r), tc_emit_call(e, "aten::reshape", "vS", b, sb, 2 * r));
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", p, out, r));
    return tc_e_done(e);
}
static tc_status decompose_vecdot(tc_emit *e, const tc_node *n) {
    TC_TRY(same_kind(n, tc_arg_value(n, 0), tc_arg_value(n, 1)));
    if (tc_is_integral(tc_arg_meta(n, 0)->dtype))
        return tc_error(TC_CONTENT, "NotImplementedError: linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
                        tc_dtypes[tc_arg_meta(n, 0)->dtype].torch);
    tc_value *x = tc_e_conj(e, tc_arg_value(n, 0)), *y = tc_arg_value(n, 1);
    if (x && x->meta.rank == 1 && y->meta.rank == 1) tc_emit_result(e, 0, tc_e2(e, "aten::dot", x, y)); /* without rounded products */
    else tc_emit_result(e, 0, tc_emit_call(e, "aten::sum.dim_IntList", "vI", tc_e_mul(e, x, y), (int64_t[]){tc_arg_int(n, 2)}, 1));
    return tc_e_done(e);
}
/* i1, i2, i3, where each gets dimensions of one element, which dimensions of the product are summed */
static tc_status decompose_trilinear(tc_emit *e, const tc_node *n) {
    tc_value *p = NULL;
    int64_t at[TC_MAX_RANK];
    for (int k = 0; k < 3; k++) {
        tc_value *v = tc_arg_value(n, k);
        int count = tc_arg_ints(n, 3 + k, at, TC_MAX_RANK), total = v->meta.rank + (count > 0 ? count : 0);
        if (total > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "%s of %d dimensions", tc_op_name(n->op), total);
        for (int d = 0; d < total; d++)
            for (int i = 0; i < count; i++)
                if (at[i] == d || at[i] + total == d) v = tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)d);
        p = p ? tc_e_mul(e, p, v) : v;
    }
    tc_emit_result(e, 0, n->args[6].n ? tc_emit_call(e, "aten::sum.dim_IntList", "va", p, &n->args[6]) : p);
    return tc_e_done(e);
}
static tc_status decompose_bilinear(tc_emit *e, const tc_node *n) { /* y_o = sum_ij x1_i w_oij x2_j + b_o */
    tc_value *x1 = tc_arg_value(n, 0), *x2 = tc_arg_value(n, 1), *w = tc_arg_value(n, 2), *b = tc_arg_value(n, 3);
    int r = x1->meta.rank;
    tc_symctx *s = tc_e_sym(e);
    if (w->meta.rank != 3 || x2->meta.rank != r || r < 1)
        return tc_e_refuse(n, "bilinear(): input dimensions do not match: got %d and %d", r, x2->meta.rank);
    const tc_value *of[3] = {x2, w, b};
    for (int k = 0; k < 3; k++)
        if (of[k] && of[k]->meta.dtype != x1->meta.dtype)
            return tc_e_refuse(n, "All tensors must have the same dtype, got input1: %s and %s", tc_dtypes[x1->meta.dtype].torch,
                               tc_dtypes[of[k]->meta.dtype].torch);
    for (int k = 0; k < r; k++)
        if (k + 1 < r ? tc_sym_differ(s, x1->meta.size[k], x2->meta.size[k])
                      : tc_sym_differ(s, x1->meta.size[k], w->meta.size[1]) || tc_sym_differ(s, x2->meta.size[k], w->meta.size[2]))
            return tc_error(TC_CONTENT,
                            k + 1 < r ? "%s: bilinear(): input batch dimensions do not match"
                                      : "%s: bilinear(): input size does not match weight size",
                            tc_op_name(n->op));
    if (b && !b->meta.rank) return tc_error(TC_CONTENT, "IndexError: %s: Dimension specified as 0 but tensor has no dimensions", tc_op_name(n->op));
    if (b && (b->meta.rank != 1 || tc_sym_differ(s, b->meta.size[0], w->meta.size[0])))
        return tc_e_refuse(n, "bilinear(): bias size does not match weight size");
    tc_sym rows = tc_sym_product(s, x1->meta.size, r - 1), in1 = w->meta.size[1], in2 = w->meta.size[2], out = w->meta.size[0], size[TC_MAX_RANK];
    tc_value *a = tc_emit_call(e, "aten::reshape", "vS", x1, (tc_sym[]){rows, in1}, 2),
             *c = tc_emit_call(e, "aten::reshape", "vS", x2, (tc_sym[]){rows, in2, tc_sym_int(s, 1)}, 3);
    /* [rows, in1] by [in1, out in2] */
    tc_value *m = tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::permute", "vI", w, (int64_t[]){1, 0, 2}, 3),
                               (tc_sym[]){in1, tc_sym_mul(s, out, in2)}, 2);
    tc_value *t = tc_emit_call(e, "aten::view", "vS", tc_e2(e, "aten::mm", a, m), (tc_sym[]){rows, out, in2}, 3);
    tc_value *y = tc_e2(e, "aten::bmm", t, c);
    for (int k = 0; k + 1 < r; k++) size[k] = x1->meta.size[k];
    size[r - 1] = out;
    y = tc_emit_call(e, "aten::view", "vS", y, size, r);
    tc_emit_result(e, 0, b ? tc_e_add(e, y, b) : y);
    return tc_e_done(e);
}
static tc_status decompose_cross(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1);
    int r = a->meta.rank > b->meta.rank ? a->meta.rank : b->meta.rank, d = -1;
    int64_t three;
    TC_TRY(same_kind(n, a, b));
    if (a->meta.rank != b->meta.rank) return tc_e_refuse(n, "linalg.cross: inputs must have the same number of dimensions.");
    if (!tc_arg_is_none(n, 2)) {
        int64_t v = tc_arg_int(n, 2);
        if (v < -r || v >= r)
            return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                            tc_op_name(n->op), -r, r - 1, (long long)v);
        d = tc_wrap(v, r);
    } else {
        for (int k = 0; k < r && d < 0; k++)
            if (tc_program_example(e->graph->program, tc_sym_simplify(tc_e_sym(e), a->meta.size[k]), &three) && three == 3) d = k;
        if (d < 0) return tc_e_refuse(n, "no dimension of size 3 in input");
    }
    for (int k = 0; k < 2; k++) {
        tc_symctx *s = tc_e_sym(e);
        tc_sym size = (k ? b : a)->meta.size[d], is3 = tc_sym_op(s, TC_S_EQ, size, tc_sym_int(s, 3), NULL);
        if (tc_sym_const_int(tc_sym_simplify(s, size), &three) && three != 3)
            return tc_e_refuse(n, "linalg.cross: inputs dimension %d must have length 3. Got %lld", d, (long long)three);
        tc_e_guard(e, n, is3);
    }
    tc_value *x[3], *y[3], *out[3];
    for (int k = 0; k < 3; k++)
        x[k] = tc_emit_call(e, "aten::select.int", "vii", a, (int64_t)d, (int64_t)k),
        y[k] = tc_emit_call(e, "aten::select.int", "vii", b, (int64_t)d, (int64_t)k);
    for (int k = 0; k < 3; k++) out[k] = tc_e_sub(e, tc_e_mul(e, x[(k + 1) % 3], y[(k + 2) % 3]), tc_e_mul(e, x[(k + 2) % 3], y[(k + 1) % 3]));
    tc_emit_result(e, 0, tc_emit_call(e, "aten::stack", "Vi", out, 3, (int64_t)d));
    return tc_e_done(e);
}

static tc_status shape_linear_backward(tc_shape_ctx *c) { /* self, grad_output, weight, mask */
    for (int i = 0; i < 3; i++) TC_TRY(tc_sh_need_tensor(c, i));
    TC_TRY(tc_sh_results_of(c, "aten::linear", (tc_arg[]){c->args[0], c->args[2], {.kind = TC_A_NONE}}, 3, 1, (int[]){1, 0}));
    return tc_shape_decomposed(c);
}
static tc_status decompose_linear_backward(tc_emit *e, const tc_node *n) { /* self, grad_output, weight, mask */
    tc_value *x = tc_arg_value(n, 0), *g = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    const tc_arg *mask = &n->args[3];
    tc_value *gm = rows_of(e, g);
    tc_emit_result(e, 0, mask->bools[0] ? tc_emit_call(e, "aten::view", "vS", tc_e2(e, "aten::mm", gm, w), x->meta.size, x->meta.rank) : NULL);
    tc_emit_result(e, 1, mask->bools[1] ? tc_e2(e, "aten::mm", mT(e, gm), rows_of(e, x)) : NULL);
    tc_emit_result(e, 2, mask->bools[2] ? tc_emit_call(e, "aten::sum.dim_IntList", "vI", gm, (int64_t[]){0}, 1) : NULL);
    return tc_e_done(e);
}

/* A product with k = 1, fma(a, b, +0): as a loop it costs only its stores and fuses with its readers. */
static tc_status outer_product(tc_emit *e, const tc_node *n) {
    tc_value *y = tc_e_mul(e, tc_arg_value(n, 0), tc_arg_value(n, 1));
    tc_emit_result(e, 0, tc_emit_call(e, "aten::add.Scalar", "vz", y, tc_scalar_int(0))); /* -0 becomes +0 */
    return tc_e_done(e);
}

static bool has_columns(const tc_node *n) { /* other than one */
    const tc_meta *a = tc_arg_meta(n, 0);
    return !tc_sym_is_int(a->size[a->rank - 1], 1) || a->dtype == TC_BOOL;
}
static const struct tc_otherwise one_term = {has_columns, outer_product};

#define KERNEL(SCHEMA, name, parts, otherwise_, sample, text)                                                                             \
    {                                                                                                                                     \
        .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_##name, .kernel = &tc_k_##name, .complex = parts, .otherwise = otherwise_, \
        .grad = grad_##name, .samples = sample, .doc = text                                                                               \
    }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_matmul[] = {
    KERNEL("mm(Tensor self, Tensor mat2)", mm, tc_by_parts_product, &one_term,
           "mm(f32[3,4], f32[4,5]); mm(f32[37,1], f32[1,70]); mm(i16[5,1], i16[1,3]); mm(f64[3,0], f64[0,2]); mm(i64[5,70], i64[70,66]); "
           "mm(i8[17,3], i8[3,5]); mm(c64[3,4], c64[4,2])",
           "matrix product"),
    KERNEL("bmm(Tensor self, Tensor mat2)", bmm, tc_by_parts_product, &one_term, "bmm(f32[2,3,4], f32[2,4,5]); bmm(bf16[2,3,1], bf16[2,1,5])",
           "matrix products of a batch"),
    KERNEL("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", addmm, tc_by_parts_added, NULL,
           "addmm(f32[5], f32[3,4], f32[4,5])", "beta self + alpha mat1 mat2"),
    KERNEL("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", baddbmm, tc_by_parts_added, NULL,
           "baddbmm(f32[2,3,5], f32[2,3,4], f32[2,4,5])", "beta self + alpha batch1 batch2"),
    {.schema = "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = shape_int_mm,
     .kernel = &tc_k_int_mm,
     .samples = "_int_mm(i8[3,4], i8[4,5]); _int_mm(i8[37,1100], i8[1100,70]); _int_mm(i8[2,0], i8[0,3])",
     .doc = "product of int8 matrices in int32"},
    {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .shape = shape_linear,
     .decompose = decompose_linear,
     .samples = "linear(f32[2,3,4], f32[5,4], f32[5]); linear(f32[3,4], f32[5,4])",
     .doc = "input weight^T + bias"},
    COMPOSED("matmul(Tensor self, Tensor other)", matmul, "matmul(f32[2,3,4], f32[4,5]); matmul(f32[4], f32[4]); matmul(f32[2,1,3,4], f32[5,4,2])",
             "product of batches of matrices"),
    COMPOSED("linalg_matmul(Tensor self, Tensor other)", linalg_matmul, NULL, "matmul"),
    COMPOSED("dot(Tensor self, Tensor tensor)", dot, "dot(f32[7], f32[7])", "sum of products"),
    COMPOSED("vdot(Tensor self, Tensor other)", dot, "vdot(f32[7], f32[7])", "sum of products"),
    COMPOSED("mv(Tensor self, Tensor vec)", mv, "mv(f32[3,4], f32[4])", "matrix by vector"),
    COMPOSED("outer(Tensor self, Tensor vec2)", outer, "outer(f32[3], f32[4])", "all products"),
    COMPOSED("ger(Tensor self, Tensor vec2)", outer, NULL, "outer"),
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_addmv,
     .grad = grad_addmv,
     .samples = "addmv(f32[3], f32[3,4], f32[4]); addmv(f16[1], f16[3,4], f16[4], beta=0.2, alpha=0.6)",
     .doc = "beta self + alpha mat vec"},
    {.schema = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_addr,
     .grad = grad_addr,
     .samples = "addr(f32[3,4], f32[3], f32[4])",
     .doc = "beta self + alpha outer"},
    {.schema = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .shape = tc_shape_decomposed_rows,
     .decompose = decompose_addbmm,
     .grad = grad_addbmm,
     .samples = "addbmm(f32[3,5], f32[2,3,4], f32[2,4,5])",
     .doc = "beta self + alpha times the sum of products"},
    COMPOSED("inner(Tensor self, Tensor other)", inner, "inner(f32[2,4], f32[3,4])", "sums of products of last dimensions"),
    COMPOSED("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)", tensordot, "tensordot(f32[2,3,4], f32[4,3,5], [1,2], [1,0])",
             "sums of products over dimensions"),
    {.schema = "aten::kron(Tensor self, Tensor other) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_kron,
     .keeps = " ",
     .samples = "kron(f32[2,2], f32[2,3])",
     .doc = "Kronecker product"},
    COMPOSED("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", vecdot, "linalg_vecdot(f32[3,4], f32[3,4])", "sums of products"),
    COMPOSED("_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1)", trilinear,
             "_trilinear(f32[2,3], f32[5,3,4], f32[2,4], [1, 3], [0], [1, 2], [2, 3])", "sum of products of three tensors with further dimensions"),
    COMPOSED("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", bilinear, "bilinear(f32[2,3], f32[2,4], f32[5,3,4], f32[5])",
             "x1 W x2 + b"),
    COMPOSED("cross(Tensor self, Tensor other, int? dim=None)", cross, "cross(f32[2,3], f32[2,3])", "cross product"),
    COMPOSED("linalg_cross(Tensor self, Tensor other, *, int dim=-1)", cross, "linalg_cross(f32[2,3], f32[2,3])", "cross product"),
    {.schema = "aten::linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .shape = shape_linear_backward,
     .decompose = decompose_linear_backward,
     .doc = "gradients of linear"},
    {0}};
