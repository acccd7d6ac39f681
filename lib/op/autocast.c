/* Autocast: the dtype that arguments of each operator are cast to (aten/src/ATen/autocast_mode.cpp, the CPU lists).
 *
 *     aten.linear(x, w)  ->  aten.linear(to bf16 x, to bf16 w)
 *     aten.cov(x)        ->  its composition, each operator of which is looked up in turn: PyTorch has no kernel of its own for it
 *
 * One mechanism for `with torch.autocast` in model files, for regions of PT2 archives and for a recipe's precision. */
#include "base/text.h"
#include "op/emit.h"
#include "op/functionalise.h"

#include <string.h>

typedef enum { LOWER, FULL, PROMOTE, STATE /* LOWER, except for the second argument */, COMPOSE } policy;
static const struct {
    const char *names;
    policy p;
} lists[] = {
    {" conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm addbmm linear _convolution matmul linalg_matmul conv_tbc mkldnn_rnn_layer "
     "conv_transpose1d "
     "conv_transpose2d"
     " conv_transpose3d prelu scaled_dot_product_attention _native_multi_head_attention _addmm_activation"
     " lstm rnn_tanh rnn_relu chain_matmul linalg_multi_dot " /* mkldnn_rnn_layer, or compositions of linear and operators that keep its type */,
     LOWER},
    {" avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback polar prod quantile nanquantile "
     "stft cdist trace view_as_complex cholesky_inverse "
     "cholesky_solve inverse"
     " lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d reflection_pad1d reflection_pad2d replication_pad1d"
     " replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss nll_loss_nd nll_loss2d hinge_embedding_loss poisson_nll_loss "
     "smooth_l1_loss "
     "cross_entropy_loss"
     " l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss"
     " binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn "
     "fft_irfftn fft_hfft"
     " fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv "
     "linalg_householder_product"
     " linalg_tensorinv linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info svd triangular_solve fractional_max_pool2d "
     "fractional_max_pool3d"
     " adaptive_max_pool3d multilabel_margin_loss_forward linalg_qr linalg_cholesky_ex linalg_svd linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex "
     "linalg_matrix_sqrth ",
     FULL},
    {" stack cat index_copy ", PROMOTE},
    {" gru ", STATE}, /* PyTorch composes it of linear and operators that keep its type; the state keeps its own */
    {" inner einsum tensordot matrix_power linalg_matrix_power linalg_pinv cov corrcoef affine_grid_generator gru_cell lstm_cell "
     "rnn_tanh_cell rnn_relu_cell pad ",
     COMPOSE},
};

/* Autocast ignores float64 and all types that are not floating. */
static bool eligible(const tc_value *v) { return v && v->kind == TC_V_TENSOR && tc_is_float(v->meta.dtype) && v->meta.dtype != TC_F64; }

static tc_dtype widest(const tc_arg *args, int nargs, tc_dtype d) {
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE && eligible(args[i].value) && args[i].value->meta.dtype == TC_F32) d = TC_F32;
        for (int k = 0; args[i].kind == TC_A_VALUES && k < args[i].n; k++)
            if (eligible(args[i].values[k]) && args[i].values[k]->meta.dtype == TC_F32) d = TC_F32;
    }
    return d;
}

static bool policy_of(const tc_op *op, policy *out) {
    const tc_schema *s = tc_op_schema(op);
    if (strcmp(s->ns, "aten")) return false;
    if (s->overload && !strncmp(s->overload, "dtype", 5)) return false; /* mm.dtype and the like have their type as argument */
    if (!strcmp(s->name, "_convolution") && !(s->overload && !strcmp(s->overload, "deprecated"))) return false;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        if (tc_word_in(lists[l].names, s->name)) {
            *out = lists[l].p;
            return true;
        }
    return false;
}

tc_dtype tc_autocast_type(const tc_op *op, tc_dtype d, tc_dtype to) {
    policy p;
    if (!tc_is_float(d) || d == TC_F64 || !policy_of(op, &p)) return d;
    return p == FULL ? TC_F32 : p == LOWER ? to : d;
}

