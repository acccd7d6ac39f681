/* The functions of tc_lapack.h over Fortran's calling convention: every argument by address, and a hidden length at the end for each string. */
#include "tc_lapack.h"

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernel/scalar.h"

typedef const int *in;
#define S const char *
#define ARGS(...) (__VA_ARGS__)

/* LAPACK's error handler, which would print and stop, does nothing: arguments are checked before. */
__attribute__((visibility("default"))) void xerbla_(S name, in info, size_t n);
void xerbla_(S name, in info, size_t n) { (void)name, (void)info, (void)n; }
#ifndef TC_OPENBLAS /* OpenBLAS links the Fortran run-time library, and its bits depend on the processor anyway */
/* The only function of the Fortran run-time library that these routines call: joins two strings, padded with blanks. */
void _gfortran_concat_string(size_t nto, char *to, size_t na, S a, size_t nb, S b);
void _gfortran_concat_string(size_t nto, char *to, size_t na, S a, size_t nb, S b) {
    for (size_t i = 0; i < nto; i++) to[i] = i < na ? a[i] : i - na < nb ? b[i - na] : ' ';
}

/* Elementary functions of our own take precedence over the C library's, whose bits differ by processor. */
double log(double x) { return tc_x_log_f64(x); }
double log10(double x) { return tc_x_log10_f64(x); }
float logf(float x) { return (float)tc_x_log_f64((double)x); }
double pow(double x, double y) { return tc_x_pow_f64(x, y); }
double cabs(double complex z) { /* as dlapy2 */
    double a = fabs(creal(z)), b = fabs(cimag(z)), w = a > b ? a : b, v = a > b ? b : a;
    if (a != a || b != b) return a + b;
    return v == 0 || w > 0x1.fffffffffffffp1023 ? w : w * sqrt(1 + v / w * (v / w));
}
static double complex of_parts(double re, double im) { /* CMPLX is not everywhere, and re + I * im loses signs of 0 */
    double parts[2] = {re, im};
    double complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}
double complex csqrt(double complex z) {
    double a = creal(z), b = cimag(z), t = sqrt((fabs(a) + cabs(z)) / 2);
    if (t == 0) return of_parts(0, b);
    return a >= 0 ? of_parts(t, b / (2 * t)) : of_parts(fabs(b) / (2 * t), copysign(t, b));
}
#endif

#define BOTH(name, args)  \
    void d##name##_ args; \
    void z##name##_ args
BOTH(potrf, ARGS(S, in, double *, in, int *, size_t));
BOTH(getrf, ARGS(in, in, double *, in, int *, int *));
BOTH(sytrf, ARGS(S, in, double *, in, int *, double *, in, int *, size_t));
void zhetrf_(S, in, double *, in, int *, double *, in, int *, size_t);
BOTH(getrs, ARGS(S, in, in, const double *, in, in, double *, in, int *, size_t));
BOTH(sytrs, ARGS(S, in, in, const double *, in, in, double *, in, int *, size_t));
void zhetrs_(S, in, in, const double *, in, in, double *, in, int *, size_t);
BOTH(trsm, ARGS(S, S, S, S, in, in, const double *, const double *, in, double *, in, size_t, size_t, size_t, size_t));
BOTH(gemm, ARGS(S, S, in, in, in, const double *, const double *, in, const double *, in, const double *, double *, in, size_t, size_t));
BOTH(geqrf, ARGS(in, in, double *, in, double *, double *, in, int *));
void dorgqr_(in, in, in, double *, in, const double *, double *, in, int *), zungqr_(in, in, in, double *, in, const double *, double *, in, int *);
void dgesdd_(S, in, in, double *, in, double *, double *, in, double *, in, double *, in, int *, int *, size_t);
void zgesdd_(S, in, in, double *, in, double *, double *, in, double *, in, double *, in, double *, int *, int *, size_t);
void dsyevd_(S, S, in, double *, in, double *, double *, in, int *, in, int *, size_t, size_t);
void zheevd_(S, S, in, double *, in, double *, double *, in, double *, in, int *, in, int *, size_t, size_t);
void dgeev_(S, S, in, double *, in, double *, double *, double *, in, double *, in, double *, in, int *, size_t, size_t);
void zgeev_(S, S, in, double *, in, double *, double *, in, double *, in, double *, in, double *, int *, size_t, size_t);
void dgelsy_(in, in, in, double *, in, double *, in, int *, const double *, int *, double *, in, int *);
void zgelsy_(in, in, in, double *, in, double *, in, int *, const double *, int *, double *, in, double *, int *);

