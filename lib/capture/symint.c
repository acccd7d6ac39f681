/* Symbolic numbers (SymInt, SymFloat, SymBool): dynamic sizes, data-dependent numbers, and expressions of them. A branch on one that its range does not
 * decide is decided by the example value and recorded as a guard. */
#include "capture/suggest.h"
#include "capture/draft.h"
#include "capture/torch.h"

#include <math.h>

static tc_symctx *ctx(C *c) { return tc_torch_program(c)->sym; }

V tc_symv(C *c, tc_sym s) {
    int64_t i;
    double f;
    bool b;
    tc_status large = tc_sym_check(ctx(c));
    if (large) tc_raise_status(c, "RuntimeError", large);
    switch (tc_sym_type(s)) {
    case TC_SYM_INT:
        if (tc_sym_const_int(s, &i)) return tc_int(c, i);
        break;
    case TC_SYM_FLOAT:
        if (tc_sym_const_float(s, &f)) return tc_float(c, f);
        break;
    default:
        if (tc_sym_const_bool(s, &b)) return tc_bool(c, b);
    }
    symobj *o = tc_new(c, K_SYM, sizeof *o);
    o->s = s;
    return (V)o;
}

tc_sym tc_to_sym(C *c, V v) {
    int64_t i;
    switch (tc_kind_of(v)) {
    case K_SYM: return ((symobj *)v)->s;
    case K_INT: return tc_int_fits(v, &i) ? tc_sym_int(ctx(c), i) : NULL;
    case K_FLOAT: return tc_sym_float(ctx(c), tc_flt(v));
    case K_BOOL: return tc_sym_bool(ctx(c), v == c->true_);
    default: return NULL;
    }
}

/* Bools count as 0 and 1 in arithmetic. */
static tc_sym number(tc_symctx *s, tc_sym a) {
    return tc_sym_type(a) == TC_SYM_BOOL ? tc_sym_op(s, TC_S_WHERE, a, tc_sym_int(s, 1), tc_sym_int(s, 0)) : a;
}
static tc_sym to_float(tc_symctx *s, tc_sym a) { return tc_sym_type(a) == TC_SYM_FLOAT ? a : tc_sym_op(s, TC_S_TOFLOAT, a, NULL, NULL); }

V tc_sym_binary(C *c, int op, V va, V vb) {
    tc_sym a = tc_to_sym(c, va), b = tc_to_sym(c, vb);
    if (!a || !b) return NULL;
    tc_symctx *s = ctx(c);
    if (tc_sym_type(a) == TC_SYM_BOOL && tc_sym_type(b) == TC_SYM_BOOL && (op == '&' || op == '|'))
        return tc_symv(c, tc_sym_op(s, op == '&' ? TC_S_AND : TC_S_OR, a, b, NULL));
    a = number(s, a), b = number(s, b);
    bool fl = tc_sym_type(a) == TC_SYM_FLOAT || tc_sym_type(b) == TC_SYM_FLOAT;
    int64_t k;
    if (!fl) {
        if ((op == 'f' || op == '%' || op == '/') && tc_sym_is_int(b, 0)) tc_raise(c, "ZeroDivisionError", "integer division or modulo by zero");
        switch (op) {
        case '+': return tc_symv(c, tc_sym_add(s, a, b));
        case '-': return tc_symv(c, tc_sym_sub(s, a, b));
        case '*': return tc_symv(c, tc_sym_mul(s, a, b));
        case 'f': return tc_symv(c, tc_sym_floordiv(s, a, b));
        case '%': return tc_symv(c, tc_sym_mod(s, a, b));
        case '/': return tc_symv(c, tc_sym_op(s, TC_S_FDIV, a, b, NULL));
        case 'p':
            if (tc_sym_const_int(b, &k) && k < 0) return tc_symv(c, tc_sym_op(s, TC_S_FPOW, to_float(s, a), to_float(s, b), NULL));
            return tc_symv(c, tc_sym_op(s, TC_S_POW, a, b, NULL));
        case 'm': return tc_symv(c, tc_sym_min(s, a, b));
        case 'M': return tc_symv(c, tc_sym_max(s, a, b));
        case 'l': return tc_symv(c, tc_sym_op(s, TC_S_LSHIFT, a, b, NULL));
        case 'r': return tc_symv(c, tc_sym_op(s, TC_S_RSHIFT, a, b, NULL));
        case '&': return tc_symv(c, tc_sym_op(s, TC_S_AND_BITS, a, b, NULL));
        case '|': return tc_symv(c, tc_sym_op(s, TC_S_OR_BITS, a, b, NULL));
        case '^': return tc_symv(c, tc_sym_op(s, TC_S_XOR_BITS, a, b, NULL));
        default: return NULL;
        }
    }
    tc_symop f = op == '+'   ? TC_S_FADD
                 : op == '-' ? TC_S_FSUB
                 : op == '*' ? TC_S_FMUL
                 : op == '/' ? TC_S_FDIV
                 : op == '%' ? TC_S_FMOD
                 : op == 'f' ? TC_S_FFLOORDIV
                 : op == 'p' ? TC_S_FPOW
                 : op == 'm' ? TC_S_FMIN
                 : op == 'M' ? TC_S_FMAX
                             : TC_S_CONST;
    if (f == TC_S_CONST) return NULL;
    return tc_symv(c, tc_sym_op(s, f, to_float(s, a), to_float(s, b), NULL));
}

