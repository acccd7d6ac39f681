/* Recurrent networks: lstm, gru, rnn_tanh, rnn_relu over sequences, and their cells.
 *
 * A network is its layers and directions, each one call of mkldnn_rnn_layer (kernel/rnn.h), which is what PyTorch's own export
 * decomposes an LSTM to on a CPU. Directions are concatenated, dropout stands between layers.
 *     LSTM  i f g o = x w_ih' + h w_hh' + b;   c = sigmoid(f) c + sigmoid(i) tanh(g);   h = sigmoid(o) tanh(c)
 *     GRU   r z from both; n = tanh(x_n + sigmoid(r) h_n);   h = n + sigmoid(z) (h - n) */
#include "kernel/rnn.h"
#include "op/shape.h"

#include <string.h>

/* ---- one layer ---- */
enum { X, W_IH, W_HH, B_IH, B_HH, HX, CX, REVERSE, BATCH_SIZES, MODE, HIDDEN, LAYERS, BIASES, BIDIRECTIONAL, BATCH_FIRST, TRAIN };

/* Helpers for gates, cells and gradients. */
static tc_dtype work_type(tc_dtype d) { return d == TC_F64 ? TC_F64 : TC_F32; }
static bool is_16_bit(tc_dtype d) { return tc_is_float(d) && tc_dtype_size(d) == 2; }

