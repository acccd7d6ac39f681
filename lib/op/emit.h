/* Emitting nodes from C: how decompositions, gradient rules and passes build graphs of ATen calls.
 *
 *     tc_value *s = tc_emit_call(e, "aten::sigmoid", "v", x);
 *     tc_value *g = tc_emit_call(e, "aten::mul.Tensor", "vv", grad, s);
 *
 * The first failure is kept in e->status and later calls return NULL quietly, so a rule reads as a formula and is checked once. */
#ifndef TC_OP_EMIT_H
#define TC_OP_EMIT_H

#include "op/op.h"

typedef struct tc_emit {
    tc_graph *graph;
    tc_node *before; /* new nodes go before this one; NULL: at the end */
    tc_source source;
    const tc_node *origin;
    bool casts; /* apply autocast to the dtype below to every call */
    tc_dtype autocast;
    tc_decompose_fn rule; /* decompositions: rule to use; NULL: the operator's own */
    tc_status status;     /* first failure */
    tc_value **results;
    int nresults; /* decompositions: what tc_emit_result set */
    tc_value **grads;
    int ngrads; /* gradients: by argument position; for Tensor[] arguments see tc_emit_grad_list */
    tc_value ***grad_lists;
    bool (*wants)(void *ctx, const tc_value *v);
    void *wants_ctx; /* callback: does a value need a gradient; NULL: those that require one */
} tc_emit;

/* Calls an operator; returns its first result (use tc_emit_out for others). One format letter for each argument, in schema
 * order; missing ones get their defaults:
 *   v tc_value* (tensor or number; NULL is None)   V tc_value *const*, int (list)
 *   i int64_t     s tc_sym      I const int64_t*, int     S const tc_sym*, int
 *   f double      b int (bool)  z tc_scalar        d int (tc_dtype; TC_DTYPE_NONE is None)  t const char*
 *   _ default     a const tc_arg* (copied as it is) */
tc_value *tc_emit_call(tc_emit *e, const char *op, const char *fmt, ...);
tc_value *tc_emit_out(tc_value *first, int i); /* result i of the node that made `first`; NULL for NULL */

void tc_emit_result(tc_emit *e, int i, tc_value *v);
void tc_emit_grad(tc_emit *e, int arg, tc_value *v); /* NULL: no gradient */
void tc_emit_grad_list(tc_emit *e, int arg, int i, tc_value *v);
bool tc_emit_wants_grad(const tc_emit *e, const tc_node *node, int arg); /* the argument (or an element of it) requires grad */
void tc_emit_fail(tc_emit *e, tc_status s);
tc_status tc_e_refuse(const tc_node *n, const char *fmt, ...) TC_PRINTF(2, 3); /* TC_CONTENT, "aten.mm: MESSAGE" */

/* Reading arguments of a node in a rule. */
static inline tc_value *tc_arg_value(const tc_node *n, int i) { return n->args[i].kind == TC_A_VALUE ? n->args[i].value : NULL; }
bool tc_arg_is_none(const tc_node *n, int i);
int64_t tc_arg_int(const tc_node *n, int i); /* TC_BUG when symbolic: use tc_arg_sym */
tc_sym tc_arg_sym(const tc_node *n, int i);
bool tc_arg_bool(const tc_node *n, int i);
double tc_arg_float(const tc_node *n, int i);
int tc_arg_ints(const tc_node *n, int i, int64_t *out, int max); /* constant ints; -1 when absent */

/* Shorthand for common calls. */
/* as_strided_scatter: x with src written to the elements of as_strided(x, size, stride, offset); where: these three arguments. Differentiable in x
 * and src. */
tc_value *tc_e_strided_put(tc_emit *e, tc_value *x, tc_value *src, const tc_arg *where);
tc_value *tc_e_add(tc_emit *e, tc_value *a, tc_value *b);
tc_value *tc_e_sub(tc_emit *e, tc_value *a, tc_value *b);
tc_value *tc_e_mul(tc_emit *e, tc_value *a, tc_value *b);
tc_value *tc_e_div(tc_emit *e, tc_value *a, tc_value *b);
tc_value *tc_e_neg(tc_emit *e, tc_value *a);
tc_value *tc_e_adds(tc_emit *e, tc_value *a, double s); /* a + s */
tc_value *tc_e_muls(tc_emit *e, tc_value *a, double s);
tc_value *tc_e_cast(tc_emit *e, tc_value *a, tc_dtype d);
tc_value *tc_e_sum_to(tc_emit *e, tc_value *grad, const tc_meta *like); /* undoes broadcasting */
tc_value *tc_e_zeros_like(tc_emit *e, tc_value *a);
tc_value *tc_e_unless_zero(tc_emit *e, tc_value *d, tc_value *v);                    /* v, 0 where d is 0 */
tc_value *tc_e_over_unless_zero(tc_emit *e, tc_value *d, tc_value *g, tc_value *by); /* g / by, 0 where d is 0; its transpose too is 0 there */
tc_value *tc_e_zeros(tc_emit *e, const tc_meta *m, tc_dtype d);                      /* zeros with the sizes of m, contiguous */
tc_value *tc_e_numbered(tc_emit *e, const tc_meta *m);                               /* 0, 1, 2, ... with the sizes of m */
/* For gradients of elements that were written to places: of several with one place PyTorch gives all the place's gradient, but in forward mode only the
 * last counts. g, with 0 where `back`, what `own` reads after it was written in the same way, is another. */
tc_value *tc_e_of_last(tc_emit *e, tc_value *g, tc_value *own, tc_value *back);

#endif
