/* Convolutions of bfloat16 by instructions for it: within one rounding of the portable row's, the same bits whatever the threads, packed ahead or
 * not, channels last or planes, with an epilogue or without; a plain epilogue has the bits of its parts one after another. On every machine by
 * the instructions in C; where the CPU has them by those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/kernel/bf16_rows.h"

#include "kernel/conv.h"

typedef struct {
    int64_t n, c, h, w, o, kh, kw, s, p, d, g;
    bool transposed, bias;
} geometry;
static int64_t result(int64_t i, int64_t k, const geometry *g) {
    return g->transposed ? (i - 1) * g->s - 2 * g->p + g->d * (k - 1) + 1 : (i + 2 * g->p - g->d * (k - 1) - 1) / g->s + 1;
}
static tc_tensor magnitudes(const tc_tensor *t) {
    tc_tensor r = ktensor(t->dtype, t->rank, t->size);
    for (size_t i = 0; i < t->storage->bytes / 2; i++) ((uint16_t *)r.storage->data)[i] = ((const uint16_t *)t->storage->data)[i] & 0x7fff;
    return r;
}
static double at(const tc_tensor *t, size_t i) { return (double)tc_x_cast_bf16_f32(((const uint16_t *)t->storage->data)[i]); }
/* Next to each other, 2^-7 of the value at most; sums: of the magnitudes of what was added. */
static void near(const char *what, const tc_tensor *got, const tc_tensor *want, const tc_tensor *sums) {
    for (size_t i = 0; i < got->storage->bytes / 2; i++) {
        const double g = at(got, i), w = at(want, i), bound = 0x1p-7 * fmax(fabs(g), fabs(w)) + 0x1p-17 * at(sums, i);
        if (!(fabs(g - w) <= bound)) fail_msg("%s: element %zu is %a, expected %a", what, i, g, w);
    }
}

/* Each finished region is negated; what is not in a region stays. */
typedef struct {
    uint16_t *data;
    int64_t columns;
} negation;
static void negate(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const negation *x = ctx;
    (void)worker;
    for (int64_t r = r0; r < r0 + nr; r++)
        for (int64_t c = c0; c < c0 + nc; c++) x->data[r * x->columns + c] ^= 0x8000;
}

/* The input's gradient is the transpose of the convolution, of the result's gradient: its bits. */
static void check_gradient(const geometry *g, const tc_tensor *x, const tc_tensor *w, const tc_tensor *dout, tc_karg *forward) {
    tc_tensor want = ktensor(TC_BF16, 4, x->size), got = ktensor(TC_BF16, 4, x->size);
    const tc_karg none = {.kind = TC_K_NONE};
    tc_karg back[] = {karg_t(dout), karg_t(x), karg_t(w), none, forward[3], forward[4], forward[5], forward[6], forward[7], forward[8], none},
            transpose[] = {karg_t(dout), karg_t(w), none, forward[3], forward[4], forward[5], karg_i(!g->transposed), forward[7], forward[8]};
    for (int r = 0; r < bf16_count; r++)
        for (int threads = 1; threads < 4; threads += 2) {
            call(&tc_k_convolution, &bf16_rows[r], transpose, 9, &want, threads, false);
            call(&tc_k_convolution_backward, &bf16_rows[r], back, 11, &got, threads, false);
            assert_memory_equal(got.storage->data, want.storage->data, want.storage->bytes);
        }
    kfree(&want), kfree(&got);
}

