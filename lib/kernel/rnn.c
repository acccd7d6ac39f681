/* Recurrent layers. Rows of the batch are independent: a worker runs all steps of its rows. Where there are fewer rows than threads can use, threads
 * split the hidden units instead, with a barrier after each step.
 *
 *     gx = input w_ih' + b      all steps at once
 *     step:  g = gx[t] + h w_hh';   LSTM: c = f c + i g, h = o tanh(c);   GRU: h = n + z (h - n), n = tanh(gx_n + r (h w_n' + b_n))
 *
 * Element-wise work is done by block primitives on rows, so that bits do not depend on the split.
 * With 16-bit types an LSTM keeps gates and cells in float32 and rounds h after each step, as oneDNN does; GRU and plain layers round the result of
 * every operation, as PyTorch's operators do. bfloat16 products use the CPU's instructions for them where it has any. */
#include "kernel/rnn.h"

#include <string.h>

#include "base/ints.h"
#include "kernel/gemm.h"
#include "kernel/isa.h"

typedef struct {
    const tc_isa_ops *isa;
    const tc_gemm_ops *gemm;
    const tc_block_fn *op;           /* scalar operations of the type */
    tc_dtype dtype;                  /* of gates and cells */
    tc_dtype in_type, factor;        /* of input and weights; of operands of products: dtype or in_type */
    tc_dtype state_type, round_type; /* of states: in_type, or float32 beside 16-bit weights; what each operation rounds to: dtype or in_type */
    size_t e, eh;                    /* bytes of an element of dtype, of state_type */
    int mode;
    bool reverse, biases;
    int64_t t, b, i, h, g, w; /* steps, batch, input size, hidden size, gates * hidden size, workspace elements of a row */
    const char *x, *w_ih, *w_hh, *b_ih, *b_hh, *hx, *cx;
    char *out, *hy, *cy, *space;
    const char *go, *ghy, *gcy;         /* backward */
    char *state;                        /* [b][h] after the previous step, in dtype; NULL where state_type is dtype: they are rows of out */
    char *rounded_state, *narrow_state; /* where state_type is wider than in_type: h rounded to in_type, stored as dtype and as in_type */
    char *gx, *gh, *hprev, *dh, *dc, *packed, *work;
    const char *row; /* h zeros (forward), ones (backward) */
    size_t per_worker;
} layer;

static char *take(char **at, size_t n) {
    char *p = *at;
    *at += tc_pad64(n);
    return p;
}
#define AT(p, index) ((p) + (size_t)(index)*l->e)
#define STATE_AT(p, index) ((p) + (size_t)(index)*l->eh)
#define OP(name, out, a, b, n) l->op[TC_X_##name](out, a, b, NULL, n)

