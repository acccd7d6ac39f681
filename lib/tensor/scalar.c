/* Single numbers, and the conversion of arrays from one element type to another, as PyTorch's casts do it on x86-64:
 * a float out of the range of an integer takes what cvttss2si gives, u8 goes through int64, complex to real keeps the real part. */
#include "tensor/convert.h"
#include "tensor/narrow.h"

#include <float.h>
#include <math.h>

double tc_scalar_to_double(tc_scalar s) {
    switch (s.kind) {
    case TC_KIND_FLOAT: return s.f;
    case TC_KIND_COMPLEX: return s.re;
    default: return (double)s.i;
    }
}

static int64_t to_i64(double d) { return d >= -9223372036854775808.0 && d < 9223372036854775808.0 ? (int64_t)d : INT64_MIN; }
static int32_t to_i32(double d) { return d > -2147483649.0 && d < 2147483648.0 ? (int32_t)d : INT32_MIN; }
/* gcc's vector form of float to u32: shifted by 2^31 above it, the signed conversion below. */
static uint32_t to_u32(double d) { return d >= 2147483648.0 ? (uint32_t)to_i32(d - 2147483648.0) ^ 0x80000000u : (uint32_t)to_i32(d); }
static uint64_t to_u64(double d) {
    return d >= 9223372036854775808.0 ? (uint64_t)to_i64(d - 9223372036854775808.0) ^ (UINT64_C(1) << 63) : (uint64_t)to_i64(d);
}

int64_t tc_scalar_to_int(tc_scalar s) {
    switch (s.kind) {
    case TC_KIND_FLOAT: return to_i64(s.f);
    case TC_KIND_COMPLEX: return to_i64(s.re);
    default: return s.i;
    }
}

/* ---- arrays go through the widest type of their kind, 256 elements at a time: exact for every source type ---- */
enum { BLOCK = 256 };
typedef enum { WIDE_I64, WIDE_U64, WIDE_F64, WIDE_C128 } wide_kind;
typedef union {
    int64_t i[BLOCK];
    uint64_t u[BLOCK];
    double f[2 * BLOCK];
} wide;

static wide_kind wide_of(tc_dtype d) {
    if (d == TC_U64) return WIDE_U64;
    return tc_is_complex(d) ? WIDE_C128 : tc_is_float(d) ? WIDE_F64 : WIDE_I64;
}

#define EACH(expr) \
    for (int k = 0; k < n; k++) expr
/* One element type of src, each element of a field made of p[k]. */
#define LOAD(type, field, value)   \
    {                              \
        const type *p = src;       \
        EACH(w->field[k] = value); \
        return;                    \
    }
static void load_block(tc_dtype d, const void *src, int n, wide *w) {
    switch (d) {
    case TC_U8: LOAD(uint8_t, i, p[k])
    case TC_I8: LOAD(int8_t, i, p[k])
    case TC_I16: LOAD(int16_t, i, p[k])
    case TC_I32: LOAD(int32_t, i, p[k])
    case TC_I64: LOAD(int64_t, i, p[k])
    case TC_U16: LOAD(uint16_t, i, p[k])
    case TC_U32: LOAD(uint32_t, i, p[k])
    case TC_U64: LOAD(uint64_t, u, p[k])
    case TC_F32: LOAD(float, f, p[k])
    case TC_F64: LOAD(double, f, p[k])
    case TC_BOOL: LOAD(uint8_t, i, p[k] != 0)
    case TC_F16: LOAD(uint16_t, f, tc_f16_to_f32(p[k]))
    case TC_BF16: LOAD(uint16_t, f, tc_bf16_to_f32(p[k]))
    case TC_F8E4M3: LOAD(uint8_t, f, tc_f8e4m3_to_f32(p[k]))
    case TC_F8E5M2: LOAD(uint8_t, f, tc_f8e5m2_to_f32(p[k]))
    case TC_F8E4M3FNUZ: LOAD(uint8_t, f, tc_f8e4m3fnuz_to_f32(p[k]))
    case TC_F8E5M2FNUZ: LOAD(uint8_t, f, tc_f8e5m2fnuz_to_f32(p[k]))
    case TC_F8E8M0: LOAD(uint8_t, f, tc_f8e8m0_to_f32(p[k]))
    case TC_C32:
    case TC_C64:
    case TC_C128: {
        tc_dtype real = tc_dtype_real(d);
        wide half;
        for (int done = 0; done < 2 * n; done += BLOCK) {
            int m = 2 * n - done < BLOCK ? 2 * n - done : BLOCK;
            load_block(real, (const char *)src + (size_t)done * tc_dtypes[real].size, m, &half);
            memcpy(w->f + done, half.f, (size_t)m * sizeof(double));
        }
        return;
    }
    default: TC_BUG("dtype %d", d);
    }
}

