/* Views: other sizes and strides over the same elements. A handful are primitive, here and in view_strided.c; the rest are written with
 * them (view_more.c).
 *
 *     view      row-major order of the elements kept          select    one index of a dimension
 *     permute   dimensions in another order                   slice     start, start + step, ... of a dimension
 *     expand    size 1 repeated (stride 0)
 *
 * Each says what PyTorch's strides would be (visible to the model), and how to alias concrete storage without
 * copying. How the base looks once a new value of the view has been written: view_inverse.c. */
#include "kernel/kernel.h"
#include "op/shape.h"
#include "op/view.h"

/* ---- view ---- */
/* The strides of new sizes over old ones: PyTorch's computeStride. 1: found, 0: impossible, -1: depends on symbols. */
static int view_strides(tc_symctx *s, const tc_dims *old, const tc_sym *stride, const tc_dims *now, tc_sym *out) {
    tc_sym one = tc_sym_int(s, 1), tensor = one, view = one, base = old->rank ? stride[old->rank - 1] : one;
    int v = now->rank - 1, unsure = 0;
    int64_t c;
    for (int k = 0; k < old->rank; k++) {
        if (tc_sym_is_int(old->size[k], 0)) { /* no elements: contiguous strides */
            for (tc_sym step = one; v >= 0; step = tc_sym_mul(s, step, tc_sym_max(s, now->size[v], one)), v--) out[v] = step;
            return 1;
        }
        unsure |= !tc_sym_const_int(old->size[k], &c) || !tc_sym_const_int(stride[k], &c);
    }
    for (int t = old->rank - 1; t >= 0; t--) {
        tensor = tc_sym_mul(s, tensor, old->size[t]);
        if (t > 0 && (old->size[t - 1] == one || tc_sym_known(s, tc_sym_op(s, TC_S_EQ, stride[t - 1], tc_sym_mul(s, tensor, base), NULL)) == 1))
            continue;
        while (v >= 0 && (tc_sym_simplify(s, view) != tc_sym_simplify(s, tensor) || now->size[v] == one)) {
            out[v] = tc_sym_mul(s, view, base);
            view = tc_sym_mul(s, view, now->size[v--]);
        }
        if (tc_sym_simplify(s, view) != tc_sym_simplify(s, tensor)) return unsure ? -1 : 0;
        if (t > 0) base = stride[t - 1], tensor = view = one;
    }
    for (; old->rank == 0 && v >= 0; v--) out[v] = one;
    return v < 0 ? 1 : unsure ? -1 : 0;
}

/* Computes a size given as -1 and checks the number of elements. */
static tc_status infer_size(tc_shape_ctx *c, const tc_meta *m, int arg, tc_dims *d) {
    tc_symctx *s = tc_sh_sym(c);
    tc_dims old = tc_dims_of(m);
    tc_sym numel = tc_dims_numel(c, &old), rest = tc_sym_int(s, 1);
    int infer = -1;
    int64_t v;
    d->rank = tc_sh_ints(c, arg, d->size, TC_MAX_RANK);
    if (d->rank > TC_MAX_RANK) return tc_sh_fail(c, "%d dimensions, at most %d", d->rank, TC_MAX_RANK);
    for (int k = 0; k < d->rank; k++) {
        if (tc_sym_const_int(d->size[k], &v) && v < 0) {
            if (v != -1) return tc_sh_fail(c, "invalid shape dimension %lld", (long long)v);
            if (infer >= 0) return tc_sh_fail(c, "only one dimension can be inferred");
            infer = k;
        } else {
            rest = tc_sym_mul(s, rest, d->size[k]);
        }
    }
    if (infer >= 0) {
        if (!tc_sh_not_zero(c, rest))
            return tc_sh_fail(
                c, "cannot reshape tensor of 0 elements into shape because the unspecified dimension size -1 can be any value and is ambiguous");
        d->size[infer] = tc_sym_floordiv(s, numel, rest);
        rest = tc_sym_mul(s, rest, d->size[infer]);
    }
    if (tc_sh_same(c, rest, numel)) return NULL;
    if (tc_sym_const_int(numel, &v)) return tc_sh_fail(c, "shape is invalid for input of size %lld", (long long)v);
    return tc_sh_fail(c, "shape is invalid for the input's size");
}

