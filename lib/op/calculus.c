/* Integrals and derivatives of sampled functions: the trapezoid rule, its running sum, and finite differences.
 *
 *     trapezoid   sum of (y[i] + y[i+1]) / 2 (x[i+1] - x[i])
 *     gradient    (f[i+1] - f[i-1]) / 2h inside, one-sided at the ends: of first order, or of second through three points;
 *                 at coordinates x, with l and r the steps to the left and right of a point:
 *                 -r / (l (l + r)) f[i-1] + (r - l) / (l r) f[i] + l / (r (l + r)) f[i+1] */
#include "op/shape.h"

static tc_value *slice(tc_emit *e, tc_value *v, int d, int64_t start, int64_t end) {
    return tc_emit_call(e, "aten::slice.Tensor", "viii", v, (int64_t)d, start, end);
}
static tc_status wrap(const tc_node *n, int64_t d, int rank, int *out) {
    int r = rank ? rank : 1;
    if (d < -r || d >= r)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -r, r - 1, (long long)d);
    *out = tc_wrap(d, rank);
    return NULL;
}

/* ---- trapezoid ---- */
/* x expanded to the rank of y (one coordinate for each sample, or sizes that broadcast), and the steps between neighbours. */
static tc_status steps(tc_emit *e, const tc_node *n, tc_value *y, tc_value *x, int d, tc_value **out) {
    tc_symctx *s = tc_e_sym(e);
    int rank = y->meta.rank;
    tc_sym size[TC_MAX_RANK];
    if (x->meta.rank == 1) {
        if (tc_sym_differ(s, x->meta.size[0], y->meta.size[d])) return tc_e_refuse(n, "There must be one `x` value for each sample point");
        for (int k = 0; k < rank; k++) size[k] = k == d ? x->meta.size[0] : tc_sym_int(s, 1);
        x = tc_emit_call(e, "aten::reshape", "vS", x, size, rank);
    } else {
        while (x && x->meta.rank < rank) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    }
    *out = tc_e_sub(e, slice(e, x, d, 1, INT64_MAX), slice(e, x, d, 0, -1));
    return NULL;
}
/* y, x, dim or y, dx, dim */
static tc_status decompose_trapezoid(tc_emit *e, const tc_node *n) {
    const tc_schema *sc = tc_op_schema(n->op);
    bool running = sc->name[0] == 'c', at_x = sc->overload[0] == 'x';
    tc_value *y = tc_arg_value(n, 0), *x = at_x ? tc_arg_value(n, 1) : NULL, *dx = NULL, *r;
    int d;
    if (y->meta.rank == 0) return tc_error(TC_CONTENT, "IndexError: %s: Dimension specified as -1 but tensor has no dimensions", tc_op_name(n->op));
    TC_TRY(wrap(n, tc_arg_int(n, 2), y->meta.rank, &d));
    if (!running && tc_sym_is_int(y->meta.size[d], 0)) {
        tc_sym rest[TC_MAX_RANK];
        int k = 0;
        for (int j = 0; j < y->meta.rank; j++)
            if (j != d) rest[k++] = y->meta.size[j];
        tc_emit_result(e, 0, tc_emit_call(e, "aten::zeros", "Sd", rest, k, (int)y->meta.dtype));
        return tc_e_done(e);
    }
    if (y->meta.dtype == TC_BOOL || (x && x->meta.dtype == TC_BOOL))
        return tc_error(TC_CONTENT, "NotImplementedError: %s: received a bool input for `x` or `y`, but bool is not supported", tc_op_name(n->op));
    if (!at_x && n->args[1].kind == TC_A_SCALAR && !n->args[1].is_sym &&
        (n->args[1].scalar.kind == TC_KIND_BOOL || n->args[1].scalar.kind == TC_KIND_COMPLEX))
        return tc_e_refuse(n, "Currently, we only support dx as a real number.");
    if (x) TC_TRY(steps(e, n, y, x, d, &dx));
    if (!running && !x) {
        tc_value *ends = tc_e_add(e, tc_emit_call(e, "aten::select.int", "vii", y, (int64_t)d, (int64_t)0),
                                  tc_emit_call(e, "aten::select.int", "vii", y, (int64_t)d, (int64_t)-1));
        r = tc_e_sub(e, tc_e_sum_dims(e, y, (int64_t[]){d}, 1, false), tc_e_muls(e, ends, 0.5));
        tc_emit_result(e, 0, tc_e_muls(e, r, tc_arg_float(n, 1)));
        return tc_e_done(e);
    }
    r = tc_e_add(e, slice(e, y, d, 0, -1), slice(e, y, d, 1, INT64_MAX));
    if (x) r = tc_e_mul(e, dx, r);
    r = running ? tc_emit_call(e, "aten::cumsum", "vi", r, (int64_t)d) : tc_e_sum_dims(e, r, (int64_t[]){d}, 1, false);
    r = x ? tc_emit_call(e, "aten::div.Tensor", "vf", r, 2.0) : tc_e_muls(e, r, tc_arg_float(n, 1) / 2);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}