static tc_status shape_layer(tc_shape_ctx *c) {
    for (int i = 0; i <= CX; i++) TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *x = tc_sh_meta(c, X), *h = tc_sh_meta(c, HX), *cx = tc_sh_meta(c, CX);
    tc_symctx *s = tc_sh_sym(c);
    int64_t mode = tc_sh_const(c, MODE), hidden = tc_sh_const(c, HIDDEN);
    if (x->rank != 3) return tc_sh_fail(c, "input must have three dimensions");
    if (mode < 0 || mode > TC_RNN_GRU || hidden <= 0 || hidden > INT32_MAX)
        return tc_sh_fail(c, "mode %lld with hidden size %lld is not known", (long long)mode, (long long)hidden);
    if (x->dtype != work_type(x->dtype) && !is_16_bit(x->dtype))
        return tc_sh_fail_as(c, "NotImplementedError", "not implemented for '%s'", tc_dtypes[x->dtype].torch);
    const tc_meta *w = tc_sh_meta(c, W_IH), *u = tc_sh_meta(c, W_HH);
    tc_sym gates = tc_sym_int(s, hidden * tc_rnn_gates((int)mode));
    if (w->rank != 2 || u->rank != 2 || !tc_sh_same(c, w->size[0], gates) || !tc_sh_same(c, u->size[0], gates) ||
        !tc_sh_same(c, w->size[1], x->size[2]) || !tc_sh_same(c, u->size[1], tc_sym_int(s, hidden)))
        return tc_sh_fail(c, "weights must be gates * hidden by input and gates * hidden by hidden");
    tc_dims states[2] = {{.rank = 2, .size = {x->size[1], tc_sym_int(s, hidden)}},
                         {.rank = 3, .size = {tc_sym_int(s, 1), x->size[1], tc_sym_int(s, hidden)}}},
            bias = {.rank = 1, .size = {gates}};
    for (int i = HX; i <= CX; i++)
        TC_TRY(tc_sh_sized(c, i, &states[tc_sh_meta(c, i)->rank != 2], TC_DTYPE_NONE, "a hidden state, batch by hidden size"));
    for (int i = B_IH; i <= B_HH && tc_sh_bool(c, BIASES); i++) TC_TRY(tc_sh_sized(c, i, &bias, TC_DTYPE_NONE, "the gates"));
    for (int i = W_IH; i <= CX; i++) {
        const tc_dtype d = tc_sh_meta(c, i)->dtype;
        const bool wider = i >= HX && mode == TC_RNN_GRU && d == work_type(x->dtype) && cx->dtype == d && h->dtype == d;
        if (d != x->dtype && !wider) return tc_sh_fail(c, "input and parameters must have one type");
    }
    tc_dims out = {.rank = 3, .size = {x->size[0], x->size[1], tc_sym_int(s, hidden)}}, hy = tc_dims_of(h), cy = tc_dims_of(cx);
    tc_dims space = {.rank = 3, .size = {x->size[0], x->size[1], tc_sym_int(s, tc_rnn_workspace((int)mode, hidden))}};
    TC_TRY(tc_sh_out(c, 0, h->dtype, &out));
    TC_TRY(tc_sh_out(c, 1, h->dtype, &hy));
    TC_TRY(tc_sh_out(c, 2, h->dtype, &cy));
    return tc_sh_out(c, 3, work_type(x->dtype), &space);
}
static tc_status shape_layer_backward(tc_shape_ctx *c) {
    static const char from[] = {0, 1, 2, 3, 4, 5, 6, 13, 20, 14, 15, 16, 17, 19, 21, 18}; /* the parameters of the layer operator */
    tc_arg args[TRAIN + 1];
    for (int i = 0; i <= TRAIN; i++) args[i] = c->args[(int)from[i]];
    for (int i = 7; i < 10; i++) TC_TRY(tc_sh_need_tensor(c, i));
    TC_TRY(tc_sh_need_tensor(c, 22));
    TC_TRY(tc_sh_need_tensor(c, X));
    const tc_dtype x = tc_sh_meta(c, X)->dtype;
    if (x != work_type(x)) return tc_sh_fail_as(c, "NotImplementedError", "not implemented for '%s'", tc_dtypes[x].torch);
    TC_TRY(tc_sh_results_of(c, "aten::mkldnn_rnn_layer", args, TRAIN + 1, 7, (int[]){7, 0, 8, 1, 9, 2, 10, 0, 11, 1, 12, 2, 22, 3}));
    for (int i = 0; i <= CX; i++) {
        TC_TRY(tc_sh_need_tensor(c, i));
        tc_dims d = tc_dims_of(tc_sh_meta(c, i));
        TC_TRY(tc_sh_out(c, i, tc_sh_meta(c, i)->dtype, &d));
    }
    return NULL;
}
static tc_status grad_layer(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_dtype work = work_type(tc_arg_value(n, X)->meta.dtype);
    tc_value *v[CX + 1], *outs[3], *g[3];
    for (int i = 0; i <= CX; i++) v[i] = tc_e_cast(e, tc_arg_value(n, i), work);
    for (int i = 0; i < 3; i++) outs[i] = tc_e_cast(e, n->outs[i], work), g[i] = gs[i] ? tc_e_cast(e, gs[i], work) : NULL;
    tc_value *r = tc_emit_call(e, "aten::mkldnn_rnn_layer_backward", "vvvvvvvvvvvvvaaaaaaaaav", v[0], v[1], v[2], v[3], v[4], v[5], v[6], outs[0],
                               outs[1], outs[2], g[0], g[1], g[2], &n->args[REVERSE], &n->args[MODE], &n->args[HIDDEN], &n->args[LAYERS],
                               &n->args[BIASES], &n->args[TRAIN], &n->args[BIDIRECTIONAL], &n->args[BATCH_SIZES], &n->args[BATCH_FIRST], n->outs[3]);
    for (int i = 0; i <= CX; i++) tc_e_give(e, n, i, tc_e_cast(e, tc_emit_out(r, i), tc_arg_value(n, i)->meta.dtype));
    return tc_e_done(e);
}

/* ---- networks ---- */
static int mode_of(const tc_op *op) {
    const char *s = tc_op_schema(op)->name;
    return !strncmp(s, "lstm", 4) ? TC_RNN_LSTM : !strncmp(s, "gru", 3) ? TC_RNN_GRU : !strncmp(s, "rnn_tanh", 8) ? TC_RNN_TANH : TC_RNN_RELU;
}
static tc_value *select_state(tc_emit *e, tc_value *states, int i) {
    return tc_emit_call(e, "aten::slice.Tensor", "viii", states, (int64_t)0, (int64_t)i, (int64_t)(i + 1));
}

/* A projection, h = w_hr (o tanh(c)): the layer runs on m = o tanh(c) with recurrent weight w_hh w_hr, and h = m w_hr'. The first step uses h0
 * itself, which may not be a projection: it is passed with the input, as columns that are zero at all other steps.
 * x: T B I; h0: 1 B P */
