/* Imports an ONNX model as a program of ATen operators over symbolic sizes.
 *
 *     tc_onnx_model *m;                                             file/onnx.h
 *     TC_TRY(tc_onnx_import(m, &(tc_onnx_options){.run = eval}, &p));
 *
 *     model --objects--> onnx_import.py --rules (onnx_math.py, onnx_nn.py, ...)--> torch.* calls --capture--> graph
 *
 * Import rules are written in the model language, one table row per operator and range of opsets (README.md here). Float initialisers become parameters,
 * named dimensions become symbols, shape arithmetic becomes symbolic arithmetic. */
#ifndef TC_ONNX_ONNX_H
#define TC_ONNX_ONNX_H

#include "capture/capture.h"
#include "file/onnx.h"

/* Known values of an input. A program that depends on them (the axes of a reduction, say) is specialised and checks them at run time. Sequence inputs
 * are given by their elements, which must be known here. */
typedef struct {
    const char *name;
    const tc_tensor *items; /* one, or the elements of a sequence; borrowed */
    int n;
    const tc_onnx_tensor *text; /* instead of items: strings, whose operators are evaluated at import */
    bool is_sequence, absent;
} tc_onnx_fixed;

typedef struct {
    tc_eval run; /* executor for constant subexpressions */
    const tc_onnx_fixed *fixed;
    int nfixed;
    const tc_capture_dim *dims; /* names and ranges of sizes, as for a capture */
    int ndims;
    void (*warn)(void *self, const char *text);
    void *warn_self;
    int sides; /* most programs of a model that branches on sizes (capture/sides.h); 0, 1: only that of the example sizes */
} tc_onnx_options;

/* Imports m as a functional, verified program; with o->sides behind it those that replace it at other sizes. The list, empty before, and its
 * programs are the caller's. TC_CONTENT or TC_UNSUPPORTED with file and node, and an empty list; *out_wants (may be NULL): malloc'ed name of an
 * input whose values the import needs, or NULL. */
tc_status tc_onnx_import(const tc_onnx_model *m, const tc_onnx_options *o, tc_side_programs *out, char **out_wants);

#endif
