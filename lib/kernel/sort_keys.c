/* Ordering keys, radix sort and selection (sort_keys.h). */
#include "kernel/sort_keys.h"

#include <string.h>

#include "kernel/isa_row.h"

/* The key of a float: `width` bits, `exponent` those of infinity. */
static uint64_t of_float(uint64_t bits, int width, uint64_t exponent) {
    uint64_t sign = UINT64_C(1) << (width - 1), all = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    if ((bits & ~sign & all) > exponent) return all; /* NaN of either sign */
    if ((bits & ~sign & all) == 0) return sign;      /* zeros are equal */
    return bits & sign ? ~bits & all : bits | sign;
}

static uint64_t key_of(tc_dtype d, const void *data, int64_t i) {
    switch (d) {
    case TC_F32: {
        uint32_t u;
        memcpy(&u, (const char *)data + i * 4, 4);
        return of_float(u, 32, 0x7f800000u);
    }
    case TC_F64: {
        uint64_t u;
        memcpy(&u, (const char *)data + i * 8, 8);
        return of_float(u, 64, UINT64_C(0x7ff0000000000000));
    }
    case TC_F16: {
        uint16_t u;
        memcpy(&u, (const char *)data + i * 2, 2);
        return of_float(u, 16, 0x7c00u);
    }
    case TC_BF16: {
        uint16_t u;
        memcpy(&u, (const char *)data + i * 2, 2);
        return of_float(u, 16, 0x7f80u);
    }
    case TC_F8E4M3: {
        uint8_t u = ((const uint8_t *)data)[i];
        return of_float(u, 8, 0x7eu);
    }
    case TC_F8E5M2: {
        uint8_t u = ((const uint8_t *)data)[i];
        return of_float(u, 8, 0x7cu);
    }
    case TC_F8E4M3FNUZ:
    case TC_F8E5M2FNUZ: { /* 0x80 is NaN, the other codes are all numbers */
        uint8_t u = ((const uint8_t *)data)[i];
        return u == 0x80u ? 0xffu : of_float(u, 8, 0x7fu);
    }
    case TC_F8E8M0: return ((const uint8_t *)data)[i];
    default: {
        uint64_t v = (uint64_t)tc_scalar_load(d, data, i).i;
        int width = (int)tc_dtypes[d].size * 8;
        if (tc_dtypes[d].is_signed) v ^= UINT64_C(1) << (width - 1);
        return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
    }
    }
}

