/* CRC-32 by folding: V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction (Intel, 2009), in the reflected
 * form of its section "Bit-Reflected". The bytes are a polynomial over GF(2); 64 of them are multiplied by x^512 modulo P (two products each 16)
 * and added to the next 64, so that any length becomes 16 bytes, and those become 4 by Barrett's reduction. */
#include "base/crc32.h"

#include "base/cpu.h"

#include <pthread.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET __attribute__((target("pclmul")))

/* x^e mod P, bits reflected and shifted by one, for the two halves of 16 bytes that move by 64 or by 16 bytes. */
static const uint64_t by64[2] = {0x154442bd4, 0x1c6e41596}, by16[2] = {0x1751997d0, 0x0ccaa009e};
static const uint64_t to64[2] = {0x163cd6124, 0}, barrett[2] = {0x1db710641, 0x1f7011641}; /* x^64 mod P; P and x^64 / P */

TARGET static inline __m128i at(const void *p) { return _mm_loadu_si128(p); }
TARGET static inline __m128i folded(__m128i x, __m128i k, __m128i next) {
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)), next);
}

/* n: at least 64, a multiple of 16. crc: inverted, as is the result. */
TARGET static uint32_t fold(uint32_t crc, const unsigned char *p, size_t n) {
    const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
    __m128i x0 = _mm_xor_si128(at(p), _mm_cvtsi32_si128((int)crc)), x1 = at(p + 16), x2 = at(p + 32), x3 = at(p + 48), k = at(by64);
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
        x0 = folded(x0, k, at(p));
        x1 = folded(x1, k, at(p + 16));
        x2 = folded(x2, k, at(p + 32));
        x3 = folded(x3, k, at(p + 48));
    }
    k = at(by16);
    x0 = folded(folded(folded(x0, k, x1), k, x2), k, x3);
    for (; n; p += 16, n -= 16) x0 = folded(x0, k, at(p));
    x0 = _mm_xor_si128(_mm_srli_si128(x0, 8), _mm_clmulepi64_si128(x0, k, 0x10)); /* 96 bits */
    x0 = _mm_xor_si128(_mm_srli_si128(x0, 4), _mm_clmulepi64_si128(_mm_and_si128(x0, low), at(to64), 0x00));
    k = at(barrett);
    __m128i q = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(x0, low), k, 0x10), low);
    return (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(_mm_xor_si128(x0, _mm_clmulepi64_si128(q, k, 0x00)), 4));
}

static bool can_fold; /* constant once initialised: querying the CPU takes a microsecond or more in a virtual machine */
static void ask(void) { can_fold = tc_cpu_has("-mpclmul"); }
static bool folds(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask);
    return can_fold;
}
#else
static bool folds(void) { return false; }
static uint32_t fold(uint32_t crc, const unsigned char *p, size_t n) { return (void)p, (void)n, crc; }
#endif

uint32_t tc_crc32(uint32_t crc, const void *data, size_t n) {
    const unsigned char *p = data;
    if (n >= 1024 && folds()) {
        size_t whole = n & ~(size_t)15;
        crc = ~fold(~crc, p, whole);
        p += whole, n -= whole;
    }
    return n ? (uint32_t)crc32_z(crc, p, n) : crc;
}
