/* Maximum of windows against the definition: windows that tile rows and such that do not, padding, dilation, NaN, every instruction set. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
