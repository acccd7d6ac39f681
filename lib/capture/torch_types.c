/* Dtypes for which PyTorch's CPU backend has no kernel although tc has: refused in model sources, as in PyTorch. The table was made by calling every
 * operator on its samples in every dtype, in PyTorch 2.15 and in tc. */
#include "base/text.h"
#include "capture/torch_bind.h"
#include "op/shape.h"
#include "op/functionalise.h"

/* The types of the first tensor, and the operators; f8 stands for all 8-bit float types. */
static const struct {
    const char *types, *names;
} refused[] = {
    {" f8 ",
     " _batch_norm_with_update_functional _native_batch_norm_legit_functional _safe_softmax _unique2 _unsafe_masked_index allclose "
     "alpha_dropout argsort atan2 ceil celu clamp_max clamp_min copysign cosine_embedding_loss cosine_similarity cross_entropy_loss digamma "
     "dist dropout einsum elu elu_backward embedding_renorm erf erfc erfinv fake_quantize_per_tensor_affine feature_alpha_dropout "
     "feature_dropout flip fliplr floor fmax fmin frac fractional_max_pool2d fractional_max_pool3d frexp frobenius_norm gather gelu "
     "gelu_backward grid_sampler grid_sampler_2d grid_sampler_3d gru hardshrink hardsigmoid hardswish hardswish_backward hardtanh histc hypot "
     "i0 isclose isneginf isposinf layer_norm leaky_relu lgamma linalg_matrix_norm linalg_norm linalg_vector_norm log_sigmoid "
     "log_sigmoid_backward log_sigmoid_forward logsigmoid lstm maximum minimum msort mul multinomial multiply native_dropout "
     "native_layer_norm nextafter norm norm_except_dim normal_functional polygamma rand_like randint_like randn_like relu relu6 rnn_relu "
     "rnn_tanh round scaled_dot_product_attention segment_reduce selu signbit softplus softplus_backward softshrink sort special_entr "
     "special_gammaln special_i0 special_i0e special_i1 special_i1e special_ndtr special_polygamma special_psi special_xlog1py special_xlogy "
     "std std_mean trunc uniform unique_consecutive unique_dim var var_mean xlogy "},
    {" c32 f8 ",
     " _fused_rms_norm acos acosh addcdiv affine_grid_generator angle asin asinh atan atanh corrcoef cos cosh cov div divide exp exp2 expm1 "
     "ldexp lerp log log10 log1p log2 logaddexp logcumsumexp logsumexp mean nan_to_num poisson_nll_loss reciprocal renorm rms_norm rot90 "
     "rsqrt scatter scatter_add scatter_reduce sigmoid sigmoid_backward silu silu_backward sin sinc sinh special_exp2 special_expit sqrt "
     "sum_to_size take_along_dim tan tanh tanh_backward true_divide "},
    {" u16 u32 u64 f8 ",
     " _unsafe_masked_index_put_accumulate add amax amin aminmax argwhere conv1d cummax cummin diff embedding_dense_backward gcd ge gt "
     "hash_tensor heaviside hinge_embedding_loss index_add index_copy index_fill isin l1_loss lcm le lt margin_ranking_loss masked_fill max "
     "min mode native_dropout_backward neg nonzero nonzero_numpy nonzero_static pairwise_distance rsub sgn sign sub threshold tril "
     "triplet_margin_loss triu "},
    {" c32 c64 c128 f8 ",
     " _log_softmax _log_softmax_backward_data _native_batch_norm_legit _native_batch_norm_legit_no_training "
     "_scaled_dot_product_flash_attention_for_cpu _softmax _weight_norm _weight_norm_interface avg_pool1d batch_norm "
     "binary_cross_entropy_with_logits cauchy convolution deg2rad exponential glu glu_backward group_norm instance_norm log_normal logaddexp2 "
     "logit mish mish_backward nanmean nansum native_batch_norm native_group_norm nll_loss nll_loss2d nll_loss_nd poisson rad2deg "},
    {" f16 bf16 f8 ",
     " _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa cdist pdist special_airy_ai special_bessel_j0 special_bessel_j1 "
     "special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
     "special_chebyshev_polynomial_w special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l "
     "special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
     "special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
     "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
     "special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_zeta "},
    {" u16 u32 u64 c32 f8 ",
     " addmv addr bilinear bmm channel_shuffle cross cumulative_trapezoid dot gradient inner linalg_cross linalg_matrix_power logical_and "
     "logical_not logical_or logical_xor masked_scatter matmul mm mv pixel_shuffle pixel_unshuffle prod put square sum take tensordot "
     "trapezoid trapz unfold_backward vander vdot "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ",
     " _adaptive_avg_pool2d _adaptive_avg_pool3d _softmax_backward_data adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d "
     "adaptive_max_pool3d binary_cross_entropy huber_loss log_softmax max_pool1d mse_loss softmax upsample_linear1d upsample_trilinear3d "},
    {" bool u16 u32 u64 c32 f8 ",
     " _trilinear baddbmm cumprod cumsum linspace logspace pow reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d trace "},
    {" bool u16 u32 u64 f8 ",
     " addcmul argmax argmin bucketize conv2d conv3d floor_divide fmod kthvalue median nanmedian remainder threshold_backward topk "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 f8 ",
     " _prelu_kernel adaptive_max_pool1d hardshrink_backward hardsigmoid_backward hardtanh_backward igamma igammac leaky_relu_backward normal "
     "prelu softshrink_backward special_gammainc special_gammaincc "},
    {" bool u16 u32 u64 c32 c64 c128 f8 ",
     " div_floor div_trunc geometric index_reduce max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
     "max_pool3d_with_indices searchsorted "},
    {" bool i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ",
     " _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bicubic2d upsample_bilinear2d "
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d "},
    {" u16 u32 u64 ", " _unsafe_index_put abs bincount bitwise_not index_put masked_select "},
    {" u16 u32 u64 c32 ", " addbmm addmm eye linalg_multi_dot linear matrix_power "},
    {" bool u16 u32 u64 ", " __lshift__ __rshift__ bitwise_left_shift bitwise_right_shift "},
    {" f16 bf16 c32 c64 c128 f8 ", " _sample_dirichlet _standard_gamma binomial "},
    {" u16 u32 u64 c32 c64 c128 f8 ", " arange bernoulli range "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 c32 f8 ", " col2im im2col soft_margin_loss "},
    {" u8 i8 i16 i32 u16 u32 u64 f8 ", " conv_transpose1d conv_transpose2d conv_transpose3d "},
    {" bool f8 ", " clamp mvlgamma "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 c32 f8 ", " adaptive_avg_pool1d linalg_vecdot "},
    {" f16 bf16 ", " histogram histogramdd "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ", " kl_div smooth_l1_loss "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f8 ", " multi_margin_loss multilabel_margin_loss "},
    {" bool u8 i8 i16 i32 u16 u32 u64 c32 c64 c128 f8 ", " avg_pool2d "},
    {" bool u8 i8 i16 i32 u16 u32 u64 f16 bf16 c32 c64 c128 f8 ", " avg_pool3d "},
    {" bool u8 i8 i16 i32 u16 u32 u64 f8 ", " conv_dilated "},
    {" c32 ", " equal "},
    {" f16 bf16 c32 f8 ", " linalg_vander "},
    {" f16 c32 c64 c128 f8 ", " rrelu "},
    {" f16 f8 ", " rrelu_with_noise_functional "},
};

/* Is the computation in another type: an integer operand with a floating one? */
static bool computes_in_other(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    for (int i = 1; i < s->nparams && tc_is_integral(d); i++) {
        if (objects[i] && tc_is_tensor(objects[i]) && !tc_is_integral(tc_torch_dtype(objects[i]))) return true;
        if (!objects[i] && s->params[i].type == TC_T_TENSOR && arg[i].kind == TC_A_SCALAR && !arg[i].is_sym && arg[i].scalar.kind >= TC_KIND_FLOAT)
            return true;
    }
    return false;
}
/* The type in which an operator computes if its first operand is of type d: the given dtype; int64 for sums and products of integers; the promoted
 * type for two or three operands. */
static tc_dtype computes_in(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    static const char operands[] = " self other exponent tensor1 tensor2 min max x n ";
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].type == TC_T_DTYPE && arg[i].kind == TC_A_DTYPE) return arg[i].dtype;
    if (d == TC_DTYPE_NONE || (tc_is_integral(d) && tc_word_in(" sum nansum prod cumsum cumprod ", s->name))) return TC_I64;
    tc_promotion p = {.dim = TC_DTYPE_NONE, .zero = TC_DTYPE_NONE, .wrapped = TC_DTYPE_NONE};
    for (int i = 0; i < s->nparams && tc_word_in(operands, s->params[0].name); i++) {
        if (!tc_word_in(operands, s->params[i].name)) continue;
        if (objects[i] && tc_is_tensor(objects[i])) {
            tc_value v = {.kind = TC_V_TENSOR, .meta = {.dtype = tc_torch_dtype(objects[i]), .rank = tc_torch_rank(objects[i])}};
            tc_promotion_add(&p, &(tc_arg){.kind = TC_A_VALUE, .value = &v});
        } else tc_promotion_add(&p, &arg[i]);
    }
    tc_dtype t = tc_promotion_type(&p);
    return p.clashes || (p.dim == TC_DTYPE_NONE && p.zero == TC_DTYPE_NONE) ? d : t;
}
static int64_t whole(const tc_arg *a, int64_t otherwise) {
    int64_t i;
    return a->kind == TC_A_INT && tc_sym_const_int(a->sym, &i) ? i : otherwise;
}
static double number(const tc_arg *a) { return a->kind == TC_A_SCALAR && !a->is_sym ? tc_scalar_to_double(a->scalar) : 0; }
/* Does an argument make PyTorch use another code path than the operator's kernel? */
static bool setting_goes_elsewhere(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    for (int i = 0; i < s->nparams; i++) {
        const char *p = s->params[i].name;
        if (!strcmp(p, "steps") && whole(&arg[i], 2) < 2) return true; /* no range */
        const bool off = arg[i].kind == TC_A_SCALAR && !arg[i].is_sym && !arg[i].scalar.i, none = arg[i].kind == TC_A_NONE && !objects[i];
        if (!strcmp(p, "train") && off) return true; /* dropout */
        if (!strcmp(p, "training") && off && !strncmp(s->name, "rrelu", 5)) return true;
        if (!strcmp(s->name, "clamp") && i && none && objects[3 - i]) return true; /* maximum or minimum of two tensors */
        if (!strcmp(s->name, "diff") && !strcmp(p, "n") && !whole(&arg[i], 1)) return true;
        if (!strcmp(s->name, "rot90") && !strcmp(p, "k") && whole(&arg[i], 1) % 4 == 0) return true;
        if (strcmp(p, "output_size") || arg[i].kind != TC_A_INTS || (d != TC_C64 && d != TC_C128)) continue;
        int ones = 0; /* output size 1: the mean of all positions */
        while (ones < arg[i].n && tc_sym_is_int(arg[i].syms[ones], 1)) ones++;
        if (ones == arg[i].n && !strncmp(s->name, "adaptive_avg", 12)) return true;
    }
    return false;
}
/* The same, decided by sizes. */
static bool size_goes_elsewhere(C *c, const tc_schema *s, const tc_arg *arg, const V *objects) {
    static const char along[] = " max min mode kthvalue topk cummax cummin cumsum cumprod aminmax ";
    const bool pair = s->nparams > 1 && objects[0] && objects[1] && tc_is_tensor(objects[0]) && tc_is_tensor(objects[1]);
    if (!objects[0] || !tc_is_tensor(objects[0])) return false;
    const int rank = tc_torch_rank(objects[0]);
    if (!rank && s->nparams > 1 && (s->params[1].type == TC_T_INT || s->params[2].type == TC_T_INT) && tc_word_in(along, s->name)) return true;
    if (!strcmp(s->name, "inner")) return pair && (!rank || !tc_torch_rank(objects[1]));
    if (!strcmp(s->name, "pdist")) return rank == 2 && tc_equal(c, tc_torch_size(c, objects[0], 0), tc_int(c, 1));
    if (!strcmp(s->name, "cdist")) return number(&arg[2]) == 2 && whole(&arg[3], 0) != 2; /* a matrix product, unless there are few rows */
    if (strcmp(s->name, "equal") || !pair) return false;
    bool same = rank == tc_torch_rank(objects[1]);
    for (int k = 0; k < rank && same; k++) same = tc_equal(c, tc_torch_size(c, objects[0], k), tc_torch_size(c, objects[1], k));
    return !same;
}
static bool goes_elsewhere(C *c, const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    if (!strcmp(s->name, "pow") && s->params[1].type == TC_T_SCALAR && d == TC_BOOL) return true; /* a number: True or False */
    return setting_goes_elsewhere(s, arg, objects, d) || size_goes_elsewhere(c, s, arg, objects);
}
/* Operators that are checked for a kernel even if there are no elements. */
static const char counts_first[] =
    " _native_batch_norm_legit _native_batch_norm_legit_functional adaptive_avg_pool1d addbmm addmm baddbmm batch_norm bernoulli bilinear bucketize "
    "cdist cumprod cumsum "
    "group_norm linalg_cholesky linalg_cholesky_ex linalg_det linalg_eigh linalg_eigvalsh linalg_ldl_factor linalg_ldl_factor_ex linalg_lu "
    "linalg_lu_factor linalg_lu_factor_ex linalg_multi_dot linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_vecdot linear "
    "local_response_norm log_softmax matmul mm native_batch_norm native_group_norm nonzero_static pixel_shuffle pixel_unshuffle prod randn_like "
    "searchsorted softmax svd ";
/* The operator whose kernel does the work: that of padding by reflection, or rounding division, is another. */
static const char *kernel_name(const tc_schema *s, const tc_arg *arg) {
    const bool mirrors = !strcmp(s->name, "pad") && arg[2].kind == TC_A_STRING && tc_word_in(" reflect replicate ", arg[2].string);
    const bool rounds = tc_word_in(" div divide ", s->name) && s->nparams > 2 && arg[2].kind == TC_A_STRING;
    const bool pair = s->nparams > 1 && s->params[1].type == TC_T_TENSOR && tc_word_in(" max min ", s->name);
    if (tc_word_in(" clamp_min clamp_max ", s->name) && s->params[1].type == TC_T_SCALAR) return "clamp";
    if (pair) return strcmp(s->name, "max") ? "minimum" : "maximum";
    bool dilates = false;
    for (int i = 0; i < s->nparams && !strncmp(s->name, "conv", 4); i++)
        for (int k = 0; k < arg[i].n && arg[i].kind == TC_A_INTS && !strcmp(s->params[i].name, "dilation"); k++)
            dilates |= !tc_sym_is_int(arg[i].syms[k], 1);
    if (dilates && strncmp(s->name, "conv_transpose", 14)) return "conv_dilated";
    return mirrors ? "reflection_pad1d" : rounds ? (strcmp(arg[2].string, "trunc") ? "div_floor" : "div_trunc") : s->name;
}
static bool has_elements(C *c, V v) {
    const tensor *t = (const tensor *)v;
    if (t->t.storage) return tc_tensor_numel(&t->t) > 0;
    const tc_meta *m = &tc_torch_value(c, v)->meta;
    for (int k = 0; k < m->rank; k++)
        if (tc_sym_is_int(m->size[k], 0)) return false;
    return true;
}
static bool all_have_elements(C *c, const tc_schema *s, const V *objects) {
    for (int i = 0; i < s->nparams; i++) {
        size_t n = objects[i] ? 1 : 0;
        const V *all = n && tc_is_seq(objects[i]) ? tc_items(objects[i], &n) : &objects[i];
        for (size_t k = 0; k < n; k++)
            if (tc_is_tensor(all[k]) && !has_elements(c, all[k])) return false;
    }
    return true;
}
/* The first tensor operand; for lists their first element; after a number or an equation. */
static V first_operand(const tc_schema *s, const V *objects) {
    const tc_type t = s->params[0].type;
    const int at = s->nparams > 1 && (t == TC_T_SCALAR || t == TC_T_INT || t == TC_T_STRING);
    V v = objects[at];
    size_t n = 0;
    if (v && tc_is_seq(v)) {
        const V *all = tc_items(v, &n);
        v = n && tc_word_in(" linalg_multi_dot einsum ", s->name) ? all[0] : NULL;
    }
    return v && tc_is_tensor(v) ? v : NULL;
}

void tc_torch_check_type(C *c, const tc_op *op, const tc_arg *arg, const V *objects) {
    const tc_op *functional = tc_op_functional(op);
    const tc_schema *s = tc_op_schema(op), *f = tc_op_schema(functional);
    const bool fresh = tc_word_in(" arange eye linspace logspace range ", f->name); /* made from numbers, in the given type */
    if (!s->nparams) return;
    const V first = first_operand(s, objects);
    if (!fresh && !first) return;
    tc_dtype d = computes_in(s, arg, objects, first ? tc_torch_dtype(first) : TC_DTYPE_NONE);
    if (c->torch->autocast != TC_DTYPE_NONE) d = tc_autocast_type(op, d, c->torch->autocast);
    if (d == TC_F32 || d == TC_F64 || c->all_types) return;
    const char *own = tc_is_float(d) && tc_dtype_size(d) == 1 ? "f8" : tc_dtypes[d].name;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (tc_word_in(refused[i].types, own) && tc_word_in(refused[i].names, kernel_name(f, arg)) &&
            (!first || !tc_word_in(counts_first, f->name) || all_have_elements(c, s, objects)) && !computes_in_other(s, arg, objects, d) &&
            !goes_elsewhere(c, s, arg, objects, d))
            tc_raise(c, "NotImplementedError", "aten.%s: \"%s\" not implemented for '%s'", s->name, f->name, tc_dtypes[d].torch);
}
