/* Which types autocast gives to the arguments of an operator (aten/src/ATen/autocast_mode.cpp, the lists of the CPU). */
#include "op/emit.h"
#include "op/functionalise.h"

#include <string.h>

typedef enum { LOWER, FULL, PROMOTE } policy;
static const struct {
    const char *names;
    policy p;
} lists[] = {
    {" conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm addbmm linear _convolution matmul conv_tbc mkldnn_rnn_layer conv_transpose1d "
     "conv_transpose2d"
     " conv_transpose3d prelu scaled_dot_product_attention _native_multi_head_attention ",
     LOWER},
    {" avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist trace view_as_complex cholesky cholesky_inverse "
     "cholesky_solve inverse"
     " lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d reflection_pad1d reflection_pad2d replication_pad1d"
     " replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss poisson_nll_loss smooth_l1_loss "
     "cross_entropy_loss"
     " l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss"
     " binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn "
     "fft_irfftn fft_hfft"
     " fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv "
     "linalg_householder_product"
     " linalg_tensorinv linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd triangular_solve fractional_max_pool2d "
     "fractional_max_pool3d"
     " adaptive_max_pool3d multilabel_margin_loss_forward linalg_qr linalg_cholesky_ex linalg_svd linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex "
     "rms_norm ",
     FULL},
    {" stack cat index_copy ", PROMOTE},
};

static bool listed(const char *names, const char *name) {
    char key[96];
    size_t n = strlen(name);
    if (n + 3 > sizeof key) return false;
    key[0] = ' ';
    memcpy(key + 1, name, n);
    memcpy(key + 1 + n, " ", 2);
    return strstr(names, key) != NULL;
}

/* Autocast leaves float64 alone, as it does what is no float. */
static bool eligible(const tc_value *v) { return v && v->kind == TC_V_TENSOR && tc_is_float(v->meta.dtype) && v->meta.dtype != TC_F64; }

static tc_dtype widest(const tc_arg *args, int nargs, tc_dtype d) {
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE && eligible(args[i].value) && args[i].value->meta.dtype == TC_F32) d = TC_F32;
        for (int k = 0; args[i].kind == TC_A_VALUES && k < args[i].n; k++)
            if (eligible(args[i].values[k]) && args[i].values[k]->meta.dtype == TC_F32) d = TC_F32;
    }
    return d;
}

tc_status tc_autocast(tc_emit *e, const tc_op *op, tc_arg *args, int nargs, tc_dtype to) {
    const tc_schema *s = tc_op_schema(op);
    size_t l = 0;
    if (strcmp(s->ns, "aten")) return NULL;
    while (l < sizeof lists / sizeof *lists && !listed(lists[l].names, s->name)) l++;
    if (l == sizeof lists / sizeof *lists) return NULL;
    if (lists[l].p == FULL) to = TC_F32;
    if (lists[l].p == PROMOTE) to = widest(args, nargs, to);
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE && eligible(args[i].value)) args[i].value = tc_e_cast(e, args[i].value, to);
        if (args[i].kind != TC_A_VALUES || !args[i].n) continue;
        args[i].values = tc_arena_dup(&e->graph->program->arena, args[i].values, sizeof *args[i].values * (size_t)args[i].n);
        for (int k = 0; k < args[i].n; k++)
            if (eligible(args[i].values[k])) args[i].values[k] = tc_e_cast(e, args[i].values[k], to);
    }
    tc_status st = e->status;
    e->status = NULL;
    return st;
}