/* ---- gradient ---- */
/* one element of the steps, shaped for the function */
static tc_value *step(tc_emit *e, tc_value *x, int at) {
    tc_value *b = slice(e, x, 0, at, at + 1 ? at + 1 : INT64_MAX), *a = slice(e, x, 0, at - 1, at);
    return tc_e_sub(e, b, a);
}
static tc_value *shaped(tc_emit *e, tc_value *v, int rank, int d) {
    int64_t size[TC_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = k == d ? -1 : 1;
    return tc_emit_call(e, "aten::reshape", "vI", v, size, rank);
}
static tc_value *weighted(tc_emit *e, tc_value *const w[3], tc_value *const f[3]) {
    return tc_e_add(e, tc_e_add(e, tc_e_mul(e, w[0], f[0]), tc_e_mul(e, w[1], f[1])), tc_e_mul(e, w[2], f[2]));
}
/* inside, at coordinates x */
static tc_value *inside(tc_emit *e, tc_value *f, tc_value *x, int d) {
    int rank = f->meta.rank;
    tc_value *dx = tc_e_sub(e, slice(e, x, 0, 1, INT64_MAX), slice(e, x, 0, 0, -1));
    tc_value *l = shaped(e, slice(e, dx, 0, 0, -1), rank, d), *r = shaped(e, slice(e, dx, 0, 1, INT64_MAX), rank, d), *both = tc_e_add(e, l, r);
    tc_value *w[3] = {tc_e_div(e, tc_e_neg(e, r), tc_e_mul(e, l, both)), tc_e_div(e, tc_e_sub(e, r, l), tc_e_mul(e, l, r)),
                      tc_e_div(e, l, tc_e_mul(e, r, both))};
    return weighted(e, w, (tc_value *[]){slice(e, f, d, 0, -2), slice(e, f, d, 1, -1), slice(e, f, d, 2, INT64_MAX)});
}
/* The derivative at an end, from the step a at the end and the next step b. Signs are for the first element; for the last one the values are passed
 * in the opposite order and the result is negated. */
static tc_value *edge(tc_emit *e, tc_value *const f[3], tc_value *a, tc_value *b, bool last) {
    tc_value *both = tc_e_add(e, a, b);
    tc_value *w[3] = {tc_e_div(e, tc_e_neg(e, tc_e_add(e, tc_e_muls(e, a, 2), b)), tc_e_mul(e, a, both)), tc_e_div(e, both, tc_e_mul(e, a, b)),
                      tc_e_div(e, tc_e_neg(e, a), tc_e_mul(e, b, both))};
    tc_value *r = weighted(e, w, f);
    return last ? tc_e_neg(e, r) : r;
}
static tc_value *along(tc_emit *e, tc_value *f, tc_value *x, double h, int d, int order) {
    int rank = f->meta.rank;
    tc_value *first[3], *last[3], *parts[3];
    for (int k = 0; k <= order; k++) {
        first[k] = slice(e, f, d, k, k + 1);
        last[k] = slice(e, f, d, -1 - k, k ? -k : INT64_MAX);
    }
    if (x) {
        tc_value *a = shaped(e, step(e, x, 1), rank, d), *z = shaped(e, step(e, x, -1), rank, d);
        parts[1] = inside(e, f, x, d);
        if (order == 1) {
            parts[0] = tc_e_div(e, tc_e_sub(e, first[1], first[0]), a);
            parts[2] = tc_e_div(e, tc_e_sub(e, last[0], last[1]), z);
        } else {
            parts[0] = edge(e, first, a, shaped(e, step(e, x, 2), rank, d), false);
            parts[2] = edge(e, last, z, shaped(e, step(e, x, -2), rank, d), true);
        }
    } else {
        parts[1] = tc_e_sub(e, slice(e, f, d, 2, INT64_MAX), slice(e, f, d, 0, -2));
        parts[1] = tc_emit_call(e, "aten::div.Tensor", "vf", parts[1], 2 * h);
        for (int end = 0; end < 2; end++) {
            tc_value **v = end ? last : first, *r;
            if (order == 1) r = end ? tc_e_sub(e, v[0], v[1]) : tc_e_sub(e, v[1], v[0]);
            else r = tc_e_sub(e, tc_e_sub(e, tc_e_muls(e, v[1], 2), tc_e_muls(e, v[0], 1.5)), tc_e_muls(e, v[2], 0.5));
            parts[2 * end] = tc_emit_call(e, "aten::div.Tensor", "vf", r, end && order > 1 ? -h : h);
        }
    }
    return tc_emit_call(e, "aten::cat", "Vi", parts, 3, (int64_t)d);
}
/* The requested dimensions: dim is absent, an int or a list. */
static tc_status dims_of(const tc_node *n, int arg, int rank, int *out, int *out_n) {
    uint64_t seen = 0;
    int64_t list[TC_MAX_RANK];
    bool all = tc_arg_is_none(n, arg), many = n->args[arg].kind == TC_A_INTS;
    int count = all ? rank : many ? n->args[arg].n : 1;
    if (count > rank) return tc_e_refuse(n, "torch.gradient expected dim to have at most as many entries as the input has dimensions");
    if (many) tc_arg_ints(n, arg, list, TC_MAX_RANK);
    else if (!all) list[0] = tc_arg_int(n, arg);
    for (int k = 0; k < count; k++) {
        out[k] = k;
        if (!all) TC_TRY(wrap(n, list[k], rank, &out[k]));
        if (seen >> out[k] & 1) return tc_e_refuse(n, "dim %d appears multiple times in the list of dims", out[k]);
        seen |= UINT64_C(1) << out[k];
    }
    *out_n = count;
    return NULL;
}
/* self, [spacing,] dim (absent in none), edge_order */
static tc_status decompose_gradient(tc_emit *e, const tc_node *n) {
    tc_value *f = tc_arg_value(n, 0), *out[TC_MAX_RANK];
    const tc_arg *sp = n->nargs == 4 ? &n->args[1] : NULL;
    int64_t order = tc_arg_int(n, n->nargs - 1), size;
    int d[TC_MAX_RANK], count = 0;
    if (f->meta.dtype == TC_U8) return tc_error(TC_CONTENT, "NotImplementedError: torch.gradient does not support uint8 input.");
    TC_TRY(dims_of(n, n->nargs - 2, f->meta.rank, d, &count));
    bool tensors = sp && sp->kind == TC_A_VALUES, list = sp && !tensors && sp->kind != TC_A_SCALAR && sp->kind != TC_A_INT && sp->kind != TC_A_NONE;
    if ((tensors || list) && sp->n != count)
        return tc_e_refuse(n,
                           "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = %d', "
                           "since dim argument was not given, but got a list of length %d",
                           count, sp->n);
    if (order != 1 && order != 2) return tc_e_refuse(n, "torch.gradient only supports edge_order=1 and edge_order=2.");
    for (int k = 0; k < count; k++) {
        if (tc_sym_const_int(f->meta.size[d[k]], &size) && size <= order)
            return tc_e_refuse(n, "torch.gradient expected each dimension size to be at least edge_order+1");
        tc_value *x = tensors ? sp->values[k] : NULL;
        if (x && x->meta.rank != 1)
            return tc_e_refuse(n, "torch.gradient expected each element of spacing to have one dimension, but got an element with %d dimensions!",
                               x->meta.rank);
        double h = 1;
        if (list) h = sp->kind == TC_A_FLOATS ? sp->floats[k] : 1;
        else if (sp && !tensors && sp->kind != TC_A_NONE) h = tc_arg_float(n, 1);
        if (list && sp->kind == TC_A_INTS && tc_sym_const_int(sp->syms[k], &size)) h = (double)size;
        out[k] = along(e, f, x, h, d[k], (int)order);
    }
    tc_emit_result(e, 0, tc_e_list(e, out, count));
    return tc_e_done(e);
}
/* Channels last is kept, except for differences along the first dimension, and along the channels with second-order ends. */
static tc_status shape_gradient(tc_shape_ctx *c) {
    TC_TRY(tc_shape_decomposed(c));
    const tc_meta *f = tc_sh_meta(c, 0);
    const tc_arg *dim = &c->args[c->nargs - 2];
    const tc_dims size = tc_dims_of(f);
    const bool weighs = c->args[1].kind == TC_A_VALUES || tc_sh_const(c, c->nargs - 1) > 1;
    for (int k = 0; k < c->outs[0].nlist && tc_sh_is_channels_last(c, f); k++) {
        int64_t d = k;
        if (dim->kind == TC_A_INTS && !tc_sym_const_int(dim->syms[k], &d)) continue;
        if (dim->kind == TC_A_INT || dim->kind == TC_A_SCALAR) d = tc_sh_const(c, c->nargs - 2);
        c->outs[0].list[k]->meta.stride = tc_wrap(d, f->rank) > weighs ? tc_sh_channels_last_strides(c, &size) : NULL;
    }
    return NULL;
}

#define RULE(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA, .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define GRADIENT(SCHEMA, sample) \
    { .schema = "aten::gradient." SCHEMA, .shape = shape_gradient, .decompose = decompose_gradient, .samples = sample, .doc = DIFFERENCE }
#define TRAPEZOID "sum of (y[i] + y[i+1]) / 2 times the step"
#define DIFFERENCE "finite differences along each dimension"
const tc_op tc_ops_calculus[] = {
    RULE("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid, "trapezoid(f32[3,5], f32[5])", TRAPEZOID),
    RULE("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", trapezoid, "trapezoid(f32[3,5], dx=0.5, dim=0)", TRAPEZOID),
    RULE("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid, "trapz(f32[3,5], f32[3,5])", TRAPEZOID),
    RULE("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", trapezoid, "trapz(f32[3,5])", TRAPEZOID),
    RULE("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid, "cumulative_trapezoid(f32[3,5], f32[5])",
         "running " TRAPEZOID),
    RULE("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", trapezoid, "cumulative_trapezoid(f32[3,5], dx=0.5)",
         "running " TRAPEZOID),
    GRADIENT("scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
             "gradient(f32[4,5]); gradient(f64[5], spacing=0.5, edge_order=2)"),
    GRADIENT("scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", "gradient(f32[4,5], spacing=2.0, dim=[0, 1])"),
    GRADIENT("array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", "gradient(f32[4,5], dim=[1])"),
    GRADIENT("scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", "gradient(f32[4,5], spacing=[2.0, 1.0])"),
    GRADIENT("scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
             "gradient(f32[4,5], spacing=[2.0, 1.0], dim=[0, 1])"),
    GRADIENT("tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
             "gradient(f32[4,5], spacing=[f32[4], f32[5]])"),
    GRADIENT("tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
             "gradient(f32[4,5], spacing=[f32[5]], dim=[1], edge_order=2)"),
    {0}};
