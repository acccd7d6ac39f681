/* Two instructions as one step, where a primitive does both in one pass (kernel/block_fused.isa.c). The first must have no other user. */
#include "runtime/block_plan.h"

static bool commutes(int op) { return op == TC_X_ADD || op == TC_X_MUL; }

/* Is v a block of the nest's body that only the next instruction uses? Returns its instruction, of a scalar operation on float32, or NULL. */
static const tc_linst *used_once(const ctx *c, const node *user, int v) {
    const node *u = &c->v[v];
    if (u->what != V_INST || u->fused || u->cls != user->cls || u->level != BODY || c->uses[u->inst] > 1) return NULL;
    const tc_linst *in = &c->p->loop->inst.data[u->inst];
    return in->kind == TC_L_SCALAR && c->v[u->a[0]].dtype == TC_F32 ? in : NULL;
}

static void take(const ctx *c, node *v, const int a[4]) {
    for (int k = 0; k < 4; k++) {
        v->a[k] = a[k];
        raise_to(c, v, a[k]);
    }
}

/* The operand of an operation on two that is `one` element, and the other. A sum's and a product's may be in either place; turned: another's is the first. */
static void sort_operands(const node *v, int op, int *out_block, int *out_other, int *out_one, bool *out_turned) {
    const int narrow = v->narrow ? __builtin_ctz(v->narrow) : -1;
    *out_block = v->a[narrow == 0], *out_other = v->a[narrow != 0], *out_one = narrow >= 0;
    *out_turned = narrow == 0 && !commutes(op);
}

/* v = second(first(a, b), c) */
static void fuse_pair(const ctx *c, node *v, const tc_linst *in) {
    for (int k = 0; k < (commutes(in->op) ? 2 : 1); k++) {
        if (v->narrow >> k & 1) continue;
        const tc_linst *before = used_once(c, v, v->a[k]);
        const node *u = &c->v[v->a[k]];
        int a, b, one_b;
        bool turned;
        if (!before || u->a[1] < 0 || u->a[2] >= 0) continue;
        sort_operands(u, before->op, &a, &b, &one_b, &turned);
        const int other = v->a[1 - k], one_c = v->narrow != 0, one = turned | one_b << 1 | one_c << 2;
        const node *y = &c->v[b], *z = &c->v[other];
        if (one_b && one_c && y->thin != z->thin && c->n->R > 1 && !(y->cls == CLS_0 || z->cls == CLS_0))
            continue; /* one is per row, the other per run */
        for (const tc_block_pair *p = c->p->isa->scalar_pair; p->fn; p++)
            if (p->first == before->op && p->second == in->op && p->one == one) v->fused = p->fn;
        if (!v->fused) continue;
        v->narrow = (uint8_t)(one & 6);
        take(c, v, (int[]){a, b, other, -1});
        return;
    }
}

/* The element that block v is filled with, or -1. */
static int single_element(const ctx *c, int v) {
    const node *b = &c->v[v];
    return b->what == V_BROADCAST && c->v[b->a[0]].cls == CLS_0 ? b->a[0] : -1;
}

static void swap(int *a, int *b) {
    const int t = *a;
    *a = *b, *b = t;
}

/* v = where(x OP y, p, q) with one element y */
static void fuse_select(const ctx *c, node *v) {
    const tc_linst *compare = used_once(c, v, v->a[0]);
    if (!compare) return;
    const node *u = &c->v[v->a[0]];
    int x = u->a[0], y = u->a[1], p = v->a[1], q = v->a[2], op, form = TC_CHOICE_BB;
    const bool no_nan = compare->op == TC_X_ISNAN;
    if (y < 0 && !no_nan) return; /* a mask of another kind */
    const bool turned = !no_nan && single_element(c, y) < 0;
    if (turned) swap(&x, &y);
    switch (compare->op) {
    case TC_X_NE: swap(&p, &q); /* fallthrough */
    case TC_X_EQ: op = TC_SELECT_EQ; break;
    case TC_X_LT:
    case TC_X_GT: op = TC_SELECT_LT; break;
    case TC_X_LE:
    case TC_X_GE: op = TC_SELECT_LE; break;
    case TC_X_ISNAN:
        swap(&p, &q);
        op = TC_SELECT_NUMBER;
        break;
    default: return;
    }
    const int number = no_nan ? x : single_element(c, y), p1 = single_element(c, p), q1 = single_element(c, q);
    if (number < 0) return;
    if (p1 >= 0) p = p1, form = TC_CHOICE_OB;
    else if (q1 >= 0) q = q1, form = TC_CHOICE_BO;
    const tc_block_select fn = c->p->isa->select[op][form];
    if (!fn) return;
    v->select = fn, v->negate = (compare->op == TC_X_GT || compare->op == TC_X_GE) != turned && op != TC_SELECT_EQ && !no_nan;
    v->narrow = (uint8_t)(2 | (form == TC_CHOICE_OB) << 2 | (form == TC_CHOICE_BO) << 3);
    take(c, v, (int[]){x, number, p, q});
}

void fuse_steps(const ctx *c, node *v) {
    const tc_linst *in = &c->p->loop->inst.data[v->inst];
    if (in->kind != TC_L_SCALAR || v->dtype != TC_F32) return;
    if (in->op == TC_X_WHERE) fuse_select(c, v);
    else if (v->a[1] >= 0 && v->a[2] < 0) fuse_pair(c, v, in);
}
