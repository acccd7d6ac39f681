/* --quantize: parses the option and quantises weights (pass/quantize.h). */
#include "op/watch.h"
#include "pass/quantize.h"

#include "tc-compile/compile.h"

static tc_status read_form(tc_cmd *c, tc_quantize_options *out) {
    const char *form = tc_cmd_get(c, TC_OPT_quantize);
    const bool eight = !strcmp(form, "w8a16"), four = !strncmp(form, "w4a16", 5) && (!form[5] || form[5] == ':');
    if (!eight && !four) return tc_usage(c, "--quantize %s: expected w8a16 or w4a16[:GROUP]", form);
    out->bits = eight ? 8 : 4;
    if (eight || !form[5]) return NULL;
    static const char *const groups[] = {"32", "64", "128", "256"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(form + 6, groups[i])) return out->group = 32 << i, NULL;
    return tc_usage(c, "--quantize %s: expected a group of 32, 64, 128 or 256", form);
}

static void say_weight(void *ctx, const char *weight, const char *why) {
    compile_job *j = ctx;
    if (!compile_says(j, "quantize")) return;
    if (why) tc_cmd_log(j->c, "quantize", j->c->verbose, "%s stays as it is: %s", weight, why);
    else tc_cmd_log(j->c, "quantize", j->c->verbose, "%s is quantised", weight);
}

static tc_status quantize_one(compile_job *j, tc_program *p, const tc_eval *eval, tc_quantize_options o) {
    tc_quantised done;
    o.note = say_weight, o.ctx = j;
    char again[32];
    snprintf(again, sizeof again, "quantize %d %d", o.bits, (int)o.group);
    tc_pass pass = tc_pass_begin(p, "quantize", again);
    TC_TRY(tc_pass_end(&pass, p, tc_quantize(p, eval, &o, &done)), "--quantize");
    TC_TRY(tc_program_verify(p), "--quantize");
    if (!done.products) return tc_error(TC_UNSUPPORTED, "--quantize: %s has no product with a weight that can be quantised (-v says why)", p->name);
    if (!j->c->quiet)
        tc_cmd_note(j->c, "%s: %d of %d weights in %d bits, weights %s by %lld bytes to %lld", p->name, done.done, done.done + done.left, o.bits,
                    done.before < done.after ? "grow" : "shrink", llabs((long long)(done.before - done.after)), (long long)done.after);
    return NULL;
}

/* Quantises the inference programs; the training program's weights change. */
tc_status quantize_programs(compile_job *j) {
    tc_quantize_options o = {0};
    tc_evaluator *v;
    if (!tc_cmd_has(j->c, TC_OPT_quantize)) return NULL;
    TC_TRY(read_form(j->c, &o));
    TC_TRY(tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(j->c), .threads = 1}, &v));
    tc_eval eval = tc_evaluator_eval(v);
    tc_status s = NULL;
    int n = 0;
    for (int i = 0; i < j->n && !s; i++)
        if (strcmp(j->programs[i]->name, "train")) s = quantize_one(j, j->programs[i], &eval, o), n++;
    tc_evaluator_destroy(v);
    return s || n ? s : tc_error(TC_UNSUPPORTED, "--quantize: the archive holds the program of training alone, whose weights change");
}
