/* --tune=SECONDS: measures the calls of the program (runtime/tune.h) and stores tuning lines in the archive and in the file of --tuning or, without one,
 * the user's store. Measurements of this machine at these sizes are reused. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "cmd/code.h"
#include "cmd/inputs.h"
#include "runtime/tune.h"

#include <unistd.h>

static void say(void *ctx, const char *line) {
    const tc_cmd *c = ((compile_job *)ctx)->c;
    tc_cmd_log(c, "tuning", c->verbose, "%s", line);
}

static tc_status tune_program(compile_job *j, tc_program *p, tc_tuning *tuning, double seconds, tc_tuned *out) {
    const size_t nvars = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, nvars + 1);
    const tc_exec_options o = {.pool = tc_cmd_pool(j->c), .threads = 1, .keep_packed = true};
    tc_tensor *inputs = NULL;
    int n = 0;
    tc_status st = tc_cmd_bind(j->c, p, vars, nvars);
    if (!st) st = tc_cmd_make_inputs(p, vars, nvars, NULL, NULL, &inputs, &n);
    if (p->instead_of && (st || !tc_program_admits(p, vars, nvars))) tc_status_free(st), st = NULL; /* program for other sizes */
    else if (!st) st = tc_tune(p, &o, tuning, inputs, n, &(tc_tune_options){seconds, false, compile_says(j, "tuning") ? say : NULL, j}, out);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&inputs[i]);
    free(inputs);
    return tc_annotate(st, "--tune: %s", p->name);
}

/* ---- the user's store of measurements, for all programs ---- */
static tc_status store_path(tc_buf *out) {
    TC_TRY(tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", out));
    tc_buf_printf(out, "/tuning");
    tc_user_clear(out->data);
    return NULL;
}
/* A missing or unreadable store counts as empty. */
static void read_store(compile_job *j, tc_tuning *tuning) {
    tc_buf path = {0}, text = {0};
    tc_status s = store_path(&path);
    if (!s && !access(tc_buf_str(&path), F_OK)) {
        s = tc_file_read(tc_buf_str(&path), (size_t)64 << 20, &text);
        if (!s) s = tc_tuning_read(tuning, tc_buf_str(&text), text.len, tc_buf_str(&path), true);
    }
    if (s) tc_cmd_verbose(j->c, "%s", tc_status_message(s));
    else if (!tc_tuning_lines(tuning, false) && tc_tuning_lines(tuning, true))
        tc_cmd_note(j->c, "%s is of other machines and has no effect; this one is: %s", tc_buf_str(&path), tc_tuning_machine(tuning));
    tc_status_free(s);
    tc_buf_free(&path);
    tc_buf_free(&text);
}
static void write_store(compile_job *j, tc_tuning *tuning) {
    tc_buf path = {0}, text = {0};
    read_store(j, tuning); /* merge what other processes measured meanwhile */
    tc_tuning_write(tuning, true, &text);
    tc_status s = store_path(&path);
    if (!s) s = tc_file_write(tc_buf_str(&path), tc_buf_str(&text), text.len);
    if (s) tc_cmd_verbose(j->c, "%s", tc_status_message(s));
    tc_status_free(s);
    tc_buf_free(&path);
    tc_buf_free(&text);
}

tc_status tune(compile_job *j) {
    double seconds;
    const bool measures = tc_cmd_has(j->c, TC_OPT_tune);
    const char *path = tc_cmd_get(j->c, TC_OPT_tuning);
    const bool store = measures && !path && !tc_cmd_has(j->c, TC_OPT_no_cache);
    tc_tuning *tuning;
    tc_tuned done = {0};
    TC_TRY(tc_cmd_seconds(j->c, TC_OPT_tune, &seconds));
    TC_TRY(tc_cmd_tuning(j->c, j->archive, measures, &tuning));
    tc_status s = NULL;
    if (store) read_store(j, tuning);
    for (int i = 0; measures && i < j->n && !s; i++) s = tune_program(j, j->programs[i], tuning, seconds / j->n, &done);
    if (!s && measures) tc_cmd_log(j->c, "tuning", j->c->verbose, "--tune: %d tiles measured on %s", done.measured, tc_tuning_machine(tuning));
    if (!s && done.late) tc_cmd_note(j->c, "--tune: %g seconds are too few for every choice: those left stay as they are chosen without", seconds);
    if (!s && tuning) tc_tuning_write(tuning, false, &j->tuning);
    if (!s && store && done.measured) write_store(j, tuning);
    tc_tuning_destroy(tuning);
    tc_out *o;
    if (s || !measures || !path) return s;
    TC_TRY(tc_cmd_create(j->c, path, false, &o));
    return tc_cmd_finish(j->c, o, tc_out_write(o, tc_buf_str(&j->tuning), j->tuning.len));
}
