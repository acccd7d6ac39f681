/* Strides of results (shape.h): memory formats, columns, the order in which an operator of several operands iterates. */
#include "op/shape.h"

tc_sym *tc_sh_channels_last_strides(const tc_shape_ctx *c, const tc_dims *d) {
    tc_symctx *s = c->program->sym;
    tc_sym *stride = TC_NEWN(&c->program->arena, tc_sym, (size_t)d->rank), step = d->size[1];
    stride[1] = tc_sym_int(s, 1);
    for (int k = d->rank - 1; k >= 2; k--) {
        stride[k] = step;
        step = tc_sym_mul(s, step, d->size[k]);
    }
    stride[0] = step;
    return stride;
}

/* c10's is_channels_last_strides. If sizes of 1 leave it open, the format is contiguous. */
bool tc_sh_is_channels_last(const tc_shape_ctx *c, const tc_meta *m) {
    if (!m->stride || (m->rank != 4 && m->rank != 5) || tc_sym_is_int(m->stride[1], 0)) return false;
    tc_symctx *s = c->program->sym;
    tc_sym least = tc_sym_int(s, 0);
    for (int i = 0; i < m->rank; i++) {
        int k = i == 0 ? 1 : i == m->rank - 1 ? 0 : m->rank - i;
        if (tc_sym_is_int(m->size[k], 0) || tc_sym_known(s, tc_sym_op(s, TC_S_LE, least, m->stride[k], NULL)) != 1) return false;
        if (k == 0 && least == m->stride[1]) return false;
        least = tc_sh_is_one(c, m->size[k]) ? m->stride[k] : tc_sym_mul(s, m->stride[k], m->size[k]);
    }
    return true;
}

tc_status tc_sh_out_format(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d, const tc_meta *m) {
    return tc_sh_out_strided(c, i, dtype, d, d->rank == m->rank && tc_sh_is_channels_last(c, m) ? tc_sh_channels_last_strides(c, d) : NULL);
}

tc_status tc_sh_out_columns(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d) {
    tc_dims t = *d;
    const int r = d->rank;
    t.size[r - 1] = d->size[r - 2], t.size[r - 2] = d->size[r - 1];
    tc_sym *stride = tc_contiguous_sym_strides(c->program->sym, &c->program->arena, r, t.size), rows = stride[r - 2];
    stride[r - 2] = stride[r - 1], stride[r - 1] = rows;
    return tc_sh_out_strided(c, i, dtype, d, stride);
}

const tc_sym *tc_sh_strides(const tc_shape_ctx *c, const tc_meta *m) {
    return m->stride ? m->stride : tc_contiguous_sym_strides(c->program->sym, &c->program->arena, m->rank, m->size);
}

int tc_sh_is_contiguous(const tc_shape_ctx *c, const tc_meta *m) {
    if (!m->stride) return 1;
    tc_symctx *s = c->program->sym;
    tc_sym expect = tc_sym_int(s, 1);
    int all = 1;
    for (int k = m->rank - 1; k >= 0; k--) {
        if (tc_sym_is_int(m->size[k], 0)) return 1;
        if (!tc_sh_is_one(c, m->size[k])) {
            int same = m->stride[k] == expect ? 1 : tc_sym_known(s, tc_sym_op(s, TC_S_EQ, m->stride[k], expect, NULL));
            if (same == 0 && tc_sym_known(s, tc_sym_op(s, TC_S_EQ, m->size[k], tc_sym_int(s, 1), NULL)) != -1) return 0;
            if (same != 1) all = -1;
        }
        expect = tc_sym_mul(s, expect, m->size[k]);
    }
    return all;
}

tc_status tc_sh_need_rows(tc_program *p, const tc_op *op, const tc_meta *m) {
    if (tc_sh_is_contiguous(&(tc_shape_ctx){.program = p}, m)) return NULL;
    return tc_error(TC_UNSUPPORTED, "%s of a tensor that does not lie row by row in memory is not supported", tc_op_name(op));
}

int tc_sh_format(tc_program *p, const tc_meta *m) {
    const tc_shape_ctx c = {.program = p};
    return !tc_sh_is_channels_last(&c, m) ? 1 : m->rank == 4 ? 2 : 3;
}

bool tc_sh_kept_in(tc_program *p, const tc_meta *m, int format) {
    const tc_shape_ctx c = {.program = p};
    if (format == 1) return tc_sh_is_contiguous(&c, m) == 1;
    if (m->rank != (format == 2 ? 4 : 5)) return false;
    const tc_dims d = tc_dims_of(m);
    const tc_sym *want = tc_sh_channels_last_strides(&c, &d), *have = tc_sh_strides(&c, m);
    bool same = true;
    for (int k = 0; k < m->rank; k++) same &= want[k] == have[k] || tc_sh_is_one(&c, m->size[k]);
    return same;
}

