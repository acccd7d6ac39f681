/* Finds the operands that kernels get in tiles, and writes the loops that make them (pass/tiles.h). */
#include "pass/tiles.h"

#include "kernel/kernel.h"
#include "loop/nest.h"
#include "op/emit.h"
#include "op/lower.h"
#include "pass/fuse.h"

enum { DEEPEST = 64, MOST_INSTS = 192, MOST_BUFFERS = 32, MOST_MEMO = 128, FEW_ROWS = 64, FEW_INSTS = 24 };

/* A value that was inlined at an index. */
typedef struct {
    const tc_value *v;
    const tc_affine *index;
    tc_lv at;
} inlined;
typedef struct {
    tc_plan *plan;
    tc_loop *to;
    const tc_value *from; /* whose tile the result's replaces, or NULL; found: it is read */
    const bool *late;     /* by value id, or NULL: the sizes are not known before the run */
    bool found, refused;
    uint64_t column, large; /* the axis of the last dimension; the axes of the last two, but for those of one element */
    inlined memo[MOST_MEMO];
    int nmemo, steps; /* steps: pointwise nodes */
} builder;

static tc_lv inline_value(builder *b, tc_value *v, const tc_affine *index, int depth);

/* ---- views ---- */
static bool is_one(tc_sym size) { return tc_sym_is_int(size, 1); }

/* The index of an element of `from` whose index in `v`, a view that only adds, drops or repeats dimensions of one element, is `index`; NULL: another
 * kind of view. */
static const tc_affine *index_before(builder *b, const tc_value *v, const tc_value *from, const tc_affine *index) {
    const tc_meta *to = &v->meta, *of = &from->meta;
    tc_affine *out = TC_NEWN(b->to->arena, tc_affine, (size_t)of->rank + 1);
    const tc_affine zero = {.base = tc_sym_int(b->to->sym, 0)};
    if (!strcmp(tc_op_schema(v->producer->op)->name, "expand")) {
        for (int d = 0; d < of->rank; d++) out[d] = is_one(of->size[d]) ? zero : index[d + to->rank - of->rank];
        return out;
    }
    if (!(v->producer->op->flags & TC_OP_SAME_ORDER)) return NULL;
    int k = 0;
    for (int d = 0; d < of->rank; d++) {
        out[d] = zero;
        if (is_one(of->size[d])) continue;
        while (k < to->rank && is_one(to->size[k])) k++;
        if (k == to->rank || to->size[k] != of->size[d]) return NULL;
        out[d] = index[k++];
    }
    while (k < to->rank && is_one(to->size[k])) k++;
    return k == to->rank ? out : NULL;
}

/* ---- pointwise nodes ---- */
/* Appends the loop of a node at the element `index` of its result. */
static tc_lv append(builder *b, const tc_loop *l, const tc_affine *index, int depth) {
    const tc_lstore *st = &l->stores.data[0];
    tc_affine as[64];
    if (!tc_loop_axes_at(l, st->index, index, st->rank, as)) return TC_LV_NONE;
    tc_lv *given = tc_xcalloc(2 * l->inst.len + 1, sizeof *given), *at = given + l->inst.len, out = TC_LV_NONE;
    bool fits = true;
    for (size_t i = 0; i < l->inst.len && fits; i++) {
        const tc_linst *in = &l->inst.data[i];
        given[i] = TC_LV_NONE;
        if (in->kind != TC_L_LOAD || in->gather || in->pred != TC_LV_NONE) continue;
        const tc_affine *at_value = in->index;
        fits = tc_affine_compose(b->to, &at_value, in->rank, as);
        if (fits) given[i] = inline_value(b, l->buffers.data[in->buffer].value, at_value, depth + 1);
        fits = given[i] != TC_LV_NONE;
    }
    if (fits && tc_loop_append(b->to, l, as, given, false, at)) out = at[st->value];
    free(given);
    if (b->to->inst.len > MOST_INSTS || b->to->buffers.len > MOST_BUFFERS) return TC_LV_NONE;
    return out;
}

static tc_lv load(builder *b, tc_value *v, const tc_affine *index) {
    return tc_loop_push(b->to, (tc_linst){.kind = TC_L_LOAD,
                                          .dtype = tc_dtype_compute(v->meta.dtype),
                                          .buffer = tc_loop_buffer(b->to, v),
                                          .rank = v->meta.rank,
                                          .index = index,
                                          .a = {TC_LV_NONE, TC_LV_NONE, TC_LV_NONE},
                                          .pred = TC_LV_NONE});
}

