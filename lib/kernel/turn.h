/* Matrices turned: out[i][col][row] = in[i][row][col] of n of them, elements of `size` bytes (1, 2, 4, 8 or 16). An image of planes is a matrix of
 * channels x positions, channels last it is the other one. */
#ifndef TC_KERNEL_TURN_H
#define TC_KERNEL_TURN_H

#include "base/pool.h"
#include "kernel/isa.h"

void tc_turn(const tc_isa_ops *isa, tc_pool *pool, size_t size, int64_t n, int64_t rows, int64_t cols, const void *in, void *out);

#endif
