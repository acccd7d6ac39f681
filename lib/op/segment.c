/* segment_reduce: reductions over runs of one dimension, given by their lengths or by where they begin.
 *
 *     data [outer.., n, inner..], lengths [outer.., s] or offsets [outer.., s + 1]  ->  [outer.., s, inner..]
 *
 * Each element's segment is found in the running sum of the lengths; elements outside of all segments go to one more, which is cut off. An
 * initial value takes part in every segment. max, min, sum and mean begin with the identity otherwise, and the mean of nothing is NaN. */
#include "op/shape.h"

#include <math.h>
#include <string.h>

enum { MAX, MIN, SUM, MEAN, PROD };
static int kind_of(const char *reduce) {
    static const char *const names[] = {"max", "min", "sum", "mean", "prod", "amax", "amin"};
    for (int i = 0; reduce && i < 7; i++)
        if (!strcmp(reduce, names[i])) return i % 5;
    return -1;
}

/* The inputs of forward and backward, whose schemas differ in order. */
typedef struct {
    tc_emit *e;
    tc_value *x, *lengths, *offsets, *given; /* given: lengths or offsets, whichever is not NULL */
    const tc_arg *initial;
    int axis, kind;
    tc_sym segments;
    tc_value *id; /* with x's sizes: the segment of each element; `segments` if in none */
} segments;

static const tc_meta *given_meta(const tc_meta *lengths, const tc_meta *offsets) { return lengths ? lengths : offsets; }
static tc_sym count_of(tc_symctx *s, const tc_meta *lengths, const tc_meta *offsets) {
    const tc_meta *m = given_meta(lengths, offsets);
    return lengths ? m->size[m->rank - 1] : tc_sym_sub(s, m->size[m->rank - 1], tc_sym_int(s, 1));
}

static tc_status shape_segment(tc_shape_ctx *c) { /* data, reduce, lengths, indices, offsets, axis, unsafe, initial */
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *x = tc_sh_meta(c, 0), *lengths = tc_sh_meta(c, 2), *offsets = tc_sh_meta(c, 4), *given = given_meta(lengths, offsets);
    int axis;
    if (tc_is_complex(x->dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "\"_segment_reduce_cpu\" not implemented for '%s'", tc_dtypes[x->dtype].torch);
    if (kind_of(tc_sh_string(c, 1)) < 0) return tc_sh_fail(c, "unsupported reduction given: %s", tc_sh_string(c, 1));
    if (tc_sh_given(c, 3)) return tc_sh_fail(c, "segment_reduce(): indices based reduction is not supported yet.");
    if (!given) return tc_sh_fail(c, "segment_reduce(): Either lengths or offsets must be defined.");
    TC_TRY(tc_sh_dim_arg(c, 5, x->rank, &axis));
    if (given->rank != axis + 1 || x->rank <= axis) return tc_sh_fail(c, "Expected axis to be the last dimension of lengths but got %d.", axis);
    if (given->dtype != TC_I64 && given->dtype != TC_I32) return tc_sh_fail(c, "expected lengths of int32 or int64");
    for (int d = 0; d < axis; d++)
        if (!tc_sh_same(c, given->size[d], x->size[d])) return tc_sh_fail(c, "Expected all dimensions up to axis to match");
    tc_dims out = tc_dims_of(x);
    out.size[axis] = count_of(tc_sh_sym(c), lengths, offsets);
    return tc_sh_out(c, 0, x->dtype, &out);
}

/* v [outer.., k] as [outer.., k, 1..], of rank r */
static tc_value *trailing(tc_emit *e, tc_value *v, int r) {
    while (v && v->meta.rank < r) v = tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)-1);
    return v;
}
/* appends a slice filled with `with` to dimension d */
static tc_value *one_more(tc_emit *e, tc_value *v, int d, double with) {
    int64_t pad[2 * TC_MAX_RANK] = {0};
    if (!v) return NULL;
    int n = v->meta.rank - d;
    pad[2 * n - 1] = 1;
    return tc_emit_call(e, "aten::constant_pad_nd", "vIf", v, pad, 2 * n, with);
}

