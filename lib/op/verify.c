/* The verifier: structure, types, schemas, signature, single assignment. Runs after capture, load and every pass. The executors rely on what it
 * checks. Every error names the node. */
#include "op/op.h"

#include <string.h>

typedef struct {
    const tc_program *p;
    bool *bound; /* symbols that are defined, by index */
    size_t nsyms;
    int depth;
} verifier;

typedef struct { /* one graph */
    verifier *v;
    const tc_graph *g;
    const tc_value **defined; /* by id */
    tc_map names;
} scope;

#define FAIL(...) return tc_error(TC_CONTENT, __VA_ARGS__)

static const char *label(const tc_node *n) { return n->name ? n->name : n->op ? tc_op_name(n->op) : "a node without operator"; }

/* ---- symbols ---- */
static const char *unbound(const verifier *v, tc_sym s) {
    if (!s) return "(none)";
    if (tc_sym_opcode(s) == TC_S_VAR) {
        size_t i = (size_t)tc_sym_var_index(s);
        return i < v->nsyms && v->bound[i] ? NULL : tc_sym_var_name(s);
    }
    for (int i = 0; i < tc_sym_arity(s); i++) {
        const char *name = unbound(v, tc_sym_arg(s, i));
        if (name) return name;
    }
    return NULL;
}

static void bind(verifier *v, tc_sym s) {
    if (!s) return;
    if (tc_sym_opcode(s) == TC_S_VAR) {
        size_t i = (size_t)tc_sym_var_index(s);
        if (i < v->nsyms) v->bound[i] = true;
    }
    for (int i = 0; i < tc_sym_arity(s); i++) bind(v, tc_sym_arg(s, i));
}

static void bind_type(verifier *v, const tc_value *t) {
    if (t->kind == TC_V_SYM) bind(v, t->sym);
    for (int i = 0; t->kind == TC_V_TENSOR && i < t->meta.rank; i++) bind(v, t->meta.size[i]);
    for (int i = 0; t->kind == TC_V_LIST && i < t->nlist; i++) bind_type(v, t->list[i]);
}

/* ---- values ---- */
static tc_status check_meta(const verifier *v, const char *who, const tc_meta *m) {
    if ((unsigned)m->dtype >= TC_DTYPE_COUNT) FAIL("%s: unknown dtype %d", who, m->dtype);
    if (m->rank < 0 || m->rank > TC_MAX_RANK) FAIL("%s: rank %d, expected 0..%d", who, m->rank, TC_MAX_RANK);
    if (m->rank && !m->size) FAIL("%s: sizes are missing", who);
    for (int i = 0; i < m->rank; i++) {
        int64_t c, lo, hi;
        if (!m->size[i] || tc_sym_type(m->size[i]) != TC_SYM_INT) FAIL("%s: size %d is no int", who, i);
        if (tc_sym_const_int(m->size[i], &c) && c < 0) FAIL("%s: size %d is %lld", who, i, (long long)c);
        tc_sym_range(v->p->sym, m->size[i], &lo, &hi);
        if (hi < 0) FAIL("%s: size %d is negative", who, i);
        if (m->stride && (!m->stride[i] || tc_sym_type(m->stride[i]) != TC_SYM_INT)) FAIL("%s: stride %d is no int", who, i);
    }
    return NULL;
}

static tc_status check_type(const verifier *v, const char *who, const tc_value *t) {
    switch (t->kind) {
    case TC_V_NONE: return NULL;
    case TC_V_TENSOR: return check_meta(v, who, &t->meta);
    case TC_V_SYM:
        if (!t->sym) FAIL("%s: a number without expression", who);
        return NULL;
    case TC_V_LIST:
        if (t->nlist < 0 || (t->nlist && !t->list)) FAIL("%s: a list without elements", who);
        for (int i = 0; i < t->nlist; i++) {
            if (!t->list[i] || t->list[i]->kind != TC_V_TENSOR) FAIL("%s: element %d of the list is no tensor", who, i);
            TC_TRY(check_meta(v, who, &t->list[i]->meta));
        }
        return NULL;
    }
    FAIL("%s: unknown kind of value %d", who, t->kind);
}

