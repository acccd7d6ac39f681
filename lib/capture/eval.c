/* Evaluates expressions by walking the syntax tree. Each function evaluates one kind of node, left to right as Python does. */
#include "capture/keep_going.h"

static V name_value(C *c, frame *f, const ast *n) {
    var *v = n->var;
    V x;
    switch (v->kind) {
    case VAR_LOCAL:
    case VAR_FREE:
        x = f->slots[v->slot];
        if (v->cell && x) x = ((cell *)x)->v;
        if (x) return x;
        f->at = n;
        if (v->kind == VAR_FREE)
            tc_raise(c, "NameError", "cannot access free variable '%s' where it is not associated with a value in enclosing scope", n->name->s);
        tc_raise(c, "UnboundLocalError", "cannot access local variable '%s' where it is not associated with a value", n->name->s);
    case VAR_CLASS:
        if (f->locals && (x = tc_dict_gets(c, f->locals, n->name))) return x;
        if (v->outer && v->outer->slot >= 0) {
            x = f->slots[v->outer->slot];
            if (x && (x = ((cell *)x)->v)) return x;
        }
        break;
    default: break;
    }
    x = tc_dict_gets(c, f->globals, n->name);
    if (!x) x = tc_dict_gets(c, c->builtins, n->name);
    if (x) return x;
    f->at = n;
    if (f->sc->file->embedded && (x = tc_dict_gets(c, tc_module(c, "_lang")->d, n->name))) return x; /* __import__ in the library's own sources */
    static const char *const gone[] = {"open", "exec", "eval", "__builtins__", "compile", "input", "breakpoint"};
    static const char *const foreign[] = {"bytes", "bytearray", "memoryview"}; /* built-in types that the language lacks */
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(foreign[i], n->name->s)) return tc_module_attr(c, tc_import(c, "_foreign", true), n->name);
    if (!strcmp(n->name->s, "__import__")) return tc_module_attr(c, tc_import(c, "importlib", true), tc_intern(c, "_builtin", 8));
    if (!strcmp(n->name->s, "open") && tc_is_loading(c)) return tc_lacking(c, "open", "a builtin");
    if (!strcmp(n->name->s, "b''")) return tc_lacking(c, "bytes", "a builtin");
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (!strcmp(gone[i], n->name->s)) tc_raise(c, "NameError", "'%s' is not part of the model language", n->name->s);
    tc_import_lost(c, f->module, n->name);
    tc_raise_missing(c, NULL, n->name, "NameError", "name '%s' is not defined", n->name->s);
}

/* Appends the elements of a display or the positional arguments, stars expanded. */
static void elements(C *c, frame *f, const ast *n, list *out) {
    for (int i = 0; i < n->n; i++) {
        const ast *e = n->list[i];
        if (e->kind == N_STAR) {
            V s = tc_eval_expr(c, f, e->a);
            f->at = e;
            list *l = tc_to_list(c, s);
            for (size_t k = 0; k < l->n; k++) tc_list_push(c, out, l->a[k]);
        } else tc_list_push(c, out, tc_eval_expr(c, f, e));
    }
}

static bool has_star(const ast *n) {
    for (int i = 0; i < n->n; i++)
        if (n->list[i]->kind == N_STAR) return true;
    return false;
}

static V tuple_display(C *c, frame *f, const ast *n) {
    if (!has_star(n)) {
        V small[8], *a = n->n <= 8 ? small : tc_mem(c, sizeof(V) * (size_t)n->n);
        for (int i = 0; i < n->n; i++) a[i] = tc_eval_expr(c, f, n->list[i]);
        return tc_tuple(c, (size_t)n->n, a);
    }
    list *l = tc_list(c, (size_t)n->n);
    elements(c, f, n, l);
    return tc_tuple(c, l->n, l->a);
}

static V dict_display(C *c, frame *f, const ast *n) {
    dict *d = tc_dict(c);
    for (int i = 0; i < n->n; i++) {
        if (!n->list[i]) {
            V m = tc_eval_expr(c, f, n->list2[i]);
            f->at = n->list2[i];
            const dict *from = tc_mapping(c, m);
            if (!from) tc_raise(c, "TypeError", "'%s' object is not a mapping", tc_type_name(c, m));
            V k, v;
            for (size_t j = 0; tc_dict_next(from, &j, &k, &v);) tc_dict_set(c, d, k, v);
            continue;
        }
        V k = tc_eval_expr(c, f, n->list[i]), v = tc_eval_expr(c, f, n->list2[i]);
        f->at = n->list[i];
        tc_dict_set(c, d, k, v);
    }
    return (V)d;
}

typedef TC_VEC(str *) names;
typedef TC_VEC(V) values;

/* **v: adds its items as keywords. */
static void spread_keywords(C *c, V v, names *to, values *of) {
    const dict *from = tc_mapping(c, v);
    if (!from) tc_raise(c, "TypeError", "argument after ** must be a mapping, not %s", tc_type_name(c, v));
    V k, x;
    for (size_t j = 0; tc_dict_next(from, &j, &k, &x);) {
        if (tc_kind_of(k) != K_STR) tc_raise(c, "TypeError", "keywords must be strings");
        str *name = tc_intern_str(c, tc_as_str(k));
        for (size_t m = 0; m < to->len; m++)
            if (to->data[m] == name) tc_raise(c, "TypeError", "got multiple values for keyword argument '%s'", name->s);
        tc_avec_push(c, to, name);
        tc_avec_push(c, of, x);
    }
}

