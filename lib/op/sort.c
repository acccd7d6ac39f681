/* Order, search and selection along one dimension (kernel/sort.h), and results whose size depends on the data.
 *
 * The gradient of selected elements is scattered back to their positions: zeros.scatter(dim, indices, grad). */
#include "kernel/sort.h"
#include "op/first_few.h"
#include "op/shape.h"

#include <string.h>

static tc_status need_dim(tc_shape_ctx *c, int arg, int *out) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_dim_arg(c, arg, tc_sh_meta(c, 0)->rank, out));
    if (tc_is_complex(tc_sh_meta(c, 0)->dtype)) return tc_sh_fail_as(c, "TypeError", "Sort does not support complex dtypes on CPU");
    return NULL;
}

/* ---- shapes ---- */
static tc_status shape_sorted(tc_shape_ctx *c, int dim_arg) {
    int dim;
    TC_TRY(need_dim(c, dim_arg, &dim));
    TC_TRY(tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_sh_meta(c, 0)->dtype));
    return tc_sh_out_like(c, 1, tc_sh_meta(c, 0), TC_I64);
}
static tc_status shape_sort(tc_shape_ctx *c) { return shape_sorted(c, 1); }
static tc_status shape_sort_stable(tc_shape_ctx *c) { return shape_sorted(c, 2); }
tc_status tc_shape_first(tc_shape_ctx *c) {
    int dim;
    TC_TRY(need_dim(c, 2, &dim));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m);
    tc_symctx *y = tc_sh_sym(c);
    tc_sym k = tc_sh_int(c, 1), n = m->rank ? m->size[dim] : tc_sym_int(y, 1);
    if (!tc_sh_guard(c, tc_sym_op(y, TC_S_AND, tc_sym_op(y, TC_S_LE, tc_sym_int(y, 0), k, NULL), tc_sym_op(y, TC_S_LE, k, n, NULL), NULL)))
        return tc_sh_fail(c, "selected index k out of range");
    if (m->rank) d.size[dim] = k;
    TC_TRY(tc_sh_out(c, 0, m->dtype, &d));
    return tc_sh_out(c, 1, TC_I64, &d);
}
static tc_status shape_topk(tc_shape_ctx *c) {
    int dim;
    TC_TRY(need_dim(c, 2, &dim));
    if (tc_sh_meta(c, 0)->dtype == TC_BOOL) return tc_sh_fail_as(c, "NotImplementedError", "topk does not support bool dtypes on CPU");
    return tc_shape_first(c);
}
static tc_status shape_picked(tc_shape_ctx *c, int dim_arg, int keep_arg) {
    int dim;
    TC_TRY(need_dim(c, dim_arg, &dim));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (m->rank && !tc_sh_not_zero(c, m->size[dim])) return tc_sh_fail_as(c, "IndexError", "Expected reduction dim %d to have non-zero size.", dim);
    tc_dims d = tc_dims_reduced(c, m, m->rank ? UINT64_C(1) << dim : 0, tc_sh_bool(c, keep_arg));
    TC_TRY(tc_sh_out(c, 0, m->dtype, &d));
    return tc_sh_out(c, 1, TC_I64, &d);
}
static tc_status shape_dim1(tc_shape_ctx *c) { return shape_picked(c, 1, 2); }
static tc_status shape_kthvalue(tc_shape_ctx *c) {
    int dim;
    TC_TRY(need_dim(c, 2, &dim));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *y = tc_sh_sym(c);
    tc_sym k = tc_sh_int(c, 1), n = m->rank ? m->size[dim] : tc_sym_int(y, 1);
    if (!tc_sh_guard(c, tc_sym_op(y, TC_S_AND, tc_sym_op(y, TC_S_LE, tc_sym_int(y, 1), k, NULL), tc_sym_op(y, TC_S_LE, k, n, NULL), NULL)))
        return tc_sh_fail(c, "kthvalue(): selected number k out of range for dimension %d", dim);
    return shape_picked(c, 2, 3);
}
static tc_status shape_scalar_of(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dims d = {.rank = 0};
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status shape_searchsorted(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *seq = tc_sh_meta(c, 0), *v = tc_sh_meta(c, 1);
    if (seq->rank < 1) return tc_sh_fail(c, "the boundaries tensor should have positive dimension, but got 0 dimension");
    tc_dims d = v ? tc_dims_of(v) : (tc_dims){.rank = 0};
    if (v && seq->rank > 1) {
        bool same = seq->rank == v->rank;
        for (int i = 0; same && i + 1 < seq->rank; i++) same = tc_sh_same(c, seq->size[i], v->size[i]);
        if (!same)
            return tc_sh_fail(
                c, "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match");
    }
    tc_sh_result_type(c, v ? 2 : 1, (int[]){0, 1}); /* types that cannot be promoted are refused */
    if ((v && tc_is_complex(v->dtype)) || tc_is_complex(seq->dtype)) return tc_sh_fail_as(c, "NotImplementedError", "no order of complex numbers");
    if (!v && seq->rank != 1) return tc_sh_fail(c, "input value can be a scalar only when boundaries tensor dimension is 1");
    const tc_meta *sorter = c->nargs > 5 ? tc_sh_meta(c, 5) : NULL;
    bool fits = !sorter || sorter->rank == seq->rank;
    for (int i = 0; fits && sorter && i < seq->rank; i++) fits = tc_sh_same(c, sorter->size[i], seq->size[i]);
    if (!fits) return tc_sh_fail(c, "boundary and sorter must have the same size");
    if (sorter && sorter->dtype != TC_I64)
        return tc_sh_fail(c, "sorter must be a tensor of long dtype but got dtype %s", tc_dtypes[sorter->dtype].torch);
    const char *side = tc_sh_string(c, 4);
    if (side && strcmp(side, "left") && strcmp(side, "right")) return tc_sh_fail(c, "side can only be 'left' or 'right' but got %s", side);
    if (side && !strcmp(side, "left") && tc_sh_bool(c, 3))
        return tc_sh_fail(c, "side and right can't be set to opposites, got side of left while right was True");
    return tc_sh_out(c, 0, tc_sh_bool(c, 2) ? TC_I32 : TC_I64, &d);
}
static tc_status shape_bucketize(tc_shape_ctx *c) {
    const tc_meta *v = tc_sh_meta(c, 0), *edges = tc_sh_meta(c, 1);
    if ((v && tc_is_complex(v->dtype)) || tc_is_complex(edges->dtype)) return tc_sh_fail_as(c, "NotImplementedError", "no order of complex numbers");
    tc_sh_result_type(c, v ? 2 : 1, v ? (int[]){0, 1} : (int[]){1});
    if (edges->rank != 1) return tc_sh_fail(c, "boundaries tensor must be 1 dimension, but got dim(%d)", edges->rank);
    tc_dims d = v ? tc_dims_of(v) : (tc_dims){.rank = 0};
    return tc_sh_out(c, 0, tc_sh_bool(c, 2) ? TC_I32 : TC_I64, &d);
}
static tc_sym fresh(tc_shape_ctx *c) { return tc_program_fresh(c->program, TC_SYM_INT, 0, INT64_MAX); }
static tc_status shape_nonzero(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dims d = {.rank = 2};
    d.size[0] = fresh(c), d.size[1] = tc_sym_int(tc_sh_sym(c), tc_sh_meta(c, 0)->rank);
    return tc_sh_out_strided(c, 0, TC_I64, &d, (tc_sym[]){tc_sym_int(tc_sh_sym(c), 1), d.size[0]}); /* one dimension after the other */
}
static tc_status shape_masked_select(tc_shape_ctx *c) {
    tc_dims all, d = {.rank = 1};
    TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &all));
    if (tc_sh_meta(c, 1)->dtype != TC_BOOL) return tc_sh_fail(c, "masked_select: expected BoolTensor for mask");
    d.size[0] = fresh(c);
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status shape_groups(tc_shape_ctx *c, bool has_dim, int dim, bool inverse, bool counts) {
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *y = tc_sh_sym(c);
    tc_dims values = {.rank = 1}, inv = {.rank = 1}, n = {.rank = 1};
    for (int k = 0, none = has_dim && tc_sym_is_int(m->size[dim], 0); has_dim && k < m->rank; k++)
        if (k != dim && tc_sym_is_int(m->size[k], 0))
            return tc_sh_fail(c, none ? "Number of zero sized dimensions is more than one, so unique cannot be applied"
                                      : "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    tc_sym groups = fresh(c);
    if (has_dim) {
        values = tc_dims_of(m);
        values.size[dim] = groups;
        inv.size[0] = inverse ? m->size[dim] : tc_sym_int(y, 0);
    } else {
        values.size[0] = groups;
        if (inverse) inv = tc_dims_of(m);
        else inv.size[0] = tc_sym_int(y, 0);
    }
    n.size[0] = counts ? groups : tc_sym_int(y, 0);
    tc_sym stride[TC_MAX_RANK] = {NULL}, step = tc_sym_int(y, 1); /* slices one after the other, as if dim were the first dimension */
    for (int k = values.rank - 1; has_dim && k >= 0; k--) {
        if (k == dim) continue;
        stride[k] = step;
        step = tc_sym_mul(y, step, values.size[k]);
    }
    if (has_dim) stride[dim] = step;
    TC_TRY(tc_sh_out_strided(c, 0, m->dtype, &values, has_dim ? stride : NULL));
    TC_TRY(tc_sh_out(c, 1, TC_I64, &inv));
    return tc_sh_out(c, 2, TC_I64, &n);
}
static tc_status shape_unique2(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return shape_groups(c, false, 0, tc_sh_bool(c, 2), tc_sh_bool(c, 3));
}
/* Slices along dim are compared: there must be a dim, and elements in every other. */
static tc_status check_slices(tc_shape_ctx *c, int arg, int dim) {
    const tc_meta *m = tc_sh_meta(c, 0);
    if (!m->rank) return tc_sh_fail_as(c, "IndexError", "Dimension specified as %lld but tensor has no dimensions", (long long)tc_sh_const(c, arg));
    for (int k = 0; k < m->rank; k++)
        if (k != dim && tc_sym_is_int(m->size[k], 0))
            return tc_sh_fail(c, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    return NULL;
}
static tc_status shape_unique_dim(tc_shape_ctx *c) {
    int dim;
    TC_TRY(need_dim(c, 1, &dim));
    TC_TRY(check_slices(c, 1, dim));
    return shape_groups(c, true, dim, tc_sh_bool(c, 3), tc_sh_bool(c, 4));
}
static tc_status shape_consecutive(tc_shape_ctx *c) {
    int dim = 0;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const bool slices = tc_sh_given(c, 3);
    if (slices) TC_TRY(tc_sh_dim_arg(c, 3, tc_sh_meta(c, 0)->rank, &dim));
    if (slices) TC_TRY(check_slices(c, 3, dim));
    return shape_groups(c, slices, dim, tc_sh_bool(c, 1), tc_sh_bool(c, 2));
}

/* ---- compositions ---- */
static tc_status decompose_sort(tc_emit *e, const tc_node *n) {
    tc_value *v = tc_emit_call(e, "aten::sort.stable", "vbaa", tc_arg_value(n, 0), 0, tc_e_arg(n, 1), tc_e_arg(n, 2));
    tc_emit_result(e, 0, v);
    tc_emit_result(e, 1, tc_emit_out(v, 1));
    return tc_e_done(e);
}
static tc_status decompose_argsort(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0,
                   tc_emit_out(tc_emit_call(e, "aten::sort", "vaa", tc_arg_value(n, 0), tc_e_arg(n, n->nargs - 2), tc_e_arg(n, n->nargs - 1)), 1));
    return tc_e_done(e);
}
static tc_status decompose_argsort_stable(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0,
                   tc_emit_out(tc_emit_call(e, "aten::sort.stable", "vaaa", tc_arg_value(n, 0), tc_e_arg(n, 1), tc_e_arg(n, 2), tc_e_arg(n, 3)), 1));
    return tc_e_done(e);
}
static tc_status decompose_msort(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::sort", "vi", tc_arg_value(n, 0), (int64_t)0));
    return tc_e_done(e);
}
/* the median of all elements; NaN if there are none */
static tc_status whole(tc_emit *e, const tc_node *n, const char *op) {
    const tc_meta *m = tc_arg_meta(n, 0);
    if (tc_sym_is_int(tc_meta_numel(tc_e_sym(e), m), 0)) {
        tc_value *nan = tc_emit_call(e, "aten::scalar_tensor", "fd", __builtin_nan(""), (int)TC_F64);
        tc_emit_result(e, 0, tc_e_cast(e, nan, m->dtype));
        return tc_e_done(e);
    }
    tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", tc_arg_value(n, 0), (int64_t[]){-1}, 1);
    tc_emit_result(e, 0, tc_emit_call(e, op, "vi", flat, (int64_t)0));
    return tc_e_done(e);
}
static tc_status decompose_median(tc_emit *e, const tc_node *n) { return whole(e, n, "aten::median.dim"); }
static tc_status decompose_nanmedian(tc_emit *e, const tc_node *n) { return whole(e, n, "aten::nanmedian.dim"); }
/* Argument `at`: a tensor, or a number as tensor of the promoted type of it and the boundaries. */
static tc_value *searched(tc_emit *e, const tc_node *n, int at) {
    if (tc_arg_value(n, at)) return tc_arg_value(n, at);
    tc_promotion p = {.dim = TC_DTYPE_NONE, .zero = TC_DTYPE_NONE, .wrapped = TC_DTYPE_NONE};
    tc_promotion_add(&p, &n->args[0]);
    tc_promotion_add(&p, &n->args[1]);
    const tc_arg dtype = {.kind = TC_A_DTYPE, .dtype = tc_promotion_type(&p)};
    return tc_emit_call(e, "aten::scalar_tensor", "aa", tc_e_arg(n, at), &dtype);
}
static tc_status decompose_searchsorted_scalar(tc_emit *e, const tc_node *n) {
    tc_value *seq = tc_arg_value(n, 0), *v = searched(e, n, 1);
    tc_emit_result(e, 0,
                   tc_emit_call(e, "aten::searchsorted.Tensor", "vvaaaa", seq, v, tc_e_arg(n, 2), tc_e_arg(n, 3), tc_e_arg(n, 4), tc_e_arg(n, 5)));
    return tc_e_done(e);
}
static tc_status decompose_bucketize(tc_emit *e, const tc_node *n) {
    tc_value *edges = tc_arg_value(n, 1), *v = searched(e, n, 0);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::searchsorted.Tensor", "vvaa", edges, v, tc_e_arg(n, 2), tc_e_arg(n, 3)));
    return tc_e_done(e);
}

