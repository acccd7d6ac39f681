/* Classes and attributes, by CPython's algorithm: C3 order, data descriptors first, then the instance, then the class,
 * then __getattr__. Names that lead out of the model language are refused here, at the one place every lookup passes. */
#include "capture/ast.h"

#include <stdio.h>

/* ---- forbidden names ---- */
static bool forbidden(const str *name) {
    static const char *const names[] = {"__globals__", "__builtins__", "__bases__",     "__base__",     "__subclasses__",
                                        "__code__",    "__closure__",  "__mro__",       "__loader__",   "__spec__",
                                        "__import__",  "__reduce__",   "__reduce_ex__", "__getstate__", "__traceback__"};
    if (strncmp(name->s, "__", 2)) return !strcmp(name->s, "f_globals") || !strcmp(name->s, "gi_frame");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name->s, names[i])) return true;
    return false;
}

static bool in_embedded(C *c) { return c->fr && c->fr->sc->file->embedded; }

static void check_name(C *c, str *name) {
    if (name->len > 7 && forbidden(name) && !in_embedded(c))
        tc_raise(c, "AttributeError", "access to '%s' is forbidden in the model language", name->s);
}

/* ---- types ---- */
void tc_type_changed(C *c) { c->type_version++; }

type *tc_type_new(C *c, const char *name, kind k, type *base) {
    type *t = tc_mem(c, sizeof *t);
    t->h.type = c->types[K_TYPE];
    t->name = tc_intern(c, name, strlen(name));
    t->kind = k;
    t->d = tc_mem(c, sizeof(dict));
    t->d->h.type = c->types[K_DICT];
    int n = base ? base->nmro : 0;
    t->mro = tc_mem(c, sizeof(type *) * (size_t)(n + 1));
    t->mro[0] = t;
    for (int i = 0; i < n; i++) t->mro[i + 1] = base->mro[i];
    t->nmro = n + 1;
    if (base) {
        t->bases = tc_mem(c, sizeof(type *));
        t->bases[0] = base, t->nbases = 1;
        t->instance_attr = base->instance_attr, t->instance_setattr = base->instance_setattr;
    }
    return t;
}

void tc_define(C *c, dict *d, const native_def *defs) {
    for (; defs->name; defs++) tc_dict_setc(c, d, defs->name, tc_native(c, defs->name, defs->fn, NULL));
}

void tc_type_methods(C *c, kind k, const native_def *defs) { tc_define(c, c->types[k]->d, defs); }

bool tc_issubtype(type *a, type *b) {
    for (int i = 0; i < a->nmro; i++)
        if (a->mro[i] == b) return true;
    return false;
}

V tc_type_lookup(C *c, type *t, str *name) {
    if (t->version != c->type_version) {
        memset(t->cache, 0, sizeof t->cache);
        t->version = c->type_version;
    }
    size_t at = ((uintptr_t)name >> 4) % (sizeof t->cache / sizeof *t->cache);
    if (t->cache[at].name == name) return t->cache[at].v;
    V v = NULL;
    for (int i = 0; i < t->nmro && !v; i++) v = tc_dict_gets(c, t->mro[i]->d, name);
    t->cache[at].name = name, t->cache[at].v = v;
    return v;
}

V tc_special(C *c, V o, str *name) {
    type *t = tc_type_of(c, o);
    V v = tc_type_lookup(c, t, name);
    if (v && !tc_is_small(v) && v->type->kind == K_STATIC) v = ((wrapper *)v)->f;
    if (!v || !t->user || tc_kind_of(v) != K_NATIVE) return v;
    /* what a built-in type defines does not count: callers do that themselves */
    for (int i = 0; i < t->nmro; i++)
        if (tc_dict_gets(c, t->mro[i]->d, name)) return t->mro[i]->user ? v : NULL;
    return v;
}

/* ---- C3 ---- */
static bool in_tail(type **l, int n, const type *t) {
    for (int i = 1; i < n; i++)
        if (l[i] == t) return true;
    return false;
}

