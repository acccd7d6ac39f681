/* Rules to core operators: products, losses, normalisation, attention, recurrent layers (core_rule.h; formulas as in PyTorch's
 * decompositions). */
#include "kernel/rnn.h"
#include "op/core_rule.h"

static tc_status core_baddbmm(tc_emit *e, const tc_node *n) { /* self, batch1, batch2, beta, alpha */
    tc_value *x = tc_arg_value(n, 0), *p = F2("bmm", tc_arg_value(n, 1), tc_arg_value(n, 2));
    if (!tc_scalar_is(tc_arg_scalar(n, 4), 1)) p = ATEN("mul.Scalar", "va", p, &n->args[4]);
    if (tc_scalar_is(tc_arg_scalar(n, 3), 0)) return give(e, n, 0, p);
    if (!tc_scalar_is(tc_arg_scalar(n, 3), 1)) x = ATEN("mul.Scalar", "va", x, &n->args[3]);
    return give(e, n, 0, tc_e_add(e, x, p));
}
/* self [C], [N, C] or [N, C, H, W], target, weight, reduction, ignore_index: loss and total weight */
static tc_status core_nll(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    int64_t reduction = tc_arg_int(n, 3), ignore = tc_arg_int(n, 4), class = x->meta.rank > 1;
    tc_value *valid = ATEN("ne.Scalar", "vi", t, ignore), *safe = WHERE(valid, t, like(e, 0, t));
    tc_value *at = ATEN("unsqueeze", "vi", safe, class), *zero = like(e, 0, x);
    tc_value *loss = tc_e_neg(e, ATEN("squeeze.dim", "vi", ATEN("gather", "viv", x, class, at), class)), *weights = NULL, *total;
    if (w)
        weights = ATEN("reshape", "vS", ATEN("index_select", "viv", w, (int64_t)0, ATEN("reshape", "vI", safe, (int64_t[]){-1}, 1)), t->meta.size,
                       t->meta.rank);
    if (w) loss = tc_e_mul(e, loss, weights);
    loss = WHERE(valid, loss, zero);
    total = ATEN("sum.dim_IntList", "vI", w ? WHERE(valid, weights, zero) : tc_e_cast(e, valid, x->meta.dtype), NULL, 0);
    bool single = n->outs[0]->meta.rank == loss->meta.rank && reduction == 0;
    if (!single) loss = ATEN("sum.dim_IntList", "vI", loss, NULL, 0);
    if (reduction == 1) loss = tc_e_div(e, loss, total);
    TC_TRY(give(e, n, 0, loss));
    return give(e, n, 1, reduction == 0 ? like(e, 0, x) : total);
}
static tc_value *column(tc_emit *e, const tc_value *x, tc_value *v) { /* a vector of channels against [N, C, ...] */
    tc_sym size[TC_MAX_RANK];
    for (int d = 0; d < x->meta.rank; d++) size[d] = d == 1 ? x->meta.size[1] : tc_sym_int(tc_e_sym(e), 1);
    return ATEN("reshape", "vS", v, size, x->meta.rank);
}
static tc_status core_batch_norm(tc_emit *e, const tc_node *n) { /* input, weight, bias, running_mean, running_var, training, momentum, eps */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *b = tc_arg_value(n, 2), *rm = tc_arg_value(n, 3), *rv = tc_arg_value(n, 4);
    double m = tc_arg_float(n, 6);
    int64_t dims[TC_MAX_RANK];
    int count = 0;
    tc_value *f = up(e, x);
    for (int d = 0; d < x->meta.rank; d++)
        if (d != 1) dims[count++] = d;
    bool training = tc_arg_bool(n, 5);
    tc_arg none = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(0)}, one = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(1)};
    tc_value *mean = training ? ATEN("mean.dim", "vI", f, dims, count) : up(e, rm);
    tc_value *var = training ? ATEN("var.correction", "vIa", f, dims, count, &none) : up(e, rv);
    tc_value *inverse = F1("rsqrt", tc_e_adds(e, var, tc_arg_float(n, 7)));
    tc_value *y = tc_e_mul(e, tc_e_sub(e, f, column(e, x, mean)), column(e, x, inverse));
    if (w) y = tc_e_mul(e, y, column(e, x, up(e, w)));
    if (b) y = tc_e_add(e, y, column(e, x, up(e, b)));
    TC_TRY(give(e, n, 0, y));
    int64_t none_at = 0;
    for (int i = 1; i <= 2; i++) {
        bool empty = n->outs[i]->meta.rank == 1 && tc_sym_is_int(n->outs[i]->meta.size[0], 0) && !tc_sym_is_int(x->meta.size[1], 0);
        TC_TRY(give(e, n, i, empty ? ATEN("full", "Ifd", &none_at, 1, 0.0, (int)TC_F32) : i == 1 ? mean : inverse));
    }
    tc_value *unbiased = training ? ATEN("var.correction", "vIa", f, dims, count, &one) : NULL;
    tc_value *nm = training ? tc_e_add(e, tc_e_muls(e, mean, m), tc_e_muls(e, rm, 1 - m)) : rm;
    tc_value *nv = training ? tc_e_add(e, tc_e_muls(e, unbiased, m), tc_e_muls(e, rv, 1 - m)) : rv;
    TC_TRY(give(e, n, 3, nm));
    return give(e, n, 4, nv);
}
static tc_status core_attention(tc_emit *e, const tc_node *n) { /* query, key, value, dropout_p, is_causal, attn_mask, scale: output, logsumexp */
    tc_value *q = up(e, tc_arg_value(n, 0)), *k = up(e, tc_arg_value(n, 1)), *v = up(e, tc_arg_value(n, 2)), *mask = tc_arg_value(n, 5);
    int r = q->meta.rank;
    int64_t width, last = -1;
    if (!tc_sym_const_int(q->meta.size[r - 1], &width) && tc_arg_is_none(n, 6))
        return tc_error(TC_UNSUPPORTED, "attention of a symbolic width has no core form");
    double scale = tc_arg_is_none(n, 6) ? 1 / sqrt((double)width) : tc_arg_float(n, 6);
    int64_t heads, groups; /* grouped query attention: each head of keys and values serves several heads of the query */
    if (r == 4 && tc_sym_const_int(q->meta.size[1], &heads) && tc_sym_const_int(k->meta.size[1], &groups) && groups > 0 && groups < heads) {
        k = ATEN("repeat_interleave.self_int", "vii", k, heads / groups, (int64_t)1);
        v = ATEN("repeat_interleave.self_int", "vii", v, heads / groups, (int64_t)1);
    }
    tc_value *s = tc_e_muls(e, F2("matmul", q, ATEN("transpose.int", "vii", k, (int64_t)-2, (int64_t)-1)), scale);
    if (tc_arg_bool(n, 4)) {
        tc_value *rise = tc_e_sub(e, positions(e, k->meta.size[r - 2], false), positions(e, q->meta.size[r - 2], true));
        s = WHERE(CMP("le", rise, 0), s, like(e, -INFINITY, s));
    }
    if (mask && mask->meta.dtype == TC_BOOL) s = WHERE(mask, s, like(e, -INFINITY, s));
    else if (mask) s = tc_e_add(e, s, tc_e_cast(e, mask, s->meta.dtype));
    tc_value *top = ATEN("amax", "vIb", s, &last, 1, 1);
    top = WHERE(CMP("eq", top, -INFINITY), like(e, 0, top), top);
    tc_value *p = F1("exp", tc_e_sub(e, s, top)), *sum = ATEN("sum.dim_IntList", "vIb", p, &last, 1, 1);
    tc_value *some = WHERE(CMP("eq", sum, 0), like(e, 1, sum), sum); /* a row without any allowed key gives zeros */
    TC_TRY(give(e, n, 0, F2("matmul", tc_e_div(e, p, some), v)));
    return give(e, n, 1, ATEN("squeeze.dim", "vi", tc_e_add(e, F1("log", sum), top), last));
}
static tc_value *part(tc_emit *e, tc_value *g, int64_t i, int64_t hidden) {
    return ATEN("slice.Tensor", "viii", g, (int64_t)1, i * hidden, (i + 1) * hidden);
}
/* mkldnn_rnn_layer unrolled: input [T, B, I], w_ih, w_hh, b_ih, b_hh, hx, cx, reverse, ..., mode, hidden. An LSTM of a 16-bit type computes in
 * float32 except for h between steps. */
