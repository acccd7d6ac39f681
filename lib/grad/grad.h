/* Reverse-mode differentiation of functional graphs. Gradients are ordinary nodes: they fuse, run, print and can be differentiated again. Called by
 * training, tc-export --joint and --jvp, and torch.autograd.grad in captures.
 *
 *     forward nodes                       x -> linear -> gelu -> loss
 *     appended by tc_grad_build           1 -> gelu's rule -> linear's rule -> gradients of x and of the parameters
 *
 * An operator's gradient rule is in its row (op.h); an operator without a rule is decomposed first. Contributions to a value's gradient are added in the
 * order of the backward sweep, which is PyTorch's order. */
#ifndef TC_GRAD_GRAD_H
#define TC_GRAD_GRAD_H

#include "op/emit.h"

typedef struct {
    tc_graph *graph;             /* functional; new nodes are appended at its end */
    tc_value *const *outputs;    /* the values to differentiate */
    tc_value *const *cotangents; /* gradients of the outputs, of their types; NULL, or a NULL entry: 1, for outputs of one element */
    int noutputs;
    tc_value *const *wrt; /* inputs or intermediate values */
    int nwrt;
    bool zeros; /* values without influence get zeros instead of NULL */
    bool casts; /* emit the rules' calls under autocast to the dtype below; gradients still have their values' dtypes */
    tc_dtype autocast;
    void (*passed)(void *ctx, const tc_node *n); /* called for every node that a gradient flows through; may be NULL */
    void *passed_ctx;
} tc_grad_request;

/* out_grads: nwrt entries, NULL where the outputs do not depend on wrt[i]. TC_UNSUPPORTED: an operator without gradient, named;
 * TC_CONTENT for an output of more than one element without cotangent ("grad can be implicitly created only for scalar outputs"). */
tc_status tc_grad_build(const tc_grad_request *r, tc_value **out_grads);

/* A value (input or intermediate) whose gradient is requested. */
typedef struct {
    tc_value *value;
    const char *name; /* the gradient's output is named "grad.NAME" */
} tc_grad_named;

/* The gradient part of a training step: program p (functional) with the loss among its outputs. Appends the gradients of the parameters
 * (tied ones once) and of inputs that require one (of all inputs of floating point when nothing does) as outputs TC_OUT_GRAD_PARAMETER and
 * TC_OUT_GRAD_USER named "grad.NAME", in the order of the inputs; the loss output becomes TC_OUT_LOSS. loss: index in p->outputs. What the
 * loss does not reach gets no output. out_end: the last node of the forward, NULL when it has none; may be NULL.
 * of, nof: with nof > 0 the gradients are these instead, in this order, of values between as TC_OUT_USER; TC_CONTENT naming one that the loss
 * does not reach. autocast: the backward runs under autocast to this type; TC_DTYPE_NONE: it does not. */
tc_status tc_grad_program(tc_program *p, int loss, tc_dtype autocast, const tc_grad_named *of, int nof, tc_node **out_end);

/* The same of every result of floating point: each has a further input "tangents.NAME" of its type, the gradient that comes in there, and
 * every input of floating point gets a gradient too. */
#define TC_TANGENTS "tangents."
tc_status tc_grad_program_vjp(tc_program *p, const tc_grad_named *of, int nof, tc_node **out_end);

/* Forward mode: every user input of floating point has a further input "tangents.NAME" of its type, the direction, and every result of
 * floating point a further output "jvp.NAME", how fast it changes in that direction. It is the gradient of the gradient program above, which
 * is linear in what comes in there; what only that program read is left for dead-code removal. TC_CONTENT without such an input or result. */
tc_status tc_grad_program_jvp(tc_program *p);

/* reads.c: would the gradient of call n read one of these values (arguments or results of n)? */
tc_status tc_grad_reads(const tc_node *n, tc_value *const *values, size_t nvalues, bool *out);

/* recompute.c: makes the nodes after `end` (the last of the forward) read only those forward values that keep() chooses; others are recomputed just
 * before their first use, with the same bits. Random values and values of data-dependent size are always kept. */
void tc_grad_recompute(tc_graph *g, tc_node *end, bool (*keep)(void *ctx, const tc_value *v), void *ctx);
bool tc_grad_recomputes(const tc_node *n); /* can it be recomputed with the same bits? */

#endif
