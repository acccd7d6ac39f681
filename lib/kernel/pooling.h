/* Pooling over one to three trailing dimensions, in ATen's schema order (the 2d and 3d forms share a kernel: the rank of the window
 * tells). f32, f64, and f16 and bf16 through float32. Window sums are in the order of NUMERICS 4 by position in the whole window,
 * positions in the padding are absent; ties of a maximum take the first, NaN wins; gradients add in ascending order of the output. */
#ifndef TC_KERNEL_POOLING_H
#define TC_KERNEL_POOLING_H

#include "kernel/kernel.h"

/* aten::max_pool{2,3}d_with_indices(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor) */
extern const tc_kernel tc_k_max_pool_with_indices;
/* aten::max_pool{2,3}d_with_indices_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode, Tensor indices);
 * also aten::adaptive_max_pool{2,3}d_backward(Tensor grad_output, Tensor self, Tensor indices): the indices are the last argument */
extern const tc_kernel tc_k_max_pool_backward;
/* aten::avg_pool{2,3}d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) */
extern const tc_kernel tc_k_avg_pool;
/* aten::avg_pool{2,3}d_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) */
extern const tc_kernel tc_k_avg_pool_backward;
/* aten::_adaptive_avg_pool{2,3}d(Tensor self, int[] output_size), also adaptive_avg_pool1d */
extern const tc_kernel tc_k_adaptive_avg_pool;
/* aten::_adaptive_avg_pool{2,3}d_backward(Tensor grad_output, Tensor self) */
extern const tc_kernel tc_k_adaptive_avg_pool_backward;
/* aten::adaptive_max_pool{2,3}d(Tensor self, int[] output_size) -> (Tensor, Tensor) */
extern const tc_kernel tc_k_adaptive_max_pool;

#endif