static tc_value *enter_projected(tc_emit *e, tc_value *x, tc_value *h0, tc_value **w, tc_value *w_hr, bool reverse) {
    tc_symctx *s = e->graph->program->sym;
    tc_sym none = tc_sym_int(s, 0), rest = tc_sym_sub(s, x->meta.size[0], tc_sym_int(s, 1));
    tc_value *columns =
        tc_emit_call(e, "aten::constant_pad_nd", "vS", h0, (tc_sym[]){none, none, none, none, reverse ? rest : none, reverse ? none : rest}, 6);
    w[0] = tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){w[0], w[1]}, 2, (int64_t)1);
    w[1] = tc_emit_call(e, "aten::matmul", "vv", w[1], w_hr);
    return tc_emit_call(e, "aten::cat", "Vi", (tc_value *[]){x, columns}, 2, (int64_t)2);
}

/* The input, hidden states (argument 1, a list for lstm) and parameters from argument `from` on have one type. Under autocast, which casts operands of
 * products, the state of a GRU stays float32. */
static tc_status one_type(tc_shape_ctx *c, int from) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_dtype d = tc_sh_meta(c, 0)->dtype;
    for (int i = 1; i < c->nargs; i = i < from ? from : i + 1) {
        int n = 1;
        const tc_meta *one = tc_sh_meta(c, i), **m = one ? &one : c->args[i].kind == TC_A_VALUES ? tc_sh_tensors(c, i, &n) : NULL;
        const bool wider = i == 1 && one && is_16_bit(d) && one->dtype == TC_F32 && mode_of(c->op) == TC_RNN_GRU;
        for (int k = 0; m && k < n && !wider; k++)
            if (m[k] && m[k]->dtype != d)
                return tc_sh_fail(c, "expected m1 and m2 to have the same dtype, but got: %s != %s", tc_dtypes[d].torch,
                                  tc_dtypes[m[k]->dtype].torch);
    }
    return NULL;
}
/* input, hx (a list of two for lstm), params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
static tc_status shape_network(tc_shape_ctx *c) {
    TC_TRY(one_type(c, 2));
    const tc_meta *x = tc_sh_meta(c, 0);
    if (x->rank == 3 && !tc_sh_not_zero(c, x->size[tc_sh_bool(c, 8)])) return tc_sh_fail(c, "Expected sequence length to be larger than 0 in RNN");
    return tc_shape_decomposed(c);
}
static tc_status decompose_network(tc_emit *e, const tc_node *n) {
    int mode = mode_of(n->op), directions = tc_arg_bool(n, 7) ? 2 : 1, per = tc_arg_bool(n, 3) ? 4 : 2;
    int64_t layers = tc_arg_int(n, 4), hidden;
    bool lstm = mode == TC_RNN_LSTM, biases = tc_arg_bool(n, 3), first = tc_arg_bool(n, 8), train = tc_arg_bool(n, 6);
    double dropout = tc_arg_float(n, 5);
    const tc_arg *params = &n->args[2];
    tc_value *x = tc_arg_value(n, 0), *hx = lstm ? (n->args[1].n == 2 ? n->args[1].values[0] : NULL) : tc_arg_value(n, 1),
             *cx = lstm && hx ? n->args[1].values[1] : NULL;
    const char *name = tc_op_name(n->op);
    if (!x || !hx) return tc_error(TC_CONTENT, "%s: expected an input and %s", name, lstm ? "two hidden states" : "a hidden state");
    if (x->meta.rank != 3 || hx->meta.rank != 3) return tc_error(TC_CONTENT, "%s: input and hidden states must have three dimensions", name);
    bool projected = lstm && layers > 0 && params->n == layers * directions * (per + 1);
    if (layers < 1 || layers > 10000 || (params->n != layers * directions * per && !projected))
        return tc_error(TC_CONTENT, "%s: expected %lld parameters, got %d", name, (long long)(layers * directions * per), params->n);
    int stride = per + projected;
    for (int i = 0; i < params->n; i++)
        if (!params->values[i]) return tc_error(TC_CONTENT, "%s: parameter %d is missing", name, i);
    const tc_meta *recurrent = &params->values[projected ? per : 1]->meta;
    if (recurrent->rank != 2 || !tc_sym_const_int(recurrent->size[1], &hidden))
        return tc_error(TC_UNSUPPORTED, "%s with a symbolic hidden size is not supported", name);
    tc_dtype d = x->meta.dtype, work = is_16_bit(d) && !projected ? d : work_type(d), held = work;
    if (!tc_is_float(d)) return tc_error(TC_CONTENT, "%s: expected a floating point input", name);
    if (mode == TC_RNN_GRU && is_16_bit(d) && hx->meta.dtype == TC_F32) d = held = TC_F32; /* under autocast, which casts operands of products */
    hx = tc_e_cast(e, hx, held);
    if (cx) cx = tc_e_cast(e, cx, work);
    if (first) x = tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)0, (int64_t)1);
    tc_value **hy = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(2 * layers * directions)), **cy = hy + layers * directions;
    for (int64_t l = 0; l < layers; l++) {
        tc_value *out[2];
        x = tc_e_cast(e, x, work);
        for (int r = 0; r < directions; r++) {
            int k = (int)l * directions + r;
            tc_value *w[4], *h = select_state(e, hx, k), *c = lstm ? select_state(e, cx, k) : h;
            for (int i = 0; i < per; i++) w[i] = tc_e_cast(e, params->values[k * stride + i], work);
            tc_value *w_hr = projected ? tc_e_cast(e, params->values[k * stride + per], work) : NULL, *in = x;
            if (projected) in = enter_projected(e, x, h, w, w_hr, r), h = tc_e_zeros_like(e, c);
            if (!biases) w[2] = w[3] = tc_emit_call(e, "aten::new_zeros", "vI", x, (int64_t[]){hidden * tc_rnn_gates(mode)}, 1);
            tc_value *y = tc_emit_call(e, "aten::mkldnn_rnn_layer", "vvvvvvvbIiiibbbb", in, w[0], w[1], w[2], w[3], h, c, r, (int64_t[]){0}, 0,
                                       (int64_t)mode, hidden, (int64_t)1, biases, 0, 0, train);
            out[r] = projected ? tc_emit_call(e, "aten::linear", "vv", y, w_hr) : y;
            hy[k] = projected ? tc_emit_call(e, "aten::linear", "vv", tc_emit_out(y, 1), w_hr) : tc_emit_out(y, 1), cy[k] = tc_emit_out(y, 2);
        }
        x = directions == 1 ? out[0] : tc_emit_call(e, "aten::cat", "Vi", out, 2, (int64_t)2);
        if (!x) return tc_e_done(e); /* sizes that do not fit */
        if (train && dropout > 0 && l < layers - 1) x = tc_emit_call(e, "aten::dropout", "vfb", x, dropout, 1);
    }
    if (first) x = tc_emit_call(e, "aten::transpose.int", "vii", x, (int64_t)0, (int64_t)1);
    int count = (int)layers * directions;
    tc_emit_result(e, 0, tc_e_cast(e, x, d));
    tc_emit_result(e, 1, tc_e_cast(e, count == 1 ? hy[0] : tc_emit_call(e, "aten::cat", "Vi", hy, count, (int64_t)0), d));
    if (lstm) tc_emit_result(e, 2, tc_e_cast(e, count == 1 ? cy[0] : tc_emit_call(e, "aten::cat", "Vi", cy, count, (int64_t)0), d));
    return tc_e_done(e);
}

