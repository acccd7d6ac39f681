/* For sources that are compiled once for each row of isa.tab (*.isa.c): TC_ROW(name) appends the row's name to a symbol, ROW_BYTES is the width of its
 * vectors, and TC_VECTOR_LOOP lets the compiler vectorise a loop whose result may be the same array as an operand. */
#ifndef TC_KERNEL_ISA_ROW_H
#define TC_KERNEL_ISA_ROW_H

#define TC_ROW_PASTE_(name, row) name##_##row
#define TC_ROW_PASTE(name, row) TC_ROW_PASTE_(name, row)
#define TC_ROW(name) TC_ROW_PASTE(name, TC_ISA)

#if defined TC_ISA_avx512
enum { ROW_BYTES = 64 };
#elif defined TC_ISA_avx2
enum { ROW_BYTES = 32 };
#else
enum { ROW_BYTES = 16 };
#endif

/* Vectors of float64: a * b + c rounded once; loads from float32 (widening) and float64. */
typedef double row_f64 __attribute__((vector_size(ROW_BYTES)));
#if defined TC_ISA_avx512
#include <immintrin.h>
static inline row_f64 row_fma_f64(row_f64 a, row_f64 b, row_f64 c) { return (row_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
static inline row_f64 row_widen_f32(const float *x) { return (row_f64)_mm512_cvtps_pd(_mm256_loadu_ps(x)); }
#elif defined TC_ISA_avx2
#include <immintrin.h>
static inline row_f64 row_fma_f64(row_f64 a, row_f64 b, row_f64 c) { return (row_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
static inline row_f64 row_widen_f32(const float *x) { return (row_f64)_mm256_cvtps_pd(_mm_loadu_ps(x)); }
#else
static inline row_f64 row_fma_f64(row_f64 a, row_f64 b, row_f64 c) {
    return (row_f64){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}
static inline row_f64 row_widen_f32(const float *x) { return (row_f64){x[0], x[1]}; }
#endif

static inline row_f64 row_widen_f64(const double *x) {
    typedef double unaligned __attribute__((vector_size(ROW_BYTES), aligned(8), may_alias));
    return *(const unaligned *)x;
}

#ifdef __clang__
#define TC_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TC_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#endif
