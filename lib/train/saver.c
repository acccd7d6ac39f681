/* A checkpoint that is written while training goes on (checkpoint: {async: true}): between two steps the tensors are copied, then a thread writes
 * the copies as tc_ckpt_save does, in the same order of temporary folder, sync, rename, reading back and link. One at a time; the memory of the copies
 * stays for the next one. */
#include "base/text.h"
#include "ckpt/ckpt.h"
#include "train/internal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct tc_saver {
    pthread_t thread;
    bool running;
    tc_tensors copies;
    tc_buf state;
    const char *dir;
    int64_t step, best, except;
    tc_recipe_checkpoint keep;
    double seconds;   /* of the last one */
    tc_status status; /* the thread's */
};

static void *work(void *arg) {
    tc_saver *v = arg;
    const double start = tc_now();
    v->status = tc_ckpt_save(v->dir, v->step, (tc_ckpt_content){.tensors = &v->copies, .state = tc_buf_str(&v->state)});
    if (!v->status) v->status = tc_ckpt_prune(v->dir, v->keep.keep_last, v->keep.keep_every, v->best, v->except);
    v->seconds = tc_now() - start;
    return NULL;
}

typedef struct {
    const tc_tensors *from, *to;
} pair;
static void copy_range(void *ctx, int64_t i0, int64_t i1, int worker) {
    const pair *p = ctx;
    (void)worker;
    for (int64_t i = i0; i < i1; i++) {
        const tc_tensor *x = &p->from->items.data[i].tensor, *y = &p->to->items.data[i].tensor;
        memcpy(tc_tensor_data(y), tc_tensor_data(x), tc_tensor_bytes(x));
    }
}

/* The tensors of `all` into v->copies: into the memory of the copies before them, or where names or sizes are others, into new memory. Names and
 * metadata, which the one before was written with, are made anew. */
static tc_status copy(tc_saver *v, tc_pool *pool, const tc_tensors *all) {
    tc_tensors old = v->copies;
    bool same = old.items.len == all->items.len;
    for (size_t i = 0; i < all->items.len && same; i++) {
        const tc_tensor *x = &all->items.data[i].tensor, *y = &old.items.data[i].tensor;
        same = !strcmp(all->items.data[i].name, old.items.data[i].name) && x->dtype == y->dtype && x->rank == y->rank &&
               !memcmp(x->size, y->size, (size_t)x->rank * sizeof *x->size) && tc_tensor_is_contiguous(x);
    }
    v->copies = (tc_tensors){0};
    if (!same) tc_tensors_deinit(&old);
    tc_status s = NULL;
    for (size_t i = 0; i < all->items.len && !s; i++) {
        tc_tensor own;
        if (same) own = tc_tensor_share(&old.items.data[i].tensor);
        else s = tc_tensor_clone(&all->items.data[i].tensor, &own);
        if (!s) s = tc_tensors_add(&v->copies, all->items.data[i].name, own);
    }
    if (same && !s) tc_parallel_for(pool, (int64_t)all->items.len, 1, copy_range, &(pair){all, &v->copies});
    tc_tensors_deinit(&old);
    return s;
}

static tc_status start(tc_saver *v) {
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the training's */
    const int e = pthread_create(&v->thread, NULL, work, v);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    v->running = !e;
    return e ? tc_error(TC_ENV, "starting the thread that writes checkpoints: %s", strerror(e)) : NULL;
}

tc_status tc_saver_begin(tc_trainer *t, const char *dir) {
    if (!t->saver) t->saver = tc_xcalloc(1, sizeof *t->saver);
    tc_saver *v = t->saver;
    const tc_recipe_checkpoint *k = &t->r->checkpoint;
    v->dir = dir, v->step = t->step, v->keep = *k, v->best = k->keep_best ? t->best_step : -1, v->except = t->resumed_from;
    tc_tensors all = {0};
    v->state.len = 0;
    tc_status s = tc_train_gather(t, &all, &v->state);
    if (!s) s = copy(v, t->o.pool, &all);
    tc_tensors_deinit(&all);
    return s ? s : start(v);
}

tc_status tc_saver_end(tc_trainer *t, double *out_seconds) {
    tc_saver *v = t->saver;
    if (!v || !v->running) return NULL;
    pthread_join(v->thread, NULL);
    v->running = false;
    if (out_seconds) *out_seconds = v->seconds;
    tc_status s = v->status;
    v->status = NULL;
    return s;
}

void tc_saver_free(tc_trainer *t) {
    if (!t->saver) return;
    tc_status_free(tc_saver_end(t, NULL));
    tc_tensors_deinit(&t->saver->copies);
    tc_buf_free(&t->saver->state);
    free(t->saver);
}
