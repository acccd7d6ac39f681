/* Linear algebra: factors multiplied back give the matrix, in every dtype and shape, from strided tensors too; equal bits for every thread
 * count; broken matrices are named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kcall.h"
#include "kernel/lapack.h"

enum { BATCH = 5 };
static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_C64, TC_C128};
static const int64_t shapes[][2] = {{1, 1}, {4, 4}, {7, 3}, {3, 7}, {40, 40}, {0, 3}, {3, 0}};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

typedef struct {
    double re, im;
} number;
static number at(const tc_tensor *t, int64_t b, int64_t i, int64_t j) {
    tc_scalar s = tc_scalar_load(t->dtype, t->storage->data, (b * t->size[1] + i) * t->size[2] + j);
    return s.kind == TC_KIND_COMPLEX ? (number){s.re, s.im} : (number){s.f, 0};
}
static number times(number a, number b, bool conj_b) {
    double im = conj_b ? -b.im : b.im;
    return (number){a.re * b.re - a.im * im, a.re * im + a.im * b.re};
}
static double tolerance(tc_dtype d) { return tc_dtype_real(d) == TC_F32 ? 2e-5 : 1e-12; }
static tc_tensor filled(tc_dtype d, int rank, const int64_t *size) {
    tc_tensor t = ktensor(d, rank, size);
    for (int64_t i = 0, n = tc_tensor_numel(&t); i < n && tc_is_complex(d); i++)
        tc_scalar_store(d, t.storage->data, i, (tc_scalar){.kind = TC_KIND_COMPLEX, .re = kunit(), .im = kunit()});
    return t;
}
static tc_tensor batch(tc_dtype d, int64_t m, int64_t n) { return filled(d, 3, (int64_t[]){BATCH, m, n}); }
static tc_tensor vectors(tc_dtype d, int64_t n) { return filled(d, 2, (int64_t[]){BATCH, n}); }

/* Runs with 1, 2 and 7 threads: the same bits; outs hold the result. */
static void same_bits(const tc_kernel *k, const tc_karg *args, int nargs, tc_tensor *outs, int nouts) {
    void *first[4] = {0};
    for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
        assert_null(krun(k, args, nargs, outs, nouts, (tc_isa_row)0, threads, NULL));
        for (int i = 0; i < nouts; i++) {
            if (threads == 1) first[i] = memcpy(malloc(outs[i].storage->bytes + 1), outs[i].storage->data, outs[i].storage->bytes);
            else assert_memory_equal(first[i], outs[i].storage->data, outs[i].storage->bytes);
        }
    }
    for (int i = 0; i < nouts; i++) free(first[i]);
}
/* a = x diag(s) y, s optional */
static void check_product(const tc_tensor *a, const tc_tensor *x, const tc_tensor *s, const tc_tensor *y) {
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < a->size[1]; i++)
            for (int64_t j = 0; j < a->size[2]; j++) {
                number sum = {0, 0}, want = at(a, b, i, j);
                int64_t inner = s ? s->size[1] : x->size[2];
                for (int64_t k = 0; k < inner; k++) {
                    number v = times(at(x, b, i, k), at(y, b, k, j), false);
                    double f = s ? tc_scalar_to_double(tc_scalar_load(s->dtype, s->storage->data, b * s->size[1] + k)) : 1;
                    sum.re += f * v.re, sum.im += f * v.im;
                }
                double tol = tolerance(a->dtype) * (1 + (double)inner);
                assert_true(fabs(sum.re - want.re) < tol && fabs(sum.im - want.im) < tol);
            }
}
static void check_orthonormal_columns(const tc_tensor *q) {
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < q->size[2]; i++)
            for (int64_t j = 0; j < q->size[2]; j++) {
                number sum = {0, 0};
                for (int64_t k = 0; k < q->size[1]; k++) {
                    number v = times(at(q, b, k, i), at(q, b, k, j), true);
                    sum.re += v.re, sum.im += v.im;
                }
                assert_true(fabs(sum.re - (i == j)) < 50 * tolerance(q->dtype) && fabs(sum.im) < 50 * tolerance(q->dtype));
            }
}
static tc_karg text(const char *s) { return (tc_karg){.kind = TC_K_STRING, .string = s}; }

