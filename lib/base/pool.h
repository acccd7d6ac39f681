/* The thread pool: workers sleep between runs, are woken once a run, and between the parallel loops of it spin at most 50 us, then nap.
 * Each worker starts on the rows it had last, then steals, so that a stolen core costs its share and not a stall.
 * Results never depend on the split: callers cut work at fixed places (tc-numerics(7)). */
#ifndef TC_BASE_POOL_H
#define TC_BASE_POOL_H

#include "base/status.h"

typedef struct tc_pool tc_pool;
enum { TC_MAX_THREADS = 1024 };

/* threads counts the caller; 1 makes a pool that runs everything in the caller. */
tc_status tc_pool_create(int threads, tc_pool **out_pool);
void tc_pool_destroy(tc_pool *p);      /* NULL is allowed */
int tc_pool_threads(const tc_pool *p); /* 1 for NULL */

/* fn runs [begin, end) of `count` items; called once or more, each item exactly once, from any thread of the pool.
 * worker is in 0..threads-1 and unique among concurrent calls: index per-worker scratch with it. */
typedef void (*tc_range_fn)(void *ctx, int64_t begin, int64_t end, int worker);

/* Splits count items into chunks of at least `grain` and returns when all are done. p NULL: serial. Must not be called from inside fn. */
void tc_parallel_for(tc_pool *p, int64_t count, int64_t grain, tc_range_fn fn, void *ctx);

/* Brackets a run of several parallel loops: workers stay awake between them. May be nested. */
void tc_pool_enter(tc_pool *p);
void tc_pool_leave(tc_pool *p);

/* Threads to use: --threads (0: not given), TC_NUM_THREADS, OMP_NUM_THREADS (the first of a list), SLURM_CPUS_PER_TASK, the affinity mask,
 * the cgroup quota: the least, divided by the launcher's ranks on this host. Never below 1. */
int tc_default_threads(int asked);

#endif
