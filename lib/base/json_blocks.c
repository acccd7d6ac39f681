/* Finds brackets outside strings: bytes in strings are masked out by the parity of the unescaped quotes (the arithmetic of Langdale and Lemire,
 * Parsing Gigabytes of JSON per Second, 2019, 3.1). Compiled for SSE2 and for AVX2. */
#include "base/json_blocks.h"

#include "base/cpu.h"

#include <pthread.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define INLINE __attribute__((always_inline)) static inline
#define TARGET __attribute__((target("avx2,bmi,popcnt")))

/* Bit i is set if byte i of the block of 64 is such a character. */
typedef struct {
    uint64_t slash, quote, open, close; /* open, close: of either kind of bracket, which differ in bit 5 only */
} marks;

INLINE uint64_t where16(const __m128i v[4], char c) {
    const __m128i w = _mm_set1_epi8(c);
    uint64_t m = 0;
    for (int i = 0; i < 4; i++) m |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], w)) << (16 * i);
    return m;
}
INLINE marks marks16(const char *p) {
    __m128i v[4], lower[4];
    for (int i = 0; i < 4; i++) v[i] = _mm_loadu_si128((const void *)(p + 16 * i)), lower[i] = _mm_or_si128(v[i], _mm_set1_epi8(0x20));
    return (marks){where16(v, '\\'), where16(v, '"'), where16(lower, '{'), where16(lower, '}')};
}

TARGET INLINE uint64_t where32(const __m256i v[2], char c) {
    const __m256i w = _mm256_set1_epi8(c);
    return (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v[1], w)) << 32 | (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v[0], w));
}
TARGET INLINE marks marks32(const char *p) {
    __m256i v[2], lower[2];
    for (int i = 0; i < 2; i++) v[i] = _mm256_loadu_si256((const void *)(p + 32 * i)), lower[i] = _mm256_or_si256(v[i], _mm256_set1_epi8(0x20));
    return (marks){where32(v, '\\'), where32(v, '"'), where32(lower, '{'), where32(lower, '}')};
}

/* The depth after the brackets of a block, or the depth at which it reached base or exceeded the limit. */
INLINE int depth_after(uint64_t opens, uint64_t closes, int depth, int base, int limit) {
    int up = __builtin_popcountll(opens), down = __builtin_popcountll(closes);
    if (depth - down > base && depth + up <= limit) return depth + up - down;
    for (uint64_t left = opens | closes; left && depth > base && depth <= limit; left &= left - 1) depth += left & -left & opens ? 1 : -1;
    return depth;
}

INLINE const char *pass(const char *p, const char *end, int base, int limit, int *depth, marks (*read)(const char *)) {
    const uint64_t even = 0x5555555555555555u;
    uint64_t escape = 0, inside = 0; /* escape: the first byte of the block is escaped; inside: all ones if it is in a string */
    for (; end - p >= 64; p += 64) {
        const marks m = read(p);
        uint64_t slash = m.slash & ~escape, follows = slash << 1 | escape, starts = slash & ~even & ~follows, sum;
        uint64_t carry = __builtin_add_overflow(starts, slash, &sum), mask = m.quote & ~((even ^ sum << 1) & follows);
        for (int k = 1; k < 64; k *= 2) mask ^= mask << k;
        mask ^= inside;
        int now = depth_after(m.open & ~mask, m.close & ~mask, *depth, base, limit);
        if (now <= base || now > limit) break;
        *depth = now;
        inside = (uint64_t)((int64_t)mask >> 63);
        escape = carry;
    }
    for (; inside && p < end; p++) { /* continue to the end of the string */
        if (!escape && *p == '"') inside = 0;
        escape = !escape && *p == '\\';
    }
    return p;
}

static const char *pass16(const char *p, const char *end, int base, int limit, int *depth) { return pass(p, end, base, limit, depth, marks16); }
TARGET static const char *pass32(const char *p, const char *end, int base, int limit, int *depth) {
    return pass(p, end, base, limit, depth, marks32);
}

static const char *(*best)(const char *, const char *, int, int, int *); /* constant once initialised */
static void choose(void) { best = tc_cpu_has("-mavx2") && tc_cpu_has("-mbmi") && tc_cpu_has("-mpopcnt") ? pass32 : pass16; }

const char *tc_json_skip_blocks(const char *p, const char *end, int base, int limit, int *io_depth) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (end - p < 4096) return pass16(p, end, base, limit, io_depth); /* too short to pay for querying the CPU */
    pthread_once(&once, choose);
    return best(p, end, base, limit, io_depth);
}
#else
const char *tc_json_skip_blocks(const char *p, const char *end, int base, int limit, int *io_depth) {
    return (void)end, (void)base, (void)limit, (void)io_depth, p;
}
#endif
