/* Counting, finding and comparing elements: bincount, the histograms, nonzero_static, argwhere, isin, equal, combinations,
 * repeat_interleave by a tensor, hash_tensor.
 *
 *     histogram   element x falls into bin i where edge[i] <= x < edge[i+1]; the last bin has both edges */
#include "kernel/hash.h"
#include "op/shape.h"

#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

static tc_value *flat(tc_emit *e, tc_value *v) { return v && v->meta.rank == 1 ? v : ATEN("reshape", "vI", v, (int64_t[]){-1}, 1); }
static tc_value *flat_scalar(tc_emit *e, tc_value *v) { return v && v->meta.rank == 0 ? flat(e, v) : v; }
static tc_sym numel(tc_emit *e, const tc_value *v) {
    tc_sym n = tc_sym_int(tc_e_sym(e), 1);
    for (int d = 0; v && d < v->meta.rank; d++) n = tc_sym_mul(tc_e_sym(e), n, v->meta.size[d]);
    return n;
}
static tc_value *range(tc_emit *e, tc_sym n) { return ATEN("arange", "sd", n, (int)TC_I64); }
/* The single element of a tensor, as a number known at run time. */
static tc_sym number(tc_emit *e, tc_value *v) {
    tc_value *s = tc_e1(e, "aten::item", v);
    return s && s->sym ? s->sym : tc_sym_int(tc_e_sym(e), 0);
}
/* The same for a number that the caller knows to be at least 0. */
static tc_sym count_in(tc_emit *e, tc_value *v) {
    tc_sym s = number(e, v);
    if (tc_sym_opcode(s) == TC_S_VAR) tc_sym_set_range(tc_e_sym(e), s, 0, INT64_MAX);
    return s;
}

/* ---- bincount ---- */
static tc_status decompose_bincount(tc_emit *e, const tc_node *n) { /* self, weights, minlength */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *ones;
    tc_symctx *s = tc_e_sym(e);
    tc_sym least = tc_arg_sym(n, 2), size = least;
    int64_t v;
    if (x->meta.rank != 1 || !tc_is_integral(x->meta.dtype) || x->meta.dtype == TC_BOOL)
        return tc_is_integral(x->meta.dtype) && x->meta.dtype != TC_BOOL
                   ? tc_e_refuse(n, "bincount only supports 1-d non-negative integral inputs.")
                   : tc_error(TC_CONTENT, "NotImplementedError: %s: not implemented for '%s'", tc_op_name(n->op), tc_dtypes[x->meta.dtype].torch);
    if (tc_sym_const_int(least, &v) && v < 0) return tc_e_refuse(n, "minlength should be >= 0");
    if (w && (w->meta.rank != 1 || tc_sym_differ(s, w->meta.size[0], x->meta.size[0])))
        return tc_e_refuse(n, "weights should be 1-d and have the same length as input");
    x = tc_e_cast(e, x, TC_I64);
    if (!x) return tc_e_done(e);
    if (!tc_sym_is_int(x->meta.size[0], 0)) {
        const bool some = tc_sym_known(s, tc_sym_op(s, TC_S_LT, tc_sym_int(s, 0), x->meta.size[0], NULL)) == 1;
        tc_value *low = some ? tc_e1(e, "aten::min", x) : x, *all = x; /* min and max in one loop */
        tc_e_require(e, ATEN("ge.Scalar", "vi", low, (int64_t)0), "bincount only supports 1-d non-negative integral inputs.");
        if (!some) all = ATEN("constant_pad_nd", "vIi", x, (int64_t[]){0, 1}, 2, (int64_t)-1); /* the largest of no elements is -1 */
        tc_value *high = tc_e1(e, "aten::max", all);
        size = count_in(e, ATEN("clamp", "vs", ATEN("add.Scalar", "vi", high, (int64_t)1), least));
    }
    tc_dtype d = !w ? TC_I64 : w->meta.dtype == TC_F32 ? TC_F32 : TC_F64;
    ones = w ? tc_e_cast(e, w, d) : ATEN("ones_like", "v", x);
    tc_emit_result(e, 0, ATEN("scatter_add", "vivv", ATEN("zeros", "Sd", &size, 1, (int)d), (int64_t)0, x, ones));
    return tc_e_done(e);
}

/* ---- histograms ---- */
typedef struct {
    tc_value *edges; /* count + 1, ascending */
    int64_t count;
} bins;

