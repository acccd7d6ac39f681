/* Decides the schedule of a group's C (emit_plan.h): phases, merged ranges, items, nests, which values are kept between nests. */
#include "codegen/emit_plan.h"

/* ---- sizes and steps as C text ---- */
cexpr cx_int(int64_t v) { return (cexpr){.is_const = true, .v = v}; }

const char *cx_text(cplan *p, cexpr e) { return e.is_const ? tc_arena_printf(p->a, "%lld", (long long)e.v) : e.s; }

static tc_sym sym_of(cplan *p, cexpr e) { return e.is_const ? tc_sym_int(p->l->sym, e.v) : e.sym; }

cexpr cx_add(cplan *p, cexpr a, cexpr b) {
    int64_t v;
    if (a.is_const && b.is_const && tc_add_i64(a.v, b.v, &v)) return cx_int(v);
    if (a.is_const && a.v == 0) return b;
    if (b.is_const && b.v == 0) return a;
    tc_sym x = sym_of(p, a), y = sym_of(p, b);
    return (cexpr){.s = tc_arena_printf(p->a, "%s + %s", cx_text(p, a), cx_text(p, b)), .sym = x && y ? tc_sym_add(p->l->sym, x, y) : NULL};
}

static const char *factor(cplan *p, cexpr e) {
    const char *s = cx_text(p, e);
    return strchr(s, '+') || *s == '-' ? tc_arena_printf(p->a, "(%s)", s) : s;
}

cexpr cx_mul(cplan *p, cexpr a, cexpr b) {
    int64_t v;
    if (a.is_const && b.is_const && tc_mul_i64(a.v, b.v, &v)) return cx_int(v);
    if ((a.is_const && a.v == 0) || (b.is_const && b.v == 0)) return cx_int(0);
    if (a.is_const && a.v == 1) return b;
    if (b.is_const && b.v == 1) return a;
    tc_sym x = sym_of(p, a), y = sym_of(p, b);
    return (cexpr){.s = tc_arena_printf(p->a, "%s * %s", factor(p, a), factor(p, b)), .sym = x && y ? tc_sym_mul(p->l->sym, x, y) : NULL};
}

static cexpr number(cplan *p, tc_sym s) {
    int64_t v;
    if (tc_sym_const_int(s, &v)) return cx_int(v);
    for (int i = 0; i < p->d->nnumbers; i++)
        if (p->d->numbers[i] == s) {
            if (i < 64) p->used_number |= UINT64_C(1) << i;
            return (cexpr){.s = i < 64 ? tc_arena_printf(p->a, "h%d", i) : tc_arena_printf(p->a, "c->numbers[%d].i", i), .sym = s};
        }
    TC_BUG("a symbolic number that the description lacks");
}

cexpr cx_size(cplan *p, int buffer, int dim) {
    int64_t v;
    tc_sym s = p->l->buffers.data[buffer].size[dim];
    if (tc_sym_const_int(s, &v)) return cx_int(v);
    for (int i = 0; i < p->l->naxes; i++)
        if (p->l->axes[i].extent == s) {
            p->used_extent |= UINT64_C(1) << i;
            return p->extent[i];
        }
    return (cexpr){.s = tc_arena_printf(p->a, "c->buffers[%d].size[%d]", buffer, dim), .sym = s};
}

cexpr cx_stride(cplan *p, int buffer, int dim) {
    const int last = p->l->buffers.data[buffer].rank - 1;
    if (p->d->dense[buffer] == 2 && dim == last) return cx_int(1);
    if (p->d->dense[buffer] != 1) return (cexpr){.s = tc_arena_printf(p->a, "c->buffers[%d].stride[%d]", buffer, dim)};
    cexpr e = cx_int(1);
    for (int d = dim + 1; d < p->l->buffers.data[buffer].rank; d++) e = cx_mul(p, e, cx_size(p, buffer, d));
    return e;
}

static void add_affine(cplan *p, caccess *x, const tc_affine *a, cexpr stride) {
    x->present = true;
    x->offset = cx_add(p, x->offset, cx_mul(p, number(p, a->base), stride));
    for (int t = 0; t < a->n; t++) {
        int axis = a->term[t].axis;
        x->step[axis] = cx_add(p, x->step[axis], cx_mul(p, number(p, a->term[t].coef), stride));
    }
}

