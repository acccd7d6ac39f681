/* The calls of modules in a program: which nodes stand in one, what it reads and what is read of it.
 *
 *     relu = relu(x)          ""                what of tc_source.calls tells a call of `b` from others:
 *     lin = linear(relu, w)   "b;b.lin"         "b"
 *     lin_1 = linear(lin, w)  "b@1;b.lin@1"     "b@1" */
#ifndef TC_PASS_MODULE_CALLS_H
#define TC_PASS_MODULE_CALLS_H

#include "graph/graph.h"

typedef TC_VEC(tc_value *) tc_values;

typedef struct {
    tc_graph *graph;
    const char *calls; /* the first n bytes: up to the module */
    size_t n;
    TC_VEC(tc_node *) nodes; /* in order */
} tc_module_call;
typedef TC_VEC(tc_module_call) tc_module_calls;

/* How much of calls leads to the module, or to what is part of it where the module itself is not called; 0: n stands in no call of it. */
size_t tc_module_call_of(const char *calls, const char *module);
/* Adds n to the call that it stands in. One that nothing names (n 0) ends where another node comes between. */
void tc_module_calls_add(tc_module_calls *calls, tc_node *n, size_t len);
void tc_module_calls_free(tc_module_calls *calls);

/* How often each value is read, in its aux, and the node that each body stands in. */
typedef struct {
    tc_program *program;
    tc_map owners; /* graph -> node */
} tc_call_flows;
void tc_call_flows_open(tc_call_flows *f, tc_program *p);
void tc_call_flows_close(tc_call_flows *f);
tc_node *tc_call_flows_owner(const tc_call_flows *f, const tc_graph *g); /* NULL: of the main graph */
bool tc_call_flows_weight(const tc_call_flows *f, const tc_value *v);    /* a parameter, buffer or constant, handed to bodies or not */

/* Appends what c reads of others, weights and numbers left out, in the order of reading, and what others read of c, in the order of making. */
void tc_call_flow(const tc_call_flows *f, const tc_module_call *c, tc_values *in, tc_values *out);

/* The operand of n, a node with bodies, that their input i is in every step; NULL: it is another in each. */
tc_value *tc_body_operand(const tc_node *n, const tc_graph *body, int i);

#endif
