/* Block primitives on float32 that do two operations in one pass. On a block in L1 a primitive takes little longer than its stores, so that two operations
 * in one pass take about half the time. The pairs are those of normalisations, clamps, scalings, optimisers and residual sums. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define PAIR(NAME1, first, NAME2, second, form, one_b, one_c)                                                \
    static void first##_##second##_##form(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        float *out = o;                                                                                      \
        const float *x = a, *y = b, *z = c, y0 = *y, z0 = *z;                                                \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] =                                              \
            tc_x_##second##_f32(tc_x_##first##_f32(x[i], (one_b) ? y0 : y[i]), (one_c) ? z0 : z[i]);         \
    }
/* (1 - x) g */
static void rsub_mul_ob(void *o, const void *a, const void *b, const void *c, int64_t n) {
    float *out = o;
    const float *x = a, *z = c, y0 = *(const float *)b;
    TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_mul_f32(tc_x_sub_f32(y0, x[i]), z[i]);
}
#define ENTRY(NAME1, first, NAME2, second, form, one_b, one_c) {TC_X_##NAME1, TC_X_##NAME2, (one_b)*2 + (one_c)*4, first##_##second##_##form},

#define OO(M, A, a, B, b) M(A, a, B, b, oo, 1, 1)
#define BO(M, A, a, B, b) M(A, a, B, b, bo, 0, 1)
#define OB(M, A, a, B, b) M(A, a, B, b, ob, 1, 0)
#define BB(M, A, a, B, b) M(A, a, B, b, bb, 0, 0)
#define SUMS(M) OO(M, MUL, mul, ADD, add) OB(M, MUL, mul, ADD, add) BO(M, MUL, mul, ADD, add) BB(M, MUL, mul, ADD, add) BB(M, ADD, add, ADD, add)
#define PRODUCTS(M) OO(M, ADD, add, MUL, mul) OB(M, MUL, mul, MUL, mul) BO(M, MUL, mul, MUL, mul) BB(M, MUL, mul, MUL, mul)
#define NORMS(M) OO(M, SUB, sub, MUL, mul) BO(M, SUB, sub, MUL, mul) OO(M, SUB, sub, DIV, div)
#define CLAMPS(M) OO(M, ADD, add, MAX, max) OO(M, MAX, max, MIN, min) OO(M, MIN, min, DIV, div) BO(M, MUL, mul, DIV, div)
#define PAIRS(M) SUMS(M) PRODUCTS(M) NORMS(M) CLAMPS(M)

PAIRS(PAIR)
extern const tc_block_pair TC_ROW(tc_block_pairs)[];
const tc_block_pair TC_ROW(tc_block_pairs)[] = {PAIRS(ENTRY){TC_X_SUB, TC_X_MUL, 1 + 2, rsub_mul_ob}, {0, 0, 0, NULL}};

#define FMA(form, one_b, one_c)                                                                                               \
    static void fma_##form(void *o, const void *a, const void *b, const void *c, int64_t n) {                                 \
        float *out = o;                                                                                                       \
        const float *x = a, *y = b, *z = c, y0 = *y, z0 = *z;                                                                 \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_fma_f32(x[i], (one_b) ? y0 : y[i], (one_c) ? z0 : z[i]); \
    }
FMA(ob, 1, 0)
FMA(bo, 0, 1)
FMA(oo, 1, 1)
extern const tc_block_fn TC_ROW(tc_block_fma)[];
const tc_block_fn TC_ROW(tc_block_fma)[] = {NULL, fma_ob, fma_bo, fma_oo};

/* Choices by a comparison with a number. x > y is -x < -y, so that `negate` makes > and >= of < and <=; = needs none. NUMBER: is x no NaN? */
#define EQ(x, y) ((x) == (y))
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define NUMBER(x, y) ((x) == (x))
#define SELECT(OP, form, P, Q)                                                                                                           \
    static void OP##_##form(void *o, const void *a, const void *b, const void *c, const void *d, bool negate, int64_t n) {               \
        float *out = o;                                                                                                                  \
        const float *x = a, *p = c, *q = d, p0 = *p, q0 = *q;                                                                            \
        const uint32_t sign = negate ? 0x80000000u : 0;                                                                                  \
        const float y = tc_from_bits_f32(tc_bits_f32(*(const float *)b) ^ sign);                                                         \
        (void)p0, (void)q0, (void)y;                                                                                                     \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = tc_x_where_f32(OP(tc_from_bits_f32(tc_bits_f32(x[i]) ^ sign), y), P, Q); \
    }
#define FORMS(M, OP) M(OP, ob, p0, q[i]) M(OP, bo, p[i], q0) M(OP, bb, p[i], q[i])
FORMS(SELECT, EQ)
FORMS(SELECT, LT)
FORMS(SELECT, LE)
SELECT(NUMBER, ob, p0, q[i])
SELECT(NUMBER, bo, p[i], q0)

#define ROW(OP) \
    { OP##_ob, OP##_bo, OP##_bb }
extern const tc_block_select TC_ROW(tc_block_select)[TC_SELECT_COUNT][TC_CHOICE_COUNT];
const tc_block_select TC_ROW(tc_block_select)[TC_SELECT_COUNT][TC_CHOICE_COUNT] = {
    [TC_SELECT_EQ] = ROW(EQ),
    [TC_SELECT_LT] = ROW(LT),
    [TC_SELECT_LE] = ROW(LE),
    [TC_SELECT_NUMBER] = {[TC_CHOICE_OB] = NUMBER_ob, [TC_CHOICE_BO] = NUMBER_bo}};
