/* Decides which loops become epilogues of which kernels (pass/epilogue.h) and reorders the groups accordingly. */
#include "pass/epilogue.h"

#include "kernel/kernel.h"
#include "loop/nest.h"
#include "pass/fuse.h"

typedef struct {
    tc_plan *plan;
    int *producer;    /* group by value id; -1: an input */
    tc_loop **reader; /* by value id: the first loop that reads it, or a view of it */
    size_t nvalues;
} ctx;

/* A candidate: the kernel of group `at` and the loop that reads its result. */
typedef struct {
    int at, loop;
    const tc_value *result;
    tc_loop *l;
} pair;

static int producer_of(const ctx *c, const tc_value *v) { return v && v->graph == c->plan->graph && v->id < c->nvalues ? c->producer[v->id] : -1; }

/* An empty slot that merging left; removed at the end. */
static bool is_gone(const tc_group *g) { return !g->node && !g->loop; }
static bool is_view(const tc_group *g) { return g->kind == TC_GROUP_VIEW && !is_gone(g); }

/* Updates `producer` for the results of groups [from, end). */
static void number(ctx *c, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        const tc_group *g = &c->plan->groups.data[i];
        if (is_gone(g)) continue;
        for (size_t k = 0; g->loop && k < g->loop->buffers.len; k++)
            if (g->loop->buffers.data[k].written) c->producer[g->loop->buffers.data[k].value->id] = (int)i;
        for (size_t k = 0; g->epilogue && k < g->epilogue->buffers.len; k++)
            if (g->epilogue->buffers.data[k].written) c->producer[g->epilogue->buffers.data[k].value->id] = (int)i;
        for (int k = 0; k < g->nviews; k++) c->producer[g->views[k]->outs[0]->id] = (int)i;
        for (int k = 0; !g->loop && k < g->node->nouts; k++) {
            const tc_value *o = g->node->outs[k];
            if (o->graph == c->plan->graph) c->producer[o->id] = (int)i;
            for (int e = 0; o->kind == TC_V_LIST && e < o->nlist; e++) c->producer[o->list[e]->id] = (int)i;
        }
    }
}

/* The base of v, followed through views; keep: only through views that preserve the order of elements. */
static const tc_value *base_of(const ctx *c, const tc_value *v, bool keep) {
    for (;;) {
        int p = producer_of(c, v);
        if (p < 0) return v;
        const tc_group *g = &c->plan->groups.data[p];
        if (g->kind != TC_GROUP_VIEW || (keep && !(g->node->op->flags & TC_OP_SAME_ORDER)) || !g->node->args[0].value) return v;
        v = g->node->args[0].value;
    }
}

/* ---- is the loop eligible ---- */
/* The first dimension of `seen`, a view of the result, that is part of the columns; -1: the columns do not start at a dimension boundary. */
static int first_column(tc_symctx *s, const tc_value *result, int row_dims, const tc_value *seen) {
    const tc_meta *m = &result->meta, *v = &seen->meta;
    if (row_dims == TC_ROWS_POSITIONS) return seen == result ? 1 : -1;
    tc_sym columns = tc_sym_int(s, 1), have = tc_sym_int(s, 1);
    for (int d = row_dims < 0 ? m->rank + row_dims : row_dims; d < m->rank; d++) columns = tc_sym_mul(s, columns, m->size[d]);
    for (int d = v->rank; d >= 0; d--) {
        if (have == columns) return d;
        if (d) have = tc_sym_mul(s, have, v->size[d - 1]);
    }
    return -1;
}

/* The load of the result must index every dimension by an axis of its own, in ascending order; [first, end) are the columns. Returns why not, or
 * NULL. */
static const char *reads_in_order(const tc_loop *l, const tc_linst *ld, uint64_t *axes, int first, int end, uint64_t *columns) {
    int last = -1;
    uint64_t seen = 0, cols = 0;
    if (ld->gather || ld->pred != TC_LV_NONE) return "it reads the result by gathered or predicated index";
    for (int d = 0; d < ld->rank; d++) {
        int a;
        if (tc_affine_is_zero(&ld->index[d])) {
            if (!tc_sym_is_int(l->buffers.data[ld->buffer].size[d], 1)) return "it reads a part of the result";
            continue;
        }
        if (!tc_affine_is_axis(&ld->index[d], &a) || l->axes[a].extent != l->buffers.data[ld->buffer].size[d])
            return "it reads the result at other elements";
        if (a <= last) return "it goes over the result in another order";
        last = a;
        seen |= UINT64_C(1) << a;
        if (d >= first && d < end) cols |= UINT64_C(1) << a;
    }
    if (*axes && (*axes != seen || *columns != cols)) return "it reads the result in two ways";
    *axes = seen, *columns = cols;
    return NULL;
}

