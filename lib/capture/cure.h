/* What to paste where a capture needs a number or truth that only the data decide: a torch._check line. */
#ifndef TC_CAPTURE_CURE_H
#define TC_CAPTURE_CURE_H

#include "capture/object.h"

/* An expression as source text; false where it holds what this does not write (lambdas, comprehensions, f-strings). */
bool tc_unparse(C *c, tc_buf *b, const ast *n);

/* Lines for an error at the place that is evaluated now, in the arena; NULL: none. cond: what is asked; NULL: the truth of a tensor. */
const char *tc_cure_branch(C *c, tc_sym cond, int outcome); /* outcome: 0 or 1 where it is known, else -1 */
/* ... where the number s must be fixed; part: what of the expression it is, ".shape[0]" or "". */
const char *tc_cure_number(C *c, tc_sym s, const char *part, const int64_t *value); /* value: NULL where it is not known */

#endif
