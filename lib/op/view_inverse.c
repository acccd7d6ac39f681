/* Writing through views: given the new value of a view, computes its base with that value written in. One row for each view operator. */
#include "op/emit.h"
#include "op/functionalise.h"

#include <string.h>

typedef struct {
    tc_emit *e;
    const tc_op *op;
    const tc_arg *args;
    int nargs;
    tc_value *base, *v;
} inverse;

static tc_value *reshaped(inverse *c) {
    tc_value *v = c->v;
    const tc_meta *m = &v->meta;
    bool plain = true; /* view requires contiguous strides; other tensors are copied first */
    tc_symctx *s = c->e->graph->program->sym;
    tc_sym want = tc_sym_int(s, 1);
    for (int i = m->rank; m->stride && i-- > 0; want = tc_sym_mul(s, want, m->size[i])) plain &= tc_sym_is_int(m->size[i], 1) || m->stride[i] == want;
    if (!plain) {
        tc_arg format = {.kind = TC_A_MEMFORMAT, .code = 1};
        v = tc_emit_call(c->e, "aten::clone", "va", v, &format);
    }
    return tc_emit_call(c->e, "aten::view", "vS", v, c->base->meta.size, c->base->meta.rank);
}

static tc_value *same(inverse *c) { return c->v; }
static tc_value *select_(inverse *c) { return tc_emit_call(c->e, "aten::select_scatter", "vvaa", c->base, c->v, &c->args[1], &c->args[2]); }

static tc_value *slice(inverse *c) {
    tc_arg none = {.kind = TC_A_NONE}, one = {.kind = TC_A_INT, .sym = tc_sym_int(c->e->graph->program->sym, 1)};
    return tc_emit_call(c->e, "aten::slice_scatter", "vvaaaa", c->base, c->v, &c->args[1], c->nargs > 2 ? &c->args[2] : &none,
                        c->nargs > 3 ? &c->args[3] : &none, c->nargs > 4 ? &c->args[4] : &one);
}

static tc_value *diagonal(inverse *c) {
    return tc_emit_call(c->e, "aten::diagonal_scatter", "vvaaa", c->base, c->v, &c->args[1], &c->args[2], &c->args[3]);
}

tc_value *tc_e_strided_put(tc_emit *e, tc_value *x, tc_value *src, const tc_arg *where) {
    if (!x || !src) return NULL;
    tc_arg end = {.kind = TC_A_INT, .sym = tc_meta_numel(e->graph->program->sym, &x->meta)};
    tc_value *pos = tc_emit_call(e, "aten::as_strided", "vaaa", tc_emit_call(e, "aten::arange", "a", &end), &where[0], &where[1], &where[2]);
    tc_value *flat = tc_emit_call(e, "aten::reshape", "vI", x, (int64_t[]){-1}, 1);
    pos = tc_emit_call(e, "aten::reshape", "vI", pos, (int64_t[]){-1}, 1);
    tc_value *r = tc_emit_call(e, "aten::index_put", "vVv", flat, &pos, 1, tc_emit_call(e, "aten::reshape", "vI", src, (int64_t[]){-1}, 1));
    return tc_emit_call(e, "aten::view", "vS", r, x->meta.size, x->meta.rank);
}

static tc_value *strided(inverse *c) { return tc_e_strided_put(c->e, c->base, c->v, &c->args[1]); }

static tc_value *transposed(inverse *c) { return tc_emit_call(c->e, "aten::transpose.int", "vaa", c->v, &c->args[1], &c->args[2]); }

static tc_value *permuted(inverse *c) {
    int64_t back[TC_MAX_RANK] = {0}, d;
    int r = c->args[1].n;
    for (int i = 0; i < r; i++) {
        if (!tc_sym_const_int(c->args[1].syms[i], &d)) TC_BUG("permute by a symbol");
        back[d < 0 ? d + r : d] = i;
    }
    return tc_emit_call(c->e, "aten::permute", "vI", c->v, back, r);
}

static bool filled(const tc_value *v) { /* one number everywhere */
    const tc_schema *s = v->producer ? tc_op_schema(v->producer->op) : NULL;
    return s && !strcmp(s->ns, "aten") && (!strcmp(s->name, "fill") || !strcmp(s->name, "zero"));
}

static tc_value *expanded(inverse *c) { /* only if nothing was expanded, or all copies are equal */
    tc_value *v = c->v;
    const bool any = filled(v);
    const tc_meta *all = &c->v->meta, *m = &c->base->meta;
    for (int i = 0, lead = all->rank - m->rank; v && i < all->rank; i++) {
        tc_sym want = i < lead ? tc_sym_int(c->e->graph->program->sym, 1) : m->size[i - lead];
        tc_symctx *s = c->e->graph->program->sym;
        int64_t n;
        if (tc_sym_known(s, tc_sym_op(s, TC_S_EQ, all->size[i], want, NULL)) == 1) continue;
        if (tc_sym_const_int(all->size[i], &n) && n == 0) return c->base;
        if (!any) {
            tc_emit_fail(c->e, tc_error(TC_CONTENT,
                                        "unsupported operation: more than one element of the written-to tensor refers to a single memory location"));
            return NULL;
        }
        v = tc_emit_call(c->e, "aten::slice.Tensor", "viii", v, (int64_t)i, (int64_t)0, (int64_t)1);
    }
    if (!v || all->rank == m->rank) return v;
    c->v = v;
    return reshaped(c);
}

