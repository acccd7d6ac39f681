/* Shape rules: helpers for reading arguments, PyTorch's type promotion, broadcasting with guards, dimension numbers, reduced sizes; and the commonest
 * rules.
 *
 *     static tc_status shape_mul(tc_shape_ctx *c) {
 *         tc_dims d;
 *         TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &d));
 *         return tc_sh_out(c, 0, tc_sh_result_type(c, 2, (int[]){0, 1}), &d);
 *     }
 *
 * Errors name the operator and the shapes; those that are not Python's RuntimeError begin with the name of the exception
 * ("IndexError: "), which the model language gives to `except`. */
#ifndef TC_OP_SHAPE_H
#define TC_OP_SHAPE_H

#include "op/emit.h"
#include "op/op.h"

typedef struct {
    int rank;
    tc_sym size[TC_MAX_RANK];
} tc_dims;

/* ---- reading arguments ---- */
const tc_meta *tc_sh_meta(const tc_shape_ctx *c, int i); /* type of a tensor argument; NULL for None and numbers */
bool tc_sh_given(const tc_shape_ctx *c, int i);          /* not None */
bool tc_sh_bool(const tc_shape_ctx *c, int i);
tc_sym tc_sh_int(const tc_shape_ctx *c, int i);                     /* int argument, constant or symbolic */
int64_t tc_sh_const(const tc_shape_ctx *c, int i);                  /* int argument that must be constant (dimension numbers) */
int tc_sh_ints(const tc_shape_ctx *c, int i, tc_sym *out, int max); /* int[] argument; -1 when None; a single int is a list of one */
int tc_sh_const_ints(const tc_shape_ctx *c, int i, int64_t *out, int max);
tc_dtype tc_sh_dtype(const tc_shape_ctx *c, int i, tc_dtype otherwise);  /* ScalarType? argument */
const char *tc_sh_string(const tc_shape_ctx *c, int i);                  /* NULL when None */
const tc_meta **tc_sh_tensors(const tc_shape_ctx *c, int i, int *out_n); /* Tensor[]: entries NULL where absent */
bool tc_arg_number(const tc_arg *a, tc_kind *out_kind);                  /* a number of any form, and its category */
tc_symctx *tc_sh_sym(const tc_shape_ctx *c);

/* ---- failing, checking, guarding ---- */
/* "aten.mm: MESSAGE (self f32[2, 3], mat2 f32[4, 5])" */
tc_status tc_sh_fail(const tc_shape_ctx *c, const char *fmt, ...) TC_PRINTF(2, 3);
tc_status tc_sh_fail_sizes(const tc_shape_ctx *c, const char *text, const tc_sym *sizes); /* each # of text is the next of sizes, symbolic ones too */
tc_status tc_sh_fail_as(const tc_shape_ctx *c, const char *exception, const char *fmt, ...) TC_PRINTF(3, 4);
/* a == b, known or by a new guard; false: known to differ. */
bool tc_sh_same(tc_shape_ctx *c, tc_sym a, tc_sym b);
/* cond, known or by a new guard; false: known to be false. */
bool tc_sh_guard(tc_shape_ctx *c, tc_sym cond);
/* Branches on cond, for operators that are defined both ways: decided by the example sizes (else false) and recorded as a guard. */
bool tc_sh_branch(tc_shape_ctx *c, tc_sym cond);
bool tc_sh_is_empty(const tc_meta *m);              /* a size is known to be 0 */
bool tc_sh_is_one(const tc_shape_ctx *c, tc_sym s); /* the literal 1 */
bool tc_sh_not_zero(tc_shape_ctx *c, tc_sym s);     /* by a guard; false when it is known to be 0 */
/* Is s 1? A size of at most 1 (x[:1]) is fixed to 1 by a guard. */
bool tc_sh_as_one(tc_shape_ctx *c, tc_sym s);
/* Does s broadcast to other: is it 1, or 1 in the example where other is not? Adds a guard */
bool tc_sh_repeats(tc_shape_ctx *c, tc_sym s, tc_sym other);
tc_status tc_sh_need_tensor(const tc_shape_ctx *c, int i);
tc_status tc_sh_need_float(const tc_shape_ctx *c, int i);

