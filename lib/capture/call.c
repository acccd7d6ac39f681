/* Calls: binding arguments to parameters as Python does, frames, calls of classes, and unpacking the arguments of native functions by a short spec
 * (tc_take). */
#include "capture/ast.h"
#include "capture/profile.h"

#include <stdio.h>

/* ---- natives ---- */
void tc_take(C *c, args *A, const char *fname, const char *spec, V *out) {
    int i = 0, npos = 0;
    bool kwonly = false;
    const char *p = spec;
    struct {
        const char *s;
        size_t n;
        bool opt, kw;
    } par[24];
    while (*p) {
        while (*p == ' ') p++;
        if (!*p) break;
        if (*p == '*') {
            kwonly = true, p++;
            continue;
        }
        const char *q = p;
        while (*q && *q != ' ' && *q != '=') q++;
        par[i].s = p, par[i].n = (size_t)(q - p), par[i].opt = *q == '=', par[i].kw = kwonly;
        if (*q == '=') q++;
        npos += !kwonly;
        out[i++] = NULL;
        p = q;
        TC_ASSERT(i < 24);
    }
    if (A->n > npos) tc_raise(c, "TypeError", "%s() takes at most %d positional arguments (%d given)", fname, npos, A->n);
    for (int k = 0; k < A->n; k++) out[k] = A->a[k];
    for (int k = 0; k < A->nk; k++) {
        int j = 0;
        while (j < i && !(par[j].n == A->kn[k]->len && !memcmp(par[j].s, A->kn[k]->s, par[j].n))) j++;
        if (j == i) tc_raise(c, "TypeError", "%s() got an unexpected keyword argument '%s'", fname, A->kn[k]->s);
        if (out[j]) tc_raise(c, "TypeError", "%s() got multiple values for argument '%s'", fname, A->kn[k]->s);
        out[j] = A->kv[k];
    }
    for (int j = 0; j < i; j++)
        if (!out[j] && !par[j].opt) tc_raise(c, "TypeError", "%s() missing required argument: '%.*s'", fname, (int)par[j].n, par[j].s);
}

/* ---- functions of the language ---- */
static void prepare(C *c, scope *s) {
    if (s->later.from) tc_parse_body(c, s);
    int n = 0;
    for (var *v = s->vars; v; v = v->next) n += v->cell && v->kind == VAR_LOCAL && v->slot >= 0;
    s->cells = tc_mem(c, sizeof(int) * (size_t)(n + 1));
    for (var *v = s->vars; v; v = v->next)
        if (v->cell && v->kind == VAR_LOCAL && v->slot >= 0) s->cells[s->ncells++] = v->slot;
    s->prepared = true;
}

V tc_func_new(C *c, scope *sc, frame *f, V *defaults, V *kwdefaults) {
    func *fn = tc_new(c, K_FUNC, sizeof *fn);
    fn->name = sc->name, fn->qualname = sc->qualname, fn->sc = sc, fn->globals = f->globals, fn->module = f->module;
    fn->module_name = f->module ? f->module->name : NULL;
    fn->defaults = defaults, fn->kwdefaults = kwdefaults;
    if (sc->nfree) {
        fn->cells = tc_mem(c, sizeof(V) * (size_t)sc->nfree);
        for (int i = 0; i < sc->nfree; i++) fn->cells[i] = f->slots[sc->free[i]->from];
    }
    return (V)fn;
}

/* How messages name f: what its source calls it, but an initialiser that torch's classes share under a private name (_Conv.__init__) is that of the
 * public class which PyTorch has it in. */
static const char *shown_name(C *c, const func *f, V self) {
    const type *t = self && f->sc->file->embedded && f->qualname->s[0] == '_' ? self->type : NULL;
    if (!t || strcmp(f->name->s, "__init__") != 0) return f->qualname->s;
    for (int i = 0; i < t->nmro; i++) {
        const type *base = t->mro[i];
        if (base->module_name && !strncmp(base->module_name->s, "torch.", 6) && base->name->s[0] != '_')
            return tc_arena_printf(&c->arena, "%s.__init__", base->name->s);
    }
    return f->qualname->s;
}

