/* Tables of functions of one 16-bit number. If a loop computes an expensive function of a value of f16 or bf16 alone, and rounds the result to such a
 * type, there are only 65536 results. They are computed when the first loop with this function is bound, by the same primitives, so a look-up gives
 * the same bits.
 *
 *     %0 = load f32 x[a0, a1]       of bf16
 *     %1 = sigmoid f32 %0
 *     %2 = round bf16 %1
 *     %3 = mul f32 %0, %2
 *     %4 = round bf16 %3            a table from %0 to %4, and one from %0 to %2 if other instructions read %2 */
#include "runtime/block_plan.h"

enum { ENTRIES = 1 << 16, BATCH = 256 }; /* BATCH: values computed together */
enum { EXPENSIVE = 8 };                  /* cost from which on a look-up is faster */
enum { CONSTANT = -2 };

tc_dtype half_type(const tc_loop *l, tc_lv v) {
    const tc_linst *in = &l->inst.data[v];
    if (in->dtype != TC_F32) return TC_DTYPE_NONE;
    const tc_dtype d = in->kind == TC_L_LOAD ? l->buffers.data[in->buffer].dtype : in->kind == TC_L_ROUND ? in->narrow : TC_DTYPE_NONE;
    return d == TC_F16 || d == TC_BF16 ? d : TC_DTYPE_NONE;
}

/* The cost of an instruction, in simple passes over a block. */
static int cost_of(const tc_linst *in) {
    if (in->kind == TC_L_ROUND) return 2;
    return in->kind != TC_L_SCALAR ? 0 : in->op >= TC_X_EXP ? EXPENSIVE : 1;
}

/* The only instruction on which the value of i depends, given the same for the instructions before (of). CONSTANT: none; TC_LV_NONE: several. */
static tc_lv root_of(const tc_loop *l, tc_lv i, const tc_lv *of) {
    const tc_linst *in = &l->inst.data[i];
    if (in->kind == TC_L_CONST) return CONSTANT;
    tc_lv root = CONSTANT;
    if ((in->kind != TC_L_SCALAR && in->kind != TC_L_ROUND) || in->dtype != TC_F32) root = TC_LV_NONE;
    for (int k = 0; k < 3 && root != TC_LV_NONE; k++) {
        const tc_lv a = in->a[k];
        if (a == TC_LV_NONE) continue;
        if (l->inst.data[a].dtype != TC_F32 || (root >= 0 && of[a] >= 0 && of[a] != root)) root = TC_LV_NONE;
        else if (of[a] != CONSTANT) root = of[a];
    }
    return root == TC_LV_NONE && half_type(l, i) != TC_DTYPE_NONE ? i : root;
}

void find_tables(const tc_loop *l, const int64_t *extent, int64_t uses, tc_lv *root) {
    int *cost = tc_xcalloc(l->inst.len + 1, sizeof *cost);
    for (tc_lv i = 0; i < (tc_lv)l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        root[i] = root_of(l, i, root);
        for (int k = 0; k < 3 && root[i] != i; k++)
            if (in->a[k] != TC_LV_NONE) cost[i] += cost[in->a[k]];
        cost[i] += root[i] == i ? 0 : cost_of(in);
        if (cost[i] > EXPENSIVE) cost[i] = EXPENSIVE;
    }
    for (tc_lv i = 0; i < (tc_lv)l->inst.len; i++) {
        double elements = 1;
        for (int a = 0; a < l->naxes; a++)
            if (l->inst.data[i].axes >> a & 1) elements *= (double)extent[a];
        const bool pays = cost[i] >= EXPENSIVE && elements >= (double)uses && l->inst.data[i].kind == TC_L_ROUND && half_type(l, i) != TC_DTYPE_NONE;
        if (!pays || root[i] < 0 || root[i] == i) root[i] = TC_LV_NONE;
    }
    free(cost);
}

