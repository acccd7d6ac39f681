/* Ints of any size: sign and magnitude in base 2^32, schoolbook algorithms. Results beyond the limit of bits are refused, never wrapped. */
#include "capture/object.h"

#include <math.h>

enum { MAX_BITS = 1 << 20, MAX_DIGITS = 4300 }; /* MAX_DIGITS is Python's own limit on the text of an int */

typedef struct {
    bool neg;
    uint32_t n;
    uint32_t *d;
    uint32_t own[2];
} mag;

/* A view of any int as sign and magnitude. */
static void open_int(V v, mag *m) {
    if (tc_is_small(v)) {
        int64_t i = tc_small(v);
        uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
        m->neg = i < 0;
        m->own[0] = (uint32_t)u, m->own[1] = (uint32_t)(u >> 32);
        m->d = m->own;
        m->n = m->own[1] ? 2 : m->own[0] ? 1 : 0;
    } else {
        big *b = (big *)v;
        m->neg = b->neg, m->n = b->n, m->d = b->d;
    }
}

static uint32_t *limbs(C *c, size_t n) {
    if (n > MAX_BITS / 32 + 4) tc_raise_limit(c, "an integer of %zu bits is over the limit of %d bits", n * 32, MAX_BITS);
    tc_steps(c, n / 64); /* work on big numbers counts as steps */
    return tc_mem(c, (n ? n : 1) * sizeof(uint32_t));
}

static V close_int(C *c, bool neg, uint32_t *d, size_t n) {
    while (n && !d[n - 1]) n--;
    if (n <= 2) {
        uint64_t u = n > 0 ? d[0] : 0;
        if (n > 1) u |= (uint64_t)d[1] << 32;
        if (u < (uint64_t)1 << 62) return tc_int(c, neg ? -(int64_t)u : (int64_t)u);
        if (neg && u == (uint64_t)1 << 62) return tc_int(c, -((int64_t)1 << 62));
    }
    if (n > MAX_BITS / 32) tc_raise_limit(c, "an integer of %zu bits is over the limit of %d bits", n * 32, MAX_BITS);
    big *b = tc_new(c, K_INT, sizeof *b);
    b->neg = neg, b->d = d, b->n = (uint32_t)n;
    return (V)b;
}

static int cmp_mag(const mag *a, const mag *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i-- > 0;)
        if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}

int tc_int_cmp(V a, V b) {
    if (tc_is_small(a) && tc_is_small(b)) return (tc_small(a) > tc_small(b)) - (tc_small(a) < tc_small(b));
    mag x, y;
    open_int(a, &x), open_int(b, &y);
    if (x.neg != y.neg) return x.neg ? -1 : 1;
    int s = cmp_mag(&x, &y);
    return x.neg ? -s : s;
}

int tc_int_sign(V a) {
    if (tc_is_small(a)) return (tc_small(a) > 0) - (tc_small(a) < 0);
    return ((big *)a)->neg ? -1 : 1;
}

bool tc_int_fits(V a, int64_t *out) {
    if (tc_is_small(a)) return *out = tc_small(a), true;
    big *b = (big *)a;
    if (b->n > 2) return false;
    uint64_t u = b->d[0] | (uint64_t)(b->n > 1 ? b->d[1] : 0) << 32;
    if (!b->neg && u <= INT64_MAX) return *out = (int64_t)u, true;
    if (b->neg && u <= (uint64_t)INT64_MAX + 1) return *out = (int64_t)(0 - u), true;
    return false;
}

V tc_int_from_u64(C *c, uint64_t u) {
    if (u <= INT64_MAX) return tc_int(c, (int64_t)u);
    uint32_t *d = limbs(c, 2);
    d[0] = (uint32_t)u, d[1] = (uint32_t)(u >> 32);
    return close_int(c, false, d, 2);
}

static V add_mag(C *c, bool neg, const mag *a, const mag *b) {
    if (a->n < b->n) {
        const mag *t = a;
        a = b, b = t;
    }
    uint32_t *d = limbs(c, a->n + 1u);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        carry += (uint64_t)a->d[i] + (i < b->n ? b->d[i] : 0);
        d[i] = (uint32_t)carry;
        carry >>= 32;
    }
    d[a->n] = (uint32_t)carry;
    return close_int(c, neg, d, a->n + 1u);
}

