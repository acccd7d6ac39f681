/* Convolutions of one to three dimensions and their transposes: one kernel (kernel/conv.h) and its backward; conv1d .. conv3d fill in
 * what it needs.
 *
 *     out = (in + 2 padding - dilation (k - 1) - 1) / stride + 1          transposed: (in - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1 */
#include "kernel/conv.h"
#include "op/complex_parts.h"
#include "op/shape.h"

enum { MAX_SPATIAL = 3 };
typedef struct {
    int n;
    tc_sym stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL], output_padding[MAX_SPATIAL];
    bool transposed;
    tc_sym groups;
} params;

static tc_status list_arg(tc_shape_ctx *c, int arg, int n, int64_t least, tc_sym *out) {
    tc_sym v[64];
    int64_t k;
    const char *name = tc_op_schema(c->op)->params[arg].name;
    int m = tc_sh_ints(c, arg, v, 64);
    if (m != n && m != 1)
        return tc_sh_fail(c, "expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got %d", name,
                          n, m);
    for (int i = 0; i < n; i++) {
        out[i] = v[m == 1 ? 0 : i];
        if (tc_sym_const_int(out[i], &k) && k < least)
            return least ? tc_sh_fail(c, "non-positive %s is not supported", name) : tc_sh_fail(c, "negative %s is not supported", name);
    }
    return NULL;
}
static tc_status read_params(tc_shape_ctx *c, int at, int n, params *p) { /* stride, padding, dilation, transposed, output_padding, groups */
    p->n = n;
    TC_TRY(list_arg(c, at, n, 1, p->stride));
    TC_TRY(list_arg(c, at + 1, n, 0, p->padding));
    TC_TRY(list_arg(c, at + 2, n, 1, p->dilation));
    p->transposed = tc_sh_bool(c, at + 3);
    TC_TRY(list_arg(c, at + 4, n, 0, p->output_padding));
    p->groups = tc_sh_int(c, at + 5);
    int64_t g;
    if (tc_sym_const_int(p->groups, &g) && g <= 0) return tc_sh_fail(c, "non-positive groups is not supported");
    return NULL;
}
/* Checks rank and types of input, weight and bias; n: spatial dimensions. */
static tc_status check_operands(tc_shape_ctx *c, int n) {
    const tc_meta *x = tc_sh_meta(c, 0), *w = tc_sh_meta(c, 1), *b = tc_sh_meta(c, 2);
    if (n < 1 || n > MAX_SPATIAL) return tc_sh_fail(c, "Expected 3D to 5D weight, got %dD", w->rank);
    if (x->rank != w->rank)
        return tc_sh_fail(c, "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of %d dimensions", n + 1, n + 2, n, x->rank);
    if (x->dtype != w->dtype)
        return tc_sh_fail(c, "Input type (%s) and weight type (%s) should be the same", tc_dtypes[x->dtype].torch, tc_dtypes[w->dtype].torch);
    if (tc_is_integral(x->dtype)) return tc_sh_fail_as(c, "NotImplementedError", "convolution not implemented for '%s'", tc_dtypes[x->dtype].torch);
    if (b && b->dtype != x->dtype)
        return tc_sh_fail(c, "Input type (%s) and bias type (%s) should be the same", tc_dtypes[x->dtype].torch, tc_dtypes[b->dtype].torch);
    return NULL;
}
/* Checks the channels of input, weight and bias; *out: those of the result. */
static tc_status check_channels(tc_shape_ctx *c, const params *p, tc_sym *out) {
    const tc_meta *x = tc_sh_meta(c, 0), *w = tc_sh_meta(c, 1), *b = tc_sh_meta(c, 2);
    tc_symctx *s = tc_sh_sym(c);
    int64_t wo, g = 1;
    bool counted = tc_sym_const_int(w->size[0], &wo) && tc_sym_const_int(p->groups, &g);
    if (counted && wo < g)
        return tc_sh_fail(c, "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %lld", (long long)g,
                          (long long)g, (long long)wo);
    if (counted && wo % g)
        return tc_sh_fail(c, "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size %lld at dimension 0",
                          (long long)g, (long long)g, (long long)wo);
    tc_sym want = p->transposed ? w->size[0] : tc_sym_mul(s, w->size[1], p->groups);
    if (!tc_sh_same(c, x->size[1], want))
        return tc_sh_fail_sizes(c, "Given groups=#, expected input to have # channels, but got # channels instead",
                                (tc_sym[]){p->groups, want, x->size[1]});
    *out = p->transposed ? tc_sym_mul(s, w->size[1], p->groups) : w->size[0];
    if (b && (b->rank != 1 || !tc_sh_same(c, b->size[0], *out)))
        return tc_sh_fail(c, "expected bias to be 1-dimensional with one element for each output channel");
    return NULL;
}
/* The size of the result along spatial dimension k. */
static tc_status result_size(tc_shape_ctx *c, const params *p, int k, tc_sym *out) {
    tc_symctx *s = tc_sh_sym(c);
    tc_sym in = tc_sh_meta(c, 0)->size[2 + k], one = tc_sym_int(s, 1), two = tc_sym_int(s, 2),
           span = tc_sym_mul(s, p->dilation[k], tc_sym_sub(s, tc_sh_meta(c, 1)->size[2 + k], one)), pad = tc_sym_mul(s, two, p->padding[k]);
    if (p->transposed) {
        int64_t more, step, apart;
        if (tc_sym_const_int(p->output_padding[k], &more) && tc_sym_const_int(p->stride[k], &step) && tc_sym_const_int(p->dilation[k], &apart) &&
            more >= step && more >= apart)
            return tc_sh_fail(c, "output padding must be smaller than either stride or dilation, but got %lld, %lld and %lld", (long long)more,
                              (long long)step, (long long)apart);
        *out = tc_sym_add(s, tc_sym_sub(s, tc_sym_mul(s, tc_sym_sub(s, in, one), p->stride[k]), pad),
                          tc_sym_add(s, span, tc_sym_add(s, p->output_padding[k], one)));
        return NULL;
    }
    tc_sym room = tc_sym_sub(s, tc_sym_sub(s, tc_sym_add(s, in, pad), span), one);
    if (!tc_sh_guard(c, tc_sym_op(s, TC_S_LE, tc_sym_int(s, 0), room, NULL)))
        return tc_sh_fail_sizes(
            c, "Calculated padded input size per channel: (#). Kernel size: (#). Kernel size can't be greater than actual input size",
            (tc_sym[]){tc_sym_add(s, in, pad), tc_sym_add(s, span, one)});
    *out = tc_sym_add(s, tc_sym_floordiv(s, room, p->stride[k]), one);
    return NULL;
}
/* PyTorch computes a transposed convolution to a size of 0 only of an empty batch. */
static tc_sym large_enough(tc_shape_ctx *c, const params *p, const tc_meta *x, tc_sym size) {
    tc_symctx *s = tc_sh_sym(c);
    const tc_sym none = tc_sym_int(s, 0), any = tc_sym_op(s, TC_S_LE, none, size, NULL);
    if (!p->transposed) return any;
    const tc_sym empty = tc_sym_op(s, TC_S_EQ, x->size[0], none, NULL), some = tc_sym_op(s, TC_S_LT, none, size, NULL);
    return tc_sym_op(s, TC_S_OR, some, tc_sym_op(s, TC_S_AND, empty, any, NULL), NULL);
}
static tc_status shape_convolution(tc_shape_ctx *c) {
    params p;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *x = tc_sh_meta(c, 0), *w = tc_sh_meta(c, 1);
    const int n = w->rank - 2;
    TC_TRY(check_operands(c, n));
    TC_TRY(read_params(c, 3, n, &p));
    tc_dims d = {.rank = w->rank, .size = {x->size[0]}};
    TC_TRY(check_channels(c, &p, &d.size[1]));
    for (int k = 0; k < n; k++)
        if (tc_sym_is_int(x->size[2 + k], 0) && !tc_sym_is_int(x->size[0], 0) && !tc_sym_is_int(x->size[1], 0))
            return tc_sh_fail(c, "Only zero batch or zero channel inputs are supported");
    for (int k = 0; k < n; k++) {
        TC_TRY(result_size(c, &p, k, &d.size[2 + k]));
        if (tc_sym_is_int(w->size[2 + k], 0)) return tc_sh_fail(c, "kernel size should be greater than zero");
        if (!tc_sh_guard(c, large_enough(c, &p, x, d.size[2 + k])))
            return tc_sh_fail(c, "Given input size per channel, calculated output size per channel is too small");
    }
    if (n == 3 && x->dtype == TC_F64) return tc_sh_out(c, 0, x->dtype, &d); /* PyTorch's kernel for it has no other format */
    return tc_sh_out_format(c, 0, x->dtype, &d, tc_sh_is_channels_last(c, w) ? w : x);
}
static tc_status shape_convolution_backward(tc_shape_ctx *c) { /* grad_output, input, weight, bias_sizes, ..., output_mask */
    TC_TRY(tc_sh_of_forward(c, NULL, 1, (int[]){0, 0}));
    const tc_meta *g = tc_sh_meta(c, 0), *x = tc_sh_meta(c, 1), *w = tc_sh_meta(c, 2);
    const bool *mask = c->args[10].kind == TC_A_BOOLS ? c->args[10].bools : (bool[]){true, true, true};
    tc_dims dx = tc_dims_of(x), dw = tc_dims_of(w), db = {.rank = 1, .size = {g->size[1]}};
    const tc_dims *d[3] = {&dx, &dw, &db};
    for (int i = 0; i < 3; i++) {
        if (mask[i]) TC_TRY(tc_sh_out(c, i, i == 1 ? w->dtype : x->dtype, d[i]));
        else TC_TRY(tc_sh_out_none(c, i));
    }
    return NULL;
}
static tc_status grad_convolution(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool mask[3] = {tc_emit_wants_grad(e, n, 0), tc_emit_wants_grad(e, n, 1), tc_emit_wants_grad(e, n, 2)};
    tc_arg m = {.kind = TC_A_BOOLS, .n = 3, .bools = tc_arena_dup(&e->graph->program->arena, mask, sizeof mask)}, sizes = {0};
    const tc_meta *b = tc_arg_meta(n, 2);
    if (b) sizes = (tc_arg){.kind = TC_A_INTS, .n = 1, .syms = b->size};
    tc_value *r =
        tc_emit_call(e, "aten::convolution_backward", "vvvaaaaaaaa", gs[0], tc_e_conj(e, tc_arg_value(n, 0)), tc_e_conj(e, tc_arg_value(n, 1)),
                     &sizes, &n->args[3], &n->args[4], &n->args[5], &n->args[6], &n->args[7], &n->args[8], &m);
    for (int i = 0; i < 3; i++)
        if (mask[i]) tc_e_give(e, n, i, tc_emit_out(r, i));
    return tc_e_done(e);
}

