/* Moving elements about: cat, stack, padding, flip, roll, repeat, triangles, and writing into a part of a tensor (the scatter forms
 * of select, slice and diagonal, and the backward operators of those views).
 *
 *     cat       one store a piece, at its offset                pad    load at index - left where that lies inside, else the value
 *     slice_scatter   the source inside the slice, else self    roll   load at (index - shift) mod size */
#include "op/lower.h"
#include "op/shape.h"

static tc_status refuse(const tc_node *n, const char *text) { return tc_error(TC_CONTENT, "%s: %s", tc_op_name(n->op), text); }
static tc_lv integer(tc_lower *l, int64_t v) { return tc_l_const(l, TC_I64, tc_scalar_int(v)); }
static tc_lv both(tc_lower *l, tc_lv a, tc_lv b) { return a == TC_LV_NONE ? b : b == TC_LV_NONE ? a : tc_l_op2(l, TC_X_AND, a, b); }
static tc_lv zero(tc_lower *l) { return tc_l_cast(l, integer(l, 0), tc_l_type(l, 0)); }
static tc_sym sint(const tc_lower *l, int64_t v) { return tc_sym_int(l->loop->sym, v); }
static tc_affine at(tc_lower *l, const tc_meta *m, int d, int axis) {
    return tc_sym_is_int(m->size[d], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, axis);
}

/* ---- cat, stack ---- */
static bool legacy_empty(const tc_meta *m) { return m->rank == 1 && tc_sym_is_int(m->size[0], 0); }
static tc_status shape_cat(tc_shape_ctx *c) {
    const tc_meta *m[4096], *first = NULL;
    int n = tc_sh_tensors(c, 0, m, 4096), d = 0;
    if (n > 4096) return tc_sh_fail(c, "%d tensors, at most 4096", n);
    if (n == 0) return tc_sh_fail_as(c, "ValueError", "expected a non-empty list of Tensors");
    for (int k = 0; k < n; k++) {
        if (m[k]->rank == 0) return tc_sh_fail(c, "zero-dimensional tensor (at position %d) cannot be concatenated", k);
        if (!first && !legacy_empty(m[k])) first = m[k];
    }
    if (!first) first = m[0];
    TC_TRY(tc_sh_dim_arg(c, 1, first->rank, &d));
    tc_dims dims = tc_dims_of(first);
    bool started = false;
    for (int k = 0; k < n; k++) {
        if (legacy_empty(m[k]) && first->rank != 1) continue;
        if (m[k]->rank != first->rank) return tc_sh_fail(c, "Tensors must have same number of dimensions: got %d and %d", first->rank, m[k]->rank);
        for (int j = 0; j < first->rank; j++) {
            int64_t a = 0, b = 0;
            if (j == d || tc_sh_same(c, dims.size[j], m[k]->size[j])) continue;
            tc_sym_const_int(dims.size[j], &a);
            tc_sym_const_int(m[k]->size[j], &b);
            return tc_sh_fail(
                c, "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for tensor number %d in the list.", d,
                (long long)a, (long long)b, k);
        }
        dims.size[d] = started ? tc_sym_add(tc_sh_sym(c), dims.size[d], m[k]->size[d]) : m[k]->size[d];
        started = true;
    }
    return tc_sh_out(c, 0, tc_sh_result_type(c, 1, (int[]){0}), &dims);
}
static tc_status lower_cat(tc_lower *l) {
    const tc_arg *list = &l->node->args[0];
    int rank = l->result_axes, d = tc_wrap(tc_arg_int(l->node, 1), rank);
    tc_sym offset = sint(l, 0);
    for (int k = 0; k < list->n; k++) {
        const tc_meta *m = &list->values[k]->meta;
        if (legacy_empty(m) && rank != 1) continue;
        tc_affine from[TC_MAX_RANK], to[TC_MAX_RANK];
        int a = tc_l_new_axis(l, m->size[d]);
        for (int j = 0; j < rank; j++) {
            from[j] = j == d ? tc_l_axis(l, a) : at(l, m, j, j);
            to[j] = j == d ? tc_l_affine(l, offset, a, sint(l, 1)) : at(l, m, j, j);
        }
        TC_TRY(tc_l_out_at(l, 0, to, tc_l_cast(l, tc_l_load(l, list->values[k], from, NULL, TC_LV_NONE), tc_l_type(l, 0)), TC_LV_NONE));
        offset = tc_sym_add(l->loop->sym, offset, m->size[d]);
    }
    return l->status;
}
static tc_status grad_cat(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_arg *list = &n->args[0];
    int rank = n->outs[0]->meta.rank;
    int64_t d = tc_wrap(tc_arg_int(n, 1), rank);
    tc_symctx *s = tc_e_sym(e);
    tc_sym offset = tc_sym_int(s, 0);
    for (int k = 0; k < list->n; k++) {
        const tc_meta *m = &list->values[k]->meta;
        if (legacy_empty(m) && rank != 1) {
            tc_emit_grad_list(e, 0, k, tc_e_zeros_like(e, list->values[k]));
            continue;
        }
        tc_sym end = tc_sym_add(s, offset, m->size[d]);
        tc_emit_grad_list(e, 0, k, tc_e_cast(e, tc_emit_call(e, "aten::slice.Tensor", "viss", gs[0], d, offset, end), m->dtype));
        offset = end;
    }
    return tc_e_done(e);
}
static tc_status decompose_cat(tc_emit *e, const tc_node *n) { return tc_e_forward(e, "aten::cat", n); }
static tc_status decompose_stack(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    if (list->n == 0) return refuse(n, "stack expects a non-empty TensorList");
    int rank = list->values[0]->meta.rank + 1;
    int64_t d = tc_arg_int(n, 1);
    if (d < -rank || d >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)d);
    d = tc_wrap(d, rank);
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)list->n);
    for (int k = 0; k < list->n; k++) {
        tc_symctx *s = tc_e_sym(e);
        const tc_meta *a = &list->values[0]->meta, *b = &list->values[k]->meta;
        bool same = a->rank == b->rank;
        for (int j = 0; same && j < a->rank; j++) same = tc_sym_known(s, tc_sym_op(s, TC_S_EQ, a->size[j], b->size[j], NULL)) != 0;
        if (!same) {
            tc_buf t = {0};
            tc_buf_puts(&t, "stack expects each tensor to be equal size, but got ");
            tc_value_print_type(&t, list->values[0]);
            tc_buf_puts(&t, " at entry 0 and ");
            tc_value_print_type(&t, list->values[k]);
            tc_buf_printf(&t, " at entry %d", k);
            tc_status st = refuse(n, tc_buf_str(&t));
            tc_buf_free(&t);
            return st;
        }
        v[k] = tc_emit_call(e, "aten::unsqueeze", "vi", list->values[k], d);
    }
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", v, list->n, d));
    return tc_e_done(e);
}
/* hstack, vstack, dstack, column_stack, row_stack */
static tc_status decompose_xstack(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    const char *name = tc_op_schema(n->op)->name;
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(list->n ? list->n : 1));
    bool h = name[0] == 'h', d3 = name[0] == 'd', col = name[0] == 'c';
    if (list->n == 0) return tc_error(TC_CONTENT, "%s: %s expects a non-empty TensorList", tc_op_name(n->op), name);
    for (int k = 0; k < list->n; k++) {
        tc_value *x = list->values[k];
        if (col) {
            if (x->meta.rank <= 1)
                x = tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){tc_meta_numel(tc_e_sym(e), &x->meta), tc_sym_int(tc_e_sym(e), 1)}, 2);
        } else {
            x = tc_e1(e, h ? "aten::atleast_1d" : d3 ? "aten::atleast_3d" : "aten::atleast_2d", x);
        }
        v[k] = x;
    }
    int64_t dim = h ? (v[0] && v[0]->meta.rank == 1 ? 0 : 1) : d3 ? 2 : col ? 1 : 0;
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", v, list->n, dim));
    return tc_e_done(e);
}

