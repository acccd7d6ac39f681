/* The model as objects of the model language, and the capture of what onnx_import.py makes of it. */
#include "onnx/onnx.h"

#include "base/rng.h"
#include "capture/torch.h"
#include "pass/dce.h"

#include <stdio.h>

typedef struct {
    const tc_onnx_model *m;
    const tc_onnx_options *o;
    tc_capture *k;
    tc_side_programs programs; /* the model's and those for other sides of its branches */
    tc_side_size *seen;        /* sizes that the first was captured with */
    size_t nseen;
    const char *where; /* the node that is being built */
    tc_source place;   /* the same as provenance: the file and the number of the node in it, from 1, nodes of subgraphs and functions behind theirs */
    const char *wants;
    V model;
    int nodes;
} job;

static job *job_of(C *c) { return (job *)c->warn_self; }

static void put(C *c, dict *d, const char *key, V v) { tc_dict_setc(c, d, key, v); }

/* ---- objects ---- */
static V str_list(C *c, const char *const *s, size_t n) {
    V l = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < n; i++) tc_list_push(c, (list *)l, tc_strz(c, s[i]));
    return l;
}

static V int_list(C *c, const int64_t *v, size_t n) {
    V l = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < n; i++) tc_list_push(c, (list *)l, tc_int(c, v[i]));
    return l;
}

/* (element type, tensor), or (8, sizes, strings) */
static V tensor_object(C *c, const tc_onnx_tensor *t) {
    if (t->type == TC_ONNX_STRING)
        return tc_tuple_of(c, 3, tc_int(c, t->type), int_list(c, t->size, (size_t)t->rank), str_list(c, t->strings, t->nstrings));
    return tc_tuple_of(c, 2, tc_int(c, t->type), tc_value_of_tensor(c, &t->data, false));
}

/* ("tensor", element type, sizes or None), ("sequence", of), ("optional", of), ("map",), ("none",) */
static V type_object(C *c, const tc_onnx_type *t) {
    tc_stack_check(c);
    switch (t->kind) {
    case TC_ONNX_T_TENSOR:
    case TC_ONNX_T_SPARSE: {
        V sizes = t->has_shape ? tc_list_of(c, 0, NULL) : c->none;
        for (int i = 0; t->has_shape && i < t->rank; i++)
            tc_list_push(c, (list *)sizes, t->size[i] >= 0 ? tc_int(c, t->size[i]) : t->sym[i] ? tc_strz(c, t->sym[i]) : c->none);
        return tc_tuple_of(c, 3, tc_strz(c, "tensor"), tc_int(c, t->elem), sizes);
    }
    case TC_ONNX_T_SEQUENCE:
    case TC_ONNX_T_OPTIONAL:
        return tc_tuple_of(c, 2, tc_strz(c, t->kind == TC_ONNX_T_SEQUENCE ? "sequence" : "optional"), t->of ? type_object(c, t->of) : c->none);
    default: return tc_tuple_of(c, 1, tc_strz(c, t->kind == TC_ONNX_T_MAP ? "map" : "none"));
    }
}

static V graph_object(C *c, const tc_onnx_graph *g);

static V attr_object(C *c, const tc_onnx_attr *a) {
    V l = tc_list_of(c, 0, NULL);
    if (a->ref) return tc_tuple_of(c, 2, tc_strz(c, "ref"), tc_strz(c, a->ref));
    switch (a->kind) {
    case TC_ONNX_A_FLOAT: return tc_float(c, (double)a->f);
    case TC_ONNX_A_INT: return tc_int(c, a->i);
    case TC_ONNX_A_STRING: return tc_strz(c, a->s);
    case TC_ONNX_A_TENSOR:
    case TC_ONNX_A_SPARSE:
        if (!a->t) break;
        return tensor_object(c, a->t);
    case TC_ONNX_A_GRAPH:
        if (!a->g) break;
        return graph_object(c, a->g);
    case TC_ONNX_A_TYPE:
        if (!a->type) break;
        return type_object(c, a->type);
    case TC_ONNX_A_FLOATS:
        for (size_t i = 0; i < a->floats.len; i++) tc_list_push(c, (list *)l, tc_float(c, (double)a->floats.data[i]));
        return l;
    case TC_ONNX_A_INTS: return int_list(c, a->ints.data, a->ints.len);
    case TC_ONNX_A_STRINGS: return str_list(c, a->strings.data, a->strings.len);
    case TC_ONNX_A_TENSORS:
        for (size_t i = 0; i < a->tensors.len; i++) tc_list_push(c, (list *)l, tensor_object(c, &a->tensors.data[i]));
        return l;
    case TC_ONNX_A_GRAPHS:
        for (size_t i = 0; i < a->graphs.len; i++) tc_list_push(c, (list *)l, graph_object(c, a->graphs.data[i]));
        return l;
    default: break;
    }
    tc_raise(c, "ValueError", "attribute '%s' has no value of its type %d", a->name, a->kind);
}

