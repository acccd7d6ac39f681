/* A program with gradients as two: one that computes the results and hands over what the other needs, and one that computes the gradients.
 *
 *     joint      x -> a -> b -> y,   tangent of y -> b' -> a' -> gradient of x      (b' reads a, a' reads x)
 *     forward    x -> a -> b -> y, saved.x, saved.a
 *     backward   saved.x, saved.a, tangent of y -> gradient of x
 *
 * A policy says which values of the forward are kept; the others are computed again in the backward, to the same bits (grad/recompute.c). */
#ifndef TC_PASS_PARTITION_H
#define TC_PASS_PARTITION_H

#include "graph/graph.h"

#define TC_SAVED "saved." /* what the names of handed over values begin with */

typedef enum {
    TC_SAVE_ALL,      /* every value that the backward reads, but views of weights */
    TC_RECOMPUTE_ALL, /* what cannot be computed again, and inputs */
    TC_MIN_CUT,       /* the fewest bytes such that only what fuses into loops is computed again */
    TC_SAVE_LISTED    /* the values that `save` names, and what cannot be computed again */
} tc_save_policy;

/* What the backward reads of the forward, handed over in 8 bits with a scale of float32 for each row, where that takes fewer bytes; inputs and
 * weights stay as they are. */
typedef struct {
    tc_dtype to;          /* TC_F8E5M2 or TC_F8E4M3 */
    int n;                /* out: values */
    tc_sym before, after; /* out: their bytes */
} tc_saved_as;

typedef struct {
    tc_save_policy policy;
    const char *const *save; /* names of values */
    size_t nsave;
    tc_saved_as *as; /* of the values that are kept; NULL: as they are */
} tc_partition_options;

/* p: of tc_grad_program or tc_grad_program_vjp, whose forward ends with node `end` (NULL: it has none); it is changed, and remains the caller's. out: the
 * programs "forward" and "backward". TC_USAGE: a name that no value of the forward has. */
tc_status tc_partition(tc_program *p, tc_node *end, const tc_partition_options *o, tc_program *out[2]);

/* save_as.c: the same of a program that stays one; *end moves to the new end of the forward. */
tc_status tc_save_as(tc_program *p, tc_node **end, tc_saved_as *as);

void tc_print_saved_as(tc_buf *b, const tc_saved_as *s); /* one line for people, without its end */

tc_node *tc_drop_dead(tc_program *p, const tc_node *end);     /* what no result reads goes; the last node of the forward that is left, or NULL */
bool tc_is_of_weight(const tc_program *p, const tc_value *v); /* a weight or a view of one */

#endif
