/* Products of int8 are the integers of the definition, on every row and, where the CPU has them, by VNNI and AMX: whatever the threads, the
 * strides, the sizes, packed before the call or in it. By AMX's instructions in C on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/kernel/amx_in_c.h"

#define TC_ISA in_c
#include "kernel/gemm_i8.isa.c"

static uint64_t state = 0x9E3779B97F4A7C15u;
static int8_t byte(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int8_t)(state % 7 == 0 ? 0x80 : state % 7 == 1 ? 0x7f : state >> 40); /* many extremes */
}

static void run(const tc_isa_ops *isa, const tc_gemm_i8 *job, const int32_t *want, int threads, bool ahead) {
    size_t bytes = (size_t)(job->m * job->n + 1) * 4;
    tc_gemm_i8 j = *job;
    tc_pool *pool;
    assert_null(tc_pool_create(threads, &pool));
    void *scratch = aligned_alloc(64, (tc_gemm_i8_scratch(isa, j.n, j.k, ahead, threads) + 63) / 64 * 64);
    void *packed = aligned_alloc(64, (tc_gemm_i8_packed_bytes(isa, j.n, j.k) + 63) / 64 * 64);
    int32_t *c = malloc(bytes);
    memset(c, 0x7f, bytes);
    if (ahead) tc_gemm_i8_pack(isa, pool, job, packed), j.packed = packed;
    j.c = c;
    tc_gemm_i8_run(isa, pool, scratch, &j);
    for (int64_t i = 0; i < j.m * j.n; i++)
        if (c[i] != want[i])
            fail_msg("%s, %d threads, %lldx%lldx%lld%s: [%lld, %lld] is %d, expected %d", isa->name, threads, (long long)j.m, (long long)j.n,
                     (long long)j.k, ahead ? " packed" : "", (long long)(i / j.n), (long long)(i % j.n), c[i], want[i]);
    assert_int_equal(c[j.m * j.n], 0x7f7f7f7f);
    free(scratch), free(packed), free(c);
    tc_pool_destroy(pool);
}

static void check(int64_t m, int64_t n, int64_t k, bool at, bool bt) {
    int8_t *a = malloc((size_t)(m * k + 1)), *b = malloc((size_t)(n * k + 1));
    int32_t *want = calloc((size_t)(m * n), 4);
    for (int64_t i = 0; i < m * k; i++) a[i] = byte();
    for (int64_t i = 0; i < n * k; i++) b[i] = byte();
    tc_gemm_i8 j = {.m = m, .n = n, .k = k, .a = a, .b = b, .a_rs = at ? 1 : k, .a_cs = at ? m : 1, .b_rs = bt ? 1 : n, .b_cs = bt ? k : 1};
    for (int64_t i = 0; i < m * n; i++)
        for (int64_t x = 0; x < k; x++) want[i] += a[i / n * j.a_rs + x * j.a_cs] * b[x * j.b_rs + i % n * j.b_cs];
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    tc_isa_ops tiles = *tc_isa_ops_of(best);
    tiles.name = "AMX in C", tiles.gemm_i8 = &tc_gemm_i8_amx_in_c;
    for (int t = 0; t < 4; t++) {
        for (tc_isa_row r = 0; r <= best; r++) run(tc_isa_ops_of(r), &j, want, t & 1 ? 3 : 1, t & 2);
        for (int i = 1; i < TC_TILES_COUNT; i++)
            if (tc_isa_tiles_supported((tc_isa_tiles)i)) run(tc_isa_ops_of_tiles(best, (tc_isa_tiles)i), &j, want, t & 1 ? 3 : 1, t & 2);
        run(&tiles, &j, want, t & 1 ? 3 : 1, t & 2);
    }
    free(a), free(b), free(want);
}

static void shapes(void **s) {
    (void)s;
    static const int64_t mnk[][3] = {{1, 1, 1},      {1, 70, 300},   {14, 32, 4},  {15, 33, 1027}, {3, 5, 0},
                                     {131, 290, 65}, {5, 256, 2049}, {33, 64, 64}, {16, 31, 130}};
    for (size_t i = 0; i < sizeof mnk / sizeof *mnk; i++)
        for (int t = 0; t < 4; t++) check(mnk[i][0], mnk[i][1], mnk[i][2], t & 1, t & 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes)};
    return cmocka_run_group_tests_name("gemm_i8", tests, NULL, NULL);
}
