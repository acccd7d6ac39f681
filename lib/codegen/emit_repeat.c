/* Lengthens a short inner range of emitted C (emit_plan.h, emit_write.h), so that a block is more than one short row:
 *
 *     gelu(x[n][c] * w[c] + 1.5), n = 1000003, c = 3        one range of 3000009; w is a repeated value: w[0] w[1] w[2] w[0] ...
 *     x[b][c][p] * s[c], p = 4                              s[0] s[0] s[0] s[0] s[1] ...
 *
 * A value that varies along only some of the joined ranges is computed once for each of its points, into an array as long as a block. */
#include "codegen/emit_write.h"

/* Rows of up to SHORT elements are lengthened; of up to SHORT_PERIOD where repeated values are the same in each block. */
enum { SHORT = 64, SHORT_PERIOD = EMIT_BLOCK / 2 };

static uint64_t bit(int r) { return UINT64_C(1) << r; }
static bool folds(const tc_linst *in) { return in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN; }

bool emit_partial(const cphase *ph, tc_lv v) {
    const uint64_t along = ph->split ? ph->split->mask[v] & ph->joined : 0;
    return along && along != ph->joined;
}

/* ---- the schedule ---- */
/* Can the loops over vec be lengthened when some values are repeated? `joined`: the ranges, r the outermost of them. */
static bool repeats(cplan *p, const cphase *ph, const cphase *split, uint64_t joined, int r, const bool *partial) {
    const tc_loop *l = p->l;
    const cexpr row = ph->range[ph->vec].extent;
    bool *seen = TC_NEWN(p->a, bool, l->inst.len + 1), periodic = ph->columns, runs = false, reduces = false, heavy = false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (!ph->needed[i]) continue;
        if (partial[i]) {
            emit_reach(l, seen, (tc_lv)i);
            periodic &= !(split->mask[i] & (bit(r) | ~joined));
            runs |= !(split->mask[i] >> ph->vec & 1);
        } else {
            heavy |= cx_heavy(in);
        }
        if (folds(in) && !ph->columns && (in->kind == TC_L_SCAN || !(ph->over[i] >> ph->vec & 1) || emit_last_over(ph, ph->over[i]) != ph->vec))
            return false;
        reduces |= folds(in);
    }
    for (size_t i = 0; i < l->inst.len; i++)
        if (seen[i] && folds(&l->inst.data[i])) return false;
    if (runs && (!ph->columns || reduces || !heavy || row.v % 16 == 0)) return false; /* rows of whole vectors, or of cheap operations, are as fast */
    return row.is_const && row.v >= 2 && row.v <= (periodic && !reduces ? SHORT_PERIOD : SHORT);
}

/* Can range r become the outer part of vec? */
static bool joins(cplan *p, const cphase *ph, int r) {
    const tc_loop *l = p->l;
    const crange *outer = &ph->range[r], *inner = &ph->range[ph->vec];
    const cphase *split = ph->split ? ph->split : ph;
    const uint64_t joined = (ph->split ? ph->joined : bit(ph->vec)) | bit(r);
    bool *partial = TC_NEWN(p->a, bool, l->inst.len + 1), any = false;
    if (r == ph->vec || !outer->n || (ph->par >> r & 1) != (ph->par >> ph->vec & 1)) return false;
    for (size_t i = 0; i < l->inst.len; i++) {
        const uint64_t along = split->mask[i] & joined;
        partial[i] = ph->needed[i] && along && along != joined;
        any |= partial[i];
        if (ph->needed[i] && ph->over[i] >> r & 1 && outer->axis[outer->n - 1] > inner->axis[0]) return false;
    }
    return cx_merges(p, ph, outer, inner, partial) && (!any || repeats(p, ph, split, joined, r, partial));
}

