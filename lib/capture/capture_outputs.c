/* The outputs of a captured program: what forward returned, flattened into a tree of leaves (pytree), and the preserved signatures of calls of
 * modules, which are flattened the same way. */
#include "capture/capture_state.h"

#include <string.h>

/* ---- outputs ---- */
static tc_tree *leaf_tree(tc_capture *k) { return TC_NEW(&k->p->arena, tc_tree); }

static tc_tree *branch(tc_capture *k, tc_tree_kind what, int n) {
    tc_tree *t = TC_NEW(&k->p->arena, tc_tree);
    t->kind = what, t->n = n;
    t->children = TC_NEWN(&k->p->arena, tc_tree *, (size_t)(n ? n : 1));
    return t;
}

static tc_arg leaf_arg(tc_capture *k, V v) {
    C *c = k->c;
    int64_t i;
    switch (tc_kind_of(v)) {
    case K_INT:
        if (!tc_int_fits(v, &i)) break;
        return (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(k->p->sym, i)};
    case K_BOOL: return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(v == c->true_)};
    case K_FLOAT: return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_flt(v))};
    case K_STR: return (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strdup(&k->p->arena, tc_as_str(v)->s)};
    case K_NONE: return (tc_arg){.kind = TC_A_NONE};
    case K_SYM:
        if (tc_sym_type(((symobj *)v)->s) == TC_SYM_INT) return (tc_arg){.kind = TC_A_INT, .sym = ((symobj *)v)->s};
        return (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = ((symobj *)v)->s};
    default: break;
    }
    tc_raise(c, "TypeError", "forward returned a '%s': outputs are tensors, numbers, strings and tuples, lists and dicts of them",
             tc_type_name(c, v));
}

typedef TC_VEC(tc_arg) arg_list;
typedef struct {
    tc_capture *k;
    int n;            /* leaves so far */
    arg_list *leaves; /* where leaves are collected; NULL: they become the program's outputs */
} flattening;

static tc_tree *flatten(flattening *f, V v, const char *name);

/* Child i of t, with key `key` in a container called name; name NULL: the container has no name. */
static void flatten_child(flattening *f, tc_tree *t, int i, const char *key, V v, const char *name) {
    t->children[i] = flatten(f, v, name ? tc_arena_printf(&f->k->c->arena, "%s.%s", name, key) : key);
}

static tc_tree *keyed(tc_capture *k, tc_tree_kind what, size_t n) {
    tc_tree *t = branch(k, what, (int)n);
    t->keys = TC_NEWN(&k->p->arena, const char *, n ? n : 1);
    return t;
}

static tc_tree *flatten_dict(flattening *f, const dict *d, const char *name) {
    C *c = f->k->c;
    tc_tree *t = tc_capture_dict_tree(c, &f->k->p->arena, d);
    type *of = d->h.type; /* a dict with fields, as the ModelOutput of transformers: its class, which archives do not have */
    if (of->user && tc_type_lookup(c, of, c->n___dataclass_fields__)) t->type = tc_arena_strdup(&f->k->p->arena, of->name->s);
    V key, x;
    int i = 0;
    for (size_t j = 0; tc_dict_next(d, &j, &key, &x); i++) flatten_child(f, t, i, t->keys[i], x, name);
    return t;
}

static tc_tree *flatten_namedtuple(flattening *f, V v, V fields, const char *name) {
    tc_capture *k = f->k;
    C *c = k->c;
    size_t n;
    V *a = tc_items(v, &n);
    tc_tree *t = keyed(k, TC_TREE_OTHER, n);
    t->type = "collections.namedtuple"; /* and the class, in the form of pytree's serialized_type_name */
    t->context = tc_arena_printf(&k->p->arena, "%s.%s", tc_as_str(tc_getattr(c, (V)v->type, c->n___module__))->s, v->type->name->s);
    for (int i = 0; i < (int)n; i++) {
        t->keys[i] = tc_arena_strdup(&k->p->arena, tc_as_str(((tuple *)fields)->a[i])->s);
        flatten_child(f, t, i, t->keys[i], a[i], name);
    }
    return t;
}

