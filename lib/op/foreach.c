/* Lists of tensors: torch._foreach_NAME applies NAME to each element, with the elements of the other lists beside it. Every row is the same
 * composition; PyTorch's schema and the operator for one tensor follow from the name. */
#include "op/shape.h"

#include <stdio.h>
#include <string.h>

static bool is(const char *a, const char *b) { return !strcmp(a, b); }

/* Argument k for element i: the element of a list, any other argument unchanged. */
static tc_arg element(const tc_node *n, int k, int i) {
    const tc_arg *a = &n->args[k];
    switch (a->kind) {
    case TC_A_VALUES: return (tc_arg){.kind = TC_A_VALUE, .value = a->values[i]};
    case TC_A_FLOATS: return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(a->floats[i])};
    case TC_A_INTS: return (tc_arg){.kind = TC_A_INT, .sym = a->syms[i]};
    case TC_A_BOOLS: return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(a->bools[i])};
    default: return *a;
    }
}
/* The operator for one tensor: the row's base name, with the overload for the types of the row's overload. */
static const char *single(const char *base, const char *overload, char *room, size_t cap) {
    bool numbers = is(overload, "Scalar") || is(overload, "ScalarList");
    const char *suffix = "";
    if (is(base, "maximum") && numbers) base = "clamp_min";
    else if (is(base, "minimum") && numbers) base = "clamp_max";
    else if (is(base, "pow")) suffix = numbers ? ".Tensor_Scalar" : is(overload, "List") ? ".Tensor_Tensor" : ".Scalar";
    else if (is(base, "lerp")) suffix = numbers ? ".Scalar" : ".Tensor";
    else if (is(base, "clamp_min") || is(base, "clamp_max")) suffix = numbers ? "" : ".Tensor";
    else if (*overload && !is(base, "maximum") && !is(base, "minimum") && strncmp(base, "addc", 4)) suffix = ".Tensor";
    snprintf(room, cap, "aten::%s%s", base, suffix);
    return room;
}
static tc_value *one(tc_emit *e, const tc_node *n, const char *base, int i) {
    const tc_schema *s = tc_op_schema(n->op);
    tc_arg a[4];
    char room[64];
    for (int k = 0; k < n->nargs && k < 4; k++) a[k] = element(n, k, i);
    if (is(base, "norm")) return tc_emit_call(e, "aten::linalg_vector_norm", "aa__a", &a[0], &a[1], &a[2]);
    if (is(base, "powsum")) {
        tc_value *x = tc_emit_call(e, "aten::pow.Tensor_Scalar", "va", tc_e1(e, "aten::abs", a[0].value), &a[1]);
        return tc_emit_call(e, "aten::sum", "va", x, &a[2]);
    }
    if (is(base, "zero")) return tc_e_zeros_like(e, a[0].value);
    if (is(base, "copy")) return tc_emit_call(e, "aten::copy", "aa", &a[0], &a[1]);
    if (!strncmp(base, "addc", 4) && is(s->overload, "Tensor")) { /* one factor for each tensor, from the last tensor */
        tc_value *f = tc_emit_call(e, "aten::select.int", "vii", a[3].value, (int64_t)0, (int64_t)i);
        tc_value *v = tc_e2(e, base[4] == 'm' ? "aten::mul.Tensor" : "aten::div.Tensor", tc_e_mul(e, f, a[1].value), a[2].value);
        return tc_e_add(e, a[0].value, v);
    }
    tc_node *m = tc_e_args(e, single(base, s->overload, room, sizeof room), a, n->nargs < 4 ? n->nargs : 4);
    return m ? m->outs[0] : NULL;
}
static tc_status decompose_foreach(tc_emit *e, const tc_node *n) {
    const char *base = tc_op_schema(n->op)->name + strlen("_foreach_");
    int count = -1;
    for (int k = 0; k < n->nargs; k++) {
        const tc_arg *a = &n->args[k];
        bool list = a->kind == TC_A_VALUES || a->kind == TC_A_FLOATS || a->kind == TC_A_INTS || a->kind == TC_A_BOOLS;
        if (!list) continue;
        if (a->n == 0) return tc_e_refuse(n, "Tensor list must have at least one tensor.");
        if (count >= 0 && a->n != count) return tc_e_refuse(n, "Tensor lists must have the same number of tensors, got %d and %d.", count, a->n);
        count = a->n;
    }
    if (count < 0) return tc_e_refuse(n, "Tensor list must have at least one tensor.");
    tc_value **v = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)count);
    for (int i = 0; i < count; i++) v[i] = one(e, n, base, i);
    tc_emit_result(e, 0, tc_e_list(e, v, count));
    return tc_e_done(e);
}

#define EACH(NAME, sample)                                                                                        \
    {                                                                                                             \
        .schema = "aten::" NAME, .shape = tc_shape_decomposed, .decompose = decompose_foreach, .samples = sample, \
        .doc = "the operator of that name, on each tensor"                                                        \
    }
