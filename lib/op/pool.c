/* Pooling over windows of 1 to 3 dimensions: max with indices, average, and the adaptive forms whose windows are
 * [floor(i in / out), ceil((i + 1) in / out)).
 *
 * A window is a reduction over new axes, one for each dimension; taps outside the input are predicated off. Indices are row-major
 * over the spatial dimensions. Backward of max adds where the maximum came from; of the average, each input sums the windows it is in. */
#include "kernel/pool.h"
#include "op/lower.h"
#include "op/shape.h"

#include <stdio.h>

enum { MAX_SPATIAL = 3 };

static int spatial(const tc_op *op) {
    const char *s = tc_op_schema(op)->name;
    return s[strcspn(s, "123")] - '0';
}

/* ---- fixed windows ---- */
typedef struct {
    int n;
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL];
    bool ceil;
} window;

static tc_status list_arg(const tc_shape_ctx *c, int arg, int n, const int64_t *otherwise, int64_t least, int64_t *out) {
    int64_t v[64];
    int m = tc_sh_const_ints(c, arg, v, 64);
    const char *name = tc_op_schema(c->op)->params[arg].name;
    if (m <= 0 && otherwise) {
        memcpy(out, otherwise, sizeof *out * (size_t)n);
        return NULL;
    }
    if (m != 1 && m != n) return tc_sh_fail(c, "%s must either be omitted, a single int, or a tuple of %d ints", name, n);
    for (int i = 0; i < n; i++) {
        out[i] = v[m == 1 ? 0 : i];
        if (out[i] < least)
            return tc_sh_fail(c, "%s should be %s, but got %lld", name, least ? "greater than zero" : "non-negative", (long long)out[i]);
    }
    return NULL;
}
/* kernel_size, stride, padding[, dilation], ceil_mode from argument `at` on */
static tc_status read_window(const tc_shape_ctx *c, int at, bool dilated, window *w) {
    w->n = spatial(c->op);
    TC_TRY(list_arg(c, at, w->n, NULL, 1, w->kernel));
    TC_TRY(list_arg(c, at + 1, w->n, w->kernel, 1, w->stride));
    TC_TRY(list_arg(c, at + 2, w->n, NULL, 0, w->padding));
    for (int i = 0; i < MAX_SPATIAL; i++) w->dilation[i] = 1;
    if (dilated) TC_TRY(list_arg(c, at + 3, w->n, NULL, 1, w->dilation));
    w->ceil = tc_sh_bool(c, at + 3 + dilated);
    for (int i = 0; i < w->n; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(w->dilation[i], w->kernel[i] - 1, &reach) || reach > INT64_MAX / 4 || w->padding[i] > INT64_MAX / 4)
            return tc_sh_fail(c, "effective kernel size overflows, but got kernel_size=%lld and dilation=%lld", (long long)w->kernel[i],
                              (long long)w->dilation[i]);
    }
    for (int i = 0; i < w->n; i++)
        if (w->padding[i] > (w->dilation[i] * (w->kernel[i] - 1) + 1) / 2)
            return tc_sh_fail(c, "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
                              (long long)w->padding[i], (long long)w->kernel[i], (long long)w->dilation[i]);
    return NULL;
}
static window of_node(const tc_node *n, int at, bool dilated) {
    window w;
    tc_shape_ctx c = {.program = n->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs};
    tc_status_free(read_window(&c, at, dilated, &w)); /* the shape rule has accepted it */
    return w;
}
/* Dimensions of x from `first` on must not be empty; name: PyTorch's name of x for the message. */
static tc_status nonempty(const tc_shape_ctx *c, const char *name, const tc_meta *x, int first) {
    for (int k = first; k < x->rank; k++)
        if (tc_sym_is_int(x->size[k], 0))
            return tc_sh_fail(c, "Expected %s to have non-zero size for non-batch dimensions, but it has dimension %d being empty", name, k);
    return NULL;
}
static tc_status pooled(tc_shape_ctx *c, const tc_meta *x, const window *w, tc_dims *d) {
    tc_symctx *s = tc_sh_sym(c);
    if (x->rank != w->n + 1 && x->rank != w->n + 2)
        return tc_sh_fail(c, "Expected %dD or %dD input tensor, but got %dD", w->n + 1, w->n + 2, x->rank);
    TC_TRY(nonempty(c, "input", x, x->rank == w->n + 2));
    *d = tc_dims_of(x);
    for (int k = 0; k < w->n; k++) {
        int at = x->rank - w->n + k;
        tc_sym stride = tc_sym_int(s, w->stride[k]),
               room = tc_sym_add(s, x->size[at], tc_sym_int(s, 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1));
        int64_t in, out;
        if (tc_sym_const_int(x->size[at], &in)) {
            int64_t r = in + 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1;
            int64_t q = r + (w->ceil ? w->stride[k] - 1 : 0);
            out = (q >= 0 ? q / w->stride[k] : -((-q + w->stride[k] - 1) / w->stride[k])) + 1;
            if (w->ceil && (out - 1) * w->stride[k] >= in + w->padding[k]) out--;
            if (out < 1)
                return tc_sh_fail(c, "Given input size: (%lld). Calculated output size: (%lld). Output size is too small", (long long)in,
                                  (long long)out);
            d->size[at] = tc_sym_int(s, out);
        } else {
            if (!tc_sh_guard(c, tc_sym_op(s, TC_S_LE, tc_sym_int(s, 0), room, NULL))) return tc_sh_fail(c, "Output size is too small");
            tc_sym q = w->ceil ? tc_sym_ceildiv(s, room, stride) : tc_sym_floordiv(s, room, stride);
            tc_sym o = tc_sym_add(s, q, tc_sym_int(s, 1));
            if (w->ceil) { /* the last window must begin inside the input or its left padding */
                tc_sym late = tc_sym_op(s, TC_S_LE, tc_sym_add(s, x->size[at], tc_sym_int(s, w->padding[k])), tc_sym_mul(s, q, stride), NULL);
                o = tc_sym_op(s, TC_S_WHERE, late, q, o);
            }
            d->size[at] = o;
        }
    }
    return NULL;
}
/* The results: a value (and its index) for each window. With three spatial dimensions only max_pool3d keeps the input's memory format. */
static tc_status windows_out(tc_shape_ctx *c, const tc_dims *d, bool by_format) {
    const tc_meta *x = tc_sh_meta(c, 0);
    for (int i = 0; i < c->nouts; i++) {
        tc_dtype type = i ? TC_I64 : x->dtype;
        TC_TRY(by_format ? tc_sh_out_format(c, i, type, d, x) : tc_sh_out(c, i, type, d));
    }
    return NULL;
}
/* No kernel pools complex numbers. */
static tc_status need_real(const tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_dtype d = tc_sh_meta(c, 0)->dtype;
    if (!tc_is_complex(d)) return NULL;
    return tc_sh_fail_as(c, "NotImplementedError", "\"%s\" not implemented for '%s'", tc_op_schema(c->op)->name, tc_dtypes[d].torch);
}
static tc_status shape_max_pool(tc_shape_ctx *c) {
    window w;
    tc_dims d;
    TC_TRY(need_real(c));
    TC_TRY(read_window(c, 1, true, &w));
    TC_TRY(pooled(c, tc_sh_meta(c, 0), &w, &d));
    return windows_out(c, &d, tc_sh_meta(c, 0)->rank == w.n + 2);
}
static tc_status shape_avg_pool(tc_shape_ctx *c) {
    window w;
    tc_dims d;
    TC_TRY(need_real(c));
    if (tc_sh_meta(c, 0)->dtype != TC_I64) TC_TRY(tc_sh_need_float(c, 0));
    TC_TRY(read_window(c, 1, false, &w));
    if (c->nargs > 6 && tc_sh_given(c, 6) && tc_sh_const(c, 6) == 0) return tc_sh_fail(c, "divisor must be not zero");
    TC_TRY(pooled(c, tc_sh_meta(c, 0), &w, &d));
    for (int k = 0; w.n == 3 && k < 3; k++) { /* PyTorch's demands this of the input without its padding */
        const tc_sym size = tc_sh_meta(c, 0)->size[d.rank - 3 + k];
        int64_t have;
        if (tc_sym_const_int(size, &have) && have < w.kernel[k])
            return tc_sh_fail(c, "input image smaller than kernel size: %lld and %lld in dimension %d", (long long)have, (long long)w.kernel[k],
                              d.rank - 3 + k);
    }
    return windows_out(c, &d, w.n < 3);
}
/* The gradient of a pool: in the memory format of self, except for most of three dimensions. */
static tc_status like_self(tc_shape_ctx *c) {
    const tc_meta *x = tc_sh_meta(c, 1);
    tc_dims d = tc_dims_of(x);
    if (spatial(c->op) == 3 && strncmp(tc_op_schema(c->op)->name, "max_pool", 8)) return tc_sh_out(c, 0, x->dtype, &d);
    return tc_sh_out_format(c, 0, x->dtype, &d, x);
}
static tc_status shape_avg_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_of_forward(c, NULL, 1, (int[]){0, 0}));
    return like_self(c);
}
static tc_status shape_max_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_of_forward(c, NULL, 2, (int[]){0, 0, 7, 1}));
    return like_self(c);
}
static tc_affine plain(tc_lower *l, const tc_meta *m, int d) {
    return tc_sym_is_int(m->size[d], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, d);
}

