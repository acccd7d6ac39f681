/* Functionalisation (functionalise.h), node by node: its reads, the views it creates, its mutations. Tensors and views: alias.h. */
#include "op/alias.h"

#include "op/decompose.h"
#include "op/shape.h"

tc_functional *tc_functional_create(tc_graph *g) {
    tc_functional *f = tc_xcalloc(1, sizeof *f);
    f->g = g;
    f->e.graph = g;
    return f;
}

void tc_functional_destroy(tc_functional *f) {
    if (!f) return;
    tc_vec_free(&f->tensors);
    tc_vec_free(&f->inlined);
    tc_vec_free(&f->inputs);
    tc_vec_free(&f->tied);
    tc_map_free(&f->places);
    tc_arena_free(&f->arena);
    tc_status_free(f->e.status);
    free(f);
}

static tc_status read_args(tc_functional *f, tc_node *n) {
    for (int i = 0; i < n->nargs; i++) {
        tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUE && a->value) TC_TRY(tc_functional_current(f, a->value, &a->value));
        if (a->kind != TC_A_VALUES) continue;
        bool changed = false;
        for (int k = 0; k < a->n; k++) {
            tc_value *v = a->values[k];
            if (!v) continue;
            TC_TRY(tc_functional_current(f, v, &v));
            if (v != a->values[k] && !changed) { /* lists may be shared with a result of kind list */
                a->values = tc_arena_dup(&f->g->program->arena, a->values, sizeof *a->values * (size_t)a->n);
                changed = true;
            }
            a->values[k] = v;
        }
    }
    return NULL;
}

/* ---- nodes ---- */
/* Called after n's arguments were replaced by current values. `source`: the original arguments, which distinguish tensors that share a value now
 * (after copy_). */
static tc_status note_views(tc_functional *f, const tc_node *n, const tc_arg *source) {
    tc_result_alias *aliases;
    int count, k = 0;
    tc_node named = *n;
    const bool view = tc_op_schema(n->op)->is_view;
    named.args = tc_arena_dup(&f->arena, view ? n->args : source, sizeof *source * (size_t)n->nargs);
    if (view) named.args[0] = source[0];
    TC_TRY(tc_result_aliases(&named, &aliases, &count));
    for (int i = 0; i < n->nouts && k < count; i++) {
        tc_value *out = n->outs[i];
        const bool list = out->kind == TC_V_LIST;
        tc_alias **parts = list && view ? TC_NEWN(&f->arena, tc_alias *, (size_t)out->nlist + 1) : NULL;
        for (int j = 0; j < (list ? out->nlist : 1); j++, k++) {
            const tc_result_alias *s = &aliases[k];
            if (!s->of) continue;
            tc_alias *a = tc_alias_of(f, view ? source[0].value : s->of)->a;
            for (int t = 0; t < s->nsteps; t++) a = tc_alias_new(f, a, &s->steps[t], NULL);
            a->value = list ? out->list[j] : out;
            if (parts) parts[j] = a, a->parts = parts;
            tc_alias_name(f, a->value, a);
        }
    }
    return NULL;
}

/* Inserts a call before n. Operators that only tc has are decomposed, since archives contain only PyTorch's; *out_call is then gone. */
static tc_status call_instead(tc_functional *f, tc_node *n, const tc_op *op, const tc_arg *args, int nargs, tc_node **out_call,
                              tc_value ***out_results) {
    tc_node *m;
    TC_TRY(tc_graph_call(f->g, op, args, nargs, n->source, n, &m));
    m->origin = n->origin;
    m->annotations = n->annotations;
    *out_call = m;
    *out_results = m->outs;
    if (strcmp(tc_op_schema(op)->ns, "tc") || !op->decompose) return NULL;
    f->e.results = NULL, f->e.nresults = 0;
    TC_TRY(tc_emit_decomposition(&f->e, m));
    f->e.origin = NULL;
    *out_results = f->e.results;
    tc_node_remove(m);
    return NULL;
}

/* The call of a body that gave what n writes: the body has counted what its own gradient needs of the operands that it wrote to. */
static const tc_node *body_that_wrote(const tc_node *n) {
    for (int i = 0; i < n->nargs; i++) {
        const tc_node *m = n->args[i].kind == TC_A_VALUE && n->args[i].value ? n->args[i].value->producer : NULL;
        if (m && m->op->flags & TC_OP_HIGHER_ORDER) return m;
    }
    return NULL;
}

