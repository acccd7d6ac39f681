/* Suggestions for data-dependent errors (suggest.h): the origin of the number, and the torch._check line that decides the question.
 *
 *     if n > 3:      u1: aten.item of %sum, m.py:5
 *                    before this line, one of these makes it known: torch._check(n > 3) or torch._check(n <= 3) */
#include "capture/suggest.h"

#include "capture/ast.h"
#include "capture/torch.h"

/* ---- expressions as text ---- */
static bool list_of(C *c, tc_buf *b, ast *const *e, int n, const char *sep) {
    for (int i = 0; i < n; i++) {
        if (i) tc_buf_puts(b, sep);
        if (!e[i] || !tc_unparse(c, b, e[i])) return false;
    }
    return true;
}

static bool operand(C *c, tc_buf *b, const ast *n) {
    bool simple = n->kind == N_NAME || n->kind == N_CONST || n->kind == N_ATTR || n->kind == N_INDEX || n->kind == N_CALL || n->kind == N_LIST;
    if (!simple) tc_buf_putc(b, '(');
    if (!tc_unparse(c, b, n)) return false;
    if (!simple) tc_buf_putc(b, ')');
    return true;
}

static const struct {
    char op, not ;
    const char *text;
} comparisons[] = {{'<', 'G', "<"},  {'L', '>', "<="}, {'>', 'L', ">"},      {'G', '<', ">="}, {'=', '!', "=="},
                   {'!', '=', "!="}, {'i', 'I', "in"}, {'I', 'i', "not in"}, {'s', 'S', "is"}, {'S', 's', "is not"}};
static const char *comparison(char op) {
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (comparisons[i].op == op) return comparisons[i].text;
    return "==";
}

static bool call(C *c, tc_buf *b, const ast *n) {
    if (!operand(c, b, n->a)) return false;
    tc_buf_putc(b, '(');
    if (!list_of(c, b, n->list, n->n, ", ")) return false;
    for (int i = 0; i < n->n2; i++) {
        tc_buf_printf(b, "%s%s%s", n->n || i ? ", " : "", n->list2[i]->name ? n->list2[i]->name->s : "**", n->list2[i]->name ? "=" : "");
        if (!tc_unparse(c, b, n->list2[i]->a)) return false;
    }
    tc_buf_putc(b, ')');
    return true;
}

static bool slice_text(C *c, tc_buf *b, const ast *n) {
    if (n->a && !tc_unparse(c, b, n->a)) return false;
    tc_buf_putc(b, ':');
    if (n->b && !tc_unparse(c, b, n->b)) return false;
    if (!n->c) return true;
    tc_buf_putc(b, ':');
    return tc_unparse(c, b, n->c);
}

/* Operands of a comparison: unary signs need no parentheses. */
static bool compared(C *c, tc_buf *b, const ast *n) { return n->kind == N_UNARY && n->op != 'n' ? tc_unparse(c, b, n) : operand(c, b, n); }

static bool compare(C *c, tc_buf *b, const ast *n, bool inverted) {
    if (!compared(c, b, n->a)) return false;
    for (int i = 0; i < n->n; i++) {
        char op = n->ops[i];
        for (size_t k = 0; inverted && k < sizeof comparisons / sizeof *comparisons; k++)
            if (comparisons[k].op == n->ops[i]) op = comparisons[k].not ;
        tc_buf_printf(b, " %s ", comparison(op));
        if (!compared(c, b, n->list[i])) return false;
    }
    return true;
}

