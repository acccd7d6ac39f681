/* Connectionist temporal classification: the negative log likelihood of a target over all its alignments with a sequence, and its gradient.
 * log_probs is [T, N, C] (f32, f64); targets [N, S] or all concatenated (i32, i64); lengths are lists of numbers or integer tensors, one for each
 * sample. Lengths that do not fit are a TC_CONTENT error. Threads split samples; a sample is summed in the order of its recursion. */
#ifndef TC_KERNEL_CTC_H
#define TC_KERNEL_CTC_H

#include "kernel/kernel.h"

/* _ctc_loss(log_probs, targets, input_lengths, target_lengths, int blank, bool zero_infinity) -> (nll [N], log_alpha [N, T, 2 S + 1]) */
extern const tc_kernel tc_k_ctc;
/* _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, int blank, bool zero_infinity) */
extern const tc_kernel tc_k_ctc_backward;

#endif
