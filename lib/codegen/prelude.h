/* What emitted loops call beside the scalar functions: leaves of 256 elements for row and column reductions (tc-numerics(7), "Sums"),
 * reductions whose order does not matter, fault reports. A normal header, so that tests can include it; codegen/paste.c pastes into each unit
 * the definitions that it uses. */
#ifndef TC_CODEGEN_PRELUDE_H
#define TC_CODEGEN_PRELUDE_H

#include "codegen/tc_abi.h"
#include "kernel/ranks.h"
#include "kernel/scalar.h"
#include "kernel/tree.h"

/* Vectors of the native width, TC_VB bytes. Emitted units define it for the instruction set that they are compiled for. */
#ifndef TC_VB
#if defined(__AVX512F__)
#define TC_VB 64
#elif defined(__AVX__)
#define TC_VB 32
#else
#define TC_VB 16
#endif
/* Conversions of eight float16, and whether there are such instructions. */
#if defined(__F16C__)
#define TC_F16C 1
#define tc_f16c_widen(x) __builtin_ia32_vcvtph2ps256(x)
#define tc_f16c_narrow(x) __builtin_ia32_vcvtps2ph256(x, 0)
#else
#define TC_F16C 0
#define tc_f16c_widen(x) ((tc_8_f32){0})
#define tc_f16c_narrow(x) ((void)(x), (tc_8_i16){0})
#endif
#define TC_APART static inline /* emitted units: a call */
#endif
typedef float __attribute__((vector_size(TC_VB), aligned(4), may_alias)) tc_vec_f32;
typedef float __attribute__((vector_size(TC_VB / 2), aligned(4), may_alias)) tc_half_f32;
typedef double __attribute__((vector_size(TC_VB), aligned(8), may_alias)) tc_vec_f64;
/* What the second version of a loop calls (emit_block.c): as vectors, which hardly ever run, these would take half of a compiler's time. */
#define TC_WHOLE(NAME)                                                             \
    TC_APART float tc_whole_##NAME##_f32(float x) { return tc_x_##NAME##_f32(x); } \
    TC_APART double tc_whole_##NAME##_f64(double x) { return tc_x_##NAME##_f64(x); }
TC_WHOLE(sin)
TC_WHOLE(cos)
TC_WHOLE(tan)
#undef TC_WHOLE
#define TC_WHOLE(NAME) \
    TC_APART float tc_whole_##NAME##_f32(float a, float b) { return tc_x_##NAME##_f32(a, b); }
TC_WHOLE(fmod)
TC_WHOLE(remainder)
TC_WHOLE(div_floor)
#undef TC_WHOLE
static inline tc_vec_f64 tc_widen_f32(const float *x) { return __builtin_convertvector(*(const tc_half_f32 *)x, tc_vec_f64); }
static inline tc_vec_f64 tc_widen_f64(const double *x) { return *(const tc_vec_f64 *)x; }
static inline tc_vec_f64 tc_vec_fma_f64(tc_vec_f64 a, tc_vec_f64 b, tc_vec_f64 c) {
    tc_vec_f64 r = c; /* gcc -O1 does not see that all of it is set */
    for (int k = 0; k < (int)(TC_VB / 8); k++) r[k] = __builtin_fma(a[k], b[k], c[k]);
    return r;
}

