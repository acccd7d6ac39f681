/* The out= of operators: what PyTorch refuses of it, and the result on its way into it. */
#include "base/text.h"
#include "capture/torch_bind.h"

#include <string.h>

/* Operators that read and write in different orders: PyTorch refuses an out= that shares memory with what they read. */
static const char *const apart[] = {"cat",          "concat",    "concatenate", "gather", "scatter",       "scatter_add", "scatter_reduce",
                                    "index_select", "index_add", "index_copy",  "take",   "masked_select", "kthvalue",    "nonzero"};

static bool share_memory(V a, V b) {
    const tensor *x = (tensor *)a, *y = (tensor *)b;
    if (x == y) return true;
    return x->t.storage ? x->t.storage == y->t.storage && tc_tensor_numel(&x->t) && tc_tensor_numel(&y->t) : x->v == y->v;
}

void tc_torch_out_apart(C *c, const tc_schema *s, const tc_binding *b) {
    bool refuses = false;
    V outs_one = b->out, *outs = &outs_one;
    size_t nouts = 1;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) refuses |= !strcmp(apart[i], s->name);
    if (!refuses) return;
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

/* Extremes are not converted on the way into out=, and their outs are two tensors. */
static void check_extremes(C *c, const tc_schema *s, V out, V r) {
    if (strcmp(s->name, "amax") && strcmp(s->name, "amin") && strcmp(s->name, "aminmax")) return;
    V one = out, two = r, *to = &one, *from = &two;
    size_t n = 1, m = 1;
    if (!tc_is_tensor(out)) to = tc_items(out, &n), from = tc_items(r, &m);
    if (n == 2 && to[0] == to[1]) tc_raise(c, "ValueError", "aminmax(): the `min` and `max` out= tensors must not overlap.");
    for (size_t i = 0; i < n && i < m; i++)
        if (tc_torch_dtype(to[i]) != tc_torch_dtype(from[i]))
            tc_raise(c, "RuntimeError", "%s: Expected the dtype for input and out to match, but got %s for input's dtype and %s for out's dtype.",
                     s->name, tc_dtypes[tc_torch_dtype(from[i])].torch, tc_dtypes[tc_torch_dtype(to[i])].torch);
}

/* Operators whose out= has the type of the result: PyTorch converts only on the way into the others. */
static const char exact_out[] =
    " _log_softmax _softmax abs absolute addbmm addmm addmv alias_copy all any argmax argmin as_strided_copy avg_pool2d avg_pool3d "
    "baddbmm bitwise_not bmm bucketize ceil complex conj_physical cross detach_copy diag diagonal_copy diff dot expand_copy fix "
    "floor frac gather gelu hardshrink hash_tensor heaviside histc index_add index_copy index_select inner isin isneginf isposinf "
    "linalg_cholesky linalg_cross linalg_det linalg_eigvalsh linalg_inv linalg_ldl_solve linalg_lu_solve linalg_matrix_norm "
    "linalg_multi_dot linalg_norm linalg_solve linalg_solve_triangular linalg_svdvals linalg_vecdot linalg_vector_norm linear "
    "log_sigmoid log_softmax logcumsumexp lu_solve masked_select matmul mm msort multinomial mv nan_to_num nanquantile narrow_copy "
    "neg negative norm ormqr permute_copy polar quantile renorm round scatter scatter_add scatter_reduce searchsorted sgn sign "
    "signbit softmax softplus softshrink squeeze_copy t_copy take take_along_dim tensordot transpose_copy tril triu trunc "
    "unfold_copy unsqueeze_copy vdot view_copy where ";
static void check_exact(C *c, const tc_schema *s, V out, V r) {
    bool truth = !strcmp(s->name, "all") || !strcmp(s->name, "any");
    if (!tc_word_in(exact_out, s->name) || !tc_is_tensor(out) || !tc_is_tensor(r)) return;
    tc_dtype want = tc_torch_dtype(r), got = tc_torch_dtype(out);
    if (got != want && !(truth && got == TC_U8))
        tc_raise(c, "RuntimeError", "%s: Expected out tensor to have dtype %s, but got %s instead", s->name, tc_dtypes[want].torch,
                 tc_dtypes[got].torch);
}

static V into_out(C *c, V out, V r) {
    if (!tc_is_tensor(out)) {
        size_t n, m;
        V *to = tc_items(out, &n), *from = tc_is_seq(r) ? tc_items(r, &m) : (m = 1, &r);
        if (n != m) tc_raise(c, "TypeError", "out= wants %zu tensors, got %zu", m, n);
        for (size_t i = 0; i < n; i++) from[i] = into_out(c, to[i], from[i]);
        return r; /* the named tuple of the call without out= */
    }
    tensor *o = (tensor *)out, *from = (tensor *)r;
    if (!tc_is_tensor(r)) tc_raise(c, "TypeError", "out= wants a sequence of tensors, got one tensor");
    if (tc_dtype_kind(tc_torch_dtype(r)) > tc_dtype_kind(tc_torch_dtype(out)))
        tc_raise(c, "RuntimeError", "result type %s can't be cast to the desired output type %s", tc_dtypes[tc_torch_dtype(r)].torch,
                 tc_dtypes[tc_torch_dtype(out)].torch);
    bool same = tc_torch_rank(out) == tc_torch_rank(r);
    for (int d = 0; same && d < tc_torch_rank(r); d++) same = tc_equal(c, tc_torch_size(c, out, d), tc_torch_size(c, r, d));
    if (same) {
        tc_torch_copy_into(c, out, r);
    } else if (o->t.storage && !c->torch->graph) { /* resized, as out= of an empty tensor is */
        tc_tensor t = {0};
        tc_status st = tc_tensor_cast(&from->t, o->t.dtype, &t);
        if (st) tc_raise_status(c, "RuntimeError", st);
        tc_tensor_deinit(&o->t);
        o->t = t;
    } else {
        o->v = from->v;
    }
    return out;
}

V tc_torch_out(C *c, const tc_schema *s, V out, V r) {
    check_extremes(c, s, out, r);
    check_exact(c, s, out, r);
    return into_out(c, out, r);
}
