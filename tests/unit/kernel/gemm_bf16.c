/* Products of bfloat16 by instructions for them: within one rounding of the portable row's, the same bits whatever the threads, packed ahead or
 * not, an operand transposed, a row alone. On every machine by the instructions in C; where the CPU has them by the instructions, with the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/kernel/bf16_rows.h"

#include "kernel/matmul.h"

static tc_tensor transposed(const tc_tensor *t) { /* the same elements, columns as neighbours */
    tc_tensor r = *t;
    int n = t->rank;
    tc_tensor copy = ktensor(t->dtype, n, t->size);
    r.storage = copy.storage;
    r.stride[n - 1] = t->size[n - 2], r.stride[n - 2] = 1;
    int64_t batch = n == 3 ? t->size[0] : 1, rows = t->size[n - 2], cols = t->size[n - 1];
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                ((uint16_t *)r.storage->data)[(b * cols + j) * rows + i] = ((const uint16_t *)t->storage->data)[(b * rows + i) * cols + j];
    return r;
}

/* The sum of the magnitudes of what is added, for the bound of a float32 sum in any order. */
static double magnitude(const tc_tensor *a, const tc_tensor *b, int64_t i, int64_t n) {
    int64_t m = a->size[a->rank - 2], k = a->size[a->rank - 1], batch = i / (m * n), row = i / n % m, col = i % n;
    double s = 0;
    for (int64_t x = 0; x < k; x++)
        s += fabs((double)tc_x_cast_bf16_f32(((const uint16_t *)a->storage->data)[(batch * m + row) * k + x]) *
                  (double)tc_x_cast_bf16_f32(((const uint16_t *)b->storage->data)[(batch * k + x) * n + col]));
    return s;
}
static void near(const char *what, const tc_tensor *got, const tc_tensor *want, const tc_tensor *a, const tc_tensor *b) {
    for (int64_t i = 0; i < (int64_t)got->storage->bytes / 2; i++) {
        double g = (double)tc_x_cast_bf16_f32(((uint16_t *)got->storage->data)[i]),
               w = (double)tc_x_cast_bf16_f32(((uint16_t *)want->storage->data)[i]);
        if (g == w) continue;
        double sum = 0x1p-23 * sqrt((double)a->size[a->rank - 1]) * magnitude(a, b, i, want->size[want->rank - 1]);
        if (!(fabs(g - w) <= 0x1p-7 * fmax(fabs(g), fabs(w)) + 4 * sum)) /* neighbours are at most 2^-7 apart */
            fail_msg("%s: element %lld is %a, expected %a", what, (long long)i, g, w);
    }
}

