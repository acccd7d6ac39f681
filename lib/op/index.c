/* Elements read by index tensors (index, gather, index_select, take), and written by several index tensors or a mask (index_put, masked_fill,
 * masked_scatter). Writing along one dimension: scatter.c.
 *
 *     index     y[i.., rest] = x[i0[i..], i1[i..], rest]; index tensors broadcast; apart from each other their dimensions come first
 *     gather    y[.., i, ..] = x[.., index[.., i, ..], ..]
 *
 * Reading is a loop with gathered loads, writing a kernel (kernel/scatter.h). An index out of bounds is an IndexError at run time. */
#include "op/index.h"

#include "kernel/scatter.h"
#include "op/lower.h"
#include "op/shape.h"

static bool is_mask(const tc_value *v) { return v && (v->meta.dtype == TC_BOOL || v->meta.dtype == TC_U8); }

/* ---- index ---- */
typedef struct {
    tc_dims index, result;
    int first, count;
    bool apart;
} picked; /* dimensions of the broadcast indices begin at `first` */

static tc_status picked_dims(tc_shape_ctx *c, const tc_meta *x, const tc_arg *list, picked *p) {
    *p = (picked){.first = -1};
    int last = -1;
    if (list->n > x->rank) return tc_sh_fail_as(c, "IndexError", "too many indices for tensor of dimension %d", x->rank);
    for (int d = 0; d < list->n; d++) {
        const tc_value *v = list->values[d];
        if (!v || v->kind == TC_V_NONE) continue;
        if (v->meta.dtype != TC_I64 && v->meta.dtype != TC_I32)
            return tc_sh_fail_as(c, "IndexError", "tensors used as indices must be long, int, byte or bool tensors");
        tc_status s = tc_sh_broadcast_dims(c, &p->index, &v->meta);
        if (s) {
            tc_status_free(s);
            return tc_sh_fail_as(c, "IndexError", "shape mismatch: indexing tensors could not be broadcast together");
        }
        if (p->first < 0) p->first = d;
        if (last >= 0 && d != last + 1) p->apart = true;
        last = d;
        p->count++;
    }
    if (p->count == 0) return tc_sh_fail(c, "at least one index must be provided");
    if (p->apart) p->first = 0;
    tc_dims *r = &p->result;
    for (int d = 0, done = 0; d <= x->rank; d++) {
        if (!done && (p->apart || d == p->first)) {
            for (int k = 0; k < p->index.rank && r->rank < TC_MAX_RANK; k++) r->size[r->rank++] = p->index.size[k];
            done = 1;
        }
        if (d == x->rank) break;
        bool used = d < list->n && list->values[d] && list->values[d]->kind != TC_V_NONE;
        if (!used && r->rank < TC_MAX_RANK) r->size[r->rank++] = x->size[d];
    }
    return NULL;
}
/* Strides as PyTorch's iterator gives them for x expanded along the index dimensions and the indices expanded along the others. */
static const tc_sym *picked_strides(tc_shape_ctx *c, const tc_meta *x, const tc_arg *list, const picked *p) {
    const tc_dims *r = &p->result;
    const tc_sym zero = tc_sym_int(tc_sh_sym(c), 0), one = tc_sym_int(tc_sh_sym(c), 1);
    tc_meta m[TC_MAX_RANK + 1] = {{.rank = r->rank, .size = r->size}};
    const tc_meta *of[TC_MAX_RANK + 1] = {m};
    tc_sym stride[TC_MAX_RANK + 1][TC_MAX_RANK], size[TC_MAX_RANK + 1][TC_MAX_RANK];
    bool plain = !x->stride;
    int n = 1, at = 0;
    for (int k = 0; k < r->rank; k++) stride[0][k] = zero;
    for (int d = 0; d < x->rank; d++) {
        const tc_value *v = d < list->n ? list->values[d] : NULL;
        if (at == p->first) at += p->index.rank;
        if (!v || v->kind == TC_V_NONE) {
            stride[0][at++] = tc_sh_strides(c, x)[d];
            continue;
        }
        const tc_sym *own = tc_sh_strides(c, &v->meta);
        const int skip = p->first + p->index.rank - v->meta.rank;
        for (int k = 0; k < r->rank; k++) {
            const bool within = k >= skip && k < skip + v->meta.rank;
            size[n][k] = within ? v->meta.size[k - skip] : one, stride[n][k] = within ? own[k - skip] : zero;
        }
        m[n] = (tc_meta){.rank = r->rank, .size = size[n], .stride = stride[n]};
        of[n] = &m[n], n++;
        plain &= !v->meta.stride;
    }
    m[0].stride = stride[0];
    return plain ? NULL : tc_sh_iterated(c, r, of, n);
}
static tc_status shape_index(tc_shape_ctx *c) {
    picked p;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(picked_dims(c, tc_sh_meta(c, 0), &c->args[1], &p));
    return tc_sh_out_strided(c, 0, tc_sh_meta(c, 0)->dtype, &p.result, picked_strides(c, tc_sh_meta(c, 0), &c->args[1], &p));
}
/* Negative indices count from the end. */
static tc_lv wrapped(tc_lower *l, tc_lv i, tc_sym size) {
    return tc_l_where(l, tc_l_op2(l, TC_X_LT, i, tc_l_int(l, 0)), tc_l_add(l, i, tc_l_host(l, TC_I64, size)), i);
}
static tc_status lower_index(tc_lower *l) {
    const tc_node *n = l->node;
    tc_value *x = tc_arg_value(n, 0);
    const tc_arg *list = &n->args[1];
    picked p;
    tc_shape_ctx c = {.program = n->graph->program, .op = n->op, .args = n->args, .nargs = n->nargs, .source = n->source};
    TC_TRY(picked_dims(&c, &x->meta, list, &p));
    tc_affine zero = tc_l_affine(l, NULL, -1, NULL), index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    for (int d = 0, at = 0; d < x->meta.rank; d++) {
        tc_value *v = d < list->n ? list->values[d] : NULL;
        if (at == p.first) at += p.index.rank; /* skip the result's axes of the index dimensions */
        gather[d] = TC_LV_NONE;
        if (!v || v->kind == TC_V_NONE) {
            index[d] = tc_sym_is_int(x->meta.size[d], 1) ? zero : tc_l_axis(l, at);
            at++;
            continue;
        }
        tc_affine iat[TC_MAX_RANK] = {{0}};
        for (int k = 0; k < v->meta.rank; k++)
            iat[k] = tc_sym_is_int(v->meta.size[k], 1) ? zero : tc_l_axis(l, p.first + p.index.rank - v->meta.rank + k);
        gather[d] = wrapped(l, tc_l_cast(l, tc_l_load(l, v, iat, NULL, TC_LV_NONE), TC_I64), x->meta.size[d]);
        index[d] = zero;
    }
    return tc_l_out(l, 0, tc_l_load(l, x, index, gather, TC_LV_NONE));
}
/* Index tensors as int64; masks as the coordinates of their true elements. */
static int expand_masks(tc_emit *e, const tc_arg *list, tc_value **out, int max) {
    int n = 0;
    for (int k = 0; k < list->n; k++) {
        tc_value *v = list->values[k];
        if (v && v->kind == TC_V_NONE) v = NULL;
        if (is_mask(v)) {
            tc_value *where = tc_e1(e, "aten::nonzero", v);
            for (int d = 0; d < v->meta.rank && n < max; d++)
                out[n++] = where ? tc_emit_call(e, "aten::select.int", "vii", where, (int64_t)1, (int64_t)d) : NULL;
            if (v->meta.rank == 0 && n < max) out[n++] = NULL;
        } else if (n < max) {
            out[n++] = v;
        }
    }
    return n;
}
/* The sizes of each mask must equal those of the dimensions that it indexes. */
static tc_status check_masks(tc_symctx *s, const tc_op *op, const tc_meta *x, const tc_arg *list) {
    for (int k = 0, d = 0; k < list->n; k++) {
        const tc_value *m = list->values[k];
        if (is_mask(m) && m->meta.rank == 0) return tc_error(TC_UNSUPPORTED, "%s: a 0-d mask", tc_op_name(op));
        for (int j = 0; is_mask(m) && j < m->meta.rank; j++)
            if (d + j >= x->rank || tc_sym_differ(s, m->meta.size[j], x->size[d + j]))
                return tc_error(TC_CONTENT,
                                "IndexError: %s: The shape of the mask at index %d does not match the shape of the indexed tensor at index %d",
                                tc_op_name(op), j, d + j);
        d += is_mask(m) ? m->meta.rank : 1;
    }
    return NULL;
}
static tc_status decompose_index(tc_emit *e, const tc_node *n) {
    tc_value *v[2 * TC_MAX_RANK] = {0}, *x = tc_arg_value(n, 0);
    const tc_arg *list = &n->args[1];
    TC_TRY(check_masks(tc_e_sym(e), n->op, &x->meta, list));
    int count = expand_masks(e, list, v, 2 * TC_MAX_RANK);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_unsafe_index.Tensor", "vV", x, v, count));
    return tc_e_done(e);
}
static tc_status shape_index_any(tc_shape_ctx *c) {
    bool masks = false;
    for (int k = 0; k < c->args[1].n; k++) masks |= is_mask(c->args[1].values[k]);
    return masks ? tc_shape_decomposed(c) : shape_index(c);
}
static tc_status grad_index(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_value *zero = tc_e_zeros(e, m, gs[0]->meta.dtype);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::_unsafe_index_put", "vavb", zero, &n->args[1], gs[0], 1));
    return tc_e_done(e);
}

