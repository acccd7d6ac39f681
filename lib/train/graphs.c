/* The three programs of a training run (train.h), captured by calling modules of torch/_train.py on symbolic tensors.
 *
 * Weights and optimizer state are concrete tensors in the model language; here each becomes an input of the program, and its mutation an output of the
 * same name, which runs in place. */
#include "capture/capture.h"
#include "capture/torch.h"
#include "grad/grad.h"
#include "op/decompose.h"
#include "op/watch.h"
#include "pass/partition.h"
#include "train/internal.h"

#include <stdio.h>

/* ---- capturing ---- */

typedef struct capturing capturing;
struct capturing {
    tc_trainer *t;
    tc_capture *k;
    const char *name;
    bool plain;                                   /* an update program: not differentiated */
    bool of_recipe;                               /* what it captures are expressions, whose errors have a place in the recipe */
    void (*declare)(capturing *j, list *results); /* declares inputs, makes the call, lists the results */
    const char **names;                           /* of the results; room for the metrics and two more */
    tc_program *p;
};

/* Declares a tensor of these sizes as the next input; bounds of symbols come from tc_capture_ranges. */
static V input_of(capturing *j, const char *name, tc_dtype dtype, int rank, const int64_t *size, const char *const *symbol) {
    C *c = j->t->lang;
    tc_capture_input in = {.name = name, .dtype = dtype, .rank = rank, .hints = size};
    for (int d = 0; d < rank; d++) in.size[d] = symbol && symbol[d] ? symbol[d] : tc_arena_printf(&c->arena, "%lld", (long long)size[d]);
    return tc_capture_tensor(j->k, &in);
}

static void state_input(capturing *j, const opt_state *s) {
    C *c = j->t->lang;
    tc_capture_weight(j->k, tc_getattr(c, j->t->update, tc_intern(c, s->buffer, strlen(s->buffer))), s->buffer, true, false);
}

static void capture_inside(C *c, void *ctx) {
    capturing *j = ctx;
    j->names = TC_NEWN(&c->arena, const char *, (size_t)j->t->nmetrics + 2);
    list *results = tc_list(c, 4);
    j->k = tc_capture_begin(c, j->name);
    tc_capture_lenient(j->k);
    for (size_t i = 0; i < j->t->weights.len; i++) {
        weight *w = &j->t->weights.data[i];
        if (w->alias_of < 0) tc_capture_weight(j->k, w->object, w->fqn, w->buffer, w->requires_grad && !j->plain);
    }
    if (j->t->runs_source) tc_capture_places(j->k, j->t->m);
    j->declare(j, results);
    for (size_t i = 0; i < results->n; i++)
        if (!tc_is_tensor(results->a[i])) tc_raise(c, "TypeError", "%s is %s, expected a tensor", j->names[i], tc_type_name(c, results->a[i]));
    tc_capture_outputs(j->k, tc_tuple(c, results->n, results->a), j->names, (int)results->n);
    j->p = tc_capture_end(j->k);
}

static tc_status capture_program(capturing j, tc_program **out) {
    C *c = j.t->lang;
    void (*warn)(void *, const char *) = c->warn;
    tc_status s = tc_lang_run(c, capture_inside, &j);
    c->warn = warn;
    /* also after a failure: ends the capture */
    tc_capture_abandon(c);
    c->torch->replayed = NULL;
    c->torch->no_grad = false;
    c->torch->autocast = TC_DTYPE_NONE;
    if (s) return j.of_recipe && tc_status_place(s).file ? s : tc_annotate(s, "%s", j.name);
    *out = j.p;
    return NULL;
}

/* ---- executing ---- */

/* Adds the states to the map, buffer name -> tensor. */
static void add_states(tc_map *m, opt_states *s) {
    for (size_t i = 0; i < s->len; i++) tc_map_set(m, s->data[i].buffer, &s->data[i].data);
}

