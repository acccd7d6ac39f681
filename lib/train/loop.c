/* The training loop: steps, metrics, validation, checkpoints, signals and time limit (train.h). */
#include "base/file.h"
#include "base/json_write.h"
#include "base/text.h"
#include "ckpt/ckpt.h"
#include "train/internal.h"
#include "train/rundir.h"

#include <math.h>

int64_t tc_trainer_step(const tc_trainer *t) { return t->step; }
int64_t tc_trainer_total(const tc_trainer *t) { return t->total; }
double tc_trainer_loss(const tc_trainer *t) { return t->loss; }

static bool leads(const tc_trainer *t) { return tc_dist_rank(t->o.dist) == 0; }

void tc_train_phase(const tc_trainer *t, const char *what) {
    if (t->o.phase) t->o.phase(t->o.ctx, what);
}

typedef struct {
    tc_trainer *t;
    const tc_train_run *run;
    double started, saved_at, slowest_step, save_time;
    int64_t saved_step;
} loop;

/* ---- metrics ---- */

static void line_start(tc_json *w, const tc_trainer *t) {
    tc_json_object(w);
    tc_json_key(w, "step");
    tc_json_int(w, t->step);
}

static tc_status line_end(tc_json *w, const loop *l) {
    tc_json_end(w);
    tc_buf_putc(w->b, '\n');
    tc_status s = l->run->out && leads(l->t) ? tc_train_metrics_add(l->run->out, w->b->data, w->b->len) : NULL;
    tc_buf_free(w->b);
    return s;
}

/* {"step": 12, "epoch": 0, "loss": 2.3, "grad_norm": 0.5, "lr": [0.1], "seconds": 1.2} */
static tc_status log_step(const loop *l) {
    tc_trainer *t = l->t;
    if (t->step % t->r->log_every && t->step != t->total) return NULL;
    tc_buf b = {0};
    tc_json w = {.b = &b};
    line_start(&w, t);
    tc_json_key(&w, "epoch");
    tc_json_int(&w, (t->step - 1) * t->r->accumulate / t->sampler.per_epoch);
    tc_json_key(&w, "loss");
    tc_json_double(&w, t->loss);
    tc_json_key(&w, "grad_norm");
    tc_json_double(&w, t->norm);
    if (t->scale.on) tc_json_key(&w, "scale"), tc_json_double(&w, (double)t->scale.scale);
    tc_json_key(&w, "lr");
    tc_json_array(&w);
    for (int i = 0; i < t->nlrs; i++) tc_json_double(&w, t->lrs[i]);
    tc_json_end(&w);
    tc_json_key(&w, "seconds");
    tc_json_double(&w, round((tc_now() - l->started) * 1000) / 1000);
    return line_end(&w, l);
}

/* {"step": 12, "val_loss": 2.2, "accuracy": 0.8} */
static tc_status validate(const loop *l) {
    tc_trainer *t = l->t;
    if (!t->val) return NULL;
    double *v = tc_xcalloc((size_t)t->nmetrics + 1, sizeof *v);
    tc_status s = tc_train_validate(t, v);
    tc_buf b = {0}, text = {0};
    if (!s) {
        tc_json w = {.b = &b};
        line_start(&w, t);
        tc_json_key(&w, "val_loss");
        tc_json_double(&w, v[0]);
        tc_buf_printf(&text, "step %lld: val_loss %.6g", (long long)t->step, v[0]);
        for (int i = 0; i < t->nmetrics; i++) {
            tc_json_key(&w, t->metric[i]);
            tc_json_double(&w, v[i + 1]);
            tc_buf_printf(&text, " %s %.6g", t->metric[i], v[i + 1]);
        }
        if (!(v[0] >= t->best)) {
            t->best = v[0];
            t->best_step = t->step;
        }
        s = line_end(&w, l);
        tc_train_note(t, "%s", text.data);
    }
    tc_buf_free(&text);
    free(v);
    return s;
}

/* ---- checkpoints ---- */

static tc_status save_now(tc_trainer *t, const char *out) {
    const tc_recipe_checkpoint *k = &t->r->checkpoint;
    TC_TRY(tc_train_save(t, out));
    return tc_ckpt_prune(out, k->keep_last, k->keep_every, k->keep_best ? t->best_step : -1, t->resumed_from);
}

/* Saves a checkpoint. behind: in the background, if the recipe says so; errors of a background save are returned by the next call. */
static tc_status save(loop *l, bool behind) {
    tc_trainer *t = l->t;
    const bool async = t->r->checkpoint.async, there = l->saved_step == t->step;
    if (!l->run->out || (there && !async)) return NULL;
    double start = tc_now(), took = 0;
    tc_status s = tc_saver_end(t, &took);
    if (took > l->save_time) l->save_time = took;
    if (!s && leads(t) && !there) s = async && behind ? tc_saver_begin(t, l->run->out) : save_now(t, l->run->out);
    tc_train_phase(t, "writing checkpoints");
    /* All ranks learn whether rank 0 succeeded: none continues or ends before the rename is on disk. */
    int64_t failed = s != NULL;
    tc_status d = tc_dist_max(t->o.dist, &failed);
    tc_train_phase(t, "waiting for other ranks");
    if (!s && d) s = d;
    else tc_status_free(d);
    if (!s && failed) s = tc_error(TC_ENV, "rank 0 could not write a checkpoint");
    l->saved_step = t->step;
    l->saved_at = tc_now();
    if (l->saved_at - start > l->save_time) l->save_time = l->saved_at - start;
    return s;
}

