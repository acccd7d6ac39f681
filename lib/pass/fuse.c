/* Greedy fusion of producers and consumers (pass/fuse.h).
 *
 * Groups carry an order number; a group reads only from groups of lower order. A node may join group G when its other producers (including those of
 * data-dependent numbers) are of lower order than G, or when nobody has read from G yet, so that G can move to the end. */
#include "pass/fuse.h"

#include "kernel/kernel.h"
#include "loop/nest.h"
#include "pass/value_bytes.h"

enum { MAX_INSTS = 192, MAX_BUFFERS = 32, UNSEEN = -1, GIVEN = -2 };

typedef struct {
    tc_group g;
    int64_t order;
    bool read; /* by another group */
    int into;  /* the group that it was merged into; -1: none */
} grp;

struct tc_fuser {
    tc_plan *plan;
    bool fuse;
    TC_VEC(grp) groups;
    int *producer;     /* group by value id; -1: none */
    bool *outside;     /* by value id: read by another group, or an output of the graph */
    bool *whole;       /* by value id: an operand of a node that is no loop, or an output of the graph */
    int *last;         /* by value id: the group that was the last to read it; -1: none */
    tc_symvalue *vars; /* typical sizes of the symbols */
    size_t nvars;
    size_t nvalues;
    int64_t *known; /* by symbol: order of the group that defines it from data; UNSEEN: not yet; GIVEN: defined by the inputs */
    size_t nsymbols;
    int64_t clock;
};

static void mark_result(tc_fuser *f, const tc_value *v) {
    if (!v) return;
    f->outside[v->id] = f->whole[v->id] = true;
    for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) mark_result(f, v->list[k]);
}

tc_fuser *tc_fuser_create(tc_plan *plan, bool fuse) {
    tc_fuser *f = tc_xcalloc(1, sizeof *f);
    f->plan = plan;
    f->fuse = fuse;
    f->nvalues = plan->graph->nvalues;
    f->producer = tc_xcalloc(f->nvalues + 1, sizeof *f->producer);
    f->outside = tc_xcalloc(f->nvalues + 1, sizeof *f->outside);
    f->whole = tc_xcalloc(f->nvalues + 1, sizeof *f->whole);
    f->last = tc_xcalloc(f->nvalues + 1, sizeof *f->last);
    f->vars = tc_typical_sizes(plan->program, &f->nvars);
    for (size_t i = 0; i < f->nvalues; i++) f->producer[i] = f->last[i] = -1;
    for (int i = 0; i < plan->graph->noutputs; i++) mark_result(f, plan->graph->outputs[i]);
    f->nsymbols = tc_sym_var_count(plan->program->sym);
    f->known = tc_xcalloc(f->nsymbols + 1, sizeof *f->known);
    for (size_t i = 0; i < f->nsymbols; i++) f->known[i] = UNSEEN;
    return f;
}

void tc_fuser_destroy(tc_fuser *f) {
    if (!f) return;
    for (size_t i = 0; i < f->groups.len; i++) tc_loop_free(f->groups.data[i].g.loop);
    tc_vec_free(&f->groups);
    free(f->producer);
    free(f->outside);
    free(f->whole);
    free(f->last);
    free(f->vars);
    free(f->known);
    free(f);
}

static int producer_of(const tc_fuser *f, const tc_value *v) {
    int p = v->graph == f->plan->graph && v->id < f->nvalues ? f->producer[v->id] : -1;
    while (p >= 0 && f->groups.data[p].into >= 0) p = f->producer[v->id] = f->groups.data[p].into;
    return p;
}

/* ---- data-dependent numbers: item, sizes of nonzero ---- */
static void seen(tc_fuser *f, tc_sym s, int64_t order) {
    size_t i = s && tc_sym_opcode(s) == TC_S_VAR ? (size_t)tc_sym_var_index(s) : f->nsymbols;
    if (i < f->nsymbols && f->known[i] == UNSEEN) f->known[i] = order;
}

