/* Writes a whole program as one C translation unit: the flat list of calls of the bound program, for sizes that are fixed when it is written.
 *
 *     STEM.h   sizes, the structures of inputs and outputs, int STEM_run(weights, in, out, arena)
 *     STEM.c   the groups, the kernels they need, the list of calls; needs only libc and libm; no malloc, no static state
 *
 * Or as one text for the compiler ("joined"), which contains the header, exports STEM_run, takes the weights from a file, and has a main function if it is
 * to be a filter.
 *
 * Results have the bits of tc-run for the same sizes. */
#ifndef TC_RUNTIME_TO_C_H
#define TC_RUNTIME_TO_C_H

#include "runtime/runtime.h"

typedef struct {
    const char *stem;   /* of the files' names; made an identifier, also of the functions' names unless there is a prefix */
    const char *prefix; /* or NULL */
    const char *made_by;
    bool weights_inside;        /* as an array in the .c; else the caller of STEM_run maps the file of weights */
    bool joined;                /* one text */
    bool filter;                /* joined, with the main function of codegen/filter.h */
    bool weights_beside;        /* joined: the assembler includes the weights from the file TC_WEIGHTS (codegen/cc.h) */
    const char *const *targets; /* joined: instruction sets for each of which the text will be compiled (codegen/cc.h) */
    int ntargets;
    bool sanitize; /* signed integer overflow is a fault */
} tc_to_c_options;

/* vars: values of the program's symbols, by index (sizes must be bound). out_weights: the bytes to pass to STEM_run, tensors aligned to 64 bytes; empty
 * with weights_inside. TC_UNSUPPORTED: sizes that depend on data, or a kernel without a C form. */
tc_status tc_exec_to_c(tc_exec *e, const tc_symvalue *vars, size_t nvars, const tc_to_c_options *o, tc_buf *out_c, tc_buf *out_h,
                       tc_buf *out_weights);

#endif
