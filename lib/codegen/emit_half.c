/* float16 in emitted C (emit_write.h): whole blocks are converted at once, since gcc makes no vectors of single conversions:
 *
 *     float t0[1024];
 *     tc_row_f16_f32(t0 + 0, x0 + 0, m - 0);                   operands, before the loop over the block
 *     for (i ...) t1[i] = tc_x_gelu_f32(t0[i]);                a result that is rounded ends its segment (emit_block.c)
 *     float *const t2 = t1;
 *     tc_row_round_f16(t2 + 0, t1 + 0, m - 0);
 *     for (i ...) z0[i] = tc_x_mul_f32(t2[i], t3[i]);
 *     tc_row_f32_f16(y0 + 0, z0 + 0, m - 0);                   results, after it
 */
#include "codegen/emit_write.h"

static bool unit_step(emitter *e, const caccess *x) {
    if (e->t->inner < 0) return false;
    const cexpr step = cx_step(e->p, e->ph, x, e->t->inner);
    return step.is_const && step.v == 1;
}
static bool here(const emitter *e, size_t v) { return e->in_nest[v] && e->at[v] == AT_NONE && emit_varies(e, v); }

static bool converts_load(emitter *e, size_t v) {
    const tc_linst *in = &e->l->inst.data[v];
    return here(e, v) && emit_plain_load(in) && in->pred == TC_LV_NONE && e->l->buffers.data[in->buffer].dtype == TC_F16 &&
           unit_step(e, &e->p->inst_access[v]);
}

bool emit_half_round(const emitter *e, tc_lv v) {
    const tc_linst *in = &e->l->inst.data[v];
    if (in->kind != TC_L_ROUND || in->narrow != TC_F16 || !here(e, (size_t)v)) return false;
    const tc_lv x = in->a[0];
    const tc_linst *of = &e->l->inst.data[x];
    return here(e, (size_t)x) && !e->ph->mat[x] && (of->kind == TC_L_SCALAR || of->kind == TC_L_CAST);
}

bool emit_half_store(emitter *e, int s) {
    const tc_lstore *st = &e->l->stores.data[s];
    return e->t->kind == NEST_STORE && e->l->buffers.data[st->buffer].dtype == TC_F16 && st->pred == TC_LV_NONE &&
           unit_step(e, &e->p->store_access[s]);
}

void emit_half_loads(emitter *e, const char *from, const char *to, bool *owned) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!converts_load(e, i)) continue;
        emit_line(e, "float t%zu[%d];", i, e->ph->block);
        emit_line(e, "tc_row_f16_f32(t%zu + %s, x%zu + %s, %s - %s);", i, from, i, from, to, from);
        e->at[i] = AT_ARRAY, owned[i] = true;
    }
}

/* The results of segment `at` - 1 that are rounded, in place where nothing else reads them. */
void emit_half_rounds(emitter *e, int at, const bool *rounds, const char *from, const char *to) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!rounds[i] || e->segment[i] != at) continue;
        const tc_lv x = e->l->inst.data[i].a[0];
        int uses = 0;
        for (size_t k = (size_t)x + 1; k < e->l->inst.len; k++) {
            tc_lv ops[TC_LOOP_OPERANDS];
            for (int n = e->in_nest[k] ? tc_loop_operands(&e->l->inst.data[k], ops) : 0; n-- > 0;) uses += ops[n] == x;
        }
        for (int k = 0; k < e->t->n; k++)
            uses += (e->t->kind == NEST_STORE ? e->l->stores.data[e->t->item[k]].value : e->l->inst.data[e->t->item[k]].a[0]) == x;
        if (uses == 1) emit_line(e, "float *const t%zu = t%d;", i, x);
        else emit_line(e, "float t%zu[%d];", i, e->ph->block);
        emit_line(e, "tc_row_round_f16(t%zu + %s, t%d + %s, %s - %s);", i, from, x, from, to, from);
        e->at[i] = AT_ARRAY;
    }
}

void emit_half_results(emitter *e, const char *from, const char *to) {
    for (int k = 0; k < e->t->n; k++) {
        const int s = e->t->item[k];
        if (emit_half_store(e, s)) emit_line(e, "tc_row_f32_f16(y%d + %s, z%d + %s, %s - %s);", s, from, s, from, to, from);
    }
}
