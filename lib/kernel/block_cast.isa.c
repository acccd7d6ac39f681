/* Conversions of blocks between every pair of types.
 *
 *     real -> real            one loop for each pair
 *     f16, bf16, f8 <-> x     through float32, as PyTorch does
 *     complex <-> real        through the float type of its parts; c32 through c64
 *
 * A conversion through another type goes in chunks that stay in L1. That saves 180 loops in each instruction set. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#include <string.h>

#undef bool /* a suffix here */

/* clang-format off */
/* suffix, C type, id */
#define REAL(M) \
    M(i8, int8_t, I8) M(i16, int16_t, I16) M(i32, int32_t, I32) M(i64, int64_t, I64) \
    M(u8, uint8_t, U8) M(u16, uint16_t, U16) M(u32, uint32_t, U32) M(u64, uint64_t, U64) \
    M(f32, float, F32) M(f64, double, F64) M(bool, uint8_t, BOOL)
#define NARROW(M) M(f16, uint16_t, F16) NARROW_BUT_F16(M)
#define NARROW_BUT_F16(M) \
    M(bf16, uint16_t, BF16) M(f8e4m3, uint8_t, F8E4M3) M(f8e5m2, uint8_t, F8E5M2) \
    M(f8e4m3fnuz, uint8_t, F8E4M3FNUZ) M(f8e5m2fnuz, uint8_t, F8E5M2FNUZ) M(f8e8m0, uint8_t, F8E8M0)

/* ---- direct ---- */
#define LOOP(from, TF, to, TT)                                                                                \
    static void from##_to_##to(void *o, const void *in, int64_t n) {                                          \
        TT *out = o;                                                                                          \
        const TF *x = in;                                                                                     \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_cast_##from##_##to(x[i]);                \
    }
#define M(f, TF, id) \
    LOOP(f, TF, i8, int8_t) LOOP(f, TF, i16, int16_t) LOOP(f, TF, i32, int32_t) LOOP(f, TF, i64, int64_t) \
    LOOP(f, TF, u8, uint8_t) LOOP(f, TF, u16, uint16_t) LOOP(f, TF, u32, uint32_t) LOOP(f, TF, u64, uint64_t) \
    LOOP(f, TF, f32, float) LOOP(f, TF, f64, double) LOOP(f, TF, bool, uint8_t)
REAL(M)
#undef M
#define M(f, TF, id) LOOP(f, TF, f32, float) LOOP(f32, float, f, TF)
NARROW_BUT_F16(M)
#undef M
LOOP(f32, float, c64, tc_c64) LOOP(c64, tc_c64, f32, float) LOOP(c64, tc_c64, bool, uint8_t)
LOOP(f64, double, c128, tc_c128) LOOP(c128, tc_c128, f64, double) LOOP(c128, tc_c128, bool, uint8_t)
LOOP(c64, tc_c64, c128, tc_c128) LOOP(c128, tc_c128, c64, tc_c64)
LOOP(c64, tc_c64, c32, tc_c32) LOOP(c32, tc_c32, c64, tc_c64)

/* float16 by instructions, but for groups of vectors with a NaN, whose bits these keep or change otherwise. */
#ifdef __F16C__
enum { HALF_GROUP = 4 }; /* vectors of 8 that one test for NaN is for */
static inline int any_nan_f16(const __m128i *v) {
    __m128i most = _mm_setzero_si128();
#pragma GCC unroll 4
    for (int k = 0; k < HALF_GROUP; k++) most = _mm_max_epi16(most, _mm_and_si128(v[k], _mm_set1_epi16(0x7fff)));
    return _mm_movemask_epi8(_mm_cmpgt_epi16(most, _mm_set1_epi16(0x7c00)));
}
static inline int any_nan_f32(const __m256 *v) {
    __m256 any = _mm256_setzero_ps();
#pragma GCC unroll 4
    for (int k = 0; k < HALF_GROUP; k += 2) any = _mm256_or_ps(any, _mm256_cmp_ps(v[k], v[k + 1], _CMP_UNORD_Q));
    return _mm256_movemask_ps(any);
}
#endif
static void f16_to_f32(void *o, const void *in, int64_t n) {
    float *out = o;
    const uint16_t *x = in;
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 * HALF_GROUP <= n; i += 8 * HALF_GROUP) {
        __m128i v[HALF_GROUP];
#pragma GCC unroll 4
        for (int k = 0; k < HALF_GROUP; k++) v[k] = _mm_loadu_si128((const __m128i *)(const void *)(x + i + 8 * k));
        if (any_nan_f16(v))
            for (int64_t k = i; k < i + 8 * HALF_GROUP; k++) out[k] = tc_x_cast_f16_f32(x[k]);
        else
#pragma GCC unroll 4
            for (int k = 0; k < HALF_GROUP; k++) _mm256_storeu_ps(out + i + 8 * k, _mm256_cvtph_ps(v[k]));
    }
