/* Parses expressions: SymPy's srepr in PT2 archives, and Python's arithmetic on the command line. Depth and size are bounded. */
#include "sym/node.h"

#include "base/text.h"

#include <ctype.h>

#define MAX_DEPTH 1600     /* one operation takes at most three levels */
#define MAX_BYTES 16777216 /* enough for SYM_MAX_WEIGHT numbers */

typedef struct {
    tc_symctx *c;
    const char *begin, *p, *end;
    int depth;
} cursor;

static tc_status bad(const cursor *c, const char *what) {
    return tc_error(TC_CONTENT, "expression \"%.*s\": %s at byte %zu", (int)(c->end - c->begin > 120 ? 120 : c->end - c->begin), c->begin, what,
                    (size_t)(c->p - c->begin));
}

static void skip(cursor *c) {
    while (c->p < c->end && isspace((unsigned char)*c->p)) c->p++;
}

static bool eat(cursor *c, const char *s) {
    skip(c);
    return tc_eat(&c->p, c->end, s);
}

static size_t word(cursor *c, char *out, size_t cap) {
    size_t n = 0;
    skip(c);
    while (c->p < c->end && (isalnum((unsigned char)*c->p) || *c->p == '_' || *c->p == '.') && n + 1 < cap) out[n++] = *c->p++;
    out[n] = 0;
    return n;
}

static tc_status int_literal(cursor *c, int64_t *out) {
    skip(c);
    bool neg = c->p < c->end && *c->p == '-';
    int64_t v = 0;
    if (neg) c->p++;
    if (c->p == c->end || !isdigit((unsigned char)*c->p)) return bad(c, "a whole number expected");
    for (; c->p < c->end && isdigit((unsigned char)*c->p); c->p++)
        if (!tc_mul_i64(v, 10, &v) || !tc_add_i64(v, neg ? -(*c->p - '0') : *c->p - '0', &v)) return bad(c, "a number that fits 64 bits expected");
    *out = v;
    return NULL;
}

/* ---- srepr ---- */
static tc_status expr(cursor *c, tc_sym *out);

/* name, operation, operands (-1: any number, folded from the left), swap operands */
static const struct {
    const char *name;
    tc_symop op;
    int n;
    bool swap;
} calls[] = {
    {"Mul", TC_S_MUL, -1, 0},
    {"FloorDiv", TC_S_FLOORDIV, 2, 0},
    {"CleanDiv", TC_S_FLOORDIV, 2, 0},
    {"Mod", TC_S_MOD, 2, 0},
    {"PythonMod", TC_S_MOD, 2, 0},
    {"Max", TC_S_MAX, -1, 0},
    {"Min", TC_S_MIN, -1, 0},
    {"Pow", TC_S_POW, 2, 0},
    {"PowByNatural", TC_S_POW, 2, 0},
    {"FloatPow", TC_S_FPOW, 2, 0},
    {"Abs", TC_S_ABS, 1, 0},
    {"ToFloat", TC_S_TOFLOAT, 1, 0},
    {"TruncToInt", TC_S_TRUNC, 1, 0},
    {"TruncToFloat", TC_S_TRUNC, 1, 0},
    {"FloorToInt", TC_S_FLOOR, 1, 0},
    {"CeilToInt", TC_S_CEIL, 1, 0},
    {"RoundToInt", TC_S_ROUND, 1, 0},
    {"floor", TC_S_FLOOR, 1, 0},
    {"ceiling", TC_S_CEIL, 1, 0},
    {"LShift", TC_S_LSHIFT, 2, 0},
    {"RShift", TC_S_RSHIFT, 2, 0},
    {"BitwiseFn_bitwise_and", TC_S_AND_BITS, 2, 0},
    {"BitwiseFn_bitwise_or", TC_S_OR_BITS, 2, 0},
    {"BitwiseFn_bitwise_xor", TC_S_XOR_BITS, 2, 0},
    {"FloatTrueDiv", TC_S_FDIV, 2, 0},
    {"IntTrueDiv", TC_S_FDIV, 2, 0},
    {"OpaqueUnaryFn_sqrt", TC_S_SQRT, 1, 0},
    {"OpaqueUnaryFn_exp", TC_S_EXP, 1, 0},
    {"OpaqueUnaryFn_log", TC_S_LOG, 1, 0},
    {"OpaqueUnaryFn_log2", TC_S_LOG2, 1, 0},
    {"OpaqueUnaryFn_sin", TC_S_SIN, 1, 0},
    {"OpaqueUnaryFn_cos", TC_S_COS, 1, 0},
    {"OpaqueUnaryFn_tan", TC_S_TAN, 1, 0},
    {"OpaqueUnaryFn_tanh", TC_S_TANH, 1, 0},
    {"Equality", TC_S_EQ, 2, 0},
    {"Eq", TC_S_EQ, 2, 0},
    {"Unequality", TC_S_NE, 2, 0},
    {"Ne", TC_S_NE, 2, 0},
    {"GreaterThan", TC_S_LE, 2, 1},
    {"StrictGreaterThan", TC_S_LT, 2, 1},
    {"LessThan", TC_S_LE, 2, 0},
    {"StrictLessThan", TC_S_LT, 2, 0},
    {"And", TC_S_AND, -1, 0},
    {"Or", TC_S_OR, -1, 0},
    {"Not", TC_S_NOT, 1, 0},
    {"Where", TC_S_WHERE, 3, 0},
};

