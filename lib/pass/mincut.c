/* Dinic's algorithm: breadth-first levels, then augmenting paths along them until none is left. Not recursive: paths are as long as programs. */
#include "pass/mincut.h"

typedef struct {
    size_t to, next; /* next edge of the same vertex + 1 */
    int64_t room;    /* residual capacity; edges e and e ^ 1 are the two directions */
} edge;

struct tc_mincut {
    size_t n;
    size_t *first, *at; /* by vertex: first edge, and next edge to try; + 1 */
    int *level;
    TC_VEC(edge) edges;
};

tc_mincut *tc_mincut_create(size_t n) {
    tc_mincut *g = tc_xcalloc(1, sizeof *g);
    g->n = n;
    g->first = tc_xcalloc(n + 1, sizeof *g->first);
    g->at = tc_xcalloc(n + 1, sizeof *g->at);
    g->level = tc_xcalloc(n + 1, sizeof *g->level);
    return g;
}

static void half(tc_mincut *g, size_t from, size_t to, int64_t room) {
    edge e = {to, g->first[from], room};
    tc_vec_push(&g->edges, e);
    g->first[from] = g->edges.len;
}

void tc_mincut_edge(tc_mincut *g, size_t from, size_t to, int64_t capacity) {
    half(g, from, to, capacity);
    half(g, to, from, 0);
}

/* Computes levels; is the sink reachable? */
static bool find_levels(tc_mincut *g, size_t source, size_t sink, size_t *queue) {
    for (size_t v = 0; v < g->n; v++) g->level[v] = -1;
    size_t head = 0, tail = 0;
    g->level[queue[tail++] = source] = 0;
    while (head < tail) {
        size_t v = queue[head++];
        for (size_t e = g->first[v]; e; e = g->edges.data[e - 1].next) {
            const edge *x = &g->edges.data[e - 1];
            if (x->room <= 0 || g->level[x->to] >= 0) continue;
            g->level[x->to] = g->level[v] + 1;
            queue[tail++] = x->to;
        }
    }
    return g->level[sink] >= 0;
}

/* Augments along one path; path: scratch for its edges. Returns the flow, 0 when no path is left. */
static int64_t push_path(tc_mincut *g, size_t source, size_t sink, size_t *path) {
    size_t len = 0, v = source;
    while (v != sink) {
        size_t e = g->at[v];
        while (e && (g->edges.data[e - 1].room <= 0 || g->level[g->edges.data[e - 1].to] != g->level[v] + 1)) e = g->edges.data[e - 1].next;
        g->at[v] = e;
        if (e) {
            path[len++] = e - 1;
            v = g->edges.data[e - 1].to;
        } else if (!len) {
            return 0;
        } else { /* dead end: backtrack, and skip the edge that led here */
            v = g->edges.data[path[--len] ^ 1].to;
            g->at[v] = g->edges.data[path[len]].next;
        }
    }
    int64_t least = TC_MINCUT_NEVER;
    for (size_t i = 0; i < len; i++)
        if (g->edges.data[path[i]].room < least) least = g->edges.data[path[i]].room;
    for (size_t i = 0; i < len; i++) {
        g->edges.data[path[i]].room -= least;
        g->edges.data[path[i] ^ 1].room += least;
    }
    return least;
}

int64_t tc_mincut_solve(tc_mincut *g, size_t source, size_t sink, bool *out_side) {
    size_t *work = tc_xcalloc(g->n + 1, sizeof *work);
    int64_t total = 0, flow;
    while (total < TC_MINCUT_NEVER && find_levels(g, source, sink, work)) {
        memcpy(g->at, g->first, g->n * sizeof *g->at);
        while (total < TC_MINCUT_NEVER && (flow = push_path(g, source, sink, work)) > 0) total += flow;
    }
    for (size_t v = 0; v < g->n; v++) out_side[v] = g->level[v] >= 0;
    free(work);
    return total;
}

void tc_mincut_destroy(tc_mincut *g) {
    if (!g) return;
    free(g->first);
    free(g->at);
    free(g->level);
    tc_vec_free(&g->edges);
    free(g);
}
