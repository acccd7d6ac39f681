/* Reproduces a recorded failure (reproduce.h). */
#include "reproduce.h"

#include "base/text.h"
#include "pass/dce.h"
#include "pass/freeze.h"
#include "pass/quantize.h"
#include "pass/relu.h"
#include "runtime/runtime.h"

#include <stdio.h>

/* The stages that have no option, numbered as in the programs that run them (tc_pass_begin). */
static tc_status plan(tc_program *p, const tc_eval *eval, const int n[2]) {
    tc_exec *e = NULL;
    (void)eval;
    if (n[1] < TC_SDPA_AUTO || n[1] > TC_SDPA_FLASH) return tc_error(TC_CONTENT, "%s: no attention is %d", tc_crash_entry, n[1]);
    tc_status s = tc_exec_create(p, &(tc_exec_options){.threads = 1, .loops = n[0], .sdpa = (tc_sdpa)n[1]}, &e);
    tc_exec_destroy(e);
    return s;
}

static tc_status dce(tc_program *p, const tc_eval *eval, const int n[2]) {
    (void)eval, (void)n;
    tc_dce(p, false);
    return NULL;
}

static tc_status freeze(tc_program *p, const tc_eval *eval, const int n[2]) {
    tc_frozen done;
    (void)n;
    return tc_freeze(p, eval, &done);
}

static tc_status quantize(tc_program *p, const tc_eval *eval, const int n[2]) {
    tc_quantised done;
    if ((n[0] != 8 && n[0] != 4) || n[1] < 0 || n[1] > 256 || n[1] % 32)
        return tc_error(TC_CONTENT, "%s: %d bits, groups of %d", tc_crash_entry, n[0], n[1]);
    return tc_quantize(p, eval, &(tc_quantize_options){.bits = n[0], .group = n[1]}, &done);
}

static tc_status relu_nan(tc_program *p, const tc_eval *eval, const int n[2]) {
    (void)eval, (void)n;
    return tc_relu_nan_zero(p);
}

static const struct {
    const char *name;
    tc_status (*run)(tc_program *p, const tc_eval *eval, const int n[2]);
} stages[] = {{"plan", plan}, {"dce", dce}, {"freeze", freeze}, {"quantize", quantize}, {"relu-nan", relu_nan}};

static tc_status run_stage(tc_program *p, const char *line, const tc_eval *eval) {
    char name[16];
    int n[2] = {0, 0};
    if (sscanf(line, "%15s %d %d", name, &n[0], &n[1]) < 1) return NULL;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(stages[i].name, name)) continue;
        tc_pass pass = tc_pass_begin(p, name, line);
        return tc_pass_end(&pass, p, stages[i].run(p, eval, n));
    }
    return tc_error(TC_CONTENT, "%s: no stage is called '%s'", tc_crash_entry, name);
}

/* Options whose value is a file name are not taken from the archive: the user must name the file again. */
static bool names_a_file(tc_opt_id id, const char *value) {
    return id == TC_OPT_swap || (id == TC_OPT_partition && *value && !tc_word_in(" save-all recompute-all min-cut ", value));
}

/* Sets --NAME or --NAME=VALUE (line must outlive c), unless the command line has options of its kind (given, by entry of transform_options). */
static tc_status give(tc_cmd *c, const bool *given, char *line) {
    const size_t n = strcspn(line, "=");
    size_t i = 0;
    while (i < NTRANSFORM_OPTIONS && (strncmp(transform_options[i].name, line + 2, n - 2) || transform_options[i].name[n - 2])) i++;
    if (i == NTRANSFORM_OPTIONS) return tc_error(TC_CONTENT, "%s: no pass has the option %s", tc_crash_entry, line);
    if (given[i]) return NULL;
    if (names_a_file(transform_options[i].id, line + n + (line[n] != 0)))
        return tc_error(TC_USAGE, "the command that failed had the option %s: give it again", line);
    TC_TRY(tc_cmd_give(c, line), "%s", tc_crash_entry);
    return NULL;
}

static tc_status do_line(tc_cmd *c, tc_program *p, const bool *given, char *line) {
    tc_evaluator *v;
    if (!strncmp(line, "--", 2)) return give(c, given, line);
    TC_TRY(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &v));
    tc_eval eval = tc_evaluator_eval(v);
    tc_status s = run_stage(p, line, &eval);
    tc_evaluator_destroy(v);
    return s;
}

tc_status reproduce_crash(tc_cmd *c, const tc_archive *a, tc_arena *arena, programs *all) {
    const unsigned char *data;
    size_t len;
    bool found, given[NTRANSFORM_OPTIONS];
    TC_TRY(tc_archive_entry(a, tc_crash_entry, &data, &len, &found));
    if (!found || !all->len) return NULL;
    for (size_t i = 0; i < NTRANSFORM_OPTIONS; i++) given[i] = tc_cmd_has(c, transform_options[i].id);
    char *text = tc_arena_strndup(arena, (const char *)data, len), *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) TC_TRY(do_line(c, all->data[0], given, line));
    return NULL;
}