static bool type_fits(tc_symop op, const tc_sym *a, int n) {
    bool logic = op == TC_S_AND || op == TC_S_OR || op == TC_S_NOT, bits = op >= TC_S_LSHIFT && op <= TC_S_XOR_BITS;
    for (int i = 0; i < n; i++) {
        if (logic && a[i]->type != TC_SYM_BOOL) return false;
        if (bits && a[i]->type != TC_SYM_INT) return false;
    }
    return op != TC_S_WHERE || (a[0]->type == TC_SYM_BOOL && (a[1]->type == TC_SYM_BOOL) == (a[2]->type == TC_SYM_BOOL));
}

static tc_status apply(cursor *c, tc_symop op, tc_sym a, tc_sym b, tc_sym d, tc_sym *out) {
    tc_sym v[3] = {a, b, d};
    int n = d ? 3 : b ? 2 : 1;
    if (!type_fits(op, v, n)) return bad(c, "operands of another type expected");
    if ((op == TC_S_FLOORDIV || op == TC_S_MOD) && tc_sym_is_int(b, 0)) return bad(c, "a divisor other than 0 expected");
    *out = tc_sym_op(c->c, op, a, b, d);
    return NULL;
}

static tc_status symbol(cursor *c, tc_sym *out) {
    char name[128];
    if (!eat(c, "'")) return bad(c, "a quoted name expected");
    size_t n = word(c, name, sizeof name);
    if (!n || !eat(c, "'")) return bad(c, "a quoted name expected");
    bool integer = false, positive = false, nonneg = false;
    while (eat(c, ",")) {
        char key[32];
        word(c, key, sizeof key);
        if (!eat(c, "=")) return bad(c, "'=' expected");
        bool yes = eat(c, "True");
        if (!yes && !eat(c, "False")) return bad(c, "True or False expected");
        if (!strcmp(key, "integer")) integer = yes;
        if (!strcmp(key, "positive")) positive = yes;
        if (!strcmp(key, "nonnegative")) nonneg = yes;
    }
    tc_sym old = tc_sym_find(c->c, name);
    tc_symtype type = old ? old->type : integer ? TC_SYM_INT : TC_SYM_FLOAT;
    node *v = (node *)(uintptr_t)tc_sym_var(c->c, name, type, integer && (positive || nonneg) ? 0 : TC_SYM_NO_LO, TC_SYM_NO_HI);
    v->positive |= positive;
    *out = v;
    return eat(c, ")") ? NULL : bad(c, "')' expected");
}

