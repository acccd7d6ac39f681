/* aten::convolution and its backward as kernels: reads the arguments into a geometry (tc_conv), widens 16-bit floats, rounds float32 operands where
 * --fp32-precision allows it (fp32_precision.h), picks the algorithm, and computes the bias gradient. */
#include "kernel/conv.h"

#include <string.h>

#include "base/ints.h"
#include "kernel/conv_plan.h"
#include "kernel/fp32_precision.h"
#include "kernel/narrow.h"

typedef struct {
    const tc_tensor *x, *w;
    tc_conv c;
    bool transposed;
    int64_t out_channels;
} args;

/* The geometry of the forward convolution. x, w, at: index of the arguments input, weight and stride; the others follow stride. */
static args read_args(const tc_kcall *k, int x, int w, int at, const int64_t *out_size) {
    args a = {.x = tc_k_tensor(k, x), .w = tc_k_tensor(k, w), .transposed = tc_k_bool(k, at + 3)};
    int dims = a.x->rank - 2;
    tc_conv *c = &a.c;
    c->dtype = a.x->dtype == TC_F64 ? TC_F64 : TC_F32;
    c->n = a.x->size[0], c->groups = tc_k_int(k, at + 5), c->adjoint = a.transposed, c->fast = k->numerics.fast;
    c->cin = a.x->size[1] / c->groups;
    a.out_channels = a.transposed ? a.w->size[1] * c->groups : a.w->size[0];
    c->cout = a.out_channels / c->groups;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - dims);
        const tc_karg *v = k->args + at;
        c->in[d] = i < 0 ? 1 : a.x->size[2 + i], c->out[d] = i < 0 ? 1 : out_size[2 + i], c->kernel[d] = i < 0 ? 1 : a.w->size[2 + i];
        c->stride[d] = i < 0 ? 1 : v[0].ints[v[0].n == 1 ? 0 : i], c->pad[d] = i < 0 ? 0 : v[1].ints[v[1].n == 1 ? 0 : i],
        c->dil[d] = i < 0 ? 1 : v[2].ints[v[2].n == 1 ? 0 : i];
    }
    return a;
}
/* Is t channels last and not also contiguous (as with one channel or one position)? */
static bool last(const tc_tensor *t) { return tc_tensor_is_channels_last(t) && !tc_tensor_is_contiguous(t); }
/* How float32 operands are rounded. */
static tc_fp32 precision(const tc_kcall *k, const args *a) {
    return a->x->dtype == TC_F32 && k->numerics.conv != TC_FP32_BF16X3 ? k->numerics.conv : TC_FP32_IEEE;
}
/* The same with layouts, element type and the tuning knobs set. A result of one position per plane is in both layouts: tiles write it as channels last. */
static args tuned_args(const tc_kcall *k, const int64_t *knob) {
    args a = read_args(k, 0, 1, 3, k->outs[0].size);
    a.c.form = knob[0], a.c.task_rows = knob[1], a.c.task_cols = knob[2];
    const bool lanes = tc_conv_by_lanes(&a.c);
    a.c.in_last = last(a.x);
    a.c.out_last = last(&k->outs[0]) || (tc_conv_volume(a.c.out) == 1 && !lanes);
    if (lanes) a.c.in_last = a.c.out_last = a.c.in_last || a.c.out_last; /* one of them may be 1x1 */
    if (a.x->dtype == TC_BF16 && (lanes ? a.c.out_last && tc_conv_depthwise(&a.c) : k->isa->conv_bf16 != NULL)) a.c.dtype = TC_BF16;
    if (!lanes && precision(k, &a)) a.c.dtype = tc_rounded_type(precision(k, &a), k->isa->conv_bf16 != NULL), a.c.f32_results = a.c.dtype == TC_BF16;
    return a;
}
/* The type that weights and bias are read as. */
static tc_dtype weight_type(const tc_conv *c) { return tc_conv_by_lanes(c) ? tc_dtype_compute(c->dtype) : c->dtype; }
static args forward_args(const tc_kcall *k) { return tuned_args(k, k->knob); }
/* Knobs exist for float32 and float64 in strict numerics only: elsewhere another form could change bits. */
static int forward_knobs(const tc_kcall *k, tc_knob *out) {
    static const int64_t rows[] = {16, 32, 64, 128, 256, 0}, cols[] = {16, 32, 64, 128, 0};
    static const int64_t own[TC_KNOBS];
    const args a = tuned_args(k, own);
    if (k->numerics.fast || a.x->dtype != a.c.dtype || a.c.dtype == TC_BF16) return 0;
    const bool lanes = tc_conv_by_lanes(&a.c), product = !lanes && tc_conv_pointwise(&a.c), fits = !lanes && tc_conv_pointwise_fits(&a.c);
    const bool tiles = k->knob[0] ? k->knob[0] == TC_CONV_TILES : !lanes && !product;
    out[0] = (tc_knob){"form", {(lanes && a.c.cin > 1) || product ? TC_CONV_TILES : fits ? TC_CONV_PRODUCT : 0}};
    out[1] = tc_knob_below("rows", rows, tiles ? a.c.n * tc_conv_volume(a.c.out) : 0);
    out[2] = tc_knob_below("columns", cols, tiles ? a.c.cout : 0);
    return 3;
}
static tc_layouts forward_layouts(const tc_kcall *k) {
    args a = read_args(k, 0, 1, 3, k->outs[0].size);
    return !tc_conv_by_lanes(&a.c) ? TC_LAYOUT_ANY : tc_conv_depthwise(&a.c) ? TC_LAYOUT_SAME : TC_LAYOUT_PLANES;
}
/* The weight with its strides by output channel and input channel; flip exchanges their roles (for the input gradient). */
static tc_conv_weight weight_of(const args *a, tc_dtype d, const void *data, bool flip) {
    int64_t taps = tc_conv_volume(a->c.kernel), inner = a->w->size[1] * taps; /* a row of dimension 0 */
    int64_t per_group = a->w->size[0] / a->c.groups * inner;
    bool rows_are_out = !a->transposed; /* dimension 0 of the weight is the convolution's output channel */
    return (tc_conv_weight){d, data, per_group, rows_are_out != flip ? inner : taps, rows_are_out != flip ? taps : inner};
}
/* The convolution that takes the output's gradient to the input's. */
static tc_conv backward_of(const tc_conv *f) {
    tc_conv b = *f;
    b.adjoint = !f->adjoint, b.cin = f->cout, b.cout = f->cin;
    memcpy(b.in, f->out, sizeof b.in), memcpy(b.out, f->in, sizeof b.out);
    return b;
}
/* A convolution with the same weight that is not transposed: the weight gradient is computed for that. */
static tc_conv untransposed(const tc_conv *f) { return f->adjoint ? backward_of(f) : *f; }

