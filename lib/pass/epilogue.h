/* Epilogue fusion: a pointwise loop after a kernel runs on each region of the kernel's result as soon as the region is finished and still in the cache,
 * instead of in a second pass over memory.
 *
 *     h = addmm(b, x, w)          one group:  addmm; on each finished region of h:  %0 = load h[a0, a1]; %1 = gelu %0; store y[a0, a1]
 *     y = gelu(h)                 when nothing else reads h, it shares y's memory
 *
 * For kernels with TC_KF_EPILOGUE and loops without reductions and scans that run over the whole result in its order, read directly or through reshaping
 * views; the loop's other operands must be available before the kernel runs. Bits do not change: the loop reads what the kernel stored. */
#ifndef TC_PASS_EPILOGUE_H
#define TC_PASS_EPILOGUE_H

#include "pass/plan.h"

/* Attaches epilogues to the kernel groups of a plan; its log says why a loop after a kernel did not become one. */
void tc_plan_epilogues(tc_plan *plan);

#endif
