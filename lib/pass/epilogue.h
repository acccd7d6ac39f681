/* Epilogues: a pointwise loop behind a kernel runs on each region of the kernel's result as soon as that is finished, while it lies in a
 * cache, instead of going over all of it afterwards.
 *
 *     h = addmm(b, x, w)          one group:  addmm; on each finished region of h:  %0 = load h[a0, a1]; %1 = gelu %0; store y[a0, a1]
 *     y = gelu(h)                 when nothing else reads h, it lies where y does
 *
 * Any kernel with TC_KF_EPILOGUE and any loop without reductions and scans that goes over all of the kernel's result in its order, read
 * directly or through views that name other sizes; whatever else the loop reads must be there before the kernel runs. Bits do not
 * change: the loop reads what the kernel stored. */
#ifndef TC_PASS_EPILOGUE_H
#define TC_PASS_EPILOGUE_H

#include "pass/plan.h"

/* Attaches epilogues to the kernel groups of a plan, and says in its log why a loop behind a kernel is none. */
void tc_plan_epilogues(tc_plan *plan);

#endif