V tc_sym_compare(C *c, int op, V va, V vb) {
    tc_sym a = tc_to_sym(c, va), b = tc_to_sym(c, vb);
    if (!a || !b) return NULL;
    tc_symctx *s = ctx(c);
    a = number(s, a), b = number(s, b);
    if (tc_sym_type(a) == TC_SYM_FLOAT || tc_sym_type(b) == TC_SYM_FLOAT) a = to_float(s, a), b = to_float(s, b);
    switch (op) {
    case '<': return tc_symv(c, tc_sym_op(s, TC_S_LT, a, b, NULL));
    case 'L': return tc_symv(c, tc_sym_op(s, TC_S_LE, a, b, NULL));
    case '>': return tc_symv(c, tc_sym_op(s, TC_S_LT, b, a, NULL));
    case 'G': return tc_symv(c, tc_sym_op(s, TC_S_LE, b, a, NULL));
    case '=': return tc_symv(c, tc_sym_op(s, TC_S_EQ, a, b, NULL));
    default: return tc_symv(c, tc_sym_op(s, TC_S_NE, a, b, NULL));
    }
}

V tc_sym_unary(C *c, int op, V v) {
    tc_symctx *s = ctx(c);
    tc_sym a = ((symobj *)v)->s;
    tc_symtype t = tc_sym_type(a);
    switch (op) {
    case '+': return v;
    case '-': a = number(s, a); return tc_symv(c, tc_sym_type(a) == TC_SYM_FLOAT ? tc_sym_op(s, TC_S_FNEG, a, NULL, NULL) : tc_sym_neg(s, a));
    case '~': return tc_symv(c, tc_sym_sub(s, tc_sym_neg(s, number(s, a)), tc_sym_int(s, 1)));
    case 'n':
        if (t == TC_SYM_BOOL) return tc_symv(c, tc_sym_op(s, TC_S_NOT, a, NULL, NULL));
        return tc_bool(c, !tc_sym_truth(c, v));
    case 'a': a = number(s, a); return tc_symv(c, tc_sym_op(s, tc_sym_type(a) == TC_SYM_FLOAT ? TC_S_FABS : TC_S_ABS, a, NULL, NULL));
    case 'i': return tc_symv(c, t == TC_SYM_FLOAT ? tc_sym_op(s, TC_S_TRUNC, a, NULL, NULL) : number(s, a));
    case 'f': return tc_symv(c, to_float(s, number(s, a)));
    case 'b': return t == TC_SYM_BOOL ? v : tc_sym_compare(c, '!', v, tc_int(c, 0));
    case 'o': return tc_symv(c, t == TC_SYM_FLOAT ? tc_sym_op(s, TC_S_ROUND, a, NULL, NULL) : a);
    default: return v;
    }
}

