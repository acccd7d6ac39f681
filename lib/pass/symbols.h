/* Which symbols of a program something uses: sets by tc_sym_var_index, to which these add. */
#ifndef TC_PASS_SYMBOLS_H
#define TC_PASS_SYMBOLS_H

#include "graph/graph.h"

void tc_mark_type(bool *set, const tc_value *v); /* sizes and strides of a tensor, a number's expression */
void tc_mark_arg(bool *set, const tc_arg *a);
void tc_mark_node(bool *set, const tc_node *n);   /* arguments, the types of operands and results, subgraphs */
void tc_mark_graph(bool *set, const tc_graph *g); /* what it uses and can tell from neither its inputs nor its nodes */

/* The symbols that a value defines: a number is its symbol, a size that is a symbol alone can be read off; all: any expression defines its symbols. */
void tc_mark_defined(bool *set, const tc_value *v, bool all);

#endif
