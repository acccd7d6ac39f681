/* The prefetching data loader (loader.h). */
#include "data/loader.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

typedef enum { FREE, BEING_MADE, MADE } slot_state;
typedef struct {
    slot_state state;
    int64_t number;
    int64_t *index;
    tc_tensor columns[TC_DATA_MAX_COLUMNS];
    tc_status error;
} slot;

enum { MOST_TOGETHER = 1024 }; /* limit on batches that are waited for at once */

struct tc_loader {
    tc_loader_options o;
    pthread_mutex_t lock;
    pthread_cond_t made, room;
    pthread_t *thread;
    int nthreads, nslots;
    slot *slots;
    int ahead;      /* slots that may be in use; without workers: as many as were asked for */
    int64_t drawn;  /* number of the next batch to draw */
    int64_t next;   /* in order: number of the next batch to hand out */
    int64_t *taken; /* any order: batches handed out before an earlier one; ascending */
    int ntaken, room_taken;
    size_t batch_bytes; /* of the largest batch so far */
    bool ended, closing;
    int users;        /* reference count: the owner and the threads */
    tc_dataset *left; /* closed by the last user */
};

/* ---- drawing and making batches; the lock is held ---- */

static bool was_taken(const tc_loader *l, int64_t number) {
    for (int i = 0; i < l->ntaken; i++)
        if (l->taken[i] == number) return true;
    return false;
}

/* Draws the next batch, skipping those that were taken before the run was resumed. */
static int64_t draw(tc_loader *l, int64_t *index, int64_t *number) {
    int64_t n;
    do {
        n = l->ended ? 0 : l->o.draw(l->o.ctx, index);
        *number = l->drawn;
        if (n) l->drawn++;
        else l->ended = true;
    } while (n && was_taken(l, *number));
    return n;
}

static size_t bytes_of(const tc_loader *l, const tc_tensor *columns) {
    size_t n = 0;
    for (int i = 0; i < l->o.set->ncols; i++) n += tc_tensor_bytes(&columns[i]);
    return n;
}

static slot *find(tc_loader *l, slot_state state, int64_t number) {
    slot *best = NULL;
    for (int i = 0; i < l->nslots; i++) {
        slot *s = &l->slots[i];
        if (s->state != state || (number >= 0 && s->number != number)) continue;
        if (!best || s->number < best->number) best = s;
    }
    return best;
}

static int slots_in(const tc_loader *l, slot_state state) {
    int n = 0;
    for (int i = 0; i < l->nslots; i++) n += l->slots[i].state == state;
    return n;
}

/* Makes one batch, releasing the lock meanwhile; false when there is nothing to do now. */
static bool make_one(tc_loader *l) {
    bool wanted = l->nslots - slots_in(l, FREE) < l->ahead;
    slot *s = l->ended || !wanted ? NULL : find(l, FREE, -1);
    int64_t n = s ? draw(l, s->index, &s->number) : 0;
    if (!n) return false;
    s->state = BEING_MADE;
    pthread_mutex_unlock(&l->lock);
    tc_status error = tc_data_gather(l->o.set, s->index, n, l->o.floats, s->columns, NULL);
    pthread_mutex_lock(&l->lock);
    s->error = error;
    s->state = MADE;
    size_t bytes = error ? 0 : bytes_of(l, s->columns);
    if (bytes > l->batch_bytes) l->batch_bytes = bytes;
    pthread_cond_broadcast(&l->made);
    return true;
}

static void free_loader(tc_loader *l) {
    for (int i = 0; i < l->nslots; i++) {
        for (int k = 0; l->slots[i].state == MADE && !l->slots[i].error && k < l->o.set->ncols; k++) tc_tensor_deinit(&l->slots[i].columns[k]);
        tc_status_free(l->slots[i].error);
        free(l->slots[i].index);
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->made);
    pthread_cond_destroy(&l->room);
    free(l->slots);
    free(l->thread);
    free(l->taken);
    tc_data_close(l->left);
    free(l);
}

static void leave(tc_loader *l) {
    bool last = --l->users == 0;
    pthread_mutex_unlock(&l->lock);
    if (last) free_loader(l);
}

static void *work(void *arg) {
    tc_loader *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->closing)
        if (!make_one(l) && !l->closing) {
            pthread_cond_broadcast(&l->made); /* wakes waiters: it may have been the last one */
            if (l->ended) break;
            pthread_cond_wait(&l->room, &l->lock);
        }
    leave(l);
    return NULL;
}

/* ---- taking ---- */

/* A finished batch that may be handed out now, or NULL. */
static slot *ready(tc_loader *l) { return find(l, MADE, l->o.set->any_order ? -1 : l->next); }

/* How many batches could be handed out without waiting; INT64_MAX when one is an error or the data ends. */
static int64_t given_at_once(tc_loader *l) {
    const bool any_order = l->o.set->any_order;
    int64_t n = 0, next = l->next;
    if (l->ended && !slots_in(l, BEING_MADE)) return INT64_MAX;
    for (int i = 0; i < l->nslots; i++) {
        const slot *s = any_order ? &l->slots[i] : find(l, MADE, next);
        if (!s || s->state != MADE) continue;
        if (s->error) return INT64_MAX;
        do next++;
        while (was_taken(l, next));
        n++;
    }
    return n;
}

/* Without workers: requests that at least n batches be made. */
static void ask(tc_loader *l, int64_t n) {
    if (l->o.set->workers || l->ahead >= n) return;
    l->ahead = (int)n;
    pthread_cond_signal(&l->room);
}

static bool at_end(tc_loader *l) { return l->ended && !find(l, BEING_MADE, -1) && !find(l, MADE, -1); }

