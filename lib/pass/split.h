/* Where to cut a program (pass/cut.h): into so many pieces of about the same work, or where modules begin and end. */
#ifndef TC_PASS_SPLIT_H
#define TC_PASS_SPLIT_H

#include "graph/graph.h"

/* The piece of each node of the main graph, in order; piece: room for all of them. Returns how many pieces there are: none is empty.
 * log: a line for each node with the reason, or NULL. */

/* At most n, of about the same number of bytes read and written. */
int tc_split_evenly(const tc_program *p, int n, int *piece, tc_buf *log);
/* Each stretch of nodes from one module whose path matches the pattern is a piece, so is each stretch between. Pattern: a path in which a * stands for any
 * one step, as in "blocks.*" or "encoder.layers.*.attn". */
int tc_split_by_module(const tc_program *p, const char *pattern, int *piece, tc_buf *log);

#endif