static void seen_type(tc_fuser *f, const tc_value *v, int64_t order) {
    if (v->kind == TC_V_SYM) seen(f, v->sym, order);
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++) seen(f, v->meta.size[d], order);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) seen_type(f, v->list[i], order);
}

/* ---- reading and writing of values ---- */
static void reads(tc_fuser *f, int by, const tc_value *v) {
    int p = producer_of(f, v);
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) reads(f, by, v->list[i]);
    if (v->graph == f->plan->graph && v->id < f->nvalues) f->last[v->id] = by;
    if (p < 0 || p == by) return;
    f->groups.data[p].read = true;
    f->outside[v->id] = true;
}

typedef struct {
    tc_fuser *f;
    int by;
} reader;
static void read_place(void *ctx, tc_value **place) {
    const reader *r = ctx;
    if (!*place) return;
    seen_type(r->f, *place, GIVEN);
    reads(r->f, r->by, *place);
}

static void mark_whole(void *ctx, tc_value **place) {
    tc_fuser *f = ctx;
    const tc_value *v = *place;
    if (!v) return;
    if (v->graph == f->plan->graph && v->id < f->nvalues) f->whole[v->id] = true;
    for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) mark_whole(f, &v->list[k]);
}
void tc_fuser_reads_whole(tc_fuser *f, const tc_node *n) { tc_node_each_input(n, mark_whole, f); }

static void made(tc_fuser *f, int by, const tc_node *n) {
    for (int i = 0; i < n->nouts; i++) {
        if (n->outs[i]->graph == f->plan->graph && n->outs[i]->id < f->nvalues) f->producer[n->outs[i]->id] = by;
        for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++) f->producer[n->outs[i]->list[k]->id] = by;
    }
}

static int new_group(tc_fuser *f, tc_group g) {
    grp n = {.g = g, .order = f->clock++, .into = -1};
    tc_vec_push(&f->groups, n);
    return (int)f->groups.len - 1;
}

static bool from_data(const tc_group *g) {
    return g->kind == TC_GROUP_CONTROL || (g->kind == TC_GROUP_KERNEL && g->node->op->kernel->flags & TC_KF_DYNAMIC);
}

tc_status tc_fuser_other(tc_fuser *f, tc_group g) {
    int k = new_group(f, g);
    tc_node_each_input(g.node, read_place, &(reader){f, k});
    made(f, k, g.node);
    for (int i = 0; i < g.node->nouts; i++) seen_type(f, g.node->outs[i], from_data(&g) ? f->groups.data[k].order : GIVEN);
    return NULL;
}

void tc_fuser_tile(tc_fuser *f, const tc_value *v, tc_loop *loop) {
    const int k = new_group(f, (tc_group){.kind = TC_GROUP_LOOP, .loop = loop, .node = v->producer});
    for (size_t b = 0; b < loop->buffers.len; b++)
        if (!loop->buffers.data[b].written) reads(f, k, loop->buffers.data[b].value);
    f->producer[v->id] = k;
}

typedef struct {
    tc_fuser *f;
    int64_t order;
} waiting;
static void wait_for(void *ctx, tc_sym s) {
    waiting *w = ctx;
    seen(w->f, s, GIVEN);
    size_t i = tc_sym_opcode(s) == TC_S_VAR ? (size_t)tc_sym_var_index(s) : w->f->nsymbols;
    if (i < w->f->nsymbols && w->f->known[i] > w->order) w->order = w->f->known[i];
    for (int k = 0; k < tc_sym_arity(s); k++) wait_for(w, tc_sym_arg(s, k));
}

/* The order of the group after which every number that the loop uses is known; -1: from the start. */
static int64_t numbers_known(tc_fuser *f, const tc_loop *l) {
    waiting w = {f, -1};
    tc_loop_each_number(l, wait_for, &w);
    return w.order;
}

