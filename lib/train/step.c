/* One optimiser step, and validation. See train.h for the three programs. */
#include "capture/torch.h"
#include "tensor/arith.h"
#include "train/internal.h"

#include <math.h>
#include <stdio.h>

static double scalar_of(const tc_tensor *x) { return tc_scalar_to_double(tc_scalar_load(x->dtype, tc_tensor_data(x), 0)); }

static void deinit_all(tc_tensor *x, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&x[i]);
}

/* ---- micro-batches ---- */

tc_status tc_train_run_micro(tc_trainer *t, tc_exec *e, int64_t k, const tc_tensor *columns, tc_tensor *out) {
    tc_generator_start_step(&t->step_gen, t->r->seed, (uint64_t)t->step, (uint32_t)k); /* the same on every rank: draws.c */
    int n = t->train->ncols;
    if (!t->scale.on) return tc_exec_run(e, columns, n, &t->step_gen, out, tc_exec_program(e)->noutputs);
    tc_tensor in[TC_DATA_MAX_COLUMNS + 1];
    memcpy(in, columns, sizeof *in * (size_t)n);
    TC_TRY(tc_tensor_scalar(TC_F32, tc_scalar_float((double)t->scale.scale), &in[n]));
    tc_status s = tc_exec_run(e, in, n + 1, &t->step_gen, out, tc_exec_program(e)->noutputs);
    tc_tensor_deinit(&in[n]);
    return s;
}

/* Accumulates the loss and gradients of a micro-batch. */
static tc_status add_micro(tc_trainer *t, int64_t k, const tc_tensor *columns) {
    const tc_program *p = tc_exec_program(t->micro_exec);
    tc_tensor *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
    tc_status s = tc_train_run_micro(t, t->micro_exec, k, columns, out);
    if (!s) t->loss += scalar_of(&out[t->loss_at]);
    for (int i = 0; i < t->nparams && !s; i++) {
        int at = t->grad_of[i];
        if (at < 0) continue;
        if (t->grads[i].storage) {
            tc_tensor g;
            s = tc_tensor_contiguous(&out[at], &g);
            if (s) break;
            tc_add_into(g.dtype, tc_tensor_data(&t->grads[i]), tc_tensor_data(&g), tc_tensor_numel(&g));
            tc_tensor_deinit(&g);
        } else {
            s = tc_tensor_contiguous(&out[at], &t->grads[i]);
        }
    }
    deinit_all(out, p->noutputs);
    free(out);
    return s;
}

static tc_status all_reduce(tc_trainer *t) {
    int size = tc_dist_size(t->o.dist);
    if (size == 1) return NULL;
    /* Means over a rank's samples are weighted by their number; 1 for even slices. */
    double share = (double)t->local_batch * size / (double)t->batch;
    bool even = t->batch % size == 0;
    if (!even) t->loss *= share;
    TC_TRY(tc_dist_sum(t->o.dist, TC_F64, &t->loss, 1));
    t->loss /= size;
    for (int i = 0; i < t->nparams; i++) {
        tc_tensor *g = &t->grads[i];
        if (!g->storage) continue;
        void *data = tc_tensor_data(g);
        int64_t n = tc_tensor_numel(g);
        if (!even) tc_scale_by(g->dtype, data, share, n);
        TC_TRY(tc_dist_sum(t->o.dist, g->dtype, data, n));
        tc_scale_by(g->dtype, data, 1.0 / size, n);
    }
    return NULL;
}

/* Computes the step's loss and gradients over all micro-batches and ranks: of the next micro-batches, or (eager) again of the current ones. */
static tc_status gradients(tc_trainer *t) {
    int n = t->train->ncols;
    bool again = t->columns != NULL;
    if (t->eager && !again) t->columns = tc_xcalloc((size_t)t->r->accumulate * (size_t)n, sizeof *t->columns);
    t->loss = 0;
    for (int i = 0; i < t->nparams; i++) tc_tensor_deinit(&t->grads[i]);
    tc_status s = NULL;
    for (int64_t k = 0; k < t->r->accumulate && !s; k++) {
        tc_tensor own[TC_DATA_MAX_COLUMNS] = {0}, *columns = t->eager ? t->columns + k * n : own;
        if (!again) s = tc_train_next_batch(t, k, columns);
        tc_train_phase(t, "reading data");
        if (!s) s = add_micro(t, k, columns);
        tc_train_phase(t, "forward and backward");
        deinit_all(own, n);
    }
    if (!s) s = all_reduce(t);
    tc_train_phase(t, "waiting for other ranks");
    return s;
}

