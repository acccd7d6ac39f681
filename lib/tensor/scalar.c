/* Single numbers, and the conversion of arrays from one element type to another, as PyTorch's casts do it on x86-64:
 * a float out of the range of an integer takes what cvttss2si gives, u8 goes through int64, complex to real keeps the real part. */
#include "tensor/convert.h"
#include "tensor/narrow.h"

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
#define LOAD_AS(type, field)      \
    {                             \
        const type *p = src;      \
        EACH(w->field[k] = p[k]); \
        return;                   \
    }
static void load_block(tc_dtype d, const void *src, int n, wide *w) {
    switch (d) {
    case TC_U8: LOAD_AS(uint8_t, i)
    case TC_I8: LOAD_AS(int8_t, i)
    case TC_I16: LOAD_AS(int16_t, i)
    case TC_I32: LOAD_AS(int32_t, i)
    case TC_I64: LOAD_AS(int64_t, i)
    case TC_U16: LOAD_AS(uint16_t, i)
    case TC_U32: LOAD_AS(uint32_t, i)
    case TC_U64: LOAD_AS(uint64_t, u)
    case TC_F32: LOAD_AS(float, f)
    case TC_F64: LOAD_AS(double, f)
    case TC_BOOL: {
        const uint8_t *p = src;
        EACH(w->i[k] = p[k] != 0);
        return;
    }
    case TC_F16: {
        const uint16_t *p = src;
        EACH(w->f[k] = tc_f16_to_f32(p[k]));
        return;
    }
    case TC_BF16: {
        const uint16_t *p = src;
        EACH(w->f[k] = tc_bf16_to_f32(p[k]));
        return;
    }
    case TC_F8E4M3: {
        const uint8_t *p = src;
        EACH(w->f[k] = tc_f8e4m3_to_f32(p[k]));
        return;
    }
    case TC_F8E5M2: {
        const uint8_t *p = src;
        EACH(w->f[k] = tc_f8e5m2_to_f32(p[k]));
        return;
    }
    case TC_F8E4M3FNUZ: {
        const uint8_t *p = src;
        EACH(w->f[k] = tc_f8e4m3fnuz_to_f32(p[k]));
        return;
    }
    case TC_F8E5M2FNUZ: {
        const uint8_t *p = src;
        EACH(w->f[k] = tc_f8e5m2fnuz_to_f32(p[k]));
        return;
    }
    case TC_F8E8M0: {
        const uint8_t *p = src;
        EACH(w->f[k] = tc_f8e8m0_to_f32(p[k]));
        return;
    }
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

static void store_ints(tc_dtype d, void *dst, int n, const int64_t *v, bool is_unsigned) {
    switch (d) {
    case TC_U8:
    case TC_I8: {
        uint8_t *p = dst;
        EACH(p[k] = (uint8_t)v[k]);
        return;
    }
    case TC_U16:
    case TC_I16: {
        uint16_t *p = dst;
        EACH(p[k] = (uint16_t)v[k]);
        return;
    }
    case TC_U32:
    case TC_I32: {
        uint32_t *p = dst;
        EACH(p[k] = (uint32_t)v[k]);
        return;
    }
    case TC_U64:
    case TC_I64: memcpy(dst, v, (size_t)n * 8); return;
    case TC_BOOL: {
        uint8_t *p = dst;
        EACH(p[k] = v[k] != 0);
        return;
    }
    case TC_F64: {
        double *p = dst;
        EACH(p[k] = is_unsigned ? (double)(uint64_t)v[k] : (double)v[k]);
        return;
    }
    default: break;
    }
    float f;
#define AS_FLOAT (f = is_unsigned ? (float)(uint64_t)v[k] : (float)v[k])
    switch (d) {
    case TC_F32: {
        float *p = dst;
        EACH(p[k] = AS_FLOAT);
        return;
    }
    case TC_F16: {
        uint16_t *p = dst;
        EACH(p[k] = tc_f32_to_f16(AS_FLOAT));
        return;
    }
    case TC_BF16: {
        uint16_t *p = dst;
        EACH(p[k] = tc_f32_to_bf16(AS_FLOAT));
        return;
    }
    case TC_F8E4M3: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e4m3(AS_FLOAT));
        return;
    }
    case TC_F8E5M2: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e5m2(AS_FLOAT));
        return;
    }
    case TC_F8E4M3FNUZ: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e4m3fnuz(AS_FLOAT));
        return;
    }
    case TC_F8E5M2FNUZ: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e5m2fnuz(AS_FLOAT));
        return;
    }
    case TC_F8E8M0: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e8m0(AS_FLOAT));
        return;
    }
    default: TC_BUG("dtype %d", d);
    }
}

static void store_floats(tc_dtype d, void *dst, int n, const double *v) {
    switch (d) {
    case TC_U8: {
        uint8_t *p = dst;
        EACH(p[k] = (uint8_t)to_i64(v[k]));
        return;
    }
    case TC_I8: {
        int8_t *p = dst;
        EACH(p[k] = (int8_t)to_i32(v[k]));
        return;
    }
    case TC_I16: {
        int16_t *p = dst;
        EACH(p[k] = (int16_t)to_i32(v[k]));
        return;
    }
    case TC_I32: {
        int32_t *p = dst;
        EACH(p[k] = to_i32(v[k]));
        return;
    }
    case TC_I64: {
        int64_t *p = dst;
        EACH(p[k] = to_i64(v[k]));
        return;
    }
    case TC_U16: {
        uint16_t *p = dst;
        EACH(p[k] = (uint16_t)to_i32(v[k]));
        return;
    }
    case TC_U32: {
        uint32_t *p = dst;
        EACH(p[k] = to_u32(v[k]));
        return;
    }
    case TC_U64: {
        uint64_t *p = dst;
        EACH(p[k] = to_u64(v[k]));
        return;
    }
    case TC_BOOL: {
        uint8_t *p = dst;
        EACH(p[k] = v[k] != 0);
        return;
    }
    case TC_F64: memcpy(dst, v, (size_t)n * 8); return;
    case TC_F32: {
        float *p = dst;
        EACH(p[k] = (float)v[k]);
        return;
    }
    case TC_F16: {
        uint16_t *p = dst;
        EACH(p[k] = tc_f32_to_f16((float)v[k]));
        return;
    }
    case TC_BF16: {
        uint16_t *p = dst;
        EACH(p[k] = tc_f32_to_bf16((float)v[k]));
        return;
    }
    case TC_F8E4M3: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e4m3((float)v[k]));
        return;
    }
    case TC_F8E5M2: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e5m2((float)v[k]));
        return;
    }
    case TC_F8E4M3FNUZ: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e4m3fnuz((float)v[k]));
        return;
    }
    case TC_F8E5M2FNUZ: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e5m2fnuz((float)v[k]));
        return;
    }
    case TC_F8E8M0: {
        uint8_t *p = dst;
        EACH(p[k] = tc_f32_to_f8e8m0((float)v[k]));
        return;
    }
    default: TC_BUG("dtype %d", d);
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
