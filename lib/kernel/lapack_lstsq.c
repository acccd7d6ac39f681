/* Least squares, and the matrix exponential.
 *
 * gelsy: complete orthogonal factorisation, in which singular values below rcond times the largest count as 0; gels: the same with rcond 0.
 * gelsd, gelss: x = V diag(1 / s) U^H b over the singular values above rcond times the largest. */
#include "kernel/lapack.h"

#include <math.h>
#include <string.h>

enum { A, S, U, VH, WORK, RWORK, INTS, X, B, SUMS, Y }; /* parts of the scratch; X: max(m, n) by nrhs, B: m by nrhs */

static int by_svd(const tc_la *j, double *w, int *rank) {
    double *s = w + j->at[S], *y = w + j->at[Y];
    int k = j->k, rows = j->m > j->n ? j->m : j->n, c = j->c, info = tc_la_svd(j, w);
    if (info) return info;
    j->ops->gemm('C', 'N', k, j->nrhs, j->m, 1, w + j->at[U], j->m, w + j->at[B], j->m, 0, y, k);
    for (*rank = 0; *rank < k && s[*rank] > j->number * s[0];) ++*rank;
    for (int64_t q = 0; q < j->nrhs; q++)
        for (int64_t i = 0; i < k; i++)
            for (int p = 0; p < c; p++) y[(q * k + i) * c + p] = i < *rank ? y[(q * k + i) * c + p] / s[i] : 0;
    j->ops->gemm('C', 'N', j->n, j->nrhs, k, 1, w + j->at[VH], k, y, k, 0, w + j->at[X], rows);
    return 0;
}
static int by_gelsy(const tc_la *j, double *w, int *rank) {
    double *x = w + j->at[X], *b = w + j->at[B];
    int *pivots = (int *)(w + j->at[INTS]), rows = j->m > j->n ? j->m : j->n, c = j->c;
    memset(x, 0, (size_t)rows * (size_t)j->nrhs * (size_t)c * sizeof(double));
    for (int64_t q = 0; q < j->nrhs; q++) memcpy(x + q * rows * c, b + q * j->m * c, (size_t)(j->m * c) * sizeof(double));
    memset(pivots, 0, (size_t)j->n * sizeof(int));
    return j->ops->gelsy(j->m, j->n, j->nrhs, w + j->at[A], j->m, x, rows, pivots, j->number, rank, w + j->at[WORK], j->lwork, w + j->at[RWORK]);
}
/* The sum of squares of each column of b - A x. */
static void residuals(const tc_la *j, int64_t b, double *w) {
    double *sums = w + j->at[SUMS], *r = w + j->at[B];
    int64_t column = (int64_t)j->m * j->c;
    tc_la_load(j, w + j->at[A], tc_k_tensor(j->call, 0), b, j->m, j->n);
    j->ops->gemm('N', 'N', j->m, j->nrhs, j->n, -1, w + j->at[A], tc_la_ld(j->m), w + j->at[X], j->m > j->n ? j->m : j->n, 1, r, j->m);
    for (int64_t q = 0; q < j->nrhs; q++) {
        sums[q] = 0;
        for (int64_t i = 0; i < column; i++) sums[q] += r[q * column + i] * r[q * column + i];
    }
}
static int lstsq_one(const tc_la *j, int64_t b, double *w) {
    tc_tensor *outs = j->call->outs;
    int rank = 0, info = 0;
    tc_la_load(j, w + j->at[A], tc_k_tensor(j->call, 0), b, j->m, j->n);
    tc_la_load(j, w + j->at[B], &j->view[0], b, j->m, j->nrhs);
    if (!tc_la_finite(w + j->at[A], (int64_t)j->m * j->n * j->c) || !tc_la_finite(w + j->at[B], (int64_t)j->m * j->nrhs * j->c)) return -4;
    if (j->k) info = j->code == 'S' ? by_svd(j, w, &rank) : by_gelsy(j, w, &rank);
    else memset(w + j->at[X], 0, (size_t)j->n * (size_t)j->nrhs * (size_t)j->c * sizeof(double));
    tc_la_store(j, w + j->at[X], j->m > j->n ? j->m : tc_la_ld(j->n), &j->view[1], b, j->n, j->nrhs);
    if (tc_tensor_numel(&outs[2])) ((int64_t *)tc_tensor_data(&outs[2]))[b] = rank;
    if (tc_tensor_numel(&outs[3])) tc_la_store_vector(j, w + j->at[S], 1, &outs[3], b, j->k);
    if (!tc_tensor_numel(&outs[1])) return info;
    residuals(j, b, w);
    tc_la_store_vector(j, w + j->at[SUMS], 1, &outs[1], b, j->nrhs);
    return info;
}
static tc_tensor as_matrix(const tc_tensor *t, bool vector) {
    tc_tensor v = *t;
    if (vector) v.size[v.rank] = 1, v.stride[v.rank] = 1, v.rank++;
    return v;
}
static tc_status lstsq_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0), *b = tc_k_tensor(c, 1);
    const char *driver = tc_k_given(c, 3) ? c->args[3].string : "gelsy";
    bool svd = !strcmp(driver, "gelsd") || !strcmp(driver, "gelss"), vector = b->rank < a->rank;
    double none[2] = {0}, want[2] = {1};
    TC_TRY(tc_la_svd_plan(c, j, svd ? 'S' : 'N', "linalg.lstsq"));
    j->view[0] = as_matrix(b, vector), j->view[1] = as_matrix(&c->outs[0], vector);
    int64_t most = j->m > j->n ? j->m : j->n, rhs = j->view[0].size[j->view[0].rank - 1];
    TC_TRY(tc_la_check(j, (double)most, (double)rhs, "linalg.lstsq"));
    j->nrhs = (int)rhs, j->one = lstsq_one, j->code = svd ? 'S' : 'Y';
    double eps = a->dtype == TC_F32 || a->dtype == TC_C64 ? 0x1p-23 : 0x1p-52;
    j->number = tc_k_given(c, 2) ? tc_k_float(c, 2) : eps * (double)most;
    if (!strcmp(driver, "gels")) j->number = 0;
    if (!svd) {
        int unused = 0;
        j->ops->gelsy(j->m, j->n, j->nrhs, none, tc_la_ld(j->m), none, tc_la_ld((int)most), &unused, j->number, &unused, want, -1, none);
        j->lwork = tc_la_workspace(want);
        j->at[WORK] = tc_la_matrix(j, j->lwork, 1), j->at[RWORK] = tc_la_take(j, 2 * (int64_t)j->n), j->at[INTS] = tc_la_take(j, j->n);
    }
    j->at[X] = tc_la_matrix(j, most, rhs), j->at[B] = tc_la_matrix(j, j->m, rhs), j->at[SUMS] = tc_la_take(j, rhs),
    j->at[Y] = tc_la_matrix(j, j->k, rhs);
    return NULL;
}
static tc_status lstsq(tc_kcall *c) {
    tc_la j;
    TC_TRY(lstsq_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    return tc_la_convergence(&j, "linalg.lstsq", "singular values");
}
static size_t lstsq_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(lstsq_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_lstsq = {"linalg_lstsq", 0, lstsq, lstsq_scratch};

/* ---- exponential: scaling and squaring with the [13/13] Pade approximant ----
 * N. J. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26 (2005), algorithm 2.3:
 *     U = A (A6 (b13 A6 + b11 A4 + b9 A2) + b7 A6 + b5 A4 + b3 A2 + b1 I),  V = A6 (b12 A6 + b10 A4 + b8 A2) + b6 A6 + b4 A4 + b2 A2 + b0 I
 *     exp(A / 2^s) = (V - U)^-1 (V + U),  s the smallest with |A / 2^s|_1 <= 5.37 */
static const double pade[14] = {64764752532480000,
                                32382376266240000,
                                7771770303897600,
                                1187353796428800,
                                129060195264000,
                                10559470521600,
                                670442572800,
                                33522128640,
                                1323241920,
                                40840800,
                                960960,
                                16380,
                                182,
                                1};
static double norm1(const double *a, int n, int c) {
    double most = 0;
    for (int64_t k = 0; k < n; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const double *p = a + (k * n + i) * c;
            sum += c == 2 ? fabs(p[0]) + fabs(p[1]) : fabs(p[0]);
        }
        if (!(sum <= most)) most = sum;
    }
    return most;
}
/* to = c[6] A6 + c[4] A4 + c[2] A2 + c0 I; even: A2, A4, A6. */
static void combine(const tc_la *j, double *to, double *const even[3], const double *c, double c0) {
    int64_t n = j->n, all = n * n * j->c;
    for (int64_t i = 0; i < all; i++) to[i] = c[6] * even[2][i] + c[4] * even[1][i] + c[2] * even[0][i];
    for (int64_t i = 0; i < n; i++) to[(i * n + i) * j->c] += c0;
}
static void product(const tc_la *j, const double *a, const double *b, double beta, double *to) {
    j->ops->gemm('N', 'N', j->n, j->n, j->n, 1, a, j->n, b, j->n, beta, to, j->n);
}
static int exp_one(const tc_la *j, int64_t b, double *w) {
    double *a = w + j->at[0], *a2 = w + j->at[1], *a4 = w + j->at[2], *a6 = w + j->at[3], *t = w + j->at[4], *u = w + j->at[5], *v = w + j->at[6];
    int n = j->n, s = 0;
    int64_t all = (int64_t)n * n * j->c;
    if (!n) return 0;
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, n, n);
    double norm = norm1(a, n, j->c);
    if (norm > 5.371920351148152 && norm <= 0x1.fffffffffffffp1023) {
        frexp(norm / 5.371920351148152, &s); /* norm / 5.37 = f 2^s, f < 1 */
        double scale = ldexp(1, -s);
        for (int64_t i = 0; i < all; i++) a[i] *= scale;
    }
    product(j, a, a, 0, a2), product(j, a2, a2, 0, a4), product(j, a2, a4, 0, a6);
    double *const even[] = {a2, a4, a6};
    combine(j, t, even, pade + 7, 0);
    combine(j, v, even, pade + 1, pade[1]);
    product(j, a6, t, 1, v);
    product(j, a, v, 0, u);
    combine(j, t, even, pade + 6, 0);
    combine(j, v, even, pade, pade[0]);
    product(j, a6, t, 1, v);
    for (int64_t i = 0; i < all; i++) {
        double p = v[i], q = u[i];
        v[i] = p - q, u[i] = p + q;
    }
    int *pivots = (int *)(w + j->at[7]);
    j->ops->getrf(n, n, v, n, pivots);
    j->ops->getrs('N', n, n, v, n, pivots, u, n);
    for (; s > 0; s--) {
        product(j, u, u, 0, t);
        double *swap = u;
        u = t, t = swap;
    }
    tc_la_store(j, u, n, &j->call->outs[0], b, n, n);
    return 0;
}
static tc_status exp_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], "linalg.matrix_exp"));
    j->n = (int)a->size[a->rank - 1], j->one = exp_one;
    for (int i = 0; i < 7; i++) j->at[i] = tc_la_matrix(j, j->n, j->n);
    j->at[7] = tc_la_take(j, j->n);
    return NULL;
}
static tc_status matrix_exp(tc_kcall *c) {
    tc_la j;
    TC_TRY(exp_plan(c, &j));
    return tc_la_run(&j, c);
}
static size_t exp_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(exp_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_matrix_exp = {"linalg_matrix_exp", 0, matrix_exp, exp_scratch};
