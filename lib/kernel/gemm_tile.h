/* Register tiles of the matrix product, for one type and instruction set; included by gemm_block.h. A tile is MR rows by NR columns, two vectors a row.
 * It sums one leaf (256 k) in registers, merges that with the partial sums of the tree that are complete (levels), and stores the result: as
 * another partial sum, or, after the last leaf, to c.
 *
 *     for each k:   two vectors of b; for each row: broadcast a[row][k], two fma
 *
 * Products of very few rows use each element of b once or twice, so they read b where it lies instead of packing it: strip() where b's rows are
 * contiguous, run_transposed() where its columns are. */
#include "base/ints.h"

enum { NR = 2 * ROW_BYTES / (int)sizeof(T), VL = ROW_BYTES / (int)sizeof(T), LDA = TC_LEAF + 16, LEVELS = 40 };

static inline VF vload(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vstore(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

/* Bytes of b that stay in L1, that stay in L2, and from which on it is taken to come from memory. */
enum { FITS_L1 = 32768, FITS_L2 = 768 << 10, BEYOND_L3 = 8 << 20 };
/* With AVX2 a tile of at least so many k prefetches the last line of each of its results; the others came with the tile to the left. */
enum { PREFETCH_RESULTS = 64 };
/* Addresses that a tile prefetches for its successor, one for each k: `step` bytes apart, and `skip` bytes more after every `run` of them. */
typedef struct {
    const char *at;
    int64_t step, run, skip;
} prefetch_walk;
/* What a tile does to finished sums before it stores them: * alpha, + add[column] + more[row * more_ld + column], then clamp to [low, high]. */
typedef struct {
    T alpha;
    const T *add, *more; /* NULL: not added */
    int64_t more_ld;
    bool bounded; /* clamp */
    T low, high;
} tile_epilogue;
/* One leaf of one tile. */
typedef struct {
    const T *a, *b;         /* a[row * LDA + k], b[k * ldb + column], k counting those present; run_transposed: b[column * ldb + k] */
    int64_t k, ldb;         /* k: how many */
    bool beyond_l3;         /* b is larger than BEYOND_L3 */
    prefetch_walk prefetch; /* by tiles of MR rows only */
    const T *level[LEVELS]; /* partial sums to merge with, in this order: tiles, [row][NR] */
    int nlevels;
    T *out;
    int64_t ld;                    /* elements from row to row of out; a level's rows are NR apart */
    const tile_epilogue *epilogue; /* of tiles of MR rows only; or NULL */
} leaf_tile;

#if MR == 14
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)
#elif MR == 6
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#endif
#define DECLARE(i) VF x##i = {0}, y##i = {0};
#define STEP(i)                                           \
    if (i < rows) {                                       \
        VF v = vset1(a[i * LDA + k]);                     \
        x##i = vfma(v, p, x##i), y##i = vfma(v, q, y##i); \
    }
/* b comes from L2: its one or two cache lines a row are prefetched 12 k ahead. */
#define ONE_K(ldb)                                                             \
    {                                                                          \
        VF p = vload(b + k * (ldb)), q = vload(b + k * (ldb) + VL);            \
        __builtin_prefetch(b + (k + 12) * (ldb));                              \
        if (2 * ROW_BYTES > 64) __builtin_prefetch(b + (k + 12) * (ldb) + VL); \
        EACH_ROW(STEP)                                                         \
    }
#define MERGE(i) \
    if (i < rows) x##i = vload(s + i * NR) + x##i, y##i = vload(s + i * NR + VL) + y##i;
#define TIMES(i) x##i = x##i * p, y##i = y##i * p;
#define ADD(i) x##i = x##i + p, y##i = y##i + q;
#define MORE(i) x##i = x##i + vload(more + i * more_ld), y##i = y##i + vload(more + i * more_ld + VL);
#define CLAMP(i) x##i = vmin(vmax(x##i, p), q), y##i = vmin(vmax(y##i, p), q);
#define STORE(i) \
    if (i < rows) vstore(out + i * ld, x##i), vstore(out + i * ld + VL, y##i);
static inline __attribute__((always_inline)) void run_tile(const leaf_tile *t, const int rows) {
    EACH_ROW(DECLARE)
    const T *a = t->a, *b = t->b;
    const char *line = t->prefetch.at;
    const int64_t n = t->k, ldb = t->ldb, step = t->prefetch.step, run = t->prefetch.run, skip = t->prefetch.skip;
    int64_t k = 0;
    if (MR == 6 && n >= PREFETCH_RESULTS)
        for (int i = 0; i < rows; i++) __builtin_prefetch(t->out + i * t->ld + NR - 1, 1);
    for (; rows == MR && k < n; line += skip) {
        const int64_t end = tc_min(n, k + run);
#pragma GCC unroll 4
        for (; k < end; k++, line += step) {
            ONE_K(ldb)
            __builtin_prefetch(line, 0, 2);
        }
    }
    for (; rows < MR && k < n; k++) ONE_K(ldb)
    for (int l = 0; l < t->nlevels; l++) {
        const T *s = t->level[l];
        EACH_ROW(MERGE)
    }
    if (rows == MR && t->epilogue) {
        const tile_epilogue *epilogue = t->epilogue;
        const T *more = epilogue->more;
        const int64_t more_ld = epilogue->more_ld;
        if (epilogue->alpha != 1) {
            const VF p = vset1(epilogue->alpha);
            EACH_ROW(TIMES)
        }
        if (epilogue->add) {
            const VF p = vload(epilogue->add), q = vload(epilogue->add + VL);
            EACH_ROW(ADD)
        }
        if (more) { EACH_ROW(MORE) }
        if (epilogue->bounded) {
            const VF p = vset1(epilogue->low), q = vset1(epilogue->high);
            EACH_ROW(CLAMP)
        }
    }
    const int64_t ld = t->ld;
    T *out = t->out;
    EACH_ROW(STORE)
}
#define TILE(i) \
    static __attribute__((noinline)) void tile_##i(const leaf_tile *t) { run_tile(t, i + 1); }
EACH_ROW(TILE)
#define CALL(i) \
    case i + 1: tile_##i(t); break;
static inline void run_rows(const leaf_tile *t, int rows) {
    switch (rows) { EACH_ROW(CALL) }
}
/* How many of the rows that are left the next tile takes. The last two tiles share their rows evenly, rather than leave a very short one. */
static inline int tile_rows(int64_t left) { return (int)(left <= MR ? left : left >= 2 * MR ? MR : (left + 1) / 2); }

/* Products of few rows read b in place: at most THIN_ROWS rows where its columns are contiguous (transposed), STRIP_ROWS where its rows are (strip).
 * STRIP_K: rows of b that a strip reads together. SHORT_LINE: bytes of a column up to which the hardware prefetcher does not get going.
 * PREFETCH_AHEAD: elements. */
enum { THIN_ROWS = 2, STRIP_ROWS = MR == 6 ? 2 * MR : THIN_ROWS, STRIP_K = 8, SHORT_LINE = 512, PREFETCH_AHEAD = 8 * VL };
/* One leaf of b that is read in place: n rows, ldb elements apart, of nc columns (a multiple of NR). */
typedef struct {
    const T *b;
    int64_t ldb, n, nc;
} leaf_in_place;
#if MR != 6
/* The sums of one leaf for `rows` rows of a and all columns: out is [column / NR][row][NR]. b is read STRIP_K rows at a time, in long sequential runs. */
static inline __attribute__((always_inline)) void run_strip(const T *a, const leaf_in_place *leaf, T *out, const int rows) {
    const int64_t n = leaf->n, nc = leaf->nc, ldb = leaf->ldb;
    for (int64_t k = 0; k < n; k += STRIP_K) {
        int64_t deep = n - k < STRIP_K ? n - k : STRIP_K;
        const T *from = leaf->b + k * ldb;
        for (int64_t c = 0; c < nc; c += VL) {
            VF x[THIN_ROWS];
            T *o = out + c / NR * NR * rows + c % NR;
            for (int i = 0; i < rows; i++) x[i] = k ? vload(o + i * NR) : (VF){0};
            if (deep == STRIP_K) {
#pragma GCC unroll 8
                for (int d = 0; d < STRIP_K; d++) {
                    VF p = vload(from + d * ldb + c);
                    __builtin_prefetch(from + (d + STRIP_K) * ldb + c);
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), p, x[i]);
                }
            } else
                for (int d = 0; d < deep; d++)
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), vload(from + d * ldb + c), x[i]);
            for (int i = 0; i < rows; i++) vstore(o + i * NR, x[i]);
        }
    }
}
static __attribute__((noinline)) void strip(const T *a, const leaf_in_place *leaf, T *out, int rows) {
    if (rows == 1) run_strip(a, leaf, out, 1);
    else run_strip(a, leaf, out, 2);
}
#endif
/* Merges sums, [row][NR], with the tile's levels from number `from` on, and stores the result where the tile's goes. */
static void merge_sums(const leaf_tile *t, const T *sums, int from, int rows) {
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < NR; v += VL) {
            VF x = vload(sums + i * NR + v);
            for (int l = from; l < t->nlevels; l++) x = vload(t->level[l] + i * NR + v) + x;
            vstore(t->out + i * t->ld + v, x);
        }
}

