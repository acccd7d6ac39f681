/* Weight-only quantisation to 8 or 4 bits (tc-compile --quantize). */
#ifndef TC_PASS_QUANTIZE_H
#define TC_PASS_QUANTIZE_H

#include "op/op.h"

typedef struct {
    int bits;      /* 8: one scale per output channel; 4: scale and zero point per group of weights of an output channel */
    int64_t group; /* group size 32, 64, 128 or 256; 0: the largest of 128, 64, 32 that divides K */
    /* Called for each weight of two or more dimensions with the reason why it was not quantised (NULL: it was). May be NULL. */
    void (*note)(void *ctx, const char *weight, const char *why);
    void *ctx;
} tc_quantize_options;

typedef struct {
    int products;          /* number of replaced products */
    int done, left;        /* weights of two or more dimensions: quantised, and not */
    int64_t before, after; /* bytes of all weights */
} tc_quantised;

/* Replaces products (linear, mm, addmm, matmul) of a float32, bfloat16 or float16 input with a constant weight by _weight_int8pack_mm or
 * _weight_int4pack_mm_for_cpu. Weights are rounded to the nearest level: 127 on each side of 0 (symmetric), or 16 levels from the minimum to the maximum
 * of a group. A weight is quantised once for all its products; the original is kept when something else reads it. The program must be functional;
 * weights that it mutates are not quantised. */
tc_status tc_quantize(tc_program *p, const tc_eval *eval, const tc_quantize_options *o, tc_quantised *out);

#endif
