/* Distributions drawn by rejection sampling: each element takes as many draws as it needs, one element after another from PyTorch's CPU generator; in
 * a training step (Philox mode, base/rng.h) element i has a stream of its own. Arithmetic is float64 with the C library's functions, as in
 * PyTorch. */
#ifndef TC_KERNEL_RANDOM_DISTRIBUTION_H
#define TC_KERNEL_RANDOM_DISTRIBUTION_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_poisson;          /* poisson(Tensor rate) */
extern const tc_kernel tc_k_binomial;         /* binomial(Tensor count, Tensor prob): equal sizes */
extern const tc_kernel tc_k_standard_gamma;   /* _standard_gamma(Tensor alpha) */
extern const tc_kernel tc_k_sample_dirichlet; /* _sample_dirichlet(Tensor alpha): the last dimension adds to 1 */

#endif