/* Makes v the value of tensor `target`, an argument that n writes to. */
static tc_status give(tc_functional *f, const tc_node *n, tc_value *target, tc_value *v) {
    const bool resizes = tc_op_resizes(n->op);
    const tc_alias *a = tc_alias_of(f, target)->a;
    if (resizes && a->base->input >= 0) return tc_error(TC_UNSUPPORTED, "%s: resizing an input, parameter or buffer", tc_op_name(n->op));
    if (resizes && a->parent) return tc_error(TC_UNSUPPORTED, "%s: resizing a view", tc_op_name(n->op));
    if (n->leaf && v && (v = tc_e1(&f->e, "aten::detach", tc_e_cast(&f->e, v, target->meta.dtype)))) { /* requires_grad_() was called on the result */
        v->producer->leaf = true;
        tc_op_propagate_grad(v->producer);
    }
    TC_TRY(tc_alias_write(f, target, v, resizes || tc_op_schema(n->op)->has_out));
    if (!n->uncounted) tc_alias_overwrites(f, target, body_that_wrote(n));
    return NULL;
}

/* The reads of m, the functional form of n, from tensors that n does not write to. */
static void note_uses(tc_functional *f, const tc_node *n, tc_node *m, const tc_arg *source) {
    const tc_schema *s = tc_op_schema(n->op);
    tc_arg *left = tc_arena_dup(&f->arena, source, sizeof *source * (size_t)s->nparams), *args = TC_NEWN(&f->arena, tc_arg, (size_t)m->nargs);
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].mutated) left[i] = (tc_arg){.kind = TC_A_NONE};
    tc_op_functional_args(f->g->program, n->op, left, args);
    tc_alias_uses(f, m, args);
}

/* Inserts the functional form of n and assigns its results to the tensors that n writes to. source[]: the original arguments. */
static tc_status call_functional(tc_functional *f, tc_node *n, const tc_op *op, const tc_arg *args, const tc_arg *source) {
    const tc_schema *s = tc_op_schema(n->op), *fs = tc_op_schema(op);
    const bool returned = s->inplace || s->has_out; /* the results of n are the tensors that it writes to */
    tc_value **results;
    tc_node *m;
    TC_TRY(call_instead(f, n, op, args, fs->nparams, &m, &results));
    note_uses(f, n, m, source);
    int r = returned ? 0 : s->nrets;
    for (int i = 0; i < s->nparams; i++) {
        if (!s->params[i].mutated) continue;
        if (source[i].kind == TC_A_VALUE && fs->is_view && s->inplace) { /* unsqueeze_: the tensor becomes a view of its old value */
            tc_alias_tensor *t = tc_alias_of(f, source[i].value);
            t->a = tc_alias_new(f, t->a, &(tc_view_step){op, m->args, m->nargs, -1}, results[0]);
            t->a->meta = &n->outs[0]->meta;
            tc_alias_overwrites(f, source[i].value, NULL);
        } else if (source[i].kind == TC_A_VALUE && source[i].value) {
            TC_TRY(give(f, n, source[i].value, results[r]->kind == TC_V_LIST ? results[r]->list[0] : results[r]));
            if (results[r]->producer == m) tc_alias_makes(f, m, r, source[i].value);
        }
        for (int k = 0; source[i].kind == TC_A_VALUES && k < source[i].n; k++)
            TC_TRY(give(f, n, source[i].values[k], results[r]->kind == TC_V_LIST ? results[r]->list[k] : results[r]));
        r++;
    }
    for (int i = 0; !returned && i < n->nouts; i++) tc_alias_same(f, n->outs[i], results[i]); /* later readers keep using the old values */
    return NULL;
}

