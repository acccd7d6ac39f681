/* Makes a program callable from the model language: its nodes are replayed one by one, on concrete tensors or into a capture. So a program from an
 * archive can be used like a module: in a loss, under autograd, in a capture. */
#ifndef TC_TRAIN_REPLAY_H
#define TC_TRAIN_REPLAY_H

#include "capture/lang.h"
#include "graph/graph.h"

/* Inside tc_lang_run. A callable f(module, *args) -> result of program `train` or `eval`, as module.training says (either may be NULL: the other
 * serves both). tensors: the V of every input that is a parameter, buffer or constant, by index of `train` and `eval` (NULL for user inputs);
 * where find(module, name) gives a tensor, that one is used instead. Mutated buffers are written with copy_. Arguments are checked against the
 * user inputs (count, type, rank); sizes become guards. */
V tc_replay_callable(C *c, const tc_program *train, V *train_tensors, const tc_program *eval, V *eval_tensors, V find);

#endif