static tc_tree *flatten_seq(flattening *f, V v, const char *name) {
    C *c = f->k->c;
    size_t n;
    V *a = tc_items(v, &n), fields = v->type->user ? tc_type_lookup(c, v->type, c->n__fields) : NULL;
    if (fields) return flatten_namedtuple(f, v, fields, name);
    tc_tree *t = branch(f->k, tc_kind_of(v) == K_LIST ? TC_TREE_LIST : TC_TREE_TUPLE, (int)n);
    for (size_t i = 0; i < n; i++) t->children[i] = flatten(f, a[i], name ? tc_arena_printf(&c->arena, "%s.%zu", name, i) : NULL);
    return t;
}

static tc_tree *flatten_dataclass(flattening *f, V v, const dict *fields, const char *name) {
    tc_capture *k = f->k;
    tc_tree *t = keyed(k, TC_TREE_OTHER, fields->live);
    t->type = tc_arena_strdup(&k->p->arena, v->type->name->s);
    V key, x;
    int i = 0;
    for (size_t j = 0; tc_dict_next(fields, &j, &key, &x); i++) {
        t->keys[i] = tc_arena_strdup(&k->p->arena, tc_as_str(key)->s);
        flatten_child(f, t, i, t->keys[i], tc_getattr(k->c, v, tc_intern_str(k->c, tc_as_str(key))), name);
    }
    return t;
}

static tc_tree *flatten_leaf(flattening *f, V v, const char *name) {
    tc_capture *k = f->k;
    if (f->leaves) {
        tc_arg a = tc_kind_of(v) == K_TENSOR ? (tc_arg){.kind = TC_A_VALUE, .value = tc_torch_value(k->c, v)} : leaf_arg(k, v);
        tc_vec_push(f->leaves, a);
        return leaf_tree(k);
    }
    tc_output o = {.kind = TC_OUT_USER, .target = -1};
    o.name = name ? tc_arena_strdup(&k->p->arena, name) : tc_arena_printf(&k->p->arena, "out.%d", f->n);
    if (tc_kind_of(v) == K_TENSOR) o.value = tc_torch_value(k->c, v);
    else o.kind = TC_OUT_LEAF, o.leaf = leaf_arg(k, v);
    f->n++;
    tc_program_add_output(k->p, o);
    return leaf_tree(k);
}

static tc_tree *flatten(flattening *f, V v, const char *name) {
    C *c = f->k->c;
    tc_stack_check(c);
    if (tc_kind_of(v) == K_DICT) return flatten_dict(f, (dict *)v, name);
    if (tc_is_seq(v)) return flatten_seq(f, v, name);
    V fields = tc_kind_of(v) == K_OBJECT ? tc_type_lookup(c, v->type, c->n___dataclass_fields__) : NULL;
    if (fields && tc_kind_of(fields) == K_DICT) return flatten_dataclass(f, v, (dict *)fields, name);
    return flatten_leaf(f, v, name);
}

/* Orders graph inputs as PyTorch does: parameters, buffers, constants, then the user's inputs. */
static void order_inputs(tc_capture *k) {
    tc_program *p = k->p;
    static const tc_input_kind order[] = {TC_IN_PARAMETER, TC_IN_BUFFER, TC_IN_CONSTANT};
    tc_input *in = TC_NEWN(&p->arena, tc_input, (size_t)(p->ninputs ? p->ninputs : 1));
    int *to = TC_NEWN(&p->arena, int, (size_t)(p->ninputs ? p->ninputs : 1)), n = 0;
    for (int o = 0; o < 4; o++)
        for (int i = 0; i < p->ninputs; i++) {
            tc_input_kind kd = p->inputs[i].kind;
            bool first = kd == TC_IN_PARAMETER || kd == TC_IN_BUFFER || kd == TC_IN_CONSTANT;
            if (o < 3 ? kd == order[o] : !first) to[i] = n, in[n++] = p->inputs[i];
        }
    for (int i = 0; i < n; i++)
        if (in[i].alias_of >= 0) in[i].alias_of = to[in[i].alias_of];
    for (size_t i = 0; i < k->slots.len; i++)
        if (k->slots.data[i].input >= 0) k->slots.data[i].input = to[k->slots.data[i].input];
    if (n) memcpy(p->inputs, in, sizeof *in * (size_t)n);
    int g = 0;
    for (int i = 0; i < n; i++)
        if (in[i].value) p->graph->inputs[g++] = in[i].value;
}

