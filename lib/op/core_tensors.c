/* Rules to core operators: views, creation, reductions, elements picked and written, padding (core_rule.h; formulas as in PyTorch's
 * decompositions). */
#include "op/core_rule.h"

/* ---- forms of one operator ---- */
static tc_status core_transpose(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t order[TC_MAX_RANK], rank = x->meta.rank;
    if (rank == 0) return give(e, n, 0, F1("alias", x));
    int a = tc_wrap(tc_arg_int(n, 1), (int)rank), b = tc_wrap(tc_arg_int(n, 2), (int)rank);
    for (int d = 0; d < rank; d++) order[d] = d == a ? b : d == b ? a : d;
    tc_emit_result(e, 0, ATEN("permute", "vI", x, order, (int)rank));
    return tc_e_done(e);
}
static tc_status core_view(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("view", "va", tc_arg_value(n, 0), &n->args[1]));
    return tc_e_done(e);
}
/* Copies first if the strides may not allow the view. */
static tc_status core_reshape(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    const tc_meta *m = &n->outs[0]->meta;
    if (x->meta.stride) x = ATEN("clone", "va", x, &contiguous);
    tc_emit_result(e, 0, ATEN("view", "vS", x, m->size, m->rank));
    return tc_e_done(e);
}
static tc_status core_alias(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, F1("alias", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status core_clone(tc_emit *e, const tc_node *n) { return give(e, n, 0, F1("clone", tc_arg_value(n, 0))); }
static tc_status core_index(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("index.Tensor", "aa", &n->args[0], &n->args[1]));
    return tc_e_done(e);
}
static tc_status core_index_put(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("index_put", "aaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status core_sum(tc_emit *e, const tc_node *n) {
    return give(e, n, 0, ATEN("sum.dim_IntList", "vIba", tc_arg_value(n, 0), NULL, 0, 0, &n->args[1]));
}
static tc_status core_arange(tc_emit *e, const tc_node *n) { /* end, or start and end, and their options */
    bool start = !strcmp(tc_op_schema(n->op)->overload, "start");
    tc_arg zero = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(0)}, one = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(1)};
    tc_emit_result(e, 0, ATEN("arange.start_step", "aaad", start ? &n->args[0] : &zero, &n->args[start], &one, (int)dtype_of(n)));
    return tc_e_done(e);
}
static tc_status filled(tc_emit *e, const tc_node *n, const tc_arg *v) {
    const tc_meta *m = &n->outs[0]->meta;
    tc_emit_result(e, 0, ATEN("full", "Sad", m->size, m->rank, v, (int)m->dtype));
    return tc_e_done(e);
}
static tc_status core_ones(tc_emit *e, const tc_node *n) {
    bool b = dtype_of(n) == TC_BOOL;
    return filled(e, n, &(tc_arg){.kind = TC_A_SCALAR, .scalar = b ? tc_scalar_bool(true) : tc_scalar_int(1)});
}
static tc_status core_zeros(tc_emit *e, const tc_node *n) {
    bool b = dtype_of(n) == TC_BOOL;
    return filled(e, n, &(tc_arg){.kind = TC_A_SCALAR, .scalar = b ? tc_scalar_bool(false) : tc_scalar_int(0)});
}
static tc_status core_empty(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    tc_emit_result(e, 0, ATEN("empty.memory_format", "Sd", m->size, m->rank, (int)m->dtype));
    return tc_e_done(e);
}
static tc_status core_fill(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("copy", tc_arg_value(n, 0), tc_arg_value(n, 1))); }
static tc_status core_squeeze(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t dims[TC_MAX_RANK];
    int count = 0;
    for (int d = 0; d < x->meta.rank; d++)
        if (tc_sym_is_int(x->meta.size[d], 1)) dims[count++] = d;
    tc_emit_result(e, 0, ATEN("squeeze.dims", "vI", x, dims, count));
    return tc_e_done(e);
}
static tc_status core_new_full(tc_emit *e, const tc_node *n) { return filled(e, n, &n->args[2]); }

