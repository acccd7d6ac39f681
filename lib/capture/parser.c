/* Parser of statements and files. Python syntax that the model language lacks is refused by name. */
#include "capture/keep_going.h"
#include "capture/parse.h"

static void block(parser *p, ast ***out, int *n);

static void end_simple(parser *p) {
    if (p->t.kind == T_EOF) return;
    if (p->t.kind != T_NEWLINE) {
        if (p->t.kind == T_OP && p->t.op == TC_OP1(':')) tc_p_fail(p, &p->t, "invalid syntax: unexpected ':'");
        tc_p_expect(p, "end of line");
    }
    tc_p_next(p);
}

static bool augmented(const token *t, uint8_t *op) {
    static const struct {
        const char *text;
        char op;
    } table[] = {{"+=", '+'},  {"-=", '-'},  {"*=", '*'},  {"/=", '/'}, {"//=", 'f'}, {"%=", '%'}, {"@=", '@'},
                 {"**=", 'p'}, {"<<=", 'l'}, {">>=", 'r'}, {"&=", '&'}, {"|=", '|'},  {"^=", '^'}};
    if (t->kind != T_OP) return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (t->n == strlen(table[i].text) && !memcmp(t->p, table[i].text, t->n)) return *op = (uint8_t)table[i].op, true;
    return false;
}

static ast *expression_statement(parser *p) {
    token t = p->t;
    ast *first = tc_p_exprs(p);
    uint8_t op;
    if (tc_p_op(p, ":")) {
        if (first->kind == N_CALL && first->a->kind == N_NAME && !strcmp(first->a->name->s, "match"))
            tc_p_fail(p, &t, "'match' is outside the model language");
        if (first->kind != N_NAME && first->kind != N_ATTR && first->kind != N_INDEX) tc_p_fail(p, &p->t, "invalid syntax: unexpected ':'");
        tc_p_next(p);
        ast *n = tc_p_node(p, N_ANN, &t);
        n->name = tc_p_annotation(p);
        n->a = first;
        tc_p_bind(p, first);
        if (tc_p_accept(p, "=")) n->b = tc_p_exprs(p);
        return n;
    }
    if (augmented(&p->t, &op)) {
        ast *n = tc_p_node(p, N_AUG, &t);
        if (first->kind != N_NAME && first->kind != N_ATTR && first->kind != N_INDEX)
            tc_p_fail(p, &t, "cannot assign: illegal target for augmented assignment");
        tc_p_next(p);
        n->op = op, n->a = first;
        tc_p_bind(p, first);
        n->b = tc_p_exprs(p);
        return n;
    }
    if (!tc_p_op(p, "=")) {
        ast *n = tc_p_node(p, N_EXPR, &t);
        n->a = first;
        return n;
    }
    ast *n = tc_p_node(p, N_ASSIGN, &t);
    astvec targets = {0};
    ast *value = first;
    while (tc_p_accept(p, "=")) {
        if (value->kind == N_STAR) tc_p_fail(p, &t, "cannot assign: starred assignment target must be in a list or tuple");
        tc_p_bind(p, value);
        tc_avec_push(p->c, &targets, value);
        value = tc_p_kw(p, KW_yield) ? tc_p_yield(p) : tc_p_exprs(p);
    }
    n->b = value;
    tc_p_take(p, &targets, &n->list, &n->n);
    return n;
}

/* a then b, allocated in the context's arena because errors leave from any depth. */
static str *joined(parser *p, const str *a, const char *b, size_t n) {
    char *text = tc_mem(p->c, a->len + n + 1);
    memcpy(text, a->s, a->len);
    memcpy(text + a->len, b, n);
    return tc_intern(p->c, text, a->len + n);
}
static str *dotted(parser *p, str *before) {
    for (;;) {
        str *s = tc_p_name(p);
        before = joined(p, before, s->s, s->len);
        if (!tc_p_op(p, ".")) return before;
        tc_p_next(p);
        before = joined(p, before, ".", 1);
    }
}

