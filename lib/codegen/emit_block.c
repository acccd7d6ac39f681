/* The loop over one block of a nest in emitted C (emit_write.h), cut into segments:
 *
 *     for (i ...) { v3 = x0[i] * 2; v4 = exp(v3); t4[i] = v4; }        one elementary function or scan per segment: several in one
 *     for (i ...) { v7 = tanh(t4[i]); y0[i] = v7; }                    loop run out of registers; arrays carry values across segments
 *
 * The last segment stores the results or accumulates the reductions. */
#include "codegen/emit_write.h"

static void comment_of(emitter *e, tc_lv v, tc_buf *out) {
    const tc_linst *in = &e->l->inst.data[v];
    if (in->kind != TC_L_LOAD) return;
    const tc_value *val = e->l->buffers.data[in->buffer].value;
    if (!val || !val->name) return;
    tc_buf_puts(out, " /* ");
    tc_emit_comment(out, val->name);
    tc_buf_puts(out, " */");
}

void emit_declare(emitter *e, tc_lv v, bool inner) {
    tc_buf note = {0};
    if (e->l->inst.data[v].kind == TC_L_SCAN) {
        emit_scan_step(e, v);
        return;
    }
    comment_of(e, v, &note);
    emit_line(e, "const %s v%d = %s;%s", emit_type(&e->l->inst.data[v]), v, emit_value(e, v, inner), tc_buf_str(&note));
    tc_buf_free(&note);
}

static bool cheap_leaf(const emitter *e, tc_lv v) {
    const tc_linst *in = &e->l->inst.data[v];
    return (emit_plain_load(in) && in->pred == TC_LV_NONE && !e->ph->apart) || in->kind == TC_L_INDEX || in->kind == TC_L_CONST ||
           in->kind == TC_L_HOST;
}

/* Assigns values to segments of the inner loop: at most one elementary function or scan each. Readers of a row's scan, which is serial, come in a later
 * segment; strided columns are gathered in an earlier one. Returns the number of segments. */
static int split(emitter *e, const bool *rounds) {
    const bool alone = !e->ph->columns || e->ph->apart;
    int last = 0;
    int *heavy = TC_NEWN(e->p->a, int, e->l->inst.len + 1); /* elementary functions by segment */
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !emit_varies(e, i)) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = tc_loop_operands(in, ops), s = 0;
        for (int k = 0; k < n; k++) {
            const tc_linst *op = &e->l->inst.data[ops[k]];
            const int from = e->segment[ops[k]] + (op->kind == TC_L_SCAN && alone);
            if (e->at[ops[k]] == AT_NONE && emit_varies(e, (size_t)ops[k]) && !cheap_leaf(e, ops[k]) && from > s) s = from;
        }
        s += (in->kind == TC_L_SCAN && e->ph->apart) || rounds[i];
        if (cx_heavy(in) || in->kind == TC_L_SCAN) {
            while (heavy[s]) s++;
            heavy[s]++;
        }
        e->segment[i] = s;
        if (s > last) last = s;
    }
    return last + 1;
}

/* By value: the last segment that reads it, -1: none. Results are read in the last segment. */
static int *last_uses(emitter *e, int nsegments) {
    int *last = TC_NEWN(e->p->a, int, e->l->inst.len + 1);
    for (size_t i = 0; i < e->l->inst.len; i++) last[i] = -1;
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->in_nest[i] || e->at[i] != AT_NONE) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = tc_loop_operands(&e->l->inst.data[i], ops);
        while (n-- > 0)
            if (e->segment[i] > last[ops[n]]) last[ops[n]] = e->segment[i];
    }
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        if (emit_direct(e, r)) continue;
        const tc_lstore *s = &e->l->stores.data[e->t->kind == NEST_STORE ? r : 0];
        last[e->t->kind == NEST_STORE ? s->value : e->l->inst.data[r].a[0]] = nsegments - 1;
        if (e->t->kind == NEST_STORE && s->pred != TC_LV_NONE) last[s->pred] = nsegments - 1;
    }
    return last;
}

static void write_store(emitter *e, int s) {
    const tc_lstore *st = &e->l->stores.data[s];
    tc_dtype d = e->l->buffers.data[st->buffer].dtype;
    cexpr step = e->t->inner >= 0 ? cx_mul(e->p, (cexpr){.s = "i"}, cx_step(e->p, e->ph, &e->p->store_access[s], e->t->inner)) : cx_int(0);
    const char *v = emit_ref(e, st->value);
    if (emit_narrow(d)) v = T(e, "tc_x_cast_%s_%s(%s)", emit_suffix(tc_dtype_compute(d)), emit_suffix(d), v);
    const char *when = st->pred == TC_LV_NONE ? "" : T(e, "if (%s) ", emit_ref(e, st->pred));
    emit_line(e, "%sy%d[%s] = %s;", when, s, cx_text(e->p, step), v);
}

