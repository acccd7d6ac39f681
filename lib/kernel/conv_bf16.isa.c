/* Register tiles of positions x channels for bfloat16 convolutions (tc_conv_pairs, kernel/conv_isa.h) by the dot product instructions that AVX-512
 * processors may have: 14 x 32 by vdpbf16ps, 32 x 32 by AMX's tdpbf16ps. Terms are read in place. Both take subnormal inputs as zero. */
#include "kernel/conv_isa.h"
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#if defined TC_ISA_avx512 || defined AMX_IN_C
#ifndef AMX_IN_C /* the test that defines it has included these */
#include "kernel/vec_f32.h"
enum { VL = ROW_BYTES / 4 };
#endif

#include "kernel/amx.h"
#ifndef AMX_IN_C
#include "kernel/amx_plain.h"
#endif

#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, NAME)
enum { PANEL = AMX_COLUMNS };

/* A word with the alignment of a halfword or less. */
typedef struct {
    uint32_t pair;
} __attribute__((packed, may_alias)) pair_at;

/* A tile whose sums are complete but not stored: rows [at, rows) of its w channels wait. `position` is that of row `at` within its line of `line`
 * positions. */
typedef struct {
    const tc_conv_pairs *j;
    int64_t line;
    const float *sums;
    char *out; /* results of position 0 of the line */
    int64_t at, rows, w, position;
    float bias[PANEL], scale[PANEL], shift[PANEL];
    half_plain plain;
} pending_positions;
static void set_pending_positions(pending_positions *t, int64_t r, int64_t rows, int64_t c, const float *sums) {
    const tc_conv_pairs *j = t->j;
    const tc_epilogue_plain *plain = j->plain;
    const int64_t line = r / t->line;
    t->sums = sums, t->at = 0, t->rows = rows, t->position = r - line * t->line;
    t->out = (char *)j->out + (line * j->next + c * j->ld) * (j->f32_results ? 4 : 2);
    t->w = j->cols - c < PANEL ? j->cols - c : PANEL;
    if (j->bias && j->f32_results) __builtin_memcpy(t->bias, (const float *)j->bias + c, (size_t)t->w * 4);
    else
        for (int64_t q = 0; j->bias && q < t->w; q++) t->bias[q] = tc_x_cast_bf16_f32(((const uint16_t *)j->bias)[c + q]);
    if (!plain) return;
    t->plain = (half_plain){.table = plain->table, .low = (float)plain->low, .high = (float)plain->high};
    if (!plain->scale) return;
    __builtin_memcpy(t->scale, (const float *)plain->scale + c, (size_t)t->w * 4);
    __builtin_memcpy(t->shift, (const float *)plain->shift + c, (size_t)t->w * 4);
    t->plain.scale = t->scale, t->plain.shift = t->shift;
}
/* Stores the next n rows of a tile. The sums of row r, channels [16 h, 16 h + 16), are at sums + r * lane + r / 16 * skip + h * half. */
PAIRS_TARGET static inline __attribute__((always_inline)) void store_positions(pending_positions *t, int64_t n, int64_t lane, int64_t skip,
                                                                               int64_t half) {
    const tc_conv_pairs *j = t->j;
    const halfword *more = j->plain ? j->plain->more : NULL;
    const bool whole = j->ld == 1 && t->w == PANEL;
    const int64_t e = j->f32_results ? 4 : 2;
    halfword rounded[PANEL], some[PANEL];
    for (; n > 0 && t->at < t->rows; n--, t->at++, t->position++) {
        if (t->position == t->line) t->position = 0, t->out += j->next * e;
        if (t->position >= j->wide) continue;
        const float *sums = t->sums + t->at * lane + t->at / 16 * skip;
        char *const at = t->out + t->position * j->out_step * e;
        uint16_t *to = (uint16_t *)(void *)at;
        void *store = whole ? (void *)to : rounded;
        VS sum[2];
        for (int h = 0; h < 2; h++)
            for (int q = 0; q < 16; q += VL) {
                VF x, y;
                __builtin_memcpy(&x, sums + h * half + q, sizeof x);
                __builtin_memcpy(&y, t->bias + 16 * h + q, sizeof y);
                if (j->bias) x += y;
                __builtin_memcpy((char *)&sum[h] + q * 4, &x, sizeof x);
            }
        if (j->f32_results) {
            for (int64_t q = 0; q < t->w; q++) __builtin_memcpy(at + q * j->ld * 4, (const char *)sum + q * 4, 4);
            continue;
        }
        if (!j->plain) store_rounded(store, sum[0], sum[1]);
        else {
            if (more) t->plain.more = whole ? more + (to - (uint16_t *)j->out) : some;
            for (int64_t q = 0; more && !whole && q < t->w; q++) some[q] = more[to - (uint16_t *)j->out + q * j->ld];
            store_plain(store, sum[0], sum[1], &t->plain);
        }
        for (int64_t q = 0; !whole && q < t->w; q++) to[q * j->ld] = rounded[q];
    }
}