static ast *import_statement(parser *p) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_IMPORT, &t);
    astvec v = {0};
    do {
        token at = p->t;
        ast *al = tc_p_node(p, N_ALIAS, &at);
        al->name = dotted(p, tc_intern(p->c, "", 0));
        if (tc_p_accept_kw(p, KW_as)) {
            token as = p->t;
            al->a = tc_p_bound_name(p, tc_p_name(p), &as);
            al->op = 1; /* binds the module itself, not its first part */
        } else {
            const char *dot = strchr(al->name->s, '.');
            str *first = dot ? tc_intern(p->c, al->name->s, (size_t)(dot - al->name->s)) : al->name;
            al->a = tc_p_bound_name(p, first, &at);
        }
        tc_avec_push(p->c, &v, al);
    } while (tc_p_accept(p, ","));
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static ast *from_statement(parser *p) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_FROM, &t);
    n->name = tc_intern(p->c, "", 0);
    while (tc_p_op(p, ".") || tc_p_op(p, "...")) {
        n->name = joined(p, n->name, "...", tc_p_op(p, ".") ? 1 : 3);
        tc_p_next(p);
    }
    if (p->t.kind == T_NAME) n->name = dotted(p, n->name);
    if (!tc_p_accept_kw(p, KW_import)) tc_p_expect(p, "import");
    if (tc_p_accept(p, "*")) {
        if (p->sc->kind != SC_MODULE) tc_p_fail(p, &t, "import * only allowed at module level");
        n->op = 1; /* all public names of the module */
        return n;
    }
    bool paren = tc_p_accept(p, "(");
    astvec v = {0};
    do {
        if (paren && tc_p_op(p, ")")) break;
        token at = p->t;
        ast *al = tc_p_node(p, N_ALIAS, &at);
        al->name = tc_p_name(p);
        str *as = al->name;
        if (tc_p_accept_kw(p, KW_as)) as = tc_p_name(p);
        al->a = tc_p_bound_name(p, as, &at);
        tc_avec_push(p->c, &v, al);
    } while (tc_p_accept(p, ","));
    if (paren) tc_p_expect(p, ")");
    tc_p_take(p, &v, &n->list, &n->n);
    return n;
}

static scope *function_scope(scope *s) {
    while (s->kind == SC_COMP) s = s->parent;
    return s;
}

/* A declaration stands before the first use of its name in the function. */
static void not_used_before(parser *p, const var *v, const token *at, const char *word) {
    const scope *s = p->sc;
    if (v->bound) tc_p_fail(p, at, "name '%s' is assigned to before %s declaration", v->name->s, word);
    for (size_t i = 0; i < s->uses.len; i++)
        if (s->uses.data[i]->name == v->name) tc_p_fail(p, at, "name '%s' is used prior to %s declaration", v->name->s, word);
}

static ast *declare(parser *p, bool global) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_PASS, &t);
    do {
        var *v = tc_scope_var(p->c, p->sc, tc_p_name(p));
        if (!global && p->sc->kind == SC_MODULE) tc_p_fail(p, &t, "nonlocal declaration not allowed at module level");
        not_used_before(p, v, &t, global ? "global" : "nonlocal");
        if (global) v->is_global = true;
        else v->is_nonlocal = true;
    } while (tc_p_accept(p, ","));
    return n;
}

/* match and type are names, but where the next token can only belong to the statement. */
static void refuse_soft_keyword(parser *p) {
    const token t = p->t;
    if (t.kind != T_NAME || (strcmp(t.name->s, "match") && strcmp(t.name->s, "type"))) return;
    const token *a = tc_p_peek(p);
    if (a->kind == T_NAME || (*t.name->s == 'm' && (a->kind == T_STRING || a->kind == T_NUMBER)))
        tc_p_fail(p, &t, "the statement '%s' is outside the model language", t.name->s);
}

