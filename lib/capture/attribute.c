/* Attributes, by CPython's algorithm: data descriptors first, then the instance, then the class, then __getattr__.
 * Names that lead out of the model language are refused here, at the one place every lookup passes. */
#include "capture/ast.h"

/* ---- forbidden names ---- */
static bool forbidden(const str *name) {
    static const char *const names[] = {"__globals__", "__builtins__", "__bases__",  "__base__",   "__code__",      "__closure__", "__mro__",
                                        "__loader__",  "__spec__",     "__import__", "__reduce__", "__reduce_ex__", "__getstate__"};
    if (strncmp(name->s, "__", 2)) return !strcmp(name->s, "f_globals") || !strcmp(name->s, "gi_frame");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name->s, names[i])) return true;
    return false;
}

static bool in_embedded(C *c) { return c->fr && c->fr->sc->file->embedded; }

static void check_name(C *c, V o, str *name) {
    if (name == c->n___bases__ && tc_kind_of(o) == K_TYPE && ((type *)o)->user) return;
    if (name->len > 7 && forbidden(name) && !in_embedded(c))
        tc_raise(c, "AttributeError", "access to '%s' is forbidden in the model language", name->s);
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

static V docstring_of(C *c, func *f) {
    if (!f->doc && f->sc->later.from) tc_parse_body(c, f->sc);
    const V doc = f->doc ? f->doc : f->sc->doc;
    return doc ? doc : c->none;
}

static V func_attr(C *c, func *f, str *name) {
    if (name == c->n___name__) return (V)f->name;
    if (name == c->n___qualname__) return (V)f->qualname;
    if (name == c->n___module__) return f->module_name ? (V)f->module_name : c->none;
    if (name == c->n___doc__) return docstring_of(c, f);
    if (name == c->n___defaults__) return f->defaults && f->sc->ndefaults ? tc_tuple(c, (size_t)f->sc->ndefaults, f->defaults) : c->none;
    if (!strcmp(name->s, "__kwdefaults__")) {
        dict *d = tc_dict(c);
        V *def = f->kwdefaults;
        for (const param *p = f->sc->params; p < f->sc->params + f->sc->nparams; p++)
            if (p->kind == P_KWONLY && p->def) tc_dict_set(c, d, (V)p->name, *def++);
        return d->used ? (V)d : c->none;
    }
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

/* o.__dict__. It is never treated as a file's global, so that changes which forward makes through it are undone like those of other attributes. */
static dict *attrs_of(C *c, V o) {
    if (!o->attrs) o->attrs = tc_dict(c), o->attrs->module = c->capturing ? NULL : c;
    return o->attrs;
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
    if (name == c->n___dict__ && !tc_is_small(o) && t->kind != K_TENSOR && (!t->closed || in_embedded(c))) { return (V)attrs_of(c, o); }
    if (name == c->n___doc__) return t->doc ? t->doc : c->none;
    if (name == c->n___module__) return type_attr(c, t, name);
    return NULL;
}

static V property_attr(C *c, property *p, str *name) {
    if (!strcmp(name->s, "fget")) return p->get ? p->get : c->none;
    if (!strcmp(name->s, "fset")) return p->set ? p->set : c->none;
    if (!strcmp(name->s, "fdel")) return p->del ? p->del : c->none;
    if (name != c->n___doc__ || !p->get) return NULL;
    return p->doc ? p->doc : tc_getattr(c, p->get, name);
}

/* Mapping.register(cls): nothing for a class that is one. */
static V alias_register(C *c, args *A) {
    V v[2];
    tc_take(c, A, "register", "self subclass", v);
    if (tc_kind_of(v[1]) != K_TYPE || !tc_issubclass(c, v[1], v[0]))
        tc_raise(c, "NotImplementedError", "%s.register is not part of the model language", ((alias *)v[0])->name->s);
    return v[1];
}

static V lookup(C *c, V o, str *name) {
    if (tc_is_small(o)) return tc_object_getattr(c, o, name);
    switch (o->type->kind) {
    case K_TYPE: {
        V m = o->type->user ? tc_type_lookup(c, o->type, name) : NULL;
        if (m && data_descriptor(c, m)) return tc_bind(c, m, o, o->type);
        V v = type_attr(c, (type *)o, name);
        if (v) return v;
        v = tc_type_lookup(c, o->type, name);
        if (v) return tc_bind(c, v, o, o->type);
        return ((type *)o)->unbound_attr ? ((type *)o)->unbound_attr(c, name) : NULL;
    }
    case K_MODULE: {
        V v = tc_module_attr(c, (module *)o, name);
        return v ? v : tc_module_stand_in(c, (module *)o, name);
    }
    case K_SUPER: return super_attr(c, (superobj *)o, name);
    case K_FUNC: {
        V v = o->attrs ? tc_dict_gets(c, o->attrs, name) : NULL;
        if (v) return v;
        v = func_attr(c, (func *)o, name);
        return v ? v : tc_object_getattr(c, o, name);
    }
    case K_NATIVE:
        if (name == c->n___name__ || name == c->n___qualname__) return (V)((native *)o)->name;
        if (name == c->n___defaults__ && tc_is_namedtuple_new((native *)o)) return tc_namedtuple_defaults(c, ((native *)o)->data);
        return tc_object_getattr(c, o, name);
    case K_METHOD:
        if (name == c->n___self__) return ((method *)o)->self;
        if (name == c->n___func__) return ((method *)o)->func;
        return lookup(c, ((method *)o)->func, name);
    case K_PROPERTY: {
        V v = property_attr(c, (property *)o, name);
        return v ? v : tc_object_getattr(c, o, name);
    }
    case K_ALIAS: {
        if (!strcmp(name->s, "__origin__")) return ((alias *)o)->origin;
        if (!strcmp(name->s, "__args__")) return ((alias *)o)->params;
        if (tc_kind_of(((alias *)o)->origin) == K_TYPE) return lookup(c, ((alias *)o)->origin, name);
        if (!strcmp(name->s, "register")) return tc_bind(c, tc_native(c, "register", alias_register, NULL), o, tc_type_of(c, o));
        return tc_object_getattr(c, o, name);
    }
    default: return tc_object_getattr(c, o, name);
    }
}

V tc_getattr_or(C *c, V o, str *name) {
    check_name(c, o, name);
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
            } else tc_raise_again(c, err); /* the property's own error is more specific */
        }
        return v;
    }
    v = lookup(c, o, name);
    return v ? v : tc_call2(c, ga, o, (V)name);
}

