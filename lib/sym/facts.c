/* What is known of symbols: intervals, assumed conditions, equalities; and the simplification of expressions by them. */
#include "sym/node.h"

#include <math.h>

#define NLO TC_SYM_NO_LO
#define NHI TC_SYM_NO_HI

/* ---- interval arithmetic; INT64_MIN and INT64_MAX are the infinities, so a lower limit is at most INT64_MAX - 1 (in_limits) ---- */
static void in_limits(int64_t r[2]) {
    if (r[0] == NHI) r[0] = NHI - 1;
    if (r[1] == NLO) r[1] = NLO + 1;
}

static bool infinite(int64_t v) { return v == NLO || v == NHI; }

static int64_t sat(__int128 v) { return v <= (__int128)NLO ? NLO : v >= (__int128)NHI ? NHI : (int64_t)v; }

static int64_t add_lim(int64_t a, int64_t b) {
    if (infinite(a)) return a;
    if (infinite(b)) return b;
    return sat((__int128)a + b);
}

static int64_t mul_lim(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? NHI : NLO;
    return sat((__int128)a * b);
}

static int64_t div_lim(int64_t a, int64_t b) { /* floor; b != 0 */
    if (infinite(a)) return (a < 0) == (b < 0) ? NHI : NLO;
    if (infinite(b)) return (a < 0) == (b < 0) || a == 0 ? 0 : -1;
    return sym_floordiv_i64(a, b);
}

static void corners(int64_t (*f)(int64_t, int64_t), const int64_t a[2], const int64_t b[2], int64_t *lo, int64_t *hi) {
    int64_t least = NHI, most = NLO; /* lo and hi may point to the limits of a or b */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int64_t v = f(a[i], b[j]);
            if (v < least) least = v;
            if (v > most) most = v;
        }
    *lo = least;
    *hi = most;
}

/* Splits a sum into its part without constant, for which facts are stored, divided by the sign of its first coefficient, and the constant. NULL for
 * constants. */
static tc_sym fact_key(tc_symctx *c, tc_sym s, int64_t *out_const, int64_t *out_sign) {
    sym_term t[SYM_MAX_TERMS];
    int n = sym_terms(s, t, SYM_MAX_TERMS);
    *out_const = 0;
    *out_sign = 1;
    if (n > 0 && !t[n - 1].key) *out_const = t[--n].c;
    if (n <= 0) return NULL;
    if (t[0].c < 0) *out_sign = -1;
    for (int i = 0; i < n && *out_sign < 0; i++)
        if (!tc_mul_i64(t[i].c, -1, &t[i].c)) return NULL;
    return sym_from_terms(c, t, n);
}

/* ---- sums of which one term depends on the others: n - n//2, n - 1 % max(n, 1) ---- */
static void meet(int64_t r[2], int64_t lo, int64_t hi) {
    if (lo > r[0]) r[0] = lo;
    if (hi < r[1]) r[1] = hi;
}

static void range_of_sum(tc_symctx *c, tc_sym a, tc_sym b, int64_t scale, int64_t out[2]) {
    tc_sym s = a && b ? sym_poly_add(c, a, b, scale) : NULL;
    out[0] = NLO, out[1] = NHI;
    if (s) tc_sym_range(c, s, &out[0], &out[1]);
}

/* rest + q * min(x, y ...): between the least and the greatest of rest + q * x, rest + q * y. */
static void with_choice(tc_symctx *c, tc_sym rest, int64_t q, tc_sym key, int64_t r[2]) {
    int64_t least[2] = {NHI, NHI}, most[2] = {NLO, NLO}, b[2];
    for (int i = 0; i < key->n; i++) {
        range_of_sum(c, rest, key->arg[i], q, b);
        for (int k = 0; k < 2; k++) {
            if (b[k] < least[k]) least[k] = b[k];
            if (b[k] > most[k]) most[k] = b[k];
        }
    }
    bool smaller = (key->op == TC_S_MIN) == (q > 0); /* the result is the smallest of the sums, else the largest */
    if (smaller) meet(r, least[0], least[1]);
    else meet(r, most[0], most[1]);
}

