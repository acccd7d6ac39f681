/* Decides which intermediate values are channels last: N (D) (H) W C in memory. Only strides differ, so no bit of a result does.
 *
 * Two passes over the groups. Backwards: a value is wanted channels last by kernels that accept it so (tc_kernel.layouts), directly or through loops
 * that reduce at most within a channel; it is refused by kernels that do not. Forwards: a wanted value becomes channels last if its producer can make
 * it so: a kernel that writes either layout, a kernel that keeps its argument's layout, or a loop that reads such a value. Results of the graph
 * are always contiguous. */
#include "runtime/frame.h"

typedef struct {
    frame *f;
    tc_tensor *shape;             /* by value id: sizes and contiguous strides; storage NULL: not known */
    bool *wanted, *channels_last; /* by value id; channels_last is the result */
    bool *takes;                  /* by group: the kernel accepts argument 0 channels last; a result too */
    bool *refused;                /* by value id */
    tc_layouts *layouts;          /* by group */
} chooser;

static bool is_image(const tc_value *v) { return v && v->kind == TC_V_TENSOR && v->meta.rank >= 3 && v->meta.rank <= 5; }

/* Are the sizes of v known before the run? Sets c->shape. */
static bool known(chooser *c, const tc_value *v) {
    tc_tensor *t = &c->shape[v->id];
    if (v->kind != TC_V_TENSOR || v->graph != c->f->g) return false;
    if (t->storage) return true;
    tc_status s = meta_sizes(c->f->e, v, t->size);
    tc_status_free(s);
    if (s) return false;
    t->dtype = v->meta.dtype, t->rank = v->meta.rank;
    tc_contiguous_strides(t->rank, t->size, t->stride);
    t->storage = c->f->e->dummy;
    return true;
}

static tc_layouts layouts_of(chooser *c, const tc_node *n, const int *last) {
    const tc_kernel *kn = n->op->kernel;
    if (!kn->layouts || kn->flags & TC_KF_DYNAMIC || n->args[0].kind != TC_A_VALUE || n->nouts > 8) return TC_LAYOUT_PLANES;
    for (int i = 0; i < n->nargs; i++)
        if ((n->args[i].kind == TC_A_VALUE && !known(c, n->args[i].value)) || n->args[i].kind == TC_A_VALUES) return TC_LAYOUT_PLANES;
    tc_tensor outs[8] = {{0}};
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    for (int i = 0; i < n->nouts; i++) {
        if (n->outs[i]->kind != TC_V_TENSOR || (i && last[n->outs[i]->id] < 0)) continue;
        if (known(c, n->outs[i])) outs[i] = c->shape[n->outs[i]->id], k->k.nouts = i + 1;
    }
    tc_status s = kernel_args(n, c->shape, c->f->e->vars, c->f->e->nvars, true, k);
    k->k.outs = outs, k->k.isa = c->f->e->isa, k->k.pool = c->f->e->pool;
    tc_layouts l = !s && k->k.nouts ? kn->layouts(&k->k) : TC_LAYOUT_PLANES;
    tc_status_free(s);
    kernel_call_free(k);
    return l;
}

/* Does the loop reduce over nothing, or only within a channel of images? (Then channels last puts neighbouring sums side by side, for vectors.) */
static bool keeps_channels_apart(const tc_schedule *s) {
    const tc_loop *l = s->loop;
    uint64_t inner = 0;
    for (int i = 0; i < s->n; i++) inner |= s->nests[i].inner;
    for (size_t i = 0; inner && i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        int channel;
        if (in->kind != TC_L_LOAD || in->rank < 3 || tc_affine_is_zero(&in->index[1])) continue;
        if (!tc_affine_is_axis(&in->index[1], &channel) || inner >> channel & 1) return false;
    }
    return !s->own_loop;
}

