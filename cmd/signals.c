/* Signal handling of every program: a closed pipe ends a filter silently, an interrupt removes temporary files and directories, SIGBUS from a truncated
 * mapped file names the file (exit 3). Handlers use only async-signal-safe calls. */
#include "base/file.h"
#include "cmd/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEMPORARIES = 64, BUS_STACK = 64 << 10 };
static const char *_Atomic temporaries[TEMPORARIES];
static const char *program_name;
static const tc_cmd *volatile stopping; /* of tc_cmd_stops_early, or NULL */
/* signals that end a program which does not catch them itself */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGPIPE};

void tc_temporary_hold_signals(bool hold) {
    static _Thread_local sigset_t before;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(&set, ends[i]);
    if (hold) pthread_sigmask(SIG_BLOCK, &set, &before);
    else pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tc_temporary_made(const char *path) {
    for (int i = 0; i < TEMPORARIES; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&temporaries[i], &none, path)) return;
    }
}

void tc_temporary_gone(const char *path) {
    for (int i = 0; i < TEMPORARIES; i++) {
        const char *p = path;
        if (atomic_compare_exchange_strong(&temporaries[i], &p, NULL)) return;
    }
}

/* Removes a directory of files with getdents: readdir is not async-signal-safe. */
static void remove_folder(const char *path) {
    static _Alignas(struct dirent64) char entries[8192];
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return;
    for (bool removed = true; removed;) { /* restart after removals: offsets into a changed directory are undefined */
        removed = false;
        lseek(dir, 0, SEEK_SET);
        const long n = syscall(SYS_getdents64, dir, entries, sizeof entries);
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(entries + at);
            removed |= !unlinkat(dir, e->d_name, 0);
            at += e->d_reclen;
        }
    }
    close(dir);
    rmdir(path);
}

static void remove_temporaries(void) {
    for (int i = 0; i < TEMPORARIES; i++) {
        const char *p = atomic_load(&temporaries[i]);
        if (p && unlink(p)) remove_folder(p);
    }
}

static void say(const char *s, size_t n) {
    while (n) {
        ssize_t w = write(STDERR_FILENO, s, n);
        if (w <= 0) return;
        s += w;
        n -= (size_t)w;
    }
}

void tc_cmd_stops_early(const tc_cmd *c) { stopping = c; }

static void on_end(int sig) {
    remove_temporaries();
    const tc_cmd *c = stopping;
    if (c && (sig == SIGINT || sig == SIGTERM || sig == SIGUSR1)) {
        static const char text[] = ": stopped before the first step: nothing to save\n";
        if (!c->quiet && !c->json) {
            say(program_name, strlen(program_name));
            say(text, sizeof text - 1);
        }
        _exit(TC_STOPPED);
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

static bool is_broken(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}
/* A pipe that nobody reads any more ends a filter, but where it is only stderr: what is said from here on goes nowhere, and the exit code stays. */
static void on_pipe(int sig) {
    const int keep = errno;
    int nowhere;
    if (!is_broken(STDERR_FILENO) || is_broken(STDOUT_FILENO) || (nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0) {
        on_end(sig);
        return;
    }
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    errno = keep;
}

/* Finds the mapping that contains addr in /proc/self/maps and writes its path to stderr; false: not a file mapping. */
static bool name_mapping(uintptr_t addr) {
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    static char line[8192]; /* handler runs at most once */
    size_t n = 0;
    char c;
    bool found = false;
    while (!found && read(fd, &c, 1) == 1) {
        if (c != '\n') {
            if (n < sizeof line - 1) line[n++] = c;
            continue;
        }
        line[n] = 0;
        uintptr_t range[2] = {0, 0};
        size_t i = 0;
        for (int k = 0; k < 2; k++, i++)
            for (; line[i] && line[i] != '-' && line[i] != ' '; i++)
                range[k] = range[k] << 4 | (uintptr_t)(line[i] <= '9' ? line[i] - '0' : line[i] - 'a' + 10);
        const char *path = memchr(line, '/', n);
        if (addr >= range[0] && addr < range[1] && path) {
            say(path, n - (size_t)(path - line));
            found = true;
        }
        n = 0;
    }
    close(fd);
    return found;
}

static void on_bus(int sig, siginfo_t *info, void *context) {
    (void)context;
    static atomic_flag once = ATOMIC_FLAG_INIT;
    if (info->si_code != BUS_ADRERR) {
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    while (atomic_flag_test_and_set(&once)) pause(); /* another thread reports and ends the program */
    say(program_name, strlen(program_name));
    say(": ", 2);
    if (!name_mapping((uintptr_t)info->si_addr)) say("a mapped file", 13);
    static const char text[] = ": shorter than when it was opened: another process truncated it, or the disk failed\n";
    say(text, sizeof text - 1);
    remove_temporaries();
    _exit(TC_CONTENT);
}

_Noreturn void tc_no_memory(size_t n) {
    static atomic_flag once = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&once)) pause();
    char text[128];
    const int len = snprintf(text, sizeof text, "%s: out of memory: %zu bytes more are not to be had\n", program_name ? program_name : "tc", n);
    say(text, (size_t)len);
    remove_temporaries();
    _exit(TC_ENV);
}

void tc_signals_install(const tc_tool *tool) {
    program_name = tool->name;
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a failed write, like a full disk */
    void *stack = mmap(NULL, BUS_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack != MAP_FAILED) sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = BUS_STACK}, NULL);
    struct sigaction bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGBUS, &bus, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction old;
        sigaction(ends[i], NULL, &old);
        /* SIGPIPE always ends a filter, even if it was started with it ignored */
        if (ends[i] == SIGPIPE) sigaction(SIGPIPE, &(struct sigaction){.sa_handler = on_pipe}, NULL);
        else if (old.sa_handler != SIG_IGN) sigaction(ends[i], &(struct sigaction){.sa_handler = on_end}, NULL);
    }
}