/* (operator, domain, name, inputs, outputs, attributes, overload, number) */
static V node_object(C *c, const tc_onnx_node *n) {
    V attrs = (V)tc_dict(c), number = tc_int(c, ++job_of(c)->nodes);
    for (size_t i = 0; i < n->attrs.len; i++) put(c, (dict *)attrs, n->attrs.data[i].name, attr_object(c, &n->attrs.data[i]));
    return tc_tuple_of(c, 8, tc_strz(c, n->op), tc_strz(c, n->domain), tc_strz(c, n->name), str_list(c, n->inputs.data, n->inputs.len),
                       str_list(c, n->outputs.data, n->outputs.len), attrs, tc_strz(c, n->overload), number);
}

static V values_object(C *c, const tc_onnx_value *v, size_t n) {
    V l = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < n; i++) tc_list_push(c, (list *)l, tc_tuple_of(c, 2, tc_strz(c, v[i].name), type_object(c, &v[i].type)));
    return l;
}

static V graph_object(C *c, const tc_onnx_graph *g) {
    tc_stack_check(c);
    dict *d = tc_dict(c);
    V nodes = tc_list_of(c, 0, NULL), inits = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < g->nodes.len; i++) tc_list_push(c, (list *)nodes, node_object(c, &g->nodes.data[i]));
    for (size_t i = 0; i < g->inits.len; i++)
        tc_list_push(c, (list *)inits, tc_tuple_of(c, 2, tc_strz(c, g->inits.data[i].name), tensor_object(c, &g->inits.data[i])));
    put(c, d, "name", tc_strz(c, g->name));
    put(c, d, "nodes", nodes);
    put(c, d, "inits", inits);
    put(c, d, "inputs", values_object(c, g->inputs.data, g->inputs.len));
    put(c, d, "outputs", values_object(c, g->outputs.data, g->outputs.len));
    return (V)d;
}

static V opsets_object(C *c, const tc_onnx_opset *o, size_t n) {
    dict *d = tc_dict(c);
    for (size_t i = 0; i < n; i++) put(c, d, o[i].domain, tc_int(c, o[i].version));
    return (V)d;
}

static V function_object(C *c, const tc_onnx_function *f) {
    dict *d = (dict *)graph_object(c, &f->body), *defaults = tc_dict(c);
    for (size_t i = 0; i < f->defaults.len; i++) put(c, defaults, f->defaults.data[i].name, attr_object(c, &f->defaults.data[i]));
    put(c, d, "domain", tc_strz(c, f->domain));
    put(c, d, "overload", tc_strz(c, f->overload));
    put(c, d, "inputs", str_list(c, f->inputs.data, f->inputs.len));
    put(c, d, "outputs", str_list(c, f->outputs.data, f->outputs.len));
    put(c, d, "attrs", str_list(c, f->attrs.data, f->attrs.len));
    put(c, d, "defaults", (V)defaults);
    put(c, d, "opsets", opsets_object(c, f->opsets.data, f->opsets.len));
    return (V)d;
}

