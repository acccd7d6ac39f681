/* Calls of kernels as C: products, convolution, attention, recurrent layers; their C text is in codegen/ckernels*.h. 16- and 8-bit floats are widened to
 * float32 in scratch before the call, and results are rounded after it, as the kernels of lib/kernel do. */
#include "base/ints.h"
#include "kernel/narrow.h"
#include "runtime/to_c_write.h"

#include <math.h>

tc_status to_c_argument(writer *w, const kernel_call *k, int i, to_c_operand *out) {
    const tc_karg *a = &k->args[i];
    *out = (to_c_operand){NULL, "NULL"};
    if (a->kind != TC_K_TENSOR) return NULL;
    out->t = a->tensor;
    return to_c_address(w, (int)(a->tensor - w->b->t), &out->at);
}

const char *to_c_scratch(writer *w, size_t *used, size_t bytes) {
    const char *at = TC_TEXT(w, "scratch + %zu", *used);
    *used += tc_pad64(bytes);
    if (*used > w->scratch) w->scratch = *used;
    return at;
}

/* A contiguous float32 tensor of the same sizes, in scratch. */
static to_c_operand as_float(writer *w, const tc_tensor *t, size_t *used) {
    tc_tensor *f = TC_NEWN(&w->a, tc_tensor, 1);
    *f = *t;
    f->storage = NULL;
    f->dtype = TC_F32;
    tc_contiguous_strides(f->rank, f->size, f->stride);
    return (to_c_operand){f, to_c_scratch(w, used, (size_t)tc_tensor_numel(t) * 4)};
}

static void widen(writer *w, to_c_operand *x, size_t *used) {
    if (!x->t || !tc_is_narrow(x->t->dtype)) return;
    const to_c_operand f = as_float(w, x->t, used);
    const char *S = tc_dtypes[x->t->dtype].name, *ty = to_c_type(x->t->dtype);
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_copies c = {%d, %zu, {%s}, {%s}, {%s}};\n", x->t->rank, tc_dtype_size(x->t->dtype),
                  to_c_list(w, x->t->size, x->t->rank), to_c_list(w, f.t->stride, f.t->rank), to_c_list(w, x->t->stride, x->t->rank));
    tc_buf_printf(&w->calls, "        tc_c_widen_%s(&c, (float *)(%s), (const %s *)(%s));\n    }\n", S, f.at, ty, x->at);
    *x = f;
}

/* Where the call writes its result: if `out` is of a narrow type, to float32 in scratch, from which round_result writes `out`. */
static to_c_operand wide_result(writer *w, to_c_operand out, size_t *used) { return tc_is_narrow(out.t->dtype) ? as_float(w, out.t, used) : out; }
static void round_result(writer *w, to_c_operand out, to_c_operand wide) {
    if (out.t == wide.t) return;
    tc_buf_printf(&w->calls, "    tc_c_narrow_%s(%lld, (%s *)(%s), (const float *)(%s));\n", tc_dtypes[out.t->dtype].name,
                  (long long)tc_tensor_numel(out.t), to_c_type(out.t->dtype), out.at, wide.at);
}

static int64_t step(const tc_tensor *t, int from_right) {
    int d = t->rank - 1 - from_right;
    return d >= 0 && t->size[d] != 1 ? t->stride[d] : 0;
}

