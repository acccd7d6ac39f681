/* Orthogonal factorisations and spectra: QR, singular values, eigenvalues.
 *
 *     qr  A = Q R      svd  A = U diag(S) Vh      eigh  A = V diag(L) V^H      eig  A V = V diag(L) */
#include "kernel/lapack.h"

#include <math.h>
#include <string.h>

static void identity(const tc_la *j, double *a, int n) {
    memset(a, 0, (size_t)n * (size_t)n * (size_t)j->c * sizeof(double));
    for (int64_t i = 0; i < n; i++) a[(i * n + i) * j->c] = 1;
}
bool tc_la_finite(const double *a, int64_t n) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * 0; /* inf and NaN give NaN */
    return s == 0;
}
int tc_la_workspace(const double *want) { return want[0] < 1 ? 1 : (int)want[0]; }

/* ---- QR ---- */
static tc_status qr_sizes(const tc_kcall *c, tc_la *j, const char *what) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    double none[2] = {0}, want[2] = {1}, more[2] = {1};
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 2], (double)a->size[a->rank - 1], what));
    j->m = (int)a->size[a->rank - 2], j->n = (int)a->size[a->rank - 1], j->k = j->m < j->n ? j->m : j->n;
    j->ops->geqrf(j->m, j->n, none, tc_la_ld(j->m), none, want, -1);
    j->nrhs = j->k; /* columns of Q */
    if (j->code == 'c') j->nrhs = j->m;
    j->ops->orgqr(j->m, j->nrhs, j->k, none, tc_la_ld(j->m), none, more, -1);
    j->lwork = tc_la_workspace(want[0] > more[0] ? want : more);
    return NULL;
}
static int geqrf_one(const tc_la *j, int64_t b, double *w) {
    double *a = w + j->at[0], *tau = w + j->at[1];
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, j->m, j->n);
    if (j->k) j->ops->geqrf(j->m, j->n, a, tc_la_ld(j->m), tau, w + j->at[2], j->lwork);
    tc_la_store(j, a, tc_la_ld(j->m), &j->call->outs[0], b, j->m, j->n);
    tc_la_store_vector(j, tau, j->c, &j->call->outs[1], b, j->k);
    return 0;
}
static tc_status geqrf_plan(const tc_kcall *c, tc_la *j) {
    TC_TRY(qr_sizes(c, j, "geqrf"));
    j->one = geqrf_one;
    j->at[0] = tc_la_matrix(j, j->m, j->n), j->at[1] = tc_la_matrix(j, j->k, 1), j->at[2] = tc_la_matrix(j, j->lwork, 1);
    return NULL;
}
static tc_status geqrf(tc_kcall *c) {
    tc_la j;
    TC_TRY(geqrf_plan(c, &j));
    return tc_la_run(&j, c);
}
static size_t geqrf_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(geqrf_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_geqrf = {"geqrf", 0, geqrf, geqrf_scratch};

/* code: 'c' (complete), 'r' (only R) or 'd' (reduced) */
static int qr_one(const tc_la *j, int64_t b, double *w) {
    double *a = w + j->at[0], *q = w + j->at[3], *r = w + j->at[4];
    int m = j->m, n = j->n, rows = j->code == 'c' ? m : j->k, c = j->c;
    tc_la_load(j, a, tc_k_tensor(j->call, 0), b, m, n);
    if (j->k) j->ops->geqrf(m, n, a, tc_la_ld(m), w + j->at[1], w + j->at[2], j->lwork);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < rows; i++)
            for (int p = 0; p < c; p++) r[(k * rows + i) * c + p] = i <= k ? a[(k * m + i) * c + p] : 0;
    tc_la_store(j, r, tc_la_ld(rows), &j->call->outs[1], b, rows, n);
    if (j->code == 'r') return 0;
    memcpy(q, a, (size_t)m * (size_t)j->k * (size_t)c * sizeof(double));
    if (j->k) j->ops->orgqr(m, j->nrhs, j->k, q, tc_la_ld(m), w + j->at[1], w + j->at[2], j->lwork);
    else if (j->nrhs) identity(j, q, m);
    tc_la_store(j, q, tc_la_ld(m), &j->call->outs[0], b, m, j->nrhs);
    return 0;
}
static tc_status qr_plan(const tc_kcall *c, tc_la *j) {
    const char *mode = c->args[1].string;
    char code = !strcmp(mode, "complete") ? 'c' : !strcmp(mode, "r") ? 'r' : 'd';
    const tc_tensor *a = tc_k_tensor(c, 0);
    if (code == 'c') TC_TRY(tc_la_check(&(tc_la){.c = 2}, (double)a->size[a->rank - 2], (double)a->size[a->rank - 2], "linalg.qr"));
    j->code = code;
    TC_TRY(qr_sizes(c, j, "linalg.qr"));
    if ((j->code = code) == 'c') { /* qr_sizes has reset the plan */
        double none[2] = {0}, want[2] = {1};
        j->nrhs = j->m;
        j->ops->orgqr(j->m, j->nrhs, j->k, none, tc_la_ld(j->m), none, want, -1);
        if (tc_la_workspace(want) > j->lwork) j->lwork = tc_la_workspace(want);
    }
    j->one = qr_one;
    j->at[0] = tc_la_matrix(j, j->m, j->n), j->at[1] = tc_la_matrix(j, j->k, 1), j->at[2] = tc_la_matrix(j, j->lwork, 1);
    j->at[3] = tc_la_matrix(j, j->m, j->nrhs), j->at[4] = tc_la_matrix(j, code == 'c' ? j->m : j->k, j->n);
    return NULL;
}
static tc_status qr(tc_kcall *c) {
    tc_la j;
    TC_TRY(qr_plan(c, &j));
    return tc_la_run(&j, c);
}
static size_t qr_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(qr_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_qr = {"linalg_qr", 0, qr, qr_scratch};

/* ---- singular values. code: gesdd's job ---- */
int tc_la_svd(const tc_la *j, double *w) {
    int ldvt = j->code == 'A' ? j->n : j->k;
    return j->ops->gesdd(j->code, j->m, j->n, w + j->at[0], tc_la_ld(j->m), w + j->at[1], w + j->at[2], tc_la_ld(j->m), w + j->at[3], tc_la_ld(ldvt),
                         w + j->at[4], j->lwork, w + j->at[5], (int *)(w + j->at[6]));
}
tc_status tc_la_svd_plan(const tc_kcall *c, tc_la *j, char code, const char *what) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    double none[2] = {0}, want[2] = {1}, rwant = 1;
    int iwork[8];
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 2], (double)a->size[a->rank - 1], what));
    j->m = (int)a->size[a->rank - 2], j->n = (int)a->size[a->rank - 1], j->k = j->m < j->n ? j->m : j->n, j->code = code;
    if (code == 'A') TC_TRY(tc_la_check(j, j->m > j->n ? j->m : j->n, j->m > j->n ? j->m : j->n, what));
    int u = code == 'A' ? j->m : code == 'S' ? j->k : 0, v = code == 'A' ? j->n : code == 'S' ? j->k : 0;
    j->ops->gesdd(code, j->m, j->n, none, tc_la_ld(j->m), none, none, tc_la_ld(j->m), none, tc_la_ld(code == 'A' ? j->n : j->k), want, -1, &rwant,
                  iwork);
    j->lwork = tc_la_workspace(want), j->lrwork = tc_la_workspace(&rwant);
    j->at[0] = tc_la_matrix(j, j->m, j->n), j->at[1] = tc_la_take(j, j->k), j->at[2] = tc_la_matrix(j, j->m, u), j->at[3] = tc_la_matrix(j, v, j->n);
    j->at[4] = tc_la_matrix(j, j->lwork, 1), j->at[5] = tc_la_take(j, j->lrwork), j->at[6] = tc_la_take(j, 8 * (int64_t)j->k);
    return NULL;
}
static int svd_one(const tc_la *j, int64_t b, double *w) {
    tc_tensor *outs = j->call->outs;
    int u = j->code == 'A' ? j->m : j->k, v = j->code == 'A' ? j->n : j->k;
    tc_la_load(j, w + j->at[0], tc_k_tensor(j->call, 0), b, j->m, j->n);
    if (!tc_la_finite(w + j->at[0], (int64_t)j->m * j->n * j->c)) return -4;
    int info = j->k ? tc_la_svd(j, w) : 0;
    tc_la_store_vector(j, w + j->at[1], 1, &outs[1], b, j->k);
    if (j->code == 'N') return info;
    if (!j->k) {
        if (u) identity(j, w + j->at[2], u);
        if (v) identity(j, w + j->at[3], v);
    }
    tc_la_store(j, w + j->at[2], tc_la_ld(j->m), &outs[0], b, j->m, u);
    tc_la_store(j, w + j->at[3], tc_la_ld(v), &outs[2], b, v, j->n);
    return info;
}
static tc_status svd_plan(const tc_kcall *c, tc_la *j) {
    TC_TRY(tc_la_svd_plan(c, j, !tc_k_bool(c, 2) ? 'N' : tc_k_bool(c, 1) ? 'A' : 'S', "linalg.svd"));
    j->one = svd_one;
    return NULL;
}
tc_status tc_la_convergence(const tc_la *j, const char *what, const char *why) {
    char place[48];
    int64_t b = tc_la_failed(j, place);
    if (b < 0) return NULL;
    if (j->info[b] == -4)
        return tc_error(TC_CONTENT, "LinAlgError: %s: %sThe algorithm failed to converge because the input matrix contained non-finite values.", what,
                        place);
    return tc_error(TC_CONTENT,
                    "LinAlgError: %s: %sThe algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                    "repeated %s (error code: %d).",
                    what, place, why, j->info[b]);
}
static tc_status svd(tc_kcall *c) {
    tc_la j;
    TC_TRY(svd_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    return tc_la_convergence(&j, "linalg.svd", "singular values");
}
static size_t svd_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(svd_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_svd = {"_linalg_svd", 0, svd, svd_scratch};

/* ---- eigenvalues of Hermitian matrices ---- */
static int eigh_one(const tc_la *j, int64_t b, double *w) {
    int n = j->n;
    tc_la_load(j, w + j->at[0], tc_k_tensor(j->call, 0), b, n, n);
    if (!tc_la_finite(w + j->at[0], (int64_t)n * n * j->c)) return -4;
    int info = !n ? 0
                  : j->ops->heevd(j->flag[0] ? 'V' : 'N', j->code, n, w + j->at[0], n, w + j->at[1], w + j->at[2], j->lwork, w + j->at[3], j->lrwork,
                                  (int *)(w + j->at[4]), j->liwork);
    tc_la_store_vector(j, w + j->at[1], 1, &j->call->outs[0], b, n);
    if (j->flag[0]) tc_la_store(j, w + j->at[0], tc_la_ld(n), &j->call->outs[1], b, n, n);
    return info;
}
static tc_status eigh_plan(const tc_kcall *c, tc_la *j) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    double none[2] = {0}, want[2] = {1}, rwant = 1;
    int iwant = 1;
    char upper = c->args[1].string[0];
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], "linalg.eigh"));
    j->n = (int)a->size[a->rank - 1], j->code = upper == 'u' || upper == 'U' ? 'U' : 'L', j->flag[0] = tc_k_bool(c, 2), j->one = eigh_one;
    j->ops->heevd(j->flag[0] ? 'V' : 'N', j->code, j->n, none, tc_la_ld(j->n), none, want, -1, &rwant, -1, &iwant, -1);
    j->lwork = tc_la_workspace(want), j->lrwork = tc_la_workspace(&rwant), j->liwork = iwant < 1 ? 1 : iwant;
    j->at[0] = tc_la_matrix(j, j->n, j->n), j->at[1] = tc_la_take(j, j->n), j->at[2] = tc_la_matrix(j, j->lwork, 1);
    j->at[3] = tc_la_take(j, j->lrwork), j->at[4] = tc_la_take(j, j->liwork);
    return NULL;
}
static tc_status eigh(tc_kcall *c) {
    tc_la j;
    TC_TRY(eigh_plan(c, &j));
    TC_TRY(tc_la_run(&j, c));
    return tc_la_convergence(&j, "linalg.eigh", "eigenvalues");
}
static size_t eigh_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(eigh_plan(c, &j), &j, threads);
}
const tc_kernel tc_k_eigh = {"_linalg_eigh", 0, eigh, eigh_scratch};

