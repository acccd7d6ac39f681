/* Batch norm by running statistics as scale and shift: a composition for executors. */
#ifndef TC_OP_NORM_EVAL_H
#define TC_OP_NORM_EVAL_H

#include "op/decompose.h"

/* The composition of a batch norm node that normalises by running statistics; NULL for other nodes. Bits are the operator's. */
tc_decompose_fn tc_batch_norm_eval_rule(const tc_node *n);

#endif