/* The sizes in argument 1; *out_ok 1: also their strides over the same memory, 0: there are none, -1: the tensor is contiguous, or it is unknown. */
static tc_status reshaped(tc_shape_ctx *c, tc_dims *out, tc_sym *out_stride, int *out_ok) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(infer_size(c, m, 1, out));
    const tc_dims old = tc_dims_of(m);
    *out_ok = m->stride && tc_sh_is_contiguous(c, m) != 1 ? view_strides(tc_sh_sym(c), &old, m->stride, out, out_stride) : -1;
    return NULL;
}

static tc_status shape_view(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym stride[TC_MAX_RANK];
    int ok;
    TC_TRY(reshaped(c, &d, stride, &ok));
    if (ok == 0)
        return tc_sh_fail(
            c, "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). "
               "Use .reshape(...) instead.");
    const bool strided = ok == 1 && tc_dims_numel(c, &d) != tc_sym_int(tc_sh_sym(c), 0);
    return tc_sh_out_strided(c, 0, tc_sh_meta(c, 0)->dtype, &d, strided ? stride : NULL);
}
static tc_status shape_unsafe_view(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(infer_size(c, tc_sh_meta(c, 0), 1, &d));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status shape_reshape(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym stride[TC_MAX_RANK];
    int ok;
    TC_TRY(reshaped(c, &d, stride, &ok));
    return tc_sh_out_strided(c, 0, tc_sh_meta(c, 0)->dtype, &d, ok == 1 ? stride : NULL);
}

/* The same for concrete sizes. */
static bool concrete_strides(const tc_tensor *t, int rank, const int64_t *size, int64_t *out) {
    int64_t tensor = 1, view = 1, base = t->rank ? t->stride[t->rank - 1] : 1;
    int v = rank - 1;
    if (tc_tensor_numel(t) == 0) {
        tc_contiguous_strides(rank, size, out);
        return true;
    }
    for (int k = t->rank - 1; k >= 0; k--) {
        tensor *= t->size[k];
        if (k > 0 && (t->size[k - 1] == 1 || t->stride[k - 1] == tensor * base)) continue;
        while (v >= 0 && (view < tensor || size[v] == 1)) {
            out[v] = view * base;
            view *= size[v--];
        }
        if (view != tensor) return false;
        if (k > 0) base = t->stride[k - 1], tensor = view = 1;
    }
    for (; t->rank == 0 && v >= 0; v--) out[v] = 1;
    return v < 0;
}
/* Are the elements of m evenly spaced in row-major order? */
static bool evenly_spaced(tc_program *p, const tc_meta *m) {
    tc_sym want = m->rank ? m->stride[m->rank - 1] : NULL;
    for (int i = m->rank; i-- > 0; want = tc_sym_mul(p->sym, want, m->size[i]))
        if (m->stride[i] != want) return false;
    return true;
}

/* Can a tensor like m be viewed with the sizes of `now`? If symbols do not decide, their example values do. -1: there are none. */
static int view_fits(tc_program *p, const tc_meta *m, const tc_meta *now) {
    const tc_dims from = tc_dims_of(m), to = tc_dims_of(now);
    tc_sym stride[TC_MAX_RANK];
    tc_tensor t = {.rank = m->rank};
    int64_t size[TC_MAX_RANK], out[TC_MAX_RANK];
    if (!m->stride || evenly_spaced(p, m)) return 1;
    const int fits = view_strides(p->sym, &from, m->stride, &to, stride);
    if (fits >= 0) return fits;
    for (int i = 0; i < m->rank; i++)
        if (!tc_program_example(p, m->size[i], &t.size[i]) || !tc_program_example(p, m->stride[i], &t.stride[i])) return -1;
    for (int i = 0; i < now->rank; i++)
        if (!tc_program_example(p, now->size[i], &size[i])) return -1;
    return concrete_strides(&t, now->rank, size, out);
}
bool tc_view_fits(tc_program *p, const tc_meta *m, const tc_meta *now) { return view_fits(p, m, now) == 1; }

static tc_status alias_view(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    const tc_karg *a = &k->args[1];
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK], numel = tc_tensor_numel(t), rest = 1;
    int infer = -1;
    if (a->n > TC_MAX_RANK) return tc_error(TC_CONTENT, "aten.view: %d dimensions", a->n);
    for (int d = 0; d < a->n; d++) {
        size[d] = a->ints[d];
        if (size[d] == -1) infer = d;
        else rest *= size[d];
    }
    if (infer >= 0) size[infer] = rest ? numel / rest : 0;
    if ((infer >= 0 ? rest * size[infer] : rest) != numel)
        return tc_error(TC_CONTENT, "aten.view: shape is invalid for input of size %lld", (long long)numel);
    *possible = concrete_strides(t, a->n, size, stride);
    if (!*possible) return NULL;
    *out = tc_tensor_share(t);
    out->rank = a->n;
    memcpy(out->size, size, sizeof *size * (size_t)a->n);
    memcpy(out->stride, stride, sizeof *stride * (size_t)a->n);
    return NULL;
}
static tc_status grad_view(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::reshape", "vS", gs[0], m->size, m->rank));
    return tc_e_done(e);
}

