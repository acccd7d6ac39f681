/* Which of several equal elements PyTorch takes: its topk and mode leave the choice to C++'s partial_sort, nth_element and sort, whose ways
 * (heap selection, introspective selection and sort, as GNU's library has them) are fixed here step by step; kthvalue has a quickselect of its own.
 * Pasted into emitted C (codegen/paste.c) too.
 *
 * The arrays hold the keys of a row, smallest first (sort_keys.h), in the order of their indices. never: the key that is not above any other, in the
 * one place that compares NaN as C does (mode); 0 where there is none. */
#ifndef TC_KERNEL_ORDER_H
#define TC_KERNEL_ORDER_H

#include <stdint.h>

typedef struct {
    uint64_t key;
    int64_t index;
} tc_order;

static inline int tc_order_less(tc_order a, tc_order b, uint64_t never) { return a.key < b.key && b.key != never; }
static inline void tc_order_swap(tc_order *a, tc_order *b) {
    const tc_order t = *a;
    *a = *b, *b = t;
}
/* Puts x into the heap of n (largest first) whose place `hole` is free: down to a leaf along the larger children, then up again. */
static inline void tc_order_sift(tc_order *a, int64_t n, int64_t hole, tc_order x, uint64_t never) {
    const int64_t top = hole;
    while (2 * hole + 2 < n) {
        const int64_t right = 2 * hole + 2, larger = right - tc_order_less(a[right], a[right - 1], never);
        a[hole] = a[larger], hole = larger;
    }
    if (2 * hole + 2 == n) a[hole] = a[2 * hole + 1], hole = 2 * hole + 1;
    for (int64_t parent; hole > top && tc_order_less(a[parent = (hole - 1) / 2], x, never); hole = parent) a[hole] = a[parent];
    a[hole] = x;
}
static inline void tc_order_heap(tc_order *a, int64_t n, uint64_t never) {
    for (int64_t i = n / 2; i-- > 0;) tc_order_sift(a, n, i, a[i], never);
}
static inline void tc_order_sort_heap(tc_order *a, int64_t n, uint64_t never) {
    while (n-- > 1) {
        const tc_order x = a[n];
        a[n] = a[0];
        tc_order_sift(a, n, 0, x, never);
    }
}
/* Element x.index of a row, each in turn: the first k, in the first k places of a, are those below all others so far, as a heap. */
static inline void tc_order_offer(tc_order *a, int64_t k, tc_order x) {
    if (x.index < k) {
        a[x.index] = x;
        if (x.index == k - 1) tc_order_heap(a, k, 0);
    } else if (x.key < a[0].key) tc_order_sift(a, k, 0, x, 0);
}
/* The k smallest of n, as a heap in the first k places; the others behind it. */
static inline void tc_order_heap_select(tc_order *a, int64_t n, int64_t k, uint64_t never) {
    tc_order_heap(a, k, never);
    for (int64_t i = k; i < n; i++) {
        const tc_order x = a[i];
        if (!tc_order_less(x, a[0], never)) continue;
        a[i] = a[0];
        tc_order_sift(a, k, 0, x, never);
    }
}
/* Splits n > 2 elements at the median of the second, the middle and the last one; returns where the upper part begins. */
static inline int64_t tc_order_split(tc_order *a, int64_t n, uint64_t never) {
    const int64_t x = 1, y = n / 2, z = n - 1;
    const int xy = tc_order_less(a[x], a[y], never), xz = tc_order_less(a[x], a[z], never), yz = tc_order_less(a[y], a[z], never);
    tc_order_swap(a, &a[xy ? yz ? y : xz ? z : x : xz ? x : yz ? z : y]);
    for (int64_t i = 1, j = n;; i++) {
        while (tc_order_less(a[i], a[0], never)) i++;
        do j--;
        while (tc_order_less(a[0], a[j], never));
        if (i >= j) return i;
        tc_order_swap(&a[i], &a[j]);
    }
}
/* Sorts by insertion; the first `guarded` are compared with the very first before the others. */
static inline void tc_order_insert(tc_order *a, int64_t n, int64_t guarded, uint64_t never) {
    for (int64_t i = 1; i < n; i++) {
        const tc_order x = a[i];
        int64_t k = i;
        if (i < guarded && tc_order_less(x, a[0], never))
            for (; k > 0; k--) a[k] = a[k - 1];
        else
            for (; k > 0 && tc_order_less(x, a[k - 1], never); k--) a[k] = a[k - 1];
        a[k] = x;
    }
}
/* Twice the whole logarithm of n: so many splits may follow each other. */
static inline int tc_order_depth(int64_t n) { return 2 * (63 - __builtin_clzll((unsigned long long)n | 1)); }
/* Puts the element of rank nth (from 0) in its place, none that is larger before it. */
static inline void tc_order_nth(tc_order *a, int64_t n, int64_t nth) {
    for (int depth = tc_order_depth(n); n > 3; depth--) {
        if (!depth) {
            tc_order_heap_select(a, n, nth + 1, 0);
            tc_order_swap(a, a + nth);
            return;
        }
        const int64_t cut = tc_order_split(a, n, 0);
        if (cut <= nth) a += cut, n -= cut, nth -= cut;
        else n = cut;
    }
    tc_order_insert(a, n, n, 0);
}
static inline void tc_order_split_all(tc_order *a, int64_t n, int depth, uint64_t never) {
    for (; n > 16; depth--) {
        if (!depth) {
            tc_order_heap(a, n, never);
            tc_order_sort_heap(a, n, never);
            return;
        }
        const int64_t cut = tc_order_split(a, n, never);
        tc_order_split_all(a + cut, n - cut, depth - 1, never);
        n = cut;
    }
}
static inline void tc_order_intro_sort(tc_order *a, int64_t n, uint64_t never) {
    tc_order_split_all(a, n, tc_order_depth(n), never);
    tc_order_insert(a, n, 16, never);
}
/* The position of the last element of the longest run of equal keys in order; of equally long runs the first. nan: the key that does not equal
 * itself, 0 where there is none. */
