/* Named tuples: classes whose instances are tuples with names for their elements. */
#include "capture/ast.h"

/* The constructor of a named tuple: positional and keyword fields, defaults from _field_defaults. */
static V namedtuple_new(C *c, args *A) {
    type *cls = (type *)A->a[0];
    size_t n, given = (size_t)A->n - 1;
    V *fields = tc_items(tc_type_lookup(c, cls, c->n__fields), &n);
    dict *defs = (dict *)tc_type_lookup(c, cls, tc_intern(c, "_field_defaults", 15));
    V *v = tc_mem(c, sizeof(V) * (n + 1));
    if (given > n) tc_raise(c, "TypeError", "%s.__new__() takes %zu positional arguments but %zu were given", cls->name->s, n + 1, given + 1);
    for (size_t i = 0; i < given; i++) v[i] = A->a[i + 1];
    for (int k = 0; k < A->nk; k++) {
        size_t i = 0;
        while (i < n && fields[i] != (V)A->kn[k]) i++;
        if (i == n) tc_raise(c, "TypeError", "%s.__new__() got an unexpected keyword argument '%s'", cls->name->s, A->kn[k]->s);
        if (v[i]) tc_raise(c, "TypeError", "%s.__new__() got multiple values for argument '%s'", cls->name->s, A->kn[k]->s);
        v[i] = A->kv[k];
    }
    for (size_t i = 0; i < n; i++) {
        if (!v[i]) v[i] = tc_dict_get(c, defs, fields[i]);
        if (!v[i]) tc_raise(c, "TypeError", "%s.__new__() missing 1 required positional argument: '%s'", cls->name->s, tc_as_str(fields[i])->s);
    }
    V t = tc_tuple(c, n, v);
    t->type = cls;
    return t;
}

static V namedtuple_replace(C *c, args *A) {
    V t = tc_tuple(c, ((tuple *)A->a[0])->n, ((tuple *)A->a[0])->a);
    t->type = A->a[0]->type;
    size_t n;
    V *fields = tc_items(tc_type_lookup(c, t->type, c->n__fields), &n);
    for (int k = 0; k < A->nk; k++) {
        size_t i = 0;
        while (i < n && fields[i] != (V)A->kn[k]) i++;
        if (i == n) tc_raise(c, "ValueError", "Got unexpected field names: ['%s']", A->kn[k]->s);
        ((tuple *)t)->a[i] = A->kv[k];
    }
    return t;
}

static V namedtuple_asdict(C *c, args *A) {
    size_t n;
    V *fields = tc_items(tc_type_lookup(c, A->a[0]->type, c->n__fields), &n);
    dict *d = tc_dict(c);
    for (size_t i = 0; i < n; i++) tc_dict_set(c, d, fields[i], ((tuple *)A->a[0])->a[i]);
    return (V)d;
}

static V namedtuple_make(C *c, args *A) {
    list *l = tc_to_list(c, A->a[1]);
    V t = tc_tuple(c, l->n, l->a);
    t->type = (type *)A->a[0];
    return t;
}

static V namedtuple_repr(C *c, args *A) {
    size_t n;
    V *fields = tc_items(tc_type_lookup(c, A->a[0]->type, c->n__fields), &n);
    V text = tc_strf(c, "%s(", A->a[0]->type->name->s);
    for (size_t i = 0; i < n; i++)
        text = tc_strf(c, "%s%s%s=%s", tc_as_str(text)->s, i ? ", " : "", tc_as_str(fields[i])->s, tc_repr(c, ((tuple *)A->a[0])->a[i])->s);
    return tc_strf(c, "%s)", tc_as_str(text)->s);
}

bool tc_is_namedtuple_new(const native *f) { return f->fn == namedtuple_new; }

/* T.__new__.__defaults__, by which older files set the defaults of the last fields. */
V tc_namedtuple_defaults(C *c, const type *t) {
    dict *d = (dict *)tc_dict_gets(c, t->d, tc_intern(c, "_field_defaults", 15));
    list *l = tc_list(c, 0);
    size_t n;
    V *fields = tc_items(tc_dict_gets(c, t->d, c->n__fields), &n);
    for (size_t i = 0; i < n; i++) {
        V v = tc_dict_get(c, d, fields[i]);
        if (v) tc_list_push(c, l, v);
    }
    return l->n ? tc_tuple(c, l->n, l->a) : c->none;
}
void tc_namedtuple_set_defaults(C *c, type *t, V to) {
    size_t n, k = 0;
    V *fields = tc_items(tc_dict_gets(c, t->d, c->n__fields), &n), *v = NULL;
    if (to != c->none && tc_kind_of(to) != K_TUPLE) tc_raise(c, "TypeError", "__defaults__ must be set to a tuple object");
    if (to != c->none) v = tc_items(to, &k);
    dict *d = tc_dict(c);
    for (size_t i = k < n ? n - k : 0; i < n; i++) tc_dict_set(c, d, fields[i], v[i + k - n]);
    tc_dict_setc(c, t->d, "_field_defaults", (V)d);
    tc_type_changed(c);
}

V tc_namedtuple(C *c, str *name, dict *defaults, V fields, dict *ns) {
    type *t = tc_type_new(c, name->s, K_TUPLE, c->types[K_TUPLE]);
    t->user = true;
    tc_dict_set(c, t->d, (V)c->n__fields, fields);
    tc_dict_setc(c, t->d, "_field_defaults", (V)defaults);
    tc_dict_set(c, t->d, (V)c->n___new__, tc_native(c, "__new__", namedtuple_new, t));
    tc_dict_setc(c, t->d, "_replace", tc_native(c, "_replace", namedtuple_replace, NULL));
    tc_dict_setc(c, t->d, "_asdict", tc_native(c, "_asdict", namedtuple_asdict, NULL));
    wrapper *mk = tc_new(c, K_CLASSM, sizeof *mk);
    mk->f = tc_native(c, "_make", namedtuple_make, NULL);
    tc_dict_setc(c, t->d, "_make", (V)mk);
    tc_dict_set(c, t->d, (V)c->n___repr__, tc_native(c, "__repr__", namedtuple_repr, NULL));
    size_t n;
    V *f = tc_items(fields, &n);
    for (size_t i = 0; i < n; i++) {
        property *p = tc_new(c, K_PROPERTY, sizeof *p);
        p->doc = tc_int(c, (int64_t)i); /* get NULL: element doc of the tuple */
        tc_dict_set(c, t->d, (V)tc_intern_str(c, tc_as_str(f[i])), (V)p);
    }
    V k, v;
    if (ns)
        for (size_t i = 0; tc_dict_next(ns, &i, &k, &v);)
            if (!tc_dict_get(c, defaults, k) && k != (V)c->n___annotations__) tc_dict_set(c, t->d, k, v);
    return (V)t;
}
