/* as_strided in functionalisation (alias.h): storage offsets of views, and the base as a flat tensor in memory order. */
#include "op/alias.h"

#include "op/shape.h"

/* The offset of view a in its parent, a tensor of type m; in elements. */
static tc_sym begins(tc_symctx *c, const tc_alias *a, const tc_meta *m, const tc_sym *stride) {
    const char *name = tc_op_schema(a->view.op)->name;
    const tc_arg *args = a->view.args;
    const bool select = !strcmp(name, "select"), slice = !strcmp(name, "slice"), diagonal = !strcmp(name, "diagonal");
    int64_t d, at;
    if (!(select || slice || diagonal) || (slice && args[2].kind == TC_A_NONE)) return tc_sym_int(c, 0);
    if (diagonal) {
        tc_sym_const_int(args[1].sym, &at);
        tc_sym_const_int(args[at < 0 ? 2 : 3].sym, &d);
        return tc_sym_mul(c, tc_sym_int(c, at < 0 ? -at : at), stride[d < 0 ? d + m->rank : d]);
    }
    tc_sym_const_int(args[1].sym, &d);
    if (d < 0) d += m->rank;
    tc_sym from = args[2].sym;
    if (tc_sym_const_int(from, &at) && at < 0) from = tc_sym_max(c, tc_sym_add(c, from, m->size[d]), tc_sym_int(c, 0));
    return tc_sym_mul(c, slice ? tc_sym_min(c, from, m->size[d]) : from, stride[d]);
}

/* The offset of a in its storage, in elements. */
static tc_status begins_at(tc_functional *f, tc_alias *a, tc_sym *out) {
    tc_program *p = f->g->program;
    *out = tc_sym_int(p->sym, 0);
    for (const tc_meta *m, *own; a->parent; a = a->parent) {
        while (!tc_view_invertible(a->view.op)) {
            tc_value *v;
            TC_TRY(tc_alias_value(f, a->parent, &v));
            TC_TRY(tc_alias_in_steps(f, a, v));
        }
        TC_TRY(tc_alias_meta(f, a->parent, &m));
        TC_TRY(tc_alias_meta(f, a, &own));
        if (own->dtype != m->dtype) return tc_error(TC_UNSUPPORTED, "as_strided of a view of another type is not supported");
        if (!strcmp(tc_op_schema(a->view.op)->name, "as_strided")) {
            *out = tc_sym_add(p->sym, *out, a->view.args[3].sym);
            return NULL;
        }
        const tc_sym *stride = m->stride ? m->stride : tc_contiguous_sym_strides(p->sym, &p->arena, m->rank, m->size);
        *out = tc_sym_add(p->sym, *out, begins(p->sym, a, m, stride));
    }
    return NULL;
}

/* Does m leave gaps in memory? stride: of its dimensions, outermost first. */
static bool has_gaps(const tc_meta *m, const tc_sym *order, const int64_t *stride) {
    int64_t within = 1, d = 0, size;
    for (int k = m->rank; k-- > 0; within *= size) {
        tc_sym_const_int(order[k], &d);
        if (!tc_sym_const_int(m->size[d], &size))
            return k > 0 || stride[k] != within; /* an unknown size is allowed in the outermost dimension only */
        if (size == 0) return false;
        if (size > 1 && stride[k] != within) return true;
    }
    return false;
}

static bool permutes(const tc_alias *a, const tc_alias *base, const tc_op *permute, const tc_sym *order, int rank) {
    if (a->parent != base || a->view.op != permute) return false;
    for (int i = 0; i < rank; i++)
        if (a->view.args[1].syms[i] != order[i]) return false;
    return true;
}

/* The base with its dimensions permuted to memory order; if it is a view of `source`, `source` itself. */
static tc_status in_memory_order(tc_functional *f, tc_alias *base, tc_alias *source, tc_alias **out) {
    tc_program *p = f->g->program;
    const tc_meta *m = base->meta;
    int64_t stride[TC_MAX_RANK], at; /* that of order[i] */
    tc_sym *order = TC_NEWN(&p->arena, tc_sym, TC_MAX_RANK);
    tc_arg *args = TC_NEWN(&f->arena, tc_arg, 2);
    *out = base;
    if (!m->stride) return NULL;
    for (int i = 0; i < m->rank; i++) {
        if (!tc_sym_const_int(m->stride[i], &at)) return tc_error(TC_UNSUPPORTED, "as_strided where strides are symbols is not supported");
        int k = i;
        for (; k > 0 && stride[k - 1] < at; k--) order[k] = order[k - 1], stride[k] = stride[k - 1];
        order[k] = tc_sym_int(p->sym, i), stride[k] = at;
    }
    if (has_gaps(m, order, stride)) return tc_error(TC_UNSUPPORTED, "as_strided of a tensor with gaps in memory is not supported");
    args[1] = (tc_arg){.kind = TC_A_INTS, .syms = order, .n = m->rank};
    const tc_op *permute = tc_op_find("aten::permute");
    *out = permutes(source, base, permute, order, m->rank) ? source : tc_alias_new(f, base, &(tc_view_step){permute, args, 2, -1}, NULL);
    return NULL;
}

/* Offsets count from the start of the storage; an input is assumed to be all of its storage. */
static tc_status check_storage(const tc_functional *f, const tc_alias_base *base) {
    const tc_input *in = base->input >= 0 ? &f->g->program->inputs[base->input] : NULL;
    if (!in || !in->data.storage || !in->data.offset) return NULL;
    return tc_error(TC_UNSUPPORTED, "as_strided with an offset, of %s, which begins at element %lld of its storage", in->name,
                    (long long)in->data.offset);
}

tc_status tc_alias_strided(tc_functional *f, tc_node *n, tc_value *source) {
    tc_alias *a = tc_alias_of(f, source)->a, *base = a;
    while (base->parent) base = base->parent;
    if (n->args[3].kind != TC_A_NONE) TC_TRY(check_storage(f, a->base));
    if (a->parent && n->args[3].kind == TC_A_NONE) {
        n->args[3].kind = TC_A_INT;
        TC_TRY(begins_at(f, a, &n->args[3].sym));
    }
    TC_TRY(in_memory_order(f, base, a, &base));
    TC_TRY(tc_alias_value(f, base, &n->args[0].value));
    if (n->args[3].kind == TC_A_NONE) n->args[3] = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(f->g->program->sym, 0)};
    tc_alias_name(f, n->outs[0], tc_alias_new(f, base, &(tc_view_step){n->op, n->args, n->nargs, -1}, n->outs[0]));
    return NULL;
}