_Noreturn static void too_many(C *c, func *f, const args *A) {
    const char *q = shown_name(c, f, A->a[0]);
    const int given = A->n;
    const scope *s = f->sc;
    tc_buf names = {0};
    for (int i = 0; i < s->npos; i++) tc_buf_printf(&names, "%s%s", i ? ", " : "", s->params[i].name->s);
    const char *list_of = tc_arena_strndup(&c->arena, tc_buf_str(&names), names.len);
    tc_buf_free(&names);
    if (s->ndefaults)
        tc_raise(c, "TypeError", "%s() takes from %d to %d positional arguments but %d were given" TC_DETAIL ": %s", q, s->npos - s->ndefaults,
                 s->npos, given, list_of);
    tc_raise(c, "TypeError", "%s() takes %d positional argument%s but %d %s given" TC_DETAIL "%s%s", q, s->npos, s->npos == 1 ? "" : "s", given,
             given == 1 ? "was" : "were", *list_of ? ": " : "", list_of);
}

_Noreturn static void missing(C *c, func *f, V *slots) {
    const scope *s = f->sc;
    tc_buf b = {0};
    const char **lacking = tc_mem(c, sizeof *lacking * (size_t)s->nparams);
    int n = 0;
    bool kw = false;
    for (int i = 0; i < s->nparams; i++) {
        const param *p = &s->params[i];
        if (p->kind == P_VAR || p->kind == P_KW || slots[p->var->slot]) continue;
        if (p->kind == P_KWONLY && n && !kw) break; /* positional parameters are reported first */
        if (p->kind == P_KWONLY) kw = true;
        lacking[n++] = p->name->s;
    }
    for (int i = 0; i < n; i++) /* 'a'; 'a' and 'b'; 'a', 'b', and 'c' */
        tc_buf_printf(&b, "%s%s'%s'", i && n > 2 ? "," : "", !i ? "" : i < n - 1 ? " " : " and ", lacking[i]);
    const char *names = tc_arena_strndup(&c->arena, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    const V self = s->npos ? slots[s->params[0].var->slot] : NULL;
    tc_raise(c, "TypeError", "%s() missing %d required %s argument%s: %s", shown_name(c, f, self), n, kw ? "keyword-only" : "positional",
             n == 1 ? "" : "s", names);
}

static void bind(C *c, func *f, args *A, V *slots) {
    const scope *s = f->sc;
    int npos = s->npos, given = A->n;
    int take = given < npos ? given : npos;
    for (int i = 0; i < take; i++) slots[s->params[i].var->slot] = A->a[i];
    if (s->vararg >= 0)
        slots[s->params[s->vararg].var->slot] = tc_tuple(c, given > npos ? (size_t)(given - npos) : 0, A->a + (given > npos ? npos : given));
    else if (given > npos) too_many(c, f, A);
    dict *extra = NULL;
    if (s->kwarg >= 0) {
        extra = tc_dict(c);
        slots[s->params[s->kwarg].var->slot] = (V)extra;
    }
    for (int k = 0; k < A->nk; k++) {
        int i = 0;
        for (; i < s->nparams; i++)
            if (s->params[i].name == A->kn[k] && (s->params[i].kind == P_POS || s->params[i].kind == P_KWONLY)) break;
        if (i == s->nparams) {
            if (!extra) {
                for (int j = 0; j < s->nparams; j++)
                    if (s->params[j].name == A->kn[k] && s->params[j].kind == P_POSONLY)
                        tc_raise(c, "TypeError", "%s() got some positional-only arguments passed as keyword arguments: '%s'", f->qualname->s,
                                 A->kn[k]->s);
                tc_raise_missing(c, (V)f, A->kn[k], "TypeError", "%s() got an unexpected keyword argument '%s'",
                                 shown_name(c, f, A->n ? A->a[0] : NULL), A->kn[k]->s);
            }
            tc_dict_set(c, extra, (V)A->kn[k], A->kv[k]);
            continue;
        }
        V *at = &slots[s->params[i].var->slot];
        if (*at) tc_raise(c, "TypeError", "%s() got multiple values for argument '%s'", f->qualname->s, A->kn[k]->s);
        *at = A->kv[k];
    }
    int first_default = npos - s->ndefaults;
    bool lacks = false;
    for (int i = 0, ko = 0; i < s->nparams; i++) {
        const param *p = &s->params[i];
        if (p->kind == P_KWONLY) {
            V d = p->def ? f->kwdefaults[ko++] : NULL;
            if (!slots[p->var->slot]) slots[p->var->slot] = d;
            lacks |= !slots[p->var->slot];
        } else if (p->kind <= P_POS && !slots[p->var->slot]) {
            if (i >= first_default) slots[p->var->slot] = f->defaults[i - first_default];
            else lacks = true;
        }
    }
    if (lacks) missing(c, f, slots);
}

static V func_call(C *c, func *f, args *A) {
    scope *s = f->sc;
    if (!s->prepared) prepare(c, s);
    tc_step(c);
    tc_stack_check(c);
    if (c->depth >= c->max_depth) tc_raise_depth(c);
    if (c->vtop + (size_t)s->nslots > c->vcap) tc_raise_depth(c);
    V *slots = c->vstack + c->vtop;
    memset(slots, 0, sizeof(V) * (size_t)s->nslots);
    size_t vtop = c->vtop;
    c->vtop += (size_t)s->nslots;
    c->blame = s;
    if (s->plain_params && A->nk == 0 && A->n == s->npos) {
        for (int i = 0; i < A->n; i++) slots[s->params[i].var->slot] = A->a[i];
    } else bind(c, f, A, slots);
    for (int i = 0; i < s->ncells; i++) slots[s->cells[i]] = tc_cell(c, slots[s->cells[i]]);
    for (int i = 0; i < s->nfree; i++) slots[s->free[i]->slot] = f->cells[i];
    frame fr = {.prev = c->fr, .sc = s, .slots = slots, .globals = f->globals, .module = f->module, .fn = f, .depth = c->depth + 1};
    if (s->yields) {
        c->vtop = vtop;
        if (s->yields->kind == N_DEF)
            tc_syntax(c, s->file, s->yields->line, s->yields->col, "'async' is outside the model language: %s() is a coroutine", s->qualname->s);
        if (c->capturing && !s->file->embedded &&
            !tc_is_embedded(c)) /* contextlib may use generators: `with` of a function with one yield is supported */
            tc_syntax(c, s->file, s->yields->line, s->yields->col, "'yield' is outside the model language in forward: %s() is a generator",
                      s->qualname->s);
        return tc_generator_new(c, fr);
    }
    c->depth++;
    c->fr = &fr;
    tc_profile_row *caller = c->profile ? tc_profile_here(c->profile) : NULL;
    V r = tc_run_code(c, &fr);
    if (caller) tc_profile_back(c->profile, caller);
    c->fr = fr.prev;
    c->depth--;
    c->vtop = vtop;
    return r;
}

V tc_func_signature(C *c, func *f) {
    list *l = tc_list(c, 4);
    int nd = 0, nk = 0;
    for (int i = 0; i < f->sc->nparams; i++) {
        const param *p = &f->sc->params[i];
        V d = !p->def ? c->ellipsis : p->kind == P_KWONLY ? f->kwdefaults[nk++] : f->defaults[nd++];
        tc_list_push(c, l, tc_tuple_of(c, 3, (V)p->name, tc_int(c, (int64_t)p->kind), d));
    }
    return (V)l;
}

/* ---- classes ---- */
static V type_call(C *c, type *t, args *A) {
    V m = t->h.type->user ? tc_special(c, (V)t, c->n___call__) : NULL;
    return m ? tc_call(c, tc_method(c, m, (V)t), A) : tc_instantiate(c, t, A);
}

void tc_refuse_taking_over(C *c, const type *t) {
    if (t->takes_over)
        tc_raise(c, "NotImplementedError", "class %s defines %s, which is not part of the model language", t->name->s, t->takes_over->s);
}

V tc_instantiate(C *c, type *t, args *A) {
    tc_stack_check(c);
    tc_refuse_taking_over(c, t);
    V nw = tc_type_lookup(c, t, c->n___new__), in = tc_type_lookup(c, t, c->n___init__);
    if (!nw) tc_raise(c, "TypeError", "cannot create '%s' instances", t->name->s);
    if (tc_kind_of(nw) == K_STATIC) nw = ((wrapper *)nw)->f;
    V small[9], *a = A->n < 8 ? small : tc_mem(c, sizeof(V) * (size_t)(A->n + 1));
    a[0] = (V)t;
    if (A->n) memcpy(a + 1, A->a, sizeof(V) * (size_t)A->n);
    args B = *A;
    B.a = a, B.n = A->n + 1;
    bool object_new = nw == tc_dict_gets(c, c->types[K_OBJECT]->d, c->n___new__);
    if (object_new && (t->kind == K_OBJECT)) {
        obj *o = tc_mem(c, sizeof *o);
        o->type = t;
        a[0] = o;
    } else a[0] = tc_call(c, nw, &B);
    if (!t->user && t->kind != K_EXC) return a[0];
    if (!tc_issubtype(tc_type_of(c, a[0]), t)) return a[0];
    bool object_init = in && tc_kind_of(in) == K_NATIVE && in == tc_dict_gets(c, c->types[K_OBJECT]->d, c->n___init__);
    if (object_init && !object_new) return a[0];
    if (in) {
        if (tc_kind_of(in) == K_FUNC) {
            V r = func_call(c, (func *)in, &B);
            if (r != c->none) tc_raise(c, "TypeError", "__init__() should return None, not '%s'", tc_type_name(c, r));
        } else tc_call(c, in, &B);
    }
    return a[0];
}

V tc_call(C *c, V f, args *A) {
    if (tc_is_small(f)) tc_raise(c, "TypeError", "'int' object is not callable");
    switch (f->type->kind) {
    case K_FUNC: return func_call(c, (func *)f, A);
    case K_NATIVE: {
        c->steps++;
        tc_stack_check(c);
        native *n = (native *)f;
        return n->fn(c, A);
    }
    case K_METHOD: {
        method *m = (method *)f;
        V small[9], *a = A->n < 8 ? small : tc_mem(c, sizeof(V) * (size_t)(A->n + 1));
        a[0] = m->self;
        if (A->n) memcpy(a + 1, A->a, sizeof(V) * (size_t)A->n);
        args B = {a, A->n + 1, A->kn, A->kv, A->nk};
        return tc_call(c, m->func, &B);
    }
    case K_TYPE: return type_call(c, (type *)f, A);
    case K_OPFN: c->steps++; return tc_op_call(c, f, A);
    case K_STATIC:
    case K_CLASSM: return tc_call(c, ((wrapper *)f)->f, A);
    case K_ALIAS:
        if (tc_kind_of(((alias *)f)->origin) == K_TYPE) return tc_call(c, ((alias *)f)->origin, A);
        break;
    default: {
        V m = tc_special(c, f, c->n___call__);
        if (m) {
            V small[9], *a = A->n < 8 ? small : tc_mem(c, sizeof(V) * (size_t)(A->n + 1));
            a[0] = f;
            if (A->n) memcpy(a + 1, A->a, sizeof(V) * (size_t)A->n);
            args B = {a, A->n + 1, A->kn, A->kv, A->nk};
            return tc_call(c, m, &B);
        }
    }
    }
    tc_raise(c, "TypeError", "'%s' object is not callable", tc_type_name(c, f));
}

V tc_call0(C *c, V f) {
    args A = {0};
    return tc_call(c, f, &A);
}
V tc_call1(C *c, V f, V a) {
    V v[1] = {a};
    args A = {.a = v, .n = 1};
    return tc_call(c, f, &A);
}
V tc_call2(C *c, V f, V a, V b) {
    V v[2] = {a, b};
    args A = {.a = v, .n = 2};
    return tc_call(c, f, &A);
}
V tc_call3(C *c, V f, V a, V b, V d) {
    V v[3] = {a, b, d};
    args A = {.a = v, .n = 3};
    return tc_call(c, f, &A);
}

V tc_call_method(C *c, V o, str *name, int n, V *a) {
    V f = tc_getattr(c, o, name);
    args A = {.a = a, .n = n};
    return tc_call(c, f, &A);
}
