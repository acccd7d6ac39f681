/* The groups of a graph: what is executed, in which order. Made by fusion, bound and run by the runtime, read by the code generator.
 *
 * A loop group holds the loops of one or more nodes, fused; its buffers name the values that it reads and writes. A kernel group is one
 * node; a view group is one node whose result is its argument seen with other strides. Control groups are cond, while_loop and the like,
 * whose subgraphs have plans of their own. */
#ifndef TC_PASS_PLAN_H
#define TC_PASS_PLAN_H

#include "base/steps.h"
#include "loop/loop.h"
#include "op/op.h"

typedef enum { TC_GROUP_LOOP, TC_GROUP_KERNEL, TC_GROUP_VIEW, TC_GROUP_CONTROL } tc_group_kind;

typedef struct {
    tc_group_kind kind;
    tc_loop *loop;       /* LOOP */
    const tc_node *node; /* the node; of a fused loop its last */
    /* KERNEL: the loop that runs on each finished region of its result, or NULL (pass/epilogue.h), and views of the result that it reads */
    tc_loop *epilogue;
    const tc_node *const *views;
    int nviews;
} tc_group;

typedef struct tc_plan {
    tc_program *program;
    tc_graph *graph;
    TC_VEC(tc_group) groups;
    bool loops;
    tc_stepping *steps; /* borrowed, or NULL: fusions are steps of it */
    tc_buf log;         /* a line for every pair that could have been fused and was not, and why */
} tc_plan;

/* program must be functional and decomposed: every node has a lowering, a kernel, a view or is control flow (TC_UNSUPPORTED naming it).
 * fuse false: a group a node. loops: operators that have a loop and a kernel run as loops. Linear in the graph. Loops live in the program's arena. */
tc_status tc_plan_create(tc_program *p, tc_graph *g, bool fuse, bool loops, tc_stepping *steps, tc_plan **out_plan);
void tc_plan_destroy(tc_plan *plan);

#endif
