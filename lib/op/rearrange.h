/* Helpers shared by rearrange.c, pad.c and slice_scatter.c. */
#ifndef TC_OP_REARRANGE_H
#define TC_OP_REARRANGE_H

#include "op/lower.h"
#include "op/shape.h"

static inline tc_lv zero(tc_lower *l) { return tc_l_cast(l, tc_l_int(l, 0), tc_l_type(l, 0)); }
static inline tc_sym sint(const tc_lower *l, int64_t v) { return tc_sym_int(l->loop->sym, v); }
static inline tc_affine at(tc_lower *l, const tc_meta *m, int d, int axis) {
    return tc_sym_is_int(m->size[d], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, axis);
}

#define ROW(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define SHAPED(SCHEMA, shape_, decompose_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .decompose = decompose_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, decompose_, sample, text) SHAPED(SCHEMA, tc_shape_decomposed, decompose_, sample, text)

#endif