/* ---- gradients ---- */
static tc_status back_to(tc_emit *e, const tc_node *n, tc_value *g, int dim, bool squeezed) {
    tc_value *x = tc_arg_value(n, 0), *index = n->outs[1];
    if (!g || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    if (squeezed && x->meta.rank) {
        g = tc_emit_call(e, "aten::unsqueeze", "vi", g, (int64_t)dim);
        index = tc_emit_call(e, "aten::unsqueeze", "vi", index, (int64_t)dim);
    }
    tc_emit_grad(e, 0, tc_emit_call(e, "aten::scatter.src", "vivv", tc_e_zeros_like(e, x), (int64_t)dim, index, g));
    return tc_e_done(e);
}
static int dim_of(const tc_node *n, int arg) {
    int rank = tc_arg_value(n, 0)->meta.rank;
    return rank ? tc_wrap(tc_arg_int(n, arg), rank) : 0;
}
static tc_status grad_sort_stable(tc_emit *e, const tc_node *n, tc_value *const *gs) { return back_to(e, n, gs[0], dim_of(n, 2), false); }
static tc_status grad_kthvalue(tc_emit *e, const tc_node *n, tc_value *const *gs) { return back_to(e, n, gs[0], dim_of(n, 2), !tc_arg_bool(n, 3)); }
static tc_status grad_dim1(tc_emit *e, const tc_node *n, tc_value *const *gs) { return back_to(e, n, gs[0], dim_of(n, 1), !tc_arg_bool(n, 2)); }
static tc_status grad_masked_select(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0), *mask = tc_arg_value(n, 1);
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    tc_value *both[2] = {x, mask}, *list = tc_emit_call(e, "aten::broadcast_tensors", "V", both, 2);
    if (!list) return tc_e_done(e);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::masked_scatter", "vvv", tc_e_zeros_like(e, list->list[0]), list->list[1], gs[0]));
    return tc_e_done(e);
}

