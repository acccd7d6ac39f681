/* The block executor: interprets a loop that is bound to sizes and strides. It works on blocks of elements that stay in L1; each operation is a call of a
 * vector primitive (kernel/isa.h) on a block. A nest (loop/nest.h) is executed as:
 *
 *     R rows of the outer axes at a time                          parallel
 *       stage 0:  C columns of the inner axes at a time:  load, compute, reduce
 *       stage 1:  ...                                             values of earlier stages come from a row buffer, or are recomputed
 *
 * A block has R x C elements, row-major ("row mode"), or column-major if memory is contiguous along the outer axes ("column mode"). A value that varies
 * only along the rows is a vector of R elements, one that varies only along the columns a vector of C; it is broadcast where an operation needs
 * R x C elements. */
#ifndef TC_RUNTIME_BLOCK_H
#define TC_RUNTIME_BLOCK_H

#include "base/pool.h"
#include "codegen/tc_abi.h"
#include "kernel/isa.h"
#include "kernel/kernel.h"
#include "loop/nest.h"
#include "runtime/cost_model.h"

typedef struct tc_block tc_block;
typedef struct tc_block_tables tc_block_tables; /* tables of expensive functions of 16-bit numbers, shared by the blocks that are bound with it */
tc_block_tables *tc_block_tables_create(void);
void tc_block_tables_destroy(tc_block_tables *t); /* after the blocks; NULL is allowed */
size_t tc_block_tables_count(const tc_block_tables *t);

typedef struct {
    const int64_t *size, *stride;
} tc_block_shape; /* of a buffer of the loop, in elements */

typedef struct {
    const tc_isa_ops *isa;
    const tc_symvalue *vars;
    size_t nvars;
    const tc_block_shape *shapes; /* by buffer of schedule->loop, of those that have a value; temporaries belong to the block */
    const tc_costs *costs;        /* NULL: the defaults */
    tc_block_tables *tables;      /* used by one thread at a time; NULL: the block creates its own */
    int64_t block;                /* elements of a block, a multiple of TC_LEAF; 0: the default */
    int threads;                  /* that will run it (0: one); blocks are made so small that each thread gets some */
    bool in_place;                /* a written buffer may share memory with one that is read at the same index */
} tc_block_env;

/* The schedule must outlive the block. */
tc_status tc_block_bind(const tc_schedule *schedule, const tc_block_env *env, tc_block **out);
/* Is a block of these sizes faster than compiled code? It is if it uses tables of functions of 16-bit numbers, or if most of what it computes is the same for
 * several rows: compiled code does neither. */
tc_status tc_block_is_faster(const tc_schedule *schedule, const tc_block_env *env, bool *out_faster);
void tc_block_destroy(tc_block *b); /* NULL is allowed */

size_t tc_block_scratch(const tc_block *b); /* bytes for each worker */
size_t tc_block_temps(const tc_block *b);   /* bytes for its temporaries, shared by all workers */

/* What a block runs on. */
typedef struct {
    void *const *data;       /* address of element 0 of each buffer that has a value */
    const tc_symvalue *vars; /* for host values (TC_L_HOST) */
    size_t nvars;
    void *scratch;       /* 64-byte aligned */
    tc_abi_fault *fault; /* zeroed; set if a checked gather finds an index out of range */
} tc_block_args;

/* scratch: a tc_block_scratch for each worker of the pool (NULL: one); temps: tc_block_temps bytes, 64-byte aligned. */
tc_status tc_block_run(tc_block *b, const tc_block_args *args, void *temps, tc_pool *pool);

/* Prepares a loop that is an epilogue (tc_loop.region), so that a kernel can run it on a region of its result, from any of so many workers. scratch:
 * tc_block_region_scratch bytes; it, data and fault must stay valid until the kernel ends. result: where the kernel stores. */
size_t tc_block_region_scratch(const tc_block *b, int workers);
tc_status tc_block_regions(tc_block *b, const tc_block_args *args, const void *result, int workers, tc_epilogue *out);

/* Prepares a loop that makes an operand of a kernel in tiles (tc_loop.tile), for any of so many workers. What it writes is in the tile (tc_tiles), and has
 * no address in data. scratch: tc_block_tiles_scratch bytes, valid until the kernel ends. */
size_t tc_block_tiles_scratch(const tc_block *b, int workers);
tc_status tc_block_tiles(tc_block *b, const tc_block_args *args, int workers, tc_tiles *out);

#endif
