/* Schedules a loop as a sequence of loop nests. A nest has outer axes, inner axes and some of the loop's stores:
 *
 *     for every point of the outer axes            rows, in parallel
 *         for each stage                           a stage ends where the result of a reduction is needed
 *             for every point of the inner axes    the stage's reductions, and the stores whose values are known by then
 *
 * The inner axes are those that the nest's reductions and scans run over; a nest without reductions gets its inner axes when it is bound. A loop
 * needs several nests, which run one after the other, if its reductions run over different axes or its stores have different axes (cat); a
 * reduction that another nest reads is then stored in a temporary buffer. */
#ifndef TC_LOOP_NEST_H
#define TC_LOOP_NEST_H

#include "loop/loop.h"

typedef struct {
    uint64_t outer, inner; /* bit masks of axes; inner is 0 without reductions and scans */
    int *stores;           /* numbers in tc_loop.stores */
    int nstores;
} tc_nest;

typedef struct {
    tc_loop *loop; /* the given loop, or a copy with temporaries (buffers without a value) */
    bool own_loop; /* it is a copy, which the schedule owns */
    tc_nest *nests;
    int n;
} tc_schedule;

tc_status tc_loop_schedule(tc_loop *l, tc_schedule *out);
void tc_schedule_deinit(tc_schedule *s);
/* Is the schedule one nest without temporaries? Fusion keeps only such loops. */
bool tc_loop_is_one_nest(const tc_loop *l);

#endif
