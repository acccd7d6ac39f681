/* Common subexpression elimination. */
#ifndef TC_PASS_CSE_H
#define TC_PASS_CSE_H

#include "graph/graph.h"

/* Keeps one of several nodes with equal operator and arguments, in each graph separately. Random, impure, mutating and data-dependent nodes are left
 * alone. Returns the number of removed nodes. The program must be functional. Linear time. */
size_t tc_cse(tc_program *p);

#endif
