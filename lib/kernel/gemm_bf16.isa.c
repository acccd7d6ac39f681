/* Products of bfloat16 with float32 sums, by the dot product instructions that AVX-512 processors may have (kernel/isa.c chooses): register tiles of
 * 14 x 32 by vdpbf16ps, 32 x 32 by AMX's tdpbf16ps. CPUs without them convert to float32 first (matmul.c).
 *
 * Both instructions take subnormal inputs as zero. A sum is one chain over k in the instruction's order: vdpbf16ps adds each pair of k, the higher one
 * first; tdpbf16ps takes 32 k a step and sums even and odd k apart.
 *
 *     packed b   [panel][step][2][16 pairs][16 columns] words: a word is two consecutive k of a column, the lower one in the low half; a step is 32 k of
 *                a panel's 32 columns, in two halves of 16 columns, 1 KiB each, as AMX loads them; missing k and columns are zeros */
#include "base/ints.h"
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/scalar.h"

#if defined TC_ISA_avx512 || defined AMX_IN_C
#include "kernel/vec_f32.h"

#include "kernel/amx.h"
#include "kernel/amx_plain.h"

enum { NR = AMX_COLUMNS, VL = ROW_BYTES / 4 };             /* columns of a panel; floats of a vector */
enum { STEP = 2 * AMX_WORDS, STEP_BYTES = STEP * NR * 2 }; /* k of a step; bytes of a panel's step */
enum { PIECE_STEPS = 8 };                                  /* steps of a panel that stay in L1 while a few row tiles use them in turn */
enum { SHORT_STEPS = 16 };                                 /* up to so many steps, the rows of a of one tile stay in L1 */
enum { PREFETCH_STEPS = 2 };                               /* how far ahead the only tile of a product prefetches its panel */
enum { STREAM_L2S = 4 };                                   /* a result larger than so many L2 caches is written with streaming stores */
enum { FEW_COLUMNS = 1024, FEW_STEPS = 4 };                /* columns and steps packed at a time where a has at most one tile of rows (few_rows) */
enum { A_MOST = 1 << 20, B_MOST = 768 << 10 };             /* bytes in L2: of copied rows of a; of panels, while all rows use them */

static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t steps_of(int64_t k) { return (k + STEP - 1) / STEP; }
/* Bytes from row to row of the copies of a: an odd number of lines, so that rows lie in different sets of L1. */
static inline int64_t row_bytes_of(int64_t k) { return (steps_of(k) | 1) * 2 * STEP; }

/* Some steps of k for one tile. */
typedef struct {
    int64_t steps;
    const char *a;
    int64_t row_bytes; /* from row to row of a */
    const char *b;     /* the panel, from the first of these steps on */
    const char *next;  /* prefetched during the run: `lines` cache lines a step, `gap` bytes from one to the next */
    int lines, gap;
    bool more; /* add to the sums; false: they begin at 0 */
    float *c;  /* where finished sums go directly, rows c_row_bytes apart; NULL: they stay in the sums */
    int64_t c_row_bytes;
} tile_run;

/* ---- panels ---- */
static size_t pack_bytes(int64_t nc, int64_t k) { return (size_t)(padded(nc) / NR * steps_of(k) * STEP_BYTES); }
/* Packs 16 pairs of 16 columns whose k are contiguous, ld elements from column to column. */
static inline void transpose_pairs(uint32_t *out, const uint16_t *b, int64_t ld) {
#if defined TC_ISA_avx512
    const float *column[VL];
    for (int c = 0; c < VL; c++) column[c] = (const float *)(const void *)(b + c * ld);
    transpose_square((float *)out, 16, column, 0);
#else
    for (int c = 0; c < 16; c++)
        for (int p = 0; p < 16; p++) __builtin_memcpy(out + p * 16 + c, b + c * ld + 2 * p, 4);
#endif
}
/* Packs step s of w <= NR columns from c0 on. */
static void pack_step(const tc_gemm *j, int64_t s, int64_t c0, int64_t w, uint32_t *out) {
    for (int h = 0; h < 2; h++, out += 256) {
        const uint16_t *b = (const uint16_t *)j->b + s * STEP * j->b_rs + (c0 + 16 * h) * j->b_cs;
        const int64_t n = tc_min(STEP, j->k - s * STEP), cols = w - 16 * h;
        if (n == STEP && cols >= 16 && j->b_rs == 1) transpose_pairs(out, b, j->b_cs);
        else if (n == STEP && cols >= 16 && j->b_cs == 1)
            for (int p = 0; p < 16; p++)
                for (int c = 0; c < 16; c++) out[16 * p + c] = b[2 * p * j->b_rs + c] | (uint32_t)b[(2 * p + 1) * j->b_rs + c] << 16;
        else
            for (int i = 0; i < 256; i++) {
                const uint16_t *x = b + i / 16 * 2 * j->b_rs + i % 16 * j->b_cs;
                const uint32_t low = i % 16 < cols && i / 16 * 2 < n ? x[0] : 0, high = i % 16 < cols && i / 16 * 2 + 1 < n ? x[j->b_rs] : 0;
                out[i] = low | high << 16;
            }
    }
}
/* Packs n steps from `first` on, for columns [c0, c0 + nc): out is [panel][n steps]. Where the columns of b are contiguous it goes step by step rather
 * than panel by panel, so that rows of b are read in long runs. */
