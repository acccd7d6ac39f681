/* Generates example inputs for a program: for tc-bench and tc-export --verify. */
#ifndef TC_CMD_INPUTS_H
#define TC_CMD_INPUTS_H

#include "graph/graph.h"

/* Binds the input symbols that vars (nvars: tc_sym_var_count) leaves unbound: to the smallest values of at least 1 that satisfy the guards, as found in
 * some thousand tries; floats to 1. */
void tc_cmd_example(const tc_program *p, tc_symvalue *vars, size_t nvars);

/* Makes the user inputs in order, deterministically. Values of input i lie in [lo[i], hi[i]); lo and hi NULL: floats in [-1, 1), integers 0. Unbound
 * symbols are bound by tc_cmd_example; those that no input has, to the least value of their range. *out_inputs: *out_n tensors for the caller to deinit
 * and free, even after an error. */
tc_status tc_cmd_make_inputs(const tc_program *p, tc_symvalue *vars, size_t nvars, const double *lo, const double *hi, tc_tensor **out_inputs,
                             int *out_n);

#endif
