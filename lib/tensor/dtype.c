/* The table of element types, names in, names out, and PyTorch's promotion between two of them. */
#include "tensor/dtype.h"

#include <string.h>

const tc_dtype_info tc_dtypes[TC_DTYPE_COUNT] = {
#define X(id, short_, torch_, bytes, kind_, sign, code, st, np) [TC_##id] = {short_, torch_, bytes, kind_, sign, code, st, np},
    TC_DTYPES(X)
#undef X
};

/* Further spellings: PyTorch's old names, ONNX's and those that people type. */
static const struct {
    const char *name;
    tc_dtype dtype;
} aliases[] = {
    {"half", TC_F16},  {"float", TC_F32},  {"double", TC_F64},   {"short", TC_I16},       {"int", TC_I32},          {"long", TC_I64},
    {"chalf", TC_C32}, {"cfloat", TC_C64}, {"cdouble", TC_C128}, {"f8e4m3fn", TC_F8E4M3}, {"f8e8m0fnu", TC_F8E8M0}, {"i1", TC_BOOL},
};

tc_dtype tc_dtype_compute(tc_dtype d) {
    if (tc_is_float(d) && tc_dtypes[d].size < 4) return TC_F32;
    return d == TC_C32 ? TC_C64 : d;
}

static bool is_f8(tc_dtype d) { return tc_is_float(d) && tc_dtypes[d].size == 1; }
static bool is_wide_unsigned(tc_dtype d) { return d == TC_U16 || d == TC_U32 || d == TC_U64; }

/* The float that a number of this type brings into a promotion with a complex or another float. */
static tc_dtype promote_float(tc_dtype a, tc_dtype b) {
    if (a == b) return a;
    if (a == TC_F64 || b == TC_F64) return TC_F64;
    return TC_F32; /* f32 with anything, and f16 with bf16 */
}

static tc_dtype promote_int(tc_dtype a, tc_dtype b) {
    if (a == TC_U8 || b == TC_U8) {
        tc_dtype other = a == TC_U8 ? b : a;
        return other == TC_I8 ? TC_I16 : other;
    }
    return tc_dtypes[a].size >= tc_dtypes[b].size ? a : b;
}

tc_dtype tc_dtype_promote(tc_dtype a, tc_dtype b) {
    if (a == b) return a;
    if (is_f8(a) || is_f8(b)) return TC_DTYPE_NONE;
    if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
        if (tc_is_float(a)) return a;
        return tc_is_float(b) ? b : TC_DTYPE_NONE;
    }
    if (a == TC_BOOL) return b;
    if (b == TC_BOOL) return a;
    bool ca = tc_is_complex(a), cb = tc_is_complex(b), fa = tc_is_float(a), fb = tc_is_float(b);
    if (ca || cb) {
        if (ca && !cb && !fb) return a;
        if (cb && !ca && !fa) return b;
        return tc_dtype_to_complex(promote_float(tc_dtype_real(a), tc_dtype_real(b)));
    }
    if (fa && fb) return promote_float(a, b);
    if (fa) return a;
    if (fb) return b;
    return promote_int(a, b);
}

static bool same(const char *name, const char *s, size_t n) { return name && strlen(name) == n && memcmp(name, s, n) == 0; }

tc_dtype tc_dtype_parse(const char *s, size_t n) {
    if (n > 6 && memcmp(s, "torch.", 6) == 0) s += 6, n -= 6;
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (same(tc_dtypes[d].name, s, n) || same(tc_dtypes[d].torch, s, n)) return (tc_dtype)d;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (same(aliases[i].name, s, n)) return aliases[i].dtype;
    return TC_DTYPE_NONE;
}

tc_dtype tc_dtype_from_pt2(int code) {
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (tc_dtypes[d].pt2 == code) return (tc_dtype)d;
    return TC_DTYPE_NONE;
}

tc_dtype tc_dtype_from_safetensors(const char *s, size_t n) {
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (same(tc_dtypes[d].safetensors, s, n)) return (tc_dtype)d;
    return TC_DTYPE_NONE;
}

tc_dtype tc_dtype_real(tc_dtype d) {
    switch (d) {
    case TC_C32: return TC_F16;
    case TC_C64: return TC_F32;
    case TC_C128: return TC_F64;
    default: return d;
    }
}

tc_dtype tc_dtype_to_complex(tc_dtype d) {
    switch (d) {
    case TC_F16: return TC_C32;
    case TC_F32:
    case TC_BF16: return TC_C64;
    case TC_F64: return TC_C128;
    default: return d;
    }
}
