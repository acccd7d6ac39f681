/* Cutting a loop into nests (loop/nest.h). A sink is a store, or a reduction that must be stored because a sink that needs it runs over
 * other axes; each sink has the axes it is stored for and the axes that its reductions run over. */
#include "loop/nest.h"

typedef struct {
    tc_lv value; /* of a reduction, scan or part to materialise; TC_LV_NONE: store */
    int store;
    uint64_t domain, over; /* stored for; reduced or scanned over */
} sink;

typedef struct {
    const tc_loop *l;
    uint8_t *stored; /* instructions that go through a temporary */
    uint8_t *seen;
    tc_lv *stack;
} ctx;

static bool runs_over(const tc_linst *in) { return (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) && in->over; }

static void push_operands(const tc_linst *in, tc_lv *stack, int *n) {
    for (int k = 0; k < 3; k++)
        if (in->a[k] != TC_LV_NONE) stack[(*n)++] = in->a[k];
    if (in->pred != TC_LV_NONE) stack[(*n)++] = in->pred;
    for (int d = 0; in->gather && d < in->rank; d++)
        if (in->gather[d] != TC_LV_NONE) stack[(*n)++] = in->gather[d];
}

/* Marks in c->seen what the roots need, not looking behind materialised values (but for `self`). */
static void mark(ctx *c, const tc_lv *roots, int nroots, tc_lv self) {
    memset(c->seen, 0, c->l->inst.len);
    int n = 0;
    for (int i = 0; i < nroots; i++) c->stack[n++] = roots[i];
    while (n) {
        tc_lv v = c->stack[--n];
        if (c->seen[v]) continue;
        c->seen[v] = 1;
        if (!c->stored[v] || v == self) push_operands(&c->l->inst.data[v], c->stack, &n);
    }
}

/* Each instruction is pushed at most once an operand place. */
static size_t stack_size(const tc_loop *l) {
    size_t n = l->inst.len * 4 + 8;
    for (size_t i = 0; i < l->inst.len; i++) n += (size_t)l->inst.data[i].rank;
    return n;
}

/* Decides what the sink runs over and marks the reductions over other axes for materialisation. The last one decides; one whose axes the
 * store has only in part cannot share a nest with it. */
static void settle(ctx *c, sink *s) {
    const tc_linst *inst = c->l->inst.data;
    tc_lv roots[2];
    int n = 0;
    if (s->value != TC_LV_NONE) roots[n++] = s->value;
    else {
        const tc_lstore *st = &c->l->stores.data[s->store];
        roots[n++] = st->value;
        if (st->pred != TC_LV_NONE) roots[n++] = st->pred;
    }
    mark(c, roots, n, s->value);
    s->over = s->value != TC_LV_NONE ? (inst[s->value].kind == TC_L_PART ? inst[inst[s->value].a[0]].over : inst[s->value].over) : 0;
    for (size_t i = c->l->inst.len; i-- > 0 && !s->over;) {
        if (!c->seen[i] || c->stored[i] || !runs_over(&inst[i])) continue;
        uint64_t both = s->domain & inst[i].over;
        if (!both || both == inst[i].over) s->over = inst[i].over;
    }
    for (size_t i = 0; i < c->l->inst.len; i++)
        if (c->seen[i] && !c->stored[i] && (tc_lv)i != s->value && runs_over(&inst[i]) && inst[i].over != s->over) {
            if (inst[i].kind == TC_L_REDUCE && inst[i].op == TC_R_WELFORD) {
                for (size_t k = i + 1; k < c->l->inst.len; k++)
                    if (inst[k].kind == TC_L_PART && inst[k].a[0] == (tc_lv)i) c->stored[k] = 1;
            } else c->stored[i] = 1;
        }
}

static bool fits(const tc_nest *nest, const sink *sinks, const int *of, int nsinks, int self_nest, const sink *s) {
    uint64_t over = nest->inner | s->over, all = nest->outer | nest->inner | s->domain | s->over;
    if (nest->inner && s->over && nest->inner != s->over) return false;
    if (!over && s->domain != nest->outer) return false;
    if (s->domain != all && s->domain != (all & ~over)) return false;
    for (int i = 0; i < nsinks; i++)
        if (of[i] == self_nest && sinks[i].domain != all && sinks[i].domain != (all & ~over)) return false;
    return true;
}

typedef struct {
    sink *s;
    int n;
} sinks;