/* ---- index_put ---- */
static tc_status shape_index_put(tc_shape_ctx *c) {
    picked p;
    tc_dims d;
    bool masks = false;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 2));
    const tc_meta *x = tc_sh_meta(c, 0), *v = tc_sh_meta(c, 2);
    if (x->dtype != v->dtype)
        return tc_sh_fail(c, "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
                          tc_dtypes[x->dtype].torch, tc_dtypes[v->dtype].torch);
    for (int k = 0; k < c->args[1].n; k++) masks |= is_mask(c->args[1].values[k]);
    if (masks) TC_TRY(check_masks(tc_sh_sym(c), c->op, x, &c->args[1]));
    if (!masks) {
        TC_TRY(picked_dims(c, x, &c->args[1], &p));
        d = p.result;
        tc_status s = tc_sh_broadcast_dims(c, &d, v);
        bool ok = !s && d.rank == p.result.rank;
        for (int k = 0; ok && k < d.rank; k++) ok = d.size[k] == p.result.size[k] || tc_sh_same(c, d.size[k], p.result.size[k]);
        if (s) tc_status_free(s);
        if (!ok) return tc_sh_fail(c, "shape mismatch: value tensor cannot be broadcast to indexing result");
    }
    return tc_shape_same(c);
}
static tc_status decompose_index_put(tc_emit *e, const tc_node *n) { /* self, indices, values, accumulate */
    tc_value *v[2 * TC_MAX_RANK] = {0}, *x = tc_arg_value(n, 0), *val = tc_arg_value(n, 2);
    const tc_arg *list = &n->args[1];
    if (!tc_arg_bool(n, 3) && list->n == 1 && is_mask(list->values[0]) &&
        (val->meta.rank == 0 || (val->meta.rank == 1 && tc_sym_is_int(val->meta.size[0], 1)))) {
        tc_value *m = list->values[0];
        if (val->meta.rank) val = tc_emit_call(e, "aten::select.int", "vii", val, (int64_t)0, (int64_t)0);
        for (int k = m->meta.rank; m && k < x->meta.rank; k++) m = tc_emit_call(e, "aten::unsqueeze", "vi", m, (int64_t)-1);
        tc_emit_result(e, 0, tc_e3(e, "aten::where.self", m, val, x));
        return tc_e_done(e);
    }
    int count = expand_masks(e, list, v, 2 * TC_MAX_RANK);
    for (int k = 0; k < count; k++)
        if (v[k]) v[k] = tc_e_cast(e, v[k], TC_I64);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_unsafe_index_put", "vVva", x, v, count, val, &n->args[3]));
    return tc_e_done(e);
}
static tc_status decompose_index_put_impl(tc_emit *e, const tc_node *n) {
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index_put", "aaaa", &n->args[0], &n->args[1], &n->args[2], &n->args[3]));
    return tc_e_done(e);
}
static tc_status grad_index_put(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *v = tc_arg_meta(n, 2);
    if (tc_emit_wants_grad(e, n, 0)) {
        if (tc_arg_bool(n, 3)) tc_e_give(e, n, 0, gs[0]);
        else tc_e_give(e, n, 0, tc_emit_call(e, "aten::_unsafe_index_put", "vavb", gs[0], &n->args[1], tc_e_zeros(e, v, gs[0]->meta.dtype), 0));
    }
    if (!tc_emit_wants_grad(e, n, 2)) return tc_e_done(e);
    tc_value *g = tc_emit_call(e, "aten::_unsafe_index.Tensor", "va", gs[0], &n->args[1]);
    if (g && e->graph->program->forward_mode && !tc_arg_bool(n, 3)) {
        tc_value *own = tc_e_numbered(e, &g->meta), *zero = tc_e_zeros(e, tc_arg_meta(n, 0), TC_I64);
        tc_value *written = tc_emit_call(e, "aten::_unsafe_index_put", "vavb", zero, &n->args[1], own, 0);
        g = tc_e_of_last(e, g, own, tc_emit_call(e, "aten::_unsafe_index.Tensor", "va", written, &n->args[1]));
    }
    tc_e_give(e, n, 2, g);
    return tc_e_done(e);
}

