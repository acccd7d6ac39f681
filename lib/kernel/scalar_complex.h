/* Complex numbers: the operations of scalar.def on c64 and c128, and conversions from and to every type. A part of scalar.h.
 *
 * Functions are computed in float64, and c64 rounds their results; sums, products and comparisons are computed in the type itself. Branch cuts and signed
 * zeros follow C99 (Annex G). The inverse functions are Kahan's (Branch Cuts for Complex Elementary Functions, 1987), division is Smith's. Products are
 * the plain formula with each term rounded, so that z times its conjugate is real. */
#ifndef TC_KERNEL_SCALAR_COMPLEX_H
#define TC_KERNEL_SCALAR_COMPLEX_H

#include "kernel/scalar_cast.h"
#include "kernel/scalar_exp.h"
#include "kernel/scalar_log.h"
#include "kernel/scalar_special.h"
#include "kernel/scalar_trig.h"

typedef struct {
    float re, im;
} tc_c64;
typedef struct {
    double re, im;
} tc_c128;
typedef struct {
    uint16_t re, im; /* f16 */
} tc_c32;

/* ---- conversions ---- */
#pragma push_macro("bool") /* a suffix here */
#undef bool
#define ROW(S, T, ...)                                                                            \
    static inline tc_c64 tc_x_cast_##S##_c64(T a) { return (tc_c64){tc_x_cast_##S##_f32(a), 0}; } \
    static inline tc_c128 tc_x_cast_##S##_c128(T a) { return (tc_c128){tc_x_cast_##S##_f64(a), 0}; }
TC_X_INTS(ROW)
TC_X_FLOATS(ROW)
ROW(bool, uint8_t)
#undef ROW
/* Conversion to a real type takes the real part; to bool: is it != 0? S: suffix of the complex type, R: suffix of its parts. */
#define TO(S, T, R, S2, T2) \
    static inline T2 tc_x_cast_##S##_##S2(T a) { return tc_x_cast_##R##_##S2(a.re); }
#define ROW(S, T, R)                                                                                                              \
    TO(S, T, R, i8, int8_t)                                                                                                       \
    TO(S, T, R, i16, int16_t)                                                                                                     \
    TO(S, T, R, i32, int32_t)                                                                                                     \
    TO(S, T, R, i64, int64_t)                                                                                                     \
    TO(S, T, R, u8, uint8_t)                                                                                                      \
    TO(S, T, R, u16, uint16_t)                                                                                                    \
    TO(S, T, R, u32, uint32_t)                                                                                                    \
    TO(S, T, R, u64, uint64_t) TO(S, T, R, f32, float) TO(S, T, R, f64, double) static inline uint8_t tc_x_cast_##S##_bool(T a) { \
        return (a.re != 0) | (a.im != 0);                                                                                         \
    }                                                                                                                             \
    static inline tc_c128 tc_x_cast_##S##_c128(T a) { return (tc_c128){(double)a.re, (double)a.im}; }
ROW(c64, tc_c64, f32)
ROW(c128, tc_c128, f64)
#undef ROW
#undef TO
#pragma pop_macro("bool")
/* (float)x. gcc 12 drops the conversions of a pair of doubles to float and back (it takes them for nothing); the choice hides them. */
static inline float tc_x_narrowed(double x) {
    float r = (float)x;
    return r == 0 ? tc_from_bits_f32(tc_bits_f32(r) & 0x80000000u) : r;
}
static inline tc_c64 tc_x_cast_c128_c64(tc_c128 a) { return (tc_c64){tc_x_narrowed(a.re), tc_x_narrowed(a.im)}; }
static inline tc_c64 tc_x_cast_c64_c64(tc_c64 a) { return a; }
static inline tc_c64 tc_x_cast_c32_c64(tc_c32 a) { return (tc_c64){tc_x_cast_f16_f32(a.re), tc_x_cast_f16_f32(a.im)}; }
static inline tc_c32 tc_x_cast_c64_c32(tc_c64 a) { return (tc_c32){tc_x_cast_f32_f16(a.re), tc_x_cast_f32_f16(a.im)}; }

