/* Emits nodes from C, for decompositions and gradient rules (emit.h). */
#include "op/emit.h"
#include "op/functionalise.h"

#include <stdarg.h>
#include <string.h>

void tc_emit_fail(tc_emit *e, tc_status s) {
    if (e->status) tc_status_free(s);
    else e->status = s;
}

tc_status tc_e_refuse(const tc_node *n, const char *fmt, ...) {
    tc_buf why = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&why, fmt, ap);
    va_end(ap);
    tc_status s = tc_error(TC_CONTENT, "%s: %s", tc_op_name(n->op), tc_buf_str(&why));
    tc_buf_free(&why);
    return s;
}

static tc_value *call_with_casts(tc_emit *e, const tc_op *op, tc_arg *args, int n) {
    tc_value **outs = NULL;
    int nouts = 0;
    tc_emit plain = {.graph = e->graph, .before = e->before, .source = e->source, .origin = e->origin};
    tc_emit_fail(e, tc_autocast_call(&plain, op, args, n, e->autocast, &outs, &nouts));
    return e->status || !nouts ? NULL : outs[0];
}

tc_value *tc_emit_call(tc_emit *e, const char *name, const char *fmt, ...) {
    tc_program *p = e->graph->program;
    tc_arg args[48];
    int n = 0;
    if (e->status) return NULL;
    const tc_op *op = tc_op_find(name);
    if (!op) {
        tc_emit_fail(e, tc_error(TC_UNSUPPORTED, "operator %s is not supported", name));
        return NULL;
    }
    const tc_schema *s = tc_op_schema(op);
    va_list ap;
    va_start(ap, fmt);
    for (const char *f = fmt; *f; f++, n++) {
        tc_arg *a = &args[n];
        if (n == 48) TC_BUG("%s: too many arguments in \"%s\"", name, fmt);
        *a = (tc_arg){0};
        switch (*f) {
        case 'v': a->value = va_arg(ap, tc_value *), a->kind = a->value ? TC_A_VALUE : TC_A_NONE; break;
        case 'V': {
            tc_value *const *list = va_arg(ap, tc_value *const *);
            a->kind = TC_A_VALUES, a->n = va_arg(ap, int);
            a->values = a->n ? tc_arena_dup(&p->arena, list, sizeof *list * (size_t)a->n) : NULL;
            break;
        }
        case 'i': a->kind = TC_A_INT, a->sym = tc_sym_int(p->sym, va_arg(ap, int64_t)); break;
        case 's': a->kind = TC_A_INT, a->sym = va_arg(ap, tc_sym); break;
        case 'I': {
            const int64_t *list = va_arg(ap, const int64_t *);
            a->kind = TC_A_INTS, a->n = va_arg(ap, int);
            tc_sym *to = TC_NEWN(&p->arena, tc_sym, (size_t)(a->n ? a->n : 1));
            for (int i = 0; i < a->n; i++) to[i] = tc_sym_int(p->sym, list[i]);
            a->syms = to;
            break;
        }
        case 'S': {
            const tc_sym *list = va_arg(ap, const tc_sym *);
            a->kind = TC_A_INTS, a->n = va_arg(ap, int);
            a->syms = a->n ? tc_arena_dup(&p->arena, list, sizeof *list * (size_t)a->n) : NULL;
            break;
        }
        case 'f': a->kind = TC_A_SCALAR, a->scalar = tc_scalar_float(va_arg(ap, double)); break;
        case 'b': a->kind = TC_A_SCALAR, a->scalar = tc_scalar_bool(va_arg(ap, int)); break;
        case 'z': a->kind = TC_A_SCALAR, a->scalar = va_arg(ap, tc_scalar); break;
        case 'd': a->dtype = (tc_dtype)va_arg(ap, int), a->kind = a->dtype == TC_DTYPE_NONE ? TC_A_NONE : TC_A_DTYPE; break;
        case 't': a->string = va_arg(ap, const char *), a->kind = a->string ? TC_A_STRING : TC_A_NONE; break;
        case 'a': *a = *va_arg(ap, const tc_arg *); break;
        case '_': tc_emit_fail(e, n < s->nparams ? tc_op_default(p, op, n, a) : tc_error(TC_CONTENT, "%s has no argument %d", name, n)); break;
        default: TC_BUG("%s: format letter %c", name, *f);
        }
    }
    va_end(ap);
    if (e->casts && !e->status) return call_with_casts(e, op, args, n);
    tc_node *node = NULL;
    if (!e->status) tc_emit_fail(e, tc_graph_call(e->graph, op, args, n, e->source, e->before, &node));
    if (!node) return NULL;
    node->origin = e->origin;
    return node->nouts ? node->outs[0] : NULL;
}