/* ---- padding: pairs (left, right) from the last dimension on ---- */
static tc_status padded(tc_shape_ctx *c, tc_dims *d) {
    tc_sym pad[2 * TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    int n = tc_sh_ints(c, 1, pad, 2 * TC_MAX_RANK);
    int64_t v;
    if (n % 2) return tc_sh_fail(c, "Length of pad must be even but instead it equals %d", n);
    if (n / 2 > m->rank)
        return tc_sh_fail(
            c,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d while the input has %d dimensions.",
            n, m->rank);
    *d = tc_dims_of(m);
    for (int k = 0; k < n / 2; k++) {
        tc_sym *size = &d->size[m->rank - 1 - k];
        *size = tc_sym_add(s, *size, tc_sym_add(s, pad[2 * k], pad[2 * k + 1]));
        if (tc_sym_const_int(*size, &v) && v < 0) {
            int64_t a = 0, p = 0, q = 0;
            tc_sym_const_int(m->size[m->rank - 1 - k], &a);
            tc_sym_const_int(pad[2 * k], &p);
            tc_sym_const_int(pad[2 * k + 1], &q);
            return tc_sh_fail(c,
                              "The input size %lld, plus negative padding %lld and %lld resulted in a negative output size, which is invalid. Check "
                              "dimension %d of your input.",
                              (long long)a, (long long)p, (long long)q, m->rank - 1 - k);
        }
    }
    return NULL;
}
static tc_status shape_constant_pad(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(padded(c, &d));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status lower_constant_pad(tc_lower *l) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, 0);
    const tc_arg *pad = &n->args[1];
    tc_symctx *s = l->loop->sym;
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv inside = TC_LV_NONE;
    for (int d = 0; d < m->rank; d++) {
        int k = m->rank - 1 - d;
        bool has = k < pad->n / 2, none = !has || (tc_sym_is_int(pad->syms[2 * k], 0) && tc_sym_is_int(pad->syms[2 * k + 1], 0));
        if (none) {
            index[d] = at(l, m, d, d);
            continue;
        }
        index[d] = tc_l_affine(l, tc_sym_neg(s, pad->syms[2 * k]), d, sint(l, 1));
        tc_lv i = tc_l_index(l, index[d]);
        inside = both(l, inside, both(l, tc_l_op2(l, TC_X_GE, i, integer(l, 0)), tc_l_op2(l, TC_X_LT, i, tc_l_host(l, TC_I64, m->size[d]))));
    }
    tc_lv v = tc_l_load(l, tc_arg_value(n, 0), index, NULL, inside);
    return tc_l_out(l, 0, inside == TC_LV_NONE ? v : tc_l_where(l, inside, v, tc_l_in(l, 2)));
}
static tc_status grad_constant_pad(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_arg *pad = &n->args[1];
    tc_sym neg[2 * TC_MAX_RANK];
    for (int k = 0; k < pad->n && k < 2 * TC_MAX_RANK; k++) neg[k] = tc_sym_neg(tc_e_sym(e), pad->syms[k]);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::constant_pad_nd", "vSi", gs[0], neg, pad->n, (int64_t)0));
    return tc_e_done(e);
}
static bool reflects(const tc_op *op) { return !strncmp(tc_op_schema(op)->name, "reflection", 10); }
static bool wraps(const tc_op *op) { return !strcmp(tc_op_schema(op)->name, "_pad_circular"); }
static tc_status shape_border_pad(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym pad[2 * TC_MAX_RANK];
    const char *name = tc_op_schema(c->op)->name;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    int n = tc_sh_ints(c, 1, pad, 2 * TC_MAX_RANK), dims = wraps(c->op) ? n / 2 : name[strcspn(name, "0123456789")] - '0';
    if (n != 2 * dims) return tc_sh_fail(c, "padding size is expected to be %d, but got: %d", 2 * dims, n);
    if (m->rank != dims + 1 && m->rank != dims + 2) return tc_sh_fail(c, "Expected %dD or %dD (batch mode) tensor", dims + 1, dims + 2);
    for (int k = 0; k < 2 * dims; k++) {
        int64_t p, size;
        int at_dim = m->rank - 1 - k / 2;
        if (!tc_sym_const_int(m->size[at_dim], &size) || !tc_sym_const_int(pad[k], &p)) continue;
        if (reflects(c->op) && p >= size)
            return tc_sh_fail(
                c, "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding %lld at dimension %d of input",
                (long long)p, at_dim);
        if (wraps(c->op) && p > size) return tc_sh_fail(c, "Padding value causes wrapping around more than once.");
        if (size == 0) return tc_sh_fail(c, "Expected a non-empty input in dimension %d", at_dim);
    }
    TC_TRY(padded(c, &d));
    return tc_sh_out(c, 0, m->dtype, &d);
}
/* What circular padding repeats: the elements that negative padding leaves, from *out_lo on; returns how many. */
static tc_sym window(tc_symctx *s, tc_sym size, tc_sym before, tc_sym after, tc_sym *out_lo) {
    tc_sym zero = tc_sym_int(s, 0), lo = tc_sym_max(s, tc_sym_neg(s, before), zero), cut = tc_sym_max(s, tc_sym_neg(s, after), zero);
    *out_lo = lo;
    return tc_sym_sub(s, tc_sym_sub(s, size, lo), cut);
}
static tc_status lower_border_pad(tc_lower *l) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, 0);
    const tc_arg *pad = &n->args[1];
    tc_symctx *s = l->loop->sym;
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    for (int d = 0; d < m->rank; d++) {
        int k = m->rank - 1 - d;
        gather[d] = TC_LV_NONE;
        index[d] = at(l, m, d, d);
        if (k >= pad->n / 2) continue;
        tc_lv j = tc_l_index(l, tc_l_affine(l, tc_sym_neg(s, pad->syms[2 * k]), d, sint(l, 1))), size = tc_l_host(l, TC_I64, m->size[d]),
              last = tc_l_sub(l, size, integer(l, 1));
        if (wraps(n->op)) {
            tc_sym lo, w = window(s, m->size[d], pad->syms[2 * k], pad->syms[2 * k + 1], &lo);
            j = tc_l_sub(l, j, tc_l_host(l, TC_I64, lo));
            j = tc_l_add(l, tc_l_op2(l, TC_X_REMAINDER, j, tc_l_host(l, TC_I64, w)), tc_l_host(l, TC_I64, lo));
        } else if (reflects(n->op)) { /* |j|, then last - |last - j| */
            j = tc_l_op1(l, TC_X_ABS, j);
            j = tc_l_sub(l, last, tc_l_op1(l, TC_X_ABS, tc_l_sub(l, last, j)));
        } else {
            j = tc_l_op2(l, TC_X_MIN, tc_l_op2(l, TC_X_MAX, j, integer(l, 0)), last);
        }
        gather[d] = j;
        index[d] = tc_l_affine(l, NULL, -1, NULL);
    }
    return tc_l_out(l, 0, tc_l_load(l, tc_arg_value(n, 0), index, gather, TC_LV_NONE));
}
/* The gradient of each padded dimension is added up where its elements came from. */
static tc_value *border_pad_backward(tc_emit *e, const tc_op *op, const tc_meta *m, const tc_arg *pad, tc_value *g) {
    tc_symctx *s = tc_e_sym(e);
    for (int k = 0; g && k < pad->n / 2; k++) {
        int64_t d = m->rank - 1 - k;
        tc_sym size = m->size[d], last = tc_sym_sub(s, size, tc_sym_int(s, 1));
        tc_arg from = {.kind = TC_A_INT, .sym = tc_sym_neg(s, pad->syms[2 * k])},
               to = {.kind = TC_A_INT, .sym = tc_sym_add(s, size, pad->syms[2 * k + 1])}, top = {.kind = TC_A_INT, .sym = last};
        tc_value *j = tc_emit_call(e, "aten::arange.start", "aa", &from, &to);
        if (wraps(op)) {
            tc_sym lo, w = window(s, size, pad->syms[2 * k], pad->syms[2 * k + 1], &lo);
            tc_arg low = {.kind = TC_A_INT, .sym = lo}, wide = {.kind = TC_A_INT, .sym = w};
            j = tc_emit_call(e, "aten::remainder.Scalar", "va", tc_emit_call(e, "aten::sub.Tensor", "va", j, &low), &wide);
            j = tc_emit_call(e, "aten::add.Tensor", "va", j, &low);
        } else if (reflects(op)) {
            j = tc_e1(e, "aten::abs", j);
            j = tc_emit_call(e, "aten::rsub.Scalar", "va", tc_e1(e, "aten::abs", tc_emit_call(e, "aten::rsub.Scalar", "va", j, &top)), &top);
        } else {
            j = tc_emit_call(e, "aten::clamp", "via", j, (int64_t)0, &top);
        }
        tc_sym sizes[TC_MAX_RANK];
        for (int i = 0; g && i < m->rank; i++) sizes[i] = i == d ? size : g->meta.size[i];
        tc_value *into = g ? tc_emit_call(e, "aten::zeros", "Sd", sizes, m->rank, (int)g->meta.dtype) : NULL;
        g = tc_emit_call(e, "aten::index_add", "vivv", into, d, j, g);
    }
    return g;
}
static tc_status grad_border_pad(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, border_pad_backward(e, n->op, tc_arg_meta(n, 0), &n->args[1], gs[0]));
    return tc_e_done(e);
}
static tc_status decompose_border_pad_backward(tc_emit *e, const tc_node *n) { /* grad_output, self, padding */
    tc_emit_result(e, 0, border_pad_backward(e, n->op, tc_arg_meta(n, 1), &n->args[2], tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status shape_like_self(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 1));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 1));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status decompose_pad(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    const char *mode = tc_arg_string(n, 2);
    int pairs = n->args[1].n / 2, rank = x->meta.rank;
    if (n->args[1].n % 2) return refuse(n, "Padding length must be divisible by 2");
    if (pairs > rank)
        return tc_error(
            TC_CONTENT,
            "%s: Padding length should be less than or equal to two times the input dimension but got padding length %d and input of dimension %d",
            tc_op_name(n->op), n->args[1].n, rank);
    if (!mode || !strcmp(mode, "constant")) {
        tc_arg value = n->args[3];
        if (value.kind == TC_A_NONE) value = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(0)};
        tc_emit_result(e, 0, tc_emit_call(e, "aten::constant_pad_nd", "vaa", x, &n->args[1], &value));
        return tc_e_done(e);
    }
    if (n->args[3].kind != TC_A_NONE && tc_arg_float(n, 3) != 0)
        return tc_error(TC_CONTENT, "%s: Padding mode \"%s\" doesn't take in value argument", tc_op_name(n->op), mode);
    static const char *const reflect[] = {"aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d"};
    static const char *const replicate[] = {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"};
    bool r = !strcmp(mode, "reflect"), p = !strcmp(mode, "replicate"), c = !strcmp(mode, "circular");
    if (!r && !p && !c) return tc_error(TC_CONTENT, "NotImplementedError: %s: Unrecognised padding mode %s", tc_op_name(n->op), mode);
    if (pairs < 1 || pairs > 3 || (rank != pairs + 1 && rank != pairs + 2))
        return tc_error(TC_CONTENT, "NotImplementedError: %s: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now",
                        tc_op_name(n->op));
    tc_emit_result(e, 0, tc_emit_call(e, c ? "aten::_pad_circular" : r ? reflect[pairs - 1] : replicate[pairs - 1], "va", x, &n->args[1]));
    return tc_e_done(e);
}