static V model_object(C *c, const job *j) {
    const tc_onnx_model *m = j->m;
    dict *d = tc_dict(c), *fixed = tc_dict(c);
    V graph = graph_object(c, &m->graph), functions = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < m->functions.len; i++) tc_list_push(c, (list *)functions, function_object(c, &m->functions.data[i]));
    for (int i = 0; i < j->o->nfixed; i++) {
        const tc_onnx_fixed *f = &j->o->fixed[i];
        V l = tc_list_of(c, 0, NULL);
        for (int k = 0; k < f->n; k++) tc_list_push(c, (list *)l, tc_value_of_tensor(c, &f->items[k], false));
        if (f->text) put(c, fixed, f->name, tensor_object(c, f->text));
        else put(c, fixed, f->name, f->absent ? c->none : f->is_sequence ? l : ((list *)l)->a[0]);
    }
    put(c, d, "graph", graph);
    put(c, d, "functions", functions);
    put(c, d, "opsets", opsets_object(c, m->opsets.data, m->opsets.len));
    put(c, d, "ir_version", tc_int(c, m->ir_version));
    put(c, d, "fixed", (V)fixed);
    return (V)d;
}

/* ---- what the rules ask for: module _onnx ---- */
static V f_eager(C *c, args *A) {
    args rest = {.a = A->a + 1, .n = A->n - 1};
    if (A->n < 1 || A->nk) tc_raise(c, "TypeError", "eager(f, ...)");
    return tc_capture_eagerly(c, A->a[0], &rest);
}
static V f_parameter(C *c, args *A) {
    V v[2];
    tc_take(c, A, "parameter", "t name", v);
    tc_capture_parameter(job_of(c)->k, v[0], tc_as_str(v[1])->s);
    return v[0];
}
/* input(name, dtype, sizes, example): a tensor that the user gives; sizes: ints, or names of symbols. */
static V f_input(C *c, args *A) {
    V v[4];
    size_t n;
    tc_take(c, A, "input", "name dtype sizes example", v);
    V *sizes = tc_items(v[2], &n);
    tc_capture_input in = {.name = tc_as_str(v[0])->s, .kind = TC_INPUT_TENSOR, .rank = (int)n};
    if (n > TC_MAX_RANK || tc_kind_of(v[1]) != K_DTYPE) tc_raise(c, "ValueError", "input %s: more than %d dimensions", in.name, TC_MAX_RANK);
    in.dtype = ((dtypeobj *)v[1])->d;
    for (size_t i = 0; i < n; i++) in.size[i] = tc_to_str(c, sizes[i])->s;
    const tc_tensor *e = tc_tensor_of_value(v[3]);
    if (e) in.example = *e;
    return tc_capture_tensor(job_of(c)->k, &in);
}
static V f_known(C *c, args *A) {
    V v[1];
    tc_take(c, A, "known", "t", v);
    return tc_bool(c, tc_is_tensor(v[0]) && ((tensor *)v[0])->t.storage);
}
/* number(x): an int, float or bool whose value is known, not a symbolic one. */
static V f_number(C *c, args *A) {
    V v[1];
    tc_take(c, A, "number", "x", v);
    kind k = tc_kind_of(v[0]);
    return tc_bool(c, k == K_INT || k == K_FLOAT || k == K_BOOL);
}
/* What must hold where the run passes here: an assertion. */
static void assert_here(C *c, tc_sym s, const char *what) {
    tc_buf text = {0};
    tc_buf_puts(&text, what);
    tc_sym_print(&text, s);
    V said = tc_strz(c, tc_buf_str(&text));
    tc_buf_free(&text);
    tc_torch_calln(c, "aten::_assert_scalar", 2, tc_symv(c, s), said);
}
/* A condition on sizes, decided as the examples have it. In a branch or a loop's body, which may never run, an assertion there keeps it;
 * elsewhere it is a guard of the program. */
static V decide(C *c, V cond, bool (*in_program)(C *c, V cond)) {
    const tc_graph *g = c->torch->graph;
    tc_symvalue now;
    if (tc_kind_of(cond) != K_SYM) return tc_bool(c, tc_truth(c, cond));
    tc_sym s = tc_to_sym(c, cond);
    if (!g || g == g->program->graph || tc_sym_type(s) != TC_SYM_BOOL || !tc_torch_eval_hint(c, s, &now)) return tc_bool(c, in_program(c, cond));
    if (!now.i) s = tc_sym_op(g->program->sym, TC_S_NOT, s, NULL, NULL);
    assert_here(c, s, "these sizes break a condition of a branch: ");
    return tc_bool(c, now.i);
}
static bool from_data(C *c, V cond) { return tc_kind_of(cond) == K_SYM && tc_sym_from_data(c, cond); }
/* from_data(condition): only a run can tell, since it is on numbers that come from data. */
static V f_from_data(C *c, args *A) {
    V v[1];
    tc_take(c, A, "from_data", "condition", v);
    return tc_bool(c, from_data(c, v[0]));
}
/* truth(condition): which way a branch on sizes goes. */
static V f_truth(C *c, args *A) {
    V v[1];
    tc_take(c, A, "truth", "condition", v);
    return decide(c, v[0], tc_sym_truth);
}
/* require(condition): the same of what must be so: a size without example takes a value with which it is; on numbers from data every run
 * asserts it. */
