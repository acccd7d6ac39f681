/* Decomposition (decompose.h): one forward sweep; nodes emitted by a rule are inserted before its node and visited next. */
#include "op/decompose.h"
#include "op/shape.h"

#include <string.h>

/* Can the runtime execute the operator directly (as a loop, a kernel, a view, or with subgraphs)? */
static bool executable(const tc_op *op) {
    return op->lower || op->kernel || op->view_alias || ((op->flags & TC_OP_DATA_SHAPE) && !op->decompose) || (op->flags & TC_OP_HIGHER_ORDER) ||
           ((op->flags & TC_OP_IMPURE) && !op->decompose);
}

/* ---- symbols of what depends on the data ---- */
typedef struct {
    tc_program *p;
    tc_sym from, to;
} renaming;

static const tc_sym *renamed_all(const renaming *r, const tc_sym *s, int n) {
    bool same = true;
    for (int i = 0; i < n; i++) same &= tc_sym_substitute(r->p->sym, s[i], &r->from, &r->to, 1) == s[i];
    if (same) return s;
    tc_sym *out = TC_NEWN(&r->p->arena, tc_sym, (size_t)n);
    for (int i = 0; i < n; i++) out[i] = tc_sym_substitute(r->p->sym, s[i], &r->from, &r->to, 1);
    return out;
}

static void rename_type(const renaming *r, tc_value *v) {
    if (v->kind == TC_V_SYM && v->sym) v->sym = tc_sym_substitute(r->p->sym, v->sym, &r->from, &r->to, 1);
    if (v->kind == TC_V_TENSOR) v->meta.size = renamed_all(r, v->meta.size, v->meta.rank);
    if (v->kind == TC_V_TENSOR && v->meta.stride) v->meta.stride = renamed_all(r, v->meta.stride, v->meta.rank);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) rename_type(r, v->list[i]);
}

/* The result of a decomposition: nodes from `first` up to `end` (NULL: all), and symbols from number nsymbols on. */
typedef struct {
    tc_program *p;
    tc_node *first;
    const tc_node *end;
    size_t nsymbols;
    tc_source source;
} made;

static bool is_made(const made *m, tc_sym var) {
    for (size_t i = m->nsymbols; i < tc_sym_var_count(m->p->sym); i++)
        if (tc_sym_var_at(m->p->sym, i) == var) return true;
    return false;
}

/* Both are symbols. */
static void rename_symbol(const made *m, tc_sym from, tc_sym to) {
    tc_program *p = m->p;
    renaming r = {p, from, to};
    if (from == to || !is_made(m, from)) return;
    for (tc_node *n = m->first; n && n != m->end; n = n->next) {
        for (int i = 0; i < n->nouts; i++) rename_type(&r, n->outs[i]);
        for (int i = 0; i < n->nargs; i++) {
            tc_arg *a = &n->args[i];
            if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) a->sym = tc_sym_substitute(p->sym, a->sym, &r.from, &r.to, 1);
            if (a->kind == TC_A_INTS) a->syms = renamed_all(&r, a->syms, a->n);
        }
    }
}

/* Data-dependent values that are computed again have the type of the old ones with other symbols: u1 + 1 for u0 + 1. A size that the model forces to be
 * a number (u0 == 2) is forced again. */
static void keep_symbols(const made *m, tc_sym have, tc_sym want) {
    if (tc_sym_opcode(want) == TC_S_CONST && is_made(m, have))
        tc_program_guard(m->p, (tc_guard){.cond = tc_sym_op(m->p->sym, TC_S_EQ, have, want, NULL), .source = m->source});
    if (have == want || tc_sym_opcode(have) != tc_sym_opcode(want) || tc_sym_opcode(have) == TC_S_CONST) return;
    if (tc_sym_opcode(have) == TC_S_VAR) {
        rename_symbol(m, have, want);
        return;
    }
    for (int i = 0; i < tc_sym_arity(have) && i < tc_sym_arity(want); i++) keep_symbols(m, tc_sym_arg(have, i), tc_sym_arg(want, i));
}
static void keep_types(const made *m, const tc_value *have, const tc_value *want) {
    if (!have || have->kind != want->kind) return;
    if (want->kind == TC_V_SYM && want->sym && have->sym) keep_symbols(m, have->sym, want->sym);
    for (int d = 0; want->kind == TC_V_TENSOR && d < want->meta.rank; d++) keep_symbols(m, have->meta.size[d], want->meta.size[d]);
    for (int k = 0; want->kind == TC_V_LIST && k < want->nlist && k < have->nlist; k++) keep_types(m, have->list[k], want->list[k]);
}