/* ---- flip, roll, repeat ---- */
static tc_status shape_flip(tc_shape_ctx *c) {
    uint64_t mask = 0;
    int64_t d[64];
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (tc_sh_const_ints(c, 1, d, 64) > 0) TC_TRY(tc_sh_dim_mask(c, 1, tc_sh_meta(c, 0)->rank, &mask));
    tc_dims dims = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &dims);
}
static tc_status lower_flip(tc_lower *l) {
    const tc_meta *m = tc_arg_meta(l->node, 0);
    tc_symctx *s = l->loop->sym;
    uint64_t mask = l->node->args[1].n ? tc_arg_dim_mask(l->node, 1, m->rank) : 0;
    tc_affine index[TC_MAX_RANK] = {{0}};
    for (int d = 0; d < m->rank; d++)
        index[d] = mask >> d & 1 ? tc_l_affine(l, tc_sym_sub(s, m->size[d], sint(l, 1)), d, sint(l, -1)) : at(l, m, d, d);
    return tc_l_out(l, 0, tc_l_load(l, tc_arg_value(l->node, 0), index, NULL, TC_LV_NONE));
}
static tc_status grad_flip(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::flip", "va", gs[0], &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_fliplr(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    bool lr = !strcmp(tc_op_schema(n->op)->name, "fliplr");
    if (x->meta.rank < (lr ? 2 : 1)) return refuse(n, lr ? "Input must be >= 2-d." : "Input must be >= 1-d.");
    tc_emit_result(e, 0, tc_emit_call(e, "aten::flip", "vI", x, (int64_t[]){lr}, 1));
    return tc_e_done(e);
}
static tc_status shape_roll(tc_shape_ctx *c) {
    tc_sym shift[TC_MAX_RANK];
    int64_t dims[TC_MAX_RANK];
    int w;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    int n = tc_sh_ints(c, 1, shift, TC_MAX_RANK), k = tc_sh_const_ints(c, 2, dims, TC_MAX_RANK);
    if (n <= 0) return tc_sh_fail(c, "`shifts` required");
    if (k <= 0 && n != 1) return tc_sh_fail(c, "shifts and dimensions must align. shifts: %d, dims:0", n);
    if (k > 0 && n != k) return tc_sh_fail(c, "shifts and dimensions must align. shifts: %d, dims:%d", n, k);
    for (int i = 0; i < k; i++) {
        if (m->rank == 0) return tc_sh_fail_as(c, "IndexError", "Dimension specified as %lld but tensor has no dimensions", (long long)dims[i]);
        TC_TRY(tc_sh_wrap_dim(c, dims[i], m->rank, &w));
    }
    tc_dims d = tc_dims_of(m);
    return tc_sh_out(c, 0, m->dtype, &d);
}
static tc_status decompose_roll(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (n->args[2].n == 0) { /* over the flattened tensor */
        tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
        flat = tc_emit_call(e, "aten::roll", "vaI", flat, &n->args[1], (int64_t[]){0}, 1);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", flat, x->meta.size, x->meta.rank));
        return tc_e_done(e);
    }
    tc_symctx *s = tc_e_sym(e);
    tc_value *y = x;
    for (int k = 0; k < n->args[1].n && y; k++) { /* the end of the dimension before its beginning */
        int64_t d, v;
        tc_sym_const_int(n->args[2].syms[k], &d);
        if (x->meta.rank == 0 || tc_sym_is_int(x->meta.size[tc_wrap(d, x->meta.rank)], 0)) continue;
        d = tc_wrap(d, x->meta.rank);
        tc_sym size = x->meta.size[d], shift = tc_sym_mod(s, n->args[1].syms[k], tc_sym_max(s, size, tc_sym_int(s, 1))),
               cut = tc_sym_sub(s, size, shift);
        if (tc_sym_const_int(shift, &v) && v == 0) continue;
        tc_value *parts[2] = {tc_emit_call(e, "aten::slice.Tensor", "viss", y, d, cut, size),
                              tc_emit_call(e, "aten::slice.Tensor", "viis", y, d, (int64_t)0, cut)};
        y = tc_emit_call(e, "aten::cat", "Vi", parts, 2, d);
    }
    tc_emit_result(e, 0, y == x ? tc_e1(e, "aten::clone", x) : y);
    return tc_e_done(e);
}
static tc_status decompose_rot90(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t k = ((tc_arg_int(n, 1) % 4) + 4) % 4, d[64];
    int count = tc_arg_ints(n, 2, d, 64), rank = x->meta.rank;
    if (count != 2) return tc_error(TC_CONTENT, "%s: expected total rotation dims == 2, but got dims = %d", tc_op_name(n->op), count);
    if (rank < 2) return tc_error(TC_CONTENT, "%s: expected total dims >= 2, but got total dims = %d", tc_op_name(n->op), rank);
    for (int i = 0; i < 2; i++)
        if (d[i] < -rank || d[i] >= rank)
            return tc_error(TC_CONTENT, "%s: Rotation dim%d out of range, dim = %lld", tc_op_name(n->op), i, (long long)d[i]);
    int64_t a = tc_wrap(d[0], rank), b = tc_wrap(d[1], rank);
    if (a == b)
        return tc_error(TC_CONTENT, "%s: expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld", tc_op_name(n->op),
                        (long long)d[0], (long long)d[1]);
    tc_value *y = k == 0   ? tc_e1(e, "aten::clone", x)
                  : k == 2 ? tc_emit_call(e, "aten::flip", "vI", x, (int64_t[]){a, b}, 2)
                           : tc_emit_call(e, "aten::transpose.int", "vii", tc_emit_call(e, "aten::flip", "vI", x, k == 1 ? &b : &a, 1), a, b);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}
