/* Factorisations by elimination, and solving with them: Cholesky, LU, Bunch-Kaufman, triangular systems.
 *
 *     cholesky_ex  A = L L^H      lu_factor_ex  A = P L U      ldl_factor_ex  A = L D L^H (or L D L^T)
 *
 * Where a factorisation breaks down, info says at which row; it is an error only if the call asked for that (check_errors). */
#include "kernel/lapack.h"

#include <string.h>

static tc_status as_errors(const tc_la *j, bool wanted, const char *format, const char *what) {
    char place[48];
    int64_t b = wanted ? tc_la_failed(j, place) : -1;
    if (b < 0) return NULL;
    tc_buf text = {0};
    tc_buf_printf(&text, format, j->info[b], j->info[b]);
    tc_status s = tc_error(TC_CONTENT, "LinAlgError: %s: %s%s", what, place, tc_buf_str(&text));
    tc_buf_free(&text);
    return s;
}
static void store_info(const tc_la *j, const tc_tensor *out) {
    if (j->batch) memcpy(tc_tensor_data(out), j->info, (size_t)j->batch * sizeof(int));
}

/* ---- Cholesky ---- */
static int cholesky_one(const tc_la *j, int64_t b, double *w) {
    int n = j->n, c = j->c, ld = tc_la_ld(n), info;
    double *a = w + j->at[0];
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, n, n);
    info = n ? j->ops->potrf(j->flag[0] ? 'U' : 'L', n, a, ld) : 0;
    for (int k = 0; k < n; k++) /* zeros the other triangle */
        for (int i = j->flag[0] ? k + 1 : 0; i < (j->flag[0] ? n : k); i++)
            for (int q = 0; q < c; q++) a[((int64_t)k * ld + i) * c + q] = 0;
    tc_la_store(j, a, ld, &j->call->outs[0], b, n, n);
    return info;
}
static tc_status cholesky_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], "cholesky"));
    j->n = (int)a->size[a->rank - 1], j->flag[0] = tc_k_bool(c, 1), j->one = cholesky_one;
    j->at[0] = tc_la_matrix(j, j->n, j->n);
    return NULL;
}
static tc_status cholesky(tc_kcall *c) {
    tc_la j;
    TC_TRY(cholesky_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    store_info(&j, &c->outs[1]);
    return as_errors(&j, tc_k_bool(c, 2),
                     "The factorization could not be completed because the input is not positive-definite (the leading minor of order %d is not "
                     "positive-definite).",
                     "linalg.cholesky");
}
static size_t cholesky_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(cholesky_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_cholesky_ex = {"linalg_cholesky_ex", 0, cholesky, cholesky_scratch};

/* ---- LU ---- */
static int lu_one(const tc_la *j, int64_t b, double *w) {
    double *a = w + j->at[0];
    int *pivots = (int *)(w + j->at[1]), info = 0;
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, j->m, j->n);
    if (j->k) info = j->ops->getrf(j->m, j->n, a, tc_la_ld(j->m), pivots);
    tc_la_store(j, a, tc_la_ld(j->m), &j->call->outs[0], b, j->m, j->n);
    tc_la_store_ints(j, pivots, &j->call->outs[1], b, j->k);
    return info;
}
static tc_status lu_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 2], (double)a->size[a->rank - 1], "lu_factor"));
    j->m = (int)a->size[a->rank - 2], j->n = (int)a->size[a->rank - 1], j->k = j->m < j->n ? j->m : j->n, j->one = lu_one;
    j->at[0] = tc_la_matrix(j, j->m, j->n), j->at[1] = tc_la_take(j, j->k);
    return NULL;
}
static tc_status lu(tc_kcall *c) {
    tc_la j;
    TC_TRY(lu_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    store_info(&j, &c->outs[2]);
    return as_errors(&j, tc_k_bool(c, 2),
                     "U[%d,%d] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, "
                     "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
                     "linalg.lu_factor");
}
static size_t lu_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(lu_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_lu_factor_ex = {"linalg_lu_factor_ex", 0, lu, lu_scratch};

/* A X = B or A^H X = B. With A on the right, X A = B is solved as A^T X^T = B^T, and X A^H = B as A conj(X)^T = conj(B)^T. */
static int lu_solve_one(const tc_la *j, int64_t b, double *w) {
    const tc_kcall *c = j->call;
    double *a = w + j->at[0], *x = w + j->at[1];
    int *pivots = (int *)(w + j->at[2]), ld = tc_la_ld(j->n);
    bool left = j->flag[0], adjoint = j->flag[1];
    if (!j->n || !j->nrhs) return 0;
    tc_la_load(j, a, tc_k_tensor(c, 0), b, j->n, j->n);
    tc_la_load_ints(j, pivots, tc_k_tensor(c, 1), b, j->n);
    for (int i = 0; i < j->n; i++)
        if (pivots[i] < 1 || pivots[i] > j->n) return -1;
    if (left) tc_la_load(j, x, tc_k_tensor(c, 2), b, j->n, j->nrhs);
    else tc_la_load_t(j, x, tc_k_tensor(c, 2), b, j->nrhs, j->n, adjoint);
    j->ops->getrs(left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T'), j->n, j->nrhs, a, ld, pivots, x, ld);
    if (left) tc_la_store(j, x, ld, &c->outs[0], b, j->n, j->nrhs);
    else tc_la_store_t(j, x, ld, &c->outs[0], b, j->nrhs, j->n, adjoint);
    return 0;
}
/* B has the batch of the result; its columns (left) or rows (right) are the right-hand sides. */
static tc_status solve_plan(const tc_kcall *c, tc_la *j, bool left, const char *what) {
    const tc_tensor *a = tc_k_tensor(c, 0), *out = &c->outs[0];
    int64_t rhs = out->size[out->rank - (left ? 1 : 2)];
    TC_TRY(tc_la_plan(j, c, a, out, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], what));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)rhs, what));
    j->n = (int)a->size[a->rank - 1], j->nrhs = (int)rhs;
    j->at[0] = tc_la_matrix(j, j->n, j->n), j->at[1] = tc_la_matrix(j, j->n, rhs), j->at[2] = tc_la_take(j, j->n);
    return NULL;
}
static tc_status lu_solve_plan(const tc_kcall *c, tc_la *j) {
    TC_TRY(solve_plan(c, j, tc_k_bool(c, 3), "lu_solve"));
    j->flag[0] = tc_k_bool(c, 3), j->flag[1] = tc_k_bool(c, 4), j->one = lu_solve_one;
    return NULL;
}
static tc_status lu_solve(tc_kcall *c) {
    tc_la j;
    char place[48];
    TC_TRY(lu_solve_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    if (tc_la_failed(&j, place) >= 0) return tc_error(TC_CONTENT, "linalg.lu_solve: %spivots must be between 1 and %d", place, j.n);
    return NULL;
}
static size_t lu_solve_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(lu_solve_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_lu_solve = {"linalg_lu_solve", 0, lu_solve, lu_solve_scratch};

/* ---- P, L and U as matrices, without LAPACK ---- */
typedef struct {
    const char *from;
    char *to;
    int64_t m, n;
    size_t e;
    char one[16];
} unpacking;
/* L (lower, with a unit diagonal) or U from the packed LU. */
static void triangle(const unpacking *u, const tc_tensor *lu, int64_t at, bool lower) {
    int64_t rows = u->m, cols = u->n;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k++) {
            char *to = u->to + (size_t)(i * cols + k) * u->e;
            if (lower && i == k) memcpy(to, u->one, u->e);
            else if (lower ? i > k : i <= k)
                memcpy(to, (char *)lu->storage->data + (size_t)(at + i * lu->stride[lu->rank - 2] + k * lu->stride[lu->rank - 1]) * u->e, u->e);
            else memset(to, 0, u->e);
        }
}
static tc_status permutation(const tc_la *j, const tc_tensor *pivots, int64_t b, const unpacking *u, int32_t *perm) {
    int64_t k = pivots->size[pivots->rank - 1], at = tc_la_offset(j, pivots, 1, b), m = u->m;
    for (int64_t i = 0; i < m; i++) perm[i] = (int32_t)i;
    for (int64_t i = 0; i < k; i++) {
        int32_t p = ((const int32_t *)pivots->storage->data)[at + i * pivots->stride[pivots->rank - 1]] - 1, t = perm[i];
        if (p < 0 || p >= m) return tc_error(TC_CONTENT, "lu_unpack: pivots must be between 1 and %lld, got %d", (long long)m, p + 1);
        perm[i] = perm[p], perm[p] = t;
    }
    memset(u->to, 0, (size_t)(m * m) * u->e);
    for (int64_t i = 0; i < m; i++) memcpy(u->to + (size_t)(perm[i] * m + i) * u->e, u->one, u->e);
    return NULL;
}
static tc_status lu_unpack(tc_kcall *c) {
    const tc_tensor *lu_ = tc_k_tensor(c, 0), *pivots = tc_k_tensor(c, 1);
    int64_t m = lu_->size[lu_->rank - 2], n = lu_->size[lu_->rank - 1], k = m < n ? m : n;
    tc_la j = {.batch = 1, .batch_of = lu_, .batch_tail = 2};
    unpacking u = {.e = tc_dtype_size(lu_->dtype)};
    tc_scalar_store(lu_->dtype, u.one, 0, tc_scalar_int(1));
    for (int d = 0; d + 2 < lu_->rank; d++) j.batch *= lu_->size[d];
    for (int64_t b = 0; b < j.batch; b++) {
        int64_t at = tc_la_offset(&j, lu_, 2, b);
        if (tc_k_bool(c, 2)) {
            u.m = m, u.n = k, u.to = (char *)tc_tensor_data(&c->outs[1]) + (size_t)(b * m * k) * u.e;
            triangle(&u, lu_, at, true);
            u.m = k, u.n = n, u.to = (char *)tc_tensor_data(&c->outs[2]) + (size_t)(b * k * n) * u.e;
            triangle(&u, lu_, at, false);
        }
        if (!tc_k_bool(c, 3)) continue;
        u.m = m, u.to = (char *)tc_tensor_data(&c->outs[0]) + (size_t)(b * m * m) * u.e;
        TC_TRY(permutation(&j, pivots, b, &u, c->scratch));
    }
    return NULL;
}
static size_t lu_unpack_scratch(const tc_kcall *c, int threads) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    (void)threads;
    return (size_t)a->size[a->rank - 2] * sizeof(int32_t);
}
const tc_kernel tc_k_lu_unpack = {"lu_unpack", 0, lu_unpack, lu_unpack_scratch};