/* ---- grids of positions ---- */
static tc_status core_eye(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    return give(e, n, 0, F2("eq.Tensor", positions(e, m->size[0], true), positions(e, m->size[1], false)));
}
static tc_status core_triangle(tc_emit *e, const tc_node *n) { /* self, diagonal */
    tc_value *x = tc_arg_value(n, 0);
    const tc_sym *size = x->meta.size + x->meta.rank - 2;
    bool lower = tc_op_schema(n->op)->name[3] == 'l';
    tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_arg_sym(n, 1)};
    int64_t v;
    if (tc_sym_const_int(by.sym, &v)) by = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(v)};
    tc_value *rise = tc_e_sub(e, positions(e, size[1], false), positions(e, size[0], true));
    tc_value *keep = lower ? ATEN("le.Scalar", "va", rise, &by) : ATEN("ge.Scalar", "va", rise, &by);
    return give(e, n, 0, WHERE(keep, x, like(e, 0, x)));
}
/* Evenly spaced numbers from argument 0 to argument 1, numbers or tensors, in type t: from both ends to the middle. */
static tc_value *spaced(tc_emit *e, const tc_node *n, tc_dtype t) {
    tc_symctx *s = tc_e_sym(e);
    const tc_sym one = tc_sym_int(s, 1), steps = tc_arg_sym(n, 2), last = tc_sym_sub(s, steps, one);
    const tc_sym parts = tc_sym_max(s, last, one), half = tc_sym_max(s, tc_sym_floordiv(s, steps, tc_sym_int(s, 2)), one);
    tc_value *i = ATEN("arange", "sd", steps, (int)TC_I64), *f = tc_e_cast(e, i, t), *end[2], *step;
    double number[2];
    int64_t known;
    for (int k = 0; k < 2; k++) {
        end[k] = tc_arg_value(n, k);
        number[k] = end[k] ? 0 : tc_arg_float(n, k);
        end[k] = end[k] ? tc_e_cast(e, end[k], t) : scalar(e, number[k], t);
    }
    if (tc_arg_meta(n, 0) || tc_arg_meta(n, 1) || !tc_sym_const_int(parts, &known))
        step = ATEN("div.Scalar", "vs", tc_e_sub(e, end[1], end[0]), parts);
    else step = scalar(e, (number[1] - number[0]) / (double)known, t);
    tc_value *up_ = tc_e_add(e, tc_e_mul(e, f, step), end[0]);
    tc_value *down = tc_e_sub(e, end[1], tc_e_mul(e, ATEN("add.Scalar", "vs", tc_e_neg(e, f), last), step));
    return WHERE(ATEN("lt.Scalar", "vs", i, half), up_, down);
}
static tc_status core_linspace(tc_emit *e, const tc_node *n) { /* start, end, steps */
    return give(e, n, 0, spaced(e, n, tc_is_float(dtype_of(n)) ? tc_dtype_compute(dtype_of(n)) : TC_F64));
}
static tc_status core_logspace(tc_emit *e, const tc_node *n) { /* start, end, steps, base */
    return give(e, n, 0, ATEN("pow.Scalar", "av", &n->args[3], spaced(e, n, tc_is_float(dtype_of(n)) ? tc_dtype_compute(dtype_of(n)) : TC_F64)));
}

