/* The Fourier transform of every kind of length (radices, primes, Bluestein) against the sum in long double; each instruction set the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/fft.h"
#include "kernel/isa.h"

enum { ROWS = 19 };
static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 25, 31, 32, 37, 41, 64, 97, 100, 210, 961, 1009};

static void transform(const tc_isa_ops *isa, tc_tensor *in, tc_tensor *out, bool forward) {
    static const int64_t dims[1] = {1};
    tc_karg args[4] = {{.kind = TC_K_TENSOR, .tensor = in},
                       {.kind = TC_K_INTS, .n = 1, .ints = dims},
                       {.kind = TC_K_NUMBER, .num = tc_scalar_int(forward ? 0 : 2)},
                       {.kind = TC_K_NUMBER, .num = tc_scalar_bool(forward)}};
    tc_kcall c = {.args = args, .nargs = 4, .outs = out, .nouts = 1, .isa = isa};
    c.scratch = aligned_alloc(64, (tc_k_fft_c2c.scratch(&c, 1) + 127) & ~(size_t)63);
    assert_null(tc_k_fft_c2c.run(&c));
    free(c.scratch);
}
static long double part(const tc_tensor *t, int64_t i) {
    return t->dtype == TC_C128 ? ((const double *)tc_tensor_data(t))[i] : ((const float *)tc_tensor_data(t))[i];
}

static void test_against_the_sum(void **state) {
    (void)state;
    const long double turn = -2 * acosl(-1);
    for (int f = 0; f < 2; f++)
        for (size_t q = 0; q < sizeof lengths / sizeof *lengths; q++) {
            int64_t n = lengths[q], size[2] = {ROWS, n};
            tc_dtype d = f ? TC_C128 : TC_C64;
            tc_tensor in = {0}, out = {0}, other = {0}, back = {0};
            assert_null(tc_tensor_empty(d, 2, size, &in));
            assert_null(tc_tensor_empty(d, 2, size, &out));
            assert_null(tc_tensor_empty(d, 2, size, &other));
            assert_null(tc_tensor_empty(d, 2, size, &back));
            srand(1);
            for (int64_t i = 0; i < 2 * n * ROWS; i++) {
                double v = rand() / (double)RAND_MAX - 0.5;
                if (f) ((double *)tc_tensor_data(&in))[i] = v;
                else ((float *)tc_tensor_data(&in))[i] = (float)v;
            }
            transform(tc_isa_ops_of(TC_ROW_portable), &in, &out, true);
            long double worst = 0, most = 0;
            for (int64_t k = 0; k < n; k += 1 + n / 50) {
                long double re = 0, im = 0;
                for (int64_t j = 0; j < n; j++) {
                    long double t = turn * (long double)(j * k % n) / (long double)n, c = cosl(t), s = sinl(t);
                    long double x = part(&in, 2 * ((ROWS - 1) * n + j)), y = part(&in, 2 * ((ROWS - 1) * n + j) + 1);
                    re += x * c - y * s, im += x * s + y * c;
                }
                worst = fmaxl(worst, hypotl(part(&out, 2 * ((ROWS - 1) * n + k)) - re, part(&out, 2 * ((ROWS - 1) * n + k) + 1) - im));
                most = fmaxl(most, hypotl(re, im));
            }
            if (worst > most * (f ? 1e-15L : 5e-7L)) fail_msg("%s, length %lld: error %Lg of %Lg", tc_dtypes[d].name, (long long)n, worst, most);
            for (int r = 1; r < TC_ROW_COUNT; r++) {
                if (!tc_isa_supported((tc_isa_row)r)) continue;
                transform(tc_isa_ops_of((tc_isa_row)r), &in, &other, true);
                assert_memory_equal(tc_tensor_data(&other), tc_tensor_data(&out), (size_t)(n * ROWS) * tc_dtype_size(d));
            }
            transform(tc_isa_ops_of(TC_ROW_portable), &out, &back, false);
            for (int64_t i = 0; i < 2 * n * ROWS; i++)
                if (fabsl(part(&back, i) - part(&in, i)) > (f ? 2e-15L : 1e-6L))
                    fail_msg("%s, length %lld: the inverse differs at %lld", tc_dtypes[d].name, (long long)n, (long long)i);
            tc_tensor_deinit(&in);
            tc_tensor_deinit(&out);
            tc_tensor_deinit(&other);
            tc_tensor_deinit(&back);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_sum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
