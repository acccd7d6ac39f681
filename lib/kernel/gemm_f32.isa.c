/* Matrix products of float32: tiles of 14 x 32 with AVX-512, 6 x 16 with AVX2, 4 x 8 with an emulated fma elsewhere. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/vec_f32.h"

#define NARROW_PANELS
#include "kernel/gemm_block.h"
