/* Contexts, hash-consing and the simplifying constructor of expressions. */
#include "sym/node.h"

#include <math.h>

tc_symctx *tc_symctx_create(void) {
    tc_symctx *c = tc_xcalloc(1, sizeof *c);
    c->slots = 256;
    c->table = tc_xcalloc(c->slots, sizeof *c->table);
    c->gen = 1;
    return c;
}

void tc_symctx_destroy(tc_symctx *c) {
    if (!c) return;
    free(c->table);
    tc_vec_free(&c->vars);
    tc_vec_free(&c->facts);
    tc_vec_free(&c->equals);
    tc_vec_free(&c->unsolved);
    tc_vec_free(&c->assumed);
    tc_map_free(&c->by_name);
    tc_arena_free(&c->arena);
    free(c);
}

/* ---- hash-consing ---- */
static void insert(tc_symctx *c, node *n) {
    size_t i = n->hash & (c->slots - 1);
    while (c->table[i]) i = (i + 1) & (c->slots - 1);
    c->table[i] = n;
}

static node *intern(tc_symctx *c, const node *want, const tc_sym *args) {
    int nargs = want->op == TC_S_VAR ? 0 : want->n;
    uint64_t key[3] = {(uint64_t)want->op << 8 | want->type << 4 | want->raw, (uint64_t)want->n, (uint64_t)want->i};
    uint64_t h = tc_hash(key, sizeof key, nargs ? tc_hash(args, sizeof *args * (size_t)nargs, 7) : 7);
    for (size_t i = h & (c->slots - 1); c->table[i]; i = (i + 1) & (c->slots - 1)) {
        node *t = c->table[i];
        if (t->hash == h && t->op == want->op && t->type == want->type && t->raw == want->raw && t->n == want->n && t->i == want->i &&
            (!nargs || !memcmp(t->arg, args, sizeof *args * (size_t)nargs)))
            return t;
    }
    if (c->count * 2 >= c->slots) {
        node **old = c->table;
        size_t nold = c->slots;
        c->slots *= 2;
        c->table = tc_xcalloc(c->slots, sizeof *c->table);
        for (size_t i = 0; i < nold; i++)
            if (old[i]) insert(c, old[i]);
        free(old);
    }
    node *t = tc_arena_alloc(&c->arena, sizeof *t + sizeof *args * (size_t)nargs);
    *t = *want;
    if (nargs) memcpy(t->arg, args, sizeof *args * (size_t)nargs);
    t->hash = h;
    t->ctx = c;
    t->id = (uint32_t)c->count++;
    t->weight = t->depth = 1;
    for (int i = 0; i < nargs; i++) {
        t->weight = args[i]->weight + (i ? t->weight : 0);
        if (t->weight > SYM_MAX_WEIGHT) t->weight = SYM_MAX_WEIGHT + 1;
        if (args[i]->depth >= t->depth) t->depth = args[i]->depth + 1;
    }
    if (t->weight > SYM_MAX_WEIGHT || t->depth > SYM_MAX_DEPTH) c->too_large = true;
    insert(c, t);
    return t;
}

tc_sym sym_node(tc_symctx *c, tc_symop op, tc_symtype type, int n, const tc_sym *args, bool raw) {
    return intern(c, &(node){.op = op, .type = type, .n = n, .raw = raw}, args);
}

tc_sym tc_sym_int(tc_symctx *c, int64_t v) {
    bool small = v >= 0 && v < SYM_SMALL;
    if (small && c->small[v]) return c->small[v];
    tc_sym s = intern(c, &(node){.op = TC_S_CONST, .type = TC_SYM_INT, .i = v}, NULL);
    if (small) c->small[v] = s;
    return s;
}
tc_sym tc_sym_float(tc_symctx *c, double v) { return intern(c, &(node){.op = TC_S_CONST, .type = TC_SYM_FLOAT, .f = v}, NULL); }
tc_sym tc_sym_bool(tc_symctx *c, bool v) { return intern(c, &(node){.op = TC_S_CONST, .type = TC_SYM_BOOL, .i = v}, NULL); }