static void qr_multiplies_back(tc_dtype d, int64_t m, int64_t n, const char *mode) {
    int64_t k = !strcmp(mode, "complete") ? m : m < n ? m : n;
    tc_tensor a = batch(d, m, n), outs[2] = {batch(d, m, k), batch(d, k, n)};
    same_bits(&tc_k_qr, (tc_karg[]){karg_t(&a), text(mode)}, 2, outs, 2);
    check_product(&a, &outs[0], NULL, &outs[1]);
    check_orthonormal_columns(&outs[0]);
    kfree(&a), kfree(&outs[0]), kfree(&outs[1]);
}
static void svd_multiplies_back(tc_dtype d, int64_t m, int64_t n, bool full) {
    int64_t k = m < n ? m : n;
    tc_tensor a = batch(d, m, n), outs[3] = {batch(d, m, full ? m : k), vectors(tc_dtype_real(d), k), batch(d, full ? n : k, n)};
    same_bits(&tc_k_svd, (tc_karg[]){karg_t(&a), karg_i(full), karg_i(1), karg_t(NULL)}, 4, outs, 3);
    check_product(&a, &outs[0], &outs[1], &outs[2]);
    check_orthonormal_columns(&outs[0]);
    tc_tensor only[3] = {vectors(d, 0), vectors(tc_dtype_real(d), k), vectors(d, 0)};
    assert_null(krun(&tc_k_svd, (tc_karg[]){karg_t(&a), karg_i(0), karg_i(0), karg_t(NULL)}, 4, only, 3, (tc_isa_row)0, 1, NULL));
    for (int64_t i = 0; i < BATCH * k; i++)
        assert_true(fabs(tc_scalar_load(only[1].dtype, only[1].storage->data, i).f - tc_scalar_load(only[1].dtype, outs[1].storage->data, i).f) <
                    20 * tolerance(d));
    for (int i = 0; i < 3; i++) kfree(&outs[i]), kfree(&only[i]);
    kfree(&a);
}
static void lu_multiplies_back(tc_dtype d, int64_t m, int64_t n) {
    int64_t k = m < n ? m : n;
    tc_tensor a = batch(d, m, n), outs[3] = {batch(d, m, n), vectors(TC_I32, k), filled(TC_I32, 1, (int64_t[]){BATCH})};
    tc_tensor plu[3] = {batch(d, m, m), batch(d, m, k), batch(d, k, n)}, pl = batch(d, m, k);
    same_bits(&tc_k_lu_factor_ex, (tc_karg[]){karg_t(&a), karg_i(1), karg_i(0)}, 3, outs, 3);
    same_bits(&tc_k_lu_unpack, (tc_karg[]){karg_t(&outs[0]), karg_t(&outs[1]), karg_i(1), karg_i(1)}, 4, plu, 3);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t r = 0; r < m; r++)
                if (at(&plu[0], b, i, r).re == 1) /* row i of P L is row r of L */
                    memcpy((char *)pl.storage->data + (size_t)((b * m + i) * k) * tc_dtype_size(d),
                           (char *)plu[1].storage->data + (size_t)((b * m + r) * k) * tc_dtype_size(d), (size_t)k * tc_dtype_size(d));
    check_product(&a, &pl, NULL, &plu[2]);
    for (int i = 0; i < 3; i++) kfree(&outs[i]), kfree(&plu[i]);
    kfree(&a), kfree(&pl);
}
/* Hermitian from the lower triangle of a: V diag(L) V^H */
static void eigh_multiplies_back(tc_dtype d, int64_t n) {
    tc_tensor a = batch(d, n, n), outs[2] = {vectors(tc_dtype_real(d), n), batch(d, n, n)}, vh = batch(d, n, n);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++) {
                number v = at(&a, b, j, i);
                tc_scalar_store(d, a.storage->data, (b * n + i) * n + j, (tc_scalar){.kind = TC_KIND_COMPLEX, .re = v.re, .im = i == j ? 0 : -v.im});
            }
    same_bits(&tc_k_eigh, (tc_karg[]){karg_t(&a), text("L"), karg_i(1)}, 3, outs, 2);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                number v = at(&outs[1], b, j, i);
                tc_scalar_store(d, vh.storage->data, (b * n + i) * n + j, (tc_scalar){.kind = TC_KIND_COMPLEX, .re = v.re, .im = -v.im});
            }
    check_product(&a, &outs[1], &outs[0], &vh);
    kfree(&a), kfree(&outs[0]), kfree(&outs[1]), kfree(&vh);
}
/* A V = V diag(L) */
static void eig_holds(tc_dtype d, int64_t n) {
    tc_tensor a = batch(d, n, n), outs[2] = {vectors(tc_dtype_to_complex(d), n), batch(tc_dtype_to_complex(d), n, n)};
    same_bits(&tc_k_eig, (tc_karg[]){karg_t(&a)}, 1, outs, 2);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                tc_scalar l = tc_scalar_load(outs[0].dtype, outs[0].storage->data, b * n + j);
                number sum = {0, 0}, want = times(at(&outs[1], b, i, j), (number){l.re, l.im}, false);
                for (int64_t k = 0; k < n; k++) {
                    number v = times(at(&a, b, i, k), at(&outs[1], b, k, j), false);
                    sum.re += v.re, sum.im += v.im;
                }
                assert_true(fabs(sum.re - want.re) < 50 * tolerance(d) && fabs(sum.im - want.im) < 50 * tolerance(d));
            }
    kfree(&a), kfree(&outs[0]), kfree(&outs[1]);
}
static void factors_multiply_back(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < NSHAPES; s++) {
            int64_t m = shapes[s][0], n = shapes[s][1];
            qr_multiplies_back(dtypes[t], m, n, "reduced");
            qr_multiplies_back(dtypes[t], m, n, "complete");
            svd_multiplies_back(dtypes[t], m, n, false);
            svd_multiplies_back(dtypes[t], m, n, true);
            lu_multiplies_back(dtypes[t], m, n);
            if (m == n) eigh_multiplies_back(dtypes[t], n), eig_holds(dtypes[t], n);
        }
}