static void linearise(C *c, type *t) {
    int nl = t->nbases + 1;
    type ***l = tc_mem(c, sizeof(type **) * (size_t)nl);
    int *n = tc_mem(c, sizeof(int) * (size_t)nl), total = 1;
    for (int i = 0; i < t->nbases; i++) l[i] = t->bases[i]->mro, n[i] = t->bases[i]->nmro, total += n[i];
    l[nl - 1] = t->bases, n[nl - 1] = t->nbases;
    t->mro = tc_mem(c, sizeof(type *) * (size_t)(total + t->nbases));
    t->mro[0] = t, t->nmro = 1;
    for (;;) {
        type *pick = NULL;
        bool left = false;
        for (int i = 0; i < nl && !pick; i++) {
            if (!n[i]) continue;
            left = true;
            bool good = true;
            for (int j = 0; j < nl && good; j++) good = !in_tail(l[j], n[j], l[i][0]);
            if (good) pick = l[i][0];
        }
        if (!left) return;
        if (!pick) tc_raise(c, "TypeError", "Cannot create a consistent method resolution order (MRO) for class %s", t->name->s);
        t->mro[t->nmro++] = pick;
        for (int i = 0; i < nl; i++)
            if (n[i] && l[i][0] == pick) l[i]++, n[i]--;
    }
}

/* ---- class statement ---- */
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

