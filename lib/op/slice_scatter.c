/* Writing to a part of a tensor: the scatter forms of select, slice, diagonal and as_strided, the backward operators of those views, and fill_diagonal.
 *
 *     slice_scatter   the source inside the slice, else self       fill_diagonal_   fill_value where all indices are equal */
#include "op/rearrange.h"
#include "op/view.h"

#include <stdio.h>

/* ---- writing into a part: X_scatter(self, src, ...), X_backward(grad, input_sizes, ...) ---- */
static tc_status shape_backward(tc_shape_ctx *c) {
    static const char *const forward[] = {"aten::select.int", "aten::slice.Tensor", "aten::diagonal", "aten::unfold"};
    tc_dims d;
    int f = 0;
    while (strncmp(forward[f] + strlen("aten::"), tc_op_schema(c->op)->name, 3)) f++;
    TC_TRY(tc_sh_of_forward(c, forward[f], 1, (int[]){0, 0}));
    d.rank = tc_sh_ints(c, 1, d.size, TC_MAX_RANK);
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
/* src must have the sizes of the part, `part` */
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
    if (m->rank == 0) return tc_sh_fail_as(c, "IndexError", "select() cannot be applied to a 0-dim tensor.");
    if (tc_sym_const_int(tc_sh_int(c, 3), &i) && tc_sym_const_int(m->size[d], &size) && (i < -size || i >= size))
        return tc_sh_fail_as(c, "IndexError", "select(): index %lld out of range for tensor of size %lld at dimension %d", (long long)i,
                             (long long)size, d);
    tc_dims part = tc_dims_reduced(c, m, (uint64_t)1 << d, false);
    TC_TRY(fits(c, &part));
    return tc_shape_same_strides(c);
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
    return tc_shape_same_strides(c);
}
static tc_status shape_diagonal_scatter(tc_shape_ctx *c) {
    int a, b;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    TC_TRY(tc_sh_dim_arg(c, 3, m->rank, &a));
    TC_TRY(tc_sh_dim_arg(c, 4, m->rank, &b));
    if (a == b)
        return tc_sh_fail(c, "diagonal dimensions cannot be identical %lld, %lld", (long long)tc_sh_const(c, 3), (long long)tc_sh_const(c, 4));
    int64_t off = tc_sh_const(c, 2);
    tc_dims part = tc_dims_reduced(c, m, (uint64_t)1 << a | (uint64_t)1 << b, false);
    tc_sym ra = off >= 0 ? m->size[a] : tc_sym_add(s, m->size[a], tc_sym_int(s, off)),
           rb = off >= 0 ? tc_sym_sub(s, m->size[b], tc_sym_int(s, off)) : m->size[b];
    part.size[part.rank++] = tc_sym_max(s, tc_sym_min(s, ra, rb), tc_sym_int(s, 0));
    TC_TRY(fits(c, &part));
    return tc_shape_same_strides(c);
}
static tc_lv background(tc_lower *l, int self) { return self >= 0 ? tc_l_in(l, self) : zero(l); }

/* n has a dimension and, last, an index into it. Is the index in range for all values of the symbols? A view checks its index when it is taken, so
 * an index of which nothing is known (data-dependent) must not become a view's. */
static bool in_range(const tc_node *n) {
    const bool view = n->op->view_alias != NULL;
    tc_symctx *s = n->graph->program->sym;
    const tc_meta *m = view ? tc_arg_meta(n, 0) : &n->outs[0]->meta;
    const tc_sym i = tc_arg_sym(n, n->nargs - 1), size = m->size[tc_wrap(tc_arg_int(n, n->nargs - 2), m->rank)];
    int64_t lo, hi;
    tc_sym_range(s, i, &lo, &hi);
    if (view || tc_sym_const_int(i, &lo)) return lo != TC_SYM_NO_LO;
    return tc_sym_known(s, tc_sym_op(s, TC_S_LE, tc_sym_int(s, 0), i, NULL)) == 1 && tc_sym_known(s, tc_sym_op(s, TC_S_LT, i, size, NULL)) == 1;
}

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
/* ---- by an index that the run decides ---- */
/* Indices for index and index_put, which check ranges: full ranges for all dimensions before n's own, then the index. n: ..., dim, index; rank: of
 * the whole tensor. Returns their number. */
