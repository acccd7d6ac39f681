/* Factory functions: zeros, ones, full, arange, linspace, eye and their new_ and _like forms.
 *
 *     arange     start + i step, ceil((end - start) / step) elements, in float64 for floating results and int64 for integers
 *     linspace   start + i d below the middle, end - (n - 1 - i) d above it, d = (end - start) / (n - 1) */
#include "op/functionalise.h"
#include "op/lower.h"
#include "op/shape.h"

static tc_dtype type_of_number(const tc_arg *a) {
    tc_kind k = TC_KIND_FLOAT;
    tc_arg_number(a, &k);
    return k == TC_KIND_BOOL ? TC_BOOL : k == TC_KIND_INT ? TC_I64 : k == TC_KIND_FLOAT ? TC_F32 : TC_C64;
}
/* ---- shapes ---- */
static tc_status sizes(tc_shape_ctx *c, int arg, tc_dims *d) {
    int64_t v;
    d->rank = tc_sh_ints(c, arg, d->size, TC_MAX_RANK);
    if (d->rank < 0) d->rank = 0;
    if (d->rank > TC_MAX_RANK) return tc_sh_fail(c, "%d dimensions, at most %d", d->rank, TC_MAX_RANK);
    for (int k = 0; k < d->rank; k++)
        if (tc_sym_const_int(d->size[k], &v) && v < 0) return tc_sh_fail(c, "Trying to create tensor with negative dimension %lld", (long long)v);
    return NULL;
}
static tc_status shape_sized(tc_shape_ctx *c) { /* empty, zeros, ones: size, dtype */
    tc_dims d;
    TC_TRY(sizes(c, 0, &d));
    return tc_sh_out(c, 0, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), TC_F32), &d);
}
static tc_status shape_full(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(sizes(c, 0, &d));
    return tc_sh_out(c, 0, tc_sh_dtype(c, 2, type_of_number(&c->args[1])), &d);
}
static tc_status shape_new(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(sizes(c, 1, &d));
    return tc_sh_out(c, 0, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), tc_sh_meta(c, 0)->dtype), &d);
}
static tc_status shape_like(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    int f = tc_op_param(c->op, "memory_format");
    return tc_sh_out_by_format(c, f >= 0 && c->args[f].kind == TC_A_MEMFORMAT ? c->args[f].code : 4,
                               tc_sh_dtype(c, tc_op_param(c->op, "dtype"), tc_sh_meta(c, 0)->dtype));
}
static tc_status shape_empty_strided(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym stride[TC_MAX_RANK];
    bool fresh = !strncmp(tc_op_schema(c->op)->name, "new", 3);
    TC_TRY(sizes(c, fresh, &d));
    int n = tc_sh_ints(c, fresh + 1, stride, TC_MAX_RANK);
    if (n != d.rank) return tc_sh_fail(c, "dimensionality of sizes (%d) must match dimensionality of strides (%d)", d.rank, n);
    int64_t step;
    for (int k = 0; k < n; k++)
        if (tc_sym_const_int(stride[k], &step) && step < 0 && !tc_sym_is_int(d.size[k], 0))
            return tc_sh_fail(c, "Storage size calculation overflowed with stride %lld of dimension %d", (long long)step, k);
    return tc_sh_out_strided(c, 0, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), fresh ? tc_sh_meta(c, 0)->dtype : TC_F32), &d, stride);
}
static tc_status shape_empty_permuted(tc_shape_ctx *c) {
    tc_dims d;
    int64_t order[TC_MAX_RANK];
    tc_sym stride[TC_MAX_RANK], step = tc_sym_int(tc_sh_sym(c), 1);
    TC_TRY(sizes(c, 0, &d));
    int n = tc_sh_const_ints(c, 1, order, TC_MAX_RANK);
    uint64_t seen = 0;
    if (n != d.rank)
        return tc_sh_fail(c,
                          "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = %d is not equal to "
                          "len(physical_layout) = %d",
                          d.rank, n);
    for (int k = n - 1; k >= 0; k--) {
        if (order[k] < 0 || order[k] >= n)
            return tc_sh_fail(
                c, "Dimension out of range (expected to be between 0 and %d, but got %lld at index %d).  NB: negative dims not currently supported",
                n - 1, (long long)order[k], k);
        if (seen >> order[k] & 1) return tc_sh_fail(c, "Duplicate dim not allowed");
        seen |= (uint64_t)1 << order[k];
        stride[order[k]] = step;
        step = tc_sym_mul(tc_sh_sym(c), step, d.size[order[k]]);
    }
    return tc_sh_out_strided(c, 0, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), TC_F32), &d, stride);
}
static tc_status shape_eye(tc_shape_ctx *c) {
    bool square = tc_op_param(c->op, "m") < 0;
    tc_dims d = {.rank = 2, .size = {tc_sh_int(c, 0), tc_sh_int(c, square ? 0 : 1)}};
    int64_t v;
    for (int k = 0; k < 2; k++)
        if (tc_sym_const_int(d.size[k], &v) && v < 0) return tc_sh_fail(c, "%s must be greater or equal to 0, got %lld", k ? "m" : "n", (long long)v);
    return tc_sh_out(c, 0, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), TC_F32), &d);
}
static tc_status shape_scalar_tensor(tc_shape_ctx *c) {
    tc_dims d = {0};
    return tc_sh_out(c, 0, tc_sh_dtype(c, 1, TC_F32), &d);
}