/* T.__new__.__defaults__, as files set it that are older than defaults of named tuples: the defaults of the last fields. */
static V namedtuple_defaults(C *c, const type *t) {
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
static void namedtuple_set_defaults(C *c, type *t, V to) {
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

static V resolve_base(C *c, V b) {
    if (tc_kind_of(b) == K_ALIAS) {
        alias *a = (alias *)b;
        if (tc_kind_of(a->origin) == K_TYPE) return a->origin;
        if (!strcmp(a->name->s, "TypedDict")) return (V)c->types[K_DICT];
        return NULL; /* Generic[T], Protocol: nothing at run time */
    }
    if (tc_kind_of(b) != K_TYPE) tc_raise(c, "TypeError", "a class cannot derive from a '%s' object", tc_type_name(c, b));
    return b;
}

V tc_class_make(C *c, str *name, V bases, dict *ns, args *kw) {
    size_t nb;
    V *b = tc_items(bases, &nb);
    type *t = tc_mem(c, sizeof *t);
    t->h.type = c->types[K_TYPE];
    t->name = name;
    t->user = true;
    t->d = ns;
    t->kind = K_OBJECT;
    t->bases = tc_mem(c, sizeof(type *) * (nb + 2));
    type *number = NULL;
    for (size_t i = 0; i < nb; i++) {
        V r = resolve_base(c, b[i]);
        if (!r) continue;
        type *base = (type *)r;
        if (base == c->types[K_INT] || base == c->types[K_FLOAT]) {
            number = base;
            continue;
        }
        if (base == c->types[K_BOOL] || base == c->types[K_NONE] || base == c->types[K_FUNC] || base == c->types[K_SLICE])
            tc_raise(c, "TypeError", "type '%s' is not an acceptable base type", base->name->s);
        t->bases[t->nbases++] = base;
        if (base->kind != K_OBJECT) {
            if (t->kind != K_OBJECT && t->kind != base->kind) tc_raise(c, "TypeError", "multiple bases have instance lay-out conflict");
            t->kind = base->kind;
        }
        if (base->instance_attr) t->instance_attr = base->instance_attr, t->instance_setattr = base->instance_setattr;
    }
    if (number) { /* its instances are objects that hold a number: std/_number.py */
        if (t->kind != K_OBJECT) tc_raise(c, "TypeError", "multiple bases have instance lay-out conflict");
        module *m = tc_import(c, "_number", true);
        t->bases[t->nbases++] = (type *)tc_dict_gets(c, m->d, tc_intern_str(c, tc_as_str(tc_strz(c, number->kind == K_INT ? "Int" : "Float"))));
        t->bases[t->nbases++] = number;
    }
    if (!t->nbases) t->bases[t->nbases++] = c->types[K_OBJECT];
    linearise(c, t);
    tc_type_changed(c);
    V k, v;
    for (size_t i = 0; tc_dict_next(ns, &i, &k, &v);) {
        if (tc_is_small(v)) continue;
        if (v->type->kind == K_FUNC && (k == (V)c->n___new__)) {
            wrapper *w = tc_new(c, K_STATIC, sizeof *w);
            w->f = v;
            tc_dict_set(c, ns, k, (V)w);
        } else if (v->type->kind == K_FUNC && (k == (V)c->n___init_subclass__ || k == (V)c->n___class_getitem__)) {
            wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
            w->f = v;
            tc_dict_set(c, ns, k, (V)w);
        } else if (v->type->user) {
            V f = tc_special(c, v, c->n___set_name__);
            if (f) tc_call3(c, f, v, (V)t, k);
        }
    }
    tc_type_changed(c);
    for (int i = 1; i < t->nmro; i++) {
        V f = tc_dict_gets(c, t->mro[i]->d, c->n___init_subclass__);
        if (!f) continue;
        if (tc_kind_of(f) == K_CLASSM) f = ((wrapper *)f)->f;
        args A = *kw;
        V self[1] = {(V)t};
        A.a = self, A.n = 1;
        tc_call(c, f, &A);
        break;
    }
    return (V)t;
}

/* ---- binding ---- */
V tc_bind(C *c, V a, V self, type *cls) {
    if (tc_is_small(a)) return a;
    switch (a->type->kind) {
    case K_FUNC:
    case K_NATIVE: return self ? tc_method(c, a, self) : a;
    case K_STATIC: return ((wrapper *)a)->f;
    case K_CLASSM: return tc_method(c, ((wrapper *)a)->f, (V)cls);
    case K_PROPERTY: {
        property *p = (property *)a;
        if (!self) return a;
        if (!p->get) {
            if (p->doc && tc_kind_of(self) == K_TUPLE) return ((tuple *)self)->a[tc_small(p->doc)];
            tc_raise(c, "AttributeError", "unreadable attribute");
        }
        return tc_call1(c, p->get, self);
    }
    default:
        if (a->type->user) {
            V f = tc_special(c, a, c->n___get__);
            if (f) return tc_call3(c, f, a, self ? self : c->none, (V)cls);
        }
        return a;
    }
}

static bool data_descriptor(C *c, V a) {
    if (tc_is_small(a)) return false;
    return a->type->kind == K_PROPERTY || (a->type->user && tc_special(c, a, c->n___set__));
}

/* ---- reading ---- */
static V type_attr(C *c, type *t, str *name) {
    V a = tc_type_lookup(c, t, name);
    if (a) return tc_bind(c, a, NULL, t);
    if (name == c->n___name__) return (V)t->name;
    if (name == c->n___qualname__) return (V)t->name;
    if (name == c->n___module__) return t->module_name ? (V)t->module_name : tc_strz(c, t->user ? "__main__" : "builtins");
    if (name == c->n___doc__) return t->doc ? t->doc : c->none;
    if (name == c->n___dict__) return (V)t->d;
    if (name == c->n___class__) return (V)t->h.type;
    if (name == c->n___bases__ || name == c->n___mro__) {
        list *l = tc_list(c, (size_t)t->nmro);
        for (int i = 0; i < (name == c->n___mro__ ? t->nmro : t->nbases); i++)
            tc_list_push(c, l, name == c->n___mro__ ? (V)t->mro[i] : (V)t->bases[i]);
        return tc_tuple(c, l->n, l->a);
    }
    if (name == c->n___annotations__) return (V)tc_dict(c);
    if (!strcmp(name->s, "mro")) return NULL;
    return NULL;
}

static V func_attr(C *c, func *f, str *name) {
    if (name == c->n___name__) return (V)f->name;
    if (name == c->n___qualname__) return (V)f->qualname;
    if (name == c->n___module__) return f->module_name ? (V)f->module_name : c->none;
    if (name == c->n___doc__) return f->doc ? f->doc : c->none;
    if (name == c->n___defaults__) return f->defaults && f->sc->ndefaults ? tc_tuple(c, (size_t)f->sc->ndefaults, f->defaults) : c->none;
    if (name == c->n___annotations__) {
        dict *d = tc_dict(c);
        for (int i = 0; i < f->sc->nparams; i++)
            if (f->sc->params[i].annotation) tc_dict_set(c, d, (V)f->sc->params[i].name, (V)f->sc->params[i].annotation);
        return (V)d;
    }
    return NULL;
}

static V super_attr(C *c, superobj *s, str *name) {
    type *t = s->self_type;
    int i = 0;
    while (i < t->nmro && t->mro[i] != s->cls) i++;
    for (i++; i < t->nmro; i++) {
        V a = tc_dict_gets(c, t->mro[i]->d, name);
        if (a) return tc_bind(c, a, tc_kind_of(s->self) == K_TYPE && (V)t == s->self ? NULL : s->self, t);
        if (t->mro[i]->instance_attr && t->mro[i]->kind == K_TENSOR) {
            a = t->mro[i]->instance_attr(c, s->self, name);
            if (a) return a;
        }
    }
    return NULL;
}

V tc_object_getattr(C *c, V o, str *name) {
    type *t = tc_type_of(c, o);
    V a = tc_type_lookup(c, t, name);
    if (a && data_descriptor(c, a)) return tc_bind(c, a, o, t);
    if (!tc_is_small(o) && o->attrs) {
        V v = tc_dict_gets(c, o->attrs, name);
        if (v) return v;
    }
    if (a && !(t->instance_attr && tc_kind_of(a) == K_NATIVE && t->kind == K_TENSOR)) return tc_bind(c, a, o, t);
    if (t->instance_attr) {
        V v = t->instance_attr(c, o, name);
        if (v) return v;
    }
    if (a) return tc_bind(c, a, o, t);
    if (name == c->n___class__) return (V)t;
    if (name == c->n___dict__ && !tc_is_small(o) && t->kind != K_TENSOR) {
        if (!o->attrs) o->attrs = tc_dict(c);
        return (V)o->attrs;
    }
    if (name == c->n___doc__) return t->doc ? t->doc : c->none;
    if (name == c->n___module__) return type_attr(c, t, name);
    return NULL;
}

static V lookup(C *c, V o, str *name) {
    if (tc_is_small(o)) return tc_object_getattr(c, o, name);
    switch (o->type->kind) {
    case K_TYPE: {
        V v = type_attr(c, (type *)o, name);
        if (v) return v;
        v = tc_type_lookup(c, o->type, name);
        return v ? tc_bind(c, v, o, o->type) : NULL;
    }
    case K_MODULE: return tc_module_attr(c, (module *)o, name);
    case K_SUPER: return super_attr(c, (superobj *)o, name);
    case K_FUNC: {
        V v = o->attrs ? tc_dict_gets(c, o->attrs, name) : NULL;
        if (v) return v;
        v = func_attr(c, (func *)o, name);
        return v ? v : tc_object_getattr(c, o, name);
    }
    case K_NATIVE:
        if (name == c->n___name__ || name == c->n___qualname__) return (V)((native *)o)->name;
        if (name == c->n___defaults__ && ((native *)o)->fn == namedtuple_new) return namedtuple_defaults(c, ((native *)o)->data);
        return tc_object_getattr(c, o, name);
    case K_METHOD:
        if (name == c->n___self__) return ((method *)o)->self;
        if (name == c->n___func__) return ((method *)o)->func;
        return lookup(c, ((method *)o)->func, name);
    case K_ALIAS: {
        if (!strcmp(name->s, "__origin__")) return ((alias *)o)->origin;
        if (!strcmp(name->s, "__args__")) return ((alias *)o)->params;
        if (tc_kind_of(((alias *)o)->origin) == K_TYPE) return lookup(c, ((alias *)o)->origin, name);
        return tc_object_getattr(c, o, name);
    }
    default: return tc_object_getattr(c, o, name);
    }
}

V tc_getattr_or(C *c, V o, str *name) {
    check_name(c, name);
    type *t = tc_type_of(c, o);
    if (t->user && t->kind != K_TYPE) {
        V ga = tc_type_lookup(c, t, c->n___getattribute__);
        if (ga && tc_kind_of(ga) == K_FUNC) return tc_call2(c, ga, o, (V)name);
    }
    V ga = t->user ? tc_type_lookup(c, t, c->n___getattr__) : NULL;
    if (!ga) return lookup(c, o, name);
    /* a property that raises AttributeError falls through to __getattr__, as in Python */
    V v = NULL;
    V a = tc_type_lookup(c, t, name);
    if (a && tc_kind_of(a) == K_PROPERTY) {
        trap tr;
        V err = NULL;
        if (TC_TRAP(c, tr)) {
            v = lookup(c, o, name);
            tc_untrap(c, &tr);
        } else {
            err = c->exc;
            if (!tc_exc_is(c, err, "AttributeError")) tc_raise_again(c, err);
        }
        if (err) {
            trap t2;
            if (TC_TRAP(c, t2)) {
                v = tc_call2(c, ga, o, (V)name);
                tc_untrap(c, &t2);
            } else tc_raise_again(c, err); /* the property's own error says more */
        }
        return v;
    }
    v = lookup(c, o, name);
    return v ? v : tc_call2(c, ga, o, (V)name);
}

/* What PyTorch has at its top level besides operators, and tc lacks: a name that is told apart from one that nobody has. */
static bool in_torch(const char *name) {
    static const char *const names[] = {"masked",   "signal",  "sparse", "jit",  "fx",      "distributed", "quantization",
                                        "profiler", "package", "hub",    "vmap", "compile", "lobpcg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

V tc_getattr(C *c, V o, str *name) {
    V v = tc_getattr_or(c, o, name);
    if (v) return v;
    if (tc_is_small(o)) goto plain;
    if (o->type->kind == K_MODULE) {
        if (!strcmp(((module *)o)->name->s, "torch") && in_torch(name->s)) tc_raise_code(c, TC_UNSUPPORTED, "torch.%s is not supported", name->s);
        if (!strncmp(((module *)o)->name->s, "torch", 5) && ((module *)o)->name->s[5] <= '.' && c->torch)
            tc_raise(c, "AttributeError", "module '%s' has no attribute '%s'", ((module *)o)->name->s, name->s);
        tc_raise(c, "AttributeError", "module '%s' has no attribute '%s' in the model language", ((module *)o)->name->s, name->s);
    }
    if (o->type->kind == K_TYPE) tc_raise(c, "AttributeError", "type object '%s' has no attribute '%s'", ((type *)o)->name->s, name->s);
    if (o->type->kind == K_SUPER) tc_raise(c, "AttributeError", "'super' object has no attribute '%s'", name->s);
plain:
    tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, o), name->s);
}

/* ---- writing ---- */
void tc_object_setattr(C *c, V o, str *name, V v) {
    if (tc_is_small(o)) tc_raise(c, "AttributeError", "'int' object has no attribute '%s'", name->s);
    switch (o->type->kind) {
    case K_TYPE:
        if (!((type *)o)->user && !in_embedded(c))
            tc_raise(c, "TypeError", "cannot set '%s' attribute of immutable type '%s'", name->s, ((type *)o)->name->s);
        tc_dict_set(c, ((type *)o)->d, (V)name, v);
        tc_type_changed(c);
        return;
    case K_MODULE:
        if (((module *)o)->embedded && !in_embedded(c))
            tc_raise(c, "TypeError", "attributes of module '%s' cannot be set in the model language", ((module *)o)->name->s);
        tc_dict_set(c, ((module *)o)->d, (V)name, v);
        return;
    case K_FUNC:
        if (name == c->n___name__ && tc_kind_of(v) == K_STR) ((func *)o)->name = tc_as_str(v);
        if (name == c->n___qualname__ && tc_kind_of(v) == K_STR) ((func *)o)->qualname = tc_as_str(v);
        if (name == c->n___doc__) ((func *)o)->doc = v;
        break;
    case K_NATIVE:
        if (name == c->n___defaults__ && ((native *)o)->fn == namedtuple_new) {
            namedtuple_set_defaults(c, ((native *)o)->data, v);
            return;
        } /* fallthrough */
    case K_METHOD: tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", o->type->name->s, name->s);
    default: break;
    }
    V a = tc_type_lookup(c, o->type, name);
    if (a && tc_kind_of(a) == K_PROPERTY) {
        if (!((property *)a)->set) tc_raise(c, "AttributeError", "property '%s' of '%s' object has no setter", name->s, o->type->name->s);
        tc_call2(c, ((property *)a)->set, o, v);
        return;
    }
    if (a && !tc_is_small(a) && a->type->user) {
        V f = tc_special(c, a, c->n___set__);
        if (f) {
            tc_call3(c, f, a, o, v);
            return;
        }
    }
    if (o->type->instance_setattr && o->type->instance_setattr(c, o, name, v)) return;
    if (!o->type->user && o->type->kind != K_FUNC && o->type->kind != K_OBJECT && o->type->kind != K_TENSOR && o->type->kind != K_EXC)
        tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", o->type->name->s, name->s);
    if (name == c->n___dict__ && tc_kind_of(v) == K_DICT) {
        o->attrs = (dict *)v;
        return;
    }
    if (name == c->n___class__ && tc_kind_of(v) == K_TYPE && ((type *)v)->kind == o->type->kind) {
        o->type = (type *)v;
        return;
    }
    tc_undo_attr(c, o, name);
    if (!o->attrs) o->attrs = tc_dict(c), o->attrs->module = NULL;
    tc_dict_set(c, o->attrs, (V)name, v);
}

void tc_setattr(C *c, V o, str *name, V v) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_type_lookup(c, o->type, c->n___setattr__);
        if (f && tc_kind_of(f) == K_FUNC) {
            tc_call3(c, f, o, (V)name, v);
            return;
        }
    }
    tc_object_setattr(c, o, name, v);
}

