/* The three programs of a training run (train.h), captured by calling modules of torch/_train.py on symbolic tensors.
 *
 * Weights and optimiser state are concrete tensors in the language; here each becomes an input of the program under its name, and what is
 * written to it an output of the same name, in place when it runs. */
#include "capture/torch.h"
#include "grad/grad.h"
#include "op/decompose.h"
#include "op/functionalise.h"
#include "train/internal.h"

#include <stdio.h>

/* ---- capturing ---- */

typedef struct {
    tc_trainer *t;
    tc_program *p;
    tc_arena *a;
    tc_symvalue *hint;
    size_t nhint;
    bool plain; /* an update: nothing is differentiated through it */
} capture;

/* A concrete tensor that is neither weight nor state: a constant of the program. Values of an outer graph pass through the regions. */
static tc_value *lift(C *c, tensor *t) {
    if (t->v && t->v->graph->program == c->torch->graph->program) return tc_torch_lift_region(c, t->v);
    tc_program *p = c->torch->graph->program;
    tc_sym size[TC_MAX_RANK];
    for (int i = 0; i < t->t.rank; i++) size[i] = tc_sym_int(p->sym, t->t.size[i]);
    tc_tensor own;
    tc_status s = tc_tensor_contiguous(&t->t, &own);
    if (s) tc_raise_status(c, "RuntimeError", s);
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, "c");
    v->meta = tc_meta_make(&p->arena, t->t.dtype, t->t.rank, size, NULL);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_CONSTANT, .value = v, .name = v->name, .data = own, .alias_of = -1});
    t->v = v;
    return p->graph == c->torch->graph ? v : tc_torch_lift_region(c, v);
}

static tc_value *add_state(capture *k, const char *name, const tc_tensor *data, bool parameter, bool requires_grad, V object) {
    tc_program *p = k->p;
    tc_sym size[TC_MAX_RANK];
    for (int i = 0; i < data->rank; i++) size[i] = tc_sym_int(p->sym, data->size[i]);
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, name);
    v->meta = tc_meta_make(&p->arena, data->dtype, data->rank, size, NULL);
    v->meta.requires_grad = requires_grad;
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = parameter ? TC_IN_PARAMETER : TC_IN_BUFFER,
                                       .value = v,
                                       .name = tc_arena_strdup(&p->arena, name),
                                       .persistent = true,
                                       .data = tc_tensor_share(data),
                                       .alias_of = -1});
    ((tensor *)object)->v = v;
    return v;
}

static void hint(capture *k, tc_sym var, tc_symvalue value) {
    size_t i = (size_t)tc_sym_var_index(var);
    if (i >= k->nhint) {
        k->hint = tc_xrealloc(k->hint, (i + 16) * sizeof *k->hint);
        memset(k->hint + k->nhint, 0, (i + 16 - k->nhint) * sizeof *k->hint);
        k->nhint = i + 16;
    }
    value.bound = true;
    k->hint[i] = value;
    k->t->lang->torch->hint = k->hint;
    k->t->lang->torch->nhint = k->nhint;
}

static V tensor_input(capture *k, const char *name, tc_dtype dtype, int rank, const tc_sym *size) {
    tc_program *p = k->p;
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, name);
    v->meta = tc_meta_make(&p->arena, dtype, rank, size, NULL);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = v, .name = tc_arena_strdup(&p->arena, name), .alias_of = -1});
    return tc_torch_wrap_value(k->t->lang, v);
}

static V number_input(capture *k, const char *name, tc_symtype kind_of, tc_symvalue example) {
    tc_program *p = k->p;
    tc_value *v = tc_graph_value(p->graph, TC_V_SYM, name);
    v->sym = tc_sym_var(p->sym, name, kind_of, kind_of == TC_SYM_INT ? 0 : TC_SYM_NO_LO, TC_SYM_NO_HI);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = v, .name = tc_arena_strdup(&p->arena, name), .alias_of = -1});
    hint(k, v->sym, example);
    return tc_symv(k->t->lang, v->sym);
}

