/* Recurrent layers. Rows of the batch are independent: a worker runs all steps of its rows.
 *
 *     gx = input w_ih' + b      all steps at once
 *     step:  g = gx[t] + h w_hh';   LSTM: c = f c + i g, h = o tanh(c);   GRU: h = n + z (h - n), n = tanh(gx_n + r (h w_n' + b_n))
 *
 * Values of a step are done by block primitives on a row, so that bits do not depend on the split.
 * Of 16-bit types an LSTM's gates and cells are float32 and h is rounded at each step, as oneDNN's are; of the others every operation's result is
 * rounded, as PyTorch's operators round theirs. bfloat16 is multiplied by instructions for it where there are some. */
#include "kernel/rnn.h"

#include <string.h>

#include "kernel/gemm.h"
#include "kernel/isa.h"

typedef struct {
    const tc_isa_ops *isa;
    const tc_gemm_ops *gemm;
    const tc_block_fn *op;  /* scalar operations of the type */
    tc_dtype dtype;         /* of gates and cells */
    tc_dtype given, factor; /* of input and weights; of what is multiplied: dtype or given */
    tc_dtype held, step;    /* of states: given, or float32 beside 16-bit weights; to which each operation rounds: dtype or given */
    size_t e, eh;           /* bytes of an element of dtype, of held */
    int mode;
    bool reverse, biases;
    int64_t t, b, i, h, g, w; /* steps, batch, input, hidden, gates * hidden, workspace of a row */
    const char *x, *w_ih, *w_hh, *b_ih, *b_hh, *hx, *cx;
    char *out, *hy, *cy, *space;
    const char *go, *ghy, *gcy; /* backward */
    char *state;                /* rows of h in dtype, after the step before; NULL where held is dtype: they are rows of out */
    char *near, *narrow;        /* rows of h rounded to given, in dtype and in given, where held is wider than given */
    char *gx, *gh, *hprev, *dh, *dc, *packed, *work;
    const char *row; /* h zeros (forward), ones (backward) */
    size_t per_worker;
} layer;

static size_t room(size_t n) { return (n + 63) / 64 * 64; }
static char *take(char **at, size_t n) {
    char *p = *at;
    *at += room(n);
    return p;
}
#define AT(p, index) ((p) + (size_t)(index)*l->e)
#define HELD(p, index) ((p) + (size_t)(index)*l->eh)
#define OP(name, out, a, b, n) l->op[TC_X_##name](out, a, b, NULL, n)

static layer read_layer(const tc_kcall *c, int states, int mode) { /* states: index of hx; mode: of mode, followed by hidden_size */
    const tc_tensor *x = tc_k_tensor(c, 0);
    layer l = {.isa = c->isa,
               .dtype = x->dtype == TC_F64 ? TC_F64 : TC_F32,
               .given = x->dtype,
               .mode = (int)tc_k_int(c, mode),
               .t = x->size[0],
               .b = x->size[1],
               .i = x->size[2]};
    l.factor = l.given == TC_BF16 && c->isa->gemm_bf16 ? TC_BF16 : l.dtype;
    l.held = tc_k_tensor(c, states)->dtype, l.step = l.mode == TC_RNN_LSTM ? l.dtype : l.given;
    l.e = tc_dtype_size(l.dtype), l.eh = tc_dtype_size(l.held);
    l.gemm = l.factor == TC_F64 ? c->isa->gemm_f64 : l.factor == TC_BF16 ? c->isa->gemm_bf16 : c->isa->gemm_f32, l.op = c->isa->scalar[l.dtype];
    l.h = tc_k_int(c, mode + 1), l.g = l.h * tc_rnn_gates(l.mode), l.w = tc_rnn_workspace(l.mode, l.h);
    l.biases = tc_k_bool(c, mode + 3);
    l.x = tc_tensor_data(x), l.w_ih = tc_tensor_data(tc_k_tensor(c, 1)), l.w_hh = tc_tensor_data(tc_k_tensor(c, 2));
    if (l.biases) l.b_ih = tc_tensor_data(tc_k_tensor(c, 3)), l.b_hh = tc_tensor_data(tc_k_tensor(c, 4));
    l.hx = tc_tensor_data(tc_k_tensor(c, states));
    if (l.mode == TC_RNN_LSTM) l.cx = tc_tensor_data(tc_k_tensor(c, states + 1));
    return l;
}

