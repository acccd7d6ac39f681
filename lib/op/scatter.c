/* Writing along a dimension at the positions that an index tensor names: scatter and its reductions, index_add, index_copy, index_reduce,
 * index_fill; and put, at row-major positions.
 *
 *     scatter      y[.., index[.., i, ..], ..] = src[.., i, ..]      an index for each element
 *     index_copy   y[.., index[i], ..] = source[.., i, ..]           an index for each slice
 *
 * Each is a kernel (kernel/scatter.h). An index out of bounds is an IndexError at run time. */
#include "kernel/scatter.h"

#include "op/index.h"
#include "op/lower.h"

/* ---- shapes and gradients ---- */
/* The reductions that PyTorch has kernels for. */
static tc_status check_reduction(const tc_shape_ctx *c, const char *r, const char *const known[7]) {
    const tc_dtype d = tc_sh_meta(c, 0)->dtype;
    bool found = false;
    for (int i = 0; i < 7; i++) found |= known[i] && !strcmp(r, known[i]);
    if (!found) return tc_sh_fail(c, "%s(): unexpected reduce argument %s", tc_op_schema(c->op)->name, r);
    const char *extreme = r + (*r == 'a');
    const bool ordered = !strcmp(extreme, "max") || !strcmp(extreme, "min");
    const bool mean = !strcmp(r, "mean"), wide = d == TC_U16 || d == TC_U32 || d == TC_U64;
    if ((ordered && tc_is_complex(d)) || (mean && d == TC_BOOL) || ((ordered || mean) && wide))
        return tc_sh_fail_as(c, "NotImplementedError", "\"%s_%s\" not implemented for '%s'", tc_op_schema(c->op)->name, r, tc_dtypes[d].torch);
    return NULL;
}
static tc_status check_source(tc_shape_ctx *c, int src) {
    const tc_meta *x = tc_sh_meta(c, 0), *s = tc_sh_meta(c, src);
    if (s && s->dtype != x->dtype) return tc_sh_fail(c, "%s(): Expected self.dtype to be equal to src.dtype", tc_op_schema(c->op)->name);
    return NULL;
}
static tc_status shape_scatter(tc_shape_ctx *c) { /* self, dim, index, src or value */
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 2));
    TC_TRY(check_source(c, 3));
    const tc_meta *x = tc_sh_meta(c, 0), *i = tc_sh_meta(c, 2), *s = tc_sh_meta(c, 3);
    bool empty = tc_sh_is_empty(i); /* an empty index may have any type and rank */
    if (!empty) TC_TRY(tc_sh_index_type(c, 2));
    TC_TRY(tc_sh_dim_arg(c, 1, x->rank, &d));
    if (!empty && (x->rank ? x->rank : 1) != (i->rank ? i->rank : 1))
        return tc_sh_fail(c, "Index tensor must have the same number of dimensions as self tensor");
    if (!empty && s && (s->rank ? s->rank : 1) != (i->rank ? i->rank : 1))
        return tc_sh_fail(c, "Index tensor must have the same number of dimensions as src tensor");
    const tc_sym one = tc_sym_int(tc_sh_sym(c), 1);
    for (int k = 0; !empty && k < (i->rank ? i->rank : 1); k++) {
        const tc_sym at = i->rank ? i->size[k] : one;
        if (k != d && k < x->rank && !tc_sh_no_larger(c, at, x->size[k]))
            return tc_sh_fail(c, "Expected index to be no larger than self apart from dimension %d", d);
        if (s && !tc_sh_no_larger(c, at, s->rank ? s->size[k] : one))
            return tc_sh_fail(c, "Expected index to be no larger than src in dimension %d", k);
    }
    const char *r = c->nargs > 4 ? tc_sh_string(c, 4) : NULL;
    const bool two = !strcmp(tc_op_schema(c->op)->name, "scatter_reduce");
    if (r)
        TC_TRY(check_reduction(
            c, r, two ? (const char *const[7]){"sum", "prod", "mean", "amax", "amin", "max", "min"} : (const char *const[7]){"add", "multiply"}));
    tc_dims dims = tc_dims_of(x);
    return tc_sh_out(c, 0, x->dtype, &dims);
}
static tc_status shape_index_write(tc_shape_ctx *c) { /* self, dim, index, source */
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_index_type(c, 2));
    TC_TRY(tc_sh_need_tensor(c, 3));
    const tc_meta *x = tc_sh_meta(c, 0), *i = tc_sh_meta(c, 2), *s = tc_sh_meta(c, 3);
    TC_TRY(tc_sh_dim_arg(c, 1, x->rank, &d));
    if (i->rank > 1)
        return tc_sh_fail_as(c, "IndexError", "%s(): Index is supposed to be a vector, but got dim: %d", tc_op_schema(c->op)->name, i->rank);
    TC_TRY(check_source(c, 3));
    const bool copies = !strcmp(tc_op_schema(c->op)->name, "index_copy");
    if (s->rank != x->rank && !(s->rank == 0 || x->rank == 0))
        return tc_sh_fail_as(c, copies ? "IndexError" : "RuntimeError",
                             "%s(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (%d), "
                             "destination dimensionality (%d)",
                             tc_op_schema(c->op)->name, s->rank, x->rank);
    const tc_sym one = tc_sym_int(tc_sh_sym(c), 1);
    if (copies && i->dtype != TC_I64) return tc_sh_fail(c, "index_copy_(): Expected a long tensor for index, but got %s", tc_dtypes[i->dtype].torch);
    if (!tc_sh_same(c, i->rank ? i->size[0] : one, s->rank ? s->size[d < s->rank ? d : 0] : one))
        return tc_sh_fail_as(c, copies || !s->rank ? "IndexError" : "RuntimeError", "%s(): Number of indices should be equal to source.size(dim)",
                             tc_op_schema(c->op)->name);
    if (s->rank != x->rank && !copies) return tc_sh_fail(c, "source tensor shape must match self tensor shape, excluding the specified dimension");
    if (!strcmp(tc_op_schema(c->op)->name, "index_reduce"))
        TC_TRY(check_reduction(c, tc_sh_string(c, 4), (const char *const[7]){"prod", "mean", "amax", "amin"}));
    for (int k = 0; k < s->rank && k < x->rank; k++)
        if (k != d && !tc_sh_same(c, s->size[k], x->size[k]))
            return tc_sh_fail(c, "Source and destination tensor must have same slice shapes except at dimension %d", d);
    tc_dims dims = tc_dims_of(x);
    return tc_sh_out(c, 0, x->dtype, &dims);
}
static tc_status shape_put(tc_shape_ctx *c) { /* self, index, source, accumulate */
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    if (tc_sh_meta(c, 1)->dtype != TC_I64)
        return tc_sh_fail(c, "put_(): Expected a long tensor for index, but got %s", tc_dtypes[tc_sh_meta(c, 1)->dtype].torch);
    TC_TRY(check_source(c, 2));
    tc_dims i = tc_dims_of(tc_sh_meta(c, 1)), s = tc_dims_of(tc_sh_meta(c, 2));
    if (!tc_sh_same(c, tc_dims_numel(c, &i), tc_dims_numel(c, &s)))
        return tc_sh_fail_as(c, "IndexError", "put_(): Expected source and index to have the same number of elements");
    return tc_shape_same(c);
}
/* A source larger than the index has no gradient in PyTorch: its formula gathers by the index. */
static tc_status source_is_larger(const tc_emit *e, const tc_node *n) {
    const tc_meta *index = tc_arg_meta(n, 2), *source = tc_arg_meta(n, 3);
    for (int k = 0; k < index->rank && k < source->rank; k++)
        if (tc_sym_differ(tc_e_sym(e), index->size[k], source->size[k]))
            return tc_e_refuse(n, "invalid gradient of src: the shape of index, but expected the shape of src, in dimension %d", k);
    return NULL;
}
static tc_status grad_scatter(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_emit_call(e, "aten::scatter.value", "vaai", gs[0], &n->args[1], &n->args[2], (int64_t)0));
    if (!tc_emit_wants_grad(e, n, 3)) return tc_e_done(e);
    if (!e->graph->program->forward_mode) TC_TRY(source_is_larger(e, n));
    tc_value *g = tc_emit_call(e, "aten::gather", "vaa", gs[0], &n->args[1], &n->args[2]);
    if (e->graph->program->forward_mode) {
        tc_value *own = tc_e_numbered(e, tc_arg_meta(n, 2)), *zero = tc_e_zeros(e, tc_arg_meta(n, 0), TC_I64);
        tc_value *written = tc_emit_call(e, "aten::scatter.src", "vaav", zero, &n->args[1], &n->args[2], own);
        g = tc_e_of_last(e, g, own, tc_emit_call(e, "aten::gather", "vaa", written, &n->args[1], &n->args[2]));
    }
    tc_e_give(e, n, 3, g);
    return tc_e_done(e);
}
static tc_status grad_scatter_add(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_e_give(e, n, 0, gs[0]);
    if (tc_emit_wants_grad(e, n, 3) && !e->graph->program->forward_mode) TC_TRY(source_is_larger(e, n));
    if (tc_emit_wants_grad(e, n, 3)) tc_e_give(e, n, 3, tc_emit_call(e, "aten::gather", "vaa", gs[0], &n->args[1], &n->args[2]));
    return tc_e_done(e);
}
/* scatter_reduce and index_reduce: (self, dim, index, source, reduce, include_self). They differ in how elements are picked and added. */
typedef struct {
    tc_emit *e;
    const tc_arg *args;
    bool slices; /* index_reduce */
} reducing;
static tc_value *pick(const reducing *r, tc_value *v) {
    return tc_emit_call(r->e, r->slices ? "aten::index_select" : "aten::gather", "vaa", v, &r->args[1], &r->args[2]);
}
static tc_value *add_into(const reducing *r, tc_value *to, tc_value *v) {
    return tc_emit_call(r->e, r->slices ? "aten::index_add" : "aten::scatter_add", "vaav", to, &r->args[1], &r->args[2], v);
}
static tc_value *reduce_into(const reducing *r, tc_value *to, tc_value *v) {
    return tc_emit_call(r->e, r->slices ? "aten::index_reduce" : "aten::scatter_reduce.two", "vaavaa", to, &r->args[1], &r->args[2], v, &r->args[4],
                        &r->args[5]);
}
static tc_value *filled(tc_emit *e, tc_value *v, tc_value *mask, int64_t with) {
    return tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", v, mask, with);
}
/* The product of the others: result / own; where own is the only zero, the product computed with 1 in its place. */
static void grad_product(const reducing *r, tc_value *g, tc_value *x, tc_value *src, tc_value *y, tc_value **gx, tc_value **gsrc) {
    tc_emit *e = r->e;
    tc_value *ones = filled(e, x, tc_emit_call(e, "aten::eq.Scalar", "vi", x, (int64_t)0), 1);
    *gx = tc_e_div(e, tc_e_mul(e, g, reduce_into(r, ones, src)), ones);
    tc_value *none = tc_emit_call(e, "aten::eq.Scalar", "vi", src, (int64_t)0);
    tc_value *count = pick(r, add_into(r, tc_e_zeros_like(e, x), tc_e_cast(e, none, x->meta.dtype)));
    tc_value *single = tc_e2(e, "aten::logical_and", none, tc_emit_call(e, "aten::eq.Scalar", "vi", count, (int64_t)1));
    tc_value *others = reduce_into(r, x, filled(e, src, single, 1));
    tc_value *plain = tc_e_div(e, pick(r, tc_e_mul(e, g, y)), filled(e, src, none, 1));
    *gsrc = tc_e3(e, "aten::where.self", single, pick(r, tc_e_mul(e, g, others)), plain);
}
static tc_status grad_reducing(tc_emit *e, const tc_node *n, tc_value *g, bool slices) {
    const reducing r = {e, n->args, slices};
    const char *op = tc_arg_string(n, 4);
    bool self = tc_arg_bool(n, 5);
    tc_value *x = tc_arg_value(n, 0), *src = tc_arg_value(n, 3), *y = n->outs[0], *gx = NULL, *gsrc = NULL;
    if (!strcmp(op, "sum")) {
        gx = g, gsrc = pick(&r, g);
    } else if (!strcmp(op, "mean")) {
        tc_value *count = self ? tc_emit_call(e, "aten::ones_like", "v", x) : tc_e_zeros_like(e, x);
        count = tc_emit_call(e, "aten::clamp_min", "vi", add_into(&r, count, tc_emit_call(e, "aten::ones_like", "v", src)), (int64_t)1);
        gx = tc_e_div(e, g, count), gsrc = pick(&r, gx);
    } else if (!strcmp(op, "prod") && e->graph->program->forward_mode) { /* for which PyTorch has no tangent */
        gx = tc_e_zeros_like(e, x), gsrc = tc_e_zeros_like(e, src);
    } else if (!strcmp(op, "prod")) {
        grad_product(&r, g, x, src, y, &gx, &gsrc);
    } else {
        tc_value *hit = tc_e2(e, "aten::eq.Tensor", src, pick(&r, y)), *own = tc_e2(e, "aten::eq.Tensor", x, y);
        tc_value *before = tc_e_cast(e, own, g->meta.dtype);
        if (!self && e->graph->program->forward_mode) /* as PyTorch's two modes have it */
            before =
                tc_emit_call(e, slices ? "aten::index_fill.int_Scalar" : "aten::scatter.value", "vaai", before, &n->args[1], &n->args[2], (int64_t)0);
        tc_value *count = add_into(&r, before, tc_e_cast(e, hit, g->meta.dtype));
        tc_value *share = tc_e_div(e, g, count);
        gx = tc_emit_call(e, "aten::where.ScalarOther", "vvi", own, share, (int64_t)0);
        gsrc = tc_emit_call(e, "aten::where.ScalarOther", "vvi", hit, pick(&r, share), (int64_t)0);
    }
    if (!self && tc_emit_wants_grad(e, n, 0))
        gx = tc_emit_call(e, slices ? "aten::index_fill.int_Scalar" : "aten::scatter.value", "vaai", gx, &n->args[1], &n->args[2], (int64_t)0);
    tc_e_give(e, n, 0, gx);
    if (tc_emit_wants_grad(e, n, 3)) tc_e_give(e, n, 3, gsrc);
    return tc_e_done(e);
}
static tc_status grad_scatter_reduce(tc_emit *e, const tc_node *n, tc_value *const *gs) { return grad_reducing(e, n, gs[0], false); }
static tc_status grad_index_reduce(tc_emit *e, const tc_node *n, tc_value *const *gs) { return grad_reducing(e, n, gs[0], true); }
/* On real and imaginary parts, after multiplying by alpha. */
static tc_status complex_index_add(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *source = tc_e_cast(e, tc_arg_value(n, 3), x->meta.dtype);
    bool point = x->meta.rank == 0;
    int64_t dim = tc_wrap(tc_arg_int(n, 1), x->meta.rank), flat = -1;
    if (!tc_scalar_is(tc_arg_scalar(n, 4), 1)) source = tc_emit_call(e, "aten::mul.Tensor", "va", source, &n->args[4]);
    if (point) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0), source = tc_emit_call(e, "aten::reshape", "vI", source, &flat, 1);
    tc_value *sum =
        tc_emit_call(e, "aten::index_add", "viav", tc_e1(e, "aten::view_as_real", x), dim, &n->args[2], tc_e1(e, "aten::view_as_real", source));
    sum = tc_e1(e, "aten::view_as_complex", sum);
    tc_emit_result(e, 0, point ? tc_emit_call(e, "aten::squeeze.dim", "vi", sum, (int64_t)0) : sum);
    return tc_e_done(e);
}
static tc_status grad_index_add(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* ..., alpha */
    tc_e_give(e, n, 0, gs[0]);
    if (tc_emit_wants_grad(e, n, 3)) {
        tc_value *g = tc_emit_call(e, "aten::index_select", "vaa", gs[0], &n->args[1], &n->args[2]);
        g = tc_e_conj(e, tc_emit_call(e, "aten::mul.Tensor", "va", tc_e_conj(e, g), &n->args[4]));
        const tc_meta *s = tc_arg_meta(n, 3);
        tc_e_give(e, n, 3, g && s->rank != g->meta.rank ? tc_emit_call(e, "aten::reshape", "vS", g, s->size, s->rank) : g);
    }
    return tc_e_done(e);
}
static tc_value *selected(tc_emit *e, const tc_node *n, tc_value *v) {
    const tc_meta *s = tc_arg_meta(n, 3);
    v = tc_emit_call(e, "aten::index_select", "vaa", v, &n->args[1], &n->args[2]);
    return v && s->rank != v->meta.rank ? tc_emit_call(e, "aten::reshape", "vS", v, s->size, s->rank) : v;
}
static tc_status grad_index_copy(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0, tc_emit_call(e, "aten::index_fill.int_Scalar", "vaai", gs[0], &n->args[1], &n->args[2], (int64_t)0));
    if (tc_emit_wants_grad(e, n, 3)) {
        tc_value *g = selected(e, n, gs[0]);
        if (e->graph->program->forward_mode) {
            tc_value *own = tc_e_numbered(e, tc_arg_meta(n, 3)), *zero = tc_e_zeros(e, tc_arg_meta(n, 0), TC_I64);
            g = tc_e_of_last(e, g, own, selected(e, n, tc_emit_call(e, "aten::index_copy", "vaav", zero, &n->args[1], &n->args[2], own)));
        }
        tc_e_give(e, n, 3, g);
    }
    return tc_e_done(e);
}
static tc_value *taken(tc_emit *e, const tc_node *n, tc_value *v) {
    const tc_meta *s = tc_arg_meta(n, 2);
    return tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::take", "va", v, &n->args[1]), s->size, s->rank);
}
static tc_status grad_put(tc_emit *e, const tc_node *n, tc_value *const *gs) { /* self, index, source, accumulate */
    const tc_meta *s = tc_arg_meta(n, 2);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0,
                  tc_arg_bool(n, 3) ? gs[0] : tc_emit_call(e, "aten::put", "vavb", gs[0], &n->args[1], tc_e_zeros(e, s, gs[0]->meta.dtype), 0));
    if (!tc_emit_wants_grad(e, n, 2)) return tc_e_done(e);
    tc_value *g = taken(e, n, gs[0]);
    if (e->graph->program->forward_mode && !tc_arg_bool(n, 3)) {
        tc_value *own = tc_e_numbered(e, s), *zero = tc_e_zeros(e, tc_arg_meta(n, 0), TC_I64);
        g = tc_e_of_last(e, g, own, taken(e, n, tc_emit_call(e, "aten::put", "vavb", zero, &n->args[1], own, 0)));
    }
    tc_e_give(e, n, 2, g);
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status decompose_index_fill(tc_emit *e, const tc_node *n) { /* self, dim, index, value */
    tc_value *x = tc_arg_value(n, 0), *i = tc_arg_value(n, 2), *src;
    tc_sym size[TC_MAX_RANK];
    int64_t given = tc_arg_int(n, 1), r = x->meta.rank ? x->meta.rank : 1;
    if (given < -r || given >= r)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                        tc_op_name(n->op), (long long)-r, (long long)r - 1, (long long)given);
    if (i->meta.rank > 1) return tc_error(TC_CONTENT, "IndexError: %s: Index has to be a vector/scalar", tc_op_name(n->op));
    int d = tc_wrap(given, x->meta.rank);
    for (int k = 0; k < x->meta.rank; k++) size[k] = k == d ? (i->meta.rank ? i->meta.size[0] : tc_sym_int(tc_e_sym(e), 1)) : x->meta.size[k];
    if (tc_arg_meta(n, 3)) {
        if (tc_is_complex(tc_arg_meta(n, 3)->dtype) && !tc_is_complex(x->meta.dtype))
            return tc_e_refuse(n, "Converting complex Scalar to non-complex type is not supported");
        if (tc_arg_meta(n, 3)->rank)
            return tc_e_refuse(n, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                               tc_arg_meta(n, 3)->rank);
        src = tc_emit_call(e, "aten::expand", "vS", tc_e_cast(e, tc_arg_value(n, 3), x->meta.dtype), size, x->meta.rank);
    } else {
        src = tc_emit_call(e, "aten::full", "Sad", size, x->meta.rank, &n->args[3], (int)x->meta.dtype);
    }
    /* Of these operators only index_fill accepts negative indices. */
    tc_arg whole = {.kind = TC_A_SCALAR, .is_sym = true, .sym = x->meta.rank ? x->meta.size[d] : tc_sym_int(tc_e_sym(e), 1)};
    tc_value *from_end = tc_emit_call(e, "aten::add.Scalar", "va", i, &whole);
    i = tc_emit_call(e, "aten::where.self", "vvv", tc_emit_call(e, "aten::lt.Scalar", "vi", i, (int64_t)0), from_end, i);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index_copy", "vavv", x, &n->args[1], i, src));
    return tc_e_done(e);
}
static tc_status grad_index_fill(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *x = tc_arg_value(n, 0);
    if (tc_emit_wants_grad(e, n, 0))
        tc_e_give(e, n, 0, tc_emit_call(e, "aten::index_fill.int_Scalar", "vaai", gs[0], &n->args[1], &n->args[2], (int64_t)0));
    if (tc_emit_wants_grad(e, n, 3)) { /* an index that occurs twice counts once */
        tc_value *filled = tc_e_zeros(e, &x->meta, TC_BOOL);
        filled = tc_emit_call(e, "aten::index_fill.int_Scalar", "vaai", filled, &n->args[1], &n->args[2], (int64_t)1);
        tc_e_give(e, n, 3, tc_e1(e, "aten::sum", tc_emit_call(e, "aten::where.ScalarOther", "vvi", filled, gs[0], (int64_t)0)));
    }
    return tc_e_done(e);
}
static tc_status decompose_scatter_value_reduce(tc_emit *e, const tc_node *n) { /* self, dim, index, value, reduce */
    const tc_meta *at = tc_arg_meta(n, 2);
    tc_value *src = tc_emit_call(e, "aten::full", "Sad", at->size, at->rank, &n->args[3], (int)tc_arg_meta(n, 0)->dtype);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::scatter.reduce", "aaava", &n->args[0], &n->args[1], &n->args[2], src, &n->args[4]));
    return tc_e_done(e);
}