V tc_sym_math(C *c, tc_symop op, V v) {
    tc_symctx *s = ctx(c);
    tc_sym a = number(s, ((symobj *)v)->s);
    if ((op == TC_S_FLOOR || op == TC_S_CEIL || op == TC_S_TRUNC) && tc_sym_type(a) == TC_SYM_INT) return tc_symv(c, a);
    return tc_symv(c, tc_sym_op(s, op, to_float(s, a), NULL, NULL));
}

/* v.is_integer(); of a quotient of integers it is a condition on the remainder, which guards state exactly. */
V tc_sym_is_integer(C *c, V v) {
    tc_symctx *s = ctx(c);
    tc_sym a = number(s, ((symobj *)v)->s);
    if (tc_sym_type(a) != TC_SYM_FLOAT) return c->true_;
    if (tc_sym_opcode(a) == TC_S_FDIV && tc_sym_type(tc_sym_arg(a, 0)) == TC_SYM_INT && tc_sym_type(tc_sym_arg(a, 1)) == TC_SYM_INT)
        return tc_symv(c, tc_sym_op(s, TC_S_EQ, tc_sym_mod(s, tc_sym_arg(a, 0), tc_sym_arg(a, 1)), tc_sym_int(s, 0), NULL));
    return tc_sym_compare(c, '=', tc_sym_math(c, TC_S_FLOOR, v), v);
}

/* Does the expression contain a data-dependent number (u0, u1 ...)? */
static bool unbacked(C *c, tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) return !tc_torch_hint(c, s, NULL);
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (unbacked(c, tc_sym_arg(s, i))) return true;
    return false;
}

