/* Optional steps of planning, counted: passes, fusions, epilogues, packed weights, compiled groups. A program that is planned with the
 * first N steps only is correct too, so the step that makes a result differ is found by halving (tc-compile --bisect).
 *
 *     if (tc_steps_left(steps)) { ...; tc_steps_took(steps, "exp joins the loop of softmax"); } */
#ifndef TC_BASE_STEPS_H
#define TC_BASE_STEPS_H

#include "base/mem.h"

typedef struct {
    int64_t limit, taken; /* limit -1: all */
    tc_buf log;           /* one line for each step */
} tc_stepping;

/* May one more step be taken? NULL: always. */
static inline bool tc_steps_left(const tc_stepping *s) { return !s || s->limit < 0 || s->taken < s->limit; }
void tc_steps_took(tc_stepping *s, const char *fmt, ...) TC_PRINTF(2, 3); /* NULL: nothing */
/* Both at once. */
#define TC_STEP(s, ...) (tc_steps_left(s) && (tc_steps_took(s, __VA_ARGS__), true))

#endif
