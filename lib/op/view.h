/* The row of a primitive view, in the tables of view.c and view_strided.c. */
#ifndef TC_OP_VIEW_H
#define TC_OP_VIEW_H

#define VIEW(SCHEMA, name, grad_, inverse_, sample, text)                                                                                         \
    {                                                                                                                                             \
        .schema = "aten::" SCHEMA, .shape = shape_##name, .view_alias = alias_##name, .view_inverse = inverse_, .grad = grad_, .samples = sample, \
        .doc = text                                                                                                                               \
    }

#endif
