/* Decomposition: replaces operators by compositions of others. */
#ifndef TC_OP_DECOMPOSE_H
#define TC_OP_DECOMPOSE_H

#include "op/emit.h"

/* Decomposes every node that cannot be executed directly, repeatedly, in subgraphs too. Linear time. TC_UNSUPPORTED names an operator that has neither
 * executor nor decomposition. */
tc_status tc_decompose(tc_program *p);
/* Decomposes the nodes for which want() is true, if they have a decomposition. */
tc_status tc_decompose_some(tc_program *p, bool (*want)(void *ctx, const tc_node *n), void *ctx);

/* The same with rule(node) instead of the operator's own decomposition; settle may append nodes after a result, with emitter e. */
typedef tc_decompose_fn (*tc_rule_fn)(const tc_node *n);
typedef tc_value *(*tc_settle_fn)(tc_emit *e, tc_value *result, const tc_value *replaced);
tc_status tc_decompose_by(tc_program *p, bool (*want)(void *ctx, const tc_node *n), tc_rule_fn rule, tc_settle_fn settle, void *ctx);
/* The same for nodes of which `want` tells by who reads what they read: in each graph with a node that `begins`, `reads` gets every operand of every node
 * and `returns` every node whose result the graph returns; both leave their marks in the aux of nodes, which is cleared in the end. */
typedef struct {
    bool (*begins)(const tc_node *n);
    void (*reads)(void *node, tc_value **place);
    void (*returns)(tc_node *n);
    bool (*want)(void *ctx, const tc_node *n); /* ctx: NULL */
    tc_rule_fn rule;
} tc_readers_rule;
tc_status tc_decompose_by_readers(tc_program *p, const tc_readers_rule *r);
bool tc_readers_any(tc_program *p, const tc_readers_rule *r); /* Is there a node that it wants? */
/* core.c: decomposes to core ATen operators as far as possible; the program must be functional. */
tc_status tc_decompose_core(tc_program *p);
/* v with the strides of the value that it replaces, on which later views may rely; copied where it has others. */
tc_value *tc_e_in_order_of(tc_emit *e, tc_value *v, const tc_value *want);
/* core_rules.c: the rule to core operators, else the operator's own decomposition; NULL: keep the node */
tc_decompose_fn tc_core_rule(const tc_node *n);

/* Emits the decomposition of n at e's position; e->results: one value per result of n, of the same dtype and rank. */
tc_status tc_emit_decomposition(tc_emit *e, const tc_node *n);

#endif
