/* What a function that can fail returns: a code, a one-line message and the place in the input.
 *
 *     tc_status open_model(const char *path, tc_model **out_model) {
 *         tc_bytes b;
 *         TC_TRY(tc_map_file(path, &b), "reading %s", path);
 *         if (b.len < 8) return tc_error(TC_CONTENT, "%s: %zu bytes, expected at least 8", path, b.len);
 *
 * NULL is success and costs nothing. A failing status is owned by whoever holds it: return it, or free it. */
#ifndef TC_BASE_STATUS_H
#define TC_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Also the exit codes of the programs (tc-intro(7)). */
typedef enum {
    TC_OK = 0,
    TC_ENV = 1,         /* environment: cannot open, disk full, compiler failed, peer lost */
    TC_USAGE = 2,       /* the caller asked for something that makes no sense */
    TC_CONTENT = 3,     /* a file, source or tensor is wrong */
    TC_DIFFERENT = 4,   /* a comparison found a difference */
    TC_UNSUPPORTED = 5, /* named operator or feature that tc lacks */
    TC_DIVERGED = 6,    /* NaN or infinite loss */
    TC_STOPPED = 75     /* saved and stopped by a signal or a time limit */
} tc_code;

typedef struct tc_status_s *tc_status; /* NULL: success */

/* Where in an input an error lies. Any part may be absent: file NULL, line or col 0, offset -1, text NULL. */
typedef struct {
    const char *file;
    int64_t line, col; /* from 1 */
    int64_t offset;    /* bytes from the start, or -1 */
    const char *text;  /* the source line, printed below the message with a caret at col */
} tc_place;

#define TC_PRINTF(f, a) __attribute__((format(printf, f, a)))

tc_status tc_error(tc_code code, const char *fmt, ...) TC_PRINTF(2, 3);
/* The message becomes "file:line:col: message" (or "file: at byte N: message"); the place is copied. */
tc_status tc_error_at(tc_code code, tc_place place, const char *fmt, ...) TC_PRINTF(3, 4);
/* "context: message"; returns s. NULL stays NULL. */
tc_status tc_annotate(tc_status s, const char *fmt, ...) TC_PRINTF(2, 3);

/* "file:line:col: context: message": inserted after the place, if there is one; returns s. */
tc_status tc_status_within(tc_status s, const char *fmt, ...) TC_PRINTF(2, 3);

tc_code tc_status_code(tc_status s);        /* TC_OK for NULL */
const char *tc_status_message(tc_status s); /* one line without newline; "" for NULL; lives as long as s */
const char *tc_status_detail(tc_status s);  /* further lines (source line and caret, call stack, suggestion), or "" */
tc_place tc_status_place(tc_status s);
/* Appends a line to the detail (a suggestion, a frame of a call stack). */
tc_status tc_status_add(tc_status s, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_status_free(tc_status s);

/* TC_TRY(expr) or TC_TRY(expr, "context %s", x): returns from the function on failure. */
#define TC_TRY(expr, ...)                                          \
    do {                                                           \
        tc_status try_s_ = (expr);                                 \
        if (__builtin_expect(try_s_ != NULL, 0)) {                 \
            __VA_OPT__(try_s_ = tc_annotate(try_s_, __VA_ARGS__);) \
            return try_s_;                                         \
        }                                                          \
    } while (0)

/* A broken invariant of tc itself, never bad input: prints the location to stderr and aborts. */
_Noreturn void tc_bug_(const char *file, int line, const char *fmt, ...) TC_PRINTF(3, 4);
bool tc_bug_met(void); /* Was SIGABRT raised by TC_BUG, and so from ordinary code? Then a handler may do what ordinary code may */
#define TC_BUG(...) tc_bug_(__FILE__, __LINE__, __VA_ARGS__)
#define TC_ASSERT(cond)                                        \
    do {                                                       \
        if (__builtin_expect(!(cond), 0)) TC_BUG("%s", #cond); \
    } while (0)

#endif
