/* A checkpoint that is written while training goes on (checkpoint: {async: true}). A thread copies the tensors while the next forward and backward run,
 * which read them; the update waits for the copies. What forward itself writes, buffers of batch norm, is copied before. Then the thread writes the
 * copies as tc_ckpt_save does, in the same order of temporary folder, sync, rename, reading back and link. One at a time; the memory of the copies stays
 * for the next one, and is made beside the second step: pages that are touched for the first time take longer than the copy itself. */
#include "base/text.h"
#include "ckpt/ckpt.h"
#include "train/internal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

typedef struct {
    tc_tensor from;
    const tc_tensor *to;
} pending;

struct tc_saver {
    pthread_t thread;
    bool running;
    tc_tensors copies;
    TC_VEC(pending) pending; /* what the thread copies; let go by the training's own thread */
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool copied;
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
    for (size_t i = 0; i < v->pending.len; i++) {
        const pending *p = &v->pending.data[i];
        memcpy(tc_tensor_data(p->to), tc_tensor_data(&p->from), tc_tensor_bytes(&p->from));
    }
    pthread_mutex_lock(&v->lock);
    v->copied = true;
    pthread_cond_signal(&v->change);
    pthread_mutex_unlock(&v->lock);
    v->status = tc_ckpt_save(v->dir, v->step, (tc_ckpt_content){.tensors = &v->copies, .state = tc_buf_str(&v->state)});
    if (!v->status) v->status = tc_ckpt_prune(v->dir, v->keep.keep_last, v->keep.keep_every, v->best, v->except);
    v->seconds = tc_now() - start;
    return NULL;
}

static void forget_pending(tc_saver *v) {
    for (size_t i = 0; i < v->pending.len; i++) tc_tensor_deinit(&v->pending.data[i].from);
    v->pending.len = 0;
}

/* Adds the storage that a program mutates to the set. */
static void add_written(tc_map *written, const tc_exec *e) {
    const tc_program *p = e ? tc_exec_program(e) : NULL;
    for (int i = 0; p && i < p->noutputs; i++) {
        const bool state = p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER;
        const tc_tensor *x = state && p->outputs[i].target >= 0 ? tc_exec_state(e, p->outputs[i].target) : NULL;
        if (x) *tc_map_put(written, (const char *)&x->storage, sizeof x->storage) = x->storage;
    }
}

/* Room for x in v->copies: the memory of the copy before it, which had that place, where `same`. */
static tc_status add_copy(tc_saver *v, const tc_named *x, const tc_tensors *old, size_t i, bool same) {
    tc_tensor own;
    if (same) own = tc_tensor_share(&old->items.data[i].tensor);
    else if (tc_tensor_is_contiguous(&x->tensor)) TC_TRY(tc_tensor_empty(x->tensor.dtype, x->tensor.rank, x->tensor.size, &own));
    else TC_TRY(tc_tensor_clone(&x->tensor, &own));
    return tc_tensors_add(&v->copies, x->name, own);
}

/* Places for the tensors of `all` in v->copies: the memory of the copies before them, or where names or sizes are others, new memory. Names and
 * metadata, which the one before was written with, are made anew. Those in `written` are copied, the others pending. */
static tc_status copy(tc_saver *v, const tc_tensors *all, const tc_map *written) {
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
    for (size_t i = 0; i < all->items.len && !s; i++) s = add_copy(v, &all->items.data[i], &old, i, same);
    tc_tensors_deinit(&old);
    for (size_t i = 0; i < all->items.len && !s; i++) {
        const tc_tensor *x = &all->items.data[i].tensor, *to = &v->copies.items.data[i].tensor;
        if (!tc_tensor_is_contiguous(x)) continue;
        if (tc_map_get(written, (const char *)&x->storage, sizeof x->storage)) memcpy(tc_tensor_data(to), tc_tensor_data(x), tc_tensor_bytes(x));
        else tc_vec_push(&v->pending, ((pending){tc_tensor_share(x), to}));
    }
    return s;
}

/* Touches the pages, so that they are allocated now. */
static void *touch(void *arg) {
    tc_saver *v = arg;
    for (size_t i = 0; i < v->copies.items.len; i++) {
        const tc_tensor *x = &v->copies.items.data[i].tensor;
        memset(tc_tensor_data(x), 0, tc_tensor_bytes(x));
    }
    return NULL;
}

static tc_status start(tc_saver *v, void *(*what)(void *)) {
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the training's */
    const int e = pthread_create(&v->thread, NULL, what, v);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    v->running = !e;
    return e ? tc_error(TC_ENV, "starting the thread that writes checkpoints: %s", strerror(e)) : NULL;
}

static tc_saver *saver_of(tc_trainer *t) {
    if (t->saver) return t->saver;
    t->saver = tc_xcalloc(1, sizeof *t->saver);
    pthread_mutex_init(&t->saver->lock, NULL);
    pthread_cond_init(&t->saver->change, NULL);
    return t->saver;
}

tc_status tc_saver_prepare(tc_trainer *t) {
    tc_saver *v = saver_of(t);
    tc_tensors all = {0};
    v->state.len = 0;
    tc_status s = tc_train_gather(t, &all, &v->state);
    for (size_t i = 0; i < all.items.len && !s; i++) s = add_copy(v, &all.items.data[i], NULL, i, false);
    tc_tensors_deinit(&all);
    return s ? s : start(v, touch);
}

tc_status tc_saver_begin(tc_trainer *t, const char *dir) {
    tc_saver *v = saver_of(t);
    const tc_recipe_checkpoint *k = &t->r->checkpoint;
    v->dir = dir, v->step = t->step, v->keep = *k, v->best = k->keep_best ? t->best_step : -1, v->except = t->resumed_from;
    tc_tensors all = {0};
    tc_map written = {0};
    v->state.len = 0;
    v->copied = false;
    add_written(&written, t->micro_exec);
    add_written(&written, t->eval_exec);
    tc_status s = tc_train_gather(t, &all, &v->state);
    if (!s) s = copy(v, &all, &written);
    tc_map_free(&written);
    tc_tensors_deinit(&all);
    if (!s) s = start(v, work);
    if (s) forget_pending(v);
    return s;
}

void tc_saver_let_write(tc_trainer *t) {
    tc_saver *v = t->saver;
    if (!v || !v->pending.len) return;
    tc_train_phase(t, "update");
    pthread_mutex_lock(&v->lock);
    while (!v->copied) pthread_cond_wait(&v->change, &v->lock);
    pthread_mutex_unlock(&v->lock);
    forget_pending(v);
    tc_train_phase(t, "writing checkpoints");
}

tc_status tc_saver_end(tc_trainer *t, double *out_seconds) {
    tc_saver *v = t->saver;
    if (!v || !v->running) return NULL;
    pthread_join(v->thread, NULL);
    v->running = false;
    forget_pending(v);
    if (out_seconds) *out_seconds = v->seconds;
    tc_status s = v->status;
    v->status = NULL;
    return s;
}

void tc_saver_free(tc_trainer *t) {
    if (!t->saver) return;
    tc_status_free(tc_saver_end(t, NULL));
    tc_tensors_deinit(&t->saver->copies);
    tc_vec_free(&t->saver->pending);
    tc_buf_free(&t->saver->state);
    pthread_mutex_destroy(&t->saver->lock);
    pthread_cond_destroy(&t->saver->change);
    free(t->saver);
}
