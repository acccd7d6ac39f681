/* Classes: types, C3 order, the class statement, isinstance, and the members of object and type. Attributes: attribute.c. */
#include "capture/ast.h"
#include "capture/torch.h"

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
    /* methods of built-in types do not count: callers handle those */
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

/* The class of std/_abc.py with the mixin methods that collections.abc gives to subclasses of that name, or NULL. */
static V abstract_class(C *c, str *name) {
    V v = tc_dict_gets(c, tc_import(c, "_abc", true)->d, name);
    return v && tc_kind_of(v) == K_TYPE ? v : NULL;
}

/* ---- class statement ---- */
static V resolve_base(C *c, V b) {
    if (tc_kind_of(b) == K_ALIAS) {
        alias *a = (alias *)b;
        if (tc_kind_of(a->origin) == K_TYPE) return a->origin;
        if (!strcmp(a->name->s, "TypedDict")) return (V)c->types[K_DICT];
        return abstract_class(c, a->name); /* or NULL, Generic[T], Protocol: nothing at run time */
    }
    if (tc_kind_of(b) != K_TYPE) tc_raise(c, "TypeError", "a class cannot derive from a '%s' object", tc_type_name(c, b));
    return b;
}

/* The bases of t and the layout of its instances. */
static void add_bases(C *c, type *t, const V *b, size_t nb) {
    type *number = NULL;
    t->kind = K_OBJECT;
    t->bases = tc_mem(c, sizeof(type *) * (nb + 2));
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
    if (number) { /* instances are objects that hold a number: std/_number.py */
        if (t->kind != K_OBJECT) tc_raise(c, "TypeError", "multiple bases have instance lay-out conflict");
        module *m = tc_import(c, "_number", true);
        t->bases[t->nbases++] = (type *)tc_dict_gets(c, m->d, tc_intern_str(c, tc_as_str(tc_strz(c, number->kind == K_INT ? "Int" : "Float"))));
        t->bases[t->nbases++] = number;
    }
    if (!t->nbases) t->bases[t->nbases++] = c->types[K_OBJECT];
}

static void tell_bases(C *c, type *t) {
    for (int i = 0; i < t->nbases; i++) {
        type *base = t->bases[i];
        if (!base->user) continue;
        if (!base->subclasses) base->subclasses = tc_list(c, 0);
        tc_list_push(c, base->subclasses, (V)t);
    }
}

/* Makes __new__ a static method, __init_subclass__ and __class_getitem__ class methods; calls __set_name__ of attributes. */
static void set_names(C *c, type *t, dict *ns) {
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
}

/* Do instances of t have the attributes of __slots__ alone? So they do if every class of the user's among its bases has them. */
static bool is_closed(C *c, const type *t) {
    const V slots = tc_dict_gets(c, t->d, c->n___slots__);
    bool closed = slots && t->kind == K_OBJECT;
    for (int i = 0; i < t->nbases; i++) closed = closed && (!t->bases[i]->user ? t->bases[i] == c->types[K_OBJECT] : t->bases[i]->closed);
    if (!slots) return false;
    list *names = tc_slot_names(c, slots);
    for (size_t i = 0; i < names->n; i++) {
        str *name = tc_intern_str(c, tc_as_str(names->a[i]));
        if (tc_dict_gets(c, t->d, name)) tc_raise(c, "ValueError", "'%s' in __slots__ conflicts with class variable", name->s);
        closed = closed && name != c->n___dict__;
    }
    return closed;
}

static void init_subclass(C *c, type *t, const args *kw) {
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
}

V tc_class_make(C *c, type *meta, str *name, V bases, dict *ns, args *kw) {
    size_t nb;
    V *b = tc_items(bases, &nb);
    type *t = tc_mem(c, sizeof *t);
    t->h.type = meta;
    t->name = name;
    t->user = true;
    ns->module = c->capturing ? NULL : c; /* from before forward */
    t->d = ns;
    add_bases(c, t, b, nb);
    linearise(c, t);
    t->closed = is_closed(c, t);
    tc_type_changed(c);
    tell_bases(c, t);
    set_names(c, t, ns);
    tc_type_changed(c);
    bool typed = false; /* class A(TypedDict, total=False): the keywords are for type checkers */
    for (size_t i = 0; i < nb; i++) typed |= tc_kind_of(b[i]) == K_ALIAS && !strcmp(((alias *)b[i])->name->s, "TypedDict");
    if (!typed) init_subclass(c, t, kw);
    return (V)t;
}

