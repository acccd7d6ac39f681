/* Batch, group and instance norm: one mean and variance for each channel over the batch, for each group of channels of a sample, for each channel of a
 * sample. The formulas are in norm.c. Group and instance norm are compositions. */
#include "op/norm.h"

/* ---- batch norm ---- */
static tc_status check_channels(tc_shape_ctx *c, int from, int to, bool composite) {
    static const char *const wrong[] = {"weight should contain # elements not #", "bias should contain # elements not #",
                                        "running_mean should contain # elements not #", "running_var should contain # elements not #"};
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_meta *x = tc_sh_meta(c, 0);
    if (composite && tc_sh_is_empty(x)) return NULL; /* PyTorch copies an empty input before any check */
    if (x->rank < 2)
        return tc_sh_fail_as(c, "IndexError", "Dimension out of range (expected to be in range of [%d, %d], but got 1)", -x->rank, x->rank - 1);
    for (int a = from; a <= to; a++) {
        const tc_meta *m = tc_sh_meta(c, a);
        if (!m) continue;
        if (m->rank != 1 || !tc_sh_same(c, m->size[0], x->size[1]))
            return tc_sh_fail_sizes(c, wrong[a - 1], (tc_sym[]){x->size[1], tc_meta_numel(tc_sh_sym(c), m)});
    }
    return NULL;
}
static bool training(const tc_shape_ctx *c) {
    int t = tc_op_param(c->op, "training");
    return t >= 0 && tc_sh_bool(c, t);
}
/* native_batch_norm and its relatives: out, save_mean, save_invstd and, for _functional, the new running statistics */
static tc_status shape_native_batch_norm(tc_shape_ctx *c) {
    int rm = tc_op_param(c->op, "running_mean");
    TC_TRY(check_channels(c, 1, rm > 0 ? 4 : 2, false));
    const int all[4] = {1, 2, rm, rm < 0 ? rm : rm + 1};
    TC_TRY(tc_norm_check_types(c, 4, all));
    const tc_meta *x = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(x), stat = {.rank = 1, .size = {x->size[1]}}, none = {.rank = 1, .size = {tc_sym_int(tc_sh_sym(c), 0)}};
    bool batch = training(c) || rm < 0;
    if (!batch && (!tc_sh_given(c, rm) || !tc_sh_given(c, rm + 1)))
        return tc_sh_fail(c, "Expected running_mean and running_var to be defined when training=False");
    const tc_dtype st = tc_norm_stat_type(c, 4, all);
    TC_TRY(tc_sh_out_format(c, 0, x->dtype, &d, x));
    TC_TRY(tc_sh_out(c, 1, st, batch ? &stat : &none));
    TC_TRY(tc_sh_out(c, 2, st, batch ? &stat : &none));
    for (int i = 3; i < c->nouts; i++) {
        const tc_meta *m = tc_sh_meta(c, rm + i - 3);
        if (m) TC_TRY(tc_sh_out(c, i, m->dtype, &stat));
        else TC_TRY(tc_sh_out_none(c, i));
    }
    return NULL;
}
static tc_status shape_batch_norm(tc_shape_ctx *c) {
    TC_TRY(check_channels(c, 1, 4, true));
    if (!tc_sh_is_empty(tc_sh_meta(c, 0))) TC_TRY(tc_norm_check_types(c, 4, (int[]){1, 2, 3, 4}));
    if (!tc_sh_bool(c, 5) && (!tc_sh_given(c, 3) != !tc_sh_given(c, 4)))
        return tc_sh_fail(c, "Expected running_mean and running_var to be defined together");
    if (!tc_sh_bool(c, 5) && !tc_sh_given(c, 3) && !tc_sh_is_empty(tc_sh_meta(c, 0)))
        return tc_sh_fail(c, "running_mean must be defined in evaluation mode");
    if (tc_sh_is_empty(tc_sh_meta(c, 0))) return tc_shape_decomposed(c); /* weight and bias of another type decide the type of an empty result */
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out_format(c, 0, tc_sh_meta(c, 0)->dtype, &d, tc_sh_meta(c, 0));
}
/* a tensor of one element for each channel, at the axis of dimension 1 */
static tc_lv channel(tc_lower *l, int arg, tc_dtype d) {
    tc_value *v = tc_arg_value(l->node, arg);
    tc_affine i = tc_sym_is_int(v->meta.size[0], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, 1);
    return tc_l_cast(l, tc_l_load(l, v, &i, NULL, TC_LV_NONE), d);
}
static tc_status out_channel(tc_lower *l, int result, tc_lv v) {
    const tc_meta *m = &l->node->outs[result]->meta;
    tc_affine i = tc_sym_is_int(m->size[0], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, 1);
    return tc_l_out_at(l, result, &i, v, TC_LV_NONE);
}
/* In what PyTorch keeps sums and running statistics of dtype d: bfloat16 in bfloat16, rounded at every step, all others exactly. */
static tc_dtype kept_in(tc_dtype d) { return d == TC_BF16 ? d : TC_F64; }
/* Of Welford's w: the sum of squares by the number of terms less `fewer`; PyTorch's quotient of two numbers of dtype d. */
static tc_lv variance(tc_lower *l, tc_lv w, double fewer, tc_dtype d) {
    tc_dtype kept = kept_in(d);
    tc_lv terms = tc_l_sub(l, tc_l_part(l, w, 2), tc_l_f(l, TC_F64, fewer));
    return tc_l_round(l, tc_l_div(l, tc_l_round(l, tc_l_part(l, w, 1), kept), tc_l_round(l, terms, kept)), kept);
}
static tc_status lower_batch_norm(tc_lower *l) {
    const tc_node *n = l->node;
    int rm = tc_op_param(n->op, "running_mean"), tr = tc_op_param(n->op, "training"), mo = tc_op_param(n->op, "momentum"),
        ep = tc_op_param(n->op, "eps");
    bool batch = rm < 0 || (tr >= 0 && tc_arg_bool(n, tr));
    double eps = tc_arg_float(n, ep);
    tc_dtype d = tc_l_type(l, 0);
    tc_lv x = tc_l_in(l, 0), mean, invstd, w = TC_LV_NONE;
    if (batch) {
        uint64_t over = (((uint64_t)1 << l->result_axes) - 1) & ~(uint64_t)2;
        w = tc_l_reduce(l, TC_R_WELFORD, x, over);
        mean = tc_l_part(l, w, 0);
        invstd = tc_norm_rstd(l, tc_l_cast(l, variance(l, w, 0, n->outs[2]->meta.dtype), TC_F64), eps);
    } else {
        mean = channel(l, rm, TC_F64);
        invstd = tc_norm_rstd(l, channel(l, rm + 1, TC_F64), eps);
    }
    if (batch) mean = tc_l_round(l, mean, n->outs[1]->meta.dtype), invstd = tc_l_round(l, invstd, n->outs[2]->meta.dtype); /* as they are saved */
    tc_lv m = tc_l_cast(l, mean, d), s = tc_l_cast(l, invstd, d);
    tc_lv alpha = tc_arg_meta(n, 1) ? tc_l_mul(l, s, channel(l, 1, d)) : s;
    tc_lv beta = tc_l_op1(l, TC_X_NEG, tc_l_mul(l, m, alpha));
    if (tc_arg_meta(n, 2)) beta = tc_l_sub(l, channel(l, 2, d), tc_l_mul(l, m, alpha));
    TC_TRY(tc_l_out(l, 0, tc_l_op3(l, TC_X_FMA, x, alpha, beta)));
    if (batch) {
        TC_TRY(out_channel(l, 1, mean));
        TC_TRY(out_channel(l, 2, invstd));
    }
    tc_lv momentum = tc_l_in_as(l, mo, TC_F64); /* momentum=None: a number of the program */
    for (int i = 3; i < n->nouts; i++) {
        if (n->outs[i]->kind != TC_V_TENSOR) continue;
        tc_lv old = channel(l, rm + i - 3, TC_F64);
        if (!batch) {
            TC_TRY(out_channel(l, i, old));
            continue;
        }
        tc_lv before = tc_l_cast(l, old, TC_F64);
        tc_dtype kept = kept_in(n->outs[i]->meta.dtype);
        tc_lv share = tc_l_cast(l, tc_l_round(l, momentum, kept), TC_F64), remains = tc_l_round(l, tc_l_sub(l, tc_l_f(l, TC_F64, 1), share), kept);
        tc_lv now = tc_l_cast(l, i == 3 ? tc_l_round(l, tc_l_part(l, w, 0), kept) : variance(l, w, 1, kept), TC_F64);
        now = tc_l_mul(l, share, now);
        if (i == 3) now = tc_l_cast(l, tc_l_round(l, now, kept), TC_F64);
        old = tc_l_round(l, tc_l_mul(l, remains, tc_l_cast(l, old, tc_dtype_compute(kept))), kept);
        now = tc_l_add(l, now, tc_l_cast(l, old, TC_F64));
        tc_lv some = tc_l_op2(l, TC_X_GT, tc_l_part(l, w, 2), tc_l_f(l, TC_F64, 0)); /* an empty batch changes nothing */
        TC_TRY(out_channel(l, i, tc_l_where(l, some, now, before)));
    }
    return l->status;
}
/* one value for each channel as [1, C, 1, ...] */
static tc_value *per_channel(tc_emit *e, tc_value *v, int rank) {
    int64_t size[TC_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = k == 1 ? -1 : 1;
    return v ? tc_emit_call(e, "aten::view", "vI", v, size, rank) : NULL;
}
static tc_status grad_batch_norm(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    int rm = tc_op_param(n->op, "running_mean"), tr = tc_op_param(n->op, "training");
    bool batch = rm < 0 || (tr >= 0 && tc_arg_bool(n, tr));
    bool mask[3] = {tc_emit_wants_grad(e, n, 0), tc_emit_wants_grad(e, n, 1), tc_emit_wants_grad(e, n, 2)};
    tc_arg m = {.kind = TC_A_BOOLS, .n = 3, .bools = tc_arena_dup(&e->graph->program->arena, mask, sizeof mask)}, none = {0};
    tc_value *x = tc_arg_value(n, 0), *r = NULL, *dx = NULL;
    int rank = x->meta.rank;
    if (batch && mask[0] && (gs[1] || gs[2])) {
        tc_sym count = tc_sym_int(e->graph->program->sym, 1);
        for (int d = 0; d < rank; d++)
            if (d != 1) count = tc_sym_mul(e->graph->program->sym, count, x->meta.size[d]);
        const tc_norm_stats through = {per_channel(e, n->outs[1], rank), per_channel(e, n->outs[2], rank), per_channel(e, gs[1], rank),
                                       per_channel(e, gs[2], rank), count};
        dx = tc_norm_grad_through(e, x, &through);
    }
    if (gs[0])
        r = tc_emit_call(e, "aten::native_batch_norm_backward", "vvaaavvbaa", gs[0], x, &n->args[1], rm >= 0 ? &n->args[rm] : &none,
                         rm >= 0 ? &n->args[rm + 1] : &none, batch ? n->outs[1] : NULL, batch ? n->outs[2] : NULL, (int)batch,
                         &n->args[tc_op_param(n->op, "eps")], &m);
    if (r && dx) dx = tc_e_add(e, tc_emit_out(r, 0), dx);
    for (int k = 0; k < 3; k++)
        if (mask[k] && (r || (k == 0 && dx))) tc_e_give(e, n, k, k == 0 && dx ? dx : tc_emit_out(r, k));
    return tc_e_done(e);
}
static tc_status shape_batch_norm_backward(tc_shape_ctx *c) {
    const bool train = tc_sh_bool(c, 7); /* otherwise with the running statistics */
    for (int i = 5; train && i < 7; i++) TC_TRY(tc_sh_need_tensor(c, i));
    TC_TRY(tc_sh_of_forward(c, NULL, train ? 3 : 1, (int[]){0, 0, 5, 1, 6, 2}));
    return tc_shape_decomposed(c);
}
/* sum / the number of elements of the dimensions of x, rounded as by a mean */
static tc_value *over_elements(tc_emit *e, tc_value *sum, const tc_value *x, const int64_t *dims, int n) {
    tc_arg count = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_sym_int(tc_e_sym(e), 1)};
    for (int k = 0; k < n; k++) count.sym = tc_sym_mul(tc_e_sym(e), count.sym, x->meta.size[dims[k]]);
    return tc_emit_call(e, "aten::div.Tensor", "va", sum, &count);
}
static tc_status decompose_batch_norm_backward(tc_emit *e, const tc_node *n) {
    /* grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask */
    tc_value *g = tc_norm_wide(e, tc_arg_value(n, 0)), *x = tc_norm_wide(e, tc_arg_value(n, 1)), *w = tc_norm_wide(e, tc_arg_value(n, 2));
    bool train = tc_arg_bool(n, 7);
    if (!x) return tc_e_done(e);
    int rank = x->meta.rank, k = 0;
    int64_t dims[TC_MAX_RANK];
    for (int d = 0; d < rank; d++)
        if (d != 1) dims[k++] = d;
    tc_value *mean = tc_norm_wide(e, tc_arg_value(n, train ? 5 : 3)), *spread = tc_norm_wide(e, tc_arg_value(n, train ? 6 : 4));
    tc_value *invstd = train ? spread : tc_e1(e, "aten::rsqrt", tc_e_adds(e, spread, tc_arg_float(n, 8)));
    tc_value *m = per_channel(e, mean, rank), *s = per_channel(e, invstd, rank), *xh = tc_e_mul(e, tc_e_sub(e, x, m), s);
    tc_value *sums[2] = {0}; /* over all but the channels: of g * xh and of g */
    for (int j = 0; j < 2; j++)
        if (tc_norm_wants(n, 9, 1 + j) || (train && tc_norm_wants(n, 9, 0))) sums[j] = tc_e_sum_dims(e, j ? g : tc_e_mul(e, g, xh), dims, k, true);
    if (tc_norm_wants(n, 9, 0)) {
        tc_value *scale = w ? tc_e_mul(e, s, per_channel(e, w, rank)) : s, *dx = g;
        if (train) {
            tc_value *a = over_elements(e, sums[1], x, dims, k), *b = over_elements(e, sums[0], x, dims, k);
            dx = tc_e_sub(e, tc_e_sub(e, g, a), tc_e_mul(e, xh, b));
        }
        tc_norm_result_as(e, n, 0, tc_e_mul(e, dx, scale), 1);
    }
    for (int j = 0; j < 2; j++)
        if (tc_norm_wants(n, 9, 1 + j)) tc_norm_result_as(e, n, 1 + j, tc_emit_call(e, "aten::squeeze.dims", "vI", sums[j], dims, k), 2);
    return tc_e_done(e);
}
/* In training the running statistics are mutated: see tc_op_unmarked_writes. */
static tc_status decompose_batch_norm(tc_emit *e, const tc_node *n) {
    bool train = tc_arg_bool(n, 5), stats = !tc_arg_is_none(n, 3);
    tc_value *r, *x = tc_arg_value(n, 0);
    if (tc_sh_is_empty(&x->meta)) {
        r = tc_emit_call(e, "aten::clone", "v", x);
        for (int i = 1; i < 3; i++) {
            tc_value *w = tc_arg_value(n, i), *first = w ? tc_emit_call(e, "aten::select.int", "vii", w, (int64_t)0, (int64_t)0) : NULL;
            if (w) r = i == 1 ? tc_e_mul(e, r, first) : tc_e_add(e, r, first);
        }
    } else if (train && stats)
        r = tc_emit_call(e, "aten::_native_batch_norm_legit_functional", "aaaaaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4],
                         &n->args[5], &n->args[6], &n->args[7]);
    else if (!stats)
        r = tc_emit_call(e, "aten::_native_batch_norm_legit.no_stats", "aaabaa", &n->args[0], &n->args[1], &n->args[2], 1, &n->args[6], &n->args[7]);
    else
        r = tc_emit_call(e, "aten::_native_batch_norm_legit_no_training", "aaaaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4],
                         &n->args[6], &n->args[7]);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}