/* Checks the loop's loads of the result and its stores. Returns why it is not eligible, or NULL. */
static const char *fits(const ctx *c, const pair *p, uint64_t *columns) {
    const tc_loop *l = p->l;
    const tc_kernel *kn = c->plan->groups.data[p->at].node->op->kernel;
    uint64_t axes = 0, ones = 0;
    bool scalar = false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) return "it has a reduction or a scan";
        if (in->kind != TC_L_LOAD) continue;
        const tc_value *v = l->buffers.data[in->buffer].value;
        if (base_of(c, v, false) != p->result) continue;
        if (base_of(c, v, true) != p->result) return "it reads the result in another order";
        int first = first_column(c->plan->program->sym, p->result, kn->row_dims, v);
        if (first < 0) return "rows and columns of the result share a dimension";
        const char *why = reads_in_order(l, in, &axes, first, kn->row_dims == TC_ROWS_POSITIONS ? 2 : in->rank, columns);
        if (why) return why;
        scalar = !axes;
    }
    for (int a = 0; a < l->naxes; a++)
        if (tc_sym_is_int(l->axes[a].extent, 1)) ones |= UINT64_C(1) << a;
    if (scalar && !axes) return "the result is one element";
    for (size_t i = 0; i < l->stores.len; i++) {
        if ((l->stores.data[i].axes | ones) != (axes | ones)) return "it goes over more or less than the result";
        for (size_t k = 0; k < i; k++)
            if (l->stores.data[k].buffer == l->stores.data[i].buffer) return "it stores in parts";
    }
    return tc_loop_is_one_nest(l) ? NULL : "it takes more than one nest";
}

static bool is_mutation(const tc_program *p, const tc_value *v) {
    for (int o = 0; o < p->noutputs; o++) {
        tc_output_kind k = p->outputs[o].kind;
        if (p->outputs[o].value == v && (k == TC_OUT_BUFFER || k == TC_OUT_PARAMETER || k == TC_OUT_USER_INPUT)) return true;
    }
    return false;
}

/* Does the loop read another value that is produced at or after the kernel's position? */
static bool others_late(const ctx *c, const pair *p) {
    for (size_t i = 0; i < p->l->buffers.len; i++) {
        const tc_lbuffer *b = &p->l->buffers.data[i];
        if (!b->written && base_of(c, b->value, false) != p->result && producer_of(c, b->value) >= p->at) return true;
    }
    return false;
}

/* ---- data-dependent numbers: item, sizes of nonzero ---- */
typedef struct {
    tc_sym var;
    bool found;
} search;
static void look(void *self, tc_sym number) {
    search *s = self;
    s->found = s->found || tc_sym_contains(number, s->var);
}
static bool loop_has(const tc_loop *l, tc_sym var) {
    search s = {.var = var};
    if (tc_sym_opcode(var) == TC_S_VAR) tc_loop_each_number(l, look, &s);
    return s.found;
}
static bool value_numbers(const tc_loop *l, const tc_value *v) {
    bool found = v->kind == TC_V_SYM && v->sym && loop_has(l, v->sym);
    for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++) found |= loop_has(l, v->meta.size[d]);
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) found |= value_numbers(l, v->list[i]);
    return found;
}
/* Does the loop use a data-dependent number that a group between the kernel and the loop defines? */
static bool numbers_late(const ctx *c, const pair *p) {
    for (int k = p->at + 1; k < p->loop; k++) {
        const tc_group *g = &c->plan->groups.data[k];
        if (g->kind != TC_GROUP_CONTROL && !(g->kind == TC_GROUP_KERNEL && g->node->op->kernel->flags & TC_KF_DYNAMIC)) continue;
        for (int i = 0; i < g->node->nouts; i++)
            if (value_numbers(p->l, g->node->outs[i])) return true;
    }
    return false;
}

/* Chooses the position: the loop moves up to the kernel or, where only views are between, the kernel down to the loop. Returns why neither is possible,
 * or NULL. */
static const char *place(const ctx *c, const pair *p, bool *out_up) {
    bool apart = false, mutates = false;
    for (int k = p->at + 1; k < p->loop; k++) apart |= !is_view(&c->plan->groups.data[k]) && !is_gone(&c->plan->groups.data[k]);
    for (size_t i = 0; i < p->l->buffers.len; i++)
        mutates |= p->l->buffers.data[i].written && is_mutation(c->plan->program, p->l->buffers.data[i].value);
    *out_up = apart;
    if (!apart) return NULL;
    if (others_late(c, p)) return "others stand between";
    if (numbers_late(c, p)) return "it takes a number that is made in between";
    return mutates ? "it writes state that others may read before" : NULL;
}

/* ---- merging the loop into the kernel's group ---- */
static void add_view(tc_group *g, tc_arena *a, const tc_node *n) {
    const tc_node **views = TC_NEWN(a, const tc_node *, (size_t)g->nviews + 1);
    if (g->nviews) memcpy(views, g->views, sizeof *views * (size_t)g->nviews);
    views[g->nviews++] = n;
    g->views = views;
}

