/* Searches for sizes that take the other sides of a model's branches (sides.h). */
#include "capture/sides.h"

enum {
    MOST_NUMBERS = 12, /* constants of a condition from which candidates are derived */
    MOST_VALUES = 192, /* candidates of one symbol */
    PAIR_VALUES = 64,  /* ... when two symbols change at once */
    MOST_SYMBOLS = 4,
    CAPTURES_A_SIDE = 4, /* captures tried for each program that may be made; most failures are refusals by the model itself */
    MOST_IN_VAIN = 256   /* unsuccessful searches, so that a model with hundreds of unreachable conditions is quick */
};

typedef struct {
    const tc_program *p;
    size_t at, n;
    tc_symvalue *vars; /* by index; symbols from n on are unbound */
    size_t nvars;
    const tc_side_size *now;
    int var[MOST_SYMBOLS], nvar; /* symbols of the condition that may change */
    int varied[2];               /* those that change now; -1: none */
    bool *settled;               /* [n]: they, and those that follow them */
    int64_t number[MOST_NUMBERS];
    int nnumber;
    tc_sym *tie; /* guards: equalities between sizes that may not change independently and ones that may */
    size_t ntie;
    tc_side_size *best;
    int score; /* -1: nothing found yet */
} search;

/* ---- judging ---- */
static bool holds(const search *s, tc_sym cond) {
    tc_symvalue v;
    tc_status st = tc_sym_eval(cond, s->vars, s->nvars, &v);
    tc_status_free(st);
    return st || v.i; /* a guard on data-dependent numbers: undecided */
}

/* The number of guards after the branch that hold; -1: these sizes do not take its other side. */
static int judge(const search *s) {
    const tc_program *p = s->p;
    int score = 0;
    if (holds(s, p->guards.data[s->at].cond)) return -1;
    for (size_t i = 0; i < s->at; i++)
        if (!holds(s, p->guards.data[i].cond)) return -1;
    for (size_t i = s->at + 1; i < p->guards.len; i++) score += holds(s, p->guards.data[i].cond);
    return score;
}

static bool is_tied(const search *s, tc_sym e, tc_sym to) {
    int64_t value;
    if (tc_sym_opcode(e) != TC_S_VAR || tc_sym_type(e) != TC_SYM_INT || tc_sym_const_int(to, &value)) return false;
    return (size_t)tc_sym_var_index(e) < s->n && !s->now[tc_sym_var_index(e)].declared;
}

static void find_ties(search *s) {
    s->tie = tc_xcalloc(s->p->guards.len + 1, sizeof *s->tie);
    for (size_t i = 0; i < s->p->guards.len; i++) {
        const tc_sym c = s->p->guards.data[i].cond;
        if (tc_sym_opcode(c) != TC_S_EQ) continue;
        if (is_tied(s, tc_sym_arg(c, 0), tc_sym_arg(c, 1)) || is_tied(s, tc_sym_arg(c, 1), tc_sym_arg(c, 0))) s->tie[s->ntie++] = c;
    }
}

/* The batch of a mask changes with the batch of the tensor that it masks. */
static void bring_along(search *s) {
    for (size_t i = 0; i < s->ntie; i++)
        for (int k = 0; k < 2; k++) {
            const tc_sym e = tc_sym_arg(s->tie[i], k), to = tc_sym_arg(s->tie[i], 1 - k);
            int64_t value;
            if (!is_tied(s, e, to)) continue;
            tc_status unknown = tc_sym_eval_int(to, s->vars, s->nvars, &value);
            if (!unknown) s->vars[tc_sym_var_index(e)].i = value;
            tc_status_free(unknown);
        }
}

static bool minus(int64_t a, int64_t b, int64_t *out) { return tc_mul_i64(b, -1, &b) && tc_add_i64(a, b, out); }