/* The double backward: convolution is linear in input and weight, so each gradient is a convolution with one factor replaced. args: grad_output,
 * input, weight, bias_sizes, stride .. groups, output_mask. */
static tc_status grad_convolution_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *g = tc_e_conj(e, tc_arg_value(n, 0)), *x = tc_e_conj(e, tc_arg_value(n, 1)), *w = tc_e_conj(e, tc_arg_value(n, 2)), *dg = NULL;
    tc_arena *a = &e->graph->program->arena;
    tc_arg none = {0};
    const tc_arg *p = n->args + 4;
    if (tc_emit_wants_grad(e, n, 0)) {
        if (gs[0]) dg = tc_emit_call(e, "aten::convolution", "vvaaaaaaa", gs[0], w, &none, &p[0], &p[1], &p[2], &p[3], &p[4], &p[5]);
        if (gs[1]) {
            tc_value *t = tc_emit_call(e, "aten::convolution", "vvaaaaaaa", x, gs[1], &none, &p[0], &p[1], &p[2], &p[3], &p[4], &p[5]);
            dg = dg ? tc_e_add(e, dg, t) : t;
        }
        if (gs[2]) {
            int64_t size[TC_MAX_RANK];
            for (int d = 0; d < g->meta.rank; d++) size[d] = d == 1 ? -1 : 1;
            tc_value *b = tc_emit_call(e, "aten::view", "vI", gs[2], size, g->meta.rank);
            dg = dg ? tc_e_add(e, dg, b) : tc_emit_call(e, "aten::expand", "vS", b, g->meta.size, g->meta.rank);
        }
        if (dg) tc_e_give(e, n, 0, dg);
    }
    for (int k = 0; k < 2; k++) { /* of the input from the weight's cotangent, of the weight from the input's */
        bool mask[3] = {k == 0, k == 1, false};
        tc_arg m = {.kind = TC_A_BOOLS, .n = 3, .bools = tc_arena_dup(a, mask, sizeof mask)};
        if (!gs[1 - k] || !tc_emit_wants_grad(e, n, 1 + k)) continue;
        tc_value *r = tc_emit_call(e, "aten::convolution_backward", "vvvaaaaaaaa", g, k ? gs[0] : x, k ? w : gs[1], &none, &p[0], &p[1], &p[2], &p[3],
                                   &p[4], &p[5], &m);
        tc_e_give(e, n, 1 + k, tc_emit_out(r, k));
    }
    return tc_e_done(e);
}

