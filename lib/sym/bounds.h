/* How messages write the bounds of a number. */
#ifndef TC_SYM_BOUNDS_H
#define TC_SYM_BOUNDS_H

#include "sym/sym.h"

/* "at least 2", "at most 9", "4", "2..9" or "any number": an end at TC_SYM_NO_LO or TC_SYM_NO_HI is open. */
typedef struct {
    char text[48];
} tc_sym_bounds;
tc_sym_bounds tc_sym_bounds_of(int64_t lo, int64_t hi);

#endif
