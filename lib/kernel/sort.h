/* Kernels that sort, search and select. Order is PyTorch's: NaN is greater than all numbers, -0 equals +0, false is less than true; sorts are
 * stable; which of equal elements topk, kthvalue and mode take is in kernel/order.h. */
#ifndef TC_KERNEL_SORT_H
#define TC_KERNEL_SORT_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_sort;      /* sort.stable(Tensor self, *, bool? stable, int dim, bool descending) -> values, indices */
extern const tc_kernel tc_k_first;     /* first(Tensor self, SymInt k, int dim, bool descending): the first k of sort's values and indices */
extern const tc_kernel tc_k_topk;      /* topk(Tensor self, SymInt k, int dim, bool largest, bool sorted) -> values, indices */
extern const tc_kernel tc_k_kthvalue;  /* kthvalue(Tensor self, SymInt k, int dim, bool keepdim) -> values, indices */
extern const tc_kernel tc_k_median;    /* median.dim(Tensor self, int dim, bool keepdim): the lower one; NaN when there is one */
extern const tc_kernel tc_k_nanmedian; /* nanmedian.dim: NaN is left out */
extern const tc_kernel tc_k_mode;      /* mode(Tensor self, int dim, bool keepdim): smallest of the most frequent, its last index */
extern const tc_kernel
    tc_k_searchsorted; /* searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32, bool right, str? side, Tensor? sorter) */
extern const tc_kernel tc_k_unique;     /* _unique2(Tensor self, bool sorted, bool return_inverse, bool return_counts): values, inverse, counts */
extern const tc_kernel tc_k_unique_dim; /* unique_dim(Tensor self, int dim, bool sorted, bool return_inverse, bool return_counts) */
extern const tc_kernel tc_k_unique_consecutive; /* unique_consecutive(Tensor self, bool return_inverse, bool return_counts, int? dim) */
extern const tc_kernel tc_k_nonzero;            /* nonzero(Tensor self): i64 [count, rank] */
extern const tc_kernel tc_k_masked_select;      /* masked_select(Tensor self, Tensor mask): broadcast against each other */

#endif