static tc_status piecewise(cursor *c, tc_sym *out) { /* ExprCondPair(value, condition), ... */
    tc_sym v[32], k[32];
    int n = 0;
    do {
        if (n == 32) return bad(c, "at most 32 cases expected");
        if (!eat(c, "ExprCondPair(") && !eat(c, "Tuple(")) return bad(c, "ExprCondPair expected");
        TC_TRY(expr(c, &v[n]));
        if (!eat(c, ",")) return bad(c, "',' expected");
        TC_TRY(expr(c, &k[n]));
        if (!eat(c, ")")) return bad(c, "')' expected");
        n++;
    } while (eat(c, ","));
    if (!eat(c, ")")) return bad(c, "')' expected");
    *out = v[--n];
    while (n-- > 0) TC_TRY(apply(c, TC_S_WHERE, k[n], v[n], *out, out));
    return NULL;
}

static tc_status sum(cursor *c, tc_sym *out) { /* ints are added in one step, since there may be thousands; others from the left */
    TC_VEC(tc_sym) parts = {0};
    bool ints = true;
    tc_status st;
    tc_sym x = NULL;
    do {
        st = expr(c, &x);
        if (st) break;
        ints &= x->type == TC_SYM_INT;
        tc_vec_push(&parts, x);
    } while (eat(c, ","));
    if (!st && !eat(c, ")")) st = bad(c, "')' expected");
    if (!st) *out = ints ? tc_sym_sum(c->c, parts.data, (int)parts.len) : parts.data[0];
    for (size_t i = 1; !st && !ints && i < parts.len; i++) st = apply(c, TC_S_ADD, *out, parts.data[i], NULL, out);
    tc_vec_free(&parts);
    return st;
}

static tc_status rational(cursor *c, bool quotient, tc_sym *out) { /* Integer(a), Rational(a, b) */
    int64_t a, b;
    TC_TRY(int_literal(c, &a));
    *out = tc_sym_int(c->c, a);
    if (quotient) {
        if (!eat(c, ",")) return bad(c, "',' expected");
        TC_TRY(int_literal(c, &b));
        if (b == 0) return bad(c, "a denominator other than 0 expected");
        *out = tc_sym_op(c->c, TC_S_FDIV, *out, tc_sym_int(c->c, b), NULL);
    }
    return eat(c, ")") ? NULL : bad(c, "')' expected");
}

static tc_status decimal(cursor *c, tc_sym *out) { /* Float('0.5', precision=53) */
    char t[64];
    size_t n = 0;
    int64_t precision;
    if (!eat(c, "'")) return bad(c, "a quoted number expected");
    while (c->p < c->end && *c->p != '\'' && n + 1 < sizeof t) t[n++] = *c->p++;
    t[n] = 0;
    *out = tc_sym_float(c->c, strtod(t, NULL));
    if (!eat(c, "'")) return bad(c, "a quoted number expected");
    if (eat(c, ",")) {
        if (!eat(c, "precision=")) return bad(c, "precision expected");
        TC_TRY(int_literal(c, &precision));
    }
    return eat(c, ")") ? NULL : bad(c, "')' expected");
}

static tc_status operation(cursor *c, const char *name, tc_sym *out) {
    bool ceildiv = !strcmp(name, "CeilDiv");
    size_t k = 0;
    while (k < sizeof calls / sizeof *calls && strcmp(calls[k].name, name)) k++;
    if (k == sizeof calls / sizeof *calls && !ceildiv) return tc_error(TC_UNSUPPORTED, "size expression: function %s is not supported", name);
    tc_sym v[3] = {0}, x;
    int n = 0, want = ceildiv ? 2 : calls[k].n;
    do {
        TC_TRY(expr(c, &x));
        if (want < 0 && n) TC_TRY(apply(c, calls[k].op, v[0], x, NULL, &v[0]));
        else if (n < 3) v[n] = x;
        n++;
    } while (eat(c, ","));
    if (!eat(c, ")")) return bad(c, "')' expected");
    *out = v[0];
    if (want < 0) return NULL;
    if (n != want) return bad(c, "another number of operands expected");
    if (ceildiv) {
        if (tc_sym_is_int(v[1], 0)) return bad(c, "a divisor other than 0 expected");
        *out = tc_sym_ceildiv(c->c, v[0], v[1]);
        return NULL;
    }
    return calls[k].swap ? apply(c, calls[k].op, v[1], v[0], NULL, out) : apply(c, calls[k].op, v[0], v[1], v[2], out);
}