/* ---- gather, index_select ---- */
tc_status tc_sh_index_type(tc_shape_ctx *c, int arg) {
    TC_TRY(tc_sh_need_tensor(c, arg));
    tc_dtype d = tc_sh_meta(c, arg)->dtype;
    if (d == TC_I64 || d == TC_I32) return NULL;
    return tc_sh_fail(c, "%s(): Expected dtype int32/int64 for index, got %s", tc_op_schema(c->op)->name, tc_dtypes[d].torch);
}
bool tc_sh_no_larger(tc_shape_ctx *c, tc_sym a, tc_sym b) { return a == b || tc_sh_guard(c, tc_sym_op(tc_sh_sym(c), TC_S_LE, a, b, NULL)); }
static tc_status shape_gather(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 2));
    const tc_meta *x = tc_sh_meta(c, 0), *i = tc_sh_meta(c, 2);
    TC_TRY(tc_sh_dim_arg(c, 1, x->rank, &d));
    tc_dims dims = tc_dims_of(i);
    if (tc_sh_is_empty(i)) return tc_sh_out(c, 0, x->dtype, &dims); /* an empty index may have any type and rank */
    TC_TRY(tc_sh_index_type(c, 2));
    if ((x->rank ? x->rank : 1) != (i->rank ? i->rank : 1))
        return tc_sh_fail(c, "Index tensor must have the same number of dimensions as input tensor");
    for (int k = 0; k < i->rank && k < x->rank; k++)
        if (k != d && !tc_sh_no_larger(c, i->size[k], x->size[k]))
            return tc_sh_fail(c, "Size does not match at dimension %d expected index to be no larger than self apart from dimension %d", k, d);
    return tc_sh_out(c, 0, x->dtype, &dims);
}
static tc_status lower_gather(tc_lower *l) {
    tc_value *x = tc_arg_value(l->node, 0), *i = tc_arg_value(l->node, 2);
    int d = tc_wrap(tc_arg_int(l->node, 1), x->meta.rank);
    if (tc_sh_is_empty(&i->meta)) return tc_l_out(l, 0, tc_l_const(l, tc_l_type(l, 0), tc_scalar_int(0)));
    tc_affine zero = tc_l_affine(l, NULL, -1, NULL), index[TC_MAX_RANK] = {{0}}, iat[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    for (int k = 0; k < i->meta.rank; k++) iat[k] = tc_sym_is_int(i->meta.size[k], 1) ? zero : tc_l_axis(l, k);
    tc_lv at = tc_l_cast(l, tc_l_load(l, i, iat, NULL, TC_LV_NONE), TC_I64);
    for (int k = 0; k < x->meta.rank; k++) {
        gather[k] = k == d ? at : TC_LV_NONE;
        index[k] = k == d || k >= i->meta.rank || tc_sym_is_int(i->meta.size[k], 1) ? zero : tc_l_axis(l, k);
    }
    return tc_l_out(l, 0, tc_l_load(l, x, index, gather, TC_LV_NONE));
}
static tc_status grad_gather(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_value *zero = tc_e_zeros(e, m, gs[0]->meta.dtype);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::scatter_add", "vaav", zero, &n->args[1], &n->args[2], gs[0]));
    return tc_e_done(e);
}
static tc_status shape_index_select(tc_shape_ctx *c) {
    int d;
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_index_type(c, 2));
    const tc_meta *x = tc_sh_meta(c, 0), *i = tc_sh_meta(c, 2);
    TC_TRY(tc_sh_dim_arg(c, 1, x->rank, &d));
    if (i->rank > 1) return tc_sh_fail_as(c, "IndexError", "index_select(): Index is supposed to be a vector");
    tc_dims dims = tc_dims_of(x);
    if (!x->rank && i->rank && !tc_sh_same(c, i->size[0], tc_sym_int(tc_sh_sym(c), 1)))
        return tc_sh_fail_as(c, "IndexError", "index_select(): Index to scalar can have only 1 value");
    if (x->rank) dims.size[d] = i->rank ? i->size[0] : tc_sym_int(tc_sh_sym(c), 1);
    return tc_sh_out(c, 0, x->dtype, &dims);
}
static tc_status lower_index_select(tc_lower *l) {
    tc_value *x = tc_arg_value(l->node, 0), *i = tc_arg_value(l->node, 2);
    int d = tc_wrap(tc_arg_int(l->node, 1), x->meta.rank);
    tc_affine zero = tc_l_affine(l, NULL, -1, NULL), index[TC_MAX_RANK] = {{0}}, iat = zero;
    tc_lv gather[TC_MAX_RANK];
    if (i->meta.rank && !tc_sym_is_int(i->meta.size[0], 1)) iat = tc_l_axis(l, d);
    for (int k = 0; k < x->meta.rank; k++) {
        gather[k] = k == d ? tc_l_cast(l, tc_l_load(l, i, &iat, NULL, TC_LV_NONE), TC_I64) : TC_LV_NONE;
        index[k] = k == d || tc_sym_is_int(x->meta.size[k], 1) ? zero : tc_l_axis(l, k);
    }
    return tc_l_out(l, 0, tc_l_load(l, x, index, gather, TC_LV_NONE));
}
static tc_status grad_index_select(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_meta *m = tc_arg_meta(n, 0);
    tc_value *zero = tc_e_zeros(e, m, gs[0]->meta.dtype);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::index_add", "vaav", zero, &n->args[1], &n->args[2], gs[0]));
    return tc_e_done(e);
}
/* A tensor without dimensions is indexed as a row of one, so that the index is checked. */
static bool has_dimensions(const tc_node *n) { return tc_arg_meta(n, 0)->rank > 0; }
static tc_status pick_of_one(tc_emit *e, const tc_node *n) {
    const tc_meta *y = &n->outs[0]->meta;
    tc_value *row = tc_emit_call(e, "aten::unsqueeze", "vi", tc_arg_value(n, 0), (int64_t)0),
             *flat = tc_emit_call(e, "aten::reshape", "vI", tc_arg_value(n, 2), (int64_t[]){-1}, 1);
    tc_value *found = tc_emit_call(e, tc_op_name(n->op), "viv", row, (int64_t)0, flat);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::reshape", "vS", found, y->size, y->rank));
    return tc_e_done(e);
}
static const struct tc_otherwise pick_otherwise = {has_dimensions, pick_of_one};

