/* The signature, the trees and the whole ExportedProgram in the PT2 schema; tc's own state beside it. */
#include "file/pt2_write.h"
#include "pass/symbols.h"

#include <stdio.h>

/* ---- signature ---- */
static void write_tensor_argument(tc_json *j, const char *name) {
    tc_json_object(j);
    tc_json_key(j, "name");
    tc_json_string(j, name);
    tc_json_end(j);
}

static void named_spec(tc_json *j, const char *tag, const char *value, const char *field, const char *name) {
    tc_json_key(j, tag);
    tc_json_object(j);
    tc_json_key(j, "arg");
    write_tensor_argument(j, value);
    if (field) {
        tc_json_key(j, field);
        tc_json_string(j, name);
    }
}

static void write_input_spec(tc_pt2_writer *w, tc_json *j, const tc_input *in) {
    const char *value = in->value ? tc_pt2_value_name(w, in->value) : NULL;
    tc_json_object(j);
    switch (in->kind) {
    case TC_IN_PARAMETER: named_spec(j, "parameter", value, "parameter_name", in->name); break;
    case TC_IN_CONSTANT: named_spec(j, "tensor_constant", value, "tensor_constant_name", in->name); break;
    case TC_IN_BUFFER:
        named_spec(j, "buffer", value, "buffer_name", in->name);
        tc_json_key(j, "persistent");
        tc_json_bool(j, in->persistent);
        break;
    case TC_IN_USER:
        tc_json_key(j, "user_input");
        tc_json_object(j);
        tc_json_key(j, "arg");
        tc_pt2_write_ref(w, j, in->value);
        break;
    case TC_IN_LEAF:
        tc_json_key(j, "constant_input");
        tc_json_object(j);
        tc_json_key(j, "name");
        tc_json_string(j, tc_pt2_fresh_name(w, in->name ? in->name : "arg"));
        tc_json_key(j, "value");
        tc_pt2_write_arg(w, j, &in->leaf, false);
        break;
    default:
        tc_pt2_fail(w, tc_error(TC_UNSUPPORTED, "input %s: the PT2 schema has no form for it", in->name));
        tc_json_key(j, "user_input"), tc_json_object(j);
    }
    tc_json_end(j);
    tc_json_end(j);
}

static void write_output_spec(tc_pt2_writer *w, tc_json *j, const tc_program *p, const tc_output *o) {
    static const struct {
        const char *tag, *field;
    } forms[] = {
        [TC_OUT_BUFFER] = {"buffer_mutation", "buffer_name"},
        [TC_OUT_PARAMETER] = {"parameter_mutation", "parameter_name"},
        [TC_OUT_USER_INPUT] = {"user_input_mutation", "user_input_name"},
        [TC_OUT_LOSS] = {"loss_output", NULL},
        [TC_OUT_GRAD_PARAMETER] = {"gradient_to_parameter", "parameter_name"},
        [TC_OUT_GRAD_USER] = {"gradient_to_user_input", "user_input_name"},
    };
    tc_json_object(j);
    if (o->kind == TC_OUT_USER || o->kind == TC_OUT_LEAF) {
        tc_arg a = o->kind == TC_OUT_LEAF ? o->leaf : (tc_arg){.kind = TC_A_VALUE, .value = o->value};
        tc_json_key(j, "user_output");
        tc_json_object(j);
        tc_json_key(j, "arg");
        tc_pt2_write_arg(w, j, &a, false);
    } else if (o->kind < sizeof forms / sizeof *forms && forms[o->kind].tag) {
        const tc_input *in = o->target >= 0 ? &p->inputs[o->target] : NULL;
        bool user = o->kind == TC_OUT_USER_INPUT || o->kind == TC_OUT_GRAD_USER;
        named_spec(j, forms[o->kind].tag, tc_pt2_value_name(w, o->value), forms[o->kind].field,
                   !in    ? ""
                   : user ? tc_pt2_value_name(w, in->value)
                          : in->name);
    } else {
        tc_pt2_fail(w, tc_error(TC_UNSUPPORTED, "output %s: the PT2 schema has no form for it", o->name ? o->name : "?"));
        tc_json_key(j, "token");
        tc_json_object(j);
    }
    tc_json_end(j);
    tc_json_end(j);
}