/* What this rank should do, by signals and the time limit. */
static tc_stop told(const loop *l) {
    const tc_train_run *r = l->run;
    double margin = 2 * (l->slowest_step + l->save_time) + 1;
    if (r->until > 0 && tc_now() + margin > r->until) return TC_STOP_SAVE_AND_END;
    return r->stop ? (tc_stop)*r->stop : TC_STOP_NOT;
}

/* What all ranks do now: the most urgent request of any rank. */
static tc_status asked(loop *l, tc_stop *out) {
    const tc_train_run *r = l->run;
    int64_t want = told(l);
    tc_train_phase(l->t, "other");
    TC_TRY(tc_dist_max(l->t->o.dist, &want));
    tc_train_phase(l->t, "waiting for other ranks");
    if (want == TC_STOP_SAVE && r->stop) *r->stop = TC_STOP_NOT;
    *out = (tc_stop)want;
    return NULL;
}

static bool save_is_due(const loop *l) {
    const tc_recipe_checkpoint *k = &l->t->r->checkpoint;
    if (k->every && l->t->step % k->every == 0) return true;
    return k->minutes > 0 && tc_now() - l->saved_at >= 60 * k->minutes;
}

static tc_status save_if_due(loop *l) {
    int64_t due = save_is_due(l);
    tc_train_phase(l->t, "other");
    TC_TRY(tc_dist_max(l->t->o.dist, &due)); /* the ranks' clocks differ */
    tc_train_phase(l->t, "waiting for other ranks");
    return due ? save(l, true) : NULL;
}

/* ---- the loop ---- */

static tc_status one_step(loop *l) {
    tc_trainer *t = l->t;
    double start = tc_now();
    if (l->run->begin) l->run->begin(l->run->ctx);
    TC_TRY(tc_train_step(t));
    if (t->r->checkpoint.async && l->run->out && leads(t) && t->stepped && !t->saver) TC_TRY(tc_saver_prepare(t));
    double took = tc_now() - start;
    if (took > l->slowest_step) l->slowest_step = took;
    TC_TRY(log_step(l));
    if (l->run->progress) l->run->progress(l->run->ctx, t->step, t->total, t->loss);
    int64_t every = t->r->validate.every;
    bool validates = (every && t->step % every == 0) || t->step == t->total;
    tc_train_phase(t, "other");
    if (validates) TC_TRY(validate(l));
    tc_train_phase(t, "validation");
    TC_TRY(save_if_due(l));
    return NULL;
}

static tc_status run_all(loop *l) {
    tc_trainer *t = l->t;
    const tc_train_run *run = l->run;
    if (run->out && leads(t)) {
        TC_TRY(tc_train_sweep(run->out));
        TC_TRY(tc_train_metrics_rewind(run->out, t->step));
        TC_TRY(tc_train_write_environment(run->out, t->r->dir, run->operators, t->o.numerics, tc_pool_threads(t->o.pool), tc_dist_size(t->o.dist)));
    }
    if (t->step < t->total && t->o.log) TC_TRY(tc_train_say_needed(t));
    if (t->step < t->total) TC_TRY(tc_train_start_data(t));
    while (t->step < t->total) {
        tc_stop stop;
        tc_train_phase(t, "other");
        while (!tc_train_data_is_there(t) && told(l) == TC_STOP_NOT) continue;
        tc_train_phase(t, "reading data");
        TC_TRY(asked(l, &stop));
        if (stop == TC_STOP_SAVE_AND_END && t->step == 0) return tc_error(TC_STOPPED, "stopped before the first step: nothing to save");
        if (stop != TC_STOP_NOT) TC_TRY(save(l, stop == TC_STOP_SAVE));
        if (stop == TC_STOP_SAVE_AND_END)
            return tc_error(TC_STOPPED, "saved at step %lld of %lld and stopped", (long long)t->step, (long long)t->total);
        if (stop == TC_STOP_NOT) TC_TRY(one_step(l));
    }
    TC_TRY(save(l, false));
    tc_train_say_taken(t);
    return NULL;
}

tc_status tc_trainer_run(tc_trainer *t, const tc_train_run *run) {
    loop l = {.t = t, .run = run, .started = tc_now(), .saved_at = tc_now(), .saved_step = t->step ? t->step : -1};
    tc_status s = run_all(&l);
    tc_status lost = s ? tc_saver_end(t, NULL) : NULL; /* a failing run finishes its background checkpoint and reports if that failed, too */
    if (lost) tc_status_add(s, "%s", tc_status_message(lost));
    tc_status_free(lost);
    return s;
}