static sinks find_sinks(ctx *c) {
    const tc_loop *l = c->l;
    sinks out = {tc_xcalloc(l->stores.len + l->inst.len, sizeof(sink)), 0};
    sink *stores = tc_xcalloc(l->stores.len, sizeof(sink));
    for (size_t i = 0; i < l->stores.len; i++) stores[i] = (sink){.value = TC_LV_NONE, .store = (int)i, .domain = l->stores.data[i].axes};
    /* Settling one may mark more; marks only grow, and a materialised value settles once, after everything that follows it. */
    bool again = true;
    while (again) {
        size_t before = 0, after = 0;
        for (size_t i = 0; i < l->inst.len; i++) before += c->stored[i];
        for (size_t i = 0; i < l->stores.len; i++) settle(c, &stores[i]);
        for (size_t i = l->inst.len; i-- > 0;)
            if (c->stored[i]) settle(c, &(sink){.value = (tc_lv)i, .domain = l->inst.data[i].axes});
        for (size_t i = 0; i < l->inst.len; i++) after += c->stored[i];
        again = after != before;
    }
    for (size_t i = 0; i < l->inst.len; i++)
        if (c->stored[i]) {
            out.s[out.n] = (sink){.value = (tc_lv)i, .domain = l->inst.data[i].axes};
            settle(c, &out.s[out.n++]);
        }
    for (size_t i = 0; i < l->stores.len; i++) out.s[out.n++] = stores[i];
    free(stores);
    return out;
}

static tc_lv load_temp(tc_loop *to, int buffer, const tc_linst *in) {
    tc_linst ld = {.kind = TC_L_LOAD, .dtype = in->dtype, .a = {TC_LV_NONE, TC_LV_NONE, TC_LV_NONE}, .buffer = buffer, .pred = TC_LV_NONE};
    ld.rank = to->buffers.data[buffer].rank;
    tc_affine *index = TC_NEWN(to->arena, tc_affine, (size_t)ld.rank + 1);
    for (int a = 0, d = 0; a < 64; a++)
        if (in->axes >> a & 1) {
            index[d].base = tc_sym_int(to->sym, 0);
            index[d].n = 1;
            index[d].term[0].axis = a;
            index[d++].term[0].coef = tc_sym_int(to->sym, 1);
        }
    ld.index = index;
    return tc_loop_push(to, ld);
}

/* A copy in which each marked value is stored to a temporary (stores first, in order) and loaded by those who use it. */
static tc_status with_temps(const ctx *c, tc_loop **out) {
    const tc_loop *l = c->l;
    tc_loop *to = TC_NEW(l->arena, tc_loop);
    to->arena = l->arena, to->sym = l->sym, to->naxes = l->naxes, to->nodes = l->nodes, to->nnodes = l->nnodes;
    memcpy(to->axes, l->axes, sizeof l->axes);
    for (size_t i = 0; i < l->buffers.len; i++) tc_vec_push(&to->buffers, l->buffers.data[i]);
    tc_lv *map = tc_xcalloc(l->inst.len, sizeof *map);
    tc_status s = NULL;
    for (size_t i = 0; i < l->inst.len && !s; i++) {
        tc_linst in = l->inst.data[i];
        for (int k = 0; k < 3; k++)
            if (in.a[k] != TC_LV_NONE) in.a[k] = map[in.a[k]];
        if (in.pred != TC_LV_NONE) in.pred = map[in.pred];
        if (in.gather) {
            tc_lv *g = TC_NEWN(to->arena, tc_lv, (size_t)in.rank);
            for (int d = 0; d < in.rank; d++) g[d] = in.gather[d] == TC_LV_NONE ? TC_LV_NONE : map[in.gather[d]];
            in.gather = g;
        }
        map[i] = tc_loop_push(to, in);
        if (!c->stored[i]) continue;
        int rank = __builtin_popcountll(in.axes = to->inst.data[map[i]].axes), d = 0;
        if (rank > TC_MAX_RANK) {
            s = tc_error(TC_UNSUPPORTED, "a reduction that keeps %d axes", rank);
            break;
        }
        tc_sym *size = TC_NEWN(to->arena, tc_sym, (size_t)rank + 1);
        for (int a = 0; a < 64; a++)
            if (in.axes >> a & 1) size[d++] = l->axes[a].extent;
        int buffer = tc_loop_temp(to, in.dtype, rank, size);
        tc_lv ld = load_temp(to, buffer, &in);
        tc_loop_store(to, (tc_lstore){.buffer = buffer, .rank = rank, .index = to->inst.data[ld].index, .value = map[i], .pred = TC_LV_NONE});
        map[i] = ld;
    }
    for (size_t i = 0; i < l->stores.len && !s; i++) {
        tc_lstore st = l->stores.data[i];
        st.value = map[st.value];
        if (st.pred != TC_LV_NONE) st.pred = map[st.pred];
        tc_loop_store(to, st);
    }
    free(map);
    if (s) tc_loop_free(to);
    else *out = to;
    return s;
}