/* ---- arithmetic, comparison, parts ---- */
/* Subtraction is written with tc_x_minus: from alternating additions and subtractions of products gcc 12 makes vfmaddsub even with -ffp-contract=off. */
#define ROW(S, T, R, RS)                                                                                                          \
    static inline T tc_x_add_##S(T a, T b) { return (T){a.re + b.re, a.im + b.im}; }                                              \
    static inline T tc_x_sub_##S(T a, T b) { return (T){a.re - b.re, a.im - b.im}; }                                              \
    static inline T tc_x_mul_##S(T a, T b) { return (T){a.re * b.re + tc_x_minus_##RS(a.im * b.im), a.re * b.im + a.im * b.re}; } \
    static inline T tc_x_fma_##S(T a, T b, T c) { return tc_x_add_##S(tc_x_mul_##S(a, b), c); }                                   \
    static inline T tc_x_neg_##S(T a) { return (T){tc_x_minus_##RS(a.re), tc_x_minus_##RS(a.im)}; }                               \
    static inline T tc_x_conj_##S(T a) { return (T){a.re, tc_x_minus_##RS(a.im)}; }                                               \
    static inline R tc_x_real_##S(T a) { return a.re; }                                                                           \
    static inline R tc_x_imag_##S(T a) { return a.im; }                                                                           \
    static inline R tc_x_abs_##S(T a) { return tc_x_hypot_##RS(a.re, a.im); }                                                     \
    static inline T tc_x_complex_##RS(R a, R b) { return (T){a, b}; }                                                             \
    static inline uint8_t tc_x_eq_##S(T a, T b) { return (a.re == b.re) & (a.im == b.im); }                                       \
    static inline uint8_t tc_x_ne_##S(T a, T b) { return (a.re != b.re) | (a.im != b.im); }                                       \
    static inline T tc_x_where_##S(uint8_t c, T a, T b) { return (T){c ? a.re : b.re, c ? a.im : b.im}; }                         \
    static inline uint8_t tc_x_isnan_##S(T a) { return tc_x_isnan_##RS(a.re) | tc_x_isnan_##RS(a.im); }                           \
    static inline uint8_t tc_x_isinf_##S(T a) { return tc_x_isinf_##RS(a.re) | tc_x_isinf_##RS(a.im); }
ROW(c64, tc_c64, float, f32)
ROW(c128, tc_c128, double, f64)
#undef ROW

static inline tc_c128 tc_x_div_c128(tc_c128 a, tc_c128 b) {
    double c = __builtin_fabs(b.re), d = __builtin_fabs(b.im);
    uint8_t wide = c >= d;
    double r = wide ? b.im / b.re : b.re / b.im, s = 1 / (wide ? b.re + b.im * r : b.im + b.re * r);
    double re = wide ? a.re + a.im * r : a.re * r + a.im, im = wide ? a.im + tc_x_minus_f64(a.re * r) : a.im * r + tc_x_minus_f64(a.re);
    uint8_t zero = (c == 0) & (d == 0);
    return (tc_c128){zero ? a.re / c : re * s, zero ? a.im / c : im * s};
}
/* z / |z|, 0 for 0 */
static inline tc_c128 tc_x_sign_c128(tc_c128 a) {
    double h = tc_x_hypot_f64(a.re, a.im);
    return h == 0 ? (tc_c128){0, 0} : (tc_c128){a.re / h, a.im / h};
}

