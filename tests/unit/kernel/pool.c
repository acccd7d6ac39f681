/* Maximum and mean of windows against the definition: windows that tile rows and such that do not, padding, dilation, NaN, every instruction
 * set; means have the same bits on all of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernel/pool.h"
#include "kcall.h"

typedef struct {
    int64_t planes, h, w, k[2], s[2], p[2], d[2];
} shape;

static float window(const shape *c, const float *x, int64_t i, int64_t j) {
    float m = -INFINITY;
    for (int64_t a = 0; a < c->k[0]; a++)
        for (int64_t b = 0; b < c->k[1]; b++) {
            int64_t y = i * c->s[0] + a * c->d[0] - c->p[0], z = j * c->s[1] + b * c->d[1] - c->p[1];
            if (y < 0 || y >= c->h || z < 0 || z >= c->w) continue;
            float v = x[y * c->w + z];
            m = v != v || v > m ? v : m;
        }
    return m;
}
/* Two images channels last, against planes. */
static void channels_last(const shape *c, int64_t oh, int64_t ow, int row, int threads) {
    const int64_t channels = c->planes > 1 ? c->planes : 45;
    tc_tensor x = ktensor(TC_F32, 4, (int64_t[]){2, channels, c->h, c->w}), y = ktensor(TC_F32, 4, (int64_t[]){2, channels, oh, ow});
    ((float *)x.storage->data)[c->w] = NAN;
    tc_karg a[] = {karg_t(&x), karg_is(c->k, 2), karg_is(c->s, 2), karg_is(c->p, 2), karg_is(c->d, 2), karg_i(0)};
    assert_null(krun(&tc_k_max_pool2d, a, 6, &y, 1, (tc_isa_row)row, threads, NULL));
    tc_tensor x2 = klayout(&x, true), y2 = klayout(&y, true);
    memset(y2.storage->data, 0x55, y2.storage->bytes);
    a[0] = karg_t(&x2);
    assert_null(krun(&tc_k_max_pool2d, a, 6, &y2, 1, (tc_isa_row)row, threads, NULL));
    tc_tensor got = klayout(&y2, false);
    const float *want = y.storage->data, *f = got.storage->data;
    for (int64_t i = 0; i < 2 * channels * oh * ow; i++) assert_true(want[i] == f[i] || (want[i] != want[i] && f[i] != f[i]));
    kfree(&x), kfree(&y), kfree(&x2), kfree(&y2), kfree(&got);
}
/* Maxima of narrow types are those of the numbers they are, NaN of either sign among them, planes or channels last. */
static void narrow(const shape *c, int64_t oh, int64_t ow, tc_dtype type, int row) {
    const tc_cast_fn widen = tc_isa_ops_of(TC_ROW_portable)->cast[type][TC_F32];
    const int64_t channels = c->planes > 1 ? c->planes : 45, n = 2 * channels * c->h * c->w, area = oh * ow;
    tc_tensor x = ktensor(type, 4, (int64_t[]){2, channels, c->h, c->w}), y = ktensor(type, 4, (int64_t[]){2, channels, oh, ow});
    uint16_t *h = x.storage->data;
    float *wide = malloc((size_t)n * 4), *got = malloc(y.storage->bytes * 2);
    for (int64_t i = 0; i < n; i++) h[i] = (uint16_t)(i % 7 ? i * 40503 % 0x7c00 + (i % 3 ? 0x8000 : 0) : i % 2 * 0x8000);
    h[c->w] = 0xffff, h[c->h * c->w] = 0x7fff;
    widen(wide, h, n);
    for (int last = 0; last < 2; last++) {
        tc_tensor in = klayout(&x, last), out = klayout(&y, last);
        tc_karg a[] = {karg_t(&in), karg_is(c->k, 2), karg_is(c->s, 2), karg_is(c->p, 2), karg_is(c->d, 2), karg_i(0)};
        assert_null(krun(&tc_k_max_pool2d, a, 6, &out, 1, (tc_isa_row)row, 1, NULL));
        tc_tensor flat = klayout(&out, false);
        widen(got, flat.storage->data, 2 * channels * area);
        for (int64_t i = 0; i < 2 * channels * area; i++) {
            const float want = window(c, wide + i / area * c->h * c->w, i / ow % oh, i % ow);
            assert_true((want == got[i] && (want != 0 || !signbit(got[i]) || signbit(want))) || (want != want && got[i] != got[i]));
        }
        kfree(&in), kfree(&out), kfree(&flat);
    }
    free(wide), free(got);
    kfree(&x), kfree(&y);
}
static void check(const shape *c) {
    int64_t oh = (c->h + 2 * c->p[0] - c->d[0] * (c->k[0] - 1) - 1) / c->s[0] + 1,
            ow = (c->w + 2 * c->p[1] - c->d[1] * (c->k[1] - 1) - 1) / c->s[1] + 1;
    tc_tensor x = ktensor(TC_F32, 3, (int64_t[]){c->planes, c->h, c->w}), y = ktensor(TC_F32, 3, (int64_t[]){c->planes, oh, ow});
    float *f = x.storage->data, *got = y.storage->data;
    f[c->h * c->w - 1] = NAN, f[0] = -INFINITY;
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (int threads = 1; threads <= 3; threads += 2) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_karg a[] = {karg_t(&x), karg_is(c->k, 2), karg_is(c->s, 2), karg_is(c->p, 2), karg_is(c->d, 2), karg_i(0)};
            memset(got, 0x55, y.storage->bytes);
            assert_null(krun(&tc_k_max_pool2d, a, 6, &y, 1, (tc_isa_row)r, threads, NULL));
            for (int64_t i = 0; i < c->planes * oh * ow; i++) {
                float want = window(c, f + i / (oh * ow) * c->h * c->w, i / ow % oh, i % ow);
                if (!(want == got[i] || (want != want && got[i] != got[i])))
                    fail_msg("%lldx%lld, element %lld is %g, expected %g", (long long)c->h, (long long)c->w, (long long)i, (double)got[i],
                             (double)want);
            }
            channels_last(c, oh, ow, r, threads);
            narrow(c, oh, ow, TC_BF16, r), narrow(c, oh, ow, TC_F16, r);
        }
    kfree(&x), kfree(&y);
}
static void windows(void **state) {
    (void)state;
    static const shape all[] = {{300, 24, 24, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, {3, 9, 12, {3, 2}, {2, 2}, {1, 0}, {1, 1}},
                                {2, 10, 12, {2, 2}, {3, 3}, {1, 0}, {1, 2}},   {2, 7, 3000, {2, 2}, {1, 2}, {0, 0}, {1, 1}},
                                {5, 4, 6, {1, 1}, {2, 3}, {0, 0}, {1, 1}},     {2, 11, 12, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
                                {2, 8, 9, {2, 4}, {2, 3}, {0, 0}, {1, 1}},     {1, 8, 9, {2, 3}, {1, 1}, {1, 1}, {3, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(&all[i]);
}

/* The mean over [y0, y1) x [z0, z1) of a plane, divided by n. */
static double mean_of(const float *x, int64_t w, int64_t y0, int64_t y1, int64_t z0, int64_t z1, double n) {
    double s = 0;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t z = z0; z < z1; z++) s += (double)x[y * w + z];
    return s / n;
}
static int64_t max0(int64_t v) { return v < 0 ? 0 : v; }
static int64_t min2(int64_t a, int64_t b) { return a < b ? a : b; }
/* Runs a kernel on every row and two thread counts: the same bits, near the definition. */
static void check_mean(const tc_kernel *k, const tc_karg *a, int n, const shape *c, int64_t oh, int64_t ow, bool adaptive, bool count_pad) {
    tc_tensor y = ktensor(TC_F32, 3, (int64_t[]){c->planes, oh, ow});
    float *got = y.storage->data, *first = malloc(y.storage->bytes);
    const float *x = a[0].tensor->storage->data;
    for (int r = 0; r < TC_ROW_COUNT; r++)
        for (int threads = 1; threads <= 3; threads += 2) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            memset(got, 0x55, y.storage->bytes);
            assert_null(krun(k, a, n, &y, 1, (tc_isa_row)r, threads, NULL));
            if (r == 0 && threads == 1) memcpy(first, got, y.storage->bytes);
            assert_memory_equal(first, got, y.storage->bytes);
        }
    for (int64_t e = 0; e < c->planes * oh * ow; e++) {
        int64_t i = e / ow % oh, j = e % ow, y0, y1, z0, z1, all;
        if (adaptive) {
            y0 = i * c->h / oh, y1 = ((i + 1) * c->h + oh - 1) / oh, z0 = j * c->w / ow, z1 = ((j + 1) * c->w + ow - 1) / ow;
            all = (y1 - y0) * (z1 - z0);
        } else {
            y0 = i * c->s[0] - c->p[0], y1 = min2(y0 + c->k[0], c->h + c->p[0]), z0 = j * c->s[1] - c->p[1], z1 = min2(z0 + c->k[1], c->w + c->p[1]);
            all = (y1 - y0) * (z1 - z0);
            y0 = max0(y0), y1 = min2(y1, c->h), z0 = max0(z0), z1 = min2(z1, c->w);
            if (!count_pad) all = (y1 - y0) * (z1 - z0);
        }
        double want = mean_of(x + e / (oh * ow) * c->h * c->w, c->w, y0, y1, z0, z1, (double)all);
        assert_true(fabs(want - (double)got[e]) < 1e-5);
    }
    free(first), kfree(&y);
}
static void means(void **state) {
    (void)state;
    static const shape all[] = {{300, 24, 24, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
                                {3, 9, 12, {3, 2}, {2, 2}, {1, 0}, {1, 1}},
                                {5, 7, 9, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
                                {2, 40, 40, {20, 20}, {7, 9}, {3, 4}, {1, 1}},
                                {2, 11, 300, {3, 40}, {2, 50}, {1, 20}, {1, 1}}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const shape *c = &all[k];
        tc_tensor x = ktensor(TC_F32, 3, (int64_t[]){c->planes, c->h, c->w});
        int64_t oh = (c->h + 2 * c->p[0] - c->k[0]) / c->s[0] + 1, ow = (c->w + 2 * c->p[1] - c->k[1]) / c->s[1] + 1;
        for (int pad = 0; pad < 2; pad++) {
            tc_karg a[] = {karg_t(&x), karg_is(c->k, 2), karg_is(c->s, 2), karg_is(c->p, 2), karg_i(0), karg_i(pad)};
            check_mean(&tc_k_avg_pool2d, a, 6, c, oh, ow, false, pad);
        }
        tc_karg a[] = {karg_t(&x), karg_is((int64_t[]){oh, ow}, 2)};
        check_mean(&tc_k_adaptive_avg_pool2d, a, 2, c, oh, ow, true, false);
        kfree(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows), cmocka_unit_test(means)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
