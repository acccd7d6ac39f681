/* Random operators: a few kernels that fill a tensor (kernel/random.h), and everything else composed of them.
 *
 *     dropout(x, p, True) = x * bernoulli(1 - p) / (1 - p)
 *
 * They are never merged or reordered with each other, since each draws from the generator. No gradient goes through a draw. */
#include "kernel/random.h"
#include "op/shape.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */
static tc_status shape_fill(tc_shape_ctx *c) { /* random numbers of the type of self, contiguous */
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m);
    return tc_sh_out(c, 0, m->dtype, &d);
}
/* The bounds of a range must be representable in the type. */
static tc_status check_bounds(const tc_shape_ctx *c, tc_dtype t, int low, int high) {
    int64_t from = 0, to, lo = 0, hi = 1;
    if (tc_is_complex(t)) return tc_sh_fail(c, "check_random_bounds handles only integral, floating-point and boolean types");
    if (low >= 0 && !tc_sym_const_int(tc_sh_int(c, low), &from)) return NULL;
    if (!tc_sym_const_int(tc_sh_int(c, high), &to) || from >= to) return NULL;
    if (!tc_is_integral(t)) hi = tc_dtype_max(t) < 0x1p63 ? (int64_t)tc_dtype_max(t) : INT64_MAX, lo = -hi;
    else if (t != TC_BOOL) tc_dtype_int_range(t, &lo, &hi);
    if (from < lo || from > hi) return tc_sh_fail(c, "from is out of bounds for %s", tc_dtypes[t].torch);
    if (to - 1 < lo || to - 1 > hi) return tc_sh_fail(c, "to - 1 is out of bounds for %s", tc_dtypes[t].torch);
    return NULL;
}
static tc_status shape_random(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_dtype t = tc_sh_meta(c, 0)->dtype;
    const int low = tc_op_param(c->op, "from"), high = tc_op_param(c->op, "to");
    if (high >= 0 && tc_sh_given(c, high)) TC_TRY(check_bounds(c, t, low, high));
    if (high < 0 && (tc_is_complex(t) || (tc_is_integral(t) && !tc_dtypes[t].is_signed && t != TC_U8 && t != TC_BOOL)))
        return tc_sh_fail_as(c, "NotImplementedError", "\"random_kernel_cpu\" not implemented for '%s'", tc_dtypes[t].torch);
    return shape_fill(c);
}
static tc_status shape_fill_float(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (!tc_is_float(m->dtype) && !tc_is_complex(m->dtype))
        return tc_sh_fail(c, "expected a floating-point tensor, but got %s", tc_dtypes[m->dtype].torch);
    tc_dims d = tc_dims_of(m);
    return tc_sh_out(c, 0, m->dtype, &d);
}
static tc_status shape_rrelu_noise(tc_shape_ctx *c) { /* in the type in which self is computed */
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_float(c, 0));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out(c, 0, tc_dtype_compute(tc_sh_meta(c, 0)->dtype), &d);
}
static tc_status shape_randperm(tc_shape_ctx *c) {
    tc_dims d = {.rank = 1};
    d.size[0] = tc_sh_int(c, 0);
    int64_t n;
    if (tc_sym_const_int(d.size[0], &n) && n < 0) return tc_sh_fail(c, "n must be non-negative, got %lld", (long long)n);
    const tc_dtype t = tc_sh_dtype(c, tc_op_param(c->op, "dtype"), TC_I64);
    if (t == TC_BOOL || (tc_is_integral(t) && !tc_dtypes[t].is_signed && t != TC_U8))
        return tc_sh_fail_as(c, "NotImplementedError", "\"randperm\" not implemented for '%s'", tc_dtypes[t].torch);
    if (tc_sym_const_int(d.size[0], &n) && (!tc_scalar_fits(tc_scalar_int(n), t) || (t == TC_F16 && n > 2049)))
        return tc_sh_fail(c, "n is too large for result tensor type: '%s'", tc_dtypes[t].torch);
    return tc_sh_out(c, 0, t, &d);
}
static tc_status shape_multinomial(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    if (!tc_is_float(m->dtype)) return tc_sh_fail(c, "multinomial only supports floating-point dtypes for input, got: %s", tc_dtypes[m->dtype].torch);
    if (m->rank < 1 || m->rank > 2) return tc_sh_fail(c, "prob_dist must be 1 or 2 dim");
    tc_dims d = tc_dims_of(m);
    int64_t n, k;
    d.size[m->rank - 1] = tc_sh_int(c, 1);
    if (tc_sym_const_int(d.size[m->rank - 1], &n)) {
        if (n <= 0) return tc_sh_fail(c, "cannot sample n_sample <= 0 samples");
        if (c->nargs > 2 && !tc_sh_bool(c, 2) && tc_sym_const_int(m->size[m->rank - 1], &k) && n > k)
            return tc_sh_fail(c, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    }
    return tc_sh_out(c, 0, TC_I64, &d);
}
static tc_status check_dropout(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_arg *p = &c->args[1];
    const tc_meta *x = tc_sh_meta(c, 0);
    bool train = c->args[2].kind == TC_A_NONE || tc_sh_bool(c, 2);
    if (p->kind != TC_A_SCALAR || p->is_sym)
        return tc_error(TC_UNSUPPORTED, "%s: the probability has to be known before it runs, here it is a value of the program", tc_op_name(c->op));
    double v = tc_scalar_to_double(p->scalar);
    if (!(v >= 0 && v <= 1)) return tc_sh_fail(c, "dropout probability has to be between 0 and 1, but got %g", v);
    if (tc_is_integral(x->dtype) && train && v != 0 && v != 1)
        return tc_sh_fail(c, "result type Float can't be cast to the desired output type %s", tc_dtypes[x->dtype].torch);
    if (!strncmp(tc_op_schema(c->op)->name, "feature", 7) && train && v > 0 && v < 1 && x->rank < 2)
        return tc_sh_fail(c, "Feature dropout requires at least 2 dimensions in the input");
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), tc_sh_meta(c, 0)->dtype);
}
static tc_status shape_native_dropout(tc_shape_ctx *c) {
    TC_TRY(check_dropout(c));
    return tc_sh_out_like(c, 1, tc_sh_meta(c, 0), TC_BOOL);
}

