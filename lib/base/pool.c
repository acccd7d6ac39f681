/* The thread pool of pool.h. A parallel loop is cut into chunks at fixed places; each worker takes pieces of its own
 * share first, the same share in every loop of that length, then of what is left of the others'.
 *
 *   idle --(condition variable)--> awake: spins on `state` up to 50 us --(no loop was opened)--> idle
 *
 * The caller is worker 0. A loop is open while there may be chunks left: workers that come in time enter it. The caller closes it and
 * waits for those that are inside, never for one that has not come: its processor may be somebody else's just now. It spins for 50 us,
 * too, and then naps, as workers do that miss a loop during a run: each nap offers the processor to a thread of the pool that was
 * put aside on another one, which the kernel moves only when it has stood still for half a millisecond. */
#include "base/pool.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 50000, NAP_NS = 100000, NAPS = 30, LINE = 64 };

/* One worker's share of the chunks of the current loop: [next, end). */
typedef struct {
    _Alignas(LINE) _Atomic int64_t next;
    int64_t end;
} share;

struct tc_pool {
    int threads;
    bool spin; /* off when there are more threads than processors */
    pthread_t *ids;
    share *shares;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_cond_t left; /* signalled by the last worker inside while `waiting` */
    _Atomic int entered; /* depth of tc_pool_enter, written by the caller only */
    _Atomic int sleepers;
    _Atomic bool quit, waiting;
    /* The current loop; written by the caller while no worker is inside it. */
    tc_range_fn fn;
    void *ctx;
    int64_t count, chunk;
    _Alignas(LINE) _Atomic uint64_t state; /* number of the loop * LOOP + OPEN + workers inside */
};
#define INSIDE UINT64_C(0xffff)
#define OPEN UINT64_C(0x10000)
#define LOOP UINT64_C(0x20000)

typedef struct {
    tc_pool *pool;
    int worker;
} start_arg;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    sched_yield();
#endif
}

/* Takes three quarters of the chunks left in a worker's own share, half of another's: most of the work is done in long pieces, each with its own
 * preparation, and short ones balance the end. False: none is left. */
static bool take(share *s, bool own, int64_t *begin, int64_t *end) {
    int64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
    do {
        const int64_t left = s->end - next;
        if (left <= 0) return false;
        *begin = next, *end = next + (own ? (3 * left + 3) / 4 : (left + 1) / 2);
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &next, *end, memory_order_relaxed, memory_order_relaxed));
    return true;
}
static void work(tc_pool *p, int me) {
    for (int k = 0; k < p->threads; k++) {
        share *s = &p->shares[(me + k) % p->threads];
        for (int64_t begin, end; take(s, !k, &begin, &end);) {
            int64_t last = end * p->chunk;
            p->fn(p->ctx, begin * p->chunk, last < p->count ? last : p->count, me);
        }
    }
}

/* Is there an open loop that this worker has not entered yet? */
static inline bool is_new(uint64_t state, uint64_t seen) { return (state & OPEN) && state / LOOP != seen; }

/* Waits on a condition with the lock held: the first times, as counted by `naps`, for at most NAP_NS. */
static void nap(tc_pool *p, pthread_cond_t *on, int naps) {
    int64_t until = now_ns() + NAP_NS;
    struct timespec t = {until / 1000000000, until % 1000000000};
    if (naps < NAPS) pthread_cond_timedwait(on, &p->lock, &t);
    else pthread_cond_wait(on, &p->lock);
}

/* Waits for a new loop: spins for a while, naps while the run lasts, then sleeps. */
static void await_loop(tc_pool *p, uint64_t seen) {
    if (p->spin) {
        int64_t until = now_ns() + SPIN_NS;
        do {
            for (int i = 0; i < 64; i++) {
                if (is_new(atomic_load_explicit(&p->state, memory_order_relaxed), seen)) return;
                relax();
            }
        } while (now_ns() < until);
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    for (int naps = 0; !is_new(atomic_load(&p->state), seen) && !atomic_load(&p->quit); naps++)
        nap(p, &p->wake, atomic_load(&p->entered) ? naps : NAPS);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg) {
    start_arg a = *(start_arg *)arg;
    free(arg);
    tc_pool *p = a.pool;
    for (uint64_t seen = 0;;) {
        await_loop(p, seen);
        if (atomic_load(&p->quit)) return NULL;
        uint64_t s = atomic_load(&p->state);
        while (is_new(s, seen) && !atomic_compare_exchange_weak(&p->state, &s, s + 1)) {}
        if (!is_new(s, seen)) continue; /* closed meanwhile */
        seen = s / LOOP;
        work(p, a.worker);
        if ((atomic_fetch_sub(&p->state, 1) & (OPEN | INSIDE)) != 1 || !atomic_load(&p->waiting)) continue;
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->left);
        pthread_mutex_unlock(&p->lock);
    }
}

static void stop_workers(tc_pool *p, int started) {
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->quit, true);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i <= started; i++) pthread_join(p->ids[i], NULL);
}

static void free_pool(tc_pool *p) {
    pthread_cond_destroy(&p->left);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->ids);
    free(p->shares);
    free(p);
}

