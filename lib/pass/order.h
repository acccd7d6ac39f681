/* The order of groups that needs the least memory.
 *
 *     y0 = x @ w0               y0 = x @ w0
 *     y1 = x @ w1       ->      z0 = sort(y0)         y0 is dead before y1 is made
 *     z0 = sort(y0)             y1 = x @ w1
 *     z1 = sort(y1)             z1 = sort(y1)
 *
 * Groups move only as far as what they read allows. Random groups keep their order, nothing moves across a group that decides sizes or has effects
 * (control flow, nonzero, assertions), and an input is overwritten after its readers. The order changes no bit, and is kept as it is unless
 * a clearly lower peak is found at typical sizes (pass/value_bytes.h). */
#ifndef TC_PASS_ORDER_H
#define TC_PASS_ORDER_H

#include "pass/plan.h"

/* Runs last, because epilogues and merged loops decide what must be live. One step of the plan (--bisect). */
void tc_plan_order(tc_plan *plan);

#endif