bool tc_unparse(C *c, tc_buf *b, const ast *n) {
    switch (n->kind) {
    case N_CONST: tc_buf_puts(b, tc_repr(c, n->value)->s); return true;
    case N_NAME: tc_buf_puts(b, n->name->s); return true;
    case N_LIST:
        tc_buf_putc(b, '[');
        if (!list_of(c, b, n->list, n->n, ", ")) return false;
        tc_buf_putc(b, ']');
        return true;
    case N_TUPLE:
        if (!list_of(c, b, n->list, n->n, ", ")) return false;
        if (n->n == 1) tc_buf_putc(b, ',');
        return true;
    case N_BINARY:
        if (!operand(c, b, n->a)) return false;
        tc_buf_printf(b, " %s ", tc_binary_symbol(n->op));
        return operand(c, b, n->b);
    case N_UNARY: tc_buf_puts(b, n->op == 'n' ? "not " : n->op == '-' ? "-" : n->op == '~' ? "~" : "+"); return operand(c, b, n->a);
    case N_BOOL:
        for (int i = 0; i < n->n; i++) {
            if (i) tc_buf_puts(b, n->op == 'a' ? " and " : " or ");
            if (!operand(c, b, n->list[i])) return false;
        }
        return true;
    case N_COMPARE: return compare(c, b, n, false);
    case N_CALL: return call(c, b, n);
    case N_ATTR:
        if (!operand(c, b, n->a)) return false;
        tc_buf_printf(b, ".%s", n->name->s);
        return true;
    case N_INDEX:
        if (!operand(c, b, n->a)) return false;
        tc_buf_putc(b, '[');
        if (!tc_unparse(c, b, n->b)) return false;
        tc_buf_putc(b, ']');
        return true;
    case N_SLICE: return slice_text(c, b, n);
    case N_STAR: tc_buf_putc(b, '*'); return operand(c, b, n->a);
    default: return false;
    }
}

/* ---- where numbers come from ---- */
static bool holds(tc_sym s, tc_sym symbol) {
    if (s == symbol) return true;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (holds(tc_sym_arg(s, i), symbol)) return true;
    return false;
}

static bool makes(const tc_value *v, tc_sym symbol) {
    if (v->kind == TC_V_SYM) return holds(v->sym, symbol);
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++)
        if (holds(v->meta.size[d], symbol)) return true;
    return false;
}

static void origin(C *c, tc_buf *b, tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR && !tc_torch_hint(c, s, NULL)) {
        for (const tc_node *n = c->torch->graph ? c->torch->graph->first : NULL; n; n = n->next)
            for (int i = 0; i < n->nouts; i++) {
                if (!makes(n->outs[i], s)) continue;
                tc_buf_printf(b, "%s: %s %s", tc_sym_var_name(s),
                              n->outs[i]->kind == TC_V_SYM ? "the number that is read by" : "a size of the result of", tc_op_name(n->op));
                for (int a = 0, first = 1; a < n->nargs; a++)
                    if (n->args[a].kind == TC_A_VALUE && n->args[a].value)
                        tc_buf_printf(b, "%s%%%s", first ? " of " : ", ", n->args[a].value->name), first = 0;
                if (n->source.file) tc_buf_printf(b, ", %s:%d", n->source.file, n->source.line);
                tc_buf_putc(b, '\n');
                return;
            }
        return;
    }
    for (int i = 0; i < tc_sym_arity(s); i++) origin(c, b, tc_sym_arg(s, i));
}

static const char *kept(C *c, tc_buf *b, bool ok) {
    const char *text = ok && b->len ? tc_arena_strndup(&c->arena, b->data, b->len) : NULL;
    tc_buf_free(b);
    return text;
}

static bool unpacking(const frame *f) {
    return (f->at->kind == N_TUPLE || f->at->kind == N_LIST) && f->statement && f->statement->kind == N_ASSIGN && f->statement->list[0] == f->at;
}

/* The expression whose value is needed at the current position; NULL: it cannot be written on a line of its own. */
static const ast *asked(const frame *f) {
    const ast *n = f ? f->at : NULL;
    if (!n || !f->statement || f->sc->kind == SC_COMP || f->sc->kind == SC_LAMBDA) return NULL;
    if (unpacking(f)) n = f->statement->b;
    if (n->kind == N_ASSERT || (n->kind == N_UNARY && n->op == 'n')) n = n->a;
    if (n->kind == N_CALL && n->a->kind == N_NAME && n->n == 1 && !n->n2 && !strcmp(n->a->name->s, "bool")) n = n->list[0];
    while (n->kind == N_BOOL) n = n->list[n->n - 1]; /* operands before the last one were decided already */
    return n;
}

