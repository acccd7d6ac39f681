/* Fusion of producers and consumers through concatenations (pass/fuse_cat.h). */
#include "pass/fuse_cat.h"

#include "op/emit.h"
#include "op/shape.h"
#include "pass/fuse.h"
#include "pass/readers.h"

enum { MOST_PARTS = 4, MOST_INSTS = 192, MOST_BUFFERS = 32 };

typedef struct {
    tc_plan *plan;
    int *readers;  /* by value id */
    int *maker;    /* by value id: producing group; -1: an input */
    tc_loop *loop; /* the result of a merge */
    tc_map taken;  /* names of nodes whose groups were merged into others */
} ctx;

/* ---- which loops qualify ---- */
/* No reductions or scans, and all stores over the same axes. */
static bool pointwise(const tc_loop *l) {
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_REDUCE || l->inst.data[i].kind == TC_L_SCAN) return false;
    for (size_t i = 1; i < l->stores.len; i++)
        if (l->stores.data[i].axes != l->stores.data[0].axes) return false;
    return l->stores.len > 0;
}

/* The dimension along which the loop's stores, all to one buffer, are consecutive parts of it (a concatenation); -1: none. */
static int parted(const tc_loop *l) {
    const tc_lbuffer *b = &l->buffers.data[l->stores.data[0].buffer];
    int along = -1;
    if (l->stores.len < 2 || l->stores.len > MOST_PARTS) return -1;
    for (int d = 0; d < b->rank; d++)
        if (!tc_affine_equal(&l->stores.data[0].index[d], &l->stores.data[1].index[d])) along = along < 0 ? d : b->rank;
    if (along < 0 || along >= b->rank) return -1;
    tc_sym end = tc_sym_int(l->sym, 0);
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *st = &l->stores.data[i];
        const tc_affine *at = &st->index[along];
        if (&l->buffers.data[st->buffer] != b || st->pred != TC_LV_NONE || at->base != end || at->n != 1 || !tc_sym_is_int(at->term[0].coef, 1))
            return -1;
        for (int d = 0; d < st->rank; d++)
            if (d != along && !tc_affine_equal(&st->index[d], &l->stores.data[0].index[d])) return -1;
        end = tc_sym_add(l->sym, end, l->axes[at->term[0].axis].extent);
    }
    return end == b->size[along] ? along : -1;
}

/* Is a value over these axes computed once only, that is, do they cover all axes of the stores? */
static bool once_each(const tc_loop *l, uint64_t axes) {
    for (size_t i = 0; i < l->stores.len; i++)
        if (l->stores.data[i].axes == axes) return true;
    return false;
}

static bool small(const tc_loop *l) { return l->inst.len <= MOST_INSTS && l->buffers.len <= MOST_BUFFERS; }

static tc_loop *empty(const tc_loop *like) {
    tc_loop *l = TC_NEW(like->arena, tc_loop);
    l->arena = like->arena, l->sym = like->sym, l->naxes = like->naxes, l->nodes = like->nodes, l->nnodes = like->nnodes;
    memcpy(l->axes, like->axes, sizeof l->axes);
    return l;
}

/* ---- producers of the parts ---- */
/* A value that a loop reads, and its base: the value itself (dim -1), or the value without dimension `dim` that it is an unsqueezed view of. */
typedef struct {
    const tc_value *v;
    int dim;
    tc_group *view, *by;
} made_part;

/* Substitutes the producer's loop, which stores nothing but this part, for l's load of the part; result in `to`. */
static bool take_maker(tc_loop *l, const made_part *m, tc_loop *to) {
    tc_affine as[64], self[64], found[TC_MAX_RANK];
    const tc_loop *made = m->by->loop;
    const tc_lstore *st = &made->stores.data[0];
    tc_lv *given = tc_xcalloc(2 * l->inst.len + 2 * made->inst.len + 1, sizeof *given), *at = given + l->inst.len, *none = at + l->inst.len;
    bool done = true;
    for (size_t i = 0; i < made->inst.len; i++) none[i] = TC_LV_NONE;
    for (int a = 0; a < l->naxes; a++) self[a] = tc_affine_axis(l->sym, a);
    int loads = 0;
    for (size_t i = 0; i < l->inst.len && done; i++) {
        const tc_linst *in = &l->inst.data[i];
        given[i] = TC_LV_NONE;
        if (in->kind != TC_L_LOAD || l->buffers.data[in->buffer].value != m->v) continue;
        for (int d = 0, k = 0; d < in->rank; d++)
            if (d != m->dim) found[k++] = in->index[d];
        done = !loads++ && once_each(l, in->axes) && !in->gather && in->pred == TC_LV_NONE && tc_loop_axes_at(made, st->index, found, st->rank, as) &&
               tc_loop_append(to, made, as, none, false, none + made->inst.len);
        if (done) given[i] = none[made->inst.len + (size_t)st->value];
    }
    done = done && tc_loop_append(to, l, self, given, true, at) && small(to);
    free(given);
    return done;
}

