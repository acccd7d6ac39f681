/* Inside of tc_exec_to_c: the writer, where values are, and the calls of kernels as C (to_c_kernel.c, to_c_index.c). */
#ifndef TC_RUNTIME_TO_C_WRITE_H
#define TC_RUNTIME_TO_C_WRITE_H

#include "codegen/emit.h"
#include "runtime/frame.h"
#include "runtime/to_c.h"

typedef struct {
    tc_exec *e;
    frame *f; /* the graph that is being written */
    bound *b;
    const char *const *in_at, *const *out_at; /* addresses of its inputs and outputs; NULL: the program's own */
    size_t base, end, top;                    /* bytes from the arena: its memory; what is free behind it; the most that is ever in use */
    int ncontrol;                             /* control nodes so far */
    bool *variable;                           /* by symbol: it is a variable of STEM_run_on */
    bool numbers;                             /* there is one */
    const tc_to_c_options *o;
    const char *stem, *file; /* names of functions and types; of the .c and .h */
    tc_arena a;
    tc_unit *unit;
    tc_buf calls, weights;
    bool *changes;      /* by program input: a run writes it */
    int64_t *weight_at; /* by program input: offset in the weights; -1: no weight. Those that change come first: the state */
    size_t state_bytes; /* of the weights, from their beginning: what a run changes, in memory of the caller */
    const char **field; /* by program input and, behind them, by output of the graph, then by `number`: name in its structure */
    const char **named; /* the names that the program has for these */
    tc_sym *number;     /* results that are numbers, not tensors: nnumber */
    int nnumber;
    size_t scratch, late; /* bytes: of one call of a kernel; of copies at the end */
    size_t each;          /* bytes of scratch of a loop, for each worker */
} writer;

#define TC_TEXT(w, ...) tc_arena_printf(&(w)->a, __VA_ARGS__)

const char *to_c_type(tc_dtype d);                           /* of an element in C: "float" */
tc_status to_c_address(writer *w, int id, const char **out); /* of a value's element 0, as C text */
const char *to_c_list(writer *w, const int64_t *v, int n);   /* "1, 2, 3"; "0" when empty */

/* One argument of a kernel: its tensor (NULL: not given) and the C text of its address. */
typedef struct {
    const tc_tensor *t;
    const char *at;
} to_c_operand;
tc_status to_c_argument(writer *w, const kernel_call *k, int i, to_c_operand *out);
/* Scratch of the call that is being written: C text of its address. *used begins at 0 for each call; bytes are rounded up to 64. */
const char *to_c_scratch(writer *w, size_t *used, size_t bytes);

tc_status to_c_copy(writer *w, const tc_tensor *to, const char *to_at, const tc_tensor *from, const char *from_at);
tc_status to_c_kernel(writer *w, const call *c);

/* to_c_control.c */
tc_status to_c_control(writer *w, const tc_node *n);
/* The calls of a subgraph whose inputs and outputs lie at these addresses, in order. */
tc_status to_c_graph(writer *w, frame *f, const char *const *in_at, const char *const *out_at);
void to_c_indent(writer *w, size_t from); /* what was written of the calls from there on stands four columns further right */
/* to_c_number.c: an expression whose symbols may have no value before the run, as C text; the variable of a symbol; is the value known? */
tc_status to_c_number(writer *w, tc_sym s, const char **out);
const char *to_c_variable(writer *w, tc_sym var);
bool to_c_known(const writer *w, tc_sym s);
tc_status to_c_element(writer *w, tc_dtype d, const char *at, const char **out);
tc_status to_c_item(writer *w, const tc_node *n); /* a number out of a tensor, or an assertion about one */
const char *to_c_fault(const writer *w);          /* the code that a run returns when fault.set */
void to_c_variables(writer *w, tc_buf *c);        /* declarations */
/* Families; TC_UNSUPPORTED when the arguments have no C form. */
tc_status to_c_rows(writer *w, const call *c, const char *kind);    /* sort, topk, kthvalue, median, mode, searchsorted */
tc_status to_c_scatter(writer *w, const call *c, const char *kind); /* scatter, index_add, index_put and their kin */

#endif
