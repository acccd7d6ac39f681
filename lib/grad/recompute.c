/* Recomputation of forward values in the backward, instead of saving them. First, activation checkpointing: the backward of a torch.utils.checkpoint
 * call reads recomputed inner values.
 *
 *     x -> [a -> b -> c] -> loss ... c', b', a'        a and b stay in memory until the backward reaches the call
 *     x -> [a -> b -> c] -> loss ... [a2 -> b2] c', b', a'     only x stays; a2 and b2 have the same bits as a and b
 *
 * Nodes carry the number of their checkpoint call (tc_source); backward nodes that of the node whose rule made them. Only values that are read are
 * recomputed. Random values and values of data-dependent size are saved instead.
 *
 * tc_grad_recompute does the same for any choice of saved values; each recomputation is placed before its first use. */
#include "grad/grad.h"
#include "grad/internal.h"

typedef struct {
    tc_graph *graph;
    size_t nvalues;    /* of the graph before */
    bool *inside;      /* by id: a value of the forward */
    tc_value **second; /* by id: its recomputed copy, for the current call */
    int call;
    bool (*keep)(void *ctx, const tc_value *v); /* for tc_grad_recompute: values to save */
    void *keep_ctx;
    tc_node *before; /* recomputed nodes are inserted before this one */
} again;

bool tc_grad_recomputes(const tc_node *n) {
    return !(n->op->flags & (TC_OP_RANDOM | TC_OP_IMPURE | TC_OP_HIGHER_ORDER)) && !tc_op_schema(n->op)->variadic && !tc_node_brings_symbols(n);
}

static bool repeats(const again *a, const tc_value *v) {
    const tc_node *n = v->producer;
    if (!n || v->id >= a->nvalues || !a->inside[v->id]) return false;
    return (a->keep ? !a->keep(a->keep_ctx, v) : n->source.checkpoint == a->call) && tc_grad_recomputes(n);
}

static void note(again *a, const tc_value *v, tc_value *w) {
    a->second[v->id] = w;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) a->second[v->list[i]->id] = w->list[i];
}

static void copy(again *a, const tc_node *n) {
    tc_arena *arena = &a->graph->program->arena;
    tc_node *m = tc_graph_node(a->graph, n->op, n->nargs, n->nouts, a->before);
    for (int i = 0; i < n->nargs; i++) {
        m->args[i] = n->args[i];
        if (n->args[i].kind == TC_A_VALUE && n->args[i].value) {
            const tc_value *v = n->args[i].value;
            if (v->id < a->nvalues && a->second[v->id]) m->args[i].value = a->second[v->id];
        } else if (n->args[i].kind == TC_A_VALUES) {
            m->args[i].values = TC_NEWN(arena, tc_value *, (size_t)(n->args[i].n ? n->args[i].n : 1));
            for (int k = 0; k < n->args[i].n; k++) {
                tc_value *v = n->args[i].values[k];
                m->args[i].values[k] = v && v->id < a->nvalues && a->second[v->id] ? a->second[v->id] : v;
            }
        }
    }
    for (int i = 0; i < n->nouts; i++) {
        tc_value *w = tc_graph_value(a->graph, n->outs[i]->kind, n->outs[i]->name);
        tc_value_copy_type(w, n->outs[i]);
        tc_node_set_output(m, i, w);
        note(a, n->outs[i], w);
    }
    m->name = tc_graph_unique(a->graph, n->name ? n->name : "node");
    m->source = n->source;
    m->source.again = true;
    m->origin = n->origin;
    m->no_grad = n->no_grad;
    m->straight = n->straight;
}

/* ---- what is needed ---- */
typedef struct {
    again *a;
    bool *needed; /* by id */
} wanted;

static void want(void *ctx, tc_value **place) {
    wanted *w = ctx;
    const tc_value *v = *place;
    if (!v || !repeats(w->a, v)) return;
    for (int i = 0; i < v->producer->nouts; i++) w->needed[v->producer->outs[i]->id] = true;
}

static void read_second(void *ctx, tc_value **place) {
    const again *a = ctx;
    if (*place && (*place)->id < a->nvalues && a->second[(*place)->id]) *place = a->second[(*place)->id];
}