/* |a| >= |b| */
static V sub_mag(C *c, bool neg, const mag *a, const mag *b) {
    uint32_t *d = limbs(c, a->n);
    int64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t v = (int64_t)a->d[i] - (i < b->n ? b->d[i] : 0) + borrow;
        d[i] = (uint32_t)v;
        borrow = v < 0 ? -1 : 0;
    }
    return close_int(c, neg, d, a->n);
}

static V add(C *c, V x, V y, bool negate) {
    mag a, b;
    open_int(x, &a), open_int(y, &b);
    if (negate) b.neg = !b.neg;
    if (a.neg == b.neg) return add_mag(c, a.neg, &a, &b);
    return cmp_mag(&a, &b) >= 0 ? sub_mag(c, a.neg, &a, &b) : sub_mag(c, b.neg, &b, &a);
}

static V multiply(C *c, V x, V y) {
    mag a, b;
    open_int(x, &a), open_int(y, &b);
    uint32_t *d = limbs(c, (size_t)a.n + b.n);
    tc_steps(c, (uint64_t)a.n * b.n / 64);
    for (uint32_t i = 0; i < a.n; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b.n; j++) {
            carry += (uint64_t)a.d[i] * b.d[j] + d[i + j];
            d[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        d[i + b.n] = (uint32_t)carry;
    }
    return close_int(c, a.neg != b.neg, d, (size_t)a.n + b.n);
}

/* Knuth's algorithm D on magnitudes: q has a.n - b.n + 1 limbs, r b.n. */
static void divide_mag(C *c, const mag *a, const mag *b, uint32_t **qo, size_t *nq, uint32_t **ro, size_t *nr) {
    if (cmp_mag(a, b) < 0) {
        *qo = limbs(c, 1), *nq = 0;
        *ro = limbs(c, a->n), *nr = a->n;
        memcpy(*ro, a->d, a->n * 4);
        return;
    }
    uint32_t *q = limbs(c, a->n - b->n + 1u);
    if (b->n == 1) {
        uint64_t rem = 0;
        for (uint32_t i = a->n; i-- > 0;) {
            rem = rem << 32 | a->d[i];
            q[i] = (uint32_t)(rem / b->d[0]);
            rem %= b->d[0];
        }
        *qo = q, *nq = a->n;
        *ro = limbs(c, 1), (*ro)[0] = (uint32_t)rem, *nr = 1;
        return;
    }
    tc_steps(c, (uint64_t)(a->n - b->n) * b->n / 64);
    int s = __builtin_clz(b->d[b->n - 1]);
    uint32_t *u = limbs(c, a->n + 1u), *v = limbs(c, b->n);
    for (uint32_t i = b->n; i-- > 0;) v[i] = b->d[i] << s | (s && i ? b->d[i - 1] >> (32 - s) : 0);
    u[a->n] = s ? a->d[a->n - 1] >> (32 - s) : 0;
    for (uint32_t i = a->n; i-- > 0;) u[i] = a->d[i] << s | (s && i ? a->d[i - 1] >> (32 - s) : 0);
    uint32_t n = b->n;
    for (uint32_t j = a->n - n + 1; j-- > 0;) {
        uint64_t num = (uint64_t)u[j + n] << 32 | u[j + n - 1], qh = num / v[n - 1], rh = num % v[n - 1];
        while (qh >> 32 || qh * v[n - 2] > (rh << 32 | u[j + n - 2])) {
            qh--, rh += v[n - 1];
            if (rh >> 32) break;
        }
        int64_t borrow = 0;
        uint64_t carry = 0;
        for (uint32_t i = 0; i < n; i++) {
            carry += qh * v[i];
            int64_t t = (int64_t)u[i + j] - (int64_t)(uint32_t)carry + borrow;
            u[i + j] = (uint32_t)t;
            borrow = t < 0 ? -1 : 0;
            carry >>= 32;
        }
        int64_t t = (int64_t)u[j + n] - (int64_t)carry + borrow;
        u[j + n] = (uint32_t)t;
        if (t < 0) {
            qh--;
            uint64_t k = 0;
            for (uint32_t i = 0; i < n; i++) {
                k += (uint64_t)u[i + j] + v[i];
                u[i + j] = (uint32_t)k;
                k >>= 32;
            }
            u[j + n] += (uint32_t)k;
        }
        q[j] = (uint32_t)qh;
    }
    uint32_t *r = limbs(c, n);
    for (uint32_t i = 0; i < n; i++) r[i] = u[i] >> s | (s ? (uint32_t)((uint64_t)u[i + 1] << (32 - s)) : 0);
    *qo = q, *nq = a->n - n + 1u, *ro = r, *nr = n;
}

static void divmod(C *c, V x, V y, V *q, V *r) {
    if (tc_int_sign(y) == 0) tc_raise(c, "ZeroDivisionError", "integer division or modulo by zero");
    if (tc_is_small(x) && tc_is_small(y)) {
        int64_t a = tc_small(x), b = tc_small(y), k = a / b, m = a % b;
        if (m && (m < 0) != (b < 0)) k--, m += b;
        *q = tc_int(c, k), *r = tc_int(c, m);
        return;
    }
    mag a, b;
    open_int(x, &a), open_int(y, &b);
    uint32_t *qd, *rd;
    size_t nq, nr;
    divide_mag(c, &a, &b, &qd, &nq, &rd, &nr);
    V quo = close_int(c, a.neg != b.neg, qd, nq), rem = close_int(c, a.neg, rd, nr);
    if (tc_int_sign(rem) && a.neg != b.neg) quo = add(c, quo, tc_int(c, 1), true), rem = add(c, rem, y, false);
    *q = quo, *r = rem;
}

int64_t tc_int_bits(V a) {
    mag m;
    open_int(a, &m);
    return m.n ? (int64_t)m.n * 32 - __builtin_clz(m.d[m.n - 1]) : 0;
}

static V shift(C *c, V x, V y, bool left) {
    if (tc_int_sign(y) < 0) tc_raise(c, "ValueError", "negative shift count");
    int64_t n;
    if (!tc_int_fits(y, &n) || (left && n > MAX_BITS)) {
        if (tc_int_sign(x) == 0) return x;
        if (left) tc_raise_limit(c, "an integer shifted by %s bits is over the limit of %d bits", tc_int_text(c, y, 10)->s, MAX_BITS);
        n = MAX_BITS * 2;
    }
    mag a;
    open_int(x, &a);
    uint32_t words = (uint32_t)(n / 32), bits = (uint32_t)(n % 32);
    if (left) {
        uint32_t *d = limbs(c, (size_t)a.n + words + 1);
        for (uint32_t i = 0; i < a.n; i++) {
            d[i + words] |= a.d[i] << bits;
            if (bits) d[i + words + 1] |= a.d[i] >> (32 - bits);
        }
        return close_int(c, a.neg, d, (size_t)a.n + words + 1);
    }
    bool lost = false;
    if (n > (int64_t)a.n * 32) return tc_int(c, a.neg ? -1 : 0);
    for (uint32_t i = 0; i < words && i < a.n; i++) lost |= a.d[i] != 0;
    if (words < a.n && bits) lost |= (a.d[words] & ((1u << bits) - 1)) != 0;
    size_t m = a.n > words ? a.n - words : 0;
    uint32_t *d = limbs(c, m + 1);
    for (size_t i = 0; i < m; i++) d[i] = a.d[i + words] >> bits | (bits && i + words + 1 < a.n ? a.d[i + words + 1] << (32 - bits) : 0);
    V r = close_int(c, a.neg, d, m);
    return a.neg && lost ? add(c, r, tc_int(c, 1), true) : r;
}

/* Limb i of the two's complement of m. */
static uint32_t twos(const mag *m, uint32_t i, uint32_t *carry) {
    uint32_t d = i < m->n ? m->d[i] : 0;
    if (!m->neg) return d;
    uint64_t v = (uint64_t)(uint32_t)~d + *carry;
    *carry = (uint32_t)(v >> 32);
    return (uint32_t)v;
}

static V bitwise(C *c, int op, V x, V y) {
    mag a, b;
    open_int(x, &a), open_int(y, &b);
    uint32_t n = (a.n > b.n ? a.n : b.n) + 1, ca = 1, cb = 1;
    uint32_t *d = limbs(c, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = twos(&a, i, &ca), v = twos(&b, i, &cb);
        d[i] = op == '&' ? u & v : op == '|' ? u | v : u ^ v;
    }
    bool neg = d[n - 1] >> 31;
    if (neg) {
        uint32_t carry = 1;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t v = (uint64_t)(uint32_t)~d[i] + carry;
            d[i] = (uint32_t)v;
            carry = (uint32_t)(v >> 32);
        }
    }
    return close_int(c, neg, d, n);
}

