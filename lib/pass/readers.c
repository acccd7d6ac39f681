/* Use counts of values in a plan (pass/readers.h). */
#include "pass/readers.h"

typedef struct {
    const tc_plan *plan;
    int *readers;
} ctx;

static void count(ctx *c, const tc_value *v) {
    if (!v) return;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) count(c, v->list[i]);
    if (v->graph == c->plan->graph) c->readers[v->id]++;
}
static void count_place(void *ctx_, tc_value **place) { count(ctx_, *place); }
static void count_loop(ctx *c, const tc_loop *l) {
    for (size_t i = 0; l && i < l->buffers.len; i++)
        if (!l->buffers.data[i].written) count(c, l->buffers.data[i].value);
}

int *tc_plan_readers(const tc_plan *p) {
    ctx c = {p, tc_xcalloc(p->graph->nvalues + 1, sizeof *c.readers)};
    for (size_t i = 0; i < p->groups.len; i++) {
        const tc_group *g = &p->groups.data[i];
        if (g->kind != TC_GROUP_LOOP) tc_node_each_input(g->node, count_place, &c);
        for (int k = 0; k < g->nviews; k++) tc_node_each_input(g->views[k], count_place, &c);
        count_loop(&c, g->loop);
        count_loop(&c, g->epilogue);
    }
    for (int i = 0; i < p->graph->noutputs; i++) count(&c, p->graph->outputs[i]);
    return c.readers;
}

void tc_plan_close(tc_plan *plan) {
    size_t kept = 0;
    for (size_t i = 0; i < plan->groups.len; i++)
        if (plan->groups.data[i].kind != TC_GROUP_LOOP || plan->groups.data[i].loop) plan->groups.data[kept++] = plan->groups.data[i];
    plan->groups.len = kept;
}
