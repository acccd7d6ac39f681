/* Batch norm in inference mode as scale and shift, for execution. */
#ifndef TC_OP_NORM_EVAL_H
#define TC_OP_NORM_EVAL_H

#include "op/decompose.h"

/* The composition for a batch norm node that uses running statistics; NULL for other nodes. Same bits as the operator. */
tc_decompose_fn tc_batch_norm_eval_rule(const tc_node *n);

#endif
