/* tc_meta: dtype, sizes and strides of a value over symbols: contiguity, comparison, construction. */
#include "graph/graph.h"

tc_sym *tc_contiguous_sym_strides(tc_symctx *c, tc_arena *a, int rank, const tc_sym *size) {
    tc_sym *stride = TC_NEWN(a, tc_sym, rank ? (size_t)rank : 1), s = tc_sym_int(c, 1);
    for (int i = rank; i-- > 0;) {
        stride[i] = s; /* sizes 0 count as 1; a symbolic size is used as it is, since strides of empty tensors do not matter */
        if (i && !tc_sym_is_int(size[i], 0)) s = tc_sym_mul(c, s, size[i]);
    }
    return stride;
}

tc_meta tc_meta_make(tc_arena *a, tc_dtype dtype, int rank, const tc_sym *size, const tc_sym *stride) {
    tc_meta m = {.dtype = dtype, .rank = rank};
    if (rank) m.size = tc_arena_dup(a, size, sizeof *size * (size_t)rank);
    if (rank && stride) m.stride = tc_arena_dup(a, stride, sizeof *stride * (size_t)rank);
    return m;
}

tc_sym tc_meta_numel(tc_symctx *c, const tc_meta *m) { return tc_sym_product(c, m->size, m->rank); }

static const tc_sym *import_all(tc_program *p, const tc_program *from, const tc_sym *s, int n) {
    if (!s || !n) return NULL;
    tc_sym *out = TC_NEWN(&p->arena, tc_sym, (size_t)n);
    for (int i = 0; i < n; i++) out[i] = p == from ? s[i] : tc_sym_import(p->sym, s[i], from->sym);
    return out;
}

void tc_value_copy_type(tc_value *v, const tc_value *like) {
    tc_program *p = v->graph->program;
    const tc_program *from = like->graph ? like->graph->program : p;
    v->kind = like->kind;
    v->meta = like->meta;
    v->meta.size = import_all(p, from, like->meta.size, like->meta.rank);
    v->meta.stride = import_all(p, from, like->meta.stride, like->meta.rank);
    v->sym = like->sym && p != from ? tc_sym_import(p->sym, like->sym, from->sym) : like->sym;
    v->list = NULL;
    v->nlist = 0;
    if (like->kind != TC_V_LIST) return;
    v->nlist = like->nlist;
    v->list = TC_NEWN(&p->arena, tc_value *, (size_t)(v->nlist ? v->nlist : 1));
    for (int i = 0; i < v->nlist; i++) {
        v->list[i] = tc_graph_value(v->graph, TC_V_TENSOR, like->list[i]->name ? like->list[i]->name : v->name);
        tc_value_copy_type(v->list[i], like->list[i]);
        v->list[i]->producer = v->producer;
        v->list[i]->out_index = v->out_index;
    }
}