/* The value of symbol i with which both sides of the equality c are one, if it is linear in it. */
static bool solve(search *s, tc_sym c, int i, int64_t *out) {
    const tc_symvalue before = s->vars[i];
    int64_t off[2];
    tc_status st = NULL;
    for (int k = 0; k < 2 && !st; k++) {
        int64_t left, right = 0;
        s->vars[i].i = k;
        st = tc_sym_eval_int(tc_sym_arg(c, 0), s->vars, s->nvars, &left);
        if (!st) st = tc_sym_eval_int(tc_sym_arg(c, 1), s->vars, s->nvars, &right);
        if (!st && !minus(left, right, &off[k])) st = tc_error(TC_CONTENT, "too large");
    }
    int64_t slope = 0;
    const bool linear = !st && minus(off[0], off[1], &slope) && slope && (slope != -1 || off[0] != INT64_MIN) && off[0] % slope == 0;
    if (linear) *out = s->vars[i].i = off[0] / slope;
    const bool solved = linear && *out >= s->now[i].lo && *out <= s->now[i].hi && holds(s, c);
    s->vars[i] = before;
    tc_status_free(st);
    return solved;
}

/* Is symbol i in the equality c, and settled (or not)? */
static bool has(const search *s, tc_sym c, int i, bool settled) {
    return s->settled[i] == settled && s->now[i].declared && tc_sym_contains(c, tc_sym_var_at(s->p->sym, (size_t)i));
}

/* Changes one more size such that one of the first nguards conditions, an equality, holds. linked: one that has a size which is settled. */
static bool follow(search *s, size_t nguards, bool linked) {
    for (size_t g = 0; g < nguards; g++) {
        const tc_sym c = s->p->guards.data[g].cond;
        const int n = (int)s->n;
        int64_t value;
        int other = 0;
        if (g == s->at || tc_sym_opcode(c) != TC_S_EQ || holds(s, c)) continue;
        while (linked && other < n && !has(s, c, other, true)) other++;
        for (int i = 0; i < n && other < n; i++)
            if (has(s, c, i, false) && solve(s, c, i, &value)) {
                s->vars[i].i = value;
                return s->settled[i] = true;
            }
    }
    return false;
}

/* Judges the sizes that vary now, with those that equalities among the first nguards conditions make follow them. */
static int judge_with(search *s, size_t nguards) {
    for (int i = 0; i < (int)s->n; i++) {
        s->settled[i] = i == s->varied[0] || i == s->varied[1];
        if (!s->settled[i]) s->vars[i].i = s->now[i].value;
    }
    bring_along(s);
    while (follow(s, nguards, true) || follow(s, nguards, false)) {}
    return judge(s);
}

static bool consider(search *s) {
    int score = judge_with(s, s->p->guards.len);
    if (score < 0) score = judge_with(s, s->at); /* what follows the branch may not be needed at its other side */
    if (score > s->score) {
        s->score = score;
        for (size_t i = 0; i < s->n; i++) s->best[i] = s->now[i], s->best[i].value = s->vars[i].i;
    }
    return s->score == (int)(s->p->guards.len - s->at - 1);
}

/* ---- candidates ---- */
static bool read_condition(search *s, tc_sym e, int ties);

/* A size that changes with another: its symbols are replaced by the other's. ties: those followed already. */
static bool read_tied(search *s, int var, int ties) {
    for (size_t i = 0; i < s->ntie && ties < MOST_SYMBOLS; i++)
        for (int k = 0; k < 2; k++) {
            const tc_sym e = tc_sym_arg(s->tie[i], k), to = tc_sym_arg(s->tie[i], 1 - k);
            if (is_tied(s, e, to) && tc_sym_var_index(e) == var && read_condition(s, to, ties + 1)) return true;
        }
    return false;
}

/* Collects the symbols and constants of a condition. False: one of its symbols must not change. */
static bool read_condition(search *s, tc_sym e, int ties) {
    int64_t v;
    if (tc_sym_const_int(e, &v)) {
        if (s->nnumber < MOST_NUMBERS) s->number[s->nnumber++] = v;
        return true;
    }
    if (tc_sym_opcode(e) == TC_S_VAR) {
        const int i = tc_sym_var_index(e);
        if ((size_t)i >= s->n) return false;
        if (!s->now[i].declared) return read_tied(s, i, ties);
        for (int k = 0; k < s->nvar; k++)
            if (s->var[k] == i) return true;
        if (s->nvar == MOST_SYMBOLS) return false;
        s->var[s->nvar++] = i;
        return true;
    }
    for (int i = 0; i < tc_sym_arity(e); i++)
        if (!read_condition(s, tc_sym_arg(e, i), ties)) return false;
    return true;
}

