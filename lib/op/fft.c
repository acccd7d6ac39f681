/* torch.fft: transforms of one and more dimensions, of real and Hermitian signals, shifts and frequencies; stft and istft.
 *
 *     fft   X[k] = c sum_j x[j] exp(-2 pi i j k / n)      norm "backward": c = 1 (inverse 1/n), "ortho": 1/sqrt n, "forward": 1/n (inverse 1)
 *
 * Kernels transform complex tensors, real ones to the first half of the result, and such halves back (kernel/fft.h). */
#include "kernel/fft.h"
#include "op/shape.h"

enum { NONE = 0, BY_ROOT_N = 1, BY_N = 2 };

/* ---- the transforms that the others are made of ---- */
/* The dimensions in argument 1, and their number. */
static tc_status transformed(tc_shape_ctx *c, int rank, int *out_n, int out[TC_MAX_RANK]) {
    int64_t dims[TC_MAX_RANK + 1], seen = 0;
    *out_n = tc_sh_const_ints(c, 1, dims, TC_MAX_RANK + 1);
    for (int i = 0; i < *out_n; i++) {
        if (!rank) return tc_sh_fail_as(c, "IndexError", "Dimension specified as %lld but tensor has no dimensions", (long long)dims[i]);
        int d;
        TC_TRY(tc_sh_wrap_dim(c, dims[i], rank, &d));
        if (seen >> d & 1) return tc_sh_fail(c, "FFT dims must be unique");
        seen |= (int64_t)1 << d, out[i] = d;
    }
    return NULL;
}
/* Sorts dimensions by descending stride as far as strides are known; stable. */
static void sort_by_stride(const tc_shape_ctx *c, const tc_sym *stride, int *dims, int n) {
    tc_symctx *s = tc_sh_sym(c);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && tc_sym_known(s, tc_sym_op(s, TC_S_LT, stride[dims[k - 1]], stride[dims[k]], NULL)) == 1; k--) {
            const int d = dims[k];
            dims[k] = dims[k - 1], dims[k - 1] = d;
        }
}
/* The strides of the result of PyTorch's transforms, for sizes `d` and an operand with strides `stride`: untransformed dimensions outermost by
 * descending stride, transformed ones inside; the last `apart` of these are not sorted. dims: argument 1. */
static const tc_sym *strides_of(tc_shape_ctx *c, const tc_sym *stride, const tc_dims *d, const int *dims, int n, bool apart) {
    tc_symctx *s = tc_sh_sym(c);
    int order[TC_MAX_RANK], stay = 0;
    uint64_t moves = 0;
    for (int i = 0; i < n; i++) moves |= (uint64_t)1 << dims[i];
    for (int k = 0; k < d->rank; k++)
        if (!(moves >> k & 1)) order[stay++] = k;
    memcpy(order + stay, dims, sizeof *dims * (size_t)n);
    sort_by_stride(c, stride, order, stay);
    sort_by_stride(c, stride, order + stay, apart ? n - 1 : n);
    tc_sym *out = TC_NEWN(&c->program->arena, tc_sym, TC_MAX_RANK), step = tc_sym_int(s, 1);
    for (int k = d->rank; k-- > 0; step = tc_sym_mul(s, step, tc_sym_max(s, d->size[order[k]], tc_sym_int(s, 1)))) out[order[k]] = step;
    return out;
}
static tc_status shape_c2c(tc_shape_ctx *c) {
    int n, dims[TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->dtype != TC_C64 && m->dtype != TC_C128) return tc_sh_fail(c, "Unsupported dtype %s", tc_dtypes[m->dtype].torch);
    TC_TRY(transformed(c, m->rank, &n, dims));
    tc_dims d = tc_dims_of(m);
    return tc_sh_out_strided(c, 0, m->dtype, &d, n ? strides_of(c, tc_sh_strides(c, m), &d, dims, n, false) : m->stride);
}
static tc_value *c2c(tc_emit *e, tc_value *x, const int64_t *dims, int n, int64_t norm, bool forward) {
    return n ? tc_emit_call(e, "aten::_fft_c2c", "vIib", x, dims, n, norm, (int)forward) : x;
}
static tc_status grad_c2c(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = tc_emit_call(e, "aten::_fft_c2c", "vaab", gs[0], &n->args[1], &n->args[2], (int)!tc_arg_bool(n, 3));
    tc_e_give(e, n, 0, g);
    return tc_e_done(e);
}