static void object_delattr(C *c, V o, str *name) {
    if (tc_kind_of(o) == K_TYPE && ((type *)o)->user) {
        if (tc_dict_del(c, ((type *)o)->d, (V)name)) {
            tc_type_changed(c);
            return;
        }
    } else if (tc_kind_of(o) == K_MODULE && !((module *)o)->embedded) {
        if (tc_dict_del(c, ((module *)o)->d, (V)name)) return;
    } else if (!tc_is_small(o)) {
        V a = tc_type_lookup(c, o->type, name);
        if (a && tc_kind_of(a) == K_PROPERTY && ((property *)a)->del) {
            tc_call1(c, ((property *)a)->del, o);
            return;
        }
        tc_undo_attr(c, o, name);
        if (o->attrs && tc_dict_del(c, o->attrs, (V)name)) return;
    }
    tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, o), name->s);
}

void tc_delattr(C *c, V o, str *name) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_type_lookup(c, o->type, c->n___delattr__);
        if (f && tc_kind_of(f) == K_FUNC) {
            tc_call2(c, f, o, (V)name);
            return;
        }
    }
    object_delattr(c, o, name);
}

/* ---- isinstance ---- */
static bool matches(C *c, V o, type *t, V cls) {
    kind k = tc_kind_of(cls);
    if (k == K_TUPLE) {
        for (size_t i = 0; i < ((tuple *)cls)->n; i++)
            if (matches(c, o, t, ((tuple *)cls)->a[i])) return true;
        return false;
    }
    if (k == K_ALIAS) {
        alias *a = (alias *)cls;
        if (tc_kind_of(a->origin) == K_TYPE) return matches(c, o, t, a->origin);
        if (tc_kind_of(a->params) == K_TUPLE && (!strcmp(a->name->s, "Union") || !strcmp(a->name->s, "Optional"))) return matches(c, o, t, a->params);
        if (!strcmp(a->name->s, "Callable"))
            return o && (tc_kind_of(o) == K_FUNC || tc_kind_of(o) == K_NATIVE || tc_kind_of(o) == K_METHOD || tc_kind_of(o) == K_TYPE ||
                         tc_kind_of(o) == K_OPFN || tc_special(c, o, c->n___call__));
        if (!strcmp(a->name->s, "Sequence"))
            return t->kind == K_LIST || t->kind == K_TUPLE || t->kind == K_SIZE || t->kind == K_STR || t->kind == K_RANGE;
        if (!strcmp(a->name->s, "Iterable"))
            return t->kind == K_LIST || t->kind == K_TUPLE || t->kind == K_SIZE || t->kind == K_STR || t->kind == K_DICT || t->kind == K_SET ||
                   t->kind == K_RANGE || t->kind == K_ITER || t->kind == K_GENEXPR || tc_type_lookup(c, t, c->n___iter__);
        if (!strcmp(a->name->s, "Mapping") || !strcmp(a->name->s, "MutableMapping")) return t->kind == K_DICT;
        return true;
    }
    if (cls == c->none) return t == c->types[K_NONE];
    if (k == K_OBJECT && tc_special(c, cls, c->n___instancecheck__))
        return tc_truth(c, tc_call2(c, tc_special(c, cls, c->n___instancecheck__), cls, o ? o : (V)t));
    if (k != K_TYPE) tc_raise(c, "TypeError", "isinstance() arg 2 must be a type or a tuple of types, not %s", tc_type_name(c, cls));
    type *want = (type *)cls;
    if (want->user && o) {
        V f = tc_type_lookup(c, want, c->n___instancecheck__);
        if (f) return tc_truth(c, tc_call2(c, tc_kind_of(f) == K_CLASSM || tc_kind_of(f) == K_STATIC ? ((wrapper *)f)->f : f, cls, o));
    }
    if (tc_issubtype(t, want)) return true;
    /* a symbolic size is an int (or a float, or a bool) to the model */
    if (t->kind == K_SYM && o) {
        tc_symtype st = tc_sym_type(((symobj *)o)->s);
        return want == c->types[st == TC_SYM_INT ? K_INT : st == TC_SYM_FLOAT ? K_FLOAT : K_BOOL];
    }
    return want == c->types[K_OBJECT];
}