/* ---- masked_fill ---- */
static tc_status shape_masked_fill(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    const tc_meta *x = tc_sh_meta(c, 0), *m = tc_sh_meta(c, 1), *v = tc_sh_meta(c, 2);
    if (m->dtype != TC_BOOL) return tc_sh_fail(c, "masked_fill_ only supports boolean masks, but got mask with dtype %s", tc_dtypes[m->dtype].torch);
    if (v && v->rank) return tc_sh_fail(c, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).", v->rank);
    if (v && tc_is_complex(v->dtype) && !tc_is_complex(x->dtype))
        return tc_sh_fail(c, "value cannot be converted to type %s without overflow", tc_dtypes[x->dtype].torch);
    tc_dims d; /* PyTorch fills a contiguous copy */
    TC_TRY(tc_sh_broadcast(c, 2, (int[]){0, 1}, &d));
    return tc_sh_out(c, 0, x->dtype, &d);
}
static tc_status lower_masked_fill(tc_lower *l) { return tc_l_out(l, 0, tc_l_where(l, tc_l_in_as(l, 1, TC_BOOL), tc_l_in(l, 2), tc_l_in(l, 0))); }
static tc_status grad_masked_fill(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    tc_value *m = tc_arg_value(n, 1);
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_emit_call(e, "aten::where.ScalarSelf", "viv", m, (int64_t)0, gs[0]));
    if (tc_emit_wants_grad(e, n, 2))
        tc_e_give(e, n, 2, tc_e1(e, "aten::sum", tc_emit_call(e, "aten::where.ScalarOther", "vvi", m, gs[0], (int64_t)0)));
    return tc_e_done(e);
}

