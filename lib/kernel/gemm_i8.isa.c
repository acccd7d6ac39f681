/* Products of int8: tiles of 14 x 32 with AVX-512, by VNNI where the CPU has it, or of 32 x 32 by AMX (isa.c chooses); 4 rows by two vectors
 * elsewhere. */
#include "kernel/gemm_i8.h"
#include "kernel/isa.h"
#include "kernel/isa_row.h"

typedef int32_t VI __attribute__((vector_size(ROW_BYTES)));
typedef int16_t VH __attribute__((vector_size(ROW_BYTES)));
typedef uint16_t VU __attribute__((vector_size(ROW_BYTES)));
enum { NR = 2 * ROW_BYTES / 4, LDA = TC_GEMM_I8_LDA };

#if defined TC_ISA_avx512
enum { MR = 14 };
static inline VI vset1(int32_t x) { return (VI)_mm512_set1_epi32(x); }
static inline VI madd(VH a, VH b) { return (VI)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
#elif defined TC_ISA_avx2
enum { MR = 4 };
static inline VI vset1(int32_t x) { return (VI)_mm256_set1_epi32(x); }
static inline VI madd(VH a, VH b) { return (VI)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
#else
enum { MR = 4 };
static inline VI vset1(int32_t x) { return (VI){x, x, x, x}; }
#ifdef __SSE2__
#include <emmintrin.h>
static inline VI madd(VH a, VH b) { return (VI)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#else
static inline VI madd(VH a, VH b) {
    VI r;
    for (int i = 0; i < 4; i++) r[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    return r;
}
#endif
#endif

/* Packs a quad of b: out[c] holds the bytes of column c in four rows, rs apart. n columns, which are 32 with AVX-512. */
static inline void interleave(int32_t *out, const int8_t *b, int64_t rs, int n) {
#if defined TC_ISA_avx512
    (void)n;
    const __m256i x = _mm256_loadu_si256((const __m256i *)b), y = _mm256_loadu_si256((const __m256i *)(b + rs));
    const __m256i z = _mm256_loadu_si256((const __m256i *)(b + 2 * rs)), u = _mm256_loadu_si256((const __m256i *)(b + 3 * rs));
    const __m256i xy[] = {_mm256_unpacklo_epi8(x, y), _mm256_unpackhi_epi8(x, y)}, zu[] = {_mm256_unpacklo_epi8(z, u), _mm256_unpackhi_epi8(z, u)};
    for (int i = 0; i < 2; i++) { /* columns 8 i to 8 i + 7, and the same of the upper 16 */
        const __m256i low = _mm256_unpacklo_epi16(xy[i], zu[i]), high = _mm256_unpackhi_epi16(xy[i], zu[i]);
        _mm256_storeu_si256((__m256i *)(out + 8 * i), _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i *)(out + 16 + 8 * i), _mm256_permute2x128_si256(low, high, 0x31));
    }
#else
    for (int c = 0; c < n; c++) {
        const int8_t bytes[4] = {b[c], b[c + rs], b[c + 2 * rs], b[c + 3 * rs]};
        __builtin_memcpy(out + c, bytes, 4);
    }
#endif
}
static inline VH even(VI x) { return (VH)((VU)x << 8) >> 8; }
static inline VH odd(VI x) { return (VH)x >> 8; }
static inline VI vdot(VI acc, VI a, VI b) { return acc + madd(even(a), even(b)) + madd(odd(a), odd(b)); }
#define TARGET
#define FLIP 0
#define UNIT 1
#define NAME pairs
#include "kernel/gemm_i8_tile.h"

#if defined TC_ISA_avx512
#define TARGET __attribute__((target("avx512vnni")))
TARGET static inline VI dpbusd(VI acc, VI a, VI b) { return (VI)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)b); }
#define vdot dpbusd
#define FLIP 0x80
#define UNIT 1
#define NAME vnni
#include "kernel/gemm_i8_tile.h"
#endif

#if defined TC_ISA_avx512 || defined AMX_IN_C
#include "kernel/amx.h"
AMX_MULTIPLY(amx_quads, tdpbssd)
AMX_TARGET static void amx_tiles(int64_t rows, int64_t quads, const int32_t *a, const int32_t *b, const int32_t *init, int64_t ldi, int32_t *c,
                                 int64_t ldc) {
    for (int64_t n; rows > 0; rows -= n, a += n * LDA, init += n * ldi, c += n * ldc) {
        n = rows < AMX_ROWS ? rows : AMX_ROWS;
        amx_configure(n);
        amx_load(n, init, 4 * ldi);
        amx_quads(n, quads, a, LDA, b);
        amx_store(n, c, 4 * ldc);
    }
    amx_release();
}
#define NR AMX_COLUMNS
#define TARGET AMX_TARGET
#define FLIP 0
#define UNIT AMX_WORDS
#define TILES amx_tiles
#define NAME amx
#include "kernel/gemm_i8_tile.h"
#endif