/* The input at every tap of the windows at the result's axes; *inside: the tap lies in the input. */
static tc_lv load_window(tc_lower *l, const window *w, uint64_t *over, tc_lv *inside, int *tap_axis) {
    tc_value *x = tc_arg_value(l->node, 0);
    tc_symctx *s = l->loop->sym;
    int lead = x->meta.rank - w->n;
    tc_affine index[TC_MAX_RANK] = {{0}};
    *over = 0;
    *inside = TC_LV_NONE;
    for (int d = 0; d < lead; d++) index[d] = plain(l, &x->meta, d);
    for (int k = 0; k < w->n; k++) {
        int a = tap_axis[k] = tc_l_new_axis(l, tc_sym_int(s, w->kernel[k]));
        tc_affine i = {.base = tc_sym_int(s, -w->padding[k]), .n = 2};
        i.term[0].axis = lead + k, i.term[0].coef = tc_sym_int(s, w->stride[k]);
        i.term[1].axis = a, i.term[1].coef = tc_sym_int(s, w->dilation[k]);
        index[lead + k] = i;
        *over |= (uint64_t)1 << a;
        tc_lv v = tc_l_index(l, i);
        if (w->padding[k]) *inside = tc_l_both(l, *inside, tc_l_op2(l, TC_X_GE, v, tc_l_int(l, 0)));
        if (w->padding[k] || w->ceil) *inside = tc_l_both(l, *inside, tc_l_op2(l, TC_X_LT, v, tc_l_host(l, TC_I64, x->meta.size[lead + k])));
    }
    return tc_l_cast(l, tc_l_load(l, x, index, NULL, *inside), tc_dtype_compute(x->meta.dtype));
}
static tc_lv lowest(tc_lower *l, tc_dtype d) {
    if (tc_is_float(d)) return tc_l_f(l, d, -__builtin_inf());
    int bits = (int)tc_dtype_size(d) * 8;
    return tc_l_const(l, d, tc_scalar_int(!tc_dtypes[d].is_signed ? 0 : bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1))));
}
static tc_status lower_max_pool(tc_lower *l) {
    window w = of_node(l->node, 1, true);
    const tc_meta *m = tc_arg_meta(l->node, 0);
    uint64_t over;
    tc_lv inside;
    int tap[MAX_SPATIAL], lead = m->rank - w.n;
    tc_dtype d = tc_dtype_compute(m->dtype);
    tc_lv x = load_window(l, &w, &over, &inside, tap);
    if (inside != TC_LV_NONE) x = tc_l_where(l, inside, x, lowest(l, d));
    TC_TRY(tc_l_out(l, 0, tc_l_reduce(l, TC_R_MAX, x, over)));
    if (l->node->nouts < 2) return NULL;
    tc_lv where = tc_l_reduce(l, TC_R_ARGMAX, x, over), flat = tc_l_int(l, 0), rest = where; /* row-major over the taps */
    tc_lv t[MAX_SPATIAL];
    for (int k = w.n - 1; k >= 0; k--) {
        t[k] = tc_l_op2(l, TC_X_REMAINDER, rest, tc_l_int(l, w.kernel[k]));
        rest = tc_l_op2(l, TC_X_DIV_FLOOR, rest, tc_l_int(l, w.kernel[k]));
    }
    for (int k = 0; k < w.n; k++) {
        tc_lv at =
            tc_l_add(l, tc_l_mul(l, tc_l_index(l, tc_l_axis(l, lead + k)), tc_l_int(l, w.stride[k])), tc_l_mul(l, t[k], tc_l_int(l, w.dilation[k])));
        at = tc_l_sub(l, at, tc_l_int(l, w.padding[k]));
        if (w.padding[k]) /* all elements are the lowest value, which padding is too: the first one inside */
            at = tc_l_where(l, tc_l_op2(l, TC_X_LT, at, tc_l_int(l, 0)), tc_l_op2(l, TC_X_REMAINDER, at, tc_l_int(l, w.dilation[k])), at);
        flat = tc_l_add(l, tc_l_mul(l, flat, tc_l_host(l, TC_I64, m->size[lead + k])), at);
    }
    return tc_l_out(l, 1, flat);
}
/* The divisor for window o of dimension k: its size inside the padded input, or inside the input. */
static tc_lv extent(tc_lower *l, const window *w, int k, tc_lv o, tc_sym in, bool count_pad) {
    if (!w->ceil && (count_pad || !w->padding[k])) return tc_l_int(l, w->kernel[k]); /* none is cut off */
    tc_lv size = tc_l_host(l, TC_I64, in), start = tc_l_sub(l, tc_l_mul(l, o, tc_l_int(l, w->stride[k])), tc_l_int(l, w->padding[k]));
    tc_lv end = tc_l_op2(l, TC_X_MIN, tc_l_add(l, start, tc_l_int(l, w->kernel[k])), tc_l_add(l, size, tc_l_int(l, w->padding[k])));
    if (count_pad) return tc_l_sub(l, end, start);
    return tc_l_sub(l, tc_l_op2(l, TC_X_MIN, end, size), tc_l_op2(l, TC_X_MAX, start, tc_l_int(l, 0)));
}
static tc_lv divisor(tc_lower *l, const window *w, const tc_lv *o, const tc_meta *x, bool count_pad, int override) {
    if (override >= 0 && override < l->node->nargs && !tc_arg_is_none(l->node, override)) return tc_l_in_as(l, override, TC_I64);
    tc_lv n = tc_l_int(l, 1);
    for (int k = 0; k < w->n; k++) n = tc_l_mul(l, n, extent(l, w, k, o[k], x->size[x->rank - w->n + k], count_pad));
    return n;
}
static tc_status lower_avg_pool(tc_lower *l) { /* self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override */
    window w = of_node(l->node, 1, false);
    const tc_meta *m = tc_arg_meta(l->node, 0);
    uint64_t over;
    tc_lv inside, o[MAX_SPATIAL];
    int tap[MAX_SPATIAL];
    tc_lv x = load_window(l, &w, &over, &inside, tap), sum = tc_l_reduce(l, TC_R_SUM, x, over);
    for (int k = 0; k < w.n; k++) o[k] = tc_l_index(l, tc_l_axis(l, m->rank - w.n + k));
    tc_lv by = divisor(l, &w, o, m, tc_arg_bool(l->node, 5), 6);
    if (tc_is_integral(m->dtype)) return tc_l_out(l, 0, tc_l_op2(l, TC_X_DIV_TRUNC, sum, by));
    return tc_l_out(l, 0, tc_l_div(l, sum, tc_l_cast(l, by, tc_l_type(l, 0))));
}
/* The windows along one dimension that contain an element. Few are written out, so that each depends on the element's place in this dimension alone; of
 * many there is one entry, which runs along an axis. */