/* rest + q * (x // k), k > 0 a constant: (x - k + 1) / k <= x // k <= x / k. */
static void with_quotient(tc_symctx *c, tc_sym rest, int64_t q, tc_sym key, int64_t r[2]) {
    int64_t k, b[2], d[2];
    if (!tc_sym_const_int(key->arg[1], &k) || k <= 0) return;
    tc_sym most = tc_sym_mul(c, rest, tc_sym_int(c, k)), x = key->arg[0], least = tc_sym_sub(c, x, tc_sym_int(c, k - 1));
    range_of_sum(c, most, x, q, b);
    range_of_sum(c, most, least, q, d);
    if (q < 0) { /* lower bound where x // k is greatest */
        int64_t t = b[0];
        b[0] = d[0], d[0] = t;
    }
    int64_t lo = infinite(d[0]) ? d[0] : -sym_floordiv_i64(-d[0], k), up = q < 0 ? d[1] : b[1];
    meet(r, lo, infinite(up) ? up : sym_floordiv_i64(up, k));
}

/* rest + q * (x % m), m > 0: 0 <= x % m <= m - 1. */
static void with_remainder(tc_symctx *c, tc_sym rest, int64_t q, tc_sym key, int64_t r[2]) {
    int64_t m[2], b[2];
    tc_sym_range(c, key->arg[1], &m[0], &m[1]);
    if (m[0] <= 0) return;
    range_of_sum(c, rest, tc_sym_sub(c, key->arg[1], tc_sym_int(c, 1)), q, b);
    if (q < 0) meet(r, b[0], NHI);
    else meet(r, NLO, b[1]);
}

/* S*T - S is S * (T - 1): the range of a symbol that is a factor of every term, times that of the quotient. */
static void with_factor(tc_symctx *c, tc_sym s, sym_term first, int64_t r[2]) {
    for (int i = 0; i < (first.key && first.key->op == TC_S_MUL ? first.key->n : 1); i++) {
        const tc_sym x = first.key && first.key->op == TC_S_MUL ? first.key->arg[i] : first.key, q = x ? sym_poly_divide(c, s, x) : NULL;
        int64_t a[2], b[2], p[2];
        if (!q) continue;
        tc_sym_range(c, x, &a[0], &a[1]);
        tc_sym_range(c, q, &b[0], &b[1]);
        corners(mul_lim, a, b, &p[0], &p[1]);
        meet(r, p[0], p[1]);
        return; /* what is left of further factors is found in q */
    }
}

static void tighten(tc_symctx *c, tc_sym s, int64_t r[2]) {
    sym_term t[8], rest[8];
    int n = c->tight < 3 ? sym_terms(s, t, 8) : 0;
    c->tight++;
    if (n > 1) with_factor(c, s, t[0], r);
    for (int i = 0; i < n; i++) {
        tc_sym key = t[i].key;
        if (!key || (key->op != TC_S_MIN && key->op != TC_S_MAX && key->op != TC_S_FLOORDIV && key->op != TC_S_MOD)) continue;
        int m = 0;
        for (int k = 0; k < n; k++)
            if (k != i) rest[m++] = t[k];
        tc_sym others = sym_from_terms(c, rest, m);
        if (!others) continue;
        if (key->op == TC_S_FLOORDIV) with_quotient(c, others, t[i].c, key, r);
        else if (key->op == TC_S_MOD) with_remainder(c, others, t[i].c, key, r);
        else with_choice(c, others, t[i].c, key, r);
    }
    c->tight--;
}

/* A power is a repeated operand, whose occurrences are adjacent; an even power is not negative. */
static void range_of_product(tc_symctx *c, tc_sym s, int64_t *lo, int64_t *hi) {
    *lo = *hi = 1;
    for (int i = 0, end; i < s->n; i = end) {
        int64_t a[2], p[2];
        tc_sym_range(c, s->arg[i], &a[0], &a[1]);
        p[0] = a[0], p[1] = a[1];
        for (end = i + 1; end < s->n && s->arg[end] == s->arg[i]; end++) corners(mul_lim, p, a, &p[0], &p[1]);
        if ((end - i) % 2 == 0 && p[0] < 0) p[0] = 0;
        corners(mul_lim, (int64_t[]){*lo, *hi}, p, lo, hi);
    }
}

