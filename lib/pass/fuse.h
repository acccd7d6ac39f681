/* Loop fusion: the loops of several nodes become one, so that values pass between them in registers and L1 instead of memory. Called by pass/plan.c.
 *
 *     y = layer_norm(x)          one loop:  %0 = load x[a0, a1]; ... ; %9 = y; %10 = tanh %9; store z
 *     z = tanh(y)
 *
 * A node joins the group of a producer when its loads map one to one to the producer's stores, the axes of both can be unified, the result is still a
 * valid nest (loop/nest.h), and no group must run between the two. Reductions within image planes stay out of loops that can be epilogues of a
 * convolution (pass/epilogue.h). Finally, loops of reductions over the same tensor are merged (horizontal fusion). Values that no other group reads are
 * not stored. Only substitution and merging of equal instructions happen: bits do not change. */
#ifndef TC_PASS_FUSE_H
#define TC_PASS_FUSE_H

#include "pass/plan.h"

typedef struct tc_fuser tc_fuser;
tc_fuser *tc_fuser_create(tc_plan *plan, bool fuse);
void tc_fuser_destroy(tc_fuser *f);
/* Says that the node is no loop: its operands have to be in memory. Called for all such nodes before any is added. */
void tc_fuser_reads_whole(tc_fuser *f, const tc_node *n);
/* Adds a node and its loop, of which it takes ownership; in graph order. */
tc_status tc_fuser_loop(tc_fuser *f, const tc_node *n, tc_loop *loop);
tc_status tc_fuser_other(tc_fuser *f, tc_group g);
/* Adds a loop that makes v tile by tile (pass/tiles.h), and takes ownership of it. The kernel that runs it is added next. */
void tc_fuser_tile(tc_fuser *f, const tc_value *v, tc_loop *loop);
/* Writes the groups to the plan in a valid order of execution. */
tc_status tc_fuser_finish(tc_fuser *f);

void tc_fused_node(tc_loop *l, const tc_node *n); /* records that l also computes n */
const char *tc_fused_name(const tc_node *n);      /* name for messages: the value's, or the operator's */

#endif