/* ---- the update ---- */

/* Reads the current numbers of the optimizer's groups. */
static void read_numbers(C *c, tc_trainer *t) {
    size_t n, parts;
    V *all = tc_items(tc_call_method(c, t->update, tc_intern(c, "numbers", 7), 0, NULL), &n);
    bool first = t->numbers.len == 0;
    if (!first && t->numbers.len != n) { /* a step that is not captured may add one */
        t->numbers.len = 0;
        first = true;
    }
    t->nlrs = 0;
    for (size_t i = 0; i < n; i++) {
        V *x = tc_items(all[i], &parts);
        const char *key = tc_as_str(x[1])->s;
        double value = tc_to_double(c, x[3]);
        bool lr = strcmp(key, "lr") == 0;
        if (first) {
            opt_number o = {
                .group = (int)tc_small(x[0]), .key = tc_arena_strdup(&t->arena, key), .index = (int)tc_small(x[2]), .value = value, .varies = lr};
            tc_vec_push(&t->numbers, o);
        }
        opt_number *o = &t->numbers.data[i];
        if (o->value != value && t->first_exec) { /* steps were skipped since it was planned with the rates of then */
            tc_exec_destroy(t->first_exec);
            t->first_exec = NULL;
        }
        if (o->value != value && !o->varies) {
            /* A schedule that moves more than the rate (OneCycleLR: momentum): captured again with one more input. */
            o->varies = true;
            tc_exec_destroy(t->update_exec);
            t->update_exec = NULL;
        }
        o->value = value;
        if (lr) {
            if (first || !t->lrs) t->lrs = tc_xrealloc(t->lrs, n * sizeof *t->lrs);
            t->lrs[t->nlrs++] = value;
        }
    }
}

/* The step's gradients as objects of the language: a tuple of tensors and None. */
static V wrap_gradients(C *c, tc_trainer *t) {
    V grads = tc_tuple(c, (size_t)t->nparams, NULL);
    for (int i = 0; i < t->nparams; i++)
        ((tuple *)grads)->a[i] = t->grads[i].storage ? tc_torch_wrap(c, tc_tensor_share(&t->grads[i]), false) : c->none;
    return grads;
}

typedef struct {
    obj h;
    tc_trainer *t;
} evaluation;

static bool same_type(const tc_tensor *a, const tc_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * (size_t)a->rank);
}

void tc_train_take_data(C *c, tc_trainer *t) {
    for (size_t i = 0; i < t->weights.len; i++) {
        weight *w = &t->weights.data[i];
        tensor *o = (tensor *)w->object;
        if (w->alias_of >= 0 || !o || !o->t.storage || (o->t.storage == w->data.storage && o->t.offset == w->data.offset)) continue;
        if (!same_type(&o->t, &w->data)) tc_raise(c, "RuntimeError", "the data of %s is replaced by a tensor of another shape or type", w->fqn);
        tc_torch_copy_into(c, tc_torch_wrap(c, tc_tensor_share(&w->data), false), w->object);
        tc_tensor_deinit(&o->t);
        o->t = tc_tensor_share(&w->data);
    }
}

/* evaluate() -> (loss, gradients) at the weights as they are now, on the batch of this step. */
static V evaluate_again(C *c, args *A) {
    tc_trainer *t = ((evaluation *)A->a[0])->t;
    double first = t->loss;
    tc_train_take_data(c, t);
    tc_status s = gradients(t);
    if (s) tc_raise_status(c, "RuntimeError", s);
    V loss = tc_float(c, t->loss);
    t->loss = first;
    return tc_tuple_of(c, 2, loss, wrap_gradients(c, t));
}

void tc_train_set_closure(C *c, tc_trainer *t) {
    t->eager = tc_truth(c, tc_getattr(c, t->update, tc_intern(c, "eager", 5)));
    evaluation *e = tc_new(c, K_OBJECT, sizeof *e);
    e->t = t;
    tc_setattr(c, t->update, tc_intern(c, "evaluate", 8), tc_method(c, tc_native(c, "evaluate", evaluate_again, NULL), (V)e));
}

