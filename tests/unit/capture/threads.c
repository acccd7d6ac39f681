/* Captures keep nothing outside their context: two threads capture models side by side, and each gets the program that it gets alone. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

enum { TIMES = 20 };
static const char source[] =
    "import torch\nimport torch.nn as nn\n\n\nclass A(nn.Module):\n"
    "    def __init__(self, d=4):\n        super().__init__()\n        self.l = nn.LSTM(3, d)\n        self.n = nn.LayerNorm(d)\n\n"
    "    def forward(self, x):\n        return torch.relu(self.n(self.l(x)[0]))\n\n\n"
    "class B(nn.Module):\n    def forward(self, x):\n        return sum(torch.where(x > i, x * i, x) for i in range(9)).softmax(-1)\n";

/* The capture of a class as text; the caller's. */
static char *capture(const char *class_name) {
    tc_evaluator *v;
    assert_null(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &v));
    tc_capture_input in = {.name = "x", .dtype = TC_F32, .rank = 3, .size = {"T", "B", "3"}};
    tc_capture_request r = {.path = "two.py",
                            .text = source,
                            .len = sizeof source - 1,
                            .class_name = class_name,
                            .inputs = &in,
                            .ninputs = 1,
                            .run = tc_evaluator_eval(v)};
    tc_capture_result made = {0};
    assert_null(tc_capture_source(&r, &made));
    tc_buf b = {0};
    tc_program_print(&b, made.model, TC_PRINT_FULL);
    tc_program_release(made.model);
    tc_program_release(made.train);
    tc_evaluator_destroy(v);
    return b.data;
}

typedef struct {
    const char *class_name, *want;
    int same;
} runner;
static void *run(void *self) {
    runner *r = self;
    for (int i = 0; i < TIMES; i++) {
        char *got = capture(r->class_name);
        r->same += !strcmp(got, r->want);
        free(got);
    }
    return NULL;
}

static void test_two_threads_capture(void **state) {
    (void)state;
    runner r[2] = {{"A", capture("A"), 0}, {"B", capture("B"), 0}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, run, &r[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(r[i].same, TIMES);
        free((void *)r[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_threads_capture)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