/* ---- roots, powers, logarithms ---- */
/* a * b, but 0 times infinity or NaN is 0 */
static inline double tc_x_times0(double a, double b) { return ((a == 0) & !(__builtin_fabs(b) < __builtin_inf())) ? (b < 0 ? -a : a) : a * b; }
static inline tc_c128 tc_x_sqrt_c128(tc_c128 z) {
    double x = __builtin_fabs(z.re), y = __builtin_fabs(z.im), m = x > y ? x : y, inf = __builtin_inf();
    double f = m > 0x1p1000 ? 0x1p-60 : m < 0x1p-900 ? 0x1p120 : 1, g = m > 0x1p1000 ? 0x1p30 : m < 0x1p-900 ? 0x1p-60 : 1;
    double t = __builtin_sqrt((x * f + tc_x_hypot_f64(x * f, y * f)) * 0.5), u = t == 0 ? 0 : y * f / (2 * t);
    double re = (z.re >= 0 ? t : u) * g, im = (z.re >= 0 ? u : t) * g;
    if (m == 0) re = 0, im = 0;
    if (x == inf) re = z.re > 0 ? inf : y != y ? y : 0, im = z.re > 0 ? (y != y ? y : 0) : inf;
    if (y == inf) re = inf, im = inf;
    if ((x != x) & (y != inf)) re = x, im = x;
    return (tc_c128){re, __builtin_copysign(im, z.im)};
}
static inline tc_c128 tc_x_rsqrt_c128(tc_c128 z) { return tc_x_div_c128((tc_c128){1, 0}, tc_x_sqrt_c128(z)); }