/* The element of `from` that the tile holds where the result's element goes. */
static tc_lv load_replaced(builder *b, tc_value *v, const tc_affine *index) {
    const int rank = v->meta.rank, first = 63 - __builtin_clzll(b->column) + 1 - rank;
    for (int d = 0, axis; d < rank; d++)
        if (!(tc_affine_is_axis(&index[d], &axis) && axis == first + d) && !(is_one(v->meta.size[d]) && tc_affine_is_zero(&index[d])))
            return TC_LV_NONE;
    const tc_lv at = load(b, v, index);
    b->to->buffers.data[b->to->inst.data[at].buffer].replaced = b->found = true;
    return at;
}

/* Does the index depend on the row and on the column? Smaller values are cheap to store, and need not be computed again for each tile. */
static bool is_large(const builder *b, const tc_affine *index, int rank) {
    uint64_t axes = 0;
    for (int d = 0; d < rank; d++) axes |= tc_affine_axes(&index[d]);
    return (axes & b->large) == b->large;
}
static bool same_index(const tc_affine *a, const tc_affine *b, int rank) {
    for (int d = 0; d < rank; d++)
        if (!tc_affine_equal(&a[d], &b[d])) return false;
    return true;
}

static tc_lv made(builder *b, tc_value *v, const tc_affine *index, int depth) {
    const tc_node *n = v->graph == b->plan->graph ? v->producer : NULL;
    b->refused |= b->late && v->graph == b->plan->graph && b->late[v->id];
    if (b->from && v == b->from) return load_replaced(b, v, index);
    if (!n || n->nouts != 1 || depth > DEEPEST || !is_large(b, index, v->meta.rank)) return load(b, v, index);
    if (n->op->view_alias) {
        tc_value *from = tc_arg_value(n, 0);
        const tc_affine *before = from && from->kind == TC_V_TENSOR && from->meta.dtype == v->meta.dtype ? index_before(b, v, from, index) : NULL;
        return before ? inline_value(b, from, before, depth + 1) : load(b, v, index);
    }
    if (!n->op->lower || n->op->kernel) return load(b, v, index);
    tc_loop *l = NULL;
    tc_status s = tc_lower_node(b->plan->program, n, &l);
    const bool pointwise = !s && tc_loop_is_pointwise(l);
    tc_status_free(s);
    const tc_lv at = pointwise ? append(b, l, index, depth) : TC_LV_NONE;
    tc_loop_free(l);
    if (pointwise) b->steps++, tc_fused_node(b->to, n);
    return pointwise ? at : load(b, v, index);
}
static tc_lv inline_value(builder *b, tc_value *v, const tc_affine *index, int depth) {
    for (int i = 0; i < b->nmemo; i++)
        if (b->memo[i].v == v && same_index(b->memo[i].index, index, v->meta.rank)) return b->memo[i].at;
    const tc_lv at = made(b, v, index, depth);
    if (b->nmemo == MOST_MEMO) return TC_LV_NONE;
    b->memo[b->nmemo++] = (inlined){v, index, at};
    return at;
}

/* The loop that makes an operand; NULL: it is no pointwise function of smaller values and, if there is one, of `from`. */
static tc_loop *tile_loop(tc_plan *plan, tc_value *v, const tc_value *from, const bool *late) {
    const int rank = v->meta.rank;
    tc_loop *l = tc_loop_create(plan->program);
    builder b = {.plan = plan, .to = l, .from = from, .late = late};
    tc_affine *index = TC_NEWN(l->arena, tc_affine, (size_t)rank + 1);
    for (int d = 0; d < rank; d++) index[d] = tc_affine_axis(l->sym, tc_loop_axis(l, v->meta.size[d]));
    b.column = UINT64_C(1) << (rank - 1);
    for (int d = rank - 2; d < rank; d++) b.large |= from && is_one(v->meta.size[d]) ? 0 : UINT64_C(1) << d;
    const tc_lv at = inline_value(&b, v, index, 0);
    bool fits = at != TC_LV_NONE && (from ? b.found && !b.refused : b.steps > 0);
    if (fits) {
        tc_loop_store(l, (tc_lstore){.buffer = tc_loop_buffer(l, v), .rank = rank, .index = index, .value = at, .pred = TC_LV_NONE});
        l->region = l->tile = true;
        l->columns = b.column;
        fits = tc_loop_is_one_nest(l);
        for (size_t i = 0; i < l->inst.len; i++)
            fits = fits && !(l->inst.data[i].kind == TC_L_LOAD && l->buffers.data[l->inst.data[i].buffer].value == v);
    }
    if (fits) return l;
    tc_loop_free(l);
    return NULL;
}