/* ---- vdpbf16ps ---- */
#define TARGET PAIRS_TARGET
enum { DOT_ROWS = 14 };
/* Row i reads its terms at x + at[i] bytes: rows are results only, wherever their lines end. */
TARGET static inline __attribute__((always_inline)) void dot_rows(const int rows, const tc_conv_pairs *j, const int64_t *at, const uint32_t *b,
                                                                  float *sums) {
    VS u[DOT_ROWS], v[DOT_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) u[i] = v[i] = (VS){0};
    for (int64_t s = 0; s < j->nsteps; s++) {
        const char *x = (const char *)(j->x + j->step[s]);
        for (int64_t p = 0; p < j->depth / 2; p++, x += 4, b += PANEL) {
            const VP l = load_pairs(b), h = load_pairs(b + 16);
            __builtin_prefetch(b + 12 * PANEL), __builtin_prefetch(b + 12 * PANEL + 16); /* weights come from L2 */
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const VP t = set_pairs(((const pair_at *)(x + at[i]))->pair);
                u[i] = dot_pairs(u[i], t, l), v[i] = dot_pairs(v[i], t, h);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) __builtin_memcpy(sums + i * PANEL, &u[i], 64), __builtin_memcpy(sums + i * PANEL + 16, &v[i], 64);
}
PAIRS_TARGET static void conv_store_dot(pending_positions *t, int64_t n) { store_positions(t, n, PANEL, 0, 16); }
/* An odd number of rows computes its last one twice. */
TARGET static void place_dot(const tc_conv_pairs *j, int64_t r, int64_t rows, int64_t *at) {
    int64_t line = r / j->wide, position = r - line * j->wide;
    for (int64_t i = 0; i < rows; i++, position++) {
        if (position == j->wide) position = 0, line++;
        at[i] = 2 * (line * j->line + position) * j->x_step;
    }
    if (rows % 2) at[rows] = at[rows - 1];
}
TARGET static void tile_dot(int64_t rows, const tc_conv_pairs *j, const int64_t *at, const uint32_t *b, float *sums, pending_positions *pending) {
    conv_store_dot(pending, pending->rows);
    switch ((rows + 1) / 2) {
    case 7: dot_rows(14, j, at, b, sums); break;
    case 6: dot_rows(12, j, at, b, sums); break;
    case 5: dot_rows(10, j, at, b, sums); break;
    case 4: dot_rows(8, j, at, b, sums); break;
    case 3: dot_rows(6, j, at, b, sums); break;
    case 2: dot_rows(4, j, at, b, sums); break;
    default: dot_rows(2, j, at, b, sums);
    }
}
#define NAME dot
#define ROWS DOT_ROWS
#define RESULTS_ONLY 1
#define begin(rows, depth) (void)(rows)
#define end() (void)0
#include "kernel/conv_bf16_run.h"
#undef NAME
#undef TARGET
#undef ROWS
#undef RESULTS_ONLY
#undef begin
#undef end

/* ---- tdpbf16ps ---- */
/* The four AMX tiles of a tile's sums lie one after the other in memory. The pending tile is stored between the steps of this one. */
PAIRS_TARGET static __attribute__((noinline)) void conv_store_amx(pending_positions *t, int64_t n) { store_positions(t, n, 16, 256, 256); }
/* Rows lie at a constant distance, as tile loads want them: positions between two lines are among them. */
AMX_TARGET static void place_amx(const tc_conv_pairs *j, int64_t r, int64_t rows, int64_t *at) {
    (void)rows;
    at[0] = r * j->x_step;
}
AMX_TARGET static void tile_amx(int64_t rows, const tc_conv_pairs *j, const int64_t *at, const uint32_t *w, float *sums, pending_positions *pending) {
    const int64_t as = 2 * j->x_step, bs = 4 * PANEL, panel_step = j->depth / 2 * bs, line = 64;
    const int64_t due = (pending->rows + j->nsteps - 1) / (j->nsteps ? j->nsteps : 1), each = due > 4 ? due : 4;
    const char *b = (const char *)w;
    amx_clear(rows);
    for (const int64_t *s = j->step, *last = s + j->nsteps; s < last; s++, b += panel_step) {
        const char *a = (const char *)(j->x + at[0] + *s);
        TILE_LOAD(6, b, bs);
        for (int64_t i = 0; i < panel_step; i += 128) __builtin_prefetch(b + 2 * panel_step + i), __builtin_prefetch(b + 2 * panel_step + i + 64);
        TILE_LOAD(4, a, as);
        TILE_DOT(tdpbf16ps, 0, 4, 6);
        TILE_LOAD(7, b + 64, bs);
        TILE_DOT(tdpbf16ps, 1, 4, 7);
        if (rows > 16) {
            TILE_LOAD(5, a + 16 * as, as);
            TILE_DOT(tdpbf16ps, 2, 5, 6);
            TILE_DOT(tdpbf16ps, 3, 5, 7);
        }
        if (pending->at < pending->rows) conv_store_amx(pending, each);
    }
    conv_store_amx(pending, pending->rows);
    TILE_STORE(0, sums, line);
    TILE_STORE(1, sums + 256, line);
    if (rows <= 16) return;
    TILE_STORE(2, sums + 512, line);
    TILE_STORE(3, sums + 768, line);
}
#define NAME amx
#define TARGET AMX_TARGET
#define ROWS AMX_ROWS
#define RESULTS_ONLY 0
#define begin(rows, depth) amx_configure_for(rows, (depth) ? (depth) / 2 : 1)
#define end amx_release
#include "kernel/conv_bf16_run.h"
#endif
