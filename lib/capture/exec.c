/* Executes statements: blocks, loops, exceptions, definitions. Executing a block returns how it ended: normally, or by break, continue or return. */
#include "base/text.h"
#include "capture/keep_going.h"
#include "capture/profile.h"
#include "capture/torch.h"

typedef enum { ON, BREAK, CONTINUE, RETURN } flow;

static flow block(C *c, frame *f, ast *const *body, int n);

/* Warns, once for each line, of a side effect of forward that the program will not have. */
void tc_side_effect(C *c, const char *what) {
    tc_source at = tc_here(c);
    tc_warn(c,
            tc_arena_printf(&c->arena, "%s:%d: %s while forward is captured; the program does not do that", at.file ? at.file : "?", at.line, what));
}

/* Warns that forward changes an object of a global: the result would differ between the first call and the next. */
void tc_global_guard(C *c, const void *owner, V o) {
    const module *m = owner;
    if (!c->capturing || !m) return;
    if (owner == c) { /* made before forward by a constructor or a decorator that caches, not at the top level of a file */
        tc_undo_container(c, o);
        if (!c->fr->sc->file->embedded) tc_side_effect(c, "a list, dict or set from before forward is changed");
        return;
    }
    if (m->embedded) { /* such as hooks on all modules: the next capture sees the same state */
        tc_undo_container(c, o);
        return;
    }
    const char *name = "an object";
    V k, v;
    for (size_t i = 0; tc_dict_next(m->d, &i, &k, &v);)
        if (v == o) name = tc_as_str(k)->s;
    tc_raise(c, "RuntimeError", "the global %s is changed while forward is captured: pass it as an argument, or make it a buffer", name);
}

static void unpack(C *c, frame *f, const ast *t, V v) {
    size_t n;
    V *a;
    if (tc_keep_unknown(c, v)) {
        for (int i = 0; i < t->n; i++) tc_store(c, f, t->list[i]->kind == N_STAR ? t->list[i]->a : t->list[i], v);
        return;
    }
    if (tc_is_seq(v)) a = tc_items(v, &n);
    else {
        kind k = tc_kind_of(v);
        if (k == K_INT || k == K_FLOAT || k == K_BOOL || k == K_NONE || k == K_SYM)
            tc_raise(c, "TypeError", "cannot unpack non-iterable %s object", tc_type_name(c, v));
        list *l = tc_to_list(c, v);
        a = l->a, n = l->n;
    }
    int star = -1;
    for (int i = 0; i < t->n; i++)
        if (t->list[i]->kind == N_STAR) star = i;
    if (star < 0) {
        if ((size_t)t->n != n) {
            if (n < (size_t)t->n) tc_raise(c, "ValueError", "not enough values to unpack (expected %d, got %zu)", t->n, n);
            tc_raise(c, "ValueError", "too many values to unpack (expected %d)" TC_DETAIL ", got %zu", t->n, n);
        }
        V small[8], *copy = n <= 8 ? small : tc_mem(c, n * sizeof(V));
        if (n) memcpy(copy, a, n * sizeof(V));
        for (int i = 0; i < t->n; i++) tc_store(c, f, t->list[i], copy[i]);
        return;
    }
    if (n + 1 < (size_t)t->n) tc_raise(c, "ValueError", "not enough values to unpack (expected at least %d, got %zu)", t->n - 1, n);
    size_t after = (size_t)(t->n - star - 1), mid = n - (size_t)star - after;
    for (int i = 0; i < star; i++) tc_store(c, f, t->list[i], a[i]);
    tc_store(c, f, t->list[star]->a, tc_list_of(c, mid, a + star));
    for (size_t i = 0; i < after; i++) tc_store(c, f, t->list[(size_t)star + 1 + i], a[(size_t)star + mid + i]);
}

/* Assigning an attribute of an object from before forward. Assigning a registered buffer becomes a mutation in the program. */
static void assigned(C *c, V o, str *name) {
    if (tc_is_small(o)) return;
    if (tc_kind_of(o) == K_TYPE && ((type *)o)->d->module)
        tc_side_effect(c,
                       tc_arena_printf(&c->arena, "the attribute %s of the class %s from before forward is assigned", name->s, ((type *)o)->name->s));
    if (!tc_map_get(&c->torch->modules, (const char *)&o, sizeof o)) {
        if (tc_kind_of(o) == K_OBJECT && o->attrs && o->attrs->module)
            tc_side_effect(c, tc_arena_printf(&c->arena, "the attribute %s of %s from before forward is assigned", name->s, tc_type_name(c, o)));
        return;
    }
    V buffers = tc_getattr_or(c, o, tc_intern(c, "_buffers", 8));
    if (buffers && tc_kind_of(buffers) == K_DICT && tc_dict_gets(c, (dict *)buffers, name)) return;
    tc_side_effect(c, tc_arena_printf(&c->arena, "the attribute %s of a module is assigned", name->s));
}

