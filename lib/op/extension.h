/* Operators that an extension defines (tc_ops.h): what is read of its table, and the rows that are made of it. Whoever runs the kernels, the runtime,
 * loads the extension (runtime/extension.h).
 *
 *     my::f(Tensor x, float s=1.0) -> Tensor       a row whose kernel calls the extension's
 *     my::g(Tensor x, Tensor(a!) y) -> ()          a row my::g_functional(x, y) -> Tensor that returns what y becomes, and one that derives from it,
 *                                                  as in-place forms do */
#ifndef TC_OP_EXTENSION_H
#define TC_OP_EXTENSION_H

#include "kernel/kernel.h"
#include "op/op.h"
#include "tc_ops.h"

enum { TC_EXTENSION_PARAMS = 32, TC_EXTENSION_RESULTS = 8 };

typedef struct {
    const char *path, *name;
    tc_dtype dtype[64]; /* by the extension's code; TC_DTYPE_NONE: none of tc's */
    int ndtypes;
    uint8_t code[TC_DTYPE_COUNT]; /* the reverse; 0: the extension does not know the type */
} tc_extension;

/* One operator. A parameter that is written to is a result of the functional row: to[i]. */
typedef struct {
    tc_kernel kernel; /* the first member: a row's kernel leads here */
    const tc_extension *of;
    const char *text; /* the schema as the extension wrote it */
    const tc_schema *schema;
    const tc_schema *functional; /* of the row that has the kernel; schema itself if nothing is written to */
    const tc_op *op;             /* as declared */
    tc_ops_kernel run;
    const char *shape, *gradient;
    bool strided;
    int8_t from[TC_EXTENSION_PARAMS];    /* parameter to argument of the functional row; -1: none, an out parameter */
    int8_t to[TC_EXTENSION_PARAMS];      /* parameter to result of the functional row; -1: it is not written to */
    int8_t result[TC_EXTENSION_RESULTS]; /* result of schema to result of the functional row */
    int nplain;                          /* results of the functional row before those that parameters become */
} tc_extension_op;

/* The extension's operator behind a row, or NULL. */
const tc_extension_op *tc_extension_op_of(const tc_op *op);

/* Checks the n operators of a table and registers them, all or (but for names that another thread takes meanwhile) none; x lives for ever, run is what
 * executes them. out_some: there are rows that lead to x. TC_CONTENT naming the operator and what is wrong with it. */
tc_status tc_extension_register(const tc_extension *x, const tc_ops_extension *table, tc_status (*run)(tc_kcall *c), bool *out_some);

/* A call of the operator with small tensors that fit its shape rule, and defaults, 1 or 0.5 for numbers: "my::f(f32[2,3,5], f32[5], 1.0)". */
void tc_extension_sample(const tc_extension_op *o, tc_buf *out);

/* Inside lib/op: the shape rule of a row, and a check of the rule's text. */
tc_status tc_extension_shape(tc_shape_ctx *c);
tc_status tc_extension_check_shape(const tc_extension_op *o);

#endif
