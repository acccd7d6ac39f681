/* Keeps the memory of results that callers released, for the next run: page faults of new memory take longer than most loops. */
#ifndef TC_RUNTIME_RECYCLE_H
#define TC_RUNTIME_RECYCLE_H

#include "tensor/tensor.h"

typedef struct recycler recycler;
/* The page size for an allocation of so many bytes (2 MiB from 4 MiB on, else 4 KiB), and the bytes rounded up to such pages. */
static inline size_t memory_page(size_t bytes) { return bytes >= (size_t)4 << 20 ? (size_t)2 << 20 : 4096; }
static inline size_t memory_pages(size_t bytes) { return (bytes + memory_page(bytes) - 1) / memory_page(bytes) * memory_page(bytes); }

recycler *recycler_create(void);
void recycler_release(recycler *r); /* memory that tensors still hold is freed with them */
/* A contiguous tensor, not initialised. When its storage is released (in any thread), the memory comes back here. */
tc_status recycler_tensor(recycler *r, tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out);

#endif