/* A node that writes: in-place, out and "functional" forms by their schema. */
static tc_status write_node(tc_functional *f, tc_node *n, const tc_arg *source) {
    const tc_schema *s = tc_op_schema(n->op);
    const tc_op *op = tc_op_functional(n->op);
    tc_arg args[64];
    if (op == n->op)
        return tc_error(TC_UNSUPPORTED, "operator %s is not supported: it writes to an argument and has no functional form", tc_op_name(n->op));
    tc_op_functional_args(f->g->program, n->op, n->args, args);
    const bool copies = !strcmp(tc_op_name(op), "aten.copy.default") && n->args[1].kind == TC_A_VALUE;
    if (copies) TC_TRY(give(f, n, source[0].value, n->args[1].value)); /* the source, cast and broadcast to the target */
    else TC_TRY(call_functional(f, n, op, args, source));
    int r = 0;
    for (int i = 0; i < s->nparams && (s->inplace || s->has_out); i++) {
        if (!s->params[i].mutated || r >= n->nouts) continue;
        if (source[i].kind == TC_A_VALUE) tc_alias_same(f, n->outs[r], source[i].value);
        for (int k = 0; source[i].kind == TC_A_VALUES && n->outs[r]->kind == TC_V_LIST && k < source[i].n; k++)
            tc_alias_same(f, n->outs[r]->list[k], source[i].values[k]);
        r++;
    }
    tc_node_remove(n);
    return NULL;
}

bool tc_op_unmarked_writes(const tc_op *op, const tc_arg *args, int rank, tc_unmarked_writes *out) {
    const tc_schema *s = tc_op_schema(op);
    bool instance = !strcmp(s->name, "instance_norm"), batch = !strcmp(s->name, "batch_norm") || !strcmp(s->name, "native_batch_norm");
    if (strcmp(s->ns, "aten") || *s->overload || s->has_out || !(instance || batch)) return false;
    bool training = args[5].kind == TC_A_SCALAR && !args[5].is_sym && tc_scalar_to_double(args[5].scalar) != 0;
    if (!training || rank < 2 || args[3].kind != TC_A_VALUE || args[4].kind != TC_A_VALUE) return false;
    *out = (tc_unmarked_writes){.functional = tc_op_find(instance ? "tc::instance_norm_functional" : "aten::_native_batch_norm_legit_functional"),
                                .first = instance ? 1 : 3};
    for (int i = 0; i < 8; i++)
        if (!instance || i != 5) out->from[out->nfrom++] = i;
    return true;
}

static tc_status unmarked_writes(tc_functional *f, tc_node *n, const tc_arg *source, bool *out_done) {
    tc_unmarked_writes w;
    tc_arg args[8], named[8];
    tc_node *m;
    tc_value **results;
    *out_done = false;
    int rank = n->nargs && n->args[0].kind == TC_A_VALUE && n->args[0].value ? n->args[0].value->meta.rank : 0;
    if (!tc_op_unmarked_writes(n->op, n->args, rank, &w)) return NULL;
    for (int i = 0; i < w.nfrom; i++) args[i] = n->args[w.from[i]], named[i] = source[w.from[i]];
    TC_TRY(call_instead(f, n, w.functional, args, w.nfrom, &m, &results));
    tc_alias_uses(f, m, named);
    for (int i = 0; i < 2; i++)
        TC_TRY(tc_alias_write(f, source[3 + i].value, results[w.first + i], false)); /* not counted by PyTorch's version counters */
    for (int i = 0; i < n->nouts; i++) {
        tc_alias_same(f, n->outs[i], results[i]);
        tc_alias_makes(f, m, i, n->outs[i]);
    }
    tc_node_remove(n);
    *out_done = true;
    return NULL;
}

static tc_status functionalise_graph(tc_graph *g);

static tc_status rewrite(tc_functional *f, tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    tc_arg *source = tc_arena_dup(&f->arena, n->args, sizeof *n->args * (size_t)n->nargs);
    bool writes = false, done = false;
    f->e.before = n;
    f->e.source = n->source;
    for (int i = 0; i < n->nargs; i++) {
        if (n->args[i].kind == TC_A_GRAPH) TC_TRY(functionalise_graph(n->args[i].graph));
        if (i < s->nparams && s->params[i].mutated) writes = true;
        if (source[i].kind == TC_A_VALUE && source[i].value) source[i].value = tc_alias_settled(f, source[i].value);
        if (source[i].kind != TC_A_VALUES || !source[i].n) continue;
        source[i].values = tc_arena_dup(&f->arena, source[i].values, sizeof *source[i].values * (size_t)source[i].n);
        for (int k = 0; k < source[i].n; k++)
            if (source[i].values[k]) source[i].values[k] = tc_alias_settled(f, source[i].values[k]);
    }
    TC_TRY(read_args(f, n));
    tc_program *p = f->g->program;
    bool was = p->no_grad;
    p->no_grad = n->no_grad; /* nodes that replace a node under no_grad are under no_grad */
    tc_op_propagate_grad(n); /* archives do not store requires_grad of results */
    tc_status st = writes ? write_node(f, n, source) : unmarked_writes(f, n, source, &done);
    p->no_grad = was;
    if (st || writes) return st;
    if (done) return NULL;
    TC_TRY(strcmp(s->name, "as_strided") ? note_views(f, n, source) : tc_alias_strided(f, n, source[0].value));
    tc_alias_uses(f, n, source);
    for (int i = 0; i < n->nouts; i++) tc_alias_makes(f, n, i, n->outs[i]);
    return NULL;
}