/* ---- reductions ---- */
static tc_status core_all(tc_emit *e, const tc_node *n) { /* self, or self, dim, keepdim */
    tc_value *no = F1("logical_not", tc_arg_value(n, 0));
    const char *form = tc_op_schema(n->op)->overload;
    no = !*form                 ? F1("any", no)
         : !strcmp(form, "dim") ? ATEN("any.dim", "vaa", no, &n->args[1], &n->args[2])
                                : ATEN("any.dims", "vaa", no, &n->args[1], &n->args[2]);
    return give(e, n, 0, F1("logical_not", no));
}
static tc_status core_max(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("amax", "vI", tc_arg_value(n, 0), NULL, 0)); }
static tc_status core_min(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("amin", "vI", tc_arg_value(n, 0), NULL, 0)); }
static tc_status core_aminmax(tc_emit *e, const tc_node *n) { /* self, dim, keepdim */
    int64_t dim = tc_arg_is_none(n, 1) ? 0 : tc_arg_int(n, 1);
    int count = !tc_arg_is_none(n, 1);
    tc_emit_result(e, 0, ATEN("amin", "vIb", tc_arg_value(n, 0), &dim, count, tc_arg_bool(n, 2)));
    tc_emit_result(e, 1, ATEN("amax", "vIb", tc_arg_value(n, 0), &dim, count, tc_arg_bool(n, 2)));
    return tc_e_done(e);
}
static tc_status core_logsumexp(tc_emit *e, const tc_node *n) { /* self, dim, keepdim */
    tc_value *x = up(e, tc_arg_value(n, 0));
    if (!tc_is_float(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    tc_value *top = ATEN("amax", "vab", x, &n->args[1], 1);
    top = WHERE(CMP("eq", abs_of(e, top), INFINITY), like(e, 0, top), top);
    tc_value *sum = ATEN("sum.dim_IntList", "vaa", F1("exp", tc_e_sub(e, x, top)), &n->args[1], &n->args[2]);
    if (!tc_arg_bool(n, 2)) top = ATEN("sum.dim_IntList", "va", top, &n->args[1]);
    return give(e, n, 0, tc_e_add(e, F1("log", sum), top));
}
static tc_status core_count_nonzero(tc_emit *e, const tc_node *n) {
    tc_value *is = ATEN("ne.Scalar", "vi", tc_arg_value(n, 0), (int64_t)0);
    int64_t dim = n->args[1].kind == TC_A_INT ? tc_arg_int(n, 1) : 0;
    if (n->args[1].kind == TC_A_INTS) return give(e, n, 0, ATEN("sum.dim_IntList", "va", is, &n->args[1]));
    return give(e, n, 0, ATEN("sum.dim_IntList", "vI", is, &dim, n->args[1].kind == TC_A_INT));
}
static tc_status core_nansum(tc_emit *e, const tc_node *n) { /* self, dim, keepdim, dtype */
    tc_value *x = tc_arg_value(n, 0);
    return give(e, n, 0, ATEN("sum.dim_IntList", "vaaa", WHERE(F1("isnan", x), like(e, 0, x), x), &n->args[1], &n->args[2], &n->args[3]));
}
/* var and std, with the mean or not: self, unbiased; self, dim, unbiased, keepdim; self, dim, correction, keepdim */
static tc_status core_variance(tc_emit *e, const tc_node *n) {
    const char *form = tc_op_schema(n->op)->overload, *name = tc_op_schema(n->op)->name;
    tc_arg all = {.kind = TC_A_NONE}, flat = {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}, c;
    const tc_arg *dim = *form ? &n->args[1] : &all, *keep = *form ? &n->args[3] : &flat;
    if (!strcmp(form, "correction")) c = n->args[2];
    else c = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(tc_arg_bool(n, *form ? 2 : 1))};
    tc_value *x = up(e, tc_arg_value(n, 0)), *v = ATEN("var.correction", "vaaa", x, dim, &c, keep);
    TC_TRY(give(e, n, 0, name[0] == 's' ? F1("sqrt", v) : v));
    return n->nouts > 1 ? give(e, n, 1, ATEN("mean.dim", "vaa", x, dim, keep)) : NULL;
}
static tc_status core_vector_norm(tc_emit *e, const tc_node *n) { /* self, ord, dim, keepdim, dtype */
    tc_value *x = tc_arg_value(n, 0), *r;
    double p = tc_arg_float(n, 1);
    if (!tc_arg_is_none(n, 4)) x = tc_e_cast(e, x, tc_arg_dtype(n, 4, x->meta.dtype));
    x = abs_of(e, up(e, x));
    const tc_arg *dim = &n->args[2], *keep = &n->args[3], none = {.kind = TC_A_INTS};
    if (isinf(p)) {
        if (tc_arg_is_none(n, 2)) dim = &none;
        return give(e, n, 0, p > 0 ? ATEN("amax", "vaa", x, dim, keep) : ATEN("amin", "vaa", x, dim, keep));
    }
    r = p == 0 ? tc_e_cast(e, CMP("ne", x, 0), x->meta.dtype) : p == 1 ? x : p == 2 ? tc_e_mul(e, x, x) : ATEN("pow.Tensor_Scalar", "vf", x, p);
    r = ATEN("sum.dim_IntList", "vaa", r, dim, keep);
    return give(e, n, 0, p == 0 || p == 1 ? r : p == 2 ? F1("sqrt", r) : ATEN("pow.Tensor_Scalar", "vf", r, 1 / p));
}

/* ---- elements picked and written ---- */
/* self, dim, index: self[:, index] = source. dim is moved to the front, where every back end can write by index. */
static tc_status put_along(tc_emit *e, const tc_node *n, tc_value *source, bool accumulate) {
    tc_value *x = tc_arg_value(n, 0), *index = tc_arg_value(n, 2);
    const int64_t d = x->meta.rank ? tc_wrap(tc_arg_int(n, 1), x->meta.rank) : 0, front = 0;
    const bool number = !x->meta.rank; /* a tensor without dimensions is treated as a row of one */
    if (number) x = ATEN("unsqueeze", "vi", x, front);
    if (index->meta.rank == 0) index = ATEN("unsqueeze", "vi", index, front);
    if (d > 0) x = ATEN("transpose.int", "vii", x, front, d);
    if (d > 0 && source && source->meta.rank > d) source = ATEN("transpose.int", "vii", source, front, d);
    tc_value *y = ATEN("index_put", "vVvb", x, &index, 1, source, accumulate);
    tc_emit_result(e, 0, number ? ATEN("select.int", "vii", y, front, front) : d > 0 ? ATEN("transpose.int", "vii", y, front, d) : y);
    return tc_e_done(e);
}
static tc_status core_index_copy(tc_emit *e, const tc_node *n) { return put_along(e, n, tc_arg_value(n, 3), false); }
static tc_status core_index_fill(tc_emit *e, const tc_node *n) { return put_along(e, n, full(e, n, &n->args[3]), false); }
static tc_status core_index_add(tc_emit *e, const tc_node *n) {
    tc_value *v = tc_arg_value(n, 3);
    return put_along(e, n, tc_scalar_is(tc_arg_scalar(n, 4), 1) ? v : ATEN("mul.Scalar", "va", v, &n->args[4]), true);
}
static tc_status core_masked_select(tc_emit *e, const tc_node *n) {
    tc_value *both[2] = {tc_arg_value(n, 0), tc_arg_value(n, 1)};
    tc_value *l = ATEN("broadcast_tensors", "V", both, 2);
    if (!l) return tc_e_done(e);
    tc_emit_result(e, 0, ATEN("index.Tensor", "vV", l->list[0], &l->list[1], 1));
    return tc_e_done(e);
}
static tc_status core_unfold(tc_emit *e, const tc_node *n) { /* self, dimension, size, step */
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank == 0) /* a row of one element: its only piece has one element or none */
        return give(e, n, 0, ATEN("slice.Tensor", "viii", ATEN("unsqueeze", "vi", x, (int64_t)0), (int64_t)0, (int64_t)0, tc_arg_int(n, 2)));
    int rank = x->meta.rank, d = tc_wrap(tc_arg_int(n, 1), rank);
    tc_sym size[TC_MAX_RANK + 1], windows = n->outs[0]->meta.size[d];
    int64_t order[TC_MAX_RANK + 1];
    tc_value *begin = ATEN("mul.Scalar", "vi", positions(e, windows, true), tc_arg_int(n, 3));
    tc_value *at = tc_e_add(e, begin, ATEN("arange", "id", tc_arg_int(n, 2), (int)TC_I64));
    for (int k = 0; k <= rank; k++) {
        size[k] = k < d ? x->meta.size[k] : k == d ? windows : k == d + 1 ? tc_sym_int(tc_e_sym(e), tc_arg_int(n, 2)) : x->meta.size[k - 1];
        order[k] = k <= d ? k : k < rank ? k + 1 : d + 1;
    }
    tc_value *y = ATEN("index_select", "viv", x, (int64_t)d, ATEN("reshape", "vI", at, (int64_t[]){-1}, 1));
    tc_emit_result(e, 0, ATEN("permute", "vI", ATEN("reshape", "vS", y, size, rank + 1), order, rank + 1));
    return tc_e_done(e);
}
static tc_status core_pad_circular(tc_emit *e, const tc_node *n) { /* self, pad: pairs from the last dimension on */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    for (int k = 0; k + 1 < n->args[1].n; k += 2) {
        const int d = x->meta.rank - 1 - k / 2;
        const tc_sym size = x->meta.size[d], before = n->args[1].syms[k], after = n->args[1].syms[k + 1];
        tc_value *i = positions(e, tc_sym_add(s, size, tc_sym_add(s, before, after)), false);
        i = ATEN("remainder.Scalar", "vs", ATEN("sub.Scalar", "vs", i, before), size);
        x = ATEN("index_select", "viv", x, (int64_t)d, i);
    }
    tc_emit_result(e, 0, x);
    return tc_e_done(e);
}
static tc_status core_replication_pad1d(tc_emit *e, const tc_node *n) { /* self, padding: left and right */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int64_t pad[2];
    tc_sym size = x->meta.size[x->meta.rank - 1], last = tc_sym_sub(s, size, tc_sym_int(s, 1));
    tc_arg_ints(n, 1, pad, 2);
    tc_value *at = positions(e, tc_sym_add(s, size, tc_sym_int(s, pad[0] + pad[1])), false);
    at = ATEN("clamp", "via", ATEN("sub.Scalar", "vi", at, pad[0]), (int64_t)0, (&(tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = last}));
    return give(e, n, 0, ATEN("index_select", "viv", x, (int64_t)-1, at));
}

