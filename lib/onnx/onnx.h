/* From an ONNX model to a program: ATen operators over symbolic sizes, like any other.
 *
 *     tc_onnx_model *m;                                             file/onnx.h
 *     TC_TRY(tc_onnx_import(m, &(tc_onnx_options){.run = eval}, &p));
 *
 *     model --objects--> onnx_import.py --rules (onnx_math.py, onnx_nn.py, ...)--> torch.* calls --capture--> graph
 *
 * The rules are written in the model language, a table row for each operator and range of opsets: README.md here. Initialisers of floats
 * become parameters, named dimensions symbols, arithmetic on shapes arithmetic on symbols. */
#ifndef TC_ONNX_ONNX_H
#define TC_ONNX_ONNX_H

#include "capture/capture.h"
#include "file/onnx.h"

/* An input whose values may be relied on: a program that needs them (the axes of a reduction, say) is made for them, and checks when it
 * runs that they are these. Sequence inputs are given by their elements: they must be known here. */
typedef struct {
    const char *name;
    const tc_tensor *items; /* one, or the elements of a sequence; borrowed */
    int n;
    const tc_onnx_tensor *text; /* instead of items: strings. Their operators are computed when the program is made */
    bool is_sequence, absent;
} tc_onnx_fixed;

typedef struct {
    tc_eval run; /* executes what is constant */
    const tc_onnx_fixed *fixed;
    int nfixed;
    const tc_capture_dim *dims; /* names and ranges of sizes, as for a capture */
    int ndims;
    void (*warn)(void *self, const char *text);
    void *warn_self;
} tc_onnx_options;

/* Functional and verified. TC_CONTENT or TC_UNSUPPORTED with file and node; *out_wants (may be NULL): the name of an input whose
 * values the model needs at import, malloc'ed, or NULL. */
tc_status tc_onnx_import(const tc_onnx_model *m, const tc_onnx_options *o, tc_program **out_program, char **out_wants);

#endif
