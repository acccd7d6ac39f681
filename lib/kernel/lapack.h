/* Linear algebra through the reference LAPACK (kernel/shim/tc_lapack.h). Workers split the matrices of a batch; each matrix is computed by one
 * worker.
 *
 *     tensor [*, m, n], any strides, f32 f64 c64 c128  --load-->  column-major doubles in scratch  --LAPACK, store-->  results
 *
 * The batch dimensions of arguments are broadcast to those of the result. Matrices whose sizes or workspaces exceed an int are refused. */
#ifndef TC_KERNEL_LAPACK_H
#define TC_KERNEL_LAPACK_H

#include "kernel/kernel.h"
#include "kernel/shim/tc_lapack.h"

extern const tc_kernel tc_k_cholesky_ex;      /* linalg_cholesky_ex(Tensor self, *, bool upper, bool check_errors) -> L, info */
extern const tc_kernel tc_k_lu_factor_ex;     /* linalg_lu_factor_ex(Tensor A, *, bool pivot, bool check_errors) -> LU, pivots, info */
extern const tc_kernel tc_k_lu_solve;         /* linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left, bool adjoint) */
extern const tc_kernel tc_k_lu_unpack;        /* lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data, bool unpack_pivots) -> P, L, U */
extern const tc_kernel tc_k_ldl_factor_ex;    /* linalg_ldl_factor_ex(Tensor self, *, bool hermitian, bool check_errors) -> LD, pivots, info */
extern const tc_kernel tc_k_ldl_solve;        /* linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian) */
extern const tc_kernel tc_k_solve_triangular; /* linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left, bool unitriangular) */
extern const tc_kernel tc_k_geqrf;            /* geqrf(Tensor self) -> a, tau */
extern const tc_kernel tc_k_qr;               /* linalg_qr(Tensor A, str mode) -> Q, R */
extern const tc_kernel tc_k_svd;              /* _linalg_svd(Tensor A, bool full_matrices, bool compute_uv, *, str? driver) -> U, S, Vh */
extern const tc_kernel tc_k_eigh;             /* _linalg_eigh(Tensor A, str UPLO, bool compute_v) -> eigenvalues, eigenvectors */
extern const tc_kernel tc_k_eig;              /* linalg_eig(Tensor self) -> eigenvalues, eigenvectors */
extern const tc_kernel tc_k_eigvals;          /* _linalg_eigvals(Tensor self) */
extern const tc_kernel tc_k_lstsq;            /* linalg_lstsq(Tensor self, Tensor b, float? rcond, *, str? driver) -> solution, residuals, rank, S */
extern const tc_kernel tc_k_matrix_exp;       /* linalg_matrix_exp(Tensor self) */

/* ---- shared by the kernels of lapack_*.c ---- */
typedef struct tc_la tc_la;
/* Computes matrix b of the batch, with scratch w as planned; returns LAPACK's info. */
typedef int (*tc_la_fn)(const tc_la *j, int64_t b, double *w);
struct tc_la {
    tc_kcall *call;
    const tc_lapack_ops *ops;
    tc_la_fn one;
    int c;                     /* doubles of an element: 1 real, 2 complex */
    bool flag[3];              /* for the kernel's own use, as number, code and view */
    int m, n, k, nrhs;         /* sizes; k: min(m, n) */
    int lwork, lrwork, liwork; /* sizes of LAPACK's workspaces */
    const tc_tensor *batch_of; /* its dimensions, but the last batch_tail, are the batch */
    int batch_tail;
    int64_t batch;
    size_t at[12], doubles; /* offsets of the parts of a worker's scratch, and its size, in doubles */
    double number;
    char code;
    tc_tensor view[2]; /* vectors seen as matrices of one column */
    int *info;         /* [batch] */
};

/* Opens tc-lapack.so once; fast: tc-openblas.so, where it exists. TC_ENV: it cannot be loaded. */
tc_status tc_lapack_open(bool fast, const tc_lapack_table **out);
/* Begins a plan: the batch is the dimensions of `batch_of` but its last `tail`; complex if `like` is. */
tc_status tc_la_plan(tc_la *j, const tc_kcall *call, const tc_tensor *like, const tc_tensor *batch_of, int tail);
size_t tc_la_take(tc_la *j, int64_t doubles);                                      /* reserves a part of the scratch; returns its offset */
size_t tc_la_matrix(tc_la *j, int64_t rows, int64_t cols);                         /* the same for rows * cols elements */
tc_status tc_la_check(const tc_la *j, double rows, double cols, const char *what); /* an error unless rows * cols and its workspaces fit an int */
size_t tc_la_scratch(tc_status plan, const tc_la *j, int threads); /* for tc_kernel.scratch; frees a failed plan, which run will report */
tc_status tc_la_run(tc_la *j, tc_kcall *call);                     /* computes all matrices and fills j->info */
/* The first matrix with info != 0; -1: none. *place: "(Batch element 3): " or "". */
int64_t tc_la_failed(const tc_la *j, char place[48]);

/* The element offset of matrix b of the batch in t, whose batch dimensions are broadcast; tail: 2 for matrices, 1 for vectors. */
int64_t tc_la_offset(const tc_la *j, const tc_tensor *t, int tail, int64_t b);
/* rows x cols elements of matrix b, from or to a column-major array; conj: complex elements are conjugated. */
void tc_la_load(const tc_la *j, double *to, const tc_tensor *t, int64_t b, int rows, int cols);
void tc_la_store(const tc_la *j, const double *from, int ld, const tc_tensor *t, int64_t b, int rows, int cols);
void tc_la_load_t(const tc_la *j, double *to, const tc_tensor *t, int64_t b, int rows, int cols, bool conj); /* as its transpose, cols x rows */
void tc_la_store_t(const tc_la *j, const double *from, int ld, const tc_tensor *t, int64_t b, int rows, int cols, bool conj);
void tc_la_store_vector(const tc_la *j, const double *from, int c, const tc_tensor *t, int64_t b, int n); /* c: doubles of an element */
void tc_la_load_ints(const tc_la *j, int *to, const tc_tensor *t, int64_t b, int n);
void tc_la_store_ints(const tc_la *j, const int *from, const tc_tensor *t, int64_t b, int n);
bool tc_la_finite(const double *a, int64_t n);
int tc_la_workspace(const double *want); /* a workspace query's answer as an int, at least 1 */
/* gesdd with job `code`; parts of the scratch: 0: A, 1: S, 2: U, 3: V^H, 4, 5, 6: workspaces. */
tc_status tc_la_svd_plan(const tc_kcall *c, tc_la *j, char code, const char *what);
int tc_la_svd(const tc_la *j, double *w);
tc_status tc_la_convergence(const tc_la *j, const char *what, const char *why); /* the error of the first matrix whose info is not 0 */
static inline int tc_la_ld(int rows) { return rows > 1 ? rows : 1; }

#endif
