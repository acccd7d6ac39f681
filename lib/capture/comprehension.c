/* Comprehensions and generator expressions. A generator expression keeps its own frame and one iterator per clause, so it can suspend after each element
 * without a stack of its own. */
#include "capture/ast.h"

typedef struct {
    obj h;
    const ast *n;
    frame fr;
    V *its;              /* iterator of each clause */
    running_loop *loops; /* and its position */
    int level;           /* clause that runs next; -1 finished */
    bool running;
} generator;

/* Runs to the next element; false at the end. */
static bool advance(C *c, generator *g) {
    const ast *n = g->n;
    while (g->level >= 0) {
        tc_step(c);
        const ast *cl = n->list[g->level];
        if (!g->its[g->level]) {
            V seq = tc_eval_expr(c, &g->fr, cl->b);
            g->fr.at = cl->b;
            g->its[g->level] = tc_iter(c, seq);
            g->loops[g->level].i = -1;
        }
        g->fr.loop = g->loops[g->level].outer;
        g->fr.at = cl->b;
        V v = tc_next(c, g->its[g->level]);
        if (!v) {
            g->its[g->level] = NULL;
            g->level--;
            continue;
        }
        g->loops[g->level].i++;
        g->fr.loop = &g->loops[g->level];
        tc_store(c, &g->fr, cl->a, v);
        bool ok = true;
        for (int i = 0; i < cl->n && ok; i++) {
            V t = tc_eval_expr(c, &g->fr, cl->list[i]);
            g->fr.at = cl->list[i];
            ok = tc_truth(c, t);
        }
        if (!ok) continue;
        if (g->level + 1 == n->n) return true;
        g->level++;
    }
    return false;
}

static V next_element(C *c, V self) {
    generator *g = (generator *)self;
    if (g->level < 0) return NULL;
    if (g->running) tc_raise(c, "ValueError", "generator already executing");
    g->running = true;
    tc_stack_check(c);
    g->fr.prev = c->fr;
    c->fr = &g->fr;
    V v = NULL;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        if (advance(c, g)) v = tc_eval_expr(c, &g->fr, g->n->a);
        tc_untrap(c, &t);
    } else {
        g->running = false;
        g->level = -1;
        c->fr = g->fr.prev;
        tc_raise_again(c, c->exc);
    }
    c->fr = g->fr.prev;
    g->running = false;
    return v;
}

static V iter_next(C *c, iter *it) { return next_element(c, it->src); }

V tc_genexpr(C *c, frame *f, const ast *n) {
    scope *s = n->sc;
    V first = tc_eval_expr(c, f, n->list[0]->b);
    f->at = n->list[0]->b;
    V it = tc_iter(c, first);
    generator *g = tc_new(c, K_GENEXPR, sizeof *g);
    g->n = n;
    g->its = tc_mem(c, sizeof(V) * (size_t)n->n);
    g->its[0] = it;
    g->loops = tc_mem(c, sizeof(running_loop) * (size_t)n->n);
    for (int i = 0; i < n->n; i++) g->loops[i] = (running_loop){.at = n->list[i], .i = -1, .outer = i ? &g->loops[i - 1] : NULL};
    g->fr = (frame){.prev = c->fr, .sc = s, .globals = f->globals, .module = f->module, .fn = f->fn, .at = n, .depth = c->depth};
    g->fr.slots = tc_mem(c, sizeof(V) * (size_t)(s->nslots + 1));
    for (int i = 0; i < s->nfree; i++) g->fr.slots[s->free[i]->slot] = f->slots[s->free[i]->from];
    for (var *v = s->vars; v; v = v->next)
        if (v->cell && v->kind == VAR_LOCAL && v->slot >= 0) g->fr.slots[v->slot] = tc_cell(c, NULL);
    if (n->op == 'g') {
        iter *o = tc_iter_new(c, iter_next, (V)g);
        o->h.type = c->types[K_GENEXPR];
        return (V)o;
    }
    c->fr = &g->fr;
    V out = n->op == 'l' ? (V)tc_list(c, 0) : n->op == 's' ? (V)tc_set(c, false) : (V)tc_dict(c);
    while (advance(c, g)) {
        V k = tc_eval_expr(c, &g->fr, n->a);
        if (n->op == 'l') tc_list_push(c, (list *)out, k);
        else if (n->op == 's') tc_dict_set(c, ((set *)out)->d, k, c->none);
        else {
            V v = tc_eval_expr(c, &g->fr, n->b);
            tc_dict_set(c, (dict *)out, k, v);
        }
    }
    c->fr = g->fr.prev;
    return out;
}