static void range_of_terms(tc_symctx *c, tc_sym s, int64_t r[2]) {
    __int128 lo = 0, hi = 0; /* partial sums may leave 64 bits and come back */
    bool no_lo = false, no_hi = false;
    for (int i = 0; i < s->n; i++) {
        int64_t b[2];
        tc_sym_range(c, s->arg[i], &b[0], &b[1]);
        lo += b[0], hi += b[1];
        no_lo |= b[0] == NLO, no_hi |= b[1] == NHI;
    }
    r[0] = no_lo ? NLO : sat(lo);
    r[1] = no_hi ? NHI : sat(hi);
    if (!s->raw) tighten(c, s, r);
}

/* The range of an operation on numbers in a[0]..a[1] and b[0]..b[1]; *lo and *hi start unbounded. */
static void range_of_pair(tc_symop op, const int64_t a[2], const int64_t b[2], int64_t *lo, int64_t *hi) {
    switch (op) {
    case TC_S_FLOORDIV:
        if (b[0] > 0 || b[1] < 0) corners(div_lim, a, b, lo, hi);
        else if (a[0] >= 0 && b[0] >= 0) *lo = 0, *hi = a[1];
        break;
    case TC_S_MOD:
        if (b[0] > 0) *lo = 0, *hi = b[1] == NHI ? NHI : b[1] - 1;
        else if (b[0] >= 0) *lo = 0;
        if (a[0] >= 0 && b[0] >= 0 && a[1] < *hi) *hi = a[1];
        break;
    case TC_S_MIN:
        *lo = a[0] < b[0] ? a[0] : b[0];
        *hi = a[1] < b[1] ? a[1] : b[1];
        break;
    case TC_S_WHERE:
        *lo = a[0] < b[0] ? a[0] : b[0];
        *hi = a[1] > b[1] ? a[1] : b[1];
        break;
    case TC_S_MAX:
        *lo = a[0] > b[0] ? a[0] : b[0];
        *hi = a[1] > b[1] ? a[1] : b[1];
        break;
    case TC_S_ABS: *lo = a[0] > 0 ? a[0] : a[1] < 0 && a[1] != NLO ? -a[1] : 0; break;
    case TC_S_AND_BITS: /* at most the operand that is not negative */
        if (a[0] >= 0 || b[0] >= 0) *lo = 0;
        if (a[0] >= 0) *hi = a[1];
        if (b[0] >= 0 && b[1] < *hi) *hi = b[1];
        break;
    case TC_S_POW:
    case TC_S_LSHIFT:
    case TC_S_RSHIFT:
    case TC_S_OR_BITS:
    case TC_S_XOR_BITS:
        if (a[0] >= 0 && b[0] >= 0) *lo = 0;
        break;
    default: break;
    }
}

/* The interval of an expression on doubles. Rounded operations are monotone, so its limits are their values at the limits of the operands. */
static void range_of_float(tc_symctx *c, tc_sym s, int depth, double r[2]) {
    double a[2], b[2];
    int64_t lo, hi;
    r[0] = -INFINITY, r[1] = INFINITY;
    if (s->type == TC_SYM_INT) {
        tc_sym_range(c, s, &lo, &hi);
        if (lo != NLO) r[0] = (double)lo;
        if (hi != NHI) r[1] = (double)hi;
    } else if (tc_sym_const_float(s, &a[0])) {
        if (isfinite(a[0])) r[0] = r[1] = a[0];
    } else if (depth && (s->op == TC_S_TOFLOAT || s->op == TC_S_FNEG)) {
        const bool minus = s->op == TC_S_FNEG;
        range_of_float(c, s->arg[0], depth - 1, a);
        r[0] = minus ? -a[1] : a[0];
        r[1] = minus ? -a[0] : a[1];
    } else if (depth && (s->op == TC_S_FADD || s->op == TC_S_FSUB)) {
        const bool minus = s->op == TC_S_FSUB;
        range_of_float(c, s->arg[0], depth - 1, a);
        range_of_float(c, s->arg[1], depth - 1, b);
        r[0] = a[0] + (minus ? -b[1] : b[0]);
        r[1] = a[1] + (minus ? -b[0] : b[1]);
    } else if (depth && (s->op == TC_S_FMUL || s->op == TC_S_FDIV)) { /* of numbers that are not negative */
        const bool quotient = s->op == TC_S_FDIV;
        range_of_float(c, s->arg[0], depth - 1, a);
        range_of_float(c, s->arg[1], depth - 1, b);
        if (a[0] < 0 || b[0] < 0 || (quotient && b[0] == 0)) return;
        r[0] = quotient ? a[0] / b[1] : a[0] * b[0];
        r[1] = quotient ? a[1] / b[0] : a[1] == 0 || b[1] == 0 ? 0 : a[1] * b[1];
    }
}

