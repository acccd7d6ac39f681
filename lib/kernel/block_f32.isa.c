/* Block primitives on float32: every float operation of scalar.def as a loop over a contiguous block. Operations with a rare branch (sin of large
 * arguments, gamma functions of negative ones) are vectorised without it, see block_rare.h: the macros below replace tc_x_NAME by its fast path. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

static float whole_sin(float x) { return tc_x_sin_f32(x); }
static float whole_cos(float x) { return tc_x_cos_f32(x); }
static float whole_tan(float x) { return tc_x_tan_f32(x); }
static float whole_fmod(float x, float y) { return tc_x_fmod_f32(x, y); }
static float whole_remainder(float x, float y) { return tc_x_remainder_f32(x, y); }
static float whole_div_floor(float x, float y) { return tc_x_div_floor_f32(x, y); }
static float whole_lgamma(float x) { return tc_x_lgamma_f32(x); }
static float whole_digamma(float x) { return tc_x_digamma_f32(x); }
static float whole_trigamma(float x) { return tc_x_trigamma_f32(x); }

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
#define tc_x_fmod_f32 tc_x_fmod_quick_f32
#define tc_x_remainder_f32 tc_x_remainder_quick_f32
#define tc_x_div_floor_f32 tc_x_div_floor_quick_f32
#define tc_x_lgamma_f32 tc_x_lgamma_quick_f32
#define tc_x_digamma_f32 tc_x_digamma_quick_f32
#define tc_x_trigamma_f32 tc_x_trigamma_quick_f32
#include "kernel/block_type.h"
#include "kernel/block_rare.h"

#define UNUSUAL(name)                                                                         \
    static void name##_any(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        (void)b, (void)c;                                                                     \
        repair(o, a, n, B(name), whole_##name, tc_x_is_unusual_f32);                          \
    }
#define UNUSUAL_TWO(name)                                                                     \
    static void name##_any(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        (void)c;                                                                              \
        repair_two(o, a, b, n, B(name), whole_##name, tc_x_fmod_unusual);                     \
    }
UNUSUAL_TWO(fmod)
UNUSUAL_TWO(remainder)
UNUSUAL_TWO(div_floor)
UNUSUAL(lgamma)
UNUSUAL(digamma)
UNUSUAL(trigamma)

#define b_sin_f32 sin_any
#define b_cos_f32 cos_any
#define b_tan_f32 tan_any
#define b_fmod_f32 fmod_any
#define b_remainder_f32 remainder_any
#define b_div_floor_f32 div_floor_any
#define b_lgamma_f32 lgamma_any
#define b_digamma_f32 digamma_any
#define b_trigamma_f32 trigamma_any
#include "kernel/block_table.h"