static const double one[2] = {1, 0};

/* ---- real ---- */
static int d_potrf(char uplo, int n, double *a, int lda) {
    int info = 0;
    dpotrf_(&uplo, &n, a, &lda, &info, 1);
    return info;
}
static int d_getrf(int m, int n, double *a, int lda, int *ipiv) {
    int info = 0;
    dgetrf_(&m, &n, a, &lda, ipiv, &info);
    return info;
}
static int d_sytrf(int hermitian, char uplo, int n, double *a, int lda, int *ipiv, double *work, int lwork) {
    int info = 0;
    (void)hermitian;
    dsytrf_(&uplo, &n, a, &lda, ipiv, work, &lwork, &info, 1);
    return info;
}
static int d_getrs(char trans, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb) {
    int info = 0;
    dgetrs_(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1);
    return info;
}
static int d_sytrs(int hermitian, char uplo, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb) {
    int info = 0;
    (void)hermitian;
    dsytrs_(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1);
    return info;
}
static void d_trsm(char side, char uplo, char trans, char diag, int m, int n, const double *a, int lda, double *b, int ldb) {
    dtrsm_(&side, &uplo, &trans, &diag, &m, &n, one, a, &lda, b, &ldb, 1, 1, 1, 1);
}
static void d_gemm(char ta, char tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb, double beta, double *c,
                   int ldc) {
    dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
static int d_geqrf(int m, int n, double *a, int lda, double *tau, double *work, int lwork) {
    int info = 0;
    dgeqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);
    return info;
}
static int d_orgqr(int m, int n, int k, double *a, int lda, const double *tau, double *work, int lwork) {
    int info = 0;
    dorgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);
    return info;
}
static int d_gesdd(char jobz, int m, int n, double *a, int lda, double *s, double *u, int ldu, double *vt, int ldvt, double *work, int lwork,
                   double *rwork, int *iwork) {
    int info = 0;
    if (lwork == -1) rwork[0] = 1;
    dgesdd_(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info, 1);
    return info;
}
static int d_heevd(char jobz, char uplo, int n, double *a, int lda, double *w, double *work, int lwork, double *rwork, int lrwork, int *iwork,
                   int liwork) {
    int info = 0;
    (void)lrwork;
    if (lwork == -1) rwork[0] = 1;
    dsyevd_(&jobz, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork, &info, 1, 1);
    return info;
}
/* Complex pairs of eigenvectors come as a column of real parts and one of imaginary parts, for the two conjugate ones. */
static int d_geev(char jobv, int n, double *a, int lda, double *w, double *v, double *work, int lwork, double *rwork) {
    int info = 0, ld = n > 1 ? n : 1;
    double *re = rwork, *im = rwork + n, *x = rwork + 2 * (size_t)n;
    char no = 'N';
    dgeev_(&no, &jobv, &n, a, &lda, re, im, x, &ld, x, &ld, work, &lwork, &info, 1, 1);
    if (lwork == -1 || info) return info;
    for (int j = 0; j < n; j++) w[2 * j] = re[j], w[2 * j + 1] = im[j];
    if (jobv != 'V') return info;
    for (int j = 0; j < n; j++) {
        const double *p = x + (size_t)j * (size_t)n, *q = p + n;
        double *to = v + 2 * (size_t)j * (size_t)n;
        if (im[j] == 0) {
            for (int i = 0; i < n; i++) to[2 * i] = p[i], to[2 * i + 1] = 0;
            continue;
        }
        for (int i = 0; i < n; i++) to[2 * i] = p[i], to[2 * i + 1] = q[i], to[2 * (i + n)] = p[i], to[2 * (i + n) + 1] = -q[i];
        j++;
    }
    return info;
}
static int d_gelsy(int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *jpvt, double rcond, int *rank, double *work, int lwork,
                   double *rwork) {
    int info = 0;
    (void)rwork;
    dgelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, rank, work, &lwork, &info);
    return info;
}

