/* The first few of a sorted row, for execution. */
#ifndef TC_OP_FIRST_FEW_H
#define TC_OP_FIRST_FEW_H

#include "op/decompose.h"

/* For sort(x)[:k], a slice of the results of a sort of which nothing reads more: the same of tc::first, which does not sort the others. Else NULL. */
tc_decompose_fn tc_first_few_rule(const tc_node *n);

#endif
