/* Scaled dot product attention in leaves of 128 keys (NUMERICS 7), in ATen's schema order. f32 and f64; f16 and bf16 through float32.
 * Of bf16 where the row has gemm_bf16, forward and for more than two queries: q k' and p v of bf16, summed in float32; p, the exponentials of a leaf,
 * are rounded for it, their sum is of those before. What is between stays float32.
 * query N.. H L E, key N.. Hk S E, value N.. Hk S Ev, of rank 3 or 4 and any strides; H a multiple of Hk (grouped queries).
 * A mask broadcasts to N H L S: bool (true takes part) or added to the scores. A row takes no part in
 * a leaf that allows it no key; rows without keys give 0. Dropout is not done here. */
#ifndef TC_KERNEL_ATTENTION_H
#define TC_KERNEL_ATTENTION_H

#include "kernel/kernel.h"

/* aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0,
 *     bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor */
/* aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *,
 *     Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)   logsumexp: N H L, float32 or float64 */
extern const tc_kernel tc_k_flash_attention;
/* tc::attention(..., float? scale=None, float fill) -> Tensor: as a product, a softmax and a product compute it. What a bool mask does not allow has
 * the score `fill`; rows whose scores are all -inf give NaN. */
/* aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out,
 *     Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor, Tensor) */
extern const tc_kernel tc_k_flash_attention_backward;

#endif