/* The range of int(x) or floor(x). */
static void range_of_rounded(tc_symctx *c, tc_sym s, int64_t r[2]) {
    double x[2];
    range_of_float(c, s->arg[0], 8, x);
    for (int i = 0; i < 2; i++)
        if (fabs(x[i]) < 9e18) r[i] = (int64_t)(s->op == TC_S_TRUNC ? trunc(x[i]) : floor(x[i]));
}

static void compute_range(tc_symctx *c, tc_sym s, int64_t r[2]) {
    int64_t a[2] = {NLO, NHI}, b[2] = {NLO, NHI};
    const int first = s->op == TC_S_WHERE; /* behind its condition */
    r[0] = NLO, r[1] = NHI;
    if (s->op == TC_S_ADD) {
        range_of_terms(c, s, r);
    } else if (s->op == TC_S_MUL) {
        range_of_product(c, s, &r[0], &r[1]);
    } else if (s->op == TC_S_TRUNC || s->op == TC_S_FLOOR) {
        range_of_rounded(c, s, r);
    } else {
        if (s->arg[first]->type == TC_SYM_INT) tc_sym_range(c, s->arg[first], &a[0], &a[1]);
        if (s->n > first + 1 && s->arg[first + 1]->type == TC_SYM_INT) tc_sym_range(c, s->arg[first + 1], &b[0], &b[1]);
        range_of_pair(s->op, a, b, &r[0], &r[1]);
    }
}

void tc_sym_range(tc_symctx *c, tc_sym s, int64_t *lo, int64_t *hi) {
    node *n = (node *)(uintptr_t)s;
    if (s->op == TC_S_CONST) {
        int64_t r[2] = {s->i, s->i};
        in_limits(r);
        *lo = r[0], *hi = r[1];
        return;
    }
    if (s->op == TC_S_VAR) {
        *lo = s->lo;
        *hi = s->hi;
        return;
    }
    if (n->range_gen != c->gen || n->range_tight > c->tight) {
        n->range_gen = c->gen; /* set first, because the facts below may ask for parts of this expression */
        n->range_tight = (uint8_t)c->tight;
        n->lo = NLO;
        n->hi = NHI;
        int64_t r[2], k, sign;
        compute_range(c, s, r);
        tc_sym key = c->facts.len && s->type == TC_SYM_INT ? fact_key(c, s, &k, &sign) : NULL;
        for (size_t i = 0; key && i < c->facts.len; i++) {
            const sym_fact *f = &c->facts.data[i];
            if (f->key != key) continue;
            int64_t fl = sign > 0 ? f->lo : f->hi == NHI ? NLO : -f->hi, fh = sign > 0 ? f->hi : f->lo == NLO ? NHI : -f->lo;
            fl = add_lim(fl, k);
            fh = add_lim(fh, k);
            if (fl > r[0]) r[0] = fl;
            if (fh < r[1]) r[1] = fh;
        }
        in_limits(r);
        n->lo = r[0];
        n->hi = r[1];
    }
    *lo = n->lo;
    *hi = n->hi;
}

/* ---- simplification ---- */
static bool is_multiple(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_is_int(tc_sym_simplify(c, tc_sym_mod(c, a, b)), 0); }

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t m = a % b;
        a = b, b = m;
    }
    return a < 0 ? -a : a;
}

/* coef * b * (a // b) * rest is coef * a * rest where a % b is known to be 0, and 4 * (a // 8) is a // 2. */
static tc_sym undo_division(tc_symctx *c, tc_sym term) {
    const tc_sym *p = term->op == TC_S_MUL && !term->raw ? term->arg : NULL;
    for (int i = 0; p && i < term->n; i++) {
        int64_t b;
        if (p[i]->op != TC_S_FLOORDIV || !is_multiple(c, p[i]->arg[0], p[i]->arg[1])) continue;
        tc_sym others = tc_sym_int(c, 1);
        for (int k = 0; k < term->n; k++)
            if (k != i) others = tc_sym_mul(c, others, p[k]);
        tc_sym q = sym_poly_divide(c, others, p[i]->arg[1]);
        if (q) return tc_sym_mul(c, q, p[i]->arg[0]);
        sym_term t;
        const int64_t g = sym_terms(others, &t, 1) == 1 && tc_sym_const_int(p[i]->arg[1], &b) && b > 0 ? common_divisor(t.c, b) : 1;
        if (g <= 1) continue;
        const tc_sym less = sym_poly_divide(c, others, tc_sym_int(c, g));
        if (less) return tc_sym_mul(c, less, tc_sym_floordiv(c, p[i]->arg[0], tc_sym_int(c, b / g)));
    }
    return term;
}