#if MR == 6
#include "kernel/gemm_few.h"
#else
/* Adds the products of VL consecutive k for VL columns, each contiguous in memory and ldb from the one before. Whole cache lines are read: columns a
 * power of two apart share few sets of L1. */
static inline __attribute__((always_inline)) void fma_columns(const T *a, const T *b, int64_t ldb, VF *x, const int rows) {
    VF col[VL];
    __asm__ volatile("" ::: "memory"); /* or gcc keeps the broadcasts of a for the next columns, where it has no registers for them */
    load_columns(col, b, ldb);
    for (int i = 0; i < VL; i++)
        for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + i]), col[i], x[r]);
}
/* The same for n < VL of k. */
static __attribute__((noinline)) void fma_rest(const T *a, const T *b, int64_t ldb, int n, VF *x, int rows) {
    VF col[VL];
    for (int i = 0; i < VL; i++) col[i] = vload_some(b + i * ldb, n);
    transpose(col);
    for (int r = 0; r < rows; r++) {
        VF sum = x[r];
#pragma GCC unroll 16
        for (int i = 0; i < VL - 1 && i < n; i++) sum = vfma(vset1(a[r * LDA + i]), col[i], sum);
        x[r] = sum;
    }
}
/* A tile of a b whose columns are contiguous, ldb apart: a cache line of each of VL columns is transposed in registers and summed. With two chains of
 * fma, which hide each other's latency, one of the next VL columns follows; one chain reads no more than VL streams of memory at once. Columns of at most
 * SHORT_LINE bytes end before the hardware prefetcher starts: those of the next vectors are prefetched here. Of a b that comes from memory the same
 * columns are prefetched, further ahead than the hardware does. */
