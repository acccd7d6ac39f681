/* Int expressions as sums of products of atoms, in one canonical order: addition, multiplication, exact division, relations.
 *
 *     2*T*B + B//3 - 1   =   {2, T*B} {1, B//3} {-1, NULL}
 */
#include "sym/node.h"

bool sym_is_atom(tc_sym s) { return s->raw || (s->op != TC_S_ADD && s->op != TC_S_MUL && s->op != TC_S_CONST); }

static sym_term term_of(tc_sym s) {
    if (s->op == TC_S_CONST) return (sym_term){s->i, NULL};
    if (s->op == TC_S_MUL && !s->raw && s->arg[0]->op == TC_S_CONST)
        return (sym_term){s->arg[0]->i, s->n == 2 ? s->arg[1] : sym_node(s->ctx, TC_S_MUL, TC_SYM_INT, s->n - 1, s->arg + 1, false)};
    return (sym_term){1, s};
}

int sym_terms(tc_sym s, sym_term *out, int max) {
    if (s->op != TC_S_ADD || s->raw) {
        if (max < 1) return -1;
        *out = term_of(s);
        return tc_sym_is_int(s, 0) ? 0 : 1;
    }
    if (s->n > max) return -1;
    for (int i = 0; i < s->n; i++) out[i] = term_of(s->arg[i]);
    return s->n;
}

/* The atoms of a term's key. */
static int atoms_of(const tc_sym *key, const tc_sym **out) {
    const tc_sym k = *key;
    const bool product = k && k->op == TC_S_MUL && !k->raw;
    *out = product ? k->arg : key;
    return product ? k->n : k != NULL;
}

/* A sorted list of atoms as a key; NULL for none. */
static tc_sym product_of(tc_symctx *c, const tc_sym *atoms, int n) {
    return n == 0 ? NULL : n == 1 ? atoms[0] : sym_node(c, TC_S_MUL, TC_SYM_INT, n, atoms, false);
}

static tc_sym from_term(tc_symctx *c, sym_term t) {
    if (!t.key) return tc_sym_int(c, t.c);
    if (t.c == 1) return t.key;
    const tc_sym *a;
    int n = atoms_of(&t.key, &a);
    tc_sym v[64], *p = n < 64 ? v : tc_xmalloc(sizeof *p * (size_t)(n + 1));
    p[0] = tc_sym_int(c, t.c);
    memcpy(p + 1, a, sizeof *p * (size_t)n);
    tc_sym s = sym_node(c, TC_S_MUL, TC_SYM_INT, n + 1, p, false);
    if (p != v) free(p);
    return s;
}

static int by_key(const void *x, const void *y) { /* the constant last */
    const sym_term *a = x, *b = y;
    if (!a->key || !b->key) return !a->key - !b->key;
    return a->key->id < b->key->id ? -1 : a->key->id > b->key->id;
}

/* Sorts terms and merges those with the same key. Returns their number, -1 on overflow. */
static int join_terms(sym_term *t, int n) {
    int m = 0;
    if (n > 1) qsort(t, (size_t)n, sizeof *t, by_key);
    for (int i = 0; i < n; i++) {
        if (m && t[m - 1].key == t[i].key) {
            if (!tc_add_i64(t[m - 1].c, t[i].c, &t[m - 1].c)) return -1;
        } else {
            if (m && t[m - 1].c == 0) m--;
            t[m++] = t[i];
        }
    }
    return m && t[m - 1].c == 0 ? m - 1 : m;
}

static tc_sym sum_of(tc_symctx *c, const sym_term *t, int n, bool raw) { /* n <= SYM_MAX_TERMS */
    if (n == 0) return tc_sym_int(c, 0);
    if (n == 1) return from_term(c, t[0]);
    tc_sym v[SYM_MAX_TERMS];
    for (int i = 0; i < n; i++) v[i] = from_term(c, t[i]);
    return sym_node(c, TC_S_ADD, TC_SYM_INT, n, v, raw);
}