enum { FEW = 8 }; /* up to this many arguments need no allocation */

/* The keywords of call n. If there are few and no **, they are stored in A->kn and A->kv directly. */
static void keywords(C *c, frame *f, const ast *n, args *A) {
    names to = {0};
    values of = {0};
    bool plain = n->n2 <= FEW;
    for (int i = 0; i < n->n2; i++) plain = plain && n->list2[i]->name;
    if (plain) {
        for (int i = 0; i < n->n2; i++) A->kn[i] = n->list2[i]->name, A->kv[i] = tc_eval_expr(c, f, n->list2[i]->a);
        A->nk = n->n2;
        return;
    }
    for (int i = 0; i < n->n2; i++) {
        V v = tc_eval_expr(c, f, n->list2[i]->a);
        if (!n->list2[i]->name) {
            f->at = n->list2[i];
            spread_keywords(c, v, &to, &of);
            continue;
        }
        tc_avec_push(c, &to, n->list2[i]->name);
        tc_avec_push(c, &of, v);
    }
    A->kn = to.data, A->kv = of.data, A->nk = (int)to.len;
}

static V call_node(C *c, frame *f, const ast *n) {
    V small[FEW], *pos = small, self = NULL, fn;
    int off = 0;
    const ast *callee = n->a;
    /* o.name(...): calls the method with its object, without making a bound method */
    if (callee->kind == N_ATTR) {
        V o = tc_eval_expr(c, f, callee->a);
        f->at = callee;
        fn = NULL;
        if (!tc_is_small(o) && o->type->kind != K_TYPE && o->type->kind != K_MODULE && o->type->kind != K_SUPER && o->type->kind != K_TENSOR &&
            !(o->attrs && tc_dict_gets(c, o->attrs, callee->name))) {
            V a = tc_type_lookup(c, o->type, callee->name);
            if (a && (tc_kind_of(a) == K_FUNC || tc_kind_of(a) == K_NATIVE)) fn = a, self = o;
        }
        if (!fn) fn = c->keep && !f->sc->file->embedded ? tc_keep_getattr(c, o, callee->name) : tc_getattr(c, o, callee->name);
    } else fn = tc_eval_expr(c, f, callee);
    if (self) off = 1;
    int np;
    if (has_star(n)) {
        list *l = tc_list(c, (size_t)n->n);
        if (self) tc_list_push(c, l, self);
        elements(c, f, n, l);
        pos = l->a, np = (int)l->n;
    } else {
        np = n->n + off;
        if (np > FEW) pos = tc_mem(c, sizeof(V) * (size_t)np);
        if (self) pos[0] = self;
        for (int i = 0; i < n->n; i++) pos[i + off] = tc_eval_expr(c, f, n->list[i]);
    }
    str *kn[FEW];
    V kv[FEW];
    args A = {.a = pos, .n = np, .kn = kn, .kv = kv};
    if (n->n2) keywords(c, f, n, &A);
    f->at = n;
    return tc_call(c, fn, &A);
}

static V compare_node(C *c, frame *f, const ast *n) {
    V left = tc_eval_expr(c, f, n->a), r = NULL;
    for (int i = 0; i < n->n; i++) {
        V right = tc_eval_expr(c, f, n->list[i]);
        f->at = n;
        switch (n->ops[i]) {
        case 'i': r = tc_bool(c, tc_contains(c, right, left)); break;
        case 'I': r = tc_bool(c, !tc_contains(c, right, left)); break;
        case 's': tc_known(c, left), tc_known(c, right), r = tc_bool(c, tc_same(left, right)); break;
        case 'S': r = tc_bool(c, !tc_same(left, right)); break;
        default: r = tc_rich(c, n->ops[i], left, right);
        }
        if (i + 1 < n->n && !tc_truth(c, r)) return r;
        left = right;
    }
    return r;
}

static V fstring(C *c, frame *f, const ast *n) {
    list *parts = tc_list(c, (size_t)n->n);
    for (int i = 0; i < n->n; i++) {
        const ast *p = n->list[i];
        if (p->kind == N_CONST) {
            tc_list_push(c, parts, p->value);
            continue;
        }
        V v = tc_eval_expr(c, f, p->a);
        V sp = p->b ? fstring(c, f, p->b) : NULL;
        f->at = p;
        if (p->op == 's') v = (V)tc_to_str(c, v);
        else if (p->op == 'a') v = tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "ascii", 5)), v);
        else if (p->op) v = (V)tc_repr(c, v);
        tc_list_push(c, parts, (V)tc_format_value(c, v, sp ? tc_as_str(sp)->s : "", sp ? tc_as_str(sp)->len : 0));
    }
    size_t total = 0;
    for (size_t i = 0; i < parts->n; i++) total += tc_as_str(parts->a[i])->len;
    tc_memory_check(c, total);
    tc_buf b = {0};
    for (size_t i = 0; i < parts->n; i++) tc_buf_append(&b, tc_as_str(parts->a[i])->s, tc_as_str(parts->a[i])->len);
    return tc_buf_to_str(c, &b);
}

