/* Tiles of the matrix product of one type and instruction set, included by gemm_block.h: MR x 2 vectors in registers sum one leaf. What a
 * leaf gives is merged at once with the partial sums that the tree has ready (levels), and stored. */
#include "base/ints.h"

enum { NR = 2 * ROW_BYTES / (int)sizeof(T), VL = ROW_BYTES / (int)sizeof(T), LDA = TC_LEAF + 16, LEVELS = 40 };

static inline VF vload(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vstore(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

/* bytes of b that stay in the first cache, in the second; that do not stay in the last */
enum { SMALL = 32768, NEAR = 768 << 10, FAR = 8 << 20 };
/* Lines that are wanted soon, one for each k: `step` bytes apart, after `run` of them `turn` bytes more. */
typedef struct {
    const char *at;
    int64_t step, run, turn;
} fetch;
/* What follows sums that are finished, of NR columns; pointers may be NULL. */
typedef struct {
    const T *add, *more; /* by column; [row][more_ld] */
    int64_t more_ld;
    bool bounded;
    T low, high;
} tail;
typedef struct {
    const T *a, *b;         /* a[row][LDA], b[k * ldb] of the leaf's present k; run_turned: its columns are ldb apart, its k neighbours */
    int64_t k, ldb;         /* how many k */
    bool far;               /* b is larger than FAR */
    fetch soon;             /* what a tile of MR rows brings near */
    const T *level[LEVELS]; /* tiles to merge with, in this order */
    int nlevels;
    T *out;
    int64_t ld;       /* of out; a level's rows are NR long */
    const tail *then; /* what a tile of MR rows does to its sums before it stores them, or NULL */
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
/* b comes from the second cache: its lines are asked for some k ahead; a row of a panel is one or two */
#define ONE_K(ldb)                                                             \
    {                                                                          \
        VF p = vload(b + k * (ldb)), q = vload(b + k * (ldb) + VL);            \
        __builtin_prefetch(b + (k + 12) * (ldb));                              \
        if (2 * ROW_BYTES > 64) __builtin_prefetch(b + (k + 12) * (ldb) + VL); \
        EACH_ROW(STEP)                                                         \
    }
#define MERGE(i) \
    if (i < rows) x##i = vload(s + i * NR) + x##i, y##i = vload(s + i * NR + VL) + y##i;
#define ADD(i) x##i = x##i + p, y##i = y##i + q;
#define MORE(i) x##i = x##i + vload(more + i * more_ld), y##i = y##i + vload(more + i * more_ld + VL);
#define CLAMP(i) x##i = vmin(vmax(x##i, p), q), y##i = vmin(vmax(y##i, p), q);
#define STORE(i) \
    if (i < rows) vstore(out + i * ld, x##i), vstore(out + i * ld + VL, y##i);
static inline __attribute__((always_inline)) void run_tile(const leaf_tile *t, const int rows) {
    EACH_ROW(DECLARE)
    const T *a = t->a, *b = t->b;
    const char *soon = t->soon.at;
    const int64_t n = t->k, ldb = t->ldb, step = t->soon.step, run = t->soon.run, turn = t->soon.turn;
    int64_t k = 0;
    for (; rows == MR && k < n; soon += turn) {
        const int64_t end = tc_min(n, k + run);
#pragma GCC unroll 4
        for (; k < end; k++, soon += step) {
            ONE_K(ldb)
            __builtin_prefetch(soon, 0, 2);
        }
    }
    for (; rows < MR && k < n; k++) ONE_K(ldb)
    for (int l = 0; l < t->nlevels; l++) {
        const T *s = t->level[l];
        EACH_ROW(MERGE)
    }
    if (rows == MR && t->then) {
        const tail *then = t->then;
        const T *more = then->more;
        const int64_t more_ld = then->more_ld;
        if (then->add) {
            const VF p = vload(then->add), q = vload(then->add + VL);
            EACH_ROW(ADD)
        }
        if (more) { EACH_ROW(MORE) }
        if (then->bounded) {
            const VF p = vset1(then->low), q = vset1(then->high);
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
/* Rows that the next tile takes of `left`: two tiles share what is more than one and less than two. */
static inline int rows_of(int64_t left) { return (int)(left <= MR ? left : left >= 2 * MR ? MR : (left + 1) / 2); }

/* Few rows meet each element of b once: it is read where it lies. THIN rows at most, of neighbouring k (turned) or columns (strip). */
enum { THIN = 2, FEW_ROWS = MR == 6 ? 2 * MR : THIN /* of a strip */, DEEP = 8, SHORT = 512, AHEAD = 8 * VL };
#if MR != 6
/* Sums of a leaf of `rows` rows and all columns of a block, tile after tile, each rows x NR; nc is a multiple of NR. A few rows of b are
 * read side by side, so that memory is read in long pieces. */
static inline __attribute__((always_inline)) void run_strip(const T *a, const T *b, int64_t ldb, int64_t n, int64_t nc, T *out, const int rows) {
    for (int64_t k = 0; k < n; k += DEEP) {
        int64_t deep = n - k < DEEP ? n - k : DEEP;
        const T *from = b + k * ldb;
        for (int64_t c = 0; c < nc; c += VL) {
            VF x[THIN];
            T *o = out + c / NR * NR * rows + c % NR;
            for (int i = 0; i < rows; i++) x[i] = k ? vload(o + i * NR) : (VF){0};
            if (deep == DEEP) {
#pragma GCC unroll 8
                for (int d = 0; d < DEEP; d++) {
                    VF p = vload(from + d * ldb + c);
                    __builtin_prefetch(from + (d + DEEP) * ldb + c);
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), p, x[i]);
                }
            } else
                for (int d = 0; d < deep; d++)
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), vload(from + d * ldb + c), x[i]);
            for (int i = 0; i < rows; i++) vstore(o + i * NR, x[i]);
        }
    }
}
static __attribute__((noinline)) void strip(const T *a, const T *b, int64_t ldb, int64_t n, int64_t nc, T *out, int rows) {
    if (rows == 1) run_strip(a, b, ldb, n, nc, out, 1);
    else run_strip(a, b, ldb, n, nc, out, 2);
}
#endif
/* What was summed elsewhere merges with the partial sums from level `from` on. */
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
/* A tile whose columns are rows of memory, ldb apart: one vector of columns after the other, so that few streams of memory run at once.
 * Rows of SHORT bytes end before the processor fetches ahead: those of the next vector are asked for. What comes from memory is asked
 * for earlier than the processor does. */
static inline __attribute__((always_inline)) void sum_turned(const leaf_tile *t, const int rows) {
    const int64_t soon = t->k * (int64_t)sizeof(T) <= SHORT ? VL * t->ldb : t->far ? AHEAD : 0;
    T sums[THIN * NR];
    for (int c = 0; c < NR; c += VL) {
        VF x[THIN] = {0};
        const T *a = t->a, *b = t->b + c * t->ldb;
        int64_t k = 0;
#pragma GCC unroll 4
        for (; k + QUAD <= t->k; k += QUAD) {
            VF col[QUAD];
            columns(col, b + k, t->ldb);
            for (int i = 0; soon && i < QUAD; i++) __builtin_prefetch(b + (k % VL + i) * t->ldb + k / VL * VL + soon, 0, 2);
            for (int i = 0; i < QUAD; i++)
                for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + k + i]), col[i], x[r]);
        }
        for (; k < t->k; k++) {
            VF col;
            for (int i = 0; i < VL; i++) col[i] = b[i * t->ldb + k];
            for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + k]), col, x[r]);
        }
        for (int r = 0; r < rows; r++) vstore(sums + r * NR + c, x[r]);
    }
    merge_sums(t, sums, 0, rows);
}
static __attribute__((noinline)) void run_turned(const leaf_tile *t, int rows) {
    if (rows == 1) sum_turned(t, 1);
    else sum_turned(t, 2);
}
#endif