/* Binds the trainer's tensors to the program's inputs. */
static tc_status set_states(tc_trainer *t, const tc_program *p, tc_exec *e) {
    tc_map buffers = {0};
    tc_status s = NULL;
    add_states(&buffers, &t->averages);
    add_states(&buffers, &t->state);
    for (int i = 0; i < p->ninputs && !s; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_PARAMETER && in->kind != TC_IN_BUFFER) continue;
        const tc_tensor *shared = tc_map_find(&buffers, in->name);
        if (!shared) shared = tc_trainer_weight(t, in->name);
        if (shared) s = tc_exec_set_state(e, i, shared);
    }
    tc_map_free(&buffers);
    return s;
}

tc_status tc_train_make_exec(tc_trainer *t, const tc_program *p, bool no_fuse, tc_exec **out) {
    tc_exec_options o = {.pool = t->o.pool, .threads = t->o.pool ? 0 : 1, .numerics = t->o.numerics, .no_fuse = no_fuse};
    tc_exec *e;
    TC_TRY(tc_exec_create(p, &o, &e));
    tc_status s = set_states(t, p, e);
    if (s) tc_exec_destroy(e);
    else *out = e;
    return s;
}

void tc_trainer_set_profile(tc_trainer *t, tc_exec_profile fn, void *ctx) {
    tc_exec *const all[] = {t->micro_exec, t->eval_exec, t->update_exec, t->first_exec};
    t->profile = fn, t->profile_ctx = ctx;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) tc_exec_set_profile(all[i], fn, ctx);
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
    tc_exec_set_profile(e, t->profile, t->profile_ctx);
    *out = e;
    return NULL;
}

/* ---- micro and eval ---- */

/* The type in which a column comes. */
static tc_dtype column_dtype(const tc_trainer *t, const tc_dataset *d, int i) {
    if (d->kind == TC_DATA_WINDOWS || d->kind == TC_DATA_SEQUENCES) return TC_I64;
    return d->col[i].scaled || tc_is_float(d->col[i].data.dtype) ? t->r->floats : d->col[i].data.dtype;
}

/* Declares the batch's columns as symbolic tensors. The batch size is dynamic in eval (the last batch may be short), the length where sequences are
 * padded to the longest of a batch. */
static void declare_columns(capturing *j, const tc_dataset *d, int64_t batch, bool free_batch, V *columns) {
    static const char *const batch_and_length[] = {"B", "T"};
    tc_trainer *t = j->t;
    tc_capture_dim *bounds = TC_NEWN(&t->lang->arena, tc_capture_dim, 2);
    bounds[0] = (tc_capture_dim){.symbol = "B", .lo = 1, .hi = batch};
    bounds[1] = (tc_capture_dim){.symbol = "T", .lo = 1, .hi = TC_SYM_NO_HI};
    tc_capture_ranges(j->k, bounds, 2);
    bool tokens = d->kind == TC_DATA_WINDOWS || d->kind == TC_DATA_SEQUENCES, whole = d->kind == TC_DATA_BATCHES;
    for (int i = 0; i < d->ncols; i++) {
        const tc_tensor *x = &d->col[i].data;
        int rank = whole ? x->rank - 1 : tokens ? 2 : x->rank;
        const char *symbol[TC_MAX_RANK] = {NULL};
        int64_t size[TC_MAX_RANK];
        for (int a = 0; a < rank && !tokens; a++) size[a] = x->size[whole ? a + 1 : a];
        if (!whole) size[0] = batch;
        if (rank && free_batch) symbol[0] = batch_and_length[0];
        if (tokens) {
            bool padded = d->kind == TC_DATA_SEQUENCES;
            size[1] = padded ? 8 : d->block;
            symbol[1] = padded ? batch_and_length[1] : NULL;
        }
        columns[i] = input_of(j, d->col[i].name, column_dtype(t, d, i), rank, size, symbol);
    }
}

/* Results: the loss and nmore others. */
static void call_step(capturing *j, V callee, const V *given, int ngiven, const char *const *more, int nmore, list *results) {
    C *c = j->t->lang;
    args A = {.a = (V *)given, .n = ngiven};
    c->torch->autocast = j->t->r->autocast; /* like torch.autocast around forward and loss */
    c->capturing = true;                    /* changes of objects are recorded and undone when the capture ends */
    V out = tc_call(c, callee, &A);
    c->capturing = false;
    c->torch->autocast = TC_DTYPE_NONE;
    size_t n;
    V *items = tc_items(out, &n);
    for (int i = 0; i <= nmore && (size_t)i < n; i++) {
        j->names[results->n] = i ? more[i - 1] : "loss";
        tc_list_push(c, results, items[i]);
    }
}