static tc_status core_rnn(tc_emit *e, const tc_node *n) {
    const int64_t mode = tc_arg_int(n, 9), hidden = tc_arg_int(n, 10);
    const tc_dtype d = n->outs[0]->meta.dtype, work = (mode == TC_RNN_LSTM ? n->outs[3] : tc_arg_value(n, 0))->meta.dtype;
    const tc_dtype held = mode == TC_RNN_LSTM ? work : d; /* type of h within a step */
    tc_value *v[7], *old_c = tc_arg_value(n, 6);
    for (int i = 0; i < 7; i++) v[i] = tc_e_cast(e, tc_arg_value(n, i), i < 5 ? work : held);
    tc_value *x = v[0], *h = v[5], *c = v[6];
    int64_t steps;
    const tc_meta *last = &n->outs[1]->meta, *cell = &n->outs[2]->meta, *space = &n->outs[3]->meta;
    if (!tc_sym_const_int(x->meta.size[0], &steps) || steps < 1)
        return tc_error(TC_UNSUPPORTED, "a recurrent layer over a symbolic length has no core form");
    tc_sym flat[2] = {x->meta.size[1], tc_sym_int(tc_e_sym(e), hidden)};
    tc_value **hs = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)steps);
    tc_value *all = ATEN("linear", "vvv", x, v[1], v[3]);
    h = ATEN("reshape", "vS", h, flat, 2), c = mode == TC_RNN_LSTM ? ATEN("reshape", "vS", c, flat, 2) : NULL;
    for (int64_t k = 0; k < steps; k++) {
        int64_t t = tc_arg_bool(n, 7) ? steps - 1 - k : k;
        tc_value *a = ATEN("select.int", "vii", all, (int64_t)0, t), *b = ATEN("linear", "vvv", tc_e_cast(e, h, work), v[2], v[4]),
                 *g = tc_e_add(e, a, b);
        if (mode == TC_RNN_LSTM) {
            tc_value *i = F1("sigmoid", part(e, g, 0, hidden)), *f = F1("sigmoid", part(e, g, 1, hidden));
            tc_value *u = F1("tanh", part(e, g, 2, hidden)), *o = F1("sigmoid", part(e, g, 3, hidden));
            c = tc_e_add(e, tc_e_mul(e, f, c), tc_e_mul(e, i, u));
            h = tc_e_mul(e, o, F1("tanh", c));
        } else if (mode == TC_RNN_GRU) {
            tc_value *r = F1("sigmoid", part(e, g, 0, hidden)), *z = F1("sigmoid", part(e, g, 1, hidden));
            tc_value *m = F1("tanh", tc_e_add(e, part(e, a, 2, hidden), tc_e_mul(e, r, part(e, b, 2, hidden))));
            h = tc_e_add(e, m, tc_e_mul(e, z, tc_e_sub(e, h, m)));
        } else {
            h = mode == TC_RNN_TANH ? F1("tanh", g) : F1("relu", g);
        }
        hs[t] = tc_e_cast(e, h, d), h = tc_e_cast(e, hs[t], held);
    }
    tc_emit_result(e, 0, ATEN("stack", "Vi", hs, (int)steps, (int64_t)0));
    tc_emit_result(e, 1, ATEN("reshape", "vS", tc_e_cast(e, h, d), last->size, last->rank));
    tc_emit_result(e, 2, c ? ATEN("reshape", "vS", tc_e_cast(e, c, d), cell->size, cell->rank) : F1("clone", old_c));
    tc_emit_result(e, 3, ATEN("full", "Sid", space->size, space->rank, (int64_t)0, (int)space->dtype)); /* for the backward only */
    return tc_e_done(e);
}
static tc_status core_dropout(tc_emit *e, const tc_node *n) { /* input, p, train */
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, tc_arg_bool(n, 2) ? ATEN("native_dropout", "vab", x, &n->args[1], 1) : F1("alias", x));
    return tc_e_done(e);
}
/* rrelu with a place for the slopes that it draws */
static tc_status core_rrelu(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    tc_value *slopes = ATEN("empty.memory_format", "Sd", m->size, m->rank, (int)m->dtype);
    tc_emit_result(e, 0, ATEN("rrelu_with_noise_functional", "vvaaa", tc_arg_value(n, 0), slopes, &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status core_bernoulli(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    return give(e, n, 0, F2("lt.Tensor", ATEN("rand", "Sd", m->size, m->rank, (int)m->dtype), tc_arg_value(n, 0)));
}

const tc_core_row tc_core_networks[] = {
    {"baddbmm", core_baddbmm},
    {"nll_loss_forward", core_nll},
    {"nll_loss2d_forward", core_nll},
    {"_native_batch_norm_legit_functional", core_batch_norm},
    {"_scaled_dot_product_flash_attention_for_cpu", core_attention},
    {"mkldnn_rnn_layer", core_rnn},
    {"dropout", core_dropout},
    {"rrelu", core_rrelu},
    {"bernoulli", core_bernoulli},
    {NULL},
};