V tc_int_op(C *c, int op, V a, V b) {
    V q, r;
    if (tc_is_small(a) && tc_is_small(b)) {
        int64_t x = tc_small(a), y = tc_small(b), z;
        switch (op) {
        case '+': return tc_int(c, x + y);
        case '-': return tc_int(c, x - y);
        case '*':
            if (!__builtin_mul_overflow(x, y, &z)) return tc_int(c, z);
            break;
        case '&': return tc_int(c, x & y);
        case '|': return tc_int(c, x | y);
        case '^': return tc_int(c, x ^ y);
        case 'r':
            if (y >= 0) return tc_int(c, y > 63 ? (x < 0 ? -1 : 0) : x >> y);
            break;
        default: break;
        }
    }
    switch (op) {
    case '+': return add(c, a, b, false);
    case '-': return add(c, a, b, true);
    case '*': return multiply(c, a, b);
    case '/': divmod(c, a, b, &q, &r); return q;
    case '%':
        if (tc_int_sign(b) == 0) tc_raise(c, "ZeroDivisionError", "integer modulo by zero");
        divmod(c, a, b, &q, &r);
        return r;
    case 'l': return shift(c, a, b, true);
    case 'r': return shift(c, a, b, false);
    default: return bitwise(c, op, a, b);
    }
}

