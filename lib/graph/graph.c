/* Building programs: values, nodes, inputs, outputs, guards; visiting and replacing the operands of nodes. */
#include "graph/graph.h"

#include <stdio.h>

tc_program *tc_program_create(const char *name) {
    tc_program *p = tc_xcalloc(1, sizeof *p);
    p->refs = 1;
    p->sym = tc_symctx_create();
    p->name = tc_arena_strdup(&p->arena, name ? name : "model");
    p->graph = tc_graph_create(p, NULL, "main");
    return p;
}

tc_program *tc_program_retain(tc_program *p) {
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

static void free_names(tc_graph *g) {
    tc_map_free(&g->names);
    for (tc_graph *s = g->first_sub; s; s = s->next_sub) free_names(s);
}

void tc_program_release(tc_program *p) {
    if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int i = 0; i < p->ninputs; i++) tc_tensor_deinit(&p->inputs[i].data);
    tc_status_free(p->refused);
    free_names(p->graph);
    free(p->inputs);
    free(p->outputs);
    tc_vec_free(&p->guards);
    tc_vec_free(&p->calls);
    tc_vec_free(&p->examples);
    tc_symctx_destroy(p->sym);
    tc_arena_free(&p->arena);
    free(p);
}

tc_graph *tc_graph_create(tc_program *p, tc_graph *parent, const char *name) {
    tc_graph *g = TC_NEW(&p->arena, tc_graph), *root = p->graph ? p->graph : g;
    g->program = p;
    g->parent = parent;
    g->name = tc_arena_strdup(&p->arena, name);
    g->names.borrows = true;
    if (root != g) {
        g->next_sub = root->first_sub;
        root->first_sub = g;
    }
    return g;
}

/* Writes n in decimal with a NUL and returns the number of digits. Hot: makes half of the names of a large graph. */
static size_t put_number(char *to, uintptr_t n) {
    char digits[24];
    size_t len = 0;
    do digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < len; i++) to[i] = digits[len - 1 - i];
    to[len] = 0;
    return len;
}

const char *tc_graph_unique(tc_graph *g, const char *hint) {
    tc_arena *a = &g->program->arena;
    uintptr_t n = (uintptr_t)tc_map_find(&g->names, hint);
    if (!n) {
        const char *own = tc_arena_strdup(a, hint);
        tc_map_set(&g->names, own, (void *)(uintptr_t)1);
        return own;
    }
    char name[256];
    size_t stem = strnlen(hint, 200);
    memcpy(name, hint, stem);
    name[stem] = '_';
    for (;; n++) {
        size_t len = stem + 1 + put_number(name + stem + 1, n);
        if (tc_map_get(&g->names, name, len)) continue;
        const char *own = tc_arena_strndup(a, name, len);
        *tc_map_put(&g->names, own, len) = (void *)(uintptr_t)1;
        tc_map_set(&g->names, hint, (void *)(n + 1));
        return own;
    }
}

tc_value *tc_graph_value(tc_graph *g, tc_value_kind kind, const char *hint) {
    tc_value *v = TC_NEW(&g->program->arena, tc_value);
    v->kind = kind;
    v->id = g->nvalues++;
    v->graph = g;
    v->name = tc_graph_unique(g, hint && *hint ? hint : "v");
    return v;
}

/* An arena array of n elements with capacity for one more, grown by doubling. */
static void *grown(tc_arena *a, void *data, int n, size_t elem) {
    if (n & (n - 1)) return data;
    void *bigger = tc_arena_array(a, n ? 2 * (size_t)n : 1, elem);
    if (n) memcpy(bigger, data, (size_t)n * elem);
    return bigger;
}

tc_value *tc_graph_add_input(tc_graph *g, tc_value *v) {
    g->inputs = grown(&g->program->arena, g->inputs, g->ninputs, sizeof *g->inputs);
    return g->inputs[g->ninputs++] = v;
}

void tc_graph_add_output(tc_graph *g, tc_value *v) {
    g->outputs = grown(&g->program->arena, g->outputs, g->noutputs, sizeof *g->outputs);
    g->outputs[g->noutputs++] = v;
}

/* Links n in front of `before`; NULL: at the end. */
static void link_before(tc_node *n, tc_node *before) {
    tc_graph *g = n->graph;
    n->next = before;
    n->prev = before ? before->prev : g->last;
    *(n->prev ? &n->prev->next : &g->first) = n;
    *(before ? &before->prev : &g->last) = n;
    g->nnodes++;
}

tc_node *tc_graph_node(tc_graph *g, const struct tc_op *op, int nargs, int nouts, tc_node *before) {
    tc_arena *a = &g->program->arena;
    tc_node *n = TC_NEW(a, tc_node);
    n->op = op;
    n->graph = g;
    n->nargs = nargs;
    n->nouts = nouts;
    n->args = nargs ? TC_NEWN(a, tc_arg, (size_t)nargs) : NULL;
    n->outs = nouts ? TC_NEWN(a, tc_value *, (size_t)nouts) : NULL;
    link_before(n, before);
    return n;
}

