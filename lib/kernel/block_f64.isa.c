/* Block primitives on float64. sin, cos and tan of large arguments take a branch (scalar_trig.h): the block is done without it and
 * what is large is repaired from a copy, since the result may stand in the operand's place. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

static double sin_large(double x) { return tc_x_sin_f64(x); }
static double cos_large(double x) { return tc_x_cos_f64(x); }
static double tan_large(double x) { return tc_x_tan_f64(x); }

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
#define tc_x_sin_f64 tc_x_sin_small
#define tc_x_cos_f64 tc_x_cos_small
#define tc_x_tan_f64 tc_x_tan_small
#include "kernel/block_type.h"

static void trig(double *out, const double *x, int64_t n, tc_block_fn small, double (*large)(double)) {
    for (int64_t i = 0; i < n; i += 256) {
        double copy[256];
        int m = n - i < 256 ? (int)(n - i) : 256, any = 0;
        for (int j = 0; j < m; j++) copy[j] = x[i + j];
        for (int j = 0; j < m; j++) any |= tc_x_is_large(copy[j]);
        small(out + i, copy, NULL, NULL, m);
        for (int j = 0; any && j < m; j++)
            if (tc_x_is_large(copy[j])) out[i + j] = large(copy[j]);
    }
}
static void sin_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    trig(o, a, n, b_sin_f64, sin_large);
}
static void cos_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    trig(o, a, n, b_cos_f64, cos_large);
}
static void tan_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    trig(o, a, n, b_tan_f64, tan_large);
}

extern const tc_block_fn TC_ROW(tc_block_f64)[TC_X_COUNT];
const tc_block_fn TC_ROW(tc_block_f64)[TC_X_COUNT] = {
#define b_sin_f64 sin_any
#define b_cos_f64 cos_any
#define b_tan_f64 tan_any
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