/* Matrix products: [batch], rows and columns are the last dimensions of the operands. */
static tc_status write_product(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    bool first = !strcmp(kind, "addmm") || !strcmp(kind, "baddbmm");
    to_c_operand a, b, add = {NULL, "NULL"}, o = {&k->outs[0], NULL};
    TC_TRY(to_c_argument(w, k, first, &a));
    TC_TRY(to_c_argument(w, k, first + 1, &b));
    TC_TRY(to_c_address(w, k->out_id[0], &o.at));
    double alpha = 1, beta = 1;
    if (first) {
        beta = tc_k_float(&(tc_kcall){.args = k->args}, 3), alpha = tc_k_float(&(tc_kcall){.args = k->args}, 4);
        if (beta != 0) TC_TRY(to_c_argument(w, k, 0, &add));
    }
    if (tc_is_complex(a.t->dtype)) return tc_error(TC_UNSUPPORTED, "a matrix product of %s as C", tc_dtypes[a.t->dtype].torch);
    const to_c_operand result = o;
    size_t used = 0;
    widen(w, &a, &used), widen(w, &b, &used), widen(w, &add, &used);
    o = wide_result(w, result, &used);
    const int rank = a.t->rank;
    const int64_t batch = rank == 3 ? a.t->size[0] : 1, m = a.t->size[rank - 2], n = b.t->size[rank - 1], kk = a.t->size[rank - 1];
    int64_t as[3] = {step(a.t, 2), step(a.t, 1), step(a.t, 0)}, bs[3] = {step(b.t, 2), step(b.t, 1), step(b.t, 0)}, ds[3] = {0};
    if (add.t) ds[0] = step(add.t, 2), ds[1] = step(add.t, 1), ds[2] = step(add.t, 0);
    const char *ty = to_c_type(a.t->dtype), *out = to_c_type(o.t->dtype);
    const char *S = o.t->dtype == a.t->dtype ? tc_dtypes[a.t->dtype].name : "i8_i32"; /* int_mm */
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_product p = {%lld, %lld, %lld, %lld, %s, %s, %s, %a, %a};\n", (long long)batch,
                  (long long)m, (long long)n, (long long)kk, to_c_list(w, as, 3), to_c_list(w, bs, 3), to_c_list(w, ds, 3), alpha, beta);
    const char *operands = TC_TEXT(w, "(const %s *)(%s), (const %s *)(%s), (const %s *)(%s), (%s *)(%s)", ty, a.at, ty, b.at, out, add.at, out, o.at);
    if (tc_is_float(a.t->dtype))
        tc_buf_printf(&w->calls,
                      "        const tc_c_product_call_%s call = {&p, %s};\n        tc_c_split(&threads, tc_c_tiles(&p), 512 * p.k, "
                      "tc_c_product_range_%s, &call);\n    }\n",
                      S, operands, S);
    else /* alpha and beta as integers */
        tc_buf_printf(&w->calls, "        tc_c_product_%s(&p, %lld, %lld, %s);\n    }\n", S, first ? (long long)tc_scalar_to_int(k->args[4].num) : 1,
                      first ? (long long)tc_scalar_to_int(k->args[3].num) : 1, operands);
    round_result(w, result, o);
    return NULL;
}

/* The members of tc_c_conv except n. */
typedef struct {
    int64_t groups, cin, cout, geo[6][3], group, w_cout, w_cin; /* geo: in, out, kernel, stride, padding, dilation */
    bool adjoint;
} geometry;

/* stride, padding, dilation, transposed, output_padding and groups are arguments `at` and following. */
static geometry geometry_of(const kernel_call *k, const tc_tensor *x, const tc_tensor *wt, const tc_tensor *out, int at) {
    const tc_kcall kc = {.args = k->args};
    geometry g = {.groups = tc_k_int(&kc, at + 5), .adjoint = tc_k_bool(&kc, at + 3)};
    int64_t taps = 1;
    for (int d = 0; d < 3; d++) {
        const int i = d - (3 - (x->rank - 2));
        g.geo[0][d] = i < 0 ? 1 : x->size[2 + i], g.geo[1][d] = i < 0 ? 1 : out->size[2 + i], g.geo[2][d] = i < 0 ? 1 : wt->size[2 + i];
        for (int v = 0; v < 3; v++) g.geo[3 + v][d] = i < 0 ? v != 1 : k->args[at + v].ints[k->args[at + v].n == 1 ? 0 : i];
        taps *= g.geo[2][d];
    }
    const int64_t row = wt->size[1] * taps;
    g.cin = x->size[1] / g.groups, g.cout = g.adjoint ? wt->size[1] : wt->size[0] / g.groups;
    g.group = wt->size[0] / g.groups * row, g.w_cout = g.adjoint ? taps : row, g.w_cin = g.adjoint ? row : taps;
    return g;
}
/* The convolution that computes the input gradient from the output gradient. */
static geometry backward_of(const geometry *f) {
    geometry b = *f;
    b.cin = f->cout, b.cout = f->cin, b.w_cout = f->w_cin, b.w_cin = f->w_cout, b.adjoint = !f->adjoint;
    memcpy(b.geo[0], f->geo[1], sizeof b.geo[0]), memcpy(b.geo[1], f->geo[0], sizeof b.geo[1]);
    return b;
}
static int64_t volume(const int64_t *d) { return d[0] * d[1] * d[2]; }

