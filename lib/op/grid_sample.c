/* Sampling an image at the points of a grid, and the grids of affine maps.
 *
 *     grid      [N, (D,) H, W, 2 or 3]: x, y (, z) in -1 .. 1 over the image; -1 and 1 are the outer edges of the corner pixels, or
 *               their centres (align_corners)
 *     padding   outside: zeros, the border, or the image reflected at its edges
 *
 * Values are picked by computed indices and weighted, so the gradients of both arguments follow from those of the index operators. */
#include "op/shape.h"

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };
typedef struct {
    tc_dtype type;   /* of the computation */
    tc_value *image; /* [N, C, sizes] in that type */
    int nd;
    tc_sym size[3]; /* of x, y, z */
    int padding;
    bool align;
} sampler;

static tc_arg sym_arg(tc_sym s) { return (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = s}; }
static tc_sym less_one(tc_emit *e, tc_sym s) { return tc_sym_sub(tc_e_sym(e), s, tc_sym_int(tc_e_sym(e), 1)); }

/* ---- coordinates ---- */
/* In PyTorch's type and with its roundings, which decide in which cell a point lies: one after adding 1, one at the end. */
static tc_value *in_pixels(tc_emit *e, const sampler *p, tc_value *g, int k) {
    g = tc_e_cast(e, tc_e_adds(e, g, 1), TC_F64);
    g = ATEN("mul.Tensor", "vs", g, p->align ? less_one(e, p->size[k]) : p->size[k]);
    return tc_e_cast(e, tc_e_muls(e, p->align ? g : tc_e_adds(e, g, -1), 0.5), p->type);
}
/* Clamps to 0 .. size - 1. Points strictly between are not moved; NaN becomes 0. */
static tc_value *clipped(tc_emit *e, tc_value *v, tc_sym size) {
    tc_arg top = sym_arg(less_one(e, size));
    tc_value *low = ATEN("where.ScalarOther", "vva", ATEN("lt.Scalar", "va", v, &top), v, &top);
    return ATEN("where.ScalarOther", "vvi", ATEN("gt.Scalar", "vi", v, (int64_t)0), low, (int64_t)0);
}
/* Reflects at the edges. */
static tc_value *reflected(tc_emit *e, const sampler *p, tc_value *v, tc_sym size) {
    double low = p->align ? 0 : -0.5;
    tc_sym span = p->align ? less_one(e, size) : size;
    v = tc_e1(e, "aten::abs", tc_e_adds(e, v, -low));
    tc_value *rest = ATEN("fmod.Scalar", "vs", v, span), *times = tc_e1(e, "aten::floor", ATEN("div.Tensor", "vs", v, span));
    tc_value *even = ATEN("eq.Scalar", "vi", ATEN("fmod.Scalar", "vi", times, (int64_t)2), (int64_t)0);
    tc_value *back = ATEN("add.Tensor", "vs", tc_e_neg(e, rest), span);
    return tc_e_adds(e, tc_e3(e, "aten::where.self", even, rest, back), low);
}
static tc_value *padded(tc_emit *e, const sampler *p, tc_value *v, int k) {
    if (p->padding == ZEROS) return v;
    if (p->padding == REFLECTION) v = reflected(e, p, v, p->size[k]);
    return clipped(e, v, p->size[k]);
}

