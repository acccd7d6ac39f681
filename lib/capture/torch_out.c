/* The out= argument of operators: PyTorch's checks, and writing the result into it. */
#include "base/text.h"
#include "capture/torch_bind.h"
#include "capture/torch_data.h"
#include "capture/undrawn.h"

#include <string.h>

static bool share_memory(V a, V b) {
    const tensor *x = (tensor *)a, *y = (tensor *)b;
    if (x == y) return true;
    return x->t.storage ? x->t.storage == y->t.storage && tc_tensor_numel(&x->t) && tc_tensor_numel(&y->t) : x->v == y->v;
}

/* Operators that read and write in different orders: PyTorch refuses an out= that shares memory with their operands. */
static void out_apart(C *c, const tc_op *op, const tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    V outs_one = b->out, *outs = &outs_one;
    size_t nouts = 1;
    if (!tc_op_marked(op, TC_MARK_OUT_APART)) return;
    if (!tc_is_tensor(b->out)) outs = tc_items(b->out, &nouts);
    for (int i = strncmp(s->name, "scatter", 7) && strncmp(s->name, "index_add", 9) && strncmp(s->name, "index_copy", 10) ? 0 : 1; i < b->n; i++) {
        V one = b->object[i], *in = &one;
        size_t n = one ? 1 : 0;
        if (one && b->arg[i].kind == TC_A_VALUES) in = tc_items(one, &n);
        for (size_t k = 0; k < n; k++)
            for (size_t o = 0; o < nouts; o++)
                if (tc_is_tensor(in[k]) && tc_is_tensor(outs[o]) && share_memory(in[k], outs[o]))
                    tc_raise(c, "RuntimeError",
                             "%s: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                             "location. Please clone() the tensor before performing the operation.",
                             s->name);
    }
}

/* ---- what is written to ---- */
/* Do several elements of t certainly share memory? PyTorch checks no more than this. */
static bool overlaps_itself(const tensor *t) {
    const tc_meta *m = t->t.storage ? NULL : &t->v->meta;
    bool repeats = false;
    if (m && !m->stride) return false;
    for (int d = 0; d < (m ? m->rank : t->t.rank); d++) {
        if (m ? tc_sym_is_int(m->size[d], 0) : !t->t.size[d]) return false;
        repeats |= m ? tc_sym_is_int(m->stride[d], 0) && !tc_sym_is_int(m->size[d], 1) : !t->t.stride[d] && t->t.size[d] > 1;
    }
    return repeats;
}

/* Are the elements of t dense in memory? */
static bool is_dense(const tc_tensor *t) { return tc_tensor_span(t) == tc_tensor_bytes(t) && !overlaps_itself(&(tensor){.t = *t}); }

/* Do elements of a overlap elements of b at another position? Decided as in PyTorch. */
static bool overlaps_partly(const tc_tensor *a, const tc_tensor *b) {
    if (a == b || !a->storage || a->storage != b->storage || !tc_tensor_numel(a) || !tc_tensor_numel(b) || !is_dense(a) || !is_dense(b)) return false;
    const char *a0 = tc_tensor_data(a), *a1 = a0 + tc_tensor_span(a), *b0 = tc_tensor_data(b), *b1 = b0 + tc_tensor_span(b);
    if (a0 == b0 && a1 == b1) return a->rank != b->rank || memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)a->rank);
    return a0 < b1 && b0 < a1;
}

void tc_torch_check_written(C *c, const tc_op *op, const tc_binding *b, V written) {
    const tc_schema *s = tc_op_schema(op);
    const tensor *t = (const tensor *)written;
    if (tc_op_schema(tc_op_functional(op))->is_view || tc_op_marked(op, TC_MARK_OVERLAPS)) return;
    if (overlaps_itself(t))
        tc_raise(c, "RuntimeError",
                 "%s: unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the "
                 "tensor before performing the operation.",
                 s->name);
    for (int i = 0; i < b->n && t->t.storage; i++)
        if (b->object[i] && tc_is_tensor(b->object[i]) && overlaps_partly(&t->t, &((tensor *)b->object[i])->t))
            tc_raise(c, "RuntimeError",
                     "%s: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
                     "Please clone() the tensor before performing the operation.",
                     s->name);
}

/* out= of a differentiable operator with an operand that requires a gradient. */
static void refuse_gradient(C *c, const tc_op *op, const tc_binding *b, const V *outs, size_t nouts) {
    if (c->torch->no_grad || c->torch->graph || op->flags & TC_OP_NONDIFF) return;
    bool wants = false;
    for (size_t i = 0; i < nouts; i++) wants |= ((tensor *)outs[i])->requires_grad;
    for (int i = 0; i < b->n && !wants; i++) {
        size_t n = b->object[i] ? 1 : 0;
        const V *in = &b->object[i];
        if (n && b->arg[i].kind == TC_A_VALUES) in = tc_items(b->object[i], &n);
        for (size_t k = 0; k < n; k++) wants |= tc_is_tensor(in[k]) && ((tensor *)in[k])->requires_grad;
    }
    if (wants)
        tc_raise(c, "RuntimeError",
                 "%s(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
                 tc_op_schema(op)->name);
}

