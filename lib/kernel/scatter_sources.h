/* Writing and accumulating by index. Every operator of scatter.c is reduced to one form:
 *
 *     out[ dest[s] + out_at[f] ]  (op)=  value[ from[s] + value_at[f] ]      for each source s, and each element f of a source's slice
 *
 * Sources are sorted by destination (stable), so that each destination is one run of them, which one worker reduces in the fixed order of
 * scatter.h. */
#ifndef TC_KERNEL_SCATTER_SOURCES_H
#define TC_KERNEL_SCATTER_SOURCES_H

#include "kernel/kernel.h"

typedef enum { TC_SCATTER_SET, TC_SCATTER_SUM, TC_SCATTER_PROD, TC_SCATTER_MEAN, TC_SCATTER_AMAX, TC_SCATTER_AMIN } tc_scatter_mode;

typedef struct {
    int64_t dest, source;
} tc_scatter_pair;

/* tc_scatter_init sets npairs, nfree, alpha, the arrays (in its scratch) and levels; the caller sets mode, out, value and include_self, fills pairs,
 * from, out_at and value_at, and may make npairs smaller. */
typedef struct {
    tc_scatter_mode mode;
    bool include_self;
    tc_tensor *out;
    const tc_tensor *value;
    double alpha;           /* SUM: value is multiplied by it and rounded to the type */
    tc_scatter_pair *pairs; /* in order of source; tc_scatter_run changes them */
    int64_t npairs;
    int64_t *from;               /* element offset of source s in value */
    int64_t *out_at, *value_at;  /* element offsets of element f of a slice */
    int64_t nfree;               /* elements of a slice */
    tc_scatter_pair *more_pairs; /* scratch of the sort */
    double *acc;                 /* for each worker: `levels` rows of nfree partial sums */
    int levels;
} tc_scatter_sources;

size_t tc_scatter_bytes(int64_t sources, int64_t nfree, int threads); /* of scratch */
tc_scatter_sources tc_scatter_init(void *scratch, int64_t sources, int64_t nfree);
/* Writes to out, on pool's threads (NULL: this one). */
tc_status tc_scatter_run(const tc_isa_ops *isa, tc_pool *pool, tc_scatter_sources *s);

/* The element at offset `at` of the storage, as a double. */
double tc_scatter_load(const tc_tensor *t, int64_t at);

#endif