/* ---- float16: n elements; every NaN is narrowed to tc_x_cast_f32_f16's, as the block executor does ---- */
typedef float __attribute__((vector_size(32), aligned(4), may_alias)) tc_8_f32;
typedef int16_t __attribute__((vector_size(16), aligned(2), may_alias)) tc_8_i16;
static inline tc_8_i16 tc_narrow_8(const tc_8_f32 *x) {
    const tc_8_i16 h = tc_f16c_narrow(*x);
    return h & (((h & 0x7fff) <= 0x7c00) | ~0x1ff);
}
static inline void tc_row_f16_f32(float *to, const uint16_t *from, int64_t n) {
    const int64_t whole = TC_F16C ? n - n % 8 : 0;
    for (int64_t i = 0; i < whole; i += 8) *(tc_8_f32 *)(to + i) = tc_f16c_widen(*(const tc_8_i16 *)(from + i));
    for (int64_t i = whole; i < n; i++) to[i] = TC_F16C ? tc_f16c_widen(((tc_8_i16){(int16_t)from[i]}))[0] : tc_x_cast_f16_f32(from[i]);
}
static inline void tc_row_f32_f16(uint16_t *to, const float *from, int64_t n) {
    const int64_t whole = TC_F16C ? n - n % 8 : 0;
    for (int64_t i = 0; i < whole; i += 8) *(tc_8_i16 *)(to + i) = tc_narrow_8((const tc_8_f32 *)(from + i));
    for (int64_t i = whole; i < n; i++) to[i] = TC_F16C ? (uint16_t)tc_narrow_8(&(const tc_8_f32){from[i]})[0] : tc_x_cast_f32_f16(from[i]);
}
static inline void tc_row_round_f16(float *to, const float *from, int64_t n) {
    const int64_t whole = TC_F16C ? n - n % 8 : 0;
    for (int64_t i = 0; i < whole; i += 8) *(tc_8_f32 *)(to + i) = tc_f16c_widen(tc_narrow_8((const tc_8_f32 *)(from + i)));
    for (int64_t i = whole; i < n; i++)
        to[i] = TC_F16C ? tc_f16c_widen(tc_narrow_8(&(const tc_8_f32){from[i]}))[0] : tc_x_cast_f16_f32(tc_x_cast_f32_f16(from[i]));
}

/* ---- rows ---- */
#define T double
#define S f64
#define KEY int64_t
#define KEY_MAX INT64_MAX
#include "codegen/prelude_rows.h"
#undef T
#undef S
#undef KEY
#undef KEY_MAX
#define T float
#define S f32
#define KEY int32_t
#define KEY_MAX INT32_MAX
#include "codegen/prelude_rows.h"
#undef T
#undef S
#undef KEY
#undef KEY_MAX

/* ---- columns: m of them side by side; lanes [16][width] of the leaf, levels [TC_LEVELS][width] of the trees, all with one count of leaves ---- */
enum { TC_LEVELS = 32, TC_WELFORD_COLS = 32 /* columns per block with means and deviations, at most */ };
/* Columns per block, a power of two from 128 to `most`: narrower blocks when there are too few for all workers. */
static inline int64_t tc_width(const tc_abi_call *c, int64_t others, int64_t cols, int64_t most) {
    while (c->workers > 1 && most > 128 && others * ((cols + most - 1) / most) < 2 * c->workers) most /= 2;
    return most;
}
/* Repeats the first `have` bytes until there are `want`. */
static inline void tc_repeat(void *to, int64_t have, int64_t want) {
    for (int64_t n; have < want; have += n) {
        n = have < want - have ? have : want - have;
        __builtin_memcpy((char *)to + have, to, (size_t)n);
    }
}
#define ROW(S, T, NAME, OP)                                                                                                \
    static inline void tc_cols_fold_##NAME##_##S(T *lane, int64_t width, int64_t m) {                                      \
        for (int64_t i = 0; i < m; i++) {                                                                                  \
            T l[16];                                                                                                       \
            for (int k = 0; k < 16; k++) l[k] = lane[k * width + i];                                                       \
            for (int k = 0; k < 8; k++) l[k] = l[k] OP l[k + 8];                                                           \
            for (int k = 0; k < 4; k++) l[k] = l[k] OP l[k + 4];                                                           \
            lane[i] = (l[0] OP l[2])OP(l[1] OP l[3]);                                                                      \
        }                                                                                                                  \
    }                                                                                                                      \
    static inline void tc_cols_push_##NAME##_##S(T *level, int64_t width, int64_t count, T *leaf, int64_t m) {             \
        for (; count & 1; count >>= 1, level += width)                                                                     \
            for (int64_t i = 0; i < m; i++) leaf[i] = level[i] OP leaf[i];                                                 \
        for (int64_t i = 0; i < m; i++) level[i] = leaf[i];                                                                \
    }                                                                                                                      \
    static inline void tc_cols_end_##NAME##_##S(const T *level, int64_t width, int64_t count, T *out, T none, int64_t m) { \
        int first = 1;                                                                                                     \
        for (int64_t i = 0; i < m && !count; i++) out[i] = none;                                                           \
        for (; count; count >>= 1, level += width) {                                                                       \
            if (!(count & 1)) continue;                                                                                    \
            for (int64_t i = 0; i < m; i++) out[i] = first ? level[i] : level[i] OP out[i];                                \
            first = 0;                                                                                                     \
        }                                                                                                                  \
    }