static tc_value *slice(tc_emit *e, tc_value *x, int64_t dim, tc_sym from, tc_sym to) {
    return tc_emit_call(e, "aten::slice.Tensor", "viss", x, dim, from, to);
}
static tc_sym num(tc_emit *e, int64_t v) { return tc_sym_int(tc_e_sym(e), v); }
static tc_sym half(tc_emit *e, tc_sym s) { return tc_sym_floordiv(tc_e_sym(e), s, num(e, 2)); }
static tc_sym plus(tc_emit *e, tc_sym s, int64_t v) { return tc_sym_add(tc_e_sym(e), s, num(e, v)); }

/* x with `size` elements along dim: cut, or zeros appended */
static tc_value *resized(tc_emit *e, tc_value *x, int64_t dim, tc_sym size) {
    int64_t have, want;
    if (!x || x->meta.size[dim] == size) return x;
    if (tc_sym_const_int(x->meta.size[dim], &have) && tc_sym_const_int(size, &want)) {
        if (want < have) return slice(e, x, dim, num(e, 0), size);
        int64_t pad[2 * TC_MAX_RANK] = {0};
        int at = x->meta.rank - 1 - (int)dim;
        pad[2 * at + 1] = want - have;
        return tc_emit_call(e, "aten::constant_pad_nd", "vI", x, pad, 2 * (at + 1));
    }
    tc_sym zeros[TC_MAX_RANK]; /* a size is unknown: zeros are appended, then cut */
    memcpy(zeros, x->meta.size, sizeof *zeros * (size_t)x->meta.rank);
    zeros[dim] = size;
    tc_value *list[2] = {x, tc_emit_call(e, "aten::zeros", "Sd", zeros, x->meta.rank, (int)x->meta.dtype)};
    return slice(e, tc_emit_call(e, "aten::cat", "Vi", list, 2, dim), dim, num(e, 0), size);
}

