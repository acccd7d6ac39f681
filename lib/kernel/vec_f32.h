/* Vectors of float32 for the tiles of products and convolutions, for each instruction set: VF is a vector of T, S the suffix of the type, MR the rows
 * of a matrix product's register tile.
 *   vset1(x)                            x in every lane
 *   vfma(a, b, c)                       a * b + c, rounded once; FMA(a, b, c): the same on scalars
 *   vstore_some(p, v, n)                stores the first n lanes, 0 < n <= lanes
 *   vload_some(p, n)                    loads the first n lanes; the others are 0
 *   vmax(x, y), vmin(x, y)              as in scalar.h, provided that no lane of y is NaN
 *   vmax_lanes(x)                       the maximum of all lanes; NaNs are ignored where another lane is a number
 *   transpose_square(out, ld, in, at)   out[k * ld + i] = in[i][at + k]: as many rows and columns as a vector has lanes
 *   vload_bf16(p), vload_f16(p), vload_i8(p)   a vector of elements of that type, widened
 *   vload_q4(&x, &y, p)                 bytes of two four-bit numbers: the low one, less 8, to x, the high one to y
 *   transpose(r)                        exchanges lane i of r[k] with lane k of r[i]: as many vectors as one has lanes
 *   load_columns(out, p, ld)            out[k] = p[i * ld + k] for each lane i and each k of a vector; AVX2: k < COLUMN_K, 16-byte loads */
#include "kernel/isa_row.h"
#include "kernel/scalar_cast.h"

#include <stddef.h>
#include <stdint.h>

typedef float VF __attribute__((vector_size(ROW_BYTES)));
#define T float
#define S f32
#define FMA __builtin_fmaf
#ifndef TC_ISA_avx512
static inline float vmax_lanes(VF x) {
    float top = x[0];
    for (int i = 1; i < ROW_BYTES / 4; i++) top = x[i] > top ? x[i] : top;
    return top;
}
static inline void vstore_some(float *p, VF v, int n) { __builtin_memcpy(p, &v, (size_t)n * sizeof *p); }
static inline VF vload_some(const float *p, int n) {
    VF v = {0};
    __builtin_memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}
