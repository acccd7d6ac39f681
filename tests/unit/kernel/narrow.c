/* Products, attention and convolutions of narrow floats on rows without instructions for them: the bits of the same values in float32, rounded once,
 * for every instruction set, thread count, packed ahead or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernel/attention.h"
#include "kernel/conv.h"
#include "kernel/matmul.h"
#include "unit/kernel/kcall.h"

/* A tensor of type d, and the same values in float32; both with dimensions 1 and 2 exchanged in memory where `turned`. */
typedef struct {
    tc_tensor narrow, wide;
} pair;
static void turn(tc_tensor *t, bool turned, int a, int b) {
    if (!turned) return;
    const int64_t size[4] = {t->size[0], t->size[1], t->size[2], t->size[3]};
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        const int from = i == a ? b : i == b ? a : i;
        t->stride[from] = step, step *= size[from];
    }
}
static pair make(tc_dtype d, int rank, const int64_t *size, bool turned, int a, int b) {
    pair p = {ktensor(d, rank, size), ktensor(TC_F32, rank, size)};
    const tc_isa_ops *isa = tc_isa_ops_of(TC_ROW_portable);
    const int64_t n = (int64_t)p.wide.storage->bytes / 4;
    isa->cast[TC_F32][d](p.narrow.storage->data, p.wide.storage->data, n), isa->cast[d][TC_F32](p.wide.storage->data, p.narrow.storage->data, n);
    turn(&p.narrow, turned, a, b), turn(&p.wide, turned, a, b);
    return p;
}
static void drop(pair *p) { kfree(&p->narrow), kfree(&p->wide); }

/* args[i] for i < n are of `in` where it has them. */
static void check(const char *what, const tc_kernel *k, tc_dtype d, tc_karg *args, int nargs, const pair *in, int n, int rank, const int64_t *size) {
    tc_tensor wide = ktensor(TC_F32, rank, size), got = ktensor(d, rank, size), want = ktensor(d, rank, size);
    for (int i = 0; i < n; i++) args[i] = karg_t(&in[i].wide);
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    assert_null(krun(k, args, nargs, &wide, 1, best, 1, NULL));
    tc_isa_ops_of(TC_ROW_portable)->cast[TC_F32][d](want.storage->data, wide.storage->data, (int64_t)wide.storage->bytes / 4);
    for (int i = 0; i < n; i++) args[i] = karg_t(&in[i].narrow);
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (int threads = r == TC_ROW_portable ? 3 : 1; threads < 4 && tc_isa_supported((tc_isa_row)r); threads += 2) {
            memset(got.storage->data, 0x5a, got.storage->bytes);
            assert_null(krun(k, args, nargs, &got, 1, (tc_isa_row)r, threads, NULL));
            if (memcmp(got.storage->data, want.storage->data, got.storage->bytes))
                fail_msg("%s of %s, %s, %d threads: other bits", what, tc_dtypes[d].name, tc_isa_name((tc_isa_row)r), threads);
        }
    kfree(&wide), kfree(&got), kfree(&want);
}

static const tc_dtype types[] = {TC_F16, TC_BF16};
enum { TYPES = sizeof types / sizeof *types };

