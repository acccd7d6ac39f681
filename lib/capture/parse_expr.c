/* Parser of expressions: precedence climbing for binary operators, one function per level above. */
#include "capture/parse.h"

#include <stdio.h>

/* A name private to its class: __x inside class K is _K__x. */
static str *private_name(parser *p, str *name) {
    const char *cls = p->cls->s;
    while (*cls == '_') cls++;
    if (!*cls || !strncmp(name->s + name->len - 2, "__", 2)) return name;
    return tc_intern_str(p->c, tc_as_str(tc_strf(p->c, "_%s%s", cls, name->s)));
}

void tc_p_next(parser *p) {
    if (p->has_ahead) p->t = p->ahead, p->has_ahead = false;
    else p->t = tc_lex(&p->lx);
    if (p->cls && p->t.kind == T_NAME && p->t.name->len > 2 && !strncmp(p->t.name->s, "__", 2)) p->t.name = private_name(p, p->t.name);
}

const token *tc_p_peek(parser *p) {
    if (!p->has_ahead) p->ahead = tc_lex(&p->lx), p->has_ahead = true;
    return &p->ahead;
}

void tc_p_fail(parser *p, const token *at, const char *fmt, ...) {
    char msg[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    tc_syntax(p->c, p->f, at->line, at->col, "%s", msg);
}

static bool is_op(const token *t, const char *op) {
    uint32_t v = 0;
    for (int i = 0; op[i] && i < 4; i++) v |= (uint32_t)(unsigned char)op[i] << (8 * i);
    return t->kind == T_OP && t->op == v;
}
bool tc_p_op(parser *p, const char *op) { return is_op(&p->t, op); }
bool tc_p_accept(parser *p, const char *op) {
    if (!tc_p_op(p, op)) return false;
    tc_p_next(p);
    return true;
}
bool tc_p_kw(parser *p, tc_keyword k) { return p->t.kind == T_KEYWORD && p->t.op == (uint32_t)k; }
bool tc_p_accept_kw(parser *p, tc_keyword k) {
    if (!tc_p_kw(p, k)) return false;
    tc_p_next(p);
    return true;
}

_Noreturn static void unexpected(parser *p, const char *wanted) {
    const token *t = &p->t;
    /* a bracket that was opened on an earlier line is the more likely mistake */
    if (p->lx.depth > 0 && !p->lx.nested && (t->kind == T_KEYWORD || t->kind == T_NAME) && t->line > p->lx.open[p->lx.depth - 1].line)
        tc_syntax(p->c, p->f, p->lx.open[p->lx.depth - 1].line, p->lx.open[p->lx.depth - 1].col, "'%c' was never closed",
                  p->lx.open[p->lx.depth - 1].ch);
    if (t->kind == T_KEYWORD && (t->op == KW_yield || t->op == KW_async || t->op == KW_await))
        tc_p_fail(p, t, "'%.*s' is outside the model language", (int)t->n, t->p);
    switch (t->kind) {
    case T_EOF:
        tc_p_fail(p, t, "invalid syntax: unexpected end of %s%s%s", p->lx.nested ? "f-string expression" : "file", *wanted ? ", expected " : "",
                  wanted);
    case T_NEWLINE: tc_p_fail(p, t, "invalid syntax: unexpected end of line%s%s", *wanted ? ", expected " : "", wanted);
    case T_INDENT: tc_p_fail(p, t, "unexpected indent");
    case T_DEDENT: tc_p_fail(p, t, "invalid syntax: unexpected end of block (dedent)");
    default: tc_p_fail(p, t, "invalid syntax: unexpected '%.*s'%s%s", (int)(t->n > 40 ? 40 : t->n), t->p, *wanted ? ", expected " : "", wanted);
    }
}

void tc_p_expect(parser *p, const char *op) {
    if (!tc_p_accept(p, op)) {
        char q[16];
        snprintf(q, sizeof q, "'%s'", op);
        unexpected(p, q);
    }
}

str *tc_p_name(parser *p) {
    if (p->t.kind != T_NAME) unexpected(p, "a name");
    str *s = p->t.name;
    tc_p_next(p);
    return s;
}

void tc_p_enter(parser *p) {
    if (++p->depth > TC_MAX_NEST) tc_p_fail(p, &p->t, "too deeply nested: the limit is %d levels", TC_MAX_NEST);
    tc_stack_check(p->c);
}

ast *tc_p_node(parser *p, ast_kind k, const token *at) {
    ast *n = tc_mem(p->c, sizeof *n);
    n->kind = (uint8_t)k, n->line = at->line, n->col = at->col;
    return n;
}

void tc_p_take(parser *p, astvec *v, ast ***out, int *n) {
    *n = (int)v->len;
    *out = tc_mem(p->c, sizeof(ast *) * (v->len + 1));
    if (v->len) memcpy(*out, v->data, sizeof(ast *) * v->len);
}

ast *tc_p_constant(parser *p, const token *at, V v) {
    ast *n = tc_p_node(p, N_CONST, at);
    n->value = v;
    return n;
}

ast *tc_p_name_node(parser *p, str *name, const token *at) {
    ast *n = tc_p_node(p, N_NAME, at);
    n->name = name;
    tc_scope_use(p->c, p->sc, n);
    return n;
}

ast *tc_p_bound_name(parser *p, str *name, const token *at) {
    ast *n = tc_p_name_node(p, name, at);
    tc_scope_bind(p->c, p->sc, name);
    return n;
}

/* ---- comprehensions ---- */
static ast *or_expr(parser *p);
/* Called after the element was parsed in the outer scope: its uses from `mark` on, and the scopes made since, are moved to the new scope. */
static ast *comprehension(parser *p, const token *at, char op, ast *elt, ast *val, size_t mark, size_t kids) {
    C *c = p->c;
    scope *outer = p->sc;
    static const char *const names[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    const char *name = names[op == 'l' ? 0 : op == 's' ? 1 : op == 'd' ? 2 : 3];
    size_t nkids = outer->kids.len;
    scope *s = tc_scope_new(c, SC_COMP, outer, p->f, tc_intern(c, name, strlen(name)), at->line, at->col);
    s->qualname = s->name;
    for (size_t i = mark; i < outer->uses.len; i++) tc_vec_push(&s->uses, outer->uses.data[i]);
    outer->uses.len = mark;
    for (size_t i = kids; i < nkids; i++) {
        outer->kids.data[i]->parent = s;
        tc_vec_push(&s->kids, outer->kids.data[i]);
    }
    outer->kids.data[kids] = s;
    outer->kids.len = kids + 1;
    ast *n = tc_p_node(p, N_COMP, at);
    n->op = (uint8_t)op, n->a = elt, n->b = val, n->sc = s;
    astvec clauses = {0};
    while (tc_p_kw(p, KW_for) || tc_p_kw(p, KW_async)) {
        if (tc_p_kw(p, KW_async)) unexpected(p, "");
        ast *fc = tc_p_node(p, N_FORCLAUSE, &p->t);
        tc_p_next(p);
        p->sc = s;
        fc->a = tc_p_targets(p);
        tc_p_bind(p, fc->a);
        if (!tc_p_accept_kw(p, KW_in)) unexpected(p, "'in'");
        p->sc = clauses.len == 0 ? outer : s;
        /* a conditional expression would consume the `if` of the clause */
        tc_p_enter(p);
        fc->b = or_expr(p);
        p->depth--;
        p->sc = s;
        astvec ifs = {0};
        while (tc_p_accept_kw(p, KW_if)) {
            ast *cond = NULL;
            if (p->t.kind == T_NAME && is_op(tc_p_peek(p), ":=")) cond = tc_p_nexpr(p);
            else cond = or_expr(p);
            tc_avec_push(p->c, &ifs, cond);
        }
        tc_p_take(p, &ifs, &fc->list, &fc->n);
        tc_avec_push(p->c, &clauses, fc);
    }
    p->sc = outer;
    tc_p_take(p, &clauses, &n->list, &n->n);
    return n;
}

/* ---- atoms ---- */
static ast *star_or_nexpr(parser *p) {
    if (tc_p_op(p, "*")) {
        ast *n = tc_p_node(p, N_STAR, &p->t);
        tc_p_next(p);
        n->a = tc_p_expr(p);
        return n;
    }
    return tc_p_nexpr(p);
}

static ast *parenthesised(parser *p) {
    token at = p->t;
    size_t mark = p->sc->uses.len, kids = p->sc->kids.len;
    tc_p_next(p);
    if (tc_p_op(p, ")")) {
        tc_p_next(p);
        ast *n = tc_p_node(p, N_TUPLE, &at);
        n->list = tc_mem(p->c, sizeof(ast *));
        return n;
    }
    if (tc_p_kw(p, KW_yield)) {
        ast *n = tc_p_yield(p);
        tc_p_expect(p, ")");
        return n;
    }
    ast *first = star_or_nexpr(p);
    if (tc_p_kw(p, KW_for) || tc_p_kw(p, KW_async)) {
        ast *n = comprehension(p, &at, 'g', first, NULL, mark, kids);
        tc_p_expect(p, ")");
        return n;
    }
    if (!tc_p_op(p, ",")) {
        if (first->kind == N_STAR) tc_p_fail(p, &at, "cannot use starred expression here");
        tc_p_expect(p, ")");
        return first;
    }
    astvec v = {0};
    tc_avec_push(p->c, &v, first);
    while (tc_p_accept(p, ",")) {
        if (tc_p_op(p, ")")) break;
        ast *e = star_or_nexpr(p);
        tc_avec_push(p->c, &v, e);
    }
    tc_p_expect(p, ")");
    ast *n = tc_p_node(p, N_TUPLE, &at);
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static ast *list_display(parser *p) {
    token at = p->t;
    size_t mark = p->sc->uses.len, kids = p->sc->kids.len;
    tc_p_next(p);
    astvec v = {0};
    if (!tc_p_op(p, "]")) {
        ast *e = star_or_nexpr(p);
        if (tc_p_kw(p, KW_for) || tc_p_kw(p, KW_async)) {
            ast *n = comprehension(p, &at, 'l', e, NULL, mark, kids);
            tc_p_expect(p, "]");
            return n;
        }
        tc_avec_push(p->c, &v, e);
        while (tc_p_accept(p, ",")) {
            if (tc_p_op(p, "]")) break;
            e = star_or_nexpr(p);
            tc_avec_push(p->c, &v, e);
        }
    }
    tc_p_expect(p, "]");
    ast *n = tc_p_node(p, N_LIST, &at);
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static ast *brace_display(parser *p) {
    token at = p->t;
    size_t mark = p->sc->uses.len, kids = p->sc->kids.len;
    tc_p_next(p);
    astvec keys = {0}, vals = {0};
    bool is_set = false;
    while (!tc_p_op(p, "}")) {
        ast *k = NULL, *v = NULL;
        if (tc_p_accept(p, "**")) {
            v = tc_p_expr(p);
        } else {
            k = star_or_nexpr(p);
            if (k->kind != N_STAR && tc_p_accept(p, ":")) v = tc_p_expr(p);
            else is_set = true;
        }
        if (keys.len == 0 && (tc_p_kw(p, KW_for) || tc_p_kw(p, KW_async))) {
            ast *n = comprehension(p, &at, v ? 'd' : 's', k, v, mark, kids);
            tc_p_expect(p, "}");
            return n;
        }
        if (is_set && v) tc_p_fail(p, &at, "invalid syntax: a display is either a set or a dict");
        if (!v && vals.len) tc_p_fail(p, &p->t, "':' expected after dictionary key");
        tc_avec_push(p->c, &keys, k);
        if (v) tc_avec_push(p->c, &vals, v);
        if (!tc_p_accept(p, ",")) break;
    }
    tc_p_expect(p, "}");
    ast *n = tc_p_node(p, is_set ? N_SET : N_DICT, &at);
    tc_p_take(p, &keys, &n->list, &n->n);
    tc_p_take(p, &vals, &n->list2, &n->n2);
    return n;
}

static ast *atom(parser *p) {
    token t = p->t;
    switch (t.kind) {
    case T_NAME: tc_p_next(p); return tc_p_name_node(p, t.name, &t);
    case T_NUMBER: return tc_p_number(p);
    case T_STRING: return tc_p_strings(p);
    case T_KEYWORD: {
        V v = t.op == KW_None ? p->c->none : t.op == KW_True ? p->c->true_ : t.op == KW_False ? p->c->false_ : NULL;
        if (!v) unexpected(p, "");
        tc_p_next(p);
        return tc_p_constant(p, &t, v);
    }
    case T_OP:
        if (tc_p_op(p, "(")) return parenthesised(p);
        if (tc_p_op(p, "[")) return list_display(p);
        if (tc_p_op(p, "{")) return brace_display(p);
        if (tc_p_accept(p, "...")) return tc_p_constant(p, &t, p->c->ellipsis);
        unexpected(p, "");
    default: unexpected(p, "an expression");
    }
}

void tc_p_call_args(parser *p, ast *call) {
    astvec pos = {0}, kw = {0};
    bool seen_kw = false;
    while (!tc_p_op(p, ")")) {
        token t = p->t;
        size_t mark = p->sc->uses.len, kids = p->sc->kids.len;
        if (tc_p_accept(p, "**")) {
            ast *k = tc_p_node(p, N_KEYWORD, &t);
            k->a = tc_p_expr(p);
            tc_avec_push(p->c, &kw, k);
        } else if (t.kind == T_NAME && is_op(tc_p_peek(p), "=")) {
            ast *k = tc_p_node(p, N_KEYWORD, &t);
            k->name = t.name;
            for (size_t i = 0; i < kw.len; i++)
                if (kw.data[i]->name == t.name) tc_p_fail(p, &t, "keyword argument repeated: %s", t.name->s);
            tc_p_next(p);
            tc_p_next(p);
            k->a = tc_p_expr(p);
            tc_avec_push(p->c, &kw, k);
            seen_kw = true;
        } else {
            ast *a = star_or_nexpr(p);
            if (tc_p_op(p, "=")) tc_p_fail(p, &t, "expression cannot contain assignment, perhaps you meant \"==\"?");
            if (a->kind != N_STAR && seen_kw) tc_p_fail(p, &t, "positional argument follows keyword argument");
            if (tc_p_kw(p, KW_for) || tc_p_kw(p, KW_async)) {
                a = comprehension(p, &t, 'g', a, NULL, mark, kids);
                if (pos.len || kw.len || !tc_p_op(p, ")")) tc_p_fail(p, &t, "Generator expression must be parenthesized");
            }
            tc_avec_push(p->c, &pos, a);
        }
        if (!tc_p_accept(p, ",")) break;
    }
    tc_p_expect(p, ")");
    tc_p_take(p, &pos, &call->list, &call->n);
    tc_p_take(p, &kw, &call->list2, &call->n2);
}

static ast *subscript(parser *p) {
    token t = p->t;
    if (tc_p_op(p, "*")) return star_or_nexpr(p);
    ast *a = tc_p_op(p, ":") ? NULL : tc_p_nexpr(p);
    if (!tc_p_op(p, ":")) return a;
    ast *n = tc_p_node(p, N_SLICE, &t);
    n->a = a;
    tc_p_next(p);
    if (!tc_p_op(p, ":") && !tc_p_op(p, "]") && !tc_p_op(p, ",")) n->b = tc_p_expr(p);
    if (tc_p_accept(p, ":") && !tc_p_op(p, "]") && !tc_p_op(p, ",")) n->c = tc_p_expr(p);
    return n;
}

static ast *primary(parser *p) {
    ast *a = atom(p);
    for (;;) {
        token t = p->t;
        if (tc_p_accept(p, ".")) {
            token at = p->t;
            ast *n = tc_p_node(p, N_ATTR, &at);
            n->name = tc_p_name(p);
            n->a = a;
            a = n;
        } else if (tc_p_accept(p, "(")) {
            ast *n = tc_p_node(p, N_CALL, &t);
            n->line = a->line, n->col = a->col;
            n->a = a;
            tc_p_call_args(p, n);
            a = n;
        } else if (tc_p_accept(p, "[")) {
            ast *n = tc_p_node(p, N_INDEX, &t);
            n->line = a->line, n->col = a->col;
            n->a = a;
            n->b = subscript(p);
            if (tc_p_op(p, ",") || n->b->kind == N_STAR) {
                astvec v = {0};
                tc_avec_push(p->c, &v, n->b);
                while (tc_p_accept(p, ",")) {
                    if (tc_p_op(p, "]")) break;
                    ast *e = subscript(p);
                    tc_avec_push(p->c, &v, e);
                }
                ast *tup = tc_p_node(p, N_TUPLE, &t);
                tc_p_take(p, &v, &tup->list, &tup->n);
                n->b = tup;
            }
            tc_p_expect(p, "]");
            a = n;
        } else return a;
    }
}

static ast *unary(parser *p);

static ast *power(parser *p) {
    ast *a = primary(p);
    token t = p->t;
    if (!tc_p_accept(p, "**")) return a;
    ast *n = tc_p_node(p, N_BINARY, &t);
    n->line = a->line, n->col = a->col;
    n->op = 'p', n->a = a, n->b = unary(p);
    return n;
}

static ast *unary(parser *p) {
    if (tc_p_op(p, "-") || tc_p_op(p, "+") || tc_p_op(p, "~")) {
        token t = p->t;
        tc_p_enter(p);
        tc_p_next(p);
        ast *n = tc_p_node(p, N_UNARY, &t);
        n->op = (uint8_t)t.op;
        n->a = unary(p);
        p->depth--;
        return n;
    }
    return power(p);
}

/* op, binding strength */
static int strength(const token *t, uint8_t *op) {
    if (t->kind != T_OP) return 0;
    switch (t->op) {
    case '|': *op = '|'; return 1;
    case '^': *op = '^'; return 2;
    case '&': *op = '&'; return 3;
    case TC_OP2('<', '<'): *op = 'l'; return 4;
    case TC_OP2('>', '>'): *op = 'r'; return 4;
    case '+':
    case '-': *op = (uint8_t)t->op; return 5;
    case '*':
    case '/':
    case '%':
    case '@': *op = (uint8_t)t->op; return 6;
    case TC_OP2('/', '/'): *op = 'f'; return 6;
    default: return 0;
    }
}

static ast *binary(parser *p, int min) {
    ast *a = unary(p);
    for (;;) {
        uint8_t op = 0;
        int s = strength(&p->t, &op);
        if (s < min || s == 0) return a;
        token t = p->t;
        tc_p_next(p);
        ast *n = tc_p_node(p, N_BINARY, &t);
        n->line = a->line, n->col = a->col;
        n->op = op, n->a = a, n->b = binary(p, s + 1);
        a = n;
    }
}

static uint8_t comparison_op(parser *p) {
    const token *t = &p->t;
    if (t->kind == T_OP) switch (t->op) {
        case '<': return '<';
        case '>': return '>';
        case TC_OP2('<', '='): return 'L';
        case TC_OP2('>', '='): return 'G';
        case TC_OP2('=', '='): return '=';
        case TC_OP2('!', '='): return '!';
        default: return 0;
        }
    if (t->kind != T_KEYWORD) return 0;
    if (t->op == KW_in) return 'i';
    if (t->op == KW_is) return 's';
    if (t->op == KW_not) {
        const token *n = tc_p_peek(p);
        if (n->kind == T_KEYWORD && n->op == KW_in) return 'I';
    }
    return 0;
}

static ast *comparison(parser *p) {
    ast *a = binary(p, 1);
    uint8_t op = comparison_op(p);
    if (!op) return a;
    ast *n = tc_p_node(p, N_COMPARE, &p->t);
    n->line = a->line, n->col = a->col;
    n->a = a;
    astvec v = {0};
    TC_VEC(char) ops = {0};
    while ((op = comparison_op(p))) {
        tc_p_next(p);
        if (op == 'I') tc_p_next(p);
        if (op == 's' && tc_p_accept_kw(p, KW_not)) op = 'S';
        tc_avec_push(p->c, &ops, (char)op);
        ast *b = binary(p, 1);
        tc_avec_push(p->c, &v, b);
    }
    tc_avec_push(p->c, &ops, 0);
    n->ops = ops.data;
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static ast *not_expr(parser *p) {
    if (!tc_p_kw(p, KW_not)) return comparison(p);
    token t = p->t;
    tc_p_enter(p);
    tc_p_next(p);
    ast *n = tc_p_node(p, N_UNARY, &t);
    n->op = 'n';
    n->a = not_expr(p);
    p->depth--;
    return n;
}

static ast *bool_level(parser *p, tc_keyword k, char op, ast *(*down)(parser *)) {
    ast *a = down(p);
    if (!tc_p_kw(p, k)) return a;
    ast *n = tc_p_node(p, N_BOOL, &p->t);
    n->line = a->line, n->col = a->col;
    n->op = (uint8_t)op;
    astvec v = {0};
    tc_avec_push(p->c, &v, a);
    while (tc_p_accept_kw(p, k)) {
        a = down(p);
        tc_avec_push(p->c, &v, a);
    }
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static ast *and_expr(parser *p) { return bool_level(p, KW_and, 'a', not_expr); }
static ast *or_expr(parser *p) { return bool_level(p, KW_or, 'o', and_expr); }

static ast *lambda(parser *p) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_LAMBDA, &t);
    scope *s = tc_scope_new(p->c, SC_LAMBDA, p->sc, p->f, tc_intern(p->c, "<lambda>", 8), t.line, t.col);
    s->qualname = tc_p_qualified(p, s->name);
    n->sc = s;
    tc_p_params(p, s, true);
    tc_p_expect(p, ":");
    scope *outer = p->sc;
    p->sc = s;
    s->expr = tc_p_expr(p);
    p->sc = outer;
    return n;
}

ast *tc_p_expr(parser *p) {
    tc_p_enter(p);
    ast *n;
    if (tc_p_kw(p, KW_lambda)) n = lambda(p);
    else {
        n = or_expr(p);
        if (tc_p_kw(p, KW_if)) {
            ast *k = tc_p_node(p, N_COND, &p->t);
            k->line = n->line, k->col = n->col;
            tc_p_next(p);
            k->b = n;
            k->a = or_expr(p);
            if (!tc_p_accept_kw(p, KW_else)) unexpected(p, "'else'");
            k->c = tc_p_expr(p);
            n = k;
        }
    }
    p->depth--;
    return n;
}

ast *tc_p_nexpr(parser *p) {
    if (p->t.kind == T_NAME && is_op(tc_p_peek(p), ":=")) {
        token t = p->t;
        ast *n = tc_p_node(p, N_WALRUS, &t);
        tc_p_next(p);
        tc_p_next(p);
        /* inside a comprehension := binds in the enclosing function */
        scope *s = p->sc, *host = s;
        while (host->kind == SC_COMP) host = host->parent;
        tc_scope_bind(p->c, host, t.name);
        if (host->kind == SC_MODULE)
            for (scope *x = s; x != host; x = x->parent) tc_scope_var(p->c, x, t.name)->is_global = true;
        n->a = tc_p_name_node(p, t.name, &t);
        n->b = tc_p_expr(p);
        return n;
    }
    return tc_p_expr(p);
}

ast *tc_p_yield(parser *p) {
    token t = p->t;
    if (p->sc->kind != SC_FUNC) tc_p_fail(p, &t, "'yield' outside function");
    tc_p_next(p);
    ast *n = tc_p_node(p, N_YIELD, &t);
    if (!p->sc->yields) p->sc->yields = n;
    if (tc_p_accept_kw(p, KW_from)) n->op = 1, n->a = tc_p_expr(p);
    else if (p->t.kind != T_NEWLINE && p->t.kind != T_EOF && !tc_p_op(p, ")") && !tc_p_op(p, ";")) n->a = tc_p_exprs(p);
    return n;
}

ast *tc_p_exprs(parser *p) {
    token t = p->t;
    ast *first = star_or_nexpr(p);
    if (!tc_p_op(p, ",")) return first;
    astvec v = {0};
    tc_avec_push(p->c, &v, first);
    while (tc_p_accept(p, ",")) {
        if (p->t.kind == T_NEWLINE || p->t.kind == T_EOF || tc_p_op(p, "=") || tc_p_op(p, ")") || tc_p_op(p, ":") || tc_p_op(p, ";") ||
            tc_p_op(p, "}"))
            break;
        ast *e = star_or_nexpr(p);
        tc_avec_push(p->c, &v, e);
    }
    ast *n = tc_p_node(p, N_TUPLE, &t);
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

ast *tc_p_targets(parser *p) {
    token t = p->t;
    astvec v = {0};
    bool comma = false;
    do {
        token at = p->t;
        bool star = tc_p_accept(p, "*");
        ast *e = binary(p, 1);
        if (star) {
            ast *s = tc_p_node(p, N_STAR, &at);
            s->a = e;
            e = s;
        }
        tc_avec_push(p->c, &v, e);
        if (!tc_p_op(p, ",")) break;
        comma = true;
        tc_p_next(p);
    } while (!tc_p_kw(p, KW_in));
    if (!comma) {
        ast *e = v.data[0];
        return e;
    }
    ast *n = tc_p_node(p, N_TUPLE, &t);
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

void tc_p_bind(parser *p, ast *n) {
    token at = {.line = n->line, .col = n->col};
    switch (n->kind) {
    case N_NAME: tc_scope_bind(p->c, p->sc, n->name); break;
    case N_ATTR:
    case N_INDEX: break;
    case N_STAR: tc_p_bind(p, n->a); break;
    case N_TUPLE:
    case N_LIST: {
        int stars = 0;
        for (int i = 0; i < n->n; i++) {
            stars += n->list[i]->kind == N_STAR;
            tc_p_bind(p, n->list[i]);
        }
        if (stars > 1) tc_p_fail(p, &at, "multiple starred expressions in assignment");
        break;
    }
    case N_CALL: tc_p_fail(p, &at, "cannot assign to function call");
    case N_CONST: {
        const bool named = n->value == p->c->none || tc_kind_of(n->value) == K_BOOL;
        tc_p_fail(p, &at, "cannot assign to %s", named ? tc_repr(p->c, n->value)->s : "literal");
    }
    default: tc_p_fail(p, &at, "cannot assign to expression");
    }
}

str *tc_p_annotation(parser *p) {
    const char *from = p->t.p;
    if (p->t.kind == T_STRING) /* a string token excludes its quotes */
        while (strchr("\"'rRuUbBfF", from[-1])) from--;
    size_t mark = p->sc->uses.len;
    tc_p_enter(p);
    const ast *n = star_or_nexpr(p);
    p->depth--;
    p->sc->uses.len = mark;
    if (n->kind == N_CONST && tc_kind_of(n->value) == K_STR) return tc_as_str(n->value);
    const char *to = p->t.p;
    while (to > from && (to[-1] == ' ' || to[-1] == '\n' || to[-1] == '\r')) to--;
    return tc_as_str(tc_strn(p->c, from, (size_t)(to - from)));
}

void tc_p_params(parser *p, scope *s, bool is_lambda) {
    C *c = p->c;
    TC_VEC(param) v = {0};
    bool star = false;
    s->vararg = s->kwarg = -1;
    s->plain_params = true;
    const char *end = is_lambda ? ":" : ")";
    while (!tc_p_op(p, end)) {
        token t = p->t;
        param x = {.kind = star ? P_KWONLY : P_POS};
        if (tc_p_accept(p, "/")) {
            if (star || v.len == 0) tc_p_fail(p, &t, "invalid syntax: '/' must come after a positional parameter");
            for (size_t i = 0; i < v.len; i++) v.data[i].kind = P_POSONLY;
            s->plain_params = false;
            if (!tc_p_accept(p, ",")) break;
            continue;
        }
        if (s->kwarg >= 0) tc_p_fail(p, &t, "arguments cannot follow **%s", v.data[s->kwarg].name->s);
        if (tc_p_accept(p, "**")) x.kind = P_KW, s->kwarg = (int)v.len;
        else if (tc_p_accept(p, "*")) {
            if (star) tc_p_fail(p, &t, "* argument may appear only once");
            star = true;
            if (tc_p_accept(p, ",")) {
                s->plain_params = false;
                if (tc_p_op(p, end)) tc_p_fail(p, &t, "named arguments must follow bare *");
                continue;
            }
            x.kind = P_VAR, s->vararg = (int)v.len;
        }
        token at = p->t;
        x.name = tc_p_name(p);
        for (size_t i = 0; i < v.len; i++)
            if (v.data[i].name == x.name) tc_p_fail(p, &at, "duplicate argument '%s' in function definition", x.name->s);
        if (!is_lambda && tc_p_accept(p, ":")) x.annotation = tc_p_annotation(p);
        if (tc_p_op(p, "=")) {
            if (x.kind == P_VAR || x.kind == P_KW) tc_p_fail(p, &p->t, "this argument cannot have a default value");
            tc_p_next(p);
            x.def = tc_p_expr(p);
        } else if (x.kind == P_POS && v.len && v.data[v.len - 1].kind <= P_POS && v.data[v.len - 1].def) {
            tc_p_fail(p, &at, "parameter without a default follows parameter with a default");
        }
        if (x.kind <= P_POS) s->npos++, s->ndefaults += x.def != NULL;
        else s->plain_params = false;
        tc_scope_bind(c, s, x.name);
        tc_avec_push(p->c, &v, x);
        if (!tc_p_accept(p, ",")) break;
    }
    s->nparams = (int)v.len;
    s->params = tc_mem(c, sizeof(param) * (v.len + 1));
    if (v.len) memcpy(s->params, v.data, sizeof(param) * v.len);
}
