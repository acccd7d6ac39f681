/* Resampling of uint8 images, shared by upsample.c and upsample_aa.c. */
#ifndef TC_OP_UPSAMPLE_H
#define TC_OP_UPSAMPLE_H

#include "op/emit.h"

/* Multiplies the last dimension of x, or the one before (height), by the weights w, f64 [out, in], as PyTorch does for bytes: by 16-bit integers
 * with as many fraction bits as the largest weight allows, rounded half up and clamped to 0..255. x: f64 with integer values. */
tc_value *tc_upsample_bytes(tc_emit *e, tc_value *x, tc_value *w, bool height);

#endif