static tc_status shape_repeat(tc_shape_ctx *c) {
    tc_dims d;
    int64_t v;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    d.rank = tc_sh_ints(c, 1, d.size, TC_MAX_RANK);
    if (d.rank > TC_MAX_RANK) return tc_sh_fail(c, "%d dimensions", d.rank);
    if (d.rank < m->rank) return tc_sh_fail(c, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    for (int k = 0; k < d.rank; k++) {
        int j = k - (d.rank - m->rank);
        if (tc_sym_const_int(d.size[k], &v) && v < 0) return tc_sh_fail(c, "Trying to create tensor with negative dimension %lld", (long long)v);
        if (j >= 0) d.size[k] = tc_sym_mul(tc_sh_sym(c), d.size[k], m->size[j]);
    }
    return tc_sh_out(c, 0, m->dtype, &d);
}
static tc_status lower_repeat(tc_lower *l) {
    const tc_meta *m = tc_arg_meta(l->node, 0);
    const tc_arg *r = &l->node->args[1];
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    int lead = l->result_axes - m->rank;
    for (int d = 0; d < m->rank; d++) {
        bool once = tc_sym_is_int(r->syms[d + lead], 1), single = tc_sym_is_int(m->size[d], 1);
        gather[d] = TC_LV_NONE;
        index[d] = once && !single ? tc_l_axis(l, d + lead) : tc_l_affine(l, NULL, -1, NULL);
        if (!once && !single) gather[d] = tc_l_op2(l, TC_X_REMAINDER, tc_l_index(l, tc_l_axis(l, d + lead)), tc_l_host(l, TC_I64, m->size[d]));
    }
    return tc_l_out(l, 0, tc_l_load(l, tc_arg_value(l->node, 0), index, gather, TC_LV_NONE));
}
static tc_status grad_repeat(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    const tc_arg *r = &n->args[1];
    int lead = r->n - m->rank, k = 0, sums = 0;
    tc_sym size[2 * TC_MAX_RANK];
    int64_t dims[TC_MAX_RANK];
    for (int d = 0; d < r->n; d++) {
        bool once = d >= lead && tc_sym_is_int(r->syms[d], 1);
        if (!once) dims[sums++] = k, size[k++] = r->syms[d];
        if (d >= lead) size[k++] = m->size[d - lead];
    }
    if (k > TC_MAX_RANK) return refuse(n, "too many dimensions");
    tc_value *g = tc_emit_call(e, "aten::reshape", "vS", gs[0], size, k);
    tc_e_give(e, n, 0, sums ? tc_e_sum_dims(e, g, dims, sums, false) : g);
    return tc_e_done(e);
}
static tc_status decompose_tile(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_sym r[TC_MAX_RANK];
    int lead = x->meta.rank - n->args[1].n, k = 0;
    for (; k < lead; k++) r[k] = tc_sym_int(tc_e_sym(e), 1);
    for (int j = 0; j < n->args[1].n && k < TC_MAX_RANK; j++) r[k++] = n->args[1].syms[j];
    tc_emit_result(e, 0, tc_emit_call(e, "aten::repeat", "vS", x, r, k));
    return tc_e_done(e);
}
static tc_status decompose_repeat_interleave(tc_emit *e, const tc_node *n) { /* self, repeats, dim, output_size */
    tc_value *x = tc_arg_value(n, 0);
    int64_t v;
    tc_sym r = tc_arg_sym(n, 1);
    if (tc_sym_const_int(r, &v) && v < 0) return refuse(n, "Repeats must be non-negative");
    if (tc_arg_is_none(n, 2)) x = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    if (!x) return tc_e_done(e);
    int64_t given = tc_arg_is_none(n, 2) ? 0 : tc_arg_int(n, 2);
    int rank = x->meta.rank ? x->meta.rank : 1;
    if (given < -rank || given >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)given);
    int d = tc_wrap(given, rank);
    if (x->meta.rank == 0) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    tc_sym wide[TC_MAX_RANK + 1], flat[TC_MAX_RANK];
    for (int k = 0, j = 0; x && k < x->meta.rank; k++) {
        wide[j++] = x->meta.size[k];
        flat[k] = k == d ? tc_sym_mul(tc_e_sym(e), x->meta.size[k], r) : x->meta.size[k];
        if (k == d) wide[j++] = r;
    }
    tc_value *y = tc_emit_call(e, "aten::expand", "vS", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)d + 1), wide, x ? x->meta.rank + 1 : 0);
    y = tc_emit_call(e, "aten::clone", "va", y, &(tc_arg){.kind = TC_A_MEMFORMAT, .code = 1});
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_unsafe_view", "vS", y, flat, x ? x->meta.rank : 0));
    return tc_e_done(e);
}

/* ---- triangles ---- */
static tc_status shape_triangle(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank < 2) return tc_sh_fail(c, "input tensor must have at least 2 dimensions");
    tc_dims d = tc_dims_of(m);
    return tc_sh_out(c, 0, m->dtype, &d);
}
static tc_status lower_triangle(tc_lower *l) {
    int r = l->result_axes;
    bool lower = !strcmp(tc_op_schema(l->node->op)->name, "tril");
    tc_lv i = tc_l_index(l, tc_l_axis(l, r - 2)), j = tc_l_index(l, tc_l_axis(l, r - 1)),
          edge = tc_l_add(l, i, tc_l_host(l, TC_I64, tc_arg_sym(l->node, 1)));
    return tc_l_out(l, 0, tc_l_where(l, tc_l_op2(l, lower ? TC_X_LE : TC_X_GE, j, edge), tc_l_in(l, 0), zero(l)));
}
static tc_status grad_triangle(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, !strcmp(tc_op_schema(n->op)->name, "tril") ? "aten::tril" : "aten::triu", "va", gs[0], &n->args[1]));
    return tc_e_done(e);
}

