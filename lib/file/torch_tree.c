/* Converts a pickle to the tree that torch_write.c writes: containers, numbers and text unchanged, tensors by the names that torch_value.c gave
 * them, objects of any class by the names of their constructors, which are never looked up. A pickled nn.Module becomes its state_dict. */
#include "file/content.h"
#include "file/torch.h"

enum { DEEPEST = 400, MOST = 1000000, MOST_TEXT = 64 << 20 };

typedef struct {
    tc_saved *t;
    size_t nodes, text; /* total values and text bytes, limited because a shared value of the pickle is written at each place */
    struct {
        const tc_pk *value;
        tc_saved_node *node;
    } within[DEEPEST + 1]; /* by depth: the containers being built */
} builder;

static tc_saved_node *build(builder *b, const tc_pk *v, int depth);

static tc_saved_node *make(builder *b, int kind) {
    b->nodes++;
    tc_saved_node *n = TC_NEW(&b->t->out->arena, tc_saved_node);
    n->kind = kind;
    return n;
}

static bool too_much(const builder *b) { return b->nodes >= MOST || b->text > MOST_TEXT; }

static tc_saved_node *text_node(builder *b, int kind, const char *s, size_t n) {
    tc_saved_node *node = make(b, kind);
    b->text += n;
    node->text = tc_arena_strndup(&b->t->out->arena, s, n);
    node->n = n;
    return node;
}

static void add(tc_saved_node *to, tc_saved_node *n) {
    if (n) tc_vec_push(&to->items, n);
}

static tc_saved_node *none_for_null(builder *b, tc_saved_node *n) { return n ? n : make(b, TC_SAVED_NONE); }

static void add_entry(builder *b, tc_saved_node *to, const tc_pk *key, const tc_pk *value, int depth) {
    tc_saved_node *n = build(b, value, depth);
    if (!n) return; /* a tensor that is left out */
    if (key->kind == TC_PK_STRING) n->key = tc_arena_strndup(&b->t->out->arena, key->s, key->n), n->nkey = key->n, b->text += key->n;
    else if (key->kind == TC_PK_INT) n->number = key->i;
    else n->other_key = none_for_null(b, build(b, key, depth));
    add(to, n);
}

static void add_entries(builder *b, tc_saved_node *to, const tc_pk *dict, int depth) {
    for (uint32_t i = 0; i + 1 < dict->len; i += 2) add_entry(b, to, dict->items[i], dict->items[i + 1], depth);
}

static void add_items(builder *b, tc_saved_node *to, const tc_pk *list, int depth) {
    for (uint32_t i = 0; i < list->len; i++) add(to, none_for_null(b, build(b, list->items[i], depth)));
}

/* The parameters and buffers of a pickled module, by their state_dict names. */
static void add_module(builder *b, tc_saved_node *to, const tc_pk *v, const char *prefix, int depth) {
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3 && depth < DEEPEST; i++) {
        const tc_pk *part = tc_pk_get(v, parts[i]);
        for (uint32_t k = 0; part && part->kind == TC_PK_DICT && k + 1 < part->len; k += 2) {
            const tc_pk *key = part->items[k], *value = part->items[k + 1];
            if (key->kind != TC_PK_STRING || value->kind == TC_PK_NONE) continue;
            const char *name = tc_arena_printf(&b->t->out->arena, "%s%.*s", prefix, (int)key->n, key->s);
            if (i == 2) {
                add_module(b, to, value, tc_arena_printf(&b->t->out->arena, "%s.", name), depth + 1);
                continue;
            }
            tc_saved_node *n = build(b, value, depth + 1);
            if (n) n->key = name, n->nkey = strlen(name), add(to, n);
        }
    }
}

/* Items of an object: callable, arguments, appended items, set items, attributes. */
static void build_object(builder *b, tc_saved_node *n, const tc_pk *v, int depth) {
    static const tc_pk empty[] = {{.kind = TC_PK_LIST}, {.kind = TC_PK_DICT}};
    if (tc_pk_get(v, "_parameters") && tc_pk_get(v, "_modules")) {
        n->kind = TC_SAVED_DICT;
        n->made_by = "collections\nOrderedDict";
        add_module(b, n, v, "", depth);
        return;
    }
    n->kind = TC_SAVED_OBJECT;
    n->i = v->made == TC_PK_NEW;
    add(n, none_for_null(b, build(b, v->callable, depth)));
    add(n, none_for_null(b, build(b, v->arguments, depth)));
    add(n, build(b, v->more ? &v->more->list : &empty[0], depth));
    add(n, build(b, v->more ? &v->more->dict : &empty[1], depth));
    if (v->state) add(n, none_for_null(b, build(b, v->state, depth)));
}

