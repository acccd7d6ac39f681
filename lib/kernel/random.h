/* Kernels that fill a tensor with random numbers. In a program they draw from PyTorch's CPU generator, bit for bit; in a training step (Philox mode,
 * base/rng.h) element i depends only on the key of the call and on i, so they run in parallel. */
#ifndef TC_KERNEL_RANDOM_H
#define TC_KERNEL_RANDOM_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_uniform;       /* uniform(Tensor self, float from, float to): sizes and type of result 0, self is not read */
extern const tc_kernel tc_k_normal;        /* normal_functional(Tensor self, float mean, float std) */
extern const tc_kernel tc_k_normal_serial; /* normal_serial(Tensor self, float mean, float std): as PyTorch fills what is not contiguous */
extern const tc_kernel tc_k_bernoulli_p;   /* bernoulli.p(Tensor self, float p) */
extern const tc_kernel tc_k_bernoulli_t;   /* bernoulli(Tensor p) and bernoulli.Tensor(Tensor self, Tensor p): the last tensor argument holds p */
extern const tc_kernel tc_k_exponential;   /* exponential(Tensor self, float lambd) */
extern const tc_kernel tc_k_cauchy;        /* cauchy(Tensor self, float median, float sigma) */
extern const tc_kernel tc_k_log_normal;    /* log_normal(Tensor self, float mean, float std) */
extern const tc_kernel tc_k_geometric;     /* geometric(Tensor self, float p) */
extern const tc_kernel tc_k_random;        /* random(Tensor self), random.to(self, int to), random.from(self, int from, int? to) */
extern const tc_kernel tc_k_randperm;      /* randperm(SymInt n) */
extern const tc_kernel tc_k_rrelu_noise;   /* rrelu_noise(Tensor self, float lower, float upper): the slope of each element */
extern const tc_kernel tc_k_multinomial;   /* multinomial(Tensor self, SymInt num_samples, bool replacement=True): with replacement only */

/* Words of 32 bits that a kernel above takes from a generator, not in Philox mode, to fill n elements of type d; -1: that is not known before. */
int64_t tc_k_words_drawn(const tc_kernel *k, tc_dtype d, int64_t n);

#endif