#define PICK(SCHEMA, shape_, kernel_, grad_, sample, text)                                                                                      \
    {                                                                                                                                           \
        .schema = "aten::" SCHEMA " -> (Tensor values, Tensor indices)", .shape = shape_, .kernel = &kernel_, .grad = grad_, .samples = sample, \
        .doc = text                                                                                                                             \
    }
#define DATA(SCHEMA, shape_, kernel_, sample, text) \
    { .schema = "aten::" SCHEMA, .flags = TC_OP_DATA_SHAPE | TC_OP_UNDERIVED, .shape = shape_, .kernel = &kernel_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, flags_, shape_, decompose_, sample, text) \
    { .schema = "aten::" SCHEMA, .flags = flags_, .shape = shape_, .decompose = decompose_, .samples = sample, .doc = text }
#define MEDIAN(name, text)                                                                                                                  \
    {                                                                                                                                       \
        .schema = "aten::" #name "(Tensor self) -> Tensor", .shape = shape_scalar_of, .decompose = decompose_##name, .grad = tc_grad_whole, \
        .samples = #name "(f32[3,7])", .doc = text                                                                                          \
    }
const tc_op tc_ops_sort[] = {
    PICK("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)", shape_sort_stable, tc_k_sort, grad_sort_stable,
         "sort(f32[3,7], stable=True, dim=1)", "ascending or descending along dim, and where each came from"),
    COMPOSED("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", 0, shape_sort, decompose_sort,
             "sort(f32[3,7], 0, True)", "sort.stable"),
    COMPOSED("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", TC_OP_NONDIFF, tc_shape_decomposed, decompose_argsort,
             "argsort(f32[3,7])", "where the sorted elements came from"),
    COMPOSED("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", TC_OP_NONDIFF, tc_shape_decomposed,
             decompose_argsort_stable, "argsort(f32[3,7], stable=True, dim=0)", "where the sorted elements came from"),
    COMPOSED("msort(Tensor self) -> Tensor", 0, tc_shape_decomposed, decompose_msort, "msort(f32[3,7])", "sorted along dimension 0"),
    PICK("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)", shape_topk, tc_k_topk, grad_sort_stable, "topk(f32[3,7], 2)",
         "the k largest or smallest along dim"),
    PICK("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)", shape_kthvalue, tc_k_kthvalue, grad_kthvalue, "kthvalue(f32[3,7], 2)",
         "the k-th smallest along dim"),
    PICK("median.dim(Tensor self, int dim, bool keepdim=False)", shape_dim1, tc_k_median, grad_dim1, "median(f32[3,7], 1)",
         "the lower median along dim, NaN if there is one"),
    PICK("nanmedian.dim(Tensor self, int dim, bool keepdim=False)", shape_dim1, tc_k_nanmedian, grad_dim1, "nanmedian(f32[3,7], 1)",
         "the lower median of the numbers along dim"),
    PICK("mode(Tensor self, int dim=-1, bool keepdim=False)", shape_dim1, tc_k_mode, grad_dim1, "mode(i64[3,7], 1)",
         "the most frequent along dim, the smallest of several"),
    MEDIAN(median, "the lower median of all elements"),
    MEDIAN(nanmedian, "the lower median of all numbers"),
    {.schema = "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
               "sorter=None) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = shape_searchsorted,
     .kernel = &tc_k_searchsorted,
     .grad = tc_grad_none,
     .samples = "searchsorted(f32[7], f32[3,5])",
     .doc = "the place where self would be inserted"},
    COMPOSED("searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
             "sorter=None) -> Tensor",
             TC_OP_NONDIFF, shape_searchsorted, decompose_searchsorted_scalar, "searchsorted(f32[7], 0.5)", "the place where self would be inserted"),
    COMPOSED("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", TC_OP_NONDIFF, shape_bucketize,
             decompose_bucketize, "bucketize(f32[3,5], f32[7])", "the bucket that self falls into"),
    COMPOSED("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", TC_OP_NONDIFF, shape_bucketize,
             decompose_bucketize, "bucketize(0.5, f32[7])", "the bucket that self falls into"),
    DATA("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", shape_unique2,
         tc_k_unique, "_unique2(i64[9]:0..4, True, True, True)", "distinct elements, where each went, how many there are"),
    DATA("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
         shape_unique_dim, tc_k_unique_dim, "unique_dim(i64[9,2]:0..2, 0, True, True, True)", "distinct slices along dim"),
    DATA("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
         shape_consecutive, tc_k_unique_consecutive, "unique_consecutive(i64[9]:0..2, True, True)", "runs of equal elements"),
    DATA("nonzero(Tensor self) -> Tensor", shape_nonzero, tc_k_nonzero, "nonzero(f32[3,5])", "indices of the elements that are not zero, a row each"),
    {.schema = "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
     .flags = TC_OP_DATA_SHAPE,
     .shape = shape_masked_select,
     .kernel = &tc_k_masked_select,
     .grad = grad_masked_select,
     .samples = "masked_select(f32[3,5], bool[3,5])",
     .doc = "the elements where mask is true, in order"},
    {0}};
