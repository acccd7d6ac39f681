/* Gamma functions and the normal distribution: trigamma, zeta, igamma, igammac, erfcx, ndtri, log_ndtr; orthogonal polynomials, by their recurrences.
 * Part of scalar.h. Most have loops and branches, and float32 is computed in float64. */
#ifndef TC_KERNEL_SCALAR_GAMMA_H
#define TC_KERNEL_SCALAR_GAMMA_H

#include "kernel/scalar_cast.h"
#include "kernel/scalar_special.h"

static inline double tc_x_trigamma_f64(double x) {
    double sign = 1, y = 0;
    if (x < 0.5) {
        double s = tc_x_sinpi(x);
        sign = -1, y = -9.86960440108935861883 / (s * s), x = 1 - x;
    }
    while (x < 12) y += 1 / (x * x), x += 1;
    double z = 1 / (x * x);
    double w = tc_fma(-2.53113553113553113553e-1, z, 7.57575757575757575758e-2);
    w = tc_fma(w, z, -3.33333333333333333333e-2);
    w = tc_fma(w, z, 2.38095238095238095238e-2);
    w = tc_fma(w, z, -3.33333333333333333333e-2);
    w = tc_fma(w, z, 1.66666666666666666667e-1);
    return sign * (y + (1 + 0.5 / x + z * w) / x);
}

/* trigamma for 0 < x < 2^100 without branches: the sum of 1 / (x + k)^2 for k = 0 .. 5 is a quotient of polynomials in q = x^2 + 5 x. */
TC_X_INLINE float tc_x_trigamma_quick_f32(float v) {
    double x = v, q = tc_fma(x, x, 5 * x), a = q * q, b = (q + 4) * (q + 4), c = (q + 6) * (q + 6);
    double n = tc_fma(tc_fma(2 * q + 25, b, a * (2 * q + 17)), c, a * b * (2 * q + 13)), sum = n / (a * b * c);
    int small = x < 6;
    double y = small ? x + 6 : x, i = 1 / y, z = i * i;
    double w = tc_fma(-2.53113553113553113553e-1, z, 7.57575757575757575758e-2);
    w = tc_fma(w, z, -3.33333333333333333333e-2);
    w = tc_fma(w, z, 2.38095238095238095238e-2);
    w = tc_fma(w, z, -3.33333333333333333333e-2);
    w = tc_fma(w, z, 1.66666666666666666667e-1);
    return (float)((1 + tc_fma(z, w, 0.5 * i)) * i + tc_x_pick(small, sum, 0));
}
static inline float tc_x_trigamma_f32(float x) { return tc_x_is_unusual_f32(x) ? (float)tc_x_trigamma_f64(x) : tc_x_trigamma_quick_f32(x); }

/* The Hurwitz zeta function, the sum of (q + k)^-x: first terms directly, the rest by the Euler-Maclaurin formula, as in Cephes. */
static inline double tc_x_zeta_f64(double x, double q) {
    static const double b[12] = {12,
                                 -720,
                                 30240,
                                 -1209600,
                                 47900160,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};
    if (x == 1) return __builtin_inf();
    if (x < 1) return __builtin_nan("");
    if (q <= 0) {
        if (q == __builtin_floor(q)) return __builtin_inf();
        if (x != __builtin_floor(x)) return __builtin_nan("");
    }
    if (x != x || q != q) return __builtin_nan("");
    double s = tc_x_pow_f64(q, -x), a = q, t = 0, k = 0, f = 1;
    for (int i = 0; i < 9 || a <= 9; i++) {
        a += 1, t = tc_x_pow_f64(a, -x), s += t;
        if (__builtin_fabs(t) < 0x1p-53 * __builtin_fabs(s)) return s;
    }
    s += t * a / (x - 1), s -= 0.5 * t;
    for (int i = 0; i < 12; i++) {
        f *= x + k, t /= a;
        double u = f * t / b[i];
        s += u;
        if (__builtin_fabs(u) < 0x1p-53 * __builtin_fabs(s)) return s;
        k += 1, f *= x + k, t /= a, k += 1;
    }
    return s;
}

/* x^a exp(-x) / gamma(a) */
static inline double tc_x_igamma_factor(double a, double x) { return tc_x_exp_f64(a * tc_x_log_f64(x) - x - tc_x_lgamma_f64(a)); }
/* Large a: N. M. Temme, The asymptotic expansion of the incomplete gamma functions, SIAM J. Math. Anal. 10 (1979). With
 * eta^2 / 2 = x/a - 1 - log(x/a): 1/2 erfc(+-eta sqrt(a/2)) +- exp(-a eta^2 / 2) / sqrt(2 pi a) sum over k of a^-k c_k(eta), the c_k by
 * their power series. For |eta| < 0.35 and a > 2000 the truncation error is below 2^-50 of the result. Returns 0 where a and x are not in that range. */
