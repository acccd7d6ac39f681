/* Vectorised random number generation.
 *
 * Philox4x32-10 (Salmon et al. 2011) for many counters at once; base/rng.c has it for one.
 *
 * Blocks of 16 uniforms to 16 normals in float32, with the bits of PyTorch's AVX2 code: Box-Muller with the Cephes polynomials of its 8-lane
 * logarithm, sine and cosine. Multiply-adds are written as fma exactly where its compiler fuses them, so every instruction set gives these bits.
 *
 *     x[0..7] = u1', x[8..15] = u2:  r = sqrt(-2 log(1 - u1')),  x[j] = r cos(2 pi u2) std + mean,  x[8 + j] = r sin(2 pi u2) std + mean */
#include "kernel/isa.h"
#include "kernel/isa_row.h"

#include <string.h>

static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float number(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* Natural logarithm of x > 0. */
static inline float log_cephes(float x) {
    x = x > number(0x00800000u) ? x : number(0x00800000u);
    uint32_t u = bits(x);
    float e = (float)((int32_t)(u >> 23) - 0x7f) + 1.0f;
    x = number((u & ~0x7f800000u) | 0x3f000000u);
    int below = x < 0.707106781186547524f;
    float tmp = below ? x : 0.0f;
    x = x - 1.0f;
    e = e - (below ? 1.0f : 0.0f);
    x = x + tmp;
    float z = x * x, y = 7.0376836292E-2f;
    y = fma_(y, x, -1.1514610310E-1f);
    y = fma_(y, x, 1.1676998740E-1f);
    y = fma_(y, x, -1.2420140846E-1f);
    y = fma_(y, x, 1.4249322787E-1f);
    y = fma_(y, x, -1.6668057665E-1f);
    y = fma_(y, x, 2.0000714765E-1f);
    y = fma_(y, x, -2.4999993993E-1f);
    y = fma_(y, x, 3.3333331174E-1f);
    y = y * x;
    y = fma_(y, z, e * -2.12194440e-4f);
    y = fma_(-z, 0.5f, y);
    x = x + y;
    return fma_(e, 0.693359375f, x);
}

static inline void sincos_cephes(float x, float *out_sin, float *out_cos) {
    uint32_t sign_sin = bits(x) & 0x80000000u;
    x = number(bits(x) & 0x7fffffffu);
    float y = x * 1.27323954473516f;
    int32_t j = ((int32_t)y + 1) & ~1;
    y = (float)j;
    uint32_t swap = (uint32_t)(j & 4) << 29, sign_cos = (uint32_t)(~(j - 2) & 4) << 29;
    int poly = (j & 2) == 0;
    x = fma_(y, -0.78515625f, x);
    x = fma_(y, -2.4187564849853515625e-4f, x);
    x = fma_(y, -3.77489497744594108e-8f, x);
    sign_sin ^= swap;
    float z = x * x;
    float c = 2.443315711809948E-005f;
    c = fma_(c, z, -1.388731625493765E-003f);
    c = fma_(c, z, 4.166664568298827E-002f);
    c = c * z;
    c = fma_(c, z, -(z * 0.5f));
    c = c + 1.0f;
    float s = -1.9515295891E-4f;
    s = fma_(s, z, 8.3321608736E-3f);
    s = fma_(s, z, -1.6666654611E-1f);
    s = s * z;
    s = fma_(s, x, x);
    *out_sin = number(bits(poly ? s : c) ^ sign_sin);
    *out_cos = number(bits(poly ? c : s) ^ sign_cos);
}

/* out[i] = uniform number of word w[i], scaled to [lo, lo + width). */
extern void TC_ROW(tc_uniform_f32)(float *out, const uint32_t *w, int64_t n, float lo, float width);
void TC_ROW(tc_uniform_f32)(float *out, const uint32_t *w, int64_t n, float lo, float width) {
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] = fma_((float)(int32_t)(w[i] & 0xffffffu) * 0x1p-24f, width, lo);
}

extern void TC_ROW(tc_normal_f32)(float *x, int64_t blocks, float mean, float std);
void TC_ROW(tc_normal_f32)(float *x, int64_t blocks, float mean, float std) {
    for (int64_t b = 0; b < blocks; b++, x += 16) {
        float a[8], d[8];
        for (int j = 0; j < 8; j++) {
            float s, c, radius = __builtin_sqrtf(-2.0f * log_cephes(1.0f - x[j]));
            sincos_cephes(6.28318530717958647692f * x[8 + j], &s, &c);
            a[j] = fma_(radius * c, std, mean);
            d[j] = fma_(radius * s, std, mean);
        }
        memcpy(x, a, sizeof a);
        memcpy(x + 8, d, sizeof d);
    }
}

/* out[4 j + k]: word k of the block with counter first + j (upper half hi). */
extern void TC_ROW(tc_philox_words)(uint32_t *out, uint64_t key, uint64_t first, uint64_t hi, int64_t blocks);
void TC_ROW(tc_philox_words)(uint32_t *out, uint64_t key, uint64_t first, uint64_t hi, int64_t blocks) {
    enum { AT_ONCE = 16 };
    for (int64_t b = 0; b < blocks; b += AT_ONCE) {
        uint32_t c0[AT_ONCE], c1[AT_ONCE], c2[AT_ONCE], c3[AT_ONCE], k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        int n = blocks - b < AT_ONCE ? (int)(blocks - b) : AT_ONCE;
        for (int i = 0; i < AT_ONCE; i++) {
            uint64_t at = first + (uint64_t)(b + i);
            c0[i] = (uint32_t)at, c1[i] = (uint32_t)(at >> 32), c2[i] = (uint32_t)hi, c3[i] = (uint32_t)(hi >> 32);
        }
        for (int r = 0; r < 10; r++) {
            TC_VECTOR_LOOP
            for (int i = 0; i < AT_ONCE; i++) {
                uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
                uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
                c1[i] = (uint32_t)p1, c3[i] = (uint32_t)p0, c0[i] = n0, c2[i] = n2;
            }
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        for (int i = 0; i < n; i++) {
            uint32_t *w = out + 4 * (b + i);
            w[0] = c0[i], w[1] = c1[i], w[2] = c2[i], w[3] = c3[i];
        }
    }
}