static bool is_plain(V v) { return tc_is_seq(v) && !v->type->user; }
static bool is_leaf(V v) { return !tc_is_seq(v) && tc_kind_of(v) != K_DICT && tc_kind_of(v) != K_OBJECT; }
/* The name of item i of n, among them those of starred expressions: they take the items that the names before the first and behind the last
 * "*" leave. */
static const char *item_name(const char *const *names, int nnames, int n, int i) {
    int before = 0, behind = nnames;
    while (before < nnames && (!names[before] || *names[before] != '*')) before++;
    while (behind > before && (!names[behind - 1] || *names[behind - 1] != '*')) behind--;
    if (i < before) return names[i];
    return n - i <= nnames - behind ? names[nnames - (n - i)] : NULL;
}
/* names: of the result, or of the items of a tuple ("*": a starred expression). A leaf has its own name, items of a list or tuple are NAME.i,
 * others are named by key or field. */
static tc_tree *flatten_result(flattening *f, V v, const char *const *names, int nnames) {
    if (nnames < 2 || !is_plain(v)) return flatten(f, v, nnames == 1 && is_leaf(v) ? names[0] : NULL);
    size_t n;
    V *a = tc_items(v, &n);
    tc_tree *t = branch(f->k, tc_kind_of(v) == K_LIST ? TC_TREE_LIST : TC_TREE_TUPLE, (int)n);
    for (size_t i = 0; i < n; i++) {
        const char *name = is_leaf(a[i]) || is_plain(a[i]) ? item_name(names, nnames, (int)n, (int)i) : NULL;
        t->children[i] = flatten(f, a[i], name);
    }
    return t;
}

/* Records in a list or tuple have the same field names: the first result keeps the name, the others are numbered. */
static void one_name_each(tc_program *p) {
    tc_map taken = {0};
    for (int i = 0, place = 0; i < p->noutputs; i++) {
        tc_output *o = &p->outputs[i];
        if (o->kind != TC_OUT_USER && o->kind != TC_OUT_LEAF) continue;
        if (tc_map_get(&taken, o->name, strlen(o->name))) o->name = tc_arena_printf(&p->arena, "out.%d", place);
        tc_map_set(&taken, o->name, o);
        place++;
    }
    tc_map_free(&taken);
}

/* ---- what calls of modules take and give ---- */
void tc_capture_preserve(tc_capture *k, const char *const *names, int n) {
    C *c = k->c;
    for (int i = 0; i < n; i++) {
        V found = NULL;
        for (size_t m = 0; m < c->torch->modules.len && !found; m++) {
            const tc_module_place *place = c->torch->modules.entries[m].value;
            if (place->plain && !strcmp(place->name, names[i])) memcpy(&found, c->torch->modules.entries[m].key, sizeof found);
        }
        if (!found) tc_raise_status(c, "ValueError", tc_error(TC_USAGE, "the model has no module %s", names[i]));
        tc_call1(c, tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, "_preserve", 9)), found);
    }
}

static tc_tree *call_side(tc_capture *k, V v, tc_arg **out, int *out_n) {
    arg_list leaves = {0};
    flattening f = {.k = k, .leaves = &leaves};
    tc_tree *t = flatten(&f, v, NULL);
    *out_n = (int)leaves.len;
    *out = TC_NEWN(&k->p->arena, tc_arg, leaves.len + 1);
    if (leaves.len) memcpy(*out, leaves.data, leaves.len * sizeof **out);
    tc_vec_free(&leaves);
    return t;
}

