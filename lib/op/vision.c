/* Operators of torchvision that its detection models export: nms, roi_align, ps_roi_align, roi_pool, deform_conv2d.
 *
 * Boxes are x1, y1, x2, y2; a region is the number of its image, then a box. What samples between pixels picks the four around a point by
 * index and weighs them, so the gradients of the image and of the offsets follow. */
#include "kernel/image.h"
#include "kernel/nms.h"
#include "op/shape.h"

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

static tc_arg number(tc_sym s) { return (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = s}; }
static tc_value *range(tc_emit *e, tc_sym n, tc_dtype d) { return ATEN("arange", "sd", n, (int)d); }
/* A vector along dimension d of `rank`. */
static tc_value *laid(tc_emit *e, tc_value *v, int rank, int d) {
    int64_t shape[8];
    for (int k = 0; k < rank; k++) shape[k] = k == d ? -1 : 1;
    return ATEN("view", "vI", v, shape, rank);
}
static tc_value *column(tc_emit *e, tc_value *v, int k) { return ATEN("select.int", "vii", v, (int64_t)1, (int64_t)k); }

/* ---- nms ---- */
static tc_status shape_nms(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_float(c, 0));
    TC_TRY(tc_sh_need_float(c, 1));
    const tc_meta *b = tc_sh_meta(c, 0), *s = tc_sh_meta(c, 1);
    if (b->rank != 2) return tc_sh_fail(c, "boxes should be a 2d tensor, got %dD", b->rank);
    if (!tc_sh_same(c, b->size[1], tc_sym_int(tc_sh_sym(c), 4))) return tc_sh_fail(c, "boxes should have 4 elements in dimension 1");
    if (s->rank != 1) return tc_sh_fail(c, "scores should be a 1d tensor, got %dD", s->rank);
    if (!tc_sh_same(c, b->size[0], s->size[0])) return tc_sh_fail(c, "boxes and scores should have same number of elements in dimension 0");
    if (b->dtype != s->dtype) return tc_sh_fail(c, "dets should have the same type as scores");
    tc_dims d = {.rank = 1, .size = {tc_program_fresh(c->program, TC_SYM_INT, 0, INT64_MAX)}};
    return tc_sh_out(c, 0, TC_I64, &d);
}

/* ---- images ---- */
static tc_status shape_decode(tc_shape_ctx *c) { /* data, mode, apply_exif_orientation */
    const tc_meta *x = tc_sh_meta(c, 0);
    int64_t mode;
    if (x->rank != 1 || x->dtype != TC_U8) return tc_sh_fail(c, "data must be a 1-dimensional tensor of bytes (uint8)");
    if (!tc_sym_const_int(tc_sh_int(c, 1), &mode) || mode < 0 || mode > TC_IMAGE_RGB_ALPHA) return tc_sh_fail(c, "mode must be a constant of 0 to 4");
    tc_symctx *s = tc_sh_sym(c);
    tc_dims d = {.rank = 3};
    d.size[0] = mode ? tc_sym_int(s, mode) : tc_program_fresh(c->program, TC_SYM_INT, 1, 4);
    for (int k = 1; k < 3; k++) d.size[k] = tc_program_fresh(c->program, TC_SYM_INT, 1, TC_IMAGE_SIDE);
    return tc_sh_out(c, 0, TC_U8, &d);
}

