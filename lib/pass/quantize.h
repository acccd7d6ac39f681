/* Weights of products in 8 or 4 bits (tc-compile --quantize). */
#ifndef TC_PASS_QUANTIZE_H
#define TC_PASS_QUANTIZE_H

#include "op/op.h"

typedef struct {
    int bits;      /* 8: one scale a column of the result; 4: a scale and a zero for each `group` weights of a column */
    int64_t group; /* 32, 64, 128 or 256; 0: the largest of 128, 64, 32 that divides them */
    /* Called for each weight of two and more dimensions; why NULL: it was quantised. NULL: nothing is said. */
    void (*note)(void *ctx, const char *weight, const char *why);
    void *ctx;
} tc_quantize_options;

typedef struct {
    int products;          /* that were replaced */
    int done, left;        /* weights of two and more dimensions */
    int64_t before, after; /* bytes of all weights */
} tc_quantised;

/* Products (linear, mm, addmm, matmul) of a float32, bfloat16 or float16 input with a constant weight become _weight_int8pack_mm or
 * _weight_int4pack_mm_for_cpu with the weight rounded to the nearest of its levels: 127 on each side of 0, or 16 from the least to the largest
 * of a group. A weight is made once for all products. One that something else reads too is kept beside. The program must be functional; weights
 * that it writes to stay. */
tc_status tc_quantize(tc_program *p, const tc_eval *eval, const tc_quantize_options *o, tc_quantised *out);

#endif
