/* Pooling over fixed windows: what a loop does tap by tap, done by rows. Tensors contiguous. */
#ifndef TC_KERNEL_POOL_H
#define TC_KERNEL_POOL_H

#include "kernel/kernel.h"

/* aten::max_poolNd_with_indices(Tensor self, int[N] kernel_size, int[N] stride=[], int[N] padding=0, int[N] dilation=1,
 *                   bool ceil_mode=False) -> (Tensor, Tensor); N 2 or 3. The indices are made only where they have storage.
 * NaN is the largest, +0 is above -0, the first of ties has the index; a window without input gives the lowest value. */
extern const tc_kernel tc_k_max_pool2d, tc_k_max_pool3d;

/* aten::avg_poolNd(Tensor self, int[N] kernel_size, int[N] stride=[], int[N] padding=0, bool ceil_mode=False, bool count_include_pad=True,
 *                  int? divisor_override=None) -> Tensor;  aten::_adaptive_avg_poolNd(Tensor self, SymInt[N] output_size) -> Tensor; N 2 or 3.
 * The taps of a window are summed in the order of NUMERICS 4, row-major, those outside of the input as 0. */
extern const tc_kernel tc_k_avg_pool2d, tc_k_avg_pool3d, tc_k_adaptive_avg_pool2d, tc_k_adaptive_avg_pool3d;

#endif