static uint32_t key_f32(uint32_t u) {
    uint32_t key = u ^ ((uint32_t)((int32_t)u >> 31) | 0x80000000u), size = u & 0x7fffffffu;
    key = size == 0 ? 0x80000000u : key;
    return size > 0x7f800000u ? 0xffffffffu : key;
}
static uint64_t key_f64(uint64_t u) {
    uint64_t key = u ^ ((uint64_t)((int64_t)u >> 63) | UINT64_C(1) << 63), size = u & ~(UINT64_C(1) << 63);
    key = size == 0 ? UINT64_C(1) << 63 : key;
    return size > UINT64_C(0x7ff0000000000000) ? ~UINT64_C(0) : key;
}
static inline void plain_f32(const uint32_t *x, int64_t stride, int64_t n, uint64_t *out) {
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] = key_f32(x[i * stride]);
}
int tc_order_plain(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, uint64_t *out) {
    const void *data = t->storage->data;
    at += t->offset;
    if (t->dtype == TC_F32 && stride == 1) plain_f32((const uint32_t *)data + at, 1, n, out);
    else if (t->dtype == TC_F32) plain_f32((const uint32_t *)data + at, stride, n, out);
    else if (t->dtype == TC_F64) {
        const uint64_t *x = (const uint64_t *)data + at;
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < n; i++) out[i] = key_f64(x[i * stride]);
    } else if (t->dtype == TC_I64) {
        const uint64_t *x = (const uint64_t *)data + at;
        for (int64_t i = 0; i < n; i++) out[i] = x[i * stride] ^ UINT64_C(1) << 63;
    } else if (t->dtype == TC_I32) {
        const uint32_t *x = (const uint32_t *)data + at;
        for (int64_t i = 0; i < n; i++) out[i] = x[i * stride] ^ 0x80000000u;
    } else
        for (int64_t i = 0; i < n; i++) out[i] = key_of(t->dtype, data, at + i * stride);
    return (int)tc_dtypes[t->dtype].size * 8;
}
int tc_order_keys(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, tc_order *out) {
    enum { PART = 256 };
    uint64_t key[PART];
    const int bits = (int)tc_dtypes[t->dtype].size * 8;
    const uint64_t flip = descending ? ~UINT64_C(0) >> (64 - bits) : 0;
    for (int64_t i = 0; i < n; i += PART) {
        const int64_t count = n - i < PART ? n - i : PART;
        tc_order_plain(t, at + i * stride, stride, count, key);
        for (int64_t j = 0; j < count; j++) out[i + j] = (tc_order){key[j] ^ flip, i + j};
    }
    return bits;
}
tc_order_inverse tc_order_inverse_of(tc_dtype d, bool descending) {
    const int bits = (int)tc_dtypes[d].size * 8;
    const uint64_t all = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    const bool is_signed = tc_dtypes[d].is_signed;
    return (tc_order_inverse){
        .flip = descending ? all : 0, .sign = is_signed ? all ^ all >> 1 : 0, .all = all, .is_float = is_signed && tc_is_float(d)};
}
bool tc_order_packs(tc_dtype d, int64_t n) { return tc_dtypes[d].size <= 4 && n <= INT64_C(0xffffffff); }
int tc_order_pack(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, uint64_t *out) {
    int bits = tc_order_plain(t, at, stride, n, out);
    uint64_t flip = descending ? (UINT64_C(1) << bits) - 1 : 0;
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] = (out[i] ^ flip) << 32 | (uint64_t)i;
    return bits;
}
static void insertion_packed(uint64_t *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}
enum { FEW = 48 };
void tc_order_sort_packed(uint64_t *a, uint64_t *scratch, int64_t n, int low, int bits) {
    if (n <= FEW) {
        insertion_packed(a, n);
        return;
    }
    enum { MAX_COUNT = 2048 };
    int width = n < 4096 ? 8 : 11, all = 1 << width;
    uint64_t *from = a, *to = scratch;
    for (int shift = low; shift < 32 + bits; shift += width) {
        uint32_t count[MAX_COUNT] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) count[from[i] >> shift & (uint64_t)(all - 1)]++;
        if (count[from[0] >> shift & (uint64_t)(all - 1)] == n) continue; /* these bits are the same in all */
        for (int b = 0; b < all; b++) {
            uint32_t here = count[b];
            count[b] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) to[count[from[i] >> shift & (uint64_t)(all - 1)]++] = from[i];
        uint64_t *t = from;
        from = to, to = t;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}
