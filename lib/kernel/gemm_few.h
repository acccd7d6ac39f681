/* Products of few rows on vectors of 32 bytes (AVX2), two to a cache line; the other instruction sets have theirs in gemm_tile.h, which includes this.
 *
 * strip()         b's rows are contiguous: STRIP_K rows of b at a time are read in place, for all rows of a and all columns of the block; the sums
 *                 stay in L1 meanwhile.
 * run_chains()    b's columns are contiguous: they are transposed in registers, and two independent chains of fma hide each other's latency. */
enum { LINE = 64 / (int)sizeof(T) }; /* elements of a cache line */

/* Adds to out, [column / NR][row][NR], the products of `deep` k: a[row * LDA + k], b[k * ldb + column]. */
static inline __attribute__((always_inline)) void strip_rows(const T *a, const T *b, int64_t ldb, int deep, int64_t nc, T *out, const int rows) {
    for (int64_t c = 0; c < nc; c += NR, out += NR * rows) {
        VF x[MR], y[MR];
        for (int i = 0; i < rows; i++) x[i] = vload(out + i * NR), y[i] = vload(out + i * NR + VL);
#pragma GCC unroll 1
        for (int d = 0; d < deep; d++) {
            const T *from = b + d * ldb + c;
            const VF p = vload(from), q = vload(from + VL);
            for (int i = 0; i < rows; i++) {
                const VF v = vset1(a[i * LDA + d]);
                x[i] = vfma(v, p, x[i]), y[i] = vfma(v, q, y[i]);
            }
        }
        for (int i = 0; i < rows; i++) vstore(out + i * NR, x[i]), vstore(out + i * NR + VL, y[i]);
    }
}
#define STRIP_OF(i) \
    case i + 1: strip_rows(a, b, ldb, deep, nc, out, i + 1); break;
/* The sums of leaf i of `leaves` for `all` rows of a and all columns. rows_of_a is [tile][leaf][row][LDA], sums [tile][leaf][column / NR][row][NR]. */
static __attribute__((noinline)) void strip(const T *rows_of_a, int64_t all, const leaf_in_place *leaf, int i, int leaves, T *sums) {
    const int64_t n = leaf->n, nc = leaf->nc, ldb = leaf->ldb;
    const T *b = leaf->b;
    for (int64_t r = 0, rows; r < all; r += rows) {
        rows = tile_rows(all - r);
        __builtin_memset(sums + (r * leaves + i * rows) * nc, 0, (size_t)(rows * nc) * sizeof(T));
    }
    for (int64_t k = 0; k < n; k += STRIP_K, b += STRIP_K * ldb) {
        const int deep = (int)tc_min(STRIP_K, n - k);
        for (int64_t r = 0, rows; r < all; r += rows) {
            rows = tile_rows(all - r);
            const T *a = rows_of_a + (r * leaves + i * rows) * LDA + k;
            T *out = sums + (r * leaves + i * rows) * nc;
            switch (rows) { EACH_ROW(STRIP_OF) }
        }
    }
}

/* Adds the products of COLUMN_K consecutive k for VL columns, each contiguous in memory and ldb from the one before. */
static inline __attribute__((always_inline)) void fma_columns(const T *a, const T *b, int64_t ldb, VF *x, const int rows) {
    VF col[COLUMN_K];
    load_columns(col, b, ldb);
    for (int i = 0; i < COLUMN_K; i++)
        for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + i]), col[i], x[r]);
}
/* A chain of fma: the sums of one leaf for VL columns. Two of them run together, a cache line of k in turn. They should be of different leaves:
 * columns a power of two apart compete for few sets of L1. */
typedef struct {
    const T *a, *b; /* a[row * LDA + k], b[column * ldb + k] */
    int64_t n;      /* k */
    T *out;         /* [row][NR], VL columns of it */
} chain;
/* ahead: elements from what a chain reads to what it prefetches; 0: it does not. */
static inline __attribute__((always_inline)) void sum_chains(const chain *s, int64_t ldb, int64_t ahead, const int rows) {
    VF x[2][THIN_ROWS] = {0}, rest[2][THIN_ROWS];
    const int lines = ahead ? VL : 0;
    int64_t k = 0;
    for (const int64_t n = tc_min(s[0].n, s[1].n); k + LINE <= n; k += LINE)
#pragma GCC unroll 2
        for (int c = 0; c < 2; c++) {
            const T *a = s[c].a + k, *b = s[c].b + k;
            for (int i = 0; i < lines; i++) __builtin_prefetch(b + i * ldb + ahead, 0, 2);
#pragma GCC unroll 1
            for (int q = 0; q < LINE; q += COLUMN_K) fma_columns(a + q, b + q, ldb, x[c], rows);
        }
    for (int r = 0; r < rows; r++) rest[0][r] = x[0][r], rest[1][r] = x[1][r];
#pragma GCC unroll 1
    for (int c = 0; c < 2; c++) {
        VF *z = rest[c];
        int64_t i = k;
#pragma GCC unroll 1
        for (; i + COLUMN_K <= s[c].n; i += COLUMN_K) fma_columns(s[c].a + i, s[c].b + i, ldb, z, rows);
        for (; i < s[c].n; i++) {
            VF col;
            for (int l = 0; l < VL; l++) col[l] = s[c].b[l * ldb + i];
            for (int r = 0; r < rows; r++) z[r] = vfma(vset1(s[c].a[r * LDA + i]), col, z[r]);
        }
        for (int r = 0; r < rows; r++) vstore(s[c].out + r * NR, z[r]);
    }
}
static __attribute__((noinline)) void run_chains(const chain *s, int64_t ldb, int64_t ahead, int rows) {
    if (rows == 1) sum_chains(s, ldb, ahead, 1);
    else sum_chains(s, ldb, ahead, 2);
}
