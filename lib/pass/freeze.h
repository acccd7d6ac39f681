/* Weights as constants of inference (tc-compile --freeze). */
#ifndef TC_PASS_FREEZE_H
#define TC_PASS_FREEZE_H

#include "op/op.h"

typedef struct {
    int norms, binaries; /* folded into the weights of the product before them */
    int left;            /* batch norms by running statistics that stay: what is before them is no product of their own */
} tc_frozen;

/* By value id: weights that stay as they are, and what is computed from them alone. */
void tc_constant_values(const tc_program *p, bool *out);

/* Batch norms by running statistics, and additions, subtractions, products and quotients with one constant a channel, go into the weight and
 * bias of the convolution or linear layer that alone they read; what depends on weights only is computed; weights that nothing reads
 * any more leave the signature. Results agree to rounding: the new weights are computed in float64 and rounded once. Weights that the program
 * writes to are no constants. The program must be functional. */
tc_status tc_freeze(tc_program *p, const tc_eval *eval, tc_frozen *out);

#endif