/* ---- conv1d .. conv_transpose3d ---- */
/* conv_tbc: input [T, B, C], weight [K, C, O]. */
static tc_status decompose_conv_tbc(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_emit_call(e, "aten::permute", "vI", tc_arg_value(n, 0), (int64_t[]){1, 2, 0}, 3);
    tc_value *w = tc_emit_call(e, "aten::permute", "vI", tc_arg_value(n, 1), (int64_t[]){2, 1, 0}, 3);
    tc_value *y = tc_emit_call(e, "aten::conv1d", "vvvIa", x, w, tc_arg_value(n, 2), (int64_t[]){1}, 1, &n->args[3]);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::permute", "vI", y, (int64_t[]){2, 0, 1}, 3));
    return tc_e_done(e);
}
static tc_arg ints(tc_emit *e, const int64_t *v, int n) {
    tc_sym *s = TC_NEWN(&e->graph->program->arena, tc_sym, (size_t)(n ? n : 1));
    for (int i = 0; i < n; i++) s[i] = tc_sym_int(tc_e_sym(e), v[i]);
    return (tc_arg){.kind = TC_A_INTS, .n = n, .syms = s};
}
static tc_arg boolean(bool b) { return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(b)}; }
static int spatial(const tc_node *n) {
    const char *s = tc_op_schema(n->op)->name;
    return s[strcspn(s, "123")] - '0';
}
/* ---- integers: the same sums as an integer matrix product ---- */
typedef struct {
    int dims;
    int64_t k[MAX_SPATIAL], stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL], more[MAX_SPATIAL], groups;
} whole;

