/* Programs with collectives (rows of collective.c), which all ranks of a run call together. */
#ifndef TC_OP_COLLECTIVE_H
#define TC_OP_COLLECTIVE_H

#include "graph/graph.h"

/* The group that the collectives of p name; NULL: p has none. TC_UNSUPPORTED: they name several. */
tc_status tc_collective_group(const tc_program *p, const char **out_group);

#endif
