/* Views whose strides mix dimensions or bytes: diagonal, unfold, as_strided, and the same bytes as another type. See view.c. */
#include "kernel/kernel.h"
#include "op/shape.h"
#include "op/view.h"

/* ---- diagonal ---- */
static tc_status shape_diagonal(tc_shape_ctx *c) {
    int a, b;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 2, m->rank, &a));
    TC_TRY(tc_sh_dim_arg(c, 3, m->rank, &b));
    if (a == b)
        return tc_sh_fail(c, "diagonal dimensions cannot be identical %lld, %lld", (long long)tc_sh_const(c, 2), (long long)tc_sh_const(c, 3));
    int64_t off = tc_sh_const(c, 1);
    tc_symctx *s = tc_sh_sym(c);
    tc_sym zero = tc_sym_int(s, 0), ra = m->size[a], rb = m->size[b];
    if (off >= 0) rb = tc_sym_sub(s, rb, tc_sym_int(s, off));
    else ra = tc_sym_add(s, ra, tc_sym_int(s, off));
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = {0};
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) {
        if (k == a || k == b) continue;
        stride[r.rank] = from[k];
        r.size[r.rank++] = m->size[k];
    }
    stride[r.rank] = tc_sym_add(s, from[a], from[b]);
    r.size[r.rank++] = tc_sym_max(s, tc_sym_min(s, ra, rb), zero);
    return tc_sh_out_strided(c, 0, m->dtype, &r, stride);
}
static tc_status alias_diagonal(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int a = tc_wrap(tc_k_int(k, 2), t->rank), b = tc_wrap(tc_k_int(k, 3), t->rank);
    int64_t off = tc_k_int(k, 1), n = off >= 0 ? (t->size[a] < t->size[b] - off ? t->size[a] : t->size[b] - off)
                                               : (t->size[a] + off < t->size[b] ? t->size[a] + off : t->size[b]);
    if (n < 0) n = 0;
    *out = tc_tensor_share(t);
    out->rank = 0;
    for (int d = 0; d < t->rank; d++) {
        if (d == a || d == b) continue;
        out->size[out->rank] = t->size[d];
        out->stride[out->rank++] = t->stride[d];
    }
    out->size[out->rank] = n;
    out->stride[out->rank++] = t->stride[a] + t->stride[b];
    if (n) out->offset += off >= 0 ? off * t->stride[b] : -off * t->stride[a];
    *possible = true;
    return NULL;
}
static tc_status grad_diagonal(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::diagonal_backward", "vSaaa", gs[0], m->size, m->rank, &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}

/* ---- unfold, as_strided ---- */
static tc_status shape_unfold(tc_shape_ctx *c) {
    int d;
    int64_t size = tc_sh_const(c, 2), step = tc_sh_const(c, 3), n;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    if (step <= 0) return tc_sh_fail(c, "step is %lld but must be > 0", (long long)step);
    if (size < 0) return tc_sh_fail(c, "size is %lld but must be >= 0", (long long)size);
    tc_symctx *s = tc_sh_sym(c);
    tc_sym extent = m->rank ? m->size[d] : tc_sym_int(s, 1);
    if (tc_sym_const_int(extent, &n) && size > n)
        return tc_sh_fail(c, "maximum size for tensor at dimension %d is %lld but size is %lld", d, (long long)n, (long long)size);
    if (!tc_sh_guard(c, tc_sym_op(s, TC_S_LE, tc_sym_int(s, size), extent, NULL))) return tc_sh_fail(c, "size is %lld", (long long)size);
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = tc_dims_of(m);
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) stride[k] = from[k];
    if (m->rank) {
        stride[m->rank] = from[d];
        stride[d] = tc_sym_mul(s, from[d], tc_sym_int(s, step));
        r.size[d] = tc_sym_add(s, tc_sym_floordiv(s, tc_sym_sub(s, extent, tc_sym_int(s, size)), tc_sym_int(s, step)), tc_sym_int(s, 1));
    } else {
        stride[0] = tc_sym_int(s, 1);
    }
    r.size[r.rank++] = tc_sym_int(s, size);
    return tc_sh_out_strided(c, 0, m->dtype, &r, stride);
}
static tc_status alias_unfold(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int d = tc_wrap(tc_k_int(k, 1), t->rank);
    int64_t size = tc_k_int(k, 2), step = tc_k_int(k, 3);
    *out = tc_tensor_share(t);
    out->rank = t->rank + 1;
    out->size[t->rank] = size;
    out->stride[t->rank] = t->rank ? t->stride[d] : 1;
    if (t->rank) {
        if (size > t->size[d])
            return tc_error(TC_CONTENT, "aten.unfold: maximum size for tensor at dimension %d is %lld but size is %lld", d, (long long)t->size[d],
                            (long long)size);
        out->size[d] = (t->size[d] - size) / step + 1;
        out->stride[d] = t->stride[d] * step;
    }
    *possible = true;
    return NULL;
}
static tc_status grad_unfold(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::unfold_backward", "vSaaa", gs[0], m->size, m->rank, &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status shape_as_strided(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym stride[TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    d.rank = tc_sh_ints(c, 1, d.size, TC_MAX_RANK);
    int n = tc_sh_ints(c, 2, stride, TC_MAX_RANK);
    if (n != d.rank || n > TC_MAX_RANK) return tc_sh_fail(c, "mismatch in length of strides and shape");
    int64_t last = tc_sh_given(c, 3) ? tc_sh_const(c, 3) : 0, have = 1, a, b;
    bool known = true, empty = false;
    if (last < 0) return tc_sh_fail(c, "Tensor: invalid storage offset %lld", (long long)last);
    for (int k = 0; k < n; k++) {
        known &= tc_sym_const_int(d.size[k], &a) && tc_sym_const_int(stride[k], &b);
        if (!known) break;
        if (b < 0) return tc_sh_fail(c, "as_strided: Negative strides are not supported at the moment, got strides");
        if (a < 0) return tc_sh_fail(c, "negative size %lld", (long long)a);
        empty |= a == 0;
        last += (a - 1) * b;
    }
    for (int k = 0; k < m->rank && known; k++) {
        known &= tc_sym_const_int(m->size[k], &a);
        have *= known ? a : 1;
    }
    if (known && !empty && last >= have && !m->stride)
        return tc_sh_fail(c, "setStorage: sizes and strides are out of bounds for storage of size %lld", (long long)have);
    return tc_sh_out_strided(c, 0, m->dtype, &d, stride);
}
/* as_strided refers to the elements of a contiguous tensor; other tensors are copied to that form first. */
static tc_status alias_as_strided(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int64_t off = tc_k_given(k, 3) ? tc_k_int(k, 3) : 0, last = off, numel = tc_tensor_numel(t);
    *possible = tc_tensor_is_contiguous(t);
    if (!*possible) return NULL;
    bool empty = false;
    for (int d = 0; d < k->args[1].n; d++) {
        empty |= k->args[1].ints[d] == 0;
        last += (k->args[1].ints[d] - 1) * k->args[2].ints[d];
    }
    if (!empty && last >= numel)
        return tc_error(TC_CONTENT, "aten.as_strided: sizes and strides are out of bounds for storage of size %lld", (long long)numel);
    *out = tc_tensor_share(t);
    out->rank = k->args[1].n;
    out->offset += empty ? 0 : off;
    for (int d = 0; d < out->rank; d++) out->size[d] = k->args[1].ints[d], out->stride[d] = k->args[2].ints[d];
    return NULL;
}
/* index_put of the view's gradient at the storage positions of the view. */
static tc_value *strided_positions(tc_emit *e, const tc_node *n, tc_sym numel) {
    tc_arg end = {.kind = TC_A_SCALAR, .sym = numel, .is_sym = true};
    tc_value *all = tc_emit_call(e, "aten::arange", "a", &end);
    return tc_emit_call(e, "aten::as_strided", "vaaa", all, &n->args[1], &n->args[2], &n->args[3]);
}
static tc_status grad_as_strided(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    if (!tc_emit_wants_grad(e, n, 0)) return NULL;
    tc_sym numel = tc_meta_numel(tc_e_sym(e), m);
    tc_value *pos = tc_emit_call(e, "aten::flatten.using_ints", "v", strided_positions(e, n, numel));
    tc_value *zero = tc_emit_call(e, "aten::zeros", "Sd", &numel, 1, (int)gs[0]->meta.dtype);
    tc_value *sum = tc_emit_call(e, "aten::index_add", "vivv", zero, (int64_t)0, pos, tc_emit_call(e, "aten::flatten.using_ints", "v", gs[0]));
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::view", "vS", sum, m->size, m->rank));
    return tc_e_done(e);
}

