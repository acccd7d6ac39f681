/* 300-bit reference values of functions behind a table of functions, so that programs do not link MPFR: tc-bench --accuracy opens tc-mpfr.so. */
#ifndef TC_REFERENCE_H
#define TC_REFERENCE_H

#include <stdbool.h>

enum { TC_REFERENCE_VERSION = 1 };

typedef struct {
    int digits, emin; /* significand bits; exponent of the smallest normal number, with significand in [0.5, 1) */
    double largest;
} tc_reference_type;

typedef struct {
    int version;
    /* Index of the function with this name in kernel/scalar.def; -1: none. */
    int (*find)(const char *name);
    /* Error of `got` against f(a, b) in ulp of the larger of |f(a, b)| and scale; f may take one argument. Infinite when only one side is infinite or
     * NaN; a result beyond the largest number may be infinite. */
    double (*ulps)(int f, double a, double b, double scale, double got, const tc_reference_type *type);
} tc_reference;

#endif
