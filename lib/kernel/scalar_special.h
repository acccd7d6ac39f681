/* erf, erfc, erfinv, gelu, silu, lgamma, digamma, rsqrt, hypot, cbrt. Part of scalar.h.
 *
 * erf(x) = x + x P(x^2) near 0; elsewhere erfc(x) = exp(-x^2) R(q) / (1 + 2 x) with q = (x - 4) / (x + 4), which is smooth up to
 * where erfc underflows. Polynomials interpolate at Chebyshev nodes to 2^-60. lgamma and digamma have loops and branches. */
#ifndef TC_KERNEL_SCALAR_SPECIAL_H
#define TC_KERNEL_SCALAR_SPECIAL_H

#include "kernel/scalar_log.h"
#include "kernel/scalar_trig.h"

static inline double tc_x_erf_near(double x) { /* |x| <= 1 */
    double s = x * x;
    double p = tc_fma(0x1.05a4882887e6dp-34, s, -0x1.387c6c0ed4e52p-30);
    p = tc_fma(p, s, 0x1.f7aa66c5ce392p-27);
    p = tc_fma(p, s, -0x1.5f1ddc9bd62bep-23);
    p = tc_fma(p, s, 0x1.b9df070b82a13p-20);
    p = tc_fma(p, s, -0x1.f4d1e10b9fe11p-17);
    p = tc_fma(p, s, 0x1.f9a321bb7a7dbp-14);
    p = tc_fma(p, s, -0x1.c02db3d9e7a4cp-11);
    p = tc_fma(p, s, 0x1.565bcd0db6105p-8);
    p = tc_fma(p, s, -0x1.b82ce31284c37p-6);
    p = tc_fma(p, s, 0x1.ce2f21a042b2ap-4);
    p = tc_fma(p, s, -0x1.812746b0379e6p-2);
    p = tc_fma(p, s, 0x1.06eba8214db69p-3);
    return tc_fma(x, p, x);
}
/* exp(x^2) erfc(x), 0.39 <= x <= 28 */
static inline double tc_x_erfcx_far(double x) {
    double q = (x - 4) / (x + 4);
    double p = tc_fma(0x1.b9d9e75849382p-30, q, 0x1.4fc4b32c84aacp-29);
    p = tc_fma(p, q, -0x1.017925e1bc4f2p-26);
    p = tc_fma(p, q, -0x1.54d999a6176fbp-26);
    p = tc_fma(p, q, 0x1.dc97367615079p-24);
    p = tc_fma(p, q, 0x1.4bedccd0c829ep-24);
    p = tc_fma(p, q, -0x1.bb622d939a5aep-21);
    p = tc_fma(p, q, 0x1.39420100bbe2ep-22);
    p = tc_fma(p, q, 0x1.7f2d7acd3f263p-18);
    p = tc_fma(p, q, -0x1.7883f314171fbp-17);
    p = tc_fma(p, q, -0x1.9959a77565302p-16);
    p = tc_fma(p, q, 0x1.3be03b767fd65p-13);
    p = tc_fma(p, q, -0x1.a1df22b280470p-13);
    p = tc_fma(p, q, -0x1.8d4a99e113584p-11);
    p = tc_fma(p, q, 0x1.49c67282ffedbp-8);
    p = tc_fma(p, q, -0x1.096238850d8cep-6);
    p = tc_fma(p, q, 0x1.3079edf68bc76p-5);
    p = tc_fma(p, q, -0x1.0fb06dfe49805p-4);
    p = tc_fma(p, q, 0x1.7fee004e121a1p-4);
    p = tc_fma(p, q, -0x1.9ddb23c3e90a6p-4);
    p = tc_fma(p, q, 0x1.16ecefcfa53abp-4);
    p = tc_fma(p, q, 0x1.f7f5df66fd7b5p-7);
    p = tc_fma(p, q, -0x1.1df1ad154a28ep-3);
    p = tc_fma(p, q, 0x1.3ba5916e9fd7fp+0);
    return p / tc_fma(2, x, 1);
}
static inline double tc_x_erfc_far(double x) { /* x >= 0.39 */
    x = x > 28 ? 28 : x;
    double r = tc_x_erfcx_far(x), s = x * x;
    tc_x_dd e = tc_x_exp_dd(-s, -tc_fma(x, x, -s));
    return tc_x_scale_f64((e.h + e.l) * r, e.k);
}
static inline double tc_x_erf_f64(double x) {
    double a = __builtin_fabs(x), far = 1 - tc_x_erfc_far(a < 0.5 ? 0.5 : a);
    return a <= 1 ? tc_x_erf_near(x) : a != a ? a : __builtin_copysign(far, x);
}
static inline double tc_x_erfc_f64(double x) {
    double a = __builtin_fabs(x), far = tc_x_erfc_far(a < 0.4 ? 0.4 : a);
    double y = a < 0.4 ? 1 - tc_x_erf_near(x) : x < 0 ? 2 - far : far;
    return x != x ? x : y;
}
/* Two polynomials by Norbert Juffa (BSD), by Estrin's scheme: erf(x) = 1 - exp(-poly) from 0.93 on. */
static inline float tc_x_erf_f32(float x) {
    float t = __builtin_fabsf(x), s = x * x, s2 = s * s;
    float e1 = tc_fmaf(0x1.8d6342p-6f, t, -0x1.b55cb8p-4f), e2 = tc_fmaf(tc_fmaf(-0x1.220000p-16f, t, 0x1.91cfb2p-12f), t, -0x1.fd1438p-9f);
    float e = tc_fmaf(tc_fmaf(tc_fmaf(e2, s, e1), t, -0x1.450aa0p-1f), t, -0x1.079d0cp-3f);
    e = tc_x_nearer_f32(tc_fmaf(e, t, -t), -30);
    float m = tc_fmaf(e, 0x1.715476p+0f, TC_X_EXP_T1), r = tc_fmaf(m - TC_X_EXP_T1, -0x1.62e43p-1f, e), h = tc_x_pow2_all_f32(m);
    float far = __builtin_copysignf(1 - tc_fmaf(h, tc_x_exp_p_f32(r), h), x);
    float p0 = tc_fmaf(-0x1.812700p-2f, s, 0x1.06eba8p-3f), p1 = tc_fmaf(-0x1.b691b2p-6f, s, 0x1.ce1c44p-4f);
    float p2 = tc_fmaf(-0x1.38e000p-11f, s, 0x1.471a58p-8f);
    return t > 0.927734375f ? far : tc_fmaf(tc_fmaf(tc_fmaf(p2, s2, p1), s2, p0), x, x); /* NaN takes the branch near 0 */
}
/* exp(c^2) erfc(c) in float64 for float32 functions, 0 <= c <= 10.3: R(q) with q = (c - 4) / (c + 4), to 2^-32; 1 / (c + 4) is a float32 quotient and one
 * Newton step. */
