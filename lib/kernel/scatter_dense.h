/* Adding by index without sorting: every destination of a row has an accumulator of its own. Used by scatter.c. */
#ifndef TC_KERNEL_SCATTER_DENSE_H
#define TC_KERNEL_SCATTER_DENSE_H

#include "kernel/kernel.h"
#include "kernel/scatter_sources.h"

/* A row: source s adds x[s * x_step] to destination index[s * index_step] of `size`, at out[destination * out_step]. Steps in elements.
 * mode, include_self: for tc_dense_reduce only. */
typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype; /* of out and x */
    const void *x;
    void *out;
    const int64_t *index; /* all in range, but for tc_dense_block */
    int64_t n, size, x_step, out_step, index_step;
    tc_scatter_mode mode;
    bool include_self;
} tc_dense_row;

/* Sums of f32 and f64 in the fixed order of scatter.h. Is it faster than sorting? Bytes of scratch for one row; the sums themselves. */
bool tc_dense_pays(tc_dtype dtype, int64_t n, int64_t size);
size_t tc_dense_bytes(int64_t n, int64_t size);
void tc_dense_add(const tc_dense_row *r, void *scratch);
/* Sums, means and extremes, where a destination may begin without its own value. Are they for this type, and faster than sorting? */
bool tc_dense_reduces(tc_dtype dtype, tc_scatter_mode mode, int64_t n, int64_t size);
void tc_dense_reduce(const tc_dense_row *r, void *scratch);
/* Integer sums, which wrap, in any order; overwriting, where the last source stays. */
void tc_dense_add_int(const tc_dense_row *r);
void tc_dense_set(const tc_dense_row *r);

/* Runs `run` on `columns` columns that are adjacent (1 element from one to the next in index, x and out): they are transposed into `rows`
 * (tc_dense_block_bytes), run, and transposed back, because elements at a power of two from each other share few cache sets. src: x has columns
 * too. false: an index is out of range, and the result is undefined. */
enum { TC_DENSE_BLOCK = 16 };
size_t tc_dense_block_bytes(int64_t n, int64_t size);
bool tc_dense_block(const tc_dense_row *r, int64_t columns, bool src, void (*run)(const tc_dense_row *, void *), void *run_scratch, void *rows);

#endif
