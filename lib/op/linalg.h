/* Shared by the linear algebra families: checks of matrices, and helpers for gradient formulas. Matrices are the last two dimensions, the others are
 * batch dimensions. mH: conjugate transpose. */
#ifndef TC_OP_LINALG_H
#define TC_OP_LINALG_H

#include "kernel/lapack.h"
#include "op/shape.h"

/* ---- checks: `what` names the function in messages, as PyTorch does ---- */
tc_status tc_la_need(tc_shape_ctx *c, int arg, const char *what, int rank); /* f32, f64, c64 or c128 of at least that rank */
tc_status tc_la_need_square(tc_shape_ctx *c, int arg, const char *what);    /* ... of square matrices */
tc_status tc_la_need_same(tc_shape_ctx *c, int a, int b, const char *what); /* one dtype */
tc_status tc_la_need_pivots(tc_shape_ctx *c, int arg, const char *what);    /* i32 */
/* The batch of two arguments, broadcast, followed by rows and cols. */
tc_status tc_la_batch(tc_shape_ctx *c, int a, int tail_a, int b, int tail_b, tc_dims *out);
tc_dims tc_la_dims(const tc_meta *m, int drop); /* all dimensions but the last `drop` */
void tc_la_push(tc_dims *d, tc_sym size);
/* The same for compositions: TC_CONTENT with the operator's name. */
tc_status tc_la_square_arg(const tc_node *n, int arg, const char *what);
tc_status tc_la_matrix_arg(const tc_node *n, int arg, const char *what);
/* Does b hold vectors for the matrices of a? By the rule of torch.linalg.solve. */
bool tc_la_is_vector(tc_symctx *s, const tc_meta *a, const tc_meta *b);

/* ---- helpers for formulas ---- */
static inline tc_sym tc_la_rows(const tc_value *a) { return a->meta.size[a->meta.rank - 2]; }
static inline tc_sym tc_la_cols(const tc_value *a) { return a->meta.size[a->meta.rank - 1]; }
tc_value *tc_la_mT(tc_emit *e, tc_value *a);
tc_value *tc_la_mH(tc_emit *e, tc_value *a);
tc_value *tc_la_mm(tc_emit *e, tc_value *a, tc_value *b);
tc_value *tc_la_tril(tc_emit *e, tc_value *a, int64_t k);
tc_value *tc_la_triu(tc_emit *e, tc_value *a, int64_t k);
tc_value *tc_la_diagonal(tc_emit *e, tc_value *a);
tc_value *tc_la_diag(tc_emit *e, tc_value *v); /* diag_embed */
tc_value *tc_la_row(tc_emit *e, tc_value *v);  /* [*, n] as [*, 1, n]: scales columns */
tc_value *tc_la_col(tc_emit *e, tc_value *v);  /* [*, n] as [*, n, 1]: scales rows */
tc_value *tc_la_eye(tc_emit *e, tc_sym n, tc_dtype d);
tc_value *tc_la_narrow(tc_emit *e, tc_value *a, int64_t dim, tc_sym start, tc_sym end);
tc_value *tc_la_triangular(tc_emit *e, tc_value *a, tc_value *b, bool upper, bool left, bool unit);
tc_value *tc_la_solve(tc_emit *e, tc_value *a, tc_value *b, bool left); /* a X = b without checks */
tc_value *tc_la_sum2(tc_emit *e, tc_value *a, tc_value *b);             /* a + b where either may be NULL */
/* Adds a run-time check: the error of the first matrix whose info is not 0. */
void tc_la_check_errors(tc_emit *e, tc_value *info, const char *what, bool is_matrix);

#endif
