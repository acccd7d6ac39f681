/* The shared parts of shape rules (shape.h): arguments, promotion, broadcasting, dimension numbers, results.
 *
 * Promotion follows PyTorch's three groups of operands: tensors with dimensions, 0-d tensors, Python numbers. An earlier group decides the dtype unless
 * a later one is of a higher category (bool < integer < floating < complex). */
#include "op/shape.h"

#include <stdio.h>

tc_symctx *tc_sh_sym(const tc_shape_ctx *c) { return c->program->sym; }

const tc_meta *tc_sh_meta(const tc_shape_ctx *c, int i) {
    const tc_arg *a = &c->args[i];
    return a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_TENSOR ? &a->value->meta : NULL;
}

bool tc_sh_given(const tc_shape_ctx *c, int i) {
    const tc_arg *a = &c->args[i];
    return !(a->kind == TC_A_NONE || (a->kind == TC_A_VALUE && (!a->value || a->value->kind == TC_V_NONE)));
}

bool tc_arg_number(const tc_arg *a, tc_kind *out_kind) {
    static const tc_kind kinds[] = {[TC_SYM_INT] = TC_KIND_INT, [TC_SYM_FLOAT] = TC_KIND_FLOAT, [TC_SYM_BOOL] = TC_KIND_BOOL};
    if (a->kind == TC_A_SCALAR) *out_kind = a->is_sym ? kinds[tc_sym_type(a->sym)] : a->scalar.kind;
    else if (a->kind == TC_A_INT) *out_kind = TC_KIND_INT;
    else if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_SYM) *out_kind = kinds[tc_sym_type(a->value->sym)];
    else return false;
    return true;
}

static tc_sym arg_sym(tc_symctx *s, const tc_arg *a) {
    if (a->kind == TC_A_INT) return a->sym;
    if (a->kind == TC_A_SCALAR) {
        if (a->is_sym) return a->sym;
        if (a->scalar.kind == TC_KIND_FLOAT) return tc_sym_float(s, a->scalar.f);
        return a->scalar.kind == TC_KIND_BOOL ? tc_sym_bool(s, a->scalar.i != 0) : tc_sym_int(s, a->scalar.i);
    }
    if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_SYM) return a->value->sym;
    return NULL;
}

bool tc_sh_bool(const tc_shape_ctx *c, int i) {
    tc_sym s = arg_sym(c->program->sym, &c->args[i]);
    bool b;
    int64_t n;
    if (!s) return false;
    if (tc_sym_const_bool(s, &b)) return b;
    return tc_sym_const_int(s, &n) && n != 0;
}

tc_sym tc_sh_int(const tc_shape_ctx *c, int i) {
    tc_sym s = arg_sym(c->program->sym, &c->args[i]);
    return s ? s : tc_sym_int(c->program->sym, 0);
}

static int64_t known_int(const tc_shape_ctx *c, tc_sym s) {
    int64_t v = 0;
    bool b = false;
    if (tc_sym_const_int(s, &v)) return v;
    if (tc_sym_const_bool(s, &b)) return b;
    if (c->needed) *c->needed = s;
    return 0;
}
int64_t tc_sh_const(const tc_shape_ctx *c, int i) { return known_int(c, tc_sh_int(c, i)); }

int tc_sh_ints(const tc_shape_ctx *c, int i, tc_sym *out, int max) {
    const tc_arg *a = &c->args[i];
    if (a->kind == TC_A_INTS || a->kind == TC_A_FLOATS || a->kind == TC_A_BOOLS || a->kind == TC_A_VALUES) {
        for (int k = 0; k < a->n && k < max; k++) {
            if (a->kind == TC_A_INTS) out[k] = a->syms[k];
            else if (a->kind == TC_A_FLOATS) out[k] = tc_sym_int(c->program->sym, (int64_t)a->floats[k]);
            else if (a->kind == TC_A_BOOLS) out[k] = tc_sym_int(c->program->sym, a->bools[k]);
            else out[k] = a->values[k] && a->values[k]->kind == TC_V_SYM ? a->values[k]->sym : tc_sym_int(c->program->sym, 0);
        }
        return a->n;
    }
    tc_sym s = arg_sym(c->program->sym, a);
    if (!s) return -1;
    if (max > 0) out[0] = s;
    return 1;
}