/* ---- writing into a part: X_scatter(self, src, ...), X_backward(grad, input_sizes, ...) ---- */
static tc_status shape_backward(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    d.rank = tc_sh_ints(c, 1, d.size, TC_MAX_RANK);
    if (d.rank < 0 || d.rank > TC_MAX_RANK) return tc_sh_fail(c, "%d dimensions", d.rank);
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
/* src must have the sizes of the part; `part` are they */
static tc_status fits(tc_shape_ctx *c, const tc_dims *part) {
    const tc_meta *src = tc_sh_meta(c, 1);
    bool ok = src && src->rank == part->rank;
    for (int k = 0; ok && k < part->rank; k++) ok = tc_sh_same(c, src->size[k], part->size[k]);
    return ok ? NULL
              : tc_sh_fail(c, "expected src to have a size equal to the %.*s of self", (int)strcspn(tc_op_schema(c->op)->name, "_"),
                           tc_op_schema(c->op)->name);
}
static tc_status shape_select_scatter(tc_shape_ctx *c) {
    int d;
    int64_t i, size;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 2, m->rank, &d));
    if (tc_sym_const_int(tc_sh_int(c, 3), &i) && m->rank && tc_sym_const_int(m->size[d], &size) && (i < -size || i >= size))
        return tc_sh_fail_as(c, "IndexError", "select(): index %lld out of range for tensor of size %lld at dimension %d", (long long)i,
                             (long long)size, d);
    tc_dims part = tc_dims_reduced(c, m, (uint64_t)1 << d, false);
    TC_TRY(fits(c, &part));
    return tc_shape_same(c);
}
static tc_status shape_slice_scatter(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    TC_TRY(tc_sh_dim_arg(c, 2, m->rank, &d));
    if (m->rank == 0) return tc_sh_fail(c, "slice() cannot be applied to a 0-dim tensor.");
    tc_sym a = tc_slice_bound(s, tc_sh_given(c, 3) ? tc_sh_int(c, 3) : NULL, m->size[d], false),
           b = tc_slice_bound(s, tc_sh_given(c, 4) ? tc_sh_int(c, 4) : NULL, m->size[d], true);
    tc_dims part = tc_dims_of(m);
    part.size[d] = tc_slice_length(s, a, b, tc_sh_int(c, 5));
    TC_TRY(fits(c, &part));
    return tc_shape_same(c);
}
static tc_status shape_diagonal_scatter(tc_shape_ctx *c) {
    int a, b;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    TC_TRY(tc_sh_dim_arg(c, 3, m->rank, &a));
    TC_TRY(tc_sh_dim_arg(c, 4, m->rank, &b));
    int64_t off = tc_sh_const(c, 2);
    tc_dims part = tc_dims_reduced(c, m, (uint64_t)1 << a | (uint64_t)1 << b, false);
    tc_sym ra = off >= 0 ? m->size[a] : tc_sym_add(s, m->size[a], tc_sym_int(s, off)),
           rb = off >= 0 ? tc_sym_sub(s, m->size[b], tc_sym_int(s, off)) : m->size[b];
    part.size[part.rank++] = tc_sym_max(s, tc_sym_min(s, ra, rb), tc_sym_int(s, 0));
    TC_TRY(fits(c, &part));
    return tc_shape_same(c);
}
static tc_lv background(tc_lower *l, int self) { return self >= 0 ? tc_l_in(l, self) : zero(l); }

/* part: the tensor written; self: the argument it goes into, or -1 for zeros */
static tc_status lower_select_into(tc_lower *l, int part, int self, int dim_arg) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, part);
    int d = tc_wrap(tc_arg_int(n, dim_arg), l->result_axes);
    tc_sym i = tc_arg_sym(n, dim_arg + 1), size = n->outs[0]->meta.size[d];
    int64_t v;
    if (tc_sym_const_int(i, &v) && v < 0) i = tc_sym_add(l->loop->sym, i, size);
    tc_affine index[TC_MAX_RANK] = {{0}};
    for (int k = 0; k < m->rank; k++) index[k] = at(l, m, k, k < d ? k : k + 1);
    tc_lv here = tc_l_op2(l, TC_X_EQ, tc_l_index(l, tc_l_axis(l, d)), tc_l_host(l, TC_I64, i));
    tc_lv x = tc_l_cast(l, tc_l_load(l, tc_arg_value(n, part), index, NULL, here), tc_l_type(l, 0));
    return tc_l_out(l, 0, self >= 0 ? tc_l_where(l, here, x, background(l, self)) : x);
}
static tc_status lower_select_backward(tc_lower *l) { return lower_select_into(l, 0, -1, 2); }
static tc_status lower_select_scatter(tc_lower *l) { return lower_select_into(l, 1, 0, 2); }
static tc_status lower_slice_into(tc_lower *l, int part, int self, int dim_arg) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, part);
    tc_symctx *s = l->loop->sym;
    int d = tc_wrap(tc_arg_int(n, dim_arg), l->result_axes);
    tc_sym size = n->outs[0]->meta.size[d], step = tc_arg_sym(n, dim_arg + 3);
    tc_sym start = tc_slice_bound(s, tc_arg_is_none(n, dim_arg + 1) ? NULL : tc_arg_sym(n, dim_arg + 1), size, false);
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    for (int k = 0; k < m->rank; k++) index[k] = at(l, m, k, k), gather[k] = TC_LV_NONE;
    tc_affine rel = tc_l_affine(l, tc_sym_neg(s, start), d, sint(l, 1));
    tc_lv r = tc_l_index(l, rel), in = tc_l_op2(l, TC_X_GE, r, integer(l, 0));
    if (tc_sym_is_int(step, 1)) {
        index[d] = rel;
        in = both(l, in, tc_l_op2(l, TC_X_LT, r, tc_l_host(l, TC_I64, m->size[d])));
    } else {
        tc_lv st = tc_l_host(l, TC_I64, step), q = tc_l_op2(l, TC_X_DIV_FLOOR, r, st);
        in = both(l, in,
                  both(l, tc_l_op2(l, TC_X_EQ, tc_l_op2(l, TC_X_REMAINDER, r, st), integer(l, 0)),
                       tc_l_op2(l, TC_X_LT, q, tc_l_host(l, TC_I64, m->size[d]))));
        gather[d] = tc_l_where(l, in, q, integer(l, 0));
        index[d] = tc_l_affine(l, NULL, -1, NULL);
    }
    tc_lv x = tc_l_cast(l, tc_l_load(l, tc_arg_value(n, part), index, gather, in), tc_l_type(l, 0));
    return tc_l_out(l, 0, self >= 0 ? tc_l_where(l, in, x, background(l, self)) : x);
}
static tc_status lower_slice_backward(tc_lower *l) { return lower_slice_into(l, 0, -1, 2); }
static tc_status lower_slice_scatter(tc_lower *l) { return lower_slice_into(l, 1, 0, 2); }
static tc_status lower_diagonal_into(tc_lower *l, int part, int self, int offset_arg) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, part);
    int a = tc_wrap(tc_arg_int(n, offset_arg + 1), l->result_axes), b = tc_wrap(tc_arg_int(n, offset_arg + 2), l->result_axes), j = 0;
    int64_t off = tc_arg_int(n, offset_arg);
    tc_affine index[TC_MAX_RANK] = {{0}};
    for (int k = 0; k < l->result_axes; k++)
        if (k != a && k != b) index[j] = at(l, m, j, k), j++;
    index[j] = off >= 0 ? tc_l_axis(l, a) : tc_l_axis(l, b);
    tc_lv here = tc_l_op2(l, TC_X_EQ, tc_l_add(l, tc_l_index(l, tc_l_axis(l, a)), integer(l, off)), tc_l_index(l, tc_l_axis(l, b)));
    tc_lv x = tc_l_cast(l, tc_l_load(l, tc_arg_value(n, part), index, NULL, here), tc_l_type(l, 0));
    return tc_l_out(l, 0, self >= 0 ? tc_l_where(l, here, x, background(l, self)) : x);
}
static tc_status lower_diagonal_backward(tc_lower *l) { return lower_diagonal_into(l, 0, -1, 2); }
static tc_status lower_diagonal_scatter(tc_lower *l) { return lower_diagonal_into(l, 1, 0, 2); }

