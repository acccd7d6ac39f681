/* Splits a joint program (with gradients) into a forward program, which returns the results and the saved values, and a backward program, which computes
 * the gradients from them (tc-export --partition).
 *
 *     joint      x -> a -> b -> y,   tangent of y -> b' -> a' -> gradient of x      (b' reads a, a' reads x)
 *     forward    x -> a -> b -> y, saved.x, saved.a
 *     backward   saved.x, saved.a, tangent of y -> gradient of x
 *
 * A policy chooses the forward values to save; the others are recomputed in the backward, to the same bits (grad/recompute.c). */
#ifndef TC_PASS_PARTITION_H
#define TC_PASS_PARTITION_H

#include "graph/graph.h"

#define TC_SAVED "saved." /* prefix of the names of saved values */

typedef enum {
    TC_SAVE_ALL,      /* save every value that the backward reads, except views of weights */
    TC_RECOMPUTE_ALL, /* save only inputs and what cannot be recomputed (random values) */
    TC_MIN_CUT,       /* save the fewest bytes such that only operations that fuse are recomputed */
    TC_SAVE_LISTED    /* save the values that `save` names, and what cannot be recomputed */
} tc_save_policy;

/* Saved activations in 8 bits with a float32 scale per row, where that takes fewer bytes; inputs and weights stay as they are. */
typedef struct {
    tc_dtype to;          /* TC_F8E5M2 or TC_F8E4M3 */
    int n;                /* out: values */
    tc_sym before, after; /* out: their bytes before and after */
} tc_saved_as;

typedef struct {
    tc_save_policy policy;
    const char *const *save; /* names of values */
    size_t nsave;
    tc_saved_as *as; /* how saved values are stored; NULL: unchanged */
} tc_partition_options;

/* p: made by tc_grad_program or tc_grad_program_vjp; its forward ends with node `end` (NULL: empty). p is modified and stays the caller's. out: the
 * programs "forward" and "backward", the caller's. TC_USAGE: `save` names no value of the forward. */
tc_status tc_partition(tc_program *p, tc_node *end, const tc_partition_options *o, tc_program *out[2]);

/* save_as.c: applies only the 8-bit storage, to a program that is not split; *end: updated to the new end of the forward. */
tc_status tc_save_as(tc_program *p, tc_node **end, tc_saved_as *as);

void tc_print_saved_as(tc_buf *b, const tc_saved_as *s); /* one line of text, without newline */

tc_node *tc_drop_dead(tc_program *p, const tc_node *end);     /* dead code elimination; returns the last remaining node of the forward, or NULL */
bool tc_is_of_weight(const tc_program *p, const tc_value *v); /* a weight or a view of one */

#endif
