/* Calls operators from the model language: chooses the overload, then appends a node (capture) or executes it (concrete tensors).
 *
 *     torch.add(x, 1)  ->  overloads of aten::add  ->  binding  ->  tc_torch_apply  ->  tensor, tuple or number */
#include "base/text.h"
#include "capture/torch_call.h"
#include "capture/torch_data.h"
#include "capture/undrawn.h"
#include "op/emit.h"
#include "op/functionalise.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OVERLOADS = 32 };

/* ---- tensors as objects ---- */
static tensor *new_tensor(C *c) {
    tensor *o = tc_mem(c, sizeof *o);
    o->h.type = c->torch->tensor_type;
    return o;
}

V tc_torch_wrap(C *c, tc_tensor t, bool requires_grad) {
    tensor *o = new_tensor(c);
    o->t = t;
    o->requires_grad = requires_grad;
    o->next_owned = c->torch->owned;
    c->torch->owned = o;
    return (V)o;
}

void tc_torch_forget(C *c, tensor *t) {
    if (!t->t.storage) return;
    size_t bytes = tc_tensor_bytes(&t->t);
    c->tensor_bytes -= bytes < c->tensor_bytes ? bytes : c->tensor_bytes;
    tc_tensor_deinit(&t->t);
}

V tc_torch_wrap_value(C *c, tc_value *v) {
    if (v->kind == TC_V_NONE) return c->none;
    if (v->kind == TC_V_SYM) return tc_symv(c, v->sym);
    if (v->kind == TC_V_LIST) {
        V all = tc_tuple(c, (size_t)v->nlist, NULL);
        for (int i = 0; i < v->nlist; i++) ((tuple *)all)->a[i] = tc_torch_wrap_value(c, v->list[i]);
        return all;
    }
    tensor *o = new_tensor(c);
    o->v = v;
    o->requires_grad = v->meta.requires_grad;
    return (V)o;
}

tc_program *tc_torch_program(C *c) {
    struct tc_torch *T = c->torch;
    if (T->graph) return T->graph->program;
    if (!T->scratch) T->scratch = tc_program_create("eager");
    return T->scratch;
}

/* Nothing refers to the scratch program between eager calls: it is replaced when it has grown large. */
static void renew_scratch(struct tc_torch *T) {
    if (!T->scratch || T->scratch->arena.used < (4u << 20)) return;
    tc_program_release(T->scratch);
    T->scratch = NULL;
}

tc_value *tc_torch_value(C *c, V o) {
    tensor *t = (tensor *)o;
    if (t->v && t->v->graph == c->torch->graph) return t->v;
    return c->torch->lift(c, t);
}

tc_dtype tc_torch_dtype(V o) {
    const tensor *t = (tensor *)o;
    return t->t.storage ? t->t.dtype : t->v->meta.dtype;
}

int tc_torch_rank(V o) {
    const tensor *t = (tensor *)o;
    return t->t.storage ? t->t.rank : t->v->meta.rank;
}

V tc_torch_size(C *c, V o, int d) {
    const tensor *t = (tensor *)o;
    return t->t.storage ? tc_int(c, t->t.size[d]) : tc_symv(c, t->v->meta.size[d]);
}

/* ---- results ---- */
/* A tuple whose elements are also attributes named by the schema, (values, indices), and which prints as PyTorch's torch.return_types.NAME. */
static V results_tuple(C *c, const tc_schema *s, V *items, int n) {
    V all = tc_tuple(c, (size_t)n, items);
    bool named = n == s->nrets && n > 0;
    for (int i = 0; named && i < n; i++) named = s->rets[i].name && *s->rets[i].name;
    if (named) {
        ((tuple *)all)->h.attrs = tc_dict(c);
        for (int i = 0; i < n; i++) tc_dict_setc(c, ((tuple *)all)->h.attrs, s->rets[i].name, items[i]);
        tc_dict_set(c, ((tuple *)all)->h.attrs, (V)c->n___name__, (V)tc_intern(c, s->name, strlen(s->name)));
    }
    return all;
}

V tc_torch_results(C *c, const tc_schema *s, V *items, int n) {
    if (n == 0) return c->none;
    return n == 1 ? items[0] : results_tuple(c, s, items, n);
}

/* ---- concrete execution ---- */
static tc_value *concrete_value(C *c, tc_program *p, const tensor *t) {
    if (!t->t.storage) tc_raise(c, "RuntimeError", "a tensor of a capture was used outside of it");
    tc_value *v = TC_NEW(&p->arena, tc_value);
    tc_sym size[TC_MAX_RANK], stride[TC_MAX_RANK];
    for (int i = 0; i < t->t.rank; i++) size[i] = tc_sym_int(p->sym, t->t.size[i]), stride[i] = tc_sym_int(p->sym, t->t.stride[i]);
    v->kind = TC_V_TENSOR;
    v->meta = tc_meta_make(&p->arena, t->t.dtype, t->t.rank, size, tc_tensor_is_contiguous(&t->t) ? NULL : stride);
    v->aux = (void *)(uintptr_t)&t->t;
    return v;
}

