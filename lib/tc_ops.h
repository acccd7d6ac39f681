/* Operators of your own for tc, in C11 or C++17. This file is all that an extension needs: it is linked against nothing.
 *
 *     #include "tc_ops.h"
 *     static int scaled(tc_ops_call *c) {
 *         const tc_ops_tensor *x = tc_ops_arg(c, 0);
 *         TC_OPS_CHECK(c, tc_ops_dtype(x) == TC_OPS_F32, "x must be float32");
 *         const float *from = (const float *)tc_ops_data(x);
 *         float *to = (float *)tc_ops_data(tc_ops_result(c, 0)), by = (float)tc_ops_float(c, 1);
 *         for (int64_t i = 0, n = tc_ops_numel(x); i < n; i++) to[i] = by * from[i];
 *         return 0;
 *     }
 *     static const tc_ops_operator operators[] = {{.schema = "my::scaled(Tensor x, float by=2.0) -> Tensor", .kernel = scaled, .shape = "x"}};
 *     TC_OPS_EXTENSION("my operators", operators)
 *
 *     tc-compile --ops scaled.c -o scaled.so;  tc-run --ops scaled.so ...;  torch.ops.my.scaled(x) in a model
 *
 * Arguments are counted as in the schema. By default the tensors of a call are contiguous, row-major. tc allocates the results, of the sizes that
 * the shape rule gives. What a call's functions return lives until the kernel returns. A kernel may be called by several threads at once.
 * Versions: structures only grow at their end and carry their size, so an extension runs with every later tc. */
#ifndef TC_OPS_H
#define TC_OPS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TC_OPS_VERSION 1
#define TC_OPS_SYMBOL "tc_ops_extension_v1"

/* Types of elements. The numbers are this file's alone: an extension carries their names (tc_ops_extension.dtypes), by which tc translates. */
#define TC_OPS_DTYPES(X) \
    X(U8, "u8")          \
    X(I8, "i8")          \
    X(I16, "i16")        \
    X(I32, "i32")        \
    X(I64, "i64")        \
    X(U16, "u16")        \
    X(U32, "u32")        \
    X(U64, "u64")        \
    X(F16, "f16")        \
    X(F32, "f32")        \
    X(F64, "f64")        \
    X(C32, "c32")        \
    X(C64, "c64")        \
    X(C128, "c128")      \
    X(BOOL, "bool")      \
    X(BF16, "bf16")      \
    X(F8E4M3, "f8e4m3")  \
    X(F8E5M2, "f8e5m2")
typedef enum {
    TC_OPS_NO_DTYPE, /* one that this file does not name; a dtype argument that is None */
#define TC_OPS_CODE(id, name) TC_OPS_##id,
    TC_OPS_DTYPES(TC_OPS_CODE)
#undef TC_OPS_CODE
} tc_ops_dtypes;

