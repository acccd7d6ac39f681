/* Block primitives on float32: every float operation of scalar.def as a loop over a contiguous block. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define T float
#define S f32
#define PICK_F(...) __VA_ARGS__
#define PICK_A(...) __VA_ARGS__
#define PICK_I(...)
#define PICK_N(...)
#define PICK_C(...)
#define PICK_E(...) __VA_ARGS__
#define PICK_Z(...) __VA_ARGS__
#define CPLX_T tc_c64
#include "kernel/block_type.h"

extern const tc_block_fn TC_ROW(tc_block_f32)[TC_X_COUNT];
const tc_block_fn TC_ROW(tc_block_f32)[TC_X_COUNT] = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