enum { MM, ADDMM, BMM };
static void check(int form, int64_t batch, int64_t m, int64_t n, int64_t k) {
    int rank = form == BMM ? 3 : 2;
    const tc_kernel *kernel = form == MM ? &tc_k_mm : form == ADDMM ? &tc_k_addmm : &tc_k_bmm;
    const int64_t as[] = {batch, m, k}, bs[] = {batch, k, n}, cs[] = {batch, m, n};
    tc_tensor a = ktensor(TC_BF16, rank, as + 3 - rank), b = ktensor(TC_BF16, rank, bs + 3 - rank), more = ktensor(TC_BF16, 1, &n);
    tc_tensor want = ktensor(TC_BF16, rank, cs + 3 - rank), got = ktensor(TC_BF16, rank, cs + 3 - rank),
              first = ktensor(TC_BF16, rank, cs + 3 - rank);
    uint16_t *by_c[BF16_IN_C];
    fill(&a), fill(&b), fill(&more);
    tc_tensor at = transposed(&a), bt = transposed(&b);
    for (int r = -1; r < bf16_count; r++) {
        tc_isa_ops past = bf16_rows[r < 0 ? 0 : r]; /* its results of more than 256 bytes are written past the caches, as large ones are */
        past.l2_bytes = 64;
        const int step = r < BF16_IN_C && m * n * k > 4000000 ? 7 : 1; /* rows of instructions in C: large products in the first and last way */
        for (int t = 0; t < (r < 0 ? 1 : 8); t += step) {
            char what[128];
            tc_karg x = karg_t(t & 1 ? &at : &a), y = karg_t(t & 1 ? &bt : &b);
            tc_karg plain[] = {x, y}, add[] = {karg_t(&more), x, y, karg_f(0.5), karg_f(1)};
            snprintf(what, sizeof what, "form %d, way %d, %lldx%lldx%lldx%lld, %d", form, r, (long long)batch, (long long)m, (long long)n,
                     (long long)k, t);
            call(kernel,
                 r < 0   ? tc_isa_ops_of(TC_ROW_portable)
                 : t & 1 ? &past
                         : &bf16_rows[r],
                 form == ADDMM ? add : plain, form == ADDMM ? 5 : 2, r < 0 ? &want : &got, t & 2 ? 3 : 1, t & 4);
            if (r < 0) continue;
            near(what, &got, &want, &a, &b);
            if (!t) {
                memcpy(first.storage->data, got.storage->data, got.storage->bytes);
                if (r < BF16_IN_C) memcpy(by_c[r] = malloc(got.storage->bytes + 1), got.storage->data, got.storage->bytes);
                else if (memcmp(by_c[bf16_c_of[r]], got.storage->data, got.storage->bytes))
                    fail_msg("%s: other bits than the instructions in C", what);
            }
            if (memcmp(first.storage->data, got.storage->data, got.storage->bytes)) fail_msg("%s: other bits than the first", what);
            for (int parts = 0; !t && parts < 16 && (n > 8 || m <= n) && m * n * k < 1000000;
                 parts++) /* few columns are computed as rows: regions are reported */
                check_plain(what, kernel, parts & 1 ? &past : &bf16_rows[r], form == ADDMM ? add : plain, form == ADDMM ? 5 : 2, parts, &got, n);
        }
    }
    for (int r = 0; r < BF16_IN_C; r++) free(by_c[r]);
    kfree(&a), kfree(&b), kfree(&more), kfree(&want), kfree(&got), kfree(&first), kfree(&at), kfree(&bt);
}
static void shapes(void **s) {
    (void)s;
    static const int64_t mnk[][3] = {{1, 1, 1},      {1, 70, 300},  {32, 32, 256},  {33, 65, 257},   {3, 5, 0},      {17, 40, 31},
                                     {16, 33, 1027}, {47, 129, 90}, {300, 40, 33},  {230, 140, 130}, {2, 64, 1800},  {70, 3, 40},
                                     {90, 1, 515},   {13, 600, 30}, {65, 9, 11000}, {40, 130, 6000}, {3, 1100, 140}, {20, 1050, 310}};
    for (size_t i = 0; i < sizeof mnk / sizeof *mnk; i++) check(MM, 1, mnk[i][0], mnk[i][1], mnk[i][2]);
    check(ADDMM, 1, 5, 37, 600), check(ADDMM, 1, 40, 64, 64);
    check(BMM, 3, 20, 33, 70), check(BMM, 2, 1, 16, 300);
}

static void a_row_alone(void **s) {
    (void)s;
    const int64_t as[] = {50, 700}, bs[] = {700, 96}, cs[] = {50, 96}, one[] = {1, 96}, line[] = {1, 700};
    tc_tensor a = ktensor(TC_BF16, 2, as), b = ktensor(TC_BF16, 2, bs), c = ktensor(TC_BF16, 2, cs), d = ktensor(TC_BF16, 2, one);
    tc_tensor row = ktensor(TC_BF16, 2, line);
    fill(&a), fill(&b);
    for (int r = 0; r < bf16_count; r++) {
        call(&tc_k_mm, &bf16_rows[r], (tc_karg[]){karg_t(&a), karg_t(&b)}, 2, &c, 1, false);
        for (int64_t i = 0; i < 50; i += 7) {
            memcpy(row.storage->data, (uint16_t *)a.storage->data + i * 700, 1400);
            call(&tc_k_mm, &bf16_rows[r], (tc_karg[]){karg_t(&row), karg_t(&b)}, 2, &d, 1, false);
            assert_memory_equal(d.storage->data, (uint16_t *)c.storage->data + i * 96, 192);
        }
    }
    kfree(&a), kfree(&b), kfree(&c), kfree(&d), kfree(&row);
}