/* The bounds of arange: positions of start and step among the arguments, -1: implied. */
static void arange_args(const tc_op *op, int *start, int *end, int *step) {
    *start = tc_op_param(op, "start");
    *end = tc_op_param(op, "end");
    *step = tc_op_param(op, "step");
}
static tc_sym number(const tc_shape_ctx *c, int i, int64_t otherwise) { return i < 0 ? tc_sym_int(tc_sh_sym(c), otherwise) : tc_sh_int(c, i); }
static tc_status shape_arange(tc_shape_ctx *c) {
    int s, e, st;
    arange_args(c->op, &s, &e, &st);
    tc_symctx *y = tc_sh_sym(c);
    tc_sym start = number(c, s, 0), end = number(c, e, 0), step = number(c, st, 1), zero = tc_sym_int(y, 0), n;
    bool ints = tc_sym_type(start) != TC_SYM_FLOAT && tc_sym_type(end) != TC_SYM_FLOAT && tc_sym_type(step) != TC_SYM_FLOAT;
    bool inclusive = !strcmp(tc_op_schema(c->op)->name, "range");
    tc_dtype d = tc_sh_dtype(c, tc_op_param(c->op, "dtype"), ints && !inclusive ? TC_I64 : TC_F32);
    double fs, fe, fst;
    if (d == TC_BOOL) return tc_sh_fail_as(c, "NotImplementedError", "not implemented for bool");
    if (tc_sym_const_float(step, &fst)) {
        if (fst == 0) return tc_sh_fail(c, "step must be nonzero");
        if (tc_sym_const_float(start, &fs) && tc_sym_const_float(end, &fe)) {
            if (!(__builtin_isfinite(fs) && __builtin_isfinite(fe))) return tc_sh_fail(c, "unsupported range: %g -> %g", fs, fe);
            if ((fst > 0 && fe < fs) || (fst < 0 && fe > fs)) return tc_sh_fail(c, "upper bound and lower bound inconsistent with step sign");
            if (!ints || inclusive || tc_is_float(d)) { /* whole numbers of a floating type are counted in float64 */
                double count = inclusive ? __builtin_floor((fe - fs) / fst) + 1 : __builtin_ceil((fe - fs) / fst);
                if (count > 9e15) return tc_sh_fail(c, "invalid size, possible overflow?");
                n = tc_sym_int(y, (int64_t)count);
                goto done;
            }
        }
    }
    if (ints) {
        n = tc_sym_ceildiv(y, tc_sym_sub(y, end, start), step);
        if (tc_sym_known(y, tc_sym_op(y, TC_S_LE, zero, n, NULL)) != 1) n = tc_sym_max(y, n, zero);
    } else {
        tc_sym f[3] = {start, end, step};
        for (int k = 0; k < 3; k++)
            if (tc_sym_type(f[k]) != TC_SYM_FLOAT) f[k] = tc_sym_op(y, TC_S_TOFLOAT, f[k], NULL, NULL);
        n = tc_sym_op(y, TC_S_CEIL, tc_sym_op(y, TC_S_FDIV, tc_sym_op(y, TC_S_FSUB, f[1], f[0], NULL), f[2], NULL), NULL, NULL);
    }
done:;
    tc_dims dims = {.rank = 1, .size = {n}};
    return tc_sh_out(c, 0, d, &dims);
}
static tc_status shape_linspace(tc_shape_ctx *c) {
    int64_t n;
    if (tc_sym_const_int(tc_sh_int(c, 2), &n) && n < 0) return tc_sh_fail(c, "number of steps must be non-negative");
    for (int i = 0; i < 2; i++)
        if (tc_sh_meta(c, i) && tc_sh_meta(c, i)->rank != 0)
            return tc_sh_fail(c, "%s only supports 0-dimensional start and end tensors, but got %s with %d dimension(s).", tc_op_schema(c->op)->name,
                              i ? "end" : "start", tc_sh_meta(c, i)->rank);
    tc_dims d = {.rank = 1, .size = {tc_sh_int(c, 2)}};
    bool complex = false;
    for (int i = 0; i < 2; i++)
        complex |= tc_sh_meta(c, i) ? tc_is_complex(tc_sh_meta(c, i)->dtype)
                                    : c->args[i].kind == TC_A_SCALAR && !c->args[i].is_sym && c->args[i].scalar.kind == TC_KIND_COMPLEX;
    const tc_dtype t = tc_sh_dtype(c, tc_op_param(c->op, "dtype"), complex ? TC_C64 : TC_F32);
    for (int i = 0; i < 2; i++) {
        const tc_arg *a = &c->args[i];
        if (a->kind != TC_A_SCALAR || a->is_sym) continue;
        if (a->scalar.kind == TC_KIND_COMPLEX && !tc_is_complex(t))
            return tc_sh_fail(c, "%s(): inferred dtype complex64 can't be safely cast to passed dtype %s", tc_op_schema(c->op)->name,
                              tc_dtypes[t].torch);
        if (!tc_sym_is_int(d.size[0], 0) && !tc_scalar_fits(a->scalar, t))
            return tc_sh_fail(c, "value cannot be converted to type %s without overflow", tc_dtypes[t].torch);
    }
    return tc_sh_out(c, 0, t, &d);
}
static tc_status shape_tri_indices(tc_shape_ctx *c) {
    int64_t row = tc_sh_const(c, 0), col = tc_sh_const(c, 1), off = tc_sh_const(c, 2), n = 0;
    bool lower = tc_op_schema(c->op)->name[3] == 'l';
    if (row < 0 || col < 0) return tc_sh_fail(c, "%s must be non-negative, got %lld", row < 0 ? "row" : "col", (long long)(row < 0 ? row : col));
    if (row > 1 << 24) return tc_sh_fail(c, "%lld rows", (long long)row);
    tc_dtype t = tc_sh_dtype(c, 3, TC_I64);
    if (t != TC_I32 && t != TC_I64) return tc_sh_fail_as(c, "NotImplementedError", "not implemented for %s", tc_dtypes[t].torch);
    for (int64_t i = 0; i < row; i++) {
        int64_t k = lower ? i + off + 1 : col - (i + off);
        n += k < 0 ? 0 : k > col ? col : k;
    }
    tc_dims d = {.rank = 2, .size = {tc_sym_int(tc_sh_sym(c), 2), tc_sym_int(tc_sh_sym(c), n)}};
    return tc_sh_out(c, 0, tc_sh_dtype(c, 3, TC_I64), &d);
}

