/* For sources that are compiled once for each row of isa.tab: the row's name pasted to a symbol, the row's vector width, and a
 * pragma that lets a loop be vectorised although its result may be one of its operands. */
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

/* A vector of float64: loaded from float32, and a * b + c rounded once on each element. */
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