static inline int tc_x_igamma_large(double a, double x, int upper, double *out) {
    static const double c0[] = {-3.3333333333333333e-1, 8.3333333333333333e-2,  -1.4814814814814815e-2, 1.1574074074074074e-3,
                                3.527336860670194e-4,   -1.7875514403292181e-4, 3.9192631785224378e-5,  -2.1854485106799922e-6,
                                -1.85406221071516e-6,   8.296711340953086e-7,   -1.7665952736826079e-7, 6.7078535434014986e-9,
                                1.0261809784240308e-8,  -4.3820360184533532e-9, 9.1476995822367902e-10};
    static const double c1[] = {-1.8518518518518519e-3, -3.4722222222222222e-3, 2.6455026455026455e-3, -9.9022633744855967e-4, 2.0576131687242798e-4,
                                -4.0187757201646091e-7, -1.8098550334489978e-5, 7.6491609160811101e-6, -1.6120900894563446e-6};
    static const double c2[] = {4.1335978835978836e-3, -2.6813271604938272e-3, 7.7160493827160494e-4, 2.0093878600823045e-6, -1.0736653226365161e-4};
    double m = (x - a) / a;
    if (!(a > 2000) || !(__builtin_fabs(m) < 0.3)) return 0;
    double y = m / (2 + m), y2 = y * y, tail = 0; /* log1p(m) = 2 atanh(y), of which 2 y is taken exactly */
    for (int i = 25; i >= 3; i -= 2) tail = __builtin_fma(tail, y2, 1.0 / i);
    double half = m * m / (2 + m) - 2 * y * y2 * tail, eta = __builtin_sqrt(2 * half), sum = 0, s1 = 0, s2 = 0, sign = upper ? 1 : -1;
    if (m < 0) eta = -eta;
    for (int i = 4; i >= 0; i--) s2 = __builtin_fma(s2, eta, c2[i]);
    for (int i = 8; i >= 0; i--) s1 = __builtin_fma(s1, eta, c1[i]);
    for (int i = 14; i >= 0; i--) sum = __builtin_fma(sum, eta, c0[i]);
    sum += (s1 + s2 / a) / a;
    *out =
        0.5 * tc_x_erfc_f64(sign * eta * __builtin_sqrt(0.5 * a)) + sign * tc_x_exp_f64(-a * half) * sum / __builtin_sqrt(0x1.921fb54442d18p+2 * a);
    return 1;
}
/* The lower function by its series, or the upper one by its continued fraction (Lentz's method); the other is 1 minus that. */
static inline double tc_x_igamma_parts(double a, double x, int upper) {
    double inf = __builtin_inf();
    if (a < 0 || x < 0) return __builtin_nan("");
    if (a == 0) return x > 0 ? !upper : __builtin_nan("");
    if (x == 0) return upper;
    if (a == inf) return x == inf ? __builtin_nan("") : upper;
    if (x == inf) return !upper;
    if (a != a || x != x) return __builtin_nan("");
    double large;
    if (tc_x_igamma_large(a, x, upper, &large)) return large;
    if (x < a + 1) {
        const int tiny = a < 0x1p-1000; /* 1 / a may overflow: the series times a, and 1 / gamma(a) = a */
        double t = tiny ? 1 : 1 / a, s = t;
        for (int i = 1; i < 2000 && t > s * 0x1p-54; i++) t *= x / (a + i), s += t;
        double p = s * (tiny ? tc_x_exp_f64(a * tc_x_log_f64(x) - x) : tc_x_igamma_factor(a, x));
        return upper ? 1 - p : p;
    }
    double b = x + 1 - a, c = 0x1p1000, d = 1 / b, h = d;
    for (int i = 1; i < 2000; i++) {
        double n = -i * (i - a);
        b += 2, d = 1 / (n * d + b), c = b + n / c;
        double f = c * d;
        h *= f;
        if (__builtin_fabs(f - 1) < 0x1p-53) break;
    }
    double q = h * tc_x_igamma_factor(a, x);
    return upper ? q : 1 - q;
}
static inline double tc_x_igamma_f64(double a, double x) { return tc_x_igamma_parts(a, x, 0); }
static inline double tc_x_igammac_f64(double a, double x) { return tc_x_igamma_parts(a, x, 1); }

