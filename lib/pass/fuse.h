/* Fusion: loops of neighbouring nodes become one, so that values pass between them in registers and L1 instead of memory.
 *
 *     y = layer_norm(x)          one loop:  %0 = load x[a0, a1]; ... ; %9 = y; %10 = tanh %9; store z
 *     z = tanh(y)
 *
 * A node joins the group of a producer when its loads name the producer's elements one to one, all axes of both can be made the same, the
 * result is still one nest (loop/nest.h), and nothing that must run between the two lies between. Sums within planes stay apart from what
 * can be the epilogue of a convolution (pass/epilogue.h). At the end loops of sums that read the same become one, too. Values that nobody outside reads are not stored.
 * Substitution and merging of equal instructions are all that happens: bits do not change. */
#ifndef TC_PASS_FUSE_H
#define TC_PASS_FUSE_H

#include "pass/plan.h"

typedef struct tc_fuser tc_fuser;
tc_fuser *tc_fuser_create(tc_plan *plan, bool fuse);
void tc_fuser_destroy(tc_fuser *f);
/* Nodes in the order of the graph. Takes the loop. */
tc_status tc_fuser_loop(tc_fuser *f, const tc_node *n, tc_loop *loop);
tc_status tc_fuser_other(tc_fuser *f, tc_group g);
/* Writes the groups to the plan, in an order that runs. */
tc_status tc_fuser_finish(tc_fuser *f);

void tc_fused_node(tc_loop *l, const tc_node *n); /* l computes n, too */
const char *tc_fused_name(const tc_node *n);      /* in messages: its own, or that of its operator */

#endif
