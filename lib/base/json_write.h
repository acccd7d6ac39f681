/* Writes JSON text into a buffer. Commas and quotes are its business; nesting is the caller's:
 *
 *     tc_json w = {.b = &buf};
 *     tc_json_object(&w); tc_json_key(&w, "step"); tc_json_int(&w, 3); tc_json_end(&w);      -> {"step": 3}
 *
 * Text is one line ("a": 1, "b": 2 with a space after colon and comma, as Python's json.dumps writes). */
#ifndef TC_BASE_JSON_WRITE_H
#define TC_BASE_JSON_WRITE_H

#include "base/mem.h"

enum { TC_JSON_DEPTH = 64 };
typedef struct {
    tc_buf *b;
    int depth;
    bool after_key;
    char open[TC_JSON_DEPTH]; /* '{' or '[' */
    bool some[TC_JSON_DEPTH]; /* an element was written at this depth */
    bool tight;               /* no spaces */
} tc_json;

void tc_json_object(tc_json *w);
void tc_json_array(tc_json *w);
void tc_json_end(tc_json *w); /* closes the innermost object or array */
void tc_json_key(tc_json *w, const char *key);
void tc_json_string(tc_json *w, const char *s);
void tc_json_stringn(tc_json *w, const char *s, size_t n); /* UTF-8; bytes that are not become U+FFFD; control characters are escaped */
void tc_json_int(tc_json *w, int64_t v);
void tc_json_uint(tc_json *w, uint64_t v);
void tc_json_double(tc_json *w, double v); /* shortest text that reads back equal; not finite: null */
void tc_json_bool(tc_json *w, bool v);
void tc_json_null(tc_json *w);
void tc_json_raw(tc_json *w, const char *text, size_t n); /* a value already in JSON */
/* The shortest decimal text of a double that reads back to the same bits, always with '.' or 'e' ("1.0", "1e-05"), or inf, -inf, nan: Python's repr. */
void tc_double_text(tc_buf *b, double v);

#endif
