/* Products that a program registers are candidates of tuning: the fastest is taken, one with other bits only where roundings are allowed. What
 * follows a product (addend, alpha, beta, activation) is computed behind a registered one with the same bits, batches too. */
#include "graphs.h"
#include "kernel/gemm_external.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "runtime/tune.h"

#include <math.h>

enum { QUICK = 1, NOTHING, EXACT, REFUSES };
enum { N = 128 }; /* a leaf of tc-numerics(7), "Matrix products": one chain */

static int exact(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
                 int64_t b_col, float *c, int64_t c_row) {
    (void)threads;
    if (ctx) ++*(int *)ctx;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++) sum = fmaf(a[i * a_row + l * a_col], b[l * b_row + j * b_col], sum);
            c[i * c_row + j] = sum;
        }
    return 0;
}

/* Knows the result when it is asked again. */
static float known[N * N];
static int quick(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
                 int64_t b_col, float *c, int64_t c_row) {
    int *calls = ctx;
    if (m != N || n != N || c_row != N) return 1;
    if (!*calls) exact(NULL, threads, m, n, k, a, a_row, a_col, b, b_row, b_col, known, N);
    ++*calls;
    memcpy(c, known, sizeof known);
    return 0;
}

static int nothing(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
                   int64_t b_row, int64_t b_col, float *c, int64_t c_row) {
    (void)threads, (void)m, (void)n, (void)k, (void)a, (void)a_row, (void)a_col, (void)b, (void)b_row, (void)b_col, (void)c_row;
    ++*(int *)ctx;
    c[0] = 1;
    return 0;
}

static int refuses(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
                   int64_t b_row, int64_t b_col, float *c, int64_t c_row) {
    (void)threads, (void)m, (void)n, (void)k, (void)a, (void)a_row, (void)a_col, (void)b, (void)b_row, (void)b_col, (void)c, (void)c_row;
    ++*(int *)ctx;
    return 1;
}

static int calls[4];

typedef struct {
    tc_sample sample;
    tc_tensor in[4];
} subject;
static void open(const char *call, subject *s) {
    *s = (subject){0};
    ok(tc_sample_parse(NULL, call, strlen(call), &s->sample));
    ok(tc_functionalise(s->sample.program));
    for (int i = 0; i < s->sample.ntensors; i++) {
        const tc_meta *m = &s->sample.program->inputs[i].value->meta;
        int64_t size[TC_MAX_RANK];
        for (int d = 0; d < m->rank; d++) assert_true(tc_sym_const_int(m->size[d], &size[d]));
        ok(tc_tensor_empty(m->dtype, m->rank, size, &s->in[i]));
        tc_sample_fill(&s->in[i], -2, 2, (uint64_t)i + 5);
    }
}
static void close(subject *s) {
    for (int i = 0; i < s->sample.ntensors; i++) tc_tensor_deinit(&s->in[i]);
    tc_program_release(s->sample.program);
}

/* What tuning chose for the one product of N x N x N, of mm.external. Beside other work a second may be too short: then it gets more. */
static int chosen(bool rounds) {
    subject s;
    tc_tuning *t;
    tc_buf b = {0};
    open("mm(f32[128,128], f32[128,128])", &s);
    ok(tc_tuning_create(1, &t));
    tc_tuned done = {.late = true};
    for (double seconds = 1; done.late && seconds < 1000; seconds *= 4) {
        done = (tc_tuned){0};
        ok(tc_tune(s.sample.program, &(tc_exec_options){.threads = 1}, t, s.in, s.sample.ntensors,
                   &(tc_tune_options){.seconds = seconds, .rounds = rounds}, &done));
    }
    tc_tuning_write(t, false, &b);
    const char *at = strstr(tc_buf_str(&b), "mm.external f32 128x128 128x128\t");
    const int value = at ? atoi(strchr(at, '\t')) : -1;
    tc_buf_free(&b);
    tc_tuning_destroy(t);
    close(&s);
    return value;
}

static void test_the_fastest_with_the_same_bits_is_chosen(void **state) {
    (void)state;
    assert_int_equal(chosen(false), QUICK);
    for (int i = 0; i < 4; i++) assert_true(calls[i] > 0); /* all were tried */
    assert_int_equal(chosen(true), NOTHING);
}

