/* Constant folding: marks values that depend only on constants, evaluates those that other nodes read, and makes each a constant input. */
#include "pass/fold.h"

typedef struct {
    tc_program *p;
    const tc_eval *eval;
    size_t max_bytes;
    uint32_t from;
    bool *constant;    /* by value id */
    bool *computed;    /* constant, and not just a factory call or a view of a stored tensor */
    tc_tensor *data;   /* by value id, once evaluated */
    tc_value **folded; /* by value id: the new input */
    size_t n;
} folder;

typedef struct {
    const folder *f;
    bool all, some, computed;
} inputs;
static void look(void *ctx, tc_value **place) {
    inputs *in = ctx;
    const bool known = (*place)->id < in->f->n && in->f->constant[(*place)->id];
    if (known) in->some = true, in->computed |= in->f->computed[(*place)->id];
    else in->all = false;
}

static bool fixed_size(const folder *f, const tc_value *v) {
    int64_t bytes, d;
    if (v->kind == TC_V_LIST) {
        for (int i = 0; i < v->nlist; i++)
            if (!fixed_size(f, v->list[i])) return false;
        return true;
    }
    if (v->kind != TC_V_TENSOR) return false;
    bytes = (int64_t)tc_dtype_size(v->meta.dtype);
    for (int i = 0; i < v->meta.rank; i++)
        if (!tc_sym_const_int(v->meta.size[i], &d) || !tc_mul_i64(bytes, d, &bytes)) return false;
    return (uint64_t)bytes <= f->max_bytes;
}

static bool fixed_args(const tc_node *n) {
    int64_t v;
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (a->kind == TC_A_GRAPH || (a->kind == TC_A_SCALAR && a->is_sym)) return false;
        if (a->kind == TC_A_INT && !tc_sym_const_int(a->sym, &v)) return false;
        for (int k = 0; a->kind == TC_A_INTS && k < a->n; k++)
            if (!tc_sym_const_int(a->syms[k], &v)) return false;
    }
    return true;
}

static void mark(folder *f, const tc_value *v, bool computed) {
    f->constant[v->id] = true;
    f->computed[v->id] = computed;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) mark(f, v->list[i], computed);
}

static void find_constants(folder *f) {
    for (tc_node *n = f->p->graph->first; n; n = n->next) {
        inputs in = {f, true, false, false};
        bool ok = n->nouts > 0 && !(n->op->flags & (TC_OP_RANDOM | TC_OP_IMPURE | TC_OP_DATA_SHAPE | TC_OP_HIGHER_ORDER)) && fixed_args(n);
        tc_node_each_input(n, look, &in);
        for (int i = 0; i < n->nouts && ok; i++) ok = fixed_size(f, n->outs[i]);
        for (int i = 0; i < n->nouts && ok && in.all; i++) mark(f, n->outs[i], n->op->view_alias ? in.computed : in.some);
    }
}

/* ---- evaluation ---- */
static tc_status evaluate(folder *f, const tc_value *v, int depth);

typedef struct {
    folder *f;
    tc_status st;
    int depth;
} operands;
static void compute_operand(void *ctx, tc_value **place) {
    operands *o = ctx;
    if (!o->st) o->st = evaluate(o->f, *place, o->depth + 1);
}
static void bring(void *ctx, tc_value **place) { (*place)->aux = &((folder *)ctx)->data[(*place)->id]; }

static void forget(void *ctx, tc_value **place) {
    (void)ctx;
    (*place)->aux = NULL;
}