/* Names at PyTorch's top level, other than operators, that tc lacks: they get another message than names that do not exist. */
static bool in_torch(const char *name) {
    static const char *const names[] = {"masked",       "signal",   "sparse",  "jit", "fx",     "distributed",
                                        "quantization", "profiler", "package", "hub", "compile"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

V tc_getattr(C *c, V o, str *name) {
    V v = tc_getattr_or(c, o, name);
    if (v) return v;
    if (tc_is_small(o)) goto plain;
    if (o->type->kind == K_MODULE) {
        tc_import_lost(c, (module *)o, name);
        if (!strcmp(((module *)o)->name->s, "torch") && in_torch(name->s)) tc_raise_code(c, TC_UNSUPPORTED, "torch.%s is not supported", name->s);
        if (!strncmp(((module *)o)->name->s, "torch", 5) && ((module *)o)->name->s[5] <= '.' && c->torch)
            tc_raise_missing(c, o, name, "AttributeError", "module '%s' has no attribute '%s'", ((module *)o)->name->s, name->s);
        tc_raise_missing(c, o, name, "AttributeError", "module '%s' has no attribute '%s' in the model language", ((module *)o)->name->s, name->s);
    }
    if (o->type->kind == K_TYPE)
        tc_raise_missing(c, o, name, "AttributeError", "type object '%s' has no attribute '%s'", ((type *)o)->name->s, name->s);
    if (o->type->kind == K_SUPER) tc_raise(c, "AttributeError", "'super' object has no attribute '%s'", name->s);
plain:
    tc_raise_missing(c, o, name, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, o), name->s);
}

/* ---- writing ---- */
/* The names in a class's __slots__: a string is one name. */
list *tc_slot_names(C *c, V slots) { return tc_to_list(c, tc_kind_of(slots) == K_STR ? tc_tuple(c, 1, &slots) : slots); }

static bool is_slot(C *c, const type *t, const str *name) {
    bool found = false;
    for (int i = 0; i < t->nmro && !found; i++) {
        const V slots = tc_dict_gets(c, t->mro[i]->d, c->n___slots__);
        list *names = slots ? tc_slot_names(c, slots) : NULL;
        for (size_t k = 0; names && k < names->n && !found; k++) {
            const str *slot = tc_as_str(names->a[k]);
            const uint32_t more = name->len >= slot->len ? name->len - slot->len : 0; /* of a private name: _Class */
            found = (!more || !strncmp(slot->s, "__", 2)) && !strcmp(name->s + more, slot->s);
        }
    }
    return found;
}

/* A name of a module of the language's own that a file may bind: while it is loaded any (torch.index_select = mine), later a new one (np.float = float)
 * or one of its list _settable. */
static bool may_set(C *c, module *m, str *name) {
    if (tc_is_loading(c)) return true;
    V names = tc_dict_gets(c, m->d, tc_intern(c, "_settable", 9));
    return names ? tc_contains(c, names, (V)name) : !tc_module_attr(c, m, name);
}

void tc_object_setattr(C *c, V o, str *name, V v) {
    if (tc_is_small(o)) tc_raise(c, "AttributeError", "'int' object has no attribute '%s'", name->s);
    switch (o->type->kind) {
    case K_TYPE:
        if (!((type *)o)->user && !in_embedded(c))
            tc_raise(c, "TypeError", "cannot set '%s' attribute of immutable type '%s'", name->s, ((type *)o)->name->s);
        if (name == c->n___bases__) {
            tc_class_rebase(c, (type *)o, v);
            return;
        }
        tc_undo_attr(c, o, name);
        tc_dict_set(c, ((type *)o)->d, (V)name, v);
        tc_type_changed(c);
        return;
    case K_MODULE:
        if (((module *)o)->embedded && !in_embedded(c) && !may_set(c, (module *)o, name))
            tc_raise(c, "TypeError", "attributes of module '%s' cannot be set in the model language", ((module *)o)->name->s);
        tc_dict_set(c, ((module *)o)->d, (V)name, v);
        return;
    case K_FUNC:
        if (name == c->n___name__ && tc_kind_of(v) == K_STR) ((func *)o)->name = tc_as_str(v);
        if (name == c->n___qualname__ && tc_kind_of(v) == K_STR) ((func *)o)->qualname = tc_as_str(v);
        if (name == c->n___doc__) ((func *)o)->doc = v;
        break;
    case K_NATIVE:
        if (name == c->n___defaults__ && tc_is_namedtuple_new((native *)o)) {
            tc_namedtuple_set_defaults(c, ((native *)o)->data, v);
            return;
        } /* fallthrough */
    case K_METHOD: tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", o->type->name->s, name->s);
    default: break;
    }
    V a = tc_type_lookup(c, o->type, name);
    if (a && tc_kind_of(a) == K_PROPERTY) {
        if (!((property *)a)->set && !((property *)a)->get) tc_raise(c, "AttributeError", "can't set attribute"); /* a field of a tuple */
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
    if (!o->type->user && o->type->kind != K_FUNC && o->type->kind != K_OBJECT && o->type->kind != K_TENSOR && o->type->kind != K_EXC &&
        (o->type->kind != K_ALIAS || name != c->n___doc__))
        tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", o->type->name->s, name->s);
    if (name == c->n___dict__ && tc_kind_of(v) == K_DICT) {
        o->attrs = (dict *)v;
        return;
    }
    if (name == c->n___class__ && tc_kind_of(v) == K_TYPE && ((type *)v)->kind == o->type->kind) {
        tc_refuse_taking_over(c, (type *)v);
        o->type = (type *)v;
        return;
    }
    if (o->type->closed && !is_slot(c, o->type, name))
        tc_raise(c, "AttributeError", a ? "'%s' object attribute '%s' is read-only" : "'%s' object has no attribute '%s'", o->type->name->s, name->s);
    tc_undo_attr(c, o, name);
    tc_dict_set(c, attrs_of(c, o), (V)name, v);
}

static V object_setattr(C *c, args *A);
static V object_delattr_n(C *c, args *A);

/* The class's own method of that name, such as __setattr__ = dict.__setitem__; NULL: object's. */
static V own_method(C *c, V o, str *name, native_fn of_object) {
    V f = !tc_is_small(o) && o->type->user ? tc_type_lookup(c, o->type, name) : NULL;
    if (!f || tc_kind_of(f) == K_FUNC) return f;
    return tc_kind_of(f) == K_NATIVE && ((native *)f)->fn != of_object ? f : NULL;
}

void tc_setattr(C *c, V o, str *name, V v) {
    V f = own_method(c, o, c->n___setattr__, object_setattr);
    if (f) tc_call3(c, f, o, (V)name, v);
    else tc_object_setattr(c, o, name, v);
}

static void object_delattr(C *c, V o, str *name) {
    if (tc_kind_of(o) == K_TYPE && ((type *)o)->user) {
        tc_undo_attr(c, o, name);
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
    V f = own_method(c, o, c->n___delattr__, object_delattr_n);
    if (f) tc_call2(c, f, o, (V)name);
    else object_delattr(c, o, name);
}

/* ---- of object itself ---- */
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
    check_name(c, v[0], name);
    V r = lookup(c, v[0], name);
    if (!r) tc_raise(c, "AttributeError", "'%s' object has no attribute '%s'", tc_type_name(c, v[0]), name->s);
    return r;
}

void tc_attributes_init(C *c) {
    static const native_def object[] = {
        {"__setattr__", object_setattr}, {"__delattr__", object_delattr_n}, {"__getattribute__", object_getattribute}, {NULL, NULL}};
    tc_type_methods(c, K_OBJECT, object);
}