static void set_mode(C *c, V object, bool train) {
    V flag = tc_bool(c, train);
    tc_call_method(c, object, tc_intern(c, "train", 5), 1, &flag);
}

static void declare_micro(capturing *j, list *results) {
    tc_trainer *t = j->t;
    V given[TC_DATA_MAX_COLUMNS + 1];
    int n = t->train->ncols;
    set_mode(t->lang, t->micro, true);
    declare_columns(j, t->train, t->local_batch, tc_dist_size(t->o.dist) > 1, given);
    if (t->scale.on) given[n++] = input_of(j, "the scale", TC_F32, 0, NULL, NULL);
    static const char *const unscaled[] = {"unscaled"};
    call_step(j, t->micro, given, n, unscaled, t->scale.on, results);
}

static void declare_eval(capturing *j, list *results) {
    tc_trainer *t = j->t;
    V columns[TC_DATA_MAX_COLUMNS];
    set_mode(t->lang, t->eval, false);
    t->lang->torch->no_grad = true;
    declare_columns(j, t->val, t->r->validate.batch ? t->r->validate.batch : t->r->batch, t->val->kind != TC_DATA_BATCHES, columns);
    call_step(j, t->eval, columns, t->val->ncols, t->metric, t->nmetrics, results);
}

/* The expression must give a single number; floating: a floating-point one, for gradients. */
static tc_status check_number(const tc_value *v, const tc_yaml *at, bool floating) {
    if (v->meta.rank == 0 && (!floating || tc_is_float(v->meta.dtype))) return NULL;
    return tc_yaml_error(at, "the expression gives a tensor of %s and rank %d, expected one number%s", tc_dtypes[v->meta.dtype].name, v->meta.rank,
                         floating ? " of a floating type" : "");
}

/* The loss that is differentiated, or (after: its place) the one without a scale. */
static int find_loss(const tc_program *p, int after) {
    for (int i = after + 1; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_USER || p->outputs[i].kind == TC_OUT_LOSS) return i;
    TC_BUG("no loss among the outputs");
}

/* Dropout and the like are decomposed into draws and arithmetic before differentiation, so that forward and backward share one draw. */
static bool draws(void *ctx, const tc_node *n) {
    (void)ctx;
    return (n->op->flags & TC_OP_RANDOM) && n->op->decompose && !n->op->grad;
}

/* saved_as: of the recipe. */
static tc_status save_as(tc_trainer *t, tc_program *p, tc_node **end) {
    tc_saved_as done = {.to = t->r->saved};
    TC_TRY(tc_save_as(p, end, &done), "saved_as");
    if (!done.n || !t->o.note) return NULL;
    tc_buf b = {0};
    tc_print_saved_as(&b, &done);
    t->o.note(t->o.ctx, tc_buf_str(&b));
    tc_buf_free(&b);
    return NULL;
}

/* Maps gradient outputs to parameters; false: there is no gradient. */
static bool find_gradients(tc_trainer *t, const tc_program *p) {
    tc_map of = {0}; /* a parameter's name -> output + 1 */
    bool reached = false;
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_GRAD_PARAMETER) tc_map_set(&of, p->inputs[p->outputs[i].target].name, (void *)(intptr_t)(i + 1));
    t->grad_of = TC_NEWN(&t->arena, int, (size_t)t->nparams + 1);
    for (int k = 0; k < t->nparams; k++) {
        t->grad_of[k] = (int)(intptr_t)tc_map_find(&of, t->param_names[k]) - 1;
        reached = reached || t->grad_of[k] >= 0;
    }
    tc_map_free(&of);
    return reached;
}