TC_X_INLINE double tc_x_erfcx_lite(double c) {
    double d = c + 4, y = 1.0f / (float)d;
    y = tc_fma(y, tc_fma(-d, y, 1), y);
    double q = tc_fma(-8, y, 1);
    double p = tc_fma(0x1.a9ca3c0aebd32p-14, q, -0x1.d9a23d68fb16ep-16);
    p = tc_fma(p, q, -0x1.ab5515708dcf9p-11);
    p = tc_fma(p, q, 0x1.09fe06e3f03f4p-8);
    p = tc_fma(p, q, -0x1.a4bbac861aac3p-7);
    p = tc_fma(p, q, 0x1.00686cb777a89p-5);
    p = tc_fma(p, q, -0x1.027de22d828fap-4);
    p = tc_fma(p, q, 0x1.be50167ca37cdp-4);
    p = tc_fma(p, q, -0x1.5066631ca9459p-3);
    p = tc_fma(p, q, 0x1.bff01ab658092p-3);
    p = tc_fma(p, q, -0x1.0949227bbc9d8p-2);
    p = tc_fma(p, q, 0x1.18932bf03c36fp-3);
    return p;
}
static inline float tc_x_erfc_f32(float x) { /* the square of a float32 is exact */
    double a = __builtin_fabsf(x), c = a > 10.3 ? 10.3 : a, s = c * c, far = tc_x_erfcx_lite(c) * tc_x_exp_lite(-s);
    return (float)(x != x ? (double)x : x < 0 ? 2 - far : far);
}