/* ---- lowering ---- */
static tc_status lower_zeros(tc_lower *l) { return tc_l_out(l, 0, tc_l_cast(l, tc_l_int(l, 0), tc_l_type(l, 0))); }
static tc_status lower_ones(tc_lower *l) { return tc_l_out(l, 0, tc_l_cast(l, tc_l_int(l, 1), tc_l_type(l, 0))); }
static tc_status lower_full(tc_lower *l) { return tc_l_out(l, 0, tc_l_in(l, 1)); }
static tc_status lower_new_full(tc_lower *l) { return tc_l_out(l, 0, tc_l_in(l, 2)); }
static tc_status lower_scalar(tc_lower *l) { return tc_l_out(l, 0, tc_l_in(l, 0)); }
static tc_status lower_eye(tc_lower *l) {
    tc_lv i = tc_l_index(l, tc_l_axis(l, 0)), j = tc_l_index(l, tc_l_axis(l, 1));
    return tc_l_out(l, 0, tc_l_cast(l, tc_l_op2(l, TC_X_EQ, i, j), tc_l_type(l, 0)));
}
static tc_status lower_arange(tc_lower *l) {
    int s, e, st;
    arange_args(l->node->op, &s, &e, &st);
    tc_dtype d = tc_is_float(l->node->outs[0]->meta.dtype) ? TC_F64 : TC_I64;
    tc_lv i = tc_l_cast(l, tc_l_index(l, tc_l_axis(l, 0)), d);
    if (st >= 0) i = tc_l_mul(l, i, tc_l_in_as(l, st, d));
    if (s >= 0) i = tc_l_add(l, tc_l_in_as(l, s, d), i);
    return tc_l_out(l, 0, i);
}
/* The number of steps may be known only at run time. In PyTorch a step of linspace is rounded once, one of logspace's exponents twice. */
static tc_lv linspace_step(tc_lower *l, tc_lv step, tc_lv i, tc_lv from, bool fused) {
    return fused ? tc_l_op3(l, TC_X_FMA, step, i, from) : tc_l_add(l, tc_l_mul(l, step, i), from);
}
static tc_lv linspace(tc_lower *l, tc_dtype d, bool fused) {
    tc_symctx *c = l->node->graph->program->sym;
    tc_sym n = tc_arg_sym(l->node, 2), last = tc_sym_add(c, n, tc_sym_int(c, -1)), half = tc_sym_op(c, TC_S_FLOORDIV, n, tc_sym_int(c, 2), NULL);
    tc_dtype ends = l->node->outs[0]->meta.dtype; /* the bounds have the result's type: integers for integers, rounded to 16 bits */
    tc_lv start = tc_l_cast(l, tc_l_in_rounded(l, 0, ends), d), end = tc_l_cast(l, tc_l_in_rounded(l, 1, ends), d);
    tc_lv i = tc_l_index(l, tc_l_axis(l, 0));
    if (tc_sym_is_int(n, 1)) return start;
    tc_lv step = tc_l_div(l, tc_l_sub(l, end, start), tc_l_host(l, d, tc_sym_op(c, TC_S_TOFLOAT, last, NULL, NULL)));
    tc_lv up = linspace_step(l, step, tc_l_cast(l, i, d), start, fused);
    tc_lv down = linspace_step(l, tc_l_op1(l, TC_X_NEG, step), tc_l_cast(l, tc_l_sub(l, tc_l_host(l, TC_I64, last), i), d), end, fused);
    tc_lv x = tc_l_where(l, tc_l_op2(l, TC_X_LT, i, tc_l_host(l, TC_I64, half)), up, down);
    int64_t known;
    if (tc_sym_const_int(n, &known)) return x;
    return tc_l_where(l, tc_l_op2(l, TC_X_EQ, tc_l_host(l, TC_I64, n), tc_l_int(l, 1)), start, x);
}
static tc_status lower_linspace(tc_lower *l) {
    return tc_l_out(l, 0, linspace(l, tc_is_float(l->node->outs[0]->meta.dtype) ? tc_l_type(l, 0) : TC_F64, true));
}
static tc_status lower_logspace(tc_lower *l) {
    return tc_l_out(l, 0, tc_l_op2(l, TC_X_POW, tc_l_f(l, TC_F64, tc_arg_float(l->node, 3)), linspace(l, TC_F64, false)));
}