/* e^x (c + i s), where e^x alone may overflow */
static inline tc_c128 tc_x_exp_turn(double x, double c, double s) {
    uint8_t big = (x > 700) & (x < 1500);
    double e = tc_x_exp_f64(big ? x - 700 : x), k = big ? 0x1.d945df4f8ec8ep+1009 : 1; /* e^700 */
    return (tc_c128){tc_x_times0(c, e) * k, tc_x_times0(s, e) * k};
}
static inline tc_c128 tc_x_exp_c128(tc_c128 z) {
    double inf = __builtin_inf();
    if ((z.re == -inf) & !(__builtin_fabs(z.im) < inf)) return (tc_c128){0, 0};
    if ((z.re == inf) & !(__builtin_fabs(z.im) < inf)) return (tc_c128){inf, z.im - z.im};
    if (z.im == 0) return (tc_c128){tc_x_exp_f64(z.re), z.im};
    return tc_x_exp_turn(z.re, tc_x_cos_f64(z.im), tc_x_sin_f64(z.im));
}
static inline tc_c128 tc_x_exp2_c128(tc_c128 z) {
    double y = z.im * 0.69314718055994530942, e = tc_x_exp2_f64(z.re);
    if ((!(__builtin_fabs(z.re) < __builtin_inf())) | (!(__builtin_fabs(z.im) < __builtin_inf()))) return tc_x_exp_c128(z);
    return (tc_c128){tc_x_times0(tc_x_cos_f64(y), e), tc_x_times0(tc_x_sin_f64(y), e)};
}
static inline tc_c128 tc_x_expm1_c128(tc_c128 z) { /* (e^x - 1) cos y - 2 sin(y / 2)^2 */
    double h = tc_x_sin_f64(z.im * 0.5);
    return (tc_c128){tc_x_fma_f64(tc_x_expm1_f64(z.re), tc_x_cos_f64(z.im), -2 * h * h), tc_x_sin_f64(z.im) * tc_x_exp_f64(z.re)};
}
/* log |x + iy|; for |z| near 1 by log1p(|z|^2 - 1), whose leading terms are exact */
static inline double tc_x_log_abs(double x, double y) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y), hi = a > b ? a : b, lo = a > b ? b : a, h = tc_x_hypot_f64(x, y);
    if ((h > 0.7) & (h < 1.6)) {
        double p = hi - 1, q = hi + 1, ql = 1 - (q - hi), s = lo * lo, sl = tc_x_fma_f64(lo, lo, -s);
        double r = p * q, rl = tc_x_fma_f64(p, q, -r) + p * ql, t = r + s, v = t - r;
        return 0.5 * tc_x_log1p_f64(t + (((r - (t - v)) + (s - v)) + rl + sl));
    }
    return hi > 0x1p1000 ? tc_x_log_f64(tc_x_hypot_f64(x * 0x1p-4, y * 0x1p-4)) + 2.77258872223978123767 : tc_x_log_f64(h);
}
static inline tc_c128 tc_x_log_c128(tc_c128 z) { return (tc_c128){tc_x_log_abs(z.re, z.im), tc_x_atan2_f64(z.im, z.re)}; }
static inline tc_c128 tc_x_log2_c128(tc_c128 z) {
    return (tc_c128){tc_x_log_abs(z.re, z.im) * 1.44269504088896340736, tc_x_atan2_f64(z.im, z.re) * 1.44269504088896340736};
}
static inline tc_c128 tc_x_log10_c128(tc_c128 z) {
    return (tc_c128){tc_x_log_abs(z.re, z.im) * 0.43429448190325182765, tc_x_atan2_f64(z.im, z.re) * 0.43429448190325182765};
}
static inline tc_c128 tc_x_log1p_c128(tc_c128 z) {
    double x = 1 + z.re, small = tc_x_hypot_f64(z.re, z.im);
    if ((z.re != z.re) | (z.im != z.im)) return (tc_c128){__builtin_nan(""), __builtin_nan("")};
    double re = small < 0.5 ? 0.5 * tc_x_log1p_f64(tc_x_fma_f64(z.re, z.re + 2, z.im * z.im)) : tc_x_log_abs(x, z.im);
    return (tc_c128){re, tc_x_atan2_f64(z.im, x)};
}
/* e^(b log a); 0 for a base of 0 */
static inline tc_c128 tc_x_pow_c128(tc_c128 a, tc_c128 b) {
    if ((a.re == 0) & (a.im == 0) & (b.re > 0)) return (tc_c128){0, 0};
    return tc_x_exp_c128(tc_x_mul_c128(b, tc_x_log_c128(a)));
}
/* log(e^a + e^b) = log1p(e^(a - b)) + b, where b has the larger real part. Where both real parts are -inf the result is b. */
static inline tc_c128 tc_x_logaddexp_c128(tc_c128 a, tc_c128 b) {
    tc_c128 lo = a.re < b.re ? a : b, hi = a.re < b.re ? b : a, r;
    if ((a.re != a.re) | (a.im != a.im) | (b.re != b.re) | (b.im != b.im)) return (tc_c128){__builtin_nan(""), __builtin_nan("")};
    if ((lo.re == hi.re) & !(__builtin_fabs(lo.re) < __builtin_inf())) {
        if (lo.re < 0) return lo;
        return tc_x_log_c128(tc_x_add_c128(tc_x_exp_c128(lo), tc_x_exp_c128(hi)));
    }
    r = tc_x_log1p_c128(tc_x_exp_c128(tc_x_sub_c128(lo, hi)));
    return tc_x_add_c128(r, hi);
}
static inline tc_c128 tc_x_sigmoid_c128(tc_c128 z) {
    tc_c128 e = tc_x_exp_c128(tc_x_neg_c128(z));
    return tc_x_div_c128((tc_c128){1, 0}, (tc_c128){1 + e.re, e.im});
}

