/* Block primitives on float32: every float operation of scalar.def as a loop over a contiguous block. sin, cos and tan of large arguments
 * take a branch (scalar_trig.h): block_rare.h. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

static float whole_sin(float x) { return tc_x_sin_f32(x); }
static float whole_cos(float x) { return tc_x_cos_f32(x); }
static float whole_tan(float x) { return tc_x_tan_f32(x); }

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
#define tc_x_sin_f32 tc_x_sin_small_f32
#define tc_x_cos_f32 tc_x_cos_small_f32
#define tc_x_tan_f32 tc_x_tan_small_f32
#include "kernel/block_type.h"
#include "kernel/block_rare.h"

extern const tc_block_fn TC_ROW(tc_block_f32)[TC_X_COUNT];
const tc_block_fn TC_ROW(tc_block_f32)[TC_X_COUNT] = {
#define b_sin_f32 sin_any
#define b_cos_f32 cos_any
#define b_tan_f32 tan_any
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
