/* Transposition of a batch of contiguous matrices on the pool: out[i][col][row] = in[i][row][col] for n matrices of rows x cols elements of `size`
 * bytes (1, 2, 4, 8 or 16). This is also how images change layout: one image in planes (channels first) is a matrix of channels x positions, its
 * channels-last form the transposed one. */
#ifndef TC_KERNEL_TRANSPOSE_H
#define TC_KERNEL_TRANSPOSE_H

#include "base/pool.h"
#include "kernel/isa.h"

void tc_transpose_batch(const tc_isa_ops *isa, tc_pool *pool, size_t size, int64_t n, int64_t rows, int64_t cols, const void *in, void *out);

#endif