/* ---- compositions ---- */
/* PyTorch fills in memory order, which follows the strides of x, when it fills in place or after empty_like(x): draws are made in that order and
 * then permuted to their places. */
typedef struct {
    int rank;
    int64_t to[TC_MAX_RANK]; /* dimension d of the result is dimension to[d] of the filled tensor */
    int64_t of[TC_MAX_RANK]; /* the other way */
    bool plain;
} layout;

/* < 0: dimension a is inside b; > 0: outside; 0: unknown (ATen's infer_dense_strides) */
static bool less(tc_symctx *s, tc_sym a, tc_sym b) { return tc_sym_known(s, tc_sym_op(s, TC_S_LT, a, b, NULL)) == 1; }
static int inside(tc_symctx *s, const tc_meta *m, int a, int b) {
    tc_sym sa = m->stride[a], sb = m->stride[b];
    if (tc_sym_is_int(sa, 0) || tc_sym_is_int(sb, 0)) return 0;
    if (less(s, sa, sb)) return -1;
    return less(s, sb, sa) || (sa == sb && less(s, m->size[b], m->size[a])) ? 1 : 0;
}
static tc_value *room_like(tc_emit *e, tc_value *like, tc_dtype dtype, layout *out) {
    const tc_meta *m = &like->meta;
    int r = m->rank, perm[TC_MAX_RANK]; /* perm[0] is innermost */
    tc_sym size[TC_MAX_RANK];
    for (int i = 0; i < r; i++) perm[i] = r - 1 - i;
    for (int i = 1; m->stride && i < r; i++)
        for (int at = i, k = i - 1; k >= 0; k--) {
            int c = inside(tc_e_sym(e), m, perm[k], perm[at]), was = perm[k];
            if (c < 0) break;
            if (c > 0) perm[k] = perm[at], perm[at] = was, at = k;
        }
    *out = (layout){.rank = r, .plain = true};
    for (int i = 0; i < r; i++) {
        size[i] = m->size[perm[r - 1 - i]];
        out->to[perm[r - 1 - i]] = i;
        out->of[i] = perm[r - 1 - i];
        out->plain &= perm[r - 1 - i] == i;
    }
    return tc_emit_call(e, "aten::empty.memory_format", "Sd", size, r, (int)dtype);
}
static tc_value *in_place(tc_emit *e, tc_value *filled, const layout *l) {
    return l->plain ? filled : tc_emit_call(e, "aten::permute", "vI", filled, l->to, l->rank);
}
/* Fills a tensor that is not contiguous: PyTorch then draws normal numbers in pairs for any size. */
static tc_status fill_strided(tc_emit *e, const tc_node *n) {
    tc_value *self = tc_arg_value(n, 0), *p = n->nargs > 1 ? tc_arg_value(n, 1) : NULL;
    bool normal = !strcmp(tc_op_schema(n->op)->name, "normal_functional");
    tc_arg a[8];
    layout lay;
    memcpy(a, n->args, sizeof *a * (size_t)n->nargs);
    a[0].value = room_like(e, self, self->meta.dtype, &lay);
    if (p && p->kind == TC_V_TENSOR) { /* bernoulli_(p): p has self's sizes and is permuted like self */
        a[1].value = tc_emit_call(e, "aten::expand", "vS", p, self->meta.size, self->meta.rank);
        if (!lay.plain) a[1].value = tc_emit_call(e, "aten::permute", "vI", a[1].value, lay.of, lay.rank);
    }
    tc_node *made = tc_e_args(e, normal ? "tc::normal_serial" : tc_op_name(n->op), a, normal ? 3 : n->nargs);
    tc_emit_result(e, 0, in_place(e, made ? made->outs[0] : NULL, &lay));
    return tc_e_done(e);
}

