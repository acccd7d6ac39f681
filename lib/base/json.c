/* The pull reader of JSON: one pass over the text, one byte of look-ahead, a sticky error with its place. */
#include "base/json.h"

#include "base/json_blocks.h"

#include <locale.h>
#include <pthread.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void tc_jr_init(tc_jread *j, const char *file, const char *text, size_t n) {
    *j = (tc_jread){.file = file, .text = text, .p = text, .at = text, .end = text + n};
}

/* ---- errors ---- */
static tc_place place_of(const tc_jread *j, const char *at) {
    tc_place place = {.file = j->file, .line = 1, .col = 1, .offset = at - j->text};
    const char *line = j->text;
    for (const char *p = j->text; p < at; p++)
        if (*p == '\n') place.line++, line = p + 1;
    place.col = at - line + 1;
    return place;
}

static void fail_at(tc_jread *j, const char *at, tc_code code, const char *fmt, ...) TC_PRINTF(4, 5);
static void vfail(tc_jread *j, const char *at, tc_code code, const char *fmt, va_list ap) {
    if (j->status) return;
    tc_buf b = {0};
    tc_buf_vprintf(&b, fmt, ap);
    j->status = tc_error_at(code, place_of(j, at), "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    j->p = j->end;
}
static void fail_at(tc_jread *j, const char *at, tc_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfail(j, at, code, fmt, ap);
    va_end(ap);
}
void tc_jr_fail(tc_jread *j, tc_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfail(j, j->at, code, fmt, ap);
    va_end(ap);
}
void tc_jr_fail_with(tc_jread *j, tc_status s) {
    if (!s) return;
    if (j->status) tc_status_free(s);
    else j->status = s, j->p = j->end;
}

static void expected(tc_jread *j, const char *what) {
    if (j->p >= j->end) fail_at(j, j->end, TC_CONTENT, "the text ends, expected %s", what);
    else if ((unsigned char)*j->p < 0x20 || (unsigned char)*j->p > 0x7e)
        fail_at(j, j->p, TC_CONTENT, "found byte \\x%02x, expected %s", (unsigned char)*j->p, what);
    else fail_at(j, j->p, TC_CONTENT, "found '%c', expected %s", *j->p, what);
}

/* ---- structure ---- */
static inline int next_byte(tc_jread *j) { /* after white space; -1 at the end or after an error */
    if (j->status) return -1;
    if (j->p < j->end && (unsigned char)*j->p > ' ') {
        j->at = j->p;
        return (unsigned char)*j->p;
    }
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r')) j->p++;
    j->at = j->p;
    return j->p < j->end ? (unsigned char)*j->p : -1;
}

tc_jr_kind tc_jr_peek(tc_jread *j) {
    int c = next_byte(j);
    switch (c) {
    case '{': return TC_JR_OBJECT;
    case '[': return TC_JR_ARRAY;
    case '"': return TC_JR_STRING;
    case 'n': return TC_JR_NULL;
    case 't':
    case 'f': return TC_JR_BOOL;
    case '-': return TC_JR_NUMBER;
    default: return c >= '0' && c <= '9' ? TC_JR_NUMBER : TC_JR_NONE;
    }
}

static bool open_container(tc_jread *j, int c, const char *what) {
    if (next_byte(j) != c) {
        if (!j->status) expected(j, what);
        return false;
    }
    if (j->depth >= TC_JR_DEPTH) {
        tc_jr_fail(j, TC_CONTENT, "nested deeper than %d", TC_JR_DEPTH);
        return false;
    }
    j->p++;
    j->depth++;
    j->first = true;
    return true;
}
bool tc_jr_object(tc_jread *j) { return open_container(j, '{', "an object"); }
bool tc_jr_array(tc_jread *j) { return open_container(j, '[', "a list"); }

/* Advances to the next element, past its comma; false if the container ends. */
static bool next_element(tc_jread *j, int close, const char *what) {
    int c = next_byte(j);
    if (j->status) return false;
    if (c == close) {
        j->p++;
        j->depth--;
        j->first = false;
        return false;
    }
    if (!j->first) {
        if (c != ',') {
            expected(j, what);
            return false;
        }
        j->p++;
        next_byte(j);
    }
    j->first = false;
    return true;
}

/* Finds the first byte from p on that a string cannot contain directly: a quote, a backslash, a control character or a byte beyond ASCII. 16 bytes
 * at a time, then eight: the lowest byte whose top bit is set in `stop`. Within eight bytes of the end it may stop early. */
static inline const char *plain(const char *p, const char *end) {
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        unsigned at = (unsigned)_mm_movemask_epi8(_mm_or_si128(stop, _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)))); /* signed: beyond ASCII as well */
        if (at) return p + __builtin_ctz(at);
    }
