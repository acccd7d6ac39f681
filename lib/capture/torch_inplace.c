/* Calls that write to their arguments: in-place operators (add_, resize_) and those with further mutated arguments (batch norm's statistics).
 * On concrete tensors the functional operator runs and its result is copied into the tensor; in a capture the node is recorded as it is, for
 * functionalisation. Refuses writes to leaves that require a gradient, as PyTorch does. */
#include "capture/torch_call.h"
#include "capture/undrawn.h"
#include "op/emit.h"
#include "op/functionalise.h"

#include <string.h>

/* ---- copies ---- */
/* Copies element by element through strides, with PyTorch's conversion; sizes are equal or broadcast from 1. */
void tc_torch_copy_strided(tc_tensor *dst, const tc_tensor *src) {
    int64_t index[TC_MAX_RANK] = {0}, n = tc_tensor_numel(dst), so = src->offset, d_o = dst->offset;
    int lead = dst->rank - src->rank;
    size_t size = tc_dtype_size(dst->dtype);
    char *to = dst->storage->data;
    const char *from = src->storage->data;
    for (int64_t k = 0; k < n; k++) {
        if (dst->dtype == src->dtype) memcpy(to + d_o * (int64_t)size, from + so * (int64_t)size, size);
        else tc_scalar_store(dst->dtype, to, d_o, tc_scalar_load(src->dtype, from, so));
        for (int d = dst->rank; d-- > 0;) {
            bool moves = d >= lead && src->size[d - lead] != 1;
            d_o += dst->stride[d];
            if (moves) so += src->stride[d - lead];
            if (++index[d] < dst->size[d]) break;
            d_o -= dst->stride[d] * dst->size[d];
            if (moves) so -= src->stride[d - lead] * dst->size[d];
            index[d] = 0;
        }
    }
}

/* A view of t, which keeps the storage: sizes of 1 and missing dimensions repeat. */
static tc_tensor broadcast(const tc_tensor *t, int rank, const int64_t *size) {
    tc_tensor r = *t;
    r.rank = rank;
    for (int i = 0; i < rank; i++) {
        const int k = i - (rank - t->rank);
        r.size[i] = size[i], r.stride[i] = k < 0 || t->size[k] == 1 ? 0 : t->stride[k];
    }
    return r;
}

void tc_torch_copy_into(C *c, V dst, V src) {
    if (c->torch->graph) {
        tensor *d = (tensor *)dst;
        V r = tc_torch_calln(c, "aten::copy_", 2, dst, src);
        d->v = ((tensor *)r)->v;
        return;
    }
    tc_tensor *d = &((tensor *)dst)->t, *s = &((tensor *)src)->t, same = {0};
    if (d->storage->read_only) tc_raise(c, "RuntimeError", "cannot write to a tensor of a mapped file");
    if (d->rank < s->rank && tc_tensor_numel(d) != tc_tensor_numel(s))
        tc_raise(c, "RuntimeError", "a tensor of rank %d cannot be written to one of rank %d", s->rank, d->rank);
    for (int i = 0; i < s->rank; i++)
        if (s->size[i] != 1 && s->size[i] != d->size[i + d->rank - s->rank])
            tc_raise(c, "RuntimeError", "output with size %lld at dimension %d cannot hold size %lld", (long long)d->size[i + d->rank - s->rank],
                     i + d->rank - s->rank, (long long)s->size[i]);
    tc_undrawn_touch(c, d);
    tc_undrawn_touch(c, s);
    if (d->storage == s->storage) {
        tc_status st = tc_tensor_clone(s, &same);
        if (st) tc_raise_status(c, "RuntimeError", st);
        s = &same;
    }
    if (d->dtype == s->dtype && tc_tensor_is_contiguous(d)) {
        tc_tensor wide = broadcast(s, d->rank, d->size);
        tc_tensor_pack(&wide, tc_tensor_data(d));
    } else tc_torch_copy_strided(d, s);
    tc_tensor_deinit(&same);
}