tc_sym sym_from_terms(tc_symctx *c, sym_term *t, int n) {
    const int m = join_terms(t, n);
    return m < 0 || m > SYM_MAX_TERMS ? NULL : sum_of(c, t, m, false);
}

/* ---- sums of more than SYM_MAX_TERMS terms ---- */
static bool is_chunk(tc_sym key) { return key && key->raw && key->op == TC_S_ADD; }

/* The sum of merged terms. If there are too many, those outside chunks go into a chunk; if there are still too many, chunks do. */
static tc_sym in_chunks(tc_symctx *c, sym_term *t, int n) {
    while (n > SYM_MAX_TERMS) {
        sym_term chunk[SYM_MAX_TERMS];
        int loose = 0, m = 0, k = 0;
        for (int i = 0; i < n; i++) loose += t[i].key && !is_chunk(t[i].key);
        const bool all = loose < SYM_MAX_TERMS / 2;
        for (int i = 0; i < n; i++) {
            const bool stays = !t[i].key || (!all && is_chunk(t[i].key));
            if (stays) t[m++] = t[i];
            else chunk[k++] = t[i];
            if (k < (i == n - 1 ? 1 : SYM_MAX_TERMS)) continue;
            t[m++] = k == 1 ? chunk[0] : (sym_term){1, sum_of(c, chunk, k, true)};
            k = 0;
        }
        n = join_terms(t, m);
        if (n < 0) return NULL;
    }
    return sum_of(c, t, n, false);
}

typedef TC_VEC(sym_term) terms;

/* Adds scale * s, with the terms of chunks one by one; false on overflow. */
static bool push_terms(terms *out, tc_sym s, int64_t scale) {
    const tc_sym *p = s->op == TC_S_ADD ? s->arg : &s;
    for (int i = 0; i < (p == &s ? 1 : s->n); i++) {
        sym_term t = term_of(p[i]);
        if (!tc_mul_i64(t.c, scale, &t.c)) return false;
        if (is_chunk(t.key) && !push_terms(out, t.key, t.c)) return false;
        if (!is_chunk(t.key)) tc_vec_push(out, t);
    }
    return true;
}

tc_sym tc_sym_sum(tc_symctx *c, const tc_sym *s, int n) {
    terms t = {0};
    bool fits = true;
    for (int i = 0; i < n && fits; i++) fits = push_terms(&t, s[i], 1);
    const int m = fits ? join_terms(t.data, (int)t.len) : -1;
    tc_sym r = m < 0 ? NULL : in_chunks(c, t.data, m);
    tc_vec_free(&t);
    if (r) return r;
    r = s[0];
    for (int i = 1; i < n; i++) r = tc_sym_add(c, r, s[i]);
    return r;
}

tc_sym sym_difference(tc_symctx *c, tc_sym a, tc_sym b) {
    const tc_sym d = tc_sym_sub(c, a, b);
    bool chunks = is_chunk(d);
    for (int i = 0; d->op == TC_S_ADD && i < d->n && !chunks; i++) chunks = is_chunk(term_of(d->arg[i]).key);
    return chunks ? tc_sym_sum(c, &d, 1) : d;
}