int tc_sh_const_ints(const tc_shape_ctx *c, int i, int64_t *out, int max) {
    tc_sym s[64];
    int n = tc_sh_ints(c, i, s, max < 64 ? max : 64);
    for (int k = 0; k < n && k < max && k < 64; k++) out[k] = known_int(c, s[k]);
    return n;
}

tc_dtype tc_sh_dtype(const tc_shape_ctx *c, int i, tc_dtype otherwise) {
    return c->args[i].kind == TC_A_DTYPE && c->args[i].dtype != TC_DTYPE_NONE ? c->args[i].dtype : otherwise;
}

const char *tc_sh_string(const tc_shape_ctx *c, int i) { return c->args[i].kind == TC_A_STRING ? c->args[i].string : NULL; }

const tc_meta **tc_sh_tensors(const tc_shape_ctx *c, int i, int *out_n) {
    const tc_arg *a = &c->args[i];
    tc_value **v = NULL;
    int n = 0;
    if (a->kind == TC_A_VALUES) v = a->values, n = a->n;
    else if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_LIST) v = a->value->list, n = a->value->nlist;
    const tc_meta **m = TC_NEWN(&c->program->arena, const tc_meta *, (size_t)n + 1);
    for (int k = 0; k < n; k++) m[k] = v[k] && v[k]->kind == TC_V_TENSOR ? &v[k]->meta : NULL;
    *out_n = n;
    return m;
}

/* ---- failing, checking, guarding ---- */
static void describe(tc_buf *b, const tc_arg *a) {
    if (a->kind == TC_A_VALUE && a->value) {
        tc_value_print_type(b, a->value);
    } else if (a->kind == TC_A_VALUES) {
        tc_buf_putc(b, '[');
        for (int k = 0; k < a->n && k < 8; k++) {
            if (k) tc_buf_puts(b, ", ");
            if (a->values[k]) tc_value_print_type(b, a->values[k]);
            else tc_buf_puts(b, "None");
        }
        tc_buf_puts(b, a->n > 8 ? ", ...]" : "]");
    } else if (a->kind == TC_A_INTS) {
        tc_sym_print_list(b, a->syms, a->n < 16 ? a->n : 16);
    }
}

