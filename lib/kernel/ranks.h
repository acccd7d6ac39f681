/* Collectives on the elements of arrays, over the ranks of a tc_comm. Kernels and emitted C share this text; it includes nothing but scalar functions.
 *
 * What ranks contribute merges by the tree over ranks (NUMERICS 13): 0 + 1, 2 + 3, then the pairs, and so on; the last of an odd number waits. Each rank
 * merges a part of the elements, so a rank sends and receives twice the array whatever their number, and all get the same bits. Every function returns 0,
 * or what the tc_comm returned. */
#ifndef TC_KERNEL_RANKS_H
#define TC_KERNEL_RANKS_H

#include "base/comm.h"
#include "kernel/scalar.h"

/* a = a OP b, element by element; 16-bit floats are rounded by each. */
typedef void (*tc_merge)(void *a, const void *b, int64_t n);
#define TC_MERGE(NAME, S, T, VALUE)                                                   \
    static inline void tc_merge_##NAME##_##S(void *to, const void *from, int64_t n) { \
        T *restrict x = (T *)to;                                                      \
        const T *restrict y = (const T *)from;                                        \
        for (int64_t i = 0; i < n; i++) {                                             \
            const T a = x[i], b = y[i];                                               \
            x[i] = VALUE;                                                             \
        }                                                                             \
    }
#define TC_MERGE_ALL(M, S, T) M(sum, add, S, T) M(product, mul, S, T) M(min, min, S, T) M(max, max, S, T)
#define TC_MERGE_BITS(M, S, T) TC_MERGE_ALL(M, S, T) M(band, and, S, T) M(bor, or, S, T) M(bxor, xor, S, T)
#define TC_MERGE_PLAIN(NAME, F, S, T) TC_MERGE(NAME, S, T, tc_x_##F##_##S(a, b))
#define TC_MERGE_NARROW(NAME, F, S, T) TC_MERGE(NAME, S, T, tc_x_cast_f32_##S(tc_x_##F##_f32(tc_x_cast_##S##_f32(a), tc_x_cast_##S##_f32(b))))
TC_MERGE_ALL(TC_MERGE_PLAIN, f32, float)
TC_MERGE_ALL(TC_MERGE_PLAIN, f64, double)
TC_MERGE_ALL(TC_MERGE_NARROW, bf16, uint16_t)
TC_MERGE_ALL(TC_MERGE_NARROW, f16, uint16_t)
TC_MERGE_BITS(TC_MERGE_PLAIN, i8, int8_t)
TC_MERGE_BITS(TC_MERGE_PLAIN, u8, uint8_t)
TC_MERGE_BITS(TC_MERGE_PLAIN, i32, int32_t)
TC_MERGE_BITS(TC_MERGE_PLAIN, i64, int64_t)
TC_MERGE_PLAIN(sum, add, c64, tc_c64)
TC_MERGE_PLAIN(sum, add, c128, tc_c128)
#undef TC_MERGE_NARROW
#undef TC_MERGE_PLAIN

/* a = a / size: what makes a mean of a sum. */
typedef void (*tc_share)(void *a, int64_t n, int size);
#define TC_SHARE(S, T, W, FROM, TO)                                                          \
    static inline void tc_share_##S(void *a, int64_t n, int size) {                          \
        for (int64_t i = 0; i < n; i++) ((T *)a)[i] = TO(FROM(((const T *)a)[i]) / (W)size); \
    }
TC_SHARE(f32, float, float, , )
TC_SHARE(f64, double, double, , )
TC_SHARE(bf16, uint16_t, float, tc_x_cast_bf16_f32, tc_x_cast_f32_bf16)
TC_SHARE(f16, uint16_t, float, tc_x_cast_f16_f32, tc_x_cast_f32_f16)
#undef TC_SHARE

/* How elements of `bytes` reduce; share: NULL but for means. */
typedef struct {
    size_t bytes;
    tc_merge merge;
    tc_share share;
} tc_reduction;

/* The `size` blocks of n elements that tc_comm.all_to_all left in `got` become their merged value, in block 0. */
static inline void tc_ranks_merge(int size, char *got, int64_t n, const tc_reduction *how) {
    const size_t block = (size_t)n * how->bytes;
    for (int apart = 1; apart < size; apart *= 2)
        for (int r = 0; r + apart < size; r += 2 * apart) how->merge(got + (size_t)r * block, got + (size_t)(r + apart) * block, n);
    if (how->share) how->share(got, n, size);
}

enum { TC_RANKS_BLOCK = 1 << 18 }; /* most bytes of a block that ranks exchange */
/* Bytes of `room`, which both reductions take. */
static inline size_t tc_ranks_room(int size) { return 2 * (size_t)size * TC_RANKS_BLOCK; }

/* n elements; out may be in. */
static inline int tc_ranks_all_reduce(const tc_comm *c, const void *in, void *out, int64_t n, const tc_reduction *how, void *room) {
    const size_t element = how->bytes;
    const int64_t most = TC_RANKS_BLOCK / (int64_t)element * c->size;
    char *const sent = (char *)room, *const got = sent + (size_t)c->size * TC_RANKS_BLOCK;
    for (int64_t i = 0; i < n; i += most) {
        const int64_t m = n - i < most ? n - i : most,
                      share = (m + c->size - 1) / c->size; /* of the elements, a rank; the last blocks may be short */
        const size_t bytes = (size_t)m * element, block = (size_t)share * element;
        __builtin_memcpy(sent, (const char *)in + (size_t)i * element, bytes);
        __builtin_memset(sent + bytes, 0, block * (size_t)c->size - bytes);
        int code = c->all_to_all(c->self, sent, got, block);
        if (code) return code;
        tc_ranks_merge(c->size, got, share, how);
        if ((code = c->all_gather(c->self, got, sent, block))) return code;
        __builtin_memcpy((char *)out + (size_t)i * element, sent, bytes);
    }
    return 0;
}

/* in: a block of n elements for each rank, in order; out: this rank's, merged. They do not overlap. */
static inline int tc_ranks_reduce_scatter(const tc_comm *c, const void *in, void *out, int64_t n, const tc_reduction *how, void *room) {
    const size_t element = how->bytes;
    const int64_t most = TC_RANKS_BLOCK / (int64_t)element;
    char *const sent = (char *)room, *const got = sent + (size_t)c->size * TC_RANKS_BLOCK;
    for (int64_t i = 0; i < n; i += most) {
        const int64_t m = n - i < most ? n - i : most;
        const size_t block = (size_t)m * element;
        for (int r = 0; r < c->size; r++) __builtin_memcpy(sent + (size_t)r * block, (const char *)in + (size_t)(r * n + i) * element, block);
        const int code = c->all_to_all(c->self, sent, got, block);
        if (code) return code;
        tc_ranks_merge(c->size, got, m, how);
        __builtin_memcpy((char *)out + (size_t)i * element, got, block);
    }
    return 0;
}

#endif