static tc_status define(scope *s, const char *who, const tc_value *t, const tc_node *producer, int out_index) {
    if (!t) FAIL("%s: a result is missing", who);
    if (t->graph != s->g) FAIL("%s: value %s belongs to another graph", who, t->name ? t->name : "?");
    if (t->id >= s->g->nvalues) FAIL("%s: value %s has id %u of %u", who, t->name ? t->name : "?", t->id, s->g->nvalues);
    if (s->defined[t->id]) FAIL("%s: value %s is assigned twice (or shares its id with %s)", who, t->name ? t->name : "?", s->defined[t->id]->name);
    if (!t->name || !*t->name) FAIL("%s: a value has no name", who);
    void **slot = tc_map_put(&s->names, t->name, strlen(t->name));
    if (*slot) FAIL("%s: two values are called %s", who, t->name);
    *slot = s;
    if (t->producer != producer || (producer && t->out_index != out_index)) FAIL("%s: value %s names another producer", who, t->name);
    s->defined[t->id] = t;
    TC_TRY(check_type(s->v, who, t));
    for (int i = 0; t->kind == TC_V_LIST && i < t->nlist; i++) TC_TRY(define(s, who, t->list[i], producer, out_index));
    return NULL;
}

static tc_status check_use(const scope *s, const char *who, const tc_value *t) {
    if (!t) FAIL("%s: a value is missing", who);
    if (t->graph != s->g) FAIL("%s: %s belongs to another graph", who, t->name ? t->name : "?");
    if (t->kind == TC_V_SYM && !t->producer && t->id < s->g->nvalues && !s->defined[t->id]) { /* host arithmetic: a number is its expression */
        const char *name = unbound(s->v, t->sym);
        if (name) FAIL("%s: %s: %s is not known here", who, t->name ? t->name : "?", name);
        return NULL;
    }
    if (t->id >= s->g->nvalues || s->defined[t->id] != t) FAIL("%s: %s is used before it is defined", who, t->name ? t->name : "?");
    return NULL;
}

/* ---- nodes ---- */
static tc_status check_sym(const scope *s, const char *who, const char *arg, tc_sym e) {
    const char *name = unbound(s->v, e);
    if (name) FAIL("%s: argument %s: size %s is not known here", who, arg, name);
    return NULL;
}

static tc_status check_graph(verifier *v, const tc_graph *g);

static tc_status check_arg(const scope *s, const tc_node *n, const tc_schema *sc, int i) {
    const tc_arg *a = &n->args[i];
    const char *who = label(n), *name = i < sc->nparams ? sc->params[i].name : "operand";
    if ((unsigned)a->kind > TC_A_GRAPH) FAIL("%s: argument %s: unknown kind %d", who, name, a->kind);
    if (a->kind >= TC_A_VALUES && a->n < 0) FAIL("%s: argument %s: a list of %d", who, name, a->n);
    switch (a->kind) {
    case TC_A_VALUE: TC_TRY(check_use(s, who, a->value)); break;
    case TC_A_VALUES:
        for (int k = 0; k < a->n; k++)
            if (a->values[k]) TC_TRY(check_use(s, who, a->values[k]));
        break;
    case TC_A_INT:
        if (!a->sym || tc_sym_type(a->sym) != TC_SYM_INT) FAIL("%s: argument %s is no int", who, name);
        TC_TRY(check_sym(s, who, name, a->sym));
        break;
    case TC_A_INTS:
        for (int k = 0; k < a->n; k++) {
            if (!a->syms[k] || tc_sym_type(a->syms[k]) != TC_SYM_INT) FAIL("%s: argument %s[%d] is no int", who, name, k);
            TC_TRY(check_sym(s, who, name, a->syms[k]));
        }
        break;
    case TC_A_SCALAR:
        if (a->is_sym) TC_TRY(check_sym(s, who, name, a->sym));
        else if ((unsigned)a->scalar.kind > TC_KIND_COMPLEX) FAIL("%s: argument %s: unknown kind of number", who, name);
        break;
    case TC_A_STRING:
    case TC_A_DEVICE:
        if (!a->string) FAIL("%s: argument %s has no text", who, name);
        break;
    case TC_A_DTYPE:
        if ((unsigned)a->dtype >= TC_DTYPE_COUNT) FAIL("%s: argument %s: unknown dtype", who, name);
        break;
    case TC_A_LAYOUT:
        if (a->code < 0 || a->code > 7) FAIL("%s: argument %s: unknown layout %d", who, name, a->code);
        break;
    case TC_A_MEMFORMAT:
        if (a->code < 0 || a->code > 4) FAIL("%s: argument %s: unknown memory format %d", who, name, a->code);
        break;
    case TC_A_GRAPH:
        if (!a->graph) FAIL("%s: argument %s has no graph", who, name);
        if (a->graph->program != s->v->p) FAIL("%s: graph %s belongs to another program", who, a->graph->name);
        if (s->v->depth >= 30) FAIL("%s: graphs are nested more than 30 deep", who);
        s->v->depth++;
        TC_TRY(check_graph(s->v, a->graph), "%s", who);
        s->v->depth--;
        break;
    default: break;
    }
    if (!sc->variadic) {
        tc_arg copy = *a;
        TC_TRY(tc_op_coerce((tc_program *)(uintptr_t)s->v->p, n->op, &sc->params[i], &copy), "%s", who);
        if (copy.kind != a->kind || (a->kind >= TC_A_VALUES && copy.n != a->n)) FAIL("%s: argument %s is not in the form of its schema", who, name);
        if (sc->params[i].mutated && s->v->p->functional) FAIL("%s: writes to %s in a functional program", who, name);
    }
    return NULL;
}