/* ---- activations, which as separate operations would take five or more passes over a block: gelu = x Phi(x), its tanh approximation, silu = x sigmoid(x) ---- */
/* With a = |x| and c = min(a, 5.6): erfc(a / sqrt 2) / 2 = 2^(c P(c) - 1), 0 from 5.6 on (P by weighted least squares, relative error 2^-26 near 0). This is
 * Phi(x) for x < 0, where 1 + erf would cancel, and 1 - Phi(x) for x > 0. */
static inline float tc_x_gelu_f32(float x) {
    float a = __builtin_fabsf(x), c = tc_x_nearer_f32(a, 5.6f), s = c * c;
    float p0 = tc_fmaf(-0x1.d63cdep-2f, c, -0x1.26aeccp+0f), p1 = tc_fmaf(0x1.c83ffep-8f, c, -0x1.adb254p-5f);
    float p2 = tc_fmaf(-0x1.228abcp-12f, c, -0x1.32fbc6p-17f), p3 = tc_fmaf(-0x1.7300e2p-17f, c, 0x1.401750p-14f);
    float p4 = tc_fmaf(-0x1.022894p-25f, c, 0x1.d796b8p-21f), p = tc_fmaf(tc_fmaf(tc_fmaf(p4, s, p3), s, p2), s * s, tc_fmaf(p1, s, p0));
    float e = p * c, t = e + 0x1.8000fcp23f, r = e - (t - 0x1.8000fcp23f), z = r * r, h = tc_x_pow2_all_f32(t);
    float q0 = tc_fmaf(0x1.ebfbe0p-3f, r, 0x1.62e430p-1f), q1 = tc_fmaf(0x1.3b2a28p-7f, r, 0x1.c6af7ap-5f);
    float q = tc_fmaf(tc_fmaf(tc_fmaf(0x1.4447b2p-13f, r, 0x1.5f0968p-10f), z, q1), z, q0) * r; /* 2^r - 1 */
    h = a < 5.6f ? tc_fmaf(h, q, h) : 0;
    return x * (x < 0 ? h : 1 - h);
}
static inline double tc_x_gelu_f64(double x) { return x * 0.5 * (1 + tc_x_erf_f64(x * 0x1.6a09e667f3bcdp-1)); }
/* (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)), which does not cancel for u < 0 */
static inline float tc_x_gelu_tanh_f32(float x) { return x * tc_x_logistic_f32(x * tc_fmaf(-0x1.2444f2p-4f, x * x, -0x1.988454p+0f)); }
static inline double tc_x_gelu_tanh_f64(double x) {
    return x * 0.5 * (1 + tc_x_tanh_f64(0x1.9884533d43651p-1 * tc_fma(0x1.6e4e26d4801f7p-5, x * x * x, x)));
}
/* x / (1 + exp(-x)), numerator and denominator halved, so that one shift makes the power of two and the result is rounded once; 0 from -89 on. */
static inline float tc_x_silu_f32(float x) {
    float b = tc_x_clamp_f32(-x, -86, 89.25f), t = tc_fmaf(b, 0x1.715476p+0f, 0x1.8000fcp23f), h = tc_x_pow2_all_f32(t);
    return 0.5f * x / tc_fmaf(1 + tc_x_exp_p_f32(tc_x_exp_r_f32(b, t - 0x1.8000fcp23f)), h, 0.5f);
}
static inline double tc_x_silu_f64(double x) { return x / (1 + tc_x_exp_f64(-x)); }

