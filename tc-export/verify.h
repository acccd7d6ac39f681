/* --verify: compares an exported program with the ONNX model that was written from it, on the same inputs. */
#ifndef TC_EXPORT_VERIFY_H
#define TC_EXPORT_VERIFY_H

#include "cmd/cmd.h"
#include "graph/graph.h"

/* path: the ONNX model; values: as for tc_cmd_onnx, false where p was captured from a source, whose inputs --input describes. Prints the largest
 * difference of every result on stderr. TC_DIFFERENT: inputs, results or types do not match, or a number differs by more than 1e-4 relative plus 1e-4
 * absolute (1e-2 where p computes in a type narrower than f32). */
tc_status verify_onnx(tc_cmd *c, const tc_program *p, const char *path, bool values);

#endif
