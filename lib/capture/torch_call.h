/* Internal to operator calls: torch_call.c chooses an overload and runs or records it, torch_inplace.c runs those that write to arguments. */
#ifndef TC_CAPTURE_TORCH_CALL_H
#define TC_CAPTURE_TORCH_CALL_H

#include "capture/torch_bind.h"
#include "op/functionalise.h"

/* ---- torch_call.c ---- */
/* Appends a node to the graph being captured. a: arguments in schema order, without values for the tensors, which are in objects. */
V tc_torch_record(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects);
/* The n results of a call as Python has them: None, one object, or a (named) tuple. */
V tc_torch_results(C *c, const tc_schema *s, V *items, int n);

/* Runs the operator on concrete tensors. a as above. gen NULL: the generator of the run. */
V tc_torch_run_concrete(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects, struct tc_generator *gen);

/* ---- torch_known.c ---- */
/* The result of a call all of whose tensors are known, or NULL. a: of a functional operator, as above. */
V tc_torch_known_result(C *c, const tc_op *op, const tc_arg *a, int nargs, V const *objects);
/* The recorded call gave result, whose values are known (NULL: they are not). */
void tc_torch_note_known(const tc_op *op, V const *objects, V result, V known);
/* The result of a call whose sizes its values decide, as nonzero's do, as a constant of known values; NULL: another call, or they are not known. */
V tc_torch_known_sized(C *c, const tc_op *op, V known);
/* An in-place call gave t new values. */
void tc_torch_write_known(tensor *t, V known);

/* ---- torch_uniform.c ---- */
int tc_torch_uniform(const tc_value *v); /* 0 or 1: all elements of v are that, whatever its sizes; -1: not known */

/* ---- torch_inplace.c: calls of an operator with bound arguments ---- */
V tc_torch_run_inplace(C *c, const tc_op *op, tc_binding *b);    /* on concrete tensors; returns self */
V tc_torch_record_inplace(C *c, const tc_op *op, tc_binding *b); /* in a capture; returns self */
/* Has the operator mutated arguments although it is neither in-place nor an out form? */
bool tc_torch_writes_arguments(const tc_schema *s);
/* Concrete calls of such operators, and of those whose schema does not mark the mutation (batch_norm). */
V tc_torch_run_marked(C *c, const tc_op *op, tc_binding *b);
V tc_torch_run_unmarked(C *c, const tc_op *op, tc_binding *b, const tc_unmarked_writes *w);
/* Results that are views of a leaf record it, so that in-place calls on them can be refused. */
void tc_torch_note_leaf(C *c, const tc_op *op, const tc_binding *b, V result);

#endif