/* ---- what tc gives: functions over handles, which only they look into ---- */
typedef struct tc_ops_tensor tc_ops_tensor;
typedef struct tc_ops_call tc_ops_call;
/* An argument for `op`. */
typedef enum {
    TC_OPS_IS_NONE,
    TC_OPS_IS_TENSOR,
    TC_OPS_IS_TENSORS,
    TC_OPS_IS_INT,
    TC_OPS_IS_INTS,
    TC_OPS_IS_FLOAT,
    TC_OPS_IS_BOOL,
    TC_OPS_IS_TEXT,
    TC_OPS_IS_TYPE
} tc_ops_kind;
typedef struct {
    int32_t kind, n; /* n: length of lists */
    union {
        const tc_ops_tensor *tensor;
        const tc_ops_tensor *const *tensors;
        int64_t integer; /* and bool, ScalarType */
        const int64_t *integers;
        double number;
        const char *text;
    } is;
} tc_ops_value;
typedef struct tc_ops_api {
    uint32_t bytes, version; /* sizeof(tc_ops_api) and TC_OPS_VERSION of this tc */
    /* Arguments. arg: NULL for None. list: the length, entries by item, which are NULL for None. The text of a str; NULL for None. */
    tc_ops_tensor *(*arg)(tc_ops_call *c, int i);
    int (*list)(tc_ops_call *c, int i);
    tc_ops_tensor *(*item)(tc_ops_call *c, int i, int k);
    int (*given)(tc_ops_call *c, int i); /* not None */
    int64_t (*integer)(tc_ops_call *c, int i);
    double (*number)(tc_ops_call *c, int i);
    const int64_t *(*integers)(tc_ops_call *c, int i, int *out_n); /* int[], bool[] */
    const double *(*numbers)(tc_ops_call *c, int i, int *out_n);   /* float[] */
    const char *(*text)(tc_ops_call *c, int i);
    int (*type)(tc_ops_call *c, int i); /* a ScalarType */
    tc_ops_tensor *(*result)(tc_ops_call *c, int i);
    /* Tensors. Strides are in elements. */
    int (*dtype)(const tc_ops_tensor *t);
    int (*element_bytes)(const tc_ops_tensor *t);
    int (*rank)(const tc_ops_tensor *t);
    const int64_t *(*sizes)(const tc_ops_tensor *t);
    const int64_t *(*strides)(const tc_ops_tensor *t);
    void *(*data)(const tc_ops_tensor *t);
    /* New tensors, which live until the kernel returns; NULL after a failure, which the call then returns. empty: contiguous, uninitialised. view: another
     * look at the memory of t, offset in elements from its first. */
    tc_ops_tensor *(*empty)(tc_ops_call *c, int dtype, int rank, const int64_t *sizes);
    tc_ops_tensor *(*view)(tc_ops_call *c, const tc_ops_tensor *t, int rank, const int64_t *sizes, const int64_t *strides, int64_t offset);
    /* Calls an operator of tc: op(c, "aten::amax", args, 2, &y, 1). */
    int (*op)(tc_ops_call *c, const char *name, const tc_ops_value *args, int nargs, tc_ops_tensor **out_results, int nresults);
    /* Ends the call with a message; the kernel returns what this returns. */
    int (*set_error)(tc_ops_call *c, const char *message);
    /* Splits [0, n) into ranges of at least `grain` and calls fn on each, on tc's threads; returns when all are done. */
    void (*parallel)(tc_ops_call *c, int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx);
} tc_ops_api;
/* The only thing to be read of a call is its table of functions. */
struct tc_ops_call {
    const tc_ops_api *api;
};

static inline tc_ops_tensor *tc_ops_arg(tc_ops_call *c, int i) { return c->api->arg(c, i); }
static inline tc_ops_tensor *tc_ops_result(tc_ops_call *c, int i) { return c->api->result(c, i); }
static inline int64_t tc_ops_int(tc_ops_call *c, int i) { return c->api->integer(c, i); } /* int, bool */
static inline double tc_ops_float(tc_ops_call *c, int i) { return c->api->number(c, i); } /* float, Scalar */

/* A tensor's handle begins with the table of functions, as a call does. */
static inline const tc_ops_api *tc_ops_api_of(const tc_ops_tensor *t) { return *(const tc_ops_api *const *)(const void *)t; }
static inline int tc_ops_dtype(const tc_ops_tensor *t) { return tc_ops_api_of(t)->dtype(t); }
static inline int tc_ops_rank(const tc_ops_tensor *t) { return tc_ops_api_of(t)->rank(t); }
static inline const int64_t *tc_ops_sizes(const tc_ops_tensor *t) { return tc_ops_api_of(t)->sizes(t); }
static inline const int64_t *tc_ops_strides(const tc_ops_tensor *t) { return tc_ops_api_of(t)->strides(t); }
static inline void *tc_ops_data(const tc_ops_tensor *t) { return tc_ops_api_of(t)->data(t); }
static inline int64_t tc_ops_size(const tc_ops_tensor *t, int d) { return tc_ops_sizes(t)[d < 0 ? d + tc_ops_rank(t) : d]; }
static inline int64_t tc_ops_numel(const tc_ops_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < tc_ops_rank(t); d++) n *= tc_ops_sizes(t)[d];
    return n;
}

