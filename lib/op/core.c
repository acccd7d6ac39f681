/* Decomposition to core ATen operators (tc-export --decompose core), for back ends that support that set.
 *
 * An operator outside the set is replaced by its decomposition, or by its rule in core_rules.c when it is one that tc executes as it is. What
 * has neither stays, as it does in PyTorch's own core programs (linear algebra, random numbers, quantisation). */
#include "op/decompose.h"
#include "op/shape.h"

#include <stdio.h>
#include <string.h>

/* The core set, from PyTorch's native_functions.yaml (tag core); sorted by name. */
static const char *const core_names[] = {
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d",
    "_cdist_forward",
    "_embedding_bag",
    "_fft_c2r",
    "_fft_r2c",
    "_local_scalar_dense",
    "_log_softmax",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_no_training",
    "_pdist_forward",
    "_softmax",
    "_to_copy",
    "abs",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "add.Scalar",
    "add.Tensor",
    "addmm",
    "alias",
    "amax",
    "amin",
    "any",
    "any.dim",
    "any.dims",
    "arange.start_step",
    "argmax",
    "argmin",
    "as_strided",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atan2.out",
    "atanh",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_backward",
    "avg_pool3d",
    "bitwise_and.Scalar",
    "bitwise_and.Tensor",
    "bitwise_not",
    "bitwise_or.Scalar",
    "bitwise_or.Tensor",
    "bitwise_xor.Scalar",
    "bitwise_xor.Tensor",
    "bmm",
    "cat",
    "ceil",
    "clamp",
    "clamp.Tensor",
    "clone",
    "col2im",
    "constant_pad_nd",
    "convolution",
    "convolution_backward",
    "copy",
    "cos",
    "cosh",
    "cumsum",
    "diagonal",
    "div.Scalar",
    "div.Scalar_mode",
    "div.Tensor",
    "div.Tensor_mode",
    "elu",
    "embedding",
    "embedding_dense_backward",
    "empty.memory_format",
    "empty_strided",
    "eq.Scalar",
    "eq.Tensor",
    "erf",
    "exp",
    "expand",
    "expm1",
    "fill.Scalar",
    "flip",
    "floor",
    "fmod.Scalar",
    "fmod.Tensor",
    "full",
    "full_like",
    "gather",
    "ge.Scalar",
    "ge.Tensor",
    "gelu",
    "grid_sampler_2d",
    "gt.Scalar",
    "gt.Tensor",
    "hardtanh",
    "index.Tensor",
    "index_put",
    "index_select",
    "isinf",
    "isnan",
    "le.Scalar",
    "le.Tensor",
    "leaky_relu",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt.Scalar",
    "lt.Tensor",
    "masked_scatter",
    "max.dim",
    "max_pool2d_with_indices",
    "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices",
    "maximum",
    "mean",
    "mean.dim",
    "min.dim",
    "minimum",
    "mm",
    "mul.Scalar",
    "mul.Tensor",
    "native_dropout",
    "native_group_norm",
    "native_group_norm_backward",
    "native_layer_norm",
    "native_layer_norm_backward",
    "ne.Scalar",
    "ne.Tensor",
    "neg",
    "nonzero",
    "permute",
    "pow.Scalar",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "prod",
    "prod.dim_int",
    "rand",
    "randn",
    "randperm",
    "reciprocal",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "relu",
    "remainder.Scalar",
    "remainder.Tensor",
    "repeat",
    "replication_pad2d",
    "replication_pad3d",
    "resize_",
    "round",
    "rsqrt",
    "scalar_tensor",
    "scatter.src",
    "scatter.value",
    "scatter_add",
    "scatter_reduce.two",
    "select.int",
    "select_scatter",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice.Tensor",
    "slice_scatter",
    "sort",
    "split_with_sizes",
    "sqrt",
    "squeeze.dim",
    "squeeze.dims",
    "sub.Scalar",
    "sub.Tensor",
    "sum.dim_IntList",
    "sym_is_contiguous",
    "sym_numel",
    "sym_size.int",
    "sym_storage_offset",
    "sym_stride.int",
    "tan",
    "tanh",
    "topk",
    "trunc",
    "unsqueeze",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
    "var.correction",
    "var.dim",
    "view",
    "where.self",
};

static int by_name(const void *key, const void *element) { return strcmp(key, *(const char *const *)element); }
static bool is_core(const tc_op *op) {
    char name[128];
    const tc_schema *s = tc_op_schema(op);
    if (strcmp(s->ns, "aten")) return false;
    snprintf(name, sizeof name, "%s%s%s", s->name, *s->overload ? "." : "", s->overload);
    return bsearch(name, core_names, sizeof core_names / sizeof *core_names, sizeof *core_names, by_name) != NULL;
}

static bool outside(void *ctx, const tc_node *n) {
    (void)ctx;
    return !is_core(n->op) && tc_core_rule(n);
}

/* The dimensions of m from the outermost in memory to the innermost; false if it is not known to be dense. */
static bool dense_order(tc_symctx *s, const tc_meta *m, int64_t *order) {
    tc_sym expected = tc_sym_int(s, 1);
    bool placed[TC_MAX_RANK] = {0};
    for (int k = m->rank; k-- > 0;) {
        int next = -1;
        for (int d = 0; d < m->rank; d++) {
            const bool one = tc_sym_is_int(m->size[d], 1);
            if (!placed[d] && (one ? next < 0 : m->stride[d] == expected)) next = d;
        }
        if (next < 0) return false;
        placed[next] = true, order[k] = next;
        expected = tc_sym_mul(s, expected, m->size[next]);
    }
    return true;
}

tc_value *tc_e_in_order_of(tc_emit *e, tc_value *v, const tc_value *want) {
    const tc_meta *m = &want->meta;
    tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    int64_t order[TC_MAX_RANK], back[TC_MAX_RANK];
    if (v->kind != TC_V_TENSOR || want->kind != TC_V_TENSOR || v->meta.rank != m->rank) return v;
    bool same = !v->meta.stride == !m->stride;
    for (int d = 0; same && m->stride && d < m->rank; d++) same = v->meta.stride[d] == m->stride[d] || tc_sym_is_int(m->size[d], 1);
    if (same) return v;
    if (!m->stride) return tc_emit_call(e, "aten::clone", "va", v, &contiguous);
    if (!dense_order(tc_e_sym(e), m, order)) return v;
    for (int d = 0; d < m->rank; d++) back[order[d]] = d;
    v = tc_emit_call(e, "aten::clone", "va", tc_emit_call(e, "aten::permute", "vI", v, order, m->rank), &contiguous);
    return tc_emit_call(e, "aten::permute", "vI", v, back, m->rank);
}

tc_status tc_decompose_core(tc_program *p) { return tc_decompose_by(p, outside, tc_core_rule, tc_e_in_order_of, NULL); }