void tc_capture_call_begins(C *c, V given, V keywords) {
    tc_capture *k = tc_capture_active(c);
    tc_call_signature s = {0};
    if (!k || c->torch->graph != k->p->graph) return;
    V both[] = {given, keywords};
    s.in_tree = call_side(k, tc_tuple(c, 2, both), &s.inputs, &s.ninputs);
    tc_avec_push(c, &k->calls, s);
}

void tc_capture_call_ends(C *c, V result) {
    tc_capture *k = tc_capture_active(c);
    const tc_source where = {.calls = tc_torch_calls(c)};
    if (!k || c->torch->graph != k->p->graph || !k->calls.len || !where.calls) return;
    tc_call_signature s = k->calls.data[--k->calls.len];
    s.module = tc_arena_strdup(&k->p->arena, tc_source_module(&where));
    s.out_tree = call_side(k, result, &s.outputs, &s.noutputs);
    tc_vec_push(&k->p->calls, s);
}

/* May these be equal? A size that is never less and has symbols grows: to fix it at its least value would leave a program for no rows. */
static bool may_keep(tc_capture *k, tc_sym to, tc_sym from) {
    int64_t lo, hi, least, most;
    if (to == from || tc_sym_opcode(from) == TC_S_CONST) return to == from;
    tc_sym_range(k->p->sym, to, &lo, &hi);
    tc_sym_range(k->p->sym, from, &least, &most);
    return least < hi;
}

/* A program's buffers have one size. What else a symbol stands for is for copy_ to say. */
static void keeps_size(tc_capture *k, int input, const tc_value *to, const tc_value *from) {
    bool same = to->meta.rank == from->meta.rank;
    for (int d = 0; same && d < to->meta.rank; d++) same = may_keep(k, to->meta.size[d], from->meta.size[d]);
    if (same) return;
    tc_buf b = {0};
    tc_value_print_type(&b, to);
    tc_buf_puts(&b, " is assigned ");
    tc_value_print_type(&b, from);
    const char *types = tc_arena_strdup(&k->c->arena, tc_buf_str(&b));
    tc_buf_free(&b);
    const tc_source at = from->producer ? from->producer->source : (tc_source){0};
    tc_status st = tc_error(TC_CONTENT, "the buffer %s of %s; the buffers of a program keep their sizes", k->p->inputs[input].name, types);
    tc_raise_status_at(k->c, "RuntimeError", st, &at);
}

void tc_capture_outputs(tc_capture *k, V result, const char *const *names, int nnames) {
    flattening f = {.k = k};
    k->p->out_tree = flatten_result(&f, result, names, nnames);
    one_name_each(k->p);
    /* A buffer attribute that was assigned another tensor counts as a written buffer; to the gradients of what forward read it is no write. */
    const tc_node *last = k->p->graph->last;
    const bool was = k->c->torch->no_grad;
    k->c->torch->no_grad = true;
    for (size_t i = 0; i < k->slots.len; i++) {
        slot *s = &k->slots.data[i];
        V now = tc_dict_get(k->c, (dict *)s->owner, (V)s->key);
        if (s->input < 0 || !now || now == s->value || !tc_is_tensor(now)) continue;
        tc_value *to = k->p->inputs[s->input].value, *from = tc_torch_value(k->c, now);
        keeps_size(k, s->input, to, from);
        V old = tc_torch_wrap_value(k->c, to), new_value = tc_torch_wrap_value(k->c, from);
        tc_torch_calln(k->c, "aten::copy_", 2, old, new_value);
    }
    k->c->torch->no_grad = was;
    for (tc_node *n = last ? last->next : k->p->graph->first; n; n = n->next) n->uncounted = true;
    order_inputs(k);
}