static void check(const geometry *g) {
    int64_t s[2] = {g->s, g->s}, p[2] = {g->p, g->p}, d[2] = {g->d, g->d}, none[2] = {0, 0};
    const int64_t xs[] = {g->n, g->c, g->h, g->w}, plain[] = {g->o, g->c / g->g, g->kh, g->kw}, turned[] = {g->c, g->o / g->g, g->kh, g->kw},
                  ys[] = {g->n, g->o, result(g->h, g->kh, g), result(g->w, g->kw, g)};
    tc_tensor x = ktensor(TC_BF16, 4, xs), w = ktensor(TC_BF16, 4, g->transposed ? turned : plain), b = ktensor(TC_BF16, 1, &g->o),
              want = ktensor(TC_BF16, 4, ys), sums = ktensor(TC_BF16, 4, ys), first = ktensor(TC_BF16, 4, ys);
    fill(&x), fill(&w), fill(&b);
    tc_tensor ax = magnitudes(&x), aw = magnitudes(&w), ab = magnitudes(&b);
    tc_karg a[] = {karg_t(&ax),      karg_t(&aw), karg_t(g->bias ? &ab : NULL), karg_is(s, 2), karg_is(p, 2), karg_is(d, 2), karg_i(g->transposed),
                   karg_is(none, 2), karg_i(g->g)};
    call(&tc_k_convolution, tc_isa_ops_of(TC_ROW_portable), a, 9, &sums, 1, false);
    a[0].tensor = &x, a[1].tensor = &w, a[2] = karg_t(g->bias ? &b : NULL);
    call(&tc_k_convolution, tc_isa_ops_of(TC_ROW_portable), a, 9, &want, 1, false);
    for (int r = 0; r < bf16_count; r++)
        for (int t = 0; t < 32; t += r < BF16_IN_C ? 3 : 1) { /* rows of instructions in C: every bit of t set and not */
            char what[128];
            if (g->g > 16 && (t & 1) != (t >> 1 & 1)) continue; /* depthwise: both images lie in one way */
            snprintf(what, sizeof what, "%dx%dx%dx%d by %dx%dx%d, way %d, %d", (int)g->n, (int)g->c, (int)g->h, (int)g->w, (int)g->o, (int)g->kh,
                     (int)g->kw, r, t);
            tc_tensor in = klayout(&x, t & 1), out = klayout(&want, t & 2);
            a[0].tensor = &in;
            const bool regions = t & 16 && t & 2 && !tc_tensor_is_contiguous(&out);
            negation turns = {out.storage->data, g->o};
            const tc_epilogue then = {negate, &turns, NULL};
            epilogue = regions ? &then : NULL;
            call(&tc_k_convolution, &bf16_rows[r], a, 9, &out, t & 4 ? 3 : 1, t & 8);
            epilogue = NULL;
            tc_tensor got = klayout(&out, false);
            for (size_t i = 0; regions && i < got.storage->bytes / 2; i++) ((uint16_t *)got.storage->data)[i] ^= 0x8000;
            near(what, &got, &want, &sums);
            if (!t) memcpy(first.storage->data, got.storage->data, got.storage->bytes);
            if (memcmp(first.storage->data, got.storage->data, got.storage->bytes)) fail_msg("%s: other bits than the first", what);
            kfree(&in), kfree(&out), kfree(&got);
            tc_tensor last = klayout(&first, true), rows = klayout(&x, true);
            a[0].tensor = g->g > 16 ? &rows : &x;
            if (t < 16 && !g->transposed) check_plain(what, &tc_k_convolution, &bf16_rows[r], a, 9, t, &last, g->o); /* a transpose reports nothing */
            a[0].tensor = &x;
            kfree(&last), kfree(&rows);
        }
    check_gradient(g, &x, &w, &want, a);
    tc_tensor *all[] = {&x, &w, &b, &want, &sums, &first, &ax, &aw, &ab};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kfree(all[i]);
}
static void geometries(void **state) {
    (void)state;
    static const geometry all[] = {{1, 64, 9, 9, 40, 3, 3, 1, 1, 1, 1, false, true},
                                   {2, 3, 17, 15, 33, 7, 7, 2, 3, 1, 1, false, false},
                                   {1, 96, 7, 7, 70, 1, 1, 1, 0, 1, 1, false, true},
                                   {1, 33, 8, 8, 20, 1, 1, 2, 0, 1, 1, false, false},
                                   {2, 48, 6, 5, 64, 3, 3, 1, 2, 2, 2, false, true},
                                   {1, 32, 6, 6, 24, 2, 2, 2, 0, 1, 1, true, true},
                                   {1, 19, 5, 6, 17, 3, 3, 2, 1, 1, 1, true, false},
                                   {1, 64, 4, 4, 32, 3, 1, 3, 1, 2, 1, true, true},
                                   {1, 160, 3, 3, 50, 3, 3, 1, 1, 1, 1, false, false},
                                   {3, 5, 1, 40, 9, 1, 5, 1, 0, 1, 1, false, true},
                                   /* in place; lines cut into segments; residues without a tap; taps that fit in steps of two */
                                   {3, 32, 6, 7, 33, 3, 3, 1, 0, 1, 1, false, true},
                                   {1, 6, 2, 1100, 5, 1, 2, 1, 0, 1, 1, false, true},
                                   {2, 24, 5, 4, 34, 2, 2, 3, 0, 1, 1, true, true},
                                   {1, 10, 4, 5, 6, 4, 4, 2, 1, 3, 1, true, false},
                                   /* depthwise: no pairs, sums of float32 in the order of other rows */
                                   {1, 40, 9, 17, 40, 3, 3, 1, 1, 1, 40, false, true},
                                   {2, 21, 11, 12, 21, 5, 5, 2, 2, 1, 21, false, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(&all[i]);
}

/* Blocks that products were asked for. */
static int64_t blocks;
static void (*product_block)(const tc_gemm *, int64_t, int64_t, int64_t, int64_t, void *, const void *, int);
static void counted(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    blocks++;
    product_block(j, r0, nr, c0, nc, work, packed, worker);
}
/* The weight's gradient, by products of bfloat16: within one rounding of the portable row's, the same bits for any thread count. Images in turns; gaps between strides. */
static void check_weight(const geometry *g) {
    int64_t s[2] = {g->s, g->s}, p[2] = {g->p, g->p}, d[2] = {g->d, g->d}, no[2] = {0, 0};
    const int64_t xs[] = {g->n, g->c, g->h, g->w}, ys[] = {g->n, g->o, result(g->h, g->kh, g), result(g->w, g->kw, g)},
                  plain[] = {g->o, g->c / g->g, g->kh, g->kw}, turned[] = {g->c, g->o / g->g, g->kh, g->kw}, *ws = g->transposed ? turned : plain;
    tc_tensor x = ktensor(TC_BF16, 4, xs), w = ktensor(TC_BF16, 4, ws), y = ktensor(TC_BF16, 4, ys);
    fill(&x), fill(&w), fill(&y);
    tc_tensor ax = magnitudes(&x), ay = magnitudes(&y), first = ktensor(TC_BF16, 4, ws), sums[2], want[2], got[2], *results[] = {sums, want, got};
    for (int i = 0; i < 3; i++) results[i][0] = ktensor(TC_BF16, 4, xs), results[i][1] = ktensor(TC_BF16, 4, ws);
    const tc_karg none = {.kind = TC_K_NONE};
    tc_karg a[] = {karg_t(&ay),   karg_t(&ax),           karg_t(&w),     none,         karg_is(s, 2), karg_is(p, 2),
                   karg_is(d, 2), karg_i(g->transposed), karg_is(no, 2), karg_i(g->g), none};
    more_results = 1;
    call(&tc_k_convolution_backward, tc_isa_ops_of(TC_ROW_portable), a, 11, sums, 1, false);
    a[0].tensor = &y, a[1].tensor = &x;
    call(&tc_k_convolution_backward, tc_isa_ops_of(TC_ROW_portable), a, 11, want, 1, false);
    for (int r = 0; r < bf16_count; r++) {
        tc_isa_ops isa = bf16_rows[r];
        tc_gemm_ops ops = *isa.gemm_bf16;
        product_block = ops.block, ops.block = counted, isa.gemm_bf16 = &ops, blocks = 0;
        call(&tc_k_convolution_backward, &isa, a, 11, got, 1, false);
        near("the gradient of a weight", &got[1], &want[1], &sums[1]);
        if (!blocks) fail_msg("%d channels to %d, way %d: no product", (int)g->c, (int)g->o, r);
        memcpy(first.storage->data, got[1].storage->data, first.storage->bytes);
        call(&tc_k_convolution_backward, &bf16_rows[r], a, 11, got, 3, false);
        assert_memory_equal(got[1].storage->data, first.storage->data, first.storage->bytes);
    }
    more_results = 0;
    for (int i = 0; i < 3; i++) kfree(&results[i][0]), kfree(&results[i][1]);
    kfree(&x), kfree(&w), kfree(&y), kfree(&ax), kfree(&ay), kfree(&first);
}
static void weight_gradients(void **state) {
    (void)state;
    static const geometry all[] = {{4, 16, 13, 13, 24, 3, 3, 1, 1, 1, 1, false, false}, {2, 20, 35, 35, 18, 3, 3, 2, 1, 1, 1, false, false},
                                   {3, 24, 20, 18, 40, 3, 2, 1, 2, 2, 2, false, false}, {8, 12, 29, 29, 12, 2, 2, 3, 0, 1, 1, false, false},
                                   {2, 12, 20, 20, 14, 3, 3, 2, 1, 1, 1, true, false},  {5, 16, 64, 64, 24, 1, 3, 1, 1, 1, 1, false, false},
                                   {2, 33, 45, 40, 40, 3, 3, 2, 0, 2, 1, false, false}, {9, 40, 8, 8, 20, 1, 1, 1, 0, 1, 1, false, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_weight(&all[i]);
}
/* An infinite number at a border, of the input or the result's gradient, meets no zero: the weight's gradient is no number where the portable row's is none. */
static void weight_gradients_of_infinities(void **state) {
    (void)state;
    static int64_t one[] = {1, 1}, no[] = {0, 0}, xs[] = {2, 16, 16, 16}, ws[] = {16, 16, 3, 3};
    for (int which = 0; which < 2; which++) {
        tc_tensor x = ktensor(TC_BF16, 4, xs), w = ktensor(TC_BF16, 4, ws), y = ktensor(TC_BF16, 4, xs);
        tc_tensor want[] = {ktensor(TC_BF16, 4, xs), ktensor(TC_BF16, 4, ws)}, got[] = {ktensor(TC_BF16, 4, xs), ktensor(TC_BF16, 4, ws)};
        const tc_karg none = {.kind = TC_K_NONE};
        tc_karg a[] = {karg_t(&y), karg_t(&x),     karg_t(&w), none, karg_is(one, 2), karg_is(one, 2), karg_is(one, 2),
                       karg_i(0),  karg_is(no, 2), karg_i(1),  none};
        fill(&x), fill(&w), fill(&y);
        ((uint16_t *)(which ? y : x).storage->data)[5 * 16 + 15] = 0x7f80;
        more_results = 1;
        call(&tc_k_convolution_backward, tc_isa_ops_of(TC_ROW_portable), a, 11, want, 1, false);
        for (int r = 0; r < bf16_count; r++) {
            call(&tc_k_convolution_backward, &bf16_rows[r], a, 11, got, 3, false);
            for (size_t i = 0; i < got[1].storage->bytes / 2; i++) assert_int_equal(isnan(at(&got[1], i)), isnan(at(&want[1], i)));
        }
        more_results = 0;
        kfree(&x), kfree(&w), kfree(&y);
        for (int i = 0; i < 2; i++) kfree(&want[i]), kfree(&got[i]);
    }
}

int main(void) {
    find_rows();
    const struct CMUnitTest tests[] = {cmocka_unit_test(geometries), cmocka_unit_test(weight_gradients),
                                       cmocka_unit_test(weight_gradients_of_infinities)};
    return cmocka_run_group_tests_name("conv_bf16", tests, NULL, NULL);
}
