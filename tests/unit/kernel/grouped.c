/* Products in groups: the scratch that is asked for is enough for every group that offsets may say, whatever the instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/kernel/bf16_rows.h"

#include "kernel/gemm.h"
#include "kernel/matmul.h"

/* The last ones have panels that do not fit: of fewer columns or a shorter k more of them may. */
static const int64_t sizes[][3] = {{1, 1, 1},      {9, 8, 7},       {40, 300, 600},    {300, 40, 300},    {300, 7, 3000},   {7, 300, 2100},
                                   {300, 9, 1030}, {1, 20000, 300}, {500, 20000, 300}, {225, 1000, 5000}, {225, 97, 40000}, {225, 161, 25000}};

static void check_bound(const tc_isa_ops *isa, const char *row, tc_dtype d, const int64_t *most, int threads) {
    const size_t enough = tc_gemm_scratch_most(isa, d, most[0], most[1], most[2], threads);
    for (int way = 0; way < 3; way++) /* groups of rows, of columns, of k */
        for (int64_t n = 1; n <= most[way]; n++) {
            int64_t s[3] = {most[0], most[1], most[2]};
            s[way] = n;
            const size_t need = tc_gemm_scratch(isa, d, s[0], s[1], s[2], false, threads);
            if (need > enough)
                fail_msg("%s, %s, %d threads: %dx%dx%d needs %zu bytes, of all up to %dx%dx%d it should be %zu", row, tc_dtypes[d].name, threads,
                         (int)s[0], (int)s[1], (int)s[2], need, (int)most[0], (int)most[1], (int)most[2], enough);
        }
}
static void bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int threads = 1; threads < 3; threads++) {
            for (int r = 0; r < TC_ROW_COUNT; r++)
                for (int f64 = 0; f64 < 2 && tc_isa_supported((tc_isa_row)r); f64++)
                    check_bound(tc_isa_ops_of((tc_isa_row)r), tc_isa_name((tc_isa_row)r), f64 ? TC_F64 : TC_F32, sizes[i], threads);
            for (int r = 0; r < bf16_count; r++) check_bound(&bf16_rows[r], "in C", TC_BF16, sizes[i], threads);
        }
}

/* One group of k is shorter than all of it and has panels that fit, which those of all do not. */
static void a_group_that_needs_more(void **state) {
    (void)state;
    const int64_t m = 225, n = 97, k = 40000;
    tc_tensor a = ktensor(TC_F32, 2, (int64_t[]){m, k}), b = ktensor(TC_F32, 2, (int64_t[]){k, n}), offs = ktensor(TC_I32, 1, (int64_t[]){2}),
              got = ktensor(TC_F32, 3, (int64_t[]){2, m, n}), want = ktensor(TC_F32, 2, (int64_t[]){m, n});
    ((int32_t *)offs.storage->data)[0] = 32768, ((int32_t *)offs.storage->data)[1] = 40000;
    const tc_karg args[] = {karg_t(&a), karg_t(&b), karg_t(&offs), karg_t(NULL), karg_t(NULL)};
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    assert_null(krun(&tc_k_grouped_mm, args, 5, &got, 1, best, 2, NULL));
    for (int g = 0; g < 2; g++) {
        tc_tensor x = a, y = b;
        x.size[1] = y.size[0] = g ? 40000 - 32768 : 32768;
        x.offset = g ? 32768 : 0, y.offset = g ? 32768 * n : 0;
        assert_null(krun(&tc_k_mm, (tc_karg[]){karg_t(&x), karg_t(&y)}, 2, &want, 1, best, 1, NULL));
        assert_memory_equal((float *)got.storage->data + g * m * n, want.storage->data, want.storage->bytes);
    }
    kfree(&a), kfree(&b), kfree(&offs), kfree(&got), kfree(&want);
}

int main(void) {
    find_rows();
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds), cmocka_unit_test(a_group_that_needs_more)};
    return cmocka_run_group_tests_name("grouped", tests, NULL, NULL);
}