ROW(f32, float, sum, +)
ROW(f64, double, sum, +)
ROW(f32, float, prod, *)
ROW(f64, double, prod, *)
#undef ROW

/* Mean and squared deviations: a leaf is the means of the columns, then their deviations; a level is the same. Only the last leaf has fewer rows than
 * 256. */
static inline void tc_cols_push_welford(double *level, int64_t width, int64_t count, double *leaf, int64_t rows, int64_t m) {
    for (double a = 256, b = (double)rows; count & 1; count >>= 1, level += 2 * width, b += a, a *= 2) {
        const double f = b / (a + b), g = a * f;
        for (int64_t i = 0; i < m; i++) {
            const double d = leaf[i] - level[i];
            leaf[width + i] = __builtin_fma(d * d, g, level[width + i] + leaf[width + i]);
            leaf[i] = __builtin_fma(d, f, level[i]);
        }
    }
    for (int64_t i = 0; i < m; i++) level[i] = leaf[i], level[width + i] = leaf[width + i];
}
static inline void tc_cols_end_welford(const double *level, int64_t width, int64_t count, int64_t rows, tc_welford *out, int64_t m) {
    double a = 256, b = (double)(rows - 256 * (count & (count - 1)));
    int first = 1;
    for (int64_t i = 0; i < m && !count; i++) out[i] = (tc_welford){0, 0, 0};
    for (; count; count >>= 1, level += 2 * width, a *= 2) {
        if (!(count & 1)) continue;
        for (int64_t i = 0; i < m; i++) {
            const tc_welford x = {level[i], level[width + i], first ? b : a};
            out[i] = first ? x : tc_welford_merge(x, out[i]);
        }
        first = 0;
    }
}
#define ROW(S, T)                                                                                                              \
    static inline void tc_cols_welford_##S(double *level, int64_t width, int64_t count, const T *x, int64_t rows, int64_t m) { \
        double lane[16 * TC_WELFORD_COLS], leaf[2 * TC_WELFORD_COLS];                                                          \
        for (int64_t l = 0; l < 16; l++)                                                                                       \
            for (int64_t i = 0; i < m; i++) lane[l * width + i] = -0.0;                                                        \
        for (int64_t r = 0; r < rows; r++)                                                                                     \
            for (int64_t i = 0; i < m; i++) lane[(r & 15) * width + i] += (double)x[r * width + i];                            \
        tc_cols_fold_sum_f64(lane, width, m);                                                                                  \
        for (int64_t i = 0; i < m; i++) leaf[i] = rows == 256 ? lane[i] * 0x1p-8 : lane[i] / (double)rows;                     \
        for (int64_t l = 0; l < 16; l++)                                                                                       \
            for (int64_t i = 0; i < m; i++) lane[l * width + i] = 0;                                                           \
        for (int64_t r = 0; r < rows; r++)                                                                                     \
            for (int64_t i = 0; i < m; i++) {                                                                                  \
                const double d = (double)x[r * width + i] - leaf[i];                                                           \
                lane[(r & 15) * width + i] = __builtin_fma(d, d, lane[(r & 15) * width + i]);                                  \
            }                                                                                                                  \
        tc_cols_fold_sum_f64(lane, width, m);                                                                                  \
        for (int64_t i = 0; i < m; i++) leaf[width + i] = lane[i];                                                             \
        tc_cols_push_welford(level, width, count, leaf, rows, m);                                                              \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW

/* ---- max and min of integers; argmax takes the first of equal elements ---- */
#define ROW(S, T)                                                    \
    static inline T tc_above_##S(T a, T b) { return a > b ? a : b; } \
    static inline T tc_below_##S(T a, T b) { return a < b ? a : b; }
ROW(i8, int8_t)
ROW(i16, int16_t)
ROW(i32, int32_t)
ROW(i64, int64_t)
ROW(u8, uint8_t)
ROW(u16, uint16_t)
ROW(u32, uint32_t)
ROW(u64, uint64_t)
ROW(bool, uint8_t)
#undef ROW
#define ROW(S, T, WAY)                                                     \
    static inline T tc_row_##WAY##_##S(T best, const T *x, int64_t n) {    \
        for (int64_t i = 0; i < n; i++) best = tc_##WAY##_##S(best, x[i]); \
        return best;                                                       \
    }