/* The statement that begins at p->t, a keyword that is passed over. */
static ast *statement_of(parser *p, ast_kind k) {
    const token t = p->t;
    tc_p_next(p);
    return tc_p_node(p, k, &t);
}
static bool ends(parser *p) { return p->t.kind == T_NEWLINE || p->t.kind == T_EOF || tc_p_op(p, ";"); }

static ast *return_statement(parser *p) {
    if (function_scope(p->sc)->kind != SC_FUNC) tc_p_fail(p, &p->t, "'return' outside function");
    ast *n = statement_of(p, N_RETURN);
    if (!ends(p)) n->a = tc_p_exprs(p);
    return n;
}

static ast *raise_statement(parser *p) {
    ast *n = statement_of(p, N_RAISE);
    if (ends(p)) return n;
    n->a = tc_p_expr(p);
    if (tc_p_accept_kw(p, KW_from)) n->b = tc_p_expr(p);
    return n;
}

static ast *assert_statement(parser *p) {
    ast *n = statement_of(p, N_ASSERT);
    n->a = tc_p_nexpr(p);
    if (tc_p_accept(p, ",")) n->b = tc_p_expr(p);
    return n;
}

static ast *del_statement(parser *p) {
    ast *n = statement_of(p, N_DEL);
    astvec v = {0};
    ast *e = tc_p_exprs(p);
    tc_p_bind(p, e);
    if (e->kind == N_TUPLE) {
        n->list = e->list, n->n = e->n;
    } else {
        tc_avec_push(p->c, &v, e);
        tc_p_take(p, &v, &n->list, &n->n);
    }
    return n;
}

static ast *simple(parser *p) {
    const token t = p->t;
    refuse_soft_keyword(p);
    if (t.kind != T_KEYWORD) return expression_statement(p);
    ast *n;
    switch (t.op) {
    case KW_return: return return_statement(p);
    case KW_raise: return raise_statement(p);
    case KW_assert: return assert_statement(p);
    case KW_del: return del_statement(p);
    case KW_pass: return statement_of(p, N_PASS);
    case KW_break:
    case KW_continue:
        if (p->loops == 0) tc_p_fail(p, &t, t.op == KW_break ? "'break' outside loop" : "'continue' not properly in loop");
        return statement_of(p, t.op == KW_break ? N_BREAK : N_CONTINUE);
    case KW_global: return declare(p, true);
    case KW_nonlocal: return declare(p, false);
    case KW_import: return import_statement(p);
    case KW_from: return from_statement(p);
    case KW_yield:
        n = tc_p_node(p, N_EXPR, &t);
        n->a = tc_p_yield(p);
        return n;
    case KW_await: tc_p_fail(p, &t, "'%.*s' is outside the model language", (int)t.n, t.p);
    default: return expression_statement(p);
    }
}