/* ---- cells ---- */
typedef struct {
    tc_value *y[4];   /* gates after their activation functions, in the order of the weights */
    tc_value *scaled; /* GRU: the operand that r scales */
    tc_value *tanh_c; /* LSTM */
    tc_value *h, *c;  /* the new states */
} cell;
static tc_value *gate(tc_emit *e, tc_value *g, int64_t i, int64_t hidden) {
    return tc_emit_call(e, "aten::slice.Tensor", "viii", g, (int64_t)1, i * hidden, (i + 1) * hidden);
}
/* x: B I; h, c: B H; w: w_ih, w_hh, b_ih, b_hh */
static cell step(tc_emit *e, int mode, int64_t hidden, tc_value *x, tc_value *h, tc_value *c, const tc_arg *const w[4]) {
    tc_value *a = tc_emit_call(e, "aten::linear", "vaa", x, w[0], w[2]), *b = tc_emit_call(e, "aten::linear", "vaa", h, w[1], w[3]);
    cell s = {.c = c};
    if (mode == TC_RNN_GRU) {
        for (int k = 0; k < 2; k++) s.y[k] = tc_e1(e, "aten::sigmoid", tc_e_add(e, gate(e, a, k, hidden), gate(e, b, k, hidden)));
        s.scaled = gate(e, b, 2, hidden);
        s.y[2] = tc_e1(e, "aten::tanh", tc_e_add(e, gate(e, a, 2, hidden), tc_e_mul(e, s.y[0], s.scaled)));
        s.h = tc_e_add(e, s.y[2], tc_e_mul(e, s.y[1], tc_e_sub(e, h, s.y[2])));
        return s;
    }
    tc_value *g = tc_e_add(e, a, b);
    if (mode != TC_RNN_LSTM) {
        s.h = tc_e1(e, mode == TC_RNN_TANH ? "aten::tanh" : "aten::relu", g);
        return s;
    }
    for (int k = 0; k < 4; k++) s.y[k] = tc_e1(e, k == 2 ? "aten::tanh" : "aten::sigmoid", gate(e, g, k, hidden));
    s.c = tc_e_add(e, tc_e_mul(e, s.y[1], c), tc_e_mul(e, s.y[0], s.y[2]));
    s.tanh_c = tc_e1(e, "aten::tanh", s.c);
    s.h = tc_e_mul(e, s.y[3], s.tanh_c);
    return s;
}
/* input, hx (a list of two for lstm), w_ih, w_hh, b_ih, b_hh */
static tc_status shape_cell(tc_shape_ctx *c) {
    TC_TRY(one_type(c, 2));
    int n = 1;
    const tc_meta *x = tc_sh_meta(c, 0), *w = tc_sh_meta(c, 3), *one = tc_sh_meta(c, 1), **h = one ? &one : tc_sh_tensors(c, 1, &n);
    if (x->rank != 2) return tc_sh_fail(c, "Expected input to be 2D, got %dD", x->rank);
    for (int k = 0; k < n; k++) {
        if (!h[k] || !w || w->rank != 2) continue;
        if (h[k]->rank != 2) return tc_sh_fail(c, "Expected 2D hidden%d (batch x hidden_size), but got %dD tensor", k, h[k]->rank);
        if (!tc_sh_same(c, x->size[0], h[k]->size[0])) return tc_sh_fail(c, "Input batch size doesn't match hidden%d batch size", k);
        if (!tc_sh_same(c, w->size[1], h[k]->size[1])) return tc_sh_fail(c, "hidden%d has inconsistent hidden_size", k);
    }
    return tc_shape_decomposed(c);
}
static tc_status decompose_cell(tc_emit *e, const tc_node *n) {
    int mode = mode_of(n->op);
    bool lstm = mode == TC_RNN_LSTM;
    tc_value *x = tc_arg_value(n, 0), *h = lstm ? (n->args[1].n == 2 ? n->args[1].values[0] : NULL) : tc_arg_value(n, 1), *w = tc_arg_value(n, 3);
    int64_t hidden;
    if (!x || !h || !w || w->meta.rank != 2) return tc_e_refuse(n, "expected an input, hidden states and weights");
    if (!tc_e_pin(e, n, w->meta.size[1], &hidden))
        return tc_error(TC_UNSUPPORTED, "%s with a symbolic hidden size is not supported", tc_op_name(n->op));
    cell s = step(e, mode, hidden, x, h, lstm ? n->args[1].values[1] : NULL, (const tc_arg *[]){&n->args[2], &n->args[3], &n->args[4], &n->args[5]});
    tc_emit_result(e, 0, s.h);
    if (lstm) tc_emit_result(e, 1, s.c);
    return tc_e_done(e);
}

