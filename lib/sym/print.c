/* Prints expressions: in the model language's syntax, and as SymPy's srepr, which PT2 archives use. */
#include "sym/bounds.h"
#include "sym/node.h"

#include <math.h>
#include <stdio.h>

/* How an operation is written. infix: text between operands, with a precedence (higher binds tighter); else a call. srepr: the class. */
static const struct {
    const char *text;
    int prec;
    const char *srepr;
} ops[] = {
    [TC_S_ADD] = {" + ", P_SUM, "Add"},
    [TC_S_MUL] = {"*", P_PRODUCT, "Mul"},
    [TC_S_FLOORDIV] = {"//", P_PRODUCT, "FloorDiv"},
    [TC_S_MOD] = {" % ", P_PRODUCT, "PythonMod"},
    [TC_S_POW] = {"**", P_POWER, "PowByNatural"},
    [TC_S_MIN] = {"min", 0, "Min"},
    [TC_S_MAX] = {"max", 0, "Max"},
    [TC_S_ABS] = {"abs", 0, "Abs"},
    [TC_S_TRUNC] = {"int", 0, "TruncToInt"},
    [TC_S_FLOOR] = {"math.floor", 0, "FloorToInt"},
    [TC_S_CEIL] = {"math.ceil", 0, "CeilToInt"},
    [TC_S_ROUND] = {"round", 0, "RoundToInt"},
    [TC_S_LSHIFT] = {" << ", P_SHIFT, "LShift"},
    [TC_S_RSHIFT] = {" >> ", P_SHIFT, "RShift"},
    [TC_S_AND_BITS] = {" & ", P_BIT_AND, "BitwiseFn_bitwise_and"},
    [TC_S_OR_BITS] = {" | ", P_BIT_OR, "BitwiseFn_bitwise_or"},
    [TC_S_XOR_BITS] = {" ^ ", P_BIT_XOR, "BitwiseFn_bitwise_xor"},
    [TC_S_TOFLOAT] = {"float", 0, "ToFloat"},
    [TC_S_FADD] = {" + ", P_SUM, "Add"},
    [TC_S_FSUB] = {" - ", P_SUM, NULL},
    [TC_S_FMUL] = {"*", P_PRODUCT, "Mul"},
    [TC_S_FDIV] = {"/", P_PRODUCT, "FloatTrueDiv"},
    [TC_S_FPOW] = {"**", P_POWER, "FloatPow"},
    [TC_S_FNEG] = {"-", P_SIGN, NULL},
    [TC_S_FMOD] = {" % ", P_PRODUCT, "PythonMod"},
    [TC_S_FFLOORDIV] = {"//", P_PRODUCT, "FloorDiv"},
    [TC_S_FMIN] = {"min", 0, "Min"},
    [TC_S_FMAX] = {"max", 0, "Max"},
    [TC_S_FABS] = {"abs", 0, "Abs"},
    [TC_S_SQRT] = {"math.sqrt", 0, "OpaqueUnaryFn_sqrt"},
    [TC_S_EXP] = {"math.exp", 0, "OpaqueUnaryFn_exp"},
    [TC_S_LOG] = {"math.log", 0, "OpaqueUnaryFn_log"},
    [TC_S_LOG2] = {"math.log2", 0, "OpaqueUnaryFn_log2"},
    [TC_S_SIN] = {"math.sin", 0, "OpaqueUnaryFn_sin"},
    [TC_S_COS] = {"math.cos", 0, "OpaqueUnaryFn_cos"},
    [TC_S_TAN] = {"math.tan", 0, "OpaqueUnaryFn_tan"},
    [TC_S_TANH] = {"math.tanh", 0, "OpaqueUnaryFn_tanh"},
    [TC_S_EQ] = {" == ", P_COMPARE, "Equality"},
    [TC_S_NE] = {" != ", P_COMPARE, "Unequality"},
    [TC_S_LT] = {" < ", P_COMPARE, "StrictLessThan"},
    [TC_S_LE] = {" <= ", P_COMPARE, "LessThan"},
    [TC_S_AND] = {" and ", P_AND, "And"},
    [TC_S_OR] = {" or ", P_OR, "Or"},
    [TC_S_NOT] = {"not ", P_NOT, "Not"},
    [TC_S_WHERE] = {"where", 0, "Where"},
};

static void put_double(tc_buf *b, double v) {
    char t[40];
    if (isnan(v)) tc_buf_puts(b, "float('nan')");
    else if (isinf(v)) tc_buf_puts(b, v < 0 ? "-float('inf')" : "float('inf')");
    else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(t, sizeof t, "%.*g", digits, v);
            if (strtod(t, NULL) == v) break;
        }
        tc_buf_puts(b, t);
        if (!strpbrk(t, ".eE")) tc_buf_puts(b, ".0");
    }
}

