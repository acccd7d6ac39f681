/* Samples of the operator table as programs: "softmax(f32[3,5], 1); pow(f32[5]:0.5..2, 3)". Tests, bench and fuzzing run them.
 *
 * A call is an operator's name and literals: TYPE[SIZES] is a tensor (TYPE[SIZES]:LO..HI says which values are valid, HI itself being none of them for
 * integers), numbers, True, False, None, 'text', torch.float32, lists, NAME=VALUE. Sizes may be symbols: f32[B,64]. Each tensor becomes a user input of
 * the program, by the name that the schema has for it, each result an output. */
#ifndef TC_OP_SAMPLE_H
#define TC_OP_SAMPLE_H

#include "op/op.h"

enum { TC_SAMPLE_TENSORS = 32 };

typedef struct {
    tc_program *program; /* one call; owned by the caller */
    int ntensors;
    double lo[TC_SAMPLE_TENSORS], hi[TC_SAMPLE_TENSORS]; /* range of each user input; default -2..2 for floats, 0..4 for integers */
} tc_sample;

/* The i-th call of a text with several, between semicolons; NULL when there are fewer. *out_len: without spaces around. */
const char *tc_sample_call(const char *text, int i, size_t *out_len);
/* op: the row that the sample belongs to; NULL: the first overload of the name that accepts the arguments. TC_CONTENT, TC_UNSUPPORTED as in
 * tc_graph_call, or naming the place of a malformed literal. */
tc_status tc_sample_parse(const tc_op *op, const char *call, size_t len, tc_sample *out);
/* A call of op with symbols in place of all sizes above 1, equal sizes sharing a symbol, and of equal numbers where the schema has SymInt:
 * "native_layer_norm(f32[A,B], [B], f32[B], f32[B], 1e-5)". */
void tc_sample_general(const tc_op *op, const char *call, size_t len, tc_buf *out);
/* Fills a tensor of an input's type with values in its range: the same numbers for the same seed. */
void tc_sample_fill(tc_tensor *t, double lo, double hi, uint64_t seed);

#endif