/* Lists and dicts that a step made are from before the next one: a capture of it that fails takes back what it does to them. */
static void keep_containers(C *c, tc_trainer *t) {
    size_t n;
    V *all = tc_items(tc_call_method(c, t->update, tc_intern(c, "containers", 10), 0, NULL), &n);
    for (size_t i = 0; i < n; i++) {
        if (tc_kind_of(all[i]) == K_LIST) ((list *)all[i])->module = c;
        else if (tc_kind_of(all[i]) == K_DICT) ((dict *)all[i])->module = c;
    }
}

static void eager_update(C *c, void *ctx) {
    tc_trainer *t = ctx;
    tc_generator_seed(&t->eager_gen, t->r->seed ^ (uint64_t)(t->step + 1) << 32); /* the same on every rank, and after --resume */
    V norm, given[2] = {tc_float(c, t->loss), wrap_gradients(c, t)};
    void (*warn_people)(void *, const char *) = c->warn;
    c->capturing = true, c->warn = NULL; /* what it changes is noted, and refused where no checkpoint would hold it */
    if (t->eager) norm = tc_call_method(c, t->update, tc_intern(c, "run_eagerly", 11), 2, given);
    else norm = tc_call_method(c, t->update, tc_intern(c, "run_first", 9), 1, &given[1]);
    c->capturing = false, c->warn = warn_people;
    tc_undo_forget(c);
    tc_train_take_data(c, t);
    keep_containers(c, t);
    t->norm = scalar_of(&((tensor *)norm)->t);
}

void tc_train_free_tensors(opt_states *s) {
    for (size_t i = 0; i < s->len; i++) {
        opt_state *x = &s->data[i];
        tc_tensor_deinit(&x->data);
        free(x->buffer), free(x->param), free(x->key);
    }
    tc_vec_free(s);
    *s = (opt_states){0};
}

void tc_train_list_tensors(C *c, tc_trainer *t, const char *what, opt_states *out) {
    size_t n, parts;
    V *all = tc_items(tc_call_method(c, t->update, tc_intern(c, what, strlen(what)), 0, NULL), &n);
    tc_train_free_tensors(out);
    for (size_t i = 0; i < n; i++) {
        V *x = tc_items(all[i], &parts); /* buffer, parameter, key or None, tensor */
        opt_state s = {.buffer = tc_xstrdup(tc_as_str(x[0])->s),
                       .param = tc_xstrdup(tc_as_str(x[1])->s),
                       .key = x[2] == c->none ? NULL : tc_xstrdup(tc_as_str(x[2])->s),
                       .data = tc_tensor_share(&((tensor *)x[3])->t)};
        tc_vec_push(out, s);
    }
}

static void collect_state(C *c, void *ctx) {
    tc_trainer *t = ctx;
    tc_train_list_tensors(c, t, "attach", &t->state);
    tc_train_list_tensors(c, t, "other_tensors", &t->others);
    t->stepped = tc_truth(c, tc_call_method(c, t->update, tc_intern(c, "ready", 5), 0, NULL));
}

tc_status tc_train_collect_state(tc_trainer *t) { return tc_lang_run(t->lang, collect_state, t); }

/* A captured update on the step's gradients and, but for the first one, the numbers that vary and the step count. out: its noutputs. */
static tc_status run_captured(tc_trainer *t, tc_exec *e, tc_tensor *out) {
    int n = 0, max = t->nparams + (int)t->numbers.len + 1;
    tc_tensor *in = tc_xcalloc((size_t)max, sizeof *in);
    tc_status s = NULL;
    bool first = e == t->first_exec;
    for (int i = 0; i < t->nparams; i++)
        if (t->grads[i].storage) in[n++] = tc_tensor_share(&t->grads[i]);
    for (size_t i = 0; i < t->numbers.len && !s && !first; i++)
        if (t->numbers.data[i].varies) s = tc_tensor_scalar(TC_F64, tc_scalar_float(t->numbers.data[i].value), &in[n++]);
    if (!s && !first) s = tc_tensor_scalar(TC_F64, tc_scalar_float((double)tc_train_updates(t)), &in[n++]);
    tc_generator_start_step(&t->step_gen, t->r->seed, (uint64_t)t->step, (uint32_t)t->r->accumulate); /* behind the micro-batches */
    if (!s) s = tc_exec_run(e, in, n, &t->step_gen, out, tc_exec_program(e)->noutputs);
    deinit_all(in, max);
    free(in);
    return s;
}