static void open_geometry(writer *w, int64_t n, const geometry *g) {
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_conv g = {%lld, %lld, %lld, %lld, ", (long long)n, (long long)g->groups,
                  (long long)g->cin, (long long)g->cout);
    for (int v = 0; v < 6; v++) tc_buf_printf(&w->calls, "{%s}, ", to_c_list(w, g->geo[v], 3));
    tc_buf_printf(&w->calls, "%lld, %lld, %lld, %d};\n", (long long)g->group, (long long)g->w_cout, (long long)g->w_cin, g->adjoint);
}
static tc_status convolution_call(writer *w, int64_t n, const geometry *g, to_c_operand x, to_c_operand wt, const char *bias, const char *out) {
    const int64_t terms = volume(g->geo[2]) * g->cin;
    if ((terms + 255) / 256 > 512) return tc_error(TC_UNSUPPORTED, "a convolution over %lld terms as C", (long long)terms);
    const char *S = tc_dtypes[x.t->dtype].name, *ty = to_c_type(x.t->dtype);
    open_geometry(w, n, g);
    tc_buf_printf(&w->calls,
                  "        const tc_c_conv_call_%s call = {&g, (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), (%s *)(%s)};\n        "
                  "tc_c_split(&threads, %lld, %lld, tc_c_conv_range_%s, &call);\n    }\n",
                  S, ty, x.at, ty, wt.at, ty, bias, ty, out, (long long)(n * g->groups * volume(g->geo[1])), (long long)(terms * g->cout), S);
    return NULL;
}

static tc_status write_convolution(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    to_c_operand x, wt, bias, o = {&k->outs[0], NULL};
    (void)kind;
    TC_TRY(to_c_argument(w, k, 0, &x));
    TC_TRY(to_c_argument(w, k, 1, &wt));
    TC_TRY(to_c_argument(w, k, 2, &bias));
    TC_TRY(to_c_address(w, k->out_id[0], &o.at));
    if (!tc_is_float(x.t->dtype)) return tc_error(TC_UNSUPPORTED, "a convolution of %s as C", tc_dtypes[x.t->dtype].torch);
    const to_c_operand result = o;
    size_t used = 0;
    widen(w, &x, &used), widen(w, &wt, &used), widen(w, &bias, &used);
    o = wide_result(w, result, &used);
    const geometry g = geometry_of(k, x.t, wt.t, o.t, 3);
    TC_TRY(convolution_call(w, x.t->size[0], &g, x, wt, bias.at, o.at));
    round_result(w, result, o);
    return NULL;
}

/* grad_output, input, weight, bias_sizes, stride, ..., output_mask -> gradients of input, weight, bias, as the mask says */
static tc_status write_convolution_backward(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_karg *mask = &k->args[10];
    to_c_operand in[3], out[3] = {{NULL, NULL}}, wide[3];
    size_t used = 0;
    (void)kind;
    for (int i = 0; i < 3; i++) TC_TRY(to_c_argument(w, k, i, &in[i]));
    if (!tc_is_float(in[1].t->dtype)) return tc_error(TC_UNSUPPORTED, "a convolution of %s as C", tc_dtypes[in[1].t->dtype].torch);
    for (int i = 0; i < 3; i++) widen(w, &in[i], &used);
    for (int i = 0; i < 3 && i < k->k.nouts; i++) {
        if (k->out_id[i] < 0 || (mask->kind == TC_K_INTS && i < mask->n && !mask->ints[i])) continue;
        out[i].t = &k->outs[i];
        TC_TRY(to_c_address(w, k->out_id[i], &out[i].at));
        wide[i] = wide_result(w, out[i], &used);
    }
    const to_c_operand d = in[0], x = in[1], wt = in[2];
    const geometry g = geometry_of(k, x.t, wt.t, d.t, 4), back = backward_of(&g), plain = g.adjoint ? back : g;
    const int64_t n = x.t->size[0];
    const char *S = tc_dtypes[x.t->dtype].name, *ty = to_c_type(x.t->dtype);
    if (out[0].t) TC_TRY(convolution_call(w, n, &back, d, wt, "NULL", wide[0].at));
    if (out[1].t) {
        open_geometry(w, n, &plain);
        tc_buf_printf(&w->calls,
                      "        const tc_c_conv_weight_call_%s call = {&g, (const %s *)(%s), (const %s *)(%s), (%s *)(%s)};\n        "
                      "tc_c_split(&threads, %lld, %lld, tc_c_conv_weight_range_%s, &call);\n    }\n",
                      S, ty, g.adjoint ? d.at : x.at, ty, g.adjoint ? x.at : d.at, ty, wide[1].at,
                      (long long)(g.groups * ((plain.cout + 15) / 16) * plain.cin * volume(plain.geo[2])), (long long)(16 * n * volume(plain.geo[1])),
                      S);
    }
    if (out[2].t)
        tc_buf_printf(&w->calls, "    tc_c_conv_bias_%s(%lld, %lld, %lld, (const %s *)(%s), (%s *)(%s));\n", S, (long long)n,
                      (long long)(g.groups * g.cout), (long long)volume(g.geo[1]), ty, d.at, ty, wide[2].at);
    for (int i = 0; i < 3; i++)
        if (out[i].t) round_result(w, out[i], wide[i]);
    return NULL;
}

