/* Inputs for a program that nobody gave any: what tc-bench times and tc-export --verify compares. */
#ifndef TC_CMD_INPUTS_H
#define TC_CMD_INPUTS_H

#include "graph/graph.h"

/* The user inputs in order, of the program's types. Values of input i are in [lo[i], hi[i]), hi itself being none of them; without lo and hi
 * floats in [-1, 1) and integers 0. The same numbers every time. Symbols that vars (nvars: tc_sym_var_count) leaves unbound take the least
 * size of their range, and are bound then. *out_inputs: *out_n tensors for the caller to deinit and free, after an error too. */
tc_status tc_cmd_make_inputs(const tc_program *p, tc_symvalue *vars, size_t nvars, const double *lo, const double *hi, tc_tensor **out_inputs,
                             int *out_n);

#endif