/* A tensor's data as type d: its own, or a float32 copy in scratch. */
static const void *widen(const tc_kcall *k, tc_dtype d, const tc_tensor *t, char **scratch) {
    if (t->dtype == d) return tc_tensor_data(t);
    float *f = tc_conv_take(scratch, (size_t)tc_tensor_numel(t) * 4);
    tc_widen_all(k->isa, k->pool, t->dtype, tc_tensor_data(t), tc_tensor_numel(t), f);
    return f;
}
static size_t widened_bytes(tc_dtype d, const tc_tensor *t) { return t && t->dtype != d ? tc_pad64((size_t)tc_tensor_numel(t) * 4) : 0; }

/* The same for an operand of the product: in a mode other than IEEE a rounded copy. */
static const void *rounded(const tc_kcall *k, tc_fp32 mode, tc_dtype d, const tc_tensor *t, char **scratch) {
    if (!mode) return widen(k, d, t, scratch);
    void *out = tc_conv_take(scratch, (size_t)tc_tensor_numel(t) * tc_dtype_size(d));
    tc_round_operand(k->isa, k->pool, mode, d, &(tc_rounded_operand){tc_tensor_data(t), 1, 1, tc_tensor_numel(t), 0, 0, 1}, out);
    return out;
}
static size_t rounded_bytes(tc_fp32 mode, tc_dtype d, const tc_tensor *t) {
    return mode ? tc_pad64((size_t)tc_tensor_numel(t) * tc_dtype_size(d)) : widened_bytes(d, t);
}

