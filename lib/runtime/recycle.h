/* Memory of results that was given back: kept for the next run, because fresh pages cost more than most loops. */
#ifndef TC_RUNTIME_RECYCLE_H
#define TC_RUNTIME_RECYCLE_H

#include "tensor/tensor.h"

typedef struct recycler recycler;
/* The pages that so many bytes are taken in: from 4 MiB on huge ones. */
static inline size_t memory_page(size_t bytes) { return bytes >= (size_t)4 << 20 ? (size_t)2 << 20 : 4096; }
static inline size_t memory_pages(size_t bytes) { return (bytes + memory_page(bytes) - 1) / memory_page(bytes) * memory_page(bytes); }

recycler *recycler_create(void);
void recycler_release(recycler *r); /* memory still held by tensors is freed with them */
/* A contiguous tensor; its storage comes back here when it is released (from any thread). */
tc_status recycler_tensor(recycler *r, tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out);

#endif