static bool not_strided(const tc_node *n) {
    tc_shape_ctx c = {.program = n->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs, .source = n->source};
    if (tc_sh_is_contiguous(&c, tc_arg_meta(n, 0)) == 0) return false;
    const tc_meta *x = tc_arg_meta(n, 0), *p = n->nargs > 1 && tc_arg_value(n, 1) ? tc_arg_meta(n, 1) : x;
    bool same = p->rank == x->rank; /* probabilities that broadcast are expanded first */
    for (int k = 0; same && k < p->rank; k++) same = tc_sh_same(&c, p->size[k], x->size[k]);
    return same;
}
static const struct tc_otherwise fill_otherwise = {not_strided, fill_strided};

/* The tensor that result 0 is drawn into, in memory order: like `self` for _like operators that keep its layout. */
static tc_value *empty_of(tc_emit *e, const tc_node *n, layout *lay) {
    int self = tc_op_param(n->op, "self"), format = tc_op_param(n->op, "memory_format");
    bool keeps = self == 0 && (format < 0 || n->args[format].kind == TC_A_NONE ||
                               (n->args[format].kind == TC_A_MEMFORMAT && n->args[format].code == 4 /* preserve_format */));
    if (keeps) return room_like(e, tc_arg_value(n, 0), n->outs[0]->meta.dtype, lay);
    *lay = (layout){.plain = true};
    const tc_meta *m = &n->outs[0]->meta;
    tc_arg a[8] = {{.kind = TC_A_INTS, .n = m->rank, .syms = m->size}, {.kind = TC_A_DTYPE, .dtype = m->dtype}};
    tc_node *made = tc_e_args(e, "aten::empty.memory_format", a, 2);
    return made ? made->outs[0] : NULL;
}
static tc_status shape_sized(tc_shape_ctx *c) {
    tc_dims d;
    d.rank = tc_sh_ints(c, tc_op_param(c->op, "size"), d.size, TC_MAX_RANK);
    for (int i = 0; i < d.rank; i++) {
        int64_t n;
        if (tc_sym_const_int(d.size[i], &n) && n < 0) return tc_sh_fail(c, "Trying to create tensor with negative dimension %lld", (long long)n);
    }
    const bool ints = !strcmp(tc_op_schema(c->op)->name, "randint");
    const tc_dtype t = tc_sh_dtype(c, tc_op_param(c->op, "dtype"), ints ? TC_I64 : TC_F32);
    if (ints) TC_TRY(check_bounds(c, t, tc_op_param(c->op, "low"), tc_op_param(c->op, "high")));
    return tc_sh_out(c, 0, t, &d);
}
static tc_status shape_like(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    int f = tc_op_param(c->op, "memory_format");
    const int high = tc_op_param(c->op, "high");
    if (high >= 0) TC_TRY(check_bounds(c, tc_sh_dtype(c, tc_op_param(c->op, "dtype"), tc_sh_meta(c, 0)->dtype), tc_op_param(c->op, "low"), high));
    return tc_sh_out_by_format(c, f >= 0 && c->args[f].kind == TC_A_MEMFORMAT ? c->args[f].code : 4,
                               tc_sh_dtype(c, tc_op_param(c->op, "dtype"), tc_sh_meta(c, 0)->dtype));
}
static tc_status decompose_rand(tc_emit *e, const tc_node *n) {
    layout lay;
    tc_emit_result(e, 0, in_place(e, tc_emit_call(e, "aten::uniform", "v", empty_of(e, n, &lay)), &lay));
    return tc_e_done(e);
}
static tc_status decompose_randn(tc_emit *e, const tc_node *n) {
    layout lay;
    tc_value *room = empty_of(e, n, &lay); /* PyTorch's vectorised path takes contiguous tensors only */
    tc_emit_result(e, 0, in_place(e, tc_emit_call(e, lay.plain ? "aten::normal_functional" : "tc::normal_serial", "v", room), &lay));
    return tc_e_done(e);
}
static tc_status decompose_randint(tc_emit *e, const tc_node *n) {
    int low = tc_op_param(n->op, "low"), high = tc_op_param(n->op, "high");
    tc_arg from = low >= 0 ? n->args[low] : (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(tc_e_sym(e), 0)};
    layout lay;
    tc_emit_result(e, 0, in_place(e, tc_emit_call(e, "aten::random.from", "vaa", empty_of(e, n, &lay), &from, &n->args[high]), &lay));
    return tc_e_done(e);
}

