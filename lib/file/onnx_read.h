/* Internal to the ONNX reader: messages (onnx.c), tensors (onnx_tensor.c). */
#ifndef TC_FILE_ONNX_READ_H
#define TC_FILE_ONNX_READ_H

#include "file/onnx.h"
#include "file/protobuf.h"

typedef struct {
    tc_arena *arena;
    tc_blob *blob;        /* the file's bytes: tensors that are views keep references */
    tc_onnx_model *model; /* NULL: reference data, without external files */
} tc_onnx_reader;

/* A string in the arena; failure when it holds a NUL byte or is longer than `limit`. */
const char *tc_onnx_string(tc_onnx_reader *r, tc_pb *m);
/* Reads the current record of m as a TensorProto or SparseTensorProto (made dense); out owns its tensor. */
void tc_onnx_tensor_read(tc_onnx_reader *r, tc_pb *m, tc_onnx_tensor *out);
void tc_onnx_tensor_fields(tc_onnx_reader *r, tc_pb *s, tc_onnx_tensor *out); /* s: opened on the message itself */
void tc_onnx_sparse_read(tc_onnx_reader *r, tc_pb *m, tc_onnx_tensor *out);

#endif
