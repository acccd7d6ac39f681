/* Checks of index tensors that the shape rules of index.c and scatter.c share. */
#ifndef TC_OP_INDEX_H
#define TC_OP_INDEX_H

#include "op/shape.h"

/* TC_CONTENT unless argument `arg` is a tensor of int32 or int64. */
tc_status tc_sh_index_type(tc_shape_ctx *c, int arg);
/* a <= b; adds a guard where that depends on symbols. */
bool tc_sh_no_larger(tc_shape_ctx *c, tc_sym a, tc_sym b);

#endif
