/* Ranks of one training run under a launcher (mpirun, srun). Without a launcher there is one rank and nothing is loaded.
 *
 *     tc_dist *d;  TC_TRY(tc_dist_start(&d));            // NULL: alone
 *     TC_TRY(tc_dist_sum(d, TC_F32, grads, n));          // on every rank the sum over ranks, added as the tree of NUMERICS 13
 *
 * All ranks must make the same calls in the same order. Every call has a time-out (TC_DIST_TIMEOUT seconds, 600): a rank that does not
 * answer is TC_ENV naming it. A tc_dist is used by one thread. */
#ifndef TC_DIST_DIST_H
#define TC_DIST_DIST_H

#include "tensor/dtype.h"

typedef struct tc_dist tc_dist;

/* Loads tc-mpi.so (beside the program, in ../lib, else by the loader's path) and starts MPI. *out NULL without a launcher or with one rank
 * that no launcher counts. TC_USAGE when Slurm started more tasks than MPI sees. */
tc_status tc_dist_start(tc_dist **out);
/* Ends MPI after a barrier. NULL is allowed. */
tc_status tc_dist_stop(tc_dist *d);
_Noreturn void tc_dist_abort(tc_dist *d, int code); /* ends every rank: only when this one cannot go on; NULL: exits */
int tc_dist_rank(const tc_dist *d);                 /* 0 for NULL */
int tc_dist_size(const tc_dist *d);                 /* 1 for NULL */

/* In place; TC_F32 or TC_F64. 0 + 1, 2 + 3, then the pairs, ...; a rank that is absent is skipped. The same bits on every rank. */
tc_status tc_dist_sum(tc_dist *d, tc_dtype dtype, void *data, int64_t n);
tc_status tc_dist_broadcast(tc_dist *d, void *data, size_t n, int root);
tc_status tc_dist_max(tc_dist *d, int64_t *value); /* the largest over ranks: agreeing on a signal, on a failure */

#endif