static __attribute__((noinline)) void pack_steps(const tc_gemm *j, int64_t first, int64_t n, int64_t c0, int64_t nc, void *out) {
    const int64_t panels = padded(nc) / NR;
    const bool by_steps = j->b_cs == 1;
    for (int64_t i = 0; i < n * panels; i++) {
        const int64_t s = by_steps ? i / panels : i % n, c = (by_steps ? i % panels : i / n) * NR;
        pack_step(j, first + s, c0 + c, tc_min(NR, nc - c), (uint32_t *)out + (c / NR * n + s) * (STEP_BYTES / 4));
    }
}
static void pack(const tc_gemm *j, int64_t c0, int64_t nc, void *out) { pack_steps(j, 0, steps_of(j->k), c0, nc, out); }

/* A tile whose sums are complete but not stored: rows [at, rows) of its w columns wait. Storing is spread over the steps of the tile after it, which
 * hides it behind the dot products. */
typedef struct {
    const tc_gemm *j;
    const float *sums;
    char *out;       /* c at row 0 */
    const char *add; /* the addend at row 0; NULL: all rows add more[], or nothing is added */
    int64_t at, rows, w;
    bool adds;
    float more[NR];
    const uint16_t *residual; /* the plain epilogue's `more` at row 0; NULL: none */
    half_plain plain;
    char *line_buffer; /* for streaming stores, 128 bytes a row: the bytes of the previous panel, then this one's; NULL: ordinary stores */
    bool first, last;  /* first and last panel of a row that is streamed */
    bool simple;       /* whole rows of bfloat16; all that is added to the sums before the plain epilogue is more[] */
    float scale[NR], shift[NR];
} pending_tile;
/* The plain part of the epilogue where tiles apply it; NULL: there is none, or the caller's function does it. */
static inline const tc_epilogue_plain *plain_of(const tc_gemm *j) {
    return j->epilogue && j->rounded && !j->swapped && j->c_cs == 1 ? j->epilogue->plain : NULL;
}
static inline void begin_plain(pending_tile *t, const tc_gemm *j, const tc_epilogue_plain *p, int64_t r, int64_t c, int64_t w) {
    t->plain = (half_plain){.table = p->table, .low = (float)p->low, .high = (float)p->high};
    t->residual = p->more ? (const uint16_t *)p->more + (j->row0 + r) * j->n + c : NULL;
    if (!p->scale) return;
    __builtin_memcpy(t->scale, (const float *)p->scale + c, (size_t)w * 4), __builtin_memcpy(t->shift, (const float *)p->shift + c, (size_t)w * 4);
    t->plain.scale = t->scale, t->plain.shift = t->shift;
}
/* w addends of the job as float32, to more. */
static inline void take_addends(const tc_gemm *j, const char *add, int64_t w, float *more) {
    const int64_t step = j->add_cs * (j->rounded ? 2 : 4);
    if (j->add_cs == 1 && !j->rounded) __builtin_memcpy(more, add, (size_t)w * 4);
    else if (j->add_cs == 1 && w == NR)
        for (int q = 0; q < NR; q++) more[q] = tc_x_cast_bf16_f32(((const halfword *)add)[q]);
    else
        for (int64_t q = 0; q < w; q++, add += step) {
            if (j->rounded) more[q] = tc_x_cast_bf16_f32(*(const halfword *)add);
            else __builtin_memcpy(more + q, add, 4);
        }
}
static inline void set_pending(pending_tile *t, const tc_gemm *j, int64_t r, int64_t rows, int64_t c, int64_t w, const float *sums) {
    const int64_t e = j->rounded ? 2 : 4;
    if (plain_of(j)) begin_plain(t, j, plain_of(j), r, c, w);
    t->j = j, t->sums = sums, t->out = (char *)j->c + (r * j->c_rs + c * j->c_cs) * e, t->at = 0, t->rows = rows, t->w = w;
    t->adds = j->beta != 0 && j->add, t->add = NULL, t->line_buffer = NULL;
    t->simple = j->rounded && w == NR && j->c_cs == 1 && j->alpha == 1 && !t->residual && (!t->adds || (j->beta == 1 && !j->add_rs));
    for (int q = 0; t->simple && q < NR; q++) t->more[q] = -0.0f; /* changes no sum */
    if (!t->adds) return;
    t->add = (const char *)j->add + (r * j->add_rs + c * j->add_cs) * e;
    if (!j->add_rs) take_addends(j, t->add, w, t->more), t->add = NULL;
}
/* Streaming stores? Where results are larger than the caches and nothing reads them again. */
static inline bool streams(const tc_gemm *j) {
    const bool finished = !j->epilogue || (plain_of(j) && !j->epilogue->rest);
    return j->rounded && j->c_cs == 1 && finished && j->l2_bytes && j->m * j->n * 2 > STREAM_L2S * j->l2_bytes;
}
/* Writes a row of a tile, which lies at line_buffer + 64, with a streaming store. Where rows of c are not aligned to cache lines, a line takes its
 * first bytes from the previous panel. */