/* ---- merging loops ---- */
static const tc_lstore *store_of(const tc_loop *l, const tc_value *v) {
    for (size_t i = 0; i < l->stores.len; i++)
        if (l->buffers.data[l->stores.data[i].buffer].value == v) return &l->stores.data[i];
    return NULL;
}

static int stores_to(const tc_loop *l, int buffer) {
    int n = 0;
    for (size_t i = 0; i < l->stores.len; i++) n += l->stores.data[i].buffer == buffer;
    return n;
}

/* Unifies a load of the reader with a store or load of the group: fills map, axis of the reader -> axis of the group. Returns why not, or NULL. */
static const char *match(const tc_loop *g, const tc_loop *n, const tc_linst *ld, const tc_affine *place, int map[64]) {
    if (ld->gather || ld->pred != TC_LV_NONE) return "it is read by gathered or predicated index";
    for (int d = 0; d < ld->rank; d++) {
        int to, from;
        bool zero = tc_affine_is_zero(&ld->index[d]);
        if (zero && tc_affine_is_zero(&place[d])) continue;
        if (!tc_affine_is_axis(&place[d], &to) || !tc_affine_is_axis(&ld->index[d], &from)) return "it is read at other elements";
        if (g->axes[to].extent != n->axes[from].extent) return "sizes differ";
        if (map[from] >= 0 && map[from] != to) return "one axis of the reader runs along two";
        for (int a = 0; a < n->naxes; a++)
            if (a != from && map[a] == to) return "two axes of the reader run along one";
        map[from] = to;
    }
    return NULL;
}

static uint64_t bound_axes(const tc_loop *l) {
    uint64_t m = 0;
    for (size_t i = 0; i < l->inst.len; i++) m |= l->inst.data[i].over;
    return m;
}

/* Maps the remaining axes: to an axis of the group with the same extent, reduced axes first, or to a new one. */
static const char *map_rest(tc_loop *g, const tc_loop *n, int map[64]) {
    uint64_t used = 0, used_by_n = 0;
    for (int a = 0; a < n->naxes; a++)
        if (map[a] >= 0) used |= UINT64_C(1) << map[a];
    for (size_t i = 0; i < n->inst.len; i++) used_by_n |= n->inst.data[i].axes | n->inst.data[i].over;
    for (size_t i = 0; i < n->stores.len; i++) used_by_n |= n->stores.data[i].axes;
    uint64_t bound = bound_axes(g);
    int old = g->naxes;
    for (int a = 0; a < n->naxes; a++) {
        if (map[a] >= 0) continue;
        if (!(used_by_n >> a & 1)) {
            map[a] = 0;
            continue;
        }
        for (int pass = 0; pass < 2 && map[a] < 0; pass++)
            for (int k = 0; k < old && map[a] < 0; k++)
                if (!(used >> k & 1) && (bound >> k & 1) == !pass && g->axes[k].extent == n->axes[a].extent) map[a] = k;
        if (map[a] < 0) map[a] = tc_loop_axis(g, n->axes[a].extent);
        if (map[a] < 0) return "too many axes";
        used |= UINT64_C(1) << map[a];
    }
    for (size_t i = 0; i < n->inst.len; i++) { /* the row-major order of reduced axes must be preserved */
        int last = -1;
        for (int a = 0; a < n->naxes; a++)
            if (n->inst.data[i].over >> a & 1) {
                if (map[a] < last) return "reduced axes would change their order";
                last = map[a];
            }
    }
    return NULL;
}

/* Appends the node's instructions; loads of what the group stores become those values. */
static void append(tc_loop *g, const tc_loop *n, const int map[64]) {
    tc_lv *given = tc_xcalloc(2 * n->inst.len + 1, sizeof *given);
    tc_affine as[64];
    for (int a = 0; a < n->naxes; a++) as[a] = tc_affine_axis(g->sym, map[a]);
    for (size_t i = 0; i < n->inst.len; i++) {
        const tc_linst *in = &n->inst.data[i];
        const tc_lstore *st = in->kind == TC_L_LOAD ? store_of(g, n->buffers.data[in->buffer].value) : NULL;
        given[i] = st ? st->value : TC_LV_NONE;
    }
    tc_loop_append(g, n, as, given, true, given + n->inst.len);
    free(given);
}

