/* Runs the system's C compiler (cc.h). */
#include "codegen/cc.h"

#include "base/cpu.h"
#include "base/file.h"
#include "base/shell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* An instruction set beside the rows of isa.tab: emitted code only, by a compiler for aarch64, where it is the baseline. */
static const char neon[] = "neon", neon_flags[] = "-DTC_FOR_AARCH64";

/* Vectorised loops, unless $CFLAGS asks for another level. */
static const char level[] = "-O3";
/* No contraction, no errno: flags that change no bit of a result. They come after $CFLAGS, so that they win. */
static const char fixed[] =
    "-std=gnu11 -fPIC -w -fvisibility=hidden -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math -DTC_NO_CONTRACTION";

int tc_cc_isa_rank(const char *isa) {
    for (int i = 0; i < TC_ROW_COUNT; i++)
        if (!strcmp(tc_isa_name((tc_isa_row)i), isa)) return i;
    return strcmp(isa, neon) ? -1 : TC_ROW_COUNT;
}

const char *tc_cc_isa_flags(const char *isa) {
    const int rank = isa ? tc_cc_isa_rank(isa) : 0;
    return rank < 0 ? NULL : rank == TC_ROW_COUNT ? neon_flags : tc_isa_flags((tc_isa_row)rank);
}

const char *tc_cc_isa_names(void) {
    return
#define X(name, flags) #name ", "
        TC_ISA_ROWS(X) "neon";
#undef X
}

typedef TC_VEC(const char *) words;

static void add_words(words *w, tc_arena *a, const char *s) {
    while (s && *s) {
        while (*s == ' ' || *s == '\t' || *s == '\n') s++;
        size_t n = strcspn(s, " \t\n");
        if (n) tc_vec_push(w, tc_arena_strndup(a, s, n));
        s += n;
    }
}

/* A row of isa.tab says what code is compiled for, and is checked before the code runs, here or on another machine that shares the cache or the archive:
 * this machine's own instructions must not slip in. */
static void leave_out(words *w, const char *word) {
    size_t n = 0;
    for (size_t i = 0; i < w->len; i++)
        if (strcmp(w->data[i], word)) w->data[n++] = w->data[i];
    w->len = n;
}

/* What links code that flushes subnormal numbers in the whole process, whichever flags follow. */
static const char *const careless[] = {"-Ofast", "-ffast-math", "-funsafe-math-optimizations"};

static tc_status command(words *w, tc_arena *a, tc_cc_kind kind, const tc_cc_options *o) {
    const char *cc = o->cc ? o->cc : getenv("CC"), *cflags = o->cflags ? o->cflags : getenv("CFLAGS");
    const char *isa = tc_cc_isa_flags(o->isa);
    if (!isa) return tc_error(TC_USAGE, "no instruction set is called %s", o->isa);
    add_words(w, a, cc && *cc ? cc : "cc");
    if (!w->len) tc_vec_push(w, "cc");
    add_words(w, a, level);
    add_words(w, a, cflags);
    if (o->isa) leave_out(w, "-march=native");
    for (size_t i = 0; i < sizeof careless / sizeof *careless; i++) leave_out(w, careless[i]);
    add_words(w, a, fixed);
    add_words(w, a, isa);
    if (kind != TC_CC_PROGRAM) add_words(w, a, kind == TC_CC_SHARED ? "-shared" : "-c");
    return NULL;
}

static void archiver(words *w, tc_arena *a) {
    const char *ar = getenv("AR");
    add_words(w, a, ar && *ar ? ar : "ar");
    if (!w->len) tc_vec_push(w, "ar");
}

/* The path that execvp would run; NULL: not found. */
static const char *locate(tc_arena *a, const char *name) {
    if (strchr(name, '/')) return access(name, X_OK) ? NULL : name;
    const char *path = getenv("PATH");
    if (!path || !*path) path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(path, ":");
        char *full = tc_arena_printf(a, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
        struct stat st;
        if (!access(full, X_OK) && !stat(full, &st) && S_ISREG(st.st_mode)) return full;
        if (!path[n]) return NULL;
        path += n + 1;
    }
}

static tc_status not_found(const char *cc) {
    return tc_status_add(tc_error(TC_ENV, "%s: no such compiler", cc), "install gcc or clang, or name one: CC=clang");
}