static tc_status decompose_batch_norm_with_update(tc_emit *e, const tc_node *n) { /* input, weight, bias, running_mean, running_var, momentum, eps */
    tc_value *y = tc_emit_call(e, "aten::_native_batch_norm_legit_functional", "aaaaabaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3],
                               &n->args[4], 1, &n->args[5], &n->args[6]);
    for (int i = 0; i < 3; i++) tc_emit_result(e, i, tc_emit_out(y, i));
    tc_emit_result(e, 3, tc_emit_call(e, "aten::zeros", "Id", (int64_t[]){0}, 1, (int)TC_U8));
    for (int i = 3; i < 5; i++) tc_emit_result(e, i + 1, tc_emit_out(y, i));
    return tc_e_done(e);
}

/* ---- group norm, instance norm ---- */
static tc_status check_sampled(const tc_node *n, const tc_value *x) {
    if (x->meta.rank >= 2) return NULL;
    return tc_e_refuse(n, "Expected at least 2 dimensions for input tensor but received %d", x->meta.rank);
}
static tc_status check_groups(const tc_node *n, const tc_value *x, int64_t groups) {
    int64_t c;
    if (groups <= 0) return tc_e_refuse(n, "num groups must be greater than 0, got %lld", (long long)groups);
    TC_TRY(check_sampled(n, x));
    if (tc_sym_is_int(x->meta.size[1], 0)) return tc_e_refuse(n, "Expected number of channels to be greater than 0, got 0");
    for (int d = 2; d < x->meta.rank; d++)
        if (tc_sym_is_int(x->meta.size[d], 0)) return tc_e_refuse(n, "Expected HxW to be greater than 0, got 0");
    if (tc_sym_const_int(x->meta.size[1], &c) && c % groups)
        return tc_e_refuse(n,
                           "Expected number of channels in input to be divisible by num_groups, but got input of %lld channels and num_groups=%lld",
                           (long long)c, (long long)groups);
    return NULL;
}
static tc_status check_affine(tc_shape_ctx *c, int weight, tc_sym channels) {
    TC_TRY(tc_sh_need_float(c, 0));
    for (int i = weight; i < weight + 2; i++) {
        const tc_meta *m = tc_sh_meta(c, i);
        if (m && (m->rank != 1 || !tc_sh_same(c, m->size[0], channels)))
            return tc_sh_fail(c, "Expected %s to be a vector of size equal to the number of channels in input", i == weight ? "weight" : "bias");
    }
    return tc_norm_check_types(c, 2, (int[]){weight, weight + 1});
}
static tc_status shape_native_group_norm(tc_shape_ctx *c) {
    TC_TRY(check_affine(c, 1, tc_sh_int(c, 4)));
    tc_symctx *s = tc_sh_sym(c);
    const tc_meta *x = tc_sh_meta(c, 0);
    tc_sym count = tc_sym_mul(s, tc_sym_mul(s, tc_sh_int(c, 3), tc_sh_int(c, 4)), tc_sh_int(c, 5));
    if (!tc_sh_same(c, count, tc_meta_numel(s, x))) return tc_sh_fail(c, "Expected the input to have N * C * HxW elements");
    return tc_shape_decomposed_format(c);
}
static tc_status shape_group_norm(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *x = tc_sh_meta(c, 0);
    if (x->rank > 1) TC_TRY(check_affine(c, 2, x->size[1]));
    return tc_shape_decomposed_format(c);
}
static tc_status decompose_native_group_norm(tc_emit *e, const tc_node *n) { /* input, weight, bias, N, C, HxW, group, eps */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *b = tc_arg_value(n, 2);
    int64_t groups = tc_arg_int(n, 6);
    TC_TRY(check_groups(n, x, groups));
    tc_dtype d = x->meta.dtype;
    tc_symctx *s = tc_e_sym(e);
    tc_sym g = tc_sym_int(s, groups), one = tc_sym_int(s, 1), channels = tc_sym_floordiv(s, x->meta.size[1], g);
    tc_sym split[] = {x->meta.size[0], g, channels, tc_sym_product(s, x->meta.size + 2, x->meta.rank - 2)}; /* one loop including the statistics */
    tc_value *f = tc_e_cast(e, tc_emit_call(e, "aten::reshape", "vS", x, split, 4), tc_dtype_compute(d));
    tc_value *var = tc_emit_call(e, "aten::var_mean.correction", "vIfb", f, (int64_t[]){2, 3}, 2, 0.0, 1), *mean = tc_emit_out(var, 1);
    tc_value *rstd = tc_e1(e, "aten::rsqrt", tc_e_adds(e, var, tc_arg_float(n, 7)));
    tc_value *y = tc_e_mul(e, tc_e_sub(e, f, mean), rstd);
    if (w) y = tc_e_mul(e, y, tc_emit_call(e, "aten::reshape", "vS", w, (tc_sym[]){g, channels, one}, 3));
    if (b) y = tc_e_add(e, y, tc_emit_call(e, "aten::reshape", "vS", b, (tc_sym[]){g, channels, one}, 3));
    tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", tc_e_cast(e, y, d), x->meta.size, x->meta.rank));
    const tc_dtype kept = w ? w->meta.dtype : b ? b->meta.dtype : d;
    for (int k = 0; k < 2; k++) {
        tc_value *stat = tc_emit_call(e, "aten::view", "vS", k ? rstd : mean, (tc_sym[]){split[0], g}, 2);
        tc_emit_result(e, k + 1, tc_e_cast(e, stat, kept));
    }
    return tc_e_done(e);
}
static tc_status decompose_group_norm(tc_emit *e, const tc_node *n) { /* input, num_groups, weight, bias, eps */
    tc_value *x = tc_arg_value(n, 0);
    TC_TRY(check_groups(n, x, tc_arg_int(n, 1)));
    tc_symctx *s = tc_e_sym(e);
    tc_value *r = tc_emit_call(e, "aten::native_group_norm", "aaasssaa", &n->args[0], &n->args[2], &n->args[3], x->meta.size[0], x->meta.size[1],
                               tc_sym_product(s, x->meta.size + 2, x->meta.rank - 2), &n->args[1], &n->args[4]);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}
