/* Conversions between all types, tc_x_cast_FROM_TO, with PyTorch's results on x86 even where C leaves them undefined.
 *
 * Float to integer truncates. Out of range, i8 i16 i32 u8 u16 take the low bits of the 32-bit conversion, which is INT32_MIN then; i64 and u32 those of
 * the 64-bit one. 16- and 8-bit floats are rounded to nearest even from float32, by integer operations, because hardware conversions flush subnormals.
 * Every NaN gives a NaN; f8e4m3 saturates at 448. */
#ifndef TC_KERNEL_SCALAR_CAST_H
#define TC_KERNEL_SCALAR_CAST_H

#include "kernel/scalar_arith.h"

/* ---- integers and bool to everything ---- */
#pragma push_macro("bool") /* a suffix here, though stdbool.h may have made it a macro */
#undef bool
#define ROW_TO(S, T, S2, T2) \
    static inline T2 tc_x_cast_##S##_##S2(T a) { return (T2)a; }
#define ROW(S, T, ...)                                                                                                                       \
    ROW_TO(S, T, i8, int8_t)                                                                                                                 \
    ROW_TO(S, T, i16, int16_t)                                                                                                               \
    ROW_TO(S, T, i32, int32_t)                                                                                                               \
    ROW_TO(S, T, i64, int64_t) ROW_TO(S, T, u8, uint8_t) ROW_TO(S, T, u16, uint16_t) ROW_TO(S, T, u32, uint32_t) ROW_TO(S, T, u64, uint64_t) \
        ROW_TO(S, T, f32, float) ROW_TO(S, T, f64, double) static inline uint8_t tc_x_cast_##S##_bool(T a) {                                 \
        return a != 0;                                                                                                                       \
    }
TC_X_INTS(ROW)
ROW(bool, uint8_t)
#undef ROW
#undef ROW_TO
#pragma pop_macro("bool")

/* ---- f32 and f64 to everything ---- */
/* Values between -1 and 1 are replaced by 0 before the conversion: gcc turns (float)(int)a into trunc(a), which would give -0 for -0.25. */
#define ROW(S, T, F, U, B)                                                                       \
    static inline int32_t tc_x_cast_##S##_i32(T a) {                                             \
        uint8_t in = (a > (T)-2147483649.0) & (a < (T)2147483648.0);                             \
        int32_t i = (int32_t)(in & ((a >= 1) | (a <= -1)) ? a : 0);                              \
        return in ? i : INT32_MIN;                                                               \
    }                                                                                            \
    static inline int64_t tc_x_cast_##S##_i64(T a) {                                             \
        uint8_t in = (a >= (T)-9223372036854775808.0) & (a < (T)9223372036854775808.0);          \
        int64_t i = (int64_t)(in & ((a >= 1) | (a <= -1)) ? a : 0);                              \
        return in ? i : INT64_MIN;                                                               \
    }                                                                                            \
    static inline int8_t tc_x_cast_##S##_i8(T a) { return (int8_t)tc_x_cast_##S##_i32(a); }      \
    static inline int16_t tc_x_cast_##S##_i16(T a) { return (int16_t)tc_x_cast_##S##_i32(a); }   \
    static inline uint8_t tc_x_cast_##S##_u8(T a) { return (uint8_t)tc_x_cast_##S##_i32(a); }    \
    static inline uint16_t tc_x_cast_##S##_u16(T a) { return (uint16_t)tc_x_cast_##S##_i32(a); } \
    static inline uint32_t tc_x_cast_##S##_u32(T a) { return (uint32_t)tc_x_cast_##S##_i64(a); } \
    static inline uint64_t tc_x_cast_##S##_u64(T a) {                                            \
        uint8_t big = a >= (T)9223372036854775808.0;                                             \
        uint64_t u = (uint64_t)tc_x_cast_##S##_i64(big ? a - (T)9223372036854775808.0 : a);      \
        return u ^ ((uint64_t)big << 63);                                                        \
    }                                                                                            \
    static inline uint8_t tc_x_cast_##S##_bool(T a) { return a != 0; }                           \
    static inline float tc_x_cast_##S##_f32(T a) { return (float)a; }                            \
    static inline double tc_x_cast_##S##_f64(T a) { return (double)a; }
TC_X_FLOATS(ROW)
#undef ROW

/* ---- 16- and 8-bit floats ---- */
static inline float tc_x_cast_bf16_f32(uint16_t a) { return tc_from_bits_f32((uint32_t)a << 16); }
static inline uint16_t tc_x_cast_f32_bf16(float a) {
    uint32_t u = tc_bits_f32(a), r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(a != a ? 0x7fc0 : r);
}

/* Rounds |a|, given as bits, to a narrow float with this exponent bias and mantissa bits. Values below 2^(1 - bias), which become subnormal, are rounded
 * by adding a number whose ulp is the narrow type's smallest subnormal. Returns the narrow bits without sign; overflow is the caller's. */