/* ---- compositions ---- */
/* linspace and logspace of complex numbers: real and imaginary parts are evenly spaced */
static tc_status complex_linspace(tc_emit *e, const tc_node *n) {
    const tc_dtype type = n->outs[0]->meta.dtype, real = tc_dtype_real(type);
    tc_value *end[2], *part[2];
    for (int i = 0; i < 2; i++) {
        tc_value *v = tc_arg_value(n, i);
        end[i] = v ? tc_e_cast(e, v, type) : tc_emit_call(e, "aten::scalar_tensor", "ad", &n->args[i], (int)type);
    }
    for (int i = 0; i < 2; i++)
        part[i] = tc_emit_call(e, "aten::linspace.Tensor_Tensor", "vvad", tc_e1(e, i ? "aten::imag" : "aten::real", end[0]),
                               tc_e1(e, i ? "aten::imag" : "aten::real", end[1]), &n->args[2], (int)real);
    tc_value *r = tc_e2(e, "aten::complex", part[0], part[1]);
    if (!strcmp(tc_op_schema(n->op)->name, "logspace")) r = tc_emit_call(e, "aten::pow.Scalar", "av", &n->args[3], r);
    tc_emit_result(e, 0, tc_e_cast(e, r, type));
    return tc_e_done(e);
}
static void require_all(tc_emit *e, const char *op, tc_value *x, int64_t bound, const char *text) {
    tc_e_require(e, tc_emit_call(e, op, "vi", x, bound), text);
}
static tc_status decompose_one_hot(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t classes = tc_arg_int(n, 1);
    if (x->meta.dtype != TC_I64) return tc_error(TC_CONTENT, "aten.one_hot: one_hot is only applicable to index tensor of type LongTensor.");
    if (classes == 0 || classes < -1) return tc_error(TC_CONTENT, "aten.one_hot: num_classes should be positive");
    tc_sym count = tc_sym_int(tc_e_sym(e), classes);
    require_all(e, "aten::ge.Scalar", x, 0, "Class values must be non-negative.");
    if (classes > 0) require_all(e, "aten::lt.Scalar", x, classes, "Class values must be smaller than num_classes.");
    if (classes == -1) { /* the largest index decides */
        for (int d = 0; d < x->meta.rank; d++)
            if (tc_sym_is_int(x->meta.size[d], 0))
                return tc_error(TC_CONTENT, "aten.one_hot: Can not infer total number of classes from empty tensor.");
        tc_value *most = tc_e1(e, "aten::item", tc_e1(e, "aten::max", x));
        if (!most) return tc_e_done(e);
        if (tc_sym_opcode(most->sym) == TC_S_VAR) tc_sym_set_range(tc_e_sym(e), most->sym, 0, INT64_MAX);
        count = tc_sym_add(tc_e_sym(e), most->sym, tc_sym_int(tc_e_sym(e), 1));
    }
    tc_value *k = tc_emit_call(e, "aten::arange", "sd", count, (int)TC_I64);
    tc_value *eq = tc_e2(e, "aten::eq.Tensor", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)-1), k);
    tc_emit_result(e, 0, tc_e_cast(e, eq, TC_I64));
    return tc_e_done(e);
}
/* tril_indices, triu_indices: a constant assembled from its rows */
static tc_status decompose_tri_indices(tc_emit *e, const tc_node *n) {
    int64_t row = tc_arg_int(n, 0), col = tc_arg_int(n, 1), off = tc_arg_int(n, 2);
    bool lower = tc_op_schema(n->op)->name[3] == 'l';
    tc_dtype d = tc_arg_dtype(n, 3, TC_I64);
    TC_VEC(tc_value *) part = {0};
    for (int64_t i = 0; i < row; i++) {
        int64_t from = lower ? 0 : i + off, to = lower ? i + off + 1 : col;
        from = from < 0 ? 0 : from;
        to = to > col ? col : to;
        if (to <= from) continue;
        tc_value *cols = tc_emit_call(e, "aten::arange.start", "iid", from, to, (int)d);
        tc_value *rows = tc_emit_call(e, "aten::full_like", "vi", cols, i);
        tc_value *both[2] = {rows, cols};
        tc_vec_push(&part, tc_emit_call(e, "aten::stack", "Vi", both, 2, (int64_t)0));
    }
    tc_value *r = part.len ? tc_emit_call(e, "aten::cat", "Vi", part.data, (int)part.len, (int64_t)1)
                           : tc_emit_call(e, "aten::empty.memory_format", "Id", (int64_t[]){2, 0}, 2, (int)d);
    tc_vec_free(&part);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}