tc_sym tc_sym_var(tc_symctx *c, const char *name, tc_symtype type, int64_t lo, int64_t hi) {
    void **slot = tc_map_put(&c->by_name, name, strlen(name));
    node *v = *slot;
    if (!v) {
        *slot = v = intern(c, &(node){.op = TC_S_VAR, .type = type, .n = (int)c->vars.len, .lo = TC_SYM_NO_LO, .hi = TC_SYM_NO_HI}, NULL);
        v->name = tc_arena_strdup(&c->arena, name);
        tc_vec_push(&c->vars, v);
    }
    tc_sym_set_range(c, v, lo, hi);
    return v;
}

tc_sym tc_sym_find(const tc_symctx *c, const char *name) { return tc_map_find(&c->by_name, name); }

static void call_it(tc_symctx *c, node *v, const char *name) {
    v->name = name;
    *tc_map_put(&c->by_name, name, strlen(name)) = v;
}
void tc_sym_rename(tc_symctx *c, const tc_sym *var, const char *const *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        node *v = (node *)(uintptr_t)var[i], *has = tc_map_find(&c->by_name, name[i]);
        if (!has || has == v) continue;
        const char *wanted = has->name;
        call_it(c, has, v->name);
        call_it(c, v, wanted);
    }
}

void tc_sym_set_range(tc_symctx *c, tc_sym var, int64_t lo, int64_t hi) {
    node *v = (node *)(uintptr_t)var;
    if (v->op != TC_S_VAR) TC_BUG("range of something that is no symbol");
    if (lo > v->lo || hi < v->hi) c->gen++;
    if (lo > v->lo) v->lo = lo;
    if (hi < v->hi) v->hi = hi;
}

size_t tc_sym_var_count(const tc_symctx *c) { return c->vars.len; }
tc_sym tc_sym_var_at(const tc_symctx *c, size_t i) { return i < c->vars.len ? c->vars.data[i] : NULL; }

tc_status tc_sym_check(const tc_symctx *c) {
    if (!c->too_large) return NULL;
    return tc_error(TC_UNSUPPORTED, "a size or number is an expression of more than %d numbers or %d levels", SYM_MAX_WEIGHT, SYM_MAX_DEPTH);
}

/* ---- reading ---- */
tc_symtype tc_sym_type(tc_sym s) { return s->type; }
tc_symop tc_sym_opcode(tc_sym s) { return s->op; }
int tc_sym_arity(tc_sym s) { return s->op == TC_S_VAR ? 0 : s->n; }
tc_sym tc_sym_arg(tc_sym s, int i) { return s->arg[i]; }
int tc_sym_var_index(tc_sym s) { return s->n; }
const char *tc_sym_var_name(tc_sym s) { return s->name; }

bool tc_sym_const_int(tc_sym s, int64_t *out) {
    if (s->op != TC_S_CONST || s->type != TC_SYM_INT) return false;
    *out = s->i;
    return true;
}

bool tc_sym_const_float(tc_sym s, double *out) {
    if (s->op != TC_S_CONST || s->type == TC_SYM_BOOL) return false;
    *out = s->type == TC_SYM_FLOAT ? s->f : (double)s->i;
    return true;
}

bool tc_sym_const_bool(tc_sym s, bool *out) {
    if (s->op != TC_S_CONST || s->type != TC_SYM_BOOL) return false;
    *out = s->i != 0;
    return true;
}

bool tc_sym_is_int(tc_sym s, int64_t v) { return s->op == TC_S_CONST && s->type == TC_SYM_INT && s->i == v; }

/* ---- constructors ---- */
tc_sym tc_sym_add(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_ADD, a, b, NULL); }
tc_sym tc_sym_mul(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_MUL, a, b, NULL); }
tc_sym tc_sym_product(tc_symctx *c, const tc_sym *s, int n) {
    tc_sym r = tc_sym_int(c, 1);
    for (int i = 0; i < n; i++) r = tc_sym_mul(c, r, s[i]);
    return r;
}
tc_sym tc_sym_floordiv(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_FLOORDIV, a, b, NULL); }
tc_sym tc_sym_mod(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_MOD, a, b, NULL); }
tc_sym tc_sym_min(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_MIN, a, b, NULL); }
tc_sym tc_sym_max(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_op(c, TC_S_MAX, a, b, NULL); }

tc_sym tc_sym_sub(tc_symctx *c, tc_sym a, tc_sym b) {
    if (a->type == TC_SYM_FLOAT || b->type == TC_SYM_FLOAT) return tc_sym_op(c, TC_S_FSUB, a, b, NULL);
    return sym_poly_add(c, a, b, -1);
}

