/* Dead code elimination, and dropping checks and unused weights. */
#ifndef TC_PASS_DCE_H
#define TC_PASS_DCE_H

#include "graph/graph.h"

/* Removes nodes none of whose values and symbols is used, in subgraphs too. Kept: impure nodes (asserts), mutations, values named by preserved module
 * call signatures, and random nodes unless drop_random. Returns the number of removed nodes. Linear time. */
size_t tc_dce(tc_program *p, bool drop_random);

/* Removes run-time checks that nothing relies on: guards with tc_guard.apart, asserts on tensor values. */
void tc_drop_checks(tc_program *p);

/* Removes parameters, buffers and constants that nothing reads, mutates or is tied to from signature and graph. Linear time. */
void tc_drop_weights(tc_program *p);

#endif