/* query, key, value, dropout_p, is_causal, attn_mask, scale -> output, logsumexp; of tc::attention fill, safe, scores, changed follow */
static tc_status write_attention(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args, .nargs = c->group->node->nargs};
    to_c_operand x[5] = {{0}};
    to_c_operand o = {&k->outs[0], NULL};
    const bool written = kc.nargs > 7; /* tc::attention */
    const char *lse = "0";
    (void)kind;
    for (int i = 0; i < 4 + written; i++) TC_TRY(to_c_argument(w, k, i < 3 ? i : i == 3 ? 5 : 10, &x[i]));
    TC_TRY(to_c_address(w, k->out_id[0], &o.at));
    if (k->out_id[1] >= 0) TC_TRY(to_c_address(w, k->out_id[1], &lse));
    const to_c_operand result = o;
    size_t used = 0;
    if (!tc_is_float(x[0].t->dtype)) return tc_error(TC_UNSUPPORTED, "attention of %s as C", tc_dtypes[x[0].t->dtype].torch);
    for (int i = 0; i < 4; i++) widen(w, &x[i], &used);
    o = wide_result(w, result, &used);
    const tc_tensor *q = x[0].t, *key = x[1].t, *v = x[2].t;
    int r = q->rank;
    int64_t d = q->size[r - 1], dv = v->size[r - 1], st[5][4] = {{0}}, h = r == 4 ? q->size[1] : 1;
    if (d > 256 || dv > 256 || tc_k_float(&kc, 3) != 0)
        return tc_error(TC_UNSUPPORTED, "attention with more than 256 elements a head, or dropout, as C");
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < r; i++) st[t][r == 3 && i == 0 ? 0 : 4 - r + i] = x[t].t->stride[i];
    for (int t = 3; t < 5; t++)
        for (int i = 0; x[t].t && i < 4; i++) st[t][3 - i] = step(x[t].t, i);
    if (x[3].t && r == 3) st[3][0] = st[3][1], st[3][1] = 0;
    double scale = tc_k_given(&kc, 6) ? tc_k_float(&kc, 6) : 1 / sqrt((double)d);
    int64_t sizes[7] = {r >= 3 ? q->size[0] : 1, h, r == 4 && key->size[1] ? h / key->size[1] : 1, q->size[r - 2], key->size[r - 2], d, dv};
    const double filled = written ? tc_k_float(&kc, 7) : -INFINITY;
    const char *S = tc_dtypes[q->dtype].name, *ty = to_c_type(q->dtype),
               *fill = isfinite(filled) ? TC_TEXT(w, "%a", filled)
                       : filled < 0     ? "-__builtin_inf()"
                       : filled > 0     ? "__builtin_inf()"
                                        : "__builtin_nan(\"\")";
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_attention a = {%s, {%s}, {%s}, {%s}, {%s}, {%s}, %d, %d, %a, %s, %s};\n",
                  to_c_list(w, sizes, 7), to_c_list(w, st[0], 4), to_c_list(w, st[1], 4), to_c_list(w, st[2], 4), to_c_list(w, st[3], 4),
                  to_c_list(w, st[4], 4), tc_k_bool(&kc, 4), x[3].t && x[3].t->dtype == TC_BOOL, scale, fill,
                  written && sizes[4] && !tc_k_bool(&kc, 8) ? "__builtin_nan(\"\")" : "0");
    tc_buf_printf(&w->calls,
                  "        const tc_c_attention_call_%s call = {&a, (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), %s, (%s "
                  "*)(%s), (%s *)(%s)};\n        "
                  "tc_c_split(&threads, %lld, %lld, tc_c_attention_range_%s, &call);\n    }\n",
                  S, ty, x[0].at, ty, x[1].at, ty, x[2].at, ty, x[4].at ? x[4].at : "0", x[3].at, ty, o.at, ty, lse,
                  (long long)(sizes[0] * sizes[1] * sizes[3]), (long long)(sizes[4] * (d + dv)), S);
    round_result(w, result, o);
    return NULL;
}