typedef struct {
    int64_t at[MOST_VALUES];
    int n;
    const tc_side_size *size;
} values;

static void add(values *v, int64_t x) {
    if (x < v->size->lo || x > v->size->hi || x == v->size->value || v->n == MOST_VALUES) return;
    for (int i = 0; i < v->n; i++)
        if (v->at[i] == x) return;
    v->at[v->n++] = x;
}

static void add_near(values *v, int64_t x) {
    add(v, x);
    add(v, x + 1);
    add(v, x - 1);
}

/* Candidates for symbol i, usual sizes first: multiples of the present size, values derived from the condition's constants, small ones, the ends of
 * the range; last 1 and 0, which many operators treat specially. */
static void values_of(const search *s, int i, values *v) {
    const tc_side_size *size = &s->now[i];
    int64_t x;
    *v = (values){.size = size};
    for (int k = 2; k <= 4; k++)
        if (tc_mul_i64(size->value, k, &x)) add(v, x);
    add(v, size->value / 2);
    for (int a = 0; a < s->nnumber; a++) {
        if (s->number[a] > 1) add_near(v, s->number[a]);
        for (int b = 0; b < s->nnumber; b++)
            if (s->number[a] > 1 && s->number[b] > 1 && tc_mul_i64(s->number[a], s->number[b], &x)) add_near(v, x);
    }
    for (x = 2; x <= 64; x++) add(v, x);
    for (x = 128; x <= 1 << 16; x *= 2) add(v, x);
    add(v, size->hi);
    add(v, size->lo);
    add(v, 1);
    add(v, 0);
}

static bool try_one(search *s, int i) {
    values v;
    bool done = false;
    values_of(s, i, &v);
    s->varied[0] = i, s->varied[1] = -1;
    for (int k = 0; k < v.n && !done; k++) {
        s->vars[i].i = v.at[k];
        done = consider(s);
    }
    s->vars[i].i = s->now[i].value;
    return done;
}

static bool try_two(search *s, int i, int j) {
    values v, w;
    bool done = false;
    values_of(s, i, &v);
    values_of(s, j, &w);
    s->varied[0] = i, s->varied[1] = j;
    for (int a = 0; a < v.n && a < PAIR_VALUES && !done; a++)
        for (int b = 0; b < w.n && b < PAIR_VALUES && !done; b++) {
            s->vars[i].i = v.at[a], s->vars[j].i = w.at[b];
            done = consider(s);
        }
    s->vars[i].i = s->now[i].value, s->vars[j].i = s->now[j].value;
    return done;
}

bool tc_side_find(const tc_program *p, size_t at, const tc_side_size *now, size_t n, tc_side_size *out) {
    search s = {.p = p, .at = at, .n = n, .nvars = tc_sym_var_count(p->sym), .now = now, .best = out, .score = -1};
    find_ties(&s);
    if (!read_condition(&s, p->guards.data[at].cond, 0)) {
        free(s.tie);
        return false;
    }
    s.vars = tc_xcalloc(s.nvars + 1, sizeof *s.vars);
    s.settled = tc_xcalloc(n + 1, sizeof *s.settled);
    for (size_t i = 0; i < n && i < s.nvars; i++) s.vars[i] = (tc_symvalue){.i = now[i].value, .bound = true};
    bool done = false;
    for (int i = 0; i < s.nvar && !done; i++) done = try_one(&s, s.var[i]);
    for (int i = 0; i < s.nvar && s.score < 0; i++)
        for (int j = i + 1; j < s.nvar && s.score < 0; j++) try_two(&s, s.var[i], s.var[j]);
    free(s.vars);
    free(s.settled);
    free(s.tie);
    return s.score >= 0;
}

/* ---- the programs ---- */
typedef struct {
    tc_side_programs *all;
    tc_side_limits limits;
    size_t n, captures, searches; /* captures that may still be tried, unsuccessful searches that may still be made */
    tc_side_capture capture;
    void *ctx;
} exploration;