/* -1: dimension a is faster (smaller stride) than b, 1: slower, 0: undecided. TensorIterator's should_swap. */
static int order(tc_symctx *s, const tc_dims *d, const tc_meta *const *m, int n, int a, int b) {
    for (int k = 0; k < n; k++) {
        int ia = a - (d->rank - m[k]->rank), ib = b - (d->rank - m[k]->rank);
        if (ia < 0 || ib < 0 || !m[k]->stride) {
            if (ia < 0 || ib < 0) continue;
        }
        const tc_sym one = tc_sym_int(s, 1);
        bool ba = m[k]->size[ia] == one && d->size[a] != one, bb = m[k]->size[ib] == one && d->size[b] != one;
        if (ba || bb) continue;
        if (!m[k]->stride) return a > b ? -1 : 1;
        tc_sym sa = m[k]->stride[ia], sb = m[k]->stride[ib];
        if (tc_sym_is_int(sa, 0) || tc_sym_is_int(sb, 0)) continue;
        if (tc_sym_known(s, tc_sym_op(s, TC_S_LT, sa, sb, NULL)) == 1) return -1;
        if (tc_sym_known(s, tc_sym_op(s, TC_S_LT, sb, sa, NULL)) == 1) return 1;
        if (sa == sb && tc_sym_known(s, tc_sym_op(s, TC_S_LT, d->size[b], d->size[a], NULL)) == 1) return 1;
    }
    return 0;
}

const tc_sym *tc_sh_iterated(tc_shape_ctx *c, const tc_dims *d, const tc_meta *const *m, int n) {
    bool plain = true;
    for (int k = 0; k < n; k++) plain &= !m[k]->stride;
    if (plain || d->rank < 2) return NULL;
    tc_symctx *s = c->program->sym;
    int perm[TC_MAX_RANK];
    for (int k = 0; k < d->rank; k++) perm[k] = d->rank - 1 - k;
    for (int i = 1; i < d->rank; i++) {
        for (int at = i, k = i - 1; k >= 0; k--) {
            int o = order(s, d, m, n, perm[k], perm[at]);
            if (o < 0) break;
            if (o == 0) continue;
            int t = perm[k];
            perm[k] = perm[at];
            perm[at] = t;
            at = k;
        }
    }
    tc_sym *stride = TC_NEWN(&c->program->arena, tc_sym, (size_t)d->rank);
    tc_sym step = tc_sym_int(s, 1);
    bool contiguous = true;
    for (int k = 0; k < d->rank; k++) {
        stride[perm[k]] = step;
        step = tc_sym_mul(s, step, tc_sym_max(s, d->size[perm[k]], tc_sym_int(s, 1)));
        contiguous &= perm[k] == d->rank - 1 - k;
    }
    return contiguous ? NULL : stride;
}

bool tc_sh_lies_as(tc_program *p, const tc_meta *v, const tc_meta *m) {
    if (!v->stride && !m->stride) return true;
    tc_shape_ctx c = {.program = p};
    const tc_dims dims = tc_dims_of(m);
    const tc_sym *ordered = tc_sh_iterated(&c, &dims, &m, 1), *have = tc_sh_strides(&c, v), *whole = tc_sh_strides(&c, m);
    if (!ordered) ordered = tc_contiguous_sym_strides(p->sym, &p->arena, m->rank, m->size);
    bool as_it = true, without_gaps = true;
    for (int d = 0; d < m->rank; d++) {
        if (tc_sh_is_one(&c, m->size[d])) continue;
        as_it &= have[d] == whole[d];
        without_gaps &= have[d] == ordered[d];
    }
    return as_it || without_gaps;
}

tc_status tc_sh_out_like(tc_shape_ctx *c, int i, const tc_meta *m, tc_dtype dtype) {
    tc_dims d = tc_dims_of(m);
    return tc_sh_out_strided(c, i, dtype, &d, tc_sh_iterated(c, &d, &m, 1));
}

tc_status tc_sh_out_by_format(tc_shape_ctx *c, int format, tc_dtype dtype) {
    const tc_meta *m = tc_sh_meta(c, 0);
    tc_dims dims = tc_dims_of(m);
    if (format == 1) return tc_sh_out(c, 0, dtype, &dims);
    if (format == 2 || format == 3) {
        int rank = format == 2 ? 4 : 5;
        if (m->rank != rank) return tc_sh_fail(c, "required rank %d tensor to use channels_last%s format", rank, rank == 5 ? "_3d" : "");
        return tc_sh_out_strided(c, 0, dtype, &dims, tc_sh_channels_last_strides(c, &dims));
    }
    return tc_sh_out_like(c, 0, m, dtype);
}

tc_status tc_sh_out_pointwise(tc_shape_ctx *c, int i, tc_dtype dtype, int n, const int *args) {
    const tc_meta *m[16];
    tc_dims d;
    int k = 0;
    TC_TRY(tc_sh_broadcast(c, n, args, &d));
    for (int a = 0; a < n && k < 16; a++)
        if (tc_sh_meta(c, args[a])) m[k++] = tc_sh_meta(c, args[a]);
    return tc_sh_out_strided(c, i, dtype, &d, tc_sh_iterated(c, &d, m, k));
}