/* The range of bins: from the smallest to the largest element, or the given one (lo = hi = 0: none). An empty range is widened as in PyTorch: by 1
 * on each side for histc, for which (0, 0) has no elements; by 1/2 for the others, which take 0 and 1. */
static tc_value *even_edges(tc_emit *e, tc_value *x, double lo, double hi, int64_t count, bool histc) {
    if (!x) return NULL;
    tc_dtype d = x->meta.dtype, up = tc_dtype_compute(d);
    tc_value *a, *b;
    bool empty = tc_sym_is_int(numel(e, x), 0);
    if (lo == 0 && hi == 0 && empty && !histc) hi = 1;
    if (lo < hi) return ATEN("linspace", "ffid", lo, hi, count + 1, (int)d);
    if (lo != 0) {
        a = ATEN("full", "Ifd", NULL, 0, lo, (int)up), b = ATEN("full", "Ifd", NULL, 0, hi, (int)up);
    } else if (empty) {
        a = b = ATEN("zeros", "Id", NULL, 0, (int)up);
    } else {
        a = tc_e_cast(e, ATEN("amin", "vI", x, NULL, 0), up), b = tc_e_cast(e, ATEN("amax", "vI", x, NULL, 0), up);
        tc_e_require(e, tc_e2(e, "aten::logical_and", tc_e1(e, "aten::isfinite", a), tc_e1(e, "aten::isfinite", b)), "range is not finite");
    }
    tc_value *apart = tc_e_muls(e, tc_e_cast(e, tc_e2(e, "aten::eq.Tensor", a, b), up), histc ? 1 : 0.5);
    a = tc_e_sub(e, a, apart), b = tc_e_add(e, b, apart);
    return ATEN("linspace.Tensor_Tensor", "vvid", a, b, count + 1, (int)d);
}
/* The bin of each element of x along its edges; *inside: the elements that fall into a bin. */
static tc_value *place(tc_emit *e, tc_value *x, const bins *b, tc_value **inside) {
    tc_value *lo = ATEN("select.int", "vii", b->edges, (int64_t)0, (int64_t)0), *hi = ATEN("select.int", "vii", b->edges, (int64_t)0, b->count);
    tc_value *in = tc_e2(e, "aten::logical_and", tc_e2(e, "aten::ge.Tensor", x, lo), tc_e2(e, "aten::le.Tensor", x, hi));
    *inside = *inside ? tc_e2(e, "aten::logical_and", *inside, in) : in;
    tc_value *at = ATEN("sub.Scalar", "vi", ATEN("searchsorted.Tensor", "vvbb", b->edges, x, 0, 1), (int64_t)1);
    return ATEN("clamp", "vii", at, (int64_t)0, b->count - 1);
}
static tc_status range_given(const tc_node *n, int arg, int dims, double *out) {
    const tc_arg *r = &n->args[arg];
    for (int k = 0; k < 2 * dims; k++) out[k] = 0;
    if (r->kind == TC_A_NONE || r->n == 0) return NULL;
    if (r->kind != TC_A_FLOATS && r->kind != TC_A_INTS) return tc_e_refuse(n, "range should be a list of numbers");
    if (r->n != 2 * dims) return tc_e_refuse(n, "for a %d-dimensional histogram range should have %d elements, but got %d", dims, 2 * dims, r->n);
    for (int k = 0; k < r->n; k++) {
        int64_t v = 0;
        if (r->kind == TC_A_INTS) tc_sym_const_int(r->syms[k], &v);
        out[k] = r->kind == TC_A_FLOATS ? r->floats[k] : (double)v;
        if (!__builtin_isfinite(out[k])) return tc_e_refuse(n, "range is not finite");
        if (k % 2 && out[k - 1] > out[k]) return tc_e_refuse(n, "min should not exceed max");
    }
    return NULL;
}
/* The edges of dimension k from the bins argument: a list of tensors, numbers of bins, or one of either. */
static tc_status edges_of(tc_emit *e, const tc_node *n, tc_value *x, int k, int dims, const double *range, bins *out) {
    const tc_arg *a = &n->args[1];
    tc_value *t = a->kind == TC_A_VALUES ? a->values[k] : tc_arg_value(n, 1);
    if (!x) return tc_e_done(e);
    if (t && t->kind == TC_V_TENSOR) {
        if (t->meta.rank != 1) return tc_e_refuse(n, "bins tensor should have one dimension");
        if (t->meta.dtype != x->meta.dtype) return tc_e_refuse(n, "input tensor and bins tensors should have the same dtype");
        int64_t size;
        if (!tc_sym_const_int(t->meta.size[0], &size)) return tc_error(TC_UNSUPPORTED, "%s: a number of bins that is not known", tc_op_name(n->op));
        if (size < 1) return tc_e_refuse(n, "bins tensor should have at least 1 element");
        *out = (bins){t, size - 1};
        return NULL;
    }
    int64_t size = 0;
    if (a->kind != TC_A_INTS) size = tc_arg_int(n, 1);
    else if (!tc_sym_const_int(a->syms[k], &size)) return tc_error(TC_UNSUPPORTED, "%s: a number of bins that is not known", tc_op_name(n->op));
    if (size <= 0) return tc_e_refuse(n, "bins must be > 0, but got %lld for dimension %d of %d", (long long)size, k, dims);
    if (x->meta.dtype != TC_F32 && x->meta.dtype != TC_F64 && range[2 * k] == range[2 * k + 1])
        return tc_e_refuse(n, "NotImplementedError: \"histogramdd\" not implemented for '%s' without a range", tc_dtypes[x->meta.dtype].torch);
    *out = (bins){even_edges(e, x, range[2 * k], range[2 * k + 1], size, false), size};
    return NULL;
}
/* x: one vector for each dimension. weight: a vector or NULL. */
static tc_value *histogram(tc_emit *e, tc_value *const *x, int dims, const bins *b, tc_value *weight, bool density) {
    tc_value *inside = NULL, *at = NULL, *hist;
    tc_dtype d = x[0]->meta.dtype;
    int64_t size[TC_MAX_RANK], total = 1;
    for (int k = 0; k < dims; k++) {
        tc_value *p = place(e, x[k], &b[k], &inside);
        at = at ? tc_e_add(e, ATEN("mul.Scalar", "vi", at, b[k].count), p) : p;
        size[k] = b[k].count;
        total *= size[k];
    }
    tc_value *w = weight ? ATEN("where.ScalarOther", "vvi", inside, weight, (int64_t)0) : tc_e_cast(e, inside, TC_I64);
    hist = ATEN("scatter_add", "vivv", ATEN("zeros", "Id", &total, 1, (int)(weight ? d : TC_I64)), (int64_t)0, at, w);
    hist = ATEN("view", "vI", tc_e_cast(e, hist, d), size, dims);
    if (!density) return hist;
    tc_value *sum = tc_e1(e, "aten::sum", hist);
    hist = tc_e_div(e, hist, sum);
    for (int k = 0; k < dims; k++) {
        tc_value *width = tc_e_sub(e, ATEN("slice.Tensor", "viii", b[k].edges, (int64_t)0, (int64_t)1, INT64_MAX),
                                   ATEN("slice.Tensor", "viii", b[k].edges, (int64_t)0, (int64_t)0, (int64_t)-1));
        int64_t shape[TC_MAX_RANK];
        for (int j = 0; j < dims; j++) shape[j] = j == k ? -1 : 1;
        hist = tc_e_div(e, hist, ATEN("view", "vI", width, shape, dims));
    }
    return hist;
}
static tc_status check_histogram(const tc_node *n, const tc_value *x, const tc_value *weight, int drop) {
    if (!tc_is_float(x->meta.dtype))
        return tc_e_refuse(n, "NotImplementedError: \"histogram_cpu\" not implemented for '%s'", tc_dtypes[x->meta.dtype].torch);
    if (!weight) return NULL;
    if (weight->meta.dtype != x->meta.dtype)
        return tc_e_refuse(n, "if weight tensor is provided, input tensor and weight tensor should have the same dtype");
    tc_symctx *s = n->graph->program->sym;
    if (!drop && !tc_sym_differ(s, tc_meta_numel(s, &weight->meta), tc_meta_numel(s, &x->meta))) return NULL; /* both are read as vectors */
    bool same = drop && weight->meta.rank == x->meta.rank - drop;
    for (int k = 0; same && k < weight->meta.rank; k++) same = !tc_sym_differ(s, weight->meta.size[k], x->meta.size[k]);
    return same ? NULL
                : tc_e_refuse(n, "if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension");
}
static tc_status decompose_histogram(tc_emit *e, const tc_node *n) { /* self, bins, [range], weight, density */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, n->nargs - 2);
    double given[2] = {0};
    bins b = {0};
    TC_TRY(check_histogram(n, x, w, 0));
    if (n->nargs == 5) TC_TRY(range_given(n, 2, 1, given));
    x = flat(e, x);
    TC_TRY(edges_of(e, n, x, 0, 1, given, &b));
    tc_emit_result(e, 0, histogram(e, &x, 1, &b, w ? flat(e, w) : NULL, tc_arg_bool(n, n->nargs - 1)));
    tc_emit_result(e, 1, b.edges);
    return tc_e_done(e);
}
static tc_status decompose_histogramdd(tc_emit *e, const tc_node *n) { /* self, bins, range, weight, density */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 3), *column[TC_MAX_RANK], *edges[TC_MAX_RANK];
    double given[2 * TC_MAX_RANK];
    bins b[TC_MAX_RANK] = {{0}};
    int64_t dims;
    if (x->meta.rank < 2) return tc_e_refuse(n, "histogramdd: input tensor should have at least 2 dimensions");
    TC_TRY(check_histogram(n, x, w, 1));
    if (!tc_sym_const_int(x->meta.size[x->meta.rank - 1], &dims))
        return tc_error(TC_UNSUPPORTED, "%s: a symbolic number of dimensions", tc_op_name(n->op));
    const tc_arg *a = &n->args[1];
    if ((a->kind == TC_A_INTS || a->kind == TC_A_VALUES) && a->n != dims)
        return tc_e_refuse(n, "histogramdd: The size of bins must be equal to the innermost dimension of the input.");
    if (dims > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "%s: a histogram of more than %d dimensions", tc_op_name(n->op), TC_MAX_RANK);
    if (dims < 1) return tc_e_refuse(n, "histogramdd: the innermost dimension of the input should not be empty");
    TC_TRY(range_given(n, 2, (int)dims, given));
    for (int k = 0; k < dims; k++) {
        column[k] = flat(e, ATEN("select.int", "vii", x, (int64_t)-1, (int64_t)k));
        if (e->status) return tc_e_done(e);
        TC_TRY(edges_of(e, n, column[k], k, (int)dims, given, &b[k]));
        edges[k] = b[k].edges;
    }
    tc_emit_result(e, 0, histogram(e, column, (int)dims, b, w ? flat(e, w) : NULL, tc_arg_bool(n, 4)));
    tc_emit_result(e, 1, tc_e_list(e, edges, (int)dims));
    return tc_e_done(e);
}
/* histc: bins of equal width; the bin is floor((x - lo) / width), by PyTorch's order of operations. */
static tc_status decompose_histc(tc_emit *e, const tc_node *n) { /* self, bins, min, max */
    tc_value *x = flat(e, tc_arg_value(n, 0));
    int64_t count = tc_arg_int(n, 1);
    double lo = tc_arg_float(n, 2), hi = tc_arg_float(n, 3);
    tc_dtype d = tc_arg_meta(n, 0)->dtype;
    if (!tc_is_float(d)) return tc_e_refuse(n, "NotImplementedError: \"histogram_cpu\" not implemented for '%s'", tc_dtypes[d].torch);
    if (count <= 0) return tc_e_refuse(n, "bins must be > 0");
    if (!__builtin_isfinite(lo) || !__builtin_isfinite(hi)) return tc_e_refuse(n, "range of [%g, %g] is not finite", lo, hi);
    if (lo > hi) return tc_e_refuse(n, "max must be larger than min");
    if (lo == hi && !tc_sym_is_int(numel(e, x), 0)) lo = hi = 0; /* no range given: that of the data */
    bins b = {even_edges(e, x, lo, hi, count, true), count};
    tc_value *inside = NULL;
    if (e->status) return tc_e_done(e);
    place(e, x, &b, &inside);
    tc_value *first = ATEN("select.int", "vii", b.edges, (int64_t)0, (int64_t)0), *last = ATEN("select.int", "vii", b.edges, (int64_t)0, count);
    tc_value *at = tc_e_div(e, ATEN("mul.Scalar", "vi", tc_e_sub(e, x, first), count), tc_e_sub(e, last, first));
    at = ATEN("clamp", "vii", tc_e_cast(e, ATEN("where.ScalarOther", "vvi", inside, at, (int64_t)0), TC_I64), (int64_t)0, count - 1);
    tc_value *hist = ATEN("scatter_add", "vivv", ATEN("zeros", "Id", &count, 1, (int)TC_I64), (int64_t)0, at, tc_e_cast(e, inside, TC_I64));
    tc_emit_result(e, 0, tc_e_cast(e, hist, d));
    return tc_e_done(e);
}