/* ---- values ---- */
static tc_value *counting(tc_emit *e, tc_sym size, int rank, int d) {
    int64_t shape[5];
    for (int k = 0; k < rank; k++) shape[k] = k == d ? -1 : 1;
    return ATEN("view", "vI", ATEN("arange", "sd", size, (int)TC_I64), shape, rank);
}
static tc_value *to_index(tc_emit *e, tc_value *v) { return tc_e_cast(e, v, TC_I64); }
/* An integer coordinate as an index within the image. inside: was it one? NULL: it always is. */
typedef struct {
    tc_value *index, *inside;
} tap;
static tap tap_at(tc_emit *e, const sampler *p, tc_value *v, int k, bool anywhere) { /* v: int64 */
    tc_arg top = sym_arg(less_one(e, p->size[k]));
    if (!anywhere) return (tap){v, NULL};
    tc_value *in = tc_e2(e, "aten::logical_and", ATEN("ge.Scalar", "vi", v, (int64_t)0), ATEN("le.Scalar", "va", v, &top));
    return (tap){ATEN("clamp", "via", v, (int64_t)0, &top), in};
}
/* The image at coordinates at[0..nd), x first; 0 outside. */
static tc_value *pick(tc_emit *e, const sampler *p, const tap *at) {
    tc_value *inside = NULL, *index[5];
    int rank = p->nd + 2;
    if (e->status) return NULL;
    index[0] = counting(e, p->image->meta.size[0], rank, 0);
    index[1] = counting(e, p->image->meta.size[1], rank, 1);
    for (int k = 0; k < p->nd; k++) {
        index[rank - 1 - k] = at[k].index;
        inside = inside ? tc_e2(e, "aten::logical_and", inside, at[k].inside) : at[k].inside;
    }
    tc_value *v = ATEN("_unsafe_index.Tensor", "vV", p->image, index, rank);
    return inside ? ATEN("where.ScalarOther", "vvi", inside, v, (int64_t)0) : v;
}
/* Coordinates are float64, so that the fraction is exact for float32. */
static tc_value *fraction(tc_emit *e, const sampler *p, tc_value *c, tc_value *low) {
    return tc_e_cast(e, tc_e_sub(e, c, low), p->image ? p->image->meta.dtype : TC_F32);
}
/* Linear interpolation between the 2^nd neighbours, one dimension after the other: a + t (b - a), whose derivative is the difference. */
static tc_value *linear(tc_emit *e, const sampler *p, tc_value *const *c) {
    tc_value *low[3] = {NULL}, *v[8];
    tap end[2][3] = {0};
    for (int k = 0; k < p->nd; k++) {
        low[k] = tc_e1(e, "aten::floor", c[k]);
        tc_value *at = to_index(e, low[k]);
        for (int i = 0; i < 2; i++) end[i][k] = tap_at(e, p, i ? ATEN("add.Tensor", "vi", at, (int64_t)1) : at, k, true);
    }
    for (int corner = 0; corner < 1 << p->nd; corner++) {
        tap at[3];
        for (int k = 0; k < 3; k++) at[k] = end[corner >> k & 1][k];
        v[corner] = pick(e, p, at);
    }
    for (int k = 0; k < p->nd; k++) {
        tc_value *t = fraction(e, p, c[k], low[k]);
        for (int i = 0; i < 1 << (p->nd - 1 - k); i++) v[i] = tc_e_add(e, v[2 * i], tc_e_mul(e, t, tc_e_sub(e, v[2 * i + 1], v[2 * i])));
    }
    return v[0];
}
/* weights of the four taps at fraction t: cubic convolution with A = -0.75 */
static void cubic_weights(tc_emit *e, tc_value *t, tc_value *w[4]) {
    tc_value *u = tc_e_adds(e, tc_e_neg(e, t), 1), *x[4] = {tc_e_adds(e, t, 1), t, u, tc_e_adds(e, u, 1)};
    for (int k = 0; k < 4; k++) {
        bool near = k == 1 || k == 2; /* ((A + 2) x - (A + 3)) x x + 1, else ((A x - 5 A) x + 8 A) x - 4 A */
        tc_value *r = tc_e_mul(e, tc_e_adds(e, tc_e_muls(e, x[k], near ? 1.25 : -0.75), near ? -2.25 : 3.75), x[k]);
        w[k] = tc_e_adds(e, tc_e_mul(e, near ? r : tc_e_adds(e, r, -6), x[k]), near ? 1 : 3);
    }
}
/* The weights sum to 1: v[1] + sum of w[k] (v[k] - v[1]) is exact if all four values are equal, and so is its derivative. */
static tc_value *through(tc_emit *e, tc_value *const w[4], tc_value *const v[4]) {
    tc_value *sum = v[1];
    for (int k = 0; k < 4; k++)
        if (k != 1) sum = tc_e_add(e, sum, tc_e_mul(e, w[k], tc_e_sub(e, v[k], v[1])));
    return sum;
}
/* Cubic interpolation along dimensions 0 to k; the others are fixed at at[k + 1 ..]. */
static tc_value *cubic_along(tc_emit *e, const sampler *p, int k, tc_value *const *low, tc_value *(*w)[4], tap *at) {
    tc_value *v[4];
    if (k < 0) return pick(e, p, at);
    for (int i = 0; i < 4; i++) {
        at[k] = tap_at(e, p, to_index(e, padded(e, p, tc_e_adds(e, low[k], i - 1), k)), k, p->padding == ZEROS);
        v[i] = cubic_along(e, p, k - 1, low, w, at);
    }
    return through(e, w[k], v);
}
static tc_value *cubic(tc_emit *e, const sampler *p, tc_value *const *c) {
    tc_value *low[3], *w[3][4];
    tap at[3];
    for (int k = 0; k < p->nd; k++) {
        low[k] = tc_e1(e, "aten::floor", c[k]);
        cubic_weights(e, fraction(e, p, c[k], low[k]), w[k]);
    }
    return cubic_along(e, p, p->nd - 1, low, w, at);
}

