/* Matrix product rates: tc against OpenBLAS (opened at run time, skipped where there is none), alternately, with the least time of
 * several repetitions.   gemm [THREADS]   prints m n k, GFLOP/s of tc and of OpenBLAS. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/gemm.h"
#include "kernel/isa.h"

typedef void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void make(void *ctx, int64_t i, tc_gemm *out) { (void)i, *out = *(const tc_gemm *)ctx; }

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    const tc_isa_ops *isa;
    tc_pool *pool;
    if (tc_isa_ops_choose(&isa) || tc_pool_create(threads, &pool)) return 1;
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
    sgemm blas = lib ? (sgemm)dlsym(lib, "cblas_sgemm") : NULL;
    void (*set)(int) = lib ? (void (*)(int))dlsym(lib, "openblas_set_num_threads") : NULL;
    if (set) set(threads);
    printf("%s, %d threads\n%6s %6s %6s %s %9s %9s\n", isa->name, threads, "m", "n", "k", "b", "tc", "openblas");
    static const int mnk[][4] = {{1024, 1024, 1024, 0}, {1024, 1024, 1024, 1}, {512, 512, 512, 0},  {256, 256, 256, 0},
                                 {128, 784, 128, 1},    {64, 4096, 1024, 1},   {1, 4096, 1024, 1},  {1, 4096, 1024, 0},
                                 {8, 1024, 4096, 1},    {2048, 384, 384, 1},   {384, 1536, 2048, 0}};
    for (size_t s = 0; s < sizeof mnk / sizeof *mnk; s++) {
        int m = mnk[s][0], n = mnk[s][1], k = mnk[s][2], t = mnk[s][3];
        float *a = aligned_alloc(64, (size_t)m * (size_t)k * 4 + 64), *b = aligned_alloc(64, (size_t)n * (size_t)k * 4 + 64),
              *c = aligned_alloc(64, (size_t)m * (size_t)n * 4 + 64);
        for (int i = 0; i < m * k; i++) a[i] = (float)(i % 17) * 0.1f;
        for (int i = 0; i < n * k; i++) b[i] = (float)(i % 13) * 0.1f;
        void *scratch = malloc(tc_gemm_scratch(isa, TC_F32, m, n, k, false, threads));
        tc_gemm job = {.dtype = TC_F32,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a = a,
                       .b = b,
                       .a_rs = k,
                       .a_cs = 1,
                       .b_rs = t ? 1 : n,
                       .b_cs = t ? k : 1,
                       .c = c,
                       .c_rs = n,
                       .c_cs = 1,
                       .alpha = 1,
                       .beta = 1};
        double best[2] = {1e9, 1e9};
        int reps = (int)(2e8 / (2.0 * m * n * k)) + 1;
        for (int r = 0; r < 15; r++) {
            double t0 = now();
            tc_pool_enter(pool);
            for (int i = 0; i < reps; i++) tc_gemm_run(isa, pool, scratch, 1, make, &job);
            tc_pool_leave(pool);
            double d = (now() - t0) / reps;
            best[0] = d < best[0] ? d : best[0];
            if (!blas) continue;
            t0 = now();
            for (int i = 0; i < reps; i++) blas(101, 111, t ? 112 : 111, m, n, k, 1, a, k, b, t ? k : n, 0, c, n);
            d = (now() - t0) / reps;
            best[1] = d < best[1] ? d : best[1];
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
        printf("%6d %6d %6d %s %9.1f %9.1f\n", m, n, k, t ? "T" : "N", 2.0 * m * n * k / best[0] * 1e-9, 2.0 * m * n * k / best[1] * 1e-9);
        free(a), free(b), free(c), free(scratch);
    }
    tc_pool_destroy(pool);
    return 0;
}