/* Appends the path, size and modification time of what a word of a command runs; false: nothing of that name is found. */
static bool identify(tc_arena *a, const char *name, tc_buf *out) {
    const char *path = locate(a, name);
    struct stat st;
    if (!path || stat(path, &st)) return false;
    tc_buf_printf(out, "%s %lld %lld.%09ld\n", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return true;
}

tc_status tc_cc_identity(tc_cc_kind kind, const tc_cc_options *o, tc_buf *out) {
    tc_arena a = {0};
    words w = {0};
    tc_status s = command(&w, &a, kind, o);
    for (size_t i = 0, flags = 0; !s && i < w.len; i++) { /* the words before the first flag: the compiler, or a program that starts it */
        flags |= w.data[i][0] == '-';
        if (!flags && !identify(&a, w.data[i], out) && !i) s = not_found(w.data[0]);
        tc_buf_printf(out, "%s\n", w.data[i]);
    }
    tc_buf_printf(out, "%d %s\n", kind, o->name ? o->name : "");
    for (int i = 0; i < o->ntargets; i++) tc_buf_printf(out, "%s %s\n", o->targets[i], tc_cc_isa_flags(o->targets[i]));
    w.len = 0;
    if (kind == TC_CC_ARCHIVE) archiver(&w, &a);
    for (size_t i = 0; i < w.len; i++)
        if (!identify(&a, w.data[i], out)) tc_buf_printf(out, "%s\n", w.data[i]);
    tc_vec_free(&w);
    tc_arena_free(&a);
    return s;
}

/* A positive integer from the environment variable, else the default. */
int64_t tc_cc_limit(const char *variable, int64_t otherwise) {
    const char *s = getenv(variable);
    char *end = NULL;
    long long v = s ? strtoll(s, &end, 10) : 0;
    return s && end != s && !*end && v > 0 && v < (1 << 30) ? v : otherwise;
}

/* Ends the compiler's process group: SIGTERM first, so that it can remove its temporary files, SIGKILL a second later. */
static void end_group(pid_t pid, struct pollfd *leader) {
    kill(-pid, SIGTERM);
    if (leader->fd >= 0) poll(leader, 1, 1000);
    kill(-pid, SIGKILL);
}

/* Waits for the compiler at most `seconds`, then ends its process group. The group is also ended when the signalfd `stop` shows that this program was
 * told to stop; that signal stays pending until the caller unblocks it. False: time-out. */
static bool wait_for(pid_t pid, int64_t seconds, int stop) {
    struct pollfd p[2] = {{.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    if (p[0].fd < 0) return true; /* an old kernel without pidfd: only RLIMIT_CPU limits the compiler */
    int n, left = seconds > 1000000 ? 1000000000 : (int)seconds * 1000;
    while ((n = poll(p, 2, left)) < 0 && errno == EINTR) continue;
    if (!(p[0].revents & POLLIN)) end_group(pid, p);
    close(p[0].fd);
    return n != 0;
}

/* One build: its directory, log and commands so far; `stop` is a signalfd for the signals `stops` (wait_for). */
typedef struct {
    tc_arena *a;
    const char *dir, *name, *log;
    char *const *env; /* of the commands: this program's, with $TMPDIR set to the directory */
    tc_buf lines;     /* commands, for --dump */
    const tc_cc_options *o;
    sigset_t stops;
    int stop;
    bool named; /* an error names the log, which the directory therefore keeps */
} build;

/* Resource limits of a command and of its children: processor time in seconds, address space in MiB. */
typedef struct {
    int64_t seconds, mebibytes;
} limits;

/* Runs in the vfork child, which shares this program's memory until exec: default signal handlers, a process group of its own, output into the log.
 * Returns errno of the call that failed. */
static int become(char *const *argv, const build *b, const limits *l) {
    const struct rlimit cpu = {(rlim_t)l->seconds, (rlim_t)l->seconds + 1}, space = {(rlim_t)l->mebibytes << 20, (rlim_t)l->mebibytes << 20};
    struct sigaction now, initial = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        if (!sigaction(i, NULL, &now) && now.sa_handler != SIG_IGN) sigaction(i, &initial, NULL);
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    setrlimit(RLIMIT_CPU, &cpu); /* fails where the limit is lower already */
    setrlimit(RLIMIT_AS, &space);
    int in = open("/dev/null", O_RDONLY), out = open(b->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) return errno;
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvpe(argv[0], argv, b->env);
    return errno;
}

/* Starts the command. vfork rather than posix_spawn: the resource limits hold from its first instruction on, and no page is copied. */
static tc_status spawn(const build *b, words *w, const limits *l, pid_t *out) {
    volatile int e = 0;
    sigset_t all, before;
    sigfillset(&all);
    tc_vec_push(w, NULL);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = vfork();
    if (!pid) {
        e = become((char *const *)w->data, b, l);
        _exit(127);
    }
    if (pid < 0) e = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && e) waitpid(pid, NULL, 0);
    *out = pid;
    if (e == ENOENT) return not_found(w->data[0]);
    return e ? tc_error(TC_ENV, "starting %s: %s", w->data[0], strerror(e)) : NULL;
}

/* Adds the first five lines of the compiler's log to the error, and a hint where it looks as if memory ran out: `hints` are the words that gcc, clang,
 * linkers and the loader use. */
static tc_status with_log(tc_status s, const char *log, const limits *l, bool killed) {
    static const char *const hints[] = {"out of memory", "memory exhausted", "annot allocate", "failed to map", "internal compiler error", NULL};
    tc_buf text = {0};
    tc_status r = tc_file_read(log, 1 << 20, &text);
    const char *line = r ? "" : tc_buf_str(&text);
    for (int i = 0; hints[i]; i++) killed |= strstr(line, hints[i]) != NULL;
    for (int i = 0; i < 5 && *line; i++) {
        size_t n = strcspn(line, "\n");
        s = tc_status_add(s, "%.*s", (int)(n < 400 ? n : 400), line);
        line += n + (line[n] != 0);
    }
    if (killed) s = tc_status_add(s, "it may map %lld MiB of memory; TC_CC_MEMORY=N gives it more", (long long)l->mebibytes);
    tc_status_free(r);
    tc_buf_free(&text);
    return s;
}

static tc_status spawn_and_wait(build *b, words *w) {
    const limits l = {tc_cc_limit("TC_CC_SECONDS", 600), tc_cc_limit("TC_CC_MEMORY", 8192)};
    pid_t pid;
    int status;
    TC_TRY(spawn(b, w, &l, &pid));
    bool in_time = wait_for(pid, l.seconds, b->stop);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return tc_error(TC_ENV, "waiting for %s: %s", w->data[0], strerror(errno));
    b->named = !in_time || !WIFEXITED(status) || WEXITSTATUS(status);
    if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        return tc_status_add(
            tc_error(TC_ENV, "the compiler %s was stopped after %lld seconds; its log: %s", w->data[0], (long long)l.seconds, b->log),
            "TC_CC_SECONDS=N gives it more");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
    return with_log(WIFSIGNALED(status)
                        ? tc_error(TC_ENV, "the compiler %s was killed by signal %d; its log: %s", w->data[0], WTERMSIG(status), b->log)
                        : tc_error(TC_ENV, "the compiler %s failed (exit %d); its log: %s", w->data[0], WEXITSTATUS(status), b->log),
                    b->log, &l, WIFSIGNALED(status));
}

/* Makes a static library; D: no dates and user ids, so that its bytes are reproducible. */
static tc_status archive(build *b, const char *const *objects, int n, const char *path) {
    words w = {0};
    archiver(&w, b->a);
    tc_vec_push(&w, "rcsD");
    tc_vec_push(&w, path);
    for (int i = 0; i < n; i++) tc_vec_push(&w, objects[i]);
    tc_status s = spawn_and_wait(b, &w);
    tc_vec_free(&w);
    return s;
}

static tc_status start(build *b, words *w) {
    for (size_t i = 0; i < w->len; i++) {
        if (i) tc_buf_putc(&b->lines, ' ');
        tc_shell_word(&b->lines, w->data[i]);
    }
    tc_buf_putc(&b->lines, '\n');
    return spawn_and_wait(b, w);
}

static bool linked(tc_cc_kind kind) { return kind == TC_CC_SHARED || kind == TC_CC_PROGRAM; }

/* Compiles NAME.c to `object` with one command. */
static tc_status build_one(build *b, tc_cc_kind kind, const char *isa, const char *define, const char *object) {
    words w = {0};
    tc_cc_options o = *b->o;
    o.isa = isa;
    tc_status s = command(&w, b->a, kind, &o);
    if (define) tc_vec_push(&w, define);
    if (o.weights) tc_vec_push(&w, tc_arena_printf(b->a, "-DTC_WEIGHTS=\"\\\"%s/%s.weights\\\"\"", b->dir, b->name));
    if (o.header) tc_vec_push(&w, tc_arena_printf(b->a, "-I%s", b->dir));
    tc_vec_push(&w, tc_arena_printf(b->a, "%s/%s.c", b->dir, b->name));
    tc_vec_push(&w, "-o");
    tc_vec_push(&w, object);
    if (linked(kind)) tc_vec_push(&w, "-lm");
    if (!s) s = start(b, &w);
    tc_vec_free(&w);
    return s;
}

/* Links the objects into the product; TC_CC_OBJECT: into one relocatable object (-r). */
static tc_status join(build *b, tc_cc_kind kind, const char *const *objects, int n, const char *product) {
    words w = {0};
    const char *cc = b->o->cc ? b->o->cc : getenv("CC");
    add_words(&w, b->a, cc && *cc ? cc : "cc");
    if (!w.len) tc_vec_push(&w, "cc");
    if (kind == TC_CC_OBJECT) add_words(&w, b->a, "-r -nostdlib");
    if (kind == TC_CC_SHARED) tc_vec_push(&w, "-shared");
    for (int i = 0; i < n; i++) tc_vec_push(&w, objects[i]);
    tc_vec_push(&w, "-o");
    tc_vec_push(&w, product);
    if (linked(kind)) tc_vec_push(&w, "-lm");
    tc_status s = start(b, &w);
    tc_vec_free(&w);
    return s;
}

static tc_status build_all(build *b, tc_cc_kind kind, const char **out_product) {
    static const char *const suffix[] = {[TC_CC_SHARED] = ".so", [TC_CC_OBJECT] = ".o", [TC_CC_ARCHIVE] = ".a", [TC_CC_PROGRAM] = ""};
    enum { MOST = 16 };
    const char *objects[MOST + 1], *product = tc_arena_printf(b->a, "%s/%s%s", b->dir, b->name, suffix[kind]);
    int n = b->o->ntargets > 1 ? b->o->ntargets : 0;
    *out_product = product;
    if (n > MOST) return tc_error(TC_USAGE, "more than %d instruction sets in one object", MOST);
    if (!n && kind != TC_CC_ARCHIVE) return build_one(b, kind, b->o->isa, NULL, product);
    for (int i = 0; i < n; i++) {
        objects[i] = tc_arena_printf(b->a, "%s/%s-%s.o", b->dir, b->name, b->o->targets[i]);
        TC_TRY(build_one(b, TC_CC_OBJECT, b->o->targets[i], tc_arena_printf(b->a, "-DTC_TARGET=%s", b->o->targets[i]), objects[i]));
    }
    objects[n] = tc_arena_printf(b->a, n ? "%s/%s-any.o" : "%s/%s.o", b->dir, b->name);
    TC_TRY(build_one(b, TC_CC_OBJECT, n ? "portable" : b->o->isa, NULL, objects[n]));
    return kind == TC_CC_ARCHIVE ? archive(b, objects, n + 1, product) : join(b, kind, objects, n + 1, product);
}

/* ---- the temporary directory of a build ---- */
#define WORK "tc-cc-"
static const char *temporary_folder(void) {
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

/* Marks a directory as a build's; the build holds a lock on this file while it runs. */
#define LOCK "lock"

/* Did the build in this directory fail less than a day ago? Its log is kept that long. A failed build left an empty file "failed" beside it. */
static bool failed_lately(int dir) {
    struct stat st;
    return !fstatat(dir, "failed", &st, AT_SYMLINK_NOFOLLOW) && st.st_mtime > time(NULL) - 24 * 3600;
}

/* Removes directories of this user's builds that were killed or failed more than a day ago: those whose lock nobody holds. */
static void sweep(tc_arena *a) {
    const char *tmp = temporary_folder();
    DIR *d = opendir(tmp);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, WORK, sizeof WORK - 1)) continue;
        const char *path = tc_arena_printf(a, "%s/%s", tmp, e->d_name);
        struct stat st;
        int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0) continue;
        int fd = openat(dir, LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        bool ours = fd >= 0 && !fstat(dir, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB);
        if (ours && !failed_lately(dir)) tc_status_free(tc_remove_tree(path));
        if (fd >= 0) close(fd);
        close(dir);
    }
    if (d) closedir(d);
}