/* Writes `result`, which the model never sees, to dst, and drops it. Where both are all of their memory, the memory changes hands instead. */
static void move_into(C *c, V dst, V result) {
    const tc_tensor *d = &((tensor *)dst)->t, *s = &((tensor *)result)->t;
    const bool whole = !c->torch->graph && d->dtype == s->dtype && d->rank == s->rank &&
                       !memcmp(d->size, s->size, sizeof *d->size * (size_t)d->rank) && tc_tensor_is_contiguous(d) && tc_tensor_is_contiguous(s) &&
                       (size_t)tc_tensor_numel(d) * tc_dtype_size(d->dtype) == d->storage->bytes;
    if (whole && tc_undrawn_move(c, d, s)) {
        tc_torch_forget(c, (tensor *)result);
        return;
    }
    if (!c->torch->graph) tc_undrawn_touch(c, d), tc_undrawn_touch(c, s);
    if (!whole || s->storage->refs > 1 || !tc_storage_swap(d->storage, s->storage)) tc_torch_copy_into(c, dst, result);
    tc_torch_forget(c, (tensor *)result);
}

/* ---- leaves: tensors that require a gradient and that no operation made ---- */
const tc_value *tc_torch_unwritten(const tc_value *v) {
    for (const tc_node *n; (n = v->producer) && (n->straight || (n->no_grad && tc_op_schema(n->op)->inplace));) v = n->args[0].value;
    return v;
}

/* An operand of a body stands for a tensor of the graph around it: the write to that one says whether it is a leaf. */
static bool is_leaf(const tensor *t) {
    if (!t->requires_grad || !t->v) return t->requires_grad && !t->computed;
    const tc_value *v = tc_torch_unwritten(t->v);
    return v->producer ? v->producer->leaf : !t->computed && v->graph == v->graph->program->graph;
}

static void refuse_leaf(C *c, const tc_op *op, const tensor *t) {
    const bool view = t->base && t->requires_grad && is_leaf((tensor *)t->base);
    if ((view || is_leaf(t)) && !c->torch->no_grad && !tc_op_schema(tc_op_functional(op))->is_view)
        tc_raise(c, "RuntimeError", "a %sleaf Variable that requires grad is being used in an in-place operation.", view ? "view of a " : "");
}

static V leaf_of(V v) { return ((tensor *)v)->base ? ((tensor *)v)->base : is_leaf((tensor *)v) ? v : NULL; }

static bool any_leaf(const tc_binding *b) {
    for (int i = 0; i < b->n; i++) {
        size_t n = 1;
        const V *all = b->object[i] && tc_is_seq(b->object[i]) ? tc_items(b->object[i], &n) : &b->object[i];
        for (size_t k = 0; b->object[i] && k < n; k++)
            if (tc_is_tensor(all[k]) && leaf_of(all[k])) return true;
    }
    return false;
}

void tc_torch_note_leaf(C *c, const tc_op *op, const tc_binding *b, V result) {
    size_t n = 1;
    const V *all = tc_is_seq(result) ? tc_items(result, &n) : &result;
    tc_looked last = {0};
    if (!tc_op_may_alias(op) || !any_leaf(b)) return;
    for (size_t i = 0; i < n; i++) {
        tensor *r = (tensor *)all[i];
        const tensor *of = tc_is_tensor(all[i]) && r->requires_grad ? tc_inference_looked_at(c, &last, tc_op_schema(op), b, r) : NULL;
        if (of && of != r) r->base = leaf_of((V)of);
    }
}

/* ---- in-place calls ---- */
/* Gives t the sizes of `to` within its storage, which other tensors may share. False: the storage is too small and t is its only owner. */
static bool resize_within(C *c, const tc_op *op, tc_tensor *t, const tc_tensor *to) {
    tc_tensor now;
    tc_status st = tc_tensor_view(t->storage, t->dtype, to->rank, to->size, to->stride, t->offset, &now);
    tc_status_free(st);
    if (st && t->storage->refs > 1) tc_raise_code(c, TC_UNSUPPORTED, "%s: a tensor whose memory others show cannot grow", tc_op_name(op));
    if (st) return false;
    tc_tensor_deinit(t);
    *t = now;
    return true;
}