static tc_status shape_real(tc_shape_ctx *c, bool forward) { /* _fft_r2c, _fft_c2r */
    int n, dims[TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    const bool single = m->dtype == (forward ? TC_F32 : TC_C64);
    if (!single && m->dtype != (forward ? TC_F64 : TC_C128)) return tc_sh_fail(c, "Unsupported dtype %s", tc_dtypes[m->dtype].torch);
    tc_dims d = tc_dims_of(m);
    TC_TRY(transformed(c, m->rank, &n, dims));
    if (n < 1) return tc_sh_fail(c, "must transform at least one axis");
    const int last = dims[n - 1];
    if (!tc_sh_not_zero(c, forward ? m->size[last] : tc_sh_int(c, 3))) return tc_sh_fail(c, "Invalid number of data points (0) specified");
    tc_symctx *s = tc_sh_sym(c);
    if (!forward) d.size[last] = tc_sh_int(c, 3);
    else if (tc_sh_bool(c, 3)) d.size[last] = tc_sym_add(s, tc_sym_floordiv(s, d.size[last], tc_sym_int(s, 2)), tc_sym_int(s, 1));
    const tc_dtype result = forward ? (single ? TC_C64 : TC_C128) : single ? TC_F32 : TC_F64;
    if (forward) return tc_sh_out_strided(c, 0, result, &d, strides_of(c, tc_sh_strides(c, m), &d, dims, n, true));
    const tc_dims whole = tc_dims_of(m); /* the others first, then the last */
    const tc_sym *before = n > 1 ? strides_of(c, tc_sh_strides(c, m), &whole, dims, n - 1, false) : tc_sh_strides(c, m);
    return tc_sh_out_strided(c, 0, result, &d, strides_of(c, before, &d, &last, 1, false));
}
static tc_status shape_r2c(tc_shape_ctx *c) { return shape_real(c, true); }
static tc_status shape_c2r(tc_shape_ctx *c) { return shape_real(c, false); }

/* The transform of a real tensor over dims; onesided: of the last dimension only the first half. The inverse is the conjugate. */
static tc_value *r2c(tc_emit *e, tc_value *x, const int64_t *dims, int n, int64_t norm, bool onesided, bool forward) {
    if (!x || !n) return x ? tc_e_cast(e, x, tc_dtype_to_complex(x->meta.dtype)) : NULL;
    tc_value *y = tc_emit_call(e, "aten::_fft_r2c", "vIib", x, dims, n, norm, (int)onesided);
    return forward ? y : tc_e_conj(e, y);
}
/* the inverse of a half spectrum along the last of dims, to `last` real numbers; forward: of the conjugates */
static tc_value *c2r(tc_emit *e, tc_value *x, const int64_t *dims, int n, int64_t norm, tc_sym last, bool forward) {
    return tc_emit_call(e, "aten::_fft_c2r", "vIis", forward ? tc_e_conj(e, x) : x, dims, n, norm, last);
}
static int64_t last_dim(const tc_node *n) {
    int64_t dims[TC_MAX_RANK];
    int k = tc_arg_ints(n, 1, dims, TC_MAX_RANK);
    return tc_wrap(dims[k - 1], tc_arg_meta(n, 0)->rank);
}
/* Each result is a sum of operands times roots of 1. The gradient is the real part of the inverse sums over the results that are kept. */
static tc_status grad_r2c(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *g = gs[0];
    if (tc_arg_bool(n, 3)) g = resized(e, g, last_dim(n), x->meta.size[last_dim(n)]);
    tc_e_give(e, n, 0, tc_e1(e, "aten::real", tc_emit_call(e, "aten::_fft_c2c", "vaab", g, &n->args[1], &n->args[2], 0)));
    return tc_e_done(e);
}
/* Frequencies that also represent their mirrored ones count twice. */
static tc_status grad_c2r(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    int64_t d = last_dim(n);
    tc_sym have = tc_arg_meta(n, 0)->size[d], twice = half(e, plus(e, tc_arg_sym(n, 3), 1)); /* frequencies 1 .. twice have a mirrored one */
    tc_value *g = tc_emit_call(e, "aten::_fft_r2c", "vaab", gs[0], &n->args[1], &n->args[2], 1);
    g = resized(e, g, d, have);
    tc_value *list[3] = {slice(e, g, d, num(e, 0), num(e, 1)), tc_e_muls(e, slice(e, g, d, num(e, 1), twice), 2), slice(e, g, d, twice, have)};
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::cat", "Vi", list, 3, d));
    return tc_e_done(e);
}

/* ---- arguments ---- */
static tc_status normalisation(const tc_node *n, int arg, bool forward, int64_t *out) {
    const char *s = tc_arg_string(n, arg);
    if (!s || !strcmp(s, "backward")) *out = forward ? NONE : BY_N;
    else if (!strcmp(s, "forward")) *out = forward ? BY_N : NONE;
    else if (!strcmp(s, "ortho")) *out = BY_ROOT_N;
    else return tc_e_refuse(n, "Invalid normalization mode: \"%s\"", s);
    return NULL;
}
/* Integers become float32, real numbers complex if required. */
static tc_status input(tc_emit *e, const tc_node *n, bool to_complex, tc_value **out) {
    tc_value *x = tc_arg_value(n, 0);
    tc_dtype d = tc_to_float(x->meta.dtype);
    if (d == TC_F16 || d == TC_BF16 || d == TC_C32 || tc_dtype_compute(d) != d) return tc_e_refuse(n, "Unsupported dtype %s", tc_dtypes[d].torch);
    *out = tc_e_cast(e, x, to_complex ? tc_dtype_to_complex(d) : d);
    return NULL;
}
static tc_status real_input(const tc_node *n) {
    tc_dtype d = tc_arg_meta(n, 0)->dtype;
    if (!tc_is_complex(d)) return NULL;
    return tc_e_refuse(n, "%s expects a real input tensor, but got %s", tc_op_schema(n->op)->name + 4, tc_dtypes[d].torch);
}
static tc_status dimension(const tc_node *n, int64_t d, int rank, int64_t *out) {
    if (rank == 0)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension specified as %lld but tensor has no dimensions", tc_op_name(n->op), (long long)d);
    if (d < -rank || d >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)d);
    *out = d < 0 ? d + rank : d;
    return NULL;
}
static tc_status positive(const tc_node *n, tc_sym s) {
    int64_t v;
    if (tc_sym_const_int(s, &v) && v < 1) return tc_e_refuse(n, "Invalid number of data points (%lld) specified", (long long)v);
    return NULL;
}
/* ---- one dimension: (self, n, dim, norm) ---- */
static tc_status line(tc_emit *e, const tc_node *n, int64_t *dim, tc_sym *size) {
    tc_value *x = tc_arg_value(n, 0);
    TC_TRY(dimension(n, tc_arg_int(n, 2), x->meta.rank, dim));
    *size = tc_arg_is_none(n, 1) ? NULL : tc_arg_sym(n, 1);
    if (*size) TC_TRY(positive(n, *size));
    else TC_TRY(positive(n, x->meta.size[*dim]));
    (void)e;
    return NULL;
}
static tc_status complex_line(tc_emit *e, const tc_node *n, bool forward) {
    int64_t d, norm;
    tc_sym size;
    tc_value *x;
    TC_TRY(line(e, n, &d, &size));
    const bool real = !tc_is_complex(tc_arg_meta(n, 0)->dtype);
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, !real, &x));
    if (size) x = resized(e, x, d, size);
    tc_emit_result(e, 0, real ? r2c(e, x, &d, 1, norm, false, forward) : c2c(e, x, &d, 1, norm, forward));
    return tc_e_done(e);
}
static tc_status decompose_fft(tc_emit *e, const tc_node *n) { return complex_line(e, n, true); }
static tc_status decompose_ifft(tc_emit *e, const tc_node *n) { return complex_line(e, n, false); }
static tc_status half_line(tc_emit *e, const tc_node *n, bool forward) { /* rfft, ihfft */
    int64_t d, norm;
    tc_sym size;
    tc_value *x;
    TC_TRY(real_input(n));
    TC_TRY(line(e, n, &d, &size));
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, false, &x));
    if (size) x = resized(e, x, d, size);
    tc_emit_result(e, 0, r2c(e, x, &d, 1, norm, true, forward));
    return tc_e_done(e);
}
static tc_status decompose_rfft(tc_emit *e, const tc_node *n) { return half_line(e, n, true); }
static tc_status decompose_ihfft(tc_emit *e, const tc_node *n) { return half_line(e, n, false); }
static tc_status real_line(tc_emit *e, const tc_node *n, bool forward) { /* irfft, hfft */
    int64_t d, norm;
    tc_sym size;
    tc_value *x;
    TC_TRY(line(e, n, &d, &size));
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, true, &x));
    if (!size && x) size = tc_sym_mul(tc_e_sym(e), plus(e, x->meta.size[d], -1), num(e, 2));
    if (!x) return tc_e_done(e);
    TC_TRY(positive(n, size));
    tc_emit_result(e, 0, c2r(e, resized(e, x, d, plus(e, half(e, size), 1)), &d, 1, norm, size, forward));
    return tc_e_done(e);
}
static tc_status decompose_irfft(tc_emit *e, const tc_node *n) { return real_line(e, n, false); }
static tc_status decompose_hfft(tc_emit *e, const tc_node *n) { return real_line(e, n, true); }