V tc_int_neg(C *c, V a) { return add(c, tc_int(c, 0), a, true); }
V tc_int_invert(C *c, V a) { return add(c, tc_int_neg(c, a), tc_int(c, 1), true); }

V tc_int_pow(C *c, V a, V b, V mod) {
    if (mod && tc_int_sign(b) < 0) {
        a = tc_call2(c, tc_module_attr(c, tc_import(c, "_number", true), tc_intern(c, "_inverse", 8)), a, mod);
        b = tc_int_neg(c, b);
    }
    int64_t bits = tc_int_bits(a), e;
    if (!mod && bits > 1 && (!tc_int_fits(b, &e) || e > MAX_BITS || (bits - 1) * e > MAX_BITS))
        tc_raise_limit(c, "%s ** %s has more bits than the limit of %d", tc_int_bits(a) < 256 ? tc_int_text(c, a, 10)->s : "an integer",
                       tc_int_bits(b) < 256 ? tc_int_text(c, b, 10)->s : "an integer", MAX_BITS);
    V r = tc_int(c, 1);
    mag m;
    open_int(b, &m);
    V base = mod ? tc_int_op(c, '%', a, mod) : a;
    if (!mod && bits <= 1) { /* 0, 1, -1 */
        if (tc_int_sign(b) == 0) return r;
        return tc_int_sign(a) < 0 && !(m.d[0] & 1) ? tc_int(c, 1) : a;
    }
    for (int64_t i = tc_int_bits(b) - 1; i >= 0; i--) {
        r = tc_int_op(c, '*', r, r);
        if (mod) r = tc_int_op(c, '%', r, mod);
        if (m.d[i / 32] >> (i % 32) & 1) {
            r = tc_int_op(c, '*', r, base);
            if (mod) r = tc_int_op(c, '%', r, mod);
        }
        tc_step(c);
    }
    return mod ? tc_int_op(c, '%', r, mod) : r;
}