void tc_store(C *c, frame *f, const ast *t, V v) {
    switch (t->kind) {
    case N_NAME: {
        var *x = t->var;
        switch (x->kind) {
        case VAR_LOCAL:
        case VAR_FREE:
            if (x->kind == VAR_FREE && !f->sc->file->embedded) tc_undo_cell(c, (cell *)f->slots[x->slot], t->name);
            if (x->cell) ((cell *)f->slots[x->slot])->v = v;
            else f->slots[x->slot] = v;
            return;
        case VAR_CLASS: tc_dict_set(c, f->locals, (V)t->name, v); return;
        default:
            if (f->locals) {
                tc_dict_set(c, f->locals, (V)t->name, v);
                return;
            }
            if (c->capturing && f->fn && !f->sc->file->embedded)
                tc_raise(c, "RuntimeError", "the global %s is changed while forward is captured: pass it as an argument, or make it a buffer",
                         t->name->s);
            tc_dict_set(c, f->globals, (V)t->name, v);
            return;
        }
    }
    case N_ATTR: {
        V o = tc_eval_expr(c, f, t->a);
        f->at = t;
        tc_setattr(c, o, t->name, v);
        if (c->capturing && !f->sc->file->embedded) assigned(c, o, t->name);
        return;
    }
    case N_INDEX: {
        V o = tc_eval_expr(c, f, t->a), k = tc_eval_expr(c, f, t->b);
        f->at = t;
        tc_setitem(c, o, k, v);
        return;
    }
    case N_TUPLE:
    case N_LIST:
        f->at = t;
        unpack(c, f, t, v);
        return;
    case N_STAR: tc_store(c, f, t->a, v); return;
    default: TC_BUG("store to node %d", t->kind);
    }
}

/* Lost: of an import that failed, in a package. */
static bool is_lost(C *c, const frame *f, str *name) {
    return f->sc->kind == SC_MODULE && f->module && f->module->lost && tc_dict_gets(c, f->module->lost, name);
}

static void delete (C *c, frame *f, const ast *t) {
    f->at = t;
    switch (t->kind) {
    case N_NAME: {
        var *x = t->var;
        if (x->kind == VAR_LOCAL || x->kind == VAR_FREE) {
            V *at = x->cell ? &((cell *)f->slots[x->slot])->v : &f->slots[x->slot];
            if (!*at) tc_raise(c, "UnboundLocalError", "cannot access local variable '%s' where it is not associated with a value", t->name->s);
            *at = NULL;
        } else if (!tc_dict_del(c, f->locals ? f->locals : f->globals, (V)t->name) && !is_lost(c, f, t->name))
            tc_raise(c, "NameError", "name '%s' is not defined", t->name->s);
        return;
    }
    case N_ATTR: {
        V o = tc_eval_expr(c, f, t->a);
        f->at = t;
        tc_delattr(c, o, t->name);
        return;
    }
    case N_INDEX: {
        V o = tc_eval_expr(c, f, t->a), k = tc_eval_expr(c, f, t->b);
        f->at = t;
        tc_delitem(c, o, k);
        return;
    }
    case N_TUPLE:
    case N_LIST:
        for (int i = 0; i < t->n; i++) delete (c, f, t->list[i]);
        return;
    default: tc_raise(c, "SyntaxError", "cannot delete expression");
    }
}

static void augmented(C *c, frame *f, const ast *n) {
    const ast *t = n->a;
    if (t->kind == N_NAME) {
        V old = tc_eval_expr(c, f, t), rhs = tc_eval_expr(c, f, n->b);
        f->at = n;
        V v = tc_inplace(c, n->op, old, rhs);
        if (!c->keep || !tc_keep_retains(c, f, t, v)) tc_store(c, f, t, v);
    } else if (t->kind == N_ATTR) {
        V o = tc_eval_expr(c, f, t->a);
        f->at = t;
        V old = tc_getattr(c, o, t->name), rhs = tc_eval_expr(c, f, n->b);
        f->at = n;
        tc_setattr(c, o, t->name, tc_inplace(c, n->op, old, rhs));
        if (c->capturing && !f->sc->file->embedded) assigned(c, o, t->name);
    } else {
        V o = tc_eval_expr(c, f, t->a), k = tc_eval_expr(c, f, t->b);
        f->at = t;
        V old = tc_getitem(c, o, k), rhs = tc_eval_expr(c, f, n->b);
        f->at = n;
        tc_setitem(c, o, k, tc_inplace(c, n->op, old, rhs));
    }
}

static void annotate(C *c, frame *f, const ast *n) {
    V v = n->b ? tc_eval_expr(c, f, n->b) : NULL;
    if (v) tc_store(c, f, n->a, v);
    if (n->a->kind != N_NAME || !f->locals) return;
    dict *d = (dict *)tc_dict_gets(c, f->locals, c->n___annotations__);
    if (!d) {
        d = tc_dict(c);
        tc_dict_set(c, f->locals, (V)c->n___annotations__, (V)d);
    }
    tc_dict_set(c, d, (V)n->a->name, (V)n->name);
}

