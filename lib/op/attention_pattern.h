/* Attention that a model writes with products and a softmax, as one node: a canonicalisation for executors (NUMERICS 2 and 7). */
#ifndef TC_OP_ATTENTION_PATTERN_H
#define TC_OP_ATTENTION_PATTERN_H

#include "op/decompose.h"

/* In p, softmax(scale q k^T + mask) v becomes tc::attention wherever nothing else reads the scores or their softmax: float32 and float64,
 * at most two dimensions of batch and heads, at most 256 elements a head. p is decomposed, and so is what comes out. */
tc_status tc_attention_patterns(tc_program *p);
bool tc_attention_is_written(tc_program *p); /* is there any? */

#endif
