/* The signature of a PT2 program: which graph inputs are parameters, buffers, constants or the user's, which outputs are results or mutations; the
 * trees (pytree) of the user's inputs and outputs, and their names for people. */
#include "file/pt2_read.h"

#include <stdio.h>

void tc_pt2_graph_module(tc_pt2_reader *r) {
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "graph") && !r->main.nodes.p) {
            tc_pt2_open_graph(r, &r->main);
            continue;
        }
        tc_jr_mark mark = tc_jr_tell(j);
        if (tc_str_is(key, "signature")) r->signature = mark;
        if (tc_str_is(key, "module_call_graph")) r->calls = mark;
        if (tc_str_is(key, "treespec_namedtuple_fields")) r->fields = mark;
        tc_jr_skip(j);
    }
    if (!r->main.nodes.p || !r->signature.p) tc_jr_fail(j, TC_CONTENT, "graph_module without a graph or a signature");
}

/* ---- specs: {"parameter": {"arg": {"name": v}, "parameter_name": fqn}} ---- */
typedef struct {
    int kind;
    const char *value, *name;
    bool persistent;
    tc_arg leaf;
    bool is_leaf;
} spec;
typedef TC_VEC(spec) specs;

typedef struct {
    const char *tag;
    int kind;
    const char *name_field;
} spec_kind;
static const spec_kind input_kinds[] = {{"parameter", TC_IN_PARAMETER, "parameter_name"},
                                        {"buffer", TC_IN_BUFFER, "buffer_name"},
                                        {"tensor_constant", TC_IN_CONSTANT, "tensor_constant_name"},
                                        {"user_input", TC_IN_USER, NULL},
                                        {"constant_input", TC_IN_LEAF, "name"},
                                        {"token", TC_IN_TOKEN, NULL},
                                        {NULL, 0, NULL}};
static const spec_kind output_kinds[] = {{"user_output", TC_OUT_USER, NULL},
                                         {"buffer_mutation", TC_OUT_BUFFER, "buffer_name"},
                                         {"user_input_mutation", TC_OUT_USER_INPUT, "user_input_name"},
                                         {"parameter_mutation", TC_OUT_PARAMETER, "parameter_name"},
                                         {"loss_output", TC_OUT_LOSS, NULL},
                                         {"gradient_to_parameter", TC_OUT_GRAD_PARAMETER, "parameter_name"},
                                         {"gradient_to_user_input", TC_OUT_GRAD_USER, "user_input_name"},
                                         {"token", TC_OUT_TOKEN, NULL},
                                         {NULL, 0, NULL}};

static const char *name_of_value(tc_pt2_reader *r) {
    tc_str name = tc_pt2_read_name(r);
    return tc_arena_strndup(&r->scratch, name.s, name.n);
}

/* An Argument, a TensorArgument or a ConstantValue: the name of a value, or a leaf. */
static void spec_argument(tc_pt2_reader *r, spec *s) {
    tc_jread *j = &r->j;
    tc_jr_mark here = tc_jr_tell(j);
    tc_str key;
    bool named = false;
    tc_jr_object(j);
    if (tc_jr_member(j, &key))
        named = tc_str_is(key, "name") || tc_str_is(key, "as_tensor") || tc_str_is(key, "as_sym_int") || tc_str_is(key, "as_sym_float") ||
                tc_str_is(key, "as_sym_bool");
    bool nested = named && !tc_str_is(key, "name"), token = named && !nested;
    if (named && nested && tc_jr_ok(j)) s->value = name_of_value(r);
    if (!tc_jr_ok(j)) return;
    tc_jr_seek(j, here);
    if (token) {
        s->value = name_of_value(r);
    } else if (named) {
        tc_jr_skip(j);
    } else {
        s->leaf = tc_pt2_argument(r, &r->main).arg;
        s->is_leaf = true;
    }
}

