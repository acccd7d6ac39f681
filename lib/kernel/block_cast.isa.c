/* Conversions of blocks: every pair of types. 16- and 8-bit floats go by way of float32, as PyTorch does, c32 by way of c64. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#undef bool /* a suffix here */

/* suffix, C type, id */
#define COMPUTE(M)                                                                                                                 \
    M(i8, int8_t, I8)                                                                                                              \
    M(i16, int16_t, I16)                                                                                                           \
    M(i32, int32_t, I32) M(i64, int64_t, I64) M(u8, uint8_t, U8) M(u16, uint16_t, U16) M(u32, uint32_t, U32) M(u64, uint64_t, U64) \
        M(f32, float, F32) M(f64, double, F64) M(bool, uint8_t, BOOL) M(c64, tc_c64, C64) M(c128, tc_c128, C128)
#define NARROW(M) M(f16, uint16_t, F16) M(bf16, uint16_t, BF16) M(f8e4m3, uint8_t, F8E4M3) M(f8e5m2, uint8_t, F8E5M2)

#define LOOP(from, TF, to, TT, EXPR)                                  \
    static void from##_to_##to(void *o, const void *in, int64_t n) {  \
        TT *out = o;                                                  \
        const TF *x = in;                                             \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = EXPR; \
    }
#define PAIR(from, TF, to, TT) LOOP(from, TF, to, TT, tc_x_cast_##from##_##to(x[i]))

/* compute types among themselves */
#define FROM(f, TF)                                                                                                                     \
    PAIR(f, TF, i8, int8_t)                                                                                                             \
    PAIR(f, TF, i16, int16_t)                                                                                                           \
    PAIR(f, TF, i32, int32_t) PAIR(f, TF, i64, int64_t) PAIR(f, TF, u8, uint8_t) PAIR(f, TF, u16, uint16_t) PAIR(f, TF, u32, uint32_t)  \
        PAIR(f, TF, u64, uint64_t) PAIR(f, TF, f32, float) PAIR(f, TF, f64, double) PAIR(f, TF, bool, uint8_t) PAIR(f, TF, c64, tc_c64) \
            PAIR(f, TF, c128, tc_c128) LOOP(f, TF, c32, tc_c32, tc_x_cast_c64_c32(tc_x_cast_##f##_c64(x[i])))
#define M(f, TF, id) FROM(f, TF)
COMPUTE(M)
#undef M
/* narrow floats to and from compute types */
#define WIDEN(f, TF, to, TT) LOOP(f, TF, to, TT, tc_x_cast_f32_##to(tc_x_cast_##f##_f32(x[i])))
#define M(f, TF, id)                                                                                                                         \
    WIDEN(f, TF, i8, int8_t)                                                                                                                 \
    WIDEN(f, TF, i16, int16_t)                                                                                                               \
    WIDEN(f, TF, i32, int32_t) WIDEN(f, TF, i64, int64_t) WIDEN(f, TF, u8, uint8_t) WIDEN(f, TF, u16, uint16_t) WIDEN(f, TF, u32, uint32_t)  \
        WIDEN(f, TF, u64, uint64_t) WIDEN(f, TF, f32, float) WIDEN(f, TF, f64, double) WIDEN(f, TF, bool, uint8_t) WIDEN(f, TF, c64, tc_c64) \
            WIDEN(f, TF, c128, tc_c128) LOOP(f, TF, c32, tc_c32, tc_x_cast_c64_c32(tc_x_cast_f32_c64(tc_x_cast_##f##_f32(x[i]))))            \
                WIDEN(f, TF, f16, uint16_t) WIDEN(f, TF, bf16, uint16_t) WIDEN(f, TF, f8e4m3, uint8_t) WIDEN(f, TF, f8e5m2, uint8_t)
NARROW(M)
#undef M
#define SHRINK(f, TF, to, TT) LOOP(f, TF, to, TT, tc_x_cast_f32_##to(tc_x_cast_##f##_f32(x[i])))
#define M(f, TF, id) SHRINK(f, TF, f16, uint16_t) SHRINK(f, TF, bf16, uint16_t) SHRINK(f, TF, f8e4m3, uint8_t) SHRINK(f, TF, f8e5m2, uint8_t)
COMPUTE(M)
#undef M
/* c32 to everything */
#define M(to, TT, id) LOOP(c32, tc_c32, to, TT, tc_x_cast_c64_##to(tc_x_cast_c32_c64(x[i])))
COMPUTE(M)
#undef M
#define M(to, TT, id) LOOP(c32, tc_c32, to, TT, tc_x_cast_f32_##to(tc_x_cast_f16_f32(x[i].re)))
NARROW(M)
#undef M
LOOP(c32, tc_c32, c32, tc_c32, x[i])
static void round_c32(void *o, const void *in, int64_t n) {
    tc_c64 *out = o;
    const tc_c64 *x = in;
    TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_cast_c32_c64(tc_x_cast_c64_c32(x[i]));
}
/* float32 by way of a narrow type */
#define M(f, TF, id)                                                                                          \
    static void round_##f(void *o, const void *in, int64_t n) {                                               \
        float *out = o;                                                                                       \
        const float *x = in;                                                                                  \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_cast_##f##_f32(tc_x_cast_f32_##f(x[i])); \
    }
NARROW(M)
#undef M

extern const tc_cast_fn TC_ROW(tc_block_cast)[TC_DTYPE_COUNT][TC_DTYPE_COUNT];
extern const tc_cast_fn TC_ROW(tc_block_round)[TC_DTYPE_COUNT];
#define TO(f)                                                                                                                                   \
    [TC_I8] = f##_to_i8, [TC_I16] = f##_to_i16, [TC_I32] = f##_to_i32, [TC_I64] = f##_to_i64, [TC_U8] = f##_to_u8, [TC_U16] = f##_to_u16,       \
    [TC_U32] = f##_to_u32, [TC_U64] = f##_to_u64, [TC_F32] = f##_to_f32, [TC_F64] = f##_to_f64, [TC_BOOL] = f##_to_bool, [TC_F16] = f##_to_f16, \
    [TC_C32] = f##_to_c32, [TC_C64] = f##_to_c64, [TC_C128] = f##_to_c128, [TC_BF16] = f##_to_bf16, [TC_F8E4M3] = f##_to_f8e4m3,                \
    [TC_F8E5M2] = f##_to_f8e5m2
#define M(f, TF, id) [TC_##id] = {TO(f)},
const tc_cast_fn TC_ROW(tc_block_cast)[TC_DTYPE_COUNT][TC_DTYPE_COUNT] = {COMPUTE(M) NARROW(M) M(c32, tc_c32, C32)};
#undef M
#define M(f, TF, id) [TC_##id] = round_##f,
const tc_cast_fn TC_ROW(tc_block_round)[TC_DTYPE_COUNT] = {NARROW(M) M(c32, tc_c32, C32)};
#undef M
