/* Scalar arithmetic, comparison, selection and bit operations for every type: the first part of scalar.h.
 *
 * Semantics are PyTorch's: integers wrap; integer division by zero gives 0 (callers that must raise an error check before), and the smallest integer
 * divided by -1 wraps; shifts by the width or more give 0, or the sign for shr of signed types; in min and max NaN wins, and of equal values (+0 and -0
 * included) the first operand is the result. Bool arithmetic: add is or, mul is and. */
#ifndef TC_KERNEL_SCALAR_ARITH_H
#define TC_KERNEL_SCALAR_ARITH_H

#include <stdint.h>

/* For functions that vector loops call from several places: the compiler's inlining heuristics would leave some of them calls, and a loop with a call is
 * not vectorised. TC_VB is defined for the text that goes into emitted C (codegen/paste.c), which contains few functions at a time. */
#ifdef TC_VB
#define TC_X_INLINE static inline
#else
#define TC_X_INLINE static inline __attribute__((always_inline))
#endif

typedef union {
    float f;
    uint32_t u;
    int32_t i;
} tc_bits32;
typedef union {
    double f;
    uint64_t u;
    int64_t i;
} tc_bits64;
static inline uint32_t tc_bits_f32(float x) {
    tc_bits32 b = {.f = x};
    return b.u;
}
static inline float tc_from_bits_f32(uint32_t u) {
    tc_bits32 b = {.u = u};
    return b.f;
}
TC_X_INLINE uint64_t tc_bits_f64(double x) {
    tc_bits64 b = {.f = x};
    return b.u;
}
TC_X_INLINE double tc_from_bits_f64(uint64_t u) {
    tc_bits64 b = {.u = u};
    return b.f;
}

/* -x, by flipping the sign bit: gcc turns -(a * b + c) with fma into -(a * b) - c, which has the other sign where the sum is 0. */
static inline float tc_x_minus_f32(float x) { return tc_from_bits_f32(tc_bits_f32(x) ^ 0x80000000u); }
static inline double tc_x_minus_f64(double x) { return tc_from_bits_f64(tc_bits_f64(x) ^ 0x8000000000000000u); }

/* One row for each type: suffix, type, its unsigned type, the unsigned type its products are computed in, bits. */
#define TC_X_SIGNED(M)                  \
    M(i8, int8_t, uint8_t, uint32_t, 8) \
    M(i16, int16_t, uint16_t, uint32_t, 16) M(i32, int32_t, uint32_t, uint32_t, 32) M(i64, int64_t, uint64_t, uint64_t, 64)
#define TC_X_UNSIGNED(M)                 \
    M(u8, uint8_t, uint8_t, uint32_t, 8) \
    M(u16, uint16_t, uint16_t, uint32_t, 16) M(u32, uint32_t, uint32_t, uint32_t, 32) M(u64, uint64_t, uint64_t, uint64_t, 64)
#define TC_X_INTS(M) TC_X_SIGNED(M) TC_X_UNSIGNED(M)
/* suffix, type, suffix of builtins, unsigned type of the same size, bits */
#define TC_X_FLOATS(M) M(f32, float, f, uint32_t, 32) M(f64, double, , uint64_t, 64)

/* ---- integers ---- */
#define ROW(S, T, U, W, B)                                                    \
    static inline T tc_x_add_##S(T a, T b) { return (T)((W)(U)a + (W)(U)b); } \
    static inline T tc_x_sub_##S(T a, T b) { return (T)((W)(U)a - (W)(U)b); } \
    static inline T tc_x_mul_##S(T a, T b) { return (T)((W)(U)a * (W)(U)b); } \
    static inline T tc_x_neg_##S(T a) { return (T)((W)0 - (W)(U)a); }         \
    static inline T tc_x_min_##S(T a, T b) { return b < a ? b : a; }          \
    static inline T tc_x_max_##S(T a, T b) { return b > a ? b : a; }          \
    static inline T tc_x_and_##S(T a, T b) { return (T)(a & b); }             \
    static inline T tc_x_or_##S(T a, T b) { return (T)(a | b); }              \
    static inline T tc_x_xor_##S(T a, T b) { return (T)(a ^ b); }             \
    static inline T tc_x_not_##S(T a) { return (T)~a; }                       \
    static inline T tc_x_shl_##S(T a, T b) { return (U)b < B ? (T)((W)(U)a << ((U)b & (B - 1))) : 0; }