/* Views. */
static inline tc_ops_tensor *tc_ops_narrow(tc_ops_call *c, const tc_ops_tensor *t, int dim, int64_t start, int64_t length) {
    int64_t sizes[16];
    const int rank = tc_ops_rank(t), d = dim < 0 ? dim + rank : dim;
    if (d < 0 || d >= rank || start < 0 || length < 0 || start > tc_ops_size(t, d) || length > tc_ops_size(t, d) - start) {
        c->api->set_error(c, "narrow: out of range");
        return NULL;
    }
    memcpy(sizes, tc_ops_sizes(t), sizeof *sizes * (size_t)rank);
    sizes[d] = length;
    return c->api->view(c, t, rank, sizes, tc_ops_strides(t), start * tc_ops_strides(t)[d]);
}
static inline tc_ops_tensor *tc_ops_transpose(tc_ops_call *c, const tc_ops_tensor *t, int dim0, int dim1) {
    int64_t sizes[16], strides[16];
    const int rank = tc_ops_rank(t), a = dim0 < 0 ? dim0 + rank : dim0, b = dim1 < 0 ? dim1 + rank : dim1;
    if (a < 0 || a >= rank || b < 0 || b >= rank) {
        c->api->set_error(c, "transpose: there is no such dimension");
        return NULL;
    }
    memcpy(sizes, tc_ops_sizes(t), sizeof *sizes * (size_t)rank);
    memcpy(strides, tc_ops_strides(t), sizeof *strides * (size_t)rank);
    sizes[a] = tc_ops_size(t, b), sizes[b] = tc_ops_size(t, a);
    strides[a] = tc_ops_strides(t)[b], strides[b] = tc_ops_strides(t)[a];
    return c->api->view(c, t, rank, sizes, strides, 0);
}
/* Sets every element to 0. */
static inline void tc_ops_zero(const tc_ops_tensor *t) {
    const int rank = tc_ops_rank(t);
    const int64_t *sizes = tc_ops_sizes(t), *strides = tc_ops_strides(t), bytes = tc_ops_api_of(t)->element_bytes(t);
    int64_t at[16] = {0};
    char *data = (char *)tc_ops_data(t);
    for (int64_t i = 0, n = tc_ops_numel(t); i < n; i++) {
        int64_t offset = 0;
        for (int d = 0; d < rank; d++) offset += at[d] * strides[d];
        memset(data + offset * bytes, 0, (size_t)bytes);
        for (int d = rank; d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
    }
}
/* New tensors. */
static inline tc_ops_tensor *tc_ops_new_empty(tc_ops_call *c, const tc_ops_tensor *t, int rank, const int64_t *sizes) {
    return c->api->empty(c, tc_ops_dtype(t), rank, sizes);
}
static inline tc_ops_tensor *tc_ops_empty_like(tc_ops_call *c, const tc_ops_tensor *t) {
    return tc_ops_new_empty(c, t, tc_ops_rank(t), tc_ops_sizes(t));
}
static inline tc_ops_tensor *tc_ops_amax(tc_ops_call *c, const tc_ops_tensor *t, int64_t dim, int keepdim) {
    tc_ops_value a[3];
    tc_ops_tensor *out = NULL;
    memset(a, 0, sizeof a);
    a[0].kind = TC_OPS_IS_TENSOR, a[0].is.tensor = t;
    a[1].kind = TC_OPS_IS_INTS, a[1].n = 1, a[1].is.integers = &dim;
    a[2].kind = TC_OPS_IS_BOOL, a[2].is.integer = keepdim;
    return c->api->op(c, "aten::amax", a, 3, &out, 1) ? NULL : out;
}
/* n widths, as torch.nn.functional.pad takes them: before and after the last dimension, then the one before it. */
static inline tc_ops_tensor *tc_ops_pad(tc_ops_call *c, const tc_ops_tensor *t, const int64_t *widths, int n, double value) {
    tc_ops_value a[3];
    tc_ops_tensor *out = NULL;
    memset(a, 0, sizeof a);
    a[0].kind = TC_OPS_IS_TENSOR, a[0].is.tensor = t;
    a[1].kind = TC_OPS_IS_INTS, a[1].n = n, a[1].is.integers = widths;
    a[2].kind = TC_OPS_IS_FLOAT, a[2].is.number = value;
    return c->api->op(c, "aten::constant_pad_nd", a, 3, &out, 1) ? NULL : out;
}

/* return tc_ops_fail(c, "bins is %d", n); */
static inline int tc_ops_fail(tc_ops_call *c, const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return c->api->set_error(c, text);
}
#define TC_OPS_CHECK(call, condition, ...)                         \
    do {                                                           \
        if (!(condition)) return tc_ops_fail((call), __VA_ARGS__); \
    } while (0)

/* ---- what an extension gives ---- */
typedef int (*tc_ops_kernel)(tc_ops_call *c); /* 0, or what tc_ops_fail returned */
enum { TC_OPS_STRIDED = 1 };                  /* the kernel reads strides: arguments come as they lie */
typedef struct {
    /* PyTorch's form, with a name space of your own: "my::f(Tensor x, int n=1, *, Tensor? w=None) -> (Tensor, Tensor)". A tensor that the kernel
     * writes to is marked: Tensor(a!) x. */
    const char *schema;
    tc_ops_kernel kernel;
    /* Sizes and types of the results, by those of the arguments: "x[B, K], w[N, K] -> [B, N], [B] i64". A size is a name, a number, an int
     * parameter, or an expression of these with + - * // % and brackets; ... stands for any dimensions, *p for the entries of an int[] parameter.
     * The type of a result is f32, i64, ..., or a parameter: a tensor's type, or a ScalarType. A parameter alone is a result like that tensor:
     * "x". NULL: every result is like the first tensor. Without a type: that of the first tensor. */
    const char *shape;
    /* The operator that computes the gradient: its first parameters are the gradients of the results (Tensor? if it takes None), the others have
     * names of this operator's parameters, or result (result0, result1, ...). It returns the gradients of the tensor parameters in their order, or
     * of those that its results are named after: "my::f_backward(Tensor grad, Tensor x, Tensor w) -> (Tensor x, Tensor w)". NULL: none. */
    const char *gradient;
    uint32_t flags;
    uint32_t reserved; /* 0 */
} tc_ops_operator;
typedef struct {
    uint32_t bytes, version;       /* sizeof(tc_ops_extension), TC_OPS_VERSION */
    uint32_t operator_bytes, nops; /* sizeof(tc_ops_operator), length of ops */
    const tc_ops_operator *ops;
    const char *const *dtypes; /* names of this file's codes, from 1 on */
    uint32_t ndtypes, reserved;
    const char *name; /* for people */
} tc_ops_extension;

#if defined __GNUC__
#define TC_OPS_EXPORT __attribute__((visibility("default")))
#else
#define TC_OPS_EXPORT
#endif
TC_OPS_EXPORT const tc_ops_extension *tc_ops_extension_v1(const tc_ops_api *api);

#define TC_OPS_NAME(id, name) name,
/* Defines the one function that tc looks up. operators: an array of tc_ops_operator. */
#define TC_OPS_EXTENSION(title, operators)                                                        \
    TC_OPS_EXPORT const tc_ops_extension *tc_ops_extension_v1(const tc_ops_api *api) {            \
        static const char *const names[] = {TC_OPS_DTYPES(TC_OPS_NAME)};                          \
        static const tc_ops_extension all = {(uint32_t)sizeof(tc_ops_extension),                  \
                                             TC_OPS_VERSION,                                      \
                                             (uint32_t)sizeof(tc_ops_operator),                   \
                                             (uint32_t)(sizeof(operators) / sizeof *(operators)), \
                                             operators,                                           \
                                             names,                                               \
                                             (uint32_t)(sizeof names / sizeof *names),            \
                                             0,                                                   \
                                             title};                                              \
        (void)api;                                                                                \
        return &all;                                                                              \
    }

/* ---- float16 and bfloat16, rounded to nearest, ties to even ---- */
static inline uint32_t tc_ops_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline float tc_ops_from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline float tc_ops_bf16_to_f32(uint16_t h) { return tc_ops_from_bits((uint32_t)h << 16); }
static inline uint16_t tc_ops_f32_to_bf16(float f) {
    const uint32_t u = tc_ops_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
static inline float tc_ops_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
    if (exponent == 31) return tc_ops_from_bits(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
    if (!exponent) return tc_ops_from_bits(sign | tc_ops_bits((float)mantissa * tc_ops_from_bits(0x33800000u))); /* 2^-24 */
    return tc_ops_from_bits(sign | (exponent + 112u) << 23 | mantissa << 13);
}
static inline uint16_t tc_ops_f32_to_f16(float f) {
    const uint32_t u = tc_ops_bits(f), magnitude = u & 0x7fffffffu, sign = (u >> 16) & 0x8000u;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and more; what rounds to it follows below */
    if (magnitude >= 0x38800000u) return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
    if (magnitude < 0x33000000u) return (uint16_t)sign; /* less than half of the least subnormal */
    const uint32_t m = (magnitude & 0x7fffffu) | 0x800000u, shift = 126u - (magnitude >> 23);
    const uint32_t q = m >> shift, rest = m & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    return (uint16_t)(sign | (q + (rest > half || (rest == half && (q & 1u)) ? 1u : 0u)));
}

#ifdef __cplusplus
}
#endif
#endif
