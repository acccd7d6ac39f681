/* Minimum cut of a directed graph (Dinic's algorithm); pass/partition.c chooses with it the values to save for the backward.
 *
 *     tc_mincut *g = tc_mincut_create(nvertices);
 *     tc_mincut_edge(g, u, v, capacity);
 *     bool *side = ...nvertices...;
 *     tc_mincut_solve(g, source, sink, side);    // side[v]: v can still be reached from the source; edges from there to elsewhere are cut */
#ifndef TC_PASS_MINCUT_H
#define TC_PASS_MINCUT_H

#include "base/mem.h"

#define TC_MINCUT_NEVER ((int64_t)1 << 60) /* capacity of an edge that is never cut */

typedef struct tc_mincut tc_mincut;
tc_mincut *tc_mincut_create(size_t nvertices);
void tc_mincut_edge(tc_mincut *g, size_t from, size_t to, int64_t capacity);
/* Returns the capacity of the minimum cut; of several, the one nearest to the source. out_side, by vertex: on the source's side. */
int64_t tc_mincut_solve(tc_mincut *g, size_t source, size_t sink, bool *out_side);
void tc_mincut_destroy(tc_mincut *g);

#endif