static tc_status fail(const tc_shape_ctx *c, const char *exception, const char *fmt, va_list ap) {
    tc_buf b = {0};
    if (exception) tc_buf_printf(&b, "%s: ", exception);
    tc_buf_printf(&b, "%s: ", tc_op_name(c->op));
    tc_buf_vprintf(&b, fmt, ap);
    const tc_schema *s = tc_op_schema(c->op);
    bool any = false;
    for (int i = 0; i < c->nargs && i < s->nparams; i++) {
        const tc_arg *a = &c->args[i];
        if (!((a->kind == TC_A_VALUE && a->value) || a->kind == TC_A_VALUES || a->kind == TC_A_INTS)) continue;
        tc_buf_printf(&b, "%s%s ", any ? ", " : " (", s->params[i].name);
        describe(&b, a);
        any = true;
    }
    if (any) tc_buf_putc(&b, ')');
    tc_status st = tc_error(TC_CONTENT, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

tc_status tc_sh_fail(const tc_shape_ctx *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_status s = fail(c, NULL, fmt, ap);
    va_end(ap);
    return s;
}

tc_status tc_sh_fail_sizes(const tc_shape_ctx *c, const char *text, const tc_sym *sizes) {
    tc_buf t = {0};
    for (; *text; text++) {
        if (*text == '#') tc_sym_print(&t, *sizes++);
        else tc_buf_putc(&t, *text);
    }
    tc_status s = tc_sh_fail(c, "%s", tc_buf_str(&t));
    tc_buf_free(&t);
    return s;
}
tc_status tc_sh_fail_as(const tc_shape_ctx *c, const char *exception, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_status s = fail(c, exception, fmt, ap);
    va_end(ap);
    return s;
}

bool tc_sh_guard(tc_shape_ctx *c, tc_sym cond) {
    int64_t now;
    int k = tc_sym_known(c->program->sym, cond);
    if (k < 0 && tc_program_example(c->program, cond, &now) && !now) return false; /* the example input itself would be refused */
    if (k < 0) tc_program_guard(c->program, (tc_guard){.cond = cond, .source = c->source, .op = tc_op_name(c->op)});
    return k != 0;
}

bool tc_sh_branch(tc_shape_ctx *c, tc_sym cond) {
    tc_symctx *s = c->program->sym;
    int64_t now = 0;
    int k = tc_sym_known(s, cond);
    if (k >= 0) return k;
    if (!tc_program_example(c->program, cond, &now)) now = 0;
    tc_sym taken = now ? cond : tc_sym_op(s, TC_S_NOT, cond, NULL, NULL);
    tc_program_guard(c->program, (tc_guard){.cond = taken, .source = c->source, .op = tc_op_name(c->op), .branch = true});
    return now;
}

bool tc_sh_same(tc_shape_ctx *c, tc_sym a, tc_sym b) { return a == b || tc_sh_guard(c, tc_sym_op(c->program->sym, TC_S_EQ, a, b, NULL)); }

bool tc_sh_is_empty(const tc_meta *m) {
    for (int k = 0; k < m->rank; k++)
        if (tc_sym_is_int(m->size[k], 0)) return true;
    return false;
}
bool tc_sh_is_one(const tc_shape_ctx *c, tc_sym s) { return tc_sym_is_int(tc_sym_simplify(c->program->sym, s), 1); }

bool tc_sh_not_zero(tc_shape_ctx *c, tc_sym s) {
    return tc_sh_guard(c, tc_sym_op(c->program->sym, TC_S_NE, s, tc_sym_int(c->program->sym, 0), NULL));
}

bool tc_sh_as_one(tc_shape_ctx *c, tc_sym s) {
    if (tc_sh_is_one(c, s)) return true;
    int64_t lo, hi;
    tc_sym_range(c->program->sym, s, &lo, &hi);
    return hi == 1 && tc_sh_same(c, s, tc_sym_int(c->program->sym, 1));
}

bool tc_sh_repeats(tc_shape_ctx *c, tc_sym s, tc_sym other) {
    int64_t own, want;
    if (tc_sh_as_one(c, s)) return true;
    if (!tc_program_example(c->program, s, &own) || own != 1 || !tc_program_example(c->program, other, &want) || want == 1) return false;
    return tc_sh_same(c, s, tc_sym_int(c->program->sym, 1));
}

tc_status tc_sh_need_tensor(const tc_shape_ctx *c, int i) {
    if (tc_sh_meta(c, i)) return NULL;
    return tc_sh_fail_as(c, "TypeError", "argument '%s' must be Tensor", tc_op_schema(c->op)->params[i].name);
}

tc_status tc_sh_need_float(const tc_shape_ctx *c, int i) {
    TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *m = tc_sh_meta(c, i);
    if (tc_is_float(m->dtype) || tc_is_complex(m->dtype)) return NULL;
    return tc_sh_fail_as(c, "NotImplementedError", "\"%s\" not implemented for '%s': '%s' must be floating point", tc_op_schema(c->op)->name,
                         tc_dtypes[m->dtype].torch, tc_op_schema(c->op)->params[i].name);
}

/* ---- types ---- */
tc_dtype tc_to_float(tc_dtype d) { return tc_is_integral(d) ? TC_F32 : d; }

static void clash(tc_promotion *p, tc_dtype a, tc_dtype b) { p->clashes = true, p->clash[0] = a, p->clash[1] = b; }

static tc_dtype promote(tc_promotion *p, tc_dtype a, tc_dtype b) {
    if (a == TC_DTYPE_NONE || b == TC_DTYPE_NONE) return a == TC_DTYPE_NONE ? b : a;
    tc_dtype d = tc_dtype_promote(a, b);
    if (d != TC_DTYPE_NONE) return d;
    clash(p, a, b);
    return a;
}

/* PyTorch's combine_categories (aten/src/ATen/native/TypeProperties.cpp). */
static tc_dtype combine(tc_promotion *p, tc_dtype higher, tc_dtype lower) {
    if (higher == TC_DTYPE_NONE) return lower;
    if (tc_is_complex(higher)) return higher;
    if (tc_is_float(higher)) {
        if (lower == TC_DTYPE_NONE || !tc_is_complex(lower)) return higher;
        /* PyTorch's type for bfloat16 is bcomplex32, which has no arithmetic; there is none for float8 */
        if (higher == TC_BF16 || tc_dtype_to_complex(higher) == higher) clash(p, higher, lower);
        return tc_dtype_to_complex(higher);
    }
    if (lower == TC_DTYPE_NONE) return higher;
    if (tc_is_complex(lower)) return lower;
    if (higher == TC_BOOL || tc_is_float(lower)) return promote(p, higher, lower);
    return higher;
}

static void add_meta(tc_promotion *p, const tc_meta *m) {
    if (!m) return;
    tc_dtype *pot = m->rank > 0 ? &p->dim : &p->zero;
    *pot = promote(p, *pot, m->dtype);
}

void tc_promotion_add(tc_promotion *p, const tc_arg *a) {
    static const tc_dtype of_kind[] = {[TC_KIND_BOOL] = TC_BOOL, [TC_KIND_INT] = TC_I64, [TC_KIND_FLOAT] = TC_F32, [TC_KIND_COMPLEX] = TC_C64};
    tc_kind k;
    if (tc_arg_number(a, &k)) {
        p->wrapped = promote(p, p->wrapped, of_kind[k]);
    } else if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_TENSOR) {
        add_meta(p, &a->value->meta);
    } else if (a->kind == TC_A_VALUES || (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_LIST)) {
        tc_value **v = a->kind == TC_A_VALUES ? a->values : a->value->list;
        int n = a->kind == TC_A_VALUES ? a->n : a->value->nlist;
        for (int k2 = 0; k2 < n; k2++)
            if (v[k2] && v[k2]->kind == TC_V_TENSOR) add_meta(p, &v[k2]->meta);
    }
}

tc_dtype tc_promotion_type(tc_promotion *p) {
    tc_dtype d = combine(p, p->dim, combine(p, p->zero, p->wrapped));
    return d == TC_DTYPE_NONE ? TC_F32 : d;
}

tc_dtype tc_sh_result_type(tc_shape_ctx *c, int n, const int *args) {
    tc_promotion p = {.dim = TC_DTYPE_NONE, .zero = TC_DTYPE_NONE, .wrapped = TC_DTYPE_NONE};
    for (int k = 0; k < n; k++) tc_promotion_add(&p, &c->args[args[k]]);
    tc_dtype d = tc_promotion_type(&p);
    if (p.clashes) c->clashes = true, c->clash[0] = p.clash[0], c->clash[1] = p.clash[1];
    return d;
}

/* ---- sizes ---- */
tc_dims tc_dims_of(const tc_meta *m) {
    tc_dims d = {.rank = m->rank};
    for (int k = 0; k < m->rank; k++) d.size[k] = m->size[k];
    return d;
}

tc_status tc_sh_broadcast_dims(tc_shape_ctx *c, tc_dims *into, const tc_meta *m) {
    int rank = m->rank > into->rank ? m->rank : into->rank;
    int shift = rank - into->rank;
    for (int k = rank - 1; k >= 0; k--) into->size[k] = k >= shift ? into->size[k - shift] : tc_sym_int(c->program->sym, 1);
    into->rank = rank;
    for (int k = 0; k < m->rank; k++) {
        tc_sym *a = &into->size[rank - m->rank + k], b = m->size[k];
        if (*a == b) continue;
        if (!tc_sym_is_int(*a, 1) && tc_sh_repeats(c, b, *a)) continue; /* against size 1 a size is kept, even if it is 0 or 1 */
        if (tc_sh_repeats(c, *a, b)) {
            *a = b;
            continue;
        }
        if (!tc_sh_same(c, *a, b)) {
            tc_buf t = {0};
            tc_buf_puts(&t, "The size of tensor a (");
            tc_sym_print(&t, *a);
            tc_buf_puts(&t, ") must match the size of tensor b (");
            tc_sym_print(&t, b);
            tc_status s = tc_sh_fail(c, "%s) at non-singleton dimension %d", tc_buf_str(&t), rank - m->rank + k);
            tc_buf_free(&t);
            return s;
        }
        int64_t v;
        if (tc_sym_const_int(b, &v)) *a = b;
    }
    return NULL;
}

tc_status tc_sh_broadcast(tc_shape_ctx *c, int n, const int *args, tc_dims *out) {
    *out = (tc_dims){0};
    for (int k = 0; k < n; k++) {
        const tc_meta *m = tc_sh_meta(c, args[k]);
        if (m) TC_TRY(tc_sh_broadcast_dims(c, out, m));
    }
    return NULL;
}

tc_status tc_sh_wrap_dim(const tc_shape_ctx *c, int64_t d, int rank, int *out) {
    int r = rank > 0 ? rank : 1;
    if (d < -r || d >= r)
        return tc_sh_fail_as(c, "IndexError", "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -r, r - 1, (long long)d);
    *out = (int)(d < 0 ? d + r : d);
    return NULL;
}

tc_status tc_sh_dim_arg(const tc_shape_ctx *c, int arg, int rank, int *out) { return tc_sh_wrap_dim(c, tc_sh_const(c, arg), rank, out); }

tc_status tc_sh_dim_mask(const tc_shape_ctx *c, int arg, int rank, uint64_t *out_mask) {
    int64_t d[64];
    int n = tc_sh_const_ints(c, arg, d, 64);
    if (n > 64) return tc_sh_fail(c, "%d dimensions, at most 64", n);
    *out_mask = 0;
    if (n <= 0) *out_mask = ((uint64_t)1 << rank) - 1;
    for (int k = 0; k < n; k++) {
        int w = 0;
        TC_TRY(tc_sh_wrap_dim(c, d[k], rank, &w));
        if (*out_mask >> w & 1) return tc_sh_fail(c, "dim %d appears multiple times in the list of dims", w);
        *out_mask |= (uint64_t)1 << w;
    }
    return NULL;
}

tc_dims tc_dims_reduced(const tc_shape_ctx *c, const tc_meta *m, uint64_t mask, bool keepdim) {
    tc_dims d = {0};
    for (int k = 0; k < m->rank; k++) {
        if (!(mask >> k & 1)) d.size[d.rank++] = m->size[k];
        else if (keepdim) d.size[d.rank++] = tc_sym_int(c->program->sym, 1);
    }
    return d;
}

tc_sym tc_dims_numel(const tc_shape_ctx *c, const tc_dims *d) {
    tc_sym n = tc_sym_int(c->program->sym, 1);
    for (int k = 0; k < d->rank; k++) n = tc_sym_mul(c->program->sym, n, d->size[k]);
    return n;
}

/* ---- results ---- */
void tc_sh_set(tc_shape_ctx *c, tc_value *v, tc_dtype dtype, const tc_dims *d, const tc_sym *stride) {
    v->kind = TC_V_TENSOR;
    v->meta = tc_meta_make(&c->program->arena, dtype, d->rank, d->size, stride);
}

tc_status tc_sh_out_strided(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d, const tc_sym *stride) {
    tc_sh_set(c, &c->outs[i], dtype, d, stride);
    return NULL;
}

tc_status tc_sh_out(tc_shape_ctx *c, int i, tc_dtype dtype, const tc_dims *d) { return tc_sh_out_strided(c, i, dtype, d, NULL); }

tc_status tc_sh_out_none(tc_shape_ctx *c, int i) {
    c->outs[i].kind = TC_V_NONE;
    return NULL;
}

tc_status tc_sh_out_list(tc_shape_ctx *c, int i, int n, tc_value ***out_elements) {
    tc_value **v = TC_NEWN(&c->program->arena, tc_value *, (size_t)(n > 0 ? n : 1));
    for (int k = 0; k < n; k++) v[k] = TC_NEW(&c->program->arena, tc_value);
    c->outs[i].kind = TC_V_LIST;
    c->outs[i].list = v;
    c->outs[i].nlist = n;
    *out_elements = v;
    return NULL;
}

tc_status tc_sh_out_sym(tc_shape_ctx *c, int i, tc_sym s) {
    c->outs[i].kind = TC_V_SYM;
    c->outs[i].sym = s;
    return NULL;
}

/* ---- rules used by more than one family ---- */
static tc_status unary(tc_shape_ctx *c, tc_dtype dtype) { return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), dtype); }