static void read_spec(tc_pt2_reader *r, const spec_kind *kinds, specs *out) {
    tc_jread *j = &r->j;
    spec s = {.persistent = true};
    const spec_kind *k = kinds;
    tc_str tag, field;
    tc_jr_object(j);
    if (!tc_jr_member(j, &tag)) return;
    while (k->tag && !tc_str_is(tag, k->tag)) k++;
    if (!k->tag) {
        tc_jr_fail(j, TC_UNSUPPORTED, "%.*s in the signature", (int)(tag.n < 60 ? tag.n : 60), tag.s);
        return;
    }
    s.kind = k->kind;
    tc_jr_object(j);
    while (tc_jr_member(j, &field)) {
        if (tc_str_is(field, "arg") || (s.kind == TC_IN_LEAF && kinds == input_kinds && tc_str_is(field, "value"))) spec_argument(r, &s);
        else if (k->name_field && tc_str_is(field, k->name_field)) s.name = tc_jr_strdup(j, &r->program->arena);
        else if (tc_str_is(field, "persistent")) s.persistent = tc_jr_bool(j);
        else tc_jr_skip(j);
    }
    if (tc_jr_member(j, &tag)) tc_jr_fail(j, TC_CONTENT, "two kinds in one entry of the signature");
    if (k->name_field && !s.name) tc_jr_fail(j, TC_CONTENT, "%s without %s", k->tag, k->name_field);
    else if (!s.value && !s.is_leaf) tc_jr_fail(j, TC_CONTENT, "%s without a value", k->tag);
    tc_vec_push(out, s);
}

static void read_specs(tc_pt2_reader *r, const spec_kind *kinds, specs *out) {
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) read_spec(r, kinds, out);
}

/* ---- inputs ---- */
static bool is_same_view(const tc_pt2_weight *a, const tc_pt2_weight *b) {
    const size_t bytes = (size_t)a->rank * sizeof *a->size;
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->size, b->size, bytes) && !memcmp(a->stride, b->stride, bytes);
}

/* Inputs that are the same view of the same file share one tensor, whether or not the file is present. places: file and offset -> input + 1. */
static int same_as(tc_pt2_reader *r, const tc_map *weights, tc_map *places, const tc_pt2_weight *w, int index) {
    bool empty = false;
    for (int d = 0; d < w->rank; d++) empty |= w->size[d] == 0;
    if (!w->file || empty) return -1;
    char *key = tc_arena_printf(&r->scratch, "%s@%lld", w->file, (long long)w->offset);
    void **slot = tc_map_put(places, key, strlen(key));
    const int other = (int)(intptr_t)*slot - 1;
    if (other < 0) *slot = (void *)(intptr_t)(index + 1);
    return other >= 0 && is_same_view(w, tc_map_find(weights, r->program->inputs[other].name)) ? other : -1;
}

static void attach_weight(tc_pt2_reader *r, const tc_map *weights, tc_map *places, tc_input *in, int index) {
    const tc_pt2_weight *w = tc_map_find(weights, in->name);
    const tc_meta *m = &in->value->meta;
    int64_t size;
    if (!w) return;
    bool same = w->dtype == m->dtype && w->rank == m->rank;
    for (int d = 0; same && d < w->rank; d++) same = tc_sym_const_int(m->size[d], &size) && size == w->size[d];
    if (!same) {
        if (w->storage) tc_jr_fail(&r->j, TC_CONTENT, "%s: the graph and the weights disagree about its type", in->name);
        return;
    }
    in->alias_of = same_as(r, weights, places, w, index);
    if (w->storage) tc_jr_fail_with(&r->j, tc_tensor_view(w->storage, w->dtype, w->rank, w->size, w->stride, w->offset, &in->data));
}

/* Adds a parameter or buffer of the state dict that the signature omits because the graph reads it under another name or not at all (strict
 * exports). It becomes an unused input, as in a non-strict export. */
static void add_unread(tc_pt2_reader *r, const tc_map *weights, tc_map *places, const char *name) {
    const tc_pt2_weight *w = tc_map_find(weights, name);
    tc_program *p = r->program;
    char *hint = tc_arena_printf(&r->scratch, "%c_%s", w->parameter ? 'p' : 'b', name);
    for (char *c = hint; *c; c++)
        if (*c == '.') *c = '_';
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, hint);
    tc_sym size[TC_MAX_RANK], *stride = TC_NEWN(&p->arena, tc_sym, (size_t)w->rank + 1);
    for (int d = 0; d < w->rank; d++) size[d] = tc_sym_int(p->sym, w->size[d]), stride[d] = tc_sym_int(p->sym, w->stride[d]);
    v->meta = tc_meta_make(&p->arena, w->dtype, w->rank, size, NULL);
    v->meta.requires_grad = w->requires_grad;
    tc_graph_add_input(p->graph, v);
    tc_input *in = tc_program_add_input(
        p, (tc_input){.kind = w->parameter ? TC_IN_PARAMETER : TC_IN_BUFFER, .value = v, .name = name, .persistent = true, .alias_of = -1});
    attach_weight(r, weights, places, in, p->ninputs - 1);
    if (in->data.storage && !tc_tensor_is_contiguous(&in->data)) v->meta.stride = stride;
}

