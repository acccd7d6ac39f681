/* The functions that lowering rules are written with (op/lower.h): each appends instructions to the loop of one node. */
#include "op/lower.h"
#include "op/op.h"

static tc_lv fail(tc_lower *l, tc_status s) {
    if (l->status) tc_status_free(s);
    else l->status = s;
    return TC_LV_NONE;
}
static tc_lv push(tc_lower *l, tc_linst in) { return l->status ? TC_LV_NONE : tc_loop_push(l->loop, in); }
static tc_linst blank(tc_lkind kind, tc_dtype d) {
    return (tc_linst){.kind = kind, .dtype = d, .a = {TC_LV_NONE, TC_LV_NONE, TC_LV_NONE}, .buffer = -1, .pred = TC_LV_NONE};
}
static const tc_linst *at(const tc_lower *l, tc_lv v) { return &l->loop->inst.data[v]; }
static bool is_narrow(tc_dtype d) { return tc_dtype_compute(d) != d; }

tc_dtype tc_l_type(const tc_lower *l, int result) { return tc_dtype_compute(l->node->outs[result]->meta.dtype); }

tc_affine tc_l_affine(tc_lower *l, tc_sym base, int axis, tc_sym coef) {
    tc_affine a = {.base = base ? base : tc_sym_int(l->loop->sym, 0)};
    if (axis >= 0 && !tc_sym_is_int(coef, 0)) {
        a.n = 1;
        a.term[0].axis = axis;
        a.term[0].coef = coef;
    }
    return a;
}
tc_affine tc_l_axis(tc_lower *l, int axis) { return tc_l_affine(l, NULL, axis, tc_sym_int(l->loop->sym, 1)); }

int tc_l_new_axis(tc_lower *l, tc_sym extent) {
    int a = tc_loop_axis(l->loop, extent);
    if (a < 0) fail(l, tc_error(TC_UNSUPPORTED, "%s: more than 64 axes in one loop", tc_op_name(l->node->op)));
    return a < 0 ? 0 : a;
}

tc_lv tc_l_load(tc_lower *l, tc_value *v, const tc_affine *index, const tc_lv *gather, tc_lv pred) {
    if (l->status) return TC_LV_NONE;
    tc_linst in = blank(TC_L_LOAD, tc_dtype_compute(v->meta.dtype));
    in.buffer = tc_loop_buffer(l->loop, v);
    in.rank = v->meta.rank;
    in.index = tc_arena_dup(l->loop->arena, index, sizeof *index * (size_t)in.rank);
    for (int d = 0; gather && d < in.rank; d++)
        if (gather[d] != TC_LV_NONE) in.checked = true;
    if (in.checked) in.gather = tc_arena_dup(l->loop->arena, gather, sizeof *gather * (size_t)in.rank);
    in.pred = pred;
    return push(l, in);
}

/* The tensor at the axes of result 0, aligned at the last dimension; dimensions of size 1 are not indexed. */
static tc_lv load_broadcast(tc_lower *l, tc_value *v) {
    tc_affine index[TC_MAX_RANK];
    int rank = v->meta.rank, shift = l->result_axes - rank;
    if (shift < 0) return fail(l, tc_error(TC_CONTENT, "%s: an argument has rank %d, the result %d", tc_op_name(l->node->op), rank, l->result_axes));
    tc_symctx *sym = l->loop->sym;
    for (int d = 0; d < rank;
         d++) { /* a guard may have fixed the size to 1, or have left it no other value: asked only where it is not the axis's own */
        const tc_sym size = tc_sym_simplify(sym, v->meta.size[d]);
        const bool own = size == l->loop->axes[d + shift].extent;
        const bool one = tc_sym_is_int(size, 1) || (!own && tc_sym_known(sym, tc_sym_op(sym, TC_S_EQ, size, tc_sym_int(sym, 1), NULL)) == 1);
        index[d] = one ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, d + shift);
    }
    return tc_l_load(l, v, index, NULL, TC_LV_NONE);
}

static tc_dtype number_type(tc_sym s) { return tc_sym_type(s) == TC_SYM_FLOAT ? TC_F64 : tc_sym_type(s) == TC_SYM_BOOL ? TC_BOOL : TC_I64; }