static tc_status expr_in(cursor *c, tc_sym *out) {
    char w[64];
    int64_t v;
    skip(c);
    if (c->p < c->end && (isdigit((unsigned char)*c->p) || *c->p == '-')) {
        TC_TRY(int_literal(c, &v));
        *out = tc_sym_int(c->c, v);
        return NULL;
    }
    word(c, w, sizeof w);
    if (!strcmp(w, "true") || !strcmp(w, "True") || !strcmp(w, "false") || !strcmp(w, "False")) {
        *out = tc_sym_bool(c->c, *w == 't' || *w == 'T');
        return NULL;
    }
    if (!eat(c, "(")) return bad(c, "'(' expected");
    if (!strcmp(w, "Symbol")) return symbol(c, out);
    if (!strcmp(w, "Piecewise")) return piecewise(c, out);
    if (!strcmp(w, "Add")) return sum(c, out);
    if (!strcmp(w, "Integer") || !strcmp(w, "Rational")) return rational(c, *w == 'R', out);
    if (!strcmp(w, "Float")) return decimal(c, out);
    return operation(c, w, out);
}

static tc_status expr(cursor *c, tc_sym *out) {
    if (++c->depth > MAX_DEPTH) return bad(c, "at most 1600 levels expected");
    tc_status st = expr_in(c, out);
    c->depth--;
    return st;
}

tc_status tc_sym_parse_srepr(tc_symctx *ctx, const char *text, size_t n, tc_sym *out) {
    cursor c = {ctx, text, text, text + n, 0};
    if (n > MAX_BYTES) return tc_error(TC_CONTENT, "size expression of %zu bytes, at most %d expected", n, MAX_BYTES);
    TC_TRY(expr(&c, out));
    TC_TRY(tc_sym_check(ctx));
    skip(&c);
    return c.p == c.end ? NULL : bad(&c, "end expected");
}

/* ---- Python's arithmetic ---- */
static tc_status infix(cursor *c, int prec, tc_sym *out);

static bool eat_word(cursor *c, const char *w) {
    const char *p = c->p;
    if (eat(c, w) && !(c->p < c->end && (isalnum((unsigned char)*c->p) || *c->p == '_'))) return true;
    c->p = p;
    return false;
}

static tc_status number_literal(cursor *c, tc_sym *out) {
    char t[64];
    size_t n = 0;
    bool is_float = false;
    while (c->p < c->end && n + 1 < sizeof t &&
           (isdigit((unsigned char)*c->p) || *c->p == '.' || *c->p == 'e' || *c->p == 'E' ||
            ((*c->p == '-' || *c->p == '+') && n && (t[n - 1] == 'e' || t[n - 1] == 'E')))) {
        is_float |= !isdigit((unsigned char)*c->p);
        t[n++] = *c->p++;
    }
    t[n] = 0;
    if (is_float) {
        *out = tc_sym_float(c->c, strtod(t, NULL));
        return NULL;
    }
    c->p -= n;
    int64_t v;
    TC_TRY(int_literal(c, &v));
    *out = tc_sym_int(c->c, v);
    return NULL;
}