enum { WRITTEN_OUT = 9 }; /* in all dimensions together */
typedef struct {
    int n;
    tc_lv o[WRITTEN_OUT], in[WRITTEN_OUT], count[WRITTEN_OUT]; /* number, 0 where there is none; whether there is one, or TC_LV_NONE; divisor */
} containing;
/* Entry j of each dimension: an axis of `most[k]` windows, which joins *over, or one of the numbers below. */
static void written_out(tc_lower *l, const tc_sym *most, int n, tc_lv (*j)[WRITTEN_OUT], containing *c, uint64_t *over) {
    int64_t total = 1, v[MAX_SPATIAL];
    for (int k = 0; k < n; k++)
        total = tc_sym_const_int(most[k], &v[k]) && total <= WRITTEN_OUT && v[k] <= WRITTEN_OUT ? total * v[k] : WRITTEN_OUT + 1;
    for (int k = 0; k < n; k++) {
        c[k] = (containing){.n = total <= WRITTEN_OUT ? (int)v[k] : 1};
        for (int i = 0; i < c[k].n; i++) j[k][i] = tc_l_int(l, i);
        if (total <= WRITTEN_OUT) continue;
        const int axis = tc_l_new_axis(l, most[k]);
        *over |= (uint64_t)1 << axis;
        j[k][0] = tc_l_index(l, tc_l_axis(l, axis));
    }
}
/* The sum of g / divisor over the windows that contain each element of the result, in the order of a reduction (lanes fold 8, 4, 2, 1); by: TC_LV_NONE, or
 * the divisor of all. */
static tc_status sum_of_windows(tc_lower *l, tc_value *g, const containing *c, int n, tc_lv by, uint64_t over) {
    const tc_meta *m = &l->node->outs[0]->meta;
    const int lead = m->rank - n;
    const tc_dtype d = tc_l_type(l, 0);
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK], lane[WRITTEN_OUT];
    int total = 1;
    for (int i = 0; i < m->rank; i++) index[i] = i < lead ? plain(l, m, i) : tc_l_affine(l, NULL, -1, NULL), gather[i] = TC_LV_NONE;
    for (int k = 0; k < n; k++) total *= c[k].n;
    for (int t = 0; t < total; t++) {
        tc_lv in = TC_LV_NONE, count = by;
        for (int k = n - 1, rest = t; k >= 0; rest /= c[k--].n) {
            const int i = rest % c[k].n;
            if (!tc_sym_is_int(g->meta.size[lead + k], 1)) gather[lead + k] = c[k].o[i];
            if (c[k].in[i] != TC_LV_NONE) in = tc_l_both(l, in, c[k].in[i]);
            if (by == TC_LV_NONE) count = count == TC_LV_NONE ? c[k].count[i] : tc_l_mul(l, c[k].count[i], count);
        }
        tc_lv v = tc_l_div(l, tc_l_cast(l, tc_l_load(l, g, index, gather, TC_LV_NONE), d), tc_l_cast(l, count, d));
        if (in != TC_LV_NONE) v = tc_l_where(l, in, v, tc_l_f(l, d, 0));
        lane[t] = v;
    }
    for (int fold = 8; fold; fold /= 2)
        for (int t = 0; t < fold && t + fold < total; t++) lane[t] = tc_l_add(l, lane[t], lane[t + fold]);
    return tc_l_out(l, 0, over ? tc_l_reduce(l, TC_R_SUM, lane[0], over) : lane[0]);
}
/* grad_output, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override. Element h lies in the windows from
 * floor((h + padding) / stride) - ceil(kernel / stride) + 1 on, as far as they exist and reach it. */