/* input, w_ih, w_hh, b_ih, b_hh, hx, cx, reverse, batch_sizes, mode, hidden_size, num_layers, has_biases, ... -> output, hy, cy, workspace */
static tc_status write_rnn(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *x = tc_k_tensor(&kc, 0);
    const tc_dtype work = tc_is_narrow(x->dtype) ? TC_F32 : x->dtype, held = tc_k_tensor(&kc, 5)->dtype;
    const char *ty = to_c_type(work), *round = x->dtype == TC_BF16 ? "TC_C_RNN_BF16" : x->dtype == TC_F16 ? "TC_C_RNN_F16" : "0";
    size_t used = 0;
    (void)kind;
    int64_t mode = tc_k_int(&kc, 9), gates = mode == 2 ? 4 : mode == 3 ? 3 : 1, sizes[] = {x->size[0], x->size[1], x->size[2], tc_k_int(&kc, 10)};
    to_c_operand in[7], out[4], wide[4];
    for (int i = 0; i < 7; i++) {
        const bool given = i < 3 || i == 5 || (i == 6 ? mode == 2 : tc_k_bool(&kc, 12));
        TC_TRY(to_c_argument(w, k, i, &in[i]));
        if (!given) in[i] = (to_c_operand){NULL, "NULL"};
        widen(w, &in[i], &used);
    }
    for (int i = 0; i < 4; i++) {
        out[i].t = &k->outs[i];
        TC_TRY(to_c_address(w, k->out_id[i], &out[i].at));
        wide[i] = wide_result(w, out[i], &used);
    }
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_rnn c = {%s, %lld, %d, %s, %s};\n        tc_c_rnn_%s(&c", to_c_list(w, sizes, 4),
                  (long long)mode, tc_k_bool(&kc, 7), tc_is_narrow(held) ? round : "0", mode == 2 ? "0" : round, tc_dtypes[work].name);
    for (int i = 0; i < 7; i++) tc_buf_printf(&w->calls, ", (const %s *)(%s)", ty, in[i].at);
    for (int i = 0; i < 4; i++) tc_buf_printf(&w->calls, ", (%s *)(%s)", ty, wide[i].at);
    tc_buf_printf(&w->calls, ", (%s *)(%s));\n    }\n", ty,
                  to_c_scratch(w, &used, (size_t)(((sizes[0] * sizes[1] + sizes[1] + 1) * gates + sizes[1]) * sizes[3]) * tc_dtype_size(work)));
    for (int i = 0; i < 3; i++) round_result(w, out[i], wide[i]);
    return NULL;
}

/* assert_async: the only element of the tensor must not be 0. */
static tc_status write_check(writer *w, const call *c, const char *kind) {
    to_c_operand x;
    const char *element;
    (void)kind;
    TC_TRY(to_c_argument(w, c->kernel, 0, &x));
    if (tc_tensor_numel(x.t) != 1) return tc_error(TC_UNSUPPORTED, "an assertion about %lld numbers as C", (long long)tc_tensor_numel(x.t));
    TC_TRY(to_c_element(w, x.t->dtype, x.at, &element));
    tc_buf_printf(&w->calls, "    if (!%s) return 4;\n", element);
    return NULL;
}

static const struct {
    const char *kernel;
    tc_status (*write)(writer *w, const call *c, const char *kind);
} kernels[] = {
    {"mm", write_product},
    {"bmm", write_product},
    {"addmm", write_product},
    {"baddbmm", write_product},
    {"int_mm", write_product},
    {"convolution", write_convolution},
    {"convolution_backward", write_convolution_backward},
    {"flash_attention", write_attention},
    {"rnn_layer", write_rnn},
    {"assert_async", write_check},
    {"all_gather_into_tensor", to_c_collective},
    {"all_reduce", to_c_collective},
    {"broadcast", to_c_collective},
    {"reduce_scatter_tensor", to_c_collective},
    {"sort", to_c_rows},
    {"topk", to_c_rows},
    {"first", to_c_rows},
    {"kthvalue", to_c_rows},
    {"median", to_c_rows},
    {"nanmedian", to_c_rows},
    {"mode", to_c_rows},
    {"searchsorted", to_c_rows},
    {"index_add", to_c_scatter},
    {"index_copy", to_c_scatter},
    {"index_reduce", to_c_scatter},
    {"index_put", to_c_scatter},
    {"put", to_c_scatter},
    {"scatter", to_c_scatter},
    {"scatter_add", to_c_scatter},
    {"scatter_reduce", to_c_scatter},
};

tc_status to_c_kernel(writer *w, const call *c) {
    const char *name = c->group->node->op->kernel->name;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].kernel, name)) return kernels[i].write(w, c, name);
    return tc_error(TC_UNSUPPORTED, "%s as C", tc_op_name(c->group->node->op));
}
