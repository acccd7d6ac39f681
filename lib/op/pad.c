/* Padding: loads element index - left inside the input; outside, the value, or the element that reflection, replication or wrapping gives. */
#include "op/rearrange.h"

#include <stdio.h>

/* ---- padding: pairs (left, right) from the last dimension on ---- */
static tc_status padded(tc_shape_ctx *c, tc_dims *d) {
    tc_sym pad[2 * TC_MAX_RANK];
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_symctx *s = tc_sh_sym(c);
    int n = tc_sh_ints(c, 1, pad, 2 * TC_MAX_RANK);
    int64_t v;
    if (n % 2) return tc_sh_fail(c, "Length of pad must be even but instead it equals %d", n);
    if (n / 2 > m->rank)
        return tc_sh_fail(
            c,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d while the input has %d dimensions.",
            n, m->rank);
    *d = tc_dims_of(m);
    for (int k = 0; k < n / 2; k++) {
        tc_sym *size = &d->size[m->rank - 1 - k];
        for (int side = 0; side < 2; side++) { /* negative padding is cut off before anything is added */
            int64_t cut, have;
            if (tc_sym_const_int(pad[2 * k + side], &cut) && tc_sym_const_int(m->size[m->rank - 1 - k], &have) && cut < 0 && have + cut < 0)
                return tc_sh_fail(c, "narrow(): length must be non-negative: %lld elements of dimension %d, padding %lld", (long long)have,
                                  m->rank - 1 - k, (long long)cut);
        }
        *size = tc_sym_add(s, *size, tc_sym_add(s, pad[2 * k], pad[2 * k + 1]));
        if (tc_sym_const_int(*size, &v) && v < 0) return tc_sh_fail(c, "padding results in a negative size of dimension %d", m->rank - 1 - k);
    }
    return NULL;
}
/* What only cuts is a copy of a slice, which keeps the order of strides. */
static tc_status shape_constant_pad(tc_shape_ctx *c) {
    tc_dims d;
    TC_TRY(padded(c, &d));
    tc_sym pad[2 * TC_MAX_RANK];
    tc_symctx *s = tc_sh_sym(c);
    bool cuts = true;
    for (int k = tc_sh_ints(c, 1, pad, 2 * TC_MAX_RANK); k-- > 0;)
        cuts &= tc_sym_known(s, tc_sym_op(s, TC_S_LE, pad[k], tc_sym_int(s, 0), NULL)) == 1;
    if (cuts) {
        tc_meta slice = *tc_sh_meta(c, 0);
        slice.size = d.size;
        return tc_sh_out_like(c, 0, &slice, slice.dtype);
    }
    return tc_sh_out_format(c, 0, tc_sh_meta(c, 0)->dtype, &d, tc_sh_meta(c, 0));
}
static tc_status lower_constant_pad(tc_lower *l) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, 0);
    const tc_arg *pad = &n->args[1];
    tc_symctx *s = l->loop->sym;
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv inside = TC_LV_NONE;
    for (int d = 0; d < m->rank; d++) {
        int k = m->rank - 1 - d;
        bool has = k < pad->n / 2, none = !has || (tc_sym_is_int(pad->syms[2 * k], 0) && tc_sym_is_int(pad->syms[2 * k + 1], 0));
        if (none) {
            index[d] = at(l, m, d, d);
            continue;
        }
        index[d] = tc_l_affine(l, tc_sym_neg(s, pad->syms[2 * k]), d, sint(l, 1));
        tc_lv i = tc_l_index(l, index[d]);
        inside =
            tc_l_both(l, inside, tc_l_both(l, tc_l_op2(l, TC_X_GE, i, tc_l_int(l, 0)), tc_l_op2(l, TC_X_LT, i, tc_l_host(l, TC_I64, m->size[d]))));
    }
    tc_lv v = tc_l_load(l, tc_arg_value(n, 0), index, NULL, inside);
    return tc_l_out(l, 0, inside == TC_LV_NONE ? v : tc_l_where(l, inside, v, tc_l_in(l, 2)));
}
static tc_status grad_constant_pad(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    const tc_arg *pad = &n->args[1];
    tc_sym neg[2 * TC_MAX_RANK];
    for (int k = 0; k < pad->n && k < 2 * TC_MAX_RANK; k++) neg[k] = tc_sym_neg(tc_e_sym(e), pad->syms[k]);
    tc_e_give(e, n, 0, tc_emit_call(e, "aten::constant_pad_nd", "vSi", gs[0], neg, pad->n, (int64_t)0));
    return tc_e_done(e);
}
static bool reflects(const tc_op *op) { return !strncmp(tc_op_schema(op)->name, "reflection", 10); }
static bool wraps(const tc_op *op) { return !strcmp(tc_op_schema(op)->name, "_pad_circular"); }
static tc_status shape_border_pad(tc_shape_ctx *c) {
    tc_dims d;
    tc_sym pad[2 * TC_MAX_RANK];
    const char *name = tc_op_schema(c->op)->name;
    TC_TRY(tc_sh_need_tensor(c, 0));
    const tc_meta *m = tc_sh_meta(c, 0);
    int n = tc_sh_ints(c, 1, pad, 2 * TC_MAX_RANK), dims = wraps(c->op) ? n / 2 : name[strcspn(name, "0123456789")] - '0';
    if (n != 2 * dims) return tc_sh_fail(c, "padding size is expected to be %d, but got: %d", 2 * dims, n);
    if (m->rank != dims + 1 && m->rank != dims + 2) return tc_sh_fail(c, "Expected %dD or %dD (batch mode) tensor", dims + 1, dims + 2);
    if (!wraps(c->op) && tc_sym_is_int(m->size[m->rank - dims - 1], 0))
        return tc_sh_fail(c, "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero dimensions", dims + 1, dims + 2);
    for (int k = 0; k < 2 * dims; k++) {
        int64_t p, size;
        int at_dim = m->rank - 1 - k / 2;
        if (!tc_sym_const_int(m->size[at_dim], &size) || !tc_sym_const_int(pad[k], &p)) continue;
        if (reflects(c->op) && p >= size)
            return tc_sh_fail(
                c, "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding %lld at dimension %d of input",
                (long long)p, at_dim);
        if (wraps(c->op) && p > size) return tc_sh_fail(c, "Padding value causes wrapping around more than once.");
        if (size == 0) return tc_sh_fail(c, "Expected a non-empty input in dimension %d", at_dim);
    }
    TC_TRY(padded(c, &d));
    return wraps(c->op) ? tc_sh_out(c, 0, m->dtype, &d) : tc_sh_out_format(c, 0, m->dtype, &d, m);
}
/* The elements that circular padding repeats: those that negative padding leaves, from *out_lo on. Returns their number. */
static tc_sym window(tc_symctx *s, tc_sym size, tc_sym before, tc_sym after, tc_sym *out_lo) {
    tc_sym zero = tc_sym_int(s, 0), lo = tc_sym_max(s, tc_sym_neg(s, before), zero), cut = tc_sym_max(s, tc_sym_neg(s, after), zero);
    *out_lo = lo;
    return tc_sym_sub(s, tc_sym_sub(s, size, lo), cut);
}
static tc_status lower_border_pad(tc_lower *l) {
    const tc_node *n = l->node;
    const tc_meta *m = tc_arg_meta(n, 0);
    const tc_arg *pad = &n->args[1];
    tc_symctx *s = l->loop->sym;
    tc_affine index[TC_MAX_RANK] = {{0}};
    tc_lv gather[TC_MAX_RANK];
    for (int d = 0; d < m->rank; d++) {
        int k = m->rank - 1 - d;
        gather[d] = TC_LV_NONE;
        index[d] = at(l, m, d, d);
        if (k >= pad->n / 2) continue;
        tc_lv j = tc_l_index(l, tc_l_affine(l, tc_sym_neg(s, pad->syms[2 * k]), d, sint(l, 1))), size = tc_l_host(l, TC_I64, m->size[d]),
              last = tc_l_sub(l, size, tc_l_int(l, 1));
        if (wraps(n->op)) {
            tc_sym lo, w = window(s, m->size[d], pad->syms[2 * k], pad->syms[2 * k + 1], &lo);
            j = tc_l_sub(l, j, tc_l_host(l, TC_I64, lo));
            j = tc_l_add(l, tc_l_op2(l, TC_X_REMAINDER, j, tc_l_host(l, TC_I64, w)), tc_l_host(l, TC_I64, lo));
        } else if (reflects(n->op)) { /* |j|, then last - |last - j| */
            j = tc_l_op1(l, TC_X_ABS, j);
            j = tc_l_sub(l, last, tc_l_op1(l, TC_X_ABS, tc_l_sub(l, last, j)));
        } else {
            j = tc_l_op2(l, TC_X_MIN, tc_l_op2(l, TC_X_MAX, j, tc_l_int(l, 0)), last);
        }
        gather[d] = j;
        index[d] = tc_l_affine(l, NULL, -1, NULL);
    }
    return tc_l_out(l, 0, tc_l_load(l, tc_arg_value(n, 0), index, gather, TC_LV_NONE));
}
/* Elements from .. to of dimension d. */
static tc_value *part(tc_emit *e, tc_value *g, int64_t d, tc_sym from, tc_sym to) {
    return tc_emit_call(e, "aten::slice.Tensor", "viss", g, d, from, to);
}
/* The gradient along dimension d of `size` elements that was reflected or replicated by constant numbers of elements: the ends with what was copied from
 * them, and the elements between. NULL: the ends may be all, or the padding is of another kind. */