static bool of_complex(const tc_value *v) { return v && v->kind == TC_V_TENSOR && tc_is_complex(v->meta.dtype); }
/* Is it executed as a composition because an operand or result is complex? */
static bool by_parts(const tc_node *n) {
    bool any = false;
    if (!n->op->complex) return false;
    for (int i = 0; i < n->nouts; i++) any |= of_complex(n->outs[i]);
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE) any |= of_complex(a->value);
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++) any |= of_complex(a->values[k]);
    }
    return any;
}

/* The composition that executes n instead of the row's loop or kernel; NULL: none. */
static tc_decompose_fn instead(const tc_node *n) {
    if (by_parts(n)) return n->op->complex;
    return n->op->otherwise && !n->op->otherwise->fits(n) ? n->op->otherwise->rule : NULL;
}

tc_status tc_emit_decomposition(tc_emit *e, const tc_node *n) {
    tc_program *p = n->graph->program;
    tc_node *last = e->before ? e->before->prev : e->graph->last; /* the node before the composition */
    const size_t nsymbols = tc_sym_var_count(p->sym);
    bool was = p->no_grad;
    tc_decompose_fn rule = e->rule ? e->rule : instead(n);
    if (!rule) rule = n->op->decompose;
    if (!rule) return tc_error(TC_UNSUPPORTED, "operator %s is not supported: it has no decomposition", tc_op_name(n->op));
    e->source = n->source;
    e->origin = n->origin ? n->origin : n;
    e->results = NULL;
    e->nresults = 0;
    p->no_grad = n->no_grad;
    tc_status st = tc_op_checked(p, rule(e, n));
    p->no_grad = was;
    if (!st) {
        st = e->status;
        e->status = NULL;
    } else {
        tc_status_free(e->status);
        e->status = NULL;
    }
    for (int i = 0; i < n->nouts && !st; i++) {
        const tc_value *want = n->outs[i], *have = i < e->nresults ? e->results[i] : NULL;
        if (want->kind == TC_V_NONE || (want->kind == TC_V_SYM && !have)) continue;
        if (!have) TC_BUG("the decomposition of %s sets no result %d", tc_op_name(n->op), i);
        if (want->kind == TC_V_TENSOR && (have->kind != TC_V_TENSOR || have->meta.dtype != want->meta.dtype || have->meta.rank != want->meta.rank)) {
            tc_buf b = {0};
            tc_value_print_type(&b, want);
            tc_buf_puts(&b, " not ");
            tc_value_print_type(&b, have);
            TC_BUG("result %d of the decomposition of %s should be %s", i, tc_op_name(n->op), tc_buf_str(&b));
        }
    }
    /* data-dependent numbers and sizes keep the symbols of the replaced node */
    const made m = {p, last ? last->next : e->graph->first, e->before, nsymbols, n->source};
    for (int i = 0; i < n->nouts && i < e->nresults && !st; i++) keep_types(&m, e->results[i], n->outs[i]);
    return st ? tc_annotate(st, "%s", n->name ? n->name : tc_op_name(n->op)) : NULL;
}

typedef struct {
    bool (*want)(void *ctx, const tc_node *n);
    void *ctx;
    bool strict;
    tc_rule_fn rule; /* NULL: the decompositions of the operators */
    tc_settle_fn settle;
} policy;

typedef struct {
    TC_VEC(tc_value *) to;
} mapping; /* by value id */

static void map_value(mapping *m, const tc_value *from, tc_value *to) {
    while (m->to.len <= from->id) tc_vec_push(&m->to, NULL);
    m->to.data[from->id] = to;
}

static void remap(void *ctx, tc_value **place) {
    const mapping *m = ctx;
    while ((*place)->id < m->to.len && m->to.data[(*place)->id]) *place = m->to.data[(*place)->id];
}