static V f_require(C *c, args *A) {
    V v[1];
    tc_take(c, A, "require", "condition", v);
    if (!from_data(c, v[0])) return decide(c, v[0], tc_sym_require);
    assert_here(c, tc_to_sym(c, v[0]), "these data break a condition: ");
    return tc_bool(c, true);
}
/* at(text, number): the node that is built from here on, for messages and as the place of what is made of it; 0: none. */
static V f_at(C *c, args *A) {
    V v[2];
    tc_take(c, A, "at", "text number", v);
    job *j = job_of(c);
    j->where = tc_as_str(v[0])->s;
    if (!j->programs.len && j->o->sides > 1 && !j->nseen) j->nseen = tc_capture_sided(j->k, &j->seen); /* before nodes narrow the ranges */
    j->place.line = (int)tc_index(c, v[1], "number");
    c->torch->replayed = j->place.line ? &j->place : NULL;
    return c->none;
}
static V f_wants(C *c, args *A) {
    V v[1];
    tc_take(c, A, "wants", "name", v);
    job_of(c)->wants = tc_as_str(v[0])->s;
    return c->none;
}
static V f_unsupported(C *c, args *A) {
    V v[1];
    tc_take(c, A, "unsupported", "text", v);
    tc_raise_code(c, TC_UNSUPPORTED, "%s", tc_as_str(v[0])->s);
}
static V f_warn(C *c, args *A) {
    V v[1];
    tc_take(c, A, "warn", "text", v);
    if (c->warn) c->warn(c->warn_self, tc_as_str(v[0])->s);
    return c->none;
}

static void warn(void *self, const char *text) {
    job *j = self;
    if (j->o->warn) j->o->warn(j->o->warn_self, text);
}

/* ---- the capture ---- */
static tc_tree *leaves(tc_program *p, int n) {
    tc_tree *t = TC_NEW(&p->arena, tc_tree);
    t->kind = TC_TREE_TUPLE, t->n = n;
    t->children = TC_NEWN(&p->arena, tc_tree *, (size_t)n + 1);
    for (int i = 0; i < n; i++) t->children[i] = TC_NEW(&p->arena, tc_tree);
    return t;
}

/* build(model), with these sizes for those of the examples if `at` is given. */
static tc_program *capture(C *c, job *j, int attempt, const tc_side_size *at, size_t nat) {
    const size_t made = j->programs.len;
    j->k = tc_capture_begin(c, made ? tc_arena_printf(&c->arena, "model-%zu", made + 1) : "model");
    tc_program *p = c->torch->graph->program;
    module *mod = tc_import(c, "onnx_import", true);
    if (!made) j->nseen = 0;
    tc_capture_ranges(j->k, j->o->dims, j->o->ndims);
    tc_capture_attempt(j->k, attempt);
    tc_capture_lenient(j->k);
    if (at) tc_capture_sizes(j->k, at, nat);
    V result = tc_call1(c, tc_module_attr(c, mod, tc_intern(c, "build", 5)), j->model), values, names;
    size_t n, two;
    V *pair = tc_items(result, &two);
    values = pair[0], names = pair[1];
    V *items = tc_items(values, &n), *name = tc_items(names, &two);
    const char **text = tc_mem(c, sizeof *text * (n + 1));
    for (size_t i = 0; i < n; i++) text[i] = tc_as_str(name[i])->s;
    j->where = NULL;
    tc_capture_outputs(j->k, n == 1 ? items[0] : tc_tuple(c, n, items), text, (int)n);
    int users = 0;
    for (int i = 0; i < p->ninputs; i++) users += p->inputs[i].kind == TC_IN_USER;
    p->in_tree = leaves(p, 2);
    p->in_tree->children[0] = leaves(p, users);
    p->in_tree->children[1]->kind = TC_TREE_DICT;
    p = tc_capture_end(j->k);
    return p;
}