/* The last nest that stores a temporary which the sink reads; -1: none. */
static int needs_nest(ctx *c, const sinks *all, const int *of, int i) {
    const sink *s = &all->s[i];
    tc_lv roots[2] = {s->value, TC_LV_NONE};
    int n = 1, last = -1;
    if (s->value == TC_LV_NONE) {
        const tc_lstore *st = &c->l->stores.data[s->store];
        roots[0] = st->value;
        if (st->pred != TC_LV_NONE) roots[n++] = st->pred;
    }
    mark(c, roots, n, s->value);
    for (int k = 0; k < i; k++)
        if (all->s[k].value != TC_LV_NONE && c->seen[all->s[k].value] && of[k] > last) last = of[k];
    return last;
}

static void group(ctx *c, const sinks *all, tc_schedule *out) {
    int *of = tc_xcalloc((size_t)all->n + 1, sizeof *of);
    out->nests = tc_xcalloc((size_t)all->n + 1, sizeof *out->nests);
    int ntemps = 0;
    while (ntemps < all->n && all->s[ntemps].value != TC_LV_NONE) ntemps++;
    for (int i = 0; i < all->n; i++) {
        const sink *s = &all->s[i];
        int k = needs_nest(c, all, of, i) + 1;
        for (int j = 0; j < i; j++) /* a second store to a buffer comes after the first */
            if (s->value == TC_LV_NONE && all->s[j].value == TC_LV_NONE &&
                c->l->stores.data[all->s[j].store].buffer == c->l->stores.data[s->store].buffer && of[j] >= k)
                k = of[j] + 1;
        while (k < out->n && !fits(&out->nests[k], all->s, of, i, k, s)) k++;
        tc_nest *nest = &out->nests[k];
        if (k == out->n) {
            out->n++;
            nest->stores = tc_xcalloc((size_t)all->n, sizeof(int));
        }
        uint64_t whole = nest->outer | nest->inner | s->domain | s->over;
        nest->inner |= s->over;
        nest->outer = whole & ~nest->inner;
        nest->stores[nest->nstores++] = s->value != TC_LV_NONE ? i : s->store + ntemps;
        of[i] = k;
    }
    free(of);
}

static void open_ctx(ctx *c, const tc_loop *l) {
    *c = (ctx){.l = l, .stored = tc_xcalloc(l->inst.len + 1, 1), .seen = tc_xcalloc(l->inst.len + 1, 1)};
    c->stack = tc_xcalloc(stack_size(l), sizeof(tc_lv));
}
static void close_ctx(ctx *c) {
    free(c->stored);
    free(c->seen);
    free(c->stack);
}

tc_status tc_loop_schedule(tc_loop *l, tc_schedule *out) {
    ctx c;
    open_ctx(&c, l);
    *out = (tc_schedule){.loop = l};
    sinks all = find_sinks(&c);
    tc_status s = NULL;
    if (all.n > (int)l->stores.len) {
        out->own_loop = true;
        s = with_temps(&c, &out->loop);
    }
    if (!s) group(&c, &all, out);
    free(all.s);
    close_ctx(&c);
    return s;
}

bool tc_loop_is_one_nest(const tc_loop *l) {
    ctx c;
    open_ctx(&c, l);
    tc_schedule out = {0};
    sinks all = find_sinks(&c);
    bool one = all.n == (int)l->stores.len;
    if (one) {
        group(&c, &all, &out);
        one = out.n == 1;
        tc_schedule_deinit(&out);
    }
    free(all.s);
    close_ctx(&c);
    return one;
}

void tc_schedule_deinit(tc_schedule *s) {
    for (int i = 0; i < s->n; i++) free(s->nests[i].stores);
    free(s->nests);
    if (s->own_loop) tc_loop_free(s->loop);
    *s = (tc_schedule){0};
}
