/* Who reads what in a plan: for passes over its groups. */
#ifndef TC_PASS_READERS_H
#define TC_PASS_READERS_H

#include "pass/plan.h"

int *tc_plan_readers(const tc_plan *plan); /* by value id: how often groups and results read it; the caller frees it */
void tc_plan_close(tc_plan *plan);         /* removes the loop groups that have no loop any more */

#endif
