/* Emits C from loop IR: one readable function per group, and the translation unit that holds them. tc-compile (through runtime/compile.h) and --to c
 * (runtime/to_c.c) call this.
 *
 *     tc_unit *u = tc_unit_create(options);
 *     for each loop: tc_unit_add(u, loop, &desc, &added);      equal groups are written once
 *     tc_unit_finish(u, &text);                                preamble, scalar functions that are used, groups, table
 *
 * Emitted code gives the same bits as the block executor: it pastes the same scalar functions (lib/kernel) and adds in the order of
 * tc-numerics(7), "Sums". It must be compiled with -ffp-contract=off (cc.c has all flags) and needs libm only. */
#ifndef TC_CODEGEN_EMIT_H
#define TC_CODEGEN_EMIT_H

#include "codegen/group.h"

typedef struct tc_unit tc_unit;

typedef struct {
    const char *isa; /* row of isa.tab that it will be compiled for; recorded in the module */
    const char *made_by;
    bool sanitize; /* signed integer overflow is reported as a fault with dim -1 */
} tc_unit_options;

tc_unit *tc_unit_create(const tc_unit_options *o);
void tc_unit_destroy(tc_unit *u); /* NULL is allowed */
/* Emits the loop's group unless an equal one was emitted already. TC_UNSUPPORTED: the emitter lacks a form, which the message names; the unit is
 * unchanged. */
tc_status tc_unit_add(tc_unit *u, const tc_loop *l, const tc_group_desc *d);
size_t tc_unit_groups(const tc_unit *u);
const char *tc_unit_group_name(const tc_unit *u, const tc_group_desc *d); /* "g3_softmax"; NULL: no such group */
/* Appends the complete unit with its tc_abi_module. */
void tc_unit_finish(tc_unit *u, tc_buf *out);
/* Appends only the helper definitions (those that the groups and the text `also` use) and the group functions, without the module table: for a unit that
 * calls the groups itself (--to c). */
void tc_unit_body(tc_unit *u, const char *also, tc_buf *out);

/* The text of one group: static functions; the entry point is name(const tc_abi_call *). The caller frees text. */
typedef struct {
    tc_buf text;
    bool has_scratch; /* NAME_scratch(call) exists and gives the bytes of scratch */
} tc_emitted;
tc_status tc_emit_group(const tc_loop *l, const tc_group_desc *d, const char *name, bool sanitize, tc_emitted *out);

/* Bytes of scratch per worker for these extents of the loop's axes: what NAME_scratch would return, without running it. */
tc_status tc_emit_scratch(const tc_loop *l, const tc_group_desc *d, const int64_t *extents, int64_t *out_bytes);

/* Appends s as text inside a C comment; control bytes, non-ASCII bytes and comment delimiters are escaped. */
void tc_emit_comment(tc_buf *b, const char *s);
/* Appends every definition of the embedded prelude (scalar functions, leaves, trees, kernels) that `code` uses, directly or indirectly. */
void tc_paste_used(tc_buf *out, const char *code);

#endif