void tc_node_set_output(tc_node *n, int i, tc_value *v) {
    n->outs[i] = v;
    v->producer = n;
    v->out_index = i;
    for (int e = 0; v->kind == TC_V_LIST && e < v->nlist; e++) {
        v->list[e]->producer = n;
        v->list[e]->out_index = i;
    }
}

void tc_node_remove(tc_node *n) {
    tc_graph *g = n->graph;
    *(n->prev ? &n->prev->next : &g->first) = n->next;
    *(n->next ? &n->next->prev : &g->last) = n->prev;
    n->prev = n->next = NULL;
    g->nnodes--;
}

void tc_node_move(tc_node *n, tc_node *before) {
    tc_node_remove(n);
    link_before(n, before);
}

tc_input *tc_program_add_input(tc_program *p, tc_input in) {
    if (!(p->ninputs & (p->ninputs - 1))) p->inputs = tc_xrealloc(p->inputs, sizeof *p->inputs * (p->ninputs ? 2 * (size_t)p->ninputs : 1));
    if (in.name) in.name = tc_arena_strdup(&p->arena, in.name);
    p->inputs[p->ninputs] = in;
    return &p->inputs[p->ninputs++];
}

tc_output *tc_program_add_output(tc_program *p, tc_output out) {
    if (!(p->noutputs & (p->noutputs - 1))) p->outputs = tc_xrealloc(p->outputs, sizeof *p->outputs * (p->noutputs ? 2 * (size_t)p->noutputs : 1));
    if (out.name) out.name = tc_arena_strdup(&p->arena, out.name);
    if (out.value) tc_graph_add_output(p->graph, out.value);
    p->outputs[p->noutputs] = out;
    return &p->outputs[p->noutputs++];
}

bool tc_program_admits(const tc_program *p, const tc_symvalue *vars, size_t n) {
    bool admits = true;
    for (size_t i = 0; i < p->guards.len && admits; i++) {
        tc_symvalue v;
        tc_status st = tc_sym_eval(p->guards.data[i].cond, vars, n, &v);
        admits = st ? !tc_sym_bound(p->guards.data[i].cond, vars, n) : v.i != 0;
        tc_status_free(st);
    }
    return admits;
}

static int next_user(const tc_program *p, int i) {
    while (i < p->ninputs && p->inputs[i].kind != TC_IN_USER) i++;
    return i;
}

static bool same_tree(const tc_tree *a, const tc_tree *b) {
    if (!a || !b) return true; /* not known */
    if (a->kind != b->kind || a->n != b->n || !a->keys != !b->keys) return false;
    for (int i = 0; i < a->n; i++)
        if ((a->keys && strcmp(a->keys[i], b->keys[i])) || !same_tree(a->children[i], b->children[i])) return false;
    return true;
}

bool tc_program_same_form(const tc_program *a, const tc_program *b) {
    int i = next_user(a, 0), j = next_user(b, 0);
    for (; i < a->ninputs && j < b->ninputs; i = next_user(a, i + 1), j = next_user(b, j + 1))
        if (!a->inputs[i].value != !b->inputs[j].value || strcmp(a->inputs[i].name, b->inputs[j].name)) return false;
    if (i < a->ninputs || j < b->ninputs || a->noutputs != b->noutputs || !same_tree(a->out_tree, b->out_tree)) return false;
    for (int k = 0; k < a->noutputs; k++) {
        const tc_output *x = &a->outputs[k], *y = &b->outputs[k];
        if (x->kind != y->kind || (x->target >= 0) != (y->target >= 0)) return false;
        if (x->target >= 0 && strcmp(a->inputs[x->target].name, b->inputs[y->target].name)) return false;
    }
    return true;
}

void tc_program_guard(tc_program *p, tc_guard g) {
    bool fixed;
    if (tc_sym_const_bool(g.cond, &fixed) && fixed) return;
    size_t i = 0;
    while (i < p->guards.len && p->guards.data[i].cond != g.cond) i++;
    if (i < p->guards.len && (g.apart || !p->guards.data[i].apart)) return;
    if (g.op) g.op = tc_arena_strdup(&p->arena, g.op);
    if (i < p->guards.len) p->guards.data[i] = g; /* types depend on it from now on */
    else tc_vec_push(&p->guards, g);
    if (!g.apart) tc_sym_assume(p->sym, g.cond);
}

void tc_program_set_example(tc_program *p, tc_sym var, int64_t value) {
    size_t i = (size_t)tc_sym_var_index(var);
    while (p->examples.len <= i) tc_vec_push(&p->examples, (tc_symvalue){0});
    p->examples.data[i] = (tc_symvalue){.i = value, .bound = true};
}

bool tc_program_example(const tc_program *p, tc_sym s, int64_t *out) {
    tc_symvalue v;
    if (tc_sym_const_int(s, out)) return true;
    if (!p->examples.len) return false;
    tc_status st = tc_sym_eval(s, p->examples.data, p->examples.len, &v);
    if (!st) *out = v.i;
    bool known = !st;
    tc_status_free(st);
    return known;
}

