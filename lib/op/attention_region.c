/* Finds the scores that a tensor is computed from (attention_region.h): upwards from it, through pointwise nodes and views, to a product. */
#include "op/attention_region.h"

#include "op/lower.h"

enum { MOST = 64 };

typedef struct {
    const tc_value *v;
    int reads; /* by nodes between the scores and x */
    bool from; /* v is computed from the scores, or they are it */
} met;
typedef struct {
    tc_value *x, *scores;
    const tc_node *product;
    met list[MOST];
    int n;
    bool full; /* more than MOST */
} region;

static bool same_sizes(const tc_meta *a, const tc_meta *b) {
    for (int d = 0; d < a->rank && a->rank == b->rank; d++)
        if (a->size[d] != b->size[d]) return false;
    return a->rank == b->rank;
}

/* The product whose result v is, seen through views of it that nothing else reads; NULL: v is something else. */
static const tc_node *product_of(const region *r, const tc_value *v) {
    if (!same_sizes(&v->meta, &r->x->meta) || v->meta.dtype != r->x->meta.dtype) return NULL;
    const tc_node *n = tc_attention_maker(v);
    for (const tc_value *before; (before = tc_attention_shown(n)); n = tc_attention_maker(before))
        if (!tc_attention_has_readers(before, 1)) return NULL;
    return tc_attention_is(n, "matmul") || tc_attention_is(n, "bmm") ? n : NULL;
}
static bool is_pointwise(const tc_node *n) {
    if (n->nouts != 1 || !n->op->lower || n->op->kernel || n->op->flags & TC_OP_RANDOM) return false;
    tc_loop *l = NULL;
    tc_status s = tc_lower_node(n->graph->program, n, &l);
    const bool is = !s && tc_loop_is_pointwise(l);
    tc_status_free(s);
    tc_loop_free(l);
    return is;
}
/* Has v the queries and keys of x? */
static bool is_large(const region *r, const tc_value *v) {
    const tc_meta *m = &v->meta, *x = &r->x->meta;
    return m->rank >= 2 && m->size[m->rank - 1] == x->size[x->rank - 1] && m->size[m->rank - 2] == x->size[x->rank - 2];
}

static int meet(region *r, tc_value *v);
static bool computed_from_scores(region *r, tc_value *v) {
    const tc_node *n = tc_attention_maker(v);
    if (!n || !is_large(r, v)) return false;
    const tc_node *product = r->scores ? NULL : product_of(r, v);
    if (product) return r->scores = v, r->product = product, true;
    if (!tc_attention_shown(n) && !is_pointwise(n)) return false;
    bool from = false;
    for (int i = 0; i < n->nargs && !r->full; i++) {
        tc_value *a = n->args[i].kind == TC_A_VALUE ? n->args[i].value : NULL;
        const int at = a && a->kind == TC_V_TENSOR ? meet(r, a) : -1;
        if (at >= 0 && r->list[at].from) r->list[at].reads++, from = true;
    }
    return from;
}
static int meet(region *r, tc_value *v) {
    for (int i = 0; i < r->n; i++)
        if (r->list[i].v == v) return i;
    if (r->n == MOST) return r->full = true, -1;
    const int at = r->n++;
    r->list[at] = (met){v, 0, false};
    r->list[at].from = computed_from_scores(r, v);
    return at;
}

tc_value *tc_attention_region(tc_value *x, int readers, const tc_node **out_product) {
    region r = {.x = x};
    const int at = meet(&r, x);
    if (r.full || !r.list[at].from || r.scores == x) return NULL;
    for (int i = 0; i < r.n; i++)
        if (r.list[i].from && !tc_attention_has_readers(r.list[i].v, i == at ? readers : r.list[i].reads)) return NULL;
    *out_product = r.product;
    return r.scores;
}