/* ---- what is known before the run ---- */
typedef struct {
    const tc_plan *plan;
    bool *late, any;
} lateness;
static void read_late(void *ctx, tc_value **place) {
    lateness *l = ctx;
    const tc_value *v = *place;
    l->any |= v->graph == l->plan->graph && l->late[v->id];
    l->any |= v->kind == TC_V_SYM && v->sym && tc_sym_holds_data(v->sym);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) l->any |= v->list[i]->graph == l->plan->graph && l->late[v->list[i]->id];
}
static bool late_number(const tc_arg *a) {
    bool late = (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) && tc_sym_holds_data(a->sym);
    for (int k = 0; a->kind == TC_A_INTS && k < a->n; k++) late |= tc_sym_holds_data(a->syms[k]);
    return late;
}
static void set_late(lateness *l, const tc_value *v) {
    l->late[v->id] = l->any;
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++) l->late[v->id] |= tc_sym_holds_data(v->meta.size[d]);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) set_late(l, v->list[i]);
}
/* By value id: is it the result of control flow, or are sizes or numbers from data needed for it? Such calls are bound one after another in the run
 * (runtime/bind_dynamic.c), where nothing comes in tiles. */
static bool *late_values(const tc_plan *plan) {
    lateness l = {plan, tc_xcalloc(plan->graph->nvalues + 1, sizeof(bool)), false};
    for (tc_node *n = plan->graph->first; n; n = n->next) {
        l.any = n->op->flags & (TC_OP_HIGHER_ORDER | TC_OP_DATA_SHAPE) || (n->op->kernel && n->op->kernel->flags & TC_KF_DYNAMIC);
        tc_node_each_input(n, read_late, &l);
        for (int i = 0; i < n->nargs; i++) l.any |= late_number(&n->args[i]);
        for (int i = 0; i < n->nouts; i++) set_late(&l, n->outs[i]);
    }
    return l.late;
}

/* ---- which operands ---- */
static bool takes_tiles(const tc_plan *plan, const tc_node *n, int arg) {
    const tc_kernel *k = n->op->kernel;
    return k && k->tile_args >> arg & 1 && tc_arg_value(n, arg) && tc_arg_value(n, arg)->graph == plan->graph;
}
typedef struct {
    const tc_plan *plan;
    int *others, *tiled; /* by value id: how often it is read, and as an operand that may come in tiles */
    bool *decided;       /* by value id: it does come in tiles */
} survey;
static void count_read(void *ctx, tc_value **place) {
    survey *s = ctx;
    if (*place && (*place)->graph == s->plan->graph) s->others[(*place)->id]++;
    for (int i = 0; *place && (*place)->kind == TC_V_LIST && i < (*place)->nlist; i++) s->others[(*place)->list[i]->id]++;
}
/* Is it worth while? Not for few rows. */
static bool worth_tiles(const tc_value *v, const tc_value *from) {
    const tc_meta *m = &v->meta;
    int64_t rows;
    if (from) return m->rank >= 2 && m->dtype == from->meta.dtype;
    if (m->rank < 2 || (m->dtype != TC_BOOL && m->dtype != TC_F32 && m->dtype != TC_F64)) return false;
    return !is_one(m->size[m->rank - 1]) && !(tc_sym_const_int(m->size[m->rank - 2], &rows) && rows <= FEW_ROWS);
}
/* An operand that is broadcast along leading dimensions of the result is computed again for each use, but for bools. A few cheap instructions for each
 * element cost less than the memory. */
static bool cheap_enough(const tc_loop *l, const tc_value *v, const tc_value *result) {
    const tc_meta *m = &v->meta, *out = &result->meta;
    bool again = false, gathers = false;
    for (int d = 1; m->dtype != TC_BOOL && d <= out->rank - 2; d++) {
        const tc_sym have = d <= m->rank - 2 ? m->size[m->rank - 2 - d] : NULL, want = out->size[out->rank - 2 - d];
        again |= have != want && !is_one(want);
    }
    for (size_t i = 0; i < l->inst.len; i++) gathers |= l->inst.data[i].gather != NULL;
    return !again || (l->inst.len <= FEW_INSTS && !gathers);
}

