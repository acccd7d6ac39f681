/* Vectors of float64 for the tiles of products and convolutions, for each instruction set: VF, T, S, MR and the functions of vec_f32.h, but those
 * for narrower types. */
#include "kernel/isa_row.h"

#include <stddef.h>
#include <stdint.h>

typedef row_f64 VF;
#define T double
#define S f64
#define FMA __builtin_fma
static inline VF vfma(VF a, VF b, VF c) { return row_fma_f64(a, b, c); }
#ifndef TC_ISA_avx512
static inline void vstore_some(double *p, VF v, int n) { __builtin_memcpy(p, &v, (size_t)n * sizeof *p); }
static inline VF vload_some(const double *p, int n) {
    VF v = {0};
    __builtin_memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}
#endif
#if defined TC_ISA_avx512
#define MR 14
static inline VF vset1(double x) { return (VF)_mm512_set1_pd(x); }
static inline void vstore_some(double *p, VF v, int n) { _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v); }
static inline VF vload_some(const double *p, int n) { return (VF)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p); }
static inline VF vmax(VF x, VF y) { return (VF)_mm512_max_pd((__m512d)y, (__m512d)x); }
static inline VF vmin(VF x, VF y) { return (VF)_mm512_min_pd((__m512d)y, (__m512d)x); }
static inline void transpose(VF *v) {
    __m512d r[8], t[8];
    for (int i = 0; i < 8; i += 2)
        t[i] = _mm512_unpacklo_pd((__m512d)v[i], (__m512d)v[i + 1]), t[i + 1] = _mm512_unpackhi_pd((__m512d)v[i], (__m512d)v[i + 1]);
    for (int i = 0; i < 2; i++) { /* t[i + 2 j] holds the columns i, i + 2, i + 4, i + 6 of rows 2 j and 2 j + 1 */
        r[i] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88), r[i + 2] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
        r[i + 4] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88), r[i + 6] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
    }
    for (int i = 0; i < 4; i++) v[i] = (VF)_mm512_shuffle_f64x2(r[i], r[i + 4], 0x88), v[i + 4] = (VF)_mm512_shuffle_f64x2(r[i], r[i + 4], 0xdd);
}
#elif defined TC_ISA_avx2
#define MR 6
static inline VF vset1(double x) { return (VF)_mm256_set1_pd(x); }
static inline VF vmax(VF x, VF y) { return (VF)_mm256_max_pd((__m256d)y, (__m256d)x); }
static inline VF vmin(VF x, VF y) { return (VF)_mm256_min_pd((__m256d)y, (__m256d)x); }
static inline void transpose(VF *v) {
    __m256d t[4];
    for (int i = 0; i < 4; i += 2)
        t[i] = _mm256_unpacklo_pd((__m256d)v[i], (__m256d)v[i + 1]), t[i + 1] = _mm256_unpackhi_pd((__m256d)v[i], (__m256d)v[i + 1]);
    for (int i = 0; i < 2; i++) v[i] = (VF)_mm256_permute2f128_pd(t[i], t[i + 2], 0x20), v[i + 2] = (VF)_mm256_permute2f128_pd(t[i], t[i + 2], 0x31);
}
#define OWN_LOAD_COLUMNS
enum { COLUMN_K = 2 };
static inline void load_columns(VF *out, const double *p, int64_t ld) {
    __m256d r[2];
    for (int i = 0; i < 2; i++) r[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p + i * ld)), _mm_loadu_pd(p + (i + 2) * ld), 1);
    out[0] = (VF)_mm256_unpacklo_pd(r[0], r[1]), out[1] = (VF)_mm256_unpackhi_pd(r[0], r[1]);
}
#else
#define MR 4
static inline VF vset1(double x) { return (VF){x, x}; }
static inline VF vmax(VF x, VF y) {
    for (int i = 0; i < 2; i++) x[i] = x[i] >= y[i] || x[i] != x[i] ? x[i] : y[i];
    return x;
}
static inline VF vmin(VF x, VF y) {
    for (int i = 0; i < 2; i++) x[i] = x[i] <= y[i] || x[i] != x[i] ? x[i] : y[i];
    return x;
}
#endif
#include "kernel/vec_transpose.h"
