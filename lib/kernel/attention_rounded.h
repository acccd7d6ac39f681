/* Attention weights rounded to bfloat16: turns a row of float32 scores into exponentials, their sum and rounded weights, reading the scores twice and
 * leaving them unchanged. Included by attention_f32.isa.c after row_fold.h, vec_f32.h and half_plain.h. */
enum { VL = ROW_BYTES / 4, PARTS = 16 / VL };

static inline __attribute__((always_inline)) VF vload(const float *p) {
    VF x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
/* A mask: all bits set in the first n lanes, none in the others. */
static inline __attribute__((always_inline)) VU first_lanes(int64_t n) {
    static const uint32_t index[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    VU lane;
    __builtin_memcpy(&lane, index, sizeof lane);
    return (VU)(lane < (uint32_t)n);
}
/* 2^x for x <= 0 with a relative error of 2^-22; 0 for x < -126. NaN stays NaN if the lower nine bits of its mantissa are 0, which holds for sums of
 * products of bfloat16. */
static inline __attribute__((always_inline)) VF power_of_two(VF x) {
    const VF round = vset1(0x1.8p23f), c = vmax(x, vset1(-127)), t = c + round, r = c - (t - round);
    VF p = vfma(vset1(0x1.5ec866p-10f), r, vset1(0x1.3cbf6p-7f)); /* interpolates 2^r at the Chebyshev nodes of |r| <= 1/2 */
    p = vfma(p, r, vset1(0x1.c6afeep-5f));
    p = vfma(p, r, vset1(0x1.ebfa4cp-3f));
    p = vfma(p, r, vset1(0x1.62e43p-1f));
    p = vfma(p, r, vset1(1));
    return (VF)(((VU)p + ((VU)t << 23)) & ~(VU)(x < vset1(-126)));
}
static inline __attribute__((always_inline)) void store_weights(uint16_t *out, VF x) {
    const VU u = (VU)x, r = (u + 0x7fff + (u >> 16 & 1)) >> 16; /* to nearest even; NaN as in power_of_two */
    const VH h = __builtin_convertvector(r, VH);
    __builtin_memcpy(out, &h, sizeof h);
}
/* Weights exp(scale * (score - max)) of the first `live` of `keys` scores, 0 for the others; scale > 0. *out_max = scale * max; *out_sum is the sum of the
 * weights before rounding, in the fixed order of a leaf; both are NaN where a score is. */
extern void TC_ROW(tc_attention_weights)(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum, uint16_t *out);
void TC_ROW(tc_attention_weights)(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum, uint16_t *out) {
    const VF rate = vset1(scale * 0x1.715476p+0f), lowest = vset1(-INFINITY);
    VF top = lowest, sum[PARTS];
    int64_t i = 0;
#pragma GCC unroll 1
    for (; i + VL <= live; i += VL) top = vmax(vload(score + i), top);
    const VU in = first_lanes(live - i);
    if (i < live) top = vmax((VF)(((VU)vload(score + i) & in) | ((VU)lowest & ~in)), top);
    const float max = vmax_lanes(top);
    const VF less = vset1(max == -INFINITY ? 0 : max);
    for (int p = 0; p < PARTS; p++) sum[p] = vset1(0);
#pragma GCC unroll 1
    for (i = 0; i + 16 <= live; i += 16)
        for (int p = 0; p < PARTS; p++) {
            const VF x = power_of_two((vload(score + i + p * VL) - less) * rate);
            store_weights(out + i + p * VL, x);
            sum[p] += x;
        }
#pragma GCC unroll 1
    for (int p = 0; i < keys; i += VL, p++) {
        const VF x = i < live ? (VF)((VU)power_of_two((vload(score + i) - less) * rate) & first_lanes(live - i)) : vset1(0);
        store_weights(out + i, x);
        if (i < live) sum[p] += x;
    }
    for (int h = PARTS / 2; h; h /= 2)
        for (int p = 0; p < h; p++) sum[p] += sum[p + h];
    *out_sum = row_fold_f32((row_f32)sum[0], 0);
    *out_max = *out_sum != *out_sum ? *out_sum : max * scale;
}
#if defined TC_ISA_avx512
/* The same with AVX512-BF16's rounding, which gives the same bits because no weight is subnormal. */
#define PAIRS __attribute__((target("avx512bf16")))
/* power_of_two with a mask for x < -126. */
PAIRS static inline __attribute__((always_inline)) __m512 power(__m512 x) {
    const __m512 round = _mm512_set1_ps(0x1.8p23f), t = x + round, r = x - (t - round);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0x1.5ec866p-10f), r, _mm512_set1_ps(0x1.3cbf6p-7f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.c6afeep-5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.ebfa4cp-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.62e43p-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
    const __mmask16 in = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126), _CMP_NLT_UQ);
    return _mm512_castsi512_ps(_mm512_maskz_add_epi32(in, _mm512_castps_si512(p), _mm512_slli_epi32(_mm512_castps_si512(t), 23)));
}
extern void tc_attention_weights_pairs_avx512(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum,
                                              uint16_t *out);
PAIRS void tc_attention_weights_pairs_avx512(const float *score, int64_t live, int64_t keys, float scale, float *out_max, float *out_sum,
                                             uint16_t *out) {
    const __m512 rate = _mm512_set1_ps(scale * 0x1.715476p+0f), lowest = _mm512_set1_ps(-INFINITY);
    const __mmask16 rest = (__mmask16)((1u << live % 16) - 1);
    __m512 top = lowest, sum = _mm512_setzero_ps();
    int64_t i = 0;
    for (; i + 16 <= live; i += 16) top = _mm512_max_ps(top, _mm512_loadu_ps(score + i));
    if (rest) top = _mm512_mask_max_ps(top, rest, top, _mm512_loadu_ps(score + i));
    const float max = _mm512_reduce_max_ps(top);
    const __m512 less = _mm512_set1_ps(max == -INFINITY ? 0 : max);
    for (i = 0; i + 32 <= live; i += 32) {
        const __m512 x = power((_mm512_loadu_ps(score + i) - less) * rate), y = power((_mm512_loadu_ps(score + i + 16) - less) * rate);
        sum = (sum + x) + y;
        _mm512_storeu_si512(out + i, (__m512i)_mm512_cvtne2ps_pbh(y, x));
    }
    for (; i < keys; i += 16) {
        const __mmask16 in = live - i >= 16 ? 0xffff : live <= i ? 0 : rest;
        const __m512 x = in ? _mm512_maskz_mov_ps(in, power((_mm512_loadu_ps(score + i) - less) * rate)) : _mm512_setzero_ps();
        sum += x;
        _mm256_storeu_si256((__m256i *)(void *)(out + i), (__m256i)_mm512_cvtneps_pbh(x));
    }
    *out_sum = row_fold_f32((row_f32)sum, 0);
    *out_max = *out_sum != *out_sum ? *out_sum : max * scale;
}
#endif
