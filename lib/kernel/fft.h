/* The discrete Fourier transform along dimensions of complex tensors, any length. */
#ifndef TC_KERNEL_FFT_H
#define TC_KERNEL_FFT_H

#include "kernel/kernel.h"

/* x: parts of `lanes` transforms of length n side by side, [n][lanes]; y: as much again; w: the n-th roots of 1, exp(-2 pi i k / n).
 * radix: `count` factors of n. True: the result is in y, else in x. */
typedef int (*tc_fft_fn)(void *x_re, void *x_im, void *y_re, void *y_im, int64_t n, int64_t lanes, const int *radix, int count, const void *w_re,
                         const void *w_im);
typedef struct tc_fft_ops {
    tc_fft_fn f32, f64;
} tc_fft_ops;

extern const tc_kernel tc_k_fft_c2c; /* _fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) */

#endif