static V as_exception(C *c, V v) {
    if (tc_kind_of(v) == K_TYPE && ((type *)v)->kind == K_EXC) v = tc_call0(c, v);
    if (tc_kind_of(v) != K_EXC) tc_raise(c, "TypeError", "exceptions must derive from BaseException" TC_DETAIL ", not %s", tc_type_name(c, v));
    return v;
}

_Noreturn static void raise_statement(C *c, frame *f, const ast *n) {
    if (!n->a) {
        frame *g = f;
        while (g && !g->handling) g = g->prev;
        f->at = n;
        if (!g) tc_raise(c, "RuntimeError", "No active exception to reraise");
        tc_raise_again(c, g->handling);
    }
    V e = tc_eval_expr(c, f, n->a);
    f->at = n;
    e = as_exception(c, e);
    if (n->b) {
        V cause = tc_eval_expr(c, f, n->b);
        f->at = n;
        ((exc *)e)->cause = cause == c->none ? cause : as_exception(c, cause);
        ((exc *)e)->from = true;
    }
    ((exc *)e)->raised = !f->sc->file->embedded;
    tc_raise_value(c, e);
}

/* What `import a.b as x` binds: the attribute b of a where that is no module, as the function torch.nn.utils.spectral_norm hides its file. */
static V bound_as(C *c, frame *f, const ast *al, V whole) {
    const char *dot = al->op ? strrchr(al->name->s, '.') : NULL;
    if (!dot || tc_kind_of(whole) != K_MODULE) return whole;
    V parent = tc_import_any(c, tc_intern(c, al->name->s, (size_t)(dot - al->name->s))->s, f->sc->file, al);
    V v = tc_kind_of(parent) == K_MODULE ? tc_module_attr(c, (module *)parent, tc_intern(c, dot + 1, strlen(dot + 1))) : NULL;
    return v && tc_kind_of(v) != K_MODULE ? v : whole;
}

static void import_names(C *c, frame *f, const ast *n) {
    for (int i = 0; i < n->n; i++) {
        const ast *al = n->list[i];
        f->at = al;
        const char *bound = al->op ? al->name->s : al->a->name->s; /* import a.b binds a */
        V whole = bound_as(c, f, al, tc_import_any(c, al->name->s, f->sc->file, al));
        tc_store(c, f, al->a, !strcmp(bound, al->name->s) ? whole : tc_import_any(c, bound, f->sc->file, al));
    }
}

/* from m import *, for a file of --source or a module of Python's own: the names in its __all__, else those that do not begin with an underscore. */
static void import_all(C *c, frame *f, module *m, const char *name) {
    V all = m ? tc_dict_gets(c, m->d, tc_intern(c, "__all__", 7)) : NULL;
    const bool listed = m && (!m->embedded || all ||
                              tc_word_in(" abc bisect collections contextlib copy dataclasses enum fractions functools heapq itertools "
                                         "numbers operator random re string types ",
                                         m->name->s));
    if (!listed) tc_raise(c, "SyntaxError", "'from %s import *' is outside the model language: name what you import", name);
    if (m->lost && f->module && m != f->module) {
        if (!f->module->lost) f->module->lost = tc_dict(c);
        V key, v;
        for (size_t i = 0; tc_dict_next(m->lost, &i, &key, &v);) tc_dict_set(c, f->module->lost, key, v);
    }
    if (!all) {
        V key, v;
        for (size_t i = 0; tc_dict_next(m->d, &i, &key, &v);)
            if (tc_kind_of(key) == K_STR && tc_as_str(key)->s[0] != '_') tc_dict_set(c, f->globals, key, v);
        return;
    }
    list *names = tc_to_list(c, all);
    for (size_t i = 0; i < names->n; i++) {
        if (tc_kind_of(names->a[i]) != K_STR)
            tc_raise(c, "TypeError", "Item in %s.__all__ must be str, not %s", m->name->s, tc_type_name(c, names->a[i]));
        if (m->lost && !tc_dict_get(c, m->d, names->a[i]) && tc_dict_get(c, m->lost, names->a[i])) continue;
        V v = tc_module_attr(c, m, tc_intern_str(c, tc_as_str(names->a[i])));
        if (!v) v = (V)tc_import(c, tc_as_str(tc_strf(c, "%s.%s", m->name->s, tc_as_str(names->a[i])->s))->s, false); /* a submodule of the package */
        if (!v) tc_import_lost(c, m, tc_intern_str(c, tc_as_str(names->a[i])));
        if (!v) tc_raise(c, "AttributeError", "module '%s' has no attribute '%s'", m->name->s, tc_as_str(names->a[i])->s);
        tc_dict_set(c, f->globals, names->a[i], v);
    }
}

