/* Matrix products of float32: 14 x 32 tiles with AVX-512, 6 x 16 with AVX2, and by the emulated fma for any machine. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/vec_f32.h"

#define NARROW_PANELS
#include "kernel/gemm_block.h"
