/* Integer arithmetic on sizes: minimum, maximum, division that rounds up, padding to whole cache lines.
 *
 *     blocks = tc_ceil_div(n, 256);                      how many blocks of 256 cover n elements
 *     bytes = tc_pad64((size_t)n * 4);                   room for them that ends on a line, so that what follows is aligned
 *
 * Nothing checks for overflow: whoever reads a size from outside does (tc_mul_size in base/mem.h). Divisors are positive, n is not negative. */
#ifndef TC_BASE_INTS_H
#define TC_BASE_INTS_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t tc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tc_ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
static inline int64_t tc_round_up(int64_t n, int64_t to) { return tc_ceil_div(n, to) * to; }

/* Rounded up to a multiple of 64, the bytes of a cache line. */
static inline size_t tc_pad64(size_t n) { return (n + 63) & ~(size_t)63; }
static inline void *tc_align64(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

#endif
