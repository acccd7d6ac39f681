/* Partitioning (partition.h): chooses the values to save, adds recomputation of the others (grad/recompute.c), then cuts between forward and
 * backward. */
#include "pass/partition.h"

#include "grad/grad.h"
#include "pass/cut.h"
#include "pass/dce.h"
#include "pass/mincut.h"
#include "pass/value_bytes.h"

#include <string.h>

typedef struct {
    tc_program *p;
    const tc_node *end;
    size_t nvalues;
    bool *keep; /* by value id */
} partition;

static bool keeps(void *ctx, const tc_value *v) {
    const partition *w = ctx;
    return v->id >= w->nvalues || w->keep[v->id];
}

static void keep_value(partition *w, const tc_value *v, bool keep) {
    w->keep[v->id] = keep;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) keep_value(w, v->list[i], keep);
}

/* Views of weights are recomputed rather than saved: the weight is an input of the backward anyway. */
bool tc_is_of_weight(const tc_program *p, const tc_value *v) {
    while (v->producer && v->producer->op->view_alias && v->producer->args[0].kind == TC_A_VALUE) v = v->producer->args[0].value;
    for (int i = 0; i < p->ninputs && !v->producer; i++)
        if (p->inputs[i].value == v) return p->inputs[i].kind != TC_IN_USER;
    return false;
}

static void keep_all(partition *w) {
    for (const tc_node *n = w->p->graph->first; n; n = n == w->end ? NULL : n->next)
        for (int i = 0; i < n->nouts; i++) keep_value(w, n->outs[i], !tc_is_of_weight(w->p, n->outs[i]));
}

/* ---- policy: listed names ---- */
static tc_status keep_listed(partition *w, const tc_partition_options *o) {
    tc_map names = {0};
    for (int i = 0; i < w->p->ninputs; i++) /* a list that another policy gave (--log partition) has inputs too, which the backward gets anyway */
        if (w->p->inputs[i].value) tc_map_set(&names, w->p->inputs[i].name, w->p->inputs[i].value);
    for (const tc_node *n = w->p->graph->first; n; n = n == w->end ? NULL : n->next)
        for (int i = 0; i < n->nouts; i++) {
            tc_map_set(&names, n->outs[i]->name, n->outs[i]);
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++)
                tc_map_set(&names, n->outs[i]->list[k]->name, n->outs[i]->list[k]);
        }
    tc_status st = NULL;
    for (size_t i = 0; i < o->nsave && !st; i++) {
        const tc_value *v = tc_map_find(&names, o->save[i]);
        if (v) keep_value(w, v, true);
        else st = tc_error(TC_USAGE, "%s is not a value of the forward", o->save[i]);
    }
    tc_map_free(&names);
    return st;
}

/* ---- policy: minimum cut ---- */
/* Is recomputation as cheap as reading the operands, because the node fuses or is a view? Large reductions are not: their small results are cheaper to
 * save. */
static bool cheap(const tc_node *n, const tc_symvalue *vars, size_t nvars) {
    if (!tc_grad_recomputes(n)) return false;
    if (n->op->view_alias) return true;
    if (!n->op->lower || n->op->kernel || n->nouts != 1) return false;
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_VALUE && n->args[i].value &&
            tc_value_bytes(n->args[i].value, vars, nvars) > 4 * tc_value_bytes(n->outs[0], vars, nvars))
            return false;
    return true;
}

/* Vertex 2 v: value v in the forward; 2 v + 1: v in the backward. The edge between them is cut when v is saved. */
typedef struct {
    const partition *w;
    tc_mincut *g;
    size_t source, sink;
    const tc_node *user; /* reading node of the forward; NULL: the backward reads it */
} network;

static void add_use(void *ctx, tc_value **place) {
    network *x = ctx;
    const tc_value *v = *place;
    if (!v || v->id >= x->w->nvalues) return;
    if (!x->user) {
        tc_mincut_edge(x->g, 2 * v->id + 1, x->sink, TC_MINCUT_NEVER);
        return;
    }
    for (int i = 0; i < x->user->nouts; i++) tc_mincut_edge(x->g, 2 * v->id + 1, 2 * x->user->outs[i]->id, TC_MINCUT_NEVER);
}