static inline uint32_t tc_x_narrow(uint32_t abs, int bias, int mantissa) {
    int shift = 23 - mantissa;
    uint32_t magic = (uint32_t)(127 - bias + shift + 1) << 23;
    uint32_t low = tc_bits_f32(tc_from_bits_f32(abs) + tc_from_bits_f32(magic)) - magic;
    uint32_t high = (abs - ((uint32_t)(127 - bias) << 23) + (((uint32_t)1 << (shift - 1)) - 1) + (abs >> shift & 1)) >> shift;
    return abs < (uint32_t)(128 - bias) << 23 ? low : high;
}
static inline uint16_t tc_x_cast_f32_f16(float a) {
    uint32_t u = tc_bits_f32(a), abs = u & 0x7fffffff, r = tc_x_narrow(abs, 15, 10);
    r = abs >= 0x47800000 ? 0x7c00 : r;
    r = abs > 0x7f800000 ? 0x7e00 : r;
    return (uint16_t)(r | (u >> 16 & 0x8000));
}
static inline float tc_x_cast_f16_f32(uint16_t a) {
    uint32_t u = (uint32_t)(a & 0x7fff) << 13, e = u & 0x0f800000, s = (uint32_t)(a & 0x8000) << 16;
    uint32_t normal = u + 0x38000000, special = u + 0x70000000;
    uint32_t small = tc_bits_f32(tc_from_bits_f32(normal + 0x00800000) - 0x1p-14f);
    uint32_t r = e == 0x0f800000 ? special : e == 0 ? small : normal;
    return tc_from_bits_f32(r | s);
}
static inline uint8_t tc_x_cast_f32_f8e5m2(float a) {
    uint32_t u = tc_bits_f32(a), abs = u & 0x7fffffff, r = tc_x_narrow(abs, 15, 2);
    r = abs >= 0x47800000 ? 0x7c : r;
    r = abs > 0x7f800000 ? 0x7f : r;
    return (uint8_t)(r | (u >> 24 & 0x80));
}
static inline float tc_x_cast_f8e5m2_f32(uint8_t a) { return tc_x_cast_f16_f32((uint16_t)(a << 8)); }
static inline uint8_t tc_x_cast_f32_f8e4m3(float a) {
    uint32_t u = tc_bits_f32(a), abs = u & 0x7fffffff, r = tc_x_narrow(abs < 0x43e00000 ? abs : 0x43e00000, 7, 3);
    r = abs > 0x7f800000 ? 0x7f : r;
    return (uint8_t)(r | (u >> 24 & 0x80));
}
static inline float tc_x_cast_f8e4m3_f32(uint8_t a) {
    uint32_t e = a & 0x78, s = (uint32_t)(a & 0x80) << 24;
    uint32_t normal = ((uint32_t)(a & 0x7f) << 20) + 0x3c000000, small = tc_bits_f32((float)(a & 7) * 0x1p-9f);
    uint32_t r = (a & 0x7f) == 0x7f ? 0x7fc00000 : e == 0 ? small : normal;
    return tc_from_bits_f32(r | s);
}
/* fnuz: one zero, and one NaN, 0x80, which overflow gives too */
static inline uint8_t tc_x_cast_f32_f8e4m3fnuz(float a) {
    uint32_t u = tc_bits_f32(a), abs = u & 0x7fffffff, r = tc_x_narrow(abs < 0x43800000 ? abs : 0x43800000, 8, 3);
    return (uint8_t)(r >= 0x80 ? 0x80 : r == 0 ? 0 : r | (u >> 24 & 0x80));
}
static inline float tc_x_cast_f8e4m3fnuz_f32(uint8_t a) {
    uint32_t e = a & 0x78, s = (uint32_t)(a & 0x80) << 24;
    uint32_t normal = ((uint32_t)(a & 0x7f) << 20) + 0x3b800000, small = tc_bits_f32((float)(a & 7) * 0x1p-10f);
    uint32_t r = (e == 0 ? small : normal) | s;
    return tc_from_bits_f32(a == 0x80 ? 0x7fc00000 : r);
}
static inline uint8_t tc_x_cast_f32_f8e5m2fnuz(float a) {
    uint32_t u = tc_bits_f32(a), abs = u & 0x7fffffff, r = tc_x_narrow(abs < 0x47800000 ? abs : 0x47800000, 16, 2);
    return (uint8_t)(r >= 0x80 ? 0x80 : r == 0 ? 0 : r | (u >> 24 & 0x80));
}
static inline float tc_x_cast_f8e5m2fnuz_f32(uint8_t a) {
    uint32_t e = a & 0x7c, s = (uint32_t)(a & 0x80) << 24;
    uint32_t normal = ((uint32_t)(a & 0x7f) << 21) + 0x37800000, small = tc_bits_f32((float)(a & 3) * 0x1p-17f);
    uint32_t r = (e == 0 ? small : normal) | s;
    return tc_from_bits_f32(a == 0x80 ? 0x7fc00000 : r);
}
/* e8m0: an exponent without sign or mantissa; 0 is 2^-127, 255 is NaN */
static inline uint8_t tc_x_cast_f32_f8e8m0(float a) {
    uint32_t abs = tc_bits_f32(a) & 0x7fffffff, e = abs >> 23, rest = abs & 0x7fffff;
    uint32_t up = rest > 0x400000 || (rest == 0x400000 && e > 0);
    return (uint8_t)(e == 255 ? 255 : e + up);
}
static inline float tc_x_cast_f8e8m0_f32(uint8_t a) {
    uint32_t r = (uint32_t)a << 23;
    return tc_from_bits_f32(a == 255 ? 0x7fc00000 : a == 0 ? 0x00400000 : r);
}

#endif
