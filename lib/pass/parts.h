/* Results in parts: a loop that stores its result in parts (cat) takes in what makes the parts and what is done with the whole.
 *
 *     r = cat((-x[:, h:], x[:, :h]), 1)       one loop of two nests:
 *     y = x * cos + r * sin                   y[a0, a1]     = x[a0, a1] * cos[a1] + -x[a0, h + a1] * sin[a1]
 *                                             y[a0, h + a2] = x[a0, h + a2] * cos[h + a2] + x[a0, a2] * sin[h + a2]
 *
 * A maker without sums that nothing else reads is computed where its elements go. A reader without sums that goes over the whole, where
 * nothing else reads it, is done to each part. Each element is computed once, as before: no bit changes. */
#ifndef TC_PASS_PARTS_H
#define TC_PASS_PARTS_H

#include "pass/plan.h"

/* After fusion and epilogues, so that neither is lost. Each is a step of the plan. */
void tc_plan_parts(tc_plan *plan);

#endif