tc_sym sym_poly_add(tc_symctx *c, tc_sym a, tc_sym b, int64_t scale) {
    int64_t x, y;
    if (a->op == TC_S_CONST && b->op == TC_S_CONST && tc_mul_i64(b->i, scale, &y) && tc_add_i64(a->i, y, &x)) return tc_sym_int(c, x);
    if (tc_sym_is_int(b, 0)) return a;
    if (tc_sym_is_int(a, 0) && scale == 1) return b;
    sym_term t[2 * SYM_MAX_TERMS];
    int n = sym_terms(a, t, SYM_MAX_TERMS), m = n < 0 ? -1 : sym_terms(b, t + n, SYM_MAX_TERMS);
    bool ok = n >= 0 && m >= 0;
    for (int i = n; ok && i < n + m; i++) ok = tc_mul_i64(t[i].c, scale, &t[i].c);
    const int joined = ok ? join_terms(t, n + m) : -1;
    tc_sym s = joined < 0 ? NULL : in_chunks(c, t, joined);
    if (s) return s;
    if (scale != 1) b = sym_poly_mul(c, b, tc_sym_int(c, scale));
    tc_sym pair[2] = {a->id < b->id ? a : b, a->id < b->id ? b : a};
    return sym_node(c, TC_S_ADD, TC_SYM_INT, 2, pair, true);
}

/* Merges two sorted lists of atoms. */
static tc_sym merge(tc_symctx *c, tc_sym x, tc_sym y) {
    const tc_sym *a, *b;
    int n = atoms_of(&x, &a), m = atoms_of(&y, &b), k = 0;
    if (!n) return y;
    if (!m) return x;
    tc_sym v[64];
    if (n + m > 64) return NULL;
    for (int i = 0, j = 0; i < n || j < m;) v[k++] = j == m || (i < n && a[i]->id <= b[j]->id) ? a[i++] : b[j++];
    return product_of(c, v, k);
}

tc_sym sym_poly_mul(tc_symctx *c, tc_sym a, tc_sym b) {
    int64_t x;
    if (a->op == TC_S_CONST && b->op == TC_S_CONST && tc_mul_i64(a->i, b->i, &x)) return tc_sym_int(c, x);
    if (tc_sym_is_int(a, 1)) return b;
    if (tc_sym_is_int(b, 1)) return a;
    if (tc_sym_is_int(a, 0) || tc_sym_is_int(b, 0)) return tc_sym_int(c, 0);
    sym_term s[SYM_MAX_TERMS], t[SYM_MAX_TERMS], r[SYM_MAX_TERMS];
    int n = sym_terms(a, s, SYM_MAX_TERMS), m = sym_terms(b, t, SYM_MAX_TERMS), k = 0;
    bool ok = n >= 0 && m >= 0 && n * m <= SYM_MAX_TERMS;
    for (int i = 0; ok && i < n; i++)
        for (int j = 0; ok && j < m; j++, k++) {
            r[k].key = merge(c, s[i].key, t[j].key);
            ok = tc_mul_i64(s[i].c, t[j].c, &r[k].c) && (r[k].key || (!s[i].key && !t[j].key));
        }
    tc_sym p = ok ? sym_from_terms(c, r, k) : NULL;
    if (p) return p;
    tc_sym pair[2] = {a->id < b->id ? a : b, a->id < b->id ? b : a};
    return sym_node(c, TC_S_MUL, TC_SYM_INT, 2, pair, true);
}

int64_t sym_poly_gcd(tc_sym a) {
    sym_term t[SYM_MAX_TERMS];
    int n = sym_terms(a, t, SYM_MAX_TERMS);
    int64_t g = 0;
    for (int i = 0; i < n; i++) {
        int64_t x = t[i].c == INT64_MIN ? 1 : llabs(t[i].c);
        while (x) {
            int64_t m = g % x;
            g = x;
            x = m;
        }
    }
    return n < 0 ? 1 : g;
}

/* The quotient of two terms; false if the division is not exact. */
static bool divide_term(tc_symctx *c, sym_term a, sym_term b, sym_term *out) {
    const tc_sym *p, *q;
    tc_sym v[64];
    int n = atoms_of(&a.key, &p), m = atoms_of(&b.key, &q), k = 0, j = 0;
    if (b.c == 0 || (b.c == -1 && a.c == INT64_MIN) || a.c % b.c || n > 64) return false;
    for (int i = 0; i < n; i++) {
        if (j < m && p[i] == q[j]) j++;
        else v[k++] = p[i];
    }
    if (j < m) return false;
    *out = (sym_term){a.c / b.c, product_of(c, v, k)};
    return true;
}