static void products(void **state) {
    (void)state;
    static const int64_t mnk[][3] = {{1, 70, 600}, {240, 33, 515}, {5, 600, 40}, {30, 16, 16}, {130, 1100, 300}, {2, 70, 2100}, {1, 1100, 1400}};
    for (int t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof mnk / sizeof *mnk; i++)
            for (int turned = 0; turned < 2; turned++) {
                const int64_t *s = mnk[i];
                pair in[] = {make(types[t], 2, (int64_t[]){s[0], s[2]}, turned, 0, 1), make(types[t], 2, (int64_t[]){s[2], s[1]}, turned, 0, 1)};
                tc_karg args[2];
                check("a product", &tc_k_mm, types[t], args, 2, in, 2, 2, (int64_t[]){s[0], s[1]});
                drop(&in[0]), drop(&in[1]);
            }
    for (int t = 0; t < TYPES; t++) /* few rows of several matrices, with addends: b in parts of columns */
        for (int turned = 0; turned < 2; turned++) {
            pair in[] = {make(types[t], 2, (int64_t[]){3, 70}, false, 0, 1), make(types[t], 3, (int64_t[]){2, 3, 2100}, turned, 1, 2),
                         make(types[t], 3, (int64_t[]){2, 2100, 70}, turned, 1, 2)};
            tc_karg args[] = {[3] = karg_f(0.5), karg_f(2)};
            check("few rows", &tc_k_baddbmm, types[t], args, 5, in, 3, 3, (int64_t[]){2, 3, 70});
            for (int i = 0; i < 3; i++) drop(&in[i]);
        }
}
/* A row by a matrix of 32 MB asks for no float32 copy of it, many threads for no more than one, and for none where it is packed. */
static void room_of_a_row(void **state) {
    (void)state;
    tc_storage none = {0};
    for (int t = 0; t < TYPES; t++)
        for (int turned = 0; turned < 2; turned++) {
            tc_tensor a = {.dtype = types[t], .rank = 2, .size = {1, 4096}, .stride = {4096, 1}, .storage = &none}, b = a;
            b.size[0] = b.size[1] = 4096, b.stride[0] = turned ? 1 : 4096, b.stride[1] = turned ? 4096 : 1;
            tc_karg args[] = {karg_t(&a), karg_t(&b)};
            tc_kcall c = {.args = args, .nargs = 2, .outs = &a, .nouts = 1, .isa = tc_isa_ops_of(TC_ROW_portable)};
            assert_in_range(tc_k_mm.scratch(&c, 1), 1, 16 << 20);
            assert_in_range(tc_k_mm.scratch(&c, 64), 1, 96 << 20);
            c.packed = &none;
            assert_in_range(tc_k_mm.scratch(&c, 1), 1, 4 << 20);
        }
}
static void attentions(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int way = 0; way < 8; way++) { /* queries: one or some; positions before heads in memory; causal */
            const int64_t l = way & 1 ? 70 : 1, s = way & 4 ? l : 300, q[] = {2, 4, l, 24}, k[] = {2, 2, s, 24}, v[] = {2, 2, s, 40};
            pair in[] = {make(types[t], 4, q, way & 2, 1, 2), make(types[t], 4, k, way & 2, 1, 2), make(types[t], 4, v, way & 2, 1, 2)};
            tc_karg args[] = {{0}, {0}, {0}, karg_f(0), karg_i(way >> 2), karg_t(NULL), karg_t(NULL)};
            check("attention", &tc_k_flash_attention, types[t], args, 7, in, 3, 4, (int64_t[]){2, 4, l, 40});
            for (int i = 0; i < 3; i++) drop(&in[i]);
        }
}
static void convolutions(void **state) {
    (void)state;
    static const int64_t all[][5] = {
        {40, 33, 3, 1, 0}, {64, 70, 1, 1, 0}, {24, 24, 3, 24, 0}, {20, 16, 2, 1, 1}}; /* c, o, kernel, groups, transposed */
    for (int t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const int64_t *g = all[i], n = 9 + (g[4] ? 1 : -1) * (g[2] - 1), one[] = {1, 1}, none[] = {0, 0};
            pair in[] = {make(types[t], 4, (int64_t[]){2, g[0], 9, 9}, false, 0, 0),
                         make(types[t], 4, g[4] ? (int64_t[]){g[0], g[1], g[2], g[2]} : (int64_t[]){g[1], g[0] / g[3], g[2], g[2]}, false, 0, 0),
                         make(types[t], 1, &g[1], false, 0, 0)};
            tc_karg args[] = {{0}, {0}, {0}, karg_is(one, 2), karg_is(none, 2), karg_is(one, 2), karg_i(g[4]), karg_is(none, 2), karg_i(g[3])};
            check("a convolution", &tc_k_convolution, types[t], args, 9, in, 3, 4, (int64_t[]){2, g[1], n, n});
            for (int k = 0; k < 3; k++) drop(&in[k]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(room_of_a_row), cmocka_unit_test(attentions),
                                       cmocka_unit_test(convolutions)};
    return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