static inline void stream_row(const pending_tile *t, char *out, char *line_buffer) {
    const size_t pending = (uintptr_t)out % 64;
    if (t->first && pending) __builtin_memcpy(out, line_buffer + 64, 64 - pending);
    else stream_line(out - pending, line_buffer + 64 - pending);
    if (t->last) __builtin_memcpy(out + 64 - pending, line_buffer + 128 - pending, pending);
    __builtin_memcpy(line_buffer, line_buffer + 64, 64);
}
/* Stores the next n rows of a tile. The sums of row r, columns [16 h, 16 h + 16), are at sums + r * lane + r / 16 * skip + h * half: the two
 * instructions lay out their sums differently. */
PAIRS_TARGET static inline __attribute__((always_inline)) void store_any(pending_tile *t, int64_t n, int64_t lane, int64_t skip, int64_t half) {
    const tc_gemm *j = t->j;
    const float alpha = (float)j->alpha, beta = (float)j->beta;
    const int64_t e = j->rounded ? 2 : 4;
    const bool whole = t->w == NR && j->c_cs == 1, follows = plain_of(j) != NULL;
    uint16_t some[NR];
    for (; n > 0 && t->at < t->rows; n--, t->at++) {
        const float *sums = t->sums + t->at * lane + t->at / 16 * skip;
        char *out = t->out + t->at * j->c_rs * e, line[NR * 4], *line_buffer = whole && t->line_buffer ? t->line_buffer + t->at * 128 : NULL;
        char *const to = line_buffer ? line_buffer + 64 : whole ? out : line;
        VF x, y;
        VS sum[2] = {0};
        if (t->add) take_addends(j, t->add + t->at * j->add_rs * e, t->w, t->more);
#pragma GCC unroll 16
        for (int i = 0; i < NR / VL; i++) {
            __builtin_memcpy(&x, sums + i * VL % 16 + i * VL / 16 * half, sizeof x);
            if (alpha != 1) x *= vset1(alpha);
            if (t->adds) {
                __builtin_memcpy(&y, t->more + i * VL, sizeof y);
                x = beta != 1 ? vfma(vset1(beta), y, x) : x + y;
            }
            if (!j->rounded) __builtin_memcpy(to + i * VL * 4, &x, sizeof x);
            else __builtin_memcpy((char *)&sum[i * VL / 16] + i * VL % 16 * 4, &x, sizeof x);
        }
        if (follows && t->residual) {
            const uint16_t *residual = t->residual + t->at * j->n;
            if (!whole) __builtin_memcpy(some, residual, (size_t)t->w * 2);
            t->plain.more = whole ? residual : some;
        }
        if (follows) store_plain(to, sum[0], sum[1], &t->plain);
        else if (j->rounded) store_rounded(to, sum[0], sum[1]);
        if (line_buffer) stream_row(t, out, line_buffer);
        for (int64_t q = 0; !whole && q < t->w; q++) __builtin_memcpy(out + q * j->c_cs * e, line + q * e, (size_t)e);
    }
}
/* The same for a simple tile. */
PAIRS_TARGET static inline __attribute__((always_inline)) void store_simple(pending_tile *t, int64_t n, int64_t lane, int64_t skip, int64_t half) {
    const half_plain plain = t->plain;
    const bool follows = plain_of(t->j) != NULL;
    const int64_t at = t->at, end = tc_min(at + n, t->rows), step = t->j->c_rs * 2;
    const float *const all = t->sums;
    char *out = t->out + at * step;
    VF more[NR / VL], x;
    VS sum[2] = {0};
    __builtin_memcpy(more, t->more, sizeof more);
    t->at = end;
    for (int64_t r = at; r < end; r++, out += step) {
        const float *const sums = all + r * lane + r / 16 * skip;
#pragma GCC unroll 16
        for (int i = 0; i < NR / VL; i++) {
            __builtin_memcpy(&x, sums + i * VL % 16 + i * VL / 16 * half, sizeof x);
            x += more[i];
            __builtin_memcpy((char *)&sum[i * VL / 16] + i * VL % 16 * 4, &x, sizeof x);
        }
        if (follows) store_plain(out, sum[0], sum[1], &plain);
        else store_rounded(out, sum[0], sum[1]);
    }
}
PAIRS_TARGET static inline __attribute__((always_inline)) void store_rows(pending_tile *t, int64_t n, int64_t lane, int64_t skip, int64_t half) {
    if (t->simple && !t->line_buffer) store_simple(t, n, lane, skip, half);
    else store_any(t, n, lane, skip, half);
}

