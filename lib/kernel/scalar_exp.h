/* exp and the functions derived from it: exp2, expm1, sigmoid, sinh, cosh, tanh. Part of scalar.h.
 *
 *     exp(x) = 2^k exp(r),  k = rint(x / ln 2),  |r| <= ln 2 / 2,  exp(r) = 1 + r + r^2 q(r)
 *
 * The polynomials q interpolate at Chebyshev nodes (relative error 2^-62 for float64, 2^-32 for float32). The factor 2^k is applied in two steps, so that
 * overflow and subnormal results are rounded once, by the last multiplication. */
#ifndef TC_KERNEL_SCALAR_EXP_H
#define TC_KERNEL_SCALAR_EXP_H

#include "kernel/scalar_arith.h"

/* c ? a : b by bit masks: from a conditional the compiler may make branches, which prevent vectorisation. */
TC_X_INLINE double tc_x_pick(int c, double a, double b) {
    uint64_t m = (uint64_t)0 - (uint64_t)(c != 0);
    return tc_from_bits_f64((tc_bits_f64(a) & m) | (tc_bits_f64(b) & ~m));
}

typedef struct {
    double h, l, k;
} tc_x_dd; /* (h + l) * 2^k */

TC_X_INLINE double tc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TC_X_INLINE float tc_fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* rint(x) for |x| < 2^51; 2^k for integer k in [-1022, 1023], from the low bits of 1.5 * 2^52 + k. */
static inline double tc_x_round_f64(double x) { return x + 0x1.8p52 - 0x1.8p52; }
static inline double tc_x_pow2_f64(double k) { return tc_from_bits_f64((tc_bits_f64(k + 0x1.8p52) + 1023) << 52); }
static inline double tc_x_scale_f64(double y, double k) {
    double j = tc_x_round_f64(k * 0.5);
    return y * tc_x_pow2_f64(j) * tc_x_pow2_f64(k - j);
}

