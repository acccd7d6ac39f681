/* Fusion through concatenation: a loop that stores its result in parts (cat) is fused with the producers of the parts and with the consumer of the
 * whole.
 *
 *     r = cat((-x[:, h:], x[:, :h]), 1)       one loop of two nests:
 *     y = x * cos + r * sin                   y[a0, a1]     = x[a0, a1] * cos[a1] + -x[a0, h + a1] * sin[a1]
 *                                             y[a0, h + a2] = x[a0, h + a2] * cos[h + a2] + x[a0, a2] * sin[h + a2]
 *
 * A pointwise producer with no other reader is computed where its elements are stored. A pointwise consumer of the whole, if it is the only reader, is
 * applied to each part. Each element is still computed once: no bit changes. */
#ifndef TC_PASS_FUSE_CAT_H
#define TC_PASS_FUSE_CAT_H

#include "pass/plan.h"

/* Runs after fusion and epilogues, so as not to prevent either. Each merge is a step of the plan (--bisect). */
void tc_plan_fuse_cat(tc_plan *plan);

#endif
