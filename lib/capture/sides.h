/* Models that branch on sizes: captures a program for each side that is reachable within the declared sizes.
 *
 *     if h == self.grid: return self.pos        a program with the guard h == 4: what its example size took
 *     ... interpolate ...                       a program with the guard h != 4: captured again, with a size that breaks the guard
 *
 * The evaluator is not told which branch to take. Instead, sizes within the declared ranges are searched for which all guards before a branch hold and
 * the branch's own guard does not, and forward is captured again with these as example sizes. Each new program is searched in turn, from that branch on.
 * A side that the model refuses (raises) or that cannot be captured remains a guard. */
#ifndef TC_CAPTURE_SIDES_H
#define TC_CAPTURE_SIDES_H

#include "graph/graph.h"

/* An input symbol, in order of appearance: example value and declared range. Only declared symbols are varied. */
typedef struct tc_side_size {
    int64_t value, lo, hi;
    bool declared;
} tc_side_size;

/* Finds sizes for which guards 0 .. at - 1 of p hold, guard `at` does not, and as many others as possible do. now: the sizes p was captured with; out:
 * the caller's array of n. false: none found. */
bool tc_side_find(const tc_program *p, size_t at, const tc_side_size *now, size_t n, tc_side_size *out);

typedef TC_VEC(tc_program *) tc_side_programs;
/* Callback: captures with these example sizes; NULL: not possible. */
typedef tc_program *(*tc_side_capture)(void *ctx, const tc_side_size *sizes, size_t n);
typedef struct {
    size_t most; /* programs in total */
    bool ones;   /* that an operator makes two sizes equal is a branch too: where one of them is 1, it may broadcast */
} tc_side_limits;
/* all: holds one program, captured with `sizes`; appends programs for other sides. May change sizes that the program makes equal. */
void tc_sides(tc_side_programs *all, tc_side_size *sizes, size_t n, tc_side_limits limits, tc_side_capture capture, void *ctx);

#endif
