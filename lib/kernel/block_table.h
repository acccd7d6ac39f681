/* The table of the block primitives of one type, tc_block_SUFFIX of kernel/isa.h, included by block_*.isa.c after block_type.h: every operation of
 * scalar.def that the type has, NULL for the others. Undefines T and S, so that the next type can follow. */
#ifndef TABLE
#define TABLE__(s) tc_block_##s
#define TABLE_(s) TABLE__(s)
#define TABLE TC_ROW(TABLE_(S))
#endif

extern const tc_block_fn TABLE[TC_X_COUNT];
const tc_block_fn TABLE[TC_X_COUNT] = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S