static tc_status grad_select_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::select.int", "vaa", gs[0], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status grad_slice_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::slice.Tensor", "vaaaa", gs[0], &n->args[2], &n->args[3], &n->args[4], &n->args[5]));
    return tc_e_done(e);
}
static tc_status grad_diagonal_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::diagonal", "vaaa", gs[0], &n->args[2], &n->args[3], &n->args[4]));
    return tc_e_done(e);
}
static tc_status grad_select_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *src = tc_arg_meta(n, 1);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, "aten::select_scatter", "vvaa", gs[0],
                               tc_emit_call(e, "aten::zeros", "Sd", src->size, src->rank, (int)gs[0]->meta.dtype), &n->args[2], &n->args[3]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_emit_call(e, "aten::select.int", "vaa", gs[0], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status grad_slice_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *src = tc_arg_meta(n, 1);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, "aten::slice_scatter", "vvaaaa", gs[0],
                               tc_emit_call(e, "aten::zeros", "Sd", src->size, src->rank, (int)gs[0]->meta.dtype), &n->args[2], &n->args[3],
                               &n->args[4], &n->args[5]));
    if (tc_emit_wants_grad(e, n, 1))
        tc_e_give(e, n, 1, tc_emit_call(e, "aten::slice.Tensor", "vaaaa", gs[0], &n->args[2], &n->args[3], &n->args[4], &n->args[5]));
    return tc_e_done(e);
}
static tc_status grad_diagonal_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *src = tc_arg_meta(n, 1);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, "aten::diagonal_scatter", "vvaaa", gs[0],
                               tc_emit_call(e, "aten::zeros", "Sd", src->size, src->rank, (int)gs[0]->meta.dtype), &n->args[2], &n->args[3],
                               &n->args[4]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_emit_call(e, "aten::diagonal", "vaaa", gs[0], &n->args[2], &n->args[3], &n->args[4]));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_value *range_to(tc_emit *e, tc_sym n) { return tc_emit_call(e, "aten::arange", "a", &(tc_arg){.kind = TC_A_INT, .sym = n}); }
static tc_status decompose_unfold_backward(tc_emit *e, const tc_node *n) { /* grad_in, input_sizes, dim, size, step */
    tc_value *g = tc_arg_value(n, 0);
    int rank = n->args[1].n, d = tc_wrap(tc_arg_int(n, 2), rank);
    if (rank == 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::select.int", "vii", g, (int64_t)0, (int64_t)0));
        return tc_e_done(e);
    }
    tc_value *pos = tc_emit_call(e, "aten::unfold", "viaa", range_to(e, n->args[1].syms[d]), (int64_t)0, &n->args[3], &n->args[4]);
    pos = tc_emit_call(e, "aten::reshape", "vI", pos, (int64_t[]){-1}, 1);
    g = tc_emit_call(e, "aten::movedim.int", "vii", g, (int64_t)-1, (int64_t)d + 1);
    g = tc_emit_call(e, "aten::flatten.using_ints", "vii", g, (int64_t)d, (int64_t)d + 1);
    tc_value *zeros = tc_emit_call(e, "aten::zeros", "ad", &n->args[1], (int)tc_arg_meta(n, 0)->dtype);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index_add", "vivv", zeros, (int64_t)d, pos, g));
    return tc_e_done(e);
}
static tc_status decompose_as_strided_scatter(tc_emit *e, const tc_node *n) { /* self, src, size, stride, offset */
    tc_emit_result(e, 0, tc_e_strided_put(e, tc_arg_value(n, 0), tc_arg_value(n, 1), &n->args[2]));
    return tc_e_done(e);
}
/* As PyTorch's as_strided_scatter_backward has it: self gets the gradient of the elements that src took the place of, zero elsewhere (which is
 * the complement of the derivative). Writing into a strided view is differentiated rightly: functionalisation does not use this operator. */
