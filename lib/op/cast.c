/* Copies and casts: clone, to, _to_copy, contiguous, detach, alias, copy, fill; item, and assertions.
 *
 * A cast converts as PyTorch does: float to integer towards 0, anything to bool by != 0. `to` and `contiguous` give the tensor
 * itself where nothing changes, else a copy. */
#include "op/lower.h"
#include "kernel/kernel.h"
#include "op/shape.h"

#include <stdio.h>

static int format_of(const tc_arg *args, int i) { return i >= 0 && args[i].kind == TC_A_MEMFORMAT ? args[i].code : 4; } /* 4: preserve */

/* ---- shapes ---- */
static tc_status shape_clone(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return tc_sh_out_by_format(c, format_of(c->args, tc_op_param(c->op, "memory_format")), tc_sh_meta(c, 0)->dtype);
}
static tc_status shape_to_copy(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return tc_sh_out_by_format(c, format_of(c->args, 6), tc_sh_dtype(c, 1, tc_sh_meta(c, 0)->dtype));
}
static tc_status shape_alias(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m);
    return tc_sh_out_strided(c, 0, m->dtype, &d, m->stride);
}
static tc_status shape_copy(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d;
    TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &d));
    bool fits = d.rank == m->rank;
    for (int k = 0; fits && k < m->rank; k++) fits = tc_sh_same(c, d.size[k], m->size[k]);
    if (!fits) return tc_sh_fail(c, "output with shape of self doesn't match the broadcast shape");
    return tc_sh_out_strided(c, 0, m->dtype, &d, m->stride);
}
static tc_status shape_fill_tensor(tc_shape_ctx *c) {
    const tc_meta *v = tc_sh_meta(c, 1);
    if (v && v->rank != 0) return tc_sh_fail(c, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.", v->rank);
    return tc_shape_same(c);
}
static tc_status shape_item(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims d = tc_dims_of(m);
    tc_sym n = tc_dims_numel(c, &d);
    if (!tc_sh_same(c, n, tc_sym_int(tc_sh_sym(c), 1))) return tc_sh_fail(c, "a Tensor with more than one element cannot be converted to Scalar");
    if (tc_is_complex(m->dtype)) return tc_error(TC_UNSUPPORTED, "%s: complex numbers", tc_op_name(c->op));
    tc_symtype t = tc_is_float(m->dtype) ? TC_SYM_FLOAT : m->dtype == TC_BOOL ? TC_SYM_BOOL : TC_SYM_INT;
    char name[32];
    snprintf(name, sizeof name, "%s%zu", t == TC_SYM_FLOAT ? "zuf" : "u", tc_sym_var_count(tc_sh_sym(c)));
    return tc_sh_out_sym(c, 0, tc_sym_var(tc_sh_sym(c), name, t, TC_SYM_NO_LO, TC_SYM_NO_HI));
}
static tc_status shape_sym_size(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    if (m->rank == 0) return tc_sh_fail_as(c, "IndexError", "Dimension specified as 0 but tensor has no dimensions");
    return tc_sh_out_sym(c, 0, m->size[d]);
}
static tc_status shape_sym_stride(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    TC_TRY(tc_sh_dim_arg(c, 1, m->rank, &d));
    return tc_sh_out_sym(c, 0, tc_sh_strides(c, m)[d]);
}
static tc_status shape_sym_numel(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    return tc_sh_out_sym(c, 0, tc_dims_numel(c, &d));
}
static tc_status shape_sym_offset(tc_shape_ctx *c) { return tc_sh_out_sym(c, 0, tc_sym_int(tc_sh_sym(c), 0)); }
static tc_status shape_sym_contiguous(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return tc_sh_out_sym(c, 0, tc_sym_bool(tc_sh_sym(c), tc_sh_is_contiguous(c, tc_sh_meta(c, 0)) == 1));
}
static tc_status shape_assert_scalar(tc_shape_ctx *c) {
    tc_sym s = tc_sh_int(c, 0);
    bool b;
    int64_t v;
    if ((tc_sym_const_bool(s, &b) && !b) || (tc_sym_const_int(s, &v) && v == 0))
        return tc_sh_fail(c, "%s", tc_sh_string(c, 1) ? tc_sh_string(c, 1) : "assertion failed");
    /* on data-dependent numbers; an assertion on sizes may be in a branch, where it says nothing about other branches */
    if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_holds_data(s)) tc_sym_promise(tc_sh_sym(c), s);
    return NULL;
}
static tc_status shape_assert_metadata(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_sym size[TC_MAX_RANK];
    int n = tc_sh_ints(c, 1, size, TC_MAX_RANK);
    if (n >= 0 && n != m->rank) return tc_sh_fail(c, "Tensor sizes mismatch!");
    for (int k = 0; k < n; k++)
        if (!tc_sh_same(c, size[k], m->size[k])) return tc_sh_fail(c, "Tensor sizes mismatch!");
    if (tc_sh_dtype(c, 3, m->dtype) != m->dtype) return tc_sh_fail(c, "Tensor dtype mismatch!");
    return NULL;
}
static tc_status shape_assert_async(tc_shape_ctx *c) {
    int64_t n;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_dims d = tc_dims_of(tc_sh_meta(c, 0));
    if (!tc_sym_const_int(tc_dims_numel(c, &d), &n) || n == 1) return NULL;
    return tc_sh_fail(c, "Boolean value of Tensor with %s is ambiguous", n ? "more than one value" : "no values");
}

