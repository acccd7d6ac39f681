/* The scalar operations of scalar.def as an enum, TC_X_ADD, TC_X_EXP, ...: opcodes of loop IR, and indices of tables. */
#ifndef TC_KERNEL_SCALAR_OP_H
#define TC_KERNEL_SCALAR_OP_H

typedef enum {
#define X(NAME, ...) TC_X_##NAME,
#include "kernel/scalar.def"
#undef X
    TC_X_COUNT
} tc_scalar_op;

#endif
