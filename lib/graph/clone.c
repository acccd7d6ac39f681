/* Deep copies of programs (tc_program_clone) and copies of node lists within and between programs. Weights share storage; symbols are copied into the
 * new program's context. */
#include "graph/graph.h"

typedef struct {
    tc_program *to;
    const tc_program *from;
    const tc_sym *by;   /* by symbol: its replacement (tc_sym_import_with); NULL: no replacements */
    const tc_graph *in; /* destination graph that has values already: copies get new ids; NULL: copies keep their ids */
} pair;

static tc_sym sym_of(const pair *c, tc_sym s) {
    if (!s) return NULL;
    return tc_sym_import_with(c->to->sym, s, c->from->sym, c->by);
}

static const char *text_of(const pair *c, const char *s) { return s ? tc_arena_strdup(&c->to->arena, s) : NULL; }

static const tc_sym *syms_of(const pair *c, const tc_sym *s, int n) {
    if (!s || !n) return NULL;
    tc_sym *out = TC_NEWN(&c->to->arena, tc_sym, (size_t)n);
    for (int i = 0; i < n; i++) out[i] = sym_of(c, s[i]);
    return out;
}

static tc_source place_of(const pair *c, tc_source s) {
    s.file = text_of(c, s.file);
    s.calls = text_of(c, s.calls);
    return s;
}

/* The source location of n for its copy m; strings that n shares with the node before it are shared in the copy, too. */
static tc_source source_of(const pair *c, const tc_node *n, const tc_node *m) {
    const tc_source *last = n->prev && m->prev ? &n->prev->source : NULL;
    tc_source s = n->source;
    s.file = last && last->file == s.file ? m->prev->source.file : text_of(c, s.file);
    s.calls = last && last->calls == s.calls ? m->prev->source.calls : text_of(c, s.calls);
    return s;
}

static void graph_of(const pair *c, const tc_graph *g, tc_graph *into, tc_value **map);
static tc_value *value_of(const pair *c, tc_graph *g, const tc_value *v, tc_value **map);

/* The copy of v. Values of host arithmetic have no producer, so they are copied at their first use. */
static tc_value *mapped(const pair *c, tc_graph *g, const tc_value *v, tc_value **map) {
    if (!v) return NULL;
    return map[v->id] ? map[v->id] : v->kind == TC_V_SYM ? value_of(c, g, v, map) : NULL;
}

/* A copy of an argument. map: by value id of the graph that holds it. */
static tc_arg arg_of(const pair *c, const tc_arg *a, tc_value **map, tc_graph *parent) {
    tc_arg r = *a;
    switch (a->kind) {
    case TC_A_VALUE: r.value = mapped(c, parent, a->value, map); break;
    case TC_A_VALUES:
        r.values = a->n ? TC_NEWN(&c->to->arena, tc_value *, (size_t)a->n) : NULL;
        for (int i = 0; i < a->n; i++) r.values[i] = mapped(c, parent, a->values[i], map);
        break;
    case TC_A_INT: r.sym = sym_of(c, a->sym); break;
    case TC_A_INTS: r.syms = syms_of(c, a->syms, a->n); break;
    case TC_A_SCALAR:
        if (a->is_sym) r.sym = sym_of(c, a->sym);
        break;
    case TC_A_FLOATS: r.floats = a->n ? tc_arena_dup(&c->to->arena, a->floats, sizeof *a->floats * (size_t)a->n) : NULL; break;
    case TC_A_BOOLS: r.bools = a->n ? tc_arena_dup(&c->to->arena, a->bools, sizeof *a->bools * (size_t)a->n) : NULL; break;
    case TC_A_STRING:
    case TC_A_DEVICE: r.string = text_of(c, a->string); break;
    case TC_A_GRAPH: {
        tc_value **inner = tc_xcalloc(a->graph->nvalues ? a->graph->nvalues : 1, sizeof *inner);
        r.graph = tc_graph_create(c->to, parent, a->graph->name);
        graph_of(c, a->graph, r.graph, inner);
        free(inner);
        break;
    }
    default: break;
    }
    return r;
}

static tc_value *value_of(const pair *c, tc_graph *g, const tc_value *v, tc_value **map) {
    tc_value *w = TC_NEW(&c->to->arena, tc_value);
    *w = *v;
    w->graph = g;
    w->producer = NULL;
    w->aux = NULL;
    if (g == c->in) w->id = g->nvalues++;
    w->name = tc_graph_unique(g, v->name);
    w->meta.size = syms_of(c, v->meta.size, v->meta.rank);
    w->meta.stride = syms_of(c, v->meta.stride, v->meta.rank);
    w->sym = sym_of(c, v->sym);
    if (v->kind == TC_V_LIST) {
        w->list = TC_NEWN(&c->to->arena, tc_value *, (size_t)(v->nlist ? v->nlist : 1));
        for (int i = 0; i < v->nlist; i++) w->list[i] = value_of(c, g, v->list[i], map);
    }
    return map[v->id] = w;
}

