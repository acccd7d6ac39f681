/* Collectives among the ranks of one training run under a launcher (mpirun, srun). Without a launcher there is one rank and MPI is not loaded. Called by
 * lib/train, tc-train and tc-run.
 *
 *     tc_dist *d;  TC_TRY(tc_dist_start(&d));            // NULL: a single rank
 *     TC_TRY(tc_dist_sum(d, TC_F32, grads, n));          // all-reduce, in the order of the tree of tc-numerics(7), "Ranks"
 *
 * All ranks must make the same calls in the same order. Every call has a time-out ($TC_DIST_TIMEOUT seconds, default 600): when a rank does not answer,
 * TC_ENV names it. A tc_dist is used by one thread. */
#ifndef TC_DIST_DIST_H
#define TC_DIST_DIST_H

#include "base/comm.h"
#include "tensor/dtype.h"

typedef struct tc_dist tc_dist;

/* Loads tc-mpi.so (beside the program, in ../lib, or on the loader's path) and initialises MPI. *out: NULL without a launcher; else the caller's, for
 * tc_dist_stop. TC_USAGE: Slurm started more tasks than MPI sees. TC_ENV: MPI cannot be loaded. */
tc_status tc_dist_start(tc_dist **out);
/* Barrier, then finalises MPI and frees d. NULL is allowed. */
tc_status tc_dist_stop(tc_dist *d);
/* Before tc_dist_abort, so that one rank reports, once, also what all ranks found. Rank 0, NULL or one rank: nothing. Another rank hands why it cannot go on
 * to rank 0, whose call that waits fails with it, and waits to be killed; it returns when rank 0 has not taken it within the time-out. */
void tc_dist_tell(tc_dist *d, tc_status why);
_Noreturn void tc_dist_abort(tc_dist *d, int code); /* kills all ranks, for when this one cannot go on; NULL: exits */
int tc_dist_task(void);                             /* of the launcher's environment, without MPI; 0 where there is none */
int tc_dist_rank(const tc_dist *d);                 /* 0 for NULL */
int tc_dist_size(const tc_dist *d);                 /* 1 for NULL */

/* All-reduce in place, of a floating or complex type. Ranks are added pairwise, 0 + 1, 2 + 3, then the pairs, and so on; missing ranks of an
 * incomplete tree are skipped. The same bits on every rank. */
tc_status tc_dist_sum(tc_dist *d, tc_dtype dtype, void *data, int64_t n);
tc_status tc_dist_broadcast(tc_dist *d, void *data, size_t n, int root);
tc_status tc_dist_max(tc_dist *d, int64_t *value); /* maximum over ranks, in place: to agree on a signal or failure */

/* The ranks as what collectives of programs call; valid until tc_dist_stop. d is not NULL. */
tc_comm tc_dist_comm(tc_dist *d);
double tc_dist_waited(tc_dist *d); /* seconds that its calls took since the last tc_dist_waited */

#endif
