/* Loop IR to C: one function a group, readable, and the unit that holds them.
 *
 *     tc_unit *u = tc_unit_create(options);
 *     for each loop: tc_unit_add(u, loop, &desc, &added);      equal groups are written once
 *     tc_unit_finish(u, &text);                                preamble, scalar functions that are used, groups, table
 *
 * The emitted code has the bits of the block executor: the same scalar functions (their text is pasted from lib/kernel), sums in the
 * leaves and the tree of NUMERICS 4. It needs the flags in tc_unit_flags, above all -ffp-contract=off, and libm only. */
#ifndef TC_CODEGEN_EMIT_H
#define TC_CODEGEN_EMIT_H

#include "codegen/group.h"

typedef struct tc_unit tc_unit;

typedef struct {
    const char *isa; /* row of isa.tab that it will be compiled for: stands in the module */
    const char *made_by;
    bool sanitize; /* a signed integer that overflows is a fault: dim -1 */
} tc_unit_options;

tc_unit *tc_unit_create(const tc_unit_options *o);
void tc_unit_destroy(tc_unit *u); /* NULL is allowed */
/* Emits the group of a loop unless an equal one is there. TC_UNSUPPORTED: a form that the emitter lacks, named; the unit is unchanged. */
tc_status tc_unit_add(tc_unit *u, const tc_loop *l, const tc_group_desc *d);
size_t tc_unit_groups(const tc_unit *u);
const char *tc_unit_group_name(const tc_unit *u, const tc_group_desc *d); /* NULL when absent: "g3_softmax" */
/* The whole unit with its tc_abi_module. */
void tc_unit_finish(tc_unit *u, tc_buf *out);
/* The parts, for a unit that calls the groups itself (--to c): helpers, those that `also` names too, and group functions, without the table. */
void tc_unit_body(tc_unit *u, const char *also, tc_buf *out);

/* Text of one group: its functions, named `name` and static; calls go to name(const tc_abi_call *). */
typedef struct {
    tc_buf text;
    bool has_scratch; /* there is a function NAME_scratch */
} tc_emitted;
tc_status tc_emit_group(const tc_loop *l, const tc_group_desc *d, const char *name, bool sanitize, tc_emitted *out);

/* Bytes of scratch of one worker that the group asks for, for these extents of its axes: what NAME_scratch computes, known ahead. */
tc_status tc_emit_scratch(const tc_loop *l, const tc_group_desc *d, const int64_t *extents, int64_t *out_bytes);

/* Appends s as the inside of a C comment: control bytes, non-ASCII, and what would end the comment, are escaped. */
void tc_emit_comment(tc_buf *b, const char *s);
/* Appends every definition of the pasted text (scalar functions, leaves, trees) that `code` names, directly or through another. */
void tc_paste_used(tc_buf *out, const char *code);

#endif