/* ---- types ---- */
typedef struct {
    tc_dtype dim, zero, wrapped;
    tc_dtype clash[2]; /* the types that cannot be promoted, if clashes */
    bool clashes;
} tc_promotion;                                          /* set the first three to TC_DTYPE_NONE */
void tc_promotion_add(tc_promotion *p, const tc_arg *a); /* tensors, numbers, lists of tensors */
tc_dtype tc_promotion_type(tc_promotion *p);
tc_dtype tc_sh_result_type(tc_shape_ctx *c, int n, const int *args); /* incompatible dtypes fail the call after its shape rule */
bool tc_sh_bcomplex(const tc_shape_ctx *c);                          /* the types that clash are bfloat16 and complex */
tc_dtype tc_sh_inner_type(tc_shape_ctx *c, int n, const int *args);  /* where the result has another type: bfloat16 with complex is complex64 */
tc_dtype tc_to_float(tc_dtype d);                                    /* integers and bool become f32 */

/* ---- sizes ---- */
tc_dims tc_dims_of(const tc_meta *m);
tc_status tc_sh_broadcast_dims(tc_shape_ctx *c, tc_dims *into, const tc_meta *m); /* into: {0} at first */
tc_status tc_sh_broadcast(tc_shape_ctx *c, int n, const int *args, tc_dims *out); /* numbers and None are ignored */
/* Dimension d of a tensor of that rank, counted from the end when negative; 0-d tensors accept 0 and -1. IndexError otherwise. */
tc_status tc_sh_wrap_dim(const tc_shape_ctx *c, int64_t d, int rank, int *out);
tc_status tc_sh_dim_arg(const tc_shape_ctx *c, int arg, int rank, int *out);
/* The set of dimensions of an int[]? argument as a bit mask; none or empty: all. Refuses repetition. */
tc_status tc_sh_dim_mask(const tc_shape_ctx *c, int arg, int rank, uint64_t *out_mask);
tc_dims tc_dims_reduced(const tc_shape_ctx *c, const tc_meta *m, uint64_t mask, bool keepdim);
tc_sym tc_dims_numel(const tc_shape_ctx *c, const tc_dims *d);

