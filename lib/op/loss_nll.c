/* nll_loss and cross_entropy; by `reduction`, 0: a value for each target, 1: their mean, 2: their sum.
 *
 *     nll_loss          -w[t] x[n, t], the mean divided by the sum of the weights of the targets that are not ignored
 *     cross_entropy     nll_loss of log_softmax; targets may be probabilities; label smoothing spreads part of the target */
#include "op/lower.h"
#include "op/shape.h"

static tc_value *where_s(tc_emit *e, tc_value *c, tc_value *a, double b) { return tc_emit_call(e, "aten::where.ScalarOther", "vvf", c, a, b); }

/* ---- nll_loss: self [N, C, ...] or [C], target [N, ...], or [] or [1] (of which PyTorch gives no gradient) ---- */
static tc_status check_nll(tc_shape_ctx *c, int self, int target, int weight, tc_dims *per_sample) {
    TC_TRY(tc_sh_need_float(c, self));
    TC_TRY(tc_sh_need_tensor(c, target));
    const tc_meta *x = tc_sh_meta(c, self), *t = tc_sh_meta(c, target), *w = tc_sh_meta(c, weight);
    if (x->rank == 0) return tc_sh_fail(c, "input tensor should be 1D or 2D");
    const bool bytes = t->dtype == TC_U8 && !strstr(tc_op_schema(c->op)->name, "2d");
    if (t->dtype != TC_I64 && !bytes) return tc_sh_fail(c, "expected scalar type Long but found %s", tc_dtypes[t->dtype].torch);
    int cls = x->rank == 1 ? 0 : 1;
    *per_sample = tc_dims_reduced(c, x, (uint64_t)1 << cls, false);
    bool ok = t->rank == per_sample->rank || (x->rank == 1 && t->rank == 1 && tc_sh_same(c, t->size[0], tc_sym_int(tc_sh_sym(c), 1)));
    for (int k = 0; ok && x->rank > 1 && k < t->rank; k++) ok = tc_sh_same(c, t->size[k], per_sample->size[k]);
    if (!ok) return tc_sh_fail(c, "size mismatch (got input: %dD, target: %dD)", x->rank, t->rank);
    if (w && (w->rank != 1 || !tc_sh_same(c, w->size[0], x->size[cls])))
        return tc_sh_fail_sizes(c, "weight tensor should be defined either for all # classes or no classes", &x->size[cls]);
    if (w && w->dtype != x->dtype) return tc_sh_fail(c, "expected scalar type %s but found %s", tc_dtypes[x->dtype].torch, tc_dtypes[w->dtype].torch);
    return NULL;
}
static tc_status shape_nll_forward(tc_shape_ctx *c) {
    tc_dims d, none = {0};
    TC_TRY(check_nll(c, 0, 1, 2, &d));
    tc_dtype t = tc_sh_meta(c, 0)->dtype;
    TC_TRY(tc_sh_out(c, 0, t, tc_sh_const(c, 3) == 0 ? &d : &none));
    return tc_sh_out(c, 1, t, &none);
}
static tc_status shape_nll_backward(tc_shape_ctx *c) {
    const char *forward = strstr(tc_op_schema(c->op)->name, "2d") ? "aten::nll_loss2d_forward" : "aten::nll_loss_forward";
    TC_TRY(tc_sh_need_tensor(c, 6));
    const tc_meta *x = tc_sh_meta(c, 1), *t = tc_sh_meta(c, 2);
    if (x && t && x->rank == 1 && t->rank == 1) return tc_sh_fail(c, "size mismatch (got input: 1D, target: 1D)");
    TC_TRY(tc_sh_of_forward(c, forward, 2, (int[]){0, 0, 6, 1}));
    tc_dims d = tc_dims_of(tc_sh_meta(c, 1));
    return tc_sh_out(c, 0, tc_sh_meta(c, 1)->dtype, &d);
}
static tc_status lower_nll_forward(tc_lower *l) {
    const tc_node *n = l->node;
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    int64_t reduction = tc_arg_int(n, 3);
    int cls = x->meta.rank == 1 ? 0 : 1;
    tc_dtype d = tc_l_type(l, 0);
    tc_affine at[TC_MAX_RANK] = {{0}}, xat[TC_MAX_RANK] = {{0}}, zero = tc_l_affine(l, NULL, -1, NULL);
    tc_lv gather[TC_MAX_RANK];
    uint64_t over = 0;
    for (int k = 0; k < t->meta.rank; k++) {
        int axis = k;
        at[k] = zero;
        if (x->meta.rank == 1) break;
        if (reduction != 0) axis = tc_l_new_axis(l, t->meta.size[k]), over |= (uint64_t)1 << axis;
        at[k] = tc_sym_is_int(t->meta.size[k], 1) && reduction == 0 ? zero : tc_l_axis(l, axis);
    }
    tc_lv target = tc_l_cast(l, tc_l_load(l, t, at, NULL, TC_LV_NONE), TC_I64);
    tc_lv valid = tc_l_op2(l, TC_X_NE, target, tc_l_host(l, TC_I64, tc_arg_sym(n, 4)));
    tc_lv safe = tc_l_where(l, valid, target, tc_l_int(l, 0));
    for (int k = 0, j = 0; k < x->meta.rank; k++) {
        gather[k] = k == cls ? safe : TC_LV_NONE;
        xat[k] = k == cls ? zero : at[j++];
    }
    tc_lv v = tc_l_cast(l, tc_l_load(l, x, xat, gather, valid), d), one = tc_l_f(l, d, 1), none = tc_l_f(l, d, 0), weight = one;
    if (w) weight = tc_l_cast(l, tc_l_load(l, w, &zero, &safe, valid), d);
    tc_lv loss = tc_l_where(l, valid, tc_l_op1(l, TC_X_NEG, w ? tc_l_mul(l, v, weight) : v), none);
    if (reduction == 0) {
        TC_TRY(tc_l_out(l, 0, loss));
        return tc_l_out(l, 1, x->meta.rank == 1 ? tc_l_where(l, valid, weight, none) : none);
    }
    tc_lv sum = tc_l_reduce(l, TC_R_SUM, loss, over), total = tc_l_reduce(l, TC_R_SUM, tc_l_where(l, valid, weight, none), over);
    TC_TRY(tc_l_out(l, 0, reduction == 1 ? tc_l_div(l, sum, total) : sum));
    return tc_l_out(l, 1, total);
}
static tc_status lower_nll_backward(tc_lower *l) { /* grad_output, self, target, weight, reduction, ignore_index, total_weight */
    const tc_node *n = l->node;
    tc_value *x = tc_arg_value(n, 1), *t = tc_arg_value(n, 2), *w = tc_arg_value(n, 3), *g = tc_arg_value(n, 0);
    int64_t reduction = tc_arg_int(n, 4);
    int cls = x->meta.rank == 1 ? 0 : 1;
    tc_dtype d = tc_l_type(l, 0);
    tc_affine at[TC_MAX_RANK] = {{0}}, zero = tc_l_affine(l, NULL, -1, NULL);
    for (int k = 0, j = 0; k < x->meta.rank; k++) {
        if (k == cls) continue;
        at[j++] = tc_sym_is_int(x->meta.size[k], 1) ? zero : tc_l_axis(l, k);
    }
    tc_lv target = tc_l_cast(l, tc_l_load(l, t, at, NULL, TC_LV_NONE), TC_I64);
    tc_lv hit = tc_l_op2(l, TC_X_AND, tc_l_op2(l, TC_X_NE, target, tc_l_host(l, TC_I64, tc_arg_sym(n, 5))),
                         tc_l_op2(l, TC_X_EQ, target, tc_l_index(l, tc_l_axis(l, cls))));
    tc_lv grad = tc_l_cast(l, tc_l_load(l, g, reduction == 0 ? at : NULL, NULL, TC_LV_NONE), d);
    grad = tc_l_op1(l, TC_X_NEG, grad);
    if (w) {
        tc_affine c = tc_sym_is_int(w->meta.size[0], 1) ? zero : tc_l_axis(l, cls);
        grad = tc_l_mul(l, grad, tc_l_cast(l, tc_l_load(l, w, &c, NULL, TC_LV_NONE), d));
    }
    if (reduction == 1) grad = tc_l_div(l, grad, tc_l_cast(l, tc_l_load(l, tc_arg_value(n, 6), NULL, NULL, TC_LV_NONE), d));
    return tc_l_out(l, 0, tc_l_where(l, hit, grad, tc_l_f(l, d, 0)));
}
static tc_status grad_nll(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool two = strstr(tc_op_schema(n->op)->name, "2d") != NULL;
    if (!gs[0] || !tc_emit_wants_grad(e, n, 0)) return NULL;
    tc_e_give(e, n, 0,
              tc_emit_call(e, two ? "aten::nll_loss2d_backward" : "aten::nll_loss_backward", "vaaaaav", gs[0], &n->args[0], &n->args[1], &n->args[2],
                           &n->args[3], &n->args[4], n->outs[1]));
    return tc_e_done(e);
}
/* the backward operator is linear in grad_output: its gradient picks elements as the loss does */
static tc_status grad_nll_backward(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    bool two = strstr(tc_op_schema(n->op)->name, "2d") != NULL;
    if (!tc_emit_wants_grad(e, n, 0)) return NULL;
    tc_e_give(e, n, 0,
              tc_emit_call(e, two ? "aten::nll_loss2d_forward" : "aten::nll_loss_forward", "vaaaa", gs[0], &n->args[2], &n->args[3], &n->args[4],
                           &n->args[5]));
    return tc_e_done(e);
}
/* nll_loss, nll_loss2d, nll_loss_nd: inputs of other than 1, 2 or 4 dimensions become [N, C, 1, rest] */
static tc_value *nll(tc_emit *e, tc_value *x, tc_value *t, const tc_arg *weight, int64_t reduction, const tc_arg *ignore) {
    int r = x->meta.rank;
    tc_arg red = {.kind = TC_A_INT, .sym = tc_sym_int(tc_e_sym(e), reduction)};
    if (r <= 2) return tc_emit_call(e, "aten::nll_loss_forward", "vvaaa", x, t, weight, &red, ignore);
    if (r == 4) return tc_emit_call(e, "aten::nll_loss2d_forward", "vvaaa", x, t, weight, &red, ignore);
    tc_symctx *s = tc_e_sym(e);
    tc_sym rest = tc_sym_int(s, 1), one = rest;
    for (int k = 2; k < r; k++) rest = tc_sym_mul(s, rest, x->meta.size[k]);
    tc_value *y = tc_emit_call(e, "aten::nll_loss2d_forward", "vvaaa",
                               tc_emit_call(e, "aten::reshape", "vS", x, (tc_sym[]){x->meta.size[0], x->meta.size[1], one, rest}, 4),
                               tc_emit_call(e, "aten::reshape", "vS", t, (tc_sym[]){x->meta.size[0], one, rest}, 3), weight, &red, ignore);
    return reduction == 0 ? tc_emit_call(e, "aten::view", "vS", y, t->meta.size, t->meta.rank) : y;
}
/* A target of class indices is [N, ...] for x of [N, C, ...], [] for x of [C]. */
static tc_status check_classes(tc_emit *e, const tc_node *n, const tc_meta *x, const tc_meta *t) {
    tc_symctx *s = tc_e_sym(e);
    if (x->rank == 0) return tc_e_refuse(n, "Expected 1 or more dimensions (got 0)");
    if (x->rank > 1 && t->rank > 0 && tc_sym_differ(s, x->size[0], t->size[0])) {
        int64_t a = 0, b = 0;
        tc_sym_const_int(x->size[0], &a), tc_sym_const_int(t->size[0], &b);
        return tc_error(TC_CONTENT, "ValueError: %s: Expected input batch_size (%lld) to match target batch_size (%lld).", tc_op_name(n->op),
                        (long long)a, (long long)b);
    }
    bool fits = x->rank > 1 ? t->rank == x->rank - 1 : t->rank == 0 || (t->rank == 1 && !tc_sym_differ(s, t->size[0], tc_sym_int(s, 1)));
    for (int k = 1; fits && k < t->rank; k++) fits = !tc_sym_differ(s, x->size[k + 1], t->size[k]);
    if (fits) return NULL;
    tc_buf text = {0};
    tc_sym size[TC_MAX_RANK] = {x->size[0]};
    const int want = x->rank > 1 ? x->rank - 1 : 0;
    for (int k = 1; k < want; k++) size[k] = x->size[k + 1];
    tc_sym_print_list(&text, size, want);
    tc_buf_puts(&text, ", got ");
    tc_sym_print_list(&text, t->size, t->rank);
    tc_status st = tc_e_refuse(n, "Expected target size %s", tc_buf_str(&text));
    tc_buf_free(&text);
    return st;
}
static tc_status decompose_nll(tc_emit *e, const tc_node *n) {
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1);
    TC_TRY(check_classes(e, n, &x->meta, &t->meta));
    tc_emit_result(e, 0, nll(e, x, t, &n->args[2], tc_arg_int(n, 3), &n->args[4]));
    return tc_e_done(e);
}
static tc_status decompose_cross_entropy(tc_emit *e, const tc_node *n) { /* self, target, weight, reduction, ignore_index, label_smoothing */
    tc_value *x = tc_arg_value(n, 0), *t = tc_arg_value(n, 1), *w = tc_arg_value(n, 2);
    int64_t reduction = tc_arg_int(n, 3), c = x->meta.rank == 1 ? 0 : 1, classes;
    double ls = tc_arg_float(n, 5);
    tc_symctx *s = tc_e_sym(e);
    if (x->meta.rank == 0) return tc_e_refuse(n, "Expected 1 or more dimensions (got 0)");
    if (ls < 0 || ls > 1) return tc_e_refuse(n, "label_smoothing must be between 0.0 and 1.0. Got: %g", ls);
    bool same = x->meta.rank == t->meta.rank;
    for (int k = 0; same && k < x->meta.rank; k++) same = !tc_sym_differ(s, x->meta.size[k], t->meta.size[k]);
    tc_sym cs = x->meta.size[c];
    bool fixed = ls > 0 ? tc_e_pin(e, n, cs, &classes) : tc_sym_const_int(cs, &classes);
    tc_value *lp = tc_emit_call(e, "aten::log_softmax.int", "vid", x, c, (int)x->meta.dtype), *wv = NULL;
    if (!lp) return tc_e_done(e);
    if (w) {
        int64_t size[TC_MAX_RANK];
        for (int k = 0; k < x->meta.rank; k++) size[k] = k == c ? -1 : 1;
        wv = tc_emit_call(e, "aten::view", "vI", w, size, x->meta.rank);
    }
    if (ls > 0 && !fixed) return tc_error(TC_UNSUPPORTED, "%s: label smoothing with a symbolic number of classes", tc_op_name(n->op));
    if (same && tc_is_float(t->meta.dtype)) { /* probabilities */
        if (tc_arg_int(n, 4) >= 0) return tc_e_refuse(n, "ignore_index is not supported for floating point target");
        if (ls > 0) t = tc_e_adds(e, tc_e_muls(e, t, 1 - ls), ls / (double)classes);
        tc_value *p = tc_e_mul(e, lp, t);
        if (wv) p = tc_e_mul(e, p, wv);
        tc_value *v;
        if (reduction == 0) {
            v = tc_e_neg(e, tc_e_sum_dims(e, p, &c, 1, false));
        } else {
            v = tc_e_neg(e, tc_e1(e, "aten::sum", p));
            tc_sym count = tc_sym_floordiv(s, tc_meta_numel(s, &x->meta), cs);
            tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = count};
            if (reduction == 1) v = tc_emit_call(e, "aten::div.Tensor", "va", v, &by);
        }
        tc_emit_result(e, 0, v);
        return tc_e_done(e);
    }
    TC_TRY(check_classes(e, n, &x->meta, &t->meta));
    if (ls > 0 && x->meta.rank == 1 && t->meta.rank == 1) return tc_e_refuse(n, "output with shape [] doesn't match the broadcast shape [1]");
    tc_value *loss = nll(e, lp, t, &n->args[2], reduction, &n->args[4]);
    if (ls > 0) {
        tc_value *smooth = tc_e_neg(e, tc_e_sum_dims(e, wv ? tc_e_mul(e, lp, wv) : lp, &c, 1, false));
        tc_value *valid = tc_emit_call(e, "aten::ne.Scalar", "va", t, &n->args[4]);
        smooth = where_s(e, valid, smooth, 0);
        if (reduction != 0) smooth = tc_e1(e, "aten::sum", smooth);
        if (reduction == 1) {
            tc_value *total;
            if (w) {
                tc_value *safe = tc_emit_call(e, "aten::where.ScalarOther", "vvi", valid, t, (int64_t)0);
                tc_value *wt =
                    tc_emit_call(e, "aten::index_select", "viv", w, (int64_t)0, tc_emit_call(e, "aten::reshape", "vI", safe, (int64_t[]){-1}, 1));
                total = tc_e1(e, "aten::sum", where_s(e, tc_emit_call(e, "aten::reshape", "vI", valid, (int64_t[]){-1}, 1), wt, 0));
            } else {
                total = tc_e1(e, "aten::sum", valid);
            }
            smooth = tc_e_div(e, smooth, total);
        }
        loss = tc_e_add(e, tc_e_muls(e, loss, 1 - ls), tc_e_muls(e, smooth, ls / (double)classes));
    }
    tc_emit_result(e, 0, loss);
    return tc_e_done(e);
}

