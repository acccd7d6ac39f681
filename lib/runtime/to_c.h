/* A whole program as one C unit: the bound program's flat list of calls written out, for sizes that are fixed when it is written.
 *
 *     STEM.h   sizes, the structures of inputs and outputs, int STEM_run(weights, in, out, arena)
 *     STEM.c   the groups, the kernels that are used, the list of calls; libc and libm only, no malloc, no state
 *
 * Or as one text for the compiler: the header inside, STEM_run visible, the weights from a file, a main function when it is to be a filter.
 *
 * The bits are those of tc-run for the same sizes. */
#ifndef TC_RUNTIME_TO_C_H
#define TC_RUNTIME_TO_C_H

#include "runtime/runtime.h"

typedef struct {
    const char *stem;   /* of the files; the names of functions begin with it unless there is a prefix: an identifier is made of it */
    const char *prefix; /* or NULL */
    const char *made_by;
    bool weights_inside;        /* as an array in the .c; else STEM_run's caller maps the file of weights */
    bool joined;                /* one text */
    bool filter;                /* joined, with the main function of codegen/filter.h */
    bool weights_beside;        /* joined: the assembler takes out_weights from the file TC_WEIGHTS (codegen/cc.h) */
    const char *const *targets; /* joined: instruction sets that the text will be compiled for, one after another (codegen/cc.h) */
    int ntargets;
    bool sanitize; /* overflow of signed integers is a fault */
} tc_to_c_options;

/* vars: values of the program's symbols, by index (those of sizes must be bound). weights: the bytes that STEM_run is given, 64-byte aligned
 * tensors; empty with weights_inside. TC_UNSUPPORTED: sizes that depend on data, a kernel without
 * a C form. */
tc_status tc_exec_to_c(tc_exec *e, const tc_symvalue *vars, size_t nvars, const tc_to_c_options *o, tc_buf *out_c, tc_buf *out_h,
                       tc_buf *out_weights);

#endif
