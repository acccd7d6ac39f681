/* Checks and helpers of linear algebra (linalg.h). */
#include "op/linalg.h"

static tc_status wrong(const tc_shape_ctx *c, const char *what, const char *text) { return tc_sh_fail(c, "%s: %s", what, text); }

static tc_status need_type(const tc_shape_ctx *c, tc_dtype d, const char *what) {
    if (d == TC_F32 || d == TC_F64 || d == TC_C64 || d == TC_C128) return NULL;
    if (tc_is_float(d) || tc_is_complex(d)) return tc_sh_fail(c, "%s: Low precision dtypes not supported. Got %s", what, tc_dtypes[d].torch);
    return tc_sh_fail_as(c, "NotImplementedError", "%s: Expected a floating point or complex tensor as input. Got %s", what, tc_dtypes[d].torch);
}
tc_status tc_la_need(tc_shape_ctx *c, int arg, const char *what, int rank) {
    TC_TRY(tc_sh_need_tensor(c, arg));
    const tc_meta *m = tc_sh_meta(c, arg);
    if (m->rank < rank)
        return tc_sh_fail(c, "%s: The input tensor %s must have at least %d dimensions.", what, tc_op_schema(c->op)->params[arg].name, rank);
    return need_type(c, m->dtype, what);
}
tc_status tc_la_need_square(tc_shape_ctx *c, int arg, const char *what) {
    TC_TRY(tc_la_need(c, arg, what, 2));
    const tc_meta *m = tc_sh_meta(c, arg);
    if (tc_sh_same(c, m->size[m->rank - 2], m->size[m->rank - 1])) return NULL;
    tc_buf t = {0};
    tc_sym_print(&t, m->size[m->rank - 2]);
    tc_buf_puts(&t, " by ");
    tc_sym_print(&t, m->size[m->rank - 1]);
    tc_status s = tc_sh_fail(c, "%s: %s must be batches of square matrices, but they are %s matrices", what, tc_op_schema(c->op)->params[arg].name,
                             tc_buf_str(&t));
    tc_buf_free(&t);
    return s;
}
tc_status tc_la_need_same(tc_shape_ctx *c, int a, int b, const char *what) {
    TC_TRY(tc_sh_need_tensor(c, b));
    tc_dtype x = tc_sh_meta(c, a)->dtype, y = tc_sh_meta(c, b)->dtype;
    if (x == y) return NULL;
    return tc_sh_fail(c, "%s: Expected %s and %s to have the same dtype, but found %s of type %s and %s of type %s", what,
                      tc_op_schema(c->op)->params[a].name, tc_op_schema(c->op)->params[b].name, tc_op_schema(c->op)->params[a].name,
                      tc_dtypes[x].torch, tc_op_schema(c->op)->params[b].name, tc_dtypes[y].torch);
}
tc_status tc_la_need_pivots(tc_shape_ctx *c, int arg, const char *what) {
    TC_TRY(tc_sh_need_tensor(c, arg));
    if (tc_sh_meta(c, arg)->rank < 1) return wrong(c, what, "pivots must have at least 1 dimension");
    if (tc_sh_meta(c, arg)->dtype == TC_I32) return NULL;
    return tc_sh_fail(c, "%s: pivots should be a Tensor of scalar type torch.int32", what);
}
tc_dims tc_la_dims(const tc_meta *m, int drop) {
    tc_dims d = tc_dims_of(m);
    d.rank -= drop;
    return d;
}
void tc_la_push(tc_dims *d, tc_sym size) { d->size[d->rank++] = size; }
tc_status tc_la_batch(tc_shape_ctx *c, int a, int tail_a, int b, int tail_b, tc_dims *out) {
    *out = (tc_dims){0};
    tc_meta x = *tc_sh_meta(c, a), y = *tc_sh_meta(c, b);
    x.rank -= tail_a, y.rank -= tail_b;
    TC_TRY(tc_sh_broadcast_dims(c, out, &x));
    return tc_sh_broadcast_dims(c, out, &y);
}
tc_status tc_la_matrix_arg(const tc_node *n, int arg, const char *what) {
    const tc_meta *m = tc_arg_meta(n, arg);
    if (!m) return tc_error(TC_CONTENT, "TypeError: %s: %s must be a tensor", tc_op_name(n->op), tc_op_schema(n->op)->params[arg].name);
    if (m->rank < 2) return tc_e_refuse(n, "%s: The input tensor %s must have at least 2 dimensions.", what, tc_op_schema(n->op)->params[arg].name);
    return NULL;
}
tc_status tc_la_square_arg(const tc_node *n, int arg, const char *what) {
    TC_TRY(tc_la_matrix_arg(n, arg, what));
    const tc_meta *m = tc_arg_meta(n, arg);
    tc_symctx *s = n->graph->program->sym;
    if (!tc_sym_differ(s, m->size[m->rank - 2], m->size[m->rank - 1])) return NULL;
    return tc_e_refuse(n, "%s: %s must be batches of square matrices", what, tc_op_schema(n->op)->params[arg].name);
}
bool tc_la_is_vector(tc_symctx *s, const tc_meta *a, const tc_meta *b) {
    if (b->rank == 1) return true;
    if (b->rank != a->rank - 1) return false;
    for (int d = 0; d < b->rank; d++)
        if (a->size[d] != b->size[d] && tc_sym_known(s, tc_sym_op(s, TC_S_EQ, a->size[d], b->size[d], NULL)) != 1) return false;
    return true;
}

