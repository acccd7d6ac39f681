/* Ordering keys: an element of any real type mapped to an unsigned integer that orders as PyTorch orders the elements; and sorting and selecting by
 * keys. */
#ifndef TC_KERNEL_SORT_KEYS_H
#define TC_KERNEL_SORT_KEYS_H

#include "kernel/order.h"
#include "tensor/tensor.h"

/* Keys of n elements from element offset `at` on, `stride` elements apart; indices count from 0. Returns the bits of a key, 8 to 64 by the type. */
int tc_order_keys(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, tc_order *out);
/* Stable radix sort, in a; scratch holds n. */
void tc_order_sort(tc_order *a, tc_order *scratch, int64_t n, int bits);

/* For types of at most 32 bits, key and index are packed in one word, the key in the upper half: all words differ, and their order is the stable one.
 * tc_order_pack returns the bits of a key. */
bool tc_order_packs(tc_dtype d, int64_t n);
int tc_order_pack(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, uint64_t *out);
/* Radix sort, in a. low: 32 where a is in index order, so that only keys need sorting; 0 where it is in no order. */
void tc_order_sort_packed(uint64_t *a, uint64_t *scratch, int64_t n, int low, int bits);
/* The k-th smallest, from 0, by radix selection; a is overwritten. */
uint64_t tc_order_select(uint64_t *a, int64_t n, int64_t k, int bits);
/* The k smallest of n >= k >= 1, in order, as tc_order_top gives them for small k, or, for types that pack, by index where they are equal; groups of
 * elements that are not below the k-th smallest so far are skipped. a holds k. */
void tc_order_first(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, bool descending, bool by_index, int64_t k, tc_order *a);
/* Keys alone, ascending. */
int tc_order_plain(const tc_tensor *t, int64_t at, int64_t stride, int64_t n, uint64_t *out);

/* From keys back to elements, which saves a random access for each. */
typedef struct {
    uint64_t flip, sign, all;
    bool is_float;
} tc_order_inverse;
tc_order_inverse tc_order_inverse_of(tc_dtype d, bool descending);
/* The bits of the element, in the low bits of *bits. False where the key does not determine them: all NaNs share one key, and so do both zeros. */
static inline bool tc_order_element(const tc_order_inverse *v, uint64_t key, uint64_t *bits) {
    key ^= v->flip;
    *bits = v->is_float && !(key & v->sign) ? ~key : key ^ v->sign;
    return !v->is_float || (key != v->sign && key != v->all);
}

#endif
