/* Every sample of the operator table is a call that its own row takes; what is no call is refused with the place. */
#include "op/decompose.h"
#include "op/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_table(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        size_t len;
        const char *call;
        for (int k = 0; op->samples && (call = tc_sample_call(op->samples, k, &len)); k++) {
            tc_sample s;
            tc_status st = tc_sample_parse(op, call, len, &s);
            if (st) print_error("%s: %.*s: %s\n", tc_op_name(op), (int)len, call, tc_status_message(st)), failed++;
            else tc_program_release(s.program);
            tc_status_free(st);
        }
    }
    assert_int_equal(failed, 0);
}

static void test_text(void **state) {
    (void)state;
    size_t len;
    const char *two = " add(f32[2,3], 1) ; pow(f32[5]:0.5..2, 3);";
    assert_string_equal(tc_sample_call(two, 1, &len), "pow(f32[5]:0.5..2, 3);");
    assert_int_equal(len, 21);
    assert_null(tc_sample_call(two, 2, &len));
    tc_sample s;
    assert_null(tc_sample_parse(NULL, "pow(f32[5]:0.5..2, 3)", 21, &s));
    assert_int_equal(s.ntensors, 1);
    assert_true(s.lo[0] == 0.5 && s.hi[0] == 2);
    assert_int_equal(s.program->ninputs, 1);
    assert_int_equal(s.program->noutputs, 1);
    tc_program_release(s.program);
    const char *free_sizes = "native_layer_norm(f32[B,C], [C], None, f32[C], 1e-5)";
    assert_null(tc_sample_parse(NULL, free_sizes, strlen(free_sizes), &s));
    assert_int_equal(tc_sym_var_count(s.program->sym), 2);
    assert_int_equal(s.program->noutputs, 3);
    assert_string_equal(s.program->inputs[1].name, "bias");
    assert_true(s.program->inputs[0].value->meta.size[1] == s.program->inputs[1].value->meta.size[0]);
    tc_program_release(s.program);
    static const char *const wrong[] = {"view(f32[B,4], [B,2.0,2])",
                                        "add(f32[b], 1)",
                                        "add(f32[B], b)",
                                        "add(f32[2], ",
                                        "add",
                                        "(1)",
                                        "add(f32[2], 1) x",
                                        "add(f32[-1], 1)",
                                        "add(f32[2], other=1, oops=3)",
                                        "no_such_op(f32[2])",
                                        "add(f32[2], [[[[[1]]]]])"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tc_status st = tc_sample_parse(NULL, wrong[i], strlen(wrong[i]), &s);
        if (!st) fail_msg("%s was taken", wrong[i]);
        tc_status_free(st);
    }
}

/* What no loop or kernel computes is refused where the node is made, whoever makes it: in model sources the language refuses some of it before. */
static void test_refused(void **state) {
    (void)state;
    static const char *const calls[][2] = {{"select_scatter(f32[], f32[], 0, 0)", "select() cannot be applied to a 0-dim tensor"},
                                           {"avg_pool1d(c64[3,4], 2)", "\"avg_pool2d\" not implemented for 'complex64'"},
                                           {"avg_pool3d(c128[1,4,4,4], 2)", "\"avg_pool3d\" not implemented for 'complex128'"},
                                           {"max_pool2d(c64[1,4,4], 2)", "\"max_pool2d_with_indices\" not implemented for 'complex64'"},
                                           {"adaptive_avg_pool2d(c64[1,4,4], 2)", "\"_adaptive_avg_pool2d\" not implemented for 'complex64'"},
                                           {"adaptive_max_pool2d(c64[1,4,4], 2)", "\"adaptive_max_pool2d\" not implemented for 'complex64'"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tc_sample s;
        tc_status st = tc_sample_parse(NULL, calls[i][0], strlen(calls[i][0]), &s);
        if (!st) fail_msg("%s was taken", calls[i][0]);
        if (!strstr(tc_status_message(st), calls[i][1])) fail_msg("%s: %s", calls[i][0], tc_status_message(st));
        tc_status_free(st);
    }
}

/* Gradients of two types are of the type that both promote to. */
static void test_mixed_gradients(void **state) {
    (void)state;
    static const char *const calls[] = {"sigmoid_backward(f16[4], i8[1,1])", "tanh_backward(f64[], i16[2,3])", "tanh_backward(f16[2], f32[])"};
    static const tc_dtype types[] = {TC_F16, TC_F64, TC_F16};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tc_sample s;
        assert_null(tc_sample_parse(NULL, calls[i], strlen(calls[i]), &s));
        assert_null(tc_decompose(s.program));
        assert_int_equal(s.program->graph->outputs[0]->meta.dtype, types[i]);
        tc_program_release(s.program);
    }
}

static void count(void *ctx, const tc_value *v) { *(int *)ctx += v != NULL; }

/* How many tensors have elements that a call reads; of others it takes the type and the sizes. */
static void test_read(void **state) {
    (void)state;
    static const struct {
        const char *call;
        int reads;
    } of[] = {{"zeros_like(f32[2])", 0}, {"view_as(f32[2,6], f32[3,4])", 1}, {"linspace(f32[], f32[], 5)", 2}, {"logspace(0, f32[], 5)", 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        tc_sample s;
        int reads = 0;
        assert_null(tc_sample_parse(NULL, of[i].call, strlen(of[i].call), &s));
        tc_op_each_read(s.program->graph->last, count, &reads);
        assert_int_equal(reads, of[i].reads);
        tc_program_release(s.program);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_table), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_mixed_gradients), cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