static tc_status decompose_randperm(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::randperm", "aaaaa", &n->args[0], &n->args[2], &n->args[3], &n->args[4], &n->args[5]));
    return tc_e_done(e);
}

/* normal(mean, std) of tensors: draw(0, 1) * std + mean, in this order. */
static tc_status shape_normal_tensors(tc_shape_ctx *c) {
    tc_dims d;
    if (tc_sh_meta(c, 1) && tc_is_complex(tc_sh_meta(c, 1)->dtype)) return tc_sh_fail(c, "normal expects standard deviation to be non-complex");
    TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &d));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0) ? tc_sh_meta(c, 0)->dtype : tc_sh_meta(c, 1)->dtype, &d);
}
static tc_status decompose_normal(tc_emit *e, const tc_node *n) {
    layout lay;
    tc_value *x, *mean = tc_arg_value(n, 0), *std = tc_arg_value(n, 1);
    if (std) {
        x = tc_emit_call(e, "aten::mul.Tensor", "vv", tc_emit_call(e, "aten::normal_functional", "v", empty_of(e, n, &lay)), std);
        x = tc_e_cast(e, x, n->outs[0]->meta.dtype); /* PyTorch multiplies and adds in place */
        x = mean ? tc_e_add(e, x, mean) : tc_emit_call(e, "aten::add.Tensor", "va", x, tc_e_arg(n, 0));
    } else {
        x = tc_e_add(e, tc_emit_call(e, "aten::normal_functional", "vfa", empty_of(e, n, &lay), 0.0, tc_e_arg(n, 1)), mean);
    }
    tc_emit_result(e, 0, tc_e_cast(e, x, n->outs[0]->meta.dtype));
    return tc_e_done(e);
}
static tc_status decompose_normal_floats(tc_emit *e, const tc_node *n) {
    layout lay;
    tc_emit_result(e, 0, tc_emit_call(e, "aten::normal_functional", "vaa", empty_of(e, n, &lay), tc_e_arg(n, 0), tc_e_arg(n, 1)));
    return tc_e_done(e);
}

