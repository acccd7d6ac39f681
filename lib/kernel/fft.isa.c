/* The passes of the Fourier transform (fft_type.h) for float32 and float64. */
#include "kernel/fft.h"
#include "kernel/isa_row.h"

enum { LANES = TC_FFT_LANES };

#define T float
#define S f32
#include "kernel/fft_type.h"
#undef T
#undef S
#define T double
#define S f64
#include "kernel/fft_type.h"

extern const tc_fft_ops TC_ROW(tc_fft);
const tc_fft_ops TC_ROW(tc_fft) = {{transform_f32, transform_f64}, {split_f32, split_f64}, {join_f32, join_f64}, {twist_f32, twist_f64}};
