/* Operators called in the model language on concrete tensors: results as PyTorch 2.15 prints them. */
#include "base/rng.h"
#include "capture/capture.h"
#include "capture/lang.h"
#include "capture/torch.h"
#include "runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct {
    const char *text;
    const char *result;
} job;

static void run_module(C *c, void *ctx) {
    job *j = ctx;
    module *m = tc_lang_load(c, "test.py", j->text, strlen(j->text));
    j->result = tc_repr(c, tc_lang_eval(c, m, NULL, "result", "r"))->s;
}

/* text sets r; its repr, or a part of the error's message */
static const char *const table[][2] = {
    /* normalisations in training write their statistics, whatever their schema says */
    {"m, v = torch.zeros(2), torch.ones(2)\nF.batch_norm(torch.tensor([[1., 2.], [3., 6.]]), m, v, training=True, momentum=0.5)\n"
     "r = m.tolist() + v.tolist()\n",
     "[1.0, 2.0, 1.5, 4.5]"},
    {"m, v = torch.zeros(1), torch.ones(1)\nx = torch.tensor([[[1., 3.]], [[5., 9.]]])\nF.instance_norm(x, m, v, momentum=0.5)\n"
     "r = m.tolist() + v.tolist()\n",
     "[2.25, 3.0]"},
    {"m, v = torch.zeros(2), torch.ones(2)\ntorch._native_batch_norm_legit(torch.tensor([[1., 2.], [3., 6.]]), None, None, m, v, True, 0.5, 0.)\n"
     "r = m.tolist() + v.tolist()\n",
     "[1.0, 2.0, 1.5, 4.5]"},
    {"m, v = torch.zeros(2), torch.ones(2)\nF.batch_norm(torch.zeros(0, 2), m, v, training=True)\nr = m.tolist() + v.tolist()\n",
     "[0.0, 0.0, 1.0, 1.0]"},
    /* the generator draws for what is not positive only */
    {"torch.manual_seed(42)\nr = F.rrelu(torch.tensor([-1., 2., -1.]), training=True).tolist()\n",
     "[-0.13711552321910858, 2.0, -0.13810628652572632]"},
};

static void test_table(void **state) {
    (void)state;
    static tc_generator gen;
    tc_evaluator *evaluator;
    assert_null(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &evaluator));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        C *c;
        assert_null(tc_lang_create_with(&(tc_lang_options){0}, tc_evaluator_eval(evaluator), &gen, &c));
        tc_buf text = {0};
        tc_buf_printf(&text, "import torch\nimport torch.nn.functional as F\n%s", table[i][0]);
        job j = {tc_buf_str(&text), NULL};
        tc_status st = tc_lang_run(c, run_module, &j);
        const char *found = st ? tc_status_message(st) : j.result;
        if (st ? !strstr(found, table[i][1]) : strcmp(found, table[i][1])) fail_msg("%s: %s, expected %s", table[i][0], found, table[i][1]);
        tc_status_free(st);
        tc_buf_free(&text);
        tc_lang_destroy(c);
    }
    tc_evaluator_destroy(evaluator);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