static void check_size(C *c, const tc_value *v) {
    if (v->kind != TC_V_TENSOR) return;
    int64_t n = 1, bytes, k;
    bool fits = true;
    for (int i = 0; i < v->meta.rank && fits; i++) fits = !tc_sym_const_int(v->meta.size[i], &k) || tc_mul_i64(n, k, &n);
    if (fits && tc_mul_i64(n, (int64_t)tc_dtype_size(v->meta.dtype), &bytes) && (uint64_t)bytes <= c->max_tensor_bytes) return;
    tc_raise_limit(c, "a tensor of %lld elements is over the memory limit of %zu MB", fits ? (long long)n : (long long)INT64_MAX,
                   c->max_tensor_bytes >> 20);
}

/* A call on concrete tensors. */
typedef struct {
    const tc_op *op;
    const tc_arg *a;
    int nargs;
    struct tc_generator *gen; /* NULL: the default one */
    tc_value outs[16];        /* its results by the shape rule, which also gives their layout */
    int nouts, ntensors;      /* elements of list results are tensors */
    bool grad;                /* results require gradients */
} concrete_call;
static void infer_results(C *c, tc_program *p, concrete_call *k) {
    k->nouts = tc_op_nouts(k->op, k->a, k->nargs);
    if (k->nouts > 16) TC_BUG("%s has %d results", tc_op_name(k->op), k->nouts);
    tc_status st = tc_op_infer(p, k->op, k->a, k->nargs, tc_here(c), k->outs, k->nouts);
    if (st) tc_raise_status(c, "RuntimeError", st);
    for (int i = 0; i < k->nouts; i++) {
        k->ntensors += k->outs[i].kind == TC_V_LIST ? k->outs[i].nlist : 1;
        if (!tc_op_schema(k->op)->is_view) check_size(c, &k->outs[i]);
    }
}

static V number_of(C *c, tc_tensor *t) {
    V r = tc_torch_element(c, t->dtype, tc_scalar_load(t->dtype, t->storage->data, t->offset));
    tc_tensor_deinit(t);
    return r;
}

/* The concrete stride of dimension d; false: it is not known. A size that the data decided, as nonzero's, may be a stride. */
static bool stride_of(const tc_tensor *t, const tc_meta *m, int d, int64_t *out) {
    int k = 0;
    while (k < m->rank && m->stride[d] != m->size[k]) k++;
    if (k == m->rank) return tc_sym_const_int(m->stride[d], out);
    *out = t->size[k];
    return true;
}
/* A copy of t with these strides, between whose elements there is room. */
static tc_status spread(tc_tensor *t, const int64_t *stride) {
    int64_t span = 1;
    tc_tensor room, made;
    for (int d = 0; d < t->rank; d++) span += (t->size[d] - 1) * stride[d];
    TC_TRY(tc_tensor_empty(t->dtype, 1, &span, &room));
    memset(tc_tensor_data(&room), 0, room.storage->bytes);
    tc_status st = tc_tensor_view(room.storage, t->dtype, t->rank, t->size, stride, 0, &made);
    tc_tensor_deinit(&room);
    if (st) return st;
    tc_torch_copy_strided(&made, t);
    tc_tensor_deinit(t);
    *t = made;
    return NULL;
}
/* Executors return contiguous results, and parts of them: gives t the memory order of the shape rule, as for .to(memory_format=torch.channels_last).
 * view: t may be a view of an operand. */