static inline __attribute__((always_inline)) void sum_transposed(const leaf_tile *t, const int chains, const int rows) {
    const int64_t ldb = t->ldb, ahead = t->k * (int64_t)sizeof(T) <= SHORT_LINE ? chains * VL * ldb : t->beyond_l3 ? PREFETCH_AHEAD : 0;
    T sums[THIN_ROWS * NR];
    for (int c = 0; c < NR; c += chains * VL) {
        VF x[2][THIN_ROWS] = {0}, z[THIN_ROWS];
        const T *a = t->a, *b = t->b + c * ldb;
        int64_t k = 0;
        for (; k + VL <= t->k; k += VL)
#pragma GCC unroll 2
            for (int i = 0; i < chains; i++) {
                const T *from = b + k + i * VL * ldb;
                for (int l = 0; ahead && l < VL; l++) __builtin_prefetch(from + l * ldb + ahead, 0, 2);
                fma_columns(a + k, from, ldb, x[i], rows);
            }
#pragma GCC unroll 2
        for (int i = 0; i < chains; i++) {
            for (int r = 0; r < rows; r++) z[r] = x[i][r];
            if (k < t->k) fma_rest(a + k, b + k + i * VL * ldb, ldb, (int)(t->k - k), z, rows);
            for (int r = 0; r < rows; r++) vstore(sums + r * NR + c + i * VL, z[r]);
        }
    }
    merge_sums(t, sums, 0, rows);
}
/* Two rows are two chains by themselves. Columns that are a multiple of SAME_SETS bytes apart share few sets of L1: one vector of them at a time. */
static __attribute__((noinline)) void run_transposed(const leaf_tile *t, int rows) {
    enum { SAME_SETS = 2048 };
    if (rows == 2) sum_transposed(t, 1, 2);
    else if (t->ldb * (int64_t)sizeof(T) % SAME_SETS == 0) sum_transposed(t, 1, 1);
    else sum_transposed(t, 2, 1);
}
#endif
