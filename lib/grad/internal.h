/* Internal to lib/grad: the state of one backward sweep. */
#ifndef TC_GRAD_INTERNAL_H
#define TC_GRAD_INTERNAL_H

#include "grad/grad.h"

typedef struct {
    tc_graph *graph; /* nodes are appended here */
    tc_emit e;
    TC_VEC(bool) need;              /* by value id: depends on a value whose gradient is requested */
    TC_VEC(tc_value *) grad;        /* by value id: gradient accumulated so far; same length as need */
    const tc_grad_request *request; /* NULL: inside a subgraph */
} sweep;

void grad_begin(sweep *s, tc_graph *g);
void grad_end(sweep *s);
void grad_mark(sweep *s, const tc_value *v);
bool grad_needed(const sweep *s, const tc_value *v);
tc_status grad_spread(sweep *s, tc_node *from, const tc_node *to);
void grad_accumulate(sweep *s, tc_value *v, tc_value *grad);
tc_value *grad_result(const sweep *s, const tc_value *v);
tc_status grad_rule(tc_emit *e, const tc_node *n, tc_value *const *gs); /* calls n's gradient rule; results in e->grads and e->grad_lists */
tc_status grad_intact(const tc_node *n); /* reads.c: TC_CONTENT when the gradient of n needs a tensor that was mutated since */
tc_status grad_sweep(sweep *s, tc_node *first, tc_node *last);

/* recompute.c: activation checkpointing: the backward recomputes the inner values of checkpointed calls. last: last node of the forward. */
void grad_recompute(tc_graph *g, tc_node *last);

/* higher_order.c: gradients of nodes with subgraphs. gs: by result. */
tc_status grad_higher_order(sweep *s, tc_node *n, tc_value *const *gs);

#endif
