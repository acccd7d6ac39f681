/* JSON text from values. See json_write.h. */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>

static void before_value(tc_json *w) {
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (!w->depth) return;
    TC_ASSERT(w->open[w->depth - 1] == '[');
    if (w->some[w->depth - 1]) tc_buf_puts(w->b, w->tight ? "," : ", ");
    w->some[w->depth - 1] = true;
}

static void push(tc_json *w, char c) {
    before_value(w);
    TC_ASSERT(w->depth < TC_JSON_DEPTH);
    w->open[w->depth] = c;
    w->some[w->depth++] = false;
    tc_buf_putc(w->b, c);
}

void tc_json_object(tc_json *w) { push(w, '{'); }
void tc_json_array(tc_json *w) { push(w, '['); }

void tc_json_end(tc_json *w) {
    TC_ASSERT(w->depth > 0 && !w->after_key);
    tc_buf_putc(w->b, w->open[--w->depth] == '{' ? '}' : ']');
}

/* Length of the UTF-8 sequence at s (at most n bytes), 0 if it is malformed. */
static size_t utf8_len(const unsigned char *s, size_t n) {
    size_t k = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    if (k == 0 || k > n) return 0;
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) return 0;
    return k;
}

/* The number of bytes from s, at most n, that JSON text can contain directly. */
static size_t plain_run(const unsigned char *s, size_t n) {
    typedef unsigned char bytes __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    size_t i = 0;
    for (bytes v; n - i >= sizeof v; i += sizeof v) {
        memcpy(&v, s + i, sizeof v);
        const words special = (words)((v - 0x20 >= 0x7f - 0x20) | (v == '"') | (v == '\\'));
        if (special[0] | special[1]) break;
    }
    while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\') i++;
    return i;
}

static void quoted(tc_buf *b, const char *text, size_t n) {
    const unsigned char *s = (const unsigned char *)text;
    tc_buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t k = plain_run(s + i, n - i);
        tc_buf_append(b, s + i, k);
        i += k;
        if (i == n) break;
        unsigned char c = s[i];
        if (c == '"' || c == '\\') tc_buf_printf(b, "\\%c", c), i++;
        else if (c == '\n') tc_buf_puts(b, "\\n"), i++;
        else if (c == '\t') tc_buf_puts(b, "\\t"), i++;
        else if (c == '\r') tc_buf_puts(b, "\\r"), i++;
        else if (c < 0x20 || c == 0x7f) tc_buf_printf(b, "\\u%04x", c), i++;
        else {
            k = utf8_len(s + i, n - i);
            if (k == 2 && c == 0xc2 && s[i + 1] < 0xa0) tc_buf_printf(b, "\\u%04x", s[i + 1]); /* C1 */
            else if (k) tc_buf_append(b, s + i, k);
            else tc_buf_puts(b, "\\ufffd");
            i += k ? k : 1;
        }
    }
    tc_buf_putc(b, '"');
}

void tc_json_key(tc_json *w, const char *key) {
    TC_ASSERT(w->depth > 0 && w->open[w->depth - 1] == '{' && !w->after_key);
    if (w->some[w->depth - 1]) tc_buf_puts(w->b, w->tight ? "," : ", ");
    w->some[w->depth - 1] = true;
    quoted(w->b, key, strlen(key));
    tc_buf_puts(w->b, w->tight ? ":" : ": ");
    w->after_key = true;
}

void tc_json_stringn(tc_json *w, const char *s, size_t n) {
    before_value(w);
    quoted(w->b, s, n);
}

void tc_json_string(tc_json *w, const char *s) { tc_json_stringn(w, s, strlen(s)); }

static void digits(tc_buf *b, uint64_t v) {
    char t[20], *p = t + sizeof t;
    do *--p = (char)('0' + v % 10);
    while (v /= 10);
    tc_buf_append(b, p, (size_t)(t + sizeof t - p));
}

void tc_json_int(tc_json *w, int64_t v) {
    before_value(w);
    if (v < 0) tc_buf_putc(w->b, '-');
    digits(w->b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void tc_json_uint(tc_json *w, uint64_t v) {
    before_value(w);
    digits(w->b, v);
}

void tc_double_text(tc_buf *b, double v) {
    char t[40];
    int p = 1;
    if (!isfinite(v)) {
        tc_buf_puts(b, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    do snprintf(t, sizeof t, "%.*e", p - 1, v);
    while (strtod(t, NULL) != v && ++p <= 17);
    char *e = strchr(t, 'e');
    int exp = (int)strtol(e + 1, NULL, 10);
    if (exp >= -4 && exp < 16) {
        int decimals = p - 1 - exp;
        tc_buf_printf(b, "%.*f", decimals > 0 ? decimals : 1, v);
    } else {
        tc_buf_puts(b, t);
    }
}

void tc_json_double(tc_json *w, double v) {
    before_value(w);
    if (isfinite(v)) tc_double_text(w->b, v);
    else tc_buf_puts(w->b, "null");
}

void tc_json_bool(tc_json *w, bool v) {
    before_value(w);
    tc_buf_puts(w->b, v ? "true" : "false");
}

void tc_json_null(tc_json *w) {
    before_value(w);
    tc_buf_puts(w->b, "null");
}

void tc_json_raw(tc_json *w, const char *text, size_t n) {
    before_value(w);
    tc_buf_append(w->b, text, n);
}