tc_lv tc_l_in_as(tc_lower *l, int arg, tc_dtype dtype) {
    if (l->status) return TC_LV_NONE;
    const tc_arg *a = &l->node->args[arg];
    tc_sym number = NULL;
    switch (a->kind) {
    case TC_A_VALUE:
        if (a->value->kind == TC_V_TENSOR) {
            tc_lv v = load_broadcast(l, a->value);
            return dtype == TC_DTYPE_NONE ? v : tc_l_cast(l, v, dtype);
        }
        number = a->value->sym;
        break;
    case TC_A_INT: number = a->sym; break;
    case TC_A_SCALAR:
        if (a->is_sym) {
            number = a->sym;
            break;
        }
        if (dtype == TC_DTYPE_NONE)
            dtype =
                (tc_dtype[]){[TC_KIND_BOOL] = TC_BOOL, [TC_KIND_INT] = TC_I64, [TC_KIND_FLOAT] = TC_F64, [TC_KIND_COMPLEX] = TC_C128}[a->scalar.kind];
        return tc_l_const(l, dtype, a->scalar);
    default: return fail(l, tc_error(TC_CONTENT, "%s: argument %d is not a tensor or a number", tc_op_name(l->node->op), arg));
    }
    return tc_l_host(l, dtype == TC_DTYPE_NONE ? number_type(number) : dtype, number);
}

tc_lv tc_l_in(tc_lower *l, int arg) { return tc_l_in_as(l, arg, tc_l_type(l, 0)); }

tc_lv tc_l_index(tc_lower *l, tc_affine a) {
    tc_linst in = blank(TC_L_INDEX, TC_I64);
    in.rank = 1;
    in.index = tc_arena_dup(l->loop->arena, &a, sizeof a);
    return push(l, in);
}

/* Rounds the constant to the type, so that equal constants are equal instructions. */
static tc_scalar through(tc_dtype d, tc_scalar v) {
    char cell[16] = {0};
    tc_scalar_store(d, cell, 0, v);
    return tc_scalar_load(d, cell, 0);
}

tc_lv tc_l_const(tc_lower *l, tc_dtype d, tc_scalar v) {
    tc_linst in = blank(TC_L_CONST, tc_dtype_compute(d));
    in.imm = through(in.dtype, v);
    return push(l, in);
}
tc_lv tc_l_f(tc_lower *l, tc_dtype d, double v) { return tc_l_const(l, d, tc_scalar_float(v)); }

tc_lv tc_l_host(tc_lower *l, tc_dtype d, tc_sym number) {
    int64_t i;
    double f;
    bool b;
    if (tc_sym_type(number) == TC_SYM_INT && tc_sym_const_int(number, &i)) return tc_l_const(l, d, tc_scalar_int(i));
    if (tc_sym_type(number) == TC_SYM_FLOAT && tc_sym_const_float(number, &f)) return tc_l_const(l, d, tc_scalar_float(f));
    if (tc_sym_type(number) == TC_SYM_BOOL && tc_sym_const_bool(number, &b)) return tc_l_const(l, d, tc_scalar_bool(b));
    tc_linst in = blank(TC_L_HOST, tc_dtype_compute(d));
    in.host = number;
    return push(l, in);
}

tc_lv tc_l_cast(tc_lower *l, tc_lv v, tc_dtype d) {
    if (l->status) return TC_LV_NONE;
    if (v == TC_LV_NONE) return fail(l, tc_error(TC_CONTENT, "%s: no value to convert", tc_op_name(l->node->op)));
    d = tc_dtype_compute(d);
    if (at(l, v)->dtype == d) return v;
    if (at(l, v)->kind == TC_L_CONST) return tc_l_const(l, d, at(l, v)->imm);
    tc_linst in = blank(TC_L_CAST, d);
    in.a[0] = v;
    return push(l, in);
}

