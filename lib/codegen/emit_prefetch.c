/* Software prefetch in emitted C (emit_write.h). The first pass over a row misses the cache, later ones hit: while a reduction computes, the next block
 * of memory and the lines that a later nest of the phase will write are prefetched, a few at a time.
 *
 *     for each piece of 256 elements: prefetch the lines one block ahead; compute the piece
 *
 * Hardware prefetches only along one stream within a page. Prefetched addresses may lie outside the tensors: a prefetch does not fault. */
#include "codegen/emit_write.h"

enum { ROWS_AHEAD = 8 };

static bool reads(const emitter *e, const cnest *t, tc_lv v) {
    bool *seen = TC_NEWN(e->p->a, bool, e->l->inst.len + 1);
    for (int k = 0; k < t->n; k++) emit_reach(e->l, seen, e->l->inst.data[t->item[k]].a[0]);
    return seen[v];
}
static bool heavy(const emitter *e, const cnest *t) {
    bool *seen = TC_NEWN(e->p->a, bool, e->l->inst.len + 1), any = false;
    for (int k = 0; k < t->n; k++) emit_reach(e->l, seen, e->l->inst.data[t->item[k]].a[0]);
    for (size_t i = 0; i < e->l->inst.len; i++) any |= seen[i] && cx_heavy(&e->l->inst.data[i]);
    return any;
}

/* The nest that hides the prefetches: the first with an elementary function, else the last reduction. */
static const cnest *carrier(const emitter *e) {
    const cnest *last = NULL;
    for (int k = 0; k < e->ph->nnests; k++) {
        const cnest *t = &e->ph->nest[k];
        if (t->kind != NEST_REDUCE) continue;
        last = t;
        if (heavy(e, t)) break;
    }
    return last;
}

static bool unit_step(const emitter *e, const caccess *x) {
    cexpr step = cx_step(e->p, e->ph, x, e->t->inner);
    return step.is_const && step.v == 1;
}
/* True for a nest of stores that write along the current nest's inner range without a further loop. */
static bool follows(const emitter *e, const cnest *t) {
    return t->kind == NEST_STORE && t->inner == e->t->inner && t->inner >= 0 && !(t->outer & ~(UINT64_C(1) << t->inner)) && !e->t->outer;
}
bool emit_prefetches_results(emitter *e) {
    for (int k = 0; e->t == carrier(e) && k < e->ph->nnests; k++)
        if (follows(e, &e->ph->nest[k])) return true;
    return false;
}

static void fetch_results(emitter *e, const char *from, const char *to) {
    for (int k = 0; k < e->ph->nnests; k++) {
        const cnest *t = &e->ph->nest[k];
        for (int i = 0; follows(e, t) && i < t->n; i++) {
            const tc_lstore *s = &e->l->stores.data[t->item[i]];
            const caccess *x = &e->p->store_access[t->item[i]];
            if (!unit_step(e, x) || s->pred != TC_LV_NONE) continue;
            emit_line(e, "for (int64_t i = %s; i < %s; i += %d) __builtin_prefetch(b%d + %s + i, 1);", from, to,
                      64 / (int)tc_dtype_size(e->l->buffers.data[s->buffer].dtype), s->buffer,
                      cx_text(e->p, emit_address(e, x, emit_ranges(e), false)));
        }
    }
}

void emit_prefetch(emitter *e, const char *from, const char *to) {
    const cnest *by = carrier(e);
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !emit_plain_load(in) || in->pred != TC_LV_NONE || !emit_varies(e, i)) continue;
        if (!(e->ph->mask[i] & e->ph->par) || !unit_step(e, &e->p->inst_access[i]) || (e->t != by && reads(e, by, (tc_lv)i))) continue;
        emit_line(e, "for (int64_t i = %s; i < %s; i += %d) __builtin_prefetch(x%zu + i + %d);", from, to,
                  64 / (int)tc_dtype_size(e->l->buffers.data[in->buffer].dtype), i, EMIT_BLOCK);
    }
    if (e->t == by) fetch_results(e, from, to);
}

/* Prefetch for narrow blocks of columns: the lines of the row ROWS_AHEAD further on. */
void emit_prefetch_columns(emitter *e) {
    int along = -1;
    for (int r = 0; r < e->ph->nr; r++)
        if (e->t->over >> r & 1 && (along < 0 || e->ph->range[r].axis[0] > e->ph->range[along].axis[0])) along = r;
    if (along < 0 || e->ph->wide) return;
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !emit_plain_load(in) || in->pred != TC_LV_NONE || !emit_varies(e, i)) continue;
        const caccess *x = &e->p->inst_access[i];
        if (!unit_step(e, x) || !(e->ph->mask[i] >> along & 1)) continue;
        const cexpr row = cx_step(e->p, e->ph, x, along), ahead = cx_mul(e->p, cx_int(ROWS_AHEAD), row);
        if (row.is_const && row.v <= 16) continue; /* many rows of a line */
        emit_line(e, "for (int64_t i = 0; i < m; i += %d) __builtin_prefetch(x%zu + i + %s);",
                  64 / (int)tc_dtype_size(e->l->buffers.data[in->buffer].dtype), i, cx_text(e->p, ahead));
    }
}
