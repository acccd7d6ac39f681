/* The Fourier transform of every kind of length (radices, primes, Bluestein, long lines in two parts) against the sum in long double; that of
 * real lines against that of complex ones; each instruction set the same bits. */
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
static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 25, 31, 32, 37, 41, 64, 97, 100, 210, 961, 1009, 4099, 7430, 10000};

static void call(const tc_kernel *k, const tc_isa_ops *isa, tc_tensor *in, tc_tensor *out, int code, int64_t last) {
    static const int64_t dims[1] = {1};
    tc_karg args[4] = {{.kind = TC_K_TENSOR, .tensor = in},
                       {.kind = TC_K_INTS, .n = 1, .ints = dims},
                       {.kind = TC_K_NUMBER, .num = tc_scalar_int(code)},
                       {.kind = TC_K_NUMBER, .num = tc_scalar_int(last)}};
    tc_kcall c = {.args = args, .nargs = 4, .outs = out, .nouts = 1, .isa = isa};
    c.scratch = aligned_alloc(64, (k->scratch(&c, 1) + 127) & ~(size_t)63);
    assert_null(k->run(&c));
    free(c.scratch);
}
static void transform(const tc_isa_ops *isa, tc_tensor *in, tc_tensor *out, bool forward) {
    call(&tc_k_fft_c2c, isa, in, out, forward ? 0 : 2, forward);
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

static void test_real_lines(void **state) {
    (void)state;
    for (int f = 0; f < 2; f++)
        for (size_t q = 0; q < sizeof lengths / sizeof *lengths; q++) {
            const int64_t n = lengths[q], m = n / 2 + 1, size[2] = {ROWS, n}, part_size[2] = {ROWS, m};
            const tc_dtype real = f ? TC_F64 : TC_F32, complex = f ? TC_C128 : TC_C64;
            tc_tensor in = {0}, wide = {0}, whole = {0}, first = {0}, other = {0}, back = {0}, again = {0};
            assert_null(tc_tensor_empty(real, 2, size, &in));
            assert_null(tc_tensor_empty(real, 2, size, &back));
            assert_null(tc_tensor_empty(real, 2, size, &again));
            assert_null(tc_tensor_empty(complex, 2, size, &wide));
            assert_null(tc_tensor_empty(complex, 2, size, &whole));
            assert_null(tc_tensor_empty(complex, 2, part_size, &first));
            assert_null(tc_tensor_empty(complex, 2, part_size, &other));
            for (int64_t i = 0; i < n * ROWS; i++) {
                double v = rand() / (double)RAND_MAX - 0.5;
                if (f)
                    ((double *)tc_tensor_data(&in))[i] = v, ((double *)tc_tensor_data(&wide))[2 * i] = v,
                             ((double *)tc_tensor_data(&wide))[2 * i + 1] = 0;
                else
                    ((float *)tc_tensor_data(&in))[i] = (float)v, ((float *)tc_tensor_data(&wide))[2 * i] = (float)v,
                            ((float *)tc_tensor_data(&wide))[2 * i + 1] = 0;
            }
            const tc_isa_ops *portable = tc_isa_ops_of(TC_ROW_portable);
            transform(portable, &wide, &whole, true);
            call(&tc_k_fft_r2c, portable, &in, &first, 0, true);
            call(&tc_k_fft_c2r, portable, &first, &back, 2, n);
            const long double bound = (f ? 1e-15L : 5e-7L) * sqrtl((long double)n);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t k = 0; k < 2 * m; k++)
                    if (fabsl(part(&first, 2 * m * r + k) - part(&whole, 2 * n * r + k)) > bound)
                        fail_msg("%s, length %lld: %Lg, not %Lg", tc_dtypes[real].name, (long long)n, part(&first, 2 * m * r + k),
                                 part(&whole, 2 * n * r + k));
            for (int64_t i = 0; i < n * ROWS; i++) {
                long double got = f ? ((double *)tc_tensor_data(&back))[i] : ((float *)tc_tensor_data(&back))[i];
                long double want = f ? ((double *)tc_tensor_data(&in))[i] : ((float *)tc_tensor_data(&in))[i];
                if (fabsl(got - want) > (f ? 2e-15L : 1e-6L))
                    fail_msg("%s, length %lld: the inverse differs at %lld", tc_dtypes[real].name, (long long)n, (long long)i);
            }
            for (int row = 1; row < TC_ROW_COUNT; row++) {
                if (!tc_isa_supported((tc_isa_row)row)) continue;
                call(&tc_k_fft_r2c, tc_isa_ops_of((tc_isa_row)row), &in, &other, 0, true);
                assert_memory_equal(tc_tensor_data(&other), tc_tensor_data(&first), (size_t)(m * ROWS) * tc_dtype_size(complex));
                call(&tc_k_fft_c2r, tc_isa_ops_of((tc_isa_row)row), &first, &again, 2, n);
                assert_memory_equal(tc_tensor_data(&again), tc_tensor_data(&back), (size_t)(n * ROWS) * tc_dtype_size(real));
            }
            tc_tensor *all[] = {&in, &wide, &whole, &first, &other, &back, &again};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) tc_tensor_deinit(all[i]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_sum), cmocka_unit_test(test_real_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
