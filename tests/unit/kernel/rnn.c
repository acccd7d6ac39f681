/* Recurrent layers: values against the formulas written out in float64, gradients against finite differences, equal bits for every
 * instruction set and thread count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernel/rnn.h"
#include "kcall.h"

enum { T = 4, B = 17, I = 5, H = 6 };
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* p: input, w_ih, w_hh, b_ih, b_hh, hx, cx */
static void slow(int mode, bool reverse, double *const *p, double *out, double *hy, double *cy) {
    int g = tc_rnn_gates(mode);
    for (int b = 0; b < B; b++) {
        double h[H], c[H];
        for (int i = 0; i < H; i++) h[i] = p[5][b * H + i], c[i] = p[6][b * H + i];
        for (int s = 0; s < T; s++) {
            int t = reverse ? T - 1 - s : s;
            double x[4 * H], y[4 * H];
            for (int j = 0; j < g * H; j++) {
                x[j] = p[3][j], y[j] = p[4][j];
                for (int k = 0; k < I; k++) x[j] += p[0][(t * B + b) * I + k] * p[1][j * I + k];
                for (int k = 0; k < H; k++) y[j] += h[k] * p[2][j * H + k];
            }
            for (int i = 0; i < H; i++) {
                if (mode == TC_RNN_LSTM) {
                    c[i] = sigmoid(x[H + i] + y[H + i]) * c[i] + sigmoid(x[i] + y[i]) * tanh(x[2 * H + i] + y[2 * H + i]);
                    h[i] = sigmoid(x[3 * H + i] + y[3 * H + i]) * tanh(c[i]);
                } else if (mode == TC_RNN_GRU) {
                    double n = tanh(x[2 * H + i] + sigmoid(x[i] + y[i]) * y[2 * H + i]);
                    h[i] = n + sigmoid(x[H + i] + y[H + i]) * (h[i] - n);
                } else h[i] = mode == TC_RNN_TANH ? tanh(x[i] + y[i]) : fmax(x[i] + y[i], 0);
                out[(t * B + b) * H + i] = h[i];
            }
        }
        for (int i = 0; i < H; i++) hy[b * H + i] = h[i], cy[b * H + i] = mode == TC_RNN_LSTM ? c[i] : 0;
    }
}

static void check(int mode, bool reverse) {
    int64_t g = tc_rnn_gates(mode) * H, sizes[7][3] = {{T, B, I}, {g, I, 0}, {g, H, 0}, {g, 0, 0}, {g, 0, 0}, {1, B, H}, {1, B, H}}, counts[7];
    int ranks[7] = {3, 2, 2, 1, 1, 3, 3};
    tc_tensor in[7], grads[7], gref[7], out[4], ref[4], go = ktensor(TC_F64, 3, (int64_t[]){T, B, H}), gh = ktensor(TC_F64, 3, (int64_t[]){1, B, H}),
                                                        gc = ktensor(TC_F64, 3, (int64_t[]){1, B, H});
    double *p[7];
    for (int i = 0; i < 7; i++) {
        in[i] = ktensor(TC_F64, ranks[i], sizes[i]), grads[i] = ktensor(TC_F64, ranks[i], sizes[i]), gref[i] = ktensor(TC_F64, ranks[i], sizes[i]);
        p[i] = in[i].storage->data, counts[i] = (int64_t)(in[i].storage->bytes / 8);
    }
    int64_t os[4][3] = {{T, B, H}, {1, B, H}, {1, B, H}, {T, B, tc_rnn_workspace(mode, H)}};
    for (int i = 0; i < 4; i++) out[i] = ktensor(TC_F64, 3, os[i]), ref[i] = ktensor(TC_F64, 3, os[i]);
    tc_karg none = {.kind = TC_K_INTS};
    for (int r = 0, run = 0; r < TC_ROW_COUNT; r++)
        for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5, run++) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_tensor *o = run ? out : ref, *gr = run ? grads : gref;
            tc_karg f[] = {karg_t(&in[0]), karg_t(&in[1]),  karg_t(&in[2]), karg_t(&in[3]), karg_t(&in[4]), karg_t(&in[5]),
                           karg_t(&in[6]), karg_i(reverse), none,           karg_i(mode),   karg_i(H),      karg_i(1),
                           karg_i(1),      karg_i(0),       karg_i(0),      karg_i(1)};
            assert_null(krun(&tc_k_rnn_layer, f, 16, o, 4, (tc_isa_row)r, threads, NULL));
            tc_karg b[] = {karg_t(&in[0]), karg_t(&in[1]),  karg_t(&in[2]), karg_t(&in[3]), karg_t(&in[4]), karg_t(&in[5]),
                           karg_t(&in[6]), karg_t(&o[0]),   karg_t(&o[1]),  karg_t(&o[2]),  karg_t(&go),    karg_t(&gh),
                           karg_t(&gc),    karg_i(reverse), karg_i(mode),   karg_i(H),      karg_i(1),      karg_i(1),
                           karg_i(1),      karg_i(0),       none,           karg_i(0),      karg_t(&o[3])};
            assert_null(krun(&tc_k_rnn_layer_backward, b, 23, gr, 7, (tc_isa_row)r, threads, NULL));
            for (int i = 0; i < 4 && run; i++) assert_memory_equal(out[i].storage->data, ref[i].storage->data, out[i].storage->bytes);
            for (int i = 0; i < 7 && run; i++) assert_memory_equal(grads[i].storage->data, gref[i].storage->data, grads[i].storage->bytes);
        }
    static double y[T * B * H], hy[B * H], cy[B * H];
    slow(mode, reverse, p, y, hy, cy);
    for (int i = 0; i < T * B * H; i++) assert_true(fabs(y[i] - ((double *)ref[0].storage->data)[i]) < 1e-12);
    for (int i = 0; i < B * H; i++)
        assert_true(fabs(hy[i] - ((double *)ref[1].storage->data)[i]) < 1e-12 && fabs(cy[i] - ((double *)ref[2].storage->data)[i]) < 1e-12);
    for (int a = 0; a < 7; a++)
        for (int64_t k = 0; k < counts[a]; k += 1 + counts[a] / 7) {
            double loss[2], keep = p[a][k];
            for (int s = 0; s < 2; s++) {
                p[a][k] = keep + (s ? 1e-6 : -1e-6);
                slow(mode, reverse, p, y, hy, cy);
                loss[s] = 0;
                for (int i = 0; i < T * B * H; i++) loss[s] += y[i] * ((double *)go.storage->data)[i];
                for (int i = 0; i < B * H; i++) loss[s] += hy[i] * ((double *)gh.storage->data)[i] + cy[i] * ((double *)gc.storage->data)[i];
            }
            p[a][k] = keep;
            double want = (loss[1] - loss[0]) / 2e-6, got = ((double *)gref[a].storage->data)[k];
            if (!(fabs(want - got) < 1e-6 * (1 + fabs(want))))
                fail_msg("mode %d, gradient of argument %d at %lld: %g, expected %g", mode, a, (long long)k, got, want);
        }
    for (int i = 0; i < 7; i++) kfree(&in[i]), kfree(&grads[i]), kfree(&gref[i]);
    for (int i = 0; i < 4; i++) kfree(&out[i]), kfree(&ref[i]);
    kfree(&go), kfree(&gh), kfree(&gc);
}
static void lstm(void **s) { (void)s, check(TC_RNN_LSTM, false), check(TC_RNN_LSTM, true); }
static void gru(void **s) { (void)s, check(TC_RNN_GRU, false), check(TC_RNN_GRU, true); }
static void plain(void **s) { (void)s, check(TC_RNN_TANH, false), check(TC_RNN_RELU, true); }