static tc_value *padded(tc_emit *e, tc_value *x, int dims, const int64_t *before, const int64_t *after) {
    int64_t pad[2 * MAX_SPATIAL];
    for (int d = 0; d < dims; d++) pad[2 * (dims - 1 - d)] = before[d], pad[2 * (dims - 1 - d) + 1] = after[d];
    return tc_emit_call(e, "aten::constant_pad_nd", "vI", x, pad, 2 * dims);
}
/* x [N, C, s..] is padded already; w [O, C / groups, k..]; result [N, O, o..] */
static tc_value *integer_correlate(tc_emit *e, tc_value *x, tc_value *w, const whole *p) {
    tc_symctx *s = tc_e_sym(e);
    int n = p->dims, r = 0;
    tc_sym g = tc_sym_int(s, p->groups), size[TC_MAX_RANK], cg = w->meta.size[1], og = tc_sym_floordiv(s, w->meta.size[0], g), rows, taps = cg;
    for (int d = 0; d < n && x; d++) {
        x = tc_emit_call(e, "aten::unfold", "viii", x, (int64_t)(2 + d), (p->k[d] - 1) * p->dilation[d] + 1, p->stride[d]);
        if (p->dilation[d] > 1) x = tc_emit_call(e, "aten::slice.Tensor", "viiii", x, (int64_t)-1, (int64_t)0, (int64_t)INT64_MAX, p->dilation[d]);
        taps = tc_sym_mul(s, taps, tc_sym_int(s, p->k[d]));
    }
    if (!x) return NULL;
    tc_sym batch = x->meta.size[0], out[MAX_SPATIAL];
    rows = batch;
    size[r++] = batch, size[r++] = g, size[r++] = cg; /* [N, G, Cg, o.., k..] */
    for (int d = 0; d < n; d++) size[r++] = out[d] = x->meta.size[2 + d], rows = tc_sym_mul(s, rows, out[d]);
    for (int d = 0; d < n; d++) size[r++] = tc_sym_int(s, p->k[d]);
    int64_t order[TC_MAX_RANK] = {1, 0}; /* [G, N, o.., Cg, k..] */
    for (int d = 0; d < n; d++) order[2 + d] = 3 + d, order[3 + n + d] = 3 + n + d;
    order[2 + n] = 2;
    x = tc_emit_call(e, "aten::permute", "vI", tc_emit_call(e, "aten::reshape", "vS", x, size, r), order, r);
    x = tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){g, rows, taps}, 3);
    w = tc_emit_call(e, "aten::transpose.int", "vii", tc_emit_call(e, "aten::reshape", "vS", w, (tc_sym[]){g, og, taps}, 3), (int64_t)1, (int64_t)2);
    tc_value *y = tc_emit_call(e, "aten::bmm", "vv", x, w);
    r = 0;
    size[r++] = g, size[r++] = batch; /* [G, N, o.., Og] -> [N, G, Og, o..] */
    for (int d = 0; d < n; d++) size[r++] = out[d];
    size[r++] = og;
    int64_t back[TC_MAX_RANK] = {1, 0, 2 + n};
    for (int d = 0; d < n; d++) back[3 + d] = 2 + d;
    y = tc_emit_call(e, "aten::permute", "vI", tc_emit_call(e, "aten::view", "vS", y, size, r), back, r);
    size[0] = batch, size[1] = tc_sym_mul(s, g, og);
    for (int d = 0; d < n; d++) size[2 + d] = out[d];
    return tc_emit_call(e, "aten::reshape", "vS", y, size, n + 2);
}
/* Puts zeros between the elements and flips the kernel. */
static tc_value *integer_transposed(tc_emit *e, tc_value *x, tc_value *w, whole p) {
    tc_symctx *s = tc_e_sym(e);
    int64_t before[MAX_SPATIAL], after[MAX_SPATIAL], flips[MAX_SPATIAL], order[2 + MAX_SPATIAL + 1] = {0, 2, 1};
    tc_sym size[TC_MAX_RANK], g = tc_sym_int(s, p.groups);
    for (int d = 0; d < p.dims && x; d++) {
        int64_t at = 2 + d, step = p.stride[d], gap[2 * TC_MAX_RANK] = {0};
        tc_sym n = x->meta.size[at];
        gap[2 * (p.dims - d - 1) + 1] = step - 1; /* trailing dimensions of the gaps */
        if (step > 1) {
            x = tc_emit_call(e, "aten::unsqueeze", "vi", x, at + 1);
            x = tc_emit_call(e, "aten::constant_pad_nd", "vI", x, gap, 2 * (p.dims - d));
            for (int k = 0; x && k < p.dims + 2; k++)
                size[k] = k < at ? x->meta.size[k] : k == at ? tc_sym_mul(s, n, tc_sym_int(s, step)) : x->meta.size[k + 1];
            x = tc_emit_call(e, "aten::reshape", "vS", x, size, p.dims + 2);
            x = tc_emit_call(e, "aten::slice.Tensor", "viis", x, at, (int64_t)0, tc_sym_sub(s, size[at], tc_sym_int(s, step - 1)));
        }
        before[d] = p.dilation[d] * (p.k[d] - 1) - p.padding[d];
        after[d] = before[d] + p.more[d];
        p.stride[d] = 1;
        flips[d] = -1 - d;
    }
    int r = 0;
    size[r++] = g, size[r++] = tc_sym_floordiv(s, w->meta.size[0], g), size[r++] = w->meta.size[1];
    for (int d = 0; d < p.dims; d++) size[r++] = w->meta.size[2 + d], order[3 + d] = 3 + d;
    tc_sym out = tc_sym_mul(s, g, w->meta.size[1]), in = size[1];
    w = tc_emit_call(e, "aten::permute", "vI", tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::flip", "vI", w, flips, p.dims), size, r),
                     order, r);
    size[0] = out, size[1] = in;
    for (int d = 0; d < p.dims; d++) size[2 + d] = tc_sym_int(s, p.k[d]);
    w = tc_emit_call(e, "aten::reshape", "vS", w, size, p.dims + 2);
    x = padded(e, x, p.dims, before, after);
    return x && w ? integer_correlate(e, x, w, &p) : NULL;
}
/* Does the length of the bias differ from the number of output channels? */
static bool other_channels(tc_emit *e, const tc_value *w, const tc_value *b, int64_t groups, bool transposed) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym channels = transposed ? tc_sym_mul(s, w->meta.size[1], tc_sym_int(s, groups)) : w->meta.size[0];
    return tc_sym_differ(s, b->meta.size[0], channels);
}
/* The arguments of aten::convolution behind input, weight and bias. output_padding: NULL is zeros. */
typedef struct {
    const tc_arg *stride, *padding, *dilation, *output_padding, *groups;
    bool transposed;
} parameters;
static tc_status integer_convolve(tc_emit *e, const tc_node *n, tc_value *x, const parameters *given, tc_value **out) {
    const tc_arg *const a[] = {given->stride, given->padding, given->dilation, given->output_padding};
    const bool transposed = given->transposed;
    whole p = {.dims = spatial(n)};
    tc_value *w = tc_arg_value(n, 1), *b = tc_arg_value(n, 2);
    int64_t *const to[] = {p.stride, p.padding, p.dilation, p.more}, channels = 0;
    for (int i = 0; i < 4; i++)
        if (a[i]->n != 1 && a[i]->n != p.dims) return tc_e_refuse(n, "expected lists of %d values, got %d", p.dims, a[i]->n);
    bool known = x && tc_sym_const_int(given->groups->sym, &p.groups);
    for (int i = 0; i < 4 && known; i++)
        for (int d = 0; d < p.dims && known; d++) known = tc_sym_const_int(a[i]->syms[a[i]->n == 1 ? 0 : d], &to[i][d]);
    for (int d = 0; d < p.dims && known; d++) known = tc_sym_const_int(w->meta.size[2 + d], &p.k[d]);
    if (!known) return tc_error(TC_UNSUPPORTED, "%s: integers with sizes that are not known", tc_op_name(n->op));
    for (int d = 0; d < p.dims; d++)
        if (p.stride[d] < 1 || p.padding[d] < 0 || p.dilation[d] < 1 || p.more[d] < 0 ||
            (transposed && p.more[d] >= p.stride[d] && p.more[d] >= p.dilation[d]))
            return tc_e_refuse(n, "stride and dilation must be positive, padding not negative, output padding smaller than one of them");
    tc_sym expected = transposed ? w->meta.size[0] : tc_sym_mul(tc_e_sym(e), w->meta.size[1], tc_sym_int(tc_e_sym(e), p.groups));
    if (x->meta.dtype != w->meta.dtype ||
        (b && (b->meta.dtype != x->meta.dtype || b->meta.rank != 1 || other_channels(e, w, b, p.groups, transposed))) || p.groups < 1 ||
        tc_sym_differ(tc_e_sym(e), expected, x->meta.size[1]) || (tc_sym_const_int(w->meta.size[0], &channels) && channels % p.groups))
        return tc_e_refuse(n, "input, weight, bias and groups do not agree in type and channels");
    if (transposed) *out = integer_transposed(e, x, w, p);
    else *out = integer_correlate(e, padded(e, x, p.dims, p.padding, p.padding), w, &p);
    int64_t column[2 + MAX_SPATIAL] = {1, -1, 1, 1, 1};
    if (b) *out = tc_e_add(e, *out, tc_emit_call(e, "aten::reshape", "vI", b, column, p.dims + 2));
    tc_program *program = e->graph->program;
    tc_arg format = {.kind = TC_A_MEMFORMAT, .code = p.dims == 2 ? tc_sh_format(program, &w->meta) : 1};
    if (p.dims == 2 && format.code == 1) format.code = tc_sh_format(program, &x->meta);
    *out = tc_emit_call(e, "aten::clone", "va", *out, &format);
    return NULL;
}