/* Without replacement: the largest p / exponential noise is a draw in proportion to p. */
static tc_status decompose_multinomial(tc_emit *e, const tc_node *n) {
    tc_value *p = tc_arg_value(n, 0);
    bool one = tc_sym_is_int(tc_arg_sym(n, 1), 1);
    if (tc_arg_bool(n, 2) && !one) {
        tc_node *made = tc_e_args(e, "tc::multinomial_with_replacement", n->args, 2);
        tc_emit_result(e, 0, made ? made->outs[0] : NULL);
        return tc_e_done(e);
    }
    tc_e_require(
        e, tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::ge.Scalar", "vf", p, 0.0), tc_emit_call(e, "aten::lt.Scalar", "vf", p, INFINITY)),
        "probability tensor contains either `inf`, `nan` or element < 0");
    tc_e_require(e, tc_emit_call(e, "aten::gt.Scalar", "vf", tc_emit_call(e, "aten::sum.dim_IntList", "vI", p, (int64_t[]){-1}, 1), 0.0),
                 "invalid multinomial distribution (sum of probabilities <= 0)");
    tc_value *q = tc_e_div(e, p, tc_emit_call(e, "aten::exponential", "v", tc_emit_call(e, "aten::empty_like", "v", p)));
    if (one) q = tc_emit_call(e, "aten::argmax", "vib", q, (int64_t)-1, 1);
    else q = tc_emit_out(tc_emit_call(e, "aten::topk", "va", q, tc_e_arg(n, 1)), 1);
    tc_emit_result(e, 0, q);
    return tc_e_done(e);
}

/* ---- dropout ---- */
static tc_value *keep_mask(tc_emit *e, tc_value *like, double p, tc_dtype dtype) {
    layout lay;
    return in_place(e, tc_emit_call(e, "aten::bernoulli.p", "vf", room_like(e, like, dtype, &lay), 1 - p), &lay);
}

static tc_status decompose_dropout(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    double p = tc_arg_float(n, 1);
    if (!tc_arg_bool(n, 2) || p == 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "v", x));
    } else if (p == 1) {
        tc_emit_result(e, 0, tc_e_mul(e, x, tc_e_zeros_like(e, x)));
    } else {
        tc_value *noise = tc_emit_call(e, "aten::div.Scalar", "vf", keep_mask(e, x, p, x->meta.dtype), 1 - p);
        tc_emit_result(e, 0, tc_e_mul(e, x, noise));
    }
    return tc_e_done(e);
}

/* A mask with one number for each channel: [N, C, 1, ...]. */
static tc_value *channels_like(tc_emit *e, tc_value *x) {
    tc_sym size[TC_MAX_RANK];
    for (int i = 0; i < x->meta.rank; i++) size[i] = i < 2 ? x->meta.size[i] : tc_sym_int(tc_e_sym(e), 1);
    return tc_emit_call(e, "aten::new_empty", "vS", x, size, x->meta.rank);
}

static tc_status decompose_feature_dropout(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    double p = tc_arg_float(n, 1);
    if (!tc_arg_bool(n, 2) || p == 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "v", x));
    } else if (p == 1) {
        tc_emit_result(e, 0, tc_e_mul(e, x, tc_e_zeros_like(e, x)));
    } else {
        tc_value *noise = tc_emit_call(e, "aten::bernoulli.p", "vf", channels_like(e, x), 1 - p);
        tc_emit_result(e, 0, tc_e_mul(e, x, tc_emit_call(e, "aten::div.Scalar", "vf", noise, 1 - p)));
    }
    return tc_e_done(e);
}

