/* Views written with the primitive ones of view.c: flatten, t, movedim, split, chunk, unbind, narrow, expand_as, ... and the _copy
 * forms, whose results share nothing with their argument. */
#include "op/shape.h"

#include <stdio.h>

static tc_value *one(tc_emit *e, tc_value *v) {
    tc_emit_result(e, 0, v);
    return v;
}
static int name_is(const tc_node *n, const char *name) { return !strcmp(tc_op_schema(n->op)->name, name); }
static tc_status wrap(const tc_node *n, int arg, int rank, int *out) {
    int64_t d = tc_arg_int(n, arg);
    int r = rank > 0 ? rank : 1;
    if (d < -r || d >= r)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -r, r - 1, (long long)d);
    *out = tc_wrap(d, rank);
    return NULL;
}
/* A list value for the results of a composition. */
static void list(tc_emit *e, tc_value *const *v, int n) { tc_emit_result(e, 0, tc_e_list(e, v, n)); }

/* ---- resize ---- */
/* The first elements in memory order, as many as the new sizes have; further ones are 0. */
static tc_status resized(tc_emit *e, const tc_node *n, const tc_sym *size, int rank, int format) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_shape_ctx c = {.program = e->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs, .source = n->source};
    tc_dims old = tc_dims_of(&x->meta), now = {.rank = rank};
    int64_t v;
    if (x->meta.requires_grad) return tc_e_refuse(n, "cannot resize variables that require grad");
    if (rank > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "%s: %d dimensions, at most %d", tc_op_name(n->op), rank, TC_MAX_RANK);
    for (int d = 0; d < rank; d++) {
        now.size[d] = size[d];
        if (tc_sym_const_int(size[d], &v) && v < 0) return tc_e_refuse(n, "Trying to create tensor with negative dimension");
    }
    if (!tc_arg_is_none(n, format)) return tc_error(TC_UNSUPPORTED, "%s: a memory format", tc_op_name(n->op));
    if (tc_sh_is_contiguous(&c, &x->meta) != 1) return tc_error(TC_UNSUPPORTED, "%s: a tensor that is not contiguous", tc_op_name(n->op));
    tc_sym have = tc_dims_numel(&c, &old), want = tc_dims_numel(&c, &now);
    tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    if (tc_sym_known(s, tc_sym_op(s, TC_S_EQ, have, want, NULL)) != 1) {
        tc_sym more = tc_sym_max(s, tc_sym_sub(s, want, have), tc_sym_int(s, 0)), pad[2] = {tc_sym_int(s, 0), more};
        flat = tc_emit_call(e, "aten::slice.Tensor", "viis", flat, (int64_t)0, (int64_t)0, tc_sym_min(s, want, have));
        if (!tc_sym_is_int(more, 0)) flat = tc_emit_call(e, "aten::constant_pad_nd", "vS", flat, pad, 2);
    }
    one(e, tc_e1(e, "aten::clone", tc_emit_call(e, "aten::view", "vS", flat, now.size, rank)));
    return tc_e_done(e);
}
static tc_status decompose_resize(tc_emit *e, const tc_node *n) { return resized(e, n, n->args[1].syms, n->args[1].n, 2); }
static tc_status decompose_resize_as(tc_emit *e, const tc_node *n) {
    const tc_meta *m = tc_arg_meta(n, 1);
    return resized(e, n, m->size, m->rank, 2);
}

