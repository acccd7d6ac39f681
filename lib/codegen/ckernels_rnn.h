/* One layer and direction of an LSTM, GRU or Elman RNN as portable C (--to c): same bits as lib/kernel/rnn.c. Included by ckernels.h, whose matrix
 * product it calls. */
#include <stdint.h>

/* Operands of 16-bit types arrive as float32 copies; h is rounded to the 16-bit type after each step, and GRU and Elman cells round every operation, as
 * in PyTorch. */
enum { TC_C_RNN_BF16 = 1, TC_C_RNN_F16 };
static inline float tc_c_rnn_round_f32(int32_t type, float x) {
    return type == TC_C_RNN_BF16 ? tc_x_cast_bf16_f32(tc_x_cast_f32_bf16(x)) : type == TC_C_RNN_F16 ? tc_x_cast_f16_f32(tc_x_cast_f32_f16(x)) : x;
}
static inline double tc_c_rnn_round_f64(int32_t type, double x) {
    (void)type;
    return x;
}
/* x: t b i; weights: gates * h rows of i and of h; states: b h; out: t b h; space: t b rows of gates as used, and the cell (LSTM) or the
 * hidden part of n (GRU). mode: 0 relu, 1 tanh, 2 LSTM (gates i f g o), 3 GRU (gates r z n). scratch: ((t b + b + 1) gates + b) * h elements. */
typedef struct {
    int64_t t, b, i, h;
    int32_t mode, reverse, round, step; /* 0, or to which type states and operations are rounded */
} tc_c_rnn;
#define AS(S, what, x) tc_c_rnn_round_##S(c->what, x)
#define ROW(S, T)                                                                                                                             \
    static inline void tc_c_rnn_step_##S(const tc_c_rnn *c, const T *gate, const T *gx, const T *h_prev, const T *c_prev, T *out, T *space) { \
        const int64_t n = c->h;                                                                                                               \
        for (int64_t k = 0; k < n; k++) {                                                                                                     \
            const T sum = c->step ? AS(S, step, AS(S, step, gate[k]) + AS(S, step, gx[k])) : gate[k];                                         \
            if (c->mode == 0) out[k] = tc_x_max_##S(sum, 0);                                                                                  \
            if (c->mode == 1) out[k] = tc_x_tanh_##S(sum);                                                                                    \
            if (c->mode == 2) {                                                                                                               \
                const T i = tc_x_sigmoid_##S(gate[k]), f = tc_x_sigmoid_##S(gate[n + k]), g = tc_x_tanh_##S(gate[2 * n + k]);                 \
                const T o = tc_x_sigmoid_##S(gate[3 * n + k]), kept = f * c_prev[k], in = i * g, cell = kept + in;                            \
                out[k] = o * tc_x_tanh_##S(cell);                                                                                             \
                space[k] = i, space[n + k] = f, space[2 * n + k] = g, space[3 * n + k] = o, space[4 * n + k] = cell;                          \
            }                                                                                                                                 \
            if (c->mode == 3) {                                                                                                               \
                T y[2];                                                                                                                       \
                for (int64_t j = 0; j < 2; j++) {                                                                                             \
                    const T from = AS(S, step, gx[j * n + k]), to = AS(S, step, gate[j * n + k]);                                             \
                    y[j] = AS(S, step, tc_x_sigmoid_##S(AS(S, step, from + to)));                                                             \
                }                                                                                                                             \
                const T hn = AS(S, step, gate[2 * n + k]), part = AS(S, step, y[0] * hn), from = AS(S, step, gx[2 * n + k]);                  \
                const T m = AS(S, step, tc_x_tanh_##S(AS(S, step, from + part))), apart = AS(S, round, h_prev[k] - m);                        \
                const T change = AS(S, round, y[1] * apart);                                                                                  \
                out[k] = m + change;                                                                                                          \
                space[k] = y[0], space[n + k] = y[1], space[2 * n + k] = m, space[3 * n + k] = hn;                                            \
            }                                                                                                                                 \
            out[k] = AS(S, round, out[k]);                                                                                                    \
        }                                                                                                                                     \
    }                                                                                                                                         \
    static inline void tc_c_rnn_##S(const tc_c_rnn *c, const T *x, const T *w_ih, const T *w_hh, const T *b_ih, const T *b_hh, const T *hx,   \
                                    const T *cx, T *out, T *hy, T *cy, T *space, T *scratch) {                                                \
        const int64_t n = c->h, g = c->mode == 2 ? 4 * n : c->mode == 3 ? 3 * n : n, w = c->mode == 2 ? 5 * n : c->mode == 3 ? 4 * n : 0;     \
        const int32_t apart = c->mode == 3 || c->step; /* the products with the input and with h */                                           \
        T *const gx = scratch, *const gate = gx + c->t * c->b * g, *const bias = gate + c->b * g, *const near = bias + g;                     \
        const tc_c_product input = {1, c->t * c->b, g, c->i, 0, c->i, 1, 0, 1, c->i, 0, 0, 1, 1, 1};                                          \
        const tc_c_product hidden = {1, c->b, g, n, 0, n, 1, 0, 1, n, 0, apart ? 0 : g, 1, 1, 1};                                             \
        for (int64_t k = 0; b_ih && k < g; k++) bias[k] = apart ? b_ih[k] : b_ih[k] + b_hh[k];                                                \
        tc_c_product_##S(&input, x, w_ih, b_ih ? bias : 0, gx);                                                                               \
        for (int64_t s = 0; s < c->t; s++) {                                                                                                  \
            const int64_t t = c->reverse ? c->t - 1 - s : s, before = c->reverse ? t + 1 : t - 1;                                             \
            const T *const h_prev = s ? out + before * c->b * n : hx;                                                                         \
            for (int64_t k = 0; c->step && k < c->b * n; k++) near[k] = AS(S, step, h_prev[k]);                                               \
            tc_c_product_##S(&hidden, c->step ? near : h_prev, w_hh, apart ? b_hh : gx + t * c->b * g, gate);                                 \
            for (int64_t r = 0; r < c->b; r++)                                                                                                \
                tc_c_rnn_step_##S(c, gate + r * g, gx + (t * c->b + r) * g, h_prev + r * n,                                                   \
                                  c->mode != 2 ? 0                                                                                            \
                                  : s          ? space + (before * c->b + r) * w + 4 * n                                                      \
                                               : cx + r * n,                                                                                           \
                                  out + (t * c->b + r) * n, space + (t * c->b + r) * w);                                                      \
        }                                                                                                                                     \
        const int64_t last = c->reverse ? 0 : c->t - 1;                                                                                       \
        for (int64_t r = 0; r < c->b; r++)                                                                                                    \
            for (int64_t k = 0; k < n; k++) {                                                                                                 \
                hy[r * n + k] = c->t ? out[(last * c->b + r) * n + k] : hx[r * n + k];                                                        \
                cy[r * n + k] = c->mode != 2 ? 0 : c->t ? space[(last * c->b + r) * w + 4 * n + k] : cx[r * n + k];                           \
            }                                                                                                                                 \
    }
ROW(f32, float)
ROW(f64, double)
#undef ROW
#undef AS
