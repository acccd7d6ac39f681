/* Maxima of bfloat16 and float16 without widening: bits are mapped to integers that order like the values, -0 below +0 and every NaN above infinity. The
 * other reductions of these types are computed in float32. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"

enum { MAGNITUDE = 0x7fff, INF_BF16 = 0x7f80, INF_F16 = 0x7c00, VL = ROW_BYTES / 2 };
typedef int16_t V __attribute__((vector_size(ROW_BYTES)));

static inline __attribute__((always_inline)) V blend(V mask, V a, V b) { return (mask & a) | (~mask & b); }
/* n <= VL elements from `at` on as ordered integers. inf: the bits of infinity. */
static inline __attribute__((always_inline)) V keys(const void *x, int64_t at, int64_t n, int16_t inf) {
    V v = {0};
    __builtin_memcpy(&v, (const char *)x + 2 * at, n == VL ? sizeof v : (size_t)n * 2);
    return blend((V)((v & MAGNITUDE) > inf), v & MAGNITUDE, v ^ (v >> 15 & MAGNITUDE));
}
static inline __attribute__((always_inline)) void run_of(void *out, const void *const *in, int64_t m, int64_t at, int64_t n, int16_t inf) {
    V best = keys(in[0], at, n, inf);
    for (int64_t j = 1; j < m; j++) {
        const V k = keys(in[j], at, n, inf);
        best = blend((V)(k > best), k, best);
    }
    best ^= best >> 15 & MAGNITUDE;
    __builtin_memcpy((char *)out + 2 * at, &best, n == VL ? sizeof best : (size_t)n * 2);
}
static inline __attribute__((always_inline)) void max_of_type(void *out, const void *const *in, int64_t m, int64_t n, int16_t inf) {
    int64_t i = 0;
    for (; i + VL <= n; i += VL) run_of(out, in, m, i, VL, inf);
    if (i < n) run_of(out, in, m, i, n - i, inf);
}
static void bf16_max_of(void *out, const void *const *in, int64_t m, int64_t n) { max_of_type(out, in, m, n, INF_BF16); }
static void f16_max_of(void *out, const void *const *in, int64_t m, int64_t n) { max_of_type(out, in, m, n, INF_F16); }
static void bf16_max_add(void *acc, const void *x, int64_t n) { bf16_max_of(acc, (const void *const[]){acc, x}, 2, n); }
static void f16_max_add(void *acc, const void *x, int64_t n) { f16_max_of(acc, (const void *const[]){acc, x}, 2, n); }

extern const tc_reduce_ops TC_ROW(tc_reduce_bf16), TC_ROW(tc_reduce_f16);
const tc_reduce_ops TC_ROW(tc_reduce_bf16) = {.max_add = bf16_max_add, .max_of = bf16_max_of};
const tc_reduce_ops TC_ROW(tc_reduce_f16) = {.max_add = f16_max_add, .max_of = f16_max_of};