/* Makes n, of weight and bias args[1] and args[2], an aten::convolution of x; adds a batch dimension to an input that has none. */
static tc_status convolve(tc_emit *e, const tc_node *n, tc_value *x, parameters p) {
    int dims = spatial(n);
    tc_value *w = tc_arg_value(n, 1);
    if (!x || !w) return tc_e_done(e);
    bool single = x->meta.rank == dims + 1;
    if (w->meta.rank != dims + 2) return tc_e_refuse(n, "weight should have %d dimensions, got %d", dims + 2, w->meta.rank);
    if (!single && x->meta.rank != dims + 2)
        return tc_e_refuse(n, "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of %d dimensions", dims + 1, dims + 2, dims,
                           x->meta.rank);
    if (single) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    tc_arg zero = ints(e, (int64_t[]){0, 0, 0}, dims), t = boolean(p.transposed);
    if (!p.output_padding) p.output_padding = &zero;
    if (x && tc_is_integral(x->meta.dtype)) {
        tc_value *sum = NULL;
        TC_TRY(integer_convolve(e, n, x, &p, &sum));
        tc_emit_result(e, 0, single ? tc_emit_call(e, "aten::squeeze.dim", "vi", sum, (int64_t)0) : sum);
        return tc_e_done(e);
    }
    tc_value *y =
        tc_emit_call(e, "aten::convolution", "vvaaaaaaa", x, w, &n->args[2], p.stride, p.padding, p.dilation, &t, p.output_padding, p.groups);
    tc_emit_result(e, 0, single ? tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)0) : y);
    return tc_e_done(e);
}
static tc_status decompose_conv(tc_emit *e, const tc_node *n) { /* input, weight, bias, stride, padding, dilation, groups */
    const tc_arg *a = n->args;
    return convolve(e, n, tc_arg_value(n, 0), (parameters){.stride = &a[3], .padding = &a[4], .dilation = &a[5], .groups = &a[6]});
}
static tc_status decompose_conv_padding(tc_emit *e, const tc_node *n) { /* padding: "valid" or "same" */
    const char *mode = tc_arg_string(n, 4);
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1);
    int dims = spatial(n);
    int64_t pad[MAX_SPATIAL] = {0}, stride[MAX_SPATIAL], dilation[MAX_SPATIAL], k;
    if (strcmp(mode, "same") && strcmp(mode, "valid")) return tc_e_refuse(n, "Invalid padding string: '%s'", mode);
    if (!strcmp(mode, "valid")) {
        tc_arg zero = ints(e, pad, dims);
        return convolve(e, n, x, (parameters){.stride = &n->args[3], .padding = &zero, .dilation = &n->args[5], .groups = &n->args[6]});
    }
    if (!w || w->meta.rank != dims + 2) return tc_e_refuse(n, "weight should have %d dimensions", dims + 2);
    if (tc_arg_ints(n, 3, stride, MAX_SPATIAL) != dims || tc_arg_ints(n, 5, dilation, MAX_SPATIAL) != dims)
        return tc_e_refuse(n, "expected stride and dilation to be lists of %d values", dims);
    int64_t around[2 * MAX_SPATIAL] = {0};
    bool odd = false;
    for (int d = 0; d < dims; d++) {
        if (stride[d] != 1) return tc_e_refuse(n, "padding='same' is not supported for strided convolutions");
        if (!tc_e_pin(e, n, w->meta.size[2 + d], &k)) return tc_error(TC_UNSUPPORTED, "%s: padding='same' with a symbolic kernel", tc_op_name(n->op));
        int64_t total = dilation[d] * (k - 1);
        pad[d] = total / 2;
        if (total % 2) around[2 * (dims - 1 - d) + 1] = 1, odd = true;
    }
    if (odd) x = tc_emit_call(e, "aten::constant_pad_nd", "vI", x, around, 2 * dims);
    tc_arg p = ints(e, pad, dims);
    return convolve(e, n, x, (parameters){.stride = &n->args[3], .padding = &p, .dilation = &n->args[5], .groups = &n->args[6]});
}
static tc_status decompose_conv_transpose(tc_emit *e, const tc_node *n) { /* input, weight, bias, stride, padding, output_padding, groups, dilation */
    const tc_arg *a = n->args;
    const parameters p = {.stride = &a[3], .padding = &a[4], .dilation = &a[7], .output_padding = &a[5], .groups = &a[6], .transposed = true};
    return convolve(e, n, tc_arg_value(n, 0), p);
}
static tc_status decompose_old_convolution(tc_emit *e, const tc_node *n) {
    tc_node *r = tc_e_args(e, "aten::convolution", n->args, 9);
    tc_emit_result(e, 0, r ? r->outs[0] : NULL);
    return tc_e_done(e);
}