/* ---- float64 ---- */
/* q of exp(r) = 1 + r + r^2 q(r) */
static inline double tc_x_exp_q(double r) {
    double q = tc_fma(0x1.1f7340dbc337ep-29, r, 0x1.af4e554377204p-26);
    q = tc_fma(q, r, 0x1.27e4db46cddd1p-22);
    q = tc_fma(q, r, 0x1.71de01fdbf9cap-19);
    q = tc_fma(q, r, 0x1.a01a01a6e1e2ap-16);
    q = tc_fma(q, r, 0x1.a01a01abf85abp-13);
    q = tc_fma(q, r, 0x1.6c16c16c162c3p-10);
    q = tc_fma(q, r, 0x1.11111111100bep-7);
    q = tc_fma(q, r, 0x1.5555555555556p-5);
    q = tc_fma(q, r, 0x1.5555555555557p-3);
    return tc_fma(q, r, 0x1.0000000000000p-1);
}
/* exp(x + xl) for |x| <= 1100 (the caller clamps x) and |xl| <= ulp(x) */
static inline tc_x_dd tc_x_exp_dd(double x, double xl) {
    double k = tc_fma(x, 0x1.71547652b82fep+0, 0x1.8p52) - 0x1.8p52;
    double a = tc_fma(-k, 0x1.62e42fefa39efp-1, x); /* exact */
    double r = tc_fma(-k, 0x1.abc9e3b39803fp-56, a), rl = tc_fma(-k, 0x1.abc9e3b39803fp-56, a - r) + xl;
    double p = r * r * tc_x_exp_q(r), h = 1 + r, l = (1 - h) + r;
    return (tc_x_dd){h, tc_fma(rl, h + p, l + p), k};
}
static inline double tc_x_clamp_exp(double x) {
    x = x > 710 ? 710 : x;
    return x < -746 ? -746 : x;
}
static inline double tc_x_exp_f64(double x) {
    tc_x_dd e = tc_x_exp_dd(tc_x_clamp_exp(x), 0);
    return tc_x_scale_f64(e.h + e.l, e.k);
}
static inline double tc_x_exp2_f64(double x) {
    x = x > 1025 ? 1025 : x;
    x = x < -1080 ? -1080 : x;
    double k = tc_x_round_f64(x), r = x - k;
    double q = tc_fma(0x1.c48fe24edfb5ap-36, r, 0x1.e9d48637d76acp-32);
    q = tc_fma(q, r, 0x1.e4cf1c9aa5b15p-28);
    q = tc_fma(q, r, 0x1.b524faa21725ep-24);
    q = tc_fma(q, r, 0x1.62c0224024720p-20);
    q = tc_fma(q, r, 0x1.ffcbfc6724283p-17);
    q = tc_fma(q, r, 0x1.430912f86bf41p-13);
    q = tc_fma(q, r, 0x1.5d87fe78a524bp-10);
    q = tc_fma(q, r, 0x1.3b2ab6fba4e78p-7);
    q = tc_fma(q, r, 0x1.c6b08d704a0c2p-5);
    q = tc_fma(q, r, 0x1.ebfbdff82c58fp-3);
    double a = r * 0x1.62e42fefa39efp-1, al = tc_fma(r, 0x1.62e42fefa39efp-1, -a), h = 1 + a, l = (1 - h) + a;
    return tc_x_scale_f64(h + (l + tc_fma(r * r, q, al)), k);
}
/* expm1(x) / 2 as h + l, for x in [-40, 710]; halved so that it does not overflow */
static inline tc_x_dd tc_x_expm1_half_dd(double x) {
    double k = tc_fma(x, 0x1.71547652b82fep+0, 0x1.8p52) - 0x1.8p52;
    double a = tc_fma(-k, 0x1.62e42fefa39efp-1, x);
    double r = tc_fma(-k, 0x1.abc9e3b39803fp-56, a), rl = tc_fma(-k, 0x1.abc9e3b39803fp-56, a - r);
    double p = tc_fma(r * r, tc_x_exp_q(r), tc_fma(r, rl, rl)), t = tc_x_pow2_f64(k - 1);
    double u = t - 0.5, v = t * r, big = __builtin_fabs(u) > __builtin_fabs(v) ? u : v, small = __builtin_fabs(u) > __builtin_fabs(v) ? v : u;
    double s = big + small, e = (big - s) + small, l = tc_fma(t, p, e), h = s + l;
    return (tc_x_dd){h, (s - h) + l, 0};
}
static inline double tc_x_expm1_f64(double x) {
    double c = x > 710 ? 710 : x;
    c = c < -40 ? -40 : c;
    tc_x_dd e = tc_x_expm1_half_dd(c);
    return __builtin_fabs(x) < 0x1p-54 ? x : e.h * 2;
}
static inline double tc_x_sigmoid_f64(double x) {
    double z = tc_x_exp_f64(-__builtin_fabs(x)), r = 1 / (1 + z);
    return x < 0 ? z * r : r;
}
static inline double tc_x_sinh_f64(double x) {
    double a = __builtin_fabs(x), s = a * a;
    double p = tc_fma(0x1.2f49b46814157p-57, s, 0x1.952c77030ad4ap-49); /* 1/19!, 1/17!, ... */
    p = tc_fma(p, s, 0x1.ae7f3e733b81fp-41);
    p = tc_fma(p, s, 0x1.6124613a86d09p-33);
    p = tc_fma(p, s, 0x1.ae64567f544e4p-26);
    p = tc_fma(p, s, 0x1.71de3a556c734p-19);
    p = tc_fma(p, s, 0x1.a01a01a01a01ap-13);
    p = tc_fma(p, s, 0x1.1111111111111p-7);
    p = tc_fma(p, s, 0x1.5555555555555p-3);
    double low = tc_fma(a * s, p, a);
    tc_x_dd e = tc_x_exp_dd(a > 711 ? 711 : a, 0);
    double f = tc_x_pow2_f64(e.k - 2), inv = e.k > 100 ? 0 : tc_x_pow2_f64(-2 - e.k) / (e.h + e.l); /* halves: sinh / 2 */
    double big = tc_fma(f, e.h, tc_fma(f, e.l, -inv)) * 2;
    return __builtin_copysign(a < 1 ? low : a != a ? a : big, x);
}
static inline double tc_x_cosh_f64(double x) {
    double a = __builtin_fabs(x);
    tc_x_dd e = tc_x_exp_dd(a > 711 ? 711 : a, 0);
    double f = tc_x_pow2_f64(e.k - 2), inv = e.k > 100 ? 0 : tc_x_pow2_f64(-2 - e.k) / (e.h + e.l);
    return tc_fma(f, e.h, tc_fma(f, e.l, inv)) * 2;
}
static inline double tc_x_tanh_f64(double x) {
    double a = __builtin_fabs(x), c = a > 20 ? 20 : a;
    tc_x_dd e = tc_x_expm1_half_dd(2 * c); /* E / 2; tanh = E / (E + 2) */
    double d = e.h + 1, dl = (e.h > 1 ? (e.h - d) + 1 : (1 - d) + e.h) + e.l;
    double q = e.h / d, r = tc_fma(-q, d, e.h) + tc_fma(-q, dl, e.l);
    return __builtin_copysign(a < 0x1p-28 ? a : q + r / d, x);
}

