/* Chooses where to cut a program (pass/cut.h): into n pieces of about equal work, or at module boundaries (tc-export --split). */
#ifndef TC_PASS_SPLIT_H
#define TC_PASS_SPLIT_H

#include "graph/graph.h"

/* Both fill `piece` (the caller's), by node of the main graph in order, and return the number of pieces; no piece is empty.
 * log: receives one line per node with the reason, or NULL. */

/* At most n pieces, each reading and writing about the same number of bytes. */
int tc_split_evenly(const tc_program *p, int n, int *piece, tc_buf *log);
/* Each run of nodes from one module whose path matches the pattern is a piece, and so is each run of nodes between. Pattern: a module path in which *
 * matches one component: "blocks.*", "encoder.layers.*.attn". 0: no node is of such a module. */
int tc_split_by_module(const tc_program *p, const char *pattern, int *piece, tc_buf *log);

#endif