static void write_signature(tc_pt2_writer *w, tc_json *j, const tc_program *p) {
    tc_json_object(j);
    tc_json_key(j, "input_specs");
    tc_json_array(j);
    for (int i = 0; i < p->ninputs; i++) write_input_spec(w, j, &p->inputs[i]);
    tc_json_end(j);
    tc_json_key(j, "output_specs");
    tc_json_array(j);
    for (int i = 0; i < p->noutputs; i++) write_output_spec(w, j, p, &p->outputs[i]);
    tc_json_end(j);
    tc_json_end(j);
}

/* ---- trees ---- */
static void write_tree(tc_json *j, const tc_tree *t) {
    static const char *const types[] = {[TC_TREE_TUPLE] = "builtins.tuple", [TC_TREE_LIST] = "builtins.list", [TC_TREE_DICT] = "builtins.dict"};
    tc_json_object(j);
    tc_json_key(j, "type");
    if (t->kind == TC_TREE_LEAF) tc_json_null(j);
    else tc_json_string(j, t->kind == TC_TREE_OTHER ? t->type : types[t->kind]);
    tc_json_key(j, "context");
    if (t->kind == TC_TREE_LEAF) {
        tc_json_null(j);
    } else if (t->context_bare) {
        tc_json_raw(j, t->context, strlen(t->context));
    } else if (t->context) {
        tc_json_string(j, t->context);
    } else if (t->keys && (t->kind == TC_TREE_DICT || t->kind == TC_TREE_OTHER)) {
        tc_buf b = {0};
        tc_json keys = {.b = &b};
        tc_json_array(&keys);
        if (t->kind == TC_TREE_OTHER) tc_json_array(&keys); /* a dataclass: names of its fields, and of fields that are None and no leaves */
        for (int i = 0; i < t->n; i++) tc_json_string(&keys, t->keys[i]);
        if (t->kind == TC_TREE_OTHER) tc_json_end(&keys), tc_json_array(&keys), tc_json_end(&keys);
        tc_json_end(&keys);
        tc_json_string(j, b.data);
        tc_buf_free(&b);
    } else {
        tc_json_string(j, t->kind == TC_TREE_DICT ? "[]" : "null");
    }
    tc_json_key(j, "children_spec");
    tc_json_array(j);
    for (int i = 0; i < t->n; i++) write_tree(j, t->children[i]);
    tc_json_end(j);
    tc_json_end(j);
}

static void write_spec_string(tc_json *j, const tc_tree *t) {
    tc_buf b = {0};
    tc_json inner = {.b = &b};
    tc_json_array(&inner);
    tc_json_int(&inner, 1);
    write_tree(&inner, t);
    tc_json_end(&inner);
    tc_json_string(j, b.data);
    tc_buf_free(&b);
}

static tc_tree *flat_tree(tc_arena *a, int n) {
    tc_tree *t = TC_NEW(a, tc_tree);
    t->kind = TC_TREE_TUPLE;
    t->n = n;
    t->children = TC_NEWN(a, tc_tree *, (size_t)n + 1);
    for (int i = 0; i < n; i++) t->children[i] = TC_NEW(a, tc_tree);
    return t;
}

static int user_inputs(const tc_program *p) {
    int n = 0;
    for (int i = 0; i < p->ninputs; i++) n += p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF;
    return n;
}
static int user_outputs(const tc_program *p) {
    int n = 0;
    for (int i = 0; i < p->noutputs; i++)
        n += p->outputs[i].kind == TC_OUT_USER || p->outputs[i].kind == TC_OUT_LEAF || p->outputs[i].kind == TC_OUT_LOSS;
    return n;
}