#define CONV(n, sample)                                                                                                                          \
    {.schema = "aten::conv" #n "d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #n "] stride=1, SymInt[" #n "] padding=0, SymInt[" #n \
               "] dilation=1, SymInt groups=1) -> Tensor",                                                                                       \
     .shape = tc_shape_decomposed,                                                                                                               \
     .decompose = decompose_conv,                                                                                                                \
     .samples = sample,                                                                                                                          \
     .doc = "convolution"},                                                                                                                      \
    {                                                                                                                                            \
        .schema = "aten::conv" #n "d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #n                                         \
                  "] stride=1, str padding=\"valid\", SymInt[" #n "] dilation=1, SymInt groups=1) -> Tensor",                                    \
        .shape = tc_shape_decomposed, .decompose = decompose_conv_padding, .doc = "convolution, padded to the same size or not"                  \
    }
#define TRANSPOSE(n, overload)                                                                                                                  \
    {                                                                                                                                           \
        .schema = "aten::conv_transpose" #n "d" overload "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #n "] stride=1, SymInt[" #n \
                  "] padding=0, SymInt[" #n "] output_padding=0, SymInt groups=1, SymInt[" #n "] dilation=1) -> Tensor",                        \
        .shape = tc_shape_decomposed, .decompose = decompose_conv_transpose, .doc = "transposed convolution"                                    \
    }
