/* Convolution loops of float32. */
#include "kernel/vec_f32.h"

#include "kernel/conv_lanes.h"
#include "kernel/conv_tile.h"
