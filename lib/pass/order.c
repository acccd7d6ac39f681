/* List scheduling for the least memory (pass/order.h). */
#include "pass/order.h"

#include "kernel/kernel.h"
#include "pass/fuse.h"
#include "pass/value_bytes.h"

enum { WORTH = 16 }; /* sizes are typical ones and copies estimates: a gain of less than a sixteenth may be none */

typedef TC_VEC(int) ints;

/* What a group does to memory. Values are known by their roots: a view has its base's. */
typedef struct {
    ints reads, makes; /* roots, each once */
    ints replaces;     /* by position in makes: a root that the result may overwrite if it dies here; -1: none */
    ints after;        /* groups that must follow */
    int waits;         /* groups that must come first and have not run */
    int64_t copies;    /* bytes of operands that are copied for the time of the group */
} step;

typedef struct {
    tc_plan *plan;
    step *steps;
    size_t n;
    int at;         /* the group being read */
    int *maker;     /* by value id: group; -1: an input */
    int *root;      /* by value id */
    int64_t *bytes; /* by root; 0: not in the arena */
    int *seen;      /* by root: 1 + the last group found to read it */
    int *readers;   /* by root: groups that read it; results of the graph count once more */
    int *left;      /* by root: of these, those that have not run */
} ctx;

static bool ours(const ctx *c, const tc_value *v) { return v && v->graph == c->plan->graph; }

static void follows(ctx *c, int first, int then) {
    if (first < 0 || first == then) return;
    step *s = &c->steps[first];
    if (s->after.len && s->after.data[s->after.len - 1] == then) return;
    tc_vec_push(&s->after, then);
    c->steps[then].waits++;
}

/* ---- what groups read and make ---- */
static void reads(ctx *c, const tc_value *v) {
    if (!v) return;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) reads(c, v->list[i]);
    if (!ours(c, v)) return;
    if (c->maker[v->id] >= 0) follows(c, c->maker[v->id], c->at);
    const int root = c->root[v->id];
    if (v->kind != TC_V_TENSOR || c->seen[root] == c->at + 1) return;
    c->seen[root] = c->at + 1;
    tc_vec_push(&c->steps[c->at].reads, root);
}
static void read_place(void *c, tc_value **place) { reads(c, *place); }

/* Is v seen through views in another order than its base has in memory? A kernel that takes contiguous operands gets a copy. */
static bool is_disordered(const tc_value *v) {
    for (; v->producer && v->producer->op->view_alias; v = v->producer->args[0].value)
        if (!(v->producer->op->flags & TC_OP_SAME_ORDER)) return true;
    return false;
}

static void makes(ctx *c, const tc_value *v, const tc_symvalue *vars, size_t nvars) {
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) makes(c, v->list[i], vars, nvars);
    if (!ours(c, v)) return;
    c->maker[v->id] = c->at;
    if (v->kind != TC_V_TENSOR) return;
    c->bytes[v->id] = tc_value_bytes(v, vars, nvars);
    tc_vec_push(&c->steps[c->at].makes, (int)v->id);
}

static void view(ctx *c, const tc_node *n) {
    const tc_value *base = n->args[0].value;
    c->maker[n->outs[0]->id] = c->at;
    if (ours(c, base)) c->root[n->outs[0]->id] = c->root[base->id];
}

static void read_group(ctx *c, const tc_symvalue *vars, size_t nvars) {
    const tc_group *g = &c->plan->groups.data[c->at];
    const tc_loop *l = g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue;
    if (g->kind != TC_GROUP_LOOP) tc_node_each_input(g->node, read_place, c);
    for (int k = 0; g->kind == TC_GROUP_KERNEL && g->node->op->kernel->flags & TC_KF_CONTIGUOUS && k < g->node->nargs; k++) {
        const tc_arg *a = &g->node->args[k];
        if (a->kind == TC_A_VALUE && a->value->kind == TC_V_TENSOR && is_disordered(a->value))
            c->steps[c->at].copies += tc_value_bytes(a->value, vars, nvars);
    }
    if (g->kind == TC_GROUP_VIEW) view(c, g->node);
    else
        for (int k = 0; g->kind != TC_GROUP_LOOP && k < g->node->nouts; k++) makes(c, g->node->outs[k], vars, nvars);
    for (int k = 0; k < g->nviews; k++) view(c, g->views[k]);
    for (size_t k = 0; l && k < l->buffers.len; k++) {
        const tc_lbuffer *b = &l->buffers.data[k];
        if (!b->value) continue;
        if (b->written) makes(c, b->value, vars, nvars);
        else reads(c, b->value);
        if (b->written && l->tile && ours(c, b->value)) c->bytes[b->value->id] = 0;
    }
    for (int t = 0; t < TC_TILES && g->tiles[t]; t++)
        for (size_t k = 0; k < g->tiles[t]->buffers.len; k++)
            if (!g->tiles[t]->buffers.data[k].written) reads(c, g->tiles[t]->buffers.data[k].value);
}