static void print(tc_buf *b, tc_sym s, int prec);

static void product(tc_buf *b, tc_sym s, int from) {
    for (int i = from, k; i < s->n; i = k) {
        for (k = i + 1; k < s->n && s->arg[k] == s->arg[i]; k++) {}
        if (i > from) tc_buf_puts(b, "*");
        print(b, s->arg[i], k - i > 1 ? P_POWER : P_SIGN);
        if (k - i > 1) tc_buf_printf(b, "**%d", k - i);
    }
}

/* A term without its sign; returns the sign. */
static bool negative_term(tc_sym t) {
    if (t->op == TC_S_CONST) return t->i < 0 && t->i != INT64_MIN;
    return t->op == TC_S_MUL && !t->raw && t->arg[0]->op == TC_S_CONST && t->arg[0]->i < 0 && t->arg[0]->i != INT64_MIN;
}

static void print_abs_term(tc_buf *b, tc_sym t, bool neg) {
    if (!neg) {
        print(b, t, P_PRODUCT);
    } else if (t->op == TC_S_CONST) {
        tc_buf_printf(b, "%lld", (long long)-t->i);
    } else {
        if (t->arg[0]->i != -1) tc_buf_printf(b, "%lld*", (long long)-t->arg[0]->i);
        product(b, t, 1);
    }
}

static void print(tc_buf *b, tc_sym s, int prec) {
    int own = s->op == TC_S_CONST || s->op == TC_S_VAR ? P_ATOM : ops[s->op].prec ? ops[s->op].prec : P_ATOM;
    if (s->op == TC_S_MUL && !s->raw && negative_term(s)) own = P_SUM;
    if (s->op == TC_S_CONST && ((s->type == TC_SYM_INT && s->i < 0) || (s->type == TC_SYM_FLOAT && signbit(s->f)))) own = P_SUM;
    if (own < prec) tc_buf_putc(b, '(');
    if (s->op == TC_S_VAR) {
        tc_buf_puts(b, s->name);
    } else if (s->op == TC_S_CONST) {
        if (s->type == TC_SYM_FLOAT) put_double(b, s->f);
        else if (s->type == TC_SYM_BOOL) tc_buf_puts(b, s->i ? "True" : "False");
        else tc_buf_printf(b, "%lld", (long long)s->i);
    } else if (s->op == TC_S_ADD && !s->raw) {
        int first = 0; /* begin with a positive term if there is one */
        while (first < s->n && negative_term(s->arg[first])) first++;
        if (first == s->n) first = 0;
        for (int k = 0; k < s->n; k++) {
            tc_sym t = s->arg[k == 0 ? first : k <= first ? k - 1 : k];
            bool neg = negative_term(t);
            tc_buf_puts(b, k ? neg ? " - " : " + " : neg ? "-" : "");
            print_abs_term(b, t, neg);
        }
    } else if (s->op == TC_S_MUL && !s->raw) {
        bool neg = negative_term(s);
        if (neg) {
            tc_buf_putc(b, '-');
            print_abs_term(b, s, true);
        } else {
            product(b, s, 0);
        }
    } else if (s->op == TC_S_LE && s->arg[0]->op == TC_S_ADD && !s->arg[0]->raw && s->arg[0]->n == 2 && tc_sym_is_int(s->arg[0]->arg[1], 1)) {
        print(b, s->arg[0]->arg[0], P_COMPARE + 1); /* a + 1 <= b is written as a < b */
        tc_buf_puts(b, " < ");
        print(b, s->arg[1], P_COMPARE + 1);
    } else if (s->op == TC_S_FNEG || s->op == TC_S_NOT) {
        tc_buf_puts(b, ops[s->op].text);
        print(b, s->arg[0], s->op == TC_S_NOT ? P_COMPARE + 1 : own + 1);
    } else if (ops[s->op].prec) {
        for (int i = 0; i < s->n; i++) {
            if (i) tc_buf_puts(b, ops[s->op].text);
            print(b, s->arg[i], i || own == P_COMPARE ? own + 1 : own);
        }
    } else {
        tc_buf_puts(b, ops[s->op].text);
        tc_buf_putc(b, '(');
        for (int i = 0; i < s->n; i++) {
            if (i) tc_buf_puts(b, ", ");
            print(b, s->arg[i], 0);
        }
        tc_buf_putc(b, ')');
    }
    if (own < prec) tc_buf_putc(b, ')');
}

