/* What attention written out in a model computes of its scores: any pointwise function of the first product, as soft caps and biases of score_mod.
 *
 *     s = q k^T;   x = 30 tanh(s / 30) + bias[i - j];   softmax(x) v
 *
 * Used by attention_pattern.c, which has counted the readers of each value in its aux. */
#ifndef TC_OP_ATTENTION_REGION_H
#define TC_OP_ATTENTION_REGION_H

#include "op/op.h"

#include <string.h>

static inline const tc_node *tc_attention_maker(const tc_value *v) { return v && v->kind == TC_V_TENSOR ? v->producer : NULL; }
static inline bool tc_attention_has_readers(const tc_value *v, int n) { return (uintptr_t)v->aux == (uintptr_t)n; }
static inline bool tc_attention_is(const tc_node *n, const char *name) {
    return n && !strcmp(tc_op_schema(n->op)->name, name) && !strncmp(tc_op_name(n->op), "aten", 4);
}
/* The operand of a node that only changes sizes before the last two dimensions; NULL: the node does something else. */
tc_value *tc_attention_shown(const tc_node *n);

/* The scores, of x's sizes and type, of which x, which that many nodes read, is a pointwise function, and their product; NULL: there are none, or something
 * else reads them or what is computed on the way. */
tc_value *tc_attention_region(tc_value *x, int readers, const tc_node **out_product);

#endif