static tc_status find_segments(segments *q) {
    tc_emit *e = q->e;
    tc_symctx *s = tc_e_sym(e);
    q->given = q->lengths ? q->lengths : q->offsets;
    q->axis = q->given->meta.rank - 1;
    q->segments = count_of(s, q->lengths ? &q->lengths->meta : NULL, q->offsets ? &q->offsets->meta : NULL);
    tc_value *g = tc_e_cast(e, q->given, TC_I64);
    tc_value *ends =
        q->lengths ? tc_emit_call(e, "aten::cumsum", "vi", g, (int64_t)-1) : tc_emit_call(e, "aten::slice.Tensor", "vii", g, (int64_t)-1, (int64_t)1);
    tc_sym size[TC_MAX_RANK];
    for (int d = 0; d <= q->axis; d++) size[d] = q->x->meta.size[d];
    tc_arg n = {.kind = TC_A_INT, .sym = size[q->axis]};
    tc_value *pos = tc_emit_call(e, "aten::arange", "ad", &n, (int)TC_I64);
    pos = pos ? tc_e1(e, "aten::clone", tc_emit_call(e, "aten::expand", "vS", pos, size, q->axis + 1)) : NULL;
    tc_value *id = tc_emit_call(e, "aten::searchsorted.Tensor", "vvbb", tc_e1(e, "aten::clone", ends), pos, 0, 1);
    if (q->offsets) {                                                                             /* before the first */
        tc_value *first = tc_emit_call(e, "aten::select.int", "vii", g, (int64_t)-1, (int64_t)0); /* [outer.., 1] for any sizes */
        first = tc_emit_call(e, "aten::unsqueeze", "vi", first, (int64_t)-1);
        tc_arg none = {.kind = TC_A_INT, .sym = q->segments};
        id = tc_emit_call(e, "aten::where.ScalarSelf", "vav", tc_e2(e, "aten::lt.Tensor", pos, first), &none, id);
    }
    q->id = tc_emit_call(e, "aten::expand", "vS", trailing(e, id, q->x->meta.rank), q->x->meta.size, q->x->meta.rank);
    return tc_e_done(e);
}
/* The number of elements of each segment, in x's type: [outer.., s, 1..] */
static tc_value *extents(const segments *q) {
    tc_emit *e = q->e;
    tc_value *n = q->lengths;
    if (!n) {
        tc_value *to = tc_emit_call(e, "aten::slice.Tensor", "vii", q->offsets, (int64_t)-1, (int64_t)1),
                 *from = tc_emit_call(e, "aten::slice.Tensor", "viii", q->offsets, (int64_t)-1, (int64_t)0, (int64_t)-1);
        n = tc_e_sub(e, to, from);
    }
    return trailing(e, tc_e_cast(e, n, q->x->meta.dtype), q->x->meta.rank);
}
static double identity(int kind) { return kind == MAX ? -INFINITY : kind == MIN ? INFINITY : kind == PROD; }
static double first_value(const segments *q) { return q->initial->kind == TC_A_SCALAR ? tc_scalar_to_double(q->initial->scalar) : identity(q->kind); }
/* v reduced by segments, starting from `start` */
static tc_value *reduced(const segments *q, tc_value *v, const char *how, double start) {
    tc_emit *e = q->e;
    tc_symctx *s = tc_e_sym(e);
    tc_sym size[TC_MAX_RANK];
    if (!v) return NULL;
    for (int d = 0; d < v->meta.rank; d++) size[d] = d == q->axis ? tc_sym_add(s, q->segments, tc_sym_int(s, 1)) : v->meta.size[d];
    tc_value *into = tc_emit_call(e, "aten::full", "Sfd", size, v->meta.rank, start, (int)v->meta.dtype);
    into = tc_emit_call(e, "aten::scatter_reduce.two", "vivvt", into, (int64_t)q->axis, q->id, v, how);
    return tc_emit_call(e, "aten::slice.Tensor", "viis", into, (int64_t)q->axis, (int64_t)0, q->segments);
}
/* For each element the value of its segment; `outside` if it is in none. */
static tc_value *spread(const segments *q, tc_value *v, double outside) {
    if (!v) return NULL;
    return tc_emit_call(q->e, "aten::gather", "viv", one_more(q->e, v, q->axis, outside), (int64_t)q->axis, q->id);
}

static tc_status decompose_segment(tc_emit *e, const tc_node *n) {
    static const char *const how[] = {"amax", "amin", "sum", "sum", "prod"};
    tc_value *x = tc_arg_value(n, 0);
    segments q = {.e = e, .lengths = tc_arg_value(n, 2), .offsets = tc_arg_value(n, 4), .initial = &n->args[7], .kind = kind_of(tc_arg_string(n, 1))};
    q.x = tc_e_cast(e, x, tc_dtype_compute(x->meta.dtype));
    if (!q.x) return tc_e_done(e);
    if (q.lengths) q.offsets = NULL;
    TC_TRY(find_segments(&q));
    if (q.lengths && !tc_arg_bool(n, 6)) {
        tc_value *sum = tc_emit_call(e, "aten::sum.dim_IntList", "vI", q.lengths, (int64_t[]){-1}, 1);
        tc_value *all = tc_emit_call(e, "aten::eq.Scalar", "vs", sum, x->meta.size[q.axis]),
                 *positive = tc_emit_call(e, "aten::ge.Scalar", "vi", q.lengths, (int64_t)0);
        tc_e_require(e, positive, "lengths contains negative value!");
        tc_e_require(e, all, "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.");
    }
    tc_value *r = reduced(&q, q.x, how[q.kind], first_value(&q));
    if (q.kind == MEAN) {
        tc_value *count = extents(&q), *some = tc_emit_call(e, "aten::gt.Scalar", "vi", count, (int64_t)0);
        r = tc_emit_call(e, "aten::where.ScalarOther", "vvf", some, tc_e_div(e, r, count), q.initial->kind == TC_A_NONE ? NAN : first_value(&q));
    }
    tc_emit_result(e, 0, tc_e_cast(e, r, x->meta.dtype));
    return tc_e_done(e);
}
static tc_status grad_segment(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0,
              tc_emit_call(e, "aten::_segment_reduce_backward", "vvvaaaaa", gs[0], n->outs[0], tc_arg_value(n, 0), &n->args[1], &n->args[2],
                           &n->args[4], &n->args[5], &n->args[7]));
    return tc_e_done(e);
}

