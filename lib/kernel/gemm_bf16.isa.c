/* Products of bfloat16 in float32 by the instructions that AVX-512 processors may have for them (kernel/isa.c chooses): tiles of 14 x 32 by
 * vdpbf16ps, of 32 x 32 by AMX's tdpbf16ps. Both take subnormal numbers as zeros; the order of a leaf's sum is the instruction's: a pair's
 * products in turn (vdpbf16ps: the higher k first), or of 32 k the even and the odd ones apart (tdpbf16ps). Other rows compute in float32.
 *
 * Checked under an emulator (Bochs), bit for bit against the instructions written in C (tests/unit/kernel/amx_in_c.h); not timed on a processor that
 * has them. */
#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/scalar.h"

#if defined TC_ISA_avx512 || defined AMX_IN_C
#include "kernel/vec_f32.h"

#include "kernel/amx.h"
#include "kernel/gemm_finish.h"

typedef uint16_t halfword __attribute__((may_alias));       /* of a word */
enum { NR = AMX_COLUMNS, VL = ROW_BYTES / 4 };              /* columns of a panel; floats of a vector */
enum { PAIRS = TC_LEAF / 2, LDA = PAIRS + 16 /* words */ }; /* of a leaf; from row to row */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t leaves_of(int64_t k) { return (k + TC_LEAF - 1) / TC_LEAF; }
/* Partial sums that wait at most: bits of the last leaf's index. */
static inline int64_t depth_of(int64_t k) {
    int64_t n = 0;
    for (int64_t l = leaves_of(k) - 1; l > 0; l /= 2) n++;
    return n;
}
/* out[p * NR + c] = pair p of column c, the columns ld apart: as many of each as a vector has lanes. */
static inline void turn(uint32_t *out, const uint16_t *b, int64_t ld) {
#if defined TC_ISA_avx512
    const float *column[VL];
    for (int c = 0; c < VL; c++) column[c] = (const float *)(const void *)(b + c * ld);
    square((float *)out, NR, column, 0);
#else
    for (int c = 0; c < VL; c++)
        for (int p = 0; p < VL; p++) __builtin_memcpy(out + p * NR + c, b + c * ld + 2 * p, 4);
#endif
}

/* Pairs [from, from + n) of a leaf. */
typedef struct {
    int64_t from, n;
} pairs_run;

/* A leaf of a block of nr rows. Partial sums, `area` floats each, are tiles one after the other, rows x NR. */
typedef struct {
    float *stack;
    int64_t wide, area, used, at; /* columns, padded; `used` partial sums lie there; those from `at` on end where the leaf begins */
    bool last;                    /* the sum is the result; else it becomes partial sum `at` */
} leaf;
static inline leaf leaf_number(int64_t i, int64_t leaves, int64_t nr, int64_t nc, float *stack) {
    leaf l = {
        .stack = stack, .wide = padded(nc), .area = nr * padded(nc), .used = __builtin_popcountll((unsigned long long)i), .last = i == leaves - 1};
    if (!l.last) l.at = __builtin_popcountll((unsigned long long)i + 1) - 1;
    return l;
}
/* What a leaf gave for one tile, row r of the block, column c, meets the partial sums. Of the last leaf it stays in `sums`. */
static inline void merge(const leaf *l, int64_t r, int64_t rows, int64_t c, float *sums) {
    const int64_t where = r * l->wide + c * rows;
    for (int64_t s = l->used - 1; s >= l->at; s--) {
        const float *p = l->stack + s * l->area + where;
        for (int64_t i = 0; i < rows * NR; i++) sums[i] = p[i] + sums[i];
    }
    if (!l->last) __builtin_memcpy(l->stack + l->at * l->area + where, sums, (size_t)(rows * NR) * sizeof *sums);
}

/* ---- vdpbf16ps: VP is 16 words, VS 16 sums ---- */
#ifndef AMX_IN_C
#define TARGET __attribute__((target("avx512bf16")))
typedef __m512bh VP;
typedef __m512 VS;
#define load_pairs(p) ((VP)_mm512_loadu_ps(p))
#define set_pairs(x) ((VP)_mm512_set1_epi32((int)(x)))
#define dot_pairs(acc, a, b) _mm512_dpbf16_ps(acc, a, b)
#else
#define TARGET
#endif
TARGET static inline __attribute__((always_inline)) void run_dots(const int rows, const pairs_run *run, int nruns, const uint32_t *a,
                                                                  const uint32_t *b_words, float *sums) {
    VS x[14], y[14];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) x[i] = y[i] = (VS){0};
    for (const pairs_run *end = run + nruns; run < end; run++) {
        const uint32_t *b = b_words + run->from * NR;
        for (int64_t p = run->from; p < run->from + run->n; p++, b += NR) {
            const VP u = load_pairs(b), v = load_pairs(b + 16);
            __builtin_prefetch(b + 12 * NR), __builtin_prefetch(b + 12 * NR + 16); /* b comes from the second cache */
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const VP s = set_pairs(a[i * LDA + p]);
                x[i] = dot_pairs(x[i], s, u), y[i] = dot_pairs(y[i], s, v);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) __builtin_memcpy(sums + i * NR, &x[i], 64), __builtin_memcpy(sums + i * NR + 16, &y[i], 64);
}
TARGET static void dots(int64_t rows, const pairs_run *run, int nruns, const uint32_t *a, const uint32_t *b, float *sums) {
    for (; rows >= 14; rows -= 14, a += 14 * LDA, sums += 14 * NR) run_dots(14, run, nruns, a, b, sums);
    for (; rows >= 4; rows -= 4, a += 4 * LDA, sums += 4 * NR) run_dots(4, run, nruns, a, b, sums);
    for (; rows >= 1; rows -= 1, a += LDA, sums += NR) run_dots(1, run, nruns, a, b, sums);
}
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, NAME)
#define NAME dot
#define TILE_ROWS 14
#define UNIT 1
#define begin(rows) (void)(rows)
#define end() (void)0
#define tile dots
#include "kernel/gemm_bf16_tile.h"
#undef NAME
#undef TARGET
#undef TILE_ROWS
#undef UNIT
#undef begin
#undef end
#undef tile

/* ---- tdpbf16ps ---- */
AMX_MULTIPLY(amx_pairs, tdpbf16ps)
AMX_TARGET static void amx_tile(int64_t rows, const pairs_run *run, int nruns, const uint32_t *a, const uint32_t *b, float *sums) {
    amx_clear(rows);
    for (int i = 0; i < nruns; i++) amx_pairs(rows, run[i].n, a + run[i].from, LDA, b + run[i].from * NR);
    amx_store(rows, sums, 4 * NR);
}
#define NAME amx
#define TARGET AMX_TARGET
#define TILE_ROWS AMX_ROWS
#define UNIT AMX_WORDS
#define begin amx_configure
#define end amx_release
#define tile amx_tile
#include "kernel/gemm_bf16_tile.h"
#endif