static void import_from(C *c, frame *f, const ast *n) {
    f->at = n;
    if (!strcmp(n->name->s, "__future__")) return;
    const char *name = tc_import_name(c, f->module, n->name->s);
    V from = *name ? tc_import_any(c, name, f->sc->file, n) : NULL; /* NULL: `from . import a, b` in the top folder of --source */
    if (n->op) import_all(c, f, from && tc_kind_of(from) == K_MODULE ? (module *)from : NULL, name);
    for (int i = 0; i < n->n; i++) {
        const ast *al = n->list[i];
        f->at = n;
        tc_store(c, f, al->a, from ? tc_import_part(c, from, al->name, f->sc->file, n) : (V)tc_import(c, al->name->s, true));
    }
}

static void import_statement(C *c, frame *f, const ast *n) {
    if (n->kind == N_FROM) import_from(c, f, n);
    else import_names(c, f, n);
}

/* The __init__.py of a package imports for all its users. What the language lacks of it, a model may not need: a name that such an import cannot bind
 * is lost, and whoever asks for it gets the error. */
static void import_or_lose(C *c, frame *f, const ast *n) {
    trap t;
    if (TC_TRAP(c, t)) {
        import_statement(c, f, n);
        tc_untrap(c, &t);
        return;
    }
    const exc *e = (exc *)c->exc;
    if (e->limit || e->raised || (c->trying && tc_exc_is(c, c->exc, "ImportError"))) tc_raise_again(c, c->exc); /* a try finds out what is there */
    str *name = n->n ? n->list[0]->a->name : tc_intern(c, "*", 1);
    if (!f->module->lost) f->module->lost = tc_dict(c);
    if (!tc_dict_gets(c, f->module->lost, name)) tc_dict_set(c, f->module->lost, (V)name, c->exc);
    tc_warn(c, tc_arena_printf(&c->arena, "%s; packages are imported without what needs this", tc_exc_line(c, c->exc)));
}

static void package_import(C *c, frame *f, const ast *n) {
    if (!n->n) import_or_lose(c, f, n);
    for (int i = 0; i < n->n; i++) {
        ast *one = tc_arena_dup(&c->arena, n, sizeof *n);
        one->list = n->list + i, one->n = 1;
        import_or_lose(c, f, one);
    }
}

static bool is_package_top(const C *c, const frame *f) { /* outside of its own try statements */
    const module *m = f->module;
    return f->sc->kind == SC_MODULE && !f->sc->file->embedded && m && m->package == m->name && c->trying == m->trying;
}

/* ---- try and with ---- */
static flow handlers(C *c, frame *f, const ast *n, V e) {
    for (int i = 0; i < n->n2; i++) {
        const ast *h = n->list2[i];
        bool match = !h->a;
        if (h->a) {
            V t = tc_eval_expr(c, f, h->a);
            f->at = h;
            match = tc_isinstance(c, e, t);
        } else match = !((exc *)e)->limit && tc_issubtype(e->type, (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "Exception", 9)));
        if (!match) continue;
        V outer = f->handling;
        f->handling = e;
        if (h->b) tc_store(c, f, h->b, e);
        flow r = block(c, f, h->list, h->n);
        f->handling = outer;
        if (h->b && r != RETURN) {
            var *x = h->b->var;
            if (x->kind == VAR_LOCAL || x->kind == VAR_FREE) {
                if (x->cell) ((cell *)f->slots[x->slot])->v = NULL;
                else f->slots[x->slot] = NULL;
            } else tc_dict_del(c, f->locals ? f->locals : f->globals, (V)h->b->name);
        }
        return r;
    }
    tc_raise_again(c, e);
}

static region *region_of(const C *c) { return c->torch ? c->torch->region : NULL; }
/* The handler of an error is captured into the enclosing graph, not into the branch or body that raised it. */
static void unwind(C *c, region *to) {
    if (c->torch) tc_torch_unwind(c, to);
}

/* A function whose try statement only raises every error again, in its own words, does not find out whether a module is there. */
static bool passes_on(const frame *f, const ast *n) {
    bool all = f->sc->kind == SC_FUNC;
    for (int i = 0; i < n->n2 && all; i++) all = n->list2[i]->n == 1 && n->list2[i]->list[0]->kind == N_RAISE;
    return all;
}

static flow try_except(C *c, frame *f, const ast *n) {
    region *const at = region_of(c);
    const V handling = f->handling;
    trap t;
    volatile flow r = ON;
    volatile bool caught = false;
    const int trying = c->trying;
    c->trying = trying + !passes_on(f, n);
    if (TC_TRAP(c, t)) {
        r = block(c, f, n->list, n->n);
        tc_untrap(c, &t);
    } else caught = true;
    c->trying = trying;
    if (caught) {
        V e = c->exc;
        if (((exc *)e)->limit) tc_raise_again(c, e);
        unwind(c, at);
        f->handling = handling; /* an error left a handler in the block */
        return handlers(c, f, n, e);
    }
    if (r == ON && n->a) return block(c, f, n->a->list, n->a->n);
    return r;
}