static tc_status evaluate(folder *f, const tc_value *v, int depth) {
    if (f->data[v->id].storage) return NULL;
    if (depth > 10000) return tc_error(TC_UNSUPPORTED, "a constant computed by a chain of more than 10000 operators");
    tc_node *n = v->producer;
    operands o = {f, NULL, depth};
    tc_node_each_input(n, compute_operand, &o);
    if (o.st) return o.st;
    tc_node_each_input(n, bring, f); /* only after evaluating all: one may be computed from another */
    int nouts = 0, k = 0;
    for (int i = 0; i < n->nouts; i++) nouts += n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1;
    tc_tensor *out = tc_xcalloc((size_t)(nouts ? nouts : 1), sizeof *out);
    tc_status st = f->eval->call(f->eval->self, n->op, n->args, n->nargs, NULL, out, nouts);
    tc_node_each_input(n, forget, NULL);
    for (int i = 0; i < n->nouts && !st; i++) {
        const tc_value *r = n->outs[i];
        if (r->kind != TC_V_LIST) f->data[r->id] = out[k++];
        for (int e = 0; r->kind == TC_V_LIST && e < r->nlist; e++) f->data[r->list[e]->id] = out[k++];
    }
    free(out);
    return st;
}

static tc_status fold_value(folder *f, tc_value *v, tc_value **out) {
    tc_program *p = f->p;
    if (!f->folded[v->id]) {
        tc_tensor t;
        TC_TRY(evaluate(f, v, 0));
        TC_TRY(tc_tensor_contiguous(&f->data[v->id], &t)); /* a view would keep its whole storage alive */
        tc_value *in = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, "_folded"));
        in->meta = tc_meta_make(&p->arena, v->meta.dtype, v->meta.rank, v->meta.size, NULL);
        tc_program_add_input(p, (tc_input){.kind = TC_IN_CONSTANT, .value = in, .name = in->name, .data = t, .alias_of = -1});
        f->folded[v->id] = in;
    }
    *out = f->folded[v->id];
    return NULL;
}

typedef struct {
    folder *f;
    tc_status st;
} readers;
static void fold_operand(void *ctx, tc_value **place) {
    readers *r = ctx;
    tc_value *v = *place;
    if (!r->st && v->id >= r->f->from && v->id < r->f->n && v->producer && r->f->computed[v->id]) r->st = fold_value(r->f, v, place);
}

static tc_status fold_reads(folder *f) {
    tc_program *p = f->p;
    readers r = {f, NULL};
    for (tc_node *n = p->graph->first; n && !r.st; n = n->next)
        if (!n->nouts || !f->constant[n->outs[0]->id]) tc_node_each_input(n, fold_operand, &r);
    for (int i = 0; i < p->graph->noutputs && !r.st; i++)
        if (p->graph->outputs[i]) fold_operand(&r, &p->graph->outputs[i]);
    for (int i = 0; i < p->noutputs && !r.st; i++)
        if (p->outputs[i].value) fold_operand(&r, &p->outputs[i].value);
    return r.st;
}

tc_status tc_fold(tc_program *p, const tc_eval *eval, const tc_fold_options *options) {
    size_t n = p->graph->nvalues ? p->graph->nvalues : 1;
    folder f = {
        .p = p, .eval = eval, .max_bytes = options && options->max_bytes ? options->max_bytes : 1 << 20, .from = options ? options->from : 0, .n = n};
    f.constant = tc_xcalloc(n, sizeof *f.constant);
    f.computed = tc_xcalloc(n, sizeof *f.computed);
    f.data = tc_xcalloc(n, sizeof *f.data);
    f.folded = tc_xcalloc(n, sizeof *f.folded);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        bool weights = in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER;
        if (!in->data.storage || !(in->kind == TC_IN_CONSTANT || (weights && options && options->parameters))) continue;
        bool written = false;
        for (int o = 0; o < p->noutputs; o++)
            written |= p->outputs[o].target == i && p->outputs[o].kind >= TC_OUT_BUFFER && p->outputs[o].kind <= TC_OUT_USER_INPUT;
        if (written) continue;
        f.constant[in->value->id] = true;
        f.data[in->value->id] = tc_tensor_share(&in->data);
    }
    find_constants(&f);
    tc_status st = fold_reads(&f);
    for (size_t i = 0; i < n; i++) tc_tensor_deinit(&f.data[i]);
    free(f.constant);
    free(f.computed);
    free(f.data);
    free(f.folded);
    return st;
}