/* ---- choice of the algorithm ---- */
static size_t product_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed) {
    return tc_conv_by_lanes(c)      ? tc_conv_lanes_scratch(c, isa, threads)
           : c->dtype == TC_BF16    ? tc_conv_bf16_scratch(c, isa, threads, packed)
           : tc_conv_by_winograd(c) ? tc_conv_winograd_scratch(c, isa, threads, packed)
                                    : tc_conv_correlate_scratch(c, isa, threads, packed);
}
static void product(const tc_conv *c, const tc_conv_arrays *v) {
    (tc_conv_by_lanes(c) ? tc_conv_lanes : c->dtype == TC_BF16 ? tc_conv_bf16 : tc_conv_by_winograd(c) ? tc_conv_winograd : tc_conv_correlate)(c, v);
}
/* Is the weight gradient computed from bfloat16 without widening? c is not transposed. */
static bool weight_by_pairs(const tc_conv *c, const tc_isa_ops *isa, tc_dtype d) {
    return d == TC_BF16 && !tc_conv_by_lanes(c) && tc_conv_grad_by_pairs(c, isa);
}
static size_t weight_scratch(const tc_conv *c, const tc_isa_ops *isa, tc_dtype d, int threads) {
    const size_t pairs = weight_by_pairs(c, isa, d) ? tc_conv_grad_bf16_scratch(c, isa, threads) : 0;
    const size_t other = tc_conv_by_lanes(c)        ? tc_conv_lanes_grad_scratch(c, isa, threads)
                         : tc_conv_grad_by_tiles(c) ? tc_conv_grad_scratch(c, isa, threads)
                                                    : tc_conv_weight_grad_scratch(c, isa, threads);
    return pairs > other ? pairs : other;
}
typedef struct {
    const uint16_t *x;
    int found;
} infinity_scan;
static void find_infinities(void *ctx, int64_t begin, int64_t end, int worker) {
    infinity_scan *s = ctx;
    uint16_t any = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) any |= (s->x[i] & 0x7f80) == 0x7f80;
    if (any) __atomic_store_n(&s->found, 1, __ATOMIC_RELAXED);
}
/* Are all elements of a bfloat16 tensor finite? The bfloat16 weight gradient multiplies padding zeros with elements, which infinities and NaN would turn
 * into NaN. */
static bool all_finite(const tc_kcall *k, const tc_tensor *t) {
    infinity_scan s = {tc_tensor_data(t), 0};
    tc_parallel_for(k->pool, tc_tensor_numel(t), 1 << 16, find_infinities, &s);
    return !s.found;
}
static void weight_product(const tc_conv *c, const tc_conv_grad_arrays *v) {
    (tc_conv_by_lanes(c) ? tc_conv_lanes_grad : tc_conv_grad_by_tiles(c) ? tc_conv_grad : tc_conv_weight_grad)(c, v);
}

/* ---- forward ---- */
static size_t forward_scratch(const tc_kcall *k, int threads) {
    args a = forward_args(k);
    const tc_dtype d = a.c.dtype, wd = weight_type(&a.c);
    const tc_fp32 mode = precision(k, &a);
    size_t s = rounded_bytes(mode, d, a.x) + product_scratch(&a.c, k->isa, threads, k->packed);
    if (!mode) s += widened_bytes(wd, tc_k_tensor(k, 2)) + widened_bytes(d, &k->outs[0]);
    return s + (k->packed ? 0 : rounded_bytes(mode, wd, a.w)) + 64;
}
/* Runs the epilogue after the product, a few positions at a time, where the algorithm does not call it itself. */
typedef struct {
    const tc_epilogue *epilogue;
    int64_t channels;
} after;
static void after_positions(void *ctx, int64_t begin, int64_t end, int worker) {
    const after *a = ctx;
    for (int64_t i = begin, n; i < end; i += n) {
        n = 1 + 4096 / a->channels;
        if (n > end - i) n = end - i;
        a->epilogue->fn(a->epilogue->ctx, i, n, 0, a->channels, worker);
    }
}

static tc_status forward(tc_kcall *k) {
    args a = forward_args(k);
    const tc_dtype d = a.c.dtype, wd = weight_type(&a.c);
    char *scratch = k->scratch;
    const int64_t n = a.c.n * a.out_channels * tc_conv_volume(a.c.out);
    const tc_fp32 mode = precision(k, &a);
    const void *x = rounded(k, mode, d, a.x, &scratch), *bias = tc_k_given(k, 2) ? widen(k, mode ? TC_F32 : wd, tc_k_tensor(k, 2), &scratch) : NULL,
               *w = k->packed ? NULL : rounded(k, mode, wd, a.w, &scratch);
    void *out = tc_tensor_data(&k->outs[0]), *to = out;
    const tc_epilogue *then = k->epilogue;
    tc_narrowing rounding = {k->isa, a.x->dtype, NULL, out, a.out_channels, then};
    const tc_epilogue rounds = {tc_narrow_region, &rounding, NULL};
    if (a.x->dtype != d && !mode) rounding.wide = to = tc_conv_take(&scratch, (size_t)n * 4), then = &rounds;
    const bool reports = tc_conv_reports(&a.c) && (!tc_conv_by_winograd(&a.c) || !then || (then->plain && !then->rest));
    if (reports) a.c.epilogue = then;
    product(&a.c, &(tc_conv_arrays){k->isa, k->pool, scratch, x, weight_of(&a, wd, w, false), k->packed, bias, to});
    if (reports || !n) return NULL;
    if (to != out) tc_narrow_all(k->isa, k->pool, a.x->dtype, to, n, out);
    if (k->epilogue) tc_parallel_for(k->pool, n / a.out_channels, 1 + 16384 / a.out_channels, after_positions, &(after){k->epilogue, a.out_channels});
    return NULL;
}

