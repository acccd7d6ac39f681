/* Suggests a torch._check line where a capture needs a data-dependent number or truth value. */
#ifndef TC_CAPTURE_SUGGEST_H
#define TC_CAPTURE_SUGGEST_H

#include "capture/object.h"

/* Writes an expression as source text; false: it contains a form that is not supported (lambda, comprehension, f-string). */
bool tc_unparse(C *c, tc_buf *b, const ast *n);

/* Suggested lines for an error at the current position, in the arena; NULL: none. cond: the condition; NULL: the truth of a tensor. */
const char *tc_suggest_branch(C *c, tc_sym cond, int outcome); /* outcome: 0 or 1 where it is known, else -1 */
/* ... where the number s must be fixed; part: what of the expression it is, ".shape[0]" or "". */
const char *tc_suggest_number(C *c, tc_sym s, const char *part, const int64_t *value); /* value: NULL where it is not known */

#endif
