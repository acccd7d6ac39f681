/* What emitted loops call beside the scalar functions: leaves of 256 for rows and for columns (NUMERICS 4), blocks without order, faults.
 * A normal header, so that tests can include it; its text is pasted into emitted units, only what they use. */
#ifndef TC_CODEGEN_PRELUDE_H
#define TC_CODEGEN_PRELUDE_H

#include "codegen/tc_abi.h"
#include "kernel/scalar.h"
#include "kernel/tree.h"

/* ---- rows: x[0..n) are consecutive reduced positions, n <= 256 ---- */
#define ROW(S, T, NAME, ONE, OP)                                                                                                   \
    static inline T tc_leaf_##NAME##_##S(const T *x, int64_t n) {                                                                  \
        T lane[16];                                                                                                                \
        int64_t i = 0;                                                                                                             \
        for (int l = 0; l < 16; l++) lane[l] = ONE;                                                                                \
        for (; i + 16 <= n; i += 16)                                                                                               \
            for (int l = 0; l < 16; l++) lane[l] = lane[l] OP x[i + l];                                                            \
        for (int l = 0; i + l < n; l++) lane[l] = lane[l] OP x[i + l];                                                             \
        for (int l = 0; l < 8; l++) lane[l] = lane[l] OP lane[l + 8];                                                              \
        for (int l = 0; l < 4; l++) lane[l] = lane[l] OP lane[l + 4];                                                              \
        lane[0] = lane[0] OP lane[2];                                                                                              \
        lane[1] = lane[1] OP lane[3];                                                                                              \
        return lane[0] OP lane[1];                                                                                                 \
    }                                                                                                                              \
    static inline void tc_row_##NAME##_##S(tc_tree_##S *t, const T *x, int64_t n) {                                                \
        for (int64_t i = 0; i < n; i += 256) tc_tree_##S##_push_##NAME(t, tc_leaf_##NAME##_##S(x + i, n - i < 256 ? n - i : 256)); \
    }
#define tc_tree_f32_push_sum tc_tree_f32_push
#define tc_tree_f64_push_sum tc_tree_f64_push
ROW(f32, float, sum, -0.0f, +)
ROW(f64, double, sum, -0.0, +)
ROW(f32, float, prod, 1.0f, *)
ROW(f64, double, prod, 1.0, *)
#undef ROW

#define ROW(S, T)                                                                                                            \
    static inline tc_welford tc_leaf_welford_##S(const T *x, int64_t n) {                                                    \
        double v[256];                                                                                                       \
        for (int64_t i = 0; i < n; i++) v[i] = (double)x[i];                                                                 \
        double mean = tc_leaf_sum_f64(v, n) / (double)n, lane[16];                                                           \
        int64_t i = 0;                                                                                                       \
        for (int l = 0; l < 16; l++) lane[l] = 0;                                                                            \
        for (; i + 16 <= n; i += 16)                                                                                         \
            for (int l = 0; l < 16; l++) lane[l] = __builtin_fma(v[i + l] - mean, v[i + l] - mean, lane[l]);                 \
        for (int l = 0; i + l < n; l++) lane[l] = __builtin_fma(v[i + l] - mean, v[i + l] - mean, lane[l]);                  \
        for (int w = 8; w; w >>= 1)                                                                                          \
            for (int l = 0; l < w; l++) lane[l] = lane[l] + lane[l + w];                                                     \
        return (tc_welford){mean, lane[0], (double)n};                                                                       \
    }                                                                                                                        \
    static inline void tc_row_welford_##S(tc_tree_welford *t, const T *x, int64_t n) {                                       \
        for (int64_t i = 0; i < n; i += 256) tc_tree_welford_push(t, tc_leaf_welford_##S(x + i, n - i < 256 ? n - i : 256)); \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW

/* ---- columns: TC_COLS at a time; level i of a tree holds the merged 2^i leaves of each column ---- */
enum { TC_COLS = 128, TC_LEVELS = 40 };
#define ROW(S, T, NAME, OP)                                                                                     \
    static inline void tc_cols_fold_##NAME##_##S(T(*lane)[TC_COLS], int64_t m) {                                \
        for (int w = 8; w; w >>= 1)                                                                             \
            for (int l = 0; l < w; l++)                                                                         \
                for (int64_t i = 0; i < m; i++) lane[l][i] = lane[l][i] OP lane[l + w][i];                      \
    }                                                                                                           \
    static inline void tc_cols_push_##NAME##_##S(T(*level)[TC_COLS], int64_t count, T *leaf, int64_t m) {       \
        int k = 0;                                                                                              \
        for (; count >> k & 1; k++)                                                                             \
            for (int64_t i = 0; i < m; i++) leaf[i] = level[k][i] OP leaf[i];                                   \
        for (int64_t i = 0; i < m; i++) level[k][i] = leaf[i];                                                  \
    }                                                                                                           \
    static inline void tc_cols_end_##NAME##_##S(T(*level)[TC_COLS], int64_t count, T *out, T none, int64_t m) { \
        int k = count ? __builtin_ctzll((uint64_t)count) : 0;                                                   \
        for (int64_t i = 0; i < m; i++) out[i] = count ? level[k][i] : none;                                    \
        for (k++; count >> k; k++)                                                                              \
            if (count >> k & 1)                                                                                 \
                for (int64_t i = 0; i < m; i++) out[i] = level[k][i] OP out[i];                                 \
    }
