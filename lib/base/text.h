/* Helpers for text, numbers and time that several layers need. */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include "base/mem.h"

/* The candidate with the least edit distance to word if it may be a misspelling; else NULL. */
const char *tc_suggest(const char *word, const char *const *candidates, size_t n);
/* Is word in `words`, a list with a space before and after each word? */
bool tc_word_in(const char *words, const char *word);
/* If the bytes from *p up to end begin with text: advances *p past it, true. */
bool tc_eat(const char **p, const char *end, const char *text);
/* Converts a whole string to a number; false if it is not one, or out of range. Decimal; double also takes 1e-3, inf, nan; independent of the
 * locale. */
bool tc_parse_i64(const char *s, int64_t *out);
bool tc_parse_double(const char *s, double *out);
/* A seed, as torch.manual_seed takes it: -2^63 to 2^64-1; negative ones stand for those 2^64 above. */
bool tc_parse_seed(const char *s, uint64_t *out);
/* Appends n bytes of text from a file, with control characters other than those in `kept` shown as \xNN, so that they cannot affect a terminal. */
void tc_put_shown(tc_buf *b, const char *text, size_t n, const char *kept);
double tc_now(void); /* seconds, monotonic */

#endif