/* a // b and a % b without the terms of a that are known to be multiples of b. */
static tc_sym divided(tc_symctx *c, tc_sym s) {
    sym_term t[SYM_MAX_TERMS];
    int64_t b;
    const tc_sym a = s->arg[0];
    if (!tc_sym_const_int(s->arg[1], &b) || b <= 0) return s;
    const int n = sym_terms(a, t, SYM_MAX_TERMS);
    for (int i = 0; i < n; i++) {
        const int64_t others = t[i].key ? b / common_divisor(t[i].c, b) : 1; /* factors of b that are not in the coefficient */
        if (others == 1 || (n == 1 && others == b) || !is_multiple(c, t[i].key, tc_sym_int(c, others))) continue;
        const tc_sym part = sym_from_terms(c, &t[i], 1);
        const tc_sym rest = tc_sym_op(c, s->op, tc_sym_sub(c, a, part), s->arg[1], NULL);
        return s->op == TC_S_MOD ? rest : tc_sym_add(c, tc_sym_floordiv(c, part, s->arg[1]), rest);
    }
    for (size_t i = 0; i < c->equals.len; i++) { /* a % 2 follows from a % 8, a // 4 from a // 2 */
        const tc_sym atom = c->equals.data[i].atom, by = c->equals.data[i].by;
        int64_t m, known;
        if (atom->op != s->op || atom->arg[0] != a || !tc_sym_const_int(atom->arg[1], &m) || m <= 0) continue;
        if (s->op == TC_S_MOD && m % b == 0 && tc_sym_const_int(by, &known)) return tc_sym_int(c, sym_mod_i64(known, b));
        if (s->op == TC_S_FLOORDIV && b % m == 0) return tc_sym_floordiv(c, by, tc_sym_int(c, b / m));
    }
    return s;
}

tc_sym tc_sym_simplify(tc_symctx *c, tc_sym s) {
    node *n = (node *)(uintptr_t)s;
    if (s->op == TC_S_CONST || !c->equals.len) return s;
    if (n->simp_gen == c->gen) return n->simple;
    tc_sym r = s;
    n->simp_gen = c->gen;
    n->simple = s; /* ends cycles: facts about quotients may lead back to s */
    for (size_t i = 0; i < c->equals.len; i++)
        if (c->equals.data[i].atom == s) {
            r = tc_sym_simplify(c, c->equals.data[i].by);
            n->simp_gen = c->gen;
            return n->simple = r;
        }
    int k = tc_sym_arity(s);
    if (k) {
        tc_sym *args = tc_xmalloc(sizeof *args * (size_t)k);
        bool same = true;
        for (int i = 0; i < k; i++) same &= (args[i] = tc_sym_simplify(c, s->arg[i])) == s->arg[i];
        if (!same) r = sym_rebuild(c, s, args);
        free(args);
        if (r->op == TC_S_MUL && !r->raw) r = undo_division(c, r);
        else if (r->op == TC_S_FLOORDIV || r->op == TC_S_MOD) r = divided(c, r);
        if (r != s) r = tc_sym_simplify(c, r);
    }
    n->simp_gen = c->gen;
    return n->simple = r;
}

bool tc_sym_contains(tc_sym s, tc_sym part) {
    if (s == part) return true;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (tc_sym_contains(s->arg[i], part)) return true;
    return false;
}

bool tc_sym_holds_data(tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) {
        const char *name = tc_sym_var_name(s);
        return (name[0] == 'u' && name[1] >= '0' && name[1] <= '9') || !strncmp(name, "zuf", 3);
    }
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (tc_sym_holds_data(tc_sym_arg(s, i))) return true;
    return false;
}

static bool is_assumed(const tc_symctx *c, tc_sym s) {
    for (size_t i = 0; i < c->assumed.len; i++)
        if (c->assumed.data[i] == s) return true;
    return false;
}