/* Mike Giles's approximation (2012), refined by Halley's iteration on erf, or on erfc where 1 - |y| is exact. */
static inline double tc_x_erfinv_f64(double y) {
    double a = __builtin_fabs(y), c = 1 - a, w = -tc_x_log_f64(c * (1 + a)), v = w - 2.5, g = __builtin_sqrt(w > 5 ? w : 5) - 3;
    double p = tc_fma(2.81022636e-08, v, 3.43273939e-07), q = tc_fma(-0.000200214257, g, 0.000100950558);
    p = tc_fma(p, v, -3.5233877e-06), q = tc_fma(q, g, 0.00134934322);
    p = tc_fma(p, v, -4.39150654e-06), q = tc_fma(q, g, -0.00367342844);
    p = tc_fma(p, v, 0.00021858087), q = tc_fma(q, g, 0.00573950773);
    p = tc_fma(p, v, -0.00125372503), q = tc_fma(q, g, -0.0076224613);
    p = tc_fma(p, v, -0.00417768164), q = tc_fma(q, g, 0.00943887047);
    p = tc_fma(p, v, 0.246640727), q = tc_fma(q, g, 1.00167406);
    p = tc_fma(p, v, 1.50140941), q = tc_fma(q, g, 2.83297682);
    double x = (w < 5 ? p : q) * a;
    for (int i = 0; i < 3; i++) {
        double f = a < 0.5 ? tc_x_erf_f64(x) - a : c - tc_x_erfc_f64(x);
        double u = f / (1.12837916709551257390 * tc_x_exp_f64(-x * x));
        x -= u / tc_fma(x, u, 1);
    }
    x = a < 0x1p-40 ? a * 0.88622692545275801365 : x;
    x = a == 1 ? __builtin_inf() : x;
    x = a <= 1 ? x : __builtin_nan("");
    return __builtin_copysign(x, y);
}
/* erfinv(y) / y = P(w) with w = -log(1 - y^2), at most 15.96 for float32 y: one polynomial for w < 5 and one above; relative error 2^-29 */
TC_X_INLINE double tc_x_erfinv_ratio(double w) {
    double v = w - 2.5, g = w - 10.5;
    double p = tc_fma(0x1.24288e49a807bp-33, v, 0x1.e084dbfdf34dbp-32), q = tc_fma(-0x1.62bd8f219f5ebp-47, g, -0x1.f73bc0ca93cfep-46);
    q = tc_fma(q, g, 0x1.a7a42cda4d8a6p-39);
    p = tc_fma(p, v, -0x1.7ac11729c3f40p-27), q = tc_fma(q, g, -0x1.451cc7748c768p-35);
    p = tc_fma(p, v, 0x1.1abbc86d6fa68p-26), q = tc_fma(q, g, 0x1.51389d8c109d4p-32);
    p = tc_fma(p, v, 0x1.01894bc5e7cbdp-21), q = tc_fma(q, g, -0x1.15a286a6842e1p-29);
    p = tc_fma(p, v, -0x1.cbd4e30700151p-19), q = tc_fma(q, g, 0x1.413bcf311c40cp-32);
    p = tc_fma(p, v, -0x1.4f76093b5e274p-18), q = tc_fma(q, g, 0x1.4b63f4e0c8949p-22);
    p = tc_fma(p, v, 0x1.c9bb5af802c63p-13), q = tc_fma(q, g, -0x1.fff0c270ccd29p-18);
    p = tc_fma(p, v, -0x1.486399e870935p-10), q = tc_fma(q, g, 0x1.461a8264d7024p-13);
    p = tc_fma(p, v, -0x1.11c3e0b2b1900p-8), q = tc_fma(q, g, -0x1.d2ec116958b48p-9);
    p = tc_fma(p, v, 0x1.f91e8972fd62ap-3), q = tc_fma(q, g, 0x1.3da46305c7a90p-3);
    p = tc_fma(p, v, 0x1.805c5cff6d61dp+0), q = tc_fma(q, g, 0x1.897f9386ed82dp+1);
    return tc_x_pick(w < 5, p, q);
}
TC_X_INLINE float tc_x_erfinv_f32(float y) { /* 1 - |y| is exact */
    double a = __builtin_fabsf(y), r = tc_x_erfinv_ratio(-tc_x_log_lite((1 - a) * (1 + a)));
    float edge = a == 1 ? __builtin_copysignf(__builtin_inff(), y) : __builtin_nanf("");
    return a < 1 ? (float)(r * (double)y) : edge;
}