/* Makes a directory and locks it; tries again when another process's sweep removed it between the two steps. On a file system without locks the build
 * goes unlocked and nothing is swept. */
static tc_status make_folder(tc_arena *a, char **out_dir, int *out_lock) {
    for (int i = 0; i < 100; i++) {
        struct stat st;
        char *dir = tc_arena_printf(a, "%s/" WORK "XXXXXX", temporary_folder());
        if (!mkdtemp(dir)) return tc_error(TC_ENV, "%s: %s", dir, strerror(errno));
        const char *path = tc_arena_printf(a, "%s/" LOCK, dir);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) {
            tc_status s = tc_error(TC_ENV, "%s: %s", path, strerror(errno));
            rmdir(dir); /* without its lock file no sweep would find it */
            return s;
        }
        if ((!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) && !fstat(fd, &st) && st.st_nlink) {
            *out_dir = dir;
            *out_lock = fd;
            return NULL;
        }
        close(fd);
    }
    return tc_error(TC_ENV, "%s: cannot create a private folder in it", temporary_folder());
}

static tc_status build_in(build *b, const char *text, size_t len, tc_cc_kind kind, tc_buf *out) {
    const char *product = NULL;
    const tc_buf *weights = b->o->weights;
    if (weights && strpbrk(b->dir, "\"\\\n")) return tc_error(TC_ENV, "%s: a quote, a backslash or a line break in the name of the folder", b->dir);
    tc_status s = tc_file_write(tc_arena_printf(b->a, "%s/%s.c", b->dir, b->name), text, len);
    if (!s && weights) s = tc_file_write(tc_arena_printf(b->a, "%s/%s.weights", b->dir, b->name), tc_buf_str(weights), weights->len);
    if (!s && b->o->header) s = tc_file_write(tc_arena_printf(b->a, "%s/%s", b->dir, b->o->header_name), b->o->header, strlen(b->o->header));
    if (!s) s = build_all(b, kind, &product);
    tc_status kept = b->o->dump ? tc_file_write(tc_arena_printf(b->a, "%s/command", b->dir), tc_buf_str(&b->lines), b->lines.len) : NULL;
    if (!s) s = kept;
    else tc_status_free(kept);
    tc_buf_free(&b->lines);
    return s ? s : tc_file_read(product, SIZE_MAX / 2, out);
}