static void init_access(caccess *x) {
    x->present = true;
    x->offset = cx_int(0);
    for (int i = 0; i < 64; i++) x->step[i] = cx_int(0);
}

tc_status emit_plan_init(cplan *p, const tc_loop *l, const tc_group_desc *d, tc_arena *a) {
    l = emit_moves(l, a);
    *p = (cplan){.l = l, .d = d, .a = a};
    p->inst_access = TC_NEWN(a, caccess, l->inst.len + 1);
    p->dim_access = tc_arena_array(a, l->inst.len + 1, sizeof *p->dim_access);
    p->store_access = TC_NEWN(a, caccess, l->stores.len + 1);
    for (int i = 0; i < l->naxes; i++) {
        int64_t v;
        p->extent[i] = tc_sym_const_int(l->axes[i].extent, &v) ? cx_int(v) : (cexpr){.s = tc_arena_printf(a, "e%d", i), .sym = l->axes[i].extent};
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (in->kind == TC_L_INDEX) {
            init_access(&p->inst_access[i]);
            add_affine(p, &p->inst_access[i], &in->index[0], cx_int(1));
        } else if (in->kind == TC_L_LOAD) {
            if (in->rank > 16) return tc_error(TC_UNSUPPORTED, "a tensor of rank %d in emitted code, at most 16", in->rank);
            init_access(&p->inst_access[i]);
            for (int k = 0; k < in->rank; k++) {
                add_affine(p, &p->inst_access[i], &in->index[k], cx_stride(p, in->buffer, k));
                if (!in->gather || in->gather[k] == TC_LV_NONE) continue;
                init_access(&p->dim_access[i][k]);
                add_affine(p, &p->dim_access[i][k], &in->index[k], cx_int(1));
            }
        }
    }
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *s = &l->stores.data[i];
        init_access(&p->store_access[i]);
        for (int k = 0; k < s->rank; k++) add_affine(p, &p->store_access[i], &s->index[k], cx_stride(p, s->buffer, k));
    }
    return NULL;
}

/* ---- operands ---- */
static void need(const tc_loop *l, bool *needed, tc_lv v) {
    if (v == TC_LV_NONE) return;
    needed[v] = true;
    for (tc_lv i = v; i >= 0; i--) { /* operands stand before */
        if (!needed[i]) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = tc_loop_operands(&l->inst.data[i], ops);
        for (int k = 0; k < n; k++) needed[ops[k]] = true;
    }
}

bool cx_heavy(const tc_linst *in) {
    if (in->kind != TC_L_SCALAR) return false;
    if (in->op == TC_X_FMOD || in->op == TC_X_REMAINDER || in->op == TC_X_DIV_FLOOR) return in->dtype == TC_F32;
    return in->op >= TC_X_EXP && in->op != TC_X_RSQRT && (tc_is_float(in->dtype) || tc_is_complex(in->dtype));
}

/* ---- ranges ---- */
uint64_t cx_ranges(const cphase *ph, uint64_t axes) {
    uint64_t m = 0;
    for (int i = 0; i < 64; i++)
        if (axes >> i & 1 && ph->range_of[i] >= 0) m |= UINT64_C(1) << ph->range_of[i];
    return m;
}

cexpr cx_step(cplan *p, const cphase *ph, const caccess *x, int range) {
    (void)p;
    const crange *r = &ph->range[range];
    return r->n ? x->step[r->axis[r->n - 1]] : cx_int(0);
}

static bool same(cplan *p, cexpr a, cexpr b) {
    if (a.is_const && b.is_const) return a.v == b.v;
    tc_sym x = sym_of(p, a), y = sym_of(p, b);
    return x && x == y;
}

static bool access_merges(cplan *p, const caccess *x, int last_a, int last_b, cexpr extent_b) {
    return !x->present || same(p, x->step[last_a], cx_mul(p, x->step[last_b], extent_b));
}