static tc_status check_sampler(const tc_node *n, int nd) {
    const tc_meta *x = tc_arg_meta(n, 0), *g = tc_arg_meta(n, 1);
    tc_symctx *s = n->graph->program->sym;
    int64_t v;
    if (x->rank != nd + 2 || g->rank != x->rank)
        return tc_e_refuse(n, "grid_sampler(): expected %s input and grid with same number of dimensions, but got %d and %d dimensions",
                           nd == 2   ? "4D"
                           : nd == 3 ? "5D"
                                     : "4D or 5D",
                           x->rank, g->rank);
    if (x->dtype != g->dtype)
        return tc_e_refuse(n, "grid_sampler(): expected input and grid to have same dtype, but input has %s and grid has %s",
                           tc_dtypes[x->dtype].torch, tc_dtypes[g->dtype].torch);
    if (!tc_is_float(x->dtype))
        return tc_e_refuse(n, "NotImplementedError: \"grid_sampler_%dd_cpu\" not implemented for '%s'", nd, tc_dtypes[x->dtype].torch);
    if (tc_sym_differ(s, x->size[0], g->size[0])) return tc_e_refuse(n, "grid_sampler(): expected grid and input to have same batch size");
    if (tc_sym_differ(s, g->size[nd + 1], tc_sym_int(s, nd)))
        return tc_e_refuse(n, "grid_sampler(): expected grid to have size %d in last dimension", nd);
    for (int k = 2; k < x->rank; k++)
        if (tc_sym_const_int(x->size[k], &v) && v <= 0) return tc_e_refuse(n, "grid_sampler(): expected input to have non-empty spatial dimensions");
    return NULL;
}
static tc_status decompose_grid_sampler(tc_emit *e, const tc_node *n) { /* input, grid, interpolation_mode, padding_mode, align_corners */
    const char *name = tc_op_schema(n->op)->name;
    tc_value *x = tc_arg_value(n, 0), *g = tc_arg_value(n, 1), *c[3], *y;
    int nd = name[12] == '_' ? name[13] - '0' : x->meta.rank == 5 ? 3 : 2;
    int64_t mode = tc_arg_int(n, 2);
    TC_TRY(check_sampler(n, nd));
    if (mode < BILINEAR || mode > BICUBIC) return tc_e_refuse(n, "unknown interpolation mode");
    tc_dtype d = x->meta.dtype, up = tc_dtype_compute(d);
    sampler p = {.type = up, .image = tc_e_cast(e, x, up), .nd = nd, .padding = (int)tc_arg_int(n, 3), .align = tc_arg_bool(n, 4)};
    if (p.padding < ZEROS || p.padding > REFLECTION) return tc_e_refuse(n, "unknown padding mode");
    g = tc_e_cast(e, g, p.type);
    for (int k = 0; k < nd; k++) {
        p.size[k] = x->meta.size[nd + 1 - k];
        c[k] = in_pixels(e, &p, ATEN("unsqueeze", "vi", ATEN("select.int", "vii", g, (int64_t)-1, (int64_t)k), (int64_t)1), k);
        if (mode != BICUBIC) c[k] = padded(e, &p, c[k], k);
        if (mode != NEAREST) c[k] = tc_e_cast(e, c[k], TC_F64); /* so that weights and their gradients lose nothing more */
    }
    if (mode == NEAREST) {
        tc_value *still = NULL;
        tap at[3];
        for (int k = 0; k < nd; k++) at[k] = tap_at(e, &p, to_index(e, tc_e1(e, "aten::round", c[k])), k, p.padding == ZEROS);
        y = pick(e, &p, at);
        /* the gradient of the grid is 0 */
        for (int k = 0; k < nd; k++) still = still ? tc_e_add(e, still, tc_e1(e, "aten::round", c[k])) : tc_e1(e, "aten::round", c[k]);
        tc_value *never = ATEN("ne.Tensor", "vv", y, y);
        if (tc_emit_wants_grad(e, n, 1))
            y = tc_e3(e, "aten::where.self", tc_e2(e, "aten::logical_and", never, tc_e1(e, "aten::logical_not", never)), still, y);
    } else {
        y = mode == BICUBIC ? cubic(e, &p, c) : linear(e, &p, c);
    }
    tc_emit_result(e, 0, tc_e_cast(e, y, d));
    return tc_e_done(e);
}