/* ---- consumers of the whole ---- */
/* Is the load of b a bijection: each point of l reads another element, and together all of b? */
static bool goes_over(const tc_loop *l, const tc_affine *seen, const tc_lbuffer *b) {
    for (int d = 0; d < b->rank; d++) {
        int a;
        const tc_sym extent = tc_affine_is_axis(&seen[d], &a) ? l->axes[a].extent : tc_affine_is_zero(&seen[d]) ? tc_sym_int(l->sym, 1) : NULL;
        if (extent != b->size[d]) return false;
    }
    return true;
}

/* Applies the consumer loop `reader` of v to each part that l stores; result in l. */
static bool take_reader(const tc_loop *l, const tc_loop *reader, const tc_value *v, tc_loop *to) {
    tc_affine self[64];
    tc_lv *at = tc_xcalloc(l->inst.len + 2 * reader->inst.len + 1, sizeof *at), *given = at + l->inst.len;
    bool done = true;
    for (size_t i = 0; i < l->inst.len; i++) at[i] = TC_LV_NONE;
    for (int a = 0; a < l->naxes; a++) self[a] = tc_affine_axis(l->sym, a);
    done = tc_loop_append(to, l, self, at, false, at);
    for (size_t p = 0; p < l->stores.len && done; p++) {
        const tc_lstore *st = &l->stores.data[p];
        const tc_affine *seen = NULL;
        for (size_t i = 0; i < reader->inst.len && done; i++) {
            const tc_linst *in = &reader->inst.data[i];
            const bool reads = in->kind == TC_L_LOAD && reader->buffers.data[in->buffer].value == v;
            given[i] = reads ? at[st->value] : TC_LV_NONE;
            if (!reads) continue;
            /* two different loads of it: not supported */
            seen = seen || !goes_over(reader, in->index, &reader->buffers.data[in->buffer]) ? NULL : in->index;
            done = seen && !in->gather && in->pred == TC_LV_NONE;
        }
        tc_affine as[64];
        done = done && seen && tc_loop_axes_at(reader, seen, st->index, st->rank, as) &&
               tc_loop_append(to, reader, as, given, true, given + reader->inst.len);
    }
    free(at);
    return done && small(to);
}

/* ---- the plan ---- */
static bool in_plan(const tc_plan *plan, const tc_value *v) { return v->graph == plan->graph && v->id < plan->graph->nvalues; }
static tc_group *group_that_makes(const ctx *c, const tc_value *v) {
    const int at = v && in_plan(c->plan, v) ? c->maker[v->id] : -1;
    return at < 0 ? NULL : &c->plan->groups.data[at];
}
/* The loop whose only result is v and which has one reader; else NULL. */
static tc_group *loop_that_makes(const ctx *c, const tc_value *v) {
    tc_group *g = group_that_makes(c, v);
    return g && g->kind == TC_GROUP_LOOP && g->loop && c->readers[v->id] == 1 ? g : NULL;
}
static made_part maker_of(const ctx *c, const tc_value *v) {
    made_part m = {.v = v, .dim = -1, .view = group_that_makes(c, v)};
    if (!m.view || m.view->kind != TC_GROUP_VIEW || strcmp(tc_op_name(m.view->node->op), "aten.unsqueeze.default")) m.view = NULL;
    else m.dim = tc_wrap(tc_arg_int(m.view->node, 1), v->meta.rank);
    if (!m.view || c->readers[v->id] == 1) m.by = loop_that_makes(c, m.view ? tc_arg_value(m.view->node, 0) : v);
    return m;
}

