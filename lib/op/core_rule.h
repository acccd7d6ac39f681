/* What the rules to core ATen operators share (core_pointwise.c, core_tensors.c, core_networks.c, core_backward.c; asked by core_rules.c).
 *
 * A rule computes in the type that the operator computes in, float32 for shorter floats, and rounds once at the end. In a rule, e is the emitter
 * and n the node that is replaced. */
#ifndef TC_OP_CORE_RULE_H
#define TC_OP_CORE_RULE_H

#include "op/decompose.h"
#include "op/shape.h"

#include <math.h>
#include <string.h>

/* A row of a family's table; the last row of a table has no name. */
typedef struct {
    const char *name; /* without aten:: */
    tc_decompose_fn rule;
    int when; /* 0: always; TC_CORE_REAL */
} tc_core_row;
#define TC_CORE_REAL 1 /* the rule applies only if no argument is complex */
extern const tc_core_row tc_core_pointwise[], tc_core_tensors[], tc_core_networks[], tc_core_backward[];

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)
#define F1(op, a) tc_e1(e, "aten::" op, a)
#define F2(op, a, b) tc_e2(e, "aten::" op, a, b)
#define CMP(op, a, number) ATEN(op ".Scalar", "vf", a, (double)(number))
#define WHERE(c, a, b) tc_e3(e, "aten::where.self", c, a, b)

/* v in the type that its operators compute in; NULL stays NULL. */
static inline tc_value *up(tc_emit *e, tc_value *v) { return v ? tc_e_cast(e, v, tc_dtype_compute(v->meta.dtype)) : NULL; }
static inline tc_value *scalar(tc_emit *e, double v, tc_dtype d) { return ATEN("scalar_tensor", "fd", v, (int)d); }
static inline tc_value *like(tc_emit *e, double v, const tc_value *x) { return scalar(e, v, x ? x->meta.dtype : TC_F32); }
/* v, rounded to its type, is result i of n. */
static inline tc_status give(tc_emit *e, const tc_node *n, int i, tc_value *v) {
    tc_emit_result(e, i, tc_e_cast(e, v, n->outs[i]->meta.dtype));
    return tc_e_done(e);
}
static inline tc_dtype dtype_of(const tc_node *n) { return n->outs[0]->meta.dtype; }
static inline tc_value *full(tc_emit *e, const tc_node *n, const tc_arg *v) { /* a number argument in the type of the result */
    return ATEN("full", "Iad", NULL, 0, v, (int)dtype_of(n));
}
/* Argument i: a tensor, or a number as tensor. */
static inline tc_value *given(tc_emit *e, const tc_node *n, int i) { return up(e, tc_arg_meta(n, i) ? tc_arg_value(n, i) : full(e, n, &n->args[i])); }
/* 0 .. size - 1, as int64 row or column. */
static inline tc_value *positions(tc_emit *e, tc_sym size, bool column) {
    tc_value *i = ATEN("arange", "sd", size, (int)TC_I64);
    return column ? ATEN("unsqueeze", "vi", i, (int64_t)-1) : i;
}
static inline tc_value *abs_of(tc_emit *e, tc_value *x) { return F1("abs", x); }
/* softplus */
static inline tc_value *soft(tc_emit *e, tc_value *x, double beta, double threshold) {
    tc_value *b = tc_e_muls(e, x, beta);
    return WHERE(CMP("gt", b, threshold), x, tc_e_muls(e, F1("log1p", F1("exp", b)), 1 / beta));
}

/* Rules of one expression: x, y and w are the first three arguments. */
#define RULE(name, expression)                                   \
    static tc_status core_##name(tc_emit *e, const tc_node *n) { \
        tc_value *x = up(e, tc_arg_value(n, 0));                 \
        return give(e, n, 0, expression);                        \
    }
#define RULE2(name, expression)                                  \
    static tc_status core_##name(tc_emit *e, const tc_node *n) { \
        tc_value *x = given(e, n, 0), *y = given(e, n, 1);       \
        return give(e, n, 0, expression);                        \
    }
#define RULE3(name, expression)                                                 \
    static tc_status core_##name(tc_emit *e, const tc_node *n) {                \
        tc_value *x = given(e, n, 0), *y = given(e, n, 1), *w = given(e, n, 2); \
        return give(e, n, 0, expression);                                       \
    }

#endif