/* Removes the directory, but for a build whose compiler failed: its log stays for a day. */
static tc_status leave_folder(const build *b) {
    sigset_t pending, told;
    bool stopped = !sigpending(&pending) && !sigandset(&told, &pending, &b->stops) && !sigisemptyset(&told);
    if (b->named && !stopped) return tc_file_write(tc_arena_printf(b->a, "%s/failed", b->dir), "", 0);
    return tc_remove_tree(b->dir);
}

/* The signals that would end this program; those that are ignored (nohup, background jobs of some shells) are left out. */
static sigset_t ending_signals(void) {
    static const int all[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sigaction now;
        if (!sigaction(all[i], NULL, &now) && now.sa_handler != SIG_IGN) sigaddset(&set, all[i]);
    }
    return set;
}

/* This program's environment with $TMPDIR set to the build's directory, so that temporary files of a killed compiler are removed with it. */
static char *const *environment(tc_arena *a, const char *dir) {
    size_t n = 0, kept = 0;
    while (environ[n]) n++;
    char **env = TC_NEWN(a, char *, n + 2);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7)) env[kept++] = environ[i];
    env[kept] = tc_arena_printf(a, "TMPDIR=%s", dir);
    return env;
}

/* Signals that end this program are blocked until the compiler, which has its own process group and does not get them from the terminal, has been ended
 * and its files are removed. */
tc_status tc_cc_build(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out) {
    tc_arena a = {0};
    int lock = -1;
    char *dir = o->dump ? tc_arena_strdup(&a, o->dump) : NULL;
    sigset_t stops = ending_signals(), before;
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    if (!dir) sweep(&a);
    tc_status s = dir ? tc_make_dirs(dir) : make_folder(&a, &dir, &lock);
    if (!s) {
        build b = {.a = &a,
                   .dir = dir,
                   .name = o->name ? o->name : "groups",
                   .log = tc_arena_printf(&a, "%s/cc.log", dir),
                   .env = environment(&a, dir),
                   .o = o,
                   .stops = stops};
        b.stop = signalfd(-1, &stops, SFD_CLOEXEC);
        s = build_in(&b, text, len, kind, out);
        if (b.stop >= 0) close(b.stop);
        tc_status left = o->dump ? NULL : leave_folder(&b);
        if (!s) s = left;
        else tc_status_free(left);
    }
    if (lock >= 0) close(lock);
    tc_arena_free(&a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}