bool tc_isinstance(C *c, V o, V cls) { return matches(c, o, tc_type_of(c, o), cls); }

bool tc_issubclass(C *c, V a, V cls) {
    if (tc_kind_of(a) != K_TYPE) tc_raise(c, "TypeError", "issubclass() arg 1 must be a class");
    return matches(c, NULL, (type *)a, cls);
}

/* ---- object and type themselves ---- */
static V object_new(C *c, args *A) {
    if (A->n < 1 || tc_kind_of(A->a[0]) != K_TYPE) tc_raise(c, "TypeError", "object.__new__(X): X is not a type object");
    type *t = (type *)A->a[0];
    if (t->kind == K_DICT) {
        dict *d = tc_dict(c);
        d->h.type = t;
        return (V)d;
    }
    if (t->kind == K_LIST) {
        list *l = tc_list(c, 0);
        l->h.type = t;
        return (V)l;
    }
    if (t->kind == K_EXC) return tc_exc_new(c, t, tc_tuple(c, (size_t)A->n - 1, A->a + 1));
    if (t->kind != K_OBJECT) {
        V f = tc_type_lookup(c, c->types[t->kind], c->n___new__);
        if (f && tc_kind_of(f) == K_NATIVE && ((native *)f)->fn != object_new) return tc_call(c, f, A);
    }
    obj *o = tc_mem(c, sizeof *o);
    o->type = t;
    return o;
}

