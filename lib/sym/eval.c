/* Evaluates expressions for given values of their symbols. */
#include "sym/node.h"

#include <math.h>

bool tc_symop_float_value(int op, double x, double y, double *out); /* defined in sym.c: the same function folds constants */

typedef struct {
    const tc_symvalue *vars;
    size_t n;
    int depth;
} env;

static tc_status eval(const env *e, tc_sym s, tc_symvalue *out);

static tc_status overflow(tc_sym s) {
    tc_buf b = {0};
    tc_sym_print(&b, s);
    tc_status st = tc_error(TC_CONTENT, "size %s overflows 64 bits", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static tc_status by_zero(tc_sym s) {
    tc_buf b = {0};
    tc_sym_print(&b, s);
    tc_status st = tc_error(TC_CONTENT, "division by zero in %s", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static double as_double(tc_sym s, const tc_symvalue *v) { return s->type == TC_SYM_FLOAT ? v->f : (double)v->i; }

/* int / int, correctly rounded also for ints beyond 2^53. */
static double true_div(int64_t a, int64_t b) {
    if (llabs(a) <= (1LL << 53) && llabs(b) <= (1LL << 53)) return (double)a / (double)b;
    return (double)((long double)a / (long double)b);
}

static tc_status eval_int(const env *e, tc_sym s, const tc_symvalue *x, const tc_symvalue *y, tc_symvalue *out) {
    int64_t a = x->i, b = y ? y->i : 0, r = 0;
    double f = as_double(s->arg[0], x);
    (void)e;
    switch (s->op) {
    case TC_S_FLOORDIV:
    case TC_S_MOD:
        if (b == 0) return by_zero(s);
        if (b == -1) r = s->op == TC_S_MOD ? 0 : -(uint64_t)a;
        else r = s->op == TC_S_MOD ? sym_mod_i64(a, b) : sym_floordiv_i64(a, b);
        break;
    case TC_S_POW:
        if (b < 0) return overflow(s);
        for (r = 1; b > 0 && r != 0; b--) {
            if (a == 1 || (a == -1 && b % 2 == 0)) break;
            if (!tc_mul_i64(r, a, &r)) return overflow(s);
        }
        break;
    case TC_S_MIN: r = a < b ? a : b; break;
    case TC_S_MAX: r = a > b ? a : b; break;
    case TC_S_ABS: r = a < 0 ? (int64_t) - (uint64_t)a : a; break;
    case TC_S_TRUNC: f = trunc(f); goto whole;
    case TC_S_FLOOR: f = floor(f); goto whole;
    case TC_S_CEIL: f = ceil(f); goto whole;
    case TC_S_ROUND:
        f = nearbyint(f);
    whole:
        if (!(fabs(f) < 9.2e18)) return overflow(s);
        r = (int64_t)f;
        break;
    case TC_S_LSHIFT:
        if (b < 0 || b > 62 || a > INT64_MAX >> b || a < INT64_MIN >> b) return overflow(s);
        r = (int64_t)((uint64_t)a << b);
        break;
    case TC_S_RSHIFT:
        if (b < 0) return overflow(s);
        r = a >> (b > 63 ? 63 : b);
        break;
    case TC_S_AND_BITS: r = a & b; break;
    case TC_S_OR_BITS: r = a | b; break;
    case TC_S_XOR_BITS: r = a ^ b; break;
    default: TC_BUG("operation %d is not of ints", s->op);
    }
    out->i = r;
    return NULL;
}

static tc_status eval_bool(tc_sym s, const tc_symvalue *x, const tc_symvalue *y, tc_symvalue *out) {
    bool ints = s->arg[0]->type != TC_SYM_FLOAT && s->n > 1 && s->arg[1]->type != TC_SYM_FLOAT;
    double a = as_double(s->arg[0], x), b = s->n > 1 ? as_double(s->arg[1], y) : 0;
    switch (s->op) {
    case TC_S_EQ: out->i = ints ? x->i == y->i : a == b; break;
    case TC_S_NE: out->i = ints ? x->i != y->i : a != b; break;
    case TC_S_LT: out->i = ints ? x->i < y->i : a < b; break;
    case TC_S_LE: out->i = ints ? x->i <= y->i : a <= b; break;
    case TC_S_NOT: out->i = !x->i; break;
    default: TC_BUG("operation %d is no condition", s->op);
    }
    return NULL;
}

static tc_status eval(const env *outer, tc_sym s, tc_symvalue *out) {
    env e = *outer;
    tc_symvalue x = {.i = 0}, y = {.i = 0};
    out->bound = true;
    if (s->op == TC_S_CONST) {
        out->i = s->i; /* also copies the bits of a double */
        return NULL;
    }
    if (s->op == TC_S_VAR) {
        if ((size_t)s->n >= e.n || !e.vars[s->n].bound) return tc_error(TC_CONTENT, "size %s is not known", s->name);
        *out = e.vars[s->n];
        return NULL;
    }
    if (++e.depth > 2000) return tc_error(TC_CONTENT, "a size expression is nested more than 2000 deep");
    TC_TRY(eval(&e, s->arg[0], &x));
    if (s->op == TC_S_ADD || s->op == TC_S_MUL) {
        for (int i = 1; i < s->n; i++) {
            TC_TRY(eval(&e, s->arg[i], &y));
            if (!(s->op == TC_S_ADD ? tc_add_i64(x.i, y.i, &x.i) : tc_mul_i64(x.i, y.i, &x.i))) return overflow(s);
        }
        out->i = x.i;
        return NULL;
    }
    if (s->op == TC_S_WHERE) return eval(&e, s->arg[x.i ? 1 : 2], out);
    if (s->op == TC_S_AND || s->op == TC_S_OR) {
        if ((x.i != 0) == (s->op == TC_S_OR)) {
            out->i = x.i != 0;
            return NULL;
        }
        return eval(&e, s->arg[1], out);
    }
    if (s->n > 1) TC_TRY(eval(&e, s->arg[1], &y));
    if (s->type == TC_SYM_INT) return eval_int(&e, s, &x, s->n > 1 ? &y : NULL, out);
    if (s->type == TC_SYM_BOOL) return eval_bool(s, &x, &y, out);
    if (s->op == TC_S_FDIV && s->arg[0]->type == TC_SYM_INT && s->arg[1]->type == TC_SYM_INT && y.i != 0) {
        out->f = true_div(x.i, y.i);
        return NULL;
    }
    if (!tc_symop_float_value(s->op, as_double(s->arg[0], &x), s->n > 1 ? as_double(s->arg[1], &y) : 0, &out->f)) {
        if (s->op == TC_S_FDIV || s->op == TC_S_FMOD || s->op == TC_S_FFLOORDIV) return by_zero(s);
        return tc_error(TC_CONTENT, "a size expression leaves the domain of its function");
    }
    return NULL;
}

tc_status tc_sym_eval(tc_sym s, const tc_symvalue *vars, size_t nvars, tc_symvalue *out) {
    env e = {vars, nvars, 0};
    return eval(&e, s, out);
}

tc_status tc_sym_eval_int(tc_sym s, const tc_symvalue *vars, size_t nvars, int64_t *out) {
    tc_symvalue v;
    if (s->op == TC_S_CONST && s->type == TC_SYM_INT) {
        *out = s->i;
        return NULL;
    }
    if (s->type == TC_SYM_FLOAT) TC_BUG("a float expression where an int is expected");
    TC_TRY(tc_sym_eval(s, vars, nvars, &v));
    *out = v.i;
    return NULL;
}

bool tc_sym_bound(tc_sym s, const tc_symvalue *vars, size_t nvars) {
    if (s->op == TC_S_VAR) return (size_t)s->n < nvars && vars[s->n].bound;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (!tc_sym_bound(s->arg[i], vars, nvars)) return false;
    return true;
}