static tc_status lower_avg_backward(tc_lower *l) {
    window w = of_node(l->node, 2, false);
    tc_value *g = tc_arg_value(l->node, 0);
    const tc_meta *m = tc_arg_meta(l->node, 1);
    tc_symctx *s = l->loop->sym;
    uint64_t over = 0;
    int64_t in, out;
    containing c[MAX_SPATIAL];
    tc_lv j[MAX_SPATIAL][WRITTEN_OUT];
    tc_sym most[MAX_SPATIAL];
    for (int k = 0; k < w.n; k++) most[k] = tc_sym_int(s, (w.kernel[k] + w.stride[k] - 1) / w.stride[k]);
    written_out(l, most, w.n, j, c, &over);
    for (int k = 0; k < w.n; k++) {
        const int dim = m->rank - w.n + k;
        const int64_t kernel = w.kernel[k], stride = w.stride[k], last = (kernel + stride - 1) / stride - 1;
        const bool covered = tc_sym_const_int(m->size[dim], &in) && tc_sym_const_int(g->meta.size[dim], &out) && in + w.padding[k] <= out * stride;
        tc_lv h = tc_l_add(l, tc_l_index(l, tc_l_axis(l, dim)), tc_l_int(l, w.padding[k])),
              first = tc_l_op2(l, TC_X_DIV_FLOOR, h, tc_l_int(l, stride));
        for (int i = 0; i < c[k].n; i++) {
            tc_lv o = last ? tc_l_add(l, first, tc_l_sub(l, j[k][i], tc_l_int(l, last))) : first, is = TC_LV_NONE;
            if (last) is = tc_l_op2(l, TC_X_GE, o, tc_l_int(l, 0));
            if (kernel % stride)
                is = tc_l_both(l, is, tc_l_op2(l, TC_X_LT, tc_l_sub(l, h, tc_l_mul(l, o, tc_l_int(l, stride))), tc_l_int(l, kernel)));
            if (!covered) is = tc_l_both(l, is, tc_l_op2(l, TC_X_LT, o, tc_l_host(l, TC_I64, g->meta.size[dim])));
            c[k].in[i] = is, c[k].o[i] = is == TC_LV_NONE ? o : tc_l_where(l, is, o, tc_l_int(l, 0));
            c[k].count[i] = extent(l, &w, k, c[k].o[i], m->size[dim], tc_arg_bool(l->node, 6));
        }
    }
    return sum_of_windows(l, g, c, w.n, tc_arg_is_none(l->node, 7) ? TC_LV_NONE : tc_l_in_as(l, 7, TC_I64), over);
}

/* ---- adaptive windows ---- */
static tc_status shape_adaptive(tc_shape_ctx *c) {
    tc_sym out[64];
    int64_t v;
    TC_TRY(need_real(c));
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *x = tc_sh_meta(c, 0);
    int n = spatial(c->op), m = tc_sh_ints(c, 1, out, 64);
    if (m != n) return tc_sh_fail(c, "output_size must be %d", n);
    const bool planes = n == 2 && !strncmp(tc_op_schema(c->op)->name, "_adaptive_avg", 13); /* reads no channels, which may be none */
    TC_TRY(nonempty(c, "input", x, planes && x->rank == 4 ? 2 : 1));
    if (x->rank != n + 1 && x->rank != n + 2) return tc_sh_fail(c, "Expected %dD or %dD tensor, but got %dD", n + 1, n + 2, x->rank);
    tc_dims d = tc_dims_of(x);
    for (int k = 0; k < n; k++) {
        tc_sym o = out[k];
        if (tc_sym_const_int(o, &v) && v < 0)
            return tc_sh_fail(c, "elements of output_size must be greater than or equal to 0 but received %lld", (long long)v);
        d.size[x->rank - n + k] = o;
    }
    return windows_out(c, &d, n < 3);
}
/* [floor(i a / b), ceil((i + 1) a / b)) for the index value i */
static void adaptive_bounds(tc_lower *l, tc_lv i, tc_sym a, tc_sym b, tc_lv *start, tc_lv *end) {
    tc_lv va = tc_l_host(l, TC_I64, a), vb = tc_l_host(l, TC_I64, b), one = tc_l_int(l, 1);
    *start = tc_l_op2(l, TC_X_DIV_FLOOR, tc_l_mul(l, i, va), vb);
    tc_lv up = tc_l_sub(l, tc_l_add(l, tc_l_mul(l, tc_l_add(l, i, one), va), vb), one);
    *end = tc_l_op2(l, TC_X_DIV_FLOOR, up, vb);
}
/* grad_output, self[, indices]; the sizes of grad_output are the numbers of windows */
static tc_status shape_adaptive_backward(tc_shape_ctx *c) {
    for (int i = 0; i < c->nargs; i++) TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *g = tc_sh_meta(c, 0), *x = tc_sh_meta(c, 1);
    int n = spatial(c->op);
    if (x->rank != n + 1 && x->rank != n + 2) return tc_sh_fail(c, "Expected %dD or %dD tensor, but got %dD", n + 1, n + 2, x->rank);
    tc_dims d = tc_dims_of(x), all = tc_dims_of(g);
    for (int k = x->rank - n; k < x->rank && k < g->rank; k++) d.size[k] = g->size[k];
    TC_TRY(tc_sh_sized(c, 0, &d, TC_DTYPE_NONE, "self but for the windows"));
    TC_TRY(nonempty(c, "grad_output", g, 1));
    if (c->nargs > 2) TC_TRY(tc_sh_sized(c, 2, &all, TC_DTYPE_NONE, "grad_output"));
    return like_self(c);
}
/* the largest such window; 1 without windows */
static tc_sym adaptive_span(tc_symctx *s, tc_sym a, tc_sym b) {
    b = tc_sym_max(s, b, tc_sym_int(s, 1));
    if (tc_sym_is_int(tc_sym_mod(s, a, b), 0)) return tc_sym_floordiv(s, a, b);
    return tc_sym_add(s, tc_sym_ceildiv(s, a, b), tc_sym_int(s, 1));
}
typedef struct {
    tc_lv x, inside, count;
    uint64_t over;
} adaptive;
/* Tensor `v` over adaptive windows at the result's axes, from size a of v to size b of the result. Windows that are shorter than the longest one have
 * their last element several times (repeats), or are `inside` it only. */
