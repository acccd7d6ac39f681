/* Embedding: rows of a table picked by indices, y[..., d] = weight[index[...], d]; and bags of them, summed, averaged or maximised.
 *
 * The gradient adds up, for each row, the gradients of the places that picked it; those that picked padding_idx are left out. */
#include "kernel/scatter.h"
#include "op/lower.h"
#include "op/shape.h"

static tc_status check_index(tc_shape_ctx *c, int arg) {
    TC_TRY(tc_sh_need_tensor(c, arg));
    tc_dtype d = tc_sh_meta(c, arg)->dtype;
    if (d == TC_I64 || d == TC_I32) return NULL;
    return tc_sh_fail(c, "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got %s instead",
                      tc_dtypes[d].torch);
}
static tc_status shape_embedding(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(check_index(c, 1));
    const tc_meta *w = tc_sh_meta(c, 0), *i = tc_sh_meta(c, 1);
    if (w->rank != 2) return tc_sh_fail(c, "'weight' must be 2-D");
    tc_dims d = tc_dims_of(i);
    if (d.rank == TC_MAX_RANK) return tc_sh_fail(c, "too many dimensions");
    d.size[d.rank++] = w->size[1];
    return tc_sh_out(c, 0, w->dtype, &d);
}
static tc_status lower_embedding(tc_lower *l) {
    tc_value *w = tc_arg_value(l->node, 0), *i = tc_arg_value(l->node, 1);
    tc_affine at[TC_MAX_RANK] = {{0}}, row[2] = {tc_l_affine(l, NULL, -1, NULL), tc_l_axis(l, l->result_axes - 1)};
    for (int k = 0; k < i->meta.rank; k++) at[k] = tc_sym_is_int(i->meta.size[k], 1) ? row[0] : tc_l_axis(l, k);
    if (tc_sym_is_int(w->meta.size[1], 1)) row[1] = row[0];
    tc_lv gather[2] = {tc_l_cast(l, tc_l_load(l, i, at, NULL, TC_LV_NONE), TC_I64), TC_LV_NONE};
    return tc_l_out(l, 0, tc_l_load(l, w, row, gather, TC_LV_NONE));
}
static tc_status grad_embedding(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* weight, indices, padding_idx, scale_grad_by_freq, sparse */
    const tc_meta *w = tc_arg_meta(n, 0);
    if (!tc_emit_wants_grad(e, n, 0)) return NULL;
    if (tc_arg_bool(n, 4)) return tc_error(TC_UNSUPPORTED, "%s: the sparse gradient of sparse=True is not supported", tc_op_name(n->op));
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::embedding_dense_backward", "vasaa", gs[0], &n->args[1], w->size[0], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status shape_dense_backward(tc_shape_ctx *c) { /* grad_output, indices, num_weights, padding_idx, scale_grad_by_freq */
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(check_index(c, 1));
    const tc_meta *g = tc_sh_meta(c, 0);
    tc_dims picked = tc_dims_of(tc_sh_meta(c, 1)), rows = tc_dims_of(g);
    int64_t v;
    if (g->rank < 1) return tc_sh_fail(c, "grad_output needs a dimension");
    rows.rank--;
    if (!tc_sh_same(c, tc_dims_numel(c, &picked), tc_dims_numel(c, &rows)))
        return tc_sh_fail(c, "grad_output must have a row for each of the indices");
    if (tc_sym_const_int(tc_sh_int(c, 2), &v) && v < 0) return tc_sh_fail(c, "num_weights is %lld, expected 0 or more", (long long)v);
    tc_dims d = {.rank = 2, .size = {tc_sh_int(c, 2), g->size[g->rank - 1]}};
    return tc_sh_out(c, 0, g->dtype, &d);
}
static tc_status grad_dense_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::embedding", "va", gs[0], &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_embedding_backward(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::embedding_dense_backward", "aaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4]));
    return tc_e_done(e);
}

/* Rows that an index picks and whose norm exceeds max_norm are scaled to it: row * (max_norm / (norm + 1e-7)). The factor is computed in float64 and
 * rounded to the type of the table. */
