/* --dump DIR: keeps a reproducer of an internal error in a pass (op/watch.h) in DIR:
 *
 *     crash.pt2    the program before the failing pass; tc-export reads it and repeats that pass
 *     crash.graph  the program after the pass, as text
 *     crash.txt    message, command line, passes that ran, the failing pass
 *
 * Fault injection for tests: TC_FAULT=PASS makes that pass fail, PASS! breaks an invariant in it, PASS? aborts. */
#include "base/file.h"
#include "cmd/internal.h"
#include "cmd/program.h"
#include "op/watch.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

typedef struct {
    tc_watch watch;
    const tc_cmd *c;
    const char *dir; /* NULL: no --dump */
} watcher;

static watcher *installed; /* for the SIGABRT handler */

static tc_status put(const char *dir, const char *name, const tc_buf *text) {
    tc_buf path = {0};
    tc_buf_printf(&path, "%s/%s", dir, name);
    tc_status s = tc_file_write(path.data, tc_buf_str(text), text->len);
    tc_buf_free(&path);
    return s;
}

static tc_status put_archive(const tc_watch *w, const char *dir) {
    tc_buf path = {0};
    tc_out *o;
    tc_buf_printf(&path, "%s/crash.pt2", dir);
    const tc_extra repeat = {tc_crash_entry, w->repeat, strlen(w->repeat)};
    const tc_program *const p = w->before;
    tc_status s = tc_out_open(path.data, &o);
    if (!s) s = tc_out_finish(o, tc_archive_write(o, &(tc_archive_content){.programs = &p, .nprograms = 1, .extra = &repeat, .nextra = 1}));
    tc_buf_free(&path);
    return s;
}

static tc_status put_all(const watcher *x, const tc_program *made, const char *message) {
    const tc_watch *w = &x->watch;
    tc_buf b = {0};
    tc_status s = tc_make_dirs(x->dir);
    tc_buf_printf(&b, "%s: %s\ncommand:", x->c->tool->name, message);
    for (int i = 1; x->c->argv[i]; i++) tc_buf_printf(&b, " %s", x->c->argv[i]);
    tc_buf_printf(&b, "\npasses that had run:\n%spass that failed: %s\n", tc_buf_str(&w->ran), w->running);
    if (!s) s = put(x->dir, "crash.txt", &b);
    b.len = 0;
    if (made) tc_program_print(&b, made, TC_PRINT_FULL);
    if (!s && made) s = put(x->dir, "crash.graph", &b);
    tc_buf_free(&b);
    return s ? s : put_archive(w, x->dir);
}

static void keep_reproducer(tc_watch *w, const tc_program *made, const char *message) {
    const watcher *x = (const watcher *)w;
    if (!x->dir) return;
    tc_status lost = put_all(x, made, message);
    if (lost) tc_cmd_say(x->c, "no evidence of what follows: %s", tc_status_message(lost));
    else tc_cmd_say(x->c, "%s/crash.txt and crash.graph say more, tc-export %s/crash.pt2 does it again", x->dir, x->dir);
    tc_status_free(lost);
}

/* SIGABRT handler for a broken invariant (TC_BUG) in a pass, whose message is printed already. TC_BUG calls abort() outside malloc and stdio, so these
 * may be used here; any other SIGABRT may have interrupted them and just ends the program. */
static void on_abort(int sig) {
    watcher *x = installed;
    signal(sig, SIG_DFL);
    if (x && x->watch.before && tc_bug_met()) {
        void *frames[64];
        tc_cmd_say(x->c, "internal error: a broken invariant in the pass %s", x->watch.running);
        keep_reproducer(&x->watch, NULL, "a broken invariant, told on stderr with the calls that led there");
        backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    }
    raise(sig);
}

tc_watch *tc_cmd_watch(tc_cmd *c, const tc_archive *a) {
    const char *dir = tc_tool_takes(c->tool, TC_OPT_dump) ? tc_cmd_get(c, TC_OPT_dump) : NULL;
    const unsigned char *data;
    size_t len;
    bool recorded = false;
    if (a) tc_status_free(tc_archive_entry(a, tc_crash_entry, &data, &len, &recorded));
    if (c->watch || (!dir && !recorded)) return c->watch;
    watcher *x = tc_xcalloc(1, sizeof *x);
    *x = (watcher){{.on_failure = keep_reproducer, .fault = getenv("TC_FAULT")}, c, dir};
    installed = x;
    signal(SIGABRT, on_abort);
    return c->watch = &x->watch;
}

void tc_cmd_watch_end(tc_cmd *c) {
    if (!c->watch) return;
    installed = NULL;
    tc_watch_deinit(c->watch);
    free(c->watch);
}