static const tc_overwritten *overwritten_of(const pair *c, const tc_overwritten *w) {
    const tc_overwritten *first = NULL, **end = &first;
    for (; w; w = w->next) {
        tc_overwritten *o = tc_arena_dup(&c->to->arena, w, sizeof *w);
        o->at = place_of(c, w->at);
        *end = o;
        end = &o->next;
    }
    return first;
}

static void nodes_of(const pair *c, const tc_graph *g, tc_graph *into, tc_value **map, tc_node *before) {
    for (const tc_node *n = g->first; n; n = n->next) {
        tc_node *m = tc_graph_node(into, n->op, n->nargs, n->nouts, before);
        for (int i = 0; i < n->nargs; i++) m->args[i] = arg_of(c, &n->args[i], map, into);
        for (int i = 0; i < n->nouts; i++) tc_node_set_output(m, i, value_of(c, into, n->outs[i], map));
        m->name = n->nouts == 1 ? m->outs[0]->name : n->name ? tc_graph_unique(into, n->name) : NULL;
        m->source = source_of(c, n, m);
        m->no_grad = n->no_grad;
        m->straight = n->straight;
        m->leaf = n->leaf;
        m->overwritten = overwritten_of(c, n->overwritten);
        m->annotations = text_of(c, n->annotations);
    }
}

static void graph_of(const pair *c, const tc_graph *g, tc_graph *into, tc_value **map) {
    into->single_tensor_return = g->single_tensor_return;
    into->nvalues = g->nvalues;
    for (int i = 0; i < g->ninputs; i++) tc_graph_add_input(into, value_of(c, into, g->inputs[i], map));
    nodes_of(c, g, into, map, NULL);
    for (int i = 0; i < g->noutputs; i++) tc_graph_add_output(into, mapped(c, into, g->outputs[i], map));
}

static tc_tree *tree_of(const pair *c, const tc_tree *t) {
    if (!t) return NULL;
    tc_tree *r = TC_NEW(&c->to->arena, tc_tree);
    *r = *t;
    r->type = text_of(c, t->type);
    r->context = text_of(c, t->context);
    if (t->keys) {
        r->keys = TC_NEWN(&c->to->arena, const char *, (size_t)(t->n ? t->n : 1));
        for (int i = 0; i < t->n; i++) r->keys[i] = text_of(c, t->keys[i]);
    }
    r->children = t->n ? TC_NEWN(&c->to->arena, tc_tree *, (size_t)t->n) : NULL;
    for (int i = 0; i < t->n; i++) r->children[i] = tree_of(c, t->children[i]);
    return r;
}

static tc_arg *args_of(const pair *c, const tc_arg *a, int n, tc_value **map) {
    tc_arg *out = TC_NEWN(&c->to->arena, tc_arg, (size_t)n + 1);
    for (int i = 0; i < n; i++) out[i] = arg_of(c, &a[i], map, c->to->graph);
    return out;
}

static tc_call_signature call_of(const pair *c, const tc_call_signature *s, tc_value **map) {
    tc_call_signature r = *s;
    r.module = text_of(c, s->module);
    r.inputs = args_of(c, s->inputs, s->ninputs, map);
    r.outputs = args_of(c, s->outputs, s->noutputs, map);
    r.in_tree = tree_of(c, s->in_tree);
    r.out_tree = tree_of(c, s->out_tree);
    r.names = s->names ? TC_NEWN(&c->to->arena, const char *, (size_t)s->nnames + 1) : NULL;
    for (int i = 0; s->names && i < s->nnames; i++) r.names[i] = text_of(c, s->names[i]);
    return r;
}