static tc_lv scalar_op(tc_lower *l, tc_scalar_op op, int n, tc_lv a, tc_lv b, tc_lv c) {
    if (l->status) return TC_LV_NONE;
    const tc_scalar_info *info = &tc_scalar_ops[op];
    tc_lv v[3] = {a, b, c};
    bool choice = op == TC_X_WHERE;
    if (info->arity != n) TC_BUG("%s takes %d operands", info->name, info->arity);
    for (int i = 0; i < n; i++)
        if (v[i] == TC_LV_NONE) return fail(l, tc_error(TC_CONTENT, "%s: an operand of %s is absent", tc_op_name(l->node->op), info->name));
    tc_dtype d = at(l, v[choice])->dtype;
    for (int i = choice; i < n; i++)
        if (at(l, v[i])->dtype != d)
            return fail(l, tc_error(TC_CONTENT, "%s: operands of %s are %s and %s", tc_op_name(l->node->op), info->name, tc_dtypes[d].name,
                                    tc_dtypes[at(l, v[i])->dtype].name));
    tc_linst in = blank(TC_L_SCALAR, tc_scalar_result(op, d));
    in.op = (uint8_t)op;
    memcpy(in.a, v, sizeof v);
    return push(l, in);
}
tc_lv tc_l_op1(tc_lower *l, tc_scalar_op op, tc_lv a) { return scalar_op(l, op, 1, a, TC_LV_NONE, TC_LV_NONE); }
tc_lv tc_l_op2(tc_lower *l, tc_scalar_op op, tc_lv a, tc_lv b) { return scalar_op(l, op, 2, a, b, TC_LV_NONE); }
tc_lv tc_l_op3(tc_lower *l, tc_scalar_op op, tc_lv a, tc_lv b, tc_lv c) { return scalar_op(l, op, 3, a, b, c); }

/* A complex sum or running sum is computed for real and imaginary parts separately. */
static bool by_parts(const tc_lower *l, tc_reduce_op op, tc_lv v) { return op == TC_R_SUM && tc_is_complex(at(l, v)->dtype); }

tc_lv tc_l_reduce(tc_lower *l, tc_reduce_op op, tc_lv v, uint64_t over) {
    if (l->status || v == TC_LV_NONE) return TC_LV_NONE;
    if (by_parts(l, op, v)) {
        tc_lv re = tc_l_reduce(l, op, tc_l_op1(l, TC_X_REAL, v), over), im = tc_l_reduce(l, op, tc_l_op1(l, TC_X_IMAG, v), over);
        return tc_l_op2(l, TC_X_COMPLEX, re, im);
    }
    tc_dtype d = op == TC_R_ARGMAX || op == TC_R_ARGMIN ? TC_I64
                 : op == TC_R_ANY || op == TC_R_ALL     ? TC_BOOL
                 : op == TC_R_WELFORD                   ? TC_F64
                                                        : at(l, v)->dtype;
    if (!over) { /* nothing is reduced: a copy */
        if (op == TC_R_ARGMAX || op == TC_R_ARGMIN) return tc_l_const(l, TC_I64, tc_scalar_int(0));
        if (op != TC_R_WELFORD) return tc_l_cast(l, v, d);
    }
    tc_linst in = blank(TC_L_REDUCE, d);
    in.op = (uint8_t)op;
    in.a[0] = v;
    in.over = over;
    return push(l, in);
}

tc_lv tc_l_part(tc_lower *l, tc_lv tuple, int part) {
    if (l->status || tuple == TC_LV_NONE) return TC_LV_NONE;
    tc_linst in = blank(TC_L_PART, at(l, tuple)->dtype);
    in.a[0] = tuple;
    in.part = (uint8_t)part;
    return push(l, in);
}

tc_lv tc_l_scan(tc_lower *l, tc_reduce_op op, tc_lv v, int axis) {
    if (l->status || v == TC_LV_NONE) return TC_LV_NONE;
    if (by_parts(l, op, v)) {
        tc_lv re = tc_l_scan(l, op, tc_l_op1(l, TC_X_REAL, v), axis), im = tc_l_scan(l, op, tc_l_op1(l, TC_X_IMAG, v), axis);
        return tc_l_op2(l, TC_X_COMPLEX, re, im);
    }
    tc_linst in = blank(TC_L_SCAN, at(l, v)->dtype);
    in.op = (uint8_t)op;
    in.a[0] = v;
    in.over = UINT64_C(1) << axis;
    return push(l, in);
}

/* Is the value exactly representable in the narrow type d: loaded as it, rounded to it, or one of such values or their negatives? Looks `depth`
 * instructions back. */
