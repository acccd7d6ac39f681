/* Programs written as ONNX.
 *
 *     TC_TRY(tc_onnx_write(out, program, 20, producer_version));
 *
 * The rules are in the model language (onnx_write.py); operators without one are decomposed first. Weights go out of their storage straight to
 * the file, so that memory stays near nothing beside them. */
#ifndef TC_ONNX_WRITE_H
#define TC_ONNX_WRITE_H

#include "base/file.h"
#include "graph/graph.h"

enum { TC_ONNX_OPSET_MIN = 18, TC_ONNX_OPSET_MAX = 23, TC_ONNX_OPSET_DEFAULT = 20 };

/* Weights in a file of their own (ONNX's external data): where they are written, and that file's name from the model's folder. */
typedef struct {
    tc_out *o;
    const char *location;
} tc_onnx_data_file;

/* The program must be functional. Symbolic sizes become dim_param. TC_UNSUPPORTED names the operator, the mutation or the size that ONNX has
 * no form for, or that the model is larger than a protocol buffer can be; TC_USAGE: an opset out of range. data: NULL where the weights are
 * part of the model. */
tc_status tc_onnx_write(tc_out *o, const tc_program *p, int opset, const char *version, const tc_onnx_data_file *data);

#endif
