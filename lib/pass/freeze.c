/* Folds per-channel affine operations after a convolution or linear layer into its weight and bias (freeze.h):
 *
 *     batch_norm(conv(x, w) + b) = conv(x, w scale) + (b scale + shift),  scale = weight / sqrt(var + eps), shift = bias - mean scale
 *
 * The new weights are nodes that compute from the old ones; constant folding evaluates them, and dead code elimination removes the old ones. */
#include "pass/freeze.h"

#include "op/emit.h"
#include "pass/dce.h"
#include "pass/fold.h"

#include <math.h>
#include <string.h>

/* Operators with a weight, whose rows are output channels, and a bias. */
typedef struct {
    const char *name;
    int input, weight, bias;
    int groups; /* argument of transposed convolutions, whose weight is [in, out / groups, ...]; -1: its dimension 0 is the output */
    bool last;  /* the result's channels are the last dimension, else dimension 1 */
} product;
static const product products[] = {{"aten.convolution.default", 0, 1, 2, -1, false},   {"aten.conv1d.default", 0, 1, 2, -1, false},
                                   {"aten.conv2d.default", 0, 1, 2, -1, false},        {"aten.conv3d.default", 0, 1, 2, -1, false},
                                   {"aten.conv1d.padding", 0, 1, 2, -1, false},        {"aten.conv2d.padding", 0, 1, 2, -1, false},
                                   {"aten.conv3d.padding", 0, 1, 2, -1, false},        {"aten.conv_transpose1d.default", 0, 1, 2, 6, false},
                                   {"aten.conv_transpose2d.input", 0, 1, 2, 6, false}, {"aten.conv_transpose3d.input", 0, 1, 2, 6, false},
                                   {"aten.linear.default", 0, 1, 2, -1, true}};

typedef struct {
    tc_program *p;
    bool *constant;     /* by value id: weights that the program does not mutate, and values computed from them alone */
    int *uses;          /* by value id */
    size_t n;           /* length of these two; values made later have larger ids */
    tc_rewrite rewrite; /* replaced results */
    tc_frozen *out;
} freezer;

/* A per-channel affine operation x scale + shift: float64 values with one element per channel; NULL: 1 and 0. */
typedef struct {
    tc_value *scale, *shift;
} affine;

static tc_value *now(const freezer *f, tc_value *v) { return v ? tc_rewritten(&f->rewrite, v) : NULL; }
/* values made by this pass are constant */
static bool is_constant(const freezer *f, const tc_value *v) { return v->id >= f->n || f->constant[v->id]; }

/* ---- constants and use counts ---- */
typedef struct {
    const bool *constant;
    bool all;
} reading;
static void look(void *ctx, tc_value **place) {
    reading *r = ctx;
    r->all = r->all && r->constant[(*place)->id];
}
static void count_use(void *ctx, tc_value **place) { ((freezer *)ctx)->uses[(*place)->id]++; }

static bool written(const tc_program *p, int input) {
    for (int o = 0; o < p->noutputs; o++)
        if (p->outputs[o].target == input && p->outputs[o].kind >= TC_OUT_BUFFER && p->outputs[o].kind <= TC_OUT_USER_INPUT) return true;
    return false;
}

void tc_constant_values(const tc_program *p, bool *out) {
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        bool weight = in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER || in->kind == TC_IN_CONSTANT;
        if (weight && in->value && in->data.storage && !written(p, i)) out[in->value->id] = true;
    }
    for (tc_node *n = p->graph->first; n; n = n->next) {
        reading r = {out, !(n->op->flags & (TC_OP_RANDOM | TC_OP_IMPURE | TC_OP_HIGHER_ORDER)) && !tc_node_brings_symbols(n)};
        tc_node_each_input(n, look, &r);
        for (int i = 0; i < n->nouts && r.all; i++) out[n->outs[i]->id] = n->outs[i]->kind == TC_V_TENSOR;
    }
}

static void survey(freezer *f) {
    const tc_program *p = f->p;
    tc_constant_values(p, f->constant);
    for (tc_node *n = p->graph->first; n; n = n->next) tc_node_each_input(n, count_use, f);
    for (int i = 0; i < p->graph->noutputs; i++)
        if (p->graph->outputs[i]) f->uses[p->graph->outputs[i]->id]++;
}

/* ---- which operations can be folded ---- */
static tc_value *wide(tc_emit *e, tc_value *v) { return tc_e_cast(e, v, TC_F64); }