static void colon(parser *p) {
    if (tc_p_op(p, "=")) tc_p_fail(p, &p->t, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    if (!tc_p_accept(p, ":")) tc_p_fail(p, &p->t, "expected ':'");
}

static ast *if_statement(parser *p) {
    ast *head = NULL, *last = NULL;
    for (;;) {
        token t = p->t;
        tc_p_next(p);
        ast *n = tc_p_node(p, N_IF, &t);
        n->a = tc_p_nexpr(p);
        block(p, &n->list, &n->n);
        if (last) {
            last->list2 = tc_mem(p->c, sizeof(ast *));
            last->list2[0] = n;
            last->n2 = 1;
        } else head = n;
        last = n;
        if (tc_p_kw(p, KW_elif)) continue;
        if (tc_p_accept_kw(p, KW_else)) block(p, &n->list2, &n->n2);
        return head;
    }
}

static ast *loop(parser *p) {
    token t = p->t;
    bool is_for = t.op == KW_for;
    tc_p_next(p);
    ast *n = tc_p_node(p, is_for ? N_FOR : N_WHILE, &t);
    if (is_for) {
        n->a = tc_p_targets(p);
        tc_p_bind(p, n->a);
        if (!tc_p_accept_kw(p, KW_in)) tc_p_expect(p, "in");
        n->b = tc_p_exprs(p);
    } else n->a = tc_p_nexpr(p);
    p->loops++;
    block(p, &n->list, &n->n);
    p->loops--;
    if (tc_p_accept_kw(p, KW_else)) block(p, &n->list2, &n->n2);
    return n;
}

static ast *with_item(parser *p) {
    ast *it = tc_p_node(p, N_ITEM, &p->t);
    it->a = tc_p_expr(p);
    if (tc_p_accept_kw(p, KW_as)) {
        it->b = tc_p_op(p, "(") || tc_p_op(p, "[") ? tc_p_expr(p) : NULL;
        if (!it->b) {
            token at = p->t;
            ast *e = tc_p_bound_name(p, tc_p_name(p), &at);
            while (tc_p_op(p, ".")) {
                tc_p_next(p);
                ast *a = tc_p_node(p, N_ATTR, &p->t);
                a->a = e, a->name = tc_p_name(p);
                e = a;
            }
            it->b = e;
        }
        tc_p_bind(p, it->b);
    }
    return it;
}

/* with (A as a, B as b): whether the parenthesis belongs to the statement is decided by what follows it. */
static bool with_parenthesised(parser *p) {
    if (!tc_p_op(p, "(") || p->has_ahead) return false;
    lexer save = p->lx;
    int depth = 1;
    bool as = false;
    token t = {0};
    while (depth) {
        t = tc_lex(&p->lx);
        if (t.kind == T_EOF) break;
        if (t.kind == T_OP && strchr("([{", (char)t.op) && t.n == 1) depth++;
        if (t.kind == T_OP && strchr(")]}", (char)t.op) && t.n == 1) depth--;
        if (depth == 1 && t.kind == T_KEYWORD && t.op == KW_as) as = true;
    }
    token after = tc_lex(&p->lx);
    p->lx = save;
    return as && after.kind == T_OP && after.op == ':';
}

static ast *with_statement(parser *p) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_WITH, &t);
    astvec items = {0};
    bool paren = with_parenthesised(p);
    if (paren) tc_p_next(p);
    do {
        if (paren && tc_p_op(p, ")")) break;
        ast *it = with_item(p);
        tc_avec_push(p->c, &items, it);
    } while (tc_p_accept(p, ","));
    if (paren) tc_p_expect(p, ")");
    tc_p_take(p, &items, &n->list2, &n->n2);
    block(p, &n->list, &n->n);
    return n;
}

static ast *try_statement(parser *p) {
    token t = p->t;
    tc_p_next(p);
    ast *n = tc_p_node(p, N_TRY, &t);
    block(p, &n->list, &n->n);
    astvec h = {0};
    while (tc_p_kw(p, KW_except)) {
        ast *e = tc_p_node(p, N_HANDLER, &p->t);
        tc_p_next(p);
        if (tc_p_op(p, "*")) tc_p_fail(p, &p->t, "'except*' is outside the model language");
        if (!tc_p_op(p, ":")) {
            e->a = tc_p_exprs(p);
            if (tc_p_accept_kw(p, KW_as)) {
                token at = p->t;
                e->b = tc_p_bound_name(p, tc_p_name(p), &at);
            }
        }
        block(p, &e->list, &e->n);
        tc_avec_push(p->c, &h, e);
    }
    if (h.len && tc_p_accept_kw(p, KW_else)) {
        n->a = tc_p_node(p, N_BLOCK, &t);
        block(p, &n->a->list, &n->a->n);
    }
    if (tc_p_accept_kw(p, KW_finally)) {
        n->b = tc_p_node(p, N_BLOCK, &t);
        block(p, &n->b->list, &n->b->n);
    }
    if (!h.len && !n->b) tc_p_fail(p, &p->t, "expected 'except' or 'finally' block");
    tc_p_take(p, &h, &n->list2, &n->n2);
    return n;
}