static flow try_statement(C *c, frame *f, const ast *n) {
    if (!n->b) return try_except(c, f, n);
    region *const at = region_of(c);
    const V handling = f->handling;
    trap t;
    volatile flow r = ON;
    V volatile err = NULL;
    if (TC_TRAP_PASSING(c, t)) {
        r = try_except(c, f, n);
        tc_untrap(c, &t);
    } else {
        err = c->exc;
        if (((exc *)err)->limit) tc_raise_again(c, err);
        unwind(c, at);
    }
    V ret = f->ret;
    f->handling = err ? err : handling;
    flow fin = block(c, f, n->b->list, n->b->n);
    f->handling = handling;
    if (fin != ON) return fin;
    if (err) tc_raise_again(c, err);
    f->ret = ret;
    return r;
}

static flow with_items(C *c, frame *f, const ast *n, int i);

static V type_method(C *c, V o, str *name) {
    V m = tc_type_lookup(c, tc_type_of(c, o), name);
    if (!m)
        tc_raise(c, "TypeError", "'%s' object does not support the context manager protocol" TC_DETAIL " (missing %s)", tc_type_name(c, o), name->s);
    return tc_bind(c, m, o, tc_type_of(c, o));
}

static flow with_items(C *c, frame *f, const ast *n, int i) {
    if (i == n->n2) return block(c, f, n->list, n->n);
    tc_stack_check(c);
    const ast *it = n->list2[i];
    V mgr = tc_eval_expr(c, f, it->a);
    f->at = it->a;
    region *const at = region_of(c);
    const V handling = f->handling;
    V enter = type_method(c, mgr, c->n___enter__), leave = type_method(c, mgr, c->n___exit__);
    V got = tc_call0(c, enter);
    trap t;
    volatile flow r = ON;
    V volatile err = NULL;
    if (TC_TRAP_PASSING(c, t)) {
        if (it->b) tc_store(c, f, it->b, got);
        r = with_items(c, f, n, i + 1);
        tc_untrap(c, &t);
    } else err = c->exc;
    V ret = f->ret;
    if (!err) {
        tc_call3(c, leave, c->none, c->none, c->none);
        f->ret = ret;
        return r;
    }
    if (((exc *)err)->limit) tc_raise_again(c, err);
    unwind(c, at);
    f->handling = err;
    V swallowed = tc_call3(c, leave, (V)err->type, err, c->none);
    f->handling = handling;
    if (!tc_truth(c, swallowed)) tc_raise_again(c, err);
    return ON;
}

/* ---- loops ---- */
/* The truth value of a condition; -1 if --keep-going should evaluate both branches. */
static int condition(C *c, V t, const char *what) {
    if (c->keep) return tc_keep_truth(c, t, what);
    return tc_kind_of(t) == K_TENSOR ? tc_tensor_truth(c, t, what) : tc_truth(c, t);
}

/* Evaluates both branches, one after the other. Leaving the loop or function takes effect only if both branches do it; inside a loop, which might
 * not end otherwise, if one does. */
static flow both_branches(C *c, frame *f, const ast *n) {
    if (!tc_keep_enter(c, n)) return ON;
    flow a = block(c, f, n->list, n->n), b = block(c, f, n->list2, n->n2);
    tc_keep_leave(c);
    if (f->loop && (a == BREAK || b == BREAK || a == RETURN || b == RETURN)) return BREAK;
    return a == ON ? ON : b;
}

static flow while_loop(C *c, frame *f, const ast *n) {
    running_loop l = {.at = n, .i = -1, .outer = f->loop};
    flow r = ON;
    for (;;) {
        f->at = n;
        tc_step(c);
        l.i++;
        f->loop = &l;
        V t = tc_eval_expr(c, f, n->a);
        f->at = n->a;
        int yes = condition(c, t, "a 'while' condition");
        if (!yes) break;
        r = block(c, f, n->list, n->n);
        f->loop = l.outer;
        if (r == BREAK || (yes < 0 && r != RETURN)) return ON;
        if (r == RETURN) return r;
    }
    f->loop = l.outer;
    return block(c, f, n->list2, n->n2);
}

static flow for_loop(C *c, frame *f, const ast *n) {
    V seq = tc_eval_expr(c, f, n->b);
    f->at = n->b;
    V it = tc_iter(c, seq);
    running_loop l = {.at = n, .i = -1, .outer = f->loop};
    for (;;) {
        f->at = n->b;
        tc_step(c);
        V v = tc_next(c, it);
        if (!v) break;
        l.i++;
        f->loop = &l;
        tc_store(c, f, n->a, v);
        flow r = block(c, f, n->list, n->n);
        f->loop = l.outer;
        if (r == BREAK) return ON;
        if (r == RETURN) return r;
    }
    return block(c, f, n->list2, n->n2);
}