const tc_core_row tc_core_tensors[] = {
    {"transpose.int", core_transpose},
    {"reshape", core_reshape},
    {"_unsafe_view", core_view},
    {"detach", core_alias},
    {"_unsafe_index.Tensor", core_index},
    {"_unsafe_index_put", core_index_put},
    {"arange", core_arange},
    {"arange.start", core_arange},
    {"zeros", core_zeros},
    {"zeros_like", core_zeros},
    {"new_zeros", core_zeros},
    {"ones", core_ones},
    {"ones_like", core_ones},
    {"new_ones", core_ones},
    {"new_full", core_new_full},
    {"zero", core_zeros},
    {"new_empty", core_empty},
    {"empty_like", core_empty},
    {"squeeze", core_squeeze},
    {"eye", core_eye},
    {"eye.m", core_eye},
    {"tril", core_triangle},
    {"triu", core_triangle},
    {"linspace", core_linspace},
    {"linspace.Tensor_Tensor", core_linspace, TC_CORE_REAL},
    {"linspace.Tensor_Scalar", core_linspace, TC_CORE_REAL},
    {"linspace.Scalar_Tensor", core_linspace, TC_CORE_REAL},
    {"logspace", core_logspace},
    {"logspace.Tensor_Tensor", core_logspace, TC_CORE_REAL},
    {"logspace.Tensor_Scalar", core_logspace, TC_CORE_REAL},
    {"logspace.Scalar_Tensor", core_logspace, TC_CORE_REAL},
    {"sum", core_sum},
    {"all", core_all},
    {"all.dim", core_all},
    {"all.dims", core_all},
    {"max", core_max},
    {"min", core_min},
    {"aminmax", core_aminmax},
    {"logsumexp", core_logsumexp, TC_CORE_REAL},
    {"count_nonzero", core_count_nonzero},
    {"count_nonzero.dim_IntList", core_count_nonzero},
    {"nansum", core_nansum, TC_CORE_REAL},
    {"var", core_variance, TC_CORE_REAL},
    {"var_mean", core_variance, TC_CORE_REAL},
    {"var_mean.dim", core_variance, TC_CORE_REAL},
    {"var_mean.correction", core_variance, TC_CORE_REAL},
    {"std", core_variance, TC_CORE_REAL},
    {"std.dim", core_variance, TC_CORE_REAL},
    {"std.correction", core_variance, TC_CORE_REAL},
    {"std_mean", core_variance, TC_CORE_REAL},
    {"std_mean.dim", core_variance, TC_CORE_REAL},
    {"std_mean.correction", core_variance, TC_CORE_REAL},
    {"linalg_vector_norm", core_vector_norm, TC_CORE_REAL},
    {"index_copy", core_index_copy},
    {"index_fill.int_Scalar", core_index_fill},
    {"index_add", core_index_add},
    {"fill.Tensor", core_fill},
    {"masked_select", core_masked_select},
    {"unfold", core_unfold},
    {"_pad_circular", core_pad_circular},
    {"replication_pad1d", core_replication_pad1d},
    {"real", core_alias, TC_CORE_REAL},
    {"conj_physical", core_alias, TC_CORE_REAL},
    {"resolve_conj", core_alias},
    {"resolve_neg", core_alias},
    {"alias_copy", core_clone},
    {NULL},
};