/* If the call names no dtype, that of out= is used for the computation: by factory functions of numbers, and by sums and products. */
static void take_type(C *c, const tc_schema *s, tc_binding *b, V out) {
    int at = -1;
    bool makes = false;
    for (int i = 0; i < s->nparams; i++) {
        if (s->params[i].type == TC_T_DTYPE) at = i;
        makes |= !strcmp(s->params[i].name, "pin_memory");
    }
    if (at < 0 || !tc_is_tensor(out)) return;
    const tc_dtype d = tc_torch_dtype(out);
    if (b->arg[at].kind == TC_A_DTYPE && b->arg[at].dtype != d && b->given[at])
        tc_raise(c, "RuntimeError",
                 makes ? "%s: dtype %s does not match dtype of out parameter (%s)" : "%s: Expected out tensor to have dtype %s, but got %s instead",
                 s->name, tc_dtypes[b->arg[at].dtype].torch, tc_dtypes[d].torch);
    if (!strcmp(s->name, "nansum") && !b->given[at] && !tc_is_float(d) && !tc_is_integral(tc_torch_dtype(b->object[0])))
        tc_raise(c, "NotImplementedError", "\"nansum_cpu\" not implemented for '%s'", tc_dtypes[d].torch);
    if (!b->given[at] || b->arg[at].kind == TC_A_NONE)
        if (makes || tc_word_in(" sum nansum prod cumsum cumprod ", s->name) || (!strcmp(s->name, "mean") && !tc_is_integral(d)))
            b->arg[at] = (tc_arg){.kind = TC_A_DTYPE, .dtype = d};
}

void tc_torch_out_before(C *c, const tc_op *op, tc_binding *b) {
    size_t n = 1;
    V one = b->out, *outs = tc_is_tensor(b->out) ? &one : tc_items(b->out, &n);
    refuse_gradient(c, op, b, outs, n);
    for (size_t i = 0; i < n; i++) tc_torch_check_written(c, op, b, outs[i]);
    take_type(c, tc_op_schema(op), b, b->out);
    out_apart(c, op, b);
}

/* ---- its type and size ---- */
/* max and min do not convert to out= and need two different tensors. */
static void check_extremes(C *c, const tc_schema *s, V out, V r) {
    if (!tc_word_in(" amax amin aminmax ", s->name)) return;
    V one = out, two = r, *to = &one, *from = &two;
    size_t n = 1, m = 1;
    if (!tc_is_tensor(out)) to = tc_items(out, &n), from = tc_items(r, &m);
    if (n == 2 && to[0] == to[1]) tc_raise(c, "ValueError", "aminmax(): the `min` and `max` out= tensors must not overlap.");
    for (size_t i = 0; i < n && i < m; i++)
        if (tc_torch_dtype(to[i]) != tc_torch_dtype(from[i]))
            tc_raise(c, "RuntimeError", "%s: Expected the dtype for input and out to match, but got %s for input's dtype and %s for out's dtype.",
                     s->name, tc_dtypes[tc_torch_dtype(from[i])].torch, tc_dtypes[tc_torch_dtype(to[i])].torch);
}

static void check_type(C *c, const tc_schema *s, V out, V r, bool exact) {
    const tc_dtype want = tc_torch_dtype(r), got = tc_torch_dtype(out);
    const bool truth = !strcmp(s->name, "all") || !strcmp(s->name, "any"),
               joins = tc_word_in(" cat stack concat concatenate hstack vstack dstack column_stack row_stack _chunk_cat ", s->name);
    if (exact && got != want && !(truth && got == TC_U8))
        tc_raise(c, "RuntimeError", "%s: Expected out tensor to have dtype %s, but got %s instead", s->name, tc_dtypes[want].torch,
                 tc_dtypes[got].torch);
    if (tc_dtype_kind(want) > tc_dtype_kind(got))
        tc_raise(c, joins ? "TypeError" : "RuntimeError", "%s: result type %s can't be cast to the desired output type %s", s->name,
                 tc_dtypes[want].torch, tc_dtypes[got].torch);
    if (tc_word_in(" fft_hfft fft_irfft fft_hfft2 fft_irfft2 fft_hfftn fft_irfftn ", s->name) && !tc_is_float(got))
        tc_raise(c, "RuntimeError", "%s expects a floating point output tensor, but got %s", s->name, tc_dtypes[got].torch);
}

