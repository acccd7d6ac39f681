/* Random distributions with parameters in tensors, drawn by rejection sampling: poisson, binomial, gamma, Dirichlet. */
#include "kernel/random_distribution.h"
#include "op/shape.h"

static tc_status shape_sample(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_float(c, 0));
    const tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}

static tc_status shape_binomial(tc_shape_ctx *c) {
    tc_dims d = {0};
    for (int i = 0; i < 2; i++) {
        TC_TRY(tc_sh_need_tensor(c, i));
        if (!tc_is_float(tc_sh_meta(c, i)->dtype))
            return tc_sh_fail_as(c, "ValueError", "binomial only supports floating-point dtypes for %s, got: %s", i ? "prob" : "count",
                                 tc_dtypes[tc_sh_meta(c, i)->dtype].torch);
    }
    if (tc_sh_meta(c, 0)->dtype != tc_sh_meta(c, 1)->dtype)
        return tc_sh_fail(c, "count and prob have different types, expected one (as PyTorch has it)");
    for (int i = 0; i < 2; i++) TC_TRY(tc_sh_broadcast_dims(c, &d, tc_sh_meta(c, i)));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}

/* Expands operands that need broadcasting. */
static tc_status decompose_binomial(tc_emit *e, const tc_node *n) {
    tc_value *v[2] = {tc_arg_value(n, 0), tc_arg_value(n, 1)};
    const tc_meta *m = &n->outs[0]->meta;
    for (int i = 0; i < 2; i++) v[i] = tc_emit_call(e, "aten::expand", "vS", v[i], m->size, m->rank);
    tc_emit_result(e, 0, tc_emit_call(e, "tc::binomial_same", "vv", v[0], v[1]));
    return tc_e_done(e);
}

/* Gradients of rates, counts and probabilities: zeros, as in PyTorch. */
static tc_status grad_zero(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    (void)gs;
    for (int i = 0; i < n->nargs && i < 2; i++)
        if (tc_emit_wants_grad(e, n, i)) tc_e_give(e, n, i, tc_e_zeros_like(e, tc_arg_value(n, i)));
    return tc_e_done(e);
}

#define ROW(SCHEMA, ...) \
    { .schema = SCHEMA, .flags = TC_OP_RANDOM, __VA_ARGS__ }
const tc_op tc_ops_random_distribution[] = {
    ROW("aten::poisson(Tensor self, Generator? generator=None) -> Tensor", .shape = shape_sample, .kernel = &tc_k_poisson, .grad = grad_zero,
        .samples = "poisson(f32[37]:0..30)", .doc = "counts of a Poisson process with the rates of self"),
    ROW("aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", .shape = shape_binomial, .decompose = decompose_binomial,
        .grad = grad_zero, .samples = "binomial(f32[37]:0..90, f32[1]:0..1)", .doc = "successes in count trials of probability prob"),
    ROW("tc::binomial_same(Tensor count, Tensor prob) -> Tensor", .shape = shape_binomial, .kernel = &tc_k_binomial,
        .samples = "binomial_same(f32[37]:0..90, f32[37]:0..1)", .doc = "binomial of equal sizes"),
    ROW("aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", .shape = shape_sample, .kernel = &tc_k_standard_gamma,
        .samples = "_standard_gamma(f32[37]:0.1..9)", .doc = "gamma distributed with the shapes of self and scale 1"),
    ROW("aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", .shape = shape_sample, .kernel = &tc_k_sample_dirichlet,
        .samples = "_sample_dirichlet(f32[5,3]:0.1..9)", .doc = "rows distributed by Dirichlet's law with the concentrations of self"),
    {0},
};
