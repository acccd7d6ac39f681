/* Use counts in a plan, and removal of emptied groups: for passes over its groups (epilogue, narrow, parts). */
#ifndef TC_PASS_READERS_H
#define TC_PASS_READERS_H

#include "pass/plan.h"

int *tc_plan_readers(const tc_plan *plan); /* by value id: how many groups and results read it; the caller frees it */
void tc_plan_close(tc_plan *plan);         /* removes loop groups without a loop, which merging left */

#endif