#endif
    const uint64_t ones = UINT64_MAX / 255, high = ones * 0x80;
    for (uint64_t w; end - p >= 8; p += 8) {
        memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
#endif
        uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\', stop = ((quote - ones) | (slash - ones) | (w - ones * 0x20) | w) & high;
        if (stop) return p + (__builtin_ctzll(stop) >> 3);
    }
    return p;
}

bool tc_jr_item(tc_jread *j) { return next_element(j, ']', "',' or ']'"); }

/* Fast path for the usual form of a member: [,] blanks "plain key": without blanks before the colon. False: nothing was read. */
static inline bool usual_member(tc_jread *j, tc_str *out_key) {
    const char *p = j->p, *end = j->end;
    if (!j->first && p < end && *p++ != ',') return false;
    while (p < end && *p == ' ') p++;
    if (p >= end || *p != '"') return false;
    const char *key = p + 1;
    p = plain(key, end);
    if (end - p < 2 || p[0] != '"' || p[1] != ':') return false;
    *out_key = (tc_str){key, (size_t)(p - key)};
    j->at = key - 1;
    j->p = p + 2;
    j->first = false;
    return true;
}

bool tc_jr_member(tc_jread *j, tc_str *out_key) {
    if (usual_member(j, out_key)) return true;
    *out_key = (tc_str){"", 0};
    if (!next_element(j, '}', "',' or '}'")) return false;
    if (next_byte(j) != '"') {
        expected(j, "a name in double quotes");
        return false;
    }
    *out_key = tc_jr_string(j);
    if (next_byte(j) != ':') {
        if (!j->status) expected(j, "':'");
        return false;
    }
    j->p++;
    return true;
}

/* ---- words and numbers ---- */
static bool word(tc_jread *j, const char *w) {
    size_t n = strlen(w);
    if ((size_t)(j->end - j->p) < n || memcmp(j->p, w, n) != 0) return false;
    j->p += n;
    return true;
}

bool tc_jr_null(tc_jread *j) { return next_byte(j) == 'n' && word(j, "null"); }

bool tc_jr_bool(tc_jread *j) {
    next_byte(j);
    if (j->status) return false;
    if (word(j, "true")) return true;
    if (!word(j, "false")) expected(j, "true or false");
    return false;
}

static locale_t c_locale; /* constant once initialised: strtod must not depend on the caller's locale */
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static double parse_double(tc_jread *j, const char *s, size_t n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[400], *stop;
    if (n >= sizeof text) {
        tc_jr_fail(j, TC_CONTENT, "a number of %zu characters", n);
        return 0;
    }
    memcpy(text, s, n);
    text[n] = 0;
    pthread_once(&once, make_c_locale);
    return c_locale ? strtod_l(text, &stop, c_locale) : strtod(text, &stop);
}

static bool digits(tc_jread *j) {
    const char *begin = j->p;
    while (j->p < j->end && *j->p >= '0' && *j->p <= '9') j->p++;
    return j->p > begin;
}

bool tc_jr_number(tc_jread *j, int64_t *out_int, double *out_double) {
    *out_int = 0, *out_double = 0;
    next_byte(j);
    if (j->status) return false;
    const char *begin = j->p;
    bool negative = j->p < j->end && *begin == '-', integer = true;
    if (negative) j->p++;
    const char *first = j->p;
    if (!digits(j)) {
        j->p = begin;
        expected(j, "a number");
        return false;
    }
    if (j->p - first > 1 && *first == '0') {
        fail_at(j, begin, TC_CONTENT, "a number begins with 0");
        return false;
    }
    uint64_t magnitude = 0;
    bool fits = true;
    for (const char *p = first; p < j->p; p++)
        fits = fits && !__builtin_mul_overflow(magnitude, (uint64_t)10, &magnitude) &&
               !__builtin_add_overflow(magnitude, (uint64_t)(*p - '0'), &magnitude);
    if (j->p < j->end && *j->p == '.') {
        integer = false;
        j->p++;
        if (!digits(j)) {
            expected(j, "a digit");
            return false;
        }
    }
    if (j->p < j->end && (*j->p == 'e' || *j->p == 'E')) {
        integer = false;
        j->p++;
        if (j->p < j->end && (*j->p == '+' || *j->p == '-')) j->p++;
        if (!digits(j)) {
            expected(j, "a digit");
            return false;
        }
    }
    fits = fits && magnitude <= (uint64_t)INT64_MAX + negative;
    if (integer && fits) {
        *out_int = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
        *out_double = negative ? -(double)magnitude : (double)magnitude;
        return true;
    }
    *out_double = parse_double(j, begin, (size_t)(j->p - begin));
    return false;
}