/* ---- results ---- */
tc_status tc_sh_out(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d); /* contiguous */
tc_status tc_sh_out_strided(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d, const tc_sym *stride);
tc_status tc_sh_out_like(tc_shape_ctx *c, int i, const tc_meta *m, tc_dtype dtype); /* sizes and, where dense, strides of m */
/* Column-major matrices, as LAPACK returns them. */
tc_status tc_sh_out_columns(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d);
/* Contiguous, or channels-last where m is (PyTorch's suggested memory format). */
tc_status tc_sh_out_format(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d, const tc_meta *m);
bool tc_sh_is_channels_last(const tc_shape_ctx *c, const tc_meta *m); /* rank 4 or 5, N (D) H W C in memory */
tc_sym *tc_sh_channels_last_strides(const tc_shape_ctx *c, const tc_dims *d);
tc_status tc_sh_out_by_format(tc_shape_ctx *c, int format, tc_dtype dtype); /* result 0: sizes of argument 0 in a c10 memory format (4: as it is) */
tc_status tc_sh_out_none(tc_shape_ctx *c, int i);
tc_status tc_sh_out_list(tc_shape_ctx *c, int i, int n, tc_value ***out_elements); /* n tensor values to be filled with tc_sh_set */
void tc_sh_set(tc_shape_ctx *c, tc_value *v, tc_dtype dtype, const tc_dims *d, const tc_sym *stride);
tc_status tc_sh_out_sym(tc_shape_ctx *c, int i, tc_sym s);
/* Result i of a pointwise operator of these tensor arguments: broadcast sizes, PyTorch's order of strides. */
tc_status tc_sh_out_pointwise(tc_shape_ctx *c, int i, tc_dtype dtype, int n, const int *args);
/* PyTorch's suggested memory format of m (c10 code); whether m is dense in a format (unknown counts as no). */
int tc_sh_format(tc_program *p, const tc_meta *m);
bool tc_sh_kept_in(tc_program *p, const tc_meta *m, int format);
bool tc_sh_lies_as(tc_program *p, const tc_meta *v, const tc_meta *m); /* does v have the strides of m, or m's order of dimensions without gaps? */
/* The strides that PyTorch's TensorIterator gives a new result of these sizes for n operands; NULL: contiguous. */
const tc_sym *tc_sh_iterated(tc_shape_ctx *c, const tc_dims *d, const tc_meta *const *m, int n);
/* Checks that m is row-major and dense as far as known, for operators that depend on memory layout and support only that. TC_UNSUPPORTED. */
tc_status tc_sh_need_rows(tc_program *p, const tc_op *op, const tc_meta *m);
const tc_sym *tc_sh_strides(const tc_shape_ctx *c, const tc_meta *m); /* never NULL: contiguous strides are computed */
int tc_sh_is_contiguous(const tc_shape_ctx *c, const tc_meta *m);     /* 1, 0, or -1: not known */

/* The bounds of a slice, clamped as in Python (v NULL: not given), and the number of elements between them. */
tc_sym tc_slice_bound(tc_symctx *s, tc_sym v, tc_sym size, bool end);
tc_sym tc_slice_length(tc_symctx *s, tc_sym start, tc_sym end, tc_sym step);

/* ---- rules used by more than one family ---- */
tc_status tc_shape_same(tc_shape_ctx *c);         /* sizes and type of argument 0 */
tc_status tc_shape_same_strides(tc_shape_ctx *c); /* and its strides, unless its elements overlap: ATen's clone_preserve_strides */
tc_status tc_shape_float_unary(tc_shape_ctx *c);  /* integers become f32 */
tc_status tc_shape_bool_unary(tc_shape_ctx *c);
tc_status tc_shape_binary(tc_shape_ctx *c);       /* arguments 0 and 1, promoted */
tc_status tc_shape_binary_float(tc_shape_ctx *c); /* integers become f32 */
tc_status tc_shape_compare(tc_shape_ctx *c);
tc_status tc_shape_ternary(tc_shape_ctx *c);   /* arguments 0, 1 and 2, promoted */
tc_status tc_shape_like_arg1(tc_shape_ctx *c); /* backward operators (grad, self, ...) and (grad, output, ...): broadcast of both, promoted */
/* The result types of the operator's decomposition, for composite operators. */
tc_status tc_shape_decomposed(tc_shape_ctx *c);
tc_status tc_shape_decomposed_format(tc_shape_ctx *c);  /* the same, result 0 in the memory format of argument 0 */
tc_status tc_shape_decomposed_columns(tc_shape_ctx *c); /* the same, result 0 as from tc_sh_out_columns */
tc_status tc_shape_decomposed_like(tc_shape_ctx *c);    /* the same, result 0 with argument 0's order of strides */
tc_status tc_shape_decomposed_rows(tc_shape_ctx *c);    /* the same, result 0 contiguous */

/* ---- backward operators: their arguments are those of one forward call ---- */
/* Checks that argument i, unless it is None, has the sizes of `of` (a name for the message). If the operator is a kernel, also its type, unless
 * TC_DTYPE_NONE. */
tc_status tc_sh_sized(tc_shape_ctx *c, int i, const tc_dims *d, tc_dtype dtype, const char *of);
/* Checks that arguments have the sizes of results of operator `forward` called with args: n pairs of an argument of this operator and a result's
 * number. */