/* What rounds results keeps the subnormal numbers that an addend brings. */
static void subnormal_addends(void **s) {
    (void)s;
    const int64_t as[] = {3, 32}, bs[] = {32, 64}, n = 64, cs[] = {3, 64};
    tc_tensor a = ktensor(TC_BF16, 2, as), b = ktensor(TC_BF16, 2, bs), c = ktensor(TC_BF16, 2, cs), more = ktensor(TC_BF16, 1, &n);
    memset(a.storage->data, 0, a.storage->bytes);
    fill(&b), fill(&more);
    ((uint16_t *)more.storage->data)[5] = 1, ((uint16_t *)more.storage->data)[40] = 0x8033;
    for (int r = 0; r < bf16_count; r++) {
        call(&tc_k_addmm, &bf16_rows[r], (tc_karg[]){karg_t(&more), karg_t(&a), karg_t(&b), karg_f(1), karg_f(1)}, 5, &c, 1, false);
        for (int64_t i = 0; i < 3; i++) assert_memory_equal((uint16_t *)c.storage->data + i * n, more.storage->data, 128);
    }
    kfree(&a), kfree(&b), kfree(&c), kfree(&more);
}

/* NaN and infinity of one row or column stay there: what is padded with zeros is not multiplied by them. */
static void not_numbers(void **s) {
    (void)s;
    const int64_t as[] = {18, 35}, bs[] = {35, 34}, cs[] = {18, 34};
    tc_tensor a = ktensor(TC_BF16, 2, as), b = ktensor(TC_BF16, 2, bs), c = ktensor(TC_BF16, 2, cs);
    fill(&a), fill(&b);
    for (int64_t k = 0; k < 35; k++) ((uint16_t *)a.storage->data)[17 * 35 + k] = 0x7f80, ((uint16_t *)b.storage->data)[k * 34 + 33] = 0x7fc0;
    for (int r = 0; r < bf16_count; r++) {
        call(&tc_k_mm, &bf16_rows[r], (tc_karg[]){karg_t(&a), karg_t(&b)}, 2, &c, 1, false);
        for (int64_t i = 0; i < 18; i++)
            for (int64_t j = 0; j < 34; j++) {
                float x = tc_x_cast_bf16_f32(((uint16_t *)c.storage->data)[i * 34 + j]);
                if (i < 17 && j < 33) assert_true(isfinite(x));
                if (j == 33) assert_true(isnan(x));
                if (i == 17) assert_false(isfinite(x));
            }
    }
    kfree(&a), kfree(&b), kfree(&c);
}

/* A worker copies as many rows of long k as its cache holds, not all of a block's: 240 of them would be 30 MiB. */
static void room_of_long_rows(void **s) {
    (void)s;
    for (int r = 0; r < bf16_count; r++) {
        const size_t one = tc_gemm_scratch(&bf16_rows[r], TC_BF16, 1024, 64, 65536, false, 1),
                     two = tc_gemm_scratch(&bf16_rows[r], TC_BF16, 1024, 64, 65536, false, 2);
        assert_in_range(two - one, 1, 12 << 20);
    }
}

int main(void) {
    find_rows();
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(a_row_alone), cmocka_unit_test(subnormal_addends),
                                       cmocka_unit_test(not_numbers), cmocka_unit_test(room_of_long_rows)};
    return cmocka_run_group_tests_name("gemm_bf16", tests, NULL, NULL);
}