/* A relation of floating-point numbers by those assumed of the same two. None of them but != holds of a NaN, so x <= y rules out y < x, while the
 * reverse says nothing. */
static int known_of_floats(tc_symctx *c, tc_symop rel, tc_sym x, tc_sym y) {
    const bool equal = is_assumed(c, tc_sym_op(c, TC_S_EQ, x, y, NULL)), less = is_assumed(c, tc_sym_op(c, TC_S_LT, x, y, NULL)),
               more = is_assumed(c, tc_sym_op(c, TC_S_LT, y, x, NULL));
    if (rel == TC_S_EQ || rel == TC_S_NE) return less || more ? rel == TC_S_NE : equal ? rel == TC_S_EQ : -1;
    if (more || (equal && rel == TC_S_LT)) return 0;
    if (less || equal) return 1;
    return rel == TC_S_LT && is_assumed(c, tc_sym_op(c, TC_S_LE, y, x, NULL)) ? 0 : -1;
}

int tc_sym_known(tc_symctx *c, tc_sym cond) {
    bool v;
    cond = tc_sym_simplify(c, cond);
    if (tc_sym_const_bool(cond, &v)) return v;
    if (cond->type != TC_SYM_BOOL) TC_BUG("known() of something that is no condition");
    if (cond->op == TC_S_AND || cond->op == TC_S_OR) {
        int a = tc_sym_known(c, cond->arg[0]), b = tc_sym_known(c, cond->arg[1]), stop = cond->op == TC_S_OR;
        if (a == stop || b == stop) return stop;
        if (a == !stop && b == !stop) return !stop;
    } else if (cond->op == TC_S_NOT) {
        int a = tc_sym_known(c, cond->arg[0]);
        if (a >= 0) return !a;
    } else if (cond->op >= TC_S_EQ && cond->op <= TC_S_LE && cond->arg[0]->type == TC_SYM_INT) {
        tc_sym again = sym_relation(c, cond->op, cond->arg[0], cond->arg[1]); /* with the facts known by now */
        if (tc_sym_const_bool(again, &v)) return v;
    } else if (cond->op >= TC_S_EQ && cond->op <= TC_S_LE && cond->arg[0]->type == TC_SYM_FLOAT) {
        const int known = known_of_floats(c, cond->op, cond->arg[0], cond->arg[1]);
        if (known >= 0) return known;
    }
    if (is_assumed(c, cond)) return 1;
    return is_assumed(c, tc_sym_op(c, TC_S_NOT, cond, NULL, NULL)) ? 0 : -1;
}
bool tc_sym_differ(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_known(c, tc_sym_op(c, TC_S_EQ, a, b, NULL)) == 0; }

/* ---- assuming ---- */
static void narrow(tc_symctx *c, tc_sym key, int64_t lo, int64_t hi) {
    c->gen++;
    bool least = key->op == TC_S_MIN && lo != NLO, most = key->op == TC_S_MAX && hi != NHI;
    for (int i = 0; (least || most) && i < key->n; i++) /* lo <= min(a, b) is lo <= a and lo <= b */
        tc_sym_assume(c, least ? tc_sym_op(c, TC_S_LE, tc_sym_int(c, lo), key->arg[i], NULL)
                               : tc_sym_op(c, TC_S_LE, key->arg[i], tc_sym_int(c, hi), NULL));
    if (key->op == TC_S_VAR) {
        tc_sym_set_range(c, key, lo, hi);
        return;
    }
    int64_t g = 0;
    sym_term t[SYM_MAX_TERMS];
    if (key->op == TC_S_MUL && !key->raw && sym_terms(key, t, SYM_MAX_TERMS) == 1 && (g = t[0].c) > 1) { /* 2*s <= 7 is s <= 3 */
        narrow(c, t[0].key, lo == NLO ? NLO : -sym_floordiv_i64(-lo, g), hi == NHI ? NHI : sym_floordiv_i64(hi, g));
        return;
    }
    for (size_t i = 0; i < c->facts.len; i++)
        if (c->facts.data[i].key == key) {
            if (lo > c->facts.data[i].lo) c->facts.data[i].lo = lo;
            if (hi < c->facts.data[i].hi) c->facts.data[i].hi = hi;
            return;
        }
    tc_vec_push(&c->facts, ((sym_fact){key, lo, hi}));
}