/* Adds the omitted inputs of one kind after the signature's inputs of that kind. named: the names that the signature has. */
static void add_unread_of(tc_pt2_reader *r, const tc_map *weights, tc_map *places, const tc_map *named, bool parameter) {
    for (size_t i = 0; i < weights->len && tc_jr_ok(&r->j); i++) {
        const tc_pt2_weight *w = weights->entries[i].value;
        if (w->storage && !w->constant && w->parameter == parameter && !tc_map_find(named, weights->entries[i].key))
            add_unread(r, weights, places, weights->entries[i].key);
    }
}

static void build_inputs(tc_pt2_reader *r, const specs *in, const tc_map *weights) {
    tc_program *p = r->program;
    tc_map places = {0}, named = {0};
    int stage = TC_IN_PARAMETER;
    for (size_t i = 0; i < in->len; i++)
        if (in->data[i].name) tc_map_set(&named, in->data[i].name, r);
    for (size_t i = 0; i <= in->len && tc_jr_ok(&r->j); i++) {
        const spec *s = i < in->len ? &in->data[i] : NULL;
        for (; stage < TC_IN_CONSTANT && (!s || (int)s->kind > stage); stage++) add_unread_of(r, weights, &places, &named, stage == TC_IN_PARAMETER);
        if (!s) break;
        tc_input x = {.kind = (tc_input_kind)s->kind, .name = s->name, .persistent = s->persistent, .alias_of = -1};
        if (s->is_leaf) {
            x.kind = TC_IN_LEAF;
            x.leaf = s->leaf;
        } else if (x.kind == TC_IN_TOKEN) {
            tc_pt2_make(r, tc_pt2_named(r, &r->main, tc_pt2_str(s->value)),
                        (tc_arg){.kind = TC_A_NONE}); /* tokens carry nothing: nodes are in the order of their effects */
            continue;
        } else {
            const tc_pt2_name *n = tc_map_find(&r->main.names, s->value);
            x.value = tc_pt2_input_value(r, &r->main, tc_pt2_str(s->value), (n && n->tensor) || x.kind != TC_IN_USER);
        }
        if (!x.name) x.name = s->value;
        if (!tc_jr_ok(&r->j)) break;
        tc_input *added = tc_program_add_input(p, x);
        if (x.kind == TC_IN_PARAMETER || x.kind == TC_IN_BUFFER || x.kind == TC_IN_CONSTANT)
            attach_weight(r, weights, &places, added, p->ninputs - 1);
    }
    tc_map_free(&places);
    tc_map_free(&named);
}

/* ---- outputs ---- */
typedef struct {
    tc_map users, weights; /* name -> index + 1; users by the name of their value */
} input_names;

static void put_first(tc_map *m, const char *name, int i) {
    void **at = tc_map_put(m, name, strlen(name));
    if (!*at) *at = (void *)(intptr_t)(i + 1);
}

static input_names names_of_inputs(const tc_program *p) {
    input_names n = {{0}, {0}};
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER || in->kind == TC_IN_CONSTANT) put_first(&n.weights, in->name, i);
        else if (in->kind == TC_IN_USER && in->value) put_first(&n.users, in->value->name, i);
    }
    return n;
}

static int input_by_name(const input_names *n, tc_output_kind kind, const char *name) {
    const bool user = kind == TC_OUT_USER_INPUT || kind == TC_OUT_GRAD_USER;
    return (int)(intptr_t)tc_map_find(user ? &n->users : &n->weights, name) - 1;
}