/* ---- Bunch-Kaufman ---- */
static int ldl_one(const tc_la *j, int64_t b, double *w) {
    double *a = w + j->at[0];
    int *pivots = (int *)(w + j->at[1]), n = j->n, ld = tc_la_ld(n), info = 0;
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, n, n);
    if (n) info = j->ops->sytrf(j->flag[0], 'L', n, a, ld, pivots, w + j->at[2], j->lwork);
    for (int k = 1; k < n; k++) memset(a + (int64_t)k * ld * j->c, 0, (size_t)(k * j->c) * sizeof(double));
    tc_la_store(j, a, ld, &j->call->outs[0], b, n, n);
    tc_la_store_ints(j, pivots, &j->call->outs[1], b, n);
    return info;
}
static tc_status ldl_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    double want[2] = {1}, none[2] = {0};
    int pivot = 0;
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], "ldl_factor"));
    j->n = (int)a->size[a->rank - 1], j->flag[0] = tc_k_bool(c, 1), j->one = ldl_one;
    j->ops->sytrf(j->flag[0], 'L', j->n, none, tc_la_ld(j->n), &pivot, want, -1);
    j->lwork = want[0] < 1 ? 1 : (int)want[0];
    j->at[0] = tc_la_matrix(j, j->n, j->n), j->at[1] = tc_la_take(j, j->n), j->at[2] = tc_la_matrix(j, j->lwork, 1);
    return NULL;
}
static tc_status ldl(tc_kcall *c) {
    tc_la j;
    TC_TRY(ldl_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    store_info(&j, &c->outs[2]);
    return as_errors(
        &j, tc_k_bool(c, 2),
        "The factorization could not be completed because the input is singular: D[%d,%d] is zero and solving with it would divide by zero.",
        "linalg.ldl_factor");
}
static size_t ldl_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(ldl_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_ldl_factor_ex = {"linalg_ldl_factor_ex", 0, ldl, ldl_scratch};

static int ldl_solve_one(const tc_la *j, int64_t b, double *w) {
    const tc_kcall *c = j->call;
    double *a = w + j->at[0], *x = w + j->at[1];
    int *pivots = (int *)(w + j->at[2]), ld = tc_la_ld(j->n);
    if (!j->n || !j->nrhs) return 0;
    tc_la_load(j, a, tc_k_tensor(c, 0), b, j->n, j->n);
    tc_la_load_ints(j, pivots, tc_k_tensor(c, 1), b, j->n);
    for (int i = 0; i < j->n; i++) { /* a 2 by 2 block has the same negative entry twice */
        int p = pivots[i];
        if (p == 0 || p > j->n || p < -j->n) return -1;
        if (p < 0 && (i + 1 == j->n || pivots[++i] != p)) return -1;
    }
    tc_la_load(j, x, tc_k_tensor(c, 2), b, j->n, j->nrhs);
    j->ops->sytrs(j->flag[0], 'L', j->n, j->nrhs, a, ld, pivots, x, ld);
    tc_la_store(j, x, ld, &c->outs[0], b, j->n, j->nrhs);
    return 0;
}
static tc_status ldl_solve_plan(const tc_kcall *c, tc_la *j) {
    TC_TRY(solve_plan(c, j, true, "ldl_solve"));
    j->flag[0] = tc_k_bool(c, 3), j->one = ldl_solve_one;
    return NULL;
}
static tc_status ldl_solve(tc_kcall *c) {
    tc_la j;
    char place[48];
    TC_TRY(ldl_solve_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    if (tc_la_failed(&j, place) >= 0) return tc_error(TC_CONTENT, "linalg.ldl_solve: %spivots are not those of ldl_factor", place);
    return NULL;
}
static size_t ldl_solve_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(ldl_solve_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_ldl_solve = {"linalg_ldl_solve", 0, ldl_solve, ldl_solve_scratch};

/* ---- triangular systems: self X = B or X self = B ---- */
static int triangular_one(const tc_la *j, int64_t b, double *w) {
    const tc_kcall *c = j->call;
    double *a = w + j->at[0], *x = w + j->at[1];
    bool left = j->flag[1];
    int rows = left ? j->n : j->nrhs, cols = left ? j->nrhs : j->n;
    if (!j->n || !j->nrhs) return 0;
    tc_la_load(j, a, tc_k_tensor(c, 0), b, j->n, j->n);
    tc_la_load(j, x, tc_k_tensor(c, 1), b, rows, cols);
    j->ops->trsm(left ? 'L' : 'R', j->flag[0] ? 'U' : 'L', 'N', j->flag[2] ? 'U' : 'N', rows, cols, a, tc_la_ld(j->n), x, tc_la_ld(rows));
    tc_la_store(j, x, tc_la_ld(rows), &c->outs[0], b, rows, cols);
    return 0;
}
static tc_status triangular_plan(const tc_kcall *c, tc_la *j) {
    TC_TRY(solve_plan(c, j, tc_k_bool(c, 3), "solve_triangular"));
    for (int i = 0; i < 3; i++) j->flag[i] = tc_k_bool(c, 2 + i);
    j->one = triangular_one;
    return NULL;
}
static tc_status triangular(tc_kcall *c) {
    tc_la j;
    TC_TRY(triangular_plan(c, &j));
    return tc_la_run(&j, c);
}
static size_t triangular_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(triangular_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_solve_triangular = {"linalg_solve_triangular", 0, triangular, triangular_scratch};
