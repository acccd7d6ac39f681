/* Ordering keys and their radix sort. */
#include "kernel/order.h"

#include <string.h>

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
    default: {
        uint64_t v = (uint64_t)tc_scalar_load(d, data, i).i;
        int width = (int)tc_dtypes[d].size * 8;
        if (tc_dtypes[d].is_signed) v ^= UINT64_C(1) << (width - 1);
        return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
    }
    }
}

int tc_order_keys(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, tc_order *out) {
    int bits = (int)tc_dtypes[t->dtype].size * 8;
    uint64_t flip = descending ? (bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1) : 0;
    for (int64_t i = 0; i < n; i++) out[i] = (tc_order){key_of(t->dtype, t->storage->data, t->offset + at + i * stride) ^ flip, i};
    return bits;
}

static void insertion(tc_order *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        tc_order x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

void tc_order_sort(tc_order *a, tc_order *room, int64_t n, int bits) {
    if (n <= 48) {
        insertion(a, n);
        return;
    }
    tc_order *from = a, *to = room;
    for (int shift = 0; shift < bits; shift += 11) {
        int64_t count[2049] = {0};
        for (int64_t i = 0; i < n; i++) count[(from[i].key >> shift & 2047) + 1]++;
        bool one = false;
        for (int b = 1; b <= 2048 && !one; b++) one = count[b] == n;
        if (one) continue; /* all alike in these bits */
        for (int b = 0; b < 2048; b++) count[b + 1] += count[b];
        for (int64_t i = 0; i < n; i++) to[count[from[i].key >> shift & 2047]++] = from[i];
        tc_order *t = from;
        from = to, to = t;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}
