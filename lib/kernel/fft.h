/* The discrete Fourier transform along dimensions of complex and real tensors, of any length. */
#ifndef TC_KERNEL_FFT_H
#define TC_KERNEL_FFT_H

#include "kernel/kernel.h"

enum { TC_FFT_LANES = 16 }; /* transforms computed together, one in each vector lane */
/* Transforms LANES lines of length n. x: their real and imaginary parts, each [n][LANES], overwritten; y: buffers of the same size; w: the
 * (n stretch)-th roots of unity, exp(-2 pi i k / (n stretch)); radix: `count` factors of n. Returns whether the result is in y rather than x. */
typedef int (*tc_fft_fn)(void *x_re, void *x_im, void *y_re, void *y_im, int64_t n, const int *radix, int count, const void *w_re, const void *w_im,
                         int64_t stretch);
/* Real lines of 2 h numbers through complex ones of length h. w: the (2 h)-th roots of unity; x and y: real and imaginary part; one: a single line
 * instead of LANES.
 * split: from x, the transform of the numbers x[2 k] + i x[2 k + 1] (h rows), to y, the first half of the real line's transform (h + 1 rows).
 * join: the inverse, times 2, with the imaginary parts of rows 0 and h taken as 0. */
typedef void (*tc_fft_real_fn)(void *const *y, const void *const *x, int64_t h, bool one, const void *w_re, const void *w_im);
/* Twiddle factors: multiplies row k, column q of [rows][LANES] by the root of unity number i = k (c + q), which is hi[i >> shift] lo[i & mask].
 * tables: real and imaginary parts of hi, then of lo. */
typedef void (*tc_fft_twist_fn)(void *re, void *im, int64_t rows, int64_t c, const double *const *tables, int shift);
typedef struct tc_fft_ops { /* f32, f64 */
    tc_fft_fn transform[2];
    tc_fft_real_fn split[2], join[2];
    tc_fft_twist_fn twist[2];
} tc_fft_ops;

extern const tc_kernel tc_k_fft_c2c; /* _fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) */
extern const tc_kernel tc_k_fft_r2c; /* _fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) */
extern const tc_kernel tc_k_fft_c2r; /* _fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) */

#endif
