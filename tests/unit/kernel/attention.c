/* Attention: values and gradients against float64 written out, equal bits for every instruction set and thread count, and for
 * queries taken alone (decode) or together (prefill). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernel/attention.h"
#include "kcall.h"

typedef struct {
    const char *what;
    int64_t n, h, hk, l, s, d, dv;
    bool causal;
    int mask;
} shape; /* mask: 0 none, 1 bool, 2 float, 3 bool, stretches of keys longer than a leaf */

static double score(const shape *c, const float *q, const float *k, const tc_tensor *mask, int64_t i, int64_t j) {
    double v = 0;
    for (int64_t x = 0; x < c->d; x++) v += (double)q[i * c->d + x] * k[j * c->d + x];
    v /= sqrt((double)c->d);
    if (c->mask & 1 && !((uint8_t *)mask->storage->data)[i * c->s + j]) return -INFINITY;
    if (c->mask == 2) v += ((float *)mask->storage->data)[i * c->s + j];
    return c->causal && j > i ? -INFINITY : v;
}

static void check(const shape *c) {
    tc_tensor q = ktensor(TC_F32, 4, (int64_t[]){c->n, c->h, c->l, c->d}), k = ktensor(TC_F32, 4, (int64_t[]){c->n, c->hk, c->s, c->d}),
              v = ktensor(TC_F32, 4, (int64_t[]){c->n, c->hk, c->s, c->dv});
    tc_tensor g = ktensor(TC_F32, 4, (int64_t[]){c->n, c->h, c->l, c->dv}),
              mask = ktensor(c->mask & 1 ? TC_BOOL : TC_F32, 2, (int64_t[]){c->l, c->s});
    if (c->mask == 1)
        for (int64_t i = 0; i < c->l * c->s; i++) ((uint8_t *)mask.storage->data)[i] = knext() % 3 != 0 && i / c->s != 1; /* row 1 has no keys */
    if (c->mask == 3)
        for (int64_t i = 0; i < c->l * c->s; i++) ((uint8_t *)mask.storage->data)[i] = i % c->s / 150 % c->l == i / c->s;
    tc_tensor out[2] = {ktensor(TC_F32, 4, g.size), ktensor(TC_F32, 3, g.size)}, first[2] = {ktensor(TC_F32, 4, g.size), ktensor(TC_F32, 3, g.size)};
    tc_tensor grads[3] = {ktensor(TC_F32, 4, q.size), ktensor(TC_F32, 4, k.size), ktensor(TC_F32, 4, v.size)},
              gfirst[3] = {ktensor(TC_F32, 4, q.size), ktensor(TC_F32, 4, k.size), ktensor(TC_F32, 4, v.size)};
    tc_karg none = {.kind = TC_K_NONE}, m = c->mask ? karg_t(&mask) : none;
    for (int r = 0, run = 0; r < TC_ROW_COUNT; r++)
        for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5, run++) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_karg f[] = {karg_t(&q), karg_t(&k), karg_t(&v), karg_f(0), karg_i(c->causal), m, none};
            tc_tensor *o = run ? out : first, *gr = run ? grads : gfirst;
            assert_null(krun(&tc_k_flash_attention, f, 7, o, 2, (tc_isa_row)r, threads, NULL));
            tc_karg b[] = {karg_t(&g), karg_t(&q), karg_t(&k), karg_t(&v), karg_t(&o[0]), karg_t(&o[1]), karg_f(0), karg_i(c->causal), m, none};
            assert_null(krun(&tc_k_flash_attention_backward, b, 10, gr, 3, (tc_isa_row)r, threads, NULL));
            for (int i = 0; i < 2 && run; i++) assert_memory_equal(out[i].storage->data, first[i].storage->data, out[i].storage->bytes);
            for (int i = 0; i < 3 && run; i++) assert_memory_equal(grads[i].storage->data, gfirst[i].storage->data, grads[i].storage->bytes);
        }
    double *dk = calloc((size_t)(c->n * c->hk * c->s * c->d), 8), *dv = calloc((size_t)(c->n * c->hk * c->s * c->dv), 8),
           *p = malloc((size_t)c->s * 8);
    for (int64_t b = 0; b < c->n * c->h; b++) {
        int64_t kb = b / c->h * c->hk + b % c->h / (c->h / c->hk);
        const float *qq = (float *)q.storage->data + b * c->l * c->d, *kk = (float *)k.storage->data + kb * c->s * c->d,
                    *vv = (float *)v.storage->data + kb * c->s * c->dv, *gg = (float *)g.storage->data + b * c->l * c->dv;
        for (int64_t i = 0; i < c->l; i++) {
            double max = -INFINITY, sum = 0, dot = 0;
            for (int64_t j = 0; j < c->s; j++) p[j] = score(c, qq, kk, &mask, i, j), max = fmax(max, p[j]);
            for (int64_t j = 0; j < c->s; j++) p[j] = max == -INFINITY ? 0 : exp(p[j] - max), sum += p[j];
            for (int64_t x = 0; x < c->dv; x++) {
                double w = 0;
                for (int64_t j = 0; j < c->s; j++) w += sum ? p[j] / sum * vv[j * c->dv + x] : 0;
                double got = ((float *)first[0].storage->data)[(b * c->l + i) * c->dv + x];
                if (!(fabs(got - w) < 1e-5)) fail_msg("%s: row %lld element %lld is %g, expected %g", c->what, (long long)i, (long long)x, got, w);
                dot += w * gg[i * c->dv + x];
            }
            for (int64_t x = 0; x < c->d; x++) {
                double w = 0;
                for (int64_t j = 0; j < c->s; j++) {
                    double dp = 0, pr = sum ? p[j] / sum : 0;
                    for (int64_t y = 0; y < c->dv; y++) dp += (double)gg[i * c->dv + y] * vv[j * c->dv + y];
                    double ds = pr * (dp - dot) / sqrt((double)c->d);
                    w += ds * kk[j * c->d + x], dk[(kb * c->s + j) * c->d + x] += ds * qq[i * c->d + x];
                }
                assert_true(fabs(((float *)gfirst[0].storage->data)[(b * c->l + i) * c->d + x] - w) < 1e-4);
            }
            for (int64_t j = 0; j < c->s; j++)
                for (int64_t y = 0; y < c->dv; y++) dv[(kb * c->s + j) * c->dv + y] += sum ? p[j] / sum * gg[i * c->dv + y] : 0;
        }
    }
    for (int64_t i = 0; i < c->n * c->hk * c->s * c->d; i++) assert_true(fabs(((float *)gfirst[1].storage->data)[i] - dk[i]) < 1e-4);
    for (int64_t i = 0; i < c->n * c->hk * c->s * c->dv; i++) assert_true(fabs(((float *)gfirst[2].storage->data)[i] - dv[i]) < 1e-4);
    if (c->causal && c->n * c->h == 1 && c->l == c->s) { /* the last query alone sees all keys */
        tc_tensor one = q, alone = ktensor(TC_F32, 4, (int64_t[]){1, 1, 1, c->dv});
        one.size[2] = 1, one.offset = (c->l - 1) * c->d;
        tc_karg f[] = {karg_t(&one), karg_t(&k), karg_t(&v), karg_f(0), karg_i(0), m, none};
        assert_null(krun(&tc_k_flash_attention, f, 7, &alone, 1, TC_ROW_portable, 1, NULL));
        assert_memory_equal(alone.storage->data, (float *)first[0].storage->data + (c->l - 1) * c->dv, 4 * (size_t)c->dv);
        kfree(&alone);
    }
    for (int64_t i = 0; c->mask == 3 && i < c->l; i++) { /* a row alone skips leaves that others need */
        tc_tensor one = q, row = mask, alone = ktensor(TC_F32, 4, (int64_t[]){1, 1, 1, c->dv});
        one.size[2] = row.size[0] = 1, one.offset = i * c->d, row.offset = i * c->s;
        tc_karg f[] = {karg_t(&one), karg_t(&k), karg_t(&v), karg_f(0), karg_i(0), karg_t(&row), none};
        assert_null(krun(&tc_k_flash_attention, f, 7, &alone, 1, TC_ROW_portable, 1, NULL));
        assert_memory_equal(alone.storage->data, (float *)first[0].storage->data + i * c->dv, 4 * (size_t)c->dv);
        kfree(&alone);
    }
    kfree(&q), kfree(&k), kfree(&v), kfree(&g), kfree(&mask);
    for (int i = 0; i < 2; i++) kfree(&out[i]), kfree(&first[i]);
    for (int i = 0; i < 3; i++) kfree(&grads[i]), kfree(&gfirst[i]);
    free(dk), free(dv), free(p);
}

static void shapes(void **state) {
    (void)state;
    static const shape all[] = {{"small", 2, 3, 3, 5, 7, 8, 6, false, 0},          {"causal", 1, 1, 1, 300, 300, 16, 16, true, 0},
                                {"bool mask", 1, 2, 2, 9, 150, 4, 5, false, 1},    {"float mask", 1, 2, 2, 70, 130, 8, 8, false, 2},
                                {"grouped", 2, 4, 2, 70, 65, 8, 12, true, 0},      {"long", 1, 1, 1, 3, 700, 8, 8, false, 0},
                                {"stretches", 1, 1, 1, 4, 1300, 32, 64, false, 3}, {"no keys", 1, 1, 1, 7, 300, 8, 8, false, 3}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(&all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes)};
    return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