static tc_value *folded_ends(tc_emit *e, const tc_op *op, tc_sym size, tc_sym const *pad, int64_t d, tc_value *g) {
    tc_symctx *s = tc_e_sym(e);
    int64_t n[2], least, most;
    tc_sym_range(s, size, &least, &most);
    for (int i = 0; i < 2; i++)
        if (!tc_sym_const_int(pad[i], &n[i]) || n[i] < 0) return NULL;
    if (wraps(op) || least - 2 < n[0] || least - 2 - n[0] < n[1]) return NULL;
    const tc_sym zero = tc_sym_int(s, 0), one = tc_sym_int(s, 1), begin = pad[0], end = tc_sym_add(s, begin, size), all = tc_sym_add(s, end, pad[1]),
                 second = tc_sym_add(s, begin, one), last = tc_sym_sub(s, end, one);
    if (!reflects(op)) {
        tc_value *v[3] = {part(e, g, d, zero, second), part(e, g, d, second, last), part(e, g, d, last, all)};
        for (int i = 0; i < 3; i += 2) v[i] = tc_emit_call(e, "aten::sum.dim_IntList", "vIb", v[i], &d, 1, 1);
        return tc_emit_call(e, "aten::cat", "Vi", v, 3, d);
    }
    const tc_sym left = tc_sym_add(s, second, begin), right = tc_sym_sub(s, last, pad[1]);
    tc_value *v[5] = {part(e, g, d, begin, second), part(e, g, d, second, left), part(e, g, d, left, right), part(e, g, d, right, last),
                      part(e, g, d, last, end)};
    v[1] = tc_e_add(e, v[1], tc_emit_call(e, "aten::flip", "vI", part(e, g, d, zero, begin), &d, 1));
    v[3] = tc_e_add(e, v[3], tc_emit_call(e, "aten::flip", "vI", part(e, g, d, end, all), &d, 1));
    return tc_emit_call(e, "aten::cat", "Vi", v, 5, d);
}
/* The gradient of each padded dimension is added to the elements that it was copied from. */
static tc_value *border_pad_backward(tc_emit *e, const tc_op *op, const tc_meta *m, const tc_arg *pad, tc_value *g) {
    tc_symctx *s = tc_e_sym(e);
    for (int k = 0; g && k < pad->n / 2; k++) {
        int64_t d = m->rank - 1 - k;
        tc_sym size = m->size[d], last = tc_sym_sub(s, size, tc_sym_int(s, 1));
        tc_value *folded = folded_ends(e, op, size, &pad->syms[2 * k], d, g);
        if (folded) {
            g = folded;
            continue;
        }
        tc_arg from = {.kind = TC_A_INT, .sym = tc_sym_neg(s, pad->syms[2 * k])},
               to = {.kind = TC_A_INT, .sym = tc_sym_add(s, size, pad->syms[2 * k + 1])}, top = {.kind = TC_A_INT, .sym = last};
        tc_value *j = tc_emit_call(e, "aten::arange.start", "aa", &from, &to);
        if (wraps(op)) {
            tc_sym lo, w = window(s, size, pad->syms[2 * k], pad->syms[2 * k + 1], &lo);
            tc_arg low = {.kind = TC_A_INT, .sym = lo}, wide = {.kind = TC_A_INT, .sym = w};
            j = tc_emit_call(e, "aten::remainder.Scalar", "va", tc_emit_call(e, "aten::sub.Tensor", "va", j, &low), &wide);
            j = tc_emit_call(e, "aten::add.Tensor", "va", j, &low);
        } else if (reflects(op)) {
            j = tc_e1(e, "aten::abs", j);
            j = tc_emit_call(e, "aten::rsub.Scalar", "va", tc_e1(e, "aten::abs", tc_emit_call(e, "aten::rsub.Scalar", "va", j, &top)), &top);
        } else {
            j = tc_emit_call(e, "aten::clamp", "via", j, (int64_t)0, &top);
        }
        tc_sym sizes[TC_MAX_RANK];
        for (int i = 0; g && i < m->rank; i++) sizes[i] = i == d ? size : g->meta.size[i];
        tc_value *into = g ? tc_emit_call(e, "aten::zeros", "Sd", sizes, m->rank, (int)g->meta.dtype) : NULL;
        g = tc_emit_call(e, "aten::index_add", "vivv", into, d, j, g);
    }
    return g;
}
static tc_status grad_border_pad(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    char name[64];
    if (!tc_emit_wants_grad(e, n, 0)) return tc_e_done(e);
    snprintf(name, sizeof name, "aten::%s_backward", tc_op_schema(n->op)->name);
    tc_e_give(e, n, 0,
              wraps(n->op) ? border_pad_backward(e, n->op, tc_arg_meta(n, 0), &n->args[1], gs[0])
                           : tc_emit_call(e, name, "vva", gs[0], tc_arg_value(n, 0), &n->args[1]));
    return tc_e_done(e);
}
static tc_status decompose_border_pad_backward(tc_emit *e, const tc_node *n) { /* grad_output, self, padding */
    tc_emit_result(e, 0, border_pad_backward(e, n->op, tc_arg_meta(n, 1), &n->args[2], tc_arg_value(n, 0)));
    return tc_e_done(e);
}
/* grad_output: the padded cotangent. self: zeros, as in PyTorch. */
static tc_status grad_border_pad_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    char name[64];
    const char *s = tc_op_schema(n->op)->name;
    snprintf(name, sizeof name, "aten::%.*s", (int)(strlen(s) - strlen("_backward")), s);
    if (tc_emit_wants_grad(e, n, 0)) tc_e_give(e, n, 0, tc_emit_call(e, name, "va", gs[0], &n->args[2]));
    if (tc_emit_wants_grad(e, n, 1)) tc_e_give(e, n, 1, tc_e_zeros_like(e, tc_arg_value(n, 1)));
    return tc_e_done(e);
}
static tc_status shape_border_pad_backward(tc_shape_ctx *c) {
    TC_TRY(tc_sh_of_forward(c, NULL, 1, (int[]){0, 0}));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 1));
    return tc_sh_out(c, 0, tc_sh_meta(c, 0)->dtype, &d);
}
static tc_status decompose_pad(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0);
    const char *mode = tc_arg_string(n, 2);
    int pairs = n->args[1].n / 2, rank = x->meta.rank;
    if (n->args[1].n % 2) return tc_e_refuse(n, "Padding length must be divisible by 2");
    if (pairs > rank)
        return tc_e_refuse(
            n, "Padding length should be less than or equal to two times the input dimension but got padding length %d and input of dimension %d",
            n->args[1].n, rank);
    if (!mode || !strcmp(mode, "constant")) {
        tc_arg value = n->args[3];
        if (value.kind == TC_A_NONE) value = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(0)};
        tc_emit_result(e, 0, tc_emit_call(e, "aten::constant_pad_nd", "vaa", x, &n->args[1], &value));
        return tc_e_done(e);
    }
    if (n->args[3].kind != TC_A_NONE && tc_arg_float(n, 3) != 0) return tc_e_refuse(n, "Padding mode \"%s\" doesn't take in value argument", mode);
    static const char *const reflect[] = {"aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d"};
    static const char *const replicate[] = {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"};
    bool r = !strcmp(mode, "reflect"), p = !strcmp(mode, "replicate"), c = !strcmp(mode, "circular");
    if (!r && !p && !c) return tc_error(TC_CONTENT, "NotImplementedError: %s: Unrecognised padding mode %s", tc_op_name(n->op), mode);
    if (pairs < 1 || pairs > 3 || (rank != pairs + 1 && rank != pairs + 2))
        return tc_error(TC_CONTENT, "NotImplementedError: %s: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now",
                        tc_op_name(n->op));
    tc_emit_result(e, 0, tc_emit_call(e, c ? "aten::_pad_circular" : r ? reflect[pairs - 1] : replicate[pairs - 1], "va", x, &n->args[1]));
    return tc_e_done(e);
}