tc_status tc_functional_step(tc_functional *f) {
    TC_TRY(tc_inline_regions(f, f->last ? f->last->next : f->g->first));
    for (tc_node *n = f->last ? f->last->next : f->g->first, *next; n; n = next) {
        next = n->next;
        const char *name = n->name;
        f->failed = n;
        TC_TRY(rewrite(f, n), "%s", name ? name : "node");
        f->failed = NULL;
    }
    f->last = f->g->last;
    f->e.before = NULL;
    return NULL;
}

const tc_source *tc_functional_failed(const tc_functional *f) { return f->failed ? &f->failed->source : NULL; }

void tc_functional_skip(tc_functional *f) { f->last = f->g->last; }

static const tc_output_kind mutation_of[] = {[TC_IN_PARAMETER] = TC_OUT_PARAMETER, [TC_IN_BUFFER] = TC_OUT_BUFFER, [TC_IN_USER] = TC_OUT_USER_INPUT};

/* Merges two names of the same tensor to one value. */
static bool tied(const tc_program *p, int a, int b) {
    const int first = p->inputs[a].alias_of >= 0 ? p->inputs[a].alias_of : a;
    return first == (p->inputs[b].alias_of >= 0 ? p->inputs[b].alias_of : b);
}

typedef struct {
    const char *begin, *end;
    int input;
} memory;
static int by_begin(const void *a, const void *b) {
    const memory *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : x->input - y->input;
}

/* Two inputs with the same tensor: a write to one would not be seen through the other. written: by input. */
static tc_status check_apart(const tc_program *p, const bool *written) {
    TC_VEC(memory) all = {0};
    for (int i = 0; i < p->ninputs; i++) {
        const tc_tensor *t = &p->inputs[i].data;
        const size_t n = t->storage ? tc_tensor_span(t) : 0;
        if (n) tc_vec_push(&all, ((memory){tc_tensor_data(t), (const char *)tc_tensor_data(t) + n, i}));
    }
    if (all.len) qsort(all.data, all.len, sizeof *all.data, by_begin);
    tc_status st = NULL;
    for (size_t k = 0; k < all.len && !st; k++)
        for (size_t l = k + 1; l < all.len && all.data[l].begin < all.data[k].end && !st; l++) {
            int a = all.data[k].input, b = all.data[l].input;
            if ((!written[a] && !written[b]) || tied(p, a, b) || p->inputs[a].data.storage != p->inputs[b].data.storage) continue;
            if (!written[a]) b = a, a = all.data[l].input;
            st = tc_status_add(
                tc_error(TC_UNSUPPORTED, "the program writes to %s, whose memory is in part that of %s", p->inputs[a].name, p->inputs[b].name),
                "make one of them in forward, as a view of the other");
        }
    tc_vec_free(&all);
    return st;
}

