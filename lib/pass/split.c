/* Chooses where to cut a program (split.h). */
#include "pass/split.h"

#include "op/op.h"
#include "pass/value_bytes.h"

#include <stdio.h>
#include <string.h>

static void explain(tc_buf *log, const tc_node *n, int piece, const char *why) {
    if (log) tc_buf_printf(log, "  %s (%s): piece %d, %s\n", n->name ? n->name : "?", tc_op_name(n->op), piece, why);
}

/* ---- pieces of equal work ---- */
typedef struct {
    const tc_symvalue *vars;
    size_t nvars;
    double bytes;
} weight;

static void add_operand(void *ctx, tc_value **place) {
    weight *w = ctx;
    if (*place) w->bytes += (double)tc_value_bytes(*place, w->vars, w->nvars);
}

static double bytes_moved(const tc_node *n, const tc_symvalue *vars, size_t nvars) {
    weight w = {vars, nvars, 0};
    tc_node_each_input(n, add_operand, &w);
    for (int i = 0; i < n->nouts; i++) w.bytes += (double)tc_value_bytes(n->outs[i], vars, nvars);
    return w.bytes;
}

int tc_split_evenly(const tc_program *p, int n, int *piece, tc_buf *log) {
    size_t nvars, left = p->graph->nnodes, i = 0;
    tc_symvalue *vars = tc_typical_sizes(p, &nvars);
    double total = 0, before = 0;
    int k = 0;
    if ((size_t)n > left) n = left ? (int)left : 1;
    for (const tc_node *m = p->graph->first; m; m = m->next) total += bytes_moved(m, vars, nvars);
    for (const tc_node *m = p->graph->first; m; m = m->next, left--) {
        double half = bytes_moved(m, vars, nvars) / 2; /* a node belongs to the piece that its midpoint falls into */
        bool due = before + half > total * (k + 1) / n, must = left == (size_t)(n - k - 1);
        if (i && k + 1 < n && (must || (due && piece[i - 1] == k))) k++;
        before += 2 * half;
        piece[i++] = k;
        if (log) {
            char why[64];
            snprintf(why, sizeof why, "which ends at %.1f %% of the bytes moved", total > 0 ? 100 * before / total : 100);
            explain(log, m, k, why);
        }
    }
    free(vars);
    return k + 1;
}

/* ---- pieces by module ---- */
/* Length of the prefix of path (which ends at ';' or NUL) that matches the pattern, in whole components, including the call number; 0: no match. */
static size_t matched(const char *pattern, const char *path) {
    const char *start = path;
    for (;;) {
        size_t a = strcspn(pattern, "."), b = strcspn(path, ".@;");
        if (!b || !((a == 1 && *pattern == '*') || (a == b && !strncmp(pattern, path, a)))) return 0;
        path += b;
        pattern += a;
        if (!*pattern) return (size_t)(path - start) + (*path == '@' ? strcspn(path, ";") : 0);
        if (*path != '.') return 0;
        pattern++, path++;
    }
}

int tc_split_by_module(const tc_program *p, const char *pattern, int *piece, tc_buf *log) {
    const char *now = NULL;
    size_t len = 0, i = 0;
    int k = -1;
    bool any = false;
    for (const tc_node *m = p->graph->first; m; m = m->next) {
        const char *path = m->source.calls ? m->source.calls : "", *outer = path;
        size_t n = matched(pattern, path);
        while (!n && (outer = strchr(outer, ';'))) n = matched(pattern, path = ++outer);
        if (k < 0 || n != len || strncmp(path, now, n)) k++;
        now = path;
        len = n;
        any |= n > 0;
        piece[i++] = k;
        if (log) {
            tc_buf why = {0};
            if (n) tc_buf_printf(&why, "as part of module %.*s", (int)n, path);
            else tc_buf_printf(&why, "as module '%s' does not match %s", path, pattern);
            explain(log, m, k, tc_buf_str(&why));
            tc_buf_free(&why);
        }
    }
    return any ? k + 1 : 0;
}