/* ---- eigenvalues of general matrices: complex results ---- */
static int eig_one(const tc_la *j, int64_t b, double *w) {
    int n = j->n;
    tc_la out = *j;
    out.c = 2;
    tc_la_load(j, w + j->at[0], tc_k_tensor(j->call, 0), b, n, n);
    if (!tc_la_finite(w + j->at[0], (int64_t)n * n * j->c)) return -4;
    int info = n ? j->ops->geev(j->code, n, w + j->at[0], n, w + j->at[1], w + j->at[2], w + j->at[3], j->lwork, w + j->at[4]) : 0;
    tc_la_store_vector(&out, w + j->at[1], 2, &j->call->outs[0], b, n);
    if (j->code == 'V') tc_la_store(&out, w + j->at[2], tc_la_ld(n), &j->call->outs[1], b, n, n);
    return info;
}
static tc_status eig_plan_of(const tc_kcall *c, tc_la *j, char code) {
    const tc_tensor *a = tc_k_tensor(c, 0);
    double none[2] = {0}, want[2] = {1};
    TC_TRY(tc_la_plan(j, c, a, a, 2));
    TC_TRY(tc_la_check(j, (double)a->size[a->rank - 1], (double)a->size[a->rank - 1], "linalg.eig"));
    j->n = (int)a->size[a->rank - 1], j->code = code, j->one = eig_one;
    int64_t n = j->n, vectors = code == 'V' ? n * n : 0;
    j->ops->geev(code, j->n, none, tc_la_ld(j->n), none, none, want, -1, none);
    j->lwork = tc_la_workspace(want);
    j->at[0] = tc_la_matrix(j, n, n), j->at[1] = tc_la_take(j, 2 * n), j->at[2] = tc_la_take(j, 2 * vectors);
    j->at[3] = tc_la_matrix(j, j->lwork, 1), j->at[4] = tc_la_take(j, 2 * n + (j->c == 1 ? vectors : 0));
    return NULL;
}
static tc_status eig_run(tc_kcall *c, char code) {
    tc_la j;
    char place[48];
    TC_TRY(eig_plan_of(c, &j, code));
    TC_TRY(tc_la_run(&j, c));
    int64_t b = tc_la_failed(&j, place);
    if (b >= 0 && j.info[b] == -4) return tc_error(TC_CONTENT, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    return tc_la_convergence(&j, "linalg.eig", "eigenvalues");
}
static tc_status eig(tc_kcall *c) { return eig_run(c, 'V'); }
static tc_status eigvals(tc_kcall *c) { return eig_run(c, 'N'); }
static size_t eig_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(eig_plan_of(c, &j, 'V'), &j, threads);
}
static size_t eigvals_scratch(const tc_kcall *c, int threads) {
    tc_la j;
    return tc_la_scratch(eig_plan_of(c, &j, 'N'), &j, threads);
}
const tc_kernel tc_k_eig = {"linalg_eig", 0, eig, eig_scratch};
const tc_kernel tc_k_eigvals = {"_linalg_eigvals", 0, eigvals, eigvals_scratch};