/* ---- the gradients of a layer as a composition, which can be differentiated again; the kernel computes them otherwise ---- */
static tc_value *row(tc_emit *e, tc_value *x, int64_t t) { return tc_emit_call(e, "aten::select.int", "vii", x, (int64_t)0, t); }
static tc_value *state(tc_emit *e, tc_value *h) { return h && h->meta.rank == 3 ? row(e, h, 0) : h; } /* 1 B H or B H */
static tc_value *plus(tc_emit *e, tc_value *a, tc_value *b) { return !a ? b : !b ? a : tc_e_add(e, a, b); }
static tc_value *joined(tc_emit *e, tc_value *const *v, int n) { return tc_emit_call(e, "aten::cat", "Vi", v, n, (int64_t)1); }

typedef struct {
    tc_value *h, *c; /* gradients of the states */
    tc_value *a, *b; /* of the products with the input and with h */
} cell_grads;
/* Backward through the step from `before` to `s`: d->h and d->c become the gradients of the states before it, without the part through the recurrent
 * weight, which is that of d->b. */
static void step_back(tc_emit *e, int mode, const cell *before, const cell *s, cell_grads *d) {
    tc_value *const *y = s->y, *g = d->h;
    if (mode == TC_RNN_LSTM) {
        tc_value *gc = plus(e, d->c, tc_e2(e, "aten::tanh_backward", tc_e_mul(e, g, y[3]), s->tanh_c)), *gates[4];
        gates[0] = tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, gc, y[2]), y[0]);
        gates[1] = tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, gc, before->c), y[1]);
        gates[2] = tc_e2(e, "aten::tanh_backward", tc_e_mul(e, gc, y[0]), y[2]);
        gates[3] = tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, g, s->tanh_c), y[3]);
        d->a = d->b = joined(e, gates, 4), d->c = tc_e_mul(e, gc, y[1]), d->h = NULL;
    } else if (mode == TC_RNN_GRU) {
        tc_value *gates[3];
        d->h = tc_e_mul(e, g, y[1]);
        gates[2] = tc_e2(e, "aten::tanh_backward", tc_e_sub(e, g, d->h), y[2]);
        gates[0] = tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, gates[2], s->scaled), y[0]);
        gates[1] = tc_e2(e, "aten::sigmoid_backward", tc_e_mul(e, g, tc_e_sub(e, before->h, y[2])), y[1]);
        d->a = joined(e, gates, 3);
        gates[2] = tc_e_mul(e, gates[2], y[0]);
        d->b = joined(e, gates, 3);
    } else {
        d->a = d->b =
            mode == TC_RNN_TANH ? tc_e2(e, "aten::tanh_backward", g, s->h) : tc_emit_call(e, "aten::threshold_backward", "vvi", g, s->h, (int64_t)0);
        d->h = NULL;
    }
}
static tc_status decompose_layer_backward(tc_emit *e, const tc_node *n) {
    enum { GRAD_OUTPUT = 10, GRAD_HY, GRAD_CY, BACK_REVERSE, BACK_MODE, BACK_HIDDEN };
    int mode = (int)tc_arg_int(n, BACK_MODE);
    bool lstm = mode == TC_RNN_LSTM, reverse = tc_arg_bool(n, BACK_REVERSE);
    tc_value *x = tc_arg_value(n, X), *gy = tc_arg_value(n, GRAD_OUTPUT), *sum[CX + 1] = {0};
    int64_t steps, hidden = tc_arg_int(n, BACK_HIDDEN);
    if (!tc_e_pin(e, n, x->meta.size[0], &steps))
        return tc_error(TC_UNSUPPORTED, "%s: its gradient over a symbolic number of steps is not supported", tc_op_name(n->op));
    cell *s = TC_NEWN(&e->graph->program->arena, cell, (size_t)steps + 1); /* s[k + 1]: after step k */
    tc_value **dx = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)steps + 1);
    s[0] = (cell){.h = state(e, tc_arg_value(n, HX)), .c = lstm ? state(e, tc_arg_value(n, CX)) : NULL};
    for (int64_t k = 0; k < steps; k++)
        s[k + 1] = step(e, mode, hidden, row(e, x, reverse ? steps - 1 - k : k), s[k].h, s[k].c,
                        (const tc_arg *[]){&n->args[W_IH], &n->args[W_HH], &n->args[B_IH], &n->args[B_HH]});
    cell_grads d = {.h = state(e, tc_arg_value(n, GRAD_HY)), .c = lstm ? state(e, tc_arg_value(n, GRAD_CY)) : NULL};
    for (int64_t k = steps; k-- > 0;) {
        int64_t t = reverse ? steps - 1 - k : k;
        d.h = plus(e, d.h, gy ? row(e, gy, t) : NULL);
        if (!d.h) d.h = tc_e_zeros_like(e, s[k].h);
        step_back(e, mode, &s[k], &s[k + 1], &d);
        dx[t] = tc_e2(e, "aten::mm", d.a, tc_arg_value(n, W_IH));
        d.h = plus(e, d.h, tc_e2(e, "aten::mm", d.b, tc_arg_value(n, W_HH)));
        sum[W_IH] = plus(e, sum[W_IH], tc_e2(e, "aten::mm", tc_e1(e, "aten::t", d.a), row(e, x, t)));
        sum[W_HH] = plus(e, sum[W_HH], tc_e2(e, "aten::mm", tc_e1(e, "aten::t", d.b), s[k].h));
        sum[B_IH] = plus(e, sum[B_IH], tc_emit_call(e, "aten::sum.dim_IntList", "vI", d.a, (int64_t[]){0}, 1));
        sum[B_HH] = plus(e, sum[B_HH], tc_emit_call(e, "aten::sum.dim_IntList", "vI", d.b, (int64_t[]){0}, 1));
    }
    if (steps) sum[X] = tc_emit_call(e, "aten::stack", "Vi", dx, (int)steps, (int64_t)0);
    sum[HX] = d.h, sum[CX] = d.c;
    for (int i = 0; i <= CX; i++) {
        tc_value *like = tc_arg_value(n, i), *g = sum[i];
        if (g && g->meta.rank < like->meta.rank) g = tc_emit_call(e, "aten::unsqueeze", "vi", g, (int64_t)0);
        tc_emit_result(e, i, g ? g : tc_e_zeros_like(e, like));
    }
    return tc_e_done(e);
}