tc_value *tc_emit_out(tc_value *first, int i) { return first ? first->producer->outs[i] : NULL; }

static void grow(tc_arena *a, void *data_place, int *n, int want, size_t elem) {
    void **data = data_place;
    if (want <= *n) return;
    void *bigger = tc_arena_array(a, (size_t)want, elem);
    if (*n) memcpy(bigger, *data, (size_t)*n * elem);
    *data = bigger;
    *n = want;
}

void tc_emit_result(tc_emit *e, int i, tc_value *v) {
    grow(&e->graph->program->arena, &e->results, &e->nresults, i + 1, sizeof *e->results);
    e->results[i] = v;
}

void tc_emit_grad(tc_emit *e, int arg, tc_value *v) {
    if (arg >= e->ngrads) TC_BUG("gradient of argument %d of %d", arg, e->ngrads);
    e->grads[arg] = v;
}

void tc_emit_grad_list(tc_emit *e, int arg, int i, tc_value *v) {
    if (arg >= e->ngrads || !e->grad_lists[arg]) TC_BUG("argument %d is no list", arg);
    e->grad_lists[arg][i] = v;
}

bool tc_emit_wants_grad(const tc_emit *e, const tc_node *node, int arg) {
    if (arg >= node->nargs) return false;
    const tc_arg *a = &node->args[arg];
    if (a->kind == TC_A_VALUE) return a->value && (e->wants ? e->wants(e->wants_ctx, a->value) : a->value->meta.requires_grad);
    for (int i = 0; a->kind == TC_A_VALUES && i < a->n; i++)
        if (a->values[i] && (e->wants ? e->wants(e->wants_ctx, a->values[i]) : a->values[i]->meta.requires_grad)) return true;
    return false;
}

/* ---- reading arguments ---- */
bool tc_arg_is_none(const tc_node *n, int i) { return n->args[i].kind == TC_A_NONE; }

tc_sym tc_arg_sym(const tc_node *n, int i) {
    const tc_arg *a = &n->args[i];
    if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) return a->sym;
    if (a->kind == TC_A_VALUE && a->value->kind == TC_V_SYM) return a->value->sym;
    if (a->kind != TC_A_SCALAR) TC_BUG("%s: argument %d is no number", tc_op_name(n->op), i);
    tc_symctx *c = n->graph->program->sym;
    return a->scalar.kind <= TC_KIND_INT ? tc_sym_int(c, a->scalar.i) : tc_sym_float(c, a->scalar.f);
}

/* A rule cannot continue without a required value and cannot report an error itself: the first such argument is recorded in the program. */
static void refuse_symbol(const tc_node *n, int i, tc_sym s) {
    tc_program *p = n->graph->program;
    const char *name = tc_op_schema(n->op)->params[i].name;
    p->wanted = s;
    if (!p->refused)
        p->refused = tc_error(TC_UNSUPPORTED, "%s with a symbolic '%s': it must be a constant, not a size or a number read from a tensor",
                              tc_op_name(n->op), name);
}
tc_status tc_op_checked(tc_program *p, tc_status s) {
    tc_status r = p->refused;
    p->refused = NULL;
    if (r) tc_status_free(s);
    return r ? r : s;
}

int64_t tc_arg_int(const tc_node *n, int i) {
    int64_t v = 0;
    if (!tc_sym_const_int(tc_arg_sym(n, i), &v)) refuse_symbol(n, i, tc_arg_sym(n, i));
    return v;
}

bool tc_arg_bool(const tc_node *n, int i) {
    const tc_arg *a = &n->args[i];
    return a->kind == TC_A_SCALAR && !a->is_sym && a->scalar.i != 0;
}

double tc_arg_float(const tc_node *n, int i) {
    const tc_arg *a = &n->args[i];
    double v = 0;
    if (a->kind == TC_A_SCALAR && !a->is_sym) return tc_scalar_to_double(a->scalar);
    if (!tc_sym_const_float(tc_arg_sym(n, i), &v)) refuse_symbol(n, i, tc_arg_sym(n, i));
    return v;
}

int tc_arg_ints(const tc_node *n, int i, int64_t *out, int max) {
    const tc_arg *a = &n->args[i];
    if (a->kind != TC_A_INTS) return -1;
    for (int k = 0; k < a->n; k++) {
        if (k >= max) TC_BUG("%s: argument %d is longer than %d", tc_op_name(n->op), i, max);
        out[k] = 0;
        if (!tc_sym_const_int(a->syms[k], &out[k])) refuse_symbol(n, i, a->syms[k]);
    }
    return a->n;
}

