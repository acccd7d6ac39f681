/* Evaluates single operators on concrete tensors, each by a tc_exec for a program of one node. They are cached in a map, whose key consists of the
 * operator and, for each argument, its literal value or the type and sizes of its tensor. */
#include "runtime/frame.h"

#include "base/text.h"
#include "op/emit.h"
#include "op/functionalise.h"

enum { MAX_PLANS = 512 }; /* about 48 KB each; a call with a number that changes, as mul(lr, 0.9**step), adds one each time */

struct tc_evaluator {
    tc_exec_options o;
    tc_pool *pool, *own_pool;
    const tc_isa_ops *isa;
    tc_costs costs;
    tc_map plans; /* key -> entry */
    tc_buf key;
};

typedef struct {
    tc_exec *e;
    int nin;
    bool view;  /* the results may be views of the arguments */
    bool packs; /* contiguous(), ravel(): a view only of a contiguous tensor; strides are not in the key */
} entry;

static void entry_free(entry *n) {
    if (!n) return;
    tc_exec_destroy(n->e);
    free(n);
}

void tc_evaluator_forget(tc_evaluator *v) {
    for (size_t i = 0; i < v->plans.len; i++) entry_free(v->plans.entries[i].value);
    tc_map_free(&v->plans);
    v->plans = (tc_map){0};
}

/* ---- keys ---- */
static void key_tensor(tc_buf *b, const tc_tensor *t) {
    if (!t || !t->storage) {
        tc_buf_putc(b, '-');
        return;
    }
    tc_buf_putc(b, (char)(64 + t->dtype));
    tc_buf_putc(b, (char)t->rank);
    tc_buf_append(b, t->size, sizeof(int64_t) * (size_t)t->rank);
}

static void key_sym(tc_buf *b, tc_sym s) {
    int64_t i = 0;
    double f = 0;
    if (tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) tc_buf_append(b, &f, sizeof f);
    else if (tc_sym_const_int(s, &i)) tc_buf_append(b, &i, sizeof i);
    else tc_buf_append(b, &s, sizeof s);
}

static void key_arg(tc_buf *b, const tc_arg *a) {
    tc_buf_putc(b, (char)a->kind);
    tc_buf_append(b, &a->n, sizeof a->n);
    switch (a->kind) {
    case TC_A_VALUE: key_tensor(b, a->value->aux); break;
    case TC_A_VALUES:
        for (int i = 0; i < a->n; i++) key_tensor(b, a->values[i] ? a->values[i]->aux : NULL);
        break;
    case TC_A_INT: key_sym(b, a->sym); break;
    case TC_A_INTS:
        for (int i = 0; i < a->n; i++) key_sym(b, a->syms[i]);
        break;
    case TC_A_SCALAR:
        if (a->is_sym) key_sym(b, a->sym);
        else {
            tc_buf_putc(b, (char)a->scalar.kind);
            tc_buf_append(b, &a->scalar.re, sizeof a->scalar.re);
            if (a->scalar.kind == TC_KIND_COMPLEX) tc_buf_append(b, &a->scalar.im, sizeof a->scalar.im);
        }
        break;
    case TC_A_FLOATS: tc_buf_append(b, a->floats, sizeof *a->floats * (size_t)a->n); break;
    case TC_A_BOOLS: tc_buf_append(b, a->bools, sizeof *a->bools * (size_t)a->n); break;
    case TC_A_STRING:
    case TC_A_DEVICE: tc_buf_puts(b, a->string ? a->string : ""); break;
    case TC_A_DTYPE: tc_buf_putc(b, (char)a->dtype); break;
    case TC_A_LAYOUT:
    case TC_A_MEMFORMAT: tc_buf_append(b, &a->code, sizeof a->code); break;
    default: break;
    }
}

/* Random operators draw numbers in the order of memory, and linear adds a bias by how its input lies (shape_linear), so they depend on the strides of
 * their arguments; other operators only on sizes. */
static bool by_layout(const tc_op *op) { return op->flags & TC_OP_RANDOM || !strcmp(tc_op_schema(op)->name, "linear"); }
static void key_layout(tc_buf *b, const tc_arg *a) {
    const tc_tensor *t = a->kind == TC_A_VALUE && a->value ? a->value->aux : NULL;
    if (t && t->storage && !tc_tensor_is_contiguous(t)) tc_buf_append(b, t->stride, sizeof(int64_t) * (size_t)t->rank);
}

