/* The first few of a sorted row, for execution. */
#ifndef TC_OP_FIRST_FEW_H
#define TC_OP_FIRST_FEW_H

#include "op/decompose.h"
#include "op/shape.h"

/* Replaces sort(x)[:k], slices of the results of a sort of which nothing reads more, by the same of tc::first, which does not sort the others. */
tc_status tc_first_few(tc_program *p);
bool tc_first_few_any(tc_program *p); /* Is there such a slice? */

/* sort.c: the shape of values and indices of the first k (argument 1) along a dimension (argument 2). */
tc_status tc_shape_first(tc_shape_ctx *c);

#endif
