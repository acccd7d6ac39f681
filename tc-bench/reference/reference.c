/* Reference values by MPFR (tc_reference.h). Functions that MPFR lacks are computed by series, recurrences or Newton iterations (DLMF 10.25, 10.31,
 * 18.9, 25.11). */
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "tc_reference.h"

enum { BITS = 300 };
#define R MPFR_RNDN
typedef void function(mpfr_t y, const mpfr_t a, const mpfr_t b);
static mpfr_t t[8]; /* temporaries of a function; t[6] and t[7] are for functions called by others */

#define EXPONENTIALS(X) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
#define CIRCULAR(X) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)
#define OTHERS(X) X(cbrt) X(erf) X(erfc) X(digamma) X(j0) X(j1) X(y0) X(y1)
#define ELEMENTARY(X) EXPONENTIALS(X) CIRCULAR(X) OTHERS(X)
#define X(name) \
    static void f_##name(mpfr_t y, const mpfr_t a, const mpfr_t b) { (void)b, mpfr_##name(y, a, R); }
ELEMENTARY(X)
#undef X
#define X(name) \
    static void f_##name(mpfr_t y, const mpfr_t a, const mpfr_t b) { mpfr_##name(y, a, b, R); }
#define PAIRS(X) X(pow) X(atan2) X(hypot)
PAIRS(X)
#undef X
#define F(name) static void f_##name(mpfr_t y, const mpfr_t a, const mpfr_t b)
#define IGNORE (void)b

F(rsqrt) { IGNORE, mpfr_rec_sqrt(y, a, R); }
F(airy_ai) { IGNORE, mpfr_ai(y, a, R); }
F(sigmoid) { IGNORE, mpfr_neg(y, a, R), mpfr_exp(y, y, R), mpfr_add_ui(y, y, 1, R), mpfr_ui_div(y, 1, y, R); }
F(lgamma) {
    int sign;
    IGNORE, mpfr_lgamma(y, &sign, a, R);
}
F(spherical_j0) {
    IGNORE, mpfr_sin(t[0], a, R), mpfr_div(y, t[0], a, R);
    if (mpfr_zero_p(a)) mpfr_set_ui(y, 1, R);
}

/* ---- the normal distribution ---- */
F(erfcx) { IGNORE, mpfr_erfc(t[0], a, R), mpfr_sqr(y, a, R), mpfr_exp(y, y, R), mpfr_mul(y, y, t[0], R); }
static void normal(mpfr_t y, const mpfr_t a) { /* cumulative distribution function */
    mpfr_sqrt_ui(t[7], 2, R), mpfr_div(t[7], a, t[7], R), mpfr_neg(t[7], t[7], R), mpfr_erfc(y, t[7], R), mpfr_div_ui(y, y, 2, R);
}
F(log_ndtr) { IGNORE, normal(y, a), mpfr_log(y, y, R); }
/* Bisection in double precision, then Newton: y -= (Phi(y) - p) / phi(y). */
F(ndtri) {
    const double p = mpfr_get_d(a, R);
    double lo = -40, hi = 40;
    for (int i = 0; i < 60; i++) *(erfc((lo + hi) / -2.8284271247461903) / 2 < p ? &lo : &hi) = (lo + hi) / 2;
    IGNORE, mpfr_set_d(y, lo, R);
    for (int i = 0; i < 4; i++) {
        normal(t[2], y), mpfr_sub(t[2], t[2], a, R);
        mpfr_sqr(t[3], y, R), mpfr_div_ui(t[3], t[3], 2, R), mpfr_exp(t[3], t[3], R), mpfr_mul(t[2], t[2], t[3], R);
        mpfr_const_pi(t[3], R), mpfr_mul_ui(t[3], t[3], 2, R), mpfr_sqrt(t[3], t[3], R), mpfr_mul(t[2], t[2], t[3], R), mpfr_sub(y, y, t[2], R);
    }
}
/* erf(y) = x where Phi(sqrt(2) y) = (1 + x) / 2 */
F(erfinv) {
    mpfr_add_ui(t[5], a, 1, R), mpfr_div_ui(t[5], t[5], 2, R), f_ndtri(y, t[5], b), mpfr_sqrt_ui(t[0], 2, R), mpfr_div(y, y, t[0], R);
    if (mpfr_zero_p(a)) mpfr_set(y, a, R);
}