/* ---- planning ---- */
static tc_status add_input(tc_program *p, tc_value *given, bool layout, tc_value **out) {
    *out = NULL;
    if (!given) return NULL;
    const tc_tensor *t = given->aux;
    if (!t || !t->storage) return tc_error(TC_USAGE, "an argument is not a concrete tensor");
    tc_sym size[TC_MAX_RANK];
    for (int d = 0; d < t->rank; d++) size[d] = tc_sym_int(p->sym, t->size[d]);
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, "x");
    tc_sym stride[TC_MAX_RANK];
    for (int d = 0; d < t->rank; d++) stride[d] = tc_sym_int(p->sym, t->stride[d]);
    v->meta = tc_meta_make(&p->arena, t->dtype, t->rank, size, layout && !tc_tensor_is_contiguous(t) ? stride : NULL);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = v, .name = v->name, .alias_of = -1});
    *out = v;
    return NULL;
}

static tc_sym import_sym(tc_program *p, tc_sym s) {
    int64_t i;
    double f;
    bool b;
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) return tc_sym_int(p->sym, i);
    if (tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) return tc_sym_float(p->sym, f);
    if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) return tc_sym_bool(p->sym, b);
    return NULL;
}

static tc_status import_arg(tc_program *p, const tc_arg *a, bool layout, tc_arg *to) {
    *to = *a;
    if (a->kind == TC_A_VALUE) return add_input(p, a->value, layout, &to->value);
    if (a->kind == TC_A_VALUES) {
        to->values = TC_NEWN(&p->arena, tc_value *, (size_t)a->n + 1);
        for (int i = 0; i < a->n; i++) TC_TRY(add_input(p, a->values[i], layout, &to->values[i]));
    }
    if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym))
        if (!(to->sym = import_sym(p, a->sym))) return tc_error(TC_USAGE, "a number is not known");
    if (a->kind == TC_A_INTS) {
        tc_sym *syms = TC_NEWN(&p->arena, tc_sym, (size_t)a->n + 1);
        for (int i = 0; i < a->n; i++)
            if (!(syms[i] = import_sym(p, a->syms[i]))) return tc_error(TC_USAGE, "a size is not known");
        to->syms = syms;
    }
    if (a->kind == TC_A_FLOATS) to->floats = tc_arena_dup(&p->arena, a->floats, sizeof *a->floats * (size_t)a->n);
    if (a->kind == TC_A_BOOLS) to->bools = tc_arena_dup(&p->arena, a->bools, sizeof *a->bools * (size_t)a->n);
    if ((a->kind == TC_A_STRING || a->kind == TC_A_DEVICE) && a->string) to->string = tc_arena_strdup(&p->arena, a->string);
    return NULL;
}

static tc_status build(tc_evaluator *v, const tc_op *op, const tc_arg *args, int nargs, tc_program *p, entry *n) {
    tc_arg *in = TC_NEWN(&p->arena, tc_arg, (size_t)nargs + 1);
    for (int i = 0; i < nargs; i++) TC_TRY(import_arg(p, &args[i], by_layout(op), &in[i]));
    tc_node *node;
    TC_TRY(tc_graph_call(p->graph, op, in, nargs, (tc_source){0}, NULL, &node));
    for (int i = 0; i < node->nouts; i++) {
        tc_value *o = node->outs[i];
        int m = o->kind == TC_V_LIST ? o->nlist : 1;
        for (int k = 0; k < m; k++) {
            tc_value *e = o->kind == TC_V_LIST ? o->list[k] : o;
            tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = e->kind == TC_V_NONE ? NULL : e, .name = e->name, .target = -1});
        }
    }
    p->functional = true;
    tc_exec_options o = v->o;
    o.pool = v->pool;
    o.isa = v->isa;
    o.costs = &v->costs;
    n->nin = p->ninputs;
    n->view = tc_op_may_alias(op);
    n->packs = tc_word_in(" contiguous ravel ", tc_op_schema(op)->name);
    return tc_exec_create(p, &o, &n->e);
}

static tc_status plan(tc_evaluator *v, const tc_op *op, const tc_arg *args, int nargs, entry **out) {
    tc_program *p = tc_program_create("eval");
    if (!p->graph) p->graph = tc_graph_create(p, NULL, "eval");
    entry *n = tc_xcalloc(1, sizeof *n);
    tc_status s = build(v, op, args, nargs, p, n);
    tc_program_release(p);
    if (s) entry_free(n);
    else *out = n;
    return s;
}

/* ---- calls ---- */
static void gather(const tc_arg *args, int nargs, tc_tensor *in) {
    for (int i = 0, k = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE && args[i].value) in[k++] = *(const tc_tensor *)args[i].value->aux;
        for (int j = 0; args[i].kind == TC_A_VALUES && j < args[i].n; j++)
            if (args[i].values[j]) in[k++] = *(const tc_tensor *)args[i].values[j]->aux;
    }
}

