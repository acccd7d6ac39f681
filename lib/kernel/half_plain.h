/* tc_epilogue_plain of bfloat16 on vectors (tc_half_rows in kernel/isa.h): each sum rounded to the type. Included after vec_f32.h. */

typedef uint32_t VU __attribute__((vector_size(ROW_BYTES)));
typedef uint16_t VH __attribute__((vector_size(ROW_BYTES / 2)));

/* The parts of it that begin at some results. */
typedef struct {
    const float *scale, *shift; /* NULL: none */
    const void *more;           /* NULL: none */
    float low, high;
} half_plain;

/* To nearest even, as float32. */
static inline VF rounded(VF x) {
    const VU u = (VU)x, nan = (VU)(x != x), r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    return (VF)((r & ~nan) | (0x7fc00000 & nan));
}
/* On a vector of values of bfloat16. */
static inline __attribute__((always_inline)) void half_vector(void *out, VF v, const void *more, const float *scale, const float *shift, float low,
                                                              float high) {
    VF a, b;
    if (scale) {
        __builtin_memcpy(&a, scale, sizeof a);
        __builtin_memcpy(&b, shift, sizeof b);
        v = rounded(vfma(v, a, b));
    }
    if (more) v = rounded(v + vload_bf16(more));
    v = vmin(vmax(v, vset1(low)), vset1(high));
    const VH h = __builtin_convertvector((VU)rounded(v) >> 16, VH);
    __builtin_memcpy(out, &h, sizeof h);
}