/* ---- gamma ---- */
F(igammac) { mpfr_gamma_inc(t[0], a, b, R), mpfr_gamma(y, a, R), mpfr_div(y, t[0], y, R); }
F(igamma) { f_igammac(y, a, b), mpfr_ui_sub(y, 1, y, R); }
/* Euler-Maclaurin: 60 terms, then B_2j / (2 j)! s (s + 1) .. (s + 2 j - 2) (q + 60)^(1 - s - 2 j) */
F(zeta) {
    static const long bernoulli[][2] = {{1, 6},       {-1, 30}, {1, 42},      {-1, 30},     {5, 66},
                                        {-691, 2730}, {7, 6},   {-3617, 510}, {43867, 798}, {-174611, 330}};
    mpfr_neg(t[0], a, R), mpfr_set(t[1], b, R), mpfr_set_ui(t[2], 0, R);
    for (int k = 0; k < 60; k++) mpfr_pow(t[3], t[1], t[0], R), mpfr_add(t[2], t[2], t[3], R), mpfr_add_ui(t[1], t[1], 1, R);
    mpfr_pow(t[3], t[1], t[0], R), mpfr_div_ui(t[4], t[3], 2, R), mpfr_add(t[2], t[2], t[4], R);
    mpfr_sub_ui(t[4], a, 1, R), mpfr_div(t[4], t[1], t[4], R), mpfr_mul(t[4], t[4], t[3], R), mpfr_add(t[2], t[2], t[4], R);
    mpfr_mul(t[3], t[3], a, R), mpfr_div(t[3], t[3], t[1], R), mpfr_div_ui(t[3], t[3], 2, R); /* s q^(-s - 1) / 2! */
    for (int j = 1; j <= 10; j++) {
        mpfr_mul_si(t[4], t[3], bernoulli[j - 1][0], R), mpfr_div_si(t[4], t[4], bernoulli[j - 1][1], R), mpfr_add(t[2], t[2], t[4], R);
        for (int i = 2 * j - 1; i <= 2 * j; i++) mpfr_add_ui(t[4], a, (unsigned)i, R), mpfr_mul(t[3], t[3], t[4], R), mpfr_div(t[3], t[3], t[1], R);
        mpfr_div_ui(t[3], t[3], (unsigned)((2 * j + 1) * (2 * j + 2)), R);
    }
    mpfr_set(y, t[2], R);
}
F(trigamma) { IGNORE, mpfr_set_ui(t[5], 2, R), f_zeta(y, t[5], a); }

/* ---- modified Bessel functions: sums of (x^2 / 4)^k / (k! (k + n)!) ---- */
static void sum_i(mpfr_t y, const mpfr_t a, unsigned n) {
    mpfr_sqr(t[0], a, R), mpfr_div_ui(t[0], t[0], 4, R), mpfr_set_ui(t[1], 1, R), mpfr_set_ui(y, 0, R);
    for (unsigned k = 1; mpfr_zero_p(y) || (!mpfr_zero_p(t[1]) && mpfr_get_exp(t[1]) > mpfr_get_exp(y) - BITS); k++)
        mpfr_add(y, y, t[1], R), mpfr_mul(t[1], t[1], t[0], R), mpfr_div_ui(t[1], t[1], k * (k + n), R);
    if (n) mpfr_mul(y, y, a, R), mpfr_div_ui(y, y, 2, R);
}
static void scaled(mpfr_t y, const mpfr_t a, int sign) { /* y exp(sign |a|) */
    mpfr_abs(t[0], a, R), mpfr_mul_si(t[0], t[0], sign, R), mpfr_exp(t[0], t[0], R), mpfr_mul(y, y, t[0], R);
}
F(i0) { IGNORE, sum_i(y, a, 0); }
F(i1) { IGNORE, sum_i(y, a, 1); }
F(i0e) { IGNORE, sum_i(y, a, 0), scaled(y, a, -1); }
F(i1e) { IGNORE, sum_i(y, a, 1), scaled(y, a, -1); }
/* K0 = -(log(x / 2) + gamma) I0 + sum of (x^2 / 4)^k / k!^2 H_k
 * K1 = 1 / x + (log(x / 2) + gamma) I1 - x / 4 sum of (x^2 / 4)^k / (k! (k + 1)!) (H_k + H_(k + 1)) */
static void k_of(mpfr_t y, const mpfr_t a, unsigned n) {
    sum_i(t[2], a, n);
    mpfr_div_ui(t[3], a, 2, R), mpfr_log(t[3], t[3], R), mpfr_const_euler(t[4], R), mpfr_add(t[3], t[3], t[4], R), mpfr_mul(t[2], t[2], t[3], R);
    mpfr_sqr(t[0], a, R), mpfr_div_ui(t[0], t[0], 4, R), mpfr_set_ui(t[1], 1, R), mpfr_set_ui(t[3], 0, R), mpfr_set_ui(y, 0, R);
    for (unsigned k = 0; k < 200; k++) { /* t[3] is H_k */
        mpfr_set_ui(t[4], 1, R), mpfr_div_ui(t[4], t[4], k + 1, R), mpfr_add(t[5], t[3], t[4], R);
        if (n) mpfr_add(t[4], t[3], t[5], R), mpfr_mul(t[4], t[4], t[1], R);
        else mpfr_mul(t[4], t[3], t[1], R);
        mpfr_add(y, y, t[4], R), mpfr_set(t[3], t[5], R), mpfr_mul(t[1], t[1], t[0], R), mpfr_div_ui(t[1], t[1], (k + 1) * (k + 1 + n), R);
    }
    if (!n) {
        mpfr_sub(y, y, t[2], R);
        return;
    }
    mpfr_mul(y, y, a, R), mpfr_div_ui(y, y, 4, R), mpfr_sub(y, t[2], y, R), mpfr_ui_div(t[0], 1, a, R), mpfr_add(y, y, t[0], R);
}
F(k0) { IGNORE, k_of(y, a, 0); }
F(k1) { IGNORE, k_of(y, a, 1); }
F(k0e) { IGNORE, k_of(y, a, 0), scaled(y, a, 1); }
F(k1e) { IGNORE, k_of(y, a, 1), scaled(y, a, 1); }

