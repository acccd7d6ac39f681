/* Memory planning: offsets in one arena for buffers with live ranges. Greedy: each buffer goes to the lowest free offset, largest first; when the result
 * exceeds the peak of live bytes, also longest first and in order of definition. While the best is more than a sixteenth above that peak (and there are
 * not very many buffers), each order is improved: buffers that reached the top are placed first, and the rest again. The smallest result wins.
 *
 * Placed buffers are kept sorted by offset, and short-lived ones also in a list per step: a short-lived buffer is compared only with those that share a
 * step with it, so a chain of 10,000 operators takes linear time. */
#include "pass/arena.h"

#include "base/ints.h"

enum { SHORT = 16 }; /* steps */

static size_t rounded(const tc_lifetime *t) { return tc_pad64(t->bytes); }
static bool is_short(const tc_lifetime *t) { return t->last - t->first < SHORT; }

typedef int order_fn(const void *a, const void *b); /* of pointers to lifetimes */
#define PAIR(x, y) const tc_lifetime *x = *(const tc_lifetime *const *)a, *y = *(const tc_lifetime *const *)b
static int in_order(const void *a, const void *b) {
    PAIR(x, y);
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}
static int larger(const void *a, const void *b) {
    PAIR(x, y);
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return in_order(a, b);
}
static int longer(const void *a, const void *b) {
    PAIR(x, y);
    int n = x->last - x->first, m = y->last - y->first;
    if (n != m) return n < m ? 1 : -1;
    return larger(a, b);
}
static int by_step(const void *a, const void *b) {
    PAIR(x, y);
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return larger(a, b);
}

/* A short-lived buffer in the list of one of its steps. */
typedef struct entry {
    const tc_lifetime *t;
    struct entry *next;
} entry;
typedef struct {
    const tc_lifetime **placed, **lasting, **near; /* all; the long-lived ones; those that the next one is compared with: each sorted by offset */
    size_t nplaced, nlasting;
    entry **step, *free;
} placing;

/* Inserts t, keeping the list sorted by offset. */
static void insert(const tc_lifetime **list, size_t n, const tc_lifetime *t) {
    for (; n && list[n - 1]->offset > t->offset; n--) list[n] = list[n - 1];
    list[n] = t;
}
/* The lowest offset at which t overlaps none of the n buffers of the list, which is sorted by offset. */
static size_t lowest(const tc_lifetime *t, const tc_lifetime *const *list, size_t n) {
    size_t at = 0, bytes = rounded(t);
    for (size_t k = 0; k < n; k++) {
        const tc_lifetime *u = list[k];
        if (u->last < t->first || t->last < u->first) continue;
        if (at + bytes <= u->offset) break;
        size_t end = u->offset + rounded(u);
        if (end > at) at = end;
    }
    return at;
}
/* The placed buffers whose live ranges may intersect t's, sorted by offset: collected from t's steps, or all placed ones when that would be more than a
 * quarter of them. Returns their number; *out_list is valid until the next call. */
static size_t meet(placing *p, const tc_lifetime *t, const tc_lifetime *const **out_list) {
    size_t n = p->nlasting, limit = p->nplaced / 4;
    *out_list = p->placed;
    if (!is_short(t) || n > limit) return p->nplaced;
    memcpy(p->near, p->lasting, n * sizeof *p->near);
    for (int s = t->first; s <= t->last; s++)
        for (const entry *e = p->step[s]; e; e = e->next) {
            if ((e->t->first > t->first ? e->t->first : t->first) != s) continue; /* collected in an earlier step */
            if (n == limit) return p->nplaced;
            insert(p->near, n++, e->t);
        }
    *out_list = p->near;
    return n;
}
static void place(placing *p, tc_lifetime *t) {
    const tc_lifetime *const *list;
    size_t n = meet(p, t, &list);
    t->offset = lowest(t, list, n);
    insert(p->placed, p->nplaced++, t);
    if (!is_short(t)) {
        insert(p->lasting, p->nlasting++, t);
        return;
    }
    for (int s = t->first; s <= t->last; s++) {
        *p->free = (entry){t, p->step[s]};
        p->step[s] = p->free++;
    }
}

static size_t steps_of(const tc_lifetime *items, size_t n) {
    int last = 0;
    for (size_t i = 0; i < n; i++)
        if (items[i].last > last) last = items[i].last;
    return (size_t)last + 1;
}

size_t tc_arena_live(const tc_lifetime *items, size_t n) {
    size_t steps = steps_of(items, n), live = 0, most = 0;
    size_t *begins = tc_xcalloc(steps, sizeof *begins), *ends = tc_xcalloc(steps, sizeof *ends);
    for (size_t i = 0; i < n; i++) begins[items[i].first] += rounded(&items[i]), ends[items[i].last] += rounded(&items[i]);
    for (size_t s = 0; s < steps; s++) {
        live += begins[s];
        if (live > most) most = live;
        live -= ends[s];
    }
    free(begins), free(ends);
    return most;
}

/* Places the buffers in this order; returns the arena's size. */
static size_t place_all(tc_lifetime **order, size_t n, size_t steps) {
    size_t entries = 0, top = 0;
    for (size_t i = 0; i < n; i++)
        if (is_short(order[i])) entries += (size_t)(order[i]->last - order[i]->first) + 1;
    entry *pool = tc_xcalloc(entries + 1, sizeof *pool);
    placing p = {.placed = tc_xcalloc(n + 1, sizeof *p.placed),
                 .lasting = tc_xcalloc(n + 1, sizeof *p.lasting),
                 .near = tc_xcalloc(n + 1, sizeof *p.near),
                 .step = tc_xcalloc(steps, sizeof *p.step),
                 .free = pool};
    for (size_t i = 0; i < n; i++) {
        place(&p, order[i]);
        if (order[i]->offset + rounded(order[i]) > top) top = order[i]->offset + rounded(order[i]);
    }
    free(pool), free(p.placed), free(p.lasting), free(p.near), free(p.step);
    return top;
}

/* Moves the buffers that end at the top of the arena to the front of the order; `rest`: scratch for n. */
static void top_first(tc_lifetime **order, size_t n, size_t top, tc_lifetime **rest) {
    size_t high = 0, low = 0;
    for (size_t i = 0; i < n; i++)
        if (order[i]->offset + rounded(order[i]) == top) order[high++] = order[i];
        else rest[low++] = order[i];
    memcpy(order + high, rest, low * sizeof *order);
}

size_t tc_arena_plan(tc_lifetime *items, size_t n) {
    static order_fn *const orders[] = {larger, longer, by_step};
    enum { TRIES = 8, MANY = 1000 };
    const size_t least = tc_arena_live(items, n), steps = steps_of(items, n), tries = n <= MANY ? TRIES : 1;
    size_t top = SIZE_MAX;
    tc_lifetime **order = tc_xcalloc(2 * n + 1, sizeof *order);
    size_t *best = tc_xcalloc(n + 1, sizeof *best);
    for (size_t i = 0; i < n; i++) order[i] = &items[i];
    for (size_t k = 0; k < tries * sizeof orders / sizeof *orders && top > least; k++) {
        if (k % tries == 0) qsort(order, n, sizeof *order, orders[k / tries]);
        else if (top <= least + least / 16) continue;
        size_t found = place_all(order, n, steps);
        if (found < top) {
            top = found;
            for (size_t i = 0; i < n; i++) best[i] = items[i].offset;
        }
        top_first(order, n, found, order + n);
    }
    for (size_t i = 0; i < n; i++) items[i].offset = best[i];
    free(order), free(best);
    return top;
}