/* ---- definitions ---- */
/* A function decorated by a module that the language lacks belongs to that module: using it is refused, defining it is not. */
static V decorate(C *c, frame *f, const ast *n, V *decs, V v) {
    for (int i = n->n2 - 1; i >= 0; i--) {
        f->at = n->list2[i];
        v = tc_is_outside(c, decs[i]) ? decs[i] : tc_call1(c, decs[i], v);
    }
    return v;
}

/* The missing module, or part of it, that a name with attributes (and calls) refers to; NULL: e is something else. */
static V part_of_module(C *c, frame *f, const ast *e) {
    V v = e->kind == N_NAME ? tc_eval_expr(c, f, e) : e->kind == N_ATTR || e->kind == N_CALL ? part_of_module(c, f, e->a) : NULL;
    bool is_module = v && tc_kind_of(v) == K_MODULE;
    if (!v || (!is_module && !tc_is_outside(c, v)) || (is_module && e->kind == N_CALL)) return NULL;
    return e->kind != N_ATTR ? v : is_module ? tc_module_attr(c, (module *)v, e->name) : tc_getattr(c, v, e->name);
}

static V decorator(C *c, frame *f, const ast *e) {
    V v = part_of_module(c, f, e);
    return v && tc_is_outside(c, v) ? v : tc_eval_expr(c, f, e);
}

static V *decorators(C *c, frame *f, const ast *n) {
    V *d = tc_mem(c, sizeof(V) * (size_t)(n->n2 + 1));
    for (int i = 0; i < n->n2; i++) d[i] = decorator(c, f, n->list2[i]);
    return d;
}

static void define(C *c, frame *f, const ast *n) {
    V *d = decorators(c, f, n);
    V fn = tc_eval_expr(c, f, n);
    tc_store(c, f, n->a, decorate(c, f, n, d, fn));
}

static V class_body(C *c, frame *f, const ast *n, dict *ns, V *out_cell) {
    scope *s = n->sc;
    if (c->vtop + (size_t)s->nslots > c->vcap) tc_raise_depth(c);
    V *slots = c->vstack + c->vtop;
    memset(slots, 0, sizeof(V) * (size_t)s->nslots);
    size_t vtop = c->vtop;
    c->vtop += (size_t)s->nslots;
    for (int i = 0; i < s->nfree; i++) slots[s->free[i]->slot] = f->slots[s->free[i]->from];
    if (s->class_cell) slots[s->class_cell->slot] = *out_cell = tc_cell(c, NULL);
    frame fr = {.prev = c->fr, .sc = s, .slots = slots, .globals = f->globals, .locals = ns, .module = f->module, .depth = ++c->depth};
    c->fr = &fr;
    block(c, &fr, s->body, s->nbody);
    c->fr = fr.prev;
    c->depth--;
    c->vtop = vtop;
    return (V)ns;
}

/* Operators on instances of such a class would call its method; a graph without that call would compute something else. So it has no instances. */
static void note_takes_over(C *c, type *t, dict *ns) {
    static const char *const names[] = {"__torch_function__", "__torch_dispatch__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        str *name = tc_intern(c, names[i], strlen(names[i]));
        if (tc_dict_gets(c, ns, name)) t->takes_over = name;
    }
    for (int i = 0; i < t->nbases && !t->takes_over; i++) t->takes_over = t->bases[i]->takes_over;
}

/* The bases, with those that are no classes replaced by the result of their __mro_entries__. */
static list *entries_of(C *c, const list *bases) {
    list *entries = tc_list(c, bases->n);
    V all = tc_tuple(c, bases->n, bases->a);
    for (size_t i = 0; i < bases->n; i++) {
        V b = bases->a[i], make = tc_kind_of(b) == K_OBJECT ? tc_special(c, b, c->n___mro_entries__) : NULL;
        if (make) b = tc_call2(c, make, b, all);
        if (make && tc_kind_of(b) != K_TUPLE) tc_raise(c, "TypeError", "__mro_entries__ must return a tuple");
        size_t n = 1;
        V *more = make ? tc_items(b, &n) : &b;
        for (size_t k = 0; k < n; k++) tc_list_push(c, entries, more[k]);
    }
    return entries;
}

/* The value of metaclass=. */
static type *metaclass_of(C *c, V v) {
    if (tc_kind_of(v) != K_TYPE || !tc_issubtype((type *)v, c->types[K_TYPE]))
        tc_raise(c, "SyntaxError", "a metaclass that is not a class is outside the model language");
    if (tc_type_lookup(c, (type *)v, tc_intern(c, "__prepare__", 11)))
        tc_raise(c, "SyntaxError", "a metaclass with __prepare__ is outside the model language");
    return (type *)v;
}