/* ---- products ---- */
static void given(void *ctx, int64_t i, tc_gemm *out) { (void)i, *out = *(const tc_gemm *)ctx; }
static void product(const layer *l, tc_pool *pool, void *scratch, tc_gemm j) {
    j.dtype = l->factor, j.alpha = j.beta = 1, j.c_cs = 1;
    tc_gemm_run(l->isa, pool, scratch, 1, given, &j);
}
/* out[rows, n] = a[rows, k] times the packed operand, plus add; one worker. */
static size_t packed_bytes(const layer *l, int64_t n, int64_t k) {
    size_t s = 0;
    for (int64_t c = 0; c < n; c += TC_GEMM_NC) s += room(l->gemm->pack_bytes(n - c < TC_GEMM_NC ? n - c : TC_GEMM_NC, k));
    return s;
}
static void pack(const layer *l, tc_gemm j, char *at) {
    j.dtype = l->factor;
    for (int64_t c = 0; c < j.n; c += TC_GEMM_NC) {
        int64_t nc = j.n - c < TC_GEMM_NC ? j.n - c : TC_GEMM_NC;
        l->gemm->pack(&j, c, nc, take(&at, l->gemm->pack_bytes(nc, j.k)));
    }
}
static void packed_product(const layer *l, tc_gemm j, void *work) {
    char *at = l->packed;
    j.dtype = l->factor, j.alpha = j.beta = 1, j.c_cs = 1;
    for (int64_t c = 0; c < j.n; c += TC_GEMM_NC) {
        int64_t nc = j.n - c < TC_GEMM_NC ? j.n - c : TC_GEMM_NC;
        void *p = take(&at, l->gemm->pack_bytes(nc, j.k));
        for (int64_t r = 0; r < j.m; r += TC_GEMM_MC) l->gemm->block(&j, r, j.m - r < TC_GEMM_MC ? j.m - r : TC_GEMM_MC, c, nc, work, p, 0);
    }
}
static int64_t grain(const layer *l, int threads) {
    int64_t share = (l->b + threads - 1) / threads;
    return share > 14 ? share : 14;
}