/* ---- more dimensions: (self, s, dim, norm) ---- */
typedef struct {
    int n;
    int64_t dim[TC_MAX_RANK];
    tc_sym size[TC_MAX_RANK]; /* the requested sizes; NULL for a last dimension without one */
} area;

static tc_status area_of(const tc_node *n, area *a) {
    const tc_meta *m = tc_arg_meta(n, 0);
    int64_t dims[64];
    tc_sym s[64];
    int ns = -1, nd = tc_arg_is_none(n, 2) ? -1 : n->args[2].kind == TC_A_INT ? 1 : tc_arg_ints(n, 2, dims, 64);
    if (n->args[2].kind == TC_A_INT) dims[0] = tc_arg_int(n, 2);
    if (n->args[1].kind == TC_A_INT) s[0] = n->args[1].sym, ns = 1;
    if (n->args[1].kind == TC_A_INTS)
        for (ns = 0; ns < n->args[1].n && ns < 64; ns++) s[ns] = n->args[1].syms[ns];
    if (nd >= 0 && ns >= 0 && nd != ns) return tc_e_refuse(n, "When given, dim and shape arguments must have the same length");
    if (ns > m->rank) return tc_e_refuse(n, "Got shape with %d values but input tensor only has %d dimensions.", ns, m->rank);
    a->n = nd >= 0 ? nd : ns >= 0 ? ns : m->rank;
    if (a->n > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
    for (int i = 0; i < a->n; i++) {
        int64_t v;
        if (nd >= 0) TC_TRY(dimension(n, dims[i], m->rank, &a->dim[i]));
        else a->dim[i] = m->rank - a->n + i;
        for (int k = 0; k < i; k++)
            if (a->dim[k] == a->dim[i]) return tc_e_refuse(n, "FFT dims must be unique");
        a->size[i] = ns >= 0 && !(tc_sym_const_int(s[i], &v) && v == -1) ? s[i] : NULL;
        TC_TRY(positive(n, a->size[i] ? a->size[i] : m->size[a->dim[i]]));
    }
    return NULL;
}
static tc_value *fitted(tc_emit *e, tc_value *x, const area *a, int count) {
    for (int i = 0; i < count; i++)
        if (a->size[i]) x = resized(e, x, a->dim[i], a->size[i]);
    return x;
}
static tc_status complex_area(tc_emit *e, const tc_node *n, bool forward) {
    area a;
    int64_t norm;
    tc_value *x;
    TC_TRY(area_of(n, &a));
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, true, &x));
    x = fitted(e, x, &a, a.n);
    tc_emit_result(e, 0, a.n ? c2c(e, x, a.dim, a.n, norm, forward) : tc_e1(e, "aten::clone", x));
    return tc_e_done(e);
}
static tc_status decompose_fftn(tc_emit *e, const tc_node *n) { return complex_area(e, n, true); }
static tc_status decompose_ifftn(tc_emit *e, const tc_node *n) { return complex_area(e, n, false); }
static tc_status half_area(tc_emit *e, const tc_node *n, bool forward) { /* rfftn, ihfftn */
    area a;
    int64_t norm;
    tc_value *x;
    TC_TRY(real_input(n));
    TC_TRY(area_of(n, &a));
    if (!a.n) return tc_e_refuse(n, "must transform at least one axis");
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, false, &x));
    const int last = forward ? 0 : a.n - 1; /* the inverse transforms the last dimension first, then the others */
    x = r2c(e, fitted(e, x, &a, a.n), a.dim + last, a.n - last, norm, true, forward);
    tc_emit_result(e, 0, c2c(e, x, a.dim, last, norm, false));
    return tc_e_done(e);
}
static tc_status decompose_rfftn(tc_emit *e, const tc_node *n) { return half_area(e, n, true); }
static tc_status decompose_ihfftn(tc_emit *e, const tc_node *n) { return half_area(e, n, false); }
static tc_status real_area(tc_emit *e, const tc_node *n, bool forward) { /* irfftn, hfftn */
    area a;
    int64_t norm;
    tc_value *x;
    TC_TRY(area_of(n, &a));
    if (!a.n) return tc_e_refuse(n, "must transform at least one axis");
    TC_TRY(normalisation(n, 3, forward, &norm));
    TC_TRY(input(e, n, true, &x));
    if (!x) return tc_e_done(e);
    int64_t d = a.dim[a.n - 1];
    tc_sym last = a.size[a.n - 1] ? a.size[a.n - 1] : tc_sym_mul(tc_e_sym(e), plus(e, x->meta.size[d], -1), num(e, 2));
    TC_TRY(positive(n, last));
    x = resized(e, fitted(e, x, &a, a.n - 1), d, plus(e, half(e, last), 1));
    tc_emit_result(e, 0, c2r(e, x, a.dim, a.n, norm, last, forward));
    return tc_e_done(e);
}
static tc_status decompose_irfftn(tc_emit *e, const tc_node *n) { return real_area(e, n, false); }
static tc_status decompose_hfftn(tc_emit *e, const tc_node *n) { return real_area(e, n, true); }

