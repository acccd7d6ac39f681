/* Indices of slices that are expanded to each of their elements, for execution. */
#ifndef TC_OP_SPREAD_H
#define TC_OP_SPREAD_H

#include "op/decompose.h"

/* Replaces scatter_add(self, dim, index.expand(...), src) by index_add(self, dim, index, src), where the expanded index is the same for all elements of
 * each slice, and scatter_reduce by index_reduce likewise: the index is not stored for each element, and slices are added as a whole. */
tc_status tc_spread(tc_program *p);
bool tc_spread_any(const tc_program *p); /* Is there such a node? */

#endif
