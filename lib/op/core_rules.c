/* Compositions of core ATen operators for operators that tc executes as they are (core.c; formulas as in PyTorch's decompositions).
 *
 * A rule computes in the type that the operator computes in, float32 for shorter floats, and rounds once at the end. */
#include "kernel/rnn.h"
#include "op/decompose.h"
#include "op/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)
#define F1(op, a) tc_e1(e, "aten::" op, a)
#define F2(op, a, b) tc_e2(e, "aten::" op, a, b)
#define CMP(op, a, number) ATEN(op ".Scalar", "vf", a, (double)(number))
#define WHERE(c, a, b) tc_e3(e, "aten::where.self", c, a, b)

static tc_value *up(tc_emit *e, tc_value *v) { return v ? tc_e_cast(e, v, tc_dtype_compute(v->meta.dtype)) : NULL; }
static tc_value *scalar(tc_emit *e, double v, tc_dtype d) { return ATEN("scalar_tensor", "fd", v, (int)d); }
static tc_value *like(tc_emit *e, double v, const tc_value *x) { return scalar(e, v, x ? x->meta.dtype : TC_F32); }
static tc_status give(tc_emit *e, const tc_node *n, int i, tc_value *v) {
    tc_emit_result(e, i, tc_e_cast(e, v, n->outs[i]->meta.dtype));
    return tc_e_done(e);
}
static tc_dtype dtype_of(const tc_node *n) { return n->outs[0]->meta.dtype; }
static tc_value *full(tc_emit *e, const tc_node *n, const tc_arg *v) { /* a number argument in the type of the result */
    return ATEN("full", "Iad", NULL, 0, v, (int)dtype_of(n));
}

/* ---- one expression each: x, y and w are the first three arguments ---- */
#define RULE(name, expression)                                   \
    static tc_status core_##name(tc_emit *e, const tc_node *n) { \
        tc_value *x = up(e, tc_arg_value(n, 0));                 \
        return give(e, n, 0, expression);                        \
    }
/* Argument i: a tensor, or a number as tensor. */
static tc_value *given(tc_emit *e, const tc_node *n, int i) { return up(e, tc_arg_meta(n, i) ? tc_arg_value(n, i) : full(e, n, &n->args[i])); }
#define RULE2(name, expression)                                  \
    static tc_status core_##name(tc_emit *e, const tc_node *n) { \
        tc_value *x = given(e, n, 0), *y = given(e, n, 1);       \
        return give(e, n, 0, expression);                        \
    }
#define RULE3(name, expression)                                                 \
    static tc_status core_##name(tc_emit *e, const tc_node *n) {                \
        tc_value *x = given(e, n, 0), *y = given(e, n, 1), *w = given(e, n, 2); \
        return give(e, n, 0, expression);                                       \
    }
static tc_value *abs_of(tc_emit *e, tc_value *x) { return F1("abs", x); }
static tc_value *shift6(tc_emit *e, tc_value *x) { return ATEN("clamp", "vff", tc_e_adds(e, x, 3), 0.0, 6.0); }
static tc_value *soft(tc_emit *e, tc_value *x, double beta, double threshold) {
    tc_value *b = tc_e_muls(e, x, beta);
    return WHERE(CMP("gt", b, threshold), x, tc_e_muls(e, F1("log1p", F1("exp", b)), 1 / beta));
}
static tc_value *number(tc_emit *e, const tc_node *n, int i, tc_value *x) { return like(e, tc_arg_float(n, i), x); }

RULE(silu, tc_e_mul(e, x, F1("sigmoid", x)))
RULE(square, tc_e_mul(e, x, x))
RULE(isfinite, F1("logical_not", F2("logical_or", F1("isinf", x), F1("isnan", x))))
RULE(frac, tc_e_sub(e, x, F1("trunc", x)))
RULE(relu6, ATEN("hardtanh", "vff", x, 0.0, 6.0))
RULE(hardsigmoid, ATEN("div.Scalar", "vf", shift6(e, x), 6.0))
RULE(hardswish, tc_e_mul(e, x, ATEN("div.Scalar", "vf", shift6(e, x), 6.0)))
RULE(softplus, soft(e, x, tc_arg_float(n, 1), tc_arg_float(n, 2)))
RULE(mish, tc_e_mul(e, x, F1("tanh", soft(e, x, 1, 20))))
RULE(hardshrink, WHERE(CMP("le", abs_of(e, x), tc_arg_float(n, 1)), like(e, 0, x), x))
RULE(softshrink,
     WHERE(CMP("gt", abs_of(e, x), tc_arg_float(n, 1)), tc_e_sub(e, x, tc_e_muls(e, F1("sign", x), tc_arg_float(n, 1))), tc_e_muls(e, x, 0)))
RULE(threshold, WHERE(ATEN("le.Scalar", "va", x, &n->args[1]), full(e, n, &n->args[2]), x))
RULE(sinc, WHERE(CMP("eq", x, 0), like(e, 1, x), tc_e_div(e, F1("sin", tc_e_muls(e, x, M_PI)), tc_e_muls(e, x, M_PI))))
RULE2(prelu, WHERE(CMP("gt", x, 0), x, tc_e_mul(e, x, y)))
RULE2(hypot, F1("sqrt", tc_e_add(e, tc_e_mul(e, x, x), tc_e_mul(e, y, y))))
RULE2(logaddexp, WHERE(F2("logical_and", F1("isinf", x), F2("eq.Tensor", x, y)), x,
                       tc_e_add(e, F2("maximum", x, y), F1("log1p", F1("exp", tc_e_neg(e, abs_of(e, tc_e_sub(e, x, y))))))))
RULE2(logaddexp2,
      WHERE(F2("logical_and", F1("isinf", x), F2("eq.Tensor", x, y)), x,
            tc_e_add(e, F2("maximum", x, y), tc_e_muls(e, F1("log1p", F1("exp", tc_e_muls(e, abs_of(e, tc_e_sub(e, x, y)), -M_LN2))), M_LOG2E))))
RULE(isposinf, CMP("eq", x, INFINITY))
RULE(isneginf, CMP("eq", x, -INFINITY))
RULE2(heaviside, WHERE(CMP("eq", x, 0), y, WHERE(F1("isnan", x), like(e, 0, x), tc_e_cast(e, CMP("gt", x, 0), dtype_of(n)))))
static tc_value *signed_as(tc_emit *e, tc_value *x, tc_value *y) {
    return WHERE(CMP("lt", WHERE(CMP("eq", y, 0), F1("reciprocal", y), y), 0), tc_e_neg(e, abs_of(e, x)), abs_of(e, x));
}
static tc_value *in_type(tc_emit *e, const tc_node *n, tc_value *x) { return tc_e_cast(e, x, tc_dtype_compute(dtype_of(n))); }
RULE2(copysign, signed_as(e, in_type(e, n, x), in_type(e, n, y)))
RULE2(floor_divide, ATEN("div.Tensor_mode", "vvt", x, y, "floor"))
static tc_value *times_value(tc_emit *e, const tc_node *n, tc_value *x) { /* argument 3, cut to an integer where the result is one */
    return tc_is_float(dtype_of(n)) || tc_is_complex(dtype_of(n)) ? ATEN("mul.Scalar", "va", x, &n->args[3])
                                                                  : tc_e_mul(e, x, full(e, n, &n->args[3]));
}
RULE3(addcmul, tc_e_add(e, x, times_value(e, n, tc_e_mul(e, y, w))))
RULE3(addcdiv, tc_e_add(e, x, ATEN("mul.Scalar", "va", tc_e_div(e, y, w), &n->args[3])))