static void run(const subject *s, const tc_tuning *t, tc_tensor *out) {
    tc_exec *e;
    ok(tc_exec_create(s->sample.program, &(tc_exec_options){.threads = 2}, &e));
    tc_exec_set_tuning(e, t);
    ok(tc_exec_run(e, s->in, s->sample.ntensors, NULL, out, 1));
    tc_exec_destroy(e);
}

/* By candidate `which`, the bits are those of the own product. */
static void same(const char *call, const char *key, int which) {
    subject s;
    tc_tuning *t;
    tc_tensor want = {0}, have = {0};
    const int before = calls[which - 1];
    tc_diff d;
    open(call, &s);
    ok(tc_tuning_create(2, &t));
    run(&s, NULL, &want);
    tc_tuning_set_tile(t, key, which);
    run(&s, t, &have);
    ok(tc_tensor_compare(&have, &want, 0, 0, &d));
    assert_int_equal(d.count, 0);
    assert_true(calls[which - 1] > before);
    tc_tensor_deinit(&want);
    tc_tensor_deinit(&have);
    tc_tuning_destroy(t);
    close(&s);
}

static void test_what_follows_a_product_keeps_its_bits(void **state) {
    (void)state;
    same("mm(f32[33,70], f32[70,5])", "mm.external f32 33x70 70x5", EXACT);
    same("bmm(f32[3,9,200], f32[3,200,17])", "bmm.external f32 3x9x200 3x200x17", EXACT);
    same("addmm(f32[65], f32[40,65], f32[65,65])", "addmm.external f32 65 40x65 65x65", EXACT);
    same("addmm(f32[40,1], f32[40,65], f32[65,65], beta=0.3, alpha=-1.7)", "addmm.external f32 40x1 40x65 65x65", EXACT);
    same("baddbmm(f32[2,1,6], f32[2,5,7], f32[2,7,6], beta=2, alpha=3)", "baddbmm.external f32 2x1x6 2x5x7 2x7x6", EXACT);
    same("mm(f32[33,70], f32[70,5])", "mm.external f32 33x70 70x5", REFUSES); /* the own product instead */
}

/* gelu(x w + b) + r is an epilogue of the product. */
static void test_epilogues(void **state) {
    (void)state;
    tc_program *p = tc_program_create("t");
    if (!p->graph) p->graph = tc_graph_create(p, NULL, "t");
    p->functional = true;
    const int64_t sizes[4][2] = {{150, 64}, {64, 96}, {1, 96}, {150, 96}};
    tc_value *v[4];
    tc_tensor in[4], want = {0}, have = {0};
    uint32_t seed = 3;
    for (int i = 0; i < 4; i++) {
        v[i] = input(p, TC_IN_USER, (const char *[]){"x", "w", "b", "r"}[i], TC_F32, 2, tc_sym_int(p->sym, sizes[i][0]),
                     tc_sym_int(p->sym, sizes[i][1]));
        in[i] = random_tensor(TC_F32, 2, sizes[i], -1, 1, &seed);
    }
    tc_emit e = {.graph = p->graph};
    tc_value *y = tc_emit_call(&e, "aten::addmm", "vvv", v[2], v[0], v[1]);
    output(p, tc_e_add(&e, tc_emit_call(&e, "aten::gelu", "v", y), v[3]));
    ok(e.status);
    subject s = {.sample = {.program = p, .ntensors = 4}};
    memcpy(s.in, in, sizeof in);
    tc_tuning *t;
    tc_diff d;
    ok(tc_tuning_create(2, &t));
    run(&s, NULL, &want);
    const int before = calls[EXACT - 1];
    tc_tuning_set_tile(t, "addmm.external f32 1x96 150x64 64x96", EXACT);
    run(&s, t, &have);
    assert_int_equal(calls[EXACT - 1], before + 1);
    ok(tc_tensor_compare(&have, &want, 0, 0, &d));
    assert_int_equal(d.count, 0);
    tc_tensor_deinit(&want);
    tc_tensor_deinit(&have);
    tc_tuning_destroy(t);
    close(&s);
}

int main(void) {
    const tc_gemm_external_fn fn[] = {quick, nothing, exact, refuses, refuses, refuses};
    for (int i = 0; i < 6; i++)
        if (!tc_gemm_external_add(fn[i], &calls[i < 4 ? i : 3])) return 1;
    if (tc_gemm_external_add(exact, NULL)) return 1; /* there are six */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_fastest_with_the_same_bits_is_chosen),
                                       cmocka_unit_test(test_what_follows_a_product_keeps_its_bits), cmocka_unit_test(test_epilogues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