/* ---- shifts and frequencies ---- */
static tc_status shifted(tc_emit *e, const tc_node *n, int64_t up) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t dims[64];
    tc_sym by[TC_MAX_RANK];
    int k = tc_arg_is_none(n, 1) ? -1 : n->args[1].kind == TC_A_INT ? 1 : tc_arg_ints(n, 1, dims, 64);
    if (n->args[1].kind == TC_A_INT) dims[0] = tc_arg_int(n, 1);
    if (k < 0)
        for (k = 0; k < x->meta.rank; k++) dims[k] = k;
    for (int i = 0; i < k; i++) {
        TC_TRY(dimension(n, dims[i], x->meta.rank, &dims[i]));
        if (i == TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
        by[i] = half(e, plus(e, x->meta.size[dims[i]], up));
    }
    tc_emit_result(e, 0, k ? tc_emit_call(e, "aten::roll", "vSI", x, by, k, dims, k) : tc_e1(e, "aten::clone", x));
    return tc_e_done(e);
}
static tc_status decompose_fftshift(tc_emit *e, const tc_node *n) { return shifted(e, n, 0); }
static tc_status decompose_ifftshift(tc_emit *e, const tc_node *n) { return shifted(e, n, 1); }
static tc_status frequencies(tc_emit *e, const tc_node *n, bool half_only) { /* (n, d, dtype, ...): k / (n d) */
    int64_t count = tc_arg_int(n, 0);
    tc_dtype d = tc_arg_dtype(n, 2, TC_F32);
    tc_value *list[2];
    if (tc_is_integral(d)) return tc_error(TC_CONTENT, "%s requires a floating point or complex dtype", tc_op_name(n->op));
    list[0] = tc_emit_call(e, "aten::arange.start", "iid", (int64_t)0, half_only ? count / 2 + 1 : (count + 1) / 2, (int)d);
    list[1] = half_only ? NULL : tc_emit_call(e, "aten::arange.start", "iid", -(count / 2), (int64_t)0, (int)d);
    tc_value *k = half_only ? list[0] : tc_emit_call(e, "aten::cat", "Vi", list, 2, (int64_t)0);
    tc_emit_result(e, 0, tc_e_muls(e, k, 1.0 / ((double)count * tc_arg_float(n, 1))));
    return tc_e_done(e);
}
static tc_status decompose_fftfreq(tc_emit *e, const tc_node *n) { return frequencies(e, n, false); }
static tc_status decompose_rfftfreq(tc_emit *e, const tc_node *n) { return frequencies(e, n, true); }

