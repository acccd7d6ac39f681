/* Matrix products have the bits of the contract (tc-numerics(7)), whatever the instruction set, the threads, the strides, the segments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/gemm.h"
#include "kcall.h"

static uint64_t state = 0x9E3779B97F4A7C15u;
static double unit(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(int64_t)(state * 0x2545F4914F6CDD1Du) * 0x1p-63;
}

/* The product of present terms of leaf l, or false when there is none. */
static bool slow_leaf(const float *a, const float *b, const uint8_t *present, int64_t k, int64_t l, float *out) {
    bool any = false;
    float s = 0;
    for (int64_t i = l * 256; i < k && i < l * 256 + 256; i++)
        if (!present || present[i]) s = fmaf(a[i], b[i], s), any = true;
    *out = s;
    return any;
}
static bool slow(const float *a, const float *b, const uint8_t *present, int64_t k, int64_t l, int64_t leaves, float *out) {
    if (l * 256 >= k) return false;
    if (leaves == 1) return slow_leaf(a, b, present, k, l, out);
    float x, y;
    bool p = slow(a, b, present, k, l, leaves / 2, &x), q = slow(a, b, present, k, l + leaves / 2, leaves / 2, &y);
    *out = p && q ? x + y : p ? x : y;
    return p || q;
}

typedef struct {
    tc_gemm job;
} one;
static void make(void *ctx, int64_t i, tc_gemm *out) { (void)i, *out = ((one *)ctx)->job; }

/* m x k by k x n, with a line added; `want` is the product three times and half of that line, by the definition. */
typedef struct {
    int64_t m, n, k;
    float *a, *bt, *add, *want; /* b as its columns */
} product;
static product draw_product(int64_t m, int64_t n, int64_t k, const tc_gemm_segment *segments, int nsegments) {
    product p = {m,
                 n,
                 k,
                 malloc(sizeof(float) * (size_t)(m * k + 1)),
                 malloc(sizeof(float) * (size_t)(n * k + 1)),
                 malloc(sizeof(float) * (size_t)n),
                 malloc(sizeof(float) * (size_t)(m * n))};
    uint8_t *present = calloc((size_t)(k + 1), 1);
    for (int64_t i = 0; i < m * k; i++) p.a[i] = (float)unit();
    for (int64_t i = 0; i < n * k; i++) p.bt[i] = (float)unit();
    for (int64_t i = 0; i < n; i++) p.add[i] = (float)unit();
    for (int s = 0; s < nsegments; s++) memset(present + segments[s].k, 1, (size_t)segments[s].n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float *w = &p.want[i * n + j];
            if (!slow(p.a + i * k, p.bt + j * k, segments ? present : NULL, k, 0, 1 << 10, w)) *w = 0;
            *w = fmaf(0.5f, p.add[j], *w * 3);
        }
    free(present);
    return p;
}
static void drop_product(product *p) { free(p->a), free(p->bt), free(p->add), free(p->want); }
static float *turned(const float *x, int64_t rows, int64_t cols) {
    float *r = malloc(sizeof *r * (size_t)(rows * cols + 1));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) r[j * rows + i] = x[i * cols + j];
    return r;
}

