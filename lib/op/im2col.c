/* Patches of images as columns and back, and pieces laid side by side.
 *
 *     im2col    [N, C, H, W] -> [N, C kh kw, oh ow]: column (i, j) holds the patch that begins at (i sh - ph, j sw - pw)
 *     col2im    the adjoint: every element of a patch is added where it came from
 *
 * Both go one dimension after the other: rows i sh + a dh of the padded image for all (a, i) are picked, or added into, by index. */
#include "op/shape.h"

#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

typedef struct {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
} window;

static tc_status read_window(const tc_node *n, int arg, window *w) {
    tc_arg_ints(n, arg, w->kernel, 2);
    tc_arg_ints(n, arg + 1, w->dilation, 2);
    tc_arg_ints(n, arg + 2, w->padding, 2);
    tc_arg_ints(n, arg + 3, w->stride, 2);
    for (int k = 0; k < 2; k++) {
        if (w->kernel[k] < 1) return tc_e_refuse(n, "kernel size should be greater than zero");
        if (w->dilation[k] < 1) return tc_e_refuse(n, "dilation should be greater than zero");
        if (w->padding[k] < 0) return tc_e_refuse(n, "padding should be non-negative");
        if (w->stride[k] < 1) return tc_e_refuse(n, "stride should be greater than zero");
    }
    return NULL;
}
/* The number of patches along dimension k of a given size. */
static tc_sym fitting(tc_symctx *s, const window *w, int k, tc_sym size) {
    tc_sym room = tc_sym_add(s, size, tc_sym_int(s, 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1));
    return tc_sym_add(s, tc_sym_floordiv(s, room, tc_sym_int(s, w->stride[k])), tc_sym_int(s, 1));
}
/* i * stride + a * dilation for all a of the kernel (outer) and all `count` patches i: a vector. */
static tc_value *rows(tc_emit *e, const window *w, int k, tc_sym count) {
    tc_value *a = ATEN("mul.Scalar", "vi", ATEN("arange", "id", w->kernel[k], (int)TC_I64), w->dilation[k]);
    tc_value *i = ATEN("mul.Scalar", "vi", ATEN("arange", "sd", count, (int)TC_I64), w->stride[k]);
    return ATEN("reshape", "vI", tc_e_add(e, ATEN("unsqueeze", "vi", a, (int64_t)1), i), (int64_t[]){-1}, 1);
}
static bool positive(tc_sym s) {
    int64_t v;
    return !tc_sym_const_int(s, &v) || v > 0;
}