/* x a k + (1 - k) ... keeps mean and variance at SELU's fixed point: k is the mask, alpha SELU's. */
static tc_status alpha(tc_emit *e, const tc_node *n, bool by_feature) {
    const double alpha = 1.7580993408473766;
    tc_value *x = tc_arg_value(n, 0);
    double p = tc_arg_float(n, 1);
    if (!tc_arg_bool(n, 2) || p == 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "v", x));
    } else if (p == 1) {
        tc_emit_result(e, 0, tc_e_mul(e, x, tc_e_zeros_like(e, x)));
    } else {
        double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
        tc_value *noise = by_feature ? tc_emit_call(e, "aten::bernoulli.p", "vf", channels_like(e, x), 1 - p) : keep_mask(e, x, p, x->meta.dtype);
        tc_value *b = tc_e_adds(e, tc_e_muls(e, tc_e_adds(e, noise, -1), alpha * a), alpha * a * p);
        tc_emit_result(e, 0, tc_e_add(e, tc_e_mul(e, x, tc_e_muls(e, noise, a)), b));
    }
    return tc_e_done(e);
}
static tc_status decompose_alpha_dropout(tc_emit *e, const tc_node *n) { return alpha(e, n, false); }
static tc_status decompose_feature_alpha_dropout(tc_emit *e, const tc_node *n) { return alpha(e, n, true); }

static tc_status decompose_native_dropout(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    double p = tc_arg_float(n, 1);
    bool train = tc_arg_is_none(n, 2) || tc_arg_bool(n, 2);
    if (!train || x->meta.rank < 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "v", x));
        tc_emit_result(e, 1, tc_emit_call(e, "aten::ones_like", "vd", x, (int)TC_BOOL));
        return tc_e_done(e);
    }
    tc_value *mask = keep_mask(e, x, p, TC_BOOL);
    tc_emit_result(e, 0, tc_e_muls(e, tc_e_mul(e, x, mask), p == 1 ? 0 : 1 / (1 - p)));
    tc_emit_result(e, 1, mask);
    return tc_e_done(e);
}
static tc_status decompose_native_dropout_backward(tc_emit *e, const tc_node *n) { /* grad * mask * scale */
    tc_emit_result(e, 0, tc_emit_call(e, "aten::mul.Tensor", "va", tc_e_mul(e, tc_arg_value(n, 0), tc_arg_value(n, 1)), tc_e_arg(n, 2)));
    return tc_e_done(e);
}