/* ---- regions ---- */
static tc_status check_regions(const tc_node *n) { /* input, rois */
    const tc_meta *x = tc_arg_meta(n, 0), *r = tc_arg_meta(n, 1);
    if (x->rank != 4 || !tc_is_float(x->dtype)) return tc_e_refuse(n, "input must be a floating-point tensor of four dimensions");
    if (r->rank != 2 || tc_sym_differ(n->graph->program->sym, r->size[1], tc_sym_int(n->graph->program->sym, 5)))
        return tc_e_refuse(n, "rois must have shape as Tensor[K, 5]");
    if (x->dtype != r->dtype) return tc_e_refuse(n, "input and rois must have the same type");
    return NULL;
}
typedef struct {
    tc_value *low, *high, *weight, *inside; /* neighbours, the weight of the upper one, whether the point counts */
} between;
/* Points on an axis of `size` pixels. Up to one pixel outside they are clamped; further out their weight is 0. */
static between neighbours(tc_emit *e, tc_value *p, tc_sym size) {
    tc_arg n = number(size), top = number(tc_sym_sub(tc_e_sym(e), size, tc_sym_int(tc_e_sym(e), 1)));
    between b;
    b.inside = tc_e2(e, "aten::logical_and", ATEN("ge.Scalar", "vi", p, (int64_t)-1), ATEN("le.Scalar", "va", p, &n));
    p = ATEN("clamp", "via", ATEN("where.ScalarOther", "vvi", b.inside, p, (int64_t)0), (int64_t)0, &top);
    tc_value *low = tc_e1(e, "aten::floor", p);
    b.weight = tc_e_sub(e, p, low);
    b.low = tc_e_cast(e, low, TC_I64);
    b.high = ATEN("clamp_max", "va", tc_e_adds(e, b.low, 1), &top);
    b.high = tc_e_cast(e, b.high, TC_I64);
    return b;
}
/* The largest of counts [K] as a size; 0 if there are none. */
static tc_sym most_of(tc_emit *e, tc_value *counts) {
    tc_value *most = ATEN("amax", "v", ATEN("constant_pad_nd", "vI", counts, (int64_t[]){0, 1}, 2));
    most = ATEN("_local_scalar_dense", "v", tc_e_cast(e, most, TC_I64));
    return most ? tc_sym_max(tc_e_sym(e), most->sym, tc_sym_int(tc_e_sym(e), 0)) : tc_sym_int(tc_e_sym(e), 0);
}
/* The points [K, bins steps] of each region along an axis of `size` pixels; counts [K]: so many of the steps of a bin count, NULL: all. */
static between points(tc_emit *e, tc_value *start, tc_value *bin, tc_sym bins, tc_sym steps, tc_value *counts, tc_sym size) {
    tc_dtype d = start ? start->meta.dtype : TC_F32;
    tc_arg by = number(steps);
    tc_value *i = range(e, tc_sym_mul(tc_e_sym(e), bins, steps), d), *at, *counted = NULL; /* (i + 1/2) / steps bins from the start */
    if (counts) {
        tc_value *step = ATEN("remainder.Scalar", "va", i, &by), *whole = ATEN("div.Scalar_mode", "vat", i, &by, "floor");
        counts = ATEN("unsqueeze", "vi", counts, (int64_t)1);
        counted = tc_e2(e, "aten::lt.Tensor", step, counts);
        at = tc_e_add(e, whole, tc_e_div(e, tc_e_adds(e, step, 0.5), counts));
    } else at = ATEN("div.Tensor", "va", tc_e_adds(e, i, 0.5), &by);
    at = tc_e_add(e, ATEN("unsqueeze", "vi", start, (int64_t)1), tc_e_mul(e, ATEN("unsqueeze", "vi", bin, (int64_t)1), at));
    between b = neighbours(e, at, size);
    if (counted) b.inside = tc_e2(e, "aten::logical_and", b.inside, counted);
    return b;
}
/* [1, channels / bins, bins steps, bins steps]: the channel of each output, bin and step. */
static tc_value *channels_of_bins(tc_emit *e, tc_sym channels, const tc_sym bins[2], const tc_sym steps[2]) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym split[6] = {tc_sym_int(s, 1), tc_sym_floordiv(s, channels, tc_sym_mul(s, bins[0], bins[1])), bins[0], tc_sym_int(s, 1), bins[1],
                       tc_sym_int(s, 1)};
    tc_sym wide[6] = {split[0], split[1], bins[0], steps[0], bins[1], steps[1]};
    tc_sym points[4] = {split[0], split[1], tc_sym_mul(s, bins[0], steps[0]), tc_sym_mul(s, bins[1], steps[1])};
    tc_value *v = ATEN("expand", "vS", ATEN("view", "vS", range(e, channels, TC_I64), split, 6), wide, 6);
    return ATEN("reshape", "vS", v, points, 4);
}
/* [K, C, height, width]: the means of samples in the bins of each region; n: input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio;
 * by_bin: each bin has channels of its own, [K, C / bins, height, width] */
