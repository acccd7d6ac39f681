/* A checksum of a tensor's elements. */
#ifndef TC_KERNEL_HASH_H
#define TC_KERNEL_HASH_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_hash; /* hash_tensor(Tensor self, int[1] dim, *, bool keepdim, int mode): u64 */

#endif