/* In a loop without reductions: an expensive value that varies along some axes only would be recomputed along the others. */
static bool repeats(const tc_loop *l, uint64_t all) {
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        const bool heavy = in->op == TC_X_DIV || in->op == TC_X_SQRT || in->op >= TC_X_EXP;
        if (in->kind == TC_L_SCALAR && heavy && tc_is_float(in->dtype) && in->axes && in->axes != all) return true;
    }
    return false;
}

/* Would an expensive value that is constant along the rows of a nest be recomputed for each of them? Loads and cheap operations may be. */
static bool wasteful(const tc_loop *l) {
    uint64_t bound = bound_axes(l), all = 0;
    for (size_t i = 0; i < l->stores.len; i++) all |= l->stores.data[i].axes;
    if (!bound) return repeats(l, all);
    if (!(all & ~bound)) return false;
    int n = 0;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (in->kind == TC_L_SCALAR && in->axes && !(in->axes & ~bound)) n++;
    }
    return n > 4;
}

/* Appends n's instructions to g with axes renamed by map. Returns why that is not possible, with g unchanged, or NULL. */
static const char *join_along(tc_loop *g, const tc_loop *n, int map[64]) {
    size_t insts = g->inst.len, stores = g->stores.len, buffers = g->buffers.len;
    int naxes = g->naxes;
    const char *why = map_rest(g, n, map);
    if (!why) {
        append(g, n, map);
        if (g->inst.len > MAX_INSTS || g->buffers.len > MAX_BUFFERS) why = "the loop would be too large";
        else if (!tc_loop_is_one_nest(g)) why = "they do not make one nest";
        else if (wasteful(g)) why = "values would be computed again for each row";
    }
    if (!why) return NULL;
    g->inst.len = insts;
    g->stores.len = stores;
    g->buffers.len = buffers;
    g->naxes = naxes;
    return why;
}

static const char *join(tc_loop *g, const tc_loop *n) {
    int map[64];
    for (int a = 0; a < 64; a++) map[a] = -1;
    bool any = false;
    for (size_t i = 0; i < n->inst.len; i++) {
        const tc_linst *in = &n->inst.data[i];
        if (in->kind != TC_L_LOAD) continue;
        const tc_lstore *st = store_of(g, n->buffers.data[in->buffer].value);
        if (!st) continue;
        const char *why = st->pred != TC_LV_NONE || stores_to(g, st->buffer) != 1 ? "it is stored in parts" : match(g, n, in, st->index, map);
        if (why) return why;
        any = true;
    }
    return any ? join_along(g, n, map) : "nothing is passed";
}

/* The axes that are reduced or scanned over. */
static uint64_t reduced(const tc_loop *l) {
    uint64_t over = 0;
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_REDUCE || l->inst.data[i].kind == TC_L_SCAN) over |= l->inst.data[i].over;
    return over;
}
/* Does the loop store only reductions, all over the axes `over`? */
static bool only_sums(const tc_loop *l, uint64_t over) {
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_SCAN || (l->inst.data[i].kind == TC_L_REDUCE && l->inst.data[i].over != over)) return false;
    for (size_t i = 0; i < l->stores.len; i++)
        if (l->stores.data[i].axes & over || l->stores.data[i].pred != TC_LV_NONE) return false;
    return over != 0;
}
/* Merges reductions over a tensor that g already reduces over the same axes: one pass over memory serves both. */
static bool join_sums(tc_loop *g, const tc_loop *n) {
    const uint64_t over = reduced(n), all = reduced(g);
    if (!only_sums(n, over) || !only_sums(g, all)) return false;
    for (size_t b = 0; b < n->buffers.len; b++)
        if (!n->buffers.data[b].written && store_of(g, n->buffers.data[b].value)) return false; /* producer-consumer fusion handles it */
    for (size_t i = 0; i < n->inst.len; i++)
        for (size_t k = 0; k < g->inst.len; k++) {
            const tc_linst *a = &n->inst.data[i], *b = &g->inst.data[k];
            if (a->kind != TC_L_LOAD || b->kind != TC_L_LOAD || n->buffers.data[a->buffer].value != g->buffers.data[b->buffer].value) continue;
            if (b->gather || b->pred != TC_LV_NONE) continue;
            int map[64];
            for (int x = 0; x < 64; x++) map[x] = -1;
            if (match(g, n, a, b->index, map)) continue;
            uint64_t to = 0;
            for (int x = 0; x < n->naxes; x++)
                if (over >> x & 1 && map[x] >= 0) to |= UINT64_C(1) << map[x];
            if (to == all && !join_along(g, n, map)) return true;
        }
    return false;
}