/* Metaclasses of a file are for what a model is built with (registries, enumerations), not for its modules. */
static void refuse_metaclass_of_module(C *c, const type *meta, const list *bases) {
    if (!meta->file || meta->file->embedded) return;
    V base = tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, "Module", 6));
    for (size_t i = 0; i < bases->n; i++)
        if (tc_issubclass(c, bases->a[i], base))
            tc_raise(c, "SyntaxError", "a module whose class has the metaclass %s is outside the model language", meta->name->s);
}

/* The class of a finished body. A metaclass of its own is called, as type is. */
static V make_class(C *c, type *meta, str *name, list *bases, dict *ns, args *kw) {
    V b = tc_tuple(c, bases->n, bases->a);
    meta = tc_metaclass(c, meta, bases->a, bases->n);
    if (!meta->user) return tc_class_make(c, meta, name, b, ns, kw);
    refuse_metaclass_of_module(c, meta, bases);
    V a[3] = {(V)name, b, (V)ns};
    return tc_call(c, (V)meta, &(args){.a = a, .n = 3, .kn = kw->kn, .kv = kw->kv, .nk = kw->nk});
}

/* The words between the parentheses of a class statement, n: its bases, its metaclass, and the other keywords. */
static void class_arguments(C *c, frame *f, const ast *n, list *bases, args *kw, type **out_meta) {
    for (int i = 0; i < n->n; i++) {
        const ast *e = n->list[i];
        if (e->kind == N_STAR) {
            list *l = tc_to_list(c, tc_eval_expr(c, f, e->a));
            for (size_t k = 0; k < l->n; k++) tc_list_push(c, bases, l->a[k]);
        } else tc_list_push(c, bases, tc_eval_expr(c, f, e));
    }
    kw->kn = tc_mem(c, sizeof(str *) * (size_t)(n->n2 + 1));
    kw->kv = tc_mem(c, sizeof(V) * (size_t)(n->n2 + 1));
    for (int i = 0; i < n->n2; i++) {
        if (!n->list2[i]->name) tc_raise(c, "TypeError", "** in the arguments of a class is outside the model language");
        V v = tc_eval_expr(c, f, n->list2[i]->a);
        if (!strcmp(n->list2[i]->name->s, "metaclass")) {
            f->at = n->list2[i];
            *out_meta = metaclass_of(c, v);
            continue;
        }
        kw->kn[kw->nk] = n->list2[i]->name;
        kw->kv[kw->nk++] = v;
    }
}
/* class P(NamedTuple): fields are the annotated names of the body, ns. */
static V named_tuple_class(C *c, str *name, dict *ns) {
    dict *ann = (dict *)tc_dict_gets(c, ns, c->n___annotations__), *defaults = tc_dict(c);
    list *fields = tc_list(c, 4);
    V k, v;
    for (size_t j = 0; ann && tc_dict_next(ann, &j, &k, &v);) {
        tc_list_push(c, fields, k);
        V def = tc_dict_get(c, ns, k);
        if (def) tc_dict_set(c, defaults, k, def);
    }
    return tc_namedtuple(c, name, defaults, tc_tuple(c, fields->n, fields->a), ns);
}
static void class_statement(C *c, frame *f, const ast *n) {
    V *d = decorators(c, f, n);
    list *bases = tc_list(c, 2);
    type *meta = NULL;
    args kw = {0};
    f->at = n->b ? n->b : n;
    if (n->b) class_arguments(c, f, n->b, bases, &kw, &meta);
    bases = entries_of(c, bases);
    dict *ns = tc_dict(c);
    ns->module = NULL;
    V cellv = NULL;
    if (f->module) tc_dict_set(c, ns, (V)c->n___module__, (V)f->module->name);
    tc_dict_set(c, ns, (V)c->n___qualname__, (V)n->sc->qualname);
    if (n->sc->doc) tc_dict_set(c, ns, (V)c->n___doc__, n->sc->doc);
    class_body(c, f, n, ns, &cellv);
    f->at = n;
    V cls = NULL;
    for (size_t i = 0; i < bases->n; i++)
        if (tc_kind_of(bases->a[i]) == K_ALIAS && !strcmp(((alias *)bases->a[i])->name->s, "NamedTuple")) cls = named_tuple_class(c, n->sc->name, ns);
    if (!cls) cls = make_class(c, meta, n->sc->name, bases, ns, &kw);
    if (tc_kind_of(cls) == K_TYPE) {
        ((type *)cls)->module_name = f->module ? f->module->name : NULL;
        ((type *)cls)->file = n->sc->file;
        note_takes_over(c, (type *)cls, ns);
    }
    if (cellv) ((cell *)cellv)->v = cls;
    tc_store(c, f, n->a, decorate(c, f, n, d, cls));
}

