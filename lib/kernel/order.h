/* Ordering keys: an element of any real type as a number whose unsigned order is PyTorch's, and a stable sort of them. */
#ifndef TC_KERNEL_ORDER_H
#define TC_KERNEL_ORDER_H

#include "tensor/tensor.h"

typedef struct {
    uint64_t key;
    int64_t index;
} tc_order;

/* Keys of n elements from element offset `at`, `stride` apart; index counts from 0. bits: how many of the key differ by type (8 to 64). */
int tc_order_keys(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, tc_order *out);
/* Stable; room holds n. The result is in a. */
void tc_order_sort(tc_order *a, tc_order *room, int64_t n, int bits);

#endif