/* Pieces start `step` apart and have at most step elements, or all are equal: [..., n, ..., size] goes to [..., n * size, ...] */
static tc_value *unfolded(inverse *c) {
    const int rank = c->base->meta.rank;
    int64_t d, size, step;
    if (!rank) return reshaped(c);
    if (!tc_sym_const_int(c->args[1].sym, &d) || !tc_sym_const_int(c->args[2].sym, &size) || !tc_sym_const_int(c->args[3].sym, &step) ||
        (size > step && !filled(c->v))) {
        tc_emit_fail(c->e, tc_error(TC_UNSUPPORTED, "writing to the pieces of unfold is not supported where they have elements in common"));
        return NULL;
    }
    if (d < 0) d += rank;
    tc_value *v = tc_emit_call(c->e, "aten::movedim.int", "vii", c->v, (int64_t)-1, d + 1), *at;
    v = tc_emit_call(c->e, "aten::flatten.using_ints", "vii", v, d, d + 1);
    at = tc_emit_call(c->e, "aten::arange", "a", &(tc_arg){.kind = TC_A_INT, .sym = c->base->meta.size[d]});
    at = tc_emit_call(c->e, "aten::unfold", "viaa", at, (int64_t)0, &c->args[2], &c->args[3]);
    at = tc_emit_call(c->e, "aten::reshape", "vI", at, (int64_t[]){-1}, 1);
    return tc_emit_call(c->e, "aten::index_copy", "vivv", c->base, d, at, v);
}

static tc_value *retyped(inverse *c) { return tc_emit_call(c->e, "aten::view.dtype", "vd", c->v, (int)c->base->meta.dtype); }
static tc_value *to_complex(inverse *c) { return tc_emit_call(c->e, "aten::view_as_complex", "v", c->v); }
static tc_value *to_real(inverse *c) { return tc_emit_call(c->e, "aten::view_as_real", "v", c->v); }
static tc_value *real_part(inverse *c) { /* for real numbers: unchanged */
    if (!tc_is_complex(c->base->meta.dtype)) return c->v;
    return tc_emit_call(c->e, "aten::complex", "vv", c->v, tc_emit_call(c->e, "aten::imag", "v", c->base));
}
static tc_value *imag_part(inverse *c) { return tc_emit_call(c->e, "aten::complex", "vv", tc_emit_call(c->e, "aten::real", "v", c->base), c->v); }
static tc_value *conjugated(inverse *c) { return tc_emit_call(c->e, "aten::conj_physical", "v", c->v); }
static tc_value *negated(inverse *c) { return tc_e_neg(c->e, c->v); }

typedef struct {
    const char *name;
    tc_value *(*fn)(inverse *c);
} row;
static const row rows[] = {
    {"view", reshaped},
    {"_unsafe_view", reshaped},
    {"unsqueeze", reshaped},
    {"squeeze", reshaped},
    {"alias", same},
    {"detach", same},
    {"contiguous", same},
    {"to", same},
    {"type_as", same},
    {"lift_fresh", same},
    {"positive", same},
    {"resolve_conj", same},
    {"resolve_neg", same},
    {"select", select_},
    {"slice", slice},
    {"diagonal", diagonal},
    {"as_strided", strided},
    {"transpose", transposed},
    {"permute", permuted},
    {"unfold", unfolded},
    {"expand", expanded},
    {"view_as_real", to_complex},
    {"view_as_complex", to_real},
    {"real", real_part},
    {"imag", imag_part},
    {"conj", conjugated},
    {"_conj", conjugated},
    {"_neg_view", negated},
};

static const row *row_of(const tc_op *op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, tc_op_schema(op)->name)) return &rows[i];
    return NULL;
}
bool tc_view_invertible(const tc_op *op) { return row_of(op) != NULL; }

tc_status tc_view_inverse(tc_emit *e, const tc_op *op, const tc_arg *args, int nargs, tc_value *base, tc_value *written, tc_value **out_base) {
    const tc_schema *s = tc_op_schema(op);
    inverse c = {e, op, args, nargs, base, written};
    *out_base = !strcmp(s->name, "view") && !strcmp(s->overload, "dtype") ? retyped(&c) : row_of(op)->fn(&c);
    tc_status st = e->status;
    e->status = NULL;
    return st;
}
