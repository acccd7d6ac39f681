/* Copies between memory and contiguous blocks: strided, gathered, scattered, masked, transposed. One function for each element size of 1, 2, 4, 8 and 16
 * bytes, at index log2(size). Strides and indices are in elements and may be negative; arrays have the alignment of their element (8 for 16 bytes). */
#ifndef TC_KERNEL_MOVE_H
#define TC_KERNEL_MOVE_H

#include <stdint.h>

typedef struct {
    void (*fill[5])(void *out, const void *value, int64_t n);
    void (*load[5])(void *out, const void *in, int64_t stride, int64_t n);                           /* out[i] = in[i * stride] */
    void (*store[5])(void *out, int64_t stride, const void *in, int64_t n);                          /* out[i * stride] = in[i] */
    void (*copy[5])(void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t n);    /* out[i * out_stride] = in[i * in_stride] */
    void (*gather[5])(void *out, const void *in, const int64_t *index, int64_t n);                   /* out[i] = in[index[i]] */
    void (*gather_two[5])(void *out, const void *in, const int64_t *a, const int64_t *b, int64_t n); /* out[i] = in[a[i] + b[i]] */
    void (*gather_if[5])(void *out, const void *in, const int64_t *index, const uint8_t *pred, int64_t n);  /* 0 where pred is 0 */
    void (*scatter_if[5])(void *out, const int64_t *index, const uint8_t *pred, const void *in, int64_t n); /* pred NULL: all */
    void (*store_if[5])(void *out, int64_t stride, const uint8_t *pred, const void *in, int64_t n);
    void (*transpose[5])(void *out, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols); /* out[c][r] = in[r][c] */
    void (*rows)(void *out, int64_t out_next, const void *in, int64_t in_next, int64_t bytes,
                 int64_t m);                                                                     /* m rows of `bytes`; _next: bytes to the next row */
    void (*gather_rows)(void *out, const void *in, const int64_t *at, int64_t bytes, int64_t m); /* row r is at in + at[r]; to contiguous rows */
    void (*iota)(int64_t *out, int64_t first, int64_t step, int64_t n);
    int (*in_range)(const int64_t *x, int64_t base, int64_t size, int64_t n);                   /* 0 <= base + x[i] < size for all i */
    void (*add_scaled)(int64_t *out, const int64_t *x, int64_t base, int64_t scale, int64_t n); /* out[i] += (base + x[i]) * scale */
    void (*lookup)(uint16_t *out, const uint16_t *x, const uint16_t *table,
                   int64_t n); /* out[i] = table[x[i]]; table has one readable element more */
} tc_move_ops;

#endif
