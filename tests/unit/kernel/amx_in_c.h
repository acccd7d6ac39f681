/* The instructions of kernel/amx.h and vdpbf16ps in C, as Intel's manual gives them (Software Developer's Manual, volume 2: TDPBF16PS,
 * TDPBSSD, VDPBF16PS, LDTILECFG), so that sources that use them run on any machine: subnormal numbers are zeros before and after each
 * operation, a pair's products are added in the manual's order, and what a tile has not got is refused. */
#ifndef TESTS_AMX_IN_C_H
#define TESTS_AMX_IN_C_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/scalar.h"

#define AMX_IN_C
#define AMX_TARGET
#define TILE_CONFIG(config) in_c_config(&(config))
#define TILE_RELEASE() (in_c.on = false)
#define TILE_ZERO(t) in_c_zero(t)
#define TILE_LOAD(t, from, stride) in_c_load(t, from, stride)
#define TILE_STORE(t, to, stride) in_c_store(t, to, stride)
#define TILE_DOT(op, c, a, b) in_c_dot(in_c_##op, c, a, b)

static _Thread_local struct {
    bool on;
    int rows[8], bytes[8];
    uint32_t word[8][16][16];
} in_c;

#define in_c_demand(condition)     \
    do {                           \
        if (!(condition)) abort(); \
    } while (0)
static inline void in_c_config(const void *config) { /* the 64 bytes of the instruction's operand */
    const uint8_t *c = config;
    in_c_demand(c[0] == 1 && c[1] == 0);
    for (int i = 2; i < 64; i++) in_c_demand((i >= 16 && i < 32) || (i >= 48 && i < 56) || c[i] == 0);
    in_c.on = true;
    for (int t = 0; t < 8; t++) {
        in_c.rows[t] = c[48 + t], in_c.bytes[t] = c[16 + 2 * t] | c[17 + 2 * t] << 8;
        in_c_demand(in_c.rows[t] <= 16 && in_c.bytes[t] <= 64 && !in_c.rows[t] == !in_c.bytes[t]);
    }
    memset(in_c.word, 0, sizeof in_c.word);
}
static inline void in_c_zero(int t) {
    in_c_demand(in_c.on && in_c.rows[t]);
    memset(in_c.word[t], 0, sizeof in_c.word[t]);
}
static inline void in_c_load(int t, const void *from, int64_t stride) {
    in_c_zero(t);
    for (int r = 0; r < in_c.rows[t]; r++) memcpy(in_c.word[t][r], (const char *)from + r * stride, (size_t)in_c.bytes[t]);
}
static inline void in_c_store(int t, void *to, int64_t stride) {
    in_c_demand(in_c.on && in_c.rows[t]);
    for (int r = 0; r < in_c.rows[t]; r++) memcpy((char *)to + r * stride, in_c.word[t][r], (size_t)in_c.bytes[t]);
}

static inline float in_c_flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }
static inline float in_c_high(uint32_t pair) { /* the float whose upper half is the upper half of a word */
    float f;
    pair &= 0xffff0000u;
    memcpy(&f, &pair, 4);
    return in_c_flush(f);
}
static inline float in_c_fma(float a, float b, float c) { return in_c_flush(fmaf(a, b, in_c_flush(c))); }

/* One element of c += a b: words of a row of a, a column of b. */
static inline uint32_t in_c_tdpbf16ps(uint32_t c, const uint32_t *a, const uint32_t *b, int n) {
    float even = 0, odd = 0, sum;
    for (int k = 0; k < n; k++) {
        even = in_c_fma(in_c_high(a[k] << 16), in_c_high(b[k] << 16), even);
        odd = in_c_fma(in_c_high(a[k]), in_c_high(b[k]), odd);
    }
    memcpy(&sum, &c, 4);
    sum = in_c_flush(in_c_flush(sum) + in_c_flush(even + odd));
    memcpy(&c, &sum, 4);
    return c;
}
static inline uint32_t in_c_tdpbssd(uint32_t c, const uint32_t *a, const uint32_t *b, int n) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 32; i += 8) c += (uint32_t)((int8_t)(a[k] >> i) * (int8_t)(b[k] >> i));
    return c;
}
static inline void in_c_dot(uint32_t (*element)(uint32_t, const uint32_t *, const uint32_t *, int), int c, int a, int b) {
    int n = in_c.bytes[a] / 4;
    in_c_demand(in_c.on && in_c.rows[c] && in_c.rows[c] == in_c.rows[a] && in_c.bytes[c] == in_c.bytes[b] && in_c.rows[b] == n && n);
    in_c_demand(c != a && c != b && a != b);
    for (int j = 0; j < in_c.bytes[c] / 4; j++) {
        uint32_t column[16];
        for (int k = 0; k < n; k++) column[k] = in_c.word[b][k][j];
        for (int i = 0; i < in_c.rows[c]; i++) in_c.word[c][i][j] = element(in_c.word[c][i][j], in_c.word[a][i], column, n);
    }
}

/* vdpbf16ps: 16 words of pairs, 16 sums; the products of the upper halves first. */
typedef struct {
    uint32_t word[16];
} VP;
typedef struct {
    float sum[16];
} VS;
static inline VP load_pairs(const uint32_t *p) {
    VP v;
    memcpy(v.word, p, sizeof v.word);
    return v;
}
static inline VP set_pairs(uint32_t x) {
    VP v;
    for (int i = 0; i < 16; i++) v.word[i] = x;
    return v;
}
static inline VS dot_pairs(VS acc, VP a, VP b) {
    for (int i = 0; i < 16; i++) {
        acc.sum[i] = in_c_fma(in_c_high(a.word[i]), in_c_high(b.word[i]), acc.sum[i]);
        acc.sum[i] = in_c_fma(in_c_high(a.word[i] << 16), in_c_high(b.word[i] << 16), acc.sum[i]);
    }
    return acc;
}
static inline void stream_line(void *to, const void *from) {
    in_c_demand((uintptr_t)to % 64 == 0);
    memcpy(to, from, 64);
}
#define STREAM_END() (void)0
static inline void store_rounded(void *out, VS x, VS y) {
    for (int i = 0; i < 32; i++) {
        const uint16_t h = tc_x_cast_f32_bf16(i < 16 ? x.sum[i] : y.sum[i - 16]);
        memcpy((char *)out + 2 * i, &h, 2);
    }
}
#endif