/* Facts about e // d or e % d give facts about e: d * q <= e < d * q + d for the quotient q (d > 0), and e == d * (e // d) + e % d once both are
 * known. */
static void of_dividend(tc_symctx *c, tc_sym atom) {
    const tc_sym e = atom->arg[0], d = atom->arg[1];
    const tc_sym q = tc_sym_simplify(c, tc_sym_floordiv(c, e, d)), rest = tc_sym_simplify(c, tc_sym_mod(c, e, d)), whole = tc_sym_mul(c, d, q);
    int64_t k;
    if (q->op == TC_S_FLOORDIV) return;
    if (rest->op != TC_S_MOD) tc_sym_assume(c, tc_sym_op(c, TC_S_EQ, e, tc_sym_add(c, whole, rest), NULL));
    if (tc_sym_const_int(d, &k) && k > 0) {
        tc_sym_assume(c, tc_sym_op(c, TC_S_LE, whole, e, NULL));
        tc_sym_assume(c, tc_sym_op(c, TC_S_LT, e, tc_sym_add(c, whole, d), NULL));
    }
}

/* Tries again the unsolved equations that contain the atom, which is known now: 2*(3*B//2) == 3*B and 3*B//2 == 6 give B == 4. */
static void solve_again(tc_symctx *c, tc_sym atom) {
    for (size_t i = 0; i < c->unsolved.len; i++) {
        const tc_sym old = c->unsolved.data[i];
        if (!tc_sym_contains(old, atom)) continue;
        const tc_sym now = tc_sym_simplify(c, old);
        if (now == old) continue;
        c->unsolved.data[i--] = c->unsolved.data[--c->unsolved.len];
        tc_sym_assume(c, now);
    }
}

/* Bounds of sums that hold the atom that is now known hold of what these have become: facts are looked up by simplified sums. */
static void bound_again(tc_symctx *c, tc_sym atom) {
    for (size_t i = 0, n = c->facts.len; i < n; i++) {
        const sym_fact f = c->facts.data[i];
        const tc_sym now = tc_sym_contains(f.key, atom) ? tc_sym_simplify(c, f.key) : f.key;
        int64_t k, sign;
        const tc_sym key = now == f.key ? NULL : fact_key(c, now, &k, &sign); /* lo <= sign * key + k <= hi */
        if (!key) continue;
        const int64_t lo = add_lim(f.lo, -k), hi = add_lim(f.hi, -k);
        narrow(c, key, sign > 0 ? lo : mul_lim(hi, -1), sign > 0 ? hi : mul_lim(lo, -1));
    }
}

/* What min(72, A*B) is equal to is so of what it has become, min(72, 2*B), where the atom is A: equalities are looked up by simplified atoms. */
static void equal_again(tc_symctx *c, tc_sym atom) {
    for (size_t i = 0, n = c->equals.len; i < n; i++) {
        const sym_equal e = c->equals.data[i];
        if (e.atom == atom || !tc_sym_contains(e.atom, atom)) continue;
        tc_sym *args = tc_xmalloc(sizeof *args * (size_t)tc_sym_arity(e.atom));
        for (int k = 0; k < tc_sym_arity(e.atom); k++) args[k] = tc_sym_simplify(c, e.atom->arg[k]);
        tc_sym_assume(c, tc_sym_op(c, TC_S_EQ, sym_rebuild(c, e.atom, args), e.by, NULL));
        free(args);
    }
}

/* A sum that is equal to a number, B*T == 20 */
static void bound_by(tc_symctx *c, tc_sym difference) {
    int64_t k, sign;
    tc_sym key = fact_key(c, difference, &k, &sign); /* sign * key + k == 0 */
    if (key) narrow(c, key, sign > 0 ? -k : k, sign > 0 ? -k : k);
}

