/* Complex matrix products and convolutions, as one real operator each on matrices of parts:
 *
 *     [ar ai]  by  [ br bi]      a [m, k] complex is [m, 2 k] real in memory, and so is the result; only b is written out,
 *                  [-bi br]      [2 k, 2 n]: as many multiplications as the complex product has
 *
 * A convolution is the same with channels for columns. The order of sums is that of the real operator over (k, part). */
#include "op/complex_parts.h"
#include "op/shape.h"

tc_value *tc_by_parts_pair(tc_emit *e, tc_value *re, tc_value *im) { return tc_e2(e, "aten::complex", re, im); }

static tc_value *parts(tc_emit *e, tc_value *z) { return tc_e1(e, "aten::view_as_real", z); }
/* i z, exactly */
static tc_value *turned(tc_emit *e, tc_value *z) { return tc_by_parts_pair(e, tc_e_neg(e, tc_e1(e, "aten::imag", z)), tc_e1(e, "aten::real", z)); }
static tc_value *stack(tc_emit *e, tc_value *a, tc_value *b, int64_t dim) {
    tc_value *list[2] = {a, b};
    return tc_emit_call(e, "aten::stack", "Vi", list, 2, dim);
}
static tc_value *reshape(tc_emit *e, tc_value *x, const tc_sym *size, int rank) { return tc_emit_call(e, "aten::reshape", "vS", x, size, rank); }
static tc_value *to_complex(tc_emit *e, tc_value *x) { /* from a last dimension of size 2, which need not be the innermost in memory */
    tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    return tc_e1(e, "aten::view_as_complex", tc_emit_call(e, "aten::contiguous", "va", x, &contiguous));
}
static tc_sym twice(tc_emit *e, tc_sym s) { return tc_sym_mul(tc_e_sym(e), s, tc_sym_int(tc_e_sym(e), 2)); }

/* ---- matrix products ---- */
static tc_value *product(tc_emit *e, tc_value *a, tc_value *b) {
    int r = a->meta.rank, batch = r - 2;
    tc_sym left[3], right[3], out[4];
    for (int k = 0; k < batch; k++) left[k] = right[k] = out[k] = a->meta.size[k];
    left[batch] = out[batch] = a->meta.size[batch];
    left[batch + 1] = right[batch] = twice(e, a->meta.size[batch + 1]);
    right[batch + 1] = twice(e, b->meta.size[batch + 1]);
    out[batch + 1] = b->meta.size[batch + 1];
    out[batch + 2] = tc_sym_int(tc_e_sym(e), 2);
    tc_value *x = reshape(e, parts(e, a), left, r);
    tc_value *y = reshape(e, stack(e, parts(e, b), parts(e, turned(e, b)), batch + 1), right, r);
    return to_complex(e, tc_emit_call(e, "aten::view", "vS", tc_e2(e, batch ? "aten::bmm" : "aten::mm", x, y), out, r + 1));
}
tc_status tc_by_parts_product(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, product(e, tc_arg_value(n, 0), tc_arg_value(n, 1)));
    return tc_e_done(e);
}
/* beta self + alpha a b; self is not read if beta is 0 */
tc_status tc_by_parts_added(tc_emit *e, const tc_node *n) {
    tc_value *p = product(e, tc_arg_value(n, 1), tc_arg_value(n, 2));
    const tc_scalar beta = tc_arg_scalar(n, 3), alpha = tc_arg_scalar(n, 4);
    if (!tc_scalar_is(alpha, 1)) p = tc_emit_call(e, "aten::mul.Tensor", "va", p, &n->args[4]);
    if (!tc_scalar_is(beta, 0)) {
        tc_value *self = tc_arg_value(n, 0);
        if (!tc_scalar_is(beta, 1)) self = tc_emit_call(e, "aten::mul.Tensor", "va", self, &n->args[3]);
        p = tc_e_add(e, self, p);
    }
    tc_emit_result(e, 0, p);
    return tc_e_done(e);
}

