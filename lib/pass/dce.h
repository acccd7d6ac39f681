/* Removing what nothing reads. */
#ifndef TC_PASS_DCE_H
#define TC_PASS_DCE_H

#include "graph/graph.h"

/* Removes nodes whose results nobody uses, in subgraphs too: neither a value nor a symbol of theirs. Impure nodes stay (asserts) and what signatures of calls name, as
 * do writes; random ones stay unless drop_random. Returns how many went. Linear. */
size_t tc_dce(tc_program *p, bool drop_random);

/* What only checks the values of a run leaves: guards that nothing rests on (tc_guard.apart), asserts of tensors' values. */
void tc_drop_checks(tc_program *p);

/* Parameters, buffers and constants that nothing reads, writes or shares leave the signature and the graph. Linear. */
void tc_drop_weights(tc_program *p);

#endif