/* ---- memory that results take over ---- */
/* Does the loop read u only where it stores v? As may_overwrite of runtime/bind_group.c, which knows strides as well. */
static bool same_elements(const tc_loop *l, const tc_value *v, const tc_value *u) {
    const tc_lstore *st = NULL;
    for (size_t i = 0; i < l->stores.len; i++)
        if (l->buffers.data[l->stores.data[i].buffer].value == v) st = st ? NULL : &l->stores.data[i];
    if (!st) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if ((in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) && (l->stores.len != 1 || in->over & ~st->axes)) return false;
        if (in->kind != TC_L_LOAD || l->buffers.data[in->buffer].value != u) continue;
        if (in->gather || in->pred != TC_LV_NONE || !tc_loop_same_index(st, in)) return false;
    }
    return true;
}

static int replaced(const ctx *c, const tc_group *g, int made, uint64_t *taken) {
    const tc_loop *l = g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue;
    if (g->kind == TC_GROUP_KERNEL && made == (int)g->node->outs[0]->id)
        return g->node->op->kernel->flags & TC_KF_INPLACE0 && ours(c, g->node->args[0].value) ? c->root[g->node->args[0].value->id] : -1;
    for (size_t k = 0; l && k < l->buffers.len && k < 64; k++) {
        const tc_value *u = l->buffers.data[k].written ? NULL : l->buffers.data[k].value;
        if (!ours(c, u) || *taken >> k & 1 || c->bytes[c->root[u->id]] != c->bytes[made]) continue;
        for (size_t i = 0; i < l->buffers.len; i++)
            if (l->buffers.data[i].written && (int)l->buffers.data[i].value->id == made && same_elements(l, l->buffers.data[i].value, u)) {
                *taken |= UINT64_C(1) << k;
                return c->root[u->id];
            }
    }
    return -1;
}

/* ---- results of the graph, and inputs that it overwrites ---- */
static void results(ctx *c, const tc_value *v) {
    if (!v) return;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) results(c, v->list[i]);
    if (!ours(c, v) || v->kind != TC_V_TENSOR) return;
    const tc_value *base = v;
    while (base->producer && base->producer->op->view_alias && base->producer->op->flags & TC_OP_SAME_ORDER) base = base->producer->args[0].value;
    if (c->root[v->id] == (int)base->id) c->bytes[base->id] = 0; /* computed in the caller's memory */
    else c->readers[c->root[v->id]]++;
}

/* An input is overwritten where it is only if its readers have run. */
static void mutations(ctx *c) {
    const tc_program *p = c->plan->program;
    if (p->graph != c->plan->graph) return;
    int *first = tc_xcalloc(c->plan->graph->nvalues + 1, sizeof *first); /* by root: 1 + the first output that overwrites it */
    int *next = tc_xcalloc((size_t)p->noutputs + 1, sizeof *next);       /* by output: 1 + another one that does */
    for (int o = 0; o < p->noutputs; o++) {
        const tc_value *v = p->outputs[o].value, *to = p->outputs[o].target >= 0 ? p->inputs[p->outputs[o].target].value : NULL;
        if (!ours(c, v) || !ours(c, to) || c->maker[v->id] < 0) continue;
        next[o] = first[c->root[to->id]];
        first[c->root[to->id]] = o + 1;
    }
    for (int i = 0; i < (int)c->n; i++)
        for (size_t k = 0; k < c->steps[i].reads.len; k++)
            for (int o = first[c->steps[i].reads.data[k]]; o; o = next[o - 1]) {
                const int writer = c->maker[p->outputs[o - 1].value->id];
                if (i < writer) follows(c, i, writer);
            }
    free(first);
    free(next);
}