static tc_status decompose_im2col(tc_emit *e, const tc_node *n) { /* self, kernel_size, dilation, padding, stride */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    window w;
    TC_TRY(read_window(n, 1, &w));
    int rank = x->meta.rank, lead = rank - 3;
    if (rank != 3 && rank != 4)
        return tc_e_refuse(n, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input");
    for (int d = lead; d < rank; d++)
        if (!positive(x->meta.size[d]))
            return tc_e_refuse(n, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input");
    if (rank == 3) x = ATEN("unsqueeze", "vi", x, (int64_t)0);
    if (e->status) return tc_e_done(e);
    tc_sym c = x->meta.size[1], count[2];
    for (int k = 0; k < 2; k++) {
        count[k] = fitting(s, &w, k, x->meta.size[2 + k]);
        if (!positive(count[k])) return tc_e_refuse(n, "the array of sliding blocks has a size of zero: its components must be at least one");
    }
    if (w.padding[0] || w.padding[1]) x = ATEN("constant_pad_nd", "vI", x, (int64_t[]){w.padding[1], w.padding[1], w.padding[0], w.padding[0]}, 4);
    for (int k = 0; k < 2; k++) x = ATEN("index_select", "viv", x, (int64_t)2 + k, rows(e, &w, k, count[k]));
    if (e->status) return tc_e_done(e);
    tc_sym apart[6] = {x->meta.size[0], c, tc_sym_int(s, w.kernel[0]), count[0], tc_sym_int(s, w.kernel[1]), count[1]};
    tc_sym all = tc_sym_mul(s, c, tc_sym_int(s, w.kernel[0] * w.kernel[1])), out[3] = {apart[0], all, tc_sym_mul(s, count[0], count[1])};
    x = ATEN("permute", "vI", ATEN("view", "vS", x, apart, 6), (int64_t[]){0, 1, 2, 4, 3, 5}, 6);
    x = ATEN("reshape", "vS", x, out + (rank == 3), 3 - (rank == 3));
    tc_emit_result(e, 0, x);
    return tc_e_done(e);
}

static tc_status decompose_col2im(tc_emit *e, const tc_node *n) { /* self, output_size, kernel_size, dilation, padding, stride */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    window w;
    TC_TRY(read_window(n, 2, &w));
    int rank = x->meta.rank;
    int64_t v, each = w.kernel[0] * w.kernel[1];
    if ((rank != 2 && rank != 3) || !positive(x->meta.size[rank - 1]) || !positive(x->meta.size[rank - 2]))
        return tc_e_refuse(n, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input");
    if (rank == 2) x = ATEN("unsqueeze", "vi", x, (int64_t)0);
    if (e->status) return tc_e_done(e);
    if (tc_sym_const_int(x->meta.size[1], &v) && v % each)
        return tc_e_refuse(n,
                           "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=%lld and "
                           "kernel_size=(%lld, %lld).",
                           (long long)v, (long long)w.kernel[0], (long long)w.kernel[1]);
    tc_sym c = tc_sym_floordiv(s, x->meta.size[1], tc_sym_int(s, each)), count[2], batch = x->meta.size[0];
    const tc_sym *size = n->args[1].syms;
    for (int k = 0; k < 2; k++) {
        count[k] = fitting(s, &w, k, size[k]);
        if (!positive(size[k]) || !positive(count[k])) return tc_e_refuse(n, "the array of sliding blocks has a size of zero for this output_size");
    }
    tc_sym blocks = tc_sym_mul(s, count[0], count[1]), same = tc_sym_op(s, TC_S_EQ, blocks, x->meta.size[2], NULL);
    if (!tc_e_guard(e, n, same))
        return tc_e_refuse(n, "expected size of input's dimension 2 to match the calculated number of sliding blocks of output_size");
    tc_sym apart[6] = {batch, c, tc_sym_int(s, w.kernel[0]), tc_sym_int(s, w.kernel[1]), count[0], count[1]};
    tc_sym lines[4] = {batch, c, tc_sym_mul(s, apart[2], count[0]), tc_sym_mul(s, apart[3], count[1])};
    x = ATEN("permute", "vI", ATEN("reshape", "vS", x, apart, 6), (int64_t[]){0, 1, 2, 4, 3, 5}, 6);
    x = ATEN("reshape", "vS", x, lines, 4);
    for (int k = 0; k < 2; k++) {
        lines[2 + k] = tc_sym_add(s, size[k], tc_sym_int(s, 2 * w.padding[k]));
        tc_value *zero = ATEN("zeros", "Sd", lines, 4, (int)tc_arg_meta(n, 0)->dtype);
        x = ATEN("index_add", "vivv", zero, (int64_t)2 + k, rows(e, &w, k, count[k]), x);
    }
    for (int k = 0; k < 2; k++)
        if (w.padding[k]) x = ATEN("slice.Tensor", "viis", x, (int64_t)2 + k, w.padding[k], tc_sym_add(s, size[k], tc_sym_int(s, w.padding[k])));
    if (rank == 2) x = ATEN("squeeze.dim", "vi", x, (int64_t)0);
    tc_emit_result(e, 0, x);
    return tc_e_done(e);
}

/* Each tensor is padded along dim to num_chunks equal chunks, each flattened; then the rows of all tensors are concatenated. */
static tc_status decompose_chunk_cat(tc_emit *e, const tc_node *n) { /* tensors, dim, num_chunks */
    const tc_arg *list = &n->args[0];
    int64_t d = tc_arg_int(n, 1), chunks = tc_arg_int(n, 2), v;
    tc_symctx *s = tc_e_sym(e);
    if (list->n == 0) return tc_e_refuse(n, "_chunk_cat expects a non-empty input tensor list");
    if (chunks < 1) return tc_e_refuse(n, "_chunk_cat expects positive num_chunks");
    const tc_meta *first = &list->values[0]->meta;
    for (int k = 0; k < list->n; k++) {
        const tc_meta *m = &list->values[k]->meta;
        if (m->dtype != first->dtype) return tc_e_refuse(n, "_chunk_cat expects all input tensors with the same dtype");
        if (m->rank != first->rank && d < 0) return tc_e_refuse(n, "_chunk_cat expects non-negative dim when input tensors have different ndims");
        for (int j = 0; j < m->rank; j++)
            if (tc_sym_const_int(m->size[j], &v) && v == 0) return tc_e_refuse(n, "_chunk_cat expects non-empty tensor");
        if (d >= m->rank || d < -m->rank) return tc_e_refuse(n, "_chunk_cat expects dim < ndim for all input tensors");
    }
    d = tc_wrap(d, first->rank);
    tc_value **out = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)list->n);
    for (int k = 0; k < list->n; k++) {
        tc_value *x = list->values[k];
        tc_sym shape[TC_MAX_RANK], rest = tc_sym_int(s, 1), pad[2 * TC_MAX_RANK];
        for (int j = 0; j < d; j++) {
            if (tc_sym_differ(s, x->meta.size[j], first->size[j]))
                return tc_e_refuse(n, "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors");
            shape[j] = x->meta.size[j];
        }
        tc_sym each = tc_sym_ceildiv(s, x->meta.size[d], tc_sym_int(s, chunks)), full = tc_sym_mul(s, each, tc_sym_int(s, chunks));
        int pads = 2 * (x->meta.rank - (int)d);
        for (int j = 0; j < pads; j++) pad[j] = tc_sym_int(s, 0);
        pad[pads - 1] = tc_sym_sub(s, full, x->meta.size[d]);
        if (!tc_sym_is_int(pad[pads - 1], 0)) x = ATEN("constant_pad_nd", "vS", x, pad, pads);
        for (int j = (int)d + 1; j < list->values[k]->meta.rank; j++) rest = tc_sym_mul(s, rest, list->values[k]->meta.size[j]);
        shape[d] = tc_sym_int(s, chunks);
        if (d + 1 >= TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "%s: more than %d dimensions", tc_op_name(n->op), TC_MAX_RANK);
        shape[d + 1] = tc_sym_mul(s, each, rest);
        out[k] = ATEN("reshape", "vS", x, shape, (int)d + 2);
    }
    tc_emit_result(e, 0, ATEN("cat", "Vi", out, list->n, d + 1));
    return tc_e_done(e);
}

#define RULE(SCHEMA, name, sample, text)                                                                                                     \
    {                                                                                                                                        \
        .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .keeps = "", .samples = sample, \
        .doc = text                                                                                                                          \
    }
const tc_op tc_ops_im2col[] = {RULE("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)", im2col,
                                    "im2col(f32[2,3,6,5], [2,3], [1,1], [1,0], [2,1])", "patches as columns"),
                               RULE("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
                                    col2im, "col2im(f32[2,18,12], [6,5], [2,3], [1,1], [1,0], [2,1])", "columns added into an image as patches"),
                               RULE("_chunk_cat(Tensor[] tensors, int dim, int num_chunks)", chunk_cat, "_chunk_cat([f32[3,4], f32[5,2]], 0, 2)",
                                    "chunks of each tensor, padded to the same size, side by side"),
                               {0}};