static void output(capture *k, V x, const char *name) {
    C *c = k->t->lang;
    if (!tc_is_tensor(x)) tc_raise(c, "TypeError", "%s is %s, expected a tensor", name, tc_type_name(c, x));
    tc_value *v = tc_torch_value(c, x);
    tc_program_add_output(k->p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = tc_arena_strdup(&k->p->arena, name), .target = -1});
}

/* Makes the program: declare fills inputs, calls and outputs, inside the language. */
typedef struct {
    capture k;
    void (*declare)(capture *k);
    region r;
    bool entered;
} capture_job;

static void capture_inside(C *c, void *ctx) {
    capture_job *j = ctx;
    j->r = (region){0};
    tc_torch_enter(c, &j->r, j->k.p->graph);
    c->torch->lift = lift;
    for (size_t i = 0; i < j->k.t->weights.len; i++) {
        weight *w = &j->k.t->weights.data[i];
        if (w->alias_of < 0) add_state(&j->k, w->fqn, &w->data, !w->buffer, w->requires_grad && !j->k.plain, w->object);
    }
    j->declare(&j->k);
}

static tc_status capture_program(tc_trainer *t, const char *name, void (*declare)(capture *k), bool plain, tc_program **out) {
    C *c = t->lang;
    capture_job j = {.k = {.t = t, .p = tc_program_create(name), .plain = plain}, .declare = declare};
    tc_status s = tc_lang_run(c, capture_inside, &j);
    /* Also after a failure: nothing of the capture stays behind in the objects. */
    c->torch->graph = NULL;
    c->torch->region = NULL;
    c->torch->replayed = NULL;
    c->torch->hint = NULL;
    c->torch->nhint = 0;
    c->torch->no_grad = false;
    c->torch->autocast = TC_DTYPE_NONE;
    for (tensor *o = c->torch->owned; o; o = o->next_owned) o->v = NULL;
    free(j.k.hint);
    if (!s) s = tc_functionalise(j.k.p);
    if (!s) s = tc_program_verify(j.k.p);
    if (s) {
        tc_program_release(j.k.p);
        return tc_annotate(s, "%s", name);
    }
    *out = j.k.p;
    return NULL;
}

/* ---- executing ---- */

static const tc_tensor *state_of(const tc_trainer *t, const char *name) {
    for (size_t i = 0; i < t->state.len; i++)
        if (strcmp(t->state.data[i].buffer, name) == 0) return &t->state.data[i].data;
    for (size_t i = 0; i < t->averages.len; i++)
        if (strcmp(t->averages.data[i].buffer, name) == 0) return &t->averages.data[i].data;
    return tc_trainer_weight(t, name);
}

tc_status tc_train_make_exec(tc_trainer *t, const tc_program *p, bool no_fuse, tc_exec **out) {
    tc_exec_options o = {.pool = t->o.pool, .threads = t->o.pool ? 0 : 1, .fast = t->o.fast, .no_fuse = no_fuse};
    tc_exec *e;
    TC_TRY(tc_exec_create(p, &o, &e));
    tc_status s = NULL;
    for (int i = 0; i < p->ninputs && !s; i++) {
        const tc_input *in = &p->inputs[i];
        const tc_tensor *shared = in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER ? state_of(t, in->name) : NULL;
        if (shared) s = tc_exec_set_state(e, i, shared);
    }
    if (s) tc_exec_destroy(e);
    else *out = e;
    return s;
}

static tc_status make_exec(tc_trainer *t, tc_program *p, tc_exec **out) {
    tc_exec *e = NULL;
    tc_status s = tc_train_make_exec(t, p, false, &e);
    if (!s && t->o.log) {
        tc_buf b = {0};
        tc_program_print(&b, p, TC_PRINT_SHORT);
        t->o.log(t->o.ctx, p->name, tc_buf_str(&b));
        b.len = 0;
        tc_exec_report(e, &b);
        t->o.log(t->o.ctx, p->name, tc_buf_str(&b));
        tc_buf_free(&b);
    }
    if (s) return tc_annotate(s, "%s", p->name);
    *out = e;
    return NULL;
}

/* ---- micro and eval ---- */

/* Columns as symbolic tensors. Sizes are those of a batch; the batch itself is free in eval (the last one is short), the length is where
 * sequences are padded to the longest. */