static tc_status shape_group_norm_backward(tc_shape_ctx *c) {
    for (int i = 2; i < 4; i++) TC_TRY(tc_sh_need_tensor(c, i));
    TC_TRY(tc_sh_of_forward(c, NULL, 3, (int[]){0, 0, 2, 1, 3, 2}));
    return tc_shape_decomposed(c);
}
static tc_value *flat(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::reshape", "vI", v, (int64_t[]){-1}, 1); }
/* By the sums over each channel of each sample, of the gradient and of its product with the centred input. */
static tc_status decompose_group_norm_backward(tc_emit *e, const tc_node *n) { /* grad_out, input, mean, rstd, weight, N, C, HxW, group, mask */
    tc_value *g = tc_norm_wide(e, tc_arg_value(n, 0)), *x = tc_norm_wide(e, tc_arg_value(n, 1)), *w = tc_norm_wide(e, tc_arg_value(n, 4));
    if (!x) return tc_e_done(e);
    tc_symctx *s = tc_e_sym(e);
    const tc_sym one = tc_sym_int(s, 1), groups = tc_sym_int(s, tc_arg_int(n, 8)), each = tc_sym_floordiv(s, x->meta.size[1], groups),
                 area = tc_sym_product(s, x->meta.size + 2, x->meta.rank - 2);
    const tc_sym split[] = {x->meta.size[0], groups, each, area}, stat[] = {x->meta.size[0], groups, one, one};
    tc_value *mean = tc_emit_call(e, "aten::reshape", "vS", tc_norm_wide(e, tc_arg_value(n, 2)), stat, 4),
             *rstd = tc_emit_call(e, "aten::reshape", "vS", tc_norm_wide(e, tc_arg_value(n, 3)), stat, 4);
    if (w) w = tc_emit_call(e, "aten::reshape", "vS", w, split + 1, 2), w = tc_emit_call(e, "aten::unsqueeze", "vi", w, (int64_t)-1);
    g = tc_emit_call(e, "aten::reshape", "vS", g, split, 4);
    tc_value *xc = tc_e_sub(e, tc_emit_call(e, "aten::reshape", "vS", x, split, 4), mean);
    const int64_t pixels[] = {3}, channels[] = {2}, samples[] = {0};
    tc_value *of_g = tc_e_sum_dims(e, g, pixels, 1, true), *of_gx = tc_e_mul(e, tc_e_sum_dims(e, tc_e_mul(e, g, xc), pixels, 1, true), rstd);
    if (tc_norm_wants(n, 9, 0)) {
        const tc_sym count = tc_sym_mul(s, each, area);
        tc_value *a = tc_e_sum_dims(e, w ? tc_e_mul(e, of_g, w) : of_g, channels, 1, true),
                 *b = tc_e_sum_dims(e, w ? tc_e_mul(e, of_gx, w) : of_gx, channels, 1, true);
        a = tc_emit_call(e, "aten::div.Tensor", "vs", a, count), b = tc_e_mul(e, tc_emit_call(e, "aten::div.Tensor", "vs", b, count), rstd);
        tc_value *dx = tc_e_mul(e, tc_e_sub(e, tc_e_sub(e, w ? tc_e_mul(e, g, w) : g, a), tc_e_mul(e, xc, b)), rstd);
        tc_norm_result_as(e, n, 0, tc_emit_call(e, "aten::view", "vS", dx, x->meta.size, x->meta.rank), 1);
    }
    if (tc_norm_wants(n, 9, 1)) tc_norm_result_as(e, n, 1, flat(e, tc_e_sum_dims(e, of_gx, samples, 1, false)), 4);
    if (tc_norm_wants(n, 9, 2)) tc_norm_result_as(e, n, 2, flat(e, tc_e_sum_dims(e, of_g, samples, 1, false)), 4);
    return tc_e_done(e);
}
/* The running statistics of an instance norm may have any type: they are computed with, and updated, in this one. */
static tc_dtype stats_type(const tc_node *n) { return (tc_arg_meta(n, 1) ? tc_arg_meta(n, 1) : tc_arg_meta(n, 0))->dtype; }
/* input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn */
static tc_status decompose_instance_norm(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    bool own = tc_arg_bool(n, 5), stats = !tc_arg_is_none(n, 3);
    const tc_meta *mean = tc_arg_meta(n, 3), *var = tc_arg_meta(n, 4);
    if (!mean != !var)
        return tc_error(TC_CONTENT, "ValueError: %s: running_mean and running_var must either both be None or neither be None", tc_op_name(n->op));
    if (mean && mean->dtype != var->dtype)
        return tc_e_refuse(n, "expected scalar type %s but found %s", tc_dtypes[mean->dtype].torch, tc_dtypes[var->dtype].torch);
    if (!own && !stats) return tc_e_refuse(n, "Expected running_mean and running_var to be defined when use_input_stats is false");
    if (!own) {
        const tc_dtype type = stats_type(n);
        tc_emit_result(e, 0,
                       tc_emit_call(e, "aten::_native_batch_norm_legit_no_training", "aaavvaa", &n->args[0], &n->args[1], &n->args[2],
                                    tc_e_cast(e, tc_arg_value(n, 3), type), tc_e_cast(e, tc_arg_value(n, 4), type), &n->args[6], &n->args[7]));
        return tc_e_done(e);
    }
    int64_t channels;
    if (stats) { /* eager calls and functionalise also write the statistics (tc_op_unmarked_writes) */
        tc_emit_result(e, 0,
                       tc_emit_call(e, "tc::instance_norm_functional", "aaaaaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3], &n->args[4],
                                    &n->args[6], &n->args[7]));
        return tc_e_done(e);
    }
    TC_TRY(check_sampled(n, x));
    tc_symctx *s = tc_e_sym(e);
    if (!tc_sym_const_int(x->meta.size[1], &channels) || tc_sh_is_empty(&x->meta)) { /* group_norm takes a literal number of groups, and elements */
        tc_sym planes[TC_MAX_RANK];
        tc_value *per[2];
        for (int d = 0; d < x->meta.rank; d++) planes[d] = x->meta.size[d];
        planes[0] = tc_sym_int(s, 1);
        planes[1] = tc_sym_mul(s, x->meta.size[0], x->meta.size[1]);
        for (int i = 0; i < 2; i++)
            per[i] = tc_arg_is_none(n, i + 1) ? NULL : tc_emit_call(e, "aten::repeat", "aS", &n->args[i + 1], x->meta.size, 1);
        tc_value *y = tc_emit_call(e, "aten::_native_batch_norm_legit.no_stats", "vvvbaa",
                                   tc_emit_call(e, "aten::reshape", "vS", x, planes, x->meta.rank), per[0], per[1], 1, &n->args[6], &n->args[7]);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", y, x->meta.size, x->meta.rank));
        return tc_e_done(e);
    }
    tc_emit_result(e, 0,
                   tc_emit_call(e, "aten::native_group_norm", "aaasssia", &n->args[0], &n->args[1], &n->args[2], x->meta.size[0], x->meta.size[1],
                                tc_sym_product(s, x->meta.size + 2, x->meta.rank - 2), channels, &n->args[7]));
    return tc_e_done(e);
}
/* Instance norm: batch norm of [1, N C, ...] with statistics repeated N times; the new statistics are means over the samples.
 * input, weight, bias, running_mean, running_var, momentum, eps */
static tc_status decompose_instance_norm_functional(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *per[4];
    tc_sym size[TC_MAX_RANK], apart[2];
    const int64_t first = 0;
    TC_TRY(check_sampled(n, x));
    const tc_sym batch = x->meta.size[0];
    for (int d = 0; d < x->meta.rank; d++) size[d] = x->meta.size[d];
    apart[0] = batch, apart[1] = size[1];
    size[0] = tc_sym_int(tc_e_sym(e), 1);
    size[1] = tc_sym_mul(tc_e_sym(e), batch, size[1]);
    for (int i = 0; i < 4; i++) {
        tc_value *v = tc_arg_value(n, i + 1);
        if (i > 1) v = tc_e_cast(e, v, stats_type(n));
        per[i] = v ? tc_emit_call(e, "aten::repeat", "vS", v, &batch, 1) : NULL;
    }
    tc_value *y =
        tc_emit_call(e, "aten::_native_batch_norm_legit_functional", "vvvvvbaa", tc_emit_call(e, "aten::reshape", "vS", x, size, x->meta.rank),
                     per[0], per[1], per[2], per[3], 1, &n->args[5], &n->args[6]);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::view", "vS", y, x->meta.size, x->meta.rank));
    for (int i = 1; i < 3; i++) {
        tc_value *stat = tc_emit_call(e, "aten::view", "vS", tc_emit_out(y, i + 2), apart, 2);
        tc_emit_result(e, i, tc_e_cast(e, tc_emit_call(e, "aten::mean.dim", "vIb", stat, &first, 1, 0), tc_arg_meta(n, i + 2)->dtype));
    }
    return tc_e_done(e);
}

#define BATCH "Tensor input, Tensor? weight, Tensor? bias, "
#define NATIVE(SCHEMA, sample)                                                                                                                    \
    {                                                                                                                                             \
        .schema = "aten::" SCHEMA, .flags = TC_OP_ONE_GRAD, .shape = shape_native_batch_norm, .lower = lower_batch_norm, .grad = grad_batch_norm, \
        .samples = sample, .doc = "batch norm and the statistics it used"                                                                         \
    }
#define CHECKED(SCHEMA, shape_, decompose_, sample, text) \
    { .schema = SCHEMA, .shape = shape_, .decompose = decompose_, .samples = sample, .doc = text }
#define BACKWARD(SCHEMA, name, text) \
    { .schema = "aten::native_" SCHEMA " -> (Tensor, Tensor, Tensor)", .shape = shape_##name, .decompose = decompose_##name, .doc = text }
const tc_op tc_ops_norm_batch[] = {
    NATIVE("native_batch_norm(" BATCH
           "Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
           "native_batch_norm(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, False, 0.1, 1e-5)"),
    NATIVE("_native_batch_norm_legit_functional(" BATCH "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
           "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
           "_native_batch_norm_legit_functional(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, True, 0.1, 1e-5)"),
    {.schema = "aten::_batch_norm_with_update_functional(" BATCH "Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
               "(Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     .flags = TC_OP_ONE_GRAD,
     .shape = tc_shape_decomposed,
     .decompose = decompose_batch_norm_with_update,
     .samples = "_batch_norm_with_update_functional(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, 0.1, 1e-5)",
     .doc = "batch norm by the batch, its statistics, nothing, new running statistics"},
    NATIVE("_native_batch_norm_legit_no_training(" BATCH
           "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
           "_native_batch_norm_legit_no_training(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, 0.1, 1e-5)"),
    NATIVE("_native_batch_norm_legit.no_stats(" BATCH "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
           "_native_batch_norm_legit(f32[3,2,4], f32[2], f32[2], True, 0.1, 1e-5)"),
    CHECKED("tc::instance_norm_functional(" BATCH
            "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor running_mean_out, Tensor running_var_out)",
            tc_shape_decomposed, decompose_instance_norm_functional,
            "instance_norm_functional(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, 0.1, 1e-5)",
            "instance norm that updates running statistics"),
    {.schema = "aten::batch_norm(" BATCH
               "Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     .shape = shape_batch_norm,
     .decompose = decompose_batch_norm,
     .samples = "batch_norm(f32[3,2,4], f32[2], f32[2], f32[2], f32[2]:0.5..2, False, 0.1, 1e-5, False)",
     .doc = "normalised a channel"},
    BACKWARD("batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? "
             "save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask)",
             batch_norm_backward, "gradients of batch norm"),
    CHECKED("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, "
            "Tensor, Tensor)",
            shape_native_group_norm, decompose_native_group_norm, "native_group_norm(f32[2,4,3], f32[4], f32[4], 2, 4, 3, 2, 1e-5)",
            "normalised over a group of channels; mean and 1 / std"),
    CHECKED("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> "
            "Tensor",
            shape_group_norm, decompose_group_norm, "group_norm(f32[2,4,3], 2, f32[4], f32[4])", "normalised over a group of channels"),
    BACKWARD("group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, "
             "int group, bool[3] output_mask)",
             group_norm_backward, "gradients of group norm"),
    CHECKED("aten::instance_norm(" BATCH
            "Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
            tc_shape_decomposed_rows, decompose_instance_norm, "instance_norm(f32[2,4,3], f32[4], f32[4], None, None, True, 0.1, 1e-5, False)",
            "normalised a sample and channel"),
    {0}};
