/* The block executor: a loop bound to sizes and strides, run in blocks that stay in the L1 cache, every operation a vector primitive.
 *
 *     rows of the outer axes, R at a time          parallel
 *       stage 0: columns of the inner axes, C at a time:  load, compute, reduce
 *       stage 1: ...                               values of an earlier stage are kept in a row buffer, or computed again
 *
 * A block holds R x C values, row-major ("row mode") or, when memory runs along the outer axes, column-major. A value that varies
 * along the rows only is a vector of R, along the columns only of C; it is spread where an operation needs all R x C. */
#ifndef TC_RUNTIME_BLOCK_H
#define TC_RUNTIME_BLOCK_H

#include "base/pool.h"
#include "codegen/tc_abi.h"
#include "kernel/isa.h"
#include "kernel/kernel.h"
#include "loop/nest.h"
#include "runtime/costs.h"

typedef struct tc_block tc_block;
typedef struct tc_block_tables tc_block_tables; /* of dear functions of 16-bit numbers: one for each function in all blocks that are bound with it */
tc_block_tables *tc_block_tables_create(void);
void tc_block_tables_destroy(tc_block_tables *t); /* after the blocks; NULL is allowed */
size_t tc_block_tables_count(const tc_block_tables *t);

typedef struct {
    const int64_t *size, *stride;
} tc_block_shape; /* of a buffer of the loop, in elements */

typedef struct {
    const tc_isa_ops *isa;
    const tc_symvalue *vars;
    size_t nvars;                 /* the sizes */
    const tc_block_shape *shapes; /* for each buffer of schedule->loop that has a value; temporaries are the block's own */
    const tc_costs *costs;        /* NULL: as shipped */
    tc_block_tables *tables;      /* used by one thread at a time; NULL: the block's own */
    int64_t block;                /* values of a block, a multiple of TC_LEAF; 0: chosen */
    int threads;                  /* that will run it; 0: one. Blocks are not so large that there are fewer of them */
    bool in_place;                /* a written buffer may be the memory of one that is read at the same index */
} tc_block_env;

/* The schedule must outlive the block. */
tc_status tc_block_bind(const tc_schedule *schedule, const tc_block_env *env, tc_block **out);
/* Would a block of these sizes look up functions of 16-bit numbers in tables? Emitted C, which has none, is slower then. */
tc_status tc_block_looks_up(const tc_schedule *schedule, const tc_block_env *env, bool *out_any);
void tc_block_destroy(tc_block *b); /* NULL is allowed */

size_t tc_block_scratch(const tc_block *b); /* bytes a worker */
size_t tc_block_temps(const tc_block *b);   /* bytes for its temporaries, shared by all workers */

/* data: address of element 0 of each buffer with a value. scratch: workers * tc_block_scratch bytes; temps: tc_block_temps; both 64-byte
 * aligned. vars: for the numbers that are computed once a run. fault: zeroed; set when a checked gather found a bad index. */
tc_status tc_block_run(tc_block *b, void *const *data, const tc_symvalue *vars, size_t nvars, void *scratch, void *temps, tc_pool *pool,
                       tc_abi_fault *fault);

/* A loop that is an epilogue (tc_loop.region), run region by region from any worker of a pool of so many. scratch: as many bytes as
 * tc_block_region_scratch says, 64-byte aligned; it, data and fault are used until the last region is done. */
size_t tc_block_region_scratch(const tc_block *b, int workers);
tc_status tc_block_regions(tc_block *b, void *const *data, const tc_symvalue *vars, size_t nvars, void *scratch, int workers, tc_abi_fault *fault,
                           tc_epilogue *out);

#endif