static int leaves(const tc_tree *t) {
    if (t->kind == TC_TREE_LEAF) return 1;
    int n = 0;
    for (int i = 0; i < t->n; i++) n += leaves(t->children[i]);
    return n;
}

/* ((args...), {}) over the user's inputs, for programs without a tree of their own. */
static const tc_tree *in_tree(const tc_program *p, tc_arena *a) {
    int n = user_inputs(p);
    if (p->in_tree && p->in_tree->n == 2 && leaves(p->in_tree) == n) return p->in_tree;
    tc_tree *t = flat_tree(a, 2);
    t->children[0] = flat_tree(a, n);
    t->children[1]->kind = TC_TREE_DICT;
    return t;
}

/* Gradients are results of ExportedProgram.module() too, after those of forward. */
static const tc_tree *out_tree(const tc_program *p, tc_arena *a) {
    int n = user_outputs(p);
    for (int i = 0; i < p->noutputs; i++) n += p->outputs[i].kind == TC_OUT_GRAD_PARAMETER || p->outputs[i].kind == TC_OUT_GRAD_USER;
    if (p->out_tree && leaves(p->out_tree) == n) return p->out_tree;
    return n == 1 ? TC_NEW(a, tc_tree) : flat_tree(a, n);
}

/* The parameter names of forward: the first component of the path of each argument's first leaf ("images:0" gives images_0), then the keywords. */
static void write_arg_names(tc_json *j, const tc_program *p, const tc_tree *args, const tc_tree *keywords, tc_arena *a) {
    int leaf = 0, i = 0;
    tc_map taken = {0};
    for (int c = 0; keywords->keys && c < keywords->n; c++) tc_map_set(&taken, keywords->keys[c], (void *)(uintptr_t)1);
    tc_json_array(j);
    for (int c = 0; c < args->n; c++) {
        int n = leaves(args->children[c]), seen = leaf;
        for (i = 0; i < p->ninputs; i++)
            if ((p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF) && seen-- == 0) break;
        const char *path = n && i < p->ninputs && p->inputs[i].name ? p->inputs[i].name : "args";
        tc_json_string(j, tc_pt2_identifier(&taken, a, path, args->children[c]->kind == TC_TREE_LEAF ? strlen(path) : strcspn(path, ".")));
        leaf += n;
    }
    for (int c = 0; keywords->keys && c < keywords->n; c++) tc_json_string(j, keywords->keys[c]);
    tc_json_end(j);
    tc_map_free(&taken);
}

/* ---- calls of modules ---- */
typedef struct {
    tc_pt2_writer *w;
    tc_json *j;
    tc_map seen, signatures; /* by name */
} call_list;

/* Is it a constant, or a value or number that has a name in the written graph? */
static bool is_written(const tc_pt2_writer *w, const tc_arg *a) {
    const tc_value *v = a->kind == TC_A_VALUE ? a->value : NULL;
    const tc_sym s = v && v->kind == TC_V_SYM ? v->sym : a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym) ? a->sym : NULL;
    int64_t known;
    if (s) return tc_sym_const_int(s, &known) || tc_map_get(&w->numbers, (const char *)&s, sizeof s);
    return a->kind != TC_A_VALUE || (v && w->value_names[v->id]);
}

static bool are_written(const tc_pt2_writer *w, const tc_arg *a, int n) {
    while (n && is_written(w, &a[n - 1])) n--;
    return n == 0;
}

static void write_leaves(call_list *c, const char *key, const tc_arg *a, int n) {
    tc_json_key(c->j, key);
    tc_json_array(c->j);
    for (int i = 0; i < n; i++) tc_pt2_write_arg(c->w, c->j, &a[i], false);
    tc_json_end(c->j);
}

static void open_call(tc_json *j, const char *name, size_t n) {
    tc_json_object(j);
    tc_json_key(j, "fqn");
    tc_json_stringn(j, name, n);
    tc_json_key(j, "signature");
}

