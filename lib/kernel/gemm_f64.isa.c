/* Matrix products of float64: 14 x 16 tiles with AVX-512, 6 x 8 with AVX2, and by the emulated fma for any machine. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/isa_row.h"

typedef double VF __attribute__((vector_size(ROW_BYTES)));
#define T double
#define S f64
#define FMA __builtin_fma
#if defined TC_ISA_avx512
#include <immintrin.h>
#define MR 14
static inline VF vset1(double x) { return (VF)_mm512_set1_pd(x); }
static inline VF vfma(VF a, VF b, VF c) { return (VF)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
#elif defined TC_ISA_avx2
#include <immintrin.h>
#define MR 6
static inline VF vset1(double x) { return (VF)_mm256_set1_pd(x); }
static inline VF vfma(VF a, VF b, VF c) { return (VF)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
#else
#define MR 4
static inline VF vset1(double x) { return (VF){x, x}; }
static inline VF vfma(VF a, VF b, VF c) {
    VF r;
    for (int i = 0; i < 2; i++) r[i] = __builtin_fma(a[i], b[i], c[i]);
    return r;
}
#endif
enum { SQUARE = ROW_BYTES / 8 };
static void transpose_square(double *out, const double *const *in, int64_t at) {
    for (int k = 0; k < SQUARE; k++)
        for (int i = 0; i < SQUARE; i++) out[k * 2 * SQUARE + i] = in[i][at + k];
}
#include "kernel/gemm_tile.h"
