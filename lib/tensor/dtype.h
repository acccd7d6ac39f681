/* Element types. One table row a type: everything that differs between types and is plain data stands here. */
#ifndef TC_TENSOR_DTYPE_H
#define TC_TENSOR_DTYPE_H

#include "base/status.h"

typedef enum { TC_KIND_BOOL, TC_KIND_INT, TC_KIND_FLOAT, TC_KIND_COMPLEX } tc_kind; /* promotion categories, ascending */

/* X(id, short, torch name, bytes, kind, signed, PT2 schema code, safetensors name, npy descr or NULL) */
#define TC_DTYPES(X)                                                                             \
    X(U8, "u8", "uint8", 1, TC_KIND_INT, 0, 1, "U8", "|u1")                                      \
    X(I8, "i8", "int8", 1, TC_KIND_INT, 1, 2, "I8", "|i1")                                       \
    X(I16, "i16", "int16", 2, TC_KIND_INT, 1, 3, "I16", "<i2")                                   \
    X(I32, "i32", "int32", 4, TC_KIND_INT, 1, 4, "I32", "<i4")                                   \
    X(I64, "i64", "int64", 8, TC_KIND_INT, 1, 5, "I64", "<i8")                                   \
    X(U16, "u16", "uint16", 2, TC_KIND_INT, 0, 28, "U16", "<u2")                                 \
    X(U32, "u32", "uint32", 4, TC_KIND_INT, 0, 34, "U32", "<u4")                                 \
    X(U64, "u64", "uint64", 8, TC_KIND_INT, 0, 35, "U64", "<u8")                                 \
    X(F16, "f16", "float16", 2, TC_KIND_FLOAT, 1, 6, "F16", "<f2")                               \
    X(F32, "f32", "float32", 4, TC_KIND_FLOAT, 1, 7, "F32", "<f4")                               \
    X(F64, "f64", "float64", 8, TC_KIND_FLOAT, 1, 8, "F64", "<f8")                               \
    X(C32, "c32", "complex32", 4, TC_KIND_COMPLEX, 1, 9, NULL, NULL)                             \
    X(C64, "c64", "complex64", 8, TC_KIND_COMPLEX, 1, 10, "C64", "<c8")                          \
    X(C128, "c128", "complex128", 16, TC_KIND_COMPLEX, 1, 11, NULL, "<c16")                      \
    X(BOOL, "bool", "bool", 1, TC_KIND_BOOL, 0, 12, "BOOL", "|b1")                               \
    X(BF16, "bf16", "bfloat16", 2, TC_KIND_FLOAT, 1, 13, "BF16", NULL)                           \
    X(F8E4M3, "f8e4m3", "float8_e4m3fn", 1, TC_KIND_FLOAT, 1, 29, "F8_E4M3", NULL)               \
    X(F8E5M2, "f8e5m2", "float8_e5m2", 1, TC_KIND_FLOAT, 1, 30, "F8_E5M2", NULL)                 \
    X(F8E4M3FNUZ, "f8e4m3fnuz", "float8_e4m3fnuz", 1, TC_KIND_FLOAT, 1, 31, "F8_E4M3FNUZ", NULL) \
    X(F8E5M2FNUZ, "f8e5m2fnuz", "float8_e5m2fnuz", 1, TC_KIND_FLOAT, 1, 32, "F8_E5M2FNUZ", NULL) \
    X(F8E8M0, "f8e8m0", "float8_e8m0fnu", 1, TC_KIND_FLOAT, 0, 33, "F8_E8M0", NULL)

typedef enum {
#define X(id, ...) TC_##id,
    TC_DTYPES(X)
#undef X
        TC_DTYPE_COUNT,
    TC_DTYPE_NONE = 0xff
} tc_dtype;

typedef struct {
    const char *name;  /* "f32": command line, prints of tc */
    const char *torch; /* "float32": the model language, messages */
    uint8_t size;      /* bytes of an element */
    tc_kind kind;
    bool is_signed;
    uint8_t pt2;                   /* code in the PT2 schema (not c10's) */
    const char *safetensors, *npy; /* NULL: the format has no such type */
} tc_dtype_info;

extern const tc_dtype_info tc_dtypes[TC_DTYPE_COUNT];

static inline size_t tc_dtype_size(tc_dtype d) { return tc_dtypes[d].size; }
static inline tc_kind tc_dtype_kind(tc_dtype d) { return tc_dtypes[d].kind; }
static inline bool tc_is_float(tc_dtype d) { return tc_dtypes[d].kind == TC_KIND_FLOAT; }
static inline bool tc_is_complex(tc_dtype d) { return tc_dtypes[d].kind == TC_KIND_COMPLEX; }
static inline bool tc_is_integral(tc_dtype d) { return tc_dtypes[d].kind <= TC_KIND_INT; } /* bool included */
/* The type that arithmetic is done in: f32 for f16, bf16, f8; the type itself otherwise. */
tc_dtype tc_dtype_compute(tc_dtype d);
/* PyTorch's promotion of two tensor types of equal rank of category (torch.promote_types). */
tc_dtype tc_dtype_promote(tc_dtype a, tc_dtype b);
/* "f32", "float32", "torch.float32", "float", "long", ... ; TC_DTYPE_NONE when unknown. */
tc_dtype tc_dtype_parse(const char *s, size_t n);
tc_dtype tc_dtype_from_pt2(int code); /* TC_DTYPE_NONE when unknown */
tc_dtype tc_dtype_from_safetensors(const char *s, size_t n);
/* The real type of a complex one and the reverse; the type itself where there is none. */
tc_dtype tc_dtype_real(tc_dtype d);
tc_dtype tc_dtype_to_complex(tc_dtype d);

/* A number that came without a tensor: the model language's int, float, bool, complex. */
typedef struct {
    tc_kind kind;
    union {
        int64_t i;
        double f;
        struct {
            double re, im;
        };
    }; /* BOOL and INT use i; FLOAT f; COMPLEX re and im */
} tc_scalar;
static inline tc_scalar tc_scalar_int(int64_t i) { return (tc_scalar){.kind = TC_KIND_INT, .i = i}; }
static inline tc_scalar tc_scalar_float(double f) { return (tc_scalar){.kind = TC_KIND_FLOAT, .f = f}; }
static inline tc_scalar tc_scalar_bool(bool b) { return (tc_scalar){.kind = TC_KIND_BOOL, .i = b}; }
double tc_scalar_to_double(tc_scalar s);
int64_t tc_scalar_to_int(tc_scalar s);
double tc_dtype_max(tc_dtype d);                               /* the largest finite number of a float type */
void tc_dtype_int_range(tc_dtype d, int64_t *lo, int64_t *hi); /* of an integer type; of uint64 what int64 holds */
/* Whether the number is within what the type holds: what c10::overflows tells. Bool holds every real number, an unsigned type minus its numbers. */
bool tc_scalar_fits(tc_scalar s, tc_dtype d);
static inline bool tc_scalar_is(tc_scalar s, double v) { return tc_scalar_to_double(s) == v && !(s.kind == TC_KIND_COMPLEX && s.im != 0); }
/* Reads element i (in elements) of an array of dtype d, or writes it with PyTorch's conversion. */
tc_scalar tc_scalar_load(tc_dtype d, const void *data, int64_t i);
void tc_scalar_store(tc_dtype d, void *data, int64_t i, tc_scalar s);

#endif