/* Computes BATCH values of the instructions between `from` and `to`. at: [instruction][BATCH]; those of `from` are given. */
static void compute(const tc_isa_ops *isa, const tc_loop *l, tc_lv to, const uint8_t *needed, float *at) {
    for (tc_lv i = 0; i <= to; i++) {
        const tc_linst *in = &l->inst.data[i];
        float *out = at + (int64_t)i * BATCH;
        const float *a[3];
        for (int k = 0; k < 3; k++) a[k] = in->a[k] == TC_LV_NONE ? NULL : at + (int64_t)in->a[k] * BATCH;
        if (!needed[i]) continue;
        if (in->kind == TC_L_SCALAR) isa->scalar[TC_F32][in->op](out, a[0], a[1], a[2], BATCH);
        else if (in->kind == TC_L_ROUND) isa->round[in->narrow](out, a[0], BATCH);
        else
            for (int j = 0; j < BATCH; j++) tc_scalar_store(TC_F32, out, j, in->imm);
    }
}
static void tabulate(const tc_isa_ops *isa, const tc_loop *l, tc_lv from, tc_lv to, const uint8_t *needed, uint16_t *entries) {
    float *at = tc_xcalloc(((size_t)to + 1) * BATCH, sizeof *at);
    for (int v = 0; v < ENTRIES; v += BATCH) {
        uint16_t bits[BATCH];
        for (int j = 0; j < BATCH; j++) bits[j] = (uint16_t)(v + j);
        isa->cast[half_type(l, from)][TC_F32](at + (int64_t)from * BATCH, bits, BATCH);
        compute(isa, l, to, needed, at);
        isa->cast[TC_F32][half_type(l, to)](entries + v, at + (int64_t)to * BATCH, BATCH);
    }
    free(at);
}

/* A text that is equal for equal functions: types of argument and result, and the needed instructions, with operands numbered among them. */
static void describe(const tc_loop *l, tc_lv from, tc_lv to, const uint8_t *needed, tc_buf *out) {
    int *at = tc_xcalloc((size_t)to + 1, sizeof *at), n = 0;
    tc_buf_printf(out, "%d %d", half_type(l, from), half_type(l, to));
    for (tc_lv i = 0; i <= to; i++) {
        const tc_linst *in = &l->inst.data[i];
        float number = 0;
        if (i == from || needed[i]) at[i] = n++;
        if (!needed[i]) continue;
        if (in->kind == TC_L_CONST) tc_scalar_store(TC_F32, &number, 0, in->imm);
        tc_buf_printf(out, ";%d %d %d %a", in->kind, in->op, in->narrow, (double)number);
        for (int k = 0; k < 3; k++)
            if (in->a[k] != TC_LV_NONE) tc_buf_printf(out, " %d", at[in->a[k]]);
    }
    tc_buf_printf(out, " from %d", at[from]);
    free(at);
}

int table_of(tc_block *b, const tc_loop *l, tc_lv from, tc_lv to) {
    uint8_t *needed = tc_xcalloc((size_t)to + 1, 1);
    block_table t = {.entries = NULL};
    size_t k = 0;
    needed[to] = 1;
    for (tc_lv i = to; i >= 0; i--)
        for (int j = 0; j < 3 && needed[i] && i != from; j++)
            if (l->inst.data[i].a[j] != TC_LV_NONE) needed[l->inst.data[i].a[j]] = 1;
    needed[from] = 0;
    describe(l, from, to, needed, &t.function);
    while (k < b->tables->list.len && strcmp(tc_buf_str(&b->tables->list.data[k].function), tc_buf_str(&t.function))) k++;
    if (k < b->tables->list.len) tc_buf_free(&t.function);
    else {
        t.entries = tc_xcalloc(ENTRIES + 1, sizeof *t.entries);
        tabulate(b->isa, l, from, to, needed, t.entries);
        tc_vec_push(&b->tables->list, t);
    }
    free(needed);
    return (int)k;
}

tc_block_tables *tc_block_tables_create(void) { return tc_xcalloc(1, sizeof(tc_block_tables)); }
size_t tc_block_tables_count(const tc_block_tables *t) { return t->list.len; }
void tc_block_tables_destroy(tc_block_tables *t) {
    for (size_t k = 0; t && k < t->list.len; k++) {
        tc_buf_free(&t->list.data[k].function);
        free(t->list.data[k].entries);
    }
    if (t) tc_vec_free(&t->list);
    free(t);
}
