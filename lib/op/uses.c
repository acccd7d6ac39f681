/* Detects gradients that need mutated tensors (alias.h). PyTorch has a version counter per tensor, stores it with a node's saved tensors, and refuses
 * the gradient when the counter has changed:
 *
 *     y = x * w        the node mul uses x and w
 *     x.add_(1)        mul records that x was overwritten here
 *     grad(y, w)       mul's gradient of w reads x: refused; one that reads only w is not (grad/reads.c)
 *
 * Only nodes with gradients are recorded, and each use once, so that this is linear in the number of nodes. */
#include "op/alias.h"

static bool has_gradient(const tc_node *m) {
    bool any = false;
    for (int i = 0; i < m->nouts; i++) {
        any |= m->outs[i]->meta.requires_grad;
        for (int k = 0; m->outs[i]->kind == TC_V_LIST && k < m->outs[i]->nlist; k++) any |= m->outs[i]->list[k]->meta.requires_grad;
    }
    return any && !m->no_grad;
}

static void use(tc_functional *f, tc_node *m, int place, int element, tc_value *v) {
    if (!v || v->kind != TC_V_TENSOR) return;
    tc_alias_base *b = tc_alias_of(f, v)->a->base;
    tc_alias_use *u = TC_NEW(&f->arena, tc_alias_use);
    *u = (tc_alias_use){m, place, element, b->uses};
    b->uses = u;
}

void tc_alias_uses(tc_functional *f, tc_node *m, const tc_arg *source) {
    if (!has_gradient(m)) return;
    for (int i = 0; i < m->nargs; i++) {
        if (source[i].kind == TC_A_VALUE) use(f, m, i, -1, source[i].value);
        for (int k = 0; source[i].kind == TC_A_VALUES && k < source[i].n; k++) use(f, m, i, k, source[i].values[k]);
    }
}

void tc_alias_makes(tc_functional *f, tc_node *m, int result, tc_value *out) {
    if (has_gradient(m)) use(f, m, ~result, -1, out);
}

void tc_alias_overwrites(tc_functional *f, tc_value *target, const tc_node *by) {
    const tc_alias *a = tc_alias_of(f, target)->a;
    tc_alias_base *b = a->base;
    for (; a; a = a->parent)
        if (a->parent && !strcmp(tc_op_schema(a->view.op)->name, "detach")) return;
    for (const tc_alias_use *u = b->uses; u; u = u->next) {
        if (u->node == by) continue;
        if (b->checkpoint && u->node->source.checkpoint == b->checkpoint) continue; /* recomputed by the checkpoint, so not saved */
        tc_overwritten *w = TC_NEW(&f->g->program->arena, tc_overwritten);
        *w = (tc_overwritten){u->place, u->element, f->e.source, u->node->overwritten};
        u->node->overwritten = w;
    }
    b->uses = NULL;
}