/* ---- short-time transforms ---- */
/* The window centred in n_fft numbers, ones if none is given; NULL: all ones. */
static tc_status window_of(tc_emit *e, const tc_node *n, int64_t n_fft, int64_t length, tc_dtype d, bool always, tc_value **out) {
    tc_value *w = tc_arg_value(n, 4);
    int64_t left = (n_fft - length) / 2;
    *out = NULL;
    if (length < 1 || length > n_fft) return tc_e_refuse(n, "expected 0 < win_length <= n_fft, but got win_length=%lld", (long long)length);
    int64_t given;
    if (w && (w->meta.rank != 1 || !tc_e_pin(e, n, w->meta.size[0], &given) || given != length))
        return tc_e_refuse(n, "expected a 1D window tensor of size equal to win_length=%lld", (long long)length);
    if (!w && (always || length < n_fft)) w = tc_emit_call(e, "aten::ones", "Id", &length, 1, (int)d);
    if (w && length < n_fft) w = tc_emit_call(e, "aten::constant_pad_nd", "vI", w, (int64_t[]){left, n_fft - length - left}, 2);
    *out = w;
    return NULL;
}
static int64_t int_or(const tc_node *n, int arg, int64_t otherwise) { return tc_arg_is_none(n, arg) ? otherwise : tc_arg_int(n, arg); }
static tc_value *swapped(tc_emit *e, tc_value *x) { return tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)1, (int64_t)2); }

/* self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window */
static tc_status decompose_stft(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w;
    int64_t n_fft = tc_arg_int(n, 1), hop = int_or(n, 2, n_fft / 4), len;
    bool one = x->meta.rank == 1, is_complex = tc_is_complex(x->meta.dtype);
    if (tc_is_integral(x->meta.dtype) || x->meta.rank < 1 || x->meta.rank > 2)
        return tc_error(TC_CONTENT, "aten.stft: expected a 1D or 2D tensor of floating types");
    if (hop < 1) return tc_error(TC_CONTENT, "aten.stft: expected hop_length > 0, but got hop_length=%lld", (long long)hop);
    if (n_fft < 1 || (tc_sym_const_int(x->meta.size[x->meta.rank - 1], &len) && n_fft > len))
        return tc_error(TC_CONTENT, "aten.stft: expected 0 < n_fft <= input size, but got n_fft=%lld", (long long)n_fft);
    TC_TRY(window_of(e, n, n_fft, int_or(n, 3, n_fft), x->meta.dtype, false, &w));
    is_complex |= w && tc_is_complex(w->meta.dtype);
    bool onesided = tc_arg_is_none(n, 6) ? !is_complex : tc_arg_bool(n, 6);
    if (tc_arg_is_none(n, 7) && !is_complex)
        return tc_error(TC_CONTENT, "aten.stft: stft requires the return_complex parameter be given for real inputs, and will further require that "
                                    "return_complex=True in a future PyTorch release.");
    if (onesided && is_complex) return tc_error(TC_CONTENT, "aten.stft: Cannot have onesided output if window or input is complex");
    if (one) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    x = tc_emit_call(e, "aten::unfold", "viii", x, (int64_t)1, n_fft, hop); /* [batch, frames, n_fft] */
    if (w) x = tc_e_mul(e, x, w);
    int64_t norm = tc_arg_bool(n, 5) ? BY_ROOT_N : NONE;
    tc_value *y = x && tc_is_complex(x->meta.dtype) ? c2c(e, x, (int64_t[]){2}, 1, norm, true) : r2c(e, x, (int64_t[]){2}, 1, norm, onesided, true);
    y = swapped(e, y);
    if (one) y = tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)0);
    if (!tc_arg_is_none(n, 7) && !tc_arg_bool(n, 7)) y = tc_e1(e, "aten::view_as_real", y);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}

