/* Sets of symbols (by tc_sym_var_index) that parts of a program use or define; each function adds to the set. */
#ifndef TC_PASS_SYMBOLS_H
#define TC_PASS_SYMBOLS_H

#include "graph/graph.h"

void tc_mark_type(bool *set, const tc_value *v); /* sizes and strides of a tensor, a number's expression */
void tc_mark_arg(bool *set, const tc_arg *a);
void tc_mark_node(bool *set, const tc_node *n);   /* arguments, the types of operands and results, subgraphs */
void tc_mark_graph(bool *set, const tc_graph *g); /* symbols that it uses and that neither its inputs nor its nodes define */

/* The symbols that a value defines: a number that is a symbol, and sizes that are a single symbol; all: every symbol of its expressions. */
void tc_mark_defined(bool *set, const tc_value *v, bool all);

#endif