/* Any order: records batches taken beyond the first one not taken. */
static void mark_taken(tc_loader *l, int64_t number) {
    if (!l->o.set->any_order) {
        l->next++;
        while (was_taken(l, l->next)) l->next++;
        return;
    }
    if (l->ntaken == l->room_taken) {
        l->room_taken = l->room_taken ? 2 * l->room_taken : 16;
        l->taken = tc_xrealloc(l->taken, (size_t)l->room_taken * sizeof *l->taken);
    }
    int at = l->ntaken++;
    for (; at && l->taken[at - 1] > number; at--) l->taken[at] = l->taken[at - 1];
    l->taken[at] = number;
    int done = 0;
    while (done < l->ntaken && l->taken[done] == l->next) done++, l->next++;
    l->ntaken -= done;
    memmove(l->taken, l->taken + done, (size_t)l->ntaken * sizeof *l->taken);
}

tc_status tc_loader_next(tc_loader *l, tc_tensor *columns, int64_t *out_number) {
    pthread_mutex_lock(&l->lock);
    slot *s;
    ask(l, 1);
    while (!(s = ready(l)) && !at_end(l)) {
        if (l->nthreads) pthread_cond_wait(&l->made, &l->lock);
        else make_one(l);
    }
    tc_status error = s ? s->error : NULL;
    *out_number = s ? s->number : -1;
    if (s) {
        for (int i = 0; i < l->o.set->ncols && !error; i++) columns[i] = s->columns[i];
        s->error = NULL;
        s->state = FREE;
        mark_taken(l, s->number);
        if (!l->o.set->workers) l->ahead--;
        pthread_cond_signal(&l->room);
    }
    pthread_mutex_unlock(&l->lock);
    return error;
}

bool tc_loader_wait(tc_loader *l, int64_t n, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&l->lock);
    bool there = !l->nthreads;
    if (n > l->nslots) n = l->nslots;
    if (!there) ask(l, n);
    while (!there && !(there = given_at_once(l) >= n))
        if (pthread_cond_timedwait(&l->made, &l->lock, &until)) break;
    pthread_mutex_unlock(&l->lock);
    return there;
}

void tc_loader_position(tc_loader *l, int64_t *out_begin, int64_t **out_taken, int *out_ntaken) {
    pthread_mutex_lock(&l->lock);
    *out_begin = l->next;
    *out_ntaken = 0;
    *out_taken = tc_xcalloc((size_t)l->ntaken + 1, sizeof **out_taken);
    for (int i = 0; i < l->ntaken; i++)
        if (l->taken[i] > l->next) (*out_taken)[(*out_ntaken)++] = l->taken[i];
    pthread_mutex_unlock(&l->lock);
}

size_t tc_loader_bytes(const tc_loader *l) {
    const int taken = l && !l->o.set->workers; /* without workers the last batch made is the one being taken */
    return l ? (size_t)(l->nslots - taken) * l->batch_bytes : 0;
}

/* ---- creation and destruction ---- */

static tc_status start_threads(tc_loader *l, int n) {
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);                  /* a truncated mapped file: delivered to the thread that reads it */
    pthread_sigmask(SIG_SETMASK, &all, &old); /* other signals go to the caller's threads */
    tc_status s = NULL;
    for (int i = 0; i < n && !s; i++) {
        pthread_mutex_lock(&l->lock);
        int e = pthread_create(&l->thread[i], NULL, work, l);
        if (e) s = tc_error(TC_ENV, "starting thread %d of %d for the data: %s", i + 1, n, strerror(e));
        else l->nthreads++, l->users++;
        pthread_mutex_unlock(&l->lock);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return s;
}

tc_status tc_loader_create(const tc_loader_options *o, tc_loader **out) {
    tc_loader *l = tc_xcalloc(1, sizeof *l);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    l->o = *o;
    l->drawn = l->next = o->begin;
    l->ntaken = l->room_taken = o->ntaken;
    l->taken = tc_xcalloc((size_t)o->ntaken + 1, sizeof *l->taken);
    if (o->ntaken) memcpy(l->taken, o->taken, (size_t)o->ntaken * sizeof *l->taken);
    const int workers = o->set->workers, threads = workers ? workers : o->set->images != NULL;
    const int64_t together = o->together > MOST_TOGETHER ? MOST_TOGETHER : o->together > 0 ? o->together : 1;
    l->nslots = workers * o->set->prefetch;
    if (l->nslots < together) l->nslots = threads ? (int)together : 1;
    l->ahead = workers ? l->nslots : 0;
    l->slots = tc_xcalloc((size_t)l->nslots, sizeof *l->slots);
    for (int i = 0; i < l->nslots; i++) l->slots[i].index = tc_xcalloc((size_t)o->room, sizeof(int64_t));
    l->thread = tc_xcalloc((size_t)threads + 1, sizeof *l->thread);
    l->users = 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->made, &clock);
    pthread_cond_init(&l->room, NULL);
    pthread_condattr_destroy(&clock);
    tc_status s = start_threads(l, threads);
    if (s) tc_loader_destroy(l);
    else *out = l;
    return s;
}

static void end(tc_loader *l, bool wait, tc_dataset *left) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    l->left = left;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->nthreads; i++) {
        if (wait) pthread_join(l->thread[i], NULL);
        else pthread_detach(l->thread[i]);
    }
    pthread_mutex_lock(&l->lock);
    leave(l);
}

void tc_loader_destroy(tc_loader *l) { end(l, true, NULL); }
void tc_loader_abandon(tc_loader *l, tc_dataset *set) { end(l, false, set); }