/* ---- orthogonal polynomials in a of degree b: p0 = 1, p1 = c a + d, p(k + 1) = (u a + v) pk - w p(k - 1), divided by m ---- */
typedef void step(long k, long *u, long *v, long *w, long *m);
static void chebyshev(long k, long *u, long *v, long *w, long *m) { (void)k, *u = 2, *v = 0, *w = 1, *m = 1; }
static void hermite_h(long k, long *u, long *v, long *w, long *m) { *u = 2, *v = 0, *w = 2 * k, *m = 1; }
static void hermite_he(long k, long *u, long *v, long *w, long *m) { *u = 1, *v = 0, *w = k, *m = 1; }
static void laguerre(long k, long *u, long *v, long *w, long *m) { *u = -1, *v = 2 * k + 1, *w = k, *m = k + 1; }
static void legendre(long k, long *u, long *v, long *w, long *m) { *u = 2 * k + 1, *v = 0, *w = k, *m = k + 1; }
static void polynomial(mpfr_t y, const mpfr_t a, const mpfr_t b, long c, long d, step *next) {
    const long n = mpfr_get_si(b, R);
    mpfr_set_ui(t[0], 1, R), mpfr_mul_si(y, a, c, R), mpfr_add_si(y, y, d, R);
    if (!n) mpfr_set(y, t[0], R);
    for (long k = 1, u, v, w, m; k < n; k++) {
        next(k, &u, &v, &w, &m);
        mpfr_mul_si(t[1], a, u, R), mpfr_add_si(t[1], t[1], v, R), mpfr_mul(t[1], t[1], y, R), mpfr_mul_si(t[2], t[0], w, R);
        mpfr_set(t[0], y, R), mpfr_sub(y, t[1], t[2], R), mpfr_div_si(y, y, m, R);
    }
}
F(chebyshev_t) { polynomial(y, a, b, 1, 0, chebyshev); }
F(chebyshev_u) { polynomial(y, a, b, 2, 0, chebyshev); }
F(chebyshev_v) { polynomial(y, a, b, 2, -1, chebyshev); }
F(chebyshev_w) { polynomial(y, a, b, 2, 1, chebyshev); }
F(hermite_h) { polynomial(y, a, b, 2, 0, hermite_h); }
F(hermite_he) { polynomial(y, a, b, 1, 0, hermite_he); }
F(laguerre_l) { polynomial(y, a, b, -1, 1, laguerre); }
F(legendre_p) { polynomial(y, a, b, 1, 0, legendre); }

/* ---- the table ---- */
#define X(name) {#name, f_##name},
static const struct {
    const char *name;
    function *f;
} functions[] = {ELEMENTARY(X) PAIRS(X) X(rsqrt) X(airy_ai) X(sigmoid) X(lgamma) X(spherical_j0) X(erfcx) X(log_ndtr) X(ndtri) X(erfinv) X(igammac)
                     X(igamma) X(zeta) X(trigamma) X(i0) X(i1) X(i0e) X(i1e) X(k0) X(k1) X(k0e) X(k1e) X(chebyshev_t) X(chebyshev_u) X(chebyshev_v)
                         X(chebyshev_w) X(hermite_h) X(hermite_he) X(laguerre_l) X(legendre_p)};
#undef X

static int find(const char *name) {
    for (int i = 0; i < (int)(sizeof functions / sizeof *functions); i++)
        if (!strcmp(functions[i].name, name)) return i;
    return -1;
}

static double ulps(int f, double a, double b, double scale, double got, const tc_reference_type *type) {
    static bool ready;
    static mpfr_t x, z, y;
    if (!ready) {
        mpfr_inits2(BITS, x, z, y, NULL);
        for (int i = 0; i < 8; i++) mpfr_init2(t[i], BITS);
        ready = true;
    }
    mpfr_set_d(x, a, R), mpfr_set_d(z, b, R);
    functions[f].f(y, x, z);
    if (mpfr_nan_p(y)) return isnan(got) ? 0 : INFINITY;
    if (mpfr_inf_p(y)) return got == mpfr_get_d(y, R) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (isinf(got)) return mpfr_cmp_d(y, copysign(type->largest, got)) * copysign(1, got) > 0 ? 0 : INFINITY;
    long e = type->emin;
    int scaled = 0;
    frexp(scale, &scaled);
    if (scale > 0 && scaled > e) e = scaled;
    if (!mpfr_zero_p(y) && mpfr_get_exp(y) > e) e = mpfr_get_exp(y);
    mpfr_sub_d(y, y, got, R), mpfr_mul_2si(y, y, type->digits - e, R);
    return fabs(mpfr_get_d(y, R));
}

__attribute__((visibility("default"))) extern const tc_reference tc_mpfr;
const tc_reference tc_mpfr = {TC_REFERENCE_VERSION, find, ulps};