static void write_call(call_list *c, const char *name, size_t n) {
    tc_json *j = c->j;
    const tc_call_signature *s = tc_map_get(&c->signatures, name, n);
    open_call(j, name, n);
    if (!s || !are_written(c->w, s->inputs, s->ninputs) || !are_written(c->w, s->outputs, s->noutputs)) {
        tc_json_null(j);
        tc_json_end(j);
        return;
    }
    tc_json_object(j);
    write_leaves(c, "inputs", s->inputs, s->ninputs);
    write_leaves(c, "outputs", s->outputs, s->noutputs);
    tc_json_key(j, "in_spec");
    write_spec_string(j, s->in_tree);
    tc_json_key(j, "out_spec");
    write_spec_string(j, s->out_tree);
    tc_json_key(j, "forward_arg_names");
    if (!s->names) tc_json_null(j);
    else tc_json_array(j);
    for (int i = 0; s->names && i < s->nnames; i++) tc_json_string(j, s->names[i]);
    if (s->names) tc_json_end(j);
    tc_json_end(j);
    tc_json_end(j);
}

/* A module, after the modules that contain it. */
static void write_module(call_list *c, const char *name, size_t n) {
    size_t up = n;
    if (!n || *tc_map_put(&c->seen, name, n)) return;
    while (up && name[up - 1] != '.') up--;
    if (up) write_module(c, name, up - 1);
    *tc_map_put(&c->seen, name, n) = c;
    write_call(c, name, n);
}

static void write_modules(call_list *c, const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next) {
        const char *last = n->prev ? n->prev->source.calls : NULL;
        for (const char *at = n->source.calls == last ? NULL : n->source.calls; at && *at; at += strcspn(at, ";"), at += *at == ';')
            write_module(c, at, strcspn(at, "@;"));
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) write_modules(c, n->args[i].graph);
    }
}

/* The module call graph: the program's signature and all module names, which torch.export.unflatten needs; for preserved calls also inputs and
 * outputs. */
static void write_calls(tc_pt2_writer *w, tc_json *j, const tc_program *p, tc_arena *a) {
    call_list c = {.w = w, .j = j};
    const tc_tree *in = in_tree(p, a);
    tc_json_array(j);
    open_call(j, "", 0);
    tc_json_object(j);
    tc_json_key(j, "inputs");
    tc_json_array(j);
    tc_json_end(j);
    tc_json_key(j, "outputs");
    tc_json_array(j);
    tc_json_end(j);
    tc_json_key(j, "in_spec");
    write_spec_string(j, in);
    tc_json_key(j, "out_spec");
    write_spec_string(j, out_tree(p, a));
    tc_json_key(j, "forward_arg_names");
    write_arg_names(j, p, in->children[0], in->children[1], a);
    tc_json_end(j);
    tc_json_end(j);
    for (size_t i = 0; i < p->calls.len; i++) tc_map_set(&c.signatures, p->calls.data[i].module, &p->calls.data[i]);
    write_modules(&c, p->graph);
    for (size_t i = 0; i < p->calls.len; i++) write_module(&c, p->calls.data[i].module, strlen(p->calls.data[i].module));
    tc_map_free(&c.seen);
    tc_map_free(&c.signatures);
    tc_json_end(j);
}

static void write_fields(tc_json *j, const tc_tree *t, tc_map *seen) {
    if (!t) return;
    if (t->kind == TC_TREE_OTHER && t->keys && t->context && !strcmp(t->type, "collections.namedtuple") && !tc_map_find(seen, t->context)) {
        tc_map_set(seen, t->context, (void *)(uintptr_t)1);
        tc_json_key(j, t->context);
        tc_json_object(j);
        tc_json_key(j, "field_names");
        tc_json_array(j);
        for (int i = 0; i < t->n; i++) tc_json_string(j, t->keys[i]);
        tc_json_end(j);
        tc_json_end(j);
    }
    for (int i = 0; i < t->n; i++) write_fields(j, t->children[i], seen);
}