str *tc_p_qualified(parser *p, str *name) {
    scope *s = p->sc;
    if (s->kind == SC_CLASS) return tc_intern_str(p->c, tc_as_str(tc_strf(p->c, "%s.%s", s->qualname->s, name->s)));
    if (s->kind == SC_FUNC || s->kind == SC_LAMBDA) return tc_intern_str(p->c, tc_as_str(tc_strf(p->c, "%s.<locals>.%s", s->qualname->s, name->s)));
    return name;
}

static void docstring(scope *s) {
    if (s->nbody && s->body[0]->kind == N_EXPR && s->body[0]->a->kind == N_CONST && tc_kind_of(s->body[0]->a->value) == K_STR)
        s->doc = s->body[0]->a->value;
}

static void no_type_parameters(parser *p) {
    if (tc_p_op(p, "[")) tc_p_fail(p, &p->t, "type parameters are outside the model language");
}

static const scope *class_around(const scope *s) {
    while (s && s->kind != SC_CLASS) s = s->parent;
    return s;
}

/* Passes over the body of a function s whose names can be local or global only, in the library's own sources: most of its functions are not called.
 * What the body reads of its class is found by its text. */
static bool leave_body(parser *p, scope *s) {
    const scope *outer = s->parent;
    while (outer->kind == SC_CLASS) outer = outer->parent;
    if (!p->f->embedded || outer->kind != SC_MODULE || !tc_p_op(p, ":") || p->has_ahead) return false;
    const token t = p->t;
    const int indent = p->lx.indent[p->lx.nindent];
    const char *end = tc_lex_pass_block(&p->lx);
    if (!end) return false;
    s->later.from = t.p, s->later.to = end, s->later.line = t.line, s->later.indent = indent;
    const size_t n = (size_t)(end - t.p);
    if (class_around(s) && (memmem(t.p, n, "super", 5) || memmem(t.p, n, "__class__", 9))) {
        p->sc = s;
        tc_p_name_node(p, p->c->n___class__, &t);
        p->sc = s->parent;
    }
    tc_p_next(p);
    return true;
}

/* Skips the rest of a line with the block that follows it. lost: names in it are unknown afterwards. */
static void skip_lines(parser *p, bool lost) {
    int depth = 0;
    while (p->t.kind != T_EOF && p->t.kind != T_NEWLINE) {
        if (lost && p->t.kind == T_NAME) tc_keep_lose(p->c, p->t.name);
        tc_p_next(p);
    }
    if (p->t.kind == T_NEWLINE) tc_p_next(p);
    if (p->t.kind != T_INDENT) return;
    do {
        depth += (p->t.kind == T_INDENT) - (p->t.kind == T_DEDENT);
        if (lost && p->t.kind == T_NAME) tc_keep_lose(p->c, p->t.name);
        tc_p_next(p);
    } while (depth && p->t.kind != T_EOF);
}

/* async def: the function is there and its call is refused; nothing of its body is read. */
static ast *def_statement(parser *p) {
    token t = p->t;
    const bool coroutine = tc_p_accept_kw(p, KW_async);
    if (coroutine && !tc_p_kw(p, KW_def)) tc_p_fail(p, &t, "'async' is outside the model language");
    tc_p_next(p);
    token at = p->t;
    str *name = tc_p_name(p);
    ast *n = tc_p_node(p, N_DEF, &t);
    n->a = tc_p_bound_name(p, name, &at);
    scope *outer = p->sc;
    scope *s = tc_scope_new(p->c, SC_FUNC, outer, p->f, name, t.line, t.col);
    s->qualname = tc_p_qualified(p, name);
    n->sc = s;
    no_type_parameters(p);
    tc_p_expect(p, "(");
    tc_p_params(p, s, false);
    tc_p_expect(p, ")");
    if (tc_p_accept(p, "->")) {
        size_t mark = outer->uses.len;
        (void)tc_p_expr(p);
        outer->uses.len = mark;
    }
    if (coroutine) {
        s->yields = n;
        skip_lines(p, false);
    }
    if (coroutine || leave_body(p, s)) return n;
    p->sc = s;
    int loops = p->loops;
    p->loops = 0;
    block(p, &s->body, &s->nbody);
    p->loops = loops;
    p->sc = outer;
    docstring(s);
    return n;
}

