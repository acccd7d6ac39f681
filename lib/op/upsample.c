/* Resampling of the last 1 to 3 dimensions: nearest, linear and cubic interpolation, one dimension after the other, each as slices
 * picked by computed indices and weighted; so gradients follow from those of index_select.
 *
 *     position   i r (align_corners: r = (in - 1) / (out - 1)), else (i + 1/2) r - 1/2 with r = in / out, or 1 / the given factor
 *     nearest    x[floor(i r)], nearest_exact x[floor((i + 1/2) r)]     linear  between two neighbours     cubic  four, A = -0.75
 *
 * As in PyTorch the floor of nearest ones is that of float32 in float64 too; places in planes are float32 throughout. */
#include "op/upsample.h"
#include "op/shape.h"

typedef enum { NEAREST, EXACT, LINEAR, CUBIC } method;
typedef struct {
    tc_sym in, out;
    double factor;     /* 0: not given */
    bool align, plane; /* plane: two spatial dimensions */
} axis;

static tc_sym to_float(tc_symctx *s, tc_sym v) { return tc_sym_op(s, TC_S_TOFLOAT, v, NULL, NULL); }

static tc_sym same(tc_symctx *s, tc_sym a, tc_sym b) { return tc_sym_op(s, TC_S_EQ, a, b, NULL); }
/* The step in the input for one step of the result. PyTorch ignores the given factor when linear interpolation keeps the size, and when nearest in a
 * row of a plane takes each element or every second one. */