/* ---- groups that others do not pass ---- */
static bool stays(const tc_group *g) {
    if (g->kind == TC_GROUP_CONTROL) return true;
    return g->kind == TC_GROUP_KERNEL && (g->node->op->kernel->flags & TC_KF_DYNAMIC || g->node->op->flags & TC_OP_IMPURE);
}

static void fences(ctx *c) {
    int fence = -1, random = -1;
    for (int i = 0; i < (int)c->n; i++) {
        const tc_group *g = &c->plan->groups.data[i];
        if (fence >= 0) follows(c, fence, i);
        if (stays(g)) {
            for (int k = fence + 1; k < i; k++) follows(c, k, i);
            fence = i;
        }
        if (g->kind != TC_GROUP_KERNEL || !(g->node->op->flags & TC_OP_RANDOM)) continue;
        if (random >= 0) follows(c, random, i);
        random = i;
    }
}

static ctx *read_plan(tc_plan *plan) {
    ctx *c = tc_xcalloc(1, sizeof *c);
    const size_t nv = plan->graph->nvalues + 1;
    size_t nvars;
    tc_symvalue *vars = tc_typical_sizes(plan->program, &nvars);
    *c = (ctx){.plan = plan, .n = plan->groups.len, .steps = tc_xcalloc(plan->groups.len + 1, sizeof *c->steps)};
    c->maker = tc_xcalloc(nv, sizeof *c->maker), c->root = tc_xcalloc(nv, sizeof *c->root), c->bytes = tc_xcalloc(nv, sizeof *c->bytes);
    c->seen = tc_xcalloc(nv, sizeof *c->seen), c->readers = tc_xcalloc(nv, sizeof *c->readers), c->left = tc_xcalloc(nv, sizeof *c->left);
    for (size_t i = 0; i < nv; i++) c->maker[i] = -1, c->root[i] = (int)i;
    const tc_program *p = plan->program;
    for (int i = 0; p->graph == plan->graph && i < p->ninputs; i++)
        if (p->inputs[i].alias_of >= 0 && ours(c, p->inputs[i].value) && ours(c, p->inputs[p->inputs[i].alias_of].value))
            c->root[p->inputs[i].value->id] = (int)p->inputs[p->inputs[i].alias_of].value->id;
    for (c->at = 0; c->at < (int)c->n; c->at++) read_group(c, vars, nvars);
    free(vars);
    mutations(c);
    fences(c);
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->steps[i].reads.len; k++) c->readers[c->steps[i].reads.data[k]]++;
    for (int i = 0; i < plan->graph->noutputs; i++) results(c, plan->graph->outputs[i]);
    for (size_t i = 0; i < c->n; i++) {
        const tc_group *g = &plan->groups.data[i];
        step *s = &c->steps[i];
        uint64_t taken = 0;
        if (g->epilogue && c->readers[g->node->outs[0]->id] <= 1) c->bytes[g->node->outs[0]->id] = 0; /* in the memory of what the epilogue stores */
        for (size_t k = 0; k < s->makes.len; k++) tc_vec_push(&s->replaces, replaced(c, g, s->makes.data[k], &taken));
    }
    return c;
}

static void drop(ctx *c) {
    for (size_t i = 0; i < c->n; i++) {
        tc_vec_free(&c->steps[i].reads);
        tc_vec_free(&c->steps[i].makes);
        tc_vec_free(&c->steps[i].replaces);
        tc_vec_free(&c->steps[i].after);
    }
    free(c->steps), free(c->maker), free(c->root), free(c->bytes), free(c->seen), free(c->readers), free(c->left);
    free(c);
}

/* ---- the memory of an order ---- */
typedef struct {
    int64_t during, after; /* bytes that running the group adds, while it runs and when it has run */
} change;

static change changes(const ctx *c, int i) {
    const step *s = &c->steps[i];
    change x = {s->copies, 0};
    for (size_t k = 0; k < s->makes.len; k++) {
        const int64_t b = c->bytes[s->makes.data[k]];
        const int over = s->replaces.data[k];
        if (over < 0 || c->left[over] != 1 || c->bytes[over] != b) x.during += b;
        if (c->readers[s->makes.data[k]]) x.after += b;
    }
    for (size_t k = 0; k < s->reads.len; k++)
        if (c->left[s->reads.data[k]] == 1 && c->maker[s->reads.data[k]] >= 0) x.after -= c->bytes[s->reads.data[k]];
    return x;
}