static tc_isa_row best_row(void) {
    tc_isa_row row;
    assert_null(tc_isa_choose(NULL, &row));
    return row;
}
/* Products of every proportion: few or many columns beside few or many rows, each within the scratch that was asked for. */
static void proportions(void **state) {
    static const int64_t sizes[][4] = {{100, 3, 1, 5}, {300, 1, 1, 16}, {40, 16, 200, 64}, {1, 2, 300, 2}, {3, 130, 7, 65}};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int64_t *n = sizes[k], g = tc_rnn_gates(TC_RNN_LSTM) * n[3];
        const int64_t shape[][3] = {{n[0], n[1], n[2]}, {g, n[2]}, {g, n[3]}, {g}, {g}, {1, n[1], n[3]}, {1, n[1], n[3]}};
        const int64_t os[][3] = {{n[0], n[1], n[3]}, {1, n[1], n[3]}, {1, n[1], n[3]}, {n[0], n[1], tc_rnn_workspace(TC_RNN_LSTM, n[3])}};
        const int ranks[] = {3, 2, 2, 1, 1, 3, 3};
        tc_tensor in[7], grads[2][7], out[4], go = ktensor(TC_F32, 3, os[0]), none_of = ktensor(TC_F32, 3, os[1]);
        for (int i = 0; i < 7; i++) {
            in[i] = ktensor(TC_F32, ranks[i], shape[i]);
            for (int t = 0; t < 2; t++) grads[t][i] = ktensor(TC_F32, ranks[i], shape[i]);
        }
        for (int i = 0; i < 4; i++) out[i] = ktensor(TC_F32, 3, os[i]);
        tc_karg none = {.kind = TC_K_INTS}, f[23] = {{0}};
        for (int t = 0; t < 2; t++) {
            for (int i = 0; i < 7; i++) f[i] = karg_t(&in[i]);
            tc_karg forward[] = {karg_i(0), none, karg_i(TC_RNN_LSTM), karg_i(n[3]), karg_i(1), karg_i(1), karg_i(0), karg_i(0), karg_i(1)};
            memcpy(f + 7, forward, sizeof forward);
            assert_null(krun(&tc_k_rnn_layer, f, 16, out, 4, t ? TC_ROW_portable : best_row(), t ? 1 : 3, NULL));
            tc_karg back[] = {karg_t(&out[0]),     karg_t(&out[1]), karg_t(&out[2]), karg_t(&go), karg_t(&none_of), karg_t(&none_of), karg_i(0),
                              karg_i(TC_RNN_LSTM), karg_i(n[3]),    karg_i(1),       karg_i(1),   karg_i(1),        karg_i(0),        none,
                              karg_i(0),           karg_t(&out[3])};
            memcpy(f + 7, back, sizeof back);
            assert_null(krun(&tc_k_rnn_layer_backward, f, 23, grads[t], 7, t ? TC_ROW_portable : best_row(), t ? 1 : 3, NULL));
        }
        for (int i = 0; i < 7; i++) {
            assert_memory_equal(grads[0][i].storage->data, grads[1][i].storage->data, grads[0][i].storage->bytes);
            kfree(&in[i]), kfree(&grads[0][i]), kfree(&grads[1][i]);
        }
        for (int i = 0; i < 4; i++) kfree(&out[i]);
        kfree(&go), kfree(&none_of);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lstm), cmocka_unit_test(gru), cmocka_unit_test(plain), cmocka_unit_test(proportions)};
    return cmocka_run_group_tests_name("rnn", tests, NULL, NULL);
}