static const char *class_of(tc_pk_made made) {
    switch (made) {
    case TC_PK_ORDERED: return "collections\nOrderedDict";
    case TC_PK_COUNTER: return "collections\nCounter";
    case TC_PK_DEFAULTDICT: return "collections\ndefaultdict";
    case TC_PK_FROZEN: return "__builtin__\nfrozenset";
    default: return NULL;
    }
}

/* A tensor's node: its properties other than the elements. */
static tc_saved_node *tensor_node(builder *b, const tc_pk *v, const char *name, int depth) {
    tc_saved_node *n = make(b, TC_SAVED_TENSOR);
    const tc_pk *parameter = tc_pk_call(v, "torch._utils._rebuild_parameter");
    const tc_pk *with_state = tc_pk_call(v, "torch._utils._rebuild_parameter_with_state"), *any = parameter ? parameter : with_state;
    const tc_pk *of_type = tc_pk_call(v, "torch._tensor._rebuild_from_type_v2");
    const tc_pk *grad = any ? tc_pk_arg(any, 1) : tc_pk_call(v, "torch._utils._rebuild_tensor_v2") ? tc_pk_arg(v, 4) : NULL;
    const tc_pk *state = with_state ? tc_pk_arg(with_state, 3) : of_type ? tc_pk_arg(of_type, 3) : NULL;
    n->text = name;
    n->parameter = any != NULL;
    n->requires_grad = grad && grad->kind == TC_PK_BOOL && grad->b;
    if (of_type && tc_pk_is_global(tc_pk_arg(of_type, 1), "torch.nn.parameter.Parameter")) n->parameter = true;
    if (state && state->kind == TC_PK_DICT && state->len) add(n, build(b, state, depth));
    return n;
}

static tc_saved_node *build_container(builder *b, const tc_pk *v, int depth) {
    tc_saved_node *n = make(b, TC_SAVED_DICT);
    b->within[depth].value = v, b->within[depth].node = n;
    switch (v->kind) {
    case TC_PK_DICT:
        n->made_by = class_of((tc_pk_made)v->made);
        add_entries(b, n, v, depth + 1);
        if (v->state) n->state = build(b, v->state, depth + 1);
        break;
    case TC_PK_OBJECT: build_object(b, n, v, depth + 1); break;
    default:
        n->kind = v->kind == TC_PK_LIST ? TC_SAVED_LIST : v->kind == TC_PK_TUPLE ? TC_SAVED_TUPLE : TC_SAVED_SET;
        n->made_by = class_of((tc_pk_made)v->made);
        add_items(b, n, v, depth + 1);
    }
    b->within[depth].value = NULL;
    return n;
}

/* NULL: a tensor that was left out, or a bare storage. */
static tc_saved_node *build(builder *b, const tc_pk *v, int depth) {
    const char *name = tc_map_get(&b->t->names, (const char *)&v, sizeof v);
    tc_saved_node *n;
    if (too_much(b)) return NULL;
    if (name) return *name ? tensor_node(b, v, name, depth) : NULL;
    switch (v->kind) {
    case TC_PK_NONE: return make(b, TC_SAVED_NONE);
    case TC_PK_BOOL: n = make(b, TC_SAVED_BOOL), n->i = v->b; return n;
    case TC_PK_INT: n = make(b, TC_SAVED_INT), n->i = v->i; return n;
    case TC_PK_FLOAT: n = make(b, TC_SAVED_FLOAT), n->f = v->f; return n;
    case TC_PK_STRING: return text_node(b, TC_SAVED_TEXT, v->s, v->n);
    case TC_PK_BYTES: return text_node(b, TC_SAVED_BYTES, v->s, v->n);
    case TC_PK_LONG: n = text_node(b, TC_SAVED_LONG, v->s, v->n), n->i = v->made == TC_PK_DECIMAL; return n;
    case TC_PK_GLOBAL:
        n = make(b, TC_SAVED_GLOBAL);
        n->text = tc_arena_printf(&b->t->out->arena, "%.*s\n%s", (int)v->n, v->s, v->s + v->n + 1);
        return n;
    case TC_PK_PERSISTENT: return NULL;
    default: break;
    }
    for (int i = 0; i < depth; i++)
        if (b->within[i].value == v) {
            n = make(b, TC_SAVED_WITHIN);
            n->of = b->within[i].node;
            n->of->named = true;
            return n;
        }
    return depth < DEEPEST ? build_container(b, v, depth) : make(b, TC_SAVED_NONE);
}

tc_status tc_saved_tree(tc_saved *t, const tc_pk *root, tc_saved_node **out) {
    builder b = {.t = t};
    *out = none_for_null(&b, build(&b, root, 0));
    if (!too_much(&b)) return NULL;
    return tc_saved_error(t, TC_CONTENT, "more than %d values, or %d MiB of text in them", MOST, MOST_TEXT >> 20);
}
