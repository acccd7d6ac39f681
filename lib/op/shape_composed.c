/* Shape rules of composite operators: the result types of their decomposition; for result 0, where PyTorch's strides differ from those of the
 * composition, the right strides (log_sigmoid is always contiguous, while its parts follow the input). */
#include "op/emit.h"
#include "op/shape.h"

tc_status tc_shape_decomposed(tc_shape_ctx *c) {
    tc_arena *a = &c->program->arena;
    tc_graph *g = tc_graph_create(c->program, NULL, "shape");
    tc_value *results[32] = {0};
    tc_value **outs = TC_NEWN(a, tc_value *, (size_t)(c->nouts > 0 ? c->nouts : 1));
    for (int i = 0; i < c->nouts; i++) outs[i] = &c->outs[i];
    if (c->nouts > 32) return tc_sh_fail(c, "%d results, at most 32", c->nouts);
    tc_arg *args = c->nargs ? tc_arena_dup(a, c->args, (size_t)c->nargs * sizeof *args) : NULL;
    tc_node n = {.op = c->op, .args = args, .nargs = c->nargs, .outs = outs, .nouts = c->nouts, .name = "shape", .source = c->source, .graph = g};
    tc_emit e = {.graph = g, .source = c->source, .results = results, .nresults = c->nouts};
    tc_status s = tc_op_checked(c->program, c->op->decompose(&e, &n));
    if (!s) s = e.status;
    else if (e.status && e.status != s) tc_status_free(e.status);
    TC_TRY(s, "%s", tc_op_name(c->op));
    for (int i = 0; i < c->nouts; i++) {
        if (!results[i]) continue;
        c->outs[i].kind = results[i]->kind;
        c->outs[i].meta = results[i]->meta;
        c->outs[i].sym = results[i]->sym;
        if (results[i]->kind == TC_V_LIST) {
            tc_value **el;
            TC_TRY(tc_sh_out_list(c, i, results[i]->nlist, &el));
            for (int k = 0; k < results[i]->nlist; k++) el[k]->kind = results[i]->list[k]->kind, el[k]->meta = results[i]->list[k]->meta;
        }
    }
    return NULL;
}
tc_status tc_shape_decomposed_format(tc_shape_ctx *c) {
    TC_TRY(tc_shape_decomposed(c));
    tc_dims d = tc_dims_of(&c->outs[0].meta);
    return tc_sh_out_format(c, 0, c->outs[0].meta.dtype, &d, tc_sh_meta(c, 0));
}
tc_status tc_shape_decomposed_columns(tc_shape_ctx *c) {
    TC_TRY(tc_shape_decomposed(c));
    tc_dims d = tc_dims_of(&c->outs[0].meta);
    return tc_sh_out_columns(c, 0, c->outs[0].meta.dtype, &d);
}

tc_status tc_shape_decomposed_like(tc_shape_ctx *c) {
    TC_TRY(tc_shape_decomposed(c));
    return tc_sh_out_like(c, 0, tc_sh_meta(c, 0), c->outs[0].meta.dtype);
}
tc_status tc_shape_decomposed_rows(tc_shape_ctx *c) {
    TC_TRY(tc_shape_decomposed(c));
    c->outs[0].meta.stride = NULL;
    return NULL;
}