/* The arguments of the function w, behind its '('. */
static tc_status call(cursor *c, const char *w, tc_sym *out) {
    static const struct {
        const char *name;
        tc_symop op;
        int n; /* -1: two or more, folded from the left */
    } fns[] = {
        {"min", TC_S_MIN, -1},
        {"max", TC_S_MAX, -1},
        {"abs", TC_S_ABS, 1},
        {"int", TC_S_TRUNC, 1},
        {"float", TC_S_TOFLOAT, 1},
        {"round", TC_S_ROUND, 1},
        {"math.floor", TC_S_FLOOR, 1},
        {"math.ceil", TC_S_CEIL, 1},
        {"math.sqrt", TC_S_SQRT, 1},
        {"where", TC_S_WHERE, 3},
        {"math.exp", TC_S_EXP, 1},
        {"math.log", TC_S_LOG, 1},
        {"math.trunc", TC_S_TRUNC, 1},
        {"torch.sym_float", TC_S_TOFLOAT, 1},
        {"torch._sym_sqrt", TC_S_SQRT, 1},
        {"math.log2", TC_S_LOG2, 1},
        {"math.sin", TC_S_SIN, 1},
        {"math.cos", TC_S_COS, 1},
        {"math.tan", TC_S_TAN, 1},
        {"math.tanh", TC_S_TANH, 1},
        {"torch.sym_max", TC_S_MAX, 2},
        {"torch.sym_min", TC_S_MIN, 2},
    };
    size_t k = 0;
    while (k < sizeof fns / sizeof *fns && strcmp(fns[k].name, w)) k++;
    if (k == sizeof fns / sizeof *fns) return bad(c, "a known function expected");
    tc_sym v[3] = {0};
    const bool fold = fns[k].n < 0;
    for (int i = 0; i < (fold ? 2 : fns[k].n); i++) {
        if (i && !eat(c, ",")) return bad(c, "',' expected");
        TC_TRY(infix(c, P_TERNARY, &v[i]));
    }
    while (fold && eat(c, ",")) {
        TC_TRY(apply(c, fns[k].op, v[0], v[1], NULL, &v[0]));
        TC_TRY(infix(c, P_TERNARY, &v[1]));
    }
    if (!eat(c, ")")) return bad(c, "')' expected");
    return apply(c, fns[k].op, v[0], v[1], v[2], out);
}

static tc_status primary(cursor *c, tc_sym *out) {
    char w[128];
    skip(c);
    if (eat(c, "(")) {
        TC_TRY(infix(c, P_TERNARY, out));
        return eat(c, ")") ? NULL : bad(c, "')' expected");
    }
    if (c->p < c->end && (isdigit((unsigned char)*c->p) || *c->p == '.')) return number_literal(c, out);
    if (!word(c, w, sizeof w)) return bad(c, "a number or a name expected");
    if (!strcmp(w, "True") || !strcmp(w, "False")) {
        *out = tc_sym_bool(c->c, *w == 'T');
        return NULL;
    }
    if (eat(c, "(")) return call(c, w, out);
    if (strchr(w, '.') || isdigit((unsigned char)*w)) return bad(c, "a name expected");
    *out = tc_sym_find(c->c, w);
    if (!*out) *out = tc_sym_var(c->c, w, TC_SYM_INT, 0, TC_SYM_NO_HI);
    return NULL;
}

static tc_status unary(cursor *c, tc_sym *out) {
    if (eat(c, "-")) {
        TC_TRY(infix(c, P_SIGN, out));
        *out = tc_sym_neg(c->c, out[0]->type == TC_SYM_BOOL ? tc_sym_op(c->c, TC_S_ADD, *out, tc_sym_int(c->c, 0), NULL) : *out);
        return NULL;
    }
    if (eat(c, "+")) return infix(c, P_SIGN, out);
    TC_TRY(primary(c, out));
    if (eat(c, "**")) {
        tc_sym b;
        TC_TRY(infix(c, P_SIGN, &b));
        return apply(c, TC_S_POW, *out, b, NULL, out);
    }
    return NULL;
}