static const char *text_of(C *c, tc_sym s) {
    tc_buf b = {0};
    tc_sym_print(&b, s);
    const char *t = tc_arena_strndup(&c->arena, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    return t;
}

bool tc_sym_from_data(C *c, V v) {
    tc_sym s = ((symobj *)v)->s;
    return tc_sym_type(s) == TC_SYM_BOOL ? tc_sym_known(ctx(c), s) < 0 && unbacked(c, s) : unbacked(c, s);
}

_Noreturn static void data_dependent(C *c, tc_sym s, const char *what, const char *part) {
    bool branch = tc_sym_type(s) == TC_SYM_BOOL;
    tc_raise_data(c, branch ? tc_suggest_branch(c, s, -1) : tc_suggest_number(c, s, part, NULL),
                  "%s depends on data: the number %s comes from a tensor (.item() or a shape that data decide); use torch.cond, torch.where or "
                  "torch.while_loop",
                  what, text_of(c, s));
}

bool tc_sym_truth(C *c, V v) {
    tc_symctx *s = ctx(c);
    tc_sym a = ((symobj *)v)->s;
    if (tc_sym_type(a) != TC_SYM_BOOL) {
        V b = tc_sym_compare(c, '!', v, tc_int(c, 0));
        if (tc_kind_of(b) != K_SYM) return tc_truth(c, b);
        a = ((symobj *)b)->s;
    }
    int k = tc_sym_known(s, a);
    if (k >= 0) return k;
    tc_symvalue val = {0};
    if (unbacked(c, a)) {
        if (c->draft && tc_draft_decide(c, a, "a branch", "", &val)) return val.i != 0;
        data_dependent(c, a, "a branch", "");
    }
    if (!tc_torch_eval_hint(c, a, &val)) data_dependent(c, a, "a branch", "");
    bool yes = val.i != 0;
    tc_sym cond = yes ? a : tc_sym_op(s, TC_S_NOT, a, NULL, NULL);
    tc_program_guard(tc_torch_program(c), (tc_guard){.cond = cond, .source = tc_here(c), .branch = true});
    return yes;
}

/* ---- conditions that the source asks for: torch._check, assert ---- */
static bool all_hold(C *c, tc_sym cond) {
    const tc_program *p = tc_torch_program(c);
    tc_symvalue v;
    if (!tc_torch_eval_hint(c, cond, &v) || !v.i) return false;
    for (size_t i = 0; i < p->guards.len; i++) /* simplified: a guard that fixed a size against its example holds */
        if (tc_torch_eval_hint(c, tc_sym_simplify(ctx(c), p->guards.data[i].cond), &v) && !v.i) return false;
    return true;
}

/* Finds another value for a symbol of s without an example, for which cond and all guards hold. */
static bool choose_hint(C *c, tc_sym s, tc_sym cond) {
    enum { TRIES = 4096 };
    int64_t lo, hi, given;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (choose_hint(c, tc_sym_arg(s, i), cond)) return true;
    if (tc_sym_opcode(s) != TC_S_VAR || tc_sym_type(s) != TC_SYM_INT || tc_program_example(tc_torch_program(c), s, &given)) return false;
    tc_symvalue *hint = &c->torch->hint[tc_sym_var_index(s)], was = *hint;
    tc_sym_range(ctx(c), s, &lo, &hi);
    for (int64_t v = lo > 2 || hi < 2 ? lo : 2, tries = 0; v <= hi && tries < TRIES; v++, tries++) { /* 0 and 1 are bad examples */
        hint->i = v;
        if (all_hold(c, cond)) return true;
    }
    *hint = was;
    return false;
}

bool tc_sym_require(C *c, V v) {
    tc_sym cond = ((symobj *)v)->s;
    if (tc_sym_type(cond) != TC_SYM_BOOL || tc_sym_known(ctx(c), cond) >= 0 || unbacked(c, cond)) return tc_sym_truth(c, v);
    tc_symvalue val;
    if ((!tc_torch_eval_hint(c, cond, &val) || !val.i) && !choose_hint(c, cond, cond)) return tc_sym_truth(c, v);
    tc_program_guard(tc_torch_program(c), (tc_guard){.cond = cond, .source = tc_here(c)});
    return true;
}

/* The number itself is needed (a loop count, a list index): it is fixed, with a guard. */
V tc_sym_force_as(C *c, V v, const char *part) {
    tc_symctx *s = ctx(c);
    tc_sym a = tc_sym_simplify(s, ((symobj *)v)->s);
    int64_t i;
    double f;
    if (tc_sym_type(a) == TC_SYM_INT && tc_sym_const_int(a, &i)) return tc_int(c, i);
    if (tc_sym_type(a) == TC_SYM_FLOAT && tc_sym_const_float(a, &f)) return tc_float(c, f);
    int64_t lo, hi;
    if (tc_sym_type(a) == TC_SYM_INT) {
        tc_sym_range(s, a, &lo, &hi);
        if (lo == hi && unbacked(c, a)) return tc_int(c, lo); /* promised (torch._check) */
    }
    tc_symvalue val = {0};
    if (c->draft && unbacked(c, a) && tc_draft_decide(c, a, "a number", part, &val))
        return tc_sym_type(a) == TC_SYM_INT ? tc_int(c, val.i) : tc_sym_type(a) == TC_SYM_FLOAT ? tc_float(c, val.f) : tc_bool(c, val.i != 0);
    if (unbacked(c, a)) data_dependent(c, a, "a loop count, list index or Python number (range, index)", part);
    if (!tc_torch_eval_hint(c, a, &val)) data_dependent(c, a, "a Python number", part);
    if (tc_sym_type(a) == TC_SYM_BOOL) return tc_bool(c, tc_sym_truth(c, v));
    tc_sym k = tc_sym_type(a) == TC_SYM_INT ? tc_sym_int(s, val.i) : tc_sym_float(s, val.f);
    tc_sym cond = tc_sym_op(s, TC_S_EQ, a, k, NULL);
    tc_program_guard(tc_torch_program(c), (tc_guard){.cond = cond, .source = tc_here(c), .value = true});
    return tc_sym_type(a) == TC_SYM_INT ? tc_int(c, val.i) : tc_float(c, val.f);
}
