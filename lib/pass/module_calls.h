/* The calls of modules in a program: the nodes of each call, its inputs (values that it reads from outside) and its outputs (values read outside). Used
 * by pass/swap.c and tc-export --print=modules.
 *
 *     relu = relu(x)          ""                tc_source.calls; the prefix that identifies the call of `b`:
 *     lin = linear(relu, w)   "b;b.lin"         "b"
 *     lin_1 = linear(lin, w)  "b@1;b.lin@1"     "b@1" */
#ifndef TC_PASS_MODULE_CALLS_H
#define TC_PASS_MODULE_CALLS_H

#include "graph/graph.h"

typedef TC_VEC(tc_value *) tc_values;

typedef struct {
    tc_graph *graph;
    const char *calls; /* its first n bytes: the prefix up to the module */
    size_t n;
    TC_VEC(tc_node *) nodes; /* in order */
} tc_module_call;
typedef TC_VEC(tc_module_call) tc_module_calls;

/* Length of the prefix of `calls` that identifies a call of `module` (or of a submodule, where the module itself is not called); 0: none. */
size_t tc_module_call_of(const char *calls, const char *module);
/* Adds node n to its call, identified by the first len bytes of its calls. A call without a name (len 0) ends at the next node outside it. */
void tc_module_calls_add(tc_module_calls *calls, tc_node *n, size_t len);
void tc_module_calls_free(tc_module_calls *calls);

/* Use counts, in each value's aux, and the node that owns each subgraph. */
typedef struct {
    tc_program *program;
    tc_map owners; /* graph -> node */
} tc_call_flows;
void tc_call_flows_open(tc_call_flows *f, tc_program *p);
void tc_call_flows_close(tc_call_flows *f);
tc_node *tc_call_flows_owner(const tc_call_flows *f, const tc_graph *g); /* NULL for the main graph */
bool tc_call_flows_weight(const tc_call_flows *f, const tc_value *v);    /* a parameter, buffer or constant, also as seen inside a subgraph */

/* Appends the call's inputs (without weights and numbers) in order of first use, and its outputs in order of definition. */
void tc_call_flow(const tc_call_flows *f, const tc_module_call *c, tc_values *in, tc_values *out);

/* The operand of n (a node with subgraphs) that is bound to their input i in every step; NULL: it differs between steps. */
tc_value *tc_body_operand(const tc_node *n, const tc_graph *body, int i);

#endif