tc_status tc_shape_same(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return unary(c, tc_sh_meta(c, 0)->dtype);
}
tc_status tc_shape_same_strides(tc_shape_ctx *c) {
    TC_TRY(tc_shape_same(c));
    const tc_meta *m = tc_sh_meta(c, 0);
    for (int k = 0; m->stride && k < m->rank; k++)
        if (tc_sym_is_int(m->stride[k], 0) && !tc_sh_is_one(c, m->size[k])) return NULL;
    c->outs[0].meta.stride = m->stride;
    return NULL;
}
tc_status tc_shape_float_unary(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return unary(c, tc_to_float(tc_sh_meta(c, 0)->dtype));
}
tc_status tc_shape_bool_unary(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    return unary(c, TC_BOOL);
}
tc_status tc_shape_binary(tc_shape_ctx *c) { return tc_sh_out_pointwise(c, 0, tc_sh_result_type(c, 2, (int[]){0, 1}), 2, (int[]){0, 1}); }
tc_status tc_shape_binary_float(tc_shape_ctx *c) {
    return tc_sh_out_pointwise(c, 0, tc_to_float(tc_sh_result_type(c, 2, (int[]){0, 1})), 2, (int[]){0, 1});
}
bool tc_sh_bcomplex(const tc_shape_ctx *c) { return c->clashes && c->clash[0] == TC_BF16 && tc_is_complex(c->clash[1]); }
tc_dtype tc_sh_inner_type(tc_shape_ctx *c, int n, const int *args) {
    const tc_dtype d = tc_sh_result_type(c, n, args);
    if (tc_sh_bcomplex(c)) c->clashes = false;
    return d;
}
tc_status tc_shape_compare(tc_shape_ctx *c) {
    tc_sh_inner_type(c, 2, (int[]){0, 1});
    return tc_sh_out_pointwise(c, 0, TC_BOOL, 2, (int[]){0, 1});
}
tc_status tc_shape_ternary(tc_shape_ctx *c) { return tc_sh_out_pointwise(c, 0, tc_sh_result_type(c, 3, (int[]){0, 1, 2}), 3, (int[]){0, 1, 2}); }
tc_status tc_shape_like_arg1(tc_shape_ctx *c) {
    TC_TRY(tc_sh_need_tensor(c, 0));
    TC_TRY(tc_sh_need_tensor(c, 1));
    return tc_shape_binary(c);
}