/* The top 64 bits; the last one is set if any lower bit is (sticky, for correct rounding). */
static double scaled(V a, int64_t extra) {
    mag m;
    open_int(a, &m);
    if (!m.n) return 0;
    int64_t bits = tc_int_bits(a), low = bits - 64;
    uint64_t top = 0;
    bool lost = false;
    for (int64_t i = 0; i < 64; i++) {
        int64_t at = low + i;
        if (at >= 0 && (m.d[at / 32] >> (at % 32) & 1)) top |= (uint64_t)1 << i;
    }
    for (int64_t w = 0; w < low / 32; w++) lost |= m.d[w] != 0;
    if (low > 0 && low % 32) lost |= (m.d[low / 32] & ((1u << (low % 32)) - 1)) != 0;
    if (low < 0) return ldexp((double)(m.d[0] | (uint64_t)(m.n > 1 ? m.d[1] : 0) << 32), (int)extra) * (m.neg ? -1 : 1);
    uint64_t mant = top >> 11, rest = top & 2047;
    if (rest > 1024 || (rest == 1024 && (lost || mant & 1))) mant++;
    double f = ldexp((double)mant, (int)(low + 11 + extra));
    return m.neg ? -f : f;
}

double tc_int_to_double(C *c, V a) {
    if (tc_is_small(a)) return (double)tc_small(a);
    if (tc_int_bits(a) > 1024) tc_raise(c, "OverflowError", "int too large to convert to float" TC_DETAIL " (overflow)");
    double f = scaled(a, 0);
    if (isinf(f)) tc_raise(c, "OverflowError", "int too large to convert to float" TC_DETAIL " (overflow)");
    return f;
}

double tc_int_truediv(C *c, V a, V b) {
    if (tc_int_sign(b) == 0) tc_raise(c, "ZeroDivisionError", "division by zero");
    const int64_t exact = (int64_t)1 << 53;
    if (tc_is_small(a) && tc_is_small(b) && llabs(tc_small(a)) <= exact && llabs(tc_small(b)) <= exact)
        return (double)tc_small(a) / (double)tc_small(b);
    if (tc_int_sign(a) == 0) return 0;
    /* a quotient of at least 66 bits with a sticky last bit */
    int64_t s = tc_int_bits(b) - tc_int_bits(a) + 67;
    if (tc_int_bits(a) - tc_int_bits(b) > 1025) tc_raise(c, "OverflowError", "integer division result too large for a float" TC_DETAIL " (overflow)");
    if (s > 1200) return tc_int_sign(a) * tc_int_sign(b) < 0 ? -0.0 : 0.0;
    bool neg = tc_int_sign(a) != tc_int_sign(b);
    V x = tc_int_sign(a) < 0 ? tc_int_neg(c, a) : a, y = tc_int_sign(b) < 0 ? tc_int_neg(c, b) : b, q, r;
    if (s > 0) x = shift(c, x, tc_int(c, s), true);
    else y = shift(c, y, tc_int(c, -s), true);
    divmod(c, x, y, &q, &r);
    if (tc_int_sign(r)) q = bitwise(c, '|', q, tc_int(c, 1));
    double f = scaled(q, -s);
    return neg ? -f : f;
}

V tc_int_from_double(C *c, double f) {
    if (isnan(f)) tc_raise(c, "ValueError", "cannot convert float NaN to integer");
    if (isinf(f)) tc_raise(c, "OverflowError", "cannot convert float infinity to integer" TC_DETAIL " (overflow)");
    f = trunc(f);
    if (fabs(f) < 4e18) return tc_int(c, (int64_t)f);
    int e;
    double m = frexp(fabs(f), &e);
    V v = shift(c, tc_int(c, (int64_t)ldexp(m, 53)), tc_int(c, e - 53), true);
    return f < 0 ? tc_int_neg(c, v) : v;
}

int tc_int_cmp_double(C *c, V a, double f) {
    if (isnan(f)) return 2;
    if (isinf(f)) return f > 0 ? -1 : 1;
    int s = tc_int_cmp(a, tc_int_from_double(c, f));
    if (s) return s;
    double frac = f - trunc(f);
    return frac > 0 ? -1 : frac < 0;
}

