/* tc_cmd_main: descriptors, signals, parsing, the tool's run function, error report, closing stdout, exit code. */
#include "base/cpu.h"
#include "base/json_write.h"
#include "base/resident.h"
#include "base/text.h"
#include "cmd/internal.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *code_name(tc_code code) {
    switch (code) {
    case TC_OK: return "done";
    case TC_ENV: return "environment";
    case TC_USAGE: return "usage";
    case TC_CONTENT: return "content";
    case TC_DIFFERENT: return "different";
    case TC_UNSUPPORTED: return "unsupported";
    case TC_DIVERGED: return "diverged";
    case TC_STOPPED: return "stopped";
    }
    return "unknown";
}

static void report_json(const tc_cmd *c, tc_status s) {
    tc_place at = tc_status_place(s);
    tc_buf b = {0}, help = {0};
    if (!*tc_status_detail(s)) tc_cmd_trouble(tc_status_message(s), &help);
    tc_json w = {.b = &b};
    tc_json_object(&w);
    tc_json_key(&w, "program");
    tc_json_string(&w, c->tool->name);
    tc_json_key(&w, "error");
    tc_json_string(&w, code_name(tc_status_code(s)));
    tc_json_key(&w, "code");
    tc_json_int(&w, tc_status_code(s));
    tc_json_key(&w, "message");
    tc_json_string(&w, tc_status_message(s));
    if (*tc_status_detail(s)) {
        tc_json_key(&w, "detail");
        tc_json_string(&w, tc_status_detail(s));
    }
    if (help.len) {
        tc_json_key(&w, "help");
        tc_json_string(&w, tc_buf_str(&help));
    }
    if (at.file) {
        tc_json_key(&w, "file");
        tc_json_string(&w, at.file);
    }
    const struct {
        const char *key;
        int64_t v, none;
    } places[] = {{"line", at.line, 0}, {"column", at.col, 0}, {"offset", at.offset, -1}};
    for (size_t i = 0; i < 3; i++) {
        if (places[i].v == places[i].none) continue;
        tc_json_key(&w, places[i].key);
        tc_json_int(&w, places[i].v);
    }
    tc_json_end(&w);
    tc_buf_putc(&b, '\n');
    fwrite(b.data, 1, b.len, stderr);
    tc_buf_free(&b);
    tc_buf_free(&help);
}

void tc_cmd_tell(const tc_cmd *c, tc_status s) {
    if (!s) return;
    if (c->json) {
        report_json(c, s);
    } else {
        tc_buf detail = {0};
        tc_buf_puts(&detail, tc_status_detail(s));
        const bool of_file = tc_status_code(s) == TC_CONTENT || tc_status_code(s) == TC_UNSUPPORTED; /* scripts count on one line */
        if (!detail.len && (!of_file || c->verbose || isatty(STDERR_FILENO))) tc_cmd_trouble(tc_status_message(s), &detail);
        fprintf(stderr, "%s: %s\n%s%s", c->tool->name, tc_status_message(s), tc_buf_str(&detail), detail.len ? "\n" : "");
        tc_buf_free(&detail);
    }
}

tc_code tc_cmd_report(const tc_cmd *c, tc_status s) {
    tc_code code = tc_status_code(s);
    tc_cmd_tell(c, s);
    tc_status_free(s);
    return code;
}

static int stdout_lost; /* errno of a failed write to stdout, or 0 */

void tc_cmd_show(FILE *to, const char *text, size_t n) {
    tc_buf b = {0};
    tc_put_shown(&b, text, n, "\n\t");
    if (fwrite(tc_buf_str(&b), 1, b.len, to) < b.len && to == stdout && !stdout_lost) stdout_lost = errno;
    tc_buf_free(&b);
}

static void say(const tc_cmd *c, const char *fmt, va_list ap) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%s: ", c->tool->name);
    tc_buf_vprintf(&b, fmt, ap);
    tc_buf_putc(&b, '\n');
    tc_cmd_show(stderr, b.data, b.len);
    tc_buf_free(&b);
}

void tc_cmd_say(const tc_cmd *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(c, fmt, ap);
    va_end(ap);
}

void tc_cmd_note(const tc_cmd *c, const char *fmt, ...) {
    if (c->quiet) return;
    va_list ap;
    va_start(ap, fmt);
    say(c, fmt, ap);
    va_end(ap);
}