bool cx_merges(cplan *p, const cphase *ph, const crange *a, const crange *b, const bool *apart) {
    const tc_loop *l = p->l;
    int la = a->axis[a->n - 1], lb = b->axis[b->n - 1];
    for (size_t i = 0; i < l->inst.len; i++) {
        if (!ph->needed[i] || (apart && apart[i])) continue;
        const tc_linst *in = &l->inst.data[i];
        if (!access_merges(p, &p->inst_access[i], la, lb, b->extent)) return false;
        for (int d = 0; d < in->rank && in->kind == TC_L_LOAD; d++)
            if (!access_merges(p, &p->dim_access[i][d], la, lb, b->extent)) return false;
        if (in->kind != TC_L_REDUCE && in->kind != TC_L_SCAN) continue;
        bool has_a = in->over >> a->axis[0] & 1, has_b = in->over >> b->axis[0] & 1;
        if (has_a != has_b || (in->kind == TC_L_SCAN && has_a)) return false;
        for (int k = la + 1; has_a && k < b->axis[0]; k++)
            if (in->over >> k & 1 && ph->range_of[k] >= 0) return false;
    }
    for (int i = 0; i < ph->nstores; i++)
        if (!access_merges(p, &p->store_access[ph->stores[i]], la, lb, b->extent)) return false;
    return true;
}

static void make_ranges(cplan *p, cphase *ph, uint64_t axes) {
    const tc_loop *l = p->l;
    ph->range = TC_NEWN(p->a, crange, 64);
    memset(ph->range_of, -1, sizeof ph->range_of);
    for (int i = 0; i < l->naxes; i++) {
        if (!(axes >> i & 1) || (p->extent[i].is_const && p->extent[i].v == 1)) continue;
        ph->range_of[i] = (int8_t)ph->nr;
        ph->range[ph->nr++] = (crange){.axis = {i}, .n = 1, .extent = p->extent[i]};
    }
    for (int a = 0; a < ph->nr; a++)
        for (int b = a + 1; b < ph->nr;) {
            crange *ra = &ph->range[a], *rb = &ph->range[b];
            if (ra->axis[ra->n - 1] > rb->axis[0] || !cx_merges(p, ph, ra, rb, NULL)) {
                b++;
                continue;
            }
            for (int k = 0; k < rb->n; k++) ra->axis[ra->n++] = rb->axis[k];
            ra->extent = cx_mul(p, ra->extent, rb->extent);
            memmove(rb, rb + 1, (size_t)(ph->nr - b - 1) * sizeof *rb);
            ph->nr--;
            for (int r = 0; r < ph->nr; r++)
                for (int k = 0; k < ph->range[r].n; k++) ph->range_of[ph->range[r].axis[k]] = (int8_t)r;
            b = a + 1;
        }
}

/* ---- items and the inner range ---- */
static bool unit(const cexpr e) { return e.is_const && e.v == 1; }
static int64_t weight(uint64_t ranges) {
    int n = __builtin_popcountll(ranges);
    return INT64_C(1) << 5 * (n < 8 ? n : 8);
}

/* Chooses the range to vectorise: the one along which most accesses have unit stride; an access over more ranges weighs far more. */
static int choose_vec(cplan *p, const cphase *ph) {
    int best = -1;
    int64_t best_score = -1;
    for (int r = 0; r < ph->nr; r++) {
        int64_t score = 0;
        for (size_t i = 0; i < p->l->inst.len; i++)
            if (ph->needed[i] && p->l->inst.data[i].kind == TC_L_LOAD && unit(cx_step(p, ph, &p->inst_access[i], r))) score += weight(ph->mask[i]);
        for (int i = 0; i < ph->nstores; i++)
            if (unit(cx_step(p, ph, &p->store_access[ph->stores[i]], r))) score += weight(cx_ranges(ph, p->l->stores.data[ph->stores[i]].axes));
        if (score >= best_score) best = r, best_score = score;
    }
    return best;
}

static int last_range(const cphase *ph, uint64_t set, int prefer) {
    if (prefer >= 0 && set >> prefer & 1) return prefer;
    for (int r = ph->nr - 1; r >= 0; r--)
        if (set >> r & 1) return r;
    return -1;
}