/* t.__bases__ = bases, outside of forward and before t has subclasses. */
void tc_class_rebase(C *c, type *t, V bases) {
    if (tc_kind_of(bases) != K_TUPLE) tc_raise(c, "TypeError", "can only assign tuple to %s.__bases__, not %s", t->name->s, tc_type_name(c, bases));
    if (!((tuple *)bases)->n) tc_raise(c, "TypeError", "can only assign non-empty tuple to %s.__bases__, not ()", t->name->s);
    if (c->capturing || t->subclasses)
        tc_raise(c, "TypeError", "__bases__ of a class can be assigned only outside of forward and before it has subclasses");
    type now = *t;
    now.nbases = 0;
    add_bases(c, &now, ((tuple *)bases)->a, ((tuple *)bases)->n);
    for (int i = 0; i < now.nbases; i++) {
        const type *b = now.bases[i];
        if (b == t) tc_raise(c, "TypeError", "a __bases__ item causes an inheritance cycle");
        if (now.kind != t->kind || b == c->types[K_INT] || b == c->types[K_FLOAT])
            tc_raise(c, "TypeError", "__bases__ assignment: '%s' object layout differs from '%s'", b->name->s, t->bases[0]->name->s);
    }
    linearise(c, &now);
    now.mro[0] = t;
    *t = now;
    tell_bases(c, t);
    tc_type_changed(c);
}

type *tc_metaclass(C *c, type *meta, const V *bases, size_t n) {
    type *winner = meta ? meta : c->types[K_TYPE];
    for (size_t i = 0; i < n; i++) {
        V base = tc_kind_of(bases[i]) == K_ALIAS ? ((alias *)bases[i])->origin : bases[i];
        type *of = base && tc_kind_of(base) == K_TYPE ? base->type : winner;
        if (tc_issubtype(winner, of)) continue;
        if (!tc_issubtype(of, winner))
            tc_raise(c, "TypeError",
                     "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the metaclasses of all its bases");
        winner = of;
    }
    return winner;
}

/* ---- isinstance ---- */
#define KIND(k) (UINT64_C(1) << (k))
#define SEQUENCES (KIND(K_LIST) | KIND(K_TUPLE) | KIND(K_SIZE) | KIND(K_STR) | KIND(K_RANGE))
#define SETS (KIND(K_SET) | KIND(K_FROZENSET))
#define SIZED (SEQUENCES | SETS | KIND(K_DICT) | KIND(K_MAPPROXY))
#define ITERATORS (KIND(K_ITER) | KIND(K_GENEXPR))

