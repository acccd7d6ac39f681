/* Fractional max pooling: windows of a fixed size that begin at places drawn at random, a sample u a plane and dimension.
 *
 *     window i begins at trunc((i + u) a) - trunc(u a), a = (in - kernel) / (out - 1); the last one ends with the image
 *
 * Results: the largest element of each window and where in the plane it stands. */
#include "op/shape.h"

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

static tc_value *scalar_of(tc_emit *e, tc_sym s, tc_dtype d) {
    tc_arg a = {.kind = TC_A_SCALAR, .is_sym = true, .sym = s};
    return ATEN("full", "Iad", NULL, 0, &a, (int)d);
}
/* [N, C, out]: where the windows along one dimension begin. u: [N, C], in the type of the input, in which each step is rounded as in PyTorch. */
static tc_value *starts(tc_emit *e, tc_value *u, tc_sym in, int64_t kernel, tc_sym out) {
    tc_symctx *s = tc_e_sym(e);
    if (!u) return NULL;
    tc_dtype d = u->meta.dtype;
    tc_sym room = tc_sym_sub(s, in, tc_sym_int(s, kernel)), last = tc_sym_sub(s, out, tc_sym_int(s, 1));
    tc_value *i = ATEN("arange", "sd", out, (int)TC_I64);
    tc_arg top = {.kind = TC_A_SCALAR, .is_sym = true, .sym = last}, end = {.kind = TC_A_SCALAR, .is_sym = true, .sym = room};
    u = ATEN("unsqueeze", "vi", u, (int64_t)-1);
    tc_value *a = tc_e_div(e, scalar_of(e, room, d), scalar_of(e, tc_sym_max(s, last, tc_sym_int(s, 1)), d));
    tc_value *at = tc_e_cast(e, tc_e_mul(e, tc_e_add(e, tc_e_cast(e, i, d), u), a), TC_I64), *zero = tc_e_cast(e, tc_e_mul(e, u, a), TC_I64);
    return ATEN("where.ScalarSelf", "vav", ATEN("ge.Scalar", "va", i, &top), &end, tc_e_sub(e, at, zero));
}
static tc_status check(const tc_node *n, int nd) {
    const tc_meta *x = tc_arg_meta(n, 0), *u = tc_arg_meta(n, 3);
    tc_symctx *s = n->graph->program->sym;
    int64_t kernel[3], v, out;
    if (x->rank != nd + 1 && x->rank != nd + 2) return tc_e_refuse(n, "Expected %dD or %dD tensor, but got %d dimensions", nd + 1, nd + 2, x->rank);
    for (int k = 1; k <= nd + 1; k++)
        if (tc_sym_is_int(x->size[x->rank - k], 0)) return tc_e_refuse(n, "Expected input to have non-zero size for non-batch dimensions");
    if (!tc_is_float(x->dtype))
        return tc_e_refuse(n, "NotImplementedError: \"fractional_max_pool%dd_out_frame\" not implemented for '%s'", nd, tc_dtypes[x->dtype].torch);
    if (u->dtype != x->dtype) return tc_e_refuse(n, "Expect _random_samples to have the same dtype as input");
    if (u->rank != 3) return tc_e_refuse(n, "Expect _random_samples to have 3 dimensions, got %d", u->rank);
    if (tc_sym_differ(s, u->size[2], tc_sym_int(s, nd))) return tc_e_refuse(n, "Expect _random_samples.size(2) equals to %d", nd);
    if (tc_sym_differ(s, u->size[1], x->size[x->rank - nd - 1]))
        return tc_e_refuse(n, "Expect _random_samples.size(1) equals to input channel size.");
    if (x->rank == nd + 2 && tc_sym_known(s, tc_sym_op(s, TC_S_LE, x->size[0], u->size[0], NULL)) == 0)
        return tc_e_refuse(n, "Expect _random_samples.size(0) no less then input batch size.");
    tc_arg_ints(n, 1, kernel, 3);
    for (int k = 0; k < nd; k++) {
        bool known = tc_sym_const_int(n->args[2].syms[k], &out) && tc_sym_const_int(x->size[x->rank - nd + k], &v);
        if (kernel[k] <= 0 || (known && out <= 0)) return tc_e_refuse(n, "kernel_size and output_size must be greater than zero");
        if (known && out + kernel[k] - (nd == 2) > v) /* as PyTorch asks: of three dimensions one more */
            return tc_e_refuse(n, "pool size %lld too large relative to input size %lld", (long long)kernel[k], (long long)v);
    }
    return NULL;
}
static tc_status decompose_fractional(tc_emit *e, const tc_node *n) { /* self, kernel_size, output_size, random_samples */
    int nd = tc_op_schema(n->op)->name[19] - '0';
    TC_TRY(check(n, nd));
    tc_value *x = tc_arg_value(n, 0), *u = tc_arg_value(n, 3), *at = NULL;
    tc_symctx *s = tc_e_sym(e);
    int64_t kernel[3];
    const tc_sym *out = n->args[2].syms;
    bool batched = x->meta.rank == nd + 2;
    tc_arg_ints(n, 1, kernel, 3);
    if (!batched) x = ATEN("unsqueeze", "vi", x, (int64_t)0);
    if (e->status) return tc_e_done(e);
    tc_sym batch = x->meta.size[0], channels = x->meta.size[1], plane = tc_sym_int(s, 1), cells = tc_sym_int(s, 1);
    u = ATEN("slice.Tensor", "viis", u, (int64_t)0, (int64_t)0, batch);
    int64_t elements = 1;
    for (int k = 0; k < nd; k++) { /* [N, C, 1.., out, 1.., kernel, 1..]: coordinate k of the elements of all windows */
        tc_value *from = starts(e, ATEN("select.int", "vii", u, (int64_t)2, (int64_t)(nd == 2 ? 1 - k : k)), x->meta.size[2 + k], kernel[k], out[k]);
        tc_sym a[8] = {batch, channels};
        int64_t b[8];
        for (int j = 2; j < 2 + 2 * nd; j++) a[j] = j == 2 + k ? out[k] : tc_sym_int(s, 1);
        for (int j = 0; j < 2 + 2 * nd; j++) b[j] = j == 2 + nd + k ? -1 : 1;
        tc_value *c =
            tc_e_add(e, ATEN("view", "vS", from, a, 2 + 2 * nd), ATEN("view", "vI", ATEN("arange", "id", kernel[k], (int)TC_I64), b, 2 + 2 * nd));
        tc_arg by = {.kind = TC_A_SCALAR, .is_sym = true, .sym = x->meta.size[2 + k]};
        at = at ? tc_e_add(e, ATEN("mul.Scalar", "va", at, &by), c) : c;
        plane = tc_sym_mul(s, plane, x->meta.size[2 + k]), cells = tc_sym_mul(s, cells, out[k]);
        elements *= kernel[k];
    }
    tc_sym line[3] = {batch, channels, plane}, all[3] = {batch, channels, tc_sym_mul(s, cells, tc_sym_int(s, elements))};
    tc_sym windows[4] = {batch, channels, cells, tc_sym_int(s, elements)}, size[5] = {batch, channels};
    for (int k = 0; k < nd; k++) size[2 + k] = out[k];
    at = ATEN("reshape", "vS", at, all, 3);
    tc_value *v = ATEN("gather", "viv", ATEN("reshape", "vS", x, line, 3), (int64_t)2, at);
    tc_value *most = ATEN("max.dim", "vi", ATEN("view", "vS", v, windows, 4), (int64_t)3), *which = tc_emit_out(most, 1);
    tc_value *where = ATEN("gather", "viv", ATEN("view", "vS", at, windows, 4), (int64_t)3, ATEN("unsqueeze", "vi", which, (int64_t)3));
    tc_emit_result(e, 0, ATEN("view", "vS", most, size + !batched, nd + 1 + batched));
    tc_emit_result(e, 1, ATEN("view", "vS", where, size + !batched, nd + 1 + batched));
    return tc_e_done(e);
}

#define RULE(SCHEMA, sample)                                                                                                                  \
    {                                                                                                                                         \
        .schema = "aten::" SCHEMA " -> (Tensor, Tensor)", .shape = tc_shape_decomposed, .decompose = decompose_fractional, .samples = sample, \
        .doc = "largest elements of windows at random places, and where they stand"                                                           \
    }
const tc_op tc_ops_fractional_pool[] = {RULE("fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples)",
                                             "fractional_max_pool2d(f32[2,3,9,8], [2,3], [4,3], f32[2,3,2]:0..1)"),
                                        RULE("fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples)",
                                             "fractional_max_pool3d(f32[2,3,6,5,4], [2,2,1], [3,2,3], f32[2,3,3]:0..1)"),
                                        {0}};