void tc_cmd_verbose(const tc_cmd *c, const char *fmt, ...) {
    if (!c->verbose || c->quiet) return;
    va_list ap;
    va_start(ap, fmt);
    say(c, fmt, ap);
    va_end(ap);
}

int tc_cmd_threads(tc_cmd *c) {
    if (!c->threads) {
        int64_t asked = 0;
        const char *v = tc_cmd_get(c, TC_OPT_threads);
        if (v && !tc_parse_i64(v, &asked)) asked = 0;
        c->threads = tc_default_threads((int)asked);
        tc_cmd_verbose(c, "instruction set %s, %d thread%s", tc_isa_chosen_name(), c->threads, c->threads == 1 ? "" : "s");
    }
    return c->threads;
}

tc_pool *tc_cmd_pool(tc_cmd *c) {
    if (!c->pool && tc_cmd_threads(c) > 1) {
        tc_status s = tc_pool_create(c->threads, &c->pool);
        if (s) {
            tc_cmd_note(c, "%s; running on one thread", tc_status_message(s));
            tc_status_free(s);
            c->threads = 1;
        }
    }
    return c->pool;
}

static void print_version(const tc_cmd *c) {
    char cpu[64];
    tc_cpu_model(cpu);
    const char *first = cpu + strspn(cpu, " ");
    printf("%s %s (%s %s; %s%s%s)\n", c->tool->name, TC_VERSION,
#ifdef __clang__
           "clang", __clang_version__,
#else
           "gcc", __VERSION__,
#endif
           tc_isa_chosen_name(), *first ? " on " : "", first);
}

static void print_time(const tc_cmd *c) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    fprintf(stderr, "%s: %.3f s wall, %ld.%03ld s user, %ld.%03ld s system, %.1f MiB peak\n", c->tool->name, tc_now() - c->started,
            (long)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec / 1000, (long)u.ru_stime.tv_sec, (long)u.ru_stime.tv_usec / 1000,
            (double)tc_resident_most() / (1 << 20));
}

/* Opens closed standard descriptors on /dev/null in the direction that fails, so that no later file gets descriptor 0, 1 or 2. */
static void fill_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) _exit(TC_ENV);
}

/* fclose reports only the last block: an earlier failed write is remembered in stdout_lost. */
static bool close_stdout(void) {
    const bool lost = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout)) return false;
    if (lost) errno = stdout_lost ? stdout_lost : EIO;
    return !lost;
}

static void free_cmd(tc_cmd *c) {
    tc_cmd_steps_end(c);
    tc_cmd_watch_end(c);
    tc_pool_destroy(c->pool);
    tc_vec_free(&c->phases);
    for (int i = 0; i < TC_OPT_COUNT; i++) tc_vec_free(&c->values[i]);
    free(c->words);
}

int tc_cmd_main(int argc, char **argv, const tc_tool *tool) {
    fill_descriptors();
    tc_signals_install(tool);
    tc_cmd c = {.tool = tool, .argv = argv, .started = tc_now()};
    tc_status s = tc_cmd_parse(&c, argc, argv);
    if (s && tool->unparsed) tool->unparsed(&c, s);
    if (!s && tc_cmd_has(&c, TC_OPT_help)) s = tc_cmd_print_help(&c, tc_cmd_get(&c, TC_OPT_help));
    else if (!s && tc_cmd_has(&c, TC_OPT_version)) print_version(&c);
    else if (!s && !(s = tc_cmd_log_open(&c))) s = tool->run(&c);
    tc_status logged = tc_cmd_log_close(&c);
    if (!c.told) tc_cmd_tell(&c, s);
    tc_code code = tc_status_code(s), log_code = tc_cmd_report(&c, logged);
    tc_status_free(s);
    if (code == TC_OK) code = log_code;
    if (!close_stdout() && code == TC_OK) code = tc_cmd_report(&c, tc_error(TC_ENV, "stdout: cannot write: %s", strerror(errno)));
    if (tc_cmd_has(&c, TC_OPT_stats)) tc_cmd_print_stats(&c);
    if (tc_cmd_has(&c, TC_OPT_time)) print_time(&c);
    free_cmd(&c);
    return (int)code;
}