/* Batch norm in inference mode (with running statistics)? */
static bool is_norm(const tc_node *n) {
    const char *name = tc_op_name(n->op);
    if (!strcmp(name, "aten._native_batch_norm_legit_no_training.default")) return true;
    if (strcmp(name, "aten.batch_norm.default") && strcmp(name, "aten.native_batch_norm.default")) return false;
    const tc_arg *training = &n->args[tc_op_param(n->op, "training")];
    return training->kind == TC_A_SCALAR && !training->is_sym && !tc_arg_bool(n, tc_op_param(n->op, "training")) &&
           !tc_arg_is_none(n, tc_op_param(n->op, "running_mean")) && !tc_arg_is_none(n, tc_op_param(n->op, "running_var"));
}

static bool norm_fits(const freezer *f, const tc_node *n) {
    const int mean = tc_op_param(n->op, "running_mean"), args[] = {1, 2, mean, mean + 1}, eps = tc_op_param(n->op, "eps");
    for (int i = 0; i < 4; i++)
        if (!tc_arg_is_none(n, args[i]) && !is_constant(f, now(f, tc_arg_value(n, args[i])))) return false;
    for (int i = 1; i < n->nouts; i++)
        if (f->uses[n->outs[i]->id]) return false;
    return n->args[eps].kind == TC_A_SCALAR && !n->args[eps].is_sym;
}
static affine of_norm(const freezer *f, tc_emit *e, const tc_node *n) {
    const int at = tc_op_param(n->op, "running_mean");
    tc_value *w = now(f, tc_arg_value(n, 1)), *b = now(f, tc_arg_value(n, 2)), *mean = now(f, tc_arg_value(n, at)),
             *var = now(f, tc_arg_value(n, at + 1));
    affine a;
    a.scale = tc_emit_call(e, "aten::rsqrt", "v", tc_e_adds(e, wide(e, var), tc_arg_float(n, tc_op_param(n->op, "eps"))));
    if (w) a.scale = tc_e_mul(e, a.scale, wide(e, w));
    a.shift = tc_e_neg(e, tc_e_mul(e, wide(e, mean), a.scale));
    if (b) a.shift = tc_e_add(e, a.shift, wide(e, b));
    return a;
}

/* x + c, x - c, x * c, x / c and c + x, c * x: c a number or a constant that has one element, or one for each channel. */
static int binary_kind(const tc_node *n) {
    static const char *const names[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor",
                                        "aten.add.Scalar", "aten.sub.Scalar", "aten.mul.Scalar", "aten.div.Scalar"};
    for (int i = 0; i < 8; i++)
        if (!strcmp(tc_op_name(n->op), names[i])) return i % 4;
    return -1;
}
static bool one_a_channel(const tc_value *c, const tc_meta *y, int channel) {
    int64_t size;
    if (c->kind != TC_V_TENSOR || c->meta.rank > y->rank || !tc_is_float(c->meta.dtype)) return false;
    for (int d = 0; d < c->meta.rank; d++)
        if (d + y->rank - c->meta.rank != channel && !(tc_sym_const_int(c->meta.size[d], &size) && size == 1)) return false;
    return true;
}
/* Operations that make finite numbers infinite are not folded: a weight of 0 times infinity would be NaN where the original result is infinite. */
static bool is_finite(double v) { return v - v == 0; }
static bool stays_finite(const freezer *f, const tc_value *v, bool inverse) {
    const tc_tensor *t = NULL;
    for (int i = 0; i < f->p->ninputs; i++)
        if (f->p->inputs[i].value == v) t = &f->p->inputs[i].data;
    tc_tensor dense;
    bool finite = true;
    if (!t || !t->storage) return true; /* computed from weights */
    tc_status s = tc_tensor_contiguous(t, &dense);
    if (s) return tc_status_free(s), false;
    for (int64_t i = 0; i < tc_tensor_numel(&dense) && finite; i++) {
        const double x = tc_scalar_to_double(tc_scalar_load(dense.dtype, tc_tensor_data(&dense), i));
        finite = is_finite(x) && (!inverse || is_finite(1 / x));
    }
    tc_tensor_deinit(&dense);
    return finite;
}

