/* Complex numbers: parts, conjugates, and tensors made of two real ones.
 *
 *     memory of a complex tensor   re0 im0 re1 im1 ...
 *     view_as_real                 the same, [..., 2]; real and imag see every other element
 *
 * A conjugate is computed, never a flag on a view. Gradients follow PyTorch's convention: that of a complex argument z of a real L is
 * dL/d(re z) + i dL/d(im z). */
#include "kernel/kernel.h"
#include "op/lower.h"
#include "op/shape.h"

static bool is_complex(const tc_meta *m) { return tc_is_complex(m->dtype); }

/* ---- shapes ---- */
static tc_status parts(tc_shape_ctx *c, bool both) {
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    tc_sym stride[TC_MAX_RANK + 1];
    tc_dims d = tc_dims_of(m);
    const tc_sym *own = tc_sh_strides(c, m);
    for (int k = 0; k < m->rank; k++) stride[k] = tc_sym_mul(s, own[k], tc_sym_int(s, 2));
    if (both) {
        if (m->rank == TC_MAX_RANK) return tc_sh_fail(c, "too many dimensions");
        stride[d.rank] = tc_sym_int(s, 1);
        d.size[d.rank++] = tc_sym_int(s, 2);
    }
    return tc_sh_out_strided(c, 0, tc_dtype_real(m->dtype), &d, both && !m->stride ? NULL : stride);
}
static tc_status shape_real(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m);
    return is_complex(m) ? parts(c, false) : tc_sh_out_strided(c, 0, m->dtype, &d, m->stride);
}
static tc_status shape_imag(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (!is_complex(tc_sh_meta(c, 0))) return tc_sh_fail(c, "imag is not implemented for tensors with non-complex dtypes.");
    return parts(c, false);
}
static tc_status shape_view_as_real(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (!is_complex(tc_sh_meta(c, 0))) return tc_sh_fail(c, "view_as_real is only supported for complex tensors");
    return parts(c, true);
}
static tc_status shape_view_as_complex(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    tc_dtype d = m->dtype == TC_BF16 ? m->dtype : tc_dtype_to_complex(m->dtype);
    tc_dims r = tc_dims_of(m);
    tc_sym stride[TC_MAX_RANK];
    if (d == m->dtype)
        return tc_sh_fail(c, "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
                          tc_dtypes[m->dtype].torch);
    if (m->rank == 0) return tc_sh_fail(c, "Input tensor must have one or more dimensions");
    if (!tc_sh_same(c, m->size[m->rank - 1], tc_sym_int(s, 2))) return tc_sh_fail(c, "Tensor must have a last dimension of size 2");
    r.rank--;
    if (!m->stride) return tc_sh_out(c, 0, d, &r);
    if (!tc_sh_same(c, m->stride[m->rank - 1], tc_sym_int(s, 1))) return tc_sh_fail(c, "Tensor must have a last dimension with stride 1");
    for (int k = 0; k < r.rank; k++) {
        int64_t v;
        if (tc_sym_const_int(m->stride[k], &v) && v % 2 && !tc_sh_is_one(c, m->size[k]))
            return tc_sh_fail(c, "Tensor must have a stride divisible by 2 for all but last dimension");
        stride[k] = tc_sym_floordiv(s, m->stride[k], tc_sym_int(s, 2));
    }
    return tc_sh_out_strided(c, 0, d, &r, stride);
}
static tc_status shape_pair(tc_shape_ctx *c) { /* complex, polar */
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    tc_dtype a = tc_sh_meta(c, 0)->dtype, b = tc_sh_meta(c, 1)->dtype;
    if ((a != TC_F16 && a != TC_F32 && a != TC_F64) || (b != TC_F16 && b != TC_F32 && b != TC_F64))
        return tc_sh_fail_as(c, "NotImplementedError", "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                             tc_dtypes[a].torch, tc_dtypes[b].torch);
    if (a != b)
        return tc_sh_fail(c, "Expected object of scalar type %s but got scalar type %s for second argument", tc_dtypes[a].torch, tc_dtypes[b].torch);
    return tc_sh_out_pointwise(c, 0, tc_dtype_to_complex(a), 2, (int[]){0, 1});
}

/* ---- aliases ---- */
static tc_status alias_parts(const tc_kcall *k, tc_tensor *out, bool *possible, int first, bool both) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    *possible = true;
    *out = tc_tensor_share(t);
    if (!tc_is_complex(t->dtype)) return NULL;
    out->dtype = tc_dtype_real(t->dtype);
    out->offset = 2 * t->offset + first;
    for (int d = 0; d < t->rank; d++) out->stride[d] = 2 * t->stride[d];
    if (both) out->size[t->rank] = 2, out->stride[t->rank] = 1, out->rank++;
    return NULL;
}
static tc_status alias_real(const tc_kcall *k, tc_tensor *out, bool *possible) { return alias_parts(k, out, possible, 0, false); }
static tc_status alias_imag(const tc_kcall *k, tc_tensor *out, bool *possible) { return alias_parts(k, out, possible, 1, false); }
static tc_status alias_view_as_real(const tc_kcall *k, tc_tensor *out, bool *possible) { return alias_parts(k, out, possible, 0, true); }
static tc_status alias_view_as_complex(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    *possible = t->stride[t->rank - 1] == 1 && t->offset % 2 == 0;
    for (int d = 0; d + 1 < t->rank; d++) *possible &= t->stride[d] % 2 == 0 || t->size[d] == 1;
    if (!*possible) return NULL;
    *out = tc_tensor_share(t);
    out->dtype = tc_dtype_to_complex(t->dtype);
    out->rank--;
    out->offset = t->offset / 2;
    for (int d = 0; d < out->rank; d++) out->stride[d] = t->stride[d] / 2;
    return NULL;
}