static void build_outputs(tc_pt2_reader *r, const specs *out) {
    tc_program *p = r->program;
    input_names inputs = names_of_inputs(p);
    for (size_t i = 0; i < out->len && tc_jr_ok(&r->j); i++) {
        const spec *s = &out->data[i];
        tc_output o = {.kind = (tc_output_kind)s->kind, .target = -1};
        if (o.kind == TC_OUT_TOKEN) continue;
        if (s->is_leaf) {
            o.kind = TC_OUT_LEAF;
            o.leaf = s->leaf;
        } else {
            const tc_arg *a = tc_pt2_lookup(r, &r->main, tc_pt2_str(s->value));
            if (a && (a->kind == TC_A_SCALAR || a->kind == TC_A_INT)) { /* a constant, or a number over the symbols */
                o.kind = TC_OUT_LEAF;
                o.leaf = *a;
            } else if (a) {
                o.value = tc_pt2_as_value(&r->main, *a, s->value);
                if (!o.value) tc_jr_fail(&r->j, TC_CONTENT, "output %s is not a value", s->value);
            }
        }
        if (s->name) {
            o.target = input_by_name(&inputs, o.kind, s->name);
            if (o.target < 0) tc_jr_fail(&r->j, TC_CONTENT, "%s is mutated but is no input", s->name);
        }
        if (tc_jr_ok(&r->j)) tc_program_add_output(p, o);
    }
    tc_map_free(&inputs.users);
    tc_map_free(&inputs.weights);
}

/* The graph's inputs or outputs, listed at `mark`, must be those of the signature in the same order. */
static void same_as_graph(tc_pt2_reader *r, tc_jr_mark mark, const specs *said, const char *what) {
    tc_jread *j = &r->j;
    tc_jr_mark here = tc_jr_tell(j);
    size_t n = 0;
    tc_jr_seek(j, mark);
    for (tc_jr_array(j); tc_jr_item(j); n++) {
        const spec *s = n < said->len && !said->data[n].is_leaf ? &said->data[n] : NULL;
        const tc_arg *a = s && s->value ? tc_pt2_lookup(r, &r->main, tc_pt2_str(s->value)) : NULL;
        const bool tensor = a && a->kind == TC_A_VALUE && a->value->kind == TC_V_TENSOR;
        bool any = false;
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key); any = true) {
            const bool named = tc_str_is(key, "as_tensor");
            const tc_str name = named ? tc_pt2_read_name(r) : tc_jr_skip(j);
            if (tc_jr_ok(j) && tensor && (!named || !tc_str_is(name, s->value)))
                tc_jr_fail(j, TC_CONTENT, "%s %zu is %s in the signature, not in the graph", what, n, s->value);
        }
        if (tc_jr_ok(j) && !any) tc_jr_fail(j, TC_CONTENT, "%s %zu of the graph is nothing", what, n);
    }
    if (tc_jr_ok(j) && n != said->len)
        tc_jr_fail(j, TC_CONTENT, "the graph has %zu %ss, the signature %zu: %s is none of them", n, what, said->len,
                   n < said->len && said->data[n].value ? said->data[n].value : "the last");
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
}

/* ---- trees ---- */
typedef struct {
    const char *type;
    const char *const *fields;
    int n;
} named_tuple;

/* A dict key as text; None and True as Python writes them. NULL: not a key, or not a string although `strings` requires one. */
static const char *key_text(tc_jread *j, tc_arena *a, bool strings) {
    const tc_jr_kind kind = tc_jr_peek(j);
    if (kind == TC_JR_STRING) return tc_jr_strdup(j, a);
    const tc_str s = tc_jr_skip(j);
    if (strings || kind == TC_JR_ARRAY || kind == TC_JR_OBJECT) return NULL;
    if (kind == TC_JR_NULL) return "None";
    if (kind == TC_JR_BOOL) return *s.s == 't' ? "True" : "False";
    return tc_arena_strndup(a, s.s, s.n);
}

/* A JSON list of `want` keys, or a list whose first item is one. NULL if it is neither. */
static const char **key_list(tc_arena *a, const char *text, int want, bool strings) {
    tc_jread j;
    const char **out = TC_NEWN(a, const char *, (size_t)want + 1);
    int n = 0;
    bool keys = true;
    tc_jr_init(&j, NULL, text, strlen(text));
    if (tc_jr_peek(&j) != TC_JR_ARRAY) return NULL;
    tc_jr_array(&j);
    const bool nested = tc_jr_peek(&j) == TC_JR_ARRAY;
    if (nested && tc_jr_item(&j)) tc_jr_array(&j);
    for (; tc_jr_item(&j); n++) {
        const char *key = key_text(&j, a, strings);
        keys &= key != NULL;
        if (n < want) out[n] = key;
    }
    while (nested && tc_jr_item(&j)) tc_jr_skip(&j);
    tc_status st = tc_jr_finish(&j);
    bool ok = !st && keys && n == want;
    tc_status_free(st);
    return ok ? out : NULL;
}

