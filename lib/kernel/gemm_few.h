/* Few rows on vectors of 32 bytes, of which a line of memory has two: what gemm_tile.h does for them on others. Included by it.
 *
 * A strip is b as it lies, DEEP rows of it at a time, for all rows of a and all columns of a block; the sums wait in the first cache. */
enum { LINE = 64 / (int)sizeof(T) };

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
/* The sums of leaf i of `leaves`, [columns by NR][row][NR] for each tile of rows; a is [row][LDA]. Both as [tile][leaf]. */
static __attribute__((noinline)) void strip(const T *rows_of_a, const T *b, int64_t ldb, int64_t n, int64_t nc, T *sums, int leaves, int i,
                                            int64_t all) {
    for (int64_t r = 0, rows; r < all; r += rows) {
        rows = rows_of(all - r);
        __builtin_memset(sums + (r * leaves + i * rows) * nc, 0, (size_t)(rows * nc) * sizeof(T));
    }
    for (int64_t k = 0; k < n; k += DEEP, b += DEEP * ldb) {
        const int deep = (int)tc_min(DEEP, n - k);
        for (int64_t r = 0, rows; r < all; r += rows) {
            rows = rows_of(all - r);
            const T *a = rows_of_a + (r * leaves + i * rows) * LDA + k;
            T *out = sums + (r * leaves + i * rows) * nc;
            switch (rows) { EACH_ROW(STRIP_OF) }
        }
    }
}

/* QUAD neighbouring k of a vector of columns, which are rows of memory, ldb apart. */
static inline __attribute__((always_inline)) void turn_quad(const T *a, const T *b, int64_t ldb, VF *x, const int rows) {
    VF col[QUAD];
    columns(col, b, ldb);
    for (int i = 0; i < QUAD; i++)
        for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + i]), col[i], x[r]);
}
/* Two chains of sums, of a vector of columns and a leaf each, run side by side and hide each other's latency, a line of each row after the
 * other. Two leaves where there are two: rows of a power of two meet in few sets of the first cache. */
typedef struct {
    const T *a, *b;
    int64_t n;
    T *out; /* [row][NR] */
} chain;
static inline __attribute__((always_inline)) void sum_chains(const chain *s, int64_t ldb, int64_t soon, const int rows) {
    VF x[2][THIN] = {0}, rest[2][THIN];
    const int lines = soon ? VL : 0;
    int64_t k = 0;
    for (const int64_t n = tc_min(s[0].n, s[1].n); k + LINE <= n; k += LINE)
#pragma GCC unroll 2
        for (int c = 0; c < 2; c++) {
            const T *a = s[c].a + k, *b = s[c].b + k;
            for (int i = 0; i < lines; i++) __builtin_prefetch(b + i * ldb + soon, 0, 2);
#pragma GCC unroll 1
            for (int q = 0; q < LINE; q += QUAD) turn_quad(a + q, b + q, ldb, x[c], rows);
        }
    for (int r = 0; r < rows; r++) rest[0][r] = x[0][r], rest[1][r] = x[1][r];
#pragma GCC unroll 1
    for (int c = 0; c < 2; c++) {
        VF *z = rest[c];
        int64_t i = k;
#pragma GCC unroll 1
        for (; i + QUAD <= s[c].n; i += QUAD) turn_quad(s[c].a + i, s[c].b + i, ldb, z, rows);
        for (; i < s[c].n; i++) {
            VF col;
            for (int l = 0; l < VL; l++) col[l] = s[c].b[l * ldb + i];
            for (int r = 0; r < rows; r++) z[r] = vfma(vset1(s[c].a[r * LDA + i]), col, z[r]);
        }
        for (int r = 0; r < rows; r++) vstore(s[c].out + r * NR, z[r]);
    }
}
static __attribute__((noinline)) void run_chains(const chain *s, int64_t ldb, int64_t soon, int rows) {
    if (rows == 1) sum_chains(s, ldb, soon, 1);
    else sum_chains(s, ldb, soon, 2);
}