static adaptive load_adaptive(tc_lower *l, tc_value *v, int n, bool repeats) {
    const tc_meta *m = &v->meta, *r = &l->node->outs[0]->meta;
    int lead = m->rank - n;
    adaptive w = {.inside = TC_LV_NONE, .count = tc_l_int(l, 1)};
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK], at[MAX_SPATIAL];
    for (int d = 0; d < m->rank; d++) index[d] = d < lead ? plain(l, m, d) : tc_l_affine(l, NULL, -1, NULL), gather[d] = TC_LV_NONE;
    for (int k = 0; k < n; k++) {
        tc_symctx *s = l->loop->sym;
        const tc_sym in = m->size[lead + k], out = r->size[lead + k], span = adaptive_span(s, in, out);
        const int a = tc_l_new_axis(l, span);
        w.over |= (uint64_t)1 << a;
        at[k] = TC_LV_NONE;
        if (tc_sym_is_int(tc_sym_mod(s, in, tc_sym_max(s, out, tc_sym_int(s, 1))), 0)) { /* windows of one length, side by side */
            tc_affine *x = &index[lead + k];
            *x = tc_l_affine(l, NULL, lead + k, span);
            x->term[x->n].axis = a, x->term[x->n++].coef = tc_sym_int(s, 1);
            w.count = tc_l_mul(l, w.count, tc_l_host(l, TC_I64, span));
            continue;
        }
        tc_lv start, end;
        adaptive_bounds(l, tc_l_index(l, tc_l_axis(l, lead + k)), in, out, &start, &end);
        at[k] = tc_l_add(l, start, tc_l_index(l, tc_l_axis(l, a)));
        if (repeats) at[k] = tc_l_op2(l, TC_X_MIN, at[k], tc_l_sub(l, end, tc_l_int(l, 1)));
        else w.inside = tc_l_both(l, w.inside, tc_l_op2(l, TC_X_LT, at[k], end));
        w.count = tc_l_mul(l, w.count, tc_l_sub(l, end, start));
    }
    for (int k = 0; k < n; k++)
        if (at[k] != TC_LV_NONE) gather[lead + k] = w.inside == TC_LV_NONE ? at[k] : tc_l_where(l, w.inside, at[k], tc_l_int(l, 0));
    w.x = tc_l_cast(l, tc_l_load(l, v, index, gather, w.inside), tc_dtype_compute(m->dtype));
    return w;
}
static tc_status lower_adaptive_avg(tc_lower *l) {
    adaptive w = load_adaptive(l, tc_arg_value(l->node, 0), spatial(l->node->op), false);
    return tc_l_out(l, 0, tc_l_div(l, tc_l_reduce(l, TC_R_SUM, w.x, w.over), tc_l_cast(l, w.count, tc_l_type(l, 0))));
}
static tc_status lower_adaptive_max(tc_lower *l) {
    int n = spatial(l->node->op);
    const tc_meta *m = tc_arg_meta(l->node, 0);
    adaptive w = load_adaptive(l, tc_arg_value(l->node, 0), n, true);
    tc_lv rest = tc_l_reduce(l, TC_R_ARGMAX, w.x, w.over), flat = tc_l_int(l, 0), t[MAX_SPATIAL];
    TC_TRY(tc_l_out(l, 0, tc_l_reduce(l, TC_R_MAX, w.x, w.over)));
    for (int k = n - 1; k >= 0; k--) {
        tc_lv span = tc_l_host(l, TC_I64, adaptive_span(l->loop->sym, m->size[m->rank - n + k], l->node->outs[0]->meta.size[m->rank - n + k]));
        t[k] = tc_l_op2(l, TC_X_REMAINDER, rest, span);
        rest = tc_l_op2(l, TC_X_DIV_FLOOR, rest, span);
    }
    for (int k = 0; k < n; k++) {
        tc_lv start, end;
        adaptive_bounds(l, tc_l_index(l, tc_l_axis(l, m->rank - n + k)), m->size[m->rank - n + k], l->node->outs[0]->meta.size[m->rank - n + k],
                        &start, &end);
        flat = tc_l_add(l, tc_l_mul(l, flat, tc_l_host(l, TC_I64, m->size[m->rank - n + k])), tc_l_add(l, start, t[k]));
    }
    return tc_l_out(l, 1, flat);
}
/* Input element i lies in windows floor(i out / in) .. ceil((i + 1) out / in): adaptive windows in the other direction. */
static tc_status lower_adaptive_avg_backward(tc_lower *l) { /* grad_output, self */
    const int n = spatial(l->node->op);
    tc_value *g = tc_arg_value(l->node, 0);
    const tc_meta *r = &l->node->outs[0]->meta;
    tc_symctx *s = l->loop->sym;
    uint64_t over = 0;
    containing c[MAX_SPATIAL];
    tc_lv j[MAX_SPATIAL][WRITTEN_OUT];
    tc_sym most[MAX_SPATIAL];
    bool even[MAX_SPATIAL]; /* the windows share no element */
    for (int k = 0; k < n; k++) {
        const tc_sym in = r->size[r->rank - n + k], out = g->meta.size[r->rank - n + k];
        even[k] = !tc_sym_is_int(out, 0) && tc_sym_is_int(tc_sym_mod(s, in, out), 0);
        most[k] = even[k] ? tc_sym_int(s, 1) : adaptive_span(s, out, in);
    }
    written_out(l, most, n, j, c, &over);
    for (int k = 0; k < n; k++) {
        const tc_sym in = r->size[r->rank - n + k], out = g->meta.size[r->rank - n + k];
        tc_lv start, end;
        adaptive_bounds(l, tc_l_index(l, tc_l_axis(l, r->rank - n + k)), out, in, &start, &end);
        for (int i = 0; i < c[k].n; i++) {
            tc_lv o = even[k] ? start : tc_l_add(l, start, j[k][i]), from, to;
            c[k].in[i] = even[k] ? TC_LV_NONE : tc_l_op2(l, TC_X_LT, o, end);
            c[k].o[i] = even[k] ? o : tc_l_where(l, c[k].in[i], o, tc_l_int(l, 0));
            adaptive_bounds(l, c[k].o[i], in, out, &from, &to);
            c[k].count[i] = tc_l_sub(l, to, from);
        }
    }
    return sum_of_windows(l, g, c, n, TC_LV_NONE, over);
}