/* The program of these sizes; NULL: the model has none. */
static tc_program *capture_side(void *ctx, const tc_side_size *sizes, size_t n) {
    C *c = ctx;
    job *j = job_of(c);
    tc_program *volatile p = NULL;
    void (*told)(void *, const char *) = c->warn;
    trap t;
    c->warn = NULL; /* the first capture has warned */
    if (TC_TRAP(c, t)) {
        p = capture(c, j, 0, sizes, n);
        p->instead_of = tc_arena_strdup(&p->arena, j->programs.data[0]->name);
        tc_untrap(c, &t);
    } else tc_capture_abandon(c);
    c->warn = told;
    return p;
}

static void run(C *c, void *ctx) {
    static const native_def fns[] = {{"eager", f_eager}, {"parameter", f_parameter},     {"input", f_input},     {"known", f_known},
                                     {"at", f_at},       {"number", f_number},           {"require", f_require}, {"truth", f_truth},
                                     {"wants", f_wants}, {"unsupported", f_unsupported}, {"warn", f_warn},       {"from_data", f_from_data},
                                     {NULL, NULL}};
    job *j = ctx;
    tc_define(c, tc_module(c, "_onnx")->d, fns);
    j->model = model_object(c, j);
    for (volatile int attempt = 0; !j->programs.len; attempt++) {
        trap t;
        if (TC_TRAP(c, t)) {
            tc_program *p = capture(c, j, attempt, NULL, 0);
            tc_vec_push(&j->programs, p);
            tc_untrap(c, &t);
        } else { /* a size that was chosen as an example may not suit the model */
            V e = c->exc;
            bool chosen = tc_capture_chose_sizes(c) && !j->wants;
            tc_capture_abandon(c);
            if (!chosen || attempt + 1 == TC_CAPTURE_MORE_ATTEMPTS || tc_exc_is(c, e, "TypeError") || tc_exc_is(c, e, "AttributeError"))
                tc_raise_again(c, e);
        }
    }
    if (j->nseen) tc_sides(&j->programs, j->seen, j->nseen, (tc_side_limits){.most = (size_t)j->o->sides, .ones = true}, capture_side, c);
}

/* What an import may take: more for models of many nodes and large attributes, so that a few functions that call each other again and
 * again end early. */
static size_t memory_for(const tc_onnx_model *m) {
    static const size_t most = (size_t)1 << 30, base = (size_t)192 << 20, node = (size_t)100 << 10, byte = 64;
    size_t nodes = m->graph.nodes.len, len = m->blob ? m->blob->len : 0;
    for (size_t i = 0; i < m->functions.len; i++) nodes += m->functions.data[i].body.nodes.len;
    for (const tc_onnx_graph *g = m->graphs; g; g = g->next) nodes += g->nodes.len;
    if (nodes > most / node || len > most / byte) return most;
    size_t all = base + nodes * node + len * byte;
    return all < most ? all : most;
}

tc_status tc_onnx_import(const tc_onnx_model *m, const tc_onnx_options *o, tc_side_programs *out, char **out_wants) {
    C *c;
    tc_generator gen = {0};
    job j = {.m = m, .o = o, .place = {.file = m->file}};
    tc_lang_options limits = {.max_steps = 200000000, .max_memory = memory_for(m), .max_tensor_bytes = (size_t)256 << 20, .all_types = true};
    if (out_wants) *out_wants = NULL;
    tc_generator_seed(&gen, 0);
    TC_TRY(tc_lang_create_with(&limits, o->run, &gen, &c));
    c->warn = warn, c->warn_self = &j;
    tc_status st = tc_lang_run(c, run, &j);
    if (st && j.where) st = tc_annotate(st, "%s", j.where);
    if (st) st = tc_annotate(st, "%s", m->file);
    if (st && out_wants && j.wants) *out_wants = tc_xstrdup(j.wants);
    tc_lang_destroy(c);
    for (size_t i = 0; i < j.programs.len; i++) {
        if (st) tc_program_release(j.programs.data[i]);
        else tc_dce(j.programs.data[i], false), tc_vec_push(out, j.programs.data[i]);
    }
    tc_vec_free(&j.programs);
    return st;
}
