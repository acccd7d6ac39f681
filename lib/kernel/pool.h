/* Max and average pooling, whole rows at a time. Arguments are contiguous; those of max pooling without indices may be channels last. */
#ifndef TC_KERNEL_POOL_H
#define TC_KERNEL_POOL_H

#include "kernel/kernel.h"

/* aten::max_poolNd_with_indices(Tensor self, int[N] kernel_size, int[N] stride=[], int[N] padding=0, int[N] dilation=1,
 *                   bool ceil_mode=False) -> (Tensor, Tensor); N is 2 or 3. Indices are computed only where result 1 has storage.
 * NaN is the largest value, +0 is greater than -0; of ties the first has the index; a window without input gives the lowest value. */
extern const tc_kernel tc_k_max_pool2d, tc_k_max_pool3d;

/* aten::avg_poolNd(Tensor self, int[N] kernel_size, int[N] stride=[], int[N] padding=0, bool ceil_mode=False, bool count_include_pad=True,
 *                  int? divisor_override=None) -> Tensor;  aten::_adaptive_avg_poolNd(Tensor self, SymInt[N] output_size) -> Tensor; N is 2 or 3.
 * The taps of a window are summed in the fixed order of reductions (isa.h), row-major, those outside of the input as 0. */
extern const tc_kernel tc_k_avg_pool2d, tc_k_avg_pool3d, tc_k_adaptive_avg_pool2d, tc_k_adaptive_avg_pool3d;

#endif