/* The kernel whose result g reads so that g can be its epilogue (pass/epilogue.h): directly or, unless its rows are image positions, through
 * order-preserving views; NULL: none. */
static const tc_node *kernel_before(const tc_fuser *f, const tc_loop *g) {
    for (size_t k = 0; k < g->buffers.len; k++) {
        const tc_value *v = g->buffers.data[k].written ? NULL : g->buffers.data[k].value;
        const tc_group *by = NULL;
        bool viewed = false;
        for (int p; v && (p = producer_of(f, v)) >= 0; v = by->node->args[0].value, viewed = true) {
            by = &f->groups.data[p].g;
            if (by->kind != TC_GROUP_VIEW || !(by->node->op->flags & TC_OP_SAME_ORDER)) break;
        }
        if (by && by->kind == TC_GROUP_KERNEL && by->node->op->kernel->flags & TC_KF_EPILOGUE && v == by->node->outs[0] &&
            !(viewed && by->node->op->kernel->row_dims == TC_ROWS_POSITIONS))
            return by->node;
    }
    return NULL;
}
/* Is n a reduction within the planes of a convolution whose epilogue g can be? Fusing n would cost the epilogue, which works on the convolution's
 * registers and needs no further memory. */
static bool sums_of_planes(const tc_fuser *f, const tc_loop *g, const tc_loop *n) {
    const uint64_t over = reduced(n);
    if (!over || reduced(g)) return false;
    for (size_t i = 0; i < n->inst.len; i++) {
        const tc_linst *in = &n->inst.data[i];
        int channel;
        if (in->kind == TC_L_LOAD && (in->rank < 3 || !tc_affine_is_axis(&in->index[1], &channel) || over >> channel & 1)) return false;
    }
    const tc_node *by = kernel_before(f, g);
    return by && by->op->kernel->row_dims == TC_ROWS_POSITIONS;
}
/* Can a and b be epilogues of two different kernels? Merged, they would be an epilogue of the later one only. */
static bool follow_two_kernels(const tc_fuser *f, const tc_loop *a, const tc_loop *b) {
    const tc_node *of[] = {kernel_before(f, a), kernel_before(f, b)};
    return of[0] && of[1] && of[0] != of[1] && !reduced(a) && !reduced(b);
}

void tc_fused_node(tc_loop *l, const tc_node *n) {
    const tc_node **nodes = TC_NEWN(l->arena, const tc_node *, (size_t)l->nnodes + 1);
    if (l->nnodes) memcpy(nodes, l->nodes, sizeof *nodes * (size_t)l->nnodes);
    nodes[l->nnodes++] = n;
    l->nodes = nodes;
}

const char *tc_fused_name(const tc_node *n) { return n->name ? n->name : tc_op_name(n->op); }

