/* Narrowing: a loop whose only result is read through slices alone computes what the slice shows.
 *
 *     z = zeros(1000000000)      one loop over 4 elements: store y[a0] = 0
 *     y = z[:4]
 *
 * The loop goes over the slice's elements and computes each at its place in the whole, so no bit changes. Axes that are summed or scanned over stay
 * whole, and loops that check their indices. Slices of slices and selects go the same way. Where several slices, that together show less than
 * the whole, are all that reads a result without sums, each has a loop of its own. */
#ifndef TC_PASS_NARROW_H
#define TC_PASS_NARROW_H

#include "pass/plan.h"

/* After fusion and epilogues, so that neither is lost. Each is a step of the plan. */
void tc_plan_narrow(tc_plan *plan);

#endif
