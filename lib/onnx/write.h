/* Writes programs as ONNX models.
 *
 *     TC_TRY(tc_onnx_write(out, program, 20, producer_version));
 *
 * Export rules are written in the model language (onnx_write.py); operators without a rule are decomposed first. Weights are written straight from their
 * storage. */
#ifndef TC_ONNX_WRITE_H
#define TC_ONNX_WRITE_H

#include "base/file.h"
#include "graph/graph.h"

enum { TC_ONNX_OPSET_MIN = 18, TC_ONNX_OPSET_MAX = 23, TC_ONNX_OPSET_DEFAULT = 20 };

/* External data: the output for weights, and its file name relative to the model's folder. */
typedef struct {
    tc_out *o;
    const char *location;
} tc_onnx_data_file;

/* The program must be functional. Symbolic sizes become dim_param. TC_UNSUPPORTED names the operator, the mutation or the size that ONNX has
 * no form for, or that the model is larger than a protocol buffer can be; TC_USAGE: an opset out of range. data: NULL where the weights are
 * part of the model. */
tc_status tc_onnx_write(tc_out *o, const tc_program *p, int opset, const char *version, const tc_onnx_data_file *data);

#endif