static bool holds(const tc_lower *l, tc_lv v, tc_dtype d, int depth) {
    const tc_linst *in = at(l, v);
    switch (in->kind) {
    case TC_L_LOAD: return l->loop->buffers.data[in->buffer].dtype == d;
    case TC_L_ROUND: return in->narrow == d;
    case TC_L_CONST: return in->dtype == TC_F32 && in->imm.f == through(d, in->imm).f;
    case TC_L_SCALAR:
        if (in->dtype != TC_F32 || !depth || !holds(l, in->a[0], d, depth - 1)) return false;
        return in->op == TC_X_NEG || in->op == TC_X_ABS || ((in->op == TC_X_MAX || in->op == TC_X_MIN) && holds(l, in->a[1], d, depth - 1));
    default: return false;
    }
}
tc_lv tc_l_round(tc_lower *l, tc_lv v, tc_dtype d) {
    v = tc_l_cast(l, v, d);
    if (l->status || !is_narrow(d) || holds(l, v, d, 4)) return v;
    tc_linst in = blank(TC_L_ROUND, at(l, v)->dtype);
    in.narrow = d;
    in.a[0] = v;
    return push(l, in);
}

tc_lv tc_l_in_rounded(tc_lower *l, int arg, tc_dtype d) {
    tc_lv v = tc_l_in_as(l, arg, tc_dtype_compute(d));
    if (v != TC_LV_NONE && !l->status && at(l, v)->kind == TC_L_CONST) return tc_l_const(l, d, through(d, at(l, v)->imm));
    return v == TC_LV_NONE ? v : tc_l_round(l, v, d);
}

tc_status tc_l_out_at(tc_lower *l, int result, const tc_affine *index, tc_lv v, tc_lv pred) {
    if (l->status) return l->status;
    tc_value *out = l->node->outs[result];
    v = tc_l_cast(l, v, out->meta.dtype);
    if (l->status) return l->status;
    v = tc_l_round(l, v, out->meta.dtype);
    tc_lstore st = {.buffer = tc_loop_buffer(l->loop, out), .rank = out->meta.rank, .value = v, .pred = pred};
    st.index = tc_arena_dup(l->loop->arena, index, sizeof *index * (size_t)st.rank);
    tc_loop_store(l->loop, st);
    return NULL;
}

tc_status tc_l_out(tc_lower *l, int result, tc_lv v) {
    if (l->status) return l->status;
    const tc_meta *m = &l->node->outs[result]->meta;
    tc_affine index[TC_MAX_RANK];
    int shift = l->result_axes - m->rank;
    if (shift < 0) return l->status = tc_error(TC_CONTENT, "%s: result %d has more dimensions than result 0", tc_op_name(l->node->op), result);
    for (int d = 0; d < m->rank; d++) index[d] = tc_sym_is_int(m->size[d], 1) ? tc_l_affine(l, NULL, -1, NULL) : tc_l_axis(l, d + shift);
    return tc_l_out_at(l, result, index, v, TC_LV_NONE);
}

tc_status tc_lower_node(tc_program *p, const tc_node *node, tc_loop **out_loop) {
    if (!node->op->lower) return tc_error(TC_UNSUPPORTED, "%s is not a loop", tc_op_name(node->op));
    tc_lower l = {.loop = tc_loop_create(p), .node = node};
    const tc_value *first = node->nouts ? node->outs[0] : NULL;
    if (first && first->kind == TC_V_TENSOR) {
        l.result_axes = first->meta.rank;
        for (int d = 0; d < first->meta.rank; d++) tc_loop_axis(l.loop, first->meta.size[d]);
    }
    const tc_node **self = TC_NEW(&p->arena, const tc_node *);
    *self = node;
    l.loop->nodes = self;
    l.loop->nnodes = 1;
    tc_status s = tc_op_checked(p, node->op->lower(&l));
    if (!s) s = l.status;
    if (!s) s = tc_loop_verify(l.loop);
    if (s) {
        tc_loop_free(l.loop);
        return tc_annotate(s, "%s", node->name ? node->name : tc_op_name(node->op));
    }
    for (size_t i = 0; i < l.loop->inst.len; i++) l.loop->inst.data[i].node = node;
    *out_loop = l.loop;
    return NULL;
}

tc_lv tc_l_int(tc_lower *l, int64_t v) { return tc_l_const(l, TC_I64, tc_scalar_int(v)); }
tc_lv tc_l_zero(tc_lower *l, tc_dtype d) { return tc_l_cast(l, tc_l_int(l, 0), d); }
tc_lv tc_l_both(tc_lower *l, tc_lv a, tc_lv b) { return a == TC_LV_NONE ? b : b == TC_LV_NONE ? a : tc_l_op2(l, TC_X_AND, a, b); }
