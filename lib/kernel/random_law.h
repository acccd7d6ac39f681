/* Samplers that reject: each element takes as many draws as it needs, one element after another in PyTorch's CPU stream; in a training step
 * (Philox mode, base/rng.h) element i has a stream of its own. All arithmetic is float64, with the C library's functions, as PyTorch's
 * (NUMERICS 10). */
#ifndef TC_KERNEL_RANDOM_LAW_H
#define TC_KERNEL_RANDOM_LAW_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_poisson;          /* poisson(Tensor rate) */
extern const tc_kernel tc_k_binomial;         /* binomial(Tensor count, Tensor prob): equal sizes */
extern const tc_kernel tc_k_standard_gamma;   /* _standard_gamma(Tensor alpha) */
extern const tc_kernel tc_k_sample_dirichlet; /* _sample_dirichlet(Tensor alpha): the last dimension adds to 1 */

#endif
