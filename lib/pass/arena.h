/* Memory planning: offsets in one arena for buffers with live ranges; buffers that are live at the same time do not overlap. Called by runtime/run.c
 * when sizes are bound. */
#ifndef TC_PASS_ARENA_H
#define TC_PASS_ARENA_H

#include "base/mem.h"

typedef struct {
    size_t bytes, offset;
    int first, last;
} tc_lifetime; /* live in the steps first..last, inclusive */

/* Sets the offset of each buffer, a multiple of 64; returns the bytes of the arena, at least tc_arena_live. */
size_t tc_arena_plan(tc_lifetime *items, size_t n);
/* The peak of live bytes over all steps: the lower bound for any arena. */
size_t tc_arena_live(const tc_lifetime *items, size_t n);

#endif