static V object_init(C *c, args *A) {
    if (A->n > 1 || A->nk) {
        type *t = tc_type_of(c, A->a[0]);
        V nw = tc_type_lookup(c, t, c->n___new__), in = tc_type_lookup(c, t, c->n___init__);
        bool own_init = in && tc_kind_of(in) != K_NATIVE, own_new = nw && tc_kind_of(nw) != K_NATIVE;
        if (own_init || !own_new) tc_raise(c, "TypeError", "%s() takes no arguments (%d given)", t->name->s, A->n - 1 + A->nk);
    }
    return c->none;
}

static V object_setattr(C *c, args *A) {
    V v[3];
    tc_take(c, A, "__setattr__", "self name value", v);
    tc_object_setattr(c, v[0], tc_intern_str(c, tc_as_str(v[1])), v[2]);
    return c->none;
}
static V object_delattr_n(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__delattr__", "self name", v);
    object_delattr(c, v[0], tc_intern_str(c, tc_as_str(v[1])));
    return c->none;
}
static V object_getattribute(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__getattribute__", "self name", v);
    str *name = tc_intern_str(c, tc_as_str(v[1]));
    check_name(c, name);
    V r = lookup(c, v[0], name);
    if (!r) tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, v[0]), name->s);
    return r;
}
static V object_repr(C *c, args *A) { return tc_strf(c, "<%s object>", tc_type_name(c, A->a[0])); }
static V object_str(C *c, args *A) { return (V)tc_repr(c, A->a[0]); }
static V object_eq(C *c, args *A) { return A->n > 1 && tc_same(A->a[0], A->a[1]) ? c->true_ : c->notimpl; }
static V object_ne(C *c, args *A) { return A->n > 1 && tc_same(A->a[0], A->a[1]) ? c->false_ : c->notimpl; }
static V object_hash(C *c, args *A) { return tc_int(c, (int64_t)(tc_hash(&A->a[0], sizeof(V), 5) >> 2)); }
static V object_format(C *c, args *A) { return (V)tc_to_str(c, A->a[0]); }
static V object_init_subclass(C *c, args *A) {
    if (A->nk) tc_raise(c, "TypeError", "%s.__init_subclass__() takes no keyword arguments", ((type *)A->a[0])->name->s);
    return c->none;
}
static V object_dir(C *c, args *A) {
    list *l = tc_list(c, 16);
    dict *seen = tc_dict(c);
    V k, v;
    type *t = tc_kind_of(A->a[0]) == K_TYPE ? (type *)A->a[0] : tc_type_of(c, A->a[0]);
    if (!tc_is_small(A->a[0]) && A->a[0]->attrs)
        for (size_t i = 0; tc_dict_next(A->a[0]->attrs, &i, &k, &v);) tc_dict_set(c, seen, k, k);
    for (int j = 0; j < t->nmro; j++)
        for (size_t i = 0; tc_dict_next(t->mro[j]->d, &i, &k, &v);) tc_dict_set(c, seen, k, k);
    for (size_t i = 0; tc_dict_next(seen, &i, &k, &v);) tc_list_push(c, l, k);
    return (V)l;
}

