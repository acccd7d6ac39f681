/* Internals of tc_exec_to_c: the writer's state, addresses of values, and the parts that write calls (to_c.c), kernels (to_c_kernel.c, to_c_index.c),
 * control flow (to_c_control.c), numbers (to_c_number.c) and the text around them (to_c_unit.c). */
#ifndef TC_RUNTIME_TO_C_WRITE_H
#define TC_RUNTIME_TO_C_WRITE_H

#include "codegen/emit.h"
#include "runtime/frame.h"
#include "runtime/to_c.h"

typedef struct {
    tc_exec *e;
    frame *f; /* the graph that is being written */
    bound *b;
    const char *const *in_at, *const *out_at; /* C text: addresses of its inputs and outputs; NULL: those of the program */
    size_t base, end, top;                    /* offsets in STEM_run's arena: the graph's memory; the end of memory in use; the maximum of that */
    int ncontrol;                             /* control flow nodes so far */
    bool *variable;                           /* by symbol: it is a variable of STEM_run_on */
    bool numbers;                             /* there is such a variable */
    const tc_to_c_options *o;
    const char *stem, *file; /* prefix of functions and types; name of the .c and .h */
    tc_arena a;
    tc_unit *unit;
    tc_buf calls, weights; /* the body of STEM_run_on; the bytes of the weights */
    bool *changes;         /* by program input: a run changes it */
    int64_t *weight_at;    /* by program input: offset in the weights; -1: no weight. Those that change come first: the state */
    size_t state_bytes;    /* of the state, which a run changes, and which is in the caller's memory */
    const char **field;    /* names of structure members: by program input, then by output of the graph, then by `number`; NULL: none */
    const char **named;    /* the program's names for these */
    tc_sym *number;        /* [nnumber] results that are numbers, not tensors */
    int nnumber;
    size_t scratch, late; /* bytes: of the largest call of a kernel; of copies at the end (write_end) */
    size_t each;          /* bytes of scratch of a loop, for each worker */
    bool ranks;           /* there are collectives: the caller gives ranks */
} writer;

#define TC_TEXT(w, ...) tc_arena_printf(&(w)->a, __VA_ARGS__)

const char *to_c_type(tc_dtype d);                           /* of an element in C: "float" */
tc_status to_c_address(writer *w, int id, const char **out); /* C text: the address of a value's element 0 */
const char *to_c_list(writer *w, const int64_t *v, int n);   /* "1, 2, 3"; "0" if empty */

/* An argument of a kernel: its tensor (NULL: absent) and its address as C text. */
typedef struct {
    const tc_tensor *t;
    const char *at;
} to_c_operand;
tc_status to_c_argument(writer *w, const kernel_call *k, int i, to_c_operand *out);
/* Reserves scratch for the call that is being written; returns its address as C text. *used is 0 at the begin of each call. Aligned to 64 bytes. */
const char *to_c_scratch(writer *w, size_t *used, size_t bytes);

tc_status to_c_copy(writer *w, const tc_tensor *to, const char *to_at, const tc_tensor *from, const char *from_at);
tc_status to_c_kernel(writer *w, const call *c);

/* to_c_control.c */
tc_status to_c_control(writer *w, const tc_node *n);
/* Writes the calls of a subgraph whose contiguous inputs and outputs are at these addresses. */
tc_status to_c_graph(writer *w, frame *f, const char *const *in_at, const char *const *out_at);
void to_c_indent(writer *w, size_t from); /* indents the text of w->calls from offset `from` on by four columns */
/* to_c_number.c: an expression as C text, whose symbols may get their values only in the run; the variable of a symbol; is the value known now? */
tc_status to_c_number(writer *w, tc_sym s, const char **out);
const char *to_c_variable(writer *w, tc_sym var);
bool to_c_known(const writer *w, tc_sym s);
tc_status to_c_element(writer *w, tc_dtype d, const char *at, const char **out);
tc_status to_c_item(writer *w, const tc_node *n); /* item(), or an assertion about a number */
const char *to_c_fault(const writer *w);          /* the code that a run returns when fault.set */
void to_c_variables(writer *w, tc_buf *c);        /* declarations */
/* to_c_index.c: families of kernels. TC_UNSUPPORTED: the arguments have no C form. */
tc_status to_c_rows(writer *w, const call *c, const char *kind);    /* sort, topk, kthvalue, median, mode, searchsorted */
tc_status to_c_scatter(writer *w, const call *c, const char *kind); /* scatter*, index_add, index_copy, index_reduce, put, index_put */

/* to_c_ranks.c: collectives, and the declarations and the checks that a unit with them has. */
tc_status to_c_collective(writer *w, const call *c, const char *kind);
void to_c_ranks_type(const writer *w, tc_buf *h);
void to_c_ranks_given(const writer *w, tc_buf *c);

/* ---- to_c_unit.c ---- */
void to_c_header(writer *w, tc_buf *h);
void to_c_unit(writer *w, tc_buf *c);        /* everything of the .c but the filter's functions */
tc_status to_c_filter(writer *w, tc_buf *c); /* the functions that codegen/filter.h calls */

#endif
