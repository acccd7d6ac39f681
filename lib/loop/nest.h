/* Nests: how a loop is walked. A nest has outer axes, inner axes and some of the loop's stores:
 *
 *     for every point of the outer axes            rows, in parallel
 *         for each stage                           ends where a reduction's result is needed
 *             for every point of the inner axes    reductions of the stage, stores of what is known by now
 *
 * The inner axes are those that the nest's reductions and scans run over; without any they are chosen when bound. A loop whose
 * reductions run over different axes, and one whose stores have different axes (cat), takes several nests, in order; a reduction that
 * another nest needs goes through a temporary buffer. */
#ifndef TC_LOOP_NEST_H
#define TC_LOOP_NEST_H

#include "loop/loop.h"

typedef struct {
    uint64_t outer, inner; /* inner is 0 without reductions and scans */
    int *stores;
    int nstores;
} tc_nest;

typedef struct {
    tc_loop *loop; /* the loop itself, or a copy with temporaries (buffers without a value) */
    bool own_loop;
    tc_nest *nests;
    int n;
} tc_schedule;

tc_status tc_loop_schedule(tc_loop *l, tc_schedule *out);
void tc_schedule_deinit(tc_schedule *s);
/* The schedule would be one nest and no temporary: what fusion asks before it keeps a fused loop. */
bool tc_loop_is_one_nest(const tc_loop *l);

#endif