/* ---- permute, transpose ---- */
static tc_status permuted(tc_shape_ctx *c, const int *order) {
    const tc_meta *m = tc_sh_meta(c, 0);
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims d = {.rank = m->rank};
    tc_sym stride[TC_MAX_RANK];
    bool identity = !m->stride;
    for (int k = 0; k < m->rank; k++) {
        d.size[k] = m->size[order[k]];
        stride[k] = from[order[k]];
        identity &= order[k] == k;
    }
    return tc_sh_out_strided(c, 0, m->dtype, &d, identity ? NULL : stride);
}
static tc_status shape_permute(tc_shape_ctx *c) {
    int64_t dims[TC_MAX_RANK];
    int order[TC_MAX_RANK];
    uint64_t seen = 0;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    int n = tc_sh_const_ints(c, 1, dims, TC_MAX_RANK);
    if (n != m->rank)
        return tc_sh_fail(c,
                          "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
                          "dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
                          m->rank, n);
    for (int k = 0; k < n; k++) {
        TC_TRY(tc_sh_wrap_dim(c, dims[k], m->rank, &order[k]));
        if (seen >> order[k] & 1) return tc_sh_fail(c, "permute(): duplicate dims are not allowed.");
        seen |= (uint64_t)1 << order[k];
    }
    return permuted(c, order);
}
static tc_status shape_transpose(tc_shape_ctx *c) {
    int a, b, order[TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &a));
    TC_TRY(tc_sh_dim_arg(c, 2, m->rank, &b));
    for (int k = 0; k < m->rank; k++) order[k] = k;
    if (m->rank) order[a] = b, order[b] = a;
    return permuted(c, order);
}
static void alias_order(const tc_tensor *t, const int *order, tc_tensor *out) {
    *out = tc_tensor_share(t);
    for (int d = 0; d < t->rank; d++) {
        out->size[d] = t->size[order[d]];
        out->stride[d] = t->stride[order[d]];
    }
}
static tc_status alias_permute(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int order[TC_MAX_RANK];
    for (int d = 0; d < t->rank; d++) order[d] = tc_wrap(k->args[1].ints[d], t->rank);
    alias_order(t, order, out);
    *possible = true;
    return NULL;
}
static tc_status alias_transpose(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int order[TC_MAX_RANK], a = tc_wrap(tc_k_int(k, 1), t->rank), b = tc_wrap(tc_k_int(k, 2), t->rank);
    for (int d = 0; d < t->rank; d++) order[d] = d;
    if (t->rank) order[a] = b, order[b] = a;
    alias_order(t, order, out);
    *possible = true;
    return NULL;
}
static tc_value *unpermute(tc_emit *e, const tc_node *n, tc_value *v) {
    int64_t dims[TC_MAX_RANK], back[TC_MAX_RANK];
    int rank = tc_arg_meta(n, 0)->rank;
    if (tc_arg_ints(n, 1, dims, TC_MAX_RANK) < 0) return v;
    for (int k = 0; k < rank; k++) back[tc_wrap(dims[k], rank)] = k;
    return tc_emit_call(e, "aten::permute", "vI", v, back, rank);
}
static tc_value *untranspose(tc_emit *e, const tc_node *n, tc_value *v) {
    return tc_emit_call(e, "aten::transpose.int", "vaa", v, &n->args[1], &n->args[2]);
}
static tc_status grad_permute(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, unpermute(e, n, gs[0]));
    return tc_e_done(e);
}
static tc_status grad_transpose(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, untranspose(e, n, gs[0]));
    return tc_e_done(e);
}