static tc_sym ratio(tc_symctx *s, method m, const axis *a) {
    tc_sym one = tc_sym_int(s, 1);
    if (a->align) {
        if (tc_sym_is_int(a->out, 1)) return tc_sym_float(s, 0);
        return tc_sym_op(s, TC_S_FDIV, to_float(s, tc_sym_sub(s, a->in, one)), to_float(s, tc_sym_sub(s, a->out, one)), NULL);
    }
    if (a->factor > 0) {
        tc_sym r = tc_sym_float(s, 1 / a->factor);
        bool plane = m == NEAREST && a->plane;
        if (plane) r = tc_sym_op(s, TC_S_WHERE, same(s, a->out, tc_sym_mul(s, tc_sym_int(s, 2), a->in)), tc_sym_float(s, 0.5), r);
        return plane || m == LINEAR ? tc_sym_op(s, TC_S_WHERE, same(s, a->in, a->out), tc_sym_float(s, 1), r) : r;
    }
    return tc_sym_op(s, TC_S_FDIV, to_float(s, a->in), to_float(s, a->out), NULL);
}
static tc_value *pick(tc_emit *e, tc_value *x, int d, tc_value *i) { return tc_emit_call(e, "aten::index_select", "viv", x, (int64_t)d, i); }
static tc_value *clamped(tc_emit *e, tc_value *i, const axis *a) {
    tc_symctx *s = tc_e_sym(e);
    tc_arg top = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_sym_sub(s, a->in, tc_sym_int(s, 1))};
    return tc_emit_call(e, "aten::clamp", "via", tc_e_cast(e, i, TC_I64), (int64_t)0, &top);
}
/* w along dimension d of tensors of this rank */
static tc_value *along(tc_emit *e, tc_value *w, int d, int rank) {
    int64_t size[TC_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = k == d ? -1 : 1;
    return tc_emit_call(e, "aten::view", "vI", w, size, rank);
}
/* weights of the four taps around a fraction t (cubic convolution, A = -0.75) */
static tc_value *cubic_near(tc_emit *e, tc_value *t) { /* ((A + 2) t - (A + 3)) t t + 1 */
    return tc_e_adds(e, tc_e_mul(e, tc_e_mul(e, tc_e_adds(e, tc_e_muls(e, t, 1.25), -2.25), t), t), 1);
}
static tc_value *cubic_far(tc_emit *e, tc_value *t) { /* ((A t - 5 A) t + 8 A) t - 4 A */
    return tc_e_adds(e, tc_e_mul(e, tc_e_adds(e, tc_e_mul(e, tc_e_adds(e, tc_e_muls(e, t, -0.75), 3.75), t), -6), t), 3);
}
/* The positions in the input of the results along one dimension, in type `up`. */
static tc_value *positions(tc_emit *e, const axis *a, method m, tc_dtype up) {
    tc_arg end = {.kind = TC_A_SCALAR, .is_sym = true, .sym = a->out};
    tc_value *i = tc_emit_call(e, "aten::arange", "ad", &end, (int)up);
    tc_sym r = ratio(tc_e_sym(e), m, a);
    if (a->align) i = tc_emit_call(e, "aten::mul.Tensor", "vs", i, r);
    else i = tc_e_adds(e, tc_emit_call(e, "aten::mul.Tensor", "vs", tc_e_adds(e, i, 0.5), r), -0.5);
    return m == LINEAR ? tc_emit_call(e, "aten::clamp_min", "vi", i, (int64_t)0) : i;
}
/* v as a weight, rounded to the type in which PyTorch keeps it. */
static tc_value *kept_in(tc_emit *e, tc_value *v, tc_dtype kept) { return v ? tc_e_cast(e, tc_e_cast(e, v, kept), v->meta.dtype) : v; }
/* The taps of each result: *out_first is the index of the first (may be out of range); the weights are rounded to `kept`. Returns their number. */
static int taps(tc_emit *e, tc_value *pos, method m, tc_dtype kept, tc_value **out_first, tc_value *w[4]) {
    tc_value *lo = tc_e1(e, "aten::floor", pos), *t = tc_e_sub(e, pos, lo);
    if (m == LINEAR) {
        *out_first = lo, w[1] = kept_in(e, t, kept), w[0] = kept_in(e, tc_e_adds(e, tc_e_neg(e, w[1]), 1), kept);
        return 2;
    }
    tc_value *u = tc_e_adds(e, tc_e_neg(e, t), 1);
    *out_first = tc_e_adds(e, lo, -1);
    w[0] = cubic_far(e, tc_e_adds(e, t, 1)), w[1] = cubic_near(e, t), w[2] = cubic_near(e, u), w[3] = cubic_far(e, tc_e_adds(e, u, 1));
    for (int k = 0; k < 4; k++) w[k] = kept_in(e, w[k], kept);
    return 4;
}
/* (i + 1/2) r in float32. PyTorch's loop for lines and volumes is compiled as fma(i + 1/2, r, -1/2) + 1/2, and the product is exact in float64. */
static tc_value *centres(tc_emit *e, tc_value *i, tc_sym r) {
    tc_value *step = tc_emit_call(e, "aten::mul.Tensor", "vs", tc_emit_call(e, "aten::ones", "Id", (int64_t[]){1}, 1, (int)TC_F32), r);
    tc_value *at = tc_e_adds(e, tc_e_mul(e, tc_e_cast(e, i, TC_F64), tc_e_cast(e, step, TC_F64)), -0.5);
    return tc_e_adds(e, tc_e_cast(e, at, TC_F32), 0.5);
}
/* The index of the element that each result takes; up: the type in which PyTorch computes places. */
static tc_value *nearest(tc_emit *e, method m, const axis *a, tc_dtype up) {
    tc_arg end = {.kind = TC_A_SCALAR, .is_sym = true, .sym = a->out};
    if (a->plane) up = TC_F32;
    tc_value *i = tc_emit_call(e, "aten::arange", "ad", &end, (int)up);
    tc_sym r = ratio(tc_e_sym(e), m, a);
    if (m == EXACT) i = tc_e_adds(e, i, 0.5);
    i = m == EXACT && !a->plane && up == TC_F32 ? centres(e, i, r) : tc_e_cast(e, tc_emit_call(e, "aten::mul.Tensor", "vs", i, r), TC_F32);
    return clamped(e, tc_e1(e, "aten::floor", i), a);
}
static tc_value *resample(tc_emit *e, tc_value *x, int d, method m, tc_dtype kept, const axis *a) {
    if (!x) return NULL;
    tc_dtype up = tc_dtype_compute(x->meta.dtype);
    if (!tc_is_float(up)) up = TC_F32;
    if (m == NEAREST || m == EXACT) return pick(e, x, d, nearest(e, m, a, up));
    tc_value *first, *w[4], *sum = NULL;
    for (int k = 0, n = taps(e, positions(e, a, m, up), m, kept, &first, w); k < n; k++) {
        tc_value *tap = tc_e_mul(e, pick(e, x, d, clamped(e, k ? tc_e_adds(e, first, k) : first, a)), along(e, w[k], d, x->meta.rank));
        sum = sum ? tc_e_add(e, sum, tap) : tap;
    }
    return sum;
}
/* The weights for bytes, f64 [out, in]; positions outside count for the border. */
static tc_value *matrix(tc_emit *e, method m, const axis *a) {
    tc_arg end = {.kind = TC_A_SCALAR, .is_sym = true, .sym = a->in};
    tc_value *j = tc_emit_call(e, "aten::arange", "ad", &end, (int)TC_I64), *first, *w[4], *sum = NULL;
    for (int k = 0, n = taps(e, positions(e, a, m, TC_F64), m, TC_F64, &first, w); k < n; k++) {
        tc_value *at = tc_emit_call(e, "aten::unsqueeze", "vi", clamped(e, tc_e_adds(e, first, k), a), (int64_t)1);
        tc_value *row = tc_emit_call(e, "aten::where.ScalarOther", "vvi", tc_e2(e, "aten::eq.Tensor", j, at),
                                     tc_emit_call(e, "aten::unsqueeze", "vi", w[k], (int64_t)1), (int64_t)0);
        sum = sum ? tc_e_add(e, sum, row) : row;
    }
    return sum;
}

/* input, output_size, (align_corners,) then scale_factors (.vec) or one factor for each dimension */
typedef struct {
    method m;
    int dims;
    axis a[3];
    bool weighs, bytes, unchanged[3];
} resampling;
static tc_status read_args(tc_emit *e, const tc_node *n, resampling *r) {
    tc_symctx *s = tc_e_sym(e);
    const tc_schema *sc = tc_op_schema(n->op);
    const char *name = sc->name;
    const tc_meta *x = tc_arg_meta(n, 0);
    const method m = strstr(name, "nearest_exact") ? EXACT : strstr(name, "nearest") ? NEAREST : strstr(name, "cubic") ? CUBIC : LINEAR;
    const bool vec = !strcmp(sc->overload, "vec"), sized = !tc_arg_is_none(n, 1);
    const int dims = name[strlen(name) - 2] - '0';
    int at = 2;
    *r = (resampling){.m = m, .dims = dims, .weighs = m == LINEAR || m == CUBIC};
    r->bytes = r->weighs && dims == 2 && x->dtype == TC_U8;
    const bool align = r->weighs && tc_arg_bool(n, at++);
    if (x->rank != dims + 2) return tc_e_refuse(n, "Expected input to have %d dimensions, but got %d", dims + 2, x->rank);
    if (vec && sized == !tc_arg_is_none(n, at)) return tc_e_refuse(n, "Must specify exactly one of output_size and scale_factors");
    if (sized && n->args[1].n != dims) return tc_e_refuse(n, "It is expected output_size equals to %d, but got size %d", dims, n->args[1].n);
    for (int k = 0; k < dims; k++) {
        axis *a = &r->a[k];
        int64_t v;
        *a = (axis){.in = x->size[2 + k], .align = align, .plane = dims == 2};
        if (vec && !tc_arg_is_none(n, at)) a->factor = n->args[at].floats[k < n->args[at].n ? k : 0];
        else if (!vec && at + k < n->nargs && !tc_arg_is_none(n, at + k)) a->factor = tc_arg_float(n, at + k);
        if (sized) a->out = n->args[1].syms[k];
        else if (tc_sym_const_int(a->in, &v)) a->out = tc_sym_int(s, (int64_t)__builtin_floor((double)v * a->factor));
        else a->out = tc_sym_op(s, TC_S_FLOOR, tc_sym_op(s, TC_S_FMUL, to_float(s, a->in), tc_sym_float(s, a->factor), NULL), NULL, NULL);
        if (!tc_e_guard(e, n, tc_sym_op(s, TC_S_LT, tc_sym_int(s, 0), a->out, NULL)) || tc_sym_is_int(a->in, 0) || tc_sym_is_int(x->size[1], 0))
            return tc_e_refuse(n, "Input and output sizes should be greater than 0");
        r->unchanged[k] = (r->bytes || m == LINEAR) && tc_sym_known(s, same(s, a->in, a->out)) == 1; /* copies all elements, for any factor */
    }
    return NULL;
}
static tc_status decompose_upsample(tc_emit *e, const tc_node *n) {
    resampling r;
    TC_TRY(read_args(e, n, &r));
    tc_value *x = tc_arg_value(n, 0);
    const tc_dtype d = x->meta.dtype;
    const tc_dtype kept = !tc_is_float(d) ? TC_F32 : r.m == LINEAR && r.dims == 2 ? tc_dtype_compute(d) : d; /* PyTorch's; bilinear ones are wide */
    tc_value *y = r.weighs ? tc_e_cast(e, x, r.bytes ? TC_F64 : tc_is_float(d) ? tc_dtype_compute(d) : TC_F32) : x;
    for (int i = 0; i < r.dims; i++) {
        const int k = r.bytes ? r.dims - 1 - i : i; /* bytes are rounded after each dimension: the width first, as in PyTorch */
        if (r.unchanged[k]) continue;
        y = r.bytes ? tc_upsample_bytes(e, y, matrix(e, r.m, &r.a[k]), k == 0) : resample(e, y, 2 + k, r.m, kept, &r.a[k]);
    }
    tc_emit_result(e, 0, y ? tc_e_cast(e, y, d) : NULL);
    return tc_e_done(e);
}
/* The transposed resampling of dimension d, in the type of g, whose weights are not rounded. */
static tc_value *resample_back(tc_emit *e, tc_value *g, int d, method m, const axis *a) {
    tc_sym size[TC_MAX_RANK];
    tc_value *at, *first, *w[4];
    if (!g) return NULL;
    const int n = m == NEAREST || m == EXACT ? 1 : taps(e, positions(e, a, m, g->meta.dtype), m, g->meta.dtype, &first, w);
    for (int k = 0; k < g->meta.rank; k++) size[k] = k == d ? a->in : g->meta.size[k];
    tc_value *sum = tc_emit_call(e, "aten::new_zeros", "vS", g, size, g->meta.rank);
    for (int k = 0; k < n; k++) {
        if (n > 1) at = clamped(e, k ? tc_e_adds(e, first, k) : first, a);
        else at = nearest(e, m, a, g->meta.dtype);
        sum = tc_emit_call(e, "aten::index_add", "vivv", sum, (int64_t)d, at, n > 1 ? tc_e_mul(e, g, along(e, w[k], d, g->meta.rank)) : g);
    }
    return sum;
}
static tc_status grad_upsample(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* 16-bit gradients are summed in float32 */
    resampling r;
    TC_TRY(read_args(e, n, &r));
    const tc_dtype d = tc_arg_meta(n, 0)->dtype;
    tc_value *g = tc_e_cast(e, gs[0], tc_dtype_compute(d));
    for (int k = r.dims; k-- > 0;)
        if (!r.unchanged[k]) g = resample_back(e, g, 2 + k, r.m, &r.a[k]);
    tc_e_give(e, n, 0, tc_e_cast(e, g, d));
    return tc_e_done(e);
}

#define BOTH(name, n, align, scales, text)                                                                                                        \
    {.schema = "aten::" name #n "d.vec(Tensor input, SymInt[]? output_size, " align "float[]? scale_factors) -> Tensor",                          \
     .shape = tc_shape_decomposed_format,                                                                                                         \
     .decompose = decompose_upsample,                                                                                                             \
     .grad = grad_upsample,                                                                                                                       \
     .keeps = "",                                                                                                                                 \
     .doc = text},                                                                                                                                \
    {                                                                                                                                             \
        .schema = "aten::" name #n "d(Tensor self, SymInt[" #n "] output_size, " align scales ") -> Tensor", .shape = tc_shape_decomposed_format, \
        .decompose = decompose_upsample, .grad = grad_upsample, .keeps = "", .doc = text                                                          \
    }
#define ALIGN "bool align_corners, "
#define S1 "float? scales=None"
#define S2 "float? scales_h=None, float? scales_w=None"
#define S3 "float? scales_d=None, float? scales_h=None, float? scales_w=None"
const tc_op tc_ops_upsample[] = {BOTH("upsample_nearest", 1, "", S1, "the nearest element"),
                                 BOTH("upsample_nearest", 2, "", S2, "the nearest element"),
                                 BOTH("upsample_nearest", 3, "", S3, "the nearest element"),
                                 BOTH("_upsample_nearest_exact", 1, "", S1, "the nearest element, by centres"),
                                 BOTH("_upsample_nearest_exact", 2, "", S2, "the nearest element, by centres"),
                                 BOTH("_upsample_nearest_exact", 3, "", S3, "the nearest element, by centres"),
                                 BOTH("upsample_linear", 1, ALIGN, S1, "linear between neighbours"),
                                 BOTH("upsample_bilinear", 2, ALIGN, S2, "linear between neighbours"),
                                 BOTH("upsample_trilinear", 3, ALIGN, S3, "linear between neighbours"),
                                 BOTH("upsample_bicubic", 2, ALIGN, S2, "cubic through four neighbours"),
                                 {0}};