/* ---- symbols ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* How many of n sorted names come before this one. */
static int64_t names_before(const char *const *names, size_t n, const char *name) {
    size_t lo = 0;
    while (lo < n) {
        const size_t mid = lo + (n - lo) / 2;
        if (strcmp(names[mid], name) < 0) lo = mid + 1;
        else n = mid;
    }
    return (int64_t)lo;
}

/* An example value for each symbolic size, inside its range: PyTorch requires one for each symbol that does not come from data. Values differ
 * between symbols and depend on the order of names only, so a program read back gets the same. */
static tc_symvalue *make_hints(const tc_program *p, tc_arena *a) {
    size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *v = TC_NEWN(a, tc_symvalue, n + 1);
    bool *given = TC_NEWN(a, bool, n + 1); /* only symbols of inputs: others may be gone when the program is read back */
    const char **names = TC_NEWN(a, const char *, n + 1);
    size_t nnames = 0;
    for (int i = 0; i < p->graph->ninputs; i++) tc_mark_type(given, p->graph->inputs[i]);
    for (size_t i = 0; i < n; i++)
        if (given[i]) names[nnames++] = tc_sym_var_name(tc_sym_var_at(p->sym, i));
    qsort(names, nnames, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++) {
        int64_t lo, hi;
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (tc_sym_holds_data(s) || tc_sym_type(s) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        const int64_t want = 4 + names_before(names, nnames, tc_sym_var_name(s));
        v[i] = (tc_symvalue){.i = want < lo ? lo : want > hi ? hi : want, .bound = true};
    }
    return v;
}

/* The ranges of the symbols that were written. A truth value is a whole number, 0 or 1, in PyTorch. */
static void write_ranges(tc_json *j, const tc_program *p, const bool *used) {
    tc_json_object(j);
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        int64_t lo, hi;
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (!used[i] || (tc_sym_type(s) != TC_SYM_INT && tc_sym_type(s) != TC_SYM_BOOL)) continue;
        if (tc_sym_type(s) == TC_SYM_BOOL) lo = 0, hi = 1;
        else tc_sym_range(p->sym, s, &lo, &hi);
        tc_json_key(j, tc_sym_var_name(s));
        tc_json_object(j);
        tc_json_key(j, "min_val");
        if (lo == TC_SYM_NO_LO) tc_json_null(j);
        else tc_json_int(j, lo);
        tc_json_key(j, "max_val");
        if (hi == TC_SYM_NO_HI) tc_json_null(j);
        else tc_json_int(j, hi);
        tc_json_end(j);
    }
    tc_json_end(j);
}

