/* Convolutions of one to three dimensions as implicit matrix products (NUMERICS 6), in ATen's schema order. f32 and f64; f16 and
 * bf16 by way of float32 with one rounding, bf16 by instructions for it where the row has them (isa.tab). Tensors contiguous. */
#ifndef TC_KERNEL_CONV_H
#define TC_KERNEL_CONV_H

#include "kernel/kernel.h"

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed,
 *                   int[] output_padding, int groups) -> Tensor; input N C (D) (H) W */
extern const tc_kernel tc_k_convolution;
/* aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding,
 *                   int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
 * Results that the mask leaves out have no storage (or are not written). */
extern const tc_kernel tc_k_convolution_backward;

#endif