/* `assert` on numbers that come from data: checked in the run, and taken to hold from here on, as torch._check. */
static void assertion_on_data(C *c, frame *f, const ast *n, V cond) {
    V msg = n->b ? tc_eval_expr(c, f, n->b) : NULL;
    f->at = n;
    if (tc_sym_type(((symobj *)cond)->s) != TC_SYM_BOOL) cond = tc_sym_compare(c, '!', cond, tc_int(c, 0));
    tc_torch_calln(c, "aten::_assert_scalar", 2, cond, msg ? (V)tc_to_str(c, msg) : tc_strz(c, "AssertionError"));
}

static void assertion(C *c, frame *f, const ast *n) {
    V t = tc_eval_expr(c, f, n->a);
    f->at = n;
    if (!c->keep && !c->draft && tc_kind_of(t) == K_SYM && tc_sym_from_data(c, t)) {
        assertion_on_data(c, f, n, t);
        return;
    }
    if (!c->keep && tc_kind_of(t) == K_SYM && !tc_sym_from_data(c, t) ? tc_sym_require(c, t) : condition(c, t, "an 'assert'") != 0) return;
    V msg = n->b ? tc_eval_expr(c, f, n->b) : NULL;
    f->at = n;
    type *e = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "AssertionError", 14));
    V failed = tc_exc_new(c, e, msg ? tc_tuple(c, 1, &msg) : tc_tuple(c, 0, NULL));
    ((exc *)failed)->raised = !f->sc->file->embedded;
    tc_raise_value(c, failed);
}

static flow statement(C *c, frame *f, const ast *n) {
again:
    c->steps++; /* the limit is checked at loops and calls */
    f->at = f->statement = n;
    switch (n->kind) {
    case N_EXPR: tc_eval_expr(c, f, n->a); return ON;
    case N_ASSIGN: {
        V v = tc_eval_expr(c, f, n->b);
        for (int i = 0; i < n->n; i++)
            if (!c->keep || !tc_keep_retains(c, f, n->list[i], v)) tc_store(c, f, n->list[i], v);
        return ON;
    }
    case N_AUG: augmented(c, f, n); return ON;
    case N_ANN: annotate(c, f, n); return ON;
    case N_RETURN:
        f->sc->returned = n->a;
        f->ret = n->a ? tc_eval_expr(c, f, n->a) : c->none;
        return RETURN;
    case N_RAISE: raise_statement(c, f, n);
    case N_ASSERT: assertion(c, f, n); return ON;
    case N_DEL:
        for (int i = 0; i < n->n; i++) delete (c, f, n->list[i]);
        return ON;
    case N_PASS: return ON;
    case N_BREAK: return BREAK;
    case N_CONTINUE: return CONTINUE;
    case N_IMPORT:
    case N_FROM: (is_package_top(c, f) ? package_import : import_statement)(c, f, n); return ON;
    case N_IF: {
        V t = tc_eval_expr(c, f, n->a);
        f->at = n->a;
        int yes = condition(c, t, "a branch");
        if (yes < 0) return both_branches(c, f, n);
        if (yes) return block(c, f, n->list, n->n);
        if (n->n2 == 1 && n->list2[0]->kind == N_IF) {
            n = n->list2[0];
            goto again;
        }
        return block(c, f, n->list2, n->n2);
    }
    case N_WHILE: return while_loop(c, f, n);
    case N_FOR: return for_loop(c, f, n);
    case N_WITH: return with_items(c, f, n, 0);
    case N_TRY: return try_statement(c, f, n);
    case N_DEF: define(c, f, n); return ON;
    case N_CLASS: class_statement(c, f, n); return ON;
    default: TC_BUG("statement node %d", n->kind);
    }
}

/* With --keep-going a failing statement is reported, and the names that it binds are unknown from then on. */
static flow kept_statement(C *c, frame *f, const ast *n) {
    tc_keep_point at = tc_keep_mark(c, f);
    volatile flow r = ON;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        r = statement(c, f, n);
        tc_untrap(c, &t);
    } else if (tc_keep_failed(c, f, n, at)) r = RETURN;
    return r;
}

static flow block(C *c, frame *f, ast *const *body, int n) {
    bool keep = c->keep && !f->sc->file->embedded;
    bool timed = c->profile && !f->sc->file->embedded;
    for (int i = 0; i < n; i++) {
        if (timed) tc_profile_line(c->profile, f->sc, body[i]->line);
        flow r = keep ? kept_statement(c, f, body[i]) : statement(c, f, body[i]);
        if (r != ON) return r;
    }
    return ON;
}

V tc_run_code(C *c, frame *f) {
    if (f->sc->expr) return tc_eval_expr(c, f, f->sc->expr);
    f->ret = c->none;
    block(c, f, f->sc->body, f->sc->nbody);
    return f->ret;
}
