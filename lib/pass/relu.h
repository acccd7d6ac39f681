/* tc-compile --relu-nan=zero. */
#ifndef TC_PASS_RELU_H
#define TC_PASS_RELU_H

#include "op/op.h"

/* Rewrites every floating-point relu, in subgraphs too, to give 0 for NaN: where(isnan(x), 0, relu(x)). Other values keep the bits and gradients of
 * relu. */
tc_status tc_relu_nan_zero(tc_program *p);

#endif