/* True when a block computes nothing: every reduction reads its operand straight from memory. */
bool emit_idle_block(emitter *e) {
    for (int k = 0; k < e->t->n; k++)
        if (e->t->kind != NEST_REDUCE || e->ph->columns || !emit_direct(e, e->t->item[k])) return false;
    for (size_t i = 0; i < e->l->inst.len; i++)
        if (e->in_nest[i] && e->at[i] == AT_NONE && emit_varies(e, i) && !cheap_leaf(e, (tc_lv)i)) return false;
    return true;
}

/* Segments of one loop over elements `from` to `to` of a block that starts at k0. */
typedef struct {
    const char *from, *to;
    int n, at;       /* segments; the one being written */
    const int *uses; /* last_uses */
} segments;

static bool in_segment(const emitter *e, const segments *g, size_t i) {
    return e->in_nest[i] && e->at[i] == AT_NONE && !cheap_leaf(e, (tc_lv)i) && e->segment[i] == g->at;
}
/* The values that the segment computes, and the cheap loads, indices and constants that it reads. */
static bool *segment_values(emitter *e, const segments *g) {
    size_t n = e->l->inst.len;
    bool *used = TC_NEWN(e->p->a, bool, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!in_segment(e, g, i)) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int k = tc_loop_operands(&e->l->inst.data[i], ops);
        used[i] = true;
        while (k-- > 0) used[ops[k]] |= cheap_leaf(e, ops[k]);
    }
    for (size_t i = 0; i < n; i++) used[i] |= g->at == g->n - 1 && g->uses[i] == g->at && cheap_leaf(e, (tc_lv)i);
    for (size_t i = 0; i < n; i++) used[i] &= e->in_nest[i] && e->at[i] == AT_NONE;
    return used;
}

/* Stores, scan steps and accumulation at the end of the last segment. */
static void write_results(emitter *e) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        if (emit_half_store(e, r)) emit_line(e, "z%d[i] = %s;", r, emit_ref(e, e->l->stores.data[r].value));
        else if (e->t->kind == NEST_STORE) write_store(e, r);
        else if (e->t->kind == NEST_SCAN) emit_scan_step(e, r);
        else if (e->ph->columns) emit_column_step(e, r);
        else if (!emit_direct(e, r)) emit_line(e, "r%d[%si] = %s;", r, emit_aligned(e) ? "" : "fill + ", emit_ref(e, e->l->inst.data[r].a[0]));
    }
}
static void write_segment(emitter *e, const segments *g, const bool *values) {
    size_t n = e->l->inst.len;
    bool rolled = e->ph->few;
    for (size_t i = 0; i < n; i++) rolled |= values[i] && e->l->inst.data[i].kind == TC_L_LOAD && e->l->inst.data[i].pred != TC_LV_NONE;
    emit_line(e, "%s for (int64_t i = %s; i < %s; i++) {", rolled ? "TC_IVDEP_ROLLED" : "TC_IVDEP", g->from, g->to);
    emit_open(e);
    for (size_t i = 0; i < n; i++)
        if (values[i]) emit_declare(e, (tc_lv)i, true), e->at[i] = AT_INNER;
    for (size_t i = 0; i < n; i++) {
        if (e->at[i] != AT_INNER) continue;
        if (e->ph->mat[i] == MAT_SCRATCH) emit_line(e, "m%zu[%s] = v%zu;", i, emit_kept_index(e, (tc_lv)i, true), i);
        else if (e->ph->mat[i] == MAT_COLUMNS) emit_line(e, "m%zu[i] = v%zu;", i, i);
        else if (!cheap_leaf(e, (tc_lv)i) && g->uses[i] > g->at) emit_line(e, "t%zu[i] = v%zu;", i, i);
    }
    if (g->at == g->n - 1) write_results(e);
    emit_close(e);
    for (size_t i = 0; i < n; i++)
        if (e->at[i] == AT_INNER) e->at[i] = AT_NONE;
}

/* A segment with an operation that branches on large arguments (sin, cos), or takes more steps for them (fmod): one loop looks for such arguments, then
 * one of two versions of the segment runs, without or with the branch. */