static tc_status lay_out(tc_tensor *t, const tc_meta *m, bool view) {
    int order[TC_MAX_RANK];
    int64_t stride[TC_MAX_RANK];
    bool lies = true;
    if (!t->storage || (view && !tc_tensor_is_contiguous(t))) return NULL;
    tc_tensor rows;
    TC_TRY(tc_tensor_contiguous(t, &rows));
    tc_tensor_deinit(t);
    *t = rows;
    if (!m->stride || !tc_tensor_numel(t)) return NULL;
    for (int d = 0; d < t->rank; d++) {
        if (!stride_of(t, m, d, &stride[d])) return NULL;
        lies &= stride[d] == t->stride[d] || t->size[d] == 1;
        int at = d;
        for (; at && stride[order[at - 1]] < stride[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    if (lies) return NULL;
    tc_tensor from = *t, made; /* from: borrowed */
    for (int i = 0; i < t->rank; i++) from.size[i] = t->size[order[i]], from.stride[i] = t->stride[order[i]];
    TC_TRY(tc_tensor_contiguous(&from, &made));
    tc_tensor back = made;
    for (int i = 0; i < t->rank; i++) back.size[order[i]] = made.size[i], back.stride[order[i]] = made.stride[i];
    bool same = true; /* otherwise its elements are not dense */
    for (int d = 0; d < t->rank; d++) same &= back.stride[d] == stride[d] || t->size[d] == 1;
    tc_tensor_deinit(same ? t : &made);
    if (same) *t = back;
    return same || stride[order[t->rank - 1]] < 1 ? NULL : spread(t, stride);
}

/* as_strided refers to memory: its operand becomes all of t's storage. */
static V whole_storage(C *c, const tensor *t, tc_arg *offset) {
    tc_tensor all;
    const int64_t size = (int64_t)(t->t.storage->bytes / tc_dtypes[t->t.dtype].size), stride = 1;
    tc_status st = tc_tensor_view(t->t.storage, t->t.dtype, 1, &size, &stride, 0, &all);
    if (st) tc_raise_status(c, "RuntimeError", st);
    if (offset->kind == TC_A_NONE) *offset = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(tc_torch_program(c)->sym, t->t.offset)};
    return tc_torch_wrap(c, all, t->requires_grad);
}

/* t cast to another type, for a call whose arguments are in the scratch program. */
static tc_value *cast_within(C *c, tc_program *p, V t, tc_dtype d) {
    tc_arg a[7] = {[0] = {.kind = TC_A_VALUE}, [1] = {.kind = TC_A_DTYPE, .dtype = d}, [5] = {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}};
    for (int i = 2; i < 7; i++)
        if (i != 5) a[i] = (tc_arg){.kind = TC_A_NONE};
    const V objects[7] = {t};
    return concrete_value(c, p, (tensor *)tc_torch_apply(c, tc_op_find("aten::_to_copy"), a, 7, objects, NULL));
}

/* The values of each argument's tensors, with autocast's casts; does one of them require a gradient? */
static bool concrete_arguments(C *c, tc_program *p, const tc_op *op, tc_arg *a, int nargs, V const *objects) {
    const tc_dtype to = c->torch->autocast;
    bool wants = false;
    for (int i = 0; i < nargs; i++) {
        if (!objects[i]) continue;
        size_t n = 1;
        V one = objects[i], *items = &one;
        if (a[i].kind == TC_A_VALUES) items = tc_items(objects[i], &n);
        tc_value **values = TC_NEWN(&p->arena, tc_value *, n ? n : 1);
        for (size_t k = 0; k < n; k++) {
            if (items[k] == c->none) continue;
            values[k] = concrete_value(c, p, (tensor *)items[k]);
            wants |= ((tensor *)items[k])->requires_grad;
        }
        if (a[i].kind == TC_A_VALUES) a[i].values = values;
        else a[i].value = values[0];
    }
    if (to == TC_DTYPE_NONE) return wants;
    if (tc_autocast_composes(op))
        tc_raise_code(c, TC_UNSUPPORTED, "%s in torch.autocast is not supported where no forward is captured: its parts have types of their own",
                      tc_op_name(op));
    for (int i = 0; i < nargs; i++) {
        size_t n = 1;
        V one = objects[i], *items = &one;
        if (!objects[i]) continue;
        if (a[i].kind == TC_A_VALUES) items = tc_items(objects[i], &n);
        for (size_t k = 0; k < n; k++) {
            tc_value **v = a[i].kind == TC_A_VALUES ? &a[i].values[k] : &a[i].value;
            const tc_dtype d = tc_autocast_argument(op, a, nargs, i, *v, to);
            if (d != TC_DTYPE_NONE && d != (*v)->meta.dtype) *v = cast_within(c, p, items[k], d);
        }
    }
    return wants;
}

/* The result of a call whose elements are all 0, whose memory is not touched. False: its size is not a number. */
static bool zeros_of(const tc_meta *m, tc_tensor *out, tc_status *st) {
    int64_t size[TC_MAX_RANK];
    for (int d = 0; d < m->rank; d++)
        if (!tc_sym_const_int(m->size[d], &size[d])) return false;
    *st = tc_tensor_zeros(m->dtype, m->rank, size, out);
    return true;
}

static void touch(void *c, const tc_value *v) {
    if (v->aux) tc_undrawn_touch(c, v->aux);
}
/* Before a call that may read its operands, or draw. */
static void touch_arguments(C *c, const concrete_call *call) {
    const tc_node n = {.op = call->op, .args = (tc_arg *)call->a, .nargs = call->nargs};
    if (!c->torch->undrawn) return;
    if (call->op->flags & TC_OP_RANDOM) tc_undrawn_settle(c);
    if (call->op->view_alias && tc_tensor_is_contiguous(call->a[0].value->aux)) return; /* a view; contiguous() of another layout copies */
    tc_op_each_read(&n, touch, c);
}

static void execute(C *c, const concrete_call *call, V *made) {
    struct tc_torch *T = c->torch;
    const tc_value *outs = call->outs;
    const int n = call->ntensors;
    const tc_type ret = call->nouts == 1 ? tc_op_schema(call->op)->rets[0].type : TC_T_TENSOR;
    const bool number = ret == TC_T_SCALAR || ret == TC_T_INT || ret == TC_T_FLOAT || ret == TC_T_BOOL;
    tc_tensor small[16] = {0}, *out = small;
    if (n > 16) {
        tc_memory_check(c, (size_t)n * sizeof *out);
        out = tc_xcalloc((size_t)n, sizeof *out);
    }
    const bool view = tc_op_may_alias(call->op);
    tc_status st = NULL;
    const bool waits = n == 1 && outs[0].kind == TC_V_TENSOR && !call->gen && tc_undrawn_call(c, call->op, call->a, call->nargs, &outs[0].meta, out);
    if (!waits && (!tc_op_gives_zeros(call->op) || !zeros_of(&outs[0].meta, out, &st))) {
        touch_arguments(c, call);
        st = T->eval.call(T->eval.self, call->op, call->a, call->nargs, call->gen ? call->gen : T->gen, out, n);
    }
    for (int i = 0, k = 0; i < call->nouts && !st; i++) {
        const int many = outs[i].kind == TC_V_LIST ? outs[i].nlist : 1;
        for (int j = 0; j < many && !st; j++, k++) {
            const tc_value *v = outs[i].kind == TC_V_LIST ? outs[i].list[j] : &outs[i];
            if (v->kind == TC_V_TENSOR) st = lay_out(&out[k], &v->meta, view);
        }
    }
    for (int i = 0; i < n && !st; i++) {
        const bool wants = call->grad && out[i].storage && (tc_is_float(out[i].dtype) || tc_is_complex(out[i].dtype));
        c->tensor_bytes += out[i].storage ? tc_tensor_bytes(&out[i]) : 0;
        made[i] = !out[i].storage ? c->none : number ? number_of(c, &out[i]) : tc_torch_wrap(c, out[i], wants);
        if (wants && !number) ((tensor *)made[i])->computed = true;
    }
    if (out != small) free(out);
    if (st && tc_op_functional(call->op)->flags & TC_OP_INDEX_RUNTIME) tc_raise_status_as(c, "RuntimeError", st);
    if (st) tc_raise_status(c, "RuntimeError", st);
    if (c->tensor_bytes > c->max_tensor_bytes)
        tc_raise_limit(c, "tensors need more memory than the limit of %zu MB allows", c->max_tensor_bytes >> 20);
}

V tc_torch_run_concrete(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects, struct tc_generator *gen) {
    struct tc_torch *T = c->torch;
    const tc_schema *s = tc_op_schema(op);
    tc_program *p = tc_torch_program(c);
    const V strided[4] = {strcmp(s->name, "as_strided") ? NULL : whole_storage(c, (tensor *)objects[0], &a[3])};
    const bool wants = concrete_arguments(c, p, op, a, nargs, strided[0] ? strided : objects);
    for (int i = 0; i < nargs && !s->variadic; i++) {
        tc_status st = tc_op_coerce(p, op, &s->params[i], &a[i]);
        if (st) tc_raise_status(c, s->params[i].type == TC_T_INTS && a[i].kind == TC_A_INTS ? "RuntimeError" : "TypeError", st);
    }
    if (!T->eval.call) tc_raise(c, "RuntimeError", "%s: no executor for concrete tensors", tc_op_name(op));
    concrete_call call = {.op = op, .a = a, .nargs = nargs, .gen = gen, .grad = wants && !T->no_grad && !(op->flags & TC_OP_NONDIFF)};
    infer_results(c, p, &call);
    V *made = tc_mem(c, (size_t)(call.ntensors ? call.ntensors : 1) * sizeof *made),
      *r = tc_mem(c, (size_t)(call.nouts ? call.nouts : 1) * sizeof *r);
    execute(c, &call, made);
    for (int i = 0, k = 0; i < call.nouts; i++) {
        const tc_value *v = &call.outs[i];
        r[i] = v->kind == TC_V_LIST ? tc_tuple(c, (size_t)v->nlist, made + k) : made[k];
        k += v->kind == TC_V_LIST ? v->nlist : 1;
    }
    return tc_torch_results(c, s, r, call.nouts);
}

/* ---- recording ---- */
static tc_status call_once(C *c, const tc_op *op, tc_arg *a, int nargs, tc_value ***outs, int *nouts) {
    tc_graph *g = c->torch->graph;
    if (c->torch->autocast != TC_DTYPE_NONE && !tc_op_schema(op)->variadic) {
        tc_emit e = {.graph = g, .source = tc_here(c)};
        return tc_autocast_call(&e, op, a, nargs, c->torch->autocast, outs, nouts);
    }
    tc_node *node = NULL;
    tc_status st = tc_graph_call(g, op, a, nargs, tc_here(c), NULL, &node);
    if (node) *outs = node->outs, *nouts = node->nouts;
    return st;
}

/* A number as the guards and promises (torch._check) have it. */
static tc_sym settled(tc_symctx *s, tc_sym a) {
    int64_t lo, hi;
    a = tc_sym_simplify(s, a);
    if (tc_sym_type(a) != TC_SYM_INT) return a;
    tc_sym_range(s, a, &lo, &hi);
    return lo == hi ? tc_sym_int(s, lo) : a;
}

static void settle(tc_arena *arena, tc_symctx *s, tc_arg *a, int nargs) {
    for (int i = 0; i < nargs; i++) {
        if (a[i].kind == TC_A_INT || (a[i].kind == TC_A_SCALAR && a[i].is_sym)) a[i].sym = settled(s, a[i].sym);
        if (a[i].kind != TC_A_INTS || !a[i].n) continue;
        tc_sym *all = TC_NEWN(arena, tc_sym, (size_t)a[i].n);
        for (int k = 0; k < a[i].n; k++) all[k] = settled(s, a[i].syms[k]);
        a[i].syms = all;
    }
}

/* An operator that needs the value of a size, such as unbind() for the number of pieces, fixes it as a loop over the size does; if it depends on data,
 * the source must promise it. */
static tc_status call_pinning(C *c, const tc_op *op, tc_arg *a, int nargs, tc_value ***outs, int *nouts) {
    enum { MOST = 16 };
    tc_program *p = tc_torch_program(c);
    for (int i = 0;; i++) {
        p->wanted = NULL;
        tc_status st = call_once(c, op, a, nargs, outs, nouts);
        if (!st || !p->wanted || i == MOST || (tc_sym_holds_data(p->wanted) && tc_sym_type(p->wanted) != TC_SYM_INT)) return st;
        tc_status_free(st);
        tc_sym_force_as(c, tc_symv(c, p->wanted), "");
        settle(&p->arena, p->sym, a, nargs);
    }
}

V tc_torch_record(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects) {
    tc_graph *g = c->torch->graph;
    for (int i = 0; i < nargs; i++) {
        if (!objects[i]) continue;
        if (a[i].kind == TC_A_VALUES) {
            size_t n;
            V *items = tc_items(objects[i], &n);
            tc_value **values = TC_NEWN(&g->program->arena, tc_value *, n ? n : 1);
            for (size_t k = 0; k < n; k++) values[k] = items[k] == c->none ? NULL : tc_torch_value(c, items[k]);
            a[i].values = values;
        } else {
            a[i].value = tc_torch_value(c, objects[i]);
        }
    }
    for (int i = 0; i < tc_op_schema(op)->nparams; i++) c->torch->writes += tc_op_schema(op)->params[i].mutated;
    g->program->no_grad = c->torch->no_grad;
    tc_value **outs = NULL;
    int nouts = 0;
    tc_status st = call_pinning(c, op, a, nargs, &outs, &nouts);
    if (st) tc_raise_status(c, "RuntimeError", st);
    if (c->torch->lanes) tc_torch_check_lanes(c, g->last);
    c->graph_full = c->graph_full || (c->max_graph_nodes && g->nnodes > c->max_graph_nodes);
    V *r = tc_mem(c, (size_t)(nouts ? nouts : 1) * sizeof *r);
    for (int i = 0; i < nouts; i++) r[i] = tc_torch_wrap_value(c, outs[i]);
    return tc_torch_results(c, tc_op_schema(op), r, nouts);
}

static V apply_once(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects, struct tc_generator *gen) {
    return c->torch->graph ? tc_torch_record(c, op, a, nargs, objects) : tc_torch_run_concrete(c, op, a, nargs, objects, gen);
}

/* Is argument i one of the tensors that decide the result's type? */
static bool is_operand(const tc_op *op, int i, V x) {
    const tc_schema *s = tc_op_schema(op);
    return x && tc_is_tensor(x) && !(i < s->nparams && tc_word_in(" condition mask ", s->params[i].name));
}

/* Is r of float32 because its operands were integers? Then it gets the default type. */
static bool is_promoted(C *c, const tc_op *op, const tc_arg *a, int nargs, V const *objects, V r) {
    bool whole = false;
    if (!tc_is_tensor(r) || tc_torch_dtype(r) != TC_F32) return false;
    for (int i = 0; i < nargs; i++) {
        if (a[i].kind == TC_A_DTYPE) return false; /* asked for */
        if (!objects[i] || objects[i] == c->none || (tc_is_tensor(objects[i]) && !is_operand(op, i, objects[i]))) continue;
        if (!tc_is_tensor(objects[i]) || tc_dtype_kind(tc_torch_dtype(objects[i])) > TC_KIND_INT) return false;
        whole = true;
    }
    return whole;
}

V tc_torch_apply(C *c, const tc_op *op, tc_arg *a, int nargs, V const *objects, struct tc_generator *gen) {
    const tc_dtype d = c->torch->default_dtype;
    V known = c->torch->graph ? tc_torch_known_result(c, op, a, nargs, objects) : NULL;
    V constant = tc_torch_known_sized(c, op, known);
    if (constant) return constant;
    V r = apply_once(c, op, a, nargs, objects, gen);
    if (c->torch->graph) tc_torch_note_known(op, objects, r, known);
    if (d == TC_F32 || !is_promoted(c, op, a, nargs, objects, r)) return r;
    const char *to = d == TC_F64 ? "double" : d == TC_F16 ? "half" : "bfloat16";
    V cast[TC_MAX_PARAMS] = {0};
    for (int i = 0; i < nargs; i++)
        cast[i] = is_operand(op, i, objects[i]) ? tc_call_method(c, objects[i], tc_intern(c, to, strlen(to)), 0, NULL) : objects[i];
    return apply_once(c, op, a, nargs, cast, gen);
}

/* ---- choosing ---- */
static bool is_number(const tc_arg *a, double v) { return a->kind == TC_A_SCALAR && !a->is_sym && tc_scalar_is(a->scalar, v); }
/* Is it a dropout in eval mode or with p = 0? */
static bool drops_nothing(const tc_schema *s, const tc_binding *b) {
    const size_t n = strlen(s->name) - (s->inplace ? 1 : 0); /* dropout, dropout_ */
    if (n < 7 || strncmp(s->name + n - 7, "dropout", 7) || !strncmp(s->name, "native", 6)) return false;
    const tc_arg *p = &b->arg[1];
    const double share = p->kind == TC_A_SCALAR && !p->is_sym ? tc_scalar_to_double(p->scalar) : 0;
    return share >= 0 && share <= 1 && (is_number(p, 0) || is_number(&b->arg[2], 0));
}
/* Is it sum_to_size of a tensor that has these sizes? */
static bool sums_nothing(const tc_schema *s, const tc_binding *b) {
    if (strcmp(s->name, "sum_to_size") || !b->arg[1].n || b->arg[1].n != tc_torch_rank(b->object[0])) return false;
    const tensor *t = (tensor *)b->object[0];
    for (int d = 0; d < b->arg[1].n; d++)
        if (t->v ? t->v->meta.size[d] != b->arg[1].syms[d] : !tc_sym_is_int(b->arg[1].syms[d], t->t.size[d])) return false;
    return true;
}
/* Calls whose result is their first argument itself, so that a write to one is a write to both. */
static bool gives_argument(const tc_schema *s, const tc_binding *b) {
    static const char *const of_real[] = {"conj", "conj_physical", "resolve_conj", "resolve_neg"};
    if (!b->object[0] || !tc_is_tensor(b->object[0])) return false;
    if (!strcmp(s->name, "positive")) return tc_torch_dtype(b->object[0]) != TC_BOOL; /* which it refuses */
    for (size_t i = 0; i < sizeof of_real / sizeof *of_real; i++)
        if (!strcmp(s->name, of_real[i])) return !tc_is_complex(tc_torch_dtype(b->object[0]));
    return drops_nothing(s, b) || sums_nothing(s, b);
}
/* After torch.set_default_dtype(): results of calls without a tensor, or a number that decides otherwise, get that type. */
static void set_default_type(const tc_schema *s, tc_binding *b, tc_dtype d) {
    const bool as_given = !strcmp(s->name, "full") || !strcmp(s->name, "arange"); /* these take the type of their numbers */
    int at = -1;
    tc_kind widest = TC_KIND_BOOL;
    for (int i = 0; i < s->nparams && i < b->n; i++) {
        const tc_arg *a = &b->arg[i];
        if (s->params[i].type == TC_T_TENSOR || s->params[i].type == TC_T_TENSORS) return;
        if (s->params[i].type == TC_T_DTYPE && a->kind == TC_A_NONE) at = i;
        if (a->kind == TC_A_SCALAR && !a->is_sym && a->scalar.kind > widest) widest = a->scalar.kind;
    }
    if (at < 0 || (as_given && widest < TC_KIND_FLOAT)) return;
    b->arg[at] = (tc_arg){.kind = TC_A_DTYPE, .dtype = widest == TC_KIND_COMPLEX ? tc_dtype_to_complex(d) : d};
}
/* Does a concrete call run on device "meta": by device=, else by its tensors, else by the enclosing region? */
static bool is_on_meta(C *c, const tc_binding *b) {
    bool tensors = false;
    if (c->torch->graph) return false;
    if (b->on_device) return b->on_meta;
    for (int i = 0; i < b->n; i++) {
        if (!b->object[i] || !tc_is_tensor(b->object[i])) continue;
        if (((tensor *)b->object[i])->meta) return true;
        tensors = true;
    }
    return !tensors && c->torch->on_meta;
}

/* Is an argument sparse? Only calls that leave its elements alone may have one. */
static bool takes_sparse(C *c, const tc_schema *s, const tc_binding *b) {
    bool any = false;
    for (int i = 0; i < b->n; i++) any |= b->object[i] && tc_is_tensor(b->object[i]) && ((tensor *)b->object[i])->sparse;
    if (any && !tc_word_in(" clone detach to _to_copy ", s->name))
        tc_raise_code(c, TC_UNSUPPORTED, "%s of a sparse tensor is not supported: to_dense() in the constructor gives one that is", s->name);
    return any;
}

static V call_bound(C *c, const tc_op *op, tc_binding *b);
static V call_op(C *c, const tc_op *op, tc_binding *b) {
    if (c->torch->graph && b->gen) tc_side_effect(c, "numbers are drawn from a generator of its own, not from the run's,");
    if (!is_on_meta(c, b)) return call_bound(c, op, b);
    struct tc_torch *T = c->torch;
    if (!T->meta_gen) tc_generator_seed(T->meta_gen = tc_mem(c, sizeof *T->meta_gen), 0);
    if (!b->gen) b->gen = T->meta_gen;
    V r = call_bound(c, op, b);
    if (tc_is_tensor(r)) ((tensor *)r)->meta = true;
    return r;
}

static V call_bound(C *c, const tc_op *op, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    tc_unmarked_writes w;
    V r;
    if (c->torch->default_dtype != TC_F32) set_default_type(s, b, c->torch->default_dtype);
    const bool sparse = takes_sparse(c, s, b);
    if (b->out) tc_torch_out_before(c, op, b);
    tc_inference_check(c, s, b);
    if (tc_word_in(" abs_ absolute_ ", s->name) && tc_is_complex(tc_torch_dtype(b->object[0])))
        tc_raise(c, "RuntimeError", "In-place abs is not supported for complex tensors.");
    const bool given = gives_argument(s, b);
    if (!given) tc_torch_check_type(c, op, b->arg, b->object);
    if (given) r = b->object[0];
    else if (!c->torch->graph && tc_torch_writes_arguments(s)) r = tc_torch_run_marked(c, op, b);
    else if (!c->torch->graph && tc_op_unmarked_writes(op, b->arg, b->object[0] && tc_is_tensor(b->object[0]) ? tc_torch_rank(b->object[0]) : 0, &w))
        r = tc_torch_run_unmarked(c, op, b, &w);
    else if (s->inplace) r = c->torch->graph ? tc_torch_record_inplace(c, op, b) : tc_torch_run_inplace(c, op, b);
    else r = tc_torch_apply(c, op, b->arg, b->n, b->object, b->gen);
    if (sparse && tc_is_tensor(r)) ((tensor *)r)->sparse = true;
    tc_inference_mark(c, op, b, r);
    if (!s->inplace && !b->out) tc_torch_note_leaf(c, op, b, r);
    if (b->requires_grad > 0 && tc_is_tensor(r) && !tc_is_float(tc_torch_dtype(r)) && !tc_is_complex(tc_torch_dtype(r)))
        tc_raise(c, "RuntimeError", "Only Tensors of floating point and complex dtype can require gradients");
    if (b->requires_grad >= 0 && tc_is_tensor(r)) tc_torch_require_grad((tensor *)r, b->requires_grad);
    return b->out ? tc_torch_out(c, op, b, r) : r;
}

static _Noreturn void no_overload(C *c, const char *name, const tc_op *const *ops, int n, args *A, bool is_method, bool strict) {
    const char *sep = strstr(name, "::"), *plain = sep ? sep + 2 : name;
    if (n == 0) {
        if (tc_op_is_known_to_pytorch(name)) tc_raise_code(c, TC_UNSUPPORTED, "operator %s is not supported", name);
        tc_raise(c, "AttributeError", "module 'torch' has no attribute '%s'", plain);
    }
    tc_binding b = {0};
    tc_buf text = {0};
    if (n == 1) {
        tc_torch_bind(c, ops[0], A, is_method, strict, &b);
        tc_buf_printf(&text, "%s(): %s", plain, tc_buf_str(&b.why));
    } else {
        tc_buf_printf(&text, "%s() received an invalid combination of arguments - got (", plain);
        for (int i = 0; i < A->n; i++) tc_buf_printf(&text, "%s%s", i ? ", " : "", tc_type_name(c, A->a[i]));
        for (int i = 0; i < A->nk; i++) tc_buf_printf(&text, "%s%s=%s", A->n || i ? ", " : "", A->kn[i]->s, tc_type_name(c, A->kv[i]));
        tc_buf_printf(&text, ")");
        for (int i = 0; i < n; i++) {
            tc_torch_bind(c, ops[i], A, is_method, strict, &b);
            tc_buf_printf(&text, "; %s: %s", tc_op_name(ops[i]), tc_buf_str(&b.why));
        }
    }
    tc_buf_free(&b.why);
    str *message = tc_as_str(tc_buf_to_str(c, &text));
    tc_raise(c, strict && !tc_is_embedded(c) ? "RuntimeError" : "TypeError", "%s", message->s);
}

static V call_overloads(C *c, const char *name, const tc_op *const *ops, int n, args *A, bool is_method, bool strict) {
    if (!c->torch->graph) renew_scratch(c->torch);
    tc_binding store = {0}, *b = &store;
    for (int reads = 0; reads < 2; reads++)
        for (int i = 0; i < n; i++) {
            b->reads = reads;
            if (!strict && tc_op_schema(ops[i])->has_out) continue; /* out= is a keyword of the functional overload */
            bool fits = tc_torch_bind(c, ops[i], A, is_method, strict, b);
            tc_buf_free(&b->why);
            if (fits && b->too_big) tc_raise(c, b->too_big, "%s(): an int is too big for 64 bits", tc_op_schema(ops[i])->name);
            if (fits) return call_op(c, ops[i], b);
        }
    no_overload(c, name, ops, n, A, is_method, strict);
}

/* Overloads by name, looked up once. */
typedef struct {
    int n;
    bool is_function, is_method, is_nn; /* as in PyTorch */
    const tc_op *ops[MAX_OVERLOADS];
} overloads;
static const overloads *overloads_of(C *c, const char *name) {
    void **at = tc_map_put(&c->torch->overloads, name, strlen(name));
    if (!*at) {
        const tc_op *ops[MAX_OVERLOADS];
        int n = tc_op_overloads(name, ops, MAX_OVERLOADS);
        overloads *o = tc_arena_alloc(&c->arena, offsetof(overloads, ops) + sizeof *ops * (size_t)(n + 1));
        o->n = n;
        o->is_function = tc_op_name_marked(name, TC_MARK_FUNCTION), o->is_method = tc_op_name_marked(name, TC_MARK_METHOD);
        o->is_nn = tc_op_name_marked(name, TC_MARK_NN);
        memcpy(o->ops, ops, sizeof *ops * (size_t)n);
        *at = o;
    }
    return *at;
}

/* bool, int, float, complex: 0 to 3; -1: no number */
static int category(V v) {
    switch (tc_kind_of(v)) {
    case K_BOOL: return 0;
    case K_INT: return 1;
    case K_FLOAT: return 2;
    case K_COMPLEX: return 3;
    case K_SYM: return tc_sym_type(((symobj *)v)->s) == TC_SYM_FLOAT ? 2 : 1;
    default: return -1;
    }
}
/* torch.mul(2.5, x): the first number becomes a 0-d tensor of the promoted type of the number and the other operand. */
static V number_operand(C *c, const char *name, V v, V other) {
    if (tc_kind_of(v) == K_BOOL && tc_word_in(" aten::sub aten::subtract ", name))
        tc_raise(c, "NotImplementedError", "Subtraction, the `-` operator, with a bool tensor is not supported.");
    int own = category(v), others = category(other);
    tc_dtype d = others < 0 ? tc_torch_dtype(other) : TC_DTYPE_NONE, wide = c->torch->default_dtype;
    if (others < 0) others = d == TC_BOOL ? 0 : tc_is_integral(d) ? 1 : tc_is_float(d) ? 2 : 3;
    int both = own > others ? own : others;
    if (d == TC_DTYPE_NONE || own > others)
        d = both == 0 ? TC_BOOL : both == 1 ? TC_I64 : both == 2 ? wide : tc_dtype_to_complex(d != TC_DTYPE_NONE && tc_is_float(d) ? d : wide);
    return tc_torch_full0(c, v, d);
}

/* PyTorch's old signatures, whose factors stand before what they multiply: x.add_(alpha, y), torch.addcmul(x, value, y, z),
 * torch.addmm(beta, x, alpha, a, b). As in the new ones, with keywords. false: not such a call. */
static bool factors_as_keywords(C *c, const char *name, const args *A, bool is_method, args *out) {
    const char *plain = strstr(name, "::") ? strstr(name, "::") + 2 : name;
    const bool sums = tc_word_in(" add add_ sub sub_ ", plain), products = tc_word_in(" addcdiv addcdiv_ addcmul addcmul_ ", plain);
    const char *const keys[2] = {sums ? "alpha" : products ? "value" : "beta", "alpha"};
    if (!sums && !products && !tc_word_in(" addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ ", plain)) return false;
    if (category(A->a[1]) < 0 && (sums || products || is_method || category(A->a[0]) < 0)) return false;
    *out = (args){.a = tc_mem(c, (size_t)A->n * sizeof(V)),
                  .kn = tc_mem(c, (size_t)(A->nk + 2) * sizeof(str *)),
                  .kv = tc_mem(c, (size_t)(A->nk + 2) * sizeof(V)),
                  .nk = A->nk};
    if (A->nk) memcpy(out->kn, A->kn, (size_t)A->nk * sizeof(str *)), memcpy(out->kv, A->kv, (size_t)A->nk * sizeof(V));
    for (int i = 0; i < A->n; i++) {
        const int k = out->nk - A->nk;
        if (category(A->a[i]) < 0) out->a[out->n++] = A->a[i];
        else if (k < (sums || products ? 1 : 2)) out->kn[out->nk] = tc_intern(c, keys[k], strlen(keys[k])), out->kv[out->nk++] = A->a[i];
        else return false;
    }
    return true;
}

V tc_torch_call(C *c, const char *name, args *A, bool is_method) {
    const overloads *o = overloads_of(c, name);
    args keyed;
    if (A->n >= 3 && (category(A->a[0]) >= 0 || category(A->a[1]) >= 0) && factors_as_keywords(c, name, A, is_method, &keyed))
        return call_overloads(c, name, o->ops, o->n, &keyed, is_method, false);
    if (!is_method && A->n >= 2 && category(A->a[0]) >= 0 && o->n && tc_op_takes_numbers(o->ops[0]) &&
        (tc_is_tensor(A->a[1]) || category(A->a[1]) >= 0)) {
        args with = *A;
        with.a = tc_mem(c, (size_t)A->n * sizeof *with.a);
        memcpy(with.a, A->a, (size_t)A->n * sizeof *with.a);
        with.a[0] = number_operand(c, name, A->a[0], A->a[1]);
        return call_overloads(c, name, o->ops, o->n, &with, false, false);
    }
    return call_overloads(c, name, o->ops, o->n, A, is_method, false);
}

V tc_torch_calln(C *c, const char *name, int n, ...) {
    V a[16];
    va_list ap;
    if (n > 16) TC_BUG("%d arguments", n);
    va_start(ap, n);
    for (int i = 0; i < n; i++) a[i] = va_arg(ap, V);
    va_end(ap);
    args A = {.a = a, .n = n};
    if (!strchr(name, '.')) return tc_torch_call(c, name, &A, false);
    void **at = tc_map_put(&c->torch->overloads, name, strlen(name));
    if (!*at) *at = (void *)(uintptr_t)tc_op_find(name);
    const tc_op *op = *at;
    return op ? call_overloads(c, name, &op, 1, &A, false, true) : tc_torch_call(c, name, &A, false);
}

V tc_torch_opfn(C *c, const char *name, V self, tc_op_place place) {
    const char *sep = strstr(name, "::"), *plain = sep ? sep + 2 : name;
    const tc_op *op = strchr(plain, '.') ? tc_op_find(name) : NULL;
    const overloads *o = strchr(plain, '.') ? NULL : overloads_of(c, name);
    if (o && place != TC_IN_OPS && !(place == TC_IN_TORCH ? o->is_function : place == TC_IN_TENSOR ? o->is_method : o->is_nn)) return NULL;
    if (!op && !(o && o->n) && !tc_op_is_known_to_pytorch(name)) return NULL;
    opfn *f = tc_new(c, K_OPFN, sizeof *f);
    f->name = tc_intern(c, name, strlen(name))->s;
    f->op = op;
    f->self = self;
    f->method = place == TC_IN_TENSOR;
    f->strict = place == TC_IN_OPS;
    return (V)f;
}

/* Calls an operator object: f(args), with self first if it is bound. */
V tc_op_call(C *c, V fv, args *A) {
    opfn *f = (opfn *)fv;
    args with = *A;
    if (f->self) {
        with.n = A->n + 1;
        with.a = tc_mem(c, (size_t)with.n * sizeof *with.a);
        with.a[0] = f->self;
        if (A->n) memcpy(with.a + 1, A->a, (size_t)A->n * sizeof *with.a);
    }
    if (f->op) return call_overloads(c, f->name, &f->op, 1, &with, f->method, true);
    if (f->strict) {
        const overloads *o = overloads_of(c, f->name);
        return call_overloads(c, f->name, o->ops, o->n, &with, false, true);
    }
    return tc_torch_call(c, f->name, &with, f->method && with.n);
}
