/* Placing lifetimes in an arena: largest first, lowest free place. */
#include "pass/arena.h"

static int larger(const void *a, const void *b) {
    const tc_lifetime *x = *(const tc_lifetime *const *)a, *y = *(const tc_lifetime *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

size_t tc_arena_plan(tc_lifetime *items, size_t n) {
    tc_lifetime **order = tc_xcalloc(n + 1, sizeof(tc_lifetime *)), **placed = tc_xcalloc(n + 1, sizeof(tc_lifetime *)); /* placed: by offset */
    size_t np = 0, top = 0;
    for (size_t i = 0; i < n; i++) order[i] = &items[i];
    qsort(order, n, sizeof *order, larger);
    for (size_t i = 0; i < n; i++) {
        tc_lifetime *t = order[i];
        size_t at = 0, k = 0, bytes = (t->bytes + 63) & ~(size_t)63;
        for (; k < np; k++) {
            const tc_lifetime *u = placed[k];
            if (u->last < t->first || t->last < u->first) continue;
            if (at + bytes <= u->offset) break;
            size_t end = u->offset + ((u->bytes + 63) & ~(size_t)63);
            if (end > at) at = end;
        }
        t->offset = at;
        for (k = np++; k && placed[k - 1]->offset > at; k--) placed[k] = placed[k - 1];
        placed[k] = t;
        if (at + bytes > top) top = at + bytes;
    }
    free(order);
    free(placed);
    return top;
}