/* ---- the usual words ---- */
tc_value *tc_e_add(tc_emit *e, tc_value *a, tc_value *b) { return tc_emit_call(e, "aten::add.Tensor", "vv", a, b); }
tc_value *tc_e_sub(tc_emit *e, tc_value *a, tc_value *b) { return tc_emit_call(e, "aten::sub.Tensor", "vv", a, b); }
tc_value *tc_e_mul(tc_emit *e, tc_value *a, tc_value *b) { return tc_emit_call(e, "aten::mul.Tensor", "vv", a, b); }
tc_value *tc_e_div(tc_emit *e, tc_value *a, tc_value *b) { return tc_emit_call(e, "aten::div.Tensor", "vv", a, b); }
tc_value *tc_e_neg(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::neg", "v", a); }
tc_value *tc_e_adds(tc_emit *e, tc_value *a, double s) { return tc_emit_call(e, "aten::add.Tensor", "vf", a, s); }
tc_value *tc_e_muls(tc_emit *e, tc_value *a, double s) { return tc_emit_call(e, "aten::mul.Tensor", "vf", a, s); }
tc_value *tc_e_zeros(tc_emit *e, const tc_meta *m, tc_dtype d) { return tc_emit_call(e, "aten::zeros", "Sd", m->size, m->rank, (int)d); }
tc_value *tc_e_numbered(tc_emit *e, const tc_meta *m) {
    tc_arg end = {.kind = TC_A_INT, .sym = tc_meta_numel(e->graph->program->sym, m)};
    return tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::arange", "a", &end), m->size, m->rank);
}
tc_value *tc_e_of_last(tc_emit *e, tc_value *g, tc_value *own, tc_value *back) {
    return tc_emit_call(e, "aten::masked_fill.Scalar", "vvi", g, tc_emit_call(e, "aten::ne.Tensor", "vv", own, back), (int64_t)0);
}
tc_value *tc_e_zeros_like(tc_emit *e, tc_value *a) { return tc_emit_call(e, "aten::zeros_like", "v", a); }
tc_value *tc_e_unless_zero(tc_emit *e, tc_value *d, tc_value *v) {
    return tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::eq.Scalar", "vi", d, (int64_t)0), (int64_t)0, v);
}

tc_value *tc_e_over_unless_zero(tc_emit *e, tc_value *d, tc_value *g, tc_value *by) {
    if (e->graph->program->forward_mode) /* the transpose divides after the mask: 0 / 0 must not arise */
        by = tc_emit_call(e, "aten::where.ScalarSelf", "viv", tc_emit_call(e, "aten::eq.Scalar", "vi", d, (int64_t)0), (int64_t)1, by);
    return tc_e_unless_zero(e, d, tc_e_div(e, g, by));
}

tc_value *tc_e_cast(tc_emit *e, tc_value *a, tc_dtype d) {
    if (e->status || !a || a->meta.dtype == d) return a;
    return tc_emit_call(e, "aten::_to_copy", "vd", a, (int)d);
}

/* True also for a symbol that a later guard fixed to this value. */
static bool is_one(tc_symctx *c, tc_sym s) {
    int64_t n;
    if (tc_sym_const_int(s, &n)) return n == 1;
    return tc_sym_known(c, tc_sym_op(c, TC_S_EQ, s, tc_sym_int(c, 1), NULL)) == 1;
}

tc_value *tc_e_sum_to(tc_emit *e, tc_value *grad, const tc_meta *like) {
    if (e->status || !grad) return NULL;
    tc_symctx *c = e->graph->program->sym;
    int64_t dims[TC_MAX_RANK];
    int n = 0, lead = grad->meta.rank - like->rank;
    if (tc_is_complex(grad->meta.dtype) && !tc_is_complex(like->dtype)) grad = tc_emit_call(e, "aten::real", "v", grad);
    for (int i = 0; grad && i < grad->meta.rank; i++) {
        bool one = i >= lead && is_one(c, like->size[i - lead]);
        if (i < lead || (one && !tc_sym_is_int(grad->meta.size[i], 1) &&
                         tc_sym_known(c, tc_sym_op(c, TC_S_EQ, grad->meta.size[i], like->size[i - lead], NULL)) != 1))
            dims[n++] = i;
    }
    if (n) grad = tc_emit_call(e, "aten::sum.dim_IntList", "vIb", grad, dims, n, 1);
    if (lead > 0) grad = tc_emit_call(e, "aten::view", "vS", grad, like->size, like->rank);
    return grad;
}
