/* Convolution loops for float32. */
#include "kernel/vec_f32.h"

#if MR == 6
#define FEW_TERMS 64 /* for larger tiles not measured */
#endif

#include "kernel/conv_type.h"