static void declare_columns(capture *k, const tc_dataset *d, int64_t batch, bool free_batch, V *columns) {
    tc_trainer *t = k->t;
    for (int i = 0; i < d->ncols; i++) {
        const tc_tensor *x = &d->col[i].data;
        tc_sym size[TC_MAX_RANK], first, second;
        bool tokens = d->kind == TC_DATA_WINDOWS || d->kind == TC_DATA_SEQUENCES;
        int rank = d->kind == TC_DATA_BATCHES ? x->rank - 1 : tokens ? 2 : x->rank;
        tc_dtype dtype = tokens ? TC_I64 : d->col[i].scaled || tc_is_float(x->dtype) ? t->r->floats : x->dtype;
        for (int a = 0; a < rank && !tokens; a++) size[a] = tc_sym_int(k->p->sym, x->size[d->kind == TC_DATA_BATCHES ? a + 1 : a]);
        if (d->kind != TC_DATA_BATCHES) {
            first = free_batch ? tc_sym_var(k->p->sym, "B", TC_SYM_INT, 1, batch) : tc_sym_int(k->p->sym, batch);
            if (free_batch) hint(k, first, (tc_symvalue){.i = batch});
            size[0] = first;
        }
        if (tokens) {
            bool padded = d->kind == TC_DATA_SEQUENCES;
            second = padded ? tc_sym_var(k->p->sym, "T", TC_SYM_INT, 1, TC_SYM_NO_HI) : tc_sym_int(k->p->sym, d->block);
            if (padded) hint(k, second, (tc_symvalue){.i = 8});
            size[1] = second;
        }
        columns[i] = tensor_input(k, d->col[i].name, dtype, rank, size);
    }
}

static void call_step(capture *k, V callee, const tc_dataset *d, const V *columns, int nmetrics) {
    C *c = k->t->lang;
    args A = {.a = (V *)columns, .n = d->ncols};
    if (!strcmp(k->t->r->precision, "bfloat16")) c->torch->autocast = TC_BF16; /* as torch.autocast around forward and loss */
    V out = tc_call(c, callee, &A);
    c->torch->autocast = TC_DTYPE_NONE;
    size_t n;
    V *items = tc_items(out, &n);
    output(k, items[0], "loss");
    for (int i = 0; i < nmetrics && (size_t)i + 1 < n; i++) output(k, items[i + 1], k->t->metric[i]);
}

static void set_mode(C *c, V object, bool train) {
    V flag = tc_bool(c, train);
    tc_call_method(c, object, tc_intern(c, "train", 5), 1, &flag);
}

static void declare_micro(capture *k) {
    tc_trainer *t = k->t;
    V columns[TC_DATA_MAX_COLUMNS];
    set_mode(t->lang, t->micro, true);
    declare_columns(k, t->train, t->local_batch, tc_dist_size(t->o.dist) > 1, columns);
    call_step(k, t->micro, t->train, columns, 0);
}

static void declare_eval(capture *k) {
    tc_trainer *t = k->t;
    V columns[TC_DATA_MAX_COLUMNS];
    set_mode(t->lang, t->eval, false);
    t->lang->torch->no_grad = true;
    declare_columns(k, t->val, t->r->validate.batch ? t->r->validate.batch : t->r->batch, true, columns);
    call_step(k, t->eval, t->val, columns, t->nmetrics);
}

static int find_loss(const tc_program *p) {
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_USER || p->outputs[i].kind == TC_OUT_LOSS) return i;
    TC_BUG("no loss among the outputs");
}

/* Dropout and the like become their draws and arithmetic before differentiation, so that forward and backward share one draw. */
static bool draws(void *ctx, const tc_node *n) {
    (void)ctx;
    return (n->op->flags & TC_OP_RANDOM) && n->op->decompose && !n->op->grad;
}