tc_sym tc_sym_neg(tc_symctx *c, tc_sym a) {
    return a->type == TC_SYM_FLOAT ? tc_sym_op(c, TC_S_FNEG, a, NULL, NULL) : sym_poly_add(c, tc_sym_int(c, 0), a, -1);
}

tc_sym tc_sym_ceildiv(tc_symctx *c, tc_sym a, tc_sym b) { return tc_sym_neg(c, tc_sym_floordiv(c, tc_sym_neg(c, a), b)); }

int64_t sym_floordiv_i64(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
int64_t sym_mod_i64(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool const_pair(tc_sym a, tc_sym b, int64_t *x, int64_t *y) { return tc_sym_const_int(a, x) && tc_sym_const_int(b, y); }

static tc_sym plain(tc_symctx *c, tc_symop op, tc_symtype type, tc_sym a, tc_sym b, tc_sym d) {
    return sym_node(c, op, type, d ? 3 : b ? 2 : 1, (tc_sym[]){a, b, d}, false);
}

/* Splits the terms of a into those that d divides, divided by d (coefficients if d is a constant), and the rest. */
static void split_by_const(tc_symctx *c, tc_sym a, int64_t d, tc_sym *out_quot, tc_sym *out_rest) {
    sym_term t[SYM_MAX_TERMS], q[SYM_MAX_TERMS], r[SYM_MAX_TERMS];
    int n = sym_terms(a, t, SYM_MAX_TERMS), nq = 0, nr = 0;
    for (int i = 0; i < n; i++) {
        if (t[i].c % d == 0) {
            q[nq++] = (sym_term){t[i].c / d, t[i].key};
        } else if (!t[i].key) { /* the quotient and remainder of a constant */
            q[nq++] = (sym_term){sym_floordiv_i64(t[i].c, d), NULL};
            r[nr++] = (sym_term){sym_mod_i64(t[i].c, d), NULL};
        } else {
            r[nr++] = t[i];
        }
    }
    *out_quot = n < 0 ? NULL : sym_from_terms(c, q, nq);
    *out_rest = n < 0 ? NULL : sym_from_terms(c, r, nr);
}

static tc_sym floordiv(tc_symctx *c, tc_sym a, tc_sym b) {
    int64_t x, y, lo, hi;
    if (const_pair(a, b, &x, &y) && y != 0 && !(x == INT64_MIN && y == -1)) return tc_sym_int(c, sym_floordiv_i64(x, y));
    if (tc_sym_is_int(b, 1) || tc_sym_is_int(a, 0)) return a;
    if (tc_sym_is_int(b, -1)) return tc_sym_neg(c, a);
    tc_sym q = sym_poly_divide(c, a, b);
    if (q) return q;
    if (tc_sym_const_int(b, &y) && y > 0) {
        tc_sym quot, rest;
        split_by_const(c, a, y, &quot, &rest);
        if (quot && rest && !tc_sym_is_int(quot, 0)) return tc_sym_add(c, quot, floordiv(c, rest, b));
        tc_sym_range(c, a, &lo, &hi);
        if (lo != TC_SYM_NO_LO && hi != TC_SYM_NO_HI && sym_floordiv_i64(lo, y) == sym_floordiv_i64(hi, y))
            return tc_sym_int(c, sym_floordiv_i64(lo, y));
        int64_t inner; /* (a // p) // q == a // (p * q) for positive constants */
        if (a->op == TC_S_FLOORDIV && tc_sym_const_int(a->arg[1], &inner) && inner > 0 && tc_mul_i64(inner, y, &x))
            return floordiv(c, a->arg[0], tc_sym_int(c, x));
        int64_t g = sym_poly_gcd(a);
        for (int64_t t = y; t;) { /* gcd(g, y) */
            int64_t m = g % t;
            g = t;
            t = m;
        }
        if (g > 1) return floordiv(c, sym_poly_divide(c, a, tc_sym_int(c, g)), tc_sym_int(c, y / g));
    }
    return plain(c, TC_S_FLOORDIV, TC_SYM_INT, a, b, NULL);
}

/* (a + n * (x % 24)) % 8 is (a + n * x) % 8: replaces remainders modulo multiples of y by their operands. */
static tc_sym without_remainders(tc_symctx *c, tc_sym a, int64_t y) {
    sym_term t[SYM_MAX_TERMS];
    const int n = sym_terms(a, t, SYM_MAX_TERMS);
    for (int i = 0; i < n; i++) {
        int64_t m;
        if (!t[i].key || t[i].key->op != TC_S_MOD || !tc_sym_const_int(t[i].key->arg[1], &m) || m % y) continue;
        const tc_sym other = tc_sym_mul(c, tc_sym_int(c, t[i].c), tc_sym_sub(c, t[i].key->arg[0], t[i].key));
        return without_remainders(c, tc_sym_add(c, a, other), y);
    }
    return a;
}

static tc_sym mod(tc_symctx *c, tc_sym a, tc_sym b) {
    int64_t x, y, lo, hi;
    if (const_pair(a, b, &x, &y) && y != 0) return tc_sym_int(c, y == -1 ? 0 : sym_mod_i64(x, y));
    if (tc_sym_is_int(b, 1) || tc_sym_is_int(b, -1) || tc_sym_is_int(a, 0) || sym_poly_divide(c, a, b)) return tc_sym_int(c, 0);
    if (tc_sym_const_int(b, &y) && y > 0) {
        tc_sym quot, rest;
        split_by_const(c, a, y, &quot, &rest);
        if (quot && rest && !tc_sym_is_int(quot, 0)) return mod(c, rest, b);
        tc_sym_range(c, a, &lo, &hi);
        if (lo >= 0 && hi < y) return a;
        tc_sym whole = without_remainders(c, a, y);
        if (whole != a) return mod(c, whole, b);
    }
    return plain(c, TC_S_MOD, TC_SYM_INT, a, b, NULL);
}

static tc_sym min_max(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    int64_t lo, hi;
    if (a == b) return a;
    tc_sym_range(c, sym_difference(c, a, b), &lo, &hi);
    if (lo >= 0) return op == TC_S_MAX ? a : b;
    if (hi <= 0) return op == TC_S_MAX ? b : a;
    if (a->op == op && (a->arg[0] == b || a->arg[1] == b)) return a;
    if (b->op == op && (b->arg[0] == a || b->arg[1] == a)) return b;
    return a->id < b->id ? plain(c, op, TC_SYM_INT, a, b, NULL) : plain(c, op, TC_SYM_INT, b, a, NULL);
}

static tc_sym power(tc_symctx *c, tc_sym a, tc_sym b) {
    int64_t x, n;
    if (tc_sym_const_int(b, &n) && n >= 0) {
        if (n <= 8 || tc_sym_const_int(a, &x)) {
            tc_sym r = tc_sym_int(c, 1);
            for (int64_t i = 0; i < n && i < 64; i++) r = tc_sym_mul(c, r, a);
            if (n <= 64 || tc_sym_is_int(a, 0) || tc_sym_is_int(a, 1)) return r;
        }
    }
    return plain(c, TC_S_POW, TC_SYM_INT, a, b, NULL);
}

/* Integer operations that are only folded for constants. */
static tc_sym int_bits(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    int64_t x, y;
    if (const_pair(a, b, &x, &y)) switch (op) {
        case TC_S_LSHIFT:
            if (y >= 0 && y < 62 && x >= 0 && x < (int64_t)1 << (62 - y)) return tc_sym_int(c, x << y);
            break;
        case TC_S_RSHIFT:
            if (y >= 0) return tc_sym_int(c, x >> (y > 63 ? 63 : y));
            break;
        case TC_S_AND_BITS: return tc_sym_int(c, x & y);
        case TC_S_OR_BITS: return tc_sym_int(c, x | y);
        default: return tc_sym_int(c, x ^ y);
        }
    return plain(c, op, TC_SYM_INT, a, b, NULL);
}

static bool always(tc_sym s, bool v) {
    bool b;
    return tc_sym_const_bool(s, &b) && b == v;
}

static tc_sym negation(tc_symctx *c, tc_sym a) {
    bool v;
    if (tc_sym_const_bool(a, &v)) return tc_sym_bool(c, !v);
    bool ints = a->op != TC_S_VAR && a->n == 2 && a->arg[0]->type == TC_SYM_INT;
    switch (a->op) {
    case TC_S_NOT: return a->arg[0];
    case TC_S_EQ: return ints ? sym_relation(c, TC_S_NE, a->arg[0], a->arg[1]) : plain(c, TC_S_NE, TC_SYM_BOOL, a->arg[0], a->arg[1], NULL);
    case TC_S_NE: return ints ? sym_relation(c, TC_S_EQ, a->arg[0], a->arg[1]) : plain(c, TC_S_EQ, TC_SYM_BOOL, a->arg[0], a->arg[1], NULL);
    case TC_S_LE:
        if (ints) return sym_relation(c, TC_S_LT, a->arg[1], a->arg[0]);
        break;
    case TC_S_LT:
        if (ints) return sym_relation(c, TC_S_LE, a->arg[1], a->arg[0]);
        break;
    default: break;
    }
    return plain(c, TC_S_NOT, TC_SYM_BOOL, a, NULL, NULL);
}

static tc_sym and_or(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    bool stop = op == TC_S_OR;
    if (always(a, stop) || always(b, stop)) return tc_sym_bool(c, stop);
    if (always(a, !stop) || a == b) return b;
    if (always(b, !stop)) return a;
    return plain(c, op, TC_SYM_BOOL, a, b, NULL);
}

static double round_half_even(double v) { return nearbyint(v); } /* the library never changes the rounding mode */

/* The value of a float operation on doubles; false if it must not be folded. */
static bool float_value(tc_symop op, double x, double y, double *out) {
    switch (op) {
    case TC_S_TOFLOAT: *out = x; return true;
    case TC_S_FADD: *out = x + y; return true;
    case TC_S_FSUB: *out = x - y; return true;
    case TC_S_FMUL: *out = x * y; return true;
    case TC_S_FDIV: *out = x / y; return y != 0;
    case TC_S_FNEG: *out = -x; return true;
    case TC_S_FMIN: *out = y < x ? y : x; return true;
    case TC_S_FMAX: *out = y > x ? y : x; return true;
    case TC_S_FABS: *out = fabs(x); return true;
    case TC_S_SQRT: *out = sqrt(x); return x >= 0;
    case TC_S_FMOD:
        *out = fmod(x, y);
        if (*out != 0 && (*out < 0) != (y < 0)) *out += y;
        return y != 0;
    case TC_S_FFLOORDIV: *out = floor((x - (fmod(x, y) + (fmod(x, y) != 0 && (fmod(x, y) < 0) != (y < 0) ? y : 0))) / y); return y != 0;
    case TC_S_FPOW: *out = pow(x, y); return true;
    case TC_S_EXP: *out = exp(x); return true;
    case TC_S_LOG: *out = log(x); return x > 0;
    case TC_S_LOG2: *out = log2(x); return x > 0;
    case TC_S_SIN: *out = sin(x); return true;
    case TC_S_COS: *out = cos(x); return true;
    case TC_S_TAN: *out = tan(x); return true;
    case TC_S_TANH: *out = tanh(x); return true;
    default: return false;
    }
}

bool tc_symop_float_value(int op, double x, double y, double *out);
bool tc_symop_float_value(int op, double x, double y, double *out) { return float_value((tc_symop)op, x, y, out); }

static tc_sym float_op(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    double x, y = 0, v;
    int64_t lo, hi;
    if (op == TC_S_FDIV && a->type == TC_SYM_INT && b->type == TC_SYM_INT && tc_sym_const_int(a, &lo) && tc_sym_const_int(b, &hi) &&
        (llabs(lo) > (1LL << 53) || llabs(hi) > (1LL << 53)))
        return plain(c, op, TC_SYM_FLOAT, a, b, NULL); /* the quotient of the doubles would round twice */
    if (tc_sym_const_float(a, &x) && (!b || tc_sym_const_float(b, &y)) && float_value(op, x, y, &v)) return tc_sym_float(c, v);
    if (op == TC_S_TOFLOAT && a->type == TC_SYM_FLOAT) return a;
    if (op == TC_S_FNEG && a->op == TC_S_FNEG) return a->arg[0];
    return plain(c, op, TC_SYM_FLOAT, a, b, NULL);
}

static tc_sym to_int(tc_symctx *c, tc_symop op, tc_sym a) {
    double v;
    if (a->type == TC_SYM_INT) return a;
    if (a->op == TC_S_TOFLOAT) return a->arg[0];
    if (tc_sym_const_float(a, &v) && fabs(v) < 9e18) {
        double r = op == TC_S_TRUNC ? trunc(v) : op == TC_S_FLOOR ? floor(v) : op == TC_S_CEIL ? ceil(v) : round_half_even(v);
        return tc_sym_int(c, (int64_t)r);
    }
    /* one form for the several that archives use: int(x // 1.0) is floor(x), ceil(x) is -floor(-x) */
    if (op == TC_S_TRUNC && a->op == TC_S_FFLOORDIV && tc_sym_const_float(a->arg[1], &v) && v == 1) return to_int(c, TC_S_FLOOR, a->arg[0]);
    if (op == TC_S_CEIL) return tc_sym_neg(c, to_int(c, TC_S_FLOOR, float_op(c, TC_S_FNEG, a, NULL)));
    if (op == TC_S_ROUND) { /* up if the fraction is above half, or half and the floor is odd */
        tc_sym down = to_int(c, TC_S_FLOOR, a), left = float_op(c, TC_S_FSUB, a, float_op(c, TC_S_TOFLOAT, down, NULL)), half = tc_sym_float(c, 0.5);
        tc_sym tie = tc_sym_op(c, TC_S_AND, tc_sym_op(c, TC_S_EQ, left, half, NULL),
                               tc_sym_op(c, TC_S_EQ, tc_sym_op(c, TC_S_MOD, down, tc_sym_int(c, 2), NULL), tc_sym_int(c, 1), NULL), NULL);
        tc_sym up = tc_sym_op(c, TC_S_OR, tc_sym_op(c, TC_S_LT, half, left, NULL), tie, NULL);
        return tc_sym_add(c, down, tc_sym_op(c, TC_S_WHERE, up, tc_sym_int(c, 1), tc_sym_int(c, 0)));
    }
    return plain(c, op, TC_SYM_INT, a, NULL, NULL);
}

static tc_sym compare_other(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    double x, y;
    bool p, q;
    if (tc_sym_const_float(a, &x) && tc_sym_const_float(b, &y))
        return tc_sym_bool(c, op == TC_S_EQ ? x == y : op == TC_S_NE ? x != y : op == TC_S_LT ? x < y : x <= y);
    if (tc_sym_const_bool(a, &p) && tc_sym_const_bool(b, &q))
        return tc_sym_bool(c, op == TC_S_EQ ? p == q : op == TC_S_NE ? p != q : op == TC_S_LT ? p < q : p <= q);
    if (a == b && a->type == TC_SYM_BOOL && (op == TC_S_EQ || op == TC_S_NE)) return tc_sym_bool(c, op == TC_S_EQ);
    return plain(c, op, TC_SYM_BOOL, a, b, NULL);
}

/* The float operation that replaces an int operation if an operand is a float; -1: none. */
static int float_twin(tc_symop op) {
    switch (op) {
    case TC_S_ADD: return TC_S_FADD;
    case TC_S_MUL: return TC_S_FMUL;
    case TC_S_FLOORDIV: return TC_S_FFLOORDIV;
    case TC_S_MOD: return TC_S_FMOD;
    case TC_S_POW: return TC_S_FPOW;
    case TC_S_MIN: return TC_S_FMIN;
    case TC_S_MAX: return TC_S_FMAX;
    case TC_S_ABS: return TC_S_FABS;
    default: return -1;
    }
}

static tc_sym as_int(tc_symctx *c, tc_sym a) {
    if (!a || a->type != TC_SYM_BOOL) return a;
    return tc_sym_op(c, TC_S_WHERE, a, tc_sym_int(c, 1), tc_sym_int(c, 0));
}

tc_sym tc_sym_op(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b, tc_sym d) {
    int64_t lo, hi;
    if (!a) TC_BUG("symbolic operation %d without operand", op);
    if (op != TC_S_WHERE && op < TC_S_EQ) a = as_int(c, a), b = as_int(c, b);
    if (op >= TC_S_ADD && op <= TC_S_ABS && (a->type == TC_SYM_FLOAT || (b && b->type == TC_SYM_FLOAT))) op = (tc_symop)float_twin(op);
    switch (op) {
    case TC_S_CONST:
    case TC_S_VAR: TC_BUG("not an operation");
    case TC_S_ADD: return sym_poly_add(c, a, b, 1);
    case TC_S_MUL: return sym_poly_mul(c, a, b);
    case TC_S_FLOORDIV: return floordiv(c, a, b);
    case TC_S_MOD: return mod(c, a, b);
    case TC_S_POW: return power(c, a, b);
    case TC_S_MIN:
    case TC_S_MAX: return min_max(c, op, a, b);
    case TC_S_ABS: tc_sym_range(c, a, &lo, &hi); return lo >= 0 ? a : hi <= 0 ? tc_sym_neg(c, a) : min_max(c, TC_S_MAX, a, tc_sym_neg(c, a));
    case TC_S_TRUNC:
    case TC_S_FLOOR:
    case TC_S_CEIL:
    case TC_S_ROUND: return to_int(c, op, a);
    case TC_S_LSHIFT:
    case TC_S_RSHIFT:
    case TC_S_AND_BITS:
    case TC_S_OR_BITS:
    case TC_S_XOR_BITS: return int_bits(c, op, a, b);
    case TC_S_EQ:
    case TC_S_NE:
    case TC_S_LT:
    case TC_S_LE:
        if (a->type == TC_SYM_BOOL && b->type != TC_SYM_BOOL) a = as_int(c, a);
        if (b->type == TC_SYM_BOOL && a->type != TC_SYM_BOOL) b = as_int(c, b);
        return a->type == TC_SYM_INT && b->type == TC_SYM_INT ? sym_relation(c, op, a, b) : compare_other(c, op, a, b);
    case TC_S_AND:
    case TC_S_OR: return and_or(c, op, a, b);
    case TC_S_NOT: return negation(c, a);
    case TC_S_WHERE:
        if (always(a, true) || b == d) return b;
        if (always(a, false)) return d;
        if (b->type != d->type) b = tc_sym_op(c, TC_S_TOFLOAT, b, NULL, NULL), d = tc_sym_op(c, TC_S_TOFLOAT, d, NULL, NULL);
        return plain(c, op, b->type, a, b, d);
    default: return float_op(c, op, a, b);
    }
}

tc_sym sym_rebuild(tc_symctx *c, tc_sym s, const tc_sym *args) {
    if (s->op == TC_S_CONST || s->op == TC_S_VAR) return s;
    bool ints = s->op == TC_S_ADD;
    for (int i = 0; ints && i < s->n; i++) ints = args[i]->type == TC_SYM_INT;
    if (ints) return tc_sym_sum(c, args, s->n);
    if (s->op == TC_S_ADD || s->op == TC_S_MUL) {
        tc_sym r = args[0];
        for (int i = 1; i < s->n; i++) r = tc_sym_op(c, s->op, r, args[i], NULL);
        return r;
    }
    return tc_sym_op(c, s->op, args[0], s->n > 1 ? args[1] : NULL, s->n > 2 ? args[2] : NULL);
}

tc_sym tc_sym_substitute(tc_symctx *c, tc_sym s, const tc_sym *var, const tc_sym *by, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (var[i] == s) return by[i];
    int k = tc_sym_arity(s);
    if (!k) return s;
    tc_sym *args = tc_xmalloc(sizeof *args * (size_t)k);
    bool same = true;
    for (int i = 0; i < k; i++) same &= (args[i] = tc_sym_substitute(c, s->arg[i], var, by, n)) == s->arg[i];
    if (!same) s = sym_rebuild(c, s, args);
    free(args);
    return s;
}

tc_sym tc_sym_import(tc_symctx *into, tc_sym s, const tc_symctx *from) { return into == from ? s : tc_sym_import_with(into, s, from, NULL); }

tc_sym tc_sym_import_with(tc_symctx *into, tc_sym s, const tc_symctx *from, const tc_sym *by) {
    if (s->op == TC_S_CONST) return intern(into, &(node){.op = TC_S_CONST, .type = s->type, .i = s->i}, NULL);
    if (s->op == TC_S_VAR && by && by[tc_sym_var_index(s)]) return by[tc_sym_var_index(s)];
    if (s->op == TC_S_VAR) {
        node *v = (node *)(uintptr_t)tc_sym_var(into, s->name, s->type, s->lo, s->hi);
        v->positive |= s->positive;
        return v;
    }
    tc_sym *args = tc_xmalloc(sizeof *args * (size_t)s->n);
    for (int i = 0; i < s->n; i++) args[i] = tc_sym_import_with(into, s->arg[i], from, by);
    tc_sym r = sym_rebuild(into, s, args);
    if (s->type == TC_SYM_BOOL && r->op == TC_S_CONST && !by)
        r = sym_node(into, s->op, s->type, s->n, args, false); /* a guard is kept even if the ranges imply it */
    free(args);
    return r;
}