/* ---- affine_grid_generator ---- */
/* `size` points from -1 to 1, which are the centres of the corner pixels (align_corners) or their outer edges; a single point lies in the middle. */
static tc_value *line(tc_emit *e, tc_sym size, bool align, tc_dtype d) {
    tc_symctx *s = tc_e_sym(e);
    if (tc_sym_is_int(size, 1)) return ATEN("zeros", "Id", (int64_t[]){1}, 1, (int)d);
    tc_arg steps = {.kind = TC_A_INT, .sym = size};
    tc_value *v = ATEN("linspace", "ffad", -1.0, 1.0, &steps, (int)d);
    if (align) return v;
    return ATEN("div.Tensor", "vs", ATEN("mul.Tensor", "vs", v, tc_sym_sub(s, size, tc_sym_int(s, 1))), size);
}
static tc_status decompose_affine_grid(tc_emit *e, const tc_node *n) { /* theta, size, align_corners */
    tc_value *theta = tc_arg_value(n, 0), *base[4];
    const tc_arg *size = &n->args[1];
    int nd = size->n - 2;
    tc_symctx *s = tc_e_sym(e);
    tc_dtype d = theta->meta.dtype;
    if (size->n != 4 && size->n != 5) return tc_e_refuse(n, "affine_grid_generator needs 4d (spatial) or 5d (volumetric) inputs.");
    if (theta->meta.rank != 3 || tc_sym_differ(s, theta->meta.size[1], tc_sym_int(s, nd)) ||
        tc_sym_differ(s, theta->meta.size[2], tc_sym_int(s, nd + 1)))
        return tc_e_refuse(n, "expected a batch of affine matrices of shape Nx%dx%d", nd, nd + 1);
    tc_sym out[5] = {size->syms[0]}, points = tc_sym_int(s, 1);
    for (int k = 0; k < nd; k++) out[1 + k] = size->syms[2 + k], points = tc_sym_mul(s, points, size->syms[2 + k]);
    for (int k = 0; k <= nd; k++) {
        int64_t shape[3];
        for (int j = 0; j < nd; j++) shape[j] = j == nd - 1 - k ? -1 : 1;
        tc_value *v = k < nd ? line(e, size->syms[1 + nd - k], tc_arg_bool(n, 2), d) : ATEN("ones", "Id", (int64_t[]){1}, 1, (int)d);
        if (k == nd)
            for (int j = 0; j < nd; j++) shape[j] = 1;
        base[k] = ATEN("expand", "vS", ATEN("view", "vI", v, shape, nd), out + 1, nd);
    }
    tc_value *b = ATEN("stack", "Vi", base, nd + 1, (int64_t)-1);
    tc_sym rows[3] = {out[0], points, tc_sym_int(s, nd + 1)};
    b = ATEN("expand", "vS", ATEN("reshape", "vS", b, rows + 1, 2), rows, 3);
    b = ATEN("bmm", "vv", b, ATEN("transpose.int", "vii", theta, (int64_t)1, (int64_t)2));
    out[nd + 1] = tc_sym_int(s, nd);
    tc_emit_result(e, 0, ATEN("view", "vS", b, out, nd + 2));
    return tc_e_done(e);
}

#define SAMPLER(name, sample)                                                                                                          \
    {                                                                                                                                  \
        .schema = "aten::" name "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", \
        .keeps = " input grid ", .shape = tc_shape_decomposed_rows, .decompose = decompose_grid_sampler, .samples = sample,            \
        .doc = "the image at the points of the grid"                                                                                   \
    }
const tc_op tc_ops_grid_sample[] = {
    SAMPLER("grid_sampler", "grid_sampler(f32[2,3,4,5], f32[2,6,7,2], 0, 0, False); grid_sampler(f32[1,2,3,4,5], f32[1,2,3,4,3], 1, 1, True)"),
    SAMPLER("grid_sampler_2d", "grid_sampler_2d(f32[2,3,4,5], f32[2,6,7,2], 2, 2, False); grid_sampler_2d(f64[2,3,4,5], f64[2,6,7,2], 0, 2, True)"),
    SAMPLER("grid_sampler_3d",
            "grid_sampler_3d(f32[1,2,3,4,5], f32[1,2,3,4,3], 0, 1, False); grid_sampler_3d(f32[1,2,3,4,5], f32[1,2,3,4,3], 2, 0, True)"),
    {.schema = "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_affine_grid,
     .samples = "affine_grid_generator(f32[2,2,3], [2,3,4,5], False); affine_grid_generator(f32[2,3,4], [2,3,4,5,6], True)",
     .doc = "the grid that an affine map of the output's points gives"},
    {0}};