/* The product of the others: result / own, except for zeros and NaN, where the others are multiplied. */
static tc_value *grad_product(const segments *q, tc_value *g, tc_value *y) {
    tc_emit *e = q->e;
    tc_value *zero = tc_emit_call(e, "aten::eq.Scalar", "vi", q->x, (int64_t)0),
             *odd = tc_e2(e, "aten::logical_or", zero, tc_e1(e, "aten::isnan", q->x));
    tc_value *plain = tc_emit_call(e, "aten::where.ScalarSelf", "viv", odd, (int64_t)1, q->x);
    tc_value *single = tc_emit_call(e, "aten::eq.Scalar", "vi", spread(q, reduced(q, tc_e_cast(e, odd, q->x->meta.dtype), "sum", 0), 0), (int64_t)1);
    tc_value *others = spread(q, reduced(q, plain, "prod", first_value(q)), 0);
    others = tc_emit_call(e, "aten::where.ScalarOther", "vvi", single, others, (int64_t)0);
    return tc_e3(e, "aten::where.self", odd, tc_e_mul(e, g, others), tc_e_div(e, tc_e_mul(e, g, spread(q, y, 0)), plain));
}
static tc_status decompose_segment_backward(tc_emit *e, const tc_node *n) { /* grad, output, data, reduce, lengths, offsets, axis, initial */
    tc_value *x = tc_arg_value(n, 2), *r;
    tc_dtype d = tc_dtype_compute(x->meta.dtype);
    segments q = {.e = e, .lengths = tc_arg_value(n, 4), .offsets = tc_arg_value(n, 5), .initial = &n->args[7], .kind = kind_of(tc_arg_string(n, 3))};
    q.x = tc_e_cast(e, x, d);
    if (!q.x) return tc_e_done(e);
    if (q.lengths) q.offsets = NULL;
    TC_TRY(find_segments(&q));
    tc_value *g = spread(&q, tc_e_cast(e, tc_arg_value(n, 0), d), 0), *y = tc_e_cast(e, tc_arg_value(n, 1), d);
    if (q.kind == SUM) {
        r = g;
    } else if (q.kind == MEAN) {
        tc_value *count = tc_emit_call(e, "aten::expand", "vS", extents(&q), y->meta.size, y->meta.rank);
        r = tc_e_div(e, g, spread(&q, count, 1));
    } else if (q.kind == PROD) {
        r = grad_product(&q, g, y);
    } else { /* the extremes of a segment share the gradient; PyTorch divides positive numbers of them only */
        tc_value *hit = tc_e2(e, "aten::logical_or", tc_e2(e, "aten::eq.Tensor", q.x, spread(&q, y, 0)), tc_e1(e, "aten::isnan", q.x));
        tc_value *count = tc_emit_call(e, "aten::clamp_min", "vi", spread(&q, reduced(&q, tc_e_cast(e, hit, d), "sum", 0), 1), (int64_t)1);
        tc_value *share = tc_e3(e, "aten::where.self", tc_emit_call(e, "aten::gt.Scalar", "vi", g, (int64_t)0), tc_e_div(e, g, count), g);
        r = tc_emit_call(e, "aten::where.ScalarOther", "vvi", hit, share, (int64_t)0);
    }
    tc_emit_result(e, 0, tc_e_cast(e, r, x->meta.dtype));
    return tc_e_done(e);
}
static tc_status shape_segment_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 1));
    TC_TRY(tc_sh_of_forward(c, "aten::segment_reduce", 2, (int[]){0, 0, 1, 0}));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 2));
    return tc_sh_out(c, 0, tc_sh_meta(c, 2)->dtype, &d);
}

const tc_op tc_ops_segment[] = {
    {.schema = "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool "
               "unsafe=False, Scalar? initial=None) -> Tensor",
     .shape = shape_segment,
     .decompose = decompose_segment,
     .grad = grad_segment,
     .samples =
         "segment_reduce(f32[6,2], 'mean', lengths=i64[3]:2..3, unsafe=True); segment_reduce(f32[6,2], 'prod', lengths=i64[3]:2..3, unsafe=True)",
     .doc = "max, min, sum, mean or prod over runs of a dimension"},
    {.schema =
         "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int "
         "axis=0, Scalar? initial=None) -> Tensor",
     .flags = TC_OP_UNDERIVED,
     .shape = shape_segment_backward,
     .decompose = decompose_segment_backward,
     .doc = "gradient of segment_reduce"},
    {0}};