/* ---- gradients ---- */
static tc_value *scatter_flat(tc_emit *e, tc_value *g, tc_value *indices, const tc_meta *x, int n, const char *how) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym flat[TC_MAX_RANK], gflat[TC_MAX_RANK], area = tc_sym_int(s, 1), garea = area;
    int lead = x->rank - n;
    if (!g || !indices) return NULL;
    for (int k = 0; k < lead; k++) flat[k] = gflat[k] = x->size[k];
    for (int k = lead; k < x->rank; k++) area = tc_sym_mul(s, area, x->size[k]), garea = tc_sym_mul(s, garea, g->meta.size[k]);
    flat[lead] = area, gflat[lead] = garea;
    tc_value *zero = tc_emit_call(e, "aten::zeros", "Sd", flat, lead + 1, (int)g->meta.dtype);
    tc_value *r = tc_emit_call(e, how, "vivv", zero, (int64_t)lead, tc_emit_call(e, "aten::reshape", "vS", indices, gflat, lead + 1),
                               tc_emit_call(e, "aten::reshape", "vS", g, gflat, lead + 1));
    return tc_emit_call(e, "aten::view", "vS", r, x->size, x->rank);
}
/* Through the backward operator, which has gradients for every argument. */
static tc_status grad_max_pool(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    char name[64];
    tc_arg a[8] = {{.kind = TC_A_VALUE, .value = gs[0]}};
    int kept = n->nargs == 2 ? 1 : n->nargs; /* adaptive forms have self only */
    int k = 1;
    snprintf(name, sizeof name, "aten::%s_backward", tc_op_schema(n->op)->name);
    for (int i = 0; i < kept; i++) a[k++] = n->args[i];
    a[k++] = (tc_arg){.kind = TC_A_VALUE, .value = n->outs[1]};
    tc_node *back = tc_e_args(e, name, a, k);
    tc_e_give(e, n, 0, back ? back->outs[0] : NULL);
    return tc_e_done(e);
}
static tc_status decompose_max_pool_backward(tc_emit *e, const tc_node *n) { /* grad_output, self, ..., indices */
    tc_value *g = scatter_flat(e, tc_arg_value(n, 0), tc_arg_value(n, n->nargs - 1), tc_arg_meta(n, 1), spatial(n->op), "aten::scatter_add");
    const tc_arg format = {.kind = TC_A_MEMFORMAT, .code = tc_sh_format(e->graph->program, &n->outs[0]->meta)};
    tc_emit_result(e, 0, format.code == 1 ? g : tc_emit_call(e, "aten::clone", "va", g, &format));
    return tc_e_done(e);
}
/* grad_output: its cotangent read at the maxima. self: zeros, as in PyTorch, because the indices are constant. */
static tc_status grad_max_pool_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_symctx *s = tc_e_sym(e);
    const tc_meta *x = tc_arg_meta(n, 1), *g = tc_arg_meta(n, 0);
    tc_sym flat[TC_MAX_RANK], gflat[TC_MAX_RANK], area = tc_sym_int(s, 1), garea = area;
    int lead = x->rank - spatial(n->op);
    for (int k = 0; k < lead; k++) flat[k] = gflat[k] = x->size[k];
    for (int k = lead; k < x->rank; k++) area = tc_sym_mul(s, area, x->size[k]), garea = tc_sym_mul(s, garea, g->size[k]);
    flat[lead] = area, gflat[lead] = garea;
    if (tc_emit_wants_grad(e, n, 0)) {
        tc_value *at = tc_emit_call(e, "aten::reshape", "vS", tc_arg_value(n, n->nargs - 1), gflat, lead + 1);
        tc_value *r = tc_emit_call(e, "aten::gather", "viv", tc_emit_call(e, "aten::reshape", "vS", gs[0], flat, lead + 1), (int64_t)lead, at);
        tc_e_give(e, n, 0, tc_emit_call(e, "aten::view", "vS", r, g->size, g->rank));
    }
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_zeros_like(e, tc_arg_value(n, 1)));
    return tc_e_done(e);
}
static tc_status grad_avg_pool(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_arg none = {0};
    if (!tc_emit_wants_grad(e, n, 0)) return NULL;
    tc_e_give(e, n, 0,
              tc_emit_call(e, spatial(n->op) == 2 ? "aten::avg_pool2d_backward" : "aten::avg_pool3d_backward", "vvaaaaaa", gs[0], tc_arg_value(n, 0),
                           &n->args[1], &n->args[2], &n->args[3], &n->args[4], &n->args[5], n->nargs > 6 ? &n->args[6] : &none));
    return tc_e_done(e);
}
static tc_status grad_adaptive_avg(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0,
              tc_emit_call(e, spatial(n->op) == 2 ? "aten::_adaptive_avg_pool2d_backward" : "aten::_adaptive_avg_pool3d_backward", "vv", gs[0],
                           tc_arg_value(n, 0)));
    return tc_e_done(e);
}