/* ---- expand ---- */
static tc_status shape_expand(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym stride[TC_MAX_RANK], zero = tc_sym_int(tc_sh_sym(c), 0);
    int64_t v;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    const tc_sym *from = tc_sh_strides(c, m);
    d.rank = tc_sh_ints(c, 1, d.size, TC_MAX_RANK);
    if (d.rank > TC_MAX_RANK) return tc_sh_fail(c, "%d dimensions, at most %d", d.rank, TC_MAX_RANK);
    if (d.rank < m->rank)
        return tc_sh_fail(c, "the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d)", d.rank,
                          m->rank);
    int lead = d.rank - m->rank;
    bool plain = lead == 0 && !m->stride;
    for (int k = 0; k < d.rank; k++) {
        bool keep = tc_sym_const_int(d.size[k], &v) && v == -1;
        if (tc_sym_const_int(d.size[k], &v) && v < -1)
            return tc_sh_fail(c, "The expanded size of the tensor (%lld) isn't allowed in dimension %d", (long long)v, k);
        if (k < lead) {
            if (keep) return tc_sh_fail(c, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", k);
            stride[k] = zero;
            continue;
        }
        tc_sym own = m->size[k - lead];
        if (keep) d.size[k] = own;
        if (own != d.size[k] && tc_sh_repeats(c, own, d.size[k]) && !tc_sh_is_one(c, d.size[k])) {
            stride[k] = zero;
            plain = false;
            continue;
        }
        if (!tc_sh_same(c, own, d.size[k])) {
            int64_t a = 0;
            tc_sym_const_int(own, &a);
            tc_sym_const_int(d.size[k], &v);
            return tc_sh_fail(c, "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension %d",
                              (long long)v, (long long)a, k);
        }
        stride[k] = from[k - lead];
    }
    return tc_sh_out_strided(c, 0, m->dtype, &d, plain ? NULL : stride);
}
static tc_status alias_expand(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    const tc_karg *a = &k->args[1];
    int lead = a->n - t->rank;
    if (lead < 0 || a->n > TC_MAX_RANK) return tc_error(TC_CONTENT, "aten.expand: %d sizes for %d dimensions", a->n, t->rank);
    *out = tc_tensor_share(t);
    out->rank = a->n;
    for (int d = 0; d < a->n; d++) {
        int64_t own = d < lead ? 1 : t->size[d - lead], want = a->ints[d] == -1 ? own : a->ints[d];
        if (own != 1 && own != want)
            return tc_error(TC_CONTENT,
                            "aten.expand: The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension %d",
                            (long long)want, (long long)own, d);
        out->size[d] = want;
        out->stride[d] = d < lead || (own == 1 && want != 1) ? 0 : t->stride[d - lead];
    }
    *possible = true;
    return NULL;
}
static tc_status grad_expand(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* tc_e_give sums over expanded dimensions */
    tc_e_give(e, n, 0, gs[0]);
    return tc_e_done(e);
}

/* ---- select, slice ---- */
static tc_status shape_select(tc_shape_ctx *c) {
    int d;
    int64_t n, i;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank == 0) return tc_sh_fail_as(c, "IndexError", "select() cannot be applied to a 0-dim tensor.");
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    tc_symctx *s = tc_sh_sym(c);
    tc_sym index = tc_sh_int(c, 2);
    if (tc_sym_const_int(index, &i)) {
        if (tc_sym_const_int(m->size[d], &n) && (i < -n || i >= n))
            return tc_sh_fail_as(c, "IndexError", "select(): index %lld out of range for tensor of size %lld at dimension %d", (long long)i,
                                 (long long)n, d);
        tc_sym need = tc_sym_int(s, i < 0 ? -i : i + 1);
        if (!tc_sh_guard(c, tc_sym_op(s, TC_S_LE, need, m->size[d], NULL)))
            return tc_sh_fail_as(c, "IndexError", "select(): index %lld out of range at dimension %d", (long long)i, d);
    }
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = {0};
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) {
        if (k == d) continue;
        stride[r.rank] = from[k];
        r.size[r.rank++] = m->size[k];
    }
    return tc_sh_out_strided(c, 0, m->dtype, &r, d == 0 && !m->stride ? NULL : stride);
}
static tc_status alias_select(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int d = tc_wrap(tc_k_int(k, 1), t->rank);
    int64_t i = tc_k_int(k, 2);
    if (i < 0) i += t->size[d];
    if (i < 0 || i >= t->size[d])
        return tc_error(TC_CONTENT, "IndexError: aten.select.int: index %lld out of range for size %lld at dimension %d", (long long)tc_k_int(k, 2),
                        (long long)t->size[d], d);
    *out = tc_tensor_share(t);
    out->offset += i * t->stride[d];
    out->rank--;
    for (int j = d; j < out->rank; j++) out->size[j] = t->size[j + 1], out->stride[j] = t->stride[j + 1];
    *possible = true;
    return NULL;
}
static tc_status grad_select(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::select_backward", "vSaa", gs[0], m->size, m->rank, &n->args[1], &n->args[2]));
    return tc_e_done(e);
}

