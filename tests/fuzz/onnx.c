/* The wire reader and the ONNX reader on any bytes: a model, and a tensor, a sequence and an optional of reference data. */
#include "fuzz.h"

#include "file/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_blob b = borrowed(data, n);
    tc_onnx_model *m;
    tc_status st = tc_onnx_read(&b, &m);
    if (!st) tc_onnx_free(m);
    tc_status_free(st);
    for (int kind = TC_ONNX_IS_TENSOR; kind <= TC_ONNX_IS_OPTIONAL; kind++) {
        tc_onnx_data d;
        st = tc_onnx_read_data(&b, (tc_onnx_data_kind)kind, &d);
        if (!st) tc_onnx_data_free(&d);
        tc_status_free(st);
    }
    return 0;
}
