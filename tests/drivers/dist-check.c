/* Run by mpirun (tests/cli/dist.bats): every rank checks sums, broadcasts and maxima against what it computes alone; rank 0 prints "ok SIZE". */
#include "dist/dist.h"

#include "base/mem.h"

#include <stdio.h>

static float value(int rank, int64_t i) { return (float)((i * 7 + rank * 13) % 101) / 3.0f; }

static float tree(int lo, int n, int size, int64_t i, bool *some) {
    if (lo >= size) return *some = false, 0;
    if (n == 1) return *some = true, value(lo, i);
    bool a, b;
    float x = tree(lo, n / 2, size, i, &a), y = tree(lo + n / 2, n / 2, size, i, &b);
    *some = a;
    return b ? x + y : x;
}

static tc_status run(tc_dist *d) {
    enum { N = 300001 };
    int size = tc_dist_size(d), rank = tc_dist_rank(d), top = 1;
    while (top < size) top *= 2;
    float *a = tc_xmalloc(N * sizeof *a);
    for (int64_t i = 0; i < N; i++) a[i] = value(rank, i);
    TC_TRY(tc_dist_sum(d, TC_F32, a, N));
    bool some;
    for (int64_t i = 0; i < N; i += 997)
        if (a[i] != tree(0, top, size, i, &some)) return tc_error(TC_DIFFERENT, "rank %d: element %lld", rank, (long long)i);
    for (int root = 0; root < size; root++) {
        int64_t x[2] = {rank, root}, m = rank;
        TC_TRY(tc_dist_broadcast(d, x, sizeof x, root));
        TC_TRY(tc_dist_max(d, &m));
        if (x[0] != root || m != size - 1) return tc_error(TC_DIFFERENT, "rank %d: broadcast %lld, max %lld", rank, (long long)x[0], (long long)m);
    }
    free(a);
    if (rank == 0) printf("ok %d\n", size);
    return NULL;
}

int main(void) {
    tc_dist *d;
    tc_status s = tc_dist_start(&d);
    if (!s) s = run(d);
    if (!s) s = tc_dist_stop(d);
    if (s) fprintf(stderr, "%s\n", tc_status_message(s));
    return (int)tc_status_code(s);
}
