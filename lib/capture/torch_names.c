/* named_modules(), named_children(), named_parameters() and named_buffers() of torch.nn.Module, also used by captures. In C, with shared strings, for
 * speed: a model has thousands of long names. */
#include "capture/torch.h"

typedef struct {
    C *c;
    list *out;       /* (name, module), or modules without names */
    set *memo;       /* NULL: `seen` of the context, empty at first */
    bool once, deep; /* each module once; descend into children */
} walk;

static bool is_new(const walk *w, V m) {
    if (w->memo) {
        if (tc_dict_get(w->c, w->memo->d, m)) return false;
        if (w->once) tc_dict_set(w->c, w->memo->d, m, w->c->none);
        return true;
    }
    if (!w->once) return true;
    void **at = tc_map_put(&w->c->torch->seen, (const char *)&m, sizeof m);
    const bool fresh = !*at;
    *at = m;
    return fresh;
}

const char *tc_torch_joined_text(C *c, const str *path, V key) {
    if (tc_kind_of(key) != K_STR)
        tc_raise(c, "TypeError", "the name of a module, a parameter or a buffer must be a string, not %s", tc_type_name(c, key));
    const str *name = tc_as_str(key);
    tc_buf *b = &c->torch->joined;
    b->len = 0;
    if (path && path->len) {
        tc_buf_append(b, path->s, path->len);
        tc_buf_append(b, ".", 1);
    }
    tc_buf_append(b, name->s, name->len);
    return tc_buf_str(b);
}

str *tc_torch_joined(C *c, const str *path, V key) {
    const char *text = tc_torch_joined_text(c, path, key);
    return tc_intern(c, text, c->torch->joined.len);
}

static dict *dict_of(C *c, V m, str *which) {
    V d = !tc_is_small(m) && m->attrs ? tc_dict_gets(c, m->attrs, which) : NULL;
    if (!d || tc_kind_of(d) != K_DICT) tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, m), which->s);
    return (dict *)d;
}

static void found(const walk *w, V m, str *name) { tc_list_push(w->c, w->out, name ? tc_tuple_of(w->c, 2, (V)name, m) : m); }

/* name: NULL if names are not needed */
static void children(const walk *w, V m, const str *path, bool named) {
    C *c = w->c;
    tc_stack_check(c);
    V key, child;
    for (size_t i = 0; tc_dict_next(dict_of(c, m, c->n__modules), &i, &key, &child);) {
        if (child == c->none || !is_new(w, child)) continue;
        str *name = named ? tc_torch_joined(c, path, key) : NULL;
        found(w, child, name);
        if (w->deep) children(w, child, name, named);
    }
}

static list *walked(C *c, V m, V memo, str *prefix, bool once, bool deep) {
    if (memo && memo != c->none && tc_kind_of(memo) != K_SET)
        tc_raise(c, "TypeError", "memo must be a set of modules, not %s", tc_type_name(c, memo));
    walk w = {.c = c, .out = tc_list(c, 0), .memo = memo && memo != c->none ? (set *)memo : NULL, .once = once, .deep = deep};
    tc_map_free(&c->torch->seen);
    c->torch->seen = (tc_map){0};
    if (deep && is_new(&w, m)) found(&w, m, prefix);
    else if (deep) return w.out;
    children(&w, m, prefix, prefix != NULL);
    return w.out;
}

list *tc_torch_named_modules(C *c, V m, str *prefix) { return walked(c, m, NULL, prefix, false, true); }

static V named_modules(C *c, args *A) {
    V v[4];
    tc_take(c, A, "named_modules", "self memo prefix remove_duplicate", v);
    str *prefix = v[2] == c->none ? NULL : tc_as_str(v[2]);
    if (prefix && tc_kind_of(v[2]) != K_STR) tc_raise(c, "TypeError", "prefix must be a string, not %s", tc_type_name(c, v[2]));
    return (V)walked(c, v[0], v[1], prefix, tc_truth(c, v[3]), true);
}

static V named_children(C *c, args *A) {
    V v[2];
    tc_take(c, A, "named_children", "self named", v);
    return (V)walked(c, v[0], NULL, tc_truth(c, v[1]) ? tc_intern(c, "", 0) : NULL, true, false);
}

/* For pairs of a name and a module: the pairs in their dict `which`, each tensor once if `once` is set. */
static V named_members(C *c, args *A) {
    V v[3];
    tc_take(c, A, "named_members", "modules which remove_duplicate", v);
    list *modules = tc_to_list(c, v[0]), *out = tc_list(c, 0);
    str *which = tc_as_str(v[1]);
    walk w = {.c = c, .once = tc_truth(c, v[2])};
    tc_map_free(&c->torch->seen);
    c->torch->seen = (tc_map){0};
    for (size_t i = 0; i < modules->n; i++) {
        const list *pair = tc_to_list(c, modules->a[i]);
        V key, value;
        if (pair->n != 2 || tc_kind_of(pair->a[0]) != K_STR) tc_raise(c, "TypeError", "named_modules() must give pairs of a string and a module");
        for (size_t k = 0; tc_dict_next(dict_of(c, pair->a[1], which), &k, &key, &value);)
            if (value != c->none && is_new(&w, value))
                tc_list_push(c, out, tc_tuple_of(c, 2, (V)tc_torch_joined(c, tc_as_str(pair->a[0]), key), value));
    }
    return (V)out;
}

void tc_torch_names_init(C *c, module *priv) {
    static const native_def names[] = {
        {"named_modules", named_modules}, {"named_children", named_children}, {"named_members", named_members}, {NULL, NULL}};
    tc_define(c, priv->d, names);
}

void tc_torch_names_deinit(C *c);
void tc_torch_names_deinit(C *c) {
    tc_map_free(&c->torch->seen);
    tc_buf_free(&c->torch->joined);
}
