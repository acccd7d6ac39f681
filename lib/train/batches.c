/* Micro-batches of the steps, prefetched by the data loader, and the position in the data that a checkpoint stores. */
#include "base/json_write.h"
#include "train/internal.h"

/* Draws the sample indices of this rank's part of the next micro-batch; returns 0 after the last step. */
static int64_t draw_from(const tc_trainer *t, tc_sampler *s, int64_t *index) {
    if (s->given / t->r->accumulate >= t->total) return 0;
    tc_sampler_next(s, index);
    if (t->train->kind == TC_DATA_BATCHES) return 1;
    memmove(index, index + t->first_sample, (size_t)t->local_batch * sizeof *index);
    return t->local_batch;
}

static int64_t draw(void *ctx, int64_t *index) {
    tc_trainer *t = ctx;
    return draw_from(t, &t->sampler, index);
}

tc_status tc_train_start_data(tc_trainer *t) {
    const tc_dataset *d = t->train;
    if (t->loader) return NULL;
    if (d->any_order && tc_dist_size(t->o.dist) > 1) return tc_error(TC_UNSUPPORTED, "in_order: false over several ranks is not supported");
    t->numbers_given = tc_xcalloc((size_t)t->r->accumulate, sizeof *t->numbers_given);
    tc_loader_options o = {.set = d,
                           .room = t->sampler.batch,
                           .floats = t->r->floats,
                           .draw = draw,
                           .ctx = t,
                           .together = t->r->accumulate,
                           .begin = t->step * t->r->accumulate};
    if (t->ntaken) o.begin -= t->ntaken, o.taken = t->taken, o.ntaken = t->ntaken;
    tc_sampler_seek(&t->sampler, o.begin);
    return tc_loader_create(&o, &t->loader);
}

tc_status tc_train_next_batch(tc_trainer *t, int64_t k, tc_tensor *columns) {
    int64_t number;
    TC_TRY(tc_train_start_data(t));
    TC_TRY(tc_loader_next(t->loader, columns, &number));
    if (number < 0) TC_BUG("no batch for step %lld", (long long)t->step);
    t->numbers_given[k] = number;
    return NULL;
}

tc_status tc_train_batch_again(tc_trainer *t, int64_t k, tc_tensor *columns) {
    tc_sampler again; /* the loader's sampler is ahead */
    TC_TRY(tc_sampler_init(&again, t->train, t->r->batch, t->r->seed));
    int64_t *index = tc_xcalloc((size_t)again.batch, sizeof *index);
    tc_sampler_seek(&again, t->numbers_given[k]);
    int64_t n = draw_from(t, &again, index);
    tc_status s = tc_data_gather(t->train, index, n, t->r->floats, columns, NULL);
    free(index);
    tc_sampler_deinit(&again);
    return s;
}

bool tc_train_data_is_there(tc_trainer *t) {
    static const double POLL = 0.05;
    return tc_loader_wait(t->loader, t->r->accumulate, POLL);
}

/* Stores the loader's position in the trainer. */
static void keep_position(tc_trainer *t) {
    int64_t begin; /* follows from the step */
    free(t->taken);
    tc_loader_position(t->loader, &begin, &t->taken, &t->ntaken);
}

void tc_train_write_position(tc_trainer *t, tc_json *w) {
    if (t->loader) keep_position(t);
    if (!t->ntaken) return;
    tc_json_key(w, "batches_taken"); /* batches taken out of order, beyond the first one not taken */
    tc_json_array(w);
    for (int i = 0; i < t->ntaken; i++) tc_json_int(w, t->taken[i]);
    tc_json_end(w);
}

tc_status tc_train_read_position(tc_trainer *t, const tc_yaml *state) {
    const tc_yaml *y = tc_yaml_get(state, "batches_taken");
    int64_t count = t->step * t->r->accumulate;
    t->ntaken = 0;
    if (tc_yaml_is_null(y)) return NULL;
    if (y->kind != TC_YAML_LIST) return tc_yaml_error(y, "expected a list of numbers");
    if (y->n > count) return tc_yaml_error(y, "%d batches, but the steps took %lld", y->n, (long long)count);
    free(t->taken);
    t->taken = tc_xcalloc((size_t)y->n + 1, sizeof *t->taken);
    for (int i = 0; i < y->n; i++) {
        TC_TRY(tc_yaml_int(y->items[i], &t->taken[i]));
        int64_t least = i ? t->taken[i - 1] + 1 : count - y->n + 1;
        if (t->taken[i] < least) return tc_yaml_error(y->items[i], "found %lld, expected %lld or more", (long long)t->taken[i], (long long)least);
    }
    t->ntaken = y->n;
    return NULL;
}