#define NLL(dims)                                                                                                                                  \
    {.schema = "aten::nll_loss" dims                                                                                                               \
               "_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)", \
     .flags = TC_OP_ONE_GRAD,                                                                                                                      \
     .shape = shape_nll_forward,                                                                                                                   \
     .lower = lower_nll_forward,                                                                                                                   \
     .grad = grad_nll,                                                                                                                             \
     .doc = "nll_loss and the weight it divided by"},                                                                                              \
    {                                                                                                                                              \
        .schema = "aten::nll_loss" dims "_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "         \
                  "ignore_index, Tensor total_weight) -> Tensor",                                                                                  \
        .shape = shape_nll_backward, .lower = lower_nll_backward, .grad = grad_nll_backward, .doc = "gradient of nll_loss"                         \
    }
#define LOSS(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
#define TARGETS "Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100"
const tc_op tc_ops_loss_nll[] = {NLL(""),
                                 NLL("2d"),
                                 LOSS("nll_loss(" TARGETS ")", nll, "nll_loss(f32[3,5], i64[3]:0..4)", "-weight[t] x[t]"),
                                 LOSS("nll_loss2d(" TARGETS ")", nll, "nll_loss2d(f32[2,5,2,2], i64[2,2,2]:0..4)", "-weight[t] x[t]"),
                                 LOSS("nll_loss_nd(" TARGETS ")", nll, "nll_loss_nd(f32[2,5,3], i64[2,3]:0..4)", "-weight[t] x[t]"),
                                 LOSS("cross_entropy_loss(" TARGETS ", float label_smoothing=0.0)", cross_entropy,
                                      "cross_entropy_loss(f32[3,5], i64[3]:0..4); cross_entropy_loss(f32[3,5], i64[3]:0..4, label_smoothing=0.1)",
                                      "nll_loss of log_softmax"),
                                 {0}};
