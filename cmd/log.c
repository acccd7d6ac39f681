/* Logging by topic (--log, $TC_LOG, --log-dir): lines on stderr, as JSON with --json, or JSON lines in DIR/PROGRAM.TOPIC.jsonl. */
#include "cmd/internal.h"

#include "base/file.h"
#include "base/json_write.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A row a program: its name, then its topics. */
enum { COLUMNS = 8 };
static const char *const table[][COLUMNS] = {
    {"tc-export", "guards", "shapes", "split", "partition"},
    {"tc-train", "micro", "first", "update", "eval", "memory"},
    {"tc-compile", "rewrites", "fusion", "memory", "quantize", "tuning", "sdpa"},
    {"tc-run", "guards", "recompiles", "memory", "sdpa"},
    {"tc-bench", "sdpa"},
};
enum { ROWS = sizeof table / sizeof *table };

/* The program's topics, NULL last. */
static const char *const *topics_of(const tc_cmd *c) {
    static const char *const none[] = {NULL};
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(table[i][0], c->tool->name)) return &table[i][1];
    return none;
}

static int topics(const tc_cmd *c) {
    int n = 0;
    while (topics_of(c)[n]) n++;
    return n;
}

/* Is topic in the comma-separated list? */
static bool listed(const char *list, const char *topic) {
    for (const char *p = list;; p += strcspn(p, ",") + 1) {
        if (strlen(topic) == strcspn(p, ",") && !strncmp(topic, p, strlen(topic))) return true;
        if (!p[strcspn(p, ",")]) return false;
    }
}

bool tc_cmd_logs(const tc_cmd *c, const char *topic) {
    const char *all = getenv("TC_LOG"); /* shared by all programs of a pipe: each uses the topics that it has */
    bool on = (all && listed(all, topic)) || (c->log_files && !all && !tc_cmd_count(c, TC_OPT_log));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_log); i++) on |= listed(tc_cmd_value(c, TC_OPT_log, i), topic);
    return on;
}

/* Checks the topics of a list: those of this program, or of any with `any`. */
static tc_status check_list(const tc_cmd *c, const char *what, const char *list, bool any) {
    const char *known[ROWS * COLUMNS];
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = 1; table[i][k] && (any || !strcmp(table[i][0], c->tool->name)); k++) {
            int at = 0;
            while (at < n && strcmp(known[at], table[i][k])) at++;
            known[at] = table[i][k];
            n += at == n;
        }
    bool all = true;
    for (const char *p = list; all; p += strcspn(p, ",") + 1) {
        const size_t len = strcspn(p, ",");
        all = false;
        for (int i = 0; i < n; i++) all |= strlen(known[i]) == len && !strncmp(known[i], p, len);
        if (!p[len]) break;
    }
    if (all) return NULL;
    tc_buf names = {0};
    for (int i = 0; i < n; i++) tc_buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
    tc_status s = tc_usage(c, "%s %s: no such topic, expected one of %s", what, list, n ? tc_buf_str(&names) : "none (this program has no topics)");
    tc_buf_free(&names);
    return s;
}

tc_status tc_cmd_check_topics(const tc_cmd *c) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_log); i++) TC_TRY(check_list(c, "--log", tc_cmd_value(c, TC_OPT_log, i), false));
    const char *all = getenv("TC_LOG");
    return all && *all ? check_list(c, "TC_LOG", all, true) : NULL;
}

tc_status tc_cmd_log_open(tc_cmd *c) {
    const char *dir = tc_cmd_get(c, TC_OPT_log_dir);
    if (!dir) return NULL;
    if (!topics(c)) return tc_usage(c, "--log-dir: this program has no topics");
    TC_TRY(tc_make_dirs(dir));
    if (access(dir, W_OK | X_OK)) return tc_error(TC_ENV, "%s: cannot write logs there: %s", dir, strerror(errno));
    c->log_files = tc_xcalloc((size_t)topics(c), sizeof *c->log_files);
    return NULL;
}

tc_status tc_cmd_log_close(tc_cmd *c) {
    tc_status s = NULL;
    for (int i = 0; c->log_files && i < topics(c); i++) {
        FILE *f = c->log_files[i];
        const bool lost = f && ferror(f);
        if (f && (fclose(f) || lost) && !s)
            s = tc_error(TC_ENV, "%s: the log of %s is not whole: cannot write", tc_cmd_get(c, TC_OPT_log_dir), topics_of(c)[i]);
    }
    free(c->log_files);
    c->log_files = NULL;
    return s;
}

/* The file of a topic, created at its first line, since only one of several ranks logs. NULL: it cannot be created. */
static FILE *file_of(const tc_cmd *c, const char *topic) {
    int i = 0;
    while (i < topics(c) && strcmp(topics_of(c)[i], topic)) i++;
    TC_ASSERT(i < topics(c)); /* every topic is in the tool's list */
    if (c->log_files[i]) return c->log_files[i];
    tc_buf path = {0};
    tc_buf_printf(&path, "%s/%s.%s.jsonl", tc_cmd_get(c, TC_OPT_log_dir), c->tool->name, topic);
    FILE *f = c->log_files[i] = fopen(path.data, "we");
    if (f) setvbuf(f, NULL, _IOLBF, 0); /* lines survive a signal */
    else tc_cmd_say(c, "%s: cannot write: %s", path.data, strerror(errno));
    tc_buf_free(&path);
    return f;
}

static void put_json(const tc_cmd *c, const char *topic, const char *text, size_t n, FILE *to) {
    for (size_t at = 0, len; at < n && to; at += len + 1) {
        const char *stop = memchr(text + at, '\n', n - at);
        tc_buf b = {0};
        tc_json w = {.b = &b};
        len = stop ? (size_t)(stop - text) - at : n - at;
        tc_json_object(&w);
        tc_json_key(&w, "program");
        tc_json_string(&w, c->tool->name);
        tc_json_key(&w, "topic");
        tc_json_string(&w, topic);
        tc_json_key(&w, "line");
        tc_json_stringn(&w, text + at, len);
        tc_json_end(&w);
        tc_buf_putc(&b, '\n');
        fwrite(b.data, 1, b.len, to);
        tc_buf_free(&b);
    }
}

/* Writes text to the topic's file or as JSON; true: it must also be printed as text on stderr. */
static bool put(const tc_cmd *c, const char *topic, bool also, const char *text, size_t n) {
    const bool on = n && tc_cmd_logs(c, topic);
    if (on && c->log_files) put_json(c, topic, text, n, file_of(c, topic));
    else if (on && c->json && !also) put_json(c, topic, text, n, stderr);
    return also || (on && !c->log_files && !c->json);
}

void tc_cmd_log_text(const tc_cmd *c, const char *topic, bool also, const char *text, size_t n) {
    if (put(c, topic, also, text, n)) tc_cmd_show(stderr, text, n);
}

void tc_cmd_log(const tc_cmd *c, const char *topic, bool also, const char *fmt, ...) {
    va_list ap;
    tc_buf b = {0};
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    if (put(c, topic, also, tc_buf_str(&b), b.len)) tc_cmd_note(c, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
}