/* Left-associative operators by precedence; longer texts before their prefixes. */
static const struct {
    const char *text;
    int prec;
    tc_symop op;
    bool swap;
} binary[] = {
    {"<<", P_SHIFT, TC_S_LSHIFT, 0},  {">>", P_SHIFT, TC_S_RSHIFT, 0},     {"==", P_COMPARE, TC_S_EQ, 0},      {"!=", P_COMPARE, TC_S_NE, 0},
    {"<=", P_COMPARE, TC_S_LE, 0},    {">=", P_COMPARE, TC_S_LE, 1},       {"<", P_COMPARE, TC_S_LT, 0},       {">", P_COMPARE, TC_S_LT, 1},
    {"|", P_BIT_OR, TC_S_OR_BITS, 0}, {"^", P_BIT_XOR, TC_S_XOR_BITS, 0},  {"&", P_BIT_AND, TC_S_AND_BITS, 0}, {"+", P_SUM, TC_S_ADD, 0},
    {"-", P_SUM, TC_S_FSUB, 0},       {"//", P_PRODUCT, TC_S_FLOORDIV, 0}, {"/", P_PRODUCT, TC_S_FDIV, 0},     {"*", P_PRODUCT, TC_S_MUL, 0},
    {"%", P_PRODUCT, TC_S_MOD, 0},
};

/* Parses the rest of "out if cond else b". */
static tc_status ternary(cursor *c, tc_sym *out) {
    tc_sym cond, b;
    TC_TRY(infix(c, P_OR, &cond));
    if (!eat_word(c, "else")) return bad(c, "'else' expected");
    TC_TRY(infix(c, P_TERNARY, &b));
    return apply(c, TC_S_WHERE, cond, *out, b, out);
}

static tc_status infix_in(cursor *c, int prec, tc_sym *out) {
    tc_sym b;
    if (prec <= P_NOT && eat_word(c, "not")) {
        TC_TRY(infix(c, P_NOT, out));
        TC_TRY(apply(c, TC_S_NOT, *out, NULL, NULL, out));
    } else {
        TC_TRY(unary(c, out));
    }
    for (;;) {
        size_t k = 0;
        skip(c);
        while (k < sizeof binary / sizeof *binary && !(binary[k].prec >= prec && eat(c, binary[k].text))) k++;
        if (k < sizeof binary / sizeof *binary) {
            if (binary[k].op == TC_S_MUL && c->p < c->end && *c->p == '*') return bad(c, "operand expected");
            TC_TRY(infix(c, binary[k].prec + 1, &b));
            if (binary[k].op == TC_S_FSUB) {
                if (out[0]->type == TC_SYM_BOOL || b->type == TC_SYM_BOOL) return bad(c, "numbers expected");
                *out = tc_sym_sub(c->c, *out, b);
            } else {
                TC_TRY(binary[k].swap ? apply(c, binary[k].op, b, *out, NULL, out) : apply(c, binary[k].op, *out, b, NULL, out));
            }
        } else if (prec <= P_AND && eat_word(c, "and")) {
            TC_TRY(infix(c, P_NOT, &b));
            TC_TRY(apply(c, TC_S_AND, *out, b, NULL, out));
        } else if (prec <= P_OR && eat_word(c, "or")) {
            TC_TRY(infix(c, P_AND, &b));
            TC_TRY(apply(c, TC_S_OR, *out, b, NULL, out));
        } else if (prec <= P_TERNARY && eat_word(c, "if")) {
            TC_TRY(ternary(c, out));
        } else {
            return NULL;
        }
    }
}

static tc_status infix(cursor *c, int prec, tc_sym *out) {
    if (++c->depth > MAX_DEPTH) return bad(c, "at most 1600 levels expected");
    tc_status st = infix_in(c, prec, out);
    c->depth--;
    return st;
}

tc_status tc_sym_parse(tc_symctx *ctx, const char *text, size_t n, tc_sym *out) {
    cursor c = {ctx, text, text, text + n, 0};
    if (n > MAX_BYTES) return tc_error(TC_CONTENT, "expression of %zu bytes, at most %d expected", n, MAX_BYTES);
    TC_TRY(infix(&c, P_TERNARY, out));
    TC_TRY(tc_sym_check(ctx));
    skip(&c);
    return c.p == c.end ? NULL : bad(&c, "end expected");
}
