/* log and the functions derived from it: log2, log10, log1p, pow, asinh, acosh, atanh. Part of scalar.h.
 *
 *     x = 2^k m,  m in [sqrt(1/2), sqrt 2),  f = m - 1,  s = f / (2 + f),  log m = 2 s + s^3 (2/3 + s^2 Q(s^2))
 *
 * log of float64 is FreeBSD's e_log.c (Sun, freely granted) without branches; log of float32 is f - f^2 / 2 + f^3 P(f) with the polynomial of Moshier's
 * logf.c (Cephes), by Estrin's scheme. The others use tc_x_log_dd, which has 10 bits more than float64. */
#ifndef TC_KERNEL_SCALAR_LOG_H
#define TC_KERNEL_SCALAR_LOG_H

#include "kernel/scalar_exp.h"

/* The special cases of every logarithm: 0, negative, infinity, NaN. y: the result elsewhere. */
TC_X_INLINE double tc_x_log_edges(double x, double y) {
    y = x == 0 ? -__builtin_inf() : y;
    y = x < 0 ? __builtin_nan("") : y;
    return x < __builtin_inf() ? y : x;
}
typedef struct {
    double k, m;
} tc_x_split;
TC_X_INLINE tc_x_split tc_x_log_split(double x) { /* x > 0 */
    int tiny = x < 0x1p-1022;
    uint64_t u = tc_bits_f64(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tc_from_bits_f64(0x4330000000000000u | (u >> 52 & 0x7ff)) - (0x1p52 + 1023);
    return (tc_x_split){tiny ? k - 54 : k, tc_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu)};
}
TC_X_INLINE double tc_x_log_f64(double x) {
    tc_x_split a = tc_x_log_split(x);
    double f = a.m - 1, half = 0.5 * f * f, s = f / (2 + f), z = s * s;
    double r = tc_fma(1.479819860511658591e-01, z, 1.531383769920937332e-01);
    r = tc_fma(r, z, 1.818357216161805012e-01);
    r = tc_fma(r, z, 2.222219843214978396e-01);
    r = tc_fma(r, z, 2.857142874366239149e-01);
    r = tc_fma(r, z, 3.999999999940941908e-01);
    r = tc_fma(r, z, 6.666666666666735130e-01) * z;
    double y = tc_fma(s, half + r, a.k * 1.90821492927058770002e-10) - half;
    return tc_x_log_edges(x, a.k * 6.93147180369123816490e-01 + (y + f));
}

/* log(x + xl) as h + l; xl is at most about an ulp of x; x > 0 and finite */
static inline tc_x_dd tc_x_log_dd(double x, double xl) {
    tc_x_split a = tc_x_log_split(x);
    double f = a.m - 1, d = a.m + 1, dl = a.m - (d - 1);
    double s = f / d, sl = (tc_fma(-s, d, f) - s * dl) / d;
    double z = s * s, zl = tc_fma(s, s, -z) + 2 * s * sl;
    double q = tc_fma(0x1.b8eeb377232eep-4, z, 0x1.ac479c6a9c191p-4);
    q = tc_fma(q, z, 0x1.e1f81beeb683fp-4);
    q = tc_fma(q, z, 0x1.1110df49ea07ap-3);
    q = tc_fma(q, z, 0x1.3b13b1bdb9348p-3);
    q = tc_fma(q, z, 0x1.745d174511206p-3);
    q = tc_fma(q, z, 0x1.c71c71c71cff7p-3);
    q = tc_fma(q, z, 0x1.2492492492491p-2);
    q = tc_fma(q, z, 0x1.999999999999ap-2) * z;
    double p = 0x1.5555555555555p-1 + q, pl = (0x1.5555555555555p-1 - p) + q + 0x1.5555555555555p-55;
    double u = z * p, ul = tc_fma(z, p, -u) + tc_fma(z, pl, zl * p);
    double v = s * u, vl = tc_fma(s, u, -v) + tc_fma(s, ul, sl * u);
    double r = 2 * s + v, rl = (2 * s - r) + v + (2 * sl + vl) + xl / x;
    double kh = a.k * 0x1.62e42fefa3800p-1, t = kh + r, tl = (kh - t) + r + tc_fma(a.k, 0x1.ef35793c76730p-45, rl);
    double h = t + tl;
    return (tc_x_dd){h, (t - h) + tl, 0};
}
static inline double tc_x_log2_f64(double x) {
    tc_x_split a = tc_x_log_split(x);
    tc_x_dd l = tc_x_log_dd(a.m, 0);
    double h = l.h * 0x1.71547652b82fep+0, e = tc_fma(l.h, 0x1.71547652b82fep+0, -h) + tc_fma(l.h, 0x1.777d0ffda0d24p-56, l.l * 0x1.71547652b82fep+0);
    double t = a.k + h;
    return tc_x_log_edges(x, t + ((a.k - t) + h + e));
}
static inline double tc_x_log10_f64(double x) {
    tc_x_dd l = tc_x_log_dd(x, 0);
    double h = l.h * 0x1.bcb7b1526e50ep-2, e = tc_fma(l.h, 0x1.bcb7b1526e50ep-2, -h) + tc_fma(l.h, 0x1.95355baaafad3p-57, l.l * 0x1.bcb7b1526e50ep-2);
    return tc_x_log_edges(x, h + e);
}
static inline double tc_x_log1p_f64(double x) {
    double h = 1 + x, l = x < 1 ? (1 - h) + x : (x - h) + 1;
    tc_x_dd r = tc_x_log_dd(h, l);
    return __builtin_fabs(x) < 0x1p-54 ? x : tc_x_log_edges(h, r.h + r.l);
}