/* ---- lowering ---- */
static tc_status lower_copy_of_self(tc_lower *l) { return tc_l_out(l, 0, tc_l_in(l, 0)); }
static tc_status lower_source(tc_lower *l) { return tc_l_out(l, 0, tc_l_in(l, 1)); }
static tc_status lower_zero(tc_lower *l) { return tc_l_out(l, 0, tc_l_cast(l, tc_l_int(l, 0), tc_l_type(l, 0))); }

/* ---- kernels ---- */
static tc_status run_assert_async(tc_kcall *k) {
    const tc_tensor *t = tc_k_tensor(k, 0);
    if (tc_tensor_numel(t) != 1)
        return tc_error(TC_CONTENT, "aten._assert_async: Boolean value of Tensor with %s is ambiguous",
                        tc_tensor_numel(t) ? "more than one value" : "no values");
    if (tc_scalar_to_double(tc_scalar_load(t->dtype, tc_tensor_data(t), 0)) != 0) return NULL;
    return tc_error(TC_CONTENT, "%s",
                    k->nargs > 1 && k->args[1].kind == TC_K_STRING ? k->args[1].string : "Expected Tensor with single nonzero value, but got zero");
}
static const tc_kernel assert_async = {.name = "assert_async", .run = run_assert_async};

/* ---- the tensor itself, seen again ---- */
static tc_status alias_self(const tc_kcall *k, tc_tensor *out_view, bool *possible) {
    *out_view = tc_tensor_share(tc_k_tensor(k, 0));
    *possible = true;
    return NULL;
}

/* ---- compositions ---- */
static tc_status decompose_to(tc_emit *e, const tc_node *n) {
    const char *overload = tc_op_schema(n->op)->overload;
    tc_value *x = tc_arg_value(n, 0), *other = !strcmp(overload, "other") ? tc_arg_value(n, 1) : NULL;
    int dt = tc_op_param(n->op, "dtype"), cp = tc_op_param(n->op, "copy"), mf = tc_op_param(n->op, "memory_format");
    tc_dtype d = other ? other->meta.dtype : dt >= 0 ? tc_arg_dtype(n, dt, x->meta.dtype) : x->meta.dtype;
    int format = format_of(n->args, mf);
    bool copy = cp >= 0 && tc_arg_bool(n, cp);
    if (d == x->meta.dtype && !copy && (format == 4 || format == tc_sh_format(e->graph->program, &x->meta))) {
        tc_emit_result(e, 0, tc_e1(e, "aten::alias", x));
        return tc_e_done(e);
    }
    tc_arg a[7] = {n->args[0], {.kind = TC_A_DTYPE, .dtype = d}, {0}, {0}, {0}, {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}, {0}};
    if (mf >= 0) a[6] = n->args[mf];
    tc_node *r = tc_e_args(e, "aten::_to_copy", a, 7);
    tc_emit_result(e, 0, r ? r->outs[0] : NULL);
    return tc_e_done(e);
}
static tc_status decompose_type_as(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *o = tc_arg_value(n, 1);
    tc_emit_result(e, 0, x->meta.dtype == o->meta.dtype ? tc_e1(e, "aten::alias", x) : tc_e_cast(e, x, o->meta.dtype));
    return tc_e_done(e);
}
static tc_status decompose_cast_to(tc_emit *e, const tc_node *n) {
    static const struct {
        const char *name;
        tc_dtype d;
    } names[] = {{"_cast_Byte", TC_U8},  {"_cast_Char", TC_I8}, {"_cast_Double", TC_F64}, {"_cast_Float", TC_F32},
                 {"_cast_Half", TC_F16}, {"_cast_Int", TC_I32}, {"_cast_Long", TC_I64},   {"_cast_Short", TC_I16}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, tc_op_schema(n->op)->name))
            tc_emit_result(e, 0, tc_emit_call(e, "aten::to.dtype", "vd", tc_arg_value(n, 0), (int)names[i].d));
    return tc_e_done(e);
}
static tc_status decompose_contiguous(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    int format = format_of(n->args, 1);
    if (format == 4) return tc_error(TC_CONTENT, "aten.contiguous: preserve memory format is unsupported by the contiguous operator");
    if (tc_sh_kept_in(e->graph->program, &x->meta, format)) tc_emit_result(e, 0, tc_e1(e, "aten::alias", x));
    else tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "va", x, &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_lift_fresh_copy(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::clone", tc_arg_value(n, 0)));
    return tc_e_done(e);
}
static tc_status decompose_item(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_e1(e, "aten::_local_scalar_dense", tc_arg_value(n, 0)));
    return tc_e_done(e);
}

