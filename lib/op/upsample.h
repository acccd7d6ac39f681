/* Resampling of uint8 images, shared by upsample.c and upsample_aa.c. */
#ifndef TC_OP_UPSAMPLE_H
#define TC_OP_UPSAMPLE_H

#include "op/emit.h"

/* The last dimension of x, or the one before (height), multiplied by the weights w, f64 [out, in], as PyTorch weights bytes: by integers of
 * 16 bits, with as many bits of fraction as the largest weight leaves, rounded half up and kept in 0..255. x: f64 with whole numbers. */
tc_value *tc_upsample_bytes(tc_emit *e, tc_value *x, tc_value *w, bool height);

#endif
