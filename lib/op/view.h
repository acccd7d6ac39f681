/* The row of a primitive view, in the tables of view.c and view_strided.c. */
#ifndef TC_OP_VIEW_H
#define TC_OP_VIEW_H

#include "graph/graph.h"

struct tc_emit;
extern const struct tc_otherwise tc_select_otherwise;                   /* select with a data-dependent index: by index tensors; slice_scatter.c */
bool tc_view_fits(tc_program *p, const tc_meta *m, const tc_meta *now); /* view.c */

#define VIEW(SCHEMA, name, grad_, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = shape_##name, .view_alias = alias_##name, .grad = grad_, .samples = sample, .doc = text }
/* A view that only has other sizes. */
#define RESIZED(SCHEMA, name, sample, text)                                                                                         \
    {                                                                                                                               \
        .schema = "aten::" SCHEMA, .flags = TC_OP_SAME_ORDER, .shape = shape_##name, .view_alias = alias_##name, .grad = grad_view, \
        .samples = sample, .doc = text                                                                                              \
    }

#endif