/* ---- words ---- */
tc_value *tc_la_mT(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::transpose.int", "vii", a, (int64_t)-2, (int64_t)-1); }
tc_value *tc_la_mH(tc_emit *e, tc_value *a) { return tc_e_conj(e, tc_la_mT(e, a)); }
tc_value *tc_la_mm(tc_emit *e, tc_value *a, tc_value *b) { return tc_e2(e, "aten::matmul", a, b); }
tc_value *tc_la_tril(tc_emit *e, tc_value *a, int64_t k) { return tc_emit_call(e, "aten::tril", "vi", a, k); }
tc_value *tc_la_triu(tc_emit *e, tc_value *a, int64_t k) { return tc_emit_call(e, "aten::triu", "vi", a, k); }
tc_value *tc_la_diagonal(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::diagonal", "viii", a, (int64_t)0, (int64_t)-2, (int64_t)-1); }
tc_value *tc_la_diag(tc_emit *e, tc_value *v) { return tc_e1(e, "aten::diag_embed", v); }
tc_value *tc_la_row(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)-2); }
tc_value *tc_la_col(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)-1); }
tc_value *tc_la_eye(tc_emit *e, tc_sym n, tc_dtype d) { return tc_emit_call(e, "aten::eye", "sd", n, (int)d); }
tc_value *tc_la_narrow(tc_emit *e, tc_value *a, int64_t dim, tc_sym start, tc_sym end) {
    return tc_emit_call(e, "aten::slice.Tensor", "viss", a, dim, start, end);
}
tc_value *tc_la_triangular(tc_emit *e, tc_value *a, tc_value *b, bool upper, bool left, bool unit) {
    return tc_emit_call(e, "aten::linalg_solve_triangular", "vvbbb", a, b, (int)upper, (int)left, (int)unit);
}
tc_value *tc_la_solve(tc_emit *e, tc_value *a, tc_value *b, bool left) {
    return tc_emit_call(e, "aten::_linalg_solve_ex", "vvbb", a, b, (int)left, 0);
}
tc_value *tc_la_sum2(tc_emit *e, tc_value *a, tc_value *b) { return !a ? b : !b ? a : tc_e_add(e, a, b); }
void tc_la_check_errors(tc_emit *e, tc_value *info, const char *what, bool is_matrix) {
    tc_emit_call(e, "aten::_linalg_check_errors", "vtb", info, what, (int)is_matrix);
}
