/* What torch.autograd.grad frees. PyTorch gives up the tensors that a node kept for its gradient once a gradient without retain_graph went
 * through it, and refuses a second one there; a node that kept none (a sum, a view) may be passed again. Here a node kept what the nodes of
 * its gradient, which have it as their origin, read of its operands and results, and what its row says. */
#include "capture/torch.h"

#include "capture/freed.h"

typedef struct {
    const tc_value *v;
    bool found;
} search;
static void is_it(void *ctx, tc_value **place) {
    search *s = ctx;
    s->found |= *place == s->v;
}

/* Does n have v as an operand or a result? */
static bool touches(const tc_node *n, const tc_value *v) {
    search s = {.v = v};
    tc_node_each_input(n, is_it, &s);
    for (int i = 0; i < n->nouts && !s.found; i++) is_it(&s, (tc_value *[]){n->outs[i]});
    return s.found;
}

typedef struct {
    const tc_node *n;
    bool kept;
} look;
static void look_at(void *ctx, const tc_value *v) {
    look *l = ctx;
    l->kept |= touches(l->n->origin, v);
}

void tc_torch_went_back(C *c, const tc_node *first, bool retain) {
    struct tc_torch *T = c->torch;
    for (const tc_node *n = first; n; n = n->next) {
        if (!n->origin) continue;
        look l = {.n = n, .kept = tc_op_functional(n->origin->op)->keeps != NULL};
        tc_op_each_read(n, look_at, &l);
        if (!l.kept) continue;
        if (tc_map_get(&T->freed, (const char *)&n->origin, sizeof n->origin) != NULL) {
            const tc_source *at = &n->origin->source;
            tc_raise(
                c, "RuntimeError",
                "Trying to backward through the graph a second time: the tensors that %s:%d kept for its gradient were freed by the first; specify "
                "retain_graph=True there",
                at->file ? at->file : "?", at->line);
        }
    }
    for (const tc_node *n = first; n && !retain; n = n->next)
        if (n->origin) *tc_map_put(&T->freed, (const char *)&n->origin, sizeof n->origin) = T;
}