/* Are there programs for these sizes already, found in another way? */
static bool covered(const exploration *x, const tc_side_size *sizes) {
    tc_symvalue *vars = tc_xcalloc(x->n + 1, sizeof *vars); /* the symbols of the inputs come first in every program */
    bool fits = false;
    for (size_t i = 0; i < x->n; i++) vars[i] = (tc_symvalue){.i = sizes[i].value, .bound = true};
    for (size_t k = 0; k < x->all->len && !fits; k++) fits = tc_program_admits(x->all->data[k], vars, x->n);
    free(vars);
    return fits;
}

/* `now` with a size of 1 for side k of an equality of sizes. False: that is no other size, or cannot be one. */
static bool with_one(const exploration *x, const tc_guard *g, int k, const tc_side_size *now, tc_side_size *out) {
    if (!x->limits.ones || tc_sym_opcode(g->cond) != TC_S_EQ) return false;
    const tc_sym e = tc_sym_arg(g->cond, k);
    const size_t i = tc_sym_opcode(e) == TC_S_VAR ? (size_t)tc_sym_var_index(e) : x->n;
    if (i >= x->n || !now[i].declared || now[i].value == 1 || now[i].lo > 1 || now[i].hi < 1) return false;
    memcpy(out, now, x->n * sizeof *out);
    out[i].value = 1;
    return true;
}

static void explore(exploration *x, const tc_program *p, const tc_side_size *sizes, size_t from);

/* A program for sizes that p does not admit: captured at `other`, explored in turn. */
static void take_side(exploration *x, const tc_side_size *other, size_t from) {
    if (!x->captures || x->all->len == x->limits.most || covered(x, other)) return;
    x->captures--;
    tc_program *q = x->capture(x->ctx, other, x->n);
    if (q && tc_program_same_form(x->all->data[0], q)) {
        tc_vec_push(x->all, q);
        explore(x, q, other, from);
    } else tc_program_release(q);
}

static void explore(exploration *x, const tc_program *p, const tc_side_size *sizes, size_t from) {
    tc_side_size *other = tc_xcalloc(x->n + 1, sizeof *other);
    for (size_t i = from; i < p->guards.len && x->captures && x->searches && x->all->len < x->limits.most; i++) {
        const tc_guard *g = &p->guards.data[i];
        for (int k = 0; k < 2 && !g->branch; k++)
            if (with_one(x, g, k, sizes, other)) take_side(x, other, i);
        if (!g->branch) continue;
        const bool found = tc_side_find(p, i, sizes, x->n, other);
        x->searches -= !found;
        if (found) take_side(x, other, i + 1);
    }
    free(other);
}

/* Sizes that p was captured with although they differ, and that it makes equal: equal. */
static void agree(const tc_program *p, tc_side_size *sizes, size_t n) {
    tc_symvalue *vars = tc_xcalloc(n + 1, sizeof *vars);
    for (size_t i = 0; i < n; i++) vars[i] = (tc_symvalue){.i = sizes[i].value, .bound = true};
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_sym e = p->guards.data[i].cond;
        if (tc_sym_opcode(e) != TC_S_EQ) continue;
        const int k = tc_sym_opcode(tc_sym_arg(e, 1)) == TC_S_VAR;
        const tc_sym var = tc_sym_arg(e, k);
        if (tc_sym_opcode(var) != TC_S_VAR || (size_t)tc_sym_var_index(var) >= n) continue;
        const int64_t was = vars[tc_sym_var_index(var)].i;
        int64_t now = was;
        tc_status unknown = tc_sym_eval_int(tc_sym_arg(e, 1 - k), vars, n, &now);
        tc_status_free(unknown);
        for (size_t j = 0; j < n; j++) /* with it those that were made equal to it */
            if (vars[j].i == was) vars[j].i = now;
    }
    for (size_t i = 0; i < n; i++) sizes[i].value = vars[i].i;
    free(vars);
}

void tc_sides(tc_side_programs *all, tc_side_size *sizes, size_t n, tc_side_limits limits, tc_side_capture capture, void *ctx) {
    exploration x = {
        .all = all, .n = n, .limits = limits, .captures = CAPTURES_A_SIDE * limits.most, .searches = MOST_IN_VAIN, .capture = capture, .ctx = ctx};
    if (limits.ones) agree(all->data[0], sizes, n);
    explore(&x, all->data[0], sizes, 0);
}