/* Windows: a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N = length when periodic, else length - 1. */
static tc_value *cosine(tc_emit *e, tc_value *i, double scale, double coef) {
    return tc_e_muls(e, tc_e1(e, "aten::cos", tc_e_muls(e, i, scale)), coef);
}
static tc_status decompose_window(tc_emit *e, const tc_node *n) {
    const char *name = tc_op_schema(n->op)->name;
    int64_t len = tc_arg_int(n, 0);
    int dt = tc_op_param(n->op, "dtype"), pe = tc_op_param(n->op, "periodic"), al = tc_op_param(n->op, "alpha"), be = tc_op_param(n->op, "beta");
    tc_dtype d = tc_arg_dtype(n, dt, TC_F32);
    bool periodic = pe < 0 || tc_arg_bool(n, pe);
    if (len < 0) return tc_e_refuse(n, "requires non-negative window_length, got window_length=%lld", (long long)len);
    if (!tc_is_float(d)) return tc_e_refuse(n, "expects floating point dtypes, got: %s", tc_dtypes[d].torch);
    if (len <= 1) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::ones", "Id", &len, 1, (int)d));
        return tc_e_done(e);
    }
    double a = name[0] == 'b' ? 0.42 : !strncmp(name, "hann", 4) ? 0.5 : 0.54, b = name[0] == 'b' ? 0.5 : !strncmp(name, "hann", 4) ? 0.5 : 0.46;
    if (al >= 0) a = tc_arg_float(n, al);
    if (be >= 0) b = tc_arg_float(n, be);
    double span = (double)(periodic ? len : len - 1), w = 2 * 3.14159265358979323846 / span;
    tc_value *i = tc_emit_call(e, "aten::arange", "id", len, (int)d), *r;
    if (!strncmp(name, "bart", 4)) {
        tc_value *x = tc_e_muls(e, i, 2 / span);
        r = tc_e2(e, "aten::minimum", x, tc_e_adds(e, tc_e_neg(e, x), 2));
    } else {
        r = tc_e_adds(e, cosine(e, i, w, -b), a);
        if (name[0] == 'b') r = tc_e_add(e, r, cosine(e, i, 2 * w, 0.08));
    }
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}

