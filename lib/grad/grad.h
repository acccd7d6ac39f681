/* Reverse mode over functional graphs. Gradients are nodes like any other: they fuse, run, print and can be differentiated again.
 *
 *     forward nodes                       x -> linear -> gelu -> loss
 *     appended by tc_grad_build           1 -> gelu's rule -> linear's rule -> gradients of x and of the parameters
 *
 * Every operator's rule stands in its row (op.h); one without a rule becomes its decomposition first, its results staying the same values. Contributions to a
 * value are added in the order in which a backward sweep of the nodes meets them, which is PyTorch's, so sums have its order. */
#ifndef TC_GRAD_GRAD_H
#define TC_GRAD_GRAD_H

#include "op/emit.h"

typedef struct {
    tc_graph *graph;             /* functional; new nodes are appended at its end */
    tc_value *const *outputs;    /* what is differentiated */
    tc_value *const *cotangents; /* one for each output, of its type; NULL, or an entry NULL: 1 for an output of one element */
    int noutputs;
    tc_value *const *wrt; /* inputs or intermediate values */
    int nwrt;
    bool zeros; /* unused values get zeros instead of NULL */
} tc_grad_request;

/* out_grads: nwrt entries, NULL where wrt[i] does not reach the outputs. TC_UNSUPPORTED naming an operator without rule;
 * TC_CONTENT for an output of more than one element without cotangent ("grad can be implicitly created only for scalar outputs"). */
tc_status tc_grad_build(const tc_grad_request *r, tc_value **out_grads);

/* The gradient part of a training step: program p (functional) with the loss among its outputs. Appends gradients of the parameters
 * that require one (tied ones once), as outputs TC_OUT_GRAD_PARAMETER in the order of the inputs; the loss output becomes
 * TC_OUT_LOSS. loss: index in p->outputs. Parameters that the loss does not reach get no output. */
tc_status tc_grad_program(tc_program *p, int loss);

#endif