/* The results of a view operator share the storage of its argument; composite ones (t, narrow, split, ...) are chains of views. *done: it was one. */
static tc_status view_call(entry *n, tc_tensor *in, tc_tensor *out, int nouts, bool *done) {
    const tc_program *p = tc_exec_program(n->e);
    const tc_graph *g = p->graph;
    *done = false;
    if (n->packs && !tc_tensor_is_contiguous(&in[0])) return NULL;
    for (const tc_node *m = g->first; m; m = m->next)
        if (!m->op->view_alias) return NULL;
    for (int i = 0; i < nouts; i++)
        if (!p->outputs[i].value || p->outputs[i].value->kind != TC_V_TENSOR) return NULL;
    tc_tensor *t = tc_xcalloc(g->nvalues + 1, sizeof *t);
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    for (int i = 0; i < n->nin; i++) t[g->inputs[i]->id] = in[i];
    tc_status s = NULL;
    *done = true;
    for (const tc_node *m = g->first; m && *done && !s; m = m->next) {
        kernel_call_free(k);
        k = tc_xcalloc(1, sizeof *k);
        s = kernel_args(m, t, NULL, 0, true, k);
        if (!s) s = m->op->view_alias(&k->k, &t[m->outs[0]->id], done);
    }
    for (int i = 0; i < nouts && *done && !s; i++) out[i] = tc_tensor_share(&t[p->outputs[i].value->id]);
    for (const tc_node *m = g->first; m; m = m->next) tc_tensor_deinit(&t[m->outs[0]->id]);
    kernel_call_free(k);
    free(t);
    return s;
}

static tc_status evaluate(void *self, const tc_op *op, const tc_arg *args, int nargs, struct tc_generator *gen, tc_tensor *out, int nouts) {
    tc_evaluator *v = self;
    v->key.len = 0;
    tc_buf_append(&v->key, &op, sizeof op);
    for (int i = 0; i < nargs; i++) key_arg(&v->key, &args[i]);
    for (int i = 0; i < nargs && by_layout(op); i++) key_layout(&v->key, &args[i]);
    void **place = tc_map_put(&v->plans, v->key.data, v->key.len);
    entry *n = *place;
    if (!n) {
        TC_TRY(plan(v, op, args, nargs, &n), "%s", tc_op_name(op));
        if (v->plans.len > MAX_PLANS) tc_evaluator_forget(v); /* those still in use will be planned again */
        place = tc_map_put(&v->plans, v->key.data, v->key.len);
        *place = n;
    }
    if (tc_exec_program(n->e)->noutputs != nouts)
        return tc_error(TC_USAGE, "%s: %d results expected, it has %d", tc_op_name(op), nouts, tc_exec_program(n->e)->noutputs);
    tc_tensor some[8], *in = n->nin <= 8 ? some : tc_xcalloc((size_t)n->nin, sizeof *in);
    gather(args, nargs, in);
    for (int i = 0; i < nouts; i++) out[i] = (tc_tensor){0};
    bool done = false;
    tc_status s = n->view ? view_call(n, in, out, nouts, &done) : NULL;
    if (!s && !done) s = tc_exec_run(n->e, in, n->nin, gen, out, nouts);
    if (s)
        for (int i = 0; i < nouts; i++) tc_tensor_deinit(&out[i]);
    if (in != some) free(in);
    return s;
}

tc_status tc_evaluator_create(const tc_exec_options *options, tc_evaluator **out) {
    tc_evaluator *v = tc_xcalloc(1, sizeof *v);
    tc_status s = NULL;
    if (options) v->o = *options;
    v->isa = v->o.isa;
    v->pool = v->o.pool;
    v->costs = v->o.costs ? *v->o.costs : tc_costs_of(&tc_cpu_here);
    if (!v->isa) s = tc_isa_ops_choose(&v->isa);
    if (!s && !v->pool) {
        s = tc_pool_create(tc_default_threads(v->o.threads), &v->own_pool);
        v->pool = v->own_pool;
    }
    if (s) tc_evaluator_destroy(v);
    else *out = v;
    return s;
}

void tc_evaluator_destroy(tc_evaluator *v) {
    if (!v) return;
    tc_evaluator_forget(v);
    tc_buf_free(&v->key);
    tc_pool_destroy(v->own_pool);
    free(v);
}

tc_eval tc_evaluator_eval(tc_evaluator *v) { return (tc_eval){.call = evaluate, .self = v}; }