static tc_tree *read_tree(tc_jread *j, tc_arena *a, const tc_map *fields) {
    tc_tree *t = TC_NEW(a, tc_tree);
    int cap = 0;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "type") && tc_jr_peek(j) == TC_JR_STRING) {
            t->type = tc_jr_strdup(j, a);
        } else if (tc_str_is(key, "context")) {
            t->context_bare = tc_jr_peek(j) != TC_JR_STRING;
            tc_str text = t->context_bare ? tc_jr_skip(j) : tc_jr_string(j);
            t->context = tc_arena_strndup(a, text.s, text.n);
        } else if (tc_str_is(key, "children_spec")) {
            for (tc_jr_array(j); tc_jr_item(j);) {
                if (t->n == cap) {
                    tc_tree **bigger = TC_NEWN(a, tc_tree *, (size_t)(cap = cap ? 2 * cap : 4));
                    if (t->n) memcpy(bigger, t->children, (size_t)t->n * sizeof *bigger);
                    t->children = bigger;
                }
                t->children[t->n++] = read_tree(j, a, fields);
            }
        } else {
            tc_jr_skip(j);
        }
    }
    static const struct {
        const char *type;
        tc_tree_kind kind;
    } kinds[] = {{"builtins.tuple", TC_TREE_TUPLE}, {"builtins.list", TC_TREE_LIST}, {"builtins.dict", TC_TREE_DICT}};
    t->kind = t->type ? TC_TREE_OTHER : TC_TREE_LEAF;
    for (size_t i = 0; t->type && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(t->type, kinds[i].type)) t->kind = kinds[i].kind;
    if (t->context && t->n && t->kind >= TC_TREE_DICT) {
        const named_tuple *nt = tc_map_find(fields, t->context);
        t->keys = nt && nt->n == t->n ? (const char **)(uintptr_t)nt->fields : key_list(a, t->context, t->n, true);
    }
    return t;
}

/* "[1, {...}]" as a string inside the JSON text. */
static tc_tree *tree_in_string(tc_pt2_reader *r, const tc_map *fields) {
    tc_jread j;
    tc_tree *t = NULL;
    tc_str text = tc_jr_string(&r->j);
    char *copy = tc_arena_strndup(&r->scratch, text.s, text.n);
    tc_jr_init(&j, r->j.file, copy, text.n);
    tc_jr_array(&j);
    if (tc_jr_item(&j)) tc_jr_int(&j);
    if (tc_jr_item(&j)) t = read_tree(&j, &r->program->arena, fields);
    while (tc_jr_item(&j)) tc_jr_skip(&j);
    tc_status st = tc_jr_finish(&j);
    if (st) tc_jr_fail(&r->j, TC_CONTENT, "in a tree: %s", tc_status_message(st));
    tc_status_free(st);
    return t;
}

static void read_fields(tc_pt2_reader *r, tc_map *out) { /* {"model.Point": {"field_names": ["x", "y"]}} */
    tc_jread *j = &r->j;
    tc_arena *a = &r->program->arena;
    tc_jr_object(j);
    for (tc_str type; tc_jr_member(j, &type);) {
        named_tuple nt = {.type = tc_arena_strndup(a, type.s, type.n)};
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            TC_VEC(const char *) names = {0};
            if (!tc_str_is(key, "field_names")) {
                tc_jr_skip(j);
                continue;
            }
            for (tc_jr_array(j); tc_jr_item(j);) {
                const char *name = tc_jr_strdup(j, a);
                tc_vec_push(&names, name);
            }
            nt.n = (int)names.len;
            nt.fields = names.len ? tc_arena_dup(a, names.data, names.len * sizeof *names.data) : NULL;
            tc_vec_free(&names);
        }
        tc_map_set(out, nt.type, tc_arena_dup(a, &nt, sizeof nt));
    }
}

typedef struct {
    const char **data;
    int n;
} name_list;