/* ---- merged and split dimensions ---- */
static tc_status decompose_flatten(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int rank = x->meta.rank, a, b;
    tc_sym size[TC_MAX_RANK];
    TC_TRY(wrap(n, 1, rank, &a));
    TC_TRY(wrap(n, 2, rank, &b));
    if (a > b) return tc_e_refuse(n, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (rank == 0) {
        one(e, tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){1}, 1));
        return tc_e_done(e);
    }
    if (a == b) {
        one(e, tc_e1(e, "aten::alias", x));
        return tc_e_done(e);
    }
    tc_sym merged = tc_sym_int(tc_e_sym(e), 1);
    int k = 0;
    for (int d = 0; d < rank; d++) {
        if (d < a || d > b) size[k++] = x->meta.size[d];
        else merged = tc_sym_mul(tc_e_sym(e), merged, x->meta.size[d]);
        if (d == b) size[k++] = merged;
    }
    one(e, tc_emit_call(e, "aten::reshape", "vS", x, size, k));
    return tc_e_done(e);
}
static tc_status decompose_ravel(tc_emit *e, const tc_node *n) {
    one(e, tc_emit_call(e, "aten::view", "vI", tc_e1(e, "aten::contiguous", tc_arg_value(n, 0)), (int64_t[]){-1}, 1));
    return tc_e_done(e);
}
static tc_status decompose_unflatten(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int rank = x->meta.rank, d, m = n->args[2].n, k = 0, infer = -1;
    tc_sym size[2 * TC_MAX_RANK], rest = tc_sym_int(s, 1);
    int64_t v, have;
    if (!rank) return tc_e_refuse(n, "unflatten: Dimension specified but tensor has no dimensions");
    TC_TRY(wrap(n, 1, rank, &d));
    if (m == 0) return tc_e_refuse(n, "unflatten: sizes must be non-empty");
    if (rank - 1 + m > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
    for (int i = 0; i < d; i++) size[k++] = x->meta.size[i];
    for (int i = 0; i < m; i++) {
        size[k] = n->args[2].syms[i];
        if (tc_sym_const_int(size[k], &v) && v == -1) {
            if (infer >= 0) return tc_e_refuse(n, "only one dimension can be inferred");
            infer = k;
        } else {
            rest = tc_sym_mul(s, rest, size[k]);
        }
        k++;
    }
    tc_sym extent = x->meta.size[d];
    if (infer >= 0 && !tc_e_guard(e, n, tc_sym_op(s, TC_S_NE, rest, tc_sym_int(s, 0), NULL)))
        return tc_e_refuse(n, "unflatten: the unspecified dimension size -1 can be any value beside a size of 0 and is ambiguous");
    if (infer >= 0) size[infer] = tc_sym_floordiv(s, extent, rest), rest = tc_sym_mul(s, rest, size[infer]);
    if (tc_sym_differ(s, rest, extent)) {
        have = 0;
        tc_sym_const_int(extent, &have);
        return tc_e_refuse(n, "unflatten: Provided sizes don't multiply up to the size of dim %d (%lld) in the input tensor", d, (long long)have);
    }
    for (int i = d + 1; i < rank; i++) size[k++] = x->meta.size[i];
    one(e, tc_emit_call(e, "aten::view", "vS", x, size, k));
    return tc_e_done(e);
}
static tc_status decompose_as_other(tc_emit *e, const tc_node *n) { /* view_as, reshape_as, expand_as */
    tc_value *o = tc_arg_value(n, 1);
    const char *op = name_is(n, "view_as") ? "aten::view" : name_is(n, "reshape_as") ? "aten::reshape" : "aten::expand";
    one(e, tc_emit_call(e, op, "vS", tc_arg_value(n, 0), o->meta.size, o->meta.rank));
    return tc_e_done(e);
}
static tc_status decompose_broadcast_to(tc_emit *e, const tc_node *n) {
    one(e, tc_emit_call(e, "aten::expand", "va", tc_arg_value(n, 0), &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_reshape_alias(tc_emit *e, const tc_node *n) {
    one(e, tc_emit_call(e, "aten::view", "va", tc_arg_value(n, 0), &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_sum_to_size(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int rank = n->args[1].n, lead = x->meta.rank - rank;
    bool ok = lead >= 0 && rank <= TC_MAX_RANK;
    for (int k = 0; ok && k < rank; k++) ok = tc_sym_is_int(n->args[1].syms[k], 1) || !tc_sym_differ(s, n->args[1].syms[k], x->meta.size[lead + k]);
    if (!ok) return tc_e_refuse(n, "size is not expandable to the size of the tensor");
    tc_meta like = {.dtype = x->meta.dtype, .rank = rank, .size = n->args[1].syms};
    tc_value *r = tc_e_sum_to(e, x, &like);
    if (r && (r != x || rank == 0) && tc_is_integral(x->meta.dtype))
        r = tc_e_sum_to(e, tc_e_cast(e, x, TC_I64), &like); /* sums of integers are int64 */
    one(e, r == x ? tc_e1(e, "aten::alias", x) : r);
    return tc_e_done(e);
}

/* ---- order of dimensions ---- */
static tc_status decompose_t(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank > 2) return tc_e_refuse(n, "t() expects a tensor with <= 2 dimensions, but self is %dD", x->meta.rank);
    one(e, x->meta.rank < 2 ? tc_e1(e, "aten::alias", x) : tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)0, (int64_t)1));
    return tc_e_done(e);
}
static tc_status decompose_numpy_T(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t dims[TC_MAX_RANK];
    for (int k = 0; k < x->meta.rank; k++) dims[k] = x->meta.rank - 1 - k;
    one(e, tc_emit_call(e, "aten::permute", "vI", x, dims, x->meta.rank));
    return tc_e_done(e);
}
static tc_status decompose_mT(tc_emit *e, const tc_node *n) { /* mT, mH, adjoint, matrix_H */
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank < 2 && !(x->meta.rank == 0 && !name_is(n, "matrix_H")))
        return tc_e_refuse(n, "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.", tc_op_schema(n->op)->name,
                           x->meta.rank);
    if (!name_is(n, "mT")) x = tc_e_conj(e, x);
    if (x->meta.rank == 0) one(e, tc_e1(e, "aten::alias", x));
    else one(e, tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)-2, (int64_t)-1));
    return tc_e_done(e);
}
static tc_status decompose_swap(tc_emit *e, const tc_node *n) {
    one(e, tc_emit_call(e, "aten::transpose.int", "vaa", tc_arg_value(n, 0), &n->args[1], &n->args[2]));
    return tc_e_done(e);
}
static tc_status decompose_movedim(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int rank = x->meta.rank, count;
    int64_t src[TC_MAX_RANK], dst[TC_MAX_RANK], order[TC_MAX_RANK];
    bool used[TC_MAX_RANK] = {false}, moved[TC_MAX_RANK] = {false};
    if (n->args[1].kind == TC_A_INTS) {
        count = n->args[1].n;
        if (count != n->args[2].n) return tc_e_refuse(n, "movedim: Invalid source or destination dims: they should contain the same number of dims");
        if (count > TC_MAX_RANK) return tc_e_refuse(n, "too many dimensions");
        tc_arg_ints(n, 1, src, TC_MAX_RANK);
        tc_arg_ints(n, 2, dst, TC_MAX_RANK);
    } else {
        count = 1;
        src[0] = tc_arg_int(n, 1);
        dst[0] = tc_arg_int(n, 2);
    }
    for (int k = 0; k < rank; k++) order[k] = -1;
    for (int k = 0; k < count; k++) {
        int r = rank > 0 ? rank : 1;
        if (src[k] < -r || src[k] >= r || dst[k] < -r || dst[k] >= r)
            return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                            tc_op_name(n->op), -r, r - 1, (long long)(src[k] < -r || src[k] >= r ? src[k] : dst[k]));
        int a = tc_wrap(src[k], rank), b = tc_wrap(dst[k], rank);
        if (moved[a] || used[b])
            return tc_e_refuse(n, "%s", moved[a] ? "movedim: repeated dim in `source`" : "movedim: repeated dim in `destination`");
        moved[a] = used[b] = true;
        order[b] = a;
    }
    for (int k = 0, next = 0; k < rank; k++) {
        if (order[k] >= 0) continue;
        while (moved[next]) next++;
        order[k] = next++;
    }
    one(e, tc_emit_call(e, "aten::permute", "vI", x, order, rank));
    return tc_e_done(e);
}
static tc_status decompose_linalg_diagonal(tc_emit *e, const tc_node *n) {
    one(e, tc_emit_call(e, "aten::diagonal", "vaaa", tc_arg_value(n, 0), &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_value *atleast(tc_emit *e, tc_value *x, int rank) {
    if (x->meta.rank >= rank) return x;
    while (x && x->meta.rank < rank) /* rank 3: a vector becomes [1, n, 1], a matrix [m, n, 1] */
        x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)(rank == 3 && x->meta.rank >= 2 ? -1 : 0));
    return x;
}
static tc_status decompose_atleast(tc_emit *e, const tc_node *n) {
    int rank = tc_op_schema(n->op)->name[8] - '0';
    if (n->args[0].kind == TC_A_VALUE && n->args[0].value->kind == TC_V_TENSOR) {
        tc_value *x = tc_arg_value(n, 0), *r = atleast(e, x, rank);
        one(e, r == x ? tc_e1(e, "aten::alias", x) : r);
        return tc_e_done(e);
    }
    tc_value *v[256];
    int count = n->args[0].n;
    if (count > 256) return tc_e_refuse(n, "more than 256 tensors");
    for (int k = 0; k < count; k++) {
        tc_value *x = n->args[0].values[k], *r = atleast(e, x, rank);
        v[k] = r == x ? tc_e1(e, "aten::alias", x) : r;
    }
    list(e, v, count);
    return tc_e_done(e);
}

/* ---- pieces ---- */
static bool copies(const tc_node *n) { return strstr(tc_op_schema(n->op)->name, "_copy") != NULL; }
static tc_value *copied(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::clone", "va", v, &(tc_arg){.kind = TC_A_MEMFORMAT, .code = 1}); }
static tc_status decompose_narrow(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int d;
    int64_t size, a, b;
    if (x->meta.rank == 0) return tc_e_refuse(n, "narrow() cannot be applied to a 0-dim tensor.");
    TC_TRY(wrap(n, 1, x->meta.rank, &d));
    tc_sym start = tc_arg_sym(n, 2), len = tc_arg_sym(n, 3);
    if (!tc_e_guard(e, n, tc_sym_op(s, TC_S_LE, tc_sym_int(s, 0), len, NULL))) return tc_e_refuse(n, "narrow(): length must be non-negative.");
    if (tc_sym_const_int(start, &a) && tc_sym_const_int(x->meta.size[d], &size)) {
        if (a < -size || a > size)
            return tc_error(TC_CONTENT, "IndexError: %s: start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                            tc_op_name(n->op), (long long)-size, (long long)size, (long long)a);
        if (tc_sym_const_int(len, &b) && (a < 0 ? a + size : a) + b > size)
            return tc_e_refuse(n, "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)a, (long long)b, (long long)size);
    }
    const tc_sym negative = tc_sym_op(s, TC_S_LT, start, tc_sym_int(s, 0), NULL);
    if (tc_sym_known(s, negative)) start = tc_sym_op(s, TC_S_WHERE, negative, tc_sym_add(s, start, x->meta.size[d]), start);
    if (!tc_e_guard(e, n, tc_sym_op(s, TC_S_LE, tc_sym_int(s, 0), start, NULL)) ||
        !tc_e_guard(e, n, tc_sym_op(s, TC_S_LE, tc_sym_add(s, start, len), x->meta.size[d], NULL)))
        return tc_e_refuse(n, "start + length exceeds dimension size");
    tc_value *r = tc_emit_call(e, "aten::slice.Tensor", "viss", x, (int64_t)d, start, tc_sym_add(s, start, len));
    one(e, copies(n) ? copied(e, r) : r);
    return tc_e_done(e);
}
/* Slices [at[k], at[k + 1]) of dimension d. */
static tc_status pieces(tc_emit *e, const tc_node *n, tc_value *x, int d, const tc_sym *at, int count) {
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(count ? count : 1));
    for (int k = 0; k < count; k++) {
        v[k] = tc_emit_call(e, "aten::slice.Tensor", "viss", x, (int64_t)d, at[k], at[k + 1]);
        if (copies(n)) v[k] = copied(e, v[k]);
    }
    list(e, v, count);
    return tc_e_done(e);
}
/* The size that a row's `pieces` divides: of the dimension in argument `at`. NULL if the shape rule refuses it. */
static tc_sym cut_size(const tc_arg *args, int at) {
    const tc_meta *m = &args[0].value->meta;
    int64_t d;
    if (!tc_sym_const_int(args[at].sym, &d) || d < -m->rank || d >= m->rank) return NULL;
    return m->size[d < 0 ? d + m->rank : d];
}
/* The number of pieces of size `each` for `size` elements; 1 if both are 0. */
static tc_sym pieces_of(tc_symctx *s, tc_sym size, tc_sym each) {
    int64_t v;
    if (!size || (tc_sym_const_int(each, &v) && (v < 0 || (v == 0 && !tc_sym_is_int(size, 0))))) return NULL;
    return tc_sym_is_int(each, 0) ? tc_sym_int(s, 1) : tc_sym_ceildiv(s, size, each);
}
static tc_status even_pieces(tc_emit *e, const tc_node *n, tc_value *x, int d, tc_sym size, tc_sym count) {
    int64_t m;
    tc_symctx *s = tc_e_sym(e);
    if (!tc_e_pin(e, n, count, &m)) return tc_error(TC_UNSUPPORTED, "%s: the number of pieces depends on a symbolic size", tc_op_name(n->op));
    if (m < 1) m = 1;
    if (m > 100000) return tc_e_refuse(n, "too many pieces");
    tc_sym *at = TC_NEWN(&e->graph->program->arena, tc_sym, (size_t)m + 1);
    for (int64_t k = 0; k < m; k++) at[k] = tc_sym_mul(s, size, tc_sym_int(s, k));
    at[m] = x->meta.size[d];
    return pieces(e, n, x, d, at, (int)m);
}
static tc_sym pieces_split(tc_symctx *s, const tc_arg *args) { return pieces_of(s, cut_size(args, 2), args[1].sym); }
static tc_status decompose_split(tc_emit *e, const tc_node *n) { /* split.Tensor: size, dim */
    tc_value *x = tc_arg_value(n, 0);
    int d;
    int64_t v;
    if (x->meta.rank == 0) return tc_e_refuse(n, "split expects at least a 1-dimensional tensor");
    TC_TRY(wrap(n, 2, x->meta.rank, &d));
    tc_sym size = tc_arg_sym(n, 1), count = pieces_split(tc_e_sym(e), n->args);
    if (tc_sym_const_int(size, &v) && v < 0) return tc_e_refuse(n, "split expects split_size be non-negative, but got split_size=%lld", (long long)v);
    if (!count) return tc_e_refuse(n, "split_size can only be 0 if dimension size is 0");
    return even_pieces(e, n, x, d, size, count);
}
static tc_status decompose_split_sizes(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int d, count = n->args[1].n;
    int64_t v;
    if (x->meta.rank == 0) return tc_e_refuse(n, "split expects at least a 1-dimensional tensor");
    TC_TRY(wrap(n, 2, x->meta.rank, &d));
    tc_sym *at = TC_NEWN(&e->graph->program->arena, tc_sym, (size_t)count + 1);
    at[0] = tc_sym_int(s, 0);
    for (int k = 0; k < count; k++) {
        if (!tc_e_guard(e, n, tc_sym_op(s, TC_S_LE, at[0], n->args[1].syms[k], NULL)))
            return tc_e_refuse(n, "split_with_sizes expects split_sizes have only non-negative entries");
        at[k + 1] = tc_sym_add(s, at[k], n->args[1].syms[k]);
    }
    tc_sym same = tc_sym_op(s, TC_S_EQ, at[count], x->meta.size[d], NULL);
    if (!tc_e_guard(e, n, same)) {
        v = 0;
        tc_sym_const_int(x->meta.size[d], &v);
        return tc_e_refuse(n, "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %d)", (long long)v, d);
    }
    return pieces(e, n, x, d, at, count);
}
/* An empty dimension gives `chunks` empty pieces. */
static tc_sym chunks_of(tc_symctx *s, tc_sym size, tc_sym chunks) {
    int64_t v;
    if (!size || !tc_sym_const_int(chunks, &v) || v < 1) return NULL;
    tc_sym each = tc_sym_ceildiv(s, size, chunks);
    return tc_sym_is_int(each, 0) ? chunks : tc_sym_ceildiv(s, size, each);
}
static tc_sym pieces_chunk(tc_symctx *s, const tc_arg *args) { return chunks_of(s, cut_size(args, 2), args[1].sym); }
static tc_status decompose_chunk(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int d;
    int64_t chunks = tc_arg_int(n, 1), have, size;
    if (x->meta.rank == 0) return tc_e_refuse(n, "chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0) return tc_e_refuse(n, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
    TC_TRY(wrap(n, 2, x->meta.rank, &d));
    tc_sym k = tc_sym_int(s, chunks), whole = x->meta.size[d], count = tc_sym_simplify(s, pieces_chunk(s, n->args));
    if (!tc_sym_const_int(count, &have)) {
        if (!tc_program_example(e->graph->program, count, &have) || have == chunks) tc_e_guard(e, n, tc_sym_op(s, TC_S_EQ, count, k, NULL));
        else if (tc_e_pin(e, n, whole, &size)) whole = tc_sym_int(s, size); /* the example decides if it gives fewer pieces */
    }
    return even_pieces(e, n, x, d, tc_sym_ceildiv(s, whole, k), chunks_of(s, whole, k));
}
static tc_sym pieces_unbind(tc_symctx *s, const tc_arg *args) {
    (void)s;
    return cut_size(args, 1);
}
static tc_status decompose_unbind(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int d;
    int64_t m;
    if (x->meta.rank == 0) return tc_error(TC_CONTENT, "IndexError: %s: Dimension specified as 0 but tensor has no dimensions", tc_op_name(n->op));
    TC_TRY(wrap(n, 1, x->meta.rank, &d));
    if (!tc_e_pin(e, n, pieces_unbind(tc_e_sym(e), n->args), &m)) /* a loop over the tensor may have fixed it already */
        return tc_error(TC_UNSUPPORTED, "%s: the number of pieces depends on a symbolic size", tc_op_name(n->op));
    if (m > 100000) return tc_e_refuse(n, "too many pieces");
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(m ? m : 1));
    for (int64_t k = 0; k < m; k++) {
        v[k] = tc_emit_call(e, "aten::select.int", "vii", x, (int64_t)d, k);
        if (copies(n)) v[k] = copied(e, v[k]);
    }
    list(e, v, (int)m);
    return tc_e_done(e);
}
/* tensor_split and hsplit, vsplit, dsplit: `sections` nearly even pieces, or cuts at indices */
static tc_status tensor_split(tc_emit *e, const tc_node *n, int d) {
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    tc_sym size = x->meta.size[d];
    if (n->args[1].kind == TC_A_INTS) {
        int count = n->args[1].n;
        tc_sym *at = TC_NEWN(&e->graph->program->arena, tc_sym, (size_t)count + 2);
        tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)count + 1);
        at[0] = tc_sym_int(s, 0);
        for (int k = 0; k < count; k++) at[k + 1] = n->args[1].syms[k];
        at[count + 1] = size;
        for (int k = 0; k <= count; k++) v[k] = tc_emit_call(e, "aten::slice.Tensor", "viss", x, (int64_t)d, at[k], at[k + 1]);
        list(e, v, count + 1);
        return tc_e_done(e);
    }
    int64_t m;
    if (!tc_e_pin(e, n, tc_arg_sym(n, 1), &m)) return tc_error(TC_UNSUPPORTED, "%s: a number of sections that is not known", tc_op_name(n->op));
    if (m <= 0) return tc_e_refuse(n, "number of sections must be larger than 0, got %lld", (long long)m);
    if (m > 100000) return tc_e_refuse(n, "too many pieces");
    tc_sym *at = TC_NEWN(&e->graph->program->arena, tc_sym, (size_t)m + 1);
    tc_sym each = tc_sym_floordiv(s, size, tc_sym_int(s, m)), more = tc_sym_mod(s, size, tc_sym_int(s, m));
    for (int64_t k = 0; k <= m; k++) at[k] = tc_sym_add(s, tc_sym_mul(s, each, tc_sym_int(s, k)), tc_sym_min(s, tc_sym_int(s, k), more));
    return pieces(e, n, x, d, at, (int)m);
}
static tc_status decompose_tensor_split(tc_emit *e, const tc_node *n) {
    int d, rank = tc_arg_value(n, 0)->meta.rank;
    if (rank == 0) return tc_e_refuse(n, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
    TC_TRY(wrap(n, 2, rank, &d));
    return tensor_split(e, n, d);
}
static tc_status decompose_hvdsplit(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    char which = tc_op_schema(n->op)->name[0];
    int least = which == 'h' ? 1 : which == 'v' ? 2 : 3, d = which == 'h' ? (x->meta.rank == 1 ? 0 : 1) : least == 2 ? 0 : 2;
    int64_t size;
    if (x->meta.rank < least)
        return tc_e_refuse(n, "torch.%csplit requires a tensor with at least %d dimension, but got a tensor with %d dimensions!", which, least,
                           x->meta.rank);
    if (n->args[1].kind != TC_A_INTS && tc_arg_int(n, 1) != 0 && tc_sym_const_int(x->meta.size[d], &size) && size % tc_arg_int(n, 1))
        return tc_e_refuse(
            n, "torch.%csplit attempted to split along dimension %d, but the size of the dimension %lld is not divisible by the split_size %lld!",
            which, d, (long long)size, (long long)tc_arg_int(n, 1));
    return tensor_split(e, n, d);
}
static tc_status decompose_broadcast_tensors(tc_emit *e, const tc_node *n) {
    int count = n->args[0].n;
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(count ? count : 1));
    tc_shape_ctx c = {.program = e->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs, .source = n->source};
    tc_dims d = {0};
    for (int k = 0; k < count; k++) TC_TRY(tc_sh_broadcast_dims(&c, &d, &n->args[0].values[k]->meta));
    for (int k = 0; k < count; k++) v[k] = tc_emit_call(e, "aten::expand", "vS", n->args[0].values[k], d.size, d.rank);
    list(e, v, count);
    return tc_e_done(e);
}
/* meshgrid: tensor k runs along dimension k; "xy" exchanges the first two */
static tc_status decompose_meshgrid(tc_emit *e, const tc_node *n) {
    int count = n->args[0].n;
    const char *indexing = n->nargs > 1 ? tc_arg_string(n, 1) : "ij";
    bool xy = indexing && !strcmp(indexing, "xy");
    tc_sym size[TC_MAX_RANK];
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(count ? count : 1));
    if (count == 0) return tc_e_refuse(n, "meshgrid expects a non-empty TensorList");
    if (indexing && strcmp(indexing, "ij") && !xy)
        return tc_e_refuse(n, "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s", indexing);
    if (count > TC_MAX_RANK) return tc_e_refuse(n, "too many tensors");
    for (int k = 0; k < count; k++) {
        tc_meta *m = &n->args[0].values[k]->meta;
        if (m->rank > 1)
            return tc_e_refuse(n, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor with %d dimensions", m->rank);
        if (m->dtype != n->args[0].values[0]->meta.dtype) return tc_e_refuse(n, "torch.meshgrid expects all tensors to have the same dtype");
    }
    for (int k = 0; k < count; k++) {
        int at = xy && count > 1 && k < 2 ? 1 - k : k;
        const tc_meta *m = &n->args[0].values[k]->meta;
        size[at] = m->rank ? m->size[0] : tc_sym_int(tc_e_sym(e), 1);
    }
    for (int k = 0; k < count; k++) {
        int at = xy && count > 1 && k < 2 ? 1 - k : k;
        int64_t shape[TC_MAX_RANK];
        for (int j = 0; j < count; j++) shape[j] = 1;
        shape[at] = -1;
        v[k] = tc_emit_call(e, "aten::expand", "vS", tc_emit_call(e, "aten::reshape", "vI", n->args[0].values[k], shape, count), size, count);
    }
    list(e, v, count);
    return tc_e_done(e);
}

/* NAME_copy: the view, then a copy. */
/* view_copy works for any strides: it is reshape and a copy. */
static tc_status decompose_copy(tc_emit *e, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    char name[96];
    snprintf(name, sizeof name, "aten::%.*s%s%s", (int)(strlen(s->name) - 5), s->name, *s->overload ? "." : "", s->overload);
    bool resizes = !strcmp(s->name, "view_copy") && !*s->overload;
    if (name_is(n, "as_strided_copy")) TC_TRY(tc_sh_need_rows(e->graph->program, n->op, tc_arg_meta(n, 0)));
    tc_node *v = tc_e_args(e, resizes ? "aten::reshape" : name, n->args, n->nargs);
    tc_emit_result(e, 0, v ? copied(e, v->outs[0]) : NULL);
    return tc_e_done(e);
}

#define ROW(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define AS_OTHER(SCHEMA, sample, text) \
    { .schema = "aten::" SCHEMA, .flags = TC_OP_LIKE, .shape = tc_shape_decomposed, .decompose = decompose_as_other, .samples = sample, .doc = text }
#define OF_VIEWS(SCHEMA, name, sample, text)                                                                                                \
    {                                                                                                                                       \
        .schema = "aten::" SCHEMA, .flags = TC_OP_OF_VIEWS, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, \
        .doc = text                                                                                                                         \
    }
#define EVEN(SCHEMA, FLAGS, name, sample, text)                                                                                          \
    {                                                                                                                                    \
        .schema = "aten::" SCHEMA, .flags = FLAGS, .shape = tc_shape_decomposed, .decompose = decompose_##name, .pieces = pieces_##name, \
        .samples = sample, .doc = text                                                                                                   \
    }
#define COPY(SCHEMA) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_copy, .doc = "the view, copied" }
const tc_op tc_ops_view_more[] = {
    {.schema = "aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_resize,
     .samples = "resize(f32[2,3], [3,2]); resize(f32[2,3], [2,2]); resize(f32[2], [2,3])",
     .doc = "the elements in order in other sizes, more of them 0"},
    {.schema = "aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
     .flags = TC_OP_LIKE,
     .shape = tc_shape_decomposed,
     .decompose = decompose_resize_as,
     .samples = "resize_as(f32[2,3], f32[3,2])",
     .doc = "resize to the sizes of the_template"},

    ROW("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten, "flatten(f32[2,3,4], 1)",
        "dimensions start_dim .. end_dim as one"),
    ROW("ravel(Tensor(a) self) -> Tensor(a)", ravel, "ravel(f32[2,3])", "one dimension"),
    ROW("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", unflatten, "unflatten(f32[2,6], 1, [2,-1])", "a dimension as several"),
    AS_OTHER("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", "view_as(f32[2,6], f32[3,4])", "the sizes of other"),
    AS_OTHER("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", "reshape_as(f32[2,6], f32[3,4])", "the sizes of other"),
    AS_OTHER("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", "expand_as(f32[3,1], f32[3,4])", "expanded to the sizes of other"),
    ROW("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", broadcast_to, "broadcast_to(f32[3,1], [3,4])", "expanded"),
    ROW("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", reshape_alias, NULL, "view"),
    OF_VIEWS("sum_to_size(Tensor self, SymInt[] size) -> Tensor", sum_to_size, "sum_to_size(f32[2,3,4], [3,1])", "the sums over what was broadcast"),
    ROW("t(Tensor(a) self) -> Tensor(a)", t, "t(f32[2,3])", "the transpose of a matrix"),
    ROW("numpy_T(Tensor(a) self) -> Tensor(a)", numpy_T, "numpy_T(f32[2,3,4])", "dimensions reversed"),
    ROW("mT(Tensor(a) self) -> Tensor(a)", mT, "mT(f32[2,3,4])", "the transpose of each matrix"),
    ROW("mH(Tensor(a) self) -> Tensor(a)", mT, "mH(f32[2,3,4])", "the transpose of each real matrix"),
    ROW("matrix_H(Tensor(a) self) -> Tensor(a)", mT, "matrix_H(f32[2,3])", "the transpose of a real matrix"),
    ROW("adjoint(Tensor(a) self) -> Tensor(a)", mT, "adjoint(f32[2,3,4])", "the transpose of each real matrix"),
    ROW("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", swap, "swapaxes(f32[2,3], 0, 1)", "two dimensions exchanged"),
    ROW("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swap, "swapdims(f32[2,3], 0, 1)", "two dimensions exchanged"),
    ROW("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim, "movedim(f32[2,3,4], 0, -1)", "a dimension moved"),
    ROW("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim, "movedim(f32[2,3,4], [0,1], [1,2])",
        "dimensions moved"),
    ROW("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim, "moveaxis(f32[2,3,4], 0, -1)", "a dimension moved"),
    ROW("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim, "moveaxis(f32[2,3,4], [0,1], [1,2])",
        "dimensions moved"),
    ROW("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", linalg_diagonal, "linalg_diagonal(f32[2,3,4])",
        "the diagonals of matrices"),
    OF_VIEWS("atleast_1d(Tensor self) -> Tensor", atleast, "atleast_1d(f32[])", "at least 1 dimension"),
    OF_VIEWS("atleast_2d(Tensor self) -> Tensor", atleast, "atleast_2d(f32[3])", "at least 2 dimensions"),
    OF_VIEWS("atleast_3d(Tensor self) -> Tensor", atleast, "atleast_3d(f32[3])", "at least 3 dimensions"),
    OF_VIEWS("atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", atleast, NULL, "at least 1 dimension"),
    OF_VIEWS("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", atleast, NULL, "at least 2 dimensions"),
    OF_VIEWS("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", atleast, NULL, "at least 3 dimensions"),
    ROW("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", narrow, "narrow(f32[5,3], 0, 1, 3)",
        "length elements from start"),
    ROW("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", narrow, "narrow_copy(f32[5,3], 0, 1, 3)",
        "length elements from start, copied"),
    EVEN("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", 0, split, "split(f32[7,2], 3)",
         "pieces of that size, the last shorter"),
    ROW("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", split_sizes, "split(f32[7,2], [3,4])",
        "pieces of those sizes"),
    ROW("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split_sizes, "split_with_sizes(f32[7,2], [3,4])",
        "pieces of those sizes"),
    EVEN("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", 0, split, "split_copy(f32[7,2], 3)", "pieces, copied"),
    ROW("split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", split_sizes, "split_with_sizes_copy(f32[7,2], [3,4])",
        "pieces, copied"),
    EVEN("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", TC_OP_OF_VIEWS, split, "unsafe_split(f32[7,2], 3)", "pieces"),
    OF_VIEWS("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", split_sizes,
             "unsafe_split_with_sizes(f32[7,2], [3,4])", "pieces"),
    EVEN("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", 0, chunk, "chunk(f32[7,2], 3)",
         "at most that many pieces of equal size, the last shorter"),
    EVEN("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", TC_OP_OF_VIEWS, chunk, "unsafe_chunk(f32[7,2], 3)", "pieces"),
    EVEN("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", 0, unbind, "unbind(f32[3,2])", "the slices of a dimension"),
    EVEN("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", 0, unbind, "unbind_copy(f32[3,2])", "the slices of a dimension, copied"),
    ROW("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", tensor_split, "tensor_split(f32[7,2], 3)",
        "nearly even pieces"),
    ROW("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", tensor_split, "tensor_split(f32[7,2], [2,5])",
        "cut at indices"),
    ROW("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", hvdsplit, "hsplit(f32[2,4], 2)", "pieces of dimension 1"),
    ROW("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", hvdsplit, "hsplit(f32[2,4], [1])", "pieces of dimension 1"),
    ROW("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", hvdsplit, "vsplit(f32[4,2], 2)", "pieces of dimension 0"),
    ROW("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", hvdsplit, "vsplit(f32[4,2], [1])", "pieces of dimension 0"),
    ROW("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", hvdsplit, "dsplit(f32[2,2,4], 2)", "pieces of dimension 2"),
    ROW("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", hvdsplit, "dsplit(f32[2,2,4], [1])", "pieces of dimension 2"),
    OF_VIEWS("broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_tensors, "broadcast_tensors([f32[3,1], f32[4]])",
             "all expanded to one size"),
    OF_VIEWS("meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid, "meshgrid([f32[3], f32[4]])", "the coordinates of a grid"),
    OF_VIEWS("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid, "meshgrid([f32[3], f32[4]], indexing='xy')",
             "the coordinates of a grid"),
    COPY("view_copy(Tensor self, SymInt[] size)"),
    COPY("view_copy.dtype(Tensor self, ScalarType dtype)"),
    COPY("permute_copy(Tensor self, int[] dims)"),
    COPY("transpose_copy.int(Tensor self, int dim0, int dim1)"),
    COPY("t_copy(Tensor self)"),
    COPY("expand_copy(Tensor self, SymInt[] size, *, bool implicit=False)"),
    COPY("select_copy.int(Tensor self, int dim, SymInt index)"),
    COPY("slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"),
    COPY("squeeze_copy(Tensor self)"),
    COPY("squeeze_copy.dim(Tensor self, int dim)"),
    COPY("squeeze_copy.dims(Tensor self, int[] dim)"),
    COPY("unsqueeze_copy(Tensor self, int dim)"),
    COPY("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)"),
    COPY("unfold_copy(Tensor self, int dimension, int size, int step)"),
    COPY("as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)"),
    {0}};