static size_t packed_bytes(const tc_kcall *k, const args *a) {
    if (a->c.dtype == TC_BF16) return tc_conv_bf16_packed_bytes(&a->c, k->isa);
    if (tc_conv_by_winograd(&a->c)) return a->w->dtype == a->c.dtype ? tc_conv_winograd_packed_bytes(&a->c, k->isa) : 0;
    return tc_conv_packs(&a->c) ? tc_conv_packed_bytes(&a->c, k->isa) : 0;
}
static size_t forward_pack_bytes(const tc_kcall *k, int *arg) {
    args a = forward_args(k);
    *arg = 1;
    if (tc_conv_by_lanes(&a.c)) return 0;
    return packed_bytes(k, &a) + (precision(k, &a) && packed_bytes(k, &a) ? rounded_bytes(precision(k, &a), weight_type(&a.c), a.w) : 0);
}
static void forward_pack(const tc_kcall *k, void *out) {
    args a = forward_args(k);
    const tc_fp32 mode = precision(k, &a);
    char *rounded_at = (char *)out + packed_bytes(k, &a); /* for the rounded weight, from which it is packed */
    const void *w = mode ? rounded(k, mode, weight_type(&a.c), a.w, &rounded_at) : tc_tensor_data(a.w);
    (a.c.dtype == TC_BF16        ? tc_conv_bf16_pack
     : tc_conv_by_winograd(&a.c) ? tc_conv_winograd_pack
                                 : tc_conv_pack)(&a.c, k->isa, k->pool, weight_of(&a, mode ? weight_type(&a.c) : a.w->dtype, w, false), out);
}

/* ---- backward ---- */
typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype;
    int64_t n, channels, area;
    const char *g;
    char *out;
} bias_job;
/* The bias gradient: the sum over (n, position) of each channel in leaves of 256, which run across the ends of images. */
static void bias_channels(void *ctx, int64_t begin, int64_t end, int worker) {
    const bias_job *j = ctx;
    size_t e = tc_dtype_size(j->dtype);
    char leaf[TC_LEAF * 8];
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        tc_tree_f32 t32 = {0};
        tc_tree_f64 t64 = {0};
        int64_t total = j->n * j->area;
        for (int64_t k = 0; k < total; k += TC_LEAF) {
            int64_t m = total - k < TC_LEAF ? total - k : TC_LEAF;
            for (int64_t i = 0; i < m;) {
                int64_t n = (k + i) / j->area, s = (k + i) % j->area, w = j->area - s < m - i ? j->area - s : m - i;
                memcpy(leaf + (size_t)i * e, j->g + (size_t)((n * j->channels + c) * j->area + s) * e, (size_t)w * e);
                i += w;
            }
            double v;
            j->isa->reduce[j->dtype]->sum_leaves(&v, leaf, m);
            if (j->dtype == TC_F32) {
                float f;
                memcpy(&f, &v, 4);
                tc_tree_f32_push(&t32, f);
            } else tc_tree_f64_push(&t64, v);
        }
        if (j->dtype == TC_F32) ((float *)j->out)[c] = tc_tree_f32_sum(&t32);
        else ((double *)j->out)[c] = tc_tree_f64_sum(&t64);
    }
}
static bool wanted(const tc_kcall *k, int i) {
    return i < k->nouts && k->outs[i].storage && (k->args[10].kind != TC_K_INTS || i >= k->args[10].n || k->args[10].ints[i]);
}