/* The transposed view of a tensor has the result of its contiguous copy, and matrices of one batch serve many right-hand sides. */
static void strides_and_broadcast(void **state) {
    (void)state;
    enum { N = 6 };
    tc_tensor a = ktensor(TC_F64, 2, (int64_t[]){N, N}), copy = ktensor(TC_F64, 2, (int64_t[]){N, N}), view = a, b = batch(TC_F64, N, 2),
              x = batch(TC_F64, N, 2), y = batch(TC_F64, N, 2);
    double *p = a.storage->data;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) p[i * N + j] += i == j ? 3 : 0;
    view.stride[0] = 1, view.stride[1] = N;
    for (int i = 0; i < N * N; i++) ((double *)copy.storage->data)[i] = p[i % N * N + i / N];
    for (int upper = 0; upper < 2; upper++) {
        tc_karg one[] = {karg_t(&view), karg_t(&b), karg_i(upper), karg_i(1), karg_i(0)},
                two[] = {karg_t(&copy), karg_t(&b), karg_i(upper), karg_i(1), karg_i(0)};
        same_bits(&tc_k_solve_triangular, one, 5, &x, 1);
        same_bits(&tc_k_solve_triangular, two, 5, &y, 1);
        assert_memory_equal(x.storage->data, y.storage->data, x.storage->bytes);
        for (int64_t q = 0; q < BATCH; q++) /* T X = B */
            for (int i = 0; i < N; i++) {
                double sum = 0;
                for (int k = upper ? i : 0; k < (upper ? N : i + 1); k++) sum += ((double *)copy.storage->data)[i * N + k] * at(&x, q, k, 0).re;
                assert_true(fabs(sum - at(&b, q, i, 0).re) < 1e-12);
            }
    }
    kfree(&a), kfree(&copy), kfree(&b), kfree(&x), kfree(&y);
}