tc_status tc_sh_results_of(tc_shape_ctx *c, const char *forward, const tc_arg *args, int nargs, int n, const int *pairs);
/* The same, with those arguments whose names are, or begin, names of parameters of `forward` (NULL: this operator's name without "_backward");
 * `self` may be given as sizes only. Missing parameters get their defaults, or none. */
tc_status tc_sh_of_forward(tc_shape_ctx *c, const char *forward, int n, const int *pairs);

/* ---- emitting: formulas with one, two and three tensors ---- */
static inline tc_value *tc_e1(tc_emit *e, const char *op, tc_value *a) { return tc_emit_call(e, op, "v", a); }
static inline tc_value *tc_e2(tc_emit *e, const char *op, tc_value *a, tc_value *b) { return tc_emit_call(e, op, "vv", a, b); }
static inline tc_value *tc_e3(tc_emit *e, const char *op, tc_value *a, tc_value *b, tc_value *d) { return tc_emit_call(e, op, "vvv", a, b, d); }
/* Argument i, a tensor or a number, unchanged, for calls with format 'a'. */
static inline const tc_arg *tc_e_arg(const tc_node *n, int i) { return &n->args[i]; }
tc_value *tc_e_conj(tc_emit *e, tc_value *a); /* the value itself if it is real */
tc_value *tc_e_sum_dims(tc_emit *e, tc_value *a, const int64_t *dims, int n, bool keepdim);
/* Value, sizes and type of argument i. */
static inline const tc_meta *tc_arg_meta(const tc_node *n, int i) {
    tc_value *v = tc_arg_value(n, i);
    return v && v->kind == TC_V_TENSOR ? &v->meta : NULL;
}
tc_symctx *tc_e_sym(const tc_emit *e);
tc_value *tc_e_list(tc_emit *e, tc_value *const *v, int n);                /* a Tensor[] result of n tensors; NULL after a failure */
void tc_e_require(tc_emit *e, tc_value *each, const char *text);           /* run-time check: fails with the text unless all elements are true */
void tc_e_require_unit(tc_emit *e, tc_value *x, const char *text);         /* ... each of x is from 0 to 1 */
tc_status tc_e_done(tc_emit *e);                                           /* the return value of a rule: the first failure */
tc_status tc_grad_none(tc_emit *e, const tc_node *n, tc_value *const *gs); /* a gradient rule: no argument gets a gradient */
bool tc_e_pin(tc_emit *e, const tc_node *n, tc_sym s, int64_t *out);       /* tc_program_pin with the operator's name */
bool tc_e_guard(tc_emit *e, const tc_node *n, tc_sym cond);                /* cond holds, or a guard is recorded; false when it is known not to */
/* Gradient of argument i, if it is wanted, summed to its sizes and cast to its type. */
void tc_e_give(tc_emit *e, const tc_node *n, int arg, tc_value *g);
tc_status tc_grad_whole(tc_emit *e, const tc_node *n, tc_value *const *gs); /* of max, min, median over all elements */
/* Calls `op` with the node's own arguments and returns its results: for aliases, and overloads that differ only in name. */
tc_status tc_e_forward(tc_emit *e, const char *op, const tc_node *n);
/* Calls operator `op` with arguments that are complete and in schema order; returns its node. */
tc_node *tc_e_args(tc_emit *e, const char *op, const tc_arg *args, int nargs);
int tc_wrap(int64_t d, int rank);                              /* a dimension number already checked by the shape rule */
uint64_t tc_arg_dim_mask(const tc_node *n, int arg, int rank); /* int[]? dims, checked: none or empty means all */
const char *tc_arg_string(const tc_node *n, int i);            /* NULL when None */
tc_dtype tc_arg_dtype(const tc_node *n, int i, tc_dtype otherwise);
tc_scalar tc_arg_scalar(const tc_node *n, int i); /* constant number */

#endif
