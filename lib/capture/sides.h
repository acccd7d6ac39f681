/* A model that branches on its sizes: a program for each side that the declared sizes reach.
 *
 *     if h == self.grid: return self.pos        a program with the guard h == 4: what its example size took
 *     ... interpolate ...                       a program with the guard h != 4: captured again, with a size that breaks the guard
 *
 * The evaluator is not told which way to go: sizes are looked for, within the declared ranges, at which every guard before a branch holds and
 * the branch itself does not, and forward is captured with these as its example. Each new program is searched in its turn, from that branch
 * on. A side that the model refuses (it raises) or that cannot be captured stays what it is without this: a guard. */
#ifndef TC_CAPTURE_SIDES_H
#define TC_CAPTURE_SIDES_H

#include "graph/graph.h"

/* A symbol of the inputs, in order of its appearance: the example and the declared range. Only declared ones are searched. */
typedef struct tc_side_size {
    int64_t value, lo, hi;
    bool declared;
} tc_side_size;

/* Sizes at which guards 0 .. at - 1 of p hold and guard `at` does not, and most of the others do; `now` are those p was captured with.
 * false: none was found. out: room for n. */
bool tc_side_find(const tc_program *p, size_t at, const tc_side_size *now, size_t n, tc_side_size *out);

typedef TC_VEC(tc_program *) tc_side_programs;
/* Captures with these sizes as its example; NULL where it cannot. */
typedef tc_program *(*tc_side_capture)(void *ctx, const tc_side_size *sizes, size_t n);
/* all holds one program, captured with `sizes`: appends those for its other sides, until there are `most`. */
void tc_sides(tc_side_programs *all, const tc_side_size *sizes, size_t n, size_t most, tc_side_capture capture, void *ctx);

#endif