/* A column of another type than the floating one of the model's input may be why the capture failed. */
static tc_status explain_types(const tc_trainer *t, tc_status s) {
    for (int i = 0; s && i < t->train_p->ninputs; i++) {
        const tc_input *in = &t->train_p->inputs[i];
        const int k = in->kind == TC_IN_USER ? tc_data_find(t->train, in->name) : -1;
        if (k < 0 || in->value->kind != TC_V_TENSOR || !tc_is_float(in->value->meta.dtype)) continue;
        const tc_dtype found = column_dtype(t, t->train, k), wanted = in->value->meta.dtype;
        const char *name = in->name, *data = tc_is_float(found) ? "batch" : "data";
        if (found == wanted) continue;
        tc_buf cure = {0};
        if (!tc_is_float(found)) tc_buf_printf(&cure, "data.normalize: {%s: {divide: 1}} makes it floating", name);
        else if (wanted == TC_F64) tc_buf_puts(&cure, "precision: float64 makes it f64");
        else tc_buf_printf(&cure, "forward: m(%s.to(torch.%s)) converts it", name, tc_dtypes[wanted].torch);
        tc_status_add(s, "the column %s of the %s is %s and the model's input %s is %s: %s", name, data, tc_dtypes[found].name, name,
                      tc_dtypes[wanted].name, tc_buf_str(&cure));
        tc_buf_free(&cure);
    }
    return s;
}

tc_status tc_train_build_micro(tc_trainer *t) {
    tc_program *p;
    TC_TRY(explain_types(t, capture_program((capturing){.t = t, .name = "micro", .declare = declare_micro, .of_recipe = true}, &p)));
    const tc_yaml *at = tc_yaml_get(t->r->root, "loss");
    tc_status s = check_number(p->outputs[find_loss(p, -1)].value, at, true);
    tc_pass pass = tc_pass_begin(p, "joint", tc_arena_printf(&p->arena, "--joint=%s", p->outputs[find_loss(p, -1)].name));
    if (!s) s = tc_decompose_some(p, draws, NULL);
    tc_node *end = NULL;
    if (!s) s = tc_grad_program(p, find_loss(p, -1), t->r->backward, NULL, 0, &end);
    if (!s && t->r->saved != TC_DTYPE_NONE) s = save_as(t, p, &end);
    if (!s && tc_dist_size(t->o.dist) > 1) s = tc_train_share_draws(t, p);
    s = tc_pass_end(&pass, p, s);
    if (!s) s = tc_program_verify(p);
    if (!s) s = make_exec(t, p, &t->micro_exec);
    if (!s) {
        t->loss_at = find_loss(p, -1);
        if (t->scale.on) t->loss_at = find_loss(p, t->loss_at);
        if (!find_gradients(t, p)) s = tc_yaml_error(at, "no parameter that is trained is part of it: nothing would be learnt");
    }
    tc_program_release(p);
    return s;
}

tc_status tc_train_build_eval(tc_trainer *t) {
    tc_program *p;
    TC_TRY(capture_program((capturing){.t = t, .name = "eval", .declare = declare_eval, .plain = true, .of_recipe = true}, &p));
    tc_status s = NULL;
    for (int i = 0, k = -1; i < p->noutputs && !s; i++) /* the loss, then the metrics */
        if (p->outputs[i].kind == TC_OUT_USER && ++k) s = check_number(p->outputs[i].value, t->r->metrics->items[k - 1], false);
    if (!s) s = make_exec(t, p, &t->eval_exec);
    tc_map averages = {0}; /* of parameters, in whose place they are validated with */
    for (size_t k = 0; k < t->averages.len; k++) tc_map_set(&averages, t->averages.data[k].param, &t->averages.data[k].data);
    for (int i = 0; i < p->ninputs && !s; i++) {
        const tc_tensor *average = p->inputs[i].kind == TC_IN_PARAMETER ? tc_map_find(&averages, p->inputs[i].name) : NULL;
        if (average) s = tc_exec_set_state(t->eval_exec, i, average);
    }
    tc_map_free(&averages);
    tc_program_release(p);
    return s;
}

/* ---- update ---- */

/* Declares the update's inputs: optimizer state and averages, then gradients; returns the gradients (tensors and None). */
static V update_inputs(capturing *j) {
    tc_trainer *t = j->t;
    C *c = t->lang;
    for (size_t i = 0; i < t->state.len; i++) state_input(j, &t->state.data[i]);
    for (size_t i = 0; i < t->averages.len; i++) state_input(j, &t->averages.data[i]);
    V grads = tc_tuple(c, (size_t)t->nparams, NULL);
    for (int i = 0; i < t->nparams; i++) {
        const tc_tensor *p = tc_trainer_weight(t, t->param_names[i]);
        if (t->grad_of[i] >= 0) ((tuple *)grads)->a[i] = input_of(j, tc_arena_printf(&c->arena, "grad_%d", i), p->dtype, p->rank, p->size, NULL);
    }
    return grads;
}