/* Records a fusion step: "exp (m.py:8) joins the loop of softmax (m.py:7)". */
static void took(tc_fuser *f, const tc_node *n, const char *how, const tc_node *of) {
    tc_buf at[2] = {{0}};
    const tc_node *both[2] = {n, of};
    if (!f->plan->steps) return;
    for (int i = 0; i < 2; i++) {
        tc_buf_puts(&at[i], tc_fused_name(both[i]));
        if (both[i]->source.file) tc_buf_printf(&at[i], " (%s:%d)", both[i]->source.file, both[i]->source.line);
    }
    tc_steps_took(f->plan->steps, "%s %s %s", tc_buf_str(&at[0]), how, tc_buf_str(&at[1]));
    for (int i = 0; i < 2; i++) tc_buf_free(&at[i]);
}

/* Does executing group `at` later, in the loop `to`, keep what it reads for longer, and need far more memory for that than the results that then need
 * none? Sums of many large tensors, each made before, are taken when the tensor is there, and not all at the end. */
static bool keeps_much(tc_fuser *f, int at, const tc_loop *to) {
    enum { FAR_MORE = 4 };
    const grp *g = &f->groups.data[at];
    int64_t kept = 0, spared = 0;
    for (size_t b = 0; b < g->g.loop->buffers.len; b++) {
        const tc_lbuffer *u = &g->g.loop->buffers.data[b];
        if (!u->value || u->value->graph != f->plan->graph || u->value->id >= f->nvalues) continue;
        if (u->written && !f->outside[u->value->id]) spared += tc_value_bytes(u->value, f->vars, f->nvars);
        if (u->written || producer_of(f, u->value) < 0) continue;
        const int last = f->last[u->value->id];
        bool anyway = last >= 0 && f->groups.data[last].order > g->order;
        for (size_t k = 0; k < to->buffers.len; k++) anyway |= to->buffers.data[k].value == u->value;
        if (!anyway) kept += tc_value_bytes(u->value, f->vars, f->nvars);
    }
    return kept > FAR_MORE * spared;
}

/* Is it better for memory to compute the node now than in the earlier group `at`, long before its readers, which are loops and can compute it as well?
 * So it is with 1 - y * y, of the gradient of y = tanh(x), where y is kept for the gradient of a product anyway. Bytes are counted for as many groups as
 * they would be kept. */
static bool keeps_long(tc_fuser *f, int at, const tc_node *n, const tc_loop *loop) {
    enum { LONG = 8 }; /* groups; over fewer, a read of memory that is spared counts more */
    const int64_t since = f->clock - f->groups.data[at].order;
    int64_t early = 0, now = 0;
    if (since < LONG) return false;
    for (int i = 0; i < n->nouts; i++) {
        if (f->whole[n->outs[i]->id]) return false;
        early += since * tc_value_bytes(n->outs[i], f->vars, f->nvars);
    }
    for (size_t b = 0; b < loop->buffers.len; b++) {
        const tc_lbuffer *u = &loop->buffers.data[b];
        const int p = u->value && !u->written ? producer_of(f, u->value) : -1;
        if (p < 0) continue;
        const int last = f->last[u->value->id];
        const int64_t kept = f->groups.data[last < 0 ? p : last].order;
        now += (f->clock - kept) * tc_value_bytes(u->value, f->vars, f->nvars);
    }
    return now < early;
}

/* Merges two producers of one node: sigmoid(x) + tanh(x). A group that only this reader has read may move to its position. */
static void merge(tc_fuser *f, int from, int to) {
    grp *a = &f->groups.data[from], *b = &f->groups.data[to];
    if (a->read || !a->g.loop || a->g.kind != TC_GROUP_LOOP || a->order > b->order) return;
    if (keeps_much(f, from, b->g.loop)) return;
    if (follow_two_kernels(f, a->g.loop, b->g.loop) || !tc_steps_left(f->plan->steps) || join(a->g.loop, b->g.loop)) return;
    took(f, a->g.node, "goes into the loop of", b->g.node);
    for (int k = 0; k < b->g.loop->nnodes; k++) tc_fused_node(a->g.loop, b->g.loop->nodes[k]);
    tc_loop_free(b->g.loop);
    b->g.loop = a->g.loop;
    a->g.loop = NULL;
    a->into = to;
}