static bool binary_fits(const freezer *f, const tc_node *n, int kind, int x_at, int channel) {
    const tc_arg *c = &n->args[1 - x_at];
    if (kind % 2 && x_at) return false; /* c - x, c / x */
    if (kind < 2 && n->nargs > 2 && (n->args[2].is_sym || tc_arg_float(n, 2) != 1)) return false;
    if (c->kind == TC_A_SCALAR) {
        const double v = c->is_sym || c->scalar.kind > TC_KIND_FLOAT ? NAN : tc_scalar_to_double(c->scalar);
        return is_finite(v) && (kind != 3 || is_finite(1 / v));
    }
    if (c->kind != TC_A_VALUE) return false;
    const tc_value *v = now(f, c->value);
    return v->kind == TC_V_TENSOR && is_constant(f, v) && one_a_channel(v, &n->outs[0]->meta, channel) && (kind < 2 || stays_finite(f, v, kind == 3));
}
static affine of_binary(const freezer *f, tc_emit *e, const tc_node *n, int kind, int x_at) {
    const tc_arg *arg = &n->args[1 - x_at];
    tc_value *c = arg->kind == TC_A_VALUE ? tc_emit_call(e, "aten::reshape", "vI", wide(e, now(f, arg->value)), (int64_t[]){-1}, 1)
                                          : tc_emit_call(e, "aten::full", "Izd", (int64_t[]){1}, 1, arg->scalar, (int)TC_F64);
    switch (kind) {
    case 0: return (affine){.shift = c};
    case 1: return (affine){.shift = tc_e_neg(e, c)};
    case 2: return (affine){.scale = c};
    default: return (affine){.scale = tc_emit_call(e, "aten::reciprocal", "v", c)};
    }
}

/* ---- folding into the weights ---- */
static const product *product_of(const tc_node *n) {
    for (size_t i = 0; n && i < sizeof products / sizeof *products; i++)
        if (!strcmp(products[i].name, tc_op_name(n->op))) return &products[i];
    return NULL;
}

/* The product whose only reader is argument `at` of n, if it qualifies: constant weights, a float dtype that n preserves, a batch dimension. Else
 * NULL. */
static const product *product_before(const freezer *f, const tc_node *n, int at) {
    const tc_value *y = now(f, tc_arg_value(n, at));
    tc_node *m = y && y->kind == TC_V_TENSOR ? y->producer : NULL;
    const product *p = product_of(m);
    if (!p || y->id >= f->n || f->uses[y->id] != 1 || !tc_is_float(y->meta.dtype) || n->outs[0]->meta.dtype != y->meta.dtype) return NULL;
    const tc_value *w = now(f, tc_arg_value(m, p->weight)), *b = now(f, tc_arg_value(m, p->bias));
    if (!w || !is_constant(f, w) || (b && !is_constant(f, b)) || w->meta.dtype != y->meta.dtype) return NULL;
    if (p->last ? w->meta.rank != 2 : y->meta.rank != w->meta.rank) return NULL;        /* no batch dimension, or linear with a 1-d weight */
    if (!strcmp(p->name, "aten.convolution.default") && tc_arg_bool(m, 6)) return NULL; /* transposed: other layout of the weight */
    if (n->outs[0]->meta.rank != y->meta.rank) return NULL;
    for (int d = 0; d < y->meta.rank; d++)
        if (n->outs[0]->meta.size[d] != y->meta.size[d]) return NULL;
    int64_t size;
    for (int d = 0; d < w->meta.rank; d++)
        if (!tc_sym_const_int(w->meta.size[d], &size)) return NULL;
    return p;
}

static int64_t channels_of(const product *p, const tc_node *m, const tc_value *w) {
    int64_t n = 0;
    tc_sym_const_int(w->meta.size[p->groups >= 0 ? 1 : 0], &n);
    return p->groups >= 0 ? n * tc_arg_int(m, p->groups) : n;
}

/* w with its output channels scaled; layout [out, ...], of transposed convolutions [groups, in / groups, out / groups, ...]. */
static tc_value *scaled(tc_emit *e, const product *p, const tc_node *m, tc_value *w, tc_value *scale) {
    int64_t own[TC_MAX_RANK], whole[TC_MAX_RANK + 1], along[TC_MAX_RANK + 1];
    int rank = w->meta.rank, n = 0;
    for (int d = 0; d < rank; d++) tc_sym_const_int(w->meta.size[d], &own[d]);
    const int64_t groups = p->groups >= 0 ? tc_arg_int(m, p->groups) : 1;
    if (p->groups >= 0) whole[n] = groups, along[n++] = groups, whole[n] = own[0] / groups, along[n++] = 1, whole[n] = own[1], along[n++] = own[1];
    else whole[n] = own[0], along[n++] = own[0];
    for (int d = p->groups >= 0 ? 2 : 1; d < rank; d++) whole[n] = own[d], along[n++] = 1;
    tc_value *y = tc_e_mul(e, tc_emit_call(e, "aten::reshape", "vI", wide(e, w), whole, n), tc_emit_call(e, "aten::reshape", "vI", scale, along, n));
    return tc_emit_call(e, "aten::reshape", "vI", y, own, rank);
}

static tc_value *each_channel(tc_emit *e, tc_value *v, int64_t channels) {
    return v ? tc_emit_call(e, "aten::expand", "vI", v, (int64_t[]){channels}, 1) : NULL;
}

/* Folds the affine operation a into the weight and bias of product m, which moves to the position of n, its only reader, since a's operands may be
 * defined after it. */