static tc_status log_times(tc_emit *e, const tc_node *n, const char *log) {
    tc_value *x = in_type(e, n, given(e, n, 0)), *y = in_type(e, n, given(e, n, 1));
    tc_value *r = WHERE(CMP("eq", x, 0), like(e, 0, x), tc_e_mul(e, x, tc_e1(e, log, y)));
    return give(e, n, 0, WHERE(F1("isnan", y), like(e, NAN, x), r));
}
static tc_status core_xlogy(tc_emit *e, const tc_node *n) { return log_times(e, n, "aten::log"); }
static tc_status core_xlog1py(tc_emit *e, const tc_node *n) { return log_times(e, n, "aten::log1p"); }
static tc_value *mix(tc_emit *e, tc_value *a, tc_value *b, tc_value *w) { /* exact at both ends */
    tc_value *d = tc_e_sub(e, b, a), *near = tc_e_add(e, a, tc_e_mul(e, w, d));
    return WHERE(CMP("lt", abs_of(e, w), 0.5), near, tc_e_sub(e, b, tc_e_mul(e, d, ATEN("rsub.Scalar", "vi", w, (int64_t)1))));
}
RULE2(lerp_scalar, mix(e, x, y, number(e, n, 2, x)))
RULE3(lerp_tensor, mix(e, x, y, w))

static tc_status core_log_sigmoid(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0)), *z = F1("exp", tc_e_neg(e, abs_of(e, x)));
    TC_TRY(give(e, n, 0, tc_e_sub(e, F2("minimum", x, like(e, 0, x)), F1("log1p", z))));
    return give(e, n, 1, z);
}
static tc_status core_logit(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0));
    double eps = tc_arg_is_none(n, 1) ? -1 : tc_arg_float(n, 1);
    if (eps >= 0) x = ATEN("clamp", "vff", x, eps, 1 - eps);
    return give(e, n, 0, F1("log", tc_e_div(e, x, tc_e_adds(e, tc_e_neg(e, x), 1))));
}
static tc_status core_round_decimals(tc_emit *e, const tc_node *n) {
    tc_value *x = up(e, tc_arg_value(n, 0));
    int64_t k = tc_arg_int(n, 1);
    double scale = pow(10, (double)(k < 0 ? -k : k));
    if (k < 0) return give(e, n, 0, tc_e_muls(e, F1("round", ATEN("div.Scalar", "vf", x, scale)), scale));
    return give(e, n, 0, ATEN("div.Scalar", "vf", F1("round", tc_e_muls(e, x, scale)), scale));
}
static tc_status core_nan_to_num(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_dtype d = x->meta.dtype;
    if (!tc_is_float(d)) {
        tc_emit_result(e, 0, F1("clone", x));
        return tc_e_done(e);
    }
    double with[3] = {0, tc_dtype_max(d), -tc_dtype_max(d)};
    for (int i = 0; i < 3; i++)
        if (!tc_arg_is_none(n, 1 + i)) with[i] = tc_arg_float(n, 1 + i);
    tc_value *r = WHERE(F1("isnan", x), like(e, with[0], x), x);
    r = WHERE(CMP("eq", x, INFINITY), like(e, with[1], x), r);
    return give(e, n, 0, WHERE(CMP("eq", x, -INFINITY), like(e, with[2], x), r));
}

/* ---- choices between tensors and numbers ---- */
static tc_value *operand(tc_emit *e, const tc_node *n, int i) {
    tc_value *v = tc_arg_meta(n, i) ? tc_arg_value(n, i) : NULL;
    return v ? tc_e_cast(e, v, dtype_of(n)) : full(e, n, &n->args[i]);
}
static tc_status core_where(tc_emit *e, const tc_node *n) { return give(e, n, 0, WHERE(tc_arg_value(n, 0), operand(e, n, 1), operand(e, n, 2))); }
static tc_status core_masked_fill(tc_emit *e, const tc_node *n) {
    return give(e, n, 0, WHERE(tc_arg_value(n, 1), operand(e, n, 2), tc_arg_value(n, 0)));
}
static tc_status core_rsub(tc_emit *e, const tc_node *n) { /* self, other, alpha: other - alpha self */
    tc_value *x = tc_e_cast(e, tc_arg_value(n, 0), dtype_of(n));
    tc_value *scaled = tc_scalar_is(tc_arg_scalar(n, 2), 1) ? x : ATEN("mul.Scalar", "va", x, &n->args[2]);
    return give(e, n, 0, tc_e_sub(e, operand(e, n, 1), scaled));
}
static tc_status core_clamp_min(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("clamp", "va", tc_arg_value(n, 0), &n->args[1])); }
static tc_status core_clamp_max(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("clamp", "v_a", tc_arg_value(n, 0), &n->args[1])); }
static tc_status core_maximum(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("maximum", tc_arg_value(n, 0), tc_arg_value(n, 1))); }
static tc_status core_minimum(tc_emit *e, const tc_node *n) { return give(e, n, 0, F2("minimum", tc_arg_value(n, 0), tc_arg_value(n, 1))); }

/* ---- forms of one operator ---- */
static tc_status core_transpose(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t order[TC_MAX_RANK], rank = x->meta.rank;
    if (rank == 0) return give(e, n, 0, F1("alias", x));
    int a = tc_wrap(tc_arg_int(n, 1), (int)rank), b = tc_wrap(tc_arg_int(n, 2), (int)rank);
    for (int d = 0; d < rank; d++) order[d] = d == a ? b : d == b ? a : d;
    tc_emit_result(e, 0, ATEN("permute", "vI", x, order, (int)rank));
    return tc_e_done(e);
}
static tc_status core_view(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("view", "va", tc_arg_value(n, 0), &n->args[1]));
    return tc_e_done(e);
}
/* Copies first if the strides may not allow the view. */
static tc_status core_reshape(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    tc_arg contiguous = {.kind = TC_A_MEMFORMAT, .code = 1};
    const tc_meta *m = &n->outs[0]->meta;
    if (x->meta.stride) x = ATEN("clone", "va", x, &contiguous);
    tc_emit_result(e, 0, ATEN("view", "vS", x, m->size, m->rank));
    return tc_e_done(e);
}
static tc_status core_alias(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, F1("alias", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status core_clone(tc_emit *e, const tc_node *n) { return give(e, n, 0, F1("clone", tc_arg_value(n, 0))); }
static tc_status core_index(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("index.Tensor", "aa", &n->args[0], &n->args[1]));
    return tc_e_done(e);
}
static tc_status core_index_put(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, ATEN("index_put", "aaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status core_sum(tc_emit *e, const tc_node *n) {
    return give(e, n, 0, ATEN("sum.dim_IntList", "vIba", tc_arg_value(n, 0), NULL, 0, 0, &n->args[1]));
}
static tc_status core_arange(tc_emit *e, const tc_node *n) { /* end, or start and end, and their options */
    bool start = !strcmp(tc_op_schema(n->op)->overload, "start");
    tc_arg zero = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(0)}, one = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(1)};
    tc_emit_result(e, 0, ATEN("arange.start_step", "aaad", start ? &n->args[0] : &zero, &n->args[start], &one, (int)dtype_of(n)));
    return tc_e_done(e);
}
static tc_status filled(tc_emit *e, const tc_node *n, const tc_arg *v) {
    const tc_meta *m = &n->outs[0]->meta;
    tc_emit_result(e, 0, ATEN("full", "Sad", m->size, m->rank, v, (int)m->dtype));
    return tc_e_done(e);
}
static tc_status core_ones(tc_emit *e, const tc_node *n) {
    bool b = dtype_of(n) == TC_BOOL;
    return filled(e, n, &(tc_arg){.kind = TC_A_SCALAR, .scalar = b ? tc_scalar_bool(true) : tc_scalar_int(1)});
}
static tc_status core_zeros(tc_emit *e, const tc_node *n) {
    bool b = dtype_of(n) == TC_BOOL;
    return filled(e, n, &(tc_arg){.kind = TC_A_SCALAR, .scalar = b ? tc_scalar_bool(false) : tc_scalar_int(0)});
}
static tc_status core_empty(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    tc_emit_result(e, 0, ATEN("empty.memory_format", "Sd", m->size, m->rank, (int)m->dtype));
    return tc_e_done(e);
}
static tc_status core_squeeze(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int64_t dims[TC_MAX_RANK];
    int count = 0;
    for (int d = 0; d < x->meta.rank; d++)
        if (tc_sym_is_int(x->meta.size[d], 1)) dims[count++] = d;
    tc_emit_result(e, 0, ATEN("squeeze.dims", "vI", x, dims, count));
    return tc_e_done(e);
}
static tc_status core_new_full(tc_emit *e, const tc_node *n) { return filled(e, n, &n->args[2]); }

