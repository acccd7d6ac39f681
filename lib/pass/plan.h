/* The plan of a graph: its groups in order of execution. Made here, bound and executed by the runtime, compiled by the code generator.
 *
 * A loop group holds the fused loops of one or more nodes; its buffers name the values that it reads and writes. A kernel group is one node. A view
 * group is one node whose result is its argument with other sizes and strides. Control groups are cond, while_loop and the like, whose subgraphs have
 * their own plans. */
#ifndef TC_PASS_PLAN_H
#define TC_PASS_PLAN_H

#include "base/steps.h"
#include "kernel/kernel.h"
#include "loop/loop.h"
#include "op/op.h"

typedef enum { TC_GROUP_LOOP, TC_GROUP_KERNEL, TC_GROUP_VIEW, TC_GROUP_CONTROL } tc_group_kind;

typedef struct {
    tc_group_kind kind;
    tc_loop *loop;       /* LOOP */
    const tc_node *node; /* the node; for a fused loop, its last one */
    /* KERNEL: the loop that runs on each finished region of the result, or NULL (pass/epilogue.h), and the views of the result that it reads */
    tc_loop *epilogue;
    const tc_node *const *views;
    int nviews;
    const tc_loop *tiles[TC_TILES]; /* KERNEL: the loops of earlier groups that make operands tile by tile, or NULL (pass/tiles.h) */
} tc_group;

typedef struct tc_plan {
    tc_program *program;
    tc_graph *graph;
    TC_VEC(tc_group) groups;
    bool loops;
    tc_stepping *steps; /* borrowed or NULL: counts optional steps such as fusions (--bisect) */
    tc_buf log;         /* one line per pair that was not fused, with the reason */
} tc_plan;

/* p must be functional and decomposed: every node has a lowering, a kernel or a view rule, or is control flow (else TC_UNSUPPORTED naming it). fuse
 * false: one group per node. loops: operators with both a loop and a kernel run as loops. Linear in the graph. Loops live in the program's arena. */
tc_status tc_plan_create(tc_program *p, tc_graph *g, bool fuse, bool loops, tc_stepping *steps, tc_plan **out_plan);
void tc_plan_destroy(tc_plan *plan);

#endif