tc_sym tc_slice_bound(tc_symctx *s, tc_sym v, tc_sym size, bool end) {
    int64_t i;
    tc_sym zero = tc_sym_int(s, 0);
    if (!v) return end ? size : zero;
    if (v == size) return size;
    if (tc_sym_const_int(v, &i)) {
        if (i == INT64_MAX) return size;
        if (i >= 0) return tc_sym_min(s, v, size);
        return tc_sym_max(s, tc_sym_add(s, size, v), zero);
    }
    int negative = tc_sym_known(s, tc_sym_op(s, TC_S_LT, v, zero, NULL));
    tc_sym below = tc_sym_max(s, tc_sym_add(s, size, v), zero), above = tc_sym_min(s, v, size);
    if (negative < 0) return tc_sym_op(s, TC_S_WHERE, tc_sym_op(s, TC_S_LT, v, zero, NULL), below, above);
    return negative ? below : above;
}
tc_sym tc_slice_length(tc_symctx *s, tc_sym start, tc_sym end, tc_sym step) {
    tc_sym zero = tc_sym_int(s, 0), span = tc_sym_sub(s, end, start);
    if (tc_sym_known(s, tc_sym_op(s, TC_S_LE, start, end, NULL)) != 1) span = tc_sym_max(s, span, zero);
    return tc_sym_is_int(step, 1) ? span : tc_sym_ceildiv(s, span, step);
}
static tc_status shape_slice(tc_shape_ctx *c) {
    int d;
    int64_t v;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank == 0) return tc_sh_fail(c, "slice() cannot be applied to a 0-dim tensor.");
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    tc_symctx *s = tc_sh_sym(c);
    tc_sym step = tc_sh_int(c, 4);
    if (tc_sym_const_int(step, &v) && v <= 0) return tc_sh_fail(c, "slice step must be positive");
    tc_sym start = tc_slice_bound(s, tc_sh_given(c, 2) ? tc_sh_int(c, 2) : NULL, m->size[d], false);
    tc_sym end = tc_slice_bound(s, tc_sh_given(c, 3) ? tc_sh_int(c, 3) : NULL, m->size[d], true);
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = tc_dims_of(m);
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) stride[k] = from[k];
    r.size[d] = tc_slice_length(s, start, end, step);
    stride[d] = tc_sym_mul(s, from[d], step);
    bool same = !m->stride && ((r.size[d] == m->size[d] && tc_sym_is_int(step, 1)) || (d == 0 && tc_sym_is_int(step, 1)));
    return tc_sh_out_strided(c, 0, m->dtype, &r, same ? NULL : stride);
}
static tc_status alias_slice(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int d = tc_wrap(tc_k_int(k, 1), t->rank);
    int64_t n = t->size[d], a = tc_k_given(k, 2) ? tc_k_int(k, 2) : 0, b = tc_k_given(k, 3) ? tc_k_int(k, 3) : n, step = tc_k_int(k, 4);
    if (step <= 0) return tc_error(TC_CONTENT, "aten.slice.Tensor: slice step must be positive");
    a = a < 0 ? (a + n < 0 ? 0 : a + n) : a > n ? n : a;
    b = b < 0 ? (b + n < 0 ? 0 : b + n) : b > n ? n : b;
    if (b < a) b = a;
    *out = tc_tensor_share(t);
    out->size[d] = (b - a) / step + ((b - a) % step != 0);
    out->offset += out->size[d] ? a * t->stride[d] : 0;
    if (__builtin_mul_overflow(t->stride[d], step, &out->stride[d])) out->stride[d] = t->stride[d];
    *possible = true;
    return NULL;
}
static tc_status grad_slice(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_sym size = m->size[tc_wrap(tc_arg_int(n, 1), m->rank)];
    tc_sym start = tc_slice_bound(s, tc_arg_is_none(n, 2) ? NULL : tc_arg_sym(n, 2), size, false);
    tc_sym end = tc_slice_bound(s, tc_arg_is_none(n, 3) ? NULL : tc_arg_sym(n, 3), size, true);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::slice_backward", "vSassa", gs[0], m->size, m->rank, &n->args[1], start, end, &n->args[4]));
    return tc_e_done(e);
}