TC_X_INTS(ROW)
#undef ROW
#define ROW(S, T, U, W, B)                                                                                           \
    static inline T tc_x_sign_##S(T a) { return (T)((a > 0) - (a < 0)); }                                            \
    static inline T tc_x_abs_##S(T a) { return a < 0 ? (T)((W)0 - (W)(U)a) : a; }                                    \
    static inline T tc_x_shr_##S(T a, T b) { return (T)(a >> ((U)b < B - 1 ? b : B - 1)); }                          \
    static inline T tc_x_div_trunc_##S(T a, T b) { return b == -1 ? (T)((W)0 - (W)(U)a) : b == 0 ? 0 : (T)(a / b); } \
    static inline T tc_x_fmod_##S(T a, T b) { return b == -1 || b == 0 ? 0 : (T)(a % b); }                           \
    static inline T tc_x_remainder_##S(T a, T b) {                                                                   \
        T r = tc_x_fmod_##S(a, b);                                                                                   \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                                        \
    }                                                                                                                \
    static inline T tc_x_div_floor_##S(T a, T b) {                                                                   \
        T r = tc_x_fmod_##S(a, b);                                                                                   \
        return (T)((W)(U)tc_x_div_trunc_##S(a, b) - (W)(r != 0 && (r < 0) != (b < 0)));                              \
    }                                                                                                                \
    static inline T tc_x_pow_##S(T a, T b) {                                                                         \
        U r = 1, p = (U)a;                                                                                           \
        if (b < 0) return a == 1 ? 1 : a == -1 ? (T)(b & 1 ? -1 : 1) : 0;                                            \
        for (U e = (U)b; e; e >>= 1) {                                                                               \
            r = e & 1 ? (U)((W)r * (W)p) : r;                                                                        \
            p = (U)((W)p * (W)p);                                                                                    \
        }                                                                                                            \
        return (T)r;                                                                                                 \
    }                                                                                                                \
    static inline T tc_x_gcd_##S(T a, T b) {                                                                         \
        T x = tc_x_abs_##S(a), y = tc_x_abs_##S(b); /* the smallest integer stays negative, and so may the result */ \
        while (x) {                                                                                                  \
            T t = (T)(y % x);                                                                                        \
            y = x, x = t;                                                                                            \
        }                                                                                                            \
        return y;                                                                                                    \
    }
TC_X_SIGNED(ROW)
#undef ROW
#define ROW(S, T, U, W, B)                                                                 \
    static inline T tc_x_sign_##S(T a) { return (T)(a != 0); }                             \
    static inline T tc_x_abs_##S(T a) { return a; }                                        \
    static inline T tc_x_shr_##S(T a, T b) { return b < B ? (T)(a >> (b & (B - 1))) : 0; } \
    static inline T tc_x_div_trunc_##S(T a, T b) { return b == 0 ? 0 : (T)(a / b); }       \
    static inline T tc_x_fmod_##S(T a, T b) { return b == 0 ? 0 : (T)(a % b); }            \
    static inline T tc_x_remainder_##S(T a, T b) { return b == 0 ? 0 : (T)(a % b); }       \
    static inline T tc_x_div_floor_##S(T a, T b) { return b == 0 ? 0 : (T)(a / b); }       \
    static inline T tc_x_pow_##S(T a, T b) {                                               \
        T r = 1, p = a;                                                                    \
        for (; b; b >>= 1) {                                                               \
            r = b & 1 ? (T)((W)r * (W)p) : r;                                              \
            p = (T)((W)p * (W)p);                                                          \
        }                                                                                  \
        return r;                                                                          \
    }                                                                                      \
    static inline T tc_x_gcd_##S(T a, T b) {                                               \
        while (b) {                                                                        \
            T t = a % b;                                                                   \
            a = b, b = t;                                                                  \
        }                                                                                  \
        return a;                                                                          \
    }
TC_X_UNSIGNED(ROW)
#undef ROW

