/* The scale of the loss, as torch.amp.GradScaler has it: the backward of float16 begins with loss * scale, so that small gradients do not become 0.
 *
 *     gradients finite       update with gradients / scale; after growth_interval such steps in a row the scale grows
 *     one is not finite      no update: the step is skipped, and the scale is backed off
 *
 * The scale is a float32, as PyTorch's. */
#include "base/text.h"
#include "tensor/arith.h"
#include "train/internal.h"

#include <math.h>
#include <stdio.h>

/* The least float16. Gradients that are not finite at this scale do not overflow: they are wrong at any. */
static const float LEAST_SCALE = 0x1p-24f;

static const char *const keys[] = {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"};
enum { NKEYS = sizeof keys / sizeof *keys };

static void values(const tc_trainer *t, double *out) {
    const loss_scale *k = &t->scale;
    const double all[NKEYS] = {(double)k->scale, k->growth, k->backoff, (double)k->interval, (double)k->good};
    memcpy(out, all, sizeof all);
}

tc_status tc_train_scaler_init(tc_trainer *t) {
    const tc_recipe_scaler *r = &t->r->scaler;
    if (t->scale.interval) return NULL; /* the language is made anew during the run */
    t->scale = (loss_scale){.on = r->on && !t->eager,
                            .scale = (float)r->init_scale,
                            .growth = r->growth_factor,
                            .backoff = r->backoff_factor,
                            .interval = r->growth_interval};
    if (r->on && t->eager && !tc_yaml_is_null(t->r->scaler_node))
        return tc_yaml_error(t->r->scaler_node, "an optimiser that calls the loss itself takes the gradients of the loss unscaled: expected false");
    return NULL;
}

/* The first gradient that is not finite; -1: none. */
static int first_bad(const tc_trainer *t) {
    int bad = -1;
    tc_pool_enter(t->o.pool);
    for (int i = 0; i < t->nparams && bad < 0; i++)
        if (t->grads[i].storage && !tc_train_all_finite(&t->grads[i], t->o.pool)) bad = i;
    tc_pool_leave(t->o.pool);
    return bad;
}

static void skip(tc_trainer *t, int bad) {
    loss_scale *k = &t->scale;
    t->norm = INFINITY;
    for (int i = bad; i < t->nparams; i++)
        if (t->grads[i].storage && isnan(tc_train_worst(&t->grads[i]))) t->norm = NAN;
    tc_train_note(t, "step %lld is skipped: the gradient of %s is not finite at a loss scale of %g", (long long)t->step + 1, t->param_names[bad],
                  (double)k->scale);
    k->scale = (float)((double)k->scale * k->backoff);
    k->good = 0;
    t->skipped++;
}

static void accept(tc_trainer *t) {
    loss_scale *k = &t->scale;
    const double by = (double)(float)(1 / (double)k->scale);
    for (int i = 0; i < t->nparams && by != 1; i++)
        if (t->grads[i].storage) tc_scale_by(t->grads[i].dtype, tc_tensor_data(&t->grads[i]), by, tc_tensor_numel(&t->grads[i]));
    if (++k->good < k->interval) return;
    const float grown = (float)((double)k->scale * k->growth);
    if (isfinite(grown)) k->scale = grown;
    k->good = 0;
}

/* Is a gradient of these results not finite? */
static tc_status look(tc_trainer *t, const tc_tensor *out, int64_t *bad) {
    for (int i = 0; i < t->nparams; i++) {
        tc_tensor g;
        if (t->grad_of[i] < 0) continue;
        TC_TRY(tc_tensor_contiguous(&out[t->grad_of[i]], &g));
        if (tc_train_worst(&g) != 0) *bad = 1;
        tc_tensor_deinit(&g);
    }
    return NULL;
}

/* Runs the step's micro-batches again. */
static tc_status gradients_again(tc_trainer *t, int64_t *bad) {
    const tc_program *p = tc_exec_program(t->micro_exec);
    tc_status s = NULL;
    for (int64_t k = 0; k < t->r->accumulate && !s; k++) {
        tc_tensor columns[TC_DATA_MAX_COLUMNS] = {0}, *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
        s = tc_train_batch_again(t, k, columns);
        if (!s) s = tc_train_run_micro(t, t->micro_exec, k, columns, out);
        if (!s) s = look(t, out, bad);
        for (int i = 0; i < p->noutputs; i++) tc_tensor_deinit(&out[i]);
        for (int i = 0; i < t->train->ncols; i++) tc_tensor_deinit(&columns[i]);
        free(out);
    }
    return s;
}

/* Would a smaller scale make the gradients finite? The buffers, which the forward changes, stay. */
static tc_status is_overflow(tc_trainer *t, bool *out) {
    const float scale = t->scale.scale;
    const size_t n = t->weights.len;
    tc_tensor *kept = tc_xcalloc(n + 1, sizeof *kept);
    int64_t bad = 0;
    tc_status s = NULL;
    for (size_t i = 0; i < n && !s; i++)
        if (t->weights.data[i].buffer) s = tc_tensor_clone(&t->weights.data[i].data, &kept[i]);
    t->scale.scale = LEAST_SCALE;
    if (!s) s = gradients_again(t, &bad);
    t->scale.scale = scale;
    for (size_t i = 0; i < n; i++) {
        if (kept[i].storage) memcpy(tc_tensor_data(&t->weights.data[i].data), tc_tensor_data(&kept[i]), tc_tensor_bytes(&kept[i]));
        tc_tensor_deinit(&kept[i]);
    }
    free(kept);
    if (!s) s = tc_dist_max(t->o.dist, &bad);
    *out = !bad;
    return s;
}

tc_status tc_train_take_gradients(tc_trainer *t, bool *out_skip) {
    const int bad = first_bad(t);
    *out_skip = false;
    if (bad >= 0 && t->scale.on) TC_TRY(is_overflow(t, out_skip));
    if (*out_skip) {
        skip(t, bad);
    } else if (bad >= 0) {
        char what[256];
        snprintf(what, sizeof what, "gradient of %s", t->param_names[bad]);
        return tc_train_diverged(t, what, tc_train_worst(&t->grads[bad]));
    } else if (t->scale.on) {
        accept(t);
    }
    return NULL;
}

void tc_train_scaler_write(const tc_trainer *t, tc_json *w) {
    double all[NKEYS];
    values(t, all);
    tc_json_object(w);
    for (int i = 0; i < NKEYS; i++) {
        tc_json_key(w, keys[i]);
        if (i < 3) tc_json_double(w, all[i]);
        else tc_json_int(w, (int64_t)all[i]);
    }
    tc_json_end(w);
}

tc_status tc_train_scaler_read(tc_trainer *t, const tc_yaml *y) {
    double all[NKEYS];
    values(t, all);
    for (int i = 0; i < NKEYS; i++) {
        const tc_yaml *v = tc_yaml_get(y, keys[i]);
        if (!v || !tc_yaml_is_null(tc_yaml_get(t->r->scaler_node, keys[i]))) continue;
        TC_TRY(tc_yaml_double(v, &all[i]));
        if (!(all[i] >= 0 && all[i] <= 0x1p127)) return tc_yaml_error(v, "found %g, expected a finite number", all[i]);
    }
    t->scale = (loss_scale){t->scale.on, (float)all[0], all[1], all[2], (int64_t)all[3], (int64_t)all[4]};
    return NULL;
}
