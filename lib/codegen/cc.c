/* Runs the system's C compiler (cc.h). */
#include "codegen/cc.h"

#include "base/cpu.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct {
    const char *name, *flags;
} rows[] = {
#define X(name, flags) {#name, flags},
    TC_ISA_ROWS(X)
#undef X
};

/* Vectors for loops, no contraction, no errno: what changes no bit. The last word: after $CFLAGS. */
static const char fixed[] =
    "-std=gnu11 -O3 -fPIC -w -fvisibility=hidden -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math -DTC_NO_CONTRACTION";

const char *tc_cc_isa_flags(const char *isa) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, isa ? isa : "portable")) return rows[i].flags;
    return NULL;
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

static tc_status command(words *w, tc_arena *a, tc_cc_kind kind, const tc_cc_options *o) {
    const char *cc = o->cc ? o->cc : getenv("CC"), *cflags = o->cflags ? o->cflags : getenv("CFLAGS");
    const char *isa = tc_cc_isa_flags(o->isa);
    if (!isa) return tc_error(TC_USAGE, "no instruction set is called %s", o->isa);
    add_words(w, a, cc && *cc ? cc : "cc");
    if (!w->len) tc_vec_push(w, "cc");
    add_words(w, a, cflags);
    add_words(w, a, fixed);
    add_words(w, a, isa);
    if (kind != TC_CC_PROGRAM) add_words(w, a, kind == TC_CC_SHARED ? "-shared" : "-c");
    return NULL;
}

/* Path of a program as execvp finds it; NULL: not found. */
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

tc_status tc_cc_identity(tc_cc_kind kind, const tc_cc_options *o, tc_buf *out) {
    tc_arena a = {0};
    words w = {0};
    tc_status s = command(&w, &a, kind, o);
    for (size_t i = 0; !s && i < w.len; i++) {
        const char *path = i ? NULL : locate(&a, w.data[0]);
        struct stat st;
        if (!i && (!path || stat(path, &st))) s = not_found(w.data[0]);
        else if (!i) tc_buf_printf(out, "%s %lld %lld.%09ld\n", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
        else tc_buf_printf(out, "%s\n", w.data[i]);
    }
    tc_vec_free(&w);
    tc_arena_free(&a);
    return s;
}

static tc_status run(words *w, const char *log) {
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK);
    pid_t pid;
    tc_vec_push(w, NULL);
    int e = posix_spawnp(&pid, w->data[0], &fa, &at, (char *const *)w->data, environ);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    if (e == ENOENT) return not_found(w->data[0]);
    if (e) return tc_error(TC_ENV, "starting %s: %s", w->data[0], strerror(e));
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return tc_error(TC_ENV, "waiting for %s: %s", w->data[0], strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
    tc_status s = WIFSIGNALED(status) ? tc_error(TC_ENV, "the compiler %s was killed by signal %d; its log: %s", w->data[0], WTERMSIG(status), log)
                                      : tc_error(TC_ENV, "the compiler %s failed (exit %d); its log: %s", w->data[0], WEXITSTATUS(status), log);
    tc_buf text = {0};
    tc_status r = tc_file_read(log, 1 << 20, &text);
    const char *line = r ? "" : tc_buf_str(&text);
    for (int i = 0; i < 5 && *line; i++) {
        size_t n = strcspn(line, "\n");
        s = tc_status_add(s, "%.*s", (int)(n < 400 ? n : 400), line);
        line += n + (line[n] != 0);
    }
    tc_status_free(r);
    tc_buf_free(&text);
    return s;
}

static const char *const suffix[] = {[TC_CC_SHARED] = ".so", [TC_CC_OBJECT] = ".o", [TC_CC_ARCHIVE] = ".o", [TC_CC_PROGRAM] = ""};

/* An archive of one object, the same bytes at any time and for any user. */
static tc_status archive(tc_arena *a, const char *log, const char *object, const char *path) {
    const char *ar = getenv("AR");
    words w = {0};
    add_words(&w, a, ar && *ar ? ar : "ar");
    if (!w.len) tc_vec_push(&w, "ar");
    tc_vec_push(&w, "rcsD");
    tc_vec_push(&w, path);
    tc_vec_push(&w, object);
    tc_status s = run(&w, log);
    tc_vec_free(&w);
    return s;
}

tc_status tc_cc_build(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out) {
    tc_arena a = {0};
    words w = {0};
    const char *tmp = getenv("TMPDIR");
    char *dir = o->dump ? tc_arena_strdup(&a, o->dump) : tc_arena_printf(&a, "%s/tc-cc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    tc_status s = command(&w, &a, kind, o);
    if (!s && o->dump) s = tc_make_dirs(dir);
    else if (!s && !mkdtemp(dir)) s = tc_error(TC_ENV, "%s: %s", dir, strerror(errno));
    if (!s) {
        const char *name = o->name ? o->name : "groups", *source = tc_arena_printf(&a, "%s/%s.c", dir, name);
        const char *log = tc_arena_printf(&a, "%s/cc.log", dir), *object = tc_arena_printf(&a, "%s/%s%s", dir, name, suffix[kind]);
        tc_vec_push(&w, source);
        tc_vec_push(&w, "-o");
        tc_vec_push(&w, object);
        if (kind == TC_CC_SHARED || kind == TC_CC_PROGRAM) tc_vec_push(&w, "-lm");
        tc_buf line = {0};
        for (size_t i = 0; i < w.len; i++) tc_buf_printf(&line, "%s%s", i ? " " : "", w.data[i]);
        tc_buf_putc(&line, '\n');
        s = tc_file_write(source, text, len);
        if (!s && o->dump) s = tc_file_write(tc_arena_printf(&a, "%s/command", dir), line.data, line.len);
        tc_buf_free(&line);
        if (!s) s = run(&w, log);
        if (!s && kind == TC_CC_ARCHIVE) {
            const char *path = tc_arena_printf(&a, "%s/%s.a", dir, name);
            s = archive(&a, log, object, path);
            object = path;
        }
        if (!s) s = tc_file_read(object, SIZE_MAX / 2, out);
        if (!o->dump && !s) s = tc_remove_tree(dir);
    }
    tc_vec_free(&w);
    tc_arena_free(&a);
    return s;
}
