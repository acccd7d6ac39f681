/* A table of snippets in the model language, run with concrete tensors: each sets r. */
#ifndef TC_TESTS_SNIPPETS_H
#define TC_TESTS_SNIPPETS_H
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
    const char *text;     /* what sets r */
    const char *expected; /* repr(r), or a part of the error's message */
} snippet;

typedef struct {
    const char *text, *result;
} snippet_job;

static void snippet_load(C *c, void *ctx) {
    snippet_job *j = ctx;
    module *m = tc_lang_load(c, "test.py", j->text, strlen(j->text));
    j->result = tc_repr(c, tc_lang_eval(c, m, NULL, "result", "r"))->s;
}

/* Runs every snippet after `preamble` in a context of its own; the generator goes on from one to the next. */
static inline void snippets_check(const char *preamble, const snippet *table, size_t n) {
    static tc_generator gen;
    tc_evaluator *evaluator;
    assert_null(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &evaluator));
    for (const snippet *s = table; s < table + n; s++) {
        C *c;
        tc_buf text = {0};
        assert_null(tc_lang_create_with(&(tc_lang_options){0}, tc_evaluator_eval(evaluator), &gen, &c));
        tc_buf_printf(&text, "%s%s", preamble, s->text);
        snippet_job j = {tc_buf_str(&text), NULL};
        tc_status st = tc_lang_run(c, snippet_load, &j);
        const char *found = st ? tc_status_message(st) : j.result;
        if (st ? !strstr(found, s->expected) : strcmp(found, s->expected)) fail_msg("%s, expected %s: %s", found, s->expected, s->text);
        tc_status_free(st);
        tc_buf_free(&text);
        tc_lang_destroy(c);
    }
    tc_evaluator_destroy(evaluator);
}
#endif