tc_sym sym_poly_divide(tc_symctx *c, tc_sym a, tc_sym b) {
    sym_term s[SYM_MAX_TERMS], t[SYM_MAX_TERMS], r[SYM_MAX_TERMS];
    if (tc_sym_is_int(b, 0)) return NULL;
    if (a == b) return tc_sym_int(c, 1);
    int n = sym_terms(a, s, SYM_MAX_TERMS), m = sym_terms(b, t, SYM_MAX_TERMS);
    if (n <= 0 || m <= 0) return NULL;
    if (m == 1) { /* divides every term by the single one */
        for (int i = 0; i < n; i++)
            if (!divide_term(c, s[i], t[0], &r[i])) return NULL;
        return sym_from_terms(c, r, n);
    }
    if (n % m) return NULL; /* a sum times a single term has as many terms */
    for (int i = 0; n == m && i < n; i++)
        if (divide_term(c, s[0], t[i], &r[0])) {
            tc_sym q = sym_from_terms(c, r, 1);
            if (q && sym_poly_mul(c, q, b) == a) return q;
        }
    return NULL;
}

/* ---- relations: positive terms to the left, negative to the right, common factor removed; LT becomes LE ---- */
tc_sym sym_relation(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b) {
    int64_t lo, hi;
    if (op == TC_S_LT) return sym_relation(c, TC_S_LE, tc_sym_add(c, a, tc_sym_int(c, 1)), b);
    tc_sym d = sym_difference(c, a, b);
    sym_term t[SYM_MAX_TERMS], left[SYM_MAX_TERMS + 1], right[SYM_MAX_TERMS + 1];
    int n = sym_terms(d, t, SYM_MAX_TERMS), nl = 0, nr = 0;
    tc_sym_range(c, d, &lo, &hi);
    if (op == TC_S_LE && hi <= 0) return tc_sym_bool(c, true);
    if (op == TC_S_LE && lo > 0) return tc_sym_bool(c, false);
    if (lo > 0 || hi < 0) return tc_sym_bool(c, op == TC_S_NE);
    if (lo == 0 && hi == 0) return tc_sym_bool(c, op == TC_S_EQ);
    if (n <= 0) return n == 0 ? tc_sym_bool(c, op != TC_S_NE) : sym_node(c, op, TC_SYM_BOOL, 2, (tc_sym[]){a, b}, false);
    int64_t g = 0, k = t[n - 1].key ? 0 : t[n - 1].c; /* gcd without the constant */
    int nk = t[n - 1].key ? n : n - 1;
    for (int i = 0; i < nk; i++)
        for (int64_t x = t[i].c == INT64_MIN ? 1 : llabs(t[i].c), m; x; x = m) m = g % x, g = x;
    if (g > 1) { /* g*P + k <= 0  is  P + ceil(k / g) <= 0;  g*P + k == 0 needs g | k */
        if (op != TC_S_LE && k % g) return tc_sym_bool(c, op == TC_S_NE);
        for (int i = 0; i < nk; i++) t[i].c /= g;
        k = -sym_floordiv_i64(-k, g);
        if (nk < n) t[nk].c = k;
    }
    int sign = op != TC_S_LE && t[0].c < 0 ? -1 : 1;
    for (int i = 0; i < n; i++) {
        if (t[i].c == INT64_MIN) return sym_node(c, op, TC_SYM_BOOL, 2, (tc_sym[]){a, b}, false);
        int64_t v = t[i].c * sign;
        if (v > 0) left[nl++] = (sym_term){v, t[i].key};
        else if (v < 0) right[nr++] = (sym_term){-v, t[i].key};
    }
    return sym_node(c, op, TC_SYM_BOOL, 2, (tc_sym[]){sym_from_terms(c, left, nl), sym_from_terms(c, right, nr)}, false);
}