/* ---- grids of positions ---- */
static tc_value *positions(tc_emit *e, tc_sym size, bool column) {
    tc_value *i = ATEN("arange", "sd", size, (int)TC_I64);
    return column ? ATEN("unsqueeze", "vi", i, (int64_t)-1) : i;
}
static tc_status core_eye(tc_emit *e, const tc_node *n) {
    const tc_meta *m = &n->outs[0]->meta;
    return give(e, n, 0, F2("eq.Tensor", positions(e, m->size[0], true), positions(e, m->size[1], false)));
}
static tc_status core_triangle(tc_emit *e, const tc_node *n) { /* self, diagonal */
    tc_value *x = tc_arg_value(n, 0);
    const tc_sym *size = x->meta.size + x->meta.rank - 2;
    bool lower = tc_op_schema(n->op)->name[3] == 'l';
    tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_arg_sym(n, 1)};
    int64_t v;
    if (tc_sym_const_int(by.sym, &v)) by = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(v)};
    tc_value *rise = tc_e_sub(e, positions(e, size[1], false), positions(e, size[0], true));
    tc_value *keep = lower ? ATEN("le.Scalar", "va", rise, &by) : ATEN("ge.Scalar", "va", rise, &by);
    return give(e, n, 0, WHERE(keep, x, like(e, 0, x)));
}
/* Evenly spaced numbers from argument 0 to argument 1, numbers or tensors, in type t: from both ends to the middle. */
static tc_value *spaced(tc_emit *e, const tc_node *n, tc_dtype t) {
    tc_symctx *s = tc_e_sym(e);
    const tc_sym one = tc_sym_int(s, 1), steps = tc_arg_sym(n, 2), last = tc_sym_sub(s, steps, one);
    const tc_sym parts = tc_sym_max(s, last, one), half = tc_sym_max(s, tc_sym_floordiv(s, steps, tc_sym_int(s, 2)), one);
    tc_value *i = ATEN("arange", "sd", steps, (int)TC_I64), *f = tc_e_cast(e, i, t), *end[2], *step;
    double number[2];
    int64_t known;
    for (int k = 0; k < 2; k++) {
        end[k] = tc_arg_value(n, k);
        number[k] = end[k] ? 0 : tc_arg_float(n, k);
        end[k] = end[k] ? tc_e_cast(e, end[k], t) : scalar(e, number[k], t);
    }
    if (tc_arg_meta(n, 0) || tc_arg_meta(n, 1) || !tc_sym_const_int(parts, &known))
        step = ATEN("div.Scalar", "vs", tc_e_sub(e, end[1], end[0]), parts);
    else step = scalar(e, (number[1] - number[0]) / (double)known, t);
    tc_value *up_ = tc_e_add(e, tc_e_mul(e, f, step), end[0]);
    tc_value *down = tc_e_sub(e, end[1], tc_e_mul(e, ATEN("add.Scalar", "vs", tc_e_neg(e, f), last), step));
    return WHERE(ATEN("lt.Scalar", "vs", i, half), up_, down);
}
static tc_status core_linspace(tc_emit *e, const tc_node *n) { /* start, end, steps */
    return give(e, n, 0, spaced(e, n, tc_is_float(dtype_of(n)) ? tc_dtype_compute(dtype_of(n)) : TC_F64));
}
static tc_status core_logspace(tc_emit *e, const tc_node *n) { /* start, end, steps, base */
    return give(e, n, 0, ATEN("pow.Scalar", "av", &n->args[3], spaced(e, n, tc_is_float(dtype_of(n)) ? tc_dtype_compute(dtype_of(n)) : TC_F64)));
}

