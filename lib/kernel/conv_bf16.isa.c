/* Tiles of positions x channels of bfloat16 (kernel/conv_isa.h, tc_conv_pairs) by the instructions that AVX-512 processors may have for pairs: 14 x 32
 * by vdpbf16ps, 32 x 32 by AMX's tdpbf16ps. Terms are read where they lie. Both take subnormal numbers as zeros. */
#include "kernel/conv_isa.h"
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#if defined TC_ISA_avx512 || defined AMX_IN_C
#ifndef AMX_IN_C /* a test includes it before */
#include "kernel/vec_f32.h"
enum { VL = ROW_BYTES / 4 };
#endif

#include "kernel/amx.h"

#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, NAME)
enum { PANEL = AMX_COLUMNS };

/* Words at any even place. */
typedef struct {
    uint32_t pair;
} __attribute__((packed, may_alias)) pair_at;

/* ---- vdpbf16ps ---- */
#define TARGET PAIRS_TARGET
enum { DOT_ROWS = 14 };
TARGET static inline __attribute__((always_inline)) void dot_rows(const int rows, const tc_conv_pairs *j, const uint16_t *x, const uint32_t *b,
                                                                  float *sums) {
    VS u[DOT_ROWS], v[DOT_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) u[i] = v[i] = (VS){0};
    for (int64_t s = 0; s < j->nsteps; s++) {
        const pair_at *a = (const pair_at *)(x + j->step[s]);
        const int64_t apart = j->apart;
        for (int64_t p = 0; p < j->depth / 2; p++, a++, b += PANEL) {
            const VP l = load_pairs(b), h = load_pairs(b + 16);
            __builtin_prefetch(b + 12 * PANEL), __builtin_prefetch(b + 12 * PANEL + 16); /* from the second cache */
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const VP t = set_pairs(((const pair_at *)((const uint16_t *)a + i * apart))->pair);
                u[i] = dot_pairs(u[i], t, l), v[i] = dot_pairs(v[i], t, h);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) __builtin_memcpy(sums + i * PANEL, &u[i], 64), __builtin_memcpy(sums + i * PANEL + 16, &v[i], 64);
}
TARGET static void tile_dot(int64_t rows, const tc_conv_pairs *j, const uint16_t *x, const uint32_t *b, float *sums) {
    for (; rows >= 14; rows -= 14, x += 14 * j->apart, sums += 14 * PANEL) dot_rows(14, j, x, b, sums);
    for (; rows >= 4; rows -= 4, x += 4 * j->apart, sums += 4 * PANEL) dot_rows(4, j, x, b, sums);
    for (; rows >= 1; rows -= 1, x += j->apart, sums += PANEL) dot_rows(1, j, x, b, sums);
}
#define NAME dot
#define ROWS DOT_ROWS
#define begin(rows, depth) (void)(rows)
#define end() (void)0
#include "kernel/conv_bf16_run.h"
#undef NAME
#undef TARGET
#undef ROWS
#undef begin
#undef end

/* ---- tdpbf16ps ---- */
AMX_TARGET static void tile_amx(int64_t rows, const tc_conv_pairs *j, const uint16_t *x, const uint32_t *w, float *sums) {
    const int64_t as = 2 * j->apart, bs = 4 * PANEL, panel_step = j->depth / 2 * bs;
    const char *b = (const char *)w;
    amx_clear(rows);
    for (const int64_t *s = j->step, *last = s + j->nsteps; s < last; s++, b += panel_step) {
        const char *a = (const char *)(x + *s);
        TILE_LOAD(6, b, bs);
        for (int64_t i = 0; i < panel_step; i += 128) __builtin_prefetch(b + 2 * panel_step + i), __builtin_prefetch(b + 2 * panel_step + i + 64);
        TILE_LOAD(4, a, as);
        TILE_DOT(tdpbf16ps, 0, 4, 6);
        TILE_LOAD(7, b + 64, bs);
        TILE_DOT(tdpbf16ps, 1, 4, 7);
        if (rows <= 16) continue;
        TILE_LOAD(5, a + 16 * as, as);
        TILE_DOT(tdpbf16ps, 2, 5, 6);
        TILE_DOT(tdpbf16ps, 3, 5, 7);
    }
    amx_store(rows, sums, 4 * PANEL);
}
#define NAME amx
#define TARGET AMX_TARGET
#define ROWS AMX_ROWS
#define begin(rows, depth) amx_configure_for(rows, (depth) ? (depth) / 2 : 1)
#define end amx_release
#include "kernel/conv_bf16_run.h"
#endif
