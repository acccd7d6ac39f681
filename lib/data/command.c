/* Data from a command: "cmd:zstdcat corpus.zst" in place of a file name. Runs it by /bin/sh and captures its stdout. */
#include "base/file.h"
#include "data/data.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

const char *tc_data_command(const char *name) {
    if (strncmp(name, "cmd:", 4)) return NULL;
    return name + 4 + strspn(name + 4, " ");
}

/* Starts the command with default signal handlers and mask. */
static tc_status start(const char *command, const char *dir, int out, pid_t *pid) {
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, out, 1);
    if (dir) posix_spawn_file_actions_addchdir_np(&fa, dir);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setsigdefault(&at, &usual);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const char *argv[] = {"sh", "-c", "--", command, NULL};
    int e = posix_spawn(pid, "/bin/sh", &fa, &at, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    return e ? tc_error(TC_ENV, "cmd:%s: starting /bin/sh in %s: %s", command, dir ? dir : ".", strerror(e)) : NULL;
}

/* Waits for the command; NULL when it exited with 0. */
static tc_status wait_for(const char *command, pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return tc_error(TC_ENV, "cmd:%s: waiting for its end: %s", command, strerror(errno));
    if (WIFSIGNALED(status)) return tc_error(TC_ENV, "cmd:%s: ended by signal %d", command, WTERMSIG(status));
    return WEXITSTATUS(status) ? tc_error(TC_ENV, "cmd:%s: exit %d, expected 0", command, WEXITSTATUS(status)) : NULL;
}

tc_status tc_data_run(const char *command, const char *dir, tc_blob **out) {
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC)) return tc_error(TC_ENV, "cmd:%s: %s", command, strerror(errno));
    tc_status s = start(command, dir, ends[1], &pid);
    close(ends[1]);
    if (s) {
        close(ends[0]);
        return s;
    }
    tc_buf name = {0};
    tc_buf_printf(&name, "cmd:%s", command);
    s = tc_blob_from_fd(ends[0], name.data, out);
    tc_buf_free(&name);
    close(ends[0]); /* a command that still writes gets SIGPIPE */
    tc_status ended = wait_for(command, pid);
    if (s || !ended) {
        tc_status_free(ended);
        return s;
    }
    tc_blob_release(*out);
    *out = NULL;
    return ended;
}
