/* Random draws with several ranks: each rank draws for the global batch and takes its own slice, so that results equal those of one rank
 * (tc-numerics(7), "Random numbers").
 *
 *     bernoulli.p(empty [B, 16], 0.75)   ->   slice(bernoulli.p(empty [batch, 16], 0.75), 0, first, first + B)
 *
 * B: samples of this rank; batch: of all ranks; first: of the ranks before this one. A draw whose size does not depend on B is the same on every
 * rank. */
#include "op/emit.h"
#include "train/internal.h"

#include <string.h>

typedef struct {
    tc_trainer *t;
    tc_sym var; /* B */
} share;

static tc_sym at(const share *s, tc_symctx *c, tc_sym size, int64_t samples) {
    tc_sym by = tc_sym_int(c, samples);
    return tc_sym_substitute(c, size, &s->var, &by, 1);
}

/* The dimension that is a multiple of B, if it is the only one that depends on B; -1: none. */
static int batch_dim(const share *s, tc_symctx *c, const tc_meta *m) {
    for (int d = 0; d < m->rank; d++) {
        tc_sym size = m->size[d], one = at(s, c, size, 1), local = at(s, c, size, s->t->local_batch);
        if (one == size) continue;
        return local == tc_sym_mul(c, one, tc_sym_int(c, s->t->local_batch)) ? d : -1; /* a multiple */
    }
    return -1;
}

/* Operators that use only the shape of their first argument. */
static bool fills(const tc_op *op) {
    static const char *const names[] = {"bernoulli", "uniform",    "normal_functional", "normal_serial", "exponential",
                                        "cauchy",    "log_normal", "geometric",         "random"};
    const tc_schema *s = tc_op_schema(op);
    if (!strcmp(s->name, "bernoulli")) return s->overload && !strcmp(s->overload, "p");
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s->name, names[i])) return true;
    return false;
}

/* Pads x along dimension d to the global batch, at this rank's position; the padding's values do not matter. */
static tc_value *widen(tc_emit *e, const share *s, const tc_op *op, tc_value *x, int d) {
    tc_symctx *c = e->graph->program->sym;
    tc_sym all = at(s, c, x->meta.size[d], s->t->batch), before = at(s, c, x->meta.size[d], s->t->first_sample);
    if (fills(op)) {
        tc_sym size[TC_MAX_RANK];
        for (int i = 0; i < x->meta.rank; i++) size[i] = i == d ? all : x->meta.size[i];
        return tc_emit_call(e, "aten::new_empty", "vS", x, size, x->meta.rank);
    }
    tc_sym pad[2 * TC_MAX_RANK];
    int n = 0;
    for (int i = x->meta.rank - 1; i >= d; i--) {
        tc_sym zero = tc_sym_int(c, 0);
        pad[n++] = i == d ? before : zero;
        pad[n++] = i == d ? tc_sym_sub(c, tc_sym_sub(c, all, before), x->meta.size[d]) : zero;
    }
    return tc_emit_call(e, "aten::constant_pad_nd", "vSf", x, pad, n, 0.5); /* a valid probability, rate and scale */
}

static tc_status draw_for_all(const share *s, tc_node *n) {
    tc_program *p = n->graph->program;
    int d = n->nouts == 1 && n->outs[0]->kind == TC_V_TENSOR ? batch_dim(s, p->sym, &n->outs[0]->meta) : -1;
    if (d < 0) return NULL;
    tc_emit e = {.graph = n->graph, .before = n, .source = n->source, .origin = n->origin};
    tc_arg *given = tc_arena_dup(&p->arena, n->args, sizeof *given * (size_t)n->nargs);
    const tc_meta *m = &n->outs[0]->meta;
    for (int i = 0; i < n->nargs; i++) {
        tc_value *x = given[i].kind == TC_A_VALUE ? given[i].value : NULL;
        if (x && x->kind == TC_V_TENSOR && x->meta.rank == m->rank && x->meta.size[d] == m->size[d]) given[i].value = widen(&e, s, n->op, x, d);
    }
    tc_node *joined = NULL;
    if (!e.status) e.status = tc_graph_call(n->graph, n->op, given, n->nargs, n->source, n, &joined);
    tc_sym from = at(s, p->sym, m->size[d], s->t->first_sample);
    tc_value *own =
        e.status ? NULL : tc_emit_call(&e, "aten::slice.Tensor", "viss", joined->outs[0], (int64_t)d, from, tc_sym_add(p->sym, from, m->size[d]));
    if (e.status) return tc_annotate(e.status, "%s", tc_op_name(n->op));
    tc_graph_replace(n->graph, n->outs[0], own);
    tc_node_remove(n);
    return NULL;
}

tc_status tc_train_share_draws(tc_trainer *t, tc_program *p) {
    const tc_value *first = NULL;
    for (int i = 0; i < p->ninputs && !first; i++)
        if (p->inputs[i].kind == TC_IN_USER && p->inputs[i].value->kind == TC_V_TENSOR && p->inputs[i].value->meta.rank > 0)
            first = p->inputs[i].value;
    if (!first || tc_sym_opcode(first->meta.size[0]) != TC_S_VAR) return NULL;
    share s = {.t = t, .var = first->meta.size[0]};
    for (tc_graph *g = p->graph; g; g = g == p->graph ? p->graph->first_sub : g->next_sub)
        for (tc_node *n = g->first, *next; n; n = next) {
            next = n->next;
            if (n->op->flags & TC_OP_RANDOM) TC_TRY(draw_for_all(&s, n));
        }
    return NULL;
}