/* One element type of dst, each element made of v[k]. */
#define STORE(type, value)  \
    {                       \
        type *p = dst;      \
        EACH(p[k] = value); \
        return;             \
    }
static void store_f32(tc_dtype d, void *dst, int n, const float *v) {
    switch (d) {
    case TC_F32: memcpy(dst, v, (size_t)n * 4); return;
    case TC_F16: STORE(uint16_t, tc_f32_to_f16(v[k]))
    case TC_BF16: STORE(uint16_t, tc_f32_to_bf16(v[k]))
    case TC_F8E4M3: STORE(uint8_t, tc_f32_to_f8e4m3(v[k]))
    case TC_F8E5M2: STORE(uint8_t, tc_f32_to_f8e5m2(v[k]))
    case TC_F8E4M3FNUZ: STORE(uint8_t, tc_f32_to_f8e4m3fnuz(v[k]))
    case TC_F8E5M2FNUZ: STORE(uint8_t, tc_f32_to_f8e5m2fnuz(v[k]))
    case TC_F8E8M0: STORE(uint8_t, tc_f32_to_f8e8m0(v[k]))
    default: TC_BUG("dtype %d", d);
    }
}
static void store_ints(tc_dtype d, void *dst, int n, const int64_t *v, bool is_unsigned) {
    float f[2 * BLOCK];
    switch (d) {
    case TC_U8:
    case TC_I8: STORE(uint8_t, (uint8_t)v[k])
    case TC_U16:
    case TC_I16: STORE(uint16_t, (uint16_t)v[k])
    case TC_U32:
    case TC_I32: STORE(uint32_t, (uint32_t)v[k])
    case TC_U64:
    case TC_I64: memcpy(dst, v, (size_t)n * 8); return;
    case TC_BOOL: STORE(uint8_t, v[k] != 0)
    case TC_F64: STORE(double, is_unsigned ? (double)(uint64_t)v[k] : (double)v[k])
    default: EACH(f[k] = is_unsigned ? (float)(uint64_t)v[k] : (float)v[k]); store_f32(d, dst, n, f);
    }
}
static void store_floats(tc_dtype d, void *dst, int n, const double *v) {
    float f[2 * BLOCK];
    switch (d) {
    case TC_U8: STORE(uint8_t, (uint8_t)to_i64(v[k]))
    case TC_I8: STORE(int8_t, (int8_t)to_i32(v[k]))
    case TC_I16: STORE(int16_t, (int16_t)to_i32(v[k]))
    case TC_I32: STORE(int32_t, to_i32(v[k]))
    case TC_I64: STORE(int64_t, to_i64(v[k]))
    case TC_U16: STORE(uint16_t, (uint16_t)to_i32(v[k]))
    case TC_U32: STORE(uint32_t, to_u32(v[k]))
    case TC_U64: STORE(uint64_t, to_u64(v[k]))
    case TC_BOOL: STORE(uint8_t, v[k] != 0)
    case TC_F64: memcpy(dst, v, (size_t)n * 8); return;
    default: EACH(f[k] = (float)v[k]); store_f32(d, dst, n, f);
    }
}

static void store_block(tc_dtype d, void *dst, int n, wide *w, wide_kind from) {
    bool to_complex = tc_is_complex(d);
    if (from == WIDE_C128) {
        if (to_complex) {
            tc_dtype real = tc_dtype_real(d);
            store_floats(real, dst, 2 * n, w->f);
            return;
        }
        if (d == TC_BOOL) EACH(w->f[k] = w->f[2 * k] != 0 || w->f[2 * k + 1] != 0);
        else EACH(w->f[k] = w->f[2 * k]);
        store_floats(d, dst, n, w->f);
    } else if (to_complex) {
        tc_dtype real = tc_dtype_real(d);
        char *p = dst;
        size_t size = tc_dtypes[real].size;
        double zero = 0;
        for (int k = 0; k < n; k++, p += 2 * size) {
            if (from == WIDE_F64) store_floats(real, p, 1, w->f + k);
            else store_ints(real, p, 1, w->i + k, from == WIDE_U64);
            store_floats(real, p + size, 1, &zero);
        }
    } else if (from == WIDE_F64) {
        store_floats(d, dst, n, w->f);
    } else {
        store_ints(d, dst, n, w->i, from == WIDE_U64);
    }
}