static V property_with(C *c, args *A, int which) {
    property *p = (property *)A->a[0], *q = tc_new(c, K_PROPERTY, sizeof *q);
    q->get = p->get, q->set = p->set, q->del = p->del, q->doc = p->doc;
    if (which == 0) q->get = A->a[1];
    else if (which == 1) q->set = A->a[1];
    else q->del = A->a[1];
    return (V)q;
}
static V property_getter(C *c, args *A) { return property_with(c, A, 0); }
static V property_setter(C *c, args *A) { return property_with(c, A, 1); }
static V property_deleter(C *c, args *A) { return property_with(c, A, 2); }
static V property_new(C *c, args *A) {
    V v[5];
    tc_take(c, A, "property", "cls fget= fset= fdel= doc=", v);
    property *p = tc_new(c, K_PROPERTY, sizeof *p);
    p->get = v[1] == c->none ? NULL : v[1], p->set = v[2] == c->none ? NULL : v[2], p->del = v[3] == c->none ? NULL : v[3];
    return (V)p;
}
static V static_new(C *c, args *A) {
    wrapper *w = tc_new(c, K_STATIC, sizeof *w);
    w->f = A->a[1];
    return (V)w;
}
static V classm_new(C *c, args *A) {
    wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
    w->f = A->a[1];
    return (V)w;
}

