/* tc-train: trains a program by a recipe. Run directories, resuming, signals and ranks are here; the training itself is in lib/train. */
#include "base/text.h"
#include "ckpt/ckpt.h"
#include "cmd/code.h"
#include "cmd/program.h"
#include "cmd/recipe.h"
#include "kernel/fp32_precision.h"
#include "tc-train/tool.h"
#include "train/rundir.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_save(int sig) {
    (void)sig;
    if (stop == TC_STOP_NOT) stop = TC_STOP_SAVE;
}

static void on_stop(int sig) {
    (void)sig;
    stop = TC_STOP_SAVE_AND_END;
}

/* With a run directory TERM, INT and USR1 save a checkpoint and stop, USR2 (caught already) saves and continues; without one signals have their default effect. */
static void catch_signals(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGUSR1};
    for (size_t i = 0; i < 3; i++) sigaction(ends[i], &(struct sigaction){.sa_handler = on_stop, .sa_flags = SA_RESTART}, NULL);
}

/* The same before the first step, when there is nothing to save: USR2 waits for it, the others end the run. */
static void catch_signals_early(const tc_cmd *c) {
    tc_cmd_stops_early(c);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_save, .sa_flags = SA_RESTART}, NULL);
}

/* ---- the run directory ---- */

static tc_status lock_dir(job *j) {
    const char *path = tc_arena_printf(&j->arena, "%s/.lock", j->out);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return tc_error(TC_ENV, "%s: cannot open: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return NULL; /* held until the program ends */
    close(fd);
    return tc_error(TC_ENV, "%s: another tc-train writes to it", j->out);
}

static tc_status say_changes(job *j) {
    const char *path = tc_arena_printf(&j->arena, "%s/recipe.yaml", j->out);
    mode_t type;
    TC_TRY(tc_path_type(path, &type));
    if (!type) return NULL;
    tc_buf b = {0}, changes = {0};
    TC_TRY(tc_file_read(path, 16 << 20, &b));
    tc_recipe *old;
    tc_status s = tc_recipe_parse(path, b.data, b.len, NULL, 0, &old);
    tc_buf_free(&b);
    TC_TRY(s);
    tc_recipe_diff(old, j->recipe, &changes);
    const char *was;
    tc_status_free(tc_train_recorded(j->out, "numerics", &j->arena, &was)); /* a run that was killed at once has no `environment` file */
    char now[64];
    tc_numerics_text(j->numerics, now);
    if (was && strcmp(was, now)) tc_buf_printf(&changes, "%snumerics: %s -> %s", changes.len ? "\n" : "", was, now);
    if (changes.len) tc_cmd_note(j->c, "changed since the checkpoint:\n%s", changes.data);
    tc_buf_free(&changes);
    tc_recipe_free(old);
    return NULL;
}

/* Finds the checkpoint to resume from; *path NULL: start at step 0. Rank 0 searches and broadcasts. */
static tc_status find_checkpoint(job *j, char **path) {
    *path = NULL;
    if (!j->out) return NULL;
    bool resume = tc_cmd_has(j->c, TC_OPT_resume), any = false;
    if (!resume) TC_TRY(tc_ckpt_any(j->out, &any));
    if (any) return tc_status_add(tc_error(TC_ENV, "%s: holds checkpoints already", j->out), "go on with --resume, or choose another -o");
    if (!resume) return NULL;
    tc_buf skipped = {0};
    int64_t step = 0;
    TC_TRY(tc_ckpt_newest(j->out, path, &step, &skipped));
    if (skipped.len) tc_cmd_note(j->c, "not used: %s", skipped.data);
    tc_buf_free(&skipped);
    if (!*path) return tc_cmd_note(j->c, "no checkpoint in %s: starting at step 0", j->out), say_changes(j);
    TC_TRY(tc_ckpt_set_latest(j->out, step));
    tc_cmd_note(j->c, "going on from %s", *path);
    return say_changes(j);
}

static tc_status prepare_dir(job *j) {
    if (!j->out || tc_dist_rank(j->dist)) return NULL;
    TC_TRY(tc_make_dirs(j->out));
    TC_TRY(lock_dir(j));
    return find_checkpoint(j, &j->checkpoint);
}

static tc_status write_recipe(job *j) {
    tc_buf b = {0};
    tc_recipe_print(j->recipe, &b);
    tc_status s = tc_file_write(tc_arena_printf(&j->arena, "%s/recipe.yaml", j->out), b.data, b.len);
    tc_buf_free(&b);
    return s;
}

/* ---- running ---- */

static void note(void *ctx, const char *text) {
    job *j = ctx;
    if (tc_dist_rank(j->dist)) return;
    tc_progress_end(&j->progress);
    tc_cmd_note(j->c, "%s", text);
}

static void log_topic(void *ctx, const char *topic, const char *text) {
    job *j = ctx;
    if (tc_dist_rank(j->dist) == 0) tc_cmd_log(j->c, topic, j->c->verbose, "%s: %s", topic, text);
}

static void progress(void *ctx, int64_t step, int64_t total, double loss) {
    job *j = ctx;
    if (tc_dist_rank(j->dist)) return;
    char extra[48];
    snprintf(extra, sizeof extra, "loss %.4f", loss);
    j->progress.total = total;
    tc_progress_update(&j->progress, step, extra);
}

static void phase(void *ctx, const char *what) {
    job *j = ctx;
    tc_cmd_phase(j->c, what);
    tc_recorder_mark(j->recorder, what);
}

static void begin(void *ctx) {
    job *j = ctx;
    if (j->recorder) tc_trainer_set_profile(j->trainer, tc_recorder_round(j->recorder) ? tc_recorder_event : NULL, j->recorder);
}

/* What `environment` says of the model that the run began with; NULL: nothing that this version can compare. */
static const char *recorded_operators(job *j) {
    const char *version = NULL, *operators = NULL;
    tc_status_free(tc_train_recorded(j->out, "version", &j->arena, &version)); /* a run that was killed at once has no `environment` file */
    tc_status_free(tc_train_recorded(j->out, "operators", &j->arena, &operators));
    return version && operators && !strcmp(version, TC_VERSION) ? operators : NULL;
}

/* A run goes on only with the model that it began with. */
static tc_status check_model(job *j) {
    const char *was = recorded_operators(j);
    if (j->from_run && !j->recipe->model) { /* the run's own model.pt2: the record is of the program before it was written */
        j->operators = was;
        return NULL;
    }
    if (!was || !strcmp(was, j->operators)) return NULL;
    tc_status s = tc_error(TC_CONTENT, "%s: the checkpoint is from another model: the weights fit, but the operators are others", j->checkpoint);
    return tc_status_add(s, "start from its weights with weights=%s and another -o", j->checkpoint);
}

static tc_status tell_checkpoint(job *j) {
    int64_t n = j->checkpoint ? (int64_t)strlen(j->checkpoint) + 1 : 0;
    TC_TRY(tc_dist_broadcast(j->dist, &n, sizeof n, 0));
    if (!n) return NULL;
    if (tc_dist_rank(j->dist)) j->checkpoint = tc_xmalloc((size_t)n);
    return tc_dist_broadcast(j->dist, j->checkpoint, (size_t)n, 0);
}

static tc_status train(job *j) {
    tc_cmd *c = j->c;
    double limit;
    TC_TRY(tc_cmd_seconds(c, TC_OPT_max_time, &limit));
    tc_train_options o = {.pool = tc_cmd_pool(c),
                          .dist = j->dist,
                          .numerics = j->numerics,
                          .saves = j->out != NULL,
                          .commands = j->commands,
                          .note = note,
                          .log = log_topic,
                          .phase = phase,
                          .ctx = j};
    char operators[65];
    tc_train_operators((const tc_program *const[]){j->train, j->eval}, 2, operators);
    j->operators = operators;
    TC_TRY(tc_trainer_create(j->recipe, j->train, j->eval, &o, &j->trainer));
    TC_TRY(tell_checkpoint(j));
    TC_TRY(tc_recorder_open(c, c->operands[0], "steps", tc_dist_rank(j->dist), &j->recorder));
    if (j->checkpoint) TC_TRY(tc_trainer_resume(j->trainer, j->checkpoint));
    else TC_TRY(tc_trainer_resume_from(j->trainer));
    if (j->out && tc_dist_rank(j->dist) == 0) {
        if (j->checkpoint) TC_TRY(check_model(j));
        TC_TRY(write_recipe(j));
        if (!j->checkpoint) TC_TRY(job_write_program(j, tc_arena_printf(&j->arena, "%s/model.pt2", j->out)));
    }
    if (j->out) catch_signals();
    tc_train_run run = {.out = j->out,
                        .operators = j->operators,
                        .stop = j->out ? &stop : NULL,
                        .until = limit >= 0 ? c->started + limit : 0,
                        .begin = begin,
                        .progress = progress,
                        .ctx = j};
    const int64_t begun = tc_trainer_step(j->trainer);
    j->progress = tc_progress_start(c, "train", "steps", tc_trainer_total(j->trainer));
    phase(j, "capturing and planning");
    tc_status s = tc_trainer_run(j->trainer, &run);
    phase(j, "other");
    tc_progress_end(&j->progress);
    TC_TRY(s);
    if (tc_dist_rank(j->dist)) return NULL;
    TC_TRY(tc_trainer_fill(j->trainer, j->train));
    if (j->eval) TC_TRY(tc_trainer_fill(j->trainer, j->eval));
    if (tc_trainer_step(j->trainer) == begun) tc_cmd_note(c, "%lld steps were made already", (long long)begun);
    else tc_cmd_note(c, "%lld steps, loss %.6g", (long long)tc_trainer_step(j->trainer), tc_trainer_loss(j->trainer));
    return job_write_program(j, j->out ? tc_arena_printf(&j->arena, "%s/model.pt2", j->out) : NULL);
}

static tc_status run_job(job *j) {
    tc_cmd *c = j->c;
    j->out = tc_cmd_get(c, TC_OPT_out);
    if (j->out) catch_signals_early(c);
    TC_TRY(tc_dist_start(&j->dist));
    if (tc_dist_rank(j->dist)) c->quiet = true;
    if (!c->noperands) return tc_usage(c, "no recipe given");
    TC_TRY(tc_cmd_ops(c));
    TC_TRY(tc_cmd_numerics(c, &j->numerics));
    TC_TRY(tc_cmd_recipe(c, c->operands[0], c->operands + 1, c->noperands - 1, &j->recipe, &j->commands, &j->from_run));
    if (!j->out && j->from_run) catch_signals_early(c), j->out = j->from_run;
    if (!j->out && isatty(STDOUT_FILENO))
        return tc_usage(c, "stdout is a terminal: give the run directory with -o DIR, or redirect the trained program");
    if (!j->out && tc_cmd_has(c, TC_OPT_resume)) return tc_usage(c, "--resume needs -o DIR");
    if (j->out) signal(SIGPIPE, SIG_IGN); /* the run continues when its stderr is closed */
    TC_TRY(prepare_dir(j));
    tc_cmd_phase(c, "starting");
    TC_TRY(job_read_program(j));
    tc_cmd_phase(c, "reading the program");
    return train(j);
}

/* Writes the profile, also of a run that was stopped. */
static tc_status close_profile(job *j, tc_status s) {
    if (tc_status_code(s) != TC_STOPPED) return tc_recorder_close(j->recorder, s);
    tc_status w = tc_recorder_close(j->recorder, NULL);
    if (w) tc_cmd_note(j->c, "%s", tc_status_message(w));
    tc_status_free(w);
    return s;
}

/* A rank that fails alone must abort the others, which would wait for it. Returns when there is one rank. */
static void end_ranks(tc_cmd *c, tc_dist *d, tc_status s) {
    if (tc_dist_size(d) == 1) return;
    tc_dist_tell(d, s);
    tc_dist_abort(d, (int)tc_cmd_report(c, s));
}

static void unparsed(tc_cmd *c, tc_status s) {
    tc_dist *d;
    tc_status no_ranks = tc_dist_start(&d);
    tc_status_free(no_ranks);
    end_ranks(c, d, s);
    tc_status_free(tc_dist_stop(d));
}

static tc_status run(tc_cmd *c) {
    if (tc_cmd_has(c, TC_OPT_plot)) return plot_runs(c);
    job j = {.c = c};
    tc_status s = run_job(&j);
    s = close_profile(&j, s);
    const bool of_all = tc_status_code(s) == TC_STOPPED || tc_status_code(s) == TC_DIVERGED;
    if (s && !of_all) end_ranks(c, j.dist, s);
    if (of_all && tc_dist_size(j.dist) > 1) { /* before any rank ends, upon which mpirun kills the others */
        if (!tc_dist_rank(j.dist)) tc_cmd_tell(c, s);
        c->told = true;
    }
    tc_trainer_destroy(j.trainer);
    if (j.train) tc_program_release(j.train);
    if (j.eval) tc_program_release(j.eval);
    tc_recipe_free(j.recipe);
    free(j.checkpoint);
    tc_arena_free(&j.arena);
    tc_status d = tc_dist_stop(j.dist);
    if (s) tc_status_free(d);
    return s ? s : d;
}

static const tc_opt_id options[] = {TC_OPT_out,   TC_OPT_resume,  TC_OPT_max_time, TC_OPT_numerics,   TC_OPT_fp32_precision,
                                    TC_OPT_plot,  TC_OPT_profile, TC_OPT_unit,     TC_OPT_skip_first, TC_OPT_wait,
                                    TC_OPT_trust, TC_OPT_dump,    TC_OPT_ops,      TC_OPT_NONE};
static const tc_tool tool = {
    .name = "tc-train",
    .operands = "RECIPE [KEY=VALUE...]",
    .min_operands = 0,
    .max_operands = -1,
    .summary = "Trains a program by a recipe. The program is read from stdin, or made from the recipe's model:. With -o DIR the run is kept there "
               "(checkpoints, metrics.jsonl, the trained model.pt2); without it the trained program goes to stdout.",
    .details = "Signals, with -o DIR: USR2 saves and goes on; USR1, TERM and INT save and stop with exit 75.\n"
               "Example: tc-export gpt.py:GPT --input idx=BxTxi64 | tc-train gpt.yaml steps=1000 -o run",
    .options = options,
    .run = run,
    .unparsed = unparsed,
};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