/* ---- convolutions ---- */
static tc_value *moved(tc_emit *e, tc_value *x, int64_t from, int64_t to) { return tc_emit_call(e, "aten::movedim.int", "vii", x, from, to); }
/* [n, c, ...] complex as [n, 2 c, ...] */
static tc_value *channels(tc_emit *e, tc_value *x) {
    tc_sym size[TC_MAX_RANK];
    memcpy(size, x->meta.size, sizeof *size * (size_t)x->meta.rank);
    size[1] = twice(e, size[1]);
    return reshape(e, moved(e, parts(e, x), -1, 2), size, x->meta.rank);
}
/* and back */
static tc_value *of_channels(tc_emit *e, tc_value *x, const tc_meta *like) {
    tc_sym size[TC_MAX_RANK + 1];
    size[0] = like->size[0], size[1] = like->size[1], size[2] = tc_sym_int(tc_e_sym(e), 2);
    for (int k = 2; k < like->rank; k++) size[k + 1] = like->size[k];
    return to_complex(e, moved(e, reshape(e, x, size, like->rank + 1), 2, -1));
}
/* The weight [o, i, ...] as the real weight [2 o, 2 i, ...] from parts of inputs to parts of outputs (transposed: [i, o, ...], [2 i, 2 o, ...]). */
static tc_value *weight_parts(tc_emit *e, tc_value *w, bool transposed) {
    tc_sym size[TC_MAX_RANK];
    memcpy(size, w->meta.size, sizeof *size * (size_t)w->meta.rank);
    size[0] = twice(e, size[0]), size[1] = twice(e, size[1]);
    if (!transposed) w = tc_e_conj(e, w); /* [wr -wi; wi wr]: the rows are the parts of conj(w) and of i conj(w) */
    tc_value *rows = stack(e, parts(e, w), parts(e, turned(e, w)), 1);
    return reshape(e, moved(e, rows, -1, 3), size, w->meta.rank);
}
tc_status tc_by_parts_convolution(tc_emit *e, const tc_node *n) {
    tc_value *b = tc_arg_value(n, 2), *w = weight_parts(e, tc_arg_value(n, 1), tc_arg_bool(n, 6));
    if (b) b = tc_emit_call(e, "aten::reshape", "vI", parts(e, b), (int64_t[]){-1}, 1);
    tc_value *y = tc_emit_call(e, "aten::convolution", "vvvaaaaaa", channels(e, tc_arg_value(n, 0)), w, b, &n->args[3], &n->args[4], &n->args[5],
                               &n->args[6], &n->args[7], &n->args[8]);
    tc_emit_result(e, 0, of_channels(e, y, &n->outs[0]->meta));
    return tc_e_done(e);
}

/* Bilinear, without conjugates (the gradient rule adds them). The real operator's transpose conjugates the weight's matrix, so it gets the
 * conjugate; the complex weight gradient is assembled from the real one [2 o, 2 i, ...]. */
tc_status tc_by_parts_convolution_backward(tc_emit *e, const tc_node *n) {
    tc_value *g = tc_arg_value(n, 0), *x = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    const bool *mask = n->args[10].bools;
    bool transposed = tc_arg_bool(n, 7), inner[3] = {mask[0], mask[1], false};
    tc_arg m = {.kind = TC_A_BOOLS, .n = 3, .bools = tc_arena_dup(&e->graph->program->arena, inner, sizeof inner)}, none = {0};
    tc_value *r = NULL;
    if (mask[0] || mask[1])
        r = tc_emit_call(e, "aten::convolution_backward", "vvvaaaaaaaa", channels(e, g), channels(e, x), weight_parts(e, tc_e_conj(e, w), transposed),
                         &none, &n->args[4], &n->args[5], &n->args[6], &n->args[7], &n->args[8], &n->args[9], &m);
    if (r && mask[0]) tc_emit_result(e, 0, of_channels(e, tc_emit_out(r, 0), &x->meta));
    if (r && mask[1]) {
        tc_sym size[TC_MAX_RANK + 2], two = tc_sym_int(tc_e_sym(e), 2);
        size[0] = w->meta.size[0], size[1] = two, size[2] = w->meta.size[1], size[3] = two;
        for (int k = 2; k < w->meta.rank; k++) size[k + 2] = w->meta.size[k];
        tc_value *d = reshape(e, tc_emit_out(r, 1), size, w->meta.rank + 2), *at[2][2];
        for (int64_t p = 0; p < 2; p++)
            for (int64_t q = 0; q < 2; q++)
                at[p][q] = tc_emit_call(e, "aten::select.int", "vii", tc_emit_call(e, "aten::select.int", "vii", d, (int64_t)3, q), (int64_t)1, p);
        tc_emit_result(e, 1, tc_by_parts_pair(e, tc_e_sub(e, at[0][0], at[1][1]), tc_e_add(e, at[0][1], at[1][0])));
    }
    if (mask[2]) {
        int64_t dims[TC_MAX_RANK];
        int k = 0;
        for (int d = 0; d < g->meta.rank; d++)
            if (d != 1) dims[k++] = d;
        tc_emit_result(e, 2, tc_e_sum_dims(e, g, dims, k, false));
    }
    return tc_e_done(e);
}