static void check_types(C *c, const tc_op *op, const tc_binding *b, V out, V r) {
    const tc_schema *s = tc_op_schema(op);
    size_t n, m;
    if (tc_is_tensor(out)) {
        if (!tc_is_tensor(r)) return;
        const tensor *first = b->n && b->object[0] && tc_is_tensor(b->object[0]) ? (tensor *)b->object[0] : NULL;
        const bool by_number = !strcmp(s->name, "inner") && (!tc_torch_rank(b->object[0]) || !tc_torch_rank(b->object[1]));
        const bool of_complex = !strcmp(s->name, "abs") && first && tc_is_complex(tc_torch_dtype((V)first));
        check_type(c, s, out, r, tc_op_marked(op, TC_MARK_OUT_EXACT) && !by_number && !of_complex);
        return;
    }
    V *to = tc_items(out, &n), *from = tc_is_seq(r) ? tc_items(r, &m) : (m = 1, &r);
    for (size_t i = 0; i < n && i < m; i++)
        if (tc_is_tensor(from[i])) check_type(c, s, to[i], from[i], true);
}

void tc_torch_check_size(C *c, const tc_op *op, V written, V r) {
    const int rank = tc_torch_rank(r);
    bool same = tc_torch_rank(written) == rank;
    for (int i = 0; i < rank && same; i++) same = tc_equal(c, tc_torch_size(c, written, i), tc_torch_size(c, r, i));
    str *shape = tc_intern(c, "shape", 5);
    if (!same)
        tc_raise(c, "RuntimeError", "%s: output with shape %s doesn't match the broadcast shape %s", tc_op_schema(op)->name,
                 tc_repr(c, tc_getattr(c, written, shape))->s, tc_repr(c, tc_getattr(c, r, shape))->s);
}

/* An elementwise loop that reads the tensor it writes to cannot resize it. */
static void check_read(C *c, const tc_op *op, const tc_binding *b, V out, V r) {
    bool reads = false;
    int tensors = 0;
    for (int i = 0; i < b->n; i++) reads |= b->object[i] == out, tensors += tc_op_schema(op)->params[i].type == TC_T_TENSOR;
    if (reads && tensors > 1 && op->lower && tc_is_tensor(r)) tc_torch_check_size(c, op, out, r);
}

/* Resizes t to the contiguous sizes of `like` in the memory that it has, of which other tensors may be views. False: it is too small. */
static bool resize_in_place(tc_tensor *t, const tc_tensor *like) {
    const int64_t room = (int64_t)(t->storage->bytes / tc_dtype_size(t->dtype)) - t->offset;
    if (tc_tensor_numel(like) > room) return false;
    t->rank = like->rank;
    memcpy(t->size, like->size, sizeof t->size);
    tc_contiguous_strides(t->rank, t->size, t->stride);
    return true;
}

static V into_out(C *c, V out, V r) {
    if (!tc_is_tensor(out)) {
        size_t n, m;
        V *to = tc_items(out, &n), *from = tc_is_seq(r) ? tc_items(r, &m) : (m = 1, &r);
        if (n != m) tc_raise(c, "TypeError", "out= expects %zu tensors, got %zu", m, n);
        for (size_t i = 0; i < n; i++) from[i] = into_out(c, to[i], from[i]);
        return r; /* the named tuple of the call without out= */
    }
    tensor *o = (tensor *)out, *from = (tensor *)r;
    if (!tc_is_tensor(r)) tc_raise(c, "TypeError", "out= expects a sequence of tensors, got one tensor");
    bool same = tc_torch_rank(out) == tc_torch_rank(r);
    for (int d = 0; same && d < tc_torch_rank(r); d++) same = tc_equal(c, tc_torch_size(c, out, d), tc_torch_size(c, r, d));
    if (!same && o->t.storage && !c->torch->graph && from->t.storage) same = resize_in_place(&o->t, &from->t);
    if (same) {
        tc_torch_copy_into(c, out, r);
    } else if (o->t.storage && !c->torch->graph) { /* resized, as PyTorch resizes an empty out= */
        tc_tensor t = {0};
        tc_undrawn_touch(c, &from->t);
        tc_status st = tc_tensor_cast(&from->t, o->t.dtype, &t);
        if (st) tc_raise_status(c, "RuntimeError", st);
        tc_tensor_deinit(&o->t);
        o->t = t;
    } else {
        o->v = ((tensor *)tc_torch_cast(c, r, tc_torch_dtype(out)))->v;
    }
    return out;
}

V tc_torch_out(C *c, const tc_op *op, const tc_binding *b, V r) {
    const tc_schema *s = tc_op_schema(op);
    check_extremes(c, s, b->out, r);
    check_types(c, op, b, b->out, r);
    check_read(c, op, b, b->out, r);
    return into_out(c, b->out, r);
}