/* ---- backward operators ---- */
tc_status tc_sh_sized(tc_shape_ctx *c, int i, const tc_dims *d, tc_dtype dtype, const char *of) {
    if (!tc_sh_given(c, i)) return NULL;
    TC_TRY(tc_sh_need_tensor(c, i));
    const tc_meta *m = tc_sh_meta(c, i);
    const char *name = tc_op_schema(c->op)->params[i].name;
    bool ok = m->rank == d->rank;
    for (int k = 0; ok && k < d->rank; k++) ok = tc_sh_same(c, m->size[k], d->size[k]);
    if (!ok) {
        tc_buf b = {0};
        tc_sym_print_list(&b, d->size, d->rank);
        tc_status s = tc_sh_fail(c, "%s must have the sizes of %s, %s", name, of, tc_buf_str(&b));
        tc_buf_free(&b);
        return s;
    }
    if ((c->op->kernel || c->op->decompose) && dtype != TC_DTYPE_NONE && m->dtype != dtype)
        return tc_sh_fail(c, "%s must be of the type of %s, %s", name, of, tc_dtypes[dtype].torch);
    return NULL;
}

tc_status tc_sh_results_of(tc_shape_ctx *c, const char *forward, const tc_arg *args, int nargs, int n, const int *pairs) {
    tc_value outs[8] = {{0}};
    const tc_op *f = tc_op_find(forward);
    if (!f || tc_op_schema(f)->nrets > 8) TC_BUG("no operator %s", forward);
    TC_TRY(tc_op_infer(c->program, f, args, nargs, c->source, outs, tc_op_schema(f)->nrets), "%s", tc_op_name(c->op));
    for (int k = 0; k < n; k++) {
        const tc_meta *m = &outs[pairs[2 * k + 1]].meta;
        tc_dims d = tc_dims_of(m);
        TC_TRY(tc_sh_sized(c, pairs[2 * k], &d, m->dtype, tc_op_name(f)));
    }
    return NULL;
}