/* Makes n read the recomputed copies. Its argument lists are copied first, since a gradient rule may share lists with the forward node. */
static void switch_over(again *a, tc_node *n) {
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_VALUES && n->args[i].n)
            n->args[i].values = tc_arena_dup(&a->graph->program->arena, n->args[i].values, (size_t)n->args[i].n * sizeof(tc_value *));
    tc_node_each_input(n, read_second, a);
}

/* Handles one checkpoint call, whose backward begins at `first`. */
static void one_call(again *a, tc_node *first, tc_node *last) {
    wanted w = {a, tc_xcalloc(a->nvalues, sizeof(bool))};
    memset(a->second, 0, a->nvalues * sizeof *a->second);
    for (tc_node *n = first; n; n = n->next)
        if (n->source.checkpoint == a->call && !n->source.again) tc_node_each_input(n, want, &w);
    for (tc_node *n = last; n; n = n->prev) /* backwards: what those need */
        if (n->nouts && w.needed[n->outs[0]->id]) tc_node_each_input(n, want, &w);
    a->before = first;
    for (const tc_node *n = a->graph->first; n; n = n == last ? NULL : n->next)
        if (n->nouts && w.needed[n->outs[0]->id]) copy(a, n);
    for (tc_node *n = first; n; n = n->next)
        if (n->source.checkpoint == a->call && !n->source.again) switch_over(a, n);
    free(w.needed);
}

static again begin(tc_graph *g, const tc_node *last) {
    again a = {.graph = g, .nvalues = g->nvalues};
    a.inside = tc_xcalloc(a.nvalues + 1, sizeof *a.inside);
    a.second = tc_xcalloc(a.nvalues + 1, sizeof *a.second);
    for (const tc_node *n = g->first; n; n = n == last ? NULL : n->next)
        for (int i = 0; i < n->nouts; i++) {
            a.inside[n->outs[i]->id] = true;
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++) a.inside[n->outs[i]->list[k]->id] = true;
        }
    return a;
}

static void end(again *a) {
    free(a->inside);
    free(a->second);
}

void grad_recompute(tc_graph *g, tc_node *last) {
    int calls = 0;
    for (const tc_node *n = g->first; n; n = n == last ? NULL : n->next)
        if (n->source.checkpoint > calls) calls = n->source.checkpoint;
    if (!calls) return;
    again a = begin(g, last);
    bool *done = tc_xcalloc((size_t)calls + 1, sizeof *done);
    for (tc_node *n = last->next, *next; n; n = next) { /* calls in the order in which the backward reaches them */
        next = n->next;
        a.call = n->source.checkpoint;
        if (!a.call || a.call > calls || done[a.call]) continue;
        done[a.call] = true;
        one_call(&a, n, last);
    }
    free(done);
    end(&a);
}

/* ---- any choice ---- */
typedef struct {
    const again *a;
    TC_VEC(const tc_node *) open; /* stack of nodes to recompute; operands above the nodes that need them */
    size_t found;
} chain;

static void push_operand(void *ctx, tc_value **place) {
    chain *c = ctx;
    if (!*place || !repeats(c->a, *place) || c->a->second[(*place)->id]) return;
    tc_vec_push(&c->open, (*place)->producer);
    c->found++;
}

void tc_grad_recompute(tc_graph *g, tc_node *last, bool (*keep)(void *ctx, const tc_value *v), void *ctx) {
    again a = begin(g, last);
    a.keep = keep;
    a.keep_ctx = ctx;
    chain c = {&a, {0}, 0};
    for (tc_node *n = last->next; n; n = n->next) {
        a.before = n;
        tc_node_each_input(n, push_operand, &c);
        while (c.open.len) {
            const tc_node *m = c.open.data[c.open.len - 1];
            c.found = 0;
            if (!a.second[m->outs[0]->id]) tc_node_each_input(m, push_operand, &c);
            if (c.found) continue;
            if (!a.second[m->outs[0]->id]) copy(&a, m);
            c.open.len--;
        }
        switch_over(&a, n);
    }
    tc_vec_free(&c.open);
    end(&a);
}