static tc_status sweep(tc_graph *g, const policy *pol) {
    tc_program *p = g->program;
    mapping map = {{0}};
    tc_status st = NULL;
    size_t budget = 1000 * (g->nnodes + 100); /* limits rules that lead back to themselves */
    for (tc_node *n = g->first, *next; n && !st; n = next) {
        next = n->next;
        tc_node_each_input(n, remap, &map);
        for (int i = 0; i < n->nargs && !st; i++)
            if (n->args[i].kind == TC_A_GRAPH) st = sweep(n->args[i].graph, pol);
        if (st || !pol->want(pol->ctx, n)) continue;
        tc_decompose_fn rule = pol->rule ? pol->rule(n) : NULL;
        if (!n->op->decompose && !rule && !pol->strict) continue;
        if (budget-- == 0) TC_BUG("the decomposition of %s does not end", tc_op_name(n->op));
        tc_emit e = {.graph = g, .before = n, .rule = rule};
        tc_node *prev = n->prev;
        st = tc_emit_decomposition(&e, n);
        if (st) break;
        for (int i = 0; i < n->nouts; i++) {
            tc_value *have = i < e.nresults ? e.results[i] : NULL;
            if (have && pol->settle) have = pol->settle(&e, have, n->outs[i]);
            if (!have) continue;
            map_value(&map, n->outs[i], have);
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && have->kind == TC_V_LIST && k < n->outs[i]->nlist && k < have->nlist; k++)
                map_value(&map, n->outs[i]->list[k], have->list[k]);
        }
        if (e.status) {
            st = e.status;
            break;
        }
        next = prev ? prev->next : g->first; /* visit the emitted nodes next */
        if (next == n) next = n->next;
        tc_node_remove(n);
    }
    for (int i = 0; i < g->noutputs && !st; i++)
        if (g->outputs[i]) remap(&map, &g->outputs[i]);
    for (int i = 0; g == p->graph && i < p->noutputs && !st; i++)
        if (p->outputs[i].value) remap(&map, &p->outputs[i].value);
    tc_vec_free(&map.to);
    return st;
}

static bool not_executable(void *ctx, const tc_node *n) {
    (void)ctx;
    return !executable(n->op) || instead(n);
}

tc_status tc_decompose(tc_program *p) { return sweep(p->graph, &(policy){not_executable, NULL, true}); }

tc_status tc_decompose_by(tc_program *p, bool (*want)(void *ctx, const tc_node *n), tc_rule_fn rule, tc_settle_fn settle, void *ctx) {
    return sweep(p->graph, &(policy){want, ctx, false, rule, settle});
}

tc_status tc_decompose_some(tc_program *p, bool (*want)(void *ctx, const tc_node *n), void *ctx) {
    return sweep(p->graph, &(policy){want, ctx, false});
}

/* ---- rules that depend on the readers of a value ---- */
static bool mark(tc_graph *g, const tc_readers_rule *r) {
    bool any = false, found = false;
    for (const tc_node *n = g->first; n && !any; n = n->next) any = r->begins(n);
    if (!any) return false;
    for (tc_node *n = g->first; n; n = n->next) tc_node_each_input(n, r->reads, n);
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i] && g->outputs[i]->producer) r->returns(g->outputs[i]->producer);
    for (const tc_node *n = g->first; n && !found; n = n->next) found = r->want(NULL, n);
    return found;
}
static bool mark_all(tc_program *p, const tc_readers_rule *r) {
    bool found = mark(p->graph, r);
    for (tc_graph *g = p->graph->first_sub; g; g = g->next_sub) found |= mark(g, r);
    return found;
}
static void clear(tc_graph *g) {
    for (tc_node *n = g->first; n; n = n->next) n->aux = NULL;
}
static void clear_all(tc_program *p) {
    clear(p->graph);
    for (tc_graph *g = p->graph->first_sub; g; g = g->next_sub) clear(g);
}

bool tc_readers_any(tc_program *p, const tc_readers_rule *r) {
    const bool found = mark_all(p, r);
    clear_all(p);
    return found;
}
tc_status tc_decompose_by_readers(tc_program *p, const tc_readers_rule *r) {
    mark_all(p, r);
    tc_status s = tc_decompose_by(p, r->want, r->rule, NULL, NULL);
    clear_all(p);
    return s;
}
