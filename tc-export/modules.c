/* --print=modules: the tree of the modules that a program came from, and what goes into and comes out of each of their calls.
 *
 *     program model
 *       13 operators, 315 parameters
 *       blocks: 12 operators, 288 parameters
 *         blocks.0: 3 operators, 72 parameters
 *           f32[B, 8] -> f32[B, 8]
 *
 * A call is a stretch of nodes from one module: two calls of it with other nodes between are two lines. */
#include "report.h"

#include "op/op.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    int first, last; /* nodes of the main graph, by position */
} call;

typedef struct {
    const char *path; /* "" is the program itself */
    int parent, child, sibling, last_child;
    int64_t operators, parameters;
    TC_VEC(call) calls;
} entry;

typedef struct {
    const tc_program *p;
    TC_VEC(entry) entries;
    tc_map by_path;
    const tc_node **nodes;
    int *last_read; /* by value id: position; INT32_MAX for a result of the program */
    int *made;      /* by value id: position; -1: an input, -2: a weight */
    tc_arena arena;
} tree;

static int entry_of(tree *t, const char *path, size_t n) {
    void **slot = tc_map_put(&t->by_path, path, n);
    if (*slot) return (int)((intptr_t)*slot - 1);
    size_t up = n;
    while (up && path[up - 1] != '.') up--;
    entry e = {.path = tc_arena_strndup(&t->arena, path, n), .parent = -1, .child = -1, .sibling = -1, .last_child = -1};
    if (n) e.parent = entry_of(t, path, up ? up - 1 : 0);
    int i = (int)t->entries.len;
    tc_vec_push(&t->entries, e);
    *tc_map_put(&t->by_path, path, n) = (void *)(intptr_t)(i + 1);
    if (e.parent < 0) return i;
    entry *parent = &t->entries.data[e.parent];
    if (parent->last_child < 0) parent->child = i;
    else t->entries.data[parent->last_child].sibling = i;
    parent->last_child = i;
    return i;
}

/* n, at this position of the main graph (of itself or of the node whose body it stands in). */
static void add_node(tree *t, const tc_node *n, int at) {
    const char *path = n->source.module ? n->source.module : "";
    for (int i = entry_of(t, path, strlen(path)); i >= 0; i = t->entries.data[i].parent) {
        entry *e = &t->entries.data[i];
        e->operators++;
        if (e->calls.len && e->calls.data[e->calls.len - 1].last >= at - 1) e->calls.data[e->calls.len - 1].last = at;
        else tc_vec_push(&e->calls, ((call){at, at}));
    }
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_GRAPH)
            for (const tc_node *m = n->args[i].graph->first; m; m = m->next) add_node(t, m, at);
}

static void add_parameter(tree *t, const tc_input *in) {
    const char *dot = strrchr(in->name, '.');
    int64_t numel = 1, size;
    for (int d = 0; d < in->value->meta.rank; d++) numel *= tc_sym_const_int(in->value->meta.size[d], &size) ? size : 0;
    for (int i = entry_of(t, in->name, dot ? (size_t)(dot - in->name) : 0); i >= 0; i = t->entries.data[i].parent)
        t->entries.data[i].parameters += numel;
}

typedef struct {
    tree *t;
    int at;
} reading;
static void read_value(void *ctx, tc_value **place) {
    const reading *r = ctx;
    if (r->t->last_read[(*place)->id] < r->at) r->t->last_read[(*place)->id] = r->at;
}

static void make_value(tree *t, const tc_value *v, int at) {
    t->made[v->id] = at;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) make_value(t, v->list[i], at);
}

static void collect(tree *t) {
    const tc_graph *g = t->p->graph;
    int at = 0;
    entry_of(t, "", 0);
    for (int i = 0; i < t->p->ninputs; i++) {
        const tc_input *in = &t->p->inputs[i];
        if (in->value) t->made[in->value->id] = in->kind == TC_IN_USER ? -1 : -2;
        if (in->kind == TC_IN_PARAMETER && in->alias_of < 0) add_parameter(t, in);
    }
    for (const tc_node *n = g->first; n; n = n->next, at++) {
        t->nodes[at] = n;
        for (int i = 0; i < n->nouts; i++) make_value(t, n->outs[i], at);
        tc_node_each_input(n, read_value, &(reading){t, at});
        add_node(t, n, at);
    }
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) t->last_read[g->outputs[i]->id] = INT32_MAX;
}

/* ---- printing ---- */
typedef struct {
    tree *t;
    const call *c;
    tc_buf *b;
    tc_map seen;
} flow;

static void add_type(flow *f, const tc_value *v) {
    void **slot = tc_map_put(&f->seen, (const char *)&v, sizeof v);
    if (*slot) return;
    *slot = f;
    if (f->seen.len > 1) tc_buf_puts(f->b, ", ");
    tc_value_print_type(f->b, v);
}

static void take_in(void *ctx, tc_value **place) {
    flow *f = ctx;
    int made = f->t->made[(*place)->id];
    if (made != -2 && made < f->c->first && (*place)->kind != TC_V_SYM) add_type(f, *place);
}

static void give_out(flow *f, const tc_value *v) {
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) give_out(f, v->list[i]);
    if (v->kind != TC_V_LIST && f->t->last_read[v->id] > f->c->last) add_type(f, v);
}

static void print_call(tree *t, const call *c, tc_buf *b) {
    flow in = {t, c, b, {0}}, out = {t, c, b, {0}};
    for (int i = c->first; i <= c->last; i++) tc_node_each_input(t->nodes[i], take_in, &in);
    tc_buf_puts(b, in.seen.len ? " -> " : "-> ");
    for (int i = c->first; i <= c->last; i++)
        for (int k = 0; k < t->nodes[i]->nouts; k++) give_out(&out, t->nodes[i]->outs[k]);
    tc_buf_putc(b, '\n');
    tc_map_free(&in.seen);
    tc_map_free(&out.seen);
}

static void print_entry(tree *t, int at, int depth, tc_buf *b) {
    const entry *e = &t->entries.data[at];
    tc_buf_printf(b, "%*s%s%s%lld operator%s, %lld parameter%s\n", 2 * depth, "", e->path, *e->path ? ": " : "", (long long)e->operators,
                  e->operators == 1 ? "" : "s", (long long)e->parameters, e->parameters == 1 ? "" : "s");
    for (size_t i = 0; *e->path && i < e->calls.len; i++) {
        tc_buf_printf(b, "%*s", 2 * depth + 2, "");
        print_call(t, &e->calls.data[i], b);
    }
    for (int i = e->child; i >= 0 && depth < 64; i = t->entries.data[i].sibling) print_entry(t, i, depth + (*e->path != 0), b);
}

void report_modules(tc_buf *b, const tc_program *p) {
    tree t = {.p = p};
    size_t n = p->graph->nvalues + 1;
    t.nodes = tc_xcalloc(p->graph->nnodes + 1, sizeof(tc_node *));
    t.last_read = tc_xcalloc(n, sizeof *t.last_read);
    t.made = tc_xcalloc(n, sizeof *t.made);
    for (size_t i = 0; i < n; i++) t.last_read[i] = -1;
    collect(&t);
    tc_buf_printf(b, "program %s\n", p->name);
    print_entry(&t, 0, 1, b);
    for (size_t i = 0; i < t.entries.len; i++) tc_vec_free(&t.entries.data[i].calls);
    tc_vec_free(&t.entries);
    tc_map_free(&t.by_path);
    tc_arena_free(&t.arena);
    free(t.nodes);
    free(t.last_read);
    free(t.made);
}