/* ---- reductions ---- */
static tc_status core_all(tc_emit *e, const tc_node *n) { /* self, or self, dim, keepdim */
    tc_value *no = F1("logical_not", tc_arg_value(n, 0));
    const char *form = tc_op_schema(n->op)->overload;
    no = !*form                 ? F1("any", no)
         : !strcmp(form, "dim") ? ATEN("any.dim", "vaa", no, &n->args[1], &n->args[2])
                                : ATEN("any.dims", "vaa", no, &n->args[1], &n->args[2]);
    return give(e, n, 0, F1("logical_not", no));
}
static tc_status core_max(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("amax", "vI", tc_arg_value(n, 0), NULL, 0)); }
static tc_status core_min(tc_emit *e, const tc_node *n) { return give(e, n, 0, ATEN("amin", "vI", tc_arg_value(n, 0), NULL, 0)); }
static tc_status core_aminmax(tc_emit *e, const tc_node *n) { /* self, dim, keepdim */
    int64_t dim = tc_arg_is_none(n, 1) ? 0 : tc_arg_int(n, 1);
    int count = !tc_arg_is_none(n, 1);
    tc_emit_result(e, 0, ATEN("amin", "vIb", tc_arg_value(n, 0), &dim, count, tc_arg_bool(n, 2)));
    tc_emit_result(e, 1, ATEN("amax", "vIb", tc_arg_value(n, 0), &dim, count, tc_arg_bool(n, 2)));
    return tc_e_done(e);
}
static tc_status core_logsumexp(tc_emit *e, const tc_node *n) { /* self, dim, keepdim */
    tc_value *x = up(e, tc_arg_value(n, 0));
    if (!tc_is_float(x->meta.dtype)) x = tc_e_cast(e, x, TC_F32);
    tc_value *top = ATEN("amax", "vab", x, &n->args[1], 1);
    top = WHERE(CMP("eq", abs_of(e, top), INFINITY), like(e, 0, top), top);
    tc_value *sum = ATEN("sum.dim_IntList", "vaa", F1("exp", tc_e_sub(e, x, top)), &n->args[1], &n->args[2]);
    if (!tc_arg_bool(n, 2)) top = ATEN("sum.dim_IntList", "va", top, &n->args[1]);
    return give(e, n, 0, tc_e_add(e, F1("log", sum), top));
}
static tc_status core_count_nonzero(tc_emit *e, const tc_node *n) {
    tc_value *is = ATEN("ne.Scalar", "vi", tc_arg_value(n, 0), (int64_t)0);
    int64_t dim = n->args[1].kind == TC_A_INT ? tc_arg_int(n, 1) : 0;
    if (n->args[1].kind == TC_A_INTS) return give(e, n, 0, ATEN("sum.dim_IntList", "va", is, &n->args[1]));
    return give(e, n, 0, ATEN("sum.dim_IntList", "vI", is, &dim, n->args[1].kind == TC_A_INT));
}
static tc_status core_nansum(tc_emit *e, const tc_node *n) { /* self, dim, keepdim, dtype */
    tc_value *x = tc_arg_value(n, 0);
    return give(e, n, 0, ATEN("sum.dim_IntList", "vaaa", WHERE(F1("isnan", x), like(e, 0, x), x), &n->args[1], &n->args[2], &n->args[3]));
}
/* var and std, with the mean or not: self, unbiased; self, dim, unbiased, keepdim; self, dim, correction, keepdim */
static tc_status core_variance(tc_emit *e, const tc_node *n) {
    const char *form = tc_op_schema(n->op)->overload, *name = tc_op_schema(n->op)->name;
    tc_arg all = {.kind = TC_A_NONE}, flat = {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}, c;
    const tc_arg *dim = *form ? &n->args[1] : &all, *keep = *form ? &n->args[3] : &flat;
    if (!strcmp(form, "correction")) c = n->args[2];
    else c = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(tc_arg_bool(n, *form ? 2 : 1))};
    tc_value *x = up(e, tc_arg_value(n, 0)), *v = ATEN("var.correction", "vaaa", x, dim, &c, keep);
    TC_TRY(give(e, n, 0, name[0] == 's' ? F1("sqrt", v) : v));
    return n->nouts > 1 ? give(e, n, 1, ATEN("mean.dim", "vaa", x, dim, keep)) : NULL;
}
static tc_status core_vector_norm(tc_emit *e, const tc_node *n) { /* self, ord, dim, keepdim, dtype */
    tc_value *x = tc_arg_value(n, 0), *r;
    double p = tc_arg_float(n, 1);
    if (!tc_arg_is_none(n, 4)) x = tc_e_cast(e, x, tc_arg_dtype(n, 4, x->meta.dtype));
    x = abs_of(e, up(e, x));
    const tc_arg *dim = &n->args[2], *keep = &n->args[3], none = {.kind = TC_A_INTS};
    if (isinf(p)) {
        if (tc_arg_is_none(n, 2)) dim = &none;
        return give(e, n, 0, p > 0 ? ATEN("amax", "vaa", x, dim, keep) : ATEN("amin", "vaa", x, dim, keep));
    }
    r = p == 0 ? tc_e_cast(e, CMP("ne", x, 0), x->meta.dtype) : p == 1 ? x : p == 2 ? tc_e_mul(e, x, x) : ATEN("pow.Tensor_Scalar", "vf", x, p);
    r = ATEN("sum.dim_IntList", "vaa", r, dim, keep);
    return give(e, n, 0, p == 0 || p == 1 ? r : p == 2 ? F1("sqrt", r) : ATEN("pow.Tensor_Scalar", "vf", r, 1 / p));
}

/* ---- elements picked and written ---- */
/* self, dim, index: self[:, index] = source. dim is moved to the front, where every back end can write by index. */
static tc_status put_along(tc_emit *e, const tc_node *n, tc_value *source, bool accumulate) {
    tc_value *x = tc_arg_value(n, 0), *index = tc_arg_value(n, 2);
    const int64_t d = x->meta.rank ? tc_wrap(tc_arg_int(n, 1), x->meta.rank) : 0, front = 0;
    const bool number = !x->meta.rank; /* a tensor without dimensions is treated as a row of one */
    if (number) x = ATEN("unsqueeze", "vi", x, front);
    if (index->meta.rank == 0) index = ATEN("unsqueeze", "vi", index, front);
    if (d > 0) x = ATEN("transpose.int", "vii", x, front, d);
    if (d > 0 && source && source->meta.rank > d) source = ATEN("transpose.int", "vii", source, front, d);
    tc_value *y = ATEN("index_put", "vVvb", x, &index, 1, source, accumulate);
    tc_emit_result(e, 0, number ? ATEN("select.int", "vii", y, front, front) : d > 0 ? ATEN("transpose.int", "vii", y, front, d) : y);
    return tc_e_done(e);
}
static tc_status core_index_copy(tc_emit *e, const tc_node *n) { return put_along(e, n, tc_arg_value(n, 3), false); }
static tc_status core_index_fill(tc_emit *e, const tc_node *n) { return put_along(e, n, full(e, n, &n->args[3]), false); }
static tc_status core_index_add(tc_emit *e, const tc_node *n) {
    tc_value *v = tc_arg_value(n, 3);
    return put_along(e, n, tc_scalar_is(tc_arg_scalar(n, 4), 1) ? v : ATEN("mul.Scalar", "va", v, &n->args[4]), true);
}
static tc_status core_masked_select(tc_emit *e, const tc_node *n) {
    tc_value *both[2] = {tc_arg_value(n, 0), tc_arg_value(n, 1)};
    tc_value *l = ATEN("broadcast_tensors", "V", both, 2);
    if (!l) return tc_e_done(e);
    tc_emit_result(e, 0, ATEN("index.Tensor", "vV", l->list[0], &l->list[1], 1));
    return tc_e_done(e);
}
static tc_status core_unfold(tc_emit *e, const tc_node *n) { /* self, dimension, size, step */
    tc_value *x = tc_arg_value(n, 0);
    if (x->meta.rank == 0) /* a row of one element: its only piece has one element or none */
        return give(e, n, 0, ATEN("slice.Tensor", "viii", ATEN("unsqueeze", "vi", x, (int64_t)0), (int64_t)0, (int64_t)0, tc_arg_int(n, 2)));
    int rank = x->meta.rank, d = tc_wrap(tc_arg_int(n, 1), rank);
    tc_sym size[TC_MAX_RANK + 1], windows = n->outs[0]->meta.size[d];
    int64_t order[TC_MAX_RANK + 1];
    tc_value *begin = ATEN("mul.Scalar", "vi", positions(e, windows, true), tc_arg_int(n, 3));
    tc_value *at = tc_e_add(e, begin, ATEN("arange", "id", tc_arg_int(n, 2), (int)TC_I64));
    for (int k = 0; k <= rank; k++) {
        size[k] = k < d ? x->meta.size[k] : k == d ? windows : k == d + 1 ? tc_sym_int(tc_e_sym(e), tc_arg_int(n, 2)) : x->meta.size[k - 1];
        order[k] = k <= d ? k : k < rank ? k + 1 : d + 1;
    }
    tc_value *y = ATEN("index_select", "viv", x, (int64_t)d, ATEN("reshape", "vI", at, (int64_t[]){-1}, 1));
    tc_emit_result(e, 0, ATEN("permute", "vI", ATEN("reshape", "vS", y, size, rank + 1), order, rank + 1));
    return tc_e_done(e);
}
static tc_status core_pad_circular(tc_emit *e, const tc_node *n) { /* self, pad: pairs from the last dimension on */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    for (int k = 0; k + 1 < n->args[1].n; k += 2) {
        const int d = x->meta.rank - 1 - k / 2;
        const tc_sym size = x->meta.size[d], before = n->args[1].syms[k], after = n->args[1].syms[k + 1];
        tc_value *i = positions(e, tc_sym_add(s, size, tc_sym_add(s, before, after)), false);
        i = ATEN("remainder.Scalar", "vs", ATEN("sub.Scalar", "vs", i, before), size);
        x = ATEN("index_select", "viv", x, (int64_t)d, i);
    }
    tc_emit_result(e, 0, x);
    return tc_e_done(e);
}
static tc_status core_baddbmm(tc_emit *e, const tc_node *n) { /* self, batch1, batch2, beta, alpha */
    tc_value *x = tc_arg_value(n, 0), *p = F2("bmm", tc_arg_value(n, 1), tc_arg_value(n, 2));
    if (!tc_scalar_is(tc_arg_scalar(n, 4), 1)) p = ATEN("mul.Scalar", "va", p, &n->args[4]);
    if (tc_scalar_is(tc_arg_scalar(n, 3), 0)) return give(e, n, 0, p);
    if (!tc_scalar_is(tc_arg_scalar(n, 3), 1)) x = ATEN("mul.Scalar", "va", x, &n->args[3]);
    return give(e, n, 0, tc_e_add(e, x, p));
}