#define NETWORK(name, states, results, sample, text)                                                                                               \
    {                                                                                                                                              \
        .schema =                                                                                                                                  \
            "aten::" name ".input(Tensor input, " states                                                                                           \
            " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> " results, \
        .shape = shape_network, .decompose = decompose_network, .samples = sample, .doc = text                                                     \
    }
#define CELL(name, states, results, text)                                                                                                         \
    {                                                                                                                                             \
        .schema = "aten::" name "_cell(Tensor input, " states " hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> " results, \
        .shape = shape_cell, .decompose = decompose_cell, .doc = text                                                                             \
    }
const tc_op tc_ops_rnn[] = {
    {.schema = "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool "
               "reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool "
               "train) -> (Tensor, Tensor, Tensor, Tensor)",
     .shape = shape_layer,
     .kernel = &tc_k_rnn_layer,
     .grad = grad_layer,
     .doc = "one layer and direction of a recurrent network"},
    {.schema = "aten::mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor "
               "cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int "
               "hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace) "
               "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
     .shape = shape_layer_backward,
     .kernel = &tc_k_rnn_layer_backward,
     .decompose = decompose_layer_backward,
     .doc = "gradients of mkldnn_rnn_layer"},
    NETWORK("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)",
            "lstm(f32[5,3,4], [f32[1,3,6], f32[1,3,6]], [f32[24,4], f32[24,6], f32[24], f32[24]], True, 1, 0.0, False, False, False);"
            "lstm(f32[5,3,4], [f32[2,3,2], f32[2,3,6]], [f32[24,4], f32[24,2], f32[24], f32[24], f32[2,6], f32[24,4], f32[24,2], f32[24], f32[24],"
            " f32[2,6]], True, 1, 0.0, False, True, False)",
            "long short-term memory over a sequence"),
    NETWORK("gru", "Tensor", "(Tensor, Tensor)",
            "gru(f32[5,3,4], f32[2,3,6], [f32[18,4], f32[18,6], f32[18,4], f32[18,6]], False, 1, 0.0, False, True, False)",
            "gated recurrent units over a sequence"),
    NETWORK("rnn_tanh", "Tensor", "(Tensor, Tensor)",
            "rnn_tanh(f32[3,5,4], f32[1,3,6], [f32[6,4], f32[6,6], f32[6], f32[6]], True, 1, 0.0, False, False, True)",
            "h = tanh(x w_ih' + h w_hh' + b)"),
    NETWORK("rnn_relu", "Tensor", "(Tensor, Tensor)",
            "rnn_relu(f32[5,3,4], f32[1,3,6], [f32[6,4], f32[6,6], f32[6], f32[6]], True, 1, 0.0, False, False, False)",
            "h = relu(x w_ih' + h w_hh' + b)"),
    CELL("lstm", "Tensor[]", "(Tensor, Tensor)", "one step of an LSTM"),
    CELL("gru", "Tensor", "Tensor", "one step of a GRU"),
    CELL("rnn_tanh", "Tensor", "Tensor", "tanh(x w_ih' + h w_hh' + b)"),
    CELL("rnn_relu", "Tensor", "Tensor", "relu(x w_ih' + h w_hh' + b)"),
    {0}};