#define BOTH(S, T) ROW(S, T, above) ROW(S, T, below)
BOTH(i8, int8_t)
BOTH(i16, int16_t)
BOTH(i32, int32_t)
BOTH(i64, int64_t)
BOTH(u8, uint8_t) BOTH(u16, uint16_t) BOTH(u32, uint32_t) BOTH(u64, uint64_t) BOTH(bool, uint8_t)
#undef ROW
#define ROW(S, T) \
    static inline uint8_t tc_x_isnan_##S(T x) { return (void)x, 0; }
    ROW(i8, int8_t) ROW(i16, int16_t) ROW(i32, int32_t) ROW(i64, int64_t) ROW(u8, uint8_t) ROW(u16, uint16_t) ROW(u32, uint32_t) ROW(u64, uint64_t)
        ROW(bool, uint8_t)
#undef ROW
#define ROW(S, T, I, WAY, SIGN)                                                                                                  \
    static inline int tc_better_##WAY##_##S(T best, T x) { return (x SIGN best) | (tc_x_isnan_##S(x) & !tc_x_isnan_##S(best)); } \
    static inline void tc_arg_##WAY##_##S(T *best, int64_t *index, T x, int64_t at) {                                            \
        const uint8_t better = (*index < 0) | tc_better_##WAY##_##S(*best, x);                                                   \
        *best = better ? x : *best;                                                                                              \
        *index = better ? at : *index;                                                                                           \
    }                                                                                                                            \
    static inline void tc_short_arg_##WAY##_##S(T *best, int32_t *index, T x, int64_t at) { /* fewer than 2^31 rows */           \
        const uint8_t better = (*index < 0) | tc_better_##WAY##_##S(*best, x);                                                   \
        *best = better ? x : *best;                                                                                              \
        *index = better ? (int32_t)at : *index;                                                                                  \
    }                                                                                                                            \
    static inline void tc_row_arg_##WAY##_##S(T *best, int64_t *index, const T *x, int64_t at, int64_t n) {                      \
        const T top = tc_row_##WAY##_##S(x[0], x, n); /* the block's best first: only a better one is looked for */              \
        const I nan = tc_x_isnan_##S(top) ? -1 : 0;                                                                              \
        if (!((*index < 0) | tc_better_##WAY##_##S(*best, top))) return;                                                         \
        *best = top;                                                                                                             \
        for (int64_t i = 0; i < n; i += 64) { /* the first that equals it, by pieces */                                          \
            const I m = (I)(n - i < 64 ? n - i : 64);                                                                            \
            I first = 64;                                                                                                        \
            for (I j = 0; j < m; j++) {                                                                                          \
                const I here = ((x[i + j] == top) | (tc_x_isnan_##S(x[i + j]) & nan)) ? j : 64;                                  \
                first = here < first ? here : first;                                                                             \
            }                                                                                                                    \
            if (first == 64) continue;                                                                                           \
            *index = at + i + first;                                                                                             \
            return;                                                                                                              \
        }                                                                                                                        \
    }
#undef BOTH
#define BOTH(S, T, I) ROW(S, T, I, above, >) ROW(S, T, I, below, <)
            BOTH(f32, float, int32_t) BOTH(f64, double, int64_t) BOTH(i8, int8_t, int32_t) BOTH(i16, int16_t, int32_t) BOTH(i32, int32_t, int32_t)
                BOTH(i64, int64_t, int64_t) BOTH(u8, uint8_t, int32_t) BOTH(u16, uint16_t, int32_t) BOTH(u32, uint32_t, int32_t)
                    BOTH(u64, uint64_t, int64_t) BOTH(bool, uint8_t, int32_t)
#undef BOTH
#undef ROW

    /* ---- gathers ---- */
    static inline int64_t tc_fault_at(tc_abi_fault *f, int32_t inst, int32_t dim, int64_t index, int64_t size) {
    if (index >= 0 && index < size) return index;
    if (f && !__atomic_exchange_n(&f->set, 1, __ATOMIC_RELAXED)) {
        f->inst = inst;
        f->dim = dim;
        f->index = index;
        f->size = size;
    }
    return 0;
}

/* ---- --sanitize=overflow ---- */
static inline void tc_overflow(tc_abi_fault *f, int32_t inst, int wrapped) {
    if (!wrapped || !f || __atomic_exchange_n(&f->set, 1, __ATOMIC_RELAXED)) return;
    f->inst = inst;
    f->dim = -1;
}

#include "codegen/ckernels.h"

#endif
