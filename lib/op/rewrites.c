/* --log rewrites (rewrites.h): groups nodes by the node that they were derived from (tc_node.origin). */
#include "op/rewrites.h"

typedef struct {
    int count;
    tc_buf places;
} pattern;

/* The nodes from n on that have the same origin: their pattern as text, and the node after them. */
static const tc_node *read_pattern(const tc_node *n, tc_buf *text) {
    const tc_node *from = n->origin;
    tc_buf_printf(text, "%s ->", tc_op_name(from->op));
    for (const char *sep = " "; n && n->origin == from; n = n->next, sep = " + ") tc_buf_printf(text, "%s%s", sep, tc_op_name(n->op));
    return n;
}

static void add_place(pattern *p, const tc_node *from) {
    tc_buf_printf(&p->places, "%s%s", p->count++ ? ", " : "", from->name ? from->name : tc_op_name(from->op));
    if (from->source.file) tc_buf_printf(&p->places, " (%s:%d)", from->source.file, from->source.line);
}

void tc_rewrites_report(const tc_program *p, tc_buf *out) {
    tc_map patterns = {0};
    tc_buf text = {0};
    int all = 0;
    for (const tc_graph *g = p->graph; g; g = g == p->graph ? g->first_sub : g->next_sub)
        for (const tc_node *n = g->first; n;) {
            const tc_node *from = n->origin;
            if (!from) {
                n = n->next;
                continue;
            }
            text.len = 0;
            n = read_pattern(n, &text);
            void **place = tc_map_put(&patterns, tc_buf_str(&text), text.len);
            if (!*place) *place = tc_xcalloc(1, sizeof(pattern));
            add_place(*place, from);
            all++;
        }
    tc_buf_printf(out, "program %s: %d nodes rewritten by %zu patterns\n", p->name ? p->name : "model", all, patterns.len);
    for (size_t i = 0; i < patterns.len; i++) {
        pattern *one = patterns.entries[i].value;
        tc_buf_printf(out, "%s: %d: %s\n", patterns.entries[i].key, one->count, tc_buf_str(&one->places));
        tc_buf_free(&one->places);
        free(one);
    }
    tc_map_free(&patterns);
    tc_buf_free(&text);
}