static void equate(tc_symctx *c, tc_sym a, tc_sym b) {
    if (a->type != TC_SYM_INT || b->type != TC_SYM_INT) return;
    tc_sym d = sym_difference(c, a, b);
    sym_term t[SYM_MAX_TERMS], rest[SYM_MAX_TERMS];
    const bool data = tc_sym_holds_data(d);
    int n = sym_terms(d, t, SYM_MAX_TERMS), best = -1;
    /* The youngest symbol with coefficient 1 or -1, else another such atom; never the size of an input by numbers that are known only later. */
    for (int i = 0; i < n; i++) {
        if (!t[i].key || (t[i].c != 1 && t[i].c != -1) || !sym_is_atom(t[i].key) || (data && !tc_sym_holds_data(t[i].key))) continue;
        bool inside = false;
        for (int k = 0; k < n; k++)
            if (k != i && t[k].key && tc_sym_contains(t[k].key, t[i].key)) inside = true;
        if (inside) continue;
        if (best < 0 || (t[i].key->op == TC_S_VAR) > (t[best].key->op == TC_S_VAR) ||
            ((t[i].key->op == TC_S_VAR) == (t[best].key->op == TC_S_VAR) && t[i].key->id > t[best].key->id))
            best = i;
    }
    if (best < 0) {
        tc_vec_push(&c->unsolved, tc_sym_op(c, TC_S_EQ, a, b, NULL));
        bound_by(c, d);
        return;
    }
    int m = 0;
    for (int i = 0; i < n; i++)
        if (i != best) rest[m++] = (sym_term){t[best].c == 1 ? -t[i].c : t[i].c, t[i].key};
    tc_sym by = sym_from_terms(c, rest, m), atom = t[best].key;
    int64_t lo, hi, k, sign;
    if (!by || tc_sym_contains(by, atom)) return;
    tc_sym_range(c, atom, &lo, &hi);
    tc_sym key = fact_key(c, by, &k, &sign);
    if (key && (lo != NLO || hi != NHI)) { /* the replacement inherits the range of what it replaces */
        int64_t l = add_lim(lo, -k), h = add_lim(hi, -k);
        narrow(c, key, sign > 0 ? l : mul_lim(h, -1), sign > 0 ? h : mul_lim(l, -1));
    }
    tc_sym_range(c, by, &lo, &hi);
    if (atom->op == TC_S_MIN || atom->op == TC_S_MAX) narrow(c, atom, lo, hi);
    if (atom->op == TC_S_VAR) tc_sym_set_range(c, atom, lo, hi);
    tc_vec_push(&c->equals, ((sym_equal){atom, by}));
    c->gen++;
    solve_again(c, atom); /* first: an equation says more than the bounds that it has */
    equal_again(c, atom);
    bound_again(c, atom);
    if (atom->op == TC_S_FLOORDIV || atom->op == TC_S_MOD) of_dividend(c, atom);
}

static void assume(tc_symctx *c, tc_sym cond, bool substitute) {
    int64_t k, sign;
    cond = tc_sym_simplify(c, cond);
    if (cond->op == TC_S_CONST) return;
    if (cond->op == TC_S_AND) {
        assume(c, cond->arg[0], substitute);
        assume(c, cond->arg[1], substitute);
        return;
    }
    if (!is_assumed(c, cond)) tc_vec_push(&c->assumed, cond);
    c->gen++;
    if (cond->op == TC_S_EQ && substitute) equate(c, cond->arg[0], cond->arg[1]);
    if (cond->op == TC_S_EQ && !substitute && cond->arg[0]->type == TC_SYM_INT && cond->arg[1]->type == TC_SYM_INT)
        bound_by(c, sym_difference(c, cond->arg[0], cond->arg[1]));
    if (cond->op == TC_S_LE && cond->arg[0]->type == TC_SYM_INT && cond->arg[1]->type == TC_SYM_INT) {
        tc_sym key = fact_key(c, sym_difference(c, cond->arg[0], cond->arg[1]), &k, &sign); /* sign * key + k <= 0 */
        if (key && sign > 0) narrow(c, key, NLO, -k);
        else if (key) narrow(c, key, k, NHI);
    }
    if (cond->op == TC_S_NE) { /* narrows a range if it excludes an end */
        int64_t lo, hi;
        tc_sym key = fact_key(c, sym_difference(c, cond->arg[0], cond->arg[1]), &k, &sign);
        if (!key) return;
        tc_sym_range(c, key, &lo, &hi);
        int64_t bad = sign > 0 ? -k : k;
        if (lo == bad) narrow(c, key, bad + 1, NHI);
        else if (hi == bad) narrow(c, key, NLO, bad - 1);
    }
}

void tc_sym_assume(tc_symctx *c, tc_sym cond) { assume(c, cond, true); }
void tc_sym_promise(tc_symctx *c, tc_sym cond) { assume(c, cond, false); }