#define BORDER(name, n, len, samples, what)                                                                                                \
    ROW(#name "_pad" #n "d(Tensor self, SymInt[" #len "] padding)", shape_border_pad, lower_border_pad, grad_border_pad, samples, what), { \
        .schema = "aten::" #name "_pad" #n "d_backward(Tensor grad_output, Tensor self, SymInt[" #len "] padding) -> Tensor",              \
        .shape = shape_border_pad_backward, .decompose = decompose_border_pad_backward, .grad = grad_border_pad_backward,                  \
        .doc = "gradient of " #name "_pad" #n "d"                                                                                          \
    }
/* Each sequence is padded to the longest, in the type and trailing sizes of the first; then they are stacked. */
static tc_status decompose_pad_sequence(tc_emit *e, const tc_node *n) {
    const tc_arg *list = &n->args[0];
    const char *side = tc_arg_string(n, 3);
    tc_symctx *s = tc_e_sym(e);
    bool left = !strcmp(side, "left");
    if (!left && strcmp(side, "right")) return tc_e_refuse(n, "Expected padding_side to be one of left or right, but got %s.", side);
    if (!list->n) return tc_e_refuse(n, "received an empty list of sequences");
    const tc_meta *first = &list->values[0]->meta;
    tc_value **padded = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)list->n);
    tc_sym longest = tc_sym_int(s, 0), sizes[TC_MAX_RANK], none = longest, pads[2 * TC_MAX_RANK];
    for (int k = 0; k < list->n; k++) {
        if (!list->values[k]->meta.rank) return tc_e_refuse(n, "a sequence has no dimensions");
        longest = tc_sym_max(s, longest, list->values[k]->meta.size[0]);
    }
    int last = 2 * first->rank - 2; /* the pair of dimension 0 */
    for (int d = 0; d < first->rank; d++) sizes[d] = first->size[d], pads[2 * d] = pads[2 * d + 1] = none;
    for (int k = 0; k < list->n; k++) {
        sizes[0] = list->values[k]->meta.size[0];
        pads[left ? last : last + 1] = tc_sym_sub(s, longest, sizes[0]);
        tc_value *x = tc_emit_call(e, "aten::expand", "vS", tc_e_cast(e, list->values[k], first->dtype), sizes, first->rank);
        padded[k] = tc_emit_call(e, "aten::constant_pad_nd", "vSa", x, pads, last + 2, &n->args[2]);
    }
    tc_emit_result(e, 0, tc_emit_call(e, "aten::stack", "Vi", padded, list->n, (int64_t)(tc_arg_bool(n, 1) ? 0 : 1)));
    return tc_e_done(e);
}