/* ---- bool ---- */
static inline uint8_t tc_x_add_bool(uint8_t a, uint8_t b) { return a | b; }
static inline uint8_t tc_x_sub_bool(uint8_t a, uint8_t b) { return a ^ b; }
static inline uint8_t tc_x_mul_bool(uint8_t a, uint8_t b) { return a & b; }
static inline uint8_t tc_x_div_trunc_bool(uint8_t a, uint8_t b) { return a & b; }
static inline uint8_t tc_x_div_floor_bool(uint8_t a, uint8_t b) { return a & b; }
static inline uint8_t tc_x_fmod_bool(uint8_t a, uint8_t b) {
    (void)a, (void)b;
    return 0;
}
static inline uint8_t tc_x_remainder_bool(uint8_t a, uint8_t b) {
    (void)a, (void)b;
    return 0;
}
static inline uint8_t tc_x_neg_bool(uint8_t a) { return a; }
static inline uint8_t tc_x_abs_bool(uint8_t a) { return a; }
static inline uint8_t tc_x_sign_bool(uint8_t a) { return a; }
static inline uint8_t tc_x_min_bool(uint8_t a, uint8_t b) { return a & b; }
static inline uint8_t tc_x_max_bool(uint8_t a, uint8_t b) { return a | b; }
static inline uint8_t tc_x_and_bool(uint8_t a, uint8_t b) { return a & b; }
static inline uint8_t tc_x_or_bool(uint8_t a, uint8_t b) { return a | b; }
static inline uint8_t tc_x_xor_bool(uint8_t a, uint8_t b) { return a ^ b; }
static inline uint8_t tc_x_not_bool(uint8_t a) { return a ^ 1; }
static inline uint8_t tc_x_pow_bool(uint8_t a, uint8_t b) { return a | (b ^ 1); }

/* ---- comparison and choice ---- */
#define ROW(S, T, ...)                                             \
    static inline uint8_t tc_x_eq_##S(T a, T b) { return a == b; } \
    static inline uint8_t tc_x_ne_##S(T a, T b) { return a != b; } \
    static inline uint8_t tc_x_lt_##S(T a, T b) { return a < b; }  \
    static inline uint8_t tc_x_le_##S(T a, T b) { return a <= b; } \
    static inline uint8_t tc_x_gt_##S(T a, T b) { return a > b; }  \
    static inline uint8_t tc_x_ge_##S(T a, T b) { return a >= b; } \
    static inline T tc_x_where_##S(uint8_t c, T a, T b) { return c ? a : b; }
TC_X_INTS(ROW)
TC_X_FLOATS(ROW)
ROW(bool, uint8_t)
#undef ROW

/* ---- floats ---- */
#define ROW(S, T, F, U, B)                                                                           \
    static inline T tc_x_add_##S(T a, T b) { return a + b; }                                         \
    static inline T tc_x_sub_##S(T a, T b) { return a - b; }                                         \
    static inline T tc_x_mul_##S(T a, T b) { return a * b; }                                         \
    static inline T tc_x_div_##S(T a, T b) { return a / b; }                                         \
    static inline T tc_x_fma_##S(T a, T b, T c) { return __builtin_fma##F(a, b, c); }                \
    static inline T tc_x_neg_##S(T a) { return tc_x_minus_##S(a); }                                  \
    static inline T tc_x_abs_##S(T a) { return __builtin_fabs##F(a); }                               \
    static inline T tc_x_sign_##S(T a) { return (T)((a > 0) - (a < 0)); }                            \
    static inline T tc_x_min_##S(T a, T b) { return b != b ? b : b < a ? b : a; }                    \
    static inline T tc_x_max_##S(T a, T b) { return b != b ? b : b > a ? b : a; }                    \
    static inline T tc_x_fmin_##S(T a, T b) { return ((a <= b) | (b != b)) ? a : b; }                \
    static inline T tc_x_fmax_##S(T a, T b) { return ((a >= b) | (b != b)) ? a : b; }                \
    static inline T tc_x_floor_##S(T a) { return __builtin_floor##F(a); }                            \
    static inline T tc_x_ceil_##S(T a) { return __builtin_ceil##F(a); }                              \
    static inline T tc_x_trunc_##S(T a) { return __builtin_trunc##F(a); }                            \
    static inline T tc_x_rint_##S(T a) { return __builtin_rint##F(a); }                              \
    static inline T tc_x_sqrt_##S(T a) { return __builtin_sqrt##F(a); }                              \
    static inline T tc_x_copysign_##S(T a, T b) { return __builtin_copysign##F(a, b); }              \
    static inline uint8_t tc_x_isnan_##S(T a) { return a != a; }                                     \
    static inline uint8_t tc_x_isinf_##S(T a) { return __builtin_fabs##F(a) == __builtin_inf##F(); } \
    static inline uint8_t tc_x_signbit_##S(T a) { return (uint8_t)(tc_bits_##S(a) >> (B - 1)); }     \
    static inline T tc_x_div_trunc_##S(T a, T b) { return __builtin_trunc##F(a / b); }