/* The backward operators are linear in grad_output; their gradient is the pooling itself. */
static tc_status grad_avg_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, spatial(n->op) == 2 ? "aten::avg_pool2d" : "aten::avg_pool3d", "vaaaaaa", gs[0], &n->args[2], &n->args[3],
                               &n->args[4], &n->args[5], &n->args[6], &n->args[7]));
    return tc_e_done(e);
}
static tc_status grad_adaptive_avg_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *g = tc_arg_meta(n, 0);
    int s = spatial(n->op);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_emit_call(e, s == 2 ? "aten::_adaptive_avg_pool2d" : "aten::_adaptive_avg_pool3d", "vS", gs[0], g->size + g->rank - s, s));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status decompose_max_pool(tc_emit *e, const tc_node *n) { /* without indices */
    static const char *const with[] = {"aten::max_pool1d_with_indices", "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"};
    tc_node *r = tc_e_args(e, with[spatial(n->op) - 1], n->args, n->nargs);
    tc_value *y = r ? r->outs[0] : NULL;
    const tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    if (y && y->meta.stride && spatial(n->op) == 1 && !tc_arg_meta(n, 0)->requires_grad) /* for which PyTorch has a kernel without indices */
        y = tc_emit_call(e, "aten::clone", "va", y, &contiguous);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}
static tc_arg pair(tc_emit *e, const tc_node *n, int i, int64_t first) {
    const tc_schema *schema = tc_op_schema(n->op);
    const tc_arg *a = &n->args[i];
    tc_sym *s = TC_NEWN(&e->graph->program->arena, tc_sym, 2);
    if (a->kind != TC_A_INTS || a->n == 0) return *a;
    if (a->n > 1)
        tc_emit_fail(e, tc_error(TC_CONTENT, "%s() argument '%s' should contain one int (got %d)", schema->name, schema->params[i].name, a->n));
    s[0] = tc_sym_int(tc_e_sym(e), first);
    s[1] = a->syms[0];
    return (tc_arg){.kind = TC_A_INTS, .n = 2, .syms = s};
}
/* 1-D forms as 2-D ones of height 1 */
static tc_status decompose_max_pool1d(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 2 && x->meta.rank != 3) return tc_e_refuse(n, "Expected 2D or 3D input tensor, but got %dD", x->meta.rank);
    tc_arg k = pair(e, n, 1, 1), st = pair(e, n, 2, 1), p = pair(e, n, 3, 0), d = pair(e, n, 4, 1);
    tc_value *r = tc_emit_call(e, "aten::max_pool2d_with_indices", "vaaaaa", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)-2), &k, &st, &p,
                               &d, &n->args[5]);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::squeeze.dim", "vi", r, (int64_t)-2));
    tc_emit_result(e, 1, tc_emit_call(e, "aten::squeeze.dim", "vi", tc_emit_out(r, 1), (int64_t)-2));
    return tc_e_done(e);
}
static tc_status decompose_avg_pool1d(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 2 && x->meta.rank != 3) return tc_e_refuse(n, "Expected 2D or 3D input tensor, but got %dD", x->meta.rank);
    tc_arg k = pair(e, n, 1, 1), st = pair(e, n, 2, 1), p = pair(e, n, 3, 0);
    tc_value *r = tc_emit_call(e, "aten::avg_pool2d", "vaaaaa", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)-2), &k, &st, &p, &n->args[4],
                               &n->args[5]);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::squeeze.dim", "vi", r, (int64_t)-2));
    return tc_e_done(e);
}
static tc_status decompose_adaptive_avg(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int dims = spatial(n->op);
    bool ones = true;
    for (int k = 0; k < n->args[1].n; k++) ones &= tc_sym_is_int(n->args[1].syms[k], 1);
    if (x->meta.rank != dims + 1 && x->meta.rank != dims + 2 && (!ones || dims == 1 || x->meta.rank < dims)) /* a mean takes more dimensions */
        return tc_e_refuse(n, "Expected %dD or %dD tensor, but got %dD", dims + 1, dims + 2, x->meta.rank);
    if (ones && dims != 1) { /* the mean of all elements; as PyTorch's, with the strides of channels-last in two dimensions */
        int64_t all[] = {-1, -2, -3};
        tc_value *y = tc_emit_call(e, "aten::mean.dim", "vIb", x, all, dims, 1);
        if (y && tc_sh_format(e->graph->program, &x->meta) == 2) {
            const tc_sym c = x->meta.size[1], one = tc_sym_int(e->graph->program->sym, 1);
            y = tc_emit_call(e, "aten::as_strided", "vSS", y, (tc_sym[]){x->meta.size[0], c, one, one}, 4, (tc_sym[]){c, one, c, c}, 4);
        }
        tc_emit_result(e, 0, y);
    } else if (dims == 1) {
        tc_arg out = pair(e, n, 1, 1);
        tc_value *y = tc_emit_call(e, "aten::_adaptive_avg_pool2d", "va", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)-2), &out);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)-2));
    } else {
        tc_emit_result(e, 0, tc_emit_call(e, dims == 2 ? "aten::_adaptive_avg_pool2d" : "aten::_adaptive_avg_pool3d", "va", x, &n->args[1]));
    }
    return tc_e_done(e);
}
static tc_status decompose_adaptive_max1d(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank != 2 && x->meta.rank != 3) return tc_e_refuse(n, "adaptive_max_pool1d(): Expected 2D or 3D tensor");
    tc_arg out = pair(e, n, 1, 1);
    tc_value *y = tc_emit_call(e, "aten::adaptive_max_pool2d", "va", tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)-2), &out);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::squeeze.dim", "vi", y, (int64_t)-2));
    tc_emit_result(e, 1, tc_emit_call(e, "aten::squeeze.dim", "vi", tc_emit_out(y, 1), (int64_t)-2));
    return tc_e_done(e);
}
static tc_status decompose_max_unpool(tc_emit *e, const tc_node *n) { /* self, indices, output_size, ... */
    tc_value *x = tc_arg_value(n, 0);
    int dims = spatial(n->op), lead = x->meta.rank - dims;
    tc_meta to = x->meta;
    tc_sym size[TC_MAX_RANK];
    if (lead != 1 && lead != 2)
        return tc_e_refuse(n, "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with dim %d", dims, dims + 1, dims + 2,
                           x->meta.rank);
    if (n->args[2].n != dims) return tc_e_refuse(n, "There should be exactly %d elements in output_size, but got %d elements.", dims, n->args[2].n);
    for (int k = 0; k < dims && dims == 3; k++)
        if (tc_sym_is_int(n->args[3].syms[k], 0)) return tc_e_refuse(n, "strides should be greater than zero");
    for (int k = 1; k < x->meta.rank; k++)
        if (tc_sym_is_int(x->meta.size[k], 0)) return tc_e_refuse(n, "Expected input to have non-zero size for non-batch dimensions");
    const tc_meta *im = tc_arg_meta(n, 1);
    if (im->dtype != TC_I64) return tc_e_refuse(n, "elements in indices should be type int64");
    if (!tc_is_float(x->meta.dtype)) return tc_e_refuse(n, "not implemented for '%s'", tc_dtypes[x->meta.dtype].torch);
    bool same = im->rank == x->meta.rank;
    for (int k = 0; same && k < im->rank; k++) same = !tc_sym_differ(tc_e_sym(e), im->size[k], x->meta.size[k]);
    if (!same) return tc_e_refuse(n, "Expected shape of indices to be same as that of the input tensor");
    for (int k = 0; k < x->meta.rank; k++) size[k] = k < lead ? x->meta.size[k] : n->args[2].syms[k - lead];
    to.size = size;
    tc_emit_result(e, 0, scatter_flat(e, x, tc_arg_value(n, 1), &to, dims, "aten::scatter.src"));
    return tc_e_done(e);
}