/* The argument with the same name as a parameter of the forward operator, or -1. */
static int given_as(const tc_schema *s, const char *name) {
    for (int exact = 1; exact >= 0; exact--)
        for (int i = 0; i < s->nparams; i++)
            if (!strncmp(s->params[i].name, name, exact ? strlen(name) + 1 : strlen(s->params[i].name))) return i;
    return -1;
}
/* A tensor whose sizes another argument gives. */
static tc_status of_sizes(tc_shape_ctx *c, const tc_meta *like, tc_arg *out) {
    const tc_schema *s = tc_op_schema(c->op);
    for (int i = 0; i < s->nparams; i++) {
        if (strcmp(s->params[i].name, "input_sizes")) continue;
        tc_sym size[TC_MAX_RANK];
        int64_t v;
        int n = tc_sh_ints(c, i, size, TC_MAX_RANK);
        if (n < 0 || n > TC_MAX_RANK) return tc_sh_fail(c, "input_sizes has %d dimensions, at most %d", n, TC_MAX_RANK);
        for (int k = 0; k < n; k++)
            if (tc_sym_const_int(size[k], &v) && v < 0) return tc_sh_fail(c, "input_sizes has the size %lld", (long long)v);
        tc_value *x = TC_NEW(&c->program->arena, tc_value);
        tc_dims d = {.rank = n};
        memcpy(d.size, size, sizeof *size * (size_t)n);
        *x = (tc_value){0};
        tc_sh_set(c, x, like->dtype, &d, NULL);
        *out = (tc_arg){.kind = TC_A_VALUE, .value = x};
    }
    return NULL;
}

