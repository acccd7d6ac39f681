/* Narrowing: a loop whose only result is read only through slices computes just the slice.
 *
 *     z = zeros(1000000000)      one loop over 4 elements: store y[a0] = 0
 *     y = z[:4]
 *
 * The narrowed loop runs over the slice's elements and computes each with its original indices, so no bit changes. Axes that are reduced or scanned over
 * are not narrowed, nor are loops that check their indices. Slices of slices and selects are handled alike. A result without reductions that is read
 * only by several slices, which together cover less than all of it, gets one loop per slice. */
#ifndef TC_PASS_NARROW_H
#define TC_PASS_NARROW_H

#include "pass/plan.h"

/* Runs after fusion and epilogues, so as not to prevent either. Each narrowing is a step of the plan (--bisect). */
void tc_plan_narrow(tc_plan *plan);

#endif