static tc_status decompose_renorm_rows(tc_emit *e, const tc_node *n) { /* self, indices, max_norm, norm_type */
    tc_value *w = tc_arg_value(n, 0), *idx = tc_arg_value(n, 1);
    double most = tc_arg_float(n, 2);
    if (!w || !idx || w->meta.rank != 2 || !tc_is_float(w->meta.dtype)) return tc_e_refuse(n, "self has to be a 2-D tensor of a floating point type");
    if (idx->meta.dtype != TC_I64 && idx->meta.dtype != TC_I32)
        return tc_e_refuse(n, "indices have to be Long or Int, but got %s", tc_dtypes[idx->meta.dtype].torch);
    tc_dtype wide = tc_dtype_compute(w->meta.dtype);
    idx = tc_emit_call(e, "aten::reshape", "vI", tc_e_cast(e, idx, TC_I64), (int64_t[]){-1}, 1);
    tc_value *picked = tc_emit_call(e, "aten::index_fill.int_Scalar", "vivi", tc_emit_call(e, "aten::zeros", "Sd", w->meta.size, 1, (int)TC_BOOL),
                                    (int64_t)0, idx, (int64_t)1);
    tc_value *norm = tc_e_cast(e, tc_emit_call(e, "aten::norm.ScalarOpt_dim", "vaI", w, &n->args[3], (int64_t[]){1}, 1), TC_F64);
    tc_value *over = tc_e2(e, "aten::logical_and", picked, tc_emit_call(e, "aten::gt.Scalar", "vf", norm, most)),
             *scale = tc_e_muls(e, tc_e1(e, "aten::reciprocal", tc_e_adds(e, norm, 1e-7)), most);
    tc_value *rows = tc_e_mul(e, tc_e_cast(e, w, wide),
                              tc_emit_call(e, "aten::unsqueeze", "vi", tc_e_cast(e, tc_e_cast(e, scale, w->meta.dtype), wide), (int64_t)1));
    tc_emit_result(
        e, 0,
        tc_emit_call(e, "aten::where.self", "vvv", tc_emit_call(e, "aten::unsqueeze", "vi", over, (int64_t)1), tc_e_cast(e, rows, w->meta.dtype), w));
    return tc_e_done(e);
}
/* Scales the table outside of autograd: for later operators it is the same table. */
static tc_status grad_renorm_rows(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, gs[0]);
    return tc_e_done(e);
}

