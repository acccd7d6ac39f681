/* Attention: values and gradients against float64 written out, equal bits for every instruction set and thread count, and for
 * queries taken alone (decode) or together (prefill). Of bfloat16 equal bits for every thread count and layout of a row, which has instructions
 * for bfloat16 (in C on every machine) or goes through float32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/kernel/bf16_rows.h"

#include "kernel/attention.h"

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
    static const shape all[] = {{"small", 2, 3, 3, 5, 7, 8, 6, false, 0},
                                {"causal", 1, 1, 1, 300, 300, 16, 16, true, 0},
                                {"bool mask", 1, 2, 2, 9, 150, 4, 5, false, 1},
                                {"float mask", 1, 2, 2, 70, 130, 8, 8, false, 2},
                                {"grouped", 2, 4, 2, 70, 65, 8, 12, true, 0},
                                {"long", 1, 1, 1, 3, 700, 8, 8, false, 0},
                                {"stretches", 1, 1, 1, 4, 1300, 32, 64, false, 3},
                                {"no keys", 1, 1, 1, 7, 300, 8, 8, false, 3},
                                {"causal, few keys", 1, 2, 1, 300, 70, 8, 6, true, 0},
                                {"causal, many keys", 1, 1, 1, 70, 300, 6, 8, true, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(&all[i]);
}

/* ---- bfloat16 ---- */
/* The same elements, `order` the dimensions of memory from the outermost. */
static tc_tensor laid(const tc_tensor *t, const int *order) {
    tc_tensor r = ktensor(t->dtype, t->rank, t->size);
    int64_t n = 1;
    for (int i = t->rank - 1; i >= 0; i--) r.stride[order[i]] = n, n *= t->size[order[i]];
    for (int64_t i = 0; i < n; i++) {
        int64_t to = 0, rest = i;
        for (int d = t->rank - 1; d >= 0; d--) to += rest % t->size[d] * r.stride[d], rest /= t->size[d];
        ((uint16_t *)r.storage->data)[to] = ((const uint16_t *)t->storage->data)[i];
    }
    return r;
}
static tc_tensor as_f32(const tc_tensor *t) {
    tc_tensor r = ktensor(TC_F32, t->rank, t->size);
    for (size_t i = 0; i < t->storage->bytes / 2; i++) ((float *)r.storage->data)[i] = tc_x_cast_bf16_f32(((const uint16_t *)t->storage->data)[i]);
    return r;
}
/* Is `got` the attention of q, k, v in float32? To one rounding of the result, and of each weight if `pairs`. */
static void near(const shape *c, const tc_tensor *got, const tc_tensor *q, const tc_tensor *k, const tc_tensor *v, const tc_tensor *mask,
                 bool pairs) {
    double *p = malloc((size_t)c->s * 8 + 8);
    for (int64_t r = 0; r < c->n * c->h * c->l; r++) {
        const int64_t head = r / c->l, i = r % c->l, kept = head / c->h * c->hk + head % c->h / (c->h / c->hk);
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < c->s; j++) {
            p[j] = score(c, (float *)q->storage->data + head * c->l * c->d, (float *)k->storage->data + kept * c->s * c->d, mask, i, j);
            max = fmax(max, p[j]);
        }
        for (int64_t j = 0; j < c->s; j++) p[j] = max == -INFINITY ? 0 : exp(p[j] - max), sum += p[j];
        for (int64_t x = 0; x < c->dv; x++) {
            double w = 0, all = 0, g = (double)tc_x_cast_bf16_f32(((uint16_t *)got->storage->data)[r * c->dv + x]);
            for (int64_t j = 0; j < c->s && sum; j++) {
                double t = p[j] / sum * ((float *)v->storage->data)[(kept * c->s + j) * c->dv + x];
                w += t, all += fabs(t);
            }
            if (!(fabs(g - w) <= 0x1.01p-8 * (fabs(w) + (pairs ? all : 0)) + 1e-5))
                fail_msg("%s: row %lld element %lld is %g, expected %g", c->what, (long long)r, (long long)x, g, w);
        }
    }
    free(p);
}

