/* Cuts a loop into nests (loop/nest.h). A sink is what a nest stores: a store of the loop, or a reduction that goes through a temporary because another
 * sink reads it and runs over other axes. Sinks with compatible axes share a nest:
 *
 *     y[a0] = sum over a1 of exp(x - m[a0])        m = max over a1 of x                      one nest: both run over a1
 *     z[a0] = sum over a1 of x / s[a1]             s = sum over a0 of x                      two nests; s is stored in a temporary */
#include "loop/nest.h"

typedef struct {
    tc_lv value;     /* a reduction, scan or tuple component that is stored in a temporary; TC_LV_NONE: a store */
    int store;       /* its number, where value is TC_LV_NONE */
    uint64_t domain; /* the axes it is stored for */
    uint64_t over;   /* the axes that its reductions and scans run over */
} sink;

typedef struct {
    const tc_loop *l;
    uint8_t *stored; /* [instructions] stored in a temporary */
    uint8_t *seen;   /* [instructions] set by mark() */
    tc_lv *stack;    /* scratch of mark() */
} ctx;

static bool runs_over(const tc_linst *in) { return (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) && in->over; }

/* Marks in c->seen the instructions that the roots depend on, not following operands of stored values (other than `self`). */
static void mark(ctx *c, const tc_lv *roots, int nroots, tc_lv self) {
    memset(c->seen, 0, c->l->inst.len);
    int n = 0;
    for (int i = 0; i < nroots; i++) c->stack[n++] = roots[i];
    while (n) {
        tc_lv v = c->stack[--n];
        if (c->seen[v]) continue;
        c->seen[v] = 1;
        if (!c->stored[v] || v == self) n += tc_loop_operands(&c->l->inst.data[v], c->stack + n);
    }
}

/* An instruction pushes its operands once: at most 3, a predicate and `rank` gathered indices. */
static size_t stack_size(const tc_loop *l) {
    size_t n = l->inst.len * 4 + TC_LOOP_OPERANDS;
    for (size_t i = 0; i < l->inst.len; i++) n += (size_t)l->inst.data[i].rank;
    return n;
}

/* Sets s->over, and marks the reductions over other axes as stored. For a store, its last reduction decides `over`; not one over axes of which the
 * store has some but not all, which cannot be in the store's nest. */
static void find_over(ctx *c, sink *s) {
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

/* Can s join nest number `number`, which holds the sinks i < nsinks with of[i] == number? Every sink of a nest must be stored for all its axes, or
 * for all outer ones. */
static bool fits(const tc_nest *nest, const sink *sinks, const int *of, int nsinks, int number, const sink *s) {
    uint64_t over = nest->inner | s->over, all = nest->outer | nest->inner | s->domain | s->over;
    if (nest->inner && s->over && nest->inner != s->over) return false;
    if (!over && s->domain != nest->outer) return false;
    if (s->domain != all && s->domain != (all & ~over)) return false;
    for (int i = 0; i < nsinks; i++)
        if (of[i] == number && sinks[i].domain != all && sinks[i].domain != (all & ~over)) return false;
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
    /* Until no more values are marked: a marked value may mark others in turn. */
    bool again = true;
    while (again) {
        size_t before = 0, after = 0;
        for (size_t i = 0; i < l->inst.len; i++) before += c->stored[i];
        for (size_t i = 0; i < l->stores.len; i++) find_over(c, &stores[i]);
        for (size_t i = l->inst.len; i-- > 0;)
            if (c->stored[i]) find_over(c, &(sink){.value = (tc_lv)i, .domain = l->inst.data[i].axes});
        for (size_t i = 0; i < l->inst.len; i++) after += c->stored[i];
        again = after != before;
    }
    for (size_t i = 0; i < l->inst.len; i++)
        if (c->stored[i]) {
            out.s[out.n] = (sink){.value = (tc_lv)i, .domain = l->inst.data[i].axes};
            find_over(c, &out.s[out.n++]);
        }
    for (size_t i = 0; i < l->stores.len; i++) out.s[out.n++] = stores[i];
    free(stores);
    return out;
}

/* A load from a temporary, which has one dimension for each axis of `in`. */
static tc_lv load_temp(tc_loop *to, int buffer, const tc_linst *in) {
    tc_linst ld = {.kind = TC_L_LOAD, .dtype = in->dtype, .a = {TC_LV_NONE, TC_LV_NONE, TC_LV_NONE}, .buffer = buffer, .pred = TC_LV_NONE};
    ld.rank = to->buffers.data[buffer].rank;
    tc_affine *index = TC_NEWN(to->arena, tc_affine, (size_t)ld.rank + 1);
    for (int a = 0, d = 0; a < 64; a++)
        if (in->axes >> a & 1) { index[d++] = tc_affine_axis(to->sym, a); }
    ld.index = index;
    return tc_loop_push(to, ld);
}

/* A copy of the loop in which each marked value is stored to a temporary and loaded by the instructions that use it. Stores to temporaries come first. */
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
        tc_loop_rename(to, &in, map);
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

/* The last nest that stores a temporary which sink i reads; -1: none. */
static int last_nest_read(ctx *c, const sinks *all, const int *of, int i) {
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

/* Puts each sink into the first nest that it fits, after those it reads from. */
static void assign_nests(ctx *c, const sinks *all, tc_schedule *out) {
    int *of = tc_xcalloc((size_t)all->n + 1, sizeof *of);
    out->nests = tc_xcalloc((size_t)all->n + 1, sizeof *out->nests);
    int ntemps = 0;
    while (ntemps < all->n && all->s[ntemps].value != TC_LV_NONE) ntemps++;
    for (int i = 0; i < all->n; i++) {
        const sink *s = &all->s[i];
        int k = last_nest_read(c, all, of, i) + 1;
        for (int j = 0; j < i; j++) /* stores to one buffer stay in order */
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
    if (!s) assign_nests(&c, &all, out);
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
        assign_nests(&c, &all, &out);
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
