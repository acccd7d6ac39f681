/* Kernels of collectives: all ranks of tc_kcall.comm call them together, with tensors of the same type and sizes. Without a comm they are TC_USAGE, which
 * says how programs get ranks; a failure of the ranks is TC_ENV. */
#ifndef TC_KERNEL_COLLECTIVE_H
#define TC_KERNEL_COLLECTIVE_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_all_reduce;     /* all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor */
extern const tc_kernel tc_k_all_gather;     /* all_gather_into_tensor(Tensor input, int group_size, str group_name): ranks along dimension 0 */
extern const tc_kernel tc_k_reduce_scatter; /* reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) */
extern const tc_kernel tc_k_broadcast;      /* broadcast(Tensor input, int src, str group_name) -> Tensor */

/* Is there a reduction `op` ("sum", "product", "min", "max", "band", "bor", "bxor", of floats "avg") of this type? */
bool tc_collective_has(tc_dtype d, const char *op);

#endif
