/* Status values: a heap record with code, message, detail lines and place. See status.h. */
#include "base/status.h"

#include "base/mem.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>

struct tc_status_s {
    tc_code code;
    tc_buf message, detail;
    size_t body; /* where the message continues after its place */
    tc_place place;
    char *file, *text; /* own the strings of place */
};

/* Messages are one line and safe on a terminal. */
static void append_line(tc_buf *b, const char *s) { tc_put_shown(b, s, strlen(s), "\t"); }

static void append_format(tc_buf *b, const char *fmt, va_list ap) {
    tc_buf raw = {0};
    tc_buf_vprintf(&raw, fmt, ap);
    append_line(b, tc_buf_str(&raw));
    tc_buf_free(&raw);
}

static tc_status new_status(tc_code code) {
    tc_status s = tc_xcalloc(1, sizeof *s);
    s->code = code;
    s->place.offset = -1;
    return s;
}

tc_status tc_error(tc_code code, const char *fmt, ...) {
    tc_status s = new_status(code);
    va_list ap;
    va_start(ap, fmt);
    append_format(&s->message, fmt, ap);
    va_end(ap);
    return s;
}

/* Adds the source line as detail, and a caret below column col; tabs are kept so that both lines align. */
static void append_caret(tc_buf *b, const char *text, int64_t col) {
    size_t n = strcspn(text, "\r\n");
    if (n > 400) n = 400;
    tc_buf line = {0};
    tc_buf_append(&line, text, n);
    tc_buf_puts(b, "    ");
    append_line(b, tc_buf_str(&line));
    tc_buf_free(&line);
    if (col < 1 || (size_t)col > n + 1) return;
    tc_buf_puts(b, "\n    ");
    for (int64_t i = 1; i < col; i++) {
        unsigned char c = (unsigned char)text[i - 1];
        if ((c & 0xc0) != 0x80) tc_buf_putc(b, ' ');
    }
    tc_buf_putc(b, '^');
}

tc_status tc_error_at(tc_code code, tc_place place, const char *fmt, ...) {
    tc_status s = new_status(code);
    s->place = place;
    if (place.file) s->place.file = s->file = tc_xstrdup(place.file);
    if (place.text) s->place.text = s->text = tc_xstrdup(place.text);
    if (place.file) {
        append_line(&s->message, place.file);
        if (place.line > 0) tc_buf_printf(&s->message, ":%lld", (long long)place.line);
        if (place.line > 0 && place.col > 0) tc_buf_printf(&s->message, ":%lld", (long long)place.col);
        tc_buf_puts(&s->message, ": ");
    } else if (place.line > 0) {
        tc_buf_printf(&s->message, "line %lld: ", (long long)place.line);
    }
    if (place.line <= 0 && place.offset >= 0) tc_buf_printf(&s->message, "at byte %lld: ", (long long)place.offset);
    s->body = s->message.len;
    va_list ap;
    va_start(ap, fmt);
    append_format(&s->message, fmt, ap);
    va_end(ap);
    if (place.text) append_caret(&s->detail, place.text, place.col);
    return s;
}

/* Inserts "context: " into the message at byte `at`. */
static void insert(tc_status s, size_t at, const char *fmt, va_list ap) {
    tc_buf b = {0};
    tc_buf_append(&b, tc_buf_str(&s->message), at);
    append_format(&b, fmt, ap);
    tc_buf_puts(&b, ": ");
    tc_buf_puts(&b, tc_buf_str(&s->message) + at);
    tc_buf_free(&s->message);
    s->message = b;
}

tc_status tc_annotate(tc_status s, const char *fmt, ...) {
    if (!s) return NULL;
    const size_t before = s->message.len;
    va_list ap;
    va_start(ap, fmt);
    insert(s, 0, fmt, ap);
    va_end(ap);
    s->body += s->message.len - before;
    return s;
}

tc_status tc_status_within(tc_status s, const char *fmt, ...) {
    if (!s) return NULL;
    va_list ap;
    va_start(ap, fmt);
    insert(s, s->body, fmt, ap);
    va_end(ap);
    return s;
}

tc_status tc_status_add(tc_status s, const char *fmt, ...) {
    if (!s) return NULL;
    if (s->detail.len) tc_buf_putc(&s->detail, '\n');
    va_list ap;
    va_start(ap, fmt);
    append_format(&s->detail, fmt, ap);
    va_end(ap);
    return s;
}

tc_code tc_status_code(tc_status s) { return s ? s->code : TC_OK; }
const char *tc_status_message(tc_status s) { return s ? tc_buf_str(&s->message) : ""; }
const char *tc_status_detail(tc_status s) { return s ? tc_buf_str(&s->detail) : ""; }
tc_place tc_status_place(tc_status s) { return s ? s->place : (tc_place){.offset = -1}; }

void tc_status_free(tc_status s) {
    if (!s) return;
    tc_buf_free(&s->message);
    tc_buf_free(&s->detail);
    free(s->file);
    free(s->text);
    free(s);
}

static volatile sig_atomic_t broken;

bool tc_bug_met(void) { return broken; }

void tc_bug_(const char *file, int line, const char *fmt, ...) {
    fprintf(stderr, "tc: internal error at %s:%d: ", file, line);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    broken = 1;
    abort();
}
