/* Common subexpression elimination: a hash table from the bytes of (operator, arguments) to the first such node. */
#include "pass/cse.h"

#include "op/op.h"

static void put(tc_buf *b, const void *p, size_t n) { tc_buf_append(b, p, n); }
#define PUT(b, x) put((b), &(x), sizeof(x))

static void put_arg(tc_buf *b, const tc_arg *a) {
    PUT(b, a->kind);
    PUT(b, a->n);
    switch (a->kind) {
    case TC_A_NONE: break;
    case TC_A_VALUE: PUT(b, a->value->id); break;
    case TC_A_VALUES:
        for (int i = 0; i < a->n; i++) {
            uint32_t id = a->values[i] ? a->values[i]->id : UINT32_MAX;
            PUT(b, id);
        }
        break;
    case TC_A_INT: PUT(b, a->sym); break; /* expressions are hash-consed: equal ones are one pointer */
    case TC_A_INTS: put(b, a->syms, sizeof *a->syms * (size_t)a->n); break;
    case TC_A_SCALAR:
        PUT(b, a->is_sym);
        if (a->is_sym) {
            PUT(b, a->sym);
        } else {
            PUT(b, a->scalar.kind);
            PUT(b, a->scalar.i); /* a double by its bits: -0 and 0 differ */
            if (a->scalar.kind == TC_KIND_COMPLEX) PUT(b, a->scalar.im);
        }
        break;
    case TC_A_FLOATS: put(b, a->floats, sizeof *a->floats * (size_t)a->n); break;
    case TC_A_BOOLS: put(b, a->bools, sizeof *a->bools * (size_t)a->n); break;
    case TC_A_STRING:
    case TC_A_DEVICE: put(b, a->string, strlen(a->string) + 1); break;
    case TC_A_DTYPE: PUT(b, a->dtype); break;
    case TC_A_LAYOUT:
    case TC_A_MEMFORMAT: PUT(b, a->code); break;
    case TC_A_GRAPH: PUT(b, a->graph); break;
    }
}

static bool joinable(const tc_node *n) {
    if (n->op->flags & (TC_OP_RANDOM | TC_OP_IMPURE | TC_OP_HIGHER_ORDER)) return false;
    const tc_schema *s = tc_op_schema(n->op);
    if (s->variadic || !n->nouts || tc_op_mutates(n->op)) return false;
    return !tc_node_brings_symbols(n); /* data-dependent symbols belong to their node */
}

static void note(tc_rewrite *r, tc_value *from, tc_value *to) {
    r->to[from->id] = to;
    for (int i = 0; from->kind == TC_V_LIST && i < from->nlist; i++) r->to[from->list[i]->id] = to->list[i];
}

typedef struct {
    const tc_rewrite *r;
} places;
static void follow(void *ctx, tc_value **place) {
    const tc_rewrite *r = ((places *)ctx)->r;
    if (r->to[(*place)->id]) *place = r->to[(*place)->id];
}

static size_t join(tc_graph *g) {
    tc_rewrite r = {tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *r.to), g->nvalues};
    places pl = {&r};
    tc_map seen = {0};
    tc_buf key = {0};
    size_t removed = 0;
    for (tc_node *n = g->first, *next; n; n = next) {
        next = n->next;
        tc_node_each_input(n, follow, &pl);
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) removed += join(n->args[i].graph);
        if (!joinable(n)) continue;
        key.len = 0;
        PUT(&key, n->op);
        PUT(&key, n->no_grad);
        PUT(&key, n->straight);
        int again = n->source.again ? n->source.checkpoint + 1 : 0;
        PUT(&key, again);
        for (int i = 0; i < n->nargs; i++) put_arg(&key, &n->args[i]);
        tc_node **first = (tc_node **)tc_map_put(&seen, key.data, key.len);
        if (!*first) {
            *first = n;
            continue;
        }
        for (int i = 0; i < n->nouts; i++) note(&r, n->outs[i], (*first)->outs[i]);
        tc_node_remove(n);
        removed++;
    }
    if (removed) tc_graph_apply_rewrite(g, &r);
    free(r.to);
    tc_map_free(&seen);
    tc_buf_free(&key);
    return removed;
}

size_t tc_cse(tc_program *p) { return join(p->graph); }