/* ---- view as another type of the same width ---- */
static tc_status shape_view_dtype(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dtype d = tc_sh_dtype(c, 1, m->dtype);
    tc_dims r = tc_dims_of(m);
    int64_t a = (int64_t)tc_dtype_size(m->dtype), b = (int64_t)tc_dtype_size(d), n;
    tc_symctx *s = tc_sh_sym(c);
    if (a == b) return tc_sh_out_strided(c, 0, d, &r, m->stride);
    if (m->rank == 0)
        return tc_sh_fail(c, "self.dim() cannot be 0 to view %s as %s (different element sizes)", tc_dtypes[m->dtype].torch, tc_dtypes[d].torch);
    if (tc_sh_is_contiguous(c, m) != 1)
        return tc_sh_fail(c, "self.stride(-1) must be 1 to view %s as %s (different element sizes)", tc_dtypes[m->dtype].torch, tc_dtypes[d].torch);
    tc_sym *last = &r.size[m->rank - 1];
    if (a > b) {
        *last = tc_sym_mul(s, *last, tc_sym_int(s, a / b));
    } else {
        if (tc_sym_const_int(*last, &n) && n % (b / a))
            return tc_sh_fail(c, "self.size(-1) must be divisible by %lld to view %s as %s (different element sizes), but got %lld",
                              (long long)(b / a), tc_dtypes[m->dtype].torch, tc_dtypes[d].torch, (long long)n);
        *last = tc_sym_floordiv(s, *last, tc_sym_int(s, b / a));
    }
    return tc_sh_out(c, 0, d, &r);
}
static tc_status alias_view_dtype(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    tc_dtype d = k->args[1].dtype;
    int64_t a = (int64_t)tc_dtype_size(t->dtype), b = (int64_t)tc_dtype_size(d);
    *possible = a == b || (tc_tensor_is_contiguous(t) && (t->offset * a) % b == 0);
    if (!*possible) return NULL;
    *out = tc_tensor_share(t);
    out->dtype = d;
    if (a == b) return NULL;
    out->offset = t->offset * a / b;
    out->size[t->rank - 1] = t->size[t->rank - 1] * a / b;
    tc_contiguous_strides(out->rank, out->size, out->stride);
    return NULL;
}

const tc_op tc_ops_view_strided[] = {VIEW("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal, grad_diagonal,
                                          "diagonal(f32[3,4]); diagonal(f32[2,3,4], -1, 1, 2)", "elements with equal indices of two dimensions"),
                                     VIEW("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold, grad_unfold,
                                          "unfold(f32[7,2], 0, 3, 2)", "windows of a dimension, in a new last one"),
                                     VIEW("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
                                          as_strided, grad_as_strided, "as_strided(f32[3,4], [2,2], [4,1], 1)",
                                          "any sizes and strides over the elements"),
                                     {.schema = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
                                      .flags = TC_OP_NONDIFF,
                                      .shape = shape_view_dtype,
                                      .view_alias = alias_view_dtype,
                                      .samples = "view(f32[3], torch.int32)",
                                      .doc = "the same bytes as another type"},
                                     {0}};
