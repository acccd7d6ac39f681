/* Measures the machine's peak rates for --profile (profile.h): float32 fused multiply-adds, and memory bandwidth by a STREAM triad, with the pool's
 * threads. Takes about 0.2 s. */
#include "cmd/profile.h"

#include "base/text.h"

enum { ROUNDS = 200000, CHAINS = 12 };

/* CHAINS independent chains of W-lane fused multiply-adds; the returned sum keeps the compiler from removing them. */
#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11)
#define BEGIN(k) a##k = y + k,
#define STEP(k) a##k = a##k * x + y;
#define ADD(k) +a##k
#define CHAIN(name, W, isa)                                                             \
    typedef float name##_v __attribute__((vector_size(4 * (W))));                       \
    isa static float name(void) {                                                       \
        name##_v x = (name##_v){0} + 0.999f, y = (name##_v){0} + 0.001f, EACH(BEGIN) s; \
        for (int i = 0; i < ROUNDS; i++) { EACH(STEP) }                                 \
        s = (name##_v){0} EACH(ADD);                                                    \
        return s[0];                                                                    \
    }
#if defined(__x86_64__)
#define WITH(flags) __attribute__((target(flags), optimize("fp-contract=fast")))
#if defined(__clang__)
#undef WITH
#define WITH(flags) __attribute__((target(flags)))
#pragma STDC FP_CONTRACT ON
#endif
CHAIN(chain16, 16, WITH("avx512f,fma"))
CHAIN(chain8, 8, WITH("avx2,fma"))
#endif
CHAIN(chain4, 4, )

typedef struct {
    int lanes;
    float *a, *b, *c;
    float sink[256];
} work;

static void flops(void *ctx, int64_t begin, int64_t end, int worker) {
    work *w = ctx;
    float s = 0;
    for (int64_t i = begin; i < end; i++) {
#if defined(__x86_64__)
        if (w->lanes == 16) s += chain16();
        else if (w->lanes == 8) s += chain8();
        else
#endif
            s += chain4();
    }
    w->sink[worker % 256] += s;
}

static void triad(void *ctx, int64_t begin, int64_t end, int worker) {
    work *w = ctx;
    (void)worker;
    for (int64_t i = begin; i < end; i++) w->a[i] = w->b[i] + 3 * w->c[i];
}

tc_limits tc_limits_measure(tc_pool *pool) {
    enum { N = 1 << 23 }; /* 32 MiB an array: beyond the caches */
    work w = {.lanes = 4};
    tc_limits m = {0};
    int threads = tc_pool_threads(pool);
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) w.lanes = 8;
    if (__builtin_cpu_supports("avx512f")) w.lanes = 16;
#endif
    tc_pool_enter(pool);
    for (int k = 0; k < 10; k++) {
        double start = tc_now();
        tc_parallel_for(pool, threads, 1, flops, &w);
        double rate = 2.0 * ROUNDS * CHAINS * w.lanes * threads / (tc_now() - start);
        if (rate > m.flops) m.flops = rate;
    }
    w.a = tc_xcalloc(N, sizeof *w.a), w.b = tc_xcalloc(N, sizeof *w.b), w.c = tc_xcalloc(N, sizeof *w.c);
    for (int64_t i = 0; i < N; i++) w.b[i] = w.c[i] = 1; /* touch the pages, so that they are mapped */
    for (int k = 0; k < 10; k++) {
        double start = tc_now();
        tc_parallel_for(pool, N, 65536, triad, &w);
        double rate = 3.0 * N * sizeof(float) / (tc_now() - start);
        if (rate > m.bytes) m.bytes = rate;
    }
    tc_pool_leave(pool);
    free(w.a);
    free(w.b);
    free(w.c);
    return m;
}