/* Order-preserving views of the result that precede the loop become part of the group; where the kernel moves down, the other views go behind it. */
static void join(ctx *c, const pair *p, bool up, uint64_t columns) {
    const int n = p->loop - p->at + 1, stays = up ? 0 : n - 1; /* groups from the kernel to the loop; position of the merged one among them */
    int at = 0, nlater = 0;
    tc_group *old = c->plan->groups.data + p->at, *new = tc_xcalloc((size_t)n, sizeof *new), *later = tc_xcalloc((size_t)n, sizeof *later), g = *old;
    tc_loop *l = p->l;
    l->region = true;
    l->columns = columns;
    const tc_node **nodes = TC_NEWN(l->arena, const tc_node *, (size_t)l->nnodes + 1);
    nodes[0] = g.node;
    memcpy(nodes + 1, l->nodes, sizeof *nodes * (size_t)l->nnodes);
    l->nodes = nodes, l->nnodes++;
    g.epilogue = l;
    for (int k = 1; k < n - 1; k++)
        if (is_view(&old[k]) && base_of(c, old[k].node->outs[0], true) == p->result) add_view(&g, l->arena, old[k].node);
    for (int k = 0; k < n; k++) {
        const bool between = k > 0 && k < n - 1 && is_view(&old[k]);
        if (between && base_of(c, old[k].node->outs[0], true) == p->result) continue;
        if (between && !up && base_of(c, old[k].node->outs[0], false) == p->result) later[nlater++] = old[k];
        else if (k == stays) {
            new[at++] = g;
            for (int i = 0; i < nlater; i++) new[at++] = later[i];
        } else if (k > 0 && k < n - 1 && !is_gone(&old[k])) new[at++] = old[k];
    }
    memcpy(old, new, (size_t)n * sizeof *new); /* the rest are empty slots */
    free(new);
    free(later);
    number(c, (size_t)p->at, (size_t)p->loop + 1);
}

static bool takes_one(const tc_group *g) {
    return g->kind == TC_GROUP_KERNEL && !g->epilogue && g->node->op->kernel->flags & TC_KF_EPILOGUE && g->node->nouts > 0 &&
           g->node->outs[0]->kind == TC_V_TENSOR && !tc_is_complex(g->node->outs[0]->meta.dtype);
}

static void find_readers(ctx *c) {
    for (size_t i = 0; i < c->plan->groups.len; i++) {
        tc_loop *l = c->plan->groups.data[i].loop;
        for (size_t k = 0; l && !l->tile && k < l->buffers.len; k++) {
            const tc_value *v = l->buffers.data[k].written ? NULL : base_of(c, l->buffers.data[k].value, false);
            if (v && producer_of(c, v) >= 0 && !c->reader[v->id]) c->reader[v->id] = l;
        }
    }
}

/* Tries the first loop after the kernel that reads its result. */
static void attach(ctx *c, int at) {
    tc_plan *plan = c->plan;
    const tc_node *kernel = plan->groups.data[at].node;
    pair p = {.at = at, .result = kernel->outs[0], .l = c->reader[kernel->outs[0]->id]};
    if (!p.l) return;
    p.loop = producer_of(c, p.l->buffers.data[p.l->stores.data[0].buffer].value);
    const tc_group *g = &plan->groups.data[p.loop];
    uint64_t columns = 0;
    bool up = false;
    const char *why = g->kind == TC_GROUP_LOOP ? fits(c, &p, &columns) : "it is one of another kernel";
    if (!why) why = place(c, &p, &up);
    if (!why && !TC_STEP(plan->steps, "%s becomes the epilogue of %s", tc_fused_name(p.l->nodes[p.l->nnodes - 1]), tc_fused_name(kernel)))
        why = "TC_STEPS is reached";
    if (why) tc_buf_printf(&plan->log, "%s is no epilogue of %s: %s\n", tc_fused_name(p.l->nodes[p.l->nnodes - 1]), tc_fused_name(kernel), why);
    else join(c, &p, up, columns);
}

void tc_plan_epilogues(tc_plan *plan) {
    ctx c = {.plan = plan, .nvalues = plan->graph->nvalues};
    c.producer = tc_xcalloc(c.nvalues + 1, sizeof *c.producer);
    c.reader = tc_xcalloc(c.nvalues + 1, sizeof *c.reader);
    for (size_t i = 0; i < c.nvalues; i++) c.producer[i] = -1;
    number(&c, 0, plan->groups.len);
    find_readers(&c);
    for (size_t i = plan->groups.len; i-- > 0;) /* backwards: of two kernels that feed one loop the later one gets it */
        if (!is_gone(&plan->groups.data[i]) && takes_one(&plan->groups.data[i])) attach(&c, (int)i);
    size_t n = 0;
    for (size_t i = 0; i < plan->groups.len; i++)
        if (!is_gone(&plan->groups.data[i])) plan->groups.data[n++] = plan->groups.data[i];
    plan->groups.len = n;
    free(c.producer);
    free(c.reader);
}