/* ---- squeeze, unsqueeze ---- */
/* Which of the given dimensions have size 1. A symbolic size that may be 1 is guarded to be as in the example. */
static tc_status squeezed(tc_shape_ctx *c, uint64_t asked, uint64_t *out_gone) {
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    *out_gone = 0;
    for (int k = 0; k < m->rank; k++) {
        if (!(asked >> k & 1)) continue;
        if (tc_sh_as_one(c, m->size[k]) || tc_sh_branch(c, tc_sym_op(s, TC_S_EQ, m->size[k], tc_sym_int(s, 1), NULL))) *out_gone |= (uint64_t)1 << k;
    }
    return NULL;
}
static tc_status shape_squeeze(tc_shape_ctx *c) {
    uint64_t asked, gone;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (c->nargs == 1) {
        asked = ~(uint64_t)0;
    } else {
        int64_t d[64];
        int n = tc_sh_const_ints(c, 1, d, 64);
        asked = 0;
        if (n > 0) TC_TRY(tc_sh_dim_mask(c, 1, m->rank, &asked));
    }
    TC_TRY(squeezed(c, asked, &gone));
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = {0};
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) {
        if (gone >> k & 1) continue;
        stride[r.rank] = from[k];
        r.size[r.rank++] = m->size[k];
    }
    return tc_sh_out_strided(c, 0, m->dtype, &r, m->stride ? stride : NULL);
}
static tc_status alias_squeeze(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    uint64_t asked = k->nargs == 1 ? ~(uint64_t)0 : 0;
    if (k->nargs > 1 && k->args[1].kind == TC_K_INTS)
        for (int i = 0; i < k->args[1].n; i++) asked |= (uint64_t)1 << tc_wrap(k->args[1].ints[i], t->rank);
    else if (k->nargs > 1) asked = (uint64_t)1 << tc_wrap(tc_k_int(k, 1), t->rank);
    *out = tc_tensor_share(t);
    out->rank = 0;
    for (int d = 0; d < t->rank; d++) {
        if (asked >> d & 1 && t->size[d] == 1) continue;
        out->size[out->rank] = t->size[d];
        out->stride[out->rank++] = t->stride[d];
    }
    *possible = true;
    return NULL;
}
static tc_status shape_unsqueeze(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank + 1 > TC_MAX_RANK) return tc_sh_fail(c, "more than %d dimensions", TC_MAX_RANK);
    TC_TRY(tc_sh_wrap_dim(c, tc_sh_const(c, 1), m->rank + 1, &d));
    const tc_sym *from = tc_sh_strides(c, m);
    tc_dims r = {.rank = m->rank + 1};
    tc_sym stride[TC_MAX_RANK];
    for (int k = 0, j = 0; k < r.rank; k++) {
        r.size[k] = k == d ? tc_sym_int(tc_sh_sym(c), 1) : m->size[j];
        stride[k] = k == d ? (d < m->rank ? tc_sym_mul(tc_sh_sym(c), m->size[j], from[j]) : tc_sym_int(tc_sh_sym(c), 1)) : from[j];
        if (k != d) j++;
    }
    return tc_sh_out_strided(c, 0, m->dtype, &r, m->stride ? stride : NULL);
}
static tc_status alias_unsqueeze(const tc_kcall *k, tc_tensor *out, bool *possible) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    int d = tc_wrap(tc_k_int(k, 1), t->rank + 1);
    *out = tc_tensor_share(t);
    out->rank = t->rank + 1;
    for (int j = t->rank; j > d; j--) out->size[j] = t->size[j - 1], out->stride[j] = t->stride[j - 1];
    out->size[d] = 1;
    out->stride[d] = d < t->rank ? t->size[d] * t->stride[d] : 1;
    *possible = true;
    return NULL;
}