static ast *class_statement(parser *p) {
    token t = p->t;
    tc_p_next(p);
    token at = p->t;
    str *name = tc_p_name(p);
    ast *n = tc_p_node(p, N_CLASS, &t);
    n->a = tc_p_bound_name(p, name, &at);
    no_type_parameters(p);
    if (tc_p_accept(p, "(")) {
        n->b = tc_p_node(p, N_CALL, &at);
        tc_p_call_args(p, n->b);
    }
    scope *outer = p->sc;
    scope *s = tc_scope_new(p->c, SC_CLASS, outer, p->f, name, t.line, t.col);
    s->qualname = tc_p_qualified(p, name);
    n->sc = s;
    p->sc = s;
    int loops = p->loops;
    str *cls = p->cls;
    p->loops = 0, p->cls = name;
    block(p, &s->body, &s->nbody);
    p->loops = loops, p->cls = cls;
    p->sc = outer;
    docstring(s);
    return n;
}

static ast *decorated(parser *p) {
    astvec v = {0};
    while (tc_p_accept(p, "@")) {
        ast *d = tc_p_nexpr(p);
        tc_avec_push(p->c, &v, d);
        end_simple(p);
    }
    ast *n = NULL;
    if (tc_p_kw(p, KW_def) || tc_p_kw(p, KW_async)) n = def_statement(p);
    else if (tc_p_kw(p, KW_class)) n = class_statement(p);
    else tc_p_fail(p, &p->t, "invalid syntax: a decorator must be followed by 'def' or 'class'");
    tc_p_take(p, &v, &n->list2, &n->n2);
    return n;
}

static void strict_statement(parser *p, astvec *out) {
    ast *n = NULL;
    if (p->t.kind == T_INDENT) tc_p_fail(p, &p->t, "unexpected indent");
    if (p->t.kind == T_OP && p->t.op == '@') n = decorated(p);
    else if (p->t.kind == T_KEYWORD) switch (p->t.op) {
        case KW_if: n = if_statement(p); break;
        case KW_while:
        case KW_for: n = loop(p); break;
        case KW_with: n = with_statement(p); break;
        case KW_try: n = try_statement(p); break;
        case KW_async:
        case KW_def: n = def_statement(p); break;
        case KW_class: n = class_statement(p); break;
        default: break;
        }
    if (n) {
        tc_avec_push(p->c, out, n);
        return;
    }
    for (;;) {
        n = simple(p);
        tc_avec_push(p->c, out, n);
        if (!tc_p_accept(p, ";")) break;
        if (p->t.kind == T_NEWLINE || p->t.kind == T_EOF) break;
    }
    end_simple(p);
}

/* Skips the rest of a refused statement with its block; names in it are unknown afterwards. */
static void skip_statement(parser *p) {
    do skip_lines(p, true);
    while (tc_p_kw(p, KW_elif) || tc_p_kw(p, KW_else) || tc_p_kw(p, KW_except) || tc_p_kw(p, KW_finally));
}

/* With --keep-going a refused statement is reported and skipped. */
static void statement(parser *p, astvec *out) {
    if (!p->c->keep || p->f->embedded) {
        strict_statement(p, out);
        return;
    }
    parser *start = tc_mem(p->c, sizeof *start);
    *start = *p;
    trap t;
    if (TC_TRAP_PASSING(p->c, t)) {
        strict_statement(p, out);
        tc_untrap(p->c, &t);
    } else {
        tc_keep_syntax(p->c);
        *p = *start;
        skip_statement(p);
    }
}