tc_status tc_sh_of_forward(tc_shape_ctx *c, const char *forward, int n, const int *pairs) {
    char own[96];
    const tc_schema *s = tc_op_schema(c->op);
    tc_arg args[16];
    if (!forward) {
        snprintf(own, sizeof own, "%s::%.*s", s->ns, (int)(strlen(s->name) - strlen("_backward")), s->name);
        forward = own;
    }
    const tc_op *f = tc_op_find(forward);
    if (!f || tc_op_schema(f)->nparams > 16) TC_BUG("no operator %s", forward);
    const tc_schema *fs = tc_op_schema(f);
    TC_TRY(tc_sh_need_tensor(c, 0));
    for (int i = 0; i < fs->nparams; i++) {
        const tc_param *p = &fs->params[i];
        int from = given_as(s, p->name);
        args[i] = from >= 0 ? c->args[from] : (tc_arg){.kind = TC_A_NONE};
        if (from >= 0) continue;
        if (p->has_default) TC_TRY(tc_op_default(c->program, f, i, &args[i]));
        else if (p->type == TC_T_FLOAT) args[i] = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(0)};
        else if (i == 0) TC_TRY(of_sizes(c, tc_sh_meta(c, 0), &args[i]));
    }
    return tc_sh_results_of(c, forward, args, fs->nparams, n, pairs);
}
