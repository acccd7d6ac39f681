/* Identity and calling convention of a compiled group (a fused loop): shared by the emitter, which writes it, and the runtime, which finds and calls it.
 *
 * The canonical text of a loop lists axes, buffers, instructions and stores, with symbols renamed in order of appearance and without value names and
 * source lines. Loops with equal text compute the same, so a group is emitted once, and cached and looked up by the BLAKE2b hash of the text. */
#ifndef TC_CODEGEN_GROUP_H
#define TC_CODEGEN_GROUP_H

#include "codegen/tc_abi.h"
#include "loop/loop.h"

typedef struct {
    uint8_t key[TC_ABI_KEY_BYTES];
    const tc_sym *numbers; /* the caller passes their values as tc_abi_call.numbers: the non-constant expressions of HOST, INDEX, LOAD and stores */
    int nnumbers;
    const uint8_t *dense; /* one flag per buffer: which strides emitted code relies on, as in tc_abi_group */
    const char *text;     /* canonical text */
    size_t text_len;
} tc_group_desc;

/* Fills out, whose memory belongs to arena a. Errors: TC_UNSUPPORTED. */
tc_status tc_group_describe(const tc_loop *l, tc_arena *a, tc_group_desc *out);

/* True when loop l is `general` (described by d) with its symbols replaced by sizes of l: then d's group computes l too, and *out (in arena a) describes
 * the call, its numbers being expressions of l. */
bool tc_group_serves(const tc_loop *general, const tc_group_desc *d, const tc_loop *l, tc_arena *a, tc_group_desc *out);

#endif