static tc_status grad_as_strided_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_value *part = tc_emit_call(e, "aten::as_strided", "vaaa", gs[0], &n->args[2], &n->args[3], &n->args[4]);
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *zero = tc_emit_call(e, "aten::zeros", "Sd", m->size, m->rank, (int)gs[0]->meta.dtype);
        tc_e_give(e, n, 0, tc_e_strided_put(e, zero, part, &n->args[2]));
    }
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, part);
    return tc_e_done(e);
}
static tc_status decompose_diag_embed(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int rank = x->meta.rank + 1, k = 0;
    int64_t off = tc_arg_int(n, 1), da = tc_arg_int(n, 2), db = tc_arg_int(n, 3);
    if (x->meta.rank == 0) return tc_error(TC_CONTENT, "IndexError: %s: Dimension specified as -1 but tensor has no dimensions", tc_op_name(n->op));
    if (da < -rank || da >= rank || db < -rank || db >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)(da < -rank || da >= rank ? da : db));
    int a = tc_wrap(da, rank), b = tc_wrap(db, rank);
    if (a == b)
        return tc_error(TC_CONTENT, "%s: diagonal dimensions cannot be identical %lld, %lld", tc_op_name(n->op), (long long)da, (long long)db);
    tc_sym side = tc_sym_add(s, x->meta.size[x->meta.rank - 1], tc_sym_int(s, off < 0 ? -off : off)), size[TC_MAX_RANK + 1];
    for (int d = 0; d < rank; d++) size[d] = d == a || d == b ? side : x->meta.size[k++];
    tc_emit_result(e, 0, tc_emit_call(e, "aten::diagonal_backward", "vSiii", x, size, rank, off, (int64_t)a, (int64_t)b));
    return tc_e_done(e);
}
static tc_status decompose_diag(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 1 && x->meta.rank != 2)
        return tc_error(TC_CONTENT, "%s: diag(): Supports 1D or 2D tensors. Got %dD", tc_op_name(n->op), x->meta.rank);
    tc_emit_result(e, 0,
                   x->meta.rank == 1 ? tc_emit_call(e, "aten::diag_embed", "va", x, &n->args[1])
                                     : tc_e1(e, "aten::clone", tc_emit_call(e, "aten::diagonal", "va", x, &n->args[1])));
    return tc_e_done(e);
}
static tc_status decompose_diagflat(tc_emit *e, const tc_node *n) {
    tc_emit_result(
        e, 0, tc_emit_call(e, "aten::diag_embed", "va", tc_emit_call(e, "aten::reshape", "vI", tc_arg_value(n, 0), (int64_t[]){-1}, 1), &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_diff(tc_emit *e, const tc_node *n) { /* self, n, dim, prepend, append */
    tc_value *x = tc_arg_value(n, 0), *parts[3];
    int64_t times = tc_arg_int(n, 1), given = tc_arg_int(n, 2);
    int k = 0, rank = x->meta.rank;
    if (rank == 0) return refuse(n, "diff expects input to be at least one-dimensional");
    if (times < 0) return tc_error(TC_CONTENT, "%s: order must be non-negative but got %lld", tc_op_name(n->op), (long long)times);
    if (given < -rank || given >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)given);
    int64_t d = tc_wrap(given, rank);
    for (int i = 3; i < 5; i++) {
        const tc_meta *m = tc_arg_meta(n, i);
        if (m && m->rank != rank) return refuse(n, "diff expects prepend or append to be the same dimension as input");
    }
    if (!tc_arg_is_none(n, 3)) parts[k++] = tc_arg_value(n, 3);
    parts[k++] = x;
    if (!tc_arg_is_none(n, 4)) parts[k++] = tc_arg_value(n, 4);
    tc_value *y = k > 1 && times > 0 ? tc_emit_call(e, "aten::cat", "Vi", parts, k, d) : x;
    if (times == 0) y = tc_e1(e, "aten::clone", y);
    for (int64_t i = 0; y && i < times; i++) {
        tc_sym len = y->meta.size[d];
        int64_t v;
        if (tc_sym_const_int(len, &v) && v < 2) {
            y = tc_emit_call(e, "aten::slice.Tensor", "viii", y, d, (int64_t)0, (int64_t)0);
            break;
        }
        tc_value *hi = tc_emit_call(e, "aten::slice.Tensor", "viis", y, d, (int64_t)1, len);
        tc_value *lo = tc_emit_call(e, "aten::slice.Tensor", "viis", y, d, (int64_t)0, tc_sym_sub(tc_e_sym(e), len, tc_sym_int(tc_e_sym(e), 1)));
        y = tc_e2(e, y->meta.dtype == TC_BOOL ? "aten::logical_xor" : "aten::sub.Tensor", hi, lo);
    }
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}
static tc_status decompose_block_diag(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    tc_symctx *s = tc_e_sym(e);
    tc_value **rows = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(list->n ? list->n : 1));
    tc_sym width = tc_sym_int(s, 0), left = width;
    for (int k = 0; k < list->n; k++) {
        tc_value *x = list->values[k];
        if (x->meta.rank > 2)
            return tc_error(TC_CONTENT, "%s: torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %d has %d dimensions",
                            tc_op_name(n->op), k, x->meta.rank);
        rows[k] = tc_e1(e, "aten::atleast_2d", x);
        if (!rows[k]) return tc_e_done(e);
        width = tc_sym_add(s, width, rows[k]->meta.size[1]);
    }
    for (int k = 0; k < list->n && rows[k]; k++) {
        tc_sym own = rows[k]->meta.size[1], right = tc_sym_sub(s, tc_sym_sub(s, width, left), own);
        rows[k] = tc_emit_call(e, "aten::constant_pad_nd", "vSi", rows[k], (tc_sym[]){left, right}, 2, (int64_t)0);
        left = tc_sym_add(s, left, own);
    }
    tc_emit_result(e, 0,
                   list->n ? tc_emit_call(e, "aten::cat", "Vi", rows, list->n, (int64_t)0)
                           : tc_emit_call(e, "aten::empty.memory_format", "I", (int64_t[]){1, 0}, 2));
    return tc_e_done(e);
}
static tc_status decompose_cartesian_prod(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    for (int k = 0; k < list->n; k++)
        if (list->values[k]->meta.rank != 1)
            return tc_error(TC_CONTENT, "%s: Expect a 1D vector, but got shape of %d dimensions", tc_op_name(n->op), list->values[k]->meta.rank);
    if (list->n == 1) {
        tc_emit_result(e, 0, tc_e1(e, "aten::alias", list->values[0]));
        return tc_e_done(e);
    }
    tc_value *grid = tc_emit_call(e, "aten::meshgrid", "a", list), *flat[TC_MAX_RANK];
    for (int k = 0; grid && k < grid->nlist; k++) flat[k] = tc_emit_call(e, "aten::reshape", "vI", grid->list[k], (int64_t[]){-1}, 1);
    tc_emit_result(e, 0, grid ? tc_emit_call(e, "aten::stack", "Vi", flat, grid->nlist, (int64_t)1) : NULL);
    return tc_e_done(e);
}
/* pixel_shuffle: [..., C r r, H, W] to [..., C, H r, W r], and back */
static tc_status decompose_pixel_shuffle(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    bool back = strstr(tc_op_schema(n->op)->name, "unshuffle") != NULL;
    int64_t r = tc_arg_int(n, 1), c, h, w;
    int rank = x->meta.rank, lead = rank - 3, k = 0;
    if (rank < 3)
        return tc_error(TC_CONTENT, "%s: %s expects input to have at least 3 dimensions, but got input with %d dimension(s)", tc_op_name(n->op),
                        tc_op_schema(n->op)->name, rank);
    if (r <= 0)
        return tc_error(TC_CONTENT, "%s: %s expects a positive %s, but got %lld", tc_op_name(n->op), tc_op_schema(n->op)->name,
                        back ? "downscale_factor" : "upscale_factor", (long long)r);
    if (!back && tc_sym_const_int(x->meta.size[lead], &c) && c % (r * r))
        return tc_error(TC_CONTENT,
                        "%s: pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                        "input.size(-3)=%lld is not divisible by %lld",
                        tc_op_name(n->op), (long long)c, (long long)(r * r));
    if (back && tc_sym_const_int(x->meta.size[lead + 1], &h) && tc_sym_const_int(x->meta.size[lead + 2], &w) && (h % r || w % r))
        return tc_error(TC_CONTENT, "%s: pixel_unshuffle expects height and width to be divisible by downscale_factor %lld", tc_op_name(n->op),
                        (long long)r);
    tc_sym f = tc_sym_int(s, r), C = x->meta.size[lead], H = x->meta.size[lead + 1], W = x->meta.size[lead + 2], split[TC_MAX_RANK + 4],
           out[TC_MAX_RANK];
    int64_t order[TC_MAX_RANK + 4];
    if (lead + 5 > TC_MAX_RANK) return refuse(n, "too many dimensions");
    for (; k < lead; k++) split[k] = out[k] = x->meta.size[k], order[k] = k;
    if (!back) {
        split[k] = tc_sym_floordiv(s, C, tc_sym_int(s, r * r)), split[k + 1] = f, split[k + 2] = f, split[k + 3] = H, split[k + 4] = W;
        const int64_t p[5] = {0, 3, 1, 4, 2};
        for (int j = 0; j < 5; j++) order[k + j] = k + p[j];
        out[k] = split[k], out[k + 1] = tc_sym_mul(s, H, f), out[k + 2] = tc_sym_mul(s, W, f);
    } else {
        split[k] = C, split[k + 1] = tc_sym_floordiv(s, H, f), split[k + 2] = f, split[k + 3] = tc_sym_floordiv(s, W, f), split[k + 4] = f;
        const int64_t p[5] = {0, 2, 4, 1, 3};
        for (int j = 0; j < 5; j++) order[k + j] = k + p[j];
        out[k] = tc_sym_mul(s, C, tc_sym_int(s, r * r)), out[k + 1] = split[k + 1], out[k + 2] = split[k + 3];
    }
    tc_value *y = tc_emit_call(e, "aten::permute", "vI", tc_emit_call(e, "aten::reshape", "vS", x, split, lead + 5), order, lead + 5);
    tc_emit_result(e, 0,
                   tc_emit_call(e, "aten::_unsafe_view", "vS", tc_emit_call(e, "aten::clone", "va", y, &(tc_arg){.kind = TC_A_MEMFORMAT, .code = 1}),
                                out, rank));
    return tc_e_done(e);
}
static tc_status decompose_channel_shuffle(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_sym groups = tc_arg_sym(n, 1), split[TC_MAX_RANK];
    int rank = x->meta.rank;
    int64_t c, g;
    if (rank <= 2)
        return tc_error(TC_CONTENT, "%s: channel_shuffle expects input with > 2 dims, but got input with %d dims", tc_op_name(n->op), rank);
    if (tc_sym_const_int(groups, &g) && g <= 0)
        return tc_error(TC_CONTENT, "%s: Number of groups to divide channels in must be positive. Value of groups:%lld", tc_op_name(n->op),
                        (long long)g);
    if (tc_sym_const_int(groups, &g) && tc_sym_const_int(x->meta.size[1], &c) && c % g)
        return tc_error(TC_CONTENT, "%s: Number of channels must be divisible by groups. Got %lld channels and %lld groups.", tc_op_name(n->op),
                        (long long)c, (long long)g);
    split[0] = x->meta.size[0], split[1] = groups, split[2] = tc_sym_floordiv(s, x->meta.size[1], groups);
    for (int k = 2; k < rank; k++) split[k + 1] = x->meta.size[k];
    tc_value *y = tc_emit_call(e, "aten::transpose.int", "vii", tc_emit_call(e, "aten::reshape", "vS", x, split, rank + 1), (int64_t)1, (int64_t)2);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", y, x->meta.size, rank));
    return tc_e_done(e);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, decompose_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_, .samples = sample, .doc = text }
#define BORDER(name, n, len, what)                                                                                                      \
    ROW(#name "_pad" #n "d(Tensor self, SymInt[" #len "] padding)", shape_border_pad, lower_border_pad, grad_border_pad, NULL, what), { \
        .schema = "aten::" #name "_pad" #n "d_backward(Tensor grad_output, Tensor self, SymInt[" #len "] padding) -> Tensor",           \
        .shape = shape_like_self, .decompose = decompose_border_pad_backward, .doc = "gradient of " #name "_pad" #n "d"                 \
    }
const tc_op tc_ops_rearrange[] = {
    ROW("cat(Tensor[] tensors, int dim=0)", shape_cat, lower_cat, grad_cat, "cat([f32[2,3], f32[4,3]]); cat([f32[2,3], i64[2,1]], 1)",
        "one after the other along dim"),
    COMPOSED("concat(Tensor[] tensors, int dim=0)", decompose_cat, NULL, "cat"),
    COMPOSED("concatenate(Tensor[] tensors, int dim=0)", decompose_cat, NULL, "cat"),
    COMPOSED("stack(Tensor[] tensors, int dim=0)", decompose_stack, "stack([f32[2,3], f32[2,3]], 1)", "side by side along a new dimension"),
    COMPOSED("hstack(Tensor[] tensors)", decompose_xstack, "hstack([f32[2,3], f32[2,1]])", "cat along dimension 1 (0 of vectors)"),
    COMPOSED("vstack(Tensor[] tensors)", decompose_xstack, "vstack([f32[3], f32[3]])", "cat along dimension 0"),
    COMPOSED("row_stack(Tensor[] tensors)", decompose_xstack, NULL, "vstack"),
    COMPOSED("dstack(Tensor[] tensors)", decompose_xstack, "dstack([f32[2,3], f32[2,3]])", "cat along dimension 2"),
    COMPOSED("column_stack(Tensor[] tensors)", decompose_xstack, "column_stack([f32[3], f32[3,2]])", "vectors as columns"),
    ROW("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0)", shape_constant_pad, lower_constant_pad, grad_constant_pad,
        "constant_pad_nd(f32[2,3], [1,2], 0.5); constant_pad_nd(f32[4,5], [-1,1,2,0])", "value around; negative widths cut"),
    BORDER(reflection, 1, 2, "mirrored at the border"),
    BORDER(reflection, 2, 4, "mirrored at the border"),
    BORDER(reflection, 3, 6, "mirrored at the border"),
    BORDER(replication, 1, 2, "the border repeated"),
    BORDER(replication, 2, 4, "the border repeated"),
    BORDER(replication, 3, 6, "the border repeated"),
    ROW("_pad_circular(Tensor self, SymInt[] pad)", shape_border_pad, lower_border_pad, grad_border_pad, "_pad_circular(f32[1,2,5], [2,1])",
        "the other end repeated"),
    COMPOSED("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None)", decompose_pad,
             "pad(f32[1,2,5], [2,1], 'reflect'); pad(f32[2,3], [1,1])", "constant, reflect, replicate or circular"),
    ROW("flip(Tensor self, int[] dims)", shape_flip, lower_flip, grad_flip, "flip(f32[3,5], [0]); flip(f32[3,5], [0,1])", "reversed"),
    COMPOSED("fliplr(Tensor self)", decompose_fliplr, "fliplr(f32[3,5])", "dimension 1 reversed"),
    COMPOSED("flipud(Tensor self)", decompose_fliplr, "flipud(f32[3,5])", "dimension 0 reversed"),
    {.schema = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     .shape = shape_roll,
     .decompose = decompose_roll,
     .samples = "roll(f32[3,5], [2], [1]); roll(f32[3,5], [1])",
     .doc = "shifted around"},
    COMPOSED("rot90(Tensor self, int k=1, int[] dims=[0,1])", decompose_rot90, "rot90(f32[3,5])", "turned by k quarters"),
    ROW("repeat(Tensor self, SymInt[] repeats)", shape_repeat, lower_repeat, grad_repeat, "repeat(f32[2,3], [2,1,3])", "copies along dimensions"),
    COMPOSED("tile(Tensor self, SymInt[] dims)", decompose_tile, "tile(f32[2,3], [2])", "repeat, counted from the last dimension"),
    COMPOSED("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None)", decompose_repeat_interleave,
             "repeat_interleave(f32[2,3], 2, 1)", "each element repeated"),
    ROW("tril(Tensor self, SymInt diagonal=0)", shape_triangle, lower_triangle, grad_triangle, "tril(f32[3,4])", "the lower triangle, 0 above"),
    ROW("triu(Tensor self, SymInt diagonal=0)", shape_triangle, lower_triangle, grad_triangle, "triu(f32[3,4], 1)", "the upper triangle, 0 below"),
    ROW("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index)", shape_backward, lower_select_backward,
        grad_select_backward, "select_backward(f32[3], [3,4], 1, 2)", "gradient of select"),
    ROW("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step)", shape_backward,
        lower_slice_backward, grad_slice_backward, "slice_backward(f32[2,4], [5,4], 0, 1, 4, 2)", "gradient of slice"),
    ROW("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)", shape_backward, lower_diagonal_backward,
        grad_diagonal_backward, "diagonal_backward(f32[3], [3,4], 0, 0, 1)", "gradient of diagonal"),
    ROW("select_scatter(Tensor self, Tensor src, int dim, SymInt index)", shape_select_scatter, lower_select_scatter, grad_select_scatter,
        "select_scatter(f32[3,4], f32[3], 1, -1)", "self with src at an index"),
    ROW("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)", shape_slice_scatter,
        lower_slice_scatter, grad_slice_scatter, "slice_scatter(f32[5,4], f32[2,4], 0, 1, 5, 2)", "self with src in a slice"),
    ROW("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)", shape_diagonal_scatter, lower_diagonal_scatter,
        grad_diagonal_scatter, "diagonal_scatter(f32[3,4], f32[3])", "self with src on the diagonal"),
    {.schema = "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
     .shape = shape_backward,
     .decompose = decompose_unfold_backward,
     .samples = "unfold_backward(f32[3,2,3], [7,2], 0, 3, 2)",
     .doc = "gradient of unfold"},
    {.schema = "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
     .shape = tc_shape_same,
     .decompose = decompose_as_strided_scatter,
     .grad = grad_as_strided_scatter,
     .samples = "as_strided_scatter(f32[3,4], f32[2,2], [2,2], [4,1], 1)",
     .doc = "self with src in a strided view"},
    COMPOSED("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", decompose_diag_embed, "diag_embed(f32[2,3], 1)",
             "vectors on the diagonals of matrices"),
    COMPOSED("diag(Tensor self, int diagonal=0)", decompose_diag, "diag(f32[3]); diag(f32[3,4])",
             "the diagonal of a matrix, or a matrix of a diagonal"),
    COMPOSED("diagflat(Tensor self, int offset=0)", decompose_diagflat, "diagflat(f32[2,2])", "a matrix of a diagonal"),
    COMPOSED("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", decompose_diff, "diff(f32[3,5])",
             "differences of neighbours, n times"),
    COMPOSED("block_diag(Tensor[] tensors)", decompose_block_diag, "block_diag([f32[2,3], f32[2]])", "matrices along a diagonal"),
    COMPOSED("cartesian_prod(Tensor[] tensors)", decompose_cartesian_prod, "cartesian_prod([f32[2], f32[3]])", "all combinations"),
    COMPOSED("pixel_shuffle(Tensor self, int upscale_factor)", decompose_pixel_shuffle, "pixel_shuffle(f32[1,8,2,3], 2)", "channels to space"),
    COMPOSED("pixel_unshuffle(Tensor self, int downscale_factor)", decompose_pixel_shuffle, "pixel_unshuffle(f32[1,2,4,6], 2)", "space to channels"),
    COMPOSED("channel_shuffle(Tensor self, SymInt groups)", decompose_channel_shuffle, "channel_shuffle(f32[1,6,2,2], 3)",
             "channels dealt out over groups"),
    COMPOSED("native_channel_shuffle(Tensor self, SymInt groups)", decompose_channel_shuffle, NULL, "channels dealt out over groups"),
    {0}};