/* ---- compositions ---- */
static tc_status decompose_take(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *i = tc_arg_value(n, 1);
    if (i->meta.dtype != TC_I64) return tc_e_refuse(n, "take(): Expected a long tensor for index");
    tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_unsafe_index.Tensor", "vV", flat, &i, 1));
    return tc_e_done(e);
}
static tc_status decompose_take_along_dim(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *i = tc_arg_value(n, 1);
    const bool flattened = tc_arg_is_none(n, 2);
    if (i->meta.dtype != TC_I64 && !(flattened && i->meta.dtype == TC_I32))
        return tc_e_refuse(n, "torch.take_along_dim(): dtype of indices should be Long");
    if (flattened) {
        tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
        tc_emit_result(e, 0, tc_emit_call(e, "aten::gather", "viv", flat, (int64_t)0, tc_emit_call(e, "aten::reshape", "vI", i, (int64_t[]){-1}, 1)));
        return tc_e_done(e);
    }
    if (x->meta.rank != i->meta.rank)
        return tc_e_refuse(n,
                           "torch.take_along_dim(): input and indices should have the same number of dimensions, but got %d dimensions for input, "
                           "and %d dimensions for indices",
                           x->meta.rank, i->meta.rank);
    int64_t given = tc_arg_int(n, 2);
    if (x->meta.rank == 0) {
        tc_emit_result(e, 0, tc_emit_call(e, "aten::clone", "v", x));
        return tc_e_done(e);
    }
    if (given < -x->meta.rank || given >= x->meta.rank)
        return tc_error(TC_CONTENT, "IndexError: %s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", tc_op_name(n->op),
                        -x->meta.rank, x->meta.rank - 1, (long long)given);
    int d = tc_wrap(given, x->meta.rank);
    tc_sym sx[TC_MAX_RANK], si[TC_MAX_RANK];
    for (int k = 0; k < x->meta.rank; k++) {
        tc_sym big = tc_sym_is_int(x->meta.size[k], 1) ? i->meta.size[k] : x->meta.size[k];
        sx[k] = k == d ? x->meta.size[k] : big;
        si[k] = k == d ? i->meta.size[k] : big;
    }
    i = tc_emit_call(e, "aten::remainder.Scalar", "vs", i, x->meta.size[d]); /* negative indices count from the end */
    tc_emit_result(e, 0,
                   tc_emit_call(e, "aten::gather", "viv", tc_emit_call(e, "aten::expand", "vS", x, sx, x->meta.rank), (int64_t)d,
                                tc_emit_call(e, "aten::expand", "vS", i, si, x->meta.rank)));
    return tc_e_done(e);
}
/* the k-th true element of the mask takes the k-th element of the source */
static tc_status decompose_masked_scatter(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *m = tc_arg_value(n, 1), *src = tc_arg_value(n, 2);
    if (x->meta.dtype != src->meta.dtype)
        return tc_e_refuse(n, "masked_scatter: expected self and source to have same dtypes but got %s and %s", tc_dtypes[x->meta.dtype].torch,
                           tc_dtypes[src->meta.dtype].torch);
    if (m->meta.dtype != TC_BOOL) return tc_e_refuse(n, "masked_scatter_ only supports boolean masks");
    tc_value *both = tc_emit_call(e, "aten::broadcast_tensors", "V", (tc_value *[]){x, m}, 2);
    if (!both) return tc_e_done(e);
    x = both->list[0], m = both->list[1];
    tc_value *hit = tc_emit_call(e, "aten::reshape", "vI", m, (int64_t[]){-1}, 1),
             *flat = tc_emit_call(e, "aten::reshape", "vI", src, (int64_t[]){-1}, 1);
    if (!flat) return tc_e_done(e);
    tc_value *pos = tc_emit_call(e, "aten::where.ScalarOther", "vvi", hit, tc_emit_call(e, "aten::cumsum", "vi", hit, (int64_t)0), (int64_t)0);
    int64_t least, most;
    tc_sym_range(tc_e_sym(e), flat->meta.size[0], &least, &most);
    if (least > 0) pos = tc_emit_call(e, "aten::clamp_min", "vi", tc_emit_call(e, "aten::sub.Tensor", "vi", pos, (int64_t)1), (int64_t)0);
    else
        flat =
            tc_emit_call(e, "aten::constant_pad_nd", "vIi", flat, (int64_t[]){1, 0}, 2, (int64_t)0); /* element 0 is read where the mask is false */
    tc_value *v = tc_emit_call(e, "aten::_unsafe_index.Tensor", "vV", flat, &pos, 1);
    tc_emit_result(e, 0, tc_e3(e, "aten::where.self", m, tc_emit_call(e, "aten::view", "vS", v, x->meta.size, x->meta.rank), x));
    return tc_e_done(e);
}
/* Clamps the indices, argument 2, to the sizes of self: those at masked places may be out of range. */
static tc_status inside(tc_emit *e, const tc_node *n, const tc_value *x, tc_value **out) {
    const tc_arg *list = &n->args[2];
    tc_symctx *s = tc_e_sym(e);
    if (list->n > TC_MAX_RANK) return tc_e_refuse(n, "too many indices");
    for (int k = 0; k < list->n; k++) {
        out[k] = list->values[k] && list->values[k]->kind == TC_V_TENSOR ? list->values[k] : NULL;
        if (out[k] && out[k]->meta.dtype != TC_I64 && out[k]->meta.dtype != TC_I32)
            return tc_e_refuse(n, "found unexpected index type %s", tc_dtypes[out[k]->meta.dtype].torch);
        if (!out[k] || k >= x->meta.rank) continue;
        tc_arg lo = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_sym_neg(s, x->meta.size[k])},
               hi = {.kind = TC_A_SCALAR, .is_sym = true, .sym = tc_sym_sub(s, x->meta.size[k], tc_sym_int(s, 1))};
        out[k] = tc_emit_call(e, "aten::clamp", "vaa", out[k], &lo, &hi);
    }
    return NULL;
}
static tc_status decompose_masked_index(tc_emit *e, const tc_node *n) { /* self, mask, indices, fill */
    tc_value *x = tc_arg_value(n, 0), *m = tc_arg_value(n, 1), *v[TC_MAX_RANK];
    if (m->meta.dtype != TC_BOOL) return tc_e_refuse(n, "masked_fill_ only supports boolean masks");
    if (tc_sh_is_empty(&x->meta)) { /* an empty tensor has nothing to read */
        tc_emit_result(e, 0, tc_emit_call(e, "aten::full", "Sad", m->meta.size, m->meta.rank, &n->args[3], (int)x->meta.dtype));
        return tc_e_done(e);
    }
    TC_TRY(inside(e, n, x, v));
    tc_value *y = tc_emit_call(e, "aten::_unsafe_index.Tensor", "vV", x, v, n->args[2].n);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::masked_fill.Scalar", "vva", y, tc_e1(e, "aten::logical_not", m), &n->args[3]));
    return tc_e_done(e);
}
static tc_status decompose_masked_put(tc_emit *e, const tc_node *n) { /* self, mask, indices, values */
    tc_value *x = tc_arg_value(n, 0), *m = tc_arg_value(n, 1), *v[TC_MAX_RANK], *val = tc_arg_value(n, 3);
    if (tc_sh_is_empty(&x->meta)) {
        tc_emit_result(e, 0, tc_e1(e, "aten::clone", x));
        return tc_e_done(e);
    }
    TC_TRY(inside(e, n, x, v));
    tc_value *out = tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", val, tc_e1(e, "aten::logical_not", m), (int64_t)0);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::_unsafe_index_put", "vVvb", x, v, n->args[2].n, out, 1));
    return tc_e_done(e);
}
static tc_status decompose_index_select_backward(tc_emit *e, const tc_node *n) { /* grad, self_sizes, dim, index */
    tc_value *zero = tc_emit_call(e, "aten::zeros", "ad", &n->args[1], (int)tc_arg_meta(n, 0)->dtype);
    tc_emit_result(e, 0, tc_emit_call(e, "aten::index_add", "vaav", zero, &n->args[2], &n->args[3], tc_arg_value(n, 0)));
    return tc_e_done(e);
}

