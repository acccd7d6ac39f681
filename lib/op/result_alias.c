/* Which results of a call alias its arguments. Views do by their schema, unless they had to copy (reshape); a composition of views (TC_OP_OF_VIEWS) does
 * if its decomposition leads back to an argument through views alone:
 *
 *     einsum('ij->ji', [%x])   =   permute(permute(%x, [0, 1]), [1, 0])
 *     cartesian_prod([%x])     =   alias(%x)                                 cartesian_prod([%x, %y]): own memory */
#include "op/functionalise.h"

#include "op/emit.h"
#include "op/shape.h"
#include "op/view.h"

/* The argument named `name`; NULL if the operator has none or it was not given. */
static const tc_arg *named(const tc_node *n, const char *name) {
    const tc_schema *s = tc_op_schema(n->op);
    for (int i = 0; i < s->nparams && i < n->nargs; i++)
        if (!strcmp(s->params[i].name, name) && n->args[i].kind != TC_A_NONE) return &n->args[i];
    return NULL;
}

/* `to` of the same type: PyTorch copies if copy=True, or if the memory format differs from the tensor's. */
static bool to_keeps(tc_program *p, const tc_node *n, const tc_meta *m) {
    const tc_arg *copy = named(n, "copy"), *format = named(n, "memory_format");
    if (n->outs[0]->meta.dtype != m->dtype || (copy && tc_scalar_to_double(copy->scalar) != 0)) return false;
    return !format || format->code == 4 || format->code == tc_sh_format(p, m);
}

/* Does the result of a view (by its schema) alias argument 0? Some views may have to copy. */
static bool keeps(tc_program *p, const tc_node *n) {
    static const char *const reshapes[] = {"reshape", "flatten", "reshape_as"};
    const char *name = tc_op_schema(n->op)->name;
    const tc_value *x = tc_arg_value(n, 0);
    if (!x || x->kind != TC_V_TENSOR) return false;
    const tc_meta *m = &x->meta;
    if (!strcmp(name, "contiguous")) return tc_sh_kept_in(p, m, named(n, "memory_format") ? named(n, "memory_format")->code : 1);
    if (!strcmp(name, "ravel")) return tc_sh_kept_in(p, m, 1);
    if (!strcmp(name, "to") || !strcmp(name, "type_as")) return to_keeps(p, n, m);
    for (size_t i = 0; i < sizeof reshapes / sizeof *reshapes; i++)
        if (!strcmp(name, reshapes[i])) return tc_sh_kept_in(p, m, 1) || tc_view_fits(p, m, &n->outs[0]->meta);
    return true;
}

static tc_view_step step_of(const tc_node *n, const tc_value *v) {
    const tc_value *list = n->outs[v->out_index];
    int k = -1;
    if (list->kind == TC_V_LIST)
        for (k = 0; list->list[k] != v;) k++;
    return (tc_view_step){n->op, n->args, n->nargs, k};
}

/* Follows a result of n's decomposition back to an argument of n, through views only. */
static tc_result_alias follow(tc_program *p, const tc_node *n, tc_value *v) {
    const tc_value *end = v;
    const tc_node *m;
    tc_result_alias r = {0};
    for (; !tc_node_has_operand(n, v); v = m->args[0].value, r.nsteps++) {
        m = v->producer;
        if (!m || m->graph == n->graph || !tc_op_schema(m->op)->is_view || !keeps(p, m)) return (tc_result_alias){0};
    }
    r.of = v;
    tc_view_step *to = TC_NEWN(&p->arena, tc_view_step, (size_t)r.nsteps + 1);
    r.steps = to;
    for (int i = r.nsteps; i-- > 0; end = end->producer->args[0].value) to[i] = step_of(end->producer, end);
    return r;
}

tc_status tc_result_aliases_in_decomposition(tc_program *p, const tc_node *n, tc_result_alias *out) {
    tc_graph *g = tc_graph_create(p, NULL, "shown");
    tc_emit e = {.graph = g, .source = n->source};
    tc_status st = n->op->decompose ? tc_op_checked(p, n->op->decompose(&e, n)) : NULL;
    if (!st) st = e.status;
    else tc_status_free(e.status);
    for (int i = 0; i < n->nouts; i++) {
        tc_value *v = !st && i < e.nresults ? e.results[i] : NULL;
        const tc_value *own = n->outs[i];
        for (int k = 0; k < (own->kind == TC_V_LIST ? own->nlist : 1); k++, out++)
            *out = v ? follow(p, n, v->kind == TC_V_LIST ? v->list[k] : v) : (tc_result_alias){0};
    }
    return st;
}

bool tc_op_may_alias(const tc_op *op) { return tc_op_schema(op)->is_view || (op->flags & TC_OP_OF_VIEWS); }

tc_status tc_result_aliases(const tc_node *n, tc_result_alias **out, int *out_n) {
    tc_program *p = n->graph->program;
    const tc_schema *s = tc_op_schema(n->op);
    *out_n = 0;
    if (!tc_op_may_alias(n->op)) return NULL;
    int count = 0;
    for (int i = 0; i < n->nouts; i++) count += n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1;
    tc_result_alias *r = *out = TC_NEWN(&p->arena, tc_result_alias, (size_t)count + 1);
    if (!s->is_view) TC_TRY(tc_result_aliases_in_decomposition(p, n, r));
    else if (!keeps(p, n)) return NULL;
    *out_n = count;
    for (int i = 0; i < n->nouts && s->is_view; i++)
        for (int k = 0; k < (n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1); k++) {
            tc_view_step *one = TC_NEW(&p->arena, tc_view_step);
            *one = (tc_view_step){n->op, n->args, n->nargs, n->outs[i]->kind == TC_V_LIST ? k : -1};
            *r++ = (tc_result_alias){tc_arg_value(n, 0), one, 1};
        }
    return NULL;
}