static void block(parser *p, ast ***out, int *n) {
    tc_p_enter(p);
    colon(p);
    astvec v = {0};
    if (p->t.kind != T_NEWLINE) {
        for (;;) {
            ast *s = simple(p);
            tc_avec_push(p->c, &v, s);
            if (!tc_p_accept(p, ";")) break;
            if (p->t.kind == T_NEWLINE || p->t.kind == T_EOF) break;
        }
        end_simple(p);
    } else {
        tc_p_next(p);
        if (p->t.kind != T_INDENT) tc_p_fail(p, &p->t, "expected an indented block");
        tc_p_next(p);
        while (p->t.kind != T_DEDENT && p->t.kind != T_EOF) statement(p, &v);
        if (p->t.kind == T_DEDENT) tc_p_next(p);
    }
    tc_p_take(p, &v, out, n);
    p->depth--;
}

static void parse_file(C *c, scope *root) {
    parser p = {.c = c, .f = root->file, .sc = root};
    tc_lex_init(&p.lx, c, root->file);
    tc_p_next(&p);
    astvec v = {0};
    while (p.t.kind != T_EOF) {
        if (p.t.kind == T_NEWLINE) tc_p_next(&p);
        else statement(&p, &v);
    }
    tc_p_take(&p, &v, &root->body, &root->nbody);
    docstring(root);
    tc_scopes_resolve(c, root);
}

static void parse_expression(C *c, scope *root) {
    parser p = {.c = c, .f = root->file, .sc = root};
    tc_lex_init(&p.lx, c, root->file);
    p.lx.bol = false, p.lx.joined = true;
    tc_p_next(&p);
    root->expr = tc_p_exprs(&p);
    if (p.t.kind == T_NEWLINE) tc_p_next(&p);
    if (p.t.kind != T_EOF) tc_p_fail(&p, &p.t, "invalid syntax: unexpected '%.*s' after the expression", (int)p.t.n, p.t.p);
    tc_scopes_resolve(c, root);
}

static void parse_body(C *c, scope *s) {
    const scope *cls = class_around(s);
    parser p = {.c = c, .f = s->file, .sc = s, .cls = cls ? cls->name : NULL};
    tc_lex_part(&p.lx, c, s->file, s->later.from, s->later.to, s->later.line, s->later.indent);
    tc_p_next(&p);
    block(&p, &s->body, &s->nbody);
    docstring(s);
    scope *outer = s->parent;
    s->parent = NULL; /* what is not the function's own is global */
    for (var *v = s->vars; v; v = v->next) *tc_map_put(&s->table, (const char *)&v->name, sizeof v->name) = v;
    tc_scopes_resolve(c, s);
    s->parent = outer;
}

/* Reads into s; its temporary tables are freed, also by an error. */
static void read_scope(C *c, scope *s, void (*read)(C *c, scope *s)) {
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        read(c, s);
        tc_untrap(c, &t);
    } else {
        V e = c->exc;
        tc_scopes_free(s);
        tc_raise_again(c, e);
    }
    tc_scopes_free(s);
}

static scope *read_root(C *c, file *f, void (*read)(C *c, scope *s)) {
    scope *root = tc_scope_new(c, SC_MODULE, NULL, f, tc_intern(c, "<module>", 8), 1, 1);
    root->qualname = root->name;
    read_scope(c, root, read);
    return root;
}

scope *tc_parse(C *c, file *f) { return read_root(c, f, parse_file); }
scope *tc_parse_expr(C *c, file *f) { return read_root(c, f, parse_expression); }
void tc_parse_body(C *c, scope *s) {
    read_scope(c, s, parse_body);
    s->later.from = NULL;
}
