/* Matrix products of float64: tiles of 14 x 16 with AVX-512, 6 x 8 with AVX2, 4 x 4 with an emulated fma elsewhere. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/vec_f64.h"

#include "kernel/gemm_block.h"