/* With a (at) or b (bt) transposed in memory. The portable row, which calls fma() for every term, does large products in one form (turn 0), not packed before, on 7 threads. */
static void check(const product *p, bool at, bool bt, int turn, const tc_gemm_segment *segments, int nsegments, const char *what) {
    const int64_t m = p->m, n = p->n, k = p->k;
    const bool large = m * n * k > 10000000;
    float *a = at ? turned(p->a, m, k) : p->a, *b = bt ? p->bt : turned(p->bt, n, k), *c = malloc(sizeof *c * (size_t)(m * n)), *want = p->want,
          *add = p->add;
    for (int r = large && turn ? TC_ROW_portable + 1 : 0; r < TC_ROW_COUNT; r++)
        for (int threads = r == TC_ROW_portable && large ? 7 : 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r);
            tc_pool *pool;
            assert_null(tc_pool_create(threads, &pool));
            const size_t room = tc_gemm_scratch(isa, TC_F32, m, n, k, false, threads);
            char *scratch = malloc(room + 4096), beyond[4096];
            memset(beyond, 0x5a, sizeof beyond), memcpy(scratch + room, beyond, sizeof beyond);
            memset(c, 0x7f, sizeof *c * (size_t)(m * n));
            one o = {{.dtype = TC_F32,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = a,
                      .b = b,
                      .a_rs = at ? 1 : k,
                      .a_cs = at ? m : 1,
                      .b_rs = bt ? 1 : n,
                      .b_cs = bt ? k : 1,
                      .segments = segments,
                      .nsegments = nsegments,
                      .c = c,
                      .c_rs = n,
                      .c_cs = 1,
                      .alpha = 3,
                      .beta = 0.5,
                      .add = add,
                      .add_cs = 1}};
            void *packed = aligned_alloc(64, (tc_gemm_packed_bytes(isa, TC_F32, n, k) + 64) / 64 * 64);
            for (int ahead = 0; ahead < (segments || (large && !r) ? 1 : 2); ahead++) { /* with b packed before the call, too */
                if (ahead) tc_gemm_pack(isa, pool, &o.job, packed), o.job.packed = packed, memset(c, 0x7f, sizeof *c * (size_t)(m * n));
                tc_gemm_run(isa, pool, scratch, 1, make, &o);
                for (int64_t i = 0; i < m * n; i++)
                    if (memcmp(&want[i], &c[i], 4))
                        fail_msg("%s: %s, %d threads, %lldx%lldx%lld%s: [%lld, %lld] is %a, expected %a", what, isa->name, threads, (long long)m,
                                 (long long)n, (long long)k, ahead ? " packed" : "", (long long)(i / n), (long long)(i % n), (double)c[i],
                                 (double)want[i]);
            }
            assert_memory_equal(scratch + room, beyond, sizeof beyond);
            free(packed);
            free(scratch);
            tc_pool_destroy(pool);
        }
    if (at) free(a);
    if (!bt) free(b);
    free(c);
}

static void shapes(void **s) {
    (void)s;
    static const int64_t mnk[][3] = {
        {1, 1, 1},       {1, 70, 300},     {14, 32, 256},   {15, 33, 257},  {3, 5, 0},      {37, 65, 1300}, {300, 40, 520},  {13, 600, 30},
        {2, 129, 2049},  {1, 96, 777},     {2, 64, 1030},   {90, 1, 515},   {200, 2, 1033}, {70, 7, 40},    {40, 64, 61},    {1, 100, 67},
        {2, 70, 200},    {460, 300, 1100}, {230, 33, 2500}, {500, 40, 20},  {60, 161, 700}, {1, 100, 1500}, {27, 70, 300},   {29, 64, 520},
        {250, 600, 600}, {5, 96, 2100},    {12, 160, 600},  {7, 128, 2049}, {3, 912, 300},  {2, 48, 1552},  {1, 1024, 2816}, {1, 64, 512},
        {37, 129, 1031}, {11, 1000, 300},  {18, 200, 520},  {1, 1000, 770}, {1, 1, 5003},   {1, 1, 256},    {1, 1, 257},     {2, 2, 2300},
        {1, 4, 1031},    {1, 3, 2048},     {4, 1, 700}};
    for (size_t i = 0; i < sizeof mnk / sizeof *mnk; i++) {
        product p = draw_product(mnk[i][0], mnk[i][1], mnk[i][2], NULL, 0);
        for (int t = 0; t < 4; t++) check(&p, t & 1, t & 2, t - (int)i % 4, NULL, 0, "shape");
        drop_product(&p);
    }
}
static void check_absent(int64_t m, int64_t n, int64_t k, bool turned, const tc_gemm_segment *segments, int nsegments, const char *what) {
    product p = draw_product(m, n, k, segments, nsegments);
    check(&p, turned, turned, 0, segments, nsegments, what);
    drop_product(&p);
}
static void absent_terms(void **s) {
    (void)s;
    static const tc_gemm_segment holes[] = {{3, 5}, {100, 300}, {520, 1}, {1500, 30}}, late[] = {{600, 10}}, early[] = {{0, 256}, {300, 1}},
                                 none[] = {{0, 0}};
    check_absent(17, 40, 1600, false, holes, 4, "holes");
    check_absent(17, 40, 1600, true, holes, 4, "holes");
    check_absent(5, 33, 1600, false, late, 1, "late");
    check_absent(16, 32, 2600, false, early, 2, "early");
    check_absent(4, 4, 700, false, none, 1, "none");
}