static int one_index(tc_emit *e, const tc_node *n, int rank, tc_value *at[TC_MAX_RANK]) {
    const tc_arg index = {.kind = TC_A_SCALAR, .sym = tc_arg_sym(n, n->nargs - 1), .is_sym = true};
    const int d = tc_wrap(tc_arg_int(n, n->nargs - 2), rank);
    for (int k = 0; k < d; k++) at[k] = NULL;
    at[d] = tc_emit_call(e, "aten::scalar_tensor", "ad", &index, (int)TC_I64);
    return d + 1;
}
static tc_status select_checked(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *at[TC_MAX_RANK];
    int count = one_index(e, n, x->meta.rank, at);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index.Tensor", "vV", x, at, count));
    return tc_e_done(e);
}
const struct tc_otherwise tc_select_otherwise = {in_range, select_checked};
static tc_status put_selected(tc_emit *e, tc_value *whole, tc_value *part, const tc_node *n) {
    tc_value *at[TC_MAX_RANK];
    int count = one_index(e, n, n->outs[0]->meta.rank, at);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index_put", "vVv", whole, at, count, part));
    return tc_e_done(e);
}
static tc_status select_backward_checked(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    return put_selected(e, tc_e_zeros(e, m, m->dtype), tc_arg_value(n, 0), n);
}
static tc_status select_scatter_checked(tc_emit *e, const tc_node *n) { return put_selected(e, tc_arg_value(n, 0), tc_arg_value(n, 1), n); }
static const struct tc_otherwise otherwise_select_backward = {in_range, select_backward_checked},
                                 otherwise_select_scatter = {in_range, select_scatter_checked};

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
    tc_lv r = tc_l_index(l, rel), in = tc_l_op2(l, TC_X_GE, r, tc_l_int(l, 0));
    if (tc_sym_is_int(step, 1)) {
        index[d] = rel;
        in = tc_l_both(l, in, tc_l_op2(l, TC_X_LT, r, tc_l_host(l, TC_I64, m->size[d])));
    } else {
        tc_lv st = tc_l_host(l, TC_I64, step), q = tc_l_op2(l, TC_X_DIV_FLOOR, r, st);
        in = tc_l_both(l, in,
                       tc_l_both(l, tc_l_op2(l, TC_X_EQ, tc_l_op2(l, TC_X_REMAINDER, r, st), tc_l_int(l, 0)),
                                 tc_l_op2(l, TC_X_LT, q, tc_l_host(l, TC_I64, m->size[d]))));
        gather[d] = tc_l_where(l, in, q, tc_l_int(l, 0));
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
    tc_lv here = tc_l_op2(l, TC_X_EQ, tc_l_add(l, tc_l_index(l, tc_l_axis(l, a)), tc_l_int(l, off)), tc_l_index(l, tc_l_axis(l, b)));
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
/* The gradients: zero where src was written, and the part for src. where: as many letters as there are arguments that select the part. */
static tc_status grad_scatter(tc_emit *e, const tc_node *n, tc_value *g, const char *scatter, const char *part, const char *where) {
    const tc_meta *src = tc_arg_meta(n, 1);
    const tc_arg *at[4];
    char letters[8];
    for (int i = 0; i < 4; i++) at[i] = &n->args[2 + i < n->nargs ? 2 + i : 0];
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *zeros = tc_e_zeros(e, src, g->meta.dtype);
        snprintf(letters, sizeof letters, "vv%s", where);
        tc_e_give(e, n, 0, tc_emit_call(e, scatter, letters, g, zeros, at[0], at[1], at[2], at[3]));
    }
    if (tc_emit_wants_grad(e, n, 1)) {
        snprintf(letters, sizeof letters, "v%s", where);
        tc_e_give(e, n, 1, tc_emit_call(e, part, letters, g, at[0], at[1], at[2], at[3]));
    }
    return tc_e_done(e);
}
static tc_status grad_select_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    return grad_scatter(e, n, gs[0], "aten::select_scatter", "aten::select.int", "aa");
}
static tc_status grad_slice_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    return grad_scatter(e, n, gs[0], "aten::slice_scatter", "aten::slice.Tensor", "aaaa");
}
static tc_status grad_diagonal_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    return grad_scatter(e, n, gs[0], "aten::diagonal_scatter", "aten::diagonal", "aaa");
}

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
static tc_status shape_as_strided_scatter(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *src = tc_sh_meta(c, 1);
    tc_sym size[TC_MAX_RANK];
    bool fits = tc_sh_ints(c, 2, size, TC_MAX_RANK) == src->rank;
    for (int k = 0; fits && k < src->rank; k++) fits = tc_sh_same(c, src->size[k], size[k]);
    if (!fits) return tc_sh_fail(c, "expected src to have a size equal to the slice of self");
    if (tc_sh_ints(c, 3, size, TC_MAX_RANK) != src->rank) return tc_sh_fail(c, "mismatch in length of strides and shape");
    TC_TRY(tc_sh_need_rows(c->program, c->op, tc_sh_meta(c, 0)));
    return tc_shape_same_strides(c);
}
static tc_status decompose_as_strided_scatter(tc_emit *e, const tc_node *n) { /* self, src, size, stride, offset */
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, tc_e_strided_put(e, x, tc_e_cast(e, tc_arg_value(n, 1), x->meta.dtype), &n->args[2]));
    return tc_e_done(e);
}
/* As PyTorch's as_strided_scatter_backward has it: self gets the gradient of the elements that src took the place of, zero elsewhere (which is
 * the complement of the derivative; forward mode has that). Writing into a strided view is differentiated rightly: functionalisation does not use this
 * operator. */