uint64_t tc_int_hash(V a) {
    if (tc_is_small(a)) {
        uint64_t x = (uint64_t)tc_small(a);
        x ^= x >> 32;
        x *= 0x9e3779b97f4a7c15u;
        return x ^ x >> 29;
    }
    return tc_hash(((big *)a)->d, ((big *)a)->n * 4, ((big *)a)->neg);
}

static int digit_of(char ch) { return ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'z' ? (ch | 32) - 'a' + 10 : 99; }

V tc_int_parse(C *c, const char *s, size_t n, int base, bool literal) {
    const char *e = s + n;
    while (s < e && strchr(" \t\n\r\f\v", *s)) s++;
    while (e > s && strchr(" \t\n\r\f\v", e[-1])) e--;
    bool neg = false;
    if (s < e && (*s == '+' || *s == '-')) neg = *s++ == '-';
    if (e - s > 1 && *s == '0') {
        int b = (s[1] | 32) == 'x' ? 16 : (s[1] | 32) == 'o' ? 8 : (s[1] | 32) == 'b' ? 2 : 0;
        if (b && (base == 0 || base == b)) base = b, s += 2;
        else if (base == 0 && literal)
            for (const char *p = s; p < e; p++)
                if (*p != '0' && *p != '_') return NULL;
    }
    if (base == 0) base = 10;
    if (s < e && *s == '_') s++;
    if (s >= e) return NULL;
    if (base == 10 && e - s > MAX_DIGITS) tc_raise_limit(c, "an integer of %zu digits is over the limit of %d digits", (size_t)(e - s), MAX_DIGITS);
    if ((e - s) * 6 > MAX_BITS) tc_raise_limit(c, "an integer of %zu digits is over the limit of %d bits", (size_t)(e - s), MAX_BITS);
    size_t cap = (size_t)(e - s) * 6 / 32 + 2, used = 0;
    uint32_t *d = limbs(c, cap);
    uint64_t small = 0;
    bool fits = true, last_us = false;
    for (; s < e; s++) {
        if (*s == '_') {
            if (last_us) return NULL;
            last_us = true;
            continue;
        }
        last_us = false;
        int k = digit_of(*s);
        if (k >= base) return NULL;
        if (fits && small < (uint64_t)1 << 56) {
            small = small * (uint64_t)base + (uint64_t)k;
            continue;
        }
        if (fits) {
            d[0] = (uint32_t)small, d[1] = (uint32_t)(small >> 32);
            used = 2, fits = false;
        }
        uint64_t carry = (uint64_t)k;
        for (size_t i = 0; i < used; i++) {
            carry += (uint64_t)d[i] * (uint32_t)base;
            d[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry) d[used++] = (uint32_t)carry;
    }
    if (last_us) return NULL;
    if (fits) return tc_int(c, neg ? -(int64_t)small : (int64_t)small);
    return close_int(c, neg, d, used);
}

str *tc_int_text(C *c, V a, int base) {
    if (tc_is_small(a) && base == 10) return tc_as_str(tc_strf(c, "%lld", (long long)tc_small(a)));
    mag m;
    open_int(a, &m);
    if (base == 10 && (int64_t)m.n * 32 > (int64_t)MAX_DIGITS * 10 / 3 + 64)
        tc_raise(c, "ValueError", "Exceeds the limit (%d digits) for integer string conversion", MAX_DIGITS);
    size_t cap = (size_t)m.n * 32 + 2;
    char *text = tc_mem(c, cap + 1), *p = text + cap;
    uint32_t *d = limbs(c, m.n);
    memcpy(d, m.d, (size_t)m.n * 4);
    uint32_t n = m.n;
    if (n == 0) *--p = '0';
    while (n) {
        uint64_t rem = 0;
        for (uint32_t i = n; i-- > 0;) {
            rem = rem << 32 | d[i];
            d[i] = (uint32_t)(rem / (uint32_t)base);
            rem %= (uint32_t)base;
        }
        *--p = "0123456789abcdef"[rem];
        while (n && !d[n - 1]) n--;
    }
    if (m.neg) *--p = '-';
    return tc_as_str(tc_strn(c, p, (size_t)(text + cap - p)));
}
