/* Matrix products of float64: 14 x 16 tiles with AVX-512, 6 x 8 with AVX2, and by the emulated fma for any machine. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/vec_f64.h"

#include "kernel/gemm_block.h"