/* ---- lowering ---- */
static tc_status lower_conj(tc_lower *l) {
    tc_lv x = tc_l_in(l, 0);
    return tc_l_out(l, 0, tc_is_complex(tc_l_type(l, 0)) ? tc_l_op1(l, TC_X_CONJ, x) : x);
}
static tc_status lower_complex(tc_lower *l) {
    tc_dtype d = tc_dtype_real(tc_l_type(l, 0));
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_COMPLEX, tc_l_in_as(l, 0, d), tc_l_in_as(l, 1, d)));
}
static tc_status lower_polar(tc_lower *l) { /* r cos t + i r sin t */
    tc_dtype d = tc_dtype_real(tc_l_type(l, 0));
    tc_lv r = tc_l_in_as(l, 0, d), t = tc_l_in_as(l, 1, d);
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_COMPLEX, tc_l_mul(l, r, tc_l_op1(l, TC_X_COS, t)), tc_l_mul(l, r, tc_l_op1(l, TC_X_SIN, t))));
}

/* ---- gradients ---- */
static tc_value *pair(tc_emit *e, tc_value *re, tc_value *im) { return tc_e2(e, "aten::complex", re, im); }
static tc_status grad_real(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* tc_e_give makes it complex */
    tc_e_give(e, n, 0, gs[0]);
    return tc_e_done(e);
}
static tc_status grad_imag(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, pair(e, tc_e_zeros_like(e, gs[0]), gs[0]));
    return tc_e_done(e);
}
static tc_value *slot(tc_emit *e, tc_value *a, int64_t i) { return tc_emit_call(e, "aten::select.int", "vii", a, (int64_t)-1, i); }
static tc_status grad_view_as_real(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, pair(e, slot(e, gs[0], 0), slot(e, gs[0], 1)));
    return tc_e_done(e);
}
static tc_status grad_view_as_complex(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_e1(e, "aten::view_as_real", gs[0]));
    return tc_e_done(e);
}
static tc_status grad_complex(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_e1(e, "aten::real", gs[0]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e1(e, "aten::imag", gs[0]));
    return tc_e_done(e);
}
static tc_status grad_polar(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* re(conj(g) y / |y|), re(conj(g) i y) */
    tc_value *y = n->outs[0], *g = tc_e_conj(e, gs[0]);
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_e1(e, "aten::real", tc_e_mul(e, g, tc_e1(e, "aten::sgn", y))));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_neg(e, tc_e1(e, "aten::imag", tc_e_mul(e, g, y))));
    return tc_e_done(e);
}
static tc_status grad_conj(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_e_conj(e, gs[0]));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status decompose_conj(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, tc_e1(e, is_complex(&x->meta) ? "aten::conj_physical" : "aten::alias", x));
    return tc_e_done(e);
}
static tc_status decompose_neg_view(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e_neg(e, tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status decompose_isreal(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (is_complex(&x->meta)) tc_emit_result(e, 0, tc_emit_call(e, "aten::eq.Scalar", "vi", tc_e1(e, "aten::imag", x), (int64_t)0));
    else tc_emit_result(e, 0, tc_emit_call(e, "aten::ones_like", "vd", x, (int)TC_BOOL));
    return tc_e_done(e);
}
static tc_status decompose_chalf(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::to.dtype", "vdbba", tc_arg_value(n, 0), (int)TC_C32, 0, 0, &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_copy(tc_emit *e, const tc_node *n) { /* view_as_real_copy, view_as_complex_copy */
    bool real = !strcmp(tc_op_schema(n->op)->name, "view_as_real_copy");
    tc_emit_result(e, 0, tc_e1(e, "aten::clone", tc_e1(e, real ? "aten::view_as_real" : "aten::view_as_complex", tc_arg_value(n, 0))));
    return tc_e_done(e);
}

const tc_op tc_ops_complex[] = {{.schema = "aten::real(Tensor(a) self) -> Tensor(a)",
                                 .shape = shape_real,
                                 .view_alias = alias_real,
                                 .grad = grad_real,
                                 .samples = "real(c64[3,5]); real(f32[3])",
                                 .doc = "the real parts; the tensor itself when it is real"},
                                {.schema = "aten::imag(Tensor(a) self) -> Tensor(a)",
                                 .shape = shape_imag,
                                 .view_alias = alias_imag,
                                 .grad = grad_imag,
                                 .samples = "imag(c64[3,5])",
                                 .doc = "the imaginary parts"},
                                {.schema = "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
                                 .shape = shape_view_as_real,
                                 .view_alias = alias_view_as_real,
                                 .grad = grad_view_as_real,
                                 .samples = "view_as_real(c64[3,5]); view_as_real(c128[2])",
                                 .doc = "pairs of real and imaginary part in a last dimension of 2"},
                                {.schema = "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
                                 .shape = shape_view_as_complex,
                                 .view_alias = alias_view_as_complex,
                                 .grad = grad_view_as_complex,
                                 .samples = "view_as_complex(f32[3,2]); view_as_complex(f64[2])",
                                 .doc = "complex numbers from a last dimension of 2"},
                                {.schema = "aten::view_as_real_copy(Tensor self) -> Tensor",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_copy,
                                 .samples = "view_as_real_copy(c64[3])",
                                 .doc = "view_as_real, copied"},
                                {.schema = "aten::view_as_complex_copy(Tensor self) -> Tensor",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_copy,
                                 .samples = "view_as_complex_copy(f32[3,2])",
                                 .doc = "view_as_complex, copied"},
                                {.schema = "aten::complex(Tensor real, Tensor imag) -> Tensor",
                                 .shape = shape_pair,
                                 .lower = lower_complex,
                                 .grad = grad_complex,
                                 .samples = "complex(f32[3,5], f32[5]); complex(f64[2], f64[2])",
                                 .doc = "real + i imag"},
                                {.schema = "aten::polar(Tensor abs, Tensor angle) -> Tensor",
                                 .shape = shape_pair,
                                 .lower = lower_polar,
                                 .grad = grad_polar,
                                 .samples = "polar(f32[3,5]:0.5..2, f32[5])",
                                 .doc = "abs (cos(angle) + i sin(angle))"},
                                {.schema = "aten::conj_physical(Tensor self) -> Tensor",
                                 .shape = tc_shape_same,
                                 .lower = lower_conj,
                                 .grad = grad_conj,
                                 .samples = "conj_physical(f32[5]); conj_physical(c64[5])",
                                 .doc = "complex conjugate; x where real"},
                                {.schema = "aten::conj(Tensor(a) self) -> Tensor(a)",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_conj,
                                 .samples = "conj(c64[5])",
                                 .doc = "complex conjugate; the tensor itself when it is real"},
                                {.schema = "aten::_conj(Tensor(a) self) -> Tensor(a)",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_conj,
                                 .samples = "_conj(c64[5])",
                                 .doc = "complex conjugate; the tensor itself when it is real"},
                                {.schema = "aten::_neg_view(Tensor(a) self) -> Tensor(a)",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_neg_view,
                                 .samples = "_neg_view(f32[5])",
                                 .doc = "-x, which the imaginary part of a conjugate is"},
                                {.schema = "aten::_conj_physical(Tensor self) -> Tensor",
                                 .shape = tc_shape_same,
                                 .lower = lower_conj,
                                 .grad = grad_conj,
                                 .samples = "_conj_physical(c64[5])",
                                 .doc = "complex conjugate; x where real"},
                                {.schema = "aten::isreal(Tensor self) -> Tensor",
                                 .flags = TC_OP_NONDIFF,
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_isreal,
                                 .samples = "isreal(c64[5]); isreal(f32[3])",
                                 .doc = "the imaginary part is 0"},
                                {.schema = "aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
                                 .shape = tc_shape_decomposed,
                                 .decompose = decompose_chalf,
                                 .samples = "chalf(c64[5])",
                                 .doc = "the tensor as complex32"},
                                {0}};