#endif
#if defined TC_ISA_avx512
#define MR 14
static inline VF vset1(float x) { return (VF)_mm512_set1_ps(x); }
static inline void vstore_some(float *p, VF v, int n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v); }
static inline VF vload_some(const float *p, int n) { return (VF)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
static inline float vmax_lanes(VF x) { return _mm512_reduce_max_ps((__m512)x); }
static inline VF vmax(VF x, VF y) { return (VF)_mm512_max_ps((__m512)y, (__m512)x); }
static inline VF vmin(VF x, VF y) { return (VF)_mm512_min_ps((__m512)y, (__m512)x); }
static inline VF vfma(VF a, VF b, VF c) { return (VF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
static inline VF vload_bf16(const void *p) { return (VF)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16); }
static inline VF vload_f16(const void *p) { return (VF)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline VF vload_i8(const void *p) { return (VF)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p))); }
static inline void vload_q4(VF *x, VF *y, const void *p) {
    const __m512 level = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7); /* looked up by the low four bits */
    const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    *x = (VF)_mm512_permutexvar_ps(q, level), *y = (VF)_mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), level);
}
static inline void transpose_lanes(VF *out, const VF *row) { /* 4 x 4 in each 16 bytes */
    const __m512 a = _mm512_unpacklo_ps((__m512)row[0], (__m512)row[1]), b = _mm512_unpackhi_ps((__m512)row[0], (__m512)row[1]);
    const __m512 c = _mm512_unpacklo_ps((__m512)row[2], (__m512)row[3]), d = _mm512_unpackhi_ps((__m512)row[2], (__m512)row[3]);
    out[0] = (VF)_mm512_unpacklo_pd((__m512d)a, (__m512d)c), out[1] = (VF)_mm512_unpackhi_pd((__m512d)a, (__m512d)c);
    out[2] = (VF)_mm512_unpacklo_pd((__m512d)b, (__m512d)d), out[3] = (VF)_mm512_unpackhi_pd((__m512d)b, (__m512d)d);
}
static inline VF even_lanes(VF x, VF y) { return (VF)_mm512_shuffle_f32x4((__m512)x, (__m512)y, 0x88); } /* of 16 bytes */
static inline VF odd_lanes(VF x, VF y) { return (VF)_mm512_shuffle_f32x4((__m512)x, (__m512)y, 0xdd); }
static inline void exchange_lanes(VF *v) { /* 4 x 4 of 16 bytes */
    for (int i = 0; i < 4; i++) {
        const VF a = even_lanes(v[i], v[i + 4]), b = odd_lanes(v[i], v[i + 4]), c = even_lanes(v[i + 8], v[i + 12]),
                 d = odd_lanes(v[i + 8], v[i + 12]);
        v[i] = even_lanes(a, c), v[i + 4] = even_lanes(b, d), v[i + 8] = odd_lanes(a, c), v[i + 12] = odd_lanes(b, d);
    }
}
static inline void transpose(VF *v) {
    for (int i = 0; i < 16; i += 4) transpose_lanes(v + i, v + i);
    exchange_lanes(v);
}
#define OWN_LOAD_COLUMNS
static inline void load_columns(VF *out, const float *p, int64_t ld) {
    for (int i = 0; i < 16; i += 4) {
        VF row[4];
        for (int j = 0; j < 4; j++) {
            row[j] = (VF)_mm512_loadu_ps(p + (i + j) * ld);
            __asm__("" : "+v"(row[j])); /* or gcc spills it */
        }
        transpose_lanes(out + i, row);
    }
    exchange_lanes(out);
}
#elif defined TC_ISA_avx2
#define MR 6
static inline VF vset1(float x) { return (VF)_mm256_set1_ps(x); }
static inline VF vmax(VF x, VF y) { return (VF)_mm256_max_ps((__m256)y, (__m256)x); }
static inline VF vmin(VF x, VF y) { return (VF)_mm256_min_ps((__m256)y, (__m256)x); }
static inline VF vfma(VF a, VF b, VF c) { return (VF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
static inline VF vload_bf16(const void *p) { return (VF)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16); }
static inline VF vload_f16(const void *p) { return (VF)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline VF vload_i8(const void *p) { return (VF)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p))); }
static inline void vload_q4(VF *x, VF *y, const void *p) {
    const __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), eight = _mm256_set1_epi32(8);
    *x = (VF)_mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_and_si256(q, _mm256_set1_epi32(15)), eight));
    *y = (VF)_mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(q, 4), eight));
}
static inline void transpose(VF *v) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; i += 2)
        t[i] = _mm256_unpacklo_ps((__m256)v[i], (__m256)v[i + 1]), t[i + 1] = _mm256_unpackhi_ps((__m256)v[i], (__m256)v[i + 1]);
    for (int i = 0; i < 8; i += 4) {
        r[i] = (__m256)_mm256_unpacklo_pd((__m256d)t[i], (__m256d)t[i + 2]), r[i + 1] = (__m256)_mm256_unpackhi_pd((__m256d)t[i], (__m256d)t[i + 2]);
        r[i + 2] = (__m256)_mm256_unpacklo_pd((__m256d)t[i + 1], (__m256d)t[i + 3]),
              r[i + 3] = (__m256)_mm256_unpackhi_pd((__m256d)t[i + 1], (__m256d)t[i + 3]);
    }
    for (int i = 0; i < 4; i++) v[i] = (VF)_mm256_permute2f128_ps(r[i], r[i + 4], 0x20), v[i + 4] = (VF)_mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
}
#define OWN_LOAD_COLUMNS
enum { COLUMN_K = 4 };
static inline void load_columns(VF *out, const float *p, int64_t ld) {
    __m256 r[4], t[4];
    for (int i = 0; i < 4; i++) r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + i * ld)), _mm_loadu_ps(p + (i + 4) * ld), 1);
    for (int i = 0; i < 4; i += 2) t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]), t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    for (int i = 0; i < 2; i++) {
        out[2 * i] = (VF)_mm256_unpacklo_pd((__m256d)t[i], (__m256d)t[i + 2]);
        out[2 * i + 1] = (VF)_mm256_unpackhi_pd((__m256d)t[i], (__m256d)t[i + 2]);
    }
}
#else
#define MR 4
static inline VF vset1(float x) { return (VF){x, x, x, x}; }
static inline VF vmax(VF x, VF y) {
    for (int i = 0; i < 4; i++) x[i] = x[i] >= y[i] || x[i] != x[i] ? x[i] : y[i];
    return x;
}
static inline VF vmin(VF x, VF y) {
    for (int i = 0; i < 4; i++) x[i] = x[i] <= y[i] || x[i] != x[i] ? x[i] : y[i];
    return x;
}
static inline VF vfma(VF a, VF b, VF c) {
    VF r;
    for (int i = 0; i < 4; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
}
static inline VF vload_bf16(const void *p) {
    const uint16_t *x = p;
    return (VF){tc_x_cast_bf16_f32(x[0]), tc_x_cast_bf16_f32(x[1]), tc_x_cast_bf16_f32(x[2]), tc_x_cast_bf16_f32(x[3])};
}
static inline VF vload_f16(const void *p) {
    const uint16_t *x = p;
    return (VF){tc_x_cast_f16_f32(x[0]), tc_x_cast_f16_f32(x[1]), tc_x_cast_f16_f32(x[2]), tc_x_cast_f16_f32(x[3])};
}
static inline VF vload_i8(const void *p) {
    const int8_t *x = p;
    return (VF){x[0], x[1], x[2], x[3]};
}
static inline void vload_q4(VF *x, VF *y, const void *p) {
    const uint8_t *b = p;
    for (int i = 0; i < 4; i++) (*x)[i] = (float)((b[i] & 15) - 8), (*y)[i] = (float)((b[i] >> 4) - 8);
}
#endif
#include "kernel/vec_transpose.h"
