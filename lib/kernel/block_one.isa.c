/* Block primitives of arithmetic with one scalar operand, which saves filling a block with it. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define OPS(M, S, T) M(add, S, T) M(sub, S, T) M(mul, S, T) M(div, S, T) M(min, S, T) M(max, S, T)
#define FORMS(name, S, T)                                                                       \
    static void name##_b_##S(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        T *out = o, y = *(const T *)b;                                                          \
        const T *x = a;                                                                         \
        (void)c;                                                                                \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_##name##_##S(x[i], y);     \
    }                                                                                           \
    static void name##_a_##S(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        T *out = o, x = *(const T *)a;                                                          \
        const T *y = b;                                                                         \
        (void)c;                                                                                \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_##name##_##S(x, y[i]);     \
    }
OPS(FORMS, f32, float)
OPS(FORMS, f64, double)

#define TABLE(side, S)                                                                                                              \
    {                                                                                                                               \
        [TC_X_ADD] = add_##side##_##S, [TC_X_SUB] = sub_##side##_##S, [TC_X_MUL] = mul_##side##_##S, [TC_X_DIV] = div_##side##_##S, \
        [TC_X_MIN] = min_##side##_##S, [TC_X_MAX] = max_##side##_##S,                                                               \
    }
extern const tc_block_fn TC_ROW(tc_block_one)[4][TC_X_COUNT];
const tc_block_fn TC_ROW(tc_block_one)[4][TC_X_COUNT] = {TABLE(b, f32), TABLE(b, f64), TABLE(a, f32), TABLE(a, f64)};