/* ---- gradients ---- */
static tc_status grad_through(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* tc_e_give casts back */
    tc_e_give(e, n, 0, gs[0]);
    return tc_e_done(e);
}
static tc_status grad_copy(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_e_zeros_like(e, gs[0]));
    tc_e_give(e, n, 1, gs[0]);
    return tc_e_done(e);
}
static tc_status grad_fill(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_e_zeros_like(e, gs[0]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e1(e, "aten::sum", gs[0]));
    return tc_e_done(e);
}

#define TO(overload) \
    { .schema = "aten::to." overload " -> Tensor(a)", .shape = tc_shape_decomposed, .decompose = decompose_to, .doc = "another type" }
#define CAST(name)                                                                                                       \
    {                                                                                                                    \
        .schema = "aten::_cast_" #name "(Tensor self, bool non_blocking=False) -> Tensor", .shape = tc_shape_decomposed, \
        .decompose = decompose_cast_to, .doc = "another type"                                                            \
    }
#define ALIAS(SCHEMA, flags_, text)                                                                                                            \
    {                                                                                                                                          \
        .schema = "aten::" SCHEMA, .flags = (flags_) | TC_OP_SAME_ORDER, .shape = shape_alias, .view_alias = alias_self, .grad = grad_through, \
        .doc = text                                                                                                                            \
    }
#define COPY(SCHEMA, flags_, sample, text)                                                                                                \
    {                                                                                                                                     \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = flags_, .shape = shape_clone, .lower = lower_copy_of_self, .grad = grad_through, \
        .samples = sample, .doc = text                                                                                                    \
    }