static void expect_error(tc_status s, const char *want) {
    assert_non_null(s);
    if (!strstr(tc_status_message(s), want)) fail_msg("%s, expected %s", tc_status_message(s), want);
    tc_status_free(s);
}
static void broken_matrices_are_named(void **state) {
    (void)state;
    tc_tensor a = batch(TC_F64, 2, 2), l = batch(TC_F64, 2, 2), info = filled(TC_I32, 1, (int64_t[]){BATCH}), pivots = vectors(TC_I32, 2),
              s = vectors(TC_F64, 2), w = vectors(TC_C128, 2);
    double *p = a.storage->data;
    for (int b = 0; b < BATCH; b++) p[4 * b] = p[4 * b + 3] = 1, p[4 * b + 1] = p[4 * b + 2] = b == 3 ? 2 : 0;
    tc_tensor chol[2] = {l, info}, lu[3] = {l, pivots, info}, svd[3] = {l, s, l}, eig[2] = {w, filled(TC_C128, 3, (int64_t[]){BATCH, 2, 2})};
    tc_karg quiet[] = {karg_t(&a), karg_i(0), karg_i(0)}, loud[] = {karg_t(&a), karg_i(0), karg_i(1)};
    assert_null(krun(&tc_k_cholesky_ex, quiet, 3, chol, 2, (tc_isa_row)0, 1, NULL));
    for (int b = 0; b < BATCH; b++) assert_int_equal(((int32_t *)info.storage->data)[b], b == 3 ? 2 : 0);
    expect_error(
        krun(&tc_k_cholesky_ex, loud, 3, chol, 2, (tc_isa_row)0, 1, NULL),
        "linalg.cholesky: (Batch element 3): The factorization could not be completed because the input is not positive-definite (the leading "
        "minor of order 2 is not positive-definite).");
    p[4 * 1 + 3] = 0; /* singular */
    expect_error(krun(&tc_k_lu_factor_ex, (tc_karg[]){karg_t(&a), karg_i(1), karg_i(1)}, 3, lu, 3, (tc_isa_row)0, 1, NULL),
                 "(Batch element 1): U[2,2] is zero");
    p[4 * 2 + 1] = NAN;
    expect_error(krun(&tc_k_svd, (tc_karg[]){karg_t(&a), karg_i(1), karg_i(1), karg_t(NULL)}, 4, svd, 3, (tc_isa_row)0, 1, NULL),
                 "linalg.svd: (Batch element 2): The algorithm failed to converge because the input matrix contained non-finite values.");
    expect_error(krun(&tc_k_eig, (tc_karg[]){karg_t(&a)}, 1, eig, 2, (tc_isa_row)0, 1, NULL), "should not contain infs or NaNs");
    ((int32_t *)pivots.storage->data)[0] = 3;
    expect_error(krun(&tc_k_lu_solve, (tc_karg[]){karg_t(&a), karg_t(&pivots), karg_t(&a), karg_i(1), karg_i(0)}, 5, &l, 1, (tc_isa_row)0, 1, NULL),
                 "pivots must be between 1 and 2");
    kfree(&a), kfree(&l), kfree(&info), kfree(&pivots), kfree(&s), kfree(&w), kfree(&eig[1]);
}
static void too_large_is_refused(void **state) {
    (void)state;
    tc_tensor a = {.dtype = TC_F64, .rank = 2, .size = {100000, 100000}, .stride = {0, 0}};
    tc_kcall c = {.args = (tc_karg[]){karg_t(&a)}, .nargs = 1};
    assert_int_equal(tc_k_geqrf.scratch(&c, 1), 0);
    expect_error(tc_k_geqrf.run(&c), "LAPACK's workspaces would exceed");
}

/* The product in tc-lapack.so has the bits of the reference's loops: the same roundings in the same order. */
static void reference_gemm(bool ta, bool tb, int m, int n, int k, double alpha, const double *a, const double *b, double beta, double *c, int ld) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double *to = &c[i + j * ld], t = 0;
            if (!ta) *to = beta == 0 ? 0 : beta == 1 ? *to : beta * *to;
            for (int l = 0; l < k; l++) {
                double x = ta ? a[l + i * ld] : a[i + l * ld], y = tb ? b[j + l * ld] : b[l + j * ld];
                if (ta) t += x * y;
                else *to += (alpha * y) * x;
            }
            if (ta) *to = beta == 0 ? alpha * t : alpha * t + beta * *to;
        }
}
static void products_have_the_reference_bits(void **state) {
    (void)state;
    enum { LD = 290 };
    static double a[LD * LD], b[LD * LD], c[LD * LD], d[LD * LD];
    static const double alphas[] = {1, -1, 0.37}, betas[] = {0, 1, -1, 1.7};
    const tc_lapack_table *t;
    assert_null(tc_lapack_open(false, &t));
    for (int i = 0; i < LD * LD; i++) a[i] = kunit(), b[i] = kunit();
    b[7] = 0, a[11] = -0.0;
    for (int run = 0; run < 120; run++) {
        bool ta = run & 1, tb = run >> 1 & 1;
        int m = (int)(knext() % 75), n = (int)(knext() % 75), k = (int)(knext() % (run % 10 ? 40 : LD));
        double alpha = alphas[run % 3], beta = betas[run / 4 % 4];
        for (int i = 0; i < LD * LD; i++) c[i] = d[i] = kunit();
        t->real.gemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, LD, b, LD, beta, c, LD);
        reference_gemm(ta, tb, m, n, k, alpha, a, b, beta, d, LD);
        assert_memory_equal(c, d, sizeof c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_multiply_back), cmocka_unit_test(strides_and_broadcast),
                                       cmocka_unit_test(broken_matrices_are_named), cmocka_unit_test(too_large_is_refused),
                                       cmocka_unit_test(products_have_the_reference_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