int emit_last_over(const cphase *ph, uint64_t over) {
    int best = -1, axis = -1;
    for (int r = 0; r < ph->nr; r++)
        if (over >> r & 1 && ph->range[r].axis[0] > axis) best = r, axis = ph->range[r].axis[0];
    return best;
}

/* ---- nests ---- */
/* The nest of this kind, level and ranges among those from `first` on, made when there is none; NULL: there are EMIT_MAX_NESTS. */
static cnest *nest_like(cplan *p, cphase *ph, int first, cnest like, size_t most) {
    for (int k = first; k < ph->nnests; k++) {
        cnest *t = &ph->nest[k];
        if (t->kind == like.kind && t->level == like.level && t->outer == like.outer && t->over == like.over) return t;
    }
    if (ph->nnests == EMIT_MAX_NESTS) return NULL;
    cnest *t = &ph->nest[ph->nnests++];
    *t = like;
    t->item = TC_NEWN(p->a, int, most + 1);
    return t;
}

static void add_item(cnest *t, int item) { ((int *)t->item)[t->n++] = item; }

/* Stable sort of the nests from `first` on: after(x, y) says that x must come after y. */
static void sort_nests(cphase *ph, int first, bool (*after)(const cnest *x, const cnest *y)) {
    for (int i = first + 1; i < ph->nnests; i++)
        for (int k = i; k > first && after(&ph->nest[k - 1], &ph->nest[k]); k--) {
            cnest t = ph->nest[k];
            ph->nest[k] = ph->nest[k - 1];
            ph->nest[k - 1] = t;
        }
}
static bool later_level(const cnest *x, const cnest *y) { return x->level > y->level; }
static bool smaller_domain(const cnest *x, const cnest *y) { return __builtin_popcountll(x->outer) < __builtin_popcountll(y->outer); }

/* Reductions and scans of the same level (those that they depend on have lower levels) and ranges share a nest. */
static bool make_reduction_nests(cplan *p, cphase *ph) {
    const tc_loop *l = p->l;
    int *level = TC_NEWN(p->a, int, l->inst.len + 1);
    for (size_t i = 0; i < l->inst.len; i++) {
        if (!ph->needed[i]) continue;
        const tc_linst *in = &l->inst.data[i];
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = tc_loop_operands(in, ops);
        for (int k = 0; k < n; k++)
            if (level[ops[k]] > level[i]) level[i] = level[ops[k]];
        if (in->kind != TC_L_REDUCE && in->kind != TC_L_SCAN) continue;
        const nest_kind kind = in->kind == TC_L_REDUCE ? NEST_REDUCE : NEST_SCAN;
        const uint64_t outer = (kind == NEST_SCAN ? ph->mask[i] & ~ph->over[i] : ph->mask[i]) & ~ph->par;
        cnest *t = nest_like(p, ph, 0, (cnest){.kind = kind, .level = level[i], .outer = outer, .over = ph->over[i]}, l->inst.len);
        if (!t) return false;
        t->inner = ph->columns ? ph->vec : emit_last_over(ph, t->over);
        add_item(t, (int)i);
        level[i]++;
    }
    sort_nests(ph, 0, later_level);
    return true;
}

/* Stores over the same ranges share a nest. Larger domains first: their result may share its operand's memory. */
static bool make_store_nests(cplan *p, cphase *ph) {
    const int first = ph->nnests;
    for (int i = 0; i < ph->nstores; i++) {
        const uint64_t outer = cx_ranges(ph, p->l->stores.data[ph->stores[i]].axes) & ~ph->par;
        cnest *t = nest_like(p, ph, first, (cnest){.kind = NEST_STORE, .outer = outer}, p->l->stores.len);
        if (!t) return false;
        t->inner = ph->columns ? ph->vec : last_range(ph, outer, ph->vec);
        add_item(t, ph->stores[i]);
    }
    sort_nests(ph, first, smaller_domain);
    return true;
}