/* C's special cases: pow(x, 0) and pow(1, y) are 1; an odd integer y keeps the sign of x; a negative x to a non-integer y is NaN. r: the result of |x|. */
static inline double tc_x_pow_edges(double x, double y, double r) {
    double a = __builtin_fabs(x), half = y * 0.5;
    int whole = __builtin_rint(y) == y, odd = whole & (__builtin_rint(half) != half);
    r = ((x < 0) & !whole & (a < __builtin_inf())) ? __builtin_nan("") : r;
    r = (a == 1) & whole ? 1 : r;
    r = odd ? __builtin_copysign(r, x) : r;
    r = ((x != x) | (y != y)) ? __builtin_nan("") : r;
    return ((x == 1) | (y == 0)) ? 1 : r;
}
static inline double tc_x_pow_f64(double x, double y) {
    double a = __builtin_fabs(x), inf = __builtin_inf();
    tc_x_dd l = tc_x_log_dd(a, 0);
    double lh = tc_x_log_edges(a, l.h), p = y * lh, fit = tc_x_clamp_exp(p);
    double pl = tc_fma(y, lh, -p) + y * l.l;
    pl = ((fit == p) & (a > 0) & (a < inf)) ? pl : 0;
    tc_x_dd e = tc_x_exp_dd(fit, pl);
    return tc_x_pow_edges(x, y, tc_x_scale_f64(e.h + e.l, e.k));
}

/* sqrt(h + l) as h + l */
static inline tc_x_dd tc_x_sqrt_dd(double h, double l) {
    double s = __builtin_sqrt(h), e = (tc_fma(-s, s, h) + l) / (2 * s);
    return (tc_x_dd){s, h > 0 ? e : 0, 0};
}
static inline double tc_x_asinh_f64(double x) {
    double a = __builtin_fabs(x), c = a > 0x1p500 ? 0x1p500 : a;
    double q = c * c, ql = tc_fma(c, c, -q), h = q + 1, hl = (q > 1 ? (q - h) + 1 : (1 - h) + q) + ql;
    tc_x_dd s = tc_x_sqrt_dd(h, hl);
    double t = s.h + c, tl = (s.h - t) + c + s.l;
    tc_x_dd r = tc_x_log_dd(t, tl), w = tc_x_log_dd(a, 0);
    double far = w.h + (w.l + 0x1.62e42fefa39efp-1);
    double y = a > 0x1p30 ? far : r.h + r.l;
    y = a < 0x1p-28 ? a : y;
    return __builtin_copysign(a < __builtin_inf() ? y : a, x);
}
static inline double tc_x_acosh_f64(double x) {
    double c = x > 0x1p500 ? 0x1p500 : x;
    double q = c * c, ql = tc_fma(c, c, -q), h = q - 1, hl = (q - h) - 1 + ql;
    tc_x_dd s = tc_x_sqrt_dd(h + hl, (h - (h + hl)) + hl);
    double t = c + s.h, tl = (c - t) + s.h + s.l;
    tc_x_dd r = tc_x_log_dd(t, tl), w = tc_x_log_dd(x, 0);
    double y = x > 0x1p30 ? w.h + (w.l + 0x1.62e42fefa39efp-1) : r.h + r.l;
    y = x < 1 ? __builtin_nan("") : y;
    return x < __builtin_inf() ? y : x;
}
static inline double tc_x_atanh_f64(double x) {
    double a = __builtin_fabs(x), n = 1 + a, nl = (1 - n) + a, d = 1 - a, dl = (1 - d) - a;
    double q = n / d, ql = (tc_fma(-q, d, n) + tc_fma(-q, dl, nl)) / d;
    tc_x_dd r = tc_x_log_dd(q, ql);
    double y = a < 0x1p-28 ? a : 0.5 * (r.h + r.l);
    y = a == 1 ? __builtin_inf() : y;
    y = a <= 1 ? y : __builtin_nan("");
    return __builtin_copysign(y, x);
}