/* i0(beta sqrt(1 - u^2)) / i0(beta), u from -1 to 1; with one more point that is dropped if periodic */
static tc_status decompose_kaiser(tc_emit *e, const tc_node *n) {
    int64_t len = tc_arg_int(n, 0);
    int dt = tc_op_param(n->op, "dtype"), pe = tc_op_param(n->op, "periodic"), be = tc_op_param(n->op, "beta");
    tc_dtype d = tc_arg_dtype(n, dt, TC_F32), up = tc_dtype_compute(d);
    double beta = be >= 0 ? tc_arg_float(n, be) : 12, half;
    if (len < 0) return tc_e_refuse(n, "requires non-negative window_length, got window_length=%lld", (long long)len);
    if (!tc_is_float(d)) return tc_e_refuse(n, "expects floating point dtypes, got: %s", tc_dtypes[d].torch);
    if (len <= 1) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::ones", "Id", &len, 1, (int)d));
        return tc_e_done(e);
    }
    half = (double)(pe < 0 || tc_arg_bool(n, pe) ? len : len - 1) / 2;
    tc_value *u = tc_e_adds(e, tc_e_muls(e, tc_emit_call(e, "aten::arange", "id", len, (int)up), 1 / half), -1);
    tc_value *r = tc_e_muls(e, tc_e1(e, "aten::sqrt", tc_e_adds(e, tc_e_neg(e, tc_e_mul(e, u, u)), 1)), beta);
    tc_value *top = tc_emit_call(e, "aten::scalar_tensor", "fd", beta, (int)up);
    r = tc_e_div(e, tc_e1(e, "aten::special_i0", r), tc_e1(e, "aten::special_i0", top));
    tc_emit_result(e, 0, tc_e_cast(e, r, d));
    return tc_e_done(e);
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE OPTIONS ", MemoryFormat? memory_format=None"
#define MADE(SCHEMA, like, shape_, lower_, sample, text)                                                                               \
    {                                                                                                                                  \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_NONDIFF | like, .shape = shape_, .lower = lower_, .grad = tc_grad_none, \
        .samples = sample, .doc = text                                                                                                 \
    }
