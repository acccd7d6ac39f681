/* Which operators PyTorch's CPU has no kernel for in which types, where tc's own would take them: refused in model sources, as there. The list
 * was found by calling every operator on its samples in every type, in PyTorch 2.15 and here. */
#include "base/text.h"
#include "capture/torch_bind.h"
#include "op/shape.h"
#include "op/functionalise.h"

/* The types of the first tensor, and the operators' names; f8 is every type of 8 bits with an exponent. */
static const struct {
    const char *types, *names;
} refused[] = {
    {" f8 ",
     " _batch_norm_with_update_functional _log_softmax _native_batch_norm_legit _native_batch_norm_legit_functional _safe_softmax _softmax "
     "_unique2 _unsafe_masked_index alpha_dropout argsort atan2 ceil celu clamp clamp_max clamp_min copysign "
     "cosine_embedding_loss cosine_similarity cross_entropy_loss digamma dist dropout elu elu_backward embedding_renorm erf erfc erfinv "
     "fake_quantize_per_tensor_affine feature_alpha_dropout feature_dropout floor fmax fmin frac fractional_max_pool2d fractional_max_pool3d "
     "frexp frobenius_norm gelu gelu_backward grid_sampler grid_sampler_2d grid_sampler_3d gru hardshrink hardsigmoid hardswish "
     "hardswish_backward hardtanh histc hypot i0 isclose isneginf isposinf l1_loss layer_norm leaky_relu lgamma linalg_matrix_norm linalg_norm "
     "linalg_vector_norm log_sigmoid log_sigmoid_backward log_sigmoid_forward lstm maximum minimum msort multinomial native_dropout "
     "native_layer_norm nextafter norm norm_except_dim normal_functional rand_like randn_like relu relu6 rnn_relu rnn_tanh round rrelu "
     "rrelu_with_noise_functional segment_reduce selu signbit softplus softplus_backward softshrink sort special_entr special_gammaln "
     "special_i0 special_i0e special_i1 special_i1e special_ndtr special_psi special_xlogy std std_mean trunc uniform unique_dim var var_mean "
     "xlogy "},
    {" c32 f8 ",
     " _fused_rms_norm acos acosh addcdiv affine_grid_generator angle asin asinh atan atanh corrcoef cos cosh cov div divide exp exp2 expm1 "
     "flip fliplr gather ldexp lerp log log10 log1p log2 logaddexp logcumsumexp logsumexp mean nan_to_num reciprocal renorm rms_norm rot90 "
     "rsqrt scatter scatter_add scatter_reduce sigmoid sigmoid_backward silu silu_backward sin sinc sinh special_exp2 special_expit sqrt "
     "take_along_dim tan tanh tanh_backward true_divide "},
    {" u16 u32 u64 f8 ",
     " hinge_embedding_loss _unsafe_masked_index_put_accumulate add amax amin aminmax conv1d conv3d count_nonzero cummax cummin diff "
     "embedding_dense_backward ge gt "
     "hash_tensor heaviside index_add index_copy index_fill isin le lt margin_ranking_loss masked_fill max min mode native_dropout_backward "
     "neg nonzero nonzero_numpy pairwise_distance poisson_nll_loss remainder rsub sgn sign sub threshold tril triplet_margin_loss triu "},
    {" c32 c64 c128 f8 ", " _log_softmax_backward_data _native_batch_norm_legit_no_training _scaled_dot_product_flash_attention_for_cpu _weight_norm "
                          "_weight_norm_interface avg_pool1d batch_norm binary_cross_entropy_with_logits cauchy convolution deg2rad exponential glu "
                          "glu_backward group_norm instance_norm "
                          "log_normal logaddexp2 logit mish mish_backward nanmean nansum native_batch_norm native_group_norm nll_loss nll_loss2d "
                          "nll_loss_nd poisson rad2deg "},
    {" u16 u32 u64 c32 f8 ",
     " addmv addr baddbmm bilinear bmm channel_shuffle cross cumulative_trapezoid dot gradient linalg_cross linalg_matrix_power logical_and "
     "logical_not logical_or logical_xor masked_scatter mv pixel_shuffle pixel_unshuffle prod put square sum take trapezoid trapz "
     "unfold_backward vander vdot "},
    {" f16 bf16 f8 ",
     " _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa cdist pdist special_airy_ai special_bessel_j0 special_bessel_j1 "
     "special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
     "special_chebyshev_polynomial_w special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l "
     "special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
     "special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
     "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
     "special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_zeta "},
    {" bool u16 u32 u64 f8 ", " addcmul argmax argmin bucketize conv2d conv3d floor_divide fmod kthvalue median nanmedian threshold_backward topk "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 f8 ",
     " _prelu_kernel adaptive_max_pool1d hardshrink_backward hardsigmoid_backward hardtanh_backward leaky_relu_backward log_softmax prelu "
     "softmax softshrink_backward "},
    {" u16 u32 u64 c32 ", " addbmm addmm eye inner linalg_multi_dot linear matmul matrix_power mm tensordot "},
    {" u16 u32 u64 ",
     " __lshift__ __rshift__ _unsafe_index_put abs bincount bitwise_left_shift bitwise_not bitwise_right_shift index_put masked_select "},
    {" f16 bf16 c32 c64 c128 f8 ", " _sample_dirichlet _standard_gamma binomial "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 c32 f8 ", " col2im im2col soft_margin_loss "},
    {" bool u16 u32 u64 c32 c64 c128 f8 ",
     " geometric index_reduce max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices "
     "searchsorted "},
    {" bool u16 u32 u64 c32 f8 ",
     " _trilinear cumprod cumsum linspace logspace pow reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
     "replication_pad3d trace "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ",
     " _adaptive_avg_pool2d _adaptive_avg_pool3d _softmax_backward_data adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
     "adaptive_max_pool2d adaptive_max_pool3d binary_cross_entropy huber_loss max_pool1d mse_loss normal upsample_linear1d upsample_trilinear3d "},
    {" u16 u32 u64 c32 c64 c128 f8 ", " arange bernoulli range "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ", " kl_div smooth_l1_loss "},
    {" u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f8 ", " multi_margin_loss multilabel_margin_loss "},
    {" bool f8 ", " mvlgamma "},
    {" bool u8 i8 i16 i32 i64 u16 u32 u64 c32 f8 ", " linalg_vecdot "},
    {" f16 bf16 c32 f8 ", " linalg_vander "},
    {" bool i8 i16 i32 i64 u16 u32 u64 c32 c64 c128 f8 ",
     " upsample_bicubic2d upsample_bilinear2d upsample_nearest1d upsample_nearest2d upsample_nearest3d "},
    {" bool u8 i8 i16 i32 u16 u32 u64 c32 c64 c128 f8 ", " avg_pool2d "},
    {" bool u8 i8 i16 i32 u16 u32 u64 f16 bf16 c32 c64 c128 f8 ", " avg_pool3d "},
    {" bool ", " clamp remainder __lshift__ __rshift__ bitwise_left_shift bitwise_right_shift "},
    {" c32 ", " equal "},
};

/* Whether the computation is in another type: a whole number meets a fraction. */
static bool computes_in_other(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    for (int i = 1; i < s->nparams && tc_is_integral(d); i++) {
        if (objects[i] && tc_is_tensor(objects[i]) && !tc_is_integral(tc_torch_dtype(objects[i]))) return true;
        if (!objects[i] && s->params[i].type == TC_T_TENSOR && arg[i].kind == TC_A_SCALAR && !arg[i].is_sym && arg[i].scalar.kind >= TC_KIND_FLOAT)
            return true;
    }
    return false;
}
/* What an operator computes in whose first operand is of type d: the type that is given; of whole numbers added or multiplied up, int64; of two or
 * three operands their promoted type. */
static tc_dtype computes_in(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    static const char operands[] = " self other exponent tensor1 tensor2 min max ";
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].type == TC_T_DTYPE && arg[i].kind == TC_A_DTYPE) return arg[i].dtype;
    if (d == TC_DTYPE_NONE || (tc_is_integral(d) && tc_word_in(" sum prod cumsum cumprod ", s->name))) return TC_I64;
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
/* Whether PyTorch takes another way than the operator's kernel: dropout that does not train, the mean of all positions of complex numbers, the
 * powers 0 and 1. */
static bool goes_elsewhere(const tc_schema *s, const tc_arg *arg, tc_dtype d) {
    if (!strcmp(s->name, "pow") && s->params[1].type == TC_T_SCALAR && d == TC_BOOL) return true; /* by a number: True or False */
    for (int i = 0; i < s->nparams; i++) {
        if (!strcmp(s->params[i].name, "train") && arg[i].kind == TC_A_SCALAR && !arg[i].scalar.i) return true;
        if (strcmp(s->params[i].name, "output_size") || arg[i].kind != TC_A_INTS || (d != TC_C64 && d != TC_C128)) continue;
        int ones = 0;
        while (ones < arg[i].n && tc_sym_is_int(arg[i].syms[ones], 1)) ones++;
        return ones == arg[i].n && !strncmp(s->name, "adaptive_avg", 12);
    }
    return false;
}
/* Whether the kernel is asked for before the elements are counted: PyTorch's loops over operands of one size. */
static bool asks_first(const tc_op *f) {
    static const char others[] = " bitwise_left_shift bitwise_right_shift clamp clamp_max clamp_min pow trace __lshift__ __rshift__ ";
    return f->shape == tc_shape_binary || f->shape == tc_shape_ternary || tc_word_in(others, tc_op_schema(f)->name);
}
/* The operator whose kernel does the work: padding by mirroring is another one's. */
static const char *kernel_name(const tc_schema *s, const tc_arg *arg) {
    const bool mirrors = !strcmp(s->name, "pad") && arg[2].kind == TC_A_STRING && tc_word_in(" reflect replicate ", arg[2].string);
    return mirrors ? "reflection_pad1d" : s->name;
}
static bool has_elements(C *c, V v) {
    const tensor *t = (const tensor *)v;
    if (t->t.storage) return tc_tensor_numel(&t->t) > 0;
    const tc_meta *m = &tc_torch_value(c, v)->meta;
    for (int k = 0; k < m->rank; k++)
        if (tc_sym_is_int(m->size[k], 0)) return false;
    return true;
}

void tc_torch_check_type(C *c, const tc_op *op, const tc_arg *arg, const V *objects) {
    const tc_op *functional = tc_op_functional(op);
    const tc_schema *s = tc_op_schema(op), *f = tc_op_schema(functional);
    const bool fresh = tc_word_in(" arange eye linspace logspace range ", f->name); /* made of numbers, in the type that is given */
    if (!s->nparams) return;
    const V operand = objects[s->nparams > 1 && s->params[0].type == TC_T_SCALAR], first = operand && tc_is_tensor(operand) ? operand : NULL;
    if (!fresh && !operand) return;
    tc_dtype d = computes_in(s, arg, objects, first ? tc_torch_dtype(first) : TC_DTYPE_NONE);
    if (c->torch->autocast != TC_DTYPE_NONE) d = tc_autocast_type(op, d, c->torch->autocast);
    if (d == TC_F32 || d == TC_F64 || c->all_types) return;
    const char *own = tc_is_float(d) && tc_dtype_size(d) == 1 ? "f8" : tc_dtypes[d].name;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (tc_word_in(refused[i].types, own) && tc_word_in(refused[i].names, kernel_name(f, arg)) &&
            (!first || asks_first(functional) || has_elements(c, first)) && !computes_in_other(s, arg, objects, d) && !goes_elsewhere(s, arg, d))
            tc_raise(c, "NotImplementedError", "aten.%s: \"%s\" not implemented for '%s'", s->name, f->name, tc_dtypes[d].torch);
}