static tc_value *means(tc_emit *e, const tc_node *n, bool aligned, bool by_bin) {
    tc_value *x = tc_arg_value(n, 0), *r = tc_arg_value(n, 1), *count[2] = {NULL, NULL};
    tc_dtype d = x->meta.dtype, up = tc_dtype_compute(d);
    double scale = tc_arg_float(n, 2);
    tc_sym bins[2] = {tc_arg_sym(n, 3), tc_arg_sym(n, 4)}, steps[2];
    bool adaptive = tc_arg_int(n, 5) <= 0;
    x = tc_e_cast(e, x, up), r = tc_e_cast(e, r, up);
    between b[2];
    tc_value *index[4] = {laid(e, tc_e_cast(e, column(e, r, 0), TC_I64), 4, 0), laid(e, range(e, tc_arg_meta(n, 0)->size[1], TC_I64), 4, 1)};
    for (int k = 0; k < 2; k++) { /* height, width */
        tc_value *from = tc_e_adds(e, tc_e_muls(e, column(e, r, 2 - k), scale), aligned ? -0.5 : 0);
        tc_value *to = tc_e_adds(e, tc_e_muls(e, column(e, r, 4 - k), scale), aligned ? -0.5 : 0), *size = tc_e_sub(e, to, from);
        if (!aligned) size = ATEN("clamp_min", "vf", size, 1.0);
        tc_arg by = number(bins[k]);
        tc_value *bin = ATEN("div.Tensor", "va", size, &by);
        if (adaptive) count[k] = tc_e1(e, "aten::ceil", bin); /* as many as it has pixels */
        steps[k] = adaptive ? most_of(e, count[k]) : tc_arg_sym(n, 5);
        b[k] = points(e, from, bin, bins[k], steps[k], count[k], tc_arg_meta(n, 0)->size[2 + k]);
        tc_value **all[4] = {&b[k].low, &b[k].high, &b[k].weight, &b[k].inside};
        for (int j = 0; j < 4; j++) *all[j] = ATEN("unsqueeze", "vi", ATEN("unsqueeze", "vi", *all[j], (int64_t)1), (int64_t)(k ? 2 : 3));
    }
    if (by_bin) index[1] = channels_of_bins(e, tc_arg_meta(n, 0)->size[1], bins, steps);
    tc_value *rows[2];
    for (int y = 0; y < 2; y++) {
        tc_value *v[2];
        for (int w = 0; w < 2; w++) {
            index[2] = y ? b[0].high : b[0].low, index[3] = w ? b[1].high : b[1].low;
            v[w] = ATEN("_unsafe_index.Tensor", "vV", x, index, 4);
        }
        rows[y] = tc_e_add(e, v[0], tc_e_mul(e, b[1].weight, tc_e_sub(e, v[1], v[0])));
    }
    tc_value *v = tc_e_add(e, rows[0], tc_e_mul(e, b[0].weight, tc_e_sub(e, rows[1], rows[0])));
    v = ATEN("where.ScalarOther", "vvi", tc_e2(e, "aten::logical_and", b[0].inside, b[1].inside), v, (int64_t)0);
    tc_sym apart[6] = {tc_arg_meta(n, 1)->size[0], index[1] ? index[1]->meta.size[1] : NULL, bins[0], steps[0], bins[1], steps[1]};
    v = ATEN("view", "vS", v, apart, 6);
    if (!adaptive) return tc_e_cast(e, ATEN("mean.dim", "vI", v, (int64_t[]){3, 5}, 2), d);
    tc_value *all = tc_e_mul(e, count[0], count[1]);
    if (!by_bin) all = ATEN("clamp_min", "vi", all, (int64_t)1);
    return tc_e_cast(e, tc_e_div(e, ATEN("sum.dim_IntList", "vI", v, (int64_t[]){3, 5}, 2), laid(e, all, 4, 0)), d);
}
static tc_status decompose_roi_align(tc_emit *e, const tc_node *n) {
    TC_TRY(check_regions(n));
    tc_emit_result(e, 0, means(e, n, tc_arg_bool(n, 6), false));
    return tc_e_done(e);
}
static tc_status decompose_ps_roi_align(tc_emit *e, const tc_node *n) {
    TC_TRY(check_regions(n));
    tc_symctx *s = tc_e_sym(e);
    tc_sym bins = tc_sym_mul(s, tc_arg_sym(n, 3), tc_arg_sym(n, 4)), channels = tc_arg_meta(n, 0)->size[1];
    if (tc_sym_differ(s, tc_sym_mod(s, channels, bins), tc_sym_int(s, 0)))
        return tc_e_refuse(n, "input channels must be a multiple of pooling height * pooling width");
    tc_value *v = means(e, n, true, true);
    tc_sym mapping[4] = {tc_sym_int(s, 1), tc_sym_floordiv(s, channels, bins), tc_arg_sym(n, 3), tc_arg_sym(n, 4)};
    tc_value *map = ATEN("expand", "vS", ATEN("view", "vS", range(e, channels, TC_I32), mapping, 4), v ? v->meta.size : mapping, 4);
    tc_emit_result(e, 0, v);
    tc_emit_result(e, 1, ATEN("clone", "v", map));
    return tc_e_done(e);
}
/* half away from zero */
static tc_value *rounded(tc_emit *e, tc_value *v) {
    return tc_e_mul(e, tc_e1(e, "aten::sign", v), tc_e1(e, "aten::floor", tc_e_adds(e, tc_e1(e, "aten::abs", v), 0.5)));
}
static tc_status decompose_roi_pool(tc_emit *e, const tc_node *n) { /* input, rois, spatial_scale, pooled_height, pooled_width */
    TC_TRY(check_regions(n));
    tc_value *x = tc_arg_value(n, 0), *r = tc_arg_value(n, 1), *mask = NULL;
    tc_dtype d = x->meta.dtype, up = tc_dtype_compute(d);
    tc_symctx *s = tc_e_sym(e);
    tc_sym regions = r->meta.size[0], channels = x->meta.size[1], bins[2] = {tc_arg_sym(n, 3), tc_arg_sym(n, 4)};
    tc_sym plane = tc_sym_mul(s, x->meta.size[2], x->meta.size[3]);
    double scale = tc_arg_float(n, 2);
    r = tc_e_cast(e, r, up);
    for (int k = 0; k < 2; k++) { /* [K, 1, ph, pw, H, W]: the pixels of each bin */
        tc_value *from = rounded(e, tc_e_muls(e, column(e, r, 2 - k), scale)), *to = rounded(e, tc_e_muls(e, column(e, r, 4 - k), scale));
        tc_arg by = number(bins[k]), top = number(x->meta.size[2 + k]);
        tc_value *bin = ATEN("div.Tensor", "va", ATEN("clamp_min", "vf", tc_e_adds(e, tc_e_sub(e, to, from), 1), 1.0), &by);
        tc_value *i = range(e, bins[k], up), *first, *end;
        bin = ATEN("unsqueeze", "vi", bin, (int64_t)1), from = ATEN("unsqueeze", "vi", from, (int64_t)1);
        first = ATEN("clamp", "via", tc_e_add(e, tc_e1(e, "aten::floor", tc_e_mul(e, bin, i)), from), (int64_t)0, &top);
        end = ATEN("clamp", "via", tc_e_add(e, tc_e1(e, "aten::ceil", tc_e_mul(e, bin, tc_e_adds(e, i, 1))), from), (int64_t)0, &top);
        tc_sym shape[6] = {regions, tc_sym_int(s, 1), tc_sym_int(s, 1), tc_sym_int(s, 1), tc_sym_int(s, 1), tc_sym_int(s, 1)};
        shape[2 + k] = bins[k];
        tc_value *at = laid(e, range(e, x->meta.size[2 + k], up), 6, 4 + k);
        tc_value *in = tc_e2(e, "aten::logical_and", tc_e2(e, "aten::ge.Tensor", at, ATEN("view", "vS", first, shape, 6)),
                             tc_e2(e, "aten::lt.Tensor", at, ATEN("view", "vS", end, shape, 6)));
        mask = mask ? tc_e2(e, "aten::logical_and", mask, in) : in;
    }
    tc_value *own = ATEN("index_select", "viv", x, (int64_t)0, tc_e_cast(e, column(e, r, 0), TC_I64)); /* [K, C, H, W] */
    tc_sym wide[6] = {regions, channels, tc_sym_int(s, 1), tc_sym_int(s, 1), x->meta.size[2], x->meta.size[3]};
    tc_value *v = tc_e3(e, "aten::where.self", mask, ATEN("view", "vS", own, wide, 6), ATEN("full", "Ifd", NULL, 0, -__builtin_inf(), (int)d));
    tc_sym flat[5] = {regions, channels, bins[0], bins[1], plane}, lines[3] = {regions, channels, tc_sym_mul(s, bins[0], bins[1])};
    tc_value *which = ATEN("argmax", "vi", ATEN("reshape", "vS", v, flat, 5), (int64_t)4); /* [K, C, ph, pw] */
    tc_value *any = ATEN("any.dims", "vI", mask, (int64_t[]){4, 5}, 2);                    /* [K, 1, ph, pw] */
    tc_sym pixels[3] = {regions, channels, plane};
    tc_value *best = ATEN("gather", "viv", ATEN("reshape", "vS", own, pixels, 3), (int64_t)2, ATEN("view", "vS", which, lines, 3));
    best = ATEN("where.ScalarOther", "vvi", any, ATEN("view", "vS", best, flat, 4), (int64_t)0);
    tc_emit_result(e, 0, best);
    tc_emit_result(e, 1, tc_e_cast(e, ATEN("where.ScalarOther", "vvi", any, which, (int64_t)-1), TC_I32));
    return tc_e_done(e);
}

