/* dgemm_ in place of the reference's, with its bits: every element of C goes through the same roundings in the same order, so that results are
 * those of libblas.a, some times sooner. The reference adds over ascending l, multiplying and adding apart:
 *
 *     A not transposed   c = beta c, then c += (alpha b_l) a_l         A transposed   t = 0, then t += a_l b_l; c = alpha t + beta c
 *
 * Here 8 by 4 elements of C stay in registers while l passes, from packed panels of A (8 rows) and B (columns by 4); 64 by 32 of C at a time. */
#include <stddef.h>
#include <string.h>

enum { MR = 8, NR = 4, PANELS = 8, NC = 32, KC = 128 };
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

/* acc[4][8] += a[l][8] b[l][4] over l; multiplied and added apart (-ffp-contract=off, and no fma in these targets) */
__attribute__((target_clones("avx2", "default"))) static void tile(int k, const double *a, const double *b, double *acc) {
    v4 *c = (v4 *)acc;
    v4 c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5], c6 = c[6], c7 = c[7];
    for (int l = 0; l < k; l++, a += MR, b += NR) {
        v4 x = *(const v4 *)a, y = *(const v4 *)(a + 4);
        c0 += b[0] * x, c1 += b[0] * y;
        c2 += b[1] * x, c3 += b[1] * y;
        c4 += b[2] * x, c5 += b[2] * y;
        c6 += b[3] * x, c7 += b[3] * y;
    }
    c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3, c[4] = c4, c[5] = c5, c[6] = c6, c[7] = c7;
}

typedef struct {
    const double *at;
    ptrdiff_t row, col;
} view; /* element (i, j) at at[i row + j col] */

/* rows [0, m) of columns [l, l + k), 8 a column; absent rows are 0 */
static void pack_a(view a, int m, ptrdiff_t l0, int k, double *to) {
    for (int l = 0; l < k; l++)
        for (int i = 0; i < MR; i++) to[l * MR + i] = i < m ? a.at[i * a.row + (l0 + l) * a.col] : 0;
}
static void pack_b(view b, int n, ptrdiff_t l0, int k, double scale, double *to) {
    for (int j = 0; j < n; j += NR)
        for (int l = 0; l < k; l++)
            for (int q = 0; q < NR; q++) *to++ = j + q < n ? scale * b.at[(l0 + l) * b.row + (j + q) * b.col] : 0;
}

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *,
            const int *, const double *, double *, const int *, size_t, size_t);
void dgemm_(const char *transa, const char *transb, const int *pm, const int *pn, const int *pk, const double *palpha, const double *pa,
            const int *plda, const double *pb, const int *pldb, const double *pbeta, double *c, const int *pldc, size_t la, size_t lb) {
    int m = *pm, n = *pn, k = *pk, ta = *transa != 'N' && *transa != 'n', tb = *transb != 'N' && *transb != 'n';
    double alpha = *palpha, beta = *pbeta, acc[PANELS][NC][MR], ap[KC * MR], bp[KC * NC];
    ptrdiff_t lda = *plda, ldb = *pldb, ldc = *pldc;
    (void)la, (void)lb;
    if (m <= 0 || n <= 0 || ((alpha == 0 || k <= 0) && beta == 1)) return;
    if (alpha == 0) k = 0;
    for (ptrdiff_t j0 = 0; j0 < n; j0 += NC)
        for (ptrdiff_t i0 = 0; i0 < m; i0 += MR * PANELS) {
            int cols = n - j0 < NC ? (int)(n - j0) : NC, rows = m - i0 < MR * PANELS ? (int)(m - i0) : MR * PANELS;
            double *to = c + i0 + j0 * ldc;
            memset(acc, 0, sizeof acc);
            for (int j = 0; j < cols && !ta && beta != 0; j++)
                for (int i = 0; i < rows; i++) acc[i / MR][j][i % MR] = beta == 1 ? to[i + j * ldc] : beta * to[i + j * ldc];
            view a = {pa + (ta ? i0 * lda : i0), ta ? lda : 1, ta ? 1 : lda}, b = {pb + (tb ? j0 : j0 * ldb), tb ? ldb : 1, tb ? 1 : ldb};
            for (int l = 0; l < k; l += KC) {
                int part = k - l < KC ? k - l : KC;
                pack_b(b, cols, l, part, ta ? 1 : alpha, bp);
                for (int p = 0; p * MR < rows; p++) {
                    pack_a((view){a.at + p * MR * a.row, a.row, a.col}, rows - p * MR < MR ? rows - p * MR : MR, l, part, ap);
                    for (int j = 0; j < cols; j += NR) tile(part, ap, bp + (ptrdiff_t)j * part, acc[p][j]);
                }
            }
            for (int j = 0; j < cols; j++)
                for (int i = 0; i < rows; i++) {
                    double *p = &to[i + j * ldc], t = acc[i / MR][j][i % MR];
                    if (!ta || alpha == 0) *p = ta && beta != 0 ? beta * *p : t;
                    else *p = beta == 0 ? alpha * t : alpha * t + beta * *p;
                }
        }
}