static void add_value(network *x, const tc_value *v, int64_t bytes, bool computed) {
    tc_mincut_edge(x->g, 2 * v->id, 2 * v->id + 1, bytes);
    if (!computed) tc_mincut_edge(x->g, x->source, 2 * v->id, TC_MINCUT_NEVER);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) { /* list elements are available with their list */
        tc_mincut_edge(x->g, 2 * v->list[i]->id, 2 * v->list[i]->id + 1, bytes / v->nlist + 1);
        tc_mincut_edge(x->g, 2 * v->id + 1, 2 * v->list[i]->id, TC_MINCUT_NEVER);
        if (!computed) tc_mincut_edge(x->g, x->source, 2 * v->list[i]->id, TC_MINCUT_NEVER);
    }
}

static void keep_cheapest(partition *w) {
    const tc_program *p = w->p;
    size_t nvars;
    tc_symvalue *vars = tc_typical_sizes(p, &nvars);
    network x = {.w = w, .g = tc_mincut_create(2 * w->nvalues + 2), .source = 2 * w->nvalues, .sink = 2 * w->nvalues + 1};
    for (int i = 0; i < p->ninputs; i++) /* weights are available in both halves */
        if (p->inputs[i].value) {
            const tc_value *v = p->inputs[i].value;
            bool user = p->inputs[i].kind == TC_IN_USER;
            add_value(&x, v, user ? tc_value_bytes(v, vars, nvars) : 0, false);
        }
    bool forward = true;
    for (const tc_node *n = p->graph->first; n; n = n->next) {
        for (int i = 0; i < n->nouts && forward; i++) add_value(&x, n->outs[i], tc_value_bytes(n->outs[i], vars, nvars), cheap(n, vars, nvars));
        x.user = forward ? n : NULL;
        tc_node_each_input(n, add_use, &x);
        forward = forward && n != w->end;
    }
    bool *side = tc_xcalloc(2 * w->nvalues + 2, sizeof *side);
    tc_mincut_solve(x.g, x.source, x.sink, side);
    for (size_t v = 0; v < w->nvalues; v++) w->keep[v] = side[2 * v] && !side[2 * v + 1];
    free(side);
    tc_mincut_destroy(x.g);
    free(vars);
}

/* ---- the cut ---- */
static tc_status cut_after(tc_program *p, const tc_node *end, tc_program *out[2]) {
    int *piece = tc_xcalloc(p->graph->nnodes + 1, sizeof *piece), *enters = tc_xcalloc((size_t)p->ninputs + 1, sizeof *enters), now = end == NULL;
    size_t k = 0;
    for (const tc_node *n = p->graph->first; n; n = n->next) {
        piece[k++] = now;
        if (n == end) now = 1;
    }
    for (int i = 0; i < p->ninputs; i++)
        enters[i] = p->inputs[i].kind == TC_IN_USER && p->inputs[i].name && !strncmp(p->inputs[i].name, TC_TANGENTS, strlen(TC_TANGENTS));
    tc_status st = tc_cut_program(
        p, &(tc_cut){.npieces = 2, .piece = piece, .names = (const char *[]){"forward", "backward"}, .enters = enters, .prefix = TC_SAVED}, out);
    free(piece);
    free(enters);
    return st;
}

tc_node *tc_drop_dead(tc_program *p, const tc_node *end) {
    for (tc_node *n = end ? p->graph->first : NULL; n; n = n == end ? NULL : n->next) n->aux = n;
    tc_dce(p, false);
    tc_node *last = NULL;
    for (tc_node *n = p->graph->first; n; n = n->next) {
        if (n->aux) last = n;
        n->aux = NULL;
    }
    return last;
}

tc_status tc_partition(tc_program *p, tc_node *end, const tc_partition_options *o, tc_program *out[2]) {
    end = tc_drop_dead(p, end);
    partition w = {.p = p, .end = end, .nvalues = p->graph->nvalues, .keep = tc_xcalloc((size_t)p->graph->nvalues + 1, sizeof(bool))};
    tc_status st = NULL;
    if (o->policy == TC_SAVE_ALL && end) keep_all(&w);
    if (o->policy == TC_SAVE_LISTED) st = keep_listed(&w, o);
    if (o->policy == TC_MIN_CUT && end) keep_cheapest(&w);
    if (!st && end) tc_grad_recompute(p->graph, end, keeps, &w);
    free(w.keep);
    if (!st && o->as) st = tc_save_as(p, &end, o->as);
    return st ? st : cut_after(p, end, out);
}