/* ---- what is needed no more ---- */
typedef struct {
    const tc_plan *plan;
    bool *used; /* by value id */
} needs;
static void use(needs *n, const tc_value *v) {
    if (!v || v->graph != n->plan->graph) return;
    n->used[v->id] = true;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) n->used[v->list[i]->id] = true;
}
static void use_place(void *ctx, tc_value **place) { use(ctx, *place); }
static bool may_go(const tc_node *n) {
    return n->nouts == 1 && n->outs[0]->kind == TC_V_TENSOR && (n->op->view_alias || n->op->lower || n->op->kernel) &&
           !(n->op->flags & (TC_OP_IMPURE | TC_OP_RANDOM | TC_OP_HIGHER_ORDER));
}
/* What the loop of argument tile_to replaces is read by nothing else. */
static const tc_value *replaced_by(const tc_tile *t) {
    const tc_kernel *k = t->kernel->op->kernel;
    return k->tile_from && t->arg == k->tile_to ? tc_arg_value(t->kernel, k->tile_from) : NULL;
}
static void find_gone(const tc_plan *plan, tc_tile_plan *t) {
    needs need = {plan, tc_xcalloc(plan->graph->nvalues + 1, sizeof(bool))};
    bool *as_tile = tc_xcalloc(plan->graph->nvalues + 1, sizeof *as_tile);
    memset(t->gone, 0, (plan->graph->nvalues + 1) * sizeof *t->gone);
    for (size_t i = 0; i < t->list.len; i++) as_tile[tc_arg_value(t->list.data[i].kernel, t->list.data[i].arg)->id] = true;
    for (int i = 0; i < plan->graph->noutputs; i++) use(&need, plan->graph->outputs[i]);
    size_t left = t->list.len;
    for (tc_node *n = plan->graph->last; n; n = n->prev) {
        if (may_go(n) && (as_tile[n->outs[0]->id] || !need.used[n->outs[0]->id])) {
            t->gone[n->outs[0]->id] = true;
            continue;
        }
        const tc_value *from = NULL;
        const size_t end = left;
        for (; left && t->list.data[left - 1].kernel == n; left--)
            if (replaced_by(&t->list.data[left - 1])) from = replaced_by(&t->list.data[left - 1]);
        const bool elsewhere = from && need.used[from->id];
        tc_node_each_input(n, use_place, &need);
        if (from) need.used[from->id] = elsewhere;
        for (size_t i = left; i < end; i++) {
            const tc_loop *l = t->list.data[i].loop;
            for (size_t k = 0; k < l->buffers.len; k++)
                if (!l->buffers.data[k].written && !l->buffers.data[k].replaced) use(&need, l->buffers.data[k].value);
        }
    }
    free(need.used);
    free(as_tile);
}
/* Removes the tiles whose `from` is stored because something else reads it; were there any? */
static bool drop_stored(tc_tile_plan *t) {
    size_t kept = 0;
    const size_t n = t->list.len;
    for (size_t i = 0; i < n; i++) {
        const tc_tile *x = &t->list.data[i];
        if (replaced_by(x) && !t->gone[replaced_by(x)->id]) tc_loop_free(x->loop);
        else t->list.data[kept++] = *x;
    }
    t->list.len = kept;
    return kept < n;
}

void tc_plan_tiles(tc_plan *plan, tc_tile_plan *out) {
    *out = (tc_tile_plan){0};
    bool any = false, *late = NULL;
    for (const tc_node *n = plan->graph->first; n && !any; n = n->next) any = n->op->kernel && n->op->kernel->tile_args;
    if (!any || plan->loops) return; /* kernels written as C have no tiles */
    const size_t nv = plan->graph->nvalues + 1;
    survey s = {plan, tc_xcalloc(nv, sizeof(int)), tc_xcalloc(nv, sizeof(int)), tc_xcalloc(nv, sizeof(bool))};
    out->gone = tc_xcalloc(nv, sizeof *out->gone);
    for (tc_node *n = plan->graph->first; n; n = n->next) {
        tc_node_each_input(n, count_read, &s);
        for (int i = 0; i < n->nargs; i++)
            if (takes_tiles(plan, n, i)) s.tiled[tc_arg_value(n, i)->id]++;
    }
    for (int i = 0; i < plan->graph->noutputs; i++)
        if (plan->graph->outputs[i]) count_read(&s, &plan->graph->outputs[i]);
    for (tc_node *n = plan->graph->first; n; n = n->next)
        for (int i = 0; i < n->nargs; i++) {
            tc_value *v = takes_tiles(plan, n, i) ? tc_arg_value(n, i) : NULL;
            if (!v || !v->producer || s.others[v->id] != s.tiled[v->id]) continue;
            const tc_value *from = replaced_by(&(tc_tile){n, i, NULL});
            if (!worth_tiles(v, from)) continue;
            if (from && !late) late = late_values(plan);
            tc_loop *l = from && late[n->outs[0]->id] ? NULL : tile_loop(plan, v, from, late);
            if (l && cheap_enough(l, v, n->outs[0]) &&
                (s.decided[v->id] || TC_STEP(plan->steps, "%s is computed tile by tile", tc_fused_name(v->producer)))) {
                s.decided[v->id] = true;
                tc_vec_push(&out->list, ((tc_tile){n, i, l}));
            } else tc_loop_free(l), s.others[v->id] = -1; /* its other readers do not get it in tiles either */
        }
    do { find_gone(plan, out); } while (drop_stored(out));
    free(s.others);
    free(s.tiled);
    free(s.decided);
    free(late);
}
void tc_tile_plan_deinit(tc_tile_plan *t) {
    for (size_t i = 0; i < t->list.len; i++) tc_loop_free(t->list.data[i].loop);
    tc_vec_free(&t->list);
    free(t->gone);
}
