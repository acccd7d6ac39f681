/* Inputs for a program that nobody gave any: what tc-bench times and tc-export --verify compares. */
#ifndef TC_CMD_INPUTS_H
#define TC_CMD_INPUTS_H

#include "graph/graph.h"

/* Gives the symbols of the inputs that vars (nvars: tc_sym_var_count) leaves unbound values: the least, at least 1, with which the guards hold, as
 * far as some thousand tries tell; 1 for floats. */
void tc_cmd_example(const tc_program *p, tc_symvalue *vars, size_t nvars);

/* The user inputs in order, of the program's types. Values of input i are in [lo[i], hi[i]), hi itself being none of them; without lo and hi
 * floats in [-1, 1) and integers 0. The same numbers every time. Symbols that vars leaves unbound are bound
 * by tc_cmd_example, and what no input has by the least value of its range. *out_inputs: *out_n tensors for the caller to deinit and free, after an error too. */
tc_status tc_cmd_make_inputs(const tc_program *p, tc_symvalue *vars, size_t nvars, const double *lo, const double *hi, tc_tensor **out_inputs,
                             int *out_n);

#endif