#define ROW(SCHEMA, shape_, lower_, sample, text) MADE(SCHEMA, TC_OP_LIKE, shape_, lower_, sample, text)
#define ENDS(SCHEMA, shape_, lower_, sample, text)                                                                                     \
    {                                                                                                                                  \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_NONDIFF, .shape = shape_, .lower = lower_, .complex = complex_linspace, \
        .grad = tc_grad_none, .samples = sample, .doc = text                                                                           \
    }
#define COMPOSED(SCHEMA, decompose_, sample, text)                                                                                                \
    {                                                                                                                                             \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_NONDIFF, .shape = tc_shape_decomposed, .decompose = decompose_, .samples = sample, \
        .doc = text                                                                                                                               \
    }
#define WINDOW(name)                                                                                                                      \
    COMPOSED(#name "_window(int window_length, *, " OPTIONS ")", decompose_window, #name "_window(8)", #name " window"),                  \
        COMPOSED(#name "_window.periodic(int window_length, bool periodic, *, " OPTIONS ")", decompose_window, #name "_window(8, False)", \
                 #name " window")
#define TRIANGLE(NAME, which)                                                                                                                    \
    {                                                                                                                                            \
        .schema = "aten::" NAME "_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, " \
                  "bool? pin_memory=None) -> Tensor",                                                                                            \
        .flags = TC_OP_NONDIFF, .shape = shape_tri_indices, .decompose = decompose_tri_indices, .samples = NAME "_indices(3, 4)",                \
        .doc = "rows and columns of the " which " triangle"                                                                                      \
    }
const tc_op tc_ops_factory[] = {
    ROW("empty.memory_format(SymInt[] size, *, " LIKE ")", shape_sized, lower_zeros, "empty([2,3])", "zeros: nothing is left uninitialised"),
    ROW("zeros(SymInt[] size, *, " OPTIONS ")", shape_sized, lower_zeros, "zeros([2,3])", "0"),
    ROW("ones(SymInt[] size, *, " OPTIONS ")", shape_sized, lower_ones, "ones([2,3], dtype=torch.int64)", "1"),
    ROW("full(SymInt[] size, Scalar fill_value, *, " OPTIONS ")", shape_full, lower_full, "full([2,3], 2.5)", "fill_value"),
    ROW("empty_like(Tensor self, *, " LIKE ")", shape_like, lower_zeros, "empty_like(f32[2,3])", "zeros: nothing is left uninitialised"),
    ROW("zeros_like(Tensor self, *, " LIKE ")", shape_like, lower_zeros, "zeros_like(f32[2,3])", "0"),
    ROW("ones_like(Tensor self, *, " LIKE ")", shape_like, lower_ones, "ones_like(f32[2,3])", "1"),
    ROW("full_like(Tensor self, Scalar fill_value, *, " LIKE ")", shape_like, lower_full, "full_like(f32[2,3], 2.5)", "fill_value"),
    ROW("new_empty(Tensor self, SymInt[] size, *, " OPTIONS ")", shape_new, lower_zeros, "new_empty(f32[2], [2,3])",
        "zeros: nothing is left uninitialised"),
    ROW("new_zeros(Tensor self, SymInt[] size, *, " OPTIONS ")", shape_new, lower_zeros, "new_zeros(f32[2], [2,3])", "0"),
    ROW("new_ones(Tensor self, SymInt[] size, *, " OPTIONS ")", shape_new, lower_ones, "new_ones(f32[2], [2,3])", "1"),
    ROW("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " OPTIONS ")", shape_new, lower_new_full, "new_full(f32[2], [2,3], 2.5)",
        "fill_value"),
    ROW("empty_strided(SymInt[] size, SymInt[] stride, *, " OPTIONS ")", shape_empty_strided, lower_zeros, "empty_strided([2,3], [1,2])",
        "zeros: nothing is left uninitialised"),
    ROW("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " OPTIONS ")", shape_empty_strided, lower_zeros,
        "new_empty_strided(f32[2], [2,3], [1,2])", "zeros"),
    ROW("empty_permuted(SymInt[] size, int[] physical_layout, *, " OPTIONS ")", shape_empty_permuted, lower_zeros, "empty_permuted([2,3], [1,0])",
        "zeros: nothing is left uninitialised"),
    ROW("eye(SymInt n, *, " OPTIONS ")", shape_eye, lower_eye, "eye(3)", "1 where row = column, else 0"),
    ROW("eye.m(SymInt n, SymInt m, *, " OPTIONS ")", shape_eye, lower_eye, "eye(3, 5)", "1 where row = column, else 0"),
    ROW("scalar_tensor(Scalar s, *, " OPTIONS ")", shape_scalar_tensor, lower_scalar, "scalar_tensor(2.5)", "a number as a 0-d tensor"),
    ROW("arange(Scalar end, *, " OPTIONS ")", shape_arange, lower_arange, "arange(5)", "0, 1, ... below end"),
    ROW("arange.start(Scalar start, Scalar end, *, " OPTIONS ")", shape_arange, lower_arange, "arange(2, 7)", "start, start + 1, ... below end"),
    ROW("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ")", shape_arange, lower_arange, "arange(0, 1, 0.3)",
        "start + i step"),
    ROW("range(Scalar start, Scalar end, *, " OPTIONS ")", shape_arange, lower_arange, "range(0, 4)", "start + i, end included"),
    ROW("range.step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ")", shape_arange, lower_arange, "range(0, 4, 2)",
        "start + i step, end included"),
    ENDS("linspace(Scalar start, Scalar end, int steps, *, " OPTIONS ")", shape_linspace, lower_linspace, "linspace(0, 1, 5)",
         "evenly spaced, both ends included"),
    ENDS("linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, " OPTIONS ")", shape_linspace, lower_linspace, "linspace(f32[], f32[], 5)",
         "evenly spaced, both ends included"),
    ENDS("linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, " OPTIONS ")", shape_linspace, lower_linspace, "linspace(f32[], 2, 5)",
         "evenly spaced, both ends included"),
    ENDS("linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, " OPTIONS ")", shape_linspace, lower_linspace, "linspace(0, f32[], 5)",
         "evenly spaced, both ends included"),
    ENDS("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, " OPTIONS ")", shape_linspace, lower_logspace, "logspace(0, 1, 5)",
         "base to evenly spaced powers"),
    ENDS("logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10.0, *, " OPTIONS ")", shape_linspace, lower_logspace,
         "logspace(f32[], f32[], 5)", "base to evenly spaced powers"),
    ENDS("logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10.0, *, " OPTIONS ")", shape_linspace, lower_logspace,
         "logspace(f32[], 2, 5)", "base to evenly spaced powers"),
    ENDS("logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10.0, *, " OPTIONS ")", shape_linspace, lower_logspace,
         "logspace(0, f32[], 5)", "base to evenly spaced powers"),
    {.schema = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = tc_shape_decomposed_rows,
     .decompose = decompose_one_hot,
     .samples = "one_hot(i64[5]:0..4, 4)",
     .doc = "1 at the index, 0 elsewhere"},
    TRIANGLE("tril", "lower"),
    TRIANGLE("triu", "upper"),
    WINDOW(hann),
    WINDOW(hamming),
    WINDOW(blackman),
    WINDOW(bartlett),
    COMPOSED("hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, " OPTIONS ")", decompose_window,
             "hamming_window(8, True, 0.5)", "hamming window"),
    COMPOSED("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, " OPTIONS ")", decompose_window,
             "hamming_window(8, True, 0.5, 0.4)", "hamming window"),
    COMPOSED("kaiser_window(int window_length, *, " OPTIONS ")", decompose_kaiser, "kaiser_window(8)", "Kaiser window"),
    COMPOSED("kaiser_window.periodic(int window_length, bool periodic, *, " OPTIONS ")", decompose_kaiser, "kaiser_window(8, False)",
             "Kaiser window"),
    COMPOSED("kaiser_window.beta(int window_length, bool periodic, float beta, *, " OPTIONS ")", decompose_kaiser, "kaiser_window(8, False, 6.0)",
             "Kaiser window"),
    {0}};

bool tc_op_gives_zeros(const tc_op *op) { return op->lower == lower_zeros; }