/* Blocks of rows are as high as tiles allow: what they keep of many leaves stays in the scratch that was asked for. */
static void scratch(void **s) {
    (void)s;
    static const int64_t mnk[][3] = {{448, 1024, 800}, {452, 130, 1100}, {7, 2000, 600}};
    for (size_t i = 0; i < sizeof mnk / sizeof *mnk; i++)
        for (int r = 0; r < TC_ROW_COUNT; r++)
            for (int f64 = 0; tc_isa_supported((tc_isa_row)r) && f64 < 2; f64++) {
                const int64_t m = mnk[i][0], n = r == TC_ROW_portable ? 70 : mnk[i][1], k = mnk[i][2];
                const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r);
                tc_dtype d = f64 ? TC_F64 : TC_F32;
                tc_tensor a = ktensor(d, 2, (int64_t[]){m, k}), b = ktensor(d, 2, (int64_t[]){k, n}), c = ktensor(d, 2, (int64_t[]){m, n});
                tc_pool *pool;
                assert_null(tc_pool_create(1, &pool));
                const size_t bytes = tc_gemm_scratch(isa, d, m, n, k, false, 1);
                void *room = kscratch(bytes);
                one o = {{.dtype = d,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = a.storage->data,
                          .a_rs = k,
                          .a_cs = 1,
                          .b = b.storage->data,
                          .b_rs = n,
                          .b_cs = 1,
                          .c = c.storage->data,
                          .c_rs = n,
                          .c_cs = 1,
                          .alpha = 1}};
                tc_gemm_run(isa, pool, room, 1, make, &o);
                assert_null(kguard(&(tc_kernel){.name = "gemm"}, room, bytes));
                free(room);
                tc_pool_destroy(pool);
                kfree(&a), kfree(&b), kfree(&c);
            }
}

/* What is asked for jobs of at most some sizes is enough for every one of them, those whose panels fill a round better included. */
static void smaller_jobs(void **s) {
    (void)s;
    static const int64_t most[][3] = {{256, 512, 20000}, {225, 4000, 700}, {4000, 9, 300}, {3, 2, 1}, {1000, 1000, 16384}};
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (size_t i = 0; tc_isa_supported((tc_isa_row)r) && i < sizeof most / sizeof *most; i++)
            for (int t = 0; t < 2000; t++) {
                const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r);
                const tc_dtype d = t % 2 ? TC_F64 : t % 4 && isa->gemm_bf16 ? TC_BF16 : TC_F32;
                int64_t of[3];
                for (int k = 0; k < 3; k++) of[k] = t < 400 && k != t % 3 ? most[i][k] : 1 + (int64_t)((unit() + 1) / 2 * (double)(most[i][k] - 1));
                const size_t need = tc_gemm_scratch(isa, d, of[0], of[1], of[2], false, 3);
                if (need > tc_gemm_scratch_most(isa, d, most[i][0], most[i][1], most[i][2], 3))
                    fail_msg("%s: %lldx%lldx%lld needs %zu bytes", isa->name, (long long)of[0], (long long)of[1], (long long)of[2], need);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(scratch), cmocka_unit_test(smaller_jobs),
                                       cmocka_unit_test(absent_terms)};
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
