/* Small things with text and time that several layers need. */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include "base/mem.h"

/* The candidate nearest to word by edit distance, if it is near enough to be a slip; else NULL. */
const char *tc_suggest(const char *word, const char *const *candidates, size_t n);
/* Whether word is one of `words`, a list with a space before and after each of them. */
bool tc_word_in(const char *words, const char *word);
/* If the bytes from *p up to end begin with text: advances *p past it, true. */
bool tc_eat(const char **p, const char *end, const char *text);
/* A whole string as a number; false when it is not one, or out of range. Decimal; double also takes 1e-3, inf, nan; no locale. */
bool tc_parse_i64(const char *s, int64_t *out);
bool tc_parse_double(const char *s, double *out);
/* What came out of a file may not steer a terminal: the n bytes of text with its control characters, but those of kept, shown as \xNN. */
void tc_put_shown(tc_buf *b, const char *text, size_t n, const char *kept);
double tc_now(void); /* seconds, monotonic */

#endif