/* ---- float32: logarithms in float32, the others through float64, where an error of an ulp does not show ---- */
typedef struct {
    float k, f;
} tc_x_split32;
static inline tc_x_split32 tc_x_log_split_f32(float x) { /* x > 0 is 2^k (1 + f) */
    int tiny = x < 0x1p-126f;
    uint32_t u = tc_bits_f32(tiny ? x * 0x1p25f : x) + (0x3f800000u - 0x3f3504f3u);
    return (tc_x_split32){(float)((int32_t)(u >> 23) - (tiny ? 152 : 127)), tc_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u) - 1};
}
/* P of log(1 + f) = f - f^2 / 2 + f^3 P(f) */
static inline float tc_x_log_p_f32(float f, float z) {
    float p0 = tc_fmaf(-2.4999993993e-1f, f, 3.3333331174e-1f), p1 = tc_fmaf(-1.6668057665e-1f, f, 2.0000714765e-1f);
    float p2 = tc_fmaf(-1.2420140846e-1f, f, 1.4249322787e-1f), p3 = tc_fmaf(-1.1514610310e-1f, f, 1.1676998740e-1f);
    return tc_fmaf(tc_fmaf(tc_fmaf(tc_fmaf(7.0376836292e-2f, z, p3), z, p2), z, p1), z, p0);
}
static inline float tc_x_log_edges_f32(float x, float y) {
    float edge = x < 0 ? __builtin_nanf("") : x == 0 ? -__builtin_inff() : x; /* inf and NaN are themselves */
    return ((x > 0) & (x < __builtin_inff())) ? y : edge;
}
static inline float tc_x_log_f32(float x) {
    tc_x_split32 a = tc_x_log_split_f32(x);
    float f = a.f, z = f * f, y = tc_fmaf(f * z, tc_x_log_p_f32(f, z), a.k * 9.0580006145e-06f);
    return tc_x_log_edges_f32(x, tc_fmaf(a.k, 6.9313812256e-01f, tc_fmaf(-0.5f, z, y) + f));
}
/* log(1 + f) as h + l: f - f^2 / 2 with what its rounding loses, and the rest */
typedef struct {
    float h, l;
} tc_x_ff;
static inline tc_x_ff tc_x_log_ff_f32(float f) {
    float z = f * f, h = tc_fmaf(-0.5f, z, f), l = tc_fmaf(-0.5f, tc_fmaf(f, f, -z), tc_fmaf(-0.5f, z, f - h));
    return (tc_x_ff){h, tc_fmaf(f * z, tc_x_log_p_f32(f, z), l)};
}
/* kh + kl + log(1 + f) (c + cl), kh 0 or larger than what is added */
static inline float tc_x_log_scaled_f32(float f, float kh, float kl, float c, float cl) {
    tc_x_ff a = tc_x_log_ff_f32(f);
    float p = a.h * c, e = tc_fmaf(a.l, c, tc_fmaf(a.h, cl, tc_fmaf(a.h, c, -p))), s = kh + p;
    return s + (((kh - s) + p) + (kl + e));
}
static inline float tc_x_log2_f32(float x) {
    tc_x_split32 a = tc_x_log_split_f32(x);
    return tc_x_log_edges_f32(x, tc_x_log_scaled_f32(a.f, a.k, 0, 0x1.715476p+0f, 0x1.4ae0cp-26f));
}
static inline float tc_x_log10_f32(float x) {
    tc_x_split32 a = tc_x_log_split_f32(x);
    return tc_x_log_edges_f32(x, tc_x_log_scaled_f32(a.f, a.k * 0x1.344p-2f, a.k * 0x1.3509f8p-18f, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f));
}
/* u = 1 + x and what its rounding lost, which goes to f's scale */
static inline float tc_x_log1p_f32(float x) {
    float u = 1 + x, c = x > 1 ? 1 - (u - x) : x - (u - 1);
    uint32_t v = tc_bits_f32(u) + (0x3f800000u - 0x3f3504f3u);
    int32_t e = (int32_t)(v >> 23), least = e < 250 ? e : 250;
    float k = (float)(e - 127), f = tc_from_bits_f32((v & 0x007fffffu) + 0x3f3504f3u) - 1;
    float l = c * tc_from_bits_f32((uint32_t)(254 - least) << 23), kh = k * 6.9313812256e-01f;
    tc_x_ff a = tc_x_log_ff_f32(f);
    float s = kh + a.h, y = s + (((kh - s) + a.h) + (tc_fmaf(k, 9.0580006145e-06f, a.l) + tc_fmaf(-f, l, l)));
    y = tc_x_log_edges_f32(u, y);
    return __builtin_fabsf(x) < 0x1p-26f ? x : y;
}
/* For float32 functions: log(x) to 2^-37 for a normal x > 0; the quotient s in float32 and one step of Newton's iteration. */
TC_X_INLINE double tc_x_log_lite(double x) {
    uint64_t u = tc_bits_f64(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tc_from_bits_f64(0x4330000000000000u | u >> 52) - (0x1p52 + 1023),
           f = tc_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1;
    double d = 2 + f, y = 1.0f / (float)d;
    y = tc_fma(y, tc_fma(-d, y, 1), y);
    double s = f * y, z = s * s, q = tc_fma(0x1.e3b72a64f688fp-3, z, 0x1.24328e95fa18dp-2);
    q = tc_fma(q, z, 0x1.999a9d5899722p-2);
    q = tc_fma(q, z, 0x1.555554da52ee4p-1);
    q = tc_fma(q, z, 0x1.0000000004a79p+1);
    return tc_fma(k, 0x1.62e42fefa39efp-1, s * q);
}
static inline double tc_x_log1p_quick(double x) { /* x > -1, finite */
    double u = 1 + x, c = x - (u - 1);
    return tc_x_log_lite(u) + c * (1.0f / (float)u);
}
static inline float tc_x_pow_f32(float x, float y) {
    double a = __builtin_fabs((double)x), p = y * tc_x_log_edges(a, tc_x_log_lite(a));
    p = p > 200 ? 200 : p < -200 ? -200 : p;
    return (float)tc_x_pow_edges(x, y, tc_x_exp_lite(p));
}
static inline float tc_x_asinh_f32(float x) {
    double a = __builtin_fabs((double)x), r = tc_x_log1p_quick(a + a * a / (1 + __builtin_sqrt(tc_fma(a, a, 1))));
    return __builtin_copysignf(a < 0x1p-14 ? (float)tc_fma(a * a, a * (-1.0 / 6), a) : a < __builtin_inf() ? (float)r : (float)a, x);
}
static inline float tc_x_acosh_f32(float x) {
    double t = (double)x - 1;
    float y = (float)tc_x_log1p_quick(t + __builtin_sqrt(tc_fma(t, t, 2 * t)));
    return x < 1 ? __builtin_nanf("") : x < __builtin_inff() ? y : x;
}
static inline float tc_x_atanh_f32(float x) {
    double a = __builtin_fabs((double)x), r = 0.5 * tc_x_log1p_quick(2 * a / (1 - a));
    float edge = a == 1 ? __builtin_inff() : __builtin_nanf("");
    return __builtin_copysignf(a < 0x1p-14 ? (float)tc_fma(a * a, a * (1.0 / 3), a) : a < 1 ? (float)r : edge, x);
}

/* 2^y in PyTorch's ldexp is pow(2, y) rounded to the type. */
static inline float tc_x_ldexp_f32(float a, float b) { return a * tc_x_exp2_f32(b); }
static inline double tc_x_ldexp_f64(double a, double b) { return a * tc_x_exp2_f64(b); }

/* log(e^a + e^b), the step of a running logsumexp, without intermediate overflow. */
static inline double tc_x_logaddexp_f64(double a, double b) {
    double hi = a > b ? a : b, lo = a > b ? b : a, r = hi + tc_x_log1p_f64(tc_x_exp_f64(lo - hi));
    r = ((lo == hi) & !(__builtin_fabs(lo) < __builtin_inf())) ? lo : r;
    return ((a != a) | (b != b)) ? a + b : r;
}

#endif