/* ---- networks ---- */
/* self [C], [N, C] or [N, C, H, W], target, weight, reduction, ignore_index: loss and total weight */
static tc_status core_nll(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    int64_t reduction = tc_arg_int(n, 3), ignore = tc_arg_int(n, 4), class = x->meta.rank > 1;
    tc_value *valid = ATEN("ne.Scalar", "vi", t, ignore), *safe = WHERE(valid, t, like(e, 0, t));
    tc_value *at = ATEN("unsqueeze", "vi", safe, class), *zero = like(e, 0, x);
    tc_value *loss = tc_e_neg(e, ATEN("squeeze.dim", "vi", ATEN("gather", "viv", x, class, at), class)), *weights = NULL, *total;
    if (w)
        weights = ATEN("reshape", "vS", ATEN("index_select", "viv", w, (int64_t)0, ATEN("reshape", "vI", safe, (int64_t[]){-1}, 1)), t->meta.size,
                       t->meta.rank);
    if (w) loss = tc_e_mul(e, loss, weights);
    loss = WHERE(valid, loss, zero);
    total = ATEN("sum.dim_IntList", "vI", w ? WHERE(valid, weights, zero) : tc_e_cast(e, valid, x->meta.dtype), NULL, 0);
    bool single = n->outs[0]->meta.rank == loss->meta.rank && reduction == 0;
    if (!single) loss = ATEN("sum.dim_IntList", "vI", loss, NULL, 0);
    if (reduction == 1) loss = tc_e_div(e, loss, total);
    TC_TRY(give(e, n, 0, loss));
    return give(e, n, 1, reduction == 0 ? like(e, 0, x) : total);
}
static tc_value *column(tc_emit *e, const tc_value *x, tc_value *v) { /* a vector of channels against [N, C, ...] */
    tc_sym size[TC_MAX_RANK];
    for (int d = 0; d < x->meta.rank; d++) size[d] = d == 1 ? x->meta.size[1] : tc_sym_int(tc_e_sym(e), 1);
    return ATEN("reshape", "vS", v, size, x->meta.rank);
}
static tc_status core_batch_norm(tc_emit *e, const tc_node *n) { /* input, weight, bias, running_mean, running_var, training, momentum, eps */
    tc_value *x = tc_arg_value(n, 0), *w = tc_arg_value(n, 1), *b = tc_arg_value(n, 2), *rm = tc_arg_value(n, 3), *rv = tc_arg_value(n, 4);
    double m = tc_arg_float(n, 6);
    int64_t dims[TC_MAX_RANK];
    int count = 0;
    tc_value *f = up(e, x);
    for (int d = 0; d < x->meta.rank; d++)
        if (d != 1) dims[count++] = d;
    bool training = tc_arg_bool(n, 5);
    tc_arg none = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(0)}, one = {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(1)};
    tc_value *mean = training ? ATEN("mean.dim", "vI", f, dims, count) : up(e, rm);
    tc_value *var = training ? ATEN("var.correction", "vIa", f, dims, count, &none) : up(e, rv);
    tc_value *inverse = F1("rsqrt", tc_e_adds(e, var, tc_arg_float(n, 7)));
    tc_value *y = tc_e_mul(e, tc_e_sub(e, f, column(e, x, mean)), column(e, x, inverse));
    if (w) y = tc_e_mul(e, y, column(e, x, up(e, w)));
    if (b) y = tc_e_add(e, y, column(e, x, up(e, b)));
    TC_TRY(give(e, n, 0, y));
    int64_t none_at = 0;
    for (int i = 1; i <= 2; i++) {
        bool empty = n->outs[i]->meta.rank == 1 && tc_sym_is_int(n->outs[i]->meta.size[0], 0) && !tc_sym_is_int(x->meta.size[1], 0);
        TC_TRY(give(e, n, i, empty ? ATEN("full", "Ifd", &none_at, 1, 0.0, (int)TC_F32) : i == 1 ? mean : inverse));
    }
    tc_value *unbiased = training ? ATEN("var.correction", "vIa", f, dims, count, &one) : NULL;
    tc_value *nm = training ? tc_e_add(e, tc_e_muls(e, mean, m), tc_e_muls(e, rm, 1 - m)) : rm;
    tc_value *nv = training ? tc_e_add(e, tc_e_muls(e, unbiased, m), tc_e_muls(e, rv, 1 - m)) : rv;
    TC_TRY(give(e, n, 3, nm));
    return give(e, n, 4, nv);
}
static tc_status core_attention(tc_emit *e, const tc_node *n) { /* query, key, value, dropout_p, is_causal, attn_mask, scale: output, logsumexp */
    tc_value *q = up(e, tc_arg_value(n, 0)), *k = up(e, tc_arg_value(n, 1)), *v = up(e, tc_arg_value(n, 2)), *mask = tc_arg_value(n, 5);
    int r = q->meta.rank;
    int64_t width, last = -1;
    if (!tc_sym_const_int(q->meta.size[r - 1], &width) && tc_arg_is_none(n, 6))
        return tc_error(TC_UNSUPPORTED, "attention of a symbolic width has no core form");
    double scale = tc_arg_is_none(n, 6) ? 1 / sqrt((double)width) : tc_arg_float(n, 6);
    int64_t heads, groups; /* grouped query attention: each head of keys and values serves several heads of the query */
    if (r == 4 && tc_sym_const_int(q->meta.size[1], &heads) && tc_sym_const_int(k->meta.size[1], &groups) && groups > 0 && groups < heads) {
        k = ATEN("repeat_interleave.self_int", "vii", k, heads / groups, (int64_t)1);
        v = ATEN("repeat_interleave.self_int", "vii", v, heads / groups, (int64_t)1);
    }
    tc_value *s = tc_e_muls(e, F2("matmul", q, ATEN("transpose.int", "vii", k, (int64_t)-2, (int64_t)-1)), scale);
    if (tc_arg_bool(n, 4)) {
        tc_value *rise = tc_e_sub(e, positions(e, k->meta.size[r - 2], false), positions(e, q->meta.size[r - 2], true));
        s = WHERE(CMP("le", rise, 0), s, like(e, -INFINITY, s));
    }
    if (mask && mask->meta.dtype == TC_BOOL) s = WHERE(mask, s, like(e, -INFINITY, s));
    else if (mask) s = tc_e_add(e, s, tc_e_cast(e, mask, s->meta.dtype));
    tc_value *top = ATEN("amax", "vIb", s, &last, 1, 1);
    top = WHERE(CMP("eq", top, -INFINITY), like(e, 0, top), top);
    tc_value *p = F1("exp", tc_e_sub(e, s, top)), *sum = ATEN("sum.dim_IntList", "vIb", p, &last, 1, 1);
    tc_value *some = WHERE(CMP("eq", sum, 0), like(e, 1, sum), sum); /* a row without any allowed key gives zeros */
    TC_TRY(give(e, n, 0, F2("matmul", tc_e_div(e, p, some), v)));
    return give(e, n, 1, ATEN("squeeze.dim", "vi", tc_e_add(e, F1("log", sum), top), last));
}
static tc_value *part(tc_emit *e, tc_value *g, int64_t i, int64_t hidden) {
    return ATEN("slice.Tensor", "viii", g, (int64_t)1, i * hidden, (i + 1) * hidden);
}
/* mkldnn_rnn_layer unrolled: input [T, B, I], w_ih, w_hh, b_ih, b_hh, hx, cx, reverse, ..., mode, hidden. An LSTM of a 16-bit type computes in
 * float32 except for h between steps. */