/* ---- where the elements are ---- */
/* The k-th true element is the first position at which the running count reaches k + 1. */
static tc_status decompose_nonzero_static(tc_emit *e, const tc_node *n) { /* self, size, fill_value */
    tc_value *x = tc_arg_value(n, 0), *columns[TC_MAX_RANK];
    tc_symctx *s = tc_e_sym(e);
    tc_sym size = tc_arg_sym(n, 1), all = numel(e, x);
    int rank = x->meta.rank;
    int64_t v;
    if (tc_sym_const_int(size, &v) && v < 0) return tc_e_refuse(n, "nonzero_static: 'size' must be an non-negative integer");
    tc_sym shape[2] = {size, tc_sym_int(s, rank)};
    if (rank == 0 || tc_sym_is_int(all, 0)) {
        tc_emit_result(e, 0, ATEN("full", "Sad", shape, 2, &n->args[2], (int)TC_I64));
        return tc_e_done(e);
    }
    tc_value *m = flat(e, ATEN("ne.Scalar", "vi", x, (int64_t)0)), *count = ATEN("cumsum", "vi", m, (int64_t)0);
    tc_value *at = ATEN("searchsorted.Tensor", "vv", count, ATEN("add.Scalar", "vi", range(e, size), (int64_t)1));
    tc_value *found = ATEN("lt.Scalar", "va", at, &(tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = all});
    for (int d = rank; d-- > 0;) {
        tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = x->meta.size[d]};
        if (tc_sym_const_int(by.sym, &v)) by = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(v)};
        tc_value *i = d ? ATEN("remainder.Scalar", "va", at, &by) : at;
        if (d) at = ATEN("div.Scalar_mode", "vat", at, &by, "floor");
        columns[d] = ATEN("where.ScalarOther", "vva", found, i, &n->args[2]);
    }
    tc_emit_result(e, 0, ATEN("stack", "Vi", columns, rank, (int64_t)1));
    return tc_e_done(e);
}
static tc_status decompose_argwhere(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::nonzero", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status decompose_nonzero_numpy(tc_emit *e, const tc_node *n) { /* one tensor of indices for each dimension; PyTorch makes 0-d inputs 1-d */
    tc_value *where = tc_e1(e, "aten::nonzero", flat_scalar(e, tc_arg_value(n, 0)));
    tc_emit_result(e, 0, ATEN("unbind.int", "vi", where, (int64_t)1));
    return tc_e_done(e);
}
/* A few test elements are compared one by one, many are searched in sorted order. */
static tc_status decompose_isin(tc_emit *e, const tc_node *n) { /* elements, test_elements, assume_unique, invert */
    tc_promotion p = {TC_DTYPE_NONE, TC_DTYPE_NONE, TC_DTYPE_NONE};
    tc_promotion_add(&p, &n->args[0]);
    tc_promotion_add(&p, &n->args[1]);
    tc_dtype d = tc_promotion_type(&p);
    bool invert = tc_arg_bool(n, 3);
    tc_value *v[2], *r;
    int64_t count;
    if (p.clashes) return tc_e_refuse(n, "Promotion for uint16, uint32, uint64 types is not supported");
    for (int k = 0; k < 2; k++) {
        v[k] = tc_arg_meta(n, k) ? tc_arg_value(n, k) : NULL;
        tc_kind kind;
        tc_dtype own = v[k] ? v[k]->meta.dtype : tc_arg_number(&n->args[k], &kind) && kind == TC_KIND_BOOL ? TC_BOOL : TC_F32;
        if (own == TC_BOOL || tc_is_complex(own))
            return tc_error(TC_CONTENT, "NotImplementedError: Unsupported input type encountered for isin(): %s", tc_dtypes[own].torch);
        v[k] = v[k] ? tc_e_cast(e, v[k], d) : ATEN("scalar_tensor", "ad", &n->args[k], (int)d);
    }
    if (e->status) return tc_e_done(e);
    tc_value *x = v[0], *test = flat(e, v[1]);
    if (tc_sym_const_int(numel(e, test), &count) && count <= 16) {
        r = ATEN("any.dim", "vi", tc_e2(e, "aten::eq.Tensor", ATEN("unsqueeze", "vi", x, (int64_t)-1), test), (int64_t)-1);
        if (x->meta.rank == 0 && r && r->meta.rank) r = ATEN("squeeze", "v", r);
    } else {
        tc_value *sorted = ATEN("sort", "vi", test, (int64_t)0), *at = ATEN("searchsorted.Tensor", "vv", sorted, x);
        tc_value *one_more = ATEN("constant_pad_nd", "vIf", sorted, ((int64_t[]){0, 1}), 2, 0.0); /* what is greater than all is found at its end */
        r = tc_e2(e, "aten::eq.Tensor", ATEN("_unsafe_index.Tensor", "vV", one_more, &at, 1), x);
        r = tc_e2(e, "aten::logical_and", r, ATEN("lt.Scalar", "vs", at, numel(e, test)));
    }
    tc_emit_result(e, 0, invert ? tc_e1(e, "aten::logical_not", r) : r);
    return tc_e_done(e);
}
static tc_status decompose_equal(tc_emit *e, const tc_node *n) {
    tc_value *a = tc_arg_value(n, 0), *b = tc_arg_value(n, 1), *r;
    tc_symctx *s = tc_e_sym(e);
    bool same = a->meta.rank == b->meta.rank;
    for (int d = 0; same && d < a->meta.rank; d++) { same = tc_e_guard(e, n, tc_sym_op(s, TC_S_EQ, a->meta.size[d], b->meta.size[d], NULL)); }
    if (same) r = tc_e1(e, "aten::all", tc_e2(e, "aten::eq.Tensor", a, b));
    else r = ATEN("zeros", "Id", NULL, 0, (int)TC_BOOL);
    tc_emit_result(e, 0, tc_e1(e, "aten::item", r));
    return tc_e_done(e);
}