/* False: more than EMIT_MAX_NESTS. */
static bool make_nests(cplan *p, cphase *ph) {
    ph->nest = TC_NEWN(p->a, cnest, EMIT_MAX_NESTS);
    return make_reduction_nests(p, ph) && make_store_nests(p, ph);
}

void emit_reach(const tc_loop *l, bool *seen, tc_lv v) {
    if (v == TC_LV_NONE) return;
    seen[v] = true;
    for (tc_lv i = v; i >= 0; i--) {
        if (!seen[i] || l->inst.data[i].kind == TC_L_REDUCE || l->inst.data[i].kind == TC_L_SCAN) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = tc_loop_operands(&l->inst.data[i], ops);
        for (int k = 0; k < n; k++) seen[ops[k]] = true;
    }
}

/* By value: the nest computes or reads it (operands of its stores, reductions and scans, followed back to earlier results). */
static bool *reads_of(cplan *p, const cnest *t) {
    const tc_loop *l = p->l;
    bool *seen = TC_NEWN(p->a, bool, l->inst.len + 1);
    for (int i = 0; i < t->n; i++) {
        emit_reach(l, seen, t->kind == NEST_STORE ? l->stores.data[t->item[i]].value : l->inst.data[t->item[i]].a[0]);
        if (t->kind == NEST_STORE) emit_reach(l, seen, l->stores.data[t->item[i]].pred);
    }
    for (int i = 0; i < t->nscans; i++) emit_reach(l, seen, l->inst.data[t->scan[i]].a[0]);
    return seen;
}

/* Can nest s, of scans, be merged into the nest of stores t: same ranges, and nobody else reads the scans? */
static bool joinable(cplan *p, const cphase *ph, int s, int t) {
    const cnest *scan = &ph->nest[s], *store = &ph->nest[t];
    if (!scan->over || store->outer != (scan->outer | scan->over) || (store->nscans && store->over != scan->over)) return false;
    for (int k = 0; k < ph->nnests; k++) {
        const bool *seen = reads_of(p, &ph->nest[k]);
        for (int i = 0; k != t && i < scan->n; i++)
            if (k != s && seen[scan->item[i]]) return false;
    }
    return true;
}

/* Merges into the first nest of stores the scans that only it reads, the last first, so that block by block a scan's values are stored while they are in
 * the cache. Not into later nests: an earlier store may overwrite a scan's operand. */
static void join_scans(cplan *p, cphase *ph) {
    int t = 0;
    while (ph->nest[t].kind != NEST_STORE) t++;
    for (int s = t - 1; s >= 0; s--) {
        if (ph->nest[s].kind != NEST_SCAN || !joinable(p, ph, s, t)) continue;
        cnest *store = &ph->nest[t], *scan = &ph->nest[s];
        int *both = TC_NEWN(p->a, int, scan->n + store->nscans);
        for (int i = 0; i < scan->n; i++) both[i] = scan->item[i];
        for (int i = 0; i < store->nscans; i++) both[scan->n + i] = store->scan[i];
        store->over = scan->over, store->inner = scan->inner, store->scan = both, store->nscans += scan->n;
        memmove(scan, scan + 1, (size_t)(--ph->nnests - s) * sizeof *scan);
        t--;
    }
}

static void choose_kept(cplan *p, cphase *ph) {
    const tc_loop *l = p->l;
    ph->mat = TC_NEWN(p->a, mat_kind, l->inst.len + 1);
    int *uses = TC_NEWN(p->a, int, l->inst.len + 1);
    bool *joined = TC_NEWN(p->a, bool, l->inst.len + 1);
    for (int k = 0; k < ph->nnests; k++) {
        const bool *seen = reads_of(p, &ph->nest[k]);
        for (size_t i = 0; i < l->inst.len; i++) uses[i] += seen[i];
        for (int i = 0; i < ph->nest[k].nscans; i++) joined[ph->nest[k].scan[i]] = true;
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        bool keep = ph->needed[i] && !joined[i] && !emit_partial(ph, (int)i) &&
                    (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN || (cx_heavy(in) && uses[i] > 1));
        if (!keep) continue;
        uint64_t rest = ph->mask[i] & ~ph->par;
        bool cols = ph->columns && ph->mask[i] >> ph->vec & 1;
        ph->mat[i] = rest ? MAT_SCRATCH : cols ? MAT_COLUMNS : MAT_SCALAR;
    }
}