/* ---- forward ---- */
static void lstm_row(const layer *l, char *gates, const char *c_prev, char *h, char *tmp) {
    int64_t n = l->h;
    char *c = AT(gates, 4 * n);
    OP(SIGMOID, gates, gates, NULL, 2 * n), OP(TANH, AT(gates, 2 * n), AT(gates, 2 * n), NULL, n),
        OP(SIGMOID, AT(gates, 3 * n), AT(gates, 3 * n), NULL, n);
    OP(MUL, tmp, AT(gates, n), c_prev, n), OP(MUL, c, gates, AT(gates, 2 * n), n), OP(ADD, c, tmp, c, n);
    OP(TANH, tmp, c, NULL, n), OP(MUL, h, AT(gates, 3 * n), tmp, n);
}
/* n values as type has them; half: room for as many in it */
static void rounded(const layer *l, tc_dtype type, char *x, char *half, int64_t n) {
    if (type == l->dtype) return;
    l->isa->cast[l->dtype][type](half, x, n), l->isa->cast[type][l->dtype](x, half, n);
}
#define STEP(name, out, a, b, n) OP(name, out, a, b, n), rounded(l, l->step, out, half, n)
/* hh: h w_hh' + b_hh; the workspace row gets r, z, n and hh's part of n */
static void gru_row(const layer *l, const char *gx, const char *hh, char *space, const char *h_prev, char *h, char *tmp, char *half) {
    int64_t n = l->h;
    char *nn = AT(space, 2 * n), *hn = AT(space, 3 * n);
    STEP(ADD, space, gx, hh, 2 * n), STEP(SIGMOID, space, space, NULL, 2 * n);
    memcpy(hn, AT(hh, 2 * n), (size_t)n * l->e);
    STEP(MUL, tmp, space, hn, n), STEP(ADD, nn, AT(gx, 2 * n), tmp, n), STEP(TANH, nn, nn, NULL, n);
    OP(SUB, tmp, h_prev, nn, n), rounded(l, l->held, tmp, half, n);
    OP(MUL, tmp, AT(space, n), tmp, n), rounded(l, l->held, tmp, half, n);
    OP(ADD, h, nn, tmp, n);
}
/* gx, hh: the products of a step with the input and with h */
static void plain_row(const layer *l, const char *gx, char *hh, char *h, char *half) {
    if (l->step != l->dtype) STEP(ADD, hh, hh, gx, l->h);
    if (l->mode == TC_RNN_TANH) OP(TANH, h, hh, NULL, l->h);
    else OP(MAX, h, hh, l->row, l->h);
}
/* The products with the input and with h are rounded apart, or have biases apart. */
static bool apart(const layer *l) { return l->mode == TC_RNN_GRU || l->step != l->dtype; }
/* Rows [b0, b1) of h after a step go out, rounded; what is read of them in the next one is what went out. */
static void give_states(const layer *l, int64_t t, int64_t b0, int64_t b1) {
    const int64_t count = (b1 - b0) * l->h;
    rounded(l, l->held, AT(l->state, b0 * l->h), HELD(l->out, (t * l->b + b0) * l->h), count);
}
/* What is multiplied of rows [b0, b1) of h before a step: h_prev in dtype, held as it came. */
static const char *factor_rows(const layer *l, const char *h_prev, const char *held, int64_t b0, int64_t b1) {
    const int64_t at = b0 * l->h, count = (b1 - b0) * l->h;
    if (l->near) {
        char *narrow = l->narrow + (size_t)at * tc_dtype_size(l->given);
        l->isa->cast[l->dtype][l->given](narrow, h_prev, count);
        if (l->factor != l->dtype) return narrow;
        l->isa->cast[l->given][l->dtype](AT(l->near, at), narrow, count);
        return AT(l->near, at);
    }
    return l->factor == l->dtype ? h_prev : held;
}
static void forward_rows(void *ctx, int64_t b0, int64_t b1, int worker) {
    const layer *l = ctx;
    char *work = l->work + l->per_worker * (size_t)worker, *tmp = work;
    int64_t rows = b1 - b0, n = l->h;
    char *half = work += room((size_t)n * l->e);
    work += room((size_t)l->g * l->e);
    for (int64_t s = 0; s < l->t; s++) {
        int64_t t = l->reverse ? l->t - 1 - s : s, before = l->reverse ? t + 1 : t - 1, at = t * l->b + b0;
        const char *held = s ? HELD(l->out, (before * l->b + b0) * n) : HELD(l->hx, b0 * n);
        const char *h_prev = l->state ? AT(l->state, b0 * n) : held, *factor = factor_rows(l, h_prev, held, b0, b1);
        char *h_rows = l->state ? AT(l->state, b0 * n) : AT(l->out, at * n);
        tc_gemm j = {.m = rows, .n = l->g, .k = n, .a = factor, .a_rs = n, .a_cs = 1};
        char *gates = l->mode == TC_RNN_LSTM ? AT(l->space, at * l->w) : l->mode == TC_RNN_GRU || l->state ? AT(l->gh, b0 * l->g) : h_rows;
        j.c = gates, j.c_rs = l->mode == TC_RNN_LSTM ? l->w : l->g;
        if (apart(l)) j.add = l->b_hh, j.add_cs = 1;
        else j.add = AT(l->gx, at * l->g), j.add_rs = l->g, j.add_cs = 1;
        packed_product(l, j, work);
        for (int64_t r = 0; r < rows; r++) {
            char *h = AT(h_rows, r * n), *space = AT(l->space, (at + r) * l->w), *gate = AT(gates, r * l->g), *gx = AT(l->gx, (at + r) * l->g);
            if (apart(l)) rounded(l, l->step, gx, half, l->g), rounded(l, l->step, gate, half, l->g);
            if (l->mode == TC_RNN_LSTM)
                lstm_row(l, space, s ? AT(l->space, (before * l->b + b0 + r) * l->w + 4 * n) : AT(l->cx, (b0 + r) * n), h, tmp);
            else if (l->mode == TC_RNN_GRU) gru_row(l, gx, gate, space, AT(h_prev, r * n), h, tmp, half);
            else plain_row(l, gx, gate, h, half);
        }
        if (l->state) give_states(l, t, b0, b1);
    }
}
/* The states after the last step. */
static void give_last(const layer *l, const char *cx /* as it was given */) {
    const int64_t last = l->reverse ? 0 : l->t - 1, n = l->h;
    memcpy(l->hy, l->t ? HELD(l->out, last * l->b * n) : l->hx, (size_t)(l->b * n) * l->eh);
    if (l->mode != TC_RNN_LSTM) memset(l->cy, 0, (size_t)(l->b * n) * l->eh);
    else if (!l->t) memcpy(l->cy, cx, (size_t)(l->b * n) * l->eh);
    for (int64_t r = 0; r < l->b && l->mode == TC_RNN_LSTM && l->t; r++) {
        const char *cell = AT(l->space, (last * l->b + r) * l->w + 4 * n);
        if (l->state) l->isa->cast[l->dtype][l->held](HELD(l->cy, r * n), cell, n);
        else memcpy(AT(l->cy, r * n), cell, (size_t)n * l->e);
    }
}
static size_t forward_per_worker(const layer *l) {
    return room((size_t)l->h * l->e) + room((size_t)l->g * l->e) + room(l->gemm->work_bytes(TC_GEMM_MC, TC_GEMM_NC, l->h));
}
/* n elements of an argument in dtype: in scratch if they are of another. */
static const char *widened(const layer *l, tc_pool *pool, char **at, const char *p, int64_t n) {
    if (l->given == l->dtype || !p) return p;
    char *to = take(at, (size_t)n * l->e);
    tc_widen_all(l->isa, pool, l->given, p, n, (float *)(void *)to);
    return to;
}
static size_t widened_bytes(const layer *l) {
    const size_t states = 2 * room((size_t)(l->b * l->h) * l->e) + 2 * room((size_t)l->g * l->e); /* or near and narrow */
    if (l->given == l->dtype) return 0;
    return l->factor != l->dtype
               ? states
               : states + room((size_t)(l->t * l->b * l->i) * l->e) + room((size_t)(l->g * l->i) * l->e) + room((size_t)(l->g * l->h) * l->e);
}
static size_t forward_scratch(const tc_kcall *c, int threads) {
    layer l = read_layer(c, 5, 9);
    return room((size_t)(l.t * l.b * l.g) * l.e) + room((size_t)(l.b * l.g) * l.e) + room((size_t)l.g * l.e) + room((size_t)l.h * l.e) +
           packed_bytes(&l, l.g, l.h) + forward_per_worker(&l) * (size_t)threads + widened_bytes(&l) +
           tc_gemm_scratch(c->isa, l.factor, l.t * l.b, l.g, l.i, false, threads) + 256;
}
static tc_gemm by_hidden(const layer *l) { return (tc_gemm){.n = l->g, .k = l->h, .b = l->w_hh, .b_rs = 1, .b_cs = l->h}; }
/* w_ih and behind it w_hh ahead of time, where they are multiplied in the type that they are given in. */
static size_t input_bytes(const layer *l) { return room(tc_gemm_packed_bytes(l->isa, l->factor, l->g, l->i)); }
static size_t weights_bytes(const tc_kcall *c, int *out_arg) {
    const layer l = read_layer(c, 5, 9);
    *out_arg = 1;
    return l.factor == l.given && l.t * l.b <= TC_GEMM_PACK_ROWS ? input_bytes(&l) + packed_bytes(&l, l.g, l.h) : 0;
}
static void pack_weights(const tc_kcall *c, void *out) {
    const layer l = read_layer(c, 5, 9);
    tc_gemm_pack(l.isa, c->pool, &(tc_gemm){.dtype = l.factor, .n = l.g, .k = l.i, .b = l.w_ih, .b_rs = 1, .b_cs = l.i}, out);
    pack(&l, by_hidden(&l), (char *)out + input_bytes(&l));
}
static tc_status forward(tc_kcall *c) {
    layer l = read_layer(c, 5, 9);
    char *at = c->scratch;
    int threads = tc_pool_threads(c->pool);
    l.reverse = tc_k_bool(c, 7);
    l.out = tc_tensor_data(&c->outs[0]), l.hy = tc_tensor_data(&c->outs[1]), l.cy = tc_tensor_data(&c->outs[2]),
    l.space = tc_tensor_data(&c->outs[3]);
    l.gx = take(&at, (size_t)(l.t * l.b * l.g) * l.e), l.gh = take(&at, (size_t)(l.b * l.g) * l.e);
    char *bias = take(&at, (size_t)l.g * l.e);
    l.row = memset(take(&at, (size_t)l.h * l.e), 0, (size_t)l.h * l.e); /* what relu compares with */
    l.packed = take(&at, packed_bytes(&l, l.g, l.h));
    l.per_worker = forward_per_worker(&l), l.work = take(&at, l.per_worker * (size_t)threads);
    const char *cx = l.cx;
    if (l.held != l.dtype) { /* a state in place of what comes in */
        l.state = take(&at, (size_t)(l.b * l.h) * l.e);
        tc_widen_all(l.isa, c->pool, l.held, l.hx, l.b * l.h, (float *)(void *)l.state);
    } else if (l.given != l.dtype) l.near = take(&at, (size_t)(l.b * l.h) * l.e), l.narrow = take(&at, (size_t)(l.b * l.h) * l.e);
    l.cx = widened(&l, c->pool, &at, l.cx, l.b * l.h);
    l.b_ih = widened(&l, c->pool, &at, l.b_ih, l.g), l.b_hh = widened(&l, c->pool, &at, l.b_hh, l.g);
    if (l.factor == l.dtype)
        l.x = widened(&l, c->pool, &at, l.x, l.t * l.b * l.i), l.w_ih = widened(&l, c->pool, &at, l.w_ih, l.g * l.i),
        l.w_hh = widened(&l, c->pool, &at, l.w_hh, l.g * l.h);
    if (l.biases && !apart(&l)) l.op[TC_X_ADD](bias, l.b_ih, l.b_hh, NULL, l.g);
    else if (l.biases) memcpy(bias, l.b_ih, (size_t)l.g * l.e);
    product(&l, c->pool, at,
            (tc_gemm){.m = l.t * l.b,
                      .n = l.g,
                      .k = l.i,
                      .a = l.x,
                      .a_rs = l.i,
                      .a_cs = 1,
                      .b = l.w_ih,
                      .b_rs = 1,
                      .b_cs = l.i,
                      .c = l.gx,
                      .c_rs = l.g,
                      .add = l.biases ? bias : NULL,
                      .add_cs = 1,
                      .packed = c->packed,
                      .packed_type = l.factor});
    if (c->packed) l.packed = (char *)c->packed + input_bytes(&l);
    else pack(&l, by_hidden(&l), l.packed);
    tc_parallel_for(c->pool, l.b, grain(&l, threads), forward_rows, &l);
    give_last(&l, cx);
    return NULL;
}