/* ---- circular and hyperbolic functions: f(iz) = i g(z); infinities and NaN as in annex G of C11 ---- */
static inline uint8_t tc_x_finite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
static inline tc_c128 tc_x_sinh_c128(tc_c128 z) {
    double inf = __builtin_inf(), nan = __builtin_nan("");
    if ((!tc_x_finite(z.im)) & (z.re == 0)) return (tc_c128){z.re, nan};
    if ((!tc_x_finite(z.im)) & (__builtin_fabs(z.re) == inf)) return (tc_c128){inf, nan};
    return (tc_c128){tc_x_times0(tc_x_cos_f64(z.im), tc_x_sinh_f64(z.re)), tc_x_times0(tc_x_sin_f64(z.im), tc_x_cosh_f64(z.re))};
}
static inline tc_c128 tc_x_cosh_c128(tc_c128 z) {
    double inf = __builtin_inf(), nan = __builtin_nan("");
    if ((!tc_x_finite(z.im)) & (__builtin_fabs(z.re) == inf)) return (tc_c128){inf, nan};
    if ((!tc_x_finite(z.im)) & (z.re == 0)) return (tc_c128){nan, 0};
    return (tc_c128){tc_x_times0(tc_x_cos_f64(z.im), tc_x_cosh_f64(z.re)), tc_x_times0(tc_x_sin_f64(z.im), tc_x_sinh_f64(z.re))};
}
static inline tc_c128 tc_x_tanh_c128(tc_c128 z) {
    double x = __builtin_fabs(z.re);
    if ((x > 22) & ((x == __builtin_inf()) | tc_x_finite(z.im))) {
        double turn = __builtin_fabs(z.im) < __builtin_inf() ? 4 * tc_x_sin_f64(z.im) * tc_x_cos_f64(z.im) * tc_x_exp_f64(-2 * x) : 0;
        return (tc_c128){__builtin_copysign(1.0, z.re), turn};
    }
    if ((z.re == 0) & !tc_x_finite(z.im)) return (tc_c128){z.re, __builtin_nan("")};
    if ((z.re != z.re) & (z.im == 0)) return z;
    double t = tc_x_tan_f64(z.im), s = tc_x_sinh_f64(z.re), beta = 1 + t * t, rho = __builtin_sqrt(1 + s * s), d = 1 + beta * s * s;
    return (tc_c128){beta * rho * s / d, t / d};
}
/* acos where a part is not finite; acosh is derived from it: |im| as real part, re with the sign of z's imaginary part */
static inline tc_c128 tc_x_acos_edges(tc_c128 z) {
    double inf = __builtin_inf(), nan = __builtin_nan(""), pi = 3.14159265358979323846;
    if (__builtin_fabs(z.re) == inf) {
        if (z.im != z.im) return (tc_c128){nan, -inf};
        double turn = __builtin_fabs(z.im) == inf ? pi / 4 : 0;
        return (tc_c128){z.re < 0 ? pi - turn : turn, -__builtin_copysign(inf, z.im)};
    }
    if (__builtin_fabs(z.im) == inf) return (tc_c128){z.re == z.re ? pi / 2 : nan, -z.im};
    return (tc_c128){z.re == 0 ? pi / 2 : nan, nan};
}
static inline tc_c128 tc_x_acos_c128(tc_c128 z) {
    if (!tc_x_finite(z.re) || !tc_x_finite(z.im)) return tc_x_acos_edges(z);
    tc_c128 a = tc_x_sqrt_c128((tc_c128){1 - z.re, -z.im}), b = tc_x_sqrt_c128((tc_c128){1 + z.re, z.im});
    return (tc_c128){2 * tc_x_atan2_f64(a.re, b.re), tc_x_asinh_f64(b.re * a.im - b.im * a.re)};
}
static inline tc_c128 tc_x_acosh_c128(tc_c128 z) {
    if (!tc_x_finite(z.re) || !tc_x_finite(z.im)) {
        tc_c128 r = tc_x_acos_edges(z);
        return (tc_c128){__builtin_fabs(r.im), __builtin_copysign(r.re, z.im)};
    }
    tc_c128 a = tc_x_sqrt_c128((tc_c128){z.re - 1, z.im}), b = tc_x_sqrt_c128((tc_c128){z.re + 1, z.im});
    return (tc_c128){tc_x_asinh_f64(a.re * b.re + a.im * b.im), 2 * tc_x_atan2_f64(a.im, b.re)};
}
/* pi / 2 - acos, so computed that the real part keeps the sign of 0 */
static inline tc_c128 tc_x_asin_c128(tc_c128 z) {
    double inf = __builtin_inf(), nan = __builtin_nan(""), pi = 3.14159265358979323846;
    if (!tc_x_finite(z.re) || !tc_x_finite(z.im)) {
        if (__builtin_fabs(z.im) == inf) {
            double turn = __builtin_fabs(z.re) == inf ? pi / 4 : 0;
            return (tc_c128){z.re == z.re ? __builtin_copysign(turn, z.re) : nan, z.im};
        }
        if (__builtin_fabs(z.re) == inf) return (tc_c128){z.im == z.im ? __builtin_copysign(pi / 2, z.re) : nan, __builtin_copysign(inf, z.im)};
        return (tc_c128){z.re == 0 ? z.re : nan, nan};
    }
    tc_c128 a = tc_x_sqrt_c128((tc_c128){1 - z.re, -z.im}), b = tc_x_sqrt_c128((tc_c128){1 + z.re, z.im});
    return (tc_c128){tc_x_atan2_f64(z.re, a.re * b.re - a.im * b.im), tc_x_asinh_f64(a.re * b.im - a.im * b.re)};
}
static inline tc_c128 tc_x_atanh_c128(tc_c128 z) {
    double inf = __builtin_inf(), nan = __builtin_nan(""), x = __builtin_fabs(z.re), h = tc_x_hypot_f64(1 - x, z.im);
    if (!tc_x_finite(z.re) || !tc_x_finite(z.im)) {
        if (__builtin_fabs(z.im) == inf) return (tc_c128){__builtin_copysign(0.0, z.re), __builtin_copysign(1.57079632679489661923, z.im)};
        if (__builtin_fabs(z.re) == inf)
            return (tc_c128){__builtin_copysign(0.0, z.re), z.im == z.im ? __builtin_copysign(1.57079632679489661923, z.im) : nan};
        return (tc_c128){z.re == 0 ? z.re : nan, nan};
    }
    return (tc_c128){__builtin_copysign(h == 0 ? inf : 0.25 * tc_x_log1p_f64(4 * x / h / h), z.re),
                     0.5 * tc_x_atan2_f64(2 * z.im, (1 - z.re) * (1 + z.re) - z.im * z.im)};
}
#define ROW(NAME, OF)                                         \
    static inline tc_c128 tc_x_##NAME##_c128(tc_c128 z) {     \
        tc_c128 r = tc_x_##OF##_c128((tc_c128){-z.im, z.re}); \
        return (tc_c128){r.im, -r.re};                        \
    }