/* Blocks that products by pairs were asked for. */
static int64_t blocks;
static void counted(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    blocks++;
    tc_gemm_bf16_amx_in_c.block(j, r0, nr, c0, nc, work, packed, worker);
}
static void check_bf16(const shape *c) {
    tc_tensor x[3] = {ktensor(TC_BF16, 4, (int64_t[]){c->n, c->h, c->l, c->d}), ktensor(TC_BF16, 4, (int64_t[]){c->n, c->hk, c->s, c->d}),
                      ktensor(TC_BF16, 4, (int64_t[]){c->n, c->hk, c->s, c->dv})};
    const int64_t size[] = {c->n, c->h, c->l, c->dv}, grid[] = {c->l, c->s};
    tc_tensor wide[3], by_rows[3], by_columns[3], *layout[] = {x, by_rows, by_columns}, mask = ktensor(c->mask == 2 ? TC_BF16 : TC_BOOL, 2, grid);
    for (int i = 0; i < 3; i++) {
        fill(&x[i]);
        wide[i] = as_f32(&x[i]), by_rows[i] = laid(&x[i], (int[]){0, 2, 1, 3}), by_columns[i] = laid(&x[i], (int[]){1, 3, 0, 2});
    }
    if (c->mask == 2) fill(&mask);
    else
        for (int64_t i = 0; i < c->l * c->s; i++) /* row 1 has no keys */
            ((uint8_t *)mask.storage->data)[i] = c->mask == 3 ? i % c->s / 150 % c->l == i / c->s : knext() % 3 != 0 && i / c->s != 1;
    tc_tensor wide_mask = c->mask == 2 ? as_f32(&mask) : mask, first = ktensor(TC_BF16, 4, size), got = ktensor(TC_BF16, 4, size);
    uint16_t *by_c[BF16_IN_C];
    const size_t bytes = first.storage->bytes;
    for (int r = -1; r < bf16_count; r++) {
        tc_isa_ops isa = r < 0 ? *tc_isa_ops_of(TC_ROW_portable) : bf16_rows[r];
        for (int t = 0; t < 6; t++) {
            tc_tensor *y = layout[t / 2];
            tc_karg none = {.kind = TC_K_NONE},
                    args[] = {karg_t(&y[0]), karg_t(&y[1]), karg_t(&y[2]), karg_f(0), karg_i(c->causal), c->mask ? karg_t(&mask) : none, none};
            call(&tc_k_flash_attention, &isa, args, 7, t ? &got : &first, t & 1 ? 5 : 1, false);
            if (!t) near(c, &first, &wide[0], &wide[1], &wide[2], &wide_mask, r >= 0);
            else assert_memory_equal(got.storage->data, first.storage->data, bytes);
        }
        if (r >= 0 && r < BF16_IN_C) memcpy(by_c[r] = malloc(bytes + 1), first.storage->data, bytes);
        else if (r >= 0) assert_memory_equal(first.storage->data, by_c[bf16_c_of[r]], bytes);
    }
    tc_gemm_ops ops = tc_gemm_bf16_amx_in_c;
    tc_isa_ops isa = *tc_isa_ops_of(TC_ROW_portable);
    ops.block = counted, isa.gemm_bf16 = &ops, blocks = 0;
    tc_karg none = {.kind = TC_K_NONE};
    call(&tc_k_flash_attention, &isa, (tc_karg[]){karg_t(&x[0]), karg_t(&x[1]), karg_t(&x[2]), karg_f(0), karg_i(0), none, none}, 7, &got, 1, false);
    const int64_t tiles = (c->l + 63) / 64, leaves = (c->s + 127) / 128, each = 1 + (c->dv + TC_GEMM_NC - 1) / TC_GEMM_NC;
    assert_int_equal(blocks, c->l > 2 ? each * c->n * c->h * tiles * leaves : 0); /* q k' and p v; few queries do without */
    for (int r = 0; r < BF16_IN_C; r++) free(by_c[r]);
    for (int i = 0; i < 3; i++) kfree(&x[i]), kfree(&wide[i]), kfree(&by_rows[i]), kfree(&by_columns[i]);
    if (c->mask == 2) kfree(&wide_mask);
    kfree(&mask), kfree(&first), kfree(&got);
}
static void bf16_shapes(void **state) {
    (void)state;
    static const shape all[] = {{"small", 2, 3, 3, 5, 7, 8, 6, false, 0},           {"causal", 1, 2, 2, 300, 300, 16, 40, true, 0},
                                {"bool mask", 1, 2, 2, 9, 150, 33, 5, false, 1},    {"float mask", 2, 2, 2, 70, 130, 64, 64, true, 2},
                                {"grouped", 2, 4, 2, 70, 65, 40, 96, true, 0},      {"grouped, few", 1, 4, 2, 3, 257, 64, 64, false, 1},
                                {"a query", 1, 2, 2, 1, 300, 64, 64, false, 0},     {"two", 1, 4, 2, 2, 200, 64, 32, true, 0},
                                {"stretches", 1, 1, 1, 4, 1300, 32, 64, false, 3},  {"no keys", 1, 1, 1, 7, 300, 8, 8, false, 3},
                                {"wide head", 1, 1, 1, 66, 140, 130, 550, false, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_bf16(&all[i]);
}

/* A negative scale, weights that are nothing beside others, and a key that is no number: what a causal mask hides it from does not see it. */
static void bf16_edges(void **state) {
    (void)state;
    const shape c = {"edges", 1, 1, 1, 40, 40, 32, 16, true, 0};
    const int64_t size[3][4] = {{1, 1, c.l, c.d}, {1, 1, c.s, c.d}, {1, 1, c.s, c.dv}};
    tc_tensor x[3], wide[3], out = ktensor(TC_BF16, 4, size[2]), first = ktensor(TC_BF16, 4, size[2]);
    tc_karg none = {.kind = TC_K_NONE};
    for (int i = 0; i < 3; i++) {
        x[i] = ktensor(TC_BF16, 4, size[i]);
        fill(&x[i]);
    }
    uint16_t *q = x[0].storage->data, *k = x[1].storage->data, *got = out.storage->data;
    for (int64_t i = 0; i < c.d; i++) q[2 * c.d + i] = tc_x_cast_f32_bf16(800 * tc_x_cast_bf16_f32(q[2 * c.d + i])); /* far apart scores */
    for (int i = 0; i < 3; i++) wide[i] = as_f32(&x[i]);
    for (int64_t i = 0; i < c.l * c.d; i++) ((float *)wide[0].storage->data)[i] *= -1;
    tc_karg args[] = {karg_t(&x[0]), karg_t(&x[1]), karg_t(&x[2]), karg_f(0), karg_i(1), none, karg_f(-1 / sqrt((double)c.d))};
    for (int r = 0; r < bf16_count; r++) {
        call(&tc_k_flash_attention, &bf16_rows[r], args, 7, &first, 1, false);
        near(&c, &first, &wide[0], &wide[1], &wide[2], NULL, true);
        const uint16_t kept = k[30 * c.d + 5];
        k[30 * c.d + 5] = 0x7fc0;
        for (int late = 0; late < 2; late++) { /* the scale before the exponential or with it */
            args[6] = karg_f((late ? 1 : -1) / sqrt((double)c.d));
            call(&tc_k_flash_attention, &bf16_rows[r], args, 7, &out, 1, false);
            if (!late) assert_memory_equal(got, first.storage->data, 30 * (size_t)c.dv * 2);
            for (int64_t i = 0; i < c.l * c.dv; i++) assert_int_equal(tc_x_cast_bf16_f32(got[i]) != tc_x_cast_bf16_f32(got[i]), i / c.dv >= 30);
        }
        args[6] = karg_f(-1 / sqrt((double)c.d)), k[30 * c.d + 5] = kept;
    }
    for (int i = 0; i < 3; i++) kfree(&x[i]), kfree(&wide[i]);
    kfree(&out), kfree(&first);
}

int main(void) {
    find_rows();
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(bf16_shapes), cmocka_unit_test(bf16_edges)};
    return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