/* ---- complex ---- */
static int z_potrf(char uplo, int n, double *a, int lda) {
    int info = 0;
    zpotrf_(&uplo, &n, a, &lda, &info, 1);
    return info;
}
static int z_getrf(int m, int n, double *a, int lda, int *ipiv) {
    int info = 0;
    zgetrf_(&m, &n, a, &lda, ipiv, &info);
    return info;
}
static int z_sytrf(int hermitian, char uplo, int n, double *a, int lda, int *ipiv, double *work, int lwork) {
    int info = 0;
    (hermitian ? zhetrf_ : zsytrf_)(&uplo, &n, a, &lda, ipiv, work, &lwork, &info, 1);
    return info;
}
static int z_getrs(char trans, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb) {
    int info = 0;
    zgetrs_(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1);
    return info;
}
static int z_sytrs(int hermitian, char uplo, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb) {
    int info = 0;
    (hermitian ? zhetrs_ : zsytrs_)(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1);
    return info;
}
static void z_trsm(char side, char uplo, char trans, char diag, int m, int n, const double *a, int lda, double *b, int ldb) {
    ztrsm_(&side, &uplo, &trans, &diag, &m, &n, one, a, &lda, b, &ldb, 1, 1, 1, 1);
}
static void z_gemm(char ta, char tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb, double beta, double *c,
                   int ldc) {
    double x[2] = {alpha, 0}, y[2] = {beta, 0};
    zgemm_(&ta, &tb, &m, &n, &k, x, a, &lda, b, &ldb, y, c, &ldc, 1, 1);
}
static int z_geqrf(int m, int n, double *a, int lda, double *tau, double *work, int lwork) {
    int info = 0;
    zgeqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);
    return info;
}
static int z_orgqr(int m, int n, int k, double *a, int lda, const double *tau, double *work, int lwork) {
    int info = 0;
    zungqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);
    return info;
}
static int z_gesdd(char jobz, int m, int n, double *a, int lda, double *s, double *u, int ldu, double *vt, int ldvt, double *work, int lwork,
                   double *rwork, int *iwork) {
    int info = 0;
    if (lwork == -1) { /* the formula of zgesdd's page; its query leaves rwork out */
        double mn = m < n ? m : n, mx = m < n ? n : m, all = 5 * mn * mn + 5 * mn, tall = 2 * mx * mn + 2 * mn * mn + mn;
        rwork[0] = jobz == 'N' ? 7 * mn + 1 : 1 + (all > tall ? all : tall);
    }
    zgesdd_(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, rwork, iwork, &info, 1);
    return info;
}
static int z_heevd(char jobz, char uplo, int n, double *a, int lda, double *w, double *work, int lwork, double *rwork, int lrwork, int *iwork,
                   int liwork) {
    int info = 0;
    zheevd_(&jobz, &uplo, &n, a, &lda, w, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, 1, 1);
    return info;
}
static int z_geev(char jobv, int n, double *a, int lda, double *w, double *v, double *work, int lwork, double *rwork) {
    int info = 0, ld = n > 1 ? n : 1;
    char no = 'N';
    zgeev_(&no, &jobv, &n, a, &lda, w, v, &ld, v, &ld, work, &lwork, rwork, &info, 1, 1);
    return info;
}
static int z_gelsy(int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *jpvt, double rcond, int *rank, double *work, int lwork,
                   double *rwork) {
    int info = 0;
    zgelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, rank, work, &lwork, rwork, &info);
    return info;
}

__attribute__((visibility("default"))) extern const tc_lapack_table tc_lapack;
const tc_lapack_table tc_lapack = {
    TC_LAPACK_VERSION,
    {d_potrf, d_getrf, d_sytrf, d_getrs, d_sytrs, d_trsm, d_gemm, d_geqrf, d_orgqr, d_gesdd, d_heevd, d_geev, d_gelsy},
    {z_potrf, z_getrf, z_sytrf, z_getrs, z_sytrs, z_trsm, z_gemm, z_geqrf, z_orgqr, z_gesdd, z_heevd, z_geev, z_gelsy},
};
