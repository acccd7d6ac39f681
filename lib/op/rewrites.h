/* Which operators of a program were rewritten, and as what: --log rewrites. */
#ifndef TC_OP_REWRITES_H
#define TC_OP_REWRITES_H

#include "op/op.h"

/* A line for each pattern of a planned program, in the order of the graph: the operator that was there, those that stand for it now (where
 * equal ones became one, what is left of them), how often, and its nodes with their lines. */
void tc_rewrites_report(const tc_program *planned, tc_buf *out);

#endif