bool tc_program_pin(tc_program *p, tc_sym s, tc_source source, const char *op, int64_t *out) {
    int64_t most;
    s = tc_sym_simplify(p->sym, s);
    if (tc_sym_const_int(s, out)) return true;
    tc_sym_range(p->sym, s, out, &most);
    if (*out == most) return true;
    if (!tc_program_example(p, s, out)) {
        p->wanted = s;
        return false;
    }
    tc_program_guard(p, (tc_guard){.cond = tc_sym_op(p->sym, TC_S_EQ, s, tc_sym_int(p->sym, *out), NULL), .source = source, .op = op, .value = true});
    return true;
}

tc_sym tc_program_fresh(tc_program *p, tc_symtype type, int64_t lo, int64_t hi) {
    char name[32];
    do snprintf(name, sizeof name, type == TC_SYM_FLOAT ? "zuf%d" : "u%d", p->nfresh++);
    while (tc_sym_find(p->sym, name));
    return tc_sym_var(p->sym, name, type, lo, hi);
}

/* ---- visiting and replacing operands ---- */
bool tc_node_has_operand(const tc_node *n, const tc_value *v) {
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE && a->value == v) return true;
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++)
            if (a->values[k] == v) return true;
    }
    return false;
}

void tc_node_each_input(const tc_node *n, void (*fn)(void *ctx, tc_value **place), void *ctx) {
    for (int i = 0; i < n->nargs; i++) {
        tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE) fn(ctx, &a->value);
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++)
            if (a->values[k]) fn(ctx, &a->values[k]);
    }
}

static bool type_has(const tc_value *v, tc_sym var) {
    if (v->kind == TC_V_SYM) return v->sym && tc_sym_contains(v->sym, var);
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++)
        if (tc_sym_contains(v->meta.size[d], var)) return true;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++)
        if (type_has(v->list[i], var)) return true;
    return false;
}

static bool arg_has(const tc_arg *a, tc_sym var) {
    if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) return tc_sym_contains(a->sym, var);
    for (int k = 0; a->kind == TC_A_INTS && k < a->n; k++)
        if (tc_sym_contains(a->syms[k], var)) return true;
    if (a->kind == TC_A_VALUE) return a->value && type_has(a->value, var);
    for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++)
        if (a->values[k] && type_has(a->values[k], var)) return true;
    return false;
}

bool tc_node_decides(const tc_node *n, tc_sym var) {
    bool brings = false;
    for (int i = 0; i < n->nouts && !brings; i++) brings = type_has(n->outs[i], var);
    for (int i = 0; i < n->nargs && brings; i++) brings = !arg_has(&n->args[i], var);
    return brings;
}

static bool brings(const tc_node *n, const tc_value *v) {
    if (v->kind == TC_V_SYM) return true; /* a number that a node computes, not an expression */
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++)
        if (tc_sym_opcode(v->meta.size[d]) == TC_S_VAR && tc_node_decides(n, v->meta.size[d])) return true;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++)
        if (brings(n, v->list[i])) return true;
    return false;
}

bool tc_node_brings_symbols(const tc_node *n) {
    for (int i = 0; i < n->nouts; i++)
        if (brings(n, n->outs[i])) return true;
    return false;
}

static void each_arg(tc_arg *a, int n, void (*fn)(void *ctx, tc_value **place), void *ctx) {
    for (int i = 0; i < n; i++)
        if (a[i].kind == TC_A_VALUE && a[i].value) fn(ctx, &a[i].value);
}

void tc_program_each_call_value(tc_program *p, void (*fn)(void *ctx, tc_value **place), void *ctx) {
    for (size_t i = 0; i < p->calls.len; i++) {
        each_arg(p->calls.data[i].inputs, p->calls.data[i].ninputs, fn, ctx);
        each_arg(p->calls.data[i].outputs, p->calls.data[i].noutputs, fn, ctx);
    }
}

static void each_place(tc_graph *g, void (*fn)(void *ctx, tc_value **place), void *ctx) {
    tc_program *p = g->program;
    for (tc_node *n = g->first; n; n = n->next) tc_node_each_input(n, fn, ctx);
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) fn(ctx, &g->outputs[i]);
    for (int i = 0; g == p->graph && i < p->noutputs; i++)
        if (p->outputs[i].value) fn(ctx, &p->outputs[i].value);
    if (g == p->graph) tc_program_each_call_value(p, fn, ctx);
}

typedef struct {
    tc_value *a, *b;
} pair;
static void swap_one(void *ctx, tc_value **place) {
    const pair *r = ctx;
    if (*place == r->a) *place = r->b;
}

void tc_graph_replace(tc_graph *g, tc_value *a, tc_value *b) { each_place(g, swap_one, &(pair){a, b}); }

static void swap_many(void *ctx, tc_value **place) { *place = tc_rewritten(ctx, *place); }

void tc_graph_apply_rewrite(tc_graph *g, const tc_rewrite *r) { each_place(g, swap_many, (void *)(uintptr_t)r); }