/* exp(c x^2), c = 1 or -1/2, with the square as a sum of two numbers. Results beyond |x| = 33 and 46 are infinite and 0. */
static inline double tc_x_exp_square(double x, double c) {
    double most = c == 1 ? 33 : 46, a = __builtin_fabs(x), b = a > most ? most : a, s = b * b;
    tc_x_dd e = tc_x_exp_dd(c * s, c * tc_fma(b, b, -s));
    return tc_x_scale_f64(e.h + e.l, e.k);
}
static inline double tc_x_erfcx_f64(double x) {
    if (x < 0.4) return tc_x_exp_square(x, 1) * tc_x_erfc_f64(x);
    if (x <= 28) return tc_x_erfcx_far(x);
    double z = 1 / (x * x);
    return 0.56418958354775628695 / x * (1 - 0.5 * z * (1 - 1.5 * z * (1 - 2.5 * z * (1 - 3.5 * z * (1 - 4.5 * z * (1 - 5.5 * z))))));
}
/* The inverse of the normal distribution function: -sqrt 2 times the x with erfc(x) = 2 p, by Newton's iteration on log erfc, which is nearly a parabola */
static inline double tc_x_ndtri_f64(double p) {
    if (p == 0) return -__builtin_inf();
    if (p == 1) return __builtin_inf();
    if (!(p > 0 && p < 1)) return __builtin_nan("");
    double q = p < 0.5 ? p : 1 - p;
    if (q > 0.02) {
        double e = tc_x_erfinv_f64(2 * p - 1);
        return tc_fma(0x1.6a09e667f3bcdp+0, e, -0x1.bdd3413b26456p-54 * e);
    }
    double w = tc_x_log_f64(2 * q), x = __builtin_sqrt(-w - 0.5 * tc_x_log_f64(-3.14159265358979323846 * w));
    for (int i = 0; i < 6; i++) { /* f = log(erfcx) - x^2 - w; f' = -2 / (sqrt pi erfcx) */
        double e = tc_x_erfcx_f64(x), f = tc_x_log_f64(e) - x * x - w;
        x += f * e * 0.88622692545275801365;
    }
    return (p < 0.5 ? -1.41421356237309504880 : 1.41421356237309504880) * x;
}
/* As tc_x_erfinv_f32 with y = 2 p - 1, computing 1 - y^2 as 4 p (1 - p), which does not cancel; beyond sqrt(w) = 3.9 a third polynomial (made with mpmath,
 * relative error 2^-27.7). */
TC_X_INLINE double tc_x_ndtri_tail(double s) { /* erfinv(y) / |y|, s = sqrt(w) */
    double g = (s > 10.2 ? 10.2 : s) - 7;
    double p = -0x1.0f7503d356903p-34;
    p = tc_fma(p, g, 0x1.d1d7e7cb8098bp-32);
    p = tc_fma(p, g, -0x1.f954bbe9428dbp-31);
    p = tc_fma(p, g, 0x1.8026d5a0f14b7p-28);
    p = tc_fma(p, g, -0x1.df5f50d971aa0p-25);
    p = tc_fma(p, g, 0x1.63ef61f96335cp-22);
    p = tc_fma(p, g, -0x1.b1f58be3c8d03p-20);
    p = tc_fma(p, g, 0x1.9384784e3c49bp-18);
    p = tc_fma(p, g, 0x1.a5d6994fa1f74p-18);
    p = tc_fma(p, g, -0x1.0cc2833a7f0f1p-11);
    p = tc_fma(p, g, 0x1.0233528cb9232p+0);
    p = tc_fma(p, g, 0x1.b79e0494d8359p+2);
    return p;
}
TC_X_INLINE float tc_x_ndtri_f32(float x) {
    double p = x, y = 2 * p - 1, u = 4 * p * (1 - p), w = -tc_x_log_lite(u > 0x1p-200 ? u : 0x1p-200), s = __builtin_sqrt(w > 0 ? w : 0);
    double r = tc_x_pick(s > 3.9, tc_x_ndtri_tail(s), tc_x_erfinv_ratio(w)) * y * 1.41421356237309504880;
    float edge = x == 0 ? -__builtin_inff() : x == 1 ? __builtin_inff() : __builtin_nanf("");
    return ((x > 0) & (x < 1)) ? (float)r : edge;
}
static inline double tc_x_log_ndtr_f64(double x) {
    double t = x * 0.70710678118654752440;
    if (x < -1) return tc_x_log_f64(tc_x_erfcx_f64(-t) * 0.5) - 0.5 * x * x;
    return tc_x_log1p_f64(t < 0.4 ? -0.5 * tc_x_erfc_f64(t) : -0.5 * tc_x_exp_square(x, -0.5) * tc_x_erfcx_f64(t));
}
/* With z = |x| / sqrt 2 and r = erfcx(z): log(r / 2) - z^2 for x < 0, else log1p(-r exp(-z^2) / 2). Beyond 10.3 r is its asymptotic series. */
static inline float tc_x_log_ndtr_f32(float x) {
    double a = __builtin_fabsf(x), z = a * 0.70710678118654752440, s = 0.5 * a * a, y = 1.0f / (float)z, w = y * y;
    double r = z > 10.3 ? 0.56418958354775628695 * y * (1 - 0.5 * w * (1 - 1.5 * w * (1 - 2.5 * w))) : tc_x_erfcx_lite(z > 10.3 ? 10.3 : z);
    double e = 0.5 * r * tc_x_exp_lite(s > 110 ? -110 : -s), far = tc_x_log_lite(0.5 * r) - s, near = tc_x_log1p_quick(-e);
    return (float)(x < 0 ? far : near);
}