void tc_sym_print(tc_buf *b, tc_sym s) { print(b, s, 0); }
void tc_sym_print_list(tc_buf *b, const tc_sym *s, int n) {
    tc_buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        if (i) tc_buf_puts(b, ", ");
        tc_sym_print(b, s[i]);
    }
    tc_buf_putc(b, ']');
}

static bool nonnegative(tc_sym s) {
    int64_t lo, hi;
    tc_sym_range(s->ctx, s, &lo, &hi);
    return lo >= 0;
}

void tc_sym_srepr(tc_buf *b, tc_sym s) {
    if (s->op == TC_S_VAR && s->type == TC_SYM_BOOL) { /* PyTorch's symbols are numbers: a data-dependent bool is a symbol that is 0 or 1 */
        tc_buf_printf(b, "Equality(Symbol('%s', integer=True), Integer(1))", s->name);
        return;
    }
    if (s->op == TC_S_VAR) {
        tc_buf_puts(b, "Symbol('");
        tc_buf_puts(b, s->name);
        tc_buf_puts(b, s->positive || (s->type == TC_SYM_INT && s->lo > 0) ? "', positive=True" : "'");
        tc_buf_puts(b, s->type == TC_SYM_INT ? ", integer=True)" : ")");
        return;
    }
    if (s->op == TC_S_CONST) {
        if (s->type == TC_SYM_INT) tc_buf_printf(b, "Integer(%lld)", (long long)s->i);
        else if (s->type == TC_SYM_BOOL) tc_buf_puts(b, s->i ? "true" : "false");
        else tc_buf_printf(b, "Float('%.17g', precision=53)", s->f);
        return;
    }
    if (s->op == TC_S_FSUB || s->op == TC_S_FNEG) { /* SymPy has no subtraction */
        tc_buf_puts(b, s->op == TC_S_FSUB ? "Add(" : "Mul(Integer(-1), ");
        tc_sym_srepr(b, s->arg[0]);
        if (s->op == TC_S_FSUB) {
            tc_buf_puts(b, ", Mul(Integer(-1), ");
            tc_sym_srepr(b, s->arg[1]);
            tc_buf_putc(b, ')');
        }
        tc_buf_putc(b, ')');
        return;
    }
    if (s->op == TC_S_FFLOORDIV) { /* SymPy's FloorDiv takes integers only */
        bool whole = s->arg[1]->op == TC_S_CONST && s->arg[1]->f == 1;
        tc_buf_puts(b, whole ? "ToFloat(FloorToInt(" : "ToFloat(FloorToInt(FloatTrueDiv(");
        tc_sym_srepr(b, s->arg[0]);
        if (!whole) tc_buf_puts(b, ", "), tc_sym_srepr(b, s->arg[1]), tc_buf_putc(b, ')');
        tc_buf_puts(b, "))");
        return;
    }
    bool mul = s->op == TC_S_MUL && !s->raw;
    if (mul && s->n > 1 && s->arg[0] == s->arg[s->n - 1]) { /* a lone power */
        tc_buf_puts(b, "Pow(");
        tc_sym_srepr(b, s->arg[0]);
        tc_buf_printf(b, ", Integer(%d))", s->n);
        return;
    }
    const char *name = ops[s->op].srepr;
    if (s->op == TC_S_MOD && nonnegative(s->arg[0]) && nonnegative(s->arg[1])) name = "Mod";
    if (s->op == TC_S_FDIV && s->arg[0]->type == TC_SYM_INT && s->arg[1]->type == TC_SYM_INT) name = "IntTrueDiv";
    tc_buf_printf(b, "%s(", name);
    for (int i = 0, k; i < s->n; i = k) {
        for (k = i + 1; mul && k < s->n && s->arg[k] == s->arg[i]; k++) {}
        if (i) tc_buf_puts(b, ", ");
        if (k - i > 1) tc_buf_puts(b, "Pow(");
        tc_sym_srepr(b, s->arg[i]);
        if (k - i > 1) tc_buf_printf(b, ", Integer(%d))", k - i);
    }
    tc_buf_putc(b, ')');
}

tc_sym_bounds tc_sym_bounds_of(int64_t lo, int64_t hi) {
    tc_sym_bounds b;
    const bool from = lo != TC_SYM_NO_LO, to = hi != TC_SYM_NO_HI;
    const char *form = lo == hi ? "%lld" : from && to ? "%lld..%lld" : from ? "at least %lld" : to ? "at most %lld" : "any number";
    snprintf(b.text, sizeof b.text, form, (long long)(from ? lo : hi), (long long)hi);
    return b;
}
