/* Lowering an operator to loop IR: the functions that `lower` rules of rows are written with.
 *
 *     static tc_status lower_silu(tc_lower *l) {
 *         tc_lv x = tc_l_in(l, 0);
 *         return tc_l_out(l, 0, tc_l_mul(l, x, tc_l_op1(l, TC_X_SIGMOID, x)));
 *     }
 *
 * Axis i is dimension i of result 0, created before the rule runs. Reductions add axes.
 * Values of f16, bf16 and f8 tensors are f32 inside; tc_l_out rounds to the result's type. */
#ifndef TC_OP_LOWER_H
#define TC_OP_LOWER_H

#include "loop/loop.h"

typedef struct tc_lower {
    tc_loop *loop;
    const tc_node *node; /* args in schema order */
    int result_axes;     /* axes 0..result_axes-1 are the dimensions of result 0 */
    tc_status status;    /* first failure; later calls do nothing */
} tc_lower;

/* Argument i of the node at the result's axes, broadcast (sizes 1 and missing leading dimensions), cast to the result's compute
 * type (tc_l_in) or to `dtype` (tc_l_in_as; TC_DTYPE_NONE: its own compute type). Numbers work as tensors do. */
tc_lv tc_l_in(tc_lower *l, int arg);
tc_lv tc_l_in_as(tc_lower *l, int arg, tc_dtype dtype);
/* The argument as an element of type d, in d's compute type: numbers and tensors of other types are rounded to d. */
tc_lv tc_l_in_rounded(tc_lower *l, int arg, tc_dtype d);
/* The result's compute type (f32 for a bf16 result). */
tc_dtype tc_l_type(const tc_lower *l, int result);
/* A tensor (argument, element of a list argument) at an index given by the rule; one entry for each dimension of the value. */
tc_lv tc_l_load(tc_lower *l, tc_value *v, const tc_affine *index, const tc_lv *gather, tc_lv pred);
tc_affine tc_l_axis(tc_lower *l, int axis);                             /* the axis itself */
tc_affine tc_l_affine(tc_lower *l, tc_sym base, int axis, tc_sym coef); /* base + coef * axis; axis -1: base alone */
int tc_l_new_axis(tc_lower *l, tc_sym extent);                          /* for reductions */
tc_lv tc_l_index(tc_lower *l, tc_affine a);                             /* as an i64 value */
tc_lv tc_l_const(tc_lower *l, tc_dtype d, tc_scalar v);
tc_lv tc_l_int(tc_lower *l, int64_t v);         /* the constant v, an int64 */
tc_lv tc_l_zero(tc_lower *l, tc_dtype d);       /* 0 in type d */
tc_lv tc_l_both(tc_lower *l, tc_lv a, tc_lv b); /* a and b; TC_LV_NONE is a condition that always holds */
tc_lv tc_l_f(tc_lower *l, tc_dtype d, double v);
tc_lv tc_l_host(tc_lower *l, tc_dtype d, tc_sym number);
tc_lv tc_l_cast(tc_lower *l, tc_lv v, tc_dtype d);
tc_lv tc_l_round(tc_lower *l, tc_lv v, tc_dtype d); /* v rounded to dtype d, in d's compute type */
tc_lv tc_l_op1(tc_lower *l, tc_scalar_op op, tc_lv a);
tc_lv tc_l_op2(tc_lower *l, tc_scalar_op op, tc_lv a, tc_lv b); /* operands of one type */
tc_lv tc_l_op3(tc_lower *l, tc_scalar_op op, tc_lv a, tc_lv b, tc_lv c);
static inline tc_lv tc_l_add(tc_lower *l, tc_lv a, tc_lv b) { return tc_l_op2(l, TC_X_ADD, a, b); }
static inline tc_lv tc_l_sub(tc_lower *l, tc_lv a, tc_lv b) { return tc_l_op2(l, TC_X_SUB, a, b); }
static inline tc_lv tc_l_mul(tc_lower *l, tc_lv a, tc_lv b) { return tc_l_op2(l, TC_X_MUL, a, b); }
static inline tc_lv tc_l_div(tc_lower *l, tc_lv a, tc_lv b) { return tc_l_op2(l, TC_X_DIV, a, b); }
static inline tc_lv tc_l_where(tc_lower *l, tc_lv c, tc_lv a, tc_lv b) { return tc_l_op3(l, TC_X_WHERE, c, a, b); }
tc_lv tc_l_reduce(tc_lower *l, tc_reduce_op op, tc_lv v, uint64_t over);
tc_lv tc_l_part(tc_lower *l, tc_lv tuple, int part);
tc_lv tc_l_scan(tc_lower *l, tc_reduce_op op, tc_lv v, int axis);
/* Stores result i: at its own axes (aligned with those of result 0 at the last dimension; size 1: index 0), cast and rounded to its type. _at: at
 * another index, where pred holds (pad, cat). */
tc_status tc_l_out(tc_lower *l, int result, tc_lv v);
tc_status tc_l_out_at(tc_lower *l, int result, const tc_affine *index, tc_lv v, tc_lv pred);

/* Runs the rule of node->op; *out_loop: the node's loop, the caller's. */
tc_status tc_lower_node(tc_program *p, const tc_node *node, tc_loop **out_loop);

#endif
