/* The plain epilogue (tc_epilogue_plain, kernel/kernel.h) for bfloat16, a vector at a time, rounding to bfloat16 after each operation as the separate
 * operators would. Included after vec_f32.h. */
typedef uint32_t VU __attribute__((vector_size(ROW_BYTES)));
typedef uint16_t VH __attribute__((vector_size(ROW_BYTES / 2)));

/* Its arguments from some column on; NULL: that step is left out. */
typedef struct {
    const float *scale, *shift;
    const uint16_t *more, *table;
    float low, high;
} half_plain;

/* Rounded to bfloat16, to nearest even, as float32. */
static inline VF rounded(VF x) {
    const VU u = (VU)x, nan = (VU)(x != x), r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    return (VF)((r & ~nan) | (0x7fc00000 & nan));
}
static inline VH looked_up(const uint16_t *table, VH x) {
#if defined TC_ISA_avx512
    return (VH)_mm512_cvtepi32_epi16(_mm512_i32gather_epi32(_mm512_cvtepu16_epi32((__m256i)x), table, 2));
#else
    for (int i = 0; i < ROW_BYTES / 4; i++) x[i] = table[x[i]];
    return x;
#endif
}
/* Applies it to v, results [i, i + lanes) that hold bfloat16 values, and stores them as bfloat16. */
static inline __attribute__((always_inline)) void half_vector(void *out, VF v, const half_plain *p, int64_t i) {
    VF a, b;
    if (p->scale) {
        __builtin_memcpy(&a, p->scale + i, sizeof a);
        __builtin_memcpy(&b, p->shift + i, sizeof b);
        v = rounded(vfma(v, a, b));
    }
    if (p->more) v = rounded(v + vload_bf16(p->more + i));
    v = vmin(vmax(v, vset1(p->low)), vset1(p->high));
    VH h = __builtin_convertvector((VU)rounded(v) >> 16, VH);
    if (p->table) h = looked_up(p->table, h);
    __builtin_memcpy((uint16_t *)out + i, &h, sizeof h);
}
