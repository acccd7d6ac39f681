/* Intel AMX: eight tile registers of 16 rows x 64 bytes, and the instruction wrappers that the bfloat16 and int8 products use.
 *
 *     tiles 0 1      a result of 32 x 32 words     tiles 4 5   rows of a, 16 words of k      a word of k is two bfloat16 or four int8
 *           2 3      (two rows of two tiles)       tiles 6 7   columns of b, 16 words of k
 *
 *     amx_configure(rows);                     from here on the thread owns tile state
 *     amx_clear(rows), or amx_load(...);
 *     the function that AMX_MULTIPLY defines, amx_store(...); and so on
 *     amx_release();                           ... to here: no other code may run in between
 *
 * Each instruction is an asm statement with a memory clobber, because gcc 12's intrinsics let the compiler drop stores that tile loads read. A test
 * defines AMX_IN_C and emulates the instructions in C (tests/unit/kernel/amx_in_c.h). */
#ifndef TC_KERNEL_AMX_H
#define TC_KERNEL_AMX_H

#include <stdint.h>

#include "kernel/scalar.h"

enum { AMX_ROWS = 32, AMX_COLUMNS = 32, AMX_WORDS = 16 }; /* rows and columns of a result; words of k in one step */
/* The operand of LDTILECFG, palette 1. */
typedef struct {
    uint8_t palette, start_row, zero[14];
    uint16_t bytes[16]; /* of a row, for each tile */
    uint8_t rows[16];
} amx_config;

typedef uint16_t halfword __attribute__((may_alias)); /* half of a word */

#ifndef AMX_IN_C
#define AMX_TARGET __attribute__((target("avx512bf16,amx-tile,amx-bf16,amx-int8"))) /* of functions that use tiles */
#define TILE_CONFIG(config) __asm__ volatile("ldtilecfg %0" ::"m"(config) : "memory")
#define TILE_RELEASE() __asm__ volatile("tilerelease" ::: "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::: "memory")
#define TILE_LOAD(t, from, stride) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"(stride) : "memory")
#define TILE_STORE(t, to, stride) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"(stride) : "memory")
#define TILE_DOT(op, c, a, b) __asm__ volatile(#op " %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::: "memory") /* c += a b */

/* vdpbf16ps, which the same kernels use without tiles: VP is a vector of 16 words (pairs), VS one of 16 float32 sums. */
#include <immintrin.h>
#define PAIRS_TARGET __attribute__((target("avx512bf16"))) /* of functions that use it */
typedef __m512bh VP;
typedef __m512 VS;
#define load_pairs(p) ((VP)_mm512_loadu_ps(p))
#define set_pairs(x) ((VP)_mm512_set1_epi32((int)(x)))
#define dot_pairs(acc, a, b) _mm512_dpbf16_ps(acc, a, b)
#define stream_line(to, from) _mm512_stream_si512((__m512i *)(void *)(to), _mm512_loadu_si512(from)) /* streaming store of 64 bytes */
#define STREAM_END() _mm_sfence() /* after streaming stores, before another thread may read them */
#define SUBNORMAL(x, y) (_mm512_fpclass_ps_mask(x, 0x20) | _mm512_fpclass_ps_mask(y, 0x20))
/* Stores 32 float32 as bfloat16, rounded to nearest even; subnormal numbers are kept. */
PAIRS_TARGET static inline __attribute__((always_inline)) void store_rounded(void *out, VS x, VS y) {
    const __mmask16 subnormal = SUBNORMAL(x, y);
    _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(y, x)); /* flushes subnormal numbers to zero */
    for (int i = 0; __builtin_expect(subnormal, 0) && i < 32; i++) ((halfword *)out)[i] = tc_x_cast_f32_bf16(i < 16 ? x[i] : y[i - 16]);
}
#else
#define PAIRS_TARGET
#endif

/* Configures tiles for a result of `rows` rows, 1 to 32, and steps of `words` words of k. Rows beyond 16 are in tiles 2, 3 and 5. */
AMX_TARGET static inline void amx_configure_for(int64_t rows, int64_t words) {
    amx_config c = {.palette = 1};
    uint8_t upper = (uint8_t)(rows < 16 ? rows : 16), lower = (uint8_t)(rows - upper);
    for (int t = 0; t < 8; t++) {
        c.rows[t] = t >= 6 ? (uint8_t)words : t == 2 || t == 3 || t == 5 ? lower : upper;
        c.bytes[t] = !c.rows[t] ? 0 : t == 4 || t == 5 ? (uint16_t)(4 * words) : 64;
    }
    TILE_CONFIG(c);
}
AMX_TARGET static inline void amx_configure(int64_t rows) { amx_configure_for(rows, AMX_WORDS); }
AMX_TARGET static inline void amx_release(void) { TILE_RELEASE(); }

AMX_TARGET static inline void amx_clear(int64_t rows) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (rows <= 16) return;
    TILE_ZERO(2);
    TILE_ZERO(3);
}
/* Load and store the result, `stride` bytes from row to row. */
AMX_TARGET static inline void amx_load(int64_t rows, const void *from, int64_t stride) {
    const char *p = from, *q = p + 16 * stride;
    TILE_LOAD(0, p, stride);
    TILE_LOAD(1, p + 64, stride);
    if (rows <= 16) return;
    TILE_LOAD(2, q, stride);
    TILE_LOAD(3, q + 64, stride);
}
AMX_TARGET static inline void amx_store(int64_t rows, void *to, int64_t stride) {
    char *p = to, *q = p + 16 * stride;
    TILE_STORE(0, p, stride);
    TILE_STORE(1, p + 64, stride);
    if (rows <= 16) return;
    TILE_STORE(2, q, stride);
    TILE_STORE(3, q + 64, stride);
}
/* Defines void name(rows, words, a, lda, b), which adds to the result, by instruction op, the products over `words` words of k, a multiple of 16:
 * a[row * lda + word], b[word * 32 + column], in words. */
#define AMX_MULTIPLY(name, op)                                                                                               \
    AMX_TARGET static inline void name(int64_t rows, int64_t words, const void *a_words, int64_t lda, const void *b_words) { \
        const char *a = a_words, *b = b_words;                                                                               \
        const int64_t as = 4 * lda, bs = 4 * AMX_COLUMNS;                                                                    \
        for (int64_t k = 0; k < words; k += AMX_WORDS, a += 64, b += AMX_WORDS * bs) {                                       \
            TILE_LOAD(4, a, as);                                                                                             \
            TILE_LOAD(6, b, bs);                                                                                             \
            TILE_DOT(op, 0, 4, 6);                                                                                           \
            TILE_LOAD(7, b + 64, bs);                                                                                        \
            TILE_DOT(op, 1, 4, 7);                                                                                           \
            if (rows <= 16) continue;                                                                                        \
            TILE_LOAD(5, a + 16 * as, as);                                                                                   \
            TILE_DOT(op, 2, 5, 6);                                                                                           \
            TILE_DOT(op, 3, 5, 7);                                                                                           \
        }                                                                                                                    \
    }
#endif