/* ---- chosen and repeated ---- */
/* n over r, or -1 if it is larger than any tensor. */
static int64_t choose(int64_t n, int64_t r) {
    int64_t c = 1;
    for (int64_t k = 1; k <= r; k++) {
        if (__builtin_mul_overflow(c, n - r + k, &c)) return -1;
        c /= k;
    }
    return c;
}
/* All rows of r ascending (with replacement: non-descending) indices, in order. */
static tc_status decompose_combinations(tc_emit *e, const tc_node *n) { /* self, r, with_replacement */
    tc_value *x = tc_arg_value(n, 0), *mask = NULL, *rows;
    int64_t r = tc_arg_int(n, 1), count = 0, size;
    bool again = tc_arg_bool(n, 2);
    if (x->meta.rank != 1) return tc_e_refuse(n, "Expect a 1D vector");
    if (r < 0) return tc_e_refuse(n, "Expect a non-negative number, but got %lld", (long long)r);
    if (r == 0) {
        tc_emit_result(e, 0, ATEN("zeros", "Id", (int64_t[]){0}, 1, (int)x->meta.dtype));
        return tc_e_done(e);
    }
    if (r == 1) {
        tc_emit_result(e, 0, ATEN("unsqueeze", "vi", x, (int64_t)1));
        return tc_e_done(e);
    }
    if (r > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "%s: combinations of more than %d", tc_op_name(n->op), TC_MAX_RANK);
    tc_value *line = range(e, x->meta.size[0]), *before = NULL;
    for (int k = 0; k < r; k++) {
        int64_t shape[TC_MAX_RANK];
        for (int j = 0; j < r; j++) shape[j] = j == k ? -1 : 1;
        tc_value *i = ATEN("view", "vI", line, shape, (int)r), *up = NULL;
        if (before) up = tc_e2(e, again ? "aten::le.Tensor" : "aten::lt.Tensor", before, i);
        mask = mask && up ? tc_e2(e, "aten::logical_and", mask, up) : up;
        before = i;
    }
    if (tc_sym_const_int(x->meta.size[0], &size)) {
        count = again ? (size ? choose(size + r - 1, r) : 0) : size < r ? 0 : choose(size, r);
        if (count < 0) return tc_e_refuse(n, "more combinations than a tensor can hold");
        rows = ATEN("nonzero_static", "vi", mask, count);
    } else {
        rows = tc_e1(e, "aten::nonzero", mask);
    }
    tc_emit_result(e, 0, ATEN("_unsafe_index.Tensor", "vV", x, &rows, 1));
    return tc_e_done(e);
}
static tc_value *repeated(tc_emit *e, const tc_node *n, tc_value *repeats, int size_arg) {
    tc_value *ends = ATEN("cumsum", "vi", repeats, (int64_t)0);
    tc_sym total;
    if (!tc_arg_is_none(n, size_arg)) {
        total = tc_arg_sym(n, size_arg);
        tc_e_require(e, ATEN("eq.Scalar", "va", ATEN("sum", "v", repeats), &n->args[size_arg]), "allocated size does not match required size");
    } else if (tc_sym_is_int(repeats->meta.size[0], 0)) total = tc_sym_int(tc_e_sym(e), 0);
    else total = count_in(e, ATEN("select.int", "vii", ends, (int64_t)0, (int64_t)-1));
    return ATEN("searchsorted.Tensor", "vvbb", ends, range(e, total), 0, 1);
}
static tc_status check_repeats(tc_emit *e, const tc_node *n, tc_value **repeats) {
    tc_dtype d = (*repeats)->meta.dtype;
    if (d != TC_I64 && d != TC_I32) return tc_e_refuse(n, "repeats has to be Long or Int tensor");
    *repeats = tc_e_cast(e, *repeats, TC_I64);
    if (*repeats && !tc_sym_is_int(numel(e, *repeats), 0))
        tc_e_require(e, ATEN("ge.Scalar", "vi", *repeats, (int64_t)0), "repeats can not be negative");
    return NULL;
}
static tc_status decompose_repeats(tc_emit *e, const tc_node *n) { /* repeats, output_size */
    tc_value *repeats = tc_arg_value(n, 0);
    if (repeats->meta.rank != 1) return tc_e_refuse(n, "repeat_interleave only accept 1D vector as repeat");
    TC_TRY(check_repeats(e, n, &repeats));
    tc_emit_result(e, 0, repeated(e, n, repeats, 1));
    return tc_e_done(e);
}
static tc_status decompose_repeat_by(tc_emit *e, const tc_node *n) { /* self, repeats, dim, output_size */
    tc_value *x = tc_arg_value(n, 0), *repeats = tc_arg_value(n, 1);
    tc_symctx *s = tc_e_sym(e);
    int64_t d = 0;
    if (tc_arg_is_none(n, 2)) {
        x = flat(e, x);
    } else {
        d = tc_arg_int(n, 2);
        int r = x->meta.rank ? x->meta.rank : 1;
        if (d < -r || d >= r)
            return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                            tc_op_name(n->op), -r, r - 1, (long long)d);
        if (x->meta.rank == 0) x = flat(e, x);
        d = tc_wrap(d, x->meta.rank);
    }
    if (repeats->meta.rank > 1) return tc_e_refuse(n, "repeats must be 0-dim or 1-dim tensor");
    TC_TRY(check_repeats(e, n, &repeats));
    if (e->status) return tc_e_done(e);
    if (repeats->meta.rank == 0 || tc_sym_is_int(repeats->meta.size[0], 1)) repeats = ATEN("expand", "vS", repeats, &x->meta.size[d], 1);
    else if (tc_sym_differ(s, repeats->meta.size[0], x->meta.size[d])) return tc_e_refuse(n, "repeats must have the same size as input along dim");
    tc_emit_result(e, 0, ATEN("index_select", "viv", x, d, repeated(e, n, repeats, 3)));
    return tc_e_done(e);
}