const tc_op tc_ops_pad[] = {
    COMPOSED("pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side=\"right\")", decompose_pad_sequence,
             "pad_sequence([f32[3,2], f32[5,2]], True, 1.5); pad_sequence([f32[3], f32[1]], padding_side='left')",
             "sequences of any lengths, padded to the longest and stacked"),
    ROW("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0)", shape_constant_pad, lower_constant_pad, grad_constant_pad,
        "constant_pad_nd(f32[2,3], [1,2], 0.5); constant_pad_nd(f32[4,5], [-1,1,2,0])", "value around; negative widths cut"),
    BORDER(reflection, 1, 2, "reflection_pad1d(f32[2,9], [2,1]); reflection_pad1d(f32[1,2,3], [2,1])", "mirrored at the border"),
    BORDER(reflection, 2, 4, "reflection_pad2d(f32[1,6,5], [1,2,0,2])", "mirrored at the border"),
    BORDER(reflection, 3, 6, "reflection_pad3d(f32[1,4,2,5], [1,1,0,1,2,1])", "mirrored at the border"),
    BORDER(replication, 1, 2, "replication_pad1d(f32[2,9], [2,1]); replication_pad1d(f32[1,2,3], [2,1])", "the border repeated"),
    BORDER(replication, 2, 4, "replication_pad2d(f32[1,6,5], [1,2,0,2])", "the border repeated"),
    BORDER(replication, 3, 6, "replication_pad3d(f32[1,4,2,5], [1,1,0,1,2,1])", "the border repeated"),
    ROW("_pad_circular(Tensor self, SymInt[] pad)", shape_border_pad, lower_border_pad, grad_border_pad, "_pad_circular(f32[1,2,5], [2,1])",
        "the other end repeated"),
    COMPOSED("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None)", decompose_pad,
             "pad(f32[1,2,5], [2,1], 'reflect'); pad(f32[2,3], [1,1])", "constant, reflect, replicate or circular"),
    {0}};