/* ---- bags ---- */
/* The bag of each index: the number of offsets at or before it, minus 1. offsets: at most count, which a last empty bag has. */
static tc_value *bag_of(tc_emit *e, tc_value *offsets, tc_sym count, bool include_last) {
    if (include_last) offsets = tc_emit_call(e, "aten::slice.Tensor", "viii", offsets, (int64_t)0, (int64_t)0, (int64_t)-1);
    if (!offsets || !count) return NULL;
    tc_sym places = tc_sym_add(tc_e_sym(e), count, tc_sym_int(tc_e_sym(e), 1));
    tc_value *begins = tc_emit_call(e, "aten::index_add", "vivv", tc_emit_call(e, "aten::zeros", "Sd", &places, 1, (int)TC_I64), (int64_t)0, offsets,
                                    tc_emit_call(e, "aten::ones_like", "v", offsets));
    begins = tc_emit_call(e, "aten::slice.Tensor", "viis", begins, (int64_t)0, (int64_t)0, count);
    return tc_emit_call(e, "aten::sub.Tensor", "vi", tc_emit_call(e, "aten::cumsum", "vi", begins, (int64_t)0), (int64_t)1);
}
/* How many indices each bag has. */
static tc_value *bag_sizes(tc_emit *e, tc_value *offsets, tc_sym count, bool include_last) {
    tc_value *begins = offsets, *ends = offsets;
    if (!offsets || !count) return NULL;
    if (include_last) begins = tc_emit_call(e, "aten::slice.Tensor", "viii", offsets, (int64_t)0, (int64_t)0, (int64_t)-1);
    else ends = tc_emit_call(e, "aten::constant_pad_nd", "vIs", offsets, (int64_t[]){0, 1}, 2, count);
    return tc_e_sub(e, tc_emit_call(e, "aten::slice.Tensor", "vii", ends, (int64_t)0, (int64_t)1), begins);
}
enum { BAG_SUM, BAG_MEAN, BAG_MAX }; /* the mode argument */
static tc_status check_bag(const tc_node *n) {
    const tc_value *w = tc_arg_value(n, 0), *idx = tc_arg_value(n, 1), *off = tc_arg_value(n, 2), *psw = tc_arg_value(n, 6);
    if (idx->meta.rank != 1) return tc_e_refuse(n, "input has to be a 1D Tensor, but got Tensor of dimension %d", idx->meta.rank);
    if (off->meta.rank != 1) return tc_e_refuse(n, "offsets has to be a 1D Tensor");
    if (w->meta.rank != 2) return tc_e_refuse(n, "weight has to be a 2D Tensor, but got Tensor of dimension %d", w->meta.rank);
    if (!tc_is_float(w->meta.dtype)) return tc_e_refuse(n, "weight must be of floating-point numbers, not %s", tc_dtypes[w->meta.dtype].torch);
    if (psw && tc_arg_int(n, 4) != BAG_SUM)
        return tc_e_refuse(n, "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
    if (psw && psw->meta.dtype != w->meta.dtype)
        return tc_e_refuse(n, "expected weight and per_sample_weights to have the same type, but got %s and %s", tc_dtypes[w->meta.dtype].torch,
                           tc_dtypes[psw->meta.dtype].torch);
    for (int i = 1; i < 3; i++) {
        const tc_dtype d = tc_arg_meta(n, i)->dtype;
        if (!tc_is_integral(d))
            return tc_e_refuse(n, "expected '%s' to hold whole numbers, but got %s", tc_op_schema(n->op)->params[i].name, tc_dtypes[d].torch);
    }
    return NULL;
}
static tc_value *column(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)1); }
/* The largest of each bag. rows [indices, dim]: the rows that were picked; keep: NULL, or which of them count. */
static tc_value *largest_of_bags(tc_emit *e, tc_value *zeros, tc_value *bag, tc_value *rows, tc_value *keep, tc_value *count) {
    if (!rows) return NULL;
    /* NaN is equal to nothing, so that the start has no share in the gradient of a row of zeros */
    zeros = tc_emit_call(e, "aten::full_like", "vf", zeros, __builtin_nan(""));
    if (keep) rows = tc_emit_call(e, "aten::where.ScalarOther", "vvf", column(e, keep), rows, -__builtin_inf());
    tc_value *r = tc_emit_call(e, "aten::index_reduce", "vivvtb", zeros, (int64_t)0, bag, rows, "amax", 0);
    return tc_emit_call(e, "aten::where.ScalarOther", "vvf", tc_emit_call(e, "aten::gt.Scalar", "vi", column(e, count), (int64_t)0), r, 0.0);
}
/* weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx */
static tc_status decompose_bag(tc_emit *e, const tc_node *n) {
    tc_value *w = tc_arg_value(n, 0), *idx = tc_arg_value(n, 1), *off = tc_arg_value(n, 2), *psw = tc_arg_value(n, 6);
    int64_t mode = tc_arg_int(n, 4), pad = n->nargs > 8 && !tc_arg_is_none(n, 8) ? tc_arg_int(n, 8) : -1;
    bool last = tc_arg_bool(n, 7),
         has_pad = n->nargs > 8 && !tc_arg_is_none(n, 8) && (pad >= 0 || !strcmp(tc_op_schema(n->op)->overload, "padding_idx"));
    tc_symctx *s = tc_e_sym(e);
    TC_TRY(check_bag(n));
    if (has_pad && pad < 0) {
        int64_t rows;
        if (!tc_e_pin(e, n, w->meta.size[0], &rows))
            return tc_error(TC_UNSUPPORTED, "%s: a negative padding_idx with a symbolic number of rows", tc_op_name(n->op));
        pad += rows;
    }
    idx = tc_e_cast(e, idx, TC_I64);
    if (idx)
        tc_e_require(e, tc_emit_call(e, "aten::le.Scalar", "va", off, &(tc_arg){.kind = TC_A_INT, .sym = idx->meta.size[0]}),
                     "offsets[-1] can not be greater than input's length");
    tc_sym bags = last ? tc_sym_sub(s, off->meta.size[0], tc_sym_int(s, 1)) : off->meta.size[0], dim = w->meta.size[1];
    tc_value *bag = bag_of(e, tc_e_cast(e, off, TC_I64), idx ? idx->meta.size[0] : NULL, last);
    tc_dtype wide = tc_dtype_compute(w->meta.dtype); /* bags of 16-bit rows are summed in float32 and rounded once */
    tc_value *rows = tc_e_cast(e, tc_emit_call(e, "aten::embedding", "vviaa", w, idx, (int64_t)-1, &n->args[3], &n->args[5]), wide),
             *keep = has_pad ? tc_emit_call(e, "aten::ne.Scalar", "vi", idx, pad) : NULL;
    tc_value *count = !keep ? bag_sizes(e, tc_e_cast(e, off, TC_I64), idx ? idx->meta.size[0] : NULL, last)
                            : tc_emit_call(e, "aten::index_add", "vivv", tc_emit_call(e, "aten::zeros", "Sd", &bags, 1, (int)TC_I64), (int64_t)0, bag,
                                           tc_e_cast(e, keep, TC_I64));
    tc_value *zeros = tc_emit_call(e, "aten::zeros", "Sd", (tc_sym[]){bags, dim}, 2, (int)wide), *r,
             *max_idx = tc_emit_call(e, "aten::zeros", "Id", (int64_t[]){0}, 1, (int)TC_I64);
    if (mode == BAG_MAX) {
        r = largest_of_bags(e, zeros, bag, rows, keep, count);
    } else {
        if (psw) rows = tc_e_mul(e, rows, column(e, tc_e_cast(e, psw, wide)));
        if (keep) rows = tc_emit_call(e, "aten::where.ScalarOther", "vvi", column(e, keep), rows, (int64_t)0);
        r = tc_emit_call(e, "aten::index_add", "vivv", zeros, (int64_t)0, bag, rows);
        if (mode == BAG_MEAN) r = tc_e_div(e, r, column(e, tc_emit_call(e, "aten::clamp_min", "vi", count, (int64_t)1)));
    }
    tc_emit_result(e, 0, tc_e_cast(e, r, w->meta.dtype));
    /* the tensors that PyTorch saves for its backward; empty if its fast path for sums needs none */
    bool fast = mode == BAG_SUM && !has_pad && tc_is_float(w->meta.dtype) && w->meta.dtype != TC_F64;
    tc_emit_result(e, 1, fast ? max_idx : bag);
    tc_emit_result(e, 2, count);
    tc_emit_result(e, 3,
                   mode == BAG_MAX ? tc_emit_call(e, "aten::zeros", "Sd", (tc_sym[]){bags, dim}, 2, (int)TC_I64)
                                   : tc_emit_call(e, "aten::zeros", "Sd", &off->meta.size[0], 1, (int)TC_I64));
    return tc_e_done(e);
}

