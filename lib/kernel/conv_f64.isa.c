/* Convolution loops for float64. */
#include "kernel/vec_f64.h"

/* Tiles of six rows keep both FMA units busy; functions for up to fourteen rows would be 80 KB of code for a type that few models use. */
#if MR > 6
#undef MR
#define MR 6
#endif
#include "kernel/conv_type.h"