/* The classes of collections.abc: the built-in kinds that are instances, and the method that makes a user's class one. */
static bool is_abstract(C *c, type *t, str *name) {
    static const struct {
        const char *name;
        uint64_t kinds;
        const char *method;
    } abstract[] = {{"Iterable", SIZED | ITERATORS | KIND(K_TENSOR), "__iter__"},
                    {"Iterator", ITERATORS, "__next__"},
                    {"Generator", KIND(K_GENEXPR), NULL},
                    {"Reversible", SEQUENCES | KIND(K_DICT) | KIND(K_MAPPROXY) | KIND(K_TENSOR), "__reversed__"},
                    {"Sized", SIZED | KIND(K_TENSOR), "__len__"},
                    {"Container", SIZED | KIND(K_TENSOR), "__contains__"},
                    {"Collection", SIZED | KIND(K_TENSOR), "__contains__"},
                    {"Sequence", SEQUENCES, NULL},
                    {"MutableSequence", KIND(K_LIST), NULL},
                    {"Mapping", KIND(K_DICT), NULL},
                    {"MutableMapping", KIND(K_DICT), NULL},
                    {"AbstractSet", SETS | KIND(K_MAPPROXY), NULL},
                    {"MutableSet", KIND(K_SET), NULL}};
    if (!strcmp(name->s, "Hashable")) { /* by the rule of tc_hash_value() */
        for (int i = 0; i < t->nmro && t->mro[i]->user && t->kind == K_OBJECT; i++) {
            const V f = tc_dict_gets(c, t->mro[i]->d, c->n___hash__);
            if (f || tc_dict_gets(c, t->mro[i]->d, c->n___eq__)) return f && f != c->none;
        }
        return !(KIND(t->kind) & (KIND(K_LIST) | KIND(K_DICT) | KIND(K_SET) | KIND(K_MAPPROXY) | KIND(K_SLICE)));
    }
    for (size_t i = 0; i < sizeof abstract / sizeof *abstract; i++)
        if (!strcmp(name->s, abstract[i].name)) {
            if (KIND(t->kind) & abstract[i].kinds) return true;
            const char *m = abstract[i].method;
            if (m && tc_type_lookup(c, t, tc_intern(c, m, strlen(m)))) return true;
            type *nominal = t->user ? (type *)abstract_class(c, name) : NULL;
            return nominal && tc_issubtype(t, nominal);
        }
    return true;
}

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
        return is_abstract(c, t, a->name);
    }
    if (cls == c->none) return t == c->types[K_NONE];
    if (k == K_OBJECT && tc_special(c, cls, c->n___instancecheck__))
        return tc_truth(c, tc_call2(c, tc_special(c, cls, c->n___instancecheck__), cls, o ? o : (V)t));
    if (k != K_TYPE)
        tc_raise(c, "TypeError", "isinstance() arg 2 must be a type, a tuple of types, or a union" TC_DETAIL ", not %s", tc_type_name(c, cls));
    type *want = (type *)cls;
    if (want->user && o) {
        V f = tc_type_lookup(c, want->h.type, c->n___instancecheck__);
        if (!f) f = tc_type_lookup(c, want, c->n___instancecheck__); /* of a protocol: typing.runtime_checkable */
        if (f) return tc_truth(c, tc_call2(c, tc_kind_of(f) == K_CLASSM || tc_kind_of(f) == K_STATIC ? ((wrapper *)f)->f : f, cls, o));
    }
    if (tc_issubtype(t, want)) return true;
    if (want->kind == K_TENSOR && t->kind == K_TENSOR && o) { /* torch.FloatTensor and its like: every tensor of their dtype */
        V d = tc_dict_gets(c, want->d, tc_intern(c, "_dtype", 6));
        if (d) return tc_torch_dtype(o) == ((dtypeobj *)d)->d;
    }
    /* a symbolic size is an int (or a float, or a bool) to the model */
    if (t->kind == K_SYM && o) {
        tc_symtype st = tc_sym_type(((symobj *)o)->s);
        return want == c->types[st == TC_SYM_INT ? K_INT : st == TC_SYM_FLOAT ? K_FLOAT : K_BOOL];
    }
    return want == c->types[K_OBJECT];
}

bool tc_isinstance(C *c, V o, V cls) {
    tc_known(c, o);
    return matches(c, o, tc_type_of(c, o), cls);
}

bool tc_issubclass(C *c, V a, V cls) {
    if (tc_kind_of(a) != K_TYPE) tc_raise(c, "TypeError", "issubclass() arg 1 must be a class");
    return matches(c, NULL, (type *)a, cls);
}

/* ---- object and type themselves ---- */
static V object_new(C *c, args *A) {
    if (A->n < 1 || tc_kind_of(A->a[0]) != K_TYPE) tc_raise(c, "TypeError", "object.__new__(X): X is not a type object");
    type *t = (type *)A->a[0];
    tc_refuse_taking_over(c, t);
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
        tc_raise(c, "TypeError", "cannot create '%s' instances", t->name->s);
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
        if (own_init || !own_new) tc_raise(c, "TypeError", "%s() takes no arguments" TC_DETAIL " (%d given)", t->name->s, A->n - 1 + A->nk);
    }
    return c->none;
}