ROW(tan, tanh)
ROW(atan, atanh)
ROW(asinh, asin)
#undef ROW
static inline tc_c128 tc_x_sin_c128(tc_c128 z) {
    if ((!tc_x_finite(z.re)) & (__builtin_fabs(z.im) == __builtin_inf())) return (tc_c128){__builtin_nan(""), __builtin_inf()};
    tc_c128 r = tc_x_sinh_c128((tc_c128){-z.im, z.re});
    return (tc_c128){r.im, -r.re};
}
static inline tc_c128 tc_x_cos_c128(tc_c128 z) { return tc_x_cosh_c128((tc_c128){-z.im, z.re}); }

/* ---- c64: the results of c128, rounded ---- */
#define ROW(NAME) \
    static inline tc_c64 tc_x_##NAME##_c64(tc_c64 z) { return tc_x_cast_c128_c64(tc_x_##NAME##_c128(tc_x_cast_c64_c128(z))); }
ROW(sign)
ROW(sqrt)
ROW(rsqrt)
ROW(exp)
ROW(exp2)
ROW(expm1)
ROW(log)
ROW(log2)
ROW(log10)
ROW(log1p)
ROW(sigmoid)
ROW(sin)
ROW(cos)
ROW(tan) ROW(asin) ROW(acos) ROW(atan) ROW(sinh) ROW(cosh) ROW(tanh) ROW(asinh) ROW(acosh) ROW(atanh)
#undef ROW
    static inline tc_c64 tc_x_div_c64(tc_c64 a, tc_c64 b) {
    return tc_x_cast_c128_c64(tc_x_div_c128(tc_x_cast_c64_c128(a), tc_x_cast_c64_c128(b)));
}
static inline tc_c64 tc_x_pow_c64(tc_c64 a, tc_c64 b) { return tc_x_cast_c128_c64(tc_x_pow_c128(tc_x_cast_c64_c128(a), tc_x_cast_c64_c128(b))); }

#endif