/* ---- hash ---- */
static tc_status shape_hash(tc_shape_ctx *c) { /* self, dim, keepdim, mode */
    uint64_t mask;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (tc_is_complex(m->dtype)) return tc_sh_fail(c, "hash_tensor does not support complex inputs");
    if (tc_sh_const(c, 3) != 0) return tc_sh_fail(c, "Unknown hash_tensor mode: %lld", (long long)tc_sh_const(c, 3));
    TC_TRY(tc_sh_dim_mask(c, 1, m->rank, &mask));
    for (int d = 0; d < m->rank; d++)
        if (mask >> d & 1 && tc_sym_is_int(m->size[d], 0)) return tc_sh_fail(c, "hash_tensor: Expected reduction dim %d to have non-zero size.", d);
    tc_dims d = tc_dims_reduced(c, m, mask, tc_sh_bool(c, 2));
    return tc_sh_out(c, 0, TC_U64, &d);
}

#define DATA(SCHEMA, name, more, sample, text)                                                                                                       \
    {                                                                                                                                                \
        .schema = "aten::" SCHEMA, .flags = TC_OP_DATA_SHAPE | more, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, \
        .doc = text                                                                                                                                  \
    }
#define RULE(SCHEMA, name, sample, text) FLAGGED(SCHEMA, name, TC_OP_NONDIFF, sample, text)
#define FLAGGED(SCHEMA, name, flags_, sample, text) \
    { .schema = "aten::" SCHEMA, .flags = flags_, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define HISTOGRAM "how many elements (or how much weight) fall between edges; the edges"
const tc_op tc_ops_count[] = {
    DATA("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", bincount, TC_OP_UNDERIVED,
         "bincount(i64[9]:0..5); bincount(i32[9]:0..5, f32[9], 8)", "how often each number occurs"),
    RULE("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", histc, "histc(f32[30], 8); histc(f64[5,6], 4, -1, 1)",
         "how many elements fall into bins of equal width"),
    FLAGGED("histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor "
            "bin_edges)",
            histogram, TC_OP_UNDERIVED, "histogram(f32[30], 8); histogram(f64[5,6], 4, range=[-1.0, 1.0], weight=f64[5,6], density=True)", HISTOGRAM),
    FLAGGED("histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
            histogram, TC_OP_UNDERIVED, NULL, HISTOGRAM),
    FLAGGED("histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
            histogramdd, TC_OP_UNDERIVED, "histogramdd(f32[30,2], [3, 4])", HISTOGRAM),
    FLAGGED("histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] "
            "bin_edges)",
            histogramdd, TC_OP_UNDERIVED, "histogramdd(f32[30,2], 3)", HISTOGRAM),
    FLAGGED("histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, "
            "Tensor[] bin_edges)",
            histogramdd, TC_OP_UNDERIVED, NULL, HISTOGRAM),
    RULE("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", nonzero_static, "nonzero_static(bool[4,5], size=7)",
         "indices of the first elements that are not zero, a row each"),
    DATA("argwhere(Tensor self) -> Tensor", argwhere, TC_OP_NONDIFF, "argwhere(bool[3,5])", "indices of the elements that are not zero, a row each"),
    DATA("nonzero_numpy(Tensor self) -> Tensor[]", nonzero_numpy, TC_OP_NONDIFF, "nonzero_numpy(bool[3,5]); nonzero_numpy(f32[])",
         "indices of the elements that are not zero, a tensor a dimension"),
    DATA("where(Tensor condition) -> Tensor[]", nonzero_numpy, TC_OP_NONDIFF, "where(bool[3,5])",
         "indices of the elements that are not zero, a tensor a dimension"),
    RULE("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", isin,
         "isin(i64[4,5]:0..9, i64[3]:0..9); isin(i64[9]:0..50, i64[40]:0..50, invert=True)", "whether the element is one of test_elements"),
    RULE("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor", isin,
         "isin(i64[4,5]:0..9, 3)", "whether the element is test_element"),
    RULE("isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", isin,
         "isin(3, i64[9]:0..9)", "whether the number is one of test_elements"),
    RULE("equal(Tensor self, Tensor other) -> bool", equal, NULL, "whether sizes and all elements are equal, as a number"),
    DATA("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", combinations, 0,
         "combinations(f32[5], 3); combinations(f32[4], 2, True)", "all choices of r elements, a row each"),
    DATA("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", repeats, TC_OP_NONDIFF, "repeat_interleave(i64[5]:0..3)",
         "index i as often as repeats[i] says"),
    DATA("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", repeat_by, 0,
         "repeat_interleave(f32[5,2], i64[5]:0..3, 0)", "slices repeated as often as repeats says"),
    {.schema = "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
     .flags = TC_OP_NONDIFF,
     .shape = shape_hash,
     .kernel = &tc_k_hash,
     .samples = "hash_tensor(f32[3,5]); hash_tensor(i32[3,5], [1], keepdim=True)",
     .doc = "exclusive or of the bits of the elements as float64 or int64"},
    {0}};
