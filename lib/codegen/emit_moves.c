/* Before a group is scheduled (emit_plan.h): what a loop only moves is moved as integers, and what a store rounds is not rounded before it.
 *
 *     y[i] = narrow(round(where(c[i], widen(x[i]), 0)))        x, y bfloat16, float16 or 8 bits:   y[i] = c[i] ? x[i] : 0
 *     y[i] = narrow(round(widen(x[i]) + 1))                                                        y[i] = narrow(widen(x[i]) + 1)
 */
#include "codegen/emit_plan.h"
#include "tensor/dtype.h"

typedef struct {
    tc_loop *l;
    bool *moved;    /* by instruction: it is an element of memory, or one of two, as it stands there */
    bool *kept;     /* by buffer: all that reads and writes it moves its elements */
    tc_dtype *type; /* by instruction: the type in memory of what is moved */
} moves;

static bool is_narrow(tc_dtype d) { return tc_dtype_compute(d) != d; }

/* Values that could be moved, by what they are. A constant takes the type of the first that reads it. */
static void find_candidates(moves *m) {
    for (size_t i = 0; i < m->l->inst.len; i++) {
        const tc_linst *in = &m->l->inst.data[i];
        m->type[i] = in->kind == TC_L_LOAD ? m->l->buffers.data[in->buffer].dtype : TC_DTYPE_NONE;
        m->moved[i] = in->kind == TC_L_CONST || (in->kind == TC_L_LOAD && is_narrow(m->type[i]));
        const int first = in->kind == TC_L_ROUND ? 0 : 1, last = in->kind == TC_L_ROUND ? 0 : 2;
        if (in->kind != TC_L_ROUND && (in->kind != TC_L_SCALAR || in->op != TC_X_WHERE)) continue;
        if (in->kind == TC_L_ROUND) m->type[i] = in->narrow;
        for (int k = first; k <= last; k++)
            if (m->type[i] == TC_DTYPE_NONE) m->type[i] = m->type[in->a[k]];
        m->moved[i] = m->type[i] != TC_DTYPE_NONE && is_narrow(m->type[i]);
        for (int k = first; k <= last; k++)
            if (m->type[in->a[k]] == TC_DTYPE_NONE && m->l->inst.data[in->a[k]].kind == TC_L_CONST) m->type[in->a[k]] = m->type[i];
    }
    for (size_t s = 0; s < m->l->stores.len; s++) {
        const tc_lstore *st = &m->l->stores.data[s];
        if (m->l->inst.data[st->value].kind == TC_L_CONST && m->type[st->value] == TC_DTYPE_NONE)
            m->type[st->value] = m->l->buffers.data[st->buffer].dtype;
    }
}

/* Does instruction i use v for something else than to move it? */
static bool computes_with(const moves *m, size_t i, tc_lv v) {
    const tc_linst *in = &m->l->inst.data[i];
    tc_lv ops[TC_LOOP_OPERANDS];
    bool reads = false;
    for (int n = tc_loop_operands(in, ops); n-- > 0;) reads |= ops[n] == v;
    if (!reads) return false;
    return !m->moved[i] || in->kind == TC_L_LOAD || m->type[i] != m->type[v] || (in->kind == TC_L_SCALAR && in->a[0] == v);
}

/* Takes back what is not moved after all; true: something was. */
static bool take_back(moves *m) {
    const tc_loop *l = m->l;
    bool any = false;
    for (size_t b = 0; b < l->buffers.len; b++) {
        if (!m->kept[b]) continue;
        for (size_t i = 0; i < l->inst.len; i++) m->kept[b] &= l->inst.data[i].kind != TC_L_LOAD || l->inst.data[i].buffer != (int)b || m->moved[i];
        for (size_t i = 0; i < l->stores.len; i++) m->kept[b] &= l->stores.data[i].buffer != (int)b || m->moved[l->stores.data[i].value];
        any |= !m->kept[b];
    }
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (!m->moved[i]) continue;
        if (in->kind == TC_L_LOAD) m->moved[i] = m->kept[in->buffer];
        if (in->kind == TC_L_ROUND) m->moved[i] = m->moved[in->a[0]] && m->type[in->a[0]] == m->type[i];
        for (int k = 1; in->kind == TC_L_SCALAR && k <= 2; k++) m->moved[i] &= m->moved[in->a[k]] && m->type[in->a[k]] == m->type[i];
        if (in->kind == TC_L_CONST) m->moved[i] = m->type[i] != TC_DTYPE_NONE;
        for (size_t j = i + 1; j < l->inst.len && m->moved[i]; j++) m->moved[i] = !computes_with(m, j, (tc_lv)i);
        for (size_t s = 0; s < l->stores.len && m->moved[i]; s++)
            m->moved[i] = l->stores.data[s].value != (tc_lv)i ||
                          (m->kept[l->stores.data[s].buffer] && l->buffers.data[l->stores.data[s].buffer].dtype == m->type[i]);
        any |= !m->moved[i];
    }
    return any;
}

/* The integer type of the same size. */
static tc_dtype bits_of(tc_dtype d) { return tc_dtype_size(d) == 1 ? TC_U8 : tc_dtype_size(d) == 2 ? TC_U16 : TC_U32; }

static void move_as_integers(moves *m) {
    for (size_t i = 0; i < m->l->inst.len; i++) {
        tc_linst *in = &m->l->inst.data[i];
        if (!m->moved[i]) continue;
        in->dtype = bits_of(m->type[i]);
        if (in->kind == TC_L_ROUND) in->kind = TC_L_CAST;
        if (in->kind != TC_L_CONST) continue;
        union {
            uint8_t b1;
            uint16_t b2;
            uint32_t b4;
        } u = {0};
        tc_scalar_store(m->type[i], &u, 0, in->imm);
        in->imm = tc_scalar_int(in->dtype == TC_U8 ? u.b1 : in->dtype == TC_U16 ? u.b2 : u.b4);
    }
    for (size_t b = 0; b < m->l->buffers.len; b++)
        if (m->kept[b]) m->l->buffers.data[b].dtype = bits_of(m->l->buffers.data[b].dtype);
}

const tc_loop *emit_moves(const tc_loop *l, tc_arena *a) {
    bool any = false;
    for (size_t b = 0; b < l->buffers.len; b++) any |= is_narrow(l->buffers.data[b].dtype);
    if (!any) return l;
    moves m = {.l = TC_NEW(a, tc_loop), .moved = TC_NEWN(a, bool, l->inst.len + 1), .kept = TC_NEWN(a, bool, l->buffers.len + 1)};
    m.type = TC_NEWN(a, tc_dtype, l->inst.len + 1);
    *m.l = *l;
    m.l->inst.data = tc_arena_dup(a, l->inst.data, l->inst.len * sizeof *l->inst.data);
    m.l->stores.data = tc_arena_dup(a, l->stores.data, l->stores.len * sizeof *l->stores.data);
    m.l->buffers.data = tc_arena_dup(a, l->buffers.data, l->buffers.len * sizeof *l->buffers.data);
    for (size_t b = 0; b < l->buffers.len; b++) m.kept[b] = is_narrow(l->buffers.data[b].dtype);
    find_candidates(&m);
    while (take_back(&m)) {}
    for (size_t i = 0; i < l->stores.len; i++) {
        tc_lstore *s = &m.l->stores.data[i];
        const tc_linst *in = &l->inst.data[s->value];
        if (in->kind == TC_L_ROUND && in->narrow == l->buffers.data[s->buffer].dtype) s->value = in->a[0];
    }
    move_as_integers(&m);
    return m.l;
}