/* exp(x) with relative error 2^-32, for float32 functions; -1022 < x / ln 2 < 1023 */
TC_X_INLINE double tc_x_exp_lite(double x) {
    double t = tc_fma(x, 0x1.71547652b82fep+0, 0x1.8p52 + 1023), r = tc_fma(-(t - (0x1.8p52 + 1023)), 0x1.62e42fefa39efp-1, x);
    double p = tc_fma(0x1.6c7425d9cd9cbp-13, r, 0x1.6d74cc765f505p-10);
    p = tc_fma(p, r, 0x1.113d15b7d27a0p-7);
    p = tc_fma(p, r, 0x1.5554ad5f4a139p-5);
    p = tc_fma(p, r, 0x1.55552b071082ep-3);
    p = tc_fma(p, r, 0x1.000000283aa52p-1);
    p = tc_fma(p, r, 0x1.0000001431fb3p+0);
    return tc_fma(p, r, 1) * tc_from_bits_f64(tc_bits_f64(t) << 52);
}

/* ---- float32 ----
 * Polynomials are evaluated by Estrin's scheme, in pairs, which halves the latency. t = 1.5 * 2^23 + bias + k holds k in its low bits, so that powers of two
 * are made by a shift: 2^k with a bias of 127; 2^floor(k / 2) and 2^(k - floor(k / 2)) with 254; 2^(k - 64) with 63. */
#define TC_X_EXP_T1 0x1.8000fep23f
#define TC_X_EXP_T2 0x1.8001fcp23f
#define TC_X_EXP_T3 0x1.80007ep23f
static inline float tc_x_pow2_all_f32(float t) { return tc_from_bits_f32(tc_bits_f32(t) << 23); }
static inline float tc_x_pow2_half_f32(float t) { return tc_from_bits_f32((tc_bits_f32(t) >> 1) << 23); }
static inline float tc_x_pow2_rest_f32(float t) { return tc_from_bits_f32((tc_bits_f32(t) - (tc_bits_f32(t) >> 1)) << 23); }
/* x clamped to [lo, hi], lo < 0 < hi, by comparing bits as integers, which compilers vectorise. NaN becomes a number. */
static inline float tc_x_clamp_f32(float x, float lo, float hi) {
    int32_t top = (int32_t)tc_bits_f32(hi), i = (int32_t)tc_bits_f32(x);
    uint32_t bottom = tc_bits_f32(lo), u = (uint32_t)(i > top ? top : i);
    return tc_from_bits_f32(u > bottom ? bottom : u);
}
/* Of two numbers of the same sign, the one nearer to zero, by their bits. A NaN without sign bit is replaced by a positive edge. */
static inline float tc_x_nearer_f32(float x, float edge) {
    uint32_t e = tc_bits_f32(edge), u = tc_bits_f32(x);
    return tc_from_bits_f32(u > e ? e : u);
}
/* exp(r) - 1 for |r| <= ln 2 / 2 */
static inline float tc_x_exp_p_f32(float r) {
    float s = r * r, a = tc_fmaf(0x1.555556p-3f, r, 0x1p-1f), b = tc_fmaf(0x1.1110ep-7f, r, 0x1.5554e8p-5f);
    float c = tc_fmaf(0x1.a1256cp-13f, r, 0x1.6d43bp-10f);
    return tc_fmaf(tc_fmaf(tc_fmaf(c, s, b), s, a), s, r);
}
static inline float tc_x_exp_r_f32(float x, float k) { return tc_fmaf(k, 0x1.05c61p-29f, tc_fmaf(-k, 0x1.62e43p-1f, x)); }
static inline float tc_x_exp_f32(float x) {
    float c =
        tc_x_clamp_f32(x, -176, 89); /* the result is 0 from -104 on; -176 is so low that no subnormal number, which is slow, arises on the way */
    float t = tc_fmaf(c, 0x1.715476p+0f, TC_X_EXP_T2);
    float p = tc_x_exp_p_f32(tc_x_exp_r_f32(c, t - TC_X_EXP_T2)), h = tc_x_pow2_half_f32(t);
    float y = tc_fmaf(h, p, h) * tc_x_pow2_rest_f32(t);
    return x != x ? x : y;
}
static inline float tc_x_exp2_f32(float x) {
    float c = tc_x_clamp_f32(x, -151, 129), t = c + TC_X_EXP_T2, r = c - (t - TC_X_EXP_T2), s = r * r;
    float a = tc_fmaf(0x1.3b2a8p-7f, r, 0x1.c6afecp-5f), b = tc_fmaf(0x1.43e788p-13f, r, 0x1.5ec90cp-10f);
    float q = tc_fmaf(tc_fmaf(b, s, a), r, 0x1.ebfbep-3f), h = tc_x_pow2_half_f32(t);
    float p = tc_fmaf(r, 0x1.62e43p-1f, tc_fmaf(s, q, r * -0x1.05c61p-29f));
    float y = tc_fmaf(h, p, h) * tc_x_pow2_rest_f32(t);
    return x != x ? x : y;
}
/* 1 / (1 + exp(y)) as c / (c + c exp(y)) with c = 2^-64. Scaling by c lets one shift make 2^k in the whole range, from exp(-43), below which the sum is
 * c, to where the quotient is 0; and subnormal results are rounded once. NaN becomes a number. */
