/* Conversions between float and the 16- and 8-bit float types, by integer arithmetic: round to nearest even, subnormals kept,
 * NaN stays NaN (bits of PyTorch: bf16 0x7FC0, f16 payload shifted, f8 0x7F). e4m3fn has no
 * infinity: what is too large becomes 448. The fnuz types have one zero and one NaN, the code 0x80, which stands for what is too
 * large as well; e8m0 is an exponent alone, without sign and zero. */
#ifndef TC_TENSOR_NARROW_H
#define TC_TENSOR_NARROW_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tc_f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float tc_bits_f32(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline float tc_bf16_to_f32(uint16_t h) { return tc_bits_f32((uint32_t)h << 16); }
static inline uint16_t tc_f32_to_bf16(float f) {
    uint32_t u = tc_f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/* Rounds the magnitude of a float32 to a float of `ebits` exponent and `mbits` mantissa bits, without overflow handling:
 * what exceeds the largest exponent comes out larger than any valid code. */
static inline uint32_t tc_narrow_mag(uint32_t mag, int bias, int mbits) {
    int e = (int)(mag >> 23) - 127 + bias; /* exponent field in the narrow type */
    int drop = 23 - mbits;
    if (e >= 1) {
        uint32_t v = mag - ((uint32_t)(127 - bias) << 23);
        return (v + ((1u << (drop - 1)) - 1) + ((v >> drop) & 1u)) >> drop;
    }
    if (mag < 0x800000u) return 0; /* a float32 subnormal is below half of every narrow one */
    uint32_t m = (mag & 0x7fffffu) | 0x800000u;
    int shift = drop + 1 - e;
    if (shift > 24) return 0;
    uint32_t q = m >> shift, rest = m & ((1u << shift) - 1u), half = 1u << (shift - 1);
    return q + (rest > half || (rest == half && (q & 1u)));
}

static inline uint16_t tc_f32_to_f16(float f) {
    uint32_t u = tc_f32_bits(f), mag = u & 0x7fffffffu, sign = (u >> 16) & 0x8000u;
    if (mag > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((mag >> 13) & 0x1ffu));
    if (mag == 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
    uint32_t h = tc_narrow_mag(mag, 15, 10);
    return (uint16_t)(sign | (h > 0x7c00u ? 0x7c00u : h));
}

/* A narrow float as float32: exact. `special` is the exponent field of infinities and NaN, or -1. */
static inline float tc_widen(uint32_t mag, uint32_t sign, int bias, int mbits, int special) {
    uint32_t e = mag >> mbits, m = mag & ((1u << mbits) - 1u);
    if ((int)e == special) return tc_bits_f32(sign | 0x7f800000u | (m << (23 - mbits)) | (m ? 0x400000u : 0u));
    if (e == 0) {
        float f = (float)m * tc_bits_f32((uint32_t)(127 + 1 - bias - mbits) << 23);
        return tc_bits_f32(tc_f32_bits(f) | sign);
    }
    return tc_bits_f32(sign | ((e + 127u - (uint32_t)bias) << 23) | (m << (23 - mbits)));
}
static inline float tc_f16_to_f32(uint16_t h) { return tc_widen(h & 0x7fffu, (uint32_t)(h & 0x8000u) << 16, 15, 10, 31); }

static inline uint8_t tc_f32_to_f8e5m2(float f) {
    uint32_t u = tc_f32_bits(f), mag = u & 0x7fffffffu, sign = (u >> 24) & 0x80u;
    if (mag > 0x7f800000u) return (uint8_t)(sign | 0x7fu);
    if (mag == 0x7f800000u) return (uint8_t)(sign | 0x7cu);
    uint32_t h = tc_narrow_mag(mag, 15, 2);
    return (uint8_t)(sign | (h > 0x7cu ? 0x7cu : h));
}
static inline float tc_f8e5m2_to_f32(uint8_t b) { return tc_widen(b & 0x7fu, (uint32_t)(b & 0x80u) << 24, 15, 2, 31); }

static inline uint8_t tc_f32_to_f8e4m3(float f) {
    uint32_t u = tc_f32_bits(f), mag = u & 0x7fffffffu, sign = (u >> 24) & 0x80u;
    if (mag > 0x7f800000u) return (uint8_t)(sign | 0x7fu);
    if (mag > 0x43e00000u) return (uint8_t)(sign | 0x7eu);
    return (uint8_t)(sign | tc_narrow_mag(mag, 7, 3));
}
static inline float tc_f8e4m3_to_f32(uint8_t b) {
    uint32_t sign = (uint32_t)(b & 0x80u) << 24;
    if ((b & 0x7fu) == 0x7fu) return tc_bits_f32(sign | 0x7fc00000u);
    return tc_widen(b & 0x7fu, sign, 7, 3, -1);
}

static inline uint8_t tc_f32_to_fnuz(float f, int bias, int mbits) {
    uint32_t u = tc_f32_bits(f), mag = u & 0x7fffffffu, sign = (u >> 24) & 0x80u;
    uint32_t h = mag > 0x7f800000u ? 0x80u : tc_narrow_mag(mag, bias, mbits);
    return (uint8_t)(h >= 0x80u ? 0x80u : h ? sign | h : 0);
}
static inline float tc_fnuz_to_f32(uint8_t b, int bias, int mbits) {
    return b == 0x80u ? tc_bits_f32(0x7fc00000u) : tc_widen(b & 0x7fu, (uint32_t)(b & 0x80u) << 24, bias, mbits, -1);
}
static inline uint8_t tc_f32_to_f8e4m3fnuz(float f) { return tc_f32_to_fnuz(f, 8, 3); }
static inline float tc_f8e4m3fnuz_to_f32(uint8_t b) { return tc_fnuz_to_f32(b, 8, 3); }
static inline uint8_t tc_f32_to_f8e5m2fnuz(float f) { return tc_f32_to_fnuz(f, 16, 2); }
static inline float tc_f8e5m2fnuz_to_f32(uint8_t b) { return tc_fnuz_to_f32(b, 16, 2); }

static inline uint8_t tc_f32_to_f8e8m0(float f) {
    uint32_t mag = tc_f32_bits(f) & 0x7fffffffu, e = mag >> 23, rest = mag & 0x7fffffu;
    return (uint8_t)(e == 255 ? e : e + (rest > 0x400000u || (rest == 0x400000u && e > 0)));
}
static inline float tc_f8e8m0_to_f32(uint8_t b) { return tc_bits_f32(b == 255 ? 0x7fc00000u : b == 0 ? 0x400000u : (uint32_t)b << 23); }

#endif
