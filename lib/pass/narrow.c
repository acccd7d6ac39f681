/* Narrowing of loops to the slices that are read of them (pass/narrow.h). */
#include "pass/narrow.h"

#include "op/emit.h"
#include "op/shape.h"
#include "pass/fuse.h"
#include "pass/readers.h"

/* The slices and selects that read a value, and the number of elements that they read together. */
typedef struct {
    int count;
    tc_sym elements;
} parts;
typedef struct {
    tc_plan *plan;
    int *readers; /* by value id */
    parts *parts; /* by value id */
    int *maker;   /* by value id: the loop group whose only result it is; -1: none */
    size_t n;
} ctx;

/* A slice or select: elements start, start + step ... of dimension dim. */
typedef struct {
    int dim;
    tc_sym start;
    int64_t step;
    bool drops; /* the dimension */
} part;

static bool in_plan(const ctx *c, const tc_value *v) { return v && v->graph == c->plan->graph && v->id < c->n; }

/* The single value that a loop stores, by a single store; else NULL. */
static const tc_value *only_result(const tc_loop *l) {
    const tc_value *v = l->stores.len == 1 ? l->buffers.data[l->stores.data[0].buffer].value : NULL;
    for (size_t i = 0; v && i < l->buffers.len; i++)
        if (l->buffers.data[i].value == v && !l->buffers.data[i].written) return NULL;
    return v;
}

/* ---- slices ---- */
static bool read_part(const tc_program *p, const tc_node *n, part *out) {
    const bool slice = !strcmp(tc_op_name(n->op), "aten.slice.Tensor"), select = !strcmp(tc_op_name(n->op), "aten.select.int");
    const tc_value *of = slice || select ? tc_arg_value(n, 0) : NULL;
    const tc_sym from = !of || tc_arg_is_none(n, 2) ? NULL : tc_arg_sym(n, 2);
    int64_t dim, at = 0;
    if (!of || of->kind != TC_V_TENSOR || !tc_sym_const_int(tc_arg_sym(n, 1), &dim)) return false;
    if (from && !tc_sym_const_int(from, &at)) return false;
    *out = (part){.dim = (int)(dim < 0 ? dim + of->meta.rank : dim), .step = 1, .drops = select};
    if (slice && (!tc_sym_const_int(tc_arg_sym(n, 4), &out->step) || out->step < 1)) return false;
    const tc_sym whole = of->meta.size[out->dim];
    if (slice) out->start = tc_slice_bound(p->sym, from, whole, false);
    else out->start = at < 0 ? tc_sym_add(p->sym, whole, from) : from; /* in range: a guard ensures it */
    return true;
}

/* The axis that indexes the dimension and can be shortened; -1: none. */
static int axis_of(const tc_loop *l, int dim) {
    const tc_lstore *st = &l->stores.data[0];
    int axis;
    if (st->pred != TC_LV_NONE || dim >= st->rank || !tc_affine_is_axis(&st->index[dim], &axis)) return -1;
    for (int d = 0; d < st->rank; d++)
        if (d != dim && tc_affine_axes(&st->index[d]) >> axis & 1) return -1;
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].over >> axis & 1 || l->inst.data[i].checked) return -1;
    return axis;
}

/* ---- the narrowed loop ---- */
static tc_affine moved(const tc_loop *l, tc_affine a, int axis, const part *p) {
    for (int i = 0; i < a.n; i++) {
        if (a.term[i].axis != axis) continue;
        const tc_sym coef = a.term[i].coef;
        a.base = tc_sym_add(l->sym, a.base, tc_sym_mul(l->sym, coef, p->start));
        if (!p->drops) a.term[i].coef = tc_sym_mul(l->sym, coef, tc_sym_int(l->sym, p->step));
        else a.term[i--] = a.term[--a.n];
    }
    return a;
}
static void restrict_loop(tc_loop *l, int axis, const part *p, tc_value *to) {
    const uint64_t gone = p->drops ? UINT64_C(1) << axis : 0;
    for (size_t i = 0; i < l->inst.len; i++) {
        tc_linst *in = &l->inst.data[i];
        in->axes &= ~gone;
        if (!in->rank) continue;
        tc_affine *index = tc_arena_dup(l->arena, in->index, sizeof *index * (size_t)in->rank);
        for (int d = 0; d < in->rank; d++) index[d] = moved(l, index[d], axis, p);
        in->index = index;
    }
    tc_lstore *st = &l->stores.data[0];
    tc_affine *index = TC_NEWN(l->arena, tc_affine, (size_t)st->rank + 1);
    int rank = 0;
    for (int d = 0; d < st->rank; d++)
        if (d != p->dim || !p->drops) index[rank++] = st->index[d];
    st->index = index, st->rank = rank, st->axes &= ~gone;
    tc_lbuffer *b = &l->buffers.data[st->buffer];
    b->value = to, b->rank = to->meta.rank, b->size = to->meta.size;
    l->axes[axis].extent = p->drops ? tc_sym_int(l->sym, 1) : to->meta.size[p->dim];
}