static tc_status run_update(tc_trainer *t) {
    const tc_program *p = tc_exec_program(t->update_exec);
    tc_tensor *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
    tc_status s = run_captured(t, t->update_exec, out);
    for (int i = 0; i < p->noutputs && !s; i++)
        if (p->outputs[i].kind == TC_OUT_USER) t->norm = scalar_of(&out[i]);
    deinit_all(out, p->noutputs);
    free(out);
    return s;
}

typedef struct {
    tc_trainer *t;
    tc_tensor *out;
} first_results;

/* The norm, and the state as the optimiser's. */
static void take_first(C *c, void *ctx) {
    first_results *r = ctx;
    tc_trainer *t = r->t;
    const tc_program *p = tc_exec_program(t->first_exec);
    list *made = tc_list(c, 8);
    bool norm = true;
    for (int i = 0; i < p->noutputs; i++) {
        if (p->outputs[i].kind != TC_OUT_USER) continue;
        if (norm) t->norm = scalar_of(&r->out[i]);
        else tc_list_push(c, made, tc_torch_wrap(c, tc_tensor_share(&r->out[i]), false));
        norm = false;
    }
    V given[2] = {t->first_leaves, (V)made};
    tc_call_method(c, t->update, tc_intern(c, "take_first", 10), 2, given);
}

/* The first update, which creates the optimizer state; its program runs once. */
static tc_status first_update(tc_trainer *t) {
    const tc_program *p = tc_exec_program(t->first_exec);
    tc_tensor *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
    tc_status s = run_captured(t, t->first_exec, out);
    if (!s) s = tc_lang_run(t->lang, take_first, &(first_results){t, out});
    deinit_all(out, p->noutputs);
    free(out);
    tc_exec_destroy(t->first_exec);
    t->first_exec = NULL;
    return s;
}

/* Before a step: the numbers it uses. */
static void first_numbers(C *c, void *ctx) { read_numbers(c, ctx); }

static void leave_captures(C *c, void *ctx) {
    tc_trainer *t = ctx;
    V step = tc_int(c, tc_train_updates(t));
    tc_call_method(c, t->update, tc_intern(c, "go_by_operators", 15), 1, &step);
}

/* Switches to eager updates and reports why (takes the status). */
static tc_status go_by_operators(tc_trainer *t, tc_status why) {
    t->by_operators = true;
    if (t->o.log) t->o.log(t->o.ctx, "update", tc_status_message(why));
    if (t->stepped) tc_train_note(t, "the optimiser's steps run operator by operator: %s", tc_status_message(why));
    t->never_captured = t->stepped;
    t->stepped = false;
    tc_status_free(why);
    return t->never_captured ? tc_lang_run(t->lang, leave_captures, t) : NULL;
}

tc_status tc_train_plan_update(tc_trainer *t) {
    if (t->eager || t->first_exec || t->update_exec) return NULL;
    TC_TRY(tc_lang_run(t->lang, first_numbers, t));
    if (!t->stepped && t->by_operators) return NULL;
    tc_status s = t->stepped ? tc_train_build_update(t) : tc_train_build_first(t);
    return !s || tc_status_code(s) == TC_ENV ? s : go_by_operators(t, s);
}

/* A step() that branches on the step count or a rate is captured for one side of the branch; when the other side's turn comes the program's
 * condition fails before anything ran, and the step is captured again. */
static tc_status captured_update(tc_trainer *t) {
    TC_TRY(tc_train_plan_update(t));
    for (int turn = 0; t->stepped; turn++) {
        tc_status s = run_update(t);
        if (turn || tc_status_code(s) != TC_CONTENT) return s;
        tc_status_free(s);
        tc_exec_destroy(t->update_exec);
        t->update_exec = NULL;
        TC_TRY(tc_train_plan_update(t));
    }
    return NULL; /* the update cannot be captured */
}

/* After a step: scheduler_step, then the numbers of the next one. */
static void host_part(C *c, void *ctx) {
    tc_trainer *t = ctx;
    if (!t->scheduler && !t->r->scheduler_step) return;
    tc_dict_setc(c, t->names->d, "loss", tc_float(c, t->loss));
    tc_dict_setc(c, t->names->d, "step", tc_int(c, t->step + 1));
    tc_lang_eval(c, t->names, NULL, t->step_place, t->r->scheduler_step ? t->r->scheduler_step : "scheduler.step()");
}