/* Is the group ordered before a producer that the loop needs? */
static bool comes_before(tc_fuser *f, const tc_loop *loop, int at, int64_t known) {
    bool before = known > f->groups.data[at].order;
    for (size_t b = 0; b < loop->buffers.len; b++) {
        const tc_lbuffer *buf = &loop->buffers.data[b];
        int p = buf->value && !buf->written ? producer_of(f, buf->value) : -1;
        before |= p >= 0 && p != at && f->groups.data[p].order > f->groups.data[at].order;
    }
    return before;
}

tc_status tc_fuser_loop(tc_fuser *f, const tc_node *n, tc_loop *loop) {
    int tried[16], ntried = 0, to = -1;
    int64_t known = numbers_known(f, loop);
    while (f->fuse && ntried < 16) {
        int best = -1;
        for (size_t b = 0; b < loop->buffers.len; b++) { /* the latest producer not tried yet */
            int p = loop->buffers.data[b].value && !loop->buffers.data[b].written ? producer_of(f, loop->buffers.data[b].value) : -1;
            if (p < 0 || f->groups.data[p].g.kind != TC_GROUP_LOOP) continue;
            bool seen = false;
            for (int k = 0; k < ntried; k++) seen |= tried[k] == p;
            if (!seen && (best < 0 || f->groups.data[p].order > f->groups.data[best].order)) best = p;
        }
        if (best < 0) break;
        tried[ntried++] = best;
        grp *g = &f->groups.data[best];
        const char *why = NULL;
        const bool later = comes_before(f, loop, best, known);
        if (later && g->read) why = "others stand between";
        if (!why && later && keeps_much(f, best, loop)) why = "more memory would be kept for longer than it spares";
        if (!why && g->read && !later && keeps_long(f, best, n, loop)) why = "its result would be kept for longer than what it reads";
        if (!why && !tc_steps_left(f->plan->steps)) why = "TC_STEPS is reached";
        if (!why && sums_of_planes(f, g->g.loop, loop)) why = "what it reads can be a kernel's epilogue";
        if (!why) why = join(g->g.loop, loop);
        if (!why) {
            took(f, n, "joins the loop of", g->g.node);
            if (later) g->order = f->clock++;
            to = best;
            break;
        }
        tc_buf_printf(&f->plan->log, "%s not fused with %s: %s\n", tc_fused_name(n), tc_fused_name(g->g.node), why);
    }
    if (to < 0) to = new_group(f, (tc_group){.kind = TC_GROUP_LOOP, .loop = loop, .node = n});
    else {
        tc_fused_node(f->groups.data[to].g.loop, n);
        f->groups.data[to].g.node = n;
        for (size_t b = 0; b < loop->buffers.len; b++) {
            int p = loop->buffers.data[b].value && !loop->buffers.data[b].written ? producer_of(f, loop->buffers.data[b].value) : -1;
            if (p >= 0 && p != to) merge(f, p, to);
        }
    }
    for (size_t b = 0; b < loop->buffers.len; b++)
        if (loop->buffers.data[b].value && !loop->buffers.data[b].written) reads(f, to, loop->buffers.data[b].value);
    made(f, to, n);
    if (f->groups.data[to].g.loop != loop) tc_loop_free(loop);
    return NULL;
}