V tc_torch_run_inplace(C *c, const tc_op *op, tc_binding *b) {
    const tc_op *f = tc_op_functional(op);
    const tc_schema *fs = tc_op_schema(f);
    V self = b->object[0];
    tc_arg fa[TC_MAX_PARAMS];
    V objects[TC_MAX_PARAMS] = {0};
    for (int i = 0; i < b->n; i++) /* objects follow their arguments: replaced by values until they are made */
        if (b->object[i]) b->arg[i].value = (tc_value *)(void *)b->object[i];
    tc_op_functional_args(tc_torch_program(c), op, b->arg, fa);
    for (int i = 0; i < fs->nparams; i++)
        if ((fa[i].kind == TC_A_VALUE || fa[i].kind == TC_A_VALUES) && fa[i].value) {
            objects[i] = (V)(void *)fa[i].value;
            fa[i].value = NULL;
        }
    if (!tc_is_tensor(self)) { /* a list: for each of its tensors */
        V all = f == op ? NULL : tc_torch_apply(c, f, fa, fs->nparams, objects, b->gen);
        size_t count = 0, made = 0;
        if (!all) tc_raise(c, "RuntimeError", "%s: tc has no functional form of it", tc_op_name(op));
        V *to = tc_items(self, &count), *from = tc_items(all, &made);
        for (size_t i = 0; i < count && i < made; i++) move_into(c, to[i], from[i]);
        return c->none;
    }
    tensor *t = (tensor *)self;
    refuse_leaf(c, op, t);
    tc_torch_check_written(c, op, b, self);
    if (tc_op_resizes(op) && t->requires_grad) tc_raise(c, "RuntimeError", "cannot resize variables that require grad");
    V r = f == op ? NULL : tc_torch_apply(c, f, fa, fs->nparams, objects, b->gen);
    if (!r || !tc_is_tensor(r)) tc_raise(c, "RuntimeError", "%s: tc has no functional form of it", tc_op_name(op));
    if (tc_op_resizes(op) && resize_within(c, op, &t->t, &((tensor *)r)->t)) {
        tc_torch_forget(c, (tensor *)r);
        return self;
    }
    if (fs->is_view || tc_op_resizes(op)) {
        tc_tensor_deinit(&t->t);
        t->t = tc_tensor_share(&((tensor *)r)->t);
        return self;
    }
    tc_status cast = tc_op_check_cast(op, tc_torch_dtype(r), t->t.dtype);
    if (cast) tc_raise_status(c, "RuntimeError", cast);
    tc_torch_check_size(c, op, self, r);
    move_into(c, self, r);
    return self;
}

/* A branch or body must not mutate values from outside: it may write only to its own. */
static void check_own(C *c, const tensor *t) {
    const region *r = c->torch->region;
    const tc_value *v = t->v;
    if (!r || !r->pure) return;
    while (v && v->graph == r->graph && v->producer) { /* a view, or a value written to before */
        const tc_schema *s = tc_op_schema(v->producer->op);
        if (!s->is_view && !s->inplace) return;
        v = tc_arg_value(v->producer, 0);
    }
    tc_raise(c, "RuntimeError", "%s: a branch or body may not write to a tensor from outside of it%s%s; compute the new value and return it", r->pure,
             v && v->name ? ": " : "", v && v->name ? v->name : "");
}

/* If v requires a gradient, the tensors that it is a view of do from now on. */
static void require_bases(tc_value *v) {
    for (bool requires_grad = v->meta.requires_grad; v && requires_grad;) {
        const tc_node *n = v->producer;
        const tc_schema *s = n ? tc_op_schema(n->op) : NULL;
        v->meta.requires_grad = true;
        v = s && (s->inplace || (s->is_view && strcmp(s->name, "detach"))) ? tc_arg_value(n, 0) : NULL;
    }
}

/* Element i of the lists that a call takes, or its other arguments: does one of them require a gradient? */
static bool element_requires(const tc_binding *b, size_t i) {
    for (int k = 0; k < b->n; k++) {
        size_t n = 1;
        const V *all = b->object[k] && tc_is_seq(b->object[k]) ? tc_items(b->object[k], &n) : &b->object[k];
        const V x = n == 1 ? all[0] : i < n ? all[i] : NULL;
        const tensor *t = x && tc_is_tensor(x) ? (tensor *)x : NULL;
        if (t && (t->requires_grad || (t->v && t->v->meta.requires_grad))) return true;
    }
    return false;
}

/* The same for a list, each of whose tensors the call writes to. */
static V record_inplace_list(C *c, const tc_op *op, tc_binding *b) {
    size_t n;
    V *all = tc_items(b->object[0], &n);
    for (size_t i = 0; i < n; i++) check_own(c, (tensor *)all[i]), refuse_leaf(c, op, (tensor *)all[i]);
    tc_torch_record(c, op, b->arg, b->n, b->object);
    for (size_t i = 0; i < n && !c->torch->no_grad; i++) {
        tc_value *v = ((tensor *)all[i])->v;
        if (!v || !tc_is_float(v->meta.dtype) || !element_requires(b, i)) continue;
        v->meta.requires_grad = true;
        require_bases(v);
    }
    return c->none;
}

