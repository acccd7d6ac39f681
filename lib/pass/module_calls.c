/* Groups nodes by module call and finds each call's inputs and outputs (module_calls.h). */
#include "pass/module_calls.h"

#include <string.h>

size_t tc_module_call_of(const char *calls, const char *module) {
    size_t k = strlen(module);
    for (const char *at = calls; at && *at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        if (strncmp(at, module, k) != 0 || (at[k] && !strchr(".@;", at[k]))) continue;
        size_t before = (size_t)(at - calls);
        return before + (at[k] == '.' ? k : strcspn(at, ";"));
    }
    return 0;
}

void tc_module_calls_add(tc_module_calls *calls, tc_node *n, size_t len) {
    const char *text = n->source.calls ? n->source.calls : "";
    for (size_t i = calls->len; i-- > 0;) {
        tc_module_call *c = &calls->data[i];
        bool same = c->graph == n->graph && c->n == len && !strncmp(c->calls, text, len);
        if (!same || (!len && c->nodes.data[c->nodes.len - 1]->next != n)) continue;
        tc_vec_push(&c->nodes, n);
        return;
    }
    tc_module_call c = {.graph = n->graph, .calls = text, .n = len};
    tc_vec_push(&c.nodes, n);
    tc_vec_push(calls, c);
}

void tc_module_calls_free(tc_module_calls *calls) {
    for (size_t i = 0; i < calls->len; i++) tc_vec_free(&calls->data[i].nodes);
    tc_vec_free(calls);
}

/* ---- use counts and data flow ---- */
static void count_one(tc_value *v) {
    if (v) v->aux = (char *)v->aux + 1;
}
static void count(void *ctx, tc_value **place) {
    (void)ctx;
    count_one(*place);
}

static void clear_one(tc_value *v) {
    v->aux = NULL;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) v->list[i]->aux = NULL;
}

static void clear(const tc_graph *g) {
    for (int i = 0; i < g->ninputs; i++) clear_one(g->inputs[i]);
    for (tc_node *n = g->first; n; n = n->next) {
        n->aux = NULL;
        for (int i = 0; i < n->nouts; i++) clear_one(n->outs[i]);
    }
}

static void open_graph(tc_call_flows *f, tc_graph *g) {
    clear(g);
    for (tc_node *n = g->first; n; n = n->next) {
        tc_node_each_input(n, count, NULL);
        for (int i = 0; i < n->nargs; i++) {
            if (n->args[i].kind != TC_A_GRAPH) continue;
            *tc_map_put(&f->owners, (const char *)&n->args[i].graph, sizeof n->args[i].graph) = n;
            open_graph(f, n->args[i].graph);
        }
    }
    for (int i = 0; i < g->noutputs; i++) count_one(g->outputs[i]);
}

void tc_call_flows_open(tc_call_flows *f, tc_program *p) {
    *f = (tc_call_flows){.program = p};
    open_graph(f, p->graph);
}

void tc_call_flows_close(tc_call_flows *f) {
    clear(f->program->graph);
    for (size_t i = 0; i < f->owners.len; i++) {
        tc_graph *g;
        memcpy(&g, f->owners.entries[i].key, sizeof g);
        clear(g);
    }
    tc_map_free(&f->owners);
}

tc_node *tc_call_flows_owner(const tc_call_flows *f, const tc_graph *g) { return tc_map_get(&f->owners, (const char *)&g, sizeof g); }

tc_value *tc_body_operand(const tc_node *n, const tc_graph *body, int i) {
    const tc_arg *last = n->nargs ? &n->args[n->nargs - 1] : NULL; /* the operands shared by all steps and branches */
    int from = last && last->kind == TC_A_VALUES ? body->ninputs - last->n : body->ninputs;
    return i >= from ? last->values[i - from] : NULL;
}

bool tc_call_flows_weight(const tc_call_flows *f, const tc_value *v) {
    const tc_node *owner = tc_call_flows_owner(f, v->graph);
    const tc_program *p = f->program;
    for (int i = 0; owner && i < v->graph->ninputs; i++) {
        const tc_value *outer = v->graph->inputs[i] == v ? tc_body_operand(owner, v->graph, i) : NULL;
        if (outer) return !outer->producer && tc_call_flows_weight(f, outer);
    }
    for (int i = 0; !owner && i < p->ninputs; i++)
        if (p->inputs[i].value == v) return p->inputs[i].kind != TC_IN_USER;
    return false;
}

typedef struct {
    const tc_call_flows *f;
    const tc_module_call *c;
    tc_values *in;
    tc_map seen; /* value -> number of reads by the call's own nodes; not NULL for values of others */
} flow;

static void read_one(void *ctx, tc_value **place) {
    flow *w = ctx;
    tc_value *v = *place;
    void **times = tc_map_put(&w->seen, (const char *)&v, sizeof v);
    bool met = *times != NULL;
    *times = (char *)*times + 1;
    if (met || v->kind == TC_V_SYM || (v->producer ? v->producer->aux == w->c : tc_call_flows_weight(w->f, v))) return;
    tc_vec_push(w->in, v);
}

static void made(flow *w, tc_value *v, tc_values *out) {
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) made(w, v->list[i], out);
    if (v->kind != TC_V_LIST && v->aux != tc_map_get(&w->seen, (const char *)&v, sizeof v)) tc_vec_push(out, v);
}

void tc_call_flow(const tc_call_flows *f, const tc_module_call *c, tc_values *in, tc_values *out) {
    flow w = {.f = f, .c = c, .in = in};
    for (size_t i = 0; i < c->nodes.len; i++) c->nodes.data[i]->aux = (void *)(uintptr_t)c;
    for (size_t i = 0; i < c->nodes.len; i++) tc_node_each_input(c->nodes.data[i], read_one, &w);
    for (size_t i = 0; i < c->nodes.len; i++)
        for (int k = 0; k < c->nodes.data[i]->nouts; k++) made(&w, c->nodes.data[i]->outs[k], out);
    for (size_t i = 0; i < c->nodes.len; i++) c->nodes.data[i]->aux = NULL;
    tc_map_free(&w.seen);
}