#define MAX(n, pad, dil)                                                                                                                    \
    {                                                                                                                                       \
        .schema = "aten::max_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n "] stride=[], int[" #n "] padding=" pad ", int[" #n \
                  "] dilation=" dil ", bool ceil_mode=False) -> Tensor",                                                                    \
        .shape = tc_shape_decomposed, .decompose = decompose_max_pool, .doc = "the largest of each window"                                  \
    }
#define MAXI(n)                                                                                                                                     \
    {.schema = "aten::max_pool" #n "d_with_indices(Tensor self, int[" #n "] kernel_size, int[" #n "] stride=[], int[" #n "] padding=0, int[" #n     \
               "] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",                                                                           \
     .shape = shape_max_pool,                                                                                                                       \
     .lower = lower_max_pool,                                                                                                                       \
     .kernel = &tc_k_max_pool##n##d,                                                                                                                \
     .grad = grad_max_pool,                                                                                                                         \
     .doc = "the largest of each window and where it is"},                                                                                          \
    {                                                                                                                                               \
        .schema = "aten::max_pool" #n "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #n "] kernel_size, int[" #n                   \
                  "] stride, int[" #n "] padding, int[" #n "] dilation, bool ceil_mode, Tensor indices) -> Tensor",                                 \
        .shape = shape_max_backward, .decompose = decompose_max_pool_backward, .grad = grad_max_pool_backward, .doc = "gradient of max_pool" #n "d" \
    }
#define AVG(n)                                                                                                                           \
    {.schema = "aten::avg_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n "] stride=[], int[" #n                              \
               "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",                  \
     .shape = shape_avg_pool,                                                                                                            \
     .lower = lower_avg_pool,                                                                                                            \
     .kernel = &tc_k_avg_pool##n##d,                                                                                                     \
     .grad = grad_avg_pool,                                                                                                              \
     .doc = "the mean of each window"},                                                                                                  \
    {                                                                                                                                    \
        .schema = "aten::avg_pool" #n "d_backward(Tensor grad_output, Tensor self, int[" #n "] kernel_size, int[" #n "] stride, int[" #n \
                  "] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",                                 \
        .shape = shape_avg_backward, .lower = lower_avg_backward, .grad = grad_avg_backward, .doc = "gradient of avg_pool" #n "d"        \
    }
#define ADAPT(n)                                                                                                        \
    {.schema = "aten::adaptive_avg_pool" #n "d(Tensor self, SymInt[" #n "] output_size) -> Tensor",                     \
     .shape = tc_shape_decomposed,                                                                                      \
     .decompose = decompose_adaptive_avg,                                                                               \
     .doc = "means of that many windows"},                                                                              \
        {.schema = "aten::_adaptive_avg_pool" #n "d(Tensor self, SymInt[" #n "] output_size) -> Tensor",                \
         .shape = shape_adaptive,                                                                                       \
         .lower = lower_adaptive_avg,                                                                                   \
         .kernel = &tc_k_adaptive_avg_pool##n##d,                                                                       \
         .grad = grad_adaptive_avg,                                                                                     \
         .doc = "means of that many windows"},                                                                          \
        {.schema = "aten::_adaptive_avg_pool" #n "d_backward(Tensor grad_output, Tensor self) -> Tensor",               \
         .shape = shape_adaptive_backward,                                                                              \
         .lower = lower_adaptive_avg_backward,                                                                          \
         .grad = grad_adaptive_avg_backward,                                                                            \
         .doc = "gradient of adaptive_avg_pool" #n "d"},                                                                \
        {.schema = "aten::adaptive_max_pool" #n "d(Tensor self, int[" #n "] output_size) -> (Tensor, Tensor)",          \
         .shape = shape_adaptive,                                                                                       \
         .lower = lower_adaptive_max,                                                                                   \
         .grad = grad_max_pool,                                                                                         \
         .doc = "the largest of that many windows"},                                                                    \
    {                                                                                                                   \
        .schema = "aten::adaptive_max_pool" #n "d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", \
        .shape = shape_adaptive_backward, .decompose = decompose_max_pool_backward, .grad = grad_max_pool_backward,     \
        .doc = "gradient of adaptive_max_pool" #n "d"                                                                   \
    }
const tc_op tc_ops_pool[] = {
    MAX(1, "0", "1"),
    MAX(2, "0", "1"),
    MAX(3, "0", "1"),
    MAXI(2),
    MAXI(3),
    {.schema = "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool "
               "ceil_mode=False) -> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_max_pool1d,
     .samples = "max_pool1d_with_indices(f32[2,3,9], 3, 2, 1)",
     .doc = "the largest of each window and where it is"},
    AVG(2),
    AVG(3),
    {.schema = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_avg_pool1d,
     .samples = "avg_pool1d(f32[2,3,9], 3, 2, 1)",
     .doc = "the mean of each window"},
    ADAPT(2),
    ADAPT(3),
    {.schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_adaptive_avg,
     .samples = "adaptive_avg_pool1d(f32[2,3,9], 4)",
     .doc = "means of that many windows"},
    {.schema = "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_adaptive_max1d,
     .samples = "adaptive_max_pool1d(f32[2,3,9], 4)",
     .doc = "the largest of that many windows"},
    {.schema = "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed_format,
     .decompose = decompose_max_unpool,
     .doc = "values at the places that max_pool2d found"},
    {.schema = "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed,
     .decompose = decompose_max_unpool,
     .doc = "values at the places that max_pool3d found"},
    {0}};
