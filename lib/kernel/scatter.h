/* Kernels that write source elements to, or accumulate them at, places given by indices. The sum at one destination is in a fixed order: sources in
 * leaves of 256 by source index, ascending within a leaf, leaves merged by the tree. Threads split destinations; there are no atomics. Where sources
 * overwrite, the last one stays.
 *
 * Result 0 has the sizes and type of self. Indices are int64 (index_put: its operator converts int32, uint8 and bool masks first); one outside
 * [-size, size) is a TC_CONTENT error naming it. */
#ifndef TC_KERNEL_SCATTER_H
#define TC_KERNEL_SCATTER_H

#include "kernel/kernel.h"

extern const tc_kernel
    tc_k_index_put; /* index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate): int64 indices that broadcast together */
extern const tc_kernel tc_k_index_add; /* index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha) */
extern const tc_kernel
    tc_k_index_add_picked;              /* index_add_picked(Tensor self, int dim, Tensor index, Tensor source, Tensor picked, bool from_end): dim 0 */
extern const tc_kernel tc_k_index_copy; /* index_copy(Tensor self, int dim, Tensor index, Tensor source) */
extern const tc_kernel tc_k_index_reduce; /* index_reduce(self, int dim, index, source, str reduce, *, bool include_self): prod mean amax amin */
extern const tc_kernel tc_k_scatter;      /* scatter.src(self, int dim, index, src), scatter.value(self, int dim, index, Scalar value) */
extern const tc_kernel tc_k_scatter_add;  /* scatter_add(self, int dim, index, src) */
extern const tc_kernel
    tc_k_scatter_reduce; /* scatter_reduce.two(self, dim, index, src, str reduce, *, include_self): sum prod mean amax amin; scatter.reduce: add multiply */
extern const tc_kernel tc_k_put; /* put(self, index, source, bool accumulate): linear positions */
extern const tc_kernel
    tc_k_embedding_dense_backward; /* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */

#endif