tc_status tc_pool_create(int threads, tc_pool **out_pool) {
    *out_pool = NULL;
    if (threads < 1 || threads > TC_MAX_THREADS) return tc_error(TC_USAGE, "%d threads, expected 1 to %d", threads, TC_MAX_THREADS);
    void *mem;
    if (posix_memalign(&mem, LINE, sizeof(tc_pool))) return tc_error(TC_ENV, "out of memory for the thread pool");
    tc_pool *p = memset(mem, 0, sizeof *p);
    if (posix_memalign(&mem, LINE, (size_t)threads * sizeof(share))) {
        free(p);
        return tc_error(TC_ENV, "out of memory for %d threads", threads);
    }
    p->shares = memset(mem, 0, (size_t)threads * sizeof(share));
    p->threads = threads;
    p->spin = threads <= sysconf(_SC_NPROCESSORS_ONLN);
    p->ids = tc_xcalloc((size_t)threads, sizeof *p->ids);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &clock);
    pthread_cond_init(&p->left, &clock);
    pthread_condattr_destroy(&clock);

    /* Workers block all signals, which the main thread handles, except SIGBUS: it is delivered to the thread that reads a truncated mapping. */
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int started = 0, rc = 0;
    for (int i = 1; i < threads; i++, started++) {
        start_arg *a = tc_xmalloc(sizeof *a);
        *a = (start_arg){p, i};
        if ((rc = pthread_create(&p->ids[i], NULL, worker_main, a))) {
            free(a);
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        stop_workers(p, started);
        free_pool(p);
        return tc_error(TC_ENV, "cannot start thread %d of %d: %s", started + 2, threads, strerror(rc));
    }
    *out_pool = p;
    return NULL;
}

void tc_pool_destroy(tc_pool *p) {
    if (!p) return;
    stop_workers(p, p->threads - 1);
    free_pool(p);
}

int tc_pool_threads(const tc_pool *p) { return p ? p->threads : 1; }

void tc_pool_enter(tc_pool *p) {
    if (p) p->entered++;
}

void tc_pool_leave(tc_pool *p) {
    if (p) p->entered--;
}

static inline bool is_done(tc_pool *p) { return !(atomic_load(&p->state) & INSIDE); }

/* Waits until no worker is inside the loop, which is closed. */
static void await_workers(tc_pool *p) {
    if (is_done(p)) return;
    if (p->spin) {
        int64_t until = now_ns() + SPIN_NS;
        do {
            for (int i = 0; i < 64; i++) {
                if (is_done(p)) return;
                relax();
            }
        } while (now_ns() < until);
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->waiting, true);
    for (int naps = 0; !is_done(p); naps++) nap(p, &p->left, naps);
    atomic_store(&p->waiting, false);
    pthread_mutex_unlock(&p->lock);
}

void tc_parallel_for(tc_pool *p, int64_t count, int64_t grain, tc_range_fn fn, void *ctx) {
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (!p || p->threads == 1 || count <= grain) {
        fn(ctx, 0, count, 0);
        return;
    }
    /* About eight chunks for each thread, so that a stolen core costs only its share; never below the grain. */
    int64_t pieces = (int64_t)p->threads * 8, chunk = (count + pieces - 1) / pieces;
    if (chunk < grain) chunk = grain;
    int64_t chunks = (count + chunk - 1) / chunk;
    p->fn = fn;
    p->ctx = ctx;
    p->count = count;
    p->chunk = chunk;
    for (int i = 0; i < p->threads; i++) {
        p->shares[i].end = chunks * (i + 1) / p->threads;
        atomic_store_explicit(&p->shares[i].next, chunks * i / p->threads, memory_order_relaxed);
    }
    atomic_fetch_add(&p->state, LOOP + OPEN);
    if (atomic_load(&p->sleepers)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
    work(p, 0);
    atomic_fetch_and(&p->state, ~OPEN);
    await_workers(p);
}

/* ---- how many threads ---- */

static int env_int(const char *name) {
    const char *s = getenv(name);
    if (!s || !*s) return 0;
    char *end;
    long v = strtol(s, &end, 10);
    return (*end && *end != ',') || v < 1 || v > TC_MAX_THREADS ? 0 : (int)v;
}

/* Whole processors of the cgroup's quota, rounded up; 0: none. */
static int cgroup_quota(void) {
    double quota = -1, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (f) {
        if (fscanf(f, "%lf %lf", &quota, &period) != 2) quota = -1;
        fclose(f);
    } else if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re"))) {
        if (fscanf(f, "%lf", &quota) != 1) quota = -1;
        fclose(f);
        period = 100000;
        if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re"))) {
            if (fscanf(f, "%lf", &period) != 1) period = 100000;
            fclose(f);
        }
    }
    if (quota <= 0 || period <= 0) return 0;
    double n = quota / period;
    return n > TC_MAX_THREADS ? 0 : (int)(n + 0.999);
}

static void at_most(int *n, int limit) {
    if (limit > 0 && limit < *n) *n = limit;
}

int tc_default_threads(int asked) {
    if (asked > 0) return asked < TC_MAX_THREADS ? asked : TC_MAX_THREADS;
    int n = TC_MAX_THREADS;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) at_most(&n, CPU_COUNT(&set));
    else at_most(&n, (int)sysconf(_SC_NPROCESSORS_ONLN));
    at_most(&n, cgroup_quota());
    int ranks = env_int("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!ranks) ranks = env_int("MPI_LOCALNRANKS");
    if (!ranks) ranks = env_int("SLURM_NTASKS_PER_NODE");
    if (ranks > 1) n /= ranks;
    at_most(&n, env_int("TC_NUM_THREADS"));
    at_most(&n, env_int("OMP_NUM_THREADS"));
    at_most(&n, env_int("SLURM_CPUS_PER_TASK"));
    return n < 1 ? 1 : n;
}
