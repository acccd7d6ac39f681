/* What the conformance drivers share: cases are reported one a line, programs are run with a time limit.
 *
 *     pass CORPUS CASE        fail CORPUS CASE <tab> what was found and expected        notyet CORPUS CASE <tab> what tc says it lacks */
#ifndef TESTS_CONFORM_H
#define TESTS_CONFORM_H

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef enum { CASE_PASS, CASE_FAIL, CASE_NOT_YET } verdict;

static inline void report(verdict v, const char *corpus, const char *name, const char *why) {
    static const char *const words[] = {"pass", "fail", "notyet"};
    printf("%s %s %s", words[v], corpus, name);
    if (v != CASE_PASS && why) {
        putchar('\t');
        for (const char *p = why; *p && p - why < 600; p++) putchar(*p == '\n' ? ' ' : (unsigned char)*p < ' ' ? '?' : *p);
    }
    putchar('\n');
    fflush(stdout);
}

/* ---- running a program ---- */
typedef TC_VEC(char *) command; /* owned strings; NULL-terminated when run */

static inline void arg(command *c, const char *fmt, ...) TC_PRINTF(2, 3);
static inline void arg(command *c, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_buf_puts(&b, "");
    tc_vec_push(c, b.data);
}

static inline void command_free(command *c) {
    for (size_t i = 0; i < c->len; i++) free(c->data[i]);
    tc_vec_free(c);
}

extern char **environ;

/* Exit code, 128 + signal, or 124 after `seconds`. What it wrote to stdout and stderr is appended to out and err (NULL: dropped). */
static inline int run_command(command *c, const char *stdin_path, int seconds, tc_buf *out, tc_buf *err) {
    int po[2], pe[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t acts;
    char *end = NULL;
    if (pipe2(po, O_CLOEXEC) || pipe2(pe, O_CLOEXEC)) return 127;
    posix_spawn_file_actions_init(&acts);
    posix_spawn_file_actions_addopen(&acts, 0, stdin_path ? stdin_path : "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&acts, po[1], 1);
    posix_spawn_file_actions_adddup2(&acts, pe[1], 2);
    tc_vec_push(c, end);
    int rc = posix_spawnp(&pid, c->data[0], &acts, NULL, c->data, environ);
    c->len--;
    posix_spawn_file_actions_destroy(&acts);
    close(po[1]);
    close(pe[1]);
    if (rc) {
        close(po[0]);
        close(pe[0]);
        if (err) tc_buf_printf(err, "cannot run %s: %s", c->data[0], strerror(rc));
        return 127;
    }
    struct pollfd fds[2] = {{po[0], POLLIN, 0}, {pe[0], POLLIN, 0}};
    tc_buf *sinks[2] = {out, err};
    time_t begin = time(NULL);
    bool late = false;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        char chunk[65536];
        poll(fds, 2, 500);
        if (!late && time(NULL) - begin > seconds) {
            kill(pid, SIGKILL);
            late = true;
        }
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents) continue;
            ssize_t n = read(fds[i].fd, chunk, sizeof chunk);
            if (n > 0 && sinks[i]) tc_buf_append(sinks[i], chunk, (size_t)n);
            if (n <= 0) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
        }
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return late ? 124 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The verdict of a run that should succeed. */
static inline verdict verdict_of(int code) { return code == 0 ? CASE_PASS : code == 5 ? CASE_NOT_YET : CASE_FAIL; }

/* ---- lines and columns of an index ---- */
typedef struct {
    char **cell;
    int n;
} row;
static inline row split_row(char *line) {
    row r = {.cell = tc_xcalloc(64, sizeof *r.cell)};
    for (char *p = line; p && r.n < 64;) {
        r.cell[r.n++] = p;
        p = strchr(p, '\t');
        if (p) *p++ = 0;
    }
    return r;
}
static inline int column(const row *head, const char *name) {
    for (int i = 0; i < head->n; i++)
        if (!strcmp(head->cell[i], name)) return i;
    fprintf(stderr, "the index has no column %s\n", name);
    exit(2);
}

#endif
