/* Inside functionalisation (functionalise.h): tensors, views of them, and what they hold.
 *
 *     tensor --> alias: view of parent alias (op, arguments) ... --> base: {current value, version}
 *
 * A tc_value of the source names a tensor; in-place views (unsqueeze_) give the tensor another alias. An alias remembers the value
 * it had at a version of the base and is taken again when the version has moved on. */
#ifndef TC_OP_ALIAS_H
#define TC_OP_ALIAS_H

#include "op/emit.h"
#include "op/functionalise.h"

/* An operand or result of a node whose results require a gradient. */
typedef struct tc_alias_use {
    tc_node *node;
    int place, element; /* as in tc_overwritten */
    const struct tc_alias_use *next;
} tc_alias_use;

typedef struct {
    tc_value *current;
    unsigned version;         /* counts writes */
    int input;                /* index in program->inputs, or -1 */
    int checkpoint;           /* the call of torch.utils.checkpoint that made its memory; 0: none */
    const tc_alias_use *uses; /* of what it holds now */
} tc_alias_base;

typedef struct tc_alias {
    tc_alias_base *base;
    struct tc_alias *parent; /* NULL: the base itself */
    tc_view_step view;       /* of the parent */
    const tc_meta *meta;     /* as the program has it: a value that stands for it may lie otherwise in memory; NULL: not asked yet */
    tc_value *value;         /* at `version` */
    unsigned version;
    tc_value *own;           /* of detach(): what was written through it last, whose history is not the parent's; NULL: nothing with a gradient */
    struct tc_alias **parts; /* of an element of a list (split, unbind): those of all its elements; else NULL */
} tc_alias;

typedef struct {
    tc_alias *a;
} tc_alias_tensor;

struct tc_functional {
    tc_graph *g;
    tc_arena arena;
    TC_VEC(tc_alias_tensor *) tensors; /* by value id; NULL: never viewed nor written, the value itself */
    TC_VEC(tc_value *) inlined;        /* by value id: what a result of an inlined region is */
    TC_VEC(int) inputs;                /* by value id: 1 + which input of the program the value is, or 0 */
    TC_VEC(int) tied;                  /* by input: the next one that holds the same tensor, in a ring */
    tc_map places;                     /* what inputs hold -> 1 + the first of them */
    tc_node *last;                     /* of what was rewritten */
    const tc_node *failed;             /* which could not be, or NULL */
    tc_emit e;
};

/* ---- alias.c ---- */
tc_alias_tensor *tc_alias_of(tc_functional *f, tc_value *v); /* the tensor that v names, made a base when nothing is known of it */
tc_alias *tc_alias_new(tc_functional *f, tc_alias *parent, const tc_view_step *view, tc_value *v);
void tc_alias_name(tc_functional *f, const tc_value *v, tc_alias *a);         /* v names a tensor of its own, which is a */
void tc_alias_same(tc_functional *f, const tc_value *out, tc_value *target);  /* out's tensor is target's from now on */
tc_status tc_alias_value(tc_functional *f, tc_alias *a, tc_value **out);      /* what a holds now; may append nodes */
tc_status tc_alias_meta(tc_functional *f, tc_alias *a, const tc_meta **out);  /* its type as the program has it */
tc_status tc_alias_in_steps(tc_functional *f, tc_alias *a, tc_value *parent); /* a view that consists of others becomes a chain of those */
/* target takes the value v (cast and broadcast as a write does). */
tc_status tc_alias_write(tc_functional *f, tc_value *target, tc_value *v, bool may_resize);
tc_value *tc_alias_settled(const tc_functional *f, tc_value *v); /* past the regions that were inlined */

/* uses.c: PyTorch refuses a gradient that needs what was written to since (its version counters). m has source[] as the program named its arguments;
 * `result` of it is what the tensor `out` holds. */
void tc_alias_uses(tc_functional *f, tc_node *m, const tc_arg *source);
void tc_alias_makes(tc_functional *f, tc_node *m, int result, tc_value *out);
void tc_alias_overwrites(tc_functional *f, tc_value *target); /* after a write that is not through detach() or .data */

/* alias_strided.c: n, an as_strided of `source`, becomes one of the base, since it tells of memory and not of the tensor. */
tc_status tc_alias_strided(tc_functional *f, tc_node *n, tc_value *source);

/* regions.c: the nodes of every region (no_grad, autocast, checkpoint) from this node on take its place. */
tc_status tc_inline_regions(tc_functional *f, tc_node *from);

#endif
