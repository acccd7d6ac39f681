/* Functionalisation: replaces mutation and views of mutated tensors by pure operators. Capture and every reader run it before any other pass.
 *
 *     %v = select(%x, 0, 1)              %v   = select(%x, 0, 1)
 *     %r = mul_(%v, 2)            ->     %m   = mul(%v, 2)
 *     %s = sum(%x)                       %x1  = select_scatter(%x, %m, 0, 1)
 *                                        %s   = sum(%x1)
 *
 * Every tensor is a base or a view of one (a chain of view operators). A mutation through any alias gives the base a new value; other views of it are
 * recomputed when next read. Mutated parameters, buffers and inputs become mutation outputs. BatchNorm in training becomes
 * _native_batch_norm_legit_functional, whose running statistics are such mutations. Regions (no_grad, autocast, checkpoint) are inlined. Linear in the
 * number of nodes. */
#ifndef TC_OP_FUNCTIONALISE_H
#define TC_OP_FUNCTIONALISE_H

#include "op/op.h"

/* The whole program, subgraphs included; sets p->functional. TC_UNSUPPORTED naming an operator whose view cannot be written through. */
tc_status tc_functionalise(tc_program *p);

/* The same incrementally, for captures that need functional code before their end (torch.autograd.grad): values passed to tc_graph_call keep naming
 * their tensors, mutated or not. */
typedef struct tc_functional tc_functional;
tc_functional *tc_functional_create(tc_graph *g);
tc_status tc_functional_step(tc_functional *f);                                       /* rewrites the nodes appended since the last step */
tc_status tc_functional_current(tc_functional *f, tc_value *v, tc_value **out_value); /* the current value of v's tensor; may append nodes */
/* What an input of a body holds after the writes to it, NULL where there are none. The caller makes it a result of the body. */
tc_status tc_functional_written(tc_functional *f, tc_value *input, tc_value **out);
tc_status tc_functional_finish(tc_functional *f); /* a last step, outputs, mutations */
void tc_functional_skip(tc_functional *f);        /* the nodes appended since the last step are functional and need no rewriting */
void tc_functional_destroy(tc_functional *f);
const tc_source *tc_functional_failed(const tc_functional *f); /* source location of the node that failed; NULL: none */

/* op/detach.c: inserts detach nodes where values of no_grad regions are read outside. The program then keeps its meaning without no_grad marks of
 * nodes, which an archive does not store. The graph must be functional. */
tc_status tc_detach_no_grad(tc_graph *g);

/* Normalisations in training mutate their running statistics, although their schemas do not mark them. rank: of argument 0. True for such a call:
 * `functional` takes the arguments at positions from[0..nfrom); its first results are those of op, and results first and first + 1 are the new
 * values of arguments 3 and 4. */
typedef struct {
    const tc_op *functional;
    int from[8], nfrom, first;
} tc_unmarked_writes;
bool tc_op_unmarked_writes(const tc_op *op, const tc_arg *args, int rank, tc_unmarked_writes *out);

/* op/result_alias.c: which results of a call alias an argument, and by which chain of views. */
typedef struct {
    const tc_op *op;
    const tc_arg *args; /* all arguments except the first, which is the result of the step before */
    int nargs, element; /* element: index in its list of results; -1: the result itself */
} tc_view_step;
typedef struct tc_result_alias {
    tc_value *of; /* the aliased argument; NULL: the result has its own memory */
    const tc_view_step *steps;
    int nsteps;
} tc_result_alias;
bool tc_op_may_alias(const tc_op *op);
/* factory.c: is every element of its result 0? */
bool tc_op_gives_zeros(const tc_op *op);
/* One entry for each result of n, or each element of a list result. *out_n: 0 if none aliases an argument. */
tc_status tc_result_aliases(const tc_node *n, tc_result_alias **out, int *out_n);
/* The same for operators whose decomposition consists of views. out: one entry for each result. */
tc_status tc_result_aliases_in_decomposition(tc_program *p, const tc_node *n, tc_result_alias *out);

/* op/view_inverse.c, for the primitive views: base with `written` in the place of the view op(base, args[1..]). */
struct tc_emit;
bool tc_view_invertible(const tc_op *op);
tc_status tc_view_inverse(struct tc_emit *e, const tc_op *op, const tc_arg *args, int nargs, tc_value *base, tc_value *written, tc_value **out_base);

/* op/autocast.c: casts the tensor arguments of a call of op as autocast to `to` (bf16, f16) does; replaces them in args. */
tc_status tc_autocast(struct tc_emit *e, const tc_op *op, tc_arg *args, int nargs, tc_dtype to);
/* The type that v, a tensor of argument i, has after those casts; TC_DTYPE_NONE: autocast never casts it. */
tc_dtype tc_autocast_argument(const tc_op *op, const tc_arg *args, int nargs, int i, const tc_value *v, tc_dtype to);
bool tc_autocast_composes(const tc_op *op); /* op is composite: autocast applies to its parts */
/* The dtype to which autocast to `to` casts a tensor of dtype d in a call of op. */
tc_dtype tc_autocast_type(const tc_op *op, tc_dtype d, tc_dtype to);
/* Appends the call with those casts; composite operators are decomposed, each part with its own casts.
 * outs: the results, in the program's arena. */
tc_status tc_autocast_call(struct tc_emit *e, const tc_op *op, tc_arg *args, int nargs, tc_dtype to, tc_value ***outs, int *nouts);

#endif
