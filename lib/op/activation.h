/* Second derivatives of activations (activation_second.c), for the rows of activation.c. */
#ifndef TC_OP_ACTIVATION_H
#define TC_OP_ACTIVATION_H

#include "op/emit.h"

tc_status tc_grad_silu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_gelu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_mish_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_softplus_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_hardswish_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_log_sigmoid_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
tc_status tc_grad_elu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);
/* Piecewise linear: hardsigmoid, softshrink, hardshrink. */
tc_status tc_grad_flat_backward(tc_emit *e, const tc_node *n, tc_value *const *gs);

#endif
