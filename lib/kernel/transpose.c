/* Transposition on the pool (transpose.h). A task is a strip of STRIP columns, so that each row of the result is written in whole cache lines. */
#include "kernel/transpose.h"

enum { STRIP = 64 /* columns */, GRAIN = 64 << 10 /* bytes worth handing to another thread */ };

typedef struct {
    const tc_isa_ops *isa;
    int64_t size, rows, cols;
    const char *in;
    char *out;
} transposition;
static void transpose_strips(void *ctx, int64_t begin, int64_t end, int worker) {
    const transposition *t = ctx;
    const int64_t strips = (t->cols + STRIP - 1) / STRIP;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const int64_t matrix = k / strips * t->rows * t->cols, col = k % strips * STRIP, n = t->cols - col < STRIP ? t->cols - col : STRIP;
        t->isa->move->transpose[__builtin_ctzll((uint64_t)t->size)](t->out + (matrix + col * t->rows) * t->size, t->rows,
                                                                    t->in + (matrix + col) * t->size, t->cols, t->rows, n);
    }
}
void tc_transpose_batch(const tc_isa_ops *isa, tc_pool *pool, size_t size, int64_t n, int64_t rows, int64_t cols, const void *in, void *out) {
    transposition t = {isa, (int64_t)size, rows, cols, in, out};
    tc_parallel_for(pool, n * ((cols + STRIP - 1) / STRIP), 1 + GRAIN / (STRIP * (rows + 1) * t.size), transpose_strips, &t);
}