#define SCATTER(SCHEMA, kernel_, grad_, sample, text)                                                                                    \
    {                                                                                                                                    \
        .schema = "aten::" SCHEMA " -> Tensor", .flags = TC_OP_INDEX_RUNTIME, .shape = shape_scatter, .kernel = &kernel_, .grad = grad_, \
        .samples = sample, .doc = text                                                                                                   \
    }
#define KERNEL(SCHEMA, shape_, kernel_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .kernel = &kernel_, .grad = grad_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_scatter[] = {
    SCATTER("scatter.src(Tensor self, int dim, Tensor index, Tensor src)", tc_k_scatter, grad_scatter,
            "scatter(f32[4,5], 1, i64[4,1]:0..5, f32[4,1])", "src written at index along dim"),
    SCATTER("scatter.value(Tensor self, int dim, Tensor index, Scalar value)", tc_k_scatter, grad_scatter, "scatter(f32[4,5], 1, i64[4,2]:0..5, 1.5)",
            "value written at index along dim"),
    {.schema = "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME | TC_OP_UNDERIVED,
     .shape = shape_scatter,
     .kernel = &tc_k_scatter_reduce,
     .samples = "scatter(f32[4,5], 1, i64[4,2]:0..5, f32[4,2], reduce='add')",
     .doc = "src added or multiplied at index along dim"},
    {.schema = "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
     .flags = TC_OP_UNDERIVED,
     .shape = tc_shape_decomposed,
     .decompose = decompose_scatter_value_reduce,
     .samples = "scatter(f32[4,5], 1, i64[4,2]:0..5, 1.5, reduce='add')",
     .doc = "value added or multiplied at index along dim"},
    SCATTER("scatter_add(Tensor self, int dim, Tensor index, Tensor src)", tc_k_scatter_add, grad_scatter_add,
            "scatter_add(f32[4,5], 1, i64[4,2]:0..5, f32[4,2])", "src added at index along dim"),
    SCATTER("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)", tc_k_scatter_reduce,
            grad_scatter_reduce, "scatter_reduce(f32[4,5], 1, i64[4,2]:0..5, f32[4,2], 'amax')", "src reduced into index along dim"),
    {.schema = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = shape_index_write,
     .kernel = &tc_k_index_add,
     .complex = complex_index_add,
     .grad = grad_index_add,
     .samples = "index_add(f32[4,5], 1, i64[3]:0..5, f32[4,3]); index_add(c64[4,5], -1, i64[3]:0..5, c64[4,3], alpha=2)",
     .doc = "alpha source added to slices at index"},
    KERNEL("index_copy(Tensor self, int dim, Tensor index, Tensor source)", shape_index_write, tc_k_index_copy, grad_index_copy,
           "index_copy(f32[4,5], 1, i64[2]:0..5, f32[4,2])", "source written to slices at index"),
    KERNEL("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)", shape_index_write,
           tc_k_index_reduce, grad_index_reduce,
           "index_reduce(f32[4,5], 1, i64[3]:0..5, f32[4,3], 'mean'); index_reduce(f64[4,5], 1, i64[3]:0..5, f64[4,3], 'prod')",
           "source reduced into slices at index"),
    {.schema = "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     .shape = tc_shape_decomposed_like,
     .decompose = decompose_index_fill,
     .grad = grad_index_fill,
     .samples = "index_fill(f32[4,5], 1, i64[2]:0..5, 1.5)",
     .doc = "value written to slices at index"},
    {.schema = "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     .shape = tc_shape_decomposed_like,
     .decompose = decompose_index_fill,
     .grad = grad_index_fill,
     .samples = "index_fill(f32[4,5], 1, i64[2]:0..5, f32[])",
     .doc = "value written to slices at index"},
    KERNEL("put(Tensor self, Tensor index, Tensor source, bool accumulate=False)", shape_put, tc_k_put, grad_put,
           "put(f32[4,5], i64[3]:0..20, f32[3], True)", "source written at row-major positions"),
    {0}};
