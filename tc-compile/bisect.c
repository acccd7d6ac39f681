/* --bisect CMD: finds the planning step or compiled group that makes CMD fail. Compiles the program to a file and runs CMD by the shell with the file's
 * name as $1, with a varying number of steps ($TC_STEPS, cmd/steps.c), until it has the step with which CMD fails and without which it does not. */
#include "tc-compile/compile.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

tc_status run_check(compile_job *j, const char *cmd, const char *program, int *out_code) {
    const char *const argv[] = {"sh", "-c", cmd, "tc-compile", program, NULL};
    pid_t pid;
    int status;
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    if (!j->c->verbose) posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, 2, 1); /* its stdout goes to stderr, and only with -v */
    int e = posix_spawn(&pid, "/bin/sh", &fa, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    if (e) return tc_error(TC_ENV, "starting /bin/sh: %s", strerror(e));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return tc_error(TC_ENV, "waiting for the command: %s", strerror(errno));
    *out_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (*out_code == 126 || *out_code == 127) return tc_error(TC_USAGE, "the shell cannot run '%s' (exit %d)", cmd, *out_code);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return tc_error(TC_ENV, "the command was ended by a signal");
    return NULL;
}

tc_status work_folder(compile_job *j, char **out_dir) {
    const char *tmp = getenv("TMPDIR");
    *out_dir = tc_arena_printf(&j->arena, "%s/tc-work-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
    tc_temporary_hold_signals(true);
    const bool made = mkdtemp(*out_dir);
    if (made) tc_temporary_made(*out_dir);
    tc_temporary_hold_signals(false);
    return made ? NULL : tc_error(TC_ENV, "%s: %s", *out_dir, strerror(errno));
}
tc_status leave_work_folder(const char *dir) {
    tc_status s = tc_remove_tree(dir);
    tc_temporary_gone(dir);
    return s;
}

typedef struct {
    compile_job *j;
    const char *cmd, *program, *log;
    TC_VEC(char *) steps;
    int runs;
} search;

/* Runs CMD with the first `limit` steps; -1: all, whose log is then read. */
static tc_status attempt(search *s, int64_t limit, bool *out_good) {
    char number[32];
    int code;
    snprintf(number, sizeof number, "%lld", (long long)limit);
    if (limit < 0) unsetenv("TC_STEPS");
    else setenv("TC_STEPS", number, 1);
    setenv("TC_STEPS_LOG", s->log, 1);
    s->runs++;
    TC_TRY(run_check(s->j, s->cmd, s->program, &code));
    *out_good = code == 0;
    if (limit < 0) tc_cmd_verbose(s->j->c, "all steps: exit %d", code);
    else tc_cmd_verbose(s->j->c, "%lld steps: exit %d", (long long)limit, code);
    return NULL;
}

static tc_status read_steps(search *s) {
    tc_buf text = {0};
    tc_status st = tc_file_read(s->log, 1 << 28, &text);
    if (st) {
        tc_status_free(st);
        return tc_status_add(tc_error(TC_USAGE, "the command runs no program of tc: no step was logged"),
                             "--bisect 'tc-run \"$1\" --input x=@x.npy --expect @want.npy': $1 is the compiled program");
    }
    for (char *line = text.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        tc_vec_push(&s->steps, tc_arena_strdup(&s->j->arena, line));
    }
    tc_buf_free(&text);
    return NULL;
}

static tc_status halve(search *s) {
    bool good;
    TC_TRY(attempt(s, -1, &good));
    if (good) {
        printf("the command succeeds with every step: there is nothing to find\n");
        return NULL;
    }
    TC_TRY(read_steps(s));
    TC_TRY(attempt(s, 0, &good));
    if (!good)
        return tc_status_add(tc_error(TC_DIFFERENT, "the command fails without any of the %zu steps too", s->steps.len),
                             "what differs is the program, an operator or a kernel, or the command: tc-run --trace shows every result");
    size_t lo = 0, hi = s->steps.len;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        TC_TRY(attempt(s, (int64_t)mid, &good));
        if (good) lo = mid;
        else hi = mid;
    }
    tc_buf b = {0};
    tc_buf_printf(&b, "step %zu of %zu makes the difference (%d runs): %s\n", hi, s->steps.len, s->runs, s->steps.data[hi - 1]);
    tc_status st = tc_cmd_write_text(s->j->c, NULL, &b);
    tc_buf_free(&b);
    return st;
}

tc_status bisect(compile_job *j) {
    char *dir;
    TC_TRY(work_folder(j, &dir));
    search s = {.j = j, .cmd = tc_cmd_get(j->c, TC_OPT_bisect), .program = tc_arena_printf(&j->arena, "%s/program.pt2", dir)};
    s.log = tc_arena_printf(&j->arena, "%s/steps", dir);
    tc_status st = write_pt2_to(j, s.program);
    if (!st) st = halve(&s);
    tc_vec_free(&s.steps);
    tc_status gone = leave_work_folder(dir);
    if (st) tc_status_free(gone);
    return st ? st : gone;
}
