/* Bytes that a call must move and operations that it must compute, counted from its sizes, for profiles. */
#include "base/text.h"
#include "runtime/frame.h"

/* Bytes of a tensor, not counting broadcast dimensions. */
static double bytes_of(const tc_tensor *t) {
    double n = (double)tc_dtype_size(t->dtype);
    for (int d = 0; d < t->rank; d++) n *= t->stride[d] == 0 && t->size[d] > 0 ? 1 : (double)t->size[d];
    return n;
}

static double points(const double *extent, uint64_t axes) {
    double n = 1;
    for (int a = 0; a < 64; a++)
        if (axes >> a & 1) n *= extent[a];
    return n;
}

/* Bytes: each buffer once; of a buffer that is only gathered from, at most the gathered elements. Operations: one for each scalar operation, and one for
 * each operand element of a reduction or scan. */
static void loop_cost(const frame *f, const call *c, const tc_loop *l, call_cost *out) {
    double extent[64], *gathered = tc_xcalloc(l->buffers.len + 1, sizeof *gathered);
    for (int a = 0; a < l->naxes; a++) {
        int64_t n = 0;
        tc_status_free(tc_sym_eval_int(l->axes[a].extent, f->e->vars, f->e->nvars, &n));
        extent[a] = (double)n;
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        double n = points(extent, in->axes | (in->kind == TC_L_REDUCE ? in->over : 0));
        if (in->kind == TC_L_SCALAR || in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) out->flops += n;
        if (in->kind != TC_L_LOAD || gathered[in->buffer] < 0) continue;
        if (in->gather) gathered[in->buffer] += n * (double)tc_dtype_size(l->buffers.data[in->buffer].dtype);
        else gathered[in->buffer] = -1;
    }
    for (size_t i = 0; i < l->buffers.len; i++) {
        double whole = bytes_of(&f->b->t[c->id[i]]);
        out->bytes += gathered[i] > 0 && gathered[i] < whole ? gathered[i] : whole;
    }
    free(gathered);
}

static double last(const tc_tensor *t, int from_right) { return t->rank > from_right ? (double)t->size[t->rank - 1 - from_right] : 1; }

/* at: number of the first argument that a kernel and its gradient have in common: 0, or 1 after the gradient of the result. */
static double conv_flops(const kernel_call *k, int at, double results) {
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *x = tc_k_tensor(&kc, at), *w = tc_k_tensor(&kc, at + 1);
    return w->size[0] ? 2 * (tc_k_bool(&kc, at + 6) ? (double)tc_tensor_numel(x) : results) * (double)(tc_tensor_numel(w) / w->size[0]) : 0;
}
/* For each pair of query and key: of_d dot products of length d (of queries and keys), of_dv of length dv (of values). */
static double attention_flops(const kernel_call *k, int at, int causal, int of_d, int of_dv) {
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *q = tc_k_tensor(&kc, at), *key = tc_k_tensor(&kc, at + 1), *v = tc_k_tensor(&kc, at + 2);
    const double pairs = last(q, 0) > 0 ? (double)tc_tensor_numel(q) / last(q, 0) * last(key, 1) : 0;
    return 2 * pairs * (of_d * last(q, 0) + of_dv * last(v, 0)) * (tc_k_bool(&kc, causal) ? 0.5 : 1);
}
static double rnn_flops(const kernel_call *k) {
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *x = tc_k_tensor(&kc, 0), *w = tc_k_tensor(&kc, 1), *h = tc_k_tensor(&kc, 2);
    return 2 * (double)(x->size[0] * x->size[1]) * (double)(tc_tensor_numel(w) + tc_tensor_numel(h));
}

/* A multiplication and an addition count as two; kernels that only move or compare elements as 0. */
static double kernel_flops(const kernel_call *k, const char *name) {
    const tc_kcall kc = {.args = k->args};
    const double results = (double)tc_tensor_numel(&k->outs[0]);
    const bool first = !strcmp(name, "addmm") || !strcmp(name, "baddbmm");
    if (first || tc_word_in(" mm bmm int_mm int8pack_mm int4pack_mm ", name)) return 2 * results * last(tc_k_tensor(&kc, first), 0);
    if (!strcmp(name, "grouped_mm")) { /* of two matrices, the groups are ranges of k */
        const tc_tensor *a = tc_k_tensor(&kc, 0), *b = tc_k_tensor(&kc, 1);
        return 2 * (a->rank == 2 && b->rank == 2 ? (double)tc_tensor_numel(a) * last(b, 0) : results * last(a, 0));
    }
    if (!strcmp(name, "convolution")) return conv_flops(k, 0, results);
    if (!strcmp(name, "convolution_backward")) /* one product for the input gradient, one for the weight gradient */
        return ((k->out_id[0] >= 0) + (k->out_id[1] >= 0)) * conv_flops(k, 1, (double)tc_tensor_numel(tc_k_tensor(&kc, 0)));
    if (!strcmp(name, "flash_attention")) return attention_flops(k, 0, 4, 1, 1);
    if (!strcmp(name, "flash_attention_backward")) return attention_flops(k, 1, 7, 3, 2); /* d: scores, dq, dk; dv: dP, dv */
    if (!strcmp(name, "rnn_layer")) return rnn_flops(k);
    if (!strcmp(name, "rnn_layer_backward")) return 2 * rnn_flops(k); /* one product for the input gradients, one for the weight gradients */
    return 0;
}

static void kernel_cost(const call *c, call_cost *out) {
    const kernel_call *k = c->kernel;
    for (int i = 0; i < c->group->node->nargs; i++) {
        const tc_karg *a = &k->args[i];
        if (a->kind == TC_K_TENSOR) out->bytes += bytes_of(a->tensor);
        for (int j = 0; a->kind == TC_K_TENSORS && j < a->n; j++) out->bytes += a->tensors[j] ? bytes_of(a->tensors[j]) : 0;
    }
    for (int i = 0; i < k->k.nouts; i++)
        if (k->out_id[i] >= 0) out->bytes += bytes_of(&k->outs[i]);
    out->flops = k->k.nouts ? kernel_flops(k, c->group->node->op->kernel->name) : 0;
}

call_cost cost_of(const frame *f, const call *c) {
    call_cost out = {0};
    if (c->kind == CALL_LOOP) loop_cost(f, c, c->group->loop, &out);
    else if (c->kind == CALL_KERNEL) kernel_cost(c, &out);
    if (c->kind == CALL_KERNEL && c->group->epilogue) { /* the kernel's result is not written to memory, nor read by the epilogue */
        loop_cost(f, c, c->group->epilogue, &out);
        out.bytes -= 2 * bytes_of(&c->kernel->outs[0]);
    } else if (c->kind == CALL_COPY) out.bytes = 2 * bytes_of(&f->b->t[c->id[1]]);
    return out;
}