tc_status tc_train_build_micro(tc_trainer *t) {
    tc_program *p;
    TC_TRY(capture_program(t, "micro", declare_micro, false, &p));
    const tc_value *loss = p->outputs[find_loss(p)].value;
    tc_status s = NULL;
    if (!tc_is_float(loss->meta.dtype) || loss->meta.rank != 0)
        s = tc_error(TC_USAGE, "%s: loss: the expression gives a tensor of rank %d, expected one number", t->r->file, loss->meta.rank);
    if (!s) s = tc_decompose_some(p, draws, NULL);
    if (!s) s = tc_grad_program(p, find_loss(p));
    if (!s && tc_dist_size(t->o.dist) > 1) s = tc_train_share_draws(t, p);
    if (!s) s = tc_program_verify(p);
    if (!s) s = make_exec(t, p, &t->micro_exec);
    if (!s) {
        t->loss_at = find_loss(p);
        t->grad_of = TC_NEWN(&t->arena, int, (size_t)t->nparams + 1);
        for (int k = 0; k < t->nparams; k++) {
            t->grad_of[k] = -1;
            for (int i = 0; i < p->noutputs; i++)
                if (p->outputs[i].kind == TC_OUT_GRAD_PARAMETER && strcmp(p->inputs[p->outputs[i].target].name, t->param_names[k]) == 0)
                    t->grad_of[k] = i;
        }
    }
    tc_program_release(p);
    return s;
}

tc_status tc_train_build_eval(tc_trainer *t) {
    tc_program *p;
    TC_TRY(capture_program(t, "eval", declare_eval, true, &p));
    tc_status s = make_exec(t, p, &t->eval_exec);
    for (int i = 0; i < p->ninputs; i++) /* parameters by their averages, where these are kept */
        for (size_t k = 0; k < t->averages.len && !s; k++)
            if (p->inputs[i].kind == TC_IN_PARAMETER && !strcmp(p->inputs[i].name, t->averages.data[k].param))
                s = tc_exec_set_state(t->eval_exec, i, &t->averages.data[k].data);
    tc_program_release(p);
    return s;
}

/* ---- update ---- */

static V state_object(tc_trainer *t, const char *buffer) {
    C *c = t->lang;
    return tc_getattr(c, t->update, tc_intern(c, buffer, strlen(buffer)));
}

static void declare_update(capture *k) {
    tc_trainer *t = k->t;
    C *c = t->lang;
    for (size_t i = 0; i < t->state.len; i++)
        add_state(k, t->state.data[i].buffer, &t->state.data[i].data, false, false, state_object(t, t->state.data[i].buffer));
    for (size_t i = 0; i < t->averages.len; i++)
        add_state(k, t->averages.data[i].buffer, &t->averages.data[i].data, false, false, state_object(t, t->averages.data[i].buffer));
    V grads = tc_tuple(c, (size_t)t->nparams, NULL);
    for (int i = 0; i < t->nparams; i++) {
        const tc_tensor *g = &t->grads[i];
        if (!g->storage) continue;
        tc_sym size[TC_MAX_RANK];
        for (int d = 0; d < g->rank; d++) size[d] = tc_sym_int(k->p->sym, g->size[d]);
        char name[32];
        snprintf(name, sizeof name, "grad_%d", i);
        ((tuple *)grads)->a[i] = tensor_input(k, name, g->dtype, g->rank, size);
    }
    list *where = tc_list(c, 4), *values = tc_list(c, 4);
    for (size_t i = 0; i < t->numbers.len; i++) {
        const opt_number *o = &t->numbers.data[i];
        if (!o->varies) continue;
        char name[64];
        snprintf(name, sizeof name, "%s_%d_%zu", o->key, o->group, i);
        tc_list_push(c, where, tc_tuple_of(c, 3, tc_int(c, o->group), tc_strz(c, o->key), tc_int(c, o->index)));
        tc_list_push(c, values, number_input(k, name, TC_SYM_FLOAT, (tc_symvalue){.f = o->value}));
    }
    V step = number_input(k, "step", TC_SYM_INT, (tc_symvalue){.i = t->step});
    V a[4] = {grads, (V)where, (V)values, step};
    args A = {.a = a, .n = 4};
    output(k, tc_call(c, t->update, &A), "norm");
}

tc_status tc_train_build_update(tc_trainer *t) {
    tc_program *p;
    TC_TRY(capture_program(t, "update", declare_update, true, &p));
    tc_status s = make_exec(t, p, &t->update_exec);
    tc_program_release(p);
    return s;
}
