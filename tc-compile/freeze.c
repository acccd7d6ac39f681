/* --freeze and --require. */
#include "op/watch.h"
#include "pass/freeze.h"
#include "tc-compile/compile.h"

static bool asks(const char *list, size_t n, const char *word) { return strlen(word) == n && !memcmp(list, word, n); }

tc_status read_require(compile_job *j) {
    const char *list = tc_cmd_get(j->c, TC_OPT_require);
    for (const char *s = list; s; s = *s ? s + 1 : NULL) {
        size_t n = strcspn(s, ",");
        if (asks(s, n, "freeze")) j->must_freeze = true;
        else if (asks(s, n, "code")) j->must_code = true;
        else return tc_usage(j->c, "--require %s: nothing is called '%.*s'; there are freeze, code", list, (int)n, s);
        s += n;
    }
    return NULL;
}

static tc_status freeze_one(compile_job *j, tc_program *p, const tc_eval *eval) {
    tc_frozen done;
    tc_pass pass = tc_pass_begin(p, "freeze", "freeze");
    TC_TRY(tc_pass_end(&pass, p, tc_freeze(p, eval, &done)), "--freeze");
    TC_TRY(tc_program_verify(p), "--freeze");
    tc_cmd_verbose(j->c, "%s: %d batch norms and %d operations a channel went into weights", p->name, done.norms, done.binaries);
    if (!j->must_freeze || (!done.left && done.norms + done.binaries)) return NULL;
    tc_status s = done.left ? tc_error(TC_ENV,
                                       "--require=freeze: %d batch norms of %s stay: each must follow a product that only it reads, of constant "
                                       "weights",
                                       done.left, p->name)
                            : tc_error(TC_ENV, "--require=freeze: nothing of %s goes into weights", p->name);
    return tc_status_add(s, "without --require the program is compiled as it is");
}

/* Freezes the inference programs; the training program's weights change. */
tc_status freeze_programs(compile_job *j) {
    tc_evaluator *v;
    if (!tc_cmd_has(j->c, TC_OPT_freeze) && !j->must_freeze) return NULL;
    TC_TRY(tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(j->c), .threads = 1}, &v));
    tc_eval eval = tc_evaluator_eval(v);
    tc_status s = NULL;
    int frozen = 0;
    for (int i = 0; i < j->n && !s; i++) {
        if (!strcmp(j->programs[i]->name, "train")) continue;
        s = freeze_one(j, j->programs[i], &eval);
        frozen++;
    }
    tc_evaluator_destroy(v);
    if (!s && !frozen && j->must_freeze)
        s = tc_error(TC_ENV, "--require=freeze: the archive holds the program of training alone, whose weights change");
    return s;
}