static void write_rare(emitter *e, const segments *g, const bool *values, tc_lv op) {
    const tc_linst *in = &e->l->inst.data[op];
    const bool two = in->a[1] != TC_LV_NONE;
    const tc_lv x = two && in->a[1] > in->a[0] ? in->a[1] : in->a[0];
    bool *need = TC_NEWN(e->p->a, bool, e->l->inst.len + 1);
    need[in->a[0]] = true;
    if (two) need[in->a[1]] = true;
    for (tc_lv i = x; i >= 0; i--) {
        tc_lv ops[TC_LOOP_OPERANDS];
        int k = need[i] && values[i] ? tc_loop_operands(&e->l->inst.data[i], ops) : 0;
        while (k-- > 0) need[ops[k]] = true;
    }
    emit_line(e, "int large = 0;");
    emit_line(e, "TC_IVDEP for (int64_t i = %s; i < %s; i++) {", g->from, g->to);
    emit_open(e);
    for (tc_lv i = 0; i <= x; i++)
        if (need[i] && values[i]) emit_declare(e, i, true), e->at[i] = AT_INNER;
    if (two) emit_line(e, "large |= tc_x_fmod_unusual(%s, %s);", emit_ref(e, in->a[0]), emit_ref(e, in->a[1]));
    else emit_line(e, "large |= tc_x_is_large_%s(%s);", emit_suffix(in->dtype), emit_ref(e, x));
    emit_close(e);
    for (tc_lv i = 0; i <= x; i++)
        if (e->at[i] == AT_INNER) e->at[i] = AT_NONE;
    emit_line(e, "if (!large) {");
    emit_open(e);
    e->quick = true;
    write_segment(e, g, values);
    e->quick = false;
    emit_close(e);
    emit_line(e, "if (large) {");
    emit_open(e);
    e->whole = true;
    write_segment(e, g, values);
    e->whole = false;
    emit_close(e);
}

/* Writes the loop over elements `from` to `to` of a block, in segments. The pointers to the row are declared already. */
void emit_block(emitter *e, const char *from, const char *to) {
    size_t n = e->l->inst.len;
    bool *owned = TC_NEWN(e->p->a, bool, n + 1); /* computed in this block: not available after it */
    bool *rounds = TC_NEWN(e->p->a, bool, n + 1);
    emit_half_loads(e, from, to, owned);
    for (size_t i = 0; i < n; i++) owned[i] |= rounds[i] = emit_half_round(e, (tc_lv)i);
    segments g = {.from = from, .to = to, .n = split(e, rounds)};
    g.uses = last_uses(e, g.n);
    for (size_t i = 0; i < n && g.n > 1; i++) { /* values read by a later segment get an array */
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || rounds[i] || cheap_leaf(e, (tc_lv)i) || g.uses[i] <= e->segment[i]) continue;
        if (e->ph->mat[i] == MAT_NONE) emit_line(e, "%s t%zu[%d];", emit_type(in), i, e->ph->block);
    }
    for (int k = 0; k < e->t->n; k++)
        if (emit_half_store(e, e->t->item[k])) emit_line(e, "float z%d[%d];", e->t->item[k], e->ph->block);
    for (; g.at < g.n; g.at++) {
        emit_half_rounds(e, g.at, rounds, from, to);
        const bool *values = segment_values(e, &g);
        tc_lv rare = TC_LV_NONE;
        for (size_t i = 0; i < n; i++)
            if (values[i] && emit_rare(&e->l->inst.data[i])) rare = (tc_lv)i;
        bool any = g.at == g.n - 1;
        for (size_t i = 0; i < n; i++) any |= values[i];
        if (!any) continue;
        if (rare == TC_LV_NONE) {
            write_segment(e, &g, values);
        } else {
            emit_line(e, "{");
            emit_open(e);
            write_rare(e, &g, values, rare);
            emit_close(e);
        }
        for (size_t i = 0; i < n; i++) {
            if (!values[i]) continue;
            owned[i] = true;
            if (!cheap_leaf(e, (tc_lv)i) && g.at < g.n - 1) e->at[i] = e->ph->mat[i] ? AT_KEPT : AT_ARRAY;
        }
    }
    emit_half_results(e, from, to);
    for (size_t i = 0; i < n; i++)
        if (owned[i]) e->at[i] = e->ph->mat[i] ? AT_KEPT : AT_NONE;
}