/* ---- backward ---- */
/* d(pre-activation) of a sigmoid s: out = g s (1 - s); of a tanh y: out = g (1 - y^2). one: a row of ones. out is not an operand. */
static void through_sigmoid(const layer *l, char *out, const char *g, const char *s, const char *one) {
    OP(SUB, out, one, s, l->h), OP(MUL, out, out, s, l->h), OP(MUL, out, out, g, l->h);
}
static void through_tanh(const layer *l, char *out, const char *g, const char *y, const char *one) {
    OP(MUL, out, y, y, l->h), OP(SUB, out, one, out, l->h), OP(MUL, out, out, g, l->h);
}
static void lstm_back(const layer *l, const char *gates, const char *c_prev, const char *dh, char *dc, char *d, char *tmp, const char *one) {
    int64_t n = l->h;
    char *a = tmp, *b = AT(tmp, n);
    OP(TANH, a, AT(gates, 4 * n), NULL, n);
    OP(MUL, b, dh, a, n), through_sigmoid(l, AT(d, 3 * n), b, AT(gates, 3 * n), one);
    OP(MUL, b, dh, AT(gates, 3 * n), n), through_tanh(l, AT(d, 2 * n), b, a, one), OP(ADD, dc, dc, AT(d, 2 * n), n);
    OP(MUL, b, dc, AT(gates, 2 * n), n), through_sigmoid(l, d, b, gates, one);
    OP(MUL, b, dc, c_prev, n), through_sigmoid(l, AT(d, n), b, AT(gates, n), one);
    OP(MUL, b, dc, gates, n), through_tanh(l, AT(d, 2 * n), b, AT(gates, 2 * n), one);
    OP(MUL, dc, dc, AT(gates, n), n);
}
/* dx: gradients of gx, dhh: of h w_hh' + b; dh becomes what reaches h_prev directly */
static void gru_back(const layer *l, const char *space, const char *h_prev, char *dh, char *dx, char *dhh, char *tmp, const char *one) {
    int64_t n = l->h;
    const char *r = space, *z = AT(space, n), *nn = AT(space, 2 * n), *hn = AT(space, 3 * n);
    char *a = tmp;
    OP(SUB, a, h_prev, nn, n), OP(MUL, a, a, dh, n), through_sigmoid(l, AT(dx, n), a, z, one);
    OP(SUB, a, one, z, n), OP(MUL, a, a, dh, n), through_tanh(l, AT(dx, 2 * n), a, nn, one);
    OP(MUL, a, AT(dx, 2 * n), hn, n), through_sigmoid(l, dx, a, r, one);
    memcpy(dhh, dx, (size_t)(2 * n) * l->e), OP(MUL, AT(dhh, 2 * n), AT(dx, 2 * n), r, n);
    OP(MUL, dh, dh, z, n);
}
static void backward_rows(void *ctx, int64_t b0, int64_t b1, int worker) {
    const layer *l = ctx;
    char *work = l->work + l->per_worker * (size_t)worker, *tmp = work;
    const char *one = l->row;
    int64_t rows = b1 - b0, n = l->h;
    work += room((size_t)(2 * n) * l->e);
    for (int64_t s = l->t - 1; s >= 0; s--) {
        int64_t t = l->reverse ? l->t - 1 - s : s, before = l->reverse ? t + 1 : t - 1, at = t * l->b + b0;
        for (int64_t r = 0; r < rows; r++) {
            char *dh = AT(l->dh, (b0 + r) * n), *dx = AT(l->gx, (at + r) * l->g);
            const char *h_prev = AT(l->hprev, (at + r) * n), *space = AT(l->space, (at + r) * l->w);
            if (l->go) OP(ADD, dh, dh, AT(l->go, (at + r) * n), n);
            if (l->mode == TC_RNN_LSTM)
                lstm_back(l, space, s ? AT(l->space, (before * l->b + b0 + r) * l->w + 4 * n) : AT(l->cx, (b0 + r) * n), dh, AT(l->dc, (b0 + r) * n),
                          dx, tmp, one);
            else if (l->mode == TC_RNN_GRU) gru_back(l, space, h_prev, dh, dx, AT(l->gh, (at + r) * l->g), tmp, one);
            else if (l->mode == TC_RNN_TANH) through_tanh(l, dx, dh, AT(l->out, (at + r) * n), one);
            else OP(SIGN, dx, AT(l->out, (at + r) * n), NULL, n), OP(MUL, dx, dx, dh, n);
        }
        tc_gemm j = {.m = rows,
                     .n = n,
                     .k = l->g,
                     .a = AT(l->mode == TC_RNN_GRU ? l->gh : l->gx, at * l->g),
                     .a_rs = l->g,
                     .a_cs = 1,
                     .c = AT(l->dh, b0 * n),
                     .c_rs = n};
        if (l->mode == TC_RNN_GRU) { /* added to what reaches h_prev directly: kept apart, since c is written first */
            char *direct = AT(l->dc, b0 * n);
            memcpy(direct, AT(l->dh, b0 * n), (size_t)(rows * n) * l->e);
            j.add = direct, j.add_rs = n, j.add_cs = 1;
        }
        packed_product(l, j, work);
    }
}
static size_t backward_per_worker(const layer *l) {
    return room((size_t)(2 * l->h) * l->e) + room(l->gemm->work_bytes(TC_GEMM_MC, TC_GEMM_NC, l->g));
}
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t backward_scratch(const tc_kcall *c, int threads) {
    layer l = read_layer(c, 5, 14);
    int64_t tb = l.t * l.b;
    size_t products = tc_gemm_scratch(c->isa, l.dtype, tb, l.i, l.g, false, threads); /* the largest need of the three */
    products = larger(products, tc_gemm_scratch(c->isa, l.dtype, l.g, l.i, tb, false, threads));
    products = larger(products, tc_gemm_scratch(c->isa, l.dtype, l.g, l.h, tb, false, threads));
    return 2 * room((size_t)(tb * l.g) * l.e) + room((size_t)(tb * l.h) * l.e) + 2 * room((size_t)(l.b * l.h) * l.e) + room((size_t)l.h * l.e) +
           packed_bytes(&l, l.h, l.g) + backward_per_worker(&l) * (size_t)threads + products + 256;
}
static void give(const tc_kcall *c, int i, const char *from, size_t n) {
    if (i < c->nouts && c->outs[i].storage) memcpy(tc_tensor_data(&c->outs[i]), from, n);
}
/* A layer whose gradients begin with those of its last state. *scratch: what is left of the call's. */
static layer open_backward(const tc_kcall *c, int threads, char **scratch) {
    layer l = read_layer(c, 5, 14);
    char *at = c->scratch;
    int64_t tb = l.t * l.b, n = l.h;
    size_t state = (size_t)(l.b * n) * l.e;
    l.reverse = tc_k_bool(c, 13);
    l.out = tc_tensor_data(tc_k_tensor(c, 7)), l.space = tc_tensor_data(tc_k_tensor(c, 22));
    if (tc_k_given(c, 10)) l.go = tc_tensor_data(tc_k_tensor(c, 10));
    if (tc_k_given(c, 11)) l.ghy = tc_tensor_data(tc_k_tensor(c, 11));
    if (tc_k_given(c, 12)) l.gcy = tc_tensor_data(tc_k_tensor(c, 12));
    l.gx = take(&at, (size_t)(tb * l.g) * l.e), l.gh = take(&at, (size_t)(tb * l.g) * l.e), l.hprev = take(&at, (size_t)(tb * n) * l.e);
    l.dh = take(&at, state), l.dc = take(&at, state);
    char *ones = take(&at, (size_t)n * l.e);
    l.row = ones;
    double one64 = 1;
    float one32 = 1;
    c->isa->move->fill[l.e == 8 ? 3 : 2](ones, l.e == 8 ? (void *)&one64 : (void *)&one32, n);
    l.packed = take(&at, packed_bytes(&l, n, l.g));
    l.per_worker = backward_per_worker(&l), l.work = take(&at, l.per_worker * (size_t)threads);
    if (l.ghy) memcpy(l.dh, l.ghy, state);
    else memset(l.dh, 0, state);
    if (l.gcy && l.mode == TC_RNN_LSTM) memcpy(l.dc, l.gcy, state);
    else memset(l.dc, 0, state);
    for (int64_t t = 0; t < l.t; t++) { /* the hidden state that step t began with */
        int64_t before = l.reverse ? t + 1 : t - 1;
        memcpy(l.hprev + state * (size_t)t, before < 0 || before >= l.t ? l.hx : l.out + state * (size_t)before, state);
    }
    *scratch = at;
    return l;
}
/* Of the input and the weights, from those of the gates at all steps. */
static void input_and_weights(const layer *l, const tc_kcall *c, const char *gh, char *scratch) {
    const int64_t tb = l->t * l->b, n = l->h;
    product(l, c->pool, scratch,
            (tc_gemm){.m = tb,
                      .n = l->i,
                      .k = l->g,
                      .a = l->gx,
                      .a_rs = l->g,
                      .a_cs = 1,
                      .b = l->w_ih,
                      .b_rs = l->i,
                      .b_cs = 1,
                      .c = tc_tensor_data(&c->outs[0]),
                      .c_rs = l->i});
    product(l, c->pool, scratch,
            (tc_gemm){.m = l->g,
                      .n = l->i,
                      .k = tb,
                      .a = l->gx,
                      .a_rs = 1,
                      .a_cs = l->g,
                      .b = l->x,
                      .b_rs = l->i,
                      .b_cs = 1,
                      .c = tc_tensor_data(&c->outs[1]),
                      .c_rs = l->i});
    product(l, c->pool, scratch,
            (tc_gemm){.m = l->g,
                      .n = n,
                      .k = tb,
                      .a = gh,
                      .a_rs = 1,
                      .a_cs = l->g,
                      .b = l->hprev,
                      .b_rs = n,
                      .b_cs = 1,
                      .c = tc_tensor_data(&c->outs[2]),
                      .c_rs = n});
}
static tc_status backward(tc_kcall *c) {
    const int threads = tc_pool_threads(c->pool);
    char *scratch;
    layer l = open_backward(c, threads, &scratch);
    const int64_t tb = l.t * l.b, n = l.h;
    const size_t state = (size_t)(l.b * n) * l.e;
    pack(&l, (tc_gemm){.n = n, .k = l.g, .b = l.w_hh, .b_rs = n, .b_cs = 1}, l.packed);
    tc_parallel_for(c->pool, l.b, grain(&l, threads), backward_rows, &l);
    const char *gh = l.mode == TC_RNN_GRU ? l.gh : l.gx;
    input_and_weights(&l, c, gh, scratch);
    if (l.biases) {
        c->isa->reduce[l.dtype]->sum_cols(tc_tensor_data(&c->outs[3]), l.gx, tb, l.g, l.g);
        c->isa->reduce[l.dtype]->sum_cols(tc_tensor_data(&c->outs[4]), gh, tb, l.g, l.g);
    } else
        for (int i = 3; i < 5; i++) memset(tc_tensor_data(&c->outs[i]), 0, tc_tensor_bytes(&c->outs[i]));
    give(c, 5, l.dh, state);
    if (l.mode == TC_RNN_LSTM) give(c, 6, l.dc, state);
    else memset(tc_tensor_data(&c->outs[6]), 0, state);
    return NULL;
}

const tc_kernel tc_k_rnn_layer = {"rnn_layer", TC_KF_CONTIGUOUS, forward, forward_scratch, weights_bytes, pack_weights, .pack_more = 1};
const tc_kernel tc_k_rnn_layer_backward = {"rnn_layer_backward", TC_KF_CONTIGUOUS, backward, backward_scratch};