static void join(cplan *p, cphase *ph, int r) {
    crange *range = TC_NEWN(p->a, crange, 64), *inner = &range[ph->vec];
    const crange *a = &ph->range[r], *b = &ph->range[ph->vec];
    if (!ph->split) {
        cphase *split = TC_NEWN(p->a, cphase, 1);
        *split = *ph;
        ph->split = split, ph->joined = bit(ph->vec), ph->order[0] = (int8_t)ph->vec;
    }
    memcpy(range, ph->range, (size_t)ph->nr * sizeof *range);
    for (int k = 0; k < a->n; k++) inner->axis[k] = a->axis[k], ph->range_of[a->axis[k]] = (int8_t)ph->vec;
    for (int k = 0; k < b->n; k++) inner->axis[a->n + k] = b->axis[k];
    inner->n = a->n + b->n;
    inner->extent = cx_mul(p, a->extent, b->extent);
    range[r] = (crange){.extent = cx_int(1)};
    memmove(ph->order + 1, ph->order, (size_t)__builtin_popcountll(ph->joined));
    ph->order[0] = (int8_t)r;
    ph->joined |= bit(r);
    ph->range = range;
    emit_set_masks(p, ph);
}

void emit_lengthen(cplan *p, cphase *ph) {
    for (int r = ph->nr - 1; r >= 0 && ph->vec >= 0; r--) {
        if (!joins(p, ph, r)) continue;
        join(p, ph, r);
        r = ph->nr;
    }
}

/* Which of the joined ranges (positions in ph->order) the value varies along: the first and the last. */
static void varying(const cphase *ph, tc_lv v, int *out_first, int *out_last) {
    const int n = __builtin_popcountll(ph->joined);
    *out_first = *out_last = -1;
    for (int k = 0; k < n; k++) {
        if (!(ph->split->mask[v] >> ph->order[k] & 1)) continue;
        if (*out_first < 0) *out_first = k;
        *out_last = k;
    }
}
/* The product of the joined ranges from position `first` on. */
static cexpr elements(cplan *p, const cphase *ph, int first) {
    cexpr e = cx_int(1);
    for (int k = first; k < __builtin_popcountll(ph->joined); k++) e = cx_mul(p, e, ph->split->range[ph->order[k]].extent);
    return e;
}

/* The length of blocks that all begin at a multiple of `period`: a multiple of it, and of whole vectors where that fits. */
static int whole_periods(int64_t period) {
    int64_t unit = period;
    while (unit % 16 && unit * 2 <= EMIT_BLOCK) unit *= 2;
    if (unit % 16) unit = period;
    return (int)(EMIT_BLOCK / unit * unit);
}

void emit_place_repeated(cplan *p, cphase *ph, bool reduces) {
    const tc_loop *l = p->l;
    int64_t longest = 1;
    ph->repeat = TC_NEWN(p->a, repeat_kind, l->inst.len + 1);
    bool *read = TC_NEWN(p->a, bool, l->inst.len + 1); /* by what varies along all joined ranges */
    for (int i = 0; i < ph->nstores; i++) {
        const tc_lstore *s = &l->stores.data[ph->stores[i]];
        read[s->value] = true;
        if (s->pred != TC_LV_NONE) read[s->pred] = true;
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = ph->needed[i] && !emit_partial(ph, (tc_lv)i) ? tc_loop_operands(&l->inst.data[i], ops) : 0;
        while (n-- > 0) read[ops[n]] = true;
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        int first, last;
        if (!ph->needed[i] || !read[i] || !emit_partial(ph, (tc_lv)i)) continue;
        varying(ph, (tc_lv)i, &first, &last);
        const cexpr n = elements(p, ph, first);
        const bool same = ph->columns && !reduces && first > 0 && n.is_const && n.v <= SHORT_PERIOD && !(ph->split->mask[i] & ~ph->joined);
        ph->repeat[i] = same ? REPEAT_FUNCTION : ph->columns && !(ph->split->mask[i] & ~ph->split->par) ? REPEAT_ITEM : REPEAT_BLOCK;
        const cexpr run = elements(p, ph, last + 1), whole = same ? n : run;
        if (whole.v > longest) longest = whole.v; /* each of these divides the longer ones */
    }
    if (longest > 1) ph->block = whole_periods(longest);
}