ROW(f32, float, sum, +)
ROW(f64, double, sum, +)
ROW(f32, float, prod, *)
ROW(f64, double, prod, *)
#undef ROW

/* ---- extremes: NaN wins, +0 is above -0, so that no order can be seen; of equal ones argmax takes the first ---- */
#define ROW(S, T)                                                                      \
    static inline T tc_above_##S(T a, T b) {                                           \
        T same = tc_from_bits_##S(tc_bits_##S(a) & tc_bits_##S(b)), r = a > b ? a : b; \
        r = a == b ? same : r;                                                         \
        return a != a ? a : r;                                                         \
    }                                                                                  \
    static inline T tc_below_##S(T a, T b) {                                           \
        T same = tc_from_bits_##S(tc_bits_##S(a) | tc_bits_##S(b)), r = a < b ? a : b; \
        r = a == b ? same : r;                                                         \
        return a != a ? a : r;                                                         \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW
#define ROW(S, T)                                                    \
    static inline T tc_above_##S(T a, T b) { return a > b ? a : b; } \
    static inline T tc_below_##S(T a, T b) { return a < b ? a : b; }
ROW(i8, int8_t)
ROW(i16, int16_t)
ROW(i32, int32_t) ROW(i64, int64_t) ROW(u8, uint8_t) ROW(u16, uint16_t) ROW(u32, uint32_t) ROW(u64, uint64_t) ROW(bool, uint8_t)
#undef ROW
#define ROW(S, T, WAY, SIGN)                                                                                        \
    static inline T tc_row_##WAY##_##S(T best, const T *x, int64_t n) {                                             \
        T lane[64];                                                                                                 \
        int64_t i = 0;                                                                                              \
        for (int j = 0; j < 64; j++) lane[j] = best;                                                                \
        for (; i + 64 <= n; i += 64)                                                                                \
            for (int j = 0; j < 64; j++) lane[j] = tc_##WAY##_##S(lane[j], x[i + j]);                               \
        for (int j = 0; i + j < n; j++) lane[j] = tc_##WAY##_##S(lane[j], x[i + j]);                                \
        for (int w = 32; w; w >>= 1)                                                                                \
            for (int j = 0; j < w; j++) lane[j] = tc_##WAY##_##S(lane[j], lane[j + w]);                             \
        return lane[0];                                                                                             \
    }                                                                                                               \
    static inline void tc_arg_##WAY##_##S(T *best, int64_t *index, T x, int64_t at) {                               \
        uint8_t better = (*index < 0) | (x SIGN * best) | ((x != x) & (*best == *best));                            \
        *best = better ? x : *best;                                                                                 \
        *index = better ? at : *index;                                                                              \
    }                                                                                                               \
    static inline void tc_row_arg_##WAY##_##S(T *best, int64_t *index, const T *x, int64_t at, int64_t n) {         \
        const T top = tc_row_##WAY##_##S(x[0], x, n); /* the block's best first: only a better one is looked for */ \
        if (!((*index < 0) | (top SIGN * best) | ((top != top) & (*best == *best)))) return;                        \
        for (int64_t i = 0; i < n; i++) {                                                                           \
            if (!((x[i] == top) | ((top != top) & (x[i] != x[i])))) continue;                                       \
            *best = top;                                                                                            \
            *index = at + i;                                                                                        \
            return;                                                                                                 \
        }                                                                                                           \
    }
#define BOTH(S, T) ROW(S, T, above, >) ROW(S, T, below, <)
    BOTH(f32, float) BOTH(f64, double) BOTH(i8, int8_t) BOTH(i16, int16_t) BOTH(i32, int32_t) BOTH(i64, int64_t) BOTH(u8, uint8_t) BOTH(u16, uint16_t)
        BOTH(u32, uint32_t) BOTH(u64, uint64_t) BOTH(bool, uint8_t)
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

#include "codegen/ckernels.h"

#endif
