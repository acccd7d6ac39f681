/* Convolutions of one to three dimensions, computed as implicit matrix products over k = (tap, input channel) in the fixed order of gemm.h. f32 and f64;
 * f16 and bf16 are widened to float32 and rounded once, or, for bf16, use the CPU's bfloat16 instructions (isa.tab). Arguments are in ATen's schema
 * order; images are contiguous or channels last (tc_kernel.layouts), all else is contiguous. */
#ifndef TC_KERNEL_CONV_H
#define TC_KERNEL_CONV_H

#include "kernel/kernel.h"

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed,
 *                   int[] output_padding, int groups) -> Tensor; input N C (D) (H) W */
extern const tc_kernel tc_k_convolution;
/* aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding,
 *                   int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
 * Results that output_mask leaves out may be without storage; they are not written. */
extern const tc_kernel tc_k_convolution_backward;

#endif