const tc_op tc_ops_cast[] = {
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
               "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     .shape = shape_to_copy,
     .lower = lower_copy_of_self,
     .grad = grad_through,
     .samples = "_to_copy(f32[3], dtype=torch.float64); _to_copy(f32[3], dtype=torch.int64); _to_copy(c64[3], dtype=torch.complex128); "
                "_to_copy(f16[3], dtype=torch.complex64)",
     .doc = "a copy of another type"},
    TO("dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"),
    TO("dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
       "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"),
    TO("device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"),
    TO("other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"),
    {.schema = "aten::type_as(Tensor self, Tensor other) -> Tensor",
     .flags = TC_OP_LIKE,
     .shape = tc_shape_decomposed,
     .decompose = decompose_type_as,
     .samples = "type_as(f32[3], f64[2])",
     .doc = "the type of other"},
    CAST(Byte),
    CAST(Char),
    CAST(Double),
    CAST(Float),
    CAST(Half),
    CAST(Int),
    CAST(Long),
    CAST(Short),
    COPY("clone(Tensor self, *, MemoryFormat? memory_format=None)", 0, "clone(f32[3])", "a copy"),
    COPY("alias_copy(Tensor self)", 0, "alias_copy(f32[3])", "a copy"),
    COPY("detach_copy(Tensor self)", TC_OP_NONDIFF, "detach_copy(f32[3])", "a copy without gradient"),
    COPY("lift(Tensor self)", 0, "lift(f32[3])", "a copy"),
    {.schema = "aten::lift_fresh_copy(Tensor self) -> Tensor",
     .shape = tc_shape_decomposed,
     .decompose = decompose_lift_fresh_copy,
     .samples = "lift_fresh_copy(f32[3])",
     .doc = "a copy of a constant"},
    ALIAS("lift_fresh(Tensor(a) self) -> Tensor(a)", 0, "the tensor itself"),
    ALIAS("alias(Tensor(a) self) -> Tensor(a)", 0, "the tensor itself"),
    {.schema = "tc::checked(Tensor(a) self) -> Tensor(a)",
     .flags = TC_OP_SAME_ORDER,
     .shape = shape_alias,
     .view_alias = alias_self,
     .doc = "the tensor itself, which holds what its reader takes: an assertion stands before"},
    ALIAS("detach(Tensor(a) self) -> Tensor(a)", TC_OP_NONDIFF, "the tensor itself, without gradient"),
    ALIAS("resolve_conj(Tensor(a) self) -> Tensor(a)", 0, "the tensor itself"),
    ALIAS("resolve_neg(Tensor(a) self) -> Tensor(a)", 0, "the tensor itself"),
    {.schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
     .shape = tc_shape_decomposed,
     .decompose = decompose_contiguous,
     .doc = "the tensor, or a contiguous copy"},
    {.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     .shape = shape_copy,
     .lower = lower_source,
     .grad = grad_copy,
     .samples = "copy(f32[2,3], f64[3])",
     .doc = "src in the type and sizes of self"},
    {.schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
     .shape = tc_shape_same,
     .lower = lower_source,
     .grad = grad_fill,
     .samples = "fill(f32[3], 2)",
     .doc = "value everywhere"},
    {.schema = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
     .shape = shape_fill_tensor,
     .lower = lower_source,
     .grad = grad_fill,
     .samples = "fill(f32[3], f32[])",
     .doc = "value everywhere"},
    {.schema = "aten::zero(Tensor self) -> Tensor",
     .shape = tc_shape_same,
     .lower = lower_zero,
     .grad = grad_fill,
     .samples = "zero(f32[3])",
     .doc = "0 everywhere"},
    {.schema = "aten::item(Tensor self) -> Scalar",
     .flags = TC_OP_NONDIFF | TC_OP_COMPOSITE,
     .shape = tc_shape_decomposed,
     .decompose = decompose_item,
     .doc = "the only element, as a number"},
    {.schema = "aten::_local_scalar_dense(Tensor self) -> Scalar",
     .flags = TC_OP_NONDIFF | TC_OP_DATA_SHAPE,
     .shape = shape_item,
     .doc = "the only element, as a number"},
    {.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt",
     .flags = TC_OP_NONDIFF,
     .shape = shape_sym_size,
     .doc = "the size of a dimension"},
    {.schema = "aten::sym_stride.int(Tensor self, int dim) -> SymInt",
     .flags = TC_OP_NONDIFF,
     .shape = shape_sym_stride,
     .doc = "the stride of a dimension"},
    {.schema = "aten::sym_numel(Tensor self) -> SymInt", .flags = TC_OP_NONDIFF, .shape = shape_sym_numel, .doc = "the number of elements"},
    {.schema = "aten::sym_storage_offset(Tensor self) -> SymInt",
     .flags = TC_OP_NONDIFF,
     .shape = shape_sym_offset,
     .doc = "0: every value is its own storage"},
    {.schema = "aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool",
     .flags = TC_OP_NONDIFF,
     .shape = shape_sym_contiguous,
     .doc = "whether the visible strides are contiguous"},
    {.schema = "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
     .flags = TC_OP_IMPURE | TC_OP_NONDIFF,
     .shape = shape_assert_scalar,
     .doc = "fails with the message when the number is 0"},
    {.schema = "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, "
               "Layout? layout=None) -> ()",
     .flags = TC_OP_NONDIFF,
     .shape = shape_assert_metadata,
     .doc = "checked when the types are inferred"},
    {.schema = "aten::_assert_async(Tensor self) -> ()",
     .flags = TC_OP_IMPURE | TC_OP_NONDIFF,
     .shape = shape_assert_async,
     .kernel = &assert_async,
     .doc = "fails when the element is 0"},
    {.schema = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
     .flags = TC_OP_IMPURE | TC_OP_NONDIFF,
     .shape = shape_assert_async,
     .kernel = &assert_async,
     .doc = "fails with the message when the element is 0"},
    {0}};
