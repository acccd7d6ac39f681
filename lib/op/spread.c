/* scatter_add and scatter_reduce whose index is the same for all elements of a slice, as index_add and index_reduce (spread.h). */
#include "op/spread.h"

#include "op/shape.h"

/* ---- the rule ---- */
static bool is_named(const tc_node *n, const char *name) { return n && n->op && !strcmp(tc_op_name(n->op), name); }
/* The reduction of n as index_add or index_reduce have it: "sum", or the name for index_reduce. NULL: they lack it. */
static const char *reduction_of(const tc_node *n) {
    if (is_named(n, "aten.scatter_add.default")) return "sum";
    if (!is_named(n, "aten.scatter_reduce.two")) return NULL;
    const char *how = n->args[4].string;
    if (!strcmp(how, "sum")) return tc_arg_bool(n, 5) ? how : NULL;
    return !strcmp(how, "prod") || !strcmp(how, "mean") || !strcmp(how, "amax") || !strcmp(how, "amin") ? how : NULL;
}
/* The index of each slice along dimension d, where it is expanded to all of their elements and all of self's and src's slices are meant. NULL: it is
 * not. Its sizes are 1, but for d. */
static tc_value *index_of(const tc_node *n, int d) {
    const tc_value *at = tc_arg_value(n, 2);
    const tc_meta *x = tc_arg_meta(n, 0), *src = tc_arg_meta(n, 3);
    tc_value *index = at && is_named(at->producer, "aten.expand.default") ? tc_arg_value(at->producer, 0) : NULL;
    if (!index || index->meta.dtype != TC_I64 || !src || src->rank != x->rank || at->meta.rank != x->rank || index->meta.rank != x->rank) return NULL;
    for (int k = 0; k < x->rank; k++) {
        const tc_sym all = at->meta.size[k];
        if (all != src->size[k] || (k == d ? index->meta.size[k] != all : all != x->size[k] || !tc_sym_is_int(index->meta.size[k], 1))) return NULL;
    }
    return index;
}
static bool wanted(void *ctx, const tc_node *n) {
    (void)ctx;
    const tc_meta *x = reduction_of(n) ? tc_arg_meta(n, 0) : NULL;
    return x && x->rank > 1 && !tc_is_complex(x->dtype) && index_of(n, tc_wrap(tc_arg_int(n, 1), x->rank));
}
static tc_status by_slices(tc_emit *e, const tc_node *n) {
    const char *how = reduction_of(n);
    tc_value *x = tc_arg_value(n, 0), *src = tc_arg_value(n, 3);
    tc_value *index = tc_emit_call(e, "aten::reshape", "vI", index_of(n, tc_wrap(tc_arg_int(n, 1), x->meta.rank)), (int64_t[]){-1}, 1);
    tc_emit_result(e, 0,
                   !strcmp(how, "sum") ? tc_emit_call(e, "aten::index_add", "vavv", x, &n->args[1], index, src)
                                       : tc_emit_call(e, "aten::index_reduce", "vavvaa", x, &n->args[1], index, src, &n->args[4], &n->args[5]));
    return tc_e_done(e);
}
static tc_decompose_fn rule(const tc_node *n) { return wanted(NULL, n) ? by_slices : NULL; }

static bool any_in(const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next)
        if (wanted(NULL, n)) return true;
    return false;
}
bool tc_spread_any(const tc_program *p) {
    bool found = any_in(p->graph);
    for (const tc_graph *g = p->graph->first_sub; g; g = g->next_sub) found |= any_in(g);
    return found;
}
tc_status tc_spread(tc_program *p) {
    TC_TRY(tc_decompose_by(p, wanted, rule, NULL, NULL));
    return tc_decompose(p);
}