/* Also of built-in types, whose repr() is not by name: dict.__repr__(x), super().__repr__(). */
static V object_repr(C *c, args *A) {
    if (tc_kind_of(A->a[0]) == K_OBJECT) return tc_strf(c, "<%s object>", tc_type_name(c, A->a[0]));
    return (V)tc_repr_built_in(c, A->a[0]);
}
static V object_str(C *c, args *A) { return (V)tc_str_built_in(c, A->a[0]); }
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
    p->doc = v[4] == c->none ? NULL : v[4];
    return (V)p;
}
static V method_new(C *c, args *A) { /* types.MethodType(function, object) */
    V v[3];
    tc_take(c, A, "method", "cls function instance", v);
    return tc_method(c, v[1], v[2]);
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
    if (A->n == 2 && A->a[0] == (V)c->types[K_TYPE]) return (V)tc_type_of(c, A->a[1]);
    if (A->n == 4 && tc_kind_of(A->a[0]) == K_TYPE && tc_kind_of(A->a[1]) == K_STR && tc_kind_of(A->a[2]) == K_TUPLE &&
        tc_kind_of(A->a[3]) == K_DICT) {
        args kw = {.kn = A->kn, .kv = A->kv, .nk = A->nk};
        const tuple *bases = (tuple *)A->a[2];
        type *meta = tc_metaclass(c, (type *)A->a[0], bases->a, bases->n);
        if (meta->user && !((type *)A->a[0])->user) {
            args rest = *A;
            rest.a++, rest.n--;
            return tc_call(c, (V)meta, &rest);
        }
        return tc_class_make(c, meta, tc_intern_str(c, tc_as_str(A->a[1])), A->a[2], tc_dict_copy(c, (dict *)A->a[3]), &kw);
    }
    tc_raise(c, "TypeError", "type() takes 1 or 3 arguments");
}

static V type_init(C *c, args *A) {
    (void)A;
    return c->none;
}

static V type_call(C *c, args *A) {
    if (!A->n || tc_kind_of(A->a[0]) != K_TYPE) tc_raise(c, "TypeError", "type.__call__() needs a class");
    args rest = *A;
    rest.a++, rest.n--;
    return tc_instantiate(c, (type *)A->a[0], &rest);
}

/* __subclasses__(): the classes that derive from it, in the order of creation. */
static V type_subclasses(C *c, args *A) {
    type *t = (type *)A->a[0];
    if (!t->user) tc_raise(c, "AttributeError", "access to '__subclasses__' of %s is forbidden in the model language", t->name->s);
    list *l = tc_list(c, 0);
    for (size_t i = 0; t->subclasses && i < t->subclasses->n; i++) tc_list_push(c, l, t->subclasses->a[i]);
    return (V)l;
}
static V type_mro(C *c, args *A) { return tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "list", 4)), tc_getattr(c, A->a[0], c->n___mro__)); }

void tc_classes_init(C *c) {
    static const native_def object[] = {
        {"__new__", object_new}, {"__init__", object_init}, {"__repr__", object_repr},     {"__str__", object_str}, {"__eq__", object_eq},
        {"__ne__", object_ne},   {"__hash__", object_hash}, {"__format__", object_format}, {"__dir__", object_dir}, {NULL, NULL}};
    tc_type_methods(c, K_OBJECT, object);
    tc_attributes_init(c);
    wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
    w->f = tc_native(c, "__init_subclass__", object_init_subclass, NULL);
    tc_dict_setc(c, c->types[K_OBJECT]->d, "__init_subclass__", (V)w);
    static const native_def prop[] = {
        {"getter", property_getter}, {"setter", property_setter}, {"deleter", property_deleter}, {"__new__", property_new}, {NULL, NULL}};
    tc_type_methods(c, K_PROPERTY, prop);
    tc_dict_setc(c, c->types[K_METHOD]->d, "__new__", tc_native(c, "method", method_new, NULL));
    tc_dict_setc(c, c->types[K_STATIC]->d, "__new__", tc_native(c, "staticmethod", static_new, NULL));
    tc_dict_setc(c, c->types[K_CLASSM]->d, "__new__", tc_native(c, "classmethod", classm_new, NULL));
    tc_dict_setc(c, c->types[K_SUPER]->d, "__new__", tc_native(c, "super", super_new, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "__new__", tc_native(c, "type", type_new, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "__init__", tc_native(c, "__init__", type_init, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "__call__", tc_native(c, "__call__", type_call, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "mro", tc_native(c, "mro", type_mro, NULL));
    tc_dict_setc(c, c->types[K_TYPE]->d, "__subclasses__", tc_native(c, "__subclasses__", type_subclasses, NULL));
}