void tc_convert(tc_dtype to, void *dst, tc_dtype from, const void *src, size_t n) {
    wide w;
    const char *s = src;
    char *d = dst;
    if (to == from) {
        if (n) memmove(dst, src, n * tc_dtypes[to].size);
        return;
    }
    while (n) {
        int m = n < BLOCK ? (int)n : BLOCK;
        load_block(from, s, m, &w);
        store_block(to, d, m, &w, wide_of(from));
        s += (size_t)m * tc_dtypes[from].size;
        d += (size_t)m * tc_dtypes[to].size;
        n -= (size_t)m;
    }
}

tc_scalar tc_scalar_load(tc_dtype d, const void *data, int64_t i) {
    const char *p = (const char *)data + i * (int64_t)tc_dtypes[d].size;
    tc_scalar s = {.kind = tc_dtypes[d].kind};
    if (s.kind == TC_KIND_COMPLEX) {
        double v[2];
        tc_convert(TC_C128, v, d, p, 1);
        s.re = v[0], s.im = v[1];
    } else if (s.kind == TC_KIND_FLOAT) {
        tc_convert(TC_F64, &s.f, d, p, 1);
    } else {
        tc_convert(TC_I64, &s.i, d, p, 1);
    }
    return s;
}

void tc_scalar_store(tc_dtype d, void *data, int64_t i, tc_scalar s) {
    char *p = (char *)data + i * (int64_t)tc_dtypes[d].size;
    if (s.kind == TC_KIND_COMPLEX) {
        double v[2] = {s.re, s.im};
        tc_convert(d, p, TC_C128, v, 1);
    } else if (s.kind == TC_KIND_FLOAT) {
        tc_convert(d, p, TC_F64, &s.f, 1);
    } else {
        tc_convert(d, p, TC_I64, &s.i, 1);
    }
}

void tc_dtype_int_range(tc_dtype d, int64_t *lo, int64_t *hi) {
    const int bits = 8 * tc_dtypes[d].size - tc_dtypes[d].is_signed;
    *hi = bits > 62 ? INT64_MAX : (INT64_C(1) << bits) - 1;
    *lo = tc_dtypes[d].is_signed ? -*hi - 1 : 0;
}
double tc_dtype_max(tc_dtype d) {
    switch (d) {
    case TC_F16: return 65504;
    case TC_BF16: return 0x1.fep127;
    case TC_F8E4M3: return 448;
    case TC_F8E5M2:
    case TC_F8E5M2FNUZ: return 57344;
    case TC_F8E4M3FNUZ: return 240;
    case TC_F8E8M0: return 0x1p127;
    case TC_F64: return DBL_MAX;
    default: return FLT_MAX;
    }
}
static bool part_fits(double v, tc_dtype d) {
    if (isinf(v) && !tc_is_integral(d)) return tc_dtypes[d].size > 1 || d == TC_F8E5M2;
    if (!tc_is_integral(d)) return isnan(v) || (v <= tc_dtype_max(d) && v >= (tc_dtypes[d].is_signed ? -tc_dtype_max(d) : 1 / tc_dtype_max(d)));
    const int bits = 8 * tc_dtypes[d].size - tc_dtypes[d].is_signed;
    return v >= (tc_dtypes[d].is_signed ? -ldexp(1, bits) : 0) && v < ldexp(1, bits);
}
bool tc_scalar_fits(tc_scalar s, tc_dtype d) {
    int64_t lo, hi;
    if (s.kind == TC_KIND_COMPLEX && tc_is_complex(d)) return part_fits(s.re, tc_dtype_real(d)) && part_fits(s.im, tc_dtype_real(d));
    if (d == TC_BOOL) return true;
    if (s.kind == TC_KIND_COMPLEX && s.im != 0) return false;
    if (s.kind >= TC_KIND_FLOAT || !tc_is_integral(d)) return part_fits(tc_scalar_to_double(s), tc_dtype_real(d));
    tc_dtype_int_range(d, &lo, &hi);
    return s.i <= hi && (s.i >= lo || (!lo && s.i >= -hi));
}
