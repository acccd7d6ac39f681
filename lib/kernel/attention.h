/* Scaled dot product attention, streaming over keys (online softmax): softmax(scale q k' + mask) v in leaves of 128 keys, each giving (maximum, sum of
 * exponentials, weighted values), merged by the reduction tree. The leaves lie at absolute key positions, so prefill, decode and any split agree in
 * their bits. Arguments are in ATen's schema order.
 *
 * query is [N, H, L, E], key [N, Hk, S, E], value [N, Hk, S, Ev], of rank 3 or 4 and any strides; H is a multiple of Hk (grouped queries). The mask
 * broadcasts to [N, H, L, S]: bool (true: attend) or added to the scores. Rows that may attend to no key give 0. Dropout is not supported.
 *
 * f32 and f64; f16 and bf16 are widened to float32. Where the CPU has bfloat16 products, the forward pass of bf16 with more than two queries multiplies
 * bfloat16: weights are rounded for it, their sum is taken before rounding; all else stays float32. */
#ifndef TC_KERNEL_ATTENTION_H
#define TC_KERNEL_ATTENTION_H

#include "kernel/kernel.h"

/* aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0,
 *     bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor */
/* aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *,
 *     Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)   logsumexp: N H L, float32 or float64 */
extern const tc_kernel tc_k_flash_attention;
/* tc::attention(..., float? scale, float fill, bool safe=False, Tensor? scores=None, Tensor? changed=None) -> (Tensor output, Tensor logsumexp): with the
 * semantics of attention written out as two products and a softmax: where a bool mask is false the score is `fill`, and rows whose scores are all -inf give
 * NaN, or 0 if safe. changed: what the program computes of scores = q k', without scale; it is read instead of them, and scores are not read. */
/* aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out,
 *     Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor, Tensor) */
extern const tc_kernel tc_k_flash_attention_backward;

#endif
