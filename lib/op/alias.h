/* Internal to functionalisation (functionalise.h): tensors, their views, and their current values.
 *
 *     tensor --> alias: view of parent alias (op, arguments) ... --> base: {current value, version}
 *
 * A tc_value of the source program names a tensor; in-place views (unsqueeze_) give that tensor another alias. An alias caches its value for a version
 * of the base; after a mutation it is recomputed on the next read. */
#ifndef TC_OP_ALIAS_H
#define TC_OP_ALIAS_H

#include "op/emit.h"
#include "op/functionalise.h"

/* A use of a tensor as operand or result of a node whose results require a gradient. */
typedef struct tc_alias_use {
    tc_node *node;
    int place, element; /* as in tc_overwritten */
    const struct tc_alias_use *next;
} tc_alias_use;

typedef struct {
    tc_value *current;
    unsigned version;         /* incremented by each mutation */
    int input;                /* index in program->inputs, or -1 */
    bool given;               /* an operand of a body, which gives its last value as a result */
    int checkpoint;           /* the torch.utils.checkpoint call that allocated it; 0: none */
    const tc_alias_use *uses; /* uses of the current value */
} tc_alias_base;

typedef struct tc_alias {
    tc_alias_base *base;
    struct tc_alias *parent; /* NULL: the base itself */
    tc_view_step view;       /* of the parent */
    const tc_meta *meta;     /* type in the source program (the current value may have other strides); NULL: not computed yet */
    tc_value *value;         /* at `version` */
    unsigned version;
    /* for detach(): the value last written through it, whose autograd history is not the parent's; NULL: none with a gradient */
    tc_value *own;
    struct tc_alias **parts; /* for an element of a list result (split, unbind): the aliases of all elements; else NULL */
} tc_alias;

typedef struct {
    tc_alias *a;
} tc_alias_tensor;

struct tc_functional {
    tc_graph *g;
    tc_arena arena;
    TC_VEC(tc_alias_tensor *) tensors; /* by value id; NULL: never viewed nor mutated */
    TC_VEC(tc_value *) inlined;        /* by value id: replacement for a result of an inlined region */
    TC_VEC(int) inputs;                /* by value id: 1 + which input of the program the value is, or 0 */
    TC_VEC(int) tied;                  /* by input: next input with the same tensor (a ring) */
    tc_map places;                     /* storage of inputs -> 1 + first input */
    tc_node *last;                     /* last rewritten node */
    const tc_node *failed;             /* node that could not be rewritten, or NULL */
    tc_emit e;
};

/* ---- alias.c ---- */
tc_alias_tensor *tc_alias_of(tc_functional *f, tc_value *v); /* the tensor that v names, a new base if v is unknown */
tc_alias *tc_alias_new(tc_functional *f, tc_alias *parent, const tc_view_step *view, tc_value *v);
void tc_alias_name(tc_functional *f, const tc_value *v, tc_alias *a);         /* makes v name a new tensor with alias a */
void tc_alias_same(tc_functional *f, const tc_value *out, tc_value *target);  /* makes out name target's tensor */
tc_status tc_alias_value(tc_functional *f, tc_alias *a, tc_value **out);      /* the current value of a; may append nodes */
tc_status tc_alias_meta(tc_functional *f, tc_alias *a, const tc_meta **out);  /* its type in the source program */
tc_status tc_alias_in_steps(tc_functional *f, tc_alias *a, tc_value *parent); /* replaces a composite view by a chain of primitive ones */
/* Assigns v to target, cast and broadcast as a mutation does. */
tc_status tc_alias_write(tc_functional *f, tc_value *target, tc_value *v, bool may_resize);
tc_value *tc_alias_settled(const tc_functional *f, tc_value *v); /* resolves results of inlined regions */

/* uses.c: tracks tensors that a gradient needs and that were mutated since, which PyTorch detects by version counters. m: the rewritten node, source[]:
 * its arguments in the source program; out: the tensor that holds `result`. */
void tc_alias_uses(tc_functional *f, tc_node *m, const tc_arg *source);
void tc_alias_makes(tc_functional *f, tc_node *m, int result, tc_value *out);
/* Call after a mutation other than through detach() or .data; the uses of `by`, where given, do not count. */
void tc_alias_overwrites(tc_functional *f, tc_value *target, const tc_node *by);

/* alias_strided.c: rewrites n, an as_strided of `source`, as one of the base, since its strides refer to memory. */
tc_status tc_alias_strided(tc_functional *f, tc_node *n, tc_value *source);

/* regions.c: inlines every region (no_grad, autocast, checkpoint) from this node on. */
tc_status tc_inline_regions(tc_functional *f, tc_node *from);

#endif
