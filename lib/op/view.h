/* The row of a primitive view, in the tables of view.c and view_strided.c. */
#ifndef TC_OP_VIEW_H
#define TC_OP_VIEW_H

#define VIEW(SCHEMA, name, grad_, inverse_, sample, text)                                                                                         \
    {                                                                                                                                             \
        .schema = "aten::" SCHEMA, .shape = shape_##name, .view_alias = alias_##name, .view_inverse = inverse_, .grad = grad_, .samples = sample, \
        .doc = text                                                                                                                               \
    }
/* A view that only names other sizes. */
#define RESIZED(SCHEMA, name, sample, text)                                                                                                    \
    {                                                                                                                                          \
        .schema = "aten::" SCHEMA, .flags = TC_OP_SAME_ORDER, .shape = shape_##name, .view_alias = alias_##name, .view_inverse = inverse_view, \
        .grad = grad_view, .samples = sample, .doc = text                                                                                      \
    }

#endif