static inline float tc_x_logistic_f32(float y) {
    float b = tc_x_clamp_f32(y, -43.6f, 133), t = tc_fmaf(b, 0x1.715476p+0f, TC_X_EXP_T3), h = tc_x_pow2_all_f32(t);
    return 0x1p-64f / tc_fmaf(1 + tc_x_exp_p_f32(tc_x_exp_r_f32(b, t - TC_X_EXP_T3)), h, 0x1p-64f);
}
static inline float tc_x_sigmoid_f32(float x) {
    float y = tc_x_logistic_f32(-x);
    return x != x ? x : y;
}
/* x + x^3 P(x^2) below 0.9, where x^3 is corrected for the rounding of x^2; 1 - 2 / (exp(2 x) + 1) above */
static inline float tc_x_tanh_f32(float x) {
    float a = __builtin_fabsf(x), s = x * x, s2 = s * s, cube = tc_fmaf(a, s, a * tc_fmaf(x, x, -s));
    float p1 = tc_fmaf(-0x1.ba17fep-5f, s, 0x1.111108p-3f), p2 = tc_fmaf(-0x1.1f8378p-7f, s, 0x1.660584p-6f);
    float p3 = tc_fmaf(-0x1.10663p-10f, s, 0x1.b5d44ep-9f), p = tc_fmaf(tc_fmaf(tc_fmaf(0x1.7dd19ep-13f, s2, p3), s2, p2), s2, p1);
    float low = tc_fmaf(cube, tc_fmaf(p, s, -0x1.555556p-2f), a);
    float c = tc_x_nearer_f32(a, 10), t = tc_fmaf(c, 0x1.715476p+1f, TC_X_EXP_T1), h = tc_x_pow2_all_f32(t);
    float d = tc_fmaf(h, tc_x_exp_p_f32(tc_x_exp_r_f32(2 * c, t - TC_X_EXP_T1)), h + 1);
    return __builtin_copysignf(a >= 0.9f ? 1 - 2 / d : low, x); /* NaN takes the lower branch */
}
/* exp(r) - 1 - r for -0.35 <= r <= 0.405, with an error of 2^-30 of exp(r) - 1 */
static inline float tc_x_exp_w_f32(float r) {
    float s = r * r, b = tc_fmaf(0x1.110ad6p-7f, r, 0x1.5554cep-5f), c = tc_fmaf(0x1.ab8534p-13f, r, 0x1.6d6e1cp-10f);
    return tc_fmaf(0.5f * r, r, tc_fmaf(tc_fmaf(c, s, b), s, 0x1.555558p-3f * r) * s);
}
/* Half the result, so that it does not overflow: 2^(k-1) - 1/2 + 2^(k-1) r, corrected for its rounding, plus the remaining small terms. k stays 0 up to
 * x = 0.4: below that 2^(k-1) - 1/2 would cancel. */
static inline float tc_x_expm1_f32(float x) {
    float c = tc_x_clamp_f32(x, -20, 89), t = tc_fmaf(c, 0x1.715476p+0f, -0.08f) + 0x1.8000fcp23f, k = t - 0x1.8000fcp23f, h = tc_x_pow2_all_f32(t);
    float a = tc_fmaf(-k, 0x1.62e43p-1f, c), r = tc_fmaf(k, 0x1.05c61p-29f, a), l = tc_fmaf(k, 0x1.05c61p-29f, a - r);
    float u = h - 0.5f, y = tc_fmaf(h, r, u), e = tc_fmaf(h, r, u - y) + ((h - u) - 0.5f);
    y = 2 * (y + tc_fmaf(h, tc_x_exp_w_f32(r), tc_fmaf(h, tc_fmaf(l, r, l), e)));
    y = __builtin_fabsf(x) < 0x1p-25f ? x : y;
    return x != x ? x : y;
}
static inline float tc_x_sinh_f32(float x) {
    double a = __builtin_fabsf(x), e = tc_x_expm1_f64(a > 100 ? 100 : a);
    return __builtin_copysignf((float)(0.5 * (e + e / (e + 1))), x);
}
static inline float tc_x_cosh_f32(float x) {
    double e = tc_x_exp_f64(x > 100 ? 100 : x < -100 ? -100 : x);
    return (float)(0.5 * (e + 1 / e));
}

#endif