/* Mutations come before the results, in the order of the inputs. */
static tc_status add_mutations(tc_functional *f) {
    tc_program *p = f->g->program;
    TC_VEC(tc_output) outs = {0};
    bool *written = tc_xcalloc((size_t)p->ninputs + 1, sizeof *written);
    tc_status st = NULL;
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind >= TC_OUT_BUFFER && p->outputs[i].kind <= TC_OUT_USER_INPUT) tc_vec_push(&outs, p->outputs[i]);
    size_t old = outs.len;
    for (int i = 0; i < p->ninputs && !st; i++) {
        tc_value *in = p->inputs[i].value;
        tc_alias_tensor *t = in && in->id < f->tensors.len ? f->tensors.data[in->id] : NULL;
        if (!t || !t->a->base->version || t->a->base->input != i) continue;
        if (p->inputs[i].kind == TC_IN_CONSTANT) {
            st = tc_status_add(tc_error(TC_UNSUPPORTED, "the program writes to its constant %s", p->inputs[i].name),
                               "a tensor that changes is a buffer of its module, or of an optimiser's state[p]");
        } else if (p->inputs[i].kind <= TC_IN_USER) {
            tc_output o = {.kind = mutation_of[p->inputs[i].kind], .value = t->a->base->current, .name = p->inputs[i].name, .target = i};
            tc_vec_push(&outs, o);
            written[i] = true;
        }
    }
    if (!st && outs.len > old) st = check_apart(p, written);
    free(written);
    if (!st && outs.len > old) {
        for (int i = 0; i < p->noutputs; i++)
            if (p->outputs[i].kind < TC_OUT_BUFFER || p->outputs[i].kind > TC_OUT_USER_INPUT) tc_vec_push(&outs, p->outputs[i]);
        p->noutputs = p->graph->noutputs = 0;
        for (size_t i = 0; i < outs.len; i++) tc_program_add_output(p, outs.data[i]);
    }
    tc_vec_free(&outs);
    return st;
}

/* ---- what calls of modules took and gave ---- */
typedef struct {
    tc_functional *f;
    bool *made; /* by id: the value still exists */
    tc_status status;
} call_values;

static void mark_made(bool *made, const tc_value *v) {
    made[v->id] = true;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) made[v->list[i]->id] = true;
}

/* A value that still exists is what the call saw; results of mutating operators are replaced by others. */
static void follow_call_value(void *ctx, tc_value **place) {
    call_values *c = ctx;
    if (!c->status && (*place)->kind == TC_V_TENSOR && !c->made[(*place)->id]) c->status = tc_functional_current(c->f, *place, place);
}

static tc_status follow_calls(tc_functional *f) {
    tc_graph *g = f->g;
    if (!g->program->calls.len) return NULL;
    call_values c = {.f = f, .made = tc_xcalloc(g->nvalues + 1, sizeof *c.made)};
    for (int i = 0; i < g->ninputs; i++) c.made[g->inputs[i]->id] = true;
    for (const tc_node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->nouts; i++) mark_made(c.made, n->outs[i]);
    tc_program_each_call_value(g->program, follow_call_value, &c);
    free(c.made);
    return c.status;
}

static tc_alias_base *written_base(const tc_functional *f, const tc_value *input) {
    const tc_alias_tensor *t = input->id < f->tensors.len ? f->tensors.data[input->id] : NULL;
    return t && t->a->base->version ? t->a->base : NULL;
}

tc_status tc_functional_written(tc_functional *f, tc_value *input, tc_value **out) {
    *out = NULL;
    TC_TRY(tc_functional_step(f));
    tc_alias_base *base = written_base(f, input);
    if (!base) return NULL;
    base->given = true;
    return tc_functional_current(f, input, out);
}

tc_status tc_functional_finish(tc_functional *f) {
    tc_graph *g = f->g;
    tc_program *p = g->program;
    TC_TRY(tc_functional_step(f));
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) TC_TRY(tc_functional_current(f, g->outputs[i], &g->outputs[i]));
    for (int i = 0; g == p->graph && i < p->noutputs; i++)
        if (p->outputs[i].value) TC_TRY(tc_functional_current(f, p->outputs[i].value, &p->outputs[i].value));
    if (g == p->graph) {
        TC_TRY(follow_calls(f));
        return add_mutations(f);
    }
    for (int i = 0; i < g->ninputs; i++) {
        const tc_alias_base *base = written_base(f, g->inputs[i]);
        if (base && !base->given)
            return tc_error(TC_UNSUPPORTED, "%s: a branch or body that writes to its operand %s is not supported", g->name, g->inputs[i]->name);
    }
    return NULL;
}

static tc_status functionalise_graph(tc_graph *g) {
    tc_functional *f = tc_functional_create(g);
    tc_status st = tc_functional_finish(f);
    tc_functional_destroy(f);
    return st;
}

tc_status tc_functionalise(tc_program *p) {
    TC_TRY(functionalise_graph(p->graph));
    TC_TRY(tc_detach_no_grad(p->graph));
    p->functional = true;
    return NULL;
}