#define BAG "Tensor weight, Tensor indices, Tensor offsets, "
#define QUAD " -> (Tensor, Tensor, Tensor, Tensor)"
const tc_op tc_ops_embedding[] = {
    {.schema = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     .shape = shape_embedding,
     .lower = lower_embedding,
     .grad = grad_embedding,
     .samples = "embedding(f32[7,3], i64[2,4]:0..7)",
     .doc = "rows picked by indices"},
    {.schema = "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) "
               "-> Tensor",
     .shape = shape_dense_backward,
     .kernel = &tc_k_embedding_dense_backward,
     .grad = grad_dense_backward,
     .samples = "embedding_dense_backward(f32[2,4,3], i64[2,4]:0..7, 7, -1, False)",
     .doc = "gradient of embedding"},
    {.schema = "aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) "
               "-> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_embedding_backward,
     .doc = "gradient of embedding"},
    {.schema = "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_renorm_rows,
     .grad = grad_renorm_rows,
     .samples = "embedding_renorm(f32[5,3], i64[4]:0..5, 0.5, 2.0)",
     .doc = "rows that are picked, scaled down to a norm of at most max_norm"},
    {.schema = "aten::embedding_bag(" BAG
               "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False)" QUAD,
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed,
     .decompose = decompose_bag,
     .doc = "sums (0), means (1) or maxima (2) of rows by bag"},
    {.schema = "aten::embedding_bag.padding_idx(" BAG
               "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)" QUAD,
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed,
     .decompose = decompose_bag,
     .doc = "rows by bag, padding left out"},
    {.schema = "aten::_embedding_bag(" BAG "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
               "include_last_offset=False, int padding_idx=-1)" QUAD,
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed,
     .decompose = decompose_bag,
     .doc = "rows by bag"},
    {0}};