static bool has_welford(const tc_loop *l, const cnest *t) {
    for (int k = 0; k < t->n && t->kind == NEST_REDUCE; k++)
        if (l->inst.data[t->item[k]].op == TC_R_WELFORD) return true;
    return false;
}

/* The elements that the phase's reductions run over, when it has no scans, all their extents are constant and an elementary function varies along them;
 * else 0. */
static int64_t reduced_row(const cplan *p, const cphase *ph) {
    const tc_loop *l = p->l;
    uint64_t over = 0;
    int64_t n = 1;
    bool heavy = false;
    for (size_t i = 0; i < l->inst.len; i++)
        if (ph->needed[i]) over |= ph->over[i];
    for (size_t i = 0; i < l->inst.len; i++) {
        if (ph->needed[i] && l->inst.data[i].kind == TC_L_SCAN) return 0;
        heavy |= ph->needed[i] && cx_heavy(&l->inst.data[i]) && ph->mask[i] & over;
    }
    for (int r = 0; r < ph->nr; r++) {
        if (!(over >> r & 1)) continue;
        if (!ph->range[r].extent.is_const || !tc_mul_i64(n, ph->range[r].extent.v, &n)) return 0;
    }
    return heavy ? n : 0;
}

/* The last item range, for expensive scans and for reductions of short rows that should run over strided columns side by side; -1: none. */
static int apart(cplan *p, const cphase *ph) {
    enum { SHORT_ROW = 7, MANY_ROWS = 64 };
    bool dear = false;
    for (size_t i = 0; i < p->l->inst.len; i++)
        dear |= ph->needed[i] && p->l->inst.data[i].kind == TC_L_SCAN && p->l->inst.data[i].op == TC_R_LOGADDEXP;
    if (!ph->nr) return -1;
    const int last = last_range(ph, ph->par & (~UINT64_C(0) >> (64 - ph->nr)), -1);
    if (dear || last < 0) return last;
    const cexpr rows = ph->range[last].extent;
    const int64_t row = reduced_row(p, ph);
    return row >= 2 && row <= SHORT_ROW && (!rows.is_const || rows.v >= MANY_ROWS) ? last : -1;
}

/* Columns per block. Wide when columns are reduced in one pass: whole cache lines of a row. Narrow when operands are read again or values are kept per
 * row, so that they stay in the cache. The trees' state lives on the stack: at most 256 KiB. */
static int column_block(const cplan *p, cphase *ph) {
    size_t bytes = 1;
    const cnest *first = ph->nest;
    for (int k = 0; k < ph->nnests; k++)
        if (ph->nest[k].kind == NEST_SCAN) return COLS_APART; /* the whole column is kept */
    for (int k = 0; k < ph->nnests; k++)
        if (has_welford(p->l, &ph->nest[k])) return COLS_WELFORD; /* so are 256 rows */
    for (int k = 0; k < ph->nnests; k++)
        if (ph->nest[k].kind == NEST_STORE ? ph->nest[k].outer & ~(UINT64_C(1) << ph->vec) : k > 0) return COLS_BLOCK;
    for (int k = 0; k < first->n && first->kind == NEST_REDUCE; k++)
        bytes += tc_dtype_size(p->l->inst.data[p->l->inst.data[first->item[k]].a[0]].dtype) * (16 + TREE_LEVELS);
    int block = COLS_WIDE;
    while (block > COLS_BLOCK && bytes * (size_t)block > 256 << 10) block /= 2;
    ph->wide = block > COLS_BLOCK;
    return block;
}
/* The same, but few columns have a block of whole vectors, so that the lanes of a leaf stand close together. */
static int column_block_of(const cplan *p, cphase *ph) {
    const int block = column_block(p, ph);
    const cexpr n = ph->range[ph->vec].extent;
    if (!n.is_const || n.v > COLS_BLOCK || n.v > block) return block;
    ph->wide = false;
    return n.v ? (int)(n.v + 15) / 16 * 16 : 16;
}