/* sin(pi x), from the exact fractional part of x */
static inline double tc_x_sinpi(double x) {
    double f = x - 2 * __builtin_rint(x * 0.5), n = __builtin_rint(f * 2), r = tc_fma(-0.5, n, f); /* |r| <= 1/4 */
    double h = r * 3.14159265358979311600e+00, l = tc_fma(r, 3.14159265358979311600e+00, -h) + r * 1.22464679914735317720e-16;
    return tc_x_sin_angle((tc_x_angle){h, l, (uint64_t)(int64_t)n});
}
/* lgamma(2 + t) / t for |t| <= 1/2, the lower terms of the polynomial. p: its leading terms, six for float64, one for float32. */
TC_X_INLINE double tc_x_lgamma_2_after(double p, double t) {
    p = tc_fma(p, t, 0x1.258ee535f9033p-18);
    p = tc_fma(p, t, -0x1.3cb36f9ac5337p-17);
    p = tc_fma(p, t, 0x1.580e0d914dff7p-16);
    p = tc_fma(p, t, -0x1.78de9d6cfd6dcp-15);
    p = tc_fma(p, t, 0x1.a127afe0f9995p-14);
    p = tc_fma(p, t, -0x1.d3fd4b59a3833p-13);
    p = tc_fma(p, t, 0x1.0b36af878d01cp-11);
    p = tc_fma(p, t, -0x1.38ac5c2d5c3c1p-10);
    p = tc_fma(p, t, 0x1.7add6eadb515fp-9);
    p = tc_fma(p, t, -0x1.e404fc218d9e2p-8);
    p = tc_fma(p, t, 0x1.51322ac7d848ap-6);
    p = tc_fma(p, t, -0x1.13e001a55760ap-4);
    p = tc_fma(p, t, 0x1.4a34cc4a60fa6p-2);
    return tc_fma(p, t, 0x1.b0ee6072093cep-2);
}
static inline double tc_x_lgamma_2(double t) {
    double p = tc_fma(0x1.12a1ee3e68abdp-24, t, -0x1.20b912c8c369ap-23);
    p = tc_fma(p, t, 0x1.b3b18f458585ap-23);
    p = tc_fma(p, t, -0x1.cdb9e4a933292p-22);
    p = tc_fma(p, t, 0x1.0125033614e9fp-20);
    p = tc_fma(p, t, -0x1.127c16d5e6ad9p-19);
    return tc_x_lgamma_2_after(p, t);
}
/* log |Gamma(x)| for x > 0: Stirling's series from 8 on; below that the recurrence leads to [1.5, 2.5], where it is t P(t) with t = x - 2 */
static inline double tc_x_lgamma_positive(double x) {
    if (x >= 8) {
        if (x > 0x1p60) return x < 2.5563e305 ? x * (tc_x_log_f64(x) - 1) : __builtin_inf();
        double i = 1 / x, z = i * i;
        double w = tc_fma(-2.95506535947712418301e-02, z, 6.41025641025641025641e-03);
        w = tc_fma(w, z, -1.91752691752691752692e-03);
        w = tc_fma(w, z, 8.41750841750841750842e-04);
        w = tc_fma(w, z, -5.95238095238095238095e-04);
        w = tc_fma(w, z, 7.93650793650793650794e-04);
        w = tc_fma(w, z, -2.77777777777777777778e-03);
        w = tc_fma(w, z, 8.33333333333333333333e-02) * i;
        return tc_fma(x - 0.5, tc_x_log_f64(x) - 1, w + 0.41893853320467274178);
    }
    if ((x >= 0.5) & (x < 1.5)) return tc_fma(x - 1, tc_x_lgamma_2(x - 1), -tc_x_log_f64(x));
    double num = 1, den = 1;
    while (x > 2.5) x -= 1, num *= x;
    while (x < 1.5) den *= x, x += 1;
    return tc_fma(x - 2, tc_x_lgamma_2(x - 2), tc_x_log_f64(num / den));
}
static inline double tc_x_lgamma_f64(double x) {
    double a = __builtin_fabs(x);
    if (!(a < __builtin_inf())) return x * x;
    if (a < 0x1p-60) return -tc_x_log_f64(a);
    if (x > 0) return tc_x_lgamma_positive(x);
    double s = __builtin_fabs(tc_x_sinpi(a));
    return s == 0 ? __builtin_inf() : tc_x_log_f64(3.14159265358979311600e+00 / (a * s)) - tc_x_lgamma_positive(a);
}
/* lgamma for 0 < x < 2^100 without branches: the three ranges share one logarithm, of x, of the recurrence's product or of x (1 + x). */
static inline int tc_x_is_unusual_f32(float x) { return !((x > 0) & (x < 0x1p100f)); }
TC_X_INLINE float tc_x_lgamma_quick_f32(float v) {
    double x = v, r = x, num = 1;
    int low = x < 0.5, mid = x < 1.5, far = x >= 8, more;
#define STEP more = r > 2.5, r = tc_x_pick(more, r - 1, r), num = tc_x_pick(more, num * r, num);
    STEP STEP STEP STEP STEP STEP
#undef STEP
        double t = low   ? x
                   : mid ? x - 1
                         : r - 2,
               l = tc_x_log_lite(low         ? x * (1 + x)
                                 : mid | far ? x
                                             : num);
    double p = tc_x_lgamma_2_after(-0x1.127c16d5e6ad9p-19, t);
    double i = 1 / x, z = i * i, w = tc_fma(7.93650793650793650794e-04, z, -2.77777777777777777778e-03);
    w = tc_fma(w, z, 8.33333333333333333333e-02) * i;
    return (float)tc_x_pick(far, tc_fma(x - 0.5, l - 1, w + 0.41893853320467274178), tc_fma(t, p, mid ? -l : l));
}
static inline float tc_x_lgamma_f32(float x) { return tc_x_is_unusual_f32(x) ? (float)tc_x_lgamma_f64(x) : tc_x_lgamma_quick_f32(x); }