/* self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex: frames are added at their positions and divided
 * by the sum of their squared windows */
static tc_status decompose_istft(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *w;
    int64_t n_fft = tc_arg_int(n, 1), hop = int_or(n, 2, n_fft / 4), length = int_or(n, 3, n_fft), rows;
    bool center = tc_arg_bool(n, 5), to_complex = tc_arg_bool(n, 9), one = x->meta.rank == 2;
    tc_symctx *s = tc_e_sym(e);
    if (!tc_is_complex(x->meta.dtype) || x->meta.rank < 2 || x->meta.rank > 3)
        return tc_error(TC_CONTENT,
                        "aten.istft: istft requires a complex-valued input tensor matching the output from stft with return_complex=True.");
    bool onesided = tc_arg_is_none(n, 7) ? tc_sym_const_int(x->meta.size[x->meta.rank - 2], &rows) && rows != n_fft : tc_arg_bool(n, 7);
    if (tc_sym_const_int(x->meta.size[x->meta.rank - 2], &rows) && rows != (onesided ? n_fft / 2 + 1 : n_fft))
        return tc_error(
            TC_CONTENT,
            "aten.istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft%s when onesided=%s, but got %lld",
            onesided ? " / 2 + 1" : "", onesided ? "True" : "False", (long long)rows);
    if (hop < 1 || hop > length) return tc_error(TC_CONTENT, "aten.istft: expected 0 < hop_length <= win_length");
    if (onesided && to_complex) return tc_error(TC_CONTENT, "aten.istft: cannot have onesided input when return_complex is true");
    TC_TRY(window_of(e, n, n_fft, length, tc_dtype_real(x->meta.dtype), true, &w));
    if (one) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    x = swapped(e, x); /* [batch, frames, frequencies] */
    if (!x || !w) return tc_e_done(e);
    tc_sym frames = x->meta.size[1], whole = plus(e, tc_sym_mul(s, num(e, hop), plus(e, frames, -1)), n_fft);
    int64_t d = 2, norm = tc_arg_bool(n, 6) ? BY_ROOT_N : BY_N;
    tc_value *y = to_complex ? c2c(e, x, &d, 1, norm, false) : NULL;
    if (!to_complex) y = c2r(e, onesided ? x : slice(e, x, d, num(e, 0), num(e, n_fft / 2 + 1)), &d, 1, norm, num(e, n_fft), false);
    y = tc_e_mul(e, y, w);
    tc_value *squares = tc_emit_call(e, "aten::expand", "vS", tc_e_mul(e, w, w), (tc_sym[]){num(e, 1), frames, num(e, n_fft)}, 3);
    y = tc_emit_call(e, "aten::unfold_backward", "vSiii", y, (tc_sym[]){x->meta.size[0], whole}, 2, (int64_t)1, n_fft, hop);
    tc_value *sum = tc_emit_call(e, "aten::unfold_backward", "vSiii", squares, (tc_sym[]){num(e, 1), whole}, 2, (int64_t)1, n_fft, hop);
    int64_t start = center ? n_fft / 2 : 0, end, have;
    tc_sym stop = !tc_arg_is_none(n, 8) ? plus(e, tc_arg_sym(n, 8), start) : center ? plus(e, whole, -(n_fft / 2)) : whole;
    y = tc_e_div(e, slice(e, y, 1, num(e, start), stop), slice(e, sum, 1, num(e, start), stop));
    if (tc_sym_const_int(stop, &end) && tc_sym_const_int(whole, &have) && end > have)
        y = tc_emit_call(e, "aten::constant_pad_nd", "vI", y, (int64_t[]){0, end - have}, 2);
    tc_emit_result(e, 0, one ? tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)0) : y);
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define LINE(name, sample, text) COMPOSED("fft_" #name "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)", name, sample, text)
#define AREA(name, text)                                                                                                  \
    COMPOSED("fft_" #name "2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None)", name##n, NULL, text), \
        COMPOSED("fft_" #name "n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)", name##n, NULL, text)
#define FACTORY "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
const tc_op tc_ops_fft[] = {
    {.schema = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     .shape = shape_c2c,
     .kernel = &tc_k_fft_c2c,
     .grad = grad_c2c,
     .samples = "_fft_c2c(c64[3,12], [1], 0, True); _fft_c2c(c128[37,2], [0], 2, False); _fft_c2c(c64[6,35], [0,1], 1, True)",
     .doc = "transform over dim; normalization 0: none, 1: 1/sqrt(n), 2: 1/n"},
    {.schema = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     .shape = shape_r2c,
     .kernel = &tc_k_fft_r2c,
     .grad = grad_r2c,
     .samples = "_fft_r2c(f32[3,8], [1], 0, True); _fft_r2c(f64[37,30], [0,1], 2, True); _fft_r2c(f32[17,3,15], [1,2], 1, False); "
                "_fft_r2c(f32[5,74], [1], 0, "
                "True)",
     .doc = "transform of a real tensor; onesided: the first half of the last of dim"},
    {.schema = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     .shape = shape_c2r,
     .kernel = &tc_k_fft_c2r,
     .grad = grad_c2r,
     .samples =
         "_fft_c2r(c64[3,5], [1], 2, 8); _fft_c2r(c128[17,16], [0,1], 1, 30); _fft_c2r(c64[5,8,4], [0,1], 0, 15); _fft_c2r(c64[2,38], [1], 0, 74)",
     .doc = "inverse transform to real numbers, from half of them"},
    LINE(fft, "fft_fft(c64[3,12]); fft_fft(f32[3,10], 7)", "transform along dim"),
    LINE(ifft, "fft_ifft(c64[3,12])", "inverse transform along dim"),
    LINE(rfft, "fft_rfft(f32[3,12])", "first half of the transform of a real tensor"),
    LINE(irfft, "fft_irfft(c64[3,7]); fft_irfft(c64[3,7], 9)", "inverse of rfft"),
    LINE(hfft, "fft_hfft(c64[3,7])", "real transform of a Hermitian signal, of which half is given"),
    LINE(ihfft, "fft_ihfft(f32[3,12])", "inverse of hfft"),
    AREA(fft, "transform over dim"),
    AREA(ifft, "inverse transform over dim"),
    AREA(rfft, "first half of the transform of a real tensor over dim"),
    AREA(irfft, "inverse of rfft over dim"),
    AREA(hfft, "real transform of a Hermitian signal over dim"),
    AREA(ihfft, "inverse of hfft over dim"),
    COMPOSED("fft_fftshift(Tensor self, int[1]? dim=None)", fftshift, "fft_fftshift(f32[3,5])", "the zero frequency in the middle"),
    COMPOSED("fft_ifftshift(Tensor self, int[1]? dim=None)", ifftshift, "fft_ifftshift(f32[3,5])", "the zero frequency first"),
    COMPOSED("fft_fftfreq(int n, float d=1., *, " FACTORY ")", fftfreq, "fft_fftfreq(7)", "frequencies of fft"),
    COMPOSED("fft_rfftfreq(int n, float d=1., *, " FACTORY ")", rfftfreq, "fft_rfftfreq(7)", "frequencies of rfft"),
    COMPOSED("stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? "
             "onesided=None, bool? return_complex=None, bool? align_to_window=None)",
             stft, NULL, "transforms of n_fft elements every hop_length"),
    COMPOSED("istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool "
             "normalized=False, bool? onesided=None, int? length=None, bool return_complex=False)",
             istft, NULL, "inverse of stft"),
    {0}};
