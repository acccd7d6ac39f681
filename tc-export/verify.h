/* --verify: the program that was exported and the ONNX model that came of it, run on the same inputs. */
#ifndef TC_EXPORT_VERIFY_H
#define TC_EXPORT_VERIFY_H

#include "cmd/cmd.h"
#include "graph/graph.h"

/* path: the model. Says the largest difference of every result on stderr. TC_DIFFERENT: inputs, results or their types are others, or a
 * number differs by more than 1e-4 of itself and 1e-4 (1e-2 where p computes in a type narrower than f32). */
tc_status verify_onnx(tc_cmd *c, const tc_program *p, const char *path);

#endif