/* In a capture the node is recorded unchanged (functionalise rewrites it), and the object becomes the node's result. A write through a view is a
 * write to its base, which requires a gradient from then on if the written value does. */
V tc_torch_record_inplace(C *c, const tc_op *op, tc_binding *b) {
    tensor *t = (tensor *)b->object[0];
    if (!tc_is_tensor((V)t)) return record_inplace_list(c, op, b);
    check_own(c, t);
    refuse_leaf(c, op, t);
    tc_torch_check_written(c, op, b, (V)t);
    tc_arg fa[TC_MAX_PARAMS];
    tc_op_functional_args(tc_torch_program(c), op, b->arg, fa);
    V known = tc_torch_known_result(c, tc_op_functional(op), fa, b->n, b->object);
    const bool required = t->v && t->v->meta.requires_grad;
    V r = tc_torch_record(c, op, b->arg, b->n, b->object);
    if (tc_is_tensor(r)) t->v = ((tensor *)r)->v;
    if (t->v && required) t->v->meta.requires_grad = true; /* also under no_grad, where the result of the node requires none */
    if (t->v) require_bases(t->v);
    tc_torch_write_known(t, known);
    return (V)t;
}

static bool same_sizes(V a, V b) {
    const tc_tensor *x = &((tensor *)a)->t, *y = &((tensor *)b)->t;
    return tc_is_tensor(a) && tc_is_tensor(b) && x->rank == y->rank && !memcmp(x->size, y->size, sizeof *x->size * (size_t)x->rank);
}

/* A concrete call that writes to tensors other than its results: a functional row whose results from `first` on are copied to `targets`. */
typedef struct {
    const tc_op *functional;
    tc_arg *args;
    V *objects, *targets;
    int ntargets, first;
} writing_call;
static V run_writing(C *c, const tc_op *op, const writing_call *w, struct tc_generator *gen) {
    V all = tc_torch_apply(c, w->functional, w->args, tc_op_schema(w->functional)->nparams, w->objects, gen);
    V *items = tc_is_tensor(all) ? &all : ((tuple *)all)->a;
    const bool out = tc_op_schema(op)->has_out;
    for (int i = 0; i < w->ntargets; i++) {
        if (!w->targets[i]) continue;
        if (out && !same_sizes(w->targets[i], items[i]))
            tc_raise_code(c, TC_UNSUPPORTED, "%s with an out that has other sizes than the result is not supported", tc_op_name(op));
        tc_torch_copy_into(c, w->targets[i], items[w->first + i]);
    }
    if (out) return tc_torch_results(c, tc_op_schema(op), w->targets, tc_op_schema(op)->nrets);
    return tc_torch_results(c, tc_op_schema(op), items, tc_op_schema(op)->nrets);
}

bool tc_torch_writes_arguments(const tc_schema *s) {
    bool any = false;
    for (int i = 0; i < s->nparams; i++) any |= s->params[i].mutated;
    return any && !s->inplace;
}

V tc_torch_run_marked(C *c, const tc_op *op, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    tc_arg fa[TC_MAX_PARAMS];
    V objects[TC_MAX_PARAMS] = {0}, targets[TC_MAX_PARAMS];
    int n = 0;
    if (tc_op_functional(op) == op) tc_raise_code(c, TC_UNSUPPORTED, "operator %s is not supported: it has no functional form", tc_op_name(op));
    tc_op_functional_args(tc_torch_program(c), op, b->arg, fa);
    for (int i = 0; i < s->nparams; i++) {
        objects[i] = b->object[i];
        if (s->params[i].mutated) targets[n++] = b->object[i];
    }
    return run_writing(c, op, &(writing_call){tc_op_functional(op), fa, objects, targets, n, s->has_out ? 0 : s->nrets}, b->gen);
}

V tc_torch_run_unmarked(C *c, const tc_op *op, tc_binding *b, const tc_unmarked_writes *w) {
    tc_arg fa[8];
    V objects[8];
    for (int i = 0; i < 2; i++)
        if (b->object[3 + i] && tc_is_tensor(b->object[3 + i])) tc_torch_check_written(c, op, b, b->object[3 + i]);
    for (int i = 0; i < w->nfrom; i++) fa[i] = b->arg[w->from[i]], objects[i] = b->object[w->from[i]];
    return run_writing(c, op, &(writing_call){w->functional, fa, objects, b->object + 3, 2, w->first}, b->gen);
}
