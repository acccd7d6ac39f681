/* Joining nodes that compute the same. */
#ifndef TC_PASS_CSE_H
#define TC_PASS_CSE_H

#include "graph/graph.h"

/* Of several nodes with the same operator and arguments one remains, in each graph by itself. Random, impure and data-dependent nodes and those that
 * write are left alone. Returns how many went. The program must be functional. Linear. */
size_t tc_cse(tc_program *p);

#endif
