/* Pattern matching: attention written as products and a softmax becomes one node, for execution (tc-numerics(7), "Attention"). */
#ifndef TC_OP_ATTENTION_PATTERN_H
#define TC_OP_ATTENTION_PATTERN_H

#include "op/decompose.h"

/* Replaces softmax(scale q k^T + mask) v by tc::attention where nothing else reads the scores or their softmax: float32 and float64, at most two batch
 * and head dimensions, head size at most 256. p must be decomposed, and stays so. */
tc_status tc_attention_patterns(tc_program *p);
bool tc_attention_is_written(tc_program *p); /* does p contain the pattern? */

#endif
