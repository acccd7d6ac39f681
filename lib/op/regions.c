/* Regions in functionalisation (alias.h): a subgraph that runs once under another grad or autocast mode is replaced by its nodes, which carry that
 * mode. */
#include "op/alias.h"

#include "op/decompose.h"

typedef struct {
    const char *name;
    int graph; /* the argument from which on its graph is searched */
} region;
static const region regions[] = {{"wrap_with_set_grad_enabled", 1},
                                 {"wrap_with_autocast", 4},
                                 {"tag_activation_checkpoint", 0},
                                 {"wrap_activation_checkpoint", 0},
                                 {"wrap", 0},
                                 {"strict_mode", 0},
                                 {"invoke_subgraph", 0},
                                 {"hints_wrapper", 0}};

static const region *region_of(const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    if (strcmp(s->ns, "higher_order")) return NULL;
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (!strcmp(regions[i].name, s->name)) return &regions[i];
    return NULL;
}

/* Replaces the region's inputs by operands (aux); its own values move into the outer graph unchanged. */
static tc_value *renamed(const tc_graph *sub, tc_value *v) { return v->graph == sub ? v->aux : v; }
static void rename_place(void *ctx, tc_value **v) { *v = renamed(ctx, *v); }

static void move_value(tc_graph *g, tc_value *v) {
    v->id = g->nvalues++;
    v->graph = g;
    v->name = tc_graph_unique(g, v->name);
    for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) move_value(g, v->list[k]);
}

/* The subgraph of n, a call of a region; sets aux of its inputs to the operands. */
static tc_status bind_operands(tc_node *n, const region *r, tc_graph **out) {
    int at = r->graph, nops = 0;
    while (at < n->nargs && n->args[at].kind != TC_A_GRAPH) at++;
    if (at >= n->nargs) return tc_e_refuse(n, "a graph expected");
    tc_graph *sub = *out = n->args[at].graph;
    for (int i = at + 1; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        const bool list = a->kind == TC_A_VALUES, number = a->kind == TC_A_INT || a->kind == TC_A_SCALAR;
        if (number && (nops >= sub->ninputs || sub->inputs[nops]->kind == TC_V_TENSOR)) continue; /* a setting of the region, not an operand */
        for (int k = 0; k < (list ? a->n : number || a->kind == TC_A_VALUE); k++, nops++)
            if (nops < sub->ninputs)
                sub->inputs[nops]->aux = list ? a->values[k] : number ? NULL : a->value; /* numbers are replaced by their expressions */
    }
    if (nops != sub->ninputs) return tc_e_refuse(n, "%d operands for a graph of %d inputs", nops, sub->ninputs);
    return NULL;
}

/* Moves node m of the region before n. */
static tc_node *moved(tc_graph *g, tc_node *m, tc_node *n, bool no_grad) {
    tc_node *copy = tc_graph_node(g, m->op, 0, m->nouts, n);
    copy->args = m->args;
    copy->nargs = m->nargs;
    copy->source = m->source;
    copy->origin = m->origin;
    copy->no_grad = m->no_grad || no_grad;
    copy->annotations = m->annotations ? m->annotations : n->annotations;
    copy->name = tc_graph_unique(g, m->name ? m->name : "node");
    for (int i = 0; i < m->nouts; i++) {
        move_value(g, m->outs[i]);
        tc_node_set_output(copy, i, m->outs[i]);
    }
    return copy;
}

/* Inserts autocast's casts before n and updates its result types. */
static tc_status cast_arguments(tc_functional *f, tc_node *n, tc_dtype to) {
    tc_value types[16] = {{0}};
    f->e.before = n;
    f->e.source = n->source;
    TC_TRY(tc_autocast(&f->e, n->op, n->args, n->nargs, to));
    if (tc_op_schema(n->op)->variadic || n->nouts > 16) return NULL;
    TC_TRY(tc_op_infer(f->g->program, n->op, n->args, n->nargs, n->source, types, n->nouts));
    for (int i = 0; i < n->nouts; i++)
        if (types[i].kind == TC_V_TENSOR) n->outs[i]->meta = types[i].meta;
    return NULL;
}

/* Moves the nodes of the region, including inner regions, before n; its results replace those of n. */
static tc_status inline_region(tc_functional *f, tc_node *n, const region *r, tc_dtype cast, bool no_grad) {
    tc_graph *sub = NULL;
    TC_TRY(bind_operands(n, r, &sub));
    no_grad |= n->no_grad;
    if (!strcmp(r->name, "wrap_with_set_grad_enabled")) no_grad = !tc_arg_bool(n, 0);
    if (!strcmp(r->name, "wrap_with_autocast"))
        cast = !tc_arg_bool(n, 2) ? TC_DTYPE_NONE : n->args[1].kind == TC_A_DTYPE ? n->args[1].dtype : TC_BF16;
    for (tc_node *m = sub->first, *next; m; m = next) {
        next = m->next;
        tc_node_each_input(m, rename_place, sub);
        tc_node *copy = moved(f->g, m, n, no_grad);
        const region *inner = region_of(copy);
        if (inner) TC_TRY(inline_region(f, copy, inner, cast, no_grad));
        else if (cast != TC_DTYPE_NONE) TC_TRY(cast_arguments(f, copy, cast));
    }
    for (int i = 0; i < n->nouts && i < sub->noutputs; i++) { /* redirect readers of the region's results */
        while (f->inlined.len <= n->outs[i]->id) tc_vec_push(&f->inlined, NULL);
        f->inlined.data[n->outs[i]->id] = sub->outputs[i] ? renamed(sub, sub->outputs[i]) : NULL;
    }
    tc_node_remove(n);
    return NULL;
}

tc_status tc_inline_regions(tc_functional *f, tc_node *from) {
    for (tc_node *n = from, *next; n; n = next) {
        next = n->next;
        const region *r = region_of(n);
        if (!r) continue;
        TC_TRY(inline_region(f, n, r, TC_DTYPE_NONE, false), "%s", n->name ? n->name : tc_op_name(n->op));
    }
    return NULL;
}
