/* The plain epilogue for bfloat16 (half_plain.h) on 32 consecutive results while they are in registers. Included after vec_f32.h and amx.h. */
#include "kernel/half_plain.h"

/* The slow path of store_plain: the conversion instructions flush subnormal numbers to zero. */
static __attribute__((noinline, cold)) void plain_by_vectors(void *out, const float *sums, const half_plain *p) {
    for (int i = 0; i < 32; i += ROW_BYTES / 4) {
        VF x;
        __builtin_memcpy(&x, sums + i, sizeof x);
        half_vector(out, rounded(x), p, i);
    }
}
/* Stores 32 bfloat16, table[min(max(fma(sum, scale, shift) + more, low), high)], rounded after each operation. x, y: the first and last 16 sums. */
#ifdef AMX_IN_C
static inline void store_plain(void *out, VS x, VS y, const half_plain *p) {
    const VS sums[] = {x, y};
    plain_by_vectors(out, sums[0].sum, p);
}
#else
PAIRS_TARGET static inline __attribute__((always_inline)) VS widen_half(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
/* Rounds x and y to bfloat16 in place; returns a mask that is not 0 where an element is subnormal. */
PAIRS_TARGET static inline __attribute__((always_inline)) __mmask16 round_pair(VS *x, VS *y) {
    const __mmask16 subnormal = SUBNORMAL(*x, *y);
    const __m512i r = (__m512i)_mm512_cvtne2ps_pbh(*y, *x);
    *x = widen_half(_mm512_castsi512_si256(r)), *y = widen_half(_mm512_extracti64x4_epi64(r, 1));
    return subnormal;
}
PAIRS_TARGET static inline __attribute__((always_inline)) void store_plain(void *out, VS x, VS y, const half_plain *p) {
    const VS sums[] = {x, y}, low = _mm512_set1_ps(p->low), high = _mm512_set1_ps(p->high);
    __mmask16 subnormal = 0;
    if (p->scale) {
        subnormal |= round_pair(&x, &y);
        x = _mm512_fmadd_ps(x, _mm512_loadu_ps(p->scale), _mm512_loadu_ps(p->shift));
        y = _mm512_fmadd_ps(y, _mm512_loadu_ps(p->scale + 16), _mm512_loadu_ps(p->shift + 16));
    }
    if (p->more) {
        subnormal |= round_pair(&x, &y);
        x += widen_half(_mm256_loadu_si256((const __m256i *)(const void *)p->more));
        y += widen_half(_mm256_loadu_si256((const __m256i *)(const void *)(p->more + 16)));
    }
    x = _mm512_min_ps(high, _mm512_max_ps(low, x)), y = _mm512_min_ps(high, _mm512_max_ps(low, y));
    subnormal |= SUBNORMAL(x, y);
    if (__builtin_expect(subnormal, 0)) {
        plain_by_vectors(out, (const float *)sums, p);
        return;
    }
    __m512i r = (__m512i)_mm512_cvtne2ps_pbh(y, x);
    if (p->table) {
        const __m256i u = (__m256i)looked_up(p->table, (VH)_mm512_castsi512_si256(r)),
                      v = (__m256i)looked_up(p->table, (VH)_mm512_extracti64x4_epi64(r, 1));
        r = _mm512_inserti64x4(_mm512_castsi256_si512(u), v, 1);
    }
    _mm512_storeu_si512(out, r);
}
#endif
