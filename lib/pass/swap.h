/* Replaces a module of a program by another program, in every call of it (tc-export --swap), as torch.export.unflatten and an assignment to the
 * attribute do.
 *
 *     lin = linear(x, blocks.2.w)                     relu = relu(x)
 *     y = relu(lin)                          ->       lin = linear(relu, blocks.2.inner.w)
 *     z = sum(y)                                      z = sum(lin)
 *
 * A call's inputs are the values that it reads from outside, its outputs those that are read outside; ordered by its recorded signature, where there is
 * one (tc_program.calls). */
#ifndef TC_PASS_SWAP_H
#define TC_PASS_SWAP_H

#include "graph/graph.h"

/* p and with: functional. Weights of `with` become PATH.NAME of p; its symbols are bound per call, and conditions on them that are not known to hold
 * become guards of p. TC_USAGE: p does not call such a module. TC_CONTENT: inputs or outputs do not match, or their order is ambiguous. TC_UNSUPPORTED:
 * `with` mutates its inputs, or buffers inside control flow. After an error p must not be used. */
tc_status tc_swap_module(tc_program *p, const char *path, const tc_program *with);

#endif