/* Sets mask, over and par. True: the phase has reductions or scans. */
bool emit_set_masks(cplan *p, cphase *ph) {
    const tc_loop *l = p->l;
    bool reduces = false;
    ph->mask = TC_NEWN(p->a, uint64_t, l->inst.len + 1);
    ph->over = TC_NEWN(p->a, uint64_t, l->inst.len + 1);
    ph->par = ~UINT64_C(0);
    for (int i = 0; i < ph->nstores; i++) ph->par &= cx_ranges(ph, l->stores.data[ph->stores[i]].axes);
    for (size_t i = 0; i < l->inst.len; i++) {
        if (!ph->needed[i]) continue;
        const tc_linst *in = &l->inst.data[i];
        ph->mask[i] = cx_ranges(ph, in->axes);
        ph->over[i] = cx_ranges(ph, in->over);
        if (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) {
            ph->par &= in->kind == TC_L_SCAN ? ph->mask[i] & ~ph->over[i] : ph->mask[i];
            reduces = true;
        }
    }
    return reduces;
}

static tc_status plan_phase(cplan *p, cphase *ph) {
    const tc_loop *l = p->l;
    uint64_t axes = 0;
    ph->needed = TC_NEWN(p->a, bool, l->inst.len + 1);
    for (int i = 0; i < ph->nstores; i++) {
        const tc_lstore *s = &l->stores.data[ph->stores[i]];
        axes |= s->axes;
        need(l, ph->needed, s->value);
        need(l, ph->needed, s->pred);
    }
    for (size_t i = 0; i < l->inst.len; i++)
        if (ph->needed[i]) axes |= l->inst.data[i].axes | l->inst.data[i].over;
    make_ranges(p, ph, axes);
    const bool reduces = emit_set_masks(p, ph);
    ph->vec = choose_vec(p, ph);
    ph->columns = ph->vec >= 0 && ph->par >> ph->vec & 1;
    const int dear = ph->columns ? -1 : apart(p, ph);
    if (dear >= 0) ph->vec = dear, ph->columns = ph->apart = true;
    else emit_lengthen(p, ph);
    if (!make_nests(p, ph)) return tc_error(TC_UNSUPPORTED, "a loop of more than %d passes", EMIT_MAX_NESTS);
    join_scans(p, ph);
    ph->block = ph->columns && reduces ? column_block_of(p, ph) : EMIT_BLOCK;
    emit_place_repeated(p, ph, reduces);
    ph->whole = ph->columns && !ph->wide && ph->range[ph->vec].extent.is_const && ph->range[ph->vec].extent.v <= ph->block;
    ph->few = ph->whole && ph->range[ph->vec].extent.v <= 16;
    choose_kept(p, ph);
    return NULL;
}

/* Can the store join the phase: one's axes contain the other's, and they write different buffers? */
static bool joins(const tc_loop *l, const cphase *ph, int store) {
    const tc_lstore *s = &l->stores.data[store];
    for (int i = 0; i < ph->nstores; i++) {
        const tc_lstore *t = &l->stores.data[ph->stores[i]];
        if (t->buffer == s->buffer) return false;
        uint64_t both = s->axes & t->axes;
        if ((both != s->axes && both != t->axes) || (!both && (s->axes | t->axes))) return false;
    }
    return true;
}

tc_status emit_plan_phases(cplan *p, cphase **out, int *out_n) {
    const tc_loop *l = p->l;
    cphase *ph = TC_NEWN(p->a, cphase, l->stores.len + 1);
    int n = 0;
    for (size_t i = 0; i < l->stores.len; i++) {
        int at = n - 1; /* only the last phase: stores to one buffer keep their order */
        if (n == 0 || !joins(l, &ph[at], (int)i)) {
            at = n++;
            ph[at].stores = TC_NEWN(p->a, int, l->stores.len);
        }
        ((int *)ph[at].stores)[ph[at].nstores++] = (int)i;
    }
    for (int i = 0; i < n; i++) TC_TRY(plan_phase(p, &ph[i]));
    *out = ph;
    *out_n = n;
    return NULL;
}