static tc_status grad_as_strided_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    const bool forward = e->graph->program->forward_mode;
    tc_arg end = {.kind = TC_A_INT, .sym = tc_meta_numel(tc_e_sym(e), m)}; /* by positions: the gradient may be a view of other memory */
    tc_value *at = tc_emit_call(e, "aten::as_strided", "vaaa", tc_emit_call(e, "aten::arange", "a", &end), &n->args[2], &n->args[3], &n->args[4]);
    tc_value *part = tc_emit_call(e, "aten::take", "vv", gs[0], at);
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *zero = tc_e_zeros(e, m, gs[0]->meta.dtype);
        tc_e_give(e, n, 0,
                  forward ? tc_e_strided_put(e, gs[0], tc_e_zeros_like(e, part), &n->args[2]) : tc_e_strided_put(e, zero, part, &n->args[2]));
    }
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, part);
    return tc_e_done(e);
}

/* The elements with equal indices. With wrap, the diagonal of a tall matrix starts again after one row in between. */
static tc_status decompose_fill_diagonal(tc_emit *e, const tc_node *n) { /* self, fill_value, wrap */
    tc_value *x = tc_arg_value(n, 0), *at[TC_MAX_RANK], *mask = NULL;
    tc_symctx *s = e->graph->program->sym;
    int rank = x->meta.rank;
    if (rank < 2) return tc_error(TC_CONTENT, "fill_diagonal_: dimensions must larger than 1");
    for (int d = 0; d < rank; d++) {
        tc_sym shape[TC_MAX_RANK];
        if (rank > 2 && tc_sym_differ(s, x->meta.size[d], x->meta.size[0]))
            return tc_error(TC_CONTENT, "fill_diagonal_: all dimensions of input must be of equal length");
        for (int k = 0; k < rank; k++) shape[k] = k == d ? x->meta.size[d] : tc_sym_int(s, 1);
        at[d] = tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::arange", "sd", x->meta.size[d], (int)TC_I64), shape, rank);
    }
    if (tc_arg_bool(n, 2) && rank == 2) {
        tc_sym period = tc_sym_add(s, x->meta.size[1], tc_sym_int(s, 1));
        tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = period};
        int64_t v;
        if (tc_sym_const_int(period, &v)) by = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(v)};
        at[0] = tc_emit_call(e, "aten::remainder.Scalar", "va", at[0], &by);
    }
    for (int d = 1; d < rank; d++) {
        tc_value *same = tc_emit_call(e, "aten::eq.Tensor", "vv", at[0], at[d]);
        mask = mask ? tc_emit_call(e, "aten::logical_and", "vv", mask, same) : same;
    }
    tc_emit_result(e, 0, tc_emit_call(e, "aten::masked_fill.Scalar", "vva", x, mask, &n->args[1]));
    return tc_e_done(e);
}

#define INDEXED(SCHEMA, shape_, name, sample, text)                                                                                          \
    {                                                                                                                                        \
        .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_##name, .otherwise = &otherwise_##name, .grad = grad_##name, \
        .samples = sample, .doc = text                                                                                                       \
    }
const tc_op tc_ops_slice_scatter[] = {
    INDEXED("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index)", shape_backward, select_backward,
            "select_backward(f32[3], [3,4], 1, 2)", "gradient of select"),
    ROW("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step)", shape_backward,
        lower_slice_backward, grad_slice_backward, "slice_backward(f32[2,4], [5,4], 0, 1, 4, 2)", "gradient of slice"),
    ROW("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)", shape_backward, lower_diagonal_backward,
        grad_diagonal_backward, "diagonal_backward(f32[3], [3,4], 0, 0, 1)", "gradient of diagonal"),
    INDEXED("select_scatter(Tensor self, Tensor src, int dim, SymInt index)", shape_select_scatter, select_scatter,
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
     .shape = shape_as_strided_scatter,
     .decompose = decompose_as_strided_scatter,
     .grad = grad_as_strided_scatter,
     .samples = "as_strided_scatter(f32[3,4], f32[2,2], [2,2], [4,1], 1)",
     .doc = "self with src in a strided view"},
    {.schema = "tc::fill_diagonal_functional(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
     .shape = tc_shape_same,
     .decompose = decompose_fill_diagonal,
     .samples = "fill_diagonal_functional(f32[4,3], 2.5); fill_diagonal_functional(f32[3,3,3], 1); fill_diagonal_functional(i64[9,3], 7, "
                "True)",
     .doc = "fill_diagonal_: fill_value where all indices are equal"},
    {0}};
