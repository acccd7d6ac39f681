/* Operands of a kernel that are computed tile by tile while it runs, instead of being stored (tc_kernel.tile_args): the mask and the changed scores of
 * attention, queries x keys, which are as large as the scores that the kernel avoids to store.
 *
 *     i = arange(T).view(-1, 1)               tile loop:  %0 = load i[a0]; %1 = load j[a1]; %2 = %0 >= %1; store m[a0, a1]
 *     m = i >= j                              kernel:     attention; the tile loop runs on 64 rows by 128 columns of m at a time
 *     y = attention(q, k, v, m)
 *
 * The pointwise nodes and views that make such an operand become one loop, whatever else could be fused with them: what they read that is smaller
 * (a vector of positions, a table) is stored as usual. Nodes that nothing else reads then disappear. Bits do not change. */
#ifndef TC_PASS_TILES_H
#define TC_PASS_TILES_H

#include "pass/plan.h"

typedef struct {
    const tc_node *kernel;
    int arg;
    tc_loop *loop; /* freed with the list unless a group took it */
} tc_tile;
typedef struct {
    TC_VEC(tc_tile) list; /* in graph order of the kernels */
    size_t next;          /* the first one that is not in the plan yet */
    bool *gone;           /* by value id: the result of a node that nothing needs any more; NULL: none */
} tc_tile_plan;

void tc_plan_tiles(tc_plan *plan, tc_tile_plan *out);
void tc_tile_plan_deinit(tc_tile_plan *t);

#endif
