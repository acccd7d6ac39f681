/* What identifies a group and what its caller passes: the same for the emitter, which writes it, and the runtime, which binds it.
 *
 * A loop has a canonical text: axes, buffers, instructions and stores with symbols renamed in the order in which they appear. Equal
 * texts compute the same, so a group is emitted once, cached and found in a module by the BLAKE2b hash of its text. Names of values
 * and source lines are not part of it. */
#ifndef TC_CODEGEN_GROUP_H
#define TC_CODEGEN_GROUP_H

#include "codegen/tc_abi.h"
#include "loop/loop.h"

typedef struct {
    uint8_t key[TC_ABI_KEY_BYTES];
    const tc_sym *numbers; /* tc_abi_call.numbers[i] is the value of numbers[i]: what is not constant in HOST, INDEX, LOAD and stores */
    int nnumbers;
    const uint8_t *dense; /* a flag a buffer: its strides are known to be contiguous, the emitted code relies on it */
    const char *text;     /* canonical text */
    size_t text_len;
} tc_group_desc;

/* Everything in `out` lives in arena a. */
tc_status tc_group_describe(const tc_loop *l, tc_arena *a, tc_group_desc *out);

/* Is loop l what `general`, described by d, becomes when its symbols take sizes of l? Then the group of d computes l too, and *out (in arena a)
 * is what the caller passes: numbers are expressions of l. */
bool tc_group_serves(const tc_loop *general, const tc_group_desc *d, const tc_loop *l, tc_arena *a, tc_group_desc *out);

#endif
