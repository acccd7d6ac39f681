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

/* Types of at most 32 bits: key and index in one word, key above, so that words are all different and their order is the stable one. */
bool tc_order_packs(tc_dtype d, int64_t n);
int tc_order_pack(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, uint64_t *out); /* bits of the key */
/* The result is in a. low: 32 where a is in the order of indices, 0 where it is in none. */
void tc_order_sort_packed(uint64_t *a, uint64_t *room, int64_t n, int low, int bits);
/* The k-th smallest (from 0), by radix; a is used up. */
uint64_t tc_order_select(uint64_t *a, int64_t n, int64_t k, int bits);
/* The k smallest of n > k words, in no order, for a small k: what is not below the k-th of those seen so far is passed over in groups.
 * a: tc_order_room(k) words. */
void tc_order_first(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, int64_t k, uint64_t *a);
int64_t tc_order_room(int64_t k);
/* Keys alone, ascending. */
int tc_order_plain(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, uint64_t *out);

/* From keys back to elements, which saves a look at a distant place for each. */
typedef struct {
    uint64_t flip, sign, all;
    bool is_float;
} tc_order_inverse;
tc_order_inverse tc_order_inverse_of(tc_dtype d, bool descending);
/* The bits of the element, in the lowest of *bits. False where the key does not tell them: NaN are one key, and so are zeros. */
static inline bool tc_order_element(const tc_order_inverse *v, uint64_t key, uint64_t *bits) {
    key ^= v->flip;
    *bits = v->is_float && !(key & v->sign) ? ~key : key ^ v->sign;
    return !v->is_float || (key != v->sign && key != v->all);
}

#endif
