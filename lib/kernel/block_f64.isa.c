/* Block primitives on float64: every float operation of scalar.def as a loop over a contiguous block. sin, cos and tan are vectorised without their
 * branch for large arguments, see block_rare.h: the macros below replace tc_x_NAME by its fast path. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

static double whole_sin(double x) { return tc_x_sin_f64(x); }
static double whole_cos(double x) { return tc_x_cos_f64(x); }
static double whole_tan(double x) { return tc_x_tan_f64(x); }

#define T double
#define S f64
#define PICK_F(...) __VA_ARGS__
#define PICK_A(...) __VA_ARGS__
#define PICK_I(...)
#define PICK_N(...)
#define PICK_C(...)
#define PICK_E(...) __VA_ARGS__
#define PICK_Z(...) __VA_ARGS__
#define CPLX_T tc_c128
#define tc_x_sin_f64 tc_x_sin_small_f64
#define tc_x_cos_f64 tc_x_cos_small_f64
#define tc_x_tan_f64 tc_x_tan_small_f64
#ifdef __FMA__
/* gcc takes these for too long to be inlined into their loops, which are then not vectorised. The rarer ones stay short code. */
#define WHOLE(name) static __attribute__((flatten)) void b_##name##_f64(void *, const void *, const void *, const void *, int64_t);
WHOLE(exp)
WHOLE(exp2)
WHOLE(log2) WHOLE(log10) WHOLE(log1p) WHOLE(pow) WHOLE(sin) WHOLE(cos) WHOLE(sinh) WHOLE(cosh) WHOLE(sigmoid) WHOLE(silu) WHOLE(gelu) WHOLE(erf)
#endif
#include "kernel/block_type.h"
#include "kernel/block_rare.h"

#define b_sin_f64 sin_any
#define b_cos_f64 cos_any
#define b_tan_f64 tan_any
#include "kernel/block_table.h"