/* Gradients of probabilities, means and deviations: zeros, as in PyTorch. */
static tc_status grad_zero(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    (void)gs;
    for (int i = 0; i < 2; i++)
        if (tc_emit_wants_grad(e, n, i)) tc_emit_grad(e, i, tc_e_zeros_like(e, tc_arg_value(n, i)));
    return tc_e_done(e);
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE OPTIONS ", MemoryFormat? memory_format=None"
#define FILL(SCHEMA, shape_, kernel_, sample, text)                                                                                                 \
    {                                                                                                                                               \
        .schema = "aten::" SCHEMA ", *, Generator? generator=None) -> Tensor", .flags = TC_OP_RANDOM | TC_OP_NONDIFF | TC_OP_LIKE, .shape = shape_, \
        .kernel = &kernel_, .otherwise = &fill_otherwise, .grad = tc_grad_none, .samples = sample, .doc = text                                      \
    }
#define COMPOSED(SCHEMA, shape_, decompose_, sample, text)                                                                                    \
    {                                                                                                                                         \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_RANDOM | TC_OP_NONDIFF | TC_OP_LIKE, .shape = shape_, .decompose = decompose_, \
        .samples = sample, .doc = text                                                                                                        \
    }
#define NORMAL(SCHEMA, sample)                                                                                                       \
    {                                                                                                                                \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_RANDOM, .shape = shape_normal_tensors, .decompose = decompose_normal, \
        .grad = grad_zero, .samples = sample, .doc = "normally distributed about mean"                                               \
    }
#define DROPOUT(name, sample, text)                                                                                              \
    {                                                                                                                            \
        .schema = "aten::" #name "(Tensor input, float p, bool train) -> Tensor", .flags = TC_OP_RANDOM, .shape = check_dropout, \
        .decompose = decompose_##name, .samples = sample, .doc = text                                                            \
    }
const tc_op tc_ops_random[] = {
    FILL("uniform(Tensor self, float from=0., float to=1.", shape_fill_float, tc_k_uniform, "uniform(f32[37], -1, 2)",
         "evenly distributed in [from, to)"),
    FILL("normal_functional(Tensor self, float mean=0., float std=1.", shape_fill_float, tc_k_normal, "normal_functional(f32[37], 1, 2)",
         "normally distributed"),
    {.schema = "tc::normal_serial(Tensor self, float mean=0., float std=1.) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_fill_float,
     .kernel = &tc_k_normal_serial,
     .grad = tc_grad_none,
     .samples = "normal_serial(f32[37], 1, 2)",
     .doc = "normally distributed, drawn in pairs whatever the size"},
    FILL("bernoulli.p(Tensor self, float p", shape_fill, tc_k_bernoulli_p, "bernoulli(f32[37], 0.3)", "1 with probability p, else 0"),
    FILL("exponential(Tensor self, float lambd=1.", shape_fill_float, tc_k_exponential, "exponential(f32[37], 2)", "-log(1 - u) / lambd"),
    FILL("cauchy(Tensor self, float median=0., float sigma=1.", shape_fill_float, tc_k_cauchy, "cauchy(f32[37])", "median + sigma tan(pi (u - 1/2))"),
    FILL("log_normal(Tensor self, float mean=1., float std=2.", shape_fill_float, tc_k_log_normal, "log_normal(f32[37])", "exp of a normal draw"),
    FILL("geometric(Tensor self, float p", shape_fill, tc_k_geometric, "geometric(f32[37], 0.3)", "trials up to the first success"),
    FILL("random.from(Tensor self, int from, int? to", shape_random, tc_k_random, "random(i64[37], 3, 9)", "integers in [from, to)"),
    FILL("random.to(Tensor self, int to", shape_random, tc_k_random, "random(i64[37], 9)", "integers in [0, to)"),
    {.schema = "aten::random(Tensor self, *, Generator? generator=None) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_random,
     .kernel = &tc_k_random,
     .otherwise = &fill_otherwise,
     .grad = tc_grad_none,
     .samples = "random(i64[37])",
     .doc = "integers over the range of the type"},
    {.schema = "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
     .flags = TC_OP_RANDOM,
     .shape = shape_fill_float,
     .kernel = &tc_k_bernoulli_t,
     .grad = grad_zero,
     .samples = "bernoulli(f32[37]:0..1)",
     .doc = "1 with probability self, else 0"},
    {.schema = "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_fill,
     .kernel = &tc_k_bernoulli_t,
     .otherwise = &fill_otherwise,
     .grad = tc_grad_none,
     .samples = "bernoulli(f32[37], f32[37]:0..1)",
     .doc = "1 with probability p, else 0"},
    {.schema = "aten::randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_randperm,
     .kernel = &tc_k_randperm,
     .grad = tc_grad_none,
     .samples = "randperm(37)",
     .doc = "a permutation of 0 .. n - 1"},
    COMPOSED("randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? "
             "pin_memory=None)",
             shape_randperm, decompose_randperm, "randperm(37, generator=None)", "a permutation of 0 .. n - 1"),
    {.schema = "tc::multinomial_with_replacement(Tensor self, SymInt num_samples) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_multinomial,
     .kernel = &tc_k_multinomial,
     .grad = tc_grad_none,
     .samples = "multinomial_with_replacement(f32[3,7]:0..1, 5)",
     .doc = "places drawn in proportion to the rows, with replacement"},
    {.schema = "tc::rrelu_noise(Tensor self, float lower, float upper) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_rrelu_noise,
     .kernel = &tc_k_rrelu_noise,
     .grad = tc_grad_none,
     .samples = "rrelu_noise(f32[37], 0.1, 0.3)",
     .doc = "1 where self is positive, a slope from [lower, upper) elsewhere"},
    {.schema = "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
     .flags = TC_OP_RANDOM | TC_OP_NONDIFF,
     .shape = shape_multinomial,
     .decompose = decompose_multinomial,
     .samples = "multinomial(f32[3,7]:0..1, 4)",
     .doc = "places drawn in proportion to the rows"},
    COMPOSED("rand(SymInt[] size, *, " OPTIONS ")", shape_sized, decompose_rand, "rand([3,5])", "evenly distributed in [0, 1)"),
    COMPOSED("rand.generator(SymInt[] size, *, Generator? generator, " OPTIONS ")", shape_sized, decompose_rand, "rand([3,5], generator=None)",
             "evenly distributed in [0, 1)"),
    COMPOSED("rand_like(Tensor self, *, " LIKE ")", shape_like, decompose_rand, "rand_like(f32[3,5])", "evenly distributed in [0, 1)"),
    COMPOSED("rand_like.generator(Tensor self, *, Generator? generator, " LIKE ")", shape_like, decompose_rand, "rand_like(f32[3,5], generator=None)",
             "evenly distributed in [0, 1)"),
    COMPOSED("randn(SymInt[] size, *, " OPTIONS ")", shape_sized, decompose_randn, "randn([3,5])", "normally distributed"),
    COMPOSED("randn.generator(SymInt[] size, *, Generator? generator, " OPTIONS ")", shape_sized, decompose_randn, "randn([3,5], generator=None)",
             "normally distributed"),
    COMPOSED("randn_like(Tensor self, *, " LIKE ")", shape_like, decompose_randn, "randn_like(f32[3,5])", "normally distributed"),
    COMPOSED("randn_like.generator(Tensor self, *, Generator? generator, " LIKE ")", shape_like, decompose_randn,
             "randn_like(f32[3,5], generator=None)", "normally distributed"),
    COMPOSED("randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None)",
             shape_sized, decompose_randint, "randint(9, [3,5])", "integers in [0, high)"),
    COMPOSED("randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? "
             "device=None, bool? pin_memory=None)",
             shape_sized, decompose_randint, "randint(9, [3,5], generator=None)", "integers in [0, high)"),
    COMPOSED("randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? "
             "pin_memory=None)",
             shape_sized, decompose_randint, "randint(-3, 9, [3,5])", "integers in [low, high)"),
    COMPOSED("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None)",
             shape_sized, decompose_randint, "randint(-3, 9, [3,5], generator=None)", "integers in [low, high)"),
    COMPOSED("randint_like(Tensor self, SymInt high, *, " LIKE ")", shape_like, decompose_randint, "randint_like(f32[3,5], 9)",
             "integers in [0, high)"),
    COMPOSED("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " LIKE ")", shape_like, decompose_randint,
             "randint_like(f32[3,5], -3, 9)", "integers in [low, high)"),
    COMPOSED("randint_like.generator(Tensor self, SymInt high, *, Generator? generator, " LIKE ")", shape_like, decompose_randint,
             "randint_like(f32[3,5], 9, generator=None)", "integers in [0, high)"),
    COMPOSED("randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, " LIKE ")", shape_like,
             decompose_randint, "randint_like(f32[3,5], -3, 9, generator=None)", "integers in [low, high)"),
    NORMAL("normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None)", "normal(f32[37], 2.0)"),
    NORMAL("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None)", "normal(1.0, f32[37]:0.1..2)"),
    NORMAL("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None)", "normal(f32[37], f32[37]:0.1..2)"),
    COMPOSED("normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, " OPTIONS ")", shape_sized,
             decompose_normal_floats, "normal(1.0, 2.0, [37])", "normally distributed about mean"),
    DROPOUT(dropout, "dropout(f32[4,5], 0.3, True)", "x * bernoulli(1 - p) / (1 - p) in training, x else"),
    DROPOUT(feature_dropout, "feature_dropout(f32[2,3,4], 0.3, True)", "dropout of whole channels"),
    DROPOUT(alpha_dropout, "alpha_dropout(f32[4,5], 0.3, True)", "dropout that keeps mean and variance of SELU networks"),
    DROPOUT(feature_alpha_dropout, "feature_alpha_dropout(f32[2,3,4], 0.3, True)", "alpha dropout of whole channels"),
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .flags = TC_OP_RANDOM,
     .shape = shape_native_dropout,
     .decompose = decompose_native_dropout,
     .samples = "native_dropout(f32[4,5], 0.3, True)",
     .doc = "dropout, and its mask"},
    {.schema = "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_native_dropout_backward,
     .samples = "native_dropout_backward(f32[4,5], bool[4,5], 1.5)",
     .doc = "grad * mask * scale"},
    {0}};