#define PARAMS "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups"
const tc_op tc_ops_conv[] = {{.schema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, " PARAMS ") -> Tensor",
                              .shape = shape_convolution,
                              .kernel = &tc_k_convolution,
                              .complex = tc_by_parts_convolution,
                              .grad = grad_convolution,
                              .samples = "convolution(f32[2,3,6,5], f32[4,3,3,3], f32[4], [1,2], [1,1], [1,1], False, [0,0], 1); "
                                         "convolution(c64[2,2,6], c64[4,1,3], c64[4], [2], [1], [1], False, [0], 2)",
                              .doc = "convolution of 1 to 3 dimensions, or its transpose"},
                             {.schema = "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
                              .shape = tc_shape_decomposed,
                              .decompose = decompose_conv_tbc,
                              .samples = "conv_tbc(f32[7,2,3], f32[3,3,4], f32[4], 1)",
                              .doc = "conv1d with time first, then batch, then channels"},
                             {.schema = "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, " PARAMS
                                        ", bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
                              .shape = shape_convolution_backward,
                              .kernel = &tc_k_convolution_backward,
                              .complex = tc_by_parts_convolution_backward,
                              .grad = grad_convolution_backward,
                              .doc = "gradients of convolution"},
                             CONV(1, "conv1d(f32[2,3,8], f32[4,3,3], f32[4])"),
                             CONV(2, "conv2d(f32[2,4,6,5], f32[6,2,3,3], f32[6], 1, 1, 1, 2)"),
                             CONV(3, "conv3d(f32[1,2,4,4,3], f32[3,2,2,2,2])"),
                             TRANSPOSE(1, ""),
                             TRANSPOSE(2, ".input"),
                             TRANSPOSE(3, ".input"),
                             {.schema = "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, " PARAMS
                                        ", bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
                              .shape = tc_shape_decomposed,
                              .decompose = decompose_old_convolution,
                              .doc = "convolution"},
                             {0}};