/* If a loop's result is wanted channels last, so are its operands. */
static void want_loop(chooser *c, const tc_loop *l) {
    bool wanted = false;
    for (size_t k = 0; k < l->buffers.len; k++)
        wanted |= l->buffers.data[k].written && c->wanted[l->buffers.data[k].value->id] && !c->refused[l->buffers.data[k].value->id];
    for (size_t k = 0; wanted && k < l->buffers.len; k++) c->wanted[l->buffers.data[k].value->id] = true;
}
static void want(chooser *c, size_t i, const int *last) {
    const tc_group *g = &c->f->plan->groups.data[i];
    const tc_loop *l = g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue;
    if (l && keeps_channels_apart(&c->f->schedules[i])) want_loop(c, l);
    if (g->kind != TC_GROUP_KERNEL) return;
    c->layouts[i] = layouts_of(c, g->node, last);
    const bool takes = c->layouts[i] == TC_LAYOUT_ANY ||
                       (c->layouts[i] == TC_LAYOUT_SAME && !c->refused[g->node->outs[0]->id] && last[g->node->outs[0]->id] != INT32_MAX);
    if (takes) c->wanted[g->node->args[0].value->id] = true;
    for (int k = 0; !takes && k < g->node->nargs; k++)
        if (g->node->args[k].kind == TC_A_VALUE && g->node->args[k].value->graph == c->f->g) c->refused[g->node->args[k].value->id] = true;
}

static bool may_be_channels_last(chooser *c, const tc_value *v, const int *last) {
    if (!is_image(v) || last[v->id] == INT32_MAX || c->refused[v->id] || !known(c, v)) return false;
    return !tc_tensor_is_channels_last(&c->shape[v->id]); /* if it is both, there is nothing to choose */
}

static void decide_loop(chooser *c, const tc_loop *l, const int *last) {
    const tc_value *from = NULL;
    for (size_t k = 0; k < l->buffers.len && !from; k++)
        if (!l->buffers.data[k].written && c->channels_last[l->buffers.data[k].value->id]) from = l->buffers.data[k].value;
    for (size_t k = 0; from && k < l->buffers.len; k++) {
        const tc_value *v = l->buffers.data[k].value;
        if (l->buffers.data[k].written && v->meta.rank == from->meta.rank && c->wanted[v->id])
            c->channels_last[v->id] = may_be_channels_last(c, v, last);
    }
}
static void decide(chooser *c, size_t i, const int *last) {
    const tc_group *g = &c->f->plan->groups.data[i];
    if (g->kind == TC_GROUP_KERNEL && c->layouts[i] != TC_LAYOUT_PLANES) {
        const tc_value *out = g->node->outs[0], *in = g->node->args[0].value;
        bool wish = c->layouts[i] == TC_LAYOUT_ANY ? c->wanted[out->id] : c->channels_last[in->id];
        c->channels_last[out->id] = wish && may_be_channels_last(c, out, last);
        c->takes[i] =
            c->layouts[i] == TC_LAYOUT_ANY || c->channels_last[out->id] || (known(c, out) && tc_tensor_is_channels_last(&c->shape[out->id]));
    }
    const tc_loop *l = g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue;
    if (l && keeps_channels_apart(&c->f->schedules[i])) decide_loop(c, l, last);
}

void frame_layouts(frame *f, const int *last, bool *out, bool *takes) {
    size_t n = f->g->nvalues, groups = f->plan->groups.len;
    chooser c = {.f = f, .channels_last = out, .takes = takes};
    bool any = false;
    for (size_t i = 0; i < groups && !any; i++)
        any = f->plan->groups.data[i].kind == TC_GROUP_KERNEL && f->plan->groups.data[i].node->op->kernel->layouts;
    if (!any || f->e->for_c) return;
    c.shape = tc_xcalloc(n + 1, sizeof *c.shape);
    c.wanted = tc_xcalloc(n + 1, sizeof *c.wanted);
    c.refused = tc_xcalloc(n + 1, sizeof *c.refused);
    c.layouts = tc_xcalloc(groups + 1, sizeof *c.layouts);
    for (size_t i = groups; i-- > 0;) want(&c, i, last);
    for (size_t i = 0; i < groups; i++) decide(&c, i, last);
    free(c.shape);
    free(c.wanted);
    free(c.refused);
    free(c.layouts);
}