/* ---- the text ---- */
/* Computes value v where the indices of its ranges are known. */
static void compute(emitter *e, tc_lv v) {
    const size_t n = e->l->inst.len;
    const cphase *ph = e->ph;
    const cnest *t = e->t;
    bool *in_nest = TC_NEWN(e->p->a, bool, n + 1), *saved = e->in_nest;
    place *at = TC_NEWN(e->p->a, place, n + 1), *before = e->at;
    for (size_t i = 0; i < n; i++) at[i] = before[i] == AT_ITEM || before[i] == AT_ROW ? before[i] : AT_NONE;
    e->ph = ph->split, e->t = NULL, e->at = at, e->in_nest = in_nest;
    emit_mark(e, v);
    for (tc_lv i = 0; i <= v; i++)
        if (in_nest[i] && at[i] == AT_NONE) emit_declare(e, i, false), at[i] = AT_INNER;
    e->ph = ph, e->t = t, e->at = before, e->in_nest = saved;
}

/* Fills the array of value v for elements k0 to k0 + m of vec, which begin and end with a whole run: the points along the innermost range that v varies
 * along, in pieces, each repeated `run` times; what comes after a period is a copy. */
static void fill(emitter *e, tc_lv v, const char *k0, cexpr m) {
    const cphase *ph = e->ph;
    int first, last;
    varying(ph, v, &first, &last);
    const cexpr once = elements(e->p, ph, first), run = elements(e->p, ph, last + 1);
    const char *to = cx_text(e->p, m), *period = cx_text(e->p, once);
    const bool runs = !run.is_const || run.v != 1;
    emit_line(e, "%s t%d[%d];", emit_type(&e->l->inst.data[v]), v, ph->block);
    emit_line(e, "{");
    emit_open(e);
    emit_line(e, "const int64_t n = %s;", !first ? to : m.is_const ? period : T(e, "%s < %s ? %s : %s", to, period, to, period));
    emit_line(e, "for (int64_t i = 0, to; i < n; i = to) {");
    emit_open(e);
    const char *row = strcmp(k0, "0") ? T(e, "(%s + i)", k0) : "i";
    if (runs) row = T(e, "%s / %s", row, cx_text(e->p, run));
    for (int k = last; k >= first; k--) {
        const int r = ph->order[k];
        const char *size = cx_text(e->p, ph->split->range[r].extent);
        if (k == last)
            emit_line(e, k ? "const int64_t at = %s %% (%s), left = (%s) - at;" : "const int64_t at = %s, left = (%s) - at;", row, size, size);
        else if (ph->split->mask[v] >> r & 1) emit_line(e, k ? "const int64_t i%d = %s %% (%s);" : "const int64_t i%d = %s;", r, row, size);
        row = T(e, "%s / (%s)", row, size);
    }
    const char *each = runs ? T(e, " * %s", cx_text(e->p, run)) : "";
    emit_line(e, "to = n - i < left%s ? n : i + left%s;", each, each);
    emit_line(e, "for (int64_t q = 0; i + q%s < to; q++) {", each);
    emit_open(e);
    emit_line(e, "const int64_t i%d = at + q;", ph->order[last]);
    compute(e, v);
    if (runs) emit_line(e, "for (int k = 0; k < %s; k++) t%d[i + q%s + k] = v%d;", cx_text(e->p, run), v, each, v);
    else emit_line(e, "t%d[i + q] = v%d;", v, v);
    emit_close(e);
    emit_close(e);
    if (first) emit_line(e, "tc_repeat(t%d, n * (int64_t)sizeof *t%d, %s * (int64_t)sizeof *t%d);", v, v, to, v);
    emit_close(e);
}

void emit_repeated(emitter *e, repeat_kind where) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (e->ph->repeat[i] != where || (where == REPEAT_BLOCK && !e->in_nest[i])) continue;
        if (where == REPEAT_FUNCTION) fill(e, (tc_lv)i, "0", cx_int(e->ph->block));
        else fill(e, (tc_lv)i, "k0", (cexpr){.s = "m"});
    }
}
