/* Suggestions, numbers from text, control bytes, the clock. See text.h. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <time.h>

/* Edit distance from a to b: 2 for a changed, added or missing letter and for two letters swapped, 1 for a change of case. */
static size_t distance(const char *a, const char *b) {
    enum { MAX = 64 };
    size_t n = strlen(a), m = strlen(b), rows[3][MAX + 1];
    if (n > MAX || m > MAX) return SIZE_MAX;
    for (size_t j = 0; j <= m; j++) rows[0][j] = 2 * j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *swap = rows[(i + 1) % 3]; /* of i, i - 1 and i - 2 letters of a */
        row[0] = 2 * i;
        for (size_t j = 1; j <= m; j++) {
            char x = a[i - 1], y = b[j - 1];
            size_t best = last[j - 1] + (x == y ? 0 : tolower((unsigned char)x) == tolower((unsigned char)y) ? 1 : 2);
            if (last[j] + 2 < best) best = last[j] + 2;
            if (row[j - 1] + 2 < best) best = row[j - 1] + 2;
            if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y && swap[j - 2] + 2 < best) best = swap[j - 2] + 2;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

bool tc_word_in(const char *words, const char *word) {
    size_t n = strlen(word);
    if (n == 0 || strchr(word, ' ')) return false;
    for (const char *p = words; (p = strstr(p, word)); p++)
        if (p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

bool tc_eat(const char **p, const char *end, const char *text) {
    const size_t n = strlen(text);
    if ((size_t)(end - *p) < n || memcmp(*p, text, n) != 0) return false;
    *p += n;
    return true;
}

const char *tc_suggest(const char *word, const char *const *candidates, size_t n) {
    const char *best = NULL;
    size_t best_d = SIZE_MAX, length = strlen(word);
    for (size_t i = 0; i < n; i++) {
        size_t d = candidates[i] ? distance(word, candidates[i]) : SIZE_MAX;
        if (d < best_d && 3 * d <= length + strlen(candidates[i]) + 3) best_d = d, best = candidates[i]; /* CPython's threshold for similar names */
    }
    return best;
}

bool tc_parse_i64(const char *s, int64_t *out) {
    if (!*s || strchr(" \t\n\v\f\r", *s)) return false;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (*end || errno) return false;
    *out = v;
    return true;
}

bool tc_parse_seed(const char *s, uint64_t *out) {
    int64_t small;
    if (tc_parse_i64(s, &small)) {
        *out = (uint64_t)small;
        return true;
    }
    if (!*s || s[strspn(s, "0123456789")]) return false;
    errno = 0;
    *out = strtoull(s, NULL, 10);
    return !errno;
}

bool tc_parse_double(const char *s, double *out) {
    if (!*s || strspn(s, "+-0123456789.eEinfatyINFATY") != strlen(s)) return false;
    char *end;
    double v = strtod(s, &end);
    if (*end) return false;
    *out = v;
    return true;
}

/* Length of the control character at s (of n bytes): C0, DEL, and C1 encoded as UTF-8 (CSI, U+009B, is c2 9b). */
static size_t control_len(const unsigned char *s, size_t n) {
    if (*s < 0x20 || *s == 0x7f) return 1;
    return n > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

void tc_put_shown(tc_buf *b, const char *text, size_t n, const char *kept) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0, run = 0; i <= n; i++) {
        while (i < n && s[i] >= 0x20 && s[i] < 0x7f) i++;
        size_t k = i < n && !(s[i] && strchr(kept, s[i])) ? control_len(s + i, n - i) : 0;
        if (!k && i < n) continue;
        tc_buf_append(b, s + run, i - run);
        for (size_t c = 0; c < k; c++) tc_buf_printf(b, "\\x%02x", s[i + c]);
        if (k) i += k - 1;
        run = i + 1;
    }
}

double tc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
