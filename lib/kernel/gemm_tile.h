/* Tiles of the matrix product of one type and instruction set, included by gemm_block.h: MR x 2 vectors in registers sum one leaf. What a
 * leaf gives is merged at once with the partial sums that the tree has ready (levels), and stored. */
enum { NR = 2 * ROW_BYTES / (int)sizeof(T), VL = ROW_BYTES / (int)sizeof(T), LDA = TC_LEAF + 16, LEVELS = 40 };

static inline VF vload(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vstore(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

enum { RUN = 4096 /* bytes of b that a tile of MR rows brings near: a line for 4 k */ };
enum { SMALL = 32768 /* bytes of b that stay in the first cache */, FAR = 8 << 20 /* bytes that do not stay in the last */ };
typedef struct {
    const T *a, *b;         /* a[row][LDA], b[k * ldb] of the leaf's present k; run_turned: its columns are ldb apart, its k neighbours */
    int64_t k, ldb;         /* how many k */
    bool far;               /* b is larger than FAR */
    const char *soon;       /* RUN bytes that are wanted soon, or NULL */
    const T *level[LEVELS]; /* tiles to merge with, in this order */
    int nlevels;
    T *out;
    int64_t ld; /* of out; a level's rows are NR long */
} leaf_tile;

#if MR == 14
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)
#elif MR == 6
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#endif
/* b comes from the second cache: its lines are asked for some k ahead */
#define NEAR __builtin_prefetch(b + (k + 12) * ldb), __builtin_prefetch(b + (k + 12) * ldb + VL)
#define DECLARE(i) VF x##i = {0}, y##i = {0};
#define STEP(i)                                           \
    if (i < rows) {                                       \
        VF v = vset1(a[i * LDA + k]);                     \
        x##i = vfma(v, p, x##i), y##i = vfma(v, q, y##i); \
    }
#define MERGE(i)                                                                 \
    if (i < rows) {                                                              \
        for (int l = 0; l < t->nlevels; l++) {                                   \
            const T *s = t->level[l] + i * NR;                                   \
            x##i = vload(s) + x##i, y##i = vload(s + VL) + y##i;                 \
        }                                                                        \
        vstore(t->out + i * t->ld, x##i), vstore(t->out + i * t->ld + VL, y##i); \
    }

static inline __attribute__((always_inline)) void run_tile(const leaf_tile *t, const int rows, const bool fetches, const int64_t ldb) {
    EACH_ROW(DECLARE)
    const T *a = t->a, *b = t->b;
    const char *soon = t->soon;
    const int64_t n = t->k;
    int64_t k = 0;
    for (; fetches && k + 4 <= n; soon += 64) {
        __builtin_prefetch(soon, 0, 2);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++, k++) {
            VF p = vload(b + k * ldb), q = vload(b + k * ldb + VL);
            NEAR;
            EACH_ROW(STEP)
        }
    }
#pragma GCC unroll 4
    for (; k < n; k++) {
        VF p = vload(b + k * ldb), q = vload(b + k * ldb + VL);
        NEAR;
        EACH_ROW(STEP)
    }
    EACH_ROW(MERGE)
}
static __attribute__((noinline)) void tile_full(const leaf_tile *t) { run_tile(t, MR, false, t->ldb); }
static __attribute__((noinline)) void tile_full_fetching(const leaf_tile *t) { run_tile(t, MR, true, NR); }
static __attribute__((noinline)) void tile_8(const leaf_tile *t) { run_tile(t, 8 < MR ? 8 : MR, false, t->ldb); }
static __attribute__((noinline)) void tile_4(const leaf_tile *t) { run_tile(t, 4, false, t->ldb); }
static __attribute__((noinline)) void tile_2(const leaf_tile *t) { run_tile(t, 2, false, t->ldb); }
static __attribute__((noinline)) void tile_1(const leaf_tile *t) { run_tile(t, 1, false, t->ldb); }

/* Few rows meet each element of b once: it is read where it lies. THIN rows at most, of neighbouring k (turned) or columns (strip). */
enum { THIN = 2, DEEP = 8, SHORT = 512, AHEAD = 8 * VL };
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
/* What was summed elsewhere merges with the partial sums from level `from` on. */
static void merge_sums(const leaf_tile *t, const T *sums, int from, int rows) {
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < NR; v += VL) {
            VF x = vload(sums + i * NR + v);
            for (int l = from; l < t->nlevels; l++) x = vload(t->level[l] + i * NR + v) + x;
            vstore(t->out + i * t->ld + v, x);
        }
}

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

/* Rows that the next tile takes of `left`, and its function. */
static inline int rows_of(int64_t left) { return left >= MR ? MR : left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1; }
static inline void run_rows(const leaf_tile *t, int rows) {
    if (rows == MR && t->soon) tile_full_fetching(t);
    else if (rows == MR) tile_full(t);
    else if (rows == 8) tile_8(t);
    else if (rows == 4) tile_4(t);
    else if (rows == 2) tile_2(t);
    else tile_1(t);
}