#endif
    TC_VECTOR_LOOP for (; i < n; i++) out[i] = tc_x_cast_f16_f32(x[i]);
}
static void f32_to_f16(void *o, const void *in, int64_t n) {
    uint16_t *out = o;
    const float *x = in;
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 * HALF_GROUP <= n; i += 8 * HALF_GROUP) {
        __m256 v[HALF_GROUP];
#pragma GCC unroll 4
        for (int k = 0; k < HALF_GROUP; k++) v[k] = _mm256_loadu_ps(x + i + 8 * k);
        if (any_nan_f32(v))
            for (int64_t k = i; k < i + 8 * HALF_GROUP; k++) out[k] = tc_x_cast_f32_f16(x[k]);
        else
#pragma GCC unroll 4
            for (int k = 0; k < HALF_GROUP; k++)
                _mm_storeu_si128((__m128i *)(void *)(out + i + 8 * k), _mm256_cvtps_ph(v[k], _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    TC_VECTOR_LOOP for (; i < n; i++) out[i] = tc_x_cast_f32_f16(x[i]);
}

/* ---- in two steps, through the type that PyTorch converts through ---- */
enum { CHUNK = 512 };
static void two_steps(char *out, const char *in, int64_t n, int from, int to, tc_cast_fn first, tc_cast_fn second) {
    tc_c128 between[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = n - i < CHUNK ? n - i : CHUNK;
        first(between, in + i * from, m);
        second(out + i * to, between, m);
    }
}
#define VIA(from, TF, via_type, to, TT)                                                                            \
    static void from##_to_##to(void *o, const void *in, int64_t n) {                                          \
        two_steps(o, in, n, sizeof(TF), sizeof(TT), from##_to_##via_type, via_type##_to_##to);                          \
    }
#define COPY(S, T) static void S##_to_##S(void *o, const void *in, int64_t n) { memcpy(o, in, (size_t)n * sizeof(T)); }
COPY(c64, tc_c64) COPY(c128, tc_c128) COPY(c32, tc_c32)
/* real to complex through the float type of its parts, and back from the real part */
#define TO_C64(M) \
    M(i8, int8_t) M(i16, int16_t) M(i32, int32_t) M(i64, int64_t) M(u8, uint8_t) M(u16, uint16_t) M(u32, uint32_t) M(u64, uint64_t)
#define M(f, TF) \
    VIA(f, TF, f32, c64, tc_c64) VIA(c64, tc_c64, f32, f, TF) VIA(f, TF, f64, c128, tc_c128) VIA(c128, tc_c128, f64, f, TF)
TO_C64(M)
#undef M
VIA(bool, uint8_t, f32, c64, tc_c64) VIA(bool, uint8_t, f64, c128, tc_c128)
VIA(f64, double, f32, c64, tc_c64) VIA(c64, tc_c64, f32, f64, double)
VIA(f32, float, f64, c128, tc_c128) VIA(c128, tc_c128, f64, f32, float)
/* c32 through c64 */
#define M(f, TF, id) VIA(f, TF, c64, c32, tc_c32) VIA(c32, tc_c32, c64, f, TF)
REAL(M)
#undef M
VIA(c128, tc_c128, c64, c32, tc_c32) VIA(c32, tc_c32, c64, c128, tc_c128)
/* narrow floats through float32 */
#define M(f, TF, id) \
    VIA(f, TF, f32, i8, int8_t) VIA(f, TF, f32, i16, int16_t) VIA(f, TF, f32, i32, int32_t) VIA(f, TF, f32, i64, int64_t) \
    VIA(f, TF, f32, u8, uint8_t) VIA(f, TF, f32, u16, uint16_t) VIA(f, TF, f32, u32, uint32_t) VIA(f, TF, f32, u64, uint64_t) \
    VIA(f, TF, f32, f64, double) VIA(f, TF, f32, bool, uint8_t) VIA(f, TF, f32, c64, tc_c64) VIA(f, TF, f32, c128, tc_c128) \
    VIA(f, TF, f32, c32, tc_c32) \
    VIA(f, TF, f32, f16, uint16_t) VIA(f, TF, f32, bf16, uint16_t) VIA(f, TF, f32, f8e4m3, uint8_t) VIA(f, TF, f32, f8e5m2, uint8_t) \
    VIA(f, TF, f32, f8e4m3fnuz, uint8_t) VIA(f, TF, f32, f8e5m2fnuz, uint8_t) VIA(f, TF, f32, f8e8m0, uint8_t) \
    VIA(i8, int8_t, f32, f, TF) VIA(i16, int16_t, f32, f, TF) VIA(i32, int32_t, f32, f, TF) VIA(i64, int64_t, f32, f, TF) \
    VIA(u8, uint8_t, f32, f, TF) VIA(u16, uint16_t, f32, f, TF) VIA(u32, uint32_t, f32, f, TF) VIA(u64, uint64_t, f32, f, TF) \
    VIA(f64, double, f32, f, TF) VIA(bool, uint8_t, f32, f, TF) VIA(c64, tc_c64, f32, f, TF) VIA(c128, tc_c128, f32, f, TF) \
    VIA(c32, tc_c32, c64, f, TF)
NARROW(M)
#undef M
/* clang-format on */

static void round_c32(void *o, const void *in, int64_t n) {
    tc_c64 *out = o;
    const tc_c64 *x = in;
    TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_cast_c32_c64(tc_x_cast_c64_c32(x[i]));
}
/* float32 rounded to a narrow type and back */
static void round_f16(void *o, const void *in, int64_t n) {
    uint16_t between[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t m = n - i < CHUNK ? n - i : CHUNK;
        f32_to_f16(between, (const float *)in + i, m);
        f16_to_f32((float *)o + i, between, m);
    }
}
#define M(f, TF, id)                                                                                          \
    static void round_##f(void *o, const void *in, int64_t n) {                                               \
        float *out = o;                                                                                       \
        const float *x = in;                                                                                  \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_cast_##f##_f32(tc_x_cast_f32_##f(x[i])); \
    }
NARROW_BUT_F16(M)
#undef M

extern const tc_cast_fn TC_ROW(tc_block_cast)[TC_DTYPE_COUNT][TC_DTYPE_COUNT];
extern const tc_cast_fn TC_ROW(tc_block_round)[TC_DTYPE_COUNT];
#define TO(f)                                                                                                                                   \
    [TC_I8] = f##_to_i8, [TC_I16] = f##_to_i16, [TC_I32] = f##_to_i32, [TC_I64] = f##_to_i64, [TC_U8] = f##_to_u8, [TC_U16] = f##_to_u16,       \
    [TC_U32] = f##_to_u32, [TC_U64] = f##_to_u64, [TC_F32] = f##_to_f32, [TC_F64] = f##_to_f64, [TC_BOOL] = f##_to_bool, [TC_F16] = f##_to_f16, \
    [TC_C32] = f##_to_c32, [TC_C64] = f##_to_c64, [TC_C128] = f##_to_c128, [TC_BF16] = f##_to_bf16, [TC_F8E4M3] = f##_to_f8e4m3,                \
    [TC_F8E5M2] = f##_to_f8e5m2, [TC_F8E4M3FNUZ] = f##_to_f8e4m3fnuz, [TC_F8E5M2FNUZ] = f##_to_f8e5m2fnuz, [TC_F8E8M0] = f##_to_f8e8m0
#define M(f, TF, id) [TC_##id] = {TO(f)},
const tc_cast_fn TC_ROW(tc_block_cast)[TC_DTYPE_COUNT][TC_DTYPE_COUNT] = {
    REAL(M) NARROW(M) M(c64, tc_c64, C64) M(c128, tc_c128, C128) M(c32, tc_c32, C32)};
#undef M
#define M(f, TF, id) [TC_##id] = round_##f,
const tc_cast_fn TC_ROW(tc_block_round)[TC_DTYPE_COUNT] = {NARROW(M) M(c32, tc_c32, C32)};
#undef M
