/* tc-compile --relu-nan=zero. */
#ifndef TC_PASS_RELU_H
#define TC_PASS_RELU_H

#include "op/op.h"

/* Every relu of floating numbers, in subgraphs too, gives 0 for NaN: where(isnan(x), 0, relu(x)). For numbers bits and gradients are relu's. */
tc_status tc_relu_nan_zero(tc_program *p);

#endif