static V function(C *c, frame *f, scope *s) {
    V *defs = s->ndefaults ? tc_mem(c, sizeof(V) * (size_t)s->ndefaults) : NULL, *kw = NULL;
    int nd = 0, nk = 0, total = 0;
    for (int i = 0; i < s->nparams; i++) total += s->params[i].kind == P_KWONLY;
    if (total) kw = tc_mem(c, sizeof(V) * (size_t)total);
    for (int i = 0; i < s->nparams; i++) {
        const param *p = &s->params[i];
        if (!p->def) continue;
        V v = tc_eval_expr(c, f, p->def);
        if (p->kind == P_KWONLY) kw[nk++] = v;
        else defs[nd++] = v;
    }
    return tc_func_new(c, s, f, defs, kw);
}

static V slice_part(C *c, frame *f, const ast *n) { return n ? tc_eval_expr(c, f, n) : c->none; }

V tc_eval_expr(C *c, frame *f, const ast *n) {
    if (__builtin_expect(c->keep != NULL, 0) && !f->sc->file->embedded) return tc_keep_eval(c, f, n);
    return tc_eval_node(c, f, n);
}

static V list_display(C *c, frame *f, const ast *n) {
    list *l = tc_list(c, (size_t)n->n);
    elements(c, f, n, l);
    return (V)l;
}

static V set_display(C *c, frame *f, const ast *n) {
    list *l = (list *)list_display(c, f, n);
    set *s = tc_set(c, false);
    f->at = n;
    for (size_t i = 0; i < l->n; i++) tc_dict_set(c, s->d, l->a[i], c->none);
    return (V)s;
}

static V unary_node(C *c, frame *f, const ast *n) {
    V a = tc_eval_expr(c, f, n->a);
    f->at = n;
    if (n->op != 'n') return tc_unary(c, n->op, a);
    return tc_kind_of(a) == K_SYM ? tc_sym_unary(c, 'n', a) : tc_bool(c, !tc_truth(c, a));
}

/* a and b and ..., a or b or ...: the first operand that decides, or the last one. */
static V bool_node(C *c, frame *f, const ast *n) {
    V a = NULL;
    for (int i = 0; i < n->n; i++) {
        a = tc_eval_expr(c, f, n->list[i]);
        if (i + 1 == n->n) break;
        f->at = n->list[i];
        const bool truth = tc_kind_of(a) == K_TENSOR ? tc_tensor_truth(c, a, n->op == 'a' ? "'and'" : "'or'") : tc_truth(c, a);
        if (truth == (n->op == 'o')) break;
    }
    return a;
}

V tc_eval_node(C *c, frame *f, const ast *n) {
    tc_stack_check(c);
    switch (n->kind) {
    case N_CONST: return n->value;
    case N_NAME: return name_value(c, f, n);
    case N_TUPLE: return tuple_display(c, f, n);
    case N_LIST: return list_display(c, f, n);
    case N_SET: return set_display(c, f, n);
    case N_DICT: return dict_display(c, f, n);
    case N_BINARY: {
        V a = tc_eval_expr(c, f, n->a), b = tc_eval_expr(c, f, n->b);
        f->at = n;
        return tc_binary(c, n->op, a, b);
    }
    case N_UNARY: return unary_node(c, f, n);
    case N_BOOL: return bool_node(c, f, n);
    case N_COMPARE: return compare_node(c, f, n);
    case N_COND: {
        V t = tc_eval_expr(c, f, n->a);
        f->at = n->a;
        return tc_eval_expr(c, f, tc_truth(c, t) ? n->b : n->c);
    }
    case N_LAMBDA: return function(c, f, n->sc);
    case N_CALL: return call_node(c, f, n);
    case N_ATTR: {
        V o = tc_eval_expr(c, f, n->a);
        f->at = n;
        return tc_getattr(c, o, n->name);
    }
    case N_INDEX: {
        V o = tc_eval_expr(c, f, n->a), k = tc_eval_expr(c, f, n->b);
        f->at = n;
        return tc_getitem(c, o, k);
    }
    case N_SLICE: {
        V a = slice_part(c, f, n->a), b = slice_part(c, f, n->b);
        return tc_slice(c, a, b, slice_part(c, f, n->c));
    }
    case N_STAR: f->at = n; tc_raise(c, "SyntaxError", "can't use starred expression here");
    case N_WALRUS: {
        V v = tc_eval_expr(c, f, n->b);
        tc_store(c, f, n->a, v);
        return v;
    }
    case N_COMP: return tc_genexpr(c, f, n);
    case N_FSTRING: return fstring(c, f, n);
    case N_DEF: return function(c, f, n->sc);
    case N_YIELD: return tc_yield(c, f, n);
    default: TC_BUG("expression node %d", n->kind);
    }
}
