/* Offsets in one arena for things with lifetimes: two that live at the same time do not share bytes. */
#ifndef TC_PASS_ARENA_H
#define TC_PASS_ARENA_H

#include "base/mem.h"

typedef struct {
    size_t bytes, offset;
    int first, last;
} tc_lifetime; /* lives in steps first..last, both included */

/* Sets offset of each (multiples of 64); returns the bytes of the arena. At best what tc_arena_live answers. */
size_t tc_arena_plan(tc_lifetime *items, size_t n);
/* The most bytes that live in one step: no arena is smaller. */
size_t tc_arena_live(const tc_lifetime *items, size_t n);

#endif
