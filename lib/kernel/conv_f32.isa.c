/* Convolution loops for float32. */
#include "kernel/vec_f32.h"

#include "kernel/conv_type.h"