/* ---- the end ---- */
/* Removes stores that nobody reads, then instructions that only they used. */
static void prune(const tc_fuser *f, tc_loop *l) {
    size_t keep = 0;
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_value *v = l->buffers.data[l->stores.data[i].buffer].value;
        if (f->outside[v->id]) l->stores.data[keep++] = l->stores.data[i];
    }
    l->stores.len = keep;
    size_t n = l->inst.len;
    bool *live = tc_xcalloc(n + 1, sizeof *live), *used = tc_xcalloc(l->buffers.len + 1, sizeof *used);
    tc_lv *to = tc_xcalloc(n + 1, sizeof *to);
    int *buffer_to = tc_xcalloc(l->buffers.len + 1, sizeof *buffer_to);
    for (size_t i = 0; i < keep; i++) {
        live[l->stores.data[i].value] = true;
        if (l->stores.data[i].pred != TC_LV_NONE) live[l->stores.data[i].pred] = true;
        used[l->stores.data[i].buffer] = true;
    }
    for (size_t i = n; i-- > 0;) {
        const tc_linst *in = &l->inst.data[i];
        if (!live[i]) continue;
        tc_lv operand[TC_LOOP_OPERANDS];
        const int operands = tc_loop_operands(in, operand);
        for (int k = 0; k < operands; k++) live[operand[k]] = true;
        if (in->kind == TC_L_LOAD) used[in->buffer] = true;
    }
    size_t nb = 0, ni = 0;
    for (size_t b = 0; b < l->buffers.len; b++) {
        buffer_to[b] = (int)nb;
        if (used[b]) l->buffers.data[nb++] = l->buffers.data[b];
    }
    l->buffers.len = nb;
    for (size_t i = 0; i < n; i++) {
        if (!live[i]) continue;
        tc_linst in = l->inst.data[i];
        tc_loop_rename(l, &in, to);
        if (in.kind == TC_L_LOAD) in.buffer = buffer_to[in.buffer];
        to[i] = (tc_lv)ni;
        l->inst.data[ni++] = in;
    }
    l->inst.len = ni;
    for (size_t i = 0; i < keep; i++) {
        tc_lstore *st = &l->stores.data[i];
        st->buffer = buffer_to[st->buffer];
        st->value = to[st->value];
        if (st->pred != TC_LV_NONE) st->pred = to[st->pred];
    }
    free(live);
    free(used);
    free(to);
    free(buffer_to);
}

/* Horizontal fusion: merges a loop of reductions into an earlier one that reads the same tensor: min(x), max(x). */
static void join_siblings(tc_fuser *f, int i) {
    enum { NEAR = 32 };
    grp *b = &f->groups.data[i];
    if (!b->g.loop || !reduced(b->g.loop) || kernel_before(f, b->g.loop)) return;
    const int64_t known = numbers_known(f, b->g.loop);
    for (int k = i - 1; k >= 0 && k + NEAR >= i; k--) {
        grp *a = &f->groups.data[k];
        if (!a->g.loop || a->order > b->order || comes_before(f, b->g.loop, k, known)) continue;
        if (!tc_steps_left(f->plan->steps) || !join_sums(a->g.loop, b->g.loop)) continue;
        took(f, b->g.node, "goes into the loop of", a->g.node);
        for (int n = 0; n < b->g.loop->nnodes; n++) tc_fused_node(a->g.loop, b->g.loop->nodes[n]);
        tc_loop_free(b->g.loop);
        b->g.loop = NULL;
        b->into = k;
        return;
    }
}

static int by_order(const void *a, const void *b) {
    const grp *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

tc_status tc_fuser_finish(tc_fuser *f) {
    for (size_t i = 0; i < f->groups.len; i++) {
        tc_loop **l = &f->groups.data[i].g.loop;
        if (*l) prune(f, *l);
        if (!*l || (*l)->stores.len) continue;
        tc_loop_free(*l); /* all its results are dead */
        *l = NULL;
    }
    for (size_t i = 0; f->fuse && i < f->groups.len; i++) join_siblings(f, (int)i);
    if (f->groups.len) qsort(f->groups.data, f->groups.len, sizeof *f->groups.data, by_order);
    for (size_t i = 0; i < f->groups.len; i++) {
        tc_group g = f->groups.data[i].g;
        f->groups.data[i].g.loop = NULL;
        if (g.kind == TC_GROUP_LOOP && !g.loop) continue; /* merged into another */
        if (g.kind == TC_GROUP_LOOP) TC_TRY(tc_loop_verify(g.loop), "fused loop of %s", tc_fused_name(g.node));
        tc_vec_push(&f->plan->groups, g);
    }
    return NULL;
}
