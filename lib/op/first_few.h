/* The first few of a sorted row, for execution. */
#ifndef TC_OP_FIRST_FEW_H
#define TC_OP_FIRST_FEW_H

#include "op/decompose.h"
#include "op/shape.h"

/* For sort(x)[:k], a slice of the results of a sort of which nothing reads more: the same of tc::first, which does not sort the others. Else NULL. */
tc_decompose_fn tc_first_few_rule(const tc_node *n);

/* sort.c: the shape of values and indices of the first k (argument 1) along a dimension (argument 2). */
tc_status tc_shape_first(tc_shape_ctx *c);

#endif