/* digamma(x) for 1 <= x <= 2 as (x - root) P(x), which keeps the relative error small near the root at 1.46. */
static inline double tc_x_digamma_root(double x) {
    double t = x - 1.5;
    double p = tc_fma(0x1.f3baaa1c014f2p-14, t, -0x1.76cc3147b59e4p-13);
    p = tc_fma(p, t, 0x1.9328e199fffb7p-14);
    p = tc_fma(p, t, -0x1.2e5f9840bb5f7p-13);
    p = tc_fma(p, t, 0x1.53eddb3f709adp-12);
    p = tc_fma(p, t, -0x1.fde7cb505efb9p-12);
    p = tc_fma(p, t, 0x1.6a35904fd498ap-11);
    p = tc_fma(p, t, -0x1.0face0d7c499bp-10);
    p = tc_fma(p, t, 0x1.99d4c55af3c86p-10);
    p = tc_fma(p, t, -0x1.336e5a1a1b403p-9);
    p = tc_fma(p, t, 0x1.cd20055e00826p-9);
    p = tc_fma(p, t, -0x1.5a069ce8e6e92p-8);
    p = tc_fma(p, t, 0x1.03c0ade62c555p-7);
    p = tc_fma(p, t, -0x1.8635644619f55p-7);
    p = tc_fma(p, t, 0x1.256471776c119p-6);
    p = tc_fma(p, t, -0x1.b9f8b11a3cf4bp-6);
    p = tc_fma(p, t, 0x1.4de9aa177d519p-5);
    p = tc_fma(p, t, -0x1.fb44202a2845cp-5);
    p = tc_fma(p, t, 0x1.8512e59038ff1p-4);
    p = tc_fma(p, t, -0x1.2feeeb98a78b0p-3);
    p = tc_fma(p, t, 0x1.eca189b8e6f6dp-3);
    p = tc_fma(p, t, -0x1.b1cb63005ee98p-2);
    p = tc_fma(p, t, 0x1.e6f0cbb873616p-1);
    return p * ((x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54);
}
/* The recurrence leads to [1, 2]; from 10 on the asymptotic series; poles give what PyTorch gives. */
static inline double tc_x_digamma_f64(double x) {
    if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
    double y = 0;
    if (x < 0) {
        if (__builtin_rint(x) == x) return __builtin_nan("");
        double f = x - __builtin_rint(x);
        y = -3.14159265358979311600e+00 / tc_x_tan_f64(3.14159265358979311600e+00 * f);
        x = 1 - x;
    }
    if (x < 10) {
        while (x > 2) x -= 1, y += 1 / x;
        while (x < 1) y -= 1 / x, x += 1;
        return y + tc_x_digamma_root(x);
    }
    double i = 1 / x, z = i * i;
    double w = tc_fma(-8.33333333333333333333e-2, z, 2.10927960927960927961e-2);
    w = tc_fma(w, z, -7.57575757575757575758e-3);
    w = tc_fma(w, z, 4.16666666666666666667e-3);
    w = tc_fma(w, z, -3.96825396825396825397e-3);
    w = tc_fma(w, z, 8.33333333333333333333e-3);
    w = tc_fma(w, z, -8.33333333333333333333e-2) * z;
    return x < 0x1p100 ? y + (tc_x_log_f64(x) - 0.5 * i + w) : y + tc_x_log_f64(x);
}
/* digamma for 0 < x < 2^100 without branches: the sum of 1 / (x + k) for k = 0 .. 9 is a quotient of polynomials in q = x^2 + 9 x. */
TC_X_INLINE float tc_x_digamma_quick_f32(float v) {
    double x = v, q = tc_fma(x, x, 9 * x), a = q * (q + 8), b = (q + 14) * (q + 18), e = q + 20;
    double n = tc_fma(tc_fma(2 * q + 8, b, a * (2 * q + 32)), e, a * b), sum = (2 * x + 9) * n / (a * b * e);
    int small = x < 10;
    double y = small ? x + 10 : x, i = 1 / y, z = i * i;
    double w = tc_fma(-8.33333333333333333333e-2, z, 2.10927960927960927961e-2);
    w = tc_fma(w, z, -7.57575757575757575758e-3);
    w = tc_fma(w, z, 4.16666666666666666667e-3);
    w = tc_fma(w, z, -3.96825396825396825397e-3);
    w = tc_fma(w, z, 8.33333333333333333333e-3);
    w = tc_fma(w, z, -8.33333333333333333333e-2) * z;
    return (float)(tc_x_log_f64(y) - 0.5 * i + w - tc_x_pick(small, sum, 0));
}
static inline float tc_x_digamma_f32(float x) { return tc_x_is_unusual_f32(x) ? (float)tc_x_digamma_f64(x) : tc_x_digamma_quick_f32(x); }

/* ---- roots ---- */
/* As PyTorch computes it. Two roundings: of the root, which is at most 1 ulp of the result, and of the quotient, half an ulp. */
static inline float tc_x_rsqrt_f32(float x) { return 1 / __builtin_sqrtf(x); }
static inline double tc_x_rsqrt_f64(double x) { return 1 / __builtin_sqrt(x); }
static inline float tc_x_hypot_f32(float x, float y) {
    double a = x, b = y;
    float r = (float)__builtin_sqrt(tc_fma(a, a, b * b)), inf = __builtin_inff();
    return ((__builtin_fabsf(x) == inf) | (__builtin_fabsf(y) == inf)) ? inf : r;
}
static inline double tc_x_hypot_f64(double x, double y) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y), m = a > b ? a : b, inf = __builtin_inf();
    double f = m > 0x1p500 ? 0x1p-600 : m < 0x1p-400 ? 0x1p600 : 1, g = m > 0x1p500 ? 0x1p600 : m < 0x1p-400 ? 0x1p-600 : 1;
    double p = (a > b ? a : b) * f, q = (a > b ? b : a) * f;
    double s = p * p, sl = tc_fma(p, p, -s), t = q * q, tl = tc_fma(q, q, -t), h = s + t;
    tc_x_dd r = tc_x_sqrt_dd(h, (s - h) + t + (sl + tl));
    double v = (r.h + r.l) * g;
    return ((a == inf) | (b == inf)) ? inf : a != a || b != b ? __builtin_nan("") : v;
}
/* An initial guess with a third of the exponent, three Halley steps, and one Newton step with the exact cube. */
static inline double tc_x_cbrt_f64(double x) {
    double a = __builtin_fabs(x);
    int tiny = a<0x1p-900, large = a> 0x1p900;
    double b = tiny ? a * 0x1p120 : large ? a * 0x1p-240 : a;
    uint32_t high = (uint32_t)(tc_bits_f64(b) >> 32);
    double t = tc_from_bits_f64((uint64_t)((uint32_t)(((uint64_t)high * 0x55555556u) >> 32) + 715094163u) << 32);
    for (int i = 0; i < 3; i++) {
        double c = t * t * t;
        t = t * ((c + 2 * b) / (2 * c + b));
    }
    double s = t * t, sl = tc_fma(t, t, -s), c = tc_fma(s, t, -b) + sl * t;
    t = t - c / (3 * s);
    t = tiny ? t * 0x1p-40 : large ? t * 0x1p80 : t;
    return ((a == 0) | !(a < __builtin_inf())) ? x : __builtin_copysign(t, x);
}
static inline float tc_x_cbrt_f32(float x) { return (float)tc_x_cbrt_f64(x); }

#endif