/* Removes log lines that say that the merged nodes were not fused. */
static void unsay(ctx *c) {
    static const char not_with[] = " not fused with ";
    tc_buf *log = &c->plan->log, kept = {0};
    for (const char *line = tc_buf_str(log), *end; *line; line = end) {
        end = strchr(line, '\n') + 1;
        const char *name = strstr(line, not_with), *to = name && name < end ? strchr(name += sizeof not_with - 1, ':') : NULL;
        if (!to || !tc_map_get(&c->taken, name, (size_t)(to - name))) tc_buf_append(&kept, line, (size_t)(end - line));
    }
    tc_buf_free(log);
    *log = kept;
}

/* Merges group `from` into `to`, whose loop becomes c->loop. */
static void become(ctx *c, tc_group *from, tc_group *to) {
    tc_loop *l = c->loop;
    tc_map_set(&c->taken, tc_fused_name(from->node), l);
    l->nodes = from->loop->nodes, l->nnodes = from->loop->nnodes;
    for (int i = 0; i < to->loop->nnodes; i++) tc_fused_node(l, to->loop->nodes[i]);
    tc_loop_free(from->loop), tc_loop_free(to->loop);
    from->loop = NULL, to->loop = l, c->loop = NULL;
}

static bool take(ctx *c, bool fits, tc_group *from, tc_group *to) {
    if (fits && TC_STEP(c->plan->steps, "%s is computed in the parts of %s", tc_fused_name(from->node), tc_fused_name(to->node))) become(c, from, to);
    else tc_loop_free(c->loop), c->loop = NULL, fits = false;
    return fits;
}

/* Merges every producer that only g's loop reads. */
static void take_makers(ctx *c, tc_group *g) {
    for (size_t k = 0; k < g->loop->buffers.len; k++) {
        const tc_lbuffer *b = &g->loop->buffers.data[k];
        const made_part m = b->written ? (made_part){0} : maker_of(c, b->value);
        if (!m.by || m.by->loop->stores.len != 1 || !pointwise(m.by->loop)) continue;
        c->loop = empty(g->loop);
        if (!take(c, take_maker(g->loop, &m, c->loop), m.by, g)) continue;
        if (m.view) m.view->kind = TC_GROUP_LOOP; /* a loop group without a loop is removed */
        k = (size_t)-1;                           /* start over: buffer indices have changed */
    }
}

/* Merges into g the concatenation that its loop reads, when nothing else reads it. */
static bool take_into(ctx *c, tc_group *g) {
    for (size_t k = 0; k < g->loop->buffers.len; k++) {
        const tc_lbuffer *b = &g->loop->buffers.data[k];
        tc_group *by = b->written ? NULL : loop_that_makes(c, b->value);
        if (!by || !pointwise(g->loop) || parted(by->loop) < 0) continue;
        c->loop = empty(by->loop);
        if (take(c, take_reader(by->loop, g->loop, b->value, c->loop), by, g)) return true;
    }
    return false;
}

void tc_plan_fuse_cat(tc_plan *plan) {
    const size_t n = plan->graph->nvalues;
    ctx c = {.plan = plan, .readers = tc_plan_readers(plan), .maker = tc_xcalloc(n + 1, sizeof *c.maker)};
    for (size_t i = 0; i < n; i++) c.maker[i] = -1;
    for (size_t i = 0; i < plan->groups.len; i++) {
        tc_group *g = &plan->groups.data[i];
        if (g->kind == TC_GROUP_VIEW && in_plan(plan, g->node->outs[0])) c.maker[g->node->outs[0]->id] = (int)i;
        if (g->kind != TC_GROUP_LOOP || g->loop->tile) continue;
        while (take_into(&c, g)) {}
        if (parted(g->loop) >= 0) take_makers(&c, g);
        for (size_t k = 0; k < g->loop->stores.len; k++) c.maker[g->loop->buffers.data[g->loop->stores.data[k].buffer].value->id] = (int)i;
    }
    if (c.taken.len) unsay(&c);
    free(c.readers), free(c.maker), tc_map_free(&c.taken);
    tc_plan_close(plan);
}