/* ---- vdpbf16ps ---- */
#define TARGET PAIRS_TARGET
TARGET static inline __attribute__((always_inline)) void run_dots(const int rows, const tile_run *run, const char *a, float *sums) {
    const uint32_t *b = (const uint32_t *)(const void *)run->b;
    const int64_t row_bytes = run->row_bytes;
    VS x[14], y[14];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        x[i] = y[i] = (VS){0};
        if (run->more) __builtin_memcpy(&x[i], sums + i * NR, 64), __builtin_memcpy(&y[i], sums + i * NR + 16, 64);
    }
    for (int64_t s = 0; s < run->steps; s++, b += 256)
        for (int p = 0; p < 16; p++, a += 4, b += 16) {
            const VP u = load_pairs(b), v = load_pairs(b + 256);
            __builtin_prefetch(b + 1024), __builtin_prefetch(b + 1280); /* b comes from L2 */
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                uint32_t pair;
                __builtin_memcpy(&pair, a + i * row_bytes, 4);
                const VP w = set_pairs(pair);
                x[i] = dot_pairs(x[i], w, u), y[i] = dot_pairs(y[i], w, v);
            }
        }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) __builtin_memcpy(sums + i * NR, &x[i], 64), __builtin_memcpy(sums + i * NR + 16, &y[i], 64);
}
PAIRS_TARGET static void store_dot(pending_tile *t, int64_t n) { store_rows(t, n, NR, 0, 16); }
TARGET static void dots(int64_t rows, tile_run run, float *sums, pending_tile *pending) {
    const char *a = run.a;
    store_dot(pending, pending->rows);
    for (; rows >= 14; rows -= 14, a += 14 * run.row_bytes, sums += 14 * NR) run_dots(14, &run, a, sums);
    for (; rows >= 4; rows -= 4, a += 4 * run.row_bytes, sums += 4 * NR) run_dots(4, &run, a, sums);
    for (; rows >= 1; rows -= 1, a += run.row_bytes, sums += NR) run_dots(1, &run, a, sums);
}
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, NAME)
#define NAME dot
#define TILE_ROWS 14
#define row_multiple(nr) 1
#define begin(nr) (void)(nr)
#define end() (void)0
#define multiply dots
#define store store_dot
#define direct(j, r, c, rows, w) NULL
#include "kernel/gemm_bf16_tile.h"
#undef NAME
#undef TARGET
#undef TILE_ROWS
#undef row_multiple
#undef begin
#undef end
#undef multiply
#undef store
#undef direct