/* ---- orthogonal polynomials of degree trunc(n), by their three-term recurrences ----
 * kind 0..3: Chebyshev T, U, V, W; 4: Hermite H; 5: Hermite He; 6: Laguerre; 7: Legendre. narrow: float32; its steps overflow where PyTorch's do, and an
 * overflow becomes NaN at the next step. Beyond degree 512 (float32: 128) Hermite, beyond 10000 Laguerre and Legendre polynomials are NaN. */
static inline double tc_x_polynomial(int kind, double x, double degree, int narrow) {
    int64_t n = tc_x_cast_f64_i64(degree), most = kind > 5 ? 10000 : narrow ? 128 : 512;
    double m0 = (double)n, sign = n & 1 ? -1 : 1;
    if (n < 0 || degree != degree) return 0;
    if (x == 1 && kind < 4) return kind == 0 || kind == 2 ? 1 : kind == 1 ? m0 + 1 : 2 * m0 + 1;
    if (x == -1 && kind < 4) return sign * (kind == 0 || kind == 3 ? 1 : kind == 1 ? m0 + 1 : 2 * m0 + 1);
    if (kind == 7 && (x == 1 || x == -1)) return x == 1 ? 1 : sign;
    if (kind == 6 && x == 0) return 1;
    if (n > most && kind >= 4) return __builtin_nan("");
    if (n > 1000 && __builtin_fabs(x) < 1) { /* closed forms */
        double a = tc_x_acos_f64(x);
        if (kind == 0) return tc_x_cos_f64(m0 * a);
        if (kind == 1) return tc_x_sin_f64((m0 + 1) * a) / tc_x_sin_f64(a);
        if (kind < 4) return kind == 2 ? tc_x_cos_f64((m0 + 0.5) * a) / tc_x_cos_f64(a * 0.5) : tc_x_sin_f64((m0 + 0.5) * a) / tc_x_sin_f64(a * 0.5);
    }
    double q = 1, p = kind == 0 || kind == 5 || kind == 7 ? x
                      : kind == 1 || kind == 4            ? 2 * x
                      : kind == 2                         ? 2 * x - 1
                      : kind == 3                         ? 2 * x + 1
                                                          : 1 - x;
    if (n == 0) return q;
    for (int64_t k = 1; k < n && p == p; k++) {
        double r, m = (double)k;
        if (kind < 4) r = 2 * x * p - q;
        else if (kind == 4) r = 2 * (x * p - m * q);
        else if (kind == 5) r = x * p - m * q;
        else if (kind == 6) r = ((2 * m + 1 - x) * p - m * q) / (m + 1);
        else r = ((2 * m + 1) * x * p - m * q) / (m + 1);
        if (narrow && !(__builtin_fabs(r) < 0x1p128)) r = r > 0 ? __builtin_inf() : r < 0 ? -__builtin_inf() : r;
        q = p, p = r;
    }
    return p;
}
#define ROW(name, kind)                                                                                   \
    static inline double tc_x_##name##_f64(double x, double n) { return tc_x_polynomial(kind, x, n, 0); } \
    static inline float tc_x_##name##_f32(float x, float n) { return (float)tc_x_polynomial(kind, x, n, 1); }
ROW(chebyshev_t, 0)
ROW(chebyshev_u, 1)
ROW(chebyshev_v, 2)
ROW(chebyshev_w, 3)
ROW(hermite_h, 4)
ROW(hermite_he, 5)
ROW(laguerre_l, 6)
ROW(legendre_p, 7)
#undef ROW

#define ROW(name) \
    static inline float tc_x_##name##_f32(float x) { return (float)tc_x_##name##_f64(x); }
ROW(erfcx)
#undef ROW
#define ROW(name) \
    static inline float tc_x_##name##_f32(float a, float b) { return (float)tc_x_##name##_f64(a, b); }
ROW(zeta)
ROW(igamma)
ROW(igammac)
#undef ROW

#endif