static void absorb(const freezer *f, tc_emit *e, const product *p, tc_node *m, tc_node *n, affine a) {
    tc_value *w = now(f, tc_arg_value(m, p->weight)), *b = now(f, tc_arg_value(m, p->bias)), *bias = b ? wide(e, b) : NULL;
    const int64_t channels = channels_of(p, m, w);
    const tc_dtype type = w->meta.dtype;
    tc_value *scale = each_channel(e, a.scale, channels), *shift = each_channel(e, a.shift, channels);
    if (scale) w = tc_e_cast(e, scaled(e, p, m, w, scale), type);
    if (scale && bias) bias = tc_e_mul(e, bias, scale);
    if (shift) bias = bias ? tc_e_add(e, bias, shift) : shift;
    if (e->status) return;
    m->args[p->weight] = (tc_arg){.kind = TC_A_VALUE, .value = w};
    if (bias) m->args[p->bias] = (tc_arg){.kind = TC_A_VALUE, .value = tc_e_cast(e, bias, type)};
    tc_node_move(m, n);
}

/* Replaces n's first result by m's. */
static void replace(freezer *f, const tc_node *n, const tc_node *m) {
    f->rewrite.to[n->outs[0]->id] = m->outs[0];
    f->uses[m->outs[0]->id] = f->uses[n->outs[0]->id];
}

static tc_status fold_norm(freezer *f, tc_node *n) {
    const product *p = product_before(f, n, 0);
    if (!p || (p->last && n->outs[0]->meta.rank != 2) || !norm_fits(f, n)) {
        f->out->left++;
        return NULL;
    }
    tc_node *m = now(f, tc_arg_value(n, 0))->producer;
    tc_emit e = {.graph = n->graph, .before = n, .source = n->source};
    absorb(f, &e, p, m, n, of_norm(f, &e, n));
    if (e.status) return e.status;
    replace(f, n, m);
    f->out->norms++;
    return NULL;
}

static tc_status fold_binary(freezer *f, tc_node *n, int kind) {
    for (int x_at = 0; x_at < 2; x_at++) {
        if (n->args[x_at].kind != TC_A_VALUE || n->args[x_at].value->kind != TC_V_TENSOR) continue;
        const product *p = product_before(f, n, x_at);
        if (!p || !binary_fits(f, n, kind, x_at, p->last ? n->outs[0]->meta.rank - 1 : 1)) continue;
        tc_node *m = now(f, tc_arg_value(n, x_at))->producer;
        tc_emit e = {.graph = n->graph, .before = n, .source = n->source};
        absorb(f, &e, p, m, n, of_binary(f, &e, n, kind, x_at));
        if (e.status) return e.status;
        replace(f, n, m);
        f->out->binaries++;
        return NULL;
    }
    return NULL;
}

static tc_status fold_into_weights(freezer *f) {
    for (tc_node *n = f->p->graph->first; n; n = n->next) {
        if (n->nouts && f->constant[n->outs[0]->id]) continue;
        int kind = binary_kind(n);
        if (is_norm(n)) TC_TRY(fold_norm(f, n));
        else if (kind >= 0) TC_TRY(fold_binary(f, n, kind));
    }
    tc_graph_apply_rewrite(f->p->graph, &f->rewrite);
    for (int o = 0; o < f->p->noutputs; o++) f->p->outputs[o].value = now(f, f->p->outputs[o].value);
    return NULL;
}

/* Upper bound for a folded result: all weights together in float64, in which the new weights are computed. */
static size_t most_bytes(const tc_program *p) {
    size_t n = 0;
    for (int i = 0; i < p->ninputs; i++) n += p->inputs[i].data.storage ? 8 * (size_t)tc_tensor_numel(&p->inputs[i].data) : 0;
    return n ? n : 1;
}

tc_status tc_freeze(tc_program *p, const tc_eval *eval, tc_frozen *out) {
    const size_t n = p->graph->nvalues + 1;
    freezer f = {.p = p, .n = n, .rewrite = {tc_xcalloc(n, sizeof(tc_value *)), n}, .out = out};
    f.constant = tc_xcalloc(n, sizeof *f.constant);
    f.uses = tc_xcalloc(n, sizeof *f.uses);
    *out = (tc_frozen){0};
    survey(&f);
    tc_status s = fold_into_weights(&f);
    tc_dce(p, false);
    if (!s) s = tc_fold(p, eval, &(tc_fold_options){.max_bytes = most_bytes(p), .parameters = true});
    tc_dce(p, false);
    tc_drop_weights(p);
    free(f.rewrite.to);
    free(f.constant);
    free(f.uses);
    return s;
}
