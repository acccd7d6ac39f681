/* Replacing operators by their compositions. */
#ifndef TC_OP_DECOMPOSE_H
#define TC_OP_DECOMPOSE_H

#include "op/emit.h"

/* Replaces every node that cannot be executed by the decomposition of its operator, until all can, in subgraphs too. Linear.
 * TC_UNSUPPORTED naming an operator that has neither. */
tc_status tc_decompose(tc_program *p);
/* The same for the nodes that want() chooses among those that have a decomposition; no error for others. */
tc_status tc_decompose_some(tc_program *p, bool (*want)(void *ctx, const tc_node *n), void *ctx);

/* ... by rule(node) instead of the operator's own decomposition; settle may follow a result with further nodes (e says where). */
typedef tc_decompose_fn (*tc_rule_fn)(const tc_node *n);
typedef tc_value *(*tc_settle_fn)(tc_emit *e, tc_value *result, const tc_value *replaced);
tc_status tc_decompose_by(tc_program *p, bool (*want)(void *ctx, const tc_node *n), tc_rule_fn rule, tc_settle_fn settle, void *ctx);
/* core.c: as far as that goes, by core ATen operators; the program is functional. */
tc_status tc_decompose_core(tc_program *p);
tc_decompose_fn tc_core_rule(const tc_node *n); /* core_rules.c: by core operators, else the operator's own decomposition; NULL: it stays */

/* Emits the decomposition of n with e (which says where); e->results are set, one for each result of n, of the same dtype and rank. */
tc_status tc_emit_decomposition(tc_emit *e, const tc_node *n);

#endif