/* Arguments by index: states: hx, then cx; mode: mode, then hidden_size. */
static layer read_layer(const tc_kcall *c, int states, int mode) {
    const tc_tensor *x = tc_k_tensor(c, 0);
    layer l = {.isa = c->isa,
               .dtype = x->dtype == TC_F64 ? TC_F64 : TC_F32,
               .in_type = x->dtype,
               .mode = (int)tc_k_int(c, mode),
               .t = x->size[0],
               .b = x->size[1],
               .i = x->size[2]};
    l.factor = l.in_type == TC_BF16 && c->isa->gemm_bf16 ? TC_BF16 : l.dtype;
    l.state_type = tc_k_tensor(c, states)->dtype, l.round_type = l.mode == TC_RNN_LSTM ? l.dtype : l.in_type;
    l.e = tc_dtype_size(l.dtype), l.eh = tc_dtype_size(l.state_type);
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
static void product(const layer *l, tc_pool *pool, void *scratch, tc_gemm j) {
    j.dtype = l->factor, j.alpha = j.beta = 1, j.c_cs = 1;
    tc_gemm_run_one(l->isa, pool, scratch, &j);
}
static size_t packed_bytes(const layer *l, int64_t n, int64_t k) { return tc_pad64(l->gemm->pack_bytes(n, k)); }
static void pack(const layer *l, tc_gemm j, char *at) {
    j.dtype = l->factor;
    l->gemm->pack(&j, 0, j.n, at);
}
/* Columns [c0, c1) of j.c = j.a times the packed operand, plus j.add, in the calling worker. c0 is the first column of a panel. */
static void packed_product(const layer *l, tc_gemm j, int64_t c0, int64_t c1, void *work) {
    j.dtype = l->factor, j.alpha = j.beta = 1, j.c_cs = 1;
    for (int64_t c = c0; c < c1; c += TC_GEMM_NC) {
        const int64_t nc = c1 - c < TC_GEMM_NC ? c1 - c : TC_GEMM_NC;
        const char *panels = l->packed + l->gemm->pack_bytes(c, j.k);
        for (int64_t r = 0; r < j.m; r += TC_GEMM_MC) l->gemm->block(&j, r, j.m - r < TC_GEMM_MC ? j.m - r : TC_GEMM_MC, c, nc, work, panels, 0);
    }
}
enum { FEW_ROWS = 4, STEP_FLOPS = 500000 }; /* rows that one worker takes at least; flops of a step from which on threads share it */
static int64_t grain(const layer *l, int threads) {
    int64_t share = (l->b + threads - 1) / threads;
    return share > FEW_ROWS ? share : FEW_ROWS;
}
/* Do threads split the hidden units? Each gate's units must begin a panel, and states must not be updated in place, as other threads still read
 * them. */
static bool by_units(const layer *l, int threads) {
    const bool few = (l->b + FEW_ROWS - 1) / FEW_ROWS < threads, in_place = l->state && l->factor == l->dtype;
    return few && !in_place && l->h % l->gemm->nr == 0 && l->h > l->gemm->nr && 2 * l->b * l->g * l->h >= STEP_FLOPS;
}
/* Rows [b0, b1) and hidden units [u0, u1). */
typedef struct {
    int64_t b0, b1, u0, u1;
} part;

/* ---- forward ---- */
/* The element-wise part of a step for one row. Pointers are to the first of `count` units; gates are l->h elements apart. gx, hh: products with the
 * input and with h. */
typedef struct {
    const char *gx, *h_prev, *c_prev;
    char *hh, *space, *h; /* space: the workspace row */
    char *tmp, *half;     /* scratch: count elements each */
    int64_t count;
} row;
/* The workspace row holds the gates and c. */
static void lstm_row(const layer *l, const row *x) {
    const int64_t n = l->h, count = x->count;
    const char *c_prev = x->c_prev;
    char *h = x->h, *tmp = x->tmp, *i = x->space, *f = AT(i, n), *g = AT(i, 2 * n), *o = AT(i, 3 * n), *c = AT(i, 4 * n);
    OP(SIGMOID, i, i, NULL, count), OP(SIGMOID, f, f, NULL, count), OP(TANH, g, g, NULL, count), OP(SIGMOID, o, o, NULL, count);
    OP(MUL, tmp, f, c_prev, count), OP(MUL, c, i, g, count), OP(ADD, c, tmp, c, count);
    OP(TANH, tmp, c, NULL, count), OP(MUL, h, o, tmp, count);
}
/* Rounds n values of x to `type`, in place; half: n elements of scratch. */
static void rounded(const layer *l, tc_dtype type, char *x, char *half, int64_t n) {
    if (type == l->dtype) return;
    l->isa->cast[l->dtype][type](half, x, n), l->isa->cast[type][l->dtype](x, half, n);
}
#define STEP(name, out, a, b, n) OP(name, out, a, b, n), rounded(l, l->round_type, out, half, n)
/* hh has the bias already. The workspace row gets r, z, n and hh's part of n. */
static void gru_row(const layer *l, const row *x) {
    const int64_t n = l->h, count = x->count;
    const char *gx = x->gx, *hh = x->hh, *h_prev = x->h_prev;
    char *space = x->space, *h = x->h, *tmp = x->tmp, *half = x->half, *nn = AT(space, 2 * n), *hn = AT(space, 3 * n);
    for (int64_t k = 0; k <= n; k += n) STEP(ADD, AT(space, k), AT(gx, k), AT(hh, k), count), STEP(SIGMOID, AT(space, k), AT(space, k), NULL, count);
    memcpy(hn, AT(hh, 2 * n), (size_t)count * l->e);
    STEP(MUL, tmp, space, hn, count), STEP(ADD, nn, AT(gx, 2 * n), tmp, count), STEP(TANH, nn, nn, NULL, count);
    OP(SUB, tmp, h_prev, nn, count), rounded(l, l->state_type, tmp, half, count);
    OP(MUL, tmp, AT(space, n), tmp, count), rounded(l, l->state_type, tmp, half, count);
    OP(ADD, h, nn, tmp, count);
}
/* gx is already in hh unless operations round. */
static void plain_row(const layer *l, const row *x) {
    const int64_t count = x->count;
    char *hh = x->hh, *half = x->half;
    if (l->round_type != l->dtype) STEP(ADD, hh, hh, x->gx, count);
    if (l->mode == TC_RNN_TANH) OP(TANH, x->h, hh, NULL, count);
    else OP(MAX, x->h, hh, l->row, count);
}
/* Are the products with the input and with h kept apart, because each is rounded or biased by itself? */
static bool rounds_products(const layer *l) { return l->mode == TC_RNN_GRU || l->round_type != l->dtype; }
/* Stores rows [b0, b1) of h after a step to out, rounded; the state becomes the rounded values too. */
static void store_states(const layer *l, int64_t t, int64_t b0, int64_t b1) {
    const int64_t count = (b1 - b0) * l->h;
    rounded(l, l->state_type, AT(l->state, b0 * l->h), STATE_AT(l->out, (t * l->b + b0) * l->h), count);
}
/* Rows [b0, b1) of h before a step as an operand of the product. h_prev: in dtype; state: in state_type. */
static const char *factor_rows(const layer *l, const char *h_prev, const char *state, int64_t b0, int64_t b1) {
    const int64_t at = b0 * l->h, count = (b1 - b0) * l->h;
    if (l->rounded_state) {
        char *narrow = l->narrow_state + (size_t)at * tc_dtype_size(l->in_type);
        l->isa->cast[l->dtype][l->in_type](narrow, h_prev, count);
        if (l->factor != l->dtype) return narrow;
        l->isa->cast[l->in_type][l->dtype](AT(l->rounded_state, at), narrow, count);
        return AT(l->rounded_state, at);
    }
    return l->factor == l->dtype ? h_prev : state;
}
/* A step: its position in time and that of the step before it. */
typedef struct {
    int64_t t, before;
    bool first;
} step;
static step step_of(const layer *l, int64_t s) {
    const int64_t t = l->reverse ? l->t - 1 - s : s;
    return (step){t, l->reverse ? t + 1 : t - 1, s == 0};
}
static const char *held_before(const layer *l, step s, int64_t b0) {
    return s.first ? STATE_AT(l->hx, b0 * l->h) : STATE_AT(l->out, (s.before * l->b + b0) * l->h);
}
static const char *state_before(const layer *l, step s, int64_t b0) { return l->state ? AT(l->state, b0 * l->h) : held_before(l, s, b0); }
static const char *factor_before(const layer *l, step s, int64_t b0, int64_t b1) {
    return factor_rows(l, state_before(l, s, b0), held_before(l, s, b0), b0, b1);
}
/* One step for a part. factor: rows of h before the step, from row b0 on, as an operand; work: the worker's scratch. */
static void forward_part(const layer *l, step s, part p, const char *factor, char *work) {
    const int64_t rows = p.b1 - p.b0, n = l->h, at = s.t * l->b + p.b0, count = p.u1 - p.u0, gates = l->g / n;
    char *tmp = work, *half = tmp + tc_pad64((size_t)n * l->e);
    work = half + tc_pad64((size_t)l->g * l->e);
    char *h_rows = l->state ? AT(l->state, p.b0 * n) : AT(l->out, at * n);
    tc_gemm j = {.m = rows, .n = l->g, .k = n, .a = factor, .a_rs = n, .a_cs = 1};
    char *out = l->mode == TC_RNN_LSTM ? AT(l->space, at * l->w) : l->mode == TC_RNN_GRU || l->state ? AT(l->gh, p.b0 * l->g) : h_rows;
    j.c = out, j.c_rs = l->mode == TC_RNN_LSTM ? l->w : l->g;
    if (rounds_products(l)) j.add = l->b_hh, j.add_cs = 1;
    else j.add = AT(l->gx, at * l->g), j.add_rs = l->g, j.add_cs = 1;
    if (count == n) packed_product(l, j, 0, l->g, work);
    else
        for (int64_t k = 0; k < gates; k++) packed_product(l, j, k * n + p.u0, k * n + p.u1, work);
    const char *h_prev = state_before(l, s, p.b0);
    for (int64_t r = 0; r < rows; r++) {
        char *h = AT(h_rows, r * n + p.u0), *space = AT(l->space, (at + r) * l->w + p.u0), *gate = AT(out, r * l->g + p.u0),
             *gx = AT(l->gx, (at + r) * l->g + p.u0);
        for (int64_t k = 0; k < gates && rounds_products(l); k++)
            rounded(l, l->round_type, AT(gx, k * n), half, count), rounded(l, l->round_type, AT(gate, k * n), half, count);
        const char *c_prev = s.first ? AT(l->cx, (p.b0 + r) * n + p.u0) : AT(l->space, (s.before * l->b + p.b0 + r) * l->w + 4 * n + p.u0);
        const row x = {gx, AT(h_prev, r * n + p.u0), c_prev, gate, space, h, tmp, half, count};
        (l->mode == TC_RNN_LSTM ? lstm_row : l->mode == TC_RNN_GRU ? gru_row : plain_row)(l, &x);
    }
}
static void forward_rows(void *ctx, int64_t b0, int64_t b1, int worker) {
    const layer *l = ctx;
    for (int64_t k = 0; k < l->t; k++) {
        const step s = step_of(l, k);
        forward_part(l, s, (part){b0, b1, 0, l->h}, factor_before(l, s, b0, b1), l->work + l->per_worker * (size_t)worker);
        if (l->state) store_states(l, s.t, b0, b1);
    }
}
typedef struct {
    const layer *l;
    step s;
    const char *factor;
} shared_step;
static void forward_units(void *ctx, int64_t begin, int64_t end, int worker) {
    const shared_step *d = ctx;
    const layer *l = d->l;
    const int nr = l->gemm->nr;
    forward_part(l, d->s, (part){0, l->b, begin * nr, end * nr}, d->factor, l->work + l->per_worker * (size_t)worker);
}
static void all_steps(const layer *l, tc_pool *pool) {
    const int threads = tc_pool_threads(pool);
    if (!by_units(l, threads)) {
        tc_parallel_for(pool, l->b, grain(l, threads), forward_rows, (void *)l);
        return;
    }
    for (int64_t k = 0; k < l->t; k++) {
        const step s = step_of(l, k);
        shared_step d = {l, s, factor_before(l, s, 0, l->b)};
        tc_parallel_for(pool, l->h / l->gemm->nr, 1, forward_units, &d);
        if (l->state) store_states(l, s.t, 0, l->b);
    }
}
/* Stores the states after the last step to hy and cy. */
static void store_last(const layer *l, const char *cx /* as it was given */) {
    const int64_t last = l->reverse ? 0 : l->t - 1, n = l->h;
    memcpy(l->hy, l->t ? STATE_AT(l->out, last * l->b * n) : l->hx, (size_t)(l->b * n) * l->eh);
    if (l->mode != TC_RNN_LSTM) memset(l->cy, 0, (size_t)(l->b * n) * l->eh);
    else if (!l->t) memcpy(l->cy, cx, (size_t)(l->b * n) * l->eh);
    for (int64_t r = 0; r < l->b && l->mode == TC_RNN_LSTM && l->t; r++) {
        const char *cell = AT(l->space, (last * l->b + r) * l->w + 4 * n);
        if (l->state) l->isa->cast[l->dtype][l->state_type](STATE_AT(l->cy, r * n), cell, n);
        else memcpy(AT(l->cy, r * n), cell, (size_t)n * l->e);
    }
}
static size_t forward_per_worker(const layer *l) {
    return tc_pad64((size_t)l->h * l->e) + tc_pad64((size_t)l->g * l->e) + tc_pad64(l->gemm->work_bytes(TC_GEMM_MC, TC_GEMM_NC, l->h));
}
/* n elements of an argument in dtype: in scratch if they are of another. */
static const char *widened(const layer *l, tc_pool *pool, char **at, const char *p, int64_t n) {
    if (l->in_type == l->dtype || !p) return p;
    char *to = take(at, (size_t)n * l->e);
    tc_widen_all(l->isa, pool, l->in_type, p, n, (float *)(void *)to);
    return to;
}
static size_t widened_bytes(const layer *l) {
    const size_t states = 2 * tc_pad64((size_t)(l->b * l->h) * l->e) + 2 * tc_pad64((size_t)l->g * l->e); /* or near and narrow */
    if (l->in_type == l->dtype) return 0;
    return l->factor != l->dtype ? states
                                 : states + tc_pad64((size_t)(l->t * l->b * l->i) * l->e) + tc_pad64((size_t)(l->g * l->i) * l->e) +
                                       tc_pad64((size_t)(l->g * l->h) * l->e);
}
static size_t forward_scratch(const tc_kcall *c, int threads) {
    layer l = read_layer(c, 5, 9);
    return tc_pad64((size_t)(l.t * l.b * l.g) * l.e) + tc_pad64((size_t)(l.b * l.g) * l.e) + tc_pad64((size_t)l.g * l.e) +
           tc_pad64((size_t)l.h * l.e) + packed_bytes(&l, l.g, l.h) + forward_per_worker(&l) * (size_t)threads + widened_bytes(&l) +
           tc_gemm_scratch(c->isa, l.factor, l.t * l.b, l.g, l.i, false, threads) + 256;
}
static tc_gemm by_hidden(const layer *l) { return (tc_gemm){.n = l->g, .k = l->h, .b = l->w_hh, .b_rs = 1, .b_cs = l->h}; }
/* Weights can be packed ahead of time, w_ih and behind it w_hh, where products take them in the type they have. */
static size_t input_bytes(const layer *l) { return tc_pad64(tc_gemm_packed_bytes(l->isa, l->factor, l->g, l->i)); }
static size_t weights_bytes(const tc_kcall *c, int *out_arg) {
    const layer l = read_layer(c, 5, 9);
    *out_arg = 1;
    return l.factor == l.in_type && l.t * l.b <= TC_GEMM_PACK_ROWS ? input_bytes(&l) + packed_bytes(&l, l.g, l.h) : 0;
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
    l.row = memset(take(&at, (size_t)l.h * l.e), 0, (size_t)l.h * l.e); /* zeros, for relu */
    l.packed = take(&at, packed_bytes(&l, l.g, l.h));
    l.per_worker = forward_per_worker(&l), l.work = take(&at, l.per_worker * (size_t)threads);
    const char *cx = l.cx;
    if (l.state_type != l.dtype) { /* the state in dtype, instead of hx itself */
        l.state = take(&at, (size_t)(l.b * l.h) * l.e);
        tc_widen_all(l.isa, c->pool, l.state_type, l.hx, l.b * l.h, (float *)(void *)l.state);
    } else if (l.in_type != l.dtype) l.rounded_state = take(&at, (size_t)(l.b * l.h) * l.e), l.narrow_state = take(&at, (size_t)(l.b * l.h) * l.e);
    l.cx = widened(&l, c->pool, &at, l.cx, l.b * l.h);
    l.b_ih = widened(&l, c->pool, &at, l.b_ih, l.g), l.b_hh = widened(&l, c->pool, &at, l.b_hh, l.g);
    if (l.factor == l.dtype)
        l.x = widened(&l, c->pool, &at, l.x, l.t * l.b * l.i), l.w_ih = widened(&l, c->pool, &at, l.w_ih, l.g * l.i),
        l.w_hh = widened(&l, c->pool, &at, l.w_hh, l.g * l.h);
    if (l.biases && !rounds_products(&l)) l.op[TC_X_ADD](bias, l.b_ih, l.b_hh, NULL, l.g);
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
    all_steps(&l, c->pool);
    store_last(&l, cx);
    return NULL;
}

/* ---- backward ---- */
/* Gradients through an activation: sigmoid, out = g s (1 - s); tanh, out = g (1 - y^2). one: a row of ones. out must not be g, s or y. */
static void through_sigmoid(const layer *l, char *out, const char *g, const char *s, const char *one, int64_t count) {
    OP(SUB, out, one, s, count), OP(MUL, out, out, s, count), OP(MUL, out, out, g, count);
}
static void through_tanh(const layer *l, char *out, const char *g, const char *y, const char *one, int64_t count) {
    OP(MUL, out, y, y, count), OP(SUB, out, one, out, count), OP(MUL, out, out, g, count);
}
/* The same of the gradients. dx: those of gx. */
typedef struct {
    const char *space, *h_prev, *c_prev;
    char *dh, *dc, *dx, *dhh;
    char *tmp; /* 2 h elements of scratch */
    int64_t count;
} row_back;
static void lstm_back(const layer *l, const row_back *x) {
    const int64_t n = l->h, count = x->count;
    const char *one = l->row, *gates = x->space, *c_prev = x->c_prev, *dh = x->dh;
    char *dc = x->dc, *d = x->dx, *a = x->tmp, *b = AT(x->tmp, n);
    OP(TANH, a, AT(gates, 4 * n), NULL, count);
    OP(MUL, b, dh, a, count), through_sigmoid(l, AT(d, 3 * n), b, AT(gates, 3 * n), one, count);
    OP(MUL, b, dh, AT(gates, 3 * n), count), through_tanh(l, AT(d, 2 * n), b, a, one, count), OP(ADD, dc, dc, AT(d, 2 * n), count);
    OP(MUL, b, dc, AT(gates, 2 * n), count), through_sigmoid(l, d, b, gates, one, count);
    OP(MUL, b, dc, c_prev, count), through_sigmoid(l, AT(d, n), b, AT(gates, n), one, count);
    OP(MUL, b, dc, gates, count), through_tanh(l, AT(d, 2 * n), b, AT(gates, 2 * n), one, count);
    OP(MUL, dc, dc, AT(gates, n), count);
}
/* dhh: the gradient of h w_hh' + b_hh. dh is replaced by its direct part for h_prev, dh z. */
static void gru_back(const layer *l, const row_back *x) {
    const int64_t n = l->h, count = x->count;
    const char *space = x->space, *h_prev = x->h_prev, *r = space, *z = AT(space, n), *nn = AT(space, 2 * n), *hn = AT(space, 3 * n), *one = l->row;
    char *dh = x->dh, *dx = x->dx, *dhh = x->dhh, *a = x->tmp;
    OP(SUB, a, h_prev, nn, count), OP(MUL, a, a, dh, count), through_sigmoid(l, AT(dx, n), a, z, one, count);
    OP(SUB, a, one, z, count), OP(MUL, a, a, dh, count), through_tanh(l, AT(dx, 2 * n), a, nn, one, count);
    OP(MUL, a, AT(dx, 2 * n), hn, count), through_sigmoid(l, dx, a, r, one, count);
    memcpy(dhh, dx, (size_t)count * l->e), memcpy(AT(dhh, n), AT(dx, n), (size_t)count * l->e), OP(MUL, AT(dhh, 2 * n), AT(dx, 2 * n), r, count);
    OP(MUL, dh, dh, z, count);
}
/* Gradients of a step's gates from those of its h and c. */
static void gates_back(const layer *l, step s, part p, char *tmp) {
    const int64_t n = l->h, at = s.t * l->b + p.b0, count = p.u1 - p.u0;
    for (int64_t r = 0; r < p.b1 - p.b0; r++) {
        char *dh = AT(l->dh, (p.b0 + r) * n + p.u0), *dc = AT(l->dc, (p.b0 + r) * n + p.u0), *dx = AT(l->gx, (at + r) * l->g + p.u0);
        const char *h_prev = AT(l->hprev, (at + r) * n + p.u0), *space = AT(l->space, (at + r) * l->w + p.u0), *out = AT(l->out, (at + r) * n + p.u0);
        const char *c_prev = s.first ? AT(l->cx, (p.b0 + r) * n + p.u0) : AT(l->space, (s.before * l->b + p.b0 + r) * l->w + 4 * n + p.u0);
        if (l->go) OP(ADD, dh, dh, AT(l->go, (at + r) * n + p.u0), count);
        const row_back x = {space, h_prev, c_prev, dh, dc, dx, l->gh ? AT(l->gh, (at + r) * l->g + p.u0) : NULL, tmp, count};
        if (l->mode == TC_RNN_LSTM) lstm_back(l, &x);
        else if (l->mode == TC_RNN_GRU) gru_back(l, &x);
        else if (l->mode == TC_RNN_TANH) through_tanh(l, dx, dh, out, l->row, count);
        else OP(SIGN, dx, out, NULL, count), OP(MUL, dx, dx, dh, count);
    }
}
/* Then the gradient of h before the step, which needs the gates' gradients for all units. */
static void states_back(const layer *l, step s, part p, char *work) {
    const int64_t n = l->h, at = s.t * l->b + p.b0, rows = p.b1 - p.b0;
    char *dh = AT(l->dh, p.b0 * n), *direct = AT(l->dc, p.b0 * n);
    tc_gemm j = {
        .m = rows, .n = n, .k = l->g, .a = AT(l->mode == TC_RNN_GRU ? l->gh : l->gx, at * l->g), .a_rs = l->g, .a_cs = 1, .c = dh, .c_rs = n};
    if (l->mode == TC_RNN_GRU) { /* the direct part is added; in a buffer of its own, because the product overwrites dh */
        for (int64_t r = 0; r < rows; r++) memcpy(AT(direct, r * n + p.u0), AT(dh, r * n + p.u0), (size_t)(p.u1 - p.u0) * l->e);
        j.add = direct, j.add_rs = n, j.add_cs = 1;
    }
    packed_product(l, j, p.u0, p.u1, work);
}
static char *products_work(const layer *l, int worker) { return l->work + l->per_worker * (size_t)worker + tc_pad64((size_t)(2 * l->h) * l->e); }
static void backward_rows(void *ctx, int64_t b0, int64_t b1, int worker) {
    const layer *l = ctx;
    const part p = {b0, b1, 0, l->h};
    for (int64_t s = l->t - 1; s >= 0; s--) {
        gates_back(l, step_of(l, s), p, l->work + l->per_worker * (size_t)worker);
        states_back(l, step_of(l, s), p, products_work(l, worker));
    }
}
/* Split by units: first the gradient of h from the step after s, then the gates of step s. s = -1: only the former. */
typedef struct {
    const layer *l;
    int64_t s;
} step_back;
static void backward_units(void *ctx, int64_t begin, int64_t end, int worker) {
    const step_back *d = ctx;
    const layer *l = d->l;
    const part p = {0, l->b, begin * l->gemm->nr, end * l->gemm->nr};
    if (d->s + 1 < l->t) states_back(l, step_of(l, d->s + 1), p, products_work(l, worker));
    if (d->s >= 0) gates_back(l, step_of(l, d->s), p, l->work + l->per_worker * (size_t)worker);
}
static void all_steps_back(const layer *l, tc_pool *pool) {
    const int threads = tc_pool_threads(pool);
    if (!by_units(l, threads)) tc_parallel_for(pool, l->b, grain(l, threads), backward_rows, (void *)l);
    else
        for (int64_t s = l->t - 1; s >= -1; s--) tc_parallel_for(pool, l->h / l->gemm->nr, 1, backward_units, &(step_back){l, s});
}
static size_t backward_per_worker(const layer *l) {
    return tc_pad64((size_t)(2 * l->h) * l->e) + tc_pad64(l->gemm->work_bytes(TC_GEMM_MC, TC_GEMM_NC, l->g));
}
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static size_t backward_scratch(const tc_kcall *c, int threads) {
    layer l = read_layer(c, 5, 14);
    int64_t tb = l.t * l.b;
    size_t products = tc_gemm_scratch(c->isa, l.dtype, tb, l.i, l.g, false, threads); /* the largest need of the three */
    products = max_size(products, tc_gemm_scratch(c->isa, l.dtype, l.g, l.i, tb, false, threads));
    products = max_size(products, tc_gemm_scratch(c->isa, l.dtype, l.g, l.h, tb, false, threads));
    return 2 * tc_pad64((size_t)(tb * l.g) * l.e) + tc_pad64((size_t)(tb * l.h) * l.e) + 2 * tc_pad64((size_t)(l.b * l.h) * l.e) +
           tc_pad64((size_t)l.h * l.e) + packed_bytes(&l, l.h, l.g) + backward_per_worker(&l) * (size_t)threads + products + 256;
}
static void copy_result(const tc_kcall *c, int i, const char *from, size_t n) {
    if (i < c->nouts && c->outs[i].storage) memcpy(tc_tensor_data(&c->outs[i]), from, n);
}
/* Reads the arguments, lays out scratch, and sets dh and dc to the gradients of the last state. *scratch: the rest of the call's scratch. */
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
    for (int64_t t = 0; t < l.t; t++) { /* hprev[t]: the state before step t */
        int64_t before = l.reverse ? t + 1 : t - 1;
        memcpy(l.hprev + state * (size_t)t, before < 0 || before >= l.t ? l.hx : l.out + state * (size_t)before, state);
    }
    *scratch = at;
    return l;
}
/* Gradients of the input and the weights, from those of the gates at all steps. */
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
    all_steps_back(&l, c->pool);
    const char *gh = l.mode == TC_RNN_GRU ? l.gh : l.gx;
    input_and_weights(&l, c, gh, scratch);
    if (l.biases) {
        c->isa->reduce[l.dtype]->sum_cols(tc_tensor_data(&c->outs[3]), l.gx, tb, l.g, l.g);
        c->isa->reduce[l.dtype]->sum_cols(tc_tensor_data(&c->outs[4]), gh, tb, l.g, l.g);
    } else
        for (int i = 3; i < 5; i++) memset(tc_tensor_data(&c->outs[i]), 0, tc_tensor_bytes(&c->outs[i]));
    copy_result(c, 5, l.dh, state);
    if (l.mode == TC_RNN_LSTM) copy_result(c, 6, l.dc, state);
    else memset(tc_tensor_data(&c->outs[6]), 0, state);
    return NULL;
}

const tc_kernel tc_k_rnn_layer = {"rnn_layer", TC_KF_CONTIGUOUS, forward, forward_scratch, weights_bytes, pack_weights, .pack_more = 1};
const tc_kernel tc_k_rnn_layer_backward = {"rnn_layer_backward", TC_KF_CONTIGUOUS, backward, backward_scratch};