static tc_status decompose_reshape(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_dims d = {0};
    tc_sym rest = tc_sym_int(s, 1);
    int64_t v;
    int infer = -1;
    d.rank = n->args[1].n;
    for (int k = 0; k < d.rank && k < TC_MAX_RANK; k++) {
        d.size[k] = n->args[1].syms[k];
        if (tc_sym_const_int(d.size[k], &v) && v == -1) infer = k;
        else rest = tc_sym_mul(s, rest, d.size[k]);
    }
    if (infer >= 0) d.size[infer] = tc_sym_floordiv(s, tc_meta_numel(s, &x->meta), rest);
    tc_program *p = e->graph->program;
    const tc_meta now = tc_meta_make(&p->arena, x->meta.dtype, d.rank, d.size, NULL);
    const bool copy = !tc_sh_kept_in(p, &x->meta, 1) && view_fits(p, &x->meta, &now) == 0;
    if (copy) x = tc_emit_call(e, "aten::clone", "va", x, &(tc_arg){.kind = TC_A_MEMFORMAT, .code = 1});
    tc_emit_result(e, 0, tc_emit_call(e, copy ? "aten::_unsafe_view" : "aten::view", "vS", x, d.size, d.rank));
    return tc_e_done(e);
}

const tc_op tc_ops_view[] = {
    RESIZED("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view, "view(f32[2,6], [3,4]); view(f32[2,6], [-1])",
            "the same elements in other sizes"),
    {.schema = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
     .flags = TC_OP_SAME_ORDER,
     .shape = shape_unsafe_view,
     .view_alias = alias_view,
     .grad = grad_view,
     .samples = "_unsafe_view(f32[2,6], [3,4])",
     .doc = "the same elements in other sizes"},
    {.schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
     .shape = shape_reshape,
     .decompose = decompose_reshape,
     .samples = "reshape(f32[2,6], [3,-1])",
     .doc = "view, or a copy where that is impossible"},
    VIEW("permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute, grad_permute, "permute(f32[2,3,4], [2,0,1])", "dimensions in another order"),
    VIEW("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, grad_transpose, "transpose(f32[2,3,4], 0, -1)",
         "two dimensions exchanged"),
    VIEW("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", expand, grad_expand, "expand(f32[3,1], [2,3,4])",
         "size 1 repeated"),
    {.schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .shape = shape_select,
     .otherwise = &tc_select_otherwise,
     .view_alias = alias_select,
     .grad = grad_select,
     .samples = "select(f32[3,4], 1, -1)",
     .doc = "one index of a dimension"},
    VIEW("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", slice, grad_slice,
         "slice(f32[7,4], 0, 1, 6, 2)", "start, start + step, ... below end"),
    RESIZED("squeeze(Tensor(a) self) -> Tensor(a)", squeeze, "squeeze(f32[1,3,1])", "without dimensions of size 1"),
    RESIZED("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze, "squeeze(f32[1,3,1], 0)", "without that dimension if its size is 1"),
    RESIZED("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze, "squeeze(f32[1,3,1], [0,2])",
            "without those dimensions whose size is 1"),
    RESIZED("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze, "unsqueeze(f32[3,4], -1)", "a new dimension of size 1"),
    {0}};
