/* The block primitives of one type, included by block_*.isa.c with T the C type and S its suffix. For each class of types in scalar.def, PICK_F, PICK_A,
 * ..., PICK_Z are defined to keep (expand to their argument) or drop (expand to nothing) the operations of that class. REAL_T: the type of the parts of
 * a complex T (default T); CPLX_T: the complex type with parts T. Defines a loop B(name) for every operation kept. */
#ifndef FN
#define FN__(name, s) tc_x_##name##_##s
#define FN_(name, s) FN__(name, s)
#define FN(name) FN_(name, S)
#define B__(name, s) b_##name##_##s
#define B_(name, s) B__(name, s)
#define B(name) B_(name, S)

#define D1(name, R)                                                                        \
    static void B(name)(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        R *out = o;                                                                        \
        const T *x = a;                                                                    \
        (void)b, (void)c;                                                                  \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = FN(name)(x[i]);            \
    }
#define D2(name, R)                                                                        \
    static void B(name)(void *o, const void *a, const void *b, const void *c, int64_t n) { \
        R *out = o;                                                                        \
        const T *x = a, *y = b;                                                            \
        (void)c;                                                                           \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = FN(name)(x[i], y[i]);      \
    }
#define D3(name, P)                                                                         \
    static void B(name)(void *o, const void *a, const void *b, const void *c, int64_t n) {  \
        T *out = o;                                                                         \
        const P *x = a;                                                                     \
        const T *y = b, *z = c;                                                             \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = FN(name)(x[i], y[i], z[i]); \
    }
#define D1_SAME(name) D1(name, T)
#define D1_BOOL(name) D1(name, uint8_t)
#define D2_SAME(name) D2(name, T)
#define D2_BOOL(name) D2(name, uint8_t)
#define D1_REAL(name) D1(name, REAL_T)
#define D2_CPLX(name) D2(name, CPLX_T)
#define D3_SAME(name) D3_##name
#define D3_fma D3(fma, T)
#define D3_where D3(where, uint8_t)
#endif

#ifndef REAL_T
#define REAL_T T
#endif
#define X(NAME, name, arity, types, result) PICK_##types(D##arity##_##result(name))
#include "kernel/scalar.def"
#undef X
