/* Second derivatives of activations: gradients of the *_backward operators, r = g f'(x).
 *
 *     dg = gg f'(x), which is the operator itself on gg        dx = gg g f''(x)
 */
#include "op/activation.h"

#include <math.h>
#include <string.h>

static tc_value *call1(tc_emit *e, const char *op, tc_value *a) { return tc_emit_call(e, op, "v", a); }

/* 1 - v */
static tc_value *one_minus(tc_emit *e, tc_value *v) { return tc_emit_call(e, "aten::rsub.Scalar", "vi", v, (int64_t)1); }

/* v where the condition holds, else 0 */
static tc_value *where(tc_emit *e, tc_value *cond, tc_value *v) { return tc_emit_call(e, "aten::where.self", "vvv", cond, v, tc_e_zeros_like(e, v)); }

/* The gradient of the first argument is the same call on gg; that of argument `at` is second (f'' at x; NULL: 0). */
static tc_status rule(tc_emit *e, const tc_node *n, tc_value *gg, int at, tc_value *second) {
    if (tc_emit_wants_grad(e, n, 0) && gg) {
        tc_arg args[8];
        tc_node *again;
        memcpy(args, n->args, sizeof *args * (size_t)n->nargs);
        args[0] = (tc_arg){.kind = TC_A_VALUE, .value = gg};
        TC_TRY(tc_graph_call(e->graph, n->op, args, n->nargs, e->source, e->before, &again));
        again->origin = e->origin;
        tc_emit_grad(e, 0, again->outs[0]);
    }
    if (second && gg && tc_emit_wants_grad(e, n, at)) tc_emit_grad(e, at, tc_e_mul(e, tc_e_mul(e, gg, tc_arg_value(n, 0)), second));
    return NULL;
}

tc_status tc_grad_silu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* s (1 - s) (2 + x (1 - 2 s)) */
    tc_value *x = tc_arg_value(n, 1), *s = call1(e, "aten::sigmoid", x);
    tc_value *inner = tc_e_adds(e, tc_e_mul(e, x, one_minus(e, tc_e_muls(e, s, 2))), 2);
    return rule(e, n, gs[0], 1, tc_e_mul(e, tc_e_mul(e, s, one_minus(e, s)), inner));
}

tc_status tc_grad_gelu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 1), *xx = tc_e_mul(e, x, x), *second;
    if (!strcmp(n->args[2].string, "none")) { /* phi(x) (2 - x^2) */
        tc_value *phi = tc_e_muls(e, call1(e, "aten::exp", tc_e_muls(e, xx, -0.5)), 0.39894228040143267794);
        second = tc_e_mul(e, phi, tc_emit_call(e, "aten::rsub.Scalar", "vi", xx, (int64_t)2));
    } else { /* u = k (x + c x^3), t = tanh u: (1 - t^2) (u' + x (u'' / 2 - t u'^2)) */
        const double k = 0.79788456080286535588, c = 0.044715;
        tc_value *u1 = tc_e_adds(e, tc_e_muls(e, xx, 3 * c * k), k), *u2 = tc_e_muls(e, x, 6 * k * c);
        tc_value *t = call1(e, "aten::tanh", tc_e_mul(e, x, tc_e_adds(e, tc_e_muls(e, xx, c * k), k)));
        tc_value *inner = tc_e_sub(e, tc_e_muls(e, u2, 0.5), tc_e_mul(e, t, tc_e_mul(e, u1, u1)));
        second = tc_e_mul(e, one_minus(e, tc_e_mul(e, t, t)), tc_e_add(e, u1, tc_e_mul(e, x, inner)));
    }
    return rule(e, n, gs[0], 1, second);
}

tc_status tc_grad_mish_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* t = tanh(softplus x): (1 - t^2) s (2 + x (1 - s - 2 t s)) */
    tc_value *x = tc_arg_value(n, 1), *s = call1(e, "aten::sigmoid", x), *t = call1(e, "aten::tanh", call1(e, "aten::softplus", x));
    tc_value *inner = tc_e_adds(e, tc_e_mul(e, x, tc_e_sub(e, one_minus(e, s), tc_e_muls(e, tc_e_mul(e, t, s), 2))), 2);
    return rule(e, n, gs[0], 1, tc_e_mul(e, tc_e_mul(e, one_minus(e, tc_e_mul(e, t, t)), s), inner));
}

tc_status tc_grad_softplus_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* beta s (1 - s) up to the threshold */
    tc_value *x = tc_arg_value(n, 1), *bx = tc_emit_call(e, "aten::mul.Tensor", "va", x, &n->args[2]), *s = call1(e, "aten::sigmoid", bx);
    tc_value *second = tc_emit_call(e, "aten::mul.Tensor", "va", tc_e_mul(e, s, one_minus(e, s)), &n->args[2]);
    return rule(e, n, gs[0], 1, where(e, tc_emit_call(e, "aten::le.Scalar", "va", bx, &n->args[3]), second));
}

tc_status tc_grad_hardswish_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* 1/3 between -3 and 3 */
    tc_value *x = tc_arg_value(n, 1), *third = tc_emit_call(e, "aten::full_like", "vf", x, 1.0 / 3);
    return rule(e, n, gs[0], 1, where(e, tc_emit_call(e, "aten::lt.Scalar", "vi", call1(e, "aten::abs", x), (int64_t)3), third));
}

tc_status tc_grad_log_sigmoid_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* -s (1 - s) */
    tc_value *s = call1(e, "aten::sigmoid", tc_arg_value(n, 1));
    return rule(e, n, gs[0], 1, tc_e_neg(e, tc_e_mul(e, s, one_minus(e, s))));
}

tc_status tc_grad_elu_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* grad_output, alpha, scale, input_scale, is_result, x or y */
    tc_value *x = tc_arg_value(n, 5), *second;
    double alpha = tc_arg_float(n, 1), scale = tc_arg_float(n, 2), in = tc_arg_float(n, 3);
    if (tc_arg_bool(n, 4)) second = tc_emit_call(e, "aten::full_like", "vf", x, in);
    else second = tc_e_muls(e, call1(e, "aten::exp", tc_e_muls(e, x, in)), scale * alpha * in * in);
    return rule(e, n, gs[0], 5, where(e, tc_emit_call(e, "aten::lt.Scalar", "vi", x, (int64_t)0), second));
}

tc_status tc_grad_flat_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) { return rule(e, n, gs[0], 1, NULL); }
