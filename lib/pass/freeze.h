/* Treats weights as constants for inference (tc-compile --freeze): folds batch norms and per-channel arithmetic into them. */
#ifndef TC_PASS_FREEZE_H
#define TC_PASS_FREEZE_H

#include "op/op.h"

typedef struct {
    int norms, binaries; /* batch norms and binary operations that were folded */
    int left;            /* batch norms that could not be folded: no convolution or linear layer of their own before them */
} tc_frozen;

/* out, by value id: weights that the program does not mutate, and values computed from them alone. */
void tc_constant_values(const tc_program *p, bool *out);

/* Folds batch norms in inference mode, and additions, subtractions, multiplications and divisions by one constant per channel, into the weight and bias
 * of the convolution or linear layer before them; folds computations on weights alone; removes unused weights. Results agree to rounding: new weights
 * are computed in float64 and rounded once. Weights that the program mutates are not constant. The program must be functional. */
tc_status tc_freeze(tc_program *p, const tc_eval *eval, tc_frozen *out);

#endif
