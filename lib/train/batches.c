/* Micro-batches for the steps: made ahead by the loader of the data, given by number, and the place in the data that a checkpoint keeps. */
#include "base/json_write.h"
#include "train/internal.h"

/* The samples of this rank in the next micro-batch; none after the last step. */
static int64_t draw(void *ctx, int64_t *index) {
    tc_trainer *t = ctx;
    if (t->sampler.given / t->r->accumulate >= t->total) return 0;
    tc_sampler_next(&t->sampler, index);
    if (t->train->kind == TC_DATA_BATCHES) return 1;
    memmove(index, index + t->first_sample, (size_t)t->local_batch * sizeof *index);
    return t->local_batch;
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
                           .workers = d->workers,
                           .prefetch = d->prefetch,
                           .any_order = d->any_order,
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
    tc_loader_destroy(t->loader); /* the sampler is ours again */
    t->loader = NULL;
    int64_t *index = tc_xcalloc((size_t)t->sampler.batch, sizeof *index);
    tc_sampler_seek(&t->sampler, t->numbers_given[k]);
    int64_t n = draw(t, index);
    tc_status s = tc_data_gather(t->train, index, n, t->r->floats, columns, NULL);
    free(index);
    return s;
}

/* Where the loader is, in the trainer. */
static void keep_position(tc_trainer *t) {
    int64_t begin, *taken;
    tc_loader_position(t->loader, &begin, &taken, &t->ntaken);
    t->taken = TC_NEWN(&t->arena, int64_t, (size_t)t->ntaken + 1);
    memcpy(t->taken, taken, (size_t)t->ntaken * sizeof *taken);
    free(taken);
}

bool tc_train_await_data(tc_trainer *t, const volatile sig_atomic_t *stop) {
    static const double POLL = 0.05;
    while (t->loader && !tc_loader_wait(t->loader, POLL))
        if (stop && *stop == TC_STOP_SAVE_AND_END) {
            keep_position(t);
            tc_loader_abandon(t->loader);
            t->loader = NULL;
            t->abandoned = true;
            return false;
        }
    return true;
}

void tc_train_write_position(tc_trainer *t, tc_json *w) {
    if (t->loader) keep_position(t);
    if (!t->ntaken) return;
    tc_json_key(w, "batches_taken"); /* of those behind the first that was not */
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
    t->taken = TC_NEWN(&t->arena, int64_t, (size_t)y->n + 1);
    for (int i = 0; i < y->n; i++) {
        TC_TRY(tc_yaml_int(y->items[i], &t->taken[i]));
        int64_t least = i ? t->taken[i - 1] + 1 : count - y->n + 1;
        if (t->taken[i] < least) return tc_yaml_error(y->items[i], "found %lld, expected %lld or more", (long long)t->taken[i], (long long)least);
    }
    t->ntaken = y->n <= count ? y->n : 0;
    return NULL;
}