/* PyTorch casts a weight once for all its uses, so the gradients of the uses are summed in the lower type. */
static tc_value *cast_before(const tc_emit *e, const tc_value *v, tc_dtype to) {
    if (e->before || v->producer || v->graph != e->graph || !v->meta.requires_grad || v->meta.dtype != TC_F32) return NULL;
    for (tc_node *n = e->graph->last; n; n = n->prev) {
        if (!tc_node_has_operand(n, v)) continue;
        if (tc_op_mutates(n->op)) return NULL;
        if (!strcmp(tc_op_schema(n->op)->name, "_to_copy") && n->no_grad == e->graph->program->no_grad && n->outs[0]->meta.dtype == to)
            return n->outs[0];
    }
    return NULL;
}

static tc_value *cast(tc_emit *e, tc_value *v, tc_dtype to) {
    if (!eligible(v) || v->meta.dtype == to) return v;
    tc_value *made = to == TC_F32 ? NULL : cast_before(e, v, to);
    return made ? made : tc_e_cast(e, v, to);
}

bool tc_autocast_composes(const tc_op *op) {
    policy p;
    return policy_of(op, &p) && p == COMPOSE;
}

tc_dtype tc_autocast_argument(const tc_op *op, const tc_arg *args, int nargs, int i, const tc_value *v, tc_dtype to) {
    policy p;
    if (!eligible(v)) return TC_DTYPE_NONE;
    if (!policy_of(op, &p) || p == COMPOSE) return v->meta.dtype;
    if (p == FULL) to = TC_F32;
    if (p == PROMOTE) to = widest(args, nargs, to);
    return p == STATE && i == 1 && v->meta.dtype != to ? TC_F32 : to;
}

tc_status tc_autocast(tc_emit *e, const tc_op *op, tc_arg *args, int nargs, tc_dtype to) {
    for (int i = 0; i < nargs; i++) {
        const bool list = args[i].kind == TC_A_VALUES && args[i].n;
        if (list) args[i].values = tc_arena_dup(&e->graph->program->arena, args[i].values, sizeof *args[i].values * (size_t)args[i].n);
        for (int k = 0; k < (list ? args[i].n : args[i].kind == TC_A_VALUE); k++) {
            tc_value **v = list ? &args[i].values[k] : &args[i].value;
            *v = cast(e, *v, tc_autocast_argument(op, args, nargs, i, *v, to));
        }
    }
    tc_status st = e->status;
    e->status = NULL;
    return st;
}

/* The arguments with all floats in one type, for shape rules, which know nothing of autocast. They are placeholders that no node keeps. */
static const tc_arg *in_one_type(tc_arena *a, const tc_arg *args, int nargs, tc_dtype to) {
    tc_dtype d = widest(args, nargs, to);
    tc_arg *same = tc_arena_dup(a, args, sizeof *args * (size_t)(nargs ? nargs : 1));
    for (int i = 0; i < nargs; i++) {
        bool list = args[i].kind == TC_A_VALUES;
        if (list) same[i].values = tc_arena_dup(a, args[i].values, sizeof *args[i].values * (size_t)(args[i].n ? args[i].n : 1));
        for (int k = 0; k < (list ? args[i].n : args[i].kind == TC_A_VALUE); k++) {
            tc_value **v = list ? &same[i].values[k] : &same[i].value;
            if (!eligible(*v) || (*v)->meta.dtype == d) continue;
            *v = tc_arena_dup(a, *v, sizeof **v);
            (*v)->meta.dtype = d;
        }
    }
    return same;
}

tc_status tc_autocast_call(tc_emit *e, const tc_op *op, tc_arg *args, int nargs, tc_dtype to, tc_value ***outs, int *nouts) {
    tc_node *node;
    policy p;
    TC_TRY(tc_autocast(e, op, args, nargs, to));
    bool composed = policy_of(op, &p) && p == COMPOSE && op->decompose;
    TC_TRY(
        tc_graph_call(e->graph, op, composed ? in_one_type(&e->graph->program->arena, args, nargs, to) : args, nargs, e->source, e->before, &node));
    *outs = node->outs;
    *nouts = node->nouts;
    if (!composed) return NULL;
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE) node->args[i].value = args[i].value;
        else if (args[i].kind == TC_A_VALUES) node->args[i].values = args[i].values;
    }
    tc_emit inner = {.graph = e->graph, .before = node, .source = e->source, .origin = e->origin, .casts = true, .autocast = to};
    tc_status st = tc_op_checked(e->graph->program, op->decompose(&inner, node));
    if (!st) st = inner.status;
    else tc_status_free(inner.status);
    TC_TRY(st, "%s", tc_op_name(op));
    *outs = inner.results;
    tc_node_remove(node);
    return NULL;
}