uint64_t tc_order_select(uint64_t *a, int64_t n, int64_t k, int bits) {
    int top = 32 + bits;
    while (n > FEW && top > 0) {
        int width = top < 8 ? top : 8;
        uint64_t mask = (UINT64_C(1) << width) - 1;
        uint32_t count[256] = {0};
        top -= width;
        for (int64_t i = 0; i < n; i++) count[a[i] >> top & mask]++;
        int64_t bin = 0, m = 0;
        while (k >= count[bin]) k -= count[bin++];
        if (count[bin] == n) continue;
        for (int64_t i = 0; i < n; i++) {
            a[m] = a[i];
            m += (int64_t)(a[i] >> top & mask) == bin;
        }
        n = m;
    }
    insertion_packed(a, n);
    return a[k];
}
/* tc_order_first works on CHUNK elements at a time, as signed keys, and compares them with the limit GROUP at a time. */
enum { CHUNK = 256, GROUP = 8 };
typedef int32_t four __attribute__((vector_size(16), may_alias));
#define BELOW(key) ((int32_t)((uint32_t)(key) ^ UINT32_C(0x80000000)))
static four keys_f32(four u, int32_t flip) {
    const four size = u & 0x7fffffff, nan = size > 0x7f800000;
    four key = (u ^ (u >> 31 & 0x7fffffff)) & (size != 0);
    key = (key & ~nan) | (nan & 0x7fffffff);
    return key ^ flip;
}
static void signed_keys(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, uint32_t flip, int32_t *out) {
    const int32_t *x = (const int32_t *)t->storage->data + t->offset + at;
    uint64_t plain[CHUNK];
    if (t->dtype == TC_F32) {
        if (stride == 1) memcpy(out, x, (size_t)n * sizeof *out);
        else
            for (int64_t i = 0; i < n; i++) out[i] = x[i * stride];
        for (int64_t i = 0; i < n; i += 4) *(four *)(out + i) = keys_f32(*(four *)(out + i), (int32_t)flip);
    } else {
        tc_order_plain(t, at, stride, n, plain);
        for (int64_t i = 0; i < n; i++) out[i] = BELOW(plain[i] ^ flip);
    }
}
/* by_index: key and index are both the key of the heap. */
static void first_narrow(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, bool by_index, int64_t k, tc_order *a) {
    const int bits = (int)tc_dtypes[t->dtype].size * 8, up = by_index ? 32 : 0;
    const uint32_t flip = descending ? UINT32_MAX >> (32 - bits) : 0;
    int32_t limit = 0;
    for (int64_t i = 0; i < n; i += CHUNK) {
        int32_t key[CHUNK] __attribute__((aligned(16))) = {0};
        const int64_t count = n - i < CHUNK ? n - i : CHUNK;
        signed_keys(t, at + i * stride, stride, count, flip, key);
        for (int64_t j = count; j % GROUP; j++) key[j] = INT32_MAX;
        for (int64_t g = 0; g < count; g += GROUP) {
            if (i + g >= k) {
                const four *k4 = (const four *)&key[g], below = (k4[0] < limit) | (k4[1] < limit);
                uint64_t any[2];
                memcpy(any, &below, sizeof any);
                if (!(any[0] | any[1])) continue;
            }
            for (int64_t j = g; j < g + GROUP && j < count; j++)
                tc_order_offer(a, k, (tc_order){(uint64_t)(uint32_t)BELOW(key[j]) << up | (by_index ? (uint64_t)(i + j) : 0), i + j});
            limit = BELOW(a[0].key >> up);
        }
    }
    tc_order_sort_heap(a, k, 0);
    for (int64_t i = 0; i < k; i++) a[i].key >>= up;
}
void tc_order_first(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, bool by_index, int64_t k, tc_order *a) {
    if (tc_dtypes[t->dtype].size <= 4) {
        first_narrow(t, at, stride, n, descending, by_index, k, a);
        return;
    }
    for (int64_t i = 0; i < n; i += CHUNK) {
        uint64_t key[CHUNK];
        const int64_t count = n - i < CHUNK ? n - i : CHUNK;
        tc_order_plain(t, at + i * stride, stride, count, key);
        for (int64_t j = 0; j < count; j++) tc_order_offer(a, k, (tc_order){descending ? ~key[j] : key[j], i + j});
    }
    tc_order_sort_heap(a, k, 0);
}
#undef BELOW

static void insertion(tc_order *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        tc_order x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

void tc_order_sort(tc_order *a, tc_order *scratch, int64_t n, int bits) {
    if (n <= 48) {
        insertion(a, n);
        return;
    }
    tc_order *from = a, *to = scratch;
    for (int shift = 0; shift < bits; shift += 11) {
        int64_t count[2049] = {0};
        for (int64_t i = 0; i < n; i++) count[(from[i].key >> shift & 2047) + 1]++;
        bool one = false;
        for (int b = 1; b <= 2048 && !one; b++) one = count[b] == n;
        if (one) continue; /* these bits are the same in all */
        for (int b = 0; b < 2048; b++) count[b + 1] += count[b];
        for (int64_t i = 0; i < n; i++) to[count[from[i].key >> shift & 2047]++] = from[i];
        tc_order *t = from;
        from = to, to = t;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}