static void declare_update(capturing *j, list *results) {
    tc_trainer *t = j->t;
    C *c = t->lang;
    V grads = update_inputs(j);
    list *where = tc_list(c, 4), *values = tc_list(c, 4);
    for (size_t i = 0; i < t->numbers.len; i++) {
        const opt_number *o = &t->numbers.data[i];
        if (!o->varies) continue;
        const char *name = tc_arena_printf(&c->arena, "%s_%d_%zu", o->key, o->group, i);
        tc_list_push(c, where, tc_tuple_of(c, 3, tc_int(c, o->group), tc_strz(c, o->key), tc_int(c, o->index)));
        tc_list_push(c, values, tc_capture_counted(j->k, name, TC_F64, (tc_symvalue){.f = o->value}));
    }
    V a[4] = {grads, (V)where, (V)values, tc_capture_counted(j->k, "step", TC_F64, (tc_symvalue){.f = (double)tc_train_updates(t)})};
    args A = {.a = a, .n = 4};
    j->names[0] = "norm";
    c->capturing = true, c->warn = NULL; /* step() handles the changes that it may make; others are refused */
    tc_list_push(c, results, tc_call(c, t->update, &A));
    c->capturing = false;
}

/* The first step, which creates the optimizer state: results are the norm and that state. Learning rates and the like are constants of this step. */
static void declare_first(capturing *j, list *results) {
    tc_trainer *t = j->t;
    C *c = t->lang;
    V grads = update_inputs(j);
    size_t n;
    c->capturing = true, c->warn = NULL;
    V *made = tc_items(tc_call_method(c, t->update, tc_intern(c, "make_state", 10), 1, &grads), &n);
    c->capturing = false;
    V *leaves = tc_items(made[1], &n);
    t->first_leaves = made[1];
    j->names = TC_NEWN(&c->arena, const char *, n + 1);
    j->names[0] = "norm";
    tc_list_push(c, results, made[0]);
    for (size_t i = 0, three; i < n; i++) {
        V *leaf = tc_items(leaves[i], &three);
        if (tc_kind_of(leaf[2]) == K_SYM) tc_raise(c, "RuntimeError", "a number of the state is not known before the step");
        if (!tc_is_tensor(leaf[2])) continue;
        j->names[results->n] = tc_arena_printf(&c->arena, "state_%lld_%s", (long long)tc_small(leaf[0]), tc_as_str(leaf[1])->s);
        tc_list_push(c, results, leaf[2]);
    }
}

static void begin_first(C *c, void *ctx) {
    tc_trainer *t = ctx;
    tc_call_method(c, t->update, tc_intern(c, "begin_first", 11), 0, NULL);
    tc_train_list_tensors(c, t, "attach", &t->state);
}

static void forget_first(C *c, void *ctx) { tc_call_method(c, ((tc_trainer *)ctx)->update, tc_intern(c, "forget_first", 12), 0, NULL); }

tc_status tc_train_build_first(tc_trainer *t) {
    tc_program *p = NULL;
    TC_TRY(tc_lang_run(t->lang, begin_first, t));
    tc_status s = capture_program((capturing){.t = t, .name = "first", .declare = declare_first, .plain = true}, &p);
    tc_status f = tc_lang_run(t->lang, forget_first, t);
    if (!s && f) s = f;
    else tc_status_free(f);
    if (!s) s = make_exec(t, p, &t->first_exec);
    if (p) tc_program_release(p);
    return s;
}

tc_status tc_train_build_update(tc_trainer *t) {
    tc_program *p;
    TC_TRY(capture_program((capturing){.t = t, .name = "update", .declare = declare_update, .plain = true}, &p));
    tc_status s = make_exec(t, p, &t->update_exec);
    tc_program_release(p);
    return s;
}