static tc_status core_rnn(tc_emit *e, const tc_node *n) {
    const int64_t mode = tc_arg_int(n, 9), hidden = tc_arg_int(n, 10);
    const tc_dtype d = n->outs[0]->meta.dtype, work = (mode == TC_RNN_LSTM ? n->outs[3] : tc_arg_value(n, 0))->meta.dtype;
    const tc_dtype held = mode == TC_RNN_LSTM ? work : d; /* type of h within a step */
    tc_value *v[7], *old_c = tc_arg_value(n, 6);
    for (int i = 0; i < 7; i++) v[i] = tc_e_cast(e, tc_arg_value(n, i), i < 5 ? work : held);
    tc_value *x = v[0], *h = v[5], *c = v[6];
    int64_t steps;
    const tc_meta *last = &n->outs[1]->meta, *cell = &n->outs[2]->meta, *space = &n->outs[3]->meta;
    if (!tc_sym_const_int(x->meta.size[0], &steps) || steps < 1)
        return tc_error(TC_UNSUPPORTED, "a recurrent layer over a symbolic length has no core form");
    tc_sym flat[2] = {x->meta.size[1], tc_sym_int(tc_e_sym(e), hidden)};
    tc_value **hs = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)steps);
    tc_value *all = ATEN("linear", "vvv", x, v[1], v[3]);
    h = ATEN("reshape", "vS", h, flat, 2), c = mode == TC_RNN_LSTM ? ATEN("reshape", "vS", c, flat, 2) : NULL;
    for (int64_t k = 0; k < steps; k++) {
        int64_t t = tc_arg_bool(n, 7) ? steps - 1 - k : k;
        tc_value *a = ATEN("select.int", "vii", all, (int64_t)0, t), *b = ATEN("linear", "vvv", tc_e_cast(e, h, work), v[2], v[4]),
                 *g = tc_e_add(e, a, b);
        if (mode == TC_RNN_LSTM) {
            tc_value *i = F1("sigmoid", part(e, g, 0, hidden)), *f = F1("sigmoid", part(e, g, 1, hidden));
            tc_value *u = F1("tanh", part(e, g, 2, hidden)), *o = F1("sigmoid", part(e, g, 3, hidden));
            c = tc_e_add(e, tc_e_mul(e, f, c), tc_e_mul(e, i, u));
            h = tc_e_mul(e, o, F1("tanh", c));
        } else if (mode == TC_RNN_GRU) {
            tc_value *r = F1("sigmoid", part(e, g, 0, hidden)), *z = F1("sigmoid", part(e, g, 1, hidden));
            tc_value *m = F1("tanh", tc_e_add(e, part(e, a, 2, hidden), tc_e_mul(e, r, part(e, b, 2, hidden))));
            h = tc_e_add(e, m, tc_e_mul(e, z, tc_e_sub(e, h, m)));
        } else {
            h = mode == TC_RNN_TANH ? F1("tanh", g) : F1("relu", g);
        }
        hs[t] = tc_e_cast(e, h, d), h = tc_e_cast(e, hs[t], held);
    }
    tc_emit_result(e, 0, ATEN("stack", "Vi", hs, (int)steps, (int64_t)0));
    tc_emit_result(e, 1, ATEN("reshape", "vS", tc_e_cast(e, h, d), last->size, last->rank));
    tc_emit_result(e, 2, c ? ATEN("reshape", "vS", tc_e_cast(e, c, d), cell->size, cell->rank) : F1("clone", old_c));
    tc_emit_result(e, 3, ATEN("full", "Sid", space->size, space->rank, (int64_t)0, (int)space->dtype)); /* for the backward only */
    return tc_e_done(e);
}
static tc_status core_dropout(tc_emit *e, const tc_node *n) { /* input, p, train */
    tc_value *x = tc_arg_value(n, 0);
    tc_emit_result(e, 0, tc_arg_bool(n, 2) ? ATEN("native_dropout", "vab", x, &n->args[1], 1) : F1("alias", x));
    return tc_e_done(e);
}

static tc_status core_sign(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, F1("sign", tc_arg_value(n, 0)));
    return tc_e_done(e);
}

/* ---- gradients: the first argument is that of the result ---- */
/* Zeros of the sizes that the second argument gives. */
static tc_value *zeros(tc_emit *e, const tc_node *n) { return ATEN("full", "afd", &n->args[1], 0.0, (int)dtype_of(n)); }
static tc_status core_select_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, dim, index */
    return give(e, n, 0, ATEN("select_scatter", "vvaa", zeros(e, n), tc_arg_value(n, 0), &n->args[2], &n->args[3]));
}
static tc_status core_slice_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, dim, start, end, step */
    return give(e, n, 0, ATEN("slice_scatter", "vvaaaa", zeros(e, n), tc_arg_value(n, 0), &n->args[2], &n->args[3], &n->args[4], &n->args[5]));
}
static tc_status core_diagonal_backward(tc_emit *e, const tc_node *n) { /* grad, sizes, offset, dim1, dim2 */
    tc_value *g = tc_arg_value(n, 0);
    const tc_meta *m = &n->outs[0]->meta;
    const int64_t offset = tc_arg_int(n, 2);
    const int a = tc_wrap(tc_arg_int(n, 3), m->rank), b = tc_wrap(tc_arg_int(n, 4), m->rank);
    tc_sym before = tc_sym_int(tc_e_sym(e), offset < 0 ? -offset : 0), ends = tc_sym_add(tc_e_sym(e), before, g->meta.size[g->meta.rank - 1]);
    tc_value *rows = ATEN("constant_pad_nd", "vSf", g, ((tc_sym[]){before, tc_sym_sub(tc_e_sym(e), m->size[a], ends)}), 2, 0.0);
    tc_value *rise = tc_e_sub(e, positions(e, m->size[b], false), positions(e, m->size[a], true));
    tc_value *y = WHERE(ATEN("eq.Scalar", "vi", rise, offset), ATEN("unsqueeze", "vi", rows, (int64_t)-1), like(e, 0, g));
    int64_t order[TC_MAX_RANK];
    for (int d = 0, other = 0; d < m->rank; d++) order[d] = d == a ? m->rank - 2 : d == b ? m->rank - 1 : other++;
    return give(e, n, 0, ATEN("permute", "vI", y, order, m->rank));
}
static tc_status core_replication_pad1d(tc_emit *e, const tc_node *n) { /* self, padding: left and right */
    tc_value *x = tc_arg_value(n, 0);
    tc_symctx *s = tc_e_sym(e);
    int64_t pad[2];
    tc_sym size = x->meta.size[x->meta.rank - 1], last = tc_sym_sub(s, size, tc_sym_int(s, 1));
    tc_arg_ints(n, 1, pad, 2);
    tc_value *at = positions(e, tc_sym_add(s, size, tc_sym_int(s, pad[0] + pad[1])), false);
    at = ATEN("clamp", "via", ATEN("sub.Scalar", "vi", at, pad[0]), (int64_t)0, (&(tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = last}));
    return give(e, n, 0, ATEN("index_select", "viv", x, (int64_t)-1, at));
}
/* Gradients of activations: x is the gradient of the result, y what the activation was applied to. */
static tc_value *logistic_slope(tc_emit *e, tc_value *y) { /* of y * sigmoid(y) */
    tc_value *s = F1("sigmoid", y);
    return tc_e_mul(e, s, tc_e_adds(e, tc_e_mul(e, y, tc_e_adds(e, tc_e_neg(e, s), 1)), 1));
}
static tc_value *mish_slope(tc_emit *e, tc_value *y) {
    tc_value *t = F1("tanh", soft(e, y, 1, 20));
    return tc_e_add(e, t, tc_e_mul(e, tc_e_mul(e, y, F1("sigmoid", y)), tc_e_adds(e, tc_e_neg(e, tc_e_mul(e, t, t)), 1)));
}
static tc_value *soft_slope(tc_emit *e, tc_value *y, double beta, double threshold) {
    tc_value *b = tc_e_muls(e, y, beta);
    return WHERE(CMP("gt", b, threshold), like(e, 1, y), F1("sigmoid", b));
}
static tc_value *between(tc_emit *e, tc_value *y, double lo, double hi) { return F2("logical_and", CMP("gt", y, lo), CMP("lt", y, hi)); }
RULE2(silu_backward, tc_e_mul(e, x, logistic_slope(e, y)))
RULE2(mish_backward, tc_e_mul(e, x, mish_slope(e, y)))
RULE2(softplus_backward, tc_e_mul(e, x, soft_slope(e, y, tc_arg_float(n, 2), tc_arg_float(n, 3))))
RULE2(leaky_relu_backward, WHERE(CMP("gt", y, 0), x, tc_e_muls(e, x, tc_arg_float(n, 2))))
RULE2(hardtanh_backward, WHERE(between(e, y, tc_arg_float(n, 2), tc_arg_float(n, 3)), x, like(e, 0, x)))
RULE2(hardsigmoid_backward, WHERE(between(e, y, -3, 3), ATEN("div.Scalar", "vf", x, 6.0), like(e, 0, x)))
RULE2(hardswish_backward,
      WHERE(CMP("le", y, -3), like(e, 0, x), WHERE(CMP("lt", y, 3), tc_e_mul(e, x, tc_e_adds(e, ATEN("div.Scalar", "vf", y, 3.0), 0.5)), x)))
