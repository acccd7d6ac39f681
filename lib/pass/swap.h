/* Another module in the place of one of a program's, in every call of it: what torch.export.unflatten and an assignment to the attribute do.
 *
 *     lin = linear(x, blocks.2.w)                     relu = relu(x)
 *     y = relu(lin)                          ->       lin = linear(relu, blocks.2.inner.w)
 *     z = sum(y)                                      z = sum(lin)
 *
 * A call's inputs are what it reads of others, its results what others read of it; in the order of its signature, where the program has that
 * (tc_program.calls). */
#ifndef TC_PASS_SWAP_H
#define TC_PASS_SWAP_H

#include "graph/graph.h"

/* p and with: functional. with's weights become PATH.NAME of p, and each call takes sizes of its own for with's symbols. A condition on them that is
 * not known becomes a guard of p. TC_USAGE: p calls no such module. TC_CONTENT: inputs or results do not fit, or nothing tells their order.
 * TC_UNSUPPORTED: with writes to its inputs, or to buffers in the body of a branch or loop. p is spoilt after an error. */
tc_status tc_swap_module(tc_program *p, const char *path, const tc_program *with);

#endif