/* ---- deform_conv2d ---- */
enum { STRIDE = 5, PAD = 7, DILATION = 9, GROUPS = 11, OFFSET_GROUPS, USE_MASK };
/* Values at real coordinates, [N, og, C / og, taps, oh, ow]; pixels outside are 0. y, x: [N, og, 1, taps, oh, ow]. */
static tc_value *sampled(tc_emit *e, tc_value *image, tc_value *const at[2], const tc_sym size[2]) {
    tc_value *low[2], *t[2], *index[5], *rows[2];
    if (e->status) return NULL;
    for (int k = 0; k < 3; k++) index[k] = laid(e, range(e, image->meta.size[k], TC_I64), 6, k);
    for (int k = 0; k < 2; k++) low[k] = tc_e1(e, "aten::floor", at[k]), t[k] = tc_e_sub(e, at[k], low[k]);
    for (int y = 0; y < 2; y++) {
        tc_value *v[2];
        for (int x = 0; x < 2; x++) {
            tc_value *inside = NULL;
            for (int k = 0; k < 2; k++) {
                tc_arg top = number(tc_sym_sub(tc_e_sym(e), size[k], tc_sym_int(tc_e_sym(e), 1)));
                tc_value *c = tc_e_adds(e, low[k], k ? x : y);
                tc_value *in = tc_e2(e, "aten::logical_and", ATEN("ge.Scalar", "vi", c, (int64_t)0), ATEN("le.Scalar", "va", c, &top));
                inside = inside ? tc_e2(e, "aten::logical_and", inside, in) : in;
                index[3 + k] = tc_e_cast(e, ATEN("where.ScalarOther", "vvi", in, c, (int64_t)0), TC_I64);
            }
            v[x] = ATEN("where.ScalarOther", "vvi", inside, ATEN("_unsafe_index.Tensor", "vV", image, index, 5), (int64_t)0);
        }
        rows[y] = tc_e_add(e, v[0], tc_e_mul(e, t[1], tc_e_sub(e, v[1], v[0])));
    }
    return tc_e_add(e, rows[0], tc_e_mul(e, t[0], tc_e_sub(e, rows[1], rows[0])));
}
static tc_status decompose_deform_conv(tc_emit *e, const tc_node *n) { /* input, weight, offset, mask, bias, strides, pads, dilations, groups, ... */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *off = tc_arg_value(n, 2), *at[2];
    tc_symctx *s = tc_e_sym(e);
    tc_dtype d = x->meta.dtype;
    int64_t groups = tc_arg_int(n, GROUPS), og = tc_arg_int(n, OFFSET_GROUPS), kernel[2];
    if (x->meta.rank != 4 || w->meta.rank != 4 || off->meta.rank != 4 || !tc_is_float(d))
        return tc_e_refuse(n, "input, weight and offset must have four dimensions");
    for (int k = 0; k < 2; k++)
        if (!tc_e_pin(e, n, w->meta.size[2 + k], &kernel[k])) return tc_error(TC_UNSUPPORTED, "%s: a symbolic kernel", tc_op_name(n->op));
    if (groups < 1 || og < 1) return tc_e_refuse(n, "groups and offset_groups must be positive");
    tc_sym batch = x->meta.size[0], channels = x->meta.size[1], filters = w->meta.size[0], taps = tc_sym_int(s, kernel[0] * kernel[1]);
    tc_sym each = tc_sym_floordiv(s, channels, tc_sym_int(s, og)), out[2] = {off->meta.size[2], off->meta.size[3]};
    tc_sym offsets[6] = {batch, tc_sym_int(s, og), taps, tc_sym_int(s, 2), out[0], out[1]};
    if (tc_sym_differ(s, off->meta.size[1], tc_sym_int(s, 2 * og * kernel[0] * kernel[1])))
        return tc_e_refuse(n, "offset.shape[1] is not valid: got a size that is not 2 * offset_groups * kernel height * kernel width");
    off = ATEN("reshape", "vS", off, offsets, 6);
    for (int k = 0; k < 2; k++) { /* stride o - pad + dilation tap + offset */
        tc_value *o = ATEN("mul.Tensor", "va", range(e, out[k], d), &n->args[STRIDE + k]);
        tc_value *tap = range(e, tc_sym_int(s, kernel[k]), d), *pad = ATEN("full", "Iad", NULL, 0, &n->args[PAD + k], (int)d);
        int64_t one[2] = {k ? 1 : -1, k ? -1 : 1};
        tap = ATEN("mul.Tensor", "va", tap, &n->args[DILATION + k]);
        tap = ATEN("reshape", "vI", ATEN("expand", "vI", ATEN("view", "vI", tap, one, 2), kernel, 2), (int64_t[]){-1}, 1);
        tc_value *base = tc_e_add(e, laid(e, tc_e_sub(e, o, pad), 6, 4 + k), laid(e, tap, 6, 3));
        at[k] = tc_e_add(e, base, ATEN("unsqueeze", "vi", ATEN("select.int", "vii", off, (int64_t)3, (int64_t)k), (int64_t)2));
    }
    tc_sym image[5] = {batch, tc_sym_int(s, og), each, x->meta.size[2], x->meta.size[3]};
    tc_value *v = sampled(e, ATEN("reshape", "vS", x, image, 5), at, image + 3);
    if (tc_arg_bool(n, USE_MASK)) {
        tc_sym m[6] = {batch, tc_sym_int(s, og), tc_sym_int(s, 1), taps, out[0], out[1]};
        v = tc_e_mul(e, v, ATEN("reshape", "vS", tc_arg_value(n, 3), m, 6));
    }
    tc_sym g = tc_sym_int(s, groups), rows = tc_sym_mul(s, tc_sym_floordiv(s, channels, g), taps), area = tc_sym_mul(s, out[0], out[1]);
    tc_sym columns[4] = {batch, g, rows, area}, weights[3] = {g, tc_sym_floordiv(s, filters, g), rows}, size[4] = {batch, filters, out[0], out[1]};
    tc_value *y = ATEN("matmul", "vv", ATEN("reshape", "vS", w, weights, 3), ATEN("reshape", "vS", v, columns, 4));
    tc_emit_result(e, 0, tc_e_add(e, ATEN("reshape", "vS", y, size, 4), laid(e, tc_arg_value(n, 4), 4, 1)));
    return tc_e_done(e);
}