int64_t tc_jr_int(tc_jread *j) {
    int64_t i;
    double d;
    if (!tc_jr_number(j, &i, &d) && !j->status) tc_jr_fail(j, TC_CONTENT, "expected an integer of 64 bits");
    return i;
}

double tc_jr_double(tc_jread *j) {
    int64_t i;
    double d;
    if (tc_jr_peek(j) == TC_JR_STRING) {
        tc_str s = tc_jr_string(j);
        if (tc_str_is(s, "NaN")) return __builtin_nan("");
        if (tc_str_is(s, "Infinity")) return __builtin_inf();
        if (tc_str_is(s, "-Infinity")) return -__builtin_inf();
        tc_jr_fail(j, TC_CONTENT, "expected a number");
        return 0;
    }
    tc_jr_number(j, &i, &d);
    return d;
}

/* ---- strings ---- */
static int hex4(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)p[i], digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

static void put_utf8(tc_buf *b, unsigned c) {
    if (c < 0x80) {
        tc_buf_putc(b, (char)c);
    } else if (c < 0x800) {
        tc_buf_putc(b, (char)(0xc0 | c >> 6));
        tc_buf_putc(b, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        tc_buf_putc(b, (char)(0xe0 | c >> 12));
        tc_buf_putc(b, (char)(0x80 | (c >> 6 & 63)));
        tc_buf_putc(b, (char)(0x80 | (c & 63)));
    } else {
        tc_buf_putc(b, (char)(0xf0 | c >> 18));
        tc_buf_putc(b, (char)(0x80 | (c >> 12 & 63)));
        tc_buf_putc(b, (char)(0x80 | (c >> 6 & 63)));
        tc_buf_putc(b, (char)(0x80 | (c & 63)));
    }
}

/* The escape at p (after the backslash); returns what follows it. */
static const char *unescape(tc_jread *j, const char *p) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = p < j->end && *p ? strchr(from, *p) : NULL;
    if (found) {
        tc_buf_putc(&j->scratch, to[found - from]);
        return p + 1;
    }
    int c = p < j->end && *p == 'u' ? hex4(p + 1, j->end) : -1, low;
    if (c < 0) {
        fail_at(j, p - 1, TC_CONTENT, "a bad escape in a string");
        return j->end;
    }
    p += 5;
    if (c >= 0xd800 && c < 0xdc00 && j->end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (low = hex4(p + 2, j->end)) >= 0xdc00 && low < 0xe000) {
        put_utf8(&j->scratch, 0x10000u + (((unsigned)c - 0xd800u) << 10) + ((unsigned)low - 0xdc00u));
        return p + 6;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) {
        fail_at(j, p - 6, TC_CONTENT, c ? "half of a surrogate pair in a string" : "a NUL character in a string");
        return j->end;
    }
    put_utf8(&j->scratch, (unsigned)c);
    return p;
}

/* Length of the UTF-8 sequence at p, 0 if invalid. */
static int utf8_length(const char *p, const char *end) {
    const unsigned char *u = (const unsigned char *)p;
    int n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
    if (n > end - p) return 0;
    for (int i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] >= 0xa0) || (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] >= 0x90)) return 0;
    return n;
}

