/* Helpers for gradients of pointwise functions of several tensors (pointwise_binary.c, pointwise_ternary.c). */
#ifndef TC_OP_POINTWISE_H
#define TC_OP_POINTWISE_H

#include "op/emit.h"
#include "op/shape.h"

static inline bool is_number(const tc_node *n, int i, double v) {
    tc_kind k;
    tc_scalar s;
    if (!tc_arg_number(&n->args[i], &k) || n->args[i].kind == TC_A_VALUE || (n->args[i].kind == TC_A_SCALAR && n->args[i].is_sym)) return false;
    if (n->args[i].kind == TC_A_INT && tc_sym_opcode(n->args[i].sym) != TC_S_CONST) return false;
    s = tc_arg_scalar(n, i);
    return tc_scalar_is(s, v);
}
static inline tc_value *with_arg(tc_emit *e, const char *op, tc_value *a, const tc_node *n, int i) {
    return tc_emit_call(e, op, "va", a, &n->args[i]);
}
static inline tc_value *times(tc_emit *e, tc_value *g, const tc_node *n, int i) { return with_arg(e, "aten::mul.Tensor", g, n, i); }
static inline tc_value *over(tc_emit *e, tc_value *g, const tc_node *n, int i) { return with_arg(e, "aten::div.Tensor", g, n, i); }
static inline tc_value *args2(tc_emit *e, const char *op, const tc_node *n, int a, int b) {
    return tc_emit_call(e, op, "aa", &n->args[a], &n->args[b]);
}
static inline tc_value *only(tc_emit *e, tc_value *mask, tc_value *g) {
    return tc_emit_call(e, "aten::where.ScalarOther", "vvz", mask, g, tc_scalar_int(0));
}
static inline tc_value *except(tc_emit *e, tc_value *mask, tc_value *g) {
    return tc_emit_call(e, "aten::where.ScalarSelf", "vzv", mask, tc_scalar_int(0), g);
}
/* g c, 0 where mask is set; so is the transpose, whatever c is there */
static inline tc_value *product_except(tc_emit *e, tc_value *mask, tc_value *g, tc_value *c) {
    if (e->graph->program->forward_mode) c = except(e, mask, c);
    return except(e, mask, tc_e_mul(e, g, c));
}
static inline tc_value *scaled(tc_emit *e, tc_value *g, const tc_node *n, int i) { return is_number(n, i, 1) ? g : times(e, g, n, i); }
/* Holomorphic functions: the formula on the reals, with the conjugate of g, gives the conjugate of the gradient. */
static inline tc_value *conjugate(tc_emit *e, tc_value *g) { return tc_e_conj(e, g); }
static inline void give(tc_emit *e, const tc_node *n, int i, tc_value *v) { tc_e_give(e, n, i, conjugate(e, v)); }

#endif