const tc_op tc_ops_vision[] = {
    {.schema = "image::decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
     .flags = TC_OP_DATA_SHAPE | TC_OP_NONDIFF,
     .shape = shape_decode,
     .kernel = &tc_k_decode_image,
     .doc = "the pixels [C, H, W] of an image file: PNG, JPEG, PNM, BMP, TIFF; mode as torchvision.io.ImageReadMode"},
    {.schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .flags = TC_OP_DATA_SHAPE | TC_OP_NONDIFF,
     .shape = shape_nms,
     .kernel = &tc_k_nms,
     .samples = "nms(f32[9,4]:0..1, f32[9], 0.3)",
     .doc = "boxes, best first, without those that overlap a better one by more than the threshold"},
    {.schema =
         "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
         "bool aligned) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_roi_align,
     .samples = "roi_align(f32[1,2,5,6], f32[3,5]:0.1..0.9, 4.0, 2, 3, 2, True); roi_align(f32[1,2,5,6], f32[3,5]:0.1..0.9, 9.0, 2, 3, 0, False)",
     .doc = "means of samples between pixels in the bins of each region"},
    {.schema =
         "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) "
         "-> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_ps_roi_align,
     .samples = "ps_roi_align(f32[1,12,5,6], f32[3,5]:0.1..0.9, 4.0, 2, 3, 2)",
     .doc = "roi_align where each bin has channels of its own, and the numbers of these channels"},
    {.schema = "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_roi_pool,
     .samples = "roi_pool(f32[1,2,5,6], f32[3,5]:0.1..0.9, 4.0, 2, 2)",
     .doc = "largest pixels of the bins of each region, and where they stand"},
    {.schema = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
               "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_deform_conv,
     .samples = "deform_conv2d(f32[1,2,5,4], f32[2,2,3,3], f32[1,18,5,4]:-0.4..0.4, f32[1,1], f32[2], 1, 1, 1, 1, 1, 1, 1, 1, False)",
     .doc = "convolution of pixels at places moved by offset"},
    {0}};
