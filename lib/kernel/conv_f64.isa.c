/* Convolution loops of float64. */
#include "kernel/vec_f64.h"

#include "kernel/conv_lanes.h"
#include "kernel/conv_tile.h"
