/* Rearranging elements: cat, stack, flip, roll, repeat, tril, triu and compositions of them. Padding is in pad.c, writing to a part of a tensor in
 * slice_scatter.c.
 *
 *     cat       one store a piece, at its offset                roll   the end of the dimension before its beginning */
#include "op/rearrange.h"

/* ---- cat, stack ---- */
static bool legacy_empty(const tc_meta *m) { return m->rank == 1 && tc_sym_is_int(m->size[0], 0); }
static tc_status shape_cat(tc_shape_ctx *c) {
    int n, d = 0;
    const tc_meta **m = tc_sh_tensors(c, 0, &n), *first = NULL;
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
            if (j == d || tc_sh_same(c, dims.size[j], m[k]->size[j])) continue;
            tc_buf t = {0};
            tc_buf_printf(&t, "Sizes of tensors must match except in dimension %d. Expected size ", d);
            tc_sym_print(&t, dims.size[j]);
            tc_buf_printf(&t, " but got size ");
            tc_sym_print(&t, m[k]->size[j]);
            tc_status st = tc_sh_fail(c, "%s for tensor number %d in the list.", tc_buf_str(&t), k);
            tc_buf_free(&t);
            return st;
        }
        dims.size[d] = started ? tc_sym_add(tc_sh_sym(c), dims.size[d], m[k]->size[d]) : m[k]->size[d];
        started = true;
    }
    bool last = true; /* channels last if all operands are */
    for (int k = 0; k < n && last; k++) last = tc_sh_is_channels_last(c, m[k]);
    return tc_sh_out_strided(c, 0, tc_sh_result_type(c, 1, (int[]){0}), &dims, last ? tc_sh_channels_last_strides(c, &dims) : NULL);
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
enum { MOST = 48 }; /* the largest number for which a loop has axes */
/* For more operands: concatenations of as many as a loop takes, which are then concatenated. Converted to the result's type first. */
static tc_status decompose_many_cat(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    int64_t d = tc_arg_int(n, 1);
    int pieces = 0;
    tc_value **of = TC_NEWN(&n->graph->program->arena, tc_value *, 2 * (size_t)list->n), **piece = of + list->n;
    for (int k = 0; k < list->n; k++) of[k] = tc_e_cast(e, list->values[k], n->outs[0]->meta.dtype);
    for (int k = 0; k < list->n; k += MOST) piece[pieces++] = tc_emit_call(e, "aten::cat", "Vi", of + k, list->n - k < MOST ? list->n - k : MOST, d);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", piece, pieces, d));
    return tc_e_done(e);
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
    if (list->n == 0) return tc_e_refuse(n, "stack expects a non-empty TensorList");
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
        for (int j = 0; same && j < a->rank; j++) same = !tc_sym_differ(s, a->size[j], b->size[j]);
        if (!same) {
            tc_buf t = {0};
            tc_buf_puts(&t, "stack expects each tensor to be equal size, but got ");
            tc_value_print_type(&t, list->values[0]);
            tc_buf_puts(&t, " at entry 0 and ");
            tc_value_print_type(&t, list->values[k]);
            tc_buf_printf(&t, " at entry %d", k);
            tc_status st = tc_e_refuse(n, "%s", tc_buf_str(&t));
            tc_buf_free(&t);
            return st;
        }
        v[k] = tc_emit_call(e, "aten::unsqueeze", "vi", list->values[k], d);
    }
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", v, list->n, d));
    return tc_e_done(e);
}
/* Channels-last tensors stay so: they are concatenated along dim, which is then split in two. Others are written one after another. */
static tc_status shape_stack(tc_shape_ctx *c) {
    const tc_arg *list = &c->args[0];
    TC_TRY(tc_shape_decomposed(c));
    const tc_meta *m = &list->values[0]->meta;
    const int d = tc_wrap(tc_sh_const(c, 1), m->rank + 1);
    c->outs[0].meta.stride = NULL;
    for (int k = 0; k < list->n; k++)
        if (!tc_sh_is_channels_last(c, &list->values[k]->meta)) return NULL;
    if (d == m->rank) return NULL;
    tc_dims beside = tc_dims_of(m);
    beside.size[d] = tc_sym_mul(tc_sh_sym(c), m->size[d], tc_sym_int(tc_sh_sym(c), list->n));
    const tc_sym *of = tc_sh_channels_last_strides(c, &beside);
    tc_sym *stride = TC_NEWN(&c->program->arena, tc_sym, (size_t)m->rank + 1);
    for (int k = 0; k <= m->rank; k++) stride[k] = of[k - (k > d)];
    stride[d] = tc_sym_mul(tc_sh_sym(c), of[d], m->size[d]);
    c->outs[0].meta.stride = stride;
    return NULL;
}
/* hstack, vstack, dstack, column_stack, row_stack */
static tc_status decompose_xstack(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    const char *name = tc_op_schema(n->op)->name;
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(list->n ? list->n : 1));
    bool h = name[0] == 'h', d3 = name[0] == 'd', col = name[0] == 'c';
    if (list->n == 0) return tc_e_refuse(n, "%s expects a non-empty TensorList", name);
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