static tc_program *clone(const tc_program *p, tc_sym var, int64_t value) {
    tc_program *q = tc_program_create(p->name);
    q->watch = p->watch;
    size_t nvars = tc_sym_var_count(p->sym);
    tc_sym *by = var ? tc_xcalloc(nvars, sizeof *by) : NULL;
    pair c = {.to = q, .from = p, .by = by};
    for (size_t i = 0; i < nvars; i++) tc_sym_import(q->sym, tc_sym_var_at(p->sym, i), p->sym); /* symbols keep their indices */
    if (var) by[tc_sym_var_index(var)] = tc_sym_int(q->sym, value);
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_guard *g = &p->guards.data[i];
        tc_program_guard(q, (tc_guard){.cond = sym_of(&c, g->cond), .source = place_of(&c, g->source), .op = g->op, .apart = g->apart});
    }
    tc_value **map = tc_xcalloc(p->graph->nvalues ? p->graph->nvalues : 1, sizeof *map);
    graph_of(&c, p->graph, q->graph, map);
    for (int i = 0; i < p->ninputs; i++) {
        tc_input in = p->inputs[i];
        in.value = in.value ? map[in.value->id] : NULL;
        in.leaf = arg_of(&c, &p->inputs[i].leaf, map, q->graph);
        in.read = place_of(&c, in.read);
        if (in.data.storage) in.data = tc_tensor_share(&p->inputs[i].data);
        tc_program_add_input(q, in);
    }
    int noutputs = q->graph->noutputs;
    for (int i = 0; i < p->noutputs; i++) {
        tc_output out = p->outputs[i];
        out.value = mapped(&c, q->graph, out.value, map);
        out.leaf = arg_of(&c, &p->outputs[i].leaf, map, q->graph);
        tc_program_add_output(q, out);
        q->graph->noutputs = noutputs; /* the graph's outputs are copied already */
    }
    for (size_t i = 0; i < p->calls.len; i++) {
        tc_call_signature s = call_of(&c, &p->calls.data[i], map);
        tc_vec_push(&q->calls, s);
    }
    free(map);
    free(by);
    q->in_tree = tree_of(&c, p->in_tree);
    q->out_tree = tree_of(&c, p->out_tree);
    q->source_text = text_of(&c, p->source_text);
    q->source_file = text_of(&c, p->source_file);
    q->instead_of = text_of(&c, p->instead_of);
    q->device = text_of(&c, p->device);
    q->functional = p->functional;
    q->nfresh = p->nfresh;
    return q;
}

tc_program *tc_program_clone(const tc_program *p) { return clone(p, NULL, 0); }
tc_program *tc_program_clone_at(const tc_program *p, tc_sym var, int64_t value) { return clone(p, var, value); }

void tc_graph_import_nodes(tc_graph *to, const tc_program *from, tc_value **map, const tc_sym *by, tc_node *before) {
    nodes_of(&(pair){.to = to->program, .from = from, .by = by, .in = to}, from->graph, to, map, before);
}

/* ---- copies inside one program ---- */
static tc_value *copy_value(tc_graph *to, const tc_value *v, tc_value **map) {
    tc_value *w = tc_graph_value(to, v->kind, v->name);
    const char *name = w->name;
    uint32_t id = w->id;
    *w = *v;
    w->name = name;
    w->id = id;
    w->graph = to;
    w->producer = NULL;
    w->aux = NULL;
    if (v->kind == TC_V_LIST) {
        w->list = TC_NEWN(&to->program->arena, tc_value *, (size_t)(v->nlist ? v->nlist : 1));
        for (int i = 0; i < v->nlist; i++) w->list[i] = copy_value(to, v->list[i], map);
    }
    return map[v->id] = w;
}

static tc_arg copy_arg(tc_graph *to, const tc_arg *a, tc_value **map) {
    tc_arg r = *a;
    if (a->kind == TC_A_VALUE && a->value) r.value = map[a->value->id] ? map[a->value->id] : copy_value(to, a->value, map);
    if (a->kind == TC_A_VALUES && a->n) {
        r.values = TC_NEWN(&to->program->arena, tc_value *, (size_t)a->n);
        for (int i = 0; i < a->n; i++) r.values[i] = a->values[i] ? map[a->values[i]->id] : NULL;
    }
    return r; /* subgraphs are shared */
}

void tc_graph_copy_nodes(tc_graph *to, const tc_graph *from, tc_value **map, tc_node *before) {
    for (const tc_node *n = from->first; n; n = n->next) {
        tc_node *m = tc_graph_node(to, n->op, n->nargs, n->nouts, before);
        for (int i = 0; i < n->nargs; i++) m->args[i] = copy_arg(to, &n->args[i], map);
        for (int i = 0; i < n->nouts; i++) tc_node_set_output(m, i, copy_value(to, n->outs[i], map));
        m->name = tc_graph_unique(to, n->name ? n->name : "node");
        m->source = n->source;
        m->origin = n->origin;
        m->overwritten = n->overwritten;
        m->no_grad = n->no_grad;
        m->straight = n->straight;
        m->leaf = n->leaf;
    }
}