/* The convolution that gives the input's gradient, in bfloat16 where the instruction set has it. */
static tc_conv input_product(const tc_kcall *k, const args *a) {
    tc_conv b = backward_of(&a->c);
    if (a->x->dtype == TC_BF16 && k->isa->conv_bf16 && !tc_conv_by_lanes(&b)) b.dtype = TC_BF16;
    return b;
}
static size_t backward_scratch(const tc_kcall *k, int threads) {
    args a = read_args(k, 1, 2, 4, tc_k_tensor(k, 0)->size);
    tc_conv in = input_product(k, &a), w = untransposed(&a.c);
    size_t s = product_scratch(&in, k->isa, threads, false), u = weight_scratch(&w, k->isa, a.x->dtype, threads);
    s = s > u ? s : u;
    if (precision(k, &a))
        s += rounded_bytes(precision(k, &a), TC_F32, tc_k_tensor(k, 0)) + rounded_bytes(precision(k, &a), TC_F32, a.x) +
             rounded_bytes(precision(k, &a), TC_F32, a.w);
    if (tc_is_narrow(a.x->dtype))
        s += widened_bytes(a.c.dtype, tc_k_tensor(k, 0)) + widened_bytes(a.c.dtype, a.x) + widened_bytes(a.c.dtype, a.w) +
             tc_pad64((size_t)tc_tensor_numel(a.x) * 4) + tc_pad64((size_t)tc_tensor_numel(a.w) * 4) + tc_pad64((size_t)a.out_channels * 4);
    return s + 64;
}
static tc_status backward(tc_kcall *k) {
    const tc_tensor *g = tc_k_tensor(k, 0);
    args a = read_args(k, 1, 2, 4, g->size);
    char *scratch = k->scratch;
    tc_dtype d = a.x->dtype;
    const tc_fp32 mode = precision(k, &a);
    const tc_conv in = input_product(k, &a);
    const bool pairs = in.dtype == TC_BF16; /* the input gradient needs no widening */
    int64_t sizes[3] = {tc_tensor_numel(a.x), tc_tensor_numel(a.w), a.out_channels};
    void *out[3];
    for (int i = 0; i < 3; i++) {
        bool want = wanted(k, i);
        out[i] = !want ? NULL : tc_is_narrow(d) && (i || !pairs) ? tc_conv_take(&scratch, (size_t)sizes[i] * 4) : tc_tensor_data(&k->outs[i]);
    }
    tc_conv_arrays to_input = {.isa = k->isa, .pool = k->pool, .out = out[0]};
    if (out[0] && pairs) {
        to_input.scratch = scratch, to_input.in = tc_tensor_data(g), to_input.w = weight_of(&a, d, tc_tensor_data(a.w), true);
        product(&in, &to_input);
    }
    const tc_conv p = untransposed(&a.c);
    const bool weight_pairs = out[1] && weight_by_pairs(&p, k->isa, d) && all_finite(k, a.x) && all_finite(k, g);
    const void *dout = NULL, *x = NULL;
    if (out[2] || (out[0] && !pairs) || (out[1] && !weight_pairs)) dout = rounded(k, mode, a.c.dtype, g, &scratch);
    if (out[1] && !weight_pairs) x = rounded(k, mode, a.c.dtype, a.x, &scratch);
    if (out[0] && !pairs) {
        const void *w = rounded(k, mode, a.c.dtype, a.w, &scratch);
        to_input.scratch = scratch, to_input.in = dout, to_input.w = weight_of(&a, a.c.dtype, w, true);
        product(&in, &to_input);
    }
    if (out[1]) {
        const void *ends[] = {weight_pairs ? tc_tensor_data(a.x) : x, weight_pairs ? tc_tensor_data(g) : dout};
        const tc_conv_weight strides = weight_of(&a, a.c.dtype, NULL, a.transposed);
        const tc_conv_grad_arrays v = {k->isa, k->pool, scratch, ends[a.transposed], ends[!a.transposed], out[1], strides};
        if (weight_pairs) tc_conv_grad_bf16(&p, &v);
        else weight_product(&p, &v);
    }
    if (out[2]) {
        bias_job j = {k->isa, a.c.dtype, a.c.n, a.out_channels, tc_conv_volume(a.c.out), mode ? tc_tensor_data(g) : dout, out[2]};
        tc_parallel_for(k->pool, a.out_channels, 1 + 8192 / (j.n * j.area + 1), bias_channels, &j);
    }
    for (int i = pairs; i < 3 && tc_is_narrow(d); i++)
        if (out[i]) tc_narrow_all(k->isa, k->pool, d, out[i], sizes[i], tc_tensor_data(&k->outs[i]));
    return NULL;
}

const tc_kernel tc_k_convolution = {.name = "convolution",
                                    .flags = TC_KF_CONTIGUOUS | TC_KF_EPILOGUE | TC_KF_ENTRIES,
                                    .run = forward,
                                    .scratch = forward_scratch,
                                    .pack_bytes = forward_pack_bytes,
                                    .pack = forward_pack,
                                    .layouts = forward_layouts,
                                    .row_dims = TC_ROWS_POSITIONS,
                                    .knobs = forward_knobs};
const tc_kernel tc_k_convolution_backward = {"convolution_backward", TC_KF_CONTIGUOUS, backward, backward_scratch};
