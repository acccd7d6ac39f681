/* Reading JSON by pulling: no tree is built, the caller walks the text in the order in which it stands.
 *
 *     tc_jread j;
 *     tc_jr_init(&j, path, text, n);
 *     tc_jr_object(&j);
 *     for (tc_str key; tc_jr_member(&j, &key);) {
 *         if (tc_str_is(key, "count")) count = tc_jr_int(&j);
 *         else if (tc_str_is(key, "names")) for (tc_jr_array(&j); tc_jr_item(&j);) add(tc_jr_string(&j));
 *         else tc_jr_skip(&j);
 *     }
 *     return tc_jr_finish(&j);
 *
 * The first error is kept with its line and column; every later call returns 0, false or an empty string, so loops end and are
 * checked once. Depth is limited, numbers keep 64 bits of integer or the nearest double, text must be UTF-8. */
#ifndef TC_BASE_JSON_H
#define TC_BASE_JSON_H

#include "base/mem.h"

typedef struct {
    const char *s;
    size_t n;
} tc_str;
static inline bool tc_str_eq(tc_str a, const char *b, size_t n) { return a.n == n && (n == 0 || memcmp(a.s, b, n) == 0); }
static inline bool tc_str_is(tc_str a, const char *b) { return tc_str_eq(a, b, strlen(b)); }

enum { TC_JR_DEPTH = 256 };

typedef enum { TC_JR_NONE /* end or error */, TC_JR_NULL, TC_JR_BOOL, TC_JR_NUMBER, TC_JR_STRING, TC_JR_ARRAY, TC_JR_OBJECT } tc_jr_kind;

typedef struct {
    const char *file; /* for messages; NULL: none */
    const char *text, *p, *end;
    const char *at; /* start of the last value, for tc_jr_fail */
    int depth;
    bool first; /* nothing was read yet in the current container */
    tc_status status;
    tc_buf scratch; /* the last string that had escapes */
} tc_jread;

void tc_jr_init(tc_jread *j, const char *file, const char *text, size_t n);
/* The kept error, or one for text that follows the value; frees the scratch. Call it once. */
tc_status tc_jr_finish(tc_jread *j);
static inline bool tc_jr_ok(const tc_jread *j) { return j->status == NULL; }
/* Records an error at the last value, unless there is one already. */
void tc_jr_fail(tc_jread *j, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);
/* Records an error from elsewhere unchanged (NULL: nothing); frees it if there is one already. */
void tc_jr_fail_with(tc_jread *j, tc_status s);

tc_jr_kind tc_jr_peek(tc_jread *j);
bool tc_jr_object(tc_jread *j);                  /* opens it */
bool tc_jr_member(tc_jread *j, tc_str *out_key); /* the next key, or false: closed. The key lives until the next string is read */
bool tc_jr_array(tc_jread *j);
bool tc_jr_item(tc_jread *j);
bool tc_jr_null(tc_jread *j); /* reads a null if there is one */
bool tc_jr_bool(tc_jread *j);
int64_t tc_jr_int(tc_jread *j);                                       /* an integer that fits 64 bits; 3.0 is not one */
double tc_jr_double(tc_jread *j);                                     /* a number; also "NaN", "Infinity", "-Infinity" as strings */
bool tc_jr_number(tc_jread *j, int64_t *out_int, double *out_double); /* true: it is an integer */
tc_str tc_jr_string(tc_jread *j);                                     /* not NUL-terminated; lives until the next string is read; never holds a NUL */
char *tc_jr_strdup(tc_jread *j, tc_arena *a);                         /* "" after an error */
/* Extends the life of s, the last string read, to that of the text and of a: it is copied only if it had escapes. */
static inline tc_str tc_jr_keep(const tc_jread *j, tc_arena *a, tc_str s) {
    return s.n && s.s == j->scratch.data ? (tc_str){tc_arena_strndup(a, s.s, s.n), s.n} : s;
}
tc_str tc_jr_skip(tc_jread *j); /* any value; returns its text, checked */
/* The same for an object or list that is read later: checks only the ends of strings and the depth of brackets. */
void tc_jr_skip_unread(tc_jread *j);
/* Skips the object or list here if it is byte for byte equal to `like`, which tc_jr_skip returned; else false, and nothing is read. */
bool tc_jr_skip_same(tc_jread *j, tc_str like);

/* A position to return to, inside the same containers. */
typedef struct {
    const char *p;
    int depth;
    bool first;
} tc_jr_mark;
static inline tc_jr_mark tc_jr_tell(const tc_jread *j) { return (tc_jr_mark){j->p, j->depth, j->first}; }
static inline void tc_jr_seek(tc_jread *j, tc_jr_mark m) { j->p = m.p, j->depth = m.depth, j->first = m.first; }

#endif