/* The loop's result that a view group slices, or NULL; *out_axis: the axis to shorten. */
static const tc_value *shown(const ctx *c, const tc_group *g, part *out, int *out_axis) {
    const tc_value *of = g->kind != TC_GROUP_VIEW || g->nviews ? NULL : tc_arg_value(g->node, 0);
    if (!in_plan(c, of) || !in_plan(c, g->node->outs[0]) || c->maker[of->id] < 0 || !read_part(c->plan->program, g->node, out)) return NULL;
    *out_axis = axis_of(c->plan->groups.data[c->maker[of->id]].loop, out->dim);
    return *out_axis < 0 ? NULL : of;
}

static void count_parts(ctx *c) {
    const tc_program *p = c->plan->program;
    for (size_t i = 0; i < c->plan->groups.len; i++) {
        const tc_group *g = &c->plan->groups.data[i];
        const tc_value *of = g->kind != TC_GROUP_VIEW || g->nviews ? NULL : tc_arg_value(g->node, 0);
        part shows;
        if (!in_plan(c, of) || !read_part(p, g->node, &shows)) continue;
        parts *all = &c->parts[of->id];
        const tc_sym n = tc_meta_numel(p->sym, &g->node->outs[0]->meta);
        all->elements = all->count++ ? tc_sym_add(p->sym, all->elements, n) : n;
    }
}
/* Is the value read only by slices that together cover less than all of it? Not for reductions, which would be repeated for each slice. */
static bool only_parts(const ctx *c, const tc_value *v) {
    const tc_loop *l = c->plan->groups.data[c->maker[v->id]].loop;
    const parts *all = &c->parts[v->id];
    tc_symctx *sym = c->plan->program->sym;
    if (all->count != c->readers[v->id] || tc_sym_known(sym, tc_sym_op(sym, TC_S_LT, all->elements, tc_meta_numel(sym, &v->meta), NULL)) != 1)
        return false;
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].over) return false;
    return true;
}

/* Merges into view group `at` the loop that produces what it slices, or a copy of the loop when other slices need it, too. False: not possible. */
static bool narrow(ctx *c, size_t at) {
    tc_group *g = &c->plan->groups.data[at];
    part p;
    int axis;
    const tc_value *of = shown(c, g, &p, &axis);
    if (!of || (c->readers[of->id] != 1 && !only_parts(c, of))) return false;
    tc_group *from = &c->plan->groups.data[c->maker[of->id]];
    if (!TC_STEP(c->plan->steps, "the loop of %s computes what %s shows of it", tc_fused_name(from->node), tc_fused_name(g->node))) return false;
    g->kind = TC_GROUP_LOOP;
    c->parts[of->id].count--;
    if (--c->readers[of->id]) g->loop = tc_loop_copy(from->loop);
    else g->loop = from->loop, from->loop = NULL;
    restrict_loop(g->loop, axis, &p, g->node->outs[0]);
    tc_fused_node(g->loop, g->node);
    return true;
}

void tc_plan_narrow(tc_plan *plan) {
    ctx c = {.plan = plan, .n = plan->graph->nvalues};
    c.readers = tc_plan_readers(plan), c.parts = tc_xcalloc(c.n + 1, sizeof *c.parts), c.maker = tc_xcalloc(c.n + 1, sizeof *c.maker);
    for (size_t i = 0; i < c.n; i++) c.maker[i] = -1;
    count_parts(&c);
    for (size_t i = 0; i < plan->groups.len; i++) {
        tc_group *g = &plan->groups.data[i];
        if (g->kind == TC_GROUP_VIEW && !narrow(&c, i)) continue;
        const tc_value *v = g->kind == TC_GROUP_LOOP && g->loop ? only_result(g->loop) : NULL;
        if (in_plan(&c, v)) c.maker[v->id] = (int)i;
    }
    tc_plan_close(plan);
    free(c.readers);
    free(c.parts);
    free(c.maker);
}