static void start(ctx *c) { memcpy(c->left, c->readers, (c->plan->graph->nvalues + 1) * sizeof *c->left); }

static void ran(ctx *c, int i) {
    for (size_t k = 0; k < c->steps[i].reads.len; k++) c->left[c->steps[i].reads.data[k]]--;
}

/* The peak of an order; order NULL: as the groups are. need: the least that any order must have. */
static int64_t peak_of(ctx *c, const int *order, int64_t *need) {
    int64_t live = 0, peak = 0;
    start(c);
    for (size_t i = 0; i < c->n; i++) {
        const int at = order ? order[i] : (int)i;
        const change x = changes(c, at);
        int64_t own = x.during;
        for (size_t k = 0; k < c->steps[at].reads.len; k++)
            if (c->maker[c->steps[at].reads.data[k]] >= 0) own += c->bytes[c->steps[at].reads.data[k]];
        if (need && own > *need) *need = own;
        if (live + x.during > peak) peak = live + x.during;
        live += x.after;
        ran(c, at);
    }
    return peak;
}

/* Which of two groups comes first? RAISES: the one that raises the peak least, of these the one that leaves least behind; LEAVES: the latter alone.
 * Neither is best for all graphs. */
typedef enum { RAISES, LEAVES, RULES } rule;
static bool is_better(rule by, change x, int at, change y, int than) {
    if (by == RAISES && x.during != y.during) return x.during < y.during;
    return x.after != y.after ? x.after < y.after : at < than;
}

/* Of the groups that could run next only so many are compared: those that became ready last, whose operands were just made, and the oldest. */
enum { RECENT = 48, OLDEST = 16 };

static void schedule(ctx *c, rule by, int *order) {
    ints ready = {0}; /* in the order in which they became ready */
    int64_t live = 0, peak = 0;
    size_t n = 0;
    int *waits = tc_xcalloc(c->n + 1, sizeof *waits);
    start(c);
    for (size_t i = 0; i < c->n; i++)
        if (!(waits[i] = c->steps[i].waits)) tc_vec_push(&ready, (int)i);
    while (ready.len) {
        size_t best = 0;
        change least = {0, 0};
        for (size_t k = 0; k < ready.len; k++) {
            if (k == OLDEST && ready.len > OLDEST + RECENT) k = ready.len - RECENT;
            change x = changes(c, ready.data[k]);
            if (live + x.during < peak) x.during = peak - live; /* all of these raise it by nothing */
            if (!k || is_better(by, x, ready.data[k], least, ready.data[best])) best = k, least = x;
        }
        const int at = ready.data[best];
        peak = live + least.during;
        live += least.after;
        ran(c, at);
        order[n++] = at;
        memmove(&ready.data[best], &ready.data[best + 1], (--ready.len - best) * sizeof *ready.data);
        for (size_t k = 0; k < c->steps[at].after.len; k++)
            if (!--waits[c->steps[at].after.data[k]]) tc_vec_push(&ready, c->steps[at].after.data[k]);
    }
    tc_vec_free(&ready);
    free(waits);
}

static void reorder(tc_plan *plan, const int *order) {
    const size_t n = plan->groups.len;
    tc_group *old = tc_xcalloc(n + 1, sizeof *old);
    memcpy(old, plan->groups.data, n * sizeof *old);
    for (size_t i = 0; i < n; i++) plan->groups.data[i] = old[order[i]];
    free(old);
}

void tc_plan_order(tc_plan *plan) {
    ctx *c = read_plan(plan);
    int64_t need = 0, least = peak_of(c, NULL, &need);
    int *order = tc_xcalloc(c->n + 1, sizeof *order), *best = tc_xcalloc(c->n + 1, sizeof *best);
    bool found = false;
    least -= least / WORTH;
    for (rule by = 0; by < RULES && least > need; by++) {
        schedule(c, by, order);
        const int64_t peak = peak_of(c, order, NULL);
        if (peak >= least) continue;
        memcpy(best, order, c->n * sizeof *best);
        least = peak;
        found = true;
    }
    if (found && TC_STEP(plan->steps, "groups run in an order that needs less memory")) reorder(plan, best);
    free(order);
    free(best);
    drop(c);
}