/* The inputs or outputs of a module call, as values of the main graph; NULL for a name that the graph does not have. */
static tc_arg *call_leaves(tc_pt2_reader *r, int *out_n) {
    tc_jread *j = &r->j;
    TC_VEC(tc_arg) leaves = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        const tc_jr_mark here = tc_jr_tell(j);
        tc_arg a = {.kind = TC_A_NONE};
        bool value = false;
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            value |= tc_str_is(key, "as_tensor");
            tc_jr_skip(j);
        }
        const tc_jr_mark end = tc_jr_tell(j);
        if (tc_jr_ok(j)) tc_jr_seek(j, here);
        if (value) {
            tc_jr_object(j);
            for (tc_str key; tc_jr_member(j, &key);) {
                const tc_str name = tc_pt2_read_name(r);
                const tc_pt2_name *n = tc_jr_ok(j) ? tc_map_get(&r->main.names, name.s, name.n) : NULL;
                a = n && n->made && n->arg.kind == TC_A_VALUE ? n->arg : (tc_arg){.kind = TC_A_VALUE};
            }
        } else if (tc_jr_ok(j)) {
            a = tc_pt2_argument(r, &r->main).arg;
        }
        if (tc_jr_ok(j)) tc_jr_seek(j, end);
        tc_vec_push(&leaves, a);
    }
    *out_n = (int)leaves.len;
    tc_arg *out = TC_NEWN(&r->program->arena, tc_arg, leaves.len + 1);
    if (leaves.len) memcpy(out, leaves.data, leaves.len * sizeof *out);
    tc_vec_free(&leaves);
    return out;
}

static void read_call(tc_pt2_reader *r, const tc_map *fields, tc_call_signature *s, name_list *args) { /* ModuleCallSignature */
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "in_spec")) {
            s->in_tree = tree_in_string(r, fields);
        } else if (tc_str_is(key, "out_spec")) {
            s->out_tree = tree_in_string(r, fields);
        } else if (s->module && tc_str_is(key, "inputs")) {
            s->inputs = call_leaves(r, &s->ninputs);
        } else if (s->module && tc_str_is(key, "outputs")) {
            s->outputs = call_leaves(r, &s->noutputs);
        } else if (tc_str_is(key, "forward_arg_names") && tc_jr_peek(j) == TC_JR_ARRAY) {
            TC_VEC(const char *) names = {0};
            for (tc_jr_array(j); tc_jr_item(j);) {
                const char *name = tc_jr_strdup(j, &r->program->arena);
                tc_vec_push(&names, name);
            }
            args->n = (int)names.len;
            args->data = names.len ? tc_arena_dup(&r->program->arena, names.data, names.len * sizeof *names.data) : NULL;
            tc_vec_free(&names);
        } else {
            tc_jr_skip(j);
        }
    }
}

static void read_trees(tc_pt2_reader *r, name_list *args) {
    tc_jread *j = &r->j;
    tc_map fields = {0};
    if (r->fields.p) {
        tc_jr_seek(j, r->fields);
        read_fields(r, &fields);
    }
    if (tc_jr_ok(j)) tc_jr_seek(j, r->calls);
    int entry = 0;
    for (tc_jr_array(j); tc_jr_item(j); entry++) {
        tc_call_signature s = {0};
        name_list names = {0};
        tc_jr_mark signature = {0};
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "fqn") && tc_jr_peek(j) == TC_JR_STRING) {
                s.module = tc_jr_strdup(j, &r->program->arena);
                continue;
            }
            if (tc_str_is(key, "signature") && tc_jr_peek(j) == TC_JR_OBJECT) signature = tc_jr_tell(j);
            tc_jr_skip(j);
        }
        if (!tc_jr_ok(j) || !signature.p) continue;
        const tc_jr_mark end = tc_jr_tell(j);
        if (!entry) s.module = NULL; /* the program itself */
        tc_jr_seek(j, signature);
        read_call(r, &fields, &s, entry ? &names : args);
        s.names = names.data, s.nnames = names.n;
        if (!entry) r->program->in_tree = s.in_tree, r->program->out_tree = s.out_tree;
        else if (s.module && *s.module && s.in_tree && s.out_tree) tc_vec_push(&r->program->calls, s);
        if (tc_jr_ok(j)) tc_jr_seek(j, end);
    }
    tc_map_free(&fields);
}

/* ---- names of inputs and outputs: their paths in the trees ---- */
typedef struct {
    tc_arena *a;
    const char **names;
    int n, cap;
} path_list;

