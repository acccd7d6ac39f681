/* Convolution loops of float64. */
#include "kernel/vec_f64.h"

/* Six rows keep both FMA units busy; a function for each of fourteen would be 80 KB of code for what few models compute. */
#if MR > 6
#undef MR
#define MR 6
#endif
#include "kernel/conv_lanes.h"
#include "kernel/conv_tile.h"