static inline int64_t tc_order_mode(const tc_order *a, int64_t n, uint64_t nan) {
    int64_t best = 0, most = 0;
    for (int64_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && a[k].key == a[i].key && (!nan || a[k].key != nan);) k++;
        if (k - i > most) most = k - i, best = k - 1;
    }
    return best;
}
/* The first k of n, sorted or not. */
static inline void tc_order_top(tc_order *a, int64_t n, int64_t k, int sorted) {
    if (!k) return;
    if (k <= n / 64) {
        tc_order_heap_select(a, n, k, 0);
        tc_order_sort_heap(a, k, 0);
        return;
    }
    tc_order_nth(a, n, k - 1);
    if (sorted) tc_order_intro_sort(a, k - 1, 0);
}
/* kthvalue's quickselect: the element of rank k (from 0). */
static inline tc_order tc_order_kth(tc_order *a, int64_t n, int64_t k) {
    for (int64_t l = 0, r = n - 1; l < r;) {
        if (r == l + 1) {
            if (a[l].key > a[r].key) tc_order_swap(a + l, a + r);
            break;
        }
        tc_order_swap(a + l + (r - l) / 2, a + l + 1);
        if (a[l + 1].key > a[r].key) tc_order_swap(a + l + 1, a + r);
        if (a[l].key > a[r].key) tc_order_swap(a + l, a + r);
        if (a[l + 1].key > a[l].key) tc_order_swap(a + l + 1, a + l);
        int64_t i = l + 1, j = r;
        for (;;) {
            do i++;
            while (a[l].key > a[i].key);
            do j--;
            while (a[j].key > a[l].key);
            if (j < i) break;
            tc_order_swap(a + i, a + j);
        }
        tc_order_swap(a + l, a + j);
        if (j <= k) l = i;
        if (j >= k) r = j - 1;
    }
    return a[k];
}

#endif