static tc_status update(tc_trainer *t) {
    tc_saver_let_write(t);
    if (t->stepped) TC_TRY(captured_update(t));
    if (!t->stepped) {
        TC_TRY(tc_train_plan_update(t));
        TC_TRY(t->first_exec ? first_update(t) : tc_lang_run(t->lang, eager_update, t));
        TC_TRY(tc_train_collect_state(t));
        if (t->stepped) tc_evaluator_forget(t->evaluator); /* from now on steps are captured */
    }
    if (isfinite(t->norm)) return NULL;
    return tc_error(TC_DIVERGED, "step %lld: the gradient's norm is infinite though no gradient is", (long long)t->step + 1);
}

static tc_status step(tc_trainer *t) {
    TC_TRY(gradients(t));
    if (!isfinite(t->loss)) return tc_train_diverged(t, "loss", t->loss);
    bool skip;
    TC_TRY(tc_train_take_gradients(t, &skip)); /* finite, before weights are changed */
    TC_TRY(tc_lang_run(t->lang, first_numbers, t));
    if (!skip) TC_TRY(update(t));
    TC_TRY(tc_lang_run(t->lang, host_part, t));
    t->step++;
    if (t->lang->arena.used > t->language_limit) TC_TRY(tc_train_renew_language(t), "step %lld", (long long)t->step);
    return NULL;
}

tc_status tc_train_step(tc_trainer *t) {
    tc_status s = step(t);
    if (t->columns) deinit_all(t->columns, (int)t->r->accumulate * t->train->ncols);
    free(t->columns);
    t->columns = NULL;
    tc_train_phase(t, "update");
    return s;
}

/* ---- validation ---- */

/* Batches of `per` of the samples 0, stride, 2 stride, ...; there are `count`. */
typedef struct {
    int64_t at, count, per, stride;
} walk;

static int64_t next_samples(void *ctx, int64_t *index) {
    walk *w = ctx;
    int64_t n = w->count - w->at < w->per ? w->count - w->at : w->per;
    for (int64_t i = 0; i < n; i++) index[i] = (w->at + i) * w->stride;
    w->at += n;
    return n;
}

/* Adds a batch's loss and metrics, weighted by share. */
static tc_status add_eval(tc_trainer *t, const tc_tensor *columns, double share, double *mean) {
    const tc_program *p = tc_exec_program(t->eval_exec);
    tc_tensor *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
    tc_status s = tc_exec_run(t->eval_exec, columns, t->val->ncols, &t->step_gen, out, p->noutputs);
    for (int i = 0, k = 0; i < p->noutputs && !s; i++)
        if (p->outputs[i].kind == TC_OUT_USER && k <= t->nmetrics) mean[k++] += scalar_of(&out[i]) * share;
    deinit_all(out, p->noutputs);
    free(out);
    return s;
}

tc_status tc_train_validate(tc_trainer *t, double *mean) {
    const tc_dataset *d = t->val;
    walk w = {.count = d->count, .per = t->r->validate.batch ? t->r->validate.batch : t->r->batch, .stride = 1};
    if (d->kind == TC_DATA_WINDOWS) w.stride = d->block, w.count = (d->count + d->block - 1) / d->block;
    if (d->limit && d->limit < w.count) w.count = d->limit;
    if (d->kind == TC_DATA_BATCHES) w.per = 1;
    for (int i = 0; i <= t->nmetrics; i++) mean[i] = 0;
    tc_loader *l;
    TC_TRY(tc_loader_create(&(tc_loader_options){.set = d, .room = w.per, .floats = t->r->floats, .draw = next_samples, .ctx = &w}, &l));
    tc_status s = NULL;
    for (int64_t at = 0; at < w.count && !s; at += w.per) {
        int64_t number, n = w.count - at < w.per ? w.count - at : w.per;
        tc_tensor columns[TC_DATA_MAX_COLUMNS] = {0};
        s = tc_loader_next(l, columns, &number);
        if (!s) s = add_eval(t, columns, (double)n / (double)w.count, mean);
        deinit_all(columns, d->ncols);
    }
    tc_loader_destroy(l);
    return s;
}