/* Is it a symbol made during the check, or an expression of one? */
static bool made_anew(tc_sym s, size_t old_syms, int depth) {
    if (tc_sym_opcode(s) == TC_S_VAR) return (size_t)tc_sym_var_index(s) >= old_syms;
    for (int i = 0; depth < 50 && i < tc_sym_arity(s); i++)
        if (made_anew(tc_sym_arg(s, i), old_syms, depth + 1)) return true;
    return false;
}

/* Compares a size from the shape rule with the node's. Symbols made during the check match anything. */
static bool size_fits(const scope *s, tc_sym want, tc_sym have, size_t old_syms) {
    if (want == have || made_anew(want, old_syms, 0)) return true;
    tc_symctx *c = s->v->p->sym; /* facts learnt after the node was made */
    return tc_sym_known(c, tc_sym_op(c, TC_S_EQ, tc_sym_simplify(c, want), tc_sym_simplify(c, have), NULL)) == 1;
}

static tc_status type_differs(const char *who, const tc_value *want, const tc_value *have) {
    tc_buf b = {0};
    tc_value_print_type(&b, have);
    tc_buf_puts(&b, ", expected ");
    tc_value_print_type(&b, want);
    tc_status st = tc_error(TC_CONTENT, "%s: result %s has type %s", who, have->name ? have->name : "?", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static tc_status compare_type(const scope *s, const char *who, const tc_value *want, const tc_value *have, size_t old_syms) {
    if (want->kind != have->kind) return type_differs(who, want, have);
    if (want->kind == TC_V_SYM && want->sym && tc_sym_type(want->sym) != tc_sym_type(have->sym)) return type_differs(who, want, have);
    if (want->kind == TC_V_LIST) {
        if (want->nlist != have->nlist) return type_differs(who, want, have);
        for (int i = 0; i < want->nlist; i++) TC_TRY(compare_type(s, who, want->list[i], have->list[i], old_syms));
    }
    if (want->kind != TC_V_TENSOR) return NULL;
    if (want->meta.dtype != have->meta.dtype || want->meta.rank != have->meta.rank) return type_differs(who, want, have);
    for (int i = 0; i < want->meta.rank; i++)
        if (!size_fits(s, want->meta.size[i], have->meta.size[i], old_syms)) return type_differs(who, want, have);
    return NULL;
}

static tc_status check_results(const scope *s, const tc_node *n) {
    tc_program *p = (tc_program *)(uintptr_t)s->v->p; /* the rule may make symbols; nothing else is changed */
    size_t old_syms = tc_sym_var_count(p->sym), old_guards = p->guards.len;
    int fresh = p->nfresh;
    tc_value *types = tc_xcalloc((size_t)(n->nouts ? n->nouts : 1), sizeof *types);
    tc_status st = tc_op_infer(p, n->op, n->args, n->nargs, n->source, types, n->nouts);
    if (st) st = tc_annotate(st, "%s", label(n));
    for (int i = 0; i < n->nouts && !st; i++) st = compare_type(s, label(n), &types[i], n->outs[i], old_syms);
    for (int i = 0; i < n->nouts && !st; i++) /* compositions may have data-dependent sizes too */
        for (int d = 0; types[i].kind == TC_V_TENSOR && d < types[i].meta.rank; d++)
            if (made_anew(types[i].meta.size[d], old_syms, 0)) bind_type(s->v, n->outs[i]);
    free(types);
    p->guards.len = old_guards;
    p->nfresh = fresh;
    return st;
}

static tc_status check_node(scope *s, const tc_node *n) {
    if (!n->op) FAIL("%s: no operator", label(n));
    const tc_schema *sc = tc_op_schema(n->op);
    if (n->graph != s->g) FAIL("%s: stands in another graph", label(n));
    if (!sc->variadic && n->nargs != sc->nparams) FAIL("%s: %d arguments, %s has %d", label(n), n->nargs, tc_op_name(n->op), sc->nparams);
    for (int i = 0; i < n->nargs; i++) TC_TRY(check_arg(s, n, sc, i));
    int nouts = tc_op_nouts(n->op, n->args, n->nargs);
    if (n->nouts != nouts) FAIL("%s: %d results, %s has %d", label(n), n->nouts, tc_op_name(n->op), nouts);
    for (int i = 0; i < n->nouts; i++) TC_TRY(define(s, label(n), n->outs[i], n, i));
    TC_TRY(check_results(s, n));
    for (int i = 0; i < n->nouts; i++)
        if ((n->op->flags & (TC_OP_DATA_SHAPE | TC_OP_HIGHER_ORDER)) || n->outs[i]->kind == TC_V_SYM) bind_type(s->v, n->outs[i]);
    for (int i = 0; i < n->nouts; i++)
        for (int d = 0; n->outs[i]->kind == TC_V_TENSOR && d < n->outs[i]->meta.rank; d++) {
            const char *name = unbound(s->v, n->outs[i]->meta.size[d]);
            if (name) FAIL("%s: size %s of its result is not known here", label(n), name);
        }
    return NULL;
}

static tc_status check_nodes(scope *s) {
    const tc_graph *g = s->g;
    size_t count = 0;
    const tc_node *prev = NULL;
    for (int i = 0; i < g->ninputs; i++) {
        TC_TRY(define(s, "inputs", g->inputs[i], NULL, 0), "graph %s", g->name);
        bind_type(s->v, g->inputs[i]);
    }
    for (const tc_node *n = g->first; n; prev = n, n = n->next) {
        if (n->prev != prev) FAIL("%s: the list of nodes is broken", label(n));
        if (++count > g->nnodes) FAIL("%s: graph %s has more than its %zu nodes", label(n), g->name, g->nnodes);
        TC_TRY(check_node(s, n));
    }
    if (g->last != prev || count != g->nnodes) FAIL("graph %s: %zu nodes, its list has %zu", g->name, g->nnodes, count);
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) TC_TRY(check_use(s, "outputs", g->outputs[i]), "graph %s", g->name);
    return NULL;
}

static tc_status check_signature(const scope *s);

static tc_status check_graph(verifier *v, const tc_graph *g) {
    scope s = {v, g, tc_xcalloc(g->nvalues ? g->nvalues : 1, sizeof *s.defined), {.borrows = true}};
    tc_map_reserve(&s.names, g->nvalues);
    tc_status st = check_nodes(&s);
    if (!st && g == v->p->graph) st = check_signature(&s);
    free(s.defined);
    tc_map_free(&s.names);
    return st;
}

/* ---- signature ---- */
static tc_status check_input(const scope *s, int i, tc_map *seen) {
    const tc_input *in = &s->v->p->inputs[i];
    const char *name = in->name ? in->name : "?";
    if ((unsigned)in->kind > TC_IN_TOKEN) FAIL("input %d: unknown kind %d", i, in->kind);
    if (in->kind == TC_IN_LEAF) return NULL;
    if (!in->value) FAIL("input %s has no value", name);
    TC_TRY(check_use(s, name, in->value));
    if (in->value->producer) FAIL("input %s: %s is the result of a node", name, in->value->name);
    void **slot = tc_map_put(seen, (const char *)&in->value, sizeof in->value);
    if (*slot) FAIL("input %s: %s is named twice", name, in->value->name);
    *slot = seen;
    if (in->kind > TC_IN_CONSTANT) return NULL;
    if (!in->name || !*in->name) FAIL("input %d: a parameter, buffer or constant has no name", i);
    if (in->value->kind != TC_V_TENSOR) FAIL("input %s is no tensor", name);
    if (in->alias_of >= s->v->p->ninputs) FAIL("input %s shares the storage of input %d, there are %d", name, in->alias_of, s->v->p->ninputs);
    if (!in->data.storage) return NULL;
    if (in->data.dtype != in->value->meta.dtype)
        FAIL("input %s: data are %s, expected %s", name, tc_dtypes[in->data.dtype].name, tc_dtypes[in->value->meta.dtype].name);
    if (in->data.rank != in->value->meta.rank) FAIL("input %s: data have %d dimensions, expected %d", name, in->data.rank, in->value->meta.rank);
    for (int d = 0; d < in->data.rank; d++) {
        int64_t want;
        if (tc_sym_const_int(in->value->meta.size[d], &want) && want != in->data.size[d])
            FAIL("input %s: data have size %lld in dimension %d, expected %lld", name, (long long)in->data.size[d], d, (long long)want);
    }
    return NULL;
}

static tc_status check_output(const scope *s, int i) {
    static const tc_input_kind written[] = {[TC_OUT_BUFFER] = TC_IN_BUFFER,
                                            [TC_OUT_PARAMETER] = TC_IN_PARAMETER,
                                            [TC_OUT_USER_INPUT] = TC_IN_USER,
                                            [TC_OUT_GRAD_PARAMETER] = TC_IN_PARAMETER,
                                            [TC_OUT_GRAD_USER] = TC_IN_USER};
    const tc_program *p = s->v->p;
    const tc_output *o = &p->outputs[i];
    const char *name = o->name ? o->name : "?";
    if ((unsigned)o->kind > TC_OUT_TOKEN) FAIL("output %d: unknown kind %d", i, o->kind);
    if (o->kind == TC_OUT_LEAF || (o->kind == TC_OUT_USER && !o->value)) return NULL;
    if (!o->value) FAIL("output %s has no value", name);
    TC_TRY(check_use(s, "outputs", o->value), "output %s", name);
    bool targeted = (o->kind >= TC_OUT_BUFFER && o->kind <= TC_OUT_USER_INPUT) || o->kind == TC_OUT_GRAD_PARAMETER || o->kind == TC_OUT_GRAD_USER;
    if (!targeted) return NULL;
    if (o->target < 0 || o->target >= p->ninputs) FAIL("output %s: target %d, there are %d inputs", name, o->target, p->ninputs);
    const tc_input *in = &p->inputs[o->target];
    if (in->kind != written[o->kind]) FAIL("output %s: its target %s is of another kind", name, in->name ? in->name : "?");
    if (!in->value || in->value->kind != o->value->kind) FAIL("output %s: its target %s is no such value", name, in->name ? in->name : "?");
    if (o->value->kind == TC_V_TENSOR && (o->value->meta.dtype != in->value->meta.dtype || o->value->meta.rank != in->value->meta.rank))
        return type_differs(name, in->value, o->value);
    return NULL;
}

static tc_status check_signature(const scope *s) {
    const tc_program *p = s->v->p;
    tc_map seen = {0};
    tc_status st = NULL;
    int nvalues = 0, nouts = 0;
    for (int i = 0; i < p->ninputs && !st; i++) {
        st = check_input(s, i, &seen);
        nvalues += p->inputs[i].value != NULL;
    }
    tc_map_free(&seen);
    if (st) return st;
    if (nvalues != s->g->ninputs) FAIL("the signature has %d inputs with values, the graph %d", nvalues, s->g->ninputs);
    for (int i = 0; i < p->noutputs; i++) {
        TC_TRY(check_output(s, i));
        if (!p->outputs[i].value) continue;
        if (nouts >= s->g->noutputs || s->g->outputs[nouts] != p->outputs[i].value)
            FAIL("output %s is not output %d of the graph", p->outputs[i].name ? p->outputs[i].name : "?", nouts);
        nouts++;
    }
    if (nouts != s->g->noutputs) FAIL("the signature has %d outputs with values, the graph %d", nouts, s->g->noutputs);
    for (size_t i = 0; i < p->guards.len; i++)
        if (!p->guards.data[i].cond || tc_sym_type(p->guards.data[i].cond) != TC_SYM_BOOL) FAIL("guard %zu is no condition", i);
    return NULL;
}

tc_status tc_program_verify(const tc_program *p) {
    verifier v = {p, NULL, tc_sym_var_count(p->sym), 0};
    v.bound = tc_xcalloc(v.nsyms ? v.nsyms : 1, sizeof *v.bound);
    tc_status st = check_graph(&v, p->graph);
    free(v.bound);
    return st;
}