/* ---- the whole program ---- */
static tc_status write_program(const tc_program *p, tc_buf *out) {
    tc_arena arena = {0};
    tc_pt2_writer w;
    tc_json j = {.b = out};
    tc_pt2_writer_init(&w, p, p->graph, &arena, make_hints(p, &arena), TC_NEWN(&arena, bool, tc_sym_var_count(p->sym) + 1), tc_sym_var_count(p->sym));
    tc_json_object(&j);
    tc_json_key(&j, "graph_module");
    tc_json_object(&j);
    tc_json_key(&j, "graph");
    tc_pt2_write_graph(&w, &j);
    tc_json_key(&j, "signature");
    write_signature(&w, &j, p);
    tc_json_key(&j, "module_call_graph");
    write_calls(&w, &j, p, &arena);
    tc_json_key(&j, "metadata");
    tc_json_object(&j);
    tc_json_end(&j);
    tc_json_key(&j, "treespec_namedtuple_fields");
    tc_json_object(&j);
    tc_map seen = {0};
    write_fields(&j, p->in_tree, &seen);
    write_fields(&j, p->out_tree, &seen);
    for (size_t i = 0; i < p->calls.len; i++) {
        write_fields(&j, p->calls.data[i].in_tree, &seen);
        write_fields(&j, p->calls.data[i].out_tree, &seen);
    }
    tc_map_free(&seen);
    tc_json_end(&j);
    tc_json_end(&j);
    tc_json_key(&j, "opset_version");
    tc_json_object(&j);
    tc_json_key(&j, "aten");
    tc_json_int(&j, 10);
    tc_json_end(&j);
    tc_json_key(&j, "range_constraints");
    write_ranges(&j, p, w.used);
    tc_json_key(&j, "schema_version");
    tc_json_object(&j);
    tc_json_key(&j, "major");
    tc_json_int(&j, 8);
    tc_json_key(&j, "minor");
    tc_json_int(&j, 20);
    tc_json_end(&j);
    tc_json_key(&j, "verifiers");
    tc_json_array(&j);
    tc_json_string(&j, p->functional ? "ATEN" : "TRAINING");
    tc_json_end(&j);
    tc_json_key(&j, "torch_version");
    tc_json_string(&j, "2.15.0");
    tc_json_key(&j, "guards_code");
    tc_pt2_write_guards(&j, p, &arena);
    tc_json_end(&j);
    tc_status st = w.status;
    tc_pt2_writer_deinit(&w);
    tc_arena_free(&arena);
    return st;
}

tc_status tc_pt2_write_program(const tc_program *p, tc_buf *out) {
    tc_program *regions;
    tc_status st = tc_pt2_with_regions(p, &regions);
    if (!st) st = write_program(regions, out);
    tc_program_release(regions);
    return st;
}

void tc_pt2_write_state(const tc_program *p, tc_buf *out) {
    tc_json j = {.b = out};
    tc_buf text = {0};
    tc_json_object(&j);
    tc_json_key(&j, "version");
    tc_json_int(&j, 1);
    tc_json_key(&j, "inputs");
    tc_json_array(&j);
    for (int i = 0; i < p->ninputs; i++) { /* weights are named by the signature */
        const tc_input *in = &p->inputs[i];
        tc_json_string(&j, (in->kind == TC_IN_USER || in->kind == TC_IN_LEAF) && in->name ? in->name : "");
    }
    tc_json_end(&j);
    tc_json_key(&j, "outputs");
    tc_json_array(&j);
    for (int i = 0; i < p->noutputs; i++)
        if (!tc_pt2_written_in_region(&p->outputs[i])) tc_json_string(&j, p->outputs[i].name ? p->outputs[i].name : "");
    tc_json_end(&j);
    tc_json_key(&j, "guards");
    tc_json_array(&j);
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_guard *g = &p->guards.data[i];
        if (g->apart && tc_sym_known(p->sym, g->cond) == 1) continue; /* implied by later guards: it would not be read back */
        text.len = 0;
        tc_sym_srepr(&text, g->cond);
        tc_json_object(&j);
        if (g->apart) {
            tc_json_key(&j, "apart");
            tc_json_bool(&j, true);
        }
        tc_json_key(&j, "cond");
        tc_json_string(&j, text.data);
        if (g->op) {
            tc_json_key(&j, "op");
            tc_json_string(&j, g->op);
        }
        tc_json_key(&j, "file");
        tc_json_string(&j, g->source.file ? g->source.file : "");
        tc_json_key(&j, "line");
        tc_json_int(&j, g->source.line);
        tc_json_end(&j);
    }
    tc_json_end(&j);
    if (p->instead_of) {
        tc_json_key(&j, "instead_of");
        tc_json_string(&j, p->instead_of);
    }
    if (p->device) {
        tc_json_key(&j, "device");
        tc_json_string(&j, p->device);
    }
    if (p->source_file) {
        tc_json_key(&j, "source");
        tc_json_string(&j, p->source_file);
    }
    tc_json_end(&j);
    tc_buf_free(&text);
}
