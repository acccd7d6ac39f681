/* The reference LAPACK as a table of functions in a library of its own, so that programs start without it: tc-lapack.so is linked from the static
 * liblapack.a and libblas.a by path (so no other BLAS can take their place) and opened by the first operator that needs it (kernel/lapack.c). Only
 * dgemm is our own, with the reference's bits (gemm.c). tc-openblas.so is the same table over Debian's serial OpenBLAS, for --numerics=fast.
 *
 * Only double precision: float32 matrices are widened when they are copied to the column-major form that LAPACK needs, and rounded when results are
 * copied back. Complex elements are pairs of doubles. Matrices are column-major with a leading dimension of at least max(1, rows); sizes fit an int.
 * Functions return LAPACK's info: 0, or where the factorisation broke down or did not converge. With lwork = -1 they only store the workspace sizes,
 * in work[0] and, where there are such arguments, iwork[0] and rwork[0]. */
#ifndef TC_KERNEL_SHIM_TC_LAPACK_H
#define TC_KERNEL_SHIM_TC_LAPACK_H

#define TC_LAPACK_VERSION 1

typedef struct {
    /* factorisations in place: Cholesky; LU with row interchanges; Bunch-Kaufman (hermitian: A = L D L^H, else L D L^T) */
    int (*potrf)(char uplo, int n, double *a, int lda);
    int (*getrf)(int m, int n, double *a, int lda, int *ipiv);
    int (*sytrf)(int hermitian, char uplo, int n, double *a, int lda, int *ipiv, double *work, int lwork);
    /* solutions replace b; trans: 'N', 'T', 'C' */
    int (*getrs)(char trans, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb);
    int (*sytrs)(int hermitian, char uplo, int n, int nrhs, const double *a, int lda, const int *ipiv, double *b, int ldb);
    void (*trsm)(char side, char uplo, char trans, char diag, int m, int n, const double *a, int lda, double *b, int ldb);
    void (*gemm)(char transa, char transb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb, double beta,
                 double *c, int ldc);
    /* QR as Householder vectors; Q formed from them */
    int (*geqrf)(int m, int n, double *a, int lda, double *tau, double *work, int lwork);
    int (*orgqr)(int m, int n, int k, double *a, int lda, const double *tau, double *work, int lwork);
    /* jobz: 'A': all of U and V^H; 'S': min(m, n) columns and rows; 'N': values only. iwork: 8 min(m, n); rwork: complex only, size by the query */
    int (*gesdd)(char jobz, int m, int n, double *a, int lda, double *s, double *u, int ldu, double *vt, int ldvt, double *work, int lwork,
                 double *rwork, int *iwork);
    /* eigenvalues, ascending, to w; vectors (jobz 'V') replace a; sizes of rwork and iwork by the query */
    int (*heevd)(char jobz, char uplo, int n, double *a, int lda, double *w, double *work, int lwork, double *rwork, int lrwork, int *iwork,
                 int liwork);
    /* eigenvalues of a general matrix, as n pairs, to w; vectors (jobv 'V'), as n columns of n pairs, to v. rwork: 2 n doubles, for real matrices
     * with vectors 2 n + n * n */
    int (*geev)(char jobv, int n, double *a, int lda, double *w, double *v, double *work, int lwork, double *rwork);
    /* least squares by complete orthogonal factorisation; b is max(m, n) x nrhs; jpvt: n zeros; rwork: 2 n */
    int (*gelsy)(int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *jpvt, double rcond, int *rank, double *work, int lwork,
                 double *rwork);
} tc_lapack_ops;

typedef struct {
    int version;
    tc_lapack_ops real, complex;
} tc_lapack_table; /* the symbol tc_lapack */

#endif