static V super_new(C *c, args *A) {
    superobj *s = tc_new(c, K_SUPER, sizeof *s);
    if (A->n == 1) {
        /* super(): __class__ and the first argument of the running method */
        frame *f = c->fr;
        while (f && f->sc->kind == SC_COMP) f = f->prev;
        V cls = NULL;
        if (f)
            for (int i = 0; i < f->sc->nfree; i++)
                if (f->sc->free[i]->name == c->n___class__) cls = ((cell *)f->slots[f->sc->free[i]->slot])->v;
        if (!cls || !f->sc->nparams) tc_raise(c, "RuntimeError", "super(): no arguments");
        s->cls = (type *)cls;
        s->self = f->slots[f->sc->params[0].var->slot];
        if (f->sc->params[0].var->cell) s->self = ((cell *)s->self)->v;
        if (f->sc->vararg == 0) s->self = tc_getitem(c, s->self, tc_int(c, 0));
    } else {
        if (A->n != 3 || tc_kind_of(A->a[1]) != K_TYPE) tc_raise(c, "TypeError", "super() takes no argument, or a class and an object");
        s->cls = (type *)A->a[1], s->self = A->a[2];
    }
    s->self_type = tc_kind_of(s->self) == K_TYPE && tc_issubtype((type *)s->self, s->cls) ? (type *)s->self : tc_type_of(c, s->self);
    if (!tc_issubtype(s->self_type, s->cls)) tc_raise(c, "TypeError", "super(type, obj): obj must be an instance or subtype of type");
    return (V)s;
}

static V type_new(C *c, args *A) {
    if (A->n == 2) return (V)tc_type_of(c, A->a[1]);
    if (A->n == 4 && tc_kind_of(A->a[1]) == K_STR && tc_kind_of(A->a[2]) == K_TUPLE && tc_kind_of(A->a[3]) == K_DICT) {
        args none = {0};
        return tc_class_make(c, tc_intern_str(c, tc_as_str(A->a[1])), A->a[2], tc_dict_copy(c, (dict *)A->a[3]), &none);
    }
    tc_raise(c, "TypeError", "type() takes 1 or 3 arguments");
}

static V type_mro(C *c, args *A) { return tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "list", 4)), tc_getattr(c, A->a[0], c->n___mro__)); }

void tc_classes_init(C *c) {
    static const native_def object[] = {{"__new__", object_new},
                                        {"__init__", object_init},
                                        {"__setattr__", object_setattr},
                                        {"__delattr__", object_delattr_n},
                                        {"__getattribute__", object_getattribute},
                                        {"__repr__", object_repr},
                                        {"__str__", object_str},
                                        {"__eq__", object_eq},
                                        {"__ne__", object_ne},
                                        {"__hash__", object_hash},
                                        {"__format__", object_format},
                                        {"__dir__", object_dir},
                                        {NULL, NULL}};
    tc_type_methods(c, K_OBJECT, object);
    wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
    w->f = tc_native(c, "__init_subclass__", object_init_subclass, NULL);
    tc_dict_setc(c, c->types[K_OBJECT]->d, "__init_subclass__", (V)w);
    static const native_def prop[] = {
        {"getter", property_getter}, {"setter", property_setter}, {"deleter", property_deleter}, {"__new__", property_new}, {NULL, NULL}};
    tc_type_methods(c, K_PROPERTY, prop);
    tc_dict_setc(c, c->types[K_STATIC]->d, "__new__", tc_native(c, "staticmethod", static_new, NULL));
    tc_dict_setc(c, c->types[K_CLASSM]->d, "__new__", tc_native(c, "classmethod", classm_new, NULL));
    tc_dict_setc(c, c->types[K_SUPER]->d, "__new__", tc_native(c, "super", super_new, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "__new__", tc_native(c, "type", type_new, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "mro", tc_native(c, "mro", type_mro, NULL));
}
