/* Values of functions to 300 bits behind one table, so that no program starts with MPFR: tc-mpfr.so is opened by tc-bench --accuracy. */
#ifndef TC_REFERENCE_H
#define TC_REFERENCE_H

#include <stdbool.h>

enum { TC_REFERENCE_VERSION = 1 };

typedef struct {
    int digits, emin; /* bits of a number; the exponent of the least one that has them all, of 0.1xxx */
    double largest;
} tc_reference_type;

typedef struct {
    int version;
    /* The number of the function with this name in kernel/scalar.def; -1: there is none. */
    int (*find)(const char *name);
    /* How far `got` is from f(a, b), in units in the last place of the larger one of |f(a, b)| and scale; f may have one argument. What is
     * infinite or no number on one side alone is infinitely far; a result beyond the largest number may be infinite. */
    double (*ulps)(int f, double a, double b, double scale, double got, const tc_reference_type *type);
} tc_reference;

#endif
