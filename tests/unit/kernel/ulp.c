/* LIBS: -lmpfr -lgmp
 * Errors of the elementary and special functions against MPFR, in units in the last place of the correctly rounded result.
 * `ulp` takes a sample of all magnitudes and the neighbourhood of edges; `ulp table` prints the worst errors and where they are;
 * `ulp table N` takes N points a function. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "kernel/scalar.h"

typedef struct {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    int (*ref)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    double lo, hi;       /* results and arguments outside are checked for edges only */
    double max32, max64; /* bound in ulp */
} unary;

static int ref_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_neg(y, x, r), mpfr_exp(y, y, r), mpfr_add_ui(y, y, 1, r);
    return mpfr_ui_div(y, 1, y, r);
}
static int ref_lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    int sign;
    return mpfr_lgamma(y, &sign, x, r);
}
static int ref_erfinv(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { /* Newton from float64 */
    mpfr_t e, d;
    mpfr_inits2(200, e, d, NULL);
    double x0 = tc_x_erfinv_f64(mpfr_get_d(x, MPFR_RNDN));
    mpfr_set_d(y, x0, r);
    if (isfinite(x0))
        for (int i = 0; i < 3; i++) {
            mpfr_erf(e, y, r), mpfr_sub(e, e, x, r);
            mpfr_sqr(d, y, r), mpfr_exp(d, d, r), mpfr_mul(e, e, d, r);
            mpfr_const_pi(d, r), mpfr_sqrt(d, d, r), mpfr_div_ui(d, d, 2, r), mpfr_mul(e, e, d, r);
            mpfr_sub(y, y, e, r);
        }
    mpfr_clears(e, d, NULL);
    return 0;
}

static int ref_erfcx(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { /* from 1e4 on 1 / (sqrt pi x) (1 - 1 / (2 x^2) + 3 / (4 x^4) - 15 / (8 x^6) + ...) */
    mpfr_t e, t;
    mpfr_inits2(300, e, t, NULL);
    if (mpfr_cmp_d(x, 1e4) < 0) mpfr_sqr(t, x, r), mpfr_exp(e, t, r), mpfr_erfc(t, x, r);
    else {
        mpfr_sqr(t, x, r), mpfr_ui_div(t, 1, t, r), mpfr_set_ui(e, 1, r);
        for (int k = 7; k > 0; k--) mpfr_mul(e, e, t, r), mpfr_mul_d(e, e, 0.5 - k, r), mpfr_add_ui(e, e, 1, r);
        mpfr_const_pi(t, r), mpfr_rec_sqrt(t, t, r), mpfr_div(t, t, x, r);
    }
    mpfr_mul(y, e, t, r);
    mpfr_clears(e, t, NULL);
    return 0;
}
/* With t = -x / sqrt 2: log(erfcx(t) / 2) - t^2, for x > 0 log1p(-erfc(-t) / 2) */
static int ref_log_ndtr(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_t t, s;
    mpfr_inits2(300, t, s, NULL);
    mpfr_sqrt_ui(t, 2, r), mpfr_div(t, x, t, r);
    if (mpfr_sgn(x) < 0) {
        mpfr_neg(t, t, r), mpfr_sqr(s, t, r);
        ref_erfcx(t, t, r), mpfr_div_ui(t, t, 2, r), mpfr_log(t, t, r), mpfr_sub(y, t, s, r);
    } else mpfr_erfc(t, t, r), mpfr_div_si(t, t, -2, r), mpfr_log1p(y, t, r);
    mpfr_clears(t, s, NULL);
    return 0;
}

/* erfc(-y / sqrt 2) / 2 = x by Newton's iteration from the float64 result; the density of the normal distribution is the derivative. */
static int ref_ndtri(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    double y0 = tc_x_ndtri_f64(mpfr_get_d(x, MPFR_RNDN));
    mpfr_t e, d;
    mpfr_inits2(300, e, d, NULL);
    mpfr_set_d(y, y0, r);
    for (int i = 0; i < 3 && isfinite(y0); i++) {
        mpfr_sqrt_ui(d, 2, r), mpfr_div(e, y, d, r), mpfr_neg(e, e, r), mpfr_erfc(e, e, r), mpfr_div_ui(e, e, 2, r), mpfr_sub(e, e, x, r);
        mpfr_sqr(d, y, r), mpfr_div_ui(d, d, 2, r), mpfr_exp(d, d, r), mpfr_mul(e, e, d, r);
        mpfr_const_pi(d, r), mpfr_mul_ui(d, d, 2, r), mpfr_sqrt(d, d, r), mpfr_mul(e, e, d, r);
        mpfr_sub(y, y, e, r);
    }
    mpfr_clears(e, d, NULL);
    return 0;
}
/* I_v(x), v = 0 or 1, over e^|x|: the power series, from 150 on Hankel's asymptotic series. */
static void scaled_bessel(mpfr_t y, const mpfr_t x, int v, mpfr_rnd_t r) {
    mpfr_t t, s, q;
    mpfr_inits2(600, t, s, q, NULL);
    if (mpfr_cmpabs_ui(x, 150) < 0) {
        mpfr_sqr(q, x, r), mpfr_div_ui(q, q, 4, r), mpfr_set(t, x, r), mpfr_div_ui(t, t, 2, r);
        if (v == 0) mpfr_set_ui(t, 1, r);
        mpfr_set(s, t, r);
        for (unsigned k = 1; k < 1000 && (k < 200 || mpfr_get_exp(t) > mpfr_get_exp(s) - 300) && !mpfr_zero_p(t); k++)
            mpfr_mul(t, t, q, r), mpfr_div_ui(t, t, k * (k + (unsigned)v), r), mpfr_add(s, s, t, r);
        mpfr_abs(q, x, r), mpfr_neg(q, q, r), mpfr_exp(q, q, r), mpfr_mul(y, s, q, r);
    } else {
        mpfr_set_ui(t, 1, r), mpfr_set_ui(s, 1, r), mpfr_abs(q, x, r), mpfr_mul_ui(q, q, 8, r);
        for (int k = 1; k < 100; k++)
            mpfr_mul_si(t, t, (2 * k - 1) * (2 * k - 1) - 4 * v, r), mpfr_div_ui(t, t, (unsigned)k, r), mpfr_div(t, t, q, r), mpfr_add(s, s, t, r);
        mpfr_const_pi(t, r), mpfr_mul(t, t, q, r), mpfr_div_ui(t, t, 4, r), mpfr_rec_sqrt(t, t, r), mpfr_mul(y, s, t, r);
        if (v && mpfr_sgn(x) < 0) mpfr_neg(y, y, r);
    }
    if (v && mpfr_zero_p(x)) mpfr_set_zero(y, 1); /* PyTorch's sign of I_1(-0) */
    mpfr_clears(t, s, q, NULL);
}
static void unscale(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { /* NaN at infinity, as in PyTorch */
    mpfr_t e;
    mpfr_init2(e, 300);
    mpfr_abs(e, x, r), mpfr_exp(e, e, r), mpfr_mul(y, y, e, r);
    mpfr_clear(e);
}
static int ref_i0e(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return scaled_bessel(y, x, 0, r), 0; }
static int ref_i1e(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return scaled_bessel(y, x, 1, r), 0; }
static int ref_i0(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return scaled_bessel(y, x, 0, r), unscale(y, x, r), 0; }
static int ref_i1(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return scaled_bessel(y, x, 1, r), unscale(y, x, r), 0; }

#define F(name) #name, tc_x_##name##_f32, tc_x_##name##_f64
static const unary table[] = {{F(exp), mpfr_exp, -750, 750, 1, 1},
                              {F(exp2), mpfr_exp2, -1080, 1030, 1, 1},
                              {F(expm1), mpfr_expm1, -750, 750, 1, 1},
                              {F(log), mpfr_log, 0, INFINITY, 1, 1},
                              {F(log2), mpfr_log2, 0, INFINITY, 1, 1},
                              {F(log10), mpfr_log10, 0, INFINITY, 1, 1},
                              {F(log1p), mpfr_log1p, -1, INFINITY, 1, 1},
                              {F(sin), mpfr_sin, -INFINITY, INFINITY, 1, 1},
                              {F(cos), mpfr_cos, -INFINITY, INFINITY, 1, 1},
                              {F(tan), mpfr_tan, -INFINITY, INFINITY, 1, 1},
                              {F(asin), mpfr_asin, -1, 1, 1, 1},
                              {F(acos), mpfr_acos, -1, 1, 1, 1},
                              {F(atan), mpfr_atan, -INFINITY, INFINITY, 1, 1},
                              {F(sinh), mpfr_sinh, -720, 720, 1, 1},
                              {F(cosh), mpfr_cosh, -720, 720, 1, 1},
                              {F(tanh), mpfr_tanh, -INFINITY, INFINITY, 1, 1},
                              {F(asinh), mpfr_asinh, -INFINITY, INFINITY, 1, 1},
                              {F(acosh), mpfr_acosh, 1, INFINITY, 1, 1},
                              {F(atanh), mpfr_atanh, -1, 1, 1, 1},
                              {F(rsqrt), mpfr_rec_sqrt, 0, INFINITY, 1.5, 1.5}, /* a quotient of a root: see scalar_special.h */
                              {F(cbrt), mpfr_cbrt, -INFINITY, INFINITY, 1, 1},
                              {F(sigmoid), ref_sigmoid, -INFINITY, INFINITY, 3, 3},
                              {F(erf), mpfr_erf, -INFINITY, INFINITY, 1, 1},
                              {F(erfc), mpfr_erfc, -INFINITY, 28, 1, 4},
                              {F(erfinv), ref_erfinv, -1, 1, 1, 4},
                              {F(lgamma), ref_lgamma, 0, INFINITY, 1, 4},
                              {F(digamma), mpfr_digamma, 1.5, INFINITY, 1, 4},
                              {F(erfcx), ref_erfcx, -INFINITY, INFINITY, 1, 4},
                              {F(log_ndtr), ref_log_ndtr, -INFINITY, INFINITY, 1, 4},
                              {F(ndtri), ref_ndtri, 0, 1, 1, 4},
                              {F(i0), ref_i0, -INFINITY, INFINITY, 1, 4},
                              {F(i0e), ref_i0e, -INFINITY, INFINITY, 1, 4},
                              {F(i1), ref_i1, -INFINITY, INFINITY, 1, 4},
                              {F(i1e), ref_i1e, -INFINITY, INFINITY, 1, 4}};
enum { N = sizeof table / sizeof *table };

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

/* |got - exact| in ulps of the type with `digits` bits and least exponent `emin` */
static double ulps(const mpfr_t exact, double got, int digits, int emin, double largest) {
    if (mpfr_nan_p(exact)) return got != got ? 0 : INFINITY;
    if (mpfr_inf_p(exact)) return got == mpfr_get_d(exact, MPFR_RNDN) ? 0 : INFINITY;
    if (got != got) return INFINITY;
    long e = mpfr_zero_p(exact) ? emin : mpfr_get_exp(exact);
    if (e < emin) e = emin;
    if (isinf(got)) return mpfr_cmp_d(exact, copysign(largest, got)) * copysign(1, got) > 0 ? 0 : INFINITY;
    mpfr_t d;
    mpfr_init2(d, 200);
    mpfr_sub_d(d, exact, got, MPFR_RNDN), mpfr_mul_2si(d, d, digits - e, MPFR_RNDN);
    double r = fabs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
    return r;
}

static double argument(const unary *u, int i, int wide) {
    static const double edges[] = {0.0,
                                   -0.0,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   1,
                                   -1,
                                   0.5,
                                   -0.5,
                                   2,
                                   1e-300,
                                   -1e-300,
                                   4.9e-324,
                                   1e-40,
                                   -1e-45,
                                   1e300,
                                   -1e300,
                                   1e38,
                                   709.78,
                                   -745.1,
                                   88.72,
                                   -103.9,
                                   1.5707963267948966,
                                   3.141592653589793,
                                   1e5,
                                   1e10,
                                   1e22,
                                   1048576.0,
                                   0.4375,
                                   0.40,
                                   1073741824.0};
    if (i < (int)(sizeof edges / sizeof *edges)) return edges[i];
    uint64_t r = next();
    if (i % 3 == 0) { /* any bit pattern */
        if (wide) return tc_from_bits_f64(r);
        return tc_from_bits_f32((uint32_t)r);
    }
    double t = (double)(int64_t)r * 0x1p-63; /* -1..1 */
    double m = i % 3 == 1 ? 1.0 : i % 5 == 0 ? 700 : 20;
    double x = t * m;
    if (x < u->lo) x = u->lo == 0 || u->lo == 1 || u->lo == 1.5 ? u->lo + fabs(x) : -fabs(t);
    return x;
}

static double worst(const unary *u, int wide, int n, double *out_at) {
    mpfr_t x, y;
    mpfr_inits2(200, x, y, NULL);
    double w = 0;
    for (int i = 0; i < n; i++) {
        double a = argument(u, i, wide);
        if (!wide) a = (float)a;
        double got = wide ? u->f64(a) : (double)u->f32((float)a);
        if ((a < u->lo && u->lo > 1) || a > u->hi * 2) continue;
        mpfr_set_d(x, a, MPFR_RNDN);
        u->ref(y, x, MPFR_RNDN);
        double e = wide ? ulps(y, got, 53, -1021, 0x1.fffffffffffff7p1023) : ulps(y, got, 24, -125, 0x1.ffffffp127);
        if (isnan(a)) e = isnan(got) ? 0 : INFINITY;
        if (!isfinite(a) && u->ref == ref_lgamma) e = 0;
        if (u->ref == ref_erfinv && fabs(a) >= 1) e = 0;
        if (u->ref == mpfr_digamma && a < 1.5) e = 0;
        if (u->ref == ref_lgamma && a <= 0) e = 0;
        if (a == 0 && u->ref == mpfr_rec_sqrt) e = got == 1 / a ? 0 : INFINITY; /* 1 / sqrt(-0) is -inf in PyTorch */
        else if (a == 0 && signbit(got) != signbit(mpfr_get_d(y, MPFR_RNDN)) && !isnan(got)) e = INFINITY;
        if (!(e <= w)) w = e, *out_at = a;
    }
    mpfr_clears(x, y, NULL);
    return w;
}

static void check(void **data) {
    const unary *u = *data;
    double at = 0, e = worst(u, 0, 2000, &at);
    if (!(e <= u->max32)) fail_msg("%s_f32(%a): %g ulp, bound %g", u->name, at, e, u->max32);
    e = worst(u, 1, 2000, &at);
    if (!(e <= u->max64)) fail_msg("%s_f64(%a): %g ulp, bound %g", u->name, at, e, u->max64);
}

typedef struct {
    const char *name;
    float (*f32)(float, float);
    double (*f64)(double, double);
    int (*ref)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
} binary;
static const binary binaries[] = {{"pow", tc_x_pow_f32, tc_x_pow_f64, mpfr_pow},
                                  {"atan2", tc_x_atan2_f32, tc_x_atan2_f64, mpfr_atan2},
                                  {"hypot", tc_x_hypot_f32, tc_x_hypot_f64, mpfr_hypot},
                                  {"fmod", tc_x_fmod_f32, tc_x_fmod_f64, mpfr_fmod}};
static double worst2(const binary *b, int wide, int n, double *out_a, double *out_b) {
    static const double edges[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,   1,     -1,   0.5,     -0.5,
                                   2,   3,    -3,       1e-300,    1e300, 1e-40, 1e38, -1e-310, 4503599627370497.0};
    enum { E = sizeof edges / sizeof *edges };
    mpfr_t x, y, z;
    mpfr_inits2(200, x, y, z, NULL);
    double w = 0;
    for (int i = 0; i < n; i++) {
        double p = (double)(int64_t)next() * 0x1p-63, q = (double)(int64_t)next() * 0x1p-63;
        double a = i < E * E ? edges[i % E] : i % 3 == 0 ? p : i % 3 == 1 ? p * 100 : exp(p * (wide ? 700 : 80));
        double c = i < E * E ? edges[i / E] : i % 4 == 0 ? q : i % 4 == 1 ? q * 10 : i % 4 == 2 ? rint(q * 30) : exp(q * (wide ? 700 : 80));
        if (!wide) a = (float)a, c = (float)c;
        double got = wide ? b->f64(a, c) : (double)b->f32((float)a, (float)c);
        mpfr_set_d(x, a, MPFR_RNDN), mpfr_set_d(y, c, MPFR_RNDN);
        b->ref(z, x, y, MPFR_RNDN);
        double e = wide ? ulps(z, got, 53, -1021, 0x1.fffffffffffff7p1023) : ulps(z, got, 24, -125, 0x1.ffffffp127);
        if (!isnan(got) && got == 0 && mpfr_zero_p(z) && !!signbit(got) != !!mpfr_signbit(z)) e = INFINITY;
        if (!(e <= w)) w = e, *out_a = a, *out_b = c;
    }
    mpfr_clears(x, y, z, NULL);
    return w;
}
static void check2(void **data) {
    const binary *b = *data;
    double x = 0, y = 0, e = worst2(b, 0, 2000, &x, &y);
    if (!(e <= 1)) fail_msg("%s_f32(%a, %a): %g ulp", b->name, x, y, e);
    e = worst2(b, 1, 2000, &x, &y);
    if (!(e <= 1)) fail_msg("%s_f64(%a, %a): %g ulp", b->name, x, y, e);
}

/* gelu is x Phi(x): within 3 ulp above 0, below with Phi to 2^-23 and, where it is more than 2^-25, to 16 bits. */
static void gelu(void **data) {
    (void)data;
    mpfr_t x, y;
    mpfr_inits2(200, x, y, NULL);
    for (int i = 0; i < 20000; i++) {
        float a = (float)((double)(int64_t)next() * 0x1p-63 * (i % 2 ? 8 : 1)), got = tc_x_gelu_f32(a);
        mpfr_set_d(x, a, MPFR_RNDN), mpfr_div_d(y, x, -1.41421356237309504880, MPFR_RNDN), mpfr_erfc(y, y, MPFR_RNDN), mpfr_mul(y, y, x, MPFR_RNDN);
        mpfr_div_ui(y, y, 2, MPFR_RNDN);
        double e = a > 0 ? ulps(y, got, 24, -125, 0x1.ffffffp127) / 3 : fabs((mpfr_get_d(y, MPFR_RNDN) - got) / a) * 0x1p23;
        if (a < -3 && a > -5.5) e = fabs(mpfr_get_d(y, MPFR_RNDN) / got - 1) * 0x1p16; /* digits that 1 + erf would lose */
        if (!(e <= 1)) fail_msg("gelu_f32(%a) = %a: %g of the bound", a, got, e);
    }
    mpfr_clears(x, y, NULL);
    assert_true(isnan(tc_x_gelu_f32(NAN)) && isnan(tc_x_gelu_f32(-INFINITY)) && tc_x_gelu_f32(INFINITY) == INFINITY);
    assert_true(tc_x_gelu_f32(-1e30f) == 0 && tc_x_gelu_f32(1e30f) == 1e30f && signbit(tc_x_gelu_f32(-0.0f)) && !signbit(tc_x_gelu_f32(0)));
}

/* x / (1 + exp(-v)): silu, where v is x, within 2.5 ulp (2.403 of all float32 in -86..86) down to where the quotient is subnormal; gelu by tanh, where v is a cubic of x, within 3 ulp
 * above 0 and to 17 bits below, down to where 1 + tanh has no digit left. */
static void logistic(void **data) {
    (void)data;
    mpfr_t x, v, y;
    mpfr_inits2(200, x, v, y, NULL);
    for (int i = 0; i < 40000; i++) {
        const int cubic = i % 2;
        const double most[] = {1, 1, 86, 8};
        float a = (float)((double)(int64_t)next() * 0x1p-63 * most[i % 4]), got = cubic ? tc_x_gelu_tanh_f32(a) : tc_x_silu_f32(a);
        mpfr_set_d(x, a, MPFR_RNDN), mpfr_set(v, x, MPFR_RNDN);
        if (cubic) mpfr_sqr(v, x, MPFR_RNDN), mpfr_mul_d(v, v, 0.044715, MPFR_RNDN), mpfr_add_ui(v, v, 1, MPFR_RNDN), mpfr_mul(v, v, x, MPFR_RNDN);
        if (cubic) mpfr_mul_d(v, v, 1.5957691216057307117, MPFR_RNDN);
        ref_sigmoid(y, v, MPFR_RNDN), mpfr_mul(y, y, x, MPFR_RNDN);
        double e = a > 0 || !cubic ? ulps(y, got, 24, -125, 0x1.ffffffp127) / (cubic ? 3 : 2.5) : fabs(got / mpfr_get_d(y, MPFR_RNDN) - 1) * 0x1p17;
        if (!(e <= 1)) fail_msg("%s_f32(%a) = %a: %g of the bound", cubic ? "gelu_tanh" : "silu", a, got, e);
    }
    mpfr_clears(x, v, y, NULL);
    float (*const f[])(float) = {tc_x_silu_f32, tc_x_gelu_tanh_f32};
    for (int i = 0; i < 2; i++) {
        assert_true(isnan(f[i](NAN)) && isnan(f[i](-INFINITY)) && f[i](INFINITY) == INFINITY && f[i](1e30f) == 1e30f);
        assert_true(f[i](-1e30f) == 0 && signbit(f[i](-1e30f)) && signbit(f[i](-0.0f)) && !signbit(f[i](0)) && f[i](1e-40f) == 5e-41f);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "table")) {
        int n = argc > 2 ? atoi(argv[2]) : 20000;
        for (int i = 0; i < N; i++) {
            double a32 = 0, a64 = 0, e32 = worst(&table[i], 0, n, &a32), e64 = worst(&table[i], 1, n, &a64);
            printf("%-8s f32 %.3f at %a   f64 %.3f at %a\n", table[i].name, e32, a32, e64, a64);
        }
        for (int i = 0; i < (int)(sizeof binaries / sizeof *binaries); i++) {
            double a = 0, b = 0, c = 0, d = 0, e32 = worst2(&binaries[i], 0, n, &a, &b), e64 = worst2(&binaries[i], 1, n, &c, &d);
            printf("%-8s f32 %.3f at %a %a   f64 %.3f at %a %a\n", binaries[i].name, e32, a, b, e64, c, d);
        }
        return 0;
    }
    struct CMUnitTest tests[N + sizeof binaries / sizeof *binaries + 2];
    int count = 0;
    for (int i = 0; i < N; i++) tests[count++] = (struct CMUnitTest){table[i].name, check, NULL, NULL, (void *)&table[i]};
    for (int i = 0; i < (int)(sizeof binaries / sizeof *binaries); i++)
        tests[count++] = (struct CMUnitTest){binaries[i].name, check2, NULL, NULL, (void *)&binaries[i]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(gelu), tests[count++] = (struct CMUnitTest)cmocka_unit_test(logistic);
    return _cmocka_run_group_tests("ulp", tests, (size_t)count, NULL, NULL);
}