#define LOOP(SCHEMA, shape_, lower_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .lower = lower_, .grad = grad_, .samples = sample, .doc = text }
#define KERNEL(SCHEMA, shape_, kernel_, grad_, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = shape_, .kernel = &kernel_, .grad = grad_, .samples = sample, .doc = text }
#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_index[] = {
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .shape = shape_index_any,
     .decompose = decompose_index,
     .samples = "index(f32[4,5], [i64[3]:0..4]); index(f32[4,5,2], [None, i64[2,1]:0..5, i64[3]:0..2])",
     .doc = "elements picked by index tensors and masks"},
    LOOP("_unsafe_index.Tensor(Tensor self, Tensor?[] indices)", shape_index, lower_index, grad_index,
         "_unsafe_index(f32[4,5], [i64[3]:0..4, i64[3]:0..5])", "elements picked by index tensors"),
    {.schema = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     .shape = shape_index_put,
     .decompose = decompose_index_put,
     .samples = "index_put(f32[4,5], [i64[1]:0..4], f32[1,5])",
     .doc = "values written at index tensors or masks"},
    KERNEL("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)", shape_index_put, tc_k_index_put, grad_index_put,
           "_unsafe_index_put(f32[4,5], [i64[3]:0..4], f32[3,5], True)", "values written at index tensors"),
    {.schema = "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor",
     .shape = shape_index_put,
     .decompose = decompose_index_put_impl,
     .doc = "index_put"},
    COMPOSED("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill)", masked_index,
             "_unsafe_masked_index(f32[4,5], bool[3], [i64[3]:0..4, i64[3]:0..5], 1.5)", "elements picked where mask is true, fill elsewhere"),
    COMPOSED("_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values)", masked_put,
             "_unsafe_masked_index_put_accumulate(f32[4,5], bool[3], [i64[3]:0..4, i64[3]:0..5], f32[3])",
             "values added at indices where mask is true"),
    {.schema = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = shape_gather,
     .lower = lower_gather,
     .otherwise = &pick_otherwise,
     .keeps = " self index ",
     .grad = grad_gather,
     .samples = "gather(f32[4,5], 1, i64[4,2]:0..5); gather(f32[], 0, i64[2]:0..1)",
     .doc = "self at index along dim"},
    {.schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = shape_index_select,
     .lower = lower_index_select,
     .otherwise = &pick_otherwise,
     .grad = grad_index_select,
     .samples = "index_select(f32[4,5], 1, i64[3]:0..5); index_select(f32[], 0, i64[1]:0..1)",
     .doc = "slices at index along dim"},
    COMPOSED("index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index)", index_select_backward, NULL,
             "gradient of index_select"),
    COMPOSED("take(Tensor self, Tensor index)", take, "take(f32[4,5], i64[3]:0..20)", "elements at row-major positions"),
    {.schema = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
     .flags = TC_OP_INDEX_RUNTIME,
     .shape = tc_shape_decomposed,
     .decompose = decompose_take_along_dim,
     .samples = "take_along_dim(f32[4,5], i64[1,5]:0..4, 0)",
     .doc = "gather, broadcast"},
    LOOP("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)", shape_masked_fill, lower_masked_fill, grad_masked_fill,
         "masked_fill(f32[4,5], bool[5], 1.5)", "value where the mask is true"),
    LOOP("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)", shape_masked_fill, lower_masked_fill, grad_masked_fill,
         "masked_fill(f32[4,5], bool[5], f32[])", "value where the mask is true"),
    {.schema = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     .shape = tc_shape_decomposed_rows,
     .decompose = decompose_masked_scatter,
     .samples = "masked_scatter(f32[4,5], bool[4,5], f32[20])",
     .doc = "source in order where the mask is true"},
    {0}};