const tc_op tc_ops_foreach[] = {
    EACH("_foreach_abs", "_foreach_abs([f32[3], f32[2,2]])"),
    EACH("_foreach_acos", "_foreach_acos([f32[3]:-0.9..0.9, f32[2,2]:-0.9..0.9])"),
    EACH("_foreach_add.List", "_foreach_add([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_add.Scalar", "_foreach_add([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_add.ScalarList", "_foreach_add([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_add.Tensor", "_foreach_add([f32[3], f32[2,2]], f32[]:0.5..2)"),
    EACH("_foreach_addcdiv.Scalar", "_foreach_addcdiv([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], 0.5)"),
    EACH("_foreach_addcdiv.ScalarList",
         "_foreach_addcdiv([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], [0.5, 2.0])"),
    EACH("_foreach_addcdiv.Tensor",
         "_foreach_addcdiv([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], f32[2])"),
    EACH("_foreach_addcmul.Scalar", "_foreach_addcmul([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], 0.5)"),
    EACH("_foreach_addcmul.ScalarList",
         "_foreach_addcmul([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], [0.5, 2.0])"),
    EACH("_foreach_addcmul.Tensor",
         "_foreach_addcmul([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2], f32[2])"),
    EACH("_foreach_asin", "_foreach_asin([f32[3]:-0.9..0.9, f32[2,2]:-0.9..0.9])"),
    EACH("_foreach_atan", "_foreach_atan([f32[3], f32[2,2]])"),
    EACH("_foreach_ceil", "_foreach_ceil([f32[3], f32[2,2]])"),
    EACH("_foreach_clamp_max.List", "_foreach_clamp_max([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_clamp_max.Scalar", "_foreach_clamp_max([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_clamp_max.ScalarList", "_foreach_clamp_max([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_clamp_min.List", "_foreach_clamp_min([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_clamp_min.Scalar", "_foreach_clamp_min([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_clamp_min.ScalarList", "_foreach_clamp_min([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_clone", "_foreach_clone([f32[3], f32[2,2]])"),
    EACH("_foreach_copy", "_foreach_copy([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_cos", "_foreach_cos([f32[3], f32[2,2]])"),
    EACH("_foreach_cosh", "_foreach_cosh([f32[3], f32[2,2]])"),
    EACH("_foreach_div.List", "_foreach_div([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_div.Scalar", "_foreach_div([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_div.ScalarList", "_foreach_div([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_div.Tensor", "_foreach_div([f32[3], f32[2,2]], f32[]:0.5..2)"),
    EACH("_foreach_erf", "_foreach_erf([f32[3], f32[2,2]])"),
    EACH("_foreach_erfc", "_foreach_erfc([f32[3], f32[2,2]])"),
    EACH("_foreach_exp", "_foreach_exp([f32[3], f32[2,2]])"),
    EACH("_foreach_expm1", "_foreach_expm1([f32[3], f32[2,2]])"),
    EACH("_foreach_floor", "_foreach_floor([f32[3], f32[2,2]])"),
    EACH("_foreach_frac", "_foreach_frac([f32[3], f32[2,2]])"),
    EACH("_foreach_lerp.List", "_foreach_lerp([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_lerp.Scalar", "_foreach_lerp([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], 0.3)"),
    EACH("_foreach_lerp.ScalarList", "_foreach_lerp([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2], [0.5, 0.2])"),
    EACH("_foreach_lgamma", "_foreach_lgamma([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_log", "_foreach_log([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_log10", "_foreach_log10([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_log1p", "_foreach_log1p([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_log2", "_foreach_log2([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_max", "_foreach_max([f32[3], f32[2,2]])"),
    EACH("_foreach_maximum.List", "_foreach_maximum([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_maximum.Scalar", "_foreach_maximum([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_maximum.ScalarList", "_foreach_maximum([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_minimum.List", "_foreach_minimum([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_minimum.Scalar", "_foreach_minimum([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_minimum.ScalarList", "_foreach_minimum([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_mm", "_foreach_mm([f32[2,3]], [f32[3,2]])"),
    EACH("_foreach_mul.List", "_foreach_mul([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_mul.Scalar", "_foreach_mul([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_mul.ScalarList", "_foreach_mul([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_mul.Tensor", "_foreach_mul([f32[3], f32[2,2]], f32[]:0.5..2)"),
    EACH("_foreach_neg", "_foreach_neg([f32[3], f32[2,2]])"),
    EACH("_foreach_norm.Scalar", "_foreach_norm([f32[3], f32[2,2]])"),
    EACH("_foreach_pow.List", "_foreach_pow([f32[3]:0.5..2, f32[2,2]:0.5..2], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_pow.Scalar", "_foreach_pow([f32[3]:0.5..2, f32[2,2]:0.5..2], 0.5)"),
    EACH("_foreach_pow.ScalarAndTensor", "_foreach_pow(2.0, [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_pow.ScalarList", "_foreach_pow([f32[3]:0.5..2, f32[2,2]:0.5..2], [0.5, 2.0])"),
    EACH("_foreach_powsum.Scalar", "_foreach_powsum([f32[3], f32[2,2]])"),
    EACH("_foreach_reciprocal", "_foreach_reciprocal([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_round", "_foreach_round([f32[3], f32[2,2]])"),
    EACH("_foreach_rsqrt", "_foreach_rsqrt([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_sigmoid", "_foreach_sigmoid([f32[3], f32[2,2]])"),
    EACH("_foreach_sign", "_foreach_sign([f32[3], f32[2,2]])"),
    EACH("_foreach_sin", "_foreach_sin([f32[3], f32[2,2]])"),
    EACH("_foreach_sinh", "_foreach_sinh([f32[3], f32[2,2]])"),
    EACH("_foreach_sqrt", "_foreach_sqrt([f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_sub.List", "_foreach_sub([f32[3], f32[2,2]], [f32[3]:0.5..2, f32[2,2]:0.5..2])"),
    EACH("_foreach_sub.Scalar", "_foreach_sub([f32[3], f32[2,2]], 0.5)"),
    EACH("_foreach_sub.ScalarList", "_foreach_sub([f32[3], f32[2,2]], [0.5, 2.0])"),
    EACH("_foreach_tan", "_foreach_tan([f32[3], f32[2,2]])"),
    EACH("_foreach_tanh", "_foreach_tanh([f32[3], f32[2,2]])"),
    EACH("_foreach_trunc", "_foreach_trunc([f32[3], f32[2,2]])"),
    EACH("_foreach_zero", "_foreach_zero([f32[3], f32[2,2]])"),
    {0}};