const char *tc_suggest_branch(C *c, tc_sym cond, int outcome) {
    const frame *f = tc_user_frame(c);
    const ast *n = asked(f);
    tc_buf b = {0}, e = {0}, yes = {0}, no = {0};
    if (cond) origin(c, &b, cond);
    if (cond && f != c->fr && n && n->kind == N_CALL) { /* needed inside a function that this line calls: the call is not the condition */
        tc_buf_puts(&b, "to promise it, paste a torch._check of this condition after the line that reads the number\n");
    } else if (n && tc_unparse(c, &e, n)) {
        const char *text = tc_buf_str(&e);
        if (!cond) tc_buf_printf(&yes, "(%s).item()", text), tc_buf_printf(&no, "not (%s).item()", text);
        else if (n->kind == N_COMPARE && n->n == 1) tc_buf_puts(&yes, text), compare(c, &no, n, true);
        else if (tc_sym_opcode(cond) == TC_S_NE) tc_buf_printf(&yes, "%s != 0", text), tc_buf_printf(&no, "%s == 0", text); /* of a number */
        else tc_buf_puts(&yes, text), tc_buf_printf(&no, "torch.sym_not(%s)", text);
        const bool ends = outcome < 0 && f->statement->kind == N_WHILE; /* the other outcome would be asked for in every iteration */
        tc_buf_printf(&b, "to promise it, paste before line %d  torch._check(%s)", f->statement->line, tc_buf_str(outcome && !ends ? &yes : &no));
        if (outcome < 0 && !ends) tc_buf_printf(&b, "  or  torch._check(%s)", tc_buf_str(&no));
        tc_buf_putc(&b, '\n');
    }
    tc_buf_free(&e);
    tc_buf_free(&yes);
    tc_buf_free(&no);
    return kept(c, &b, true);
}

static bool names(C *c, frame *f, const ast *n, tc_sym s) {
    const V v = n->kind == N_NAME && !c->keep ? tc_eval_expr(c, f, n) : NULL;
    return v && tc_kind_of(v) == K_SYM && ((symobj *)v)->s == s;
}

/* The argument of a call or index that must be a known number: a name of s, else the only one that is no constant. */
static const ast *argument(C *c, frame *f, const ast *n, tc_sym s) {
    const ast *only = NULL;
    int count = 0;
    if (n->kind == N_INDEX) return n->b->kind == N_SLICE ? NULL : n->b;
    if (n->kind != N_CALL) return n;
    for (int i = 0; i < n->n + n->n2; i++) {
        const ast *one = i < n->n ? n->list[i] : n->list2[i - n->n]->a;
        if (names(c, f, one, s)) return one;
        if (one->kind != N_CONST) only = one, count++;
    }
    return count == 1 ? only : NULL;
}

const char *tc_suggest_number(C *c, tc_sym s, const char *part, const int64_t *known) {
    frame *f = tc_user_frame(c);
    const ast *n = asked(f);
    tc_buf b = {0}, e = {0};
    int64_t value = n && n->kind == N_INDEX ? 0 : 1;
    if (f && unpacking(f)) value = f->at->n;
    if (known) value = *known;
    origin(c, &b, s);
    if (n && !*part) n = argument(c, f, n, s);
    if (n && operand(c, &e, n))
        tc_buf_printf(&b, "to promise it, paste before line %d%s  torch._check(%s%s == %lld)\n", f->statement->line,
                      known ? "" : ", with the value that it always has,", tc_buf_str(&e), part, (long long)value);
    tc_buf_free(&e);
    return kept(c, &b, true);
}