/* path NULL: t is the whole tree, or an argument without a name. */
static void leaf_paths(const tc_tree *t, const char *path, path_list *out) {
    if (t->kind == TC_TREE_LEAF) {
        if (out->n == out->cap) {
            const char **bigger = TC_NEWN(out->a, const char *, (size_t)(out->cap = out->cap ? 2 * out->cap : 8));
            if (out->n) memcpy(bigger, out->names, (size_t)out->n * sizeof *bigger);
            out->names = bigger;
        }
        out->names[out->n++] = path;
        return;
    }
    const char **keys = t->keys;
    if (!keys && t->kind == TC_TREE_DICT && t->context) keys = key_list(out->a, t->context, t->n, false);
    for (int i = 0; i < t->n; i++) {
        const char *step = keys ? keys[i] : tc_arena_printf(out->a, "%d", i);
        leaf_paths(t->children[i], path ? tc_arena_printf(out->a, "%s.%s", path, step) : step, out);
    }
}

static void name_inputs(tc_program *p, const name_list *args) {
    path_list paths = {.a = &p->arena};
    const tc_tree *t = p->in_tree;
    if (t && t->n == 2) {
        for (int i = 0; i < t->children[0]->n; i++) leaf_paths(t->children[0]->children[i], i < args->n ? args->data[i] : NULL, &paths);
        leaf_paths(t->children[1], NULL, &paths);
    }
    int leaf = 0;
    for (int i = 0; i < p->ninputs; i++) {
        tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) continue;
        if (leaf < paths.n && paths.names[leaf] && *paths.names[leaf]) in->name = paths.names[leaf];
        leaf++;
    }
}

static void name_outputs(tc_program *p) {
    path_list paths = {.a = &p->arena};
    if (p->out_tree && p->out_tree->keys) leaf_paths(p->out_tree, NULL, &paths);
    int leaf = 0;
    for (int i = 0; i < p->noutputs; i++) {
        tc_output *o = &p->outputs[i];
        if ((o->kind == TC_OUT_GRAD_PARAMETER || o->kind == TC_OUT_GRAD_USER) && o->target >= 0)
            o->name = tc_arena_printf(&p->arena, "grad.%s", p->inputs[o->target].name);
        if (o->kind != TC_OUT_USER && o->kind != TC_OUT_LEAF && o->kind != TC_OUT_LOSS) continue;
        o->name = leaf < paths.n ? paths.names[leaf] : tc_arena_printf(&p->arena, "out.%d", leaf);
        leaf++;
    }
}

/* torch.export traces with sizes of 2 and more, and its programs are run on 0 and 1 all the same: there 2 is no bound. */
static void set_ranges(tc_pt2_reader *r) {
    const bool own = tc_pt2_has_state(r);
    for (size_t i = 0; i < r->ranges.len; i++) {
        const tc_pt2_range *range = r->ranges.entries[i].value;
        tc_sym var = tc_sym_find(r->program->sym, r->ranges.entries[i].key);
        if (!var || tc_sym_holds_data(var)) continue;
        tc_sym_set_range(r->program->sym, var, range->lo == 2 && !own ? 0 : range->lo, range->hi);
    }
}

void tc_pt2_build(tc_pt2_reader *r, const tc_map *weights) {
    tc_jread *j = &r->j;
    specs in = {0}, out = {0};
    name_list args = {0};
    tc_jr_mark outputs = {0};
    tc_jr_seek(j, r->signature);
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "input_specs")) {
            read_specs(r, input_kinds, &in);
            continue;
        }
        if (tc_str_is(key, "output_specs")) outputs = tc_jr_tell(j);
        tc_jr_skip(j);
    }
    build_inputs(r, &in, weights);
    if (tc_jr_ok(j)) tc_jr_fail_with(j, tc_pt2_read_guards(r));
    if (tc_jr_ok(j)) set_ranges(r);
    r->nknown = tc_sym_var_count(r->program->sym);
    if (tc_jr_ok(j)) tc_pt2_nodes(r, &r->main);
    if (tc_jr_ok(j) && outputs.p) {
        tc_jr_seek(j, outputs);
        read_specs(r, output_kinds, &out);
        build_outputs(r, &out);
        if (tc_jr_ok(j) && r->main.outputs.p) same_as_graph(r, r->main.outputs, &out, "output");
    }
    if (tc_jr_ok(j) && r->main.inputs.p) same_as_graph(r, r->main.inputs, &in, "input");
    if (tc_jr_ok(j) && r->calls.p) read_trees(r, &args);
    if (tc_jr_ok(j)) {
        name_inputs(r->program, &args);
        name_outputs(r->program);
    }
    tc_vec_free(&in);
    tc_vec_free(&out);
}