/* ---- flip, roll, repeat ---- */
static tc_status shape_flip(tc_shape_ctx *c) {
    uint64_t mask = 0;
    int64_t d[64];
    TC_TRY(tc_sh_need_tensor(c, 0));
    if (tc_sh_const_ints(c, 1, d, 64) > 0) TC_TRY(tc_sh_dim_mask(c, 1, tc_sh_meta(c, 0)->rank, &mask));
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_sh_meta(c, 0)->dtype);
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
    if (x->meta.rank < (lr ? 2 : 1)) return tc_e_refuse(n, "%s", lr ? "Input must be >= 2-d." : "Input must be >= 1-d.");
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
    return tc_sh_out_format(c, 0, m->dtype, &d, m);
}
static tc_status decompose_roll(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (n->args[2].n == 0) { /* without dims: over the flattened tensor */
        tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
        flat = tc_emit_call(e, "aten::roll", "vaI", flat, &n->args[1], (int64_t[]){0}, 1);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", flat, x->meta.size, x->meta.rank));
        return tc_e_done(e);
    }
    tc_symctx *s = tc_e_sym(e);
    tc_value *y = x;
    for (int k = 0; k < n->args[1].n && y; k++) { /* the end of the dimension, then its beginning */
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
    if (count != 2) return tc_e_refuse(n, "expected total rotation dims == 2, but got dims = %d", count);
    if (rank < 2) return tc_e_refuse(n, "expected total dims >= 2, but got total dims = %d", rank);
    for (int i = 0; i < 2; i++)
        if (d[i] < -rank || d[i] >= rank) return tc_e_refuse(n, "Rotation dim%d out of range, dim = %lld", i, (long long)d[i]);
    int64_t a = tc_wrap(d[0], rank), b = tc_wrap(d[1], rank);
    if (a == b)
        return tc_e_refuse(n, "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld", (long long)d[0], (long long)d[1]);
    tc_value *y = k == 0   ? tc_emit_call(e, "aten::clone", "va", x, &(tc_arg){.kind = TC_A_MEMFORMAT, .code = 1})
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
    if (k > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
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
    if (tc_sym_const_int(r, &v) && v < 0) return tc_e_refuse(n, "Repeats must be non-negative");
    if (tc_arg_is_none(n, 2)) x = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    if (!x) return tc_e_done(e);
    int64_t given = tc_arg_is_none(n, 2) ? 0 : tc_arg_int(n, 2);
    int rank = x->meta.rank ? x->meta.rank : 1;
    if (x->meta.rank == 0 && given >= -rank && given < rank) given = 1; /* PyTorch adds a trailing dimension, which takes no part */
    if (given < -rank || given >= rank || x->meta.rank == 0)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)given);
    int d = tc_wrap(given, rank);
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

/* ---- compositions ---- */
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
    if (a == b) return tc_e_refuse(n, "diagonal dimensions cannot be identical %lld, %lld", (long long)da, (long long)db);
    tc_sym side = tc_sym_add(s, x->meta.size[x->meta.rank - 1], tc_sym_int(s, off < 0 ? -off : off)), size[TC_MAX_RANK + 1];
    for (int d = 0; d < rank; d++) size[d] = d == a || d == b ? side : x->meta.size[k++];
    tc_emit_result(e, 0, tc_emit_call(e, "aten::diagonal_backward", "vSiii", x, size, rank, off, (int64_t)a, (int64_t)b));
    return tc_e_done(e);
}
static tc_status decompose_diag(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 1 && x->meta.rank != 2) return tc_e_refuse(n, "diag(): Supports 1D or 2D tensors. Got %dD", x->meta.rank);
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
    if (rank == 0) return tc_e_refuse(n, "diff expects input to be at least one-dimensional");
    if (times < 0) return tc_e_refuse(n, "order must be non-negative but got %lld", (long long)times);
    if (given < -rank || given >= rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -rank, rank - 1, (long long)given);
    int64_t d = tc_wrap(given, rank);
    for (int i = 3; i < 5; i++) {
        const tc_meta *m = tc_arg_meta(n, i);
        if (m && m->rank != rank) return tc_e_refuse(n, "diff expects prepend or append to be the same dimension as input");
        for (int j = 0; m && j < rank; j++)
            if (j != d && tc_sym_differ(tc_e_sym(e), m->size[j], x->meta.size[j]))
                return tc_e_refuse(
                    n, "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension");
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
            return tc_e_refuse(n, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %d has %d dimensions", k, x->meta.rank);
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
static tc_status decompose_flatten_dense_tensors(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    tc_value **flat = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)list->n + 1);
    for (int k = 0; k < list->n; k++) flat[k] = tc_emit_call(e, "aten::reshape", "vI", list->values[k], (int64_t[]){-1}, 1);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::cat", "Vi", flat, list->n, (int64_t)0));
    return tc_e_done(e);
}
static tc_status decompose_cartesian_prod(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    for (int k = 0; k < list->n; k++)
        if (list->values[k]->meta.rank != 1) return tc_e_refuse(n, "Expect a 1D vector, but got shape of %d dimensions", list->values[k]->meta.rank);
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
        return tc_e_refuse(n, "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", tc_op_schema(n->op)->name, rank);
    if (r <= 0)
        return tc_e_refuse(n, "%s expects a positive %s, but got %lld", tc_op_schema(n->op)->name, back ? "downscale_factor" : "upscale_factor",
                           (long long)r);
    if (!back && tc_sym_const_int(x->meta.size[lead], &c) && c % (r * r))
        return tc_e_refuse(n,
                           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                           "input.size(-3)=%lld is not divisible by %lld",
                           (long long)c, (long long)(r * r));
    if (back && tc_sym_const_int(x->meta.size[lead + 1], &h) && tc_sym_const_int(x->meta.size[lead + 2], &w) && (h % r || w % r))
        return tc_e_refuse(n, "pixel_unshuffle expects height and width to be divisible by downscale_factor %lld", (long long)r);
    if (back && tc_sym_is_int(tc_meta_numel(s, &x->meta), 0)) { /* PyTorch keeps the sizes of what is empty */
        tc_emit_result(e, 0, tc_e1(e, "aten::clone", x));
        return tc_e_done(e);
    }
    tc_sym f = tc_sym_int(s, r), C = x->meta.size[lead], H = x->meta.size[lead + 1], W = x->meta.size[lead + 2], split[TC_MAX_RANK + 4],
           out[TC_MAX_RANK];
    int64_t order[TC_MAX_RANK + 4];
    if (lead + 5 > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
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
    if (rank <= 2) return tc_e_refuse(n, "channel_shuffle expects input with > 2 dims, but got input with %d dims", rank);
    if (tc_sym_const_int(groups, &g) && g <= 0)
        return tc_e_refuse(n, "Number of groups to divide channels in must be positive. Value of groups:%lld", (long long)g);
    if (tc_sym_const_int(groups, &g) && tc_sym_const_int(x->meta.size[1], &c) && c % g)
        return tc_e_refuse(n, "Number of channels must be divisible by groups. Got %lld channels and %lld groups.", (long long)c, (long long)g);
    split[0] = x->meta.size[0], split[1] = groups, split[2] = tc_sym_floordiv(s, x->meta.size[1], groups);
    for (int k = 2; k < rank; k++) split[k + 1] = x->meta.size[k];
    tc_value *y = tc_emit_call(e, "aten::transpose.int", "vii", tc_emit_call(e, "aten::reshape", "vS", x, split, rank + 1), (int64_t)1, (int64_t)2);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", y, x->meta.size, rank));
    return tc_e_done(e);
}

static bool not_many(const tc_node *n) { return n->args[0].n <= MOST; }
static const struct tc_otherwise many_otherwise = {not_many, decompose_many_cat};

const tc_op tc_ops_rearrange[] = {
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
     .shape = shape_cat,
     .lower = lower_cat,
     .otherwise = &many_otherwise,
     .grad = grad_cat,
     .samples = "cat([f32[2,3], f32[4,3]]); cat([f32[2,3], i64[2,1]], 1)",
     .doc = "one after the other along dim"},
    COMPOSED("concat(Tensor[] tensors, int dim=0)", decompose_cat, NULL, "cat"),
    COMPOSED("concatenate(Tensor[] tensors, int dim=0)", decompose_cat, NULL, "cat"),
    SHAPED("stack(Tensor[] tensors, int dim=0)", shape_stack, decompose_stack, "stack([f32[2,3], f32[2,3]], 1)",
           "side by side along a new dimension"),
    COMPOSED("hstack(Tensor[] tensors)", decompose_xstack, "hstack([f32[2,3], f32[2,1]])", "cat along dimension 1 (0 of vectors)"),
    COMPOSED("vstack(Tensor[] tensors)", decompose_xstack, "vstack([f32[3], f32[3]])", "cat along dimension 0"),
    COMPOSED("row_stack(Tensor[] tensors)", decompose_xstack, NULL, "vstack"),
    COMPOSED("dstack(Tensor[] tensors)", decompose_xstack, "dstack([f32[2,3], f32[2,3]])", "cat along dimension 2"),
    COMPOSED("column_stack(Tensor[] tensors)", decompose_xstack, "column_stack([f32[3], f32[3,2]])", "vectors as columns"),
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
    COMPOSED("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", decompose_diag_embed, "diag_embed(f32[2,3], 1)",
             "vectors on the diagonals of matrices"),
    COMPOSED("diag(Tensor self, int diagonal=0)", decompose_diag, "diag(f32[3]); diag(f32[3,4])",
             "the diagonal of a matrix, or a matrix of a diagonal"),
    COMPOSED("diagflat(Tensor self, int offset=0)", decompose_diagflat, "diagflat(f32[2,2])", "a matrix of a diagonal"),
    COMPOSED("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", decompose_diff, "diff(f32[3,5])",
             "differences of neighbours, n times"),
    COMPOSED("block_diag(Tensor[] tensors)", decompose_block_diag, "block_diag([f32[2,3], f32[2]])", "matrices along a diagonal"),
    COMPOSED("flatten_dense_tensors(Tensor[] tensors)", decompose_flatten_dense_tensors, "flatten_dense_tensors([f32[2,3], f32[2]])",
             "all elements one after the other"),
    {.schema = "aten::cartesian_prod(Tensor[] tensors) -> Tensor",
     .flags = TC_OP_OF_VIEWS,
     .shape = tc_shape_decomposed,
     .decompose = decompose_cartesian_prod,
     .samples = "cartesian_prod([f32[2], f32[3]])",
     .doc = "all combinations"},
    SHAPED("pixel_shuffle(Tensor self, int upscale_factor)", tc_shape_decomposed_format, decompose_pixel_shuffle, "pixel_shuffle(f32[1,8,2,3], 2)",
           "channels to space"),
    SHAPED("pixel_unshuffle(Tensor self, int downscale_factor)", tc_shape_decomposed_format, decompose_pixel_shuffle,
           "pixel_unshuffle(f32[1,2,4,6], 2)", "space to channels"),
    SHAPED("channel_shuffle(Tensor self, SymInt groups)", tc_shape_decomposed_format, decompose_channel_shuffle, "channel_shuffle(f32[1,6,2,2], 3)",
           "channels dealt out over groups"),
    SHAPED("native_channel_shuffle(Tensor self, SymInt groups)", tc_shape_decomposed_format, decompose_channel_shuffle, NULL,
           "channels dealt out over groups"),
    {0}};
