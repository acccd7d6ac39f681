/* Block primitives on complex numbers. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define PICK_F(...)
#define PICK_A(...)
#define PICK_I(...)
#define PICK_N(...)
#define PICK_C(...) __VA_ARGS__
#define PICK_E(...) __VA_ARGS__
#define PICK_Z(...) __VA_ARGS__

#define T tc_c64
#define S c64
#define REAL_T float
#include "kernel/block_type.h"
#include "kernel/block_table.h"
#undef REAL_T

#define T tc_c128
#define S c128
#define REAL_T double
#include "kernel/block_type.h"
#include "kernel/block_table.h"
