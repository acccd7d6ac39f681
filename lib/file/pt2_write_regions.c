/* Writes in-place mutation under no_grad as torch.export does: a region without gradients that mutates. The mutated tensor keeps its gradient history.
 *
 *     %y = copy(%x, %v)   # straight         %c = clone(%x)
 *                                      ->    %y = wrap_with_set_grad_enabled(False, {copy_(%c, %v)}, %c, %v)
 *
 * A parameter whose new value is such a result is mutated in a region at the end of the program and not through the signature, because
 * PyTorch would then copy to it with gradients enabled, which it refuses. */
#include "file/pt2_write.h"
#include "op/emit.h"

static bool is_straight(const tc_value *v) { return v && v->producer && v->producer->straight; }

bool tc_pt2_written_in_region(const tc_output *o) { return o->kind == TC_OUT_PARAMETER && is_straight(o->value); }

/* v is written to `to` in a region; the result is `to` afterwards. */
static tc_value *write_in_region(tc_emit *e, tc_value *to, tc_value *v) {
    tc_program *p = e->graph->program;
    tc_value *const outer[] = {to, v};
    tc_value *inner[2];
    tc_emit body = {.graph = tc_graph_create(p, e->graph, tc_graph_unique(e->graph, "submod")), .source = e->source};
    for (int i = 0; i < 2; i++) {
        inner[i] = tc_graph_value(body.graph, TC_V_TENSOR, outer[i]->name);
        tc_value_copy_type(inner[i], outer[i]);
        tc_graph_add_input(body.graph, inner[i]);
    }
    tc_value *written = tc_emit_call(&body, "aten::copy_", "vv", inner[0], inner[1]);
    if (!written) {
        e->status = body.status;
        return NULL;
    }
    tc_graph_add_output(body.graph, written);
    const tc_arg graph = {.kind = TC_A_GRAPH, .graph = body.graph};
    return tc_emit_call(e, "higher_order::wrap_with_set_grad_enabled", "bavv", 0, &graph, to, v);
}

static void count(void *ctx, tc_value **place) {
    int *uses = ctx;
    if (*place) uses[(*place)->id]++;
}

/* How often each value is read, by value id. The caller frees the array. */
static int *count_uses(tc_graph *g) {
    int *uses = tc_xcalloc(g->nvalues + 1, sizeof *uses);
    for (const tc_node *n = g->first; n; n = n->next) tc_node_each_input(n, count, uses);
    for (int i = 0; i < g->noutputs; i++) count(uses, &g->outputs[i]);
    return uses;
}

/* The value that may be written instead of v: v if it is a clone with no other reader (an archive of tc read back), else a new clone. */
static tc_value *writable(tc_emit *e, tc_value *v, const int *uses) {
    bool ours = v->producer && !strcmp(tc_op_name(v->producer->op), "aten.clone.default") && uses[v->id] == 1;
    return ours ? v : tc_emit_call(e, "aten::clone", "v", v);
}

static tc_status write_straight(tc_graph *g) {
    tc_emit e = {.graph = g};
    int *uses = count_uses(g); /* counts before the regions are inserted */
    const tc_rewrite r = {.to = tc_xcalloc(g->nvalues + 1, sizeof *r.to), .n = g->nvalues};
    for (tc_node *n = g->first, *next; n && !e.status; n = next) {
        next = n->next;
        if (!n->straight) continue;
        e.before = n;
        e.source = n->source;
        tc_value *to = writable(&e, tc_rewritten(&r, n->args[0].value), uses);
        tc_value *written = to ? write_in_region(&e, to, tc_rewritten(&r, n->args[1].value)) : NULL;
        if (!written) break;
        r.to[n->outs[0]->id] = written;
        tc_node_remove(n);
    }
    if (!e.status) tc_graph_apply_rewrite(g, &r);
    free(r.to);
    free(uses);
    return e.status;
}

static tc_status write_parameters(tc_program *p) {
    tc_emit e = {.graph = p->graph};
    int kept = 0;
    p->graph->noutputs = 0;
    for (int i = 0; i < p->noutputs; i++) {
        tc_output *o = &p->outputs[i];
        if (tc_pt2_written_in_region(o)) {
            e.source = o->value->producer->source;
            if (!write_in_region(&e, p->inputs[o->target].value, o->value)) return e.status;
            continue;
        }
        if (o->value) p->graph->outputs[p->graph->noutputs++] = o->value;
        p->outputs[kept++] = *o;
    }
    p->noutputs = kept;
    return NULL;
}

static void look_for_marks(const tc_program *p, bool *straight, bool *no_grad) {
    for (const tc_graph *g = p->graph; g; g = g == p->graph ? g->first_sub : g->next_sub)
        for (const tc_node *n = g->first; n; n = n->next) *straight |= n->straight, *no_grad |= n->no_grad;
}

/* The archive does not store no_grad marks of nodes (op/detach.c). They are removed, so that requires_grad of results is what a reader will compute. */
static void unmark(tc_graph *g) {
    for (tc_node *n = g->first; n; n = n->next) {
        n->no_grad = false;
        tc_op_propagate_grad(n);
    }
}

tc_status tc_pt2_with_regions(const tc_program *p, tc_program **out) {
    bool numbers = tc_pt2_lacks_numbers(p->graph), straight = false, no_grad = false;
    look_for_marks(p, &straight, &no_grad);
    if (!numbers && !straight && !no_grad) {
        *out = tc_program_retain((tc_program *)p);
        return NULL;
    }
    tc_program *q = *out = tc_program_clone(p);
    q->functional &= !numbers && !straight;
    for (tc_graph *g = q->graph; g; g = g == q->graph ? g->first_sub : g->next_sub) unmark(g);
    TC_TRY(write_parameters(q));
    TC_TRY(write_straight(q->graph));
    for (tc_graph *g = q->graph->first_sub; g; g = g->next_sub) TC_TRY(write_straight(g));
    if (numbers) TC_TRY(tc_pt2_give_numbers(q->graph));
    return NULL;
}
