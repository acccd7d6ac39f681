/* What gradient rules and decompositions share beside the nodes of emit.h: lists of results, requirements of the run, gradients given to arguments,
 * the forward operator again, arguments as constants (shape.h). */
#include "op/shape.h"

tc_symctx *tc_e_sym(const tc_emit *e) { return e->graph->program->sym; }

tc_value *tc_e_list(tc_emit *e, tc_value *const *v, int n) {
    if (e->status) return NULL;
    tc_value *l = tc_graph_value(e->graph, TC_V_LIST, "list");
    l->list = TC_NEWN(&e->graph->program->arena, tc_value *, (size_t)(n ? n : 1));
    for (int k = 0; k < n; k++) l->list[k] = v[k];
    l->nlist = n;
    return l;
}

void tc_e_require(tc_emit *e, tc_value *each, const char *text) {
    tc_emit_call(e, "aten::_assert_async.msg", "vt", tc_e1(e, "aten::all", each), text);
}
void tc_e_require_unit(tc_emit *e, tc_value *x, const char *text) {
    tc_e_require(e,
                 tc_e2(e, "aten::logical_and", tc_emit_call(e, "aten::ge.Scalar", "vi", x, (int64_t)0),
                       tc_emit_call(e, "aten::le.Scalar", "vi", x, (int64_t)1)),
                 text);
}
tc_status tc_e_done(tc_emit *e) {
    tc_status s = e->status;
    e->status = NULL;
    return s;
}
tc_status tc_grad_none(tc_emit *e, const tc_node *n, tc_value *const *gs) {
    (void)gs, (void)n;
    return tc_e_done(e);
}

tc_value *tc_e_conj(tc_emit *e, tc_value *a) { return a && tc_is_complex(a->meta.dtype) ? tc_e1(e, "aten::conj_physical", a) : a; }

tc_value *tc_e_sum_dims(tc_emit *e, tc_value *a, const int64_t *dims, int n, bool keepdim) {
    if (n == 0) return a;
    return tc_emit_call(e, "aten::sum.dim_IntList", "vIb", a, dims, n, (int)keepdim);
}

bool tc_e_pin(tc_emit *e, const tc_node *n, tc_sym s, int64_t *out) {
    tc_program *p = e->graph->program;
    return tc_program_pin(p, s, n->source, tc_op_name(n->op), out);
}

bool tc_e_guard(tc_emit *e, const tc_node *n, tc_sym cond) {
    const int known = tc_sym_known(tc_e_sym(e), cond);
    if (known < 0) tc_program_guard(e->graph->program, (tc_guard){.cond = cond, .source = n->source, .op = tc_op_name(n->op)});
    return known != 0;
}

void tc_e_give(tc_emit *e, const tc_node *n, int arg, tc_value *g) {
    const tc_meta *m = tc_arg_meta(n, arg);
    if (!g || !m || !tc_emit_wants_grad(e, n, arg)) return;
    g = tc_e_sum_to(e, g, m);
    if (g && g->meta.dtype != m->dtype) {
        if (tc_is_complex(g->meta.dtype) && !tc_is_complex(m->dtype)) g = tc_e1(e, "aten::real", g);
        if (g && g->meta.dtype != m->dtype) g = tc_e_cast(e, g, m->dtype);
    }
    tc_emit_grad(e, arg, g);
}

tc_node *tc_e_args(tc_emit *e, const char *op, const tc_arg *args, int nargs) {
    tc_node *out = NULL;
    if (e->status) return NULL;
    const tc_op *o = tc_op_find(op);
    if (!o) TC_BUG("no operator %s", op);
    tc_status s = tc_graph_call(e->graph, o, args, nargs, e->source, e->before, &out);
    if (s) {
        tc_emit_fail(e, s);
        return NULL;
    }
    out->origin = e->origin;
    return out;
}

tc_status tc_e_forward(tc_emit *e, const char *op, const tc_node *n) {
    tc_node *r = tc_e_args(e, op, n->args, n->nargs);
    for (int i = 0; r && i < r->nouts; i++) tc_emit_result(e, i, r->outs[i]);
    return tc_e_done(e);
}

int tc_wrap(int64_t d, int rank) { return (int)(d < 0 ? d + (rank > 0 ? rank : 1) : d); }

uint64_t tc_arg_dim_mask(const tc_node *n, int arg, int rank) {
    int64_t d[64];
    int k = 0;
    if (n->args[arg].kind == TC_A_INT || n->args[arg].kind == TC_A_SCALAR) d[0] = tc_arg_int(n, arg), k = 1;
    else k = tc_arg_ints(n, arg, d, 64);
    if (k <= 0) return ((uint64_t)1 << rank) - 1;
    uint64_t m = 0;
    for (int i = 0; i < k; i++) m |= (uint64_t)1 << tc_wrap(d[i], rank);
    return rank == 0 ? 0 : m;
}

const char *tc_arg_string(const tc_node *n, int i) { return n->args[i].kind == TC_A_STRING ? n->args[i].string : NULL; }

tc_dtype tc_arg_dtype(const tc_node *n, int i, tc_dtype otherwise) {
    return n->args[i].kind == TC_A_DTYPE && n->args[i].dtype != TC_DTYPE_NONE ? n->args[i].dtype : otherwise;
}

tc_scalar tc_arg_scalar(const tc_node *n, int i) {
    const tc_arg *a = &n->args[i];
    int64_t v;
    double f;
    if (a->kind == TC_A_SCALAR && !a->is_sym) return a->scalar;
    tc_sym s = a->kind == TC_A_INT || a->kind == TC_A_SCALAR ? a->sym : NULL;
    if (s && tc_sym_const_int(s, &v)) return tc_scalar_int(v);
    if (s && tc_sym_const_float(s, &f)) return tc_scalar_float(f);
    return tc_scalar_int(0);
}
