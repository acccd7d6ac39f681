/* Horizontal reduction of one vector: the upper half of the lanes is added to (or multiplied by) the lower half until one is left, lane i with lane
 * i + 8, then i + 4, i + 2, i + 1. This is how the 16 lanes of a leaf are folded (tc-numerics(7)). */
#ifndef TC_KERNEL_ROW_FOLD_H
#define TC_KERNEL_ROW_FOLD_H

#include "kernel/isa_row.h"

typedef float row_f32 __attribute__((vector_size(ROW_BYTES)));
typedef float row_f32x8 __attribute__((vector_size(32)));
typedef float row_f32x4 __attribute__((vector_size(16)));
typedef double row_f64x4 __attribute__((vector_size(32)));
typedef double row_f64x2 __attribute__((vector_size(16)));

#define LOW2(v) __builtin_shufflevector(v, v, 0, 1)
#define HIGH2(v) __builtin_shufflevector(v, v, 2, 3)
#define LOW4(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define HIGH4(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)
#define LOW8(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH8(v) __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)

static inline float row_fold_f32x4(row_f32x4 v, int product) { return product ? (v[0] * v[2]) * (v[1] * v[3]) : (v[0] + v[2]) + (v[1] + v[3]); }
static inline double row_fold_f64x2(row_f64x2 v, int product) { return product ? v[0] * v[1] : v[0] + v[1]; }

#if defined TC_ISA_avx512
static inline float row_fold_f32(row_f32 v, int product) {
    row_f32x8 a = product ? LOW8(v) * HIGH8(v) : LOW8(v) + HIGH8(v);
    return row_fold_f32x4(product ? LOW4(a) * HIGH4(a) : LOW4(a) + HIGH4(a), product);
}
static inline double row_fold_f64(row_f64 v, int product) {
    row_f64x4 a = product ? LOW4(v) * HIGH4(v) : LOW4(v) + HIGH4(v);
    return row_fold_f64x2(product ? LOW2(a) * HIGH2(a) : LOW2(a) + HIGH2(a), product);
}
#elif defined TC_ISA_avx2
static inline float row_fold_f32(row_f32 v, int product) { return row_fold_f32x4(product ? LOW4(v) * HIGH4(v) : LOW4(v) + HIGH4(v), product); }
static inline double row_fold_f64(row_f64 v, int product) { return row_fold_f64x2(product ? LOW2(v) * HIGH2(v) : LOW2(v) + HIGH2(v), product); }
#else
static inline float row_fold_f32(row_f32 v, int product) { return row_fold_f32x4(v, product); }
static inline double row_fold_f64(row_f64 v, int product) { return row_fold_f64x2(v, product); }
#endif

enum { ROW_F64S = 16 / (ROW_BYTES / 8) }; /* vectors of float64 that hold the 16 lanes */

#endif