static tc_status core_elu_backward(tc_emit *e, const tc_node *n) { /* grad, alpha, scale, input_scale, is_result, self or result */
    tc_value *g = up(e, tc_arg_value(n, 0)), *y = up(e, tc_arg_value(n, 5));
    const double scale = tc_arg_float(n, 2), below = tc_arg_float(n, 1) * scale, in = tc_arg_float(n, 3);
    tc_value *slope = tc_arg_bool(n, 4) ? tc_e_adds(e, y, below) : tc_e_muls(e, F1("exp", tc_e_muls(e, y, in)), below);
    return give(e, n, 0, tc_e_mul(e, g, WHERE(CMP("le", y, 0), tc_e_muls(e, slope, in), like(e, scale, g))));
}
static tc_status core_threshold_backward(tc_emit *e, const tc_node *n) { /* grad, self, threshold */
    tc_value *g = tc_arg_value(n, 0);
    return give(e, n, 0, WHERE(ATEN("le.Scalar", "va", tc_arg_value(n, 1), &n->args[2]), like(e, 0, g), g));
}
static tc_status core_softmax_backward(tc_emit *e, const tc_node *n) { /* grad, output, dim, input_dtype */
    tc_value *g = up(e, tc_arg_value(n, 0)), *y = up(e, tc_arg_value(n, 1));
    const int64_t dim = tc_arg_int(n, 2);
    const bool log = strstr(tc_op_schema(n->op)->name, "log") != NULL;
    if (!log) g = tc_e_mul(e, g, y);
    tc_value *sum = ATEN("sum.dim_IntList", "vIb", g, &dim, 1, true);
    return give(e, n, 0, tc_e_sub(e, g, tc_e_mul(e, log ? F1("exp", y) : y, sum)));
}
static tc_status core_gelu_backward(tc_emit *e, const tc_node *n) { /* grad, self, approximate */
    tc_value *g = up(e, tc_arg_value(n, 0)), *x = up(e, tc_arg_value(n, 1)), *square = tc_e_mul(e, x, x), *d;
    if (!strcmp(n->args[2].string, "tanh")) {
        const double beta = M_SQRT2 * M_2_SQRTPI * 0.5, kappa = 0.044715;
        tc_value *t = F1("tanh", tc_e_muls(e, tc_e_add(e, x, tc_e_muls(e, tc_e_mul(e, square, x), kappa)), beta));
        tc_value *inner = tc_e_muls(e, tc_e_adds(e, tc_e_muls(e, square, 3 * kappa), 1), beta); /* the derivative of what tanh is of */
        tc_value *slope = tc_e_mul(e, tc_e_adds(e, tc_e_neg(e, tc_e_mul(e, t, t)), 1), inner);
        d = tc_e_muls(e, tc_e_add(e, tc_e_adds(e, t, 1), tc_e_mul(e, x, slope)), 0.5);
    } else {
        tc_value *below = tc_e_muls(e, tc_e_adds(e, F1("erf", tc_e_muls(e, x, M_SQRT1_2)), 1), 0.5);
        tc_value *density = tc_e_muls(e, F1("exp", tc_e_muls(e, square, -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
        d = tc_e_add(e, below, tc_e_mul(e, x, density));
    }
    return give(e, n, 0, tc_e_mul(e, g, d));
}
static tc_status core_log_sigmoid_backward(tc_emit *e, const tc_node *n) { /* grad, self, buffer */
    tc_value *g = up(e, tc_arg_value(n, 0)), *x = up(e, tc_arg_value(n, 1)), *z = F1("exp", tc_e_neg(e, abs_of(e, x)));
    tc_value *ratio = tc_e_div(e, z, tc_e_adds(e, z, 1));
    return give(e, n, 0, tc_e_mul(e, g, WHERE(CMP("lt", x, 0), tc_e_adds(e, tc_e_neg(e, ratio), 1), ratio)));
}
static tc_status core_nll_backward(tc_emit *e, const tc_node *n) { /* grad, self as above, target, weight, reduction, ignore_index, total */
    tc_value *g = tc_e_neg(e, tc_arg_value(n, 0)), *x = tc_arg_value(n, 1), *t = tc_arg_value(n, 2), *w = tc_arg_value(n, 3);
    const int64_t class = x->meta.rank > 1, image[] = {-1, 1, 1};
    tc_value *valid = ATEN("ne.Scalar", "va", t, &n->args[5]), *safe = WHERE(valid, t, like(e, 0, t));
    if (tc_arg_int(n, 4) == 1) g = tc_e_div(e, g, tc_arg_value(n, 6));
    if (w) {
        tc_value *flat = ATEN("index_select", "viv", w, (int64_t)0, ATEN("reshape", "vI", safe, (int64_t[]){-1}, 1));
        g = tc_e_mul(e, g, ATEN("reshape", "vS", flat, t->meta.size, t->meta.rank));
    }
    tc_value *classes = positions(e, x->meta.size[class], false);
    if (x->meta.rank == 4) classes = ATEN("view", "vI", classes, image, 3);
    tc_value *at = F2("eq.Tensor", classes, ATEN("unsqueeze", "vi", safe, class));
    return give(e, n, 0, WHERE(at, ATEN("unsqueeze", "vi", WHERE(valid, g, like(e, 0, x)), class), like(e, 0, x)));
}

#define REAL 1 /* the rule applies only if no argument is complex */
static const struct {
    const char *name; /* without aten:: */
    tc_decompose_fn rule;
    int when;
} rules[] = {
    {"transpose.int", core_transpose},
    {"reshape", core_reshape},
    {"_unsafe_view", core_view},
    {"detach", core_alias},
    {"_unsafe_index.Tensor", core_index},
    {"_unsafe_index_put", core_index_put},
    {"arange", core_arange},
    {"arange.start", core_arange},
    {"zeros", core_zeros},
    {"zeros_like", core_zeros},
    {"new_zeros", core_zeros},
    {"ones", core_ones},
    {"ones_like", core_ones},
    {"new_ones", core_ones},
    {"new_full", core_new_full},
    {"zero", core_zeros},
    {"new_empty", core_empty},
    {"empty_like", core_empty},
    {"squeeze", core_squeeze},
    {"eye", core_eye},
    {"eye.m", core_eye},
    {"tril", core_triangle},
    {"triu", core_triangle},
    {"linspace", core_linspace},
    {"linspace.Tensor_Tensor", core_linspace, REAL},
    {"linspace.Tensor_Scalar", core_linspace, REAL},
    {"linspace.Scalar_Tensor", core_linspace, REAL},
    {"logspace", core_logspace},
    {"logspace.Tensor_Tensor", core_logspace, REAL},
    {"logspace.Tensor_Scalar", core_logspace, REAL},
    {"logspace.Scalar_Tensor", core_logspace, REAL},
    {"where.ScalarOther", core_where},
    {"where.ScalarSelf", core_where},
    {"where.Scalar", core_where},
    {"masked_fill.Scalar", core_masked_fill},
    {"masked_fill.Tensor", core_masked_fill},
    {"rsub.Scalar", core_rsub},
    {"rsub.Tensor", core_rsub},
    {"clamp_min", core_clamp_min},
    {"clamp_max", core_clamp_max},
    {"clamp_min.Tensor", core_maximum},
    {"clamp_max.Tensor", core_minimum},
    {"sum", core_sum},
    {"all", core_all},
    {"all.dim", core_all},
    {"all.dims", core_all},
    {"max", core_max},
    {"min", core_min},
    {"aminmax", core_aminmax},
    {"logsumexp", core_logsumexp, REAL},
    {"count_nonzero", core_count_nonzero},
    {"count_nonzero.dim_IntList", core_count_nonzero},
    {"nansum", core_nansum, REAL},
    {"var", core_variance, REAL},
    {"var_mean", core_variance, REAL},
    {"var_mean.dim", core_variance, REAL},
    {"var_mean.correction", core_variance, REAL},
    {"std", core_variance, REAL},
    {"std.dim", core_variance, REAL},
    {"std.correction", core_variance, REAL},
    {"std_mean", core_variance, REAL},
    {"std_mean.dim", core_variance, REAL},
    {"std_mean.correction", core_variance, REAL},
    {"linalg_vector_norm", core_vector_norm, REAL},
    {"index_copy", core_index_copy},
    {"index_fill.int_Scalar", core_index_fill},
    {"index_add", core_index_add},
    {"masked_select", core_masked_select},
    {"unfold", core_unfold},
    {"_pad_circular", core_pad_circular},
    {"baddbmm", core_baddbmm},
    {"silu", core_silu, REAL},
    {"square", core_square},
    {"frac", core_frac},
    {"relu6", core_relu6},
    {"hardsigmoid", core_hardsigmoid},
    {"hardswish", core_hardswish},
    {"softplus", core_softplus},
    {"mish", core_mish},
    {"hardshrink", core_hardshrink},
    {"softshrink", core_softshrink},
    {"threshold", core_threshold},
    {"_prelu_kernel", core_prelu},
    {"sinc", core_sinc, REAL},
    {"hypot", core_hypot},
    {"logaddexp", core_logaddexp, REAL},
    {"logaddexp2", core_logaddexp2},
    {"isposinf", core_isposinf},
    {"isneginf", core_isneginf},
    {"heaviside", core_heaviside},
    {"copysign.Tensor", core_copysign},
    {"floor_divide", core_floor_divide},
    {"floor_divide.Scalar", core_floor_divide},
    {"addcmul", core_addcmul},
    {"addcdiv", core_addcdiv},
    {"lerp.Scalar", core_lerp_scalar, REAL},
    {"lerp.Tensor", core_lerp_tensor, REAL},
    {"xlogy.Tensor", core_xlogy},
    {"xlogy.Scalar_Self", core_xlogy},
    {"xlogy.Scalar_Other", core_xlogy},
    {"special_xlog1py", core_xlog1py},
    {"special_xlog1py.self_scalar", core_xlog1py},
    {"special_xlog1py.other_scalar", core_xlog1py},
    {"log_sigmoid_forward", core_log_sigmoid},
    {"logit", core_logit},
    {"round.decimals", core_round_decimals},
    {"nan_to_num", core_nan_to_num, REAL},
    {"nll_loss_forward", core_nll},
    {"nll_loss2d_forward", core_nll},
    {"replication_pad1d", core_replication_pad1d},
    {"_native_batch_norm_legit_functional", core_batch_norm},
    {"_scaled_dot_product_flash_attention_for_cpu", core_attention},
    {"mkldnn_rnn_layer", core_rnn},
    {"dropout", core_dropout},
    {"real", core_alias, REAL},
    {"conj_physical", core_alias, REAL},
    {"sgn", core_sign, REAL},
    {"resolve_conj", core_alias},
    {"resolve_neg", core_alias},
    {"alias_copy", core_clone},
    {"isfinite", core_isfinite, REAL},
    {"select_backward", core_select_backward},
    {"slice_backward", core_slice_backward},
    {"diagonal_backward", core_diagonal_backward},
    {"threshold_backward", core_threshold_backward},
    {"_softmax_backward_data", core_softmax_backward},
    {"_log_softmax_backward_data", core_softmax_backward},
    {"gelu_backward", core_gelu_backward},
    {"log_sigmoid_backward", core_log_sigmoid_backward},
    {"nll_loss_backward", core_nll_backward},
    {"nll_loss2d_backward", core_nll_backward},
    {"silu_backward", core_silu_backward, REAL},
    {"mish_backward", core_mish_backward},
    {"softplus_backward", core_softplus_backward},
    {"leaky_relu_backward", core_leaky_relu_backward},
    {"hardtanh_backward", core_hardtanh_backward},
    {"hardsigmoid_backward", core_hardsigmoid_backward},
    {"hardswish_backward", core_hardswish_backward},
    {"elu_backward", core_elu_backward},
};

static bool any_complex(const tc_node *n) {
    for (int i = 0; i < n->nargs; i++)
        if (tc_arg_meta(n, i) && tc_is_complex(tc_arg_meta(n, i)->dtype)) return true;
    return false;
}

tc_decompose_fn tc_core_rule(const tc_node *n) {
    char name[128];
    const tc_schema *s = tc_op_schema(n->op);
    snprintf(name, sizeof name, "%s%s%s", s->name, *s->overload ? "." : "", s->overload);
    for (size_t i = 0; !strcmp(s->ns, "aten") && i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].name, name)) return rules[i].when == REAL && any_complex(n) ? NULL : rules[i].rule;
    /* PyTorch has no compositions of random operators except dropout's; tc's draw with operators of its own */
    return n->op->flags & TC_OP_RANDOM && !strstr(s->name, "dropout") ? NULL : n->op->decompose;
}