tc_str tc_jr_string(tc_jread *j) {
    static const tc_str empty = {"", 0};
    if (next_byte(j) != '"') {
        if (!j->status) expected(j, "a string");
        return empty;
    }
    const char *open = j->p, *p = open + 1, *run = p;
    bool escaped = false;
    for (p = plain(p, j->end); p < j->end && *p != '"';) {
        unsigned char c = (unsigned char)*p;
        if (c == '\\') {
            if (!escaped) j->scratch.len = 0;
            escaped = true;
            tc_buf_append(&j->scratch, run, (size_t)(p - run));
            run = p = unescape(j, p + 1);
        } else if (c < 0x20) {
            fail_at(j, p, TC_CONTENT, "a control character in a string");
        } else if (c < 0x80) {
            p = plain(p + 1, j->end);
        } else {
            int n = utf8_length(p, j->end);
            if (!n) fail_at(j, p, TC_CONTENT, "a string is not UTF-8");
            p += n;
        }
        if (j->status) return empty;
    }
    if (p >= j->end) {
        fail_at(j, open, TC_CONTENT, "a string has no end");
        return empty;
    }
    j->p = p + 1;
    if (!escaped) return (tc_str){run, (size_t)(p - run)};
    tc_buf_append(&j->scratch, run, (size_t)(p - run));
    return (tc_str){j->scratch.data, j->scratch.len};
}

char *tc_jr_strdup(tc_jread *j, tc_arena *a) {
    tc_str s = tc_jr_string(j);
    return tc_arena_strndup(a, s.s, s.n);
}

/* ---- whole values ---- */
tc_str tc_jr_skip(tc_jread *j) {
    next_byte(j);
    const char *begin = j->p;
    int64_t i;
    double d;
    uint64_t objects[TC_JR_DEPTH / 64 + 1] = {0}; /* which of the open containers are objects */
    int base = j->depth;
    bool more = true;
    do {
        switch (tc_jr_peek(j)) {
        case TC_JR_OBJECT:
            tc_jr_object(j);
            if (j->status) break;
            objects[j->depth / 64] |= UINT64_C(1) << (j->depth % 64);
            break;
        case TC_JR_ARRAY:
            tc_jr_array(j);
            if (j->status) break;
            objects[j->depth / 64] &= ~(UINT64_C(1) << (j->depth % 64));
            break;
        case TC_JR_STRING: tc_jr_string(j); break;
        case TC_JR_NUMBER: tc_jr_number(j, &i, &d); break;
        case TC_JR_BOOL: tc_jr_bool(j); break;
        default:
            if (!tc_jr_null(j) && !j->status) expected(j, "a value");
        }
        for (more = false; !j->status && j->depth > base && !more;) {
            tc_str key;
            more = objects[j->depth / 64] >> (j->depth % 64) & 1 ? tc_jr_member(j, &key) : tc_jr_item(j);
        }
    } while (more);
    j->at = begin;
    return j->status ? (tc_str){"", 0} : (tc_str){begin, (size_t)(j->p - begin)};
}

bool tc_jr_skip_same(tc_jread *j, tc_str like) {
    next_byte(j);
    if (j->status || !like.n || (*like.s != '{' && *like.s != '[') || !tc_str_eq(like, j->p, (size_t)(j->end - j->p) < like.n ? 0 : like.n))
        return false;
    j->p += like.n;
    j->first = false;
    return true;
}

/* ---- large parts that are read later ---- */
void tc_jr_skip_unread(tc_jread *j) {
    int depth = j->depth, c = next_byte(j);
    if (c != '{' && c != '[') {
        tc_jr_skip(j);
        return;
    }
    j->p++;
    depth++;
    if (!j->status) j->p = tc_json_skip_blocks(j->p, j->end, j->depth, TC_JR_DEPTH, &depth);
    while (!j->status && j->p < j->end) {
        c = *j->p;
        if (c == '"') {
            tc_jr_string(j);
            continue;
        }
        j->p++;
        if ((c == '{' || c == '[') && ++depth > TC_JR_DEPTH) tc_jr_fail(j, TC_CONTENT, "nested deeper than %d", TC_JR_DEPTH);
        if ((c == '}' || c == ']') && --depth == j->depth) {
            j->first = false;
            return;
        }
    }
    if (!j->status) expected(j, "the end of an object or list");
}

tc_status tc_jr_finish(tc_jread *j) {
    if (!j->status && next_byte(j) >= 0) expected(j, "nothing more");
    tc_buf_free(&j->scratch);
    tc_status s = j->status;
    j->status = NULL;
    return s;
}