TC_X_FLOATS(ROW)
#undef ROW

/* The exact remainder, with the sign of a. Each step, in float64, removes 52 bits of the quotient and is exact, as the remainder of a rounded quotient is
 * representable; quotients of float32 have up to 277 bits. */
static inline float tc_x_fmod_f32(float a, float b) {
    double y = __builtin_fabs((double)b), r = __builtin_fabs((double)a), inf = __builtin_inf();
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = r < 0 ? r + y : r;
    float x = __builtin_copysignf((float)r, a);
    return ((y == inf) & (__builtin_fabs((double)a) < inf)) ? a : x;
}
/* The same by one step, right where the quotient has at most 50 bits; unusual: where it has more, or an operand is not finite. */
static inline int tc_x_fmod_unusual(float a, float b) { return !(__builtin_fabsf(a) < __builtin_fabsf(b) * 0x1p50f); }
TC_X_INLINE float tc_x_fmod_quick_f32(float a, float b) {
    double y = __builtin_fabs((double)b), r = __builtin_fabs((double)a);
    r = __builtin_fma(-__builtin_trunc(r / y), y, r);
    r = r < 0 ? r + y : r;
    float x = __builtin_copysignf((float)r, a);
    return y == __builtin_inf() ? a : x;
}
TC_X_INLINE float tc_x_remainder_quick_f32(float a, float b) {
    float r = tc_x_fmod_quick_f32(a, b);
    return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;
}
/* The C library's fmod is exact, and so gives the same bits everywhere. */
static inline double tc_x_fmod_f64(double a, double b) { return __builtin_fmod(a, b); }

/* PyTorch's formulas, from the exact remainder. */
#define ROW(S, T, F, U, B)                                                                                \
    static inline T tc_x_remainder_##S(T a, T b) {                                                        \
        T r = tc_x_fmod_##S(a, b);                                                                        \
        return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;                                             \
    }                                                                                                     \
    static inline T tc_x_floor_by_##S(T a, T b, T r) { /* r = fmod(a, b) */                               \
        T q = (a - r) / b;                                                                                \
        q = ((r != 0) & ((b < 0) != (r < 0))) ? q - 1 : q;                                                \
        T f = __builtin_floor##F(q);                                                                      \
        f = q - f > (T)0.5 ? f + 1 : f;                                                                   \
        f = q != 0 ? f : __builtin_copysign##F((T)0, a / b);                                              \
        return b == 0 ? a / b : f;                                                                        \
    }                                                                                                     \
    static inline T tc_x_div_floor_##S(T a, T b) { return tc_x_floor_by_##S(a, b, tc_x_fmod_##S(a, b)); } \
    static inline T tc_x_nextafter_##S(T a, T b) {                                                        \
        U u = tc_bits_##S(a), away = (U)((b > a) == (a > 0)), s = (U)1 << (B - 1);                        \
        T x = tc_from_bits_##S(a == 0 ? ((tc_bits_##S(b) & s) | 1) : away ? u + 1 : u - 1);               \
        return ((a != a) | (b != b)) ? a + b : a == b ? b : x;                                            \
    }
TC_X_FLOATS(ROW)
#undef ROW
TC_X_INLINE float tc_x_div_floor_quick_f32(float a, float b) { return tc_x_floor_by_f32(a, b, tc_x_fmod_quick_f32(a, b)); }

#endif
