/* One layer and direction of an LSTM, GRU or plain recurrent network over a whole sequence, with arguments in ATen's schema order. The product with
 * the input is one matrix product for all steps; then each worker takes its rows of the batch through time, without a barrier between steps.
 * f32 and f64; the forward pass also bf16 and f16, where the states of a GRU may be f32. Tensors are contiguous. mode: 0 relu, 1 tanh, 2 LSTM (gates
 * i f g o), 3 GRU (gates r z n). */
#ifndef TC_KERNEL_RNN_H
#define TC_KERNEL_RNN_H

#include "kernel/kernel.h"

enum { TC_RNN_RELU, TC_RNN_TANH, TC_RNN_LSTM, TC_RNN_GRU };
static inline int tc_rnn_gates(int mode) { return mode == TC_RNN_LSTM ? 4 : mode == TC_RNN_GRU ? 3 : 1; }
/* Elements of the workspace for each step and row of the batch, which the backward pass reads: the gates after activation, and the cell state (LSTM)
 * or the hidden part of n (GRU). */
static inline int64_t tc_rnn_workspace(int mode, int64_t hidden) { return mode == TC_RNN_LSTM ? 5 * hidden : mode == TC_RNN_GRU ? 4 * hidden : 0; }

/* aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse,
 *     int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train)
 *     -> (Tensor output, Tensor hy, Tensor cy, Tensor workspace)
 * input T B I; weights w_ih, w_hh, b_ih, b_hh; states 1 B H; output T B H; workspace T B tc_rnn_workspace, f32 of 16-bit types */
extern const tc_kernel tc_k_rnn_layer;
/* aten::mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor cx_tmp,
 *     Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int hidden_size,
 *     int num_layers, bool has_biases, bool train, bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace)
 *     -> gradients of input, w_ih, w_hh, b_ih, b_hh, hx, cx */
extern const tc_kernel tc_k_rnn_layer_backward;

#endif
