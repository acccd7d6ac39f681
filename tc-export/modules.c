/* --print=modules: the tree of a program's modules, with the input and output types of each call.
 *
 *     program model
 *       13 operators, 315 parameters
 *       blocks: 12 operators, 288 parameters
 *         blocks.0: 3 operators, 72 parameters
 *           f32[B, 8] -> f32[B, 8]
 *
 * Each call of a module is a line, in the bodies of control flow too. */
#include "report.h"

#include "op/op.h"
#include "pass/module_calls.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *path; /* "" is the program itself */
    int parent, child, sibling, last_child;
    int64_t operators, parameters;
    tc_module_calls calls;
} entry;

typedef struct {
    TC_VEC(entry) entries;
    tc_map by_path;
    tc_call_flows flows;
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

/* Counts a node for its module and all enclosing modules. */
static void add_node(tree *t, tc_node *n) {
    const char *module = tc_source_module(&n->source);
    for (int i = entry_of(t, module ? module : "", module ? strcspn(module, "@") : 0); i >= 0; i = t->entries.data[i].parent) {
        entry *e = &t->entries.data[i];
        size_t len = *e->path ? tc_module_call_of(n->source.calls, e->path) : 0;
        bool called = len && n->source.calls[len] != '.';
        e->operators++;
        if (*e->path) tc_module_calls_add(&e->calls, n, called ? len : 0);
    }
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_GRAPH)
            for (tc_node *m = n->args[i].graph->first; m; m = m->next) add_node(t, m);
}

static void add_parameter(tree *t, const tc_input *in) {
    const char *dot = strrchr(in->name, '.');
    int64_t numel = 1, size;
    for (int d = 0; d < in->value->meta.rank; d++) numel *= tc_sym_const_int(in->value->meta.size[d], &size) ? size : 0;
    for (int i = entry_of(t, in->name, dot ? (size_t)(dot - in->name) : 0); i >= 0; i = t->entries.data[i].parent)
        t->entries.data[i].parameters += numel;
}

static void collect(tree *t, tc_program *p) {
    entry_of(t, "", 0);
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_PARAMETER && p->inputs[i].alias_of < 0) add_parameter(t, &p->inputs[i]);
    for (tc_node *n = p->graph->first; n; n = n->next) add_node(t, n);
    tc_call_flows_open(&t->flows, p);
}

/* ---- printing ---- */
static void print_types(tc_buf *b, const tc_values *of) {
    for (size_t i = 0; i < of->len; i++) {
        if (i) tc_buf_puts(b, ", ");
        tc_value_print_type(b, of->data[i]);
    }
}

static void print_call(tree *t, const tc_module_call *c, tc_buf *b) {
    tc_values in = {0}, out = {0};
    tc_call_flow(&t->flows, c, &in, &out);
    print_types(b, &in);
    tc_buf_puts(b, in.len ? " -> " : "-> ");
    print_types(b, &out);
    tc_buf_putc(b, '\n');
    tc_vec_free(&in);
    tc_vec_free(&out);
}

static void print_entry(tree *t, int at, int depth, tc_buf *b) {
    const entry *e = &t->entries.data[at];
    tc_buf_printf(b, "%*s%s%s%lld operator%s, %lld parameter%s\n", 2 * depth, "", e->path, *e->path ? ": " : "", (long long)e->operators,
                  e->operators == 1 ? "" : "s", (long long)e->parameters, e->parameters == 1 ? "" : "s");
    for (size_t i = 0; i < e->calls.len; i++) {
        tc_buf_printf(b, "%*s", 2 * depth + 2, "");
        print_call(t, &e->calls.data[i], b);
    }
    for (int i = e->child; i >= 0 && depth < 64; i = t->entries.data[i].sibling) print_entry(t, i, depth + (*e->path != 0), b);
}

void report_modules(tc_buf *b, tc_program *p) {
    tree t = {0};
    collect(&t, p);
    tc_buf_printf(b, "program %s\n", p->name);
    print_entry(&t, 0, 1, b);
    for (size_t i = 0; i < t.entries.len; i++) tc_module_calls_free(&t.entries.data[i].calls);
    tc_vec_free(&t.entries);
    tc_map_free(&t.by_path);
    tc_call_flows_close(&t.flows);
    tc_arena_free(&t.arena);
}