/* ---- tdpbf16ps ---- */
/* The four AMX tiles of a tile's sums lie one after the other in memory. */
PAIRS_TARGET static __attribute__((noinline)) void store_amx(pending_tile *t, int64_t n) { store_rows(t, n, 16, 256, 256); }
/* Prefetches a few cache lines. Only a few at a time: tile loads queue behind prefetches. */
static inline const char *prefetch_lines(const char *at, int lines, int gap) {
    for (; lines > 0; lines--, at += gap) __builtin_prefetch(at, 0, 2);
    return at;
}
AMX_TARGET static inline void amx_multiply(int64_t rows, tile_run run, float *sums, pending_tile *pending) {
    const int64_t line = 64, row_bytes = run.row_bytes, each = tc_max((pending->rows - pending->at + run.steps - 1) / (run.steps ? run.steps : 1), 4);
    const bool both = rows > 16;
    float *const rest = sums + 512;
    if (!run.more) amx_clear(rows);
    else {
        TILE_LOAD(0, sums, line);
        TILE_LOAD(1, sums + 256, line);
        if (both) {
            TILE_LOAD(2, rest, line);
            TILE_LOAD(3, rest + 256, line);
        }
    }
    for (const char *end = run.b + run.steps * STEP_BYTES; run.b < end; run.a += 64, run.b += STEP_BYTES) {
        run.next = prefetch_lines(run.next, run.lines / 4, run.gap);
        TILE_LOAD(4, run.a, row_bytes);
        TILE_LOAD(6, run.b, line);
        TILE_DOT(tdpbf16ps, 0, 4, 6);
        run.next = prefetch_lines(run.next, (run.lines + 1) / 4, run.gap);
        TILE_LOAD(7, run.b + 1024, line);
        TILE_DOT(tdpbf16ps, 1, 4, 7);
        run.next = prefetch_lines(run.next, (run.lines + 2) / 4, run.gap);
        if (both) {
            TILE_LOAD(5, run.a + 16 * row_bytes, row_bytes);
            TILE_DOT(tdpbf16ps, 2, 5, 6);
            TILE_DOT(tdpbf16ps, 3, 5, 7);
        }
        run.next = prefetch_lines(run.next, (run.lines + 3) / 4, run.gap);
        if (pending->at < pending->rows) store_amx(pending, each);
    }
    store_amx(pending, pending->rows);
    if (run.c) {
        amx_store(rows, run.c, run.c_row_bytes);
        return;
    }
    TILE_STORE(0, sums, line);
    TILE_STORE(1, sums + 256, line);
    if (!both) return;
    TILE_STORE(2, rest, line);
    TILE_STORE(3, rest + 256, line);
}
/* Where the tile at (r, c) may be stored to c directly, as float32, in all rows that AMX is configured for; NULL: it may not. */
static inline float *direct_c(const tc_gemm *j, int64_t r, int64_t c, int64_t rows, int64_t w) {
    const bool plain = !j->rounded && j->alpha == 1 && (j->beta == 0 || !j->add) && j->c_cs == 1;
    return plain && w == NR && rows % 16 == 0 ? (float *)j->c + r * j->c_rs + c : NULL;
}
#define NAME amx
#define TARGET AMX_TARGET
#define TILE_ROWS AMX_ROWS
#define row_multiple(nr) ((nr) < 16 ? (nr) : 16)
#define begin(nr) amx_configure((nr) < 16 ? (nr) : AMX_ROWS)
#define end amx_release
#define multiply amx_multiply
#define store store_amx
#define direct direct_c
#include "kernel/gemm_bf16_tile.h"
#endif
